/* random.c -- random numbers as pure functions of (seed, step, key, item, element), and dropout. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "reln/random.h"

typedef enum Kind { UNIFORM, NORMAL, BERNOULLI } Kind;

typedef struct Attr {
    Kind kind;
    RelnDomain domain;
    RelnShape shape;
    double p;
    uint64_t key;
} Attr;

/*!
 * reln_random_uniform() -- numbers in [0, 1); reln_random_normal(): mean 0, variance 1; reln_random_bernoulli(): 1 with
 * probability p, else 0
 *
 * Every number is a function of the run's seed and step, the position of its item in the batch, the key, and its
 * position in the item. It is therefore the same for any number of threads, when a function is computed again for its
 * gradient, and after a resume. Nodes with equal keys hold equal numbers, so give each node a different key,
 * counting from 1; or 0 for the next key of the graph, which is the same for graphs that are built in the same way.
 *
 * Shapes  dims, for each item of the domain; at step level one item
 * Rep     invariant, without a gradient
 * Notes   two calls of a function draw the same numbers: pass random numbers as an argument instead
 * Fails   RELN_ERR_ARG when p is not in [0, 1]
 */
RELN_API RelnNode *reln_random_uniform(RelnGraph *g, RelnDomain domain, RelnDims dims,
                                       uint64_t key);
RELN_API RelnNode *reln_random_normal(RelnGraph *g, RelnDomain domain, RelnDims dims, uint64_t key);
RELN_API RelnNode *reln_random_bernoulli(RelnGraph *g, double p, RelnDomain domain, RelnDims dims,
                                         uint64_t key);

/*!
 * reln_dropout() -- z = x m / (1 - p), m = 0 with probability p, else 1: for training; do not build it for evaluation
 *
 * Rep     as x: m is shared by the coordinates of a feature, which is kept or dropped as a whole
 * Fails   RELN_ERR_ARG when p is not in [0, 1)
 */
RELN_API RelnNode *reln_dropout(RelnGraph *g, RelnNode *x, double p, uint64_t key);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;

    for (int i = 0; i < RELN_AXES; i++)
        if (a->shape.dims[i] < 1)
            return reln_graph_fail(g, RELN_ERR_SHAPE, "random: an extent of %d, wanted at least 1",
                                   a->shape.dims[i]);
    if (!reln_domain_known(g, a->domain))
        return reln_graph_fail(g, RELN_ERR_ARG, "random: domain %d is not one of this graph",
                               a->domain);
    if (!(a->p >= 0.0 && a->p <= 1.0))
        return reln_graph_fail(g, RELN_ERR_ARG, "random: a probability of %g", a->p);
    z->shape = a->shape;
    z->domain = a->domain;
    z->rep = reln_invariant(g, z->shape.dims[RELN_K]);
    return z->rep != NULL;
}

/* The key of all numbers of this node in this step. The key itself is a random draw, so that neighbouring seeds, steps
 * and keys give unrelated numbers. */
static void step_key(const RelnExec *e, uint32_t key[2])
{
    const uint64_t own = ((const Attr *)e->node->attr)->key;
    const uint32_t counter[4] = {(uint32_t)e->step, (uint32_t)(e->step >> 32), (uint32_t)own,
                                 (uint32_t)(own >> 32)};
    const uint32_t seed[2] = {(uint32_t)e->seed, (uint32_t)(e->seed >> 32)};
    uint32_t words[4];

    reln_philox(counter, seed, words);
    key[0] = words[0];
    key[1] = words[1];
}

/* In [0, 1) with as many bits as fit, so that rounding never gives 1. */
static double unit(uint64_t bits, bool narrow)
{
    return narrow ? (double)(bits >> 40) * 0x1p-24 : (double)(bits >> 11) * 0x1p-53;
}

