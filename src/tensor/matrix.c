/* matrix.c -- exp, log, square root and symmetric functions of small real matrices. */
#include "reln/matrix.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/linalg.h"

typedef double complex Complex;
enum { MAX_SIZE = 8192 }; /* n * n stays an int */

static RelnStatus check(RelnCtx *ctx, const char *what, int n, const double *x)
{
    if (n < 0 || n > MAX_SIZE)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: size %d is outside 0..%d", what, n, MAX_SIZE);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n * n; i++)
        if (!isfinite(x[i]))
            return reln_fail(ctx, RELN_ERR_NUMERIC, "%s: element (%td,%td) is %g, not finite", what,
                             i / n, i % n, x[i]);
    return RELN_OK;
}

static RelnStatus finish(RelnCtx *ctx, const char *what, int n, const double *value, double *out)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n * n; i++)
        if (!isfinite(value[i]))
            return reln_fail(ctx, RELN_ERR_NUMERIC, "%s: the result overflows", what);
    memcpy(out, value, (size_t)n * (size_t)n * sizeof *out);
    return RELN_OK;
}

/* -- balancing ------------------------------------------------------------------------------- */

/* f(D B D^-1) = D f(B) D^-1: with D of powers of two this is exact, and B may have far smaller norm than X.
 * The scaling uses 2-norms that include the diagonal, so that rounding noise is not amplified. */
enum { SWEEPS = 64, LARGEST_SHIFT = 400 };

static void line_norms(int n, const double *b, int i, double *row, double *column)
{
    *row = *column = 0;
    for (int j = 0; j < n; j++) {
        *row = hypot(*row, b[i * n + j]);
        *column = hypot(*column, b[j * n + i]);
    }
}

static void scale_line(int n, double *b, int i, int shift)
{
    for (int j = 0; j < n; j++)
        if (j != i) {
            b[i * n + j] = ldexp(b[i * n + j], -shift);
            b[j * n + i] = ldexp(b[j * n + i], shift);
        }
}

/* b holds X on entry, B on return, with B_ij = 2^(d_j - d_i) X_ij. */
static void balance(int n, double *b, int *d)
{
    bool changed = true;

    for (int sweep = 0; changed && sweep < SWEEPS; sweep++) {
        changed = false;
        for (int i = 0; i < n; i++) {
            double row = 0, column = 0;
            int shift = 0;
            line_norms(n, b, i, &row, &column);
            if (row == 0 || column == 0)
                continue;
            shift = (int)lround((log2(row) - log2(column)) / 2);
            if (abs(d[i] + shift) > LARGEST_SHIFT ||
                !(ldexp(column, shift) + ldexp(row, -shift) < 0.95 * (column + row)))
                continue;
            scale_line(n, b, i, shift);
            d[i] += shift;
            changed = true;
        }
    }
}

static void unbalance(int n, const int *d, double *x)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i * n + j] = ldexp(x[i * n + j], d[i] - d[j]);
}

/* -- exponential ----------------------------------------------------------------------------- */

/* Largest 1-norm for which the [m/m] approximant is exact to double precision (Higham 2005, table 2.3). */
static const struct {
    int degree;
    double theta;
} approximants[] = {{3, 1.495585217958292e-2},
                    {5, 2.539398330063230e-1},
                    {7, 9.504178996162932e-1},
                    {9, 2.097847961257068},
                    {13, 5.371920351148152}};
enum { N_APPROXIMANTS = sizeof approximants / sizeof *approximants, MAX_DEGREE = 13 };

static double norm1(int n, const double *x)
{
    double largest = 0;

    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += fabs(x[i * n + j]);
        largest = fmax(largest, sum);
    }
    return largest;
}

typedef struct Pade {
    int n, degree;
    double c[MAX_DEGREE + 1]; /* numerator; the denominator is the numerator at -X */
    double *power[4];         /* X^2, X^4, X^6 in 1..3 */
    double *tmp;
} Pade;

