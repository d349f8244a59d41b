/* count.c -- layers of the networks, each with the nominal operations of its products; inputs and losses. */
#include "bench/bench.h"

RelnNode *bench_input_rows(BenchNet *b, const char *name, RelnDomain rows, RelnDims dims,
                           const RelnRep *rep)
{
    RelnNode *x = reln_input(b->net.graph, name, rows, dims, rep, RELN_DEFAULT);

    b->inputs[b->n_inputs++] = x;
    return x;
}

RelnNode *bench_input(BenchNet *b, const char *name, RelnDims dims, const RelnRep *rep)
{
    return bench_input_rows(b, name, RELN_SAMPLES, dims, rep);
}

RelnDomain bench_domain(BenchNet *b, RelnDomain domain, int per)
{
    b->per[domain < BENCH_MAX_DOMAINS ? domain : 0] = per;
    return domain;
}

int bench_per(const BenchNet *b, const RelnNode *x)
{
    const RelnDomain d = reln_node_domain(x);

    return d > RELN_SAMPLES && d < BENCH_MAX_DOMAINS && b->per[d] ? b->per[d] : 1;
}

RelnNode *bench_index(BenchNet *b, const char *name, RelnDims dims, int limit)
{
    b->limits[b->n_inputs] = limit;
    b->inputs[b->n_inputs] =
        reln_input_index(b->net.graph, name, RELN_SAMPLES, dims, RELN_STEP, limit);
    return b->inputs[b->n_inputs++];
}

RelnNode *bench_index_rows(BenchNet *b, const char *name, RelnDomain rows, RelnDomain target,
                           int limit)
{
    b->limits[b->n_inputs] = limit;
    b->inputs[b->n_inputs] = reln_input_index(b->net.graph, name, rows, (RelnDims){0}, target, 0);
    return b->inputs[b->n_inputs++];
}

/* Data needs no gradient; the input of a layer case stands for the output of a layer below it. */
static bool is_data(const BenchNet *b, const RelnNode *x)
{
    return b->c->kind == BENCH_NETWORK && x == b->x;
}

static void count_points(BenchNet *b, const RelnNode *x, int points, int products, int channels,
                         bool learns)
{
    const RelnDims d = reln_node_dims(x);
    int times = 1;

    if (b->pass != BENCH_FORWARD && learns)
        times += is_data(b, x) ? 1 : 2;
    b->flops +=
        2.0 * times * products * bench_per(b, x) * points * d.q * d.r * d.k * d.c * channels;
}

void bench_count(BenchNet *b, const RelnNode *x, int products, int channels, bool learns)
{
    if (x)
        count_points(b, x, reln_node_dims(x).p, products, channels, learns);
}

static int channels_of(const RelnNode *x)
{
    return x ? reln_node_dims(x).c : 0;
}

RelnNode *bench_linear(BenchNet *b, const char *name, RelnNode *x, int channels)
{
    bench_count(b, x, 1, channels, true);
    return reln_nn_linear(&b->net, name, x, channels);
}

RelnNode *bench_relu(BenchNet *b, const char *name, RelnNode *x)
{
    bench_count(b, x, 1, channels_of(x), true);
    return reln_nn_relu(&b->net, name, x, NULL);
}

RelnNode *bench_bracket(BenchNet *b, const char *name, RelnNode *x)
{
    bench_count(b, x, 2, channels_of(x), true);
    return reln_nn_bracket(&b->net, name, x);
}

/* The query of the pool has no gradient. */
RelnNode *bench_pool(BenchNet *b, const char *name, RelnNode *x)
{
    bench_count(b, x, 1, channels_of(x), false);
    return reln_nn_pool_max(&b->net, name, x, RELN_P, false);
}

RelnNode *bench_dense(BenchNet *b, const char *name, RelnNode *x, int channels)
{
    bench_count(b, x, 1, channels, true);
    return reln_nn_dense(&b->net, name, x, channels);
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

RelnNode *bench_loss_squares(BenchNet *b, RelnNode *y)
{
    RelnGraph *g = b->net.graph;

    if (!y)
        return NULL;
    return reln_batch_mean(
        g, reln_sum_all(
               g, reln_square(g, reln_sub(g, y, bench_input(b, "t", reln_node_dims(y), NULL)))));
}

RelnNode *bench_loss_classes(BenchNet *b, RelnNode *y)
{
    RelnGraph *g = b->net.graph;

    return reln_batch_mean(
        g, reln_cross_entropy(g, y, bench_index(b, "label", (RelnDims){0}, channels_of(y))));
}

RelnNode *bench_loss_pairing(BenchNet *b, RelnNode *y)
{
    RelnGraph *g = b->net.graph;

    if (!y)
        return NULL;
    return reln_batch_mean(
        g, reln_sum_all(g, reln_pair(g, y,
                                     bench_input(b, "t", reln_node_dims(y),
                                                 reln_rep_dual(reln_node_rep(y))))));
}
