/* fit.c -- a training run: opening, resuming, training, and saving it to its folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fit/fit.h"
#include "graph/plan.h"
#include "kit/clock.h"
#include "tensor/gemm.h"

char *reln_fit_path(RelnFit *fit, const char *name)
{
    return reln_arena_printf(&fit->arena, "%s/%s", fit->folder, name);
}

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

size_t reln_peak_bytes(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * 1024 : 0;
}

/* ---- callbacks of the trainer ------------------------------------------------------------------------------------ */

/* Writes the rows at positions first .. first+n-1 of an epoch. */
static void rows_at(const RelnFit *fit, uint64_t epoch, ptrdiff_t first, ptrdiff_t n,
                    ptrdiff_t *rows)
{
    const uint64_t seed = (uint64_t)fit->spec.train.seed;

    if (fit->spec.train.shuffle == RELN_SHUFFLE_BLOCKS)
        reln_shuffle_blocks(seed, epoch, fit->n_train, RELN_SHUFFLE_BLOCK, RELN_SHUFFLE_WINDOW,
                            first, n, rows);
    else
        reln_shuffle(seed, epoch, fit->n_train, first, n, rows);
    for (ptrdiff_t i = 0; i < n; i++)
        rows[i] = reln_parting_row(&fit->parting, fit->parting.n_validation + rows[i]);
}

/* Writes the rows of a step's batch to fit->batch; returns their number. */
static ptrdiff_t choose_rows(RelnFit *fit, uint64_t step, uint64_t *epoch)
{
    const ptrdiff_t batch = fit->spec.train.batch;
    const ptrdiff_t first = (ptrdiff_t)(step % fit->steps_per_epoch) * batch;
    const ptrdiff_t n = smaller(fit->n_train - first, batch);

    *epoch = step / fit->steps_per_epoch;
    rows_at(fit, *epoch, first, n, fit->batch);
    return n;
}

/* ---- rows of the next window of blocks ------------------------------------------------------------------------------- */

static ptrdiff_t window_of(const RelnFit *fit)
{
    return smaller(fit->n_train, (ptrdiff_t)RELN_SHUFFLE_BLOCK * RELN_SHUFFLE_WINDOW);
}

/* Lists the rows of a window that this rank will probably read: its part of each batch. */
static ptrdiff_t list_window(RelnFit *fit, uint64_t epoch, ptrdiff_t begin, ptrdiff_t end)
{
    const ptrdiff_t batch = fit->spec.train.batch;
    const int rank = reln_comm_rank(fit->comm), size = reln_comm_size(fit->comm);
    ptrdiff_t n = 0;

    for (ptrdiff_t at = begin / batch * batch; at < end; at += batch) {
        const ptrdiff_t count = smaller(fit->n_train - at, batch);
        const ptrdiff_t from = at + count * rank / size, to = at + count * (rank + 1) / size;
        const ptrdiff_t first = from > begin ? from : begin, last = smaller(to, end);

        if (first >= last)
            continue;
        rows_at(fit, epoch, first, last - first, fit->coming + n);
        n += last - first;
    }
    return n;
}

/* Announces the rows of the window that follows the window of this step's batch, a part of them in each step;
 * at the start of a run, the rows of the current window. */
static void expect_window(RelnFit *fit, uint64_t step)
{
    const ptrdiff_t window = window_of(fit), batch = fit->spec.train.batch;
    const uint64_t n_windows = (uint64_t)((fit->n_train + window - 1) / window);
    const ptrdiff_t first = (ptrdiff_t)(step % fit->steps_per_epoch) * batch;
    const uint64_t now = step / fit->steps_per_epoch * n_windows + (uint64_t)(first / window);
    const uint64_t next = fit->expected > now ? now + 1 : now, epoch = next / n_windows;
    const ptrdiff_t begin = (ptrdiff_t)(next % n_windows) * window;

    if (fit->expected > now + 1 || epoch * fit->steps_per_epoch >= fit->n_steps)
        return;
    fit->expected = next + 1;
    reln_data_expect(fit->data,
                     list_window(fit, epoch, begin, smaller(begin + window, fit->n_train)),
                     fit->coming, next == now ? 1 : 1 + window / batch);
}

static RelnStatus load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    RelnFit *fit = self;
    uint64_t epoch;
    ptrdiff_t n = choose_rows(fit, step, &epoch);

    *n_samples = n;
    RELN_TRY(reln_data_bind(fit->data, fit->plan, n, fit->batch, epoch));
    if (step + 1 == fit->n_steps)
        return RELN_OK;
    if (fit->coming)
        expect_window(fit, step + 1);
    n = choose_rows(fit, step + 1, &epoch);
    return reln_data_ahead(fit->data, fit->plan, n, fit->batch, epoch);
}

static RelnStatus evaluate(void *self, uint64_t step, RelnEvaluation *out)
{
    RelnFit *fit = self;
    RelnTally tally;

    (void)step;
    reln_tally_init(&tally, fit->model, &fit->reader.layout);
    RELN_TRY(reln_reader_tally(&fit->reader, fit->n_validation, fit->rows, &tally));
    reln_fit_put_metrics(fit, &tally, out);
    return RELN_OK;
}

