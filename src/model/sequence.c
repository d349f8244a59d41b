/* sequence.c -- recordings: checks their times, steps and bounds, and cuts them into windows, which become
 * samples. */
#include "model/sequence.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "io/windows.h"
#include "model/data.h"
#include "model/kinds.h"
#include "reln/random.h"

/* ---- the SPEC ------------------------------------------------------------------------------------------------------- */

static RelnSpecInput *find_input(RelnSpec *spec, const char *name)
{
    for (int i = 0; i < spec->n_inputs; i++)
        if (strcmp(spec->input[i].name, name) == 0)
            return &spec->input[i];
    return NULL;
}

/* Adds the times as one more input, so that networks know the lengths of steps. */
static RelnStatus add_time(const Reader *r, const RelnDocNode *node, RelnSpec *spec)
{
    RelnSpecInput *time = find_input(spec, spec->sequence.time);

    if (time && (time->as != RELN_AS_SCALAR || !time->sequence))
        return reln_keys_fail(r, node, "input %s has the times; wanted as: scalar, sequence: true",
                              time->name);
    if (time)
        return RELN_OK;
    if (spec->n_inputs == RELN_SPEC_INPUTS)
        return reln_keys_fail(r, node, "there are %d inputs; wanted %d at most beside the times",
                              spec->n_inputs, RELN_SPEC_INPUTS - 1);
    time = &spec->input[spec->n_inputs++];
    memset(time, 0, sizeof *time);
    memcpy(time->name, spec->sequence.time, sizeof time->name);
    time->as = RELN_AS_SCALAR;
    time->sequence = time->points = true;
    return RELN_OK;
}

static RelnStatus check_steps(const Reader *r, const RelnDocNode *node, RelnSpec *spec,
                              int *sequences)
{
    *sequences = 0;
    for (int i = 0; i < spec->n_inputs; i++) {
        RelnSpecInput *in = &spec->input[i];

        if (in->sequence && (in->mask[0] || in->offsets[0]))
            return reln_keys_fail(r, node, "input %s: a sequence takes no mask and no offsets",
                                  in->name);
        if (in->points && !in->sequence && *sequences)
            return reln_keys_fail(
                r, node,
                "input %s has points beside a sequence; wanted sequence: true for "
                "all of them",
                in->name);
        if (!in->sequence && in->n_value == 0 && spec->sequence.length)
            return reln_keys_fail(r, node,
                                  "input %s: windows are cut from recordings, (T, ...); wanted "
                                  "sequence: true for every input",
                                  in->name);
        in->points |= in->sequence;
        *sequences += in->sequence;
    }
    return RELN_OK;
}

static RelnStatus check_estimate(const Reader *r, const RelnDocNode *node, RelnSpec *spec)
{
    const RelnSpecInput *in = find_input(spec, spec->sequence.estimate);
    const RelnTargetAs as = spec->target[0].as;

    if (!in || !in->sequence)
        return reln_keys_fail(r, node,
                              "estimate is %s; wanted the name of an input with sequence: "
                              "true",
                              spec->sequence.estimate);
    if (!((in->as == RELN_AS_VECTOR && as == RELN_TARGET_VECTOR) ||
          (in->as == RELN_AS_SCALAR && as == RELN_TARGET_SCALAR)))
        return reln_keys_fail(r, node,
                              "estimate %s is a %s and the target a %s; wanted two vectors or two "
                              "scalars",
                              in->name, reln_as_text(in->as), reln_target_text(as));
    return RELN_OK;
}

