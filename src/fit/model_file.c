/* model_file.c -- models as files: weights by name, and in the metadata everything to build the network again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit/fit.h"

const char *reln_model_text(const RelnModel *model, RelnDoc *doc)
{
    return reln_doc_write(doc, reln_model_describe(model, doc), RELN_DOC_ONE_LINE);
}

/* ---- weights by name ------------------------------------------------------------------------------------------------ */

/* The array of an entry as model files have it: axes of one element are left out. */
static RelnArray squeezed(const RelnEntryInfo *entry)
{
    RelnArray array = reln_entry_array(entry);
    int rank = 0;

    for (int a = 0; a < array.rank; a++)
        if (array.dims[a] > 1)
            array.dims[rank++] = array.dims[a];
    array.rank = rank;
    return array;
}

/* What a network computes with: parameters, and states that are no moments of an optimiser. */
static RelnStatus weights(const RelnModel *model, RelnArena *arena, int *n, RelnArray **out)
{
    const RelnStore *store = reln_model_store(model);
    const int count = reln_store_count(store);
    RelnArray *list = reln_arena_alloc(arena, (size_t)count + 1, sizeof *list);

    if (!list)
        return RELN_ERR_NOMEM;
    *n = 0;
    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        if (entry.kind != RELN_ENTRY_MOMENT)
            list[(*n)++] = squeezed(&entry);
    }
    *out = list;
    return RELN_OK;
}

static bool same_shape(const RelnArray *a, const RelnArray *b)
{
    bool same = a->rank == b->rank;

    for (int i = 0; same && i < a->rank; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

static void copy(const RelnArray *from, const RelnEntryInfo *to)
{
    const bool narrow = to->dtype == RELN_F32;

    for (size_t i = 0; i < to->count; i++) {
        const double x = from->dtype == RELN_F64 ? ((const double *)from->values)[i]
                                                 : (double)((const float *)from->values)[i];
        if (narrow)
            ((float *)to->values)[i] = (float)x;
        else
            ((double *)to->values)[i] = x;
    }
}

/* Every entry of the model's store from the array of its name. */
static RelnStatus fill(RelnModel *model, const RelnTensors *file, const char *path)
{
    const RelnStore *store = reln_model_store(model);
    RelnCtx *ctx = reln_model_ctx(model);
    const int count = reln_store_count(store);

    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        const RelnArray want = squeezed(&entry), *have = reln_tensors_find(file, entry.name);

        if (!have)
            return reln_fail(ctx, RELN_ERR_FORMAT, "%s: no tensor '%s', which the model has", path,
                             entry.name);
        if (!same_shape(have, &want) || (have->dtype != RELN_F32 && have->dtype != RELN_F64))
            return reln_fail(ctx, RELN_ERR_FORMAT,
                             "%s: tensor '%s' has another shape or type than in the model", path,
                             entry.name);
    }
    if (reln_tensors_count(file) != count)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %d tensors; the model has %d", path,
                         reln_tensors_count(file), count);
    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        copy(reln_tensors_find(file, entry.name), &entry);
    }
    return RELN_OK;
}

/* ---- constants ------------------------------------------------------------------------------------------------------ */

static RelnStatus check_scale(RelnCtx *ctx, const char *name, double scale, double most)
{
    return scale <= most
               ? RELN_OK
               : reln_fail(ctx, RELN_ERR_NUMERIC,
                           "%s: its numbers are too large, their squares overflow; wanted a root "
                           "mean square of at most %g: take other units",
                           name, most);
}

RelnStatus reln_check_constants(const RelnModel *model, double most)
{
    const RelnSpec *spec = reln_model_spec(model);
    const RelnConstants *c = reln_model_constants(model);
    RelnCtx *ctx = reln_model_ctx(model);

    for (int i = 0; i < spec->n_inputs; i++)
        RELN_TRY(check_scale(ctx, spec->input[i].name, c->scale[i], most));
    RELN_TRY(check_scale(ctx, spec->target.name, fabs(c->mean), most));
    return check_scale(ctx, spec->target.name, c->deviation, most);
}

/* ---- saving --------------------------------------------------------------------------------------------------------- */

