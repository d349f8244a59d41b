/* data.c -- pairs of matrices, functions of them, frames. */
#include <math.h>
#include <string.h>

#include "tasks/gln/gln.h"

/* ---- small matrices ---------------------------------------------------------------------------------------------- */

static void multiply(int n, const double *a, const double *b, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            out[i * n + j] = sum;
        }
}

static void multiply_transposed(int n, const double *a, const double *b, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[j * n + k];
            out[i * n + j] = sum;
        }
}

static double trace(int n, const double *x)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i * n + i];
    return sum;
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

/* B~(X, Y) */
static void completed_form(int n, const double *x, const double *y, double *out)
{
    double xy[GLN_K];

    multiply(n, x, y, xy);
    *out = 2 * n * trace(n, xy) - trace(n, x) * trace(n, y);
}

static void trace_product(int n, const double *x, const double *y, double *out)
{
    *out = trace(n, x) * trace(n, y);
}

static void trace_square(int n, const double *x, const double *y, double *out)
{
    (void)y;
    *out = trace(n, x) * trace(n, x);
}

static void trace_alone(int n, const double *x, const double *y, double *out)
{
    (void)y;
    *out = trace(n, x);
}

static void trace_cube(int n, const double *x, const double *y, double *out)
{
    double square[GLN_K], cube[GLN_K];

    (void)y;
    multiply(n, x, x, square);
    multiply(n, square, x, cube);
    *out = trace(n, cube);
}

/* c_k of the characteristic polynomial by Faddeev and LeVerrier: M_1 = X, c_k = -tr(M_k)/k, M_k+1 = X (M_k + c_k I),
 * and det X = (-1)^n c_n. */
static void determinant(int n, const double *x, const double *y, double *out)
{
    double m[GLN_K], next[GLN_K], c = 0;

    (void)y;
    memcpy(m, x, (size_t)(n * n) * sizeof *m);
    for (int k = 1; k <= n; k++) {
        c = -trace(n, m) / k;
        for (int i = 0; i < n; i++)
            m[i * n + i] += c;
        multiply(n, x, m, next);
        memcpy(m, next, (size_t)(n * n) * sizeof *m);
    }
    *out = n % 2 == 0 ? c : -c;
}

static void square(int n, const double *x, const double *y, double *out)
{
    (void)y;
    multiply(n, x, x, out);
}

static void commutator(int n, const double *x, const double *y, double *out)
{
    double xy[GLN_K], yx[GLN_K];

    multiply(n, x, y, xy);
    multiply(n, y, x, yx);
    for (int i = 0; i < n * n; i++)
        out[i] = xy[i] - yx[i];
}

/* [X, [X, Y]] */
static void double_commutator(int n, const double *x, const double *y, double *out)
{
    double inner[GLN_K];

    commutator(n, x, y, inner);
    commutator(n, x, inner, out);
}

/* The target on lifted covariances: |log(S^-1 T)|^2 = tr (X - Y)^2 with X = log(S Sbar^-1), Y = log(T
 * Sbar^-1), since S Sbar^-1 + T Sbar^-1 = 2 I makes X and Y commute. It is the squared affine-invariant
 * distance of S and T, which every congruence keeps. */
static void distance(int n, const double *x, const double *y, double *out)
{
    double d[GLN_K], dd[GLN_K];

    for (int i = 0; i < n * n; i++)
        d[i] = x[i] - y[i];
    multiply(n, d, d, dd);
    *out = trace(n, dd);
}

const GlnTarget gln_targets[GLN_TARGETS] = {
    {.name = "form", .of = completed_form},
    {.name = "trace-product", .of = trace_product},
    {.name = "trace-square", .of = trace_square},
    {.name = "trace", .of = trace_alone},
    {.name = "det", .of = determinant},
    {.name = "trace-cube", .of = trace_cube},
    {.name = "square", .element = true, .of = square},
    {.name = "commutator", .element = true, .of = double_commutator},
    {.name = "covariance", .covariance = true, .of = distance},
};

int gln_outputs(const GlnTarget *target, int n)
{
    return target->element ? n * n : 1;
}

