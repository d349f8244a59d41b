/* lift.c -- how each input of a model becomes features: linear maps, checked with the generators of the group. */
#include <math.h>
#include <string.h>

#include "model/model.h"

/* Distance from the algebra, relative to the matrix, that counts as rounding of the basis. */
#define INSIDE 1e-12

/* ---- candidates --------------------------------------------------------------------------------------------------- */

/* A raw basis vector e_j as an N x N matrix, N the size of features. */
typedef void Place(const RelnModel *m, int size, int j, double *x);

static void place_matrix(const RelnModel *m, int size, int j, double *x)
{
    x[j / m->n * size + j % m->n] = 1;
}

/* hat(e_j) w = e_j x w */
static void place_hat(const RelnModel *m, int size, int j, double *x)
{
    const int a = (j + 1) % 3, b = (j + 2) % 3;

    (void)m;
    x[b * size + a] = 1;
    x[a * size + b] = -1;
}

/* [[0, v], [(eta v)^T, 0]] */
static void place_embedded(const RelnModel *m, int size, int j, double *x)
{
    double metric[RELN_ALGEBRA_MAX_N];

    if (!reln_model_metric(m, metric))
        return;
    x[j * size + m->n] = 1;
    x[m->n * size + j] = metric[j];
}

static void place_element(const RelnModel *m, int size, int j, double *x)
{
    const double *e = reln_algebra_basis(m->own) + (ptrdiff_t)j * m->n * m->n;

    for (int i = 0; i < m->n; i++)
        memcpy(x + (ptrdiff_t)i * size, e + (ptrdiff_t)i * m->n, (size_t)m->n * sizeof *x);
}

/* (K, size of the raw vector) into `out`; the largest distance of an image from the features. */
static RelnStatus map_of(RelnModel *m, Place *place, int raw, double *out, double *outside)
{
    const int n = reln_algebra_n(m->algebra), k = reln_algebra_dim(m->algebra);
    double *x = reln_arena_alloc(&m->arena, (size_t)(n * n + k), sizeof *x), *y = x + n * n;

    *outside = 0;
    if (!x)
        return RELN_ERR_NOMEM;
    for (int j = 0; j < raw; j++) {
        memset(x, 0, (size_t)(n * n) * sizeof *x);
        place(m, n, j, x);
        *outside = fmax(*outside, reln_algebra_vee(m->algebra, x, y));
        for (int i = 0; i < k; i++)
            out[i * raw + j] = y[i];
    }
    return RELN_OK;
}

/* ---- metric and hat, asked of the symmetry alone --------------------------------------------------------------------- */

/* Largest entry of E^T eta + eta E over the Lie generators, and of g^T eta g - eta over the discrete ones. */
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

/* diag(-1 p times, +1 q times), for the p that fits. */
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

/* hat(g v) = g hat(v) g^-1 for all of SO(3), and no reflection: g keeps lengths and det g = 1. */
bool reln_model_hat_fits(RelnModel *m)
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

/* ---- one input --------------------------------------------------------------------------------------------------------- */

static RelnStatus check(RelnModel *m, const char *name, const char *lift, const RelnRep *raw,
                        const double *matrix, const char *hint)
{
    RelnVerdict verdict;

    if (!raw)
        return reln_ctx_status(m->ctx);
    RELN_TRY(reln_check_linear(raw, m->rep, matrix, &verdict));
    if (verdict.equivariant)
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_REP, "%s: the lift by %s does not respect %s (%s); wanted %s",
                     name, lift, reln_group_name(m->symmetry), verdict.text, hint);
}

static RelnStatus allocate_map(RelnModel *m, Lift *lift, int size, double **out)
{
    *out = reln_arena_alloc(&m->arena, (size_t)(reln_model_k(m) * size), sizeof **out);
    lift->size = size;
    lift->matrix = *out;
    return *out ? RELN_OK : RELN_ERR_NOMEM;
}

static const RelnRep *matrix_rep(const RelnModel *m)
{
    return reln_rep_product(m->vector, reln_rep_dual(m->vector));
}

/* Matrices that the features do not all hold are looked at one by one when they come. */
static RelnStatus lift_matrix(RelnModel *m, const char *name, Lift *lift)
{
    double *map, outside;

    RELN_TRY(allocate_map(m, lift, m->n * m->n, &map));
    RELN_TRY(map_of(m, place_matrix, m->n * m->n, map, &outside));
    lift->inside = outside > INSIDE;
    if (lift->inside)
        return RELN_OK;
    return check(m, name, "conjugation", matrix_rep(m), map, "features that hold all matrices");
}

