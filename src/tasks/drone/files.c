/* files.c -- see files.h. */
#include "tasks/drone/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/csv.h"
#include "io/file.h"
#include "tasks/task.h"
#include "tensor/linalg.h"

#define MOST_GAP 0.5 /* s between rows */
#define SMOOTH 0.05  /* s: width of the mean over positions before they are differentiated */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A Rows holds the rows of a file, in SI units; v NULL: to be differentiated. */
typedef struct Rows {
    const RelnCsv *table;
    const char *name;
    double *t; /* (n): from 0 */
    const double *p[3], *q[4], *v[3];
} Rows;

static RelnStatus bad(const Rows *r, ptrdiff_t row, const char *what, double value)
{
    return reln_fail(r->table->ctx, RELN_ERR_FORMAT, "%s: line %td: %s %g", r->name,
                     r->table->lines[row], what, value);
}

static RelnStatus check_row(const Rows *r, ptrdiff_t i)
{
    double length = 0;

    for (int k = 0; k < 4; k++) {
        if (!isfinite(r->q[k][i]))
            return bad(r, i, "a quaternion with", r->q[k][i]);
        length += r->q[k][i] * r->q[k][i];
    }
    for (int k = 0; k < 3; k++) {
        if (!isfinite(r->p[k][i]))
            return bad(r, i, "a position with", r->p[k][i]);
        if (r->v[k] && !isfinite(r->v[k][i]))
            return bad(r, i, "a velocity with", r->v[k][i]);
    }
    if (!(length > 1e-6))
        return bad(r, i, "a quaternion of squared length", length);
    if (!isfinite(r->t[i]))
        return bad(r, i, "a time of", r->t[i]);
    if (i > 0 && r->t[i] <= r->t[i - 1])
        return bad(r, i, "time does not go on: seconds since the row before",
                   r->t[i] - r->t[i - 1]);
    if (i > 0 && r->t[i] - r->t[i - 1] > MOST_GAP)
        return bad(r, i, "a gap in time, in seconds:", r->t[i] - r->t[i - 1]);
    return RELN_OK;
}

/* Returns the unit of time in seconds, by the mean step between rows: ns, us or s. */
static double unit_of_time(const RelnCsv *t)
{
    const ptrdiff_t n = t->n_rows;
    const double step = n > 1 ? (t->values[n - 1] - t->values[0]) / (double)(n - 1) : 0;

    return step > 1e5 ? 1e-9 : step > 1e2 ? 1e-6 : 1;
}

static bool ends_with(const char *name, char end)
{
    const size_t n = strlen(name);

    return n > 0 && name[n - 1] == end;
}

/* Returns the column of the quaternion's w. It is the column whose name ends with w; without names, the first
 * of the four in EuRoC's files, whose time is not in seconds, and the last in TUM's files. */
static int real_column(const RelnCsv *t, bool seconds)
{
    for (int k = 4; k < 8; k++)
        if (ends_with(t->names[k], 'w') || ends_with(t->names[k], 'W'))
            return k;
    return seconds ? 7 : 4;
}

/* Finds the columns of time, position and quaternion, and the columns of velocity: those whose names say so,
 * or the next three in EuRoC's files. Other columns are ignored, such as covariances after TUM's columns. */
static RelnStatus open_rows(const RelnCsv *t, const char *name, double unit, Rows *r)
{
    const double *c = t->values;
    int real;
    bool moves;

    *r = (Rows){.table = t, .name = name};
    if (t->n_columns < 8)
        return reln_fail(t->ctx, RELN_ERR_FORMAT,
                         "%s: %d columns; wanted 8 (TUM: t, p, q x y z w) or 11 and more (EuRoC: "
                         "t, p, q w x y z, v)",
                         name, t->n_columns);
    real = real_column(t, unit == 1);
    moves = t->n_columns >= 11 && (unit < 1 || t->names[8][0] == 'v');
    for (int k = 0; k < 3; k++) {
        r->p[k] = c + (1 + k) * t->n_rows;
        r->v[k] = moves ? c + (8 + k) * t->n_rows : NULL;
        r->q[1 + k] = c + (4 + k + (4 + k >= real)) * t->n_rows;
    }
    r->q[0] = c + real * t->n_rows;
    r->t = malloc((size_t)t->n_rows * sizeof *r->t);
    if (!r->t)
        return reln_fail(t->ctx, RELN_ERR_NOMEM, "out of memory");
    for (ptrdiff_t i = 0; i < t->n_rows; i++)
        r->t[i] = (c[i] - c[0]) * unit;
    for (ptrdiff_t i = 0; i < t->n_rows; i++)
        RELN_TRY(check_row(r, i));
    return RELN_OK;
}

/* Returns the value of a column at a time, linear between rows; *at is the row before, which only
 * increases. */
