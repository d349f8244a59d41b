/* world_unary.c -- makes nodes with one operand. */
#include "property/world_parts.h"

#include "ops/window.h"

#include <math.h>
#include <string.h>

RelnNode *world_make_map(World *w)
{
    RelnNode *x = world_find(w, invariant, NULL);
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

/* Returns false where rounding of a number that should be 0 would decide. */
static bool clear_of_zero(World *w, const RelnNode *x)
{
    const double *values;
    const ptrdiff_t n = interpret_items(&w->meaning, x->domain) * reln_shape_count(&x->shape);

    interpret_on(&w->meaning);
    values = w->meaning.values[x->id];
    for (ptrdiff_t i = 0; i < n; i++)
        if (fabs(values[i]) < 1e-9)
            return false;
    return true;
}

RelnNode *world_make_kink(World *w)
{
    RelnNode *x = world_find(w, frozen_invariant, NULL);

    if (!x || !clear_of_zero(w, x))
        return NULL;
    return below(w, 3) == 0   ? reln_relu(w->graph, x)
           : below(w, 2) == 0 ? reln_abs(w->graph, x)
                              : reln_stop_gradient(w->graph, reln_step(w->graph, x));
}

RelnNode *world_make_scale(World *w)
{
    return chance(w, 0.5) ? reln_scale(w->graph, world_find(w, any, NULL), -0.7)
                          : reln_shift(w->graph, world_find(w, invariant, NULL), 0.8, 0.3);
}

static RelnAxis some_axis(World *w, const RelnNode *x)
{
    static const RelnAxis free[4] = {RELN_P, RELN_Q, RELN_R, RELN_C};

    return reln_is_invariant(x) ? (RelnAxis)below(w, RELN_AXES) : free[below(w, 4)];
}

RelnNode *world_make_sum(World *w)
{
    RelnNode *x = world_find(w, any, NULL);
    const RelnAxis axis = some_axis(w, x);

    return chance(w, 0.5) ? reln_sum(w->graph, x, axis) : reln_mean(w->graph, x, axis);
}

RelnNode *world_make_sum_all(World *w)
{
    return reln_sum_all(w->graph, world_find(w, invariant, NULL));
}

RelnNode *world_make_batch(World *w)
{
    RelnNode *x = world_find(w, batched, NULL);

    return chance(w, 0.5) ? reln_batch_sum(w->graph, x) : reln_batch_mean(w->graph, x);
}

static bool batched_invariant(World *w, const RelnNode *x, const RelnNode *other)
{
    return batched(w, x, other) && reln_is_invariant(x);
}

/* Makes batch statistics that samples use again, each of which begins a phase. */
RelnNode *world_make_normal(World *w)
{
    RelnNode *x = world_find(w, chance(w, 0.5) ? batched_invariant : batched, NULL);
    RelnNode *y = reln_sub(w->graph, x, reln_batch_mean(w->graph, x));
    RelnNode *v;

    if (!reln_is_invariant(x) || chance(w, 0.3))
        return y;
    v = reln_batch_mean(w->graph, reln_square(w->graph, y));
    return reln_div(w->graph, y, reln_sqrt(w->graph, reln_shift(w->graph, v, 1.0, 0.3)));
}

/* Makes a sum of many reductions of one shape: they share an accumulator, except for those with other
 * readers. */
RelnNode *world_make_batch_sums(World *w)
{
    RelnNode *x = world_find(w, batched, NULL), *sum = NULL;
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
            world_keep(w, term);
        sum = !sum             ? term
              : chance(w, 0.5) ? reln_add(w->graph, sum, term)
                               : reln_add(w->graph, term, sum);
        if (chance(w, 0.2))
            world_keep(w, sum);
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

RelnNode *world_make_expand(World *w)
{
    RelnNode *like = world_find(w, any, NULL);

    return reln_expand(w->graph, world_find(w, repeats, like), like);
}

RelnNode *world_make_reshape(World *w)
{
    RelnNode *x = world_find(w, any, NULL);
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

RelnNode *world_make_permute(World *w)
{
    RelnNode *x = world_find(w, any, NULL);
    RelnAxis axes[RELN_AXES] = {RELN_P, RELN_Q, RELN_R, RELN_K, RELN_C};

    for (int i = 0; i < 3; i++) {
        const RelnAxis a = some_axis(w, x), b = some_axis(w, x), keep = axes[a];

        axes[a] = axes[b];
        axes[b] = keep;
    }
    return reln_permute(w->graph, x, axes);
}

/* Divides the channels among places where an axis of one place is free, and joins places elsewhere. */
RelnNode *world_make_split(World *w)
{
    RelnNode *x = world_find(w, any, NULL);
    const RelnAxis axis = (RelnAxis)below(w, 3);
    const int channels = extent(x, RELN_C), parts = 1 + below(w, channels);

    if (extent(x, axis) == 1 && channels % parts == 0)
        return reln_split(w->graph, x, parts, axis);
    return reln_merge(w->graph, x, axis);
}

RelnNode *world_make_slice(World *w)
{
    RelnNode *x = world_find(w, any, NULL);
    const RelnAxis axis = some_axis(w, x);
    const int first = below(w, extent(x, axis));

    return reln_slice(w->graph, x, axis, first, 1 + below(w, extent(x, axis) - first));
}

RelnNode *world_make_pad(World *w)
{
    RelnNode *x = world_find(w, any, NULL);
    const RelnAxis axis = some_axis(w, x);
    const int before = below(w, 2), behind = below(w, 2);

    return reln_shape_count(&x->shape) * 3 > ITEM ? NULL
                                                  : reln_pad(w->graph, x, axis, before, behind);
}

RelnNode *world_make_softmax(World *w)
{
    RelnNode *x = world_find(w, invariant, NULL);
    const RelnAxis axis = (RelnAxis)below(w, RELN_AXES);

    return chance(w, 0.5) ? reln_softmax(w->graph, x, axis) : reln_logsumexp(w->graph, x, axis);
}

RelnNode *world_make_window(World *w)
{
    RelnNode *x = world_find(w, any, NULL), *y;
    const RelnAxis axis = (RelnAxis)below(w, RELN_K);
    const int width = 1 + below(w, 3);
    const RelnWindow window = {width, 1 + below(w, 2), 1 + below(w, 2), below(w, width),
                               width - 1 + below(w, 2)};
    const RelnWindows windows = reln_windows(axis, extent(x, axis), window);

    if (reln_windows_count(&windows) == 0 || reln_shape_count(&x->shape) * 3 > ITEM)
        return NULL;
    if (chance(w, 0.3) && window.dilation == 1 && windows.extent >= width)
        return reln_window_mean(w->graph, x, axis,
                                (RelnWindow){width, window.stride, 1, window.before, 0});
    y = reln_conv(
        w->graph, x,
        world_param(w, (RelnDims){.r = width * extent(x, RELN_C), .c = 1 + below(w, 2)}, false),
        axis, window);
    return y && reln_shape_count(&y->shape) > ITEM ? NULL : y;
}

RelnNode *world_make_cast(World *w)
{
    RelnNode *x;

    if (!w->coarse)
        return NULL;
    x = reln_cast(w->graph, world_find(w, any, NULL), RELN_F32);
    return reln_cast(w->graph, reln_is_invariant(x) ? reln_tanh(w->graph, x) : x, RELN_F64);
}

RelnNode *world_make_center(World *w)
{
    return reln_center_part(w->graph, w->algebra, world_find(w, adjoint, NULL));
}

RelnNode *world_make_random(World *w)
{
    const RelnDomain domain = below(w, 2) ? RELN_SAMPLES : w->points;
    const int p = 1 + below(w, 2), c = 1 + below(w, 3);

    return reln_random_normal(w->graph, domain, (RelnDims){.p = p, .c = c}, 0);
}