/* Writes the files before the caller's observer is told of an evaluation, so that it finds the evaluation in
 * the folder. */
static bool observe(void *self, const RelnTrainProgress *progress)
{
    RelnFit *fit = self;

    fit->live.status = reln_fit_live(fit, false);
    if (fit->live.status != RELN_OK)
        return false;
    return !fit->options.observe || fit->options.observe(fit->options.self, progress);
}

static bool asked(void *self)
{
    const RelnFit *fit = self;

    return fit->options.asked(fit->options.self);
}

/* ---- the folder -------------------------------------------------------------------------------------------------------- */

/* Returns whether there is a checkpoint or its previous version. While one is written, the other is
 * complete. */
bool reln_fit_holds_run(const char *folder)
{
    static const char *const names[] = {"checkpoint.safetensors",
                                        "checkpoint.safetensors.previous"};
    char path[4096];
    bool held = false;

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        held = held || reln_file_exists(path);
    }
    return held;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------------ */

enum { FINGERPRINT = 32 };

/* Computes the fingerprint of all arrays that the run depends on. */
static RelnStatus fingerprint(RelnFit *fit, int version, uint64_t *out)
{
    uint64_t other = 0;

    RELN_TRY(reln_archive_fingerprint(fit->archive, fit->comm, fit->ctx, version, out));
    if (!fit->validation_archive)
        return RELN_OK;
    RELN_TRY(
        reln_archive_fingerprint(fit->validation_archive, fit->comm, fit->ctx, version, &other));
    *out = reln_hash(*out, &other, sizeof other);
    return RELN_OK;
}

/* Writes the fingerprint as text, with its version; version 1 is written without a version. */
static void fingerprint_text(uint64_t value, int version, char text[FINGERPRINT])
{
    if (version == 1)
        snprintf(text, FINGERPRINT, "%016llx", (unsigned long long)value);
    else
        snprintf(text, FINGERPRINT, "%d:%016llx", version, (unsigned long long)value);
}

/* Ranks share the work of the fingerprint. In addition, each rank hashes some rows of all its arrays (version
 * 1), which detects a rank with other data. */
static RelnStatus take_fingerprint(RelnFit *fit)
{
    if (fit->comm)
        RELN_TRY(fingerprint(fit, 1, &fit->own_data));
    return fingerprint(fit, RELN_FINGERPRINT, &fit->fingerprint);
}

static RelnStatus write_checkpoint(RelnFit *fit, RelnDoc *doc, const char *path)
{
    const RelnTrainRow *best = reln_fit_result(fit).best;
    char print[FINGERPRINT], step[24];
    const char *text = reln_model_text(fit->model, doc);
    const char *validation = fit->validation_path ? fit->validation_path : "";
    const RelnMetaItem items[] = {
        {"reln.model", text},
        {"reln.data", fit->data_path},
        {"reln.validation", validation},
        {"reln.fingerprint", print},
        {"reln.step", step},
        {"reln.kernels", reln_kernels_text(reln_model_reference(fit->model))}};

    if (!text)
        return reln_fail(fit->ctx, RELN_ERR_NOMEM, "%s: no memory left for a checkpoint", path);
    fingerprint_text(fit->fingerprint, RELN_FINGERPRINT, print);
    snprintf(step, sizeof step, "%llu", best ? (unsigned long long)best->step : 0ULL);
    return reln_checkpoint_save(fit->ctx, path, fit->trainer,
                                &(RelnMeta){(int)(sizeof items / sizeof items[0]), items});
}

static RelnStatus save_checkpoint(RelnFit *fit)
{
    char path[4096];
    RelnDoc *doc = NULL;
    RelnStatus status;

    RELN_TRY(reln_folder_held(fit->lock, fit->folder));
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", fit->folder);
    status = reln_doc_create(fit->ctx, &doc);
    if (status == RELN_OK)
        status = write_checkpoint(fit, doc, path);
    reln_doc_destroy(doc);
    return status;
}

