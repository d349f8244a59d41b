/* item_product.c -- products within an item: all pairs of rows or channels, and sums weighted by them. */
#include "ops/ops.h"

/* The features of an item are a matrix of rows (R by K C) or of channels (R K by C); weights (R by C, K = 1) are a matrix
 * in both cases. The op is Z = op(A) op(B), where one of A, B, Z is the weights: six wirings, closed under gradients. */
typedef enum Weights { WEIGHTS_A, WEIGHTS_B, WEIGHTS_Z } Weights;

/* Attribute of a node; ints, so that equal wirings have equal bytes. */
typedef struct Wiring {
    int channels; /* features are matrices of channels, not of rows */
    int ta, tb;   /* A, B transposed */
    int weights;  /* which of A, B, Z is the weights */
} Wiring;

static const Wiring gram = {.tb = 1, .weights = WEIGHTS_Z};
static const Wiring weigh = {.weights = WEIGHTS_A};
static const Wiring weigh_t = {.ta = 1, .weights = WEIGHTS_A};
static const Wiring channel_gram = {.channels = 1, .ta = 1, .weights = WEIGHTS_Z};
static const Wiring channel_mix = {.channels = 1, .weights = WEIGHTS_B};
static const Wiring channel_mix_t = {.channels = 1, .tb = 1, .weights = WEIGHTS_B};

/*!
 * reln_gram() -- s[i, j] = sum_kc x[i, k, c] y[j, k, c]: every row of x with every row of y (attention scores)
 *
 * Shapes  x (P, Q, R = I, K, C), y (P, Q, R = J, K, C) -> (P, Q, R = I, K = 1, C = J); P and Q broadcast, and either
 *         may be at step level
 * Rep     y is in the dual rep of x (apply a form to one of them first); the result is invariant
 * Cost    2 I J K C; one matrix product for each (P, Q) of an item
 */
RELN_API RelnNode *reln_gram(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_weigh() -- z[i, k, c] = sum_j a[i, j] v[j, k, c]: sums of the rows of v, weighted by invariants
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
 *         step level. For one matrix at each point, put the points on P or Q, with R = 1
 * Rep     y is in the dual rep of x; the result is invariant
 * Cost    2 R K C D
 */
RELN_API RelnNode *reln_channel_gram(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_channel_mix() -- y[r, k, d] = sum_c x[r, k, c] w[c, d]: channels mixed by separate weights for each item
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

/* ---- shapes and reps ------------------------------------------------------------------------------------------ */

static const Wiring *wiring_of(const RelnNode *z)
{
    return z->attr;
}

/* The builder's name, for messages. */
static const char *name_of(const Wiring *w)
{
    if (w->weights == WEIGHTS_Z)
        return w->channels ? "channel_gram" : "gram";
    return w->channels ? "channel_mix" : "weigh";
}

/* Rows and columns of a value of shape s. */
static ptrdiff_t rows_of(const Wiring *w, const RelnShape *s)
{
    return (ptrdiff_t)s->dims[RELN_R] * (w->channels ? s->dims[RELN_K] : 1);
}

static ptrdiff_t columns_of(const Wiring *w, const RelnShape *s)
{
    return (ptrdiff_t)s->dims[RELN_C] * (w->channels ? 1 : s->dims[RELN_K]);
}

/* The product of two features, summed over whole rows or over whole columns, gives weights. */
static bool infer_gram(RelnGraph *g, RelnNode *z)
{
    const Wiring *w = wiring_of(z);
    const RelnNode *x = z->in[0], *y = z->in[1];
    const RelnAxis other = w->channels ? RELN_R : RELN_C, pair = w->channels ? RELN_C : RELN_R;

    if (x->shape.dims[RELN_K] != y->shape.dims[RELN_K] ||
        x->shape.dims[other] != y->shape.dims[other])
        return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: %s and %s, wanted the same %s", name_of(w),
                               reln_shape_text(x), reln_shape_text(y),
                               w->channels ? "R and K" : "K and C");
    if (y->rep != reln_dual(g, x->rep))
        return reln_graph_fail(g, RELN_ERR_REP,
                               "%s: %s and %s are not dual to each other under %s; apply an "
                               "invariant form to one of them first",
                               name_of(w), reln_rep_name(x->rep), reln_rep_name(y->rep),
                               reln_group_name(reln_graph_group(g)));
    z->shape.dims[RELN_R] = x->shape.dims[pair];
    z->shape.dims[RELN_K] = 1;
    z->shape.dims[RELN_C] = y->shape.dims[pair];
    z->rep = reln_invariant(g, 1);
    return z->rep != NULL;
}

static bool want_weights(RelnGraph *g, const Wiring *w, const RelnNode *a)
{
    if (!reln_is_invariant(a))
        return reln_graph_fail(g, RELN_ERR_REP,
                               "%s: the weights transform as %s, wanted invariants", name_of(w),
                               reln_rep_name(a->rep));
    return a->shape.dims[RELN_K] == 1 ||
           reln_graph_fail(g, RELN_ERR_SHAPE, "%s: the weights are %s, wanted K = 1", name_of(w),
                           reln_shape_text(a));
}

/* The product with weights changes the extent of one axis of a feature, R or C. */
static bool infer_weighed(RelnGraph *g, RelnNode *z)
{
    const Wiring *w = wiring_of(z);
    const RelnNode *a = z->in[w->weights], *v = z->in[1 - w->weights];
    const RelnAxis axis = w->channels ? RELN_C : RELN_R;
    const bool from_r = w->channels ? !w->tb : w->ta;
    const int from = a->shape.dims[from_r ? RELN_R : RELN_C];

    if (!want_weights(g, w, a))
        return false;
    if (v->shape.dims[axis] != from)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: %s has %d %s, the weights take %d",
                               name_of(w), reln_shape_text(v), v->shape.dims[axis],
                               w->channels ? "channels" : "rows", from);
    for (int i = RELN_R; i <= RELN_C; i++)
        z->shape.dims[i] = v->shape.dims[i];
    z->shape.dims[axis] = a->shape.dims[from_r ? RELN_C : RELN_R];
    z->rep = v->rep;
    return true;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    if (!reln_want_float(g, z) || !reln_broadcast(g, z, 1 << RELN_P | 1 << RELN_Q, &z->shape))
        return false;
    return wiring_of(z)->weights == WEIGHTS_Z ? infer_gram(g, z) : infer_weighed(g, z);
}

