/* invariants.c -- the invariant tensors of a product of three legs, by weights, by averaging, or directly.
 *
 * With Lie generators: a generic element H of the Lie algebra is diagonal in the eigenbasis of each leg, and there an
 * invariant tensor has entries only where the three eigenvalues (weights) add up to zero. On those few unknowns the
 * Gram matrix G = sum_a A_a^H A_a of an orthonormal basis of the algebra is small; its kernel is wanted. Where the
 * algebra is closed under transposition G is the Casimir operator of the compact form, so its eigenvalues keep apart.
 * Discrete generators then cut the kernel down one after another.
 * Finite groups: the average over all elements projects on the invariants; its trace is their number.
 * Everything else, and generators that cannot be diagonalised: G over all entries, while it fits.
 */
#include "rep/invariants.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/linalg.h"

/* Unknowns that an eigenvalue problem may have: by weights, directly. */
enum { MAX_WEIGHT_UNKNOWNS = 3000, MAX_DIRECT_UNKNOWNS = 1536, EXTRA_VECTORS = 4 };

#define SAME_EIGENVALUE 1e-7 /* of the norms: eigenvalues closer than this are one */
#define ZERO_WEIGHT 1e-8     /* of the norms: sums of weights below this are zero */
#define MAX_CONDITION 1e8    /* of the eigenvectors of a leg */
/* Eigenvalues of Gram matrices are zero below the first share of the norms, non-zero above the second, and between
 * the two nobody knows. */
#define ZERO_BELOW 1e-11
#define NONZERO_ABOVE 1e-8

/* Solutions are polished in at most so many steps, where one step takes no more multiplications than this. */
enum { POLISH_STEPS = 60 };
#define POLISH_BUDGET 5e7

typedef double complex Complex;

/* ---- acting on tensors ------------------------------------------------------------------------------------ */

static ptrdiff_t volume(const Problem *p)
{
    return (ptrdiff_t)p->leg[0].dim * p->leg[1].dim * p->leg[2].dim;
}

/* Entries between neighbours along a leg. */
static ptrdiff_t stride(const Problem *p, int leg)
{
    return leg == 2 ? 1 : leg == 1 ? p->leg[2].dim : (ptrdiff_t)p->leg[1].dim * p->leg[2].dim;
}

/* y += m x along one leg */
static void add_mode(const Problem *p, int leg, const double *m, const double *x, double *y)
{
    const ptrdiff_t dim = p->leg[leg].dim, inner = stride(p, leg), outer = volume(p) / dim / inner;

    for (ptrdiff_t o = 0; o < outer; o++)
        for (ptrdiff_t a = 0; a < dim; a++)
            for (ptrdiff_t b = 0; b < dim; b++) {
                const double f = m[a * dim + b];
                const double *from = x + (o * dim + b) * inner;
                double *to = y + (o * dim + a) * inner;
                for (ptrdiff_t i = 0; i < inner && f != 0; i++)
                    to[i] += f * from[i];
            }
}

static void set_mode_complex(const Problem *p, int leg, const Complex *m, const Complex *x,
                             Complex *y)
{
    const ptrdiff_t dim = p->leg[leg].dim, inner = stride(p, leg), outer = volume(p) / dim / inner;

    memset(y, 0, (size_t)volume(p) * sizeof *y);
    for (ptrdiff_t o = 0; o < outer; o++)
        for (ptrdiff_t a = 0; a < dim; a++)
            for (ptrdiff_t b = 0; b < dim; b++) {
                const Complex f = m[a * dim + b];
                const Complex *from = x + (o * dim + b) * inner;
                Complex *to = y + (o * dim + a) * inner;
                for (ptrdiff_t i = 0; i < inner && f != 0; i++)
                    to[i] += f * from[i];
            }
}

/* y = (m0 x m1 x m2) x; tmp holds another tensor */
static void act_group(const Problem *p, const double *const m[3], const double *x, double *tmp,
                      double *y)
{
    const size_t bytes = (size_t)volume(p) * sizeof *y;

    memset(y, 0, bytes);
    add_mode(p, 0, m[0], x, y);
    memset(tmp, 0, bytes);
    add_mode(p, 1, m[1], y, tmp);
    memset(y, 0, bytes);
    add_mode(p, 2, m[2], tmp, y);
}

static void discrete_matrices(const Problem *p, int gamma, const double *m[3])
{
    for (int l = 0; l < 3; l++)
        m[l] = p->leg[l].discrete + (ptrdiff_t)gamma * p->leg[l].dim * p->leg[l].dim;
}

