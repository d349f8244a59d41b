/* ours.c -- our network: a smoother that learns its iteration.
 *
 * Given the covariances, the best estimate of a displacement is a sum of the velocities, each times a matrix. A smoother finds
 * it by solving normal equations; this network takes steps towards their solution, u -> u + (G (v - u)) A + u B. Here u are
 * vectors at the nodes of the window, and G are resolvents (1 + C/c)^-1 of the covariances there: near 1 along axes where a
 * velocity is accurate, and near 0 where it is not. A and B are learned matrices that mix nodes and channels, different in every
 * layer. The network starts as Landweber's iteration with a bell for A, and learns the rest. It is linear in the velocities, so
 * it is correct in any units that velocities and the network's sizes c share, and it respects all rotations and reflections.
 */
#include <math.h>
#include <stdio.h>

#include "tasks/drone/nets.h"

#define DRONE_UNIT 0.1 /* unit of velocities in the network, where they have size one */

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

/* The identity times a learned number for each of c channels. */
static RelnNode *identity(const RelnNet *net, const char *name, int c)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnGraph *g = net->graph;
    RelnNode *unit = reln_const(g, (RelnDims){.k = 9}, reln_rep_matrix(reln_graph_group(g)), one);

    return reln_mul(g, unit,
                    reln_param(g, name, (RelnDims){.c = c}, (RelnInit){RELN_INIT_CONSTANT, 0}));
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

/* Computes the logarithm of the covariance: a symmetric matrix, linear in the resolvents and in products of
 * two of them. */
static RelnNode *log_covariance(const RelnNet *net, RelnNode *m, int width)
{
    RelnGraph *g = net->graph;
    RelnNode *a = reln_nn_linear(net, "cov.a", m, width),
             *b = reln_nn_linear(net, "cov.b", m, width);
    RelnNode *x = reln_add(g, from_zero(net, "cov.M", m, 1),
                           from_zero(net, "cov.P", reln_matmul(g, 3, a, b), 1));

    x = reln_add(g, x, identity(net, "cov.one", 1));
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
    RelnNode *v =
        reln_input(g, "v", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 3, .c = model->sensors},
                   vector, RELN_DEFAULT);
    RelnNode *m = reln_input(g, "m", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 9, .c = n_m},
                             matrix, RELN_DEFAULT);
    RelnNode *seen = nodes_of(g, reln_scale(g, v, DRONE_UNIT)), *pulled, *at = nodes_of(g, m),
             *u = NULL, *last[2];
    char name[NAME];

    pulled = nodes_of(g, weighed(net, m, reln_scale(g, v, DRONE_UNIT), model->sensors));
    for (int i = 0; i < row->layers; i++) {
        RelnNode *now = i > 0 ? reln_slice(g, u, RELN_C, 0, NODES) : NULL, *from[3];
        int n = 0;

        from[n++] = now ? reln_sub(g, pulled, drone_apply(net, at, repeated(g, now, n_m))) : pulled;
        if (u)
            from[n++] = u;
        if (row->gravity)
            from[n++] = upwards(net, seen);
        now = reln_nn_linear(net, named(name, "step", i), reln_concat(g, n, from, RELN_C),
                             row->width);
        u = u ? reln_add(g, u, now) : now;
    }
    last[0] = u;
    last[1] = seen;
    u = from_zero(net, "out.W", reln_concat(g, 2, last, RELN_C), 1);
    return row->covariance ? reln_concat_k(g, u, log_covariance(net, at, row->prep)) : u;
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

#define BELL 2.5   /* width, in nodes */
#define NOISE 0.02 /* share of the random starting weights that is kept */
#define EAGER 1.6  /* length of a step */

/* Maps nodes to nodes of the first channel: a bell around each, for the first resolvent of each sensor. */
static void begin_step(const RelnEntryInfo *w, int n_m, int sensors)
{
    const int to = w->dims.c;

    for (ptrdiff_t i = 0; i < (ptrdiff_t)w->count; i++)
        put(w, i, NOISE * get(w, i));
    for (int s = 0; s < sensors; s++)
        for (int a = 0; a < NODES; a++) {
            const int from = s * (n_m / sensors) * NODES + a;
            double sum = 0;

            for (int b = 0; b < NODES; b++)
                sum += exp(-0.5 * pow((a - b) / BELL, 2));
            for (int b = 0; b < NODES; b++)
                put(w, (ptrdiff_t)from * to + b,
                    get(w, (ptrdiff_t)from * to + b) +
                        EAGER / sensors * exp(-0.5 * pow((a - b) / BELL, 2)) / sum);
        }
}

/* The output starts as the integral of the first channel minus that of the measured velocities. */
void drone_ours_begin(RelnStore *store, const DroneModel *model)
{
    const double seconds = (DRONE_WINDOW - 1) * DRONE_STEP;
    const int n_m = drone_size_m(model->row->input, model->sensors) / (9 * DRONE_WINDOW),
              width = model->row->width;
    RelnEntryInfo w;
    char name[NAME];

    for (int i = 0; i < model->row->layers; i++) {
        snprintf(name, sizeof name, "step%d.W", i);
        if (reln_store_find(store, name, &w))
            begin_step(&w, n_m, model->sensors);
    }
    if (reln_store_find(store, "out.W", &w))
        for (int i = 0; i < NODES; i++) {
            put(&w, i, seconds / NODES / DRONE_UNIT);
            for (int s = 0; s < model->sensors; s++)
                put(&w, width + s * NODES + i, -seconds / NODES / DRONE_UNIT / model->sensors);
        }
}
