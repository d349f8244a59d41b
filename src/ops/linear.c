/* linear.c -- a constant matrix on the K coordinates, checked as an intertwiner: parts of a rep, transpose, centre. */
#include "ops/ops.h"

typedef struct Attr {
    const RelnTensor3
        *t; /* extents (in, 1, out), interned by the graph: equal matrices are one object */
} Attr;

/*!
 * reln_linear_map() -- y[k,c] = sum_i M[k,i] x[i,c], with a constant matrix M (dim out, dim in)
 *
 * Shapes  x (..., I, C) -> y (..., K, C)
 * Rep     rep of x -> out; M must be an intertwiner: rho_out(E) M = M rho_in(E) for every generator E
 * Fails   RELN_ERR_REP when M does not commute with a generator, which the message names
 * Cost    2 for each non-zero of M and channel
 */
RELN_API RelnNode *reln_linear_map(RelnGraph *g, RelnNode *x, const double *m, const RelnRep *out);

/*!
 * reln_slice_k() -- the coordinates first, first + 1, ... of x as a separate feature of rep `part`
 *
 * Rep     the group must not mix these coordinates with others: they are a summand of reln_rep_sum()
 * Fails   RELN_ERR_SHAPE when x has fewer; RELN_ERR_REP when the group mixes them with others
 */
RELN_API RelnNode *reln_slice_k(RelnGraph *g, RelnNode *x, int first, const RelnRep *part);

/*!
 * reln_transpose_matrix() -- Z = X^T, for coordinates that are an n x n matrix row by row
 *
 * Rep     as x. Equivariant if g^-1 = g^T (so:n, o:n), refused for gl:n
 */
RELN_API RelnNode *reln_transpose_matrix(RelnGraph *g, RelnNode *x);

/*!
 * reln_center_part() -- the part of x in the centre of the algebra: tr(X)/n I on gl(n); x minus it is in [g, g]
 *
 * Rep     as x, which must be the adjoint rep of the algebra
 */
RELN_API RelnNode *reln_center_part(RelnGraph *g, const RelnAlgebra *algebra, RelnNode *x);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0];
    const RelnTensor3 *T = ((const Attr *)z->attr)->t;

    if (!reln_want_float(g, z))
        return false;
    if (x->shape.dims[RELN_K] != T->i)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "linear: %s does not fit a %dx%d matrix",
                               reln_shape_text(x), T->k, T->i);
    z->shape = x->shape;
    z->shape.dims[RELN_K] = T->k;
    for (int e = 0; e < T->count; e++)
        if (!reln_want_finite(g, z, T->entries[e].value))
            return false;
    return reln_want_bilinear(g, "linear", T, x->rep, reln_invariant(g, 1), z->rep);
}

/* Rows are everything before (K, C). */
static RelnStatus forward(const RelnExec *e)
{
    const RelnNode *z = e->node;
    const RelnTensor3 *T = ((const Attr *)z->attr)->t;
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t c = z->shape.dims[RELN_C];
    const ptrdiff_t rows = e->n * reln_shape_before(&z->shape, RELN_K);

    k->linear_rows(T, rows, c, e->in[0], e->out);
    return RELN_OK;
}

static RelnNode *linear(RelnGraph *g, RelnNode *x, const RelnTensor3 *t, const RelnRep *out)
{
    const Attr attr = {t};

    return t && out ? reln_node(g, &reln_op_linear, 1, &x, &attr, sizeof attr, out) : NULL;
}

/* <gz, M x> = <M^T gz, x> */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = linear(g, gz, reln_tensor3_turn(g, ((const Attr *)z->attr)->t, "kji"),
                    reln_dual(g, z->in[0]->rep));
}

static const RelnTensor3 *constant(const RelnNode *z)
{
    return ((const Attr *)z->attr)->t;
}

static double flops(const RelnNode *z)
{
    const ptrdiff_t rows = reln_shape_count(&z->shape) / z->shape.dims[RELN_K];

    return 2.0 * ((const Attr *)z->attr)->t->count * (double)rows;
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnAlgebra *algebra = reln_sample_algebra(s);
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const RelnRep *both = reln_rep_sum(adjoint, reln_rep_vector(reln_graph_group(s->graph)));
    const int k = reln_rep_dim(adjoint), n = reln_rep_dim(both) - k;
    static const double mixing[6] = {1.0, -2.0, 0.5, 0.0, 3.0, 1.5};

    switch (index) {
    case 0: /* x minus twice its central part: so has none, and its matrix of the centre no entries */
    {
        RelnNode *x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 5}, adjoint);
        return reln_sub(s->graph, x,
                        reln_scale(s->graph, reln_center_part(s->graph, algebra, x), 2.0));
    }
    case 1: /* one summand */
        return reln_slice_k(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, k + n, 4}, both), k,
            reln_rep_vector(reln_graph_group(s->graph)));
    case 2: /* any matrix between invariants */
        return reln_linear_map(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 37}, NULL), mixing,
            reln_invariant(s->graph, 2));
    case 3:
        return reln_linear_map(s->graph,
                               reln_sample_normal(s, RELN_STEP, (RelnDims){2, 1, 1, 2, 3}, NULL),
                               mixing, reln_invariant(s->graph, 3));
    default:
        return NULL;
    }
}

