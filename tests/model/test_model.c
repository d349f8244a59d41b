/* Tests models: they are rebuilt from their description, sized by their number of parameters, and can learn. */
#include "model/model.h"
#include "model/world.h"

/* ---- descriptions ---------------------------------------------------------------------------------------------------- */

static const char *const specs[] = {
    "{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
    " model: {parameters: 3000}, train: {dtype: f64, seed: 4}}",
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: s, as: "
    "scalar}],"
    " target: {name: y, as: vector}, model: {width: 5, pool: max}, train: {dtype: f64}}",
    "{symmetry: o:3, inputs: [{name: C, as: covariance, log: true}], target: {name: y, as: class,"
    " classes: 4}, model: {width: 5, nonlinearity: [relu, gate]}, train: {dtype: f64}}",
    "{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},"
    " model: {kind: mlp, width: 5}, train: {dtype: f64}}",
};

static void predict(World *w, double *y)
{
    static const ptrdiff_t rows[] = {0, 1, 2};
    const RelnLayout layout = reln_data_layout(w->data);
    RelnModelGraph net = {0};
    RelnPlan *plan = NULL;

    assert_ok(w->ctx, reln_model_build(w->model, NULL, &net));
    assert_ok(w->ctx, reln_plan_create(net.graph, NULL, &plan));
    assert_ok(w->ctx, reln_data_bind(w->data, plan, 3, rows, 0));
    assert_ok(w->ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 3}));
    reln_model_predictions(w->model, plan, &layout, 3, NULL, y);
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
}

static void copy_weights(const RelnStore *from, const RelnStore *to)
{
    for (int i = 0; i < reln_store_count(from); i++) {
        const RelnEntryInfo a = reln_store_entry(from, i);
        RelnEntryInfo b;

        assert_true(reln_store_find(to, a.name, &b));
        assert_int_equal(a.count, b.count);
        memcpy(b.values, a.values, a.count * sizeof(double));
    }
}

/* Replaces the model by one that is built from the text of its description. */
static RelnModel *rebuild(World *w)
{
    RelnDoc *doc = NULL, *again = NULL;
    RelnModel *model = NULL;
    const char *text;

    assert_ok(w->ctx, reln_doc_create(w->ctx, &doc));
    text = reln_doc_write(doc, reln_model_describe(w->model, doc), RELN_DOC_ONE_LINE);
    assert_non_null(text);
    assert_ok(w->ctx, reln_doc_parse_json(w->ctx, text, strlen(text), "model", &again));
    assert_ok(w->ctx, reln_model_from_doc(w->ctx, reln_doc_root(again), "model", &model));
    reln_doc_destroy(again);
    reln_doc_destroy(doc);
    return model;
}

static void a_described_model_predicts_the_same_bits(void **state)
{
    static const ptrdiff_t rows[] = {0, 1, 2, 3};

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        double y[64] = {0}, z[64] = {0};
        RelnModel *model;
        World w;

        assert_ok(NULL, world_init(&w, NULL, specs[i], 4));
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, NULL));
        assert_ok(w.ctx, reln_data_normalise(w.data, 4, rows));
        *(double *)reln_store_entry(reln_model_store(w.model), 0).values += 0.5;
        predict(&w, y);
        model = rebuild(&w);
        copy_weights(reln_model_store(w.model), reln_model_store(model));
        assert_memory_equal(reln_model_spec(w.model), reln_model_spec(model), sizeof(RelnSpec));
        reln_data_destroy(w.data);
        reln_model_destroy(w.model);
        w.data = NULL;
        w.model = model;
        assert_ok(w.ctx, world_data(&w, NULL));
        predict(&w, z);
        assert_memory_equal(y, z, sizeof y);
        world_clear(&w);
    }
}

/* Removes a list with its name, and the comma before it, from a text. */
static void cut_list(char *text, const char *name)
{
    char *at = strstr(text, name), *end;

    assert_non_null(at);
    end = strchr(at, ']');
    assert_non_null(end);
    while (*at != ',')
        at--;
    memmove(at, end + 1, strlen(end + 1) + 1);
}

