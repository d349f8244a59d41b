/* linalg.c -- dense linear algebra: plain loops, BLAS, and LAPACK behind row-major functions. */
#include "tensor/linalg.h"

#include <cblas.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "tensor/blas.h"

/* LAPACK through its Fortran symbols; the trailing size_t are the hidden lengths of the character arguments. */
extern void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda,
                    double *s, double *u, const int *ldu, double *vt, const int *ldvt, double *work,
                    const int *lwork, int *iwork, int *info, size_t);
extern void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda,
                    double *w, double *work, const int *lwork, int *iwork, const int *liwork,
                    int *info, size_t, size_t);
extern void zheevd_(const char *jobz, const char *uplo, const int *n, double complex *a,
                    const int *lda, double *w, double complex *work, const int *lwork,
                    double *rwork, const int *lrwork, int *iwork, const int *liwork, int *info,
                    size_t, size_t);
extern void dgeev_(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda,
                   double *wr, double *wi, double *vl, const int *ldvl, double *vr, const int *ldvr,
                   double *work, const int *lwork, int *info, size_t, size_t);
extern void dgees_(const char *jobvs, const char *sort,
                   int (*select)(const double *, const double *), const int *n, double *a,
                   const int *lda, int *sdim, double *wr, double *wi, double *vs, const int *ldvs,
                   double *work, const int *lwork, int *bwork, int *info, size_t, size_t);
extern void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
extern void dgetrs_(const char *trans, const int *n, const int *nrhs, const double *a,
                    const int *lda, const int *ipiv, double *b, const int *ldb, int *info, size_t);
extern void dgecon_(const char *norm, const int *n, const double *a, const int *lda,
                    const double *anorm, double *rcond, double *work, int *iwork, int *info,
                    size_t);
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
extern void dpocon_(const char *uplo, const int *n, const double *a, const int *lda,
                    const double *anorm, double *rcond, double *work, int *iwork, int *info,
                    size_t);

/* -- plain loops ----------------------------------------------------------------------------- */

void reln_mat_mul(ptrdiff_t m, ptrdiff_t k, ptrdiff_t n, const double *a, const double *b,
                  double *c)
{
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (ptrdiff_t p = 0; p < k; p++)
            for (ptrdiff_t j = 0; j < n; j++)
                c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
}

void reln_mat_transpose(ptrdiff_t m, ptrdiff_t n, const double *a, double *at)
{
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            at[j * m + i] = a[i * n + j];
}

void reln_mat_identity(ptrdiff_t n, double *a)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            a[i * n + j] = i == j;
}

/* The numbers are scaled by a power of two near the largest, which is exact, so no digits are lost. */
double reln_mat_norm(ptrdiff_t count, const double *a)
{
    double largest = 0, sum = 0;
    int exponent = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(a[i]));
    if (isinf(largest))
        return largest;
    frexp(largest, &exponent);
    for (ptrdiff_t i = 0; i < count; i++) {
        const double x = ldexp(a[i], -exponent);
        sum += x * x;
    }
    return ldexp(sqrt(sum), exponent);
}

double reln_mat_trace(ptrdiff_t n, const double *a)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        sum += a[i * n + i];
    return sum;
}

void reln_rows_orthonormalise(ptrdiff_t rows, ptrdiff_t columns, double *x)
{
    for (ptrdiff_t i = 0; i < 2 * rows; i++) {
        double *a = x + i / 2 * columns, norm = 0;

        for (ptrdiff_t j = 0; j < i / 2; j++) {
            const double *b = x + j * columns;
            double dot = 0;

            for (ptrdiff_t k = 0; k < columns; k++)
                dot += a[k] * b[k];
            for (ptrdiff_t k = 0; k < columns; k++)
                a[k] -= dot * b[k];
        }
        for (ptrdiff_t k = 0; k < columns; k++)
            norm += a[k] * a[k];
        for (ptrdiff_t k = 0; k < columns; k++)
            a[k] /= sqrt(norm);
    }
}

/* The product in plain loops, for when BLAS cannot get its buffer. */
static void gemm_loops(bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                       const double *a, ptrdiff_t lda, const double *b, ptrdiff_t ldb, double beta,
                       double *c, ptrdiff_t ldc)
{
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            double sum = 0;

            for (ptrdiff_t p = 0; p < k; p++)
                sum +=
                    (ta ? a[p * lda + i] : a[i * lda + p]) * (tb ? b[j * ldb + p] : b[p * ldb + j]);
            c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
        }
}

