/* kernels.c -- plans of a single op: the cost of loading the operands, computing, and writing the result. The
 * gradient is that by all operands, with a cotangent as input. */
#include <stdio.h>

#include "bench/bench.h"

static RelnNode *operand(BenchNet *b, const char *name)
{
    return bench_input(
        b, name, (RelnDims){.p = b->c->points, .k = reln_rep_dim(b->rep), .c = b->c->channels},
        b->rep);
}

static RelnNode *scalars(BenchNet *b, const char *name)
{
    return bench_input(b, name, (RelnDims){.p = b->c->points, .c = b->c->channels}, NULL);
}

static RelnNode *bracket(BenchNet *b)
{
    RelnNode *x = operand(b, "x"), *y = operand(b, "y");

    return reln_bracket(b->net.graph, b->net.algebra, x, y);
}

static RelnNode *form(BenchNet *b)
{
    RelnNode *x = operand(b, "x"), *y = operand(b, "y");

    return reln_nn_form(&b->net, x, y);
}

static RelnNode *invariant(BenchNet *b)
{
    return reln_nn_invariant(&b->net, operand(b, "x"));
}

/* x + max(0, B(x, d)) d, with d given */
static RelnNode *relu(BenchNet *b)
{
    RelnGraph *g = b->net.graph;
    RelnNode *x = operand(b, "x"), *d = operand(b, "d");

    return reln_add(g, x, reln_mul(g, reln_relu(g, reln_nn_form(&b->net, x, d)), d));
}

/* For each channel, selects the point with the largest score. */
static RelnNode *pool(BenchNet *b)
{
    RelnGraph *g = b->net.graph;
    RelnNode *x = operand(b, "x"), *s = scalars(b, "s");

    return reln_pick(g, x, reln_argmax(g, s, RELN_P), RELN_P);
}

static RelnNode *softmax(BenchNet *b)
{
    return reln_softmax(b->net.graph, scalars(b, "x"), RELN_C);
}

static RelnNode *tanhs(BenchNet *b)
{
    return reln_tanh(b->net.graph, scalars(b, "x"));
}

static RelnNode *exps(BenchNet *b)
{
    return reln_exp(b->net.graph, scalars(b, "x"));
}

static RelnNode *mix(BenchNet *b)
{
    return reln_nn_linear(&b->net, "w", operand(b, "x"), b->c->channels);
}

static RelnNode *conv(BenchNet *b)
{
    return reln_nn_conv(
        &b->net, "w", operand(b, "x"),
        &(RelnConv){.channels = b->c->channels, .width = 3, .padding = RELN_PAD_SAME});
}

static const struct {
    const char *name, *algebra;
    int points, channels;
    RelnNode *(*build)(BenchNet *b);
} list[] = {
    {"bracket", "so:3", 1, 16, bracket},
    {"bracket", "so:3", 1, 256, bracket},
    {"bracket", "sl:3", 1, 16, bracket},
    {"bracket", "sl:3", 1, 256, bracket},
    {"bracket", "gl:3", 1, 16, bracket},
    {"bracket", "gl:3", 1, 64, bracket},
    {"bracket", "gl:3", 1, 256, bracket},
    {"bracket", "sp:4", 1, 16, bracket},
    {"bracket", "sp:4", 1, 256, bracket},
    {"bracket", "gl:4", 1, 16, bracket},
    {"bracket", "gl:4", 1, 256, bracket},
    {"bracket", "so:1,3", 1, 256, bracket},
    {"bracket", "gl:6", 1, 64, bracket},
    {"form", "gl:3", 1, 256, form},
    {"form", "sp:4", 1, 256, form},
    {"invariant", "gl:3", 1, 16, invariant},
    {"invariant", "gl:3", 1, 256, invariant},
    {"relu", "gl:3", 1, 16, relu},
    {"relu", "gl:3", 1, 64, relu},
    {"relu", "gl:3", 1, 256, relu},
    {"relu", "sp:4", 1, 256, relu},
    {"pool", "sl:3", 12, 256, pool},
    {"softmax", "so:3", 12, 256, softmax},
    {"tanh", "so:3", 12, 256, tanhs},
    {"exp", "so:3", 12, 256, exps},
    {"conv", "gl:3", 12, 64, conv},
    {"mix", "gl:3", 1, 8, mix},
    {"mix", "gl:3", 1, 16, mix},
    {"mix", "gl:3", 1, 24, mix},
    {"mix", "gl:3", 1, 32, mix},
    {"mix", "gl:3", 1, 36, mix},
    {"mix", "gl:3", 1, 40, mix},
    {"mix", "gl:3", 1, 47, mix},
    {"mix", "gl:3", 1, 48, mix},
    {"mix", "gl:3", 1, 64, mix},
    {"mix", "gl:3", 1, 256, mix},
    {"mix", "gl:3", 1, 512, mix},
};
enum { N_KERNELS = sizeof list / sizeof list[0] };

int bench_kernel_cases(BenchCase *out, int room)
{
    int count = 0;

    for (int i = 0; i < N_KERNELS && count < room; i++) {
        BenchCase c = {.kind = BENCH_KERNEL,
                       .algebra = list[i].algebra,
                       .points = list[i].points,
                       .channels = list[i].channels,
                       .batches = {100},
                       .build = list[i].build};

        snprintf(c.name, sizeof c.name, "kernel/%s/%s/%d", list[i].name, list[i].algebra,
                 list[i].channels);
        out[count++] = c;
    }
    return count;
}
