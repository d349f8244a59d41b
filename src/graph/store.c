/* store.c -- named arrays that outlive a graph: parameters and state. */
#include <string.h>

#include "graph/graph.h"

RelnStatus reln_store_create(RelnCtx *ctx, uint64_t seed, RelnStore **out)
{
    RELN_NEED(ctx && out, reln_null(ctx, __func__));

    RelnStore *store = reln_alloc(ctx, 1, sizeof *store);

    *out = store;
    if (!store)
        return RELN_ERR_NOMEM;
    store->ctx = ctx;
    store->seed = seed;
    reln_arena_init(&store->arena, ctx);
    return RELN_OK;
}

void reln_store_destroy(RelnStore *store)
{
    if (!store)
        return;
    reln_arena_clear(&store->arena);
    reln_free(store->ctx, store);
}

static void set(RelnStoreEntry *entry, size_t i, double value)
{
    if (entry->dtype == RELN_F64)
        ((double *)entry->values)[i] = value;
    else
        ((float *)entry->values)[i] = (float)value;
}

static void fill_uniform(RelnStoreEntry *entry, RelnRng *rng, double scale)
{
    enum { RUN = 256 };
    double u[RUN];

    for (size_t i = 0; i < entry->count; i += RUN) {
        const size_t n = entry->count - i < RUN ? entry->count - i : RUN;

        reln_rng_uniforms(rng, (ptrdiff_t)n, u);
        for (size_t j = 0; j < n; j++)
            set(entry, i + j, scale * (2.0 * u[j] - 1.0));
    }
}

/* Draws the initial values. Each element is a function of (seed, name, index), so other entries of the store
 * do not change it. */
static void fill(RelnStore *store, RelnStoreEntry *entry, RelnInit init)
{
    RelnRng rng =
        reln_rng(store->seed, reln_hash(RELN_HASH_SEED, entry->name, strlen(entry->name)));

    if (init.kind == RELN_INIT_UNIFORM) {
        fill_uniform(entry, &rng, init.scale);
        return;
    }
    for (size_t i = 0; i < entry->count; i++)
        set(entry, i,
            init.kind == RELN_INIT_NORMAL ? init.scale * reln_rng_normal(&rng) : init.scale);
}

static RelnStoreEntry *lookup(const RelnStore *store, const char *name)
{
    for (int i = 0; i < store->entries.count; i++)
        if (strcmp(store->entries.items[i]->name, name) == 0)
            return store->entries.items[i];
    return NULL;
}

static RelnStatus add(RelnStore *store, const char *name, const RelnShape *shape, RelnDtype dtype,
                      RelnEntryKind kind, RelnInit init, RelnStoreEntry **out)
{
    RelnStoreEntry *entry = reln_arena_alloc(&store->arena, 1, sizeof *entry);

    if (!entry)
        return RELN_ERR_NOMEM;
    *entry = (RelnStoreEntry){.shape = *shape, .dtype = dtype, .kind = kind};
    entry->count = (size_t)reln_shape_count(shape);
    entry->name = reln_arena_printf(&store->arena, "%s", name);
    entry->values = reln_arena_alloc(&store->arena, entry->count, reln_dtype_size(dtype));
    if (!entry->name || !entry->values)
        return RELN_ERR_NOMEM;
    fill(store, entry, init);
    if (!RELN_LIST_ADD(&store->arena, &store->entries, entry))
        return RELN_ERR_NOMEM;
    *out = entry;
    return RELN_OK;
}

RelnStatus reln_store_get(RelnStore *store, const char *name, const RelnShape *shape,
                          RelnDtype dtype, RelnEntryKind kind, RelnInit init, RelnStoreEntry **out)
{
    RelnStoreEntry *entry = lookup(store, name);

    *out = entry;
    if (!entry)
        return add(store, name, shape, dtype, kind, init, out);
    if (memcmp(&entry->shape, shape, sizeof *shape) != 0 || entry->dtype != dtype ||
        entry->kind != kind)
        return reln_fail(
            store->ctx, RELN_ERR_SHAPE,
            "%s: the store has one of that name with another shape, dtype or kind (%zu elements, "
            "wanted %td)",
            name, entry->count, reln_shape_count(shape));
    return RELN_OK;
}

int reln_store_count(const RelnStore *store)
{
    RELN_NEED(store, 0);

    return store->entries.count;
}

static RelnEntryInfo info(const RelnStoreEntry *e)
{
    const int *d = e->shape.dims;

    return (RelnEntryInfo){
        e->name,  e->dtype, {d[RELN_P], d[RELN_Q], d[RELN_R], d[RELN_K], d[RELN_C]},
        e->count, e->kind,  e->trained,
        e->values};
}

RelnEntryInfo reln_store_entry(const RelnStore *store, int index)
{
    RELN_NEED(store, (RelnEntryInfo){0});

    return info(store->entries.items[index]);
}

bool reln_store_find(const RelnStore *store, const char *name, RelnEntryInfo *out)
{
    RELN_NEED(store && name, false);

    const RelnStoreEntry *entry = lookup(store, name);

    if (entry && out)
        *out = info(entry);
    return entry != NULL;
}

RelnArray reln_entry_array(const RelnEntryInfo *entry)
{
    RELN_NEED(entry, (RelnArray){0});

    const RelnDims d = entry->dims;

    return (RelnArray)RELN_ARRAY(entry->name, entry->dtype, entry->values, d.p, d.q, d.r, d.k, d.c);
}

size_t reln_store_parameters(const RelnStore *store)
{
    RELN_NEED(store, 0);

    size_t count = 0;

    for (int i = 0; i < store->entries.count; i++)
        count +=
            store->entries.items[i]->kind == RELN_ENTRY_PARAM ? store->entries.items[i]->count : 0;
    return count;
}
