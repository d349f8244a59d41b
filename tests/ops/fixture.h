/* fixture.h -- helpers of the tests of single ops, in addition to the fixture of graphs. */
#ifndef TESTS_OPS_FIXTURE_H
#define TESTS_OPS_FIXTURE_H

#include <string.h>

#include "graph/fixture.h"

static inline RelnPlan *plan_of(const Fixture *f, RelnPlanOptions options)
{
    RelnPlan *plan = NULL;

    assert_ok(f->ctx, reln_plan_create(f->graph, &options, &plan));
    return plan;
}

static inline void assert_message(const Fixture *f, const char *words)
{
    if (!strstr(reln_ctx_error(f->ctx), words)) {
        print_error("the message is \"%s\", wanted \"%s\" in it\n", reln_ctx_error(f->ctx), words);
        fail();
    }
}

/* Asserts that the graph has failed with this status and a message that contains these words. */
static inline void assert_refused(const Fixture *f, RelnStatus status, const char *words)
{
    assert_int_equal(reln_graph_status(f->graph), status);
    assert_message(f, words);
}

#endif
