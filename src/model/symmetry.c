/* setup.c -- the symmetry of a model, the algebra its features live in, and the group of its graphs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "reln/io.h"

/* ---- the symmetry ------------------------------------------------------------------------------------------------- */

static RelnStatus keep_basis(RelnModel *m, const RelnArray *a)
{
    if (a->rank != 3 || a->dims[1] != a->dims[2] || a->dims[1] < 1 ||
        a->dims[1] > RELN_ALGEBRA_MAX_N || a->dims[0] < 1 || a->dims[0] > RELN_ALGEBRA_MAX_DIM)
        return reln_fail(m->ctx, RELN_ERR_SHAPE,
                         "%s: not a basis; wanted shape (dim, n, n) with n up to %d, dim up to %d",
                         m->spec.basis, RELN_ALGEBRA_MAX_N, RELN_ALGEBRA_MAX_DIM);
    m->basis_dim = (int)a->dims[0];
    m->n = (int)a->dims[1];
    m->basis = reln_arena_copy(&m->arena, a->values, (size_t)a->count, sizeof *m->basis);
    return m->basis ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus load_basis(RelnModel *m)
{
    RelnArray array = {0};
    RelnStatus status;

    RELN_TRY(reln_npy_load(m->ctx, m->spec.basis, &array));
    status = keep_basis(m, &array);
    reln_array_clear(&array);
    return status;
}

/* A group without Lie generators has no algebra of its own. */
static RelnStatus make_own(RelnModel *m)
{
    const int dim = reln_group_n_lie(m->symmetry);
    const RelnBasisOptions options = {.name = reln_group_name(m->symmetry)};

    if (dim == 0)
        return RELN_OK;
    return reln_algebra_from_basis(m->ctx, dim, m->n, reln_group_lie(m->symmetry), &options,
                                   &m->own);
}

static RelnStatus check_elements(const RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].as == RELN_AS_ELEMENT && !m->own)
            return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                             "%s: %s has no algebra that elements could be in; wanted as: matrix",
                             m->spec.input[i].name, reln_group_name(m->symmetry));
    return RELN_OK;
}

RelnStatus reln_model_make_symmetry(RelnModel *m)
{
    if (m->spec.basis[0]) {
        if (!m->basis)
            RELN_TRY(load_basis(m));
        RELN_TRY(reln_group_from_matrices(m->ctx, "basis", m->n, m->basis_dim, m->basis, 0, NULL,
                                          &m->symmetry));
    } else {
        RELN_TRY(reln_group_create(m->ctx, m->spec.symmetry, &m->symmetry));
    }
    m->n = reln_group_n(m->symmetry);
    RELN_TRY(make_own(m));
    return check_elements(m);
}

/* ---- the feature algebra -------------------------------------------------------------------------------------------- */

static bool has(const RelnSpec *spec, RelnAs as)
{
    for (int i = 0; i < spec->n_inputs; i++)
        if (spec->input[i].as == as)
            return true;
    return false;
}

static bool has_reference(const RelnSpec *spec)
{
    for (int i = 0; i < spec->n_inputs; i++)
        if (spec->input[i].reference != RELN_REFERENCE_NONE)
            return true;
    return false;
}

/* Vectors need one place more unless hat takes them, or they come in pairs relative to a covariance. */
static bool wants_embedding(RelnModel *m)
{
    const bool vectors = has(&m->spec, RELN_AS_VECTOR) || has(&m->spec, RELN_AS_FOURVECTOR);

    return vectors && !m->relative && !reln_model_hat_fits(m);
}

/* The smallest algebra that takes all inputs: the symmetry's own for elements, and for vectors by hat; all matrices where
 * there are matrices or covariances; all that are one larger where vectors are embedded. NULL: the symmetry's own. */
static const char *default_features(RelnModel *m, char *name, size_t size)
{
    const bool matrices = has(&m->spec, RELN_AS_MATRIX) || has(&m->spec, RELN_AS_COVARIANCE);
    const bool vectors = has(&m->spec, RELN_AS_VECTOR) || has(&m->spec, RELN_AS_FOURVECTOR);
    const bool larger = wants_embedding(m);

    if (!larger && !matrices && m->own && (!vectors || m->n == 3))
        return NULL;
    snprintf(name, size, "gl:%d", larger ? m->n + 1 : m->n);
    return name;
}

static RelnStatus own_features(RelnModel *m)
{
    const RelnBasisOptions options = {.name = reln_group_name(m->symmetry)};

    return reln_algebra_from_basis(m->ctx, reln_algebra_dim(m->own), m->n,
                                   reln_algebra_basis(m->own), &options, &m->algebra);
}

static RelnStatus make_algebra(RelnModel *m)
{
    char name[32];
    const char *features = m->spec.features;

    if (!features[0])
        features = default_features(m, name, sizeof name);
    if (!features)
        return own_features(m);
    RELN_TRY(reln_algebra_create(m->ctx, features, &m->algebra));
    if (reln_algebra_n(m->algebra) < m->n)
        return reln_fail(
            m->ctx, RELN_ERR_SHAPE,
            "features %s are %d x %d matrices, the symmetry %s acts on %d x %d; wanted "
            "features at least as large",
            features, reln_algebra_n(m->algebra), reln_algebra_n(m->algebra),
            reln_group_name(m->symmetry), m->n, m->n);
    return RELN_OK;
}

