/* messages.c -- messages between the rows of a set, or from one set to another, computed from invariants of pairs. */
#include "nn/nn.h"

/* A Messages holds the nodes that the functions on pairs use. All of them belong to the graph around the
 * functions. */
typedef struct Messages {
    const RelnNet *net;
    const char *name;
    const RelnMessages *options;
    RelnDomain rows, senders,
        pairs;                      /* the rows that receive, the rows that send, and their pairs */
    RelnNode *x, *from;             /* of the rows that receive, and that send */
    RelnNode *weights;              /* weights of rows; NULL: all are 1 */
    RelnNode *by_first, *by_second; /* the parts of the first layer that depend on one end */
    RelnNode *of_pair;              /* weights of the first layer for the invariants of a pair */
    RelnNode *scale;                /* factor of of_pair and by_second; NULL: 1 */
    RelnNode *kept; /* invariants of all pairs; NULL: every function computes them */
    int fan_in, width;
} Messages;

/* A Degrees holds the weighted numbers of pairs of each row: as the receiver, and as the sender. */
typedef struct Degrees {
    RelnNode *first, *second;
} Degrees;

/* ---- pairs -------------------------------------------------------------------------------------------------------- */

static RelnNode *at_first(RelnGraph *g, const Messages *m, RelnNode *x)
{
    return reln_spread(g, x, m->pairs);
}

static RelnNode *at_second(RelnGraph *g, const Messages *m, RelnNode *x)
{
    return m->options->other ? reln_gather(g, x, m->options->other)
                             : reln_spread_second(g, x, m->pairs);
}

/* w_i w_j, w_i if another set sends; NULL if all are 1 */
static RelnNode *pair_weight(RelnGraph *g, const Messages *m)
{
    RelnNode *w = m->weights ? at_first(g, m, m->weights) : NULL;

    return w && m->senders == m->rows ? reln_mul(g, w, at_second(g, m, m->weights)) : w;
}

static RelnNode *weighted(RelnGraph *g, RelnNode *weight, RelnNode *x)
{
    return weight ? reln_mul(g, weight, x) : x;
}

/* x_i - x_j */
static RelnNode *difference(RelnGraph *g, const Messages *m)
{
    return reln_sub(g, at_first(g, m, m->x), at_second(g, m, m->from));
}

/* psi(B(x_i - x_j, x_i - x_j)) and psi(B(x_i, x_j)), at all scales */
static RelnNode *invariants(RelnGraph *g, const Messages *m)
{
    RelnNet inside = *m->net;
    RelnNode *d, *s[2], *t;

    if (m->kept)
        return m->kept;
    inside.graph = g;
    d = difference(g, m);
    s[0] = reln_nn_form(&inside, d, d);
    s[1] = reln_nn_form(&inside, at_first(g, m, m->x), at_second(g, m, m->from));
    t = reln_concat(g, 2, s, RELN_C);
    t = m->options->scales.count > 0 ? reln_nn_psi_scales(g, t, &m->options->scales)
                                     : reln_nn_psi(g, reln_cast(g, t, RELN_DEFAULT));
    return m->options->of_pairs ? reln_concat(g, 2, (RelnNode *[]){t, m->options->of_pairs}, RELN_C)
                                : t;
}

/* Computes the invariants once for all functions, which read them and add up their cotangents. They are few numbers for a
 * pair, but there are many pairs in a large set, so large sets do not keep them. */
static bool keep_invariants(Messages *m, int channels)
{
    enum { MOST_BYTES = 1 << 24 }; /* for one sample */
    RelnGraph *g = m->net->graph, *body;
    RelnNode *t;

    if ((double)reln_domain_most(g, m->pairs) * channels * (double)sizeof(float) > MOST_BYTES)
        return true;
    body = reln_fn_begin(g, "invariants");
    t = invariants(body, m);
    return body && reln_call(g, reln_fn_end(body, 1, &t), 0, NULL, &m->kept);
}

