/* scope.c -- scopes: the named parts of a network; describing nodes in messages, and finding them by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

static void enter(RelnGraph *g, const char *name)
{
    RelnScope *scope = reln_graph_alloc(g, 1, sizeof *scope);

    if (!scope || !name) {
        reln_graph_nomem(g);
        return;
    }
    scope->parent = g->scope;
    scope->name = name;
    g->scope = scope;
}

void reln_scope_begin(RelnGraph *graph, const char *name)
{
    if (!graph || !name)
        reln_graph_null(graph, __func__);
    else if (graph->status == RELN_OK)
        enter(graph, reln_arena_printf(&graph->arena, "%s", name));
}

/* A graph that has failed makes no more nodes, so its scope no longer matters. */
void reln_scope_end(RelnGraph *graph)
{
    if (graph && graph->status == RELN_OK && graph->scope)
        graph->scope = graph->scope->parent;
}

/* Returns whether the text is `word` or ends in ".word". */
static bool ends_in(const char *text, const char *word)
{
    const size_t length = strlen(text), n = strlen(word);

    return length >= n && strcmp(text + length - n, word) == 0 &&
           (length == n || text[length - n - 1] == '.');
}

/* The kind of "reln_nn_relu" is "relu". If the name already ends in the kind, it is not appended again. */
RelnGraph *reln_layer_begin(RelnGraph *g, const char *name, const char *function)
{
    static const char prefix[] = "reln_nn_";
    const size_t length = sizeof prefix - 1;
    const char *kind = strncmp(function, prefix, length) == 0 ? function + length : function;

    if (g && g->status == RELN_OK && name && ends_in(name, kind))
        enter(g, reln_arena_printf(&g->arena, "%s", name));
    else if (g && g->status == RELN_OK)
        enter(g, reln_arena_printf(&g->arena, "%s%s%s", name ? name : "", name ? "." : "", kind));
    return g;
}

void reln_layer_end(RelnGraph **g)
{
    reln_scope_end(*g);
}

void reln_scope_text(const RelnScope *scope, char *text, size_t size)
{
    size_t used;

    text[0] = '\0';
    if (!scope)
        return;
    if (scope->parent) {
        reln_scope_text(scope->parent, text, size);
        used = strlen(text);
        snprintf(text + used, size - used, "/");
    }
    used = strlen(text);
    snprintf(text + used, size - used, "%s", scope->name);
}

void reln_node_text(const RelnNode *x, char *text, size_t size)
{
    const char *name = reln_node_name(x);
    char path[128];

    if (name[0] != '\0') {
        snprintf(text, size, "%s %s", reln_op_word(x), name);
        return;
    }
    reln_scope_text(x->scope, path, sizeof path);
    snprintf(text, size, "%s (#%d)%s%s%s", reln_op_word(x), x->id,
             x->derived ? " of a derivative" : "", x->scope ? " of layer " : "", path);
}

/* ---- by name -------------------------------------------------------------------------------------------------- */

static RelnNode *named(int count, const RelnNamedNode *list, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].node;
    return NULL;
}

/* Returns whether the scope, or one around it, has this name or this path. */
static bool within(const RelnScope *scope, const char *name)
{
    char path[256];

    for (; scope; scope = scope->parent) {
        reln_scope_text(scope, path, sizeof path);
        if (strcmp(scope->name, name) == 0 || strcmp(path, name) == 0)
            return true;
    }
    return false;
}

static RelnNode *numbered(const RelnGraph *g, const char *name)
{
    char *end = NULL;
    const long id = name[0] == '#' ? strtol(name + 1, &end, 10) : -1;

    return end && end > name + 1 && *end == '\0' && id >= 0 && id < g->nodes.count
               ? g->nodes.items[id]
               : NULL;
}

/* Returns the nearest name among sources, outputs, and the innermost scope of each node. */
static const char *nearest(const RelnGraph *g, const char *name)
{
    const size_t most =
        (size_t)g->sources.count + (size_t)g->outputs.count + (size_t)g->nodes.count;
    const char **names = reln_alloc(g->ctx, most, sizeof *names);
    const char *found = NULL;
    int count = 0, near;

    if (!names)
        return NULL;
    for (int i = 0; i < g->sources.count; i++)
        names[count++] = g->sources.items[i].name;
    for (int i = 0; i < g->outputs.count; i++)
        names[count++] = g->outputs.items[i].name;
    for (int i = 0; i < g->nodes.count; i++)
        if (g->nodes.items[i]->scope)
            names[count++] = g->nodes.items[i]->scope->name;
    near = reln_nearest(name, names, count);
    if (near >= 0)
        found = names[near];
    reln_free(g->ctx, names);
    return found;
}

RelnNode *reln_graph_find(const RelnGraph *graph, const char *name)
{
    RELN_NEED(graph && name, NULL);

    RelnNode *x = named(graph->sources.count, graph->sources.items, name);
    const char *other;

    x = x ? x : named(graph->outputs.count, graph->outputs.items, name);
    x = x ? x : numbered(graph, name);
    for (int id = graph->nodes.count - 1; id >= 0 && !x; id--)
        if (!graph->nodes.items[id]->derived && within(graph->nodes.items[id]->scope, name))
            x = graph->nodes.items[id];
    if (x)
        return x;
    reln_ctx_clear(graph->ctx);
    other = nearest(graph, name);
    if (reln_ctx_status(graph->ctx) != RELN_ERR_NOMEM)
        (void)reln_fail(graph->ctx, RELN_ERR_ARG, "the graph has no node or layer %.80s%s%s", name,
                        other ? "; the nearest name is " : "", other ? other : "");
    return NULL;
}
