/* splats.c -- the two classifiers of Gaussian splats (tasks/splats), at the size "tiny": 32 groups of 16 splats, four blocks.
 *
 * bench/peers/README.md defines them, and has them in other software. They are those of the task, without dropout and
 * stochastic depth. Nominal operations are those of the matrix products as written there.
 */
#include "tasks/splats/splats.h"
#include "bench/bench.h"

enum { GROUPS = 32, MEMBERS = 16, DEPTH = 4, HEAD = 192, CLASSES = 10 };

static SplatsNet tiny(SplatsKind kind)
{
    const bool reln = kind == SPLATS_RELN;

    return (SplatsNet){.kind = kind,
                       .splats = 512,
                       .groups = GROUPS,
                       .members = MEMBERS,
                       .slots = MEMBERS,
                       .classes = CLASSES,
                       .width = reln ? 16 : 96,
                       .scalars = 32,
                       .depth = DEPTH,
                       .heads = 4,
                       .token = {reln ? 16 : 48, reln ? 32 : 64, reln ? 0 : 128},
                       .embed = 32,
                       .head = HEAD,
                       .full = true,
                       .bracket = true};
}

/* Products of members read data, whose gradient is not needed, or not. */
static double passes(const BenchNet *b, double of_data, double others)
{
    return 2 * (b->pass == BENCH_FORWARD ? of_data + others : 2 * of_data + 3 * others);
}

static double head_products(double features)
{
    return features * HEAD + HEAD * HEAD + HEAD * CLASSES;
}

static double mae_operations(const BenchNet *b, const SplatsNet *m)
{
    const double c = m->width, tokens = GROUPS + 1;
    const int *t = m->token;
    const double members = (double)t[0] * t[1] + (double)t[1] * t[2] + t[2] * c;
    const double blocks = DEPTH * tokens * (12 * c * c + 2 * tokens * c);

    return passes(b, GROUPS * (MEMBERS * 14.0 * t[0] + 3.0 * m->embed),
                  GROUPS * (MEMBERS * members + (double)t[1] * t[2] + m->embed * c) + blocks +
                      head_products(2 * c));
}

/* Products of matrices have nine rows. */
static double reln_operations(const BenchNet *b, const SplatsNet *m)
{
    enum { CHANNELS = 6 };
    const double c = m->width, d = m->scalars;
    const double members = 9 * 7 * c * c + 2 * c * d + 4 * c * d + d * d;
    const double groups = 9 * 4 * c * c + 4 * d * d + m->embed * (3 * c + d);
    const double attention = 9 * 4 * c * c + 4 * d * d + 2 * GROUPS * (9 * c + d);
    const double forward = 9 * 11 * c * c + 2 * c * d + (d + 3 * c) * 4 * d + 4 * d * d;
    const double read = 9 * 3 * 4 * c * c + head_products(8 * c + 2 * d);

    return passes(b, GROUPS * (MEMBERS * (9 * CHANNELS * c + SPLATS_SCALARS * d) + m->embed),
                  GROUPS * (MEMBERS * members + groups + DEPTH * (attention + forward)) + read);
}

static RelnNode *classifier(BenchNet *b, SplatsKind kind)
{
    const SplatsNet m = tiny(kind);
    SplatsParts parts = {0};
    RelnNode *y = kind == SPLATS_RELN ? splats_reln_logits(&b->net, &m, &parts)
                                      : splats_baseline_logits(&b->net, &m, &parts);

    for (int i = 0; i < 4 && parts.inputs[i]; i++)
        b->inputs[b->n_inputs++] = parts.inputs[i];
    b->x = parts.inputs[0];
    b->flops = kind == SPLATS_RELN ? reln_operations(b, &m) : mae_operations(b, &m);
    return y;
}

static RelnNode *mae(BenchNet *b)
{
    return classifier(b, SPLATS_BASELINE);
}

static RelnNode *reln(BenchNet *b)
{
    return classifier(b, SPLATS_RELN);
}

int bench_splats_cases(BenchCase *out, int room)
{
    static const BenchCase list[] = {
        {.name = "splats-mae",
         .algebra = "none:3",
         .features = "gl:3",
         .points = GROUPS,
         .channels = 14,
         .width = 96,
         .batches = {1, 32},
         .build = mae,
         .loss = bench_loss_classes},
        {.name = "splats-reln",
         .algebra = "so:3",
         .features = "gl:3",
         .points = GROUPS,
         .channels = 6,
         .width = 16,
         .batches = {1, 32},
         .build = reln,
         .loss = bench_loss_classes},
    };
    enum { N_LIST = sizeof list / sizeof list[0] };
    int count = 0;

    for (int i = 0; i < N_LIST && count < room; i++)
        out[count++] = list[i];
    return count;
}
