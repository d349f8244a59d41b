/* Tests runs of sets, graphs and transformers: counts that are read and refused, padding that changes no bit,
 * other units, and runs that begin with the weights of other runs. */
#include "fit/room.h"

#include "reln/fit.h"

#define FOUR                                                                                       \
    "{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true, count: k}],"             \
    " target: {name: y, as: class, classes: 2}, train: {epochs: 2, batch: 4, validation: 0.25},"
#define MODEL(kind, more) " model: {kind: " kind ", width: 8, depth: 1, sums: 2" more "}}"

enum { N = 12 };

/* Gives every set of the room `places` places; padding is filled with 77, so that its use would be noticed. */
static void widen(Room *r, int places)
{
    World *w = &r->world;
    RelnArray *p = &w->arrays[0];
    const ptrdiff_t had = p->dims[1], each = array_count(p) / N / had;
    const double *k = world_find(w, "k")->values;
    double *wide = calloc((size_t)(N * places * each), sizeof *wide);

    assert_string_equal(p->name, "p");
    for (int i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < places * each; j++)
            wide[i * places * each + j] =
                (double)j < k[i] * (double)each ? ((double *)p->values)[i * had * each + j] : 77;
    free(p->values);
    p->values = wide;
    p->dims[1] = places;
    assert_ok(w->ctx, reln_npz_save(w->ctx, r->data, w->n_arrays, w->arrays));
}

/* Gives the sets of the room counts from 1 to all of their places, and then `places` places. */
static void set_counts(Room *r, int places)
{
    double *k = world_array(&r->world, "k", 1, (ptrdiff_t[]){N});

    for (int i = 0; i < N; i++)
        k[i] = 1 + i % WORLD_POINTS;
    widen(r, places);
}

static RelnStatus train(Room *r, const char *run, const char *from, char *note, size_t size)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    RelnStatus status =
        reln_fit_open(r->world.ctx, r->spec, r->data,
                      &(RelnFitOptions){.folder = run, .from = from, .no_check = true}, &fit);

    if (status == RELN_OK && note)
        snprintf(note, size, "%s", reln_fit_result(fit).note);
    if (status == RELN_OK)
        status = reln_fit_run(fit, &end);
    reln_fit_close(fit);
    return status;
}

static void predictions(Room *r, RelnArray *out)
{
    RelnModel *model = NULL;

    assert_ok(r->world.ctx, reln_model_load(r->world.ctx, r->run, RELN_DEFAULT, &model));
    assert_ok(r->world.ctx, reln_predict(model, r->data, 1, out));
    reln_model_destroy(model);
}

static void assert_predicts(Room *r, const double *wanted)
{
    RelnArray y = {0};

    predictions(r, &y);
    assert_int_equal(array_count(&y), N * 2);
    assert_memory_equal(y.values, wanted, N * 2 * sizeof *wanted);
    reln_array_clear(&y);
}

/* 600 places are more than the rows that a plan processes together. */
static void padding_changes_no_bit(void **state)
{
    static const char *const specs[] = {FOUR MODEL("set", ""), FOUR MODEL("graph", ""),
                                        FOUR MODEL("transformer", ", heads: 2"),
                                        FOUR " model: {kind: reln, width: 4, depth: 1}}"};
    static const int places[] = {WORLD_POINTS, 2 * WORLD_POINTS, 600};

    (void)state;
    for (int s = 0; s < 4; s++) {
        double wanted[N * 2];

        for (int i = 0; i < 3; i++) {
            RelnArray y = {0};
            Room r;

            room_init(&r, specs[s], N);
            set_counts(&r, places[i]);
            assert_ok(r.world.ctx, train(&r, r.run, NULL, NULL, 0));
            predictions(&r, &y);
            if (i == 0)
                memcpy(wanted, y.values, sizeof wanted);
            reln_array_clear(&y);
            /* a model accepts files with other numbers of places than its own */
            for (int j = 0; j < 3; j++) {
                widen(&r, places[j]);
                assert_predicts(&r, wanted);
            }
            room_clear(&r);
        }
    }
}

/* The operations of a training plan, for a sample and for a point, and the memory of a worker. */
static void count_work(const char *yaml, int places, double work[3])
{
    RelnModelGraph net;
    RelnPlan *plan = NULL;
    RelnCost cost;
    Room r;

    room_init(&r, yaml, N);
    set_counts(&r, places);
    assert_ok(r.world.ctx, world_model(&r.world));
    assert_ok(r.world.ctx, world_data(&r.world, NULL));
    assert_int_equal(reln_data_places(r.world.data), places);
    assert_int_equal(reln_data_sizes(r.world.data).points, WORLD_POINTS);
    assert_ok(r.world.ctx,
              reln_model_build(r.world.model,
                               &(RelnModelOptions){.train = true,
                                                   .loss = true,
                                                   .sizes = reln_data_sizes(r.world.data)},
                               &net));
    reln_train_step(net.graph, &(RelnOptimiser){.kind = RELN_OPTIMISER_SGD}, net.loss);
    assert_ok(r.world.ctx, reln_plan_create(net.graph, NULL, &plan));
    cost = reln_plan_cost(plan);
    assert_true(cost.n_rows >= 1);
    work[0] = cost.flops_sample;
    work[1] = cost.rows[0].flops;
    work[2] = (double)cost.bytes_worker;
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    room_clear(&r);
}

