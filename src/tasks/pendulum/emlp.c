/* emlp.c -- projected linear layers, the bilinear layer and gates of EMLP.
 *
 * Most of its maps act on a few tensors of each state, too few to fill a vector register. So several states are
 * packed side by side, one in each channel, and the numbers of a feature lie on the axis R: all scalars, then each
 * rank's tensors, each with its coordinates. A part of them is a node (R = tensors, K = 3^rank) that shares this memory.
 *
 * reln_nn_emlp() is the same network for any group, with typed reps. This variant exists because its table is about the
 * published weights and their cost: free matrices, projected once a step (55,569 numbers that Adam moves, more than
 * there are equivariant maps), which start orthogonal; a list of weights as arguments of the velocity function;
 * packed states.
 */
#include "tasks/pendulum/pendulum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

const PendEmlp pend_emlp_published = {128};

/* MOST: coordinates of the highest rank, and so the largest number of tensors that pend_tensors_chosen()
 * allows. */
enum { ABREAST = 64, MOST = 27 };

static int power3(int k)
{
    int p = 1;

    while (k-- > 0)
        p *= 3;
    return p;
}

/* ---- reps -------------------------------------------------------------------------------------------------------- */

int pend_tensors_size(const PendTensors *t)
{
    int size = 0;

    for (int r = 0; r < PEND_RANKS; r++)
        size += t->n[r] * power3(r);
    return size;
}

PendTensors pend_tensors_uniform(int width)
{
    PendTensors t;

    reln_emlp_uniform(3, width, PEND_RANKS, t.n);
    return t;
}

PendTensors pend_tensors_gated(const PendTensors *t)
{
    PendTensors gated = *t;

    gated.n[0] += t->n[1] + t->n[2] + t->n[3];
    return gated;
}

int pend_tensors_chosen(const PendTensors *t, int rank)
{
    return t->n[rank] < power3(rank) ? t->n[rank] : power3(rank);
}

/* ---- projectors -------------------------------------------------------------------------------------------------- */

static RelnStatus solve(RelnGroup *group, int rank, const RelnMaps **maps)
{
    const RelnRep *v = reln_rep_vector(group), *in = reln_rep_trivial(group, 1), *out = in;

    for (int i = 0; i < rank / 2; i++)
        in = i == 0 ? v : reln_rep_product(in, v);
    for (int i = 0; i < rank - rank / 2; i++)
        out = i == 0 ? v : reln_rep_product(out, v);
    if (!in || !out)
        return RELN_ERR_NOMEM;
    return reln_maps_linear(in, out, maps);
}

/* The group is orthogonal: its invariant tensors of rank a + b are its equivariant maps from rank b to rank
 * a. */
RelnStatus pend_projector(RelnCtx *ctx, PendSymmetry symmetry, int rank, double **out, int *count)
{
    const int n = power3(rank);
    RelnGroup *group = NULL;
    const RelnMaps *maps = NULL;
    RelnStatus status = pend_symmetry_group(ctx, symmetry, &group);

    *out = NULL;
    if (status == RELN_OK)
        status = solve(group, rank, &maps);
    if (status == RELN_OK) {
        *count = maps->count;
        *out = calloc((size_t)n * (size_t)n, sizeof **out);
        status = *out ? reln_maps_projector(reln_rep_vector(group), maps, *out) : RELN_ERR_NOMEM;
    }
    reln_group_destroy(group);
    return status;
}

/* ---- projected weights ------------------------------------------------------------------------------------------- */

typedef struct Projectors {
    double *p[2 * PEND_RANKS - 1];
} Projectors;

static bool open_projectors(const PendBuild *b, Projectors *p)
{
    RelnStatus status = RELN_OK;
    int count;

    memset(p, 0, sizeof *p);
    for (int k = 0; k < 2 * PEND_RANKS - 1 && status == RELN_OK; k++)
        status = pend_projector(reln_graph_ctx(b->graph), b->symmetry, k, &p->p[k], &count);
    return status == RELN_OK;
}

static void close_projectors(Projectors *p)
{
    for (int k = 0; k < 2 * PEND_RANKS - 1; k++)
        free(p->p[k]);
}