static RelnStatus save(const RelnModel *model, const char *path, RelnArena *arena, RelnDoc *doc)
{
    const char *text = reln_model_text(model, doc);
    const RelnMetaItem items[] = {
        {"reln.format", RELN_FORMAT}, {"reln.kind", "model"}, {"reln.model", text}};
    RelnArray *list;
    int n;

    if (!text)
        return reln_fail(arena->ctx, RELN_ERR_NOMEM, "%s: no memory left to describe the model",
                         path);
    RELN_TRY(reln_check_constants(model, 1e300));
    RELN_TRY(weights(model, arena, &n, &list));
    return reln_tensors_save(arena->ctx, path, n, list, &(RelnMeta){3, items});
}

RelnStatus reln_model_save(const RelnModel *model, const char *path)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(path, reln_null(reln_model_ctx(model), __func__));

    RelnCtx *ctx = reln_model_ctx(model);
    RelnArena arena;
    RelnDoc *doc = NULL;
    RelnStatus status;

    reln_arena_init(&arena, ctx);
    status = reln_doc_create(ctx, &doc);
    if (status == RELN_OK)
        status = save(model, path, &arena, doc);
    reln_doc_destroy(doc);
    reln_arena_clear(&arena);
    return status;
}

/* ---- loading -------------------------------------------------------------------------------------------------------- */

/* A graph makes the store's entries. */
static RelnStatus make_entries(RelnModel *model)
{
    RelnModelGraph net = {0};
    const RelnStatus status = reln_model_build(model, &(RelnModelOptions){0}, &net);

    reln_model_graph_clear(&net);
    return status;
}

RelnStatus reln_model_from_meta(RelnCtx *ctx, const RelnTensors *file, const char *path,
                                const char *kind, RelnDtype dtype, RelnModel **out)
{
    const char *text = reln_tensors_meta(file, "reln.model");
    RelnModel *model = NULL;
    RelnDoc *doc = NULL;
    RelnStatus status;

    RELN_TRY(reln_format_check(ctx, file, path, kind));
    if (!text)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: a %s of ours, but of no model", path, kind);
    status = reln_doc_parse_json(ctx, text, strlen(text), path, &doc);
    if (status == RELN_OK)
        status = reln_model_from_doc(ctx, reln_doc_root(doc), path, &model);
    reln_doc_destroy(doc);
    if (status == RELN_OK && dtype != RELN_DEFAULT &&
        dtype != reln_model_spec(model)->train.dtype) {
        RelnModel *other = NULL;
        status = reln_model_retype(model, dtype, &other);
        reln_model_destroy(model);
        model = other;
    }
    if (status == RELN_OK)
        status = make_entries(model);
    if (status != RELN_OK) {
        reln_model_destroy(model);
        return status;
    }
    *out = model;
    return RELN_OK;
}

static RelnStatus load_file(RelnCtx *ctx, const char *path, RelnDtype dtype, RelnModel **out)
{
    RelnTensors *file = NULL;
    RelnModel *model = NULL;
    RelnStatus status = reln_tensors_load(ctx, path, &file);

    if (status == RELN_OK)
        status = reln_model_from_meta(ctx, file, path, "model", dtype, &model);
    if (status == RELN_OK)
        status = fill(model, file, path);
    reln_tensors_destroy(file);
    if (status == RELN_OK)
        *out = model;
    else
        reln_model_destroy(model);
    return status;
}

RelnStatus reln_model_load(RelnCtx *ctx, const char *path, RelnDtype dtype, RelnModel **out)
{
    RELN_NEED(ctx && path && out, reln_null(ctx, __func__));

    RelnArena arena;
    RelnStatus status;
    const char *file = path;

    *out = NULL;
    reln_arena_init(&arena, ctx);
    if (reln_folder_exists(path))
        file = reln_arena_printf(&arena, "%s/model.safetensors", path);
    status = file ? load_file(ctx, file, dtype, out) : RELN_ERR_NOMEM;
    reln_arena_clear(&arena);
    return status;
}

RelnStatus reln_model_convert(RelnModel *model, RelnDtype dtype, RelnModel **out)
{
    RelnModel *other = NULL;
    RelnStatus status = reln_model_retype(model, dtype, &other);

    if (status == RELN_OK)
        status = make_entries(other);
    for (int i = 0; status == RELN_OK && i < reln_store_count(reln_model_store(other)); i++) {
        const RelnEntryInfo to = reln_store_entry(reln_model_store(other), i);
        RelnEntryInfo from;
        if (reln_store_find(reln_model_store(model), to.name, &from)) {
            const RelnArray array = reln_entry_array(&from);
            copy(&array, &to);
        }
    }
    if (status == RELN_OK)
        *out = other;
    else
        reln_model_destroy(other);
    return status;
}
