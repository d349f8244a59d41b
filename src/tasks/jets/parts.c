/* parts.c -- our network for few jets: no messages between pairs, but invariants with the parts of a jet.
 *
 * Beams are not rows here. With them, transverse momenta and angles are invariants: a network that uses them gives the same
 * answer in every frame, if the beams are transformed with the jet. A jet is divided into two, three and four parts
 * (reln_nn_parts()), four-vectors without parameters. Particles use their angles to the parts, and exchange information through means over
 * the jet; the decoder uses the products of the parts. Several such networks, the towers, are trained side by side, each with
 * a loss, and their logits are averaged; they share the invariants, which take most of the time.
 */
#include "tasks/jets/parts.h"

#include <stdio.h>

enum { CLASSES = 2, NAME = 40, FROM = 2, TO = 4, ROUNDS = 6, COLUMNS = 64 };

/* A Frame holds invariants of particles and of the jet, in double precision. */
typedef struct Frame {
    RelnNode *p, *total, *beams; /* momenta of rows, and of samples */
    RelnNode *pt, *sum;          /* transverse momenta of rows, and their sum for samples */
    RelnNode *share;             /* pt / sum */
    RelnNode *with, *own;        /* p.total of rows, total.total of samples */
} Frame;

static RelnNode *psi(const JetsNet *n, RelnNode *t, double unit)
{
    return jets_psi_node(n->g, jets_narrow(n->g, reln_scale(n->g, t, 1.0 / unit)));
}

/* Computes pt from the products with the beams b = (sqrt 2, 0, 0, +-1): E = (p.b1 + p.b2) / (2 sqrt 2),
 * pz = (p.b2 - p.b1) / 2, pt^2 = E^2 - pz^2. */
static RelnNode *transverse(const JetsNet *n, RelnNode *p, RelnNode *beams)
{
    RelnGraph *g = n->g;
    RelnNode *t[JETS_BEAMS], *e, *z;

    for (int b = 0; b < JETS_BEAMS; b++)
        t[b] = jets_vector_form(n, p, reln_slice(g, beams, RELN_C, b, 1));
    e = reln_scale(g, reln_add(g, t[0], t[1]), 1 / (2 * JETS_SQRT2));
    z = reln_scale(g, reln_sub(g, t[1], t[0]), 0.5);
    e = reln_relu(g, reln_sub(g, reln_square(g, e), reln_square(g, z)));
    return reln_sqrt(g, reln_shift(g, e, 1.0, 1e-6));
}

static Frame frame_of(const JetsNet *n, RelnNode *p, RelnNode *total, RelnNode *beams)
{
    RelnGraph *g = n->g;
    Frame f = {.p = p, .total = total, .beams = beams};

    f.pt = transverse(n, p, reln_spread(g, beams, n->rows));
    f.sum = reln_reduce(g, f.pt, RELN_SAMPLES);
    f.share = reln_div(g, f.pt, reln_spread(g, f.sum, n->rows));
    f.with = jets_vector_form(n, p, reln_spread(g, total, n->rows));
    f.own = jets_vector_form(n, total, total);
    return f;
}

/* ---- invariants ----------------------------------------------------------------------------------------------------- */

/* A Known holds the invariants of a particle and of the jet. */
typedef struct Known {
    int n_rows, n_jet;
    RelnNode *rows[COLUMNS], *jet[COLUMNS];
} Known;

static void put_row(Known *out, RelnNode *x)
{
    out->rows[out->n_rows++] = x;
}

static void put_jet(Known *out, RelnNode *x)
{
    out->jet[out->n_jet++] = x;
}

/* sum_i share_i t_i */
static RelnNode *by_share(const JetsNet *n, const Frame *f, RelnNode *t)
{
    return reln_reduce(n->g, reln_mul(n->g, f->share, t), RELN_SAMPLES);
}

