/* targets.c -- the numbers of targets: their order in files and predictions, the form that the network sees,
 * and the action of the symmetry. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/kinds.h"
#include "reln/lift.h"
#include "tensor/linalg.h"

/* ---- extents -------------------------------------------------------------------------------------------------------- */

int reln_model_target_size(const RelnModel *m, int target)
{
    return reln_kind_size(reln_target_kind(m->spec.target[target].as)->as, m->n, 0);
}

static ptrdiff_t spread_count(const RelnModel *m, int target)
{
    const RelnSpecTarget *t = &m->spec.target[target];
    const ptrdiff_t channels = m->shapes.target_channels[target];

    if (t->loss != RELN_LOSS_GAUSSIAN)
        return 0;
    return t->variance == RELN_VARIANCE_COVARIANCE ? channels * m->n * m->n : channels;
}

static int places_of(RelnItems items, int points, int edges)
{
    return items == RELN_ITEMS_EDGES ? edges : items == RELN_ITEMS_POINTS ? points : 1;
}

RelnLayout reln_model_layout_at(const RelnModel *m, int places, int edges)
{
    RelnLayout all = {.places = places, .edges = edges};

    for (int i = 0; i < m->spec.n_targets; i++) {
        const RelnSpecTarget *t = &m->spec.target[i];
        const bool class = t->as == RELN_TARGET_CLASS;
        RelnTargetLayout *l = &all.target[i];

        l->places = places_of(reln_target_items(t), places, edges);
        l->first = all.outputs;
        l->truth_first = all.truths;
        l->loss_first = all.losses;
        l->size = reln_model_target_size(m, i);
        l->channels = class ? t->classes : m->shapes.target_channels[i] * reln_spec_quantiles(t);
        l->value = (ptrdiff_t)l->size * l->channels;
        l->spread = spread_count(m, i);
        l->truth = class ? 1 : (ptrdiff_t)l->size * m->shapes.target_channels[i];
        all.outputs += l->places * (l->value + l->spread);
        all.truths += l->places * l->truth;
        all.losses += l->places;
    }
    return all;
}

RelnTargetLayout reln_model_layout(const RelnModel *m, int target)
{
    return reln_model_layout_at(m, m->points, m->shapes.edges).target[target];
}

ptrdiff_t reln_model_outputs(const RelnModel *m)
{
    return reln_model_layout_at(m, m->points, m->shapes.edges).outputs;
}

ptrdiff_t reln_model_truths(const RelnModel *m)
{
    return reln_model_layout_at(m, m->points, m->shapes.edges).truths;
}

const char *reln_model_spread_name(const RelnModel *m, int target)
{
    return m->spread_name[target];
}

const char *reln_target_port(const char *name, int target, char text[RELN_TARGET_PORT])
{
    if (target == 0)
        snprintf(text, RELN_TARGET_PORT, "%s", name);
    else
        snprintf(text, RELN_TARGET_PORT, "%s%d", name, target + 1);
    return text;
}

bool reln_model_needs_reference(const RelnModel *m)
{
    for (int t = 0; t < m->spec.n_targets; t++)
        if (m->spec.target[t].as == RELN_TARGET_COVARIANCE ||
            (m->spec.target[t].loss == RELN_LOSS_GAUSSIAN &&
             m->spec.target[t].variance == RELN_VARIANCE_COVARIANCE))
            return m->relative && !reln_model_is_mlp(m);
    return false;
}

/* ---- the form that the network sees ----------------------------------------------------------------------------------- */

/* Computes the logarithm of covariances, relative to the sample's reference if the model has one. */
RelnStatus reln_model_lift_target(const RelnModel *m, const LiftWork *w, int target,
                                  const double *t, double *out)
{
    const ptrdiff_t channels = m->shapes.target_channels[target];

    if (m->spec.target[target].as != RELN_TARGET_COVARIANCE) {
        memcpy(out, t, (size_t)reln_model_layout(m, target).truth * sizeof *out);
        return RELN_OK;
    }
    return reln_model_needs_reference(m)
               ? reln_lift_congruence_log(m->ctx, m->n, w->sbar, channels, t, out)
               : reln_lift_covariance_log(m->ctx, m->n, channels, t, out);
}