RelnStatus reln_sequence_complete(const Reader *r, const RelnDocNode *root, RelnSpec *spec)
{
    const RelnSpecSequence *s = &spec->sequence;
    const RelnDocNode *given = reln_doc_get(root, "sequence"), *node = given ? given : root;
    const bool along =
        spec->model.kind == RELN_MODEL_SEQUENCE || spec->model.kind == RELN_MODEL_RESNET;
    int sequences = 0;

    RELN_TRY(check_steps(r, node, spec, &sequences));
    if (sequences == 0 && (along || s->length || s->time[0] || s->estimate[0]))
        return reln_keys_fail(
            r, node,
            "there is no sequence among the inputs; wanted {name: ARRAY, as: ..., "
            "sequence: true}");
    if (spec->n_targets > 1 && (along || s->length || s->estimate[0]))
        return reln_keys_fail(r, node,
                              "there are %d targets; windows and networks along time have one",
                              spec->n_targets);
    if (s->jitter && !s->length)
        return reln_keys_fail(r, node,
                              "jitter is for windows of recordings; wanted length beside it");
    if (s->recording[0] && !s->length)
        return reln_keys_fail(r, node,
                              "recording is for windows of recordings; wanted length beside it");
    if (s->target == RELN_SEQUENCE_EACH && spec->target[0].as == RELN_TARGET_CLASS)
        return reln_keys_fail(r, node,
                              "a target at each step is a number, vector or matrix, and "
                              "this is a class");
    if (s->estimate[0])
        RELN_TRY(check_estimate(r, node, spec));
    return s->time[0] ? add_time(r, node, spec) : RELN_OK;
}

/* ---- arrays of recordings -------------------------------------------------------------------------------------------- */

/* A Survey holds recordings while they are checked. */
typedef struct Survey {
    RelnCtx *ctx;
    const RelnSpec *spec;
    RelnArchive *archive;
    int n, dim;
    ptrdiff_t steps;
    double *time, *recording; /* one for each step; NULL: not given */
} Survey;

enum { PIECE = 4096 }; /* numbers read together */

static RelnStatus check_rows(Survey *s, const char *name, const RelnArray *a)
{
    if (a->rank < 1)
        return reln_fail(s->ctx, RELN_ERR_SHAPE,
                         "%s: a single number; wanted (T, ...), steps of a "
                         "recording",
                         name);
    if (s->steps < 0)
        s->steps = a->dims[0];
    if (a->dims[0] == s->steps)
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: %td rows; wanted %td, as %s has", name,
                     a->dims[0], s->steps, s->spec->input[0].name);
}

/* Reads an array with one number for each step. */
static RelnStatus read_numbers(Survey *s, const char *name, double **out)
{
    const int index = reln_archive_find(s->archive, name);
    const RelnArray *a = reln_archive_info(s->archive, index);
    RelnStatus status;

    if (!a)
        return reln_data_missing(s->ctx, s->archive, name, "");
    RELN_TRY(check_rows(s, name, a));
    if (reln_array_row_size(a) != 1)
        return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: %td numbers for each step; wanted one", name,
                         reln_array_row_size(a));
    *out = reln_alloc(s->ctx, (size_t)s->steps + 1, sizeof **out);
    status = *out ? reln_archive_range(s->archive, index, 0, s->steps, *out) : RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; status == RELN_OK && i < s->steps; i++)
        if (!isfinite((*out)[i]))
            status =
                reln_fail(s->ctx, RELN_ERR_FORMAT, "%s: row %td is %s; a finite number was wanted",
                          name, i, isnan((*out)[i]) ? "not a number" : "infinite");
    return status;
}

static bool begins(const Survey *s, ptrdiff_t step)
{
    return step == 0 || (s->recording && s->recording[step] != s->recording[step - 1]);
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns ten times the median step, the default gap between recordings. */
static RelnStatus usual_gap(const Survey *s, double *gap)
{
    double *steps = reln_alloc(s->ctx, (size_t)s->steps + 1, sizeof *steps);
    ptrdiff_t n = 0;

    if (!steps)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 1; i < s->steps; i++)
        if (!begins(s, i))
            steps[n++] = s->time[i] - s->time[i - 1];
    reln_sort(steps, (size_t)n, sizeof *steps, compare_numbers);
    *gap = n > 0 ? 10 * steps[n / 2] : HUGE_VAL;
    reln_free(s->ctx, steps);
    return RELN_OK;
}

