/* fixture.h -- a context, an algebra, its group, a store and a graph, made and cleared together. */
#ifndef TESTS_GRAPH_FIXTURE_H
#define TESTS_GRAPH_FIXTURE_H

#include "base/base.h"
#include "support/support.h"

typedef struct Fixture {
    RelnCtx *ctx;
    RelnAlgebra *algebra;
    RelnGroup *group;
    RelnStore *store;
    RelnGraph *graph;
    const RelnRep *adjoint;
} Fixture;

/* Builds the fixture in the caller's context. After a failure, *f holds the objects made so far. */
static inline RelnStatus fixture_build(Fixture *f, RelnCtx *ctx, const char *algebra,
                                       const char *group, RelnDtype dtype)
{
    RelnStatus status;

    *f = (Fixture){.ctx = ctx};
    status = reln_algebra_create(ctx, algebra, &f->algebra);
    if (status == RELN_OK)
        status = reln_group_create(ctx, group, &f->group);
    if (status == RELN_OK)
        status = reln_store_create(ctx, 1, &f->store);
    if (status == RELN_OK)
        status = reln_graph_create(f->group, f->store, dtype, &f->graph);
    if (status == RELN_OK) {
        f->adjoint = reln_rep_adjoint(f->group, f->algebra);
        status = f->adjoint ? RELN_OK : RELN_ERR_NOMEM;
    }
    return status;
}

static inline void fixture_release(Fixture *f)
{
    reln_graph_destroy(f->graph);
    reln_store_destroy(f->store);
    reln_group_destroy(f->group);
    reln_algebra_destroy(f->algebra);
}

static inline void fixture_init(Fixture *f, const char *algebra, const char *group, RelnDtype dtype)
{
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, fixture_build(f, ctx, algebra, group, dtype));
}

static inline void fixture_clear(Fixture *f)
{
    fixture_release(f);
    assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
    reln_ctx_destroy(f->ctx);
}

#endif
