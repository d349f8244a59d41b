/* pendulum.h -- helpers of the tests of the pendulum: reference arrays, and a graph of one symmetry. */
#ifndef TESTS_TASKS_PENDULUM_H
#define TESTS_TASKS_PENDULUM_H

#include <stdio.h>

#include "support/support.h"
#include "tasks/pendulum/pendulum.h"

/* A test of true motions, in a build without SUNDIALS. */
static inline void skip_without_motions(void)
{
    if (!pend_can_move())
        skip();
}

/* tests/golden/pendulum/NAME.npy, which must have `count` numbers. Clear it. */
static inline RelnArray pendulum_golden(RelnCtx *ctx, const char *name, ptrdiff_t count)
{
    RelnArray a = {0};
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/golden/pendulum/%s.npy", RELN_SOURCE_DIR, name);
    assert_ok(ctx, reln_npy_load(ctx, path, &a));
    assert_int_equal(reln_array_count(&a), count);
    return a;
}

/* A group, a store and a graph in double precision. */
typedef struct Lab {
    RelnCtx *ctx;
    RelnGroup *group;
    RelnStore *store;
    RelnGraph *graph;
} Lab;

static inline void lab_init(Lab *lab, PendSymmetry symmetry)
{
    *lab = (Lab){0};
    assert_int_equal(reln_ctx_create(NULL, &lab->ctx), RELN_OK);
    assert_ok(lab->ctx, pend_symmetry_group(lab->ctx, symmetry, &lab->group));
    assert_ok(lab->ctx, reln_store_create(lab->ctx, /*seed=*/7, &lab->store));
    assert_ok(lab->ctx, reln_graph_create(lab->group, lab->store, RELN_F64, &lab->graph));
}

static inline void lab_clear(Lab *lab)
{
    reln_graph_destroy(lab->graph);
    reln_store_destroy(lab->store);
    reln_group_destroy(lab->group);
    assert_int_equal(reln_ctx_live_blocks(lab->ctx), 0);
    reln_ctx_destroy(lab->ctx);
}

#endif