void reln_mat_gemm(bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                   const double *a, ptrdiff_t lda, const double *b, ptrdiff_t ldb, double beta,
                   double *c, ptrdiff_t ldc)
{
    if (!reln_blas_ready()) {
        gemm_loops(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        return;
    }
    cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                (blasint)m, (blasint)n, (blasint)k, alpha, a, (blasint)lda, b, (blasint)ldb, beta,
                c, (blasint)ldc);
}

/* -- helpers of all decompositions ------------------------------------------------------------ */

/* Check a matrix before LAPACK sees it: LAPACK counts in int, and may not return on NaN or without memory. `parts` is
 * the number of doubles per element. */
static RelnStatus check(RelnCtx *ctx, const char *what, ptrdiff_t m, ptrdiff_t n, int parts,
                        const void *a)
{
    const double *x = a;

    if (m < 0 || n < 0 || m > INT_MAX || n > INT_MAX)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: size %tdx%td is outside 0..%d", what, m, n,
                         INT_MAX);
    for (ptrdiff_t i = 0; i < m * n * parts; i++)
        if (!isfinite(x[i]))
            return reln_fail(ctx, RELN_ERR_NUMERIC, "%s: element (%td,%td) is %g, not finite", what,
                             i / parts / n, i / parts % n, x[i]);
    return reln_blas_want(ctx);
}

static RelnStatus converged(RelnCtx *ctx, const char *what, ptrdiff_t m, ptrdiff_t n, int info)
{
    if (info == 0)
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_NUMERIC, "%s of a %tdx%td matrix failed (LAPACK info %d)", what,
                     m, n, info);
}

static double complex join(double re, double im)
{
    return re + im * (double complex)I;
}

/* Returns the workspace length from a LAPACK query, which answers in floating point, rounded up. */
static int length(double answer)
{
    return answer < INT_MAX ? (int)ceil(answer) : INT_MAX;
}

/* -- singular values ------------------------------------------------------------------------- */

/* LAPACK sees aᵀ (n,m) = V diag(s) Uᵀ: its left factor is our vt, its right factor our u, both already in row-major
 * order. */
static RelnStatus svd(RelnArena *tmp, int m, int n, const double *a, bool full_v, double *s,
                      double *u, double *vt)
{
    const int r = m < n ? m : n, rows_vt = full_v ? n : r, query = -1;
    const char *job = !u && !vt ? "N" : rows_vt > r ? "A" : "S";
    double *copy = reln_arena_copy(tmp, a, (size_t)m * (size_t)n, sizeof *copy);
    int *iwork = reln_arena_alloc(tmp, 8 * (size_t)r, sizeof *iwork);
    double *work = NULL, answer = 0;
    int info = 0, lwork = 0;

    if (*job != 'N' && !u)
        u = reln_arena_alloc(tmp, (size_t)m * (size_t)r, sizeof *u);
    if (*job != 'N' && !vt)
        vt = reln_arena_alloc(tmp, (size_t)rows_vt * (size_t)n, sizeof *vt);
    if (!copy || !iwork || (*job != 'N' && (!u || !vt)))
        return RELN_ERR_NOMEM;
    dgesdd_(job, &n, &m, copy, &n, s, vt, &n, u, &r, &answer, &query, iwork, &info, 1);
    lwork = length(answer);
    if (!(work = reln_arena_alloc(tmp, (size_t)lwork, sizeof *work)))
        return RELN_ERR_NOMEM;
    dgesdd_(job, &n, &m, copy, &n, s, vt, &n, u, &r, work, &lwork, iwork, &info, 1);
    return converged(tmp->ctx, "svd", m, n, info);
}

RelnStatus reln_svd(RelnCtx *ctx, ptrdiff_t m, ptrdiff_t n, const double *a, bool full_v, double *s,
                    double *u, double *vt)
{
    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "svd", m, n, 1, a));
    if (m == 0 || n == 0) {
        if (full_v && vt)
            reln_mat_identity(n, vt);
        return RELN_OK;
    }
    reln_arena_init(&tmp, ctx);
    status = svd(&tmp, (int)m, (int)n, a, full_v && vt, s, u, vt);
    reln_arena_clear(&tmp);
    return status;
}

