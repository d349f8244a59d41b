/* timeline.c -- networks along time: residual blocks of convolutions over the steps of a window, with one
 * value for each step or for the window, and estimates that the network corrects. */
#include <math.h>
#include <string.h>

#include "graph/op.h"
#include "model/build.h"
#include "model/kinds.h"
#include "reln/ops.h"

static bool is_each(const Build *b)
{
    return b->m->spec.sequence.target == RELN_SEQUENCE_EACH && b->m->spec.sequence.length > 0;
}

/* Returns the number of values of the target side by side; each step has one. */
static int things(const Build *b)
{
    return is_each(b) ? 1 : reln_model_layout(b->m, 0).channels;
}

/* Returns the distance of the taps of block i: 1, 2, 4, ... while half of the taps reach into the window,
 * then from 1 again. */
static int dilation_of(const Build *b, int i)
{
    const int reach = b->m->spec.sequence.taps / 2 > 0 ? b->m->spec.sequence.taps / 2 : 1;
    int rounds = 1;

    while ((1 << rounds) * reach < b->m->points / 2 && rounds < 16)
        rounds++;
    return 1 << (i % rounds);
}

/* Moves the values of steps side by side: (P, 1, 1, K, 1) to (1, 1, 1, K, P). */
static RelnNode *side_by_side(Build *b, RelnNode *y)
{
    return reln_swap_axes(b->g, y, RELN_P, RELN_C);
}

/* ---- equivariant ---------------------------------------------------------------------------------------------------- */

static RelnNode *plus(Build *b, RelnNode *x, RelnNode *y)
{
    return x && y ? reln_add(b->g, x, y) : x ? x : y;
}

/* Computes the vectors of each step, by every linear map from features. */
static RelnNode *mapped(Build *b, RelnNode *x)
{
    const RelnModel *m = b->m;
    const RelnMaps *maps = NULL;
    RelnNode *sum = NULL;

    if (!x || !reln_build_passed(b, reln_maps_linear(m->rep, m->vector, &maps) == RELN_OK))
        return NULL;
    for (int i = 0; i < maps->count; i++)
        sum = plus(b, sum,
                   reln_linear_map(
                       b->g,
                       reln_nn_linear(&b->net, reln_build_name("out.map%d", i).text, x, things(b)),
                       maps->values + (ptrdiff_t)i * m->n * reln_model_k(m), m->vector));
    return sum;
}

/* Computes the vectors of each step: sum_j X_j v_j, with v_j the vectors of the step and X_j mixed from its
 * features. */
static RelnNode *times_own(Build *b, RelnNode *x, RelnNode *v)
{
    const int n = b->m->n, size = reln_algebra_n(b->m->algebra);
    RelnEntry *entries = reln_build_scratch(b, (size_t)(n * n), sizeof *entries);
    RelnTensor3 t = {size * size, n, n, 0, entries};
    RelnNode *sum = NULL;

    for (int i = 0; entries && i < n * n; i++)
        entries[t.count++] = (RelnEntry){i / n * size + i % n, i % n, i / n, 1};
    for (int j = 0; entries && j < b->m->slots[SLOT_V_POINTS].c; j++) {
        RelnNode *h = reln_nn_linear(&b->net, reln_build_name("out.times%d", j).text, x, things(b));

        sum = plus(b, sum,
                   reln_contract(b->g, &t, reln_nn_hat(&b->net, h),
                                 reln_slice(b->g, v, RELN_C, j, 1), b->m->vector));
    }
    return sum;
}

static RelnNode *vectors_of_steps(Build *b, RelnFeatures f)
{
    RelnNode *v = reln_build_input(b, SLOT_V_POINTS), *y = mapped(b, f.x);

    if (v && b->m->algebra)
        y = plus(b, y, times_own(b, f.x, v));
    if (v)
        y = plus(b, y, reln_nn_linear(&b->net, "out.own", v, things(b)));
    if (!y)
        reln_graph_fail(b->g, RELN_ERR_REP,
                        "target %s: no map leads from features %s to vectors under %s; wanted a "
                        "vector among the inputs",
                        b->m->spec.target[0].name, reln_model_features(b->m),
                        reln_group_name(b->m->symmetry));
    return y;
}

