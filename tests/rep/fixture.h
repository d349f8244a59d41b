/* fixture.h -- a few groups and algebras that the tests of reps share. */
#ifndef TESTS_REP_FIXTURE_H
#define TESTS_REP_FIXTURE_H

#include "support/support.h"

typedef struct Fixture {
    RelnCtx *ctx;
    RelnGroup *gl3, *so3, *o3, *o13;
    RelnAlgebra *algebra_gl3, *algebra_so3;
} Fixture;

static inline int set_up(void **state)
{
    static Fixture f;

    assert_int_equal(reln_ctx_create(NULL, &f.ctx), RELN_OK);
    assert_ok(f.ctx, reln_group_create(f.ctx, "gl:3", &f.gl3));
    assert_ok(f.ctx, reln_group_create(f.ctx, "so:3", &f.so3));
    assert_ok(f.ctx, reln_group_create(f.ctx, "o:3", &f.o3));
    assert_ok(f.ctx, reln_group_create(f.ctx, "o:1,3", &f.o13));
    assert_ok(f.ctx, reln_algebra_create(f.ctx, "gl:3", &f.algebra_gl3));
    assert_ok(f.ctx, reln_algebra_create(f.ctx, "so:3", &f.algebra_so3));
    *state = &f;
    return 0;
}

static inline int tear_down(void **state)
{
    Fixture *f = *state;

    reln_algebra_destroy(f->algebra_so3);
    reln_algebra_destroy(f->algebra_gl3);
    reln_group_destroy(f->o13);
    reln_group_destroy(f->o3);
    reln_group_destroy(f->so3);
    reln_group_destroy(f->gl3);
    assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
    reln_ctx_destroy(f->ctx);
    return 0;
}

#endif
