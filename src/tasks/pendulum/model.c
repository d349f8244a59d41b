/* model.c -- turns a network into a motion: velocity, steps, the loss of a rollout. */
#include <math.h>
#include <stdio.h>

#include "tasks/pendulum/pendulum.h"

void pend_weights_add(PendWeights *w, RelnNode *node)
{
    if (w->n < PEND_WEIGHTS)
        w->node[w->n++] = node;
}

RelnNode *pend_weights_take(PendWeights *w)
{
    return w->next < w->n ? w->node[w->next++] : NULL;
}

RelnNode *pend_parameter(const PendBuild *b, const char *name, const char *part, RelnDims dims,
                         RelnInit init)
{
    char full[64];

    snprintf(full, sizeof full, "%s.%s", name, part);
    return reln_param(b->graph, full, dims, init);
}

bool pend_store_fill(RelnStore *store, const char *name, size_t count, const double *values)
{
    RelnEntryInfo e;

    if (!reln_store_find(store, name, &e) || e.count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (e.dtype == RELN_F32)
            ((float *)e.values)[i] = (float)values[i];
        else
            ((double *)e.values)[i] = values[i];
    return true;
}

/* ---- dense layers ------------------------------------------------------------------------------------------------ */

void pend_dense_weights(const PendBuild *b, const PendDense *d, PendWeights *w)
{
    for (int i = 0; i < d->n; i++) {
        const int in = d->widths[i], out = d->widths[i + 1];
        const double spread = d->quiet && i + 1 == d->n ? 0.0 : sqrt(2.0 / (in + out));
        char layer[48];

        snprintf(layer, sizeof layer, "%s.%d", d->name, i);
        pend_weights_add(w, pend_parameter(b, layer, "W", (RelnDims){.r = in, .c = out},
                                           (RelnInit){RELN_INIT_NORMAL, spread}));
        pend_weights_add(w, pend_parameter(b, layer, "b", (RelnDims){.c = out},
                                           (RelnInit){RELN_INIT_CONSTANT, 0.0}));
    }
}

RelnNode *pend_dense_value(RelnGraph *g, const PendDense *d, RelnNode *s, PendWeights *w)
{
    for (int i = 0; i < d->n; i++) {
        RelnNode *W = pend_weights_take(w), *b = pend_weights_take(w);

        s = reln_add(g, reln_mix(g, s, W), b);
        if (i + 1 < d->n)
            s = reln_nn_activate(g, d->activation, s);
    }
    return s;
}

/* ---- velocity ---------------------------------------------------------------------------------------------------- */

RelnDims pend_state_dims(int abreast)
{
    return (RelnDims){.r = PEND_VECTORS, .k = 3, .c = abreast};
}

const RelnRep *pend_state_rep(RelnGraph *g)
{
    return reln_rep_vector(reln_graph_group(g));
}

RelnNode *pend_as_vector(RelnGraph *g, RelnNode *x)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const RelnRep *v = pend_state_rep(g);

    return !x || reln_node_rep(x) == v ? x : reln_linear_map(g, x, one, v);
}

RelnNode *pend_base_vectors(RelnGraph *g, RelnNode *z)
{
    static const double e[3] = {0, 0, 1};
    RelnNode *parts[2] = {reln_swap_axes(g, z, RELN_R, RELN_C),
                          reln_const(g, (RelnDims){.k = 3}, pend_state_rep(g), e)};

    return reln_concat(g, 2, parts, RELN_C);
}

/* zdot = (dH/dp, -dH/dx) */
static RelnNode *hamilton(RelnGraph *g, RelnNode *H, RelnNode *z)
{
    RelnNode *dH = NULL, *half[2];

    if (!reln_grad(g, reln_sum(g, H, RELN_C), 1, &z, &dH))
        return NULL;
    dH = pend_as_vector(g, dH);
    half[0] = reln_slice(g, dH, RELN_R, 2, 2);
    half[1] = reln_scale(g, reln_slice(g, dH, RELN_R, 0, 2), -1.0);
    return reln_concat(g, 2, half, RELN_R);
}

/* Declares the weights as arguments of a function's body. */
static void declare(RelnGraph *body, const PendWeights *outer, PendWeights *w)
{
    for (int i = 0; i < outer->n; i++) {
        const RelnNode *x = outer->node[i];

        pend_weights_add(w, reln_argument(body, RELN_STEP, reln_node_dims(x), reln_node_rep(x),
                                          reln_node_dtype(x)));
    }
}

