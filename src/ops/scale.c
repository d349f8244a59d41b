/* scale.c -- a x + b with two numbers. */
#include "ops/ops.h"

typedef struct Attr {
    double a, b;
} Attr;

/*!
 * reln_scale() -- z = a x
 *
 * Rep     any
 * Fails   RELN_ERR_NUMERIC when a is not finite. A factor that makes numbers underflow is not detected here; the check of
 *         equivariance measures the rounding errors that it causes
 */
RELN_API RelnNode *reln_scale(RelnGraph *g, RelnNode *x, double a);

/*!
 * reln_shift() -- z = a x + b
 *
 * Rep     invariants, unless b = 0
 */
RELN_API RelnNode *reln_shift(RelnGraph *g, RelnNode *x, double a, double b);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *attr = z->attr;

    z->shape = z->in[0]->shape;
    z->rep = z->in[0]->rep;
    return reln_want_float(g, z) && reln_want_finite(g, z, attr->a) &&
           reln_want_finite(g, z, attr->b) &&
           (attr->b == 0.0 || reln_want_invariant(g, z, z->in[0]));
}

static RelnStatus forward(const RelnExec *e)
{
    const Attr *attr = e->node->attr;

    reln_kern(e)->axpb(e->n * reln_shape_count(&e->node->shape), attr->a, e->in[0], attr->b,
                       e->out);
    return RELN_OK;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_scale(g, gz, ((const Attr *)z->attr)->a);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);

    switch (index) {
    case 0:
        return reln_scale(s->graph,
                          reln_sample_normal(s, RELN_SAMPLES,
                                             (RelnDims){2, 1, 1, reln_rep_dim(adjoint), 5},
                                             adjoint),
                          -1.75);
    case 1:
        return reln_shift(
            s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 2, 1, 5}, NULL), 0.5, 3.0);
    default:
        return NULL;
    }
}

static bool link(const RelnNode *z, RelnLink *out)
{
    const Attr *attr = z->attr;

    *out = (RelnLink){.kind = RELN_LINK_SCALE, .a = attr->a, .b = attr->b};
    return true;
}

const RelnOp reln_op_scale = {
    .name = "scale",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .link = link,
    .sample = sample,
};

RelnNode *reln_shift(RelnGraph *g, RelnNode *x, double a, double b)
{
    const Attr attr = {a, b};

    return a == 1.0 && b == 0.0 ? x : reln_node(g, &reln_op_scale, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_scale(RelnGraph *g, RelnNode *x, double a)
{
    return reln_shift(g, x, a, 0.0);
}
