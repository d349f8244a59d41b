/* Tests SPECs: they are read, written, explained, and refused with one line. */
#include "model/world.h"

#define SIXTEEN "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
#define GOOD_INPUTS "inputs: [{name: X, as: matrix}]\n"
#define HIDE "symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\nmodel: {kind: set}\n"
#define GOOD_TARGET "target: {name: y, as: scalar}\n"
#define GOOD "symmetry: gl:3\n" GOOD_INPUTS GOOD_TARGET

typedef struct Bad {
    const char *yaml, *message;
} Bad;

/* Each invalid SPEC, with the line of its refusal. */
static const Bad bad[] = {
    {GOOD "model:\n  depth: 2\n  widht: 64\n",
     "spec.yaml:6: unknown key 'widht' in model; did you mean 'width'?"},
    {GOOD "trian: {epochs: 3}\n",
     "spec.yaml:4: unknown key 'trian' in the spec; did you mean 'train'?"},
    {GOOD "zzzzzz: 1\n",
     "spec.yaml:4: unknown key 'zzzzzz' in the spec; known are symmetry, features, "
     "inputs, target, targets, pretrain, weights, edges, sequence, model, train"},
    {GOOD "targets: [{name: z, as: scalar}]\n",
     "spec.yaml:4: the spec has target and targets; wanted one of them"},
    {"symmetry: gl:3\n" GOOD_INPUTS "targets: [{name: y, as: scalar}, {name: y, as: matrix}]\n",
     "spec.yaml:3: target y is there twice"},
    {"symmetry: gl:3\n" GOOD_INPUTS "targets: []\n",
     "spec.yaml:3: targets has 0 items; wanted 1 to 8"},
    {"symmetry: gl:3\n" GOOD_INPUTS "targets: [{as: scalar}]\n",
     "spec.yaml:3: a target has no name; wanted {name: ARRAY, as: ...}"},
    {"symmetry: so:3\n" GOOD_INPUTS "target: {name: y, as: vector, loss: quantiles}\n",
     "spec.yaml:3: target y: a vector has no order, so it has no quantiles; wanted a scalar"},
    {"symmetry: so:3\n" GOOD_INPUTS
     "target: {name: y, as: scalar, loss: quantiles, quantiles: [0.5, 0.1]}\n",
     "spec.yaml:3: target y: quantiles do not rise"},
    {"symmetry: so:3\n" GOOD_INPUTS
     "target: {name: y, as: scalar, loss: quantiles, quantiles: [0.1, 0.5, 0.5]}\n",
     "spec.yaml:3: target y: quantiles do not rise"},
    {"symmetry: so:3\n" GOOD_INPUTS "target: {name: y, as: scalar, quantiles: [0.5]}\n",
     "spec.yaml:3: target y: quantiles are for loss: quantiles, and this is mse"},
    {"symmetry: so:3\n" GOOD_INPUTS "target: {name: y, as: vector, variance: covariance}\n",
     "spec.yaml:3: target y: a variance is for loss: gaussian, and this is mse"},
    {"symmetry: so:3\n" GOOD_INPUTS
     "target: {name: y, as: scalar, loss: gaussian, variance: covariance}\n",
     "spec.yaml:3: target y: variance: covariance is for a vector, and this is a scalar"},
    {"symmetry: so:3\n" GOOD_INPUTS "target: {name: y, as: covariance, loss: gaussian}\n",
     "spec.yaml:3: target y: loss: gaussian is for numbers, vectors and matrices; wanted mse for a "
     "covariance"},
    {GOOD "model: {groups: 4}\n",
     "spec.yaml:4: groups are for a set, a graph or a transformer, and this is a reln"},
    {GOOD "model: {beside: [set]}\n",
     "spec.yaml:4: set beside reln; wanted set, graph, transformer or messages"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\n" GOOD_TARGET
     "model: {kind: set, beside: [graph, reln]}\n",
     "spec.yaml:4: reln beside set; wanted set, graph, transformer or messages"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\n" GOOD_TARGET
     "model: {kind: set, beside: [set], neighbours: 2}\n",
     "spec.yaml:4: neighbours are for a graph or messages, and this is a set"},
    {HIDE "pretrain: {noise: 1}\n",
     "spec.yaml:4: pretrain has no mask; wanted a share of the points"},
    {HIDE "pretrain: {mask: 0.5}\n" GOOD_TARGET,
     "spec.yaml:4: the spec has pretrain and a target; wanted one of them"},
    {HIDE "pretrain: {mask: 0.5}\nweights: w\n",
     "spec.yaml:4: the spec has pretrain and weights; wanted one of them"},
    {HIDE "pretrain: {mask: 0.5}\n",
     "spec.yaml:4: pretrain: v is the only input of points, and is shown; wanted noise"},
    {HIDE "pretrain: {mask: 0.5, place: w, noise: 1}\n",
     "spec.yaml:4: pretrain: place is w, and no input of points has this name"},
    {HIDE "pretrain: {mask: 0.5, noise: 1}\ntrain: {loss: cross-entropy}\n",
     "spec.yaml:4: pretrain: loss is cross-entropy; wanted mse, mae or huber"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector}]\npretrain: {mask: 0.5, noise: 1}\n",
     "spec.yaml:3: pretrain: no input is a vector of points; wanted place: INPUT, which says which "
     "hidden point is meant"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}, {name: q, as: quaternion, "
     "points: "
     "true}]\nmodel: {kind: set}\npretrain: {mask: 0.5}\n",
     "spec.yaml:4: pretrain: input q is a quaternion, which is not predicted; wanted it as place "
     "without noise, or left out"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}, {name: C, as: covariance, "
     "points: "
     "true}]\nmodel: {kind: set}\npretrain: {mask: 0.5, place: C, noise: 1}\n",
     "spec.yaml:4: pretrain: noise is for vectors and scalars, and C is a covariance"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\nmodel: {kind: mlp}\n"
     "pretrain: {mask: 0.5, noise: 1}\n",
     "spec.yaml:4: target v is of points, and a network of kind mlp has none; wanted kind: set, "
     "graph, "
     "transformer or reln"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\nmodel: {kind: graph, groups: "
     "4}\n"
     "edges: {name: e}\n" GOOD_TARGET,
     "spec.yaml:3: groups take the place of points, and edges are given; wanted one of both"},
    {GOOD "edges: {name: e}\n", "spec.yaml:4: edges are for a graph or messages without "
                                "neighbours, and this is a reln; wanted "
                                "model: {kind: graph}"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\n" GOOD_TARGET
     "edges: {name: e}\nmodel: {kind: messages, neighbours: 3}\n",
     "spec.yaml:4: edges are for a graph or messages without neighbours, and this is a messages "
     "with neighbours; wanted model: {kind: graph}"},
    {GOOD "edges: {name: e}\nmodel: {kind: graph}\n",
     "spec.yaml:4: edges are between points, and no input is a set; wanted points: true for an "
     "input"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true, most: 3, draw: true}]\n"
     "edges: {name: e}\nmodel: {kind: graph}\n" GOOD_TARGET,
     "spec.yaml:3: edges are between points that stay, and the points are drawn; wanted draw: "
     "false"},
    {GOOD "edges: {count: k}\nmodel: {kind: graph}\n",
     "spec.yaml:4: edges have no name; wanted {name: ARRAY}"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\nmodel: {kind: graph}\n"
     "target: {name: y, as: vector, edges: true}\n",
     "spec.yaml:4: target y is of edges, and none are given; wanted edges: {name: ARRAY}"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\nmodel: {kind: graph}\n"
     "edges: {name: e}\ntarget: {name: y, as: vector, points: true, edges: true}\n",
     "spec.yaml:5: target y is of points and of edges; wanted one of them"},
    {"symmetry: so:3\ninputs:\n- {name: v, as: vector, points: true}\n- {name: u, as: vector, "
     "edges: true}\nmodel: {kind: graph}\n" GOOD_TARGET,
     "spec.yaml:4: input u is of edges, and none are given; wanted edges: {name: ARRAY}"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true, edges: true}]\nedges: {name: "
     "e}\nmodel: {kind: graph}\n" GOOD_TARGET,
     "spec.yaml:2: input v is of edges and of points; wanted one of them"},
    {"symmetry: so:3\ninputs:\n- {name: w, as: vector, points: true}\n- {name: v, as: vector, "
     "value: "
     "[1, 2, 3], edges: true}\nedges: {name: e}\nmodel: {kind: graph}\n" GOOD_TARGET,
     "spec.yaml:4: input v is of edges and has a value; wanted one of them"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\nedges: {name: e}\n"
     "model: {kind: set}\ntarget: {name: y, as: vector, edges: true}\n",
     "spec.yaml:3: edges are for a graph or messages without neighbours, and this is a set; wanted "
     "model: {kind: graph}"},
    {GOOD "edges: {name: e, mask: m, offsets: k}\nmodel: {kind: graph}\n",
     "spec.yaml:4: edges have offsets and a mask; wanted one of them"},
    {GOOD "edges: {name: e, mask: m, count: k}\nmodel: {kind: graph}\n",
     "spec.yaml:4: edges have a mask and a count; wanted one of them"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true, count: k, offsets: "
     "o}]\n" GOOD_TARGET,
     "spec.yaml:2: input v: offsets are for points without a mask and a count; wanted points: true "
     "beside it, and one of these"},
    {"symmetry: so:3\n" GOOD_INPUTS "target: {name: y, as: vector, points: true}\n",
     "spec.yaml:3: target y is of points, and no input is a set; wanted points: true for an input"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true}]\n"
     "target: {name: y, as: vector, points: true}\nmodel: {kind: mlp}\n",
     "spec.yaml:3: target y is of points, and a network of kind mlp has none; wanted kind: set, "
     "graph, transformer or reln"},
    {"symmetry: gl:3\n" GOOD_INPUTS
     "target: {name: y, as: class, classes: 99, weights: balanced}\n",
     "spec.yaml:3: target y has 99 classes; balanced weights are for up to 64"},
    {GOOD_INPUTS GOOD_TARGET,
     "spec.yaml:1: there is no symmetry; wanted a group, as in symmetry: gl:3"},
    {"symmetry: gl:3\n" GOOD_TARGET,
     "spec.yaml:1: there are no inputs; wanted a list of {name: ARRAY, as: ...}"},
    {"symmetry: gl:3\n" GOOD_INPUTS,
     "spec.yaml:1: there is no target; wanted {name: ARRAY, as: ...}"},
    {"symmetry: gl:3\ninputs: X\n" GOOD_TARGET,
     "spec.yaml:2: inputs is X; wanted a list of {name: ARRAY, as: ...}"},
    {"symmetry: gl:3\ninputs: []\n" GOOD_TARGET, "spec.yaml:2: inputs has 0 items; wanted 1 to 16"},
    {"symmetry: gl:3\ninputs: [{as: matrix}]\n" GOOD_TARGET,
     "spec.yaml:2: an input has no name; wanted {name: ARRAY, as: ...}"},
    {"symmetry: gl:3\ninputs: [{name: X}]\n" GOOD_TARGET,
     "spec.yaml:2: input X does not say what it is; wanted as: matrix, element, vector, "
     "covariance, fourvector, scalar or quaternion"},
    {"symmetry: gl:3\ninputs: [{name: X, as: martix}]\n" GOOD_TARGET,
     "spec.yaml:2: unknown word 'martix' for as; did you mean 'matrix'?"},
    {"symmetry: gl:3\ninputs: [{name: X, as: spinor}]\n" GOOD_TARGET,
     "spec.yaml:2: unknown word 'spinor' for as; known are matrix, element, vector, "
     "covariance, fourvector, scalar, quaternion"},
    {"symmetry: gl:3\ninputs:\n  - {name: X, as: matrix}\n  - {name: X, as: scalar}\n" GOOD_TARGET,
     "spec.yaml:4: input X is there twice"},
    {"symmetry: gl:3\ninputs: [{name: y, as: matrix}]\n" GOOD_TARGET,
     "spec.yaml:2: input y is the target, too"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, log: true}]\n" GOOD_TARGET,
     "spec.yaml:2: input v: log is for a covariance, and this is a vector"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, reference: mean}]\n" GOOD_TARGET,
     "spec.yaml:2: input v: reference is for a covariance, and this is a vector"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, mask: m}]\n" GOOD_TARGET,
     "spec.yaml:2: input v: a mask is for points; wanted points: true beside it"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, value: [0, 0, 1]}]\n" GOOD_TARGET,
     "spec.yaml:1: all inputs have a value; wanted one that is an array"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true, value: [0, 0, 1]}, "
     "{name: X, as: matrix}]\n" GOOD_TARGET,
     "spec.yaml:2: input v: a value is of the whole sample, and points have an array; wanted one "
     "of both"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, value: [0, up, 1]}]\n" GOOD_TARGET,
     "spec.yaml:2: value has an item that is no number; wanted numbers, or lists of them"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, value: [0, .inf, 1]}]\n" GOOD_TARGET,
     "spec.yaml:2: .inf is not a finite number (in quotes it is a text)"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, value: []}]\n" GOOD_TARGET,
     "spec.yaml:2: value is empty; wanted numbers"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, value: [" SIXTEEN SIXTEEN SIXTEEN SIXTEEN
     "0]}]\n" GOOD_TARGET,
     "spec.yaml:2: value has more numbers than 64; wanted at most so many"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: yes-please}]\n" GOOD_TARGET,
     "spec.yaml:2: points is yes-please; wanted true or false"},
    {"symmetry: so:3\ninputs:\n  - {name: v, as: vector, points: true, mask: m}\n"
     "  - {name: w, as: vector, points: true, mask: n}\n" GOOD_TARGET,
     "spec.yaml:4: inputs v and w have points with different masks; wanted one for both"},
    {"symmetry: gl:3\ninputs:\n  - {name: C, as: covariance, reference: mean}\n"
     "  - {name: D, as: covariance}\n" GOOD_TARGET,
     "spec.yaml:4: inputs C and D have different references; wanted one for all covariances"},
    {"symmetry: so:3\ninputs: [{name: v, as: vector, points: true, draw: true}]\n" GOOD_TARGET,
     "spec.yaml:2: input v: draw is for some of the points; wanted most: NUMBER beside it"},
    {"symmetry: gl:3\ninputs: [{name: X, as: matrix, colour: red}]\n" GOOD_TARGET,
     "spec.yaml:2: unknown key 'colour' in an input; known are name, as, log, reference, points, "
     "edges, "
     "mask, count, offsets, most, draw, sequence, value"},
    {"symmetry: {algebra: gl}\n" GOOD_INPUTS GOOD_TARGET,
     "spec.yaml:1: symmetry has other keys than wanted: a name, {algebra: gl, n: 3} or {basis: "
     "FILE}"},
    {"symmetry: [gl, 3]\n" GOOD_INPUTS GOOD_TARGET,
     "spec.yaml:1: symmetry is a list; wanted a text"},
    {"symmetry: 3\n" GOOD_INPUTS GOOD_TARGET, "spec.yaml:1: symmetry is 3; wanted a text"},
    {"symmetry: gl:3\n" GOOD_INPUTS "target: {name: y, as: class}\n",
     "spec.yaml:3: target y is a class; wanted classes: NUMBER beside it"},
    {"symmetry: gl:3\n" GOOD_INPUTS "target: {name: y, as: class, classes: 1}\n",
     "spec.yaml:3: classes is 1; wanted a whole number from 2 to 4096"},
    {"symmetry: gl:3\n" GOOD_INPUTS "target: {name: y, as: scalar, classes: 3}\n",
     "spec.yaml:3: target y: classes and weights are for a class, and this is a scalar"},
    {"symmetry: gl:3\n" GOOD_INPUTS "target: {name: y, as: class, classes: 3, weights: [1, 2]}\n",
     "spec.yaml:3: target y has 2 weights; wanted 3, one for each class"},
    {"symmetry: gl:3\n" GOOD_INPUTS "target: {name: y, as: class, classes: 2, weights: [1, 0]}\n",
     "spec.yaml:3: weights is 0; wanted a number above 0"},
    {"symmetry: \"gl\\n:3\"\n" GOOD_INPUTS GOOD_TARGET,
     "spec.yaml:1: symmetry is gl?:3; wanted a text without control characters"},
    {GOOD "model: {width: 0}\n", "spec.yaml:4: width is 0; wanted a whole number from 1 to 4096"},
    {GOOD "model: {width: 6.5}\n",
     "spec.yaml:4: width is 6.5; wanted a whole number from 1 to 4096"},
    {GOOD "model: {width: wide}\n",
     "spec.yaml:4: width is wide; wanted a whole number from 1 to 4096"},
    {GOOD "model: {width: 8, parameters: 1000}\n",
     "spec.yaml:4: model has width and parameters; wanted one of them"},
    {GOOD "model: {kind: perceptron}\n",
     "spec.yaml:4: unknown word 'perceptron' for kind; known are reln, lie-neurons, "
     "vector-neurons, mlp, sequence, resnet, plain-transformer, set, graph, "
     "transformer, messages"},
    {GOOD "model: {nonlinearity: [relu, brakcet]}\n",
     "spec.yaml:4: unknown word 'brakcet' for nonlinearity; did you mean 'bracket'?"},
    {GOOD "model: {nonlinearity: []}\n", "spec.yaml:4: nonlinearity has 0 items; wanted 1 to 8"},
    {GOOD "model: {kind: mlp, nonlinearity: [relu]}\n",
     "spec.yaml:4: an mlp takes no nonlinearity; wanted head: {activation: ...}"},
    {GOOD "model: 64\n", "spec.yaml:4: model is 64; wanted keys and values"},
    {GOOD "model: {head: {hiden: 2}}\n",
     "spec.yaml:4: unknown key 'hiden' in head; did you mean 'hidden'?"},
    {GOOD "train: {lr: 0}\n", "spec.yaml:4: lr is 0; wanted a number above 0, up to 1000"},
    {GOOD "train: {lr: fast}\n", "spec.yaml:4: lr is fast; wanted a number above 0, up to 1000"},
    {GOOD "train: {epochs: 3, steps: 10}\n",
     "spec.yaml:4: train has epochs and steps; wanted one of them"},
    {GOOD "train: {betas: [0.9]}\n", "spec.yaml:4: betas has 1 items; wanted 2"},
    {GOOD "train: {betas: [0.9, 1]}\n",
     "spec.yaml:4: betas is 1; wanted a number from 0 to below 1"},
    {GOOD "train: {optimizer: adam, decay: 0.1}\n",
     "spec.yaml:4: adam takes no decay; wanted optimizer: adamw"},
    {GOOD "train: {optimizer: sgd, nesterov: true}\n",
     "spec.yaml:4: nesterov wants momentum above 0"},
    {GOOD "train: {loss: cross-entropy}\n",
     "spec.yaml:4: loss is cross-entropy and the target a scalar; wanted cross-entropy for classes "
     "and nothing else"},
    {GOOD "train: {validation: {folds: 3, fold: 3}}\n",
     "spec.yaml:4: fold is 3 of 3; wanted 0 to 2"},
    {GOOD "train: {validation: {folds: 3}}\n",
     "spec.yaml:4: validation has other keys than wanted: {folds: NUMBER or ARRAY, fold: NUMBER}"},
    {GOOD "train: {validation: 1}\n",
     "spec.yaml:4: validation is 1; wanted a share from 0 to below 1, or a file"},
    {GOOD "train: {dtype: f16}\n", "spec.yaml:4: unknown word 'f16' for dtype; known are f32, f64"},
    {GOOD "train: {seed: 1.5}\n", "spec.yaml:4: seed is 1.5; wanted a whole number from 0 to 2^53"},
    {GOOD "train: {augment: {cond: 0.5}}\n",
     "spec.yaml:4: cond is 0.5; wanted a number from 1 to 1000000"},
    {GOOD "train: {schedule: cosin}\n",
     "spec.yaml:4: unknown word 'cosin' for schedule; did you mean 'cosine'?"},
    {GOOD "train:\n  schedule:\n    - {kind: warmup, length: 2}\n    - {kind: cosine, floor: 2}\n",
     "spec.yaml:7: floor is 2; wanted a number from 0 to 1 (a share of the rate)"},
    {GOOD "train: {schedule: []}\n", "spec.yaml:4: schedule has 0 pieces; wanted 1 to 8"},
};