static RelnNode *numbers_of_steps(Build *b, RelnFeatures f)
{
    const RelnSpecModel *s = &b->m->spec.model;
    const RelnMlp head = {s->head_hidden, s->head_width ? s->head_width : b->width, 1,
                          s->activation};

    return reln_nn_mlp(&b->net, "head", reln_build_dropped(b, reln_build_invariants(b, f)), &head);
}

/* The vector of a window is the mean of those of its steps; other targets are computed from pooled
 * features. */
static RelnNode *read_out(Build *b, RelnFeatures f)
{
    const RelnTargetAs as = b->m->spec.target[0].as;

    if (as == RELN_TARGET_VECTOR) {
        RelnNode *y = vectors_of_steps(b, f);

        return is_each(b) ? side_by_side(b, y) : reln_mean(b->g, y, RELN_P);
    }
    if (is_each(b) && as == RELN_TARGET_SCALAR)
        return side_by_side(b, numbers_of_steps(b, f));
    if (is_each(b)) {
        reln_graph_fail(
            b->g, RELN_ERR_UNSUPPORTED,
            "target %s: a %s at each step; wanted scalars or vectors, or another target "
            "of the sequence",
            b->m->spec.target[0].name, reln_target_text(as));
        return NULL;
    }
    f.x = reln_nn_pool_mean(&b->net, f.x, RELN_P);
    f.s = reln_nn_pool_mean(&b->net, f.s, RELN_P);
    return reln_build_value(b, f);
}

static RelnNode *equivariant(Build *b)
{
    const RelnSpec *spec = &b->m->spec;
    RelnFeatures f;

    reln_scope_begin(b->g, "lift");
    f = reln_build_features(b);
    reln_scope_end(b->g);
    f = reln_build_complete_block(b, "embed", f);
    for (int i = 0; i < spec->model.depth; i++) {
        const Name name = reln_build_name("block%d", i + 1);

        f = reln_nn_conv_block(&b->net, name.text, f,
                               &(RelnConvBlock){.width = spec->sequence.taps,
                                                .dilation = dilation_of(b, i),
                                                .causal = spec->sequence.causal,
                                                .norm = RELN_BLOCK_RMS_NORM,
                                                .activation = spec->model.activation,
                                                .dropout = spec->model.dropout});
        reln_build_tap(b, name, f.x);
        f.x = reln_nn_rms_norm(&b->net, reln_build_name("%s.norm", name.text).text, f.x);
        f.x = reln_build_steps(b, name.text, f.x);
    }
    return read_out(b, f);
}

/* ---- plain ---------------------------------------------------------------------------------------------------------- */

/* Returns the numbers of an input, with those of each step as channels: (P, 1, 1, 1, C). Numbers of samples
 * are repeated. */
static RelnNode *numbers_of(Build *b, RelnNode *flat, int input)
{
    const RelnModel *m = b->m;
    const int count = m->lift[input].channels, points = m->points;
    RelnNode *s = reln_slice(b->g, flat, RELN_C, m->lift[input].first, count);
    double *ones;

    if (m->spec.input[input].points)
        return reln_reshape(b->g, s, (RelnDims){.p = points, .c = count / points});
    ones = reln_build_scratch(b, (size_t)points, sizeof *ones);
    for (int p = 0; ones && p < points; p++)
        ones[p] = 1;
    return ones ? reln_mul(b->g, s, reln_const(b->g, (RelnDims){.p = points}, NULL, ones)) : NULL;
}