static RelnStatus save(void *self, RelnTrainer *trainer)
{
    (void)trainer;
    return save_checkpoint(self);
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static char *copy_text(RelnFit *fit, const char *text)
{
    return reln_arena_printf(&fit->arena, "%s", text);
}

static RelnStatus create(RelnCtx *ctx, const RelnFitOptions *options, RelnFit **out)
{
    RelnFit *fit = reln_alloc(ctx, 1, sizeof *fit);

    if (!fit)
        return RELN_ERR_NOMEM;
    *out = fit;
    fit->ctx = ctx;
    fit->options = *options;
    if (options->comm) {
        RELN_TRY(reln_comm_check(ctx, options->comm));
        reln_comm_meter_init(&fit->meter, options->comm);
        fit->comm = options->comm->size > 1 ? &fit->meter.comm : NULL;
    }
    reln_arena_init(&fit->arena, ctx);
    fit->ranks =
        reln_arena_alloc(&fit->arena, (size_t)reln_comm_size(fit->comm), sizeof *fit->ranks);
    fit->rank_begin = reln_arena_alloc(&fit->arena, (size_t)reln_comm_size(fit->comm) + 1,
                                       sizeof *fit->rank_begin);
    if (!fit->ranks || !fit->rank_begin)
        return RELN_ERR_NOMEM;
    fit->folder = copy_text(fit, options->folder);
    fit->note = copy_text(fit, "");
    return fit->folder && fit->note ? RELN_OK : RELN_ERR_NOMEM;
}

/* Creates the folder and locks it: from here on no other process uses it. */
static RelnStatus enter_folder(RelnFit *fit)
{
    int swept;

    RELN_TRY(reln_folder_make(fit->ctx, fit->folder));
    RELN_TRY(reln_folder_lock(fit->ctx, fit->folder, &fit->lock));
    return reln_folder_sweep(fit->ctx, fit->folder, &swept);
}

/* Opens a file of data, and keeps its absolute path, since a run may be resumed from another working
 * directory. */
static RelnStatus open_archive(RelnFit *fit, const char *path, char **full_path, RelnArchive **out)
{
    char full[4096];

    RELN_TRY(reln_path_absolute(fit->ctx, path, sizeof full, full));
    *full_path = copy_text(fit, full);
    if (!*full_path)
        return RELN_ERR_NOMEM;
    return reln_archive_open(fit->ctx, *full_path, out);
}

/* Opens the data. `validation` is the path of a separate validation file, "" when there is none. */
static RelnStatus open_files(RelnFit *fit, const char *data, const char *validation)
{
    RELN_TRY(open_archive(fit, data, &fit->data_path, &fit->archive));
    if (validation[0] == '\0')
        return RELN_OK;
    return open_archive(fit, validation, &fit->validation_path, &fit->validation_archive);
}

static RelnDataOptions data_options(const RelnFit *fit, bool augment)
{
    return (RelnDataOptions){.augment = augment ? fit->spec.train.augment : 0,
                             .jitter = augment,
                             .seed = (uint64_t)fit->spec.train.seed,
                             .comm = fit->comm};
}

/* Chooses the rows for validation and training; a separate validation file counts its rows from 0. */
static RelnStatus split(RelnFit *fit)
{
    const RelnSpecTrain *train = &fit->spec.train;
    const bool own = fit->validation_archive != NULL;

    RELN_TRY(reln_parting_make(fit->data, &train->fold, own ? 0 : train->validation,
                               (uint64_t)train->seed, train->shuffle == RELN_SHUFFLE_BLOCKS,
                               &fit->parting));
    fit->n_validation = own ? reln_data_count(fit->other) : fit->parting.n_validation;
    fit->n_train = fit->parting.n_train;
    fit->rows = reln_arena_alloc(&fit->arena, (size_t)fit->n_validation, sizeof *fit->rows);
    if (!fit->rows)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < fit->n_validation; i++)
        fit->rows[i] = own ? i : reln_parting_row(&fit->parting, i);
    return RELN_OK;
}

static bool draws_points(const RelnSpec *spec)
{
    for (int i = 0; i < spec->n_inputs; i++)
        if (spec->input[i].draw)
            return true;
    return false;
}

static RelnStatus open_sets(RelnFit *fit, bool normalise)
{
    RelnDataOptions moved = data_options(fit, true), still = data_options(fit, false);
    const bool own = fit->validation_archive != NULL;

    moved.normalise = normalise;
    moved.validation = own ? 0 : fit->spec.train.validation;
    moved.fold = fit->spec.train.fold;
    moved.blocks = fit->spec.train.shuffle == RELN_SHUFFLE_BLOCKS;
    RELN_TRY(reln_data_open(fit->model, fit->archive, &moved, &fit->data));
    if (moved.augment > 0 || fit->spec.sequence.jitter > 0 || draws_points(&fit->spec)) {
        still.known = true;
        RELN_TRY(reln_data_open(fit->model, fit->archive, &still, &fit->plain));
    }
    if (own) {
        still.known = false;
        RELN_TRY(reln_data_open(fit->model, fit->validation_archive, &still, &fit->other));
    }
    RELN_TRY(reln_data_read_ahead(fit->data, fit->spec.train.batch));
    return split(fit);
}

/* Returns the data with the rows of validation, without random frames. */
static RelnData *validation_data(const RelnFit *fit)
{
    if (fit->other)
        return fit->other;
    return fit->plain ? fit->plain : fit->data;
}

