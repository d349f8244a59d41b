/* setting.h -- the objects that a network needs (context, group, algebra, store, graph), opened and closed together.
 *
 *     RelnSetting s;
 *     if (reln_setting_init(&s, "so:3", "gl:3", RELN_F32, 1) == RELN_OK) {   // rotations, acting on 3 x 3 matrices
 *         RelnNode *x = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.k = 9, .c = 2}, s.rep, RELN_DEFAULT);
 *         ...
 *     } else
 *         fprintf(stderr, "%s\n", reln_ctx_error(s.ctx));
 *     reln_setting_clear(&s);
 *
 * A setting is a convenience for programs with one network; each object can also be created by its own function.
 */
#ifndef RELN_SETTING_H
#define RELN_SETTING_H

#include "reln/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnSetting {
    RelnCtx *ctx;
    RelnGroup *group;     /* the symmetry */
    RelnAlgebra *algebra; /* the space of the features */
    const RelnRep *rep;   /* rep of the features: the symmetry acts on the algebra by conjugation */
    RelnStore *store;
    RelnGraph *graph;
    bool owns_ctx;
} RelnSetting;

/* Opens a setting. `symmetry` is a name for reln_group_create(). `features` is a name for
 * reln_algebra_create(), or NULL for the algebra of the symmetry: the span of its Lie generators (so:3 for
 * "o:3", so:1,3 for "lorentz"), or all matrices of its size if it has no Lie generators (gl:3 for "none:3").
 * Where the matrices of the features are larger than those of the group, the group acts on them as diag(g, 1,
 * ...): "lorentz" on "gl:5". `dtype` is the default of the graph, `seed` the seed of the store. On failure,
 * s->ctx has the message; s->ctx is NULL if there was no memory for a context. Call reln_setting_clear() in
 * either case. */
RELN_API RelnStatus reln_setting_init(RelnSetting *s, const char *symmetry, const char *features,
                                      RelnDtype dtype, uint64_t seed);
/* Opens a setting in an existing context, which must outlive the setting. */
RELN_API RelnStatus reln_setting_init_in(RelnSetting *s, RelnCtx *ctx, const char *symmetry,
                                         const char *features, RelnDtype dtype, uint64_t seed);
/* Opens a setting with the smallest features that lifted data and layers need, as reln_algebra_closed() finds them.
 * The features are matrices of size n; the group acts on them as diag(g, 1, ...) where they are larger than its own
 * matrices. If ctx is NULL, the setting creates a context.
 *
 *     double unit[4][4] = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}, lifted[4][5][5];
 *     reln_lift_embed(ctx, 4, reln_metric_mostly_plus, 4, &unit[0][0], &lifted[0][0][0]);
 *     const RelnClosing of = {.count = 4, .matrices = &lifted[0][0][0], .layers = RELN_CLOSED_BRACKET};
 *     reln_setting_init_closed(&s, ctx, "lorentz", 5, &of, RELN_F32, 1);        // 10 coordinates of 25
 */
RELN_API RelnStatus reln_setting_init_closed(RelnSetting *s, RelnCtx *ctx, const char *symmetry,
                                             int n, const RelnClosing *closing, RelnDtype dtype,
                                             uint64_t seed);
RELN_API void reln_setting_clear(RelnSetting *s);

#ifdef __cplusplus
}
#endif

#endif
