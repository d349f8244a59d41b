/* build.c -- a model as a graph: inputs, blocks, pooling, read-out, loss. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/op.h"
#include "model/kinds.h"
#include "model/model.h"
#include "reln/ops.h"

typedef struct Build {
    RelnModel *m;
    RelnGraph *g;
    RelnNet net;
    int width;
    bool taps;
    RelnDomain rows;
    RelnModelGraph *out;
} Build;

/* ---- names and taps -------------------------------------------------------------------------------------------------- */

typedef struct Name {
    char text[32];
} Name;

static Name name_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static Name name_of(const char *format, ...)
{
    Name name;
    va_list args;

    va_start(args, format);
    vsnprintf(name.text, sizeof name.text, format, args);
    va_end(args);
    return name;
}

static RelnNode *tap(Build *b, Name name, RelnNode *node)
{
    if (b->taps && node && b->out->n_taps < RELN_MODEL_TAPS) {
        RelnTap *t = &b->out->taps[b->out->n_taps++];

        memcpy(t->name, name.text, sizeof t->name);
        t->node = node;
        reln_output(b->g, t->name, node);
    }
    return node;
}

/* ---- failing -------------------------------------------------------------------------------------------------------- */

/* Allocate scratch memory. A failure outside of the graph fails the graph, so that no later node is built without
 * it. */
static void *scratch(Build *b, size_t count, size_t size)
{
    void *block = reln_arena_alloc(reln_graph_arena(b->g), count, size);

    if (!block)
        reln_graph_nomem(b->g);
    return block;
}

static bool passed(Build *b, bool holds)
{
    if (!holds)
        reln_graph_fail(b->g, reln_ctx_status(b->m->ctx), "%s", reln_ctx_error(b->m->ctx));
    return holds;
}

static const RelnRep *matrix_rep(Build *b)
{
    const RelnRep *rep = reln_rep_product(b->m->vector, reln_rep_dual(b->m->vector));

    return passed(b, rep != NULL) ? rep : NULL;
}

/* The size of B(x, y) for x and y with coordinates of size 1: the root of the sum of squares of its matrix. */
static double form_size(Build *b)
{
    const int k = reln_model_k(b->m);
    const double *gram = NULL;
    double square = 0;

    if (!b->m->algebra)
        return sqrt(k);
    if (!passed(b, reln_algebra_gram(b->m->algebra, b->net.form, &gram) == RELN_OK))
        return 1;
    for (int i = 0; i < k * k; i++)
        square += gram[i] * gram[i];
    return square > 0 ? sqrt(square) : 1;
}

/* The unit of features. The published gate adds B(x, d) d, a cube, to x: where the form of x is larger than 1, every
 * layer enlarges x. Lie Neurons see features of size 1/4, so that samples four times the usual size stay below 1; our
 * own gates have no such limit, and see coordinates of size 1. */