static RelnStatus check_times(const Survey *s)
{
    const char *name = s->spec->sequence.time;
    double gap = s->spec->sequence.gap;

    for (ptrdiff_t i = 1; i < s->steps; i++)
        if (!begins(s, i) && !(s->time[i] > s->time[i - 1]))
            return reln_fail(
                s->ctx, RELN_ERR_FORMAT,
                "%s: row %td is %.9g, behind %.9g of the row before it; wanted ascending "
                "times (recording: ARRAY tells recordings apart)",
                name, i, s->time[i], s->time[i - 1]);
    if (gap == 0)
        RELN_TRY(usual_gap(s, &gap));
    for (ptrdiff_t i = 1; i < s->steps; i++)
        if (!begins(s, i) && s->time[i] - s->time[i - 1] > gap)
            return reln_fail(
                s->ctx, RELN_ERR_FORMAT,
                "%s: row %td is %.4g later than the row before it; wanted steps of at most %.4g "
                "(gap: NUMBER allows longer ones, recording: ARRAY divides there)",
                name, i, s->time[i] - s->time[i - 1], gap);
    return RELN_OK;
}

RelnStatus reln_sequence_check_times(RelnCtx *ctx, const char *name, ptrdiff_t row, int points,
                                     const double *times)
{
    for (int p = 1; p < points; p++)
        if (!(times[p] > times[p - 1]))
            return reln_fail(ctx, RELN_ERR_FORMAT,
                             "%s: row %td has %.9g at step %d, behind %.9g of the step before it; "
                             "wanted ascending times",
                             name, row, times[p], p, times[p - 1]);
    return RELN_OK;
}

/* Checks the steps of an input; messages name the row of the recording. */
static RelnStatus check_numbers(Survey *s, const char *name, RelnAs as, int index, double *values,
                                ptrdiff_t room)
{
    const InputKind *kind = reln_input_kind(as);
    const ptrdiff_t each = reln_array_row_size(reln_archive_info(s->archive, index)),
                    size = reln_kind_size(as, s->n, s->dim), many = room / (each > 0 ? each : 1);

    for (ptrdiff_t first = 0; first < s->steps; first += many) {
        const ptrdiff_t left = s->steps - first, n = left < many ? left : many;

        RELN_TRY(reln_archive_range(s->archive, index, first, n, values));
        for (ptrdiff_t i = 0; i < n * each; i++)
            if (!isfinite(values[i]))
                return reln_fail(s->ctx, RELN_ERR_FORMAT,
                                 "%s: row %td has a number that is %s; finite ones were wanted",
                                 name, first + i / each,
                                 isnan(values[i]) ? "not a number" : "infinite");
        for (ptrdiff_t i = 0; kind->check && each % size == 0 && i < n * each / size; i++)
            RELN_TRY(kind->check(s->ctx, s->n, name, first + i * size / each, values + i * size));
    }
    return RELN_OK;
}

static RelnStatus check_array(Survey *s, const char *name, RelnAs as)
{
    const int index = reln_archive_find(s->archive, name);
    const RelnArray *a = reln_archive_info(s->archive, index);
    ptrdiff_t room;
    double *values;
    RelnStatus status;

    if (!a)
        return RELN_OK; /* a missing array is reported when shapes are checked */
    RELN_TRY(check_rows(s, name, a));
    room = reln_array_row_size(a) > PIECE ? reln_array_row_size(a) : PIECE;
    values = reln_alloc(s->ctx, (size_t)room, sizeof *values);
    status = values ? check_numbers(s, name, as, index, values, room) : RELN_ERR_NOMEM;
    reln_free(s->ctx, values);
    return status;
}

