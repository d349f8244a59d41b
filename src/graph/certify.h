/* certify.h -- what is proved of a graph, thing by thing. */
#ifndef GRAPH_CERTIFY_H
#define GRAPH_CERTIFY_H

#include "base/base.h"
#include "reln/graph.h"

/* One thing that a proof consists of: a rep, a constant, a node. */
typedef struct RelnClaim {
    const char *kind; /* "rep", "constant", "node", "lift" */
    char name[64];
    char rule[64];     /* why it holds */
    char rep[64];      /* how it transforms; "" where it is no value */
    const RelnRep *of; /* of a rep: itself */
    enum { RELN_CLAIM_PROVED, RELN_CLAIM_FLOATS, RELN_CLAIM_INEXACT, RELN_CLAIM_FALSE } state;
    double residual; /* of a constant that is inexact */
    char text[192];  /* why it is not proved */
} RelnClaim;

typedef struct RelnClaims {
    RelnArena *arena;
    RelnClaim *items;
    int count, capacity;
} RelnClaims;

/* Room for one more, zeroed; NULL when memory is out. */
RelnClaim *reln_claim(RelnClaims *claims, const char *kind, const char *name, const char *rule,
                      const RelnRep *rep);
/* That a rep is a homomorphism; once for each rep. */
RelnStatus reln_claim_rep(RelnClaims *claims, const RelnRep *rep);
/* That entries are an intertwiner from u (and v, or NULL) to w, and doubles the rounding of exact ones. */
RelnStatus reln_claim_map(RelnClaims *claims, const char *kind, const char *name, const char *rule,
                          const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                          const RelnEntry *entries);
/* Every rep, constant and node of a graph, bodies of functions included. */
RelnStatus reln_claim_graph(RelnClaims *claims, RelnGraph *graph);

#endif