/* ---- one matrix product for each (P, Q) of each item ---------------------------------------------------------- */

/* Z (m,n) = op(A) op(B); strides of A and B over items, P, Q are 0 where they are shared. Nothing here depends on the
 * number of items, so neither do the bits of one. */
typedef struct Product {
    ptrdiff_t m, n, k, lda, ldb;
    ptrdiff_t p, q;
    ptrdiff_t stride_a[RELN_LOOP_MAX], stride_b[RELN_LOOP_MAX];
} Product;

/* The length of the sums. */
static ptrdiff_t inner_of(const RelnNode *z)
{
    const Wiring *w = wiring_of(z);
    const RelnShape *a = &z->in[0]->shape;

    return w->ta ? rows_of(w, a) : columns_of(w, a);
}

static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const Wiring *w = wiring_of(z);
    const RelnNode *a = z->in[0], *b = z->in[1];
    Product *s = prepared;

    (void)kern;
    if (!s)
        return sizeof *s;
    *s = (Product){.m = rows_of(w, &z->shape),
                   .n = columns_of(w, &z->shape),
                   .k = inner_of(z),
                   .lda = columns_of(w, &a->shape),
                   .ldb = columns_of(w, &b->shape),
                   .p = z->shape.dims[RELN_P],
                   .q = z->shape.dims[RELN_Q]};
    reln_strides(&z->shape, &a->shape, reln_is_once(a, z), s->stride_a);
    reln_strides(&z->shape, &b->shape, reln_is_once(b, z), s->stride_b);
    return sizeof *s;
}

static RelnStatus forward(const RelnExec *e)
{
    const Wiring *w = wiring_of(e->node);
    const Product *s = e->prepared;
    const size_t size = reln_dtype_size(e->node->dtype);
    ptrdiff_t out = 0;

    for (ptrdiff_t i = 0; i < e->n; i++)
        for (ptrdiff_t p = 0; p < s->p; p++)
            for (ptrdiff_t q = 0; q < s->q; q++, out += s->m * s->n) {
                const ptrdiff_t at_a = i * s->stride_a[0] + p * s->stride_a[1] + q * s->stride_a[2];
                const ptrdiff_t at_b = i * s->stride_b[0] + p * s->stride_b[1] + q * s->stride_b[2];

                reln_gemm(e->gemm, e->node->dtype == RELN_F64, w->ta, w->tb, s->m, s->n, s->k,
                          reln_at(e->in[0], at_a, size), s->lda, reln_at(e->in[1], at_b, size),
                          s->ldb, false, reln_at(e->out, out, size), s->n);
            }
    return RELN_OK;
}