static double leg_norm(const Leg *leg, const double *m)
{
    return reln_mat_norm((ptrdiff_t)leg->dim * leg->dim, m);
}

/* Largest norm of a basis element on a leg: the size of its weights. */
static double weight_scale(const Problem *p, int l)
{
    const Leg *leg = &p->leg[l];
    double scale = 0;

    for (int a = 0; a < p->rank; a++)
        scale = fmax(scale, leg_norm(leg, leg->lie + (ptrdiff_t)a * leg->dim * leg->dim));
    return scale;
}

/* Bounds on G: sum_a (sum of the legs' norms)^2, and sum_gamma (1 + product of the legs' norms)^2. */
static double lie_scale(const Problem *p)
{
    double total = 0;

    for (int a = 0; a < p->rank; a++) {
        double sum = 0;
        for (int l = 0; l < 3; l++) {
            const Leg *leg = &p->leg[l];
            sum += leg_norm(leg, leg->lie + (ptrdiff_t)a * leg->dim * leg->dim);
        }
        total += sum * sum;
    }
    return total;
}

/* Norms over sqrt(dim): 1 for orthogonal matrices. */
static double discrete_scale(const Problem *p, int gamma)
{
    const double *m[3];
    double product = 1;

    discrete_matrices(p, gamma, m);
    for (int l = 0; l < 3; l++)
        product *= leg_norm(&p->leg[l], m[l]) / sqrt(p->leg[l].dim);
    return (1 + product) * (1 + product);
}

/* ---- deciding dimensions ---------------------------------------------------------------------------------- */

/* How many of the ascending eigenvalues are zero. */
static RelnStatus count_zeros(RelnCtx *ctx, ptrdiff_t n, const double *values, double scale,
                              ptrdiff_t *count)
{
    *count = 0;
    while (*count < n && values[*count] <= NONZERO_ABOVE * scale)
        ++*count;
    if (*count > 0 && values[*count - 1] > ZERO_BELOW * scale)
        return reln_fail(ctx, RELN_ERR_NUMERIC,
                         "the number of invariant maps cannot be told: eigenvalue %.2g of the "
                         "constraints is neither zero (below %.2g) nor not (above %.2g)",
                         values[*count - 1], ZERO_BELOW * scale, NONZERO_ABOVE * scale);
    return RELN_OK;
}

/* out (count, d) = sum_t v[t][first + i] x_t: combinations of rows x (m, d) by columns of v (m, m). */
static void combine_rows(ptrdiff_t m, ptrdiff_t count, ptrdiff_t first, const double *v,
                         ptrdiff_t d, const double *x, double *out)
{
    reln_mat_gemm(true, false, count, d, m, 1, v + first, m, x, d, 0, out, d);
}

/* An orthonormal basis of the span of rows x (m, d), whose dimension `count` is known. */
static RelnStatus orthonormal_rows(RelnArena *arena, ptrdiff_t m, ptrdiff_t d, const double *x,
                                   ptrdiff_t count, double *out)
{
    double *gram = reln_arena_alloc(arena, (size_t)(m * m), sizeof *gram);
    double *v = reln_arena_alloc(arena, (size_t)(m * m), sizeof *v);
    double *w = reln_arena_alloc(arena, (size_t)m, sizeof *w);

    if (!gram || !v || !w)
        return RELN_ERR_NOMEM;
    reln_mat_gemm(false, true, m, m, d, 1, x, d, x, d, 0, gram, m);
    RELN_TRY(reln_eigh(arena->ctx, m, gram, w, v));
    if (!(w[m - count] > NONZERO_ABOVE * w[m - 1]) ||
        (m > count && !(w[m - count - 1] <= ZERO_BELOW * w[m - 1])))
        return reln_fail(arena->ctx, RELN_ERR_NUMERIC,
                         "%td invariant maps found, but their real parts have eigenvalues %.2g "
                         "and %.2g around that number (largest %.2g)",
                         count, w[m - count], m > count ? w[m - count - 1] : 0.0, w[m - 1]);
    for (ptrdiff_t t = m - count; t < m; t++)
        for (ptrdiff_t i = 0; i < m; i++)
            v[i * m + t] /= sqrt(w[t]);
    combine_rows(m, count, m - count, v, d, x, out);
    return RELN_OK;
}

/* ---- by weights ------------------------------------------------------------------------------------------- */

typedef struct Eigen {
    Complex *weight;            /* (dim) */
    Complex *vectors, *inverse; /* (dim, dim), eigenvectors in columns */
} Eigen;

typedef struct Entry {
    ptrdiff_t row, column; /* of A_a: any entry of the tensor; one of the unknowns */
    Complex value;
} Entry;

