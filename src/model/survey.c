/* survey.c -- see kit/survey.h: statistics of arrays, and guesses from them. */
#include "kit/survey.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/sort.h"
#include "kit/files.h"
#include "model/data.h"
#include "tensor/linalg.h"

/* Largest number of numbers of an array that are read, in evenly spaced rows; and number of rows that guesses
 * use. */
enum { LOOKED_AT = 1 << 22, JUDGED = 200, MOST_CLASSES = 64, MOST_N = 8 };

/* ---- names ---------------------------------------------------------------------------------------------------------------- */

bool reln_survey_named(const char *name, const char *words)
{
    char low[64], word[32];

    snprintf(low, sizeof low, "%s", name);
    for (char *c = low; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (const char *w = words; *w; w += strspn(w, " ")) {
        const size_t length = strcspn(w, " ");

        snprintf(word, sizeof word, "%.*s", (int)length, w);
        w += length;
        for (const char *at = strstr(low, word); at; at = strstr(at + 1, word))
            if ((at == low || !isalpha((unsigned char)at[-1])) &&
                !isalpha((unsigned char)at[length]))
                return true;
    }
    return false;
}

static const char target_names[] =
    "y target targets label labels class classes is signal truth out output category";
static const char number_names[] =
    "id ids index idx number fold folds time times timestamp t key weight weights split";
static const char time_names[] = "time times timestamp t";
static const char recording_names[] = "r recording recordings flight run session";
static const char place_names[] = "p pos position positions t translation xyz x location";
static const char colour_names[] = "colour colours color colors rgb";
static const char mask_names[] = "mask masks valid present";

/* ---- numbers -------------------------------------------------------------------------------------------------------------- */

typedef struct Tally {
    double sum;
    bool seen[MOST_CLASSES];
    bool whole, small; /* small: whole numbers below MOST_CLASSES */
} Tally;

static void add(RelnSurveyArray *a, Tally *t, ptrdiff_t n, const double *x)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        a->seen++;
        if (!isfinite(x[i])) {
            a->lost++;
            continue;
        }
        a->low = fmin(a->low, x[i]);
        a->high = fmax(a->high, x[i]);
        t->sum += x[i];
        t->whole = t->whole && x[i] == floor(x[i]);
        t->small = t->small && t->whole && x[i] >= 0 && x[i] < MOST_CLASSES;
        if (t->small)
            t->seen[(int)x[i]] = true;
    }
}

/* Returns the number k of classes, if the numbers are 0 .. k-1 and all of them occur; 0 otherwise. */
static int classes_of(const RelnSurveyArray *a, const Tally *t)
{
    int k = 0;

    if (!t->small || a->lost > 0 || a->rank != 1)
        return 0;
    while (k < MOST_CLASSES && t->seen[k])
        k++;
    return k >= 2 && a->high == k - 1 ? k : 0;
}

static RelnStatus count(RelnArchive *archive, int index, RelnSurveyArray *a, double *row)
{
    const ptrdiff_t size = a->row_size > 0 ? a->row_size : 1;
    const ptrdiff_t most = LOOKED_AT / size > 1 ? LOOKED_AT / size : 1;
    const ptrdiff_t stride = a->n_rows > most ? a->n_rows / most + 1 : 1;
    Tally t = {.whole = true, .small = true};

    a->low = HUGE_VAL;
    a->high = -HUGE_VAL;
    for (ptrdiff_t i = 0; i < a->n_rows && a->row_size > 0; i += stride) {
        RELN_TRY(reln_archive_range(archive, index, i, 1, row));
        add(a, &t, a->row_size, row);
    }
    a->mean = a->seen > a->lost ? t.sum / (double)(a->seen - a->lost) : (double)NAN;
    a->whole = t.whole && a->lost < a->seen;
    a->classes = classes_of(a, &t);
    return RELN_OK;
}

/* ---- guesses ----------------------------------------------------------------------------------------------------- */

