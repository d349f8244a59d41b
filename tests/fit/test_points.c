/* These tests fit targets of points and of edges, weights, given edges and offsets. Padding changes no bit, errors equal those computed by
 * hand, and a sample of weight 2 counts like two equal samples. */
#include <float.h>

#include "fit/fit.h"
#include "fit/room.h"

#define TRAIN " train: {epochs: 2, batch: 5, lr: 1e-2, validation: 0.25, dtype: f64}}"
#define POINTS                                                                                     \
    "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}],"                      \
    " targets: [{name: y, as: vector, points: true}, {name: c, as: class, classes: 3, points: "    \
    "true}, {name: q, as: scalar, points: true, loss: gaussian}, {name: z, as: scalar}],"

static const char *const specs[] = {
    POINTS " model: {kind: set, width: 8, depth: 1, sums: 2}," TRAIN,
    POINTS " model: {kind: graph, width: 8, depth: 1, sums: 2}," TRAIN,
    POINTS " model: {kind: transformer, width: 8, depth: 1, sums: 2, heads: 2}," TRAIN,
    POINTS " model: {kind: vector-neurons, width: 8, depth: 1}," TRAIN,
};
enum { N = 12, SPECS = sizeof specs / sizeof specs[0], P = WORLD_POINTS };

static double *values_of(Room *r, const char *name)
{
    return world_find(&r->world, name)->values;
}

static void save(Room *r)
{
    assert_ok(r->world.ctx,
              reln_npz_save(r->world.ctx, r->data, r->world.n_arrays, r->world.arrays));
}

/* Returns the predictions of the trained model, by name; the caller clears them. */
typedef struct Predicted {
    RelnModel *model;
    RelnArray out[RELN_PREDICT_MOST];
    int count;
} Predicted;

static void predict(Room *r, Predicted *p)
{
    p->model = room_load(r, RELN_DEFAULT);
    assert_ok(r->world.ctx,
              reln_predict_targets(p->model, r->data, 1, RELN_PREDICT_MOST, p->out, &p->count));
}

static const RelnArray *find(const Predicted *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->out[i].name, name) == 0)
            return &p->out[i];
    fail_msg("there is no array %s", name);
    return NULL;
}

static void forget(Predicted *p)
{
    for (int i = 0; i < p->count; i++)
        reln_array_clear(&p->out[i]);
    reln_model_destroy(p->model);
}

static void train(Room *r)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;

    assert_ok(r->world.ctx,
              reln_fit_open(r->world.ctx, r->spec, r->data,
                            &(RelnFitOptions){.folder = r->run, .no_check = true}, &fit));
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(end, RELN_TRAIN_DONE);
    reln_fit_close(fit);
}

/* ---- targets of points ------------------------------------------------------------------------------------------------ */

static void predictions_are_padded_back(void **state)
{
    (void)state;
    for (int s = 0; s < SPECS; s++) {
        Predicted p;
        Room r;
        const double *mask;

        room_init(&r, specs[s], N);
        train(&r);
        predict(&r, &p);
        mask = values_of(&r, "m");
        assert_int_equal(p.count, 5);
        assert_int_equal(find(&p, "y")->rank, 4); /* (N, P, channels, 3) */
        assert_int_equal(find(&p, "y")->dims[1], P);
        assert_int_equal(find(&p, "c")->rank, 3);
        assert_int_equal(find(&p, "q_variance")->rank, 3);
        assert_int_equal(find(&p, "z")->rank, 2);
        for (int i = 0; i < N * P; i++) {
            const double *y = find(&p, "y")->f64 + i * 6, *c = find(&p, "c")->f64 + i * 3;
            const double *v = find(&p, "q_variance")->f64 + i * 2;

            assert_true((y[0] != 0) == (mask[i] != 0));
            assert_true((v[0] > 0) == (mask[i] != 0));
            assert_true(fabs(c[0] + c[1] + c[2] - mask[i]) < 1e-12);
        }
        forget(&p);
        room_clear(&r);
    }
}

/* Numbers of inputs, targets and weights at places without a point are ignored. */
static void what_is_no_point_changes_no_bit(void **state)
{
    (void)state;
    for (int s = 0; s < SPECS; s++) {
        static const char *const names[] = {"v", "y", "c", "q"};
        Predicted p[2];
        Room r[2];

        for (int other = 0; other < 2; other++) {
            room_init(&r[other], specs[s], N);
            for (int a = 0; other && a < 4; a++) {
                const RelnArray *x = world_find(&r[other].world, names[a]);
                const ptrdiff_t each = array_count(x) / (N * P);

                for (ptrdiff_t i = 0; i < N * P * each; i++)
                    if (values_of(&r[other], "m")[i / each] == 0)
                        ((double *)x->values)[i] = (double)NAN;
            }
            save(&r[other]);
            train(&r[other]);
            predict(&r[other], &p[other]);
        }
        for (int i = 0; i < p[0].count; i++)
            assert_memory_equal(p[0].out[i].f64, p[1].out[i].f64,
                                (size_t)array_count(&p[0].out[i]) * sizeof(double));
        for (int other = 0; other < 2; other++) {
            forget(&p[other]);
            room_clear(&r[other]);
        }
    }
}

