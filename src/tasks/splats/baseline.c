/* baseline.c -- Gaussian-MAE: Point-MAE with splats of fourteen numbers.
 *
 * Parameters by the published modules: "tok.a" and "tok.b" are first_conv, "tok.c" and "tok.d" second_conv, "encI" and
 * "decI" blocks, "pos" and "dpos" position embeddings, "norm" and "dnorm" the norms behind the blocks, "xyz" ... "colour"
 * the heads of the reconstruction, "head" that of the classifier.
 */
#include <math.h>

#include "nn/nn.h"
#include "tasks/splats/splats.h"

/* ---- weights --------------------------------------------------------------------------------------------------------- */

/* How weights start: normal with deviation 0.02 and biases 0 in the encoder, Xavier's uniform distribution in
 * the decoder, and the framework's default, U(-1/sqrt(in), 1/sqrt(in)) for both, in the decoder's positions
 * and the heads. */
typedef enum Start { ENCODER, DECODER, DEFAULT } Start;

static RelnInit start_of(Start start, int from, int to)
{
    switch (start) {
    case ENCODER:
        return (RelnInit){RELN_INIT_NORMAL, 0.02};
    case DECODER:
        return (RelnInit){RELN_INIT_UNIFORM, sqrt(6.0 / (from + to))};
    case DEFAULT:
        break;
    }
    return (RelnInit){RELN_INIT_UNIFORM, 1.0 / sqrt(from)};
}

static RelnNode *weight(const RelnNet *net, const char *name, int from, int to, Start start)
{
    return reln_nn_param(net, name, "W", (RelnDims){.r = from, .c = to}, start_of(start, from, to));
}

static RelnNode *plus_bias(const RelnNet *net, const char *name, RelnNode *y, int from, Start start)
{
    const RelnInit init = {start == DEFAULT ? RELN_INIT_UNIFORM : RELN_INIT_CONSTANT,
                           start == DEFAULT ? 1.0 / sqrt(from) : 0.0};

    return reln_add(net->graph, y,
                    reln_nn_param(net, name, "b", (RelnDims){.c = reln_nn_channels(y)}, init));
}

static RelnNode *dense(const RelnNet *net, const char *name, RelnNode *x, int to, Start start)
{
    const int from = reln_nn_channels(x);

    return plus_bias(net, name, reln_mix(net->graph, x, weight(net, name, from, to, start)), from,
                     start);
}

/* ---- tokeniser -------------------------------------------------------------------------------------------------------- */

/* relu(batch norm(.)) */
static RelnNode *normed(const RelnNet *net, const char *name, RelnNode *x)
{
    return reln_relu(net->graph, reln_nn_batch_norm_invariants(net, name, x, NULL));
}

/* d(relu(norm(c [group's maximum, own]))), then the maximum of each group. The half of c that reads the
 * maximum is computed once for a group. */
static RelnNode *second(const RelnNet *net, RelnNode *f, int hidden, int width)
{
    RelnGraph *g = net->graph;
    const int c = reln_nn_channels(f);
    RelnNode *w = weight(net, "c", 2 * c, hidden, DEFAULT);
    RelnNode *most = reln_nn_pool_largest(net, f, RELN_Q);
    RelnNode *u = reln_add(g, reln_mix(g, f, reln_slice(g, w, RELN_R, c, c)),
                           reln_mix(g, most, reln_slice(g, w, RELN_R, 0, c)));

    u = normed(net, "cn", plus_bias(net, "c", u, 2 * c, DEFAULT));
    return reln_nn_pool_largest(net, dense(net, "d", u, width, DEFAULT), RELN_Q);
}

/* "Splats pooling": slot j is the mean of the candidates weighted by softmax(-d / t_j), with d the squared
 * distance of a candidate's feature from the group's maximum, and t_j = exp(a_j) + b_j a learned
 * temperature. */