static RelnStatus survey(Survey *s)
{
    const RelnSpecSequence *q = &s->spec->sequence;

    for (int i = 0; i < s->spec->n_inputs; i++)
        if (s->spec->input[i].n_value == 0)
            RELN_TRY(check_array(s, s->spec->input[i].name, s->spec->input[i].as));
    RELN_TRY(check_array(s, s->spec->target[0].name, RELN_AS_SCALAR)); /* finite numbers only */
    if (s->steps < 0)
        return reln_data_missing(s->ctx, s->archive, s->spec->input[0].name, "");
    if (q->recording[0])
        RELN_TRY(read_numbers(s, q->recording, &s->recording));
    if (q->time[0])
        RELN_TRY(read_numbers(s, q->time, &s->time));
    return s->time ? check_times(s) : RELN_OK;
}

/* ---- windows --------------------------------------------------------------------------------------------------------- */

static ptrdiff_t end_of(const Survey *s, ptrdiff_t first)
{
    ptrdiff_t end = first + 1;

    while (end < s->steps && !begins(s, end))
        end++;
    return end;
}

/* Lists the windows of all recordings; if w->first is NULL, only counts them. *longest is the longest
 * recording. */
static ptrdiff_t cut(const Survey *s, RelnSequence *w, ptrdiff_t longest[2])
{
    const int stride = s->spec->sequence.stride;
    ptrdiff_t n = 0;

    for (ptrdiff_t begin = 0, end; begin < s->steps; begin = end) {
        end = end_of(s, begin);
        if (end - begin > longest[1] - longest[0]) {
            longest[0] = begin;
            longest[1] = end;
        }
        for (ptrdiff_t at = begin; at + w->length <= end; at += stride, n++)
            if (w->first) {
                w->first[n] = at;
                w->slack[n] = end - at - w->length;
            }
    }
    return n;
}

static RelnStatus make_windows(const Survey *s, RelnSequence *w)
{
    ptrdiff_t longest[2] = {0, 0};

    w->count = cut(s, w, longest);
    if (w->count == 0)
        return reln_fail(s->ctx, RELN_ERR_SHAPE,
                         "%s: the longest recording has %td steps, rows %td to %td; wanted %d, the "
                         "length of a window",
                         reln_archive_name(s->archive), longest[1] - longest[0], longest[0],
                         longest[1] - 1, w->length);
    w->first = reln_alloc(s->ctx, (size_t)w->count, sizeof *w->first);
    w->slack = reln_alloc(s->ctx, (size_t)w->count, sizeof *w->slack);
    if (!w->first || !w->slack)
        return RELN_ERR_NOMEM;
    (void)cut(s, w, longest);
    return RELN_OK;
}

static RelnWindowRule rule_of(RelnSequenceTarget target)
{
    switch (target) {
    case RELN_SEQUENCE_LAST:
        return RELN_WINDOW_LAST;
    case RELN_SEQUENCE_CHANGE:
        return RELN_WINDOW_CHANGE;
    case RELN_SEQUENCE_MEAN:
        return RELN_WINDOW_MEAN;
    case RELN_SEQUENCE_EACH:
        break;
    }
    return RELN_WINDOW_STEPS;
}

static RelnStatus view(const Survey *s, RelnSequence *w)
{
    RelnWindowArray list[RELN_SPEC_INPUTS + 1];
    const int target = reln_archive_find(s->archive, s->spec->target[0].name);
    int n = 0;

    for (int i = 0; i < s->spec->n_inputs; i++) {
        const char *name = s->spec->input[i].name;
        const int index = reln_archive_find(s->archive, name);

        if (index >= 0 && s->spec->input[i].n_value == 0)
            list[n++] = (RelnWindowArray){index, strcmp(name, s->spec->sequence.time) == 0
                                                     ? RELN_WINDOW_ELAPSED
                                                     : RELN_WINDOW_STEPS};
    }
    if (target >= 0)
        list[n++] = (RelnWindowArray){target, rule_of(s->spec->sequence.target)};
    return reln_archive_windows(s->ctx, s->archive, n, list, w->length, w->count, w->first,
                                &w->windows);
}

