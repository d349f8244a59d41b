/* trainer.c -- the training loop: steps, evaluations, the best weights, and the state as arrays from which a run resumes.
 *
 * The rest of a run depends on the store, the counters, the sums and the record; everything else is computed
 * from the number of the step. Nothing is allocated after reln_trainer_create(), except for the record in a restore. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "kit/clock.h"
#include "kit/comm.h"
#include "train/train.h"

/* Counters and sums are saved as two arrays. These enums give each its position, and so define the file
 * format. */
enum { SEED, STEP, SINCE_BEST, SINCE_CUT, CUTS, SINCE_ROW, DIVERGED, N_COUNTERS };
enum { LOSS_SUM, LAST_LOSS, LAST_RATE, LAST_NORM, BEST_SCORE, SECONDS, N_SUMS };
/* Positions of the numbers of a row of the record. */
enum {
    ROW_STEP,
    ROW_LOSS,
    ROW_RATE,
    ROW_NORM,
    ROW_SECONDS,
    ROW_SCORE,
    ROW_BEST,
    ROW_N_METRICS,
    ROW_METRICS,
    ROW_WIDTH = ROW_METRICS + RELN_TRAIN_METRICS
};

/* A Record holds the rows twice, as structs for the user and as numbers for files, so that no conversion is
 * needed. */
typedef struct Record {
    RelnTrainRow *rows;
    double *numbers; /* (capacity, ROW_WIDTH) */
    int count, capacity;
} Record;

/* A Part is an entry of the store, its copy of the best evaluation (NULL for a moment, which has none), and
 * its average over steps (NULL for a moment, or for a job without averages). */
typedef struct Part {
    RelnEntryInfo entry;
    size_t n_bytes;
    void *best, *average;
} Part;

struct RelnTrainer {
    RelnCtx *ctx;
    RelnTrainJob job;
    RelnArena arena; /* parts, names, list of the state */
    double rate;     /* bound to the plan's input */
    int64_t counters[N_COUNTERS];
    double sums[N_SUMS];
    Record record;
    int n_parts;
    Part *parts;
    RelnArray *state; /* entries, best copies, counters, sums, and last the record */
    int n_state;
    RelnStatus pending; /* with several ranks: the status of this rank, which it reports at the next
                         * agreement */
    double clock;       /* time at which `seconds` was last updated */
    double observed,
        saved; /* times at which the watch last observed and last saved, on the same clock */
};

static uint64_t step_of(const RelnTrainer *t)
{
    return (uint64_t)t->counters[STEP];
}

/* ---- the record ------------------------------------------------------------------------------------------------- */

static void record_clear(RelnCtx *ctx, Record *record)
{
    reln_free(ctx, record->rows);
    reln_free(ctx, record->numbers);
    *record = (Record){0};
}

/* The memory is not zeroed, so that the pages of future rows are not touched yet. */
static RelnStatus record_init(RelnCtx *ctx, uint64_t capacity, Record *out)
{
    *out = (Record){0};
    if (capacity > INT_MAX)
        return reln_fail(ctx, RELN_ERR_ARG, "train: %llu evaluations, wanted at most %d",
                         (unsigned long long)capacity, INT_MAX);
    out->rows = reln_alloc_raw(ctx, (size_t)capacity, sizeof *out->rows);
    out->numbers = reln_alloc_raw(ctx, (size_t)capacity * ROW_WIDTH, sizeof *out->numbers);
    out->capacity = (int)capacity;
    if (out->rows && out->numbers)
        return RELN_OK;
    record_clear(ctx, out);
    return RELN_ERR_NOMEM;
}

static void row_write(const RelnTrainRow *row, double *numbers)
{
    memset(numbers, 0, ROW_WIDTH * sizeof *numbers);
    numbers[ROW_STEP] = (double)row->step;
    numbers[ROW_LOSS] = row->loss;
    numbers[ROW_RATE] = row->rate;
    numbers[ROW_NORM] = row->gradient_norm;
    numbers[ROW_SECONDS] = row->seconds;
    numbers[ROW_SCORE] = row->evaluation.score;
    numbers[ROW_BEST] = row->best;
    numbers[ROW_N_METRICS] = row->evaluation.n_metrics;
    memcpy(numbers + ROW_METRICS, row->evaluation.metrics,
           (size_t)row->evaluation.n_metrics * sizeof *numbers);
}

