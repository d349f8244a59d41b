/* shapes.c -- checks the extents of arrays against a SPEC. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "model/data.h"
#include "model/kinds.h"
#include "model/model.h"

/* ---- texts ------------------------------------------------------------------------------------------------------------- */

static const char *shape_text(const RelnArray *a, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "(");

    for (int i = 0; i < a->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%td", i ? ", " : "", a->dims[i]);
    if (used < size)
        snprintf(out + used, size - used, a->rank == 1 ? ",)" : ")");
    return out;
}

/* "(N, P, 3, 3) or (N, P, M, 3, 3)" */
static const char *wanted_text(RelnItems items, int n_tail, const int *tail, char *out, size_t size)
{
    static const char *const starts[] = {"N", "N, P", "N, E"};
    char end[48] = "";
    size_t used = 0;
    const char *start = starts[items];

    for (int i = 0; i < n_tail; i++)
        used += (size_t)snprintf(end + used, sizeof end - used, ", %d", tail[i]);
    snprintf(out, size, "(%s%s) or (%s, M%s)", start, end, start, end);
    return out;
}

/* ---- one array ----------------------------------------------------------------------------------------------------------- */

static RelnStatus find(RelnCtx *ctx, const RelnArchive *archive, const char *name,
                       const RelnArray **a, int *index)
{
    *index = reln_archive_find(archive, name);
    *a = reln_archive_info(archive, *index);
    if (*a)
        return RELN_OK;
    if (reln_archive_unread(archive, name))
        return reln_fail(ctx, RELN_ERR_UNSUPPORTED, "%s: array %s is %s, which is not read",
                         reln_archive_name(archive), name, reln_archive_unread(archive, name));
    return reln_data_missing(ctx, archive, name, "");
}

/* (N, [P,] [M,] tail...), or E in the place of P */
static bool fits(const RelnArray *a, RelnItems items, int n_tail, const int *tail,
                 RelnInputShape *shape)
{
    const bool points = items != RELN_ITEMS_SAMPLES;
    const int lead = points ? 2 : 1, middle = a->rank - lead - n_tail;

    if (middle < 0 || middle > 1)
        return false;
    for (int i = 0; i < n_tail; i++)
        if (a->dims[a->rank - n_tail + i] != tail[i])
            return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] < 1 || (i > 0 && a->dims[i] > 1 << 20))
            return false;
    shape->points = points ? (int)a->dims[1] : 0;
    shape->channels = middle ? (int)a->dims[lead] : 1;
    return true;
}

static RelnStatus shape_of(RelnCtx *ctx, const char *name, RelnAs as, RelnItems items, int n,
                           int dim, const RelnArray *a, RelnInputShape *shape)
{
    char seen[96], wanted[128];
    int tail[KIND_AXES];
    const int n_tail = reln_kind_dims(as, n, dim, tail);

    shape->size = reln_kind_size(as, n, dim);
    if (fits(a, items, n_tail, tail, shape))
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted %s (as: %s)", name,
                     shape_text(a, seen, sizeof seen),
                     wanted_text(items, n_tail, tail, wanted, sizeof wanted), reln_as_text(as));
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------- */

typedef struct Survey {
    RelnCtx *ctx;
    const RelnSpec *spec;
    const RelnArchive *archive;
    int n, dim;
    RelnDataFound *found;
    RelnShapes *shapes;
} Survey;

/* Returns the name of the first input that is an array. */
static const char *first_array(const RelnSpec *spec)
{
    int i = 0;

    while (i + 1 < spec->n_inputs && spec->input[i].n_value > 0)
        i++;
    return spec->input[i].name;
}

/* Checks that an array has as many samples as the first input. */
static RelnStatus check_count(Survey *s, const char *name, const RelnArray *a)
{
    if (s->found->count < 0)
        s->found->count = a->dims[0];
    if (a->dims[0] == s->found->count)
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: %td rows; wanted %td, as %s has", name,
                     a->dims[0], s->found->count, first_array(s->spec));
}

/* An input whose value stands in the SPEC is no array: as many channels as its numbers fill. */
static RelnStatus survey_value(Survey *s, int i)
{
    const RelnSpecInput *in = &s->spec->input[i];
    RelnInputShape *shape = &s->shapes->input[i];

    s->found->input[i] = -1;
    shape->size = reln_kind_size(in->as, s->n, s->dim);
    shape->channels = in->n_value / shape->size;
    if (shape->channels * shape->size == in->n_value)
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE,
                     "%s: a value of %d numbers; wanted %d, or a multiple "
                     "(as: %s)",
                     in->name, in->n_value, shape->size, reln_as_text(in->as));
}

