/* lifts.c -- the lifts from each kind of input to features: linear maps, checked with the generators of the group. */
#include <math.h>
#include <string.h>

#include "model/kinds.h"
#include "reln/lift.h"

/* Distance from the algebra, relative to the matrix, that counts as rounding of the basis. */
#define INSIDE 1e-12

/* ---- linear maps -------------------------------------------------------------------------------------------------- */

/* Computes the matrix (K, raw) of a lift from the images (size, size) of the input's `raw` basis vectors, and
 * the largest distance of an image from the features. */
static RelnStatus map_of(RelnModel *m, Lift *lift, int raw, int size, const double *images,
                         double *outside)
{
    const int n = reln_algebra_n(m->algebra), k = reln_algebra_dim(m->algebra);
    double *map = reln_arena_alloc(&m->arena, (size_t)(k * raw), sizeof *map);
    double *x = reln_arena_alloc(&m->arena, (size_t)(n * n + k), sizeof *x), *y = x + n * n;

    *outside = 0;
    if (!map || !x)
        return RELN_ERR_NOMEM;
    for (int j = 0; j < raw; j++) {
        for (int i = 0; i < size; i++)
            memcpy(x + (ptrdiff_t)i * n, images + ((ptrdiff_t)j * size + i) * size,
                   (size_t)size * sizeof *x);
        *outside = fmax(*outside, reln_algebra_vee(m->algebra, x, y));
        for (int i = 0; i < k; i++)
            map[i * raw + j] = y[i];
    }
    lift->size = raw;
    lift->matrix = map;
    return RELN_OK;
}

static RelnStatus identity(RelnModel *m, int n, double **out)
{
    *out = reln_arena_alloc(&m->arena, (size_t)(n * n), sizeof **out);
    for (int i = 0; *out && i < n; i++)
        (*out)[i * n + i] = 1;
    return *out ? RELN_OK : RELN_ERR_NOMEM;
}

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

/* ---- matrices and elements ------------------------------------------------------------------------------------------ */

/* Plans the lift of matrices. If features hold only some matrices, each matrix is checked when it is
 * lifted. */
RelnStatus reln_plan_matrix(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    double *all, outside;

    lift->matrices = true;
    RELN_TRY(identity(m, m->n * m->n, &all));
    RELN_TRY(map_of(m, lift, m->n * m->n, m->n, all, &outside));
    lift->inside = outside > INSIDE;
    if (lift->inside)
        return RELN_OK;
    return check(m, in->name, "conjugation", reln_rep_product(m->vector, reln_rep_dual(m->vector)),
                 lift->matrix, "features that hold all matrices");
}

RelnStatus reln_plan_element(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    double outside;

    RELN_TRY(map_of(m, lift, reln_algebra_dim(m->own), m->n, reln_algebra_basis(m->own), &outside));
    if (outside > INSIDE)
        return reln_fail(m->ctx, RELN_ERR_SHAPE,
                         "%s: elements of %s are outside of the features %s by %.2g; wanted "
                         "features that hold them",
                         in->name, reln_group_name(m->symmetry), reln_algebra_name(m->algebra),
                         outside);
    return RELN_OK;
}

/* ---- vectors --------------------------------------------------------------------------------------------------------- */

static const char vector_hint[] =
    "a group that keeps lengths (so:n, o:n, so:p,q, lorentz), or covariances with reference: mean "
    "beside it";

/* Computes the images of vectors: embedded if features are larger than the symmetry's matrices, by hat
 * otherwise. */
static RelnStatus vector_images(RelnModel *m, const char *name, bool embedded, double **images)
{
    const int n = m->n, size = embedded ? n + 1 : n;
    double metric[RELN_ALGEBRA_MAX_N], *vectors;

    if (embedded && !reln_model_metric(m, metric))
        return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: %s keeps no length of vectors; wanted %s", name,
                         reln_group_name(m->symmetry), vector_hint);
    if (!embedded && n != 3)
        return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: a vector of %d numbers does not fit features %s; wanted features: "
                         "gl:%d, or none given",
                         name, n, reln_algebra_name(m->algebra), n + 1);
    RELN_TRY(identity(m, n, &vectors));
    *images = reln_arena_alloc(&m->arena, (size_t)(n * size * size), sizeof **images);
    if (!*images)
        return RELN_ERR_NOMEM;
    return embedded ? reln_lift_embed(m->ctx, n, metric, n, vectors, *images)
                    : reln_lift_hat(m->ctx, n, vectors, *images);
}

static RelnStatus lift_vectors(RelnModel *m, const char *name, Lift *lift)
{
    const bool embedded = reln_algebra_n(m->algebra) > m->n;
    double *images, outside;

    RELN_TRY(vector_images(m, name, embedded, &images));
    RELN_TRY(map_of(m, lift, m->n, embedded ? m->n + 1 : m->n, images, &outside));
    if (outside > INSIDE)
        return reln_fail(m->ctx, RELN_ERR_SHAPE,
                         "%s: lifted vectors are outside of the features %s by %.2g; wanted none "
                         "given",
                         name, reln_algebra_name(m->algebra), outside);
    return check(m, name, embedded ? "embedding" : "hat", m->vector, lift->matrix,
                 embedded ? vector_hint : "rotations (so:3), or features: gl:4");
}

