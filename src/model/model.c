/* model.c -- creates a model from a SPEC, or from the description in a model file. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/keys.h"
#include "model/data.h"
#include "model/kinds.h"

/* ---- widths ------------------------------------------------------------------------------------------------------- */

/* Counts the parameters of the network with a given width, built in a temporary store. */
static RelnStatus count_parameters(RelnModel *m, int width, double *count)
{
    RelnModelGraph net = {0};
    RelnStore *store = NULL;
    RelnStatus status = reln_store_create(m->ctx, 1, &store);

    if (status == RELN_OK)
        status = reln_model_build_in(m, store, width, &(RelnModelOptions){0}, &net);
    *count = status == RELN_OK ? (double)reln_store_parameters(store) : 0;
    reln_model_graph_clear(&net);
    reln_store_destroy(store);
    return status;
}

/* Returns a number that every width is a multiple of: heads share the channels of a transformer equally. */
static int unit_of_width(const RelnSpecModel *s)
{
    bool attends = s->kind == RELN_MODEL_TRANSFORMER || s->kind == RELN_MODEL_PLAIN_TRANSFORMER;

    for (int i = 0; i < s->n_beside; i++)
        attends |= s->beside[i] == RELN_MODEL_TRANSFORMER;
    return attends ? s->heads : 1;
}

enum { MOST_WIDTH = 4096 };

/* Finds the width whose number of parameters is nearest to the wanted one. Wider networks have more of them, so
 * `below` and `above` enclose the wanted number, at first in steps that double. */
static RelnStatus find_width(RelnModel *m)
{
    const double wanted = m->spec.model.parameters;
    const int unit = unit_of_width(&m->spec.model), most = MOST_WIDTH / unit;
    int below = 1, above = 1;
    double fewer, more;

    RELN_TRY(count_parameters(m, unit, &fewer));
    more = fewer;
    while (more < wanted && above < most) {
        below = above;
        fewer = more;
        above = 2 * above < most ? 2 * above : most;
        RELN_TRY(count_parameters(m, above * unit, &more));
    }
    while (above - below > 1) {
        const int middle = below + (above - below) / 2;
        double count;

        RELN_TRY(count_parameters(m, middle * unit, &count));
        if (count < wanted) {
            below = middle;
            fewer = count;
        } else {
            above = middle;
            more = count;
        }
    }
    m->spec.model.width = unit * (fabs(more - wanted) < fabs(fewer - wanted) ? above : below);
    m->spec.model.parameters = 0;
    return RELN_OK;
}

/* ---- creating a model ------------------------------------------------------------------------------------------------ */

/* Builds the network once, which reports errors early and puts the weights into the store. */
static RelnStatus fill_store(RelnModel *m)
{
    RelnModelGraph net;

    RELN_TRY(reln_store_create(m->ctx, (uint64_t)m->spec.train.seed, &m->store));
    RELN_TRY(reln_model_build(m, NULL, &net));
    reln_model_graph_clear(&net);
    return RELN_OK;
}

/* Limit on the numbers of an input or a target of one sample, below which no product of extents overflows. */
enum { MOST_NUMBERS = 1 << 24 };

static RelnStatus check_count(const RelnModel *m, const char *name, double count)
{
    if (count <= MOST_NUMBERS)
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_SHAPE, "%s: %.3g numbers for each sample; wanted up to %d",
                     name, count, MOST_NUMBERS);
}

static RelnStatus check_shape(const RelnModel *m, int input, int points)
{
    const RelnSpecInput *in = &m->spec.input[input];
    const RelnInputShape *s = &m->shapes.input[input];
    const int size = reln_kind_size(in->as, m->n, reln_group_n_lie(m->symmetry));

    const int places = in->edges ? m->shapes.edges : in->points ? points : 0;

    if (s->size == size && s->channels >= 1 && s->points == places &&
        (places > 0) == (in->edges || in->points))
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_SHAPE,
                     "%s: %d %s of %d channels of %d numbers; wanted %d and %d numbers", in->name,
                     s->points, in->edges ? "edges" : "points", s->channels, s->size, places, size);
}

