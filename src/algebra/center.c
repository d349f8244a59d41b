/* center.c -- the form on the centre: n sum_j Re l_j(Z1) conj l_j(Z2) over the joint eigenvalues l_j.
 *
 * The centre consists of commuting matrices Z_a. If all are diagonalisable, they are diagonal together in the eigenspaces
 * of one generic combination R. W holds bases of these eigenspaces, and the mean of the c-th diagonal block of W^-1 Z_a W
 * is l_c(Z_a).
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "algebra/analyse.h"
#include "tensor/linalg.h"

typedef struct Spectrum {
    int n;
    double tol;         /* eigenvalues of R (of norm 1) closer than this count as equal */
    double *r;          /* R (n, n) */
    double complex *mu; /* (n) mean of the cluster that column j of W belongs to */
    int *cluster;       /* (n) */
    int n_clusters;
    double complex *w, *w_inverse; /* (n, n) */
} Spectrum;

/* R = sum_a r_a Z_a, |r| = 1; draws are fixed, so that a basis always gives the same answer. */
static void combine(int dim, int n, const double *z, uint64_t draw, double *r)
{
    const ptrdiff_t nn = (ptrdiff_t)n * n;
    RelnRng rng = reln_rng(0x5eed, draw);
    double norm;

    memset(r, 0, (size_t)nn * sizeof *r);
    for (ptrdiff_t a = 0; a < dim; a++) {
        const double weight = reln_rng_normal(&rng);
        for (ptrdiff_t i = 0; i < nn; i++)
            r[i] += weight * z[a * nn + i];
    }
    norm = reln_mat_norm(nn, r);
    for (ptrdiff_t i = 0; i < nn; i++)
        r[i] /= norm;
}

/* Join the clusters of all eigenvalues that are within tol of eigenvalue j. */
static void join(const Spectrum *s, const double complex *w, int j)
{
    for (int i = 0; i < j; i++)
        if (cabs(w[i] - w[j]) <= s->tol && s->cluster[i] != s->cluster[j]) {
            const int from = s->cluster[i], to = s->cluster[j];
            for (int k = 0; k <= j; k++)
                s->cluster[k] = s->cluster[k] == from ? to : s->cluster[k];
        }
}

/* Numbers the clusters 0, 1, ... and sorts the eigenvalues by cluster: column j then has cluster[j], in
 * ascending order. */
static void number_clusters(Spectrum *s, const double complex *w, int *label)
{
    int column = 0;

    memcpy(label, s->cluster, (size_t)s->n * sizeof *label);
    s->n_clusters = 0;
    for (int first = 0; first < s->n; first++) {
        const int id = label[first];
        double complex sum = 0;
        int size = 0;
        for (int i = first; id >= 0 && i < s->n; i++)
            if (label[i] == id) {
                sum += w[i];
                size++;
                label[i] = -1;
            }
        for (int i = 0; i < size; i++, column++) {
            s->cluster[column] = s->n_clusters;
            s->mu[column] = sum / size;
        }
        s->n_clusters += size > 0;
    }
}

static RelnStatus find_clusters(RelnArena *tmp, Spectrum *s)
{
    double complex *w = reln_arena_alloc(tmp, (size_t)s->n, sizeof *w);
    int *label = reln_arena_alloc(tmp, (size_t)s->n, sizeof *label);

    s->mu = reln_arena_alloc(tmp, (size_t)s->n, sizeof *s->mu);
    s->cluster = reln_arena_alloc(tmp, (size_t)s->n, sizeof *s->cluster);
    if (!w || !label || !s->mu || !s->cluster)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_eig(tmp->ctx, s->n, s->r, w, NULL));
    for (int j = 0; j < s->n; j++) {
        s->cluster[j] = j;
        join(s, w, j);
    }
    number_clusters(s, w, label);
    return RELN_OK;
}

/* R - mu as the real matrix [[Re, -Im], [Im, Re]]: each singular value occurs twice, null vectors are (Re v,
 * Im v). */
static void shifted(const Spectrum *s, double complex mu, double *a)
{
    const ptrdiff_t n = s->n, w = 2 * n;

    memset(a, 0, (size_t)(w * w) * sizeof *a);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < n; j++)
            a[i * w + j] = a[(n + i) * w + n + j] = s->r[i * n + j];
        a[i * w + i] -= creal(mu);
        a[(n + i) * w + n + i] -= creal(mu);
        a[i * w + n + i] = cimag(mu);
        a[(n + i) * w + i] = -cimag(mu);
    }
}

/* v -= w <w, v> */
static void remove_part(ptrdiff_t n, const double complex *w, double complex *v)
{
    double complex dot = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        dot += conj(w[i]) * v[i];
    for (ptrdiff_t i = 0; i < n; i++)
        v[i] -= dot * w[i];
}

