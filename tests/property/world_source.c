/* world_source.c -- makes the sources of a world, and chooses among its nodes. */
#include "property/world_parts.h"

#include <stdio.h>
#include <stdlib.h>

static WorldSource *add_source(World *w, RelnNode *node, bool frozen)
{
    WorldSource *s = &w->sources[w->n_sources];

    assert_ok(w->ctx, reln_graph_status(w->graph));
    assert_true(w->n_sources < WORLD_SOURCES);
    *s = (WorldSource){.node = node, .name = reln_node_name(node), .frozen = frozen};
    s->items = interpret_items(&w->meaning, node->domain);
    s->count = s->items * reln_shape_count(&node->shape);
    w->n_sources++;
    return s;
}

RelnNode *world_input(World *w, RelnDomain domain, RelnDims dims, const RelnRep *rep, bool frozen)
{
    char name[16];
    WorldSource *s;

    snprintf(name, sizeof name, "x%d", w->n_sources);
    s = add_source(w, reln_input(w->graph, name, domain, dims, rep, RELN_F64), frozen);
    s->values = calloc((size_t)s->count + 1, sizeof *s->values);
    assert_non_null(s->values);
    fill_normal(&w->rng, s->count, s->values);
    w->bindings[w->n_sources - 1] = s->values;
    return s->node;
}

RelnNode *world_index_input(World *w, RelnDomain domain, RelnDims dims, RelnDomain target,
                            int limit)
{
    char name[16];
    WorldSource *s;
    ptrdiff_t at = 0, each;

    snprintf(name, sizeof name, "x%d", w->n_sources);
    s = add_source(w, reln_input_index(w->graph, name, domain, dims, target, limit), true);
    s->indices = calloc((size_t)s->count + 1, sizeof *s->indices);
    assert_non_null(s->indices);
    each = reln_shape_count(&s->node->shape);
    for (ptrdiff_t i = 0; i < (domain == RELN_STEP ? 1 : w->n_samples); i++) {
        const ptrdiff_t items = domain == w->points  ? w->points_of[i]
                                : domain == w->edges ? w->edges_of[i]
                                                     : 1;
        const int most = target == w->points ? w->points_of[i] : limit;

        for (ptrdiff_t j = 0; j < items * each; j++)
            s->indices[at++] = below(w, most);
    }
    w->bindings[w->n_sources - 1] = s->indices;
    return s->node;
}

RelnNode *world_param(World *w, RelnDims dims, bool state)
{
    char name[16];
    const RelnInit init = {RELN_INIT_NORMAL, 0.7};
    RelnEntryInfo info;
    WorldSource *s;

    snprintf(name, sizeof name, "x%d", w->n_sources);
    s = add_source(w, (state ? reln_state : reln_param)(w->graph, name, dims, init), state);
    assert_true(reln_store_find(w->store, name, &info));
    s->values = info.values;
    return s->node;
}

static bool frozen_source(const World *w, const RelnNode *x)
{
    for (int i = 0; i < w->n_sources; i++)
        if (w->sources[i].node == x)
            return w->sources[i].frozen;
    return true;
}

bool world_is_frozen(World *w, const RelnNode *x)
{
    assert_true(w->graph->nodes.count <= WORLD_NODES);
    for (; w->n_known < w->graph->nodes.count; w->n_known++) {
        const RelnNode *z = w->graph->nodes.items[w->n_known];
        bool *frozen = &w->frozen[w->n_known];

        *frozen = !(z->op->flags & RELN_OP_SOURCE) || frozen_source(w, z);
        /* a sum over the batch has no fixed bits, which would matter at a kink */
        *frozen = *frozen && !(z->domain == RELN_STEP && z->n_in && z->in[0]->domain != RELN_STEP);
        for (int i = 0; i < z->n_in; i++)
            *frozen = *frozen && w->frozen[z->in[i]->id];
    }
    return w->frozen[x->id];
}

/* ---- choosing ------------------------------------------------------------------------------------------------- */

/* Returns a node of the pool that fits, more often a late one than an early one. */
RelnNode *world_find(World *w, Fits *fits, const RelnNode *other)
{
    RelnNode *found[WORLD_POOL];
    int n = 0, a, b;

    for (int i = 0; i < w->n_pool; i++)
        if (fits(w, w->pool[i], other))
            found[n++] = w->pool[i];
    if (!n)
        return NULL;
    a = below(w, n);
    b = below(w, n);
    return found[a > b ? a : b];
}

bool world_domains_join(const RelnNode *x, const RelnNode *y)
{
    return x->domain == y->domain || x->domain == RELN_STEP || y->domain == RELN_STEP;
}

bool world_extents_join(const RelnNode *x, const RelnNode *y, int but)
{
    ptrdiff_t count = 1;

    for (int a = 0; a < RELN_AXES; a++) {
        const int e = x->shape.dims[a], f = y->shape.dims[a];

        if (a != but && e != f && e != 1 && f != 1)
            return false;
        count *= e > f ? e : f;
    }
    return count <= ITEM;
}

bool world_joins(const RelnNode *x, const RelnNode *y)
{
    return world_domains_join(x, y) && world_extents_join(x, y, -1);
}
