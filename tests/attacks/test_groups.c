/* Attacks by groups and reps: sizes at the ends of floating point, actions too weak to be noticed, two groups
 * in one graph. */
#include <math.h>
#include <string.h>

#include "attacks/lab.h"

static const double turn[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0};

static RelnStatus scaled_turn(RelnCtx *ctx, double size, RelnGroup **out)
{
    double lie[9];

    for (int i = 0; i < 9; i++)
        lie[i] = size * turn[i];
    return reln_group_from_matrices(ctx, "turns", 3, 1, lie, 0, NULL, out);
}

static RelnStatus huge_generator(RelnCtx *ctx, RelnGroup **out)
{
    return scaled_turn(ctx, 1e160, out);
}

static RelnStatus tiny_generator(RelnCtx *ctx, RelnGroup **out)
{
    return scaled_turn(ctx, 1e-200, out);
}

static RelnStatus large_generator(RelnCtx *ctx, RelnGroup **out)
{
    return scaled_turn(ctx, 1e13, out);
}

static RelnStatus small_generator(RelnCtx *ctx, RelnGroup **out)
{
    return scaled_turn(ctx, 1e-13, out);
}

static RelnStatus infinite_generator(RelnCtx *ctx, RelnGroup **out)
{
    return scaled_turn(ctx, (double)INFINITY, out);
}

static RelnStatus huge_discrete(RelnCtx *ctx, RelnGroup **out)
{
    const double m[9] = {1e160, 0, 0, 0, 1e160, 0, 0, 0, 1e160};

    return reln_group_from_matrices(ctx, "stretch", 3, 0, NULL, 1, m, out);
}

/* Powers of this tiny rotation come near every rotation about the axis. */
static RelnStatus weak_discrete(RelnCtx *ctx, RelnGroup **out)
{
    const double e = 1e-13, m[9] = {1, -e, 0, e, 1, 0, 0, 0, 1};

    return reln_group_from_matrices(ctx, "slow turn", 3, 0, NULL, 1, m, out);
}

/* One block rotates, another rotates 1e13 times more slowly. */
static RelnStatus weak_block(RelnCtx *ctx, RelnGroup **out)
{
    const double e = 1e-13;
    const double lie[16] = {0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0, -e, 0, 0, e, 0};

    return reln_group_from_matrices(ctx, "two speeds", 4, 1, lie, 0, NULL, out);
}

static RelnStatus shrinking(RelnCtx *ctx, RelnGroup **out)
{
    const double e = 1e-11, m[9] = {e, 0, 0, 0, e, 0, 0, 0, e};

    return reln_group_from_matrices(ctx, "shrinking", 3, 0, NULL, 1, m, out);
}

static RelnStatus singular(RelnCtx *ctx, RelnGroup **out)
{
    const double m[9] = {1, 0, 0, 0, 0, 0, 0, 0, 1};

    return reln_group_from_matrices(ctx, "singular", 3, 0, NULL, 1, m, out);
}

static RelnNode *diagonal(Lab *l)
{
    return reln_linear_map(l->g, l->x, NUMBERS(1, 0, 0, 0, 2, 0, 0, 0, 3), l->v);
}

static RelnNode *squashed(Lab *l)
{
    return reln_tanh(l->g, l->x);
}

static RelnNode *identity(Lab *l)
{
    return reln_linear_map(l->g, l->x, NUMBERS(2, 0, 0, 0, 2, 0, 0, 0, 2), l->v);
}

static RelnNode *slow_block_as_invariants(Lab *l)
{
    return reln_tanh(l->g, reln_slice_k(l->g, l->x, 2, reln_rep_trivial(l->group, 2)));
}

/* x (x) c has weight -1 as a vector, and -2 as a product of vectors. */
static RelnNode *vector_as_product(Lab *l)
{
    double m[81] = {0};
    RelnNode *p;

    for (int i = 0; i < 3; i++)
        m[(3 * i + i) * 3 + i] = 1;
    p = reln_linear_map(l->g, l->x, m, reln_rep_product(l->v, l->v));
    return p;
}

/* ---- reps of one's own ------------------------------------------------------------------------------------------ */

/* so:2 is commutative: any matrix is a rep of it. */
static const RelnRep *weights(Lab *l, double a, double b)
{
    const double lie[16] = {0, -a, 0, 0, a, 0, 0, 0, 0, 0, 0, -b, 0, 0, b, 0};

    return reln_rep_from_matrices(l->group, 4, lie, NULL);
}

static RelnNode *of_rep(Lab *l, const char *name, const RelnRep *rep)
{
    if (rep)
        return reln_input(l->g, name, RELN_SAMPLES, (RelnDims){1, 1, 1, reln_rep_dim(rep), 2}, rep,
                          RELN_DEFAULT);
    reln_graph_fail(l->g, RELN_ERR_REP, "%s", reln_ctx_error(l->ctx));
    return NULL;
}