static double length(ptrdiff_t n, const double complex *v)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        sum += creal(v[i]) * creal(v[i]) + cimag(v[i]) * cimag(v[i]);
    return sqrt(sum);
}

/* Computes an orthonormal complex basis from 2m real null vectors, which span m complex dimensions. The
 * longest remainder is taken next. */
static void complex_basis(ptrdiff_t n, int m, const double *null, double complex *v,
                          double complex *basis)
{
    for (ptrdiff_t r = 0; r < 2 * m; r++)
        for (ptrdiff_t i = 0; i < n; i++)
            v[r * n + i] = null[r * 2 * n + i] + null[r * 2 * n + n + i] * (double complex)I;
    for (ptrdiff_t b = 0; b < m; b++) {
        ptrdiff_t best = 0;
        double norm;
        for (ptrdiff_t r = 1; r < 2 * m; r++)
            best = length(n, v + r * n) > length(n, v + best * n) ? r : best;
        norm = length(n, v + best * n);
        for (ptrdiff_t i = 0; i < n; i++)
            basis[b * n + i] = v[best * n + i] / norm;
        for (ptrdiff_t r = 0; r < 2 * m; r++)
            remove_part(n, basis + b * n, v + r * n);
    }
}

/* Writes the null space of R - mu to columns first .. first+m-1 of W. *full says whether its dimension equals
 * the multiplicity of the eigenvalue. */
static RelnStatus eigenspace(RelnArena *tmp, const Spectrum *s, int first, int m, bool *full)
{
    const size_t n = (size_t)s->n, ww = 4 * n * n;
    double *a = reln_arena_alloc(tmp, ww, sizeof *a), *vt = reln_arena_alloc(tmp, ww, sizeof *vt);
    double *sigma = reln_arena_alloc(tmp, 2 * n, sizeof *sigma);
    double complex *v = reln_arena_alloc(tmp, 3 * n * (size_t)m, sizeof *v);
    double complex *const basis = v ? v + 2 * n * (size_t)m : NULL;

    if (!a || !vt || !sigma || !v)
        return RELN_ERR_NOMEM;
    shifted(s, s->mu[first], a);
    RELN_TRY(reln_svd(tmp->ctx, 2 * s->n, 2 * s->n, a, false, sigma, NULL, vt));
    *full = sigma[2 * (s->n - m)] <= s->tol;
    complex_basis(s->n, m, vt + (ptrdiff_t)4 * (s->n - m) * s->n, v, basis);
    for (ptrdiff_t b = 0; b < m; b++)
        for (ptrdiff_t i = 0; i < s->n; i++)
            s->w[i * s->n + first + b] = basis[b * s->n + i];
    return RELN_OK;
}

static int cluster_size(const Spectrum *s, int first)
{
    int m = 1;

    while (first + m < s->n && s->cluster[first + m] == s->cluster[first])
        m++;
    return m;
}

static RelnStatus eigenspaces(RelnArena *tmp, Spectrum *s, bool *semisimple)
{
    const size_t nn = (size_t)s->n * (size_t)s->n;

    s->w = reln_arena_alloc(tmp, nn, sizeof *s->w);
    s->w_inverse = reln_arena_alloc(tmp, nn, sizeof *s->w_inverse);
    if (!s->w || !s->w_inverse)
        return RELN_ERR_NOMEM;
    for (int first = 0, m = 0; first < s->n && *semisimple; first += m) {
        RelnArena local;
        RelnStatus status;
        m = cluster_size(s, first);
        reln_arena_init(&local, tmp->ctx);
        status = eigenspace(&local, s, first, m, semisimple);
        reln_arena_clear(&local);
        RELN_TRY(status);
    }
    return RELN_OK;
}

/* A Jordan block of size 3 or more splits its eigenvalue by eps^(1/3) or more, into separate clusters with
 * nearly parallel eigenvectors: then W^-1 is huge. A singular W means that the centre is not semisimple; it
 * is not a failure. */
static RelnStatus invert(RelnArena *tmp, const Spectrum *s, bool *semisimple)
{
    const RelnStatus status = reln_inverse_complex(tmp->ctx, s->n, s->w, s->w_inverse);

    if (status == RELN_ERR_NUMERIC)
        reln_ctx_clear(tmp->ctx);
    else if (status != RELN_OK)
        return status;
    *semisimple =
        status == RELN_OK && length((ptrdiff_t)s->n * s->n, s->w_inverse) <= fmin(1e5, 1 / s->tol);
    return RELN_OK;
}

