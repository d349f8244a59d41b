/* symmetry.c -- the symmetry of a model, the algebra of its features, and the group of its graphs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/kinds.h"
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
    m->basis = reln_arena_copy(&m->arena, a->values, (size_t)reln_array_count(a), sizeof *m->basis);
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

/* Makes the symmetry's algebra; a group without Lie generators has none. Elements have their coordinates in
 * the given basis. */
static RelnStatus make_own(RelnModel *m)
{
    const int dim = reln_group_n_lie(m->symmetry);
    const RelnBasisOptions options = {.name = reln_group_name(m->symmetry)};

    if (dim == 0)
        return RELN_OK;
    return reln_algebra_from_basis(
        m->ctx, dim, m->n, m->basis ? m->basis : reln_group_lie(m->symmetry), &options, &m->own);
}

/* Copies the basis, with elements of unusual size multiplied by a power of two. They generate the same group,
 * and maps solved with generators of similar size are as exact as the basis. */
static RelnStatus evened_basis(RelnModel *m, double **out)
{
    const ptrdiff_t n2 = (ptrdiff_t)m->n * m->n;

    *out = reln_arena_copy(&m->arena, m->basis, (size_t)(m->basis_dim * n2), sizeof **out);
    for (int e = 0; *out && e < m->basis_dim; e++) {
        double *x = *out + e * n2, largest = 0;
        int exponent = 0;

        for (ptrdiff_t i = 0; i < n2; i++)
            largest = fmax(largest, fabs(x[i]));
        if (isfinite(largest))
            frexp(largest, &exponent);
        for (ptrdiff_t i = 0; abs(exponent) > 8 && i < n2; i++)
            x[i] = ldexp(x[i], -exponent);
    }
    return *out ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus symmetry_of_basis(RelnModel *m)
{
    double *basis;

    if (!m->basis)
        RELN_TRY(load_basis(m));
    RELN_TRY(evened_basis(m, &basis));
    return reln_group_from_matrices(m->ctx, "basis", m->n, m->basis_dim, basis, 0, NULL,
                                    &m->symmetry);
}

RelnStatus reln_model_make_symmetry(RelnModel *m)
{
    if (m->symmetry)
        return RELN_OK;
    if (m->spec.basis[0])
        RELN_TRY(symmetry_of_basis(m));
    else
        RELN_TRY(reln_group_create(m->ctx, m->spec.symmetry, &m->symmetry));
    m->n = reln_group_n(m->symmetry);
    RELN_TRY(make_own(m));
    return reln_kinds_fit(m);
}

/* ---- metric and hat of the symmetry ----------------------------------------------------------------------------------- */

/* Returns the largest entry of E^T eta + eta E over the Lie generators, and of g^T eta g - eta over the
 * discrete ones. */
static double metric_residual(const RelnGroup *group, int n, const double *eta)
{
    double worst = 0;

    for (int e = 0; e < reln_group_n_lie(group); e++) {
        const double *x = reln_group_lie(group) + (ptrdiff_t)e * n * n;

        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                worst = fmax(worst, fabs(x[j * n + i] * eta[j] + eta[i] * x[i * n + j]));
    }
    for (int e = 0; e < reln_group_n_discrete(group); e++) {
        const double *x = reln_group_discrete(group) + (ptrdiff_t)e * n * n;

        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = i == j ? -eta[i] : 0;

                for (int l = 0; l < n; l++)
                    sum += x[l * n + i] * eta[l] * x[l * n + j];
                worst = fmax(worst, fabs(sum));
            }
    }
    return worst;
}

/* Tries diag(-1 p times, +1 q times) for every p. */
bool reln_model_metric(const RelnModel *m, double *metric)
{
    for (int p = 0; p < m->n; p++) {
        for (int i = 0; i < m->n; i++)
            metric[i] = i < p ? -1 : 1;
        if (metric_residual(m->symmetry, m->n, metric) < RELN_INTERTWINER_TOLERANCE)
            return true;
    }
    return false;
}

/* Returns whether hat(g v) = g hat(v) g^-1 holds. It does for SO(3) but for no reflection: g must keep
 * lengths, and det g = 1. */
bool reln_model_hat_fits(const RelnModel *m)
{
    static const double ones[3] = {1, 1, 1};

    if (m->n != 3 || metric_residual(m->symmetry, m->n, ones) >= RELN_INTERTWINER_TOLERANCE)
        return false;
    for (int e = 0; e < reln_group_n_discrete(m->symmetry); e++) {
        const double *x = reln_group_discrete(m->symmetry) + (ptrdiff_t)e * 9;
        const double det = x[0] * (x[4] * x[8] - x[5] * x[7]) - x[1] * (x[3] * x[8] - x[5] * x[6]) +
                           x[2] * (x[3] * x[7] - x[4] * x[6]);

        if (det < 0)
            return false;
    }
    return true;
}

/* ---- the feature algebra -------------------------------------------------------------------------------------------- */