static void errors_of_points_are_those_by_hand(void **state)
{
    RelnMetrics m[4];
    double square = 0, nll = 0, n = 0, right = 0, points = 0;
    const double *mask;
    Predicted p;
    Room r;

    (void)state;
    room_init(&r, specs[0], N);
    train(&r);
    predict(&r, &p);
    mask = values_of(&r, "m");
    for (int i = 0; i < N * P; i++) {
        const double *y = find(&p, "y")->f64 + i * 6, *t = values_of(&r, "y") + i * 6;
        const double *c = find(&p, "c")->f64 + i * 3;
        int best = 0;

        if (mask[i] == 0)
            continue;
        points++;
        for (int k = 0; k < 6; k++)
            square += (y[k] - t[k]) * (y[k] - t[k]);
        n += 6;
        for (int k = 1; k < 3; k++)
            best = c[k] > c[best] ? k : best;
        right += best == (int)values_of(&r, "c")[i];
        for (int k = 0; k < 2; k++) {
            const double v = find(&p, "q_variance")->f64[2 * i + k];
            const double e = find(&p, "q")->f64[2 * i + k] - values_of(&r, "q")[2 * i + k];

            nll += (e * e / v + log(v) + log(6.283185307179586)) / 2;
        }
    }
    assert_ok(r.world.ctx, reln_evaluate_targets(p.model, r.data, 1, m));
    assert_near(&m[0].mse, &(double){square / n}, 1, 1e-13);
    assert_near(&m[1].accuracy, &(double){right / points}, 1, 4 * DBL_EPSILON);
    assert_near(&m[2].nll, &(double){nll / (2 * points)}, 1, 1e-13);
    assert_int_equal(m[0].n_samples, (int)points);
    assert_int_equal(m[3].n_samples, N);
    forget(&p);
    room_clear(&r);
}

/* ---- weights ----------------------------------------------------------------------------------------------------------- */

#define WEIGHTED                                                                                   \
    "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}], weights: w,"          \
    " model: {kind: set, width: 8, depth: 1, sums: 2, dropout: 0}, "

/* Returns the metrics of the model of a run on the data of another room. */
static void judge(Room *run, Room *data, RelnMetrics *m, RelnScores *s)
{
    RelnModel *model = room_load(run, RELN_DEFAULT);

    assert_ok(run->world.ctx, reln_evaluate_targets(model, data->data, 1, m));
    assert_ok(run->world.ctx, reln_evaluate_classes(model, data->data, 1, 3, s));
    reln_model_destroy(model);
}

/* Gives a room weights 1, 2, 0 in turn, one for each sample. */
static double *give_weights(Room *r, bool points)
{
    const ptrdiff_t n = r->world.samples, dims[] = {n, P};
    double *w = world_array(&r->world, "w", points ? 2 : 1, dims);

    for (ptrdiff_t i = 0; i < (points ? n * P : n); i++)
        w[i] = (double)((i + 1) % 3);
    save(r);
    return w;
}

/* Repeats samples of weight 2, drops samples of weight 0, and gives each a weight of 1. */
static void repeat(Room *r)
{
    const double *w = values_of(r, "w");
    const ptrdiff_t n = r->world.samples;

    for (int a = 0; a < r->world.n_arrays; a++) {
        RelnArray *x = &r->world.arrays[a];
        const size_t each = (size_t)(array_count(x) / n);
        double *to = calloc((size_t)n * 2 * each, sizeof *to);
        ptrdiff_t at = 0;

        if (strcmp(x->name, "w") == 0) {
            free(to);
            continue;
        }
        for (ptrdiff_t i = 0; i < n; i++)
            for (int k = 0; k < (int)w[i]; k++)
                memcpy(to + (size_t)at++ * each, (double *)x->values + (size_t)i * each,
                       each * sizeof *to);
        free(x->values);
        x->values = to;
        x->dims[0] = at;
    }
    world_find(&r->world, "w")->dims[0] = r->world.arrays[0].dims[0];
    for (ptrdiff_t i = 0; i < r->world.arrays[0].dims[0]; i++)
        values_of(r, "w")[i] = 1;
    save(r);
}

static void a_weight_of_two_is_a_sample_twice(void **state)
{
    static const char spec[] =
        WEIGHTED "targets: [{name: c, as: class, classes: 3}, {name: y, as: vector}, {name: z, as: "
                 "scalar, points: true}]," TRAIN;
    RelnMetrics one[3], two[3];
    RelnScores a, b;
    Room weighted, twice;

    (void)state;
    room_init(&weighted, spec, N);
    room_init(&twice, spec, N);
    (void)give_weights(&weighted, false);
    (void)give_weights(&twice, false);
    repeat(&twice);
    train(&weighted);
    judge(&weighted, &weighted, one, &a);
    judge(&weighted, &twice, two, &b);
    for (int t = 0; t < 3; t++) {
        assert_near(&one[t].loss, &two[t].loss, 1, 1e-13);
        if (t > 0) {
            assert_near(&one[t].mse, &two[t].mse, 1, 1e-13);
            assert_near(&one[t].mae, &two[t].mae, 1, 1e-13);
            assert_near(&one[t].r2, &two[t].r2, 1, 1e-12);
        }
    }
    assert_near(&one[0].accuracy, &two[0].accuracy, 1, 1e-14);
    assert_near(&a.accuracy.value, &b.accuracy.value, 1, 1e-14);
    assert_near(&a.auc.value, &b.auc.value, 1, 1e-13);
    assert_near(&a.f1.value, &b.f1.value, 1, 1e-13);
    assert_near(&a.average_precision.value, &b.average_precision.value, 1, 1e-13);
    assert_int_equal(a.n_samples, N - N / 3);
    reln_scores_clear(&a);
    reln_scores_clear(&b);
    room_clear(&weighted);
    room_clear(&twice);
}

/* The record has a number of each target: of the best evaluation, the errors of the model that was saved. */
static void the_record_has_the_metrics_of_each_target(void **state)
{
    char spec[768];
    RelnMetrics m[4];
    RelnFit *fit = NULL;
    RelnFitResult result;
    RelnScores scores;
    RelnTrainEnd end;
    Room r;

    (void)state;
    room_init(&r, specs[0], N);
    snprintf(spec, sizeof spec,
             POINTS " model: {kind: set, width: 8, depth: 1, sums: 2}, train: {epochs: 3, batch: "
                    "5, lr: 1e-2, validation: %s, dtype: f64}}",
             r.data);
    room_write(r.spec, spec);
    assert_ok(r.world.ctx,
              reln_fit_open(r.world.ctx, r.spec, r.data,
                            &(RelnFitOptions){.folder = r.run, .no_check = true}, &fit));
    assert_ok(r.world.ctx, reln_fit_run(fit, &end));
    result = reln_fit_result(fit);
    assert_non_null(result.best);
    assert_int_equal(result.best->evaluation.n_metrics, 4);
    judge(&r, &r, m, &scores);
    reln_scores_clear(&scores);
    for (int t = 0; t < 4; t++)
        assert_near(&result.best->evaluation.metrics[t], t == 1 ? &m[t].accuracy : &m[t].mse, 1,
                    1e-12);
    reln_fit_close(fit);
    room_clear(&r);
}

