/* print.c -- prints graphs: a table of nodes or of layers, and the same for Graphviz. */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "graph/graph.h"

enum { CELLS = 7, CELL = 160 };

/* A unit gets one line or box: it is a node, or with `layers` the outermost scope of a node. */
typedef struct Unit {
    const RelnScope *scope; /* NULL: the unit is a single node */
    const RelnNode *last;   /* the node whose shape and rep are shown */
    bool read;              /* whether another unit reads `last` */
    double flops, parameters;
} Unit;

typedef struct Printer {
    const RelnGraph *g;
    const RelnPrint *how;
    bool *shown;  /* by id */
    int *unit_of; /* by id, -1 if not shown */
    Unit *units;
    int n_units;
    bool measuring; /* the first pass sets the widths of the columns, the second prints */
    int width[CELLS];
} Printer;

static void put(const Printer *p, const char *text)
{
    p->how->put(p->how->self, text);
}

/* ---- the nodes that are shown --------------------------------------------------------------------------------- */

static bool is_source(const RelnNode *x)
{
    return (x->op->flags & RELN_OP_SOURCE) != 0;
}

static bool is_entry(const RelnNode *x)
{
    return x->op == &reln_op_param || x->op == &reln_op_state;
}

static bool is_moment(const RelnNode *x)
{
    return is_entry(x) && ((const RelnParamAttr *)x->attr)->entry->kind == RELN_ENTRY_MOMENT;
}

/* Finds the nodes to show. Without `derivatives`, these exclude derived nodes, moments, effects, and all
 * their readers. */
static void find_shown(Printer *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        bool shown = !x->derived && !is_moment(x) && !(x->op->flags & RELN_OP_EFFECT);

        for (int i = 0; i < x->n_in; i++)
            shown = shown && p->shown[x->in[i]->id];
        p->shown[id] = shown || p->how->derivatives;
    }
}

static double flops_of(const RelnNode *x)
{
    if (is_source(x) || x->op->flags & RELN_OP_ALIAS || x->op == &reln_op_call ||
        x->op == &reln_op_result)
        return 0;
    return x->op->flops ? x->op->flops(x) : (double)reln_shape_count(&x->shape);
}

static const RelnScope *outermost(const RelnScope *scope)
{
    while (scope && scope->parent)
        scope = scope->parent;
    return scope;
}

/* Returns the unit of a node. Parameters and constants of a layer belong to the layer's unit; outside of
 * layers each is a unit. */
static int find_unit(Printer *p, const RelnNode *x)
{
    const bool input = x->op == &reln_op_input || x->op == &reln_op_index_input;
    const RelnScope *scope = p->how->layers && !input ? outermost(x->scope) : NULL;

    for (int u = 0; u < p->n_units && scope; u++)
        if (p->units[u].scope == scope)
            return u;
    p->units[p->n_units] = (Unit){.scope = scope};
    return p->n_units++;
}

static void find_units(Printer *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Unit *unit;

        p->unit_of[id] = p->shown[id] ? find_unit(p, x) : -1;
        if (!p->shown[id])
            continue;
        unit = &p->units[p->unit_of[id]];
        unit->flops += flops_of(x);
        if (x->op == &reln_op_param)
            unit->parameters += (double)reln_shape_count(&x->shape);
        if (!unit->read && (!unit->last || !is_source(x)))
            unit->last = x;
        for (int i = 0; i < x->n_in; i++) {
            Unit *from = &p->units[p->unit_of[x->in[i]->id]];

            if (from != unit && !is_entry(x->in[i]) && x->in[i]->op != &reln_op_const) {
                from->last = x->in[i];
                from->read = true;
            }
        }
    }
}

/* ---- text of a unit --------------------------------------------------------------------------------------------- */

static const char *output_name(const Printer *p, const RelnNode *x)
{
    for (int i = 0; i < p->g->outputs.count; i++)
        if (p->g->outputs.items[i].node == x)
            return p->g->outputs.items[i].name;
    return "";
}

static void name_unit(const Printer *p, const Unit *unit, char *text, size_t size)
{
    const char *name = reln_node_name(unit->last);

    if (unit->scope)
        snprintf(text, size, "%s", unit->scope->name);
    else if (name[0] != '\0')
        snprintf(text, size, "%s", name);
    else if (p->how->layers)
        snprintf(text, size, "%s #%d", reln_op_word(unit->last), unit->last->id);
    else
        snprintf(text, size, "#%d", unit->last->id);
}

static const char *rep_of(const RelnNode *x)
{
    return !x->rep ? "indices" : reln_is_invariant(x) ? "invariant" : reln_rep_name(x->rep);
}

static void count_text(double count, char *text, size_t size)
{
    if (count > 0)
        reln_format(text, size, count < 1e6 ? "%.0f" : "%.3g", count);
    else
        text[0] = '\0';
}

static const char *dtype_of(const Printer *p, const RelnNode *x)
{
    if (x->dtype == p->g->dtype || x->dtype == RELN_I32)
        return "";
    return x->dtype == RELN_F64 ? " f64" : " f32";
}

