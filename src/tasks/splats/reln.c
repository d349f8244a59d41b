/* reln.c -- the ReLN Gaussian-MAE: splats as matrices of gl(3) that transform by conjugation, with additional invariants.
 *
 * The state of a token is matrices x (9, C) and invariants s (1, D). B~(X, Y) = 6 tr(XY) - tr X tr Y is negative on hat(mu), so
 * it does not measure size: norms, pools and the denominators of gates use the Frobenius product, which rotations keep. With
 * `killing` they use B~ alone, which GL(3) keeps.
 */
#include <math.h>

#include "nn/nn.h"
#include "tasks/splats/splats.h"

#define NORM_EPS 1e-6
#define GATE_EPS 1e-6

/* ---- small maps -------------------------------------------------------------------------------------------------------- */

static const RelnRep *matrices(const RelnNet *net)
{
    return reln_rep_adjoint(reln_graph_group(net->graph), net->algebra);
}

static RelnNode *hat(const RelnNet *net, RelnNode *v)
{
    static const double m[27] = {[0 * 3] = 0,     [1 * 3 + 2] = -1, [2 * 3 + 1] = 1,
                                 [3 * 3 + 2] = 1, [5 * 3 + 0] = -1, [6 * 3 + 1] = -1,
                                 [7 * 3 + 0] = 1};

    return reln_linear_map(net->graph, v, m, matrices(net));
}

/* Returns the vector of the antisymmetric part of a matrix. */
static RelnNode *vee(const RelnNet *net, RelnNode *x)
{
    static const double m[27] = {[7] = 0.5,      [5] = -0.5,     [9 + 2] = 0.5,
                                 [9 + 6] = -0.5, [18 + 3] = 0.5, [18 + 1] = -0.5};

    return reln_linear_map(net->graph, x, m, reln_rep_vector(reln_graph_group(net->graph)));
}

static RelnNode *symmetric(const RelnNet *net, RelnNode *x)
{
    double m[81] = {0};

    for (int i = 0; i < 9; i++) {
        m[9 * i + i] += 0.5;
        m[9 * i + 3 * (i % 3) + i / 3] += 0.5;
    }
    return reln_linear_map(net->graph, x, m, matrices(net));
}

static RelnNode *trace(const RelnNet *net, RelnNode *x)
{
    static const double m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

    return reln_linear_map(net->graph, x, m, reln_rep_trivial(reln_graph_group(net->graph), 1));
}

/* v v^T - |v|^2 / 3 I */
static RelnNode *square_of(const RelnNet *net, RelnNode *v)
{
    RelnEntry entries[15];
    const RelnTensor3 T = {3, 3, 9, 15, entries};
    int n = 0;

    for (int k = 0; k < 9; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                const double value =
                    (i == k / 3 && j == k % 3) - (i == j && k / 3 == k % 3 ? 1.0 / 3 : 0.0);
                if (value != 0)
                    entries[n++] = (RelnEntry){i, j, k, value};
            }
    return reln_contract(net->graph, &T, v, v, matrices(net));
}

static RelnNode *identity(const RelnNet *net)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

    return reln_const(net->graph, (RelnDims){.k = 9}, matrices(net), one);
}

/* sign(z) log(1 + |z|) */
static RelnNode *squash(RelnGraph *g, RelnNode *z)
{
    return reln_mul(g, reln_sign(g, z), reln_log(g, reln_shift(g, reln_abs(g, z), 1.0, 1.0)));
}

static RelnNode *form(const RelnNet *net, RelnNode *x, RelnNode *y)
{
    return reln_scale(net->graph, reln_nn_form(net, x, y), 1.0 / 6);
}

/* ---- layers ------------------------------------------------------------------------------------------------------------- */

static RelnNode *norm_entries(const RelnNet *net, RelnNode *x)
{
    RelnGraph *g = net->graph; /* deliberately wrong: the mean over entries is not invariant */
    RelnNode *m = reln_mean(g, x, RELN_K);

    return reln_sub(g, x, m);
}