typedef struct Weights {
    RelnArena *arena;
    const Problem *p;
    Eigen eigen[3];
    ptrdiff_t n;     /* unknowns: */
    int (*index)[3]; /* (n): where they stand in the tensor of eigenvector coordinates */
    Complex *leg[3]; /* (dim, dim): one generator in the eigenbases */
    Entry *entries, *sorted;
    ptrdiff_t *start; /* (volume + 1): rows of sorted */
    Complex *gram;    /* (n, n) */
} Weights;

/* h = (m - mu)^H (m - mu) */
static void shifted_gram(ptrdiff_t dim, const double *m, Complex mu, Complex *h)
{
    for (ptrdiff_t i = 0; i < dim; i++)
        for (ptrdiff_t j = 0; j < dim; j++) {
            Complex sum = 0;
            for (ptrdiff_t k = 0; k < dim; k++)
                sum +=
                    conj(m[k * dim + i] - (k == i ? mu : 0)) * (m[k * dim + j] - (k == j ? mu : 0));
            h[i * dim + j] = sum;
        }
}

/* Gathers eigenvalues within `tolerance` of the first that is left; returns how many, and their mean. */
static ptrdiff_t take_cluster(ptrdiff_t dim, const Complex *values, bool *taken, double tolerance,
                              Complex *mean)
{
    ptrdiff_t first = 0, count = 0;
    Complex sum = 0;

    while (taken[first])
        first++;
    for (ptrdiff_t i = first; i < dim; i++)
        if (!taken[i] && cabs(values[i] - values[first]) <= tolerance) {
            taken[i] = true;
            sum += values[i];
            count++;
        }
    *mean = sum / (double)count;
    return count;
}

/* Orthonormal eigenvectors for each eigenvalue, repeated ones included: the kernel of m - mu. *good is false where that
 * kernel is smaller than the multiplicity, or eigenvectors are nearly dependent. */
static RelnStatus diagonalise(RelnArena *arena, ptrdiff_t dim, const double *m, double scale,
                              Eigen *e, bool *good)
{
    const size_t size = (size_t)(dim * dim);
    Complex *values = reln_arena_alloc(arena, (size_t)dim, sizeof *values);
    Complex *h = reln_arena_alloc(arena, size, sizeof *h),
            *v = reln_arena_alloc(arena, size, sizeof *v);
    double *w = reln_arena_alloc(arena, (size_t)dim, sizeof *w);
    bool *taken = reln_arena_alloc(arena, (size_t)dim, sizeof *taken);
    ptrdiff_t done = 0;

    if (!values || !h || !v || !w || !taken)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_eig(arena->ctx, dim, m, values, NULL));
    while (done < dim) {
        Complex mu = 0;
        const ptrdiff_t count = take_cluster(dim, values, taken, SAME_EIGENVALUE * scale, &mu);
        shifted_gram(dim, m, mu, h);
        RELN_TRY(reln_eigh_complex(arena->ctx, dim, h, w, v));
        if (w[count - 1] > ZERO_BELOW * scale * scale)
            *good = false;
        for (ptrdiff_t c = 0; c < count; c++, done++) {
            e->weight[done] = mu;
            for (ptrdiff_t i = 0; i < dim; i++)
                e->vectors[i * dim + done] = v[i * dim + c];
        }
    }
    return RELN_OK;
}

static double complex_norm(ptrdiff_t count, const Complex *x)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    return sqrt(sum);
}

static RelnStatus diagonalise_leg(Weights *w, int l, bool *good)
{
    const Leg *leg = &w->p->leg[l];
    const size_t dim = (size_t)leg->dim, size = dim * dim;
    Eigen *e = &w->eigen[l];
    RelnStatus status;

    e->weight = reln_arena_alloc(w->arena, dim, sizeof(Complex));
    e->vectors = reln_arena_alloc(w->arena, size, sizeof(Complex));
    e->inverse = reln_arena_alloc(w->arena, size, sizeof(Complex));
    w->leg[l] = reln_arena_alloc(w->arena, size, sizeof(Complex));
    if (!e->weight || !e->vectors || !e->inverse || !w->leg[l])
        return RELN_ERR_NOMEM;
    RELN_TRY(diagonalise(w->arena, leg->dim, leg->regular, weight_scale(w->p, l), e, good));
    status =
        *good ? reln_inverse_complex(w->arena->ctx, leg->dim, e->vectors, e->inverse) : RELN_OK;
    if (status != RELN_OK && status != RELN_ERR_NUMERIC)
        return status;
    if (status == RELN_ERR_NUMERIC ||
        complex_norm((ptrdiff_t)size, e->vectors) * complex_norm((ptrdiff_t)size, e->inverse) >
            MAX_CONDITION * (double)dim)
        *good = false;
    return RELN_OK;
}