/* Training uses the weights: changing targets of weight 0, or doubling all weights, changes no bit; other
 * changes do. */
static void truth_without_weight_teaches_nothing(void **state)
{
    static const char *const weighed[] = {
        WEIGHTED "targets: [{name: c, as: class, classes: 3, weights: balanced}, {name: y, as: "
                 "vector}, {name: q, as: scalar, points: true, loss: gaussian}]," TRAIN,
        WEIGHTED "targets: [{name: c, as: class, classes: 3, points: true}, {name: y, as: vector, "
                 "points: true}, {name: q, as: scalar, points: true, loss: quantiles}]," TRAIN,
    };
    enum { AS_IT_IS, OTHER_TRUTH, TWICE, OTHER_WEIGHTS, CASES };

    (void)state;
    for (int points = 0; points < 2; points++) {
        Predicted p[CASES];
        Room r[CASES];

        for (int k = 0; k < CASES; k++) {
            static const char *const names[] = {"c", "y", "q"};
            const ptrdiff_t n = points ? N * P : N;
            double *w;

            room_init(&r[k], weighed[points], N);
            w = give_weights(&r[k], points);
            for (int a = 0; k == OTHER_TRUTH && a < 3; a++) {
                const RelnArray *x = world_find(&r[k].world, names[a]);
                const ptrdiff_t each = array_count(x) / n;

                for (ptrdiff_t i = 0; i < n * each; i++)
                    if (w[i / each] == 0)
                        ((double *)x->values)[i] = 1;
            }
            for (ptrdiff_t i = 0; i < n; i++)
                w[i] = k == TWICE ? 2 * w[i] : k == OTHER_WEIGHTS ? 3 - w[i] : w[i];
            save(&r[k]);
            train(&r[k]);
            predict(&r[k], &p[k]);
            for (int i = 0; i < p[0].count; i++) {
                const bool same = memcmp(p[0].out[i].f64, p[k].out[i].f64,
                                         (size_t)array_count(&p[0].out[i]) * sizeof(double)) == 0;

                assert_int_equal(same, k != OTHER_WEIGHTS);
            }
        }
        for (int k = 0; k < CASES; k++) {
            forget(&p[k]);
            room_clear(&r[k]);
        }
    }
}

static void a_set_of_one_and_other_places_run(void **state)
{
    RelnMetrics narrow[4], wide[4];
    RelnScores scores;
    Room r;

    (void)state;
    room_init(&r, specs[1], N);
    for (int i = 0; i < N; i++)
        for (int p = 0; p < P; p++)
            values_of(&r, "m")[i * P + p] = i % 2 ? p == i % P : 1;
    save(&r);
    train(&r);
    judge(&r, &r, narrow, &scores);
    reln_scores_clear(&scores);
    for (int a = 0; a < r.world.n_arrays; a++) { /* twice as many places, the new ones in front */
        RelnArray *x = &r.world.arrays[a];
        const size_t each = (size_t)(array_count(x) / N);
        double *to = calloc(2 * N * each, sizeof *to);

        if (x->rank > 1 && x->dims[1] == P) {
            for (size_t i = 0; i < N; i++)
                memcpy(to + (2 * i + 1) * each, (double *)x->values + i * each, each * sizeof *to);
            free(x->values);
            x->values = to;
            x->dims[1] = 2 * P;
        } else {
            free(to);
        }
    }
    save(&r);
    judge(&r, &r, wide, &scores);
    reln_scores_clear(&scores);
    for (int t = 0; t < 4; t++) {
        assert_memory_equal(&narrow[t].loss, &wide[t].loss, sizeof narrow[t].loss);
        assert_int_equal(narrow[t].n_samples, wide[t].n_samples);
    }
    room_clear(&r);
}

/* ---- given edges --------------------------------------------------------------------------------------------------------- */

#define GRAPH(edges)                                                                               \
    "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}], edges: " edges        \
    ", targets: [{name: y, as: vector, points: true}, {name: z, as: scalar}],"                     \
    " model: {kind: graph, width: 8, depth: 2, sums: 2}," TRAIN
enum { E = WORLD_EDGES };

/* Makes edges (N, E, 2) between existing points, `used` of them: sample 0 has none, the others have i % E. */
static double *give_edges(Room *r, int *used)
{
    double *e = world_array(&r->world, "e", 3, (ptrdiff_t[]){N, E, 2});
    const double *mask = values_of(r, "m");
    RelnRng rng = reln_rng(3, 3);

    for (int i = 0; i < N; i++) {
        used[i] = i % E;
        for (int k = 0; k < 2 * used[i]; k++)
            do
                e[i * 2 * E + k] = (double)reln_rng_below(&rng, P);
            while (mask[i * P + (int)e[i * 2 * E + k]] == 0);
    }
    return e;
}

enum { BY_COUNT, BY_MASK, AS_I64, ONE_MOVED, REVERSED, PERMUTED, EDGE_CASES };