RelnStatus reln_cond(RelnCtx *ctx, ptrdiff_t n, const double *a, double *cond)
{
    double *s = reln_alloc(ctx, (size_t)(n > 0 ? n : 0), sizeof *s);
    RelnStatus status = s ? reln_svd(ctx, n, n, a, false, s, NULL, NULL) : RELN_ERR_NOMEM;

    if (status == RELN_OK)
        *cond = n == 0 ? 1 : s[n - 1] > 0 ? s[0] / s[n - 1] : (double)INFINITY;
    reln_free(ctx, s);
    return status;
}

/* -- eigenvalues ----------------------------------------------------------------------------- */

static RelnStatus eigh(RelnArena *tmp, int n, double *v, double *w, const char *job)
{
    const int query = -1;
    double *work = NULL, answer = 0;
    int *iwork = NULL, info = 0, lwork = 0, liwork = 0;

    dsyevd_(job, "U", &n, v, &n, w, &answer, &query, &liwork, &query, &info, 1, 1);
    lwork = length(answer);
    work = reln_arena_alloc(tmp, (size_t)lwork, sizeof *work);
    iwork = reln_arena_alloc(tmp, (size_t)liwork, sizeof *iwork);
    if (!work || !iwork)
        return RELN_ERR_NOMEM;
    dsyevd_(job, "U", &n, v, &n, w, work, &lwork, iwork, &liwork, &info, 1, 1);
    return converged(tmp->ctx, "symmetric eigen-decomposition", n, n, info);
}

RelnStatus reln_eigh(RelnCtx *ctx, ptrdiff_t n, const double *a, double *w, double *v)
{
    RelnArena tmp;
    RelnStatus status = RELN_ERR_NOMEM;
    double *copy = NULL;

    RELN_TRY(check(ctx, "symmetric eigen-decomposition", n, n, 1, a));
    if (n == 0)
        return RELN_OK;
    reln_arena_init(&tmp, ctx);
    if ((copy = reln_arena_copy(&tmp, a, (size_t)(n * n), sizeof *copy)))
        status = eigh(&tmp, (int)n, copy, w, v ? "V" : "N");
    if (status == RELN_OK && v)
        reln_mat_transpose(n, n, copy, v);
    reln_arena_clear(&tmp);
    return status;
}

/* OpenBLAS 0.3.21 multiplies complex matrices by vectors in groups of four columns and reads the group to its end: up to
 * three columns past the matrix, which may not be there. Complex matrices given to LAPACK have that much room. */
static double complex *complex_room(RelnArena *tmp, int n, size_t count)
{
    return reln_arena_alloc(tmp, count + 4 * (size_t)n, sizeof(double complex));
}

static RelnStatus eigh_complex(RelnArena *tmp, int n, double complex *v, double *w, const char *job)
{
    const int query = -1;
    double complex *work = NULL, answer = 0;
    double *rwork = NULL, ranswer = 0;
    int *iwork = NULL, info = 0, lwork = 0, lrwork = 0, liwork = 0;

    zheevd_(job, "U", &n, v, &n, w, &answer, &query, &ranswer, &query, &liwork, &query, &info, 1,
            1);
    lwork = length(creal(answer));
    lrwork = length(ranswer);
    work = complex_room(tmp, n, (size_t)lwork);
    rwork = reln_arena_alloc(tmp, (size_t)lrwork, sizeof *rwork);
    iwork = reln_arena_alloc(tmp, (size_t)liwork, sizeof *iwork);
    if (!work || !rwork || !iwork)
        return RELN_ERR_NOMEM;
    zheevd_(job, "U", &n, v, &n, w, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, 1, 1);
    return converged(tmp->ctx, "hermitian eigen-decomposition", n, n, info);
}

/* LAPACK sees the transpose, that is conj(a): its eigenvectors, in columns, are the conjugates of ours. */
RelnStatus reln_eigh_complex(RelnCtx *ctx, ptrdiff_t n, const double complex *a, double *w,
                             double complex *v)
{
    RelnArena tmp;
    RelnStatus status = RELN_ERR_NOMEM;
    double complex *copy = NULL;

    RELN_TRY(check(ctx, "hermitian eigen-decomposition", n, n, 2, a));
    if (n == 0)
        return RELN_OK;
    reln_arena_init(&tmp, ctx);
    if ((copy = complex_room(&tmp, (int)n, (size_t)(n * n)))) {
        memcpy(copy, a, (size_t)(n * n) * sizeof *copy);
        status = eigh_complex(&tmp, (int)n, copy, w, v ? "V" : "N");
    }
    for (ptrdiff_t i = 0; status == RELN_OK && v && i < n * n; i++)
        v[i] = conj(copy[i % n * n + i / n]);
    reln_arena_clear(&tmp);
    return status;
}

