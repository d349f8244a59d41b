/* check.c -- measures whether a model is equivariant: compares f(g x) with g f(x), layer by layer.
 *
 * Every draw is one sample and one group element, so one run of a plan with the unmoved samples and one run with all
 * samples moved give a whole column of the table. The verdict is made in double precision, whatever the model was
 * trained in: an error there is rounding or a mistake, and rounding is bounded. Moving the input rounds it, and a
 * network amplifies this rounding: the factor is measured by changing the input a little.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "fit/fit.h"
#include "model/kinds.h"
#include "reln/fit.h"
#include "reln/random.h"

/* A Net is one network with its tapped layers, in one precision. */
typedef struct Net {
    RelnModel *model; /* the caller's, or made here and destroyed with the Net */
    bool owned;
    RelnModelGraph graph;
    int first_output;               /* layers from here on are outputs of targets */
    int target_of[RELN_MODEL_TAPS]; /* the target of each output */
    RelnPlan *plan;
    RelnData *data;
    RelnElement **elements; /* one for each draw, in the groups of this model */
} Net;

typedef struct Checker {
    RelnCtx *ctx;
    RelnArena arena;
    RelnModel *model;
    int total, n_inputs; /* number of draws of each condition number */
    int draws, first,
        room;   /* the current block: number of draws, first draw, and largest number of draws */
    int blocks; /* number of blocks so far */
    const ptrdiff_t *rows; /* rows of the archive, one for each draw; NULL: the first rows */
    RelnPool *pool;
    Net own, wide;        /* in its own precision and in double; the same Net if that is double */
    RelnArchive *archive; /* the caller's samples, or */
    RelnArray *random;    /* random samples, if they are `drawn` */
    bool drawn;
    double **raw, **moved; /* inputs of all draws: (draws, numbers of a sample) */
    ptrdiff_t *block_rows; /* (draws): their rows of the archive */
    double *mask;          /* (draws, points), or NULL without points */
    ptrdiff_t *first_row;  /* (draws + 1): the points of a draw among those of all, or NULL */
    ptrdiff_t *first_edge; /* (draws + 1): its edges among those of all, or NULL */
    double *errors;        /* errors of all draws: (conditions, precisions, layers, total) */
} Checker;

/* A Plain holds the values of the tapped layers of both networks for the unmoved samples of a block. */
typedef struct Plain {
    RelnArena arena;
    double *wide[RELN_MODEL_TAPS], *own[RELN_MODEL_TAPS];
} Plain;

enum { WIDE, OWN, PRECISIONS };

/* ---- samples ------------------------------------------------------------------------------------------------------ */

/* Returns the places for points or edges of a random input, 0 for an input of samples: every point has one edge. */
static int places_of(const Checker *c, int input)
{
    return reln_model_spec(c->model)->input[input].edges
               ? reln_model_points(c->model)
               : reln_model_shapes(c->model)->input[input].points;
}

/* Sets the shape of an array that the SPEC asks for: (draws, [points,] [channels,] ...). */
static void describe(const Checker *c, int input, RelnArray *array)
{
    const RelnSpecInput *spec = &reln_model_spec(c->model)->input[input];
    const RelnInputShape *shape = &reln_model_shapes(c->model)->input[input];
    int dims[KIND_AXES];
    const int rank = reln_kind_dims(spec->as, reln_model_n(c->model), shape->size, dims);

    *array = (RelnArray){.name = spec->name, .dtype = RELN_F64};
    array->dims[array->rank++] = c->draws;
    if (shape->points)
        array->dims[array->rank++] = places_of(c, input);
    if (shape->channels > 1 || rank == 0)
        array->dims[array->rank++] = shape->channels;
    for (int i = 0; i < rank; i++)
        array->dims[array->rank++] = dims[i];
}

/* Returns whether an array of that name is among the first `count`. Inputs of points share their mask. */
static bool shared(const Checker *c, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(c->random[i].name, name) == 0)
            return true;
    return false;
}

