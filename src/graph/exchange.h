/* exchange.h -- the part of the tree of lanes that joins ranks.
 *
 * A rank has the sums of the largest subtrees whose lanes it runs. The nodes above them are added by some rank each, and
 * the total goes to all. The bytes of a lane are shared out among ranks, which own a stretch each: for every owner, nodes are
 * given to ranks so that as few sums as possible travel (Fitch's algorithm for the fewest changes on a tree), and end at the
 * owner; then owners send their totals to all. A step of N bytes moves N (F + R - 1) of them, R being the ranks and F the
 * fewest edges of the tree between ranks: R - 1 where both numbers are powers of two.
 */
#ifndef GRAPH_EXCHANGE_H
#define GRAPH_EXCHANGE_H

#include "graph/lanes.h"
#include "reln/comm.h"

/* Where a partial sum is: in the buffer of one of our nodes, or received. */
typedef struct PartialSum {
    int node;      /* 0: received */
    size_t offset; /* then: in the inbox */
} PartialSum;

typedef enum MoveKind { MOVE_SEND, MOVE_RECEIVE, MOVE_ADD, MOVE_TOTAL } MoveKind;

/* What this rank does for the stretch of an owner at a level of the tree. */
typedef struct Move {
    MoveKind kind;
    int peer, owner;
    PartialSum at, other; /* sent, received into, added to, copied from; added */
} Move;

enum { EXCHANGE_LEVELS = 16 };

/* The moves of a phase for a number of lanes. */
typedef struct Exchange {
    int n_lanes, n_owners;
    size_t *begin;                  /* by rank, size + 1 of them: the stretches that they own */
    int level[EXCHANGE_LEVELS + 1]; /* the first move of each level */
    Move *moves;
    size_t capacity, inbox;         /* moves that there is room for; bytes received */
    uint64_t sent_reduce, sent_all; /* bytes that all ranks send together */
} Exchange;

/* What ranks have exchanged so far, and the memory for it; shared by all phases of a plan. */
typedef struct Ranks {
    const RelnComm *comm; /* NULL: one process */
    RelnComm copy;
    Exchange *phases; /* one for each */
    char *inbox, *total;
    size_t inbox_size;
    RelnMessage *sends, *receives;
    size_t n_messages;  /* that there is room for */
    size_t *kept_begin; /* by rank: of the output at hand */
    /* of the search for the fewest edges */
    uint64_t *sets; /* [node][word]: the ranks that a node can be given to */
    int *place;     /* [node] */
    PartialSum *at; /* [node] */
} Ranks;

RelnStatus reln_ranks_init(RelnPlan *plan);
void reln_ranks_clear(RelnPlan *plan);
/* Find the moves of all phases for the lanes of the batch; what there was for another number is replaced. */
RelnStatus reln_ranks_prepare(RelnPlan *plan);
/* The totals of a phase's sums on all ranks, after the lanes of this one. */
RelnStatus reln_ranks_reduce(RelnPlan *plan, int phase);
/* The first sample of a rank, in the batch that has been cut into shards. */
ptrdiff_t reln_ranks_first_sample(const RelnPlan *plan, int rank);
/* The kept values that are outputs, of all samples. */
RelnStatus reln_ranks_gather(RelnPlan *plan);

#endif