/* Two passes: count, then write. */
static ptrdiff_t zero_weights(const Weights *w, int (*index)[3])
{
    const Leg *leg = w->p->leg;
    const double tolerance =
        ZERO_WEIGHT * (weight_scale(w->p, 0) + weight_scale(w->p, 1) + weight_scale(w->p, 2));
    ptrdiff_t n = 0;

    for (int i = 0; i < leg[0].dim; i++)
        for (int j = 0; j < leg[1].dim; j++)
            for (int k = 0; k < leg[2].dim; k++) {
                const Complex sum =
                    w->eigen[0].weight[i] + w->eigen[1].weight[j] + w->eigen[2].weight[k];
                if (cabs(sum) > tolerance)
                    continue;
                if (index) {
                    index[n][0] = i;
                    index[n][1] = j;
                    index[n][2] = k;
                }
                n++;
            }
    return n;
}

/* out = V^-1 m V, rounding swept away */
static void to_eigenbasis(ptrdiff_t dim, const Eigen *e, const double *m, Complex *tmp,
                          Complex *out)
{
    double noise;

    for (ptrdiff_t i = 0; i < dim; i++)
        for (ptrdiff_t j = 0; j < dim; j++) {
            tmp[i * dim + j] = 0;
            for (ptrdiff_t k = 0; k < dim; k++)
                if (m[i * dim + k] != 0)
                    tmp[i * dim + j] += m[i * dim + k] * e->vectors[k * dim + j];
        }
    for (ptrdiff_t i = 0; i < dim; i++)
        for (ptrdiff_t j = 0; j < dim; j++) {
            out[i * dim + j] = 0;
            for (ptrdiff_t k = 0; k < dim; k++)
                out[i * dim + j] += e->inverse[i * dim + k] * tmp[k * dim + j];
        }
    noise = 1e-15 * complex_norm(dim * dim, out);
    for (ptrdiff_t i = 0; i < dim * dim; i++)
        out[i] = cabs(out[i]) <= noise ? 0 : out[i];
}

/* Column by column: unknown (i,j,k) goes to (i',j,k), (i,j',k), (i,j,k'), and to itself by the three diagonals. */
static ptrdiff_t list_entries(const Weights *w)
{
    ptrdiff_t count = 0;

    for (ptrdiff_t c = 0; c < w->n; c++) {
        ptrdiff_t self = 0;
        Complex diagonal = 0;
        for (int l = 0; l < 3; l++)
            self += w->index[c][l] * stride(w->p, l);
        for (int l = 0; l < 3; l++) {
            const ptrdiff_t dim = w->p->leg[l].dim, at = w->index[c][l], step = stride(w->p, l);
            diagonal += w->leg[l][at * dim + at];
            for (ptrdiff_t to = 0; to < dim; to++)
                if (to != at && w->leg[l][to * dim + at] != 0)
                    w->entries[count++] =
                        (Entry){self + (to - at) * step, c, w->leg[l][to * dim + at]};
        }
        if (diagonal != 0)
            w->entries[count++] = (Entry){self, c, diagonal};
    }
    return count;
}

/* Counting sort by row; columns stay ascending. */
static void sort_entries(const Weights *w, ptrdiff_t count)
{
    const ptrdiff_t rows = volume(w->p);

    memset(w->start, 0, (size_t)(rows + 1) * sizeof *w->start);
    for (ptrdiff_t e = 0; e < count; e++)
        w->start[w->entries[e].row + 1]++;
    for (ptrdiff_t r = 0; r < rows; r++)
        w->start[r + 1] += w->start[r];
    for (ptrdiff_t e = 0; e < count; e++)
        w->sorted[w->start[w->entries[e].row]++] = w->entries[e];
    memmove(w->start + 1, w->start, (size_t)rows * sizeof *w->start);
    w->start[0] = 0;
}

/* Lower triangle of G += A^H A, row of A by row. */
static void add_gram(const Weights *w)
{
    for (ptrdiff_t r = 0; r < volume(w->p); r++)
        for (ptrdiff_t s = w->start[r]; s < w->start[r + 1]; s++) {
            const Complex left = conj(w->sorted[s].value);
            Complex *row = w->gram + w->sorted[s].column * w->n;
            for (ptrdiff_t t = w->start[r]; t <= s; t++)
                row[w->sorted[t].column] += left * w->sorted[t].value;
        }
}