static bool has(const RelnSpec *spec, Feature feature)
{
    for (int i = 0; i < spec->n_inputs; i++)
        if (reln_input_kind(spec->input[i].as)->feature == feature)
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

/* Returns whether vectors must be embedded in matrices one larger: not if hat lifts them, or if they come in
 * pairs relative to a covariance. */
static bool wants_embedding(const RelnModel *m)
{
    return has(&m->spec, FEATURE_VECTOR) && !m->relative && !reln_model_hat_fits(m);
}

/* Returns the smallest algebra that accepts all inputs: the symmetry's own for elements, and for vectors
 * lifted by hat; all matrices if there are matrices or covariances; all matrices one larger if vectors are
 * embedded. NULL: the symmetry's own. */
static const char *default_features(RelnModel *m, char *name, size_t size)
{
    const bool larger = wants_embedding(m);

    if (!larger && !has(&m->spec, FEATURE_MATRIX) && m->own &&
        (!has(&m->spec, FEATURE_VECTOR) || m->n == 3))
        return NULL;
    snprintf(name, size, "gl:%d", larger ? m->n + 1 : m->n);
    return name;
}

static RelnStatus own_features(RelnModel *m)
{
    const RelnBasisOptions options = {.name = reln_group_name(m->symmetry)};

    return reln_algebra_from_basis(m->ctx, reln_algebra_dim(m->own), m->n,
                                   reln_group_lie(m->symmetry), &options, &m->algebra);
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

/* Copies the first n x n block of each of count matrices of size `from`. */
static void blocks(int count, int from, const double *in, int n, double *out)
{
    for (int e = 0; e < count; e++)
        for (int i = 0; i < n; i++)
            memcpy(out + ((ptrdiff_t)e * n + i) * n, in + ((ptrdiff_t)e * from + i) * from,
                   (size_t)n * sizeof *out);
}

/* Makes the rep of raw vectors under diag(g, 1, ...): only g acts. */
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
        m->group = m->symmetry;
    RELN_TRY(make_vector_rep(m));
    return make_feature_rep(m);
}

/* ---- the steps of a block ------------------------------------------------------------------------------------------------ */

static void push_step(RelnModel *m, RelnStepKind step)
{
    m->steps[m->n_steps++] = step;
}

/* Chooses the default steps of a block. A product needs an algebra of all matrices; every algebra is closed
 * under a bracket. */
static void default_steps(RelnModel *m)
{
    if (m->spec.model.kind == RELN_MODEL_VECTOR_NEURONS) {
        push_step(m, RELN_STEP_PROJECT);
    } else if (!m->algebra) {
        push_step(m, RELN_STEP_RMS);
    } else if (m->spec.model.kind == RELN_MODEL_LIE_NEURONS) {
        push_step(m, RELN_STEP_RELU);
        push_step(m, RELN_STEP_BRACKET);
    } else {
        const int n = reln_algebra_n(m->algebra);

        if (m->spec.model.kind != RELN_MODEL_SEQUENCE) /* its blocks have gates */
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

/* Checks that the inputs of vector neurons are vectors, and that the symmetry keeps their dot product. */
static RelnStatus check_vector_neurons(const RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++) {
        const RelnSpecInput *in = &m->spec.input[i];
        const Feature feature = reln_input_kind(in->as)->feature;

        if (feature != FEATURE_VECTOR && feature != FEATURE_SCALAR)
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

/* Sets up an mlp: no group acts, and every number is an invariant. */
static RelnStatus setup_mlp(RelnModel *m)
{
    RELN_TRY(reln_group_create(m->ctx, "none:1", &m->group));
    m->rep = m->vector = reln_rep_trivial(m->group, 1);
    return m->rep ? RELN_OK : reln_ctx_status(m->ctx);
}

/* Decides whether the features of a structured network stay vectors: only if all inputs are vectors and
 * scalars, whose rep has a default form. Rotations of space also have the bracket, so they use the
 * algebra. */
static RelnStatus setup_structured(RelnModel *m)
{
    const double *form = NULL;
    const bool vectors = has(&m->spec, FEATURE_VECTOR) && !has(&m->spec, FEATURE_MATRIX) &&
                         !has(&m->spec, FEATURE_ELEMENT) && !m->relative && !m->spec.features[0] &&
                         !reln_model_hat_fits(m);

    if (vectors) {
        RELN_TRY(make_group(m));
        if (reln_rep_form(m->vector, &form) == RELN_OK)
            return RELN_OK;
        reln_ctx_clear(m->ctx);
        m->group = NULL;
    }
    RELN_TRY(make_algebra(m));
    return make_group(m);
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
    } else if (reln_model_is_structured(m)) {
        RELN_TRY(setup_structured(m));
    } else {
        RELN_TRY(make_algebra(m));
        RELN_TRY(make_group(m));
    }
    choose_steps(m);
    return RELN_OK;
}