static RelnStatus survey_input(Survey *s, int i)
{
    const RelnSpecInput *in = &s->spec->input[i];
    const RelnArray *a;

    if (in->n_value > 0)
        return survey_value(s, i);
    RELN_TRY(find(s->ctx, s->archive, in->name, &a, &s->found->input[i]));
    RELN_TRY(shape_of(s->ctx, in->name, in->as, reln_input_items(in), s->n, s->dim, a,
                      &s->shapes->input[i]));
    return check_count(s, in->name, a);
}

static RelnStatus survey_mask(Survey *s, const RelnSpecInput *in, int points)
{
    const RelnArray *a;
    char seen[96];

    RELN_TRY(find(s->ctx, s->archive, in->mask, &a, &s->found->mask));
    if (a->rank == 2 && a->dims[0] == s->found->count && a->dims[1] == points)
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted (%td, %d), a mask for %s",
                     in->mask, shape_text(a, seen, sizeof seen), s->found->count, points, in->name);
}

static RelnStatus survey_sizes(Survey *s, const RelnSpecInput *in, const char *name)
{
    const RelnArray *a;
    char seen[96];

    RELN_TRY(find(s->ctx, s->archive, name, &a, &s->found->sizes));
    if (a->dims[0] == s->found->count && reln_array_count(a) == a->dims[0])
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE,
                     "%s: shape %s; wanted (%td,), a count for each row of %s", name,
                     shape_text(a, seen, sizeof seen), s->found->count, in->name);
}

static RelnStatus survey_points(Survey *s)
{
    const RelnSpecInput *first = NULL;
    int points = 0;

    for (int i = 0; i < s->spec->n_inputs; i++) {
        const RelnSpecInput *in = &s->spec->input[i];

        if (!in->points)
            continue;
        if (first && s->shapes->input[i].points != points)
            return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: %d points; wanted %d, as %s has",
                             in->name, s->shapes->input[i].points, points, first->name);
        first = in;
        points = s->shapes->input[i].points;
    }
    if (first && (first->count[0] || first->offsets[0]))
        return survey_sizes(s, first, first->count[0] ? first->count : first->offsets);
    return first && first->mask[0] ? survey_mask(s, first, points) : RELN_OK;
}

/* The places for points of the first set; 0: there is none. */
static int places_of(const Survey *s)
{
    for (int i = 0; i < s->spec->n_inputs; i++)
        if (s->spec->input[i].points)
            return s->shapes->input[i].points;
    return 0;
}

/* The places of items of a sample, in the arrays that are there. */
static int places_for(const Survey *s, RelnItems items)
{
    return items == RELN_ITEMS_EDGES    ? s->found->edge_places
           : items == RELN_ITEMS_POINTS ? places_of(s)
                                        : 1;
}

static RelnStatus survey_target(Survey *s, int target)
{
    static const char *const classes[] = {"(N,), a class for each row",
                                          "(N, P), a class for each point",
                                          "(N, E), a class for each edge"};
    const RelnSpecTarget *t = &s->spec->target[target];
    const RelnItems items = reln_target_items(t);
    RelnInputShape shape = {0};
    const RelnArray *a;
    char seen[96];

    s->found->target[target] = reln_archive_find(s->archive, t->name);
    a = reln_archive_info(s->archive, s->found->target[target]);
    if (!a)
        return RELN_OK;
    if (t->as == RELN_TARGET_CLASS && a->rank != (items == RELN_ITEMS_SAMPLES ? 1 : 2))
        return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted %s", t->name,
                         shape_text(a, seen, sizeof seen), classes[items]);
    RELN_TRY(
        shape_of(s->ctx, t->name, reln_target_kind(t->as)->as, items, s->n, s->dim, a, &shape));
    if (items != RELN_ITEMS_SAMPLES && shape.points != places_for(s, items))
        return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: %d %s; wanted %d, as the %s have", t->name,
                         shape.points, t->edges ? "edges" : "points", places_for(s, items),
                         t->edges ? "given edges" : "inputs");
    s->shapes->target_channels[target] = shape.channels;
    return check_count(s, t->name, a);
}

/* Returns the items of all targets, if they are the same; samples otherwise. */
static RelnItems common_items(const RelnSpec *spec)
{
    const RelnItems first = reln_target_items(&spec->target[0]);

    for (int t = 1; t < spec->n_targets; t++)
        if (reln_target_items(&spec->target[t]) != first)
            return RELN_ITEMS_SAMPLES;
    return first;
}

