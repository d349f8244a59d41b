/* shapes.c -- the extents of arrays against a SPEC; arrays in memory as a source. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "model/data.h"
#include "model/model.h"

/* ---- texts ------------------------------------------------------------------------------------------------------------- */

const char *reln_data_shape_text(const RelnDataArray *a, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "(");

    for (int i = 0; i < a->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%td", i ? ", " : "", a->dims[i]);
    if (used < size)
        snprintf(out + used, size - used, a->rank == 1 ? ",)" : ")");
    return out;
}

/* "(N, P, 3, 3) or (N, P, M, 3, 3)" */
static const char *wanted_text(bool points, int n_tail, const int *tail, char *out, size_t size)
{
    char end[48] = "";
    size_t used = 0;
    const char *start = points ? "N, P" : "N";

    for (int i = 0; i < n_tail; i++)
        used += (size_t)snprintf(end + used, sizeof end - used, ", %d", tail[i]);
    snprintf(out, size, "(%s%s) or (%s, M%s)", start, end, start, end);
    return out;
}

/* ---- one array ----------------------------------------------------------------------------------------------------------- */

static RelnStatus find(RelnCtx *ctx, const RelnDataSource *source, const char *name,
                       RelnDataArray *a, int *index)
{
    *index = source->find(source->self, name, a);
    if (*index >= 0)
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_FORMAT, "%s: there is no array %s", source->what, name);
}

/* (N, [P,] [M,] tail...) */
static bool fits(const RelnDataArray *a, bool points, int n_tail, const int *tail,
                 RelnInputShape *shape)
{
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

/* Extents of one thing of a kind: n n, n, dim, none. */
static int tail_of(RelnAs as, int n, int dim, int *tail)
{
    tail[0] = as == RELN_AS_ELEMENT ? dim : as == RELN_AS_FOURVECTOR ? 4 : n;
    tail[1] = n;
    if (as == RELN_AS_SCALAR)
        return 0;
    return as == RELN_AS_MATRIX || as == RELN_AS_COVARIANCE ? 2 : 1;
}

static RelnStatus shape_of(RelnCtx *ctx, const char *name, RelnAs as, bool points, int n, int dim,
                           const RelnDataArray *a, RelnInputShape *shape)
{
    char seen[96], wanted[128];
    int tail[2];
    const int n_tail = tail_of(as, n, dim, tail);

    shape->size = reln_input_size(as, n, dim);
    if (fits(a, points, n_tail, tail, shape))
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted %s (as: %s)", name,
                     reln_data_shape_text(a, seen, sizeof seen),
                     wanted_text(points, n_tail, tail, wanted, sizeof wanted), reln_as_text(as));
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------- */

typedef struct Survey {
    RelnCtx *ctx;
    const RelnSpec *spec;
    const RelnDataSource *source;
    int n, dim;
    RelnDataFound *found;
    RelnShapes *shapes;
} Survey;

/* Every array has as many samples as the first input. */
static RelnStatus check_count(Survey *s, const char *name, const RelnDataArray *a)
{
    if (s->found->count < 0)
        s->found->count = a->dims[0];
    if (a->dims[0] == s->found->count)
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: %td rows; wanted %td, as %s has", name,
                     a->dims[0], s->found->count, s->spec->input[0].name);
}

static RelnStatus survey_input(Survey *s, int i)
{
    const RelnSpecInput *in = &s->spec->input[i];
    RelnDataArray a = {0};

    RELN_TRY(find(s->ctx, s->source, in->name, &a, &s->found->input[i]));
    RELN_TRY(
        shape_of(s->ctx, in->name, in->as, in->points, s->n, s->dim, &a, &s->shapes->input[i]));
    return check_count(s, in->name, &a);
}

