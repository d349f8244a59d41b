/* concat.c -- joins several values along an axis. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnAxis axis;
} Attr;

enum { MOST = 64 };

/*!
 * reln_concat() -- joins xs[0], xs[1], ... along one axis
 *
 * Shapes  equal except on that axis; all of one domain or at step level, where values are repeated
 * Rep     the same for all; on the K axis any reps, and z has their sum (reln_slice_k() reads its parts). Indices
 *         are allowed
 * Fails   RELN_ERR_ARG for n < 1 or n > 64
 */
RELN_API RelnNode *reln_concat(RelnGraph *g, int n, RelnNode *const *xs, RelnAxis axis);

/*!
 * reln_concat_k() -- joins x and y to one feature of rep reln_rep_sum(): reln_concat() along the K axis
 */
RELN_API RelnNode *reln_concat_k(RelnGraph *g, RelnNode *x, RelnNode *y);

/* On axis K the rep of z is the sum of the inputs' reps; on other axes all inputs have one rep. */
static bool infer_rep(RelnGraph *g, RelnNode *z, RelnAxis axis)
{
    z->rep = z->in[0]->rep;
    for (int i = 1; i < z->n_in && z->dtype != RELN_I32; i++) {
        const RelnRep *next = z->in[i]->rep;

        if (axis == RELN_K) {
            z->rep = reln_rep_sum(z->rep, next);
            if (!z->rep)
                return reln_graph_nomem(g);
        } else if (next != z->rep) {
            return reln_graph_fail(g, RELN_ERR_REP,
                                   "concat: %s and %s on axis %c; wanted one rep, or axis K",
                                   reln_rep_name(z->rep), reln_rep_name(next), "PQRKC"[axis]);
        }
    }
    return true;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;
    int extent = 0;

    if (!reln_want_axis(g, z, axis))
        return false;
    for (int i = 0; i < z->n_in; i++) {
        const RelnNode *x = z->in[i];

        if (x->dtype != z->dtype)
            return reln_graph_fail(g, RELN_ERR_ARG, "concat: indices and numbers together");
        if (x->target != z->in[0]->target && x->dtype == RELN_I32)
            return reln_graph_fail(g, RELN_ERR_ARG, "concat: indices into %s and into %s",
                                   reln_domain_name(g, z->in[0]->target),
                                   reln_domain_name(g, x->target));
        for (int a = 0; a < RELN_AXES; a++)
            if (a != (int)axis && x->shape.dims[a] != z->in[0]->shape.dims[a])
                return reln_graph_fail(
                    g, RELN_ERR_SHAPE, "concat: %s and %s differ on axis %c, joined on axis %c",
                    reln_shape_text(z->in[0]), reln_shape_text(x), "PQRKC"[a], "PQRKC"[axis]);
        if (__builtin_add_overflow(extent, x->shape.dims[axis], &extent))
            return reln_graph_fail(g, RELN_ERR_SHAPE, "concat: more than an int counts on axis %c",
                                   "PQRKC"[axis]);
    }
    z->shape = z->in[0]->shape;
    z->shape.dims[axis] = extent;
    return infer_rep(g, z, axis);
}

/* Copies the pieces of one input to z, `all` elements apart; a step-level input is copied for every item. Elements are
 * copied as bytes, so indices are allowed. */
static void place(const RelnExec *e, int input, RelnAxis axis, ptrdiff_t all, char *z)
{
    const RelnNode *x = e->node->in[input];
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t pieces = reln_shape_before(&x->shape, axis);
    const ptrdiff_t piece = reln_shape_count(&x->shape) / pieces;

    if (x->domain != RELN_STEP) {
        k->copy_rows(e->n * pieces, piece, e->in[input], piece, z, all);
        return;
    }
    for (ptrdiff_t item = 0; item < e->n; item++)
        k->copy_rows(pieces, piece, e->in[input], piece, reln_at(z, item * pieces * all, k->size),
                     all);
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnNode *z = e->node;
    const RelnAxis axis = ((const Attr *)z->attr)->axis;
    const ptrdiff_t all = reln_shape_count(&z->shape) / reln_shape_before(&z->shape, axis);
    ptrdiff_t at = 0;

    for (int i = 0; i < z->n_in; i++) {
        place(e, i, axis, all, reln_at(e->out, at, reln_kern(e)->size));
        at += all / z->shape.dims[axis] * z->in[i]->shape.dims[axis];
    }
    return RELN_OK;
}

/* The cotangent of each input is its range of gz. */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;

    for (int i = 0, first = 0; i < z->n_in; first += z->in[i]->shape.dims[axis], i++)
        gin[i] = axis == RELN_K && !reln_is_invariant(z)
                     ? reln_slice_k(g, gz, first, reln_dual(g, z->in[i]->rep))
                     : reln_slice(g, gz, axis, first, z->in[i]->shape.dims[axis]);
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
    RelnNode *xs[3];

    switch (index) {
    case 0: /* channels; the last from step level */
        xs[0] = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, k, 3}, adjoint);
        xs[1] = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, k, 1}, adjoint);
        xs[2] = reln_sample_normal(s, RELN_STEP, (RelnDims){2, 1, 1, k, 4}, adjoint);
        return reln_concat(s->graph, 3, xs, RELN_C);
    case 1: /* points */
        xs[0] = reln_sample_normal(s, RELN_STEP, (RelnDims){2, 3, 1, k, 2}, adjoint);
        xs[1] = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 3, 1, k, 2}, adjoint);
        return reln_concat(s->graph, 2, xs, RELN_P);
    case 2: /* a sum of reps, one of them invariant */
        xs[0] = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, k, 3}, adjoint);
        xs[1] = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 2, 3}, NULL);
        return reln_concat_k(s->graph, xs[0], xs[1]);
    case 3: /* invariants remain invariants */
        xs[0] = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 1, 3}, NULL);
        xs[1] = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 2, 3}, NULL);
        return reln_exp(s->graph, reln_concat_k(s->graph, xs[0], xs[1]));
    default:
        return NULL;
    }
}

const RelnOp reln_op_concat = {
    .name = "concat",
    .rule = RELN_RULE_LINEAR,
    .n_in = -1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_concat(RelnGraph *g, int n, RelnNode *const *xs, RelnAxis axis)
{
    RELN_NEED(xs, (reln_graph_null(g, __func__), NULL));

    const Attr attr = {axis};

    if (n < 1 || n > MOST) {
        reln_graph_fail(g, RELN_ERR_ARG, "concat: of %d values, wanted 1 to %d", n, MOST);
        return NULL;
    }
    return n == 1 ? xs[0] : reln_node(g, &reln_op_concat, n, xs, &attr, sizeof attr, NULL);
}

RelnNode *reln_concat_k(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_concat(g, 2, (RelnNode *[]){x, y}, RELN_K);
}
