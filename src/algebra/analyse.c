/* analyse.c -- decides whether a basis spans a reductive Lie algebra, and computes its centre, derived ideal and forms.
 *
 * All decisions are made in an orthonormal basis Q of the span, where only rounding separates zero from non-zero: in a
 * basis of condition 1e6, the ranks of brackets and of the Killing form would be meaningless. The results are converted
 * to the given basis at the end.
 */
#include "algebra/analyse.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/linalg.h"

#define UNIT_ROUNDOFF (DBL_EPSILON / 2)

typedef struct Work {
    RelnArena *tmp;
    int dim, n;
    ptrdiff_t nn;
    const double *basis;
    const RelnBasisOptions *options;
    double precision;
    bool
        orthogonal; /* the E_i are exactly orthogonal: then Q_i = E_i / |E_i|, and results stay exact */
    double *norm;              /* (K): norm of E_i */
    double *unit;              /* (K, n, n), E_i / |E_i| */
    double *left, *sigma;      /* E_i / |E_i| = sum_a left_ia sigma_a Q_a */
    double *q;                 /* (K, n, n) */
    double *c, *spare;         /* (K, K, K): structure constants of Q; scratch */
    double *kappa;             /* (K, K) Killing form in Q */
    double ad_size;            /* max(1, largest |ad_i|^2) */
    double *derived, *center;  /* orthonormal rows, in Q */
    double *kappa_d, *eigen_d; /* Killing on the derived ideal, its eigenvalues */
    double *form_z;            /* form on the rows of center */
    double *part;              /* (K, K) projector on the centre, in Q */
    RelnAnalysis *out;
} Work;

static double *doubles(Work *w, ptrdiff_t count)
{
    return reln_arena_alloc(w->tmp, (size_t)count, sizeof(double));
}

#define REASON(w, ...) snprintf((w)->out->info.reason, sizeof(w)->out->info.reason, __VA_ARGS__)

/* ---- the given numbers ------------------------------------------------------------------------------------ */

static RelnStatus check_sizes(RelnCtx *ctx, int dim, int n, const double *basis,
                              const RelnBasisOptions *options)
{
    if (dim < 1 || n < 1 || !basis)
        return reln_fail(ctx, RELN_ERR_ARG, "%d matrices of size %d, wanted at least one of each",
                         dim, n);
    if (n > RELN_ALGEBRA_MAX_N || dim > RELN_ALGEBRA_MAX_DIM)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "%d matrices of size %d, at most %d of size %d are possible", dim, n,
                         RELN_ALGEBRA_MAX_DIM, RELN_ALGEBRA_MAX_N);
    if (dim > n * n)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "%d matrices of size %d, but only %d can be independent", dim, n, n * n);
    if (options && (options->n_discrete < 0 || (options->n_discrete > 0 && !options->discrete)))
        return reln_fail(ctx, RELN_ERR_ARG, "%d discrete matrices, but none given",
                         options->n_discrete);
    if (options && !(options->precision >= 0 && options->precision <= 1e-3))
        return reln_fail(ctx, RELN_ERR_ARG, "precision %g, wanted from 0 to 1e-3",
                         options->precision);
    return RELN_OK;
}

/* Checks that norms lie within 1e-100 .. 1e100, which keeps every product of three of them finite. A matrix
 * of zeros passes here and is found by the rank. */
static RelnStatus check_entries(Work *w)
{
    RelnCtx *const ctx = w->tmp->ctx;

    for (ptrdiff_t i = 0; i < w->dim * w->nn; i++)
        if (!isfinite(w->basis[i]))
            return reln_fail(ctx, RELN_ERR_NUMERIC, "entry (%td,%td) of E_%td is %g",
                             i % w->nn / w->n + 1, i % w->n + 1, i / w->nn + 1, w->basis[i]);
    for (ptrdiff_t i = 0; i < w->dim; i++) {
        w->norm[i] = reln_mat_norm(w->nn, w->basis + i * w->nn);
        if (w->norm[i] != 0.0 && !(w->norm[i] >= 1e-100 && w->norm[i] <= 1e100))
            return reln_fail(ctx, RELN_ERR_NUMERIC,
                             "E_%td has norm %.2g, wanted from 1e-100 to 1e100", i + 1, w->norm[i]);
    }
    return RELN_OK;
}

