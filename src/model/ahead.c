/* ahead.c -- a thread reads and lifts the next batch, of data that are not kept in memory, while a step
 * computes.
 *
 * The thread writes to separate buffers, which are exchanged with those of the batch when it is bound. Their
 * contents depend on rows and epoch alone, so reading ahead changes no bit. */
#include <string.h>

#include "base/sort.h"
#include "graph/plan.h"
#include "kit/clock.h"
#include "kit/files.h"
#include "model/data.h"

RelnStatus reln_data_read_ahead(RelnData *d, ptrdiff_t n)
{
    Ahead *a = &d->ahead;

    if (d->resident || a->room >= n)
        return RELN_OK;
    reln_data_settle(d);
    reln_free(d->ctx, a->rows);
    a->room = 0;
    a->rows = reln_alloc_raw(d->ctx, (size_t)n, sizeof *a->rows);
    if (!a->rows)
        return RELN_ERR_NOMEM;
    if (!a->thread)
        RELN_TRY(reln_aside_create(d->ctx, &a->thread));
    d->room = 0; /* makes both batches reserve memory */
    RELN_TRY(reln_data_reserve(d, n));
    a->room = n;
    return RELN_OK;
}

void reln_ahead_clear(RelnData *d)
{
    reln_data_settle(d);
    reln_aside_destroy(d->ahead.thread);
    reln_lifted_free(d, &d->ahead.batch);
    reln_free(d->ctx, d->ahead.rows);
}

/* ---- rows of later batches ----------------------------------------------------------------------------------------- */

/* Two rows with fewer than NEAR bytes between them are brought into the cache by one read, which takes less
 * time than two reads. Nothing is brought ahead if a row is longer than NEAR, or beyond MOST bytes in all,
 * which might not stay in the cache. */
enum { NEAR = 64 << 10, MOST = 1 << 29 };

static int by_number(const void *a, const void *b)
{
    const ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;

    return (x > y) - (x < y);
}

void reln_data_expect(RelnData *d, ptrdiff_t n, ptrdiff_t *rows, ptrdiff_t times)
{
    Ahead *a = &d->ahead;
    const size_t bytes = d->row_bytes;

    if (!a->thread || n < 1)
        return;
    reln_aside_wait(a->thread);
    a->n_coming = a->told = 0;
    if (bytes == 0 || bytes >= NEAR || (size_t)n > MOST / bytes)
        return;
    reln_sort(rows, (size_t)n, sizeof *rows, by_number);
    a->coming = rows;
    a->n_coming = n;
    a->share = (n + times - 1) / times;
}

static void expect_range(const RelnData *d, ptrdiff_t first, ptrdiff_t n)
{
    const RelnDataFound *f = &d->found;
    const int others[] = {f->mask, f->sizes, f->weights};

    for (int i = 0; i < d->m->spec.n_inputs; i++)
        if (f->input[i] >= 0)
            reln_archive_expect(d->archive, f->input[i], first, n);
    for (int t = 0; t < d->m->spec.n_targets; t++)
        if (f->target[t] >= 0)
            reln_archive_expect(d->archive, f->target[t], first, n);
    for (int i = 0; i < 3; i++)
        if (others[i] >= 0)
            reln_archive_expect(d->archive, others[i], first, n);
}

static void expect_share(RelnData *d)
{
    Ahead *a = &d->ahead;
    const ptrdiff_t *rows = a->coming;
    const ptrdiff_t left = a->n_coming - a->told;
    const ptrdiff_t end = a->told + (left < a->share ? left : a->share);

    while (a->told < end) {
        const ptrdiff_t first = rows[a->told++];

        while (a->told < end && (size_t)(rows[a->told] - rows[a->told - 1]) * d->row_bytes < NEAR)
            a->told++;
        expect_range(d, first, rows[a->told - 1] + 1 - first);
    }
}

/* ---- the next batch --------------------------------------------------------------------------------------------------- */

/* The work of the thread. It stores the message of a failure, because the caller also uses the context. */
static void read_batch(void *self)
{
    RelnData *d = self;
    Ahead *a = &d->ahead;

    a->status = reln_data_fill(d, &a->batch, &a->wanted, a->rows, &a->given_up);
    if (a->status != RELN_OK)
        reln_ctx_copy_error(d->ctx, sizeof a->message, a->message);
    else
        expect_share(d);
}

static RelnStatus find_own(const RelnData *d, RelnPlan *plan, Ahead *a)
{
    RelnStatus status;

    if (!d->m->ragged)
        return reln_plan_samples(plan, a->wanted.n, &a->wanted.first, &a->wanted.end);
    status = reln_data_bind_sets(d, plan, &a->batch);
    if (status == RELN_OK)
        status = reln_plan_samples(plan, a->wanted.n, &a->wanted.first, &a->wanted.end);
    if (status == RELN_OK) /* the batch at hand */
        status = reln_data_bind_sets(d, plan, &d->batch);
    return status;
}

RelnStatus reln_data_ahead(RelnData *d, RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                           uint64_t epoch)
{
    Ahead *a = &d->ahead;

    if (!a->thread || n > a->room)
        return RELN_OK;
    reln_data_settle(d);
    a->wanted = (Batch){.n = n, .end = n, .epoch = epoch};
    memcpy(a->rows, rows, (size_t)n * sizeof *rows);
    for (ptrdiff_t i = 0; i < n; i++) {
        RELN_TRY(reln_data_check_row(d, rows[i]));
        a->batch.points[i] = reln_data_points(d, rows[i]);
    }
    reln_data_put_edges(d, n, rows, &a->batch);
    RELN_TRY(find_own(d, plan, a));
    a->plan = plan;
    atomic_store(&a->given_up, false);
    reln_aside_begin(a->thread, read_batch, d);
    return RELN_OK;
}

static void swap(RelnData *d)
{
    const Lifted other = d->batch;

    d->batch = d->ahead.batch;
    d->ahead.batch = other;
}

bool reln_ahead_take(RelnData *d, const RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                     uint64_t epoch, RelnStatus *status)
{
    Ahead *a = &d->ahead;
    const double begin = reln_wall_seconds();

    if (!a->plan || a->plan != plan || a->wanted.n != n || a->wanted.epoch != epoch ||
        memcmp(a->rows, rows, (size_t)n * sizeof *rows) != 0) {
        reln_data_settle(d);
        return false;
    }
    reln_aside_wait(a->thread);
    d->waited += reln_wall_seconds() - begin;
    a->plan = NULL;
    swap(d);
    *status = a->status;
    if (a->status != RELN_OK)
        (void)reln_fail(d->ctx, a->status, "%s", a->message);
    return true;
}

void reln_data_settle(RelnData *d)
{
    const double begin = reln_wall_seconds();

    if (!d->ahead.plan)
        return;
    atomic_store(&d->ahead.given_up, true);
    reln_aside_wait(d->ahead.thread);
    d->ahead.plan = NULL;
    d->waited += reln_wall_seconds() - begin;
}

double reln_data_waited(const RelnData *d)
{
    return d ? d->waited : 0;
}

uint64_t reln_data_read_bytes(const RelnData *d)
{
    return d ? d->read_bytes : 0;
}
