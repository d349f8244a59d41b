/* world.c -- see world.h. */
#include "property/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEM = 72 }; /* most elements of an item */

static void keep(World *w, RelnNode *x);

static int below(World *w, int n)
{
    return (int)reln_rng_below(&w->rng, (uint64_t)n);
}

static bool chance(World *w, double p)
{
    return reln_rng_uniform(&w->rng) < p;
}

static int extent(const RelnNode *x, RelnAxis axis)
{
    return x->shape.dims[axis];
}

/* ---- sources -------------------------------------------------------------------------------------------------- */

static WorldSource *add_source(World *w, RelnNode *node, bool frozen)
{
    WorldSource *s = &w->sources[w->n_sources];

    assert_ok(w->ctx, reln_graph_status(w->graph));
    assert_true(w->n_sources < WORLD_SOURCES);
    *s = (WorldSource){.node = node, .name = reln_node_name(node), .frozen = frozen};
    s->items = interpret_items(&w->meaning, node->domain);
    s->count = s->items * reln_shape_count(&node->shape);
    w->n_sources++;
    return s;
}

static RelnNode *input(World *w, RelnDomain domain, RelnDims dims, const RelnRep *rep, bool frozen)
{
    char name[16];
    WorldSource *s;

    snprintf(name, sizeof name, "x%d", w->n_sources);
    s = add_source(w, reln_input(w->graph, name, domain, dims, rep, RELN_F64), frozen);
    s->values = calloc((size_t)s->count + 1, sizeof *s->values);
    assert_non_null(s->values);
    fill_normal(&w->rng, s->count, s->values);
    w->bindings[w->n_sources - 1] = s->values;
    return s->node;
}

static RelnNode *index_input(World *w, RelnDomain domain, RelnDims dims, RelnDomain target,
                             int limit)
{
    char name[16];
    WorldSource *s;
    ptrdiff_t at = 0, each;

    snprintf(name, sizeof name, "x%d", w->n_sources);
    s = add_source(w, reln_input_index(w->graph, name, domain, dims, target, limit), true);
    s->indices = calloc((size_t)s->count + 1, sizeof *s->indices);
    assert_non_null(s->indices);
    each = reln_shape_count(&s->node->shape);
    for (ptrdiff_t i = 0; i < (domain == RELN_STEP ? 1 : w->n_samples); i++) {
        const ptrdiff_t items = domain == w->points  ? w->points_of[i]
                                : domain == w->edges ? w->edges_of[i]
                                                     : 1;
        const int most = target == w->points ? w->points_of[i] : limit;

        for (ptrdiff_t j = 0; j < items * each; j++)
            s->indices[at++] = below(w, most);
    }
    w->bindings[w->n_sources - 1] = s->indices;
    return s->node;
}

static RelnNode *param(World *w, RelnDims dims, bool state)
{
    char name[16];
    const RelnInit init = {RELN_INIT_NORMAL, 0.7};
    RelnEntryInfo info;
    WorldSource *s;

    snprintf(name, sizeof name, "x%d", w->n_sources);
    s = add_source(w, (state ? reln_state : reln_param)(w->graph, name, dims, init), state);
    assert_true(reln_store_find(w->store, name, &info));
    s->values = info.values;
    return s->node;
}

static bool frozen_source(const World *w, const RelnNode *x)
{
    for (int i = 0; i < w->n_sources; i++)
        if (w->sources[i].node == x)
            return w->sources[i].frozen;
    return true;
}

static bool is_frozen(World *w, const RelnNode *x)
{
    assert_true(w->graph->nodes.count <= WORLD_NODES);
    for (; w->n_known < w->graph->nodes.count; w->n_known++) {
        const RelnNode *z = w->graph->nodes.items[w->n_known];
        bool *frozen = &w->frozen[w->n_known];

        *frozen = !(z->op->flags & RELN_OP_SOURCE) || frozen_source(w, z);
        for (int i = 0; i < z->n_in; i++)
            *frozen = *frozen && w->frozen[z->in[i]->id];
    }
    return w->frozen[x->id];
}

/* ---- choosing ------------------------------------------------------------------------------------------------- */

typedef bool Fits(World *w, const RelnNode *x, const RelnNode *other);

/* One of the pool that fits, rather a late one than an early one. */
static RelnNode *find(World *w, Fits *fits, const RelnNode *other)
{
    RelnNode *found[WORLD_POOL];
    int n = 0, a, b;

    for (int i = 0; i < w->n_pool; i++)
        if (fits(w, w->pool[i], other))
            found[n++] = w->pool[i];
    if (!n)
        return NULL;
    a = below(w, n);
    b = below(w, n);
    return found[a > b ? a : b];
}

static bool any(World *w, const RelnNode *x, const RelnNode *other)
{
    (void)w;
    (void)other;
    return x->dtype == RELN_F64;
}

static bool invariant(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && reln_is_invariant(x);
}

static bool batched(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && x->domain != RELN_STEP;
}

static bool adjoint(World *w, const RelnNode *x, const RelnNode *other)
{
    (void)other;
    return x->rep == w->adjoint;
}

static bool frozen_invariant(World *w, const RelnNode *x, const RelnNode *other)
{
    return invariant(w, x, other) && is_frozen(w, x);
}

static bool domains_join(const RelnNode *x, const RelnNode *y)
{
    return x->domain == y->domain || x->domain == RELN_STEP || y->domain == RELN_STEP;
}