static void row_read(const double *numbers, RelnTrainRow *row)
{
    *row = (RelnTrainRow){
        .step = (uint64_t)numbers[ROW_STEP],
        .loss = numbers[ROW_LOSS],
        .rate = numbers[ROW_RATE],
        .gradient_norm = numbers[ROW_NORM],
        .seconds = numbers[ROW_SECONDS],
        .evaluation = {.score = numbers[ROW_SCORE], .n_metrics = (int)numbers[ROW_N_METRICS]},
        .best = numbers[ROW_BEST] != 0.0,
    };
    memcpy(row->evaluation.metrics, numbers + ROW_METRICS, sizeof row->evaluation.metrics);
}

static void record_add(Record *record, const RelnTrainRow *row)
{
    record->rows[record->count] = *row;
    row_write(row, record->numbers + (ptrdiff_t)record->count * ROW_WIDTH);
    record->count++;
}

static const RelnTrainRow *last_row(const RelnTrainer *t)
{
    return t->record.count ? &t->record.rows[t->record.count - 1] : NULL;
}

/* Returns the number of evaluations in n more steps: the multiples, which may begin at once, and the end. */
static uint64_t rows_for(const RelnTrainJob *job, uint64_t n)
{
    return job->evaluate_every ? n / job->evaluate_every + 2 : 2;
}

/* ---- the best weights ------------------------------------------------------------------------------------------- */

static void keep_best(RelnTrainer *t)
{
    for (int i = 0; i < t->n_parts; i++)
        if (t->parts[i].best)
            memcpy(t->parts[i].best, t->parts[i].entry.values, t->parts[i].n_bytes);
}

static void recall_best(RelnTrainer *t)
{
    for (int i = 0; i < t->n_parts; i++)
        if (t->parts[i].best)
            memcpy(t->parts[i].entry.values, t->parts[i].best, t->parts[i].n_bytes);
}

/* ---- averages --------------------------------------------------------------------------------------------------- */

/* Returns the share that an average keeps in a step: less than job.average in the first steps, whose weights
 * are far from the later ones. */
static double kept_share(const RelnTrainer *t)
{
    const double step = (double)step_of(t);

    return fmin(t->job.average, step / (step + 10));
}

static void average_part(const Part *part, double share)
{
    const float *x = part->entry.values;
    const double *wide = part->entry.values;
    float *a = part->average;
    double *wide_a = part->average;

    for (size_t i = 0; i < part->entry.count; i++)
        if (part->entry.dtype == RELN_F64)
            wide_a[i] += (1 - share) * (wide[i] - wide_a[i]);
        else
            a[i] += (float)((1 - share) * ((double)x[i] - (double)a[i]));
}

static void begin_averages(RelnTrainer *t)
{
    for (int i = 0; i < t->n_parts; i++)
        if (t->parts[i].average)
            memcpy(t->parts[i].average, t->parts[i].entry.values, t->parts[i].n_bytes);
}

static void average(RelnTrainer *t)
{
    for (int i = 0; i < t->n_parts; i++)
        if (t->parts[i].average)
            average_part(&t->parts[i], kept_share(t));
}

/* Exchanges weights and states with their averages. */
static void exchange_averages(RelnTrainer *t)
{
    for (int i = 0; i < t->n_parts; i++) {
        unsigned char *x = t->parts[i].entry.values, *a = t->parts[i].average;

        for (size_t k = 0; a && k < t->parts[i].n_bytes; k++) {
            const unsigned char byte = x[k];

            x[k] = a[k];
            a[k] = byte;
        }
    }
}

static void clear_moments(RelnTrainer *t)
{
    for (int i = 0; i < t->n_parts; i++)
        if (!t->parts[i].best)
            memset(t->parts[i].entry.values, 0, t->parts[i].n_bytes);
}

