/* spec.c -- the keys of a SPEC: one table of names, ranges, defaults and help; and the conditions between keys. */
#include "kit/spec.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/kinds.h"
#include "model/sequence.h"
#include "model/spec.h"

/* ---- words -------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define REFERENCE_WORDS(WORD) \
    WORD(RELN_REFERENCE_NONE, "none") WORD(RELN_REFERENCE_MEAN, "mean")
WORD_TABLE(reference, RelnReference, REFERENCE_WORDS)

#define MODEL_WORDS(WORD) \
    WORD(RELN_MODEL_RELN, "reln") WORD(RELN_MODEL_LIE_NEURONS, "lie-neurons") \
    WORD(RELN_MODEL_VECTOR_NEURONS, "vector-neurons") WORD(RELN_MODEL_MLP, "mlp") \
    WORD(RELN_MODEL_SEQUENCE, "sequence") WORD(RELN_MODEL_RESNET, "resnet") \
    WORD(RELN_MODEL_PLAIN_TRANSFORMER, "plain-transformer") \
    WORD(RELN_MODEL_SET, "set") WORD(RELN_MODEL_GRAPH, "graph") \
    WORD(RELN_MODEL_TRANSFORMER, "transformer") WORD(RELN_MODEL_MESSAGES, "messages")
WORD_TABLE(model, RelnModelKind, MODEL_WORDS)

#define SEQUENCE_WORDS(WORD) \
    WORD(RELN_SEQUENCE_LAST, "last") WORD(RELN_SEQUENCE_CHANGE, "change") \
    WORD(RELN_SEQUENCE_MEAN, "mean") WORD(RELN_SEQUENCE_EACH, "each")
WORD_TABLE(sequence, RelnSequenceTarget, SEQUENCE_WORDS)

#define STEP_WORDS(WORD) \
    WORD(RELN_STEP_RELU, "relu") WORD(RELN_STEP_LEAKY, "leaky") WORD(RELN_STEP_RMS, "rms") \
    WORD(RELN_STEP_PROJECT, "project") WORD(RELN_STEP_BRACKET, "bracket") \
    WORD(RELN_STEP_PRODUCT, "product") WORD(RELN_STEP_JORDAN, "jordan") \
    WORD(RELN_STEP_TRIPLE, "triple") WORD(RELN_STEP_GATE, "gate")
WORD_TABLE(step, RelnStepKind, STEP_WORDS)

#define POOL_WORDS(WORD) \
    WORD(RELN_POOL_MEAN, "mean") WORD(RELN_POOL_MAX, "max") WORD(RELN_POOL_SOFTMAX, "softmax")
WORD_TABLE(pool, RelnPoolKind, POOL_WORDS)

#define FORM_WORDS(WORD) \
    WORD(RELN_FORM_COMPLETED, "completed") WORD(RELN_FORM_NO_CENTER, "no-center") \
    WORD(RELN_FORM_NO_SEMISIMPLE, "no-semisimple") WORD(RELN_FORM_DEFINITE, "definite") \
    WORD(RELN_FORM_TRACE, "trace")
WORD_TABLE(form, RelnForm, FORM_WORDS)

#define OPTIMIZER_WORDS(WORD) \
    WORD(RELN_SPEC_ADAM, "adam") WORD(RELN_SPEC_ADAMW, "adamw") WORD(RELN_SPEC_SGD, "sgd")
WORD_TABLE(optimizer, RelnSpecOptimiser, OPTIMIZER_WORDS)

#define SCHEDULE_WORDS(WORD) \
    WORD(RELN_SCHEDULE_CONSTANT, "constant") WORD(RELN_SCHEDULE_WARMUP, "warmup") \
    WORD(RELN_SCHEDULE_COSINE, "cosine") WORD(RELN_SCHEDULE_RESTARTS, "restarts") \
    WORD(RELN_SCHEDULE_EXPONENTIAL, "exponential") WORD(RELN_SCHEDULE_STEPS, "steps") \
    WORD(RELN_SCHEDULE_PLATEAU, "plateau")
WORD_TABLE(schedule, RelnScheduleKind, SCHEDULE_WORDS)

/* clang-format on */

/* The words of activations; RELN_ACT_NONE has none. */
static const char *const activation_words[] = {[RELN_ACT_RELU] = "relu",
                                               [RELN_ACT_SILU] = "silu",
                                               [RELN_ACT_TANH] = "tanh",
                                               [RELN_ACT_SOFTPLUS] = "softplus",
                                               NULL};
static const char *const shuffle_words[] = {
    [RELN_SHUFFLE_ROWS] = "rows", [RELN_SHUFFLE_BLOCKS] = "blocks", NULL};
static const char *const dtype_words[] = {"f32", "f64", NULL};

const char *reln_model_kind_text(RelnModelKind kind)
{
    return model_word(kind);
}

const char *reln_step_text(RelnStepKind step)
{
    return step_word(step);
}

/* ---- the tables --------------------------------------------------------------------------------------------------- */

