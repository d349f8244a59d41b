/* segment.c -- sums, means, maxima and softmax over the rows with the same index: sets of any size. */
#include <string.h>

#include "ops/rows.h"

typedef struct Attr {
    RelnDomain target;
} Attr;

/*!
 * reln_segment_argmax() -- for every item i and channel, the row with the largest score among those with index[r] = i
 *
 *     RelnNode *best = reln_segment_argmax(g, scores, reln_row_sample(g, points), RELN_SAMPLES);
 *     RelnNode *y = reln_gather(g, x, best);    // one point for each sample and channel: Max-Killing pooling
 *
 * Shapes  scores (..., K, C) and index (..., 1, C or 1) in one domain -> i32 with scores' items in `target`, the domain
 *         that index points into
 * Rep     invariant scores only; the result numbers rows, for reln_gather(), and carries no gradient
 * Notes   the first row on ties; -1 where there are no rows. Rows are counted within the shard, so the numbers are
 *         meaningful to reln_gather() only
 */
RELN_API RelnNode *reln_segment_argmax(RelnGraph *g, RelnNode *scores, RelnNode *index,
                                       RelnDomain target);

/*!
 * reln_segment_sum() -- z[i] = sum of x[r] over the rows r with index[r] = i; another name of reln_scatter_add()
 */
RELN_API RelnNode *reln_segment_sum(RelnGraph *g, RelnNode *x, RelnNode *index, RelnDomain target);

/*!
 * reln_segment_mean() -- the mean of x[r] over the rows r with index[r] = i; 0 if there are none
 *
 * Rep     as x
 */
RELN_API RelnNode *reln_segment_mean(RelnGraph *g, RelnNode *x, RelnNode *index, RelnDomain target);

/*!
 * reln_segment_max() -- the largest x[r] with index[r] = i, for each channel; 0 if there are no rows
 *
 * Rep     invariants. For other features, use reln_gather() with the reln_segment_argmax() of invariant scores
 */
RELN_API RelnNode *reln_segment_max(RelnGraph *g, RelnNode *x, RelnNode *index, RelnDomain target);

/*!
 * reln_segment_softmax() -- a[r] = exp(s[r]) / sum of exp(s[q]) over the rows q with index[q] = index[r]
 *
 * Shapes  a has the shape and domain of the scores s
 * Rep     invariants
 * Notes   the largest score of a segment is subtracted first, so that nothing overflows
 */
RELN_API RelnNode *reln_segment_softmax(RelnGraph *g, RelnNode *scores, RelnNode *index,
                                        RelnDomain target);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *index = z->in[1];

    if (x->dtype == RELN_I32)
        return reln_graph_fail(g, RELN_ERR_ARG, "segment_argmax: indices are no scores");
    if (x->domain != index->domain)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "segment_argmax: scores of %s, but indices for %s",
                               reln_domain_name(g, x->domain), reln_domain_name(g, index->domain));
    z->shape = x->shape;
    z->domain = ((const Attr *)z->attr)->target;
    z->dtype = RELN_I32;
    z->target = x->domain;
    return reln_want_invariant(g, z, x) && reln_want_index(g, z, index, x, z->domain);
}

static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    (void)kern;
    if (prepared)
        reln_row_loops(z->in[1], &z->shape, prepared);
    return sizeof(RelnLoops);
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnLoops *loops = e->prepared;
    const RelnRealKernels *k = e->node->in[0]->dtype == RELN_F64 ? e->kern->f64 : e->kern->f32;

    for (ptrdiff_t i = 0; i < e->n * loops->item; i++)
        ((int32_t *)e->out)[i] = -1;
    for (RelnWalk w = reln_walk_items(loops, e->n_in[0]); !w.done; reln_walk_next(&w, 1)) {
        const ptrdiff_t within = reln_row_within(&w);

        k->argmax_row(w.run, reln_row_index(&w, e->in[1], e->n), reln_walk_stride(&w, 0),
                      loops->item, w.index[0], reln_at(e->in[0], within, k->size),
                      (int32_t *)e->out + within);
    }
    return RELN_OK;
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0; /* comparisons are not counted */
}

