/* frames.c -- see frames.h. */
#include "support/frames.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/linalg.h"

enum { SQUARE = FRAME_MAX * FRAME_MAX };

static void complete(RelnCtx *ctx, Frame *f)
{
    assert_ok(ctx, reln_inverse(ctx, f->n, f->g, f->inverse));
    assert_ok(ctx, reln_cond(ctx, f->n, f->g, &f->cond));
}

/* exp(eta^-1 K), K skew: its transpose times eta times itself is eta. */
Frame frame_metric(RelnCtx *ctx, RelnRng *rng, int n, const double *eta, const double *signs)
{
    Frame f = {.n = n};
    double a[SQUARE] = {0};

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const double k = 0.5 * reln_rng_normal(rng);
            a[i * n + j] = k / (eta ? eta[i] : 1);
            a[j * n + i] = -k / (eta ? eta[j] : 1);
        }
    assert_ok(ctx, reln_matrix_exp(ctx, n, a, f.g));
    for (int i = 0; signs && i < n * n; i++)
        f.g[i] *= signs[i / n];
    complete(ctx, &f);
    return f;
}

Frame frame_orthogonal(RelnCtx *ctx, RelnRng *rng, int n, int sign)
{
    double signs[FRAME_MAX] = {0};

    for (int i = 0; i < n; i++)
        signs[i] = i == 0 ? sign : 1;
    return frame_metric(ctx, rng, n, NULL, signs);
}

Frame frame_general(RelnCtx *ctx, RelnRng *rng, int n, double cond, int sign)
{
    const Frame left = frame_orthogonal(ctx, rng, n, sign);
    const Frame right = frame_orthogonal(ctx, rng, n, 1);
    Frame f = {.n = n};
    double scaled[SQUARE];

    for (int i = 0; i < n * n; i++)
        scaled[i] = left.g[i] * pow(cond, n > 1 ? (double)(i % n) / (n - 1) - 0.5 : 0);
    reln_mat_mul(n, n, n, scaled, right.g, f.g);
    complete(ctx, &f);
    return f;
}

Frame frame_extended(const Frame *frame)
{
    const int n = frame->n, m = n + 1;
    Frame f = {.n = m, .cond = frame->cond};

    f.g[m * m - 1] = f.inverse[m * m - 1] = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            f.g[i * m + j] = frame->g[i * n + j];
            f.inverse[i * m + j] = frame->inverse[i * n + j];
        }
    return f;
}

static void sandwich(int n, const double *left, const double *right, ptrdiff_t count,
                     const double *x, double *y)
{
    double tmp[SQUARE];

    for (ptrdiff_t k = 0; k < count; k++) {
        reln_mat_mul(n, n, n, left, x + k * n * n, tmp);
        reln_mat_mul(n, n, n, tmp, right, y + k * n * n);
    }
}

void frame_conjugate(const Frame *frame, ptrdiff_t count, const double *x, double *y)
{
    sandwich(frame->n, frame->g, frame->inverse, count, x, y);
}

/* Symmetrised: data that is symmetric stays exactly so. */
void frame_congruence(const Frame *frame, ptrdiff_t count, const double *x, double *y)
{
    const int n = frame->n;
    double transposed[SQUARE];

    reln_mat_transpose(n, n, frame->g, transposed);
    sandwich(n, frame->g, transposed, count, x, y);
    for (ptrdiff_t k = 0; k < count; k++, y += n * n)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                y[i * n + j] = y[j * n + i] = (y[i * n + j] + y[j * n + i]) / 2;
}

void frame_vectors(const Frame *frame, ptrdiff_t count, const double *v, double *y)
{
    for (ptrdiff_t k = 0; k < count; k++)
        reln_mat_mul(frame->n, frame->n, 1, frame->g, v + k * frame->n, y + k * frame->n);
}

void frame_covectors(const Frame *frame, ptrdiff_t count, const double *v, double *y)
{
    for (ptrdiff_t k = 0; k < count; k++)
        reln_mat_mul(1, frame->n, frame->n, v + k * frame->n, frame->inverse, y + k * frame->n);
}

double frame_error(ptrdiff_t count, const double *got, const double *want)
{
    double difference = 0, size = 0;

    for (ptrdiff_t i = 0; i < count; i++) {
        difference += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    return sqrt(difference / fmax(size, DBL_MIN));
}

double frame_gate(double cond)
{
    return DBL_EPSILON * (64 + 2 * cond * cond * cond);
}

void fill_positive(RelnCtx *ctx, RelnRng *rng, int n, ptrdiff_t count, double *s)
{
    for (ptrdiff_t k = 0; k < count; k++) {
        const Frame q = frame_orthogonal(ctx, rng, n, 1);
        double d[SQUARE] = {0};
        for (int i = 0; i < n; i++)
            d[i * n + i] = exp2(2 * reln_rng_uniform(rng) - 1);
        frame_congruence(&q, 1, d, s + k * n * n);
    }
}
