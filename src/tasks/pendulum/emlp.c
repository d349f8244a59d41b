/* emlp.c -- projected linear layers, the bilinear layer and gates of EMLP.
 *
 * Numbers of a feature: all scalars, then each rank's tensors with coordinates outside and tensors inside, as (K, C) is
 * stored; so a part of a flat row is a node (K = 3^rank, C = count) without moving anything.
 */
#include "tasks/pendulum/emlp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const PendEmlp pend_emlp_published = {128};

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

/* The largest r with (r + 1) 3^r <= width: 3^(r-j) tensors of each rank j <= r, and so on with the rest. */
PendTensors pend_tensors_uniform(int width)
{
    PendTensors t = {{0}};

    while (width > 0) {
        int r = 0;

        while (r + 1 < PEND_RANKS && (r + 2) * power3(r + 1) <= width)
            r++;
        for (int j = 0; j <= r; j++)
            t.n[j] += power3(r - j);
        width -= (r + 1) * power3(r);
    }
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

/* Rows made orthonormal in their order, twice to be so up to rounding. */
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

/* P = Q^T Q for rows of Q; what is rounding of 0 is 0, so that P stays sparse. */
static void project_on(int rows, int n, const double *q, double *p)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n && q[r * n + i] != 0.0; j++)
                p[i * n + j] += q[r * n + i] * q[r * n + j];
    for (int i = 0; i < n * n; i++)
        p[i] = fabs(p[i]) < 1e-14 ? 0.0 : p[i];
}

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

/* The group is orthogonal: tensors of rank a + b that it keeps are its equivariant maps from rank b to rank a. */
RelnStatus pend_projector(RelnCtx *ctx, PendSymmetry symmetry, int rank, double **out, int *count)
{
    const int n = power3(rank);
    RelnGroup *group = NULL;
    const RelnMaps *maps = NULL;
    RelnStatus status = pend_symmetry_group(ctx, symmetry, &group);
    double *q = NULL;

    *out = NULL;
    if (status == RELN_OK)
        status = solve(group, rank, &maps);
    if (status == RELN_OK) {
        *count = maps->count;
        *out = calloc((size_t)n * (size_t)n, sizeof **out);
        q = malloc((size_t)maps->count * (size_t)n * sizeof *q);
        status = *out && q ? RELN_OK : RELN_ERR_NOMEM;
    }
    if (status == RELN_OK) {
        memcpy(q, maps->values, (size_t)maps->count * (size_t)n * sizeof *q);
        orthonormalise(maps->count, n, q);
        project_on(maps->count, n, q, *out);
    }
    free(q);
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
 * first pair projected as one tensor, then turned into rows (3^b, n_b) and columns (3^a, n_a). */
static RelnNode *matrix_part(const PendBuild *build, const Projectors *p, const char *layer, int b,
                             int n_b, int a, int n_a)
{
    static const RelnAxis turned[RELN_AXES] = {RELN_Q, RELN_R, RELN_P, RELN_K, RELN_C};
    RelnGraph *g = build->graph;
    char part[16];
    RelnNode *w;

    snprintf(part, sizeof part, "W%d%d", a, b);
    w = pend_parameter(build, layer, part, (RelnDims){.k = power3(a + b), .c = n_b * n_a},
                       (RelnInit){RELN_INIT_CONSTANT, 0.0});
    w = project(g, p, a + b, w);
    w = reln_reshape(g, w, (RelnDims){power3(a), power3(b), n_b, 1, n_a});
    w = reln_permute(g, w, turned);
    return reln_reshape(g, w, (RelnDims){.r = power3(b) * n_b, .c = power3(a) * n_a});
}

/* (R = size of in, C = size of out) */
static RelnNode *matrix(const PendBuild *build, const Projectors *p, const char *layer,
                        const PendTensors *in, const PendTensors *out)
{
    RelnGraph *g = build->graph;
    RelnNode *rows[PEND_RANKS], *parts[PEND_RANKS];
    int n_rows = 0;

    for (int b = 0; b < PEND_RANKS; b++) {
        int n_parts = 0;

        for (int a = 0; a < PEND_RANKS && in->n[b] > 0; a++)
            if (out->n[a] > 0)
                parts[n_parts++] = matrix_part(build, p, layer, b, in->n[b], a, out->n[a]);
        if (n_parts > 0)
            rows[n_rows++] = reln_concat(g, n_parts, parts, RELN_C);
    }
    return reln_concat(g, n_rows, rows, RELN_R);
}

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
        parts[n_parts] = reln_reshape(g, parts[n_parts], (RelnDims){.c = dims.k * dims.c});
        n_parts++;
    }
    return reln_concat(g, n_parts, parts, RELN_C);
}