static double dot(ptrdiff_t count, const double *x, const double *y)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

static bool exactly_orthogonal(const Work *w)
{
    for (ptrdiff_t i = 0; i < w->dim; i++) {
        if (w->norm[i] == 0.0)
            return false;
        for (ptrdiff_t j = 0; j < i; j++)
            if (dot(w->nn, w->unit + i * w->nn, w->unit + j * w->nn) != 0.0)
                return false;
    }
    return true;
}

/* unit = left diag(sigma) q */
static RelnStatus orthonormalise(Work *w)
{
    for (ptrdiff_t i = 0; i < w->dim; i++)
        for (ptrdiff_t j = 0; j < w->nn; j++)
            w->unit[i * w->nn + j] = w->norm[i] != 0.0 ? w->basis[i * w->nn + j] / w->norm[i] : 0.0;
    w->orthogonal = exactly_orthogonal(w);
    if (!w->orthogonal)
        return reln_svd(w->tmp->ctx, w->dim, w->nn, w->unit, false, w->sigma, w->left, w->q);
    memcpy(w->q, w->unit, (size_t)(w->dim * w->nn) * sizeof *w->q);
    reln_mat_identity(w->dim, w->left);
    for (ptrdiff_t i = 0; i < w->dim; i++)
        w->sigma[i] = 1;
    return RELN_OK;
}

/* ---- independent, closed ---------------------------------------------------------------------------------- */

static void say_no(Work *w)
{
    w->out->info.reductive = w->out->info.semisimple = RELN_NO;
}

/* Rounding moves each of the K unit rows by at most the precision, so a singular value that was 0 is at most
 * sqrt(K) times that: the cut. The decomposition adds 64 n^2 u: the noise. A value above both proves
 * independence; a value below the noise proves that the given numbers are dependent; between the two,
 * dependent and skewed bases look the same. */
static bool independent(Work *w)
{
    RelnAlgebraInfo *const info = &w->out->info;
    const double largest = w->sigma[0], smallest = w->sigma[w->dim - 1];
    const double noise =
        sqrt(w->dim) * UNIT_ROUNDOFF + 64.0 * (double)w->nn * UNIT_ROUNDOFF * largest;
    const double cut = sqrt(w->dim) * (w->precision - UNIT_ROUNDOFF) + noise;
    int rank = 0;

    for (int i = 0; i < w->dim; i++)
        rank += w->sigma[i] > noise;
    if (smallest > cut) {
        info->independent = RELN_YES;
        info->condition = largest / smallest;
        w->out->tau = 64.0 * w->dim * w->precision * info->condition;
        return true;
    }
    if (rank == w->dim) {
        REASON(w,
               "undecided: the smallest singular value of the matrices is %.2g, and rounding to "
               "precision %.2g can make %.2g of dependent ones",
               smallest, w->precision, cut);
        return false;
    }
    info->independent = RELN_NO;
    REASON(w,
           "dependent: %d matrices span %d dimensions (smallest singular value %.2g, zero is %.2g)",
           w->dim, rank, smallest, noise);
    say_no(w);
    return false;
}

/* Refuses to decide anything when the precision of the input is so coarse that the tolerance would let a unit
 * bracket leave the span by a hundredth. */
static bool precise_enough(Work *w)
{
    if (w->out->tau < 1e-2)
        return true;
    REASON(w, "undecided: a basis of condition %.2g in precision %.2g leaves errors of %.2g",
           w->out->info.condition, w->precision, w->out->tau);
    return false;
}

/* Finds the bracket [E_i, E_j] that leaves the span the most. */
static RelnStatus say_not_closed(Work *w)
{
    const double residual = w->out->info.closure_residual;
    RelnWorst worst;

    RELN_TRY(reln_structure_dense(w->tmp->ctx, w->dim, w->n, w->unit, w->q, w->spare, &worst));
    if (worst.residual > w->out->tau)
        REASON(w, "not closed: [E_%d, E_%d] leaves the span by %.2g (allowed %.2g)", worst.i + 1,
               worst.j + 1, worst.residual, w->out->tau);
    else
        REASON(w, "not closed: a bracket of unit elements leaves the span by %.2g (allowed %.2g)",
               residual, w->out->tau);
    say_no(w);
    return RELN_OK;
}

