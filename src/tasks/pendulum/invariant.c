/* invariant.c -- products and lengths of vectors, and the dense network that reads them. */
#include <math.h>
#include <stdio.h>

#include "tasks/pendulum/pendulum.h"

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

int pend_features_count(const PendInvariant *s)
{
    PendPair pairs[MAX_PAIRS];

    return list_pairs(s, pairs);
}

static PendDense stack(const PendInvariant *s, int widths[MAX_LAYERS + 1])
{
    widths[0] = pend_features_count(s);
    for (int i = 1; i <= s->hidden; i++)
        widths[i] = s->width;
    widths[s->hidden + 1] = 1;
    return (PendDense){"head", s->hidden + 1, widths, s->activation, s->share > 0};
}

/* Returns one side of all pairs: the coefficients of the vectors as a constant matrix (5, n). */
static RelnNode *side(RelnGraph *g, const PendInvariant *s, const PendPair *pairs, int n,
                      bool second, RelnNode *base)
{
    double share[PEND_BASE * MAX_PAIRS];

    for (int i = 0; i < PEND_BASE; i++)
        for (int j = 0; j < n; j++)
            share[i * n + j] = s->vectors[second ? pairs[j].b : pairs[j].a][i];
    return reln_mix(g, base, reln_const(g, (RelnDims){.r = PEND_BASE, .c = n}, NULL, share));
}

/* A length has no derivative at 0, where no motion comes near; adding 1e-12 keeps it finite. */
static RelnNode *with_lengths(RelnGraph *g, const PendInvariant *s, RelnNode *q, int n)
{
    const int n_products = n - s->n_lengths;
    RelnNode *parts[2] = {reln_slice(g, q, RELN_C, 0, n_products), NULL};

    if (s->n_lengths == 0)
        return parts[0];
    parts[1] =
        reln_sqrt(g, reln_shift(g, reln_slice(g, q, RELN_C, n_products, s->n_lengths), 1.0, 1e-12));
    return reln_concat(g, 2, parts, RELN_C);
}

RelnNode *pend_features(RelnGraph *g, const PendInvariant *s, RelnNode *z)
{
    PendPair pairs[MAX_PAIRS];
    const int n = list_pairs(s, pairs);
    RelnNode *base = pend_base_vectors(g, z);
    RelnNode *a = side(g, s, pairs, n, false, base), *b = side(g, s, pairs, n, true, base);

    return with_lengths(g, s, reln_pair(g, a, reln_nn_lower(&(RelnNet){.graph = g}, b)), n);
}

/* ---- mixing invariants so that their gradients are uncorrelated ---------------------------------------------------- */

void pend_features_weights(const PendBuild *b, const PendInvariant *s, PendWeights *w)
{
    const int n = pend_features_count(s);
    const RelnInit zero = {RELN_INIT_CONSTANT, 0.0};

    pend_weights_add(w, reln_state(b->graph, "features.mean", (RelnDims){.c = n}, zero));
    pend_weights_add(w, reln_state(b->graph, "features.mix", (RelnDims){.r = n, .c = n}, zero));
}

RelnNode *pend_features_mixed(RelnGraph *g, RelnNode *f, PendWeights *w)
{
    f = reln_sub(g, f, pend_weights_take(w));
    return reln_mix(g, f, pend_weights_take(w));
}

/* Plans the outputs "f" and "0", "1", ...: the gradient of each. */
static RelnStatus plan_gradients(RelnGraph *g, const PendInvariant *s, RelnPlan **plan)
{
    RelnNode *z = reln_input(g, "z", RELN_SAMPLES, pend_state_dims(1), pend_state_rep(g), RELN_F64);
    RelnNode *f = pend_features(g, s, z), *d = NULL;

    reln_output(g, "f", f);
    for (int i = 0; i < pend_features_count(s); i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        if (reln_grad(g, reln_slice(g, f, RELN_C, i, 1), 1, &z, &d))
            reln_output(g, name, d);
    }
    return reln_plan_create(g, NULL, plan);
}

static void mean_and_gram(const RelnPlan *plan, int n_states, int n, double *mean, double *G)
{
    const double *f = reln_plan_output(plan, "f", NULL), *d[MAX_PAIRS];

    for (int i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        d[i] = reln_plan_output(plan, name, NULL);
        for (int t = 0; t < n_states; t++)
            mean[i] += f[t * n + i] / n_states;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int t = 0; t < n_states * PEND_STATE; t++)
                G[i * n + j] += d[i][t] * d[j][t] / n_states;
}

/* Subtracts from c its part along column k of mix, in the product G. */
static void take_out(int n, const double *G, const double *mix, int k, double *c)
{
    double dot = 0;

    for (int a = 0; a < n; a++)
        for (int b = 0; b <= k; b++)
            dot += c[a] * G[a * n + b] * mix[b * n + k];
    for (int a = 0; a <= k; a++)
        c[a] -= dot * mix[a * n + k];
}

/* Gram-Schmidt in the product G: column j of mix is e_j minus its parts along the columns before it
 * (subtracted twice, against rounding), of length 1; 0 if less than 1e-8 of its square is left. */
static void orthonormal_columns(int n, const double *G, double *mix)
{
    for (int j = 0; j < n; j++) {
        double c[MAX_PAIRS] = {0}, square = 0;

        c[j] = 1;
        for (int k = 0; k < 2 * j; k++)
            take_out(n, G, mix, k % j, c);
        for (int a = 0; a <= j; a++)
            for (int b = 0; b <= j; b++)
                square += c[a] * G[a * n + b] * c[b];
        for (int a = 0; a <= j && square > 1e-8 * G[j * n + j]; a++)
            mix[a * n + j] = c[a] / sqrt(square);
    }
}