static void bad_specs_get_one_line(void **state)
{
    RelnCtx *ctx = NULL;
    RelnSpec spec;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_true(sizeof bad / sizeof bad[0] >= 40);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(world_spec(ctx, bad[i].yaml, &spec), RELN_ERR_FORMAT);
        assert_string_equal(reln_ctx_error(ctx), bad[i].message);
    }
    reln_ctx_destroy(ctx);
}

/* ---- in and out ----------------------------------------------------------------------------------------------------- */

static const char full[] =
    "symmetry: {algebra: so, n: 3}\nfeatures: gl:3\n"
    "inputs:\n  - {name: v, as: vector, points: true, mask: m}\n"
    "  - {name: C, as: covariance, log: true}\n  - {name: s, as: scalar}\n"
    "target: {name: y, as: class, classes: 3, weights: [1, 2, 0.5], normalise: false}\n"
    "model: {kind: lie-neurons, parameters: 5000, depth: 3, nonlinearity: [leaky, bracket], pool: "
    "max,"
    " leak: 0.1, head: {hidden: 1, width: 9, activation: tanh}}\n"
    "train: {steps: 77, batch: 13, optimizer: sgd, lr: 0.25, momentum: 0.5, nesterov: true, decay: "
    "0.1,"
    " clip: 2, average: 0.9, validation: other.npz, evaluate: 7, patience: 4, dtype: f64, augment: "
    "{cond: 10}, "
    "seed: 9,"
    " schedule: [{kind: warmup, length: 5}, {kind: steps, factor: 0.5, period: 10}]}\n";