static RelnNode *slots_of(const RelnNet *net, RelnNode *f, int slots)
{
    RelnGraph *g = net->graph;
    const RelnInit zero = {RELN_INIT_CONSTANT, 0.0};
    RelnNode *most = reln_nn_pool_largest(net, f, RELN_Q);
    RelnNode *d = reln_sum(g, reln_square(g, reln_sub(g, f, most)), RELN_C);
    RelnNode *a = reln_nn_param(net, "temperature", "a", (RelnDims){.c = slots}, zero);
    RelnNode *b = reln_nn_param(net, "temperature", "b", (RelnDims){.c = slots}, zero);
    RelnNode *t = reln_add(g, reln_exp(g, a), b);
    RelnNode *w = reln_softmax(g, reln_scale(g, reln_div(g, d, t), -1.0), RELN_Q);
    RelnNode *sums = reln_channel_gram(g, reln_swap_axes(g, w, RELN_Q, RELN_R),
                                       reln_swap_axes(g, f, RELN_Q, RELN_R));

    return reln_swap_axes(g, sums, RELN_Q, RELN_R);
}

/* Groups are rows here, so that layers of members run in tiles. */
RelnNode *splats_tokens(const RelnNet *net, const SplatsNet *m, RelnNode *x)
{
    const RelnNet tok = reln_nn_within(net, "tok");
    RelnGraph *g = net->graph;
    RelnNode *rows = reln_unstack(g, x, reln_fixed(g, "groups", RELN_SAMPLES, reln_node_dims(x).p));
    RelnNode *f = normed(&tok, "an", dense(&tok, "a", rows, m->token[0], DEFAULT));

    f = dense(&tok, "b", f, m->soft ? m->token[0] : m->token[1], DEFAULT);
    f = m->soft ? second(&tok, slots_of(&tok, f, m->slots), 2 * m->token[0], m->width)
                : second(&tok, f, m->token[2], m->width);
    return reln_stack(g, f, RELN_SAMPLES);
}

/* ---- transformer ------------------------------------------------------------------------------------------------------ */

static RelnNode *position(const RelnNet *net, const SplatsNet *m, RelnNode *c, Start start)
{
    RelnNode *h = reln_gelu(net->graph, dense(net, "a", c, m->embed, start));

    return dense(net, "b", h, m->width, start);
}

RelnNode *splats_position(const RelnNet *net, const char *name, const SplatsNet *m, RelnNode *c)
{
    const RelnNet pos = reln_nn_within(net, "%s", name);

    return position(&pos, m, c, name[0] == 'd' ? DEFAULT : ENCODER);
}

static RelnNode *plus(const RelnNet *net, RelnNode *x, RelnNode *branch, double skip)
{
    return reln_nn_residual(net, (RelnFeatures){.s = x}, (RelnFeatures){.s = branch}, skip).s;
}

static RelnNode *attention(const RelnNet *net, const SplatsNet *m, RelnNode *n, Start start,
                           RelnNode **looks)
{
    RelnGraph *g = net->graph;
    const int c = m->width;
    RelnNode *qkv = reln_mix(g, n, weight(net, "qkv", c, 3 * c, start));
    const SplatsLook look = {reln_slice(g, qkv, RELN_C, 0, c), reln_slice(g, qkv, RELN_C, c, c),
                             reln_slice(g, qkv, RELN_C, 2 * c, c)};
    RelnNode *sum =
        splats_attend(net, (SplatsLook){0}, look, m->heads, 1.0 / sqrt((double)c / m->heads), looks)
            .s;

    return dense(net, "proj", sum, c, start);
}

RelnNode *splats_block(const RelnNet *net, const SplatsNet *m, RelnNode *x, double skip,
                       bool decoder, RelnNode **looks)
{
    const Start start = decoder ? DECODER : ENCODER;
    RelnNode *n = reln_nn_layer_norm_invariants(net, "n1", x), *h;

    x = plus(net, x, attention(net, m, n, start, looks), skip);
    n = reln_nn_layer_norm_invariants(net, "n2", x);
    h = reln_gelu(net->graph, dense(net, "fc1", n, 4 * m->width, start));
    return plus(net, x, dense(net, "fc2", h, m->width, start), skip);
}