/* ---- the state -------------------------------------------------------------------------------------------------- */

static size_t width_of(RelnDtype dtype)
{
    return dtype == RELN_F64 || dtype == RELN_I64 ? 8 : 4;
}

static RelnArray named_list(const char *name, RelnDtype dtype, ptrdiff_t count, void *values)
{
    return (RelnArray)RELN_ARRAY(name, dtype, values, count);
}

/* Adds a copy of the entry to the state, as "<folder>/<name of the entry>". */
static RelnStatus add_copy(RelnTrainer *t, const Part *part, const char *folder, void **copy)
{
    const RelnEntryInfo *entry = &part->entry;
    const char *name = reln_arena_printf(&t->arena, "%s/%s", folder, entry->name);

    *copy = reln_arena_alloc(&t->arena, entry->count, width_of(entry->dtype));
    if (!name || !*copy)
        return RELN_ERR_NOMEM;
    memcpy(*copy, entry->values, part->n_bytes);
    t->state[t->n_state] = reln_entry_array(entry);
    t->state[t->n_state].name = name;
    t->state[t->n_state++].values = *copy;
    return RELN_OK;
}

static RelnStatus add_part(RelnTrainer *t, Part *part, const RelnEntryInfo *entry)
{
    static const char *const own[] = {"best/", "average/", "trainer/"};

    *part = (Part){.entry = *entry, .n_bytes = entry->count * width_of(entry->dtype)};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strncmp(entry->name, own[i], strlen(own[i])) == 0)
            return reln_fail(t->ctx, RELN_ERR_ARG,
                             "train: %s: names in best/, average/ and trainer/ are the trainer's",
                             entry->name);
    t->state[t->n_state++] = reln_entry_array(entry);
    if (entry->kind == RELN_ENTRY_MOMENT)
        return RELN_OK;
    RELN_TRY(add_copy(t, part, "best", &part->best));
    return t->job.average > 0 ? add_copy(t, part, "average", &part->average) : RELN_OK;
}

static RelnStatus add_parts(RelnTrainer *t)
{
    const int n = reln_store_count(t->job.store);

    t->parts = reln_arena_alloc(&t->arena, (size_t)n, sizeof *t->parts);
    t->state = reln_arena_alloc(&t->arena, 3 * (size_t)n + 3, sizeof *t->state);
    if (!t->parts || !t->state)
        return RELN_ERR_NOMEM;
    for (; t->n_parts < n; t->n_parts++) {
        const RelnEntryInfo entry = reln_store_entry(t->job.store, t->n_parts);

        RELN_TRY(add_part(t, &t->parts[t->n_parts], &entry));
    }
    t->state[t->n_state++] = named_list("trainer/counters", RELN_I64, N_COUNTERS, t->counters);
    t->state[t->n_state++] = named_list("trainer/sums", RELN_F64, N_SUMS, t->sums);
    return RELN_OK;
}

/* An empty record is left out, because not every file format allows arrays without elements. */
RelnStatus reln_trainer_state(RelnTrainer *trainer, int *n, const RelnArray **arrays)
{
    RELN_NEED(trainer, RELN_ERR_ARG);
    RELN_NEED(n && arrays, reln_null(trainer->ctx, __func__));

    const Record *record = &trainer->record;

    trainer->state[trainer->n_state] =
        (RelnArray)RELN_ARRAY("trainer/rows", RELN_F64, record->numbers, record->count, ROW_WIDTH);
    *n = trainer->n_state + (record->count > 0);
    *arrays = trainer->state;
    return RELN_OK;
}

/* ---- restoring -------------------------------------------------------------------------------------------------- */

static const RelnArray *find(int n, const RelnArray *arrays, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(arrays[i].name, name) == 0)
            return &arrays[i];
    return NULL;
}

