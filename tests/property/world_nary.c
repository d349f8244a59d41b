/* world_nary.c -- makes nodes with two or more operands, choices, and rows. */
#include "property/world_parts.h"

#include <string.h>

static bool addable(World *w, const RelnNode *x, const RelnNode *y)
{
    return any(w, x, y) && world_joins(x, y) &&
           (x->rep == y->rep || (reln_is_invariant(x) && reln_is_invariant(y)));
}

RelnNode *world_make_add(World *w)
{
    RelnNode *x = world_find(w, any, NULL), *y = world_find(w, addable, x);

    return chance(w, 0.7) ? reln_add(w->graph, x, y) : reln_sub(w->graph, x, y);
}

static bool factor(World *w, const RelnNode *x, const RelnNode *y)
{
    return invariant(w, x, y) && world_joins(x, y) &&
           (extent(x, RELN_K) == 1 || reln_is_invariant(y));
}

RelnNode *world_make_mul(World *w)
{
    RelnNode *x = world_find(w, any, NULL), *y = world_find(w, factor, x);

    switch (y ? below(w, 3) : 3) {
    case 0:
        return reln_mul(w->graph, x, y);
    case 1:
        return reln_mul(w->graph, y, x);
    case 2:
        return reln_div(w->graph, x, reln_shift(w->graph, reln_softplus(w->graph, y), 1.0, 0.5));
    default:
        return NULL;
    }
}

static bool frozen_factor(World *w, const RelnNode *x, const RelnNode *y)
{
    return factor(w, x, y) && world_is_frozen(w, x);
}

/* Makes a choice between two nodes, by numbers that have no derivative. */
RelnNode *world_make_select(World *w)
{
    RelnNode *x = world_find(w, any, NULL), *y = world_find(w, addable, x),
             *s = world_find(w, frozen_factor, x);
    RelnNode *mask = reln_less(w->graph, s, reln_scalar(w->graph, 0.1));

    if (!s || !y || !world_joins(s, y) || !world_joins(reln_add(w->graph, x, y), s))
        return NULL;
    if (!reln_is_invariant(x) && extent(s, RELN_K) != 1)
        return NULL;
    return chance(w, 0.5) ? reln_select(w->graph, mask, x, y) : reln_mask(w->graph, mask, x);
}

static bool like(World *w, const RelnNode *x, const RelnNode *y)
{
    return any(w, x, y) && world_domains_join(x, y) && x->rep == y->rep &&
           memcmp(&x->shape, &y->shape, sizeof x->shape) == 0;
}

RelnNode *world_make_concat(World *w)
{
    RelnNode *x = world_find(w, any, NULL), *y = world_find(w, like, x),
             *z = world_find(w, like, x);
    RelnNode *xs[3] = {x, y, z};
    int n;
    static const RelnAxis free[4] = {RELN_P, RELN_Q, RELN_R, RELN_C};

    if (reln_shape_count(&x->shape) * 3 > ITEM || !world_domains_join(xs[1], xs[2]))
        return NULL;
    n = 2 + below(w, 2);
    return reln_concat(w->graph, n, xs, free[below(w, 4)]);
}

static bool beside(World *w, const RelnNode *x, const RelnNode *y)
{
    for (int a = 0; a < RELN_AXES; a++)
        if (a != RELN_K && x->shape.dims[a] != y->shape.dims[a])
            return false;
    return any(w, x, y) && world_domains_join(x, y) && extent(x, RELN_K) + extent(y, RELN_K) < 10;
}

RelnNode *world_make_concat_k(World *w)
{
    RelnNode *x = world_find(w, any, NULL), *y = world_find(w, beside, x),
             *z = reln_concat_k(w->graph, x, y);

    if (!y || chance(w, 0.3))
        return z;
    return chance(w, 0.5) ? reln_slice_k(w->graph, z, 0, x->rep)
                          : reln_slice_k(w->graph, z, extent(x, RELN_K), y->rep);
}

static bool bracketable(World *w, const RelnNode *x, const RelnNode *y)
{
    return adjoint(w, x, y) && world_joins(x, y);
}

RelnNode *world_make_bracket(World *w)
{
    RelnNode *x = world_find(w, adjoint, NULL), *y = world_find(w, bracketable, x);

    return chance(w, 0.4) ? reln_bracket(w->graph, w->algebra, x, y)
                          : reln_form(w->graph, w->algebra, RELN_FORM_COMPLETED, x, y);
}

static bool dual(World *w, const RelnNode *x, const RelnNode *y)
{
    return any(w, x, y) && world_domains_join(x, y) && x->rep == reln_rep_dual(y->rep);
}

static bool pairs(World *w, const RelnNode *x, const RelnNode *y)
{
    return dual(w, x, y) && world_joins(x, y);
}

RelnNode *world_make_pair(World *w)
{
    RelnNode *x = world_find(w, any, NULL);

    return reln_pair(w->graph, x, world_find(w, pairs, x));
}

static bool grams(World *w, const RelnNode *x, const RelnNode *y)
{
    return dual(w, x, y) && extent(x, RELN_C) == extent(y, RELN_C) &&
           world_extents_join(x, y, RELN_R);
}