static RelnSpec read_spec(RelnCtx *ctx, const char *yaml)
{
    RelnSpec spec;

    assert_ok(ctx, world_spec(ctx, yaml, &spec));
    return spec;
}

static void keys_arrive_where_they_belong(void **state)
{
    RelnCtx *ctx = NULL;
    RelnSpec s;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    s = read_spec(ctx, full);
    assert_string_equal(s.symmetry, "so:3");
    assert_string_equal(s.input[0].mask, "m");
    assert_true(s.input[1].log && s.input[0].points && !s.input[2].points);
    assert_int_equal(s.target[0].n_weights, 3);
    assert_true(s.target[0].weights[2] == 0.5 && !s.target[0].normalise);
    assert_int_equal(s.model.width, 0);
    assert_int_equal(s.model.parameters, 5000);
    assert_int_equal(s.model.steps[1], RELN_STEP_BRACKET);
    assert_int_equal(s.model.form, RELN_FORM_NO_CENTER);
    assert_int_equal(s.model.activation, RELN_ACT_TANH);
    assert_int_equal(s.train.loss, RELN_LOSS_CROSS_ENTROPY);
    assert_int_equal(s.train.dtype, RELN_F64);
    assert_string_equal(s.train.validation_file, "other.npz");
    assert_int_equal(s.train.epochs, 0);
    assert_true(s.train.augment == 10);
    reln_ctx_destroy(ctx);
}

