/* readout.c -- from the features of a network to its targets, and the loss of targets. */
#include "graph/op.h"
#include "model/build.h"
#include "model/kinds.h"
#include "reln/ops.h"

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
    RelnNode *s = reln_build_tap(b, reln_build_name("invariants"), reln_build_invariants(b, f));

    return reln_nn_mlp(&b->net, "head", reln_build_dropped(b, s), &head);
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

    if (!x || !reln_build_passed(b, reln_maps_linear(m->rep, m->vector, &maps) == RELN_OK))
        return NULL;
    for (int i = 0; i < maps->count; i++) {
        const double *map = maps->values + (ptrdiff_t)i * m->n * reln_model_k(m);
        RelnNode *h = reln_nn_linear(&b->net, reln_build_name("out.map%d", i).text, x,
                                     m->shapes.target_channels);

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
        RelnNode *h = reln_nn_linear(&b->net, reln_build_name("out.times%d", j).text, x,
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
    v = reln_build_input(b, SLOT_V);
    entries = reln_build_scratch(b, n * n, sizeof *entries);
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
    double *map = reln_build_scratch(b, (size_t)(n * n * k), sizeof *map);
    const RelnRep *rep = reln_build_matrix_rep(b);

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

RelnNode *reln_build_readout(Build *b, RelnFeatures f)
{
    RelnNode *y;

    reln_scope_begin(b->g, "read-out");
    y = read_target(b, f);
    reln_scope_end(b->g);
    return y;
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
    RelnEntry *entries = reln_build_scratch(b, (size_t)k * (size_t)k, sizeof *entries);
    RelnTensor3 t = {k * k, k, k, 0, entries};
    RelnNode *metric;

    if (!entries || !reln_build_passed(b, both != NULL))
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

RelnNode *reln_build_loss(Build *b, RelnNode *y)
{
    const RelnLoss options = reln_spec_loss(&b->m->spec);
    RelnNode *t = target(b, y);

    if (!y || !t)
        return NULL;
    if (!reln_rep_is_orthogonal(reln_node_rep(y)))
        return measured_loss(b, y, t);
    return reln_loss_mean(b->g, &options, y, t);
}