/* Elements 2 block and 2 block + 1 of an item, from four words. */
static void draw_pair(const Attr *a, bool narrow, const uint32_t w[4], double out[2])
{
    const uint64_t bits[2] = {(uint64_t)w[1] << 32 | w[0], (uint64_t)w[3] << 32 | w[2]};

    if (a->kind == NORMAL) { /* Box and Muller; 1 - u keeps the logarithm finite */
        const double radius = sqrt(-2.0 * log(1.0 - unit(bits[0], false)));
        const double angle = 6.283185307179586 * unit(bits[1], false);

        out[0] = radius * cos(angle);
        out[1] = radius * sin(angle);
        return;
    }
    for (int i = 0; i < 2; i++)
        out[i] = a->kind == UNIFORM ? unit(bits[i], narrow) : (double)(unit(bits[i], false) < a->p);
}

static void draw_item(const RelnExec *e, const uint32_t key[2], uint64_t item, char *out)
{
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t count = reln_shape_count(&e->node->shape);

    for (ptrdiff_t i = 0; i < count; i += 2) {
        const uint32_t counter[4] = {(uint32_t)(i / 2), (uint32_t)item, (uint32_t)(item >> 32), 0};
        uint32_t words[4];
        double pair[2];

        reln_philox(counter, key, words);
        draw_pair(e->node->attr, e->node->dtype == RELN_F32, words, pair);
        k->from_f64(count - i < 2 ? 1 : 2, pair, out + (size_t)i * k->size);
    }
}

static RelnStatus forward(const RelnExec *e)
{
    uint32_t key[2];

    step_key(e, key);
    for (ptrdiff_t i = 0; i < e->n; i++)
        draw_item(e, key, (uint64_t)(e->first + i),
                  (char *)e->out + (size_t)i * reln_node_bytes(e->node));
    return RELN_OK;
}

static RelnNode *sample(RelnSampler *s, int index)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_random_uniform(g, RELN_SAMPLES, (RelnDims){1, 2, 1, 1, 5}, 1);
    case 1:
        return reln_random_normal(g, reln_sample_rows(s), (RelnDims){1, 1, 1, 3, 3}, 0);
    case 2:
        return reln_random_bernoulli(g, 0.3, RELN_STEP, (RelnDims){1, 1, 4, 1, 5}, 0);
    case 3:
        return reln_dropout(
            g, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, k, 4}, adjoint), 0.4, 2);
    default:
        return NULL;
    }
}

const RelnOp reln_op_random = {
    .name = "random",
    .rule = RELN_RULE_INVARIANTS,
    .flags = RELN_OP_PLACE,
    .n_in = 0,
    .infer = infer,
    .forward = forward,
    .sample = sample,
};

static RelnNode *draw(RelnGraph *g, Kind kind, double p, RelnDomain domain, RelnDims dims,
                      uint64_t key)
{
    Attr attr;

    memset(&attr, 0, sizeof attr);
    attr.kind = kind;
    attr.domain = domain;
    attr.shape = reln_shape_from(dims);
    attr.p = p;
    attr.key = key ? key : reln_graph_key(g);
    return reln_node(g, &reln_op_random, 0, NULL, &attr, sizeof attr, NULL);
}

RelnNode *reln_random_uniform(RelnGraph *g, RelnDomain domain, RelnDims dims, uint64_t key)
{
    return draw(g, UNIFORM, 0.0, domain, dims, key);
}

RelnNode *reln_random_normal(RelnGraph *g, RelnDomain domain, RelnDims dims, uint64_t key)
{
    return draw(g, NORMAL, 0.0, domain, dims, key);
}

RelnNode *reln_random_bernoulli(RelnGraph *g, double p, RelnDomain domain, RelnDims dims,
                                uint64_t key)
{
    return draw(g, BERNOULLI, p, domain, dims, key);
}

RelnNode *reln_dropout(RelnGraph *g, RelnNode *x, double p, uint64_t key)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    RelnDims dims;
    RelnNode *kept;

    if (!x || p == 0.0)
        return x;
    if (!(p > 0.0 && p < 1.0)) {
        reln_graph_fail(g, RELN_ERR_ARG, "dropout: a probability of %g, wanted 0 to below 1", p);
        return NULL;
    }
    dims = reln_node_dims(x);
    dims.k = 1;
    kept = reln_random_bernoulli(g, 1.0 - p, x->domain, dims, key);
    return reln_mul(g, x, reln_cast(g, reln_scale(g, kept, 1.0 / (1.0 - p)), x->dtype));
}
