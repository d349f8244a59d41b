/* pair_product.c -- products over the pairs of rows of a sample: matrices of pairs, and sums of rows weighted by
 * them. */
#include <string.h>

#include "ops/ops.h"

/* The pairs of one sample are a matrix A (first rows by second rows) of invariants, and features of rows are matrices X
 * (first rows by K C) and Y (second rows by K C). There are three products, closed under taking gradients:
 *     A = X Y^T,   X = A Y,   Y = A^T X
 * Where the parent of the pairs is a reln_fixed() domain of H items below the rows, there are H such matrices for each
 * sample: one for each head, and a head has C / H channels of the features. */
typedef enum Wiring { GRAM, WEIGH, WEIGH_T } Wiring;

/* Attribute of a node; ints, so that equal ones have equal bytes. */
typedef struct Attr {
    int wiring, heads, self;
    RelnDomain pairs, first, second; /* first: of X */
} Attr;

/*!
 * reln_pair_gram() -- s[i, j] = sum_kc x[i, k, c] y[j, k, c] for all pairs (attention scores)
 *
 *     RelnDomain heads = reln_fixed(g, "heads", points, 4), pairs = reln_pairs(g, "pairs", heads, points, true);
 *     RelnNode *s = reln_pair_gram(g, queries, keys, pairs);                // s[(i, h), j]
 *     RelnNode *a = reln_softmax_within(g, s, heads);                       // over j
 *     RelnNode *z = reln_pair_weigh(g, a, values, points);                  // z[i] = sum_j a[(i, h), j] v[j]
 *
 * Shapes  x (P, Q, R, K, C) in one row domain, y of the same extents in the second domain of `pairs` -> (1, 1, 1, 1,
 *         1) in pairs. x's domain is the first domain of `pairs`, or its parent if the first domain is a
 *         reln_fixed() domain of H heads: then channels h C / H to (h + 1) C / H of both are summed for the pairs of
 *         head h
 * Rep     y is in the dual rep of x (apply a form to one of them first); the result is invariant
 * Cost    2 P Q R K C / H for each pair; one matrix product for each sample and head
 * Fails   RELN_ERR_ARG when x and y are not of the two domains of `pairs`
 */
RELN_API RelnNode *reln_pair_gram(RelnGraph *g, RelnNode *x, RelnNode *y, RelnDomain pairs);

/*!
 * reln_pair_weigh() -- z[i, k, c] = sum_j a[i, j] y[j, k, c]: for each first row, the weighted sum of the second rows
 *
 * Shapes  a (1, 1, 1, 1, 1) in a domain of pairs, y (P, Q, R, K, C) in its second domain -> y's extents in the
 *         domain `rows`: the first domain of the pairs, or its parent if the first domain is heads
 * Rep     a is invariant; z transforms as y
 * Notes   a row without pairs gets 0. Each sum is one chain in the order of j, so its bits do not depend on how
 *         pairs are divided into tiles
 * Cost    2 P Q R K C / H for each pair
 */
RELN_API RelnNode *reln_pair_weigh(RelnGraph *g, RelnNode *a, RelnNode *y, RelnDomain rows);

/*!
 * reln_pair_weigh_t() -- z[j, k, c] = sum_i a[i, j] x[i, k, c]: for each second row, the weighted sum of the first rows
 *
 * Shapes  a (1, 1, 1, 1, 1) in a domain of pairs, x (P, Q, R, K, C) in its first domain, or the parent of its heads
 *         -> x's extents in the second domain
 * Rep     a is invariant; z transforms as x
 * Cost    2 P Q R K C / H for each pair
 */
RELN_API RelnNode *reln_pair_weigh_t(RelnGraph *g, RelnNode *a, RelnNode *x);

/* ---- shapes and reps ------------------------------------------------------------------------------------------ */

static const Attr *attr_of(const RelnNode *z)
{
    return z->attr;
}

static const char *name_of(const Attr *a)
{
    static const char *const names[] = {"pair_gram", "pair_weigh", "pair_weigh_t"};

    return names[a->wiring];
}

static bool want_domain(RelnGraph *g, const Attr *a, const RelnNode *x, RelnDomain domain)
{
    return x->domain == domain ||
           reln_graph_fail(g, RELN_ERR_ARG, "%s: features of %s, but %s pair %s with %s",
                           name_of(a), reln_domain_name(g, x->domain),
                           reln_domain_name(g, a->pairs), reln_domain_name(g, a->first),
                           reln_domain_name(g, a->second));
}