static void padding_adds_no_work(void **state)
{
    double narrow[3], wide[3];

    (void)state;
    count_work(FOUR MODEL("set", ""), WORLD_POINTS, narrow);
    count_work(FOUR MODEL("set", ""), 600, wide);
    assert_true(narrow[0] > 0 && narrow[1] > 0);
    assert_memory_equal(narrow, wide, sizeof wide);
}

static void bad_counts_are_one_line(void **state)
{
    static const struct {
        double count;
        const char *line;
    } bad[] = {
        {5, "k: row 3 has 5 points; wanted a whole number from 1 to 4, the places that there are"},
        {0, "k: row 3 has 0 points; wanted a whole number from 1 to 4, the places that there are"},
        {2.5,
         "k: row 3 has 2.5 points; wanted a whole number from 1 to 4, the places that there are"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        Room r;

        room_init(&r, FOUR MODEL("set", ""), N);
        set_counts(&r, WORLD_POINTS);
        ((double *)r.world.arrays[r.world.n_arrays - 1].values)[3] = bad[i].count;
        assert_ok(r.world.ctx,
                  reln_npz_save(r.world.ctx, r.data, r.world.n_arrays, r.world.arrays));
        assert_int_equal(train(&r, r.run, NULL, NULL, 0), RELN_ERR_FORMAT);
        assert_string_equal(reln_ctx_error(r.world.ctx), bad[i].line);
        room_clear(&r);
    }
}

/* Returns the note of a prediction for the same numbers times a factor. */
static void note_at(Room *r, RelnModel *model, double factor, char *note, size_t size)
{
    RelnArray *p = &r->world.arrays[0], y = {0};
    const ptrdiff_t count = array_count(p);

    for (ptrdiff_t i = 0; i < count; i++)
        ((double *)p->values)[i] *= factor;
    assert_ok(r->world.ctx, reln_predict_arrays(model, r->world.n_arrays, r->world.arrays, 1, &y));
    for (ptrdiff_t i = 0; i < count; i++)
        ((double *)p->values)[i] /= factor;
    snprintf(note, size, "%s", reln_model_note(model));
    reln_array_clear(&y);
}

static void other_units_are_noticed(void **state)
{
    RelnModel *model = NULL;
    char note[256];
    Room r;

    (void)state;
    room_init(&r, FOUR MODEL("set", ""), N);
    set_counts(&r, WORLD_POINTS);
    assert_ok(r.world.ctx, train(&r, r.run, NULL, NULL, 0));
    assert_ok(r.world.ctx, reln_model_load(r.world.ctx, r.run, RELN_DEFAULT, &model));
    note_at(&r, model, 1, note, sizeof note);
    assert_string_equal(note, "");
    note_at(&r, model, 30, note, sizeof note);
    assert_string_equal(note, "");
    note_at(&r, model, 0.03, note, sizeof note);
    assert_string_equal(note, "");
    note_at(&r, model, 1000, note, sizeof note);
    assert_non_null(strstr(note, "p: its numbers are about"));
    assert_non_null(strstr(note, "the same units?"));
    note_at(&r, model, 0.001, note, sizeof note);
    assert_non_null(strstr(note, "p: its numbers are about 0.00"));
    reln_model_destroy(model);
    room_clear(&r);
}

static void a_run_begins_with_the_weights_of_another(void **state)
{
    RelnModel *one = NULL, *two = NULL;
    char note[256], again[112], other[112];
    RelnEntryInfo a, b;
    Room r;

    (void)state;
    room_init(&r, FOUR MODEL("set", ""), N);
    set_counts(&r, WORLD_POINTS);
    snprintf(again, sizeof again, "%s/again", r.folder);
    snprintf(other, sizeof other, "%s/other", r.folder);
    assert_ok(r.world.ctx, train(&r, r.run, NULL, NULL, 0));
    /* with a rate of almost 0 the weights do not change */
    room_write(r.spec,
               "{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true, count: k}],"
               " target: {name: y, as: class, classes: 2},"
               " train: {steps: 1, lr: 1e-30, seed: 7, validation: 0.25}," MODEL("set", ""));
    assert_ok(r.world.ctx, train(&r, again, r.run, note, sizeof note));
    assert_non_null(strstr(note, "arrays of weights are those of"));
    assert_non_null(strstr(note, "; 0 begin anew"));
    assert_ok(r.world.ctx, reln_model_load(r.world.ctx, r.run, RELN_DEFAULT, &one));
    assert_ok(r.world.ctx, reln_model_load(r.world.ctx, again, RELN_DEFAULT, &two));
    assert_true(reln_store_find(reln_model_store(one), "round1.Wr", &a));
    assert_true(reln_store_find(reln_model_store(two), "round1.Wr", &b));
    assert_memory_equal(a.values, b.values, a.count * sizeof(float));
    reln_model_destroy(one);
    reln_model_destroy(two);
    /* no array of another kind of network fits */
    room_write(r.spec, FOUR " model: {kind: mlp, width: 3}}");
    assert_int_equal(train(&r, other, r.run, NULL, 0), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(r.world.ctx), "none of its arrays"));
    room_sweep(again);
    room_sweep(other);
    room_clear(&r);
}

