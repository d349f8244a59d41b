/* world.h -- a graph with everything around it, for the tests of single ops. */
#ifndef TESTS_OPS_WORLD_H
#define TESTS_OPS_WORLD_H

#include <string.h>

#include "support/support.h"

typedef struct World {
    RelnCtx *ctx;
    RelnGroup *group;
    RelnStore *store;
    RelnGraph *g;
} World;

static inline World world_make(RelnDtype dtype)
{
    World w = {0};

    assert_int_equal(reln_ctx_create(NULL, &w.ctx), RELN_OK);
    assert_ok(w.ctx, reln_group_create(w.ctx, "so:3", &w.group));
    assert_ok(w.ctx, reln_store_create(w.ctx, 1, &w.store));
    assert_ok(w.ctx, reln_graph_create(w.group, w.store, dtype, &w.g));
    return w;
}

static inline void world_clear(World *w)
{
    reln_graph_destroy(w->g);
    reln_store_destroy(w->store);
    reln_group_destroy(w->group);
    assert_int_equal(reln_ctx_live_blocks(w->ctx), 0);
    reln_ctx_destroy(w->ctx);
}

static inline RelnPlan *world_plan(const World *w, RelnPlanOptions options)
{
    RelnPlan *plan = NULL;

    assert_ok(w->ctx, reln_plan_create(w->g, &options, &plan));
    return plan;
}

/* The graph has failed with this status, and the message has these words. */
static inline void assert_refused(const World *w, RelnStatus status, const char *words)
{
    assert_int_equal(reln_graph_status(w->g), status);
    if (!strstr(reln_ctx_error(w->ctx), words)) {
        print_error("the message is \"%s\", wanted \"%s\" in it\n", reln_ctx_error(w->ctx), words);
        fail();
    }
}

#endif