static RelnStatus lift_element(RelnModel *m, const char *name, Lift *lift)
{
    double *map, outside;

    RELN_TRY(allocate_map(m, lift, reln_algebra_dim(m->own), &map));
    RELN_TRY(map_of(m, place_element, lift->size, map, &outside));
    if (outside > INSIDE)
        return reln_fail(m->ctx, RELN_ERR_SHAPE,
                         "%s: elements of %s are outside of the features %s by %.2g; wanted "
                         "features that hold them",
                         name, reln_group_name(m->symmetry), reln_algebra_name(m->algebra),
                         outside);
    return RELN_OK;
}

static const char vector_hint[] =
    "a group that keeps lengths (so:n, o:n, so:p,q, lorentz), or covariances with reference: mean "
    "beside it";

/* Vector Neurons take vectors as they are. */
static RelnStatus lift_identity(RelnModel *m, Lift *lift)
{
    double *map;

    RELN_TRY(allocate_map(m, lift, m->n, &map));
    for (int i = 0; i < m->n; i++)
        map[i * m->n + i] = 1;
    return RELN_OK;
}

static RelnStatus lift_vector(RelnModel *m, const char *name, Lift *lift)
{
    const bool embedded = m->algebra && reln_algebra_n(m->algebra) > m->n;
    double metric[RELN_ALGEBRA_MAX_N], *map, outside;

    if (!m->algebra)
        return lift_identity(m, lift);
    if (embedded && !reln_model_metric(m, metric))
        return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: %s keeps no length of vectors; wanted %s", name,
                         reln_group_name(m->symmetry), vector_hint);
    if (!embedded && m->n != 3)
        return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: a vector of %d numbers does not fit features %s; wanted features: "
                         "gl:%d, or none given",
                         name, m->n, reln_algebra_name(m->algebra), m->n + 1);
    RELN_TRY(allocate_map(m, lift, m->n, &map));
    RELN_TRY(map_of(m, embedded ? place_embedded : place_hat, m->n, map, &outside));
    if (outside > INSIDE)
        return reln_fail(m->ctx, RELN_ERR_SHAPE,
                         "%s: lifted vectors are outside of the features %s by %.2g; wanted none "
                         "given",
                         name, reln_algebra_name(m->algebra), outside);
    return check(m, name, embedded ? "embedding" : "hat", m->vector, map,
                 embedded ? vector_hint : "rotations (so:3), or features: gl:4");
}

/* All pairs v w^T Sbar^-1 of the vectors of an input. */
static RelnStatus lift_pairs(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    if (lift->channels > 8)
        return reln_fail(
            m->ctx, RELN_ERR_UNSUPPORTED,
            "%s: %d vectors at one place, all of whose pairs are taken; wanted up to 8", in->name,
            lift->channels);
    RELN_TRY(lift_matrix(m, in->name, lift));
    lift->before = BEFORE_PAIRS;
    lift->channels *= lift->channels;
    return RELN_OK;
}

/* In one sample; sets of points count once. */
static int n_covariances(const RelnModel *m)
{
    int count = 0;

    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].as == RELN_AS_COVARIANCE)
            count += m->spec.input[i].points ? 2 : m->shapes.input[i].channels;
    return count;
}

static RelnStatus lift_covariance(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    RELN_TRY(lift_matrix(m, in->name, lift));
    if (in->reference == RELN_REFERENCE_MEAN && !in->points && n_covariances(m) == 1)
        return reln_fail(
            m->ctx, RELN_ERR_UNSUPPORTED,
            "%s: one covariance in a sample is its own mean, and S S^-1 = 1 says nothing "
            "of it; wanted two or more with reference: mean",
            in->name);
    if (in->reference == RELN_REFERENCE_MEAN)
        lift->before = in->log ? BEFORE_RELATIVE_LOG : BEFORE_RELATIVE;
    else if (!reln_rep_is_orthogonal(m->vector))
        return reln_fail(
            m->ctx, RELN_ERR_REP,
            "%s: a covariance goes to g S g^T, which is a conjugation for rotations and "
            "reflections only and not for %s; wanted reference: mean",
            in->name, reln_group_name(m->symmetry));
    else
        lift->before = in->log ? BEFORE_LOG : BEFORE_NOTHING;
    return RELN_OK;
}