/* gamma x / sqrt(1e-6 + mean over channels and entries of x^2); layer norm of invariants */
static RelnFeatures norm(const RelnNet *net, const SplatsNet *m, const char *name, RelnFeatures f)
{
    RelnGraph *g = net->graph;
    RelnNode *s = reln_nn_layer_norm_invariants(net, name, f.s), *q, *gamma;

    if (m->killing)
        return (RelnFeatures){reln_nn_layer_norm(net, name, f.x), s};
    if (m->wrong == SPLATS_ENTRY_NORM)
        f.x = norm_entries(net, f.x);
    q = reln_scale(g, reln_mean(g, reln_pair(g, f.x, f.x), RELN_C), 1.0 / 9);
    gamma = reln_nn_param(net, name, "gammax", (RelnDims){.c = reln_nn_channels(f.x)},
                          (RelnInit){RELN_INIT_CONSTANT, 1.0});
    q = reln_div(g, gamma, reln_sqrt(g, reln_shift(g, q, 1.0, NORM_EPS)));
    return (RelnFeatures){reln_mul(g, f.x, q), s};
}

/* ReLN-ReLU of degree one: x + max(0, B~(x, d)) d / (6 |d|^2 + eps), d = x U */
static RelnNode *gate(const RelnNet *net, const SplatsNet *m, const char *name, RelnNode *x)
{
    RelnGraph *g = net->graph;
    RelnNode *d, *t, *q;

    if (m->killing)
        return reln_nn_rms(net, name, x, NULL);
    d = reln_nn_mixed(net, name, "U", x, reln_nn_channels(x));
    t = reln_relu(g, form(net, x, d));
    q = reln_shift(g, reln_pair(g, d, d), 1.0, GATE_EPS);
    return reln_add(g, x, reln_mul(g, reln_div(g, t, q), d));
}

/* [x Wa, x Wb] divided by sqrt(1 + mean over channels of |a|^2 |b|^2) */
static RelnNode *bracket(const RelnNet *net, const SplatsNet *m, const char *name, RelnNode *x)
{
    RelnGraph *g = net->graph;
    const int c = reln_nn_channels(x);
    RelnNode *a = reln_nn_mixed(net, name, "Wa", x, c), *b = reln_nn_mixed(net, name, "Wb", x, c);
    RelnNode *q = m->killing ? reln_square(g, form(net, a, b))
                             : reln_mul(g, reln_pair(g, a, a), reln_pair(g, b, b));

    q = reln_sqrt(g, reln_shift(g, reln_mean(g, q, RELN_C), 1.0, 1.0));
    return reln_div(g, reln_bracket(g, net->algebra, a, b), q);
}

/* x_c times (1 + tanh of invariants) */
static RelnNode *scaled(const RelnNet *net, const char *name, RelnNode *x, RelnNode *s)
{
    RelnGraph *g = net->graph;
    RelnNode *t = reln_tanh(g, reln_nn_mixed(net, name, "U", s, reln_nn_channels(x)));

    return reln_mul(g, x, reln_shift(g, t, 1.0, 1.0));
}

/* Invariants of matrices: B~(x, x W) / 6 and the trace, squashed. */
static RelnNode *invariants(const RelnNet *net, const char *name, RelnNode *x)
{
    RelnGraph *g = net->graph;
    RelnNode *both[2] = {form(net, x, reln_nn_mixed(net, name, "Wz", x, reln_nn_channels(x))),
                         trace(net, x)};

    return squash(g, reln_concat(g, 2, both, RELN_C));
}

/* Exchanges information: matrices are scaled by invariants, and invariants receive those of matrices. */
static RelnFeatures exchange(const RelnNet *net, const char *name, RelnFeatures f)
{
    RelnGraph *g = net->graph;

    f.x = scaled(net, name, f.x, f.s);
    f.s = reln_add(
        g, f.s, reln_nn_mixed(net, name, "V", invariants(net, name, f.x), reln_nn_channels(f.s)));
    return f;
}

