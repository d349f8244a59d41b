/* world.h -- makes a SPEC from text, random arrays that fit it, and the model and data of both. */
#ifndef TESTS_MODEL_WORLD_H
#define TESTS_MODEL_WORLD_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { WORLD_POINTS = 4, WORLD_EDGES = 6, WORLD_CHANNELS = 2, WORLD_ARRAYS = RELN_SPEC_INPUTS + 2 };

typedef struct World {
    RelnCtx *ctx;
    bool owns_ctx;
    RelnSpec spec;
    int samples, n, dim;
    RelnArray arrays[WORLD_ARRAYS];
    int n_arrays;
    RelnArchive *archive; /* created at its first use, so that a test may change arrays before */
    RelnShapes shapes;
    RelnModel *model;
    RelnData *data;
} World;

/* Parses the SPEC; returns the status of a refusal. */
static inline RelnStatus world_spec(RelnCtx *ctx, const char *yaml, RelnSpec *spec)
{
    RelnDoc *doc = NULL;
    RelnStatus status = reln_doc_parse_yaml(ctx, yaml, strlen(yaml), "spec.yaml", &doc);

    if (status == RELN_OK)
        status = reln_spec_from_doc(ctx, reln_doc_root(doc), "spec.yaml", spec);
    reln_doc_destroy(doc);
    return status;
}

/* A A^T + I / 2 */
static inline void random_covariance(RelnRng *rng, int n, double *s)
{
    double a[64];

    fill_normal(rng, (ptrdiff_t)n * n, a);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s[i * n + j] = i == j ? 0.5 : 0;
            for (int l = 0; l < n; l++)
                s[i * n + j] += a[i * n + l] * a[j * n + l];
        }
}

static inline void unit_quaternion(double *q)
{
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);

    for (int i = 0; i < 4; i++)
        q[i] /= length;
}

static inline double *world_array(World *w, const char *name, int rank, const ptrdiff_t *dims)
{
    RelnArray *a = &w->arrays[w->n_arrays++];
    size_t count = 1;

    *a = (RelnArray){.name = name, .dtype = RELN_F64, .rank = rank};
    for (int d = 0; d < rank; d++) {
        a->dims[d] = dims[d];
        count *= (size_t)dims[d];
    }
    a->values = calloc(count, sizeof(double));
    return a->values;
}

static inline ptrdiff_t array_count(const RelnArray *a)
{
    ptrdiff_t count = 1;

    for (int d = 0; d < a->rank; d++)
        count *= a->dims[d];
    return count;
}

/* (N, [P or E,] M, ...) */
static inline void world_input(World *w, const RelnSpecInput *in, RelnRng *rng)
{
    ptrdiff_t dims[5] = {w->samples};
    int rank = 1;
    const bool square = in->as == RELN_AS_MATRIX || in->as == RELN_AS_COVARIANCE;
    double *x;

    if (in->points || in->edges)
        dims[rank++] = in->edges ? WORLD_EDGES : WORLD_POINTS;
    dims[rank++] = WORLD_CHANNELS;
    if (in->as != RELN_AS_SCALAR)
        dims[rank++] = in->as == RELN_AS_ELEMENT ? w->dim : in->as == RELN_AS_QUATERNION ? 4 : w->n;
    if (square)
        dims[rank++] = w->n;
    x = world_array(w, in->name, rank, dims);
    fill_normal(rng, array_count(&w->arrays[w->n_arrays - 1]), x);
    if (in->as == RELN_AS_QUATERNION)
        for (ptrdiff_t i = 0; i < array_count(&w->arrays[w->n_arrays - 1]); i += 4)
            unit_quaternion(x + i);
    if (in->as == RELN_AS_COVARIANCE)
        for (ptrdiff_t i = 0; i < array_count(&w->arrays[w->n_arrays - 1]); i += w->n * w->n)
            random_covariance(rng, w->n, x + i);
}

/* Fills a mask with gaps, and with at least one point. */
static inline void world_mask(World *w, const char *name)
{
    double *mask = world_array(w, name, 2, (ptrdiff_t[]){w->samples, WORLD_POINTS});

    for (int i = 0; i < w->samples; i++)
        for (int p = 0; p < WORLD_POINTS; p++)
            mask[i * WORLD_POINTS + p] = p == i % WORLD_POINTS || (i + p) % 3 == 0;
}

