/* domain.c -- the tree of domains: how rows belong to each other, how many there can be, and the index nodes
 * that describe it. */
#include <limits.h>
#include <string.h>

#include "graph/graph.h"

/* ---- the table ------------------------------------------------------------------------------------------------ */

const RelnRowDomain *reln_row_domain(const RelnGraph *g, RelnDomain domain)
{
    return &reln_graph_home_of(g)->rows.items[domain - 2];
}

int reln_domain_count(const RelnGraph *g)
{
    return reln_graph_home_of(g)->rows.count + 2;
}

bool reln_domain_known(const RelnGraph *g, RelnDomain domain)
{
    return domain >= 0 && domain < reln_domain_count(g);
}

const char *reln_domain_name(const RelnGraph *g, RelnDomain domain)
{
    if (domain == RELN_STEP)
        return "the step";
    if (domain == RELN_SAMPLES)
        return "samples";
    return reln_domain_known(g, domain) ? reln_row_domain(g, domain)->name : "an unknown domain";
}

bool reln_domain_is_above(const RelnGraph *g, RelnDomain ancestor, RelnDomain domain)
{
    if (domain <= RELN_SAMPLES || ancestor == RELN_STEP)
        return false;
    if (ancestor > RELN_SAMPLES && reln_row_domain(g, ancestor)->kind == RELN_ROWS_COARSE &&
        reln_row_domain(g, ancestor)->second == domain)
        return true;
    for (; domain > RELN_SAMPLES; domain = reln_row_domain(g, domain)->parent)
        if (reln_row_domain(g, domain)->parent == ancestor)
            return true;
    return false;
}

bool reln_domain_pairs(const RelnGraph *g, RelnDomain domain, RelnDomain *first, RelnDomain *second,
                       bool *self)
{
    const RelnRowDomain *d;

    if (domain <= RELN_SAMPLES || !reln_domain_known(g, domain))
        return false;
    d = reln_row_domain(g, domain);
    *first = d->parent;
    *second = d->second;
    *self = d->self;
    return d->kind == RELN_ROWS_PAIRS;
}

int reln_domain_fixed(const RelnGraph *g, RelnDomain domain, RelnDomain parent)
{
    const RelnRowDomain *d;

    if (domain <= RELN_SAMPLES || !reln_domain_known(g, domain))
        return 0;
    d = reln_row_domain(g, domain);
    return d->kind == RELN_ROWS_FIXED && d->parent == parent ? d->most : 0;
}

/* ---- numbers of items ----------------------------------------------------------------------------------------- */

/* Returns a b, or the largest ptrdiff_t if the product overflows: no machine has that many rows. */
static ptrdiff_t times(ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t n;

    return __builtin_mul_overflow(a, b, &n) ? PTRDIFF_MAX : n;
}

/* Returns the number of second rows for each first row of a domain of pairs: one less if the pairs (i, i) are
 * left out. */
static ptrdiff_t partners(const RelnRowDomain *pairs, ptrdiff_t n_second)
{
    return pairs->self ? n_second : n_second - 1;
}

ptrdiff_t reln_domain_below(const RelnGraph *g, RelnDomain domain)
{
    const RelnRowDomain *d = reln_row_domain(g, domain);

    switch (d->kind) {
    case RELN_ROWS_COUNTED:
    case RELN_ROWS_FIXED:
        return d->most;
    case RELN_ROWS_PAIRS:
        return partners(d, reln_domain_most(g, d->second));
    case RELN_ROWS_COARSE:
        break;
    }
    return reln_domain_most(g, domain);
}

ptrdiff_t reln_domain_most(const RelnGraph *g, RelnDomain domain)
{
    const RelnRowDomain *d;

    if (domain <= RELN_SAMPLES)
        return 1;
    d = reln_row_domain(g, domain);
    if (d->kind == RELN_ROWS_COARSE)
        return (reln_domain_most(g, d->second) + d->most - 1) / d->most;
    if (d->kind == RELN_ROWS_COUNTED)
        return d->capacity;
    return times(reln_domain_most(g, d->parent), reln_domain_below(g, domain));
}

