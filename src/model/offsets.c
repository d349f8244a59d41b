/* offsets.c -- files that have the points or the edges of all samples one after another: offsets say where each sample begins, and
 * an archive shows each sample as a row. */
#include <math.h>
#include <string.h>

#include "io/windows.h"
#include "model/data.h"

/* An Offsets holds the array of offsets while it is checked. */
typedef struct Offsets {
    RelnCtx *ctx;
    RelnArchive *archive;
    const char *name;  /* "": there are none */
    RelnItems items;   /* that they divide: points or edges */
    ptrdiff_t rows;    /* samples */
    ptrdiff_t largest; /* size of a set */
    ptrdiff_t *at;     /* (rows + 1) */
} Offsets;

enum { PIECE = 4096 }; /* offsets looked at together */

static RelnStatus check_offset(const Offsets *o, ptrdiff_t i, double x)
{
    const double before = i > 0 ? (double)o->at[i - 1] : 0;

    if (!(x >= 0 && x <= 9e15 && x == floor(x)))
        return reln_fail(o->ctx, RELN_ERR_FORMAT,
                         "%s: row %td is %g; an offset, a whole number from 0 on, was wanted",
                         o->name, i, x);
    if (i == 0 && x != 0)
        return reln_fail(o->ctx, RELN_ERR_FORMAT, "%s: it begins with %.15g; wanted 0", o->name, x);
    if (x < before)
        return reln_fail(
            o->ctx, RELN_ERR_FORMAT,
            "%s: row %td is %.15g, behind %.15g of the row before it; offsets that do not "
            "go back were wanted",
            o->name, i, x, before);
    return RELN_OK;
}

static RelnStatus read_offsets(Offsets *o, int index)
{
    double piece[PIECE];

    for (ptrdiff_t first = 0; first <= o->rows; first += PIECE) {
        const ptrdiff_t left = o->rows + 1 - first, n = left < PIECE ? left : PIECE;

        RELN_TRY(reln_archive_range(o->archive, index, first, n, piece));
        for (ptrdiff_t i = 0; i < n; i++) {
            RELN_TRY(check_offset(o, first + i, piece[i]));
            o->at[first + i] = (ptrdiff_t)piece[i];
            if (first + i > 0 && o->at[first + i] - o->at[first + i - 1] > o->largest)
                o->largest = o->at[first + i] - o->at[first + i - 1];
        }
    }
    return RELN_OK;
}

/* Read the array of offsets and check that no offset is smaller than the one before it. The caller frees
 * o->at. */
static RelnStatus survey(Offsets *o)
{
    const int index = reln_archive_find(o->archive, o->name);
    const RelnArray *a = reln_archive_info(o->archive, index);

    if (!a)
        return reln_data_missing(o->ctx, o->archive, o->name, ", the offsets");
    if (a->rank < 1 || reln_array_row_size(a) != 1 || a->dims[0] < 2)
        return reln_fail(o->ctx, RELN_ERR_SHAPE,
                         "%s: %td numbers; wanted (N + 1,), where each sample begins and the last "
                         "one ends",
                         o->name, reln_array_count(a));
    o->rows = a->dims[0] - 1;
    o->at = reln_alloc(o->ctx, (size_t)a->dims[0], sizeof *o->at);
    return o->at ? read_offsets(o, index) : RELN_ERR_NOMEM;
}

/* ---- which arrays are divided ---------------------------------------------------------------------------------------- */

static bool is_of(const RelnSpec *spec, RelnItems items, const char *name)
{
    if (items == RELN_ITEMS_EDGES && strcmp(spec->edges.name, name) == 0)
        return true;
    for (int i = 0; i < spec->n_inputs; i++)
        if (reln_input_items(&spec->input[i]) == items && strcmp(spec->input[i].name, name) == 0)
            return true;
    for (int t = 0; t < spec->n_targets; t++)
        if (reln_target_items(&spec->target[t]) == items && strcmp(spec->target[t].name, name) == 0)
            return true;
    return false;
}

/* Returns whether the offsets divide an array. Weights belong to points or edges if their number is not that
 * of the samples. */
