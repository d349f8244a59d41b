/* toy.c -- a generator of jets: virtuality-ordered showers of light quarks, gluons and top quarks.
 *
 * The jet is made along +x at rapidity 0; at the end it gets a rapidity and an angle. Four-momentum is conserved at every
 * splitting and decay, until particles are made massless and a detector is simulated.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/jets/jets.h"

typedef struct Vec4 {
    double v[4];
} Vec4;

typedef enum Flavour { QUARK, GLUON } Flavour;

/* Constants of the shower, found by comparing counts and masses with those of real jets. */
#define KT0 0.25     /* GeV: softer splittings are not resolved */
#define LAMBDA 0.45  /* GeV, of the running coupling with five flavours */
#define FROZEN 0.8   /* GeV^2: the coupling stays below */
#define RADIUS 0.8   /* of the jet */
#define PT_LOW 550.0 /* GeV, of accepted jets */
#define PT_HIGH 650.0
#define TOP_MASS 172.76
#define TOP_WIDTH 1.42
#define W_MASS 80.38
#define W_WIDTH 2.085

enum { ROOM = 4096, DEPTH = 200 };

/* A Shower is a jet that is being made. */
typedef struct Shower {
    RelnRng *rng;
    int n;
    Vec4 p[ROOM];
    bool full;
} Shower;

static double uniform(Shower *s)
{
    return 1.0 - reln_rng_uniform(s->rng); /* in (0, 1], so that its logarithm is finite */
}

/* ---- kinematics ------------------------------------------------------------------------------------------------------ */