static RelnNode *first_layer(RelnGraph *g, const Messages *m)
{
    RelnNode *u = reln_mix(g, invariants(g, m), m->of_pair);

    u = reln_add(g, u, at_second(g, m, m->by_second));
    u = m->scale ? reln_mul(g, u, m->scale) : u;
    return reln_add(g, u, at_first(g, m, m->by_first));
}

/* ---- norms -------------------------------------------------------------------------------------------------------- */

/* The first layer is a_i + b_j + s_ij V. Its statistics need sums over pairs of the invariants s only, which are narrow; the
 * wide parts a and b are summed over rows. A Moments holds the sums of s of each row over its pairs, as the receiver and as the
 * sender, and the sum of s^T s over all pairs, in double precision: the square of the mean is subtracted from it. */
typedef struct Moments {
    RelnNode *first, *second, *products;
} Moments;

static RelnNode *wide(RelnGraph *g, RelnNode *x)
{
    return reln_cast(g, x, RELN_F64);
}

static RelnNode *narrow(RelnGraph *g, RelnNode *x)
{
    return reln_cast(g, x, RELN_DEFAULT);
}

static bool moments_of_invariants(const Messages *m, Moments *out)
{
    RelnGraph *g = m->net->graph, *body = reln_fn_begin(g, "moments");
    RelnNode *weight, *s, *t, *sums[3];

    if (!body)
        return false;
    weight = pair_weight(body, m);
    s = wide(body, invariants(body, m));
    t = weight ? reln_mul(body, wide(body, weight), s) : s;
    sums[0] = reln_reduce(body, t, m->rows);
    sums[1] = reln_scatter_add(
        body, t, m->options->other ? m->options->other : reln_pair_second(body, m->pairs),
        m->senders);
    sums[2] = reln_outer(body, t, s);
    if (!reln_call(g, reln_fn_end(body, 3, sums), 0, NULL, sums))
        return false;
    *out = (Moments){sums[0], sums[1], sums[2]};
    return true;
}

/* The sum of b_j over the pairs (i, j) of each row i, with their weights. Where all pairs are there, it is the sum over the
 * sample, without the row itself unless it is a pair with itself. */
static bool sum_of_others(const Messages *m, RelnNode *b, RelnNode **out)
{
    const bool one_set = m->senders == m->rows;
    RelnGraph *g = m->net->graph, *body;
    RelnNode *own, *sum;
    RelnDomain first, second;
    bool self;

    if (m->options->other || !reln_domain_pairs(g, m->pairs, &first, &second, &self)) {
        body = reln_fn_begin(g, "others");
        if (!body)
            return false;
        sum =
            reln_reduce(body, weighted(body, pair_weight(body, m), at_second(body, m, b)), m->rows);
        return reln_call(g, reln_fn_end(body, 1, &sum), 0, NULL, out);
    }
    own = one_set ? weighted(g, m->weights, b) : b;
    sum = reln_spread(g, reln_reduce(g, own, RELN_SAMPLES), m->rows);
    if (one_set && !self)
        sum = reln_sub(g, sum, own);
    *out = weighted(g, m->weights, sum);
    return true;
}

/* x times the number of pairs of each row */
static RelnNode *each(RelnGraph *g, RelnNode *degrees, RelnNode *x)
{
    return reln_mul(g, reln_cast(g, degrees, x ? x->dtype : RELN_DEFAULT), x);
}

/* Subtracts the mean of s from sums of s, and the square of the mean from the sum of s^T s. */
static Moments centred(RelnGraph *g, const Moments *s, const Degrees *d, RelnNode *mean,
                       RelnNode *weight)
{
    RelnNode *square = reln_outer(g, mean, mean);

    return (Moments){reln_sub(g, s->first, each(g, d->first, mean)),
                     reln_sub(g, s->second, each(g, d->second, mean)),
                     reln_sub(g, s->products, reln_mul(g, square, weight))};
}

/* The sum over pairs of (a_i + b_j + s_ij V)^2, all centred: d_i a_i^2, d_j b_j^2, 2 a_i times the sum of b_j, 2 a_i times the sum
 * of s_ij V, 2 b_j times the sum of s_ij V, and V^T times the sum of s_ij^T s_ij times V. d is the number of pairs of a row. */