static RelnStatus plan(RelnFit *fit)
{
    const RelnOptimiser optimiser = reln_spec_optimiser(&fit->spec);
    const RelnPlanOptions options = {.pool = fit->pool,
                                     .comm = fit->comm,
                                     .lanes = fit->spec.train.lanes,
                                     .reference = reln_model_reference(fit->model)};
    const ptrdiff_t batch = fit->spec.train.batch;

    RELN_TRY(reln_model_build(fit->model,
                              &(RelnModelOptions){.train = true,
                                                  .loss = true,
                                                  .weights = reln_data_weighted(fit->data),
                                                  .sizes = reln_data_sizes(fit->data)},
                              &fit->net));
    reln_train_step(fit->net.graph, &optimiser, fit->net.loss);
    RELN_TRY(reln_plan_create(fit->net.graph, &options, &fit->plan));
    RELN_TRY(reln_plan_reserve(fit->plan, batch, 0));
    RELN_TRY(reln_data_reserve(fit->data, batch));
    fit->batch = reln_arena_alloc(&fit->arena, (size_t)batch, sizeof *fit->batch);
    if (!fit->batch)
        return RELN_ERR_NOMEM;
    if (fit->spec.train.shuffle == RELN_SHUFFLE_BLOCKS && !reln_data_resident(fit->data)) {
        fit->coming = reln_arena_alloc(&fit->arena, (size_t)window_of(fit), sizeof *fit->coming);
        if (!fit->coming)
            return RELN_ERR_NOMEM;
    }
    if (fit->n_validation == 0)
        return RELN_OK;
    fit->has_reader = true;
    fit->reader = (RelnReader){.ctx = fit->ctx,
                               .model = fit->model,
                               .pool = fit->pool,
                               .data = validation_data(fit),
                               .comm = fit->comm,
                               .asked = fit->options.asked,
                               .self = fit->options.self,
                               .borrowed = true};
    RELN_TRY(reln_reader_check_edges(&fit->reader, fit->n_validation, fit->rows));
    return reln_reader_plan(&fit->reader);
}

/* Returns the memory that a plan will touch for n samples: only workers that get a shard touch their
 * memory. */
static size_t plan_bytes(const RelnFit *fit, const RelnPlan *plan, ptrdiff_t n)
{
    const RelnCost cost = reln_plan_cost(plan);
    const ptrdiff_t threads = fit->pool ? reln_pool_threads(fit->pool) : 1;
    const ptrdiff_t shards = (n + cost.shard - 1) / cost.shard;
    const ptrdiff_t busy = shards < threads ? shards : threads;
    /* single precision uses half of the memory for products */
    const size_t idle = fit->spec.train.dtype == RELN_F64 ? 0 : reln_gemm_bytes() / 2;

    return (cost.bytes_worker - idle) * (size_t)busy + cost.bytes_shared + cost.bytes_kept;
}

/* Returns the bytes of parameters, states and moments, and of the copy of the best evaluation, which has no
 * moments. */
static size_t store_bytes(const RelnStore *store)
{
    size_t sum = 0;

    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        const size_t bytes = entry.count * (entry.dtype == RELN_F64 ? 8 : 4);
        sum += entry.kind == RELN_ENTRY_MOMENT ? bytes : 2 * bytes;
    }
    return sum;
}

static RelnTrainWatch watch(RelnFit *fit)
{
    const double seconds = fit->options.checkpoint_seconds;

    return (RelnTrainWatch){.self = fit,
                            .observe = observe,
                            .asked = fit->options.asked ? asked : NULL,
                            .save = save,
                            .save_seconds = seconds > 0 ? seconds : fit->spec.train.checkpoint};
}

static RelnStatus make_trainer(RelnFit *fit)
{
    RelnTrainJob job = {.plan = fit->plan,
                        .store = reln_model_store(fit->model),
                        .seed = (uint64_t)fit->spec.train.seed,
                        .patience = fit->spec.train.patience,
                        .average = fit->spec.train.average,
                        .n_metrics = fit->n_metrics,
                        .self = fit,
                        .load = load};

    for (int i = 0; i < fit->n_metrics; i++)
        job.metric_names[i] = fit->metric_names[i];
    fit->steps_per_epoch =
        (uint64_t)((fit->n_train + fit->spec.train.batch - 1) / fit->spec.train.batch);
    fit->n_steps = reln_spec_steps(&fit->spec, fit->steps_per_epoch);
    job.n_steps = fit->n_steps;
    job.steps_per_epoch = fit->steps_per_epoch;
    job.evaluate_every = reln_spec_evaluate_every(&fit->spec, fit->steps_per_epoch);
    job.schedule = reln_spec_schedule(&fit->spec, fit->steps_per_epoch);
    if (fit->has_reader)
        job.evaluate = evaluate;
    job.watch = watch(fit);
    return reln_trainer_create(fit->ctx, &job, &fit->trainer);
}

/* Notes that there are more threads, over all ranks, than a step has work for. */
static RelnStatus note_idle(RelnFit *fit)
{
    const RelnCost cost = reln_plan_cost(fit->plan);
    const int threads = fit->pool ? reln_pool_threads(fit->pool) : 1;
    const long long there = (long long)threads * reln_comm_size(fit->comm);
    const ptrdiff_t shards =
        (smaller(fit->spec.train.batch, fit->n_train) + cost.shard - 1) / cost.shard;
    const ptrdiff_t most = smaller(shards, cost.lanes);

    if (!fit->comm || there <= most)
        return RELN_OK;
    fit->note = reln_arena_printf(
        &fit->arena,
        "%lld threads in %d processes, and work for %td: a batch has %td shards of %d samples, and "
        "train.lanes is %d%s%s",
        there, fit->comm->size, most, shards, cost.shard, cost.lanes, fit->note[0] ? "; " : "",
        fit->note);
    return fit->note ? RELN_OK : RELN_ERR_NOMEM;
}