static bool extents_join(const RelnNode *x, const RelnNode *y, int but)
{
    ptrdiff_t count = 1;

    for (int a = 0; a < RELN_AXES; a++) {
        const int e = x->shape.dims[a], f = y->shape.dims[a];

        if (a != but && e != f && e != 1 && f != 1)
            return false;
        count *= e > f ? e : f;
    }
    return count <= ITEM;
}

static bool joins(const RelnNode *x, const RelnNode *y)
{
    return domains_join(x, y) && extents_join(x, y, -1);
}

/* ---- ops of one operand --------------------------------------------------------------------------------------- */

static RelnNode *make_map(World *w)
{
    RelnNode *x = find(w, invariant, NULL);
    RelnGraph *g = w->graph;

    switch (below(w, 10)) {
    case 0:
        return reln_sin(g, x);
    case 1:
        return reln_cos(g, x);
    case 2:
        return reln_sigmoid(g, x);
    case 3:
        return reln_softplus(g, x);
    case 4:
        return reln_exp(g, reln_tanh(g, x));
    case 5:
        return reln_sqrt(g, reln_shift(g, reln_square(g, x), 1.0, 1.0));
    case 6:
        return reln_reciprocal(g, reln_shift(g, reln_square(g, x), 1.0, 1.0));
    case 7:
        return reln_log(g, reln_shift(g, reln_sigmoid(g, x), 1.0, 0.5));
    default:
        return reln_tanh(g, x);
    }
}

static RelnNode *make_kink(World *w)
{
    RelnNode *x = find(w, frozen_invariant, NULL);

    if (!x)
        return NULL;
    return below(w, 3) == 0   ? reln_relu(w->graph, x)
           : below(w, 2) == 0 ? reln_abs(w->graph, x)
                              : reln_stop_gradient(w->graph, reln_step(w->graph, x));
}

static RelnNode *make_scale(World *w)
{
    return chance(w, 0.5) ? reln_scale(w->graph, find(w, any, NULL), -0.7)
                          : reln_shift(w->graph, find(w, invariant, NULL), 0.8, 0.3);
}

static RelnAxis some_axis(World *w, const RelnNode *x)
{
    static const RelnAxis free[4] = {RELN_P, RELN_Q, RELN_R, RELN_C};

    return reln_is_invariant(x) ? (RelnAxis)below(w, RELN_AXES) : free[below(w, 4)];
}

static RelnNode *make_sum(World *w)
{
    RelnNode *x = find(w, any, NULL);
    const RelnAxis axis = some_axis(w, x);

    return chance(w, 0.5) ? reln_sum(w->graph, x, axis) : reln_mean(w->graph, x, axis);
}

static RelnNode *make_sum_all(World *w)
{
    return reln_sum_all(w->graph, find(w, invariant, NULL));
}

static RelnNode *make_batch(World *w)
{
    RelnNode *x = find(w, batched, NULL);

    return chance(w, 0.5) ? reln_batch_sum(w->graph, x) : reln_batch_mean(w->graph, x);
}

static bool batched_invariant(World *w, const RelnNode *x, const RelnNode *other)
{
    return batched(w, x, other) && reln_is_invariant(x);
}

/* Batch statistics that samples use again: each of them is a phase. */
static RelnNode *make_normal(World *w)
{
    RelnNode *x = find(w, chance(w, 0.5) ? batched_invariant : batched, NULL);
    RelnNode *y = reln_sub(w->graph, x, reln_batch_mean(w->graph, x));
    RelnNode *v;

    if (!reln_is_invariant(x) || chance(w, 0.3))
        return y;
    v = reln_batch_mean(w->graph, reln_square(w->graph, y));
    return reln_div(w->graph, y, reln_sqrt(w->graph, reln_shift(w->graph, v, 1.0, 0.3)));
}

/* Many reductions of one shape, added up: they share an accumulator, but for those that are read elsewhere too. */
static RelnNode *make_batch_sums(World *w)
{
    RelnNode *x = find(w, batched, NULL), *sum = NULL;
    const int n = 2 + below(w, 4);

    for (int i = 0; i < n; i++) {
        RelnNode *term = reln_batch_sum(w->graph, reln_scale(w->graph, x, 0.02 * (i + 1)));

        if (chance(w, 0.2))
            term = reln_scale(w->graph, term, 0.9);
        else if (chance(w, 0.2))
            term = reln_swap_axes(w->graph, term, RELN_P, RELN_Q);
        if (sum && memcmp(&term->shape, &sum->shape, sizeof sum->shape) != 0)
            continue;
        if (chance(w, 0.3))
            keep(w, term);
        sum = !sum             ? term
              : chance(w, 0.5) ? reln_add(w->graph, sum, term)
                               : reln_add(w->graph, term, sum);
        if (chance(w, 0.2))
            keep(w, sum);
    }
    return sum;
}

static bool repeats(World *w, const RelnNode *x, const RelnNode *like)
{
    (void)w;
    for (int a = 0; a < RELN_AXES; a++)
        if (x->shape.dims[a] != like->shape.dims[a] &&
            (x->shape.dims[a] != 1 || (a == RELN_K && !reln_is_invariant(x))))
            return false;
    return x->dtype == RELN_F64 && (x->domain == RELN_STEP || x->domain == like->domain);
}

static RelnNode *make_expand(World *w)
{
    RelnNode *like = find(w, any, NULL);

    return reln_expand(w->graph, find(w, repeats, like), like);
}

