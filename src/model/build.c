/* build.c -- builds the graph of a model: inputs, blocks, pooling, read-out, loss. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/op.h"
#include "model/build.h"
#include "reln/ops.h"

/* ---- names and outputs of layers ------------------------------------------------------------------------------------- */

Name reln_build_name(const char *format, ...)
{
    Name name;
    va_list args;

    va_start(args, format);
    vsnprintf(name.text, sizeof name.text, format, args);
    va_end(args);
    return name;
}

int reln_build_towers(const Build *b)
{
    return 1 + b->m->spec.model.n_beside;
}

/* The names of the first network have no prefix, so that it is the same with and without others. */
void reln_build_enter(Build *b, int i)
{
    const RelnSpecModel *spec = &b->m->spec.model;
    const RelnNet plain = {
        .graph = b->g, .algebra = b->m->algebra, .form = spec->form, .train = b->net.train};

    b->tower = i;
    b->kind = i == 0 ? spec->kind : spec->beside[i - 1];
    b->net = i == 0 ? plain : reln_nn_within(&plain, "beside%d", i);
}

RelnNode *reln_build_tap(Build *b, Name name, RelnNode *node)
{
    if (b->taps && node && b->out->n_taps < RELN_MODEL_TAPS) {
        RelnTap *t = &b->out->taps[b->out->n_taps++];

        if (b->tower > 0)
            name = reln_build_name("beside%d.%.20s", b->tower, name.text);
        memcpy(t->name, name.text, sizeof t->name);
        t->node = node;
        reln_output(b->g, t->name, node);
    }
    return node;
}

/* ---- failures ------------------------------------------------------------------------------------------------------- */

/* Allocates scratch memory. A failure outside of the graph fails the graph, so that no later node is built
 * without it. */
void *reln_build_scratch(Build *b, size_t count, size_t size)
{
    void *block = reln_arena_alloc(reln_graph_arena(b->g), count, size);

    if (!block)
        reln_graph_nomem(b->g);
    return block;
}

bool reln_build_passed(Build *b, bool holds)
{
    if (!holds)
        reln_graph_fail(b->g, reln_ctx_status(b->m->ctx), "%s", reln_ctx_error(b->m->ctx));
    return holds;
}

const RelnRep *reln_build_matrix_rep(Build *b)
{
    const RelnRep *rep = reln_rep_product(b->m->vector, reln_rep_dual(b->m->vector));

    return reln_build_passed(b, rep != NULL) ? rep : NULL;
}

/* Returns the size of B(x, y) for x and y with coordinates of size 1: the root of the sum of squares of its
 * matrix. */
double reln_build_form_size(Build *b)
{
    const int k = reln_model_k(b->m);
    const double *gram = NULL;
    double square = 0;

    if (!b->m->algebra)
        return sqrt(k);
    if (!reln_build_passed(b, reln_algebra_gram(b->m->algebra, b->net.form, &gram) == RELN_OK))
        return 1;
    for (int i = 0; i < k * k; i++)
        square += gram[i] * gram[i];
    return square > 0 ? sqrt(square) : 1;
}

/* Returns the unit of features. The published gate adds B(x, d) d, which is cubic, to x: if the form of x is
 * larger than 1, every layer enlarges x. Lie Neurons therefore use features of size 1/4, so that samples four
 * times the usual size stay below 1. The gates of the other networks have no such limit, and use coordinates
 * of size 1. */
