/* graph.c -- graphs: making and finding nodes, errors, shapes, outputs. */
#include "graph/graph.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- lists ---------------------------------------------------------------------------------------------------- */

bool reln_list_grow(RelnArena *arena, void **items, int count, int *capacity, size_t size)
{
    const int wanted = *capacity ? 2 * *capacity : 16;
    void *grown;

    if (count < *capacity)
        return true;
    grown = reln_arena_alloc(arena, (size_t)wanted, size);
    if (!grown)
        return false;
    if (count)
        memcpy(grown, *items, (size_t)count * size);
    *items = grown;
    *capacity = wanted;
    return true;
}

/* ---- creating and destroying ----------------------------------------------------------------------------------- */

RelnGraph *reln_graph_new(RelnCtx *ctx, RelnGroup *group, RelnStore *store, RelnDtype dtype)
{
    RelnGraph *g = reln_alloc(ctx, 1, sizeof *g);

    if (!g)
        return NULL;
    g->ctx = ctx;
    g->group = group;
    g->store = store;
    g->dtype = dtype;
    reln_arena_init(&g->arena, ctx);
    return g;
}

RelnStatus reln_graph_create(RelnGroup *group, RelnStore *store, RelnDtype dtype, RelnGraph **out)
{
    RELN_NEED(group && out, reln_null(reln_group_ctx(group), __func__));

    RelnCtx *ctx = reln_group_ctx(group);

    *out = NULL;
    if (dtype != RELN_F32 && dtype != RELN_F64)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "graph: wanted RELN_F32 or RELN_F64 as default dtype, saw %d", (int)dtype);
    *out = reln_graph_new(ctx, group, store, dtype);
    return *out ? RELN_OK : RELN_ERR_NOMEM;
}

void reln_graph_destroy(RelnGraph *graph)
{
    if (!graph)
        return;
    for (int i = 0; i < graph->fns.count; i++)
        reln_graph_destroy(graph->fns.items[i]->body);
    reln_arena_clear(&graph->arena);
    reln_free(graph->ctx, graph);
}

RelnCtx *reln_graph_ctx(const RelnGraph *graph)
{
    RELN_NEED(graph, NULL);

    return graph->ctx;
}

RelnGroup *reln_graph_group(const RelnGraph *graph)
{
    RELN_NEED(graph, NULL);

    return graph->group;
}

RelnStore *reln_graph_store(const RelnGraph *graph)
{
    RELN_NEED(graph, NULL);

    return graph->store;
}

RelnDtype reln_graph_dtype(const RelnGraph *graph)
{
    RELN_NEED(graph, RELN_DEFAULT);

    return graph->dtype;
}

int reln_graph_size(const RelnGraph *graph)
{
    RELN_NEED(graph, 0);

    return graph->nodes.count;
}

RelnArena *reln_graph_arena(RelnGraph *g)
{
    return &g->arena;
}

void *reln_graph_alloc(RelnGraph *g, size_t count, size_t size)
{
    void *block = reln_arena_alloc(&g->arena, count, size);

    if (!block)
        reln_graph_nomem(g);
    return block;
}

RelnGraph *reln_graph_home(RelnGraph *g)
{
    while (g->parent)
        g = g->parent;
    return g;
}

const RelnGraph *reln_graph_home_of(const RelnGraph *g)
{
    while (g->parent)
        g = g->parent;
    return g;
}

/* ---- errors --------------------------------------------------------------------------------------------------- */

/* Adds the name of the current layer to the message. */
static void name_layer(RelnGraph *g)
{
    const size_t used = strlen(g->message);
    char path[128];

    reln_scope_text(g->scope, path, sizeof path);
    snprintf(g->message + used, sizeof g->message - used, "; in %slayer %s",
             g->deriving ? "the derivative of " : "", path);
}

__attribute__((format(printf, 3, 0))) static void put(RelnGraph *g, RelnStatus status,
                                                      const char *format, va_list args)
{
    g->status = status;
    vsnprintf(g->message, sizeof g->message, format, args);
}

/* Records an error of a function's body in the graph that the function belongs to. The message already names
 * the layer, because a body begins in the scope of the graph around it. */