/* w (K = 3^k, C): every column a tensor, projected. */
static RelnNode *project(RelnGraph *g, const Projectors *p, int rank, RelnNode *w)
{
    return w ? reln_linear_map(g, w, p->p[rank], reln_node_rep(w)) : NULL;
}

/* The part of a matrix that leads from tensors of rank b to those of rank a: free weights (3^a, 3^b; n_b, n_a), the
 * first pair projected as one tensor, then turned into rows (n_a, 3^a) and columns (n_b, 3^b). */
static RelnNode *matrix_part(const PendBuild *build, const Projectors *p, const char *layer, int b,
                             int n_b, int a, int n_a)
{
    static const RelnAxis turned[RELN_AXES] = {RELN_C, RELN_P, RELN_R, RELN_K, RELN_Q};
    RelnGraph *g = build->graph;
    char part[16];
    RelnNode *w;

    snprintf(part, sizeof part, "W%d%d", a, b);
    w = pend_parameter(build, layer, part, (RelnDims){.k = power3(a + b), .c = n_b * n_a},
                       (RelnInit){RELN_INIT_CONSTANT, 0.0});
    w = project(g, p, a + b, w);
    w = reln_reshape(g, w, (RelnDims){power3(a), power3(b), n_b, 1, n_a});
    w = reln_permute(g, w, turned);
    return reln_reshape(g, w, (RelnDims){.r = n_a * power3(a), .c = n_b * power3(b)});
}

/* (R = size of out, C = size of in) */
static RelnNode *matrix(const PendBuild *build, const Projectors *p, const char *layer,
                        const PendTensors *in, const PendTensors *out)
{
    RelnGraph *g = build->graph;
    RelnNode *rows[PEND_RANKS], *parts[PEND_RANKS];
    int n_rows = 0;

    for (int a = 0; a < PEND_RANKS; a++) {
        int n_parts = 0;

        for (int b = 0; b < PEND_RANKS && out->n[a] > 0; b++)
            if (in->n[b] > 0)
                parts[n_parts++] = matrix_part(build, p, layer, b, in->n[b], a, out->n[a]);
        if (n_parts > 0)
            rows[n_rows++] = reln_concat(g, n_parts, parts, RELN_C);
    }
    return reln_concat(g, n_rows, rows, RELN_R);
}

/* (R = size of out) */
static RelnNode *bias(const PendBuild *build, const Projectors *p, const char *layer,
                      const PendTensors *out)
{
    RelnGraph *g = build->graph;
    RelnNode *parts[PEND_RANKS];
    int n_parts = 0;

    for (int a = 0; a < PEND_RANKS; a++) {
        const RelnDims dims = {.k = power3(a), .c = out->n[a]};
        char part[16];

        if (out->n[a] == 0)
            continue;
        snprintf(part, sizeof part, "b%d", a);
        parts[n_parts] = project(
            g, p, a, pend_parameter(build, layer, part, dims, (RelnInit){RELN_INIT_CONSTANT, 0.0}));
        parts[n_parts] = reln_reshape(g, parts[n_parts], (RelnDims){.r = dims.k, .c = dims.c});
        parts[n_parts] = reln_reshape(g, reln_swap_axes(g, parts[n_parts], RELN_R, RELN_C),
                                      (RelnDims){.r = dims.k * dims.c});
        n_parts++;
    }
    return reln_concat(g, n_parts, parts, RELN_R);
}

/* ---- the bilinear layer ------------------------------------------------------------------------------------------ */

/* B(x) is filled with a few tensors of x itself, chosen once and with replacement. */
static void choose(const PendBuild *b, int layer, const PendTensors *t,
                   int chosen[PEND_RANKS][MOST])
{
    RelnRng rng = reln_rng(b->seed, /*stream=*/2 + (uint64_t)layer);

    for (int k = 1; k < PEND_RANKS; k++)
        for (int i = 0; i < pend_tensors_chosen(t, k); i++)
            chosen[k][i] = (int)reln_rng_below(&rng, (uint64_t)t->n[k]);
}

/* Tensors of B(x) for the pairs of ranks (a, b), of which n_a are made from n_b; 0: there is no such pair. */
static int pair_tensors(const PendTensors *t, int a, int b)
{
    const int k = a + b;

    return k > 0 && k < PEND_RANKS && t->n[a] * t->n[b] > 0 ? pend_tensors_chosen(t, k) : 0;
}