static bool is_divided(const Offsets *o, const RelnSpec *spec, const RelnArray *a)
{
    return is_of(spec, o->items, a->name) ||
           (strcmp(spec->weights, a->name) == 0 && a->rank > 0 && a->dims[0] != o->rows &&
            spec->target[0].edges == (o->items == RELN_ITEMS_EDGES));
}

static RelnStatus list_divided(const Offsets *o, const RelnArray *a, int index, RelnSetArray *out)
{
    if (a->rank < 1 || a->dims[0] != o->at[o->rows])
        return reln_fail(o->ctx, RELN_ERR_SHAPE,
                         "%s: it ends at %td, and %s has %td rows; wanted the same", o->name,
                         o->at[o->rows], a->name, a->rank < 1 ? 1 : a->dims[0]);
    *out = (RelnSetArray){{index, RELN_WINDOW_SET}, o->at, o->largest};
    return RELN_OK;
}

/* Adds an array to the list, if it has a row for each sample or is divided; others are left out. */
static RelnStatus list_array(int n_offsets, const Offsets *offsets, const RelnSpec *spec, int index,
                             RelnSetArray *list, int *n)
{
    const RelnArray *a = reln_archive_info(offsets->archive, index);

    for (int k = 0; k < n_offsets; k++) {
        if (strcmp(a->name, offsets[k].name) == 0) {
            list[(*n)++] = (RelnSetArray){{index, RELN_WINDOW_SIZE}, offsets[k].at, 0};
            return RELN_OK;
        }
        if (is_divided(&offsets[k], spec, a))
            return list_divided(&offsets[k], a, index, &list[(*n)++]);
    }
    if (a->rank > 0 && a->dims[0] == offsets->rows)
        list[(*n)++] = (RelnSetArray){{index, RELN_WINDOW_ROW}, NULL, 0};
    return RELN_OK;
}

static RelnStatus view(int n_offsets, const Offsets *offsets, const RelnSpec *spec,
                       RelnArchive **out)
{
    RelnCtx *ctx = offsets->ctx;
    const int count = reln_archive_count(offsets->archive);
    RelnSetArray *list = reln_alloc(ctx, (size_t)count, sizeof *list);
    RelnStatus status = list ? RELN_OK : RELN_ERR_NOMEM;
    int n = 0;

    for (int i = 0; i < count && status == RELN_OK; i++)
        status = list_array(n_offsets, offsets, spec, i, list, &n);
    if (status == RELN_OK)
        status = reln_archive_sets(ctx, offsets->archive, n, list, offsets->rows, out);
    reln_free(ctx, list);
    return status;
}

static const char *name_of(const RelnSpec *spec)
{
    for (int i = 0; i < spec->n_inputs; i++)
        if (spec->input[i].offsets[0])
            return spec->input[i].offsets;
    return "";
}

/* Reads all offsets, which must be of equally many samples. */
static RelnStatus survey_all(int n, Offsets *o)
{
    for (int k = 0; k < n; k++) {
        RELN_TRY(survey(&o[k]));
        if (o[k].rows != o->rows)
            return reln_fail(o->ctx, RELN_ERR_SHAPE,
                             "%s: offsets of %td samples; wanted %td, as %s has", o[k].name,
                             o[k].rows, o->rows, o->name);
    }
    return RELN_OK;
}

RelnStatus reln_offsets_open(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive,
                             RelnArchive **out)
{
    Offsets o[2] = {{.ctx = ctx, .archive = archive}, {.ctx = ctx, .archive = archive}};
    RelnStatus status;
    int n = 0;

    *out = NULL;
    if (name_of(spec)[0]) {
        o[n].name = name_of(spec);
        o[n++].items = RELN_ITEMS_POINTS;
    }
    if (spec->edges.offsets[0]) {
        o[n].name = spec->edges.offsets;
        o[n++].items = RELN_ITEMS_EDGES;
    }
    if (n == 0)
        return RELN_OK;
    status = survey_all(n, o);
    if (status == RELN_OK)
        status = view(n, o, spec, out);
    reln_free(ctx, o[0].at);
    reln_free(ctx, o[1].at);
    return status;
}