/* Checks the shapes: all sets of points have the same number of places. */
static RelnStatus check_shapes(const RelnModel *m)
{
    int points = 0;
    double places;

    for (int i = 0; i < m->spec.n_inputs; i++)
        points = m->spec.input[i].points && points == 0 ? m->shapes.input[i].points : points;
    for (int i = 0; i < m->spec.n_inputs; i++)
        RELN_TRY(check_shape(m, i, points));
    for (int i = 0; i < m->spec.n_inputs; i++)
        RELN_TRY(
            check_count(m, m->spec.input[i].name, (double)reln_input_count(&m->shapes.input[i])));
    places = points;
    for (int t = 0; t < m->spec.n_targets; t++) {
        if (m->shapes.target_channels[t] < 1)
            return reln_fail(m->ctx, RELN_ERR_SHAPE,
                             "target %s: its shape is not known; wanted data with a target",
                             m->spec.target[t].name);
        RELN_TRY(check_count(m, m->spec.target[t].name,
                             (double)m->shapes.target_channels[t] * reln_model_target_size(m, t) *
                                 reln_spec_quantiles(&m->spec.target[t]) *
                                 (m->spec.target[t].edges    ? m->shapes.edges
                                  : m->spec.target[t].points ? places
                                                             : 1)));
    }
    return RELN_OK;
}

static RelnStatus make(RelnModel *m)
{
    RELN_TRY(reln_model_setup(m));
    RELN_TRY(check_shapes(m));
    RELN_TRY(reln_model_plan_lifts(m));
    if (m->spec.model.width == 0)
        RELN_TRY(find_width(m));
    return fill_store(m);
}

static RelnStatus create(RelnCtx *ctx, const RelnSpec *spec, const RelnShapes *shapes,
                         RelnModel **out)
{
    RelnModel *m = reln_alloc(ctx, 1, sizeof *m);

    *out = m;
    if (!m)
        return RELN_ERR_NOMEM;
    m->ctx = ctx;
    m->spec = *spec;
    m->shapes = *shapes;
    for (int t = 0; t < RELN_SPEC_TARGETS; t++)
        m->constants.target[t].deviation = 1;
    m->constants.points = 1;
    m->step = -1;
    for (int i = 0; i < RELN_SPEC_INPUTS; i++)
        m->constants.scale[i] = 1;
    for (int i = 0; i < RELN_SCALAR_COLUMNS; i++)
        m->constants.column[i].width = 1;
    for (int t = 0; t < spec->n_targets; t++)
        snprintf(m->spread_name[t], sizeof m->spread_name[t], "%s_%s", spec->target[t].name,
                 spec->target[t].variance == RELN_VARIANCE_COVARIANCE ? "covariance" : "variance");
    reln_arena_init(&m->arena, ctx);
    return RELN_OK;
}

static RelnStatus finish(RelnModel *m, RelnStatus status, RelnModel **out)
{
    if (status != RELN_OK) {
        reln_model_destroy(m);
        m = NULL;
    }
    *out = m;
    return status;
}

RelnStatus reln_model_create(RelnCtx *ctx, const RelnSpec *spec, const RelnShapes *shapes,
                             RelnModel **out)
{
    RelnModel *m = NULL;
    RelnStatus status;

    *out = NULL;
    reln_ctx_clear(ctx);
    status = create(ctx, spec, shapes, &m);
    if (status == RELN_OK)
        status = make(m);
    return finish(m, status, out);
}

static RelnStatus make_for(RelnModel *m, RelnArchive *archive)
{
    RelnDataFound found;

    RELN_TRY(reln_model_make_symmetry(m));
    RELN_TRY(reln_data_look(m->ctx, &m->spec, m->n, reln_group_n_lie(m->symmetry), archive, &found,
                            &m->shapes));
    for (int t = 0; t < m->spec.n_targets; t++)
        if (found.target[t] < 0)
            return reln_data_missing(m->ctx, archive, m->spec.target[t].name, ", the target");
    return make(m);
}

