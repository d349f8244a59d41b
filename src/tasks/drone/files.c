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

/* Finds the columns: EuRoC's files have at least 11, TUM's 8. */
static RelnStatus open_rows(const RelnCsv *t, const char *name, Rows *r)
{
    const bool euroc = t->n_columns >= 11;
    const double *c = t->values;

    *r = (Rows){.table = t, .name = name};
    if (t->n_columns != 8 && !euroc)
        return reln_fail(t->ctx, RELN_ERR_FORMAT,
                         "%s: %d columns; wanted 8 (TUM: t, p, q x y z w) or 11 and more (EuRoC: "
                         "t, p, q w x y z, v)",
                         name, t->n_columns);
    for (int k = 0; k < 3; k++) {
        r->p[k] = c + (1 + k) * t->n_rows;
        r->v[k] = euroc ? c + (8 + k) * t->n_rows : NULL;
    }
    for (int k = 0; k < 4; k++)
        r->q[k] = c + (euroc ? 4 + k : k == 0 ? 7 : 3 + k) * t->n_rows;
    r->t = malloc((size_t)t->n_rows * sizeof *r->t);
    if (!r->t)
        return reln_fail(t->ctx, RELN_ERR_NOMEM, "out of memory");
    for (ptrdiff_t i = 0; i < t->n_rows; i++)
        r->t[i] = (c[i] - c[0]) * (euroc ? 1e-9 : 1);
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

    *out = (DroneFlight){0};
    if (status == RELN_OK)
        status = open_rows(&table, reln_path_tail(path), &rows);
    if (status == RELN_OK)
        status = sample(&rows, step, least, out);
    if (status != RELN_OK)
        drone_flight_clear(out);
    free(rows.t);
    reln_csv_clear(&table);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static RelnStatus save_tum(RelnCtx *ctx, const char *path, const DroneFlight *f)
{
    RelnText text;
    RelnStatus status;
    char line[256];

    reln_text_init(&text, ctx);
    reln_text_puts(&text, "# timestamp tx ty tz qx qy qz qw\n");
    for (ptrdiff_t i = 0; i < f->n; i++) {
        const double *p = f->p + 3 * i, *q = f->q + 4 * i;

        snprintf(line, sizeof line, "%.6f %.9f %.9f %.9f %.9f %.9f %.9f %.9f\n",
                 (double)i * f->step, p[0], p[1], p[2], q[1], q[2], q[3], q[0]);
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
        status = save_tum(ctx, path, f);
    free(room);
    return status;
}