static RelnNode *make_reshape(World *w)
{
    RelnNode *x = find(w, any, NULL);
    const RelnDims d = reln_node_dims(x);

    switch (below(w, reln_is_invariant(x) ? 6 : 4)) {
    case 0:
        return reln_reshape(w->graph, x, (RelnDims){d.p * d.q * d.r, 1, 1, d.k, d.c});
    case 1:
        return reln_reshape(w->graph, x, (RelnDims){1, d.p * d.q, d.r, d.k, d.c});
    case 2:
        return reln_reshape(w->graph, x, (RelnDims){d.p, 1, d.q * d.r, d.k, d.c});
    case 3:
        return reln_reshape(w->graph, x, (RelnDims){d.r, d.p, d.q, d.k, d.c});
    case 4:
        return reln_reshape(w->graph, x, (RelnDims){1, 1, d.p * d.q * d.r, 1, d.k * d.c});
    default:
        return reln_reshape(w->graph, x, (RelnDims){d.c, d.p, d.q, d.k, d.r});
    }
}

static RelnNode *make_permute(World *w)
{
    RelnNode *x = find(w, any, NULL);
    RelnAxis axes[RELN_AXES] = {RELN_P, RELN_Q, RELN_R, RELN_K, RELN_C};

    for (int i = 0; i < 3; i++) {
        const RelnAxis a = some_axis(w, x), b = some_axis(w, x), keep = axes[a];

        axes[a] = axes[b];
        axes[b] = keep;
    }
    return reln_permute(w->graph, x, axes);
}

static RelnNode *make_slice(World *w)
{
    RelnNode *x = find(w, any, NULL);
    const RelnAxis axis = some_axis(w, x);
    const int first = below(w, extent(x, axis));

    return reln_slice(w->graph, x, axis, first, 1 + below(w, extent(x, axis) - first));
}

static RelnNode *make_pad(World *w)
{
    RelnNode *x = find(w, any, NULL);

    return reln_shape_count(&x->shape) * 3 > ITEM
               ? NULL
               : reln_pad(w->graph, x, some_axis(w, x), below(w, 2), below(w, 2));
}

static RelnNode *make_softmax(World *w)
{
    RelnNode *x = find(w, invariant, NULL);
    const RelnAxis axis = (RelnAxis)below(w, RELN_AXES);

    return chance(w, 0.5) ? reln_softmax(w->graph, x, axis) : reln_logsumexp(w->graph, x, axis);
}

static RelnNode *make_unfold(World *w)
{
    RelnNode *x = find(w, any, NULL);
    RelnNode *y = reln_unfold(w->graph, x, 1 + below(w, 2), 1 + below(w, 2), below(w, 2) + 1);

    return reln_shape_count(&y->shape) > ITEM ? NULL : y;
}

static RelnNode *make_cast(World *w)
{
    RelnNode *x;

    if (!w->coarse)
        return NULL;
    x = reln_cast(w->graph, find(w, any, NULL), RELN_F32);
    return reln_cast(w->graph, reln_is_invariant(x) ? reln_tanh(w->graph, x) : x, RELN_F64);
}

static RelnNode *make_center(World *w)
{
    return reln_center_part(w->graph, w->algebra, find(w, adjoint, NULL));
}

static RelnNode *make_random(World *w)
{
    return reln_random_normal(w->graph, below(w, 2) ? RELN_SAMPLES : w->points,
                              (RelnDims){.p = 1 + below(w, 2), .c = 1 + below(w, 3)}, 0);
}

/* ---- ops of two and more -------------------------------------------------------------------------------------- */

static bool addable(World *w, const RelnNode *x, const RelnNode *y)
{
    return any(w, x, y) && joins(x, y) &&
           (x->rep == y->rep || (reln_is_invariant(x) && reln_is_invariant(y)));
}

static RelnNode *make_add(World *w)
{
    RelnNode *x = find(w, any, NULL), *y = find(w, addable, x);

    return chance(w, 0.7) ? reln_add(w->graph, x, y) : reln_sub(w->graph, x, y);
}

static bool factor(World *w, const RelnNode *x, const RelnNode *y)
{
    return invariant(w, x, y) && joins(x, y) && (extent(x, RELN_K) == 1 || reln_is_invariant(y));
}

static RelnNode *make_mul(World *w)
{
    RelnNode *x = find(w, any, NULL), *y = find(w, factor, x);

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
    return factor(w, x, y) && is_frozen(w, x);
}

/* Which of two is decided by numbers that nothing is differentiated by. */
static RelnNode *make_select(World *w)
{
    RelnNode *x = find(w, any, NULL), *y = find(w, addable, x), *s = find(w, frozen_factor, x);
    RelnNode *mask = reln_less(w->graph, s, reln_scalar(w->graph, 0.1));

    if (!s || !y || !joins(s, y) || !joins(reln_add(w->graph, x, y), s))
        return NULL;
    if (!reln_is_invariant(x) && extent(s, RELN_K) != 1)
        return NULL;
    return chance(w, 0.5) ? reln_select(w->graph, mask, x, y) : reln_mask(w->graph, mask, x);
}

static bool like(World *w, const RelnNode *x, const RelnNode *y)
{
    return any(w, x, y) && domains_join(x, y) && x->rep == y->rep &&
           memcmp(&x->shape, &y->shape, sizeof x->shape) == 0;
}