RelnStatus reln_sequence_open(RelnCtx *ctx, const RelnSpec *spec, int n, int dim,
                              RelnArchive *archive, RelnSequence **out)
{
    Survey s = {.ctx = ctx, .spec = spec, .archive = archive, .n = n, .dim = dim, .steps = -1};
    RelnSequence *w;
    RelnStatus status;

    *out = NULL;
    if (spec->sequence.length == 0)
        return RELN_OK;
    w = reln_alloc(ctx, 1, sizeof *w);
    if (!w)
        return RELN_ERR_NOMEM;
    *w = (RelnSequence){
        .ctx = ctx, .length = spec->sequence.length, .jitter = spec->sequence.jitter};
    status = survey(&s);
    if (status == RELN_OK)
        status = make_windows(&s, w);
    if (status == RELN_OK)
        status = view(&s, w);
    reln_free(ctx, s.time);
    reln_free(ctx, s.recording);
    if (status == RELN_OK)
        *out = w;
    else
        reln_sequence_close(w);
    return status;
}

void reln_sequence_close(RelnSequence *w)
{
    if (!w)
        return;
    reln_archive_destroy(w->windows);
    reln_free(w->ctx, w->first);
    reln_free(w->ctx, w->slack);
    reln_free(w->ctx, w);
}

void reln_sequence_shake(RelnSequence *w, ptrdiff_t row, uint64_t seed, uint64_t epoch)
{
    const uint64_t key[2] = {epoch, (uint64_t)row};
    RelnRng rng = reln_rng(seed, reln_hash(RELN_HASH_SEED, key, sizeof key) ^ 0x6a697474);
    const ptrdiff_t most = w->slack[row] < w->jitter ? w->slack[row] : w->jitter;

    reln_archive_window_shift(w->windows, row, (ptrdiff_t)reln_rng_below(&rng, (uint64_t)most + 1));
}

/* ---- splitting by time ------------------------------------------------------------------------------------------------ */

/* Returns the end of a recording's windows: where the room behind a window is larger than behind the one
 * before, a new recording has begun. */
static ptrdiff_t end_of_recording(const RelnSequence *w, ptrdiff_t row)
{
    const ptrdiff_t end = w->first[row] + w->slack[row];

    while (row < w->count && w->first[row] + w->slack[row] == end)
        row++;
    return row;
}

RelnStatus reln_sequence_split(const RelnSequence *w, double share, ptrdiff_t *rows,
                               ptrdiff_t *n_validation, ptrdiff_t *n_train)
{
    ptrdiff_t *train = reln_alloc(w->ctx, (size_t)w->count, sizeof *train);

    *n_validation = *n_train = 0;
    if (!train)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t begin = 0, end; begin < w->count; begin = end) {
        ptrdiff_t held;

        end = end_of_recording(w, begin);
        held = end - (ptrdiff_t)ceil(share * (double)(end - begin) - 1e-9);
        for (ptrdiff_t i = begin; i < held; i++) {
            const ptrdiff_t shift = w->slack[i] < w->jitter ? w->slack[i] : w->jitter;

            if (held == end || w->first[i] + w->length + shift <= w->first[held])
                train[(*n_train)++] = i;
        }
        for (ptrdiff_t i = held; i < end; i++)
            rows[(*n_validation)++] = i;
    }
    memcpy(rows + *n_validation, train, (size_t)*n_train * sizeof *rows);
    reln_free(w->ctx, train);
    if (*n_train > 0)
        return RELN_OK;
    return reln_fail(w->ctx, RELN_ERR_ARG,
                     "%td windows, and none is left for training before those of validation; "
                     "wanted longer recordings, a smaller share or a file for validation",
                     w->count);
}
