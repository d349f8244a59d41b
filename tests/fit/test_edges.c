/* These tests fit inputs of given edges: an edge brings its numbers and vectors to the messages along it, to the point that it leads
 * to, and to targets of edges. Places without an edge change no bit, the order of edges changes rounding only, and frames act
 * on the vectors of edges as on all others. */
#include "fit/fit.h"
#include "fit/room.h"

#define TRAIN " train: {epochs: 2, batch: 5, lr: 1e-2, validation: 0.25, dtype: f64}}"
#define TARGETS(kind)                                                                              \
    " targets: [{name: y, as: vector, points: true}, {name: a, as: vector, edges: true}, "         \
    "{name: z, as: scalar}], model: {kind: " kind ", width: 8, depth: 2, sums: 2},"
#define BONDS_OF(kind, symmetry, points, edges)                                                    \
    "{symmetry: " symmetry ", inputs: [" points ", {name: u, as: vector, edges: true}, "           \
    "{name: s, as: scalar, edges: true}], edges: " edges "," TARGETS(kind) TRAIN
#define BONDS(symmetry, points, edges) BONDS_OF("graph", symmetry, points, edges)
#define VECTORS_OF_POINTS "{name: v, as: vector, points: true, mask: m}"
#define NUMBERS_OF_POINTS "{name: v, as: scalar, points: true, mask: m}"
#define COUNTED "{name: e, count: g}"

enum { N = 12, P = WORLD_POINTS, E = WORLD_EDGES };

static double *values_of(Room *r, const char *name)
{
    return world_find(&r->world, name)->values;
}

static void save(Room *r)
{
    assert_ok(r->world.ctx,
              reln_npz_save(r->world.ctx, r->data, r->world.n_arrays, r->world.arrays));
}

static int used(int sample)
{
    return sample % E; /* samples 0 and 6 have no edge */
}

/* Makes a room whose points all exist. Edges of a sample lead to point 1 and to others, so that their order by the point differs
 * from the order of the file. */
static void begin(Room *r, const char *spec)
{
    double *e, *g;

    room_init(r, spec, N);
    for (int i = 0; world_find(&r->world, "m") && i < N * P; i++)
        values_of(r, "m")[i] = 1;
    e = world_array(&r->world, "e", 3, (ptrdiff_t[]){N, E, 2});
    g = world_array(&r->world, "g", 1, (ptrdiff_t[]){N});
    for (int i = 0; i < N; i++) {
        g[i] = used(i);
        for (int k = 0; k < E; k++) {
            e[(i * E + k) * 2] = (i + k) % P;
            e[(i * E + k) * 2 + 1] = k % 3 == 1 ? 1 : (5 * k + i + 1) % P;
        }
    }
    save(r);
}

static void train(Room *r)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;

    assert_ok(r->world.ctx,
              reln_fit_open(r->world.ctx, r->spec, r->data,
                            &(RelnFitOptions){.folder = r->run, .no_check = true}, &fit));
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    reln_fit_close(fit);
}

/* A Predicted holds predictions, and the model, which owns their names. */
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

static const double *find(const Predicted *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->out[i].name, name) == 0)
            return p->out[i].f64;
    fail_msg("there is no array %s", name);
    return NULL;
}

static void forget(Predicted *p)
{
    for (int i = 0; i < p->count; i++)
        reln_array_clear(&p->out[i]);
    reln_model_destroy(p->model);
}

static bool same_bits(const Predicted *p, const Predicted *q)
{
    for (int i = 0; i < p->count; i++)
        if (memcmp(p->out[i].f64, q->out[i].f64,
                   (size_t)array_count(&p->out[i]) * sizeof(double)) != 0)
            return false;
    return p->count == q->count;
}

/* ---- which numbers count ------------------------------------------------------------------------------------------------- */

enum { AS_IT_IS, NO_EDGE, NUMBER, VECTOR, CASES };