static RelnFn *make_velocity(const PendModel *m)
{
    PendBuild b = m->build;
    PendWeights w = {0};
    RelnNode *z, *value;

    b.graph = reln_fn_begin(m->build.graph, "velocity");
    if (!b.graph)
        return NULL;
    z = reln_argument(b.graph, RELN_SAMPLES, pend_state_dims(b.abreast), pend_state_rep(b.graph),
                      RELN_DEFAULT);
    declare(b.graph, &m->weights, &w);
    value = m->arch->value(&b, z, &w);
    if (!m->arch->velocity)
        value = hamilton(b.graph, value, z);
    return reln_fn_end(b.graph, 1, &value);
}

static bool all_there(const PendWeights *w)
{
    for (int i = 0; i < w->n; i++)
        if (!w->node[i])
            return false;
    return true;
}

bool pend_model_open(PendModel *m, const PendBuild *b, const PendArchitecture *arch)
{
    *m = (PendModel){.build = *b, .arch = arch};
    m->build.abreast = b->abreast > 0 ? b->abreast : 1;
    arch->weights(b, &m->weights);
    if (!all_there(&m->weights))
        return false;
    m->velocity = make_velocity(m);
    return m->velocity != NULL;
}

RelnNode *pend_model_energy(PendModel *m, RelnNode *z)
{
    m->weights.next = 0;
    return m->arch->velocity ? NULL : m->arch->value(&m->build, z, &m->weights);
}

RelnNode *pend_model_direct(PendModel *m, RelnNode *z)
{
    RelnNode *value;

    m->weights.next = 0;
    value = m->arch->value(&m->build, z, &m->weights);
    return m->arch->velocity ? value : hamilton(m->build.graph, value, z);
}

RelnNode *pend_model_velocity(PendModel *m, RelnNode *z)
{
    RelnNode *args[PEND_WEIGHTS + 1] = {z}, *zdot = NULL;

    for (int i = 0; i < m->weights.n; i++)
        args[i + 1] = m->weights.node[i];
    return reln_call(m->build.graph, m->velocity, m->weights.n + 1, args, &zdot) ? zdot : NULL;
}

/* ---- rollouts ---------------------------------------------------------------------------------------------------- */

static RelnNode *ahead(RelnGraph *g, RelnNode *z, double h, RelnNode *k)
{
    return reln_add(g, z, reln_scale(g, k, h));
}

/* k1 = f(z), k2 = f(z + h/2 k1), k3 = f(z + h/2 k2), k4 = f(z + h k3): z + h/6 (k1 + 2 k2 + 2 k3 + k4) */
static RelnNode *step(PendModel *m, RelnNode *z, double h)
{
    RelnGraph *g = m->build.graph;
    RelnNode *k1 = pend_model_velocity(m, z);
    RelnNode *k2 = pend_model_velocity(m, ahead(g, z, h / 2, k1));
    RelnNode *k3 = pend_model_velocity(m, ahead(g, z, h / 2, k2));
    RelnNode *k4 = pend_model_velocity(m, ahead(g, z, h, k3));
    RelnNode *outer = reln_add(g, k1, k4), *inner = reln_add(g, k2, k3);

    return ahead(g, ahead(g, z, h / 6, outer), h / 3, inner);
}

RelnNode *pend_model_steps(PendModel *m, RelnNode *z, double h, int n)
{
    for (int i = 0; i < n; i++)
        z = step(m, z, h);
    return z;
}

RelnNode *pend_model_loss(PendModel *m, RelnNode *chunk, RelnNode *share, int substeps)
{
    RelnGraph *g = m->build.graph;
    RelnNode *z = reln_slice(g, chunk, RELN_P, 0, 1), *all[PEND_CHUNK - 1], *d;

    for (int t = 1; t < PEND_CHUNK; t++)
        all[t - 1] = z = pend_model_steps(m, z, PEND_INTERVAL / substeps, substeps);
    d = reln_sub(g, reln_concat(g, PEND_CHUNK - 1, all, RELN_P),
                 reln_slice(g, chunk, RELN_P, 1, PEND_CHUNK - 1));
    d = reln_pair(g, d, reln_nn_lower(&(RelnNet){.graph = g}, d));
    d = reln_sum_all(g, share ? reln_mul(g, d, share) : d);
    return reln_batch_mean(g, reln_scale(g, d, 1.0 / (PEND_CHUNK * PEND_STATE)));
}