__attribute__((format(printf, 3, 4))) static void put_all(RelnGraph *g, RelnStatus status,
                                                          const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put(g, status, format, args);
    va_end(args);
    if (g->parent && g->parent->status == RELN_OK)
        put_all(g->parent, status, "in function %s: %s", g->name, g->message);
}

bool reln_graph_fail(RelnGraph *g, RelnStatus status, const char *format, ...)
{
    va_list args;

    if (g->status != RELN_OK)
        return false;
    va_start(args, format);
    put(g, status, format, args);
    va_end(args);
    if (g->scope && status != RELN_ERR_NOMEM)
        name_layer(g);
    if (g->parent && g->parent->status == RELN_OK)
        put_all(g->parent, status, "in function %s: %s", g->name, g->message);
    return false;
}

bool reln_graph_null(RelnGraph *g, const char *function)
{
    return g && reln_graph_fail(g, RELN_ERR_ARG, "%s: NULL where a pointer is needed", function);
}

bool reln_graph_nomem(RelnGraph *g)
{
    return reln_graph_fail(g, RELN_ERR_NOMEM, "%s", reln_ctx_error(g->ctx));
}

RelnStatus reln_graph_status(const RelnGraph *graph)
{
    RELN_NEED(graph, RELN_ERR_ARG);

    if (graph->status == RELN_OK)
        return RELN_OK;
    return reln_fail(graph->ctx, graph->status, "%s", graph->message);
}

/* ---- nodes ---------------------------------------------------------------------------------------------------- */

static uint64_t node_hash(const RelnNode *z)
{
    uint64_t h = reln_hash(RELN_HASH_SEED, &z->op, sizeof z->op);

    h = reln_hash(h, z->in, (size_t)z->n_in * sizeof *z->in);
    h = reln_hash(h, z->attr, z->attr_size);
    return reln_hash(h, &z->rep, sizeof z->rep);
}

static bool node_equal(const RelnNode *a, const RelnNode *b)
{
    return a->op == b->op && a->n_in == b->n_in && a->attr_size == b->attr_size &&
           a->rep == b->rep && memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) == 0 &&
           (a->attr_size == 0 || memcmp(a->attr, b->attr, a->attr_size) == 0) &&
           a->dtype == b->dtype && a->domain == b->domain &&
           memcmp(&a->shape, &b->shape, sizeof a->shape) == 0;
}

/* Returns the slot of the table that holds a node equal to z, or the empty slot where z belongs. The table
 * always has an empty slot. */
static RelnNode **table_slot(RelnNode **table, int size, const RelnNode *z)
{
    uint64_t i = node_hash(z);

    for (;; i++) {
        RelnNode **slot = &table[i % (uint64_t)size];
        if (!*slot || node_equal(*slot, z))
            return slot;
    }
}

static bool table_grow(RelnGraph *g)
{
    const int size = g->table_size ? 2 * g->table_size : 256;
    RelnNode **table;

    if (2 * (g->nodes.count + 1) <= g->table_size)
        return true;
    table = reln_graph_alloc(g, (size_t)size, sizeof(RelnNode *));
    if (!table)
        return false;
    for (int i = 0; i < g->table_size; i++)
        if (g->table[i])
            *table_slot(table, size, g->table[i]) = g->table[i];
    g->table = table;
    g->table_size = size;
    return true;
}

/* Returns the domain that the indices of all inputs point into; RELN_STEP (plain numbers) when they point
 * into different domains. */
static RelnDomain join_targets(const RelnNode *z)
{
    const RelnNode *first = NULL;

    for (int i = 0; i < z->n_in; i++)
        if (z->in[i]->dtype == RELN_I32) {
            first = first ? first : z->in[i];
            if (z->in[i]->target != first->target)
                return RELN_STEP;
        }
    return first ? first->target : RELN_STEP;
}