/* ---- drawing and moving ------------------------------------------------------------------------------------------ */

RelnStatus gln_frame(const RelnAlgebra *gl, RelnRng *rng, double cond, GlnFrame *frame)
{
    return reln_algebra_random_group(gl, rng, cond, frame->g, frame->inverse, NULL);
}

/* exp of the symmetric part */
static RelnStatus covariance_of(RelnCtx *ctx, int n, double *x)
{
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            x[i * n + j] = x[j * n + i] = (x[i * n + j] + x[j * n + i]) / 2;
    return reln_matrix_sym(ctx, n, x, exp, x);
}

RelnStatus gln_draw(RelnCtx *ctx, const GlnTarget *target, int n, RelnRng *rng, double *pair)
{
    for (int i = 0; i < 2 * n * n; i++)
        pair[i] = 2 * reln_rng_uniform(rng) - 1;
    for (int c = 0; c < 2 && target->covariance; c++)
        TRY(covariance_of(ctx, n, pair + c * n * n));
    return RELN_OK;
}

static void conjugate(int n, const GlnFrame *frame, const double *x, double *out)
{
    double gx[GLN_K];

    multiply(n, frame->g, x, gx);
    multiply(n, gx, frame->inverse, out);
}

/* g S g^T, made exactly symmetric. */
static void congruence(int n, const GlnFrame *frame, const double *s, double *out)
{
    double gs[GLN_K], moved[GLN_K];

    multiply(n, frame->g, s, gs);
    multiply_transposed(n, gs, frame->g, moved);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i * n + j] = (moved[i * n + j] + moved[j * n + i]) / 2;
}

void gln_move_pair(const GlnTarget *target, int n, const GlnFrame *frame, const double *pair,
                   double *out)
{
    for (int c = 0; c < 2; c++)
        (target->covariance ? congruence : conjugate)(n, frame, pair + c * n * n, out + c * n * n);
}

void gln_move_target(const GlnTarget *target, int n, const GlnFrame *frame, const double *y,
                     double *out)
{
    if (target->element)
        conjugate(n, frame, y, out);
    else
        *out = *y;
}

/* ---- lifts ------------------------------------------------------------------------------------------------------- */

static RelnStatus lift_covariances(RelnCtx *ctx, GlnLift lift, int n, const double *pair, double *x)
{
    double sbar[GLN_K];

    if (lift == GLN_LIFT_LOG)
        return reln_lift_covariance_log(ctx, n, 2, pair, x);
    TRY(reln_reference_mean(ctx, n, 2, pair, 0, NULL, sbar));
    return reln_lift_congruence_log(ctx, n, sbar, 2, pair, x);
}

RelnStatus gln_lift(RelnCtx *ctx, const GlnTarget *target, GlnLift lift, int n, const double *pair,
                    double *out)
{
    double x[GLN_PAIR];

    if (target->covariance)
        TRY(lift_covariances(ctx, lift, n, pair, x));
    else
        memcpy(x, pair, (size_t)(2 * n * n) * sizeof *x);
    for (int k = 0; k < n * n; k++)
        for (int c = 0; c < 2; c++)
            out[2 * k + c] = x[c * n * n + k];
    return RELN_OK;
}

RelnStatus gln_unlift(RelnCtx *ctx, const GlnTarget *target, int n, const double *x, double *pair)
{
    for (int k = 0; k < n * n; k++)
        for (int c = 0; c < 2; c++)
            pair[c * n * n + k] = x[2 * k + c];
    for (int c = 0; c < 2 && target->covariance; c++)
        TRY(reln_matrix_sym(ctx, n, pair + c * n * n, exp, pair + c * n * n));
    return RELN_OK;
}

RelnStatus gln_value(RelnCtx *ctx, const GlnTarget *target, int n, const double *pair, double *y)
{
    double x[GLN_PAIR];

    if (target->covariance)
        TRY(lift_covariances(ctx, GLN_LIFT_REFERENCE, n, pair, x));
    else
        memcpy(x, pair, (size_t)(2 * n * n) * sizeof *x);
    target->of(n, x, x + n * n, y);
    return RELN_OK;
}