/* ---- the group of graphs ---------------------------------------------------------------------------------------------- */

/* The first n x n block of each of count matrices of size `from`. */
static void blocks(int count, int from, const double *in, int n, double *out)
{
    for (int e = 0; e < count; e++)
        for (int i = 0; i < n; i++)
            memcpy(out + ((ptrdiff_t)e * n + i) * n, in + ((ptrdiff_t)e * from + i) * from,
                   (size_t)n * sizeof *out);
}

/* Raw vectors under diag(g, 1, ...): only g acts. */
static RelnStatus make_vector_rep(RelnModel *m)
{
    const int size = reln_group_n(m->group), n = m->n;
    const int n_lie = reln_group_n_lie(m->group), n_discrete = reln_group_n_discrete(m->group);
    double *lie = reln_arena_alloc(&m->arena, (size_t)(n_lie * n * n) + 1, sizeof *lie);
    double *discrete =
        reln_arena_alloc(&m->arena, (size_t)(n_discrete * n * n) + 1, sizeof *discrete);

    if (!lie || !discrete)
        return RELN_ERR_NOMEM;
    blocks(n_lie, size, reln_group_lie(m->group), n, lie);
    blocks(n_discrete, size, reln_group_discrete(m->group), n, discrete);
    m->vector = reln_rep_from_matrices(m->group, n, lie, discrete);
    return m->vector ? RELN_OK : reln_ctx_status(m->ctx);
}

static RelnStatus make_feature_rep(RelnModel *m)
{
    m->rep = m->algebra ? reln_rep_adjoint(m->group, m->algebra) : m->vector;
    return m->rep ? RELN_OK : reln_ctx_status(m->ctx);
}

static RelnStatus make_group(RelnModel *m)
{
    const int size = m->algebra ? reln_algebra_n(m->algebra) : m->n;

    if (size > m->n)
        RELN_TRY(reln_group_embed(m->symmetry, size, &m->group));
    else
        RELN_TRY(reln_group_from_matrices(
            m->ctx, reln_group_name(m->symmetry), m->n, reln_group_n_lie(m->symmetry),
            reln_group_lie(m->symmetry), reln_group_n_discrete(m->symmetry),
            reln_group_discrete(m->symmetry), &m->group));
    RELN_TRY(make_vector_rep(m));
    return make_feature_rep(m);
}

/* ---- the steps of a block ------------------------------------------------------------------------------------------------ */

static void push_step(RelnModel *m, RelnStepKind step)
{
    m->steps[m->n_steps++] = step;
}

/* All matrices of a size can be multiplied; a bracket stays inside of every algebra. */
static void default_steps(RelnModel *m)
{
    if (m->spec.model.kind == RELN_MODEL_VECTOR_NEURONS) {
        push_step(m, RELN_STEP_PROJECT);
    } else if (m->spec.model.kind == RELN_MODEL_LIE_NEURONS) {
        push_step(m, RELN_STEP_RELU);
        push_step(m, RELN_STEP_BRACKET);
    } else {
        const int n = reln_algebra_n(m->algebra);

        push_step(m, RELN_STEP_RMS);
        push_step(m, reln_algebra_dim(m->algebra) == n * n ? RELN_STEP_PRODUCT : RELN_STEP_BRACKET);
    }
}

static void choose_steps(RelnModel *m)
{
    m->n_steps = m->spec.model.n_steps;
    memcpy(m->steps, m->spec.model.steps, sizeof m->steps);
    if (m->n_steps == 0)
        default_steps(m);
}

/* ---- all of it --------------------------------------------------------------------------------------------------------- */

/* Vector Neurons: vectors with a dot product that the symmetry keeps. */
static RelnStatus check_vector_neurons(const RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++) {
        const RelnSpecInput *in = &m->spec.input[i];

        if (in->as != RELN_AS_VECTOR && in->as != RELN_AS_SCALAR)
            return reln_fail(
                m->ctx, RELN_ERR_UNSUPPORTED,
                "%s: vector-neurons take vectors and scalars, and this is a %s; wanted "
                "kind: reln",
                in->name, reln_as_text(in->as));
    }
    if (!reln_rep_is_orthogonal(m->vector))
        return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                         "vector-neurons need the dot product, which %s does not keep; wanted "
                         "so:n or o:n, or kind: reln",
                         reln_group_name(m->symmetry));
    if (m->spec.features[0])
        return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                         "vector-neurons have vectors as features; wanted no features: %s",
                         m->spec.features);
    return RELN_OK;
}

/* Features of no group: every number is an invariant. */
static RelnStatus setup_mlp(RelnModel *m)
{
    RELN_TRY(reln_group_create(m->ctx, "none:1", &m->group));
    m->rep = m->vector = reln_rep_trivial(m->group, 1);
    return m->rep ? RELN_OK : reln_ctx_status(m->ctx);
}

RelnStatus reln_model_setup(RelnModel *m)
{
    RELN_TRY(reln_model_make_symmetry(m));
    if (reln_model_is_mlp(m))
        return setup_mlp(m);
    m->relative = has_reference(&m->spec);
    if (m->spec.model.kind == RELN_MODEL_VECTOR_NEURONS) {
        RELN_TRY(make_group(m));
        RELN_TRY(check_vector_neurons(m));
    } else {
        RELN_TRY(make_algebra(m));
        RELN_TRY(make_group(m));
    }
    choose_steps(m);
    return RELN_OK;
}