static bool join_domain(RelnGraph *g, RelnNode *z, const RelnNode *x)
{
    if (x->domain == RELN_STEP)
        return true;
    if (z->domain != RELN_STEP && x->domain != z->domain && !(z->op->flags & RELN_OP_DOMAINS))
        return reln_graph_fail(
            g, RELN_ERR_SHAPE, "%s: items of %s and of %s do not go together; gather one first",
            z->op->name, reln_domain_name(g, z->domain), reln_domain_name(g, x->domain));
    z->domain = x->domain;
    return true;
}

static bool join_dtype(RelnGraph *g, RelnNode *z, const RelnNode *x)
{
    if (x->dtype == RELN_I32)
        return true;
    if (z->dtype != RELN_DEFAULT && x->dtype != z->dtype && !(z->op->flags & RELN_OP_DTYPES))
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: inputs of f32 and f64; cast one first",
                               z->op->name);
    z->dtype = x->dtype;
    z->needs_grad = z->needs_grad || x->needs_grad;
    return true;
}

/* Joins the domains and dtypes of all inputs: step values join with anything, indices with any dtype. */
static bool join_inputs(RelnGraph *g, RelnNode *z)
{
    z->domain = RELN_STEP;
    z->dtype = RELN_DEFAULT;
    z->target = join_targets(z);
    for (int i = 0; i < z->n_in; i++)
        if (!join_domain(g, z, z->in[i]) || !join_dtype(g, z, z->in[i]))
            return false;
    if (z->dtype == RELN_DEFAULT)
        z->dtype = z->n_in ? RELN_I32 : g->dtype;
    return true;
}

static RelnNode *node_draft(RelnGraph *g, const RelnOp *op, int n_in, RelnNode *const *in,
                            const void *attr, size_t attr_size, const RelnRep *rep)
{
    RelnNode *z = reln_arena_alloc(&g->arena, 1, sizeof *z);
    RelnNode **ins = z ? reln_arena_copy(&g->arena, in, (size_t)n_in, sizeof *in) : NULL;
    void *attrs = ins ? reln_arena_copy(&g->arena, attr, attr_size, 1) : NULL;

    if (!attrs) {
        reln_graph_nomem(g);
        return NULL;
    }
    z->op = op;
    z->graph = g;
    z->in = ins;
    z->n_in = n_in;
    z->attr = attrs;
    z->attr_size = attr_size;
    z->rep = rep;
    z->scope = g->scope;
    z->derived = g->deriving;
    return z;
}

/* Returns whether `outer` is a graph around g. */
static bool is_around(const RelnGraph *outer, const RelnGraph *g)
{
    while (g && g != outer)
        g = g->parent;
    return g != NULL;
}

static bool check_inputs(RelnGraph *g, const RelnOp *op, int n_in, RelnNode *const *in)
{
    assert(op->n_in < 0 || op->n_in == n_in);
    if (!g)
        return false;
    if (g->ended)
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "%s: the function has ended, nothing is added to it", op->name);
    if (n_in > RELN_INPUTS_MAX)
        return reln_graph_fail(g, RELN_ERR_UNSUPPORTED, "%s: %d inputs, wanted at most %d",
                               op->name, n_in, RELN_INPUTS_MAX);
    for (int i = 0; i < n_in; i++) {
        if (!in[i]) /* NULL in, NULL out; outputs and assignments record an error for NULL */
            return false;
        if (!is_around(in[i]->graph, g))
            return reln_graph_fail(g, RELN_ERR_ARG, "%s: input %d belongs to another graph",
                                   op->name, i);
    }
    return g->status == RELN_OK;
}

RelnNode *reln_capture(RelnGraph *g, RelnNode *x)
{
    RelnNode *z;

    if (!x || x->graph == g)
        return x;
    x = reln_capture(g->parent, x);
    for (int i = 0; x && i < g->captured.count; i++)
        if (g->captured.items[i] == x)
            return g->arguments.items[i];
    z = x ? reln_argument(g, x->domain, reln_node_dims(x), x->rep, x->dtype) : NULL;
    if (!z)
        return NULL;
    z->target = x->target;
    z->needs_grad = x->needs_grad;
    g->captured.items[g->captured.count - 1] = x;
    return z;
}

