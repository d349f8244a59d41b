/* gram.c -- products within an item: all pairs of rows, all pairs of channels, and the sums that they weigh. */
#include "ops/ops.h"

typedef struct Attr {
    bool transposed;
} Attr;

/*!
 * reln_gram() -- s[i, j] = sum_kc x[i, k, c] y[j, k, c]: every row of x with every row of y (attention scores)
 *
 * Shapes  x (P, Q, R = I, K, C), y (P, Q, R = J, K, C) -> (P, Q, R = I, K = 1, C = J); P and Q broadcast, and either
 *         may be at step level
 * Rep     y's is the dual of x's (apply a form to one of them first); the result is invariant
 * Cost    2 I J K C; one matrix product for each (P, Q) of an item
 */
RELN_API RelnNode *reln_gram(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_weigh() -- z[i, k, c] = sum_j a[i, j] v[j, k, c]: sums of the rows of v, weighed by invariants
 *
 * Shapes  a (P, Q, R = I, K = 1, C = J), v (P, Q, R = J, K, C) -> (P, Q, R = I, K, C); P and Q broadcast
 * Rep     a is invariant; z transforms as v
 * Cost    2 I J K C
 */
RELN_API RelnNode *reln_weigh(RelnGraph *g, RelnNode *a, RelnNode *v);

/*!
 * reln_weigh_t() -- z[j, k, c] = sum_i a[i, j] v[i, k, c], the transpose of a
 */
RELN_API RelnNode *reln_weigh_t(RelnGraph *g, RelnNode *a, RelnNode *v);

/*!
 * reln_channel_gram() -- s[c, d] = sum_rk x[r, k, c] y[r, k, d]: every channel of x with every channel of y
 *
 * Shapes  x (P, Q, R, K, C), y (P, Q, R, K, D) -> (P, Q, R = C, K = 1, C = D); P and Q broadcast, and either may be at
 *         step level. For one matrix at each point, have the points on P or Q and R = 1
 * Rep     y's is the dual of x's; the result is invariant
 * Cost    2 R K C D
 */
RELN_API RelnNode *reln_channel_gram(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_channel_mix() -- y[r, k, d] = sum_c x[r, k, c] w[c, d]: channels mixed by weights that each item has of its own
 *
 * Shapes  x (P, Q, R, K, C), w (P, Q, R = C, K = 1, C = D) -> (P, Q, R, K, D); P and Q broadcast
 * Rep     w is invariant; y transforms as x
 * Notes   with weights at step level reln_mix() is one large product instead of many small ones
 */
RELN_API RelnNode *reln_channel_mix(RelnGraph *g, RelnNode *x, RelnNode *w);

/*!
 * reln_channel_mix_t() -- y[r, k, c] = sum_d x[r, k, d] w[c, d], the transpose of w
 */
RELN_API RelnNode *reln_channel_mix_t(RelnGraph *g, RelnNode *x, RelnNode *w);

/* ---- one matrix product for each (P, Q) of each item ---------------------------------------------------------- */

/* c (m,n) = op(a) op(b); strides of a and b over items, P, Q are 0 where they are shared. Nothing here depends on the
 * number of items, so neither do the bits of one. */
typedef struct Product {
    bool ta, tb;
    ptrdiff_t m, n, k, lda, ldb;
    ptrdiff_t p, q;
    ptrdiff_t stride_a[3], stride_b[3];
} Product;

/* Elements of one matrix of x: everything inside Q. */
static ptrdiff_t matrix_of(const RelnNode *x)
{
    return (ptrdiff_t)x->shape.dims[RELN_R] * x->shape.dims[RELN_K] * x->shape.dims[RELN_C];
}

static void batch_strides(const RelnNode *z, const RelnNode *x, ptrdiff_t *stride)
{
    const ptrdiff_t one = matrix_of(x), p = x->shape.dims[RELN_P], q = x->shape.dims[RELN_Q];

    stride[2] = q == 1 ? 0 : one;
    stride[1] = p == 1 ? 0 : q * one;
    stride[0] = x->domain == RELN_STEP && z->domain != RELN_STEP ? 0 : p * q * one;
}

static size_t prepare_product(const RelnNode *z, Product shape, void *prepared)
{
    if (prepared) {
        shape.p = z->shape.dims[RELN_P];
        shape.q = z->shape.dims[RELN_Q];
        batch_strides(z, z->in[0], shape.stride_a);
        batch_strides(z, z->in[1], shape.stride_b);
        *(Product *)prepared = shape;
    }
    return sizeof(Product);
}

static RelnStatus forward(const RelnExec *e)
{
    const Product *s = e->prepared;
    const size_t size = reln_dtype_size(e->node->dtype);
    ptrdiff_t out = 0;

    for (ptrdiff_t i = 0; i < e->n; i++)
        for (ptrdiff_t p = 0; p < s->p; p++)
            for (ptrdiff_t q = 0; q < s->q; q++, out += s->m * s->n) {
                const ptrdiff_t at_a = i * s->stride_a[0] + p * s->stride_a[1] + q * s->stride_a[2];
                const ptrdiff_t at_b = i * s->stride_b[0] + p * s->stride_b[1] + q * s->stride_b[2];

                reln_gemm(e->gemm, e->node->dtype == RELN_F64, s->ta, s->tb, s->m, s->n, s->k,
                          reln_at(e->in[0], at_a, size), s->lda, reln_at(e->in[1], at_b, size),
                          s->ldb, false, reln_at(e->out, out, size), s->n);
            }
    return RELN_OK;
}

/* ---- shapes and reps ------------------------------------------------------------------------------------------ */

/* P and Q of z by broadcasting. */
static bool join_batch(RelnGraph *g, RelnNode *z)
{
    for (int a = RELN_P; a <= RELN_Q; a++) {
        const int x = z->in[0]->shape.dims[a], y = z->in[1]->shape.dims[a];

        if (x != y && x != 1 && y != 1)
            return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: P and Q of %s and %s do not broadcast",
                                   z->op->name, reln_shape_text(z->in[0]),
                                   reln_shape_text(z->in[1]));
        z->shape.dims[a] = x > y ? x : y;
    }
    return true;
}

static bool want_dual(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *y = z->in[1];

    if (y->rep != reln_rep_dual(x->rep))
        return reln_graph_fail(g, RELN_ERR_REP,
                               "%s: %s and %s are not dual to each other under %s; apply an "
                               "invariant form to one of them first",
                               z->op->name, reln_rep_name(x->rep), reln_rep_name(y->rep),
                               reln_group_name(reln_graph_group(g)));
    z->rep = reln_invariant(g, 1);
    return z->rep != NULL;
}

/* The matrix of weights: input `at` of z, invariant, K = 1. */
static bool want_weights(RelnGraph *g, const RelnNode *z, int at)
{
    const RelnNode *w = z->in[at];

    if (!reln_want_float(g, z) || !reln_want_invariant(g, z, w))
        return false;
    if (w->shape.dims[RELN_K] != 1)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: the weights are %s, wanted K = 1",
                               z->op->name, reln_shape_text(w));
    return true;
}