/* Returns half the squared angle between each particle and a part X: (p.X) / (pt pt(X)). */
static RelnNode *angle_to(const JetsNet *n, const Frame *f, RelnNode *part, RelnNode *pt)
{
    RelnGraph *g = n->g;
    RelnNode *unit = reln_spread(g, reln_div(g, part, pt), n->rows);

    return reln_abs(g, reln_div(g, jets_vector_form(n, f->p, unit), f->pt));
}

/* The angles between particles and parts, the shares of parts; and the sums over particles of share times the
 * smallest angle, and times its square: how far the jet is from `count` rays. */
static void put_angles(const JetsNet *n, const Frame *f, RelnNode *parts, int count, Known *out)
{
    RelnGraph *g = n->g;
    RelnNode *least = NULL;

    for (int i = 0; i < count; i++) {
        RelnNode *part = reln_slice(g, parts, RELN_C, i, 1);
        RelnNode *pt = transverse(n, part, f->beams), *angle = angle_to(n, f, part, pt);

        put_jet(out, psi(n, reln_div(g, pt, f->sum), 0.02));
        put_row(out, psi(n, angle, 1e-2));
        least = least ? reln_minimum(g, least, angle) : angle;
    }
    put_jet(out, psi(n, by_share(n, f, least), 1e-3));
    least = reln_sqrt(g, reln_shift(g, least, 1.0, 1e-8));
    put_jet(out, psi(n, by_share(n, f, least), 1e-2));
}

/* The products of `count` parts at two scales; for three parts, also the smallest product of two. */
static void put_parts(const JetsNet *n, const Frame *f, int count, Known *out)
{
    RelnGraph *g = n->g;
    RelnNode *parts = reln_nn_parts(n->net, f->p, count, ROUNDS), *t, *rows[TO];

    put_angles(n, f, parts, count, out);
    t = reln_channel_gram(g, parts, jets_lower(n, parts));
    for (int i = 0; i < count; i++) /* row i of the upper triangle */
        rows[i] = reln_slice(g, reln_slice(g, t, RELN_R, i, 1), RELN_C, i, count - i);
    t = reln_concat(g, count, rows, RELN_C);
    put_jet(out, psi(n, t, 1));
    put_jet(out, psi(n, t, 1000));
    if (count == 3) { /* numbers 1, 2 and 4 of the triangle are products of two different parts */
        RelnNode *least =
            reln_minimum(g, reln_slice(g, t, RELN_C, 1, 1), reln_slice(g, t, RELN_C, 2, 1));

        least = reln_minimum(g, least, reln_slice(g, t, RELN_C, 4, 1));
        put_jet(out, psi(n, least, 1000));
    }
}

/* A particle's transverse momentum, alone and as a share; its share of the energy in the jet's rest frame; its
 * angle to the jet. */
static void put_particles(const JetsNet *n, const Frame *f, Known *out)
{
    RelnGraph *g = n->g;
    RelnNode *own = reln_spread(g, reln_shift(g, reln_abs(g, f->own), 1.0, 1.0), n->rows);
    RelnNode *both = reln_mul(g, f->pt, reln_spread(g, f->sum, n->rows));

    put_row(out, psi(n, f->pt, 0.3));
    put_row(out, psi(n, f->share, 1e-3));
    put_row(out, psi(n, reln_div(g, f->with, own), 1e-3));
    put_row(out, psi(n, reln_div(g, f->with, both), 1e-2));
    put_row(out, n->scalars);
}

static Known invariants(const JetsNet *n, const Frame *f)
{
    RelnGraph *g = n->g;
    Known out = {0};

    put_jet(&out, psi(n, reln_reduce(g, jets_ones(n, n->rows), RELN_SAMPLES), 1));
    put_jet(&out, psi(n, f->own, 1));
    put_jet(&out, psi(n, f->own, 3e4));
    put_jet(&out, psi(n, f->sum, 1));
    for (int count = FROM; count <= TO; count++)
        put_parts(n, f, count, &out);
    put_particles(n, f, &out);
    return out;
}