/* Positions are added to the input of every block. Stochastic depth grows linearly from 0 to `skip`. */
static RelnNode *blocks(const RelnNet *net, const SplatsNet *m, RelnNode *x, RelnNode *pos,
                        bool decoder, RelnNode **looks)
{
    const int depth = decoder ? m->decoder : m->depth;

    for (int i = 0; i < depth; i++) {
        const RelnNet block = reln_nn_within(net, decoder ? "dec%d" : "enc%d", i);
        const double skip = depth > 1 ? m->skip * i / (depth - 1) : 0;

        x = splats_block(&block, m, reln_add(net->graph, x, pos), skip, decoder, looks);
    }
    return reln_nn_layer_norm_invariants(net, decoder ? "dnorm" : "norm", x);
}

static RelnNode *input(const RelnNet *net, const SplatsNet *m)
{
    return reln_input(net->graph, "x", RELN_SAMPLES,
                      (RelnDims){.p = m->groups, .q = m->members, .c = RELN_SPLAT}, NULL,
                      RELN_DEFAULT);
}

static RelnNode *centres(const RelnNet *net, const SplatsNet *m)
{
    return reln_input(net->graph, "c", RELN_SAMPLES, (RelnDims){.p = m->groups, .c = 3}, NULL,
                      RELN_DEFAULT);
}

/* ---- pre-training ------------------------------------------------------------------------------------------------------ */

/* A head: `each` numbers for each slot of a masked token. */
static RelnNode *slot_numbers(const RelnNet *net, const char *name, const SplatsNet *m,
                              RelnNode *rebuilt, int each)
{
    return reln_reshape(net->graph, dense(net, name, rebuilt, each * m->slots, DEFAULT),
                        (RelnDims){.p = m->masked, .q = m->slots, .c = each});
}

/* tanh, q_w <- 1 - q_w, and q / (|q| + 1e-9) */
static RelnNode *quaternion(const RelnNet *net, RelnNode *q)
{
    RelnGraph *g = net->graph;
    RelnNode *t = reln_tanh(g, q), *norm;
    RelnNode *parts[2] = {reln_shift(g, reln_slice(g, t, RELN_C, 0, 1), -1.0, 1.0),
                          reln_slice(g, t, RELN_C, 1, 3)};

    t = reln_concat(g, 2, parts, RELN_C);
    norm = reln_sqrt(g, reln_sum(g, reln_square(g, t), RELN_C));
    return reln_div(g, t, reln_shift(g, norm, 1.0, 1e-9));
}

/* mean |a - b| */
static RelnNode *mean_difference(const RelnNet *net, RelnNode *a, RelnNode *b)
{
    RelnGraph *g = net->graph;
    RelnNode *d = reln_abs(g, reln_sub(g, a, b));

    for (RelnAxis axis = RELN_P; axis <= RELN_C; axis = (RelnAxis)(axis + 1))
        if (axis != RELN_K)
            d = reln_mean(g, d, axis);
    return d;
}

static void judge(const RelnNet *net, const SplatsNet *m, RelnNode *x, RelnNode *hidden,
                  SplatsGuess *out)
{
    RelnGraph *g = net->graph;
    RelnNode *truth = reln_slice(g, reln_pick(g, x, hidden, RELN_P), RELN_Q, 0, m->slots);
    RelnNode *guess[5] = {out->xyz, out->opacity, out->scale, out->rotation, out->colour};
    static const int first[5] = {0, RELN_SPLAT_OPACITY, RELN_SPLAT_SCALE, RELN_SPLAT_ROTATION,
                                 RELN_SPLAT_COLOUR},
                     count[5] = {3, 1, 3, 4, 3};

    for (int i = 0; i < 5; i++) {
        RelnNode *want = reln_slice(g, truth, RELN_C, first[i], count[i]);

        out->losses[i] =
            i == 0 ? splats_chamfer(net, guess[i], want) : mean_difference(net, guess[i], want);
        out->total = i == 0 ? out->losses[0] : reln_add(g, out->total, out->losses[i]);
    }
}

