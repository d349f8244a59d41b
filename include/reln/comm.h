/* comm.h -- several processes that train one network together, on one machine or many.
 *
 *     RelnComm comm = {.rank = 2, .size = 8, .self = me, .exchange = exchange};    // yours, over MPI or sockets
 *     reln_plan_create(g, &(RelnPlanOptions){.comm = &comm}, &plan);
 *     reln_plan_run(plan, &run);                                                 // on every rank, of the same batch
 *
 * A plan with a communicator runs the shards of its rank's lanes. The ranks exchange the sums of their lanes along
 * the fixed tree of lanes, so every rank ends with all weights and outputs, and with the same bits as one process
 * would compute. All ranks must make the same plans and run them in the same order. A failure on one rank fails on
 * all ranks, with the same message. RelnTrainer and reln_fit use the communicator of their plans and options: the
 * same program runs on every rank, and rank 0 writes the files.
 *
 * The library does not call MPI: the exchange() function is its only access to other processes.
 */
#ifndef RELN_COMM_H
#define RELN_COMM_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnMessage {
    int peer; /* another rank, never the caller's */
    void *bytes;
    size_t n_bytes; /* above 0 */
} RelnMessage;

typedef struct RelnComm {
    int rank, size; /* 0 <= rank < size */
    void *self;
    /* Sends and receives all the given messages, and returns when they have arrived. Messages from one rank
     * to another arrive in the order in which they are listed, call after call, and with the size that the
     * receiver expects. One thread at a time calls this function. Any result but RELN_OK means that ranks are
     * lost; the library then exchanges nothing more. */
    RelnStatus (*exchange)(void *self, int n_sends, const RelnMessage *sends, int n_receives,
                           const RelnMessage *receives);
} RelnComm;

#ifdef __cplusplus
}
#endif

#endif