static double feature_unit(Build *b)
{
    return b->m->spec.model.kind == RELN_MODEL_LIE_NEURONS ? 0.25 / sqrt(reln_build_form_size(b))
                                                           : 1;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------ */

/* Subtracts the centres of the columns of scalars in a slot, if there are any. */
static RelnNode *centred(Build *b, SlotId id, RelnNode *x)
{
    const RelnModel *m = b->m;
    const int c = m->slots[id].c;
    double *values = reln_build_scratch(b, (size_t)c, sizeof *values);
    bool any = false;

    for (int i = 0; values && i < m->spec.n_inputs; i++) {
        int first;
        const int n = m->lift[i].slot == id ? reln_model_columns(m, i, &first) : 0;

        for (int j = 0; j < n; j++) {
            values[m->lift[i].first + j] = m->constants.column[first + j].centre;
            any = any || m->constants.column[first + j].centre != 0;
        }
    }
    if (!any)
        return x;
    return reln_sub(b->g, x,
                    reln_cast(b->g, reln_const(b->g, (RelnDims){.c = c}, NULL, values),
                              reln_slot_dtype(m, (int)id)));
}

/* unit / scale of every channel of a slot. */
static RelnNode *scales(Build *b, SlotId id)
{
    const RelnModel *m = b->m;
    const double unit = reln_slot_is_features((int)id) ? feature_unit(b) : 1;
    const int c = m->slots[id].c;
    double *values = reln_build_scratch(b, (size_t)c, sizeof *values);

    for (int i = 0; values && i < m->spec.n_inputs; i++) {
        const bool vectors =
            id == (m->spec.input[i].sequence ? SLOT_V_POINTS : SLOT_V) && m->lift[i].vectors >= 0;
        const int first = vectors ? m->lift[i].vectors : m->lift[i].first;
        const int count = vectors ? m->shapes.input[i].channels : m->lift[i].channels;
        int column = 0;
        const bool columned = !vectors && reln_model_columns(m, i, &column) > 0;

        for (int j = 0; (vectors || m->lift[i].slot == id) && j < count; j++)
            values[first + j] =
                unit / (columned ? m->constants.column[column + j].width : m->constants.scale[i]);
    }
    return values ? reln_const(b->g, (RelnDims){.c = c}, NULL, values) : NULL;
}

static const RelnRep *slot_rep(const RelnModel *m, SlotId id)
{
    if (reln_slot_is_features((int)id))
        return m->rep;
    if (id == SLOT_REFERENCE)
        return reln_rep_product(m->vector, m->vector);
    if (id == SLOT_PRECISION)
        return reln_rep_product(reln_rep_dual(m->vector), reln_rep_dual(m->vector));
    return id == SLOT_V || id == SLOT_V_POINTS ? m->vector : NULL;
}

RelnNode *reln_build_input(Build *b, SlotId id)
{
    const RelnModel *m = b->m;
    const Slot *s = &m->slots[id];
    const bool places = s->of == RELN_ITEMS_POINTS && !m->ragged;
    const RelnDims dims = {.p = places ? m->points : 1, .k = s->k, .c = s->c};
    const RelnDomain domain = s->of == RELN_ITEMS_EDGES               ? b->edges
                              : s->of == RELN_ITEMS_POINTS && !places ? b->rows
                                                                      : RELN_SAMPLES;
    RelnNode *x;

    if (s->c == 0 || b->slots[id])
        return b->slots[id];
    x = reln_input(b->g, s->name, domain, dims, slot_rep(m, id), reln_slot_dtype(m, (int)id));
    if (id != SLOT_REFERENCE && id != SLOT_PRECISION)
        x = reln_mul(b->g, centred(b, id, x),
                     reln_cast(b->g, scales(b, id), reln_slot_dtype(m, (int)id)));
    b->slots[id] = x;
    return x;
}

RelnNode *reln_build_spread(Build *b, RelnNode *x)
{
    const int points = b->m->points;
    double *ones;

    if (!x || points == 0)
        return x;
    if (b->m->ragged)
        return reln_gather(b->g, x, reln_row_sample(b->g, b->rows));
    ones = reln_build_scratch(b, (size_t)points, sizeof *ones);
    for (int p = 0; ones && p < points; p++)
        ones[p] = 1;
    return ones ? reln_mul(b->g, x, reln_const(b->g, (RelnDims){.p = points}, NULL, ones)) : NULL;
}

RelnNode *reln_build_join(Build *b, RelnNode *x, RelnNode *y)
{
    if (!x || !y)
        return x ? x : y;
    return reln_concat(b->g, 2, (RelnNode *[]){x, y}, RELN_C);
}

RelnFeatures reln_build_features(Build *b)
{
    const Slot *slots = b->m->slots;
    RelnNode *x = slots[SLOT_X].c ? reln_build_spread(b, reln_build_input(b, SLOT_X)) : NULL;
    RelnNode *s = slots[SLOT_S].c ? reln_build_spread(b, reln_build_input(b, SLOT_S)) : NULL;

    return (RelnFeatures){reln_build_join(b, reln_build_input(b, SLOT_X_POINTS), x),
                          reln_build_join(b, reln_build_input(b, SLOT_S_POINTS), s)};
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------- */

static RelnNode *step(Build *b, RelnStepKind kind, const char *name, RelnNode *x)
{
    const RelnNet *net = &b->net;

    switch (kind) {
    case RELN_STEP_RELU:
        return reln_nn_relu(net, name, x, NULL);
    case RELN_STEP_LEAKY:
        return reln_nn_relu(net, name, x, &(RelnRelu){.leak = b->m->spec.model.leak});
    case RELN_STEP_RMS:
        return reln_nn_rms(net, name, x, NULL);
    case RELN_STEP_PROJECT:
        return reln_nn_project(net, name, x, NULL);
    case RELN_STEP_BRACKET:
        return reln_nn_bracket(net, name, x);
    case RELN_STEP_PRODUCT:
        return reln_nn_product(net, name, x);
    case RELN_STEP_JORDAN:
        return reln_nn_jordan(net, name, x);
    case RELN_STEP_TRIPLE:
        return reln_nn_triple(net, name, x);
    case RELN_STEP_GATE:
        break;
    }
    return reln_nn_gate(net, name, x, NULL, b->width);
}

RelnNode *reln_build_steps(Build *b, const char *block, RelnNode *x)
{
    for (int i = 0; i < b->m->n_steps; i++) {
        const RelnStepKind kind = b->m->steps[i];
        const Name name = reln_build_name("%s.%d.%s", block, i + 1, reln_step_text(kind));

        x = reln_build_tap(b, name, step(b, kind, name.text, x));
    }
    return x;
}

/* q / (1 + q^2)^(1/4): about q if q is small, and its root if q is large, so that invariants grow no faster
 * than features. */
static RelnNode *rooted(RelnGraph *g, RelnNode *q)
{
    RelnNode *r = reln_sqrt(g, reln_sqrt(g, reln_shift(g, reln_square(g, q), 1, 1)));

    return reln_div(g, q, r);
}

/* Returns the invariants so far, together with B(x, x) in its unit. */
RelnNode *reln_build_invariants(Build *b, RelnFeatures f)
{
    const double unit = feature_unit(b);
    const RelnScales scales = reln_build_scales(b);
    RelnNode *q;

    if (reln_model_is_structured(b->m))
        return f.x ? reln_build_join(b, reln_nn_lengths(&b->net, f.x, &scales), f.s) : f.s;
    q = reln_scale(b->g, reln_nn_invariant(&b->net, f.x),
                   1 / (unit * unit * reln_build_form_size(b)));

    return reln_build_join(b, rooted(b->g, q), f.s);
}

static RelnNode *silu(RelnGraph *g, RelnNode *s)
{
    return reln_mul(g, s, reln_sigmoid(g, s));
}

/* The block of `reln`: all equivariant linear maps of features and invariants, each followed by a
 * nonlinearity; the invariants also receive the lengths of features. */
RelnFeatures reln_build_complete_block(Build *b, const char *block, RelnFeatures f)
{
    const Name name = reln_build_name("%s.affine", block);

    reln_scope_begin(b->g, reln_build_name("%s.invariants", block).text);
    f.s = reln_build_invariants(b, f);
    reln_scope_end(b->g);
    f = reln_nn_affine(&b->net, name.text, f, b->width, b->width);
    reln_build_tap(b, name, f.x);
    reln_scope_begin(b->g, reln_build_name("%s.silu", block).text);
    f.s = silu(b->g, f.s);
    reln_scope_end(b->g);
    f.x = reln_build_steps(b, block, f.x);
    return f;
}

/* The published block. Scalar inputs bypass it and join its output. */
static RelnFeatures linear_block(Build *b, const char *block, RelnFeatures f)
{
    const Name name = reln_build_name("%s.linear", block);

    f.x = reln_build_tap(b, name, reln_nn_linear(&b->net, name.text, f.x, b->width));
    f.x = reln_build_steps(b, block, f.x);
    return f;
}

/* Dropout, only in training. A channel is dropped with all its coordinates, so features stay equivariant. */
RelnNode *reln_build_dropped(const Build *b, RelnNode *x)
{
    const double share = b->m->spec.model.dropout;

    return x && share > 0 && b->net.train ? reln_dropout(b->g, x, share, 0) : x;
}

static RelnFeatures block(Build *b, const char *name, RelnFeatures f)
{
    const bool complete = b->m->spec.model.kind == RELN_MODEL_RELN;

    f = complete ? reln_build_complete_block(b, name, f) : linear_block(b, name, f);
    f.x = reln_build_dropped(b, f.x);
    if (complete)
        f.s = reln_build_dropped(b, f.s);
    return f;
}

/* ---- sets of points --------------------------------------------------------------------------------------------------------- */

static RelnNode *pool_features(Build *b, RelnNode *x, int over)
{
    switch (b->m->spec.model.pool) {
    case RELN_POOL_MAX:
        return reln_nn_pool_max(&b->net, "pool", x, over, false);
    case RELN_POOL_SOFTMAX:
        return reln_nn_pool_softmax(&b->net, "pool", x, over);
    case RELN_POOL_MEAN:
        break;
    }
    return reln_nn_pool_mean(&b->net, x, over);
}

/* Pools the points. The network `reln` has one more block after the pool, which mixes the pooled features. */
static RelnFeatures pool(Build *b, RelnFeatures f)
{
    const int over = b->m->ragged ? RELN_POOL_ROWS : RELN_P;

    if (b->m->points == 0)
        return f;
    f.x = reln_build_tap(b, reln_build_name("pool"), pool_features(b, f.x, over));
    f.s = f.s ? reln_nn_pool_mean(&b->net, f.s, over) : NULL;
    return b->m->spec.model.kind == RELN_MODEL_RELN ? block(b, "after", f) : f;
}

/* ---- networks ---------------------------------------------------------------------------------------------------------------------- */

bool reln_build_wants(const Build *b, RelnItems items)
{
    for (int t = 0; t < b->m->spec.n_targets; t++)
        if (reln_target_items(&b->m->spec.target[t]) == items)
            return true;
    return false;
}

/* Returns features of points that depend on the whole set: one more block, applied to each point together
 * with the pooled features of all points. */
static RelnFeatures look_back(Build *b, RelnFeatures f, RelnFeatures all)
{
    f.x = reln_build_join(b, f.x, reln_build_spread(b, all.x));
    f.s = reln_build_join(b, f.s, reln_build_spread(b, all.s));
    return block(b, "each", f);
}

static Seen block_network(Build *b)
{
    RelnFeatures f;
    Seen seen = {0};

    reln_scope_begin(b->g, "lift");
    f = reln_build_features(b);
    reln_scope_end(b->g);
    for (int i = 0; i < b->m->spec.model.depth; i++)
        f = block(b, reln_build_name("block%d", i + 1).text, f);
    seen.of[RELN_ITEMS_SAMPLES] = pool(b, f);
    if (reln_build_wants(b, RELN_ITEMS_POINTS))
        seen.of[RELN_ITEMS_POINTS] = look_back(b, f, seen.of[RELN_ITEMS_SAMPLES]);
    return seen;
}

/* Builds a baseline: points attend to each other as plain numbers, and an mlp reads the mean and the maximum
 * over the points. */
static RelnNode *plain_attention(Build *b)
{
    const RelnSpecModel *spec = &b->m->spec.model;
    const RelnMlp mlp = {spec->head_hidden, b->width, (int)reln_model_outputs(b->m),
                         spec->activation};
    RelnFeatures f = {NULL, reln_build_input(b, SLOT_S_POINTS)};
    RelnNode *both[2];

    if (!f.s) {
        reln_graph_fail(b->g, RELN_ERR_ARG,
                        "kind %s: no input is a set of points; wanted points: true",
                        reln_model_kind_text(spec->kind));
        return NULL;
    }
    f.s = reln_build_join(b, f.s, reln_build_spread(b, reln_build_input(b, SLOT_S)));
    f.s = reln_nn_dense(&b->net, "tokens", f.s, b->width);
    for (int i = 0; i < spec->depth; i++)
        f = reln_nn_transformer(&b->net, reln_build_name("block%d", i + 1).text, f,
                                &(RelnTransformer){.heads = spec->heads,
                                                   .dropout = spec->dropout,
                                                   .activation = spec->activation});
    f.s = reln_nn_layer_norm_invariants(&b->net, "last", f.s);
    both[0] = reln_nn_pool_mean(&b->net, f.s, RELN_POOL_ROWS);
    both[1] = reln_nn_pool_largest(&b->net, f.s, RELN_POOL_ROWS);
    return reln_nn_mlp(&b->net, "mlp", reln_concat(b->g, 2, both, RELN_C), &mlp);
}

static RelnNode *plain_network(Build *b)
{
    const RelnSpecModel *s = &b->m->spec.model;
    const RelnMlp mlp = {s->depth + s->head_hidden, b->width, (int)reln_model_outputs(b->m),
                         s->activation};

    return reln_nn_mlp(&b->net, "mlp", reln_build_input(b, SLOT_FLAT), &mlp);
}

/* ---- the whole graph ------------------------------------------------------------------------------------------------ */

/* Returns the largest number of rows that are processed together. It depends on the sizes of the sets, not on
 * the places of a file, so padding changes no bit of a training. */
static int capacity(const RelnModel *m, const RelnModelOptions *options)
{
    const int largest = options->sizes.points > 0 ? options->sizes.points : m->points;

    return largest > 256 ? largest : 256;
}

static void build(Build *b, const RelnModelOptions *options)
{
    const RelnModel *m = b->m;
    Seen seen[TOWERS] = {{{{0}}}};

    if (m->ragged)
        b->rows = reln_rows(b->g, "points", capacity(m, options));
    if (m->spec.model.kind == RELN_MODEL_SEQUENCE || m->spec.model.kind == RELN_MODEL_RESNET) {
        reln_build_sequence_target(b, options);
    } else if (reln_model_is_mlp(m)) {
        reln_build_targets(
            b, seen, reln_model_is_plain_rows(m) ? plain_attention(b) : plain_network(b), options);
    } else {
        for (int i = 0; i < reln_build_towers(b); i++) {
            reln_build_enter(b, i);
            seen[i] = reln_model_is_structured(m) ? reln_build_structured(b) : block_network(b);
        }
        reln_build_targets(b, seen, NULL, options);
    }
}

RelnStatus reln_model_build_in(RelnModel *m, RelnStore *store, int width,
                               const RelnModelOptions *options, RelnModelGraph *out)
{
    Build b = {.m = m, .width = width, .taps = options->taps, .out = out, .sizes = options->sizes};
    RelnStatus status;

    memset(out, 0, sizeof *out);
    RELN_TRY(reln_graph_create(m->group, store, m->spec.train.dtype, &out->graph));
    b.g = out->graph;
    b.net.train = options->train;
    reln_build_enter(&b, 0);
    build(&b, options);
    status = reln_graph_status(out->graph);
    if (status != RELN_OK)
        reln_model_graph_clear(out);
    return status;
}

RelnStatus reln_model_build(RelnModel *m, const RelnModelOptions *options, RelnModelGraph *out)
{
    const RelnModelOptions none = {0};

    return reln_model_build_in(m, m->store, m->spec.model.width, options ? options : &none, out);
}

/* The number of items of a domain for a full set. */
static double items_of(const RelnModel *m, const char *domain)
{
    const RelnSpecModel *s = &m->spec.model;
    const double items = s->groups > 0 ? s->groups : m->points;

    if (strcmp(domain, "groups") == 0)
        return s->groups;
    if (strcmp(domain, "members") == 0)
        return (double)s->groups * s->members;
    if (strcmp(domain, "nearest") == 0)
        return items * s->neighbours;
    if (strcmp(domain, "edges") == 0)
        return m->shapes.edges;
    return strncmp(domain, "pairs of ", 9) == 0 ? items * (items - 1) : m->points;
}

RelnItems reln_model_layer_items(const RelnNode *layer)
{
    const char *name =
        layer->domain > RELN_SAMPLES ? reln_domain_name(layer->graph, layer->domain) : "";

    return strcmp(name, "edges") == 0    ? RELN_ITEMS_EDGES
           : strcmp(name, "points") == 0 ? RELN_ITEMS_POINTS
                                         : RELN_ITEMS_SAMPLES;
}

int reln_model_items(const RelnModel *m, const RelnNode *layer)
{
    return layer->domain > RELN_SAMPLES
               ? (int)items_of(m, reln_domain_name(layer->graph, layer->domain))
               : 1;
}

RelnCost reln_model_cost(const RelnModel *m, const RelnPlan *plan)
{
    RelnCost cost = reln_plan_cost(plan);

    for (int i = 0; i < cost.n_rows; i++) {
        cost.flops_sample += items_of(m, cost.rows[i].name) * cost.rows[i].flops;
        cost.bytes_sample += items_of(m, cost.rows[i].name) * cost.rows[i].bytes;
    }
    return cost;
}

void reln_model_graph_clear(RelnModelGraph *graph)
{
    reln_graph_destroy(graph->graph);
    memset(graph, 0, sizeof *graph);
}