static RelnStatus survey_mask(Survey *s, const RelnSpecInput *in, int points)
{
    RelnDataArray a = {0};
    char seen[96];

    RELN_TRY(find(s->ctx, s->source, in->mask, &a, &s->found->mask));
    if (a.rank == 2 && a.dims[0] == s->found->count && a.dims[1] == points)
        return RELN_OK;
    return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted (%td, %d), a mask for %s",
                     in->mask, reln_data_shape_text(&a, seen, sizeof seen), s->found->count, points,
                     in->name);
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
    return first && first->mask[0] ? survey_mask(s, first, points) : RELN_OK;
}

static RelnStatus survey_target(Survey *s)
{
    static const RelnAs as[] = {RELN_AS_SCALAR, RELN_AS_SCALAR, RELN_AS_VECTOR, RELN_AS_MATRIX};
    const RelnSpecTarget *t = &s->spec->target;
    RelnInputShape shape = {0};
    RelnDataArray a = {0};
    char seen[96];

    s->found->target = s->source->find(s->source->self, t->name, &a);
    if (s->found->target < 0)
        return RELN_OK;
    if (t->as == RELN_TARGET_CLASS && a.rank != 1)
        return reln_fail(s->ctx, RELN_ERR_SHAPE, "%s: shape %s; wanted (N,), a class for each row",
                         t->name, reln_data_shape_text(&a, seen, sizeof seen));
    RELN_TRY(shape_of(s->ctx, t->name, as[t->as], false, s->n, s->dim, &a, &shape));
    s->shapes->target_channels = shape.channels;
    return check_count(s, t->name, &a);
}

RelnStatus reln_data_find(RelnCtx *ctx, const RelnSpec *spec, const RelnDataSource *source,
                          RelnDataFound *found, RelnShapes *shapes)
{
    Survey s = {ctx, spec, source, 0, 0, found, shapes};

    memset(shapes, 0, sizeof *shapes);
    *found = (RelnDataFound){.mask = -1, .target = -1, .count = -1};
    RELN_TRY(reln_model_probe(ctx, spec, &s.n, &s.dim));
    for (int i = 0; i < spec->n_inputs; i++)
        RELN_TRY(survey_input(&s, i));
    RELN_TRY(survey_points(&s));
    return survey_target(&s);
}

RelnStatus reln_data_shapes(RelnCtx *ctx, const RelnSpec *spec, const RelnDataSource *source,
                            RelnShapes *shapes)
{
    RELN_NEED(ctx && spec && source && shapes, reln_null(ctx, __func__));

    RelnDataFound found;

    return reln_data_find(ctx, spec, source, &found, shapes);
}

/* ---- arrays in memory ------------------------------------------------------------------------------------------------------------ */

static int memory_find(void *self, const char *name, RelnDataArray *out)
{
    const RelnDataMemory *memory = self;

    for (int i = 0; i < memory->count; i++)
        if (strcmp(memory->arrays[i].name, name) == 0) {
            out->rank = memory->arrays[i].rank;
            memcpy(out->dims, memory->arrays[i].dims, sizeof out->dims);
            return out->rank > 0 ? i : -1;
        }
    return -1;
}

static double value_at(const RelnNamed *a, ptrdiff_t i)
{
    switch (a->dtype) {
    case RELN_F32:
        return (double)((const float *)a->values)[i];
    case RELN_I32:
        return ((const int32_t *)a->values)[i];
    case RELN_I64:
        return (double)((const int64_t *)a->values)[i];
    default:
        return ((const double *)a->values)[i];
    }
}

static RelnStatus memory_read(void *self, int array, ptrdiff_t first, ptrdiff_t count, double *out)
{
    const RelnDataMemory *memory = self;
    const RelnNamed *a = &memory->arrays[array];
    ptrdiff_t size = 1;

    for (int d = 1; d < a->rank; d++)
        size *= a->dims[d];
    for (ptrdiff_t i = 0; i < count * size; i++)
        out[i] = value_at(a, first * size + i);
    return RELN_OK;
}

RelnDataSource reln_data_memory(RelnDataMemory *memory, const char *what)
{
    return (RelnDataSource){what, memory, memory_find, memory_read};
}
