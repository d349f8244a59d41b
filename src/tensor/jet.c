/* jet.c -- see jet.h. */
#include "tensor/jet.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A Ring holds the sizes of the ring in use and memory for its elements. */
typedef struct Ring {
    int n, order;
    ptrdiff_t square, count; /* numbers in a matrix, and in a jet */
    int subsets;
    double *pool[7];
} Ring;

enum { POOL = sizeof((Ring *)0)->pool / sizeof *((Ring *)0)->pool };

ptrdiff_t reln_jet_count(int n, int order)
{
    return ((ptrdiff_t)n * n) << order;
}

ptrdiff_t reln_jet_room(int n, int order)
{
    const ptrdiff_t real = POOL * reln_jet_count(n, order), schur = reln_schur_room(n, order);

    return real > schur ? real : schur;
}

static Ring ring_of(int n, int order, double *scratch)
{
    Ring r = {.n = n,
              .order = order,
              .square = (ptrdiff_t)n * n,
              .count = reln_jet_count(n, order),
              .subsets = 1 << order};

    for (int i = 0; i < POOL; i++)
        r.pool[i] = scratch + i * r.count;
    return r;
}

/* ---- matrices ------------------------------------------------------------------------------------------------- */

static void multiply_add(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const double x = a[i * n + k];
            for (int j = 0; j < n; j++)
                c[i * n + j] += x * b[k * n + j];
        }
}

static double norm1(int n, const double *a)
{
    double largest = 0;

    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += fabs(a[i * n + j]);
        largest = sum > largest || sum != sum ? sum : largest;
    }
    return largest;
}

static void swap_rows(int n, double *a, int i, int j)
{
    for (int k = 0; k < n && i != j; k++) {
        const double x = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = x;
    }
}

/* Inverts a by Gauss-Jordan elimination with partial pivoting; a is overwritten. Returns false when a is
 * singular. *log_det is log |det a|. */
static bool invert(int n, double *a, double *inverse, double *log_det)
{
    for (int i = 0; i < n * n; i++)
        inverse[i] = i % (n + 1) == 0;
    *log_det = 0;
    for (int c = 0; c < n; c++) {
        int pivot = c;
        double scale;

        for (int r = c + 1; r < n; r++)
            pivot = fabs(a[r * n + c]) > fabs(a[pivot * n + c]) ? r : pivot;
        swap_rows(n, a, c, pivot);
        swap_rows(n, inverse, c, pivot);
        if (!(fabs(a[c * n + c]) > 0) || !isfinite(a[c * n + c]))
            return false;
        *log_det += log(fabs(a[c * n + c]));
        scale = 1 / a[c * n + c];
        for (int k = 0; k < n; k++) {
            a[c * n + k] *= scale;
            inverse[c * n + k] *= scale;
        }
        for (int r = 0; r < n; r++) {
            const double x = a[r * n + c];
            for (int k = 0; k < n && r != c; k++) {
                a[r * n + k] -= x * a[c * n + k];
                inverse[r * n + k] -= x * inverse[c * n + k];
            }
        }
    }
    return isfinite(*log_det);
}

/* ---- the ring of jets ----------------------------------------------------------------------------------------- */

/* (ab)_S = sum over T in S of a_T b_(S without T); c is neither a nor b. */
static void multiply(const Ring *r, const double *a, const double *b, double *c)
{
    memset(c, 0, (size_t)r->count * sizeof *c);
    for (int s = 0; s < r->subsets; s++)
        for (int t = s;; t = (t - 1) & s) {
            multiply_add(r->n, a + t * r->square, b + (s ^ t) * r->square, c + s * r->square);
            if (t == 0)
                break;
        }
}

/* a b = 1, subset by subset: b_S = - b_0 (sum over non-empty T in S of a_T b_(S without T)). tmp: a matrix. */
static bool inverse(const Ring *r, const double *a, double *b, double *tmp, double *log_det)
{
    memcpy(tmp, a, (size_t)r->square * sizeof *tmp);
    if (!invert(r->n, tmp, b, log_det))
        return false;
    for (int s = 1; s < r->subsets; s++) {
        memset(tmp, 0, (size_t)r->square * sizeof *tmp);
        for (int t = s; t != 0; t = (t - 1) & s)
            multiply_add(r->n, a + t * r->square, b + (s ^ t) * r->square, tmp);
        for (ptrdiff_t i = 0; i < r->square; i++)
            tmp[i] = -tmp[i];
        memset(b + s * r->square, 0, (size_t)r->square * sizeof *b);
        multiply_add(r->n, b, tmp, b + s * r->square);
    }
    return true;
}

static void copy(const Ring *r, const double *a, double *b)
{
    memcpy(b, a, (size_t)r->count * sizeof *b);
}