/* Returns whether the unit reads another one. Weights and constants are not drawn as arrows between
 * layers. */
static bool reads(const Printer *p, int unit, int other)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];

        for (int i = 0; i < x->n_in && p->unit_of[id] == unit; i++)
            if (p->unit_of[x->in[i]->id] == other &&
                !(p->how->layers && (is_entry(x->in[i]) || x->in[i]->op == &reln_op_const)))
                return true;
    }
    return false;
}

static void inputs_text(const Printer *p, int unit, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int u = 0; u < p->n_units && used + 1 < size; u++)
        if (u != unit && reads(p, unit, u)) {
            char name[64];

            name_unit(p, &p->units[u], name, sizeof name);
            snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
            used = strlen(text);
        }
}

/* With `layers`, constants and parameters outside of layers are not listed, because they are not part of the
 * data flow. */
static bool is_listed(const Printer *p, const Unit *unit)
{
    return !p->how->layers || unit->scope || !is_source(unit->last) ||
           unit->last->op == &reln_op_input || unit->last->op == &reln_op_index_input;
}

/* ---- the table ------------------------------------------------------------------------------------------------ */

static void row(Printer *p, char (*cells)[CELL])
{
    int last = CELLS - 1;

    while (last > 0 && cells[last][0] == '\0')
        last--;
    for (int c = 0; c <= last; c++) {
        const int length = (int)strlen(cells[c]);
        char padded[CELL + 8];

        if (p->measuring) {
            p->width[c] = length > p->width[c] ? length : p->width[c];
            continue;
        }
        if (p->width[c] == 0)
            continue;
        snprintf(padded, sizeof padded, "%-*s", c < last ? p->width[c] + 2 : 0, cells[c]);
        put(p, padded);
    }
    if (!p->measuring)
        put(p, "\n");
}

static void node_row(Printer *p, int u)
{
    const RelnNode *x = p->units[u].last;
    char cells[CELLS][CELL] = {{0}}, shape[128];

    snprintf(cells[0], CELL, "#%d", x->id);
    snprintf(cells[1], CELL, "%s", reln_op_word(x));
    reln_shape_write(x, shape, sizeof shape);
    snprintf(cells[2], CELL, "%s%s", shape, dtype_of(p, x));
    snprintf(cells[3], CELL, "%.150s", rep_of(x));
    count_text(flops_of(x), cells[4], CELL);
    for (int i = 0; i < x->n_in; i++) {
        const size_t used = strlen(cells[5]);

        snprintf(cells[5] + used, CELL - used, "%s#%d", i ? " " : "", x->in[i]->id);
    }
    snprintf(cells[6], CELL, "%.100s%s%.50s", reln_node_name(x),
             output_name(p, x)[0] ? "output " : "", output_name(p, x));
    row(p, cells);
}

static void layer_row(Printer *p, int u)
{
    const Unit *unit = &p->units[u];
    char cells[CELLS][CELL] = {{0}}, shape[128];

    name_unit(p, unit, cells[0], CELL);
    reln_shape_write(unit->last, shape, sizeof shape);
    snprintf(cells[1], CELL, "%s%s", shape, dtype_of(p, unit->last));
    snprintf(cells[2], CELL, "%.150s", rep_of(unit->last));
    count_text(unit->parameters, cells[3], CELL);
    count_text(unit->flops, cells[4], CELL);
    inputs_text(p, u, cells[5], CELL);
    if (output_name(p, unit->last)[0] && strcmp(output_name(p, unit->last), cells[0]) != 0)
        snprintf(cells[6], CELL, "output %.100s", output_name(p, unit->last));
    row(p, cells);
}

static void head_row(Printer *p)
{
    static const char *const nodes[CELLS] = {"node", "op",     "shape", "transforms as",
                                             "cost", "inputs", "name"};
    static const char *const layers[CELLS] = {
        "layer", "shape", "transforms as", "parameters", "cost", "reads", ""};
    char cells[CELLS][CELL] = {{0}};

    for (int c = 0; c < CELLS; c++)
        snprintf(cells[c], CELL, "%s", p->how->layers ? layers[c] : nodes[c]);
    row(p, cells);
}

/* Prints a line above the nodes of each layer, where the layer changes. */
static void layer_line(const Printer *p, const RelnNode *x, const RelnNode *before)
{
    char path[256];

    if (p->measuring || (before && before->scope == x->scope && before->derived == x->derived) ||
        (!before && !x->scope))
        return;
    reln_scope_text(x->scope, path, sizeof path);
    put(p, x->derived ? "derivative of " : "");
    put(p, path[0] ? path : x->derived ? "the rest" : "(no layer)");
    put(p, "\n");
}

static void rows(Printer *p)
{
    const RelnNode *before = NULL;

    head_row(p);
    for (int u = 0; u < p->n_units; u++) {
        if (!is_listed(p, &p->units[u]))
            continue;
        if (p->how->layers) {
            layer_row(p, u);
            continue;
        }
        layer_line(p, p->units[u].last, before);
        before = p->units[u].last;
        node_row(p, u);
    }
}

