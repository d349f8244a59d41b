/* kinds.c -- the table of kinds of inputs and targets: extents, checks, the action of the symmetry, random
 * values. */
#include "model/kinds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reln/lift.h"
#include "tensor/linalg.h"

/* ---- which symmetry acts ------------------------------------------------------------------------------------------- */

static RelnStatus fits_element(const RelnModel *m, const char *name)
{
    if (m->own)
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                     "%s: %s has no algebra that elements could be in; wanted as: matrix", name,
                     reln_group_name(m->symmetry));
}

/* Checks that the symmetry acts on four-momenta: it must keep a metric of one time and three space
 * dimensions. An mlp promises nothing and accepts any symmetry. */
static RelnStatus fits_fourvector(const RelnModel *m, const char *name)
{
    double metric[RELN_ALGEBRA_MAX_N];

    if (m->n == 4 &&
        (reln_model_is_mlp(m) || (reln_model_metric(m, metric) && metric[0] < 0 && metric[1] > 0)))
        return RELN_OK;
    return reln_fail(
        m->ctx, RELN_ERR_UNSUPPORTED,
        "%s: a fourvector (E, px, py, pz) does not follow %s; wanted symmetry: lorentz, "
        "so:1,3 or o:1,3",
        name, reln_group_name(m->symmetry));
}

/* Checks that the symmetry acts on quaternions: g R is an attitude only if g is a rotation of space. */
static RelnStatus fits_quaternion(const RelnModel *m, const char *name)
{
    if (reln_model_hat_fits(m))
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_UNSUPPORTED,
                     "%s: a quaternion is an attitude in space, which %s does not turn into "
                     "another; wanted symmetry: so:3",
                     name, reln_group_name(m->symmetry));
}

/* ---- checks -------------------------------------------------------------------------------------------------------- */

static double asymmetry(int n, const double *s)
{
    double off = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            off += 2 * (s[i * n + j] - s[j * n + i]) * (s[i * n + j] - s[j * n + i]) / 4;
    return sqrt(off);
}

static RelnStatus check_covariance(RelnCtx *ctx, int n, const char *name, ptrdiff_t row,
                                   const double *s)
{
    double w[RELN_ALGEBRA_MAX_N];
    const double off = asymmetry(n, s), norm = reln_mat_norm((ptrdiff_t)n * n, s);

    if (off > 1e-5 * norm)
        return reln_fail(ctx, RELN_ERR_FORMAT,
                         "%s: row %td is not symmetric (by %.2g of its size); a covariance was "
                         "wanted",
                         name, row, off / norm);
    RELN_TRY(reln_eigh(ctx, n, s, w, NULL));
    if (!(w[0] > 0))
        return reln_fail(ctx, RELN_ERR_FORMAT,
                         "%s: row %td is not positive definite (smallest eigenvalue %.3g); a "
                         "covariance was wanted",
                         name, row, w[0]);
    return RELN_OK;
}

/* Checks that a quaternion has length 1, up to the rounding of single precision. */
static RelnStatus check_quaternion(RelnCtx *ctx, int n, const char *name, ptrdiff_t row,
                                   const double *q)
{
    const double length = reln_mat_norm(4, q);

    (void)n;
    if (fabs(length - 1) <= 1e-5)
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_FORMAT,
                     "%s: row %td has length %.6g; a unit quaternion (w, x, y, z) was wanted", name,
                     row, length);
}

/* ---- the action ------------------------------------------------------------------------------------------------------ */

/* v -> g v */
static void turn_vector(const Frame *f, double *v)
{
    double out[RELN_ALGEBRA_MAX_N];

    for (int i = 0; i < f->n; i++) {
        out[i] = 0;
        for (int j = 0; j < f->n; j++)
            out[i] += f->g[i * f->size + j] * v[j];
    }
    memcpy(v, out, (size_t)f->n * sizeof *v);
}

