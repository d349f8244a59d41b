/* source.c -- sources of jets: memory, or files that are read jet by jet. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/jets/jets.h"

/* ---- memory -------------------------------------------------------------------------------------------------------- */

RelnStatus jets_init(TaskEnv *env, TaskRoom **rooms, ptrdiff_t n, ptrdiff_t n_particles,
                     int n_extra, Jets *out)
{
    const size_t jets = (size_t)n, particles = (size_t)n_particles;

    *out = (Jets){.room = n, .room_particles = n_particles, .n_extra = n_extra};
    out->counts = task_room(rooms, jets, sizeof *out->counts);
    out->labels = task_room(rooms, jets, sizeof *out->labels);
    out->weights = task_room(rooms, jets, sizeof *out->weights);
    out->p = task_room(rooms, particles, 4 * sizeof *out->p);
    out->mass = task_room(rooms, particles, sizeof *out->mass);
    out->extra = task_room(rooms, particles, (size_t)n_extra * sizeof *out->extra);
    return out->counts && out->labels && out->weights && out->p && out->mass && out->extra
               ? RELN_OK
               : task_nomem(env);
}

bool jets_add(Jets *jets, int n, const double *p, const double *extra, int label, double weight)
{
    const ptrdiff_t at = jets->n_particles, k = jets->n_extra;

    if (jets->n == jets->room || at + n > jets->room_particles)
        return false;
    memcpy(jets->p + 4 * at, p, (size_t)n * 4 * sizeof *p);
    for (int i = 0; i < n; i++)
        jets->mass[at + i] = sqrt(fabs(jets_dot(p + 4 * i, p + 4 * i)));
    if (extra)
        memcpy(jets->extra + k * at, extra, (size_t)(k * n) * sizeof *extra);
    else
        memset(jets->extra + k * at, 0, (size_t)(k * n) * sizeof *jets->extra);
    jets->counts[jets->n] = n;
    jets->labels[jets->n] = label;
    jets->weights[jets->n++] = weight;
    jets->n_particles += n;
    return true;
}

ptrdiff_t jets_first(const Jets *jets, ptrdiff_t i)
{
    ptrdiff_t first = 0;

    for (ptrdiff_t k = 0; k < i; k++)
        first += jets->counts[k];
    return first;
}

/* ---- sources ------------------------------------------------------------------------------------------------------- */

/* The two layouts of files. */
typedef enum Layout { LGN, TABLE } Layout;

/* An Arrays holds the indices of the arrays of a file in the archive; -1: missing. */
typedef struct Arrays {
    Layout layout;
    int momenta, counts, labels, weights, extra[JETS_EXTRA];
} Arrays;

struct JetsSource {
    ptrdiff_t n;
    int n_extra;
    /* one of three: */
    const Jets *jets;
    ptrdiff_t *first; /* for jets in memory: the first particle of each */
    RelnArchive *archive;
    int n_parts;
    JetsSource *const *parts;
    /* for an archive: */
    Arrays arrays;
    int axis;     /* number of particles that fit a row */
    double unit;  /* factor to GeV: 1, or 1e-3 if momenta are in MeV */
    double *row;  /* numbers of a jet */
    double *rest; /* its extra inputs */
};

ptrdiff_t jets_source_count(const JetsSource *source)
{
    return source->n;
}

int jets_source_extra(const JetsSource *source)
{
    return source->n_extra;
}

bool jets_source_in_mev(const JetsSource *source)
{
    for (int i = 0; i < source->n_parts; i++)
        if (jets_source_in_mev(source->parts[i]))
            return true;
    return source->archive && source->unit != 1;
}

static JetsSource *new_source(TaskEnv *env)
{
    return task_room(&env->rooms, 1, sizeof(JetsSource));
}

RelnStatus jets_source_memory(TaskEnv *env, const Jets *jets, JetsSource **out)
{
    JetsSource *s = *out = new_source(env);

    if (!s)
        return task_nomem(env);
    *s = (JetsSource){.n = jets->n, .n_extra = jets->n_extra, .jets = jets};
    s->first = task_room(&env->rooms, (size_t)jets->n + 1, sizeof *s->first);
    if (!s->first)
        return task_nomem(env);
    for (ptrdiff_t i = 0; i < jets->n; i++)
        s->first[i + 1] = s->first[i] + jets->counts[i];
    return RELN_OK;
}