static RelnNode *sum_of_squares(const Messages *m, const Degrees *d, RelnNode *a, RelnNode *b,
                                RelnNode *others, const Moments *s)
{
    RelnGraph *g = m->net->graph;
    RelnNode *v = wide(g, m->of_pair), *first, *second, *pairs;

    first = reln_add(g, others, reln_mix(g, narrow(g, s->first), m->of_pair));
    first = reln_add(g, each(g, d->first, a), reln_scale(g, first, 2.0));
    first = reln_batch_sum(g, wide(g, reln_mul(g, a, first)));
    second = reln_scale(g, reln_mix(g, narrow(g, s->second), m->of_pair), 2.0);
    second = reln_add(g, each(g, d->second, b), second);
    second = reln_batch_sum(g, wide(g, reln_mul(g, b, second)));
    pairs = reln_sum(g, reln_mul(g, v, reln_mix(g, s->products, v)), RELN_R);
    return reln_add(g, reln_add(g, first, second), pairs);
}

static RelnNode *mean_of(RelnGraph *g, RelnNode *degrees, RelnNode *x, RelnNode *pairs)
{
    return reln_div(g, reln_batch_sum(g, wide(g, each(g, degrees, x))), pairs);
}

static bool pair_statistics(const Messages *m, const Degrees *d, NnNorm *n)
{
    RelnGraph *g = m->net->graph;
    RelnNode *weight = reln_batch_sum(g, wide(g, d->first)), *some = reln_nn_divisor(g, weight);
    RelnNode *of_a, *of_b, *of_s, *a, *b, *others, *mean, *squares;
    Moments s;

    if (!moments_of_invariants(m, &s))
        return false;
    of_a = mean_of(g, d->first, m->by_first, some);
    of_b = mean_of(g, d->second, m->by_second, some);
    of_s = reln_div(g, reln_batch_sum(g, s.first), some);
    s = centred(g, &s, d, of_s, weight);
    a = reln_sub(g, m->by_first, narrow(g, of_a));
    b = reln_sub(g, m->by_second, narrow(g, of_b));
    if (!sum_of_others(m, b, &others))
        return false;
    squares = sum_of_squares(m, d, a, b, others, &s);
    squares = reln_maximum(g, squares, wide(g, reln_scalar(g, 0.0))); /* rounding */
    mean = reln_add(g, reln_add(g, of_a, of_b), reln_mix(g, of_s, wide(g, m->of_pair)));
    reln_nn_norm_renew(g, n, narrow(g, mean), narrow(g, squares), narrow(g, weight));
    return true;
}

/* Folds the norm, or the bias, into the part of the first layer for the first end, once for each row. The
 * scale of the other parts is applied pair by pair: its gradient reaches every row through the statistics, so
 * it must be one sum over pairs, in a fixed order that does not depend on tiles. */
static void normalise_ends(RelnGraph *g, Messages *m, const NnNorm *n)
{
    m->scale = reln_nn_norm_scale(g, n);
    m->by_first = reln_nn_normalised(g, n, m->by_first);
}

/* ---- the layer ---------------------------------------------------------------------------------------------------- */

/* x W + b */
static RelnNode *affine(RelnGraph *g, RelnNode *x, RelnNode *w, RelnNode *b)
{
    return reln_add(g, reln_mix(g, x, w), b);
}

/* Returns the number of other rows of the sample, if each row has a pair with all of them; NULL for other pairs. */
static RelnNode *count_others(const Messages *m)
{
    RelnGraph *g = m->net->graph;
    RelnDomain first, second;
    RelnNode *n;
    bool self;

    if (m->weights || m->options->other ||
        !reln_domain_pairs(g, m->pairs, &first, &second, &self) || first != second)
        return NULL;
    n = reln_spread(g, reln_reduce_count(g, first, RELN_SAMPLES), first);
    return self ? n : reln_shift(g, n, 1.0, -1.0);
}

