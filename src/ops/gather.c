/* gather.c -- selects items by index, and its adjoint: adds items at the indices. */
#include <string.h>

#include "ops/rows.h"

typedef struct Attr {
    RelnDomain target;
} Attr;

/*!
 * reln_gather() -- z[r] = x[index[r]]: for every row r, the item of x at its index
 *
 *     reln_gather(g, x, reln_row_sample(g, points))       // each point gets the features of its sample
 *     reln_gather(g, x, source)                           // each edge gets the features of its first point, with
 *     source = reln_input_index(g, "source", edges, (RelnDims){0}, points, 0)
 *
 * Shapes  x (..., K, C) in one domain, index (..., 1, C or 1) in another -> z with x's items in index's domain. One
 *         index for a row, or one for each channel or leading axis: its extents equal x's or are 1
 * Rep     as x. An index has K = 1, so that coordinates stay together (invariants may be chosen one by one)
 * Notes   an index of -1 (the argmax of an empty set) gives 0. x may hold indices; then -1 gives -1
 * Fails   RELN_ERR_ARG when the index does not number items of x's domain
 */
RELN_API RelnNode *reln_gather(RelnGraph *g, RelnNode *x, RelnNode *index);

/*!
 * reln_scatter_add() -- z[i] = sum of y[r] over the rows r with index[r] = i: the adjoint of reln_gather()
 *
 * Shapes  y (..., K, C) and index (..., 1, C or 1) in one domain -> z with y's items in the domain `target`, the one
 *         that index points into; y at step level is repeated for every row
 * Rep     as y
 * Notes   starts from 0, adds in the order of rows: so the bits do not depend on how the batch is divided. -1 adds
 *         nothing
 * Cost    one addition for each element of y
 */
RELN_API RelnNode *reln_scatter_add(RelnGraph *g, RelnNode *y, RelnNode *index, RelnDomain target);

/*!
 * reln_spread() -- z[r] = x[a], where a is the item of x's domain, an ancestor of `rows`, that row r belongs to
 *
 *     reln_spread(g, x, points)     // x of samples: each point gets the value of its sample
 *     reln_spread(g, h, pairs)      // h of points: each pair gets the value of its first point
 *
 * Shapes  as x, in the domain `rows`
 * Rep     as x
 */
RELN_API RelnNode *reln_spread(RelnGraph *g, RelnNode *x, RelnDomain rows);

/*!
 * reln_spread_second() -- z[(i, j)] = x[j], the value of the second row of each pair
 */
RELN_API RelnNode *reln_spread_second(RelnGraph *g, RelnNode *x, RelnDomain pairs);

/*!
 * reln_reduce() -- sums x over the rows below each item of `ancestor`; 0 if there are none
 *
 * reln_reduce_mean(): the mean. reln_reduce_max(): the largest of each channel, for invariants; on ties the first row
 * gets the gradient. reln_reduce_count(): the number of rows, (1, 1)
 *
 * Shapes  as x, in the domain `ancestor`
 * Rep     as x
 * Notes   adds in the order of rows, however the batch is divided into tiles
 */
RELN_API RelnNode *reln_reduce(RelnGraph *g, RelnNode *x, RelnDomain ancestor);
RELN_API RelnNode *reln_reduce_mean(RelnGraph *g, RelnNode *x, RelnDomain ancestor);
RELN_API RelnNode *reln_reduce_max(RelnGraph *g, RelnNode *x, RelnDomain ancestor);
RELN_API RelnNode *reln_reduce_count(RelnGraph *g, RelnDomain rows, RelnDomain ancestor);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *index = z->in[1];

    z->shape = x->shape;
    z->domain = index->domain;
    z->dtype = x->dtype;
    z->target = x->target;
    z->rep = x->rep;
    if (x->domain == RELN_STEP)
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "gather: %s is at step level, where there is one item only",
                               reln_shape_text(x));
    return reln_want_index(g, z, index, x, x->domain);
}

static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    (void)kern;
    if (prepared)
        reln_row_loops(z->in[1], &z->in[0]->shape, prepared);
    return sizeof(RelnLoops);
}

