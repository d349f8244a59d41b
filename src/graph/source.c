/* source.c -- nodes without inputs: inputs, indices, parameters, state, constants, arguments. */
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "rep/settle.h"

/* The function that makes a source sets shape, domain and dtype in a Draft; infer takes them from there. */
typedef struct Draft {
    RelnSourceAttr source;
    RelnShape shape;
    RelnDomain domain;
    RelnDtype dtype;
} Draft;

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Draft *d = z->attr;

    if (!reln_want_size(g, z->op->name, &d->shape))
        return false;
    if (!reln_domain_known(g, d->domain))
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: domain %d is not one of this graph",
                               z->op->name, d->domain);
    z->shape = d->shape;
    z->domain = d->domain;
    z->dtype = d->dtype == RELN_DEFAULT ? g->dtype : d->dtype;
    z->needs_grad = z->dtype != RELN_I32;
    z->target = d->source.target;
    if (!z->rep && z->dtype != RELN_I32)
        z->rep = reln_rep_trivial(g->group, z->shape.dims[RELN_K]);
    if (!z->rep && z->dtype != RELN_I32)
        return reln_graph_nomem(g);
    if (z->rep && reln_rep_group(z->rep) != g->group)
        return reln_graph_fail(g, RELN_ERR_REP, "%s: rep %s belongs to another group", z->op->name,
                               reln_rep_name(z->rep));
    if (z->rep && reln_rep_dim(z->rep) != z->shape.dims[RELN_K])
        return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: %d coordinates, but rep %s has %d",
                               z->op->name, z->shape.dims[RELN_K], reln_rep_name(z->rep),
                               reln_rep_dim(z->rep));
    return true;
}

const RelnOp reln_op_input = {
    .name = "input", .flags = RELN_OP_SOURCE | RELN_OP_FRESH, .infer = infer};
const RelnOp reln_op_index_input = {
    .name = "index input", .flags = RELN_OP_SOURCE | RELN_OP_FRESH, .infer = infer};
const RelnOp reln_op_argument = {
    .name = "argument", .flags = RELN_OP_SOURCE | RELN_OP_FRESH, .infer = infer};

static RelnNamedNode *find_source(RelnGraph *g, const char *name)
{
    for (int i = 0; i < g->sources.count; i++)
        if (strcmp(g->sources.items[i].name, name) == 0)
            return &g->sources.items[i];
    return NULL;
}

static RelnNode *enter(RelnGraph *g, const RelnOp *op, const char *name, const void *attr,
                       size_t size, const RelnRep *rep)
{
    RelnNamedNode named = {reln_arena_printf(&g->arena, "%s", name), NULL};

    if (!named.name)
        reln_graph_nomem(g);
    else if (find_source(g, name))
        reln_graph_fail(g, RELN_ERR_ARG, "%s %s: there is a source of that name already", op->name,
                        name);
    named.node = reln_node(g, op, 0, NULL, attr, size, rep);
    return named.node && RELN_GRAPH_ADD(g, &g->sources, named) ? named.node : NULL;
}

RelnNode *reln_input(RelnGraph *graph, const char *name, RelnDomain domain, RelnDims dims,
                     const RelnRep *rep, RelnDtype dtype)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), NULL));

    Draft d;

    if (graph->parent)
        return reln_capture(graph, reln_input(graph->parent, name, domain, dims, rep, dtype));
    memset(&d, 0, sizeof d);
    d.source.index = graph->sources.count;
    d.shape = reln_shape_from(dims);
    d.domain = domain;
    d.dtype = dtype;
    if (dtype == RELN_I32) {
        reln_graph_fail(graph, RELN_ERR_ARG, "input %s: use reln_input_index() for indices", name);
        return NULL;
    }
    return enter(graph, &reln_op_input, name, &d, sizeof d, rep);
}