static bool count_pairs(const Messages *m, Degrees *out)
{
    RelnGraph *g = m->net->graph, *body;
    RelnNode *one, *weight, *second, *sums[2], *others = count_others(m);

    if (others) {
        *out = (Degrees){others, others};
        return true;
    }
    body = reln_fn_begin(g, "degrees");
    one = reln_expand_domain(g, reln_scalar(g, 1.0), m->rows);
    weight = m->weights ? pair_weight(body, m) : at_first(body, m, one);
    second = m->options->other ? m->options->other : reln_pair_second(body, m->pairs);
    sums[0] = reln_reduce(body, weight, m->rows);
    sums[1] = reln_scatter_add(body, weight, second, m->senders);
    if (!body || !reln_call(g, reln_fn_end(body, 2, sums), 0, NULL, sums))
        return false;
    *out = (Degrees){sums[0], sums[1]};
    return true;
}

/* F tanh(f / F): a function of an invariant, so moves stay equivariant */
static RelnNode *limited(RelnGraph *g, RelnNode *f, double limit)
{
    return limit > 0 ? reln_scale(g, reln_tanh(g, reln_scale(g, f, 1.0 / limit)), limit) : f;
}

/* sums[0]: the sum of the messages to each row; sums[1]: the sum of f_ij (x_i - x_j), if rows move. They are
 * built in a function, so that its gradient computes the messages again, tile by tile. */
static bool sums_of_messages(Messages *m, const NnNorm *norm, RelnNode **sums)
{
    const RelnNet *net = m->net;
    const RelnMessages *o = m->options;
    const int w = m->width;
    RelnNode *wm = reln_nn_weight(net, m->name, "Wm", w, w, w),
             *bm = reln_nn_bias(net, m->name, "bm", w, w);
    RelnNode *b = o->norm ? NULL : reln_nn_bias(net, m->name, "b", w, m->fan_in);
    RelnNode *wg = o->gate ? reln_nn_weight(net, m->name, "Wg", w, 1, w) : NULL,
             *bg = o->gate ? reln_nn_bias(net, m->name, "bg", 1, w) : NULL;
    RelnNode *wx = o->move ? reln_nn_weight(net, m->name, "Wx", w, w, w) : NULL,
             *bx = o->move ? reln_nn_bias(net, m->name, "bx", w, w) : NULL,
             *wf =
                 o->move ? reln_nn_weight(net, m->name, "Wf", w, reln_nn_channels(m->x), w) : NULL;
    RelnNode *weight, *u;
    RelnGraph *g;

    if (o->norm)
        normalise_ends(net->graph, m, norm);
    else
        m->by_first = reln_add(net->graph, m->by_first, b);
    g = reln_fn_begin(net->graph, "messages");
    weight = pair_weight(g, m);
    u = reln_nn_activate(g, o->activation, first_layer(g, m));
    u = reln_nn_activate(g, o->activation, affine(g, u, wm, bm));
    if (o->gate)
        u = reln_mul(g, u, reln_sigmoid(g, affine(g, u, wg, bg)));
    sums[0] = reln_reduce(g, weighted(g, weight, u), m->rows);
    if (o->count > 0)
        sums[0] = reln_scale(g, sums[0], 1.0 / o->count);
    if (o->move) {
        u = reln_mix(g, reln_nn_activate(g, o->activation, affine(g, u, wx, bx)), wf);
        u = weighted(g, weight, limited(g, u, o->limit));
        u = reln_cast(g, u, m->x->dtype);
        sums[1] = reln_reduce(g, reln_mul(g, u, difference(g, m)), m->rows);
    }
    return g && reln_call(net->graph, reln_fn_end(g, o->move ? 2 : 1, sums), 0, NULL, sums);
}

