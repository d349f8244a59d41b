/* model_file.c -- models as files: weights by name, and in the metadata everything needed to build the
 * network again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/fit.h"

const char *reln_model_text(const RelnModel *model, RelnDoc *doc)
{
    return reln_doc_write(doc, reln_model_describe(model, doc), RELN_DOC_ONE_LINE);
}

/* ---- weights by name ------------------------------------------------------------------------------------------------ */

/* Returns the array of an entry in the form of model files: axes of extent 1 are left out. */
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

static void *find_values(int n, const RelnArray *arrays, const char *prefix, const char *name)
{
    const size_t length = strlen(prefix);

    for (int i = 0; i < n; i++)
        if (strncmp(arrays[i].name, prefix, length) == 0 &&
            strcmp(arrays[i].name + length, name) == 0)
            return arrays[i].values;
    return NULL;
}

/* Lists the arrays that a network computes with: parameters, and states that are not moments of an optimiser.
 * If a trainer is given, the values are those of its best evaluation. */
static RelnStatus weights(const RelnModel *model, RelnTrainer *best, RelnArena *arena, int *n,
                          RelnArray **out)
{
    const RelnStore *store = reln_model_store(model);
    const int count = reln_store_count(store);
    RelnArray *list = reln_arena_alloc(arena, (size_t)count + 1, sizeof *list);
    const RelnArray *state = NULL;
    int n_state = 0;

    if (!list)
        return RELN_ERR_NOMEM;
    if (best)
        RELN_TRY(reln_trainer_state(best, &n_state, &state));
    *n = 0;
    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        if (entry.kind == RELN_ENTRY_MOMENT)
            continue;
        list[*n] = squeezed(&entry);
        if (best)
            list[*n].values = find_values(n_state, state, "best/", entry.name);
        (*n)++;
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

/* Finds the array of an entry. In a checkpoint, names of the best evaluation begin with best/. Axes of extent
 * 1 are left out. Returns false when there is none. */
static bool find_entry(const RelnTensors *file, const char *prefix, const char *name,
                       RelnArena *arena, RelnArray *out)
{
    const char *full = reln_arena_printf(arena, "%s%s", prefix, name);
    const RelnArray *have = full ? reln_tensors_find(file, full) : NULL;
    int rank = 0;

    if (!have)
        return false;
    *out = *have;
    for (int a = 0; prefix[0] && a < have->rank; a++)
        if (have->dims[a] != 1)
            out->dims[rank++] = have->dims[a];
    if (prefix[0])
        out->rank = rank;
    return true;
}

/* Fills every entry of the model's store from the array of its name. */
static RelnStatus fill(RelnModel *model, const RelnTensors *file, const char *prefix,
                       const char *path, RelnArena *arena)
{
    const RelnStore *store = reln_model_store(model);
    RelnCtx *ctx = reln_model_ctx(model);
    const int count = reln_store_count(store);
    RelnArray have;

    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        const RelnArray want = squeezed(&entry);

        if (!find_entry(file, prefix, entry.name, arena, &have))
            return reln_fail(ctx, RELN_ERR_FORMAT, "%s: no tensor '%s', which the model has", path,
                             entry.name);
        if (!same_shape(&have, &want) || (have.dtype != RELN_F32 && have.dtype != RELN_F64))
            return reln_fail(ctx, RELN_ERR_FORMAT,
                             "%s: tensor '%s' has another shape or type than in the model", path,
                             entry.name);
    }
    if (!prefix[0] && reln_tensors_count(file) != count)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %d tensors; the model has %d", path,
                         reln_tensors_count(file), count);
    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);

        if (find_entry(file, prefix, entry.name, arena, &have))
            copy(&have, &entry);
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
    for (int t = 0; t < spec->n_targets; t++) {
        RELN_TRY(check_scale(ctx, spec->target[t].name, fabs(c->target[t].mean), most));
        RELN_TRY(check_scale(ctx, spec->target[t].name, c->target[t].deviation, most));
    }
    return RELN_OK;
}

/* ---- saving --------------------------------------------------------------------------------------------------------- */

