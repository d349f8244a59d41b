/* affine.c -- a layer with a weight for every equivariant linear map between features and invariants. */
#include <stdio.h>

#include "nn/nn.h"

/* A Sum collects the terms of one output of the layer. */
typedef struct Sum {
    const RelnNet *net;
    const char *name;
    const RelnRep *rep;
    int channels, fan_in;
    RelnNode *y;
} Sum;

static void add(Sum *s, RelnNode *term)
{
    s->y = s->y ? reln_add(s->net->graph, s->y, term) : term;
}

/* Finds all maps from `in` to the output's rep. Returns false with the graph failed. */
static bool find_maps(const Sum *s, const RelnRep *in, const RelnMaps **maps)
{
    const RelnStatus status = reln_maps_linear(in, s->rep, maps);

    return status == RELN_OK || reln_graph_fail(s->net->graph, status, "%s: %s", s->name,
                                                reln_ctx_error(reln_graph_ctx(s->net->graph)));
}

static const double *map_values(const RelnMaps *maps, int m)
{
    return maps->values + (ptrdiff_t)m * maps->dims[0] * maps->dims[1];
}

/* Applies a map and mixes channels, in the order that mixes the smaller K. */
static RelnNode *through(const Sum *s, RelnNode *x, const double *map, RelnNode *w)
{
    RelnGraph *g = s->net->graph;

    if (reln_rep_dim(s->rep) < x->shape.dims[RELN_K])
        return reln_mix(g, reln_linear_map(g, x, map, s->rep), w);
    return reln_linear_map(g, reln_mix(g, x, w), map, s->rep);
}

/* y += sum_m M_m x W_m, W_m named part0, part1, ... */
static bool add_maps(Sum *s, RelnNode *x, const char *part)
{
    const RelnMaps *maps = NULL;

    if (!find_maps(s, x->rep, &maps))
        return false;
    for (int m = 0; m < maps->count; m++) {
        char numbered[32];

        snprintf(numbered, sizeof numbered, "%s%d", part, m);
        add(s, through(s, x, map_values(maps, m),
                       reln_nn_weight(s->net, s->name, numbered, reln_nn_channels(x), s->channels,
                                      s->fan_in)));
    }
    return true;
}

/* y += I_m b_m: the constants that the group leaves unchanged */
static bool add_biases(Sum *s, const RelnRep *number, const char *part)
{
    const RelnMaps *maps = NULL;

    if (!find_maps(s, number, &maps))
        return false;
    for (int m = 0; m < maps->count && s->y; m++) {
        char numbered[32];

        snprintf(numbered, sizeof numbered, "%s%d", part, m);
        add(s, reln_linear_map(s->net->graph,
                               reln_nn_bias(s->net, s->name, numbered, s->channels, s->fan_in),
                               map_values(maps, m), s->rep));
    }
    return true;
}

/* Counts the input channels that add to one output channel. */
static bool count_inputs(Sum *s, const RelnFeatures *in)
{
    const RelnMaps *maps = NULL;

    if (in->x && !find_maps(s, in->x->rep, &maps))
        return false;
    s->fan_in = in->x ? maps->count * reln_nn_channels(in->x) : 0;
    if (in->s && !find_maps(s, in->s->rep, &maps))
        return false;
    s->fan_in += in->s ? maps->count * reln_nn_channels(in->s) : 0;
    return s->fan_in > 0 ||
           reln_graph_fail(s->net->graph, RELN_ERR_ARG,
                           "%s: no equivariant linear map leads to %s from %s%s; make invariants "
                           "with a form first",
                           s->name, reln_rep_name(s->rep),
                           in->x ? reln_rep_name(in->x->rep) : "invariants",
                           in->x && in->s ? " and invariants" : "");
}

static RelnNode *sum_up(Sum *s, const RelnFeatures *in, const RelnRep *number,
                        const char *const parts[3])
{
    if (!count_inputs(s, in) || (in->x && !add_maps(s, in->x, parts[0])) ||
        (in->s && !add_maps(s, in->s, parts[1])) || !add_biases(s, number, parts[2]))
        return NULL;
    return s->y;
}

RelnFeatures reln_nn_affine(const RelnNet *net, const char *name, RelnFeatures in, int channels,
                            int invariants)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    static const char *const to_x[3] = {"xx", "sx", "bx"}, *const to_s[3] = {"xs", "ss", "bs"};
    const RelnRep *number = reln_invariant(net->graph, 1);
    RelnFeatures out = {NULL, NULL};

    if (!number || (!in.x && !in.s))
        return out;
    if (channels > 0 && !in.x)
        reln_graph_fail(net->graph, RELN_ERR_ARG,
                        "%s: %d channels of a feature asked for, but no feature came in to say of "
                        "which rep",
                        name, channels);
    if (channels > 0 && in.x) {
        Sum x = {net, name, in.x->rep, channels, 0, NULL};

        out.x = sum_up(&x, &in, number, to_x);
    }
    if (invariants > 0) {
        Sum s = {net, name, number, invariants, 0, NULL};

        out.s = sum_up(&s, &in, number, to_s);
    }
    return out;
}
