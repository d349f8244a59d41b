/* setting.c -- see reln/setting.h. */
#include "reln/setting.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* Creates the Lie algebra of the symmetry, under the symmetry's name. A group without Lie generators gets the
 * algebra of all matrices of its size. */
static RelnStatus own_algebra(RelnSetting *s)
{
    const RelnBasisOptions options = {.name = reln_group_name(s->group)};
    char all[16];

    if (reln_group_n_lie(s->group) > 0)
        return reln_algebra_from_basis(s->ctx, reln_group_n_lie(s->group), reln_group_n(s->group),
                                       reln_group_lie(s->group), &options, &s->algebra);
    snprintf(all, sizeof all, "gl:%d", reln_group_n(s->group));
    return reln_algebra_create(s->ctx, all, &s->algebra);
}

/* Extends every g to diag(g, 1, ...) if the matrices of the features are larger than the group's. */
static RelnStatus fit_group(RelnSetting *s, int n)
{
    RelnGroup *embedded = NULL;

    if (reln_group_n(s->group) >= n)
        return RELN_OK;
    RELN_TRY(reln_group_embed(s->group, n, &embedded));
    reln_group_destroy(s->group);
    s->group = embedded;
    return RELN_OK;
}

/* Creates the objects that depend on the group and the algebra. */
static RelnStatus make_rest(RelnSetting *s, RelnDtype dtype, uint64_t seed)
{
    s->rep = reln_rep_adjoint(s->group, s->algebra);
    if (!s->rep)
        return reln_ctx_status(s->ctx);
    RELN_TRY(reln_store_create(s->ctx, seed, &s->store));
    return reln_graph_create(s->group, s->store, dtype, &s->graph);
}

static RelnStatus make_parts(RelnSetting *s, const char *symmetry, const char *features,
                             RelnDtype dtype, uint64_t seed)
{
    RELN_TRY(reln_group_create(s->ctx, symmetry, &s->group));
    RELN_TRY(features ? reln_algebra_create(s->ctx, features, &s->algebra) : own_algebra(s));
    RELN_TRY(fit_group(s, reln_algebra_n(s->algebra)));
    return make_rest(s, dtype, seed);
}

static RelnStatus make_closed(RelnSetting *s, const char *symmetry, int n,
                              const RelnClosing *closing, RelnDtype dtype, uint64_t seed)
{
    RELN_TRY(reln_group_create(s->ctx, symmetry, &s->group));
    if (n < reln_group_n(s->group))
        return reln_fail(s->ctx, RELN_ERR_SHAPE,
                         "features of %d x %d matrices, on which %s of size %d cannot act; wanted "
                         "matrices at least as large",
                         n, n, symmetry, reln_group_n(s->group));
    RELN_TRY(fit_group(s, n));
    RELN_TRY(reln_algebra_closed(s->group, closing, NULL, &s->algebra));
    return make_rest(s, dtype, seed);
}

RelnStatus reln_setting_init(RelnSetting *s, const char *symmetry, const char *features,
                             RelnDtype dtype, uint64_t seed)
{
    RELN_NEED(s, RELN_ERR_ARG);

    memset(s, 0, sizeof *s);
    RELN_TRY(reln_ctx_create(NULL, &s->ctx));
    s->owns_ctx = true;
    return make_parts(s, symmetry, features, dtype, seed);
}

RelnStatus reln_setting_init_in(RelnSetting *s, RelnCtx *ctx, const char *symmetry,
                                const char *features, RelnDtype dtype, uint64_t seed)
{
    RELN_NEED(s && ctx, RELN_ERR_ARG);

    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    return make_parts(s, symmetry, features, dtype, seed);
}

RelnStatus reln_setting_init_closed(RelnSetting *s, RelnCtx *ctx, const char *symmetry, int n,
                                    const RelnClosing *closing, RelnDtype dtype, uint64_t seed)
{
    RELN_NEED(s && symmetry && closing, reln_null(ctx, __func__));

    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    if (!ctx) {
        RELN_TRY(reln_ctx_create(NULL, &s->ctx));
        s->owns_ctx = true;
    }
    return make_closed(s, symmetry, n, closing, dtype, seed);
}

void reln_setting_clear(RelnSetting *s)
{
    if (!s)
        return;
    reln_graph_destroy(s->graph);
    reln_store_destroy(s->store);
    reln_algebra_destroy(s->algebra);
    reln_group_destroy(s->group);
    if (s->owns_ctx)
        reln_ctx_destroy(s->ctx);
    memset(s, 0, sizeof *s);
}
