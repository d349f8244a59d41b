/* expand.c -- repeating a value along broadcast axes and over items: the adjoint of sum. */
#include <string.h>

#include "ops/elementwise.h"

typedef struct Attr {
    RelnShape shape;
    RelnDomain domain;
} Attr;

/*!
 * reln_expand() -- repeats x to the shape and domain of `like`
 *
 * Shapes  x's extents equal like's or are 1; x is at step level or in like's domain
 * Rep     as x; K is repeated for invariants only
 */
RELN_API RelnNode *reln_expand(RelnGraph *g, RelnNode *x, const RelnNode *like);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;
    const RelnNode *x = z->in[0];
    const bool zero = z->rep != NULL;

    for (int i = 0; i < RELN_AXES; i++)
        if (x->shape.dims[i] != a->shape.dims[i] && x->shape.dims[i] != 1)
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "expand: %s has extent %d on axis %d, wanted %d or 1",
                                   reln_shape_text(x), x->shape.dims[i], i, a->shape.dims[i]);
    if (!reln_domain_known(g, a->domain))
        return reln_graph_fail(g, RELN_ERR_ARG, "expand: domain %d is not one of this graph",
                               a->domain);
    if (x->domain != RELN_STEP && x->domain != a->domain)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "expand: items of %s are not those of the shape wanted; gather them",
                               reln_shape_text(x));
    z->shape = a->shape;
    z->domain = a->domain;
    if (zero)
        return true;
    z->rep = x->rep;
    if (x->shape.dims[RELN_K] != a->shape.dims[RELN_K]) {
        if (!reln_want_invariant(g, z, x))
            return false;
        z->rep = reln_invariant(g, a->shape.dims[RELN_K]);
    }
    return x->dtype == RELN_I32 || z->rep != NULL;
}

static void repeat_indices(const RelnExec *e)
{
    int32_t *out = e->out;

    for (RelnWalk w = reln_walk(e->prepared, 1, e->n); !w.done; reln_walk_next(&w, 1)) {
        const int32_t *in = (const int32_t *)e->in[0] + w.offset[0];

        for (ptrdiff_t i = 0; i < w.run; i++)
            out[w.out + i] = in[i * reln_walk_stride(&w, 0)];
    }
}

static void repeat_numbers(const RelnExec *e)
{
    const RelnRealKernels *k = reln_kern(e);

    for (RelnWalk w = reln_walk_rows(e->prepared, 1, e->n); !w.done; reln_walk_next(&w, 1)) {
        const RelnLink link = {.kind = RELN_LINK_LOAD,
                               .at = reln_at(e->in[0], w.offset[0], k->size),
                               .row = reln_walk_row(&w, 0),
                               .column = reln_walk_stride(&w, 0)};

        k->links(1, w.rows, w.run, 1, &link, reln_at(e->out, w.out, k->size));
    }
}

static RelnStatus forward(const RelnExec *e)
{
    if (e->node->dtype == RELN_I32)
        repeat_indices(e);
    else
        repeat_numbers(e);
    return RELN_OK;
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    (void)g;
    (void)z;
    gin[0] = gz; /* the sweep sums it to the shape of x */
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *like = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 4}, adjoint);

    switch (index) {
    case 0:
        return reln_expand(
            s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 3, k, 1}, adjoint), like);
    case 1:
        return reln_expand(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 4}, NULL), like);
    default:
        return NULL;
    }
}

static bool link(const RelnNode *z, RelnLink *out)
{
    out->kind = RELN_LINK_LOAD;
    return z->dtype != RELN_I32;
}

const RelnOp reln_op_expand = {
    .name = "expand",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = reln_elementwise_prepare,
    .link = link,
    .flops = flops,
    .sample = sample,
};

static RelnNode *expand(RelnGraph *g, RelnNode *x, const RelnShape *shape, RelnDomain domain,
                        const RelnRep *rep)
{
    Attr attr;

    memset(&attr, 0, sizeof attr);
    attr.shape = *shape;
    attr.domain = domain;
    if (!x || (!rep && x->domain == domain && memcmp(&x->shape, shape, sizeof *shape) == 0))
        return x;
    return reln_node(g, &reln_op_expand, 1, &x, &attr, sizeof attr, rep);
}

RelnNode *reln_expand(RelnGraph *g, RelnNode *x, const RelnNode *like)
{
    return like ? expand(g, x, &like->shape, like->domain, NULL) : NULL;
}

RelnNode *reln_expand_to(RelnGraph *g, RelnNode *x, const RelnShape *shape, RelnDomain domain)
{
    return expand(g, x, shape, domain, NULL);
}

RelnNode *reln_expand_domain(RelnGraph *g, RelnNode *x, RelnDomain domain)
{
    return x ? expand(g, x, &x->shape, domain, NULL) : NULL;
}

RelnNode *reln_expand_zero(RelnGraph *g, RelnNode *zero, const RelnNode *like, const RelnRep *rep)
{
    return expand(g, zero, &like->shape, like->domain, rep);
}