/* The columns of a matrix are vectors: x -> g x */
static void turn_columns(const Frame *f, double *x)
{
    double column[RELN_ALGEBRA_MAX_N];

    for (int j = 0; j < f->n; j++) {
        for (int i = 0; i < f->n; i++)
            column[i] = x[i * f->n + j];
        turn_vector(f, column);
        for (int i = 0; i < f->n; i++)
            x[i * f->n + j] = column[i];
    }
}

/* x -> x b, with b the inverse of g, or its transpose */
static void turn_rows(const Frame *f, bool congruent, double *x)
{
    double row[RELN_ALGEBRA_MAX_N];

    for (int i = 0; i < f->n; i++) {
        for (int j = 0; j < f->n; j++) {
            row[j] = 0;
            for (int l = 0; l < f->n; l++)
                row[j] += x[i * f->n + l] *
                          (congruent ? f->g[j * f->size + l] : f->inverse[l * f->size + j]);
        }
        memcpy(x + (ptrdiff_t)i * f->n, row, (size_t)f->n * sizeof *row);
    }
}

static RelnStatus act_vector(const RelnModel *m, const Frame *f, double *v)
{
    (void)m;
    turn_vector(f, v);
    return RELN_OK;
}

/* X -> g X g^-1 */
static RelnStatus act_matrix(const RelnModel *m, const Frame *f, double *x)
{
    (void)m;
    turn_columns(f, x);
    turn_rows(f, false, x);
    return RELN_OK;
}

/* S -> g S g^T, made exactly symmetric, since rounding breaks the symmetry. */
static RelnStatus act_covariance(const RelnModel *m, const Frame *f, double *s)
{
    const int n = f->n;

    (void)m;
    turn_columns(f, s);
    turn_rows(f, true, s);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            s[i * n + j] = s[j * n + i] = (s[i * n + j] + s[j * n + i]) / 2;
    return RELN_OK;
}

/* Acts on coordinates: forms the matrix, conjugates it, and computes its coordinates. */
static RelnStatus act_element(const RelnModel *m, const Frame *f, double *x)
{
    double *matrix = reln_alloc(m->ctx, (size_t)(m->n * m->n), sizeof *matrix);

    if (!matrix)
        return RELN_ERR_NOMEM;
    reln_algebra_hat(m->own, x, matrix);
    act_matrix(m, f, matrix);
    reln_algebra_vee(m->own, matrix, x);
    reln_free(m->ctx, matrix);
    return RELN_OK;
}

/* R(q) -> g R(q); either of the two quaternions of the result is fine. A masked-out point has no attitude and
 * is skipped. */
static RelnStatus act_quaternion(const RelnModel *m, const Frame *f, double *q)
{
    const double length = reln_mat_norm(4, q);
    double rotation[9];

    if (!(length > 0 && isfinite(length)))
        return RELN_OK;
    RELN_TRY(reln_lift_quaternion(m->ctx, 1, q, rotation));
    turn_columns(f, rotation);
    reln_readout_quaternion(1, rotation, q);
    return RELN_OK;
}

/* ---- random values ---------------------------------------------------------------------------------------------------- */

/* L L^T + 0.1, whose entries are about 1 for every n. */
static void draw_covariance(RelnRng *rng, int n, double *s)
{
    double l[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];

    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            l[i * n + k] = reln_rng_normal(rng) / sqrt(n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s[i * n + j] = i == j ? 0.1 : 0;
            for (int k = 0; k < n; k++)
                s[i * n + j] += l[i * n + k] * l[j * n + k];
        }
}

static void mirror(int n, double *s)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            s[i * n + j] = s[j * n + i];
}

static void unit(int n, double *q)
{
    const double length = reln_mat_norm(4, q);

    (void)n;
    for (int i = 0; i < 4; i++)
        q[i] = length > 0 ? q[i] / length : i == 0;
}

