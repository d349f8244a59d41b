/* within.c -- softmax, sums and maxima among the rows below one item. */
#include <string.h>

#include "ops/rows.h"

/*!
 * reln_softmax_within() -- a[r] = exp(s[r]) / sum of exp(s[q]) over the rows q below the same item of `ancestor` as r
 *
 *     reln_softmax_within(g, scores, points)       // scores of pairs of points: over the second points of each first
 *
 * Shapes  a has the shape and the row domain of s
 * Rep     invariants
 * Notes   the largest score is subtracted first, so that nothing overflows
 */
RELN_API RelnNode *reln_softmax_within(RelnGraph *g, RelnNode *scores, RelnDomain ancestor);

/*!
 * reln_sum_within() -- z[r] = sum of x[q] over the rows q below the same item of `ancestor` as r
 *
 * Rep     as x
 * Notes   reln_spread() of reln_reduce() in one step; it is its own adjoint
 */
RELN_API RelnNode *reln_sum_within(RelnGraph *g, RelnNode *x, RelnDomain ancestor);

/*!
 * reln_is_max_within() -- 1 for the row with the largest x below each item of `ancestor`, for each channel; 0 for
 * other rows
 *
 *     reln_reduce(g, reln_mul(g, reln_is_max_within(g, score, RELN_SAMPLES), x), RELN_SAMPLES)   // x of the best row
 *
 * Rep     invariants; the result has no gradient
 * Notes   the first row on ties; NaN is never the largest
 */
RELN_API RelnNode *reln_is_max_within(RelnGraph *g, RelnNode *x, RelnDomain ancestor);

/* The second input numbers the item of the ancestor for each row; rows with equal numbers are adjacent. */
static bool infer_sum(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0];

    z->shape = x->shape;
    z->rep = x->rep;
    z->dtype = x->dtype;
    return x->dtype != RELN_I32 ||
           reln_graph_fail(g, RELN_ERR_ARG, "%s: indices are no numbers", z->op->name);
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    return infer_sum(g, z) && reln_want_invariant(g, z, z->in[0]);
}

static bool infer_is_max(RelnGraph *g, RelnNode *z)
{
    if (!infer(g, z))
        return false;
    z->needs_grad = false;
    return true;
}

/* For each run of rows with equal numbers: kernel(rows, elements of a row, x, z). */
static void each_group(const RelnExec *e,
                       void (*kernel)(ptrdiff_t, ptrdiff_t, const void *, void *))
{
    const int32_t *of = e->in[1];
    const ptrdiff_t item = reln_shape_count(&e->node->shape);
    const size_t size = reln_kern(e)->size;

    for (ptrdiff_t first = 0, end; first < e->n; first = end) {
        for (end = first + 1; end < e->n && of[end] == of[first];)
            end++;
        kernel(end - first, item, reln_at(e->in[0], first * item, size),
               reln_at(e->out, first * item, size));
    }
}

static RelnStatus forward_softmax(const RelnExec *e)
{
    each_group(e, reln_kern(e)->softmax_within);
    return RELN_OK;
}

static RelnStatus forward_sum(const RelnExec *e)
{
    each_group(e, reln_kern(e)->sum_within);
    return RELN_OK;
}

static RelnStatus forward_is_max(const RelnExec *e)
{
    each_group(e, reln_kern(e)->is_max_within);
    return RELN_OK;
}

static RelnNode *sum_of(RelnGraph *g, RelnNode *x, RelnNode *index)
{
    return reln_node(g, &reln_op_sum_within, 2, (RelnNode *[]){x, index}, NULL, 0, NULL);
}

/* ds = s (dx - sum(s dx)), a symmetric matrix */
static void vjp_softmax(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    RelnNode *s = reln_node(g, z->op, 2, z->in, NULL, 0, NULL);

    gin[0] = reln_mul(g, s, reln_sub(g, gz, sum_of(g, reln_mul(g, gz, s), z->in[1])));
}

static void vjp_sum(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = sum_of(g, gz, z->in[1]);
}

static double flops_softmax(const RelnNode *z)
{
    return 4.0 * (double)reln_shape_count(&z->shape);
}

/* ---- samples and builders ------------------------------------------------------------------------------------- */

static RelnNode *sample_softmax(RelnSampler *s, int index)
{
    const RelnDomain rows = reln_sample_rows(s);
    const RelnDomain pairs = reln_pairs(s->graph, "pairs", rows, rows, true);

    switch (index) {
    case 0:
        return reln_softmax_within(
            s->graph, reln_sample_normal(s, rows, (RelnDims){1, 2, 1, 1, 3}, NULL), RELN_SAMPLES);
    case 1:
        return reln_softmax_within(
            s->graph,
            reln_gather(s->graph, reln_sample_normal(s, rows, (RelnDims){.c = 2}, NULL),
                        reln_pair_second(s->graph, pairs)),
            rows);
    default:
        return NULL;
    }
}

static RelnNode *sample_sum(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const RelnDomain rows = reln_sample_rows(s);
    const RelnDomain coarse = reln_coarse(s->graph, "coarse", rows, 2);
    RelnNode *x =
        reln_sample_normal(s, rows, (RelnDims){1, 2, 1, reln_rep_dim(adjoint), 3}, adjoint);

    return index < 2 ? reln_sum_within(s->graph, x, index == 0 ? RELN_SAMPLES : coarse) : NULL;
}

static RelnNode *sample_is_max(RelnSampler *s, int index)
{
    const RelnDomain rows = reln_sample_rows(s);
    RelnNode *x = reln_sample_normal(s, rows, (RelnDims){1, 2, 1, 1, 3}, NULL);

    return index == 0 ? reln_mul(s->graph, x, reln_is_max_within(s->graph, x, RELN_SAMPLES)) : NULL;
}

const RelnOp reln_op_softmax_within = {
    .name = "softmax_within",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 2,
    .flags = RELN_OP_PARENTS,
    .infer = infer,
    .forward = forward_softmax,
    .vjp = vjp_softmax,
    .flops = flops_softmax,
    .sample = sample_softmax,
};

const RelnOp reln_op_sum_within = {
    .name = "sum_within",
    .rule = RELN_RULE_LINEAR,
    .n_in = 2,
    .flags = RELN_OP_PARENTS,
    .infer = infer_sum,
    .forward = forward_sum,
    .vjp = vjp_sum,
    .sample = sample_sum,
};

const RelnOp reln_op_is_max_within = {
    .name = "is_max_within",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 2,
    .flags = RELN_OP_PARENTS,
    .infer = infer_is_max,
    .forward = forward_is_max,
    .sample = sample_is_max,
};

static RelnNode *within(RelnGraph *g, const RelnOp *op, RelnNode *x, RelnDomain ancestor)
{
    RELN_NEED(g && x, NULL);

    return reln_node(g, op, 2, (RelnNode *[]){x, reln_row_parent(g, x->domain, ancestor)}, NULL, 0,
                     NULL);
}

RelnNode *reln_softmax_within(RelnGraph *g, RelnNode *scores, RelnDomain ancestor)
{
    return within(g, &reln_op_softmax_within, scores, ancestor);
}

RelnNode *reln_sum_within(RelnGraph *g, RelnNode *x, RelnDomain ancestor)
{
    return within(g, &reln_op_sum_within, x, ancestor);
}

RelnNode *reln_is_max_within(RelnGraph *g, RelnNode *x, RelnDomain ancestor)
{
    return within(g, &reln_op_is_max_within, x, ancestor);
}