static double feature_unit(Build *b)
{
    return b->m->spec.model.kind == RELN_MODEL_LIE_NEURONS ? 0.25 / sqrt(form_size(b)) : 1;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------ */

/* unit / scale of every channel of a slot. */
static RelnNode *scales(Build *b, SlotId id)
{
    const RelnModel *m = b->m;
    const double unit = id == SLOT_X || id == SLOT_X_POINTS ? feature_unit(b) : 1;
    const int c = m->slots[id].c;
    double *values = scratch(b, (size_t)c, sizeof *values);

    for (int i = 0; values && i < m->spec.n_inputs; i++) {
        const bool vectors = id == SLOT_V && m->lift[i].vectors >= 0;
        const int first = vectors ? m->lift[i].vectors : m->lift[i].first;
        const int count = vectors ? m->shapes.input[i].channels : m->lift[i].channels;

        for (int j = 0; (vectors || m->lift[i].slot == id) && j < count; j++)
            values[first + j] = unit / m->constants.scale[i];
    }
    return values ? reln_const(b->g, (RelnDims){.c = c}, NULL, values) : NULL;
}

static const RelnRep *slot_rep(const RelnModel *m, SlotId id)
{
    if (id == SLOT_X || id == SLOT_X_POINTS)
        return m->rep;
    return id == SLOT_V ? m->vector : NULL;
}

static RelnNode *input(Build *b, SlotId id)
{
    const RelnModel *m = b->m;
    const Slot *s = &m->slots[id];
    const bool rows = s->by_point && m->masked;
    const RelnDims dims = {.p = s->by_point && !rows ? m->points : 1, .k = s->k, .c = s->c};
    RelnNode *x;

    if (s->c == 0)
        return NULL;
    x = reln_input(b->g, s->name, rows ? b->rows : RELN_SAMPLES, dims, slot_rep(m, id),
                   RELN_DEFAULT);
    return reln_mul(b->g, x, scales(b, id));
}

/* Repeat the value of a sample for each of its points. */
static RelnNode *spread(Build *b, RelnNode *x)
{
    const int points = b->m->points;
    double *ones;

    if (!x || points == 0)
        return x;
    if (b->m->masked)
        return reln_gather(b->g, x, reln_row_sample(b->g, b->rows));
    ones = scratch(b, (size_t)points, sizeof *ones);
    for (int p = 0; ones && p < points; p++)
        ones[p] = 1;
    return ones ? reln_mul(b->g, x, reln_const(b->g, (RelnDims){.p = points}, NULL, ones)) : NULL;
}

static RelnNode *join(Build *b, RelnNode *x, RelnNode *y)
{
    if (!x || !y)
        return x ? x : y;
    return reln_concat(b->g, 2, (RelnNode *[]){x, y}, RELN_C);
}

static RelnFeatures features(Build *b)
{
    const Slot *slots = b->m->slots;
    RelnNode *x = slots[SLOT_X].c ? spread(b, input(b, SLOT_X)) : NULL;
    RelnNode *s = slots[SLOT_S].c ? spread(b, input(b, SLOT_S)) : NULL;

    return (RelnFeatures){join(b, input(b, SLOT_X_POINTS), x), join(b, input(b, SLOT_S_POINTS), s)};
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

static RelnNode *steps(Build *b, const char *block, RelnNode *x)
{
    for (int i = 0; i < b->m->n_steps; i++) {
        const RelnStepKind kind = b->m->steps[i];
        const Name name = name_of("%s.%d.%s", block, i + 1, reln_step_text(kind));

        x = tap(b, name, step(b, kind, name.text, x));
    }
    return x;
}

/* q / (1 + q^2)^(1/4): q where it is small, its root where it is large, so that invariants grow as features do. */
static RelnNode *rooted(RelnGraph *g, RelnNode *q)
{
    RelnNode *r = reln_sqrt(g, reln_sqrt(g, reln_shift(g, reln_square(g, q), 1, 1)));

    return reln_div(g, q, r);
}

/* The invariants so far, together with B(x, x) in its unit. */
static RelnNode *invariants(Build *b, RelnFeatures f)
{
    const double unit = feature_unit(b);
    RelnNode *q =
        reln_scale(b->g, reln_nn_invariant(&b->net, f.x), 1 / (unit * unit * form_size(b)));

    return join(b, rooted(b->g, q), f.s);
}

static RelnNode *silu(RelnGraph *g, RelnNode *s)
{
    return reln_mul(g, s, reln_sigmoid(g, s));
}

/* Our own block: all equivariant linear maps of features and invariants, each followed by a nonlinearity; the
 * invariants see the lengths of features too. */
static RelnFeatures complete_block(Build *b, const char *block, RelnFeatures f)
{
    const Name name = name_of("%s.affine", block);

    reln_scope_begin(b->g, name_of("%s.invariants", block).text);
    f.s = invariants(b, f);
    reln_scope_end(b->g);
    f = reln_nn_affine(&b->net, name.text, f, b->width, b->width);
    tap(b, name, f.x);
    reln_scope_begin(b->g, name_of("%s.silu", block).text);
    f.s = silu(b->g, f.s);
    reln_scope_end(b->g);
    f.x = steps(b, block, f.x);
    return f;
}

/* The published block. Scalar inputs bypass it and join its output. */
static RelnFeatures linear_block(Build *b, const char *block, RelnFeatures f)
{
    const Name name = name_of("%s.linear", block);

    f.x = tap(b, name, reln_nn_linear(&b->net, name.text, f.x, b->width));
    f.x = steps(b, block, f.x);
    return f;
}

/* Dropout, only in training. A channel is dropped with all its coordinates, so features stay equivariant. */
static RelnNode *dropped(const Build *b, RelnNode *x)
{
    const double share = b->m->spec.model.dropout;

    return x && share > 0 && b->net.train ? reln_dropout(b->g, x, share, 0) : x;
}

static RelnFeatures block(Build *b, const char *name, RelnFeatures f)
{
    const bool complete = b->m->spec.model.kind == RELN_MODEL_RELN;

    f = complete ? complete_block(b, name, f) : linear_block(b, name, f);
    f.x = dropped(b, f.x);
    if (complete)
        f.s = dropped(b, f.s);
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

/* Pool the points. Our own network has one more block behind the pool, which mixes the pooled features. */
static RelnFeatures pool(Build *b, RelnFeatures f)
{
    const int over = b->m->masked ? RELN_POOL_ROWS : RELN_P;

    if (b->m->points == 0)
        return f;
    f.x = tap(b, name_of("pool"), pool_features(b, f.x, over));
    f.s = f.s ? reln_nn_pool_mean(&b->net, f.s, over) : NULL;
    return b->m->spec.model.kind == RELN_MODEL_RELN ? block(b, "after", f) : f;
}

/* ---- read-outs ------------------------------------------------------------------------------------------------------------------ */

int reln_model_target_size(const RelnModel *m)
{
    return reln_kind_size(reln_target_kind(m->spec.target.as)->as, m->n, 0);
}

int reln_model_target_channels(const RelnModel *m)
{
    return m->spec.target.as == RELN_TARGET_CLASS ? m->spec.target.classes
                                                  : m->shapes.target_channels;
}

static RelnMlp head_of(const Build *b, int channels)
{
    const RelnSpecModel *s = &b->m->spec.model;

    return (RelnMlp){s->head_hidden, s->head_width ? s->head_width : b->width, channels,
                     s->activation};
}

static RelnNode *read_invariants(Build *b, RelnFeatures f)
{
    const RelnMlp head = head_of(b, reln_model_target_channels(b->m));
    RelnNode *s = tap(b, name_of("invariants"), invariants(b, f));

    return reln_nn_mlp(&b->net, "head", dropped(b, s), &head);
}

static RelnNode *plus(Build *b, RelnNode *x, RelnNode *y)
{
    return x ? reln_add(b->g, x, y) : y;
}

/* Vectors from features: every equivariant map, each with its own mixing of channels. */
static RelnNode *vectors_of_features(Build *b, RelnNode *x)
{
    const RelnModel *m = b->m;
    const RelnMaps *maps = NULL;
    RelnNode *sum = NULL;

    if (!x || !passed(b, reln_maps_linear(m->rep, m->vector, &maps) == RELN_OK))
        return NULL;
    for (int i = 0; i < maps->count; i++) {
        const double *map = maps->values + (ptrdiff_t)i * m->n * reln_model_k(m);
        RelnNode *h =
            reln_nn_linear(&b->net, name_of("out.map%d", i).text, x, m->shapes.target_channels);

        sum = plus(b, sum, reln_linear_map(b->g, h, map, m->vector));
    }
    return sum;
}

/* (X, v) -> X v, the first n rows and columns of X: one entry for each (row, column). */
static const RelnTensor3 *times_vector(Build *b, RelnTensor3 *t, RelnEntry *entries)
{
    const int n = b->m->n, size = reln_algebra_n(b->m->algebra);

    *t = (RelnTensor3){size * size, n, n, 0, entries};
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++)
            entries[t->count++] = (RelnEntry){row * size + column, column, row, 1};
    return t;
}

/* sum_j X_j v_j over the sample's own vectors, X_j mixed from all channels. */
static RelnNode *times_vectors(Build *b, const RelnTensor3 *t, RelnNode *x, RelnNode *v)
{
    RelnNode *sum = NULL;

    for (int j = 0; j < b->m->slots[SLOT_V].c; j++) {
        RelnNode *h = reln_nn_linear(&b->net, name_of("out.times%d", j).text, x,
                                     b->m->shapes.target_channels);
        RelnNode *vj = reln_slice(b->g, v, RELN_C, j, 1);

        sum = plus(b, sum, reln_contract(b->g, t, reln_nn_hat(&b->net, h), vj, b->m->vector));
    }
    return sum;
}

static RelnNode *vectors_of_vectors(Build *b, RelnNode *x)
{
    const size_t n = (size_t)b->m->n;
    RelnEntry *entries;
    RelnTensor3 t;
    RelnNode *v;

    if (b->m->slots[SLOT_V].c == 0)
        return NULL;
    v = input(b, SLOT_V);
    entries = scratch(b, n * n, sizeof *entries);
    if (!entries)
        return NULL;
    return reln_add(b->g, times_vectors(b, times_vector(b, &t, entries), x, v),
                    reln_nn_linear(&b->net, "out.own", v, b->m->shapes.target_channels));
}

static RelnNode *read_vector(Build *b, RelnFeatures f)
{
    RelnNode *x = vectors_of_features(b, f.x);
    RelnNode *own = f.x && b->m->algebra ? vectors_of_vectors(b, f.x) : NULL;

    if (!x && !own)
        reln_graph_fail(b->g, RELN_ERR_REP,
                        "target %s: no map leads from features %s to vectors under %s; wanted a "
                        "vector among the inputs",
                        b->m->spec.target.name, reln_model_features(b->m),
                        reln_group_name(b->m->symmetry));
    return x && own ? reln_add(b->g, x, own) : x ? x : own;
}

/* From coordinates to the first n x n block of the matrix that they stand for. */
static RelnNode *block_of(Build *b, RelnNode *x)
{
    const RelnModel *m = b->m;
    const int size = reln_algebra_n(m->algebra), k = reln_model_k(m), n = m->n;
    const double *basis = reln_algebra_basis(m->algebra);
    double *map = scratch(b, (size_t)(n * n * k), sizeof *map);
    const RelnRep *rep = matrix_rep(b);

    for (int i = 0; map && i < n * n; i++)
        for (int j = 0; j < k; j++)
            map[i * k + j] = basis[((ptrdiff_t)j * size + i / n) * size + i % n];
    return map && rep ? reln_linear_map(b->g, x, map, rep) : NULL;
}

static RelnNode *read_matrix(Build *b, RelnFeatures f)
{
    if (!b->m->algebra) {
        reln_graph_fail(b->g, RELN_ERR_UNSUPPORTED,
                        "target %s: vector-neurons give scalars, classes and vectors; wanted kind: "
                        "reln",
                        b->m->spec.target.name);
        return NULL;
    }
    if (b->m->spec.model.kind == RELN_MODEL_RELN)
        f = reln_nn_affine(&b->net, "out", f, b->m->shapes.target_channels, 0);
    else
        f.x = reln_nn_linear(&b->net, "out", f.x, b->m->shapes.target_channels);
    return block_of(b, f.x);
}

static RelnNode *read_target(Build *b, RelnFeatures f)
{
    switch (b->m->spec.target.as) {
    case RELN_TARGET_VECTOR:
        return read_vector(b, f);
    case RELN_TARGET_MATRIX:
        return read_matrix(b, f);
    case RELN_TARGET_SCALAR:
    case RELN_TARGET_CLASS:
        break;
    }
    return read_invariants(b, f);
}

static RelnNode *read_out(Build *b, RelnFeatures f)
{
    RelnNode *y;

    reln_scope_begin(b->g, "read-out");
    y = read_target(b, f);
    reln_scope_end(b->g);
    return y;
}

/* ---- networks ---------------------------------------------------------------------------------------------------------------------- */

static RelnNode *equivariant_network(Build *b)
{
    RelnFeatures f;

    reln_scope_begin(b->g, "lift");
    f = features(b);
    reln_scope_end(b->g);
    for (int i = 0; i < b->m->spec.model.depth; i++)
        f = block(b, name_of("block%d", i + 1).text, f);
    return read_out(b, pool(b, f));
}

static RelnNode *plain_network(Build *b)
{
    const RelnSpecModel *s = &b->m->spec.model;
    const RelnMlp mlp = {s->depth + s->head_hidden, b->width,
                         reln_model_target_channels(b->m) * reln_model_target_size(b->m),
                         s->activation};

    return reln_nn_mlp(&b->net, "mlp", input(b, SLOT_FLAT), &mlp);
}

/* ---- loss ------------------------------------------------------------------------------------------------------------------------------ */

/* The target as the network sees it while learning: (t - mean) / deviation. */
static RelnNode *target(Build *b, RelnNode *y)
{
    const RelnConstants *c = &b->m->constants;
    RelnNode *t;

    if (!y)
        return NULL;
    if (b->m->spec.target.as == RELN_TARGET_CLASS)
        return reln_input_index(b->g, "target", RELN_SAMPLES, (RelnDims){0}, RELN_STEP,
                                b->m->spec.target.classes);
    t = reln_input(b->g, "target", RELN_SAMPLES, reln_node_dims(y), reln_node_rep(y), RELN_DEFAULT);
    return reln_shift(b->g, t, 1 / c->deviation, -c->mean / c->deviation);
}

/* e^T G e, where G is a metric that comes with the data: an input in the product of the dual reps, bound to the
 * identity. So the error has a size in the frame of the data; in another frame, with the metric of that frame, it has
 * the same size. */
static RelnNode *measured(Build *b, RelnNode *e)
{
    const int k = reln_node_dims(e).k;
    const RelnRep *dual = reln_rep_dual(reln_node_rep(e)), *both = reln_rep_product(dual, dual);
    RelnEntry *entries = scratch(b, (size_t)k * (size_t)k, sizeof *entries);
    RelnTensor3 t = {k * k, k, k, 0, entries};
    RelnNode *metric;

    if (!entries || !passed(b, both != NULL))
        return NULL;
    for (int i = 0; i < k * k; i++)
        entries[t.count++] = (RelnEntry){i, i % k, i / k, 1};
    metric = reln_input(b->g, "metric", RELN_STEP, (RelnDims){.k = k * k}, both, RELN_DEFAULT);
    return reln_pair(b->g, e, reln_contract(b->g, &t, metric, e, dual));
}

static RelnNode *measured_loss(Build *b, RelnNode *y, RelnNode *t)
{
    RelnNode *e = reln_sub(b->g, y, t);

    if (b->m->spec.train.loss != RELN_LOSS_MSE)
        reln_graph_fail(b->g, RELN_ERR_UNSUPPORTED,
                        "target %s: errors of a %s under %s have no length of their own; wanted "
                        "loss: mse",
                        b->m->spec.target.name, reln_target_text(b->m->spec.target.as),
                        reln_group_name(b->m->symmetry));
    if (!e)
        return NULL;
    return reln_batch_mean(b->g, reln_scale(b->g, reln_sum_all(b->g, measured(b, e)),
                                            1.0 / (double)reln_model_outputs(b->m)));
}

static RelnNode *loss(Build *b, RelnNode *y)
{
    const RelnLoss options = reln_spec_loss(&b->m->spec);
    RelnNode *t = target(b, y);

    if (!y || !t)
        return NULL;
    if (!reln_rep_is_orthogonal(reln_node_rep(y)))
        return measured_loss(b, y, t);
    return reln_loss_mean(b->g, &options, y, t);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------------------------- */

static void build(Build *b, bool with_loss)
{
    const RelnModel *m = b->m;
    RelnNode *y;

    if (m->masked)
        b->rows = reln_rows(b->g, "points", m->points > 256 ? m->points : 256);
    y = reln_model_is_mlp(m) ? plain_network(b) : equivariant_network(b);
    if (with_loss)
        b->out->loss = loss(b, y);
    b->out->y = m->spec.target.as == RELN_TARGET_CLASS
                    ? y
                    : reln_shift(b->g, y, m->constants.deviation, m->constants.mean);
    reln_output(b->g, "y", b->out->y);
}

RelnStatus reln_model_build_in(RelnModel *m, RelnStore *store, int width,
                               const RelnModelOptions *options, RelnModelGraph *out)
{
    Build b = {.m = m, .width = width, .taps = options->taps, .out = out};
    RelnStatus status;

    memset(out, 0, sizeof *out);
    RELN_TRY(reln_graph_create(m->group, store, m->spec.train.dtype, &out->graph));
    b.g = out->graph;
    b.net = (RelnNet){.graph = out->graph,
                      .algebra = m->algebra,
                      .form = m->spec.model.form,
                      .train = options->train};
    build(&b, options->loss);
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

RelnCost reln_model_cost(const RelnModel *m, const RelnPlan *plan)
{
    RelnCost cost = reln_plan_cost(plan);

    for (int i = 0; i < cost.n_rows; i++) { /* the only row domain is that of masked points */
        cost.flops_sample += m->points * cost.rows[i].flops;
        cost.bytes_sample += m->points * cost.rows[i].bytes;
    }
    return cost;
}

void reln_model_graph_clear(RelnModelGraph *graph)
{
    reln_graph_destroy(graph->graph);
    memset(graph, 0, sizeof *graph);
}
