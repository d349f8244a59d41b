/* reshape.c -- the same numbers in the same order, with another shape. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnShape shape;
} Attr;

/*!
 * reln_reshape() -- x's numbers, in their order, as an item of other extents
 *
 * Shapes  the same number of elements; an extent of 0 counts as 1
 * Rep     as x. For a feature, K and C must stay, and P, Q, R may regroup; for invariants and indices all axes may
 *         regroup
 * Cost    none: z shares the memory of x
 */
RELN_API RelnNode *reln_reshape(RelnGraph *g, RelnNode *x, RelnDims dims);

/* Returns whether both shapes have the same number of elements. They are compared by division, since a
 * product of five extents might overflow. */
static bool same_count(const RelnShape *from, const RelnShape *to)
{
    ptrdiff_t left = reln_shape_count(from);

    for (int a = 0; a < RELN_AXES; a++) {
        if (to->dims[a] < 1 || left % to->dims[a] != 0)
            return false;
        left /= to->dims[a];
    }
    return left == 1;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnShape *to = &((const Attr *)z->attr)->shape;
    const RelnNode *x = z->in[0];
    const int *d = to->dims;

    if (!same_count(&x->shape, to))
        return reln_graph_fail(
            g, RELN_ERR_SHAPE, "reshape: %s has %td elements, not those of (%d, %d, %d, %d, %d)",
            reln_shape_text(x), reln_shape_count(&x->shape), d[0], d[1], d[2], d[3], d[4]);
    z->shape = *to;
    z->rep = x->rep;
    if (z->dtype == RELN_I32)
        return true;
    if (reln_is_invariant(x)) {
        z->rep = reln_invariant(g, d[RELN_K]);
        return z->rep != NULL;
    }
    return (d[RELN_K] == x->shape.dims[RELN_K] && d[RELN_C] == x->shape.dims[RELN_C]) ||
           reln_graph_fail(g, RELN_ERR_REP,
                           "reshape: %s of rep %s to (%d, %d, %d, %d, %d) would mix coordinates; "
                           "wanted K = %d and C = %d as they are",
                           reln_shape_text(x), reln_rep_name(x->rep), d[0], d[1], d[2], d[3], d[4],
                           x->shape.dims[RELN_K], x->shape.dims[RELN_C]);
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_reshape(g, gz, reln_node_dims(z->in[0]));
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *x;

    switch (index) {
    case 0:
        x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 3, 2, k, 2}, adjoint);
        return reln_reshape(s->graph, x, (RelnDims){1, 4, 3, k, 2});
    case 1: /* between products of matrices that read more rows than there are */
        x = reln_mix(s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 3, 1, 2}, NULL),
                     reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 2, 1, 4}, NULL));
        return reln_mix(s->graph, reln_reshape(s->graph, x, (RelnDims){1, 1, 1, 2, 6}),
                        reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 6, 1, 3}, NULL));
    case 2: /* at step level, of a sum over the batch */
        x = reln_batch_sum(s->graph,
                           reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 2, 1, 6}, NULL));
        return reln_square(s->graph, reln_reshape(s->graph, x, (RelnDims){3, 1, 1, 4, 1}));
    default:
        return NULL;
    }
}

const RelnOp reln_op_reshape = {
    .name = "reshape",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .flags = RELN_OP_ALIAS,
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_reshape(RelnGraph *g, RelnNode *x, RelnDims dims)
{
    const Attr attr = {reln_shape_from(dims)};

    if (!x || memcmp(&x->shape, &attr.shape, sizeof attr.shape) == 0)
        return x;
    return reln_node(g, &reln_op_reshape, 1, &x, &attr, sizeof attr, NULL);
}