static RelnStatus check_array(RelnCtx *ctx, const RelnArray *want, const RelnArray *have)
{
    bool fits = have && have->dtype == want->dtype && have->rank == want->rank && have->values;

    if (!have)
        return reln_fail(ctx, RELN_ERR_FORMAT, "restore: there is no array %s", want->name);
    for (int i = 0; i < want->rank && fits; i++)
        fits = have->dims[i] == want->dims[i];
    return fits ? RELN_OK
                : reln_fail(ctx, RELN_ERR_SHAPE,
                            "restore: %s has another dtype or other extents than this run's (rank "
                            "%d, first extent %td; wanted %d, %td)",
                            want->name, have->rank, have->rank > 0 ? have->dims[0] : 1, want->rank,
                            want->dims[0]);
}

static bool is_count(double x, double most)
{
    return x >= 0.0 && x <= most && x == floor(x);
}

static RelnStatus check_rows(RelnCtx *ctx, const RelnArray *rows, uint64_t step)
{
    const ptrdiff_t count = rows ? rows->dims[0] : 0;

    if (rows && (rows->dtype != RELN_F64 || rows->rank != 2 || rows->dims[1] != ROW_WIDTH ||
                 count < 0 || count > INT_MAX / 2 || (count > 0 && !rows->values)))
        return reln_fail(ctx, RELN_ERR_SHAPE, "restore: %s is not a record of %d columns",
                         rows->name, ROW_WIDTH);
    for (ptrdiff_t i = 0; i < count; i++) {
        const double *row = (const double *)rows->values + i * ROW_WIDTH;

        if (!is_count(row[ROW_STEP], (double)step) ||
            !is_count(row[ROW_N_METRICS], RELN_TRAIN_METRICS))
            return reln_fail(ctx, RELN_ERR_FORMAT,
                             "restore: row %td of the record is at step %g of %llu and has %g "
                             "metrics of %d",
                             i, row[ROW_STEP], (unsigned long long)step, row[ROW_N_METRICS],
                             RELN_TRAIN_METRICS);
    }
    return RELN_OK;
}

static RelnStatus check_counters(const RelnTrainer *t, const int64_t *counters)
{
    if (counters[SEED] != t->counters[SEED])
        return reln_fail(t->ctx, RELN_ERR_ARG, "restore: a run of seed %llu, this one has %llu",
                         (unsigned long long)counters[SEED], (unsigned long long)t->job.seed);
    for (int i = STEP; i < N_COUNTERS; i++)
        if (counters[i] < 0 || (i != STEP && i != SINCE_ROW && counters[i] > INT_MAX))
            return reln_fail(t->ctx, RELN_ERR_FORMAT, "restore: counter %d is %lld", i,
                             (long long)counters[i]);
    if ((uint64_t)counters[STEP] > t->job.n_steps)
        return reln_fail(t->ctx, RELN_ERR_ARG, "restore: %lld steps are done, this run has %llu",
                         (long long)counters[STEP], (unsigned long long)t->job.n_steps);
    return RELN_OK;
}

/* Makes a record with room for the rest of the run. The old record is not changed. */
static RelnStatus read_record(const RelnTrainer *t, const RelnArray *rows, uint64_t step,
                              Record *out)
{
    const ptrdiff_t count = rows ? rows->dims[0] : 0;

    RELN_TRY(record_init(t->ctx, (uint64_t)count + rows_for(&t->job, t->job.n_steps - step), out));
    for (ptrdiff_t i = 0; i < count; i++) {
        RelnTrainRow row;

        row_read((const double *)rows->values + i * ROW_WIDTH, &row);
        record_add(out, &row);
    }
    return RELN_OK;
}

/* The given arrays may be the trainer's own, as reln_trainer_state() returned them. */
static void copy_arrays(RelnTrainer *t, int n, const RelnArray *arrays)
{
    for (int i = 0; i < t->n_state; i++) {
        const RelnArray *to = &t->state[i], *from = find(n, arrays, to->name);
        size_t bytes = width_of(to->dtype);

        for (int a = 0; a < to->rank; a++)
            bytes *= (size_t)to->dims[a];
        if (from->values != to->values)
            memcpy(to->values, from->values, bytes);
    }
}

