/* ours.c -- our network: a weighted fit with learned weights, and a smoother that learns its iteration.
 *
 * Given the covariances, the best estimate of a displacement is a sum of the velocities, each times a matrix. A smoother finds
 * it by solving normal equations. This network begins with a polynomial in time (polynomial.c), whose few normal equations it
 * solves, and takes steps from there towards the solution for all nodes, u -> u + (G (v - u)) A + u B. Here u are
 * vectors at the nodes of the window, and G are resolvents (1 + C/c)^-1 of the covariances there: near 1 along axes where a
 * velocity is accurate, and near 0 where it is not. A and B are learned matrices that mix nodes and channels, different in every
 * layer. The network starts as Landweber's iteration with a bell for A, and learns the rest. It is linear in the velocities, so
 * it is correct in any units that velocities and the network's sizes c share, and it respects all rotations and reflections.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tasks/drone/nets.h"
#include "tensor/linalg.h"

/* Velocities in the network have sizes near 1: a tenth of those in m/s, unless inputs are normalised. */
#define TENTH 0.1

static double unit_of(const DroneRow *row)
{
    return row->normal ? 1 / DRONE_USUAL : TENTH;
}

#define NOISE 0.02 /* share of the usual random starting weights */

enum { NODES = 40, EACH = DRONE_WINDOW / NODES, NAME = 32 };

static const char *named(char name[NAME], const char *part, int i)
{
    snprintf(name, NAME, "%s%d", part, i);
    return name;
}

/* Moves points and channels to channels: (P, K, C) -> (K, P C), by slices, since coordinates must stay in
 * place. */
static RelnNode *as_channels(RelnGraph *g, RelnNode *x)
{
    const RelnDims d = x ? reln_node_dims(x) : (RelnDims){.p = 1};
    RelnNode *turned = reln_swap_axes(g, x, RELN_P, RELN_C), *part[64];

    for (int i = 0; i < d.c && i < 64; i++)
        part[i] = reln_slice(g, turned, RELN_P, i, 1);
    return x ? reln_concat(g, d.c < 64 ? d.c : 64, part, RELN_C) : NULL;
}

/* Returns means over the samples of a node. */
static RelnNode *nodes_of(RelnGraph *g, RelnNode *x)
{
    return as_channels(g, reln_window_mean(g, x, RELN_P, reln_window_valid(EACH, EACH, 1)));
}

/* x W with W starting from 0: a layer that changes nothing at first. */
static RelnNode *from_zero(const RelnNet *net, const char *name, RelnNode *x, int to)
{
    const int from = x ? reln_node_dims(x).c : 1;

    return reln_mix(net->graph, x,
                    reln_param(net->graph, name, (RelnDims){.r = from, .c = to},
                               (RelnInit){RELN_INIT_CONSTANT, 0}));
}

/* ---- matrices over the nodes ---------------------------------------------------------------------------------------- */

/* Matrices that mix nodes are sums of these: smoothers (1 + lambda D^T D)^-1, D the second difference, and the identity. A
 * smoother is what a penalty on acceleration gives, ends of the window included, and has no parameters. */
enum { SMOOTHERS = 5, BASES = SMOOTHERS + 1, BEGINS = 1 };
static const double penalties[SMOOTHERS] = {3, 30, 300, 3000, 30000};