static bool is_transposed(const RelnNode *z)
{
    return ((const Attr *)z->attr)->transposed;
}

/* ---- gram ----------------------------------------------------------------------------------------------------- */

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *y = z->in[1];

    if (!reln_want_float(g, z) || !join_batch(g, z))
        return false;
    if (x->shape.dims[RELN_K] != y->shape.dims[RELN_K] ||
        x->shape.dims[RELN_C] != y->shape.dims[RELN_C])
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "gram: rows of %s and %s differ, wanted the same K and C",
                               reln_shape_text(x), reln_shape_text(y));
    z->shape.dims[RELN_R] = x->shape.dims[RELN_R];
    z->shape.dims[RELN_K] = 1;
    z->shape.dims[RELN_C] = y->shape.dims[RELN_R];
    return want_dual(g, z);
}

/* S (I,J) = X (I,KC) Y^T */
static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const int *x = z->in[0]->shape.dims;
    const ptrdiff_t row = (ptrdiff_t)x[RELN_K] * x[RELN_C];
    const Product s = {.tb = true,
                       .m = z->shape.dims[RELN_R],
                       .n = z->shape.dims[RELN_C],
                       .k = row,
                       .lda = row,
                       .ldb = row};

    (void)kern;
    return prepare_product(z, s, prepared);
}

/* S = X Y^T: gx = G Y, gy = G^T X */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_weigh(g, gz, z->in[1]);
    gin[1] = reln_weigh_t(g, gz, z->in[0]);
}

static double flops(const RelnNode *z)
{
    const int *x = z->in[0]->shape.dims;

    return 2.0 * (double)reln_shape_count(&z->shape) * x[RELN_K] * x[RELN_C];
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s), *dual = reln_rep_dual(adjoint);
    const int k = reln_rep_dim(adjoint);
    RelnNode *y;

    if (index > 2)
        return NULL;
    y = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 2}, dual);
    switch (index) {
    case 0:
        return reln_gram(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 4, k, 2}, adjoint), y);
    case 1: /* learned rows, against points with heads */
        return reln_gram(s->graph,
                         reln_sample_normal(s, RELN_STEP, (RelnDims){1, 2, 5, k, 2}, adjoint), y);
    default: /* one row, turned round */
        return reln_gram(s->graph, y,
                         reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 1, k, 2}, adjoint));
    }
}

