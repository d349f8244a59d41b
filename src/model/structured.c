/* structured.c -- networks of sets: points that know each other before they become one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/op.h"
#include "model/build.h"
#include "reln/ops.h"

/* Scales at which invariants are seen, in units of the training data. Light-like vectors have products far smaller than
 * their coordinates, lengths do not. */
RelnScales reln_build_scales(Build *b)
{
    const RelnScales wide = {reln_build_form_size(b), 3, {1, 1e2, 1e4}};
    const RelnScales narrow = {wide.unit, 2, {1, 30}};

    return b->m->algebra || reln_rep_is_orthogonal(b->m->rep) ? narrow : wide;
}

/* ---- what comes in ------------------------------------------------------------------------------------------------- */

/* The number of points as an invariant of about 1. */
static RelnNode *size_of_set(Build *b)
{
    RelnNode *n = reln_cast(b->g, reln_reduce_count(b->g, b->rows, RELN_SAMPLES), RELN_DEFAULT);
    const double usual = b->m->constants.points;

    return reln_shift(b->g, reln_log(b->g, reln_shift(b->g, n, 1 / usual, 1 / usual)), 1, 0);
}

/* Features of samples that every round keeps: all points added up, and the inputs of the sample itself. */
static RelnNode *kept(Build *b, RelnNode *x)
{
    RelnNode *total =
        reln_scale(b->g, reln_reduce(b->g, x, RELN_SAMPLES), 1 / b->m->constants.points);

    return reln_build_join(b, total, reln_build_input(b, SLOT_X));
}

static RelnSet begin(Build *b, const RelnScales *scale)
{
    RelnNode *x = reln_build_input(b, SLOT_X_POINTS);
    RelnNode *own = reln_nn_relate(&b->net, x, x, scale);
    RelnNode *s = reln_build_join(b, own, reln_build_input(b, SLOT_S_POINTS));
    RelnNode *z = reln_build_join(b, size_of_set(b), reln_build_input(b, SLOT_S));

    return (RelnSet){x, s, NULL, z};
}

/* ---- read-out -------------------------------------------------------------------------------------------------------- */

/* x W in the dtype of x. */
static RelnNode *mixed(Build *b, const char *name, RelnNode *x, int channels)
{
    const int from = x ? reln_node_dims(x).c : 1;
    RelnNode *w = reln_param(b->g, name, (RelnDims){.r = from, .c = channels},
                             (RelnInit){RELN_INIT_UNIFORM, 1 / sqrt(from)});

    return x && w ? reln_mix(b->g, x, reln_cast(b->g, w, reln_node_dtype(x))) : NULL;
}

/* ---- networks -------------------------------------------------------------------------------------------------------- */

/* Messages of all pairs, before every round of a graph. */
static RelnSet send(Build *b, const char *name, RelnSet set)
{
    const RelnMessages options = {.hidden = b->width,
                                  .channels = b->width,
                                  .gate = true,
                                  .count = b->m->constants.points,
                                  .residual = set.s && reln_node_dims(set.s).c == b->width,
                                  .scales = reln_build_scales(b),
                                  .activation = b->m->spec.model.activation};
    const RelnFeatures f =
        reln_nn_messages(&b->net, name, (RelnFeatures){set.x, set.s}, &options);

    set.x = f.x;
    set.s = reln_build_dropped(b, f.s);
    return set;
}

RelnNode *reln_build_structured(Build *b)
{
    const RelnSpecModel *spec = &b->m->spec.model;
    const RelnScales scale = reln_build_scales(b);
    RelnSet set = begin(b, &scale);
    RelnNode *keep = kept(b, set.x);
    const RelnExchange options = {.sums = spec->sums,
                                  .width = b->width,
                                  .keep = keep,
                                  .scales = scale,
                                  .count = b->m->constants.points,
                                  .dropout = spec->dropout,
                                  .activation = spec->activation};

    set.sums = reln_build_join(b, reln_nn_far_rows(&b->net, set.x, spec->sums), keep);
    for (int i = 0; i < spec->depth; i++) {
        const Name name = reln_build_name("round%d", i + 1);

        if (spec->kind == RELN_MODEL_GRAPH)
            set = send(b, reln_build_name("messages%d", i + 1).text, set);
        set = reln_nn_exchange(&b->net, name.text, &set, &options);
        reln_build_tap(b, name, set.sums);
    }
    return reln_build_readout(b, (RelnFeatures){mixed(b, "mixed.W", set.sums, b->width), set.z});
}