/* ---- the bilinear layer ------------------------------------------------------------------------------------------ */

/* B(x) is filled with a few tensors of x itself, chosen once and with replacement. */
static void choose(int layer, const PendTensors *t, int chosen[PEND_RANKS][27])
{
    RelnRng rng = reln_rng(/*seed=*/2021, (uint64_t)layer);

    for (int k = 1; k < PEND_RANKS; k++)
        for (int i = 0; i < pend_tensors_chosen(t, k); i++)
            chosen[k][i] = (int)reln_rng_below(&rng, (uint64_t)t->n[k]);
}

/* theta of the pairs (a, b), 0 < a + b <= 3: (R, C) as the sums below want it, the same numbers in each case. */
static void bilinear_weights(const PendBuild *build, const char *layer, const PendTensors *t,
                             PendWeights *w)
{
    for (int a = 0; a < PEND_RANKS; a++)
        for (int b = 0; a + b < PEND_RANKS; b++) {
            const int n = a + b > 0 ? pend_tensors_chosen(t, a + b) : 0;
            RelnDims dims = {.r = t->n[b], .c = n * t->n[a]};
            char part[16];

            if (n * t->n[a] * t->n[b] == 0)
                continue;
            if (a == 0)
                dims = (RelnDims){.r = t->n[b] * n, .c = t->n[a]};
            snprintf(part, sizeof part, "theta%d%d", a, b);
            pend_weights_add(
                w, pend_parameter(build, layer, part, dims, (RelnInit){RELN_INIT_NORMAL, 1.0}));
        }
}

/* A feature by its ranks: x[r] (K = 3^r, C = n[r]). */
typedef struct Parts {
    RelnNode *x[PEND_RANKS];
} Parts;