static void give_case(Room *r, int k)
{
    int used[N];
    double *e = give_edges(r, used), *given = NULL;
    RelnArray *array = world_find(&r->world, "e");

    if (k == BY_MASK) { /* an unused place in front, and invalid numbers where there is no edge */
        given = world_array(&r->world, "g", 2, (ptrdiff_t[]){N, E});
        for (int i = 0; i < N; i++) {
            memmove(e + i * 2 * E + 2, e + i * 2 * E, (2 * E - 2) * sizeof *e);
            for (int j = 0; j < E; j++) {
                given[i * E + j] = j > 0 && j <= used[i];
                if (given[i * E + j] == 0)
                    e[(i * E + j) * 2] = 1e9;
            }
        }
    } else {
        given = world_array(&r->world, "g", 1, (ptrdiff_t[]){N});
        for (int i = 0; i < N; i++)
            given[i] = used[i];
    }
    for (int i = 0; k == REVERSED && i < N * E; i++) {
        const double first = e[2 * i];

        e[2 * i] = e[2 * i + 1];
        e[2 * i + 1] = first;
    }
    if (k == ONE_MOVED)
        e[5 * 2 * E] = (int)e[5 * 2 * E] == 1 ? 2 : 1; /* sample 5 has the points 0 and 1 ... */
    if (k == AS_I64)
        for (int i = 0; i < 2 * N * E; i++)
            ((int64_t *)array->values)[i] = (int64_t)e[i];
    if (k == AS_I64)
        array->dtype = RELN_I64;
    save(r);
}

/* Moves place p of every sample to place (p + 1) % P, and changes the edges accordingly. */
static void permute(Room *r)
{
    static const char *const names[] = {"v", "m", "y"};
    double *e = values_of(r, "e");

    for (int a = 0; a < 3; a++) {
        const RelnArray *x = world_find(&r->world, names[a]);
        const size_t each = (size_t)(array_count(x) / (N * P)), row = P * each;
        double *v = x->values, first[16];

        assert_true(each <= 16);
        for (size_t i = 0; i < N; i++) {
            memcpy(first, v + i * row, each * sizeof *v);
            memmove(v + i * row, v + i * row + each, (row - each) * sizeof *v);
            memcpy(v + (i + 1) * row - each, first, each * sizeof *v);
        }
    }
    for (int i = 0; i < 2 * N * E; i++)
        e[i] = (double)(((int)e[i] + P - 1) % P);
    save(r);
}

static void edges_lead_from_point_to_point(void **state)
{
    Predicted p[EDGE_CASES];
    Room r[EDGE_CASES];

    (void)state;
    for (int k = 0; k < EDGE_CASES; k++) {
        room_init(&r[k], k == BY_MASK ? GRAPH("{name: e, mask: g}") : GRAPH("{name: e, count: g}"),
                  N);
        for (int i = 0; i < N; i++) /* sets of one point, too */
            for (int q = 0; q < P; q++)
                values_of(&r[k], "m")[i * P + q] = i % 4 == 3 ? q == 2 : q != i % P;
        for (int q = 0; q < P; q++)
            values_of(&r[k], "m")[5 * P + q] = 1;
        give_case(&r[k], k == PERMUTED ? BY_COUNT : k);
        train(&r[k]);
        if (k == PERMUTED) /* the same network on the same sets, whose points have another order */
            permute(&r[k]);
        predict(&r[k], &p[k]);
    }
    for (int k = 1; k < EDGE_CASES; k++) {
        const double *a = find(&p[0], "y")->f64, *b = find(&p[k], "y")->f64;
        const ptrdiff_t n = array_count(find(&p[0], "y"));

        if (k == PERMUTED)
            for (int i = 0; i < N * P; i++)
                assert_near(b + (i / P * P + (i + P - 1) % P) * 6, a + i * 6, 6, 1e-9);
        else
            assert_int_equal(memcmp(a, b, (size_t)n * sizeof *a) == 0, k == BY_MASK || k == AS_I64);
    }
    for (int k = 0; k < EDGE_CASES; k++) {
        forget(&p[k]);
        room_clear(&r[k]);
    }
}

/* A point may have more edges than a plan expects at first, and a sample more than 1,024: an edge that is there many
 * times counts as often. */
static void edges_may_be_many(void **state)
{
    enum { MANY = 1100 };
    Predicted p;
    Room r;
    double *e, *count;

    (void)state;
    room_init(&r, GRAPH("{name: e, count: g}"), N);
    for (int i = 0; i < N * P; i++)
        values_of(&r, "m")[i] = 1;
    e = world_array(&r.world, "e", 3, (ptrdiff_t[]){N, MANY, 2});
    count = world_array(&r.world, "g", 1, (ptrdiff_t[]){N});
    for (int i = 0; i < N; i++) {
        count[i] = i == 5 ? MANY : i % 3;
        for (int k = 0; k < MANY; k++)
            e[(i * MANY + k) * 2 + 1] = 1; /* all from 0 to 1 */
    }
    save(&r);
    train(&r);
    predict(&r, &p);
    assert_true(isfinite(((const double *)find(&p, "z")->values)[0]));
    forget(&p);
    room_clear(&r);
}

/* Layers of points, edges and samples all move by rounding: an error of exactly 0 would mean that no number was compared. */
static void every_layer_was_compared(const RelnCheck *check)
{
    assert_true(check->n_layers > 0);
    for (int i = 0; i < check->n_layers; i++)
        if (!(check->layers[i].at[check->n_conds - 1].worst > 0))
            fail_msg("layer %s: the worst error is %g", check->layers[i].name,
                     check->layers[i].at[check->n_conds - 1].worst);
}

/* Moves random samples, and those of the file. */
static void keeps_its_promise(const Room *r, RelnModel *model)
{
    RelnCheck check;

    for (int data = 0; data < 2; data++) {
        assert_ok(r->world.ctx,
                  reln_check(model,
                             &(RelnCheckOptions){.data_path = data ? r->data : NULL, .draws = 8},
                             &check));
        assert_true(check.promises && check.kept);
        every_layer_was_compared(&check);
    }
}

static void graphs_with_edges_keep_their_promise(void **state)
{
    Predicted p;
    Room r;

    (void)state;
    room_init(&r, GRAPH("{name: e, count: g}"), N);
    give_case(&r, BY_COUNT);
    train(&r);
    predict(&r, &p);
    keeps_its_promise(&r, p.model);
    forget(&p);
    room_clear(&r);
}

