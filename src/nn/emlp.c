/* emlp.c -- EMLP: every equivariant linear map between lists of tensors, the bilinear layer, gates.
 *
 * A feature is a list of kinds; a kind is the tensors of one rank over one rep, a node (..., K = d^rank, C = tensors).
 * Maps are typed by the reps of their ends, so the graph proves each of them when it is built.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nn/nn.h"
#include "reln/random.h"
#include "tensor/linalg.h"

enum { RANKS_PUBLISHED = 4 };

typedef struct Kind {
    const RelnRep *base, *rep; /* rep is the rank-th power of base; rank 0: invariants */
    int rank, channels;
    RelnNode *x; /* NULL: no map leads here, and the tensors are 0 */
} Kind;

/* A Feature is a list of kinds; kinds[0] are the scalars, which may have no channels. */
typedef struct Feature {
    int n;
    Kind *kinds;
} Feature;

/* ---- distribution of channels ------------------------------------------------------------------------------------ */

void reln_emlp_uniform(int dim, int width, int ranks, int *channels)
{
    RELN_NEED(channels && dim > 0, );

    for (int r = 0; r < ranks; r++)
        channels[r] = 0;
    while (width > 0 && ranks > 0) {
        int64_t power = 1; /* dim^r, r the largest with (r + 1) dim^r <= width */
        int r = 0;

        while (r + 1 < ranks && (r + 2) * power * dim <= width) {
            power *= dim;
            r++;
        }
        width -= (int)((r + 1) * power);
        for (int j = 0; j <= r; j++, power /= dim)
            channels[j] += (int)power;
    }
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

/* Copies the failure of the context to the graph, with its message. */
static bool fail_as(const RelnNet *net, const char *name, RelnStatus status)
{
    return reln_graph_fail(net->graph, status, "%s: %s", name,
                           reln_ctx_error(reln_graph_ctx(net->graph)));
}

static bool kind_init(const RelnNet *net, const char *name, const RelnTensors *t, Kind *kind)
{
    const bool scalar =
        t->rank == 0 || (t->rep && reln_rep_dim(t->rep) == 1 && reln_rep_is_trivial(t->rep));

    if (t->rank < 0 || t->channels < 0 || (!scalar && !t->rep))
        return reln_graph_fail(net->graph, RELN_ERR_ARG,
                               "%s: %d tensors of rank %d over %s; wanted 0 or more of both and a "
                               "rep for ranks above 0",
                               name, t->channels, t->rank,
                               t->rep ? reln_rep_name(t->rep) : "no rep");
    *kind =
        (Kind){.base = t->rep, .rank = scalar ? 0 : t->rank, .channels = t->channels, .rep = NULL};
    kind->rep = scalar ? reln_invariant(net->graph, 1) : t->rep;
    for (int i = 1; i < kind->rank && kind->rep; i++)
        kind->rep = reln_rep_product(kind->rep, t->rep);
    return kind->rep || fail_as(net, name, reln_ctx_status(reln_graph_ctx(net->graph)));
}

/* Builds a feature from a list of tensors; the scalars of all entries become the first kind. */
static bool feature_init(const RelnNet *net, const char *name, int n, const RelnTensors *list,
                         Feature *f)
{
    f->kinds = reln_graph_alloc(net->graph, (size_t)n + 1, sizeof *f->kinds);
    f->n = 1;
    if (!f->kinds || !kind_init(net, name, &(RelnTensors){0}, &f->kinds[0]))
        return false;
    for (int i = 0; i < n; i++) {
        Kind kind;

        if (!kind_init(net, name, &list[i], &kind))
            return false;
        if (kind.rank == 0)
            f->kinds[0].channels += kind.channels;
        else if (kind.channels > 0)
            f->kinds[f->n++] = kind;
    }
    return true;
}

/* Chooses the kinds as published: powers of the input's rep. */
static bool feature_uniform(const RelnNet *net, const char *name, const RelnRep *base,
                            const RelnEmlp *emlp, Feature *f)
{
    const int ranks = emlp->ranks > 0 ? emlp->ranks : RANKS_PUBLISHED;
    RelnTensors *list = reln_graph_alloc(net->graph, (size_t)ranks, sizeof *list);
    int *channels = reln_graph_alloc(net->graph, (size_t)ranks, sizeof *channels);
    int n = 0;

    if (!list || !channels)
        return false;
    reln_emlp_uniform(reln_rep_dim(base), emlp->width, ranks, channels);
    for (int r = 0; r < ranks; r++)
        if (channels[r] > 0)
            list[n++] = (RelnTensors){base, r, channels[r]};
    return feature_init(net, name, n, list, f);
}

/* Copies the kinds, with one more scalar for each tensor that is not a scalar: its gate. */
static bool feature_gated(const RelnNet *net, const Feature *hidden, Feature *gated)
{
    *gated = *hidden;
    gated->kinds = reln_graph_alloc(net->graph, (size_t)hidden->n, sizeof *gated->kinds);
    if (!gated->kinds)
        return false;
    memcpy(gated->kinds, hidden->kinds, (size_t)hidden->n * sizeof *gated->kinds);
    for (int k = 1; k < hidden->n; k++)
        gated->kinds[0].channels += hidden->kinds[k].channels;
    return true;
}

static double feature_size(const Feature *f)
{
    double size = 0;

    for (int k = 0; k < f->n; k++)
        size += (double)f->kinds[k].channels * reln_rep_dim(f->kinds[k].rep);
    return size;
}

/* ---- linear ------------------------------------------------------------------------------------------------------ */

/* Computes an orthonormal basis of the maps in -> out. Normal coordinates in this basis are a matrix of
 * normals projected on the equivariant ones. Returns -1 with the graph failed. */
static int basis_of(const RelnNet *net, const char *name, const RelnRep *in, const RelnRep *out,
                    double **basis)
{
    const RelnMaps *maps = NULL;
    const RelnStatus status = reln_maps_linear(in, out, &maps);
    const size_t size = (size_t)reln_rep_dim(in) * (size_t)reln_rep_dim(out);

    if (status != RELN_OK) {
        fail_as(net, name, status);
        return -1;
    }
    *basis = reln_graph_alloc(net->graph, (size_t)maps->count * size + 1, sizeof **basis);
    if (!*basis)
        return -1;
    memcpy(*basis, maps->values, (size_t)maps->count * size * sizeof **basis);
    reln_rows_orthonormalise(maps->count, (ptrdiff_t)size, *basis);
    return maps->count;
}

/* A Layer holds the settings with which the kinds of a layer's output are computed. */
typedef struct Layer {
    const RelnNet *net;
    const char *name;
    double weight, bias; /* standard deviation of the coordinates of W; bound of those of b */
} Layer;

static RelnNode *sum(RelnGraph *g, RelnNode *a, RelnNode *b)
{
    return a && b ? reln_add(g, a, b) : a ? a : b;
}

/* Applies a map and mixes channels, in the order that mixes the smaller K. */
static RelnNode *through(RelnGraph *g, RelnNode *x, const double *map, const RelnRep *rep,
                         RelnNode *w)
{
    if (reln_rep_dim(rep) < x->shape.dims[RELN_K])
        return reln_mix(g, reln_linear_map(g, x, map, rep), w);
    return reln_linear_map(g, reln_mix(g, x, w), map, rep);
}

/* y_a = sum_(b,m) M_m x_b W_m, with W_m named "W<a>.<b>.<m>" */
static RelnNode *weighted(const Layer *l, const Feature *in, int a, const Kind *out)
{
    const ptrdiff_t rows = reln_rep_dim(out->rep);
    RelnNode *y = NULL;

    for (int b = 0; b < in->n; b++) {
        const Kind *from = &in->kinds[b];
        double *basis = NULL;
        const int count = from->x ? basis_of(l->net, l->name, from->rep, out->rep, &basis) : 0;

        for (int m = 0; m < count; m++) {
            char part[48];

            snprintf(part, sizeof part, "W%d.%d.%d", a, b, m);
            y = sum(l->net->graph, y,
                    through(l->net->graph, from->x, basis + m * rows * reln_rep_dim(from->rep),
                            out->rep,
                            reln_nn_param(l->net, l->name, part,
                                          (RelnDims){.r = from->channels, .c = out->channels},
                                          (RelnInit){RELN_INIT_NORMAL, l->weight})));
        }
    }
    return y;
}

/* sum_m I_m b_m, b_m named "b<a>.<m>": the constants that the group leaves unchanged */
static RelnNode *biased(const Layer *l, RelnNode *y, int a, const Kind *out)
{
    RelnGraph *g = l->net->graph;
    double *basis = NULL;
    const int count = basis_of(l->net, l->name, reln_invariant(g, 1), out->rep, &basis);

    for (int m = 0; m < count; m++) {
        char part[32];
        RelnNode *b;

        snprintf(part, sizeof part, "b%d.%d", a, m);
        b = reln_nn_param(l->net, l->name, part, (RelnDims){.c = out->channels},
                          (RelnInit){RELN_INIT_UNIFORM, l->bias});
        y = sum(g, y,
                reln_linear_map(g, b, basis + m * (ptrdiff_t)reln_rep_dim(out->rep), out->rep));
    }
    return y;
}

/* out = W in + b. A matrix of rows x columns with orthonormal rows or columns has entries of deviation
 * 1 / sqrt(max(rows, columns)): the published start, before its projection. */
static void linear(const RelnNet *net, const char *name, const Feature *in, Feature *out)
{
    const double rows = feature_size(out), columns = feature_size(in);
    const Layer layer = {net, name, 1 / sqrt(fmax(rows, columns)), 1 / sqrt(rows)};

    for (int a = 0; a < out->n; a++)
        out->kinds[a].x =
            out->kinds[a].channels == 0
                ? NULL
                : biased(&layer, weighted(&layer, in, a, &out->kinds[a]), a, &out->kinds[a]);
}

/* ---- the bilinear layer ------------------------------------------------------------------------------------------ */

/* Returns whether the smallest singular value of m (n, n) is above the rounding error of the largest. */
static bool is_invertible(const RelnNet *net, const char *name, int n, const double *m)
{
    RelnCtx *ctx = reln_graph_ctx(net->graph);
    double *s = reln_graph_alloc(net->graph, (size_t)n, sizeof *s);
    const RelnStatus status = s ? reln_svd(ctx, n, n, m, false, s, NULL, NULL) : RELN_ERR_NOMEM;

    if (status != RELN_OK)
        return fail_as(net, name, status);
    return s[n - 1] > RELN_INTERTWINER_TOLERANCE * s[0];
}

/* Returns F (d, d), a map from a rep to its dual: the identity if the group keeps the dot product, otherwise
 * a combination of all such maps with the coefficients 1, 2, ...; an irreducible rep has at most one. Returns
 * NULL if there is no invertible one, or if the graph failed. */
static double *form_of(const RelnNet *net, const char *name, const RelnRep *rep)
{
    const int d = reln_rep_dim(rep), size = d * d;
    const RelnRep *dual = reln_dual(net->graph, rep);
    double *f = reln_graph_alloc(net->graph, (size_t)size, sizeof *f), *basis = NULL;
    RelnVerdict verdict = {.equivariant = false};
    RelnStatus status;
    int count;

    if (!f || !dual)
        return NULL;
    for (int i = 0; i < d; i++)
        f[i * d + i] = 1.0;
    status = reln_check_linear(rep, dual, f, &verdict);
    if (status != RELN_OK) {
        fail_as(net, name, status);
        return NULL;
    }
    if (verdict.equivariant)
        return f;
    memset(f, 0, (size_t)size * sizeof *f);
    count = basis_of(net, name, rep, dual, &basis);
    for (int m = 0; m < count; m++)
        for (int i = 0; i < size; i++)
            f[i] += (m + 1) * basis[(ptrdiff_t)m * size + i] * sqrt(d);
    return count > 0 && is_invertible(net, name, d, f) ? f : NULL;
}

/* Lowers every index of x by F: the result is in the dual of x's rep. Returns NULL if there is no F. */
static RelnNode *lowered(const RelnNet *net, const char *name, const Kind *kind)
{
    const int d = kind->rank > 0 ? reln_rep_dim(kind->base) : 1, n = reln_rep_dim(kind->rep);
    const double *f = kind->rank > 0 ? form_of(net, name, kind->base) : NULL;
    double *power;

    if (kind->rank == 0)
        return kind->x;
    power = f ? reln_graph_alloc(net->graph, (size_t)n * (size_t)n, sizeof *power) : NULL;
    for (ptrdiff_t e = 0; e < (ptrdiff_t)n * n && power; e++) {
        ptrdiff_t i = e / n, j = e % n;

        power[e] = 1.0;
        for (int r = 0; r < kind->rank; r++, i /= d, j /= d)
            power[e] *= f[i % d * d + j % d];
    }
    return power ? reln_linear_map(net->graph, kind->x, power, reln_dual(net->graph, kind->rep))
                 : NULL;
}

/* y[i] = sum_j X[i, j] u[j], with X of rank a + b reshaped to a matrix */
static RelnNode *apply(RelnGraph *g, RelnNode *X, RelnNode *u, const RelnRep *rep)
{
    const int rows = reln_rep_dim(rep), columns = u ? u->shape.dims[RELN_K] : 0,
              count = rows * columns;
    RelnEntry *entries = u ? reln_graph_alloc(g, (size_t)count, sizeof *entries) : NULL;
    const RelnTensor3 T = {count, columns, rows, count, entries};

    for (int e = 0; e < count && entries; e++)
        entries[e] = (RelnEntry){e, e % columns, e / columns, 1.0};
    return entries ? reln_contract(g, &T, X, u, rep) : NULL;
}

/* A Chosen holds the tensors of x that fill B(x), drawn once and with replacement: at most as many as
 * coordinates. */
typedef struct Chosen {
    int n;
    RelnNode **X; /* (..., K, 1) */
} Chosen;

static Chosen choose(RelnGraph *g, const Kind *kind, RelnRng *rng)
{
    const int dim = reln_rep_dim(kind->rep);
    Chosen c = {kind->x && kind->rank > 0 ? kind->channels < dim ? kind->channels : dim : 0, NULL};

    c.X = reln_graph_alloc(g, (size_t)c.n + 1, sizeof *c.X);
    for (int i = 0; i < c.n && c.X; i++)
        c.X[i] =
            reln_slice(g, kind->x, RELN_C, (int)reln_rng_below(rng, (uint64_t)kind->channels), 1);
    return c.X ? c : (Chosen){0};
}

/* sum_(n,i) theta[o,n,i] X_n u_i for the outputs o of kind a. Channels are mixed before X if u has fewer
 * coordinates than the result, and after it otherwise. */
static RelnNode *products(RelnGraph *g, const Chosen *c, RelnNode *u, RelnNode *theta, bool before,
                          const Kind *out)
{
    RelnNode *y = NULL, *mixed = before ? reln_mix(g, u, theta) : NULL;

    for (int n = 0; n < c->n; n++) {
        const int from = n * (before ? out->channels : reln_nn_channels(u));
        RelnNode *term =
            before ? apply(g, c->X[n], reln_slice(g, mixed, RELN_C, from, out->channels), out->rep)
                   : reln_mix(g, apply(g, c->X[n], u, out->rep),
                              reln_slice(g, theta, RELN_R, from, reln_nn_channels(u)));

        y = sum(g, y, term);
    }
    return y;
}

static bool fit_together(const Kind *a, const Kind *b, const Kind *k)
{
    return k->rank > 0 && k->rank == a->rank + b->rank && (a->rank == 0 || a->base == k->base) &&
           (b->rank == 0 || b->base == k->base);
}

/* Computes the part of B(x) x that leads from kind b to kind a with tensors of kind k, theta named
 * "theta<a>.<b>.<k>". */
static RelnNode *bilinear_term(const RelnNet *net, const char *name, const Feature *f,
                               const Chosen *c, RelnNode *u, const int abk[3])
{
    const Kind *a = &f->kinds[abk[0]], *b = &f->kinds[abk[1]];
    const bool before = reln_rep_dim(b->rep) <= reln_rep_dim(a->rep);
    const RelnDims dims = before ? (RelnDims){.r = b->channels, .c = c->n * a->channels}
                                 : (RelnDims){.r = c->n * b->channels, .c = a->channels};
    char part[64];

    snprintf(part, sizeof part, "theta%d.%d.%d", abk[0], abk[1], abk[2]);
    return products(
        net->graph, c, u,
        reln_scale(net->graph,
                   reln_nn_param(net, name, part, dims, (RelnInit){RELN_INIT_NORMAL, 1.0}), 0.1),
        before, a);
}

/* x + B(x) x / 10 */
static void bilinear(const RelnNet *net, const char *name, Feature *f, RelnRng *rng)
{
    RelnGraph *g = net->graph;
    RelnNode **low = reln_graph_alloc(g, (size_t)f->n, sizeof(RelnNode *));
    RelnNode **add = reln_graph_alloc(g, (size_t)f->n, sizeof(RelnNode *));
    Chosen *chosen = reln_graph_alloc(g, (size_t)f->n, sizeof *chosen);

    if (!low || !add || !chosen)
        return;
    for (int k = 0; k < f->n; k++) {
        chosen[k] = choose(g, &f->kinds[k], rng);
        low[k] = f->kinds[k].x ? lowered(net, name, &f->kinds[k]) : NULL;
    }
    for (int a = 0; a < f->n; a++)
        for (int b = 0; b < f->n; b++)
            for (int k = 1; k < f->n; k++)
                if (fit_together(&f->kinds[a], &f->kinds[b], &f->kinds[k]) && low[b] &&
                    chosen[k].n > 0 && f->kinds[a].channels > 0)
                    add[a] = sum(
                        g, add[a],
                        bilinear_term(net, name, f, &chosen[k], low[b], (const int[3]){a, b, k}));
    for (int a = 0; a < f->n; a++)
        f->kinds[a].x = sum(g, f->kinds[a].x, add[a]);
}

/* ---- gates and blocks -------------------------------------------------------------------------------------------- */

/* Multiplies each scalar by its own sigmoid, and each other tensor by the sigmoid of its gate. */
static void gate(RelnGraph *g, const Feature *gated, Feature *hidden)
{
    RelnNode *s = gated->kinds[0].x, *open = reln_sigmoid(g, s);
    int first = hidden->kinds[0].channels;

    hidden->kinds[0].x = first > 0 ? reln_mul(g, reln_slice(g, s, RELN_C, 0, first),
                                              reln_slice(g, open, RELN_C, 0, first))
                                   : NULL;
    for (int k = 1; k < hidden->n; k++) {
        const int n = hidden->kinds[k].channels;

        hidden->kinds[k].x = gated->kinds[k].x ? reln_mul(g, gated->kinds[k].x,
                                                          reln_slice(g, open, RELN_C, first, n))
                                               : NULL;
        first += n;
    }
}

static bool blocks(const RelnNet *net, const char *name, const RelnEmlp *emlp, Feature *hidden,
                   Feature *in)
{
    Feature gated;

    for (int i = 0; i < emlp->layers; i++) {
        RelnRng rng = reln_rng(emlp->seed, /*stream=*/2 + (uint64_t)i);
        char part[16];
        const char *layer;

        snprintf(part, sizeof part, "%d", i);
        layer = reln_nn_name(net, name, part);
        if (!layer || !feature_gated(net, hidden, &gated))
            return false;
        linear(net, layer, in, &gated);
        bilinear(net, layer, &gated, &rng);
        gate(net->graph, &gated, hidden);
        *in = *hidden;
    }
    return true;
}

/* Builds the last layer. Every output must depend on the input, not on a bias alone. */
static RelnNode *read_out(const RelnNet *net, const char *name, const Feature *in, Kind *out,
                          const RelnNode *x)
{
    Feature last = {1, out};
    const char *layer = reln_nn_name(net, name, "out");

    if (!layer)
        return NULL;
    linear(net, layer, in, &last);
    if (out->x && (out->x->domain == x->domain))
        return out->x;
    reln_graph_fail(
        net->graph, RELN_ERR_ARG,
        "%s: nothing leads from %s to %s; wanted a hidden layer with a tensor of x's rep "
        "and one that maps to the output's",
        name, reln_rep_name(x->rep), reln_rep_name(out->rep));
    return NULL;
}

RelnNode *reln_nn_emlp(const RelnNet *net, const char *name, RelnNode *x, const RelnEmlp *emlp)
{
    RELN_NEED(net && name && emlp, NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    Feature in, hidden;
    Kind out;

    if (!x)
        return NULL;
    if (emlp->layers < 0 || emlp->channels < 1 || (!emlp->hidden && emlp->width < 1)) {
        reln_graph_fail(net->graph, RELN_ERR_ARG,
                        "%s: %d layers of width %d to %d channels; wanted 0 or more, a width or a "
                        "list of tensors, and 1 or more",
                        name, emlp->layers, emlp->width, emlp->channels);
        return NULL;
    }
    if (!feature_init(net, name, 1, &(RelnTensors){x->rep, 1, reln_nn_channels(x)}, &in) ||
        !kind_init(net, name, &(RelnTensors){emlp->rep, emlp->rep ? 1 : 0, emlp->channels}, &out))
        return NULL;
    in.kinds[in.n - 1].x = x;
    if (!(emlp->hidden ? feature_init(net, name, emlp->n_hidden, emlp->hidden, &hidden)
                       : feature_uniform(net, name, x->rep, emlp, &hidden)) ||
        !blocks(net, name, emlp, &hidden, &in))
        return NULL;
    return read_out(net, name, &in, &out, x);
}