/* Writes D^T D times lambda, plus 1. */
static void penalised(double lambda, double *a)
{
    static const double second[3] = {1, -2, 1};

    memset(a, 0, NODES * NODES * sizeof *a);
    for (int n = 0; n < NODES; n++)
        a[n * NODES + n] = 1;
    for (int n = 0; n + 3 <= NODES; n++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                a[(n + i) * NODES + n + j] += lambda * second[i] * second[j];
}

/* The bases as a constant with rows of NODES^2 numbers. */
static RelnNode *bases(RelnGraph *g)
{
    double all[BASES][NODES * NODES] = {{0}}, a[NODES * NODES];

    for (int j = 0; j < SMOOTHERS; j++) {
        penalised(penalties[j], a);
        if (reln_inverse(reln_graph_ctx(g), NODES, a, all[j]) != RELN_OK)
            return NULL;
    }
    for (int n = 0; n < NODES; n++)
        all[SMOOTHERS][n * NODES + n] = 1;
    return reln_const(g, (RelnDims){.r = BASES, .c = NODES * NODES}, NULL, all[0]);
}

/* x M, where x has `from` channels of NODES nodes each, and the blocks of M are sums of bases with learned factors. */
static RelnNode *mixed(const RelnNet *net, const char *name, RelnNode *x, RelnNode *basis, int to)
{
    RelnGraph *g = net->graph;
    const int from = x ? reln_node_dims(x).c / NODES : 1;
    RelnNode *a = reln_param(g, name, (RelnDims){.p = from, .q = to, .c = BASES},
                             (RelnInit){RELN_INIT_NORMAL, NOISE / sqrt(from * BASES)});
    RelnNode *m = reln_reshape(g, reln_mix(g, a, basis),
                               (RelnDims){.p = from, .q = to, .r = NODES, .c = NODES});

    m = reln_swap_axes(g, m, RELN_Q, RELN_R); /* (from, nodes, to, nodes) */
    return reln_mix(g, x, reln_reshape(g, m, (RelnDims){.r = from * NODES, .c = to * NODES}));
}

/* ---- the polynomial at the start ------------------------------------------------------------------------------------ */

/* The factors of resolvents, squares and cubes have these logarithms at the start, for sizes c from small to large. The square of the
 * first dominates: a measurement with errors of 4 m/s counts about 3,000 times less than one with errors of 0.2 m/s. */
enum { SIZES = 3, POWERS = 3 };
static const double factors[POWERS][SIZES] = {{-5, -8, -8}, {0, -8, -8}, {-2, -8, -8}};

/* Computes weights of samples, sums of powers of resolvents with learned positive factors: (P, 9, 3) -> (P, 9, 1). */
static RelnNode *weights(const RelnNet *net, RelnNode *m)
{
    RelnGraph *g = net->graph;
    const RelnDims dims = {.r = POWERS * SIZES};
    RelnNode *square = reln_matmul(g, 3, m, m),
             *power[] = {m, square, reln_matmul(g, 3, square, m)};
    RelnNode *logs = reln_param(g, "fit.w", dims, (RelnInit){RELN_INIT_CONSTANT, 0});

    logs = reln_add(g, reln_scale(g, logs, DRONE_FIT_PACE), reln_const(g, dims, NULL, factors[0]));
    return reln_mix(g, reln_concat(g, POWERS, power, RELN_C),
                    reln_cast(g, reln_exp(g, logs), RELN_F64));
}

/* Fits a polynomial to the measurements of all sensors. */
static DroneFit fitted(const RelnNet *net, RelnNode *m, RelnNode *v, int sensors)
{
    RelnGraph *g = net->graph;
    RelnNode *w = NULL, *wv = NULL;

    for (int s = 0; s < sensors; s++) {
        RelnNode *own = weights(net, reln_slice(g, m, RELN_C, s * SIZES, SIZES));
        RelnNode *pulled = drone_apply(net, own, reln_slice(g, v, RELN_C, s, 1));

        w = w ? reln_add(g, w, own) : own;
        wv = wv ? reln_add(g, wv, pulled) : pulled;
    }
    return drone_fit(net, w, wv, NODES);
}

/* ---- layers ----------------------------------------------------------------------------------------------------------- */

#define FIRST_LOG -3.2 /* variances begin as (0.2 m)^2 */

/* The identity times a learned number. */
static RelnNode *identity(const RelnNet *net, const char *name)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnGraph *g = net->graph;
    RelnNode *unit = reln_const(g, (RelnDims){.k = 9}, reln_rep_matrix(reln_graph_group(g)), one);

    return reln_mul(
        g, unit,
        reln_param(g, name, (RelnDims){.c = 1}, (RelnInit){RELN_INIT_CONSTANT, FIRST_LOG}));
}

/* Multiplies velocities by every resolvent of their own sensor: G v, in the order of the resolvents. */
static RelnNode *weighed(const RelnNet *net, RelnNode *m, RelnNode *v, int sensors)
{
    RelnGraph *g = net->graph;
    const int each = m ? reln_node_dims(m).c / sensors : 1;
    RelnNode *part[2];

    for (int s = 0; s < sensors; s++)
        part[s] = drone_apply(net, reln_slice(g, m, RELN_C, s * each, each),
                              reln_slice(g, v, RELN_C, s, 1));
    return reln_concat(g, sensors, part, RELN_C);
}

/* Computes the logarithm of the covariance: a symmetric matrix, linear in the resolvents, in products of two of them, and in the
 * logarithm of the fit's information. */
static RelnNode *log_covariance(const RelnNet *net, RelnNode *m, RelnNode *information, int width)
{
    RelnGraph *g = net->graph;
    RelnNode *a = reln_nn_linear(net, "cov.a", m, width),
             *b = reln_nn_linear(net, "cov.b", m, width);
    RelnNode *x = reln_add(g, from_zero(net, "cov.M", m, 1),
                           from_zero(net, "cov.P", reln_matmul(g, 3, a, b), 1));

    x = reln_add(g, x, identity(net, "cov.one"));
    if (information)
        x = reln_add(g, x,
                     reln_mul(g, reln_cast(g, reln_symlog(g, information), RELN_DEFAULT),
                              reln_param(g, "cov.fit", (RelnDims){.c = 1},
                                         (RelnInit){RELN_INIT_CONSTANT, -1})));
    return reln_scale(g, reln_add(g, x, reln_transpose_matrix(g, x)), 0.5);
}

/* Repeats x `times` times, as channels. */
static RelnNode *repeated(RelnGraph *g, RelnNode *x, int times)
{
    RelnNode *part[6];

    for (int i = 0; i < times; i++)
        part[i] = x;
    return reln_concat(g, times, part, RELN_C);
}