/* ---- targets of edges ---------------------------------------------------------------------------------------------------- */

#define EDGED_WITH(edges, targets, train)                                                          \
    "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}], edges: " edges        \
    ", targets: [" targets                                                                         \
    "], model: {kind: graph, width: 8, depth: 2, sums: 2}, train: {epochs: "                       \
    "2, lr: 1e-2, validation: 0.25, dtype: f64, " train "}}"
#define EDGE_TARGETS                                                                               \
    "{name: a, as: vector, edges: true}, {name: b, as: class, classes: 3, edges: true}, {name: "   \
    "q, "                                                                                          \
    "as: scalar, edges: true, loss: gaussian}"
#define OTHER_TARGETS ", {name: y, as: vector, points: true}, {name: z, as: scalar}"
#define EDGED EDGED_WITH("{name: e, count: g}", EDGE_TARGETS OTHER_TARGETS, "batch: 5")

/* Sets of one point among the samples, and samples without an edge. */
static void begin_edges(Room *r, const char *spec, int how)
{
    room_init(r, spec, N);
    for (int i = 0; i < N; i++)
        for (int q = 0; q < P; q++)
            values_of(r, "m")[i * P + q] = i % 4 == 3 ? q == 2 : q != i % P;
    give_case(r, how);
}

/* Swap edges k and used - 1 - k of every sample, with the targets of edges. */
static void turn_edges_round(Room *r)
{
    static const char *const names[] = {"e", "a", "b", "q"};

    for (int x = 0; x < 4; x++) {
        const RelnArray *array = world_find(&r->world, names[x]);
        const size_t each = (size_t)(array_count(array) / (N * E));
        double *v = array->values, kept[16];

        for (int i = 0; i < N; i++)
            for (int j = 0, k = i % E - 1; j < k; j++, k--) {
                double *one = v + (size_t)(i * E + j) * each, *two = v + (size_t)(i * E + k) * each;

                memcpy(kept, one, each * sizeof *v);
                memcpy(one, two, each * sizeof *v);
                memcpy(two, kept, each * sizeof *v);
            }
    }
    save(r);
}

static void predictions_of_edges_are_in_the_order_of_the_file(void **state)
{
    Predicted p, turned;
    RelnMetrics m[5], other[5];
    Room r;

    (void)state;
    begin_edges(&r, EDGED, BY_COUNT);
    train(&r);
    predict(&r, &p);
    assert_ok(r.world.ctx, reln_evaluate_targets(p.model, r.data, 1, m));
    assert_int_equal(find(&p, "a")->rank, 4); /* (N, E, channels, 3) */
    assert_int_equal(find(&p, "a")->dims[1], E);
    assert_int_equal(find(&p, "q_variance")->rank, 3);
    turn_edges_round(&r);
    predict(&r, &turned);
    assert_ok(r.world.ctx, reln_evaluate_targets(turned.model, r.data, 1, other));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < E; k++) {
            const int used = i % E, there = k < used, to = there ? used - 1 - k : k;
            const double *a = find(&p, "a")->f64 + (i * E + k) * 6;
            const double *b = find(&p, "b")->f64 + (i * E + k) * 3;

            assert_true((a[0] != 0) == there);
            assert_true(fabs(b[0] + b[1] + b[2] - there) < 1e-12);
            assert_near(find(&turned, "a")->f64 + (i * E + to) * 6, a, 6, 1e-9);
            assert_near(find(&turned, "b")->f64 + (i * E + to) * 3, b, 3, 1e-9);
        }
    for (int t = 0; t < 5; t++)
        assert_near(&m[t].loss, &other[t].loss, 1, 1e-9);
    forget(&p);
    forget(&turned);
    room_clear(&r);
}

static void errors_of_edges_are_those_by_hand(void **state)
{
    double square = 0, nll = 0, right = 0, edges = 0;
    RelnMetrics m[5];
    Predicted p;
    Room r;

    (void)state;
    begin_edges(&r, EDGED, BY_COUNT);
    train(&r);
    predict(&r, &p);
    for (int i = 0; i < N * E; i++) {
        const double *a = find(&p, "a")->f64 + i * 6, *t = values_of(&r, "a") + i * 6;
        const double *b = find(&p, "b")->f64 + i * 3;
        int best = 0;

        if (i % E >= i / E % E)
            continue;
        edges++;
        for (int k = 0; k < 6; k++)
            square += (a[k] - t[k]) * (a[k] - t[k]);
        for (int k = 1; k < 3; k++)
            best = b[k] > b[best] ? k : best;
        right += best == (int)values_of(&r, "b")[i];
        for (int k = 0; k < 2; k++) {
            const double v = find(&p, "q_variance")->f64[2 * i + k];
            const double e = find(&p, "q")->f64[2 * i + k] - values_of(&r, "q")[2 * i + k];

            nll += (e * e / v + log(v) + log(6.283185307179586)) / 2;
        }
    }
    assert_ok(r.world.ctx, reln_evaluate_targets(p.model, r.data, 1, m));
    assert_near(&m[0].mse, &(double){square / (6 * edges)}, 1, 1e-13);
    assert_near(&m[1].accuracy, &(double){right / edges}, 1, 4 * DBL_EPSILON);
    assert_near(&m[2].nll, &(double){nll / (2 * edges)}, 1, 1e-13);
    assert_int_equal(m[0].n_samples, (int)edges);
    assert_int_equal(m[4].n_samples, N);
    forget(&p);
    room_clear(&r);
}

/* Compares the predictions of edges in two rooms, whose places differ by a shift. */
static bool same_edges(const Predicted *p, const Predicted *q, int shift, double tolerance)
{
    double most = 0;

    for (int i = 0; i < N * E; i++)
        for (int k = 0; i % E < i / E % E && k < 6; k++)
            most = fmax(
                most, fabs(find(p, "a")->f64[i * 6 + k] - find(q, "a")->f64[(i + shift) * 6 + k]));
    return most <= tolerance;
}