const RelnOp reln_op_gram = {
    .name = "gram",
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .flops = flops,
    .sample = sample,
};

/* ---- weigh ---------------------------------------------------------------------------------------------------- */

static bool infer_weigh(RelnGraph *g, RelnNode *z)
{
    const RelnNode *a = z->in[0], *v = z->in[1];
    const int from = a->shape.dims[is_transposed(z) ? RELN_R : RELN_C];

    if (!want_weights(g, z, 0) || !join_batch(g, z))
        return false;
    if (v->shape.dims[RELN_R] != from)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "weigh: %s has %d rows, the weights take %d",
                               reln_shape_text(v), v->shape.dims[RELN_R], from);
    z->shape.dims[RELN_R] = a->shape.dims[is_transposed(z) ? RELN_C : RELN_R];
    z->shape.dims[RELN_K] = v->shape.dims[RELN_K];
    z->shape.dims[RELN_C] = v->shape.dims[RELN_C];
    z->rep = v->rep;
    return true;
}

/* Z (I,KC) = A (I,J) V (J,KC), or A^T */
static size_t prepare_weigh(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const int *v = z->in[1]->shape.dims;
    const ptrdiff_t row = (ptrdiff_t)v[RELN_K] * v[RELN_C];
    const Product s = {.ta = is_transposed(z),
                       .m = z->shape.dims[RELN_R],
                       .n = row,
                       .k = v[RELN_R],
                       .lda = z->in[0]->shape.dims[RELN_C],
                       .ldb = row};

    (void)kern;
    return prepare_product(z, s, prepared);
}

/* Z = A V: ga = G V^T, gv = A^T G; transposed, Z = A^T V: ga = V G^T, gv = A G */
static void vjp_weigh(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    RelnNode *a = z->in[0], *v = z->in[1];

    gin[0] = is_transposed(z) ? reln_gram(g, v, gz) : reln_gram(g, gz, v);
    gin[1] = is_transposed(z) ? reln_weigh(g, a, gz) : reln_weigh_t(g, a, gz);
}

static double flops_weigh(const RelnNode *z)
{
    return 2.0 * (double)reln_shape_count(&z->shape) * z->in[1]->shape.dims[RELN_R];
}

static RelnNode *sample_weigh(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *v;

    if (index > 2)
        return NULL;
    v = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 3, k, 2}, adjoint);
    switch (index) {
    case 0:
        return reln_weigh(s->graph,
                          reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 4, 1, 3}, NULL), v);
    case 1:
        return reln_weigh_t(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, 1, 5}, NULL), v);
    default: /* pooling with learned weights */
        return reln_weigh(s->graph,
                          reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 2, 1, 3}, NULL), v);
    }
}

const RelnOp reln_op_weigh = {
    .name = "weigh",
    .n_in = 2,
    .infer = infer_weigh,
    .forward = forward,
    .vjp = vjp_weigh,
    .prepare = prepare_weigh,
    .flops = flops_weigh,
    .sample = sample_weigh,
};

/* ---- channel_gram --------------------------------------------------------------------------------------------- */

static bool infer_channel_gram(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *y = z->in[1];

    if (!reln_want_float(g, z) || !join_batch(g, z))
        return false;
    if (x->shape.dims[RELN_R] != y->shape.dims[RELN_R] ||
        x->shape.dims[RELN_K] != y->shape.dims[RELN_K])
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "channel_gram: %s and %s, wanted the same R and K",
                               reln_shape_text(x), reln_shape_text(y));
    z->shape.dims[RELN_R] = x->shape.dims[RELN_C];
    z->shape.dims[RELN_K] = 1;
    z->shape.dims[RELN_C] = y->shape.dims[RELN_C];
    return want_dual(g, z);
}

/* S (C,D) = X^T Y, X (RK,C), Y (RK,D) */
static size_t prepare_channel_gram(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const int *x = z->in[0]->shape.dims, *y = z->in[1]->shape.dims;
    const Product s = {.ta = true,
                       .m = x[RELN_C],
                       .n = y[RELN_C],
                       .k = (ptrdiff_t)x[RELN_R] * x[RELN_K],
                       .lda = x[RELN_C],
                       .ldb = y[RELN_C]};

    (void)kern;
    return prepare_product(z, s, prepared);
}

/* S = X^T Y: gx = Y G^T, gy = X G */
static void vjp_channel_gram(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_channel_mix_t(g, z->in[1], gz);
    gin[1] = reln_channel_mix(g, z->in[0], gz);
}

static double flops_channel_gram(const RelnNode *z)
{
    const int *x = z->in[0]->shape.dims;

    return 2.0 * (double)reln_shape_count(&z->shape) * x[RELN_R] * x[RELN_K];
}

