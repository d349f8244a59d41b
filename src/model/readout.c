/* readout.c -- computes the targets from the features of a network, and their losses. */
#include "graph/op.h"
#include "model/build.h"
#include "model/kinds.h"
#include "reln/ops.h"

/* ---- read-outs ------------------------------------------------------------------------------------------------------------------ */

/* A Read is the output for one target: its value in units of its standard deviation, and the logarithm of its
 * variance (NULL: none). */
typedef struct Read {
    RelnNode *value, *spread;
} Read;

static const RelnSpecTarget *spec_of(const Build *b)
{
    return &b->m->spec.target[b->target];
}

static RelnItems items_of(const Build *b)
{
    return reln_target_items(spec_of(b));
}

/* Repeats a value of the sample for every item of the target that is being built. */
static RelnNode *brought(Build *b, RelnNode *x)
{
    if (!x || items_of(b) == RELN_ITEMS_SAMPLES)
        return x;
    return items_of(b) == RELN_ITEMS_EDGES ? reln_spread(b->g, x, b->edges)
                                           : reln_build_spread(b, x);
}

static int channels_of(const Build *b)
{
    return b->m->shapes.target_channels[b->target];
}

/* Returns a name for the target that is being built: "head", "head2", "head3". */
static Name own(const Build *b, const char *name)
{
    Name out;

    reln_target_port(name, b->target, out.text);
    return out;
}

static RelnMlp head_of(const Build *b, int channels)
{
    const RelnSpecModel *s = &b->m->spec.model;

    return (RelnMlp){s->head_hidden, s->head_width ? s->head_width : b->width, channels,
                     s->activation};
}

/* Computes invariant numbers by an mlp of all invariants. */
static RelnNode *read_invariants(Build *b, RelnFeatures f, const char *name, int channels)
{
    static const char *const names[] = {"invariants", "invariants of points",
                                        "invariants of edges"};
    const RelnMlp head = head_of(b, channels);
    RelnNode *s = reln_build_invariants(b, f);

    if (!b->tapped[items_of(b)]) /* all targets and variances see the same invariants */
        reln_build_tap(b, reln_build_name("%s", names[items_of(b)]), s);
    b->tapped[items_of(b)] = true;
    return reln_nn_mlp(&b->net, own(b, name).text, reln_build_dropped(b, s), &head);
}

static RelnNode *plus(Build *b, RelnNode *x, RelnNode *y)
{
    return x ? reln_add(b->g, x, y) : y;
}

/* Computes vectors from features: every equivariant map, each with a separate mixing of channels. */
static RelnNode *vectors_of_features(Build *b, RelnNode *x)
{
    const RelnModel *m = b->m;
    const RelnMaps *maps = NULL;
    RelnNode *sum = NULL;

    if (!x || !reln_build_passed(b, reln_maps_linear(m->rep, m->vector, &maps) == RELN_OK))
        return NULL;
    for (int i = 0; i < maps->count; i++) {
        const double *map = maps->values + (ptrdiff_t)i * m->n * reln_model_k(m);
        RelnNode *h = reln_nn_linear(
            &b->net, reln_build_name("%s.map%d", own(b, "out").text, i).text, x, channels_of(b));

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

/* sum_j X_j v_j over the sample's vectors; each X_j is mixed from all channels. */
static RelnNode *times_vectors(Build *b, const RelnTensor3 *t, RelnNode *x, RelnNode *v)
{
    RelnNode *sum = NULL;

    for (int j = 0; j < b->m->slots[SLOT_V].c; j++) {
        RelnNode *h = reln_nn_linear(
            &b->net, reln_build_name("%s.times%d", own(b, "out").text, j).text, x, channels_of(b));
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
    v = brought(b, reln_build_input(b, SLOT_V));
    entries = reln_build_scratch(b, n * n, sizeof *entries);
    if (!entries)
        return NULL;
    return reln_add(b->g, times_vectors(b, times_vector(b, &t, entries), x, v),
                    reln_nn_linear(&b->net, reln_build_name("%s.own", own(b, "out").text).text, v,
                                   channels_of(b)));
}

static RelnNode *read_vector(Build *b, RelnFeatures f)
{
    RelnNode *x = vectors_of_features(b, f.x);
    RelnNode *own = f.x && b->m->algebra ? vectors_of_vectors(b, f.x) : NULL;

    if (!x && !own)
        reln_graph_fail(b->g, RELN_ERR_REP,
                        "target %s: no map leads from features %s to vectors under %s; wanted a "
                        "vector among the inputs",
                        spec_of(b)->name, reln_model_features(b->m),
                        reln_group_name(b->m->symmetry));
    return x && own ? reln_add(b->g, x, own) : x ? x : own;
}

/* Converts coordinates to the first n x n block of their matrix. */
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
                        spec_of(b)->name);
        return NULL;
    }
    if (b->m->spec.model.kind == RELN_MODEL_RELN)
        f = reln_nn_affine(&b->net, own(b, "out").text, f, channels_of(b), 0);
    else
        f.x = reln_nn_linear(&b->net, own(b, "out").text, f.x, channels_of(b));
    return block_of(b, f.x);
}