static void defaults_are_those_of_the_table(void **state)
{
    RelnCtx *ctx = NULL;
    RelnSpec s;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    s = read_spec(ctx, GOOD);
    assert_int_equal(s.model.width, 64);
    assert_int_equal(s.train.epochs, 100);
    assert_true(s.train.lr == 1e-3 && s.train.betas[1] == 0.999 && s.train.validation == 0.1);
    assert_true(s.target[0].normalise);
    s = read_spec(ctx, GOOD "train: {optimizer: adamw}\n");
    assert_true(s.train.decay == 0.01 && s.train.clip == 0);
    s = read_spec(ctx, GOOD "model: {kind: lie-neurons}\n");
    assert_true(s.train.clip == 1);
    s = read_spec(ctx, GOOD "model: {kind: lie-neurons}\ntrain: {clip: 7}\n");
    assert_true(s.train.clip == 7);
    reln_ctx_destroy(ctx);
}

static void a_spec_written_reads_back_the_same(void **state)
{
    static const char *const texts[] = {full, GOOD, GOOD "train: {schedule: cosine}\n",
                                        GOOD "model: {kind: lie-neurons}\n",
                                        "symmetry: {basis: b.npy}\n" GOOD_INPUTS GOOD_TARGET};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const RelnSpec spec = read_spec(ctx, texts[i]);
        RelnSpec again;
        RelnDoc *doc = NULL;

        assert_ok(ctx, reln_doc_create(ctx, &doc));
        assert_ok(ctx,
                  world_spec(ctx, reln_doc_write(doc, reln_spec_to_doc(&spec, doc), RELN_DOC_YAML),
                             &again));
        assert_memory_equal(&spec, &again, sizeof spec);
        reln_doc_destroy(doc);
    }
    reln_ctx_destroy(ctx);
}