/* Numbers where no edge is change no bit; a mask gives the same as counts; frames drawn anew, for which samples are read one by
 * one, change nothing but rounding; the truth of an edge teaches. */
static void truth_of_edges_is_read_where_edges_are(void **state)
{
    enum { AS_IT_IS, NONSENSE, MASKED, FRAMES, OTHER_TRUTH, CASES };
    Predicted p[CASES];
    Room r[CASES];

    (void)state;
    for (int k = 0; k < CASES; k++) {
        static const char *const names[] = {"a", "b", "q"};

        begin_edges(&r[k],
                    k == MASKED   ? EDGED_WITH("{name: e, mask: g}", EDGE_TARGETS, "batch: 5")
                    : k == FRAMES ? EDGED_WITH("{name: e, count: g}", EDGE_TARGETS,
                                               "batch: 5, augment: {cond: 1}")
                                  : EDGED_WITH("{name: e, count: g}", EDGE_TARGETS, "batch: 5"),
                    k == MASKED ? BY_MASK : BY_COUNT);
        for (int x = 0; x < 3; x++) {
            const RelnArray *array = world_find(&r[k].world, names[x]);
            const size_t each = (size_t)(array_count(array) / (N * E));
            double *v = array->values;

            if (k == MASKED) /* edges begin one place later */
                for (size_t i = N; i-- > 0;)
                    memmove(v + (i * E + 1) * each, v + i * E * each, (E - 1) * each * sizeof *v);
            for (int i = 0; k == NONSENSE && i < N * E; i++)
                if (i % E >= i / E % E)
                    v[(size_t)i * each] = (double)NAN;
        }
        if (k == OTHER_TRUTH)
            values_of(&r[k], "a")[E * 6] += 1;
        save(&r[k]);
        train(&r[k]);
        predict(&r[k], &p[k]);
    }
    assert_true(same_edges(&p[0], &p[NONSENSE], 0, 0));
    assert_true(same_edges(&p[0], &p[MASKED], 1, 0));
    assert_true(same_edges(&p[0], &p[FRAMES], 0, 1e-9));
    assert_false(same_edges(&p[0], &p[FRAMES], 0, 0));
    assert_false(same_edges(&p[0], &p[OTHER_TRUTH], 0, 1e-9));
    for (int k = 0; k < CASES; k++) {
        forget(&p[k]);
        room_clear(&r[k]);
    }
}

/* Batches of one sample, some of them without an edge, have finite losses: training does not diverge. */
static void batches_without_edges_run(void **state)
{
    Predicted p;
    Room r;

    (void)state;
    begin_edges(&r, EDGED_WITH("{name: e, count: g}", EDGE_TARGETS, "batch: 1"), BY_COUNT);
    for (int i = 0; i < N; i += 2)
        values_of(&r, "g")[i] = 0;
    save(&r);
    train(&r);
    predict(&r, &p);
    for (int i = 0; i < N * E * 6; i++)
        assert_true(isfinite(find(&p, "a")->f64[i]));
    forget(&p);
    room_clear(&r);
}

/* Weights of edges: the truth of an edge without weight changes no bit. */
static void edges_have_weights(void **state)
{
    static const char spec[] =
        "{weights: w, symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}], "
        "edges: "
        "{name: e, count: g}, targets: [" EDGE_TARGETS "], model: {kind: graph, width: 8, depth: "
        "1, sums: 2}, train: {epochs: 2, lr: 1e-2, validation: 0.25, batch: 1, dtype: f64}}";
    Predicted p[3];
    Room r[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        double *w;

        begin_edges(&r[k], spec, BY_COUNT);
        w = world_array(&r[k].world, "w", 2, (ptrdiff_t[]){N, E});
        for (int i = 0; i < N * E; i++)
            w[i] = i % 3;
        for (int i = 0; i < N * E; i++)
            if (k > 0 && (w[i] == 0) == (k == 1))
                values_of(&r[k], "a")[6 * i] = 7;
        save(&r[k]);
        train(&r[k]);
        predict(&r[k], &p[k]);
        for (int i = 0; i < N * E * 6; i++)
            assert_true(isfinite(find(&p[k], "a")->f64[i]));
    }
    assert_true(same_edges(&p[0], &p[1], 0, 0));
    assert_false(same_edges(&p[0], &p[2], 0, 1e-9));
    for (int k = 0; k < 3; k++) {
        forget(&p[k]);
        room_clear(&r[k]);
    }
}

static void targets_of_edges_keep_the_promise(void **state)
{
    static const char *const specs_of[] = {
        EDGED,
        "{symmetry: lorentz, inputs: [{name: v, as: fourvector, points: true, mask: m}], "
        "edges: {name: e, count: g}, targets: [{name: a, as: vector, edges: true}, {name: b, "
        "as: scalar, edges: true}], model: {kind: graph, width: 8, depth: 1, sums: 2}," TRAIN,
        "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: s, as: "
        "covariance, points: true}], edges: {name: e, count: g}, targets: [{name: a, as: matrix, "
        "edges: true}, {name: b, as: covariance, edges: true}], model: {kind: graph, width: 8, "
        "depth: 1, sums: 2}," TRAIN};

    (void)state;
    for (int s = 0; s < 3; s++) {
        Predicted p;
        Room r;

        begin_edges(&r, specs_of[s], BY_COUNT);
        train(&r);
        predict(&r, &p);
        keeps_its_promise(&r, p.model);
        forget(&p);
        room_clear(&r);
    }
}

/* ---- offsets ------------------------------------------------------------------------------------------------------------- */

#define SETS(rows)                                                                                 \
    "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, " rows                           \
    "}, {name: s, as: scalar}], weights: w, targets: [{name: y, as: vector, points: true}, "       \
    "{name: c, as: class, classes: 3, points: true}], model: {kind: set, width: 8, depth: 1, "     \
    "sums: 2}," TRAIN

