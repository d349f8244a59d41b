/* fixture.h -- a context and a random stream, shared by the tests of lifts. */
#ifndef TESTS_LIFT_FIXTURE_H
#define TESTS_LIFT_FIXTURE_H

#include <stdlib.h>

#include "support/frames.h"

typedef struct Fixture {
    RelnCtx *ctx;
    RelnRng rng;
} Fixture;

static inline int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    if (!f)
        return 1;
    *state = f;
    f->rng = reln_rng(23, 0);
    return reln_ctx_create(NULL, &f->ctx) == RELN_OK ? 0 : 1;
}

static inline int tear_down(void **state)
{
    Fixture *f = *state;
    const bool clean = reln_ctx_live_blocks(f->ctx) == 0;

    reln_ctx_destroy(f->ctx);
    free(f);
    return clean ? 0 : 1;
}

#endif
