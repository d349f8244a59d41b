/* hide.c -- pre-training without labels: some points of each sample are hidden, and the network predicts their inputs.
 *
 * Hidden points are drawn by the seed of the SPEC, the epoch and the row alone, so that every network of one seed sees the same
 * ones, in any order of reading. The input `place` says which point is meant: noise is added to it, of the size of its target's
 * deviation, and its target is the way back. The features of all other inputs are 0 at hidden points, which no frame changes, and
 * scalars have their mean. Hidden points have weight 1 in loss and metrics, others 0. */
#include <math.h>
#include <string.h>

#include "model/data.h"

bool reln_data_hides(const RelnData *d)
{
    return d->m->spec.pretrain.mask > 0;
}

/* The numbers of a row's hidden points follow from this key. */
static RelnRng rng_of(const RelnData *d, ptrdiff_t row, uint64_t epoch, uint64_t stream)
{
    const uint64_t key[3] = {epoch, (uint64_t)row, stream};

    return reln_rng((uint64_t)d->m->spec.train.seed, reln_hash(RELN_HASH_SEED, key, sizeof key));
}

void reln_data_draw_hidden(const RelnData *d, ptrdiff_t row, uint64_t epoch, const double *mask,
                           double *hidden)
{
    RelnRng rng = rng_of(d, row, epoch, 0);
    int left = 0, wanted;

    for (int p = 0; p < d->work.places; p++)
        left += mask[p] != 0;
    wanted = (int)fmax(1, floor(d->m->spec.pretrain.mask * left + 0.5));
    for (int p = 0; p < d->work.places; p++) {
        hidden[p] = mask[p] != 0 && reln_rng_below(&rng, (uint64_t)left--) < (uint64_t)wanted;
        wanted -= hidden[p] != 0;
    }
}

/* Returns the target of the input that stays in its place; -1: it is shown without noise. */
static int place_target(const RelnModel *m)
{
    for (int t = 0; t < m->spec.n_targets; t++)
        if (strcmp(m->spec.target[t].name, m->spec.pretrain.place) == 0)
            return t;
    return -1;
}

static int place_input(const RelnModel *m)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        if (strcmp(m->spec.input[i].name, m->spec.pretrain.place) == 0)
            return i;
    return -1;
}

bool reln_model_is_place(const RelnModel *m, int target)
{
    return m->spec.pretrain.mask > 0 && place_target(m) == target;
}

/* Writes the noise of all places, (places, numbers of a point); 0 where nothing is hidden. */
static void draw_noise(const RelnData *d, ptrdiff_t row, uint64_t epoch, const double *hidden,
                       int target, double *noise)
{
    const ptrdiff_t each = d->layout.target[target].truth;
    const double size = d->m->constants.target[target].deviation;
    RelnRng rng = rng_of(d, row, epoch, 1);

    for (int p = 0; p < d->work.places; p++)
        for (ptrdiff_t k = 0; k < each; k++)
            noise[p * each + k] = hidden[p] != 0 ? size * reln_rng_normal(&rng) : 0;
}

void reln_data_way_back(const RelnData *d, ptrdiff_t row, const double *mask, double *hidden,
                        double *values)
{
    const int t = place_target(d->m);
    double *to = t >= 0 ? values + d->layout.target[t].truth_first : NULL;

    reln_data_draw_hidden(d, row, 0, mask, hidden);
    if (!to)
        return;
    draw_noise(d, row, 0, hidden, t, to);
    for (ptrdiff_t k = 0; k < d->work.places * d->layout.target[t].truth; k++)
        to[k] = -to[k];
}

void reln_data_hide(RelnData *d, ptrdiff_t row, uint64_t epoch)
{
    const int t = place_target(d->m), i = place_input(d->m);
    ptrdiff_t count;

    reln_data_draw_hidden(d, row, epoch, d->raw.mask, d->raw.weights);
    if (t < 0)
        return;
    count = d->work.places * d->layout.target[t].truth;
    draw_noise(d, row, epoch, d->raw.weights, t, d->raw.target[t]);
    for (ptrdiff_t k = 0; k < count; k++) {
        d->raw.input[i][k] += d->raw.target[t][k];
        d->raw.target[t][k] = -d->raw.target[t][k];
    }
}

/* Sets the features of an input at one item to those of nothing. */
static void blank(const RelnData *d, int input, ptrdiff_t item)
{
    const Lift *lift = &d->m->lift[input];
    const Slot *slot = &d->m->slots[lift->slot];
    int first;
    const int columns = reln_model_columns(d->m, input, &first);

    for (int k = 0; k < slot->k; k++)
        for (int c = 0; c < lift->channels; c++)
            d->lifted[lift->slot][(item * slot->k + k) * slot->c + lift->first + c] =
                c < columns ? d->m->constants.column[first + c].centre : 0;
}

void reln_data_blank(RelnData *d)
{
    ptrdiff_t item = 0;

    for (int p = 0; p < d->work.places; p++) {
        for (int i = 0; d->raw.weights[p] != 0 && i < d->m->spec.n_inputs; i++)
            if (d->m->spec.input[i].points && i != place_input(d->m))
                blank(d, i, item);
        item += d->raw.mask[p] != 0;
    }
}