/* Finishes opening a run, after spec, data and model have been made. */
static RelnStatus prepare(RelnFit *fit, bool normalise)
{
    const ptrdiff_t batch = fit->spec.train.batch;
    size_t before;

    if (fit->options.threads > 1)
        RELN_TRY(reln_pool_create(fit->ctx, fit->options.threads, &fit->pool));
    RELN_TRY(open_sets(fit, normalise));
    if (normalise)
        RELN_TRY(reln_fit_take_from(fit));
    RELN_TRY(reln_check_constants(fit->model, 1e150)); /* so that squares stay finite */
    fit->spec = *reln_model_spec(fit->model);          /* balanced weights are known now */
    RELN_TRY(reln_fit_name_metrics(fit));
    before = reln_peak_bytes();
    RELN_TRY(plan(fit));
    RELN_TRY(make_trainer(fit));
    RELN_TRY(note_idle(fit));
    /* memory in use, including the data, and memory that the steps will touch */
    fit->planned_bytes = before + plan_bytes(fit, fit->plan, smaller(batch, fit->n_train)) +
                         store_bytes(reln_model_store(fit->model));
    if (fit->has_reader)
        fit->planned_bytes +=
            plan_bytes(fit, fit->reader.plan, smaller(RELN_READER_BATCH, fit->n_validation));
    return RELN_OK;
}

static RelnStatus read_spec(RelnFit *fit, const char *path)
{
    const uint64_t most = (uint64_t)1 << 53; /* seeds are numbers of the SPEC, which are doubles */

    RELN_TRY(reln_spec_load_with(fit->ctx, path, fit->options.n_set, fit->options.set, &fit->spec));
    if (!fit->options.seed_given)
        return RELN_OK;
    if (fit->options.seed > most)
        return reln_fail(fit->ctx, RELN_ERR_ARG, "seed %llu; wanted at most 2^53, %llu",
                         (unsigned long long)fit->options.seed, (unsigned long long)most);
    fit->spec.train.seed = (double)fit->options.seed;
    return RELN_OK;
}

static RelnStatus make_model(RelnFit *fit)
{
    RELN_TRY(reln_model_for(fit->ctx, &fit->spec, fit->archive, &fit->model));
    reln_model_use_reference(fit->model, fit->options.reference);
    fit->spec = *reln_model_spec(fit->model);
    return RELN_OK;
}

static RelnStatus refuse_second_run(RelnFit *fit)
{
    return reln_fit_holds_run(fit->folder)
               ? reln_fail(fit->ctx, RELN_ERR_ARG,
                           "%s holds a run already; resume that one, or take another folder",
                           fit->folder)
               : RELN_OK;
}

/* Writes spec.yaml complete, with every default, so that the run can be repeated from it. */
static RelnStatus write_spec(RelnFit *fit)
{
    const char *path = reln_fit_path(fit, "spec.yaml"), *text = NULL;
    RelnDoc *doc = NULL;
    RelnStatus status = path ? reln_doc_create(fit->ctx, &doc) : RELN_ERR_NOMEM;

    if (status != RELN_OK)
        return status;
    text = reln_doc_write(doc, reln_spec_to_doc(&fit->spec, doc), RELN_DOC_YAML);
    status = text ? reln_file_write(fit->ctx, path, text, strlen(text))
                  : reln_fail(fit->ctx, RELN_ERR_NOMEM, "%s: no memory left to write it", path);
    reln_doc_destroy(doc);
    return status;
}

/* ---- ranks ----------------------------------------------------------------------------------------------------------- */

/* Ranks open a run in stages. If one of them fails, all fail with its message. */
static RelnStatus together(const RelnFit *fit, RelnStatus status)
{
    return reln_comm_agree(fit->comm, fit->ctx, status);
}

static bool is_first(const RelnFit *fit)
{
    return reln_comm_rank(fit->comm) == 0;
}

static uint64_t hash_weights(const RelnStore *store)
{
    uint64_t hash = RELN_HASH_SEED;

    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);

        hash = reln_hash(hash, entry.values, entry.count * (entry.dtype == RELN_F64 ? 8 : 4));
    }
    return hash;
}

/* Compares, across ranks, everything that the run depends on, before the first step. */
static RelnStatus compare(RelnFit *fit)
{
    static const char *const names[] = {"programs",        "kernels", "SPEC or constants",
                                        "initial weights", "data",    "steps done"};
    const char *kernels = reln_kernels_text(reln_model_reference(fit->model)), *text;
    uint64_t numbers[6];
    RelnDoc *doc = NULL;

    if (!fit->comm)
        return RELN_OK;
    RELN_TRY(together(fit, reln_doc_create(fit->ctx, &doc)));
    text = reln_model_text(fit->model, doc);
    numbers[0] = reln_hash(RELN_HASH_SEED, reln_version(), strlen(reln_version()));
    numbers[1] = reln_hash(RELN_HASH_SEED, kernels, strlen(kernels));
    numbers[2] = text ? reln_hash(RELN_HASH_SEED, text, strlen(text)) : 0;
    numbers[3] = hash_weights(reln_model_store(fit->model));
    numbers[4] = reln_hash(fit->fingerprint, &fit->own_data, sizeof fit->own_data);
    numbers[5] = reln_trainer_step(fit->trainer);
    reln_doc_destroy(doc);
    return reln_comm_same(fit->comm, fit->ctx, 6, numbers, names);
}

