/* layers.c -- see layers.h. */
#include "tasks/jets/layers.h"

#include <math.h>
#include <stdio.h>

#define NORM_EPS 1e-5
#define NORM_MOMENTUM 0.1

enum { NAME = 64 };

static void join(char out[NAME], const char *name, const char *part)
{
    snprintf(out, NAME, "%s.%s", name, part);
}

RelnNode *jets_weight(const JetsNet *n, const char *name, const char *part, int in, int out,
                      int fan_in)
{
    const RelnInit init = {RELN_INIT_UNIFORM, 1.0 / sqrt(fan_in)};
    char full[NAME];

    join(full, name, part);
    return reln_param(n->g, full, (RelnDims){.r = in, .c = out}, init);
}

RelnNode *jets_bias(const JetsNet *n, const char *name, const char *part, int out, int fan_in)
{
    return jets_weight(n, name, part, 1, out, fan_in);
}

RelnNode *jets_affine(const JetsNet *n, const char *name, RelnNode *x, int out)
{
    const int in = x ? reln_node_dims(x).c : 1;

    return reln_add(n->g, reln_mix(n->g, x, jets_weight(n, name, "W", in, out, in)),
                    jets_bias(n, name, "b", out, in));
}

RelnNode *jets_wide(RelnGraph *g, RelnNode *x)
{
    return reln_cast(g, x, RELN_F64);
}

RelnNode *jets_narrow(RelnGraph *g, RelnNode *x)
{
    return reln_cast(g, x, RELN_DEFAULT);
}

RelnNode *jets_psi_node(RelnGraph *g, RelnNode *t)
{
    return reln_mul(g, reln_sign(g, t), reln_log(g, reln_shift(g, reln_abs(g, t), 1.0, 1.0)));
}

/* ---- vectors and bivectors ---------------------------------------------------------------------------------------- */