/* Weights are one for each row, or one for each point or edge where all targets have a value for each. */
static RelnStatus survey_weights(Survey *s)
{
    static const char *const ors[] = {"", ", or one for each point", ", or one for each edge"};
    const RelnItems items = common_items(s->spec);
    const char *name = s->spec->weights;
    const RelnArray *a;
    char seen[96];

    s->found->weights = name[0] ? reln_archive_find(s->archive, name) : -1;
    a = reln_archive_info(s->archive, s->found->weights);
    if (!a)
        return RELN_OK;
    RELN_TRY(check_count(s, name, a));
    if (items != RELN_ITEMS_SAMPLES && a->rank == 2 && a->dims[1] == places_for(s, items))
        s->found->weights_of = items;
    if (s->found->weights_of != RELN_ITEMS_SAMPLES || reln_array_row_size(a) == 1)
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted (%td,)%s, the weights", name,
                     shape_text(a, seen, sizeof seen), s->found->count, ors[items]);
}

/* Checks that inputs of edges have as many places as there are for edges. */
static RelnStatus check_edge_inputs(const Survey *s)
{
    for (int i = 0; i < s->spec->n_inputs; i++)
        if (s->spec->input[i].edges && s->shapes->input[i].points != s->found->edge_places)
            return reln_fail(
                s->ctx, RELN_ERR_SHAPE, "%s: %d edges; wanted %d, as the given edges have",
                s->spec->input[i].name, s->shapes->input[i].points, s->found->edge_places);
    return RELN_OK;
}

/* An array of edges (N, E, 2), and its mask (N, E) or counts (N,). */
static RelnStatus survey_edges(Survey *s)
{
    const RelnSpecEdges *e = &s->spec->edges;
    const char *sizes = e->offsets[0] ? e->offsets : e->count;
    const RelnArray *a;
    char seen[96];

    if (!e->name[0])
        return RELN_OK;
    RELN_TRY(find(s->ctx, s->archive, e->name, &a, &s->found->edges));
    RELN_TRY(check_count(s, e->name, a));
    if (a->rank != 3 || a->dims[1] < 1 || a->dims[1] > 1 << 24 || a->dims[2] != 2)
        return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted (N, E, 2), edges", e->name,
                         shape_text(a, seen, sizeof seen));
    s->shapes->edges = s->found->edge_places = (int)a->dims[1];
    RELN_TRY(check_edge_inputs(s));
    if (!e->mask[0] && !sizes[0])
        return RELN_OK;
    RELN_TRY(find(s->ctx, s->archive, e->mask[0] ? e->mask : sizes, &a,
                  e->mask[0] ? &s->found->edge_mask : &s->found->edge_sizes));
    if (a->rank > 0 && a->dims[0] == s->found->count &&
        reln_array_row_size(a) == (e->mask[0] ? s->found->edge_places : 1))
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted (%td, %d), for the edges %s",
                     e->mask[0] ? e->mask : sizes, shape_text(a, seen, sizeof seen),
                     s->found->count, e->mask[0] ? s->found->edge_places : 1, e->name);
}

RelnStatus reln_data_find(RelnCtx *ctx, const RelnSpec *spec, int n, int dim,
                          const RelnArchive *archive, RelnDataFound *found, RelnShapes *shapes)
{
    Survey s = {ctx, spec, archive, n, dim, found, shapes};

    memset(shapes, 0, sizeof *shapes);
    *found = (RelnDataFound){.mask = -1,
                             .sizes = -1,
                             .weights = -1,
                             .edges = -1,
                             .edge_mask = -1,
                             .edge_sizes = -1,
                             .count = -1};
    for (int i = 0; i < spec->n_inputs; i++)
        RELN_TRY(survey_input(&s, i));
    RELN_TRY(survey_points(&s));
    RELN_TRY(survey_edges(&s));
    for (int t = 0; t < spec->n_targets; t++)
        RELN_TRY(survey_target(&s, t));
    return survey_weights(&s);
}

RelnStatus reln_data_look(RelnCtx *ctx, const RelnSpec *spec, int n, int dim, RelnArchive *archive,
                          RelnDataFound *found, RelnShapes *shapes)
{
    RelnSequence *sequence = NULL;
    RelnArchive *sets = NULL;
    RelnStatus status = reln_sequence_open(ctx, spec, n, dim, archive, &sequence);

    if (status == RELN_OK)
        status = reln_offsets_open(ctx, spec, archive, &sets);
    if (status == RELN_OK)
        status = reln_data_find(ctx, spec, n, dim,
                                sequence ? sequence->windows
                                : sets   ? sets
                                         : archive,
                                found, shapes);
    reln_archive_destroy(sets);
    reln_sequence_close(sequence);
    return status;
}

RelnStatus reln_data_shapes(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive,
                            RelnShapes *shapes)
{
    RelnDataFound found;
    int n, dim;

    RELN_TRY(reln_model_probe(ctx, spec, &n, &dim));
    return reln_data_look(ctx, spec, n, dim, archive, &found, shapes);
}