static bool want_heads(RelnGraph *g, const Attr *a, const RelnNode *x)
{
    return x->shape.dims[RELN_C] % a->heads == 0 ||
           reln_graph_fail(g, RELN_ERR_SHAPE, "%s: %d channels do not split into %d heads",
                           name_of(a), x->shape.dims[RELN_C], a->heads);
}

static bool infer_gram(RelnGraph *g, RelnNode *z)
{
    const Attr *a = attr_of(z);
    const RelnNode *x = z->in[0], *y = z->in[1];

    if (!reln_want_float(g, z) || !want_domain(g, a, x, a->first) ||
        !want_domain(g, a, y, a->second) || !want_heads(g, a, x))
        return false;
    if (memcmp(&x->shape, &y->shape, sizeof x->shape) != 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "pair_gram: %s and %s, wanted the same extents",
                               reln_shape_text(x), reln_shape_text(y));
    if (y->rep != reln_dual(g, x->rep))
        return reln_graph_fail(g, RELN_ERR_REP,
                               "pair_gram: %s and %s are not dual to each other under %s; apply an "
                               "invariant form to one of them first",
                               reln_rep_name(x->rep), reln_rep_name(y->rep),
                               reln_group_name(reln_graph_group(g)));
    z->domain = a->pairs;
    z->shape = reln_shape_from((RelnDims){0});
    z->rep = reln_invariant(g, 1);
    return z->rep != NULL;
}

static bool infer_weigh(RelnGraph *g, RelnNode *z)
{
    const Attr *a = attr_of(z);
    const RelnNode *s = z->in[0], *v = z->in[1];

    if (!reln_want_float(g, z) || !want_domain(g, a, v, a->wiring == WEIGH ? a->second : a->first))
        return false;
    if (!reln_is_invariant(s))
        return reln_graph_fail(g, RELN_ERR_REP,
                               "%s: the weights transform as %s, wanted invariants", name_of(a),
                               reln_rep_name(s->rep));
    if (reln_shape_count(&s->shape) != 1)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "%s: the weights are %s, wanted one for each pair", name_of(a),
                               reln_shape_text(s));
    z->domain = a->wiring == WEIGH ? a->first : a->second;
    z->shape = v->shape;
    z->rep = v->rep;
    return want_heads(g, a, v);
}

/* ---- the matrix of a sample ----------------------------------------------------------------------------------- */

/* The features of the current sample, and the part of one head's matrix that is in the tile. From one row of the head's
 * matrix to the next, pairs are H `per` apart. Pairs are numbered within the sample; the tile has pairs [from, to). */
typedef struct Work {
    const RelnExec *e;
    const Attr *attr;
    const RelnRealKernels *kern;
    ptrdiff_t item, c, each; /* elements of a row of features, its channels, those of a head */
    ptrdiff_t n_second;      /* rows */
    ptrdiff_t per;           /* pairs of one first row */
    ptrdiff_t from, to;      /* pairs of the sample that the tile has */
    char *pairs;             /* pair `from` */
    char *first, *second;    /* features of the sample, of the head's first channel */
    int head;
    RelnChainPiece piece;
} Work;

static void *pair_at(const Work *w, ptrdiff_t i, ptrdiff_t j)
{
    return reln_at(w->pairs, (i * w->attr->heads + w->head) * w->per + j - w->from, w->kern->size);
}

static void *row_at(const Work *w, const char *rows, ptrdiff_t i)
{
    return reln_at(rows, i * w->item, w->kern->size);
}

/* Channels of a head: runs of `each`. */
static RelnSplit channels(const Work *w)
{
    if (w->each == w->c)
        return (RelnSplit){w->item, w->item, 1};
    return (RelnSplit){w->each, w->c, 1};
}

static ptrdiff_t terms(const Work *w)
{
    return w->item / w->c * w->each;
}

static RelnSplit plain(ptrdiff_t step)
{
    return (RelnSplit){PTRDIFF_MAX, 0, step};
}

