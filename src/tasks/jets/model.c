/* model.c -- the networks for jets: LorentzNet, ReLN and Lie Neurons in it, our own, and baselines. */
#include <math.h>
#include <stdio.h>

#include "tasks/jets/parts.h"

enum { CLASSES = 2, NAME = 32, BANK = 3, CAPACITY = 4 * (JETS_MOST + JETS_BEAMS) };

/* Momenta are divided by this, in GeV, where they are features and not only in products. */
#define UNIT 10.0
/* Scales of psi in GeV^2: a pair that is soft or collinear, an average one, and one of two subjets. */
static const double bank[BANK] = {0.02, 1.0, 50.0};

const char *jets_symmetry(const JetsModel *model)
{
    return model->clamp > 0 ? "none:4" : "lorentz";
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* Returns how many other rows a row has: all rows of the set but itself, without padding. */
static void count_others(JetsNet *n)
{
    RelnGraph *g = n->g;
    RelnNode *one = n->mask ? jets_wide(g, n->mask) : jets_ones(n, n->rows);
    RelnNode *all = reln_spread(g, reln_reduce(g, one, RELN_SAMPLES), n->rows);
    RelnNode *others = reln_sub(g, all, one);

    n->share = reln_mul(g, one, others);
    n->degree = reln_maximum(g, others, jets_ones(n, n->rows));
}

static JetsNet open_net(const RelnNet *net, const JetsModel *model)
{
    RelnGraph *g = net->graph;
    JetsNet n = {.net = net, .g = g, .model = model};

    n.vector = reln_rep_vector(reln_graph_group(g));
    n.bivector = n.vector ? reln_rep_antisymmetric(n.vector, 2) : NULL;
    return n;
}

/* Declares the rows of a sample, and the invariants of each. */
static void open_rows(JetsNet *n)
{
    RelnGraph *g = n->g;
    const int k = JETS_SCALARS + n->model->extra;

    n->rows = reln_rows(g, "rows", CAPACITY);
    n->pairs = reln_pairs(g, "pairs", n->rows, n->rows, false);
    n->scalars = reln_input(g, "scalars", n->rows, (RelnDims){.c = k}, NULL, RELN_DEFAULT);
    if (n->model->padded > 0)
        n->mask = reln_input(g, "mask", n->rows, (RelnDims){.c = 1}, NULL, RELN_DEFAULT);
    count_others(n);
}

static RelnNode *momenta(const JetsNet *n)
{
    return reln_input(n->g, "p", n->rows, (RelnDims){.k = 4}, n->vector, RELN_F64);
}

/* Momentum of the jet (4, 1) and of the beams (4, 2), for samples. */
static RelnNode *total(const JetsNet *n)
{
    return reln_input(n->g, "total", RELN_SAMPLES, (RelnDims){.k = 4}, n->vector, RELN_F64);
}

static RelnNode *beams(const JetsNet *n)
{
    return reln_input(n->g, "beams", RELN_SAMPLES, (RelnDims){.k = 4, .c = JETS_BEAMS}, n->vector,
                      RELN_F64);
}

/* ---- invariants of pairs ------------------------------------------------------------------------------------------- */

static RelnNode *channel(RelnGraph *g, RelnNode *x, int c)
{
    return reln_slice(g, x, RELN_C, c, 1);
}

static RelnNode *psi_of(RelnGraph *g, RelnNode *t, double scale)
{
    return jets_psi_node(g, jets_narrow(g, reln_scale(g, t, scale)));
}

/* x_i.x_j of all pairs */
static RelnNode *products(const JetsNet *n, RelnNode *x)
{
    return reln_pair_gram(n->g, x, jets_lower(n, x), n->pairs);
}

/* psi of a product at the scales of the bank except the middle one, which every model has */
static int put_bank(const JetsNet *n, RelnNode *t, RelnNode **out)
{
    out[0] = psi_of(n->g, t, 1.0 / bank[0]);
    out[1] = psi_of(n->g, t, 1.0 / bank[BANK - 1]);
    return BANK - 1;
}

/* The published invariants. |x_i - x_j|^2 = x_i.x_i + x_j.x_j - 2 x_i.x_j, in double precision. */
static JetsPairs invariants(const JetsNet *n, RelnNode *x)
{
    RelnGraph *g = n->g;
    const double s = n->model->scale;
    RelnNode *own = jets_vector_form(n, x, x), *dot = products(n, x), *all[2 + BANK];
    JetsPairs out = {.symmetric = true};
    int k = 0;

    if (n->model->pair == JETS_DIFFERENCE) {
        RelnNode *ends =
            reln_add(g, reln_spread(g, own, n->pairs), reln_spread_second(g, own, n->pairs));

        all[k++] = psi_of(g, reln_sub(g, ends, reln_scale(g, dot, 2.0)), s);
    } else {
        out.first = out.second = psi_of(g, own, s);
    }
    all[k++] = psi_of(g, dot, s);
    if (n->model->bank)
        k += put_bank(n, dot, all + k);
    out.s = reln_concat(g, k, all, RELN_C);
    return out;
}

/* ---- read-out ------------------------------------------------------------------------------------------------------ */

/* Memberships of rows in soft subjets: softmax over the subjets, and 0 for beams and padding. */
static RelnNode *memberships(const JetsNet *n, RelnNode *h)
{
    RelnGraph *g = n->g;
    RelnNode *a = reln_softmax(g, jets_affine(n, "subjets", h, n->model->subjets), RELN_C);

    a = reln_mul(g, a, reln_input(g, "particle", n->rows, (RelnDims){.c = 1}, NULL, RELN_DEFAULT));
    return n->mask ? reln_mul(g, a, n->mask) : a;
}

/* psi of the products of all pairs of soft subjets, including their own masses: (C + 1) C / 2 numbers, with a
 * norm. */
static RelnNode *subjet_products(const JetsNet *n, RelnNode *h, RelnNode *p)
{
    RelnGraph *g = n->g;
    const int c = n->model->subjets;
    RelnNode *x = reln_reduce(g, reln_mul(g, jets_wide(g, memberships(n, h)), p), RELN_SAMPLES);
    RelnNode *t = reln_channel_gram(g, x, jets_lower(n, x)), *rows[16];

    for (int i = 0; i < c; i++) /* row i of the upper triangle */
        rows[i] = reln_slice(g, reln_slice(g, t, RELN_R, i, 1), RELN_C, i, c - i);
    t = reln_concat(g, c, rows, RELN_C);
    return jets_norm(n, "subjets.norm", psi_of(g, t, n->model->scale));
}

static RelnNode *decode(const JetsNet *n, RelnNode *pooled)
{
    RelnGraph *g = n->g;
    RelnNode *h = reln_relu(g, jets_affine(n, "decoder0", pooled, n->model->width));

    if (n->net->train && n->model->dropout > 0)
        h = reln_dropout(g, h, n->model->dropout, 1);
    return jets_affine(n, "decoder1", h, CLASSES);
}

/* Means over rows; with padding, sums divided by the padded number. */
static RelnNode *pooled(const JetsNet *n, RelnNode *h)
{
    if (!n->mask)
        return reln_reduce_mean(n->g, h, RELN_SAMPLES);
    return reln_scale(n->g, reln_reduce(n->g, reln_mul(n->g, n->mask, h), RELN_SAMPLES),
                      1.0 / n->model->padded);
}

static RelnNode *read_out(const JetsNet *n, RelnNode *h, RelnNode *p)
{
    RelnNode *out = pooled(n, h);

    if (n->model->subjets > 0)
        out = reln_concat(n->g, 2, (RelnNode *[]){out, subjet_products(n, h, p)}, RELN_C);
    return decode(n, out);
}

/* ---- LorentzNet ---------------------------------------------------------------------------------------------------- */

/* x_i + c mean_j f_ij (x_i - x_j) */
static RelnNode *moved(const JetsNet *n, RelnNode *x, const JetsMessages *m)
{
    RelnGraph *g = n->g;
    RelnNode *mean;

    if (n->model->clamp > 0)
        mean = jets_mean_clamped(n, m->factors, x);
    else
        mean = reln_sub(g, reln_mul(g, jets_mean_factor(n, m->factors), x),
                        jets_mean_of_others(n, m->factors, x));
    return reln_add(g, x, reln_scale(g, mean, n->model->step));
}

/* Makes a value an output by name, in networks for evaluation only. */
static void show(const JetsNet *n, const char *name, const char *part, RelnNode *x)
{
    char full[2 * NAME];

    if (!n->model->shown)
        return;
    snprintf(full, sizeof full, "%s.%s", name, part);
    reln_output(n->g, full, x);
}

static RelnNode *message_blocks(const JetsNet *n, RelnNode *p)
{
    RelnNode *h = jets_affine(n, "embedding", n->scalars, n->model->width), *x = p;

    for (int i = 0; i < n->model->blocks; i++) {
        const bool moves = i + 1 < n->model->blocks;
        const JetsPairs pairs = invariants(n, x);
        JetsMessages m;
        char name[NAME];

        snprintf(name, sizeof name, "block%d", i);
        m = jets_messages(n, name, h, &pairs, moves ? 1 : 0);
        x = moves ? moved(n, x, &m) : x;
        h = jets_update(n, name, h, m.sum, n->scalars);
        show(n, name, "h", h);
        show(n, name, "x", x);
    }
    return h;
}

/* ---- channels of vectors and bivectors ----------------------------------------------------------------------------- */

/* A Grades holds features of a row: four-vectors (4, C) and bivectors (6, C), in double precision. Together
 * they are C elements of so(3,2), the smallest algebra that four-vectors generate. */
typedef struct Grades {
    RelnNode *x, *f;
} Grades;

static RelnNode *mix_weight(const JetsNet *n, const char *name, const char *part, int in, int out)
{
    return jets_wide(n->g, jets_weight(n, name, part, in, out, in));
}

/* y / (1 + |B|^(1/2)), for each channel */
static RelnNode *bounded(RelnGraph *g, RelnNode *y, RelnNode *form)
{
    RelnNode *size = reln_sqrt(g, reln_shift(g, reln_abs(g, form), 1.0, 1e-6));

    return reln_div(g, y, reln_shift(g, size, 1.0, 1.0));
}

/* ReLN-Bracket on grades: [a, b] with a = (x, F) Wa, b = (x, F) Wb. */
static Grades bracket(const JetsNet *n, const char *name, Grades v)
{
    RelnGraph *g = n->g;
    const int c = n->model->channels;
    RelnNode *wa = mix_weight(n, name, "Wa", c, c), *wb = mix_weight(n, name, "Wb", c, c);
    RelnNode *xa = reln_mix(g, v.x, wa), *xb = reln_mix(g, v.x, wb);
    RelnNode *fa = reln_mix(g, v.f, mix_weight(n, name, "Fa", c, c)),
             *fb = reln_mix(g, v.f, mix_weight(n, name, "Fb", c, c));
    Grades y = {.x = reln_sub(g, jets_act(n, fa, xb), jets_act(n, fb, xa)),
                .f = reln_add(g, jets_commute(n, fa, fb), jets_wedge(n, xa, xb))};

    y.x = bounded(g, y.x, jets_vector_form(n, y.x, y.x));
    y.f = bounded(g, y.f, jets_bivector_form(n, y.f, y.f));
    return (Grades){reln_add(g, v.x, reln_scale(g, y.x, n->model->step)),
                    reln_add(g, v.f, reln_scale(g, y.f, n->model->step))};
}

/* Channels of momenta: the particle's own, the jet's, and empty ones that layers fill. */
static Grades start(const JetsNet *n, RelnNode *p)
{
    RelnGraph *g = n->g;
    const int c = n->model->channels;
    RelnNode *both[2] = {p, reln_spread(g, total(n), n->rows)};
    RelnNode *x = reln_scale(g, reln_concat(g, 2, both, RELN_C), 1.0 / UNIT);
    RelnNode *w = mix_weight(n, "start", "Wx", 2, c);
    RelnNode *zero = reln_scale(g, jets_wedge(n, channel(g, x, 0), channel(g, x, 0)), 0.0);

    /* the momentum stays in the first channel, because all products use it */
    x = reln_concat(g, 2, (RelnNode *[]){x, reln_slice(g, reln_mix(g, x, w), RELN_C, 2, c - 2)},
                    RELN_C);
    return (Grades){x, n->model->bivectors ? reln_mix(g, zero, mix_weight(n, "start", "Wf", 1, c))
                                           : NULL};
}

static Grades mixed(const JetsNet *n, const char *name, Grades v)
{
    RelnGraph *g = n->g;
    const int c = n->model->channels;

    v.x = reln_add(g, v.x, reln_scale(g, reln_mix(g, v.x, mix_weight(n, name, "Mx", c, c)), 0.1));
    if (v.f)
        v.f =
            reln_add(g, v.f, reln_scale(g, reln_mix(g, v.f, mix_weight(n, name, "Mf", c, c)), 0.1));
    return v;
}

/* For each channel x_i.x_j, tr(F_i F_j) and x_i.(F_j x_j); for the first, x_i.x_j at more scales. */
static JetsPairs graded_invariants(const JetsNet *n, Grades v)
{
    RelnGraph *g = n->g;
    RelnNode *all[64], *lowered = jets_lower(n, v.x), *turned = NULL, *by_trace = NULL;
    const double s = n->model->scale;
    int k = 0;

    if (v.f) {
        turned = jets_lower(n, jets_act(n, v.f, v.x));
        by_trace = jets_lower_bivector(n, v.f);
    }
    for (int c = 0; c < n->model->channels; c++) {
        RelnNode *t = reln_pair_gram(g, channel(g, v.x, c), channel(g, lowered, c), n->pairs);

        all[k++] = psi_of(g, t, s);
        if (c == 0 && n->model->bank)
            k += put_bank(n, reln_scale(g, t, UNIT * UNIT), all + k);
        if (!v.f)
            continue;
        t = reln_pair_gram(g, channel(g, v.f, c), channel(g, by_trace, c), n->pairs);
        all[k++] = psi_of(g, t, s);
        t = reln_pair_gram(g, channel(g, v.x, c), channel(g, turned, c), n->pairs);
        all[k++] = psi_of(g, t, s);
    }
    return (JetsPairs){.s = reln_concat(g, k, all, RELN_C), .symmetric = !v.f};
}

/* Invariants of a row: x.x and tr F^2 of each channel, and the scalars of the input. */
static RelnNode *own_invariants(const JetsNet *n, Grades v)
{
    RelnGraph *g = n->g;
    const double s = n->model->scale;
    RelnNode *all[3] = {n->scalars, psi_of(g, jets_vector_form(n, v.x, v.x), s)};

    if (v.f)
        all[2] = psi_of(g, jets_bivector_form(n, v.f, v.f), s);
    return reln_concat(g, v.f ? 3 : 2, all, RELN_C);
}

/* x_i += c mean_j a_ij x_j,  F_i += c [x_i, mean_j b_ij x_j], with factors for each channel. Brackets are
 * bilinear, so means come first and each row has one bracket. */
static Grades graded_moves(const JetsNet *n, Grades v, RelnNode *factors)
{
    RelnGraph *g = n->g;
    const int c = n->model->channels;
    RelnNode *a[16], *b[16], *y;

    for (int i = 0; i < c; i++) {
        RelnNode *x = channel(g, v.x, i);

        a[i] = jets_mean_of_others(n, channel(g, factors, i), x);
        b[i] = v.f ? jets_mean_of_others(n, channel(g, factors, c + i), x) : NULL;
    }
    if (v.f) {
        y = jets_wedge(n, v.x, reln_concat(g, c, b, RELN_C));
        v.f = reln_add(g, v.f, reln_scale(g, y, n->model->step));
    }
    y = reln_concat(g, c, a, RELN_C);
    v.x = reln_add(g, v.x, reln_scale(g, y, n->model->step));
    return v;
}

static RelnNode *graded_blocks(const JetsNet *n, RelnNode *p)
{
    RelnNode *h = jets_affine(n, "embedding", n->scalars, n->model->width);
    Grades v = start(n, p);

    for (int i = 0; i < n->model->blocks; i++) {
        const bool moves = i + 1 < n->model->blocks;
        JetsMessages m;
        JetsPairs pairs;
        char name[NAME];

        snprintf(name, sizeof name, "block%d", i);
        if (i > 0)
            v = mixed(n, name, v);
        pairs = graded_invariants(n, v);
        m = jets_messages(n, name, h, &pairs, moves ? n->model->channels * (v.f ? 2 : 1) : 0);
        h = jets_update(n, name, h, m.sum, own_invariants(n, v));
        if (!moves)
            break;
        v = graded_moves(n, v, m.factors);
        if (v.f)
            v = bracket(n, name, v);
    }
    return h;
}

/* ---- particles one by one ------------------------------------------------------------------------------------------ */

/* Particles without messages: invariants of each with the jet and the beams, dense layers, sums. */
static RelnNode *set_network(const JetsNet *n, RelnNode *p)
{
    RelnGraph *g = n->g;
    const int w = n->model->width;
    RelnNode *others[2] = {reln_spread(g, total(n), n->rows), reln_spread(g, beams(n), n->rows)};
    RelnNode *t = jets_vector_form(n, p, reln_concat(g, 2, others, RELN_C));
    RelnNode *h =
        reln_concat(g, 2, (RelnNode *[]){psi_of(g, t, n->model->scale), n->scalars}, RELN_C);

    h = reln_relu(g, jets_affine(n, "each0", jets_norm(n, "each.norm", h), w));
    h = reln_relu(g, jets_affine(n, "each1", h, w));
    h = reln_relu(g, jets_affine(n, "each2", h, w));
    h = jets_norm(n, "sum.norm", reln_reduce(g, h, RELN_SAMPLES));
    h = reln_relu(g, jets_affine(n, "all0", h, w));
    return decode(n, h);
}

/* B(x, y) of so(3,2), its Killing form: 6 x.y + 3 tr(F H) in the metric (-, +, +, +) */
static RelnNode *killing(const JetsNet *n, Grades a, Grades b)
{
    RelnGraph *g = n->g;

    return reln_add(g, reln_scale(g, jets_vector_form(n, a.x, b.x), -6.0),
                    reln_scale(g, jets_bivector_form(n, a.f, b.f), 3.0));
}

static Grades lie_linear(const JetsNet *n, const char *name, Grades v, int out)
{
    const int in = v.x ? reln_node_dims(v.x).c : 1;
    RelnNode *w = mix_weight(n, name, "W", in, out);

    return (Grades){reln_mix(n->g, v.x, w), reln_mix(n->g, v.f, w)};
}

static Grades lie_add(RelnGraph *g, Grades a, Grades b)
{
    return (Grades){reln_add(g, a.x, b.x), reln_add(g, a.f, b.f)};
}

/* Lie Neurons on particles: LN-Linear, LN-Bracket and Killing-ReLU, divided by a bounded size, because
 * otherwise values overflow; sums; Killing invariants of the sums to dense layers. */
static RelnNode *lie_network(const JetsNet *n, RelnNode *p)
{
    RelnGraph *g = n->g;
    const int c = n->model->channels;
    RelnNode *given[3] = {p, reln_spread(g, total(n), n->rows), reln_spread(g, beams(n), n->rows)};
    RelnNode *x = reln_scale(g, reln_concat(g, 3, given, RELN_C), 1.0 / UNIT), *t, *h;
    Grades v, a, b, y;

    v = lie_linear(n, "lie0", (Grades){x, reln_scale(g, jets_wedge(n, x, x), 0.0)}, c);
    for (int i = 0; i < n->model->blocks; i++) {
        char name[NAME];

        snprintf(name, sizeof name, "a%d", i);
        a = lie_linear(n, name, v, c);
        snprintf(name, sizeof name, "b%d", i);
        b = lie_linear(n, name, v, c);
        y = (Grades){reln_sub(g, jets_act(n, a.f, b.x), jets_act(n, b.f, a.x)),
                     reln_add(g, jets_commute(n, a.f, b.f), jets_wedge(n, a.x, b.x))};
        t = killing(n, y, y);
        v = lie_add(g, v, (Grades){bounded(g, y.x, t), bounded(g, y.f, t)});
        snprintf(name, sizeof name, "u%d", i);
        a = lie_linear(n, name, v, c);
        t = killing(n, v, a);
        t = reln_div(g, reln_relu(g, t), reln_shift(g, reln_abs(g, t), 1.0, 1.0));
        v = lie_add(g, v, (Grades){reln_mul(g, t, a.x), reln_mul(g, t, a.f)});
    }
    v = (Grades){reln_reduce_mean(g, v.x, RELN_SAMPLES), reln_reduce_mean(g, v.f, RELN_SAMPLES)};
    t = killing(n, v, v);
    a = lie_linear(n, "directions", v, c);
    h = reln_concat(g, 2, (RelnNode *[]){psi_of(g, t, 1.0), psi_of(g, killing(n, v, a), 1.0)},
                    RELN_C);
    h = reln_relu(g, jets_affine(n, "all0", jets_norm(n, "all.norm", h), n->model->width));
    h = reln_relu(g, jets_affine(n, "all1", h, n->model->width));
    return decode(n, h);
}

static RelnNode *mlp_network(const JetsNet *n)
{
    RelnGraph *g = n->g;
    const int w = n->model->width;
    RelnNode *s = reln_input(g, "invariants", RELN_SAMPLES, (RelnDims){.c = JETS_INVARIANTS}, NULL,
                             RELN_DEFAULT);
    RelnNode *h = reln_relu(g, jets_affine(n, "all0", jets_norm(n, "all.norm", s), w));

    h = reln_relu(g, jets_affine(n, "all1", h, w));
    return decode(n, h);
}

/* ---- LorentzNet beside parts ---------------------------------------------------------------------------------------- */

/* Computes the logits of LorentzNet for particles without rows of beams: the products with the beams are scalars of particles. */
static RelnNode *message_tower(const JetsNet *n, RelnNode *p, RelnNode *with_beams)
{
    RelnNode *t = jets_vector_form(n, p, reln_spread(n->g, with_beams, n->rows));
    JetsModel model = *n->model;
    JetsNet own = *n;

    model.blocks = n->model->messages;
    model.subjets = 0;
    own.model = &model;
    own.scalars =
        reln_concat(n->g, 2, (RelnNode *[]){n->scalars, psi_of(n->g, t, n->model->scale)}, RELN_C);
    return read_out(&own, message_blocks(&own, p), p);
}

static RelnNode *parts_network(const JetsNet *n, RelnNode *p)
{
    RelnNode *both = beams(n);

    return jets_parts(n, p, total(n), both,
                      n->model->messages > 0 ? message_tower(n, p, both) : NULL);
}

/* ---- all networks ------------------------------------------------------------------------------------------------- */

static RelnNode *features(const JetsNet *n, RelnNode *p)
{
    return n->model->kind == JETS_GRADED ? graded_blocks(n, p) : message_blocks(n, p);
}

RelnNode *jets_network(const RelnNet *net, const void *model)
{
    JetsNet n = open_net(net, model);
    RelnNode *p;

    if (n.model->kind == JETS_MLP)
        return mlp_network(&n);
    open_rows(&n);
    p = momenta(&n);
    if (n.model->kind == JETS_SET)
        return set_network(&n, p);
    if (n.model->kind == JETS_PARTS)
        return parts_network(&n, p);
    if (n.model->kind == JETS_LIE)
        return lie_network(&n, p);
    return read_out(&n, features(&n, p), p);
}

RelnNode *jets_memberships(const RelnNet *net, const void *model)
{
    JetsNet n = open_net(net, model);

    open_rows(&n);
    return memberships(&n, features(&n, momenta(&n)));
}

/* sum w l / sum w over the batch */
RelnNode *jets_loss(const RelnNet *net, const void *model, RelnNode *logits)
{
    RelnGraph *g = net->graph;
    RelnNode *label = reln_input_index(g, "label", RELN_SAMPLES, (RelnDims){0}, RELN_STEP, CLASSES);
    RelnNode *w = reln_input(g, "weight", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    const int towers = logits ? reln_node_dims(logits).c / CLASSES : 1;
    RelnNode *sum = NULL;

    (void)model;
    for (int t = 0; t < towers; t++) {
        RelnNode *one = reln_slice(g, logits, RELN_C, CLASSES * t, CLASSES);

        one = reln_mul(g, w, reln_cross_entropy(g, one, label));
        sum = sum ? reln_add(g, sum, one) : one;
    }
    return reln_div(g, reln_batch_sum(g, sum), reln_batch_sum(g, w));
}
