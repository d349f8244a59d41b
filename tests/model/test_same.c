/* Tests that networks of a SPEC stay the same, so that the weights of a model file mean the same in the next
 * version. Each line has a SPEC, its number of parameters, and a sum over the predictions of its starting
 * weights on random arrays. If a number changes, older model files give other predictions: then the format of
 * files must get a new version, or the network must stay the same. RELN_SHOW=1 prints the table. */
#include "model/model.h"
#include "model/world.h"

enum { SAMPLES = 7 };

#define TAIL " train: {dtype: f64, seed: 3}}"
#define SET(symmetry, input, target, model)                                                        \
    "{symmetry: " symmetry ", inputs: [{name: " input ", points: true, mask: m}], target: {name: " \
    "y, " target "}, model: {" model "}," TAIL
#define ONE(symmetry, input, target, model)                                                        \
    "{symmetry: " symmetry ", inputs: [{name: " input "}], target: {name: y, " target              \
    "}, model: {" model "}," TAIL
#define CLASS "as: class, classes: 3"

typedef struct Kept {
    const char *yaml;
    size_t parameters;
    double sum;
} Kept;

static const Kept kept[] = {
    {ONE("gl:3", "X, as: matrix", "as: scalar", "width: 5, depth: 2"), 492, -6.30391977886513},
    {ONE("gl:3", "X, as: matrix", "as: matrix", "width: 5, depth: 2"), 427, 10.1334928890314},
    {ONE("so:3", "C, as: covariance, log: true", "as: covariance", "width: 4, depth: 1"), 194,
     96.0634353541254},
    {ONE("so:3", "q, as: quaternion", "as: scalar", "width: 4, depth: 1"), 166, 3.09023500797155},
    {ONE("gl:3", "X, as: matrix", "as: scalar", "kind: lie-neurons, width: 5, depth: 2"), 257,
     -6.44367109347496},
    {ONE("so:3", "v, as: vector", "as: vector", "kind: vector-neurons, width: 4, depth: 2"), 64,
     0.583559916848309},
    {ONE("gl:3", "X, as: matrix", "as: scalar", "kind: mlp, width: 6, depth: 2"), 254,
     -3.61100627027984},
    {ONE("lorentz", "p, as: fourvector", CLASS, "width: 4, depth: 2"), 623, -5.2392334287002},
    {ONE("sp:4", "e, as: element", "as: scalar",
         "width: 4, depth: 1, nonlinearity: [rms, bracket, triple, gate]"),
     222, -7.5761017218495},
    {ONE("gl:2", "C, as: covariance, log: true, reference: mean", "as: covariance",
         "width: 4, depth: 1"),
     186, 121.734530715221},
    {ONE("so:3", "v, as: vector", "as: vector, loss: gaussian, variance: covariance",
         "width: 4, depth: 1"),
     186, 31.8811195714757},
    {ONE("gl:2", "X, as: matrix", "as: scalar, quantiles: [0.1, 0.5, 0.9], loss: quantiles",
         "width: 4, depth: 1"),
     182, 31.2374996479647},
    {SET("so:3", "v, as: vector", CLASS, "width: 4, depth: 1, pool: max"), 255, -5.28059125529905},
    {SET("so:3", "v, as: vector", CLASS, "width: 4, depth: 1, pool: softmax"), 255,
     -5.25593231485524},
    {SET("so:3", "v, as: vector", "as: vector, points: true", "width: 4, depth: 1"), 324,
     -0.432246111898554},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}], targets: [{name: y, "
     "as: class, classes: 3}, {name: z, as: vector, points: true}], model: {kind: set, width: 4, "
     "depth: 1}," TAIL,
     4647, -5.33039653079466},
    {SET("so:3", "v, as: vector", CLASS, "kind: set, width: 5, depth: 2"), 6577, -4.78074247829609},
    {SET("lorentz", "p, as: fourvector", CLASS, "kind: set, width: 5, depth: 2, sums: 3"), 4073,
     -4.89312598192904},
    {SET("gl:2", "X, as: matrix", CLASS, "kind: set, width: 5, depth: 1"), 5008, -4.69085246852642},
    {SET("so:3", "v, as: vector", "as: vector", "kind: set, width: 5, depth: 1"), 4894,
     0.0344897911128777},
    {SET("o:3", "v, as: vector", CLASS, "kind: graph, width: 5, depth: 2"), 5301,
     -4.74817860368158},
    {SET("so:3", "v, as: vector", CLASS, "kind: graph, width: 4, depth: 2, neighbours: 2"), 6093,
     -5.22721012187244},
    {SET("lorentz", "p, as: fourvector", CLASS, "kind: graph, width: 4, depth: 2"), 6217,
     -5.13625485244782},
    {SET("so:3", "v, as: vector", "as: vector, points: true", "kind: graph, width: 4, depth: 2"),
     6542, -0.432414852771363},
    {SET("so:3", "v, as: vector", CLASS, "kind: transformer, width: 8, depth: 2, heads: 2"), 8923,
     -3.70266387043122},
    {SET("lorentz", "p, as: fourvector", "as: scalar, points: true",
         "kind: transformer, width: 8, depth: 1, heads: 2"),
     9668, -0.886884451271143},
    {ONE("so:3", "v, as: vector, sequence: true", "as: vector",
         "kind: sequence, width: 4, depth: 3"),
     1436, 2.599966537402},
    {ONE("so:3", "v, as: vector, sequence: true", CLASS, "kind: sequence, width: 4, depth: 2"),
     1027, -5.35162743041741},
    {ONE("so:3", "v, as: vector, sequence: true", "as: vector", "kind: resnet, width: 4, depth: 2"),
     550, -6.90531491934747},
};

