/* apply.c -- raw numbers of one sample into features, and the action of the symmetry on them. */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "reln/lift.h"
#include "tensor/linalg.h"

/* ---- room --------------------------------------------------------------------------------------------------------- */

static int most_channels(const RelnModel *m)
{
    int most = 1;

    for (int i = 0; i < m->spec.n_inputs; i++)
        most = m->shapes.input[i].channels > most ? m->shapes.input[i].channels : most;
    return most;
}

static ptrdiff_t count_covariances(const RelnModel *m)
{
    ptrdiff_t count = 0;

    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].as == RELN_AS_COVARIANCE)
            count += reln_input_count(&m->shapes.input[i]);
    return count;
}

/* Matrices of all channels at one point; a pair of vectors each for pairs. */
RelnStatus reln_lift_work_init(const RelnModel *m, RelnArena *arena, LiftWork *w)
{
    const size_t n2 = (size_t)m->n * (size_t)m->n, channels = (size_t)most_channels(m);

    w->block = reln_arena_alloc(arena, channels * n2 + 4 * n2, sizeof *w->block);
    w->covariances =
        reln_arena_alloc(arena, (size_t)count_covariances(m) + 1, sizeof *w->covariances);
    w->sbar = reln_arena_alloc(arena, n2, sizeof *w->sbar);
    return w->block && w->covariances && w->sbar ? RELN_OK : RELN_ERR_NOMEM;
}

/* ---- lifting ------------------------------------------------------------------------------------------------------ */

/* Numbers of an input at one point. */
static ptrdiff_t at_point(const RelnModel *m, int input)
{
    return (ptrdiff_t)m->shapes.input[input].channels * m->shapes.input[input].size;
}

static int places(const RelnModel *m, int input)
{
    return m->shapes.input[input].points > 0 ? m->shapes.input[input].points : 1;
}

static bool present(const RelnModel *m, int input, const double *mask, int point)
{
    return !m->spec.input[input].points || !mask || mask[point] != 0;
}

/* The mean of all covariances of the sample. */
static RelnStatus reference(const RelnModel *m, const LiftWork *w, const double *const *raw,
                            const double *mask)
{
    const ptrdiff_t n2 = (ptrdiff_t)m->n * m->n;
    ptrdiff_t used = 0;

    for (int i = 0; i < m->spec.n_inputs; i++)
        for (int p = 0; m->spec.input[i].as == RELN_AS_COVARIANCE && p < places(m, i); p++)
            if (present(m, i, mask, p)) {
                memcpy(w->covariances + used, raw[i] + p * at_point(m, i),
                       (size_t)at_point(m, i) * sizeof *w->covariances);
                used += at_point(m, i);
            }
    return reln_reference_mean(m->ctx, m->n, used / n2, w->covariances, 0, NULL, w->sbar);
}

/* y = matrix x, into channel c of an item (K, C). */
static void put(const RelnModel *m, const Lift *lift, const double *x, double *item, int c)
{
    const int width = m->slots[lift->slot].c, k = m->slots[lift->slot].k;

    for (int i = 0; i < k; i++) {
        double sum = 0;

        for (int j = 0; j < lift->size; j++)
            sum += lift->matrix[(ptrdiff_t)i * lift->size + j] * x[j];
        item[(ptrdiff_t)i * width + c] = sum;
    }
}

/* All pairs of the vectors at one point. */
static RelnStatus put_pairs(const RelnModel *m, const LiftWork *w, int input, const double *v,
                            double *item)
{
    const Lift *lift = &m->lift[input];
    const int n = m->n, channels = m->shapes.input[input].channels;

    for (int a = 0; a < channels; a++)
        for (int b = 0; b < channels; b++) {
            RELN_TRY(reln_lift_congruence_pair(m->ctx, n, w->sbar, 1, v + (ptrdiff_t)a * n,
                                               v + (ptrdiff_t)b * n, w->block));
            put(m, lift, w->block, item, lift->first + a * channels + b);
        }
    return RELN_OK;
}

