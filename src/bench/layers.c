/* layers.c -- single layers on gl(3): 256 channels, or sets of 12 points with 64 channels. */
#include <stdio.h>

#include "bench/bench.h"

static RelnNode *feature(BenchNet *b)
{
    return b->x = bench_input(
               b, "x",
               (RelnDims){.p = b->c->points, .k = reln_rep_dim(b->rep), .c = b->c->channels},
               b->rep);
}

static RelnNode *linear(BenchNet *b)
{
    return bench_linear(b, "w", feature(b), b->c->channels);
}

static RelnNode *relu(BenchNet *b)
{
    return bench_relu(b, "w", feature(b));
}

static RelnNode *rms(BenchNet *b)
{
    RelnNode *x = feature(b);

    bench_count(b, x, 1, b->c->channels, true);
    return reln_nn_rms(&b->net, "w", x, NULL);
}

static RelnNode *project(BenchNet *b)
{
    RelnNode *x = feature(b);

    bench_count(b, x, 1, b->c->channels, true);
    return reln_nn_project(&b->net, "w", x, NULL);
}

static RelnNode *bracket(BenchNet *b)
{
    return bench_bracket(b, "w", feature(b));
}

static RelnNode *product(BenchNet *b)
{
    RelnNode *x = feature(b);

    bench_count(b, x, 2, b->c->channels, true);
    return reln_nn_product(&b->net, "w", x);
}

/* A layer without a matrix product has no nominal operations, except those of the linear layer beside it; the
 * few operations of the form are negligible. */
static RelnNode *invariant(BenchNet *b)
{
    return reln_nn_invariant(&b->net, bench_linear(b, "w", feature(b), b->c->channels));
}

static RelnNode *norm(BenchNet *b)
{
    return reln_nn_batch_norm(&b->net, "n", bench_linear(b, "w", feature(b), b->c->channels),
                              RELN_NORM_INVARIANT);
}

/* Max-Killing pooling; its gradient goes to the linear layer before it. */
static RelnNode *pool_max(BenchNet *b)
{
    return bench_pool(b, "q", bench_linear(b, "w", feature(b), b->c->channels));
}

static RelnNode *pool_softmax(BenchNet *b)
{
    RelnNode *x = feature(b);

    bench_count(b, x, 1, b->c->channels, true);
    return reln_nn_pool_softmax(&b->net, "q", x, RELN_P);
}

/* Counts the products of scores and of weighted sums, too: 4 P K C operations for each point. */
static RelnNode *attention(BenchNet *b)
{
    RelnNode *x = feature(b);

    bench_count(b, x, 4, b->c->channels, true);
    bench_count(b, x, 2, b->c->points, true);
    return reln_nn_attention(&b->net, "a", (RelnFeatures){.x = x}, 4).x;
}

static RelnNode *conv(BenchNet *b)
{
    enum { WIDTH = 3 };
    RelnNode *x = feature(b);

    bench_count(b, x, WIDTH, b->c->channels, true);
    return reln_nn_conv(
        &b->net, "w", x,
        &(RelnConv){.channels = b->c->channels, .width = WIDTH, .padding = RELN_PAD_SAME});
}

static const struct {
    const char *name;
    int points, channels;
    RelnNode *(*build)(BenchNet *b);
} list[] = {
    {"linear", 1, 256, linear},
    {"relu", 1, 256, relu},
    {"rms", 1, 256, rms},
    {"project", 1, 256, project},
    {"bracket", 1, 256, bracket},
    {"product", 1, 256, product},
    {"linear-invariant", 1, 256, invariant},
    {"linear-norm", 1, 256, norm},
    {"linear-pool-max", 12, 64, pool_max},
    {"pool-softmax", 12, 64, pool_softmax},
    {"attention", 12, 64, attention},
    {"conv", 12, 64, conv},
};
enum { N_LAYERS = sizeof list / sizeof list[0] };

int bench_layer_cases(BenchCase *out, int room)
{
    int count = 0;

    for (int i = 0; i < N_LAYERS && count < room; i++) {
        BenchCase c = {.kind = BENCH_LAYER,
                       .algebra = "gl:3",
                       .points = list[i].points,
                       .channels = list[i].channels,
                       .batches = {100},
                       .build = list[i].build,
                       .loss = bench_loss_pairing};

        snprintf(c.name, sizeof c.name, "layer/%s/%d", list[i].name, list[i].channels);
        out[count++] = c;
    }
    return count;
}