/* Models of earlier versions have one scale for all columns of scalars: they load with that, centred at 0. */
static void columns_without_centres_have_the_scale(void **state)
{
    static const ptrdiff_t rows[] = {0, 1, 2, 3};
    RelnDoc *doc = NULL, *old = NULL;
    const RelnConstants *c;
    RelnModel *model = NULL;
    const char *text;
    char *copy;
    int first;
    World w;

    (void)state;
    assert_ok(NULL,
              world_init(&w, NULL,
                         "{symmetry: so:3, inputs: [{name: v, as: vector}, {name: s, as: scalar}],"
                         " target: {name: y, as: scalar}, model: {width: 2, depth: 1}}",
                         4));
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, 4, rows));
    assert_ok(w.ctx, reln_doc_create(w.ctx, &doc));
    text = reln_doc_write(doc, reln_model_describe(w.model, doc), RELN_DOC_ONE_LINE);
    copy = strdup(text);
    assert_non_null(copy);
    cut_list(copy, "\"centre\"");
    cut_list(copy, "\"width\": [");
    assert_ok(w.ctx, reln_doc_parse_json(w.ctx, copy, strlen(copy), "model", &old));
    assert_ok(w.ctx, reln_model_from_doc(w.ctx, reln_doc_root(old), "model", &model));
    c = reln_model_constants(model);
    assert_int_equal(reln_model_columns(model, 1, &first), WORLD_CHANNELS);
    for (int k = 0; k < WORLD_CHANNELS; k++) {
        assert_true(c->column[first + k].centre == 0);
        assert_true(c->column[first + k].width == reln_model_constants(w.model)->scale[1]);
        assert_true(reln_model_constants(w.model)->column[first + k].centre != 0);
    }
    free(copy);
    reln_model_destroy(model);
    reln_doc_destroy(old);
    reln_doc_destroy(doc);
    world_clear(&w);
}

/* A basis is stored in the description, so its file is not read again. */
static void a_basis_is_kept_in_the_description(void **state)
{
    static double hat[27] = {0, 0,  0, 0, 0, -1, 0, 1, 0, 0, 0, 1, 0, 0,
                             0, -1, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0};
    static double x[4 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 3, 5}, y[4] = {1, 2, 3, 4};
    RelnArray arrays[] = {RELN_ARRAY("X", RELN_F64, x, 4, 3), RELN_ARRAY("y", RELN_F64, y, 4)};
    const RelnArray basis = RELN_ARRAY(NULL, RELN_F64, hat, 3, 3, 3);
    const char *path = "test_model_basis.npy";
    World w = {0};

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &w.ctx), RELN_OK);
    w.owns_ctx = true;
    assert_ok(w.ctx, reln_npy_save(w.ctx, path, &basis));
    assert_ok(w.ctx, world_spec(w.ctx,
                                "{symmetry: {basis: test_model_basis.npy},"
                                " inputs: [{name: X, as: element}], target: {name: y},"
                                " model: {width: 3}, train: {dtype: f64}}",
                                &w.spec));
    assert_ok(w.ctx, reln_archive_from_arrays(w.ctx, "data.npz", 2, arrays, &w.archive));
    assert_ok(w.ctx, world_model(&w));
    assert_int_equal(remove(path), 0);
    {
        RelnModel *model = rebuild(&w);

        assert_int_equal(reln_model_n(model), 3);
        assert_int_equal(reln_model_parameters(model), reln_model_parameters(w.model));
        reln_model_destroy(model);
    }
    world_clear(&w);
}

/* Two elements that are much smaller than the third span the same algebra, and generate the same group. */
static void a_basis_of_elements_of_different_size_is_taken(void **state)
{
    double hat[27] = {0, 0,  0, 0, 0, -1, 0, 1, 0, 0, 0, 1, 0, 0,
                      0, -1, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0};
    static double v[4 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 3, 5}, y[4] = {1, 2, 3, 4};
    RelnArray arrays[] = {RELN_ARRAY("v", RELN_F64, v, 4, 3), RELN_ARRAY("y", RELN_F64, y, 4)};
    const RelnArray basis = RELN_ARRAY(NULL, RELN_F64, hat, 3, 3, 3);
    const char *path = "test_model_small_basis.npy";
    RelnAlgebra *algebra = NULL;
    World w = {0};

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &w.ctx), RELN_OK);
    w.owns_ctx = true;
    for (int i = 9; i < 27; i++)
        hat[i] *= 1e-13;
    assert_ok(w.ctx, reln_algebra_from_basis(w.ctx, 3, 3, hat, NULL, &algebra));
    reln_algebra_destroy(algebra);
    assert_ok(w.ctx, reln_npy_save(w.ctx, path, &basis));
    assert_ok(w.ctx, world_spec(w.ctx,
                                "{symmetry: {basis: test_model_small_basis.npy},"
                                " inputs: [{name: v, as: vector}], target: {name: y},"
                                " model: {width: 3}, train: {dtype: f64}}",
                                &w.spec));
    assert_ok(w.ctx, reln_archive_from_arrays(w.ctx, "data.npz", 2, arrays, &w.archive));
    assert_ok(w.ctx, reln_model_for(w.ctx, &w.spec, w.archive, &w.model));
    assert_int_equal(remove(path), 0);
    world_clear(&w);
}