/* ---- towers --------------------------------------------------------------------------------------------------------- */

/* A Name is the name of a layer of a tower. */
typedef struct Name {
    char text[NAME];
} Name;

static Name named(int tower, const char *layer, int number)
{
    Name name;

    snprintf(name.text, sizeof name.text, "tower%d.%.12s%d", tower, layer, number);
    return name;
}

static RelnNode *dense(const JetsNet *n, int tower, const char *layer, int number, RelnNode *x)
{
    return jets_affine(n, named(tower, layer, number).text, x, n->model->width);
}

static RelnNode *joined(RelnGraph *g, RelnNode *a, RelnNode *b)
{
    return reln_concat(g, 2, (RelnNode *[]){a, b}, RELN_C);
}

/* Means over the particles of a jet: weighted by shares, so that soft particles count little; and unweighted. */
static RelnNode *means(const JetsNet *n, const Frame *f, RelnNode *h)
{
    RelnGraph *g = n->g;
    RelnNode *weighted = reln_reduce(g, reln_mul(g, jets_narrow(g, f->share), h), RELN_SAMPLES);

    return joined(g, weighted, reln_reduce_mean(g, h, RELN_SAMPLES));
}

/* h + phi([h, rows, means of h]), with a norm */
static RelnNode *updated(const JetsNet *n, int tower, int block, const Frame *f, RelnNode *h,
                         RelnNode *rows)
{
    RelnGraph *g = n->g;
    RelnNode *u = joined(g, joined(g, h, rows), reln_spread(g, means(n, f, h), n->rows));

    u = dense(n, tower, "update", 2 * block, u);
    u = reln_relu(g, jets_norm(n, named(tower, "norm", block).text, u));
    return reln_add(g, h, dense(n, tower, "update", 2 * block + 1, u));
}

static RelnNode *dropped(const JetsNet *n, int tower, int number, RelnNode *x)
{
    const uint64_t key = (uint64_t)(10 * tower + number);

    return n->net->train && n->model->dropout > 0 ? reln_dropout(n->g, x, n->model->dropout, key)
                                                  : x;
}

static RelnNode *tower_of(const JetsNet *n, int tower, const Frame *f, RelnNode *rows,
                          RelnNode *jet)
{
    RelnGraph *g = n->g;
    RelnNode *h = reln_relu(g, dense(n, tower, "embedding", 0, rows)), *out;

    h = dense(n, tower, "embedding", 1, h);
    for (int i = 0; i < n->model->blocks; i++)
        h = updated(n, tower, i, f, h, rows);
    out = joined(g, jets_norm(n, named(tower, "means", 0).text, means(n, f, h)), jet);
    out = dropped(n, tower, 1, out);
    out = dropped(n, tower, 2, reln_relu(g, dense(n, tower, "decoder", 0, out)));
    out = dropped(n, tower, 3, reln_relu(g, dense(n, tower, "decoder", 1, out)));
    return jets_affine(n, named(tower, "decoder", 2).text, out, CLASSES);
}

RelnNode *jets_parts(const JetsNet *n, RelnNode *p, RelnNode *total, RelnNode *beams,
                     RelnNode *first)
{
    RelnGraph *g = n->g;
    const int towers = n->model->towers;
    const Frame f = frame_of(n, p, total, beams);
    const Known known = invariants(n, &f);
    RelnNode *rows = jets_norm(n, "rows", reln_concat(g, known.n_rows, known.rows, RELN_C));
    RelnNode *jet = jets_norm(n, "jet", reln_concat(g, known.n_jet, known.jet, RELN_C)), *out;

    out = first ? first : tower_of(n, 0, &f, rows, jet);
    for (int t = 1; t < towers; t++) {
        RelnNode *logits = tower_of(n, t, &f, rows, jet);

        out = n->net->train ? joined(g, out, logits) : reln_add(g, out, logits);
    }
    return n->net->train ? out : reln_scale(g, out, 1.0 / towers);
}