static void print_table(Printer *p)
{
    p->measuring = true;
    rows(p);
    p->measuring = false;
    rows(p);
}

/* ---- Graphviz ------------------------------------------------------------------------------------------------- */

/* Escapes quotes, backslashes and angle brackets of a name. */
static void put_quoted(const Printer *p, const char *text)
{
    for (; *text; text++) {
        const char one[3] = {*text == '"' || *text == '\\' ? '\\' : *text,
                             *text == '"' || *text == '\\' ? *text : '\0', '\0'};

        put(p, one);
    }
}

static void put_box(const Printer *p, int u)
{
    const Unit *unit = &p->units[u];
    const RelnNode *x = unit->last;
    char text[160], name[160];

    snprintf(text, sizeof text, "  n%d [label=\"", u);
    put(p, text);
    name_unit(p, unit, name, sizeof name);
    put_quoted(p, name);
    if (!unit->scope && !p->how->layers) {
        put(p, " ");
        put_quoted(p, reln_op_word(x));
    }
    put(p, "\\n");
    reln_shape_write(x, name, sizeof name);
    put_quoted(p, name);
    put(p, dtype_of(p, x));
    put(p, " ");
    put_quoted(p, rep_of(x));
    count_text(unit->flops, name, sizeof name);
    if (name[0]) {
        put(p, "\\n");
        put(p, name);
        put(p, " FLOP");
    }
    put(p, is_source(x) ? "\", style=filled, fillcolor=\"#eef3f8\"];\n" : "\"];\n");
}

static void put_boxes(const Printer *p, const RelnScope *scope)
{
    for (int u = 0; u < p->n_units; u++)
        if (is_listed(p, &p->units[u]) &&
            (p->how->layers ? NULL : p->units[u].last->scope) == scope)
            put_box(p, u);
}

static bool is_inside(const RelnScope *inner, const RelnScope *scope)
{
    for (; inner; inner = inner->parent)
        if (inner->parent == scope)
            return true;
    return false;
}

/* Returns the scope directly below `scope` that contains a node; NULL: the node is not deeper. */
static const RelnScope *below(const RelnNode *x, const RelnScope *scope)
{
    const RelnScope *s = x->scope;

    if (!s || s == scope || !is_inside(s, scope))
        return NULL;
    while (s->parent != scope)
        s = s->parent;
    return s;
}

/* Prints the boxes of a scope, and the scopes inside it as clusters. Each cluster is printed at its first
 * node. */
static void put_cluster(const Printer *p, const RelnScope *scope, int depth)
{
    enum { DEPTH = 32 };

    put_boxes(p, scope);
    for (int u = 0; u < p->n_units && !p->how->layers && depth < DEPTH; u++) {
        const RelnScope *inner = below(p->units[u].last, scope);
        bool first = inner != NULL;
        char text[64];

        for (int v = 0; v < u && first; v++)
            first = below(p->units[v].last, scope) != inner;
        if (!first)
            continue;
        snprintf(text, sizeof text, "subgraph cluster_%d_%d {\n  label=\"", depth, u);
        put(p, text);
        put_quoted(p, inner->name);
        put(p, "\";\n");
        put_cluster(p, inner, depth + 1);
        put(p, "}\n");
    }
}

static void print_dot(Printer *p)
{
    char text[64];

    put(p, "digraph reln {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\", "
           "fontsize=11];\n");
    put_cluster(p, NULL, 0);
    for (int u = 0; u < p->n_units; u++)
        for (int v = 0; v < p->n_units; v++)
            if (u != v && is_listed(p, &p->units[u]) && is_listed(p, &p->units[v]) &&
                reads(p, u, v)) {
                snprintf(text, sizeof text, "  n%d -> n%d;\n", v, u);
                put(p, text);
            }
    put(p, "}\n");
}

RelnStatus reln_graph_print(const RelnGraph *graph, const RelnPrint *how)
{
    RELN_NEED(graph && how && how->put, graph ? reln_null(graph->ctx, __func__) : RELN_ERR_ARG);

    const size_t count = (size_t)graph->nodes.count;
    Printer p = {.g = graph, .how = how};
    RelnArena arena;

    reln_arena_init(&arena, graph->ctx);
    p.shown = reln_arena_alloc(&arena, count, sizeof *p.shown);
    p.unit_of = reln_arena_alloc(&arena, count, sizeof *p.unit_of);
    p.units = reln_arena_alloc(&arena, count, sizeof *p.units);
    if (!p.shown || !p.unit_of || !p.units) {
        reln_arena_clear(&arena);
        return RELN_ERR_NOMEM;
    }
    find_shown(&p);
    find_units(&p);
    if (how->dot)
        print_dot(&p);
    else
        print_table(&p);
    reln_arena_clear(&arena);
    return RELN_OK;
}