/* y = alpha x */
static void scaled(const Ring *r, double alpha, const double *x, double *y)
{
    for (ptrdiff_t i = 0; i < r->count; i++)
        y[i] = alpha * x[i];
}

/* y += alpha x */
static void add(const Ring *r, double alpha, const double *x, double *y)
{
    for (ptrdiff_t i = 0; i < r->count; i++)
        y[i] += alpha * x[i];
}

/* y += alpha 1 */
static void add_one(const Ring *r, double alpha, double *y)
{
    for (int i = 0; i < r->n; i++)
        y[i * (r->n + 1)] += alpha;
}

/* ---- exponential ---------------------------------------------------------------------------------------------- */

/* [7/7] Padé: c_j = (14-j)! 7! / (14! j! (7-j)!), times 14!/7!; exact to double precision up to this 1-norm of the
 * argument, derivatives included (Higham 2005, table 2.3; Al-Mohy and Higham 2009, table 6.1). */
static const double pade[8] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
static const double pade_bound = 0.783;

/* exp(X) = r(X / 2^s)^(2^s), r = (V - U)^-1 (V + U), U the odd and V the even terms. */
static const char *exponential(const Ring *r, double *x)
{
    double norm = 0, unused;
    double *x2 = r->pool[0], *x4 = r->pool[1], *x6 = r->pool[2], *u = r->pool[3], *v = r->pool[4];
    double *w = r->pool[5], *tmp = r->pool[6];
    int s = 0;

    for (int k = 0; k <= r->order; k++)
        norm += norm1(r->n, x + (k ? ((ptrdiff_t)1 << (k - 1)) * r->square : 0));
    if (norm > pade_bound)
        frexp(norm / pade_bound, &s);
    scaled(r, ldexp(1, -s), x, x);
    multiply(r, x, x, x2);
    multiply(r, x2, x2, x4);
    multiply(r, x4, x2, x6);
    scaled(r, pade[7], x6, w);
    add(r, pade[5], x4, w);
    add(r, pade[3], x2, w);
    add_one(r, pade[1], w);
    multiply(r, x, w, u);
    scaled(r, pade[6], x6, v);
    add(r, pade[4], x4, v);
    add(r, pade[2], x2, v);
    add_one(r, pade[0], v);
    scaled(r, -1, u, w);
    add(r, 1, v, w); /* V - U */
    add(r, 1, u, v); /* V + U */
    if (!inverse(r, w, x2, tmp, &unused))
        return "the argument is too large";
    multiply(r, x2, v, x);
    for (; s > 0; s--) {
        multiply(r, x, x, x2);
        copy(r, x2, x);
    }
    return NULL;
}

/* ---- logarithm and square root -------------------------------------------------------------------------------- */

/* log X = log(2^-k X) + k log 2 and X^1/2 = 2^(k/2) (2^-k X)^1/2, with 2^k near |det X|^(1/n) and k even. */
static const char *log_or_root(const Ring *r, RelnMatFun f, double *x)
{
    double *last = x + r->count - r->square, log_det;
    const char *why;
    int k;

    memcpy(r->pool[0], x, (size_t)r->square * sizeof *x);
    if (!invert(r->n, r->pool[0], r->pool[1], &log_det))
        return "it is singular";
    k = 2 * (int)lround(log_det / (2 * r->n * log(2.0)));
    scaled(r, ldexp(1, -k), x, x);
    why = reln_schur_apply(f, r->n, r->order, x, r->pool[0]);
    for (ptrdiff_t i = 0; i < r->square && !why && f == RELN_MATFUN_SQRT; i++)
        last[i] = ldexp(last[i], k / 2);
    for (int i = 0; i < r->n && !why && f == RELN_MATFUN_LOG && r->order == 0; i++)
        last[i * (r->n + 1)] += k * log(2.0);
    return why;
}

/* ---- choice of the function ----------------------------------------------------------------------------------- */

static double *direction(const Ring *r, double *x, int i)
{
    return x + ((ptrdiff_t)1 << i) * r->square;
}

/* Scales the directions to the size of A (for exp at least 1, because A may be 0) by powers of two, which is
 * possible because the derivative is linear in each direction. Returns the exponent by which the result is to
 * be scaled back. */
static int balance(const Ring *r, double *x, double size)
{
    int total = 0;

    for (int i = 0; i < r->order; i++) {
        double *e = direction(r, x, i);
        const double norm = norm1(r->n, e);
        int shift = 0;

        if (norm > 0)
            frexp(norm / size, &shift);
        for (ptrdiff_t j = 0; j < r->square; j++)
            e[j] = ldexp(e[j], -shift);
        total += shift;
    }
    for (int s = 1; s < r->subsets; s++)
        if (s & (s - 1))
            memset(x + s * r->square, 0, (size_t)r->square * sizeof *x);
    return total;
}

