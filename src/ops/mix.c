/* mix.c -- mixes channels by a matrix of weights, and its adjoint in the weights: the matrix products of a network. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    bool transposed;
} Attr;

/*!
 * reln_mix() -- y[..., k, d] = sum_c x[..., k, c] W[c, d]: the same matrix on every coordinate
 *
 * Shapes  x (..., K, C), W (R = C, K = 1, C = D) at step level -> y (..., K, D)
 * Rep     as x: mixing channels is equivariant for every group
 * Cost    2 C D for each row; one matrix product for a whole shard
 */
RELN_API RelnNode *reln_mix(RelnGraph *g, RelnNode *x, RelnNode *W);

/*!
 * reln_mix_t() -- y[..., k, c] = sum_d x[..., k, d] W[c, d], the transpose of W
 */
RELN_API RelnNode *reln_mix_t(RelnGraph *g, RelnNode *x, RelnNode *W);

/*!
 * reln_outer() -- W[c, d] = sum over all items, leading axes and coordinates of x[..., k, c] y[..., k, d]
 *
 * Shapes  x (..., K, C), y (..., K, D), otherwise equal -> W (R = C, K = 1, C = D) at step level
 * Rep     y is in the dual rep of x; W is invariant
 */
RELN_API RelnNode *reln_outer(RelnGraph *g, RelnNode *x, RelnNode *y);

static RelnNode *mix(RelnGraph *g, RelnNode *x, RelnNode *w, bool transposed);

static ptrdiff_t rows_of(const RelnNode *x)
{
    return reln_shape_count(&x->shape) / x->shape.dims[RELN_C];
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *w = z->in[1];
    const bool t = ((const Attr *)z->attr)->transposed;
    const int from = t ? w->shape.dims[RELN_C] : w->shape.dims[RELN_R];
    const int to = t ? w->shape.dims[RELN_R] : w->shape.dims[RELN_C];

    if (!reln_want_float(g, z))
        return false;
    if (w->domain != RELN_STEP ||
        w->shape.dims[RELN_P] * w->shape.dims[RELN_Q] * w->shape.dims[RELN_K] != 1)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "mix: the weights are %s, wanted one matrix (R, K = 1, C) at step "
                               "level",
                               reln_shape_text(w));
    if (x->shape.dims[RELN_C] != from)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "mix: %s has %d channels, the weights take %d",
                               reln_shape_text(x), x->shape.dims[RELN_C], from);
    if (!reln_want_invariant(g, z, w))
        return false;
    z->shape = x->shape;
    z->shape.dims[RELN_C] = to;
    z->rep = x->rep;
    return true;
}

static size_t packs(const RelnNode *z, const RelnKernels *kern)
{
    return reln_gemm_packed_size(kern, z->dtype == RELN_F64, z->shape.dims[RELN_C],
                                 z->in[0]->shape.dims[RELN_C]);
}

/* The weights are the same for all shards of a run, unless a function computes them in the worker's own memory; then
 * the pack is marked as of no run. */
static const void *packed_weights(const RelnExec *e, bool t, ptrdiff_t d, ptrdiff_t c)
{
    RelnPack *pack = e->pack;

    if (pack->source != e->in[1] || pack->run != e->run) {
        reln_gemm_pack(e->gemm, e->node->dtype == RELN_F64, t, d, c, e->in[1],
                       e->node->in[1]->shape.dims[RELN_C], pack->values);
        pack->source = e->in[1];
        pack->run = e->passing[1] ? 0 : e->run;
    }
    return pack->values;
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnNode *x = e->node->in[0], *w = e->node->in[1];
    const bool t = ((const Attr *)e->node->attr)->transposed,
               is_double = e->node->dtype == RELN_F64;
    const ptrdiff_t c = x->shape.dims[RELN_C], d = e->node->shape.dims[RELN_C],
                    rows = e->n * rows_of(x);

    if (e->pack)
        reln_gemm_packed(e->gemm, is_double, false, rows, d, c, e->in[0], c,
                         packed_weights(e, t, d, c), false, e->out, d);
    else
        reln_gemm(e->gemm, is_double, false, t, rows, d, c, e->in[0], c, e->in[1],
                  w->shape.dims[RELN_C], false, e->out, d);
    return RELN_OK;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    RelnNode *x = z->in[0], *w = z->in[1];

    if (((const Attr *)z->attr)->transposed) {
        gin[0] = reln_mix(g, gz, w);
        gin[1] = reln_outer(g, gz, x);
    } else {
        gin[0] = reln_mix_t(g, gz, w);
        gin[1] = reln_outer(g, x, gz);
    }
}