/* The step is left out if it is unknown. */
static RelnStatus save(const RelnModel *model, RelnTrainer *best, int64_t step, const char *path,
                       RelnArena *arena, RelnDoc *doc)
{
    const char *text = reln_model_text(model, doc);
    char number[24];
    const RelnMetaItem items[] = {{"reln.format", RELN_FORMAT},
                                  {"reln.kind", "model"},
                                  {"reln.model", text},
                                  {"reln.step", number}};
    RelnArray *list;
    int n;

    snprintf(number, sizeof number, "%lld", (long long)step);
    if (!text)
        return reln_fail(arena->ctx, RELN_ERR_NOMEM, "%s: no memory left to describe the model",
                         path);
    RELN_TRY(reln_check_constants(model, 1e300));
    RELN_TRY(weights(model, best, arena, &n, &list));
    return reln_tensors_save(arena->ctx, path, n, list, &(RelnMeta){step < 0 ? 3 : 4, items});
}

RelnStatus reln_model_save_best(const RelnModel *model, RelnTrainer *best, int64_t step,
                                const char *path)
{
    RelnCtx *ctx = reln_model_ctx(model);
    RelnArena arena;
    RelnDoc *doc = NULL;
    RelnStatus status;

    reln_arena_init(&arena, ctx);
    status = reln_doc_create(ctx, &doc);
    if (status == RELN_OK)
        status = save(model, best, step, path, &arena, doc);
    reln_doc_destroy(doc);
    reln_arena_clear(&arena);
    return status;
}

RelnStatus reln_model_save(const RelnModel *model, const char *path)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(path, reln_null(reln_model_ctx(model), __func__));

    return reln_model_save_best(model, NULL, reln_model_step(model), path);
}

/* ---- loading -------------------------------------------------------------------------------------------------------- */

/* Builds the model's graph once, which makes the store's entries. */
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

/* Returns the step that a file names; -1: none. */
static int64_t step_of(const RelnTensors *file)
{
    const char *text = reln_tensors_meta(file, "reln.step");

    return text ? strtoll(text, NULL, 10) : -1;
}

static RelnStatus make_from(RelnTensors *file, const char *path, const char *kind, RelnDtype dtype,
                            RelnArena *arena, RelnModel **out)
{
    const char *prefix = strcmp(kind, "checkpoint") == 0 ? "best/" : "";
    RelnModel *model = NULL;
    RelnStatus status = reln_model_from_meta(arena->ctx, file, path, kind, dtype, &model);

    if (status == RELN_OK)
        status = fill(model, file, prefix, path, arena);
    if (status != RELN_OK) {
        reln_model_destroy(model);
        return status;
    }
    reln_model_set_step(model, step_of(file));
    *out = model;
    return RELN_OK;
}

static RelnStatus load_file(const char *path, RelnDtype dtype, RelnArena *arena, RelnModel **out)
{
    RelnTensors *file = NULL;
    RelnStatus status = reln_tensors_load(arena->ctx, path, &file);

    if (status == RELN_OK)
        status = make_from(file, path, "model", dtype, arena, out);
    reln_tensors_destroy(file);
    return status;
}

/* Loads a model from a checkpoint, for a run that was not evaluated yet or was killed before it wrote its
 * model: the best weights, which are the starting weights before the first evaluation. */
static RelnStatus load_checkpoint(const char *path, RelnDtype dtype, RelnArena *arena,
                                  RelnModel **out)
{
    RelnTensors *file = NULL;
    bool previous;
    RelnStatus status = reln_checkpoint_load(arena->ctx, path, &file, &previous);

    if (status == RELN_OK)
        status = make_from(file, path, "checkpoint", dtype, arena, out);
    reln_tensors_destroy(file);
    return status;
}

static RelnStatus load_folder(const char *folder, RelnDtype dtype, RelnArena *arena,
                              RelnModel **out)
{
    const char *model = reln_arena_printf(arena, "%s/model.safetensors", folder);
    const char *checkpoint = reln_arena_printf(arena, "%s/checkpoint.safetensors", folder);

    if (!model || !checkpoint)
        return RELN_ERR_NOMEM;
    if (!reln_file_exists(model) && reln_fit_holds_run(folder))
        return load_checkpoint(checkpoint, dtype, arena, out);
    return load_file(model, dtype, arena, out);
}

RelnStatus reln_model_load(RelnCtx *ctx, const char *path, RelnDtype dtype, RelnModel **out)
{
    RELN_NEED(ctx && path && out, reln_null(ctx, __func__));

    RelnArena arena;
    RelnStatus status;

    *out = NULL;
    reln_arena_init(&arena, ctx);
    status = (reln_folder_exists(path) ? load_folder : load_file)(path, dtype, &arena, out);
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
        reln_model_set_step(other, reln_model_step(model));
    if (status == RELN_OK)
        *out = other;
    else
        reln_model_destroy(other);
    return status;
}