static RelnNode *make_concat(World *w)
{
    RelnNode *x = find(w, any, NULL), *xs[3] = {x, find(w, like, x), find(w, like, x)};
    static const RelnAxis free[4] = {RELN_P, RELN_Q, RELN_R, RELN_C};

    if (reln_shape_count(&x->shape) * 3 > ITEM || !domains_join(xs[1], xs[2]))
        return NULL;
    return reln_concat(w->graph, 2 + below(w, 2), xs, free[below(w, 4)]);
}

static bool beside(World *w, const RelnNode *x, const RelnNode *y)
{
    for (int a = 0; a < RELN_AXES; a++)
        if (a != RELN_K && x->shape.dims[a] != y->shape.dims[a])
            return false;
    return any(w, x, y) && domains_join(x, y) && extent(x, RELN_K) + extent(y, RELN_K) < 10;
}

static RelnNode *make_concat_k(World *w)
{
    RelnNode *x = find(w, any, NULL), *y = find(w, beside, x), *z = reln_concat_k(w->graph, x, y);

    if (!y || chance(w, 0.3))
        return z;
    return chance(w, 0.5) ? reln_slice_k(w->graph, z, 0, x->rep)
                          : reln_slice_k(w->graph, z, extent(x, RELN_K), y->rep);
}

static bool bracketable(World *w, const RelnNode *x, const RelnNode *y)
{
    return adjoint(w, x, y) && joins(x, y);
}

static RelnNode *make_bracket(World *w)
{
    RelnNode *x = find(w, adjoint, NULL), *y = find(w, bracketable, x);

    return chance(w, 0.4) ? reln_bracket(w->graph, w->algebra, x, y)
                          : reln_form(w->graph, w->algebra, RELN_FORM_COMPLETED, x, y);
}

static bool dual(World *w, const RelnNode *x, const RelnNode *y)
{
    return any(w, x, y) && domains_join(x, y) && x->rep == reln_rep_dual(y->rep);
}

static bool pairs(World *w, const RelnNode *x, const RelnNode *y)
{
    return dual(w, x, y) && joins(x, y);
}

static RelnNode *make_pair(World *w)
{
    RelnNode *x = find(w, any, NULL);

    return reln_pair(w->graph, x, find(w, pairs, x));
}

static bool grams(World *w, const RelnNode *x, const RelnNode *y)
{
    return dual(w, x, y) && extent(x, RELN_C) == extent(y, RELN_C) && extents_join(x, y, RELN_R);
}

static bool channel_grams(World *w, const RelnNode *x, const RelnNode *y)
{
    return dual(w, x, y) && extent(x, RELN_R) == extent(y, RELN_R) && extents_join(x, y, RELN_C);
}

static RelnNode *make_gram(World *w)
{
    RelnNode *x = find(w, any, NULL);

    return chance(w, 0.5) ? reln_gram(w->graph, x, find(w, grams, x))
                          : reln_channel_gram(w->graph, x, find(w, channel_grams, x));
}

static bool outer_with(World *w, const RelnNode *x, const RelnNode *y)
{
    for (int a = 0; a < RELN_C; a++)
        if (x->shape.dims[a] != y->shape.dims[a])
            return false;
    return dual(w, x, y) && x->domain == y->domain;
}

static RelnNode *make_outer(World *w)
{
    RelnNode *x = find(w, any, NULL);

    return reln_outer(w->graph, x, find(w, outer_with, x));
}