static Parts split(RelnGraph *g, const PendTensors *t, RelnNode *flat)
{
    Parts p = {{NULL}};

    for (int r = 0, first = 0; r < PEND_RANKS; r++) {
        const int size = power3(r) * t->n[r];

        if (size > 0)
            p.x[r] = reln_reshape(g, reln_slice(g, flat, RELN_C, first, size),
                                  (RelnDims){.k = power3(r), .c = t->n[r]});
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
            parts[n++] = reln_reshape(g, p->x[r], (RelnDims){.c = power3(r) * t->n[r]});
    return reln_concat(g, n, parts, RELN_C);
}

/* X (K = 3^k, C = n): the chosen tensors of rank k. */
static RelnNode *chosen_tensors(RelnGraph *g, const Parts *p, int k, int n, const int *chosen)
{
    RelnNode *each[27];

    for (int i = 0; i < n; i++)
        each[i] = reln_slice(g, p->x[k], RELN_C, chosen[i], 1);
    return reln_concat(g, n, each, RELN_C);
}

/* a = 0: y_o = sum_(i,n) theta[i,n,o] <X_n, x_i> */
static RelnNode *to_scalars(RelnGraph *g, RelnNode *x, RelnNode *X, RelnNode *theta)
{
    RelnNode *s = reln_channel_gram(g, x, X);

    return reln_mix(g, reln_reshape(g, s, (RelnDims){.c = reln_node_dims(theta).r}), theta);
}

/* b = 0: y_o = sum_n X_n (sum_i theta[i,n,o] x_i) */
static RelnNode *from_scalars(RelnGraph *g, RelnNode *x, RelnNode *X, RelnNode *theta, int n,
                              int n_a)
{
    RelnNode *u = reln_mix(g, x, theta);

    return reln_channel_mix(g, X, reln_reshape(g, u, (RelnDims){.r = n, .c = n_a}));
}

/* z[i] = sum_j X[i,j] u[j], with X a tensor of rank a + b read as a matrix */
static RelnNode *apply_tensor(RelnGraph *g, int a, int b, RelnNode *X, RelnNode *u)
{
    const int rows = power3(a), columns = power3(b);
    RelnEntry entries[27];
    const RelnTensor3 T = {rows * columns, columns, rows, rows * columns, entries};

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            entries[i * columns + j] = (RelnEntry){i * columns + j, j, i, 1.0};
    return reln_contract(g, &T, X, u, reln_rep_trivial(reln_graph_group(g), rows));
}

/* y_o = sum_n X_n (sum_i theta[i,n,o] x_i), X_n as matrices */
static RelnNode *between(RelnGraph *g, int a, int b, RelnNode *x, RelnNode *X, RelnNode *theta,
                         int n, int n_a)
{
    RelnNode *u = reln_mix(g, x, theta), *sum = NULL;

    for (int i = 0; i < n; i++) {
        RelnNode *y = apply_tensor(g, a, b, reln_slice(g, X, RELN_C, i, 1),
                                   reln_slice(g, u, RELN_C, i * n_a, n_a));

        sum = sum ? reln_add(g, sum, y) : y;
    }
    return sum;
}

/* x + B(x) x / 10 */
static Parts bilinear(const PendBuild *build, int layer, const PendTensors *t, Parts p,
                      PendWeights *w)
{
    RelnGraph *g = build->graph;
    int chosen[PEND_RANKS][27];
    RelnNode *X[PEND_RANKS] = {NULL};
    Parts out = p;

    choose(layer, t, chosen);
    for (int k = 1; k < PEND_RANKS; k++)
        if (t->n[k] > 0)
            X[k] = chosen_tensors(g, &p, k, pend_tensors_chosen(t, k), chosen[k]);
    for (int a = 0; a < PEND_RANKS; a++)
        for (int b = 0; a + b < PEND_RANKS; b++) {
            const int k = a + b, n = k > 0 ? pend_tensors_chosen(t, k) : 0;
            RelnNode *theta, *y;

            if (n * t->n[a] * t->n[b] == 0)
                continue;
            theta = pend_weights_take(w);
            if (a == 0)
                y = to_scalars(g, p.x[b], X[k], theta);
            else if (b == 0)
                y = from_scalars(g, p.x[b], X[k], theta, n, t->n[a]);
            else
                y = between(g, a, b, p.x[b], X[k], theta, n, t->n[a]);
            out.x[a] = reln_add(g, out.x[a], reln_scale(g, y, 0.1));
        }
    return out;
}

/* ---- gates and blocks -------------------------------------------------------------------------------------------- */

/* Scalars by the sigmoid of themselves, every other tensor by that of its own gate. */
static Parts gate(RelnGraph *g, const PendTensors *t, Parts p)
{
    RelnNode *s = reln_sigmoid(g, p.x[0]);
    Parts out = {{NULL}};

    out.x[0] = reln_mul(g, reln_slice(g, p.x[0], RELN_C, 0, t->n[0]),
                        reln_slice(g, s, RELN_C, 0, t->n[0]));
    for (int r = 1, first = t->n[0]; r < PEND_RANKS; r++) {
        if (t->n[r] > 0)
            out.x[r] = reln_mul(g, p.x[r], reln_slice(g, s, RELN_C, first, t->n[r]));
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
    RelnNode *W, *x = reln_reshape(g, reln_swap_axes(g, z, RELN_R, RELN_C), (RelnDims){.c = 12});

    for (int i = 0; i < PEND_EMLP_BLOCKS; i++) {
        Parts p;

        W = pend_weights_take(w);
        x = reln_add(g, reln_mix(g, x, W), pend_weights_take(w));
        p = bilinear(b, i, &gated, split(g, &gated, x), w);
        p = gate(g, &hidden, p);
        x = join(g, &hidden, &p);
    }
    W = pend_weights_take(w);
    return reln_add(g, reln_mix(g, x, W), pend_weights_take(w));
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
    RelnGraph *g = b->graph;
    RelnNode *v = reln_reshape(g, apply(b, z, w), (RelnDims){.k = 3, .c = PEND_VECTORS});

    return reln_swap_axes(g, v, RELN_R, RELN_C);
}

/* ---- starting values --------------------------------------------------------------------------------------------- */

/* A matrix (rows = outputs, columns = inputs) into the parameters of its parts, in the layout of matrix_part(). */
static bool store_part(RelnStore *store, const char *layer, int a, int n_a, int b, int n_b,
                       const double *m, int columns)
{
    const int count = power3(a + b) * n_a * n_b;
    double *w = malloc((size_t)count * sizeof *w);
    char name[32];
    bool good;

    for (int i = 0; i < count && w; i++) {
        const int o = i % n_a, in = i / n_a % n_b, k = i / (n_a * n_b);

        w[i] = m[(k / power3(b) * n_a + o) * columns + k % power3(b) * n_b + in];
    }
    snprintf(name, sizeof name, "%s.W%d%d", layer, a, b);
    good = w && pend_store_fill(store, name, (size_t)count, w);
    free(w);
    return good;
}

static bool store_matrix(RelnStore *store, const char *layer, const PendTensors *in,
                         const PendTensors *out, const double *m)
{
    const int columns = pend_tensors_size(in);

    for (int a = 0, row = 0; a < PEND_RANKS; row += power3(a) * out->n[a], a++)
        for (int b = 0, column = 0; b < PEND_RANKS; column += power3(b) * in->n[b], b++)
            if (in->n[b] * out->n[a] > 0 && !store_part(store, layer, a, out->n[a], b, in->n[b],
                                                        m + row * columns + column, columns))
                return false;
    return true;
}

/* Rows (or columns, where there are fewer) orthonormal: normals made so. */
static bool orthogonal(RelnRng *rng, int rows, int columns, double *m)
{
    const int few = rows < columns ? rows : columns, many = rows < columns ? columns : rows;
    double *q = calloc((size_t)few * (size_t)many, sizeof *q);

    if (!q)
        return false;
    for (int i = 0; i < few * many; i++)
        q[i] = reln_rng_normal(rng);
    orthonormalise(few, many, q);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            m[i * columns + j] = rows < columns ? q[i * many + j] : q[j * many + i];
    free(q);
    return true;
}

/* Biases are uniform in [0, 1) / sqrt(size of out). */
static bool store_bias(RelnStore *store, RelnRng *rng, const char *layer, const PendTensors *out)
{
    for (int a = 0; a < PEND_RANKS; a++) {
        const int count = power3(a) * out->n[a];
        double b[256];
        char name[32];

        for (int i = 0; i < count && count <= 256; i++)
            b[i] = reln_rng_uniform(rng) / sqrt(pend_tensors_size(out));
        snprintf(name, sizeof name, "%s.b%d", layer, a);
        if (count > 0 && (count > 256 || !pend_store_fill(store, name, (size_t)count, b)))
            return false;
    }
    return true;
}

static bool start_layer(RelnStore *store, RelnRng *rng, const char *layer, const PendTensors *in,
                        const PendTensors *out)
{
    const int rows = pend_tensors_size(out), columns = pend_tensors_size(in);
    double *m = malloc((size_t)rows * (size_t)columns * sizeof *m);
    const bool good = m && orthogonal(rng, rows, columns, m) &&
                      store_matrix(store, layer, in, out, m) && store_bias(store, rng, layer, out);

    free(m);
    return good;
}

static RelnStatus start(const PendBuild *b, RelnStore *store, uint64_t seed,
                        const PendTensors *output)
{
    const PendTensors hidden = pend_tensors_uniform(((const PendEmlp *)b->settings)->width);
    const PendTensors gated = pend_tensors_gated(&hidden);
    RelnRng rng = reln_rng(seed, /*stream=*/1);

    return start_layer(store, &rng, "emlp.0", &state_tensors, &gated) &&
                   start_layer(store, &rng, "emlp.1", &hidden, &gated) &&
                   start_layer(store, &rng, "emlp.2", &hidden, &gated) &&
                   start_layer(store, &rng, "emlp.out", &hidden, output)
               ? RELN_OK
               : RELN_ERR_NOMEM;
}

static RelnStatus start_energy(const PendBuild *b, RelnStore *store, uint64_t seed, int n,
                               const double *states)
{
    (void)n, (void)states;
    return start(b, store, seed, &one_scalar);
}

static RelnStatus start_velocity(const PendBuild *b, RelnStore *store, uint64_t seed, int n,
                                 const double *states)
{
    (void)n, (void)states;
    return start(b, store, seed, &state_tensors);
}

const PendArchitecture pend_emlp = {
    .weights = energy_weights, .value = apply, .start = start_energy};
const PendArchitecture pend_emlp_ode = {
    .velocity = true, .weights = velocity_weights, .value = velocity, .start = start_velocity};