/* phi([h, sum of messages]) */
static RelnNode *updated(const Messages *m, RelnNode *h, RelnNode *sum, int channels)
{
    static const char *const parts[4] = {"gammah", "betah", "meanh", "varh"};
    const RelnNet *net = m->net;
    RelnGraph *g = net->graph;
    const int w = m->width, from = reln_nn_channels(h);
    RelnNode *u = reln_add(g, reln_mix(g, h, reln_nn_weight(net, m->name, "Wh", from, w, from + w)),
                           reln_mix(g, sum, reln_nn_weight(net, m->name, "Ws", w, w, from + w)));

    if (m->options->norm) {
        NnNorm norm = reln_nn_norm(net, m->name, parts, w);

        if (net->train)
            reln_nn_norm_learn(net, &norm, u, m->weights);
        u = reln_nn_normalised(g, &norm, u);
    } else {
        u = reln_add(g, u, reln_nn_bias(net, m->name, "bh", w, from + w));
    }
    u = affine(g, reln_nn_activate(g, m->options->activation, u),
               reln_nn_weight(net, m->name, "Wo", w, channels, w),
               reln_nn_bias(net, m->name, "bo", channels, w));
    return m->options->residual ? reln_add(g, h, u) : u;
}

static RelnNode *moved(const Messages *m, const Degrees *degrees, RelnNode *sum)
{
    RelnGraph *g = m->net->graph;
    const double step = m->options->step == 0 ? 1.0 : m->options->step;
    RelnNode *one = reln_expand_domain(g, reln_scalar(g, 1.0), m->rows);
    RelnNode *count = reln_cast(g, reln_maximum(g, degrees->first, one), m->x->dtype);

    return reln_add(g, m->x, reln_scale(g, reln_div(g, sum, count), step));
}

static bool is_row_of(const RelnNode *x, RelnDomain rows)
{
    const int *d = x->shape.dims;

    return x->domain == rows && rows > RELN_SAMPLES && d[RELN_P] * d[RELN_Q] * d[RELN_R] == 1;
}

static bool want(const RelnNet *net, const char *name, RelnFeatures in, const RelnMessages *o,
                 int channels)
{
    RelnGraph *g = net->graph;

    if (!in.x || !in.s)
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: wanted features and invariants of rows", name);
    if (!is_row_of(in.x, in.x->domain) || !is_row_of(in.s, in.x->domain))
        return reln_graph_fail(g, RELN_ERR_UNSUPPORTED,
                               "%s: features %s and invariants %s, wanted those of one domain of "
                               "rows, without leading axes",
                               name, reln_shape_text(in.x), reln_shape_text(in.s));
    if (!reln_nn_want_invariants(net, name, in.s) ||
        (o->weights && !reln_nn_want_invariants(net, name, o->weights)))
        return false;
    if (o->weights && (!is_row_of(o->weights, in.x->domain) || reln_nn_channels(o->weights) != 1))
        return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: weights %s, wanted one for each row", name,
                               reln_shape_text(o->weights));
    if (o->other && o->pairs == RELN_STEP)
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "%s: an index of the other ends without a domain of pairs", name);
    if (o->of_pairs && (o->pairs == RELN_STEP || o->of_pairs->domain != o->pairs))
        return reln_graph_fail(
            g, RELN_ERR_ARG,
            "%s: invariants %s of pairs, wanted those of the domain of pairs that "
            "is given",
            name, reln_shape_text(o->of_pairs));
    if (o->scales.count != 0 && !reln_nn_want_scales(net, name, &o->scales))
        return false;
    if (!(o->limit >= 0 && o->count >= 0))
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "%s: a limit of %g and a count of %g, wanted 0 or more", name,
                               o->limit, o->count);
    return !o->residual || channels == reln_nn_channels(in.s) ||
           reln_graph_fail(g, RELN_ERR_SHAPE,
                           "%s: %d channels are not added to %d; wanted as many, or no residual",
                           name, channels, reln_nn_channels(in.s));
}

static RelnDomain all_pairs(RelnGraph *g, RelnDomain rows, RelnDomain senders)
{
    const bool one = rows == senders;
    const char *name =
        reln_arena_printf(reln_graph_arena(g), "pairs of %s%s%s", reln_domain_name(g, rows),
                          one ? "" : " with ", one ? "" : reln_domain_name(g, senders));

    if (!name)
        reln_graph_nomem(g);
    return name ? reln_pairs(g, name, rows, senders, !one) : RELN_STEP;
}