static RelnStatus closed(Work *w, bool *go_on)
{
    RelnAlgebraInfo *const info = &w->out->info;
    RelnWorst worst;

    RELN_TRY(reln_structure_dense(w->tmp->ctx, w->dim, w->n, w->q, w->q, w->c, &worst));
    info->closure_residual = worst.residual;
    info->closed = worst.residual <= w->out->tau ? RELN_YES : RELN_NO;
    *go_on = info->closed == RELN_YES;
    return *go_on ? RELN_OK : say_not_closed(w);
}

/* ---- derived ideal, centre, Killing form ------------------------------------------------------------------ */

/* Counts the values (largest first) that are not zero. A value between the bounds for "zero" and "not zero"
 * is reported. */
static int rank_of(Work *w, const char *what, double scale, const double *values, bool *decided)
{
    const double zero = w->out->tau * scale, certain = sqrt(w->out->tau) * scale;
    int rank = 0;

    for (int i = 0; i < w->dim; i++) {
        rank += values[i] > zero;
        if (values[i] > zero && values[i] < certain && *decided) {
            REASON(
                w,
                "undecided: a singular value of %s is %.2g, zero is below %.2g, certain above %.2g",
                what, values[i], zero, certain);
            *decided = false;
        }
    }
    return rank;
}

/* [g, g] is the span of the vectors c_ij.: the left singular vectors of the matrix (k, ij) -> c_ijk. Each bracket occurs
 * twice in it, as [i,j] and [j,i], hence the factor sqrt(2). */
static RelnStatus find_derived(Work *w, bool *decided)
{
    const ptrdiff_t k = w->dim;
    double *s = doubles(w, k);

    w->derived = doubles(w, k * k);
    if (!s || !w->derived)
        return RELN_ERR_NOMEM;
    reln_mat_transpose(k * k, k, w->c, w->spare);
    RELN_TRY(reln_wide_svd(w->tmp->ctx, k, k * k, w->spare, s, w->derived));
    for (ptrdiff_t i = 0; i < k; i++)
        s[i] *= sqrt(0.5);
    w->out->info.derived_dim = rank_of(w, "the brackets", fmax(1, s[0]), s, decided);
    return RELN_OK;
}

/* The centre consists of the x with sum_i x_i c_ijk = 0: the left null space of the matrix (i, jk) -> c_ijk. */
static RelnStatus find_center(Work *w, bool *decided)
{
    const ptrdiff_t k = w->dim;
    double *s = doubles(w, k), *u = doubles(w, k * k);
    int rank;

    if (!s || !u)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_wide_svd(w->tmp->ctx, k, k * k, w->c, s, u));
    rank = rank_of(w, "the adjoint action", fmax(1, s[0]), s, decided);
    w->out->info.center_dim = w->dim - rank;
    w->center = u + rank * k;
    return RELN_OK;
}

static RelnStatus find_killing(Work *w)
{
    const ptrdiff_t k = w->dim;
    double *values = doubles(w, k);

    w->kappa = doubles(w, k * k);
    if (!values || !w->kappa)
        return RELN_ERR_NOMEM;
    reln_structure_killing(w->dim, w->c, w->spare, w->kappa);
    w->ad_size = 1;
    for (ptrdiff_t i = 0; i < k; i++)
        w->ad_size = fmax(w->ad_size, dot(k * k, w->c + i * k * k, w->c + i * k * k));
    RELN_TRY(reln_eigh(w->tmp->ctx, k, w->kappa, values, NULL));
    w->out->info.killing_rank = 0;
    for (ptrdiff_t i = 0; i < k; i++)
        w->out->info.killing_rank += fabs(values[i]) > w->out->tau * w->ad_size;
    return RELN_OK;
}

/* out = rows form rows^T */
static void restrict_form(ptrdiff_t m, ptrdiff_t k, const double *rows, const double *form,
                          double *rows_form, double *out)
{
    reln_mat_gemm(false, false, m, k, k, 1, rows, k, form, k, 0, rows_form, k);
    reln_mat_gemm(false, true, m, m, k, 1, rows_form, k, rows, k, 0, out, m);
}