/* For each channel, selects the matrix of the largest size along an axis; and the largest invariants. */
static RelnFeatures pool(const RelnNet *net, const SplatsNet *m, RelnFeatures f, RelnAxis axis)
{
    RelnGraph *g = net->graph;
    RelnNode *size = m->killing ? reln_abs(g, form(net, f.x, f.x)) : reln_pair(g, f.x, f.x);

    return (RelnFeatures){reln_pick(g, f.x, reln_argmax(g, size, axis), axis),
                          reln_nn_pool_largest(net, f.s, (int)axis)};
}

/* ---- lift --------------------------------------------------------------------------------------------------------------- */

/* An Inputs holds members of groups: positions relative to the centre, log covariances, invariants; and
 * centres. */
typedef struct Inputs {
    RelnNode *d, *log, *s, *c;
} Inputs;

static Inputs inputs(const RelnNet *net, const SplatsNet *m)
{
    RelnGraph *g = net->graph;
    const RelnRep *vector = reln_rep_vector(reln_graph_group(g));
    RelnDims dims = {.p = m->groups, .q = m->members};
    Inputs in;

    dims.k = 3;
    in.d = reln_input(g, "d", RELN_SAMPLES, dims, vector, RELN_DEFAULT);
    dims.k = 9;
    in.log = reln_input(g, "log", RELN_SAMPLES, dims, matrices(net), RELN_DEFAULT);
    dims.k = 1;
    dims.c = SPLATS_SCALARS;
    in.s = reln_input(g, "s", RELN_SAMPLES, dims, NULL, RELN_DEFAULT);
    in.c =
        reln_input(g, "c", RELN_SAMPLES, (RelnDims){.p = m->groups, .k = 3}, vector, RELN_DEFAULT);
    return in;
}

/* The same inputs as rows, one for each group, so that layers of members run in tiles. */
static Inputs by_group(const RelnNet *net, const SplatsNet *m, const Inputs *in)
{
    RelnGraph *g = net->graph;
    const RelnDomain groups = reln_fixed(g, "groups", RELN_SAMPLES, m->groups);

    return (Inputs){reln_unstack(g, in->d, groups), reln_unstack(g, in->log, groups),
                    reln_unstack(g, in->s, groups), reln_unstack(g, in->c, groups)};
}

/* Channels: hat(d), log Sigma; with the full lift also d d^T, [hat(d), log Sigma], hat(c) and I. The paper's
 * invariants leave out the sorted scales. */
static RelnFeatures lifted(const RelnNet *net, const SplatsNet *m, const Inputs *in)
{
    RelnGraph *g = net->graph;
    RelnNode *channels[6] = {hat(net, in->d), in->log}, *s = in->s;
    int n = 2;

    if (m->full) {
        channels[n++] = square_of(net, in->d);
        if (m->bracket)
            channels[n++] = reln_bracket(g, net->algebra, channels[0], in->log);
        channels[n++] = reln_expand(g, hat(net, in->c), in->log);
        channels[n++] = reln_expand(g, identity(net), in->log);
    } else {
        s = reln_slice(g, s, RELN_C, 0, SPLATS_SCALARS_PAPER);
    }
    return (RelnFeatures){reln_concat(g, n, channels, RELN_C), s};
}

/* ---- tokeniser ------------------------------------------------------------------------------------------------------------ */

/* Computes the maximum and the mean along an axis, side by side. The maximum is one member's, so a direction
 * in it has the error of one member; the mean describes the whole group. */
static RelnFeatures pool_both(const RelnNet *net, const SplatsNet *m, RelnFeatures f, RelnAxis axis)
{
    RelnGraph *g = net->graph;
    const RelnFeatures most = pool(net, m, f, axis);
    RelnNode *x[2] = {most.x, reln_mean(g, f.x, axis)}, *s[2] = {most.s, reln_mean(g, f.s, axis)};

    return (RelnFeatures){reln_concat(g, 2, x, RELN_C), reln_concat(g, 2, s, RELN_C)};
}