/* Puts the nodes of u into the first of `width` channels; the others are 0. */
static RelnNode *first_of(RelnGraph *g, RelnNode *u, int width)
{
    RelnNode *part[] = {u, width > 1 ? reln_scale(g, repeated(g, u, width - 1), 0) : NULL};

    return reln_concat(g, width > 1 ? 2 : 1, part, RELN_C);
}

/* Returns the vertical vector, which all rotations about the vertical keep, at every node. */
static RelnNode *upwards(const RelnNet *net, RelnNode *like)
{
    static const double up[3] = {0, 0, 1};
    RelnGraph *g = net->graph;
    RelnNode *one = reln_const(g, (RelnDims){.k = 3}, reln_rep_vector(reln_graph_group(g)), up);

    return reln_expand(g, one, reln_slice(g, like, RELN_C, 0, 1));
}

RelnNode *drone_ours(const RelnNet *net, const DroneModel *model)
{
    RelnGraph *g = net->graph;
    const DroneRow *row = model->row;
    const RelnRep *vector = reln_rep_vector(reln_graph_group(g)),
                  *matrix = reln_rep_matrix(reln_graph_group(g));
    const int n_m = drone_size_m(row->input, model->sensors) / (9 * DRONE_WINDOW);
    const RelnDtype dtype = row->fit ? RELN_F64 : RELN_DEFAULT; /* as drone_fit() needs it */
    RelnNode *v =
        reln_input(g, "v", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 3, .c = model->sensors},
                   vector, dtype);
    RelnNode *m = reln_input(g, "m", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 9, .c = n_m},
                             matrix, dtype);
    RelnNode *at, *basis = bases(g), *u = NULL, *seen, *pulled, *last[2];
    DroneFit fit = {0};
    char name[NAME];

    if (!row->normal)
        v = reln_scale(g, v, TENTH);
    if (row->fit) {
        fit = fitted(net, m, v, model->sensors);
        u = first_of(g, reln_cast(g, fit.u, RELN_DEFAULT), row->width);
        v = reln_cast(g, v, RELN_DEFAULT);
        m = reln_cast(g, m, RELN_DEFAULT);
    }
    at = nodes_of(g, m);
    seen = nodes_of(g, v);
    pulled = nodes_of(g, weighed(net, m, v, model->sensors));
    for (int i = 0; i < row->layers; i++) {
        RelnNode *now = u ? reln_slice(g, u, RELN_C, 0, NODES) : NULL, *from[2];
        int n = 0;

        from[n++] = now ? reln_sub(g, pulled, drone_apply(net, at, repeated(g, now, n_m))) : pulled;
        if (u)
            from[n++] = u;
        now =
            mixed(net, named(name, "step", i), reln_concat(g, n, from, RELN_C), basis, row->width);
        if (row->gravity)
            now = reln_add(
                g, now,
                from_zero(net, named(name, "up", i), upwards(net, seen), row->width * NODES));
        u = u ? reln_add(g, u, now) : now;
    }
    last[0] = u;
    last[1] = seen;
    u = from_zero(net, "out.W", reln_concat(g, 2, last, RELN_C), 1);
    return row->covariance
               ? reln_concat_k(g, u, log_covariance(net, at, fit.information, row->prep))
               : u;
}

/* ---- starting values ---------------------------------------------------------------------------------------------- */

static void put(const RelnEntryInfo *w, ptrdiff_t i, double value)
{
    if (w->dtype == RELN_F64)
        ((double *)w->values)[i] = value;
    else
        ((float *)w->values)[i] = (float)value;
}

static double get(const RelnEntryInfo *w, ptrdiff_t i)
{
    return w->dtype == RELN_F64 ? ((const double *)w->values)[i]
                                : (double)((const float *)w->values)[i];
}

#define EAGER 1.6 /* length of a step */

/* A step begins with a smoother, from the first resolvent of each sensor to the first channel. */
static void begin_step(const RelnEntryInfo *w, int n_m, int sensors)
{
    const int to = w->dims.q;

    for (int s = 0; s < sensors; s++) {
        const ptrdiff_t i = (ptrdiff_t)s * (n_m / sensors) * to * BASES + BEGINS;

        put(w, i, get(w, i) + EAGER / sensors);
    }
}

/* The output starts as the integral of the first channel minus that of the measured velocities. */
void drone_ours_begin(RelnStore *store, const DroneModel *model)
{
    const double size = (DRONE_WINDOW - 1) * DRONE_STEP / NODES / unit_of(model->row);
    const int n_m = drone_size_m(model->row->input, model->sensors) / (9 * DRONE_WINDOW),
              width = model->row->width * NODES;
    RelnEntryInfo w;
    char name[NAME];

    for (int i = 0; i < model->row->layers; i++) {
        if (reln_store_find(store, named(name, "step", i), &w))
            begin_step(&w, n_m, model->sensors);
    }
    if (reln_store_find(store, "out.W", &w))
        for (int i = 0; i < NODES; i++) {
            put(&w, i, size);
            for (int s = 0; s < model->sensors; s++)
                put(&w, width + s * NODES + i, -size / model->sensors);
        }
}