/* Rows [i, i_end) of the matrix, pairs [j, j_end) of each; the second row of pair j is j + shift. */
static void block(const Work *w, ptrdiff_t i, ptrdiff_t i_end, ptrdiff_t j, ptrdiff_t j_end,
                  ptrdiff_t shift)
{
    const ptrdiff_t next = w->attr->heads * w->per;
    RelnChain q = {.add = true};

    if (i >= i_end || j >= j_end)
        return;
    switch ((Wiring)w->attr->wiring) {
    case GRAM:
        q = (RelnChain){.m = i_end - i,
                        .l_to = terms(w),
                        .j_from = j + shift,
                        .j_to = j_end + shift,
                        .a = row_at(w, w->first, i),
                        .row = w->item,
                        .inner = channels(w),
                        .c = pair_at(w, i, j),
                        .ldc = next,
                        .columns = plain(1)};
        break;
    case WEIGH:
        q = (RelnChain){.m = i_end - i,
                        .l_from = j + shift,
                        .l_to = j_end + shift,
                        .j_to = terms(w),
                        .a = pair_at(w, i, j),
                        .row = next,
                        .inner = plain(1),
                        .c = row_at(w, w->first, i),
                        .ldc = w->item,
                        .columns = channels(w),
                        .add = true};
        break;
    case WEIGH_T:
        q = (RelnChain){.m = j_end - j,
                        .l_from = i,
                        .l_to = i_end,
                        .j_to = terms(w),
                        .a = pair_at(w, i, j),
                        .row = 1,
                        .inner = plain(next),
                        .c = row_at(w, w->second, j + shift),
                        .ldc = w->item,
                        .columns = channels(w),
                        .add = true};
        break;
    }
    w->kern->chain(&q, &w->piece);
}

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static ptrdiff_t most(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

/* Compute pairs [j, j_end) of row i; without (i, i), the second rows of pairs from i on are shifted by one more. */
static void part_of_row(const Work *w, ptrdiff_t i, ptrdiff_t j, ptrdiff_t j_end)
{
    const ptrdiff_t middle = w->attr->self ? j_end : i;

    block(w, i, i + 1, j, least(j_end, middle), 0);
    block(w, i, i + 1, most(j, middle), j_end, 1);
}

/* Compute rows [i, end). Without (i, i), take a few rows at a time, and only the pairs near the diagonal row by row. */
static void whole_rows(const Work *w, ptrdiff_t i, ptrdiff_t end)
{
    enum { ROWS = 12 };

    if (w->attr->self) {
        block(w, i, end, 0, w->per, 0);
        return;
    }
    for (ptrdiff_t i_end; i < end; i = i_end) {
        i_end = least(i + ROWS, end);
        block(w, i, i_end, 0, i, 0);
        for (ptrdiff_t r = i; r < i_end; r++)
            part_of_row(w, r, i, i_end - 1);
        block(w, i, i_end, i_end - 1, w->per, 1);
    }
}

/* Returns the first row of the head whose pairs belong to `parent` or a later item. */
static ptrdiff_t row_from(const Work *w, ptrdiff_t parent)
{
    return (parent - w->head + w->attr->heads - 1) / w->attr->heads;
}

static void part_of_parent(const Work *w, ptrdiff_t parent, ptrdiff_t j, ptrdiff_t j_end)
{
    if (j < j_end && parent % w->attr->heads == w->head)
        part_of_row(w, parent / w->attr->heads, j, j_end);
}

/* Compute the tile's part of the head's matrix: the end of a row, whole rows, the beginning of a row. */
static void all_rows(const Work *w)
{
    const ptrdiff_t j = w->from % w->per, last = w->to / w->per;
    ptrdiff_t parent = w->from / w->per;

    if (j > 0) {
        part_of_parent(w, parent, j, least(w->per, w->to - parent * w->per));
        parent++;
    }
    if (parent < last)
        whole_rows(w, row_from(w, parent), row_from(w, last));
    if (parent <= last)
        part_of_parent(w, last, 0, w->to - last * w->per);
}

/* The matrix that is packed: its extents, and where its elements are. */
typedef struct Packed {
    ptrdiff_t l, l_end, j_end;
    const void *b;
    RelnSplit inner, columns;
} Packed;

static Packed packed_of(const Work *w)
{
    switch ((Wiring)w->attr->wiring) {
    case GRAM:
        return (Packed){0, terms(w), w->n_second, w->second, channels(w), plain(w->item)};
    case WEIGH:
        return (Packed){0, w->n_second, terms(w), w->second, plain(w->item), channels(w)};
    case WEIGH_T:
        break;
    }
    return (Packed){w->from / w->per / w->attr->heads,
                    (w->to - 1) / w->per / w->attr->heads + 1,
                    terms(w),
                    w->first,
                    plain(w->item),
                    channels(w)};
}

/* Compute one head, piece by piece of the packed matrix, with l ascending. */
static void one_head(Work *w)
{
    const Packed b = packed_of(w);

    for (ptrdiff_t l = b.l; l < b.l_end; l += RELN_CHAIN_PIECE)
        for (ptrdiff_t j = 0; j < b.j_end; j += RELN_CHAIN_PIECE) {
            w->piece = (RelnChainPiece){l, least(l + RELN_CHAIN_PIECE, b.l_end), j,
                                        least(j + RELN_CHAIN_PIECE, b.j_end), w->e->gemm->work};
            w->kern->chain_pack(&w->piece, b.b, &b.inner, &b.columns);
            all_rows(w);
        }
}

static void one_sample(Work *w, char *first, char *second)
{
    for (w->head = 0; w->head < w->attr->heads; w->head++) {
        w->first = reln_at(first, w->head * w->each, w->kern->size);
        w->second = reln_at(second, w->head * w->each, w->kern->size);
        one_head(w);
    }
    w->e->gemm->calls += (uint64_t)w->attr->heads;
    w->e->gemm->flops += 2.0 * (double)(w->to - w->from) * (double)terms(w);
}

/* Compute all samples with pairs in the tile; `n` pairs begin at `pairs`. */
static void all_samples(Work *w, char *pairs, ptrdiff_t n, char *first, char *second)
{
    const RelnSpans *spans = w->e->spans;
    const Attr *a = w->attr;
    const ptrdiff_t begin = spans->tile == a->pairs ? spans->tile_first : 0;

    for (ptrdiff_t s = 0; s < spans->n_samples; s++) {
        const ptrdiff_t at = reln_span(spans, a->pairs, s), from = most(begin, at) - at,
                        to = least(begin + n, reln_span(spans, a->pairs, s + 1)) - at;

        if (from >= to)
            continue;
        w->from = from;
        w->to = to;
        w->n_second = reln_span(spans, a->second, s + 1) - reln_span(spans, a->second, s);
        w->per = w->n_second - (a->self ? 0 : 1);
        w->pairs = reln_at(pairs, at + from - begin, w->kern->size);
        one_sample(w, row_at(w, first, reln_span(spans, a->first, s)),
                   row_at(w, second, reln_span(spans, a->second, s)));
    }
}

static Work work_of(const RelnExec *e, const RelnNode *features)
{
    const Attr *a = attr_of(e->node);

    return (Work){.e = e,
                  .attr = a,
                  .kern = reln_kern(e),
                  .item = reln_shape_count(&features->shape),
                  .c = features->shape.dims[RELN_C],
                  .each = features->shape.dims[RELN_C] / a->heads};
}

static RelnStatus forward_gram(const RelnExec *e)
{
    Work w = work_of(e, e->node->in[0]);

    all_samples(&w, e->out, e->n, e->in[0], e->in[1]);
    return RELN_OK;
}

static RelnStatus forward_weigh(const RelnExec *e)
{
    Work w = work_of(e, e->node);
    const bool transposed = w.attr->wiring == WEIGH_T;

    if (!e->accumulate)
        memset(e->out, 0, (size_t)e->n * reln_node_bytes(e->node));
    all_samples(&w, e->in[0], e->n_in[0], transposed ? e->in[1] : e->out,
                transposed ? e->out : e->in[1]);
    return RELN_OK;
}

static double flops_of(const RelnNode *z, const RelnNode *features)
{
    return 2.0 * (double)reln_shape_count(&features->shape) / attr_of(z)->heads;
}

static double flops_gram(const RelnNode *z)
{
    return flops_of(z, z->in[0]);
}

static double flops_weigh(const RelnNode *z)
{
    return flops_of(z, z);
}

/* ---- gradients ------------------------------------------------------------------------------------------------ */

static RelnNode *product(RelnGraph *g, const Attr *like, Wiring wiring, RelnNode *x, RelnNode *y)
{
    Attr a = *like;

    a.wiring = (int)wiring;
    return reln_node(g, wiring == GRAM ? &reln_op_pair_gram : &reln_op_pair_weigh, 2,
                     (RelnNode *[]){x, y}, &a, sizeof a, NULL);
}

static void vjp_gram(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const Attr *a = attr_of(z);

    gin[0] = product(g, a, WEIGH, gz, z->in[1]);
    gin[1] = product(g, a, WEIGH_T, gz, z->in[0]);
}

static void vjp_weigh(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const Attr *a = attr_of(z);
    RelnNode *s = z->in[0], *v = z->in[1];

    gin[0] = a->wiring == WEIGH ? product(g, a, GRAM, gz, v) : product(g, a, GRAM, v, gz);
    gin[1] = product(g, a, a->wiring == WEIGH ? WEIGH_T : WEIGH, s, gz);
}

/* ---- samples and builders ------------------------------------------------------------------------------------- */

/* Pairs of one set with and without (i, i), of two sets, and of heads. */
static RelnNode *sample_of(RelnSampler *s, int index, bool weigh)
{
    RelnGraph *g = s->graph;
    const RelnRep *adjoint = reln_sample_adjoint(s), *dual = reln_rep_dual(adjoint);
    const RelnDomain rows = reln_sample_rows(s), others = reln_rows(g, "others", 7);
    const RelnDomain heads = reln_fixed(g, "heads", rows, 2);
    const RelnDomain seconds[] = {rows, rows, others, others};
    const RelnDomain pairs[] = {
        reln_pairs(g, "pairs", rows, rows, true), reln_pairs(g, "apart", rows, rows, false),
        reln_pairs(g, "across", rows, others, true), reln_pairs(g, "looks", heads, others, true)};
    const RelnDims dims = {1, index == 1 ? 2 : 1, 1, reln_rep_dim(adjoint), index == 3 ? 4 : 3};
    const int i = index / 2, t = index % 2;
    RelnNode *x, *y, *a;

    if (!weigh) {
        if (index > 3)
            return NULL;
        x = reln_sample_normal(s, rows, dims, adjoint);
        y = reln_sample_normal(s, seconds[index], dims, dual);
        return reln_pair_gram(g, x, y, pairs[index]);
    }
    if (index > 7)
        return NULL;
    a = reln_sample_normal(s, pairs[i], (RelnDims){0}, NULL);
    x = reln_sample_normal(s, t ? rows : seconds[i], (RelnDims){.k = reln_rep_dim(adjoint), .c = 2},
                           adjoint);
    return t ? reln_pair_weigh_t(g, a, x) : reln_pair_weigh(g, a, x, rows);
}

static RelnNode *sample_gram(RelnSampler *s, int index)
{
    return sample_of(s, index, false);
}

static RelnNode *sample_weigh(RelnSampler *s, int index)
{
    return sample_of(s, index, true);
}

const RelnOp reln_op_pair_gram = {
    .name = "pair_gram",
    .rule = RELN_RULE_PAIRING,
    .n_in = 2,
    .flags = RELN_OP_DOMAINS,
    .tiling = RELN_TILED_BY_RESULT,
    .infer = infer_gram,
    .forward = forward_gram,
    .vjp = vjp_gram,
    .flops = flops_gram,
    .sample = sample_gram,
};

const RelnOp reln_op_pair_weigh = {
    .name = "pair_weigh",
    .rule = RELN_RULE_PAIRING,
    .n_in = 2,
    .flags = RELN_OP_DOMAINS,
    .tiling = RELN_TILED_BY_FIRST,
    .infer = infer_weigh,
    .forward = forward_weigh,
    .vjp = vjp_weigh,
    .flops = flops_weigh,
    .sample = sample_weigh,
};

/* `rows` is the first domain of the pairs, or its parent if the first domain is heads. */
static RelnNode *built(RelnGraph *g, Wiring wiring, RelnDomain pairs, RelnDomain rows, RelnNode *x,
                       RelnNode *y)
{
    Attr a = {.wiring = (int)wiring, .pairs = pairs, .first = rows};
    RelnDomain parent;
    bool self;

    if (!reln_domain_pairs(g, pairs, &parent, &a.second, &self)) {
        reln_graph_fail(g, RELN_ERR_ARG, "%s: %s are no pairs", name_of(&a),
                        reln_domain_name(g, pairs));
        return NULL;
    }
    a.self = self;
    a.heads = rows == parent ? 1 : reln_domain_fixed(g, parent, rows);
    if (a.heads == 0) {
        reln_graph_fail(g, RELN_ERR_ARG, "%s: %s are pairs of %s, not of %s", name_of(&a),
                        reln_domain_name(g, pairs), reln_domain_name(g, parent),
                        reln_domain_name(g, rows));
        return NULL;
    }
    return product(g, &a, wiring, x, y);
}

RelnNode *reln_pair_gram(RelnGraph *g, RelnNode *x, RelnNode *y, RelnDomain pairs)
{
    return g && x && y ? built(g, GRAM, pairs, x->domain, x, y) : NULL;
}

RelnNode *reln_pair_weigh(RelnGraph *g, RelnNode *a, RelnNode *y, RelnDomain rows)
{
    return g && a && y ? built(g, WEIGH, a->domain, rows, a, y) : NULL;
}

RelnNode *reln_pair_weigh_t(RelnGraph *g, RelnNode *a, RelnNode *x)
{
    return g && a && x ? built(g, WEIGH_T, a->domain, x->domain, a, x) : NULL;
}
