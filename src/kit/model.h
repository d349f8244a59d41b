/* model.h -- a network made from a SPEC, with everything that is needed to make it again.
 *
 *     RelnModel *model = NULL;
 *     reln_data_shapes(ctx, &spec, archive, &shapes);                  // data.h: what the arrays are
 *     reln_model_create(ctx, &spec, &shapes, &model);
 *     RelnModelGraph net;
 *     reln_model_build(model, &(RelnModelOptions){.train = true, .loss = true}, &net);
 *     reln_train_step(net.graph, &optimiser, net.loss);                // train.h
 *     ...
 *     reln_model_graph_clear(&net);
 *     reln_model_destroy(model);
 *
 * A model has a symmetry (the group that acts on raw data), a feature algebra, and for each input a lift into it. Lifts are
 * checked with the generators of the group when the model is made: what does not respect the symmetry is refused with the
 * generator that shows it. Graphs for training and for evaluation share the model's store of weights.
 *
 * The raw numbers of a sample are those of the arrays. With g in the symmetry, a matrix goes to g X g^-1, a vector to g v, a
 * covariance to g S g^T: reln_model_act() does that, and a network's output then goes along, by the rep of its target.
 * An mlp promises nothing.
 */
#ifndef KIT_MODEL_H
#define KIT_MODEL_H

#include "kit/spec.h"
#include "reln/io.h"
#include "reln/model.h"
#include "reln/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One input: (N, [points,] [channels,] ...). */
typedef struct RelnInputShape {
    int points;   /* places for points; 0: none */
    int channels; /* of a kind beside each other */
    int size;     /* numbers of one: n n, n, dim, 1 */
} RelnInputShape;

typedef struct RelnShapes {
    RelnInputShape input[RELN_SPEC_INPUTS];
    /* of each target: scalars, vectors or matrices beside each other; 1 for a class; 0: not known */
    int target_channels[RELN_SPEC_TARGETS];
} RelnShapes;

/* Numbers of one sample of an input, points and channels included. */
static inline ptrdiff_t reln_input_count(const RelnInputShape *s)
{
    return (ptrdiff_t)(s->points ? s->points : 1) * s->channels * s->size;
}

/* The width is found where the SPEC gives a number of parameters. Caller destroys. */
RelnStatus reln_model_create(RelnCtx *ctx, const RelnSpec *spec, const RelnShapes *shapes,
                             RelnModel **out);
/* The same for the arrays of a file, with the extents that they have; the target must be among them. */
RelnStatus reln_model_for(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive,
                          RelnModel **out);
/* The same network in another precision, with its constants and with parameters as they are at the start. It is made from
 * the model alone: a basis that came from a file is not read again. Caller destroys. */
RelnStatus reln_model_retype(const RelnModel *model, RelnDtype dtype, RelnModel **out);

/* Everything but the weights, in the doc's memory; NULL when memory is out. reln_model_from_doc() makes the same model
 * from it (with fresh weights, to be filled by name). */
RelnDocNode *reln_model_describe(const RelnModel *model, RelnDoc *doc);
RelnStatus reln_model_from_doc(RelnCtx *ctx, const RelnDocNode *node, const char *what,
                               RelnModel **out);

RelnCtx *reln_model_ctx(const RelnModel *model);
const RelnSpec *reln_model_spec(const RelnModel *model); /* with the width it has */
const RelnShapes *reln_model_shapes(const RelnModel *model);
RelnStore *reln_model_store(const RelnModel *model);
void reln_model_set_step(RelnModel *model, int64_t step); /* see reln_model_step() */

/* ---- numbers of targets -------------------------------------------------------------------------------------------- */

/* How the numbers of one target lie among those of a sample. A prediction is its value, (classes), (channels, quantiles) or
 * (channels, n [, n]), and behind it its variance: nothing, (channels) or (channels, n, n). */
typedef struct RelnTargetLayout {
    int size, channels;           /* numbers of one thing, and such things in the value */
    ptrdiff_t first;              /* of the value among reln_model_outputs() */
    ptrdiff_t value, spread;      /* numbers of the value and of the variance */
    ptrdiff_t truth_first, truth; /* numbers that files have of it, among reln_model_truths() */
} RelnTargetLayout;
RelnTargetLayout reln_model_layout(const RelnModel *model, int target);
ptrdiff_t reln_model_outputs(const RelnModel *model); /* numbers of a prediction for one sample */
ptrdiff_t reln_model_truths(const RelnModel *model);  /* numbers that files have of its targets */