/* Adds an array (draws, [each]) of one value: the mask of full sets, or their counts. */
static RelnStatus add_constant(Checker *c, const char *name, int each, double value, int *count)
{
    const size_t n = (size_t)c->draws * (size_t)each;
    double *values = reln_arena_alloc(&c->arena, n, sizeof *values);

    for (size_t k = 0; values && k < n; k++)
        values[k] = value;
    c->random[*count] = (RelnArray)RELN_ARRAY(name, RELN_F64, values, c->draws, each);
    if (each == 1)
        c->random[*count].rank = 1;
    *count += 1;
    return values ? RELN_OK : RELN_ERR_NOMEM;
}

/* Add edges from every point to the next, and from the last to the first. */
static RelnStatus add_edges(Checker *c, int *count)
{
    const RelnSpecEdges *e = &reln_model_spec(c->model)->edges;
    const int points = reln_model_points(c->model);
    double *values =
        reln_arena_alloc(&c->arena, (size_t)c->draws * (size_t)points * 2, sizeof *values);

    for (int i = 0; values && i < c->draws * points; i++) {
        values[2 * i] = i % points;
        values[2 * i + 1] = (i + 1) % points;
    }
    c->random[(*count)++] = (RelnArray)RELN_ARRAY(e->name, RELN_F64, values, c->draws, points, 2);
    if (e->mask[0])
        RELN_TRY(add_constant(c, e->mask, points, 1, count));
    if (e->count[0] || e->offsets[0])
        RELN_TRY(add_constant(c, e->count[0] ? e->count : e->offsets, 1, points, count));
    return values ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus make_random(Checker *c, uint64_t seed)
{
    const RelnSpec *spec = reln_model_spec(c->model);
    int count = 0;

    c->random = reln_arena_alloc(&c->arena, 2 * (size_t)c->n_inputs + 3, sizeof *c->random);
    if (!c->random)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < c->n_inputs; i++) {
        RelnInputShape shape = reln_model_shapes(c->model)->input[i];
        RelnRng rng = reln_rng(seed, (uint64_t)i + 1);
        ptrdiff_t size;
        double *values;

        shape.points = places_of(c, i);
        size = c->draws * reln_input_count(&shape);
        values = reln_arena_alloc(&c->arena, (size_t)size, sizeof *values);
        if (!values)
            return RELN_ERR_NOMEM;
        reln_input_draw(c->model, i, &rng, size, values);
        describe(c, i, &c->random[count]);
        c->random[count++].values = values;
        if (spec->input[i].mask[0] && !shared(c, count, spec->input[i].mask))
            RELN_TRY(add_constant(c, spec->input[i].mask, shape.points, 1, &count));
        if (spec->input[i].count[0] && !shared(c, count, spec->input[i].count))
            RELN_TRY(add_constant(c, spec->input[i].count, 1, shape.points, &count));
        if (spec->input[i].offsets[0] && !shared(c, count, spec->input[i].offsets))
            RELN_TRY(add_constant(c, spec->input[i].offsets, 1, shape.points, &count));
    }
    if (spec->edges.name[0])
        RELN_TRY(add_edges(c, &count));
    c->drawn = true;
    return reln_archive_from_arrays(c->ctx, "random inputs", count, c->random, &c->archive);
}

/* ---- networks ----------------------------------------------------------------------------------------------------- */

static void add_output(Net *net, const char *name, int target, RelnNode *node)
{
    RelnTap *tap = &net->graph.taps[net->graph.n_taps];

    if (net->graph.n_taps == RELN_MODEL_TAPS)
        return;
    reln_target_port(name, target, tap->name);
    tap->node = node;
    net->target_of[net->graph.n_taps++] = target;
}

static RelnStatus net_open(Checker *c, RelnModel *model, Net *net)
{
    net->model = model;
    RELN_TRY(reln_data_open(
        model, c->archive,
        &(RelnDataOptions){.without_target = true, .windows = c->drawn, .known = c->rows != NULL},
        &net->data));
    /* layers without a rep have no action of g: for an mlp only the output is compared */
    RELN_TRY(reln_model_build(model,
                              &(RelnModelOptions){.taps = reln_model_promises(model),
                                                  .sizes = reln_data_sizes(net->data)},
                              &net->graph));
    /* the outputs are the last layers */
    net->first_output = net->graph.n_taps;
    for (int t = 0; t < reln_model_spec(model)->n_targets; t++) {
        add_output(net, "y", t, net->graph.y[t]);
        if (net->graph.variance[t])
            add_output(net, "variance", t, net->graph.variance[t]);
    }
    return reln_plan_create(
        net->graph.graph,
        &(RelnPlanOptions){.pool = c->pool, .reference = reln_model_reference(c->model)},
        &net->plan);
}