/* Returns whether all values of `size` numbers in some rows have a property. */
static RelnStatus all_have(RelnArchive *archive, int index, const RelnSurveyArray *a, int size,
                           double *row, bool (*holds)(RelnCtx *, int, const double *), RelnCtx *ctx,
                           int n, bool *out)
{
    const ptrdiff_t stride = a->n_rows > JUDGED ? a->n_rows / JUDGED : 1;

    *out = a->row_size >= size;
    for (ptrdiff_t i = 0; i < a->n_rows && *out; i += stride) {
        RELN_TRY(reln_archive_range(archive, index, i, 1, row));
        for (ptrdiff_t at = 0; at + size <= a->row_size && *out; at += size)
            *out = holds(ctx, n, row + at);
    }
    return RELN_OK;
}

static bool is_unit(RelnCtx *ctx, int n, const double *q)
{
    (void)ctx;
    (void)n;
    return fabs(reln_mat_norm(4, q) - 1) <= 1e-5;
}

/* Returns whether p is a four-momentum: E >= |p|, up to the rounding of single precision. Zeros are
 * padding. */
static bool is_momentum(RelnCtx *ctx, int n, const double *p)
{
    (void)ctx;
    (void)n;
    return p[0] >= 0 && p[0] * (1 + 1e-4) >= reln_mat_norm(3, p + 1);
}

static bool is_covariance(RelnCtx *ctx, int n, const double *s)
{
    double w[MOST_N];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (fabs(s[i * n + j] - s[j * n + i]) > 1e-6 * reln_mat_norm((ptrdiff_t)n * n, s))
                return false;
    return reln_eigh(ctx, n, s, w, NULL) == RELN_OK && w[0] > 0;
}

static void set(RelnSurveyArray *a, RelnRole role, RelnAs as, bool points, int n)
{
    a->role = role;
    a->as = as;
    a->points = points;
    a->n = n;
}

/* Guesses the kind of an input: arrays of four numbers, of n x n and of three, with or without an axis of
 * points; any other array of one axis is scalars. */
static RelnStatus guess_input(RelnCtx *ctx, RelnArchive *archive, int index, RelnSurveyArray *a,
                              double *row)
{
    const int r = a->rank;
    const ptrdiff_t last = r > 1 ? a->dims[r - 1] : 0;
    const bool square = r >= 3 && last == a->dims[r - 2] && last >= 2 && last <= MOST_N;
    bool yes = false;

    if (square && (r == 3 || r == 4)) {
        RELN_TRY(all_have(archive, index, a, (int)(last * last), row, is_covariance, ctx, (int)last,
                          &yes));
        set(a, RELN_ROLE_INPUT, yes ? RELN_AS_COVARIANCE : RELN_AS_MATRIX, r == 4, (int)last);
    } else if ((r == 2 || r == 3) && last == 4) {
        RELN_TRY(all_have(archive, index, a, 4, row, is_unit, ctx, 4, &yes));
        if (yes)
            set(a, RELN_ROLE_INPUT, RELN_AS_QUATERNION, r == 3, 3);
        if (!yes)
            RELN_TRY(all_have(archive, index, a, 4, row, is_momentum, ctx, 4, &yes));
        if (yes && a->role == RELN_ROLE_UNKNOWN)
            set(a, RELN_ROLE_INPUT, RELN_AS_FOURVECTOR, r == 3, 4);
    } else if ((r == 2 || r == 3) && last == 3 && !reln_survey_named(a->name, colour_names)) {
        set(a, RELN_ROLE_INPUT, RELN_AS_VECTOR, r == 3, 3);
    }
    if (a->role == RELN_ROLE_UNKNOWN && (r == 1 || (r == 2 && last <= 16)))
        set(a, RELN_ROLE_INPUT, RELN_AS_SCALAR, false, 0);
    return RELN_OK;
}