static RelnStatus read_value(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_value(RelnDoc *, RelnDocNode *, const Key *, const void *);

/* Defaults of keys whose default is not a single number. */
#define SHARE 0.1
#define BETA_1 0.9
#define BETA_2 0.999
#define AS_TEXT(x) #x
#define TEXT_OF(x) AS_TEXT(x)
static const Key input_keys[] = {
    {.name = "name", TEXT(RelnSpecInput, name), .help = "array of the data file"},
    {.name = "as", WORD(RelnSpecInput, as, reln_input_words), .help = "kind of its values"},
    {.name = "log", FLAG(RelnSpecInput, log), .help = "of a covariance: use its logarithm"},
    {.name = "reference",
     WORD(RelnSpecInput, reference, reference_words),
     .help = "of covariances: mean compares them with their mean, for gl:n"},
    {.name = "points", FLAG(RelnSpecInput, points), .help = "a set for each sample: (N, P, ...)"},
    {.name = "edges",
     FLAG(RelnSpecInput, edges),
     .help = "a value for each given edge: (N, E, ...); see edges below"},
    {.name = "mask", TEXT(RelnSpecInput, mask), .help = "array (N, P): 1 where a point is"},
    {.name = "count",
     TEXT(RelnSpecInput, count),
     .help = "array (N,), instead of a mask: the number of points, which come first"},
    {.name = "offsets",
     TEXT(RelnSpecInput, offsets),
     .help = "array (N + 1,), instead of both: points of all samples lie in (T, ...), those of "
             "sample i from offset i on"},
    {.name = "most",
     WHOLE(RelnSpecInput, most, 1, 1 << 20),
     .example = "256",
     .help = "largest number of points of a set that are used, the first ones; left out: all"},
    {.name = "draw",
     FLAG(RelnSpecInput, draw),
     .help = "in training, that many random points, drawn again in each epoch"},
    {.name = "sequence", FLAG(RelnSpecInput, sequence), .help = "points in the order of time"},
    {.name = "value",
     .kind = KEY_OWN,
     .read = read_value,
     .write = write_value,
     .example = "[0, 0, 1]",
     .help = "numbers that all samples have, in place of an array: gravity, the axis of a beam"},
};
static const Section input_section = SECTION("an input", input_keys);

static const Key edge_keys[] = {
    {.name = "name",
     TEXT(RelnSpecEdges, name),
     .example = "e",
     .help = "array (N, E, 2) of places of points: messages go from the first to the second"},
    {.name = "mask",
     TEXT(RelnSpecEdges, mask),
     .example = "m",
     .help = "array (N, E): 1 where an edge is"},
    {.name = "count",
     TEXT(RelnSpecEdges, count),
     .example = "k",
     .help = "array (N,), instead of a mask: the number of edges, which come first"},
    {.name = "offsets",
     TEXT(RelnSpecEdges, offsets),
     .example = "o",
     .help =
         "array (N + 1,), instead of both: edges of all samples lie in (T, 2), those of sample i "
         "from offset i on"},
};
static const Section edge_section = SECTION("edges", edge_keys);

static const Key pretrain_keys[] = {
    {.name = "mask",
     NUMBER(RelnSpecPretrain, mask, ABOVE_ZERO, 1),
     .example = "0.6",
     .help = "share of the points of each sample that are hidden, others in each epoch"},
    {.name = "place",
     TEXT(RelnSpecPretrain, place),
     .example = "v",
     .help = "input that says which hidden point is meant; left out: the first vector of points"},
    {.name = "noise",
     NUMBER(RelnSpecPretrain, noise, ABOVE_ZERO, DBL_MAX),
     .example = "0.3",
     .help = "noise on it at hidden points, in units of its size; left out: it is shown, and not "
             "predicted"},
};
static const Section pretrain_section = SECTION("pretrain", pretrain_keys);

static const Key sequence_keys[] = {
    {.name = "length",
     WHOLE(RelnSpecSequence, length, 2, 1 << 16),
     .example = "50",
     .help = "steps of a window, cut from recordings (T, ...); left out: arrays are (N, P, ...)"},
    {.name = "stride",
     WHOLE(RelnSpecSequence, stride, 1, 1 << 16),
     .otherwise = 1,
     .help = "steps from one window to the next"},
    {.name = "jitter",
     WHOLE(RelnSpecSequence, jitter, 0, 1 << 16),
     .help = "in training, a window begins up to this many steps later, drawn in every epoch"},
    {.name = "time",
     TEXT(RelnSpecSequence, time),
     .example = "t",
     .help = "array of times, (T,) or (N, P); left out: steps of equal length"},
    {.name = "recording",
     TEXT(RelnSpecSequence, recording),
     .example = "r",
     .help = "array (T,) of numbers: no window reaches from one number to another"},
    {.name = "step",
     NUMBER(RelnSpecSequence, step, ABOVE_ZERO, 1e15),
     .otherwise = 1,
     .help = "time from step to step, without an array of times"},
    {.name = "gap",
     NUMBER(RelnSpecSequence, gap, ABOVE_ZERO, 1e15),
     .example = "0.1",
     .help = "the longest step that is allowed; left out: ten times the median"},
    {.name = "target",
     WORD(RelnSpecSequence, target, sequence_words),
     .help = "value of a window, from the steps of a target (T, ...)"},
    {.name = "estimate",
     TEXT(RelnSpecSequence, estimate),
     .example = "v",
     .help = "input whose integral over the window is the estimate that the network corrects"},
    {.name = "causal", FLAG(RelnSpecSequence, causal), .help = "no step depends on a later step"},
    {.name = "taps",
     WHOLE(RelnSpecSequence, taps, 1, 255),
     .otherwise = 5,
     .help = "steps that a convolution sees"},
};
static const Section sequence_section = SECTION("sequence", sequence_keys);

static const Key head_keys[] = {
    {.name = "hidden",
     WHOLE(RelnSpecModel, head_hidden, 0, 16),
     .otherwise = 2,
     .help = "hidden layers on the invariants"},
    {.name = "width",
     WHOLE(RelnSpecModel, head_width, 1, 4096),
     .example = "64",
     .help = "channels of the hidden layers; left out: those of the model"},
    {.name = "activation",
     WORD(RelnSpecModel, activation, activation_words),
     .otherwise = RELN_ACT_SILU,
     .help = "activation of the hidden layers, and of an mlp"},
};
static const Section head_section = SECTION("head", head_keys);

static const Key model_keys[] = {
    {.name = "kind", WORD(RelnSpecModel, kind, model_words), .help = "the network"},
    {.name = "width", WHOLE(RelnSpecModel, width, 1, 4096), .otherwise = 64, .help = "channels"},
    {.name = "parameters",
     WHOLE(RelnSpecModel, parameters, 1, 1000000000),
     .example = "20000",
     .help = "instead of width: the width with the nearest number of parameters"},
    {.name = "depth", WHOLE(RelnSpecModel, depth, 1, 64), .otherwise = 2, .help = "blocks"},
    {.name = "nonlinearity",
     WORDS(RelnSpecModel, steps, n_steps, step_words),
     .example = "[rms, bracket]",
     .help = "steps of a block; left out: the default of the kind"},
    {.name = "pool",
     WORD(RelnSpecModel, pool, pool_words),
     .help = "how all points become one value"},
    {.name = "sums",
     WHOLE(RelnSpecModel, sums, 1, 32),
     .otherwise = 4,
     .help = "of set, graph and transformer: sums that the points are divided among"},
    {.name = "heads",
     WHOLE(RelnSpecModel, heads, 1, 64),
     .otherwise = 4,
     .help = "of transformers; the width must be a multiple"},
    {.name = "groups",
     WHOLE(RelnSpecModel, groups, 1, 1024),
     .example = "32",
     .help = "of set, graph and transformer: points far apart, each with the points around it, "
             "which exchange information in place of points; left out: none"},
    {.name = "members",
     WHOLE(RelnSpecModel, members, 1, 1024),
     .otherwise = 16,
     .help = "points of a group: the nearest"},
    {.name = "neighbours",
     WHOLE(RelnSpecModel, neighbours, 1, 4096),
     .example = "16",
     .help =
         "of graph and messages: the nearest points, which send; left out: all points of the set"},
    {.name = "beside",
     WORDS(RelnSpecModel, beside, n_beside, model_words),
     .example = "[set]",
     .help = "kinds of further networks of sets, which are trained beside this one; predictions "
             "are the mean of all; left out: none"},
    {.name = "form", WORD(RelnSpecModel, form, form_words), .help = "invariant form"},
    {.name = "leak",
     NUMBER(RelnSpecModel, leak, 0, BELOW_ONE),
     .otherwise = 0.2,
     .help = "slope of the step leaky for negative values"},
    {.name = "dropout",
     NUMBER(RelnSpecModel, dropout, 0, BELOW_ONE),
     .help = "share of channels and invariants that every block drops in training"},
    {.name = "head", .kind = KEY_SECTION, .section = &head_section, .help = "after the blocks"},
};
static const Section model_section = SECTION("model", model_keys);

static const Key piece_keys[] = {
    {.name = "kind", WORD(RelnSpecPiece, kind, schedule_words), .help = ""},
    {.name = "length", NUMBER(RelnSpecPiece, length, ABOVE_ZERO, 1e15)},
    {.name = "floor",
     NUMBER(RelnSpecPiece, floor, 0, 1),
     .wanted = "a number from 0 to 1 (a share of the rate)"},
    {.name = "factor", NUMBER(RelnSpecPiece, factor, ABOVE_ZERO, 1000)},
    {.name = "period", NUMBER(RelnSpecPiece, period, ABOVE_ZERO, 1e15)},
    {.name = "patience", WHOLE(RelnSpecPiece, patience, 1, 1000000)},
    {.name = "scale", NUMBER(RelnSpecPiece, scale, ABOVE_ZERO, 1000)},
};
static const Section piece_section = SECTION("a piece of the schedule", piece_keys);

static const Key augment_keys[] = {
    {.name = "cond",
     NUMBER(RelnSpecTrain, augment, 1, 1e6),
     .example = "10",
     .help = "condition number of random frames put on every sample"},
};
static const Section augment_section = SECTION("augment", augment_keys);

static RelnStatus read_schedule(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_schedule(RelnDoc *, RelnDocNode *, const Key *, const void *);
static RelnStatus read_validation(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_validation(RelnDoc *, RelnDocNode *, const Key *, const void *);

static const Key train_keys[] = {
    {.name = "epochs",
     WHOLE(RelnSpecTrain, epochs, 1, 100000000),
     .otherwise = 100,
     .help = "passes over the training data"},
    {.name = "steps",
     WHOLE(RelnSpecTrain, steps, 1, 2000000000),
     .example = "10000",
     .help = "instead of epochs: batches"},
    {.name = "batch",
     WHOLE(RelnSpecTrain, batch, 1, 1 << 20),
     .otherwise = 100,
     .help = "samples for each step"},
    {.name = "lanes",
     WHOLE(RelnSpecTrain, lanes, 1, 4096),
     .otherwise = 8,
     .help = "partial sums of a batch; also the largest number of threads that can share a batch"},
    {.name = "shuffle",
     WORD(RelnSpecTrain, shuffle, shuffle_words),
     .help =
         "what is permuted in every epoch: rows, or blocks of rows, for files larger than memory"},
    {.name = "optimizer", WORD(RelnSpecTrain, optimizer, optimizer_words), .help = "the optimiser"},
    {.name = "lr",
     NUMBER(RelnSpecTrain, lr, ABOVE_ZERO, 1e3),
     .otherwise = 1e-3,
     .help = "learning rate"},
    {.name = "schedule",
     .kind = KEY_OWN,
     .read = read_schedule,
     .write = write_schedule,
     .example = "cosine",
     .words = schedule_words,
     .help =
         "of the learning rate; or [{kind, length, floor, factor, period, patience, scale}, ...]"},
    {.name = "betas",
     .kind = KEY_NUMBERS,
     AT(RelnSpecTrain, betas),
     .room = 2,
     .count_at = KEY_FIXED,
     .low = 0,
     .high = BELOW_ONE,
     .example = "[" TEXT_OF(BETA_1) ", " TEXT_OF(BETA_2) "]",
     .shown = true,
     .help = "of adam and adamw"},
    {.name = "epsilon",
     NUMBER(RelnSpecTrain, epsilon, ABOVE_ZERO, 1),
     .otherwise = 1e-8,
     .help = "of adam and adamw"},
    {.name = "epsilon_inside",
     FLAG(RelnSpecTrain, epsilon_inside),
     .help = "add epsilon inside of the square root"},
    {.name = "decay",
     NUMBER(RelnSpecTrain, decay, 0, 1e3),
     .help = "decay of weights; adamw uses 0.01 if left out"},
    {.name = "momentum", NUMBER(RelnSpecTrain, momentum, 0, BELOW_ONE), .help = "of sgd"},
    {.name = "nesterov", FLAG(RelnSpecTrain, nesterov), .help = "of sgd"},
    {.name = "clip",
     NUMBER(RelnSpecTrain, clip, ABOVE_ZERO, DBL_MAX),
     .example = "1",
     .help = "largest norm of the gradient; lie-neurons use 1 if left out"},
    {.name = "loss",
     WORD(RelnSpecTrain, loss, reln_loss_words),
     .help = "loss of targets that name none; classes always have cross-entropy"},
    {.name = "delta",
     NUMBER(RelnSpecTrain, delta, ABOVE_ZERO, DBL_MAX),
     .otherwise = 1,
     .help = "of huber"},
    {.name = "smoothing",
     NUMBER(RelnSpecTrain, smoothing, 0, BELOW_ONE),
     .help = "share of a label that is divided equally among all classes"},
    {.name = "average",
     NUMBER(RelnSpecTrain, average, 0, BELOW_ONE),
     .help = "above 0: averages of the weights, which keep this share in a step, are evaluated and "
             "saved"},
    {.name = "validation",
     .kind = KEY_OWN,
     .read = read_validation,
     .write = write_validation,
     .example = TEXT_OF(SHARE),
     .shown = true,
     .help = "share of the samples, a file, or {folds: NUMBER or ARRAY, fold: NUMBER}"},
    {.name = "evaluate",
     WHOLE(RelnSpecTrain, evaluate, 1, 100000000),
     .otherwise = 1,
     .help = "epochs (or steps) between evaluations"},
    {.name = "patience",
     WHOLE(RelnSpecTrain, patience, 1, 1000000),
     .example = "20",
     .help = "stop after this many evaluations without a better one"},
    {.name = "dtype",
     WORD(RelnSpecTrain, dtype, dtype_words),
     .low = RELN_F32,
     .otherwise = RELN_F32,
     .help = "number type of the network"},
    {.name = "augment",
     .kind = KEY_SECTION,
     .section = &augment_section,
     .help = "for networks that are not equivariant"},
    {.name = "seed",
     NUMBER(RelnSpecTrain, seed, 0, 9007199254740992.0),
     .wanted = "a whole number from 0 to 2^53",
     .otherwise = 1,
     .help = "seed of weights, order of samples and random frames"},
    {.name = "checkpoint",
     NUMBER(RelnSpecTrain, checkpoint, 0.001, 1e9),
     .wanted = "seconds, from 0.001 to 1e9",
     .otherwise = 60,
     .help = "seconds between checkpoints"},
};
static const Section train_section = SECTION("train", train_keys);

static RelnStatus read_symmetry(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_symmetry(RelnDoc *, RelnDocNode *, const Key *, const void *);
static RelnStatus read_inputs(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_inputs(RelnDoc *, RelnDocNode *, const Key *, const void *);

static const Key spec_keys[] = {
    {.name = "symmetry", .kind = KEY_OWN, .read = read_symmetry, .write = write_symmetry},
    {.name = "features", TEXT(RelnSpec, features)},
    {.name = "inputs", .kind = KEY_OWN, .read = read_inputs, .write = write_inputs},
    {.name = "target",
     .kind = KEY_OWN,
     .read = reln_spec_read_target,
     .write = reln_spec_write_target},
    {.name = "targets",
     .kind = KEY_OWN,
     .read = reln_spec_read_targets,
     .write = reln_spec_write_targets},
    {.name = "pretrain", .kind = KEY_SECTION, AT(RelnSpec, pretrain), .section = &pretrain_section},
    {.name = "weights", TEXT(RelnSpec, weights)},
    {.name = "edges", .kind = KEY_SECTION, AT(RelnSpec, edges), .section = &edge_section},
    {.name = "sequence", .kind = KEY_SECTION, AT(RelnSpec, sequence), .section = &sequence_section},
    {.name = "model", .kind = KEY_SECTION, AT(RelnSpec, model), .section = &model_section},
    {.name = "train", .kind = KEY_SECTION, AT(RelnSpec, train), .section = &train_section},
};
static const Section spec_section = SECTION("the spec", spec_keys);

/* ---- keys with special forms ------------------------------------------------------------------------------------- */

/* {algebra: gl, n: 3} is gl:3. */
static RelnStatus read_long_name(const Reader *r, const RelnDocNode *map, RelnSpec *spec)
{
    const RelnDocNode *algebra = reln_doc_get(map, "algebra"), *n = reln_doc_get(map, "n");
    int length;

    if (!algebra || !n || map->count != 2 || algebra->kind != RELN_DOC_TEXT ||
        (n->kind != RELN_DOC_NUMBER && n->kind != RELN_DOC_TEXT))
        return reln_keys_fail(
            r, map,
            "symmetry has other keys than wanted: a name, {algebra: gl, n: 3} or {basis: FILE}");
    RELN_TRY(reln_keys_text(r, algebra, "algebra", sizeof spec->symmetry, spec->symmetry));
    if (n->kind == RELN_DOC_TEXT)
        RELN_TRY(reln_keys_text(r, n, "n", sizeof spec->symmetry, spec->symmetry));
    length = snprintf(spec->symmetry, sizeof spec->symmetry, "%s:%s", algebra->text, n->text);
    if (length >= (int)sizeof spec->symmetry)
        return reln_keys_fail(r, map, "symmetry has %d letters; wanted up to %zu", length,
                              sizeof spec->symmetry - 1);
    return RELN_OK;
}

static RelnStatus read_symmetry(const Reader *r, const Key *key, const RelnDocNode *node,
                                void *base)
{
    RelnSpec *spec = base;
    const RelnDocNode *basis = reln_doc_get(node, "basis");

    if (node->kind != RELN_DOC_MAP)
        return reln_keys_text(r, node, key->name, sizeof spec->symmetry, spec->symmetry);
    if (basis && node->count == 1)
        return reln_keys_text(r, basis, "basis", sizeof spec->basis, spec->basis);
    return read_long_name(r, node, spec);
}

static void write_symmetry(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpec *spec = base;

    if (spec->basis[0])
        reln_doc_set_text(doc, reln_doc_set(doc, map, key->name, reln_doc_map(doc)), "basis",
                          spec->basis);
    else
        reln_doc_set_text(doc, map, key->name, spec->symmetry);
}

const char *reln_spec_join(const char *const *words, char *out, size_t size)
{
    size_t used = 0;

    for (int i = 0; words[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i == 0         ? ""
                                 : words[i + 1] ? ", "
                                                : " or ",
                                 words[i]);
    return out;
}

/* Reads a number, or a list of numbers and lists, and appends all numbers. */
static RelnStatus read_values(const Reader *r, const RelnDocNode *node, RelnSpecInput *in)
{
    if (node->kind == RELN_DOC_LIST) {
        for (const RelnDocNode *i = node->first; i; i = i->next)
            RELN_TRY(read_values(r, i, in));
        return RELN_OK;
    }
    if (node->kind != RELN_DOC_NUMBER)
        return reln_keys_fail(
            r, node, "value has an item that is no number; wanted numbers, or lists of them");
    if (in->n_value == RELN_SPEC_VALUES)
        return reln_keys_fail(r, node, "value has more numbers than %d; wanted at most so many",
                              RELN_SPEC_VALUES);
    in->value[in->n_value++] = node->number;
    return RELN_OK;
}

static RelnStatus read_value(const Reader *r, const Key *key, const RelnDocNode *node, void *base)
{
    RelnSpecInput *in = base;

    (void)key;
    in->n_value = 0;
    RELN_TRY(read_values(r, node, in));
    return in->n_value > 0 ? RELN_OK : reln_keys_fail(r, node, "value is empty; wanted numbers");
}

static void write_value(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpecInput *in = base;
    RelnDocNode *list =
        in->n_value > 0 ? reln_doc_set(doc, map, key->name, reln_doc_list(doc)) : NULL;

    for (int i = 0; i < in->n_value; i++)
        reln_doc_set_number(doc, list, NULL, in->value[i]);
}

static RelnStatus read_input(const Reader *r, const RelnDocNode *node, RelnSpecInput *in)
{
    char known[160];

    reln_keys_init(&input_section, in);
    RELN_TRY(reln_keys_read(r, &input_section, node, in));
    if (!in->name[0])
        return reln_keys_fail(r, node, "an input has no name; wanted {name: ARRAY, as: ...}");
    if (!reln_doc_get(node, "as"))
        return reln_keys_fail(r, node, "input %s does not say what it is; wanted as: %s", in->name,
                              reln_spec_join(reln_input_words, known, sizeof known));
    return RELN_OK;
}

static RelnStatus read_inputs(const Reader *r, const Key *key, const RelnDocNode *node, void *base)
{
    RelnSpec *spec = base;

    RELN_TRY(reln_keys_want(r, node, key->name, RELN_DOC_LIST, "a list of {name: ARRAY, as: ...}"));
    if (node->count < 1 || node->count > RELN_SPEC_INPUTS)
        return reln_keys_fail(r, node, "inputs has %d items; wanted 1 to %d", node->count,
                              RELN_SPEC_INPUTS);
    for (const RelnDocNode *i = node->first; i; i = i->next)
        RELN_TRY(read_input(r, i, &spec->input[spec->n_inputs++]));
    return RELN_OK;
}

static void write_inputs(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpec *spec = base;
    RelnDocNode *list = reln_doc_set(doc, map, key->name, reln_doc_list(doc));

    for (int i = 0; i < spec->n_inputs; i++)
        reln_keys_write(doc, reln_doc_set(doc, list, NULL, reln_doc_map(doc)), &input_section,
                        &spec->input[i]);
}

/* Reads a piece of a schedule; a single word is a piece, too. */
static RelnStatus read_piece(const Reader *r, const RelnDocNode *node, RelnSpecPiece *piece)
{
    int kind = 0;

    if (node->kind == RELN_DOC_MAP)
        return reln_keys_read(r, &piece_section, node, piece);
    RELN_TRY(reln_keys_word(r, node, "schedule", schedule_words, &kind));
    piece->kind = (RelnScheduleKind)kind;
    return RELN_OK;
}

static RelnStatus read_schedule(const Reader *r, const Key *key, const RelnDocNode *node,
                                void *base)
{
    const bool list = node->kind == RELN_DOC_LIST;
    RelnSpecTrain *train = base;

    if (list && (node->count < 1 || node->count > RELN_SCHEDULE_MAX))
        return reln_keys_fail(r, node, "%s has %d pieces; wanted 1 to %d", key->name, node->count,
                              RELN_SCHEDULE_MAX);
    for (const RelnDocNode *i = list ? node->first : node; i; i = list ? i->next : NULL)
        RELN_TRY(read_piece(r, i, &train->schedule[train->n_pieces++]));
    return RELN_OK;
}

static void write_schedule(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpecTrain *train = base;
    RelnDocNode *list =
        train->n_pieces > 0 ? reln_doc_set(doc, map, key->name, reln_doc_list(doc)) : NULL;

    for (int i = 0; i < train->n_pieces; i++)
        reln_keys_write(doc, reln_doc_set(doc, list, NULL, reln_doc_map(doc)), &piece_section,
                        &train->schedule[i]);
}

static RelnStatus read_whole_from(const Reader *r, const RelnDocNode *node, const char *name,
                                  int low, int *out)
{
    RELN_TRY(reln_keys_want(r, node, name, RELN_DOC_NUMBER, "a whole number"));
    if (!(node->number >= low && node->number <= 4096 && node->number == floor(node->number)))
        return reln_keys_fail(r, node, "%s is %.40s; wanted a whole number from %d to 4096", name,
                              node->text, low);
    *out = (int)node->number;
    return RELN_OK;
}

/* {folds: 5, fold: 0} or {folds: ARRAY, fold: 0} */
static RelnStatus read_fold(const Reader *r, const RelnDocNode *map, RelnFold *out)
{
    const RelnDocNode *folds = reln_doc_get(map, "folds"), *fold = reln_doc_get(map, "fold");

    if (!folds || !fold || map->count != 2)
        return reln_keys_fail(r, map,
                              "validation has other keys than wanted: {folds: NUMBER or ARRAY, "
                              "fold: NUMBER}");
    RELN_TRY(read_whole_from(r, fold, "fold", 0, &out->number));
    if (folds->kind == RELN_DOC_TEXT)
        return reln_keys_text(r, folds, "folds", sizeof out->array, out->array);
    RELN_TRY(read_whole_from(r, folds, "folds", 2, &out->count));
    if (out->number >= out->count)
        return reln_keys_fail(r, fold, "fold is %d of %d; wanted 0 to %d", out->number, out->count,
                              out->count - 1);
    return RELN_OK;
}

static RelnStatus read_validation(const Reader *r, const Key *key, const RelnDocNode *node,
                                  void *base)
{
    RelnSpecTrain *train = base;

    train->validation = 0;
    if (node->kind == RELN_DOC_MAP)
        return read_fold(r, node, &train->fold);
    if (node->kind == RELN_DOC_TEXT)
        return reln_keys_text(r, node, key->name, sizeof train->validation_file,
                              train->validation_file);
    RELN_TRY(reln_keys_want(r, node, key->name, RELN_DOC_NUMBER,
                            "a share from 0 to below 1, or a file"));
    if (!(node->number >= 0 && node->number < 1))
        return reln_keys_fail(r, node, "%s is %.40s; wanted a share from 0 to below 1, or a file",
                              key->name, node->text);
    train->validation = node->number;
    return RELN_OK;
}

static void write_validation(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpecTrain *train = base;
    RelnDocNode *fold;

    if (train->fold.count > 0 || train->fold.array[0]) {
        fold = reln_doc_set(doc, map, key->name, reln_doc_map(doc));
        if (train->fold.array[0])
            reln_doc_set_text(doc, fold, "folds", train->fold.array);
        else
            reln_doc_set_number(doc, fold, "folds", train->fold.count);
        reln_doc_set_number(doc, fold, "fold", train->fold.number);
    } else if (train->validation_file[0])
        reln_doc_set_text(doc, map, key->name, train->validation_file);
    else
        reln_doc_set_number(doc, map, key->name, train->validation);
}

/* ---- conditions between keys ------------------------------------------------------------------------------------- */

/* Returns whether a SPEC asks for pre-training; a SPEC with every key has an empty map otherwise. */
static bool hides(const RelnDocNode *root)
{
    const RelnDocNode *node = reln_doc_get(root, "pretrain");

    return node && node->count > 0;
}

static RelnStatus check_required(const Reader *r, const RelnDocNode *root, const RelnSpec *spec)
{
    if (!spec->symmetry[0] && !spec->basis[0])
        return reln_keys_fail(r, root,
                              "there is no symmetry; wanted a group, as in symmetry: gl:3");
    if (spec->n_inputs == 0)
        return reln_keys_fail(r, root,
                              "there are no inputs; wanted a list of {name: ARRAY, as: ...}");
    if (spec->n_targets == 0 && !hides(root))
        return reln_keys_fail(r, root, "there is no target; wanted {name: ARRAY, as: ...}");
    for (int i = 0; i < spec->n_inputs; i++)
        if (spec->input[i].n_value == 0)
            return RELN_OK;
    return reln_keys_fail(r, root, "all inputs have a value; wanted one that is an array");
}

static RelnStatus check_input(const Reader *r, const RelnDocNode *node, const RelnSpecInput *in)
{
    const char *as = reln_as_text(in->as);

    if (in->log && in->as != RELN_AS_COVARIANCE)
        return reln_keys_fail(r, node, "input %s: log is for a covariance, and this is a %s",
                              in->name, as);
    if (in->reference != RELN_REFERENCE_NONE && in->as != RELN_AS_COVARIANCE)
        return reln_keys_fail(r, node, "input %s: reference is for a covariance, and this is a %s",
                              in->name, as);
    if (in->edges && (in->points || in->sequence || in->n_value > 0))
        return reln_keys_fail(r, node, "input %s is of edges and %s; wanted one of them", in->name,
                              in->sequence      ? "a sequence"
                              : in->n_value > 0 ? "has a value"
                                                : "of points");
    if (in->mask[0] && !in->points)
        return reln_keys_fail(
            r, node, "input %s: a mask is for points; wanted points: true beside it", in->name);
    if (in->count[0] && (!in->points || in->mask[0]))
        return reln_keys_fail(r, node,
                              "input %s: a count is for points without a mask; wanted points: true "
                              "beside it, and one of both",
                              in->name);
    if (in->offsets[0] && (!in->points || in->mask[0] || in->count[0]))
        return reln_keys_fail(r, node,
                              "input %s: offsets are for points without a mask and a count; wanted "
                              "points: true beside it, and one of these",
                              in->name);
    if (in->most > 0 && !in->points)
        return reln_keys_fail(
            r, node, "input %s: most is for points; wanted points: true beside it", in->name);
    if (in->n_value > 0 && in->points)
        return reln_keys_fail(r, node,
                              "input %s: a value is of the whole sample, and points have an array; "
                              "wanted one of both",
                              in->name);
    if (in->draw && in->most == 0)
        return reln_keys_fail(
            r, node, "input %s: draw is for some of the points; wanted most: NUMBER beside it",
            in->name);
    return RELN_OK;
}

/* Checks two inputs together: all sets of points share one mask, and covariances have one reference or
 * none. */
static RelnStatus check_pair(const Reader *r, const RelnDocNode *node, const RelnSpecInput *a,
                             const RelnSpecInput *b)
{
    if (strcmp(a->name, b->name) == 0)
        return reln_keys_fail(r, node, "input %s is there twice", a->name);
    if (a->points && b->points &&
        (strcmp(a->mask, b->mask) != 0 || strcmp(a->count, b->count) != 0 ||
         strcmp(a->offsets, b->offsets) != 0))
        return reln_keys_fail(r, node,
                              "inputs %s and %s have points with different masks; "
                              "wanted one for both",
                              b->name, a->name);
    if (a->as == RELN_AS_COVARIANCE && b->as == RELN_AS_COVARIANCE && a->reference != b->reference)
        return reln_keys_fail(r, node,
                              "inputs %s and %s have different references; wanted one for "
                              "all covariances",
                              b->name, a->name);
    return RELN_OK;
}

/* All inputs of points use the smallest number of points that one of them names, and are drawn together. */
static void share_most(RelnSpec *spec)
{
    int most = 0;
    bool draw = false;

    for (int i = 0; i < spec->n_inputs; i++) {
        if (spec->input[i].most > 0 && (most == 0 || spec->input[i].most < most))
            most = spec->input[i].most;
        draw = draw || spec->input[i].draw;
    }
    for (int i = 0; i < spec->n_inputs; i++)
        if (spec->input[i].points) {
            spec->input[i].most = most;
            spec->input[i].draw = draw;
        }
}

/* Does an input of points say which places are points? */
static bool says_rows(const RelnSpecInput *in)
{
    return in->points && (in->mask[0] || in->count[0] || in->offsets[0]);
}

/* Inputs of points share their rows: a mask, a count or offsets that one of them names are those of all. */
static void share_rows(RelnSpec *spec)
{
    const RelnSpecInput *first = NULL;

    for (int i = 0; i < spec->n_inputs && !first; i++)
        if (says_rows(&spec->input[i]))
            first = &spec->input[i];
    for (int i = 0; first && i < spec->n_inputs; i++) {
        RelnSpecInput *in = &spec->input[i];

        if (in->points && !says_rows(in)) {
            memcpy(in->mask, first->mask, sizeof in->mask);
            memcpy(in->count, first->count, sizeof in->count);
            memcpy(in->offsets, first->offsets, sizeof in->offsets);
        }
    }
    share_most(spec);
}

static RelnStatus check_inputs(const Reader *r, const RelnDocNode *root, const RelnSpec *spec)
{
    const RelnDocNode *node = reln_doc_get(root, "inputs")->first;

    for (int i = 0; i < spec->n_inputs; i++, node = node->next) {
        RELN_TRY(check_input(r, node, &spec->input[i]));
        if (spec->input[i].edges && !spec->edges.name[0])
            return reln_keys_fail(r, node,
                                  "input %s is of edges, and none are given; wanted edges: {name: "
                                  "ARRAY}",
                                  spec->input[i].name);
        for (int t = 0; t < spec->n_targets; t++)
            if (strcmp(spec->input[i].name, spec->target[t].name) == 0)
                return reln_keys_fail(r, node, "input %s is the target, too", spec->input[i].name);
        for (int j = 0; j < i; j++)
            RELN_TRY(check_pair(r, node, &spec->input[i], &spec->input[j]));
    }
    return RELN_OK;
}

/* Returns the second of two keys that exclude each other, if both are given. */
static const RelnDocNode *both(const RelnDocNode *map, const char *a, const char *b)
{
    return reln_doc_get(map, a) ? reln_doc_get(map, b) : NULL;
}

/* Chooses the defaults of networks of sets, which were found on jets: points exchange so much information
 * that a narrow network with much dropout is better. */
static void choose_structured(const RelnDocNode *map, RelnSpecModel *m)
{
    if (!reln_doc_get(map, "width") && !m->parameters)
        m->width = 32;
    if (!reln_doc_get(map, "depth"))
        m->depth = m->kind == RELN_MODEL_SET ? 4 : 2;
    if (!reln_doc_get(map, "dropout"))
        m->dropout = 0.3;
}

/* Returns whether points of the network, or of one beside it, send messages. */
static bool sends(const RelnSpecModel *m)
{
    bool any = m->kind == RELN_MODEL_GRAPH || m->kind == RELN_MODEL_MESSAGES;

    for (int i = 0; i < m->n_beside; i++)
        any |= m->beside[i] == RELN_MODEL_GRAPH || m->beside[i] == RELN_MODEL_MESSAGES;
    return any;
}

static RelnStatus check_model(const Reader *r, const RelnDocNode *map, RelnSpecModel *m)
{
    const RelnDocNode *twice = both(map, "width", "parameters");

    if (twice)
        return reln_keys_fail(r, twice, "model has width and parameters; wanted one of them");
    if (m->parameters)
        m->width = 0;
    if ((m->kind == RELN_MODEL_MLP || m->kind == RELN_MODEL_RESNET ||
         m->kind == RELN_MODEL_PLAIN_TRANSFORMER) &&
        m->n_steps)
        return reln_keys_fail(r, reln_doc_get(map, "nonlinearity"),
                              "an mlp takes no nonlinearity; wanted head: {activation: ...}");
    if (m->kind == RELN_MODEL_MLP && m->dropout > 0)
        return reln_keys_fail(r, reln_doc_get(map, "dropout"),
                              "an mlp takes no dropout: it has no blocks");
    if (m->neighbours && !sends(m))
        return reln_keys_fail(r, reln_doc_get(map, "neighbours"),
                              "neighbours are for a graph or messages, and this is a %s",
                              model_word(m->kind));
    if (m->groups && m->kind < RELN_MODEL_SET)
        return reln_keys_fail(r, reln_doc_get(map, "groups"),
                              "groups are for a set, a graph or a transformer, and this is a %s",
                              model_word(m->kind));
    for (int i = 0; i < m->n_beside; i++)
        if (m->kind < RELN_MODEL_SET || m->beside[i] < RELN_MODEL_SET)
            return reln_keys_fail(r, reln_doc_get(map, "beside"),
                                  "%s beside %s; wanted set, graph, transformer or messages",
                                  model_word(m->beside[i]), model_word(m->kind));
    if (m->kind >= RELN_MODEL_SET)
        choose_structured(map, m);
    if (m->kind == RELN_MODEL_LIE_NEURONS && !reln_doc_get(map, "form"))
        m->form = RELN_FORM_NO_CENTER;
    return RELN_OK;
}

/* Groups take the place of points, so points have no edges. */
static RelnStatus check_groups(const Reader *r, const RelnDocNode *root, const RelnSpec *spec)
{
    const RelnDocNode *node = reln_doc_get(reln_doc_get(root, "model"), "groups");

    if (spec->model.groups == 0)
        return RELN_OK;
    if (spec->edges.name[0])
        return reln_keys_fail(r, node,
                              "groups take the place of points, and edges are given; wanted "
                              "one of both");
    return RELN_OK;
}

/* Given edges are those of a graph, between points of a set. */
static RelnStatus check_edges(const Reader *r, const RelnDocNode *node, const RelnSpec *spec)
{
    const RelnSpecEdges *e = &spec->edges;
    bool sets = false, drawn = false;

    if (!e->name[0] && !e->mask[0] && !e->count[0] && !e->offsets[0])
        return RELN_OK;
    for (int i = 0; i < spec->n_inputs; i++) {
        sets |= spec->input[i].points && !spec->input[i].sequence;
        drawn |= spec->input[i].draw;
    }
    if (drawn)
        return reln_keys_fail(r, node,
                              "edges are between points that stay, and the points are drawn; "
                              "wanted draw: false");
    if (!e->name[0])
        return reln_keys_fail(r, node, "edges have no name; wanted {name: ARRAY}");
    if (e->mask[0] && e->count[0])
        return reln_keys_fail(r, node, "edges have a mask and a count; wanted one of them");
    if (e->offsets[0] && (e->mask[0] || e->count[0]))
        return reln_keys_fail(r, node, "edges have offsets and a %s; wanted one of them",
                              e->mask[0] ? "mask" : "count");
    if (!sends(&spec->model) || spec->model.neighbours > 0)
        return reln_keys_fail(
            r, node,
            "edges are for a graph or messages without neighbours, and this is a %s%s; "
            "wanted model: {kind: graph}",
            model_word(spec->model.kind), spec->model.neighbours > 0 ? " with neighbours" : "");
    if (!sets)
        return reln_keys_fail(r, node,
                              "edges are between points, and no input is a set; wanted points: "
                              "true for an input");
    return RELN_OK;
}

/* Choose the default of clip. In Lie Neurons features grow as cubes, so a single sample's gradient can be larger than
 * all the others together. */
static void choose_clip(const RelnDocNode *map, const RelnSpecModel *model, RelnSpecTrain *t)
{
    if (model->kind == RELN_MODEL_LIE_NEURONS && !reln_doc_get(map, "clip"))
        t->clip = 1;
}

static RelnStatus check_train(const Reader *r, const RelnDocNode *map, RelnSpecTrain *t)
{
    const RelnDocNode *twice = both(map, "epochs", "steps"), *seed = reln_doc_get(map, "seed");

    if (twice)
        return reln_keys_fail(r, twice, "train has epochs and steps; wanted one of them");
    if (t->steps)
        t->epochs = 0;
    if (t->seed != floor(t->seed))
        return reln_keys_fail(r, seed, "seed is %s; wanted a whole number from 0 to 2^53",
                              seed->text);
    if (t->optimizer == RELN_SPEC_ADAMW && !reln_doc_get(map, "decay"))
        t->decay = 0.01;
    if (t->optimizer == RELN_SPEC_ADAM && t->decay > 0)
        return reln_keys_fail(r, reln_doc_get(map, "decay"),
                              "adam takes no decay; wanted optimizer: adamw");
    if (t->nesterov && t->momentum == 0)
        return reln_keys_fail(r, reln_doc_get(map, "nesterov"), "nesterov wants momentum above 0");
    return RELN_OK;
}

/* ---- reading and writing --------------------------------------------------------------------------------------------- */

void reln_spec_init(RelnSpec *spec)
{
    memset(spec, 0, sizeof *spec);
    reln_keys_init(&spec_section, spec);
    for (int t = 0; t < RELN_SPEC_TARGETS; t++)
        reln_keys_init(&reln_target_section, &spec->target[t]);
    spec->train.betas[0] = BETA_1;
    spec->train.betas[1] = BETA_2;
    spec->train.validation = SHARE;
}

RelnStatus reln_spec_from_doc(RelnCtx *ctx, const RelnDocNode *root, const char *what,
                              RelnSpec *spec)
{
    const Reader r = {ctx, what};

    reln_spec_init(spec);
    RELN_TRY(reln_keys_read(&r, &spec_section, root, spec));
    RELN_TRY(check_required(&r, root, spec));
    share_rows(spec);
    RELN_TRY(check_inputs(&r, root, spec));
    if (hides(root))
        RELN_TRY(reln_spec_check_pretrain(&r, root, spec));
    else
        RELN_TRY(reln_spec_check_targets(&r, root, spec));
    RELN_TRY(reln_sequence_complete(&r, root, spec));
    RELN_TRY(check_model(&r, reln_doc_get(root, "model"), &spec->model));
    RELN_TRY(check_edges(&r, reln_doc_get(root, "edges"), spec));
    RELN_TRY(check_groups(&r, root, spec));
    choose_clip(reln_doc_get(root, "train"), &spec->model, &spec->train);
    return check_train(&r, reln_doc_get(root, "train"), &spec->train);
}

RelnStatus reln_spec_check_keys(RelnCtx *ctx, const RelnDocNode *root, const char *what)
{
    const Reader r = {ctx, what};
    RelnSpec spec;

    reln_spec_init(&spec);
    return reln_keys_read(&r, &spec_section, root, &spec);
}

RelnDocNode *reln_spec_to_doc(const RelnSpec *spec, RelnDoc *doc)
{
    RelnDocNode *map = reln_doc_map(doc);

    reln_keys_write(doc, map, &spec_section, spec);
    return map;
}

static const char opening[] =
    "# A spec for reln: what to learn from which arrays. Commented keys have no default; the "
    "others show theirs.\n"
    "symmetry: gl:3                        # the group: gl:n, sl:n, so:n, o:n (reflections), "
    "so:p,q, lorentz, sp:2m,\n"
    "                                      #   gl:2+so:3, {algebra: gl, n: 3}, or {basis: "
    "FILE.npy} (dim, n, n)\n"
    "# features: gl:3                      # where features live; left out: the smallest that "
    "takes all inputs\n";

static const char examples[] =
    "  - {name: X, as: matrix}\n"
    "# - {name: S, as: covariance, log: true}                 # under rotations and reflections\n"
    "# - {name: S, as: covariance, log: true, reference: mean} # under gl:n: relative to the "
    "sample's mean\n"
    "# - {name: v, as: vector, points: true, mask: m}          # a set for each sample: (N, P, n), "
    "mask (N, P)\n"
    "# - {name: p, as: fourvector, points: true, count: k}      # the same, k (N,) of the P "
    "places\n"
    "# - {name: v, as: vector, points: true, offsets: o}       # points of all samples (T, n), o "
    "(N + 1,)\n"
    "# - {name: v, as: vector, sequence: true}                 # steps in time: (N, P, n), or "
    "recordings (T, n)\n";

static const char several[] =
    "# targets:                            # instead of target: a list, each target with a loss\n"
    "#   - {name: E, as: scalar, loss: gaussian}\n"
    "#   - {name: F, as: vector, weight: 10}\n"
    "# weights: w                          # array (N,), or (N, P) for targets of points, (N, E) "
    "of "
    "edges: how much each counts, in loss and metrics\n";

/* Prints every kind of input, each on one line. */
static void print_inputs(Page *page)
{
    char extents[32];

    reln_page_print(page, "%-37s # each {name, as}; (N, M, ...) for M of a kind; as:\n", "inputs:");
    for (int i = 0; reln_input_words[i]; i++)
        reln_page_print(page, "%-37s #   %-10s %-7s %s\n", "", reln_input_words[i],
                        reln_kind_extents((RelnAs)i, extents, sizeof extents),
                        reln_input_kind((RelnAs)i)->help);
    reln_page_print(page, "%s", examples);
}

/* Prints a section as comments, since without it nothing of its kind is done. */
static void print_without(Page *page, const Section *section, const char *help)
{
    char title[40];

    snprintf(title, sizeof title, "# %s:", section->name);
    reln_page_print(page, "%-37s # %s\n", title, help);
    for (int i = 0; i < section->n_keys; i++)
        reln_page_print(page, "#   %s: %-*s # %s\n", section->keys[i].name,
                        31 - (int)strlen(section->keys[i].name), section->keys[i].example,
                        section->keys[i].help);
}

size_t reln_spec_template(char *text, size_t size)
{
    Page page = {text, size, 0};
    char words[160];

    reln_page_print(&page, "%s", opening);
    print_inputs(&page);
    reln_page_print(&page, "target:\n  %-35s # array of the data file\n", "name: y");
    reln_page_print(&page, "  as: %-31s # %s\n", reln_target_words[0],
                    reln_spec_join(reln_target_words, words, sizeof words));
    reln_keys_template(
        &page, &(Section){"target", reln_target_section.keys + 2, reln_target_section.n_keys - 2},
        2);
    reln_page_print(&page, "%s", several);
    print_without(&page, &pretrain_section,
                  "instead of a target: predict the inputs of hidden points, without labels");
    print_without(&page, &edge_section, "of kind graph: given edges between points");
    reln_page_print(&page, "%-37s # for inputs with sequence: true\n", "sequence:");
    reln_keys_template(&page, &sequence_section, 2);
    reln_page_print(&page, "model:\n");
    reln_keys_template(&page, &model_section, 2);
    reln_page_print(&page, "train:\n");
    reln_keys_template(&page, &train_section, 2);
    return page.used;
}

/* ---- for training ------------------------------------------------------------------------------------------------ */

uint64_t reln_spec_steps(const RelnSpec *spec, uint64_t steps_per_epoch)
{
    return spec->train.steps ? (uint64_t)spec->train.steps
                             : (uint64_t)spec->train.epochs * steps_per_epoch;
}

/* Converts a length of the SPEC, in epochs or steps, to steps. */
static double in_steps(const RelnSpec *spec, double length, uint64_t steps_per_epoch)
{
    return spec->train.steps ? length : length * (double)steps_per_epoch;
}

uint64_t reln_spec_evaluate_every(const RelnSpec *spec, uint64_t steps_per_epoch)
{
    return (uint64_t)in_steps(spec, spec->train.evaluate, steps_per_epoch);
}

RelnOptimiser reln_spec_optimiser(const RelnSpec *spec)
{
    const RelnSpecTrain *t = &spec->train;

    if (t->optimizer == RELN_SPEC_SGD)
        return (RelnOptimiser){.kind = RELN_OPTIMISER_SGD,
                               .sgd = {t->momentum, t->nesterov, t->decay},
                               .clip = t->clip};
    return (RelnOptimiser){
        .kind = RELN_OPTIMISER_ADAM,
        .adam = {t->betas[0], t->betas[1], t->epsilon, t->decay, t->epsilon_inside},
        .clip = t->clip};
}

/* Makes a piece of the schedule; missing numbers get the defaults of its kind. */
static RelnSchedulePiece piece_of(const RelnSpec *spec, const RelnSpecPiece *p,
                                  uint64_t steps_per_epoch)
{
    const bool restarts = p->kind == RELN_SCHEDULE_RESTARTS;

    return (RelnSchedulePiece){.kind = p->kind,
                               .steps = (uint64_t)ceil(in_steps(spec, p->length, steps_per_epoch)),
                               .floor = p->floor,
                               .factor = p->factor > 0 ? p->factor
                                         : restarts    ? 1
                                                       : 0.1,
                               .period =
                                   in_steps(spec, p->period > 0 ? p->period : 10, steps_per_epoch),
                               .patience = p->patience > 0 ? p->patience : 10,
                               .scale = p->scale};
}

RelnSchedule reln_spec_schedule(const RelnSpec *spec, uint64_t steps_per_epoch)
{
    RelnSchedule s = {.rate = spec->train.lr, .n_pieces = spec->train.n_pieces};

    for (int i = 0; i < s.n_pieces; i++)
        s.piece[i] = piece_of(spec, &spec->train.schedule[i], steps_per_epoch);
    return s;
}