RelnStatus jets_source_join(TaskEnv *env, int n, JetsSource *const *parts, JetsSource **out)
{
    JetsSource *s = *out = new_source(env);

    if (!s)
        return task_nomem(env);
    *s = (JetsSource){.n_extra = parts[0]->n_extra, .n_parts = n, .parts = parts};
    for (int i = 0; i < n; i++)
        s->n += parts[i]->n;
    return RELN_OK;
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

static RelnStatus bad(TaskEnv *env, const JetsSource *s, ptrdiff_t jet, const char *what)
{
    return task_fail(env, RELN_ERR_FORMAT, "%s: jet %td %s", reln_archive_name(s->archive), jet,
                     what);
}

/* Returns the number of particles: as in the file, or those before the first without energy. */
static RelnStatus count_of(TaskEnv *env, const JetsSource *s, ptrdiff_t jet, int *n)
{
    char what[96];
    double count;

    *n = 0;
    if (s->arrays.layout == TABLE) {
        while (*n < s->axis && s->row[4 * *n] != 0)
            (*n)++;
    } else {
        TRY(reln_archive_range(s->archive, s->arrays.counts, jet, 1, &count));
        if (!(count >= 0) || count > s->axis || count != floor(count)) {
            snprintf(what, sizeof what,
                     "has a count of %g; wanted 1 to %d, the particles of an event", count,
                     s->axis);
            return bad(env, s, jet, what);
        }
        *n = (int)count;
    }
    if (*n == 0)
        return bad(env, s, jet, "is empty; wanted one particle or more");
    if (*n > JETS_MOST) {
        snprintf(what, sizeof what, "has %d particles; wanted at most %d", *n, (int)JETS_MOST);
        return bad(env, s, jet, what);
    }
    return RELN_OK;
}

static RelnStatus check_momenta(TaskEnv *env, const JetsSource *s, ptrdiff_t jet, int n)
{
    char what[96];

    for (int i = 0; i < n; i++) {
        const double *p = s->row + 4 * i;

        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]) || !isfinite(p[3])) {
            snprintf(what, sizeof what, "has a momentum that is not finite, particle %d", i);
            return bad(env, s, jet, what);
        }
        if (p[0] <= 0) {
            snprintf(what, sizeof what, "has a particle of energy %g, number %d; wanted above 0",
                     p[0], i);
            return bad(env, s, jet, what);
        }
    }
    return RELN_OK;
}

static RelnStatus label_of(TaskEnv *env, const JetsSource *s, ptrdiff_t jet, int *label)
{
    double values[2] = {0, 0}, value;
    char what[64];

    TRY(reln_archive_range(s->archive, s->arrays.labels, jet, 1, values));
    value = s->arrays.layout == TABLE ? values[1] : values[0];
    if (value != 0 && value != 1) {
        snprintf(what, sizeof what, "has the label %g; wanted 0 or 1", value);
        return bad(env, s, jet, what);
    }
    *label = (int)value;
    return RELN_OK;
}

static RelnStatus extra_of(TaskEnv *env, const JetsSource *s, ptrdiff_t jet, int n)
{
    double *one = s->rest + (ptrdiff_t)JETS_EXTRA * s->axis;

    for (int k = 0; k < s->n_extra; k++) {
        TRY(reln_archive_range(s->archive, s->arrays.extra[k], jet, 1, one));
        for (int i = 0; i < n; i++) {
            if (!isfinite(one[i]))
                return bad(env, s, jet, "has a further input that is not finite");
            s->rest[i * s->n_extra + k] = one[i];
        }
    }
    return RELN_OK;
}

/* Reads and checks one jet; appends it to `out` unless that is NULL. */
static RelnStatus read_jet(TaskEnv *env, const JetsSource *s, ptrdiff_t jet, Jets *out)
{
    double weight = 1;
    int n = 0, label = 0;

    TRY(reln_archive_range(s->archive, s->arrays.momenta, jet, 1, s->row));
    TRY(count_of(env, s, jet, &n));
    TRY(check_momenta(env, s, jet, n));
    TRY(label_of(env, s, jet, &label));
    TRY(extra_of(env, s, jet, n));
    if (s->arrays.weights >= 0)
        TRY(reln_archive_range(s->archive, s->arrays.weights, jet, 1, &weight));
    if (!isfinite(weight) || weight < 0)
        return bad(env, s, jet, "has a weight that is negative or not finite");
    for (int i = 0; i < 4 * n; i++)
        s->row[i] *= s->unit;
    if (out && !jets_add(out, n, s->row, s->rest, label, weight))
        return task_fail(env, RELN_ERR_ARG, "no room for more jets");
    return RELN_OK;
}