ptrdiff_t reln_domain_capacity(const RelnGraph *g, RelnDomain domain, ptrdiff_t shard)
{
    const RelnRowDomain *d;

    if (domain <= RELN_SAMPLES)
        return domain == RELN_STEP ? 1 : shard;
    d = reln_row_domain(g, domain);
    if (d->kind == RELN_ROWS_COUNTED)
        return d->capacity;
    if (d->kind == RELN_ROWS_COARSE)
        return reln_domain_capacity(g, d->second, shard);
    return times(reln_domain_capacity(g, d->parent, shard), reln_domain_below(g, domain));
}

/* ---- making --------------------------------------------------------------------------------------------------- */

static bool same_domain(const RelnRowDomain *a, const RelnRowDomain *b)
{
    return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->parent == b->parent &&
           a->second == b->second && a->most == b->most && a->self == b->self &&
           a->capacity == b->capacity;
}

/* Finds the domain with the same description, or adds it to the graph; d's name is the user's string. */
static RelnDomain enter(RelnGraph *graph, RelnRowDomain d)
{
    RelnGraph *g = reln_graph_home(graph);

    for (int i = 0; i < g->rows.count; i++) {
        if (same_domain(&g->rows.items[i], &d))
            return i + 2;
        if (strcmp(g->rows.items[i].name, d.name) == 0) {
            reln_graph_fail(graph, RELN_ERR_ARG, "rows %s: there are others of that name", d.name);
            return RELN_STEP;
        }
    }
    d.name = reln_arena_printf(&g->arena, "%s", d.name);
    if (!d.name) {
        reln_graph_nomem(graph);
        return RELN_STEP;
    }
    return RELN_GRAPH_ADD(g, &g->rows, d) ? g->rows.count + 1 : RELN_STEP;
}

static bool want_positive(RelnGraph *g, const char *name, const char *what, int value)
{
    return value >= 1 ||
           reln_graph_fail(g, RELN_ERR_ARG, "rows %s: %s %d, wanted at least 1", name, what, value);
}

static bool want_rows(RelnGraph *g, const char *name, RelnDomain domain, RelnDomain least)
{
    return (domain >= least && reln_domain_known(g, domain)) ||
           reln_graph_fail(g, RELN_ERR_ARG, "rows %s: domain %d is not a row domain of this graph",
                           name, domain);
}

RelnDomain reln_members(RelnGraph *graph, const char *name, RelnDomain parent, int most,
                        int capacity)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), RELN_STEP));

    if (!want_rows(graph, name, parent, RELN_SAMPLES) ||
        !want_positive(graph, name, "capacity", capacity) ||
        !want_positive(graph, name, "at most", most))
        return RELN_STEP;
    if (most > capacity) {
        reln_graph_fail(graph, RELN_ERR_ARG,
                        "rows %s: at most %d below one item, but capacity is %d", name, most,
                        capacity);
        return RELN_STEP;
    }
    return enter(graph, (RelnRowDomain){.name = (char *)(uintptr_t)name,
                                        .kind = RELN_ROWS_COUNTED,
                                        .parent = parent,
                                        .most = most,
                                        .capacity = capacity});
}

RelnDomain reln_rows(RelnGraph *graph, const char *name, int capacity)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), RELN_STEP));

    return reln_members(graph, name, RELN_SAMPLES, capacity, capacity);
}

RelnDomain reln_fixed(RelnGraph *graph, const char *name, RelnDomain parent, int count)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), RELN_STEP));

    if (!want_rows(graph, name, parent, RELN_SAMPLES) ||
        !want_positive(graph, name, "count", count))
        return RELN_STEP;
    return enter(graph, (RelnRowDomain){.name = (char *)(uintptr_t)name,
                                        .kind = RELN_ROWS_FIXED,
                                        .parent = parent,
                                        .most = count});
}