/* Compares the inputs that decide which exchanges there will be, before the first exchange that is longer
 * than an agreement. */
static RelnStatus compare_inputs(RelnFit *fit)
{
    static const char *const names[] = {"programs", "SPECs", "data"};
    uint64_t numbers[3] = {reln_hash(RELN_HASH_SEED, reln_version(), strlen(reln_version()))};
    RelnDoc *doc = NULL;
    const char *text = NULL;

    if (!fit->comm)
        return RELN_OK;
    RELN_TRY(together(fit, reln_doc_create(fit->ctx, &doc)));
    text = reln_doc_write(doc, reln_spec_to_doc(&fit->spec, doc), RELN_DOC_ONE_LINE);
    numbers[1] = text ? reln_hash(RELN_HASH_SEED, text, strlen(text)) : 0;
    numbers[2] = reln_archive_layout(fit->archive);
    if (fit->validation_archive)
        numbers[2] ^= reln_archive_layout(fit->validation_archive) + 1;
    reln_doc_destroy(doc);
    return reln_comm_same(fit->comm, fit->ctx, 3, numbers, names);
}

static RelnStatus share_archives(RelnFit *fit)
{
    RELN_TRY(reln_archive_share(fit->archive, fit->ctx, fit->comm));
    return reln_archive_share(fit->validation_archive, fit->ctx, fit->comm);
}

/* ---- a new run ------------------------------------------------------------------------------------------------------- */

/* Checks the spec, the data and the model before the folder is created, so that their errors leave no folder
 * behind. */
static RelnStatus read_inputs(RelnFit *fit, const char *spec_path, const char *data_path)
{
    RELN_TRY(read_spec(fit, spec_path));
    RELN_TRY(open_files(fit, data_path, fit->spec.train.validation_file));
    return make_model(fit);
}

static RelnStatus claim_folder(RelnFit *fit)
{
    if (!is_first(fit))
        return RELN_OK;
    RELN_TRY(refuse_second_run(fit));
    RELN_TRY(enter_folder(fit));
    return refuse_second_run(fit); /* another run may have begun before this process had the lock */
}

static RelnStatus prepare_new(RelnFit *fit)
{
    RELN_TRY(share_archives(fit));
    RELN_TRY(take_fingerprint(fit));
    return prepare(fit, true);
}

static RelnStatus write_first_files(RelnFit *fit)
{
    if (!is_first(fit))
        return RELN_OK;
    RELN_TRY(write_spec(fit));
    RELN_TRY(save_checkpoint(fit));
    return reln_fit_live_begin(fit);
}

static RelnStatus open_run(RelnFit *fit, const char *spec_path, const char *data_path)
{
    RELN_TRY(together(fit, read_inputs(fit, spec_path, data_path)));
    RELN_TRY(compare_inputs(fit));
    RELN_TRY(together(fit, claim_folder(fit)));
    RELN_TRY(together(fit, prepare_new(fit)));
    RELN_TRY(compare(fit));
    return together(fit, write_first_files(fit));
}

RelnStatus reln_fit_open(RelnCtx *ctx, const char *spec_path, const char *data_path,
                         const RelnFitOptions *options, RelnFit **out)
{
    RELN_NEED(ctx && spec_path && data_path && options && options->folder && out,
              reln_null(ctx, __func__));

    RelnFit *fit = NULL;
    RelnStatus status = create(ctx, options, &fit);

    *out = NULL;
    if (status == RELN_OK)
        status = open_run(fit, spec_path, data_path);
    if (status != RELN_OK) {
        reln_fit_close(fit);
        return status;
    }
    *out = fit;
    return RELN_OK;
}

void reln_fit_close(RelnFit *fit)
{
    if (!fit)
        return;
    reln_trainer_destroy(fit->trainer);
    if (fit->has_reader)
        reln_reader_close(&fit->reader);
    reln_plan_destroy(fit->plan);
    reln_model_graph_clear(&fit->net);
    reln_parting_clear(fit->ctx, &fit->parting);
    reln_data_destroy(fit->other);
    reln_data_destroy(fit->plain);
    reln_data_destroy(fit->data);
    reln_model_destroy(fit->model);
    reln_archive_destroy(fit->validation_archive);
    reln_archive_destroy(fit->archive);
    reln_pool_destroy(fit->pool);
    reln_folder_unlock(fit->lock);
    reln_arena_clear(&fit->arena);
    reln_free(fit->ctx, fit);
}