static double sum_of(World *w, size_t *parameters)
{
    ptrdiff_t rows[SAMPLES];
    double *y, sum = 0;
    RelnModelGraph net = {0};
    RelnPlan *plan = NULL;
    RelnModelOptions options = {0};
    RelnLayout layout;
    ptrdiff_t *items;

    for (int i = 0; i < SAMPLES; i++)
        rows[i] = i;
    assert_ok(w->ctx, world_model(w));
    assert_ok(w->ctx, world_data(w, NULL));
    assert_ok(w->ctx, reln_data_normalise(w->data, SAMPLES, rows));
    options.sizes = reln_data_sizes(w->data);
    assert_ok(w->ctx, reln_model_build(w->model, &options, &net));
    assert_ok(w->ctx, reln_plan_create(net.graph, NULL, &plan));
    assert_ok(w->ctx, reln_data_bind(w->data, plan, SAMPLES, rows, 0));
    assert_ok(w->ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
    layout = reln_data_layout(w->data);
    y = calloc((size_t)(SAMPLES * layout.outputs), sizeof *y);
    items = calloc((size_t)(SAMPLES * layout.losses), sizeof *items);
    assert_true(y && items);
    assert_ok(w->ctx, reln_data_items(w->data, SAMPLES, rows, items));
    reln_model_predictions(w->model, plan, &layout, SAMPLES, items, y);
    for (ptrdiff_t i = 0; i < SAMPLES * layout.outputs; i++)
        sum += y[i] * (1 + 0.5 * cos((double)i));
    *parameters = reln_store_parameters(reln_model_store(w->model));
    free(y);
    free(items);
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    return sum;
}

/* Networks have a few hundred roundings in sequence, which softmaxes and norms amplify. */
static void networks_are_what_they_were(void **state)
{
    int changed = 0;

    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        size_t parameters;
        double sum;
        World w;

        if (world_init(&w, NULL, kept[i].yaml, SAMPLES) != RELN_OK)
            fail_msg("%s: %s", kept[i].yaml, reln_ctx_error(w.ctx));
        sum = sum_of(&w, &parameters);
        world_clear(&w);
        if (getenv("RELN_SHOW"))
            print_message("%zu, %.15g\n", parameters, sum);
        if (parameters != kept[i].parameters ||
            !(fabs(sum - kept[i].sum) <= 1e-9 * fmax(1, fabs(sum)))) {
            print_message("%s\n  has %zu parameters and %.15g, wanted %zu and %.15g\n",
                          kept[i].yaml, parameters, sum, kept[i].parameters, kept[i].sum);
            changed++;
        }
    }
    assert_int_equal(changed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(networks_are_what_they_were)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
