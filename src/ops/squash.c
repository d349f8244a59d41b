/* squash.c -- x A(u) + B(u) with polynomials A, B and u = sigmoid(x) or tanh(x).
 *
 * Both are solutions of u' = a polynomial of u, so derivatives have the same form: silu and all derivatives of silu, tanh
 * and sigmoid take one pass over x and a shared u, where the product rule would take several.
 */
#include <stddef.h>
#include <string.h>

#include "ops/ops.h"

enum { MOST = 16 }; /* terms of a polynomial; longer derivatives are built from other ops */

typedef struct Attr {
    RelnMap f;
    int n;
    double a[MOST], b[MOST]; /* ascending powers */
} Attr;

/*!
 * reln_silu() -- z = x sigmoid(x), for each element
 *
 * Shapes  as x
 * Rep     invariants only
 */
RELN_API RelnNode *reln_silu(RelnGraph *g, RelnNode *x);

static bool infer(RelnGraph *g, RelnNode *z)
{
    z->shape = z->in[0]->shape;
    z->rep = z->in[0]->rep;
    return reln_want_float(g, z) && reln_want_invariant(g, z, z->in[0]);
}

static bool zero(int n, const double *c)
{
    while (n > 0 && c[n - 1] == 0)
        n--;
    return n == 0;
}

static RelnStatus forward(const RelnExec *e)
{
    const Attr *attr = e->node->attr;

    reln_kern(e)->squash(e->n * reln_shape_count(&e->node->shape), attr->n,
                         zero(attr->n, attr->a) ? NULL : attr->a, attr->b, e->in[0], e->in[1],
                         e->out);
    return RELN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

/* sum c[i] u^i, built from other ops, which have their own derivatives. */
static RelnNode *spell(RelnGraph *g, int n, const double *c, RelnNode *u)
{
    RelnNode *p = reln_shift(g, u, c[n - 1], c[n - 2]);

    for (int i = n - 3; i >= 0; i--)
        p = reln_shift(g, reln_mul(g, p, u), 1.0, c[i]);
    return p;
}

/* Add the derivative d/dx of the term c u^i to a polynomial: i c u^(i-1) u', u' = u - u^2 or 1 - u^2. */
static void add_slope(RelnMap f, int i, double c, double *out)
{
    if (i > 0)
        out[f == RELN_MAP_TANH ? i - 1 : i] += i * c;
    out[i + 1] -= i * c;
}

static RelnNode *derivative(RelnGraph *g, const Attr *attr, RelnNode *x, RelnNode *u)
{
    double a[MOST + 1] = {0}, b[MOST + 1] = {0};
    const int n = attr->n;

    for (int i = 0; i < n; i++) {
        add_slope(attr->f, i, attr->a[i], a);
        add_slope(attr->f, i, attr->b[i], b);
        b[i] += attr->a[i];
    }
    if (n < MOST)
        return reln_squash(g, attr->f, x, n + 1, a, b);
    return reln_add(g, reln_mul(g, x, spell(g, n + 1, a, u)), spell(g, n + 1, b, u));
}

/* The whole derivative goes to x, since u is a function of x. */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_mul(g, gz, derivative(g, z->attr, z->in[0], z->in[1]));
}

static double flops(const RelnNode *z)
{
    const Attr *attr = z->attr;
    int terms = 0;

    for (int i = 0; i < attr->n; i++)
        terms += (attr->a[i] != 0) + (attr->b[i] != 0);
    return (2.0 * terms - 1) * (double)reln_shape_count(&z->shape);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    static const double a[] = {0.5, -1.0, 0.25}, b[] = {-0.75, 2.0, 1.5};
    RelnNode *x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 1, 7}, NULL);

    switch (index) {
    case 0:
        return reln_silu(s->graph, x);
    case 1:
        return reln_squash(s->graph, RELN_MAP_TANH, x, 3, a, b);
    case 2: /* from step level, and without A */
        x = reln_sample_normal(s, RELN_STEP, (RelnDims){2, 1, 1, 1, 5}, NULL);
        return reln_squash(s->graph, RELN_MAP_SIGMOID, x, 3, (const double[3]){0}, b);
    default:
        return NULL;
    }
}

const RelnOp reln_op_squash = {
    .name = "squash",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_squash(RelnGraph *g, RelnMap f, RelnNode *x, int n, const double *a, const double *b)
{
    Attr attr;

    memset(&attr, 0, sizeof attr); /* compared as bytes */
    attr.f = f;
    while (n > 1 && a[n - 1] == 0 && b[n - 1] == 0)
        n--;
    attr.n = n;
    memcpy(attr.a, a, (size_t)n * sizeof *a);
    memcpy(attr.b, b, (size_t)n * sizeof *b);
    return reln_node(g, &reln_op_squash, 2,
                     (RelnNode *[]){x, f == RELN_MAP_TANH ? reln_tanh(g, x) : reln_sigmoid(g, x)},
                     &attr, sizeof attr, NULL);
}

RelnNode *reln_silu(RelnGraph *g, RelnNode *x)
{
    return reln_squash(g, RELN_MAP_SIGMOID, x, 2, (const double[]){0, 1}, (const double[]){0, 0});
}
