/* cast.c -- conversion between f32 and f64. */
#include "ops/ops.h"

typedef struct Attr {
    RelnDtype dtype;
} Attr;

/*!
 * reln_cast() -- converts x to another dtype; RELN_DEFAULT is that of the graph
 *
 * Rep     as x
 */
RELN_API RelnNode *reln_cast(RelnGraph *g, RelnNode *x, RelnDtype dtype);

static bool infer(RelnGraph *g, RelnNode *z)
{
    z->shape = z->in[0]->shape;
    z->rep = z->in[0]->rep;
    if (!reln_want_float(g, z))
        return false;
    z->dtype = ((const Attr *)z->attr)->dtype;
    return z->dtype == RELN_F32 || z->dtype == RELN_F64 ||
           reln_graph_fail(g, RELN_ERR_ARG, "cast: to f32 or f64 only");
}

static RelnStatus forward(const RelnExec *e)
{
    const ptrdiff_t n = e->n * reln_shape_count(&e->node->shape);

    if (e->node->in[0]->dtype == RELN_F64)
        reln_kern(e)->from_f64(n, e->in[0], e->out);
    else
        reln_kern(e)->from_f32(n, e->in[0], e->out);
    return RELN_OK;
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_cast(g, gz, z->in[0]->dtype);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    RelnNode *x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 1, 3, 4}, NULL);

    return index > 0 ? NULL : reln_cast(s->graph, reln_cast(s->graph, x, RELN_F64), RELN_DEFAULT);
}

const RelnOp reln_op_cast = {
    .name = "cast",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_cast(RelnGraph *g, RelnNode *x, RelnDtype dtype)
{
    const Attr attr = {dtype == RELN_DEFAULT ? reln_graph_dtype(g) : dtype};

    return x && x->dtype == attr.dtype
               ? x
               : reln_node(g, &reln_op_cast, 1, &x, &attr, sizeof attr, NULL);
}