static double flops(const RelnNode *z)
{
    return 2.0 * (double)reln_shape_count(&z->shape) * z->in[0]->shape.dims[RELN_C];
}

static RelnNode *sample_weights(RelnSampler *s, int from, int to)
{
    return reln_sample_normal(s, RELN_STEP, (RelnDims){.r = from, .c = to}, NULL);
}

/* Two channels to five to four, by matrices unchanged or transposed: a product of the matrices. */
static RelnNode *sample_thin(RelnSampler *s, bool ta, bool tb)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    RelnNode *x = reln_sample_normal(
        s, RELN_SAMPLES, (RelnDims){.r = 2, .k = reln_rep_dim(adjoint), .c = 2}, adjoint);

    x = mix(s->graph, x, ta ? sample_weights(s, 5, 2) : sample_weights(s, 2, 5), ta);
    return mix(s->graph, x, tb ? sample_weights(s, 4, 5) : sample_weights(s, 5, 4), tb);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_mix(s->graph,
                        reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 3, k, 4}, adjoint),
                        reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 4, 1, 5}, NULL));
    case 1:
        return reln_mix_t(s->graph,
                          reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, k, 5}, adjoint),
                          reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 4, 1, 5}, NULL));
    case 2: /* products of weights, at step level */
        return reln_mix(s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 3, 1, 4}, NULL),
                        reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 4, 1, 2}, NULL));
    case 3:
        return sample_thin(s, false, false);
    case 4:
        return sample_thin(s, false, true);
    case 5:
        return sample_thin(s, true, false);
    case 6:
        return sample_thin(s, true, true);
    default:
        return NULL;
    }
}

const RelnOp reln_op_mix = {
    .name = "mix",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .packs = packs,
    .flops = flops,
    .sample = sample,
};

/* ---- outer ---------------------------------------------------------------------------------------------------- */

static bool infer_outer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *y = z->in[1];
    const RelnRep *dual = reln_dual(g, x->rep);

    if (!dual || !reln_want_float(g, z))
        return false;
    for (int a = 0; a < RELN_C; a++)
        if (x->shape.dims[a] != y->shape.dims[a] || x->domain != y->domain)
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "outer: %s and %s differ in more than channels",
                                   reln_shape_text(x), reln_shape_text(y));
    if (y->rep != dual)
        return reln_graph_fail(g, RELN_ERR_REP, "outer: %s and %s are not dual to each other",
                               reln_rep_name(x->rep), reln_rep_name(y->rep));
    z->shape = (RelnShape){{1, 1, x->shape.dims[RELN_C], 1, y->shape.dims[RELN_C]}};
    z->domain = RELN_STEP;
    z->rep = reln_invariant(g, 1);
    return z->rep != NULL;
}

/* A few sums of doubles, such as second moments, are chains over all items, which tiles do not change. */
enum { FEW = 64 };

static RelnStatus forward_outer(const RelnExec *e)
{
    const RelnNode *x = e->node->in[0];
    const ptrdiff_t c = x->shape.dims[RELN_C], d = e->node->shape.dims[RELN_C];
    const bool is_double = e->node->dtype == RELN_F64;

    if (is_double && c * d <= FEW) {
        if (!e->accumulate)
            memset(e->out, 0, reln_node_bytes(e->node));
        reln_kern(e)->products(e->n * rows_of(x), c, d, e->in[0], e->in[1], e->out);
        return RELN_OK;
    }
    /* A single column is computed as a row: the same sums, in whole vectors. */
    if (d == 1)
        reln_gemm(e->gemm, is_double, true, false, 1, c, e->n * rows_of(x), e->in[1], 1, e->in[0],
                  c, e->accumulate, e->out, c);
    else
        reln_gemm(e->gemm, is_double, true, false, c, d, e->n * rows_of(x), e->in[0], c, e->in[1],
                  d, e->accumulate, e->out, d);
    return RELN_OK;
}

