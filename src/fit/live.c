/* live.c -- the files of a run during the run: its curves, its best model so far, its page.
 *
 * Every file is replaced as a whole or grows by whole lines, so other programs can read it at any time without a lock.
 * metrics.csv grows with every evaluation. Writing the model and the page takes at most a twentieth of the time, and
 * the model on disk is never older than MODEL_SECONDS. The clock decides when they are written, and no result of the
 * run depends on it. */
#include <stdio.h>
#include <stdlib.h>

#include "fit/fit.h"
#include "kit/clock.h"

#define SHARE 20.0 /* writing each of the two files takes at most 1/20 of the time */
#define LEAST_SECONDS 0.5 /* shortest time between two writes of one file */
#define MODEL_SECONDS 10.0

static double limited(double seconds, double low, double high)
{
    return seconds < low ? low : seconds > high ? high : seconds;
}

static RelnStatus save_model(RelnFit *fit, const RelnTrainRow *best)
{
    const double began = reln_wall_seconds();
    char path[4096];

    snprintf(path, sizeof path, "%s/model.safetensors", fit->folder);
    RELN_TRY(reln_model_save_best(fit->model, fit->trainer, (int64_t)best->step, path));
    fit->live.step = best->step;
    fit->live.saved = reln_wall_seconds();
    fit->live.save_cost = fit->live.saved - began;
    return RELN_OK;
}

static RelnStatus show(RelnFit *fit, int n_rows)
{
    const double began = reln_wall_seconds();

    RELN_TRY(reln_fit_write_so_far(fit));
    fit->live.shown_rows = n_rows;
    fit->live.shown = reln_wall_seconds();
    fit->live.show_cost = fit->live.shown - began;
    return RELN_OK;
}

/* Returns whether enough time has passed since `last` to spend `cost` seconds again. */
static bool is_time(double last, double cost, double most)
{
    return reln_wall_seconds() - last >= limited(SHARE * cost, LEAST_SECONDS, most);
}

/* Returns the step of the model on disk. A killed run may have left a model newer than its checkpoint: this
 * model stays until a better one is found. A model that cannot be read counts as none. */
static uint64_t step_on_disk(RelnFit *fit)
{
    char path[4096];
    RelnTensors *file = NULL;
    const char *text;
    uint64_t step = 0;

    snprintf(path, sizeof path, "%s/model.safetensors", fit->folder);
    if (!reln_file_exists(path))
        return 0;
    if (reln_tensors_load(fit->ctx, path, &file) == RELN_OK) {
        text = reln_tensors_meta(file, "reln.step");
        step = text ? strtoull(text, NULL, 10) : 0;
    }
    reln_tensors_destroy(file);
    reln_ctx_clear(fit->ctx);
    return step;
}

RelnStatus reln_fit_live_begin(RelnFit *fit)
{
    fit->live.step = step_on_disk(fit);
    return reln_fit_record_begin(fit);
}

RelnStatus reln_fit_live(RelnFit *fit, bool now)
{
    RelnLive *live = &fit->live;
    const RelnTrainRow *best;
    const int n_rows = reln_trainer_rows(fit->trainer, NULL);
    bool better, unseen;

    if (!now && !live->pending && n_rows == live->n_rows)
        return RELN_OK;
    best = reln_fit_result(fit).best;
    better = best && best->step > live->step;
    unseen = now || n_rows > live->shown_rows;
    RELN_TRY(reln_folder_held(fit->lock, fit->folder));
    RELN_TRY(reln_fit_record_grow(fit));
    if (better && (now || is_time(live->saved, live->save_cost, MODEL_SECONDS))) {
        RELN_TRY(save_model(fit, best));
        better = false;
    }
    if (unseen && (now || is_time(live->shown, live->show_cost, 1e9))) {
        RELN_TRY(show(fit, n_rows));
        unseen = false;
    }
    live->pending = better || unseen;
    return RELN_OK;
}