/* y = W^-1 z W */
static void conjugate(const Spectrum *s, const double *z, double complex *zw, double complex *y)
{
    const ptrdiff_t n = s->n;

    memset(zw, 0, (size_t)(n * n) * sizeof *zw);
    memset(y, 0, (size_t)(n * n) * sizeof *y);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t k = 0; k < n; k++)
            for (ptrdiff_t j = 0; j < n; j++)
                zw[i * n + j] += z[i * n + k] * s->w[k * n + j];
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t k = 0; k < n; k++)
            for (ptrdiff_t j = 0; j < n; j++)
                y[i * n + j] += s->w_inverse[i * n + k] * zw[k * n + j];
}

/* Writes the cluster means of y's diagonal to l (n, repeated within a cluster), and returns how far y is from
 * diag(l). */
static double read_eigenvalues(const Spectrum *s, double complex *y, double complex *l)
{
    for (int first = 0, m = 0; first < s->n; first += m) {
        double complex sum = 0;
        m = cluster_size(s, first);
        for (int j = first; j < first + m; j++)
            sum += y[(ptrdiff_t)j * s->n + j];
        for (int j = first; j < first + m; j++) {
            l[j] = sum / m;
            y[(ptrdiff_t)j * s->n + j] -= l[j];
        }
    }
    return length((ptrdiff_t)s->n * s->n, y);
}

/* l (dim, n): joint eigenvalues of every Z_a */
static RelnStatus joint_eigenvalues(RelnArena *tmp, const Spectrum *s, int dim, const double *z,
                                    double complex *l, bool *semisimple)
{
    const ptrdiff_t n = s->n, nn = n * n;
    double complex *y = reln_arena_alloc(tmp, 2 * (size_t)nn, sizeof *y);
    const double size = length(nn, s->w_inverse);

    if (!y)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t a = 0; a < dim && *semisimple; a++) {
        conjugate(s, z + a * nn, y + nn, y);
        *semisimple = read_eigenvalues(s, y, l + a * n) <= s->tol * fmax(1, size);
    }
    return RELN_OK;
}

static void form_of(int dim, int n, const double complex *l, double *form)
{
    for (ptrdiff_t a = 0; a < dim; a++)
        for (ptrdiff_t b = 0; b < dim; b++) {
            double sum = 0;
            for (ptrdiff_t j = 0; j < n; j++)
                sum += creal(l[a * n + j] * conj(l[b * n + j]));
            form[a * dim + b] = n * sum;
        }
}

static RelnStatus diagonalise(RelnArena *tmp, int dim, int n, const double *z, double noise,
                              uint64_t draw, double *form, bool *semisimple)
{
    /* a Jordan block of size 2 splits its eigenvalue by the square root of the noise */
    Spectrum s = {.n = n, .tol = fmax(1e-6, sqrt(noise))};
    double complex *l = reln_arena_alloc(tmp, (size_t)dim * (size_t)n, sizeof *l);

    s.r = reln_arena_alloc(tmp, (size_t)n * (size_t)n, sizeof *s.r);
    if (!l || !s.r)
        return RELN_ERR_NOMEM;
    *semisimple = true;
    combine(dim, n, z, draw, s.r);
    RELN_TRY(find_clusters(tmp, &s));
    RELN_TRY(eigenspaces(tmp, &s, semisimple));
    if (*semisimple)
        RELN_TRY(invert(tmp, &s, semisimple));
    if (*semisimple)
        RELN_TRY(joint_eigenvalues(tmp, &s, dim, z, l, semisimple));
    if (*semisimple)
        form_of(dim, n, l, form);
    return RELN_OK;
}

/* A draw that diagonalises every Z_a proves that the centre is semisimple. A draw that does not may have put
 * two joint eigenvalues too close to each other by accident, so more draws are tried. */
static RelnStatus try_draws(RelnCtx *ctx, int dim, int n, const double *z, double noise,
                            double *form, bool *semisimple)
{
    enum { DRAWS = 8 };

    *semisimple = false;
    for (uint64_t draw = 0; draw < DRAWS && !*semisimple; draw++) {
        RelnArena tmp;
        RelnStatus status;
        reln_arena_init(&tmp, ctx);
        status = diagonalise(&tmp, dim, n, z, noise, draw, form, semisimple);
        reln_arena_clear(&tmp);
        RELN_TRY(status);
    }
    return RELN_OK;
}

/* ---- a centre that is not diagonalisable ------------------------------------------------------------------ */

enum { MAX_ACTIONS = 1024 };

