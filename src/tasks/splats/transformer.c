/* transformer.c -- parts that both networks share: attention of tokens, the classifier's head, Chamfer
 * distance, masks. */
#include "tasks/splats/splats.h"

/* Puts heads on P and tokens on R, as reln_gram() expects. */
static RelnNode *heads_of(const RelnNet *net, RelnNode *x, int heads)
{
    RelnNode *rows = x ? reln_swap_axes(net->graph, x, RELN_P, RELN_R) : NULL;

    return rows ? reln_nn_split_heads(net, rows, heads, RELN_P) : NULL;
}

static RelnNode *scores_of(const RelnNet *net, const SplatsLook *l, int heads, RelnNode *before)
{
    RelnNode *t;

    if (!l->q)
        return before;
    t = reln_gram(net->graph, heads_of(net, l->q, heads), heads_of(net, l->k, heads));
    return before ? reln_add(net->graph, before, t) : t;
}

static RelnNode *sums_of(const RelnNet *net, const SplatsLook *l, int heads, RelnNode *a)
{
    RelnNode *sum = l->q ? reln_weigh(net->graph, a, heads_of(net, l->v, heads)) : NULL;

    return sum ? reln_swap_axes(net->graph, reln_nn_merge_heads(net, sum, RELN_P), RELN_P, RELN_R)
               : NULL;
}

RelnFeatures splats_attend(const RelnNet *net, SplatsLook x, SplatsLook s, int heads, double scale,
                           RelnNode **looks)
{
    RelnNode *t = scores_of(net, &s, heads, scores_of(net, &x, heads, NULL));
    RelnNode *a = reln_softmax(net->graph, reln_scale(net->graph, t, scale), RELN_C);

    if (looks)
        *looks = a;
    return (RelnFeatures){sums_of(net, &x, heads, a), sums_of(net, &s, heads, a)};
}

/* relu(batch norm(dense)), followed by dropout */
static RelnNode *head_layer(const RelnNet *net, const SplatsNet *m, const char *name,
                            const char *norm, RelnNode *s)
{
    RelnNode *h =
        reln_nn_batch_norm_invariants(net, norm, reln_nn_dense(net, name, s, m->head), NULL);

    return reln_nn_dropout(net, (RelnFeatures){.s = reln_relu(net->graph, h)}, m->dropout).s;
}

RelnNode *splats_head(const RelnNet *net, const SplatsNet *m, RelnNode *s)
{
    const RelnNet head = reln_nn_within(net, "head");

    s = head_layer(&head, m, "a", "an", s);
    s = head_layer(&head, m, "b", "bn", s);
    return reln_nn_dense(&head, "c", s, m->classes);
}

RelnNode *splats_index(const RelnNet *net, const SplatsNet *m, bool hidden)
{
    return reln_input_index(net->graph, hidden ? "hidden" : "visible", RELN_SAMPLES,
                            (RelnDims){.p = hidden ? m->masked : m->groups - m->masked}, RELN_STEP,
                            m->groups);
}

/* Mean over P and Q of the minimum along an axis. */
static RelnNode *mean_least(const RelnNet *net, RelnNode *d, RelnAxis over)
{
    RelnGraph *g = net->graph;
    RelnNode *least = reln_nn_pool_largest(net, reln_scale(g, d, -1.0), (int)over);

    for (RelnAxis a = RELN_P; a <= RELN_R; a = (RelnAxis)(a + 1))
        least = reln_mean(g, least, a);
    return reln_scale(g, least, -1.0);
}

RelnNode *splats_chamfer(const RelnNet *net, RelnNode *a, RelnNode *b)
{
    RelnGraph *g = net->graph;
    RelnNode *e = reln_sub(g, a, reln_swap_axes(g, b, RELN_Q, RELN_R)); /* (P, Q, R, K, C) */
    RelnNode *d;

    if (!e)
        return NULL;
    d = reln_node_dims(e).k > 1 ? reln_pair(g, e, e) : reln_sum(g, reln_square(g, e), RELN_C);
    return reln_add(g, mean_least(net, d, RELN_R), mean_least(net, d, RELN_Q));
}

RelnNode *splats_classifier(const RelnNet *net, const void *model)
{
    const SplatsNet *m = model;

    return m->kind == SPLATS_RELN ? splats_reln_logits(net, m, NULL)
                                  : splats_baseline_logits(net, m, NULL);
}

RelnNode *splats_pretraining(const RelnNet *net, const void *model)
{
    const SplatsNet *m = model;

    return m->kind == SPLATS_RELN ? splats_reln_guess(net, m, NULL).total
                                  : splats_baseline_guess(net, m, NULL).total;
}

RelnNode *splats_looks(const RelnNet *net, const void *model)
{
    const SplatsNet *m = model;
    SplatsParts parts = {0};

    if (m->kind == SPLATS_RELN)
        splats_reln_logits(net, m, &parts);
    else
        splats_baseline_logits(net, m, &parts);
    return reln_mean(net->graph, parts.looks, RELN_P);
}

RelnNode *splats_rebuilt(const RelnNet *net, const void *model)
{
    const SplatsNet *m = model;
    RelnGraph *g = net->graph;
    RelnNode *parts[3];

    if (m->kind == SPLATS_RELN) {
        const SplatsGuess guess = splats_reln_guess(net, m, NULL);

        return reln_concat_k(g, guess.xyz, guess.log);
    }
    const SplatsGuess guess = splats_baseline_guess(net, m, NULL);

    parts[0] = guess.xyz;
    parts[1] = guess.scale;
    parts[2] = reln_pad(g, guess.rotation, RELN_C, 0, 2);
    return reln_concat(g, 3, parts, RELN_C);
}
