/* stack.c -- rows of a fixed number as places on an axis, and places on an axis as rows. */
#include <string.h>

#include "ops/rows.h"

typedef struct Attr {
    RelnDomain domain; /* of the result */
} Attr;

/*!
 * reln_unstack() -- places on the axis P become rows: z[i n + p] = x[i] at place p
 *
 *     const RelnDomain groups = reln_fixed(g, "groups", RELN_SAMPLES, 32);
 *     reln_unstack(g, x, groups)    // x (32, Q, R, K, C) of samples -> (1, Q, R, K, C) of groups
 *
 * Shapes  x (P, Q, R, K, C) -> (P / n, Q, R, K, C) in the domain `rows`, which is a reln_fixed() of x's domain with n
 *         rows; n divides P. x at step level is repeated for every sample first
 * Rep     as x
 * Notes   nodes of rows run tile by tile, so the values of a long axis stay in a cache
 * Fails   RELN_ERR_ARG for other rows, RELN_ERR_SHAPE when n does not divide P
 */
RELN_API RelnNode *reln_unstack(RelnGraph *g, RelnNode *x, RelnDomain rows);

/*!
 * reln_stack() -- rows become places on the axis P: z[i] at place p = x[i n + p], the inverse of reln_unstack()
 *
 *     reln_stack(g, x, RELN_SAMPLES)    // x (1, Q, R, K, C) of groups, 32 for each sample -> (32, Q, R, K, C)
 *
 * Shapes  x (P, Q, R, K, C) in a domain made by reln_fixed(g, name, parent, n) -> (n P, Q, R, K, C) in the domain
 *         `parent`
 * Rep     as x
 * Fails   RELN_ERR_ARG for rows of another kind: their number differs from item to item
 */
RELN_API RelnNode *reln_stack(RelnGraph *g, RelnNode *x, RelnDomain parent);

/* Returns how many rows of `rows` each item of `parent` has; fails for rows that reln_fixed() has not made. */
static int rows_below(RelnGraph *g, const RelnNode *z, RelnDomain rows, RelnDomain parent)
{
    const int n = reln_domain_fixed(g, rows, parent);

    if (n == 0)
        reln_graph_fail(g, RELN_ERR_ARG, "%s: %s has no fixed number of rows for each item of %s",
                        z->op->name, reln_domain_name(g, rows), reln_domain_name(g, parent));
    return n;
}

static void infer_as(RelnNode *z)
{
    const RelnNode *x = z->in[0];

    z->shape = x->shape;
    z->dtype = x->dtype;
    z->target = x->target;
    z->rep = x->rep;
    z->domain = ((const Attr *)z->attr)->domain;
}

static bool infer_unstack(RelnGraph *g, RelnNode *z)
{
    const int n = rows_below(g, z, ((const Attr *)z->attr)->domain, z->in[0]->domain);

    if (n == 0)
        return false;
    infer_as(z);
    if (z->shape.dims[RELN_P] % n != 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "unstack: %s, wanted an axis P of %d places, or a multiple",
                               reln_shape_text(z->in[0]), n);
    z->shape.dims[RELN_P] /= n;
    return true;
}

static bool infer_stack(RelnGraph *g, RelnNode *z)
{
    const int n = rows_below(g, z, z->in[0]->domain, ((const Attr *)z->attr)->domain);

    if (n == 0)
        return false;
    infer_as(z);
    if (z->shape.dims[RELN_P] > INT32_MAX / n)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "stack: %d times %s is too large", n,
                               reln_shape_text(z->in[0]));
    z->shape.dims[RELN_P] *= n;
    return true;
}

/* Items of fixed rows lie in memory as the places do: one copy. A tile begins in the middle of the places. */
static RelnStatus forward_unstack(const RelnExec *e)
{
    const size_t item = reln_node_bytes(e->node);
    const ptrdiff_t first = e->spans->tile == e->node->domain ? e->spans->tile_first : (ptrdiff_t)0;

    memcpy(e->out, (const char *)e->in[0] + (size_t)first * item, (size_t)e->n * item);
    return RELN_OK;
}

static RelnStatus forward_stack(const RelnExec *e)
{
    memcpy(e->out, e->in[0], (size_t)e->n * reln_node_bytes(e->node));
    return RELN_OK;
}

static void vjp_unstack(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_stack(g, gz, z->in[0]->domain);
}

static void vjp_stack(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_unstack(g, gz, z->in[0]->domain);
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

/* ---- samples and builders ------------------------------------------------------------------------------------- */

static RelnNode *sample_unstack(RelnSampler *s, int index)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    const RelnDomain threes = reln_fixed(g, "threes", RELN_SAMPLES, 3);
    const RelnDomain points = reln_sample_rows(s), twos = reln_fixed(g, "twos", points, 2);

    switch (index) {
    case 0:
        return reln_unstack(
            g, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){3, 2, 1, k, 2}, adjoint), threes);
    case 1: /* more places than rows; rows of rows; a sum over each item's rows */
        return reln_reduce(
            g,
            reln_square(
                g, reln_unstack(g, reln_sample_normal(s, points, (RelnDims){6, 1, 1, 1, 3}, NULL),
                                twos)),
            points);
    case 2: /* weights, which every sample has */
        return reln_mul(
            g,
            reln_unstack(g, reln_sample_normal(s, RELN_STEP, (RelnDims){3, 1, 1, 1, 2}, NULL),
                         threes),
            reln_sample_normal(s, threes, (RelnDims){1, 1, 1, k, 2}, adjoint));
    default:
        return NULL;
    }
}

static RelnNode *sample_stack(RelnSampler *s, int index)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    const RelnDomain threes = reln_fixed(g, "threes", RELN_SAMPLES, 3);
    const RelnDomain points = reln_sample_rows(s), twos = reln_fixed(g, "twos", points, 2);
    RelnNode *x;

    switch (index) {
    case 0:
        return reln_stack(g, reln_sample_normal(s, threes, (RelnDims){2, 1, 2, k, 2}, adjoint),
                          RELN_SAMPLES);
    case 1:
        return reln_stack(g, reln_sample_normal(s, twos, (RelnDims){1, 3, 1, k, 1}, adjoint),
                          points);
    case 2: /* there and back, with a function of each row between */
        x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){3, 1, 1, 1, 4}, NULL);
        return reln_mul(g, x,
                        reln_stack(g, reln_tanh(g, reln_unstack(g, x, threes)), RELN_SAMPLES));
    default:
        return NULL;
    }
}

const RelnOp reln_op_unstack = {
    .name = "unstack",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .flags = RELN_OP_DOMAINS,
    .tiling = RELN_TILED_BY_RESULT,
    .infer = infer_unstack,
    .forward = forward_unstack,
    .vjp = vjp_unstack,
    .flops = flops,
    .sample = sample_unstack,
};

const RelnOp reln_op_stack = {
    .name = "stack",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .flags = RELN_OP_DOMAINS,
    .infer = infer_stack,
    .forward = forward_stack,
    .vjp = vjp_stack,
    .flops = flops,
    .sample = sample_stack,
};

RelnNode *reln_unstack(RelnGraph *g, RelnNode *x, RelnDomain rows)
{
    const Attr attr = {rows};

    RELN_NEED(g && x, NULL);

    if (x->domain == RELN_STEP)
        x = reln_expand_domain(g, x, RELN_SAMPLES);
    return reln_node(g, &reln_op_unstack, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_stack(RelnGraph *g, RelnNode *x, RelnDomain parent)
{
    const Attr attr = {parent};

    return reln_node(g, &reln_op_stack, 1, &x, &attr, sizeof attr, NULL);
}