/* theta / 10 of a pair: rows (o, n), columns i; from tensors to scalars rows o, columns (i, n). */
static RelnNode *theta_of(const PendBuild *build, const char *layer, const PendTensors *t, int a,
                          int b)
{
    const int n = pair_tensors(t, a, b);
    const RelnDims dims = a == 0 ? (RelnDims){.r = t->n[a], .c = t->n[b] * n}
                                 : (RelnDims){.r = t->n[a] * n, .c = t->n[b]};
    char part[16];

    snprintf(part, sizeof part, "theta%d%d", a, b);
    return reln_scale(build->graph,
                      pend_parameter(build, layer, part, dims, (RelnInit){RELN_INIT_NORMAL, 1.0}),
                      0.1);
}

/* The weights of the bilinear layer: first those from tensors to scalars, side by side as one matrix, then those from
 * scalars to tensors, then those between tensors. */
static void bilinear_weights(const PendBuild *build, const char *layer, const PendTensors *t,
                             PendWeights *w)
{
    RelnNode *to[PEND_RANKS], *from[PEND_RANKS];
    int n = 0;

    for (int k = 1; k < PEND_RANKS; k++)
        if (pair_tensors(t, 0, k) > 0) {
            to[n] = theta_of(build, layer, t, 0, k);
            from[n++] = theta_of(build, layer, t, k, 0);
        }
    pend_weights_add(w, reln_concat(build->graph, n, to, RELN_C));
    pend_weights_add(w, reln_concat(build->graph, n, from, RELN_R));
    for (int a = 1; a < PEND_RANKS; a++)
        for (int b = 1; b < PEND_RANKS; b++)
            if (pair_tensors(t, a, b) > 0)
                pend_weights_add(w, theta_of(build, layer, t, a, b));
}

/* A Parts is a feature by its ranks: x[r] (R = n[r], K = 3^r). */
typedef struct Parts {
    RelnNode *x[PEND_RANKS];
} Parts;

static RelnNode *shaped(RelnGraph *g, RelnNode *x, int r, int k)
{
    return x ? reln_reshape(g, x, (RelnDims){.r = r, .k = k, .c = reln_node_dims(x).c}) : NULL;
}

static Parts split(RelnGraph *g, const PendTensors *t, RelnNode *flat)
{
    Parts p = {{NULL}};

    for (int r = 0, first = 0; r < PEND_RANKS; r++) {
        const int size = power3(r) * t->n[r];

        if (size > 0)
            p.x[r] = shaped(g, reln_slice(g, flat, RELN_R, first, size), t->n[r], power3(r));
        first += size;
    }
    return p;
}

static RelnNode *join(RelnGraph *g, const PendTensors *t, const Parts *p)
{
    RelnNode *parts[PEND_RANKS];
    int n = 0;

    for (int r = 0; r < PEND_RANKS; r++)
        if (t->n[r] > 0)
            parts[n++] = shaped(g, p->x[r], power3(r) * t->n[r], 1);
    return reln_concat(g, n, parts, RELN_R);
}

/* X (K = n 3^k): the chosen tensors of rank k. */
static RelnNode *chosen_tensors(RelnGraph *g, const Parts *p, int k, int n, const int *chosen)
{
    RelnNode *each[MOST];

    for (int i = 0; i < n; i++)
        each[i] = reln_slice(g, p->x[k], RELN_R, chosen[i], 1);
    return shaped(g, reln_concat(g, n, each, RELN_R), 1, n * power3(k));
}

/* s[i, n] = <X_n, x_i> for tensors of rank k: (R = n_i, K = n) */
static RelnNode *products(RelnGraph *g, int k, int n, RelnNode *X, RelnNode *x)
{
    const int size = power3(k);
    RelnEntry entries[MOST * MOST];
    const RelnTensor3 T = {n * size, size, n, n * size, entries};

    for (int i = 0; i < n * size; i++)
        entries[i] = (RelnEntry){i, i % size, i / size, 1.0};
    return reln_contract(g, &T, X, x, reln_rep_trivial(reln_graph_group(g), n));
}

