/* check.c -- does a model keep its promise? f(g x) against g f(x), layer by layer.
 *
 * Every draw is a sample of its own with a group element of its own, so one run of a plan with the samples as they are
 * and one with all of them moved is a whole column of the table. It is judged in double precision, whatever the model was
 * trained in: what is left there is rounding or a mistake, and rounding is bounded. The input is rounded when it is moved,
 * and a network amplifies that: how much is measured by moving the input a little.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "fit/fit.h"
#include "reln/fit.h"
#include "reln/random.h"

/* One network with its taps, in one precision. */
typedef struct Net {
    RelnModel *model; /* made here and destroyed with it, or the caller's */
    bool owned;
    RelnModelGraph graph;
    RelnPlan *plan;
    RelnData *data;
    RelnElement **elements; /* one for each draw, in the groups of this model */
} Net;

typedef struct Checker {
    RelnCtx *ctx;
    RelnArena arena;
    RelnModel *model;
    int draws, n_inputs;
    RelnPool *pool;
    Net own, wide; /* in its own precision and in double; one and the same when that is double */
    RelnFeed feed; /* the caller's samples, or */
    RelnNamed *random; /* our own */
    RelnDataSource source;
    RelnDataMemory memory;
    double **raw, **moved; /* inputs of all draws: (draws, numbers of a sample) */
    double *mask;          /* (draws, points), or NULL */
    ptrdiff_t
        *first_row; /* (draws + 1) with a mask: the points of a draw among those of all, or NULL */
    double **plain; /* what every tap gave for the samples as they are */
    double *errors; /* of the draws */
} Checker;

/* ---- samples ------------------------------------------------------------------------------------------------------ */

static void random_covariance(RelnRng *rng, int n, double *s)
{
    double l[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];

    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            l[i * n + k] = reln_rng_normal(rng) / sqrt(n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s[i * n + j] = i == j ? 0.1 : 0;
            for (int k = 0; k < n; k++)
                s[i * n + j] += l[i * n + k] * l[j * n + k];
        }
}

/* Numbers as large as those of training, of the kind that the input wants. */
static void random_input(const RelnModel *model, int input, RelnRng *rng, ptrdiff_t count,
                         double *x)
{
    const RelnSpecInput *spec = &reln_model_spec(model)->input[input];
    const RelnInputShape *shape = &reln_model_shapes(model)->input[input];
    const double scale = reln_model_constants(model)->scale[input];
    const int n = reln_model_n(model);

    if (spec->as == RELN_AS_COVARIANCE) {
        for (ptrdiff_t i = 0; i < count / shape->size; i++)
            random_covariance(rng, n, x + i * shape->size);
        return;
    }
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] = scale * reln_rng_normal(rng);
}

/* The shape that the SPEC wants of an array: (draws, [points,] [channels,] ...). */
static void describe(const Checker *c, int input, RelnNamed *array)
{
    const RelnSpecInput *spec = &reln_model_spec(c->model)->input[input];
    const RelnInputShape *shape = &reln_model_shapes(c->model)->input[input];
    const int n = reln_model_n(c->model);
    const bool square = spec->as == RELN_AS_MATRIX || spec->as == RELN_AS_COVARIANCE;

    *array = (RelnNamed){.name = spec->name, .dtype = RELN_F64};
    array->dims[array->rank++] = c->draws;
    if (shape->points)
        array->dims[array->rank++] = shape->points;
    if (shape->channels > 1 || spec->as == RELN_AS_SCALAR)
        array->dims[array->rank++] = shape->channels;
    if (square)
        array->dims[array->rank++] = n;
    if (spec->as != RELN_AS_SCALAR)
        array->dims[array->rank++] = square ? n : shape->size;
}

