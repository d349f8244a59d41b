/* farthest.c -- finds rows of each sample that lie far apart. */
#include "graph/graph.h"
#include "ops/ops.h"

typedef struct Attr {
    RelnDomain far;
    int k;
    int most; /* the largest number of rows of a sample */
} Attr;

/*!
 * reln_farthest_rows() -- k rows of each sample that lie far apart
 *
 *     RelnDomain far = reln_fixed(g, "far", RELN_SAMPLES, 24);
 *     RelnNode *c = reln_gather(g, x, reln_farthest_rows(g, x, far));       // centres of 24 groups
 *     RelnDomain members = reln_fixed(g, "members", far, 12);
 *     RelnNode *j = reln_nearest_rows(g, c, x, members);                   // the twelve rows next to each of them
 *
 * The first row is the longest one; each next row is the one whose nearest row before it is farthest away. (The row that is
 * farthest from the mean would be no choice between two rows, which are equally far from it.)
 *
 * Shapes  x (P, Q, R, K, C) in a row domain -> i32 (1, 1, 1, 1, 1) in `far`, a reln_fixed() domain below RELN_SAMPLES, that
 *         numbers rows of x
 * Rep     the group must keep the dot product of x's rep, so that the sum of (x - y)^2 is an invariant distance. The result
 *         numbers rows, for reln_gather(), and carries no gradient
 * Notes   distances are summed in double precision; the first row on ties. A sample with n < k rows repeats them from the
 *         first chosen one on; -1 if it has none
 * Cost    3 P Q R K C k for each row
 * Fails   RELN_ERR_REP when the group does not keep the dot product: boosts and general linear maps change distances
 */
RELN_API RelnNode *reln_farthest_rows(RelnGraph *g, RelnNode *x, RelnDomain far);

static const Attr *attr_of(const RelnNode *z)
{
    return z->attr;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0];

    if (!reln_want_float(g, z))
        return false;
    if (reln_rep_dual(x->rep) != x->rep)
        return reln_graph_fail(g, RELN_ERR_REP,
                               "farthest: %s does not keep the dot product of %s, so that no "
                               "distance says which is farthest",
                               reln_group_name(reln_graph_group(g)), reln_rep_name(x->rep));
    z->shape = reln_shape_from((RelnDims){0});
    z->domain = attr_of(z)->far;
    z->dtype = RELN_I32;
    z->target = x->domain;
    z->rep = NULL;
    z->needs_grad = false;
    return true;
}

/* ---- choosing ------------------------------------------------------------------------------------------------- */

static double number(const RelnExec *e, ptrdiff_t at)
{
    return e->node->in[0]->dtype == RELN_F64 ? ((const double *)e->in[0])[at]
                                             : (double)((const float *)e->in[0])[at];
}

/* The longest row of [from, to). */
static ptrdiff_t longest(const RelnExec *e, ptrdiff_t from, ptrdiff_t to)
{
    const ptrdiff_t item = reln_shape_count(&e->node->in[0]->shape);
    ptrdiff_t best = from;
    double most = -1;

    for (ptrdiff_t i = from; i < to; i++) {
        double sum = 0;

        for (ptrdiff_t t = 0; t < item; t++)
            sum += number(e, i * item + t) * number(e, i * item + t);
        if (sum > most) {
            most = sum;
            best = i;
        }
    }
    return best;
}

/* near[i] becomes the squared distance of row i from the nearest chosen one, after `last` was chosen; returns the row that is
 * farthest away. */
static ptrdiff_t next(const RelnExec *e, ptrdiff_t from, ptrdiff_t to, ptrdiff_t last, bool first,
                      double *near)
{
    const ptrdiff_t item = reln_shape_count(&e->node->in[0]->shape);
    ptrdiff_t best = from;

    for (ptrdiff_t i = from; i < to; i++) {
        double sum = 0;

        for (ptrdiff_t t = 0; t < item; t++) {
            const double d = number(e, i * item + t) - number(e, last * item + t);

            sum += d * d;
        }
        near[i - from] = first || sum < near[i - from] ? sum : near[i - from];
        best = near[i - from] > near[best - from] ? i : best;
    }
    return best;
}

