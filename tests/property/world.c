/* world.c -- see world.h. */
#include "property/world_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the graph ------------------------------------------------------------------------------------------------ */

typedef RelnNode *Make(World *w);
static Make *const makers[] = {
    world_make_map,     world_make_map,     world_make_kink,       world_make_scale,
    world_make_sum,     world_make_sum_all, world_make_batch,      world_make_batch,
    world_make_batch,   world_make_expand,  world_make_batch_sums, world_make_reshape,
    world_make_reshape, world_make_permute, world_make_slice,      world_make_pad,
    world_make_softmax, world_make_window,  world_make_cast,       world_make_center,
    world_make_add,     world_make_add,     world_make_mul,        world_make_mul,
    world_make_select,  world_make_concat,  world_make_concat_k,   world_make_bracket,
    world_make_pair,    world_make_gram,    world_make_outer,      world_make_weigh,
    world_make_mix,     world_make_mix,     world_make_pick,       world_make_gather,
    world_make_segment, world_make_spread,  world_make_reduce,     world_make_region,
    world_make_best,    world_make_fn,      world_make_call,       world_make_call,
    world_make_call,    world_make_normal,  world_make_normal,     world_make_normal,
    world_make_force,   world_make_force,   world_make_split};
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

/* Puts a node into the pool, scaled so that no number is larger than 2. */
void world_keep(World *w, RelnNode *x)
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
        const int p = 1 + below(w, 2), q = 1 + below(w, 2), r = 1 + below(w, 3);
        const int c = 1 + below(w, 3), few = 1 + below(w, 2);
        const RelnDims s = {p, 1, 1, 1, c}, e = {1, q, r, few, 1};

        if (i < 2 || chance(w, 0.5))
            world_keep(w, world_input(w, domains[i], (RelnDims){p, 1, 1, k, c}, w->adjoint, false));
        if (chance(w, 0.5))
            world_keep(w,
                       world_input(w, domains[i], (RelnDims){1, 1, r, k, c}, w->coadjoint, false));
        world_keep(w, world_input(w, domains[i], s, NULL, false));
        if (chance(w, 0.5))
            world_keep(w, world_input(w, domains[i], e, NULL, false));
        if (chance(w, 0.5))
            world_keep(w, world_input(w, domains[i], s, NULL, true));
    }
    world_keep(w, world_param(w, (RelnDims){.c = 1 + below(w, 3)}, false));
    world_keep(w, reln_batch_count(w->graph));
    if (chance(w, 0.3))
        world_keep(w, world_make_random(w));
    if (chance(w, 0.3))
        world_keep(w, world_param(w, (RelnDims){.r = 1 + below(w, 2), .c = 2}, true));
}

static void make_nodes(World *w)
{
    const int n = w->n_pool + 4 + below(w, 36);

    for (int tries = 0; w->n_pool < n && tries < 400 && w->n_sources < WORLD_SOURCES / 3; tries++)
        world_keep(w, makers[below(w, N_MAKERS)](w));
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
                                                  world_input(w, x->domain, reln_node_dims(x),
                                                              reln_rep_dual(x->rep), true))));
}

static bool moving(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && !world_is_frozen(w, x);
}

static void make_loss(World *w)
{
    RelnGraph *g = w->graph;
    const int n = 1 + below(w, 5);

    for (int i = 0; i < n; i++) {
        RelnNode *x = world_find(w, moving, NULL), *y = number(w, x);

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
        RelnNode *v = world_input(w, xs[i]->domain, reln_node_dims(xs[i]), xs[i]->rep, true);
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
    for (int i = 0; i < 8 * WORLD_SAMPLES; i++)
        w->members_of[i] = below(w, 4);
    w->rows[w->points - 2] = w->points_of;
    w->rows[w->edges - 2] = w->edges_of;
    w->rows[w->below[3] - 2] = w->members_of;
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
    w->below[0] = reln_pairs(w->graph, "pairs", w->points, w->points, chance(w, 0.5));
    w->below[1] = reln_pairs(w->graph, "cross", w->points, w->edges, true);
    w->below[2] = reln_fixed(w->graph, "fixed", chance(w, 0.3) ? w->below[0] : w->points, 2);
    w->below[3] = reln_members(w->graph, "members", w->points, 3, 60);
    w->above = reln_coarse(w->graph, "coarser", w->points, 2);
    w->coarse = chance(w, 0.1);
    w->order = 1 + below(w, 2);
    make_batch_of(w);
    interpret_init(&w->meaning, w->graph, &w->batch);
    w->edge_from = world_index_input(w, w->edges, (RelnDims){0}, w->points, 0);
    w->edge_to = world_index_input(w, w->edges, (RelnDims){0}, w->points, 0);
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