/* Four-momenta are vectors of a group that keeps one time and three places. */
static RelnStatus check_fourvector(const RelnModel *m, const char *name)
{
    double metric[RELN_ALGEBRA_MAX_N];

    if (m->n == 4 && reln_model_metric(m, metric) && metric[0] < 0 && metric[1] > 0)
        return RELN_OK;
    return reln_fail(
        m->ctx, RELN_ERR_UNSUPPORTED,
        "%s: a fourvector (E, px, py, pz) does not follow %s; wanted symmetry: lorentz, "
        "so:1,3 or o:1,3",
        name, reln_group_name(m->symmetry));
}

static RelnStatus lift_input(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    switch (in->as) {
    case RELN_AS_MATRIX:
        return lift_matrix(m, in->name, lift);
    case RELN_AS_ELEMENT:
        return lift_element(m, in->name, lift);
    case RELN_AS_FOURVECTOR:
        RELN_TRY(check_fourvector(m, in->name));
        return lift_vector(m, in->name, lift);
    case RELN_AS_VECTOR:
        return m->relative ? lift_pairs(m, in, lift) : lift_vector(m, in->name, lift);
    case RELN_AS_COVARIANCE:
        return lift_covariance(m, in, lift);
    case RELN_AS_SCALAR:
        break;
    }
    lift->size = 1;
    return RELN_OK;
}

/* ---- slots --------------------------------------------------------------------------------------------------------------- */

static const char *const slot_names[SLOT_COUNT] = {"x.points", "x", "s.points", "s", "v", "flat"};

static SlotId slot_of(const RelnModel *m, const RelnSpecInput *in)
{
    if (reln_model_is_mlp(m))
        return SLOT_FLAT;
    if (in->as == RELN_AS_SCALAR)
        return in->points ? SLOT_S_POINTS : SLOT_S;
    return in->points ? SLOT_X_POINTS : SLOT_X;
}

static void put_in_slot(RelnModel *m, int input)
{
    const RelnSpecInput *in = &m->spec.input[input];
    const RelnInputShape *shape = &m->shapes.input[input];
    Lift *lift = &m->lift[input];
    const bool vector = in->as == RELN_AS_VECTOR || in->as == RELN_AS_FOURVECTOR;

    lift->slot = slot_of(m, in);
    lift->first = m->slots[lift->slot].c;
    if (lift->slot == SLOT_FLAT)
        lift->channels = (int)reln_input_count(shape);
    m->slots[lift->slot].c += lift->channels;
    lift->vectors = -1;
    if (vector && !in->points && m->algebra && m->spec.target.as == RELN_TARGET_VECTOR) {
        lift->vectors = m->slots[SLOT_V].c;
        m->slots[SLOT_V].c += shape->channels;
    }
}

static void size_slots(RelnModel *m)
{
    for (int s = 0; s < SLOT_COUNT; s++) {
        Slot *slot = &m->slots[s];

        slot->name = slot_names[s];
        slot->by_point = s == SLOT_X_POINTS || s == SLOT_S_POINTS;
        slot->k = s == SLOT_X_POINTS || s == SLOT_X ? reln_model_k(m) : s == SLOT_V ? m->n : 1;
        slot->count = (ptrdiff_t)slot->k * slot->c * (slot->by_point ? m->points : 1);
    }
}

static void find_points(RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].points) {
            m->points = m->shapes.input[i].points;
            m->masked = m->spec.input[i].mask[0] != '\0';
        }
}

const char *reln_model_mask(const RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].mask[0])
            return m->spec.input[i].mask;
    return "";
}

static RelnStatus want_features(const RelnModel *m)
{
    if (reln_model_is_mlp(m) || m->slots[SLOT_X].c || m->slots[SLOT_X_POINTS].c)
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_ARG,
                     "every input is a scalar, on which %s does nothing; wanted kind: mlp",
                     reln_group_name(m->symmetry));
}

RelnStatus reln_model_plan_lifts(RelnModel *m)
{
    find_points(m);
    for (int i = 0; i < m->spec.n_inputs; i++) {
        m->lift[i].channels = m->shapes.input[i].channels;
        if (!reln_model_is_mlp(m))
            RELN_TRY(lift_input(m, &m->spec.input[i], &m->lift[i]));
        else if (m->spec.input[i].log)
            m->lift[i].before = BEFORE_LOG;
        put_in_slot(m, i);
    }
    size_slots(m);
    return want_features(m);
}