/* Real storage of eigenvectors: a complex pair occupies two columns, real and imaginary part. LAPACK saw aᵀ and gave
 * its left eigenvectors u, uᴴ aᵀ = w uᴴ, so that ours are conj(u). */
static void unpack_eigenvectors(int n, const double *wi, const double *left, double complex *v)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            const double *re = left + (ptrdiff_t)(wi[j] < 0 ? j - 1 : j) * n;
            const double im = wi[j] == 0 ? 0 : re[n + i];
            v[(ptrdiff_t)i * n + j] = join(re[i], wi[j] < 0 ? im : -im);
        }
}

static RelnStatus eig(RelnArena *tmp, int n, const double *a, double complex *w, double complex *v)
{
    const int query = -1;
    const size_t square = (size_t)n * (size_t)n;
    double *copy = reln_arena_copy(tmp, a, square, sizeof *copy);
    double *wr = reln_arena_alloc(tmp, (size_t)n, sizeof *wr);
    double *wi = reln_arena_alloc(tmp, (size_t)n, sizeof *wi);
    double *left = reln_arena_alloc(tmp, v ? square : 1, sizeof *left);
    double *work = NULL, answer = 0;
    int info = 0, lwork = 0;

    if (!copy || !wr || !wi || !left)
        return RELN_ERR_NOMEM;
    dgeev_(v ? "V" : "N", "N", &n, copy, &n, wr, wi, left, &n, NULL, &n, &answer, &query, &info, 1,
           1);
    lwork = length(answer);
    if (!(work = reln_arena_alloc(tmp, (size_t)lwork, sizeof *work)))
        return RELN_ERR_NOMEM;
    dgeev_(v ? "V" : "N", "N", &n, copy, &n, wr, wi, left, &n, NULL, &n, work, &lwork, &info, 1, 1);
    RELN_TRY(converged(tmp->ctx, "eigen-decomposition", n, n, info));
    for (int i = 0; i < n; i++)
        w[i] = join(wr[i], wi[i]);
    if (v)
        unpack_eigenvectors(n, wi, left, v);
    return RELN_OK;
}

RelnStatus reln_eig(RelnCtx *ctx, ptrdiff_t n, const double *a, double complex *w,
                    double complex *v)
{
    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "eigen-decomposition", n, n, 1, a));
    if (n == 0)
        return RELN_OK;
    reln_arena_init(&tmp, ctx);
    status = eig(&tmp, (int)n, a, w, v);
    reln_arena_clear(&tmp);
    return status;
}

static RelnStatus schur_real(RelnArena *tmp, int n, const double *a, double *t, double *z)
{
    const size_t square = (size_t)n * (size_t)n;
    const int query = -1;
    double *tt = reln_arena_alloc(tmp, square, sizeof *tt);
    double *zt = reln_arena_alloc(tmp, square, sizeof *zt);
    double *w = reln_arena_alloc(tmp, 2 * (size_t)n, sizeof *w);
    double *work = NULL, answer = 0;
    int info = 0, lwork = 0, sdim = 0;

    if (!tt || !zt || !w)
        return RELN_ERR_NOMEM;
    reln_mat_transpose(n, n, a, tt);
    dgees_("V", "N", NULL, &n, tt, &n, &sdim, w, w + n, zt, &n, &answer, &query, NULL, &info, 1, 1);
    lwork = length(answer);
    if (!(work = reln_arena_alloc(tmp, (size_t)lwork, sizeof *work)))
        return RELN_ERR_NOMEM;
    dgees_("V", "N", NULL, &n, tt, &n, &sdim, w, w + n, zt, &n, work, &lwork, NULL, &info, 1, 1);
    reln_mat_transpose(n, n, tt, t);
    reln_mat_transpose(n, n, zt, z);
    return converged(tmp->ctx, "schur form", n, n, info);
}