/* Tokens of groups, from the features of their members: one group for each row. */
static RelnFeatures tokens_of(const RelnNet *net, const SplatsNet *m, RelnFeatures f)
{
    const RelnNet tok = reln_nn_within(net, "tok");
    RelnGraph *g = net->graph;
    RelnFeatures all;

    f.x = reln_nn_linear(&tok, "x", f.x, m->token[0]);
    f.s = reln_gelu(g, reln_nn_dense(&tok, "s", f.s, m->token[1]));
    f = exchange(&tok, "e1", f);
    f.x = gate(&tok, m, "g1", f.x);
    if (m->bracket)
        f.x = reln_add(g, f.x, bracket(&tok, m, "b1", f.x));
    all = pool_both(&tok, m, f, RELN_Q);
    f.x = gate(&tok, m, "g2",
               reln_add(g, reln_nn_linear(&tok, "ox", f.x, m->width),
                        reln_nn_linear(&tok, "px", all.x, m->width)));
    f.s = reln_gelu(g, reln_add(g, reln_nn_dense(&tok, "os", f.s, m->scalars),
                                reln_nn_linear(&tok, "ps", all.s, m->scalars)));
    all = pool_both(&tok, m, exchange(&tok, "e2", f), RELN_Q);
    return (RelnFeatures){reln_nn_linear(&tok, "tx", all.x, m->width),
                          reln_nn_dense(&tok, "ts", all.s, m->scalars)};
}

/* Tokens of all groups of an object, on the axis P. Their gradient computes the features of members again, tile by tile:
 * kept for 32 objects, these would take 150 MB. */
static RelnFeatures all_tokens(const RelnNet *net, const SplatsNet *m, const Inputs *in)
{
    RelnGraph *g = net->graph;
    RelnNet inside = *net;
    RelnNode *out[2];
    RelnFeatures f;
    Inputs groups;

    inside.graph = reln_fn_begin(g, "tokens");
    groups = by_group(&inside, m, in);
    f = tokens_of(&inside, m, lifted(&inside, m, &groups));
    if (!inside.graph ||
        !reln_call(g, reln_fn_end(inside.graph, 2, (RelnNode *[]){f.x, f.s}), 0, NULL, out))
        return (RelnFeatures){0};
    return (RelnFeatures){reln_stack(g, out[0], RELN_SAMPLES), reln_stack(g, out[1], RELN_SAMPLES)};
}

/* ---- positions ------------------------------------------------------------------------------------------------------------ */

/* f1(|c|) hat(c) + f2(|c|) (c c^T)_0 + f3(|c|) I, the most general equivariant map to gl(3), and invariants of |c|. The
 * paper's lift leaves out c c^T. */
static RelnFeatures position(const RelnNet *net, const char *name, const SplatsNet *m, RelnNode *c)
{
    const RelnNet pos = reln_nn_within(net, "%s", name);
    RelnGraph *g = net->graph;
    RelnNode *length = reln_sqrt(g, reln_shift(g, reln_pair(g, c, c), 1.0, 1e-12));
    RelnNode *h = reln_gelu(g, reln_nn_dense(&pos, "a", length, m->embed));
    RelnNode *x = reln_mul(g, reln_nn_dense(&pos, "hat", h, m->width), hat(net, c));

    x = reln_add(g, x, reln_mul(g, reln_nn_dense(&pos, "one", h, m->width), identity(net)));
    if (m->full)
        x = reln_add(g, x,
                     reln_mul(g, reln_nn_dense(&pos, "square", h, m->width), square_of(net, c)));
    return (RelnFeatures){x, reln_nn_dense(&pos, "s", h, m->scalars)};
}

