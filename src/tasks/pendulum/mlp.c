/* mlp.c -- dense layers on the twelve numbers of a state. */
#include "tasks/pendulum/pendulum.h"

static PendDense stack(const PendBuild *b, int outputs, int widths[5])
{
    const int width = ((const PendMlp *)b->settings)->width;

    widths[0] = PEND_STATE;
    widths[1] = widths[2] = widths[3] = width;
    widths[4] = outputs;
    return (PendDense){"mlp", 4, widths, RELN_ACT_SILU, false};
}

static void add_weights(const PendBuild *b, int outputs, PendWeights *w)
{
    int widths[5];
    const PendDense d = stack(b, outputs, widths);

    pend_dense_weights(b, &d, w);
}

static RelnNode *apply(const PendBuild *b, int outputs, RelnNode *z, PendWeights *w)
{
    int widths[5];
    const PendDense d = stack(b, outputs, widths);

    return pend_dense_value(b->graph, &d, reln_reshape(b->graph, z, (RelnDims){.c = PEND_STATE}),
                            w);
}

static void energy_weights(const PendBuild *b, PendWeights *w)
{
    add_weights(b, 1, w);
}

static RelnNode *energy(const PendBuild *b, RelnNode *z, PendWeights *w)
{
    return apply(b, 1, z, w);
}

static void velocity_weights(const PendBuild *b, PendWeights *w)
{
    add_weights(b, PEND_STATE, w);
}

static RelnNode *velocity(const PendBuild *b, RelnNode *z, PendWeights *w)
{
    return reln_reshape(b->graph, apply(b, PEND_STATE, z, w), pend_state_dims(1));
}

const PendArchitecture pend_mlp = {.weights = energy_weights, .value = energy};
const PendArchitecture pend_mlp_ode = {
    .velocity = true, .weights = velocity_weights, .value = velocity};