RelnStatus reln_schur_real(RelnCtx *ctx, ptrdiff_t n, const double *a, double *t, double *z)
{
    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "schur form", n, n, 1, a));
    if (n == 0)
        return RELN_OK;
    reln_arena_init(&tmp, ctx);
    status = schur_real(&tmp, (int)n, a, t, z);
    reln_arena_clear(&tmp);
    return status;
}

/* -- linear systems -------------------------------------------------------------------------- */

/* Scales the rows, then the columns, of a by powers of two (exact) so that their largest element is in [1/2,
 * 1). A badly scaled matrix is then not taken for a singular one. */
static void equilibrate(int n, double *a, int *row, int *column)
{
    for (int i = 0; i < n; i++) {
        double largest = 0;
        for (int j = 0; j < n; j++)
            largest = fmax(largest, fabs(a[(ptrdiff_t)i * n + j]));
        frexp(largest, &row[i]);
        for (int j = 0; j < n; j++)
            a[(ptrdiff_t)i * n + j] = ldexp(a[(ptrdiff_t)i * n + j], -row[i]);
    }
    for (int j = 0; j < n; j++) {
        double largest = 0;
        for (int i = 0; i < n; i++)
            largest = fmax(largest, fabs(a[(ptrdiff_t)i * n + j]));
        frexp(largest, &column[j]);
        for (int i = 0; i < n; i++)
            a[(ptrdiff_t)i * n + j] = ldexp(a[(ptrdiff_t)i * n + j], -column[j]);
    }
}

/* Returns the largest row sum of the row-major a, which is the 1-norm of the matrix that LAPACK sees. */
static double row_norm(int n, const double *a)
{
    double largest = 0;

    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += fabs(a[(ptrdiff_t)i * n + j]);
        largest = fmax(largest, sum);
    }
    return largest;
}

static RelnStatus factorise(RelnArena *tmp, int n, double *lu, int *pivot)
{
    const double norm = row_norm(n, lu);
    double *work = reln_arena_alloc(tmp, 4 * (size_t)n, sizeof *work), rcond = 0;
    int *iwork = reln_arena_alloc(tmp, (size_t)n, sizeof *iwork), info = 0;

    if (!work || !iwork)
        return RELN_ERR_NOMEM;
    dgetrf_(&n, &n, lu, &n, pivot, &info);
    if (info == 0)
        dgecon_("1", &n, lu, &n, &norm, &rcond, work, iwork, &info, 1);
    if (info != 0 || !(rcond >= DBL_EPSILON))
        return reln_fail(tmp->ctx, RELN_ERR_NUMERIC,
                         "a %dx%d matrix is singular to working precision (1/cond is %.1e)", n, n,
                         rcond);
    return RELN_OK;
}

/* Solves a x = b as (R a C)(C^-1 x) = R b; LAPACK holds the transpose of R a C, and right-hand sides in
 * columns. */
static RelnStatus solve(RelnArena *tmp, int n, int m, const double *a, const double *b, double *x)
{
    double *lu = reln_arena_copy(tmp, a, (size_t)n * (size_t)n, sizeof *lu);
    double *xt = reln_arena_alloc(tmp, (size_t)n * (size_t)m, sizeof *xt);
    int *scale = reln_arena_alloc(tmp, 2 * (size_t)n, sizeof *scale);
    int *pivot = reln_arena_alloc(tmp, (size_t)n, sizeof *pivot), info = 0;

    if (!lu || !xt || !scale || !pivot)
        return RELN_ERR_NOMEM;
    equilibrate(n, lu, scale, scale + n);
    RELN_TRY(factorise(tmp, n, lu, pivot));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            xt[(ptrdiff_t)j * n + i] = ldexp(b[(ptrdiff_t)i * m + j], -scale[i]);
    dgetrs_("T", &n, &m, lu, &n, pivot, xt, &n, &info, 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[(ptrdiff_t)i * m + j] = ldexp(xt[(ptrdiff_t)j * n + i], -scale[n + i]);
    return RELN_OK;
}

RelnStatus reln_solve(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t m, const double *a, const double *b,
                      double *x)
{
    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "linear system", n, n, 1, a));
    RELN_TRY(check(ctx, "right-hand side", n, m, 1, b));
    if (n == 0 || m == 0)
        return RELN_OK;
    reln_arena_init(&tmp, ctx);
    status = solve(&tmp, (int)n, (int)m, a, b, x);
    reln_arena_clear(&tmp);
    return status;
}