static RelnFeatures plus(const RelnNet *net, RelnFeatures a, RelnFeatures b)
{
    return (RelnFeatures){reln_add(net->graph, a.x, b.x), reln_add(net->graph, a.s, b.s)};
}

/* ---- blocks --------------------------------------------------------------------------------------------------------------- */

/* Scores [sum_c B~(q, k) / 6 + q.k] / sqrt(9 C + D) for the C and D channels of a head. */
static RelnFeatures attention(const RelnNet *net, const SplatsNet *m, RelnFeatures n,
                              RelnNode **looks)
{
    const int c = m->width, d = m->scalars;
    RelnNode *k = reln_nn_lower(net, reln_nn_mixed(net, "att", "Wk", n.x, c));
    const SplatsLook x = {reln_nn_mixed(net, "att", "Wq", n.x, c),
                          reln_scale(net->graph, k, 1.0 / 6),
                          reln_nn_mixed(net, "att", "Wv", n.x, c)};
    const SplatsLook s = {reln_nn_mixed(net, "att", "Sq", n.s, d),
                          reln_nn_mixed(net, "att", "Sk", n.s, d),
                          reln_nn_mixed(net, "att", "Sv", n.s, d)};
    const RelnFeatures sum =
        splats_attend(net, x, s, m->heads, 1.0 / sqrt((9.0 * c + d) / m->heads), looks);

    return (RelnFeatures){reln_nn_linear(net, "ox", sum.x, c), reln_nn_dense(net, "os", sum.s, d)};
}

/* Invariants of matrices, and with brackets the triple products B~([x Wa, x Wb], x), which change sign in a
 * mirror. */
static RelnNode *all_invariants(const RelnNet *net, const char *name, RelnNode *x,
                                RelnNode *bracketed)
{
    RelnNode *both[2] = {invariants(net, name, x), NULL};

    if (!bracketed)
        return both[0];
    both[1] = squash(net->graph, form(net, bracketed, x));
    return reln_concat(net->graph, 2, both, RELN_C);
}

static RelnFeatures forward(const RelnNet *net, const SplatsNet *m, RelnFeatures n)
{
    RelnGraph *g = net->graph;
    RelnNode *twist = m->bracket ? bracket(net, m, "b", n.x) : NULL;
    RelnNode *h = gate(net, m, "g", reln_nn_linear(net, "x1", n.x, 2 * m->width));
    RelnNode *x = reln_nn_linear(net, "x2", scaled(net, "t", h, n.s), m->width);
    RelnNode *both[2] = {n.s, all_invariants(net, "z", n.x, twist)};
    RelnNode *s =
        reln_gelu(g, reln_nn_dense(net, "s1", reln_concat(g, 2, both, RELN_C), 4 * m->scalars));

    if (twist)
        x = reln_add(g, x, twist);
    return (RelnFeatures){x, reln_nn_dense(net, "s2", s, m->scalars)};
}

RelnFeatures splats_reln_block(const RelnNet *net, const SplatsNet *m, RelnFeatures f, double skip,
                               RelnNode **looks)
{
    f = reln_nn_residual(net, f, attention(net, m, norm(net, m, "n1", f), looks), skip);
    return reln_nn_residual(net, f, forward(net, m, norm(net, m, "n2", f)), skip);
}

/* A block of tokens and positions as a function: its gradient computes the values of the block again, which takes less time than
 * writing them to memory and reading them there would take, if they were kept for all objects of a batch. */
static RelnFeatures block_of(const RelnNet *net, const SplatsNet *m, RelnFeatures f,
                             RelnFeatures pos, double skip, RelnNode **looks)
{
    RelnGraph *g = net->graph;
    RelnNet inside = *net;
    RelnNode *out[3] = {NULL};

    inside.graph = reln_fn_begin(g, "block");
    if (!inside.graph) /* an error before the block */
        return (RelnFeatures){0};
    f = splats_reln_block(&inside, m, plus(&inside, f, pos), skip, looks);
    out[0] = f.x;
    out[1] = f.s;
    out[2] = looks ? *looks : NULL;
    if (!reln_call(g, reln_fn_end(inside.graph, looks ? 3 : 2, out), 0, NULL, out))
        return (RelnFeatures){0};
    if (looks)
        *looks = out[2];
    return (RelnFeatures){out[0], out[1]};
}