static void check_which_count(const char *spec)
{
    Predicted p[CASES];
    Room r[CASES];

    for (int k = 0; k < CASES; k++) {
        begin(&r[k], spec);
        train(&r[k]);
        for (int i = 0; k == NO_EDGE && i < N; i++)
            for (int at = used(i); at < E; at++) {
                values_of(&r[k], "u")[(i * E + at) * 6] = (double)NAN;
                values_of(&r[k], "s")[(i * E + at) * 2] = 1e300;
            }
        if (k == NUMBER)
            values_of(&r[k], "s")[(5 * E + 2) * 2 + 1] += 0.5;
        if (k == VECTOR)
            values_of(&r[k], "u")[(5 * E + 2) * 6 + 4] += 0.5;
        save(&r[k]);
        predict(&r[k], &p[k]);
    }
    assert_true(same_bits(&p[AS_IT_IS], &p[NO_EDGE]));
    for (int k = NUMBER; k <= VECTOR; k++)
        for (int i = 0; i < N; i++) { /* only sample 5 changes: its point, its edge and itself */
            const size_t y = 6 * P * sizeof(double), a = 6 * E * sizeof(double);

            assert_int_equal(
                memcmp(find(&p[0], "y") + i * 6 * P, find(&p[k], "y") + i * 6 * P, y) != 0, i == 5);
            assert_int_equal(
                memcmp(find(&p[0], "a") + i * 6 * E, find(&p[k], "a") + i * 6 * E, a) != 0, i == 5);
            assert_int_equal(find(&p[0], "z")[2 * i] != find(&p[k], "z")[2 * i], i == 5);
        }
    for (int k = 0; k < CASES; k++) {
        forget(&p[k]);
        room_clear(&r[k]);
    }
}

static void numbers_of_edges_count_where_edges_are(void **state)
{
    (void)state;
    check_which_count(BONDS("o:3", VECTORS_OF_POINTS, COUNTED));
    check_which_count(BONDS_OF("messages", "o:3", VECTORS_OF_POINTS, COUNTED));
}

/* Swaps edges k and used - 1 - k of every sample, with their inputs; the edges that a point has then come in another order. */
static void turn_round(Room *r)
{
    static const char *const names[] = {"e", "u", "s"};

    for (int x = 0; x < 3; x++) {
        const RelnArray *array = world_find(&r->world, names[x]);
        const size_t each = (size_t)(array_count(array) / (N * E));
        double *v = array->values, kept[16];

        for (int i = 0; i < N; i++)
            for (int j = 0, k = used(i) - 1; j < k; j++, k--) {
                double *one = v + (size_t)(i * E + j) * each, *two = v + (size_t)(i * E + k) * each;

                memcpy(kept, one, each * sizeof *v);
                memcpy(one, two, each * sizeof *v);
                memcpy(two, kept, each * sizeof *v);
            }
    }
    save(r);
}

static void inputs_follow_their_edges(void **state)
{
    Predicted p, turned;
    Room r;

    (void)state;
    begin(&r, BONDS("o:3", VECTORS_OF_POINTS, COUNTED));
    train(&r);
    predict(&r, &p);
    turn_round(&r);
    predict(&r, &turned);
    assert_near(find(&turned, "y"), find(&p, "y"), N * P * 6, 1e-9);
    assert_near(find(&turned, "z"), find(&p, "z"), N * 2, 1e-9);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < used(i); k++)
            assert_near(find(&turned, "a") + (i * E + used(i) - 1 - k) * 6,
                        find(&p, "a") + (i * E + k) * 6, 6, 1e-9);
    forget(&p);
    forget(&turned);
    room_clear(&r);
}

/* Removes the places without an edge of an array, and its first axis. */
static void concatenate(Room *r, const char *name)
{
    RelnArray *x = world_find(&r->world, name);
    const size_t each = (size_t)(array_count(x) / (N * E));
    double *v = x->values;
    size_t at = 0;

    for (int i = 0; i < N; i++)
        for (int k = 0; k < used(i); k++, at++)
            memmove(v + at * each, v + (size_t)(i * E + k) * each, each * sizeof *v);
    x->dims[0] = (ptrdiff_t)at;
    for (int d = 1; d < x->rank - 1; d++)
        x->dims[d] = x->dims[d + 1];
    x->rank--;
}

static void offsets_divide_inputs_of_edges(void **state)
{
    Predicted p[2];
    Room r[2];

    (void)state;
    for (int offsets = 0; offsets < 2; offsets++) {
        begin(&r[offsets], offsets ? BONDS("o:3", VECTORS_OF_POINTS, "{name: e, offsets: g}")
                                   : BONDS("o:3", VECTORS_OF_POINTS, COUNTED));
        if (offsets) {
            static const char *const names[] = {"e", "u", "s", "a"};
            RelnArray *g = world_find(&r[1].world, "g");
            double *k = calloc(N + 1, sizeof *k);

            for (int i = 0; i < N; i++)
                k[i + 1] = k[i] + used(i);
            free(g->values);
            g->values = k;
            g->dims[0] = N + 1;
            for (int a = 0; a < 4; a++)
                concatenate(&r[1], names[a]);
            save(&r[1]);
        }
        train(&r[offsets]);
        predict(&r[offsets], &p[offsets]);
    }
    assert_memory_equal(find(&p[0], "y"), find(&p[1], "y"), N * P * 6 * sizeof(double));
    assert_memory_equal(find(&p[0], "z"), find(&p[1], "z"), N * 2 * sizeof(double));
    for (int offsets = 0; offsets < 2; offsets++) {
        forget(&p[offsets]);
        room_clear(&r[offsets]);
    }
}