/* "NAME_variance" or "NAME_covariance": the array of a target's variances. */
const char *reln_model_spread_name(const RelnModel *model, int target);

/* The port of a plan that belongs to a target: "y", "y2", "y3"; likewise "target", "variance", "loss"; returns `text`. */
enum { RELN_TARGET_PORT = 32 };
const char *reln_target_port(const char *name, int target, char text[RELN_TARGET_PORT]);

/* ---- constants of the data -------------------------------------------------------------------------------------- */

/* Found on training data (reln_data_normalise()), part of the description. Every lifted input is divided by its size, one
 * number for each input, which commutes with the symmetry; scalars likewise. */
typedef struct RelnTargetConstants {
    double mean,
        deviation; /* of scalars; of vectors and matrices mean 0 and the size; of covariances those of their logarithms */
} RelnTargetConstants;

typedef struct RelnConstants {
    double scale[RELN_SPEC_INPUTS]; /* root mean square of the lifted input */
    RelnTargetConstants target[RELN_SPEC_TARGETS];
    double points; /* of a sample, on average */
} RelnConstants;
const RelnConstants *reln_model_constants(const RelnModel *model);
void reln_model_set_constants(RelnModel *model, const RelnConstants *constants);

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

enum { RELN_MODEL_TAPS = 80 };

/* What a layer gives: an output of the graph by that name, whose rep says how it transforms. */
typedef struct RelnTap {
    char name[32];
    RelnNode *node;
} RelnTap;

typedef struct RelnModelOptions {
    bool train; /* batch statistics are computed, dropout is on */
    bool loss;  /* with the targets as inputs */
    bool
        losses; /* of each sample, for targets of reln_model_graph_loss(): outputs "loss", "loss2" */
    bool taps;
    int largest; /* the most points of a set: reln_data_largest(); 0: the places of the model */
} RelnModelOptions;

typedef struct RelnModelGraph {
    RelnGraph *graph;
    /* the outputs "y", "y2" ...: predictions in the units of the data; logits of classes; their variances, or NULL */
    RelnNode *y[RELN_SPEC_TARGETS], *variance[RELN_SPEC_TARGETS];
    RelnNode *
        loss; /* mean over the batch, of targets divided by their deviations; weighed over targets */
    int n_taps;
    RelnTap taps[RELN_MODEL_TAPS];
} RelnModelGraph;

/* The graph's inputs are bound by reln_data_bind(). */
RelnStatus reln_model_build(RelnModel *model, const RelnModelOptions *options, RelnModelGraph *out);
void reln_model_graph_clear(RelnModelGraph *graph); /* all zero is fine */

/* Is the loss of a target computed by the graph alone? Others are summed from predictions, in double precision. */
bool reln_model_graph_loss(const RelnModel *model, int target);

/* The outputs of a plan that has run on n samples, (n, reln_model_outputs()), in the order of files: an item of the graph is
 * (size, channels). */
void reln_model_predictions(const RelnModel *model, const RelnPlan *plan, ptrdiff_t n, double *out);

/* Places for points of a sample; 0: there are no sets. */
int reln_model_points(const RelnModel *model);
/* reln_plan_cost() of a graph of this model, where the points of a full set are part of flops_sample and bytes_sample. */
RelnCost reln_model_cost(const RelnModel *model, const RelnPlan *plan);

/* ---- the action -------------------------------------------------------------------------------------------------- */

/* A random element of the symmetry with condition number cond; acts in the reps of taps by reln_rep_act(). Caller destroys. */
RelnStatus reln_model_element(const RelnModel *model, RelnRng *rng, double cond, RelnElement **out);
/* In place, on the `count` raw numbers of one sample of an input. */
RelnStatus reln_model_act(const RelnModel *model, int input, const RelnElement *g, ptrdiff_t count,
                          double *values);
/* In place, on predictions of one sample: reln_model_outputs() numbers. */
RelnStatus reln_model_act_target(const RelnModel *model, const RelnElement *g, double *values);
/* On the numbers that files have of one target. */
RelnStatus reln_model_act_truth(const RelnModel *model, int target, const RelnElement *g,
                                double *values);

#ifdef __cplusplus
}
#endif

#endif
