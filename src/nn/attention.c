/* attention.c -- points that look at each other with invariant scores. */
#include <math.h>

#include "nn/nn.h"

/* Queries, keys and values of one kind of channels, points on R, where reln_gram() wants them. */
typedef struct Look {
    RelnNode *q, *k, *v;
    int each;     /* channels of one head */
    double scale; /* of the scores */
} Look;

static bool splits(const RelnNet *net, const char *name, const RelnNode *x, int heads)
{
    if (!x || (heads > 0 && x->shape.dims[RELN_C] % heads == 0))
        return true;
    return reln_graph_fail(net->graph, RELN_ERR_SHAPE, "%s: %d channels do not split into %d heads",
                           name, x->shape.dims[RELN_C], heads);
}

static RelnNode *points_on_r(const RelnNet *net, RelnNode *x)
{
    return reln_swap_axes(net->graph, x, RELN_P, RELN_R);
}

static Look look(const RelnNet *net, const char *name, const char *const parts[4], RelnNode *x,
                 RelnNode *(*lower)(const RelnNet *net, RelnNode *x), int heads)
{
    const int c = reln_nn_channels(x);
    Look l = {.each = c / heads};

    if (!x)
        return l;
    l.scale = 1.0 / sqrt((double)x->shape.dims[RELN_K] * l.each);
    l.q = points_on_r(net, reln_nn_mixed(net, name, parts[0], x, c));
    l.k = points_on_r(net, lower(net, reln_nn_mixed(net, name, parts[1], x, c)));
    l.v = points_on_r(net, reln_nn_mixed(net, name, parts[2], x, c));
    return l;
}

static RelnNode *same(const RelnNet *net, RelnNode *s)
{
    (void)net;
    return s;
}

static RelnNode *head_of(const RelnNet *net, const Look *l, RelnNode *x, int head)
{
    return reln_slice(net->graph, x, RELN_C, head * l->each, l->each);
}

static RelnNode *head_scores(const RelnNet *net, const Look *l, int head)
{
    return reln_scale(
        net->graph, reln_gram(net->graph, head_of(net, l, l->q, head), head_of(net, l, l->k, head)),
        l->scale);
}

/* softmax over the points that are looked at, which are the channels of the scores */
static RelnNode *weights(const RelnNet *net, const Look *lx, const Look *ls, int head)
{
    RelnNode *t = lx->q ? head_scores(net, lx, head) : NULL;
    RelnNode *u = ls->q ? head_scores(net, ls, head) : NULL;

    return reln_softmax(net->graph, t && u ? reln_add(net->graph, t, u) : t ? t : u, RELN_C);
}

static RelnNode *finish(const RelnNet *net, const char *name, const char *part, RelnNode *x, int n,
                        RelnNode *const *heads)
{
    RelnNode *all = points_on_r(net, reln_concat(net->graph, n, heads, RELN_C));

    return reln_add(net->graph, x, reln_nn_mixed(net, name, part, all, reln_nn_channels(x)));
}

enum { MAX_HEADS = 64 };

RelnFeatures reln_nn_attention(const RelnNet *net, const char *name, RelnFeatures in, int heads)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, name);

    static const char *const of_x[4] = {"Wq", "Wk", "Wv", "Wo"}, *const of_s[4] = {"Sq", "Sk", "Sv",
                                                                                   "So"};
    const RelnFeatures none = {NULL, NULL};
    RelnNode *x[MAX_HEADS], *s[MAX_HEADS];
    Look lx, ls;

    if (heads < 1 || heads > MAX_HEADS)
        reln_graph_fail(net->graph, RELN_ERR_ARG, "%s: %d heads, wanted 1 to %d", name, heads,
                        MAX_HEADS);
    if (!reln_nn_want_points(net, name, in.x) || !reln_nn_want_points(net, name, in.s))
        return none;
    if (heads < 1 || heads > MAX_HEADS || !splits(net, name, in.x, heads) ||
        !splits(net, name, in.s, heads))
        return none;
    lx = look(net, name, of_x, in.x, reln_nn_lower, heads);
    ls = look(net, name, of_s, in.s, same, heads);
    for (int h = 0; h < heads; h++) {
        RelnNode *a = weights(net, &lx, &ls, h);

        x[h] = in.x ? reln_weigh(net->graph, a, head_of(net, &lx, lx.v, h)) : NULL;
        s[h] = in.s ? reln_weigh(net->graph, a, head_of(net, &ls, ls.v, h)) : NULL;
    }
    return (RelnFeatures){in.x ? finish(net, name, of_x[3], in.x, heads, x) : NULL,
                          in.s ? finish(net, name, of_s[3], in.s, heads, s) : NULL};
}