/* A model whose input is a matrix of gl(3) and whose target is a number. */
#define DESCRIBED(points, shape, target)                                                           \
    "{spec: {symmetry: gl:3, inputs: [{name: X, as: matrix" points "}], target: {name: y}}"        \
    ", shapes: [{" shape "}], target: {" target "}}"
#define SHAPE "points: 0, channels: 1, size: 9, scale: 1"
#define TARGET "channels: 1, mean: 0, deviation: 1"
#define BASIS(basis)                                                                               \
    "{spec: {symmetry: {basis: b.npy}, inputs: [{name: X, as: matrix}], target: {name: y}},"       \
    " shapes: [{points: 0, channels: 1, size: 1, scale: 1}], target: {" TARGET "}" basis "}"
#define HAS "model:1: the model's description has "
#define LACKS "model:1: the model's description does not have "

static RelnStatus read_description(RelnCtx *ctx, const char *text)
{
    RelnModel *model = NULL;
    RelnDoc *doc = NULL;
    RelnStatus status;

    assert_ok(ctx, reln_doc_parse_yaml(ctx, text, strlen(text), "model", &doc));
    status = reln_model_from_doc(ctx, reln_doc_root(doc), "model", &model);
    assert_int_equal(status == RELN_OK, model != NULL);
    reln_model_destroy(model);
    reln_doc_destroy(doc);
    return status;
}

static void broken_descriptions_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"{}", HAS "no spec"},
        {"{spec: {symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y}}}",
         LACKS "a shape for each of 1 inputs"},
        {DESCRIBED("", "points: -1, channels: 1, size: 9, scale: 1", TARGET),
         HAS "no points between 0 and 1.04858e+06"},
        {DESCRIBED("", "points: 0, channels: 0, size: 9, scale: 1", TARGET),
         HAS "no channels between 1 and 1.04858e+06"},
        {DESCRIBED("", "points: 0, channels: 1.5, size: 9, scale: 1", TARGET),
         HAS "channels 1.5; wanted a whole number"},
        {DESCRIBED("", "points: 0, channels: 1, size: 0, scale: 1", TARGET),
         HAS "no size between 1 and 4096"},
        {DESCRIBED("", "points: 0, channels: 1, size: 4, scale: 1", TARGET),
         "X: 0 points of 1 channels of 4 numbers; wanted 0 and 9 numbers"},
        {DESCRIBED("", "points: 0, channels: 1, size: 9, scale: 0", TARGET),
         HAS "no scale between 1e-300 and 1e+300"},
        {DESCRIBED("", "points: 0, channels: 1, size: 9, scale: one", TARGET),
         HAS "no scale between 1e-300 and 1e+300"},
        {DESCRIBED("", "points: 2, channels: 1, size: 9, scale: 1", TARGET),
         "X: 2 points of 1 channels of 9 numbers; wanted 0 and 9 numbers"},
        {DESCRIBED(", points: true", SHAPE, TARGET),
         "X: 0 points of 1 channels of 9 numbers; wanted 0 and 9 numbers"},
        {DESCRIBED(", points: true", "points: 1048576, channels: 1048576, size: 9, scale: 1",
                   TARGET),
         "X: 9.9e+12 numbers for each sample; wanted up to 16777216"},
        {DESCRIBED("", SHAPE, "channels: 0, mean: 0, deviation: 1"),
         HAS "no channels between 1 and 1.04858e+06"},
        {DESCRIBED("", SHAPE, "channels: 1, mean: x, deviation: 1"),
         HAS "no mean between -1e+300 and 1e+300"},
        {DESCRIBED("", SHAPE, "channels: 1, mean: 0, deviation: 0"),
         HAS "no deviation between 1e-300 and 1e+300"},
        {BASIS(""), HAS "no dim between 1 and 256"},
        {BASIS(", basis: {dim: 1, n: 0, values: []}"), HAS "no n between 1 and 64"},
        {BASIS(", basis: {dim: 1, n: 1, values: [1, 2]}"), LACKS "1 values of its basis"},
        {BASIS(", basis: {dim: 1, n: 1, values: [one]}"), HAS "a basis with 'one'; wanted numbers"},
    };
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, read_description(ctx, DESCRIBED("", SHAPE, TARGET)));
    assert_ok(ctx, read_description(ctx, BASIS(", basis: {dim: 1, n: 1, values: [1]}")));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_not_equal(read_description(ctx, bad[i].text), RELN_OK);
        assert_string_equal(reln_ctx_error(ctx), bad[i].says);
        reln_ctx_clear(ctx);
    }
    reln_ctx_destroy(ctx);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------- */