/* What comes before the linear map, for all channels of one point; x itself where nothing does. */
static RelnStatus prepare(const RelnModel *m, const LiftWork *w, int input, const double *x,
                          const double **out)
{
    const int channels = m->shapes.input[input].channels;

    *out = w->block;
    switch (m->lift[input].before) {
    case BEFORE_LOG:
        return reln_lift_covariance_log(m->ctx, m->n, channels, x, w->block);
    case BEFORE_RELATIVE:
        return reln_lift_congruence(m->ctx, m->n, w->sbar, channels, x, w->block);
    case BEFORE_RELATIVE_LOG:
        return reln_lift_congruence_log(m->ctx, m->n, w->sbar, channels, x, w->block);
    default:
        *out = x;
        return RELN_OK;
    }
}

/* A matrix that the features do not hold. */
static RelnStatus look_inside(const RelnModel *m, const LiftWork *w, int input, ptrdiff_t row,
                              const double *x)
{
    const int n = reln_algebra_n(m->algebra), n2 = m->n * m->n;
    double *coordinates = w->block + (ptrdiff_t)most_channels(m) * n2;
    double distance;

    if (n != m->n)
        return reln_fail(m->ctx, RELN_ERR_SHAPE, "%s: features %s do not hold %d x %d matrices",
                         m->spec.input[input].name, reln_algebra_name(m->algebra), m->n, m->n);
    distance = reln_algebra_vee(m->algebra, x, coordinates);
    if (distance <= 1e-5)
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_SHAPE,
                     "%s: row %td is not in %s (distance %.2g of its size); an element of the "
                     "features was wanted",
                     m->spec.input[input].name, row, reln_algebra_name(m->algebra), distance);
}

static RelnStatus put_point(const RelnModel *m, const LiftWork *w, int input, ptrdiff_t row,
                            const double *raw, double *item)
{
    const Lift *lift = &m->lift[input];
    const double *x;

    if (lift->before == BEFORE_PAIRS)
        return put_pairs(m, w, input, raw, item);
    RELN_TRY(prepare(m, w, input, raw, &x));
    for (int c = 0; c < lift->channels; c++)
        if (!lift->matrix) {
            item[lift->first + c] = x[c];
        } else {
            if (lift->inside)
                RELN_TRY(look_inside(m, w, input, row, x + (ptrdiff_t)c * lift->size));
            put(m, lift, x + (ptrdiff_t)c * lift->size, item, lift->first + c);
        }
    return RELN_OK;
}

/* Vectors as they are, (n, C). */
static void put_vectors(const RelnModel *m, int input, const double *raw, double *item)
{
    const int width = m->slots[SLOT_V].c, first = m->lift[input].vectors;

    for (int c = 0; c < m->shapes.input[input].channels; c++)
        for (int i = 0; i < m->n; i++)
            item[i * width + first + c] = raw[c * m->n + i];
}

/* An mlp gets every number in its place, zeros where no point is. */
static RelnStatus put_flat(const RelnModel *m, const LiftWork *w, int input, const double *raw,
                           const double *mask, double *item)
{
    const ptrdiff_t count = at_point(m, input);
    double *out = item + m->lift[input].first;

    for (int p = 0; p < places(m, input); p++) {
        const double *x;

        if (present(m, input, mask, p)) {
            RELN_TRY(prepare(m, w, input, raw + p * count, &x));
            memcpy(out + p * count, x, (size_t)count * sizeof *out);
        } else {
            memset(out + p * count, 0, (size_t)count * sizeof *out);
        }
    }
    return RELN_OK;
}

static RelnStatus lift_input(const RelnModel *m, const LiftWork *w, int input, ptrdiff_t row,
                             const double *raw, const double *mask, double *const *out)
{
    const Lift *lift = &m->lift[input];
    const Slot *slot = &m->slots[lift->slot];
    double *item = out[lift->slot];

    if (lift->slot == SLOT_FLAT)
        return put_flat(m, w, input, raw, mask, item);
    for (int p = 0; p < places(m, input); p++)
        if (present(m, input, mask, p)) {
            RELN_TRY(put_point(m, w, input, row, raw + p * at_point(m, input), item));
            item += (ptrdiff_t)slot->k * slot->c;
        }
    if (lift->vectors >= 0)
        put_vectors(m, input, raw, out[SLOT_V]);
    return RELN_OK;
}