static void net_close(Net *net, int draws)
{
    for (int d = 0; net->elements && d < draws; d++)
        reln_element_destroy(net->elements[d]);
    reln_data_destroy(net->data);
    reln_plan_destroy(net->plan);
    reln_model_graph_clear(&net->graph);
    if (net->owned)
        reln_model_destroy(net->model);
}

/* A TapShape is the layout of a tapped layer: items made of groups of (K, C); one item for each draw, one
 * for each point, or one for each group of points. */
typedef struct TapShape {
    ptrdiff_t items, item; /* number of items, and numbers of one item */
    RelnItems
        of; /* every draw has as many items as points or edges; of samples: all have equally many */
    int k, c;
} TapShape;

static TapShape tap_shape(const Net *net, int tap)
{
    const RelnDims d = reln_node_dims(net->graph.taps[tap].node);
    TapShape s = {.item = (ptrdiff_t)d.p * d.q * d.r * d.k * d.c, .k = d.k, .c = d.c};

    s.of = reln_model_layer_items(net->graph.taps[tap].node);
    (void)reln_plan_output(net->plan, net->graph.taps[tap].name, &s.items);
    return s;
}

/* Returns the index of a draw's first number; draw number `draws` gives the end of the array. */
static ptrdiff_t begin_of(const Checker *c, const TapShape *s, int draw)
{
    const ptrdiff_t *first = s->of == RELN_ITEMS_EDGES    ? c->first_edge
                             : s->of == RELN_ITEMS_POINTS ? c->first_row
                                                          : NULL;

    return s->item * (first ? first[draw] : draw * (s->items / c->draws));
}

static void widen(RelnDtype dtype, const void *from, ptrdiff_t count, double *to)
{
    if (dtype == RELN_F64)
        memcpy(to, from, (size_t)count * sizeof *to);
    else
        for (ptrdiff_t i = 0; i < count; i++)
            to[i] = (double)((const float *)from)[i];
}

static RelnStatus net_run(const Checker *c, Net *net, double *const *inputs)
{
    const double *values[RELN_SPEC_INPUTS];

    for (int i = 0; i < c->n_inputs; i++)
        values[i] = inputs[i];
    RELN_TRY(reln_data_bind_raw(net->data, net->plan, c->draws, values, c->mask, c->block_rows));
    return reln_plan_run(net->plan, &(RelnRun){.n_samples = c->draws});
}

static RelnStatus net_read(const Net *net, int tap, double **out, RelnArena *arena)
{
    const TapShape s = tap_shape(net, tap);
    const RelnTap *t = &net->graph.taps[tap];

    if (!*out && !(*out = reln_arena_alloc(arena, (size_t)(s.items * s.item), sizeof **out)))
        return RELN_ERR_NOMEM;
    widen(reln_node_dtype(t->node), reln_plan_output(net->plan, t->name, NULL), s.items * s.item,
          *out);
    return RELN_OK;
}

/* ---- errors ------------------------------------------------------------------------------------------------------- */

static double norm(ptrdiff_t count, const double *x)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static double distance(ptrdiff_t count, const double *x, const double *y)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum);
}

/* Applies rho (K, K) to every group of (K, C) of one draw. */
static void turn(const TapShape *s, ptrdiff_t size, const double *rho, const double *x, double *out)
{
    for (ptrdiff_t at = 0; at < size; at += (ptrdiff_t)s->k * s->c)
        for (int k = 0; k < s->k; k++)
            for (int c = 0; c < s->c; c++) {
                double y = 0;
                for (int j = 0; j < s->k; j++)
                    y += rho[k * s->k + j] * x[at + (ptrdiff_t)j * s->c + c];
                out[at + (ptrdiff_t)k * s->c + c] = y;
            }
}

/* Computes g f(x) by the rep of the tapped layer. In a model without a promise layers have no rep, and its
 * output transforms as the target does. */
