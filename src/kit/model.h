/* model.h -- a network made from a SPEC, with everything that is needed to make it again.
 *
 *     RelnModel *model = NULL;
 *     reln_data_shapes(ctx, &spec, archive, &shapes);                  // data.h: extents of the arrays
 *     reln_model_create(ctx, &spec, &shapes, &model);
 *     RelnModelGraph net;
 *     reln_model_build(model, &(RelnModelOptions){.train = true, .loss = true}, &net);
 *     reln_train_step(net.graph, &optimiser, net.loss);                // train.h
 *     ...
 *     reln_model_graph_clear(&net);
 *     reln_model_destroy(model);
 *
 * A model has a symmetry (the group that acts on raw data), a feature algebra, and for each input a lift into the
 * algebra. Lifts are checked with the generators of the group when the model is made: a lift that does not respect
 * the symmetry is refused, with the generator that shows it. Graphs for training and for evaluation share the
 * model's store of weights.
 *
 * The raw numbers of a sample are those of the arrays. Under g in the symmetry, a matrix becomes g X g^-1, a vector
 * g v, a covariance g S g^T: reln_model_act() computes this, and the output of the network transforms by the rep of
 * its target. An mlp promises nothing.
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

/* A RelnInputShape is the shape of one input: (N, [points,] [channels,] ...). */
typedef struct RelnInputShape {
    int points;   /* places for points, or for edges; 0: one value for each sample */
    int channels; /* number of values side by side */
    int size;     /* numbers of one value: n n, n, dim, 1 */
} RelnInputShape;

typedef struct RelnShapes {
    RelnInputShape input[RELN_SPEC_INPUTS];
    /* for each target: number of scalars, vectors or matrices side by side; 1 for a class; 0: unknown */
    int target_channels[RELN_SPEC_TARGETS];
    int edges; /* places for given edges; 0: there are none */
} RelnShapes;

/* Returns the numbers of one sample of an input, including points and channels. */
static inline ptrdiff_t reln_input_count(const RelnInputShape *s)
{
    return (ptrdiff_t)(s->points ? s->points : 1) * s->channels * s->size;
}

/* Creates a model. If the SPEC gives a number of parameters, the width is derived from it. Caller destroys
 * *out. */
RelnStatus reln_model_create(RelnCtx *ctx, const RelnSpec *spec, const RelnShapes *shapes,
                             RelnModel **out);
/* Creates a model for the arrays of a file, with their extents; the target must be among them. */
RelnStatus reln_model_for(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive,
                          RelnModel **out);
/* Creates the same network in another precision, with its constants and with starting weights. It is made
 * from the model alone: a basis that came from a file is not read again. Caller destroys *out. */
RelnStatus reln_model_retype(const RelnModel *model, RelnDtype dtype, RelnModel **out);

/* Returns the description of a model without its weights, in the doc's memory; NULL when memory is out.
 * reln_model_from_doc() makes the same model from it (with new weights, to be filled by name). */
RelnDocNode *reln_model_describe(const RelnModel *model, RelnDoc *doc);
RelnStatus reln_model_from_doc(RelnCtx *ctx, const RelnDocNode *node, const char *what,
                               RelnModel **out);

RelnCtx *reln_model_ctx(const RelnModel *model);
const RelnSpec *reln_model_spec(const RelnModel *model); /* including the width in use */
const RelnShapes *reln_model_shapes(const RelnModel *model);
RelnStore *reln_model_store(const RelnModel *model);
void reln_model_set_step(RelnModel *model, int64_t step); /* see reln_model_step() */

/* ---- numbers of targets -------------------------------------------------------------------------------------------- */

/* A RelnTargetLayout says where the numbers of one target are among those of a sample. A prediction is its
 * value, (classes), (channels, quantiles) or (channels, n [, n]), followed by its variance: nothing,
 * (channels) or (channels, n, n). A target of points or edges has these numbers for each place of the sample, one
 * place after the other, with zeros where there is no point or edge. */
typedef struct RelnTargetLayout {
    int places;                   /* places for points or edges; 1 for a target of the sample */
    int size, channels;           /* numbers of one value, and number of values */
    ptrdiff_t first;              /* position of the first value among RelnLayout.outputs */
    ptrdiff_t value, spread;      /* numbers of the value and of the variance, at one place */
    ptrdiff_t truth_first, truth; /* its numbers in files at one place, among truths */
    ptrdiff_t loss_first;         /* the loss at its first place, among losses */
} RelnTargetLayout;

/* A RelnLayout says the same for all targets. */
typedef struct RelnLayout {
    int places, edges; /* places for points and for edges of a sample */
    ptrdiff_t outputs; /* numbers of a prediction for one sample */
    ptrdiff_t truths;  /* numbers of its targets in files */
    ptrdiff_t losses;  /* total number of places of all targets */
    RelnTargetLayout target[RELN_SPEC_TARGETS];
} RelnLayout;
/* Returns the layout for samples with so many places for points and for edges. */
RelnLayout reln_model_layout_at(const RelnModel *model, int places, int edges);
/* Returns the layout for samples with the places of the model. */
RelnTargetLayout reln_model_layout(const RelnModel *model, int target);
ptrdiff_t reln_model_outputs(const RelnModel *model);
ptrdiff_t reln_model_truths(const RelnModel *model);

/* Returns "NAME_variance" or "NAME_covariance": the array of a target's variances. */
const char *reln_model_spread_name(const RelnModel *model, int target);

/* Writes the name of the plan's port that belongs to a target: "y", "y2", "y3"; in the same way "target",
 * "variance", "loss". Returns `text`. */
enum { RELN_TARGET_PORT = 32 };
const char *reln_target_port(const char *name, int target, char text[RELN_TARGET_PORT]);