static size_t parameters_of(const char *kind, const char *size)
{
    char yaml[256];
    size_t count;
    World w;

    snprintf(yaml, sizeof yaml,
             "{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},"
             " model: {kind: %s, %s}}",
             kind, size);
    assert_ok(NULL, world_init(&w, NULL, yaml, 2));
    assert_ok(w.ctx, world_model(&w));
    count = reln_model_parameters(w.model);
    snprintf(yaml, sizeof yaml, "width: %d", reln_model_spec(w.model)->model.width);
    assert_true(strncmp(size, "width", 5) != 0 || strcmp(size, yaml) == 0);
    world_clear(&w);
    return count;
}

/* No other width gives a nearer number of parameters; the neighbouring widths are tested. */
static void the_width_follows_from_the_parameters(void **state)
{
    static const char *const kinds[] = {"reln", "lie-neurons", "vector-neurons", "mlp"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const double miss = fabs((double)parameters_of(kinds[i], "parameters: 10000") - 10000);

        for (int w = 1; w < 130; w++) {
            char size[32];

            snprintf(size, sizeof size, "width: %d", w);
            if (w % 8 == 1 || miss > 3000)
                assert_true(fabs((double)parameters_of(kinds[i], size) - 10000) >= miss);
        }
        assert_true(miss < 500);
    }
}

/* The number of parameters of a width leads back to that width, and so do a few more or fewer; other widths are hundreds away. */
static void the_parameters_of_a_width_lead_back_to_it(void **state)
{
    (void)state;
    for (int w = 7; w < 40; w++) {
        char size[48];
        size_t count;

        snprintf(size, sizeof size, "width: %d", w);
        count = parameters_of("mlp", size);
        for (int more = -2; more <= 2; more += 2) {
            snprintf(size, sizeof size, "parameters: %zu", count + (size_t)more);
            assert_int_equal(parameters_of("mlp", size), count);
        }
    }
}

/* A width is a multiple of the heads where there is attention, and any number elsewhere; its neighbours are no nearer.
 * Sides that are fractions of the width make the numbers of parameters irregular. */
static void the_width_of_structured_networks_follows_from_the_parameters(void **state)
{
    static const struct {
        const char *kind;
        int unit;
    } kinds[] = {{"set", 1},
                 {"messages", 1},
                 {"graph, neighbours: 2", 1},
                 {"transformer, heads: 3", 3},
                 {"set, heads: 3, beside: [transformer]", 3},
                 {"plain-transformer, heads: 2", 2}};

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (double wanted = 1; wanted < 1e5; wanted *= 40) {
            char yaml[256], size[32];
            double miss[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
            int width = 0;

            snprintf(size, sizeof size, "parameters: %g", wanted);
            for (int k = 0; k < 3; k++) { /* as asked for, a unit less, a unit more */
                const int other = width + (k == 1 ? -1 : 1) * kinds[i].unit;
                World w;

                if (k > 0 && other == 0)
                    continue;
                if (k > 0)
                    snprintf(size, sizeof size, "width: %d", other);
                snprintf(yaml, sizeof yaml,
                         "{symmetry: so:3, inputs: [{name: v, as: vector, points: true}],"
                         " target: {name: y, as: vector}, model: {kind: %s, depth: 1, %s}}",
                         kinds[i].kind, size);
                assert_ok(NULL, world_init(&w, NULL, yaml, 2));
                assert_ok(w.ctx, world_model(&w));
                miss[k] = fabs((double)reln_model_parameters(w.model) - wanted);
                if (k == 0)
                    width = reln_model_spec(w.model)->model.width;
                world_clear(&w);
            }
            assert_int_equal(width % kinds[i].unit, 0);
            assert_true(width > 0 && miss[1] >= miss[0] && miss[2] >= miss[0]);
            assert_true(wanted < 1e4 || miss[0] < 0.1 * wanted);
        }
}

/* ---- learning ------------------------------------------------------------------------------------------------------------- */

enum { SAMPLES = 64, STEPS = 150 };

/* Each model learns sixty-four random targets until half of the loss is gone: a part without a gradient would
 * prevent this. */
static const char *const lessons[] = {
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
    " model: {width: 16}, train: {dtype: f64}}",
    "{symmetry: so:3, inputs: [{name: v, as: vector}, {name: C, as: covariance, log: true}],"
    " target: {name: y, as: vector}, model: {width: 16}, train: {dtype: f32}}",
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}, {name: s, as: scalar}],"
    " target: {name: y, as: matrix}, model: {width: 16}, train: {dtype: f64}}",
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}], target: {name: y,"
    " as: class, classes: 3}, model: {kind: vector-neurons, width: 16}, train: {dtype: f32}}",
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
    " model: {kind: mlp, width: 32}, train: {dtype: f32}}",
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}], target: {name: y,"
    " as: class, classes: 3}, model: {kind: set, beside: [graph], width: 16, dropout: 0},"
    " train: {dtype: f32}}",
};