static double value_at(const Rows *r, const double *column, double t, ptrdiff_t *at)
{
    const ptrdiff_t last = r->table->n_rows - 1;
    double share;

    while (*at + 1 < last && r->t[*at + 1] <= t)
        (*at)++;
    if (last == 0)
        return column[0];
    share = (t - r->t[*at]) / (r->t[*at + 1] - r->t[*at]);
    return column[*at] + fmin(fmax(share, 0), 1) * (column[*at + 1] - column[*at]);
}

static void quaternion_at(const Rows *r, double t, ptrdiff_t *at, double *q)
{
    double length = 0, sign = 0;

    value_at(r, r->q[0], t, at);
    for (int k = 0; k < 4 && r->table->n_rows > 1; k++)
        sign += r->q[k][*at] * r->q[k][*at + 1];
    for (int k = 0; k < 4; k++) {
        const double a = r->q[k][*at], b = r->table->n_rows > 1 ? r->q[k][*at + 1] : a;
        const double share =
            r->table->n_rows > 1 ? (t - r->t[*at]) / (r->t[*at + 1] - r->t[*at]) : 0;

        q[k] = a + share * ((sign < 0 ? -b : b) - a);
        length += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++)
        q[k] /= sqrt(length);
}

/* Replaces positions by means over SMOOTH, and computes velocities as their central differences. */
static RelnStatus differentiate(RelnCtx *ctx, DroneFlight *f)
{
    const int half = (int)lrint(0.5 * SMOOTH / f->step);
    double *mean = malloc((size_t)f->n * 3 * sizeof *mean);

    if (!mean)
        return reln_fail(ctx, RELN_ERR_NOMEM, "out of memory");
    for (ptrdiff_t i = 0; i < f->n; i++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;

            for (ptrdiff_t j = i - half; j <= i + half; j++)
                sum += f->p[3 * (j < 0 ? 0 : j < f->n ? j : f->n - 1) + k];
            mean[3 * i + k] = sum / (2 * half + 1);
        }
    memcpy(f->p, mean, (size_t)f->n * 3 * sizeof *mean);
    for (ptrdiff_t i = 0; i < f->n; i++) {
        const ptrdiff_t a = i > 0 ? i - 1 : i, b = i + 1 < f->n ? i + 1 : i;

        for (int k = 0; k < 3; k++)
            f->v[3 * i + k] =
                b > a ? (f->p[3 * b + k] - f->p[3 * a + k]) / ((double)(b - a) * f->step) : 0;
    }
    free(mean);
    return RELN_OK;
}

static RelnStatus sample(const Rows *r, double step, int least, DroneFlight *out)
{
    RelnCtx *ctx = r->table->ctx;
    const double seconds = r->t[r->table->n_rows - 1] / step;
    ptrdiff_t at = 0;

    if (seconds + 1 < least || seconds > 1e8)
        return reln_fail(ctx, RELN_ERR_NUMERIC, "%s: %g s long; wanted at least %g s", r->name,
                         r->t[r->table->n_rows - 1], (least - 1) * step);
    if (!drone_flight_init(out, (int)(seconds + 1e-6) + 1, step))
        return reln_fail(ctx, RELN_ERR_NOMEM, "out of memory");
    for (ptrdiff_t i = 0; i < out->n; i++) {
        const double t = fmin((double)i * step, r->t[r->table->n_rows - 1]);

        for (int k = 0; k < 3; k++) {
            out->p[3 * i + k] = value_at(r, r->p[k], t, &at);
            out->v[3 * i + k] = r->v[k] ? value_at(r, r->v[k], t, &at) : 0;
        }
        quaternion_at(r, t, &at, out->q + 4 * i);
    }
    return r->v[0] ? RELN_OK : differentiate(ctx, out);
}

RelnStatus drone_flight_load(RelnCtx *ctx, const char *path, double step, int least,
                             DroneFlight *out)
{
    RelnCsv table;
    Rows rows = {0};
    RelnStatus status = reln_csv_load(ctx, path, &table);
    const double unit = status == RELN_OK ? unit_of_time(&table) : 1;

    *out = (DroneFlight){0};
    if (status == RELN_OK)
        status = open_rows(&table, reln_path_tail(path), unit, &rows);
    if (status == RELN_OK)
        status = sample(&rows, step, least, out);
    if (status == RELN_OK)
        out->start = table.values[0] * unit;
    if (status != RELN_OK)
        drone_flight_clear(out);
    free(rows.t);
    reln_csv_clear(&table);
    return status;
}

/* ---- reading measurements ----------------------------------------------------------------------------------------- */