/* c_j = (2m-j)! m! / ((2m)! j! (m-j)!), by the ratio of neighbours. */
static void set_coefficients(Pade *p)
{
    const int m = p->degree;

    p->c[0] = 1;
    for (int j = 1; j <= m; j++)
        p->c[j] = p->c[j - 1] * (m - j + 1) / ((2 * m - j + 1) * j);
}

/* out = sum over k in from..to of c[first + 2k] X^(2(k - shift)). */
static void add_powers(const Pade *p, int first, int from, int to, int shift, double *out)
{
    const int n = p->n;

    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int k = from; k <= to && first + 2 * k <= p->degree; k++)
        for (int i = 0; i < n * n; i++)
            out[i] += p->c[first + 2 * k] *
                      (k == shift ? (double)(i % (n + 1) == 0) : p->power[k - shift][i]);
}

/* The even part of the numerator (first = 0), or its odd part divided by X (first = 1):
 * X^6 (c_8 X^2 + c_10 X^4 + c_12 X^6) + (c_0 + c_2 X^2 + c_4 X^4 + c_6 X^6). */
static void even_polynomial(const Pade *p, int first, double *out, double *low)
{
    const int n = p->n;

    add_powers(p, first, 0, 3, 0, low);
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    if (first + 8 <= p->degree) {
        add_powers(p, first, 4, 6, 3, p->tmp);
        reln_mat_mul(n, n, n, p->power[3], p->tmp, out);
    }
    for (int i = 0; i < n * n; i++)
        out[i] += low[i];
}

/* r(X) = (V - U)^-1 (V + U), V the even and U the odd part of the numerator. */
static RelnStatus pade(RelnArena *tmp, int n, int degree, const double *x, double *out)
{
    Pade p = {.n = n, .degree = degree};
    const size_t count = (size_t)(n * n);
    double *block = reln_arena_alloc(tmp, 7 * count, sizeof *block);
    double *u = block, *v, *work;

    if (!block)
        return RELN_ERR_NOMEM;
    v = block + count;
    work = block + 2 * count;
    for (int k = 1; k < 4; k++)
        p.power[k] = block + (size_t)(2 + k) * count;
    p.tmp = block + 6 * count;
    set_coefficients(&p);
    reln_mat_mul(n, n, n, x, x, p.power[1]);
    if (degree >= 5)
        reln_mat_mul(n, n, n, p.power[1], p.power[1], p.power[2]);
    if (degree >= 7)
        reln_mat_mul(n, n, n, p.power[2], p.power[1], p.power[3]);
    even_polynomial(&p, 1, v, work);
    reln_mat_mul(n, n, n, x, v, u);
    even_polynomial(&p, 0, v, work);
    for (size_t i = 0; i < count; i++) {
        out[i] = v[i] + u[i];
        work[i] = v[i] - u[i];
    }
    return reln_solve(tmp->ctx, n, n, work, out, out);
}

/* exp(X) = r(X / 2^s)^(2^s). */
static RelnStatus exp_balanced(RelnArena *tmp, int n, double *x)
{
    const double norm = norm1(n, x);
    double *square = reln_arena_alloc(tmp, (size_t)(n * n), sizeof *square);
    int k = 0, s = 0;

    if (!square)
        return RELN_ERR_NOMEM;
    while (k < N_APPROXIMANTS - 1 && norm > approximants[k].theta)
        k++;
    if (norm > approximants[k].theta)
        frexp(norm / approximants[k].theta, &s);
    for (int i = 0; i < n * n; i++)
        x[i] = ldexp(x[i], -s);
    RELN_TRY(pade(tmp, n, approximants[k].degree, x, x));
    while (s-- > 0) {
        reln_mat_mul(n, n, n, x, x, square);
        memcpy(x, square, (size_t)(n * n) * sizeof *x);
    }
    return RELN_OK;
}

static RelnStatus exponential(RelnArena *tmp, int n, const double *x, double *out)
{
    double *b = reln_arena_copy(tmp, x, (size_t)(n * n), sizeof *b);
    int *d = reln_arena_alloc(tmp, (size_t)n, sizeof *d);

    if (!b || !d)
        return RELN_ERR_NOMEM;
    balance(n, b, d);
    RELN_TRY(exp_balanced(tmp, n, b));
    unbalance(n, d, b);
    return finish(tmp->ctx, "matrix exponential", n, b, out);
}