/* Copies the existing points of arrays (N, P, ...), one after another. */
static void concatenate(Room *r, const char *name, int places, const double *sizes)
{
    RelnArray *x = world_find(&r->world, name);
    const size_t each = (size_t)(array_count(x) / (N * places));
    double *v = x->values;
    size_t at = 0;

    for (int i = 0; i < N; i++)
        for (int q = 0; q < (int)sizes[i]; q++, at++)
            memmove(v + at * each, v + (size_t)(i * places + q) * each, each * sizeof *v);
    x->dims[0] = (ptrdiff_t)at;
    for (int d = 1; d < x->rank - 1; d++)
        x->dims[d] = x->dims[d + 1];
    x->rank--;
}

static void give_offsets(Room *r, bool offsets)
{
    double *k = world_array(&r->world, "k", 1, (ptrdiff_t[]){offsets ? N + 1 : N});
    double sizes[N], at = 0;

    (void)give_weights(r, true);
    for (int i = 0; i < N; i++) {
        sizes[i] = 1 + i % P;
        k[i] = offsets ? at : sizes[i];
        at += sizes[i];
    }
    if (offsets) {
        k[N] = at;
        concatenate(r, "v", P, sizes);
        concatenate(r, "y", P, sizes);
        concatenate(r, "c", P, sizes);
        concatenate(r, "w", P, sizes);
    }
    save(r);
}

static void offsets_are_counts_without_padding(void **state)
{
    Predicted p[2];
    RelnMetrics m[2][2];
    Room r[2];
    ptrdiff_t at = 0;

    (void)state;
    for (int offsets = 0; offsets < 2; offsets++) {
        room_init(&r[offsets], offsets ? SETS("offsets: k") : SETS("count: k"), N);
        give_offsets(&r[offsets], offsets);
        train(&r[offsets]);
        predict(&r[offsets], &p[offsets]);
        assert_ok(r[offsets].world.ctx,
                  reln_evaluate_targets(p[offsets].model, r[offsets].data, 1, m[offsets]));
        keeps_its_promise(&r[offsets], p[offsets].model);
    }
    assert_int_equal(find(&p[1], "y")->rank, 3); /* (T, channels, 3) */
    for (int i = 0; i < N; i++)
        for (int q = 0; q < 1 + i % P; q++, at++) {
            assert_memory_equal(find(&p[0], "y")->f64 + (i * P + q) * 6,
                                find(&p[1], "y")->f64 + at * 6, 6 * sizeof(double));
            assert_memory_equal(find(&p[0], "c")->f64 + (i * P + q) * 3,
                                find(&p[1], "c")->f64 + at * 3, 3 * sizeof(double));
        }
    assert_int_equal(find(&p[1], "y")->dims[0], at);
    for (int t = 0; t < 2; t++)
        assert_memory_equal(&m[0][t].loss, &m[1][t].loss, sizeof(double));
    for (int offsets = 0; offsets < 2; offsets++) {
        forget(&p[offsets]);
        room_clear(&r[offsets]);
    }
}

/* Edges, their targets and their predictions one behind the other; samples without an edge among them. */
static void offsets_of_edges_are_counts_without_padding(void **state)
{
    static const char *const names[] = {"e", "a", "b", "q"};
    Predicted p[2];
    Room r[2];
    ptrdiff_t at = 0;

    (void)state;
    for (int offsets = 0; offsets < 2; offsets++) {
        begin_edges(&r[offsets],
                    offsets ? EDGED_WITH("{name: e, offsets: k}", EDGE_TARGETS, "batch: 5")
                            : EDGED_WITH("{name: e, count: g}", EDGE_TARGETS, "batch: 5"),
                    BY_COUNT);
        if (offsets) {
            double *k = world_array(&r[1].world, "k", 1, (ptrdiff_t[]){N + 1});

            for (int i = 0; i < N; i++)
                k[i + 1] = k[i] + values_of(&r[1], "g")[i];
            for (int a = 0; a < 4; a++)
                concatenate(&r[1], names[a], E, values_of(&r[1], "g"));
        }
        save(&r[offsets]);
        train(&r[offsets]);
        predict(&r[offsets], &p[offsets]);
        keeps_its_promise(&r[offsets], p[offsets].model);
    }
    assert_int_equal(find(&p[1], "a")->rank, 3); /* (T, channels, 3) */
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i % E; k++, at++)
            assert_memory_equal(find(&p[0], "a")->f64 + (i * E + k) * 6,
                                find(&p[1], "a")->f64 + at * 6, 6 * sizeof(double));
    assert_int_equal(find(&p[1], "a")->dims[0], at);
    for (int offsets = 0; offsets < 2; offsets++) {
        forget(&p[offsets]);
        room_clear(&r[offsets]);
    }
}

/* ---- bad input ----------------------------------------------------------------------------------------------------------- */

static void refuse(const char *yaml, const char *array, ptrdiff_t at, double value,
                   const char *line)
{
    RelnFit *fit = NULL;
    Room r;

    room_init(&r, yaml, N);
    (void)give_weights(&r, true);
    if (array)
        values_of(&r, array)[at] = value;
    save(&r);
    assert_int_not_equal(
        reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit),
        RELN_OK);
    assert_string_equal(reln_ctx_error(r.world.ctx), line);
    room_clear(&r);
}

static void bad_weights_and_targets_get_one_line(void **state)
{
    static const char points[] =
        WEIGHTED "target: {name: c, as: class, classes: 3, points: true}," TRAIN;
    static const char samples[] = WEIGHTED "target: {name: y, as: vector}," TRAIN;

    (void)state;
    refuse(points, "w", 3, -1, "w: row 0 is -1; a weight, a finite number from 0 on, was wanted");
    refuse(points, "w", 4 * P + 2, HUGE_VAL,
           "w: row 4 is inf; a weight, a finite number from 0 on, was wanted");
    refuse(points, "c", 0, 7, "c: row 0 is 7; a class, a whole number from 0 to 2, was wanted");
    refuse(points, "c", P + 1, (double)NAN,
           "c: row 1 has a number that is not a number; finite ones were wanted");
    refuse(samples, NULL, 0, 0, "w: shape (12, 4); wanted (12,), the weights");
}

