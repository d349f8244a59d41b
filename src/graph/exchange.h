/* exchange.h -- the part of the tree of lanes that joins ranks.
 *
 * A rank computes the sums of the largest subtrees whose lanes it runs. Each node above them is added by one of the ranks,
 * and the total goes to all. The bytes of a lane are divided among ranks, each of which owns a range. For every owner, nodes
 * are given to ranks so that as few sums as possible travel (Fitch's algorithm for the fewest changes on a tree) and the
 * total ends at the owner; then owners send their totals to all. A step of N bytes moves N (F + R - 1) bytes, where R is the
 * number of ranks and F the smallest number of tree edges between ranks: R - 1 if both numbers are powers of two.
 */
#ifndef GRAPH_EXCHANGE_H
#define GRAPH_EXCHANGE_H

#include "graph/lanes.h"
#include "reln/comm.h"

/* A PartialSum says where a partial sum is: in the buffer of a node of this rank, or in the inbox. */
typedef struct PartialSum {
    int node;      /* 0: received */
    size_t offset; /* if received: offset in the inbox */
} PartialSum;

typedef enum MoveKind { MOVE_SEND, MOVE_RECEIVE, MOVE_ADD, MOVE_TOTAL } MoveKind;

/* A Move is an action of this rank for the range of an owner at one level of the tree. */
typedef struct Move {
    MoveKind kind;
    int peer, owner;
    PartialSum at, other; /* `at` is sent, received into, added to or copied from; `other` is added */
} Move;

enum { EXCHANGE_LEVELS = 16 };

/* An Exchange holds the moves of a phase for a number of lanes. */
typedef struct Exchange {
    int n_lanes, n_owners;
    size_t *begin;                  /* by rank, size + 1 of them: the ranges that the ranks own */
    int level[EXCHANGE_LEVELS + 1]; /* the first move of each level */
    Move *moves;
    size_t capacity, inbox;         /* number of moves that fit; bytes received */
    uint64_t sent_reduce, sent_all; /* bytes that all ranks send together */
} Exchange;

/* A Ranks holds the counters and memory of all exchanges; all phases of a plan share it. */
typedef struct Ranks {
    const RelnComm *comm; /* NULL: one process */
    RelnComm copy;
    Exchange *phases; /* one for each phase */
    char *inbox, *total;
    size_t inbox_size;
    RelnMessage *sends, *receives;
    size_t n_messages;  /* number of messages that fit */
    size_t *kept_begin; /* by rank: range of the current output */
    /* The following are scratch for the search for the fewest edges. */
    uint64_t *sets; /* [node][word]: the ranks that a node can be given to */
    int *place;     /* [node] */
    PartialSum *at; /* [node] */
} Ranks;

RelnStatus reln_ranks_init(RelnPlan *plan);
void reln_ranks_clear(RelnPlan *plan);
/* Computes the moves of all phases for the lanes of the batch; those for another number of lanes are
 * replaced. */
RelnStatus reln_ranks_prepare(RelnPlan *plan);
/* Computes the totals of a phase's sums on all ranks, after this rank has run its lanes. */
RelnStatus reln_ranks_reduce(RelnPlan *plan, int phase);
/* Returns the first sample of a rank, in a batch that has been divided into shards. */
ptrdiff_t reln_ranks_first_sample(const RelnPlan *plan, int rank);
/* Collects the kept values that are outputs, of all samples, on all ranks. */
RelnStatus reln_ranks_gather(RelnPlan *plan);

#endif
