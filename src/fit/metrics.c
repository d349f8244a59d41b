/* metrics.c -- errors of predictions, summed over batches in double precision. */
#include <math.h>
#include <string.h>

#include "fit/fit.h"

void reln_tally_init(RelnTally *tally, const RelnModel *model)
{
    *tally = (RelnTally){.spec = reln_model_spec(model),
                         .outputs = reln_model_outputs(model),
                         .mean = reln_model_constants(model)->mean,
                         .deviation = reln_model_constants(model)->deviation};
}

/* w_t (log sum exp(y) - (1 - s) y_t - s mean(y)) with smoothing s, and whether the largest is the right one. */
static void add_class(RelnTally *t, const double *y, int label)
{
    const RelnSpecTarget *target = &t->spec->target;
    const double weight = target->n_weights ? target->weights[label] : 1;
    const double smoothing = t->spec->train.smoothing;
    double top = y[0], sum = 0, mean = 0;
    int best = 0;

    for (int i = 1; i < t->outputs; i++)
        if (y[i] > top) {
            top = y[i];
            best = i;
        }
    for (int i = 0; i < t->outputs; i++) {
        sum += exp(y[i] - top);
        mean += y[i] / (double)t->outputs;
    }
    t->loss += weight * (log(sum) + top - y[label]);
    if (smoothing > 0)
        t->loss += weight * smoothing * (y[label] - mean);
    t->weight += weight;
    t->right += best == label;
}

static double penalty(const RelnSpecTrain *train, double r)
{
    const double delta = train->delta > 0 ? train->delta : 1;

    switch (train->loss) {
    case RELN_LOSS_MAE:
        return fabs(r);
    case RELN_LOSS_HUBER:
        return fabs(r) <= delta ? r * r / 2 : delta * (fabs(r) - delta / 2);
    default:
        return r * r;
    }
}

static void add_numbers(RelnTally *t, const double *y, const double *target)
{
    double loss = 0;

    for (ptrdiff_t i = 0; i < t->outputs; i++) {
        const double r = y[i] - target[i];
        loss += penalty(&t->spec->train, r / t->deviation);
        t->square += r * r;
        t->absolute += fabs(r);
        t->sum += target[i] - t->mean;
        t->sum_square += (target[i] - t->mean) * (target[i] - t->mean);
    }
    t->loss += loss / (double)t->outputs;
    t->weight += 1;
}

static bool all_finite(ptrdiff_t n, const double *y)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            return false;
    return true;
}

void reln_tally_add(RelnTally *t, ptrdiff_t n, const double *y, const double *target)
{
    const bool class = t->spec->target.as == RELN_TARGET_CLASS;

    for (ptrdiff_t i = 0; i < n; i++) {
        if (!all_finite(t->outputs, y + i * t->outputs) && t->lost++ == 0)
            t->first_lost = t->n_samples + i;
        if (class)
            add_class(t, y + i * t->outputs, (int)target[i]);
        else
            add_numbers(t, y + i * t->outputs, target + i * t->outputs);
    }
    t->n_samples += n;
}

RelnMetrics reln_tally_metrics(const RelnTally *t)
{
    const double n = (double)t->n_samples, entries = n * (double)t->outputs;
    const double mean = t->sum / entries, variance = t->sum_square / entries - mean * mean;
    RelnMetrics m = {.n_samples = t->n_samples, .loss = t->loss / t->weight};

    m.mse = m.mae = m.r2 = m.accuracy = (double)NAN;
    if (t->spec->target.as == RELN_TARGET_CLASS) {
        m.accuracy = (double)t->right / n;
        return m;
    }
    m.mse = t->square / entries;
    m.mae = t->absolute / entries;
    if (variance > 0)
        m.r2 = 1 - m.mse / variance;
    return m;
}
