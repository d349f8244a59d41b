/* equivariant.c -- two streams of vectors, odd and even under mirrors, and their invariants. */
#include "tasks/pendulum/pendulum.h"

#include <math.h>
#include <stdio.h>

const PendEquivariant pend_equivariant_defaults = {PEND_EQUIVARIANT};

enum { PLANAR = 4 };

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static void add_mix(const PendBuild *b, PendWeights *w, const char *layer, const char *part,
                    int from, int to, double spread)
{
    pend_weights_add(w, pend_parameter(b, layer, part, (RelnDims){.r = from, .c = to},
                                       (RelnInit){RELN_INIT_NORMAL, spread / sqrt(from)}));
}

/* Brackets of vectors of size 3 have size 9, so their weights start small. */
static void layer_weights(const PendBuild *b, PendWeights *w, int i, int C)
{
    char layer[16];

    snprintf(layer, sizeof layer, "layer%d", i);
    add_mix(b, w, layer, "W", i == 0 ? PEND_BASE : C, C, 0.5);
    add_mix(b, w, layer, "U", C, C, 0.5);
    add_mix(b, w, layer, "A", C, C, 0.5);
    add_mix(b, w, layer, "B", C, C, 0.2);
    add_mix(b, w, layer, "D", C, C, 0.5);
    add_mix(b, w, layer, "E", C, C, 0.2);
    if (i > 0)
        add_mix(b, w, layer, "V", C, C, 0.5);
    if (b->symmetry == PEND_SO2)
        add_mix(b, w, layer, "M", C, C, 0.5);
}

static int count_invariants(const PendBuild *b, int C)
{
    const int own = b->symmetry == PEND_SO2 ? C : b->symmetry == PEND_D6 ? PLANAR : 0;

    return pend_features_count(&pend_lengths) + 4 * C + own;
}

static PendDense head(const PendBuild *b, int widths[8])
{
    const PendEquivariant *s = b->settings;

    widths[0] = count_invariants(b, s->channels);
    for (int i = 1; i <= s->hidden; i++)
        widths[i] = s->width;
    widths[s->hidden + 1] = 1;
    return (PendDense){"head", s->hidden + 1, widths, RELN_ACT_SILU, true};
}

static void weights(const PendBuild *b, PendWeights *w)
{
    const PendEquivariant *s = b->settings;
    int widths[8];
    const PendDense d = head(b, widths);

    pend_features_weights(b, &pend_lengths, w);
    for (int i = 0; i < s->layers; i++)
        layer_weights(b, w, i, s->channels);
    if (b->symmetry == PEND_D6)
        add_mix(b, w, "planar", "W", PEND_BASE, PLANAR, 1.0);
    pend_dense_weights(b, &d, w);
    pend_weights_add(w, pend_parameter(b, "linear", "W",
                                       (RelnDims){.r = pend_features_count(&pend_lengths), .c = 1},
                                       (RelnInit){RELN_INIT_CONSTANT, 0.0}));
}

/* ---- brackets and forms ------------------------------------------------------------------------------------------ */

/* Returns the rep det(g) g of vectors that a mirror also reverses; without mirrors, it equals the rep of
 * vectors. */
static const RelnRep *even_rep(RelnGraph *g)
{
    RelnGroup *group = reln_graph_group(g);

    return reln_rep_product(reln_rep_sign(group), reln_rep_vector(group));
}

/* The structure constants of so(3): [x, y] = x cross y. */
static RelnNode *bracket(RelnGraph *g, RelnNode *x, RelnNode *y, const RelnRep *as)
{
    static const RelnEntry entries[6] = {{1, 2, 0, 1.0}, {2, 1, 0, -1.0}, {0, 2, 1, -1.0},
                                         {2, 0, 1, 1.0}, {0, 1, 2, 1.0},  {1, 0, 2, -1.0}};
    static const RelnTensor3 structure = {3, 3, 3, 6, entries};

    return reln_contract(g, &structure, x, y, as);
}

static RelnNode *form(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_pair(g, x, reln_nn_lower(&(RelnNet){.graph = g}, y));
}

/* Returns the length of a vector from its square, smooth at 0 too. */
static RelnNode *length(RelnGraph *g, RelnNode *square)
{
    return reln_sqrt(g, reln_shift(g, square, 1.0, 1e-4));
}

/* ---- the two streams --------------------------------------------------------------------------------------------- */

typedef struct Streams {
    RelnNode *odd, *even; /* (K = 3, C) */
} Streams;

/* x + tanh(B(x, d)) d, d = x U: a smooth version of ReLN-ReLU */
static RelnNode *gated(RelnGraph *g, RelnNode *x, RelnNode *U)
{
    RelnNode *d = reln_mix(g, x, U);

    return reln_add(g, x, reln_mul(g, reln_tanh(g, form(g, x, d)), d));
}

