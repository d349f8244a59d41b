/* nearest.c -- finds for every row the nearest rows of its sample. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnDomain near;
    int k;
    int others; /* a row is not its own neighbour */
} Attr;

/*!
 * reln_nearest_rows() -- for every row of x, the k nearest rows of y in the same sample, the nearest first
 *
 *     RelnDomain near = reln_fixed(g, "near", points, 8);
 *     RelnNode *j = reln_nearest_rows(g, x, x, near);      // eight neighbours of each point, itself not among them
 *     RelnNode *h = reln_gather(g, feature, j);       // their features, at near
 *
 * Shapes  x and y (P, Q, R, K, C), each in a row domain -> i32 (1, 1, 1, 1, 1) in `near`, a reln_fixed() domain
 *         below x's rows, that numbers rows of y. With y = x a row is not its own neighbour
 * Rep     the same for x and y; the group must keep its dot product, so that the sum of (x - y)^2 is an invariant
 *         distance. The result numbers rows, for reln_gather(), and carries no gradient
 * Notes   distances are summed in double precision; the first row comes first on ties. If there are fewer than k
 *         rows, the last numbers are -1, for which reln_gather() gives 0: gathering a feature of ones marks the
 *         neighbours that exist
 * Cost    3 P Q R K C for each pair of rows
 * Fails   RELN_ERR_REP when the group does not keep the dot product: boosts and general linear maps change distances
 */
RELN_API RelnNode *reln_nearest_rows(RelnGraph *g, RelnNode *x, RelnNode *y, RelnDomain near);

static const Attr *attr_of(const RelnNode *z)
{
    return z->attr;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *y = z->in[1];

    if (!reln_want_float(g, z))
        return false;
    if (memcmp(&x->shape, &y->shape, sizeof x->shape) != 0 || x->rep != y->rep)
        return reln_graph_fail(
            g, RELN_ERR_SHAPE, "nearest: %s as %s and %s as %s, wanted the same extents and rep",
            reln_shape_text(x), reln_rep_name(x->rep), reln_shape_text(y), reln_rep_name(y->rep));
    if (reln_rep_dual(x->rep) != x->rep)
        return reln_graph_fail(
            g, RELN_ERR_REP,
            "nearest: %s does not keep the dot product of %s, so that no distance "
            "says which is nearest",
            reln_group_name(reln_graph_group(g)), reln_rep_name(x->rep));
    z->shape = reln_shape_from((RelnDims){0});
    z->domain = attr_of(z)->near;
    z->dtype = RELN_I32;
    z->target = y->domain;
    z->rep = NULL;
    z->needs_grad = false;
    return true;
}

/* ---- searching ------------------------------------------------------------------------------------------------ */

/* The nearest rows found so far for one row, nearest first. */
typedef struct Best {
    double *distance;
    int32_t *row;
    int count, k;
} Best;

/* Insert a row if it is near enough. Rows come in ascending order, so of two equally near rows the earlier one stays
 * first. */
static void offer(Best *b, double distance, ptrdiff_t row)
{
    int at = b->count;

    if (at == b->k && !(distance < b->distance[at - 1]))
        return;
    at = at < b->k ? b->count++ : at - 1;
    for (; at > 0 && distance < b->distance[at - 1]; at--) {
        b->distance[at] = b->distance[at - 1];
        b->row[at] = b->row[at - 1];
    }
    b->distance[at] = distance;
    b->row[at] = (int32_t)row;
}

static double square_distance(const RelnExec *e, ptrdiff_t i, ptrdiff_t j, ptrdiff_t item)
{
    double sum = 0;

    for (ptrdiff_t t = 0; t < item; t++) {
        const bool wide = e->node->in[0]->dtype == RELN_F64;
        const double x = wide ? ((const double *)e->in[0])[i * item + t]
                              : (double)((const float *)e->in[0])[i * item + t];
        const double y = wide ? ((const double *)e->in[1])[j * item + t]
                              : (double)((const float *)e->in[1])[j * item + t];

        sum += (x - y) * (x - y);
    }
    return sum;
}

