/* attention.c -- attention with invariant scores: each point of an axis, or row of a set, gets a weighted mean of the
 * values of all points or rows. */
#include <math.h>

#include "nn/nn.h"

/* A Look holds queries, keys and values of one kind of channels, with points on R, as reln_gram() expects. */
typedef struct Look {
    RelnNode *q, *k, *v;
    int each;     /* channels of one head */
    double scale; /* factor of the scores */
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

/* Softmax over the points of the keys, which are the channels of the scores. */
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

    return reln_nn_mixed(net, name, part, all, reln_nn_channels(x));
}

enum { MAX_HEADS = 64 };

static const char *const of_x[4] = {"Wq", "Wk", "Wv", "Wo"}, *const of_s[4] = {"Sq", "Sk", "Sv",
                                                                               "So"};

/* ---- rows of sets ----------------------------------------------------------------------------------------------- */

/* A Pairing holds the domain of the queries, the domain of the keys and values, and their pairs for each
 * head. */
typedef struct Pairing {
    RelnDomain rows, from;
    RelnDomain parents; /* (row, head) */
    RelnDomain pairs;
} Pairing;

static Pairing pairing(RelnGraph *g, RelnDomain rows, RelnDomain from, int heads)
{
    Pairing p = {rows, from, rows, RELN_STEP};
    RelnArena *arena = reln_graph_arena(g);
    const char *parts =
        reln_arena_printf(arena, "%d heads of %s", heads, reln_domain_name(g, rows));
    const char *pairs = reln_arena_printf(arena, "%d heads of %s to %s", heads,
                                          reln_domain_name(g, rows), reln_domain_name(g, from));

    if (!parts || !pairs) {
        reln_graph_nomem(g);
        return p;
    }
    if (heads > 1)
        p.parents = reln_fixed(g, parts, rows, heads);
    if (p.parents != RELN_STEP)
        p.pairs = reln_pairs(g, pairs, p.parents, from, true);
    return p;
}

/* Computes queries from one domain, keys and values from the other; the scale of the scores is folded into
 * the weights of q. */
static Look look_across(const RelnNet *net, const char *name, const char *const parts[4],
                        RelnNode *x, RelnNode *from,
                        RelnNode *(*lower)(const RelnNet *net, RelnNode *x), int heads)
{
    const int c = reln_nn_channels(x), d = reln_nn_channels(from);
    Look l = {.each = c / heads};
    RelnNode *w;

    if (!x || !from)
        return l;
    l.scale = 1.0 / sqrt((double)x->shape.dims[RELN_K] * l.each);
    w = reln_nn_weight(net, name, parts[0], c, c, c);
    l.q = reln_mix(net->graph, x, reln_scale(net->graph, w, l.scale));
    l.k = lower(net, reln_mix(net->graph, from, reln_nn_weight(net, name, parts[1], d, c, d)));
    l.v = reln_mix(net->graph, from, reln_nn_weight(net, name, parts[2], d, c, d));
    return l;
}

/* Builds the attention as a function, so that its gradient computes the scores again, tile by tile, and no
 * array of the size of the pairs is kept. */
static bool sums_of_values(const RelnNet *net, const char *name, const Pairing *p, const Look *lx,
                           const Look *ls, RelnNode **out)
{
    RelnGraph *g = reln_fn_begin(net->graph, name);
    RelnNode *t = lx->q ? reln_pair_gram(g, lx->q, lx->k, p->pairs) : NULL;
    RelnNode *u = ls->q ? reln_pair_gram(g, ls->q, ls->k, p->pairs) : NULL;
    RelnNode *a = reln_softmax_within(g, t && u ? reln_add(g, t, u) : t ? t : u, p->parents);
    RelnNode *sums[2];
    int n = 0;

    if (lx->q)
        sums[n++] = reln_pair_weigh(g, a, lx->v, p->rows);
    if (ls->q)
        sums[n++] = reln_pair_weigh(g, a, ls->v, p->rows);
    return g && reln_call(net->graph, reln_fn_end(g, n, sums), 0, NULL, out);
}