static Streams layer(const PendBuild *b, Streams x, PendWeights *w)
{
    RelnGraph *g = b->graph;
    const RelnRep *even = even_rep(g);
    RelnNode *W = pend_weights_take(w), *U = pend_weights_take(w), *A = pend_weights_take(w);
    RelnNode *B = pend_weights_take(w), *D = pend_weights_take(w), *E = pend_weights_take(w);
    RelnNode *odd = gated(g, reln_mix(g, x.odd, W), U);
    RelnNode *new_even = bracket(g, reln_mix(g, odd, A), reln_mix(g, odd, B), even);

    if (x.even)
        new_even = reln_add(g, new_even, reln_mix(g, x.even, pend_weights_take(w)));
    odd = reln_add(g, odd,
                   bracket(g, reln_mix(g, odd, D), reln_mix(g, new_even, E), pend_state_rep(g)));
    if (b->symmetry == PEND_SO2)
        odd = reln_add(g, odd, pend_as_vector(g, reln_mix(g, new_even, pend_weights_take(w))));
    return (Streams){odd, new_even};
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

/* Powers of x + iy, as pairs of numbers that a rotation by t turns by n t, and that x -> -x conjugates (n
 * even). */
static const RelnRep *power_rep(RelnGraph *g, int n)
{
    const double t = acos(-1.0) / 3 * n;
    const double discrete[8] = {1, 0, 0, -1, cos(t), -sin(t), sin(t), cos(t)};

    return reln_rep_from_matrices(reln_graph_group(g), 2, NULL, discrete);
}

/* Re (x + iy)^6 / (1 + x^2 + y^2)^3 of four mixtures, bounded. Only D6, of the symmetries here, has the two
 * discrete generators that power_rep() needs. */
static RelnNode *sixth_powers(RelnGraph *g, RelnNode *base, RelnNode *W)
{
    static const RelnEntry times[4] = {
        {0, 0, 0, 1.0}, {1, 1, 0, -1.0}, {0, 1, 1, 1.0}, {1, 0, 1, 1.0}};
    static const RelnEntry squares[2] = {{0, 0, 0, 1.0}, {1, 1, 0, 1.0}};
    static const RelnTensor3 first = {3, 3, 2, 4, times}, product = {2, 2, 2, 4, times},
                             real = {2, 2, 1, 2, times}, size = {3, 3, 1, 2, squares};
    const RelnRep *number = reln_rep_trivial(reln_graph_group(g), 1);
    RelnNode *v = reln_mix(g, base, W), *two, *six, *r;

    two = reln_contract(g, &first, v, v, power_rep(g, 2));
    six =
        reln_contract(g, &real, reln_contract(g, &product, two, two, power_rep(g, 4)), two, number);
    r = reln_shift(g, reln_contract(g, &size, v, v, number), 1.0, 1.0);
    return reln_div(g, six, reln_mul(g, reln_square(g, r), r));
}

/* Returns the invariants that the streams add to those of the state itself. */
static int learned_invariants(const PendBuild *b, Streams x, RelnNode **out)
{
    static const double e[3] = {0, 0, 1};
    RelnGraph *g = b->graph;
    RelnNode *up = reln_const(g, (RelnDims){.k = 3}, pend_state_rep(g), e);
    int n = 0;

    out[n++] = form(g, x.odd, x.odd);
    out[n++] = length(g, out[0]);
    out[n++] = form(g, x.odd, up);
    out[n++] = length(g, form(g, x.even, x.even));
    if (b->symmetry == PEND_SO2)
        out[n++] = form(g, pend_as_vector(g, x.even), up);
    return n;
}

static RelnNode *value(const PendBuild *b, RelnNode *z, PendWeights *w)
{
    const PendEquivariant *s = b->settings;
    RelnGraph *g = b->graph;
    RelnNode *base = pend_base_vectors(g, z), *parts[8], *f, *H;
    Streams x = {base, NULL};
    int widths[8], n;
    const PendDense d = head(b, widths);

    f = pend_features_mixed(g, pend_features(g, &pend_lengths, z), w);
    for (int i = 0; i < s->layers; i++)
        x = layer(b, x, w);
    parts[0] = f;
    n = 1 + learned_invariants(b, x, parts + 1);
    if (b->symmetry == PEND_D6)
        parts[n++] = sixth_powers(g, base, pend_weights_take(w));
    H = pend_dense_value(g, &d, reln_concat(g, n, parts, RELN_C), w);
    f = reln_scale(g, reln_mix(g, f, pend_weights_take(w)), PEND_LINEAR_GAIN);
    return reln_add(g, reln_scale(g, H, s->share), f);
}

static RelnStatus start(const PendBuild *b, RelnStore *store, int n, const double *states)
{
    return pend_features_start(store, &pend_lengths, reln_graph_ctx(b->graph), n, states);
}

const PendArchitecture pend_equivariant = {
    .typed = true, .weights = weights, .value = value, .start = start};