RelnStatus jets_source_read(TaskEnv *env, const JetsSource *s, ptrdiff_t n, const ptrdiff_t *which,
                            Jets *out)
{
    out->n = out->n_particles = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const JetsSource *from = s;
        ptrdiff_t jet = which[i];

        for (int k = 0; k < s->n_parts; k++) {
            from = s->parts[k];
            if (jet < from->n)
                break;
            jet -= from->n;
        }
        if (from->archive) {
            TRY(read_jet(env, from, jet, out));
            continue;
        }
        const Jets *j = from->jets;
        const ptrdiff_t first = from->first[jet];
        if (!jets_add(out, j->counts[jet], j->p + 4 * first, j->extra + j->n_extra * first,
                      j->labels[jet], j->weights[jet]))
            return task_fail(env, RELN_ERR_ARG, "no room for more jets");
        memcpy(out->mass + out->n_particles - j->counts[jet], j->mass + first,
               (size_t)j->counts[jet] * sizeof *j->mass);
    }
    return RELN_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static RelnStatus want_array(TaskEnv *env, const JetsSource *s, const char *name, int rank,
                             int *index)
{
    const char *why = reln_archive_unread(s->archive, name);

    *index = reln_archive_find(s->archive, name);
    if (*index < 0 && why)
        return task_fail(env, RELN_ERR_UNSUPPORTED, "%s: '%s' cannot be read: it is %s",
                         reln_archive_name(s->archive), name, why);
    if (*index < 0)
        return task_fail(env, RELN_ERR_FORMAT, "%s: no array '%s'", reln_archive_name(s->archive),
                         name);
    if (reln_archive_info(s->archive, *index)->rank != rank)
        return task_fail(env, RELN_ERR_FORMAT, "%s: '%s' has %d axes; wanted %d",
                         reln_archive_name(s->archive), name,
                         reln_archive_info(s->archive, *index)->rank, rank);
    return RELN_OK;
}

static RelnStatus same_count(TaskEnv *env, const JetsSource *s, int index)
{
    const RelnArray *a = reln_archive_info(s->archive, index);

    return a->dims[0] == s->n ? RELN_OK
                              : task_fail(env, RELN_ERR_FORMAT, "%s: '%s' has %td rows; wanted %td",
                                          reln_archive_name(s->archive), a->name, a->dims[0], s->n);
}

static RelnStatus open_lgn(TaskEnv *env, JetsSource *s)
{
    const RelnArray *p;

    TRY(want_array(env, s, "Pmu", 3, &s->arrays.momenta));
    p = reln_archive_info(s->archive, s->arrays.momenta);
    if (p->dims[2] != 4 || p->dims[1] < 1 || p->dims[1] > 1 << 16)
        return task_fail(env, RELN_ERR_FORMAT,
                         "%s: 'Pmu' is (%td, %td, %td); wanted (jets, particles, 4)",
                         reln_archive_name(s->archive), p->dims[0], p->dims[1], p->dims[2]);
    s->n = p->dims[0];
    s->axis = (int)p->dims[1];
    TRY(want_array(env, s, "Nobj", 1, &s->arrays.counts));
    TRY(want_array(env, s, "is_signal", 1, &s->arrays.labels));
    TRY(same_count(env, s, s->arrays.counts));
    return same_count(env, s, s->arrays.labels);
}

/* The table of pandas: 200 times (E, px, py, pz) and four numbers of the top quark; (time of flight, label). */
enum { TABLE_NUMBERS = 804, TABLE_PARTICLES = 200, TABLE_LABELS = 2 };
static const char table_momenta[] = "table/table/values_block_0",
                  table_labels[] = "table/table/values_block_1";

static RelnStatus open_table(TaskEnv *env, JetsSource *s)
{
    const RelnArray *a, *b;

    TRY(want_array(env, s, table_momenta, 2, &s->arrays.momenta));
    TRY(want_array(env, s, table_labels, 2, &s->arrays.labels));
    a = reln_archive_info(s->archive, s->arrays.momenta);
    b = reln_archive_info(s->archive, s->arrays.labels);
    if (a->dims[1] != TABLE_NUMBERS || b->dims[1] != TABLE_LABELS)
        return task_fail(env, RELN_ERR_FORMAT,
                         "%s: a table of %td and %td numbers; wanted %d and %d",
                         reln_archive_name(s->archive), a->dims[1], b->dims[1], (int)TABLE_NUMBERS,
                         (int)TABLE_LABELS);
    s->n = a->dims[0];
    s->axis = TABLE_PARTICLES;
    return same_count(env, s, s->arrays.labels);
}