/* Reads all rows of an array of `size` numbers each, which must be finite. */
static RelnStatus read_array(RelnCtx *ctx, RelnArchive *a, const char *name, ptrdiff_t n, int size,
                             double *out)
{
    const int at = reln_archive_find(a, name);
    const RelnArray *info = at < 0 ? NULL : reln_archive_info(a, at);

    if (!info)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: no array %s", reln_archive_name(a), name);
    if (info->rank < 1 || info->dims[0] != n || reln_array_row_size(info) != size)
        return reln_fail(ctx, RELN_ERR_FORMAT,
                         "%s: %s has %td rows of %td numbers; wanted %td of %d",
                         reln_archive_name(a), name, info->rank < 1 ? 0 : info->dims[0],
                         info->rank < 1 ? 0 : reln_array_row_size(info), n, size);
    RELN_TRY(reln_archive_range(a, at, 0, n, out));
    for (ptrdiff_t i = 0; i < n * size; i++)
        if (!isfinite(out[i]))
            return reln_fail(ctx, RELN_ERR_FORMAT, "%s: row %td: %s has %g", reln_archive_name(a),
                             i / size, name, out[i]);
    return RELN_OK;
}

/* Computes the axes and variances of covariances c (n, 9). */
static RelnStatus decompose(RelnCtx *ctx, const char *file, const char *name, const double *c,
                            DroneSeen *seen)
{
    for (ptrdiff_t i = 0; i < seen->n; i++) {
        const double *x = c + 9 * i;
        double *var = seen->var + 3 * i, a[9];
        const double size = fabs(x[0]) + fabs(x[4]) + fabs(x[8]);

        for (int k = 0; k < 9; k++) {
            const double other = x[3 * (k % 3) + k / 3];

            if (fabs(x[k] - other) > 1e-6 * size)
                return reln_fail(ctx, RELN_ERR_FORMAT,
                                 "%s: row %td: %s is not symmetric: %g and %g", file, i, name, x[k],
                                 other);
            a[k] = 0.5 * (x[k] + other);
        }
        RELN_TRY(reln_eigh(ctx, 3, a, var, seen->axes + 9 * i));
        if (!(var[0] > 1e-12 * size))
            return reln_fail(
                ctx, RELN_ERR_FORMAT,
                "%s: row %td: %s is not positive definite: its smallest variance is %g", file, i,
                name, var[0]);
        memcpy(seen->slow + 3 * i, var, 3 * sizeof *var);
    }
    return RELN_OK;
}

static RelnStatus read_seen(RelnCtx *ctx, RelnArchive *a, int sensor, double *room, DroneSeen *seen)
{
    static const char *const names[2][2] = {{"v1", "C1"}, {"v2", "C2"}};

    RELN_TRY(read_array(ctx, a, names[sensor][0], seen->n, 3, seen->v));
    RELN_TRY(read_array(ctx, a, names[sensor][1], seen->n, 9, room));
    return decompose(ctx, reln_archive_name(a), names[sensor][1], room, seen);
}

static RelnStatus check_times(RelnCtx *ctx, const char *file, const DroneFlight *f, const double *t)
{
    for (ptrdiff_t i = 1; i < f->n; i++)
        if (fabs(t[i] - t[i - 1] - f->step) > 0.01 * f->step)
            return reln_fail(ctx, RELN_ERR_FORMAT,
                             "%s: row %td: %g s after the row before; wanted %g s", file, i,
                             t[i] - t[i - 1], f->step);
    return RELN_OK;
}

static RelnStatus read_flight(RelnCtx *ctx, RelnArchive *a, double *room, DroneFlight *f)
{
    RELN_TRY(read_array(ctx, a, "t", f->n, 1, room));
    RELN_TRY(check_times(ctx, reln_archive_name(a), f, room));
    f->start = room[0];
    RELN_TRY(read_array(ctx, a, "p", f->n, 3, f->p));
    for (ptrdiff_t i = 0; i < f->n; i++) {
        const ptrdiff_t before = i > 0 ? i - 1 : i, next = i + 1 < f->n ? i + 1 : i;

        f->q[4 * i] = 1;
        for (int k = 0; k < 3; k++)
            f->v[3 * i + k] =
                (f->p[3 * next + k] - f->p[3 * before + k]) / ((double)(next - before) * f->step);
    }
    return reln_archive_find(a, "q") < 0 ? RELN_OK : read_array(ctx, a, "q", f->n, 4, f->q);
}

