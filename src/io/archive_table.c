/* archive_table.c -- a table of text as an archive: every column is an array, and columns that are components of
 * one vector are joined to an array, too.
 *
 * The names of columns say which ones belong together: a stem, a letter x, y or z, and perhaps a number, as in
 * p_x p_y p_z, tx ty tz or px1 py1 pz1. The vector has the name of the stem and the number. With a fourth column of the
 * letter w it is a quaternion (w, x, y, z); px py pz with a column E are a four-momentum (E, px, py, pz). Quaternions of
 * length 1 up to the digits of a text are divided by their length.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/archive.h"
#include "io/csv.h"

/* A Join lists the columns of a vector, in the order of its components. */
typedef struct Join {
    int n;
    int column[4];
    bool attitude; /* a quaternion */
    const char *name;
} Join;

static int find_column(const RelnCsv *t, const char *name)
{
    for (int c = 0; c < t->n_columns; c++)
        if (strcmp(t->names[c], name) == 0)
            return c;
    return -1;
}

/* Returns the column whose name has the given letter at place `at` and equals that of column c elsewhere; -1:
 * none. */
static int sibling(const RelnCsv *t, int c, size_t at, char letter)
{
    char name[128];

    if (snprintf(name, sizeof name, "%s", t->names[c]) >= (int)sizeof name)
        return -1;
    name[at] = isupper((unsigned char)name[at]) ? (char)toupper((unsigned char)letter) : letter;
    return find_column(t, name);
}

/* Returns the column E of the components px, py, pz: "E", "e" or "energy", with the number that follows the
 * letter x in the name of column c; -1: none. */
static int energy_column(const RelnCsv *t, int c, size_t at)
{
    static const char *const words[] = {"E", "e", "energy", "E_", "e_"};
    char name[128];

    if (at == 0 || tolower((unsigned char)t->names[c][0]) != 'p' || at > 2)
        return -1;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        snprintf(name, sizeof name, "%s%s", words[i], t->names[c] + at + 1);
        if (find_column(t, name) >= 0)
            return find_column(t, name);
    }
    return -1;
}

/* Sets the name of a vector: the stem before the letter and the number after it; "xyz" without a stem. A name
 * that a column has already gets "_xyz" at its end. */
static bool name_join(RelnArchive *v, const RelnCsv *t, int c, size_t at, Join *join)
{
    const char *const full = t->names[c];
    size_t stem = at;

    while (stem > 0 && strchr("_.-", full[stem - 1]))
        stem--;
    join->name = reln_arena_printf(&v->arena, "%.*s%s%s", (int)stem, full, stem == 0 ? "xyz" : "",
                                   full + at + 1);
    if (join->name && find_column(t, join->name) >= 0)
        join->name = reln_arena_printf(&v->arena, "%s_xyz", join->name);
    return join->name != NULL;
}

/* Finds the vector whose x component is column c; join->n is 0 if there is none. */
static RelnStatus find_join(RelnArchive *v, const RelnCsv *t, int c, Join *join)
{
    size_t at = strlen(t->names[c]);
    int y, z, first;

    *join = (Join){0};
    while (at > 0 && isdigit((unsigned char)t->names[c][at - 1]))
        at--;
    if (at == 0 || tolower((unsigned char)t->names[c][--at]) != 'x')
        return RELN_OK;
    y = sibling(t, c, at, 'y');
    z = sibling(t, c, at, 'z');
    if (y < 0 || z < 0)
        return RELN_OK;
    first = sibling(t, c, at, 'w');
    if (first < 0)
        first = energy_column(t, c, at);
    *join = first < 0 ? (Join){3, {c, y, z}, false, NULL}
                      : (Join){4, {first, c, y, z}, sibling(t, c, at, 'w') >= 0, NULL};
    if (!name_join(v, t, c, at, join))
        return RELN_ERR_NOMEM;
    if (find_column(t, join->name) >= 0)
        join->n = 0;
    return RELN_OK;
}