static RelnStatus restrict_killing(Work *w)
{
    const ptrdiff_t k = w->dim, r = w->out->info.derived_dim;
    double *t = doubles(w, r * k);

    w->kappa_d = doubles(w, r * r);
    w->eigen_d = doubles(w, r);
    if (!t || !w->kappa_d || !w->eigen_d)
        return RELN_ERR_NOMEM;
    if (r == 0)
        return RELN_OK;
    restrict_form(r, k, w->derived, w->kappa, t, w->kappa_d);
    RELN_TRY(reln_eigh(w->tmp->ctx, r, w->kappa_d, w->eigen_d, NULL));
    w->out->info.killing_gap = fabs(w->eigen_d[0]);
    for (ptrdiff_t i = 1; i < r; i++)
        w->out->info.killing_gap = fmin(w->out->info.killing_gap, fabs(w->eigen_d[i]));
    return RELN_OK;
}

/* Killing eigenvalues count as non-zero from ten times the error bound on; the bound is a hundred times the
 * largest error observed. A frame of condition 1e3 makes the eigenvalues of a semisimple algebra as small as
 * 1e-6, so an eigenvalue above 1e-7 never counts as zero, however coarse the basis. */
static void killing_bounds(const Work *w, double *zero, double *certain)
{
    *zero = fmin(w->out->tau, 1e-7) * w->ad_size;
    *certain = 10 * w->out->tau * w->ad_size;
}

/* An algebra is reductive iff its Killing form is non-degenerate on [g,g]. Then g = z + [g,g] follows; it is
 * checked nevertheless. */
static void decide(Work *w)
{
    RelnAlgebraInfo *const info = &w->out->info;
    const int r = info->derived_dim, z = info->center_dim;
    double zero = 0, certain = 0;
    int rank = 0;

    killing_bounds(w, &zero, &certain);
    for (int i = 0; i < r; i++)
        rank += fabs(w->eigen_d[i]) > zero;
    if (rank < r) {
        REASON(w,
               "not reductive: the Killing form is degenerate on the derived ideal (rank %d of %d, "
               "smallest eigenvalue %.2g, zero is below %.2g)",
               rank, r, info->killing_gap, zero);
        say_no(w);
    } else if (r > 0 && info->killing_gap < certain) {
        REASON(w,
               "undecided: an eigenvalue of the Killing form on the derived ideal is %.2g, zero is "
               "below %.2g, certain above %.2g",
               info->killing_gap, zero, certain);
    } else if (z + r != w->dim) {
        REASON(w, "undecided: centre and derived ideal have dimensions %d and %d, together not %d",
               z, r, w->dim);
    } else {
        info->reductive = RELN_YES;
        info->semisimple = z == 0 ? RELN_YES : RELN_NO;
    }
}

/* ---- the form --------------------------------------------------------------------------------------------- */

/* Computes the projector on the centre along [g,g]: with N = [z; D] by rows, q = N^T a, and the first entries
 * of a belong to z. It equals 1 - D^T (D kappa D^T)^-1 D kappa, but its accuracy depends only on the angle
 * between the two spaces, not on kappa. */
static RelnStatus project(Work *w)
{
    const ptrdiff_t k = w->dim, z = w->out->info.center_dim;
    double *rows = doubles(w, k * k), *inverse = doubles(w, k * k);

    w->part = doubles(w, k * k);
    if (!rows || !inverse || !w->part)
        return RELN_ERR_NOMEM;
    if (z == 0)
        return RELN_OK;
    memcpy(rows, w->center, (size_t)(z * k) * sizeof *rows);
    memcpy(rows + z * k, w->derived, (size_t)((k - z) * k) * sizeof *rows);
    RELN_TRY(reln_inverse(w->tmp->ctx, k, rows, inverse));
    /* part_ij = sum_a z_ai (N^-T)_aj = sum_a z_ai inverse_ja */
    reln_mat_gemm(true, true, k, k, z, 1, w->center, k, inverse, k, 0, w->part, k);
    return RELN_OK;
}

static void add_reason(Work *w, const char *text)
{
    RelnAlgebraInfo *const info = &w->out->info;
    const size_t used = strlen(info->reason);

    snprintf(info->reason + used, sizeof info->reason - used, "%s%s", used ? "; " : "", text);
}