/* One number of an array is wrong. */
static void refuse_sets(bool offsets, const char *array, ptrdiff_t at, double value,
                        const char *line)
{
    RelnFit *fit = NULL;
    Room r;

    room_init(&r, offsets ? SETS("offsets: k") : GRAPH("{name: e, count: g}"), N);
    if (offsets)
        give_offsets(&r, true);
    else
        give_case(&r, BY_COUNT);
    values_of(&r, array)[at] = value;
    save(&r);
    assert_int_not_equal(
        reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit),
        RELN_OK);
    assert_string_equal(reln_ctx_error(r.world.ctx), line);
    room_clear(&r);
}

/* Refuses a room of targets of edges, after one number of an array was changed. */
static void refuse_edges(const char *spec, const char *array, ptrdiff_t at, double value,
                         const char *line)
{
    RelnFit *fit = NULL;
    Room r;

    begin_edges(&r, spec, BY_COUNT);
    if (strcmp(array, "g") == 0)
        for (int i = 0; i < N; i++)
            values_of(&r, "g")[i] = value;
    else
        values_of(&r, array)[at] = value;
    save(&r);
    assert_int_not_equal(
        reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit),
        RELN_OK);
    assert_string_equal(reln_ctx_error(r.world.ctx), line);
    room_clear(&r);
}

static void bad_targets_of_edges_get_one_line(void **state)
{
    Room r;
    RelnFit *fit = NULL;

    (void)state;
    refuse_edges(EDGED, "b", E, 3,
                 "b: row 1 is 3; a class, a whole number from 0 to 2, was wanted");
    refuse_edges(EDGED, "a", 6 * E, HUGE_VAL,
                 "a: row 1 has a number that is infinite; finite ones were wanted");
    refuse_edges(EDGED, "g", 0, 0, "target a: no sample of training has an edge; wanted one");
    begin_edges(&r, EDGED, BY_COUNT);
    train(&r);
    memset(values_of(&r, "g"), 0, N * sizeof(double));
    save(&r);
    {
        RelnModel *model = room_load(&r, RELN_DEFAULT);
        RelnMetrics m[5];

        assert_int_not_equal(reln_evaluate_targets(model, r.data, 1, m), RELN_OK);
        assert_string_equal(reln_ctx_error(r.world.ctx),
                            "target a: none of 12 samples has an edge to judge it by; wanted one");
        reln_model_destroy(model);
    }
    room_clear(&r);
    begin_edges(&r, EDGED, BY_COUNT);
    world_find(&r.world, "b")->dims[1] = E - 1;
    save(&r);
    assert_int_not_equal(
        reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit),
        RELN_OK);
    assert_string_equal(reln_ctx_error(r.world.ctx),
                        "b: 5 edges; wanted 6, as the given edges have");
    room_clear(&r);
}

static void bad_edges_and_offsets_get_one_line(void **state)
{
    (void)state;
    refuse_sets(false, "e", 2 * E, 4,
                "e: row 1 has the edge (4, 1); wanted whole numbers from 0 to 3, places of points");
    refuse_sets(
        false, "e", 2 * E + 1, -1,
        "e: row 1 has the edge (1, -1); wanted whole numbers from 0 to 3, places of points");
    refuse_sets(false, "e", 2 * E, 0,
                "e: row 1 has the edge (0, 1), and place 0 is no point of it");
    refuse_sets(false, "g", 3, 7,
                "g: row 3 has 7 edges; wanted a whole number from 0 to 6, the places that there "
                "are");
    refuse_sets(true, "k", 3, 2,
                "k: row 3 is 2, behind 3 of the row before it; offsets that do not go back were "
                "wanted");
    refuse_sets(true, "k", 0, 1, "k: it begins with 1; wanted 0");
    refuse_sets(true, "k", N, 99, "k: it ends at 99, and v has 30 rows; wanted the same");
    refuse_sets(true, "k", 2, 1.5,
                "k: row 2 is 1.5; an offset, a whole number from 0 on, was wanted");
    refuse_sets(true, "k", 1, 0,
                "k: row 0 has 0 points; wanted a whole number from 1 to 4, the places that there "
                "are");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_padded_back),
        cmocka_unit_test(what_is_no_point_changes_no_bit),
        cmocka_unit_test(errors_of_points_are_those_by_hand),
        cmocka_unit_test(a_set_of_one_and_other_places_run),
        cmocka_unit_test(a_weight_of_two_is_a_sample_twice),
        cmocka_unit_test(the_record_has_the_metrics_of_each_target),
        cmocka_unit_test(truth_without_weight_teaches_nothing),
        cmocka_unit_test(edges_lead_from_point_to_point),
        cmocka_unit_test(edges_may_be_many),
        cmocka_unit_test(graphs_with_edges_keep_their_promise),
        cmocka_unit_test(predictions_of_edges_are_in_the_order_of_the_file),
        cmocka_unit_test(errors_of_edges_are_those_by_hand),
        cmocka_unit_test(truth_of_edges_is_read_where_edges_are),
        cmocka_unit_test(batches_without_edges_run),
        cmocka_unit_test(edges_have_weights),
        cmocka_unit_test(targets_of_edges_keep_the_promise),
        cmocka_unit_test(offsets_are_counts_without_padding),
        cmocka_unit_test(offsets_of_edges_are_counts_without_padding),
        cmocka_unit_test(bad_weights_and_targets_get_one_line),
        cmocka_unit_test(bad_edges_and_offsets_get_one_line),
        cmocka_unit_test(bad_targets_of_edges_get_one_line),
    };

    return cmocka_run_group_tests_name("fit/points", tests, NULL, NULL);
}
