/* select.c -- choose one of two values, or a value or 0, by a mask of 0 and 1. */
#include "ops/elementwise.h"

typedef struct Attr {
    bool inverted;
} Attr;

/*!
 * reln_select() -- z = mask ? x : y, for each element
 *
 * Shapes  all three broadcast
 * Rep     mask invariant, its numbers 0 or 1 (reln_less(), reln_step()), with K = 1 unless x and y are invariant; x and
 *         y of one rep, which z inherits
 * Notes   the value that is not selected, even a NaN, affects neither the result nor the gradient; the mask has no
 *         gradient
 */
RELN_API RelnNode *reln_select(RelnGraph *g, RelnNode *mask, RelnNode *x, RelnNode *y);

/*!
 * reln_mask() -- z = mask ? x : 0; otherwise like reln_select()
 */
RELN_API RelnNode *reln_mask(RelnGraph *g, RelnNode *mask, RelnNode *x);

/*!
 * reln_mask_not() -- z = mask ? 0 : x; otherwise like reln_select()
 */
RELN_API RelnNode *reln_mask_not(RelnGraph *g, RelnNode *mask, RelnNode *x);

static bool infer_masked(RelnGraph *g, RelnNode *z)
{
    const RelnNode *mask = z->in[0], *x = z->in[1];

    if (!reln_want_float(g, z) || !reln_infer_broadcast(g, z) || !reln_want_invariant(g, z, mask))
        return false;
    z->needs_grad = x->needs_grad || z->in[z->n_in - 1]->needs_grad;
    z->rep = x->rep;
    if (reln_is_invariant(x)) {
        z->rep = reln_invariant(g, z->shape.dims[RELN_K]);
        return z->rep != NULL;
    }
    return mask->shape.dims[RELN_K] == 1 ||
           reln_graph_fail(g, RELN_ERR_REP,
                           "%s: a mask with %d coordinates would take %s apart; wanted K = 1",
                           z->op->name, mask->shape.dims[RELN_K], reln_rep_name(x->rep));
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[1], *y = z->in[2];

    if (!infer_masked(g, z))
        return false;
    return x->rep == y->rep || (reln_is_invariant(x) && reln_is_invariant(y)) ||
           reln_graph_fail(
               g, RELN_ERR_REP,
               "select: %s and %s transform differently, so the choice is not equivariant",
               reln_rep_name(x->rep), reln_rep_name(y->rep));
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnRealKernels *k = reln_kern(e);

    for (RelnWalk w = reln_walk(e->prepared, 3, e->n); !w.done; reln_walk_next(&w, 3))
        k->select(w.run, reln_at(e->in[0], w.offset[0], k->size), reln_walk_stride(&w, 0),
                  reln_at(e->in[1], w.offset[1], k->size), reln_walk_stride(&w, 1),
                  reln_at(e->in[2], w.offset[2], k->size), reln_walk_stride(&w, 2),
                  reln_at(e->out, w.out, k->size));
    return RELN_OK;
}

static RelnStatus forward_mask(const RelnExec *e)
{
    static const double zero = 0.0; /* all bits are 0, so it is a zero of either type */
    const RelnRealKernels *k = reln_kern(e);
    const bool inverted = ((const Attr *)e->node->attr)->inverted;

    for (RelnWalk w = reln_walk(e->prepared, 2, e->n); !w.done; reln_walk_next(&w, 2)) {
        const void *mask = reln_at(e->in[0], w.offset[0], k->size);
        const void *x = reln_at(e->in[1], w.offset[1], k->size);
        const ptrdiff_t sm = reln_walk_stride(&w, 0), sx = reln_walk_stride(&w, 1);
        void *z = reln_at(e->out, w.out, k->size);

        if (inverted)
            k->select(w.run, mask, sm, &zero, 0, x, sx, z);
        else
            k->select(w.run, mask, sm, x, sx, &zero, 0, z);
    }
    return RELN_OK;
}

static RelnNode *masked(RelnGraph *g, RelnNode *mask, RelnNode *x, bool inverted)
{
    const Attr attr = {inverted};

    return reln_node(g, &reln_op_mask, 2, (RelnNode *[]){mask, x}, &attr, sizeof attr, NULL);
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[1] = masked(g, z->in[0], gz, false);
    gin[2] = masked(g, z->in[0], gz, true);
}

static void vjp_mask(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[1] = masked(g, z->in[0], gz, ((const Attr *)z->attr)->inverted);
}

/* A mask that the finite differences of the tests do not flip. */
static RelnNode *sample_of_mask(RelnSampler *s, RelnDomain domain, RelnDims dims)
{
    return reln_step(s->graph, reln_sample_input(s, domain, dims, NULL, 0.5, 2.0, false));
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_select(s->graph, sample_of_mask(s, RELN_SAMPLES, (RelnDims){2, 1, 3, 1, 4}),
                           reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 4}, adjoint),
                           reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 3, k, 1}, adjoint));
    case 1: /* the mask is the largest */
        return reln_select(s->graph, sample_of_mask(s, RELN_SAMPLES, (RelnDims){2, 3, 1, 2, 5}),
                           reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 5}, NULL),
                           reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 3, 1, 2, 1}, NULL));
    default:
        return NULL;
    }
}

static RelnNode *sample_mask(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    if (index > 1)
        return NULL;
    return masked(s->graph, sample_of_mask(s, RELN_SAMPLES, (RelnDims){1, 3, 1, 1, 1}),
                  reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 3, 1, k, 5}, adjoint),
                  index == 1);
}

const RelnOp reln_op_select = {
    .name = "select",
    .rule = RELN_RULE_FACTOR,
    .n_in = 3,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = reln_elementwise_prepare,
    .sample = sample,
};

const RelnOp reln_op_mask = {
    .name = "mask",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .infer = infer_masked,
    .forward = forward_mask,
    .vjp = vjp_mask,
    .prepare = reln_elementwise_prepare,
    .sample = sample_mask,
};

RelnNode *reln_select(RelnGraph *g, RelnNode *mask, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_select, 3, (RelnNode *[]){mask, x, y}, NULL, 0, NULL);
}

RelnNode *reln_mask(RelnGraph *g, RelnNode *mask, RelnNode *x)
{
    return masked(g, mask, x, false);
}

RelnNode *reln_mask_not(RelnGraph *g, RelnNode *mask, RelnNode *x)
{
    return masked(g, mask, x, true);
}
