/* softmax.c -- normalised exponentials along an axis, their logarithms, and the cross entropy. */
#include "ops/ops.h"

typedef struct Attr {
    RelnAxis axis;
} Attr;

/*!
 * reln_softmax() -- z = exp(x) / sum exp(x), the sum along one axis
 *
 * Shapes  as x
 * Rep     invariants
 * Notes   the largest x is subtracted first, so nothing overflows. -inf gives 0 (a mask); if all are -inf, NaN
 */
RELN_API RelnNode *reln_softmax(RelnGraph *g, RelnNode *x, RelnAxis axis);

/*!
 * reln_logsumexp() -- z = log sum exp(x) along one axis, whose extent becomes 1
 *
 * Rep     invariants
 */
RELN_API RelnNode *reln_logsumexp(RelnGraph *g, RelnNode *x, RelnAxis axis);

/*!
 * reln_log_softmax() -- z = x - log sum exp(x) along one axis
 */
RELN_API RelnNode *reln_log_softmax(RelnGraph *g, RelnNode *x, RelnAxis axis);

/*!
 * reln_cross_entropy() -- z = log sum_c exp(logits[c]) - logits[label]: minus the log-probability of the label
 *
 * Shapes  logits (P,Q,R,K,C), C classes; label (P,Q,R,1,1), i32 in [0, C) -> (P,Q,R,K,1)
 * Rep     invariants
 */
RELN_API RelnNode *reln_cross_entropy(RelnGraph *g, RelnNode *logits, RelnNode *label);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;

    z->shape = z->in[0]->shape;
    z->rep = z->in[0]->rep;
    return reln_want_axis(g, z, axis) && reln_want_float(g, z) &&
           reln_want_invariant(g, z, z->in[0]);
}

static bool infer_logsumexp(RelnGraph *g, RelnNode *z)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;

    if (!infer(g, z))
        return false;
    z->shape.dims[axis] = 1;
    z->rep = reln_invariant(g, z->shape.dims[RELN_K]);
    return z->rep != NULL;
}

/* Run a kernel on every (extent, inner) block of the input; the kernel makes `rows` rows of the output. */
static void run(const RelnExec *e, void (*kernel)(ptrdiff_t, ptrdiff_t, const void *, void *))
{
    const RelnAxis axis = ((const Attr *)e->node->attr)->axis;
    const RelnShape *from = &e->node->in[0]->shape;
    const size_t size = reln_kern(e)->size;
    const ptrdiff_t extent = from->dims[axis], inner = reln_shape_behind(from, axis);
    const ptrdiff_t rows = e->node->shape.dims[axis];

    for (ptrdiff_t i = 0; i < e->n * reln_shape_before(from, axis); i++)
        kernel(extent, inner, reln_at(e->in[0], i * extent * inner, size),
               reln_at(e->out, i * rows * inner, size));
}

static RelnStatus forward(const RelnExec *e)
{
    run(e, reln_kern(e)->softmax);
    return RELN_OK;
}

static RelnStatus forward_logsumexp(const RelnExec *e)
{
    run(e, reln_kern(e)->logsumexp);
    return RELN_OK;
}

/* ds = s (dx - sum(s dx)), a symmetric matrix */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;
    RelnNode *s = reln_softmax(g, z->in[0], axis);

    gin[0] = reln_mul(g, s, reln_sub(g, gz, reln_sum(g, reln_mul(g, gz, s), axis)));
}

static void vjp_logsumexp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_mul(g, gz, reln_softmax(g, z->in[0], ((const Attr *)z->attr)->axis));
}

/* A subtraction, an exponential, a sum and a division for each input number. */
static double flops(const RelnNode *z)
{
    return 4.0 * (double)reln_shape_count(&z->in[0]->shape);
}

static RelnNode *sample_of(RelnSampler *s, int index,
                           RelnNode *(*build)(RelnGraph *, RelnNode *, RelnAxis))
{
    switch (index) {
    case 0:
        return build(s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 2, 5}, NULL),
                     RELN_C);
    case 1:
        return build(s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 4, 1, 1, 3}, NULL),
                     RELN_Q);
    case 2: /* longer than a block */
        return build(s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){3, 1, 1, 1, 67}, NULL),
                     RELN_P);
    default:
        return NULL;
    }
}

static RelnNode *sample(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_softmax);
}

static RelnNode *sample_logsumexp(RelnSampler *s, int index)
{
    RelnNode *x, *label;

    if (index < 3)
        return sample_of(s, index, reln_logsumexp);
    if (index > 3)
        return NULL;
    x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 5}, NULL);
    label = reln_sample_index(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 1}, RELN_STEP, 5);
    return reln_cross_entropy(s->graph, x, label);
}

const RelnOp reln_op_softmax = {
    .name = "softmax",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

const RelnOp reln_op_logsumexp = {
    .name = "logsumexp",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 1,
    .infer = infer_logsumexp,
    .forward = forward_logsumexp,
    .vjp = vjp_logsumexp,
    .flops = flops,
    .sample = sample_logsumexp,
};

RelnNode *reln_softmax(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    const Attr attr = {axis};

    return reln_node(g, &reln_op_softmax, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_logsumexp(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    const Attr attr = {axis};

    return reln_node(g, &reln_op_logsumexp, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_log_softmax(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    return reln_sub(g, x, reln_logsumexp(g, x, axis));
}

RelnNode *reln_cross_entropy(RelnGraph *g, RelnNode *logits, RelnNode *label)
{
    if (label && label->shape.dims[RELN_C] != 1) {
        reln_graph_fail(g, RELN_ERR_SHAPE, "cross_entropy: labels %s, wanted C = 1",
                        reln_shape_text(label));
        return NULL;
    }
    return reln_sub(g, reln_logsumexp(g, logits, RELN_C), reln_pick(g, logits, label, RELN_C));
}