static double length_of(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Transforms from the rest frame of P to the frame in which P is given. */
static Vec4 boost_with(const Vec4 *P, double mass, const Vec4 *q)
{
    const double *b = P->v + 1, *r = q->v + 1;
    const double along = b[0] * r[0] + b[1] * r[1] + b[2] * r[2];
    const double e = (P->v[0] * q->v[0] + along) / mass, f = (q->v[0] + e) / (P->v[0] + mass);

    return (Vec4){{e, r[0] + f * b[0], r[1] + f * b[1], r[2] + f * b[2]}};
}

/* Computes two unit vectors perpendicular to a direction. */
static void frame_of(const double *n, double a[3], double b[3])
{
    const double helper[3] = {fabs(n[0]) < 0.9, fabs(n[0]) >= 0.9, 0};
    double size;

    a[0] = n[1] * helper[2] - n[2] * helper[1];
    a[1] = n[2] * helper[0] - n[0] * helper[2];
    a[2] = n[0] * helper[1] - n[1] * helper[0];
    size = length_of(a);
    for (int i = 0; i < 3; i++)
        a[i] /= size;
    b[0] = n[1] * a[2] - n[2] * a[1];
    b[1] = n[2] * a[0] - n[0] * a[2];
    b[2] = n[0] * a[1] - n[1] * a[0];
}

static double momentum_in_rest(double M, double a, double b)
{
    const double sum = M * M - (a + b) * (a + b), difference = M * M - (a - b) * (a - b);

    return sqrt(fmax(0, sum * difference)) / (2 * M);
}

/* P of mass M decays to masses a and b at polar angle theta from P and azimuth phi, in its rest frame. */
static void decay(const Vec4 *P, double M, double a, double b, double cosine, double phi,
                  Vec4 out[2])
{
    const double q = momentum_in_rest(M, a, b), sine = sqrt(fmax(0, 1 - cosine * cosine));
    const double size = length_of(P->v + 1);
    double n[3] = {1, 0, 0}, u[3], w[3];
    Vec4 first, second;

    for (int i = 0; i < 3 && size > 0; i++)
        n[i] = P->v[i + 1] / size;
    frame_of(n, u, w);
    first.v[0] = sqrt(q * q + a * a);
    second.v[0] = sqrt(q * q + b * b);
    for (int i = 0; i < 3; i++) {
        first.v[i + 1] = q * (cosine * n[i] + sine * (cos(phi) * u[i] + sin(phi) * w[i]));
        second.v[i + 1] = -first.v[i + 1];
    }
    out[0] = boost_with(P, M, &first);
    out[1] = boost_with(P, M, &second);
}

static double angle_between(const Vec4 *p, const Vec4 *q)
{
    const double *a = p->v + 1, *b = q->v + 1;
    const double cosine = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / (length_of(a) * length_of(b));

    return acos(fmin(1, fmax(-1, cosine)));
}

/* ---- the shower ------------------------------------------------------------------------------------------------------ */

/* One loop, five flavours: 12 pi / (23 ln(k^2 / Lambda^2)) */
static double coupling(double k2)
{
    return 12 * JETS_PI / (23 * log(fmax(k2, FROZEN) / (LAMBDA * LAMBDA)));
}

/* A Split is a splitting: mass of the parent and the energy share of its softer child; z < 0: none, the mass
 * of a cluster. */
typedef struct Split {
    double mass, z;
} Split;

static Split cluster_of(Shower *s, double energy, double most)
{
    const double mass = 2 + 2 * uniform(s);

    return (Split){fmin(mass, fmin(0.45 * energy, 0.45 * most)), -1};
}

/* Returns the probability of a splitting relative to 1 / z. */
static double splitting(Flavour flavour, double z)
{
    if (flavour == QUARK)
        return (1 + (1 - z) * (1 - z)) / 2;
    return fmin(1, (1 - z) + z * z / (1 - z) + z * z * (1 - z));
}

/* The veto algorithm in t = m^2 down from t_max: candidates by an overestimate, accepted with the true
 * probability. */
static Split evolve(Shower *s, double energy, double t_max, double m_max, double theta,
                    Flavour flavour)
{
    const double charge = flavour == QUARK ? 4.0 / 3 : 3, high = flavour == QUARK ? 1 : 0.5;
    const double low = KT0 * KT0 / (m_max * m_max), most = coupling(0);
    double t = t_max;

    if (low >= high)
        return cluster_of(s, energy, m_max);
    const double rate = most / (2 * JETS_PI) * 2 * charge * log(high / low);
    for (;;) {
        double z, kt2;

        t *= pow(uniform(s), 1 / rate);
        if (t < 4 * KT0 * KT0)
            return cluster_of(s, energy, m_max);
        z = low * pow(high / low, uniform(s));
        kt2 = z * (1 - z) * t;
        if (kt2 > KT0 * KT0 && t / (z * (1 - z) * energy * energy) < theta * theta &&
            uniform(s) < splitting(flavour, z) * coupling(kt2) / most)
            return (Split){sqrt(t), z};
    }
}

static Split virtuality(Shower *s, double energy, double m_max, double theta, Flavour flavour)
{
    return evolve(s, energy, m_max * m_max, m_max, theta, flavour);
}

static void keep(Shower *s, const Vec4 *p)
{
    s->full = s->full || s->n == ROOM;
    if (!s->full)
        s->p[s->n++] = *p;
}

/* Splits a cluster in two until the pieces are light; these are then made massless. */
static void fall_apart(Shower *s, const Vec4 *P, double M, int depth)
{
    const double u = uniform(s), w = uniform(s);
    const double a = 0.9 * M * fmin(u, w), b = 0.9 * M * fabs(u - w);
    Vec4 out[2];

    if (M < 0.21 || P->v[0] < 0.3 || depth == 0) {
        Vec4 light = *P;

        light.v[0] = length_of(P->v + 1);
        if (light.v[0] > 0)
            keep(s, &light);
        return;
    }
    decay(P, M, a, b, 2 * uniform(s) - 1, 2 * JETS_PI * uniform(s), out);
    fall_apart(s, &out[0], a, depth - 1);
    fall_apart(s, &out[1], b, depth - 1);
}

/* cos of the angle in the rest frame for which the softer child, `a`, has the share z of the energy */
static double cosine_for(Shower *s, const Vec4 *P, double M, double a, double b, double z)
{
    const double q = momentum_in_rest(M, a, b), size = length_of(P->v + 1);
    const double rest = (M * M + a * a - b * b) / (2 * M);
    const double cosine = (z * P->v[0] * M - P->v[0] * rest) / (size * q);

    return q > 0 && size > 0 && fabs(cosine) <= 1 ? cosine : 2 * uniform(s) - 1;
}

static void shower(Shower *s, const Vec4 *P, Split split, Flavour flavour, int depth)
{
    const double M = split.mass, z = split.z;
    Split soft, hard;
    Vec4 out[2];

    if (z < 0 || depth == 0) {
        fall_apart(s, P, M, DEPTH);
        return;
    }
    const double e = P->v[0], theta = M / (sqrt(z * (1 - z)) * e);
    const double most_soft = M * sqrt(z), most_hard = M * sqrt(1 - z);

    soft = virtuality(s, z * e, most_soft, theta, GLUON);
    hard = virtuality(s, (1 - z) * e, most_hard, theta, flavour);
    while (hard.mass * hard.mass / (1 - z) + soft.mass * soft.mass / z > 0.98 * M * M) {
        const bool worse = hard.mass * hard.mass / (1 - z) > soft.mass * soft.mass / z;
        Split *which = worse ? &hard : &soft;

        if (which->z < 0) /* a cluster, which splits no further */
            which->mass *= 0.5;
        else
            *which = evolve(s, worse ? (1 - z) * e : z * e, which->mass * which->mass,
                            worse ? most_hard : most_soft, theta, worse ? flavour : GLUON);
    }
    decay(P, M, soft.mass, hard.mass, cosine_for(s, P, M, soft.mass, hard.mass, z),
          2 * JETS_PI * uniform(s), out);
    shower(s, &out[0], soft, GLUON, depth - 1);
    shower(s, &out[1], hard, flavour, depth - 1);
}

/* ---- beginnings ------------------------------------------------------------------------------------------------------ */

/* pT^-5 on [510, 700] */
static double draw_pt(Shower *s)
{
    const double a = pow(510, -4), b = pow(700, -4);

    return pow(a - (a - b) * reln_rng_uniform(s->rng), -0.25);
}

static double breit_wigner(Shower *s, double mass, double width)
{
    for (;;) {
        const double m = mass + 0.5 * width * tan(JETS_PI * (reln_rng_uniform(s->rng) - 0.5));

        if (fabs(m - mass) < 15)
            return m;
    }
}

static Vec4 along_x(double pt, double mass)
{
    return (Vec4){{sqrt(pt * pt + mass * mass), pt, 0, 0}};
}

static bool near_axis(const Vec4 *p, double radius)
{
    return hypot(jets_eta(p->v), jets_phi(p->v)) < radius;
}

static void start_light(Shower *s)
{
    const Flavour flavour = reln_rng_uniform(s->rng) < 0.5 ? GLUON : QUARK;
    const double pt = draw_pt(s);
    const Split split = virtuality(s, pt, 0.48 * pt, 0.9, flavour);
    const Vec4 P = along_x(pt, split.mass);

    shower(s, &P, split, flavour, DEPTH);
}

/* t -> b W, W -> q q', each of which showers: first massless, to know their angles, then with their
 * virtualities. Returns false when they do not lie within the jet. */
static bool start_top(Shower *s)
{
    const double pt = draw_pt(s), mt = breit_wigner(s, TOP_MASS, TOP_WIDTH),
                 mw = breit_wigner(s, W_MASS, W_WIDTH);
    const double cosine[2] = {2 * uniform(s) - 1, 2 * uniform(s) - 1},
                 phi[2] = {2 * JETS_PI * uniform(s), 2 * JETS_PI * uniform(s)};
    const Vec4 P = along_x(pt, mt);
    const bool lost = reln_rng_uniform(s->rng) < 0.35;
    const double share = 1 - 0.6 * reln_rng_uniform(s->rng);
    Vec4 bw[2], qq[2];
    Split b, q[2];
    int n_b;

    decay(&P, mt, 0, mw, cosine[0], phi[0], bw);
    decay(&bw[1], mw, 0, 0, cosine[1], phi[1], qq);
    if (!near_axis(&bw[0], RADIUS) || !near_axis(&qq[0], RADIUS) || !near_axis(&qq[1], RADIUS))
        return false;
    b = virtuality(s, bw[0].v[0], (mt - mw) / 2, angle_between(&bw[0], &bw[1]), QUARK);
    for (int i = 0; i < 2; i++)
        q[i] = virtuality(s, qq[i].v[0], mw / 2, angle_between(&qq[0], &qq[1]), QUARK);
    decay(&P, mt, b.mass, mw, cosine[0], phi[0], bw);
    decay(&bw[1], mw, q[0].mass, q[1].mass, cosine[1], phi[1], qq);
    shower(s, &bw[0], b, QUARK, DEPTH);
    n_b = s->n;
    for (int i = 0; i < n_b && lost; i++) /* a neutrino is not detected */
        for (int k = 0; k < 4; k++)
            s->p[i].v[k] *= share;
    for (int i = 0; i < 2; i++)
        shower(s, &qq[i], q[i], QUARK, DEPTH);
    return true;
}

/* ---- detector -------------------------------------------------------------------------------------------------------- */

static int poisson(Shower *s, double mean)
{
    const double limit = exp(-mean);
    double product = uniform(s);
    int n = 0;

    for (; product > limit && n < 60; n++)
        product *= uniform(s);
    return n;
}

/* Adds soft particles of other origin: Poisson(8 g) of them, g from Gamma(1/2) of mean 1, a wide
 * distribution. */
static void add_background(Shower *s)
{
    const double normal = reln_rng_normal(s->rng);
    const int n = poisson(s, fmin(60, 8 * normal * normal)); /* Gamma(1/2) / (1/2) = normal^2 */

    for (int i = 0; i < n; i++) {
        const double pt = -2 * log(uniform(s)), r = RADIUS * sqrt(uniform(s)),
                     a = 2 * JETS_PI * uniform(s), eta = r * cos(a), phi = r * sin(a);
        const Vec4 p = {{pt * cosh(eta), pt * cos(phi), pt * sin(phi), pt * sinh(eta)}};

        keep(s, &p);
    }
}

/* Multiplies each particle by a log-normal factor of mean 1, like a calorimeter. */
static void smear(Shower *s)
{
    for (int i = 0; i < s->n; i++) {
        const double pt = jets_pt(s->p[i].v);
        const double variance = 0.64 / fmax(pt, 1e-3) + 0.01;
        const double factor = exp(sqrt(variance) * reln_rng_normal(s->rng) - variance / 2);

        for (int k = 0; k < 4; k++)
            s->p[i].v[k] *= factor;
    }
}

static void cut(Shower *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++)
        if (jets_pt(s->p[i].v) > 0.1 && near_axis(&s->p[i], RADIUS))
            s->p[n++] = s->p[i];
    s->n = n;
}

