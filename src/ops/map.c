/* map.c -- elementwise functions of invariants. */
#include "ops/ops.h"

typedef struct Attr {
    RelnMap f;
} Attr;

/*!
 * reln_exp(), reln_log(), ... -- z = f(x) for each element
 *
 * Shapes  as x
 * Rep     invariants only: an elementwise function of a feature is not equivariant
 * Notes   sigmoid 1/(1+e^-x); softplus log(1+e^x); erf 2/sqrt(pi) times the integral of e^-t^2 from 0 to x; sign -1,
 *         0, 1; relu max(x,0); step 1 where x > 0, else 0. The derivative of abs and relu at 0 is 0; that of sign
 *         and step is 0 everywhere.
 */
RELN_API RelnNode *reln_exp(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_log(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_sin(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_cos(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_tanh(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_sigmoid(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_softplus(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_erf(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_sqrt(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_reciprocal(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_square(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_abs(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_sign(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_relu(RelnGraph *g, RelnNode *x);
RELN_API RelnNode *reln_step(RelnGraph *g, RelnNode *x);

/*!
 * reln_gelu() -- z = x (1 + erf(x / sqrt 2)) / 2, for each element: x times the standard normal distribution function
 *
 * Shapes  as x
 * Rep     invariants only
 */
RELN_API RelnNode *reln_gelu(RelnGraph *g, RelnNode *x);

#define NAME(upper, lower) #lower,
static const char *const names[] = {RELN_MAP_LIST(NAME)};

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnMap f = ((const Attr *)z->attr)->f;
    const RelnNode *x = z->in[0];

    z->shape = x->shape;
    z->rep = x->rep;
    z->needs_grad = z->needs_grad && f != RELN_MAP_SIGN && f != RELN_MAP_STEP;
    if (!reln_want_float(g, z))
        return false;
    if (!reln_is_invariant(x))
        return reln_graph_fail(g, RELN_ERR_REP,
                               "%s: its argument transforms as %s under %s, and an elementwise "
                               "function is equivariant "
                               "for invariants only; take a form of it first, or gate it with one",
                               names[f], reln_rep_name(x->rep),
                               reln_group_name(reln_graph_group(g)));
    return true;
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnMap f = ((const Attr *)e->node->attr)->f;

    reln_kern(e)->map[f](e->n * reln_shape_count(&e->node->shape), e->in[0], 1, e->out);
    return RELN_OK;
}

static RelnNode *map(RelnGraph *g, RelnMap f, RelnNode *x)
{
    const Attr attr = {f};

    return reln_node(g, &reln_op_map, 1, &x, &attr, sizeof attr, NULL);
}

/* f'(x), in terms of x and of f(x) where that is cheaper. */
static RelnNode *derivative(RelnGraph *g, RelnMap f, RelnNode *x)
{
    RelnNode *y = map(g, f, x);

    switch (f) {
    case RELN_MAP_EXP:
        return y;
    case RELN_MAP_LOG:
        return reln_reciprocal(g, x);
    case RELN_MAP_SIN:
        return reln_cos(g, x);
    case RELN_MAP_COS:
        return reln_scale(g, reln_sin(g, x), -1.0);
    case RELN_MAP_TANH:
        return reln_squash(g, f, x, 3, (const double[3]){0}, (const double[]){1, 0, -1});
    case RELN_MAP_SIGMOID:
        return reln_squash(g, f, x, 3, (const double[3]){0}, (const double[]){0, 1, -1});
    case RELN_MAP_SOFTPLUS:
        return reln_sigmoid(g, x);
    case RELN_MAP_ERF:
        return reln_scale(g, reln_exp(g, reln_scale(g, reln_square(g, x), -1.0)),
                          1.1283791670955125739);
    case RELN_MAP_SQRT:
        return reln_scale(g, reln_reciprocal(g, y), 0.5);
    case RELN_MAP_RECIPROCAL:
        return reln_scale(g, reln_square(g, y), -1.0);
    case RELN_MAP_SQUARE:
        return reln_scale(g, x, 2.0);
    case RELN_MAP_ABS:
        return reln_sign(g, x);
    case RELN_MAP_RELU: /* y > 0 where x > 0; then x has one reader less, and may be computed in the pass of y */
        return reln_step(g, y);
    case RELN_MAP_SIGN:
    case RELN_MAP_STEP:
    case RELN_MAP_COUNT:
        break;
    }
    return NULL;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_mul(g, gz, derivative(g, ((const Attr *)z->attr)->f, z->in[0]));
}

/* A sample for every function, with arguments where the function is smooth. */
static RelnNode *sample(RelnSampler *s, int index)
{
    const bool positive = index == RELN_MAP_LOG || index == RELN_MAP_SQRT;

    if (index >= RELN_MAP_COUNT)
        return NULL;
    return map(
        s->graph, (RelnMap)index,
        reln_sample_input(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 1, 7}, NULL, 0.4, 2.5, positive));
}

static bool link(const RelnNode *z, RelnLink *out)
{
    const RelnMap f = ((const Attr *)z->attr)->f;

    out->kind = f == RELN_MAP_RELU   ? RELN_LINK_RELU
                : f == RELN_MAP_STEP ? RELN_LINK_POSITIVE
                                     : RELN_LINK_SQUARE;
    return f == RELN_MAP_RELU || f == RELN_MAP_STEP || f == RELN_MAP_SQUARE;
}

static const char *word(const RelnNode *z)
{
    return names[((const Attr *)z->attr)->f];
}

const RelnOp reln_op_map = {
    .name = "map",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .link = link,
    .word = word,
    .sample = sample,
};

/* The macro defines functions. NOLINTBEGIN(bugprone-macro-parentheses) */
#define BUILDER(upper, lower)                                                                      \
    RelnNode *reln_##lower(RelnGraph *g, RelnNode *x)                                              \
    {                                                                                              \
        return map(g, RELN_MAP_##upper, x);                                                        \
    }
RELN_MAP_LIST(BUILDER)
/* NOLINTEND(bugprone-macro-parentheses) */

RelnNode *reln_gelu(RelnGraph *g, RelnNode *x)
{
    RelnNode *share = reln_erf(g, reln_scale(g, x, 0.70710678118654752440));

    return reln_mul(g, x, reln_shift(g, share, 0.5, 0.5));
}