RelnNode *reln_node(RelnGraph *g, const RelnOp *op, int n_in, RelnNode *const *in, const void *attr,
                    size_t attr_size, const RelnRep *rep)
{
    RelnNode *z, **slot;

    if (!check_inputs(g, op, n_in, in))
        return NULL;
    z = node_draft(g, op, n_in, in, attr, attr_size, rep);
    for (int i = 0; z && i < n_in; i++)
        if (!(z->in[i] = reln_capture(g, z->in[i])))
            return NULL;
    if (!z || !join_inputs(g, z) || !op->infer(g, z) || !reln_want_size(g, op->name, &z->shape) ||
        !table_grow(g))
        return NULL;
    if (z->dtype == RELN_I32) {
        z->rep = NULL;
        z->needs_grad = false;
    }
    if (!(op->flags & RELN_OP_FRESH)) {
        slot = table_slot(g->table, g->table_size, z);
        if (*slot)
            return *slot;
        *slot = z;
    }
    z->id = g->nodes.count;
    return RELN_GRAPH_ADD(g, &g->nodes, z) ? z : NULL;
}

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

size_t reln_dtype_size(RelnDtype dtype)
{
    return dtype == RELN_F64 ? 8 : 4;
}

RelnShape reln_shape_from(RelnDims d)
{
    const RelnShape s = {
        {d.p ? d.p : 1, d.q ? d.q : 1, d.r ? d.r : 1, d.k ? d.k : 1, d.c ? d.c : 1}};

    return s;
}

bool reln_want_size(RelnGraph *g, const char *op, const RelnShape *s)
{
    const int *d = s->dims;
    int n = 1;

    for (int a = 0; a < RELN_AXES; a++) {
        if (d[a] < 1)
            return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: an extent of %d, wanted at least 1", op,
                                   d[a]);
        if (__builtin_mul_overflow(n, d[a], &n))
            return reln_graph_fail(
                g, RELN_ERR_SHAPE,
                "%s: an item of (%d, %d, %d, %d, %d), wanted at most %d elements", op, d[RELN_P],
                d[RELN_Q], d[RELN_R], d[RELN_K], d[RELN_C], INT_MAX);
    }
    return true;
}

RelnDims reln_node_dims(const RelnNode *node)
{
    RELN_NEED(node, (RelnDims){0});

    const int *d = node->shape.dims;

    return (RelnDims){d[RELN_P], d[RELN_Q], d[RELN_R], d[RELN_K], d[RELN_C]};
}

const RelnRep *reln_node_rep(const RelnNode *node)
{
    RELN_NEED(node, NULL);

    return node->rep;
}

RelnDomain reln_node_domain(const RelnNode *node)
{
    RELN_NEED(node, 0);

    return node->domain;
}

RelnDtype reln_node_dtype(const RelnNode *node)
{
    RELN_NEED(node, RELN_DEFAULT);

    return node->dtype;
}

RelnGraph *reln_node_graph(const RelnNode *node)
{
    RELN_NEED(node, NULL);

    return node->graph;
}

const char *reln_node_name(const RelnNode *node)
{
    RELN_NEED(node, "");

    const RelnGraph *g = node->graph;

    for (int i = 0; i < g->sources.count; i++)
        if (g->sources.items[i].node == node)
            return g->sources.items[i].name;
    return "";
}

RelnNode *reln_graph_param(const RelnGraph *graph, int index)
{
    RELN_NEED(graph, NULL);

    for (int i = 0; i < graph->sources.count; i++)
        if (graph->sources.items[i].node->op == &reln_op_param && index-- == 0)
            return graph->sources.items[i].node;
    return NULL;
}

/* Writes a shape such as "(B, 12, 9, 256)": the leading axes start with the first that is not 1. */
void reln_shape_write(const RelnNode *x, char *text, size_t size)
{
    const int *d = x->shape.dims;
    const char *unit = x->domain == RELN_SAMPLES ? "B" : reln_domain_name(x->graph, x->domain);
    char leading[3][16] = {"", "", ""}, item[48] = "";

    if (x->domain != RELN_STEP)
        snprintf(item, sizeof item, "%.40s, ", unit);
    for (int a = 0; a < RELN_K; a++)
        if (d[a] != 1 || (a > 0 && d[0] != 1) || (a > 1 && d[1] != 1))
            snprintf(leading[a], sizeof leading[a], "%d, ", d[a]);
    snprintf(text, size, "(%s%s%s%s%d, %d)", item, leading[0], leading[1], leading[2], d[RELN_K],
             d[RELN_C]);
}