/* ---- frames -------------------------------------------------------------------------------------------------------------- */

/* Turns vectors by a quarter about the last axis. */
static void turn(Room *r, const char *name)
{
    const RelnArray *x = world_find(&r->world, name);
    double *v = x->values;

    for (ptrdiff_t i = 0; i < array_count(x); i += 3) {
        const double first = v[i];

        v[i] = -v[i + 1];
        v[i + 1] = first;
    }
}

static void turn_back(ptrdiff_t count, const double *y, double *out)
{
    for (ptrdiff_t i = 0; i < count; i += 3) {
        out[i] = y[i + 1];
        out[i + 1] = -y[i];
        out[i + 2] = y[i + 2];
    }
}

/* Vectors of points come from vectors of edges; if only one of both is turned, predictions are others. */
static void check_frames(const char *spec)
{
    enum { BOTH = 1, ONLY_POINTS, COUNT = N * P * 6 };
    Predicted p[3];
    double back[COUNT], far = 0;
    Room r;

    begin(&r, spec);
    train(&r);
    predict(&r, &p[0]);
    turn(&r, "v");
    save(&r);
    predict(&r, &p[ONLY_POINTS]);
    turn(&r, "u");
    save(&r);
    predict(&r, &p[BOTH]);
    turn_back(COUNT, find(&p[BOTH], "y"), back);
    assert_near(back, find(&p[0], "y"), COUNT, 1e-9);
    assert_near(find(&p[BOTH], "z"), find(&p[0], "z"), N * 2, 1e-9);
    turn_back(COUNT, find(&p[ONLY_POINTS], "y"), back);
    for (int i = 0; i < COUNT; i++)
        far = fmax(far, fabs(back[i] - find(&p[0], "y")[i]));
    assert_true(far > 1e-3);
    for (int k = 0; k < 3; k++)
        forget(&p[k]);
    room_clear(&r);
}

static void frames_act_on_vectors_of_edges(void **state)
{
    (void)state;
    check_frames(BONDS("so:3", VECTORS_OF_POINTS, COUNTED));
    check_frames(BONDS_OF("messages", "so:3", VECTORS_OF_POINTS, COUNTED));
}

/* Checks rows that are not the first ones. They have different numbers of edges, each row is moved by another element, and
 * each element must meet the edges of its row. */
static void check_some(const Room *r, RelnModel *model)
{
    static const ptrdiff_t rows[] = {5, 3, 8, 1, 4, 11};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    RelnArchive *archive = NULL;
    RelnCheck check;

    assert_ok(r->world.ctx, reln_archive_open(r->world.ctx, r->data, &archive));
    assert_ok(r->world.ctx, reln_check_rows(model, &(RelnCheckOptions){.draws = ROWS}, archive,
                                            ROWS, rows, &check));
    assert_int_equal(check.draws, ROWS);
    assert_true(check.promises && check.kept);
    reln_archive_destroy(archive);
}

static void graphs_with_inputs_of_edges_keep_their_promise(void **state)
{
    static const char *const specs[] = {
        BONDS("o:3", VECTORS_OF_POINTS, COUNTED),
        BONDS("so:3", NUMBERS_OF_POINTS, COUNTED), /* edges have the only vectors */
        BONDS_OF("messages", "o:3", VECTORS_OF_POINTS, COUNTED),
        "{symmetry: lorentz, inputs: [{name: v, as: fourvector, points: true}, {name: u, as: "
        "fourvector, edges: true}], edges: " COUNTED ", target: {name: z, as: scalar}, model: "
        "{kind: graph, width: 8, depth: 1, sums: 2}," TRAIN,
        "{symmetry: gl:2, inputs: [{name: v, as: matrix, points: true}, {name: u, as: matrix, "
        "edges: true}, {name: s, as: scalar, edges: true}], edges: " COUNTED ", targets: [{name: "
        "a, as: matrix, edges: true}, {name: y, as: matrix, points: true}], model: {kind: graph, "
        "width: 8, depth: 1, sums: 2}," TRAIN,
        "{symmetry: gl:2, inputs: [{name: v, as: covariance, points: true, log: true, reference: "
        "mean}, {name: u, as: covariance, edges: true, log: true, reference: mean}], "
        "edges: " COUNTED
        ", target: {name: z, as: scalar}, model: {kind: graph, width: 8, depth: 1, sums: 2}," TRAIN,
        "{symmetry: so:3, inputs: [{name: v, as: vector, points: true}, {name: u, as: "
        "covariance, edges: true}], edges: " COUNTED ", target: {name: z, as: covariance}, model: "
        "{kind: graph, width: 8, depth: 1, sums: 2}," TRAIN};

    (void)state;
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        RelnCertificate certificate;
        RelnModel *model;
        RelnCheck check;
        Room r;

        begin(&r, specs[s]);
        train(&r);
        model = room_load(&r, RELN_DEFAULT);
        for (int data = 0; data < 2; data++) {
            assert_ok(r.world.ctx,
                      reln_check(model,
                                 &(RelnCheckOptions){.data_path = data ? r.data : NULL, .draws = 8},
                                 &check));
            assert_true(check.promises && check.kept);
        }
        check_some(&r, model);
        assert_ok(r.world.ctx, reln_certify(model, &certificate));
        assert_int_equal(certificate.verdict, RELN_PROVED);
        reln_certificate_clear(&certificate);
        reln_model_destroy(model);
        room_clear(&r);
    }
}