static double learn(World *w, double *first)
{
    const RelnOptimiser adam = {.adam = RELN_ADAM_DEFAULTS, .clip = 1};
    RelnModelGraph net = {0};
    RelnPlan *plan = NULL;
    ptrdiff_t rows[SAMPLES];
    double rate = 5e-3, last = 0;

    for (int i = 0; i < SAMPLES; i++)
        rows[i] = i;
    assert_ok(w->ctx, reln_data_normalise(w->data, SAMPLES, rows));
    assert_ok(w->ctx,
              reln_model_build(w->model, &(RelnModelOptions){.train = true, .loss = true}, &net));
    assert_true(reln_train_step(net.graph, &adam, net.loss));
    assert_ok(w->ctx, reln_plan_create(net.graph, NULL, &plan));
    assert_ok(w->ctx, reln_plan_bind(plan, "rate", &rate, RELN_F64));
    assert_ok(w->ctx, reln_data_bind(w->data, plan, SAMPLES, rows, 0));
    for (uint64_t step = 0; step < STEPS; step++) {
        assert_ok(w->ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES, .step = step}));
        last = *(const double *)reln_plan_output(plan, "loss", NULL);
        if (step == 0)
            *first = last;
    }
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    return last;
}

static void every_kind_of_target_is_learnt(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lessons / sizeof lessons[0]; i++) {
        double first = 0, last;
        World w;

        assert_ok(NULL, world_init(&w, NULL, lessons[i], SAMPLES));
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, NULL));
        last = learn(&w, &first);
        assert_true(isfinite(first) && last < first / 2);
        world_clear(&w);
    }
}

/* ---- networks beside each other --------------------------------------------------------------------------------------- */

#define BESIDE(target, model)                                                                      \
    "{symmetry: gl:2, inputs: [{name: X, as: matrix, points: true, mask: m}],"                     \
    " target: {name: y, as: " target "},"                                                          \
    " model: {" model ", width: 4, depth: 1, sums: 2, dropout: 0},"                                \
    " train: {dtype: f64}}"

/* Copies the weights of the network whose names begin with `prefix` from a model of several networks. */
static void take_network(const RelnStore *from, const char *prefix, const RelnStore *to)
{
    for (int i = 0; i < reln_store_count(to); i++) {
        const RelnEntryInfo b = reln_store_entry(to, i);
        char name[96];
        RelnEntryInfo a;

        snprintf(name, sizeof name, "%s%s", prefix, b.name);
        assert_true(reln_store_find(from, name, &a));
        assert_int_equal(a.count, b.count);
        memcpy(b.values, a.values, a.count * sizeof(double));
    }
}

/* Opens a world; with `from`, the weights are those of one of its networks. */
static void open_network(World *w, const char *yaml, const World *from, const char *prefix)
{
    static const ptrdiff_t rows[] = {0, 1, 2, 3};

    assert_ok(NULL, world_init(w, NULL, yaml, 4));
    assert_ok(w->ctx, world_model(w));
    assert_ok(w->ctx, world_data(w, NULL));
    assert_ok(w->ctx, reln_data_normalise(w->data, 4, rows));
    if (from)
        take_network(reln_model_store(from->model), prefix, reln_model_store(w->model));
}

/* Returns the loss of training, and updates running statistics. */
static double loss_of(World *w)
{
    static const ptrdiff_t rows[] = {0, 1, 2, 3};
    RelnModelGraph net = {0};
    RelnPlan *plan = NULL;
    double loss;

    assert_ok(w->ctx,
              reln_model_build(w->model, &(RelnModelOptions){.train = true, .loss = true}, &net));
    reln_output(net.graph, "loss", net.loss);
    assert_ok(w->ctx, reln_plan_create(net.graph, NULL, &plan));
    assert_ok(w->ctx, reln_data_bind(w->data, plan, 4, rows, 0));
    assert_ok(w->ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 4}));
    loss = *(const double *)reln_plan_output(plan, "loss", NULL);
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    return loss;
}