static bool matrix_for(World *w, const RelnNode *a, const RelnNode *v, RelnAxis from, RelnAxis to)
{
    for (int i = 0; i < 2; i++)
        if (a->shape.dims[i] != 1 && v->shape.dims[i] != 1 && a->shape.dims[i] != v->shape.dims[i])
            return false;
    return invariant(w, a, v) && extent(a, RELN_K) == 1 && domains_join(a, v) &&
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

static RelnNode *make_weigh(World *w)
{
    RelnNode *v = find(w, any, NULL);

    switch (below(w, 4)) {
    case 0:
        return reln_weigh(w->graph, find(w, weighs, v), v);
    case 1:
        return reln_weigh_t(w->graph, find(w, weighs_t, v), v);
    case 2:
        return reln_channel_mix(w->graph, v, find(w, mixes, v));
    default:
        return reln_channel_mix_t(w->graph, v, find(w, mixes_t, v));
    }
}

static bool weights(World *w, const RelnNode *a, const RelnNode *v)
{
    return mixes(w, a, v) && a->domain == RELN_STEP && extent(a, RELN_P) == 1 &&
           extent(a, RELN_Q) == 1;
}

/* With weights of the pool, computed ones too, or new ones. */
static RelnNode *make_mix(World *w)
{
    RelnNode *x = find(w, any, NULL), *m = find(w, weights, x);
    const int c = extent(x, RELN_C);

    if (reln_shape_count(&x->shape) * 2 > ITEM)
        return NULL;
    if (!m || chance(w, 0.2)) {
        m = param(w, (RelnDims){.r = c, .c = 1 + below(w, 3)}, false);
        keep(w, m);
    }
    if (extent(m, RELN_C) == c && chance(w, 0.3))
        return reln_mix_t(w->graph, x, m);
    return reln_mix(w->graph, x, m);
}

/* ---- choices and rows ----------------------------------------------------------------------------------------- */

static bool scores(World *w, const RelnNode *s, const RelnNode *x)
{
    return frozen_invariant(w, s, x) && extent(s, RELN_K) == 1 && joins(s, x);
}

static RelnNode *make_pick(World *w)
{
    static const RelnAxis free[4] = {RELN_P, RELN_Q, RELN_R, RELN_C};
    RelnNode *x = find(w, any, NULL), *s = find(w, scores, x), *index;
    const RelnAxis axis = free[below(w, 4)];
    RelnDims dims = {1, 1, 1, 1, 1};

    if (s && extent(s, axis) == extent(x, axis) && extent(x, axis) > 1) {
        index = reln_argmax(w->graph, s, axis);
    } else {
        *(axis == RELN_P   ? &dims.p
          : axis == RELN_Q ? &dims.q
          : axis == RELN_R ? &dims.r
                           : &dims.c) = 1 + below(w, 3);
        index = index_input(w, chance(w, 0.5) ? x->domain : RELN_STEP, dims, RELN_STEP,
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

static RelnNode *make_gather(World *w)
{
    if (chance(w, 0.4))
        return reln_gather(w->graph, find(w, of_samples, NULL),
                           reln_row_sample(w->graph, w->points));
    return reln_gather(w->graph, find(w, of_points, NULL),
                       chance(w, 0.5) ? w->edge_from : w->edge_to);
}

static RelnNode *make_segment(World *w)
{
    const bool edges = chance(w, 0.4);
    RelnNode *x = find(w, edges ? of_edges : of_points, NULL);
    RelnNode *index = edges ? w->edge_to : reln_row_sample(w->graph, w->points);
    const RelnDomain target = edges ? w->points : RELN_SAMPLES;

    if (!x)
        return NULL;
    if (reln_is_invariant(x) && chance(w, 0.3))
        return reln_segment_softmax(w->graph, x, index, target);
    return chance(w, 0.5) ? reln_segment_sum(w->graph, x, index, target)
                          : reln_segment_mean(w->graph, x, index, target);
}

static bool row_scores(World *w, const RelnNode *s, const RelnNode *x)
{
    for (int a = 0; a < RELN_AXES; a++)
        if (s->shape.dims[a] != 1 && s->shape.dims[a] != x->shape.dims[a])
            return false;
    return frozen_invariant(w, s, x) && s->domain == w->points && extent(s, RELN_K) == 1;
}

/* The point with the largest score of every sample. */
static RelnNode *make_best(World *w)
{
    RelnNode *x = find(w, of_points, NULL), *s = x ? find(w, row_scores, x) : NULL;
    RelnNode *best;

    if (!s)
        return NULL;
    best = reln_segment_argmax(w->graph, s, reln_row_sample(w->graph, w->points), RELN_SAMPLES);
    if (chance(w, 0.2) && reln_is_invariant(x) && is_frozen(w, x))
        return reln_segment_max(w->graph, x, reln_row_sample(w->graph, w->points), RELN_SAMPLES);
    return reln_gather(w->graph, x, best);
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

enum { FN_ARGS = 6, FN_OUTS = 6 };

/* y = x W, u = tanh(B(y, y) / 10 + b), z = u y + ...; the results are of all kinds: computed, views, arguments. */
static int plain_body(World *w, RelnGraph *b, RelnNode **a, RelnNode **outs)
{
    RelnNode *y = reln_mix(b, a[0], a[2]), *u, *z;
    int n = 0;

    u = reln_tanh(
        b,
        reln_add(b, reln_scale(b, reln_form(b, w->algebra, RELN_FORM_COMPLETED, y, y), 0.1), a[3]));
    z = reln_mul(b, y, u);
    if (chance(w, 0.5))
        z = reln_add(b, z, reln_scale(b, reln_bracket(b, w->algebra, z, a[0]), 0.3));
    if (chance(w, 0.5))
        z = reln_mul(b, z, reln_sin(b, reln_mix_t(b, a[1], a[2])));
    if (chance(w, 0.1))
        z = reln_mul(
            b, z, reln_random_uniform(b, RELN_SAMPLES, (RelnDims){.c = extent(a[3], RELN_C)}, 0));
    if (chance(w, 0.3))
        a[2] = reln_tanh(b, reln_add(b, a[2], a[3]));
    outs[n++] = z;
    outs[n++] = reln_add(b, reln_mix(b, a[1], a[2]), u);
    if (chance(w, 0.3))
        outs[n++] = a[chance(w, 0.5)];
    if (chance(w, 0.15))
        outs[n++] = reln_argmax(b, a[1], RELN_C);
    if (chance(w, 0.3))
        outs[n++] = chance(w, 0.5) ? reln_swap_axes(b, z, RELN_P, RELN_Q) : u;
    return n;
}

/* Gradient of an energy inside of a function: a coadjoint result. */
static int field_body(World *w, RelnGraph *b, RelnNode **a, RelnNode **outs)
{
    int n = plain_body(w, b, a, outs);
    RelnNode *grads[2] = {NULL, NULL};
    RelnNode *energy = reln_sum_all(
        b, reln_mul(b, outs[1], reln_form(b, w->algebra, RELN_FORM_COMPLETED, outs[0], outs[0])));

    if (reln_grad(b, energy, 2, a, grads))
        outs[n++] = reln_scale(b, grads[0], 0.1);
    outs[1] = reln_add(b, outs[1], reln_scale(b, grads[1], 0.1));
    return n;
}

/* Calls of another function, one after another, with the weights both ways round. */
static int nested_body(World *w, RelnGraph *b, const WorldFn *inner, RelnNode **a, RelnNode **outs)
{
    RelnNode *args[FN_ARGS], *mid[FN_OUTS + 1] = {NULL};
    const int calls = 1 + below(w, 3);

    memcpy(args, a, sizeof args);
    for (int i = 0; i < calls; i++) {
        args[2] = i % 2 ? a[4] : chance(w, 0.5) ? a[2] : reln_scale(b, a[2], 0.5);
        if (!reln_call(b, inner->fn, 4, args, mid))
            return 0;
        args[0] = mid[0];
        args[1] = chance(w, 0.5) ? reln_tanh(b, mid[1]) : a[1];
    }
    outs[0] = chance(w, 0.5) ? args[0] : reln_add(b, args[0], a[0]);
    outs[1] = args[1] == a[1] ? reln_cos(b, mid[1]) : args[1];
    return 2;
}

static RelnNode *make_fn(World *w)
{
    WorldFn f = {.p = 1 + below(w, 2), .c = 1 + below(w, 3), .n_in = 4};
    const WorldFn *inner = NULL;
    const int k = reln_rep_dim(w->adjoint);
    RelnGraph *b;
    RelnNode *a[FN_ARGS] = {NULL}, *outs[FN_OUTS + 1];

    if (w->n_fns == WORLD_FNS)
        return NULL;
    if (w->n_fns && chance(w, 0.6)) {
        inner = &w->fns[below(w, w->n_fns)];
        if (inner->n_in != 4)
            return NULL;
        f.p = inner->p;
        f.c = inner->c;
        f.n_in = 5;
    }
    b = reln_fn_begin(w->graph, "f");
    a[0] = reln_argument(b, RELN_SAMPLES, (RelnDims){.p = f.p, .k = k, .c = f.c}, w->adjoint,
                         RELN_DEFAULT);
    a[1] = reln_argument(b, RELN_SAMPLES, (RelnDims){.p = f.p, .c = f.c}, NULL, RELN_DEFAULT);
    a[2] = reln_argument(b, RELN_STEP, (RelnDims){.r = f.c, .c = f.c}, NULL, RELN_DEFAULT);
    a[3] = reln_argument(b, RELN_STEP, (RelnDims){.c = f.c}, NULL, RELN_DEFAULT);
    if (inner)
        a[4] = reln_argument(b, RELN_STEP, (RelnDims){.r = f.c, .c = f.c}, NULL, RELN_DEFAULT);
    /* two arguments with the same gradient */
    if (!inner && chance(w, 0.3)) {
        a[4] = reln_argument(b, RELN_STEP, (RelnDims){.r = f.c, .c = f.c}, NULL, RELN_DEFAULT);
        a[2] = reln_add(b, a[2], a[4]);
        f.n_in = 5;
    }
    f.n_out = inner            ? nested_body(w, b, inner, a, outs)
              : chance(w, 0.3) ? field_body(w, b, a, outs)
                               : plain_body(w, b, a, outs);
    f.fn = reln_fn_end(b, f.n_out, outs);
    if (f.fn)
        w->fns[w->n_fns++] = f;
    return NULL;
}

/* A node of the pool with this shape and rep, or a new source. */
static RelnNode *wanted(World *w, const RelnNode *a, RelnDomain domain)
{
    RelnNode *found[WORLD_POOL];
    int n = 0;

    for (int i = 0; i < w->n_pool; i++) {
        RelnNode *x = w->pool[i];

        if (memcmp(&x->shape, &a->shape, sizeof x->shape) == 0 && x->rep == a->rep &&
            (x->domain == RELN_STEP || x->domain == domain))
            found[n++] = x;
    }
    if (n && chance(w, 0.6))
        return found[below(w, n)];
    return domain == RELN_STEP && reln_is_invariant(a)
               ? param(w, reln_node_dims(a), false)
               : input(w, domain, reln_node_dims(a), a->rep, false);
}

static bool call_once(World *w, const WorldFn *f, RelnDomain domain, RelnNode **x)
{
    RelnNode *args[FN_ARGS], *outs[FN_OUTS + 1];

    for (int i = 0; i < f->n_in; i++)
        args[i] = i == 0 && *x ? *x
                               : wanted(w, f->fn->in[i],
                                        f->fn->in[i]->domain == RELN_STEP ? RELN_STEP : domain);
    if (!reln_call(w->graph, f->fn, f->n_in, args, outs))
        return false;
    for (int i = 1; i < f->n_out; i++)
        if (chance(w, 0.6))
            keep(w, outs[i]);
    *x = outs[0];
    return true;
}

/* Calls of one function, one after another, mostly with other weights. */
static RelnNode *make_call(World *w)
{
    const WorldFn *f = w->n_fns ? &w->fns[below(w, w->n_fns)] : NULL;
    const RelnDomain domains[4] = {RELN_SAMPLES, RELN_SAMPLES, w->points, RELN_STEP};
    const RelnDomain domain = domains[below(w, 4)];
    const int n = 1 + below(w, 3);
    RelnNode *x = NULL;

    if (!f)
        return make_fn(w);
    for (int i = 0; i < n; i++)
        if (!call_once(w, f, domain, &x))
            return NULL;
    return chance(w, 0.9) ? x : NULL;
}

/* ---- derivatives inside of the graph --------------------------------------------------------------------------- */

static bool depends(const RelnNode *y, const RelnNode *x)
{
    if (y->id <= x->id)
        return y == x;
    for (int i = 0; i < y->n_in; i++)
        if (depends(y->in[i], x))
            return true;
    return false;
}

static bool force_of(World *w, const RelnNode *x, const RelnNode *y)
{
    return any(w, x, y) && x->needs_grad && y->id - x->id < 20 && depends(y, x);
}

/* The gradient of an energy by something that it depends on, source or not: a feature like any other. */
static RelnNode *make_force(World *w)
{
    RelnNode *y = find(w, invariant, NULL), *x = find(w, force_of, y), *force = NULL;

    if (!x || w->n_forces == 2)
        return NULL;
    w->n_forces++;
    reln_grad(w->graph, reln_sum_all(w->graph, reln_sin(w->graph, y)), 1, &x, &force);
    return force;
}

/* ---- the graph ------------------------------------------------------------------------------------------------ */

typedef RelnNode *Make(World *w);
static Make *const makers[] = {
    make_map,     make_map,     make_kink,     make_scale,   make_sum,        make_sum_all,
    make_batch,   make_batch,   make_batch,    make_expand,  make_batch_sums, make_reshape,
    make_reshape, make_permute, make_slice,    make_pad,     make_softmax,    make_unfold,
    make_cast,    make_center,  make_add,      make_add,     make_mul,        make_mul,
    make_select,  make_concat,  make_concat_k, make_bracket, make_pair,       make_gram,
    make_outer,   make_weigh,   make_mix,      make_mix,     make_pick,       make_gather,
    make_segment, make_best,    make_fn,       make_call,    make_call,       make_call,
    make_normal,  make_normal,  make_normal,   make_force,   make_force};
enum { N_MAKERS = sizeof makers / sizeof *makers };

static double largest(const World *w, const RelnNode *x)
{
    const ptrdiff_t n = interpret_items(&w->meaning, x->domain) * reln_shape_count(&x->shape);
    const double *values = w->meaning.values[x->id];
    double most = 0;

    for (ptrdiff_t i = 0; i < n; i++) {
        assert_true(isfinite(values[i]));
        most = fmax(most, fabs(values[i]));
    }
    return most;
}

/* Into the pool, scaled so that nothing is larger than 2. */
static void keep(World *w, RelnNode *x)
{
    double most;

    assert_ok(w->ctx, reln_graph_status(w->graph));
    if (!x || x->dtype != RELN_F64 || reln_shape_count(&x->shape) > ITEM || w->n_pool == WORLD_POOL)
        return;
    interpret_on(&w->meaning);
    most = largest(w, x);
    w->pool[w->n_pool++] = most > 2.0 ? reln_scale(w->graph, x, 1.0 / most) : x;
}

static void make_sources(World *w)
{
    const int k = reln_rep_dim(w->adjoint);
    const RelnDomain domains[4] = {RELN_SAMPLES, w->points, w->edges, RELN_STEP};

    for (int i = 0; i < 4; i++) {
        const RelnDims d = {1 + below(w, 2), 1 + below(w, 2), 1 + below(w, 3), k, 1 + below(w, 3)};
        const RelnDims s = {d.p, 1, 1, 1, d.c}, e = {1, d.q, d.r, 1 + below(w, 2), 1};

        if (i < 2 || chance(w, 0.5))
            keep(w, input(w, domains[i], (RelnDims){d.p, 1, 1, k, d.c}, w->adjoint, false));
        if (chance(w, 0.5))
            keep(w, input(w, domains[i], (RelnDims){1, 1, d.r, k, d.c}, w->coadjoint, false));
        keep(w, input(w, domains[i], s, NULL, false));
        if (chance(w, 0.5))
            keep(w, input(w, domains[i], e, NULL, false));
        if (chance(w, 0.5))
            keep(w, input(w, domains[i], s, NULL, true));
    }
    keep(w, param(w, (RelnDims){.c = 1 + below(w, 3)}, false));
    keep(w, reln_batch_count(w->graph));
    if (chance(w, 0.3))
        keep(w, make_random(w));
    if (chance(w, 0.3))
        keep(w, param(w, (RelnDims){.r = 1 + below(w, 2), .c = 2}, true));
}

static void make_nodes(World *w)
{
    const int n = w->n_pool + 4 + below(w, 36);

    for (int tries = 0; w->n_pool < n && tries < 400 && w->n_sources < WORLD_SOURCES / 3; tries++)
        keep(w, makers[below(w, N_MAKERS)](w));
}

/* ---- outputs and derivatives ---------------------------------------------------------------------------------- */

static void add_output(World *w, RelnNode *x)
{
    char name[16];

    snprintf(name, sizeof name, "y%d", w->n_outputs++);
    reln_output(w->graph, name, x);
}

static RelnNode *number(World *w, RelnNode *x)
{
    RelnGraph *g = w->graph;

    if (reln_is_invariant(x))
        return reln_sum_all(g, chance(w, 0.5) ? reln_sin(g, x) : reln_square(g, x));
    if (x->rep == w->adjoint && chance(w, 0.5))
        return reln_sum_all(
            g,
            reln_tanh(g, reln_scale(g, reln_form(g, w->algebra, RELN_FORM_COMPLETED, x, x), 0.1)));
    return reln_sum_all(g, reln_tanh(g, reln_pair(g, x,
                                                  input(w, x->domain, reln_node_dims(x),
                                                        reln_rep_dual(x->rep), true))));
}

static bool moving(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && !is_frozen(w, x);
}

static void make_loss(World *w)
{
    RelnGraph *g = w->graph;
    const int n = 1 + below(w, 5);

    for (int i = 0; i < n; i++) {
        RelnNode *x = find(w, moving, NULL), *y = number(w, x);

        if (y->domain != RELN_STEP)
            y = chance(w, 0.7) ? reln_batch_mean(g, y)
                               : reln_scale(g, reln_batch_sum(g, reln_square(g, y)), 0.01);
        w->L = w->L ? reln_add(g, w->L, y) : y;
    }
}

/* <x, y> summed over everything. */
static RelnNode *pair_all(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    RelnNode *s = reln_sum_all(g, reln_pair(g, x, y));

    return s && s->domain != RELN_STEP ? reln_batch_sum(g, s) : s;
}

static void make_derivatives(World *w)
{
    RelnNode *xs[WORLD_X];
    char name[16];

    for (int i = 0; i < w->n_sources && w->n_x < WORLD_X; i++)
        if (!w->sources[i].frozen && w->sources[i].node->dtype == RELN_F64)
            w->x[w->n_x++] = i;
    for (int i = 0; i < w->n_x; i++)
        xs[i] = w->sources[w->x[i]].node;
    reln_output(w->graph, "L", w->L);
    reln_grad(w->graph, w->L, w->n_x, xs, w->g);
    assert_ok(w->ctx, reln_graph_status(w->graph));
    for (int i = 0; i < w->n_x; i++) {
        snprintf(name, sizeof name, "g%d", i);
        reln_output(w->graph, name, w->g[i]);
    }
    for (int i = 0; i < w->n_x && w->order > 1; i++) {
        RelnNode *v = input(w, xs[i]->domain, reln_node_dims(xs[i]), xs[i]->rep, true);
        RelnNode *term = pair_all(w->graph, w->g[i], v);

        w->v[i] = w->n_sources - 1;
        w->S = w->S ? reln_add(w->graph, w->S, term) : term;
    }
    if (w->order < 2)
        return;
    reln_output(w->graph, "S", w->S);
    reln_grad(w->graph, w->S, w->n_x, xs, w->h);
    for (int i = 0; i < w->n_x; i++) {
        snprintf(name, sizeof name, "h%d", i);
        reln_output(w->graph, name, w->h[i]);
    }
}

static void make_batch_of(World *w)
{
    w->n_samples = chance(w, 0.1) ? 1 : 1 + below(w, WORLD_SAMPLES - 1);
    for (int i = 0; i < w->n_samples; i++) {
        w->points_of[i] = chance(w, 0.2) ? 0 : below(w, 6);
        w->edges_of[i] = w->points_of[i] ? below(w, 7) : 0;
    }
    w->rows[0] = w->points_of;
    w->rows[1] = w->edges_of;
    w->batch = (Batch){w->n_samples, w->rows, w->bindings, 5, 3};
}

void world_make(World *w, uint64_t seed)
{
    static const char *const algebras[] = {"gl:2", "so:3", "so:1,2"};
    const char *algebra;
    double often;

    memset(w, 0, sizeof *w);
    w->rng = reln_rng(seed, 17);
    algebra = algebras[below(w, 3)];
    assert_int_equal(reln_ctx_create(NULL, &w->ctx), RELN_OK);
    assert_ok(w->ctx, reln_algebra_create(w->ctx, algebra, &w->algebra));
    assert_ok(w->ctx, reln_group_create(w->ctx, algebra, &w->group));
    assert_ok(w->ctx, reln_store_create(w->ctx, seed, &w->store));
    assert_ok(w->ctx, reln_graph_create(w->group, w->store, RELN_F64, &w->graph));
    w->adjoint = reln_rep_adjoint(w->group, w->algebra);
    w->coadjoint = reln_rep_dual(w->adjoint);
    w->points = reln_rows(w->graph, "points", 5 + below(w, 9));
    w->edges = reln_rows(w->graph, "edges", 6 + below(w, 9));
    w->coarse = chance(w, 0.1);
    w->order = 1 + below(w, 2);
    make_batch_of(w);
    interpret_init(&w->meaning, w->graph, &w->batch);
    w->edge_from = index_input(w, w->edges, (RelnDims){0}, w->points, 0);
    w->edge_to = index_input(w, w->edges, (RelnDims){0}, w->points, 0);
    make_sources(w);
    make_nodes(w);
    make_loss(w);
    often = reln_rng_uniform(&w->rng);
    for (int i = 0; i < w->n_pool; i++)
        if (chance(w, 0.5 * often))
            add_output(w, w->pool[i]);
    make_derivatives(w);
    assert_ok(w->ctx, reln_graph_status(w->graph));
    interpret_on(&w->meaning);
}

void world_clear(World *w)
{
    interpret_clear(&w->meaning);
    for (int i = 0; i < w->n_sources; i++) {
        if (w->sources[i].node->op == &reln_op_input)
            free(w->sources[i].values);
        free(w->sources[i].indices);
    }
    reln_graph_destroy(w->graph);
    reln_store_destroy(w->store);
    reln_group_destroy(w->group);
    reln_algebra_destroy(w->algebra);
    assert_int_equal(reln_ctx_live_blocks(w->ctx), 0);
    reln_ctx_destroy(w->ctx);
}
