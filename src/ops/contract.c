/* contract.c -- channel-wise bilinear map with a constant sparse tensor: bracket, form, dot, cross ... */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    const RelnTensor3 *t; /* interned by the graph: equal tensors are one object */
} Attr;

/*!
 * reln_contract() -- z[k,c] = sum_ij T[i,j,k] x[i,c] y[j,c]
 *
 * Shapes  x (..., I, C), y (..., J, C) -> z (..., K, C); leading axes and channels broadcast
 * Rep     reps of x and y -> w; T must be an intertwiner between them
 * Fails   RELN_ERR_SHAPE when I, J do not fit T; RELN_ERR_REP when T does not commute with a generator
 * Cost    3 multiplications or additions for each non-zero of T and channel
 */
RELN_API RelnNode *reln_contract(RelnGraph *g, const RelnTensor3 *T, RelnNode *x, RelnNode *y,
                                 const RelnRep *w);

/*!
 * reln_pair() -- s[c] = sum_k x[k,c] y[k,c], for x and y in dual reps: the invariant pairing
 */
RELN_API RelnNode *reln_pair(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_bracket() -- z = [x, y] in an algebra, for each channel: T = structure constants
 *
 * Rep     x, y and z are in the adjoint rep of the algebra
 */
RELN_API RelnNode *reln_bracket(RelnGraph *g, const RelnAlgebra *algebra, RelnNode *x, RelnNode *y);

/*!
 * reln_form() -- s[c] = B(x[:,c], y[:,c]) for each channel, an invariant
 */
RELN_API RelnNode *reln_form(RelnGraph *g, const RelnAlgebra *algebra, RelnForm form, RelnNode *x,
                             RelnNode *y);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *y = z->in[1];
    const RelnTensor3 *T = ((const Attr *)z->attr)->t;

    if (!reln_want_float(g, z))
        return false;
    if (x->shape.dims[RELN_K] != T->i || y->shape.dims[RELN_K] != T->j)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "contract: %s and %s do not fit a %dx%dx%d tensor",
                               reln_shape_text(x), reln_shape_text(y), T->i, T->j, T->k);
    if (!reln_broadcast(g, z, RELN_ALL_AXES & ~(1 << RELN_K), &z->shape))
        return false;
    z->shape.dims[RELN_K] = T->k;
    if (!z->rep || reln_rep_dim(z->rep) != T->k)
        return reln_graph_fail(
            g, RELN_ERR_SHAPE, "contract: the tensor gives %d coordinates, rep %s has %d", T->k,
            z->rep ? reln_rep_name(z->rep) : "(none)", z->rep ? reln_rep_dim(z->rep) : 0);
    for (int e = 0; e < T->count; e++)
        if (!reln_want_finite(g, z, T->entries[e].value))
            return false;
    return reln_want_bilinear(g, "contract", T, x->rep, y->rep, z->rep);
}

/* Rows are everything before (K, C): items, P, Q, R. The inner axes whose rows are evenly spaced form one run; the loop
 * steps over the outer axes. */
typedef struct Prepared {
    ptrdiff_t extent[2]; /* P and Q, if the loop steps over them; otherwise 1 */
    ptrdiff_t stride_x[RELN_LOOP_MAX], stride_y[RELN_LOOP_MAX]; /* items, P, Q, R in elements */
    ptrdiff_t run, row_x, row_y; /* rows of a run, and their distances */
    ptrdiff_t zrow;
    ptrdiff_t sx, sy; /* strides of channels */
    bool items;       /* the run goes on over items */
} Prepared;

/* Adds an axis to the outside of the run, if its rows continue at the same distances. */
static bool extend(Prepared *p, ptrdiff_t extent, ptrdiff_t stride_x, ptrdiff_t stride_y)
{
    if (extent != 1 && p->run == 1) {
        p->row_x = stride_x;
        p->row_y = stride_y;
    } else if (extent != 1 && (stride_x != p->run * p->row_x || stride_y != p->run * p->row_y)) {
        return false;
    }
    p->run *= extent;
    return true;
}