static int by_falling_pt(const void *a, const void *b)
{
    const double x = jets_pt(a), y = jets_pt(b);

    return x > y ? -1 : x < y;
}

/* Makes one attempt; returns false if it is not a jet of the wanted momentum. */
static bool attempt(Shower *s, bool top)
{
    double total[4];

    s->n = 0;
    s->full = false;
    if (top && !start_top(s))
        return false;
    if (!top)
        start_light(s);
    add_background(s);
    smear(s);
    cut(s);
    jets_sum(s->n, s->p[0].v, total);
    return !s->full && s->n >= 4 && s->n <= JETS_MOST && jets_pt(total) > PT_LOW &&
           jets_pt(total) < PT_HIGH;
}

/* Merges the pair of the smallest product into a massless particle until there are `want`. */
static void merge_to(Shower *s, int want)
{
    while (s->n > want) {
        double least = (double)INFINITY;
        int a = 0, b = 1;

        for (int i = 0; i < s->n; i++)
            for (int j = i + 1; j < s->n; j++) {
                const double t = jets_dot(s->p[i].v, s->p[j].v);

                if (t < least) {
                    least = t;
                    a = i;
                    b = j;
                }
            }
        for (int k = 0; k < 4; k++)
            s->p[a].v[k] += s->p[b].v[k];
        s->p[a].v[0] = length_of(s->p[a].v + 1);
        s->p[b] = s->p[--s->n];
    }
}

