/* matfun.c -- functions of matrices that transform by conjugation, with derivatives of every order up to six. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "tensor/jet.h"

/*!
 * reln_matexp(), reln_matlog(), ... -- Z = f(X) for the n x n matrix X of every channel
 *
 * Shapes  x (..., K = n n, C), row-major, n <= 8 -> the same
 * Rep     reln_rep_matrix(): f(g X g^-1) = g f(X) g^-1
 * Notes   exp; principal logarithm and square root (no eigenvalue 0 or on the negative axis); inverse. Computed in double
 *         for both types. Derivatives, of up to six orders, are correct also where eigenvalues are equal
 * Fails   RELN_ERR_REP when x does not transform by conjugation; RELN_ERR_NUMERIC in a run, with the sample, if a
 *         number is not finite or f has no value
 */
RELN_API RelnNode *reln_matexp(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_matlog(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_matsqrt(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_matinv(RelnGraph *g, RelnNode *x);

/*!
 * reln_symexp(), reln_symlog(), ... -- Z = f(S), S = (X + X^T) / 2, for covariances and other symmetric matrices
 *
 * Shapes  as reln_matexp()
 * Rep     reln_rep_matrix() of a group of orthogonal matrices, which keeps symmetric matrices symmetric
 * Notes   eigenvalues must be positive for log, and not negative for sqrt (positive for its derivative)
 */
RELN_API RelnNode *reln_symexp(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_symlog(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_symsqrt(RelnGraph *g, RelnNode *x);

/* The m-th derivative L(A; E_1 .. E_m) of f at A is symmetric in its directions and a matrix again. The family is closed
 * under differentiation: Phi(H, E_1 .. E_m) = tr(H L(A; E_1 .. E_m)) is symmetric in all its m + 1 directions, since
 * it is the derivative of tr F(A), F' = f. Cotangents of matrices are in the dual rep, where transposition leads to
 * and from matrices:
 *   plain     Z = L(A; E_1 .. E_m)            <G, Z> = Phi(G^T, E_1 ..)
 *   turned    Z = L(A; G^T, E_2 .. E_m)^T     <W, Z> = Phi(W, G^T, E_2 ..), G = in[1] and Z in the dual rep
 * so that each gradient of either is one of the two. */
typedef struct Attr {
    RelnMatFun f;
    int order; /* m: in[0] is A, in[1..m] are the directions */
    bool symmetric;
    bool turned;
} Attr;

static const char *name_of(const Attr *a)
{
    static const char *const names[2][RELN_MATFUN_COUNT] = {
        {"matexp", "matlog", "matsqrt", "matinv"}, {"symexp", "symlog", "symsqrt", "syminv"}};

    return names[a->symmetric][a->f];
}

static int size_of(const RelnNode *z)
{
    return (int)lround(sqrt((double)z->shape.dims[RELN_K]));
}

/* ---- typing --------------------------------------------------------------------------------------------------- */

static bool want_matrix(RelnGraph *g, const RelnNode *z)
{
    RelnGroup *group = reln_graph_group(g);
    const Attr *a = z->attr;
    const RelnRep *matrix = reln_rep_matrix(group), *vector = reln_rep_vector(group);

    if (!matrix || !vector || !reln_rep_dual(matrix))
        return reln_graph_nomem(g);
    if (z->in[0]->rep != matrix)
        return reln_graph_fail(
            g, RELN_ERR_REP,
            "%s: its argument transforms as %s under %s, wanted %s: a matrix under conjugation",
            name_of(a), reln_rep_name(z->in[0]->rep), reln_group_name(group),
            reln_rep_name(matrix));
    if (a->symmetric && !reln_rep_is_orthogonal(vector))
        return reln_graph_fail(
            g, RELN_ERR_REP,
            "%s: %s has matrices that are not orthogonal, and then g S g^-1 is not symmetric; "
            "wanted a group of rotations, or reln_mat%s()",
            name_of(a), reln_group_name(group), name_of(a) + 3);
    if (reln_rep_dim(vector) > RELN_JET_SIZE)
        return reln_graph_fail(g, RELN_ERR_UNSUPPORTED, "%s: %dx%d matrices, up to %dx%d are there",
                               name_of(a), reln_rep_dim(vector), reln_rep_dim(vector),
                               RELN_JET_SIZE, RELN_JET_SIZE);
    return true;
}

static bool want_directions(RelnGraph *g, const RelnNode *z)
{
    const Attr *a = z->attr;
    const RelnNode *x = z->in[0];

    for (int i = 1; i <= a->order; i++) {
        const RelnNode *e = z->in[i];
        const RelnRep *rep = i == 1 && a->turned ? reln_rep_dual(x->rep) : x->rep;

        if (e->rep != rep || e->domain != x->domain ||
            memcmp(&e->shape, &x->shape, sizeof x->shape) != 0)
            return reln_graph_fail(
                g, RELN_ERR_SHAPE, "%s: direction %d is %s as %s, wanted %s as %s", name_of(a), i,
                reln_shape_text(e), reln_rep_name(e->rep), reln_shape_text(x), reln_rep_name(rep));
    }
    return true;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;

    if (!reln_want_float(g, z) || !want_matrix(g, z) || !want_directions(g, z))
        return false;
    z->shape = z->in[0]->shape;
    z->rep = a->turned ? reln_rep_dual(z->in[0]->rep) : z->in[0]->rep;
    return true;
}

/* ---- running -------------------------------------------------------------------------------------------------- */

/* Read number i of an array; consecutive numbers of a matrix are C apart. */
static double number_at(RelnDtype dtype, const void *x, ptrdiff_t i)
{
    return dtype == RELN_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void load(const RelnNode *z, int n, const void *x, ptrdiff_t at, bool turned, double *out)
{
    const ptrdiff_t c = z->shape.dims[RELN_C];
    const bool symmetric = ((const Attr *)z->attr)->symmetric;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double own = number_at(z->dtype, x, at + (turned ? j * n + i : i * n + j) * c);
            const double other = number_at(z->dtype, x, at + (turned ? i * n + j : j * n + i) * c);

            out[i * n + j] = symmetric ? 0.5 * (own + other) : own;
        }
}

static void store(const RelnNode *z, int n, const double *value, ptrdiff_t at, bool turned,
                  void *out)
{
    const ptrdiff_t c = z->shape.dims[RELN_C];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const ptrdiff_t to = at + (turned ? j * n + i : i * n + j) * c;

            if (z->dtype == RELN_F64)
                ((double *)out)[to] = value[i * n + j];
            else
                ((float *)out)[to] = (float)value[i * n + j];
        }
}

/* Fail with the position of the matrix; `at` counts numbers from the first item of the run. */
static RelnStatus no_value(const RelnExec *e, ptrdiff_t at, const char *why,
                           const double *eigenvalue)
{
    const RelnNode *z = e->node;
    const ptrdiff_t item = reln_shape_count(&z->shape), c = z->shape.dims[RELN_C];
    const char *name = name_of(z->attr);
    char place[48] = "at step level", value[40] = "";

    if (z->domain != RELN_STEP)
        snprintf(place, sizeof place, "of %s %td", z->domain == RELN_SAMPLES ? "sample" : "row",
                 e->first + at / item);
    if (eigenvalue)
        snprintf(value, sizeof value, " (%.3g)", *eigenvalue);
    return reln_exec_fail(e, RELN_ERR_NUMERIC,
                          "%s has no value for matrix %td, channel %td %s: %s%s", name,
                          at % item / (c * z->shape.dims[RELN_K]), at % c, place, why, value);
}

static bool all_finite(ptrdiff_t count, const double *x)
{
    for (ptrdiff_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* One matrix, which begins at number `at` of every operand. */
static RelnStatus apply(const RelnExec *e, int n, ptrdiff_t at)
{
    const RelnNode *z = e->node;
    const Attr *a = z->attr;
    const ptrdiff_t square = (ptrdiff_t)n * n;
    double *jet = e->scratch, *value = jet + reln_jet_count(n, a->order), *room = value + square;
    const char *why;
    double eigenvalue = 0;

    for (int i = 0; i <= a->order; i++) {
        double *x = jet + (i ? square << (i - 1) : 0);

        load(z, n, e->in[i], at, i == 1 && a->turned, x);
        if (!all_finite(square, x))
            return no_value(e, at, "a number is not finite", NULL);
    }
    if (a->symmetric && a->order == 0) {
        why = reln_sym_apply(a->f, n, jet, value, room, &eigenvalue);
        if (why)
            return no_value(e, at, why, &eigenvalue);
    } else {
        why = reln_jet_apply(a->f, n, a->order, jet, value, room);
        if (why)
            return no_value(e, at, why, NULL);
    }
    store(z, n, value, at, a->turned, e->out);
    return RELN_OK;
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnNode *z = e->node;
    const int n = size_of(z);
    const ptrdiff_t c = z->shape.dims[RELN_C], row = c * z->shape.dims[RELN_K];
    const ptrdiff_t rows = e->n * reln_shape_count(&z->shape) / row;

    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t i = 0; i < c; i++)
            RELN_TRY(apply(e, n, r * row + i));
    return RELN_OK;
}

static size_t scratch(const RelnNode *z, ptrdiff_t count)
{
    const int n = size_of(z), order = ((const Attr *)z->attr)->order;

    (void)count;
    return (size_t)(reln_jet_count(n, order) + n * n + reln_jet_room(n, order)) * sizeof(double);
}

/* Products of jets: the seven and a few squarings of exp; four roots and nine products for log, and one root, all
 * complex. The triangular form of the matrix itself takes about forty real ones. */
static double flops(const RelnNode *z)
{
    static const double products[RELN_MATFUN_COUNT] = {10, 52, 4, 1};
    static const double plain[RELN_MATFUN_COUNT] = {0, 40, 40, 0};
    const Attr *a = z->attr;
    const double n = size_of(z), each = 2.0 * n * n * n;

    return (products[a->f] * pow(3.0, a->order) + plain[a->f]) * each *
           (double)reln_shape_count(&z->shape) / (n * n);
}

/* ---- derivatives ---------------------------------------------------------------------------------------------- */

static RelnNode *derivative(RelnGraph *g, const Attr *like, bool turned, int order,
                            RelnNode *const *in)
{
    Attr attr;

    memset(&attr, 0, sizeof attr);
    attr.f = like->f;
    attr.order = order;
    attr.symmetric = like->symmetric;
    attr.turned = turned;
    if (order > RELN_JET_ORDER) {
        reln_graph_fail(g, RELN_ERR_UNSUPPORTED,
                        "%s: its derivative of order %d is wanted, there are %d", name_of(&attr),
                        order, RELN_JET_ORDER);
        return NULL;
    }
    return reln_node(g, &reln_op_matfun, order + 1, in, &attr, sizeof attr, NULL);
}

/* Phi without the direction `left_out` (0: none is left out, and A is differentiated), on the directions of z and gz.
 * The form is turned, with the direction in the dual rep first. */
static RelnNode *gradient(RelnGraph *g, const RelnNode *z, RelnNode *gz, int left_out)
{
    const Attr *a = z->attr;
    RelnNode *in[RELN_JET_ORDER + 2] = {z->in[0]};
    int count = 1;

    if (!a->turned)
        in[count++] = gz;
    for (int i = 1; i <= a->order; i++) {
        if (i != left_out)
            in[count++] = z->in[i];
        if (i == 1 && a->turned)
            in[count++] = gz;
    }
    return derivative(g, a, !(a->turned && left_out == 1), count - 1, in);
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    for (int i = 0; i < z->n_in; i++)
        gin[i] = gradient(g, z, gz, i);
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

/* 1 + x / 8, x normal: every function here is smooth around it. */
static RelnNode *near_one(RelnSampler *s, RelnDomain domain, RelnDims dims)
{
    double one[RELN_JET_SIZE * RELN_JET_SIZE] = {0};
    const RelnRep *matrix = reln_rep_matrix(reln_graph_group(s->graph));
    const int n = reln_rep_dim(reln_rep_vector(reln_graph_group(s->graph)));

    dims.k = n * n;
    for (int i = 0; i < n; i++)
        one[i * (n + 1)] = 1;
    return reln_add(s->graph, reln_const(s->graph, (RelnDims){.k = n * n}, matrix, one),
                    reln_scale(s->graph, reln_sample_normal(s, domain, dims, matrix), 0.125));
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const bool rotations = reln_rep_is_orthogonal(reln_rep_vector(reln_graph_group(s->graph)));
    const bool symmetric = index > 5;
    const Attr attr = {.f = (RelnMatFun)(symmetric ? index - 6 : index), .symmetric = symmetric};
    RelnNode *in[2];

    if (index > (rotations ? 8 : 5))
        return NULL;
    if (index < 4 || symmetric) {
        in[0] = near_one(s, index == 3 ? RELN_STEP : RELN_SAMPLES, (RelnDims){.r = 2, .c = 2});
        return derivative(s->graph, &attr, false, 0, in);
    }
    /* a first derivative, so that the tests reach the third */
    in[0] = near_one(s, RELN_SAMPLES, (RelnDims){.c = 1});
    in[1] = near_one(s, RELN_SAMPLES, (RelnDims){.c = 1});
    return derivative(s->graph, &(Attr){.f = index == 4 ? RELN_MATFUN_EXP : RELN_MATFUN_LOG}, false,
                      1, in);
}

const RelnOp reln_op_matfun = {
    .name = "matfun",
    .rule = RELN_RULE_CONJUGATION,
    .n_in = -1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .scratch = scratch,
    .flops = flops,
    .sample = sample,
};

static RelnNode *matfun(RelnGraph *g, RelnMatFun f, bool symmetric, RelnNode *x)
{
    return derivative(g, &(Attr){.f = f, .symmetric = symmetric}, false, 0, &x);
}

RelnNode *reln_matexp(RelnGraph *g, RelnNode *x)
{
    return matfun(g, RELN_MATFUN_EXP, false, x);
}

RelnNode *reln_matlog(RelnGraph *g, RelnNode *x)
{
    return matfun(g, RELN_MATFUN_LOG, false, x);
}

RelnNode *reln_matsqrt(RelnGraph *g, RelnNode *x)
{
    return matfun(g, RELN_MATFUN_SQRT, false, x);
}

RelnNode *reln_matinv(RelnGraph *g, RelnNode *x)
{
    return matfun(g, RELN_MATFUN_INVERSE, false, x);
}

RelnNode *reln_symexp(RelnGraph *g, RelnNode *x)
{
    return matfun(g, RELN_MATFUN_EXP, true, x);
}

RelnNode *reln_symlog(RelnGraph *g, RelnNode *x)
{
    return matfun(g, RELN_MATFUN_LOG, true, x);
}

RelnNode *reln_symsqrt(RelnGraph *g, RelnNode *x)
{
    return matfun(g, RELN_MATFUN_SQRT, true, x);
}