/* W = x^T y: gx = y G^T, gy = x G */
static void vjp_outer(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_mix_t(g, z->in[1], gz);
    gin[1] = reln_mix(g, z->in[0], gz);
}

static double flops_outer(const RelnNode *z)
{
    return 2.0 * (double)reln_shape_count(&z->in[0]->shape) * z->shape.dims[RELN_C];
}

static RelnNode *sample_outer(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    const RelnDomain domain = index == 0 ? RELN_SAMPLES : RELN_STEP;

    if (index > 1)
        return NULL;
    return reln_outer(
        s->graph, reln_sample_normal(s, domain, (RelnDims){1, 2, 1, k, 4}, adjoint),
        reln_sample_normal(s, domain, (RelnDims){1, 2, 1, k, 3}, reln_rep_dual(adjoint)));
}

const RelnOp reln_op_outer = {
    .name = "outer",
    .rule = RELN_RULE_PAIRING,
    .n_in = 2,
    .flags = RELN_OP_REDUCE,
    .infer = infer_outer,
    .forward = forward_outer,
    .vjp = vjp_outer,
    .flops = flops_outer,
    .sample = sample_outer,
};

/* ---- thin products -------------------------------------------------------------------------------------------- */

/* (x A) B = x (A B). When x has few channels, computing A B once makes both products thin. x A may have another reader,
 * so the comparison counts only the work after it:
 *     rows c1 c2   against   rows c0 c2 + c0 c1 c2      for A (c0, c1), B (c1, c2)
 * A batch of unknown size is assumed to have this many items. */
enum { ITEMS = 16 };

static bool is_thin(const RelnNode *xa)
{
    const double rows = (double)rows_of(xa) * (xa->domain == RELN_STEP ? 1 : ITEMS);
    const double c0 = xa->in[0]->shape.dims[RELN_C], c1 = xa->shape.dims[RELN_C];

    return rows * c0 + c0 * c1 < rows * c1;
}

/* Returns whether b has as many rows (columns, when transposed) as x has channels. If not, the ordinary
 * product reports the error. */
static bool fits(const RelnNode *x, const RelnNode *b, bool transposed)
{
    const RelnShape *s = &b->shape;

    return x->shape.dims[RELN_C] == s->dims[transposed ? RELN_C : RELN_R] &&
           b->domain == RELN_STEP && reln_shape_count(s) == s->dims[RELN_R] * s->dims[RELN_C] &&
           b->dtype == x->dtype && reln_is_invariant(b);
}

/* x (A B), where x A and B are the factors asked for; tb: B transposed. (x A^T) B^T = x (B A)^T. */
static RelnNode *mix_thin(RelnGraph *g, const RelnNode *xa, RelnNode *b, bool tb)
{
    RelnNode *x = xa->in[0], *a = xa->in[1];

    if (!((const Attr *)xa->attr)->transposed)
        return mix(g, x, mix(g, a, b, tb), false);
    return tb ? mix(g, x, mix(g, b, a, false), true) : mix(g, x, reln_outer(g, a, b), false);
}

static RelnNode *mix(RelnGraph *g, RelnNode *x, RelnNode *w, bool transposed)
{
    const Attr attr = {transposed};

    if (x && w && x->op == &reln_op_mix && is_thin(x) && fits(x, w, transposed))
        return mix_thin(g, x, w, transposed);
    return reln_node(g, &reln_op_mix, 2, (RelnNode *[]){x, w}, &attr, sizeof attr, NULL);
}

RelnNode *reln_mix(RelnGraph *g, RelnNode *x, RelnNode *W)
{
    return mix(g, x, W, false);
}

RelnNode *reln_mix_t(RelnGraph *g, RelnNode *x, RelnNode *W)
{
    return mix(g, x, W, true);
}

RelnNode *reln_outer(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_outer, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}