static void draw_quaternion(RelnRng *rng, int n, double *q)
{
    for (int i = 0; i < 4; i++)
        q[i] = reln_rng_normal(rng);
    unit(n, q);
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

/* KIND(enum, word, fields of InputKind ...) */
#define INPUT_KINDS(KIND)                                                                          \
    KIND(RELN_AS_MATRIX, "matrix", .help = "X -> g X g^-1", .axes = {AXIS_N, AXIS_N},              \
         .feature = FEATURE_MATRIX, .lift = reln_plan_matrix, .act = act_matrix)                   \
    KIND(RELN_AS_ELEMENT, "element",                                                               \
         .help = "coordinates in the basis of the symmetry's algebra, as a matrix",                \
         .axes = {AXIS_DIM}, .feature = FEATURE_ELEMENT, .fits = fits_element,                     \
         .lift = reln_plan_element, .act = act_element)                                            \
    KIND(RELN_AS_VECTOR, "vector", .help = "v -> g v", .axes = {AXIS_N},                           \
         .feature = FEATURE_VECTOR, .as_is = true, .lift = reln_plan_vector, .act = act_vector)    \
    KIND(RELN_AS_COVARIANCE, "covariance", .help = "symmetric, positive definite: S -> g S g^T",   \
         .axes = {AXIS_N, AXIS_N}, .feature = FEATURE_MATRIX, .before = reln_before_covariance,    \
         .lift = reln_plan_covariance, .act = act_covariance, .check = check_covariance,           \
         .draw = draw_covariance, .mend = mirror)                                                  \
    KIND(RELN_AS_FOURVECTOR, "fourvector", .help = "(E, px, py, pz) under lorentz: p -> g p",      \
         .axes = {4}, .feature = FEATURE_VECTOR, .as_is = true, .fits = fits_fourvector,           \
         .lift = reln_plan_vector, .act = act_vector)                                              \
    KIND(RELN_AS_SCALAR, "scalar", .help = "does not change", .feature = FEATURE_SCALAR)           \
    KIND(RELN_AS_QUATERNION, "quaternion",                                                         \
         .help = "(w, x, y, z) of length 1 under so:3: R(q) -> g R(q)", .axes = {4},               \
         .feature = FEATURE_VECTOR, .fits = fits_quaternion, .before = reln_before_attitude,       \
         .lift = reln_plan_vector, .act = act_quaternion, .check = check_quaternion,               \
         .draw = draw_quaternion, .mend = unit)

/* KIND(enum, word, the kind of one value of the target) */
#define TARGET_KINDS(KIND)                                                                         \
    KIND(RELN_TARGET_SCALAR, "scalar", .as = RELN_AS_SCALAR)                                       \
    KIND(RELN_TARGET_CLASS, "class", .as = RELN_AS_SCALAR)                                         \
    KIND(RELN_TARGET_VECTOR, "vector", .as = RELN_AS_VECTOR)                                       \
    KIND(RELN_TARGET_MATRIX, "matrix", .as = RELN_AS_MATRIX)                                       \
    KIND(RELN_TARGET_COVARIANCE, "covariance", .as = RELN_AS_COVARIANCE)

#define KIND_ENTRY(id, text, ...) [id] = {.word = text, __VA_ARGS__},
#define KIND_WORD(id, text, ...) [id] = text,
#define KIND_CASE(id, text, ...) case id:

static const InputKind inputs[] = {INPUT_KINDS(KIND_ENTRY)};
static const TargetKind targets[] = {TARGET_KINDS(KIND_ENTRY)};
const char *const reln_input_words[] = {INPUT_KINDS(KIND_WORD) NULL};
const char *const reln_target_words[] = {TARGET_KINDS(KIND_WORD) NULL};

/* Returns the entry of a kind. The switch has no default, so an enumerator without an entry does not
 * compile. */
const InputKind *reln_input_kind(RelnAs as)
{
    switch (as) {
        INPUT_KINDS(KIND_CASE)
        break;
    }
    return &inputs[as];
}

const TargetKind *reln_target_kind(RelnTargetAs as)
{
    switch (as) {
        TARGET_KINDS(KIND_CASE)
        break;
    }
    return &targets[as];
}

const char *reln_as_text(RelnAs as)
{
    return inputs[as].word;
}

const char *reln_target_text(RelnTargetAs as)
{
    return targets[as].word;
}

int reln_kind_dims(RelnAs as, int n, int dim, int dims[KIND_AXES])
{
    const int *axes = inputs[as].axes;
    int rank = 0;

    for (; rank < KIND_AXES && axes[rank] != 0; rank++)
        dims[rank] = axes[rank] == AXIS_N ? n : axes[rank] == AXIS_DIM ? dim : axes[rank];
    return rank;
}

int reln_kind_size(RelnAs as, int n, int dim)
{
    int dims[KIND_AXES], size = 1;

    for (int i = reln_kind_dims(as, n, dim, dims) - 1; i >= 0; i--)
        size *= dims[i];
    return size;
}

const char *reln_kind_extents(RelnAs as, char *out, size_t size)
{
    const int *axes = inputs[as].axes;
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < KIND_AXES && axes[i] != 0 && used < size; i++) {
        const char *before = i ? ", " : "(", *after = i + 1 < KIND_AXES && axes[i + 1] ? "" : ")";

        used += (size_t)(axes[i] > 0
                             ? snprintf(out + used, size - used, "%s%d%s", before, axes[i], after)
                             : snprintf(out + used, size - used, "%s%s%s", before,
                                        axes[i] == AXIS_N ? "n" : "dim", after));
    }
    return out;
}