/* The template without its comments equals a SPEC with the required keys only. */
static void the_template_is_a_spec_with_the_defaults(void **state)
{
    static char text[16384], cut[100];
    const size_t length = reln_spec_template(text, sizeof text);
    RelnCtx *ctx = NULL;
    RelnSpec spec, plain;

    (void)state;
    assert_true(length > 1000 && length < sizeof text && strlen(text) == length);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    spec = read_spec(ctx, text);
    plain = read_spec(ctx, GOOD);
    assert_memory_equal(&spec, &plain, sizeof spec);
    assert_non_null(strstr(text, "nonlinearity"));
    assert_non_null(strstr(text, "# seconds between checkpoints"));
    assert_int_equal(reln_spec_template(cut, sizeof cut), length);
    assert_memory_equal(cut, text, sizeof cut - 1);
    assert_int_equal(reln_spec_template(NULL, 0), length);
    reln_ctx_destroy(ctx);
}

/* ---- for those who train ---------------------------------------------------------------------------------------------- */

static void lengths_are_in_the_unit_of_the_run(void **state)
{
    RelnCtx *ctx = NULL;
    RelnSpec s;
    RelnSchedule schedule;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    s = read_spec(
        ctx,
        GOOD "train: {epochs: 10, evaluate: 2, schedule: [{kind: warmup, length: 3}, cosine]}\n");
    assert_int_equal(reln_spec_steps(&s, 90), 900);
    assert_int_equal(reln_spec_evaluate_every(&s, 90), 180);
    schedule = reln_spec_schedule(&s, 90);
    assert_int_equal(schedule.n_pieces, 2);
    assert_int_equal(schedule.piece[0].steps, 270);
    assert_int_equal(schedule.piece[1].kind, RELN_SCHEDULE_COSINE);
    s = read_spec(ctx, GOOD "train: {steps: 50, schedule: {kind: steps, period: 7}}\n");
    assert_int_equal(reln_spec_steps(&s, 90), 50);
    schedule = reln_spec_schedule(&s, 90);
    assert_true(schedule.piece[0].period == 7);
    assert_ok(ctx, reln_schedule_check(ctx, &schedule, 50));
    reln_ctx_destroy(ctx);
}

