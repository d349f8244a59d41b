/* schur.c -- logarithm and square root of jets, in the basis where the matrix itself is triangular.
 *
 * With A = Z T Z^H, Z unitary and T upper triangular, Y^2 = X is solved subset by subset: Y_0 by columns, and every other
 * Y_S from Y_0 Y_S + Y_S Y_0 = (terms already known), by substitution. The divisors are sums of two square roots of
 * eigenvalues, which lie to the right of the imaginary axis, so no difference of eigenvalues occurs. Near the negative axis,
 * where two roots nearly cancel, the error is that of the function itself: eps times its condition number.
 */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/jet.h"

typedef double complex Complex;

/* A Ring holds the sizes of the ring in use and memory for its elements. */
typedef struct Ring {
    int n;
    ptrdiff_t square, count; /* numbers in a matrix, and in a jet */
    int subsets;
    Complex *z, *spare; /* (n, n): Z, and a scratch matrix */
    Complex *pool[9];
} Ring;

enum { POOL = sizeof((Ring *)0)->pool / sizeof *((Ring *)0)->pool };

static const char *const cut =
    "an eigenvalue is 0 or on the negative axis, or too near for double precision";

ptrdiff_t reln_schur_room(int n, int order)
{
    return 2 * (POOL * reln_jet_count(n, order) + 2 * (ptrdiff_t)n * n);
}

static Ring ring_of(int n, int order, double *scratch)
{
    Ring r = {.n = n,
              .square = (ptrdiff_t)n * n,
              .count = reln_jet_count(n, order),
              .subsets = 1 << order,
              .z = (Complex *)scratch};

    r.spare = r.z + r.square;
    for (int i = 0; i < POOL; i++)
        r.pool[i] = r.spare + r.square + i * r.count;
    return r;
}

static Complex join(double re, double im)
{
    return re + im * (Complex)I;
}

/* a b without the special handling of infinities that C requires. */
static Complex times(Complex a, Complex b)
{
    return join(creal(a) * creal(b) - cimag(a) * cimag(b),
                creal(a) * cimag(b) + cimag(a) * creal(b));
}

static double square_of(Complex a)
{
    return creal(a) * creal(a) + cimag(a) * cimag(a);
}

/* ---- triangular form ------------------------------------------------------------------------------------------ */

/* Makes the columns of t zero below the subdiagonal by Householder reflections 1 - 2 v v^H / |v|^2, and keeps
 * t = z^H a z. */
static void to_hessenberg(int n, Complex *t, Complex *z)
{
    Complex v[RELN_JET_SIZE];

    for (int k = 0; k + 2 < n; k++) {
        double norm = 0, size = 0;
        for (int i = k + 1; i < n; i++)
            norm += square_of(v[i] = t[i * n + k]);
        norm = sqrt(norm);
        if (norm == 0)
            continue;
        v[k + 1] += v[k + 1] == 0 ? norm : norm / cabs(v[k + 1]) * v[k + 1];
        for (int i = k + 1; i < n; i++)
            size += square_of(v[i]);
        for (int j = 0; j < n; j++) {
            Complex left = 0, basis = 0;
            for (int i = k + 1; i < n; i++)
                left += times(conj(v[i]), t[i * n + j]);
            for (int i = k + 1; i < n; i++)
                t[i * n + j] -= times(2 / size * left, v[i]);
            for (int i = k + 1; i < n; i++)
                basis += times(z[j * n + i], v[i]);
            for (int i = k + 1; i < n; i++)
                z[j * n + i] -= times(2 / size * basis, conj(v[i]));
        }
        for (int j = 0; j < n; j++) {
            Complex right = 0;
            for (int i = k + 1; i < n; i++)
                right += times(t[j * n + i], v[i]);
            for (int i = k + 1; i < n; i++)
                t[j * n + i] -= times(2 / size * right, conj(v[i]));
        }
    }
}

/* Rotates lines p and p + 1 of m (n, n), which lie `across` apart and have steps `along`: (x, y) -> (c x + s
 * y, -conj(s) x + c y). */
static void rotate(int n, Complex *m, ptrdiff_t across, ptrdiff_t along, double c, Complex s)
{
    for (int i = 0; i < n; i++, m += along) {
        const Complex x = m[0], y = m[across];
        m[0] = c * x + times(s, y);
        m[across] = c * y - times(conj(s), x);
    }
}

