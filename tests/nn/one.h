/* one.h -- runs one layer on a batch of random features. */
#ifndef TESTS_NN_ONE_H
#define TESTS_NN_ONE_H

#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"

enum { ONE_SAMPLES = 5 };

typedef struct One {
    Fixture f;
    RelnNet net;
    RelnNode *x;
    RelnPlan *plan;
    double *values; /* of x */
    ptrdiff_t count;
} One;

/* Makes features of the algebra's adjoint rep, or of `rep` with the dot product. */
static inline void one_input(One *o, RelnDims dims, const RelnRep *rep)
{
    RelnRng rng = reln_rng(11, 0);

    o->x = reln_input(o->f.graph, "x", RELN_SAMPLES, dims, rep, RELN_F64);
    assert_ok(o->f.ctx, reln_graph_status(o->f.graph));
    dims = reln_node_dims(o->x);
    o->count = (ptrdiff_t)ONE_SAMPLES * dims.p * dims.q * dims.r * dims.k * dims.c;
    o->values = malloc((size_t)o->count * sizeof *o->values);
    assert_non_null(o->values);
    fill_normal(&rng, o->count, o->values);
}

static inline void one_init(One *o, const char *algebra, int points, int channels)
{
    memset(o, 0, sizeof *o);
    fixture_init(&o->f, algebra, algebra, RELN_F64);
    o->net = (RelnNet){.graph = o->f.graph, .algebra = o->f.algebra, .train = true};
    one_input(o, (RelnDims){.p = points, .k = reln_algebra_dim(o->f.algebra), .c = channels},
              o->f.adjoint);
}

/* A net without an algebra: vectors of so:3 and the dot product. */
static inline void one_init_vectors(One *o, int points, int channels)
{
    memset(o, 0, sizeof *o);
    fixture_init(&o->f, "so:3", "so:3", RELN_F64);
    o->net = (RelnNet){.graph = o->f.graph};
    one_input(o, (RelnDims){.p = points, .k = 3, .c = channels}, reln_rep_vector(o->f.group));
}

/* Returns the values of the layer, valid until the next run. */
static inline const double *one_run(One *o, RelnNode *y)
{
    assert_ok(o->f.ctx, reln_graph_status(o->f.graph));
    reln_output(o->f.graph, "y", y);
    assert_ok(o->f.ctx, reln_plan_create(o->f.graph, NULL, &o->plan));
    assert_ok(o->f.ctx, reln_plan_bind(o->plan, "x", o->values, RELN_F64));
    assert_ok(o->f.ctx, reln_plan_run(o->plan, &(RelnRun){.n_samples = ONE_SAMPLES}));
    return reln_plan_output(o->plan, "y", NULL);
}

static inline double *one_parameter(const One *o, const char *name)
{
    RelnEntryInfo entry;

    if (!reln_store_find(o->f.store, name, &entry))
        fail_msg("there is no %s", name);
    return entry.values;
}

static inline void one_clear(One *o)
{
    free(o->values);
    reln_plan_destroy(o->plan);
    fixture_clear(&o->f);
}

/* x W of one point: x (K, C), W (C, D) */
static inline void one_mix(int k, int c, int d, const double *x, const double *w, double *y)
{
    for (int i = 0; i < k; i++)
        for (int j = 0; j < d; j++) {
            y[i * d + j] = 0;
            for (int l = 0; l < c; l++)
                y[i * d + j] += x[i * c + l] * w[l * d + j];
        }
}

/* B(x_c, y_d) of one point, by the Gram matrix (NULL: the dot product) */
static inline double one_form(int k, const double *gram, int cx, int cy, const double *x,
                              const double *y)
{
    double sum = 0;

    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++)
            sum += (gram ? gram[i * k + j] : i == j) * x[i * cx] * y[j * cy];
    return sum;
}

#endif