RelnStatus reln_matrix_exp(RelnCtx *ctx, int n, const double *x, double *out)
{
    RELN_NEED(ctx && x && out, reln_null(ctx, __func__));

    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "matrix exponential", n, x));
    reln_arena_init(&tmp, ctx);
    status = exponential(&tmp, n, x, out);
    reln_arena_clear(&tmp);
    return status;
}

/* -- logarithm and square root: functions of the triangular factor --------------------------- */

/* X = D Z T Zᴴ D^-1 with D balancing, Z unitary, T upper triangular; everything (n,n). Real eigenvalues of X are exactly
 * real on T's diagonal, so that all negative ones fall on the same side of the branch cut. */
typedef struct Triangular {
    int n;
    int *d;
    Complex *t, *z, *f, *work;
} Triangular;

static Complex join(double re, double im)
{
    return re + im * (Complex)I;
}

/* A block [[p, q], [r, p]], q r = -w^2, has eigenvalues p ± iw; U = [[q, iw], [iw, q]] / h is unitary and its first
 * column is the eigenvector of p + iw. T becomes Uᴴ T U, Z becomes Z U. */
static void split_block(Triangular *s, int k)
{
    const int n = s->n;
    const double q = creal(s->t[k * n + k + 1]), r = creal(s->t[(k + 1) * n + k]);
    const double p = creal(s->t[k * n + k]);
    const double w = sqrt(fabs(q)) * sqrt(fabs(r)), h = hypot(q, w);
    const Complex c = q / h, e = join(0, w / h);

    for (int i = 0; i < n; i++) {
        Complex *t = s->t + i * n + k, *z = s->z + i * n + k;
        const Complex t0 = t[0], z0 = z[0];
        t[0] = t0 * c + t[1] * e;
        t[1] = t0 * e + t[1] * c;
        z[0] = z0 * c + z[1] * e;
        z[1] = z0 * e + z[1] * c;
    }
    for (int j = 0; j < n; j++) {
        Complex *t = s->t + k * n + j;
        const Complex t0 = t[0];
        t[0] = t0 * c - t[n] * e;
        t[n] = t[n] * c - t0 * e;
    }
    s->t[k * n + k] = join(p, w);
    s->t[(k + 1) * n + k + 1] = join(p, -w);
    s->t[(k + 1) * n + k] = 0;
}

static RelnStatus triangularise(RelnArena *tmp, int n, const double *x, Triangular *s)
{
    const size_t count = (size_t)(n * n);
    double *b = reln_arena_copy(tmp, x, count, sizeof *b);
    double *block = reln_arena_alloc(tmp, 2 * count, sizeof *block);
    Complex *complex_block = reln_arena_alloc(tmp, 4 * count, sizeof *complex_block);

    s->n = n;
    s->d = reln_arena_alloc(tmp, (size_t)n, sizeof *s->d);
    if (!b || !block || !complex_block || !s->d)
        return RELN_ERR_NOMEM;
    s->t = complex_block;
    s->z = complex_block + count;
    s->f = complex_block + 2 * count;
    s->work = complex_block + 3 * count;
    balance(n, b, s->d);
    RELN_TRY(reln_schur_real(tmp->ctx, n, b, block, block + count));
    for (size_t i = 0; i < count; i++) {
        s->t[i] = block[i];
        s->z[i] = block[count + i];
    }
    for (int k = 0; k + 1 < n; k++)
        if (s->t[(k + 1) * n + k] != 0)
            split_block(s, k);
    return RELN_OK;
}

/* out = Re(D Z F Zᴴ D^-1), F upper triangular; *imaginary is the largest imaginary part left out, before D. */
static void transform_back(const Triangular *s, double *out, double *imaginary)
{
    const int n = s->n;

    *imaginary = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s->work[i * n + j] = 0;
            for (int k = 0; k <= j; k++)
                s->work[i * n + j] += s->z[i * n + k] * s->f[k * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            Complex sum = 0;
            for (int k = 0; k < n; k++)
                sum += s->work[i * n + k] * conj(s->z[j * n + k]);
            out[i * n + j] = creal(sum);
            *imaginary = fmax(*imaginary, fabs(cimag(sum)));
        }
    unbalance(n, s->d, out);
}