static void every_kind_of_schedule_is_accepted(void **state)
{
    static const char *const kinds[] = {"constant",    "warmup", "cosine", "restarts",
                                        "exponential", "steps",  "plateau"};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char yaml[256];
        RelnSpec spec;
        RelnSchedule schedule;

        snprintf(yaml, sizeof yaml, GOOD "train: {schedule: %s}\n", kinds[i]);
        spec = read_spec(ctx, yaml);
        schedule = reln_spec_schedule(&spec, 90);
        assert_ok(ctx, reln_schedule_check(ctx, &schedule, reln_spec_steps(&spec, 90)));
    }
    reln_ctx_destroy(ctx);
}

static void optimisers_and_losses_take_their_numbers(void **state)
{
    RelnCtx *ctx = NULL;
    RelnSpec s;
    RelnOptimiser o;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    s = read_spec(ctx, full);
    o = reln_spec_optimiser(&s);
    assert_int_equal(o.kind, RELN_OPTIMISER_SGD);
    assert_true(o.sgd.momentum == 0.5 && o.sgd.nesterov && o.sgd.decay == 0.1 && o.clip == 2);
    assert_int_equal(reln_spec_loss(&s, 0).n_weights, 3);
    s = read_spec(ctx,
                  GOOD "train: {optimizer: adamw, epsilon: 1e-6, epsilon_inside: true, loss: huber,"
                       " delta: 0.5}\n");
    o = reln_spec_optimiser(&s);
    assert_true(o.adam.eps == 1e-6 && o.adam.eps_inside && o.adam.decay == 0.01);
    assert_true(reln_spec_loss(&s, 0).delta == 0.5 &&
                reln_spec_loss(&s, 0).kind == RELN_LOSS_HUBER);
    reln_ctx_destroy(ctx);
}