/* Computes v w^T Sbar^-1 for all v, w of the input at one point. */
static RelnStatus pairs(const RelnModel *m, const LiftWork *w, int count, const double *v,
                        double *out)
{
    const ptrdiff_t n = m->n;

    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++, out += n * n)
            RELN_TRY(reln_lift_congruence_pair(m->ctx, n, w->sbar, 1, v + a * n, v + b * n, out));
    return RELN_OK;
}

static RelnStatus lift_pairs(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    if (lift->channels > 8)
        return reln_fail(
            m->ctx, RELN_ERR_UNSUPPORTED,
            "%s: %d vectors at one place, all of whose pairs are taken; wanted up to 8", in->name,
            lift->channels);
    RELN_TRY(reln_plan_matrix(m, in, lift));
    lift->prepare = pairs;
    lift->law = "(g v)(g w)^T (g Sbar g^T)^-1 = g (v w^T Sbar^-1) g^-1";
    lift->channels *= lift->channels;
    return RELN_OK;
}

/* Plans the lift of vectors. Vector Neurons use vectors unchanged; with a reference covariance, vectors are
 * lifted in pairs. */
RelnStatus reln_plan_vector(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    double *map;

    if (m->algebra)
        return m->relative && in->as == RELN_AS_VECTOR ? lift_pairs(m, in, lift)
                                                       : lift_vectors(m, in->name, lift);
    RELN_TRY(identity(m, m->n, &map));
    lift->size = m->n;
    lift->matrix = map;
    return RELN_OK;
}

/* ---- covariances ------------------------------------------------------------------------------------------------------ */

static RelnStatus logs(const RelnModel *m, const LiftWork *w, int count, const double *s,
                       double *out)
{
    (void)w;
    return reln_lift_covariance_log(m->ctx, m->n, count, s, out);
}

static RelnStatus relative(const RelnModel *m, const LiftWork *w, int count, const double *s,
                           double *out)
{
    return reln_lift_congruence(m->ctx, m->n, w->sbar, count, s, out);
}

static RelnStatus relative_logs(const RelnModel *m, const LiftWork *w, int count, const double *s,
                                double *out)
{
    return reln_lift_congruence_log(m->ctx, m->n, w->sbar, count, s, out);
}

void reln_before_covariance(const RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    if (m->relative && in->reference == RELN_REFERENCE_MEAN) {
        lift->prepare = in->log ? relative_logs : relative;
        lift->law = "g S g^T (g Sbar g^T)^-1 = g (S Sbar^-1) g^-1";
    } else if (in->log)
        lift->prepare = logs;
}

/* Returns the number of covariances in one sample; those of points, and those of edges, count as two. */
static int n_covariances(const RelnModel *m)
{
    int count = 0;

    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].as == RELN_AS_COVARIANCE)
            count += reln_input_items(&m->spec.input[i]) != RELN_ITEMS_SAMPLES
                         ? 2
                         : m->shapes.input[i].channels;
    return count;
}

RelnStatus reln_plan_covariance(RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    RELN_TRY(reln_plan_matrix(m, in, lift));
    if (in->reference == RELN_REFERENCE_MEAN && n_covariances(m) == 1)
        return reln_fail(
            m->ctx, RELN_ERR_UNSUPPORTED,
            "%s: one covariance in a sample is its own mean, and S S^-1 = 1 says nothing "
            "of it; wanted two or more with reference: mean",
            in->name);
    if (in->reference == RELN_REFERENCE_NONE && !reln_rep_is_orthogonal(m->vector))
        return reln_fail(
            m->ctx, RELN_ERR_REP,
            "%s: a covariance goes to g S g^T, which is a conjugation for rotations and "
            "reflections only and not for %s; wanted reference: mean",
            in->name, reln_group_name(m->symmetry));
    return RELN_OK;
}

/* ---- attitudes ------------------------------------------------------------------------------------------------------- */

/* Writes the three columns of each rotation matrix, which are vectors. */
static RelnStatus columns(const RelnModel *m, const LiftWork *w, int count, const double *q,
                          double *out)
{
    (void)w;
    for (int c = 0; c < count; c++, out += 9) {
        double x[9];

        RELN_TRY(reln_lift_quaternion(m->ctx, 1, q + (ptrdiff_t)4 * c, x));
        for (int i = 0; i < 9; i++)
            out[i] = x[i % 3 * 3 + i / 3];
    }
    return RELN_OK;
}

void reln_before_attitude(const RelnModel *m, const RelnSpecInput *in, Lift *lift)
{
    (void)m;
    (void)in;
    lift->prepare = columns;
    lift->law = "R(g q) = g R(q): the columns are vectors";
    lift->channels *= 3;
    lift->size = 3;
}