/* N(36, 8) within [16, 60] */
static int draw_count(Shower *s)
{
    for (;;) {
        const double n = round(36 + 8 * reln_rng_normal(s->rng));

        if (n >= 16 && n <= 60)
            return (int)n;
    }
}

/* Gives the jet a rapidity and an angle, and rounds it to the precision of files. */
static void place(Shower *s)
{
    const double phi = 2 * JETS_PI * reln_rng_uniform(s->rng);
    double eta, boost[16];

    do
        eta = 0.9 * reln_rng_normal(s->rng);
    while (fabs(eta) >= 2);
    jets_boost(2, -tanh(eta), boost);
    for (int i = 0; i < s->n; i++) {
        const double x = s->p[i].v[1], y = s->p[i].v[2];

        s->p[i].v[1] = cos(phi) * x - sin(phi) * y;
        s->p[i].v[2] = sin(phi) * x + cos(phi) * y;
        jets_move(boost, 1, s->p[i].v, s->p[i].v);
        for (int k = 0; k < 4; k++)
            s->p[i].v[k] = (double)(float)s->p[i].v[k];
    }
}

int jets_toy_draw(RelnRng *rng, const JetsToy *toy, bool top, double p[JETS_MOST][4])
{
    Shower *s = malloc(sizeof *s);
    int want, n;

    if (!s)
        return -1;
    s->rng = rng;
    want = toy->match_n ? draw_count(s) : 0;
    do
        while (!attempt(s, top))
            ;
    while (s->n < want);
    if (toy->match_n)
        merge_to(s, want);
    place(s);
    qsort(s->p, (size_t)s->n, sizeof s->p[0], by_falling_pt);
    n = s->n;
    memcpy(p, s->p, (size_t)n * sizeof p[0]);
    free(s);
    return n;
}