/* The prediction is the mean of those of the networks alone, and so is the loss of training. */
static void networks_beside_each_other_are_averaged(void **state)
{
    static const char *const texts[][3] = {
        {BESIDE("class, classes: 3", "kind: set, beside: [graph]"),
         BESIDE("class, classes: 3", "kind: set"), BESIDE("class, classes: 3", "kind: graph")},
        {BESIDE("matrix", "kind: graph, beside: [set]"), BESIDE("matrix", "kind: graph"),
         BESIDE("matrix", "kind: set")}};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double y[3][64] = {{0}}, loss[3];
        World w[3];

        for (int k = 0; k < 3; k++) {
            open_network(&w[k], texts[i][k], k == 0 ? NULL : w, k == 1 ? "" : "beside1.");
            predict(&w[k], y[k]);
        }
        for (int k = 0; k < 3; k++)
            loss[k] = loss_of(&w[k]);
        assert_true(fabs(loss[0] - (loss[1] + loss[2]) / 2) < 1e-12 * fabs(loss[0]));
        assert_true(fabs(loss[1] - loss[2]) > 1e-6);
        for (int j = 0; j < 64; j++)
            assert_true(fabs(y[0][j] - (y[1][j] + y[2][j]) / 2) < 1e-9);
        for (int k = 0; k < 3; k++)
            world_clear(&w[k]);
    }
}

/* ---- units of features ------------------------------------------------------------------------------------------------ */

/* |B| over the basis: the root of the sum of squares of the form's matrix */
static double size_of_form(const RelnAlgebra *a)
{
    double square = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double x[3] = {i == 0, i == 1, i == 2}, y[3] = {j == 0, j == 1, j == 2};
            square += pow(reln_algebra_form(a, x, y), 2);
        }
    return sqrt(square);
}

/* The first layer of Lie Neurons is a linear map of x / 4, in units in which the form is of size 1. */
static void lie_neurons_see_features_of_a_quarter(void **state)
{
    enum { N = 4, K = 3, C = WORLD_CHANNELS, WIDTH = 5 };
    static const ptrdiff_t rows[N] = {0, 1, 2, 3};
    RelnModelGraph net = {0};
    RelnPlan *plan = NULL;
    RelnAlgebra *sl2 = NULL;
    RelnEntryInfo weights;
    char name[64];
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL,
                               "{symmetry: sl:2, inputs: [{name: e, as: element}],"
                               " target: {name: y, as: scalar}, model: {kind: lie-neurons,"
                               " width: 5, depth: 1}, train: {dtype: f64}}",
                               N));
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, N, rows));
    assert_ok(w.ctx, reln_model_build(w.model, &(RelnModelOptions){.taps = true}, &net));
    assert_ok(w.ctx, reln_plan_create(net.graph, NULL, &plan));
    assert_ok(w.ctx, reln_data_bind(w.data, plan, N, rows, 0));
    assert_ok(w.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    assert_ok(w.ctx, reln_algebra_create(w.ctx, "sl:2", &sl2));
    snprintf(name, sizeof name, "%s.W", net.taps[0].name);
    assert_true(reln_store_find(reln_model_store(w.model), name, &weights));
    assert_int_equal(weights.count, C * WIDTH);
    const double unit = 0.25 / sqrt(size_of_form(sl2)) / reln_model_constants(w.model)->scale[0];
    const double *x = world_find(&w, "e")->values, *got;
    double want[N * K * WIDTH] = {0};

    for (int i = 0; i < N * K * WIDTH; i++)
        for (int c = 0; c < C; c++)
            want[i] += unit * x[(i / (K * WIDTH) * C + c) * K + i / WIDTH % K] *
                       ((const double *)weights.values)[c * WIDTH + i % WIDTH];
    got = reln_plan_output(plan, net.taps[0].name, NULL);
    assert_near(got, want, N * K * WIDTH, 16 * 0x1p-52);
    reln_algebra_destroy(sl2);
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    world_clear(&w);
}

/* ---- metrics ------------------------------------------------------------------------------------------------------------ */

/* The metric that a group keeps, minus signs first: as many as there are, up to all but one. */
static void groups_have_their_metrics(void **state)
{
    static const struct {
        const char *group;
        int n, minus; /* -1: none */
    } cases[] = {{"so:3", 3, 0},   {"o:1,3", 4, 1}, {"lorentz", 4, 1}, {"so:2,2", 4, 2},
                 {"so:3,1", 4, 3}, {"o:3,1", 4, 3}, {"gl:3", 3, -1},   {"sp:4", 4, -1}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double metric[RELN_ALGEBRA_MAX_N];
        char spec[256];
        World w;

        snprintf(spec, sizeof spec,
                 "{symmetry: '%s', inputs: [{name: X, as: matrix}], target: {name: y, as: scalar}, "
                 "model: {width: 2, depth: 1}}",
                 cases[k].group);
        assert_int_equal(world_init(&w, NULL, spec, 3), RELN_OK);
        assert_ok(w.ctx, world_model(&w));
        assert_int_equal(reln_model_metric(w.model, metric), cases[k].minus >= 0);
        for (int i = 0; cases[k].minus >= 0 && i < cases[k].n; i++)
            assert_true(metric[i] == (i < cases[k].minus ? -1 : 1));
        world_clear(&w);
    }
}