const char *reln_shape_text(const RelnNode *x)
{
    char text[128];
    const char *copy;

    reln_shape_write(x, text, sizeof text);
    copy = reln_arena_printf(&x->graph->arena, "%s", text);
    return copy ? copy : "(?)";
}

/* Keys of users count up from 0; keys made here have the highest bit set. */
uint64_t reln_graph_key(RelnGraph *g)
{
    return (uint64_t)1 << 63 | reln_graph_home(g)->keys++;
}

/* ---- outputs -------------------------------------------------------------------------------------------------- */

void reln_output(RelnGraph *graph, const char *name, RelnNode *node)
{
    RelnNamedNode named = {NULL, node};

    if (!graph || !name || !node) {
        reln_graph_null(graph, __func__);
        return;
    }
    if (graph->status != RELN_OK)
        return;
    if (graph->parent || node->graph != graph) {
        reln_graph_fail(graph, RELN_ERR_ARG, "output %s: %s", name,
                        graph->parent ? "a function gives its results to reln_fn_end()"
                                      : "the node belongs to another graph");
        return;
    }
    for (int i = 0; i < graph->outputs.count; i++)
        if (strcmp(graph->outputs.items[i].name, name) == 0) {
            reln_graph_fail(graph, RELN_ERR_ARG, "output %s: there is one of that name already",
                            name);
            return;
        }
    named.name = reln_arena_printf(&graph->arena, "%s", name);
    if (named.name)
        (void)RELN_GRAPH_ADD(graph, &graph->outputs, named);
    else
        reln_graph_nomem(graph);
}

void reln_assign(RelnGraph *graph, RelnNode *state, RelnNode *value)
{
    const RelnAssign assign = {state, value};

    if (!graph || !state || !value) {
        reln_graph_null(graph, __func__);
        return;
    }
    if (graph->status != RELN_OK)
        return;
    if (state->graph != graph || value->graph != graph)
        reln_graph_fail(graph, RELN_ERR_ARG, "assign: state or value belongs to another graph");
    else if (state->op != &reln_op_state)
        reln_graph_fail(graph, RELN_ERR_ARG, "assign: %s is not a state", state->op->name);
    else if (memcmp(&state->shape, &value->shape, sizeof state->shape) != 0 ||
             value->domain != RELN_STEP || state->dtype != value->dtype)
        reln_graph_fail(graph, RELN_ERR_SHAPE, "assign: state is %s, value is %s",
                        reln_shape_text(state), reln_shape_text(value));
    else if (reln_want_returning(graph, "assign", reln_node_name(state), value))
        (void)RELN_GRAPH_ADD(graph, &graph->assigns, assign);
}

bool reln_graph_effect(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z ? z->in[0] : NULL;

    if (!z)
        return false;
    if (x->op != &reln_op_param)
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: %s is not a parameter", z->op->name,
                               x->op->name);
    /* effects run in sequence, so no effect may read a parameter that another effect changes */
    for (int i = 1; i < z->n_in; i++)
        if (reln_storage(z->in[i])->op == &reln_op_param)
            return reln_graph_fail(g, RELN_ERR_ARG,
                                   "%s: input %d for %s is a parameter itself, wanted something "
                                   "computed",
                                   z->op->name, i, reln_node_name(x));
    for (int i = 0; i < g->effects.count; i++)
        if (g->effects.items[i]->in[0] == x)
            return reln_graph_fail(g, RELN_ERR_ARG, "%s: parameter %s has an optimiser already",
                                   z->op->name, reln_node_name(x));
    if (!RELN_GRAPH_ADD(g, &g->effects, z))
        return false;
    ((const RelnParamAttr *)x->attr)->entry->trained = true;
    return true;
}