/* ---- many jets ------------------------------------------------------------------------------------------------------- */

/* Masses in bins of 10 GeV, by class. */
enum { BINS = 40 };

static int bin_of(int n, const double *p)
{
    double total[4];

    jets_sum(n, p, total);
    return (int)fmin(BINS - 1, sqrt(fmax(0, jets_dot(total, total))) / 10);
}

/* Weights light jets so that their masses are distributed like those of tops; each class keeps its sum of
 * weights. */
static void match_masses(Jets *jets, ptrdiff_t from)
{
    double count[2][BINS] = {{0}}, sum = 0, n = 0;
    ptrdiff_t first = jets_first(jets, from);

    for (ptrdiff_t i = from, at = first; i < jets->n; at += jets->counts[i++])
        count[jets->labels[i]][bin_of(jets->counts[i], jets->p + 4 * at)] += 1;
    for (ptrdiff_t i = from, at = first; i < jets->n; at += jets->counts[i++])
        if (jets->labels[i] == 0) {
            const int b = bin_of(jets->counts[i], jets->p + 4 * at);

            jets->weights[i] = count[1][b] / count[0][b];
            sum += jets->weights[i];
            n++;
        }
    for (ptrdiff_t i = from; i < jets->n; i++)
        if (jets->labels[i] == 0)
            jets->weights[i] *= sum > 0 ? n / sum : 1;
}

RelnStatus jets_toy_fill(TaskEnv *env, const JetsToy *toy, uint64_t seed, uint64_t first,
                         ptrdiff_t n, Jets *out)
{
    const ptrdiff_t from = out->n;
    double p[JETS_MOST][4];

    for (ptrdiff_t i = 0; i < n; i++) {
        RelnRng rng = reln_rng(seed, first + (uint64_t)i);
        const bool top = (first + (uint64_t)i) % 2 == 1;
        const int count = jets_toy_draw(&rng, toy, top, p);

        if (count < 0)
            return task_nomem(env);
        if (!jets_add(out, count, p[0], NULL, top, 1))
            return task_fail(env, RELN_ERR_ARG, "no room for %td jets", n);
    }
    if (toy->match_mass)
        match_masses(out, from);
    return RELN_OK;
}
