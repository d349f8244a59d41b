/* checkpoint.c -- the state of a trainer as one file, for runs of `reln fit` and of tasks. */
#include <string.h>

#include "fit/fit.h"

enum { MOST_ITEMS = 16 };

RelnStatus reln_format_check(RelnCtx *ctx, const RelnTensors *file, const char *path,
                             const char *kind)
{
    const char *format = reln_tensors_meta(file, "reln.format");
    const char *seen = reln_tensors_meta(file, "reln.kind");

    if (!format || !seen)
        return reln_fail(ctx, RELN_ERR_FORMAT,
                         "%s: a safetensors file, but without the description of a %s of ours",
                         path, kind);
    if (strcmp(format, RELN_FORMAT) != 0)
        return reln_fail(ctx, RELN_ERR_UNSUPPORTED,
                         "%s: format %.20s; this is reln %s, which reads format %s", path, format,
                         reln_version(), RELN_FORMAT);
    if (strcmp(seen, kind) != 0)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: a %.20s; a %s was wanted", path, seen, kind);
    return RELN_OK;
}

RelnStatus reln_checkpoint_save(RelnCtx *ctx, const char *path, RelnTrainer *trainer,
                                const RelnMeta *about)
{
    RelnMetaItem items[MOST_ITEMS] = {{"reln.format", RELN_FORMAT}, {"reln.kind", "checkpoint"}};
    const int n_about = about ? about->n : 0;
    const RelnArray *arrays;
    int n;

    RELN_NEED(ctx && path && trainer && (n_about <= 0 || about->items), reln_null(ctx, __func__));
    if (n_about < 0 || n_about > MOST_ITEMS - 2)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: %d items about a checkpoint, wanted 0 to %d", path,
                         n_about, MOST_ITEMS - 2);
    if (n_about > 0)
        memcpy(items + 2, about->items, (size_t)n_about * sizeof *items);
    RELN_TRY(reln_trainer_state(trainer, &n, &arrays));
    return reln_tensors_save_keeping(ctx, path, n, arrays, &(RelnMeta){n_about + 2, items});
}

/* Returns whether this is a checkpoint of an old task run, which has no format and one item of metadata,
 * "settings". */
static bool is_old_task(const RelnTensors *file)
{
    return !reln_tensors_meta(file, "reln.format") && reln_tensors_meta(file, "settings");
}

RelnStatus reln_checkpoint_load(RelnCtx *ctx, const char *path, RelnTensors **out, bool *previous)
{
    RelnTensors *file = NULL;
    RelnStatus status;

    RELN_NEED(ctx && path && out && previous, reln_null(ctx, __func__));
    *out = NULL;
    RELN_TRY(reln_tensors_load_or_previous(ctx, path, &file, previous));
    status = is_old_task(file) ? RELN_OK : reln_format_check(ctx, file, path, "checkpoint");
    if (status == RELN_OK)
        *out = file;
    else
        reln_tensors_destroy(file);
    return status;
}

const char *reln_checkpoint_about(const RelnTensors *file, const char *key)
{
    const char *value = reln_tensors_meta(file, key);

    RELN_NEED(file && key, NULL);
    if (!value && is_old_task(file) && strncmp(key, "reln.", 5) == 0)
        value = reln_tensors_meta(file, key + 5);
    return value;
}

RelnStatus reln_checkpoint_restore(const RelnTensors *file, RelnTrainer *trainer)
{
    return reln_trainer_restore(trainer, reln_tensors_count(file), reln_tensors_get(file, 0));
}