static RelnStatus form_on_center(Work *w)
{
    RelnAlgebraInfo *const info = &w->out->info;
    const ptrdiff_t z = info->center_dim;
    double *matrices = doubles(w, z * w->nn);

    w->form_z = doubles(w, z * z);
    if (!matrices || !w->form_z)
        return RELN_ERR_NOMEM;
    info->center_semisimple = RELN_YES;
    if (info->derived_dim == 0)
        add_reason(w, "abelian: Ad is trivial");
    if (z == 0)
        return RELN_OK;
    reln_mat_gemm(false, false, z, w->nn, w->dim, 1, w->center, w->dim, w->q, w->nn, 0, matrices,
                  w->nn);
    RELN_TRY(reln_center_form(w->tmp->ctx, (int)z, w->n, matrices, w->out->tau, w->options,
                              w->form_z, &info->center_semisimple));
    if (info->center_semisimple == RELN_NO)
        add_reason(w, "the centre has elements that are not diagonalisable: its form depends on "
                      "the frame");
    return RELN_OK;
}

/* g = z + [g,g] is orthogonal for the form, and the form is non-degenerate on both parts: signs are counted
 * in each. */
static RelnStatus signature(Work *w)
{
    RelnAlgebraInfo *const info = &w->out->info;
    double *values = doubles(w, info->center_dim + 1);
    int *const s = info->form_signature;

    if (!values)
        return RELN_ERR_NOMEM;
    if (info->center_dim > 0)
        RELN_TRY(reln_eigh(w->tmp->ctx, info->center_dim, w->form_z, values, NULL));
    s[0] = s[1] = 0;
    for (int i = 0; i < info->derived_dim; i++)
        s[w->eigen_d[i] < 0]++;
    for (int i = 0; i < info->center_dim; i++)
        s[values[i] < 0]++;
    s[2] = w->dim - s[0] - s[1];
    return RELN_OK;
}

/* ---- back to the given basis: E_i = sum_a T_ia Q_a, T = diag(norm) left diag(sigma) ------------------------ */

/* t = T, t_inverse = T^-1 */
static void transition(const Work *w, double *t, double *t_inverse)
{
    const ptrdiff_t k = w->dim;

    for (ptrdiff_t i = 0; i < k; i++)
        for (ptrdiff_t a = 0; a < k; a++) {
            t[i * k + a] = w->norm[i] * w->left[i * k + a] * w->sigma[a];
            t_inverse[a * k + i] = w->left[i * k + a] / w->sigma[a] / w->norm[i];
        }
}

/* Sets entries that are pure rounding to 0: with x_ij in units of row_i column_j, below noise times the
 * largest. `power` is +1 if the units are norms, -1 if they are inverse norms. */
static void clean(const Work *w, ptrdiff_t rows, int row_power, int column_power, double noise,
                  double *x)
{
    const ptrdiff_t k = w->dim;
    double largest = 0;

    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t i = 0; i < rows; i++)
            for (ptrdiff_t j = 0; j < k; j++) {
                const double row = row_power ? pow(w->norm[i], row_power) : 1;
                const double size = fabs(x[i * k + j]) / (row * pow(w->norm[j], column_power));
                if (pass == 0)
                    largest = fmax(largest, size);
                else if (size <= noise * largest)
                    x[i * k + j] = 0;
            }
}

/* Converts rows (m, K) of elements in Q to coordinates: x = T^-T q. The largest entry of each row is made
 * positive. */
static double *rows_back(Work *w, RelnArena *arena, ptrdiff_t m, const double *rows,
                         const double *t_inverse, double noise)
{
    const ptrdiff_t k = w->dim;
    double *out = reln_arena_alloc(arena, (size_t)(m * k), sizeof *out);

    if (!out || m == 0)
        return out;
    reln_mat_gemm(false, false, m, k, k, 1, rows, k, t_inverse, k, 0, out, k);
    clean(w, m, 0, -1, noise, out);
    for (ptrdiff_t i = 0; i < m; i++) {
        ptrdiff_t largest = 0;
        for (ptrdiff_t j = 1; j < k; j++)
            if (fabs(out[i * k + j]) > 1.5 * fabs(out[i * k + largest]))
                largest = j;
        for (ptrdiff_t j = 0, flip = out[i * k + largest] < 0; flip && j < k; j++)
            out[i * k + j] = -out[i * k + j];
    }
    return out;
}