static double complex_norm1(int n, const Complex *x)
{
    double largest = 0;

    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i <= j; i++)
            sum += cabs(x[i * n + j]);
        largest = fmax(largest, sum);
    }
    return largest;
}

/* In place, with I + R = (I + Q)^2: 2 Q + Q^2 = R. root_i is the square root of 1 + r_i. It is stored
 * separately because 1 + q_i loses digits when the eigenvalue is tiny, while q_i = r_i / (1 + root_i) loses
 * none. The loop goes column by column, upwards. */
static void root_of_one_plus(int n, Complex *r, const Complex *root)
{
    for (int j = 0; j < n; j++) {
        r[j * n + j] /= 1 + root[j];
        for (int i = j - 1; i >= 0; i--) {
            for (int k = i + 1; k < j; k++)
                r[i * n + j] -= r[i * n + k] * r[k * n + j];
            r[i * n + j] /= root[i] + root[j];
        }
    }
}

/* Gauss-Legendre on [0, 1], seven points: sum_j w_j R (I + x_j R)^-1 is the [7/7] Padé approximant of log(I + R), exact
 * to double precision for norms up to 0.264 (Higham 2008, table 11.1). */
enum { N_NODES = 7 };
static const double log_radius = 0.264;
static const double nodes[N_NODES] = {
    -0.9491079123427585245, -0.7415311855993944399, -0.4058451513773971669, 0,
    0.4058451513773971669,  0.7415311855993944399,  0.9491079123427585245};
static const double weights[N_NODES] = {
    0.1294849661688696933, 0.2797053914892766679, 0.3818300505051189449, 0.4179591836734693878,
    0.3818300505051189449, 0.2797053914892766679, 0.1294849661688696933};

/* Adds w (I + x R)^-1 R to f: back substitution in the upper triangle. */
static void add_resolvent(int n, double x, double w, const Complex *r, Complex *y, Complex *f)
{
    for (int j = 0; j < n; j++)
        for (int i = j; i >= 0; i--) {
            Complex sum = r[i * n + j];
            for (int k = i + 1; k <= j; k++)
                sum -= x * r[i * n + k] * y[k * n + j];
            y[i * n + j] = sum / (1 + x * r[i * n + i]);
            f[i * n + j] += w * y[i * n + j];
        }
}

/* Inverse scaling and squaring: log T = 2^k log(T^(1/2^k)). T is overwritten. The diagonal of the logarithm
 * is computed directly, which is more accurate. */
static RelnStatus log_triangular(RelnArena *tmp, Triangular *s)
{
    enum { MOST_ROOTS = 2200 }; /* halving brings any finite norm below the radius sooner */
    const int n = s->n;
    Complex *root = reln_arena_alloc(tmp, 2 * (size_t)n, sizeof *root), *value;
    int k = 0;

    if (!root)
        return RELN_ERR_NOMEM;
    value = root + n;
    for (int i = 0; i < n; i++) {
        root[i] = s->t[i * n + i];
        value[i] = clog(root[i]);
        s->t[i * n + i] -= 1;
    }
    for (; k < MOST_ROOTS && !(complex_norm1(n, s->t) <= log_radius); k++) {
        for (int i = 0; i < n; i++)
            root[i] = csqrt(root[i]);
        root_of_one_plus(n, s->t, root);
    }
    memset(s->f, 0, (size_t)(n * n) * sizeof *s->f);
    for (int j = 0; j < N_NODES; j++)
        add_resolvent(n, (1 + nodes[j]) / 2, weights[j] / 2, s->t, s->work, s->f);
    for (int i = 0; i < n * n; i++)
        s->f[i] = i % (n + 1) == 0 ? value[i / n]
                                   : join(ldexp(creal(s->f[i]), k), ldexp(cimag(s->f[i]), k));
    return RELN_OK;
}

