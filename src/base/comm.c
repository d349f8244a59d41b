/* comm.c -- see kit/comm.h. Messages travel in rounds over growing distances: 1, 2, 4, ... ranks. */
#include "kit/comm.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "kit/clock.h"

RelnStatus reln_comm_check(RelnCtx *ctx, const RelnComm *comm)
{
    if (!comm || (comm->exchange && comm->size >= 1 && comm->rank >= 0 && comm->rank < comm->size))
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_ARG, "comm: rank %d of %d%s", comm->rank, comm->size,
                     comm->exchange ? "" : ", without exchange()");
}

RelnStatus reln_comm_exchange(const RelnComm *comm, RelnCtx *ctx, int n_sends,
                              const RelnMessage *sends, int n_receives, const RelnMessage *receives)
{
    if (comm->exchange(comm->self, n_sends, sends, n_receives, receives) == RELN_OK)
        return RELN_OK;
    (void)reln_fail(ctx, RELN_ERR_IO, "rank %d of %d: the connection to other ranks is lost",
                    comm->rank, comm->size);
    reln_ctx_share(ctx); /* no rank can be reached any more */
    return RELN_ERR_IO;
}

static RelnStatus count_exchange(void *self, int n_sends, const RelnMessage *sends, int n_receives,
                                 const RelnMessage *receives)
{
    RelnCommMeter *m = self;
    const double begin = reln_wall_seconds();
    const RelnStatus status = m->of.exchange(m->of.self, n_sends, sends, n_receives, receives);

    m->seconds += reln_wall_seconds() - begin;
    m->messages += (uint64_t)n_sends;
    for (int i = 0; i < n_sends; i++)
        m->bytes += sends[i].n_bytes;
    return status;
}

void reln_comm_meter_init(RelnCommMeter *meter, const RelnComm *of)
{
    *meter = (RelnCommMeter){.comm = {of->rank, of->size, meter, count_exchange}, .of = *of};
}

/* Returns the rank `by` places after this one, around the circle. */
static int further(const RelnComm *comm, int by)
{
    return (comm->rank + by % comm->size + comm->size) % comm->size;
}

/* ---- maximum over all ranks ------------------------------------------------------------------------------------ */

enum { MOST = 32 };

/* Replaces every element by its maximum over all ranks. After rounds over distances 1, 2, 4, ... every rank
 * has the values of all ranks; taking a maximum twice does no harm. */
static RelnStatus largest(const RelnComm *comm, RelnCtx *ctx, int n, uint64_t *values)
{
    uint64_t theirs[MOST];
    const size_t bytes = (size_t)n * sizeof *values;

    for (int by = 1; by < comm->size; by *= 2) {
        const RelnMessage send = {further(comm, by), values, bytes};
        const RelnMessage receive = {further(comm, -by), theirs, bytes};

        RELN_TRY(reln_comm_exchange(comm, ctx, 1, &send, 1, &receive));
        for (int i = 0; i < n; i++)
            values[i] = theirs[i] > values[i] ? theirs[i] : values[i];
    }
    return RELN_OK;
}

static RelnStatus differ(RelnCtx *ctx, const char *what)
{
    (void)reln_fail(ctx, RELN_ERR_ARG, "the ranks have different %s", what);
    reln_ctx_share(ctx);
    return RELN_ERR_ARG;
}

RelnStatus reln_comm_same(const RelnComm *comm, RelnCtx *ctx, int n, const uint64_t *numbers,
                          const char *const *names)
{
    uint64_t ends[MOST];

    if (reln_comm_size(comm) == 1)
        return RELN_OK;
    if (n > MOST / 2)
        return reln_fail(ctx, RELN_ERR_ARG, "comm: %d numbers, wanted at most %d", n, MOST / 2);
    for (int i = 0; i < n; i++) {
        ends[i] = numbers[i];
        ends[n + i] = ~numbers[i];
    }
    RELN_TRY(largest(comm, ctx, 2 * n, ends));
    for (int i = 0; i < n; i++)
        if (ends[i] != ~ends[n + i])
            return differ(ctx, names[i]);
    return RELN_OK;
}

/* ---- one rank to all ------------------------------------------------------------------------------------------- */

/* In each round, every rank that has the bytes sends them to the rank at half the distance of the last
 * round. */