/* Converts a form from Q to the given basis: T form T^T */
static RelnStatus form_back(Work *w, const double *t, const double *form, double *out)
{
    double *tmp = doubles(w, (ptrdiff_t)w->dim * w->dim);

    if (!tmp)
        return RELN_ERR_NOMEM;
    restrict_form(w->dim, w->dim, t, form, tmp, out);
    clean(w, w->dim, 1, 1, w->dim * DBL_EPSILON, out);
    return RELN_OK;
}

/* Converts the projector from Q to the given basis: T^-T part T^T */
static RelnStatus projector_back(Work *w, const double *t, const double *t_inverse)
{
    const ptrdiff_t k = w->dim;
    double *tmp = doubles(w, k * k);

    if (!tmp)
        return RELN_ERR_NOMEM;
    reln_mat_gemm(true, false, k, k, k, 1, t_inverse, k, w->part, k, 0, tmp, k);
    reln_mat_gemm(false, true, k, k, k, 1, tmp, k, t, k, 0, w->out->projector, k);
    clean(w, k, -1, 1, w->dim * DBL_EPSILON * w->out->info.condition, w->out->projector);
    return RELN_OK;
}

/* F_k = E_k / |E_k|^2 if the basis is exactly orthogonal, T^-T Q otherwise */
static void dual_back(const Work *w, const double *t_inverse, double *dual)
{
    for (ptrdiff_t i = 0; w->orthogonal && i < w->dim; i++) {
        const double square = dot(w->nn, w->basis + i * w->nn, w->basis + i * w->nn);
        for (ptrdiff_t j = 0; j < w->nn; j++)
            dual[i * w->nn + j] = w->basis[i * w->nn + j] / square;
    }
    if (!w->orthogonal)
        reln_mat_gemm(true, false, w->dim, w->nn, w->dim, 1, t_inverse, w->dim, w->q, w->nn, 0,
                      dual, w->nn);
}

/* Removes rounding from c_ijk, in units of |E_i| |E_j| / |E_k|: coordinates are as accurate as the condition
 * of the basis allows. */
static void clean_structure(const Work *w, double *c)
{
    const ptrdiff_t k = w->dim;
    const double noise = w->dim * UNIT_ROUNDOFF * w->out->info.condition;
    double largest = 0;

    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t i = 0; i < k * k * k; i++) {
            const double unit = w->norm[i / (k * k)] * w->norm[i / k % k] / w->norm[i % k];
            if (pass == 0)
                largest = fmax(largest, fabs(c[i]) / unit);
            else if (fabs(c[i]) / unit <= noise * largest)
                c[i] = 0;
        }
}

/* c_ijk = <E_k, [E_i, E_j]> / |E_k|^2: for integers, dividing last gives the nearest double. */
static void divide_by_squares(const Work *w, double *c)
{
    for (ptrdiff_t k = 0; k < w->dim; k++) {
        const double square = dot(w->nn, w->basis + k * w->nn, w->basis + k * w->nn);
        for (ptrdiff_t ij = 0; ij < (ptrdiff_t)w->dim * w->dim; ij++)
            c[ij * w->dim + k] /= square;
    }
}

/* Computes the Killing form of an orthogonal basis from a_ijk = <E_k, [E_i, E_j]>: K_ij = sum_kl a_ikl a_jlk / (s_k s_l), with
 * s_k = |E_k|^2. Sums are in long double: if all a and s are small integers, K is the nearest double. A product of
 * the BLAS adds up in an order that depends on the processor, and 1/3 three times is not always 1. */
static RelnStatus killing_from(Work *w, const double *a, double *killing)
{
    const ptrdiff_t dim = w->dim;
    long double *row = reln_arena_alloc(w->tmp, (size_t)dim, sizeof *row);
    double *s = doubles(w, dim);

    if (!row || !s)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t k = 0; k < dim; k++)
        s[k] = dot(w->nn, w->basis + k * w->nn, w->basis + k * w->nn);
    for (ptrdiff_t i = 0; i < dim; i++) {
        memset(row, 0, (size_t)dim * sizeof *row);
        for (ptrdiff_t kl = 0; kl < dim * dim; kl++) {
            const ptrdiff_t k = kl / dim, l = kl % dim;
            const long double x = (long double)a[i * dim * dim + kl],
                              square = (long double)s[k] * (long double)s[l];

            for (ptrdiff_t j = 0; x != 0 && j < dim; j++)
                row[j] += x * (long double)a[(j * dim + l) * dim + k] / square;
        }
        for (ptrdiff_t j = 0; j < dim; j++)
            killing[i * dim + j] = (double)row[j];
    }
    for (ptrdiff_t i = 0; i < dim; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            killing[i * dim + j] = killing[j * dim + i];
    return RELN_OK;
}