static RelnStatus open_extra(TaskEnv *env, JetsSource *s, const char *names)
{
    while (names && *names) {
        const size_t length = strcspn(names, ",");
        const RelnArray *a;
        char name[64];

        if (s->n_extra == JETS_EXTRA)
            return task_fail(env, RELN_ERR_ARG, "more than %d further inputs", (int)JETS_EXTRA);
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        TRY(want_array(env, s, name, 2, &s->arrays.extra[s->n_extra]));
        a = reln_archive_info(s->archive, s->arrays.extra[s->n_extra]);
        TRY(same_count(env, s, s->arrays.extra[s->n_extra]));
        if (a->dims[1] != s->axis)
            return task_fail(env, RELN_ERR_FORMAT, "%s: '%s' has %td particles in a row; wanted %d",
                             reln_archive_name(s->archive), name, a->dims[1], s->axis);
        s->n_extra++;
        names += length + (names[length] == ',');
    }
    return RELN_OK;
}

/* Finds the unit from a few jets: transverse momenta of jets are hundreds of GeV, or hundreds of thousands of
 * MeV. */
static RelnStatus find_unit(TaskEnv *env, JetsSource *s)
{
    enum { SOME = 16 };
    const double most = 20000; /* GeV: more than any collider reaches */
    int large = 0, n_seen = 0;

    s->unit = 1;
    for (ptrdiff_t i = 0; i < s->n && i < SOME; i++, n_seen++) {
        double total[4];
        int n;

        TRY(reln_archive_range(s->archive, s->arrays.momenta, i, 1, s->row));
        TRY(count_of(env, s, i, &n));
        jets_sum(n, s->row, total);
        large += jets_pt(total) > most;
    }
    s->unit = 2 * large > n_seen ? 1e-3 : 1;
    return RELN_OK;
}

static RelnStatus open_arrays(TaskEnv *env, JetsSource *s, const JetsFiles *files)
{
    if (reln_archive_find(s->archive, table_momenta) >= 0 ||
        reln_archive_unread(s->archive, table_momenta)) {
        s->arrays.layout = TABLE;
        TRY(open_table(env, s));
    } else if (reln_archive_find(s->archive, "Pmu") >= 0 ||
               reln_archive_unread(s->archive, "Pmu")) {
        TRY(open_lgn(env, s));
    } else {
        return task_fail(env, RELN_ERR_FORMAT,
                         "%s: no jets: wanted the arrays Pmu, Nobj and is_signal, or a table %s",
                         reln_archive_name(s->archive), table_momenta);
    }
    if (s->n < 1)
        return task_fail(env, RELN_ERR_FORMAT, "%s: no jets, the arrays are empty",
                         reln_archive_name(s->archive));
    s->arrays.weights = -1;
    if (files && files->weights) {
        TRY(want_array(env, s, files->weights, 1, &s->arrays.weights));
        TRY(same_count(env, s, s->arrays.weights));
    }
    return open_extra(env, s, files ? files->extra : NULL);
}

static void end_archive(void *archive)
{
    reln_archive_destroy(archive);
}

RelnStatus jets_source_open(TaskEnv *env, const char *path, const JetsFiles *files,
                            JetsSource **out)
{
    JetsSource *s = *out = new_source(env);

    if (!s)
        return task_nomem(env);
    TRY(reln_archive_open(env->ctx, path, &s->archive));
    TRY(task_own(env, s->archive, end_archive));
    TRY(open_arrays(env, s, files));
    s->row = task_room(&env->rooms, (size_t)s->axis * 4 + 4, sizeof *s->row);
    s->rest = task_room(&env->rooms, (size_t)s->axis, (JETS_EXTRA + 1) * sizeof *s->rest);
    if (!s->row || !s->rest)
        return task_nomem(env);
    TRY(find_unit(env, s));
    for (ptrdiff_t i = 0; i < s->n; i++)
        TRY(read_jet(env, s, i, NULL));
    return RELN_OK;
}

/* ---- folders ------------------------------------------------------------------------------------------------------- */

RelnStatus jets_find_files(TaskEnv *env, const char *path, char train[JETS_PATH],
                           char validation[JETS_PATH], char test[JETS_PATH])
{
    if (reln_folder_exists(path)) {
        TRY(reln_folder_find(env->ctx, path, "train", JETS_PATH, train));
        TRY(reln_folder_find(env->ctx, path, "val", JETS_PATH, validation));
        return reln_folder_find(env->ctx, path, "test", JETS_PATH, test);
    }
    snprintf(train, JETS_PATH, "%s", path);
    validation[0] = test[0] = '\0';
    return RELN_OK;
}