RelnStatus reln_model_for(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive, RelnModel **out)
{
    const RelnShapes none = {0};
    RelnModel *m = NULL;
    RelnStatus status;

    *out = NULL;
    reln_ctx_clear(ctx);
    status = create(ctx, spec, &none, &m);
    if (status == RELN_OK)
        status = make_for(m, archive);
    return finish(m, status, out);
}

static RelnStatus take_basis(RelnModel *m, const RelnModel *from)
{
    const size_t count = (size_t)from->basis_dim * (size_t)from->n * (size_t)from->n;

    if (!from->basis)
        return RELN_OK;
    m->basis_dim = from->basis_dim;
    m->n = from->n;
    m->basis = reln_arena_copy(&m->arena, from->basis, count, sizeof *m->basis);
    return m->basis ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_model_retype(const RelnModel *model, RelnDtype dtype, RelnModel **out)
{
    RelnModel *m = NULL;
    RelnStatus status;

    *out = NULL;
    reln_ctx_clear(model->ctx);
    status = create(model->ctx, &model->spec, &model->shapes, &m);
    if (status == RELN_OK) {
        m->spec.train.dtype = dtype;
        m->constants = model->constants;
        m->reference = model->reference;
        status = take_basis(m, model);
    }
    if (status == RELN_OK)
        status = make(m);
    return finish(m, status, out);
}

void reln_model_destroy(RelnModel *m)
{
    if (!m)
        return;
    reln_store_destroy(m->store);
    reln_algebra_destroy(m->algebra);
    reln_algebra_destroy(m->own);
    if (m->group != m->symmetry)
        reln_group_destroy(m->group);
    reln_group_destroy(m->symmetry);
    reln_arena_clear(&m->arena);
    reln_free(m->ctx, m);
}

RelnStatus reln_model_probe(RelnCtx *ctx, const RelnSpec *spec, int *n, int *dim)
{
    const RelnShapes none = {0};
    RelnModel *m = NULL;
    RelnStatus status = create(ctx, spec, &none, &m);

    if (status == RELN_OK)
        status = reln_model_make_symmetry(m);
    if (status == RELN_OK) {
        *n = m->n;
        *dim = reln_group_n_lie(m->symmetry);
    }
    reln_model_destroy(m);
    return status;
}

/* ---- reading its parts ----------------------------------------------------------------------------------------------- */

const RelnSpec *reln_model_spec(const RelnModel *m)
{
    return &m->spec;
}

const RelnShapes *reln_model_shapes(const RelnModel *m)
{
    return &m->shapes;
}

void reln_model_set_step(RelnModel *m, int64_t step)
{
    m->step = step;
}

int64_t reln_model_step(const RelnModel *m)
{
    RELN_NEED(m, -1);

    return m->step;
}

const char *reln_model_note(const RelnModel *m)
{
    RELN_NEED(m, "");

    return m->note;
}

RelnStore *reln_model_store(const RelnModel *m)
{
    return m->store;
}

RelnCtx *reln_model_ctx(const RelnModel *m)
{
    return m->ctx;
}

const char *reln_model_symmetry(const RelnModel *m)
{
    RELN_NEED(m, "");

    return reln_group_name(m->symmetry);
}

const char *reln_model_features(const RelnModel *m)
{
    RELN_NEED(m, "");

    if (m->algebra)
        return reln_algebra_name(m->algebra);
    return reln_model_is_mlp(m) ? "none" : "vectors";
}

int reln_model_n(const RelnModel *m)
{
    RELN_NEED(m, 0);

    return m->n;
}

int reln_model_targets(const RelnModel *m)
{
    RELN_NEED(m, 0);

    return m->spec.n_targets;
}

const char *reln_model_target_name(const RelnModel *m, int target)
{
    RELN_NEED(m, NULL);

    return target >= 0 && target < m->spec.n_targets ? m->spec.target[target].name : NULL;
}

void reln_model_use_reference(RelnModel *m, bool reference)
{
    if (m)
        m->reference = reference;
}

bool reln_model_reference(const RelnModel *m)
{
    return m && m->reference;
}

bool reln_model_promises(const RelnModel *m)
{
    RELN_NEED(m, false);

    return !reln_model_is_mlp(m);
}

size_t reln_model_parameters(const RelnModel *m)
{
    RELN_NEED(m, 0);

    return reln_store_parameters(m->store);
}

int reln_model_points(const RelnModel *m)
{
    return m->points;
}

const RelnConstants *reln_model_constants(const RelnModel *m)
{
    return &m->constants;
}

void reln_model_set_constants(RelnModel *m, const RelnConstants *constants)
{
    m->constants = *constants;
}

/* Returns whether each column of an input has its own centre. The points of an mlp have none, because zeros
 * stand for missing points there. */
static bool is_columned(const RelnModel *m, int input)
{
    const RelnSpecInput *in = &m->spec.input[input];

    return reln_input_kind(in->as)->feature == FEATURE_SCALAR &&
           !(reln_model_is_mlp(m) && !reln_model_is_plain_rows(m) && in->points);
}

int reln_model_columns(const RelnModel *m, int input, int *first)
{
    int used = 0;

    for (int i = 0; i < input; i++)
        used += is_columned(m, i) ? m->shapes.input[i].channels : 0;
    *first = used;
    return is_columned(m, input) && used + m->shapes.input[input].channels <= RELN_SCALAR_COLUMNS
               ? m->shapes.input[input].channels
               : 0;
}

/* ---- description ----------------------------------------------------------------------------------------------------------- */

static void describe_columns(const RelnModel *m, int input, RelnDoc *doc, RelnDocNode *item)
{
    int first;
    const int n = reln_model_columns(m, input, &first);
    RelnDocNode *centre = n > 0 ? reln_doc_set(doc, item, "centre", reln_doc_list(doc)) : NULL;
    RelnDocNode *width = n > 0 ? reln_doc_set(doc, item, "width", reln_doc_list(doc)) : NULL;

    for (int c = 0; c < n; c++) {
        reln_doc_set_number(doc, centre, NULL, m->constants.column[first + c].centre);
        reln_doc_set_number(doc, width, NULL, m->constants.column[first + c].width);
    }
}

static void describe_shapes(const RelnModel *m, RelnDoc *doc, RelnDocNode *map)
{
    RelnDocNode *list = reln_doc_set(doc, map, "shapes", reln_doc_list(doc));

    for (int i = 0; i < m->spec.n_inputs; i++) {
        RelnDocNode *item = reln_doc_set(doc, list, NULL, reln_doc_map(doc));

        reln_doc_set_number(doc, item, "points", m->shapes.input[i].points);
        reln_doc_set_number(doc, item, "channels", m->shapes.input[i].channels);
        reln_doc_set_number(doc, item, "size", m->shapes.input[i].size);
        reln_doc_set_number(doc, item, "scale", m->constants.scale[i]);
        describe_columns(m, i, doc, item);
    }
}

/* One target is written as a map, as in files of all versions; several are written as a list of maps. */
static void describe_targets(const RelnModel *m, RelnDoc *doc, RelnDocNode *map)
{
    const bool several = m->spec.n_targets > 1;
    RelnDocNode *list = several ? reln_doc_set(doc, map, "targets", reln_doc_list(doc)) : map;

    for (int t = 0; t < m->spec.n_targets; t++) {
        RelnDocNode *item = reln_doc_set(doc, list, several ? NULL : "target", reln_doc_map(doc));

        reln_doc_set_number(doc, item, "channels", m->shapes.target_channels[t]);
        reln_doc_set_number(doc, item, "mean", m->constants.target[t].mean);
        reln_doc_set_number(doc, item, "deviation", m->constants.target[t].deviation);
    }
}

static void describe_basis(const RelnModel *m, RelnDoc *doc, RelnDocNode *map)
{
    const ptrdiff_t count = (ptrdiff_t)m->basis_dim * m->n * m->n;
    RelnDocNode *item, *list;

    if (!m->basis)
        return;
    item = reln_doc_set(doc, map, "basis", reln_doc_map(doc));
    reln_doc_set_number(doc, item, "dim", m->basis_dim);
    reln_doc_set_number(doc, item, "n", m->n);
    list = reln_doc_set(doc, item, "values", reln_doc_list(doc));
    for (ptrdiff_t i = 0; i < count; i++)
        reln_doc_set_number(doc, list, NULL, m->basis[i]);
}

RelnDocNode *reln_model_describe(const RelnModel *m, RelnDoc *doc)
{
    RelnDocNode *map = reln_doc_map(doc);

    reln_doc_set(doc, map, "spec", reln_spec_to_doc(&m->spec, doc));
    describe_shapes(m, doc, map);
    describe_targets(m, doc, map);
    describe_basis(m, doc, map);
    reln_doc_set_number(doc, map, "points", m->constants.points);
    if (m->shapes.edges > 0)
        reln_doc_set_number(doc, map, "edges", m->shapes.edges);
    return map;
}

/* ---- from the description --------------------------------------------------------------------------------------------- */

static RelnStatus read_number(const Reader *r, const RelnDocNode *map, const char *key, double low,
                              double high, double *out)
{
    const RelnDocNode *node = reln_doc_get(map, key);

    if (!node || node->kind != RELN_DOC_NUMBER || !(node->number >= low && node->number <= high))
        return reln_keys_fail(r, node ? node : map,
                              "the model's description has no %s between %g and %g", key, low,
                              high);
    *out = node->number;
    return RELN_OK;
}

static RelnStatus read_int(const Reader *r, const RelnDocNode *map, const char *key, int low,
                           int high, int *out)
{
    double value = 0;

    RELN_TRY(read_number(r, map, key, low, high, &value));
    if (value != floor(value))
        return reln_keys_fail(r, map, "the model's description has %s %g; wanted a whole number",
                              key, value);
    *out = (int)value;
    return RELN_OK;
}

enum { MOST = 1 << 20 };

static RelnStatus read_shape(const Reader *r, const RelnDocNode *item, RelnInputShape *shape,
                             double *scale)
{
    RELN_TRY(read_int(r, item, "points", 0, MOST, &shape->points));
    RELN_TRY(read_int(r, item, "channels", 1, MOST, &shape->channels));
    RELN_TRY(read_int(r, item, "size", 1, RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N, &shape->size));
    return read_number(r, item, "scale", 1e-300, 1e300, scale);
}

/* Reads the numbers of a list, one for each column. */
static RelnStatus read_list(const Reader *r, const RelnDocNode *item, const char *key, double low,
                            double high, int n, double *to)
{
    const RelnDocNode *list = reln_doc_get(item, key);
    int c = 0;

    if (!list || list->kind != RELN_DOC_LIST || list->count != n)
        return reln_keys_fail(r, list ? list : item,
                              "the model's description does not have a %s for each of %d columns",
                              key, n);
    for (const RelnDocNode *x = list->first; x; x = x->next, c++) {
        if (x->kind != RELN_DOC_NUMBER || !(x->number >= low && x->number <= high))
            return reln_keys_fail(r, x, "the model's description has no %s between %g and %g", key,
                                  low, high);
        to[(ptrdiff_t)c * (ptrdiff_t)(sizeof(RelnColumn) / sizeof *to)] = x->number;
    }
    return RELN_OK;
}

/* Reads the columns of scalars. Models of earlier versions have none: one scale serves all columns. */
static RelnStatus read_columns(const Reader *r, const RelnDocNode *item, RelnModel *m, int input)
{
    int first;
    const int n = reln_model_columns(m, input, &first);
    RelnColumn *column = &m->constants.column[first];

    for (int c = 0; c < n; c++)
        column[c] = (RelnColumn){0, m->constants.scale[input]};
    if (n == 0 || !reln_doc_get(item, "centre"))
        return RELN_OK;
    RELN_TRY(read_list(r, item, "centre", -1e300, 1e300, n, &column->centre));
    return read_list(r, item, "width", 1e-300, 1e300, n, &column->width);
}

static RelnStatus read_target(const Reader *r, const RelnDocNode *item, RelnModel *m, int t)
{
    RELN_TRY(read_int(r, item, "channels", 1, MOST, &m->shapes.target_channels[t]));
    RELN_TRY(read_number(r, item, "mean", -1e300, 1e300, &m->constants.target[t].mean));
    return read_number(r, item, "deviation", 1e-300, 1e300, &m->constants.target[t].deviation);
}

static RelnStatus read_targets(const Reader *r, const RelnDocNode *map, RelnModel *m)
{
    const RelnDocNode *list = reln_doc_get(map, "targets"), *item = reln_doc_get(map, "target");
    int t = 0;

    if (m->spec.n_targets == 1)
        return read_target(r, item ? item : map, m, 0);
    if (!list || list->kind != RELN_DOC_LIST || list->count != m->spec.n_targets)
        return reln_keys_fail(
            r, list ? list : map,
            "the model's description does not have a shape for each of %d targets",
            m->spec.n_targets);
    for (item = list->first; item; item = item->next, t++)
        RELN_TRY(read_target(r, item, m, t));
    return RELN_OK;
}

static RelnStatus read_shapes(const Reader *r, const RelnDocNode *map, RelnModel *m)
{
    const RelnDocNode *list = reln_doc_get(map, "shapes"), *item;
    int i = 0;

    if (!list || list->kind != RELN_DOC_LIST || list->count != m->spec.n_inputs)
        return reln_keys_fail(r, list ? list : map,
                              "the model's description does not have a shape for each of %d inputs",
                              m->spec.n_inputs);
    for (item = list->first; item; item = item->next, i++) {
        RELN_TRY(read_shape(r, item, &m->shapes.input[i], &m->constants.scale[i]));
        RELN_TRY(read_columns(r, item, m, i));
    }
    if (reln_doc_get(map, "points"))
        RELN_TRY(read_number(r, map, "points", 1e-300, 1e300, &m->constants.points));
    if (reln_doc_get(map, "edges"))
        RELN_TRY(read_int(r, map, "edges", 1, 1 << 24, &m->shapes.edges));
    return read_targets(r, map, m);
}

static RelnStatus read_basis(const Reader *r, const RelnDocNode *map, RelnModel *m)
{
    const RelnDocNode *basis = reln_doc_get(map, "basis"), *list = reln_doc_get(basis, "values");
    ptrdiff_t i = 0;

    if (!m->spec.basis[0])
        return RELN_OK;
    RELN_TRY(read_int(r, basis ? basis : map, "dim", 1, RELN_ALGEBRA_MAX_DIM, &m->basis_dim));
    RELN_TRY(read_int(r, basis, "n", 1, RELN_ALGEBRA_MAX_N, &m->n));
    if (!list || list->kind != RELN_DOC_LIST || list->count != m->basis_dim * m->n * m->n)
        return reln_keys_fail(r, basis,
                              "the model's description does not have %d values of its basis",
                              m->basis_dim * m->n * m->n);
    m->basis = reln_arena_alloc(&m->arena, (size_t)list->count, sizeof *m->basis);
    if (!m->basis)
        return RELN_ERR_NOMEM;
    for (const RelnDocNode *item = list->first; item; item = item->next) {
        if (item->kind != RELN_DOC_NUMBER)
            return reln_keys_fail(r, item,
                                  "the model's description has a basis with '%.40s'; "
                                  "wanted numbers",
                                  item->text ? item->text : "");
        m->basis[i++] = item->number;
    }
    return RELN_OK;
}

static RelnStatus remake(const Reader *r, const RelnDocNode *node, RelnModel *m)
{
    RELN_TRY(read_shapes(r, node, m));
    RELN_TRY(read_basis(r, node, m));
    return make(m);
}

RelnStatus reln_model_from_doc(RelnCtx *ctx, const RelnDocNode *node, const char *what,
                               RelnModel **out)
{
    const Reader r = {ctx, what};
    const RelnDocNode *root = reln_doc_get(node, "spec");
    const RelnShapes none = {0};
    RelnModel *m = NULL;
    RelnStatus status;
    RelnSpec spec;

    *out = NULL;
    if (!root)
        return reln_keys_fail(&r, node, "the model's description has no spec");
    RELN_TRY(reln_spec_from_doc(ctx, root, what, &spec));
    reln_ctx_clear(ctx);
    status = create(ctx, &spec, &none, &m);
    if (status == RELN_OK)
        status = remake(&r, node, m);
    return finish(m, status, out);
}