/* y[i] = sum_(n,j) X[n, i, j] u[n, j], with each X_n a tensor of rank a + b reshaped to a matrix */
static RelnNode *apply_tensors(RelnGraph *g, int a, int b, int n, RelnNode *X, RelnNode *u)
{
    const int rows = power3(a), columns = power3(b), count = n * rows * columns;
    RelnEntry entries[MOST * MOST];
    const RelnTensor3 T = {count, n * columns, rows, count, entries};

    for (int e = 0; e < count; e++) {
        const int i = e / (n * columns), m = e / columns % n, j = e % columns;

        entries[e] = (RelnEntry){(m * rows + i) * columns + j, m * columns + j, i, 1.0};
    }
    return reln_contract(g, &T, X, u, reln_rep_trivial(reln_graph_group(g), rows));
}

/* y_o = sum_(b,i,n) theta[o, i, n] <X_n, x_i> */
static RelnNode *to_scalars(RelnGraph *g, const PendTensors *t, const Parts *p, RelnNode **X,
                            PendWeights *w)
{
    RelnNode *parts[PEND_RANKS];
    int count = 0;

    for (int k = 1; k < PEND_RANKS; k++) {
        const int n = pair_tensors(t, 0, k);

        if (n > 0)
            parts[count++] = shaped(g, products(g, k, n, X[k], p->x[k]), t->n[k] * n, 1);
    }
    return reln_weigh(g, pend_weights_take(w), reln_concat(g, count, parts, RELN_R));
}

/* y_o = sum_n X_n (sum_i theta[o, n, i] x_i) for scalars x, and tensors y of each rank */
static void from_scalars(RelnGraph *g, const PendTensors *t, RelnNode *x, RelnNode **X,
                         PendWeights *w, Parts *out)
{
    RelnNode *u = reln_weigh(g, pend_weights_take(w), x);

    for (int k = 1, first = 0; k < PEND_RANKS; k++) {
        const int n = pair_tensors(t, k, 0), rows = t->n[k] * n;

        if (n > 0)
            out->x[k] = reln_add(
                g, out->x[k],
                apply_tensors(g, k, 0, n, X[k],
                              shaped(g, reln_slice(g, u, RELN_R, first, rows), t->n[k], n)));
        first += rows;
    }
}

/* y_o = sum_n X_n (sum_i theta[o, n, i] x_i), X_n as matrices */
static RelnNode *between(RelnGraph *g, const PendTensors *t, int a, int b, RelnNode *x, RelnNode *X,
                         PendWeights *w)
{
    const int n = pair_tensors(t, a, b);
    RelnNode *u = reln_weigh(g, pend_weights_take(w), x);

    return apply_tensors(g, a, b, n, X, shaped(g, u, t->n[a], n * power3(b)));
}

/* x + B(x) x / 10 */
static Parts bilinear(const PendBuild *build, int layer, const PendTensors *t, Parts p,
                      PendWeights *w)
{
    RelnGraph *g = build->graph;
    int chosen[PEND_RANKS][MOST];
    RelnNode *X[PEND_RANKS] = {NULL};
    Parts out = p;

    choose(build, layer, t, chosen);
    for (int k = 1; k < PEND_RANKS; k++)
        if (t->n[k] > 0)
            X[k] = chosen_tensors(g, &p, k, pend_tensors_chosen(t, k), chosen[k]);
    out.x[0] = reln_add(g, out.x[0], to_scalars(g, t, &p, X, w));
    from_scalars(g, t, p.x[0], X, w, &out);
    for (int a = 1; a < PEND_RANKS; a++)
        for (int b = 1; b < PEND_RANKS; b++)
            if (pair_tensors(t, a, b) > 0)
                out.x[a] = reln_add(g, out.x[a], between(g, t, a, b, p.x[b], X[a + b], w));
    return out;
}

/* ---- gates and blocks -------------------------------------------------------------------------------------------- */

/* Multiplies each scalar by its own sigmoid, and each other tensor by the sigmoid of its gate. */
static Parts gate(RelnGraph *g, const PendTensors *t, Parts p)
{
    RelnNode *s = reln_sigmoid(g, p.x[0]);
    Parts out = {{NULL}};

    out.x[0] = reln_mul(g, reln_slice(g, p.x[0], RELN_R, 0, t->n[0]),
                        reln_slice(g, s, RELN_R, 0, t->n[0]));
    for (int r = 1, first = t->n[0]; r < PEND_RANKS; r++) {
        if (t->n[r] > 0)
            out.x[r] = reln_mul(g, p.x[r], reln_slice(g, s, RELN_R, first, t->n[r]));
        first += t->n[r];
    }
    return out;
}