/* Returns the eigenvalue, nearer to the corner, of the 2 x 2 block that ends with line hi. */
static Complex shift_of(int n, const Complex *t, int hi)
{
    const Complex a = t[(hi - 1) * n + hi - 1], d = t[hi * n + hi];
    const Complex bc = times(t[(hi - 1) * n + hi], t[hi * n + hi - 1]), half = (a - d) / 2;
    const Complex root = csqrt(times(half, half) + bc);
    const Complex far = creal(times(conj(half), root)) < 0 ? half - root : half + root;

    return far == 0 ? d : d - bc / far;
}

/* One step of the QR iteration on lines lo..hi: t - s = Q R becomes R Q + s. */
static void qr_step(int n, Complex *t, Complex *z, int lo, int hi, Complex shift)
{
    double c[RELN_JET_SIZE];
    Complex s[RELN_JET_SIZE];

    for (int i = 0; i < n; i++)
        t[i * n + i] -= shift;
    for (int k = lo; k < hi; k++) {
        const Complex x = t[k * n + k], y = t[(k + 1) * n + k];
        const double size = sqrt(square_of(x) + square_of(y)), part = cabs(x);
        c[k] = part / size;
        s[k] = part == 0 ? conj(y) / size : times(x / part, conj(y)) / size;
        rotate(n, t + k * n, n, 1, c[k], s[k]);
        t[(k + 1) * n + k] = 0;
    }
    for (int k = lo; k < hi; k++) {
        rotate(n, t + k, 1, n, c[k], conj(s[k]));
        rotate(n, z + k, 1, n, c[k], conj(s[k]));
    }
    for (int i = 0; i < n; i++)
        t[i * n + i] += shift;
}

/* Turns a (n, n), in t, into T, and z into Z. Returns false when the iteration does not converge, which
 * happens for numbers that are not finite. */
static bool triangularise(int n, Complex *t, Complex *z)
{
    enum { MOST = 60 };
    double norm = 0;

    for (int i = 0; i < n * n; i++) {
        z[i] = i % (n + 1) == 0;
        norm += square_of(t[i]);
    }
    norm = sqrt(norm);
    to_hessenberg(n, t, z);
    for (int hi = n - 1, steps = 0; hi > 0;) {
        int lo = hi;
        for (; lo > 0; lo--) {
            const double near = cabs(t[(lo - 1) * n + lo - 1]) + cabs(t[lo * n + lo]);
            if (cabs(t[lo * n + lo - 1]) <= DBL_EPSILON / 2 * (near > 0 ? near : norm))
                break;
        }
        if (lo > 0)
            t[lo * n + lo - 1] = 0;
        if (lo == hi) {
            hi--;
            steps = 0;
        } else if (steps++ == MOST) {
            return false;
        } else { /* every so often an arbitrary shift, in case the iteration cycles */
            qr_step(n, t, z, lo, hi, steps % 11 ? shift_of(n, t, hi) : t[hi * n + hi] + norm);
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            t[i * n + j] = 0;
    return true;
}

/* Eigenvalues are known to n eps |A|. Within a thousand times that distance of the negative axis, fewer than
 * three digits would be left. */
static bool off_the_cut(int n, const Complex *t)
{
    double norm = 0;

    for (int i = 0; i < n * n; i++)
        norm += square_of(t[i]);
    for (int i = 0; i < n; i++) {
        const Complex w = t[i * (n + 1)];
        if (w == 0 || (!(creal(w) > 0) && !(fabs(cimag(w)) > 1024 * n * DBL_EPSILON * sqrt(norm))))
            return false;
    }
    return true;
}

/* ---- the ring ------------------------------------------------------------------------------------------------- */

/* c += sign a b */
static void multiply_add(int n, double sign, const Complex *a, const Complex *b, Complex *c)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const double re = sign * creal(a[i * n + k]), im = sign * cimag(a[i * n + k]);
            const double *from = (const double *)(b + k * n);
            double *to = (double *)(c + i * n);

            if (re == 0 && im == 0)
                continue;
            for (int j = 0; j < n; j++) {
                to[2 * j] += re * from[2 * j] - im * from[2 * j + 1];
                to[2 * j + 1] += re * from[2 * j + 1] + im * from[2 * j];
            }
        }
}

