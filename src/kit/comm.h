/* comm.h -- what processes do together, made of RelnComm's exchanges. comm NULL: one process, and nothing is exchanged.
 *
 * Every rank calls the same functions in the same order. */
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

/* Things 0 .. n-1 are shared out to ranks: rank r has those from part r on, up to part r + 1. */
static inline ptrdiff_t reln_comm_part(const RelnComm *comm, ptrdiff_t n, int rank)
{
    const int size = reln_comm_size(comm);

    return n / size * rank + n % size * rank / size;
}

/* Is it a communicator that can be used? RELN_ERR_ARG otherwise. */
RelnStatus reln_comm_check(RelnCtx *ctx, const RelnComm *comm);

/* The worst status of all ranks: the error of the lowest rank that has one, with its message in every context; else
 * RELN_ERR_STOPPED if one was asked to stop; else RELN_OK. The message of this rank is its context's. An error that all
 * ranks have been told of is returned as it is.
 *
 * Every other exchange follows an agreement, with nothing between that could fail. So a rank that fails anywhere may go up to
 * the end of what it does and agree there: the others hear of it where they agree next. */
RelnStatus reln_comm_agree(const RelnComm *comm, RelnCtx *ctx, RelnStatus status);

/* comm->exchange(), with a message when it fails. */
RelnStatus reln_comm_exchange(const RelnComm *comm, RelnCtx *ctx, int n_sends,
                              const RelnMessage *sends, int n_receives,
                              const RelnMessage *receives);

/* Fill an array on every rank: rank r has bytes [begin[r], begin[r + 1]) of it, begin has size + 1 entries. */
RelnStatus reln_comm_gather(const RelnComm *comm, RelnCtx *ctx, void *bytes, const size_t *begin);

/* Send n bytes of the root to all. */
RelnStatus reln_comm_share(const RelnComm *comm, RelnCtx *ctx, int root, void *bytes,
                           size_t n_bytes);

/* Fails on all ranks when a number differs on one of them, with the name that goes with it: "the ranks have different
 * NAME". At most 16. */
RelnStatus reln_comm_same(const RelnComm *comm, RelnCtx *ctx, int n, const uint64_t *numbers,
                          const char *const *names);

#ifdef __cplusplus
}
#endif

#endif