static RelnStatus load_seen(RelnCtx *ctx, RelnArchive *a, double step, int least, int sensors,
                            DroneFlight *out, DroneSeen *seen)
{
    const int at = reln_archive_find(a, "t");
    const ptrdiff_t n =
        at < 0 || reln_archive_info(a, at)->rank < 1 ? 0 : reln_archive_info(a, at)->dims[0];
    RelnStatus status = RELN_OK;
    double *room;

    if (at >= 0 && (n < least || n > 100000000))
        return reln_fail(ctx, RELN_ERR_NUMERIC, "%s: %td samples; wanted at least %d",
                         reln_archive_name(a), n, least);
    room = malloc((size_t)(n + 1) * 9 * sizeof *room);
    if (!room || !drone_flight_init(out, (int)n, step))
        status = reln_fail(ctx, RELN_ERR_NOMEM, "out of memory");
    if (status == RELN_OK)
        status = read_flight(ctx, a, room, out);
    for (int s = 0; s < sensors && status == RELN_OK; s++)
        status = drone_seen_init(&seen[s], (int)n)
                     ? read_seen(ctx, a, s, room, &seen[s])
                     : reln_fail(ctx, RELN_ERR_NOMEM, "out of memory");
    free(room);
    return status;
}

RelnStatus drone_flight_load_seen(RelnCtx *ctx, const char *path, double step, int least,
                                  int sensors, DroneFlight *out, DroneSeen *seen)
{
    RelnArchive *archive = NULL;
    RelnStatus status;

    *out = (DroneFlight){0};
    for (int s = 0; s < sensors; s++)
        seen[s] = (DroneSeen){0};
    status = reln_archive_open(ctx, path, &archive);
    if (status == RELN_OK)
        status = load_seen(ctx, archive, step, least, sensors, out, seen);
    reln_archive_destroy(archive);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

RelnStatus drone_estimate_save(RelnCtx *ctx, const char *path, const DroneFlight *f, int n,
                               int every, const double *errors)
{
    RelnText text;
    RelnStatus status;
    char line[256];

    reln_text_init(&text, ctx);
    reln_text_puts(&text, "# timestamp tx ty tz qx qy qz qw\n");
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *p = f->p + 3 * i * every, *q = f->q + 4 * i * every;
        const double none[3] = {0}, *e = errors ? errors + 3 * i : none;

        snprintf(line, sizeof line, "%.6f %.9f %.9f %.9f %.9f %.9f %.9f %.9f\n",
                 f->start + (double)(i * every) * f->step, p[0] + e[0], p[1] + e[1], p[2] + e[2],
                 q[1], q[2], q[3], q[0]);
        reln_text_puts(&text, line);
    }
    status = text.failed ? RELN_ERR_NOMEM : reln_file_write(ctx, path, text.bytes, text.n);
    reln_text_clear(&text);
    return status;
}

static RelnArray array(const char *name, ptrdiff_t n, int size, double *values)
{
    return (RelnArray){.name = name,
                       .dtype = RELN_F64,
                       .rank = size > 1 ? 2 : 1,
                       .dims = {n, size},
                       .f64 = values};
}

static RelnStatus save_npz(RelnCtx *ctx, const char *path, const DroneFlight *f, int sensors,
                           const DroneSeen *seen, double *room)
{
    static const char *const names[2][2] = {{"v1", "C1"}, {"v2", "C2"}};
    double *t = room, *c = room + f->n;
    RelnArray arrays[8];
    int n = 0;

    for (ptrdiff_t i = 0; i < f->n; i++)
        t[i] = (double)i * f->step;
    arrays[n++] = array("t", f->n, 1, t);
    arrays[n++] = array("p", f->n, 3, f->p);
    arrays[n++] = array("v", f->n, 3, f->v);
    arrays[n++] = array("q", f->n, 4, f->q);
    for (int s = 0; s < sensors && seen; s++) {
        double *at = c + (ptrdiff_t)s * 9 * f->n;

        for (ptrdiff_t i = 0; i < f->n; i++)
            drone_spectral(seen[s].axes + 9 * i, seen[s].var + 3 * i, at + 9 * i);
        arrays[n++] = array(names[s][0], f->n, 3, seen[s].v);
        arrays[n] = array(names[s][1], f->n, 3, at);
        arrays[n].rank = 3;
        arrays[n++].dims[2] = 3;
    }
    return reln_npz_save(ctx, path, n, arrays);
}

RelnStatus drone_flight_save(RelnCtx *ctx, const char *folder, const char *name,
                             const DroneFlight *f, int sensors, const DroneSeen *seen)
{
    double *room = malloc((size_t)f->n * 19 * sizeof *room);
    char path[1024];
    RelnStatus status = RELN_OK;

    if (!room)
        return reln_fail(ctx, RELN_ERR_NOMEM, "out of memory");
    if (snprintf(path, sizeof path, "%s/%s.npz", folder, name) >= (int)sizeof path)
        status = reln_fail(ctx, RELN_ERR_ARG, "the path of the folder is too long");
    if (status == RELN_OK)
        status = save_npz(ctx, path, f, sensors, seen, room);
    snprintf(path, sizeof path, "%s/%s.tum", folder, name);
    if (status == RELN_OK)
        status = drone_estimate_save(ctx, path, f, f->n, 1, NULL);
    free(room);
    return status;
}
