/* invariant.c -- products and lengths of vectors, and the dense network that they go through. */
#include <math.h>

#include "tasks/pendulum/invariant.h"

enum { MAX_PAIRS = 64, MAX_LENGTHS = 8, MAX_LAYERS = 8 };

static int list_pairs(const PendInvariant *s, PendPair pairs[MAX_PAIRS])
{
    int n = 0;

    for (; n < s->n_pairs; n++)
        pairs[n] = s->pairs[n];
    if (n == 0)
        for (int a = 0; a < s->n_vectors; a++)
            for (int b = a; b < s->n_vectors; b++)
                pairs[n++] = (PendPair){a, b};
    for (int i = 0; i < s->n_lengths; i++)
        pairs[n++] = (PendPair){s->lengths[i], s->lengths[i]};
    return n;
}

static int count_pairs(const PendInvariant *s)
{
    PendPair pairs[MAX_PAIRS];

    return list_pairs(s, pairs);
}

static PendDense stack(const PendInvariant *s, int widths[MAX_LAYERS + 1])
{
    widths[0] = count_pairs(s);
    for (int i = 1; i <= s->hidden; i++)
        widths[i] = s->width;
    widths[s->hidden + 1] = 1;
    return (PendDense){"head", s->hidden + 1, widths, s->activation, s->linear > 0};
}

static void weights(const PendBuild *b, PendWeights *w)
{
    const PendInvariant *s = b->settings;
    int widths[MAX_LAYERS + 1];
    const PendDense d = stack(s, widths);

    pend_dense_weights(b, &d, w);
    if (s->linear > 0)
        pend_weights_add(w, pend_parameter(b, "linear", "W", (RelnDims){.r = widths[0], .c = 1},
                                           (RelnInit){RELN_INIT_CONSTANT, 0.0}));
}

/* One side of all pairs: the vectors' shares as a constant matrix (5, n). */
static RelnNode *side(RelnGraph *g, const PendInvariant *s, const PendPair *pairs, int n,
                      bool second, RelnNode *base)
{
    double share[PEND_BASE * MAX_PAIRS];

    for (int i = 0; i < PEND_BASE; i++)
        for (int j = 0; j < n; j++)
            share[i * n + j] = s->vectors[second ? pairs[j].b : pairs[j].a][i];
    return reln_mix(g, base, reln_const(g, (RelnDims){.r = PEND_BASE, .c = n}, NULL, share));
}

/* A length has no derivative at 0, where no motion comes near; 1e-12 keeps it finite. */
static RelnNode *with_lengths(RelnGraph *g, const PendInvariant *s, RelnNode *q, int n)
{
    const int n_products = n - s->n_lengths;
    RelnNode *parts[2] = {reln_scale(g, reln_slice(g, q, RELN_C, 0, n_products), s->scale), NULL};

    if (s->n_lengths == 0)
        return parts[0];
    parts[1] =
        reln_sqrt(g, reln_shift(g, reln_slice(g, q, RELN_C, n_products, s->n_lengths), 1.0, 1e-12));
    return reln_concat(g, 2, parts, RELN_C);
}

static RelnNode *value(const PendBuild *b, RelnNode *z, PendWeights *w)
{
    const PendInvariant *s = b->settings;
    RelnGraph *g = b->graph;
    PendPair pairs[MAX_PAIRS];
    const int n = list_pairs(s, pairs);
    int widths[MAX_LAYERS + 1];
    const PendDense d = stack(s, widths);
    RelnNode *base = pend_base_vectors(g, z), *f, *H;

    f = reln_pair(g, side(g, s, pairs, n, false, base),
                  reln_nn_lower(&(RelnNet){.graph = g}, side(g, s, pairs, n, true, base)));
    f = with_lengths(g, s, f, n);
    H = pend_dense_value(g, &d, f, w);
    if (s->linear > 0)
        H = reln_add(g, reln_scale(g, H, 1 / s->linear),
                     reln_scale(g, reln_mix(g, f, pend_weights_take(w)), s->linear));
    return H;
}

const PendArchitecture pend_invariant = {.typed = true, .weights = weights, .value = value};

/* ---- the choices -------------------------------------------------------------------------------------------------- */

static const double seven[7][PEND_BASE] = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0},  {0, 0, 1, 0, 0},
                                           {0, 0, 0, 1, 0}, {-1, 1, 0, 0, 0}, {0, 0, 0, 0, 1},
                                           {0, 0, 1, 1, 0}};
static const int five_lengths[5] = {0, 1, 2, 3, 4};

const PendInvariant pend_pairings = {.n_vectors = 7,
                                     .vectors = seven,
                                     .scale = 1.0,
                                     .hidden = 5,
                                     .width = 128,
                                     .activation = RELN_ACT_SILU};
const PendInvariant pend_lengths = {.n_vectors = 7,
                                    .vectors = seven,
                                    .n_lengths = 5,
                                    .lengths = five_lengths,
                                    .scale = 1.0,
                                    .hidden = 3,
                                    .width = 64,
                                    .activation = RELN_ACT_SILU,
                                    .linear = 10};

/* 16 products of the four, their heights, the difference's square, its products with the four; five lengths */
static const double six[6][PEND_BASE] = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0},  {0, 0, 1, 0, 0},
                                         {0, 0, 0, 1, 0}, {1, -1, 0, 0, 0}, {0, 0, 0, 0, 1}};
static const PendPair twenty_five[25] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2},
                                         {1, 3}, {2, 0}, {2, 1}, {2, 2}, {2, 3}, {3, 0}, {3, 1},
                                         {3, 2}, {3, 3}, {0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 4},
                                         {4, 0}, {4, 1}, {4, 2}, {4, 3}};

#define SCALARS(f)                                                                                 \
    {                                                                                              \
        .n_vectors = 6, .vectors = six, .n_pairs = 25, .pairs = twenty_five, .n_lengths = 5,       \
        .lengths = five_lengths, .scale = 1.0, .hidden = 4, .width = 100, .activation = (f)        \
    }
const PendInvariant pend_scalars = SCALARS(RELN_ACT_RELU);
const PendInvariant pend_scalars_smooth = SCALARS(RELN_ACT_SILU);