static RelnFeatures blocks(const RelnNet *net, const SplatsNet *m, RelnFeatures f, RelnFeatures pos,
                           bool decoder, RelnNode **looks)
{
    const int depth = decoder ? m->decoder : m->depth;

    for (int i = 0; i < depth; i++) {
        const RelnNet block = reln_nn_within(net, decoder ? "dec%d" : "enc%d", i);

        f = block_of(&block, m, f, pos, depth > 1 ? m->skip * i / (depth - 1) : 0,
                     i == depth - 1 ? looks : NULL);
    }
    return norm(net, m, decoder ? "dnorm" : "norm", f);
}

static RelnFeatures pick(const RelnNet *net, RelnFeatures f, RelnNode *index)
{
    return (RelnFeatures){reln_pick(net->graph, f.x, index, RELN_P),
                          reln_pick(net->graph, f.s, index, RELN_P)};
}

/* ---- pre-training ----------------------------------------------------------------------------------------------------------- */

/* A mask token m_c I and invariants: only multiples of I are invariant under rotations. */
static RelnFeatures mask_token(const RelnNet *net, const SplatsNet *m, RelnFeatures like)
{
    RelnGraph *g = net->graph;
    const RelnInit small = {RELN_INIT_NORMAL, 0.02};
    RelnNode *s = reln_nn_param(net, "mask", "s", (RelnDims){.c = m->scalars}, small), *x;

    if (m->wrong == SPLATS_FREE_MASK)
        x = reln_nn_param(net, "mask", "x", (RelnDims){.k = 9, .c = m->width},
                          (RelnInit){RELN_INIT_NORMAL, 1.0});
    else
        x = reln_mul(g, reln_nn_param(net, "mask", "x", (RelnDims){.c = m->width}, small),
                     identity(net));
    return (RelnFeatures){reln_expand(g, x, like.x), reln_expand(g, s, like.s)};
}

static RelnFeatures decode(const RelnNet *net, const SplatsNet *m, RelnFeatures seen, RelnNode *c,
                           RelnNode *visible, RelnNode *hidden)
{
    RelnGraph *g = net->graph;
    const RelnFeatures pos = position(net, "dpos", m, c);
    const RelnFeatures mask = mask_token(net, m, pick(net, pos, hidden));
    RelnNode *order[2] = {visible, hidden}, *x[2] = {seen.x, mask.x}, *s[2] = {seen.s, mask.s};
    const RelnFeatures at = pick(net, pos, reln_concat(g, 2, order, RELN_P));
    const RelnFeatures y =
        blocks(net, m, (RelnFeatures){reln_concat(g, 2, x, RELN_P), reln_concat(g, 2, s, RELN_P)},
               at, true, NULL);

    return (RelnFeatures){reln_slice(g, y.x, RELN_P, m->groups - m->masked, m->masked),
                          reln_slice(g, y.s, RELN_P, m->groups - m->masked, m->masked)};
}

/* Moves channels, one for each slot, to the axis of members. */
static RelnNode *slots(const RelnNet *net, RelnNode *x)
{
    return reln_swap_axes(net->graph, x, RELN_Q, RELN_C);
}

/* The projector: positions by vee, log covariances as symmetric matrices, the rest from invariants, including
 * B~. */