#define THREE(first, last)                                                                         \
    "{symmetry: o:3, inputs: [{name: " first ", as: vector, points: true, count: k}, {name: s, "   \
    "as: scalar, points: true, count: k}, {name: " last                                            \
    ", as: vector, points: true, count: k}], target: {name: y, as: scalar}, train: {epochs: 1, "   \
    "batch: 4, validation: 0.25}," MODEL("set", "")

/* Makes a room whose inputs have units: u is 100 times v, and s is far from 0; sets have `points` points. */
static void room_of_units(Room *r, const char *spec, double unit, int points)
{
    double *k;

    room_init(r, spec, N);
    k = world_array(&r->world, "k", 1, (ptrdiff_t[]){N});
    for (int i = 0; i < N; i++)
        k[i] = points;
    for (int a = 0; a < r->world.n_arrays; a++) {
        const RelnArray *x = &r->world.arrays[a];
        const char name = x->name[0];

        for (ptrdiff_t i = 0; i < array_count(x) && strchr("uvs", name); i++)
            ((double *)x->values)[i] *= unit * (name == 'u' ? 100 : 1);
        for (ptrdiff_t i = 0; i < array_count(x) && name == 's'; i++)
            ((double *)x->values)[i] += 10 * unit;
    }
    assert_ok(r->world.ctx,
              reln_npz_save(r->world.ctx, r->data, r->world.n_arrays, r->world.arrays));
}

/* The weights of a run are for its units and numbers of points, so these are taken with them, input by input. */
static void units_are_taken_with_the_weights(void **state)
{
    const RelnConstants *a, *b;
    RelnModel *one, *two;
    Room r, later;
    int first, n;

    (void)state;
    room_of_units(&r, THREE("v", "u"), 1, WORLD_POINTS);
    room_of_units(&later, THREE("v", "u"), 3, 2);
    assert_ok(r.world.ctx, train(&r, r.run, NULL, NULL, 0));
    assert_ok(later.world.ctx, train(&later, later.run, r.run, NULL, 0));
    one = room_load(&r, RELN_DEFAULT);
    two = room_load(&later, RELN_DEFAULT);
    a = reln_model_constants(one);
    b = reln_model_constants(two);
    assert_true(a->scale[2] > 50 * a->scale[0]);
    for (int i = 0; i < 3; i++)
        assert_true(a->scale[i] == b->scale[i]);
    n = reln_model_columns(one, 1, &first);
    assert_true(n > 0 && fabs(a->column[first].centre) > 5);
    for (int i = 0; i < n; i++) {
        assert_true(a->column[first + i].centre == b->column[first + i].centre);
        assert_true(a->column[first + i].width == b->column[first + i].width);
    }
    assert_true(a->points == WORLD_POINTS && b->points == WORLD_POINTS);
    reln_model_destroy(one);
    reln_model_destroy(two);
    room_clear(&later);
    /* in another order, weights would be those of other inputs */
    room_of_units(&later, THREE("u", "v"), 1, WORLD_POINTS);
    assert_int_equal(train(&later, later.run, r.run, NULL, 0), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(later.world.ctx), "input s comes before u"));
    room_clear(&later);
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_changes_no_bit),
        cmocka_unit_test(padding_adds_no_work),
        cmocka_unit_test(bad_counts_are_one_line),
        cmocka_unit_test(other_units_are_noticed),
        cmocka_unit_test(a_run_begins_with_the_weights_of_another),
        cmocka_unit_test(units_are_taken_with_the_weights),
    };

    return cmocka_run_group_tests_name("fit/structured", tests, NULL, NULL);
}