/* (ab)_S = sum over T in S of a_T b_(S without T); c is neither a nor b. */
static void multiply(const Ring *r, const Complex *a, const Complex *b, Complex *c)
{
    memset(c, 0, (size_t)r->count * sizeof *c);
    for (int s = 0; s < r->subsets; s++)
        for (int t = s;; t = (t - 1) & s) {
            multiply_add(r->n, 1, a + t * r->square, b + (s ^ t) * r->square, c + s * r->square);
            if (t == 0)
                break;
        }
}

static void add_one(const Ring *r, double alpha, Complex *y)
{
    for (int i = 0; i < r->n; i++)
        y[i * (r->n + 1)] += alpha;
}

/* a b = 1, a_0 upper triangular: b_S = - b_0 (sum over non-empty T in S of a_T b_(S without T)). */
static void inverse(const Ring *r, const Complex *a, Complex *b)
{
    const int n = r->n;

    memset(b, 0, (size_t)r->count * sizeof *b);
    for (int j = 0; j < n; j++)
        for (int i = j; i >= 0; i--) {
            Complex sum = i == j;
            for (int k = i + 1; k <= j; k++)
                sum -= times(a[i * n + k], b[k * n + j]);
            b[i * n + j] = sum / a[i * n + i];
        }
    for (int s = 1; s < r->subsets; s++) {
        memset(r->spare, 0, (size_t)r->square * sizeof *r->spare);
        for (int t = s; t != 0; t = (t - 1) & s)
            multiply_add(n, -1, a + t * r->square, b + (s ^ t) * r->square, r->spare);
        multiply_add(n, 1, b, r->spare, b + s * r->square);
    }
}

/* ---- square root ---------------------------------------------------------------------------------------------- */

/* y^2 = t, both upper triangular: (y_i + y_j) y_ij = t_ij - sum y_ik y_kj. */
static void root_of_triangular(int n, const Complex *t, Complex *y)
{
    memset(y, 0, (size_t)n * (size_t)n * sizeof *y);
    for (int j = 0; j < n; j++) {
        y[j * n + j] = csqrt(t[j * n + j]);
        for (int i = j - 1; i >= 0; i--) {
            Complex rest = t[i * n + j];
            for (int k = i + 1; k < j; k++)
                rest -= times(y[i * n + k], y[k * n + j]);
            y[i * n + j] = rest / (y[i * n + i] + y[j * n + j]);
        }
    }
}

/* Solves y w' + w' y = w for w', in place; y is upper triangular. The order is from the last row up, from the
 * first column on. */
static void solve(int n, const Complex *y, Complex *w)
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = 0; j < n; j++) {
            Complex rest = w[i * n + j];
            for (int k = i + 1; k < n; k++)
                rest -= times(y[i * n + k], w[k * n + j]);
            for (int k = 0; k < j; k++)
                rest -= times(w[i * n + k], y[k * n + j]);
            w[i * n + j] = rest / (y[i * n + i] + y[j * n + j]);
        }
}

/* Replaces x by its square root: Y_0 Y_S + Y_S Y_0 = X_S - sum over T, non-empty and smaller than S, of Y_T
 * Y_(S without T). */
static void square_root(const Ring *r, Complex *x)
{
    Complex *y = r->pool[8];

    root_of_triangular(r->n, x, y);
    for (int s = 1; s < r->subsets; s++) {
        Complex *w = y + s * r->square;

        memcpy(w, x + s * r->square, (size_t)r->square * sizeof *w);
        for (int t = (s - 1) & s; t != 0; t = (t - 1) & s)
            multiply_add(r->n, -1, y + t * r->square, y + (s ^ t) * r->square, w);
        solve(r->n, y, w);
    }
    memcpy(x, y, (size_t)r->count * sizeof *x);
}

/* ---- logarithm ------------------------------------------------------------------------------------------------ */

/* y += alpha x */
static void add(const Ring *r, double alpha, const Complex *x, Complex *y)
{
    for (ptrdiff_t i = 0; i < r->count; i++)
        y[i] += alpha * x[i];
}

/* sum over k < 16 of Z^k / (2k + 1), in powers of Z^4: with |Z| < 0.021 the remaining terms are below 1e-27,
 * and their sixth derivative (a factor 33^6) is below 1e-17. */
static void odd_series(const Ring *r, Complex *const z[5], Complex *sum, Complex *tmp)
{
    memset(sum, 0, (size_t)r->count * sizeof *sum);
    for (int block = 3; block >= 0; block--) {
        if (block < 3) {
            multiply(r, sum, z[4], tmp);
            memcpy(sum, tmp, (size_t)r->count * sizeof *sum);
        }
        add_one(r, 1.0 / (8 * block + 1), sum);
        for (int k = 1; k < 4; k++)
            add(r, 1.0 / (8 * block + 2 * k + 1), z[k], sum);
    }
}