/* Returns the features and invariants of the rows that send. */
static RelnFeatures senders_of(RelnFeatures in, const RelnMessages *o)
{
    return o->from.x || o->from.s ? o->from : in;
}

static bool want_senders(const RelnNet *net, const char *name, RelnFeatures in,
                         const RelnMessages *o)
{
    const RelnFeatures from = senders_of(in, o);
    RelnGraph *g = net->graph;

    if (from.x == in.x && from.s == in.s)
        return true;
    if (!from.x || !from.s || from.x->domain == in.x->domain ||
        !is_row_of(from.x, from.x->domain) || !is_row_of(from.s, from.x->domain))
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "%s: messages from features %s and invariants %s, wanted those of "
                               "another domain of rows, without leading axes",
                               name, from.x ? reln_shape_text(from.x) : "NULL",
                               from.s ? reln_shape_text(from.s) : "NULL");
    if (o->other || o->pairs != RELN_STEP)
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "%s: messages from another set take all pairs; wanted no domain of "
                               "pairs and no index",
                               name);
    return reln_nn_want_invariants(net, name, from.s);
}

RelnFeatures reln_nn_messages(const RelnNet *net, const char *name, RelnFeatures in,
                              const RelnMessages *options)
{
    RELN_NEED(reln_nn_ready(net, name && options, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    static const char *const parts[4] = {"gamma", "beta", "mean", "var"};
    const RelnFeatures none = {NULL, NULL};
    RelnGraph *g = net->graph;
    const RelnFeatures senders = senders_of(in, options);
    const int from = reln_nn_channels(in.s), each = reln_nn_channels(in.x);
    const int sent = reln_nn_channels(senders.s);
    const int channels = options->channels == 0 ? from : options->channels;
    const bool learns = options->norm && net->train; /* batch statistics are updated */
    Messages m = {.net = net, .name = name, .options = options, .x = in.x, .from = senders.x};
    RelnNode *sums[2] = {NULL, NULL};
    Degrees degrees = {NULL, NULL};
    NnNorm norm = {NULL, NULL, NULL, NULL};
    int of_pair;

    if (reln_graph_status(g) != RELN_OK || !want(net, name, in, options, channels) ||
        !want_senders(net, name, in, options))
        return none;
    m.width = options->hidden == 0 ? from : options->hidden;
    of_pair = 2 * each * (options->scales.count > 0 ? options->scales.count : 1) +
              reln_nn_channels(options->of_pairs);
    m.fan_in = from + sent + of_pair;
    m.rows = in.x->domain;
    m.senders = senders.x->domain;
    m.pairs = options->pairs == RELN_STEP ? all_pairs(g, m.rows, m.senders) : options->pairs;
    m.weights = options->weights;
    if (options->other && !m.weights) /* an index of -1 means no row; its weight is gathered as 0 */
        m.weights = reln_expand_domain(g, reln_scalar(g, 1.0), m.rows);
    m.by_first = reln_mix(g, in.s, reln_nn_weight(net, name, "Wi", from, m.width, m.fan_in));
    m.by_second = reln_mix(g, senders.s, reln_nn_weight(net, name, "Wj", sent, m.width, m.fan_in));
    m.of_pair = reln_nn_weight(net, name, "Wp", of_pair, m.width, m.fan_in);
    if (options->norm)
        norm = reln_nn_norm(net, name, parts, m.width);
    if (reln_graph_status(g) != RELN_OK || !keep_invariants(&m, of_pair) ||
        ((options->move || learns) && !count_pairs(&m, &degrees)))
        return none;
    if (learns && !pair_statistics(&m, &degrees, &norm))
        return none;
    if (!sums_of_messages(&m, &norm, sums))
        return none;
    return (RelnFeatures){options->move ? moved(&m, &degrees, sums[1]) : in.x,
                          updated(&m, in.s, sums[0], channels)};
}