static RelnStatus guess(RelnCtx *ctx, RelnArchive *archive, const RelnSurvey *s, int index,
                        double *row)
{
    RelnSurveyArray *a = &s->arrays[index];

    if (a->role == RELN_ROLE_COMPONENT || a->rank < 1 || a->n_rows != s->n_samples || a->lost > 0 ||
        a->row_size < 1)
        return RELN_OK;
    if (a->rank == 1 && reln_survey_named(a->name, number_names)) {
        set(a, RELN_ROLE_NUMBER, RELN_AS_SCALAR, false, 0);
        return RELN_OK;
    }
    if (a->rank == 2 && reln_survey_named(a->name, mask_names) && a->whole && a->low >= 0 &&
        a->high <= 1) {
        set(a, RELN_ROLE_MASK, RELN_AS_SCALAR, true, 0);
        return RELN_OK;
    }
    return guess_input(ctx, archive, index, a, row);
}

/* Returns whether a row of a set has its last point at place `count`, and zeros behind it. */
static bool ends_at(const RelnSurveyArray *set, const double *row, double count)
{
    const ptrdiff_t each = set->row_size / set->dims[1], last = (ptrdiff_t)count - 1;

    for (ptrdiff_t i = (last + 1) * each; i < set->row_size; i++)
        if (row[i] != 0)
            return false;
    for (ptrdiff_t i = last * each; i < (last + 1) * each; i++)
        if (row[i] != 0)
            return true;
    return false;
}

/* Returns whether an array has the numbers of points of a set, in some rows. */
static RelnStatus counts(RelnArchive *archive, const RelnSurvey *s, int index, int of, bool *out)
{
    const RelnSurveyArray *a = &s->arrays[index], *set = &s->arrays[of];
    const ptrdiff_t stride = s->n_samples > JUDGED ? s->n_samples / JUDGED : 1;

    RelnStatus status;
    double *row;

    *out = set->role == RELN_ROLE_INPUT && set->points && a->high <= (double)set->dims[1];
    if (!*out)
        return RELN_OK;
    row = reln_alloc_raw(s->ctx, (size_t)set->row_size, sizeof *row);
    status = row ? RELN_OK : RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < s->n_samples && *out && status == RELN_OK; i += stride) {
        double n_points = 0;

        status = reln_archive_range(archive, index, i, 1, &n_points);
        if (status == RELN_OK)
            status = reln_archive_range(archive, of, i, 1, row);
        *out = status == RELN_OK && ends_at(set, row, n_points);
    }
    reln_free(s->ctx, row);
    return status;
}

/* Finds numbers of points among the scalars: whole numbers that say where the zeros of a set begin. */
static RelnStatus find_counts(RelnArchive *archive, const RelnSurvey *s)
{
    for (int i = 0; i < s->n_arrays; i++) {
        RelnSurveyArray *a = &s->arrays[i];
        bool yes = false;

        if (a->role != RELN_ROLE_INPUT || a->row_size != 1 || !a->whole || !(a->low >= 1) ||
            !(a->high > a->low))
            continue;
        for (int j = 0; j < s->n_arrays && !yes; j++)
            RELN_TRY(counts(archive, s, i, j, &yes));
        if (yes)
            set(a, RELN_ROLE_COUNT, RELN_AS_SCALAR, false, 0);
    }
    return RELN_OK;
}

/* Returns whether an array can be the target. The target is an array whose name says so, or else the last
 * candidate. Sets of points are not candidates. */
static bool may_be_target(const RelnSurveyArray *a)
{
    return a->role == RELN_ROLE_INPUT && !a->points &&
           (a->as == RELN_AS_SCALAR || a->as == RELN_AS_VECTOR || a->as == RELN_AS_MATRIX) &&
           a->high > a->low;
}

/* The target of recordings is the change of a position, if one is there; else the last vector. */
static bool choose_place(const RelnSurvey *s)
{
    int best = -1;
    bool is_place = false;

    for (int i = 0; i < s->n_arrays; i++) {
        const RelnSurveyArray *a = &s->arrays[i];
        const bool place = reln_survey_named(a->name, place_names);

        if (may_be_target(a) && a->as == RELN_AS_VECTOR && a->rank == 2 && (place || !is_place)) {
            best = i;
            is_place = place;
        }
    }
    if (best >= 0)
        s->arrays[best].role = RELN_ROLE_TARGET;
    return best >= 0;
}

