/* permute.c -- reorders axes. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnAxis axes[RELN_AXES];
} Attr;

/*!
 * reln_permute() -- z's axis a is x's axis axes[a]: {RELN_Q, RELN_P, RELN_R, RELN_K, RELN_C} exchanges P and Q
 *
 * Rep     as x; K must stay in its place unless x is invariant. Indices are allowed
 * Fails   RELN_ERR_ARG when axes is not a permutation; RELN_ERR_REP when K of a feature would move
 * Cost    none if only axes of extent 1 move
 */
RELN_API RelnNode *reln_permute(RelnGraph *g, RelnNode *x, const RelnAxis axes[RELN_AXES]);

/*!
 * reln_swap_axes() -- exchanges two axes: a case of reln_permute()
 */
RELN_API RelnNode *reln_swap_axes(RelnGraph *g, RelnNode *x, RelnAxis a, RelnAxis b);

static bool is_permutation(const RelnAxis *axes)
{
    unsigned seen = 0;

    for (int a = 0; a < RELN_AXES; a++)
        if (axes[a] >= RELN_P && axes[a] <= RELN_C)
            seen |= 1u << (unsigned)axes[a];
    return seen == (1u << RELN_AXES) - 1;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnAxis *axes = ((const Attr *)z->attr)->axes;
    const RelnNode *x = z->in[0];

    if (!is_permutation(axes))
        return reln_graph_fail(
            g, RELN_ERR_ARG, "permute: axes %d %d %d %d %d, wanted each of 0 to 4 once",
            (int)axes[0], (int)axes[1], (int)axes[2], (int)axes[3], (int)axes[4]);
    for (int a = 0; a < RELN_AXES; a++)
        z->shape.dims[a] = x->shape.dims[axes[a]];
    z->rep = x->rep;
    if (axes[RELN_K] == RELN_K || z->dtype == RELN_I32)
        return true;
    z->rep = reln_want_invariant(g, z, x) ? reln_invariant(g, z->shape.dims[RELN_K]) : NULL;
    return z->rep != NULL;
}

static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const RelnAxis *axes = ((const Attr *)z->attr)->axes;
    const RelnShape *from = &z->in[0]->shape;
    ptrdiff_t stride[1][RELN_LOOP_MAX];

    (void)kern;
    stride[0][0] = reln_shape_count(from);
    for (int a = 0; a < RELN_AXES; a++)
        stride[0][a + 1] = reln_shape_behind(from, axes[a]);
    if (prepared)
        reln_loops_of(&z->shape, 1, stride, prepared);
    return sizeof(RelnLoops);
}

/* Copy n elements, whatever their type. The size is a constant in each loop, so a copy is one instruction. */
static void copy(char *z, const char *x, ptrdiff_t stride, ptrdiff_t n, size_t size)
{
    if (stride == 1)
        memcpy(z, x, (size_t)n * size);
    else if (size == 4)
        for (ptrdiff_t i = 0; i < n; i++)
            memcpy(z + i * 4, x + i * stride * 4, 4);
    else
        for (ptrdiff_t i = 0; i < n; i++)
            memcpy(z + i * 8, x + i * stride * 8, 8);
}

static RelnStatus forward(const RelnExec *e)
{
    const size_t size = reln_dtype_size(e->node->dtype);

    for (RelnWalk w = reln_walk(e->prepared, 1, e->n); !w.done; reln_walk_next(&w, 1))
        copy(reln_at(e->out, w.out, size), reln_at(e->in[0], w.offset[0], size),
             reln_walk_stride(&w, 0), w.run, size);
    return RELN_OK;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnAxis *axes = ((const Attr *)z->attr)->axes;
    RelnAxis back[RELN_AXES];

    for (int a = 0; a < RELN_AXES; a++)
        back[axes[a]] = (RelnAxis)a;
    gin[0] = reln_permute(g, gz, back);
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static RelnNode *sample(RelnSampler *s, int index)
{
    static const RelnAxis around[RELN_AXES] = {RELN_C, RELN_K, RELN_P, RELN_R, RELN_Q};
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_swap_axes(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 3, 2, k, 2}, adjoint),
            RELN_P, RELN_Q);
    case 1: /* channels to points: coordinates stay */
        return reln_swap_axes(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, k, 3}, adjoint),
            RELN_P, RELN_C);
    case 2:
        return reln_permute(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 3, 2, 2, 3}, NULL), around);
    case 3: /* a view: only an axis of extent 1 moves */
        return reln_swap_axes(s->graph,
                              reln_sample_normal(s, RELN_STEP, (RelnDims){3, 1, 1, k, 2}, adjoint),
                              RELN_P, RELN_R);
    default:
        return NULL;
    }
}

const RelnOp reln_op_permute = {
    .name = "permute",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .flops = flops,
    .sample = sample,
};

/* Returns whether the result can share x's memory: the axes longer than 1 keep their order, and K and C
 * stay. */
static bool is_view(const RelnNode *x, const RelnAxis *axes)
{
    int last = -1;

    if (!is_permutation(axes) || axes[RELN_K] != RELN_K || axes[RELN_C] != RELN_C)
        return false;
    for (int a = 0; a < RELN_K; a++)
        if (x->shape.dims[axes[a]] > 1) {
            if ((int)axes[a] < last)
                return false;
            last = (int)axes[a];
        }
    return true;
}

RelnNode *reln_permute(RelnGraph *g, RelnNode *x, const RelnAxis axes[RELN_AXES])
{
    RELN_NEED(axes, (reln_graph_null(g, __func__), NULL));

    Attr attr;
    const int *d = x ? x->shape.dims : NULL;

    memcpy(attr.axes, axes, sizeof attr.axes);
    if (x && is_view(x, axes))
        return reln_reshape(g, x,
                            (RelnDims){d[axes[0]], d[axes[1]], d[axes[2]], d[RELN_K], d[RELN_C]});
    return reln_node(g, &reln_op_permute, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_swap_axes(RelnGraph *g, RelnNode *x, RelnAxis a, RelnAxis b)
{
    RelnAxis axes[RELN_AXES];

    for (int i = 0; i < RELN_AXES; i++)
        axes[i] = i == (int)a ? b : i == (int)b ? a : (RelnAxis)i;
    return reln_permute(g, x, axes);
}