static RelnStatus gradients_of(RelnCtx *ctx, const PendInvariant *s, int n_states,
                               const double *states, double *mean, double *G)
{
    RelnGroup *group = NULL;
    RelnStore *store = NULL;
    RelnGraph *g = NULL;
    RelnPlan *plan = NULL;
    RelnStatus status = pend_symmetry_group(ctx, PEND_NONE, &group);

    if (status == RELN_OK)
        status = reln_store_create(ctx, 0, &store);
    if (status == RELN_OK)
        status = reln_graph_create(group, store, RELN_F64, &g);
    if (status == RELN_OK)
        status = plan_gradients(g, s, &plan);
    if (status == RELN_OK)
        status = reln_plan_bind_sized(plan, "z", states, RELN_F64, (size_t)n_states * PEND_STATE);
    if (status == RELN_OK)
        status = reln_plan_run(plan, &(RelnRun){.n_samples = n_states});
    if (status == RELN_OK)
        mean_and_gram(plan, n_states, pend_features_count(s), mean, G);
    reln_plan_destroy(plan);
    reln_graph_destroy(g);
    reln_store_destroy(store);
    reln_group_destroy(group);
    return status;
}

RelnStatus pend_features_start(RelnStore *store, const PendInvariant *s, RelnCtx *ctx, int n,
                               const double *states)
{
    const int count = pend_features_count(s);
    double mean[MAX_PAIRS] = {0}, G[MAX_PAIRS * MAX_PAIRS] = {0}, mix[MAX_PAIRS * MAX_PAIRS] = {0};
    const RelnStatus status = gradients_of(ctx, s, n, states, mean, G);

    if (status != RELN_OK)
        return status;
    orthonormal_columns(count, G, mix);
    return pend_store_fill(store, "features.mean", (size_t)count, mean) &&
                   pend_store_fill(store, "features.mix", (size_t)(count * count), mix)
               ? RELN_OK
               : RELN_ERR_ARG;
}

/* ---- the network ----------------------------------------------------------------------------------------------- */

static void weights(const PendBuild *b, PendWeights *w)
{
    const PendInvariant *s = b->settings;
    int widths[MAX_LAYERS + 1];
    const PendDense d = stack(s, widths);

    if (s->share > 0)
        pend_features_weights(b, s, w);
    pend_dense_weights(b, &d, w);
    if (s->share > 0)
        pend_weights_add(w, pend_parameter(b, "linear", "W", (RelnDims){.r = widths[0], .c = 1},
                                           (RelnInit){RELN_INIT_CONSTANT, 0.0}));
}

static RelnNode *value(const PendBuild *b, RelnNode *z, PendWeights *w)
{
    const PendInvariant *s = b->settings;
    RelnGraph *g = b->graph;
    int widths[MAX_LAYERS + 1];
    const PendDense d = stack(s, widths);
    RelnNode *f = pend_features(g, s, z), *H;

    if (s->share <= 0)
        return pend_dense_value(g, &d, f, w);
    f = pend_features_mixed(g, f, w);
    H = reln_scale(g, pend_dense_value(g, &d, f, w), s->share);
    f = reln_scale(g, reln_mix(g, f, pend_weights_take(w)), PEND_LINEAR_GAIN);
    return reln_add(g, H, f);
}

static RelnStatus start(const PendBuild *b, RelnStore *store, int n, const double *states)
{
    const PendInvariant *s = b->settings;

    return s->share > 0 ? pend_features_start(store, s, reln_graph_ctx(b->graph), n, states)
                        : RELN_OK;
}

const PendArchitecture pend_invariant = {
    .typed = true, .weights = weights, .value = value, .start = start};

/* ---- the choices ----------------------------------------------------------------------------------------------- */

static const double seven[7][PEND_BASE] = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0},  {0, 0, 1, 0, 0},
                                           {0, 0, 0, 1, 0}, {-1, 1, 0, 0, 0}, {0, 0, 0, 0, 1},
                                           {0, 0, 1, 1, 0}};
static const int five_lengths[5] = {0, 1, 2, 3, 4};

const PendInvariant pend_pairings = {.n_vectors = 7, .vectors = seven, PEND_PAIRINGS};
const PendInvariant pend_lengths = {
    .n_vectors = 7, .vectors = seven, .n_lengths = 5, .lengths = five_lengths, PEND_LENGTHS};

/* 16 products of the four, their heights, the difference's square, its products with the four; five lengths */
static const double six[6][PEND_BASE] = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0},  {0, 0, 1, 0, 0},
                                         {0, 0, 0, 1, 0}, {1, -1, 0, 0, 0}, {0, 0, 0, 0, 1}};
static const PendPair twenty_five[25] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2},
                                         {1, 3}, {2, 0}, {2, 1}, {2, 2}, {2, 3}, {3, 0}, {3, 1},
                                         {3, 2}, {3, 3}, {0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 4},
                                         {4, 0}, {4, 1}, {4, 2}, {4, 3}};

const PendInvariant pend_scalars = {.n_vectors = 6,
                                    .vectors = six,
                                    .n_pairs = 25,
                                    .pairs = twenty_five,
                                    .n_lengths = 5,
                                    .lengths = five_lengths,
                                    PEND_SCALARS(RELN_ACT_RELU)};