RelnDomain reln_pairs(RelnGraph *graph, const char *name, RelnDomain first, RelnDomain second,
                      bool self)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), RELN_STEP));

    if (!want_rows(graph, name, first, 2) || !want_rows(graph, name, second, 2))
        return RELN_STEP;
    if (first != second && !self) {
        reln_graph_fail(graph, RELN_ERR_ARG,
                        "rows %s: rows of %s and of %s are never the same; wanted self", name,
                        reln_domain_name(graph, first), reln_domain_name(graph, second));
        return RELN_STEP;
    }
    return enter(graph, (RelnRowDomain){.name = (char *)(uintptr_t)name,
                                        .kind = RELN_ROWS_PAIRS,
                                        .parent = first,
                                        .second = second,
                                        .self = self});
}

RelnDomain reln_coarse(RelnGraph *graph, const char *name, RelnDomain fine, int stride)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), RELN_STEP));

    if (!want_rows(graph, name, fine, 2) || !want_positive(graph, name, "stride", stride))
        return RELN_STEP;
    return enter(graph, (RelnRowDomain){.name = (char *)(uintptr_t)name,
                                        .kind = RELN_ROWS_COARSE,
                                        .parent = RELN_SAMPLES,
                                        .second = fine,
                                        .most = stride});
}

/* ---- indices -------------------------------------------------------------------------------------------------- */

static bool infer_row_index(RelnGraph *g, RelnNode *z)
{
    const RelnRowIndexAttr *a = z->attr;

    (void)g;
    z->shape = reln_shape_from((RelnDims){1, 1, 1, 1, 1});
    z->domain = a->domain;
    z->dtype = RELN_I32;
    z->target = a->target;
    return true;
}

const RelnOp reln_op_row_index = {
    .name = "row_index", .flags = RELN_OP_SOURCE, .infer = infer_row_index};

static RelnNode *row_index(RelnGraph *g, RelnDomain domain, RelnDomain target, bool second)
{
    RelnRowIndexAttr attr;

    memset(&attr, 0, sizeof attr);
    attr.domain = domain;
    attr.target = target;
    attr.second = second;
    return reln_node(g, &reln_op_row_index, 0, NULL, &attr, sizeof attr, NULL);
}

/* A plan computes the indices of the parent, the sample and a coarse domain. The index of an ancestor above the parent
 * is gathered through the parent's. */
RelnNode *reln_row_parent(RelnGraph *graph, RelnDomain rows, RelnDomain ancestor)
{
    RELN_NEED(graph, NULL);

    const RelnRowDomain *d;

    if (rows < 2 || !reln_domain_known(graph, rows)) {
        reln_graph_fail(graph, RELN_ERR_ARG, "row_parent: domain %d is not a row domain of this graph",
                        rows);
        return NULL;
    }
    if (!reln_domain_known(graph, ancestor) || !reln_domain_is_above(graph, ancestor, rows)) {
        reln_graph_fail(graph, RELN_ERR_ARG, "row_parent: %s are not below %s",
                        reln_domain_name(graph, rows), reln_domain_name(graph, ancestor));
        return NULL;
    }
    d = reln_row_domain(graph, rows);
    if (ancestor == RELN_SAMPLES || ancestor == d->parent ||
        (reln_row_domain(graph, ancestor)->kind == RELN_ROWS_COARSE &&
         reln_row_domain(graph, ancestor)->second == rows))
        return row_index(graph, rows, ancestor, false);
    return reln_gather(graph, reln_row_parent(graph, d->parent, ancestor),
                       row_index(graph, rows, d->parent, false));
}

RelnNode *reln_pair_second(RelnGraph *graph, RelnDomain pairs)
{
    RELN_NEED(graph, NULL);

    if (pairs < 2 || !reln_domain_known(graph, pairs) ||
        reln_row_domain(graph, pairs)->kind != RELN_ROWS_PAIRS) {
        reln_graph_fail(graph, RELN_ERR_ARG, "pair_second: %s are no pairs",
                        reln_domain_name(graph, pairs));
        return NULL;
    }
    return row_index(graph, pairs, reln_row_domain(graph, pairs)->second, true);
}

RelnNode *reln_row_sample(RelnGraph *graph, RelnDomain rows)
{
    return reln_row_parent(graph, rows, RELN_SAMPLES);
}