RelnNode *reln_input_index(RelnGraph *graph, const char *name, RelnDomain domain, RelnDims dims,
                           RelnDomain target, int limit)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), NULL));

    Draft d;

    if (graph->parent)
        return reln_capture(graph,
                            reln_input_index(graph->parent, name, domain, dims, target, limit));
    memset(&d, 0, sizeof d);
    d.source = (RelnSourceAttr){graph->sources.count, target, limit};
    d.shape = reln_shape_from(dims);
    d.domain = domain;
    d.dtype = RELN_I32;
    if (target == RELN_STEP && limit < 1)
        reln_graph_fail(graph, RELN_ERR_ARG, "index input %s: limit %d, wanted at least 1", name,
                        limit);
    if (target != RELN_STEP && (target < 2 || !reln_domain_known(graph, target)))
        reln_graph_fail(graph, RELN_ERR_ARG,
                        "index input %s: target %d is not a row domain of this graph", name,
                        target);
    if (target != RELN_STEP && domain == RELN_STEP)
        reln_graph_fail(graph, RELN_ERR_ARG,
                        "index input %s: a row is counted within a sample, the step has none",
                        name);
    return enter(graph, &reln_op_index_input, name, &d, sizeof d, NULL);
}

RelnNode *reln_argument(RelnGraph *body, RelnDomain domain, RelnDims dims, const RelnRep *rep,
                        RelnDtype dtype)
{
    RELN_NEED(body, (reln_graph_null(body, __func__), NULL));

    Draft d;
    RelnNode *z;

    if (!body->fn) {
        reln_graph_fail(body, RELN_ERR_ARG, "argument: the graph is not the body of a function");
        return NULL;
    }
    memset(&d, 0, sizeof d);
    d.source.index = body->arguments.count;
    d.shape = reln_shape_from(dims);
    d.domain = domain;
    d.dtype = dtype;
    z = reln_node(body, &reln_op_argument, 0, NULL, &d, sizeof d, rep);
    return z && RELN_GRAPH_ADD(body, &body->arguments, z) &&
                   RELN_GRAPH_ADD(body, &body->captured, NULL)
               ? z
               : NULL;
}

/* ---- parameters and state ------------------------------------------------------------------------------------- */

static bool infer_entry(RelnGraph *g, RelnNode *z)
{
    const RelnParamAttr *a = z->attr;

    z->shape = a->entry->shape;
    z->domain = RELN_STEP;
    z->dtype = a->entry->dtype;
    z->needs_grad = true;
    z->rep = reln_rep_trivial(g->group, z->shape.dims[RELN_K]);
    return z->rep || reln_graph_nomem(g);
}

const RelnOp reln_op_param = {.name = "param", .flags = RELN_OP_SOURCE, .infer = infer_entry};
const RelnOp reln_op_state = {.name = "state", .flags = RELN_OP_SOURCE, .infer = infer_entry};

static uint64_t hash_group(const RelnGroup *group)
{
    const int size[3] = {reln_group_n(group), reln_group_n_lie(group),
                         reln_group_n_discrete(group)};
    const size_t n2 = (size_t)size[0] * (size_t)size[0] * sizeof(double);
    uint64_t h = reln_hash(RELN_HASH_SEED, size, sizeof size);

    h = reln_hash(h, reln_group_lie(group), (size_t)size[1] * n2);
    return reln_hash(h, reln_group_discrete(group), (size_t)size[2] * n2) | 1;
}

/* All graphs of a store must have equal groups: parameters are invariants, and invariants of one group may not be
 * invariants of another group whose graph reads the same store. */
static bool store_fits(RelnGraph *g)
{
    if (!g->group_hash)
        g->group_hash = hash_group(g->group);
    if (!g->store->group)
        g->store->group = g->group_hash;
    return g->store->group == g->group_hash ||
           reln_graph_fail(g, RELN_ERR_REP,
                           "the store holds parameters and state of graphs of another group than "
                           "%s; what is invariant there may not be invariant here",
                           reln_group_name(g->group));
}