RelnStatus reln_inverse(RelnCtx *ctx, ptrdiff_t n, const double *a, double *inverse)
{
    RelnArena tmp;
    RelnStatus status = RELN_ERR_NOMEM;
    double *identity = NULL;

    RELN_TRY(check(ctx, "inverse", n, n, 1, a));
    reln_arena_init(&tmp, ctx);
    if ((identity = reln_arena_alloc(&tmp, (size_t)(n * n), sizeof *identity))) {
        reln_mat_identity(n, identity);
        status = reln_solve(ctx, n, n, a, identity, inverse);
    }
    reln_arena_clear(&tmp);
    return status;
}

/* X + iY acts on pairs of reals as [[X, -Y], [Y, X]], and so does its inverse. */
RelnStatus reln_inverse_complex(RelnCtx *ctx, ptrdiff_t n, const double complex *a,
                                double complex *inverse)
{
    const ptrdiff_t n2 = 2 * n;
    RelnStatus status = RELN_ERR_NOMEM;
    double *real = NULL;

    RELN_TRY(check(ctx, "inverse", n, n, 2, a));
    if (!(real = reln_alloc(ctx, (size_t)(n2 * n2), sizeof *real)))
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            const double complex x = a[i * n + j];
            real[i * n2 + j] = real[(n + i) * n2 + n + j] = creal(x);
            real[(n + i) * n2 + j] = cimag(x);
            real[i * n2 + n + j] = -cimag(x);
        }
    status = reln_inverse(ctx, n2, real, real);
    for (ptrdiff_t i = 0; status == RELN_OK && i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            inverse[i * n + j] = join(real[i * n2 + j], real[(n + i) * n2 + j]);
    reln_free(ctx, real);
    return status;
}

/* Scales variables by powers of two to variances in [1/2, 2), exactly: l holds D a D, and afterwards L = D^-1
 * (D L). */
static void scale_variables(int n, const double *a, int *d, double *l)
{
    for (int i = 0; i < n; i++) {
        frexp(a[(ptrdiff_t)i * n + i], &d[i]);
        d[i] /= 2;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            l[(ptrdiff_t)i * n + j] = ldexp(a[(ptrdiff_t)i * n + j], -d[i] - d[j]);
}

static void unscale_factor(int n, const int *d, double *l)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            l[(ptrdiff_t)i * n + j] = j > i ? 0 : ldexp(l[(ptrdiff_t)i * n + j], d[i]);
}

/* Row-major lower is column-major upper: a = UᵀU with U = Lᵀ. Rounding may let a semidefinite matrix pass;
 * the condition number, in variables of equal size, then detects it. */
static RelnStatus cholesky(RelnArena *tmp, int n, const double *a, double *l)
{
    double *work = reln_arena_alloc(tmp, 3 * (size_t)n, sizeof *work), norm = 0, rcond = 0;
    int *iwork = reln_arena_alloc(tmp, 2 * (size_t)n, sizeof *iwork), *d, info = 0;

    if (!work || !iwork)
        return RELN_ERR_NOMEM;
    d = iwork + n;
    scale_variables(n, a, d, l);
    norm = row_norm(n, l);
    dpotrf_("U", &n, l, &n, &info, 1);
    if (info != 0)
        return reln_fail(tmp->ctx, RELN_ERR_NUMERIC,
                         "a %dx%d matrix is not positive definite (leading minor %d)", n, n, info);
    dpocon_("U", &n, l, &n, &norm, &rcond, work, iwork, &info, 1);
    if (!(rcond > n * DBL_EPSILON))
        return reln_fail(tmp->ctx, RELN_ERR_NUMERIC,
                         "a %dx%d matrix is not positive definite to working precision (1/cond is "
                         "%.1e)",
                         n, n, rcond);
    unscale_factor(n, d, l);
    return RELN_OK;
}

RelnStatus reln_cholesky(RelnCtx *ctx, ptrdiff_t n, const double *a, double *l)
{
    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "cholesky factor", n, n, 1, a));
    if (n == 0)
        return RELN_OK;
    reln_arena_init(&tmp, ctx);
    status = cholesky(&tmp, (int)n, a, l);
    reln_arena_clear(&tmp);
    return status;
}