static RelnStatus read_and_write(RelnCtx *ctx)
{
    RelnDoc *doc = NULL;
    RelnSpec spec;
    RelnStatus status = world_spec(ctx, full, &spec);

    if (status == RELN_OK)
        status = reln_doc_create(ctx, &doc);
    if (status == RELN_OK && !reln_doc_write(doc, reln_spec_to_doc(&spec, doc), RELN_DOC_YAML))
        status = RELN_ERR_NOMEM;
    reln_doc_destroy(doc);
    return status;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(read_and_write) > 3);
}

/* Networks of sets are narrower, and forget more; keys that are given stay. */
static void networks_of_sets_have_their_own_defaults(void **state)
{
    static const struct {
        const char *model;
        int width, depth;
        double dropout;
        RelnForm form;
    } wanted[] = {
        {"kind: reln", 64, 2, 0, RELN_FORM_COMPLETED},
        {"kind: lie-neurons", 64, 2, 0, RELN_FORM_NO_CENTER},
        {"kind: lie-neurons, form: definite", 64, 2, 0, RELN_FORM_DEFINITE},
        {"kind: vector-neurons", 64, 2, 0, RELN_FORM_COMPLETED},
        {"kind: mlp", 64, 2, 0, RELN_FORM_COMPLETED},
        {"kind: set", 32, 4, 0.3, RELN_FORM_COMPLETED},
        {"kind: graph", 32, 2, 0.3, RELN_FORM_COMPLETED},
        {"kind: transformer", 32, 2, 0.3, RELN_FORM_COMPLETED},
        {"kind: messages", 32, 2, 0.3, RELN_FORM_COMPLETED},
        {"kind: set, width: 64, depth: 2, dropout: 0", 64, 2, 0, RELN_FORM_COMPLETED},
        {"kind: set, parameters: 5000", 0, 4, 0.3, RELN_FORM_COMPLETED},
        {"kind: reln, parameters: 5000", 0, 2, 0, RELN_FORM_COMPLETED},
    };
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char yaml[256];
        RelnSpec spec;

        snprintf(yaml, sizeof yaml,
                 "{symmetry: so:3, inputs: [{name: v, as: vector, points: true}], target: {name: "
                 "y, as: scalar}, model: {%s}}",
                 wanted[i].model);
        assert_ok(ctx, world_spec(ctx, yaml, &spec));
        if (spec.model.width != wanted[i].width || spec.model.depth != wanted[i].depth ||
            spec.model.dropout != wanted[i].dropout || spec.model.form != wanted[i].form)
            fail_msg("%s: width %d, depth %d, dropout %g, form %d", wanted[i].model,
                     spec.model.width, spec.model.depth, spec.model.dropout, (int)spec.model.form);
    }
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_specs_get_one_line),
        cmocka_unit_test(keys_arrive_where_they_belong),
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(networks_of_sets_have_their_own_defaults),
        cmocka_unit_test(a_spec_written_reads_back_the_same),
        cmocka_unit_test(the_template_is_a_spec_with_the_defaults),
        cmocka_unit_test(lengths_are_in_the_unit_of_the_run),
        cmocka_unit_test(every_kind_of_schedule_is_accepted),
        cmocka_unit_test(optimisers_and_losses_take_their_numbers),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