static RelnNode *entry_node(RelnGraph *g, const RelnOp *op, const char *name, RelnDims dims,
                            RelnInit init, RelnEntryKind kind)
{
    const RelnShape shape = reln_shape_from(dims);
    RelnNamedNode *known = find_source(g, name);
    RelnParamAttr attr = {NULL};
    RelnStatus status;

    if (g->status != RELN_OK || !reln_want_size(g, op->name, &shape))
        return NULL;
    if (!g->store) {
        reln_graph_fail(g, RELN_ERR_ARG, "%s %s: the graph has no store", op->name, name);
        return NULL;
    }
    if (!store_fits(g))
        return NULL;
    if (!isfinite(init.scale)) {
        reln_graph_fail(g, RELN_ERR_NUMERIC, "%s %s: first values of size %g, wanted a finite one",
                        op->name, name, init.scale);
        return NULL;
    }
    status = reln_store_get(g->store, name, &shape, g->dtype, kind, init, &attr.entry);
    if (status != RELN_OK) {
        reln_graph_fail(g, status, "%s", reln_ctx_error(g->ctx));
        return NULL;
    }
    if (known && known->node->op == op)
        return known->node;
    return enter(g, op, name, &attr, sizeof attr, NULL);
}

RelnNode *reln_param(RelnGraph *graph, const char *name, RelnDims dims, RelnInit init)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), NULL));

    if (graph->parent)
        return reln_capture(graph, reln_param(graph->parent, name, dims, init));
    return entry_node(graph, &reln_op_param, name, dims, init, RELN_ENTRY_PARAM);
}

RelnNode *reln_state(RelnGraph *graph, const char *name, RelnDims dims, RelnInit init)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), NULL));

    if (graph->parent)
        return reln_capture(graph, reln_state(graph->parent, name, dims, init));
    return entry_node(graph, &reln_op_state, name, dims, init, RELN_ENTRY_STATE);
}

RelnNode *reln_moment(RelnGraph *g, const char *name, RelnDims dims)
{
    const RelnInit zero = {RELN_INIT_CONSTANT, 0.0};

    return entry_node(g, &reln_op_state, name, dims, zero, RELN_ENTRY_MOMENT);
}

/* ---- constants ------------------------------------------------------------------------------------------------ */

typedef struct ConstDraft {
    RelnConstAttr values;
    RelnShape shape;
} ConstDraft;

/* Settles one channel of a constant, which is a linear map from an invariant to its rep. */
static bool settle_channel(RelnGraph *g, const RelnRep *rep, int k, int c, double *v)
{
    const RelnRep *one = reln_invariant(g, 1);
    RelnEntry *entries = one ? reln_graph_alloc(g, (size_t)k, sizeof *entries) : NULL;
    RelnSettled settled;
    RelnVerdict verdict;
    RelnStatus status;
    int count = 0;

    if (!entries)
        return false;
    for (int i = 0; i < k; i++)
        if (v[i * c] != 0)
            entries[count++] = (RelnEntry){0, 0, i, v[i * c]};
    status = reln_settle(&g->arena, one, NULL, rep, count, entries, &settled, &verdict);
    if (status != RELN_OK)
        return reln_graph_fail(g, status, "const: %s", reln_ctx_error(g->ctx));
    if (!verdict.equivariant)
        return reln_graph_fail(g, RELN_ERR_REP, "const: not fixed by %s, as %s: %s",
                               reln_group_name(g->group), reln_rep_name(rep), verdict.text);
    if (settled.entries == entries)
        return true;
    for (int i = 0; i < k; i++)
        v[i * c] = 0;
    for (int e = 0; e < settled.count; e++)
        v[settled.entries[e].k * c] = settled.entries[e].value;
    return true;
}

static bool settle_const(RelnGraph *g, const RelnRep *rep, const RelnShape *s, double *values)
{
    const int k = s->dims[RELN_K], c = s->dims[RELN_C];
    const ptrdiff_t columns = reln_shape_count(s) / k;

    for (ptrdiff_t i = 0; i < columns; i++)
        if (!settle_channel(g, rep, k, c, values + i / c * k * c + i % c))
            return false;
    return true;
}

/* The values have been settled by reln_const(). */
static bool infer_const(RelnGraph *g, RelnNode *z)
{
    const ConstDraft *d = z->attr;

    z->shape = d->shape;
    z->domain = RELN_STEP;
    z->dtype = g->dtype;
    if (!z->rep)
        z->rep = reln_rep_trivial(g->group, z->shape.dims[RELN_K]);
    if (!z->rep)
        return reln_graph_nomem(g);
    for (ptrdiff_t e = 0; e < reln_shape_count(&z->shape); e++)
        if (!reln_want_finite(g, z, d->values.values[e]))
            return false;
    return true;
}