/* ---- resuming --------------------------------------------------------------------------------------------------------- */

static RelnStatus same_data(RelnFit *fit, const RelnTensors *file, const char *path)
{
    const char *then = reln_tensors_meta(file, "reln.fingerprint");
    const int version = then && strchr(then, ':') ? (int)strtol(then, NULL, 10) : 1;
    char text[FINGERPRINT];
    uint64_t value = fit->fingerprint;

    if (version != RELN_FINGERPRINT)
        RELN_TRY(fingerprint(fit, version, &value));
    fingerprint_text(value, version, text);
    if (!then || strcmp(then, text) != 0)
        return reln_fail(fit->ctx, RELN_ERR_FORMAT,
                         "%s: the arrays are not those that the run in %s began with", path,
                         fit->folder);
    return RELN_OK;
}

/* Checks that a run is resumed with the kernels that it began with, because other kernels give other bits.
 * Older checkpoints do not name their kernels. */
static RelnStatus same_kernels(RelnFit *fit, const RelnTensors *file)
{
    const char *then = reln_tensors_meta(file, "reln.kernels");
    const bool reference =
        then ? strcmp(then, reln_kernels_text(true)) == 0 : fit->options.reference;

    if (then && strcmp(then, reln_kernels_text(reference)) != 0)
        return reln_fail(
            fit->ctx, RELN_ERR_UNSUPPORTED,
            "the run in %s began with the %.20s kernels, which this machine does not have",
            fit->folder, then);
    if (fit->options.reference && !reference)
        return reln_fail(fit->ctx, RELN_ERR_UNSUPPORTED,
                         "the run in %s began with the %.20s kernels; wanted to go on with the %s",
                         fit->folder, then, reln_kernels_text(true));
    reln_model_use_reference(fit->model, reference);
    return RELN_OK;
}

/* Opens the model and the data that a checkpoint names. */
static RelnStatus open_again(RelnFit *fit, const RelnTensors *file, const char *path)
{
    const char *data = reln_tensors_meta(file, "reln.data");
    const char *validation = reln_tensors_meta(file, "reln.validation");

    RELN_TRY(reln_model_from_meta(fit->ctx, file, path, "checkpoint", RELN_DEFAULT, &fit->model));
    if (!data)
        return reln_fail(fit->ctx, RELN_ERR_FORMAT, "%s: no checkpoint of ours", path);
    RELN_TRY(same_kernels(fit, file));
    fit->spec = *reln_model_spec(fit->model);
    return open_files(fit, data, validation ? validation : "");
}

static RelnStatus restore(RelnFit *fit, const RelnTensors *file, const char *path)
{
    RELN_TRY(together(fit, open_again(fit, file, path)));
    RELN_TRY(compare_inputs(fit));
    RELN_TRY(share_archives(fit));
    RELN_TRY(take_fingerprint(fit));
    RELN_TRY(same_data(fit, file, fit->data_path));
    RELN_TRY(prepare(fit, false));
    return reln_checkpoint_restore(file, fit->trainer);
}

static RelnStatus enter_run(RelnFit *fit)
{
    if (!reln_folder_exists(fit->folder))
        return reln_fail(fit->ctx, RELN_ERR_IO,
                         "%s: no such folder; wanted that of a run to resume", fit->folder);
    if (!reln_fit_holds_run(fit->folder))
        return reln_fail(fit->ctx, RELN_ERR_ARG,
                         "%s: no checkpoint in this folder; wanted that of a run to resume",
                         fit->folder);
    return is_first(fit) ? enter_folder(fit) : RELN_OK;
}

static RelnStatus read_checkpoint(RelnFit *fit)
{
    char *path = reln_fit_path(fit, "checkpoint.safetensors");
    RelnTensors *file = NULL;
    bool previous = false;
    RelnStatus status;

    if (!path)
        return RELN_ERR_NOMEM;
    status = reln_checkpoint_load(fit->ctx, path, &file, &previous);
    if (status == RELN_OK && previous)
        fit->note = reln_arena_printf(&fit->arena, "%s; the checkpoint before it is taken",
                                      reln_ctx_error(fit->ctx));
    if (status == RELN_OK)
        status = fit->note ? restore(fit, file, path) : RELN_ERR_NOMEM;
    reln_tensors_destroy(file);
    return status;
}

static RelnStatus resume(RelnFit *fit)
{
    RELN_TRY(together(fit, enter_run(fit)));
    RELN_TRY(together(fit, read_checkpoint(fit)));
    RELN_TRY(compare(fit));
    return together(fit, is_first(fit) ? reln_fit_live_begin(fit) : RELN_OK);
}