/* Computes the structure constants from the given matrices. The Killing form is computed from them where they
 * are exact; otherwise it is converted from Q, which loses no accuracy in a badly conditioned basis. */
static RelnStatus structure_back(Work *w, RelnArena *arena, const double *t)
{
    RelnAnalysis *const out = w->out;
    double *const c = w->spare;

    RELN_TRY(reln_structure_dense(w->tmp->ctx, w->dim, w->n, w->basis,
                                  w->orthogonal ? w->basis : out->dual, c, NULL));
    if (w->orthogonal) {
        memcpy(w->c, c, (size_t)w->dim * (size_t)w->dim * (size_t)w->dim * sizeof *c);
        divide_by_squares(w, c);
    }
    clean_structure(w, c);
    RELN_TRY(reln_structure_sparse(arena, w->dim, c, &out->structure));
    out->info.structure_nnz = out->structure.count;
    if (!w->orthogonal)
        return form_back(w, t, w->kappa, out->killing);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)w->dim * w->dim * w->dim; i++)
        w->c[i] = c[i] == 0 ? 0 : w->c[i];
    return killing_from(w, w->c, out->killing);
}

/* (zP)^T form_z (zP): P projects on the centre, z gives the coordinates there */
static RelnStatus center_form_back(Work *w, const double *t)
{
    const ptrdiff_t k = w->dim, z = w->out->info.center_dim;
    double *zp = doubles(w, z * k), *b = doubles(w, z * k), *form = doubles(w, k * k);

    if (!zp || !b || !form)
        return RELN_ERR_NOMEM;
    if (z == 0)
        return RELN_OK;
    reln_mat_gemm(false, false, z, k, k, 1, w->center, k, w->part, k, 0, zp, k);
    reln_mat_gemm(false, false, z, k, z, 1, w->form_z, z, zp, k, 0, b, k);
    reln_mat_gemm(true, false, k, k, z, 1, zp, k, b, k, 0, form, k);
    return form_back(w, t, form, w->out->center_form);
}

/* tr(E_i E_j) */
static RelnStatus trace_form(Work *w, double *trace)
{
    double *transposed = doubles(w, w->dim * w->nn);

    if (!transposed)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < w->dim; i++)
        reln_mat_transpose(w->n, w->n, w->basis + i * w->nn, transposed + i * w->nn);
    reln_mat_gemm(false, true, w->dim, w->dim, w->nn, 1, w->basis, w->nn, transposed, w->nn, 0,
                  trace, w->dim);
    return RELN_OK;
}

static bool killing_is_negative(const Work *w)
{
    for (int i = 0; i < w->out->info.derived_dim; i++)
        if (w->eigen_d[i] > 0)
            return false;
    return true;
}

static RelnStatus allocate_results(Work *w, RelnArena *arena)
{
    const size_t kk = (size_t)w->dim * (size_t)w->dim, knn = (size_t)w->dim * (size_t)w->nn;
    RelnAnalysis *const out = w->out;

    out->ortho = reln_arena_copy(arena, w->q, knn, sizeof(double));
    out->dual = reln_arena_alloc(arena, knn, sizeof(double));
    out->killing = reln_arena_alloc(arena, kk, sizeof(double));
    out->center_form = reln_arena_alloc(arena, kk, sizeof(double));
    out->completed = reln_arena_alloc(arena, kk, sizeof(double));
    out->trace = reln_arena_alloc(arena, kk, sizeof(double));
    out->projector = reln_arena_alloc(arena, kk, sizeof(double));
    if (killing_is_negative(w) && !(out->definite = reln_arena_alloc(arena, kk, sizeof(double))))
        return RELN_ERR_NOMEM;
    return out->ortho && out->dual && out->killing && out->center_form && out->completed &&
                   out->trace && out->projector
               ? RELN_OK
               : RELN_ERR_NOMEM;
}