static RelnNode *product(RelnGraph *g, const Wiring *w, RelnNode *a, RelnNode *b)
{
    return reln_node(g, &reln_op_item_product, 2, (RelnNode *[]){a, b}, w, sizeof *w, NULL);
}

/* Z = op(A) op(B): G op(B)^T is the cotangent of op(A), and op(A)^T G that of op(B); where A or B is transposed, so is
 * its cotangent. The weights keep their role. */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const Wiring *w = wiring_of(z);
    RelnNode *a = z->in[0], *b = z->in[1];
    /* the roles of this product's A, B and Z in the product for the cotangent; one of them is the weights */
    const Wiring ga = w->ta ? (Wiring){w->channels, w->tb, 1, (int[]){2, 0, 1}[w->weights]}
                            : (Wiring){w->channels, 0, !w->tb, (int[]){2, 1, 0}[w->weights]};
    const Wiring gb = w->tb ? (Wiring){w->channels, 1, w->ta, (int[]){1, 2, 0}[w->weights]}
                            : (Wiring){w->channels, !w->ta, 0, (int[]){0, 2, 1}[w->weights]};

    gin[0] = w->ta ? product(g, &ga, b, gz) : product(g, &ga, gz, b);
    gin[1] = w->tb ? product(g, &gb, gz, a) : product(g, &gb, a, gz);
}

static double flops(const RelnNode *z)
{
    return 2.0 * (double)reln_shape_count(&z->shape) * (double)inner_of(z);
}

/* ---- samples and builders ------------------------------------------------------------------------------------- */

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s), *dual = reln_rep_dual(adjoint);
    const int k = reln_rep_dim(adjoint);
    /* P and Q that broadcast, inputs at step level (learned rows, pooling with learned weights), and single rows */
    const struct {
        const Wiring *wiring;
        RelnDomain domain_a;
        RelnDims a, b;
    } cases[] = {
        {&gram, RELN_SAMPLES, {2, 1, 4, k, 2}, {2, 1, 3, k, 2}},
        {&gram, RELN_STEP, {1, 2, 5, k, 2}, {2, 1, 3, k, 2}},
        {&gram, RELN_SAMPLES, {1, 1, 1, k, 2}, {2, 1, 3, k, 2}},
        {&weigh, RELN_SAMPLES, {1, 2, 4, 1, 3}, {1, 2, 3, k, 2}},
        {&weigh_t, RELN_SAMPLES, {2, 1, 3, 1, 5}, {1, 2, 3, k, 2}},
        {&weigh, RELN_STEP, {1, 1, 2, 1, 3}, {1, 2, 3, k, 2}},
        {&channel_gram, RELN_SAMPLES, {2, 1, 2, k, 5}, {2, 1, 2, k, 3}},
        {&channel_gram, RELN_STEP, {1, 3, 2, k, 4}, {2, 1, 2, k, 3}},
        {&channel_mix, RELN_SAMPLES, {1, 2, 3, k, 4}, {2, 1, 4, 1, 3}},
        {&channel_mix_t, RELN_SAMPLES, {1, 2, 3, k, 4}, {1, 2, 2, 1, 4}},
    };
    const Wiring *w;
    RelnNode *a;

    if (index >= (int)(sizeof cases / sizeof *cases))
        return NULL;
    w = cases[index].wiring;
    a = reln_sample_normal(s, cases[index].domain_a, cases[index].a,
                           w->weights == WEIGHTS_A ? NULL : adjoint);
    return product(s->graph, w, a,
                   reln_sample_normal(s, RELN_SAMPLES, cases[index].b,
                                      w->weights == WEIGHTS_B   ? NULL
                                      : w->weights == WEIGHTS_Z ? dual
                                                                : adjoint));
}

const RelnOp reln_op_item_product = {
    .name = "item_product",
    .rule = RELN_RULE_PAIRING,
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_gram(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return product(g, &gram, x, y);
}

RelnNode *reln_weigh(RelnGraph *g, RelnNode *a, RelnNode *v)
{
    return product(g, &weigh, a, v);
}

RelnNode *reln_weigh_t(RelnGraph *g, RelnNode *a, RelnNode *v)
{
    return product(g, &weigh_t, a, v);
}

RelnNode *reln_channel_gram(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return product(g, &channel_gram, x, y);
}

RelnNode *reln_channel_mix(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return product(g, &channel_mix, x, w);
}

RelnNode *reln_channel_mix_t(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return product(g, &channel_mix_t, x, w);
}