static RelnStatus carry(const Net *net, int tap, ptrdiff_t size, const RelnElement *g,
                        const double *x, double *rho, double *out)
{
    const TapShape s = tap_shape(net, tap);

    memcpy(out, x, (size_t)size * sizeof *out);
    if (!g)
        return RELN_OK;
    if (!reln_model_promises(net->model)) /* variances of an mlp are plain numbers */
        return net->graph.taps[tap].node == net->graph.y[net->target_of[tap]]
                   ? reln_model_act_truth(net->model, net->target_of[tap], g, out)
                   : RELN_OK;
    RELN_TRY(reln_rep_act(reln_node_rep(net->graph.taps[tap].node), g, rho));
    turn(&s, size, rho, x, out);
    return RELN_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Computes the errors of one tapped layer in a block, relative to the size of the sample's values, or to the
 * block's mean size if a sample's values are smaller. */
static RelnStatus tap_errors(Checker *c, const Net *net, int tap, const double *plain,
                             const double *moved, bool identity, double *errors)
{
    const TapShape s = tap_shape(net, tap);
    const double usual = norm(s.items * s.item, moved) / sqrt(c->draws);
    const size_t square = (size_t)s.k * (size_t)s.k;
    double *rho = reln_alloc(c->ctx, square + (size_t)(s.items * s.item), sizeof *rho);
    RelnStatus status = rho ? RELN_OK : RELN_ERR_NOMEM;

    for (int i = 0; i < c->draws && status == RELN_OK; i++) {
        const ptrdiff_t at = begin_of(c, &s, i), count = begin_of(c, &s, i + 1) - at;
        const double size = fmax(norm(count, moved + at), usual);
        double *wanted = rho + square;

        status =
            carry(net, tap, count, identity ? NULL : net->elements[i], plain + at, rho, wanted);
        errors[i] = size == 0.0 ? 0 : distance(count, wanted, moved + at) / size;
        if (isnan(errors[i])) /* NaN counts as an infinite error */
            errors[i] = HUGE_VAL;
    }
    reln_free(c->ctx, rho);
    return status;
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

/* Returns the address of a layer's errors. */
static double *errors_of(const Checker *c, int cond, int precision, int layer)
{
    const ptrdiff_t layers = c->wide.graph.n_taps;

    return c->errors + (((ptrdiff_t)cond * PRECISIONS + precision) * layers + layer) * c->total;
}

/* Computes the errors of every tapped layer of a network that has just run, against its values for the
 * unmoved samples. */
static RelnStatus all_errors(Checker *c, const Net *net, double *const *plain, bool identity,
                             double *const *errors)
{
    RelnStatus status = RELN_OK;

    for (int t = 0; t < net->graph.n_taps && status == RELN_OK; t++) {
        double *moved = NULL;
        RelnArena arena;

        reln_arena_init(&arena, c->ctx);
        status = net_read(net, t, &moved, &arena);
        if (status == RELN_OK)
            status = tap_errors(c, net, t, plain[t], moved, identity, errors[t]);
        reln_arena_clear(&arena);
    }
    return status;
}

/* Measures the factor by which a layer amplifies the rounding of its input, by changing the input by a small
 * share of itself. The largest factor of all blocks is kept. */
static RelnStatus gains(Checker *c, const Plain *plain, double *out)
{
    const double change = 1e-7;
    RelnRng rng = reln_rng(7, (uint64_t)c->blocks);
    double *errors[RELN_MODEL_TAPS];

    for (int i = 0; i < c->n_inputs; i++) {
        const ptrdiff_t size = reln_data_numbers(c->wide.data, i);

        for (ptrdiff_t k = 0; k < c->draws * size; k++)
            c->moved[i][k] = c->raw[i][k] * (1 + change * reln_rng_normal(&rng));
        reln_input_mend(c->model, i, c->draws * size, c->moved[i]);
    }
    RELN_TRY(net_run(c, &c->wide, c->moved));
    for (int t = 0; t < c->wide.graph.n_taps; t++)
        errors[t] = errors_of(c, 0, WIDE, t) + c->first; /* memory that is free until the errors are
                                                          * computed */
    RELN_TRY(all_errors(c, &c->wide, plain->wide, true, errors));
    for (int t = 0; t < c->wide.graph.n_taps; t++)
        for (int d = 0; d < c->draws; d++)
            if (isfinite(errors[t][d])) /* only finite errors measure the factor */
                out[t] = fmax(out[t], errors[t][d] / change);
    return RELN_OK;
}

/* Draws the elements for a net: the same for every net, though each net has its own group objects. */
static RelnStatus draw(const Checker *c, Net *net, double cond, uint64_t seed)
{
    RelnRng rng = reln_rng(seed, 1000003 + (uint64_t)c->blocks);

    for (int d = 0; d < c->draws; d++) {
        reln_element_destroy(net->elements[d]);
        net->elements[d] = NULL;
        RELN_TRY(reln_model_element(net->model, &rng, cond, &net->elements[d]));
    }
    return RELN_OK;
}

static RelnStatus move(Checker *c, double cond, uint64_t seed)
{
    RELN_TRY(draw(c, &c->own, cond, seed));
    RELN_TRY(draw(c, &c->wide, cond, seed));
    for (int i = 0; i < c->n_inputs; i++) {
        const ptrdiff_t size = reln_data_numbers(c->wide.data, i);

        memcpy(c->moved[i], c->raw[i], (size_t)(c->draws * size) * sizeof **c->moved);
        for (int d = 0; d < c->draws; d++)
            RELN_TRY(reln_model_act(c->wide.model, i, c->wide.elements[d], size,
                                    c->moved[i] + d * size));
    }
    return RELN_OK;
}

/* Computes a block's part of a column of the table, for one precision; `plain` must be the values of this
 * net. */
static RelnStatus column(Checker *c, Net *net, double *const *plain, int cond, int precision)
{
    double *errors[RELN_MODEL_TAPS];

    for (int t = 0; t < net->graph.n_taps; t++)
        errors[t] = errors_of(c, cond, precision, t) + c->first;
    RELN_TRY(net_run(c, net, c->moved));
    return all_errors(c, net, plain, false, errors);
}

static RelnStatus read_plain(Checker *c, Net *net, double **plain, RelnArena *arena)
{
    RELN_TRY(net_run(c, net, c->raw));
    for (int t = 0; t < net->graph.n_taps; t++)
        RELN_TRY(net_read(net, t, &plain[t], arena));
    return RELN_OK;
}

/* Rounding of the moved input grows with cond^3 at most: two factors come from g X g^-1 and one from dividing
 * the error by the size of the result. Where two points are equal up to rounding, a pool may choose the other
 * one, which gives a few draws larger errors: so the smallest 19 of 20 errors decide. A draw that gives NaN
 * or infinity fails the check. */
static void judge(RelnCheck *out, int cond_index, double cond, int layer, double gain, double most)
{
    const double allowed = DBL_EPSILON * (64.0 * (layer + 1) + 2 * cond * cond * cond) * gain;

    out->layers[layer].at[cond_index].allowed = allowed;
    if (out->promises && !(most <= allowed && isfinite(out->layers[layer].at[cond_index].worst)))
        out->kept = false;
}

/* Returns the error that 19 of 20 draws do not exceed; `errors` are sorted, smallest first. */
static double most_of(const Checker *c, const double *errors)
{
    return errors[(c->total - 1) * 19 / 20];
}

/* Records the first condition number at which the output's error is large in the model's own precision but
 * small in double. */
static void part(RelnCheck *out, double cond, double own, double wide)
{
    if (out->parts_at == 0.0 && own > RELN_CHECK_PARTS && !(wide > RELN_CHECK_PARTS / 10)) {
        out->parts_at = cond;
        out->parts_by = own;
    }
}

/* Fills in the table from the errors of all blocks. */
static void summarise(const Checker *c, const double *gain, RelnCheck *out)
{
    for (int k = 0; k < out->n_conds; k++)
        for (int l = 0; l < out->n_layers; l++) {
            double *wide = errors_of(c, k, WIDE, l), *own = errors_of(c, k, OWN, l);

            qsort(wide, (size_t)c->total, sizeof *wide, by_size);
            qsort(own, (size_t)c->total, sizeof *own, by_size);
            out->layers[l].at[k].median = wide[c->total / 2];
            out->layers[l].at[k].worst = wide[c->total - 1];
            out->layers[l].at[k].own_median = own[c->total / 2];
            out->layers[l].at[k].own_worst = own[c->total - 1];
            judge(out, k, out->conds[k], l, gain[l], most_of(c, wide));
            if (out->promises && l >= c->wide.first_output)
                part(out, out->conds[k], most_of(c, own), most_of(c, wide));
        }
}

/* Returns the row of the archive that provides the sample of a draw. */
static ptrdiff_t row_of(const Checker *c, int draw)
{
    return c->rows ? c->rows[c->first + draw] : c->first + draw;
}

/* Reads the samples of a block. */
static RelnStatus read_raw(Checker *c)
{
    const int points = reln_data_places(c->wide.data);

    for (int i = 0; i < c->n_inputs; i++) {
        const ptrdiff_t size = reln_data_numbers(c->wide.data, i);

        for (int d = 0; d < c->draws; d++)
            RELN_TRY(reln_data_raw(c->wide.data, i, row_of(c, d), c->raw[i] + d * size));
    }
    for (int d = 0; d < c->draws; d++)
        c->block_rows[d] = row_of(c, d);
    for (int d = 0; c->mask && d < c->draws; d++) {
        RELN_TRY(reln_data_mask(c->wide.data, row_of(c, d), c->mask + (ptrdiff_t)d * points));
        c->first_row[d + 1] = c->first_row[d];
        for (int k = 0; k < points; k++)
            c->first_row[d + 1] += c->mask[(ptrdiff_t)d * points + k] != 0.0;
        c->first_edge[d + 1] = c->first_edge[d] + reln_data_edges(c->wide.data, c->block_rows[d]);
    }
    return RELN_OK;
}

static RelnStatus run_block(Checker *c, Plain *plain, uint64_t seed, double *gain,
                            const RelnCheck *out)
{
    RELN_TRY(read_raw(c));
    RELN_TRY(read_plain(c, &c->wide, plain->wide, &plain->arena));
    RELN_TRY(gains(c, plain, gain));
    RELN_TRY(read_plain(c, &c->own, plain->own, &plain->arena));
    for (int k = 0; k < out->n_conds; k++) {
        RELN_TRY(move(c, out->conds[k], seed + (uint64_t)k));
        RELN_TRY(column(c, &c->wide, plain->wide, k, WIDE));
        RELN_TRY(column(c, &c->own, plain->own, k, OWN));
    }
    return RELN_OK;
}

static RelnStatus fill(Checker *c, uint64_t seed, RelnCheck *out)
{
    double gain[RELN_MODEL_TAPS];
    RelnStatus status = RELN_OK;

    for (int l = 0; l < out->n_layers; l++)
        gain[l] = 1;
    for (; c->first < c->total && status == RELN_OK; c->first += c->draws, c->blocks++) {
        Plain plain = {0};

        reln_arena_init(&plain.arena, c->ctx);
        c->draws = c->total - c->first < c->room ? c->total - c->first : c->room;
        status = run_block(c, &plain, seed, gain, out);
        reln_arena_clear(&plain.arena);
    }
    if (status == RELN_OK)
        summarise(c, gain, out);
    return status;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* Returns a condition number that many elements have, if the largest is given: three quarters of the way from 1, rounded to two
 * digits of the way. */
static double usual_cond(double largest)
{
    const double e = 0.75 * (largest - 1), unit = pow(10, floor(log10(e)) - 1);

    return 1 + unit * round(e / unit);
}

/* Chooses the condition numbers: 1, 10, 100, 1000. Elements of a compact group have condition number 1 in an orthogonal frame. In
 * a skewed frame theirs are bounded by that of the frame squared, and only the identity is sure to have 1. */
static RelnStatus choose_conds(const RelnModel *model, RelnCheck *out)
{
    enum { TRIES = 4 };
    const double wanted = pow(10, RELN_CHECK_CONDS - 1);
    double most = 1;

    for (int i = 0; i < TRIES && most < 0.99 * wanted; i++) {
        RelnRng rng = reln_rng(1, (uint64_t)i + 1);
        RelnElement *g = NULL;

        RELN_TRY(reln_model_element(model, &rng, wanted, &g));
        most = fmax(most, reln_element_cond(g));
        reln_element_destroy(g);
    }
    out->n_conds = 0;
    for (int k = 0; k < RELN_CHECK_CONDS && 0.99 * pow(10, k) < most; k++)
        out->conds[out->n_conds++] = pow(10, k);
    if (out->n_conds < RELN_CHECK_CONDS && most > 1 + 1e-6 &&
        usual_cond(most) > out->conds[out->n_conds - 1])
        out->conds[out->n_conds++] = usual_cond(most);
    return RELN_OK;
}

/* Returns the number of draws in a block: as many as fill this much memory, and at least four. Every layer is
 * stored four times (the buffers of both plans, and the values of both networks for unmoved samples), and one
 * layer twice more (its values for moved samples, and g f(x)). */
static int block_size(const Checker *c)
{
    const double most = 16e6;
    const RelnLayout layout = reln_data_layout(c->wide.data);
    const double points = fmax(1, fmax(layout.places, layout.edges));
    double numbers = 1, largest = 0;

    for (int t = 0; t < c->wide.graph.n_taps; t++) {
        const RelnNode *node = c->wide.graph.taps[t].node;
        const RelnDims d = reln_node_dims(node);
        const double count = (double)d.p * d.q * d.r * d.k * d.c *
                             (reln_node_domain(node) == RELN_SAMPLES ? 1 : points);

        numbers += count;
        largest = fmax(largest, count);
    }
    return (int)fmax(4, fmin(c->total, most / (sizeof(double) * (4 * numbers + 2 * largest))));
}

static RelnStatus allocate(Checker *c, int n_conds)
{
    const size_t draws = (size_t)c->room, n = (size_t)c->n_inputs;
    const size_t places = (size_t)reln_data_places(c->wide.data);
    const size_t columns = (size_t)(n_conds * PRECISIONS * c->wide.graph.n_taps);
    bool room;

    c->own.elements = reln_arena_alloc(&c->arena, draws, sizeof *c->own.elements);
    c->wide.elements = reln_arena_alloc(&c->arena, draws, sizeof *c->wide.elements);
    c->errors = reln_arena_alloc(&c->arena, columns * (size_t)c->total, sizeof *c->errors);
    c->raw = reln_arena_alloc(&c->arena, n, sizeof *c->raw);
    c->moved = reln_arena_alloc(&c->arena, n, sizeof *c->moved);
    c->block_rows = reln_arena_alloc(&c->arena, draws, sizeof *c->block_rows);
    room = c->own.elements && c->wide.elements && c->errors && c->raw && c->moved && c->block_rows;
    for (int i = 0; room && i < c->n_inputs; i++) {
        const size_t size = draws * (size_t)reln_data_numbers(c->wide.data, i);

        c->raw[i] = reln_arena_alloc(&c->arena, size, sizeof **c->raw);
        c->moved[i] = reln_arena_alloc(&c->arena, size, sizeof **c->moved);
        room = c->raw[i] && c->moved[i];
    }
    if (room && places > 0) {
        c->mask = reln_arena_alloc(&c->arena, draws * places, sizeof *c->mask);
        c->first_row = reln_arena_alloc(&c->arena, draws + 1, sizeof *c->first_row);
        c->first_edge = reln_arena_alloc(&c->arena, draws + 1, sizeof *c->first_edge);
        room = c->mask && c->first_row && c->first_edge;
    }
    return room ? RELN_OK : RELN_ERR_NOMEM;
}

/* Opens the caller's file or draws random inputs, unless an archive is given. */
static RelnStatus open_source(Checker *c, const RelnCheckOptions *options)
{
    if (c->archive)
        return RELN_OK;
    if (!options->data_path)
        return make_random(c, options->seed);
    return reln_archive_open(c->ctx, options->data_path, &c->archive);
}

static RelnStatus open_nets(Checker *c)
{
    const bool wide = reln_model_spec(c->model)->train.dtype == RELN_F64;
    RelnModel *model = c->model;

    if (!wide) {
        RELN_TRY(reln_model_convert(c->model, RELN_F64, &c->wide.model));
        c->wide.owned = true;
        model = c->wide.model;
    }
    RELN_TRY(net_open(c, model, &c->wide));
    return net_open(c, c->model, &c->own);
}

/* Returns the text for a layer's rep. The output's rep is named as in the SPEC: a target "vector" is shown as
 * "vector", whichever rep it has. */
static const char *rep_text(const Net *net, int tap)
{
    const RelnTap *t = &net->graph.taps[tap];
    const int target = net->target_of[tap];
    const bool output = tap >= net->first_output, value = t->node == net->graph.y[target];
    const RelnTargetAs as = reln_model_spec(net->model)->target[target].as;

    if (!reln_model_promises(net->model))
        return "nothing promised";
    if (output && value && as != RELN_TARGET_SCALAR && as != RELN_TARGET_CLASS)
        return reln_target_text(as);
    if (output && !value && reln_node_dims(t->node).k > 1)
        return reln_target_text(RELN_TARGET_COVARIANCE);
    return reln_rep_name(reln_node_rep(t->node));
}

/* If there are several targets, outputs are named after them. */
static void name_output(const Net *net, int tap, RelnCheckLayer *out)
{
    const RelnSpec *spec = reln_model_spec(net->model);
    const int target = net->target_of[tap];
    const bool value = net->graph.taps[tap].node == net->graph.y[target];

    if (spec->n_targets > 1)
        snprintf(out->name, sizeof out->name, "%s %.50s", value ? "y" : "variance",
                 spec->target[target].name);
}

static void name_layer(const Net *net, int tap, RelnCheckLayer *out)
{
    const RelnTap *t = &net->graph.taps[tap];

    snprintf(out->name, sizeof out->name, "%s", t->name);
    if (tap >= net->first_output)
        name_output(net, tap, out);
    snprintf(out->rep, sizeof out->rep, "%s", rep_text(net, tap));
}

static RelnStatus check(Checker *c, const RelnCheckOptions *options, RelnCheck *out)
{
    if (options->threads > 1)
        RELN_TRY(reln_pool_create(c->ctx, options->threads, &c->pool));
    RELN_TRY(open_source(c, options));
    RELN_TRY(open_nets(c));
    if (!c->rows && reln_data_count(c->wide.data) < c->total)
        c->total = (int)reln_data_count(c->wide.data);
    out->draws = c->total;
    out->promises = out->kept = reln_model_promises(c->model);
    out->n_layers = c->wide.graph.n_taps;
    for (int l = 0; l < out->n_layers; l++)
        name_layer(&c->wide, l, &out->layers[l]);
    RELN_TRY(choose_conds(c->model, out));
    c->room = block_size(c);
    RELN_TRY(allocate(c, out->n_conds));
    return fill(c, options->seed, out);
}

RelnStatus reln_check_rows(RelnModel *model, const RelnCheckOptions *options, RelnArchive *archive,
                           ptrdiff_t n, const ptrdiff_t *rows, RelnCheck *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(out, reln_null(reln_model_ctx(model), "reln_check"));

    const RelnCheckOptions given = options ? *options : (RelnCheckOptions){0};
    Checker c = {.ctx = reln_model_ctx(model), .model = model, .rows = rows};
    RelnStatus status;

    *out = (RelnCheck){0};
    c.total = given.draws > 0 ? given.draws : 50;
    if (rows && n < c.total)
        c.total = (int)n;
    c.archive = archive;
    c.draws = c.total;
    c.n_inputs = reln_model_spec(model)->n_inputs;
    reln_arena_init(&c.arena, c.ctx);
    status = check(&c, &given, out);
    net_close(&c.own, c.room);
    net_close(&c.wide, c.room);
    if (c.archive != archive)
        reln_archive_destroy(c.archive);
    reln_pool_destroy(c.pool);
    reln_arena_clear(&c.arena);
    return status;
}

RelnStatus reln_check(RelnModel *model, const RelnCheckOptions *options, RelnCheck *out)
{
    return reln_check_rows(model, options, NULL, 0, NULL, out);
}

const char *reln_check_note(const RelnCheck *check, char *text, size_t size)
{
    RELN_NEED(text && size > 0, "");
    text[0] = '\0';
    if (check && check->parts_at > 0)
        snprintf(
            text, size,
            "in frames of condition number %g the output in f32 is off by %.2g of its size, in "
            "f64 it is not: use --dtype f64 with predict and eval",
            check->parts_at, check->parts_by);
    return text;
}