static RelnNode *plain(Build *b)
{
    const RelnSpec *spec = &b->m->spec;
    const int outputs = things(b) * reln_model_target_size(b->m, 0);
    const RelnPadding padding = spec->sequence.causal ? RELN_PAD_CAUSAL : RELN_PAD_SAME;
    RelnNode *parts[RELN_SPEC_INPUTS], *flat = reln_build_input(b, SLOT_FLAT), *y;
    RelnFeatures f = {NULL, NULL};

    for (int i = 0; i < spec->n_inputs; i++)
        parts[i] = numbers_of(b, flat, i);
    f.s = reln_concat(b->g, spec->n_inputs, parts, RELN_C);
    f.s = reln_nn_conv(
        &b->net, "stem", f.s,
        &(RelnConv){.channels = b->width, .width = spec->sequence.taps, .padding = padding});
    f.s = reln_relu(b->g, reln_nn_batch_norm_invariants(&b->net, "stem", f.s, NULL));
    for (int i = 0; i < spec->model.depth; i++)
        f = reln_nn_conv_block(&b->net, reln_build_name("block%d", i + 1).text, f,
                               &(RelnConvBlock){.width = spec->sequence.taps,
                                                .dilation = dilation_of(b, i),
                                                .causal = spec->sequence.causal,
                                                .norm = RELN_BLOCK_BATCH_NORM,
                                                .activation = RELN_ACT_RELU,
                                                .dropout = spec->model.dropout});
    if (!is_each(b))
        f.s = reln_nn_pool_mean(&b->net, f.s, RELN_P);
    y = reln_nn_mlp(&b->net, "head", f.s,
                    &(RelnMlp){spec->model.head_hidden, b->width, outputs, spec->model.activation});
    return is_each(b) && y ? reln_reshape(b->g, y, (RelnDims){.c = b->m->points * outputs}) : y;
}

RelnNode *reln_build_sequence(Build *b)
{
    return reln_model_is_mlp(b->m) ? plain(b) : equivariant(b);
}

/* ---- estimates ------------------------------------------------------------------------------------------------------ */

static int input_of(const Build *b, const char *name)
{
    int i = b->m->spec.n_inputs - 1;

    while (i > 0 && strcmp(b->m->spec.input[i].name, name) != 0)
        i--;
    return i;
}

/* Returns the scalars of an input, without the centre and the width of their columns. */
static RelnNode *raw_scalars(Build *b, int input)
{
    const RelnModel *m = b->m;
    const Lift *lift = &m->lift[input];
    RelnNode *x =
        reln_slice(b->g, reln_build_input(b, SLOT_S_POINTS), RELN_C, lift->first, lift->channels);
    int first;
    const int n = reln_model_columns(m, input, &first);
    double *centre = reln_build_scratch(b, (size_t)n + 1, sizeof *centre);
    double *width = reln_build_scratch(b, (size_t)n + 1, sizeof *width);

    if (n == 0 || !centre || !width)
        return reln_scale(b->g, x, m->constants.scale[input]);
    for (int c = 0; c < n; c++) {
        centre[c] = m->constants.column[first + c].centre;
        width[c] = m->constants.column[first + c].width;
    }
    x = reln_mul(b->g, x, reln_const(b->g, (RelnDims){.c = n}, NULL, width));
    return reln_add(b->g, x, reln_const(b->g, (RelnDims){.c = n}, NULL, centre));
}

/* Returns the numbers of a step of an input, in their original units: (P, 1, 1, K, C). */
static RelnNode *raw(Build *b, int input)
{
    const RelnModel *m = b->m;
    const Lift *lift = &m->lift[input];
    RelnNode *x;

    if (reln_model_is_mlp(m))
        x = numbers_of(b, reln_build_input(b, SLOT_FLAT), input);
    else if (lift->vectors >= 0)
        x = reln_slice(b->g, reln_build_input(b, SLOT_V_POINTS), RELN_C, lift->vectors,
                       m->shapes.input[input].channels);
    else
        return raw_scalars(b, input);
    return reln_scale(b->g, x, m->constants.scale[input]);
}

/* Returns the times from step to step, (P - 1, 1, 1, 1, 1). */
static RelnNode *times_between(Build *b)
{
    RelnNode *t = raw(b, input_of(b, b->m->spec.sequence.time));
    const int fewer = b->m->points - 1;

    return reln_sub(b->g, reln_slice(b->g, t, RELN_P, 1, fewer),
                    reln_slice(b->g, t, RELN_P, 0, fewer));
}

