/* exchange.c -- rows of a set exchange information through a few sums of the set: the cost grows with the
 * rows, not with their pairs. */
#include "nn/nn.h"

/* x W + b with the parameters "<part>W" and "<part>b" of the layer; fan_in counts all terms that are
 * added. */
static RelnNode *term(const RelnNet *net, const char *name, const char *part, RelnNode *x, int to,
                      int fan_in)
{
    return x ? reln_mix(net->graph, x,
                        reln_nn_weight(net, name, part, reln_nn_channels(x), to, fan_in))
             : NULL;
}

static RelnNode *plus(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return x && y ? reln_add(g, x, y) : x ? x : y;
}

static RelnNode *beside(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return x && y ? reln_concat(g, 2, (RelnNode *[]){x, y}, RELN_C) : x ? x : y;
}

/* With `norm`, applies the batch norm "<name>.<part>" of invariants. */
static RelnNode *normed(const RelnNet *net, const char *name, const char *part, RelnNode *s,
                        const RelnExchange *o)
{
    const char *full =
        o->norm && s ? reln_arena_printf(reln_graph_arena(net->graph), "%s.%s", name, part) : NULL;

    if (!o->norm || !s)
        return s;
    if (!full)
        reln_graph_nomem(net->graph);
    return full ? reln_nn_batch_norm_invariants(net, full, s, NULL) : NULL;
}

/* s_i + f(s_i Ws + r_i Wr + z Wz + b) Wo + bo, r_i the invariants between x_i and the sums X */
static RelnNode *updated(const RelnNet *net, const char *name, const RelnSet *in,
                         const RelnExchange *o)
{
    RelnGraph *g = net->graph;
    const RelnDomain rows = in->x->domain;
    RelnNode *r = normed(net, name, "nr",
                         reln_nn_relate(net, in->x, reln_spread(g, in->sums, rows), &o->scales), o);
    const int d = reln_nn_channels(in->s), w = o->hidden ? o->hidden : o->width;
    const int fan_in = d + reln_nn_channels(r) + reln_nn_channels(in->z);
    RelnNode *u = term(net, name, "Wr", r, w, fan_in), *z = term(net, name, "Wz", in->z, w, fan_in);

    u = plus(g, u, term(net, name, "Ws", in->s, w, fan_in));
    u = plus(g, u, z ? reln_spread(g, z, rows) : NULL);
    u = reln_nn_activate(g, o->activation, reln_add(g, u, reln_nn_bias(net, name, "b", w, fan_in)));
    u = reln_add(g, term(net, name, "Wo", u, o->width, w),
                 reln_nn_bias(net, name, "bo", o->width, w));
    if (net->train && o->dropout > 0)
        u = reln_dropout(g, u, o->dropout, 0);
    return d == o->width ? reln_add(g, in->s, u) : u;
}

/* sum_i x_i a_i / count, a_i = softmax over the sums of s_i Wa + ba, for each channel of x */
static RelnNode *sums_of(const RelnNet *net, const char *name, const RelnSet *in, RelnNode *s,
                         const RelnExchange *o)
{
    RelnGraph *g = net->graph;
    const int c = reln_nn_channels(in->x), d = reln_nn_channels(s);
    RelnNode *a = reln_add(g, term(net, name, "Wa", s, c * o->sums, d),
                           reln_nn_bias(net, name, "ba", c * o->sums, d));

    a = reln_softmax(g, reln_reshape(g, a, (RelnDims){.r = c, .c = o->sums}), RELN_C);
    a = reln_channel_mix(g, in->x, reln_cast(g, a, in->x->dtype));
    return reln_scale(g, reln_reduce(g, a, in->sums->domain),
                      1.0 / (o->count > 0 ? o->count : 1.0));
}

/* z + f([invariants of the sums, mean of s, z] W + b) */
static RelnNode *sample_update(const RelnNet *net, const char *name, RelnNode *z, RelnNode *sums,
                               RelnNode *s, const RelnExchange *o)
{
    RelnGraph *g = net->graph;
    RelnNode *q = normed(net, name, "nq", reln_nn_relate(net, sums, sums, &o->scales), o);
    RelnNode *mean = sums ? reln_reduce_mean(g, s, sums->domain) : NULL,
             *most = sums ? reln_reduce_max(g, s, sums->domain) : NULL;
    const int w = o->width, d = reln_nn_channels(s);
    const int fan_in = reln_nn_channels(q) + 2 * d + reln_nn_channels(z);
    RelnNode *u =
        plus(g, term(net, name, "Zq", q, w, fan_in), term(net, name, "Zs", mean, w, fan_in));

    u = plus(g, u, term(net, name, "Zm", most, w, fan_in));
    u = plus(g, u, term(net, name, "Zz", z, w, fan_in));
    u = reln_nn_activate(g, o->activation,
                         reln_add(g, u, reln_nn_bias(net, name, "zb", w, fan_in)));
    if (net->train && o->dropout > 0)
        u = reln_dropout(g, u, o->dropout, 0);
    return reln_nn_channels(z) == w ? reln_add(g, z, u) : u;
}

RelnSet reln_nn_exchange(const RelnNet *net, const char *name, const RelnSet *in,
                         const RelnExchange *options)
{
    const RelnSet none = {NULL, NULL, NULL, NULL};

    RELN_NEED(reln_nn_ready(net, name && in && options, __func__), none);
    RELN_LAYER(net->graph, name);

    RelnGraph *g = net->graph;
    RelnSet out = *in;

    if (reln_graph_status(g) != RELN_OK)
        return none;
    if (!in->x || !in->sums || in->sums->domain < RELN_SAMPLES ||
        in->x->domain <= in->sums->domain) {
        reln_graph_fail(
            g, RELN_ERR_ARG,
            "%s: wanted features of rows, and sums of their samples or of groups of them", name);
        return none;
    }
    if (options->sums < 1 || options->width < 1) {
        reln_graph_fail(g, RELN_ERR_ARG, "%s: %d sums and a width of %d; wanted 1 or more", name,
                        options->sums, options->width);
        return none;
    }
    if (!reln_nn_want_scales(net, name, &options->scales))
        return none;
    out.s = updated(net, name, in, options);
    out.sums = sums_of(net, name, in, out.s, options);
    out.sums = beside(g, out.sums, options->keep);
    out.z = sample_update(net, name, in->z, out.sums, out.s, options);
    return out;
}