/* log X = 2 artanh Y, Y = (X - 1)(X + 1)^-1, for |X_0 - 1| <= 1/4, where |Y_0| <= 1/7. */
static void log_near_one(const Ring *r, Complex *x)
{
    Complex *z[5] = {NULL, r->pool[1], r->pool[2], r->pool[3], r->pool[4]};
    Complex *y = r->pool[5], *sum = r->pool[6], *tmp = r->pool[7];

    memcpy(sum, x, (size_t)r->count * sizeof *sum);
    add_one(r, 1, sum);
    add_one(r, -1, x);
    inverse(r, sum, z[1]);
    multiply(r, x, z[1], y);
    multiply(r, y, y, z[1]);
    multiply(r, z[1], z[1], z[2]);
    multiply(r, z[1], z[2], z[3]);
    multiply(r, z[2], z[2], z[4]);
    odd_series(r, z, sum, tmp);
    multiply(r, y, sum, x);
    for (ptrdiff_t i = 0; i < r->count; i++)
        x[i] *= 2;
}

/* The 1-norm of x_0 - 1, which is upper triangular. Returns NaN if an element is NaN. */
static double distance_from_one(int n, const Complex *x)
{
    double largest = 0;

    for (int j = 0; j < n; j++) {
        double column = 0;
        for (int i = 0; i <= j; i++)
            column += cabs(x[i * n + j] - (i == j));
        largest = column > largest || column != column ? column : largest;
    }
    return largest;
}

/* log X = 2^s log(X^(1/2^s)) */
static const char *logarithm(const Ring *r, Complex *x)
{
    enum { ROOTS = 100 };
    int s = 0;

    for (; !(distance_from_one(r->n, x) <= 0.25); s++) {
        if (s == ROOTS)
            return cut;
        square_root(r, x);
    }
    log_near_one(r, x);
    for (ptrdiff_t i = 0; i < r->count; i++)
        x[i] *= ldexp(1, s);
    return NULL;
}

/* ---- changes of basis ----------------------------------------------------------------------------------------- */

/* out = z^H x z, or z x z^H where `back`; out may be x. */
static void turn(const Ring *r, bool back, const Complex *x, Complex *out)
{
    const int n = r->n;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            Complex sum = 0;
            for (int k = 0; k < n; k++)
                sum += times(back ? r->z[i * n + k] : conj(r->z[k * n + i]), x[k * n + j]);
            r->spare[i * n + j] = sum;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            Complex sum = 0;
            for (int k = 0; k < n; k++)
                sum += times(r->spare[i * n + k], back ? conj(r->z[j * n + k]) : r->z[k * n + j]);
            out[i * n + j] = sum;
        }
}

/* Returns whether the value is real, as it must be for a real matrix. If not, a computed eigenvalue near the
 * cut has lost its conjugate on the other side. */
static bool is_real(const Ring *r, const Complex *value)
{
    Complex *own = r->pool[1];
    double real = 0, imaginary = 0;

    turn(r, true, value, own);
    for (ptrdiff_t i = 0; i < r->square; i++) {
        real = fmax(real, fabs(creal(own[i])));
        imaginary = fmax(imaginary, fabs(cimag(own[i])));
    }
    return imaginary <= 1e-2 * real;
}

const char *reln_schur_apply(RelnMatFun f, int n, int order, double *x, double *scratch)
{
    const Ring r = ring_of(n, order, scratch);
    Complex *y = r.pool[0], *last = y + r.count - r.square;

    for (ptrdiff_t i = 0; i < r.count; i++)
        y[i] = x[i];
    if (!triangularise(n, y, r.z) || !off_the_cut(n, y))
        return cut;
    for (int i = 0; i < order; i++) {
        Complex *direction = y + ((ptrdiff_t)1 << i) * r.square;
        turn(&r, false, direction, direction);
    }
    if (f == RELN_MATFUN_SQRT)
        square_root(&r, y);
    else if (logarithm(&r, y))
        return cut;
    if (!is_real(&r, y))
        return cut;
    turn(&r, true, last, last);
    for (ptrdiff_t i = 0; i < r.square; i++)
        x[r.count - r.square + i] = creal(last[i]);
    return NULL;
}