/* Trapezoid rule: each step lasts half of the time from the step before to the step after it, (P, 1, 1, 1,
 * 1). */
static RelnNode *durations(Build *b)
{
    const RelnSpecSequence *s = &b->m->spec.sequence;
    const int points = b->m->points;
    RelnNode *d;
    double *equal;

    if (s->time[0]) {
        d = times_between(b);
        return reln_scale(
            b->g, reln_add(b->g, reln_pad(b->g, d, RELN_P, 1, 0), reln_pad(b->g, d, RELN_P, 0, 1)),
            0.5);
    }
    equal = reln_build_scratch(b, (size_t)points, sizeof *equal);
    for (int p = 0; equal && p < points; p++)
        equal[p] = s->step * (p == 0 || p == points - 1 ? 0.5 : 1);
    return equal ? reln_const(b->g, (RelnDims){.p = points}, NULL, equal) : NULL;
}

/* Computes the integral up to each step: the mean of both ends of a step times its duration, summed over the
 * steps so far. */
static RelnNode *running(Build *b, RelnNode *x)
{
    const int points = b->m->points, c = x ? reln_node_dims(x).c : 1;
    double *ones = reln_build_scratch(b, (size_t)points * (size_t)(c * c), sizeof *ones);
    RelnNode *mean, *w;

    /* a causal convolution of the length of the window, with the identity for each tap, sums all steps so
     * far */
    for (int i = 0; ones && i < points * c; i++)
        ones[i * c + i % c] = 1;
    w = ones ? reln_const(b->g, (RelnDims){.r = points * c, .c = c}, NULL, ones) : NULL;
    mean = reln_scale(b->g,
                      reln_add(b->g, reln_slice(b->g, x, RELN_P, 1, points - 1),
                               reln_slice(b->g, x, RELN_P, 0, points - 1)),
                      0.5);
    mean = b->m->spec.sequence.time[0] ? reln_mul(b->g, mean, times_between(b))
                                       : reln_scale(b->g, mean, b->m->spec.sequence.step);
    return reln_conv(b->g, reln_pad(b->g, mean, RELN_P, 1, 0), w, RELN_P,
                     reln_window_causal(points, 1, 1));
}

RelnNode *reln_build_with_estimate(Build *b, RelnNode *y)
{
    const RelnModel *m = b->m;
    const int input = input_of(b, m->spec.sequence.estimate);
    RelnNode *x = m->ragged ? NULL : raw(b, input), *e, *gain;
    const RelnDims dims = y ? reln_node_dims(y) : (RelnDims){0};

    if (m->ragged)
        reln_graph_fail(b->g, RELN_ERR_UNSUPPORTED,
                        "estimate %s: a network of kind %s sees steps without their order, or some "
                        "are masked out; wanted kind: sequence, resnet or reln, without a mask",
                        m->spec.input[input].name, reln_model_kind_text(m->spec.model.kind));
    if (!x || !y)
        return NULL;
    if (m->shapes.input[input].channels != things(b)) {
        reln_graph_fail(b->g, RELN_ERR_SHAPE,
                        "estimate %s: %d of them beside each other, and %d of target %s; wanted as "
                        "many",
                        m->spec.input[input].name, m->shapes.input[input].channels, things(b),
                        m->spec.target[0].name);
        return NULL;
    }
    if (is_each(b))
        e = reln_model_is_mlp(m) ? reln_reshape(b->g, running(b, x), dims)
                                 : side_by_side(b, running(b, x));
    else
        e = reln_sum(b->g, reln_mul(b->g, x, durations(b)), RELN_P);
    /* the correction starts small */
    gain = reln_param(b->g, "correction", (RelnDims){.c = 1}, (RelnInit){RELN_INIT_CONSTANT, 0.1});
    y = reln_mul(b->g, y, gain);
    e = reln_scale(b->g, e, 1 / m->constants.target[0].deviation);
    if (m->constants.target[0].mean != 0)
        e = reln_shift(b->g, e, 1, -m->constants.target[0].mean / m->constants.target[0].deviation);
    return reln_add(b->g, e, y);
}