static void choose_target(const RelnSurvey *s)
{
    int best = -1, best_rank = 0;

    for (int i = 0; i < s->n_arrays; i++) {
        const RelnSurveyArray *a = &s->arrays[i];
        const int rank = !may_be_target(a)                          ? 0
                         : reln_survey_named(a->name, target_names) ? 4
                         : a->classes > 0                           ? 3
                         : a->as == RELN_AS_SCALAR                  ? 2
                                                                    : 1;

        if (rank > 0 && rank >= best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    if (best >= 0)
        s->arrays[best].role = RELN_ROLE_TARGET;
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

enum { LEAST_STEPS = 64 }; /* of a recording */

/* Reads a whole array of one number for each row. Caller frees *out. */
static RelnStatus read_column(const RelnSurvey *s, RelnArchive *archive, int index, double **out)
{
    *out = reln_alloc_raw(s->ctx, (size_t)s->n_samples, sizeof **out);
    return *out ? reln_archive_range(archive, index, 0, s->n_samples, *out) : RELN_ERR_NOMEM;
}

static int find_numbers(const RelnSurvey *s, const char *names)
{
    for (int i = 0; i < s->n_arrays; i++) {
        const RelnSurveyArray *a = &s->arrays[i];

        if (a->role != RELN_ROLE_COMPONENT && a->rank == 1 && a->n_rows == s->n_samples &&
            a->lost == 0 && reln_survey_named(a->name, names))
            return i;
    }
    return -1;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Measures the steps between times. Returns whether all of them ascend, where the number of the recording (NULL:
 * there is one recording) stays the same. */
static bool measure_steps(RelnSurvey *s, double *time, const double *recording)
{
    ptrdiff_t n = 0;

    for (ptrdiff_t i = 1; i < s->n_samples; i++) {
        const double step = time[i] - time[i - 1];

        if (recording && recording[i] != recording[i - 1])
            continue;
        if (!(step > 0))
            return false;
        time[n++] = step;
    }
    if (n < LEAST_STEPS)
        return false;
    reln_sort(time, (size_t)n, sizeof *time, by_value);
    s->median_step = time[n / 2];
    s->longest_step = time[n - 1];
    return true;
}

static bool has_class(const RelnSurvey *s)
{
    for (int i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].role == RELN_ROLE_INPUT &&
            reln_survey_named(s->arrays[i].name, target_names))
            return true;
    return false;
}

/* Rows are steps of recordings if there are times that ascend, vectors or matrices, no set of points, and no array with
 * the name of a target. */
static RelnStatus find_recording(RelnSurvey *s, RelnArchive *archive)
{
    const int at = find_numbers(s, time_names), numbers = find_numbers(s, recording_names);
    double *time = NULL, *recording = NULL;
    RelnStatus status = RELN_OK;
    bool yes = at >= 0 && s->n_samples > LEAST_STEPS && !has_class(s);

    for (int i = 0; i < s->n_arrays; i++)
        yes = yes && !(s->arrays[i].role == RELN_ROLE_INPUT && s->arrays[i].points);
    if (!yes)
        return RELN_OK;
    status = read_column(s, archive, at, &time);
    if (status == RELN_OK && numbers >= 0)
        status = read_column(s, archive, numbers, &recording);
    if (status == RELN_OK && measure_steps(s, time, recording) && choose_place(s)) {
        s->time = at;
        s->arrays[at].role = RELN_ROLE_TIME;
        if (numbers >= 0)
            s->arrays[numbers].role = RELN_ROLE_RECORDING;
    }
    reln_free(s->ctx, time);
    reln_free(s->ctx, recording);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------ */

static void describe(const RelnArchive *archive, int index, RelnSurveyArray *a)
{
    const RelnArray *info = reln_archive_info(archive, index);

    *a = (RelnSurveyArray){.name = info->name,
                           .dtype = info->stored ? info->stored : reln_dtype_text(info->dtype),
                           .rank = info->rank,
                           .n_rows = reln_array_rows(info),
                           .row_size = reln_array_row_size(info)};
    for (int k = 0; k < info->rank && k < 8; k++)
        a->dims[k] = info->dims[k];
    if (reln_archive_is_component(archive, index))
        a->role = RELN_ROLE_COMPONENT;
}

/* Returns the number of rows that most arrays have; on ties, the largest. */
static ptrdiff_t common_rows(const RelnSurvey *s)
{
    ptrdiff_t best = 0;
    int best_count = 0;

    for (int i = 0; i < s->n_arrays; i++) {
        int same = 0;

        for (int j = 0; j < s->n_arrays; j++)
            same += s->arrays[j].rank > 0 && s->arrays[j].n_rows == s->arrays[i].n_rows;
        if (same > best_count || (same == best_count && s->arrays[i].n_rows > best)) {
            best = s->arrays[i].n_rows;
            best_count = same;
        }
    }
    return best;
}

static RelnStatus look(RelnSurvey *s, RelnArchive *archive)
{
    RelnStatus status = RELN_OK;

    for (int i = 0; i < s->n_arrays; i++)
        describe(archive, i, &s->arrays[i]);
    s->n_samples = common_rows(s);
    for (int i = 0; i < s->n_arrays && status == RELN_OK; i++) {
        RelnSurveyArray *a = &s->arrays[i];
        double *row = reln_alloc_raw(s->ctx, (size_t)a->row_size + 1, sizeof *row);

        status = row ? count(archive, i, a, row) : RELN_ERR_NOMEM;
        if (status == RELN_OK)
            status = guess(s->ctx, archive, s, i, row);
        reln_free(s->ctx, row);
    }
    if (status == RELN_OK)
        status = find_recording(s, archive);
    if (status == RELN_OK && s->time < 0)
        choose_target(s);
    if (status == RELN_OK)
        status = find_counts(archive, s);
    return status;
}

RelnStatus reln_survey(RelnCtx *ctx, RelnArchive *archive, RelnSurvey *out)
{
    RelnStatus status;

    *out = (RelnSurvey){.ctx = ctx,
                        .path = reln_archive_name(archive),
                        .n_arrays = reln_archive_count(archive),
                        .time = -1};
    out->arrays = reln_alloc(ctx, (size_t)out->n_arrays + 1, sizeof *out->arrays);
    status = out->arrays ? look(out, archive) : RELN_ERR_NOMEM;
    if (status != RELN_OK)
        reln_survey_clear(out);
    return status;
}

void reln_survey_clear(RelnSurvey *s)
{
    if (s->ctx)
        reln_free(s->ctx, s->arrays);
    *s = (RelnSurvey){0};
}

const char *reln_survey_text(const RelnSurveyArray *a, char *text, size_t size)
{
    switch (a->role) {
    case RELN_ROLE_UNKNOWN:
        return "";
    case RELN_ROLE_NUMBER:
        return "numbers samples";
    case RELN_ROLE_MASK:
        return "mask of points";
    case RELN_ROLE_COUNT:
        return "number of points";
    case RELN_ROLE_TIME:
        return "times of a recording";
    case RELN_ROLE_RECORDING:
        return "numbers recordings";
    case RELN_ROLE_COMPONENT:
        return "component of a vector";
    case RELN_ROLE_INPUT:
    case RELN_ROLE_TARGET:
        break;
    }
    if (a->role == RELN_ROLE_TARGET && a->classes > 0)
        snprintf(text, size, "target, class (%d)", a->classes);
    else
        snprintf(text, size, "%s%s%s", a->role == RELN_ROLE_TARGET ? "target, " : "",
                 reln_as_text(a->as), a->points ? ", points" : "");
    return text;
}