/* Refuses real negative eigenvalues, where the principal value is not real. */
static RelnStatus check_cut(RelnCtx *ctx, const char *what, const Triangular *s)
{
    for (int i = 0; i < s->n; i++) {
        const Complex w = s->t[i * s->n + i];
        if (cimag(w) == 0 && creal(w) < 0)
            return reln_fail(ctx, RELN_ERR_NUMERIC,
                             "%s: eigenvalue %.6g is real and negative, so that there is no real "
                             "principal value",
                             what, creal(w));
    }
    return RELN_OK;
}

static RelnStatus check_real(RelnCtx *ctx, const char *what, int n, const double *x,
                             double imaginary)
{
    const double scale = fmax(1, reln_mat_norm((ptrdiff_t)n * n, x));

    if (imaginary <= sqrt(DBL_EPSILON) * scale)
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_NUMERIC,
                     "%s: the result should be real but has an imaginary part of %.1e", what,
                     imaginary);
}

static RelnStatus logarithm(RelnArena *tmp, int n, const double *x, bool principal, double *out)
{
    const char *what = "matrix logarithm";
    double *value = reln_arena_alloc(tmp, (size_t)(n * n), sizeof *value), imaginary = 0;
    Triangular s = {0};

    if (!value)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_inverse(tmp->ctx, n, x, value)); /* only to refuse singular matrices */
    RELN_TRY(triangularise(tmp, n, x, &s));
    if (principal)
        RELN_TRY(check_cut(tmp->ctx, what, &s));
    RELN_TRY(log_triangular(tmp, &s));
    transform_back(&s, value, &imaginary);
    if (principal)
        RELN_TRY(check_real(tmp->ctx, what, n, value, imaginary));
    return finish(tmp->ctx, what, n, value, out);
}

static RelnStatus log_in_arena(RelnCtx *ctx, int n, const double *x, bool principal, double *out)
{
    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "matrix logarithm", n, x));
    reln_arena_init(&tmp, ctx);
    status = logarithm(&tmp, n, x, principal, out);
    reln_arena_clear(&tmp);
    return status;
}

RelnStatus reln_matrix_log(RelnCtx *ctx, int n, const double *x, double *out)
{
    RELN_NEED(ctx && x && out, reln_null(ctx, __func__));

    return log_in_arena(ctx, n, x, true, out);
}

RelnStatus reln_matrix_log_real(RelnCtx *ctx, int n, const double *x, double *out)
{
    RELN_NEED(ctx && x && out, reln_null(ctx, __func__));

    return log_in_arena(ctx, n, x, false, out);
}

/* F^2 = T, F upper triangular: (f_i + f_j) f_ij = t_ij - sum f_ik f_kj. If f_i = f_j = 0, the right side must
 * vanish. */
static RelnStatus sqrt_triangular(RelnCtx *ctx, Triangular *s)
{
    const int n = s->n;

    memset(s->f, 0, (size_t)(n * n) * sizeof *s->f);
    for (int j = 0; j < n; j++) {
        s->f[j * n + j] = csqrt(s->t[j * n + j]);
        for (int i = j - 1; i >= 0; i--) {
            const Complex sum = s->f[i * n + i] + s->f[j * n + j];
            Complex rest = s->t[i * n + j];
            for (int k = i + 1; k < j; k++)
                rest -= s->f[i * n + k] * s->f[k * n + j];
            if (sum == 0 && rest != 0)
                return reln_fail(ctx, RELN_ERR_NUMERIC,
                                 "matrix square root: the eigenvalue 0 has a jordan block, so that "
                                 "there is none");
            s->f[i * n + j] = sum == 0 ? 0 : rest / sum;
        }
    }
    return RELN_OK;
}

static RelnStatus square_root(RelnArena *tmp, int n, const double *x, double *out)
{
    const char *what = "matrix square root";
    double *value = reln_arena_alloc(tmp, (size_t)(n * n), sizeof *value), imaginary = 0;
    Triangular s = {0};

    if (!value)
        return RELN_ERR_NOMEM;
    RELN_TRY(triangularise(tmp, n, x, &s));
    RELN_TRY(check_cut(tmp->ctx, what, &s));
    RELN_TRY(sqrt_triangular(tmp->ctx, &s));
    transform_back(&s, value, &imaginary);
    RELN_TRY(check_real(tmp->ctx, what, n, value, imaginary));
    return finish(tmp->ctx, what, n, value, out);
}