static RelnStatus make_random(Checker *c, uint64_t seed)
{
    const RelnSpec *spec = reln_model_spec(c->model);
    int count = 0;

    c->random = reln_arena_alloc(&c->arena, 2 * (size_t)c->n_inputs, sizeof *c->random);
    if (!c->random)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < c->n_inputs; i++) {
        const RelnInputShape *shape = &reln_model_shapes(c->model)->input[i];
        const ptrdiff_t size = c->draws * reln_input_count(shape);
        RelnRng rng = reln_rng(seed, (uint64_t)i + 1);
        double *values = reln_arena_alloc(&c->arena, (size_t)size, sizeof *values);

        if (!values)
            return RELN_ERR_NOMEM;
        random_input(c->model, i, &rng, size, values);
        describe(c, i, &c->random[count]);
        c->random[count++].values = values;
        if (spec->input[i].mask[0] != '\0') {
            const size_t places = (size_t)c->draws * (size_t)shape->points;
            double *ones = reln_arena_alloc(&c->arena, places, sizeof *ones);
            if (!ones)
                return RELN_ERR_NOMEM;
            for (size_t k = 0; k < places; k++)
                ones[k] = 1;
            c->random[count++] =
                (RelnNamed){spec->input[i].mask, RELN_F64, 2, {c->draws, shape->points}, ones};
        }
    }
    c->memory = (RelnDataMemory){c->ctx, count, c->random};
    c->source = reln_data_memory(&c->memory, "random inputs");
    return RELN_OK;
}

/* ---- networks ----------------------------------------------------------------------------------------------------- */