enum { NEAR_ONE = 1000 }; /* squared lengths differ from 1 by at most 1 / NEAR_ONE */

static double squared_length(const double *q)
{
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
}

/* Divides quaternions by their length, unless one is not of length 1 up to rounding. */
static void normalise(ptrdiff_t n, double *q)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(fabs(squared_length(q + 4 * i) - 1) <= 1.0 / NEAR_ONE))
            return;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double length = sqrt(squared_length(q + 4 * i));

        for (int k = 0; k < 4; k++)
            q[4 * i + k] /= length;
    }
}

static RelnStatus add_join(RelnArchive *v, const RelnCsv *t, const Join *join)
{
    const RelnArray array = {
        .name = join->name, .dtype = RELN_F64, .rank = 2, .dims = {t->n_rows, join->n}};
    double *values = NULL;
    Array *a = NULL;

    RELN_TRY(reln_archive_add(v, &array, &values, &a));
    for (ptrdiff_t i = 0; i < t->n_rows; i++)
        for (int k = 0; k < join->n; k++)
            values[i * join->n + k] = t->values[join->column[k] * t->n_rows + i];
    if (join->attitude)
        normalise(t->n_rows, values);
    return RELN_OK;
}

static RelnStatus add_column(RelnArchive *v, const RelnCsv *t, int c, bool component)
{
    const RelnArray array = {
        .name = t->names[c], .dtype = RELN_F64, .rank = 1, .dims = {t->n_rows}};
    double *values = NULL;
    Array *a = NULL;

    RELN_TRY(reln_archive_add(v, &array, &values, &a));
    a->component = component;
    memcpy(values, t->values + c * t->n_rows, (size_t)t->n_rows * sizeof *values);
    return RELN_OK;
}

/* Returns whether a table without names is a trajectory as TUM's benchmark writes them: eight columns, the first
 * one ascends, and the last four are quaternions of length 1. */
static bool is_trajectory(const RelnCsv *t)
{
    const ptrdiff_t n = t->n_rows;
    const double *const x = t->values;

    if (t->n_columns != 8 || strcmp(t->names[0], "column0") != 0 || n < 2)
        return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double q[4] = {x[4 * n + i], x[5 * n + i], x[6 * n + i], x[7 * n + i]};

        if (!(fabs(squared_length(q) - 1) <= 1.0 / NEAR_ONE) || (i > 0 && !(x[i] > x[i - 1])))
            return false;
    }
    return true;
}

static RelnStatus take_columns(RelnArchive *v, RelnCsv *t)
{
    static const char *const trajectory[8] = {"timestamp", "tx", "ty", "tz",
                                              "qx",        "qy", "qz", "qw"};
    bool *component = reln_arena_alloc(&v->arena, (size_t)t->n_columns, sizeof *component);

    if (!component)
        return RELN_ERR_NOMEM;
    if (is_trajectory(t))
        for (int c = 0; c < 8; c++)
            t->names[c] = trajectory[c];
    /* Three columns at least make a vector, so there are fewer vectors than columns. */
    RELN_TRY(reln_archive_make(v, 2 * (size_t)t->n_columns));
    for (int c = 0; c < t->n_columns; c++) {
        Join join;

        RELN_TRY(find_join(v, t, c, &join));
        for (int k = 0; k < join.n; k++)
            component[join.column[k]] = true;
        if (join.n > 0)
            RELN_TRY(add_join(v, t, &join));
    }
    for (int c = 0; c < t->n_columns; c++)
        RELN_TRY(add_column(v, t, c, component[c]));
    return RELN_OK;
}

RelnStatus reln_archive_take_table(RelnArchive *v, const char *path)
{
    RelnCsv table;
    RelnStatus status = reln_csv_load(v->ctx, path, &table);

    if (status == RELN_OK)
        status = take_columns(v, &table);
    reln_csv_clear(&table);
    return status;
}