/* The neighbours of row i among rows [from, to) of y. */
static void search(const RelnExec *e, ptrdiff_t i, ptrdiff_t from, ptrdiff_t to, Best *best)
{
    const ptrdiff_t item = reln_shape_count(&e->node->in[0]->shape);

    best->count = 0;
    for (ptrdiff_t j = from; j < to; j++)
        if (!attr_of(e->node)->others || j != i)
            offer(best, square_distance(e, i, j, item), j);
    for (int n = best->count; n < best->k; n++)
        best->row[n] = -1;
}

static RelnStatus forward(const RelnExec *e)
{
    const Attr *a = attr_of(e->node);
    const RelnSpans *spans = e->spans;
    const RelnDomain rows = e->node->in[0]->domain, from = e->node->in[1]->domain;
    const ptrdiff_t begin = spans->tile == a->near ? spans->tile_first : 0, end = begin + e->n;
    Best best = {.distance = e->scratch, .k = a->k};

    best.row = (int32_t *)(best.distance + a->k);
    for (ptrdiff_t s = 0; s < spans->n_samples; s++)
        for (ptrdiff_t i = reln_span(spans, rows, s); i < reln_span(spans, rows, s + 1); i++) {
            if ((i + 1) * a->k <= begin || i * a->k >= end)
                continue;
            search(e, i, reln_span(spans, from, s), reln_span(spans, from, s + 1), &best);
            for (int n = 0; n < a->k; n++)
                if (i * a->k + n >= begin && i * a->k + n < end)
                    ((int32_t *)e->out)[i * a->k + n - begin] = best.row[n];
        }
    return RELN_OK;
}

static size_t scratch(const RelnNode *z, ptrdiff_t n)
{
    (void)n;
    return (size_t)attr_of(z)->k * (sizeof(double) + sizeof(int32_t));
}

static double flops(const RelnNode *z)
{
    return 3.0 * (double)reln_shape_count(&z->in[0]->shape);
}

/* The sample's output is the gathered features, not the row numbers, which depend on how the batch is divided. */
static RelnNode *sample(RelnSampler *s, int index)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const RelnDims dims = {.k = reln_rep_dim(adjoint), .c = 2};
    const RelnDomain rows = reln_sample_rows(s), others = reln_rows(g, "others", 7);
    const RelnDomain near = reln_fixed(g, "near", rows, 2);
    RelnNode *v = reln_sample_normal(s, index ? others : rows, dims, adjoint);
    RelnNode *x = reln_sample_normal(s, rows, (RelnDims){.c = 3}, NULL);
    RelnNode *y = index ? reln_sample_normal(s, others, (RelnDims){.c = 3}, NULL) : x;

    return index > 1 ? NULL : reln_gather(g, v, reln_nearest_rows(g, x, y, near));
}

const RelnOp reln_op_nearest = {
    .name = "nearest",
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

RelnNode *reln_nearest_rows(RelnGraph *g, RelnNode *x, RelnNode *y, RelnDomain near)
{
    Attr a = {.near = near};

    if (!g || !x || !y)
        return NULL;
    a.others = x == y;
    a.k = reln_domain_fixed(g, near, x->domain);
    if (a.k == 0 || x->domain <= RELN_SAMPLES || y->domain <= RELN_SAMPLES) {
        reln_graph_fail(
            g, RELN_ERR_ARG,
            "nearest: rows of %s and of %s into %s, wanted a fixed number of items below "
            "each row of the former",
            reln_domain_name(g, x->domain), reln_domain_name(g, y->domain),
            reln_domain_name(g, near));
        return NULL;
    }
    return reln_node(g, &reln_op_nearest, 2, (RelnNode *[]){x, y}, &a, sizeof a, NULL);
}
