/* weights.c -- invariant tensors by weights: they have entries only where eigenvalues of a generic element
 * add up to zero. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "rep/invariants.h"
#include "tensor/linalg.h"

/* Largest number of unknowns of an eigenvalue problem. */
enum { MAX_WEIGHT_UNKNOWNS = 3000 };

#define SAME_EIGENVALUE 1e-7 /* relative to the norms: eigenvalues closer than this are equal */
#define ZERO_WEIGHT 1e-8     /* relative to the norms: sums of weights below this are zero */
#define MAX_CONDITION 1e8    /* largest condition number of the eigenvectors of a leg */

typedef double complex Complex;

static void set_mode_complex(const Problem *p, int leg, const Complex *m, const Complex *x,
                             Complex *y)
{
    const ptrdiff_t dim = p->leg[leg].dim, inner = reln_leg_stride(p, leg),
                    outer = reln_volume(p) / dim / inner;

    memset(y, 0, (size_t)reln_volume(p) * sizeof *y);
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

/* Returns the largest norm of a basis element on a leg, which is the scale of its weights. */
static double weight_scale(const Problem *p, int l)
{
    const Leg *leg = &p->leg[l];
    double scale = 0;

    for (int a = 0; a < p->rank; a++)
        scale = fmax(scale, reln_leg_norm(leg, leg->lie + (ptrdiff_t)a * leg->dim * leg->dim));
    return scale;
}

typedef struct Eigen {
    Complex *weight;            /* (dim) */
    Complex *vectors, *inverse; /* (dim, dim), eigenvectors in columns */
} Eigen;

typedef struct Entry {
    ptrdiff_t row, column; /* row and column of A_a: an entry of the tensor, and an unknown */
    Complex value;
} Entry;

typedef struct Weights {
    RelnArena *arena;
    const Problem *p;
    Eigen eigen[3];
    ptrdiff_t n;     /* number of unknowns */
    int (*index)[3]; /* (n): position of each unknown in the tensor of eigenvector coordinates */
    Complex *leg[3]; /* (dim, dim): one generator in the eigenbases */
    Entry *entries, *sorted;
    ptrdiff_t *start; /* (volume + 1): rows of sorted */
    Complex *gram;    /* (n, n), its lower triangle */
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

/* Collects eigenvalues within `tolerance` of the first remaining one; returns their number and mean. */
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

/* Finds orthonormal eigenvectors for each eigenvalue, including repeated ones: the kernel of m - mu. *good is
 * false if that kernel is smaller than the multiplicity, or if eigenvectors are nearly dependent. */
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
        if (w[count - 1] > RELN_ZERO_BELOW * scale * scale)
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

/* Called twice: to count, then to write. */
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

/* out = V^-1 m V, with rounding noise set to zero */
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

/* Lists entries column by column: unknown (i,j,k) contributes to (i',j,k), (i,j',k), (i,j,k'), and to itself
 * by the three diagonals. */
static ptrdiff_t list_entries(const Weights *w)
{
    ptrdiff_t count = 0;

    for (ptrdiff_t c = 0; c < w->n; c++) {
        ptrdiff_t self = 0;
        Complex diagonal = 0;
        for (int l = 0; l < 3; l++)
            self += w->index[c][l] * reln_leg_stride(w->p, l);
        for (int l = 0; l < 3; l++) {
            const ptrdiff_t dim = w->p->leg[l].dim, at = w->index[c][l],
                            step = reln_leg_stride(w->p, l);
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
    const ptrdiff_t rows = reln_volume(w->p);

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

/* Adds the lower triangle of A^H A to G, one row of A after the other. */
static void add_gram(const Weights *w)
{
    for (ptrdiff_t r = 0; r < reln_volume(w->p); r++)
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
    const size_t n = (size_t)w->n, rows = (size_t)reln_volume(w->p);
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
    return RELN_OK;
}

/* Converts kernel vectors (columns of v) back to the coordinates of the legs: real and imaginary part of
 * each. */
static RelnStatus from_eigenbasis(const Weights *w, ptrdiff_t count, const Complex *v, double *rows)
{
    const ptrdiff_t d = reln_volume(w->p);
    Complex *x = reln_arena_alloc(w->arena, (size_t)d, sizeof *x);
    Complex *y = reln_arena_alloc(w->arena, (size_t)d, sizeof *y);

    if (!x || !y)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t < count; t++) {
        memset(x, 0, (size_t)d * sizeof *x);
        for (ptrdiff_t c = 0; c < w->n; c++) {
            ptrdiff_t self = 0;
            for (int l = 0; l < 3; l++)
                self += w->index[c][l] * reln_leg_stride(w->p, l);
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

/* Finds the kernel of G. It is closed under complex conjugation, so its real dimension equals its complex
 * dimension. */
static RelnStatus weight_kernel(Weights *w, int *count, double **rows)
{
    const ptrdiff_t d = reln_volume(w->p);
    Complex *v = reln_arena_alloc(w->arena, (size_t)(w->n * w->n), sizeof *v);
    double *values = reln_arena_alloc(w->arena, (size_t)w->n, sizeof *values), *parts;
    ptrdiff_t zeros = 0;

    if (!v || !values)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_eigh_complex(w->arena->ctx, w->n, w->gram, values, v));
    RELN_TRY(reln_count_zeros(w->arena->ctx, w->n, values, reln_lie_scale(w->p), &zeros));
    *count = (int)zeros;
    if (zeros == 0)
        return RELN_OK;
    parts = reln_arena_alloc(w->arena, (size_t)(2 * zeros * d), sizeof *parts);
    *rows = reln_arena_alloc(w->arena, (size_t)(zeros * d), sizeof **rows);
    if (!parts || !*rows)
        return RELN_ERR_NOMEM;
    RELN_TRY(from_eigenbasis(w, zeros, v, parts));
    return reln_orthonormal_rows(w->arena, 2 * zeros, d, parts, zeros, *rows);
}

/* *good is false if weights cannot be used for this problem. */
RelnStatus reln_by_weights(RelnArena *arena, const Problem *p, int *count, double **rows,
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