const RelnOp reln_op_const = {.name = "const", .flags = RELN_OP_SOURCE, .infer = infer_const};

/* Equal constants share one array, so that equal nodes are found. */
static const double *intern_values(RelnGraph *g, const RelnShape *shape, const double *values)
{
    const size_t count = (size_t)reln_shape_count(shape);
    const double *copy;

    for (int i = 0; i < g->nodes.count; i++) {
        const RelnNode *x = g->nodes.items[i];
        const ConstDraft *d = x->attr;

        if (x->op == &reln_op_const && memcmp(&x->shape, shape, sizeof *shape) == 0 &&
            memcmp(d->values.values, values, count * sizeof *values) == 0)
            return d->values.values;
    }
    copy = reln_arena_copy(&g->arena, values, count, sizeof *values);
    if (!copy)
        reln_graph_nomem(g);
    return copy;
}

static bool const_fits(RelnGraph *g, const RelnShape *s, const RelnRep *rep, const double *values)
{
    for (int a = 0; a < RELN_AXES; a++)
        if (s->dims[a] < 1)
            return reln_graph_fail(g, RELN_ERR_SHAPE, "const: an extent of %d, wanted at least 1",
                                   s->dims[a]);
    if (!values)
        return reln_graph_fail(g, RELN_ERR_ARG, "const: no values");
    if (rep && reln_rep_group(rep) != g->group)
        return reln_graph_fail(g, RELN_ERR_REP, "const: rep %s belongs to another group",
                               reln_rep_name(rep));
    if (rep && reln_rep_dim(rep) != s->dims[RELN_K])
        return reln_graph_fail(g, RELN_ERR_SHAPE, "const: %d coordinates, but rep %s has %d",
                               s->dims[RELN_K], reln_rep_name(rep), reln_rep_dim(rep));
    return true;
}

/* Returns the values to store for a constant: the given ones if its rep is trivial, otherwise a settled
 * copy. */
static const double *settled_values(RelnGraph *g, const RelnShape *s, const RelnRep *rep,
                                    const double *values)
{
    double *copy;

    if (!const_fits(g, s, rep, values))
        return NULL;
    if (!rep || reln_rep_is_trivial(rep))
        return values;
    copy = reln_arena_copy(&g->arena, values, (size_t)reln_shape_count(s), sizeof *values);
    if (!copy)
        reln_graph_nomem(g);
    return copy && settle_const(g, rep, s, copy) ? copy : NULL;
}

RelnNode *reln_const(RelnGraph *graph, RelnDims dims, const RelnRep *rep, const double *values)
{
    RELN_NEED(graph && values, (reln_graph_null(graph, __func__), NULL));

    ConstDraft d;

    memset(&d, 0, sizeof d);
    d.shape = reln_shape_from(dims);
    if (graph->status != RELN_OK || !reln_want_size(graph, "const", &d.shape))
        return NULL;
    values = settled_values(graph, &d.shape, rep, values);
    d.values.values = values ? intern_values(graph, &d.shape, values) : NULL;
    return d.values.values ? reln_node(graph, &reln_op_const, 0, NULL, &d, sizeof d, rep) : NULL;
}

RelnNode *reln_scalar(RelnGraph *graph, double value)
{
    RELN_NEED(graph, (reln_graph_null(graph, __func__), NULL));

    return reln_const(graph, (RelnDims){1, 1, 1, 1, 1}, NULL, &value);
}

/* ---- values that a plan computes from the batch ----------------------------------------------------------------- */

static bool infer_count(RelnGraph *g, RelnNode *z)
{
    z->shape = reln_shape_from((RelnDims){1, 1, 1, 1, 1});
    z->domain = RELN_STEP;
    z->dtype = g->dtype;
    z->rep = reln_rep_trivial(g->group, 1);
    return z->rep || reln_graph_nomem(g);
}

const RelnOp reln_op_batch_count = {
    .name = "batch_count", .flags = RELN_OP_SOURCE, .infer = infer_count};
RelnNode *reln_batch_count(RelnGraph *graph)
{
    if (graph && graph->parent)
        return reln_capture(graph, reln_batch_count(graph->parent));
    return reln_node(graph, &reln_op_batch_count, 0, NULL, NULL, 0, NULL);
}