static RelnStatus gram_room(Weights *w)
{
    const Leg *leg = w->p->leg;
    const size_t n = (size_t)w->n, rows = (size_t)volume(w->p);
    const size_t most = n * (size_t)(leg[0].dim + leg[1].dim + leg[2].dim);

    w->index = reln_arena_alloc(w->arena, n, sizeof *w->index);
    w->entries = reln_arena_alloc(w->arena, most, sizeof *w->entries);
    w->sorted = reln_arena_alloc(w->arena, most, sizeof *w->sorted);
    w->start = reln_arena_alloc(w->arena, rows + 1, sizeof *w->start);
    w->gram = reln_arena_alloc(w->arena, n * n, sizeof *w->gram);
    return w->index && w->entries && w->sorted && w->start && w->gram ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus fill_gram(Weights *w)
{
    Complex *tmp[3];

    for (int l = 0; l < 3; l++) {
        const size_t dim = (size_t)w->p->leg[l].dim;
        tmp[l] = reln_arena_alloc(w->arena, dim * dim, sizeof(Complex));
        if (!tmp[l])
            return RELN_ERR_NOMEM;
    }
    for (int a = 0; a < w->p->rank; a++) {
        for (int l = 0; l < 3; l++) {
            const Leg *leg = &w->p->leg[l];
            to_eigenbasis(leg->dim, &w->eigen[l], leg->lie + (ptrdiff_t)a * leg->dim * leg->dim,
                          tmp[l], w->leg[l]);
        }
        sort_entries(w, list_entries(w));
        add_gram(w);
    }
    for (ptrdiff_t i = 0; i < w->n; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            w->gram[j * w->n + i] = conj(w->gram[i * w->n + j]);
    return RELN_OK;
}

/* Kernel vectors (columns of v) back to the coordinates of the legs: real and imaginary part of each. */
static RelnStatus from_eigenbasis(const Weights *w, ptrdiff_t count, const Complex *v, double *rows)
{
    const ptrdiff_t d = volume(w->p);
    Complex *x = reln_arena_alloc(w->arena, (size_t)d, sizeof *x);
    Complex *y = reln_arena_alloc(w->arena, (size_t)d, sizeof *y);

    if (!x || !y)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t < count; t++) {
        memset(x, 0, (size_t)d * sizeof *x);
        for (ptrdiff_t c = 0; c < w->n; c++) {
            ptrdiff_t self = 0;
            for (int l = 0; l < 3; l++)
                self += w->index[c][l] * stride(w->p, l);
            x[self] = v[c * w->n + t];
        }
        set_mode_complex(w->p, 0, w->eigen[0].vectors, x, y);
        set_mode_complex(w->p, 1, w->eigen[1].vectors, y, x);
        set_mode_complex(w->p, 2, w->eigen[2].vectors, x, y);
        for (ptrdiff_t e = 0; e < d; e++) {
            rows[2 * t * d + e] = creal(y[e]);
            rows[(2 * t + 1) * d + e] = cimag(y[e]);
        }
    }
    return RELN_OK;
}

/* The kernel of G, which is closed under conjugation: its real dimension is its complex one. */
static RelnStatus weight_kernel(Weights *w, int *count, double **rows)
{
    const ptrdiff_t d = volume(w->p);
    Complex *v = reln_arena_alloc(w->arena, (size_t)(w->n * w->n), sizeof *v);
    double *values = reln_arena_alloc(w->arena, (size_t)w->n, sizeof *values), *parts;
    ptrdiff_t zeros = 0;

    if (!v || !values)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_eigh_complex(w->arena->ctx, w->n, w->gram, values, v));
    RELN_TRY(count_zeros(w->arena->ctx, w->n, values, lie_scale(w->p), &zeros));
    *count = (int)zeros;
    if (zeros == 0)
        return RELN_OK;
    parts = reln_arena_alloc(w->arena, (size_t)(2 * zeros * d), sizeof *parts);
    *rows = reln_arena_alloc(w->arena, (size_t)(zeros * d), sizeof **rows);
    if (!parts || !*rows)
        return RELN_ERR_NOMEM;
    RELN_TRY(from_eigenbasis(w, zeros, v, parts));
    return orthonormal_rows(w->arena, 2 * zeros, d, parts, zeros, *rows);
}