/* ---- symmetric matrices ----------------------------------------------------------------------------------------------- */

/* Z = x y with a sparse constant: entries (row of x, row of y, row of z). */
static RelnNode *joined(Build *b, int kx, int ky, int kz, int count, const RelnEntry *entries,
                        RelnNode *x, RelnNode *y, const RelnRep *rep)
{
    const RelnTensor3 t = {kx, ky, kz, count, entries};

    if (!reln_build_passed(b, rep != NULL) || !x || !y)
        return NULL;
    return reln_contract(b->g, &t, x, y, rep);
}

/* The product of two n x n matrices; the second one is transposed if `turned`. */
static RelnNode *product(Build *b, RelnNode *x, RelnNode *y, bool turned, const RelnRep *rep)
{
    const int n = b->m->n;
    RelnEntry *entries = reln_build_scratch(b, (size_t)n * (size_t)n * (size_t)n, sizeof *entries);
    int count = 0;

    for (int i = 0; entries && i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                entries[count++] =
                    (RelnEntry){i * n + k, turned ? j * n + k : k * n + j, i * n + j, 1};
    return entries ? joined(b, n * n, n * n, n * n, count, entries, x, y, rep) : NULL;
}

/* v w^T, which transforms by conjugation if the vector rep is its own dual. */
static RelnNode *outer(Build *b, RelnNode *v, RelnNode *w)
{
    const int n = b->m->n;
    RelnEntry *entries = reln_build_scratch(b, (size_t)n * (size_t)n, sizeof *entries);

    for (int i = 0; entries && i < n * n; i++)
        entries[i] = (RelnEntry){i / n, i % n, i, 1};
    return entries ? joined(b, n, n, n * n, n * n, entries, v, w, reln_build_matrix_rep(b)) : NULL;
}

static RelnNode *mixed(Build *b, const char *name, const char *part, RelnNode *x)
{
    return reln_nn_linear(&b->net, reln_build_name("%s.%s", own(b, name).text, part).text, x,
                          channels_of(b));
}

/* Matrices X -> g X g^-1 from features: a linear map plus a product of two, because the features may be
 * antisymmetric. */
static RelnNode *matrices(Build *b, const char *name, RelnNode *x)
{
    RelnNode *left = mixed(b, name, "left", x), *right = mixed(b, name, "right", x);

    if (!b->m->algebra)
        return outer(b, left, right);
    return reln_add(
        b->g, block_of(b, mixed(b, name, "linear", x)),
        product(b, block_of(b, left), block_of(b, right), false, reln_build_matrix_rep(b)));
}

static RelnNode *reference(Build *b)
{
    return brought(b, reln_build_input(b, SLOT_REFERENCE));
}

static RelnNode *precision(Build *b)
{
    return brought(b, reln_build_input(b, SLOT_PRECISION));
}

/* The part of X that is symmetric with respect to the reference: (X + Sbar X^T Sbar^-1) / 2; without a
 * reference, (X + X^T) / 2. */
static RelnNode *symmetric(Build *b, RelnNode *x)
{
    const int n = b->m->n;
    double *map = reln_build_scratch(b, (size_t)(n * n) * (size_t)(n * n), sizeof *map);
    const RelnRep *rep = reln_build_matrix_rep(b), *both;
    RelnNode *turned;

    if (!map || !rep)
        return NULL;
    if (reln_model_needs_reference(b->m)) {
        both = reln_rep_product(b->m->vector, b->m->vector);
        turned = product(b, reference(b), x, true, both);
        turned = product(b, turned, precision(b), false, rep);
        return reln_scale(b->g, reln_add(b->g, x, turned), 0.5);
    }
    for (int i = 0; i < n * n; i++) {
        map[i * n * n + i] += 0.5;
        map[i * n * n + i % n * n + i / n] += 0.5;
    }
    return reln_linear_map(b->g, x, map, rep);
}

/* Returns the matrix s times the identity. */
static RelnNode *times_one(Build *b, RelnNode *s)
{
    const int n = b->m->n;
    double *one = reln_build_scratch(b, (size_t)(n * n), sizeof *one);
    const RelnRep *rep = reln_build_matrix_rep(b);

    for (int i = 0; one && i < n; i++)
        one[i * n + i] = 1;
    return one && rep && s ? reln_linear_map(b->g, s, one, rep) : NULL;
}

static RelnNode *trace(Build *b, RelnNode *x)
{
    const int n = b->m->n;
    double *one = reln_build_scratch(b, (size_t)(n * n), sizeof *one);

    for (int i = 0; one && i < n; i++)
        one[i * n + i] = 1;
    return one && x ? reln_linear_map(b->g, x, one, reln_invariant(b->g, 1)) : NULL;
}

/* The trace of X X, which for matrices that are symmetric with respect to a reference is the square of an
 * invariant length. */
static RelnNode *length_squared(Build *b, RelnNode *x)
{
    return trace(b, product(b, x, x, false, reln_build_matrix_rep(b)));
}

/* Computes the logarithm of a covariance: a matrix that is symmetric with respect to the reference, plus a
 * multiple of the identity. */
static RelnNode *read_symmetric(Build *b, RelnFeatures f, const char *name)
{
    RelnNode *s;

    if (!reln_rep_is_orthogonal(b->m->vector) && !reln_model_needs_reference(b->m)) {
        reln_graph_fail(
            b->g, RELN_ERR_UNSUPPORTED,
            "target %s: a covariance under %s needs another one to compare with; wanted "
            "covariances with reference: mean among the inputs",
            spec_of(b)->name, reln_group_name(b->m->symmetry));
        return NULL;
    }
    s = read_invariants(b, f, reln_build_name("%s.one", name).text, channels_of(b));
    return reln_add(b->g, symmetric(b, matrices(b, name, f.x)), times_one(b, s));
}

/* Embeds n x n matrices in the corner of the group's larger matrices, or extracts them. */
static RelnNode *corner(Build *b, RelnNode *x, bool into)
{
    const int n = b->m->n, size = reln_group_n(b->m->group);
    const size_t count = (size_t)(n * n) * (size_t)(size * size);
    double *map = reln_build_scratch(b, count, sizeof *map);
    const RelnRep *rep = into ? reln_rep_matrix(b->m->group) : reln_build_matrix_rep(b);

    for (int i = 0; map && i < n * n; i++) {
        const int at = i / n * size + i % n;

        map[into ? at * n * n + i : i * size * size + at] = 1;
    }
    return map && x && reln_build_passed(b, rep != NULL) ? reln_linear_map(b->g, x, map, rep)
                                                         : NULL;
}

/* exp of n x n matrices; the corner of the exponential is the exponential of the corner. */
static RelnNode *exponential(Build *b, RelnNode *x)
{
    return corner(b, reln_matexp(b->g, corner(b, x, true)), false);
}

/* ---- uncertainty ------------------------------------------------------------------------------------------------------ */

/* Bound on logarithms of variances, so that their exponentials fit single precision. */
#define MOST_LOG 20.0

static RelnNode *limited(Build *b, RelnNode *s)
{
    return reln_scale(b->g, reln_tanh(b->g, reln_scale(b->g, s, 1 / MOST_LOG)), MOST_LOG);
}

/* Y / sqrt(1 + tr(Y^2) / most^2): the same bound for matrices, whose eigenvalues stay below `most`. */
static RelnNode *limited_matrix(Build *b, RelnNode *y)
{
    RelnNode *q = length_squared(b, y);

    return reln_div(b->g, y, reln_sqrt(b->g, reln_shift(b->g, q, 1 / (MOST_LOG * MOST_LOG), 1)));
}

static RelnNode *read_spread(Build *b, RelnFeatures f)
{
    if (spec_of(b)->loss != RELN_LOSS_GAUSSIAN)
        return NULL;
    if (spec_of(b)->variance == RELN_VARIANCE_COVARIANCE)
        return limited_matrix(b, read_symmetric(b, f, "spread"));
    return limited(b, read_invariants(b, f, "spread", channels_of(b)));
}

/* Makes quantiles ascend: the first is free, and each next one is larger by a positive number. */
static RelnNode *rising(Build *b, RelnNode *x)
{
    const int c = channels_of(b), count = reln_spec_quantiles(spec_of(b));
    RelnNode *parts[RELN_SPEC_QUANTILES];

    parts[0] = reln_slice(b->g, x, RELN_C, 0, c);
    for (int i = 1; i < count; i++)
        parts[i] = reln_add(b->g, parts[i - 1],
                            reln_softplus(b->g, reln_slice(b->g, x, RELN_C, i * c, c)));
    return count > 1 ? reln_concat(b->g, count, parts, RELN_C) : x;
}

/* ---- one target -------------------------------------------------------------------------------------------------------- */

static RelnNode *read_value(Build *b, RelnFeatures f)
{
    const RelnSpecTarget *t = spec_of(b);

    switch (t->as) {
    case RELN_TARGET_VECTOR:
        return read_vector(b, f);
    case RELN_TARGET_MATRIX:
        return read_matrix(b, f);
    case RELN_TARGET_COVARIANCE:
        return read_symmetric(b, f, "out");
    case RELN_TARGET_SCALAR:
    case RELN_TARGET_CLASS:
        break;
    }
    return read_invariants(b, f, "head", reln_model_layout(b->m, b->target).channels);
}

RelnNode *reln_build_value(Build *b, RelnFeatures f)
{
    RelnNode *y;

    reln_scope_begin(b->g, own(b, "read-out").text);
    y = read_value(b, f);
    reln_scope_end(b->g);
    return y;
}

static Read read_target(Build *b, RelnFeatures f)
{
    Read r;

    reln_scope_begin(b->g, own(b, "read-out").text);
    r = (Read){read_value(b, f), read_spread(b, f)};
    reln_scope_end(b->g);
    return r;
}

/* An mlp outputs the numbers of all targets side by side. */
static Read slice_target(Build *b, RelnNode *flat)
{
    const RelnTargetLayout l = reln_model_layout(b->m, b->target);
    const int first = (int)l.first, value = (int)l.value, spread = (int)l.spread;
    const bool whole = reln_model_outputs(b->m) == l.value;

    if (spread > channels_of(b)) {
        reln_graph_fail(
            b->g, RELN_ERR_UNSUPPORTED,
            "target %s: an mlp cannot predict an equivariant covariance; wanted variance: "
            "scalar",
            spec_of(b)->name);
        return (Read){0};
    }
    return (Read){whole ? flat : reln_slice(b->g, flat, RELN_C, first, value),
                  spread ? limited(b, reln_slice(b->g, flat, RELN_C, first + value, spread))
                         : NULL};
}

/* ---- losses -------------------------------------------------------------------------------------------------------------- */

/* Returns mean / deviation times the identity, which stands for the mean of covariances. */
static RelnNode *diagonal(Build *b, double x)
{
    const int n = b->m->n, channels = channels_of(b);
    const bool mlp = reln_model_is_mlp(b->m);
    double *values = reln_build_scratch(b, (size_t)(n * n * channels), sizeof *values);

    if (!values)
        return NULL;
    for (int i = 0; i < n * n * (mlp ? channels : 1); i++)
        values[i] = i % (n * n) / n == i % n ? x : 0;
    return mlp ? reln_const(b->g, (RelnDims){.c = n * n * channels}, NULL, values)
               : reln_const(b->g, (RelnDims){.k = n * n}, reln_build_matrix_rep(b), values);
}

static RelnDomain domain_of(const Build *b, RelnItems items)
{
    return items == RELN_ITEMS_EDGES    ? b->edges
           : items == RELN_ITEMS_POINTS ? b->rows
                                        : RELN_SAMPLES;
}

/* Returns the target in the form that the network learns: (t - mean) / deviation. */
static RelnNode *target(Build *b, RelnNode *y)
{
    const RelnTargetConstants *c = &b->m->constants.target[b->target];
    const Name name = own(b, "target");
    const RelnDomain domain = domain_of(b, items_of(b));
    RelnDims dims;
    RelnNode *t;

    if (!y)
        return NULL;
    if (spec_of(b)->as == RELN_TARGET_CLASS)
        return reln_input_index(b->g, name.text, domain, (RelnDims){0}, RELN_STEP,
                                spec_of(b)->classes);
    dims = reln_node_dims(y);
    dims.c /= reln_spec_quantiles(spec_of(b));
    t = reln_input(b->g, name.text, domain, dims, reln_node_rep(y), RELN_DEFAULT);
    if (spec_of(b)->as == RELN_TARGET_COVARIANCE)
        return reln_sub(b->g, reln_scale(b->g, t, 1 / c->deviation),
                        diagonal(b, c->mean / c->deviation));
    return reln_shift(b->g, t, 1 / c->deviation, -c->mean / c->deviation);
}

/* e^T G e, where G is a metric that comes with the data: an input in the product of the dual reps, bound to
 * the identity. So the error has a size in the frame of the data, and the same size in another frame with the
 * metric of that frame. */
static RelnNode *measured(Build *b, RelnNode *e)
{
    const int k = reln_node_dims(e).k;
    const RelnRep *dual = reln_rep_dual(reln_node_rep(e)), *both = reln_rep_product(dual, dual);
    RelnEntry *entries = reln_build_scratch(b, (size_t)k * (size_t)k, sizeof *entries);
    RelnTensor3 t = {k * k, k, k, 0, entries};

    if (!entries || !reln_build_passed(b, both != NULL))
        return NULL;
    for (int i = 0; i < k * k; i++)
        entries[t.count++] = (RelnEntry){i, i % k, i / k, 1};
    if (!b->metric)
        b->metric = reln_input(b->g, own(b, "metric").text, RELN_STEP, (RelnDims){.k = k * k}, both,
                               RELN_DEFAULT);
    return reln_pair(b->g, e, reln_contract(b->g, &t, b->metric, e, dual));
}

/* Builds the loss of errors that have no invariant length. */
static RelnNode *measured_loss(Build *b, RelnNode *y, RelnNode *t)
{
    const bool covariance = spec_of(b)->as == RELN_TARGET_COVARIANCE;
    RelnNode *e = reln_sub(b->g, y, t);

    if (spec_of(b)->loss != RELN_LOSS_MSE)
        reln_graph_fail(b->g, RELN_ERR_UNSUPPORTED,
                        "target %s: errors of a %s under %s have no length of their own; wanted "
                        "loss: mse",
                        spec_of(b)->name, reln_target_text(spec_of(b)->as),
                        reln_group_name(b->m->symmetry));
    if (!e)
        return NULL;
    return reln_scale(b->g, reln_sum_all(b->g, covariance ? length_squared(b, e) : measured(b, e)),
                      1.0 / (double)reln_model_layout(b->m, b->target).value);
}

/* exp(-Y) is the inverse of a covariance in units of the deviation; relative to the sample's reference, it is
 * deviation^2 Sbar^-1 exp(-Y). */
static RelnNode *gaussian_loss(Build *b, Read r, RelnNode *t)
{
    const double d = b->m->constants.target[b->target].deviation;
    const RelnRep *dual = reln_rep_dual(b->m->vector), *both;
    RelnNode *inverse;

    if (spec_of(b)->variance == RELN_VARIANCE_SCALAR && !reln_model_is_mlp(b->m))
        return reln_loss_gaussian(b->g, r.value, r.spread, t);
    if (spec_of(b)->variance ==
        RELN_VARIANCE_SCALAR) { /* the numbers of one value become K again */
        const int size = reln_model_target_size(b->m, b->target);
        const RelnDims dims = {.p = channels_of(b), .k = size, .c = 1};

        return reln_loss_gaussian(b->g, reln_reshape(b->g, r.value, dims),
                                  reln_reshape(b->g, r.spread, (RelnDims){.p = channels_of(b)}),
                                  reln_reshape(b->g, t, dims));
    }
    inverse = exponential(b, reln_scale(b->g, r.spread, -1));
    if (reln_model_needs_reference(b->m)) {
        both = reln_rep_product(dual, dual);
        inverse = reln_scale(b->g, product(b, precision(b), inverse, false, both), d * d);
    }
    return reln_loss_gaussian_matrix(b->g, r.value, inverse, trace(b, r.spread), t);
}

/* The weights of the target's items in the loss; NULL: all are 1. A batch may have no edge, so edges have weights of 1, whose
 * sum is looked at before it divides. */
static RelnNode *weights_of(Build *b, const RelnModelOptions *options)
{
    static const RelnItems items[] = {[RELN_WEIGHTS_SAMPLES] = RELN_ITEMS_SAMPLES,
                                      [RELN_WEIGHTS_POINTS] = RELN_ITEMS_POINTS,
                                      [RELN_WEIGHTS_EDGES] = RELN_ITEMS_EDGES};

    if (!options->loss)
        return NULL;
    if (options->weights == RELN_WEIGHTS_NONE)
        return items_of(b) == RELN_ITEMS_EDGES
                   ? reln_expand_domain(b->g, reln_scalar(b->g, 1.0), b->edges)
                   : NULL;
    if (!b->weights)
        b->weights = reln_input(b->g, "weights", domain_of(b, items[options->weights]),
                                (RelnDims){.k = 1, .c = 1}, NULL, RELN_DEFAULT);
    return options->weights == RELN_WEIGHTS_SAMPLES ? brought(b, b->weights) : b->weights;
}

/* A Lost holds the loss of every sample or point, and its mean over the batch. */
typedef struct Lost {
    RelnNode *each, *mean;
} Lost;

static Lost loss(Build *b, Read r, RelnNode *t, RelnNode *weights)
{
    const RelnLoss options = reln_spec_loss(&b->m->spec, b->target);
    RelnNode *each;

    if (!r.value || !t)
        return (Lost){0};
    if (options.kind == RELN_LOSS_GAUSSIAN)
        each = gaussian_loss(b, r, t);
    else if (!reln_rep_is_orthogonal(reln_node_rep(r.value)))
        each = measured_loss(b, r.value, t);
    else
        return (Lost){reln_loss(b->g, &options, r.value, t),
                      reln_loss_mean_weighted(b->g, &options, r.value, t, weights)};
    return (Lost){each, reln_weighted_mean(b->g, each, weights)};
}

bool reln_model_graph_loss(const RelnModel *m, int target)
{
    const RelnSpecTarget *t = &m->spec.target[target];
    /* Networks that follow a symmetry measure the lengths of errors, and an mlp the single numbers. */
    const bool lengths = (t->loss == RELN_LOSS_MAE || t->loss == RELN_LOSS_HUBER) &&
                         reln_model_target_size(m, target) > 1;

    return t->as == RELN_TARGET_COVARIANCE || t->loss == RELN_LOSS_GAUSSIAN ||
           t->loss == RELN_LOSS_QUANTILES || lengths;
}

/* ---- all targets --------------------------------------------------------------------------------------------------------- */

/* Returns the value in the units of the data. From the logarithm L of a covariance: exp(deviation L + mean),
 * times the reference. */
static RelnNode *finished(Build *b, RelnNode *y)
{
    const RelnTargetConstants *c = &b->m->constants.target[b->target];
    RelnNode *x;

    if (spec_of(b)->as == RELN_TARGET_CLASS)
        return y;
    if (spec_of(b)->as != RELN_TARGET_COVARIANCE)
        return reln_shift(b->g, y, c->deviation, c->mean);
    x = reln_add(b->g, reln_scale(b->g, y, c->deviation), diagonal(b, c->mean));
    if (reln_model_is_mlp(b->m))
        return x; /* reln_model_predictions() takes the exponential */
    x = exponential(b, x);
    return reln_model_needs_reference(b->m)
               ? product(b, x, reference(b), false, reln_rep_product(b->m->vector, b->m->vector))
               : x;
}

/* Returns the variance in the units of the data. */
static RelnNode *finished_spread(Build *b, RelnNode *s)
{
    const double d = b->m->constants.target[b->target].deviation;
    RelnNode *x;

    if (!s)
        return NULL;
    if (spec_of(b)->variance == RELN_VARIANCE_SCALAR)
        return reln_scale(b->g, reln_exp(b->g, s), d * d);
    x = exponential(b, s);
    return reln_model_needs_reference(b->m)
               ? product(b, x, reference(b), false, reln_rep_product(b->m->vector, b->m->vector))
               : reln_scale(b->g, x, d * d);
}

/* Returns the mean of the outputs of all networks. */
static Read mean_of(Build *b, int n, const Read *reads)
{
    Read sum = reads[0];

    for (int i = 1; i < n; i++) {
        sum.value = reln_add(b->g, sum.value, reads[i].value);
        sum.spread = sum.spread ? reln_add(b->g, sum.spread, reads[i].spread) : NULL;
    }
    if (n == 1)
        return sum;
    return (Read){reln_scale(b->g, sum.value, 1.0 / n),
                  sum.spread ? reln_scale(b->g, sum.spread, 1.0 / n) : NULL};
}

/* Adds the loss of a target. In training every network has its loss, as if it were alone, and the loss is their
 * mean; otherwise it is that of the mean output. */
static void add_loss(Build *b, int n, const Read *reads, Read mean, const RelnModelOptions *options)
{
    RelnNode *t = target(b, mean.value), *weights = weights_of(b, options), *sum = NULL;
    const double weight = spec_of(b)->weight;
    const Lost lost = loss(b, mean, t, weights);

    for (int i = 0; n > 1 && b->net.train && i < n; i++)
        sum = plus(b, sum, loss(b, reads[i], t, weights).mean);
    sum = sum ? reln_scale(b->g, sum, 1.0 / n) : lost.mean;
    if (options->loss)
        b->out->loss = plus(b, b->out->loss, weight == 1 ? sum : reln_scale(b->g, sum, weight));
    if (options->losses)
        reln_output(b->g, own(b, "loss").text, lost.each);
}

/* Finishes a target from the outputs of `n` networks. */
static void finish_target(Build *b, int n, Read *reads, const RelnModelOptions *options)
{
    const int t = b->target;
    Read r;

    for (int i = 0; i < n; i++) {
        if (spec_of(b)->loss == RELN_LOSS_QUANTILES)
            reads[i].value = rising(b, reads[i].value);
        if (b->m->spec.sequence.estimate[0]) /* then there is only one target */
            reads[i].value = reln_build_with_estimate(b, reads[i].value);
    }
    r = mean_of(b, n, reads);
    if (options->loss || (options->losses && reln_model_graph_loss(b->m, t)))
        add_loss(b, n, reads, r, options);
    b->out->y[t] = finished(b, r.value);
    reln_output(b->g, own(b, "y").text, b->out->y[t]);
    b->out->variance[t] = finished_spread(b, r.spread);
    if (b->out->variance[t])
        reln_output(b->g, own(b, "variance").text, b->out->variance[t]);
}

void reln_build_targets(Build *b, const Seen *seen, RelnNode *flat, const RelnModelOptions *options)
{
    const int n = reln_build_towers(b);
    Read reads[TOWERS];

    for (b->target = 0; b->target < b->m->spec.n_targets; b->target++) {
        b->metric = NULL;
        for (int i = 0; i < n; i++) {
            reln_build_enter(b, i);
            reads[i] = reln_model_is_mlp(b->m) ? slice_target(b, flat)
                                               : read_target(b, seen[i].of[items_of(b)]);
        }
        reln_build_enter(b, 0);
        finish_target(b, n, reads, options);
    }
}

void reln_build_sequence_target(Build *b, const RelnModelOptions *options)
{
    RelnNode *y = reln_build_sequence(b);

    if (reln_model_graph_loss(b->m, 0))
        reln_graph_fail(b->g, RELN_ERR_UNSUPPORTED,
                        "target %s: networks along time have no uncertainty and no covariances; "
                        "wanted loss: mse, mae or huber",
                        spec_of(b)->name);
    finish_target(b, 1, &(Read){y, NULL}, options);
}
