/* network.h -- builds a network of a task in double precision, with the gradients of a loss; reads golden
 * arrays. */
#ifndef TESTS_TASKS_NETWORK_H
#define TESTS_TASKS_NETWORK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

typedef struct Network {
    RelnSetting s;
    RelnNet net;
    RelnPlan *plan;
} Network;

static inline void network_init(Network *n, const char *symmetry, const char *features)
{
    memset(n, 0, sizeof *n);
    assert_ok(n->s.ctx, reln_setting_init(&n->s, symmetry, features, RELN_F64, /*seed=*/3));
    n->net = (RelnNet){.graph = n->s.graph, .algebra = n->s.algebra, .train = true};
}

/* Another graph with the same weights. */
static inline void network_again(const Network *of, RelnGraph **graph, RelnNet *net)
{
    assert_ok(of->s.ctx, reln_graph_create(of->s.group, of->s.store, RELN_F64, graph));
    *net = (RelnNet){.graph = *graph, .algebra = of->s.algebra, .train = true};
}

/* Outputs: "out", and "grad NAME" of the loss for every parameter that it depends on. */
static inline RelnPlan *network_plan(RelnGraph *g, RelnNode *out, RelnNode *loss)
{
    RelnPlan *plan = NULL;
    char name[96];

    reln_output(g, "out", out);
    for (int i = 0; loss && reln_graph_param(g, i); i++) {
        RelnNode *p = reln_graph_param(g, i), *grad = NULL;
        assert_true(reln_grad(g, loss, 1, &p, &grad));
        snprintf(name, sizeof name, "grad %s", reln_node_name(p));
        reln_output(g, name, grad);
    }
    assert_ok(reln_graph_ctx(g), reln_plan_create(g, NULL, &plan));
    return plan;
}

static inline const double *network_grad(const RelnPlan *plan, const char *parameter)
{
    char name[96];
    const double *values;

    snprintf(name, sizeof name, "grad %s", parameter);
    values = reln_plan_output(plan, name, NULL);
    if (!values)
        fail_msg("there is no %s", name);
    return values;
}

static inline void network_clear(Network *n)
{
    reln_plan_destroy(n->plan);
    reln_setting_clear(&n->s);
}

static inline RelnArray golden(RelnCtx *ctx, const char *name)
{
    RelnArray a = {0};
    char path[512];

    snprintf(path, sizeof path, "%s/tests/golden/layers/%s.npy", RELN_SOURCE_DIR, name);
    assert_ok(ctx, reln_npy_load(ctx, path, &a));
    return a;
}

/* A matrix stored (out, in) becomes a parameter (in, out). */
static inline void set_golden_weights(const RelnStore *store, const char *parameter,
                                      const RelnArray *w)
{
    const ptrdiff_t out = w->dims[0], in = w->rank == 2 ? w->dims[1] : 1;
    RelnEntryInfo entry;

    if (!reln_store_find(store, parameter, &entry))
        fail_msg("there is no %s", parameter);
    assert_int_equal(entry.count, reln_array_count(w));
    for (ptrdiff_t o = 0; o < out; o++)
        for (ptrdiff_t i = 0; i < in; i++)
            ((double *)entry.values)[i * out + o] = w->f64[o * in + i];
}

static inline void assert_golden_grad(const double *got, const RelnArray *want, double tol)
{
    const ptrdiff_t out = want->dims[0], in = want->rank == 2 ? want->dims[1] : 1;
    double *turned = malloc((size_t)reln_array_count(want) * sizeof *turned);

    assert_non_null(turned);
    for (ptrdiff_t o = 0; o < out; o++)
        for (ptrdiff_t i = 0; i < in; i++)
            turned[i * out + o] = want->f64[o * in + i];
    assert_near(got, turned, reln_array_count(want), tol);
    free(turned);
}

#endif