/* *good false: the weights cannot be used here. */
static RelnStatus by_weights(RelnArena *arena, const Problem *p, int *count, double **rows,
                             bool *good)
{
    Weights w = {.arena = arena, .p = p};
    RelnStatus status;

    *count = 0;
    for (int l = 0; l < 3 && *good; l++)
        RELN_TRY(diagonalise_leg(&w, l, good));
    if (!*good)
        return RELN_OK;
    w.n = zero_weights(&w, NULL);
    if (w.n == 0)
        return RELN_OK;
    if (w.n > MAX_WEIGHT_UNKNOWNS)
        return reln_fail(arena->ctx, RELN_ERR_UNSUPPORTED,
                         "equivariant maps between %d x %d x %d coordinates: %td unknowns of "
                         "weight zero, at most %d are possible",
                         p->leg[0].dim, p->leg[1].dim, p->leg[2].dim, w.n, MAX_WEIGHT_UNKNOWNS);
    RELN_TRY(gram_room(&w));
    zero_weights(&w, w.index);
    RELN_TRY(fill_gram(&w));
    status = weight_kernel(&w, count, rows);
    *good = status != RELN_ERR_NUMERIC;
    return *good ? status : RELN_OK;
}

/* ---- discrete generators ---------------------------------------------------------------------------------- */

/* Of orthonormal rows (count, d), the combinations that gamma leaves alone. */
static RelnStatus cut(RelnArena *arena, const Problem *p, int gamma, int *count, double **rows)
{
    const ptrdiff_t d = volume(p), m = *count;
    double *moved = reln_arena_alloc(arena, (size_t)(m * d), sizeof *moved);
    double *tmp = reln_arena_alloc(arena, (size_t)d, sizeof *tmp);
    double *gram = reln_arena_alloc(arena, (size_t)(m * m), sizeof *gram);
    double *v = reln_arena_alloc(arena, (size_t)(m * m), sizeof *v);
    double *w = reln_arena_alloc(arena, (size_t)m, sizeof *w), *kept;
    const double *matrices[3];
    ptrdiff_t zeros = 0;

    if (!moved || !tmp || !gram || !v || !w)
        return RELN_ERR_NOMEM;
    discrete_matrices(p, gamma, matrices);
    for (ptrdiff_t t = 0; t < m; t++) {
        act_group(p, matrices, *rows + t * d, tmp, moved + t * d);
        for (ptrdiff_t e = 0; e < d; e++)
            moved[t * d + e] -= (*rows)[t * d + e];
    }
    reln_mat_gemm(false, true, m, m, d, 1, moved, d, moved, d, 0, gram, m);
    RELN_TRY(reln_eigh(arena->ctx, m, gram, w, v));
    RELN_TRY(count_zeros(arena->ctx, m, w, discrete_scale(p, gamma), &zeros));
    kept = reln_arena_alloc(arena, (size_t)(zeros * d), sizeof *kept);
    if (!kept)
        return RELN_ERR_NOMEM;
    if (zeros > 0)
        combine_rows(m, zeros, 0, v, d, *rows, kept);
    *count = (int)zeros;
    *rows = kept;
    return RELN_OK;
}

/* ---- polishing -------------------------------------------------------------------------------------------- */

/* G = sum_a A_a^T A_a of the Lie generators, from the legs themselves. */
typedef struct Operator {
    const Problem *p;
    double *turned[3]; /* (rank, dim, dim): the legs' matrices transposed */
    double *image;     /* a tensor */
} Operator;

static RelnStatus make_operator(RelnArena *arena, const Problem *p, Operator *g)
{
    *g = (Operator){.p = p};
    g->image = reln_arena_alloc(arena, (size_t)volume(p), sizeof *g->image);
    for (int l = 0; l < 3; l++) {
        const ptrdiff_t dim = p->leg[l].dim, size = dim * dim;
        g->turned[l] = reln_arena_alloc(arena, (size_t)(p->rank * size), sizeof(double));
        if (!g->turned[l] || !g->image)
            return RELN_ERR_NOMEM;
        for (int a = 0; a < p->rank; a++)
            reln_mat_transpose(dim, dim, p->leg[l].lie + a * size, g->turned[l] + a * size);
    }
    return RELN_OK;
}

/* y = G x */
static void apply(const Operator *g, const double *x, double *y)
{
    const size_t bytes = (size_t)volume(g->p) * sizeof *y;

    memset(y, 0, bytes);
    for (int a = 0; a < g->p->rank; a++) {
        memset(g->image, 0, bytes);
        for (int l = 0; l < 3; l++)
            add_mode(g->p, l, g->p->leg[l].lie + (ptrdiff_t)a * g->p->leg[l].dim * g->p->leg[l].dim,
                     x, g->image);
        for (int l = 0; l < 3; l++)
            add_mode(g->p, l, g->turned[l] + (ptrdiff_t)a * g->p->leg[l].dim * g->p->leg[l].dim,
                     g->image, y);
    }
}