RelnStatus reln_trainer_restore(RelnTrainer *trainer, int n, const RelnArray *arrays)
{
    RELN_NEED(trainer, RELN_ERR_ARG);
    RELN_NEED(arrays || n <= 0, reln_null(trainer->ctx, __func__));

    RelnTrainer *t = trainer;
    const RelnArray *rows = find(n, arrays, "trainer/rows");
    const int64_t *counters;
    Record record;

    for (int i = 0; i < t->n_state; i++)
        RELN_TRY(check_array(t->ctx, &t->state[i], find(n, arrays, t->state[i].name)));
    counters = find(n, arrays, "trainer/counters")->values;
    RELN_TRY(check_counters(t, counters));
    RELN_TRY(check_rows(t->ctx, rows, (uint64_t)counters[STEP]));
    RELN_TRY(read_record(t, rows, (uint64_t)counters[STEP], &record));
    copy_arrays(t, n, arrays);
    record_clear(t->ctx, &t->record);
    t->record = record;
    return RELN_OK;
}

/* ---- creating a trainer ----------------------------------------------------------------------------------------- */

static RelnStatus check_job(RelnCtx *ctx, const RelnTrainJob *job)
{
    if (!job->plan || !job->store || !job->load)
        return reln_fail(ctx, RELN_ERR_ARG, "train: the job has no plan, store or load()");
    if (job->n_steps < 1 || job->n_steps > (uint64_t)1 << 53)
        return reln_fail(ctx, RELN_ERR_ARG, "train: %llu steps, wanted 1 to 2^53",
                         (unsigned long long)job->n_steps);
    if (job->patience < 0 || job->n_metrics < 0 || job->n_metrics > RELN_TRAIN_METRICS)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "train: patience %d and %d metrics, wanted 0 or more and 0 to %d",
                         job->patience, job->n_metrics, RELN_TRAIN_METRICS);
    if (!(job->average >= 0 && job->average < 1))
        return reln_fail(ctx, RELN_ERR_ARG, "train: average is %g; wanted 0 to below 1",
                         job->average);
    RELN_TRY(reln_schedule_check(ctx, &job->schedule, job->n_steps));
    for (int i = 0; i < job->schedule.n_pieces && !job->evaluate_every; i++)
        if (job->schedule.piece[i].kind == RELN_SCHEDULE_PLATEAU)
            return reln_fail(ctx, RELN_ERR_ARG,
                             "train: a plateau cannot be seen without evaluations on the way");
    if (!reln_plan_output(job->plan, "loss", NULL) ||
        !reln_plan_output(job->plan, "gradient_norm", NULL))
        return reln_fail(ctx, RELN_ERR_ARG,
                         "train: the plan delivers no loss and gradient_norm; its graph was not "
                         "finished with reln_train_step()");
    return RELN_OK;
}

static RelnStatus init(RelnTrainer *t)
{
    t->counters[SEED] = (int64_t)t->job.seed;
    t->sums[BEST_SCORE] = HUGE_VAL;
    t->saved = reln_wall_seconds();
    RELN_TRY(add_parts(t));
    RELN_TRY(record_init(t->ctx, rows_for(&t->job, t->job.n_steps), &t->record));
    return reln_plan_bind_sized(t->job.plan, "rate", &t->rate, RELN_F64, 1);
}

RelnStatus reln_trainer_create(RelnCtx *ctx, const RelnTrainJob *job, RelnTrainer **out)
{
    RELN_NEED(ctx && job && out, reln_null(ctx, __func__));

    RelnTrainer *t;
    RelnStatus status;

    *out = NULL;
    RELN_TRY(check_job(ctx, job));
    t = reln_alloc(ctx, 1, sizeof *t);
    if (!t)
        return RELN_ERR_NOMEM;
    t->ctx = ctx;
    t->job = *job;
    reln_arena_init(&t->arena, ctx);
    status = init(t);
    if (status == RELN_OK)
        *out = t;
    else
        reln_trainer_destroy(t);
    return status;
}