static RelnNode *sample_channel_gram(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s), *dual = reln_rep_dual(adjoint);
    const int k = reln_rep_dim(adjoint);
    RelnNode *y;

    if (index > 1)
        return NULL;
    y = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 2, k, 3}, dual);
    return reln_channel_gram(
        s->graph,
        index == 0 ? reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 2, k, 5}, adjoint)
                   : reln_sample_normal(s, RELN_STEP, (RelnDims){1, 3, 2, k, 4}, adjoint),
        y);
}

const RelnOp reln_op_channel_gram = {
    .name = "channel_gram",
    .n_in = 2,
    .infer = infer_channel_gram,
    .forward = forward,
    .vjp = vjp_channel_gram,
    .prepare = prepare_channel_gram,
    .flops = flops_channel_gram,
    .sample = sample_channel_gram,
};

/* ---- channel_mix ---------------------------------------------------------------------------------------------- */

static bool infer_channel_mix(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *w = z->in[1];
    const int from = w->shape.dims[is_transposed(z) ? RELN_C : RELN_R];

    if (!want_weights(g, z, 1) || !join_batch(g, z))
        return false;
    if (x->shape.dims[RELN_C] != from)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "channel_mix: %s has %d channels, the weights take %d",
                               reln_shape_text(x), x->shape.dims[RELN_C], from);
    z->shape.dims[RELN_R] = x->shape.dims[RELN_R];
    z->shape.dims[RELN_K] = x->shape.dims[RELN_K];
    z->shape.dims[RELN_C] = w->shape.dims[is_transposed(z) ? RELN_R : RELN_C];
    z->rep = x->rep;
    return true;
}

/* Y (RK,D) = X (RK,C) W (C,D), or W^T */
static size_t prepare_channel_mix(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const int *x = z->in[0]->shape.dims;
    const Product s = {.tb = is_transposed(z),
                       .m = (ptrdiff_t)x[RELN_R] * x[RELN_K],
                       .n = z->shape.dims[RELN_C],
                       .k = x[RELN_C],
                       .lda = x[RELN_C],
                       .ldb = z->in[1]->shape.dims[RELN_C]};

    (void)kern;
    return prepare_product(z, s, prepared);
}

/* Y = X W: gx = G W^T, gw = X^T G; transposed, Y = X W^T: gx = G W, gw = G^T X */
static void vjp_channel_mix(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    RelnNode *x = z->in[0], *w = z->in[1];

    gin[0] = is_transposed(z) ? reln_channel_mix(g, gz, w) : reln_channel_mix_t(g, gz, w);
    gin[1] = is_transposed(z) ? reln_channel_gram(g, gz, x) : reln_channel_gram(g, x, gz);
}

static double flops_channel_mix(const RelnNode *z)
{
    return 2.0 * (double)reln_shape_count(&z->shape) * z->in[0]->shape.dims[RELN_C];
}

static RelnNode *sample_channel_mix(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *x;

    if (index > 1)
        return NULL;
    x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 3, k, 4}, adjoint);
    return index == 0 ? reln_channel_mix(
                            s->graph, x,
                            reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 4, 1, 3}, NULL))
                      : reln_channel_mix_t(
                            s->graph, x,
                            reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 2, 1, 4}, NULL));
}

const RelnOp reln_op_channel_mix = {
    .name = "channel_mix",
    .n_in = 2,
    .infer = infer_channel_mix,
    .forward = forward,
    .vjp = vjp_channel_mix,
    .prepare = prepare_channel_mix,
    .flops = flops_channel_mix,
    .sample = sample_channel_mix,
};

/* ---- builders ------------------------------------------------------------------------------------------------- */

static RelnNode *with_flag(RelnGraph *g, const RelnOp *op, RelnNode *x, RelnNode *y,
                           bool transposed)
{
    const Attr attr = {transposed};

    return reln_node(g, op, 2, (RelnNode *[]){x, y}, &attr, sizeof attr, NULL);
}

RelnNode *reln_gram(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_gram, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}

RelnNode *reln_weigh(RelnGraph *g, RelnNode *a, RelnNode *v)
{
    return with_flag(g, &reln_op_weigh, a, v, false);
}

RelnNode *reln_weigh_t(RelnGraph *g, RelnNode *a, RelnNode *v)
{
    return with_flag(g, &reln_op_weigh, a, v, true);
}

RelnNode *reln_channel_gram(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_channel_gram, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}

RelnNode *reln_channel_mix(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return with_flag(g, &reln_op_channel_mix, x, w, false);
}

RelnNode *reln_channel_mix_t(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return with_flag(g, &reln_op_channel_mix, x, w, true);
}
