/* comm.h -- several processes that train one network together, on one machine or many.
 *
 *     RelnComm comm = {.rank = 2, .size = 8, .self = me, .exchange = exchange};    // yours, over MPI or sockets
 *     reln_plan_create(g, &(RelnPlanOptions){.comm = &comm}, &plan);
 *     reln_plan_run(plan, &run);                                                 // on every rank, of the same batch
 *
 * A plan with a communicator runs the shards of its rank's lanes and exchanges their sums in the fixed tree of lanes, so
 * every rank ends with all weights and outputs, and with the bits that one process would have. All ranks make the same
 * plans and run them in the same order. What fails on one rank fails on all, with its message. RelnTrainer and reln_fit
 * use the communicator of their plans and options: the same program runs on every rank, and rank 0 writes the files.
 *
 * The library knows nothing of MPI: exchange() is all that it asks for.
 */
#ifndef RELN_COMM_H
#define RELN_COMM_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnMessage {
    int peer; /* a rank, never one's own */
    void *bytes;
    size_t n_bytes; /* above 0 */
} RelnMessage;

typedef struct RelnComm {
    int rank, size; /* 0 <= rank < size */
    void *self;
    /* Send and receive all of these, and return when they have arrived. Messages from one rank to another arrive in the order in
     * which they are listed, call after call; sizes agree. Called by one thread at a time. What it returns but RELN_OK
     * means that ranks are lost: nothing more will be exchanged. */
    RelnStatus (*exchange)(void *self, int n_sends, const RelnMessage *sends, int n_receives,
                           const RelnMessage *receives);
} RelnComm;

#ifdef __cplusplus
}
#endif

#endif