void reln_trainer_destroy(RelnTrainer *trainer)
{
    if (!trainer)
        return;
    record_clear(trainer->ctx, &trainer->record);
    reln_arena_clear(&trainer->arena);
    reln_free(trainer->ctx, trainer);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

/* Returns the status on which all ranks of the plan agree; with one process, its own. */
static RelnStatus agree(const RelnTrainer *t, RelnStatus status)
{
    return reln_comm_agree(reln_plan_comm(t->job.plan), t->ctx, status);
}

/* Returns whether this is rank 0, which shows and saves a run. */
static bool is_first(const RelnTrainer *t)
{
    return reln_comm_rank(reln_plan_comm(t->job.plan)) == 0;
}

/* ---- evaluations ------------------------------------------------------------------------------------------------ */

/* An evaluation is due at every multiple of evaluate_every and at the end. It is still due when the previous call failed
 * before it was done. */
static bool evaluation_due(const RelnTrainer *t)
{
    const uint64_t step = step_of(t), every = t->job.evaluate_every;
    const RelnTrainRow *row = last_row(t);

    if (step == 0 || (row && row->step == step) || t->counters[DIVERGED])
        return false;
    return step == t->job.n_steps || (every && step % every == 0);
}

static double mean_loss(const RelnTrainer *t)
{
    return t->counters[SINCE_ROW] ? t->sums[LOSS_SUM] / (double)t->counters[SINCE_ROW] : 0.0;
}

static RelnStatus judge(RelnTrainer *t, RelnEvaluation *out)
{
    *out = (RelnEvaluation){.score = mean_loss(t)};
    if (!t->job.evaluate)
        return RELN_OK;
    out->n_metrics = t->job.n_metrics;
    RELN_TRY(agree(t, t->job.evaluate(t->job.self, step_of(t), out)));
    return out->n_metrics >= 0 && out->n_metrics <= RELN_TRAIN_METRICS
               ? RELN_OK
               : reln_fail(t->ctx, RELN_ERR_ARG,
                           "train: the evaluation has %d metrics, wanted 0 to %d", out->n_metrics,
                           RELN_TRAIN_METRICS);
}

/* Counts an evaluation without a better score against the patience of the job and, within a plateau piece,
 * against that of the plateau. */
static void lose_patience(RelnTrainer *t)
{
    const RelnSchedule *s = &t->job.schedule;
    const int piece = reln_schedule_find(s, step_of(t) - 1, t->job.n_steps).piece;

    t->counters[SINCE_BEST]++;
    if (piece < 0 || s->piece[piece].kind != RELN_SCHEDULE_PLATEAU)
        return;
    if (++t->counters[SINCE_CUT] < s->piece[piece].patience)
        return;
    t->counters[SINCE_CUT] = 0;
    t->counters[CUTS]++;
}

static void gain(RelnTrainer *t, double score)
{
    t->sums[BEST_SCORE] = score;
    t->counters[SINCE_BEST] = t->counters[SINCE_CUT] = 0;
    keep_best(t);
}

/* Adds the time since the last call to `seconds`. */
static void tick(RelnTrainer *t, bool start)
{
    const double seconds = reln_wall_seconds();

    if (!start)
        t->sums[SECONDS] += seconds - t->clock;
    t->clock = seconds;
}

/* Evaluates the averages, if the job has them, and keeps them if they are the best. */
static RelnStatus judge_averages(RelnTrainer *t, RelnTrainRow *row)
{
    RelnStatus status;

    exchange_averages(t);
    status = judge(t, &row->evaluation);
    row->best = status == RELN_OK && row->evaluation.score < t->sums[BEST_SCORE];
    if (row->best)
        gain(t, row->evaluation.score);
    exchange_averages(t);
    return status;
}

static RelnStatus evaluate(RelnTrainer *t)
{
    RelnTrainRow row = {.step = step_of(t),
                        .loss = mean_loss(t),
                        .rate = t->sums[LAST_RATE],
                        .gradient_norm = t->sums[LAST_NORM]};

    RELN_TRY(judge_averages(t, &row));
    if (!row.best)
        lose_patience(t);
    tick(t, false);
    row.seconds = t->sums[SECONDS];
    record_add(&t->record, &row);
    t->sums[LOSS_SUM] = 0.0;
    t->counters[SINCE_ROW] = 0;
    return RELN_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static double output(const RelnTrainer *t, const char *name)
{
    return *(const double *)reln_plan_output(t->job.plan, name, NULL);
}

/* The optimiser has already used the gradient that is not finite: restore the weights of the best evaluation. */
static void diverge(RelnTrainer *t)
{
    t->counters[DIVERGED] = 1;
    recall_best(t);
    clear_moments(t);
}

/* Loads the batch, unless this rank has failed since the last step. */
static RelnStatus load(RelnTrainer *t, uint64_t step, ptrdiff_t *n_samples)
{
    RelnStatus status = t->pending;

    t->pending = RELN_OK;
    if (status == RELN_OK)
        status = t->job.load(t->job.self, step, n_samples);
    return agree(t, status);
}

/* Returns whether the status means that training diverged: an op that had values before has none for the new
 * weights, such as the exponential of a matrix that is too large. If it fails in the first step, the data are
 * wrong, and the message names the sample. */
static bool has_no_value(RelnTrainer *t, RelnStatus status, bool had_before)
{
    if (status != RELN_ERR_NUMERIC || !had_before)
        return false;
    reln_ctx_clear(t->ctx);
    return true;
}

static RelnStatus train(RelnTrainer *t)
{
    const uint64_t step = step_of(t);
    RelnRun run = {
        .seed = t->job.seed, .step = step, .asked = t->job.watch.asked, .self = t->job.watch.self};
    RelnStatus status;
    bool overflown;

    if (step == 0) { /* weights may have been loaded after the trainer was made */
        keep_best(t);
        begin_averages(t);
    }
    t->rate = reln_schedule_rate(&t->job.schedule, step, t->job.n_steps, (int)t->counters[CUTS]);
    RELN_TRY(load(t, step, &run.n_samples));
    status = reln_plan_run(t->job.plan, &run);
    overflown = has_no_value(t, status, step > 0);
    if (status != RELN_OK && !overflown)
        return status;
    t->sums[LAST_LOSS] = overflown ? (double)NAN : output(t, "loss");
    t->sums[LAST_NORM] = overflown ? (double)NAN : output(t, "gradient_norm");
    t->sums[LAST_RATE] = t->rate;
    t->sums[LOSS_SUM] += t->sums[LAST_LOSS];
    t->counters[SINCE_ROW]++;
    t->counters[STEP]++;
    if (!isfinite(t->sums[LAST_LOSS]) || !isfinite(t->sums[LAST_NORM]))
        diverge(t);
    else
        average(t);
    return RELN_OK;
}

/* Reports the progress to the watch, if it is time to. Returns false if the watch wants to stop. */
static bool observe(RelnTrainer *t, bool evaluated, bool last)
{
    const RelnTrainWatch *w = &t->job.watch;
    const RelnTrainProgress progress = {.step = step_of(t),
                                        .n_steps = t->job.n_steps,
                                        .loss = t->sums[LAST_LOSS],
                                        .rate = t->sums[LAST_RATE],
                                        .seconds = t->sums[SECONDS],
                                        .row = last_row(t),
                                        .evaluated = evaluated};

    if (!w->observe || !is_first(t) ||
        !(evaluated || last || t->clock - t->observed >= w->observe_seconds))
        return true;
    t->observed = t->clock;
    return w->observe(w->self, &progress);
}

/* Lets the watch save the state, if it is time to or if the run ends. */
static RelnStatus save(RelnTrainer *t, bool last)
{
    const RelnTrainWatch *w = &t->job.watch;
    const bool due = w->save_seconds > 0 && t->clock - t->saved >= w->save_seconds;

    if (!w->save || !is_first(t) || !(due || last))
        return RELN_OK;
    RELN_TRY(w->save(w->self, t));
    t->saved = reln_wall_seconds();
    return RELN_OK;
}

/* Returns why there is no next step. The answer depends on the counters alone, so that a restored run gives
 * the same. */
static RelnTrainEnd ended(const RelnTrainer *t)
{
    if (t->counters[DIVERGED])
        return RELN_TRAIN_DIVERGED;
    if (step_of(t) >= t->job.n_steps)
        return RELN_TRAIN_DONE;
    if (t->job.patience && t->counters[SINCE_BEST] >= t->job.patience)
        return RELN_TRAIN_PATIENCE;
    return RELN_TRAIN_GOING;
}

/* Makes a step, and the evaluation that is due after it. */
static RelnStatus train_and_judge(RelnTrainer *t, bool *evaluated)
{
    RelnStatus status;

    RELN_TRY(train(t));
    *evaluated = evaluation_due(t);
    if (!*evaluated)
        return RELN_OK;
    status = evaluate(t);
    if (!has_no_value(t, status, t->record.count > 0))
        return status;
    *evaluated = false;
    diverge(t);
    return RELN_OK;
}

/* Makes a step, then reports progress, checks for a request to stop, and saves. */
static RelnStatus advance(RelnTrainer *t, RelnTrainEnd *end)
{
    const RelnTrainWatch *w = &t->job.watch;
    bool evaluated = false, go_on;

    RELN_TRY(train_and_judge(t, &evaluated));
    tick(t, false);
    *end = ended(t);
    go_on = observe(t, evaluated, *end != RELN_TRAIN_GOING);
    go_on = !(w->asked && w->asked(w->self)) && go_on;
    if (*end == RELN_TRAIN_GOING && reln_plan_comm(t->job.plan)) {
        t->pending = go_on ? save(t, false) : RELN_ERR_STOPPED; /* reported to the other ranks at the next
                                                                 * agreement */
        return RELN_OK;
    }
    if (*end == RELN_TRAIN_GOING && !go_on)
        *end = RELN_TRAIN_ASKED;
    return *end == RELN_TRAIN_GOING ? save(t, false) : RELN_OK;
}

/* Makes an evaluation that is still due, then up to n steps. */
static RelnStatus go(RelnTrainer *t, uint64_t n, RelnTrainEnd *end)
{
    if (evaluation_due(t))
        RELN_TRY(evaluate(t));
    *end = ended(t);
    for (uint64_t i = 0; i < n && *end == RELN_TRAIN_GOING; i++)
        RELN_TRY(advance(t, end));
    return RELN_OK;
}

RelnStatus reln_trainer_run(RelnTrainer *trainer, uint64_t n_steps, RelnTrainEnd *end)
{
    RELN_NEED(trainer, RELN_ERR_ARG);

    RelnTrainer *t = trainer;
    RelnTrainEnd why = RELN_TRAIN_GOING;
    RelnStatus status;

    if (end)
        *end = RELN_TRAIN_GOING;
    tick(t, true);
    RELN_TRY(reln_plan_bind_sized(t->job.plan, "rate", &t->rate, RELN_F64, 1));
    status = go(t, n_steps, &why);
    if (status != RELN_OK && status != RELN_ERR_STOPPED)
        return status;
    if (status == RELN_ERR_STOPPED)
        why = RELN_TRAIN_ASKED;
    if (why != RELN_TRAIN_GOING)
        RELN_TRY(agree(t, save(t, true)));
    if (end)
        *end = why;
    return RELN_OK;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

uint64_t reln_trainer_step(const RelnTrainer *trainer)
{
    RELN_NEED(trainer, 0);

    return step_of(trainer);
}

int reln_trainer_rows(const RelnTrainer *trainer, const RelnTrainRow **rows)
{
    RELN_NEED(trainer, 0);

    if (rows)
        *rows = trainer->record.rows;
    return trainer->record.count;
}

/* Before the first step the record is empty, and the store holds the starting weights. */
RelnStatus reln_trainer_take_best(RelnTrainer *trainer)
{
    RELN_NEED(trainer, RELN_ERR_ARG);

    if (step_of(trainer) > 0)
        recall_best(trainer);
    return RELN_OK;
}
