/* world_fn.c -- makes functions, calls, and derivatives inside of the graph. */
#include "property/world_parts.h"

#include <string.h>

enum { FN_ARGS = 6, FN_OUTS = 6 };

/* Builds y = x W, u = tanh(B(y, y) / 10 + b), z = u y + ...; the results are of all kinds: computed values,
 * views, arguments. */
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

/* Builds the gradient of an energy inside of a function: a coadjoint result. */
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

/* Builds two calls of another function, one after the other, with the weights in both orders. */
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

RelnNode *world_make_fn(World *w)
{
    WorldFn f = {.n_in = 4};
    const WorldFn *inner = NULL;
    const int k = reln_rep_dim(w->adjoint);
    RelnGraph *b;
    RelnNode *a[FN_ARGS] = {NULL}, *outs[FN_OUTS + 1];

    if (w->n_fns == WORLD_FNS)
        return NULL;
    f.p = 1 + below(w, 2);
    f.c = 1 + below(w, 3);
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

/* Returns a node of the pool with this shape and rep, or a new source. */
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
               ? world_param(w, reln_node_dims(a), false)
               : world_input(w, domain, reln_node_dims(a), a->rep, false);
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
            world_keep(w, outs[i]);
    *x = outs[0];
    return true;
}

/* Makes calls of one function, one after another, mostly with other weights. */
RelnNode *world_make_call(World *w)
{
    const WorldFn *f = w->n_fns ? &w->fns[below(w, w->n_fns)] : NULL;
    const RelnDomain domains[4] = {RELN_SAMPLES, RELN_SAMPLES, w->points, RELN_STEP};
    const RelnDomain domain = domains[below(w, 4)];
    const int n = 1 + below(w, 3);
    RelnNode *x = NULL;

    if (!f)
        return world_make_fn(w);
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

/* Makes the gradient of an energy with respect to a node that it depends on: a feature of the graph. */
RelnNode *world_make_force(World *w)
{
    RelnNode *y = world_find(w, invariant, NULL), *x = world_find(w, force_of, y), *force = NULL;

    if (!x || w->n_forces == 2)
        return NULL;
    w->n_forces++;
    reln_grad(w->graph, reln_sum_all(w->graph, reln_sin(w->graph, y)), 1, &x, &force);
    return force;
}