/* The samples' outputs are the chosen features and values computed from them, not the row numbers, which depend on how
 * the batch is divided. */
static RelnNode *sample(RelnSampler *s, int index)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    const RelnDomain rows = reln_sample_rows(s), edges = reln_rows(g, "edges", 7);
    RelnNode *of = reln_row_sample(g, rows);
    RelnNode *x = reln_sample_normal(s, rows, (RelnDims){1, 2, 1, k, 3}, adjoint);
    RelnNode *score = reln_sample_normal(s, rows, (RelnDims){1, 2, 1, 1, 3}, NULL);
    RelnNode *flow = reln_sample_normal(s, edges, (RelnDims){1, 1, 2, 1, 3}, NULL);
    RelnNode *ends = reln_sample_index(s, edges, (RelnDims){1, 1, 1, 1, 3}, rows, 0);

    switch (index) {
    case 0:
        return reln_gather(g, x, reln_segment_argmax(g, score, of, RELN_SAMPLES));
    case 1:
        return reln_segment_max(g, flow, ends, rows);
    case 2:
        return reln_segment_mean(g, x, of, RELN_SAMPLES);
    case 3:
        return reln_segment_mean(g, flow, ends, rows);
    case 4:
        return reln_segment_softmax(g, score, of, RELN_SAMPLES);
    case 5:
        return reln_segment_softmax(g, flow, ends, rows);
    case 6: /* attention over a set */
        return reln_segment_sum(g, reln_mul(g, reln_segment_softmax(g, score, of, RELN_SAMPLES), x),
                                of, RELN_SAMPLES);
    default:
        return NULL;
    }
}

const RelnOp reln_op_segment_argmax = {
    .name = "segment_argmax",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 2,
    .flags = RELN_OP_DOMAINS,
    .infer = infer,
    .forward = forward,
    .prepare = prepare,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_segment_argmax(RelnGraph *g, RelnNode *scores, RelnNode *index, RelnDomain target)
{
    const Attr attr = {target};

    return reln_node(g, &reln_op_segment_argmax, 2, (RelnNode *[]){scores, index}, &attr,
                     sizeof attr, NULL);
}

RelnNode *reln_segment_sum(RelnGraph *g, RelnNode *x, RelnNode *index, RelnDomain target)
{
    return reln_scatter_add(g, x, index, target);
}

/* x where x > 0, and 1 where it is 0: a divisor for sums over sets that may be empty. */
static RelnNode *or_one(RelnGraph *g, RelnNode *x)
{
    return reln_add(g, x, reln_shift(g, reln_step(g, x), -1.0, 1.0));
}

RelnNode *reln_segment_mean(RelnGraph *g, RelnNode *x, RelnNode *index, RelnDomain target)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    RelnNode *one = x ? reln_cast(g, reln_scalar(g, 1.0), x->dtype) : NULL;
    RelnNode *count = reln_scatter_add(g, reln_expand(g, one, index), index, target);

    return reln_div(g, reln_scatter_add(g, x, index, target), or_one(g, count));
}

RelnNode *reln_segment_max(RelnGraph *g, RelnNode *x, RelnNode *index, RelnDomain target)
{
    return reln_gather(g, x, reln_segment_argmax(g, x, index, target));
}

/* The largest score m of a segment cancels: for the value and every derivative it is a constant. A sum is at least
 * exp(m - m) = 1 where there are rows. */
RelnNode *reln_segment_softmax(RelnGraph *g, RelnNode *scores, RelnNode *index, RelnDomain target)
{
    RelnNode *fixed = reln_stop_gradient(g, scores);
    RelnNode *m = reln_gather(g, reln_segment_max(g, fixed, index, target), index);
    RelnNode *e = reln_exp(g, reln_sub(g, scores, m));
    RelnNode *sum = reln_scatter_add(g, e, index, target);

    return reln_mul(g, e, reln_gather(g, reln_reciprocal(g, or_one(g, sum)), index));
}
