/* comm.h -- collective operations of ranks, built on RelnComm's exchange(). comm NULL: one process, nothing is exchanged.
 *
 * Every rank must call the same functions in the same order. */
#ifndef KIT_COMM_H
#define KIT_COMM_H

#include "reln/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int reln_comm_rank(const RelnComm *comm)
{
    return comm ? comm->rank : 0;
}

static inline int reln_comm_size(const RelnComm *comm)
{
    return comm ? comm->size : 1;
}

/* Returns where the part of a rank begins when items 0 .. n-1 are divided among ranks; it ends where the next part begins. */
static inline ptrdiff_t reln_comm_part(const RelnComm *comm, ptrdiff_t n, int rank)
{
    const int size = reln_comm_size(comm);

    return n / size * rank + n % size * rank / size;
}

/* A RelnCommMeter is a communicator that passes messages on to another one, and counts them. */
typedef struct RelnCommMeter {
    RelnComm comm; /* the one to use; it points to the meter, which must stay where it is */
    RelnComm of;
    uint64_t bytes, messages; /* sent by this rank */
    double seconds;           /* in exchanges, which wait for other ranks, too */
} RelnCommMeter;
void reln_comm_meter_init(RelnCommMeter *meter, const RelnComm *of);

/* Checks that a communicator is usable; RELN_ERR_ARG otherwise. */
RelnStatus reln_comm_check(RelnCtx *ctx, const RelnComm *comm);

/* Returns the worst status of all ranks: the error of the lowest rank that has one, with its message in every
 * context; else RELN_ERR_STOPPED if one was asked to stop; else RELN_OK. The message of this rank is in its context.
 * An error that all ranks already know is returned unchanged.
 *
 * Every other exchange must directly follow an agreement, with nothing between them that could fail. So a rank that fails
 * anywhere may return to the point where it agrees with the others; the others learn of the failure at their next
 * agreement. */
RelnStatus reln_comm_agree(const RelnComm *comm, RelnCtx *ctx, RelnStatus status);

/* Calls comm->exchange(), and records a message when it fails. */
RelnStatus reln_comm_exchange(const RelnComm *comm, RelnCtx *ctx, int n_sends,
                              const RelnMessage *sends, int n_receives,
                              const RelnMessage *receives);

/* Fills an array on every rank: rank r has bytes [begin[r], begin[r + 1]) of it; begin has size + 1
 * entries. */
RelnStatus reln_comm_gather(const RelnComm *comm, RelnCtx *ctx, void *bytes, const size_t *begin);

/* Sends n bytes of the root to all ranks. */
RelnStatus reln_comm_share(const RelnComm *comm, RelnCtx *ctx, int root, void *bytes,
                           size_t n_bytes);

/* Fails on all ranks when a number differs on one of them: "the ranks have different NAME". At most 16
 * numbers. */
RelnStatus reln_comm_same(const RelnComm *comm, RelnCtx *ctx, int n, const uint64_t *numbers,
                          const char *const *names);

#ifdef __cplusplus
}
#endif

#endif