RelnStatus reln_matrix_sqrt(RelnCtx *ctx, int n, const double *x, double *out)
{
    RELN_NEED(ctx && x && out, reln_null(ctx, __func__));

    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "matrix square root", n, x));
    reln_arena_init(&tmp, ctx);
    status = square_root(&tmp, n, x, out);
    reln_arena_clear(&tmp);
    return status;
}

/* -- symmetric matrices ---------------------------------------------------------------------- */

/* V diag(w) Vᵀ, exactly symmetric. */
static void compose(int n, const double *v, const double *w, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += v[i * n + k] * w[k] * v[j * n + k];
            out[i * n + j] = out[j * n + i] = sum;
        }
}

static RelnStatus apply(RelnCtx *ctx, int n, double (*f)(double), double *w)
{
    for (int i = 0; i < n; i++) {
        const double value = f(w[i]);
        if (!isfinite(value))
            return reln_fail(ctx, RELN_ERR_NUMERIC,
                             "symmetric matrix function: its value at the eigenvalue %.6g is %g",
                             w[i], value);
        w[i] = value;
    }
    return RELN_OK;
}

/* Refuses a semidefinite matrix: its smallest eigenvalue is rounding noise, and so would its logarithm be. */
static RelnStatus check_definite(RelnCtx *ctx, int n, const double *a, double smallest,
                                 double *work)
{
    const RelnStatus status = reln_cholesky(ctx, n, a, work);

    if (status != RELN_ERR_NUMERIC && (n == 0 || smallest > 0))
        return status;
    return reln_fail(ctx, RELN_ERR_NUMERIC,
                     "a %dx%d matrix is not positive definite: its smallest eigenvalue is %.6g", n,
                     n, smallest);
}

/* f = NULL means the logarithm, whose domain is checked first. */
static RelnStatus symmetric(RelnArena *tmp, int n, const double *x, double (*f)(double),
                            double *out)
{
    double *a = reln_arena_alloc(tmp, (size_t)(n * n), sizeof *a);
    double *v = reln_arena_alloc(tmp, (size_t)(n * n), sizeof *v);
    double *w = reln_arena_alloc(tmp, (size_t)n + 1, sizeof *w);
    double *work = reln_arena_alloc(tmp, (size_t)(n * n), sizeof *work);

    if (!a || !v || !w || !work)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = 0.5 * x[i * n + j] + 0.5 * x[j * n + i];
    RELN_TRY(reln_eigh(tmp->ctx, n, a, w, v));
    if (!f)
        RELN_TRY(check_definite(tmp->ctx, n, a, w[0], work));
    RELN_TRY(apply(tmp->ctx, n, f ? f : log, w));
    compose(n, v, w, out);
    return RELN_OK;
}

static RelnStatus sym_in_arena(RelnCtx *ctx, int n, const double *x, double (*f)(double),
                               double *out)
{
    RelnArena tmp;
    RelnStatus status = RELN_OK;

    RELN_TRY(check(ctx, "symmetric matrix function", n, x));
    reln_arena_init(&tmp, ctx);
    status = symmetric(&tmp, n, x, f, out);
    reln_arena_clear(&tmp);
    return status;
}

RelnStatus reln_matrix_sym(RelnCtx *ctx, int n, const double *x, double (*f)(double), double *out)
{
    RELN_NEED(ctx && x && out, reln_null(ctx, __func__));

    if (!f)
        return reln_fail(ctx, RELN_ERR_ARG, "symmetric matrix function: no function given");
    return sym_in_arena(ctx, n, x, f, out);
}

RelnStatus reln_matrix_log_spd(RelnCtx *ctx, int n, const double *x, double *out)
{
    RELN_NEED(ctx && x && out, reln_null(ctx, __func__));

    return sym_in_arena(ctx, n, x, NULL, out);
}