static void choose(const RelnExec *e, ptrdiff_t from, ptrdiff_t to, int32_t *row)
{
    const int k = attr_of(e->node)->k;
    double *near = e->scratch;

    for (int j = 0; j < k; j++) {
        const ptrdiff_t n = to - from;
        ptrdiff_t at = -1;

        if (n > 0 && j < n)
            at = j == 0 ? longest(e, from, to) : next(e, from, to, row[j - 1], j == 1, near);
        row[j] = n > 0 && j >= n ? row[j - n] : (int32_t)at;
    }
}

static RelnStatus forward(const RelnExec *e)
{
    const Attr *a = attr_of(e->node);
    const RelnSpans *spans = e->spans;
    const RelnDomain rows = e->node->in[0]->domain;
    const ptrdiff_t begin = spans->tile == a->far ? spans->tile_first : 0, end = begin + e->n;
    int32_t *row = (int32_t *)((double *)e->scratch + a->most);

    for (ptrdiff_t s = 0; s < spans->n_samples; s++) {
        if ((s + 1) * a->k <= begin || s * a->k >= end)
            continue;
        choose(e, reln_span(spans, rows, s), reln_span(spans, rows, s + 1), row);
        for (int n = 0; n < a->k; n++)
            if (s * a->k + n >= begin && s * a->k + n < end)
                ((int32_t *)e->out)[s * a->k + n - begin] = row[n];
    }
    return RELN_OK;
}

static size_t scratch(const RelnNode *z, ptrdiff_t n)
{
    (void)n;
    return (size_t)attr_of(z)->most * sizeof(double) + (size_t)attr_of(z)->k * sizeof(int32_t);
}

static double flops(const RelnNode *z)
{
    return 3.0 * (double)reln_shape_count(&z->in[0]->shape);
}

/* The sample's output is the gathered features, not the row numbers, which depend on how the batch is divided. Rows lie up to 100 from
 * 0, so that the small steps of difference quotients change no choice. */
static RelnNode *sample(RelnSampler *s, int index)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const RelnDomain rows = reln_sample_rows(s);
    const RelnDomain far = reln_fixed(g, "far", RELN_SAMPLES, index ? 5 : 2);
    RelnNode *v =
        reln_sample_normal(s, rows, (RelnDims){.k = reln_rep_dim(adjoint), .c = 2}, adjoint);
    RelnNode *x = reln_sample_input(s, rows, (RelnDims){.c = 3}, NULL, 0, 100, false);

    return index > 1 ? NULL : reln_gather(g, v, reln_farthest_rows(g, x, far));
}

const RelnOp reln_op_farthest = {
    .name = "farthest",
    .rule = RELN_RULE_PAIRING,
    .n_in = 2,
    .flags = RELN_OP_DOMAINS,
    .tiling = RELN_TILED_BY_RESULT,
    .whole = 3,
    .infer = infer,
    .forward = forward,
    .scratch = scratch,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_farthest_rows(RelnGraph *g, RelnNode *x, RelnDomain far)
{
    Attr a = {.far = far};

    if (!g || !x)
        return NULL;
    a.k = reln_domain_fixed(g, far, RELN_SAMPLES);
    if (a.k == 0 || x->domain <= RELN_SAMPLES) {
        reln_graph_fail(g, RELN_ERR_ARG,
                        "farthest: rows of %s into %s, wanted a fixed number of items below "
                        "each sample",
                        reln_domain_name(g, x->domain), reln_domain_name(g, far));
        return NULL;
    }
    a.most = (int)reln_domain_capacity(g, x->domain, 1);
    return reln_node(g, &reln_op_farthest, 2, (RelnNode *[]){x, x}, &a, sizeof a, NULL);
}