static const PendTensors state_tensors = {{0, PEND_VECTORS, 0, 0}}, one_scalar = {{1, 0, 0, 0}};

static void list_weights(const PendBuild *b, const PendTensors *output, PendWeights *w)
{
    const PendTensors hidden = pend_tensors_uniform(((const PendEmlp *)b->settings)->width);
    const PendTensors gated = pend_tensors_gated(&hidden);
    PendTensors in = state_tensors;
    Projectors p;
    const bool good = open_projectors(b, &p);
    char layer[16];

    for (int i = 0; i < PEND_EMLP_BLOCKS && good; i++) {
        snprintf(layer, sizeof layer, "emlp.%d", i);
        pend_weights_add(w, matrix(b, &p, layer, &in, &gated));
        pend_weights_add(w, bias(b, &p, layer, &gated));
        bilinear_weights(b, layer, &gated, w);
        in = hidden;
    }
    if (good) {
        pend_weights_add(w, matrix(b, &p, "emlp.out", &hidden, output));
        pend_weights_add(w, bias(b, &p, "emlp.out", output));
    } else
        pend_weights_add(w, NULL);
    close_projectors(&p);
}

static RelnNode *apply(const PendBuild *b, RelnNode *z, PendWeights *w)
{
    const PendTensors hidden = pend_tensors_uniform(((const PendEmlp *)b->settings)->width);
    const PendTensors gated = pend_tensors_gated(&hidden);
    RelnGraph *g = b->graph;
    RelnNode *W, *x = shaped(g, z, 3 * PEND_VECTORS, 1);

    for (int i = 0; i < PEND_EMLP_BLOCKS; i++) {
        Parts p;

        W = pend_weights_take(w);
        x = reln_add(g, reln_weigh(g, W, x), pend_weights_take(w));
        p = bilinear(b, i, &gated, split(g, &gated, x), w);
        p = gate(g, &hidden, p);
        x = join(g, &hidden, &p);
    }
    W = pend_weights_take(w);
    return reln_add(g, reln_weigh(g, W, x), pend_weights_take(w));
}

static void energy_weights(const PendBuild *b, PendWeights *w)
{
    list_weights(b, &one_scalar, w);
}

static void velocity_weights(const PendBuild *b, PendWeights *w)
{
    list_weights(b, &state_tensors, w);
}

static RelnNode *velocity(const PendBuild *b, RelnNode *z, PendWeights *w)
{
    return shaped(b->graph, apply(b, z, w), PEND_VECTORS, 3);
}

/* ---- starting values --------------------------------------------------------------------------------------------- */

/* A Start holds the random numbers and the store for the starting values. */
typedef struct Start {
    RelnCtx *ctx;
    RelnStore *store;
    RelnRng rng;
} Start;

/* Stores a matrix (rows = outputs, columns = inputs) in the parameters of its parts, in the layout of
 * matrix_part(). */
static bool store_part(const Start *s, const char *layer, int a, int n_a, int b, int n_b,
                       const double *m, int columns)
{
    const int count = power3(a + b) * n_a * n_b;
    double *w = reln_alloc(s->ctx, (size_t)count, sizeof *w);
    char name[32];
    bool good;

    for (int i = 0; i < count && w; i++) {
        const int o = i % n_a, in = i / n_a % n_b, k = i / (n_a * n_b);

        w[i] = m[(o * power3(a) + k / power3(b)) * columns + in * power3(b) + k % power3(b)];
    }
    snprintf(name, sizeof name, "%s.W%d%d", layer, a, b);
    good = w && pend_store_fill(s->store, name, (size_t)count, w);
    reln_free(s->ctx, w);
    return good;
}

static bool store_matrix(const Start *s, const char *layer, const PendTensors *in,
                         const PendTensors *out, const double *m)
{
    const int columns = pend_tensors_size(in);

    for (int a = 0, row = 0; a < PEND_RANKS; row += power3(a) * out->n[a], a++)
        for (int b = 0, column = 0; b < PEND_RANKS; column += power3(b) * in->n[b], b++)
            if (in->n[b] * out->n[a] > 0 && !store_part(s, layer, a, out->n[a], b, in->n[b],
                                                        m + row * columns + column, columns))
                return false;
    return true;
}

