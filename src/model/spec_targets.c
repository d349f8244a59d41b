/* spec_targets.c -- the targets of a SPEC: their keys, their losses, and the conditions between them. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/kinds.h"
#include "model/spec.h"

/* ---- words ---------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define LOSS_WORDS(WORD) \
    WORD(RELN_LOSS_MSE, "mse") WORD(RELN_LOSS_MAE, "mae") WORD(RELN_LOSS_HUBER, "huber") \
    WORD(RELN_LOSS_CROSS_ENTROPY, "cross-entropy") WORD(RELN_LOSS_GAUSSIAN, "gaussian") \
    WORD(RELN_LOSS_QUANTILES, "quantiles")
const char *const reln_loss_words[] = {LOSS_WORDS(WORD_ENTRY) NULL};

#define VARIANCE_WORDS(WORD) \
    WORD(RELN_VARIANCE_SCALAR, "scalar") WORD(RELN_VARIANCE_COVARIANCE, "covariance")
WORD_TABLE(variance, RelnVariance, VARIANCE_WORDS)
/* clang-format on */

const char *reln_loss_text(RelnLossKind loss)
{
    switch (loss) {
        LOSS_WORDS(WORD_CASE)
        break;
    }
    return reln_loss_words[loss];
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

static RelnStatus read_classes(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_classes(RelnDoc *, RelnDocNode *, const Key *, const void *);
static RelnStatus read_weights(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_weights(RelnDoc *, RelnDocNode *, const Key *, const void *);
static RelnStatus read_loss(const Reader *, const Key *, const RelnDocNode *, void *);
static void write_loss(RelnDoc *, RelnDocNode *, const Key *, const void *);

static const Key target_keys[] = {
    {.name = "name", TEXT(RelnSpecTarget, name), .example = "y", .help = "array of the data file"},
    {.name = "as", WORD(RelnSpecTarget, as, reln_target_words), .help = "what it is"},
    {.name = "points",
     FLAG(RelnSpecTarget, points),
     .help = "a target of every point of a set: (N, P, ...)"},
    {.name = "edges",
     FLAG(RelnSpecTarget, edges),
     .help = "a target of every given edge of a graph: (N, E, ...)"},
    {.name = "classes",
     .kind = KEY_OWN,
     .read = read_classes,
     .write = write_classes,
     .example = "2",
     .help = "of a class: how many, or their names: [quark, top]"},
    {.name = "weights",
     .kind = KEY_OWN,
     .read = read_weights,
     .write = write_weights,
     .example = "balanced",
     .help = "of classes in the loss: [1, 3]; balanced: every class counts equally"},
    {.name = "normalise",
     FLAG(RelnSpecTarget, normalise),
     .otherwise = 1,
     .help = "scale by the training data while learning"},
    {.name = "weight",
     NUMBER(RelnSpecTarget, weight, ABOVE_ZERO, DBL_MAX),
     .otherwise = 1,
     .help = "weight of its loss in the sum over targets"},
    {.name = "loss",
     .kind = KEY_OWN,
     .read = read_loss,
     .write = write_loss,
     .example = "gaussian",
     .help = "loss of this target; left out: the loss of train"},
    {.name = "delta",
     NUMBER(RelnSpecTarget, delta, ABOVE_ZERO, DBL_MAX),
     .example = "1",
     .help = "of huber; left out: delta of train"},
    {.name = "variance",
     WORD(RelnSpecTarget, variance, variance_words),
     .help = "of gaussian: a number, or for a vector an equivariant covariance"},
    {.name = "quantiles",
     .kind = KEY_NUMBERS,
     AT(RelnSpecTarget, quantiles),
     .room = RELN_SPEC_QUANTILES,
     .count_at = offsetof(RelnSpecTarget, n_quantiles),
     .low = ABOVE_ZERO,
     .high = BELOW_ONE,
     .example = "[0.1, 0.5, 0.9]",
     .help = "of the loss quantiles, ascending: shares of true values below each"},
};
const Section reln_target_section = SECTION("target", target_keys);

/* ---- classes and their weights ---------------------------------------------------------------------------------------- */

static RelnStatus read_class_names(const Reader *r, const RelnDocNode *list, RelnSpecTarget *t)
{
    if (list->count < 2 || list->count > RELN_SPEC_WEIGHTS)
        return reln_keys_fail(r, list, "classes has %d names; wanted 2 to %d", list->count,
                              RELN_SPEC_WEIGHTS);
    for (const RelnDocNode *i = list->first; i; i = i->next) {
        if (!i->text || strlen(i->text) >= RELN_SPEC_CLASS_NAME)
            return reln_keys_fail(r, i, "a name of classes is %.60s; wanted up to %d letters",
                                  i->text ? i->text : reln_doc_kind_text(i->kind),
                                  RELN_SPEC_CLASS_NAME - 1);
        for (int k = 0; k < t->n_names; k++)
            if (strcmp(t->class_name[k], i->text) == 0)
                return reln_keys_fail(r, i, "class %s is there twice", i->text);
        memcpy(t->class_name[t->n_names++], i->text, strlen(i->text) + 1);
    }
    t->classes = t->n_names;
    return RELN_OK;
}

static RelnStatus read_classes(const Reader *r, const Key *key, const RelnDocNode *node, void *base)
{
    RelnSpecTarget *t = base;

    if (node->kind == RELN_DOC_LIST)
        return read_class_names(r, node, t);
    RELN_TRY(reln_keys_want(r, node, key->name, RELN_DOC_NUMBER,
                            "a whole number from 2 to 4096, or a list of names"));
    if (!(node->number >= 2 && node->number <= 4096 && node->number == floor(node->number)))
        return reln_keys_fail(r, node, "%s is %.40s; wanted a whole number from 2 to 4096",
                              key->name, node->text);
    t->classes = (int)node->number;
    return RELN_OK;
}

static void write_classes(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpecTarget *t = base;
    RelnDocNode *list;

    if (t->n_names == 0 && t->classes > 0)
        reln_doc_set_number(doc, map, key->name, t->classes);
    if (t->n_names == 0)
        return;
    list = reln_doc_set(doc, map, key->name, reln_doc_list(doc));
    for (int i = 0; i < t->n_names; i++)
        reln_doc_set_text(doc, list, NULL, t->class_name[i]);
}

const char *reln_spec_class_name(const RelnSpecTarget *t, int class,
                                 char text[RELN_SPEC_CLASS_NAME])
{
    if (class < t->n_names)
        snprintf(text, RELN_SPEC_CLASS_NAME, "%s", t->class_name[class]);
    else
        snprintf(text, RELN_SPEC_CLASS_NAME, "%d", class);
    return text;
}

static RelnStatus read_weight(const Reader *r, const RelnDocNode *node, double *out)
{
    RELN_TRY(reln_keys_want(r, node, "weights", RELN_DOC_NUMBER, "a number above 0"));
    if (!(node->number > 0 && node->number <= DBL_MAX))
        return reln_keys_fail(r, node, "weights is %.40s; wanted a number above 0", node->text);
    *out = node->number;
    return RELN_OK;
}

static RelnStatus read_weights(const Reader *r, const Key *key, const RelnDocNode *node, void *base)
{
    RelnSpecTarget *t = base;

    t->balanced = node->kind == RELN_DOC_TEXT && strcmp(node->text, "balanced") == 0;
    if (t->balanced)
        return RELN_OK;
    RELN_TRY(reln_keys_want(r, node, key->name, RELN_DOC_LIST,
                            "a list of numbers above 0, or balanced"));
    if (node->count < 1 || node->count > RELN_SPEC_WEIGHTS)
        return reln_keys_fail(r, node, "%s has %d items; wanted 1 to %d", key->name, node->count,
                              RELN_SPEC_WEIGHTS);
    for (const RelnDocNode *i = node->first; i; i = i->next)
        RELN_TRY(read_weight(r, i, &t->weights[t->n_weights++]));
    return RELN_OK;
}

static void write_weights(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpecTarget *t = base;
    RelnDocNode *list;

    if (t->balanced)
        reln_doc_set_text(doc, map, key->name, "balanced");
    if (t->n_weights == 0)
        return;
    list = reln_doc_set(doc, map, key->name, reln_doc_list(doc));
    for (int i = 0; i < t->n_weights; i++)
        reln_doc_set_number(doc, list, NULL, t->weights[i]);
}

/* ---- losses ------------------------------------------------------------------------------------------------------------ */

static RelnStatus read_loss(const Reader *r, const Key *key, const RelnDocNode *node, void *base)
{
    RelnSpecTarget *t = base;
    int loss = 0;

    RELN_TRY(reln_keys_word(r, node, key->name, reln_loss_words, &loss));
    t->loss = (RelnLossKind)loss;
    t->own_loss = true;
    return RELN_OK;
}

static void write_loss(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpecTarget *t = base;

    if (t->own_loss)
        reln_doc_set_text(doc, map, key->name, reln_loss_text(t->loss));
}

/* ---- one or several ------------------------------------------------------------------------------------------------------ */

static RelnStatus refuse_both(const Reader *r, const RelnDocNode *node, const RelnSpec *spec)
{
    return spec->n_targets == 0
               ? RELN_OK
               : reln_keys_fail(r, node, "the spec has target and targets; wanted one of them");
}

RelnStatus reln_spec_read_target(const Reader *r, const Key *key, const RelnDocNode *node,
                                 void *base)
{
    RelnSpec *spec = base;

    (void)key;
    RELN_TRY(refuse_both(r, node, spec));
    spec->n_targets = 1;
    return reln_keys_read(r, &reln_target_section, node, &spec->target[0]);
}

RelnStatus reln_spec_read_targets(const Reader *r, const Key *key, const RelnDocNode *node,
                                  void *base)
{
    RelnSpec *spec = base;

    RELN_TRY(refuse_both(r, node, spec));
    RELN_TRY(reln_keys_want(r, node, key->name, RELN_DOC_LIST, "a list of {name: ARRAY, as: ...}"));
    if (node->count < 1 || node->count > RELN_SPEC_TARGETS)
        return reln_keys_fail(r, node, "%s has %d items; wanted 1 to %d", key->name, node->count,
                              RELN_SPEC_TARGETS);
    for (const RelnDocNode *i = node->first; i; i = i->next)
        RELN_TRY(reln_keys_read(r, &reln_target_section, i, &spec->target[spec->n_targets++]));
    return RELN_OK;
}

void reln_spec_write_target(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpec *spec = base;

    if (spec->n_targets <= 1 && spec->pretrain.mask == 0)
        reln_keys_write(doc, reln_doc_set(doc, map, key->name, reln_doc_map(doc)),
                        &reln_target_section, &spec->target[0]);
}

void reln_spec_write_targets(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base)
{
    const RelnSpec *spec = base;
    RelnDocNode *list;

    if (spec->n_targets <= 1 || spec->pretrain.mask > 0)
        return;
    list = reln_doc_set(doc, map, key->name, reln_doc_list(doc));
    for (int t = 0; t < spec->n_targets; t++)
        reln_keys_write(doc, reln_doc_set(doc, list, NULL, reln_doc_map(doc)), &reln_target_section,
                        &spec->target[t]);
}

/* ---- conditions between keys ----------------------------------------------------------------------------------------------- */

static RelnStatus check_classes(const Reader *r, const RelnDocNode *node, const RelnSpecTarget *t)
{
    const bool weighted = t->n_weights > 0 || t->balanced;

    if (t->as == RELN_TARGET_CLASS && t->classes == 0)
        return reln_keys_fail(r, node, "target %s is a class; wanted classes: NUMBER beside it",
                              t->name);
    if (t->as != RELN_TARGET_CLASS && (t->classes || weighted))
        return reln_keys_fail(r, node,
                              "target %s: classes and weights are for a class, and this is a %s",
                              t->name, reln_target_text(t->as));
    if (t->n_weights && t->n_weights != t->classes)
        return reln_keys_fail(r, node, "target %s has %d weights; wanted %d, one for each class",
                              t->name, t->n_weights, t->classes);
    if (t->balanced && t->classes > RELN_SPEC_WEIGHTS)
        return reln_keys_fail(r, node,
                              "target %s has %d classes; balanced weights are for up to %d",
                              t->name, t->classes, RELN_SPEC_WEIGHTS);
    return RELN_OK;
}

/* Classes always use cross-entropy; in a SPEC of one target, train.loss must agree. */
static RelnStatus choose_loss(const Reader *r, const RelnDocNode *node, const RelnDocNode *train,
                              RelnSpec *spec, RelnSpecTarget *t)
{
    const bool is_class = t->as == RELN_TARGET_CLASS;
    const RelnDocNode *given = reln_doc_get(train, "loss");

    if (!given && is_class && spec->n_targets == 1)
        spec->train.loss = RELN_LOSS_CROSS_ENTROPY;
    if (!t->own_loss)
        t->loss = is_class && (!given || spec->n_targets > 1) ? RELN_LOSS_CROSS_ENTROPY
                                                              : spec->train.loss;
    if (is_class != (t->loss == RELN_LOSS_CROSS_ENTROPY))
        return reln_keys_fail(r, t->own_loss ? reln_doc_get(node, "loss") : given,
                              "loss is %s and the target a %s; wanted cross-entropy for classes "
                              "and nothing else",
                              reln_loss_text(t->loss), reln_target_text(t->as));
    return RELN_OK;
}

static RelnStatus check_quantiles(const Reader *r, const RelnDocNode *node, RelnSpecTarget *t)
{
    static const double usual[] = {0.1, 0.5, 0.9};
    const RelnDocNode *given = reln_doc_get(node, "quantiles");

    if (t->loss != RELN_LOSS_QUANTILES && t->n_quantiles)
        return reln_keys_fail(r, given,
                              "target %s: quantiles are for loss: quantiles, and this is %s",
                              t->name, reln_loss_text(t->loss));
    if (t->loss != RELN_LOSS_QUANTILES)
        return RELN_OK;
    if (t->as != RELN_TARGET_SCALAR)
        return reln_keys_fail(r, node,
                              "target %s: a %s has no order, so it has no quantiles; wanted a "
                              "scalar",
                              t->name, reln_target_text(t->as));
    if (t->n_quantiles == 0) {
        memcpy(t->quantiles, usual, sizeof usual);
        t->n_quantiles = sizeof usual / sizeof usual[0];
    }
    for (int i = 1; i < t->n_quantiles; i++)
        if (!(t->quantiles[i] > t->quantiles[i - 1]))
            return reln_keys_fail(r, given, "target %s: quantiles do not rise", t->name);
    return RELN_OK;
}

static RelnStatus check_variance(const Reader *r, const RelnDocNode *node, const RelnSpecTarget *t)
{
    const bool gaussian = t->loss == RELN_LOSS_GAUSSIAN;
    const bool matrix = t->variance == RELN_VARIANCE_COVARIANCE;

    if (matrix && !gaussian)
        return reln_keys_fail(r, reln_doc_get(node, "variance"),
                              "target %s: a variance is for loss: gaussian, and this is %s",
                              t->name, reln_loss_text(t->loss));
    if (matrix && t->as != RELN_TARGET_VECTOR)
        return reln_keys_fail(r, reln_doc_get(node, "variance"),
                              "target %s: variance: covariance is for a vector, and this is a %s",
                              t->name, reln_target_text(t->as));
    if (gaussian && t->as == RELN_TARGET_COVARIANCE)
        return reln_keys_fail(r, node,
                              "target %s: loss: gaussian is for numbers, vectors and matrices; "
                              "wanted mse for a covariance",
                              t->name);
    return RELN_OK;
}

/* One share of label smoothing holds for all targets that are classes. */
static RelnStatus check_smoothing(const Reader *r, const RelnDocNode *train, const RelnSpec *spec)
{
    if (!(spec->train.smoothing > 0))
        return RELN_OK;
    for (int t = 0; t < spec->n_targets; t++)
        if (spec->target[t].as == RELN_TARGET_CLASS)
            return RELN_OK;
    return reln_keys_fail(r, reln_doc_get(train, "smoothing"),
                          "smoothing is for classes, and the target is a %s",
                          reln_target_text(spec->target[0].as));
}

/* Targets of points are read off rows: not off an mlp, and not along time. */
static RelnStatus check_points(const Reader *r, const RelnDocNode *node, const RelnSpec *spec,
                               const RelnSpecTarget *t)
{
    const RelnModelKind kind = spec->model.kind;
    const RelnDocNode *key = reln_doc_get(node, "points"), *at = key ? key : node;
    bool sets = false;

    if (!t->points)
        return RELN_OK;
    for (int i = 0; i < spec->n_inputs; i++)
        sets |= spec->input[i].points;
    if (!sets || spec->sequence.length > 0)
        return reln_keys_fail(r, at,
                              "target %s is of points, and no input is a set; wanted points: true "
                              "for an input",
                              t->name);
    if (kind == RELN_MODEL_MLP || kind == RELN_MODEL_SEQUENCE || kind == RELN_MODEL_RESNET ||
        kind == RELN_MODEL_PLAIN_TRANSFORMER)
        return reln_keys_fail(r, at,
                              "target %s is of points, and a network of kind %s has none; wanted "
                              "kind: set, graph, transformer or reln",
                              t->name, reln_model_kind_text(kind));
    return RELN_OK;
}

/* Targets of edges need given edges; whether these fit the network is checked with them. */
static RelnStatus check_edges(const Reader *r, const RelnDocNode *node, const RelnSpec *spec,
                              const RelnSpecTarget *t)
{
    if (!t->edges)
        return RELN_OK;
    if (t->points)
        return reln_keys_fail(r, reln_doc_get(node, "edges"),
                              "target %s is of points and of edges; wanted one of them", t->name);
    if (!spec->edges.name[0])
        return reln_keys_fail(r, reln_doc_get(node, "edges"),
                              "target %s is of edges, and none are given; wanted edges: {name: "
                              "ARRAY}",
                              t->name);
    return RELN_OK;
}

static RelnStatus check_target(const Reader *r, const RelnDocNode *node, const RelnDocNode *train,
                               RelnSpec *spec, int index)
{
    RelnSpecTarget *t = &spec->target[index];

    if (!t->name[0])
        return reln_keys_fail(r, node, "a target has no name; wanted {name: ARRAY, as: ...}");
    for (int i = 0; i < index; i++)
        if (strcmp(spec->target[i].name, t->name) == 0)
            return reln_keys_fail(r, node, "target %s is there twice", t->name);
    RELN_TRY(check_points(r, node, spec, t));
    RELN_TRY(check_edges(r, node, spec, t));
    RELN_TRY(check_classes(r, node, t));
    RELN_TRY(choose_loss(r, node, train, spec, t));
    RELN_TRY(check_quantiles(r, node, t));
    return check_variance(r, node, t);
}

RelnStatus reln_spec_check_targets(const Reader *r, const RelnDocNode *root, RelnSpec *spec)
{
    const RelnDocNode *train = reln_doc_get(root, "train"), *list = reln_doc_get(root, "targets");
    const RelnDocNode *node = list ? list->first : reln_doc_get(root, "target");

    for (int t = 0; t < spec->n_targets; t++, node = node->next)
        RELN_TRY(check_target(r, node, train, spec, t));
    return check_smoothing(r, train, spec);
}

/* ---- pre-training ----------------------------------------------------------------------------------------------------------- */

/* Returns the kind of target that an input of points becomes; false: it cannot be predicted. */
static bool target_of(RelnAs as, RelnTargetAs *out)
{
    switch (as) {
    case RELN_AS_MATRIX:
        *out = RELN_TARGET_MATRIX;
        return true;
    case RELN_AS_VECTOR:
    case RELN_AS_FOURVECTOR:
        *out = RELN_TARGET_VECTOR;
        return true;
    case RELN_AS_COVARIANCE:
        *out = RELN_TARGET_COVARIANCE;
        return true;
    case RELN_AS_SCALAR:
        *out = RELN_TARGET_SCALAR;
        return true;
    case RELN_AS_ELEMENT:
    case RELN_AS_QUATERNION:
        break;
    }
    return false;
}

/* Chooses the first vector of points, if the SPEC does not say which input keeps its place. */
static RelnStatus find_place(const Reader *r, const RelnDocNode *node, RelnSpec *spec,
                             const RelnSpecInput **out)
{
    RelnSpecPretrain *p = &spec->pretrain;

    *out = NULL;
    for (int i = 0; i < spec->n_inputs && !*out; i++) {
        const RelnSpecInput *in = &spec->input[i];
        const bool vector = in->as == RELN_AS_VECTOR || in->as == RELN_AS_FOURVECTOR;

        if (in->points && (p->place[0] ? strcmp(in->name, p->place) == 0 : vector))
            *out = in;
    }
    if (!*out && p->place[0])
        return reln_keys_fail(r, reln_doc_get(node, "place"),
                              "pretrain: place is %s, and no input of points has this name",
                              p->place);
    if (!*out)
        return reln_keys_fail(
            r, node,
            "pretrain: no input is a vector of points; wanted place: INPUT, which "
            "says which hidden point is meant");
    memcpy(p->place, (*out)->name, sizeof p->place);
    return RELN_OK;
}

static RelnStatus add_hidden(const Reader *r, const RelnDocNode *node, RelnSpec *spec,
                             const RelnSpecInput *in)
{
    RelnSpecTarget *t = &spec->target[spec->n_targets];

    if (spec->n_targets == RELN_SPEC_TARGETS)
        return reln_keys_fail(r, node, "pretrain: more than %d inputs of points to predict",
                              RELN_SPEC_TARGETS);
    if (!target_of(in->as, &t->as))
        return reln_keys_fail(r, node,
                              "pretrain: input %s is a %s, which is not predicted; wanted it as "
                              "place without noise, or left out",
                              in->name, reln_as_text(in->as));
    if (in->reference != RELN_REFERENCE_NONE || in->sequence)
        return reln_keys_fail(r, node, "pretrain: input %s %s; wanted it without", in->name,
                              in->sequence ? "is a sequence"
                                           : "has a reference, which would show what is hidden");
    memcpy(t->name, in->name, sizeof t->name);
    t->points = true;
    t->loss = spec->train.loss;
    spec->n_targets++;
    return check_points(r, node, spec, t);
}

RelnStatus reln_spec_check_pretrain(const Reader *r, const RelnDocNode *root, RelnSpec *spec)
{
    const RelnDocNode *node = reln_doc_get(root, "pretrain");
    const RelnSpecInput *place;

    if (spec->pretrain.mask == 0)
        return reln_keys_fail(r, node, "pretrain has no mask; wanted a share of the points");
    if (spec->n_targets > 0 || spec->weights[0])
        return reln_keys_fail(r, node, "the spec has pretrain and %s; wanted one of them",
                              spec->weights[0] ? "weights" : "a target");
    if (spec->train.loss != RELN_LOSS_MSE && spec->train.loss != RELN_LOSS_MAE &&
        spec->train.loss != RELN_LOSS_HUBER)
        return reln_keys_fail(r, node, "pretrain: loss is %s; wanted mse, mae or huber",
                              reln_loss_text(spec->train.loss));
    RELN_TRY(find_place(r, node, spec, &place));
    if (spec->pretrain.noise > 0 && place->as != RELN_AS_VECTOR &&
        place->as != RELN_AS_FOURVECTOR && place->as != RELN_AS_SCALAR)
        return reln_keys_fail(r, reln_doc_get(node, "noise"),
                              "pretrain: noise is for vectors and scalars, and %s is a %s",
                              place->name, reln_as_text(place->as));
    for (int i = 0; i < spec->n_inputs; i++)
        if (spec->input[i].points && (&spec->input[i] != place || spec->pretrain.noise > 0))
            RELN_TRY(add_hidden(r, node, spec, &spec->input[i]));
    if (spec->n_targets == 0)
        return reln_keys_fail(
            r, node, "pretrain: %s is the only input of points, and is shown; wanted noise",
            place->name);
    return RELN_OK;
}

/* ---- for training ------------------------------------------------------------------------------------------------------- */

RelnLoss reln_spec_loss(const RelnSpec *spec, int target)
{
    const RelnSpecTarget *t = &spec->target[target];

    return (RelnLoss){.kind = t->loss,
                      .delta = t->delta > 0 ? t->delta : spec->train.delta,
                      .smoothing = t->as == RELN_TARGET_CLASS ? spec->train.smoothing : 0,
                      .n_weights = t->n_weights,
                      .weights = t->n_weights ? t->weights : NULL,
                      .n_quantiles = t->n_quantiles,
                      .quantiles = t->n_quantiles ? t->quantiles : NULL};
}

int reln_spec_quantiles(const RelnSpecTarget *t)
{
    return t->loss == RELN_LOSS_QUANTILES ? t->n_quantiles : 1;
}