/* ---- cost -------------------------------------------------------------------------------------------------------------- */

static RelnCost cost_of(const char *spec)
{
    RelnModelGraph net = {0};
    RelnPlan *plan = NULL;
    RelnCost cost;
    World w;

    assert_int_equal(world_init(&w, NULL, spec, 6), RELN_OK);
    assert_ok(w.ctx, world_model(&w));
    assert_int_equal(reln_model_points(w.model), WORLD_POINTS);
    assert_ok(w.ctx, reln_model_build(w.model, NULL, &net));
    assert_ok(w.ctx, reln_plan_create(net.graph, NULL, &plan));
    cost = reln_model_cost(w.model, plan);
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    world_clear(&w);
    return cost;
}

/* With a mask points are rows, without one they are an axis; the network is the same. The mean of a masked set counts its
 * points, too: one addition each, and at most four operations to divide by their number. */
static void a_full_set_costs_the_same_with_and_without_a_mask(void **state)
{
    const double masked =
        cost_of("{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}],"
                " target: {name: y, as: scalar}, model: {width: 5}}")
            .flops_sample;
    const double plain = cost_of("{symmetry: so:3, inputs: [{name: v, as: vector, points: true}],"
                                 " target: {name: y, as: scalar}, model: {width: 5}}")
                             .flops_sample;

    (void)state;
    assert_true(masked >= plain + WORLD_POINTS && masked <= plain + WORLD_POINTS + 4);
}

/* The work of a full set of four points: items of each domain times their cost, which the plan knows. */
static void domains_of_a_full_set_are_counted(void **state)
{
#define OF_KIND(model_)                                                                            \
    "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}], target: {name: y, "   \
    "as: scalar}, model: {kind: graph, width: 4, depth: 1, sums: 2" model_ "}}"
    static const struct {
        const char *spec;
        double points, groups, members, near, pairs;
    } cases[] = {
        {OF_KIND(""), 4, 0, 0, 0, 4 * 3},
        {OF_KIND(", neighbours: 2"), 4, 0, 0, 4 * 2, 0},
        {OF_KIND(", groups: 3, members: 2"), 4, 3, 3 * 2, 0, 3 * 2},
        {OF_KIND(", groups: 3, members: 2, neighbours: 1"), 4, 3, 3 * 2, 3 * 1, 0},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        RelnModelGraph net = {0};
        RelnPlan *plan = NULL;
        RelnCost cost;
        double want;
        World w;

        assert_int_equal(world_init(&w, NULL, cases[k].spec, 6), RELN_OK);
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, reln_model_build(w.model, NULL, &net));
        assert_ok(w.ctx, reln_plan_create(net.graph, NULL, &plan));
        cost = reln_plan_cost(plan);
        want = cost.flops_sample;
        for (int i = 0; i < cost.n_rows; i++) {
            const char *name = cost.rows[i].name;

            want += cost.rows[i].flops * (strcmp(name, "groups") == 0      ? cases[k].groups
                                          : strcmp(name, "members") == 0   ? cases[k].members
                                          : strcmp(name, "nearest") == 0   ? cases[k].near
                                          : strncmp(name, "pairs", 5) == 0 ? cases[k].pairs
                                                                           : cases[k].points);
        }
        assert_near((double[]){reln_model_cost(w.model, plan).flops_sample}, &want, 1,
                    1e-12 * want);
        reln_plan_destroy(plan);
        reln_model_graph_clear(&net);
        world_clear(&w);
    }
}

/* ---- variances ---------------------------------------------------------------------------------------------------------- */

/* Weights of any size predict variances between e^-20 and e^20 of the target's, and reach the bounds. */
static void variances_are_bounded(void **state)
{
    static const char *const kinds[] = {"width: 4", "kind: mlp, width: 4"};

    (void)state;
    for (int k = 0; k < 2; k++) {
        double y[64], d, most = 0;
        char spec[256];
        RelnLayout layout;
        World w;

        snprintf(spec, sizeof spec,
                 "{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: scalar, "
                 "loss: gaussian}, model: {%s}, train: {dtype: f64}}",
                 kinds[k]);
        assert_int_equal(world_init(&w, NULL, spec, 6), RELN_OK);
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, NULL));
        predict(&w, y); /* makes the weights */
        for (int i = 0; i < reln_store_count(reln_model_store(w.model)); i++) {
            const RelnEntryInfo e = reln_store_entry(reln_model_store(w.model), i);

            for (size_t j = 0; j < e.count; j++)
                ((double *)e.values)[j] *= 1e4;
        }
        predict(&w, y);
        layout = reln_data_layout(w.data);
        d = reln_model_constants(w.model)->target[0].deviation;
        assert_true(layout.target[0].spread > 0);
        for (int i = 0; i < 3; i++)
            for (ptrdiff_t j = 0; j < layout.target[0].spread; j++) {
                const double v =
                    y[i * layout.outputs + layout.target[0].first + layout.target[0].value + j] /
                    (d * d);

                assert_true(v >= exp(-20) * (1 - 1e-9) && v <= exp(20) * (1 + 1e-9));
                most = fmax(most, fabs(log(v)));
            }
        assert_true(most > 19);
        world_clear(&w);
    }
}