RelnStatus reln_comm_share(const RelnComm *comm, RelnCtx *ctx, int root, void *bytes,
                           size_t n_bytes)
{
    const int size = reln_comm_size(comm);
    const int place =
        (reln_comm_rank(comm) - root + size) % size; /* place of this rank, counted from the
                                                                    * root */
    int by = 1;

    if (n_bytes == 0)
        return RELN_OK;
    while (by < size)
        by *= 2;
    for (by /= 2; by >= 1; by /= 2) {
        if (place % (2 * by) == 0 && place + by < size) {
            const RelnMessage send = {further(comm, by), bytes, n_bytes};

            RELN_TRY(reln_comm_exchange(comm, ctx, 1, &send, 0, NULL));
        } else if (place % (2 * by) == by) {
            const RelnMessage receive = {further(comm, -by), bytes, n_bytes};

            RELN_TRY(reln_comm_exchange(comm, ctx, 0, NULL, 1, &receive));
        }
    }
    return RELN_OK;
}

/* ---- all ranks to all ------------------------------------------------------------------------------------------ */

static void add_message(RelnMessage *list, int *n, int peer, char *bytes, size_t begin, size_t end)
{
    if (begin < end)
        list[(*n)++] = (RelnMessage){peer, bytes + begin, end - begin};
}

/* Lists the parts of `count` ranks from `first` on, around the circle: at most two contiguous ranges of
 * bytes. */
static int add_parts(const RelnComm *comm, char *bytes, const size_t *begin, int first, int count,
                     int peer, RelnMessage list[2])
{
    const int last = first + count, wrapped = last > comm->size ? last - comm->size : 0;
    int n = 0;

    add_message(list, &n, peer, bytes, begin[first], begin[last - wrapped]);
    add_message(list, &n, peer, bytes, begin[0], begin[wrapped]);
    return n;
}

/* Before each round, every rank has the parts of `have` ranks, from its own on. It receives as many more from
 * the rank `have` places further. */
RelnStatus reln_comm_gather(const RelnComm *comm, RelnCtx *ctx, void *bytes, const size_t *begin)
{
    const int size = reln_comm_size(comm);

    for (int have = 1; have < size; have *= 2) {
        const int count = have < size - have ? have : size - have;
        const int from = further(comm, have);
        RelnMessage sends[2], receives[2];
        const int n_sends =
            add_parts(comm, bytes, begin, comm->rank, count, further(comm, -have), sends);
        const int n_receives = add_parts(comm, bytes, begin, from, count, from, receives);

        RELN_TRY(reln_comm_exchange(comm, ctx, n_sends, sends, n_receives, receives));
    }
    return RELN_OK;
}

/* ---- agreement ------------------------------------------------------------------------------------------------- */

/* Statuses are encoded as numbers so that the maximum is the status that all ranks report: errors are
 * largest, those of lower ranks first; then being asked to stop. */
enum { ERROR_BIT = 62, RANK_SHIFT = 16, STATUS_MASK = 0xffff };

static uint64_t weigh(const RelnComm *comm, RelnStatus status)
{
    if (status == RELN_OK || status == RELN_ERR_STOPPED)
        return status == RELN_OK ? 0 : 1;
    return (uint64_t)1 << ERROR_BIT | (uint64_t)(comm->size - comm->rank) << RANK_SHIFT |
           (uint64_t)status;
}

RelnStatus reln_comm_agree(const RelnComm *comm, RelnCtx *ctx, RelnStatus status)
{
    char text[256] = "";
    uint64_t worst;
    int rank;

    if (reln_comm_size(comm) == 1 ||
        (status != RELN_OK && status != RELN_ERR_STOPPED && reln_ctx_shared(ctx)))
        return status;
    worst = weigh(comm, status);
    RELN_TRY(largest(comm, ctx, 1, &worst));
    if (worst <= 1)
        return worst == 0 ? RELN_OK : RELN_ERR_STOPPED;
    rank = comm->size - (int)(worst >> RANK_SHIFT & 0xffffffff);
    if (rank == comm->rank)
        snprintf(text, sizeof text, "%s", reln_ctx_error(ctx));
    RELN_TRY(reln_comm_share(comm, ctx, rank, text, sizeof text));
    text[sizeof text - 1] = '\0';
    (void)reln_fail(ctx, (RelnStatus)(worst & STATUS_MASK), "%s", text);
    reln_ctx_share(ctx);
    return reln_ctx_status(ctx);
}