static RelnNode *weak_weight(Lab *l)
{
    RelnNode *z = of_rep(l, "z", weights(l, 1, 1e-13));

    return z ? reln_tanh(l->g, reln_slice_k(l->g, z, 2, reln_rep_trivial(l->group, 2))) : NULL;
}

static RelnNode *weak_rep(Lab *l)
{
    RelnNode *z = of_rep(l, "z", weights(l, 1e-13, 1e-13));

    return z ? reln_tanh(l->g, z) : NULL;
}

/* Beside a weight of 1e13, weights 1 and 2 are not the same rep. */
static RelnNode *hidden_weight(Lab *l)
{
    RelnNode *a = of_rep(l, "a", weights(l, 1e13, 1)), *b = of_rep(l, "b", weights(l, 1e13, 2));

    if (a && b && a->rep == b->rep)
        return reln_tanh(l->g, l->s); /* one of the two reps is not the wanted one */
    return reln_add(l->g, a, b);
}

static RelnNode *hidden_weight_kept(Lab *l)
{
    RelnNode *a = of_rep(l, "a", weights(l, 1e13, 1));
    const RelnRep *second = weights(l, 1e13, 2);

    if (!second || fabs(reln_rep_lie(second, 0)[14] - 2) > 0)
        reln_graph_fail(l->g, RELN_ERR_REP, "another rep was given");
    (void)a;
    return reln_scale(l->g, l->x, 2);
}

static RelnNode *no_rep(Lab *l)
{
    double lie[27] = {0};

    for (int i = 0; i < 27; i++)
        lie[i] = 2 * reln_group_lie(l->group)[i];
    RelnNode *z = of_rep(l, "z", reln_rep_from_matrices(l->group, 3, lie, NULL));

    return z ? reln_scale(l->g, z, 1) : NULL;
}

/* A rep in a stretched frame has large numbers, and the block beside it is not a rep. */
static RelnNode *hidden_no_rep(Lab *l)
{
    const double stretch[3] = {1e11, 1, 1};
    double lie[3 * 36] = {0};

    for (int g = 0; g < 3; g++)
        for (int e = 0; e < 9; e++) {
            const double x = reln_group_lie(l->group)[g * 9 + e];
            lie[g * 36 + e / 3 * 6 + e % 3] = x * stretch[e / 3] / stretch[e % 3];
            lie[g * 36 + (3 + e / 3) * 6 + 3 + e % 3] = 2 * x;
        }
    return of_rep(l, "z", reln_rep_from_matrices(l->group, 6, lie, NULL));
}

static RelnNode *weak_no_rep(Lab *l)
{
    double lie[27] = {0};

    for (int i = 0; i < 27; i++)
        lie[i] = 1e-13 * reln_group_lie(l->group)[i];
    RelnNode *z = of_rep(l, "z", reln_rep_from_matrices(l->group, 3, lie, NULL));

    return z ? reln_tanh(l->g, z) : NULL;
}

static RelnNode *weak_character(Lab *l)
{
    RelnNode *z = of_rep(l, "z", reln_rep_character(l->group, NUMBERS(1 + 1e-13)));

    return z ? reln_tanh(l->g, z) : NULL;
}

static RelnNode *character_not_finite(Lab *l)
{
    RelnNode *z = of_rep(l, "z", reln_rep_character(l->group, NUMBERS((double)NAN)));

    return z ? reln_tanh(l->g, z) : NULL;
}

static RelnNode *rep_of_infinity(Lab *l)
{
    return of_rep(l, "z", weights(l, 1, (double)INFINITY));
}

static RelnNode *rep_too_large(Lab *l)
{
    return of_rep(l, "z", weights(l, 1, 1e200));
}

/* ---- two groups ------------------------------------------------------------------------------------------------- */

static RelnNode *const_of_other(Lab *l)
{
    return lab_const(l, reln_rep_trivial(l->other, 3), NUMBERS(1, 0, 0));
}

static RelnNode *const_of_none(Lab *l)
{
    RelnGroup *none = NULL;
    RelnNode *c;

    if (reln_group_create(l->ctx, "none:3", &none) != RELN_OK)
        return NULL;
    c = reln_add(l->g, l->x, lab_const(l, reln_rep_vector(none), NUMBERS(1, 0, 0)));
    reln_group_destroy(none);
    return c;
}

static RelnNode *input_of_other(Lab *l)
{
    return of_rep(l, "z", reln_rep_vector(l->other));
}

static RelnNode *linear_to_other(Lab *l)
{
    return reln_linear_map(l->g, l->x, NUMBERS(1, 0, 0, 0, 1, 0, 0, 0, 1),
                           reln_rep_vector(l->other));
}

static RelnNode *slice_to_other(Lab *l)
{
    return reln_slice_k(l->g, l->x, 0, reln_rep_trivial(l->other, 1));
}