/* ---- constants of the data -------------------------------------------------------------------------------------- */

/* Constants found on training data (reln_data_normalise()), which are part of the description. Every lifted
 * input is divided by its size, one number for each input, which commutes with the symmetry. The symmetry does
 * not act on scalars, so each of their columns has its own centre and width. */
typedef struct RelnTargetConstants {
    double mean,
        deviation; /* of scalars; for vectors and matrices mean 0 and the size; for covariances those of their
                    * logarithms */
} RelnTargetConstants;

/* A column of scalars is seen as (x - centre) / width. */
typedef struct RelnColumn {
    double centre, width;
} RelnColumn;
enum {
    RELN_SCALAR_COLUMNS = 512
}; /* of all inputs; scalars beyond them have one scale for each input */

typedef struct RelnConstants {
    double scale[RELN_SPEC_INPUTS];         /* root mean square of the lifted input */
    RelnColumn column[RELN_SCALAR_COLUMNS]; /* those of input i begin at reln_model_columns() */
    RelnTargetConstants target[RELN_SPEC_TARGETS];
    double points; /* average number of points of a sample */
} RelnConstants;
const RelnConstants *reln_model_constants(const RelnModel *model);
void reln_model_set_constants(RelnModel *model, const RelnConstants *constants);
/* Returns the number of columns of an input, and the place of the first; 0: it has one scale. */
int reln_model_columns(const RelnModel *model, int input, int *first);

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

enum { RELN_MODEL_TAPS = 80 };

/* A RelnTap is the value of a layer: an output of the graph by that name, whose rep says how it
 * transforms. */
typedef struct RelnTap {
    char name[32];
    RelnNode *node;
} RelnTap;

/* A RelnSizes has the largest numbers of points and edges of a sample, and of edges to one point. */
typedef struct RelnSizes {
    int points, edges, degree;
} RelnSizes;

/* A RelnWeights says which items have weights in the loss. */
typedef enum RelnWeights {
    RELN_WEIGHTS_NONE,
    RELN_WEIGHTS_SAMPLES,
    RELN_WEIGHTS_POINTS,
    RELN_WEIGHTS_EDGES
} RelnWeights;

typedef struct RelnModelOptions {
    bool train; /* batch statistics are computed, dropout is on */
    bool loss;  /* build the loss, with the targets as inputs */
    bool
        losses; /* build the loss of each sample, for targets of reln_model_graph_loss(): outputs "loss",
                 * "loss2" */
    bool taps;
    RelnWeights weights; /* of the loss: reln_data_weighted() */
    RelnSizes sizes;     /* of the sets that it is to take: reln_data_sizes(); 0: usual ones */
} RelnModelOptions;

typedef struct RelnModelGraph {
    RelnGraph *graph;
    /* the outputs "y", "y2" ...: predictions in the units of the data, logits for classes; their variances,
     * or NULL */
    RelnNode *y[RELN_SPEC_TARGETS], *variance[RELN_SPEC_TARGETS];
    RelnNode *
        loss; /* mean over the batch, of targets divided by their deviations; weighted sum over targets */
    int n_taps;
    RelnTap taps[RELN_MODEL_TAPS];
} RelnModelGraph;

/* Builds a graph of the model. Its inputs are bound by reln_data_bind(). */
RelnStatus reln_model_build(RelnModel *model, const RelnModelOptions *options, RelnModelGraph *out);
void reln_model_graph_clear(RelnModelGraph *graph); /* all zero is fine */

/* Returns which items a layer has one value for; groups and pairs count as items of samples, which all have equally many. And
 * the number of its items for a full set: points, groups, edges or 1. */
RelnItems reln_model_layer_items(const RelnNode *layer);
int reln_model_items(const RelnModel *model, const RelnNode *layer);

/* Returns whether the graph computes the loss of a target. Other losses are summed from predictions, in
 * double precision. */
bool reln_model_graph_loss(const RelnModel *model, int target);

/* The outputs of a plan that has run on n samples, (n, layout->outputs), in the order of files: an item of the graph is
 * (size, channels). items (n, layout->losses) says which row of the plan each place of each target is, as reln_data_items()
 * does; NULL: all places are there, in the order of the plan. */
void reln_model_predictions(const RelnModel *model, const RelnPlan *plan, const RelnLayout *layout,
                            ptrdiff_t n, const ptrdiff_t *items, double *out);

/* Returns the places for points of a sample; 0: there are no sets. */
int reln_model_points(const RelnModel *model);
/* Returns reln_plan_cost() of a graph of this model, with the points of a full set included in flops_sample
 * and bytes_sample. */
RelnCost reln_model_cost(const RelnModel *model, const RelnPlan *plan);

/* ---- the action -------------------------------------------------------------------------------------------------- */

/* Draws a random element of the symmetry with condition number cond; it acts in the reps of taps by
 * reln_rep_act(). Caller destroys *out. */
RelnStatus reln_model_element(const RelnModel *model, RelnRng *rng, double cond, RelnElement **out);
/* Acts in place on the `count` raw numbers of one sample of an input. */
RelnStatus reln_model_act(const RelnModel *model, int input, const RelnElement *g, ptrdiff_t count,
                          double *values);
/* Moves the predictions of one sample, layout->outputs numbers, to the frame g, in place. */
RelnStatus reln_model_act_target(const RelnModel *model, const RelnLayout *layout,
                                 const RelnElement *g, double *values);
/* Moves the numbers of one target at one place, as in files, to the frame g, in place. */
RelnStatus reln_model_act_truth(const RelnModel *model, int target, const RelnElement *g,
                                double *values);

#ifdef __cplusplus
}
#endif

#endif
