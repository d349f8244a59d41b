/* certify.h -- the list of claims that make up the proof that a graph is equivariant. */
#ifndef GRAPH_CERTIFY_H
#define GRAPH_CERTIFY_H

#include "base/base.h"
#include "reln/graph.h"

/* A RelnClaim is one claim of a proof, about a rep, a constant, a lift or a node. */
typedef struct RelnClaim {
    const char *kind; /* "rep", "constant", "node", "lift" */
    char name[64];
    char rule[64];     /* the reason why it holds */
    char rep[64];      /* rep of the value; "" for a claim without a value */
    const RelnRep *of; /* for a claim about a rep: the rep */
    enum { RELN_CLAIM_PROVED, RELN_CLAIM_FLOATS, RELN_CLAIM_INEXACT, RELN_CLAIM_FALSE } state;
    double residual; /* residual of an inexact constant */
    char text[192];  /* the reason why it is not proved */
} RelnClaim;

typedef struct RelnClaims {
    RelnArena *arena;
    RelnClaim *items;
    int count, capacity;
} RelnClaims;

/* Append a zeroed claim to the list; NULL when memory is out. */
RelnClaim *reln_claim(RelnClaims *claims, const char *kind, const char *name, const char *rule,
                      const RelnRep *rep);
/* Claim that a rep is a homomorphism; each rep is claimed once. */
RelnStatus reln_claim_rep(RelnClaims *claims, const RelnRep *rep);
/* Claim that entries are an intertwiner from u (and v, or NULL) to w, and that doubles are the exact entries,
 * rounded. */
RelnStatus reln_claim_map(RelnClaims *claims, const char *kind, const char *name, const char *rule,
                          const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                          const RelnEntry *entries);
/* Claim every rep, constant and node of a graph, including the bodies of its functions. */
RelnStatus reln_claim_graph(RelnClaims *claims, RelnGraph *graph);

#endif