const RelnOp reln_op_linear = {
    .name = "linear",
    .rule = RELN_RULE_CONSTANT,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .constant = constant,
    .sample = sample,
};

static RelnNode *linear_entries(RelnGraph *g, RelnNode *x, const RelnEntry *entries, int count,
                                const RelnRep *out)
{
    const RelnTensor3 t = {x->shape.dims[RELN_K], 1, reln_rep_dim(out), count, entries};

    return linear(g, x, reln_graph_settled(g, "linear", &t, x->rep, reln_invariant(g, 1), out),
                  out);
}

/* Returns whether x and the rep `out` are not NULL. If `out` could not be made, the context has the reason. */
static bool given(RelnGraph *g, const RelnNode *x, const RelnRep *out)
{
    if (x && !out)
        reln_graph_fail(g, RELN_ERR_REP, "linear: no rep to map to: %s",
                        reln_ctx_error(reln_graph_ctx(g)));
    return x && out;
}

RelnNode *reln_linear_map(RelnGraph *g, RelnNode *x, const double *m, const RelnRep *out)
{
    RELN_NEED(g && m, (reln_graph_null(g, __func__), NULL));

    const int in = x ? x->shape.dims[RELN_K] : 0, to = out ? reln_rep_dim(out) : 0;
    RelnEntry *entries =
        given(g, x, out) ? reln_graph_alloc(g, (size_t)in * (size_t)to, sizeof *entries) : NULL;
    int count = 0;

    if (!entries)
        return NULL;
    for (int k = 0; k < to; k++)
        for (int i = 0; i < in; i++)
            if (m[k * in + i] != 0.0)
                entries[count++] = (RelnEntry){i, 0, k, m[k * in + i]};
    return linear_entries(g, x, entries, count, out);
}

RelnNode *reln_slice_k(RelnGraph *g, RelnNode *x, int first, const RelnRep *part)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    const int count = part ? reln_rep_dim(part) : 0;
    RelnEntry *entries;

    if (!given(g, x, part))
        return NULL;
    if (first < 0 || first > x->shape.dims[RELN_K] - count) {
        reln_graph_fail(g, RELN_ERR_SHAPE, "slice_k: coordinates %d to %td of %s, which has %d",
                        first, (ptrdiff_t)first + count - 1, reln_shape_text(x),
                        x->shape.dims[RELN_K]);
        return NULL;
    }
    entries = reln_graph_alloc(g, (size_t)count, sizeof *entries);
    for (int k = 0; k < count && entries; k++)
        entries[k] = (RelnEntry){first + k, 0, k, 1.0};
    return entries ? linear_entries(g, x, entries, count, part) : NULL;
}

RelnNode *reln_transpose_matrix(RelnGraph *g, RelnNode *x)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    const int k = x && x->rep ? x->shape.dims[RELN_K] : 0;
    RelnEntry *entries;
    int n = 0;

    if (!x)
        return NULL;
    while (n * n < k)
        n++;
    if (n * n != k || k == 0) {
        reln_graph_fail(g, RELN_ERR_SHAPE,
                        "transpose: %s has %d coordinates, wanted n^2, a matrix row by row",
                        reln_shape_text(x), x->shape.dims[RELN_K]);
        return NULL;
    }
    entries = reln_graph_alloc(g, (size_t)k, sizeof *entries);
    for (int i = 0; i < k && entries; i++)
        entries[i] = (RelnEntry){i % n * n + i / n, 0, i, 1.0};
    return entries ? linear_entries(g, x, entries, k, x->rep) : NULL;
}

RelnNode *reln_center_part(RelnGraph *g, const RelnAlgebra *algebra, RelnNode *x)
{
    RELN_NEED(g && algebra, (reln_graph_null(g, __func__), NULL));

    if (!x)
        return NULL;
    if (x->shape.dims[RELN_K] != reln_algebra_dim(algebra)) {
        reln_graph_fail(g, RELN_ERR_SHAPE, "center_part: %s has %d coordinates, %s has %d",
                        reln_shape_text(x), x->shape.dims[RELN_K], reln_algebra_name(algebra),
                        reln_algebra_dim(algebra));
        return NULL;
    }
    return reln_linear_map(g, x, reln_algebra_center_projector(algebra), x->rep);
}