/* ---- predictions ------------------------------------------------------------------------------------------------------ */

static double number(const RelnModel *m, const void *x, ptrdiff_t i)
{
    return m->spec.train.dtype == RELN_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Copy an item of an output, (size, channels) in a graph, to (channels, size) as in files. An mlp has the order of files. */
static void turn(const RelnModel *m, const void *y, ptrdiff_t item, ptrdiff_t size,
                 ptrdiff_t channels, double *out)
{
    for (ptrdiff_t c = 0; c < channels; c++)
        for (ptrdiff_t k = 0; k < size; k++)
            out[c * size + k] = number(m, y, (item * size + k) * channels + c);
}

/* An mlp gives the logarithm of a covariance, in the order of files. */
static void exponentiate(const RelnModel *m, int target, double *out)
{
    const ptrdiff_t n2 = (ptrdiff_t)m->n * m->n;
    double x[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];

    for (int c = 0; c < m->shapes.target_channels[target]; c++) {
        double *s = out + c * n2;

        memcpy(x, s, (size_t)n2 * sizeof *x);
        if (reln_readout_covariance_exp(m->ctx, m->n, 1, x, s) != RELN_OK)
            s[0] = (double)NAN;
    }
}

/* A Ports holds the outputs of a plan for one target: value and variance of all items. */
typedef struct Ports {
    const void *value, *spread;
} Ports;

/* Writes one item of a target: its value, followed by its variance. */
static void put_item(const RelnModel *m, int target, const RelnTargetLayout *l, const Ports *from,
                     ptrdiff_t item, double *out)
{
    const RelnSpecTarget *spec = &m->spec.target[target];
    const ptrdiff_t channels = m->shapes.target_channels[target];
    const ptrdiff_t quantiles = reln_spec_quantiles(spec);
    const bool mlp = reln_model_is_mlp(m);
    const ptrdiff_t size = spec->loss == RELN_LOSS_QUANTILES ? quantiles : mlp ? 1 : l->size;

    /* quantiles lie in the graph as channels of the first quantile, then of the second: to (channels, quantiles) */
    turn(m, from->value, item, size, l->value / size, out);
    if (mlp && spec->as == RELN_TARGET_COVARIANCE)
        exponentiate(m, target, out);
    if (l->spread > 0)
        turn(m, from->spread, item, l->spread / channels, channels, out + l->value);
}

void reln_model_predictions(const RelnModel *m, const RelnPlan *plan, const RelnLayout *layout,
                            ptrdiff_t n, const ptrdiff_t *items, double *out)
{
    for (int t = 0; t < m->spec.n_targets; t++) {
        const RelnTargetLayout *l = &layout->target[t];
        char port[RELN_TARGET_PORT];
        Ports from = {reln_plan_output(plan, reln_target_port("y", t, port), NULL), NULL};

        if (l->spread > 0)
            from.spread = reln_plan_output(plan, reln_target_port("variance", t, port), NULL);
        for (ptrdiff_t i = 0; i < n; i++)
            for (int p = 0; p < l->places; p++) {
                double *to = out + i * layout->outputs + l->first + p * (l->value + l->spread);
                const ptrdiff_t item =
                    items ? items[i * layout->losses + l->loss_first + p] : i * l->places + p;

                if (item < 0)
                    memset(to, 0, (size_t)(l->value + l->spread) * sizeof *to);
                else
                    put_item(m, t, l, &from, item, to);
            }
    }
}

/* ---- the action ------------------------------------------------------------------------------------------------------- */

RelnStatus reln_model_act_truth(const RelnModel *m, int target, const RelnElement *g,
                                double *values)
{
    const RelnTargetLayout l = reln_model_layout(m, target);

    return reln_kind_act(m, reln_target_kind(m->spec.target[target].as)->as, g, l.truth, l.size,
                         values);
}

static RelnStatus act_place(const RelnModel *m, int t, const RelnTargetLayout *l,
                            const RelnElement *g, double *values)
{
    const ptrdiff_t n2 = (ptrdiff_t)m->n * m->n;

    RELN_TRY(
        reln_kind_act(m, reln_target_kind(m->spec.target[t].as)->as, g, l->value, l->size, values));
    if (l->spread == 0 || m->spec.target[t].variance != RELN_VARIANCE_COVARIANCE)
        return RELN_OK;
    return reln_kind_act(m, RELN_AS_COVARIANCE, g, l->spread, n2, values + l->value);
}

RelnStatus reln_model_act_target(const RelnModel *m, const RelnLayout *layout, const RelnElement *g,
                                 double *values)
{
    for (int t = 0; t < m->spec.n_targets; t++) {
        const RelnTargetLayout *l = &layout->target[t];

        for (int p = 0; p < l->places; p++)
            RELN_TRY(act_place(m, t, l, g, values + l->first + p * (l->value + l->spread)));
    }
    return RELN_OK;
}

/* ---- constants -------------------------------------------------------------------------------------------------------- */

/* For covariances, adds the traces of T and of T^2 for the logarithms T: both are invariant. */
static RelnStatus add_logs(const RelnModel *m, const LiftWork *w, int target, const double *t,
                           double weight, TargetSums *s)
{
    const ptrdiff_t n = m->n, channels = m->shapes.target_channels[target];
    double *x = reln_alloc(m->ctx, (size_t)(channels * n * n), sizeof *x);
    RelnStatus status = x ? reln_model_lift_target(m, w, target, t, x) : RELN_ERR_NOMEM;

    for (ptrdiff_t c = 0; status == RELN_OK && c < channels; c++)
        for (ptrdiff_t i = 0; i < n; i++) {
            s->sum += weight * x[(c * n + i) * n + i];
            for (ptrdiff_t j = 0; j < n; j++)
                s->square += weight * x[(c * n + i) * n + j] * x[(c * n + j) * n + i];
        }
    s->numbers += weight * (double)(channels * n * n);
    reln_free(m->ctx, x);
    return status;
}

RelnStatus reln_target_sums_add(const RelnModel *m, const LiftWork *w, int target, const double *t,
                                double weight, TargetSums *s)
{
    const RelnSpecTarget *spec = &m->spec.target[target];
    const ptrdiff_t count = reln_model_layout(m, target).truth;

    if (spec->as == RELN_TARGET_COVARIANCE)
        return add_logs(m, w, target, t, weight, s);
    for (ptrdiff_t i = 0; i < count; i++) {
        s->sum += weight * t[i];
        s->square += weight * t[i] * t[i];
    }
    s->numbers += weight * (double)count;
    if (spec->balanced)
        s->members[(int)t[0]] += weight;
    return RELN_OK;
}

/* Returns the root of a mean square; 1 if all numbers are 0. */
static double root(double square, double numbers)
{
    return square > 0 && numbers > 0 ? sqrt(square / numbers) : 1;
}

/* Computes weights that give every class the same total: N / (classes N_c), like scikit-learn's "balanced"; a
 * class without a sample has weight 1. They become the weights of the SPEC. */
static void balance(RelnSpecTarget *t, const TargetSums *s)
{
    for (int c = 0; c < t->classes; c++)
        t->weights[c] = s->members[c] > 0 ? s->numbers / (t->classes * s->members[c]) : 1;
    t->n_weights = t->classes;
    t->balanced = false;
}

void reln_target_sums_finish(RelnModel *m, int target, const TargetSums *s)
{
    RelnSpecTarget *t = &m->spec.target[target];
    RelnTargetConstants *c = &m->constants.target[target];
    double diagonal = s->numbers;

    if (s->numbers > 0 && t->balanced)
        balance(t, s);
    if (!t->normalise || t->as == RELN_TARGET_CLASS || !(s->numbers > 0))
        return;
    if (t->as == RELN_TARGET_COVARIANCE) /* only the diagonal has a mean */
        diagonal /= m->n;
    c->mean =
        t->as == RELN_TARGET_SCALAR || t->as == RELN_TARGET_COVARIANCE ? s->sum / diagonal : 0;
    c->deviation = root(s->square - c->mean * c->mean * diagonal, s->numbers);
    if (reln_model_is_place(m, target)) {
        c->mean = 0;
        c->deviation *= m->spec.pretrain.noise;
    }
}