static RelnNode *finish_rows(const RelnNet *net, const char *name, const char *part, RelnNode *x,
                             RelnNode *sum)
{
    return reln_nn_mixed(net, name, part, sum, reln_nn_channels(x));
}

static RelnFeatures attend_rows(const RelnNet *net, const char *name, RelnFeatures in,
                                RelnFeatures from, int heads)
{
    const RelnFeatures none = {NULL, NULL};
    const Pairing p = pairing(net->graph, (in.x ? in.x : in.s)->domain,
                              (from.x ? from.x : from.s)->domain, heads);
    const Look lx = look_across(net, name, of_x, in.x, from.x, reln_nn_lower, heads);
    const Look ls = look_across(net, name, of_s, in.s, from.s, same, heads);
    RelnNode *sums[2] = {NULL, NULL};

    if (reln_graph_status(net->graph) != RELN_OK || !sums_of_values(net, name, &p, &lx, &ls, sums))
        return none;
    return (RelnFeatures){in.x ? finish_rows(net, name, of_x[3], in.x, sums[0]) : NULL,
                          in.s ? finish_rows(net, name, of_s[3], in.s, sums[in.x != NULL]) : NULL};
}

static bool is_rows(const RelnNode *x)
{
    return x && x->domain > RELN_SAMPLES;
}

static bool want_heads(const RelnNet *net, const char *name, RelnFeatures in, int heads)
{
    if (heads < 1 || heads > MAX_HEADS)
        return reln_graph_fail(net->graph, RELN_ERR_ARG, "%s: %d heads, wanted 1 to %d", name,
                               heads, MAX_HEADS);
    return splits(net, name, in.x, heads) && splits(net, name, in.s, heads);
}

/* Returns x + (sum of values), for features and invariants. */
static RelnFeatures plus(const RelnNet *net, RelnFeatures in, RelnFeatures sums)
{
    return (RelnFeatures){in.x && sums.x ? reln_add(net->graph, in.x, sums.x) : NULL,
                          in.s && sums.s ? reln_add(net->graph, in.s, sums.s) : NULL};
}

static RelnFeatures look_at_rows(const RelnNet *net, const char *name, RelnFeatures in,
                                 RelnFeatures from, int heads)
{
    const RelnFeatures none = {NULL, NULL};

    if (reln_graph_status(net->graph) != RELN_OK || !want_heads(net, name, in, heads))
        return none;
    if ((!in.x && !in.s) || !in.x != !from.x || !in.s != !from.s) {
        reln_graph_fail(net->graph, RELN_ERR_ARG, "%s: wanted features or invariants of both sets",
                        name);
        return none;
    }
    if (!is_rows(in.x ? in.x : in.s) || !is_rows(from.x ? from.x : from.s)) {
        reln_graph_fail(net->graph, RELN_ERR_UNSUPPORTED, "%s: %s look at %s, wanted rows of sets",
                        name, reln_shape_text(in.x ? in.x : in.s),
                        reln_shape_text(from.x ? from.x : from.s));
        return none;
    }
    return attend_rows(net, name, in, from, heads);
}

RelnFeatures reln_nn_cross_attention(const RelnNet *net, const char *name, RelnFeatures in,
                                     RelnFeatures from, int heads)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    return plus(net, in, look_at_rows(net, name, in, from, heads));
}

/* ---- points of an axis ------------------------------------------------------------------------------------------ */

static RelnFeatures look_at_points(const RelnNet *net, const char *name, RelnFeatures in, int heads)
{
    const RelnFeatures none = {NULL, NULL};
    RelnNode *x[MAX_HEADS], *s[MAX_HEADS];
    Look lx, ls;

    if (!want_heads(net, name, in, heads))
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

RelnFeatures reln_nn_look(const RelnNet *net, const char *name, RelnFeatures in, int heads)
{
    return is_rows(in.x) || is_rows(in.s) ? look_at_rows(net, name, in, in, heads)
                                          : look_at_points(net, name, in, heads);
}

RelnFeatures reln_nn_attention(const RelnNet *net, const char *name, RelnFeatures in, int heads)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    return plus(net, in, reln_nn_look(net, name, in, heads));
}
