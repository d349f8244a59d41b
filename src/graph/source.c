/* source.c -- nodes that come from outside: inputs, indices, parameters, state, constants, arguments. */
#include <math.h>
#include <string.h>

#include "graph/graph.h"

/* Shape, domain, dtype are set by the maker before the node is entered: infer has nothing left to say. */
typedef struct Draft {
    RelnSource source;
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
    else if (g->parent)
        reln_graph_fail(g, RELN_ERR_ARG, "%s %s: a function takes everything from its arguments",
                        op->name, name);
    named.node = reln_node(g, op, 0, NULL, attr, size, rep);
    return named.node && RELN_GRAPH_ADD(g, &g->sources, named) ? named.node : NULL;
}

RelnNode *reln_input(RelnGraph *graph, const char *name, RelnDomain domain, RelnDims dims,
                     const RelnRep *rep, RelnDtype dtype)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), NULL));

    Draft d;

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

    memset(&d, 0, sizeof d);
    d.source = (RelnSource){graph->sources.count, target, limit};
    d.shape = reln_shape_from(dims);
    d.domain = domain;
    d.dtype = RELN_I32;
    if (target == RELN_STEP && limit < 1)
        reln_graph_fail(graph, RELN_ERR_ARG, "index input %s: limit %d, wanted at least 1", name,
                        limit);
    if (target != RELN_STEP && (target < 2 || !reln_domain_known(graph, target)))
        reln_graph_fail(graph, RELN_ERR_ARG,
                        "index input %s: target %d is no row domain of this graph", name, target);
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

    memset(&d, 0, sizeof d);
    d.source.index = body->arguments.count;
    d.shape = reln_shape_from(dims);
    d.domain = domain;
    d.dtype = dtype;
    z = reln_node(body, &reln_op_argument, 0, NULL, &d, sizeof d, rep);
    return z && RELN_GRAPH_ADD(body, &body->arguments, z) ? z : NULL;
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

static RelnNode *entry_node(RelnGraph *g, const RelnOp *op, const char *name, RelnDims dims,
                            RelnInit init, bool trainable)
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
    status = reln_store_get(g->store, name, &shape, g->dtype, trainable, init, &attr.entry);
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

    return entry_node(graph, &reln_op_param, name, dims, init, true);
}

RelnNode *reln_state(RelnGraph *graph, const char *name, RelnDims dims, RelnInit init)
{
    RELN_NEED(graph && name, (reln_graph_null(graph, __func__), NULL));

    return entry_node(graph, &reln_op_state, name, dims, init, false);
}

/* ---- constants ------------------------------------------------------------------------------------------------ */

typedef struct ConstDraft {
    RelnConstAttr values;
    RelnShape shape;
} ConstDraft;

/* How far m v is from where it must be, v itself or 0 (Lie), measured in |v|; c is the step from one coordinate of v
 * to the next. */
static double moved(const double *m, bool lie, int k, int c, const double *v)
{
    double norm = 0, off = 0;

    for (int i = 0; i < k; i++) {
        double sum = lie ? 0.0 : -v[i * c];

        for (int j = 0; j < k; j++)
            sum += m[i * k + j] * v[j * c];
        off = fmax(off, fabs(sum));
        norm = fmax(norm, fabs(v[i * c]));
    }
    return off > 0 ? off / norm : 0.0;
}

/* Every generator must leave every channel as it is: rho(E) c = 0, rho(gamma) c = c. */
static bool fixed_by_group(RelnGraph *g, const RelnRep *rep, const RelnShape *s,
                           const double *values)
{
    const int k = s->dims[RELN_K], c = s->dims[RELN_C], n_lie = reln_group_n_lie(g->group);
    const int n = n_lie + reln_group_n_discrete(g->group);
    const ptrdiff_t columns = reln_shape_count(s) / k;

    for (int e = 0; e < n; e++) {
        const bool lie = e < n_lie;
        const double *m = lie ? reln_rep_lie(rep, e) : reln_rep_discrete(rep, e - n_lie);

        for (ptrdiff_t i = 0; i < columns; i++) {
            const double off = moved(m, lie, k, c, values + i / c * k * c + i % c);

            if (off > RELN_INTERTWINER_TOLERANCE)
                return reln_graph_fail(
                    g, RELN_ERR_REP,
                    "const: not fixed by %s: %s generator %d of %s moves it by %.3g of its size",
                    reln_group_name(g->group), lie ? "Lie" : "discrete", lie ? e : e - n_lie,
                    reln_rep_name(rep), off);
        }
    }
    return true;
}

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
    if (reln_rep_dim(z->rep) != z->shape.dims[RELN_K])
        return reln_graph_fail(g, RELN_ERR_SHAPE, "const: %d coordinates, but rep %s has %d",
                               z->shape.dims[RELN_K], reln_rep_name(z->rep), reln_rep_dim(z->rep));
    return reln_rep_is_trivial(z->rep) || fixed_by_group(g, z->rep, &z->shape, d->values.values);
}

const RelnOp reln_op_const = {.name = "const", .flags = RELN_OP_SOURCE, .infer = infer_const};

/* Equal constants are one array, so that equal nodes are found. */
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

RelnNode *reln_const(RelnGraph *graph, RelnDims dims, const RelnRep *rep, const double *values)
{
    RELN_NEED(graph && values, (reln_graph_null(graph, __func__), NULL));

    ConstDraft d;

    memset(&d, 0, sizeof d);
    d.shape = reln_shape_from(dims);
    if (graph->status != RELN_OK || !reln_want_size(graph, "const", &d.shape))
        return NULL;
    d.values.values = intern_values(graph, &d.shape, values);
    return d.values.values ? reln_node(graph, &reln_op_const, 0, NULL, &d, sizeof d, rep) : NULL;
}

RelnNode *reln_scalar(RelnGraph *graph, double value)
{
    RELN_NEED(graph, (reln_graph_null(graph, __func__), NULL));

    return reln_const(graph, (RelnDims){1, 1, 1, 1, 1}, NULL, &value);
}

/* ---- what the plan knows of a batch --------------------------------------------------------------------------- */

static bool infer_count(RelnGraph *g, RelnNode *z)
{
    z->shape = reln_shape_from((RelnDims){1, 1, 1, 1, 1});
    z->domain = RELN_STEP;
    z->dtype = g->dtype;
    z->rep = reln_rep_trivial(g->group, 1);
    return z->rep || reln_graph_nomem(g);
}

static bool infer_row_sample(RelnGraph *g, RelnNode *z)
{
    const RelnSource *s = z->attr;

    if (s->target < 2 || s->target >= g->rows.count + 2)
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "row_sample: domain %d is no row domain of this graph", s->target);
    z->shape = reln_shape_from((RelnDims){1, 1, 1, 1, 1});
    z->domain = s->target;
    z->dtype = RELN_I32;
    z->target = RELN_SAMPLES;
    return true;
}

const RelnOp reln_op_batch_count = {
    .name = "batch_count", .flags = RELN_OP_SOURCE, .infer = infer_count};
const RelnOp reln_op_row_sample = {
    .name = "row_sample", .flags = RELN_OP_SOURCE, .infer = infer_row_sample};

RelnNode *reln_batch_count(RelnGraph *graph)
{
    return reln_node(graph, &reln_op_batch_count, 0, NULL, NULL, 0, NULL);
}

RelnNode *reln_row_sample(RelnGraph *graph, RelnDomain rows)
{
    RelnSource s;

    memset(&s, 0, sizeof s);
    s.index = -1;
    s.target = rows;
    return reln_node(graph, &reln_op_row_sample, 0, NULL, &s, sizeof s, NULL);
}