static RelnNode *contract_to_other(Lab *l)
{
    const RelnEntry dot[] = {{0, 0, 0, 1}, {1, 1, 0, 1}, {2, 2, 0, 1}};

    return reln_contract(l->g, &(RelnTensor3){3, 3, 1, 3, dot}, l->x, l->y,
                         reln_rep_trivial(l->other, 1));
}

static RelnNode *node_of_other_graph(Lab *l)
{
    RelnGraph *h = NULL;
    RelnNode *x, *z;

    if (reln_graph_create(l->other, NULL, RELN_F64, &h) != RELN_OK)
        return NULL;
    x = reln_input(h, "x", RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 2}, reln_rep_vector(l->other),
                   RELN_DEFAULT);
    z = reln_add(l->g, l->x, x);
    reln_graph_destroy(h);
    return z;
}

static RelnNode *sum_of_groups(Lab *l)
{
    return of_rep(l, "z", reln_rep_sum(l->v, reln_rep_vector(l->other)));
}

static RelnNode *no_group(Lab *l)
{
    return reln_tanh(l->g, l->x);
}

static RelnNode *restricted(Lab *l)
{
    RelnGroup *gl = NULL;
    const RelnRep *r;
    RelnNode *z;

    if (reln_group_create(l->ctx, "gl:3", &gl) != RELN_OK)
        return NULL;
    /* so:3 lies in gl:3, not the other way round */
    r = reln_rep_restrict(l->v, gl);
    z = of_rep(l, "z", r);
    reln_group_destroy(gl);
    return z;
}

int main(void)
{
    static const Attack attacks[] = {
        {"a generator has no numbers of 1e160", REFUSED, NULL, diagonal, huge_generator, 0},
        {"a generator has no numbers of 1e-200", REFUSED, NULL, diagonal, tiny_generator, 0},
        {"a large generator judges maps like any other", REFUSED, NULL, diagonal, large_generator,
         0},
        {"a small generator judges maps like any other", REFUSED, NULL, diagonal, small_generator,
         0},
        {"a small generator still acts", REFUSED, NULL, squashed, small_generator, 0},
        {"a large generator lets equivariant maps pass", EQUIVARIANT, NULL, identity,
         large_generator, 0},
        {"a generator holds no infinity", REFUSED, NULL, identity, infinite_generator, 0},
        {"a discrete generator has no numbers of 1e160", REFUSED, NULL, identity, huge_discrete, 0},
        {"a discrete generator does not hide near the identity", REFUSED, NULL, squashed,
         weak_discrete, 0},
        {"a block does not hide by turning slowly", REFUSED, NULL, slow_block_as_invariants,
         weak_block, 0},
        {"a group that shrinks judges maps like any other", REFUSED, NULL, vector_as_product,
         shrinking, 0},
        {"a discrete generator is invertible", REFUSED, NULL, identity, singular, 0},
        {"a weight does not hide beside a larger one", REFUSED, "so:2", weak_weight, NULL, 0},
        {"a rep does not hide by acting weakly", REFUSED, "so:2", weak_rep, NULL, 0},
        {"reps that differ beside a large weight are not added", REFUSED, "so:2", hidden_weight,
         NULL, 0},
        {"a rep is the one asked for", EQUIVARIANT, "so:2", hidden_weight_kept, NULL, 0},
        {"matrices with wrong brackets are no rep", REFUSED, "so:3", no_rep, NULL, 0},
        {"a block that is no rep does not hide beside a large one", REFUSED, "so:3", hidden_no_rep,
         NULL, 0},
        {"weak matrices with wrong brackets are no rep", REFUSED, "so:3", weak_no_rep, NULL, 0},
        {"a character does not hide near 1", REFUSED, "o:3", weak_character, NULL, 0},
        {"a character is a number", REFUSED, "o:3", character_not_finite, NULL, 0},
        {"a rep holds no infinity", REFUSED, "so:2", rep_of_infinity, NULL, 0},
        {"a rep has no numbers of 1e200", REFUSED, "so:2", rep_too_large, NULL, 0},
        {"a constant has no rep of another group", REFUSED, "sl:3", const_of_other, NULL, 0},
        {"a constant has no rep of no group", REFUSED, "so:3", const_of_none, NULL, 0},
        {"an input has no rep of another group", REFUSED, "sl:3", input_of_other, NULL, 0},
        {"a linear map does not lead to another group", REFUSED, "sl:3", linear_to_other, NULL, 0},
        {"a slice does not lead to another group", REFUSED, "sl:3", slice_to_other, NULL, 0},
        {"a contraction does not lead to another group", REFUSED, "sl:3", contract_to_other, NULL,
         0},
        {"nodes of two graphs do not mix", REFUSED, "so:3", node_of_other_graph, NULL, 0},
        {"reps of two groups have no sum", REFUSED, "so:3", sum_of_groups, NULL, 0},
        {"without generators everything is invariant", EQUIVARIANT, "none:3", no_group, NULL, 0},
        {"a rep is not restricted to a larger group", REFUSED, "so:3", restricted, NULL, 0},
    };
    return RUN_ATTACKS("groups", attacks);
}