static RelnStatus net_open(Checker *c, RelnModel *model, Net *net)
{
    net->model = model;
    /* layers without a rep cannot be moved: of an mlp only the output is looked at */
    RELN_TRY(reln_model_build(model, &(RelnModelOptions){.taps = reln_model_promises(model)},
                              &net->graph));
    /* the output is the last layer */
    if (net->graph.n_taps < RELN_MODEL_TAPS)
        net->graph.taps[net->graph.n_taps++] = (RelnTap){"y", net->graph.y};
    RELN_TRY(reln_plan_create(net->graph.graph, &(RelnPlanOptions){.pool = c->pool}, &net->plan));
    return reln_data_open(model, &c->source, &(RelnDataOptions){.without_target = true},
                          &net->data);
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

/* How the numbers of a tap lie: items of groups of (K, C); one item for each draw, or one for each point. */
typedef struct TapShape {
    ptrdiff_t items, item; /* how many, and numbers of one */
    int k, c;
} TapShape;

static TapShape tap_shape(const Net *net, int tap)
{
    const RelnDims d = reln_node_dims(net->graph.taps[tap].node);
    TapShape s = {.item = (ptrdiff_t)d.p * d.q * d.r * d.k * d.c, .k = d.k, .c = d.c};

    (void)reln_plan_output(net->plan, net->graph.taps[tap].name, &s.items);
    return s;
}

/* Where the numbers of a draw begin; those of draw `draws` are behind the end. */
static ptrdiff_t begin_of(const Checker *c, const TapShape *s, int draw)
{
    return s->item * (c->first_row && s->items != c->draws ? c->first_row[draw] : draw);
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
    RELN_TRY(reln_data_bind_raw(net->data, net->plan, c->draws, values, c->mask));
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

/* rho (K, K) on every group of (K, C) of one draw. */
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

/* g f(x): by the rep of the tap; what promises nothing has no rep, but its output is a target. */
static RelnStatus carry(const Net *net, int tap, ptrdiff_t size, const RelnElement *g,
                        const double *x, double *rho, double *out)
{
    const TapShape s = tap_shape(net, tap);

    memcpy(out, x, (size_t)size * sizeof *out);
    if (!g)
        return RELN_OK;
    if (!reln_model_promises(net->model))
        return reln_model_act_target(net->model, g, out);
    RELN_TRY(reln_rep_act(reln_node_rep(net->graph.taps[tap].node), g, rho));
    turn(&s, size, rho, x, out);
    return RELN_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of one tap, into c->errors, rising: relative to the sample's own size, or to the usual size where it has nearly none. */
static RelnStatus tap_errors(Checker *c, const Net *net, int tap, const double *plain,
                             const double *moved, bool identity)
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
        c->errors[i] = size == 0.0 ? 0 : distance(count, wanted, moved + at) / size;
        if (isnan(c->errors[i])) /* what is no number follows nothing */
            c->errors[i] = HUGE_VAL;
    }
    reln_free(c->ctx, rho);
    qsort(c->errors, (size_t)c->draws, sizeof *c->errors, by_size);
    return status;
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

/* A layer that is larger than the rounding of its input, by how much: the input is changed by a small share of itself. */
static RelnStatus measure_gain(Checker *c, int tap, const double *plain, double change,
                               double *gain)
{
    double *moved = NULL;
    RelnArena arena;
    RelnStatus status;

    reln_arena_init(&arena, c->ctx);
    status = net_read(&c->wide, tap, &moved, &arena);
    if (status == RELN_OK)
        status = tap_errors(c, &c->wide, tap, plain, moved, true);
    *gain = fmax(1, c->errors[c->draws - 1] / change);
    if (!isfinite(*gain)) /* that excuses nothing */
        *gain = 1;
    reln_arena_clear(&arena);
    return status;
}

static RelnStatus gains(Checker *c, double *out)
{
    const double change = 1e-7;
    RelnRng rng = reln_rng(7, 0);

    for (int i = 0; i < c->n_inputs; i++) {
        const RelnSpecInput *spec = &reln_model_spec(c->model)->input[i];
        const ptrdiff_t size = reln_input_count(&reln_model_shapes(c->model)->input[i]);
        const int n = spec->as == RELN_AS_COVARIANCE ? reln_model_n(c->model) : 0;

        for (ptrdiff_t k = 0; k < c->draws * size; k++)
            c->moved[i][k] = c->raw[i][k] * (1 + change * reln_rng_normal(&rng));
        /* a covariance stays symmetric */
        for (ptrdiff_t at = 0; n && at < c->draws * size; at += n * n)
            for (int a = 0; a < n; a++)
                for (int b = 0; b < a; b++)
                    c->moved[i][at + a * n + b] = c->moved[i][at + b * n + a];
    }
    RELN_TRY(net_run(c, &c->wide, c->moved));
    for (int t = 0; t < c->wide.graph.n_taps; t++)
        RELN_TRY(measure_gain(c, t, c->plain[t], change, &out[t]));
    return RELN_OK;
}

/* The same draws for every net: each has groups of its own. */
static RelnStatus draw(const Checker *c, Net *net, double cond, uint64_t seed)
{
    RelnRng rng = reln_rng(seed, 1000003);

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
        const ptrdiff_t size = reln_input_count(&reln_model_shapes(c->model)->input[i]);

        memcpy(c->moved[i], c->raw[i], (size_t)(c->draws * size) * sizeof **c->moved);
        for (int d = 0; d < c->draws; d++)
            RELN_TRY(reln_model_act(c->wide.model, i, c->wide.elements[d], c->moved[i] + d * size));
    }
    return RELN_OK;
}

/* A column of the table for one precision: plain values must be those of this net. */
static RelnStatus column(Checker *c, Net *net, double *const *plain, double *medians, double *worst,
                         double *most)
{
    RelnArena arena;
    RelnStatus status = net_run(c, net, c->moved);

    reln_arena_init(&arena, c->ctx);
    for (int t = 0; t < net->graph.n_taps && status == RELN_OK; t++) {
        double *moved = NULL;
        status = net_read(net, t, &moved, &arena);
        if (status == RELN_OK)
            status = tap_errors(c, net, t, plain[t], moved, false);
        medians[t] = c->errors[c->draws / 2];
        worst[t] = c->errors[c->draws - 1];
        most[t] = c->errors[(c->draws - 1) * 19 / 20];
    }
    reln_arena_clear(&arena);
    return status;
}

static RelnStatus read_plain(Checker *c, Net *net, double **plain)
{
    RELN_TRY(net_run(c, net, c->raw));
    for (int t = 0; t < net->graph.n_taps; t++)
        RELN_TRY(net_read(net, t, &plain[t], &c->arena));
    return RELN_OK;
}

/* Rounding that is there before the network runs grows with cond^3 at most: two factors from g X g^-1 and one from
 * seeing the result relative to its size. A pool may choose another point where two are equal to rounding, which
 * moves a few draws by more: the promise is judged by all but one in twenty. */
static void judge(RelnCheck *out, int cond_index, double cond, const double *gain,
                  const double *most)
{
    for (int l = 0; l < out->n_layers; l++) {
        const double allowed = DBL_EPSILON * (64.0 * (l + 1) + 2 * cond * cond * cond) * gain[l];

        out->layers[l].at[cond_index].allowed = allowed;
        if (out->promises && !(most[l] <= allowed))
            out->kept = false;
    }
}

typedef struct Columns {
    double gain[RELN_MODEL_TAPS], median[RELN_MODEL_TAPS], worst[RELN_MODEL_TAPS],
        most[RELN_MODEL_TAPS];
    double *own_plain[RELN_MODEL_TAPS];
} Columns;

static RelnStatus fill(Checker *c, Columns *columns, uint64_t seed, RelnCheck *out)
{
    RELN_TRY(read_plain(c, &c->wide, c->plain));
    RELN_TRY(gains(c, columns->gain));
    RELN_TRY(read_plain(c, &c->own, columns->own_plain));
    for (int k = 0; k < out->n_conds; k++) {
        RELN_TRY(move(c, out->conds[k], seed + (uint64_t)k));
        RELN_TRY(column(c, &c->wide, c->plain, columns->median, columns->worst, columns->most));
        judge(out, k, out->conds[k], columns->gain, columns->most);
        for (int l = 0; l < out->n_layers; l++) {
            out->layers[l].at[k].median = columns->median[l];
            out->layers[l].at[k].worst = columns->worst[l];
        }
        RELN_TRY(
            column(c, &c->own, columns->own_plain, columns->median, columns->worst, columns->most));
        for (int l = 0; l < out->n_layers; l++) {
            out->layers[l].at[k].own_median = columns->median[l];
            out->layers[l].at[k].own_worst = columns->worst[l];
        }
    }
    return RELN_OK;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* Elements of a compact group have condition number 1, whatever is asked for. */
static RelnStatus choose_conds(const RelnModel *model, RelnCheck *out)
{
    RelnRng rng = reln_rng(1, 1);
    RelnElement *g = NULL;

    RELN_TRY(reln_model_element(model, &rng, 10, &g));
    out->n_conds = reln_element_cond(g) > 2 ? RELN_CHECK_CONDS : 1;
    for (int k = 0; k < out->n_conds; k++)
        out->conds[k] = k == 0 ? 1 : 10 * out->conds[k - 1];
    reln_element_destroy(g);
    return RELN_OK;
}

static RelnStatus read_raw(Checker *c)
{
    const RelnShapes *shapes = reln_model_shapes(c->model);
    int points = 0;

    for (int i = 0; i < c->n_inputs; i++) {
        const ptrdiff_t size = reln_input_count(&shapes->input[i]);
        for (int d = 0; d < c->draws; d++)
            RELN_TRY(reln_data_raw(c->wide.data, i, d, c->raw[i] + d * size));
        if (shapes->input[i].points)
            points = shapes->input[i].points;
    }
    for (int d = 0; c->mask && d < c->draws; d++) {
        RELN_TRY(reln_data_mask(c->wide.data, d, c->mask + (ptrdiff_t)d * points));
        c->first_row[d + 1] = c->first_row[d];
        for (int k = 0; k < points; k++)
            c->first_row[d + 1] += c->mask[(ptrdiff_t)d * points + k] != 0.0;
    }
    return RELN_OK;
}

static RelnStatus allocate(Checker *c)
{
    const RelnSpec *spec = reln_model_spec(c->model);
    const RelnShapes *shapes = reln_model_shapes(c->model);
    const size_t draws = (size_t)c->draws, n = (size_t)c->n_inputs;
    bool room;

    c->own.elements = reln_arena_alloc(&c->arena, draws, sizeof *c->own.elements);
    c->wide.elements = reln_arena_alloc(&c->arena, draws, sizeof *c->wide.elements);
    c->errors = reln_arena_alloc(&c->arena, draws, sizeof *c->errors);
    c->raw = reln_arena_alloc(&c->arena, n, sizeof *c->raw);
    c->moved = reln_arena_alloc(&c->arena, n, sizeof *c->moved);
    c->plain = reln_arena_alloc(&c->arena, RELN_MODEL_TAPS, sizeof *c->plain);
    room = c->own.elements && c->wide.elements && c->errors && c->raw && c->moved && c->plain;
    for (int i = 0; room && i < c->n_inputs; i++) {
        const size_t size = draws * (size_t)reln_input_count(&shapes->input[i]);
        c->raw[i] = reln_arena_alloc(&c->arena, size, sizeof **c->raw);
        c->moved[i] = reln_arena_alloc(&c->arena, size, sizeof **c->moved);
        room = c->raw[i] && c->moved[i];
        if (room && spec->input[i].mask[0] != '\0' && !c->mask) {
            c->mask = reln_arena_alloc(&c->arena, draws * (size_t)shapes->input[i].points,
                                       sizeof *c->mask);
            c->first_row = reln_arena_alloc(&c->arena, draws + 1, sizeof *c->first_row);
            room = c->mask && c->first_row;
        }
    }
    return room ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus open_source(Checker *c, const RelnCheckOptions *options)
{
    if (!options->data_path)
        return make_random(c, options->seed);
    RELN_TRY(reln_feed_open(c->ctx, options->data_path, &c->feed));
    c->source = c->feed.source;
    return RELN_OK;
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

/* The output is called as in the SPEC: a vector is a vector, whichever rep carries it. */
static const char *rep_text(const RelnModel *model, const RelnTap *tap)
{
    const RelnTargetAs as = reln_model_spec(model)->target.as;

    if (!reln_model_promises(model))
        return "nothing promised";
    if (strcmp(tap->name, "y") == 0 && (as == RELN_TARGET_VECTOR || as == RELN_TARGET_MATRIX))
        return reln_target_text(as);
    return reln_rep_name(reln_node_rep(tap->node));
}

static void name_layer(const Net *net, int tap, RelnCheckLayer *out)
{
    const RelnTap *t = &net->graph.taps[tap];

    snprintf(out->name, sizeof out->name, "%s", t->name);
    snprintf(out->rep, sizeof out->rep, "%s", rep_text(net->model, t));
}

static RelnStatus check(Checker *c, const RelnCheckOptions *options, RelnCheck *out)
{
    Columns *columns = reln_arena_alloc(&c->arena, 1, sizeof *columns);

    if (!columns)
        return RELN_ERR_NOMEM;
    if (options->threads > 1)
        RELN_TRY(reln_pool_create(c->ctx, options->threads, &c->pool));
    RELN_TRY(open_source(c, options));
    RELN_TRY(open_nets(c));
    if (reln_data_count(c->wide.data) < c->draws)
        c->draws = (int)reln_data_count(c->wide.data);
    RELN_TRY(allocate(c));
    RELN_TRY(read_raw(c));
    out->draws = c->draws;
    out->promises = out->kept = reln_model_promises(c->model);
    out->n_layers = c->wide.graph.n_taps;
    for (int l = 0; l < out->n_layers; l++)
        name_layer(&c->wide, l, &out->layers[l]);
    RELN_TRY(choose_conds(c->model, out));
    return fill(c, columns, options->seed, out);
}

RelnStatus reln_check(RelnModel *model, const RelnCheckOptions *options, RelnCheck *out)
{
    RELN_NEED(model, RELN_ERR_ARG);

    const RelnCheckOptions given = options ? *options : (RelnCheckOptions){0};
    Checker c = {.ctx = reln_model_ctx(model), .model = model};
    RelnStatus status;

    *out = (RelnCheck){0};
    c.draws = given.draws > 0 ? given.draws : 50;
    c.n_inputs = reln_model_spec(model)->n_inputs;
    reln_arena_init(&c.arena, c.ctx);
    status = check(&c, &given, out);
    net_close(&c.own, c.draws);
    net_close(&c.wide, c.draws);
    reln_feed_close(&c.feed);
    reln_pool_destroy(c.pool);
    reln_arena_clear(&c.arena);
    return status;
}