static double dot(ptrdiff_t d, const double *x, const double *y)
{
    double sum = 0;

    for (ptrdiff_t e = 0; e < d; e++)
        sum += x[e] * y[e];
    return sum;
}

/* Takes the part of a unit tensor x outside the kernel of G away: conjugate gradients for G z = G x, x - z. The residual
 * is followed down to the rounding of G x, where what is left of it may lie in the kernel. */
static void polish_row(const Operator *g, double *work, double *x)
{
    const ptrdiff_t d = volume(g->p);
    double *r = work, *q = work + d, *gq = work + 2 * d, square, largest = 0;

    apply(g, x, r);
    memcpy(q, r, (size_t)d * sizeof *q);
    square = dot(d, r, r);
    for (int step = 0; step < POLISH_STEPS && square > 0; step++) {
        double curve, next;

        apply(g, q, gq);
        curve = dot(d, q, gq);
        largest = fmax(largest, curve / dot(d, q, q));
        if (!(curve > 0) || sqrt(square) <= DBL_EPSILON * largest)
            return;
        for (ptrdiff_t e = 0; e < d; e++) {
            x[e] -= square / curve * q[e];
            r[e] -= square / curve * gq[e];
        }
        next = dot(d, r, r);
        for (ptrdiff_t e = 0; e < d; e++)
            q[e] = r[e] + next / square * q[e];
        square = next;
    }
}

/* The eigenbases, and the square in G, cost four digits; they come back from the generators as they are. */
static RelnStatus polish(RelnArena *arena, const Problem *p, ptrdiff_t count, double *rows)
{
    const ptrdiff_t d = volume(p);
    const double dims = (double)p->leg[0].dim + p->leg[1].dim + p->leg[2].dim;
    double *work = reln_arena_alloc(arena, (size_t)(3 * d), sizeof *work);
    Operator g;

    if (2.0 * p->rank * (double)(d * count) * dims > POLISH_BUDGET)
        return RELN_OK;
    RELN_TRY(make_operator(arena, p, &g));
    if (!work)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t < count; t++)
        polish_row(&g, work, rows + t * d);
    return RELN_OK;
}

/* ---- finite groups ---------------------------------------------------------------------------------------- */

/* The matrices of all elements on a leg: generator times parent. */
static RelnStatus leg_elements(RelnArena *arena, const Problem *p, int l, double **out)
{
    const Closure *c = p->elements;
    const ptrdiff_t dim = p->leg[l].dim, size = dim * dim;

    *out = reln_arena_alloc(arena, (size_t)(c->count * size), sizeof **out);
    if (!*out)
        return RELN_ERR_NOMEM;
    reln_mat_identity(dim, *out);
    for (int e = 1; e < c->count; e++)
        reln_mat_mul(dim, dim, dim, p->leg[l].discrete + c->generator[e] * size,
                     *out + c->parent[e] * size, *out + e * size);
    return RELN_OK;
}

/* The trace of the average: the number of invariants. */
static RelnStatus average_trace(RelnArena *arena, const Problem *p, double *const legs[3],
                                int *count)
{
    double sum = 0;

    for (int e = 0; e < p->elements->count; e++) {
        double product = 1;
        for (int l = 0; l < 3; l++) {
            const ptrdiff_t dim = p->leg[l].dim;
            product *= reln_mat_trace(dim, legs[l] + e * dim * dim);
        }
        sum += product / p->elements->count;
    }
    *count = (int)lround(sum);
    if (fabs(sum - *count) > 1e-6)
        return reln_fail(arena->ctx, RELN_ERR_NUMERIC,
                         "the average over %d elements has trace %.9g, a whole number wanted: not "
                         "a representation",
                         p->elements->count, sum);
    return RELN_OK;
}