static void reconstruct(const RelnNet *net, const SplatsNet *m, RelnFeatures rebuilt,
                        SplatsGuess *out)
{
    RelnGraph *g = net->graph;
    const int n = m->slots;
    RelnNode *both[2] = {rebuilt.s, invariants(net, "pz", rebuilt.x)};
    RelnNode *s = reln_concat(g, 2, both, RELN_C);
    RelnNode *log = symmetric(net, reln_nn_linear(net, "plog", rebuilt.x, n));
    RelnNode *size = reln_mul(g, reln_nn_dense(net, "psize", s, n), identity(net));
    const RelnDims dims = {.p = m->masked, .q = n, .c = 3};

    out->xyz = slots(net, vee(net, reln_nn_linear(net, "pxyz", rebuilt.x, n)));
    out->log = slots(net, reln_add(g, log, size));
    out->opacity = slots(net, reln_nn_dense(net, "popacity", s, n));
    out->colour = reln_reshape(g, reln_nn_dense(net, "pcolour", s, 3 * n), dims);
}

static RelnNode *mean_all(RelnGraph *g, RelnNode *x)
{
    for (RelnAxis a = RELN_P; a <= RELN_C; a = (RelnAxis)(a + 1))
        if (a != RELN_K)
            x = reln_mean(g, x, a);
    return x;
}

/* Chamfer distance of positions in the units of the object, lengths of differences of log Sigma, and absolute
 * differences of invariants: none of them depends on the frame. */
static void judge(const RelnNet *net, const SplatsNet *m, const Inputs *in, RelnNode *hidden,
                  SplatsGuess *out)
{
    RelnGraph *g = net->graph;
    RelnNode *d = reln_slice(g, reln_pick(g, in->d, hidden, RELN_P), RELN_Q, 0, m->slots);
    RelnNode *log = reln_slice(g, reln_pick(g, in->log, hidden, RELN_P), RELN_Q, 0, m->slots);
    RelnNode *s = reln_slice(g, reln_pick(g, in->s, hidden, RELN_P), RELN_Q, 0, m->slots);
    RelnNode *e = reln_sub(g, out->log, log);

    out->losses[0] = reln_scale(g, splats_chamfer(net, out->xyz, d), SPLATS_NEAR * SPLATS_NEAR);
    out->losses[1] =
        mean_all(g, reln_abs(g, reln_sub(g, out->opacity, reln_slice(g, s, RELN_C, 0, 1))));
    out->losses[2] = mean_all(g, reln_sqrt(g, reln_shift(g, reln_pair(g, e, e), 1.0, 1e-12)));
    out->losses[4] =
        mean_all(g, reln_abs(g, reln_sub(g, out->colour, reln_slice(g, s, RELN_C, 1, 3))));
    out->total = reln_add(g, reln_add(g, out->losses[0], out->losses[1]),
                          reln_add(g, out->losses[2], out->losses[4]));
}

SplatsGuess splats_reln_guess(const RelnNet *net, const SplatsNet *m, SplatsParts *parts)
{
    const Inputs in = inputs(net, m);
    const RelnFeatures tokens = all_tokens(net, m, &in);
    RelnNode *visible = splats_index(net, m, false), *hidden = splats_index(net, m, true);
    const RelnFeatures pos = pick(net, position(net, "pos", m, in.c), visible);
    const RelnFeatures seen = blocks(net, m, pick(net, tokens, visible), pos, false, NULL);
    const RelnFeatures rebuilt = decode(net, m, seen, in.c, visible, hidden);
    SplatsGuess out = {0};

    reconstruct(net, m, rebuilt, &out);
    judge(net, m, &in, hidden, &out);
    if (parts)
        *parts = (SplatsParts){.tokens = tokens, .visible = seen, .rebuilt = rebuilt};
    return out;
}

/* ---- classifier -------------------------------------------------------------------------------------------------------------- */

/* Number of handed products of a token, and number of learned weights with which each is added up. */
enum { HANDED = 4, HANDED_WEIGHTS = 4 };

/* Products of three that change sign in a mirror: the place c of each group, the shape M of the group, and the shape G of the
 * object, as B~([hat(c), M], G), before anything is learned. M is the mean of log Sigma or of d d^T over the group; G is the
 * mean of log Sigma or of c c^T over the object. */