/* Gather indices by indices: an index of -1 gives -1. */
static void gather_i32(ptrdiff_t n, const int32_t *index, ptrdiff_t si, ptrdiff_t item,
                       const int32_t *x, int32_t *y)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = index[i * si] < 0 ? -1 : x[index[i * si] * item + i];
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnLoops *loops = e->prepared;
    const RelnRealKernels *k = reln_kern(e);
    const bool numbers = e->node->dtype != RELN_I32;

    if (numbers && reln_index_per_row(loops)) {
        reln_check_rows(e->in[1], e->n, e->n_in[0]);
        k->gather_rows(e->n, e->in[1], loops->item, e->in[0], e->out);
        return RELN_OK;
    }
    for (RelnWalk w = reln_walk_items(loops, e->n); !w.done; reln_walk_next(&w, 1)) {
        const int32_t *index = reln_row_index(&w, e->in[1], e->n_in[0]);
        const void *x = reln_at(e->in[0], reln_row_within(&w), k->size);
        void *y = reln_at(e->out, w.out, k->size);

        if (numbers)
            k->gather(w.run, index, reln_walk_stride(&w, 0), loops->item, x, y);
        else
            gather_i32(w.run, index, reln_walk_stride(&w, 0), loops->item, x, y);
    }
    return RELN_OK;
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_scatter_add(g, gz, z->in[1], z->in[0]->domain);
}

/* A sample graph: points of a sample, and edges between them. */
static RelnNode *sample_of(RelnSampler *s, int index, bool scatter)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    const RelnDomain points = reln_sample_rows(s), edges = reln_rows(g, "edges", 7);
    const RelnDomain from[] = {points, edges, edges, points}, to[] = {1, points, points, points};
    const RelnDims dims[] = {{1, 1, 2, k, 3}, {1, 1, 1, k, 4}, {2, 1, 3, k, 2}, {1, 1, 1, 3, 1}};
    const RelnDims each[] = {{0}, {0}, {2, 1, 1, 1, 2}, {1, 1, 1, 3, 1}};
    const RelnRep *rep = index < 3 ? adjoint : NULL;
    RelnNode *x, *i;

    if (index > 3)
        return NULL;
    x = reln_sample_normal(s, scatter ? from[index] : to[index], dims[index], rep);
    i = index == 0 ? reln_row_sample(g, points)
                   : reln_sample_index(s, from[index], each[index], to[index], 0);
    return scatter ? reln_scatter_add(g, x, i, to[index]) : reln_gather(g, x, i);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    return sample_of(s, index, false);
}

/* Rows with one index each can be read in place. */
static bool link(const RelnNode *z, RelnLink *out)
{
    out->kind = RELN_LINK_LOAD;
    return z->dtype != RELN_I32 && reln_shape_count(&z->in[1]->shape) == 1 &&
           reln_shape_count(&z->shape) > 1;
}

const RelnOp reln_op_gather = {
    .name = "gather",
    .rule = RELN_RULE_LINEAR,
    .n_in = 2,
    .flags = RELN_OP_DOMAINS,
    .tiling = RELN_TILED_BY_RESULT,
    .whole = 1, /* reads any item of x */
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .link = link,
    .flops = flops,
    .sample = sample,
};

/* ---- scatter_add ---------------------------------------------------------------------------------------------- */

static bool infer_scatter(RelnGraph *g, RelnNode *z)
{
    const RelnNode *y = z->in[0], *index = z->in[1];

    z->shape = y->shape;
    z->domain = ((const Attr *)z->attr)->target;
    z->rep = y->rep;
    if (y->dtype == RELN_I32)
        return reln_graph_fail(g, RELN_ERR_ARG, "scatter_add: indices cannot be added");
    if (y->domain != index->domain)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "scatter_add: items of %s, but indices for those of %s",
                               reln_domain_name(g, y->domain), reln_domain_name(g, index->domain));
    return reln_want_index(g, z, index, y, z->domain);
}