/* An mlp has one output for each number of each target, variances included: the j-th bias of its last layer moves the j-th
 * number alone. */
static void outputs_of_an_mlp_are_the_numbers_of_the_targets_in_turn(void **state)
{
    double before[64], after[64], *bias = NULL;
    ptrdiff_t outputs;
    World w;

    (void)state;
    assert_int_equal(
        world_init(&w, NULL,
                   "{symmetry: o:3, inputs: [{name: v, as: vector}], targets: [{name: a, as: "
                   "scalar, loss: gaussian}, {name: b, as: vector}, {name: c, as: vector, loss: "
                   "gaussian, variance: scalar}], model: {kind: mlp, width: 4}, train: {dtype: "
                   "f64}}",
                   6),
        RELN_OK);
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    predict(&w, before); /* makes the weights */
    outputs = reln_data_layout(w.data).outputs;
    assert_true(3 * outputs <= 64);
    for (int i = 0; i < reln_store_count(reln_model_store(w.model)); i++) {
        const RelnEntryInfo e = reln_store_entry(reln_model_store(w.model), i);

        if ((ptrdiff_t)e.count == outputs && strcmp(e.name + strlen(e.name) - 2, ".b") == 0)
            bias = e.values;
    }
    assert_non_null(bias);
    for (ptrdiff_t j = 0; j < outputs; j++) {
        bias[j] += 0.5;
        predict(&w, after);
        bias[j] -= 0.5;
        for (ptrdiff_t k = 0; k < 3 * outputs; k++)
            assert_true((after[k] != before[k]) == (k % outputs == j));
    }
    world_clear(&w);
}

/* Matrices of points are multiplied in an eighth of the width before the points exchange information, and in four channels if the
 * network is narrow. */
static void points_are_embedded_in_an_eighth_of_the_width(void **state)
{
    static const int widths[] = {8, 31, 32, 64, 100};

    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const int want = widths[i] / 8 > 4 ? widths[i] / 8 : 4;
        RelnModelGraph net;
        char spec[256];
        int found = 0;
        World w;

        snprintf(spec, sizeof spec,
                 "{symmetry: gl:2, inputs: [{name: X, as: matrix, points: true}],"
                 " target: {name: y, as: scalar}, model: {kind: set, width: %d, depth: 1}}",
                 widths[i]);
        assert_int_equal(world_init(&w, NULL, spec, 6), RELN_OK);
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, reln_model_build(w.model, &(RelnModelOptions){.taps = true}, &net));
        for (int t = 0; t < net.n_taps; t++)
            if (strcmp(net.taps[t].name, "embed.affine") == 0) {
                assert_int_equal(reln_node_dims(net.taps[t].node).c, want);
                found++;
            }
        assert_int_equal(found, 1);
        reln_model_graph_clear(&net);
        world_clear(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_described_model_predicts_the_same_bits),
        cmocka_unit_test(columns_without_centres_have_the_scale),
        cmocka_unit_test(a_basis_is_kept_in_the_description),
        cmocka_unit_test(a_basis_of_elements_of_different_size_is_taken),
        cmocka_unit_test(broken_descriptions_are_refused),
        cmocka_unit_test(points_are_embedded_in_an_eighth_of_the_width),
        cmocka_unit_test(the_width_follows_from_the_parameters),
        cmocka_unit_test(the_parameters_of_a_width_lead_back_to_it),
        cmocka_unit_test(the_width_of_structured_networks_follows_from_the_parameters),
        cmocka_unit_test(every_kind_of_target_is_learnt),
        cmocka_unit_test(networks_beside_each_other_are_averaged),
        cmocka_unit_test(lie_neurons_see_features_of_a_quarter),
        cmocka_unit_test(groups_have_their_metrics),
        cmocka_unit_test(a_full_set_costs_the_same_with_and_without_a_mask),
        cmocka_unit_test(domains_of_a_full_set_are_counted),
        cmocka_unit_test(variances_are_bounded),
        cmocka_unit_test(outputs_of_an_mlp_are_the_numbers_of_the_targets_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