static RelnNode *handed(const RelnNet *net, const Inputs *in)
{
    RelnGraph *g = net->graph;
    RelnNode *log = reln_mean(g, in->log, RELN_Q);
    RelnNode *group[2] = {log, reln_mean(g, square_of(net, in->d), RELN_Q)};
    RelnNode *object[2] = {reln_mean(g, log, RELN_P), reln_mean(g, square_of(net, in->c), RELN_P)};
    RelnNode *products[HANDED];

    for (int i = 0; i < HANDED; i++)
        products[i] =
            form(net, reln_bracket(g, net->algebra, hat(net, in->c), group[i / 2]), object[i % 2]);
    return reln_concat(g, HANDED, products, RELN_C);
}

/* Means over tokens of handed products, plain and with weights that are learned from the invariants s of the tokens. Batch norms
 * bring them to size 1: by themselves they are small, and training did not find them. */
static RelnNode *handed_means(const RelnNet *net, const Inputs *in, RelnNode *s)
{
    RelnGraph *g = net->graph;
    RelnNode *t = reln_nn_batch_norm_invariants(net, "handed", handed(net, in), NULL);
    RelnNode *w = reln_tanh(g, reln_nn_dense(net, "weights", s, HANDED_WEIGHTS));
    RelnNode *parts[HANDED + 1] = {t};

    for (int i = 0; i < HANDED; i++)
        parts[i + 1] = reln_mul(g, reln_slice(g, t, RELN_C, i, 1), w);
    t = reln_mean(g, reln_concat(g, HANDED + 1, parts, RELN_C), RELN_P);
    return reln_nn_batch_norm_invariants(net, "means", t, NULL);
}

/* Uses no class token, whose nine free numbers would prefer a direction, but the largest matrix of each
 * channel, the mean, and invariants of both. Parts that change sign in a mirror add up over tokens, so that
 * means distinguish left from right. */
static RelnNode *read_out(const RelnNet *net, const SplatsNet *m, const Inputs *in, RelnFeatures y)
{
    RelnGraph *g = net->graph;
    const RelnFeatures all = pool_both(net, m, y, RELN_P);
    RelnNode *twist = m->bracket ? bracket(net, m, "twist", all.x) : NULL;
    RelnNode *parts[4] = {squash(g, form(net, all.x, all.x)),
                          all_invariants(net, "read", all.x, twist), all.s};
    int n = 3;

    if (m->handed) {
        const RelnNet hand = reln_nn_within(net, "hand");

        parts[n++] = handed_means(&hand, in, y.s);
    }
    return reln_concat(g, n, parts, RELN_C);
}

static RelnFeatures with_class_token(const RelnNet *net, const SplatsNet *m, RelnFeatures tokens)
{
    RelnNode *x = reln_nn_param(net, "class", "x", (RelnDims){.k = 9, .c = m->width},
                                (RelnInit){RELN_INIT_NORMAL, 1.0});

    return (RelnFeatures){reln_add(net->graph, tokens.x, x), tokens.s};
}

RelnNode *splats_reln_logits(const RelnNet *net, const SplatsNet *m, SplatsParts *parts)
{
    const Inputs in = inputs(net, m);
    const RelnFeatures tokens = all_tokens(net, m, &in);
    const RelnFeatures start =
        m->wrong == SPLATS_CLASS_TOKEN ? with_class_token(net, m, tokens) : tokens;
    RelnNode *looks = NULL;
    const RelnFeatures y = blocks(net, m, start, position(net, "pos", m, in.c), false, &looks);
    RelnNode *features = read_out(net, m, &in, y);

    if (parts)
        *parts = (SplatsParts){.tokens = tokens,
                               .visible = y,
                               .features = features,
                               .looks = looks,
                               .inputs = {in.d, in.log, in.s, in.c}};
    return splats_head(net, m, features);
}