/* ---- inputs and targets of a model ------------------------------------------------------------------------------------- */

RelnStatus reln_kinds_fit(const RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++) {
        const InputKind *kind = &inputs[m->spec.input[i].as];

        if (kind->fits)
            RELN_TRY(kind->fits(m, m->spec.input[i].name));
    }
    return RELN_OK;
}

void reln_input_draw(const RelnModel *m, int input, RelnRng *rng, ptrdiff_t count, double *x)
{
    const InputKind *kind = &inputs[m->spec.input[input].as];
    const int size = m->shapes.input[input].size;
    int first;
    const int columns = reln_model_columns(m, input, &first);

    for (ptrdiff_t at = 0; kind->draw && at < count; at += size)
        kind->draw(rng, m->n, x + at);
    for (ptrdiff_t i = 0; !kind->draw && i < count; i++) {
        const RelnColumn *c = columns > 0 ? &m->constants.column[first + i % columns] : NULL;

        x[i] = c ? c->centre + c->width * reln_rng_normal(rng)
                 : m->constants.scale[input] * reln_rng_normal(rng);
    }
}

void reln_input_mend(const RelnModel *m, int input, ptrdiff_t count, double *x)
{
    const InputKind *kind = &inputs[m->spec.input[input].as];
    const int size = m->shapes.input[input].size;

    for (ptrdiff_t at = 0; kind->mend && at < count; at += size)
        kind->mend(m->n, x + at);
}

RelnStatus reln_model_element(const RelnModel *m, RelnRng *rng, double cond, RelnElement **out)
{
    return reln_group_random(reln_model_is_mlp(m) ? m->symmetry : m->group, rng, cond, out);
}

RelnStatus reln_kind_act(const RelnModel *m, RelnAs as, const RelnElement *g, ptrdiff_t count,
                         ptrdiff_t size, double *values)
{
    const Frame f = {reln_element_matrix(g), reln_element_inverse(g), m->n,
                     reln_model_is_mlp(m) ? m->n : reln_group_n(m->group)};

    for (ptrdiff_t at = 0; inputs[as].act && at < count; at += size)
        RELN_TRY(inputs[as].act(m, &f, values + at));
    return RELN_OK;
}

RelnStatus reln_model_act(const RelnModel *m, int input, const RelnElement *g, ptrdiff_t count,
                          double *values)
{
    return reln_kind_act(m, m->spec.input[input].as, g, count, m->shapes.input[input].size, values);
}