static void reconstruct(const RelnNet *net, const SplatsNet *m, RelnNode *rebuilt, SplatsGuess *out)
{
    RelnGraph *g = net->graph;
    RelnNode *opacity = slot_numbers(net, "opacity", m, rebuilt, 1);
    RelnNode *scale = slot_numbers(net, "scale", m, rebuilt, 3);

    out->xyz = slot_numbers(net, "xyz", m, rebuilt, 3);
    out->opacity = m->all ? reln_tanh(g, opacity) : reln_sigmoid(g, opacity);
    out->scale = m->all ? reln_tanh(g, scale) : reln_relu(g, scale);
    out->rotation = quaternion(net, slot_numbers(net, "rotation", m, rebuilt, 4));
    out->colour = slot_numbers(net, "colour", m, rebuilt, 3);
}

/* The decoder gets the visible tokens, then a copy of the mask token for each hidden one, and returns the
 * hidden ones. */
static RelnNode *decode(const RelnNet *net, const SplatsNet *m, RelnNode *seen, RelnNode *c,
                        RelnNode *visible, RelnNode *hidden)
{
    RelnGraph *g = net->graph;
    RelnNode *mask = reln_nn_param(net, "mask", "token", (RelnDims){.c = m->width},
                                   (RelnInit){RELN_INIT_NORMAL, 0.02});
    RelnNode *pos = splats_position(net, "dpos", m, c);
    RelnNode *order[2] = {visible, hidden}, *both[2] = {seen, NULL};
    RelnNode *at = reln_pick(g, pos, reln_concat(g, 2, order, RELN_P), RELN_P), *y;

    both[1] = reln_expand(g, mask, reln_pick(g, pos, hidden, RELN_P));
    y = blocks(net, m, reln_concat(g, 2, both, RELN_P), at, true, NULL);
    return reln_slice(g, y, RELN_P, m->groups - m->masked, m->masked);
}

SplatsGuess splats_baseline_guess(const RelnNet *net, const SplatsNet *m, SplatsParts *parts)
{
    RelnGraph *g = net->graph;
    RelnNode *x = input(net, m), *c = centres(net, m), *tokens = splats_tokens(net, m, x);
    RelnNode *visible = splats_index(net, m, false), *hidden = splats_index(net, m, true);
    RelnNode *pos = reln_pick(g, splats_position(net, "pos", m, c), visible, RELN_P);
    RelnNode *seen = blocks(net, m, reln_pick(g, tokens, visible, RELN_P), pos, false, NULL);
    RelnNode *rebuilt = decode(net, m, seen, c, visible, hidden);
    SplatsGuess out = {0};

    reconstruct(net, m, rebuilt, &out);
    judge(net, m, x, hidden, &out);
    if (parts)
        *parts = (SplatsParts){
            .tokens = {.s = tokens}, .visible = {.s = seen}, .rebuilt = {.s = rebuilt}};
    return out;
}

/* ---- classifier --------------------------------------------------------------------------------------------------------- */

/* Puts a class token with its position before the others; the head reads [class token, maximum of the
 * others]. */
RelnNode *splats_baseline_logits(const RelnNet *net, const SplatsNet *m, SplatsParts *parts)
{
    RelnGraph *g = net->graph;
    const RelnInit small = {RELN_INIT_NORMAL, 0.02};
    RelnNode *x = input(net, m), *c = centres(net, m), *tokens = splats_tokens(net, m, x);
    RelnNode *pos = splats_position(net, "pos", m, c);
    RelnNode *token[2] = {reln_nn_param(net, "class", "token", (RelnDims){.c = m->width}, small),
                          tokens};
    RelnNode *place[2] = {reln_nn_param(net, "class", "position", (RelnDims){.c = m->width}, small),
                          pos};
    RelnNode *looks = NULL;
    RelnNode *y = blocks(net, m, reln_concat(g, 2, token, RELN_P), reln_concat(g, 2, place, RELN_P),
                         false, &looks);
    RelnNode *read[2] = {reln_slice(g, y, RELN_P, 0, 1),
                         reln_nn_pool_largest(net, reln_slice(g, y, RELN_P, 1, m->groups), RELN_P)};
    RelnNode *features = reln_concat(g, 2, read, RELN_C);

    if (parts)
        *parts = (SplatsParts){
            .tokens = {.s = tokens}, .features = features, .looks = looks, .inputs = {x, c}};
    return splats_head(net, m, features);
}