/* Random tensors averaged over the group span the invariants. */
static RelnStatus by_averaging(RelnArena *arena, const Problem *p, int *count, double **rows)
{
    const ptrdiff_t d = volume(p);
    RelnRng rng = reln_rng(0x61766572616765ULL, 0);
    double *legs[3], *x = reln_arena_alloc(arena, (size_t)(3 * d), sizeof *x), *sums;
    ptrdiff_t m;

    for (int l = 0; l < 3; l++)
        RELN_TRY(leg_elements(arena, p, l, &legs[l]));
    RELN_TRY(average_trace(arena, p, legs, count));
    m = *count + EXTRA_VECTORS;
    sums = reln_arena_alloc(arena, (size_t)(m * d), sizeof *sums);
    *rows = reln_arena_alloc(arena, (size_t)(*count * d), sizeof **rows);
    if (!x || !sums || !*rows)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t<m && * count> 0; t++) {
        for (ptrdiff_t e = 0; e < d; e++)
            x[e] = reln_rng_normal(&rng);
        for (int g = 0; g < p->elements->count; g++) {
            const double *matrices[3];
            for (int l = 0; l < 3; l++)
                matrices[l] = legs[l] + (ptrdiff_t)g * p->leg[l].dim * p->leg[l].dim;
            act_group(p, matrices, x, x + d, x + 2 * d);
            for (ptrdiff_t e = 0; e < d; e++)
                sums[t * d + e] += x[2 * d + e] / p->elements->count;
        }
    }
    return *count > 0 ? orthonormal_rows(arena, m, d, sums, *count, *rows) : RELN_OK;
}

/* ---- directly --------------------------------------------------------------------------------------------- */

/* Row t of images: what a generator makes of the t-th unit tensor; Lie generators first. */
static void unit_images(const Problem *p, int generator, double *unit, double *tmp, double *images)
{
    const ptrdiff_t d = volume(p);
    const double *matrices[3];

    memset(images, 0, (size_t)(d * d) * sizeof *images);
    if (generator >= p->rank)
        discrete_matrices(p, generator - p->rank, matrices);
    for (ptrdiff_t t = 0; t < d; t++) {
        unit[t] = 1;
        for (int l = 0; l < 3 && generator < p->rank; l++)
            add_mode(p, l, p->leg[l].lie + (ptrdiff_t)generator * p->leg[l].dim * p->leg[l].dim,
                     unit, images + t * d);
        if (generator >= p->rank) {
            act_group(p, matrices, unit, tmp, images + t * d);
            images[t * d + t] -= 1;
        }
        unit[t] = 0;
    }
}

static RelnStatus directly(RelnArena *arena, const Problem *p, int *count, double **rows)
{
    const ptrdiff_t d = volume(p);
    double *unit, *images, *gram, *w, *v, scale = lie_scale(p);
    ptrdiff_t zeros = 0;

    if (d > MAX_DIRECT_UNKNOWNS)
        return reln_fail(arena->ctx, RELN_ERR_UNSUPPORTED,
                         "equivariant maps of generators that cannot be diagonalised: %td "
                         "unknowns, at most %d are possible",
                         d, MAX_DIRECT_UNKNOWNS);
    unit = reln_arena_alloc(arena, (size_t)(2 * d), sizeof *unit);
    images = reln_arena_alloc(arena, (size_t)(d * d), sizeof *images);
    gram = reln_arena_alloc(arena, (size_t)(d * d), sizeof *gram);
    w = reln_arena_alloc(arena, (size_t)d, sizeof *w);
    v = reln_arena_alloc(arena, (size_t)(d * d), sizeof *v);
    if (!unit || !images || !gram || !w || !v)
        return RELN_ERR_NOMEM;
    for (int g = 0; g < p->rank + p->n_discrete; g++) {
        scale += g >= p->rank ? discrete_scale(p, g - p->rank) : 0;
        unit_images(p, g, unit, unit + d, images);
        reln_mat_gemm(false, true, d, d, d, 1, images, d, images, d, 1, gram, d);
    }
    RELN_TRY(reln_eigh(arena->ctx, d, gram, w, v));
    RELN_TRY(count_zeros(arena->ctx, d, w, scale, &zeros));
    *rows = reln_arena_alloc(arena, (size_t)(zeros * d), sizeof **rows);
    if (!*rows)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t < zeros; t++)
        for (ptrdiff_t e = 0; e < d; e++)
            (*rows)[t * d + e] = v[e * d + t];
    *count = (int)zeros;
    return RELN_OK;
}

RelnStatus reln_invariants(RelnArena *arena, const Problem *problem, int *count, double **rows)
{
    bool good = problem->rank > 0;
    Kept before;

    reln_keep_message(arena->ctx, &before);
    if (problem->elements)
        return by_averaging(arena, problem, count, rows);
    if (good)
        RELN_TRY(by_weights(arena, problem, count, rows, &good));
    if (!good) {
        reln_put_back(arena->ctx, &before);
        return directly(arena, problem, count, rows);
    }
    RELN_TRY(polish(arena, problem, *count, *rows));
    for (int g = 0; g<problem->n_discrete && * count> 0; g++)
        RELN_TRY(cut(arena, problem, g, count, rows));
    return RELN_OK;
}