static RelnStatus forward_scatter(const RelnExec *e)
{
    const RelnLoops *loops = e->prepared;
    const RelnRealKernels *k = reln_kern(e);

    if (!e->accumulate)
        memset(e->out, 0, (size_t)e->n * reln_node_bytes(e->node));
    if (reln_index_per_row(loops)) {
        reln_check_rows(e->in[1], e->n_in[0], e->n);
        k->scatter_add_rows(e->n_in[0], e->in[1], loops->item, e->in[0], e->out);
        return RELN_OK;
    }
    for (RelnWalk w = reln_walk_items(loops, e->n_in[0]); !w.done; reln_walk_next(&w, 1))
        k->scatter_add(w.run, reln_row_index(&w, e->in[1], e->n), reln_walk_stride(&w, 0),
                       loops->item, reln_at(e->in[0], w.out, k->size),
                       reln_at(e->out, reln_row_within(&w), k->size));
    return RELN_OK;
}

static void vjp_scatter(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_gather(g, gz, z->in[1]);
}

static RelnNode *sample_scatter(RelnSampler *s, int index)
{
    return sample_of(s, index, true);
}

const RelnOp reln_op_scatter_add = {
    .name = "scatter_add",
    .rule = RELN_RULE_LINEAR,
    .n_in = 2,
    .flags = RELN_OP_DOMAINS,
    .tiling = RELN_TILED_BY_FIRST,
    .infer = infer_scatter,
    .forward = forward_scatter,
    .vjp = vjp_scatter,
    .prepare = prepare,
    .sample = sample_scatter,
};

RelnNode *reln_gather(RelnGraph *g, RelnNode *x, RelnNode *index)
{
    return reln_node(g, &reln_op_gather, 2, (RelnNode *[]){x, index}, NULL, 0, NULL);
}

RelnNode *reln_scatter_add(RelnGraph *g, RelnNode *y, RelnNode *index, RelnDomain target)
{
    const Attr attr = {target};

    if (y && index && y->domain == RELN_STEP && y->dtype != RELN_I32)
        y = reln_expand_domain(g, y, index->domain);
    return reln_node(g, &reln_op_scatter_add, 2, (RelnNode *[]){y, index}, &attr, sizeof attr,
                     NULL);
}

/* ---- along the tree of domains -------------------------------------------------------------------------------- */

RelnNode *reln_spread(RelnGraph *g, RelnNode *x, RelnDomain rows)
{
    RELN_NEED(g && x, NULL);

    return x->domain == RELN_STEP ? reln_expand_domain(g, x, rows)
                                  : reln_gather(g, x, reln_row_parent(g, rows, x->domain));
}

RelnNode *reln_spread_second(RelnGraph *g, RelnNode *x, RelnDomain pairs)
{
    RELN_NEED(g && x, NULL);

    return x->domain == RELN_STEP ? reln_expand_domain(g, x, pairs)
                                  : reln_gather(g, x, reln_pair_second(g, pairs));
}

RelnNode *reln_reduce(RelnGraph *g, RelnNode *x, RelnDomain ancestor)
{
    RELN_NEED(g && x, NULL);

    return reln_scatter_add(g, x, reln_row_parent(g, x->domain, ancestor), ancestor);
}

RelnNode *reln_reduce_count(RelnGraph *g, RelnDomain rows, RelnDomain ancestor)
{
    RELN_NEED(g, NULL);

    return reln_reduce(g, reln_expand_domain(g, reln_scalar(g, 1.0), rows), ancestor);
}

/* A sum over no rows is 0, so any divisor gives the mean 0. */
RelnNode *reln_reduce_mean(RelnGraph *g, RelnNode *x, RelnDomain ancestor)
{
    RELN_NEED(g && x, NULL);

    RelnNode *count = reln_cast(g, reln_reduce_count(g, x->domain, ancestor), x->dtype);

    count = reln_add(g, count, reln_shift(g, reln_step(g, count), -1.0, 1.0));
    return reln_div(g, reln_reduce(g, x, ancestor), count);
}

RelnNode *reln_reduce_max(RelnGraph *g, RelnNode *x, RelnDomain ancestor)
{
    return reln_reduce(g, reln_mask(g, reln_is_max_within(g, x, ancestor), x), ancestor);
}