/* Makes the rows orthonormal in their order, twice to reach rounding accuracy. */
static void orthonormalise(int rows, int columns, double *x)
{
    for (int i = 0; i < 2 * rows; i++) {
        double *a = x + (ptrdiff_t)(i / 2) * columns, norm = 0;

        for (int j = 0; j < i / 2; j++) {
            const double *b = x + (ptrdiff_t)j * columns;
            double dot = 0;

            for (int k = 0; k < columns; k++)
                dot += a[k] * b[k];
            for (int k = 0; k < columns; k++)
                a[k] -= dot * b[k];
        }
        for (int k = 0; k < columns; k++)
            norm += a[k] * a[k];
        for (int k = 0; k < columns; k++)
            a[k] /= sqrt(norm);
    }
}

/* Fills the matrix with normals, and makes its rows (or columns, if there are fewer) orthonormal. */
static bool orthogonal(Start *s, int rows, int columns, double *m)
{
    const int few = rows < columns ? rows : columns, many = rows < columns ? columns : rows;
    double *q = reln_alloc(s->ctx, (size_t)few * (size_t)many, sizeof *q);

    if (!q)
        return false;
    for (int i = 0; i < few * many; i++)
        q[i] = reln_rng_normal(&s->rng);
    orthonormalise(few, many, q);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            m[i * columns + j] = rows < columns ? q[i * many + j] : q[j * many + i];
    reln_free(s->ctx, q);
    return true;
}

/* Biases are uniform in [0, 1) / sqrt(size of out). */
static bool store_bias(Start *s, const char *layer, const PendTensors *out)
{
    bool good = true;

    for (int a = 0; a < PEND_RANKS && good; a++) {
        const int count = power3(a) * out->n[a];
        double *b = reln_alloc(s->ctx, (size_t)count, sizeof *b);
        char name[32];

        for (int i = 0; i < count && b; i++)
            b[i] = reln_rng_uniform(&s->rng) / sqrt(pend_tensors_size(out));
        snprintf(name, sizeof name, "%s.b%d", layer, a);
        good = b && (count == 0 || pend_store_fill(s->store, name, (size_t)count, b));
        reln_free(s->ctx, b);
    }
    return good;
}

static bool start_layer(Start *s, const char *layer, const PendTensors *in, const PendTensors *out)
{
    const int rows = pend_tensors_size(out), columns = pend_tensors_size(in);
    double *m = reln_alloc(s->ctx, (size_t)rows * (size_t)columns, sizeof *m);
    const bool good = m && orthogonal(s, rows, columns, m) && store_matrix(s, layer, in, out, m) &&
                      store_bias(s, layer, out);

    reln_free(s->ctx, m);
    return good;
}

static RelnStatus start(const PendBuild *b, RelnStore *store, const PendTensors *output)
{
    const PendTensors hidden = pend_tensors_uniform(((const PendEmlp *)b->settings)->width);
    const PendTensors gated = pend_tensors_gated(&hidden);
    Start s = {reln_graph_ctx(b->graph), store, reln_rng(b->seed, /*stream=*/1)};

    return start_layer(&s, "emlp.0", &state_tensors, &gated) &&
                   start_layer(&s, "emlp.1", &hidden, &gated) &&
                   start_layer(&s, "emlp.2", &hidden, &gated) &&
                   start_layer(&s, "emlp.out", &hidden, output)
               ? RELN_OK
               : RELN_ERR_NOMEM;
}

static RelnStatus start_energy(const PendBuild *b, RelnStore *store, int n, const double *states)
{
    (void)n, (void)states;
    return start(b, store, &one_scalar);
}

static RelnStatus start_velocity(const PendBuild *b, RelnStore *store, int n, const double *states)
{
    (void)n, (void)states;
    return start(b, store, &state_tensors);
}

const PendArchitecture pend_emlp = {
    .abreast = ABREAST, .weights = energy_weights, .value = apply, .start = start_energy};
const PendArchitecture pend_emlp_ode = {.velocity = true,
                                        .abreast = ABREAST,
                                        .weights = velocity_weights,
                                        .value = velocity,
                                        .start = start_velocity};