RelnStatus reln_model_lift(const RelnModel *m, const LiftWork *w, ptrdiff_t row,
                           const double *const *raw, const double *mask, double *const *out)
{
    if (m->relative)
        RELN_TRY(reference(m, w, raw, mask));
    for (int i = 0; i < m->spec.n_inputs; i++)
        RELN_TRY(lift_input(m, w, i, row, raw[i], mask, out));
    return RELN_OK;
}

/* ---- the action ------------------------------------------------------------------------------------------------------ */

RelnStatus reln_model_element(const RelnModel *m, RelnRng *rng, double cond, RelnElement **out)
{
    RELN_NEED(m, RELN_ERR_ARG);

    return reln_group_random(reln_model_is_mlp(m) ? m->symmetry : m->group, rng, cond, out);
}

typedef struct Frame {
    const double *g, *inverse; /* the first n x n block of each counts */
    int n, size;
} Frame;

static Frame frame_of(const RelnModel *m, const RelnElement *g)
{
    const int size = reln_model_is_mlp(m) ? m->n : reln_group_n(m->group);

    return (Frame){reln_element_matrix(g), reln_element_inverse(g), m->n, size};
}

/* v -> g v */
static void act_vector(const Frame *f, double *v)
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
static void act_columns(const Frame *f, double *x)
{
    double column[RELN_ALGEBRA_MAX_N];

    for (int j = 0; j < f->n; j++) {
        for (int i = 0; i < f->n; i++)
            column[i] = x[i * f->n + j];
        act_vector(f, column);
        for (int i = 0; i < f->n; i++)
            x[i * f->n + j] = column[i];
    }
}

/* x -> x b, with b the inverse of g, or its transpose */
static void act_rows(const Frame *f, bool congruent, double *x)
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

/* Rounding would leave g S g^T not quite symmetric. */
static void symmetrise(int n, double *s)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            s[i * n + j] = s[j * n + i] = (s[i * n + j] + s[j * n + i]) / 2;
}

static void act_matrix(const Frame *f, bool congruent, double *x)
{
    act_columns(f, x);
    act_rows(f, congruent, x);
    if (congruent)
        symmetrise(f->n, x);
}

/* Coordinates: out to the matrix and back. */
static RelnStatus act_element(const RelnModel *m, const Frame *f, double *x)
{
    double *matrix = reln_alloc(m->ctx, (size_t)(m->n * m->n), sizeof *matrix);

    if (!matrix)
        return RELN_ERR_NOMEM;
    reln_algebra_hat(m->own, x, matrix);
    act_matrix(f, false, matrix);
    reln_algebra_vee(m->own, matrix, x);
    reln_free(m->ctx, matrix);
    return RELN_OK;
}

static RelnStatus act_one(const RelnModel *m, RelnAs as, const Frame *f, double *x)
{
    switch (as) {
    case RELN_AS_MATRIX:
    case RELN_AS_COVARIANCE:
        act_matrix(f, as == RELN_AS_COVARIANCE, x);
        break;
    case RELN_AS_VECTOR:
    case RELN_AS_FOURVECTOR:
        act_vector(f, x);
        break;
    case RELN_AS_ELEMENT:
        return act_element(m, f, x);
    case RELN_AS_SCALAR:
        break;
    }
    return RELN_OK;
}

RelnStatus reln_model_act(const RelnModel *m, int input, const RelnElement *g, double *values)
{
    RELN_NEED(m && g, RELN_ERR_ARG);

    const RelnInputShape *shape = &m->shapes.input[input];
    const Frame f = frame_of(m, g);

    for (ptrdiff_t at = 0; at < reln_input_count(shape); at += shape->size)
        RELN_TRY(act_one(m, m->spec.input[input].as, &f, values + at));
    return RELN_OK;
}

RelnStatus reln_model_act_target(const RelnModel *m, const RelnElement *g, double *values)
{
    RELN_NEED(m && g, RELN_ERR_ARG);

    static const RelnAs as[] = {RELN_AS_SCALAR, RELN_AS_SCALAR, RELN_AS_VECTOR, RELN_AS_MATRIX};
    const Frame f = frame_of(m, g);
    const ptrdiff_t size = reln_model_target_size(m);

    for (ptrdiff_t at = 0; at < reln_model_outputs(m); at += size)
        RELN_TRY(act_one(m, as[m->spec.target.as], &f, values + at));
    return RELN_OK;
}