static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const RelnNode *x = z->in[0], *y = z->in[1];
    Prepared *p = prepared;
    int a = RELN_R;

    (void)kern;
    if (!p)
        return sizeof *p;
    reln_strides(&z->shape, &x->shape, reln_is_once(x, z), p->stride_x);
    reln_strides(&z->shape, &y->shape, reln_is_once(y, z), p->stride_y);
    p->run = 1;
    p->row_x = p->row_y = 0;
    while (a >= RELN_P && extend(p, z->shape.dims[a], p->stride_x[a + 1], p->stride_y[a + 1]))
        a--;
    for (int b = RELN_P; b <= RELN_Q; b++)
        p->extent[b] = b <= a ? z->shape.dims[b] : 1;
    p->items = a < RELN_P && (p->run == 1 || (p->stride_x[0] == p->run * p->row_x &&
                                              p->stride_y[0] == p->run * p->row_y));
    if (p->items && p->run == 1) {
        p->row_x = p->stride_x[0];
        p->row_y = p->stride_y[0];
    }
    p->zrow = (ptrdiff_t)z->shape.dims[RELN_K] * z->shape.dims[RELN_C];
    p->sx = x->shape.dims[RELN_C] == 1 ? 0 : 1;
    p->sy = y->shape.dims[RELN_C] == 1 ? 0 : 1;
    return sizeof *p;
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnNode *z = e->node;
    const RelnTensor3 *T = ((const Attr *)z->attr)->t;
    const Prepared *p = e->prepared;
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t cx = z->in[0]->shape.dims[RELN_C], cy = z->in[1]->shape.dims[RELN_C],
                    c = z->shape.dims[RELN_C];
    const ptrdiff_t items = p->items ? 1 : e->n, rows = p->items ? e->n * p->run : p->run;
    ptrdiff_t z_at = 0;

    for (ptrdiff_t i = 0; i < items; i++)
        for (ptrdiff_t ip = 0; ip < p->extent[RELN_P]; ip++)
            for (ptrdiff_t iq = 0; iq < p->extent[RELN_Q]; iq++) {
                const ptrdiff_t x = i * p->stride_x[0] + ip * p->stride_x[1] + iq * p->stride_x[2];
                const ptrdiff_t y = i * p->stride_y[0] + ip * p->stride_y[1] + iq * p->stride_y[2];

                k->contract_rows(T, rows, c, reln_at(e->in[0], x, k->size), p->row_x, cx, p->sx,
                                 reln_at(e->in[1], y, k->size), p->row_y, cy, p->sy,
                                 reln_at(e->out, z_at, k->size));
                z_at += rows * p->zrow;
            }
    return RELN_OK;
}

/* <gz, T(x,y)> is trilinear: each gradient is the same op with T's axes turned, on the dual reps. */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    RelnNode *x = z->in[0], *y = z->in[1];
    const RelnTensor3 *T = ((const Attr *)z->attr)->t;

    gin[0] = reln_contract(g, reln_tensor3_turn(g, T, "kji"), gz, y, reln_dual(g, x->rep));
    gin[1] = reln_contract(g, reln_tensor3_turn(g, T, "ikj"), x, gz, reln_dual(g, y->rep));
}

static const RelnTensor3 *constant(const RelnNode *z)
{
    return ((const Attr *)z->attr)->t;
}

static double flops(const RelnNode *z)
{
    const ptrdiff_t rows = reln_shape_count(&z->shape) / z->shape.dims[RELN_K];

    return 3.0 * ((const Attr *)z->attr)->t->count * (double)rows;
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnAlgebra *algebra = reln_sample_algebra(s);
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 3, k, 5}, adjoint);

    switch (index) {
    case 0:
        return reln_bracket(
            s->graph, algebra, x,
            reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 3, k, 5}, adjoint));
    case 1: /* a shared direction: one channel */
        return reln_form(s->graph, algebra, RELN_FORM_COMPLETED, x,
                         reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 1, k, 1}, adjoint));
    case 2: /* from step level, points against points */
        return reln_bracket(s->graph, algebra,
                            reln_sample_normal(s, RELN_STEP, (RelnDims){1, 2, 1, k, 5}, adjoint),
                            x);
    case 3: /* longer than a block of channels, and not a multiple of it */
        return reln_bracket(
            s->graph, algebra,
            reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 1, k, 37}, adjoint),
            reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 1, 1, k, 1}, adjoint));
    default:
        return NULL;
    }
}