static RelnStatus go_back(Work *w, RelnArena *arena)
{
    RelnAnalysis *const out = w->out;
    const ptrdiff_t kk = (ptrdiff_t)w->dim * w->dim;
    const double noise = w->dim * DBL_EPSILON * out->info.condition;
    double *t = doubles(w, kk), *t_inverse = doubles(w, kk);

    if (!t || !t_inverse)
        return RELN_ERR_NOMEM;
    transition(w, t, t_inverse);
    RELN_TRY(allocate_results(w, arena));
    dual_back(w, t_inverse, out->dual);
    RELN_TRY(structure_back(w, arena, t));
    RELN_TRY(center_form_back(w, t));
    RELN_TRY(projector_back(w, t, t_inverse));
    RELN_TRY(trace_form(w, out->trace));
    out->center = rows_back(w, arena, out->info.center_dim, w->center, t_inverse, noise);
    out->derived = rows_back(w, arena, out->info.derived_dim, w->derived, t_inverse, noise);
    for (ptrdiff_t i = 0; i < kk; i++) {
        out->completed[i] = out->killing[i] + out->center_form[i];
        if (out->definite)
            out->definite[i] = out->center_form[i] - out->killing[i];
    }
    return out->center && out->derived ? RELN_OK : RELN_ERR_NOMEM;
}

/* ---- the whole analysis ----------------------------------------------------------------------------------- */

static RelnStatus allocate_work(Work *w)
{
    const ptrdiff_t k = w->dim;

    w->norm = doubles(w, k);
    w->unit = doubles(w, k * w->nn);
    w->left = doubles(w, k * k);
    w->sigma = doubles(w, k);
    w->q = doubles(w, k * w->nn);
    return w->norm && w->unit && w->left && w->sigma && w->q ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus find_parts(Work *w)
{
    bool decided = true;

    RELN_TRY(find_killing(w));
    RELN_TRY(find_derived(w, &decided));
    RELN_TRY(find_center(w, &decided));
    RELN_TRY(restrict_killing(w));
    if (decided)
        decide(w);
    return RELN_OK;
}

static RelnStatus analyse(Work *w, RelnArena *arena)
{
    const ptrdiff_t k = w->dim;
    bool go_on = false;

    RELN_TRY(allocate_work(w));
    RELN_TRY(check_entries(w));
    RELN_TRY(orthonormalise(w));
    if (!independent(w) || !precise_enough(w))
        return RELN_OK;
    w->c = doubles(w, k * k * k);
    w->spare = doubles(w, k * k * k);
    if (!w->c || !w->spare)
        return RELN_ERR_NOMEM;
    RELN_TRY(closed(w, &go_on));
    if (!go_on)
        return RELN_OK;
    RELN_TRY(find_parts(w));
    if (w->out->info.reductive != RELN_YES)
        return RELN_OK;
    RELN_TRY(project(w));
    RELN_TRY(form_on_center(w));
    RELN_TRY(signature(w));
    return go_back(w, arena);
}

/* Initialises the result: every number is -1, every answer undecided. */
static void start(RelnAlgebraInfo *info, int dim, int n)
{
    *info = (RelnAlgebraInfo){.n = n,
                              .dim = dim,
                              .center_dim = -1,
                              .derived_dim = -1,
                              .killing_rank = -1,
                              .independent = RELN_UNDECIDED,
                              .closed = RELN_UNDECIDED,
                              .reductive = RELN_UNDECIDED,
                              .semisimple = RELN_UNDECIDED,
                              .center_semisimple = RELN_UNDECIDED,
                              .form_signature = {-1, -1, -1},
                              .structure_nnz = -1,
                              .condition = -1,
                              .closure_residual = -1,
                              .killing_gap = -1};
}

RelnStatus reln_analyse(RelnArena *arena, int dim, int n, const double *basis,
                        const RelnBasisOptions *options, RelnAnalysis *out)
{
    RelnArena tmp;
    RelnStatus status;
    Work w = {.tmp = &tmp, .dim = dim, .n = n, .basis = basis, .options = options, .out = out};

    *out = (RelnAnalysis){0};
    start(&out->info, dim, n);
    RELN_TRY(check_sizes(arena->ctx, dim, n, basis, options));
    w.nn = (ptrdiff_t)n * n;
    w.precision = options ? fmax(options->precision, UNIT_ROUNDOFF) : UNIT_ROUNDOFF;
    reln_arena_init(&tmp, arena->ctx);
    status = analyse(&w, arena);
    reln_arena_clear(&tmp);
    return status;
}