static const char *apply(const Ring *r, RelnMatFun f, double *x)
{
    double unused;

    switch (f) {
    case RELN_MATFUN_EXP:
        return exponential(r, x);
    case RELN_MATFUN_LOG:
    case RELN_MATFUN_SQRT:
        return log_or_root(r, f, x);
    case RELN_MATFUN_INVERSE:
        if (!inverse(r, x, r->pool[0], r->pool[1], &unused))
            return "it is singular";
        copy(r, r->pool[0], x);
        return NULL;
    case RELN_MATFUN_COUNT:
        break;
    }
    return "no such function";
}

const char *reln_jet_apply(RelnMatFun f, int n, int order, double *x, double *out, double *scratch)
{
    const Ring r = ring_of(n, order, scratch);
    const double norm = norm1(n, x);
    const int shift = balance(&r, x, f == RELN_MATFUN_EXP ? fmax(1, norm) : norm);
    const char *why = norm > 0 || f == RELN_MATFUN_EXP ? apply(&r, f, x) : "it is 0";

    for (ptrdiff_t i = 0; i < r.square && !why; i++) {
        out[i] = ldexp(x[r.count - r.square + i], shift);
        if (!isfinite(out[i]))
            why = "the result overflows";
    }
    return why;
}

/* ---- symmetric matrices --------------------------------------------------------------------------------------- */

/* Makes a_pq 0 by one rotation of rows and columns p < q: t = tan of the angle, the smaller root of t^2 + 2 t
 * cot 2phi = 1. */
static void rotate(int n, double *a, double *v, int p, int q)
{
    const double apq = a[p * n + q], theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(1, theta));
    const double c = 1 / hypot(1, t), s = t * c;

    for (int i = 0; i < n; i++) {
        const double x = a[i * n + p], y = a[i * n + q], vx = v[i * n + p], vy = v[i * n + q];
        a[i * n + p] = c * x - s * y;
        a[i * n + q] = s * x + c * y;
        v[i * n + p] = c * vx - s * vy;
        v[i * n + q] = s * vx + c * vy;
    }
    for (int i = 0; i < n; i++) {
        const double x = a[p * n + i], y = a[q * n + i];
        a[p * n + i] = c * x - s * y;
        a[q * n + i] = s * x + c * y;
    }
    a[p * n + q] = a[q * n + p] = 0;
}

/* Makes a diagonal; v receives its eigenvectors in columns. The off-diagonal elements converge to 0
 * quadratically; elements too small to change a diagonal element count as 0. */
static void jacobi(int n, double *a, double *v)
{
    enum { SWEEPS = 30 };
    bool changed = true;

    for (int i = 0; i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    for (int sweep = 0; changed && sweep < SWEEPS; sweep++) {
        changed = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                const double x = fabs(a[p * n + q]);
                if (x == 0)
                    continue;
                if (x <= 0.25 * DBL_EPSILON * fabs(a[p * n + p]) &&
                    x <= 0.25 * DBL_EPSILON * fabs(a[q * n + q])) {
                    a[p * n + q] = a[q * n + p] = 0;
                    continue;
                }
                rotate(n, a, v, p, q);
                changed = true;
            }
    }
}

/* Applies f to the eigenvalues. They have rounding errors relative to the largest one, so an eigenvalue below
 * n eps of it counts as 0. */
static bool on_eigenvalues(RelnMatFun f, int n, const double *a, double *w, double *bad)
{
    double noise = 0;

    for (int i = 0; i < n; i++)
        noise = fmax(noise, n * DBL_EPSILON * fabs(a[i * (n + 1)]));
    for (int i = 0; i < n; i++) {
        const double x = a[i * (n + 1)];

        *bad = x;
        if ((f == RELN_MATFUN_LOG && !(x > noise)) || (f == RELN_MATFUN_SQRT && !(x >= -noise)))
            return false;
        w[i] = f == RELN_MATFUN_EXP ? exp(x) : f == RELN_MATFUN_LOG ? log(x) : sqrt(fmax(x, 0));
    }
    return true;
}

const char *reln_sym_apply(RelnMatFun f, int n, double *x, double *out, double *scratch,
                           double *bad)
{
    double *v = scratch, *w = scratch + (ptrdiff_t)n * n;

    jacobi(n, x, v);
    if (!on_eigenvalues(f, n, x, w, bad))
        return f == RELN_MATFUN_LOG ? "an eigenvalue is not positive" : "an eigenvalue is negative";
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += v[i * n + k] * w[k] * v[j * n + k];
            out[i * n + j] = sum;
            if (!isfinite(sum))
                return "the result overflows";
        }
    return NULL;
}