static bool channel_grams(World *w, const RelnNode *x, const RelnNode *y)
{
    return dual(w, x, y) && extent(x, RELN_R) == extent(y, RELN_R) &&
           world_extents_join(x, y, RELN_C);
}

RelnNode *world_make_gram(World *w)
{
    RelnNode *x = world_find(w, any, NULL);

    return chance(w, 0.5) ? reln_gram(w->graph, x, world_find(w, grams, x))
                          : reln_channel_gram(w->graph, x, world_find(w, channel_grams, x));
}

static bool outer_with(World *w, const RelnNode *x, const RelnNode *y)
{
    for (int a = 0; a < RELN_C; a++)
        if (x->shape.dims[a] != y->shape.dims[a])
            return false;
    return dual(w, x, y) && x->domain == y->domain;
}

RelnNode *world_make_outer(World *w)
{
    RelnNode *x = world_find(w, any, NULL);

    return reln_outer(w->graph, x, world_find(w, outer_with, x));
}

static bool matrix_for(World *w, const RelnNode *a, const RelnNode *v, RelnAxis from, RelnAxis to)
{
    for (int i = 0; i < 2; i++)
        if (a->shape.dims[i] != 1 && v->shape.dims[i] != 1 && a->shape.dims[i] != v->shape.dims[i])
            return false;
    return invariant(w, a, v) && extent(a, RELN_K) == 1 && world_domains_join(a, v) &&
           extent(a, from) == extent(v, to) && reln_shape_count(&a->shape) <= 16 &&
           reln_shape_count(&v->shape) <= 24;
}

static bool weighs(World *w, const RelnNode *a, const RelnNode *v)
{
    return matrix_for(w, a, v, RELN_C, RELN_R);
}

static bool weighs_t(World *w, const RelnNode *a, const RelnNode *v)
{
    return matrix_for(w, a, v, RELN_R, RELN_R);
}

static bool mixes(World *w, const RelnNode *a, const RelnNode *v)
{
    return matrix_for(w, a, v, RELN_R, RELN_C);
}

static bool mixes_t(World *w, const RelnNode *a, const RelnNode *v)
{
    return matrix_for(w, a, v, RELN_C, RELN_C);
}

RelnNode *world_make_weigh(World *w)
{
    RelnNode *v = world_find(w, any, NULL);

    switch (below(w, 4)) {
    case 0:
        return reln_weigh(w->graph, world_find(w, weighs, v), v);
    case 1:
        return reln_weigh_t(w->graph, world_find(w, weighs_t, v), v);
    case 2:
        return reln_channel_mix(w->graph, v, world_find(w, mixes, v));
    default:
        return reln_channel_mix_t(w->graph, v, world_find(w, mixes_t, v));
    }
}

static bool weights(World *w, const RelnNode *a, const RelnNode *v)
{
    return mixes(w, a, v) && a->domain == RELN_STEP && extent(a, RELN_P) == 1 &&
           extent(a, RELN_Q) == 1;
}

/* Mixes channels with weights of the pool, which may be computed, or with new ones. */
RelnNode *world_make_mix(World *w)
{
    RelnNode *x = world_find(w, any, NULL), *m = world_find(w, weights, x);
    const int c = extent(x, RELN_C);

    if (reln_shape_count(&x->shape) * 2 > ITEM)
        return NULL;
    if (!m || chance(w, 0.2)) {
        m = world_param(w, (RelnDims){.r = c, .c = 1 + below(w, 3)}, false);
        world_keep(w, m);
    }
    if (extent(m, RELN_C) == c && chance(w, 0.3))
        return reln_mix_t(w->graph, x, m);
    return reln_mix(w->graph, x, m);
}

/* ---- choices and rows ----------------------------------------------------------------------------------------- */

static bool scores(World *w, const RelnNode *s, const RelnNode *x)
{
    return frozen_invariant(w, s, x) && extent(s, RELN_K) == 1 && world_joins(s, x);
}

RelnNode *world_make_pick(World *w)
{
    static const RelnAxis free[4] = {RELN_P, RELN_Q, RELN_R, RELN_C};
    RelnNode *x = world_find(w, any, NULL), *s = world_find(w, scores, x), *index;
    const RelnAxis axis = free[below(w, 4)];
    RelnDims dims = {1, 1, 1, 1, 1};

    if (s && extent(s, axis) == extent(x, axis) && extent(x, axis) > 1) {
        index = reln_argmax(w->graph, s, axis);
    } else {
        *(axis == RELN_P   ? &dims.p
          : axis == RELN_Q ? &dims.q
          : axis == RELN_R ? &dims.r
                           : &dims.c) = 1 + below(w, 3);
        index = world_index_input(w, chance(w, 0.5) ? x->domain : RELN_STEP, dims, RELN_STEP,
                                  extent(x, axis));
    }
    if (chance(w, 0.3) && extent(index, axis) == extent(x, axis))
        return reln_place(w->graph, x, index, axis, extent(x, axis));
    return reln_shape_count(&x->shape) * 3 > ITEM ? NULL : reln_pick(w->graph, x, index, axis);
}