RelnStatus reln_fit_resume(RelnCtx *ctx, const RelnFitOptions *options, RelnFit **out)
{
    RELN_NEED(ctx && options && options->folder && out, reln_null(ctx, __func__));

    RelnFit *fit = NULL;
    RelnStatus status = RELN_OK;

    *out = NULL;
    status = create(ctx, options, &fit);
    if (status == RELN_OK)
        status = resume(fit);
    if (status != RELN_OK) {
        reln_fit_close(fit);
        return status;
    }
    *out = fit;
    return RELN_OK;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Writes the outputs of a run that ended by itself. If the caller stops it meanwhile, resuming the run comes
 * here again. */
static RelnStatus finish(RelnFit *fit)
{
    RelnStatus status = together(fit, is_first(fit) ? reln_fit_write_outputs(fit) : RELN_OK);

    if (status == RELN_ERR_STOPPED) {
        fit->end = RELN_TRAIN_ASKED;
        status = RELN_OK;
    }
    return status;
}

static double wait_seconds(const RelnFit *fit)
{
    return reln_data_waited(fit->data) + reln_data_waited(fit->plain) +
           reln_data_waited(fit->other);
}

static double share_of_time(const RelnFit *fit, double seconds)
{
    const double all = reln_wall_seconds() - fit->began;

    return fit->began > 0 && all > 0 ? seconds / all : 0;
}

/* Returns the share of the time that this process waited for data. */
static double waited(const RelnFit *fit)
{
    if (fit->has_ranks) /* data that are read after training do not count */
        return fit->ranks[reln_comm_rank(fit->comm)].waited;
    return share_of_time(fit, wait_seconds(fit) - fit->waited_before);
}

/* Collects the statistics of all processes on each of them, right after an agreement. */
static RelnStatus gather_ranks(RelnFit *fit)
{
    const int size = reln_comm_size(fit->comm);
    RelnFitRank *own = &fit->ranks[reln_comm_rank(fit->comm)];

    own->shards = reln_plan_shards_run(fit->plan);
    if (fit->has_reader)
        own->shards += reln_plan_shards_run(fit->reader.plan);
    own->bytes_read = reln_data_read_bytes(fit->data) + reln_data_read_bytes(fit->plain) +
                      reln_data_read_bytes(fit->other);
    own->waited = waited(fit);
    own->bytes_sent = fit->meter.bytes;
    own->messages = fit->meter.messages;
    own->exchanged = share_of_time(fit, fit->meter.seconds - fit->exchanged_before);
    own->peak_bytes = reln_peak_bytes();
    for (int r = 0; r <= size; r++)
        fit->rank_begin[r] = (size_t)r * sizeof *fit->ranks;
    fit->has_ranks = true;
    return reln_comm_gather(fit->comm, fit->ctx, fit->ranks, fit->rank_begin);
}

RelnStatus reln_fit_run(RelnFit *fit, RelnTrainEnd *end)
{
    RelnStatus status;

    RELN_NEED(fit && end, RELN_ERR_ARG);
    fit->live.status = RELN_OK;
    fit->began = reln_wall_seconds();
    fit->has_ranks = false;
    fit->waited_before = wait_seconds(fit);
    fit->exchanged_before = fit->meter.seconds;
    status = reln_trainer_run(fit->trainer, UINT64_MAX, &fit->end);
    reln_data_settle(fit->data);
    if (fit->live.status != RELN_OK) /* a failed write of the live files stopped the run */
        status = fit->live.status;
    RELN_TRY(together(fit, status));
    RELN_TRY(gather_ranks(fit));
    fit->peak_bytes = reln_peak_bytes();
    /* all scores were NaN: the weights are the starting weights */
    if (fit->end != RELN_TRAIN_ASKED && !reln_fit_result(fit).best)
        fit->end = RELN_TRAIN_DIVERGED;
    RELN_TRY(together(fit, is_first(fit) ? reln_fit_live(fit, true) : RELN_OK));
    if (reln_fit_result(fit).best && fit->end != RELN_TRAIN_ASKED)
        RELN_TRY(finish(fit));
    *end = fit->end;
    return RELN_OK;
}

RelnFitResult reln_fit_result(const RelnFit *fit)
{
    RELN_NEED(fit, (RelnFitResult){0});

    RelnFitResult r = {.end = fit->end,
                       .step = reln_trainer_step(fit->trainer),
                       .n_steps = fit->n_steps,
                       .steps_per_epoch = fit->steps_per_epoch,
                       .n_train = fit->n_train,
                       .n_validation = fit->n_validation,
                       .parameters = reln_model_parameters(fit->model),
                       .planned_bytes = fit->planned_bytes,
                       .peak_bytes = fit->peak_bytes,
                       .note = fit->note,
                       .streamed = !reln_data_resident(fit->data),
                       .waited = waited(fit),
                       .n_ranks = fit->has_ranks ? reln_comm_size(fit->comm) : 0,
                       .ranks = fit->ranks};

    memcpy(r.warning, fit->warning, sizeof r.warning);
    r.n_rows = reln_trainer_rows(fit->trainer, &r.rows);
    for (int i = r.n_rows - 1; i >= 0 && !r.best; i--)
        if (r.rows[i].best)
            r.best = &r.rows[i];
    if (r.n_rows > 0)
        r.seconds = r.rows[r.n_rows - 1].seconds;
    return r;
}

RelnModel *reln_fit_model(const RelnFit *fit)
{
    RELN_NEED(fit, NULL);

    return fit->model;
}