const RelnOp reln_op_contract = {
    .name = "contract",
    .rule = RELN_RULE_CONSTANT,
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .flops = flops,
    .constant = constant,
    .sample = sample,
};

/* Returns whether T multiplies every coordinate of one factor by the only coordinate of the other: T[0,k,k] = 1, or
 * T[k,0,k] = 1 if `turned`. */
static bool is_scaling(const RelnTensor3 *T, bool turned)
{
    if ((turned ? T->j : T->i) != 1 || (turned ? T->i : T->j) != T->k || T->count != T->k)
        return false;
    for (int e = 0; e < T->count; e++) {
        const RelnEntry *t = &T->entries[e];

        if (t->k != e || (turned ? t->i : t->j) != e || t->value != 1.0)
            return false;
    }
    return true;
}

/* Returns whether T(x, y) in rep w equals reln_mul(x, y): one factor is invariant, and T only scales the other by it. A product
 * joins chains of elementwise nodes, a contraction does not. */
static bool is_product(const RelnTensor3 *T, const RelnNode *x, const RelnNode *y, const RelnRep *w)
{
    return (is_scaling(T, false) && reln_is_invariant(x) && w == y->rep) ||
           (is_scaling(T, true) && reln_is_invariant(y) && w == x->rep);
}

RelnNode *reln_contract(RelnGraph *g, const RelnTensor3 *T, RelnNode *x, RelnNode *y,
                        const RelnRep *w)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    if (T && (T->count < 0 || (T->count > 0 && !T->entries))) {
        reln_graph_fail(g, RELN_ERR_ARG, "contract: a tensor of %d entries%s", T->count,
                        T->entries ? "" : ", which are not given");
        return NULL;
    }

    const Attr attr = {T && x && y ? reln_graph_settled(g, "contract", T, x->rep, y->rep, w)
                                   : NULL};

    if (!attr.t)
        return NULL;
    if (is_product(attr.t, x, y, w))
        return reln_mul(g, x, y);
    return reln_node(g, &reln_op_contract, 2, (RelnNode *[]){x, y}, &attr, sizeof attr, w);
}

/* A tensor from a list of entries made here; NULL with the graph failed. */
static RelnNode *contract_entries(RelnGraph *g, RelnEntry *entries, int count, int i, int j,
                                  RelnNode *x, RelnNode *y)
{
    const RelnTensor3 t = {i, j, 1, count, entries};

    return reln_contract(g, &t, x, y, reln_invariant(g, 1));
}

RelnNode *reln_pair(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    const int k = x && y ? x->shape.dims[RELN_K] : 0;
    RelnEntry *entries = k ? reln_graph_alloc(g, (size_t)k, sizeof *entries) : NULL;

    if (!entries)
        return NULL;
    for (int i = 0; i < k; i++)
        entries[i] = (RelnEntry){i, i, 0, 1.0};
    return contract_entries(g, entries, k, k, y->shape.dims[RELN_K], x, y);
}

RelnNode *reln_bracket(RelnGraph *g, const RelnAlgebra *algebra, RelnNode *x, RelnNode *y)
{
    RELN_NEED(g && algebra, (reln_graph_null(g, __func__), NULL));

    return x && y ? reln_contract(g, reln_algebra_structure(algebra), x, y, x->rep) : NULL;
}

RelnNode *reln_form(RelnGraph *g, const RelnAlgebra *algebra, RelnForm form, RelnNode *x,
                    RelnNode *y)
{
    RELN_NEED(g && algebra, (reln_graph_null(g, __func__), NULL));

    const int k = reln_algebra_dim(algebra);
    const double *gram = NULL;
    const RelnStatus status = reln_algebra_gram(algebra, form, &gram);
    RelnEntry *entries;
    int count = 0;

    if (!x || !y)
        return NULL;
    if (status != RELN_OK) {
        reln_graph_fail(g, status, "%s", reln_ctx_error(reln_algebra_ctx(algebra)));
        return NULL;
    }
    entries = reln_graph_alloc(g, (size_t)k * (size_t)k, sizeof *entries);
    for (int i = 0; i < k && entries; i++)
        for (int j = 0; j < k; j++)
            if (gram[i * k + j] != 0.0)
                entries[count++] = (RelnEntry){i, j, 0, gram[i * k + j]};
    return entries ? contract_entries(g, entries, count, k, k, x, y) : NULL;
}