/* m (dim, dim): Z -> gamma Z gamma^-1 on the centre */
static RelnStatus action(RelnArena *tmp, int dim, int n, const double *z, double noise, int index,
                         const double *gamma, double *m)
{
    const ptrdiff_t nn = (ptrdiff_t)n * n;
    double *t = reln_arena_alloc(tmp, 3 * (size_t)nn, sizeof *t);

    if (!t)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_inverse(tmp->ctx, n, gamma, t));
    for (ptrdiff_t a = 0; a < dim; a++) {
        double inside = 0, norm;
        reln_mat_mul(n, n, n, gamma, z + a * nn, t + nn);
        reln_mat_mul(n, n, n, t + nn, t, t + 2 * nn);
        norm = reln_mat_norm(nn, t + 2 * nn);
        for (ptrdiff_t b = 0; b < dim; b++) {
            double dot = 0;
            for (ptrdiff_t i = 0; i < nn; i++)
                dot += z[b * nn + i] * t[2 * nn + i];
            m[b * dim + a] = dot;
            inside += dot * dot;
        }
        if (fabs(norm * norm - inside) > sqrt(fmax(noise, 1e-12)) * norm * norm)
            return reln_fail(tmp->ctx, RELN_ERR_ARG,
                             "discrete matrix %d does not normalise the algebra: it moves the "
                             "centre by %.2g",
                             index + 1, sqrt(fabs(norm * norm - inside)) / norm);
    }
    return RELN_OK;
}

static bool is_new(ptrdiff_t mm, int count, const double *elements, const double *x)
{
    for (ptrdiff_t e = 0; e < count; e++) {
        double distance = 0;
        for (ptrdiff_t i = 0; i < mm; i++)
            distance = fmax(distance, fabs(elements[e * mm + i] - x[i]));
        if (distance <= 1e-6)
            return false;
    }
    return true;
}

/* Collects every product of the generators, the identity first. In a finite set of invertible matrices that
 * is closed under products, inverses exist too, so this is the group. */
static RelnStatus close_actions(RelnCtx *ctx, int dim, int n_generators, const double *generators,
                                double *elements, int *count)
{
    const ptrdiff_t mm = (ptrdiff_t)dim * dim;

    reln_mat_identity(dim, elements);
    *count = 1;
    for (int e = 0; e < *count; e++)
        for (ptrdiff_t g = 0; g < n_generators; g++) {
            double *const next = elements + *count * mm;
            reln_mat_mul(dim, dim, dim, generators + g * mm, elements + e * mm, next);
            if (!is_new(mm, *count, elements, next))
                continue;
            if (++*count > MAX_ACTIONS)
                return reln_fail(ctx, RELN_ERR_UNSUPPORTED,
                                 "the discrete matrices act on the centre in more than %d ways, "
                                 "too many to average its form over",
                                 MAX_ACTIONS);
        }
    return RELN_OK;
}

/* Averages n tr(Z1 Z2^T) over the action of the discrete group on the centre: n/|G| sum_g m_g^T m_g */
static RelnStatus average(RelnArena *tmp, int dim, int n, const double *z, double noise,
                          const RelnBasisOptions *options, double *form)
{
    const int n_discrete = options ? options->n_discrete : 0;
    const size_t mm = (size_t)dim * (size_t)dim;
    double *generators = reln_arena_alloc(tmp, (size_t)n_discrete * mm, sizeof *generators);
    double *elements =
        reln_arena_alloc(tmp, (n_discrete > 0 ? MAX_ACTIONS + 1 : 2) * mm, sizeof *elements);
    int count = 0;

    if (!generators || !elements)
        return RELN_ERR_NOMEM;
    for (int g = 0; g < n_discrete; g++)
        RELN_TRY(action(tmp, dim, n, z, noise, g, options->discrete + (ptrdiff_t)g * n * n,
                        generators + (ptrdiff_t)g * dim * dim));
    RELN_TRY(close_actions(tmp->ctx, dim, n_discrete, generators, elements, &count));
    memset(form, 0, mm * sizeof *form);
    for (ptrdiff_t e = 0; e < count; e++)
        reln_mat_gemm(true, false, dim, dim, dim, (double)n / count, elements + e * dim * dim, dim,
                      elements + e * dim * dim, dim, 1, form, dim);
    return RELN_OK;
}

RelnStatus reln_center_form(RelnCtx *ctx, int dim, int n, const double *z, double noise,
                            const RelnBasisOptions *options, double *form, RelnAnswer *semisimple)
{
    RelnArena tmp;
    RelnStatus status;
    bool diagonal = false;

    RELN_TRY(try_draws(ctx, dim, n, z, noise, form, &diagonal));
    *semisimple = diagonal ? RELN_YES : RELN_NO;
    if (diagonal)
        return RELN_OK;
    reln_arena_init(&tmp, ctx);
    status = average(&tmp, dim, n, z, noise, options, form);
    reln_arena_clear(&tmp);
    return status;
}