static inline void world_target(World *w, const RelnSpecTarget *t, RelnRng *rng)
{
    const bool square = t->as == RELN_TARGET_MATRIX || t->as == RELN_TARGET_COVARIANCE;
    ptrdiff_t dims[5] = {w->samples};
    int rank = 1;
    double *y;

    if (t->points)
        dims[rank++] = WORLD_POINTS;
    if (t->edges)
        dims[rank++] = WORLD_EDGES;
    if (t->as == RELN_TARGET_CLASS) {
        y = world_array(w, t->name, rank, dims);
        for (int i = 0; i < array_count(&w->arrays[w->n_arrays - 1]); i++)
            y[i] = i % t->classes;
        return;
    }
    dims[rank++] = WORLD_CHANNELS;
    for (int i = 0; i < (square ? 2 : t->as == RELN_TARGET_VECTOR ? 1 : 0); i++)
        dims[rank++] = w->n;
    y = world_array(w, t->name, rank, dims);
    fill_normal(rng, array_count(&w->arrays[w->n_arrays - 1]), y);
    if (t->as == RELN_TARGET_COVARIANCE)
        for (ptrdiff_t i = 0; i < array_count(&w->arrays[w->n_arrays - 1]); i += w->n * w->n)
            random_covariance(rng, w->n, y + i);
}

static inline RelnStatus world_size(World *w)
{
    RelnGroup *group = NULL;
    const RelnStatus status = reln_group_create(w->ctx, w->spec.symmetry, &group);

    if (status == RELN_OK) {
        w->n = reln_group_n(group);
        w->dim = reln_group_n_lie(group);
    }
    reln_group_destroy(group);
    return status;
}

static inline RelnArray *world_find(World *w, const char *name)
{
    for (int i = 0; i < w->n_arrays; i++)
        if (strcmp(w->arrays[i].name, name) == 0)
            return &w->arrays[i];
    return NULL;
}

/* Makes SPEC and arrays; ctx NULL: in a new context. */
static inline RelnStatus world_init(World *w, RelnCtx *ctx, const char *yaml, int samples)
{
    RelnRng rng = reln_rng(5, 1);
    RelnStatus status = RELN_OK;

    memset(w, 0, sizeof *w);
    w->samples = samples;
    w->owns_ctx = !ctx;
    w->ctx = ctx;
    if (!ctx)
        status = reln_ctx_create(NULL, &w->ctx);
    if (status == RELN_OK)
        status = world_spec(w->ctx, yaml, &w->spec);
    if (status == RELN_OK)
        status = world_size(w);
    if (status != RELN_OK)
        return status;
    for (int i = 0; i < w->spec.n_inputs; i++)
        world_input(w, &w->spec.input[i], &rng);
    for (int i = 0; i < w->spec.n_inputs; i++)
        if (w->spec.input[i].mask[0]) {
            world_mask(w, w->spec.input[i].mask);
            break;
        }
    for (int t = 0; t < w->spec.n_targets; t++)
        if (!world_find(w, w->spec.target[t].name)) /* hidden inputs are targets, too */
            world_target(w, &w->spec.target[t], &rng);
    return RELN_OK;
}

static inline RelnStatus world_archive(World *w)
{
    if (w->archive)
        return RELN_OK;
    return reln_archive_from_arrays(w->ctx, "data.npz", w->n_arrays, w->arrays, &w->archive);
}

/* Must be called after names or shapes of arrays have changed. */
static inline void world_forget(World *w)
{
    reln_archive_destroy(w->archive);
    w->archive = NULL;
}

static inline RelnStatus world_model(World *w)
{
    RelnStatus status = world_archive(w);

    if (status == RELN_OK)
        status = reln_data_shapes(w->ctx, &w->spec, w->archive, &w->shapes);
    return status == RELN_OK ? reln_model_create(w->ctx, &w->spec, &w->shapes, &w->model) : status;
}

static inline RelnStatus world_data(World *w, const RelnDataOptions *options)
{
    const RelnStatus status = world_archive(w);

    return status == RELN_OK ? reln_data_open(w->model, w->archive, options, &w->data) : status;
}

static inline void world_clear(World *w)
{
    reln_data_destroy(w->data);
    reln_model_destroy(w->model);
    reln_archive_destroy(w->archive);
    for (int i = 0; i < w->n_arrays; i++)
        free(w->arrays[i].values);
    if (w->owns_ctx)
        reln_ctx_destroy(w->ctx);
}

#endif