/* F = x ^ y has the coordinates F^ab = x^a y^b - x^b y^a, a < b, in this order. */
enum { SIX = 6 };
static const int at[SIX][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
static const double eta[4] = {1, -1, -1, -1};

/* Returns an entry of the matrix of a bivector as a map of vectors: F^a_b = F^ab eta_b. */
static double entry(int k, int a, int b)
{
    if (at[k][0] == a && at[k][1] == b)
        return eta[b];
    return at[k][0] == b && at[k][1] == a ? -eta[b] : 0;
}

enum { ENTRIES = 64 };

/* The entries must be added in the order (k, i, j). */
static void put(RelnEntry *entries, int *count, int i, int j, int k, double value)
{
    if (value != 0)
        entries[(*count)++] = (RelnEntry){i, j, k, value};
}

RelnNode *jets_wedge(const JetsNet *n, RelnNode *x, RelnNode *y)
{
    RelnEntry entries[ENTRIES];
    RelnTensor3 t = {4, 4, SIX, 0, entries};

    for (int k = 0; k < SIX; k++) {
        put(entries, &t.count, at[k][0], at[k][1], k, 1);
        put(entries, &t.count, at[k][1], at[k][0], k, -1);
    }
    return reln_contract(n->g, &t, x, y, n->bivector);
}

RelnNode *jets_act(const JetsNet *n, RelnNode *f, RelnNode *x)
{
    RelnEntry entries[ENTRIES];
    RelnTensor3 t = {SIX, 4, 4, 0, entries};

    for (int a = 0; a < 4; a++)
        for (int k = 0; k < SIX; k++)
            for (int b = 0; b < 4; b++)
                put(entries, &t.count, k, b, a, entry(k, a, b));
    return reln_contract(n->g, &t, f, x, n->vector);
}

/* [F, H]^a_b = F^a_c H^c_b - H^a_c F^c_b, and its coordinate F^ab = F^a_b eta_b */
RelnNode *jets_commute(const JetsNet *n, RelnNode *f, RelnNode *h)
{
    RelnEntry entries[ENTRIES];
    RelnTensor3 t = {SIX, SIX, SIX, 0, entries};

    for (int k = 0; k < SIX; k++)
        for (int i = 0; i < SIX; i++)
            for (int j = 0; j < SIX; j++) {
                const int a = at[k][0], b = at[k][1];
                double sum = 0;

                for (int c = 0; c < 4; c++)
                    sum += entry(i, a, c) * entry(j, c, b) - entry(j, a, c) * entry(i, c, b);
                put(entries, &t.count, i, j, k, sum * eta[b]);
            }
    return reln_contract(n->g, &t, f, h, n->bivector);
}

RelnNode *jets_lower(const JetsNet *n, RelnNode *x)
{
    double m[16] = {0};

    for (int i = 0; i < 4; i++)
        m[5 * i] = eta[i];
    return reln_linear_map(n->g, x, m, reln_rep_dual(n->vector));
}

RelnNode *jets_vector_form(const JetsNet *n, RelnNode *x, RelnNode *y)
{
    return reln_pair(n->g, x, jets_lower(n, y));
}

RelnNode *jets_lower_bivector(const JetsNet *n, RelnNode *f)
{
    double m[SIX * SIX] = {0};

    /* tr(F H) = F^a_b H^b_a = -2 sum over a < b of F^ab H^ab eta_a eta_b */
    for (int k = 0; k < SIX; k++)
        m[(SIX + 1) * k] = -2 * eta[at[k][0]] * eta[at[k][1]];
    return reln_linear_map(n->g, f, m, reln_rep_dual(n->bivector));
}

RelnNode *jets_bivector_form(const JetsNet *n, RelnNode *f, RelnNode *h)
{
    return reln_pair(n->g, f, jets_lower_bivector(n, h));
}

/* ---- norms -------------------------------------------------------------------------------------------------------- */

/* A Norm is a batch norm: x -> (x - mean) gamma / sqrt(var + eps) + beta, all at step level; statistics in
 * double precision. */
typedef struct Norm {
    RelnNode *gamma, *beta, *mean, *var;
    RelnNode *state_mean, *state_var;
} Norm;

static RelnNode *constant_row(const JetsNet *n, const char *name, const char *part, int width,
                              double start)
{
    char full[NAME];

    join(full, name, part);
    return reln_param(n->g, full, (RelnDims){.c = width}, (RelnInit){RELN_INIT_CONSTANT, start});
}

static RelnNode *state_row(const JetsNet *n, const char *name, const char *part, int width,
                           double start)
{
    char full[NAME];

    join(full, name, part);
    return reln_state(n->g, full, (RelnDims){.c = width}, (RelnInit){RELN_INIT_CONSTANT, start});
}

static Norm open_norm(const JetsNet *n, const char *name, int width)
{
    Norm norm = {.gamma = constant_row(n, name, "gamma", width, 1.0),
                 .beta = constant_row(n, name, "beta", width, 0.0),
                 .state_mean = state_row(n, name, "mean", width, 0.0),
                 .state_var = state_row(n, name, "var", width, 1.0)};

    norm.mean = jets_wide(n->g, norm.state_mean);
    norm.var = jets_wide(n->g, norm.state_var);
    return norm;
}

static void remember(const JetsNet *n, RelnNode *state, RelnNode *now)
{
    RelnGraph *g = n->g;
    RelnNode *change = reln_sub(g, jets_narrow(g, now), state);

    reln_assign(g, state, reln_add(g, state, reln_scale(g, change, NORM_MOMENTUM)));
}

static RelnNode *at_least_one(RelnGraph *g, RelnNode *x)
{
    return reln_maximum(g, x, reln_expand(g, jets_wide(g, reln_scalar(g, 1.0)), x));
}

/* Uses the statistics of a batch of `count` items, and updates the running ones, the variance without
 * bias. */
static void take_statistics(const JetsNet *n, Norm *norm, RelnNode *mean, RelnNode *squares,
                            RelnNode *count)
{
    RelnGraph *g = n->g;

    norm->mean = mean;
    norm->var = reln_div(g, squares, at_least_one(g, count));
    remember(n, norm->state_mean, mean);
    remember(n, norm->state_var,
             reln_div(g, squares, at_least_one(g, reln_shift(g, count, 1.0, -1.0))));
}

/* gamma / sqrt(var + eps) */
static RelnNode *factor_of(const JetsNet *n, const Norm *norm)
{
    RelnGraph *g = n->g;
    RelnNode *size = reln_sqrt(g, reln_shift(g, norm->var, 1.0, NORM_EPS));

    return reln_div(g, norm->gamma, jets_narrow(g, size));
}

RelnNode *jets_ones(const JetsNet *n, RelnDomain rows)
{
    return reln_spread(n->g, jets_wide(n->g, reln_scalar(n->g, 1.0)), rows);
}

/* Returns the number of items of a domain in the batch. */
static RelnNode *count_of(const JetsNet *n, RelnDomain domain)
{
    if (domain == RELN_SAMPLES)
        return jets_wide(n->g, reln_batch_count(n->g));
    return reln_batch_sum(n->g, jets_ones(n, domain));
}

RelnNode *jets_norm(const JetsNet *n, const char *name, RelnNode *u)
{
    RelnGraph *g = n->g;
    Norm norm = open_norm(n, name, u ? reln_node_dims(u).c : 1);
    RelnNode *wide = jets_wide(g, u), *count, *mean, *centred;

    if (n->net->train && u) {
        count = count_of(n, reln_node_domain(u));
        mean = reln_div(g, reln_batch_sum(g, wide), at_least_one(g, count));
        centred = reln_sub(g, wide, mean);
        take_statistics(n, &norm, mean, reln_batch_sum(g, reln_square(g, centred)), count);
    }
    u = reln_sub(g, u, jets_narrow(g, norm.mean));
    return reln_add(g, reln_mul(g, u, factor_of(n, &norm)), norm.beta);
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

/* The first layer of messages: u_ij = a_i + b_j + s_ij V. */
typedef struct First {
    RelnNode *a, *b, *s, *v;
    bool symmetric;
} First;

static RelnNode *at_first(RelnGraph *g, const JetsNet *n, RelnNode *x)
{
    return reln_spread(g, x, n->pairs);
}

static RelnNode *at_second(RelnGraph *g, const JetsNet *n, RelnNode *x)
{
    return reln_spread_second(g, x, n->pairs);
}

/* Returns the weight of a pair of rows; NULL if all are 1. */
static RelnNode *pair_weight(RelnGraph *g, const JetsNet *n)
{
    return n->mask ? reln_mul(g, at_first(g, n, n->mask), at_second(g, n, n->mask)) : NULL;
}

static RelnNode *weighted(RelnGraph *g, RelnNode *weight, RelnNode *x)
{
    return weight ? reln_mul(g, weight, x) : x;
}

static RelnNode *masked(RelnGraph *g, const JetsNet *n, RelnNode *x)
{
    return n->mask ? reln_mul(g, jets_wide(g, n->mask), x) : x;
}

/* Computes sums over the second and over the first ends of pairs. */
static void sums_of_ends(const JetsNet *n, RelnNode *s, bool symmetric, RelnNode *out[2])
{
    RelnGraph *g = n->g;

    s = weighted(g, pair_weight(g, n), s);
    out[0] = jets_wide(g, reln_reduce(g, s, n->rows));
    out[1] = symmetric
                 ? out[0]
                 : jets_wide(g, reln_scatter_add(g, s, reln_pair_second(g, n->pairs), n->rows));
}

/* Computes the sum over pairs of (u_ij - mean)^2 from sums over rows. With a', b', s' centred and i != j, the sum of the squares
 * of a'_i + b'_j + s'_ij V consists of
 *     d_i a'_i^2,  d_j b'_j^2,  2 (sum_i a'_i)(sum_j b'_j) - 2 sum_i a'_i b'_i,  2 a'_i (sum_j s'_ij) V,
 *     2 b'_j (sum_i s'_ij) V,  V^T (sum_ij s'_ij s'_ij^T) V
 * Only the last term is a sum over pairs, and it is as narrow as s. */
static RelnNode *sum_of_squares(const JetsNet *n, const First *f, RelnNode *a, RelnNode *b,
                                RelnNode *mean_s)
{
    RelnGraph *g = n->g;
    RelnNode *s = reln_sub(g, f->s, jets_narrow(g, mean_s)), *v = jets_wide(g, f->v), *ends[2];
    RelnNode *weight = pair_weight(g, n), *ma = masked(g, n, a), *mb = masked(g, n, b);
    RelnNode *sum, *cross, *products;

    sums_of_ends(n, s, f->symmetric, ends);
    sum = reln_mul(g, n->share, reln_add(g, reln_square(g, a), reln_square(g, b)));
    cross = reln_add(g, reln_mul(g, a, reln_mix(g, ends[0], v)),
                     reln_mul(g, b, reln_mix(g, ends[1], v)));
    cross = reln_sub(g, cross, reln_mul(g, ma, mb));
    sum = reln_batch_sum(g, reln_add(g, sum, reln_scale(g, cross, 2.0)));
    cross = reln_mul(g, reln_reduce(g, ma, RELN_SAMPLES), reln_reduce(g, mb, RELN_SAMPLES));
    sum = reln_add(g, sum, reln_scale(g, reln_batch_sum(g, cross), 2.0));
    products = jets_wide(g, reln_outer(g, weighted(g, weight, s), s));
    products = reln_sum(g, reln_mul(g, v, reln_mix(g, products, v)), RELN_R);
    return reln_add(g, sum, products);
}

static void pair_statistics(const JetsNet *n, const First *f, Norm *norm)
{
    RelnGraph *g = n->g;
    RelnNode *count = reln_batch_sum(g, n->share), *some = at_least_one(g, count);
    RelnNode *a = jets_wide(g, f->a), *b = jets_wide(g, f->b), *mean[3], *sum, *ends[2];

    sums_of_ends(n, f->s, true, ends);
    mean[0] = reln_div(g, reln_batch_sum(g, reln_mul(g, n->share, a)), some);
    mean[1] = reln_div(g, reln_batch_sum(g, reln_mul(g, n->share, b)), some);
    mean[2] = reln_div(g, reln_batch_sum(g, ends[0]), some);
    sum = sum_of_squares(n, f, reln_sub(g, a, mean[0]), reln_sub(g, b, mean[1]), mean[2]);
    take_statistics(
        n, norm,
        reln_add(g, reln_add(g, mean[0], mean[1]), reln_mix(g, mean[2], jets_wide(g, f->v))), sum,
        count);
}

/* Applies the norm of u_ij to its three parts, so that pairs need no extra work: a -> (a - mean) q + beta, b
 * -> b q, V -> V q. */
static First normalised(const JetsNet *n, const char *name, const First *f)
{
    RelnGraph *g = n->g;
    Norm norm = open_norm(n, name, f->a ? reln_node_dims(f->a).c : 1);
    RelnNode *q;

    if (n->net->train)
        pair_statistics(n, f, &norm);
    q = factor_of(n, &norm);
    return (First){
        .a = reln_add(g, reln_mul(g, reln_sub(g, f->a, jets_narrow(g, norm.mean)), q), norm.beta),
        .b = reln_mul(g, f->b, q),
        .s = f->s,
        .v = reln_mul(g, f->v, q),
        .symmetric = f->symmetric};
}

static RelnNode *end_part(const JetsNet *n, const char *name, const char *part, RelnNode *x,
                          RelnNode *h, const char *of_h, int width, int fan_in)
{
    RelnGraph *g = n->g;
    const int from = reln_node_dims(h).c;
    RelnNode *y = reln_mix(g, h, jets_weight(n, name, of_h, from, width, fan_in));

    if (!x)
        return y;
    return reln_add(g, y,
                    reln_mix(g, x, jets_weight(n, name, part, reln_node_dims(x).c, width, fan_in)));
}

static First first_layer(const JetsNet *n, const char *name, RelnNode *h, const JetsPairs *pairs,
                         int width)
{
    const int k = pairs->s ? reln_node_dims(pairs->s).c : 1;
    const int ends = pairs->first ? 2 * reln_node_dims(pairs->first).c : 0;
    const int fan_in = 2 * (h ? reln_node_dims(h).c : 1) + k + ends;
    First f = {.s = pairs->s, .symmetric = pairs->symmetric};

    if (!h || !pairs->s)
        return f;
    f.a = end_part(n, name, "Vi", pairs->first, h, "Wi", width, fan_in);
    f.b = end_part(n, name, "Vj", pairs->second, h, "Wj", width, fan_in);
    f.v = jets_weight(n, name, "Wp", k, width, fan_in);
    return f;
}

static RelnNode *dense(RelnGraph *g, RelnNode *x, RelnNode *w, RelnNode *b)
{
    return reln_add(g, reln_mix(g, x, w), b);
}

/* F tanh(f / F): a function of an invariant, so moves stay equivariant */
static RelnNode *limited(RelnGraph *g, RelnNode *f, double limit)
{
    return limit > 0 ? reln_scale(g, reln_tanh(g, reln_scale(g, f, 1.0 / limit)), limit) : f;
}

JetsMessages jets_messages(const JetsNet *n, const char *name, RelnNode *h, const JetsPairs *pairs,
                           int factors)
{
    const int w = n->model->width;
    const JetsMessages none = {NULL, NULL};
    First f = first_layer(n, name, h, pairs, w);
    RelnNode *wm, *bm, *wg, *bg, *wx = NULL, *bx = NULL, *wf = NULL, *weight, *u, *outs[2];
    RelnInit small = {RELN_INIT_UNIFORM, 0.001 * sqrt(6.0 / (w + factors))};
    char full[NAME];
    RelnGraph *body;

    join(full, name, "norm");
    f = normalised(n, full, &f);
    wm = jets_weight(n, name, "Wm", w, w, w);
    bm = jets_bias(n, name, "bm", w, w);
    wg = jets_weight(n, name, "Wg", w, 1, w);
    bg = jets_bias(n, name, "bg", 1, w);
    if (factors > 0) {
        wx = jets_weight(n, name, "Wx", w, w, w);
        bx = jets_bias(n, name, "bx", w, w);
        join(full, name, "Wf");
        wf = reln_param(n->g, full, (RelnDims){.r = w, .c = factors}, small);
    }
    if (!(body = reln_fn_begin(n->g, "messages")))
        return none;
    weight = pair_weight(body, n);
    u = reln_add(body, at_first(body, n, f.a), at_second(body, n, f.b));
    u = reln_relu(body, reln_add(body, u, reln_mix(body, f.s, f.v)));
    u = reln_relu(body, dense(body, u, wm, bm));
    u = reln_mul(body, u, reln_sigmoid(body, dense(body, u, wg, bg)));
    outs[0] = reln_reduce(body, weighted(body, weight, u), n->rows);
    if (factors > 0) {
        u = reln_mix(body, reln_relu(body, dense(body, u, wx, bx)), wf);
        u = limited(body, u, n->model->limit);
        outs[1] = weighted(body, weight, u);
    }
    if (!reln_call(n->g, reln_fn_end(body, factors > 0 ? 2 : 1, outs), 0, NULL, outs))
        return none;
    return (JetsMessages){.sum = outs[0], .factors = factors > 0 ? outs[1] : NULL};
}

RelnNode *jets_update(const JetsNet *n, const char *name, RelnNode *h, RelnNode *sum,
                      RelnNode *more)
{
    RelnGraph *g = n->g;
    const int w = n->model->width, k = more ? reln_node_dims(more).c : 0, fan_in = 2 * w + k;
    char full[NAME];
    RelnNode *u = reln_add(g, reln_mix(g, h, jets_weight(n, name, "Wh", w, w, fan_in)),
                           reln_mix(g, sum, jets_weight(n, name, "Ws", w, w, fan_in)));

    if (more)
        u = reln_add(g, u, reln_mix(g, more, jets_weight(n, name, "Wn", k, w, fan_in)));
    u = reln_add(g, u, jets_bias(n, name, "bh", w, fan_in));
    join(full, name, "normh");
    u = reln_relu(g, jets_norm(n, full, u));
    return reln_add(
        g, h, dense(g, u, jets_weight(n, name, "Wo", w, w, w), jets_bias(n, name, "bo", w, w)));
}

RelnNode *jets_mean_of_others(const JetsNet *n, RelnNode *factor, RelnNode *x)
{
    return reln_div(n->g, reln_pair_weigh(n->g, jets_wide(n->g, factor), x, n->rows), n->degree);
}

RelnNode *jets_mean_factor(const JetsNet *n, RelnNode *factor)
{
    return reln_div(n->g, jets_wide(n->g, reln_reduce(n->g, factor, n->rows)), n->degree);
}

/* The sum is a function, whose gradient computes the four numbers of a pair again: they are not kept. */
RelnNode *jets_mean_clamped(const JetsNet *n, RelnNode *factor, RelnNode *x)
{
    RelnGraph *g = reln_fn_begin(n->g, "clamped");
    const double most = n->model->clamp;
    RelnNode *t, *high, *low, *out;

    if (!g)
        return NULL;
    t = reln_mul(g, jets_wide(g, factor), reln_sub(g, at_first(g, n, x), at_second(g, n, x)));
    high = reln_expand(g, jets_wide(g, reln_scalar(g, most)), t);
    low = reln_expand(g, jets_wide(g, reln_scalar(g, -most)), t);
    t = reln_minimum(g, reln_maximum(g, t, low), high);
    out = reln_reduce(g, t, n->rows);
    if (!reln_call(n->g, reln_fn_end(g, 1, &out), 0, NULL, &out))
        return NULL;
    return reln_div(n->g, out, n->degree);
}