static bool of_samples(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && x->domain == RELN_SAMPLES;
}

static bool of_points(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && x->domain == w->points;
}

static bool of_edges(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && x->domain == w->edges;
}

RelnNode *world_make_gather(World *w)
{
    RelnNode *x, *end = chance(w, 0.5) ? w->edge_from : w->edge_to;

    if (chance(w, 0.4)) {
        x = world_find(w, of_samples, NULL);
        return reln_gather(w->graph, x, reln_row_sample(w->graph, w->points));
    }
    x = world_find(w, of_points, NULL);
    return reln_gather(w->graph, x, end);
}

RelnNode *world_make_segment(World *w)
{
    const bool edges = chance(w, 0.4);
    RelnNode *x = world_find(w, edges ? of_edges : of_points, NULL);
    RelnNode *index = edges ? w->edge_to : reln_row_sample(w->graph, w->points);
    const RelnDomain target = edges ? w->points : RELN_SAMPLES;

    if (!x)
        return NULL;
    if (reln_is_invariant(x) && chance(w, 0.3))
        return reln_segment_softmax(w->graph, x, index, target);
    return chance(w, 0.5) ? reln_segment_sum(w->graph, x, index, target)
                          : reln_segment_mean(w->graph, x, index, target);
}

/* Makes nodes that move up and down the tree of domains. */
RelnNode *world_make_spread(World *w)
{
    const RelnDomain to = w->below[below(w, WORLD_BELOW)];
    RelnNode *x = world_find(w, chance(w, 0.3) ? of_samples : of_points, NULL);

    if (!x || reln_shape_count(&x->shape) > 24)
        return NULL;
    if (x->domain == w->points && to == w->below[0] && chance(w, 0.5))
        return reln_spread_second(w->graph, x, to);
    return reln_spread(w->graph, x, to);
}

static bool of_below(World *w, const RelnNode *x, const RelnNode *other)
{
    for (int i = 0; i < WORLD_BELOW; i++)
        if (x->domain == w->below[i])
            return any(w, x, other);
    return false;
}

RelnNode *world_make_reduce(World *w)
{
    const bool up = chance(w, 0.2);
    RelnNode *x = world_find(w, up ? of_points : of_below, NULL);
    const RelnDomain to = up ? w->above : chance(w, 0.3) ? RELN_SAMPLES : w->points;

    if (!x)
        return NULL;
    if (reln_is_invariant(x) && chance(w, 0.3))
        return reln_softmax_within(w->graph, x, to);
    if (reln_is_invariant(x) && world_is_frozen(w, x) && chance(w, 0.3))
        return reln_reduce_max(w->graph, x, to);
    if (chance(w, 0.3))
        return reln_sum_within(w->graph, x, to);
    return chance(w, 0.6) ? reln_reduce(w->graph, x, to) : reln_reduce_mean(w->graph, x, to);
}

/* Makes a function on pairs that captures nodes of the outer graph and returns rows. */
RelnNode *world_make_region(World *w)
{
    RelnNode *x = world_find(w, of_points, NULL), *a, *b, *out;
    const RelnDomain pairs = w->below[chance(w, 0.5) ? 0 : 3];
    RelnGraph *body;

    if (!x || reln_shape_count(&x->shape) > 24)
        return NULL;
    body = reln_fn_begin(w->graph, "region");
    a = reln_spread(body, x, pairs);
    b = reln_spread(body, reln_scale(body, x, 0.5), pairs);
    if (pairs == w->below[0])
        b = reln_spread_second(body, b->in[0], pairs);
    b = reln_is_invariant(x) ? reln_tanh(body, reln_mul(body, a, b)) : reln_sub(body, a, b);
    if (reln_is_invariant(x) && chance(w, 0.5))
        b = reln_softmax_within(body, b, chance(w, 0.5) ? w->points : RELN_SAMPLES);
    out = chance(w, 0.5) ? reln_reduce(body, b, w->points) : reln_reduce(body, b, RELN_SAMPLES);
    return reln_call(w->graph, reln_fn_end(body, 1, &out), 0, NULL, &out) ? out : NULL;
}

static bool row_scores(World *w, const RelnNode *s, const RelnNode *x)
{
    for (int a = 0; a < RELN_AXES; a++)
        if (s->shape.dims[a] != 1 && s->shape.dims[a] != x->shape.dims[a])
            return false;
    return frozen_invariant(w, s, x) && s->domain == w->points && extent(s, RELN_K) == 1;
}

/* Makes the point with the largest score of every sample. */
RelnNode *world_make_best(World *w)
{
    RelnNode *x = world_find(w, of_points, NULL), *s = x ? world_find(w, row_scores, x) : NULL;
    RelnNode *best;

    if (!s)
        return NULL;
    best = reln_segment_argmax(w->graph, s, reln_row_sample(w->graph, w->points), RELN_SAMPLES);
    if (chance(w, 0.2) && reln_is_invariant(x) && world_is_frozen(w, x))
        return reln_segment_max(w->graph, x, reln_row_sample(w->graph, w->points), RELN_SAMPLES);
    return reln_gather(w->graph, x, best);
}