/* In training, random frames act on points and edges together. */
static void augmentation_moves_edges_with_points(void **state)
{
    static const char *const specs[] = {
        BONDS("so:3", VECTORS_OF_POINTS, COUNTED),
        "{symmetry: so:3, inputs: [" VECTORS_OF_POINTS ", {name: u, as: vector, edges: true}, "
        "{name: s, as: scalar, edges: true}], edges: " COUNTED
        "," TARGETS("graph") " train: {epochs: 2, batch: 5, lr: 1e-2, validation: 0.25, dtype: "
                             "f64, augment: {cond: "
                             "1}}}"};
    Predicted p[2];
    Room r[2];

    (void)state;
    for (int k = 0; k < 2; k++) { /* an equivariant network learns the same, up to rounding */
        begin(&r[k], specs[k]);
        train(&r[k]);
        predict(&r[k], &p[k]);
    }
    assert_near(find(&p[0], "y"), find(&p[1], "y"), N * P * 6, 1e-7);
    for (int k = 0; k < 2; k++) {
        forget(&p[k]);
        room_clear(&r[k]);
    }
}

/* ---- bad input ----------------------------------------------------------------------------------------------------------- */

/* Covariances of edges alone are compared with their mean, and sample 0 has no edge. */
static void a_sample_without_a_covariance_has_no_mean(void **state)
{
    RelnFit *fit = NULL;
    Room r;

    (void)state;
    begin(&r, "{symmetry: gl:2, inputs: [{name: v, as: matrix, points: true}, {name: u, as: "
              "covariance, edges: true, log: true, reference: mean}], edges: " COUNTED
              ", target: {name: z, as: scalar}, model: {kind: graph, width: 8, depth: 1}," TRAIN);
    assert_int_equal(
        reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit),
        RELN_ERR_FORMAT);
    assert_string_equal(reln_ctx_error(r.world.ctx),
                        "row 0 has no covariance to compare with (reference: mean); wanted one");
    room_clear(&r);
}

static void refuse(const char *array, int places, ptrdiff_t at, double value, const char *line)
{
    RelnFit *fit = NULL;
    Room r;

    begin(&r, BONDS("o:3", VECTORS_OF_POINTS, COUNTED));
    world_find(&r.world, array)->dims[1] = places;
    values_of(&r, array)[at] = value;
    save(&r);
    assert_int_not_equal(
        reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit),
        RELN_OK);
    assert_string_equal(reln_ctx_error(r.world.ctx), line);
    room_clear(&r);
}

static void bad_inputs_of_edges_get_one_line(void **state)
{
    (void)state;
    refuse("s", E - 1, 0, 0, "s: 5 edges; wanted 6, as the given edges have");
    refuse("u", E, 6 * E, HUGE_VAL,
           "u: row 1 has a number that is infinite; finite ones were wanted");
    refuse("s", E, (E * 5 + 4) * 2, (double)NAN,
           "s: row 5 has a number that is not a number; finite ones were wanted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_edges_count_where_edges_are),
        cmocka_unit_test(inputs_follow_their_edges),
        cmocka_unit_test(offsets_divide_inputs_of_edges),
        cmocka_unit_test(frames_act_on_vectors_of_edges),
        cmocka_unit_test(graphs_with_inputs_of_edges_keep_their_promise),
        cmocka_unit_test(augmentation_moves_edges_with_points),
        cmocka_unit_test(a_sample_without_a_covariance_has_no_mean),
        cmocka_unit_test(bad_inputs_of_edges_get_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
