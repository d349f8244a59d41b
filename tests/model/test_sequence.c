/* Tests recordings: steps are checked with their rows, windows are cut as the SPEC says, divided by time and
 * moved in every epoch; estimates are integrals, and causal networks do not use later steps. */
#include <float.h>

#include "model/sequence.h"
#include "model/world.h"

enum { T = 60, LENGTH = 8, SECOND = 37 }; /* two recordings: rows 0 to 36 and 37 to 59 */

typedef struct Flight {
    RelnCtx *ctx;
    RelnSpec spec;
    double t[T], r[T], v[T * 3], c[T * 9], p[T * 3];
    RelnArray arrays[5];
    RelnArchive *archive;
    RelnModel *model;
    RelnData *data;
} Flight;

#define INPUTS                                                                                     \
    "{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true},"                             \
    " {name: C, as: covariance, log: true, sequence: true}], target: {name: p, as: vector},"
#define SMALL " width: 3, depth: 1}, train: {dtype: f64}}"
#define CHANGE                                                                                     \
    INPUTS " sequence: {length: 8, stride: 3, jitter: 2, time: t, recording: r, target: change,"   \
           " estimate: v}, model: {kind: sequence," SMALL

static void fill(Flight *f)
{
    RelnRng rng = reln_rng(31, 0);

    fill_normal(&rng, T * 3, f->v);
    fill_normal(&rng, T * 3, f->p);
    for (int i = 0; i < T; i++) {
        f->t[i] = 100 + 0.1 * i + 0.02 * sin(i) - (i >= SECOND ? 50 : 0);
        f->r[i] = i < SECOND ? 4 : 7;
        random_covariance(&rng, 3, f->c + (ptrdiff_t)9 * i);
    }
    f->arrays[0] = (RelnArray){.name = "t", .dtype = RELN_F64, .rank = 1, .dims = {T}};
    f->arrays[1] = (RelnArray){.name = "r", .dtype = RELN_F64, .rank = 1, .dims = {T}};
    f->arrays[2] = (RelnArray){.name = "v", .dtype = RELN_F64, .rank = 2, .dims = {T, 3}};
    f->arrays[3] = (RelnArray){.name = "C", .dtype = RELN_F64, .rank = 3, .dims = {T, 3, 3}};
    f->arrays[4] = (RelnArray){.name = "p", .dtype = RELN_F64, .rank = 2, .dims = {T, 3}};
    f->arrays[0].f64 = f->t;
    f->arrays[1].f64 = f->r;
    f->arrays[2].f64 = f->v;
    f->arrays[3].f64 = f->c;
    f->arrays[4].f64 = f->p;
}

static void flight_init(Flight *f, const char *yaml)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(reln_ctx_create(NULL, &f->ctx), RELN_OK);
    assert_ok(f->ctx, world_spec(f->ctx, yaml, &f->spec));
    fill(f);
}

static RelnStatus flight_open(Flight *f, const RelnDataOptions *options)
{
    RelnStatus status = reln_archive_from_arrays(f->ctx, "flight.npz", 5, f->arrays, &f->archive);

    if (status == RELN_OK)
        status = reln_model_for(f->ctx, &f->spec, f->archive, &f->model);
    if (status == RELN_OK)
        status = reln_data_open(f->model, f->archive, options, &f->data);
    return status;
}

static void flight_clear(Flight *f)
{
    reln_data_destroy(f->data);
    reln_model_destroy(f->model);
    reln_archive_destroy(f->archive);
    assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
    reln_ctx_destroy(f->ctx);
}

/* ---- windows -------------------------------------------------------------------------------------------------------- */

/* Rows at which windows begin: every third step, none across row 37. */
static ptrdiff_t begin_of(ptrdiff_t window)
{
    const ptrdiff_t before = (SECOND - LENGTH) / 3 + 1;

    return window < before ? 3 * window : SECOND + 3 * (window - before);
}

static void windows_are_stretches_of_their_recording(void **state)
{
    const ptrdiff_t count = (SECOND - LENGTH) / 3 + 1 + (T - SECOND - LENGTH) / 3 + 1;
    double v[LENGTH * 3], t[LENGTH], p[3];
    Flight f;

    (void)state;
    flight_init(&f, CHANGE);
    assert_ok(f.ctx, flight_open(&f, NULL));
    assert_int_equal(reln_data_count(f.data), count);
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t at = begin_of(i);

        assert_ok(f.ctx, reln_data_raw(f.data, 0, i, v));
        assert_memory_equal(v, f.v + 3 * at, sizeof v);
        assert_ok(f.ctx, reln_data_raw(f.data, 2, i, t));
        for (int s = 0; s < LENGTH; s++)
            assert_true(t[s] == f.t[at + s] - f.t[at]);
        assert_ok(f.ctx, reln_data_target(f.data, 1, &i, p));
        for (int k = 0; k < 3; k++)
            assert_true(p[k] == f.p[3 * (at + LENGTH - 1) + k] - f.p[3 * at + k]);
    }
    flight_clear(&f);
}

static void targets_of_windows_are_what_the_spec_says(void **state)
{
    static const char *const words[] = {"last", "mean", "each"};

    (void)state;
    for (int w = 0; w < 3; w++) {
        char yaml[512];
        double got[LENGTH * 3], want[LENGTH * 3] = {0};
        ptrdiff_t row = 2, count = w == 2 ? LENGTH * 3 : 3;
        Flight f;

        snprintf(yaml, sizeof yaml,
                 INPUTS " sequence: {length: 8, stride: 3, recording: r, target: %s},"
                        " model: {kind: sequence," SMALL,
                 words[w]);
        flight_init(&f, yaml);
        assert_ok(f.ctx, flight_open(&f, NULL));
        assert_ok(f.ctx, reln_data_target(f.data, 1, &row, got));
        for (int s = 0; s < LENGTH; s++)
            for (int k = 0; k < 3; k++) {
                const double x = f.p[3 * (begin_of(row) + s) + k];

                if (w == 2)
                    want[3 * s + k] = x;
                else if (w == 1)
                    want[k] += x / LENGTH;
                else
                    want[k] = x;
            }
        assert_near(got, want, count, LENGTH * DBL_EPSILON);
        flight_clear(&f);
    }
}

/* The last windows of each recording are for validation; no training window overlaps them, even with two
 * steps of jitter. */
static void windows_are_divided_by_time(void **state)
{
    ptrdiff_t rows[T], n_validation, n_train;
    int seen[2] = {0, 0};
    Flight f;

    (void)state;
    flight_init(&f, CHANGE);
    assert_ok(f.ctx, flight_open(&f, NULL));
    assert_ok(f.ctx,
              reln_data_divide(f.data, &(RelnFold){0}, 0.2, 1, rows, &n_validation, &n_train));
    assert_true(n_validation > 0 && n_train > 0);
    for (ptrdiff_t i = 0; i < n_validation; i++)
        seen[begin_of(rows[i]) >= SECOND]++;
    assert_int_equal(seen[0], 2); /* of 10 */
    assert_int_equal(seen[1], 2); /* of 6, rounded up */
    for (ptrdiff_t i = 0; i < n_train; i++)
        for (ptrdiff_t j = 0; j < n_validation; j++) {
            const ptrdiff_t a = begin_of(rows[n_validation + i]), b = begin_of(rows[j]);

            assert_true((a >= SECOND) != (b >= SECOND) || a + LENGTH + 2 <= b);
        }
    flight_clear(&f);
}

/* Moved windows stay in their recording; they move by every number of steps up to the jitter, which depends
 * on the epoch. */
static void windows_move_in_every_epoch(void **state)
{
    int seen[3] = {0, 0, 0}, moved = 0;
    unsigned shifts[T] = {0}; /* of each window, as bits */
    RelnSequence *s = NULL;
    Flight f;

    (void)state;
    flight_init(&f, CHANGE);
    assert_ok(f.ctx, flight_open(&f, NULL));
    assert_ok(f.ctx, reln_sequence_open(f.ctx, &f.spec, 3, 3, f.archive, &s));
    for (uint64_t epoch = 0; epoch < 20; epoch++)
        for (ptrdiff_t row = 0; row < s->count; row++) {
            double t[LENGTH], v[LENGTH * 3];
            const int of_v = reln_archive_find(s->windows, "v");
            int shift = 0;

            reln_sequence_shake(s, row, 5, epoch);
            assert_ok(f.ctx, reln_archive_range(s->windows, of_v, row, 1, v));
            while (shift < 3 && memcmp(v, f.v + 3 * (begin_of(row) + shift), sizeof v) != 0)
                shift++;
            assert_true(shift < 3 && begin_of(row) + shift + LENGTH <= T);
            assert_true((begin_of(row) >= SECOND) || begin_of(row) + shift + LENGTH <= SECOND);
            seen[shift]++;
            shifts[row] |= 1U << shift;
            reln_sequence_shake(s, row, 5, epoch);
            assert_ok(f.ctx, reln_archive_range(s->windows, reln_archive_find(s->windows, "t"), row,
                                                1, t));
            assert_true(t[1] == f.t[begin_of(row) + shift + 1] - f.t[begin_of(row) + shift]);
        }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    for (ptrdiff_t row = 0; row < s->count; row++)
        moved += (shifts[row] & (shifts[row] - 1)) != 0;
    assert_true(moved > s->count / 2); /* windows at the end of a recording have no room */
    reln_sequence_close(s);
    flight_clear(&f);
}

/* ---- networks -------------------------------------------------------------------------------------------------------- */

/* Runs the model on all windows; the result is valid until the plan is destroyed. */
static const double *run_model(Flight *f, RelnModelGraph *net, RelnPlan **plan)
{
    const ptrdiff_t n = reln_data_count(f->data);
    ptrdiff_t rows[T];

    for (ptrdiff_t i = 0; i < n; i++)
        rows[i] = i;
    if (!*plan) {
        assert_ok(f->ctx, reln_model_build(f->model, NULL, net));
        assert_ok(f->ctx, reln_plan_create(net->graph, NULL, plan));
    }
    assert_ok(f->ctx, reln_data_bind(f->data, *plan, n, rows, 0));
    assert_ok(f->ctx, reln_plan_run(*plan, &(RelnRun){.n_samples = n}));
    return reln_plan_output(*plan, "y", NULL);
}

static void set_parameter(Flight *f, const char *name, double value)
{
    RelnEntryInfo entry;

    assert_true(reln_store_find(reln_model_store(f->model), name, &entry));
    for (size_t i = 0; i < entry.count; i++)
        ((double *)entry.values)[i] = value;
}

/* Without a correction the prediction is the integral by the trapezoid rule: over the window, or up to each step. */
static void an_estimate_is_the_integral(void **state)
{
    static const char *const kinds[] = {"sequence", "resnet", "reln"};

    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int each = 0; each < (kind < 2 ? 2 : 1); each++)
            for (int timed = 0; timed < 2; timed++) {
                char yaml[512];
                RelnModelGraph net;
                RelnPlan *plan = NULL;
                const double *y;
                Flight f;

                snprintf(yaml, sizeof yaml,
                         INPUTS " sequence: {length: 8, stride: 3, recording: r, target: %s, "
                                "estimate: v, %s}, model: {kind: %s," SMALL,
                         each ? "each" : "change", timed ? "time: t" : "step: 0.25", kinds[kind]);
                flight_init(&f, yaml);
                assert_ok(f.ctx, flight_open(&f, NULL));
                set_parameter(&f, "correction", 0);
                y = run_model(&f, &net, &plan);
                for (ptrdiff_t i = 0; i < reln_data_count(f.data); i++) {
                    const ptrdiff_t at = begin_of(i);
                    double want[3] = {0};

                    for (int s = 1; s < LENGTH; s++) {
                        const double d = timed ? f.t[at + s] - f.t[at + s - 1] : 0.25;

                        for (int k = 0; k < 3; k++)
                            want[k] += d * (f.v[3 * (at + s) + k] + f.v[3 * (at + s - 1) + k]) / 2;
                        for (int k = 0; each && k < 3; k++) { /* (3, 8); the plain one has (8, 3) */
                            const ptrdiff_t place = kind == 1 ? 3 * s + k : k * LENGTH + s;

                            assert_near(y + i * LENGTH * 3 + place, want + k, 1, 1e-12);
                        }
                    }
                    if (!each)
                        assert_near(y + i * 3, want, 3, 1e-12);
                }
                reln_plan_destroy(plan);
                reln_model_graph_clear(&net);
                flight_clear(&f);
            }
}

/* The network learns normalised targets, but an estimate is in the units of the target. Scalars have a mean,
 * too. */
static void an_estimate_has_the_units_of_the_target(void **state)
{
    static const char *const kinds[] = {"sequence", "resnet"};

    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int scalar = 0; scalar < 2; scalar++) {
            const char *as = scalar ? "scalar" : "vector";
            char yaml[512];
            ptrdiff_t rows[T];
            double got[T * 3];
            RelnModelGraph net;
            RelnPlan *plan = NULL;
            RelnLayout layout;
            ptrdiff_t n;
            Flight f;

            snprintf(
                yaml, sizeof yaml,
                "{symmetry: so:3, inputs: [{name: v, as: %s, sequence: true},"
                " {name: C, as: covariance, log: true, sequence: true}], target: {name: p, as: "
                "%s}, sequence: {length: 8, stride: 3, recording: r, target: last, "
                "estimate: v, step: 0.25}, model: {kind: %s," SMALL,
                as, as, kinds[kind]);
            flight_init(&f, yaml);
            for (int i = 0; i < 3 * T; i++)
                f.p[i] = 40 + 7 * f.p[i];
            assert_ok(f.ctx, flight_open(&f, NULL));
            n = reln_data_count(f.data);
            for (ptrdiff_t i = 0; i < n; i++)
                rows[i] = i;
            assert_ok(f.ctx, reln_data_normalise(f.data, n, rows));
            assert_true(reln_model_constants(f.model)->target[0].deviation > 3);
            assert_true((reln_model_constants(f.model)->target[0].mean > 30) == scalar);
            set_parameter(&f, "correction", 0);
            run_model(&f, &net, &plan);
            layout = reln_model_layout_at(f.model, LENGTH, 0);
            reln_model_predictions(f.model, plan, &layout, n, NULL, got);
            for (ptrdiff_t i = 0; i < n; i++)
                for (int k = 0; k < 3; k++) {
                    const double *v = f.v + 3 * begin_of(i) + k;
                    double want = 0;

                    for (int s = 1; s < LENGTH; s++)
                        want += 0.25 * (v[3 * s] + v[3 * s - 3]) / 2;
                    assert_small(got[3 * i + k] - want,
                                 1e-11); /* the mean 40 is subtracted and added again */
                }
            reln_plan_destroy(plan);
            reln_model_graph_clear(&net);
            flight_clear(&f);
        }
}

/* Returns how many later steps the first step of a window affects in a causal network. */
static int reach_of(int depth)
{
    enum { LONG = 32 };
    char yaml[512];
    double before[LONG * 3];
    RelnModelGraph net;
    RelnPlan *plan = NULL;
    const double *y;
    int reach = 0;
    Flight f;

    snprintf(yaml, sizeof yaml,
             INPUTS " sequence: {length: 32, stride: 60, target: each, causal: true, taps: 3},"
                    " model: {kind: sequence, width: 3, depth: %d}, train: {dtype: f64}}",
             depth);
    flight_init(&f, yaml);
    f.spec.sequence.recording[0] = 0;
    assert_ok(f.ctx, flight_open(&f, NULL));
    y = run_model(&f, &net, &plan);
    memcpy(before, y, sizeof before);
    reln_data_destroy(f.data);
    f.v[0] += 1;
    assert_ok(f.ctx, reln_data_open(f.model, f.archive, NULL, &f.data));
    y = run_model(&f, &net, &plan);
    for (int s = 0; s < LONG; s++)
        for (int k = 0; k < 3; k++)
            if (y[k * LONG + s] != before[k * LONG + s])
                reach = s;
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    flight_clear(&f);
    return reach;
}

/* Taps of a block are twice as far apart as those of the block before it. */
static void taps_reach_twice_as_far_in_every_block(void **state)
{
    const int first = reach_of(1);

    (void)state;
    assert_true(first > 0);
    assert_int_equal(reach_of(2), 3 * first);
    assert_int_equal(reach_of(3), 7 * first < 31 ? 7 * first : 31);
}

/* Changes the last steps of a window: no earlier value of a causal network changes, and some of another
 * network do. */
static void causal_networks_do_not_look_ahead(void **state)
{
    static const char *const kinds[] = {"sequence", "resnet"};

    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int causal = 0; causal < 2; causal++) {
            char yaml[512];
            RelnModelGraph net;
            RelnPlan *plan = NULL;
            double before[LENGTH * 3];
            const double *y;
            bool changed = false;
            Flight f;

            snprintf(yaml, sizeof yaml,
                     INPUTS " sequence: {length: 8, stride: 60, target: each, causal: %s},"
                            " model: {kind: %s," SMALL,
                     causal ? "true" : "false", kinds[kind]);
            flight_init(&f, yaml);
            f.spec.sequence.recording[0] = 0;
            assert_ok(f.ctx, flight_open(&f, NULL));
            y = run_model(&f, &net, &plan);
            memcpy(before, y, sizeof before);
            reln_data_destroy(f.data);
            for (int i = 3 * (LENGTH - 2); i < 3 * LENGTH; i++)
                f.v[i] += 1;
            assert_ok(f.ctx, reln_data_open(f.model, f.archive, NULL, &f.data));
            y = run_model(&f, &net, &plan);
            for (int s = 0; s < LENGTH - 2; s++)
                for (int k = 0; k < 3; k++) {
                    const int place = kind == 1 ? 3 * s + k : k * LENGTH + s;

                    changed |= y[place] != before[place];
                }
            assert_int_equal(changed, !causal);
            reln_plan_destroy(plan);
            reln_model_graph_clear(&net);
            flight_clear(&f);
        }
}

/* ---- what is refused -------------------------------------------------------------------------------------------------- */

static void back(Flight *f)
{
    f->t[20] = f->t[19] - 0.01;
}
static void twice(Flight *f)
{
    f->t[20] = f->t[19];
}
static void gap(Flight *f)
{
    for (int i = 45; i < T; i++)
        f->t[i] += 3;
}
static void late(Flight *f)
{
    f->t[12] = (double)NAN;
}
static void hole(Flight *f)
{
    f->v[3 * 41 + 2] = (double)NAN;
}
static void hole_in_target(Flight *f)
{
    f->p[3 * 9] = (double)INFINITY;
}
static void indefinite(Flight *f)
{
    f->c[9 * 33] = -5;
}
static void short_recordings(Flight *f)
{
    for (int i = 0; i < T; i++)
        f->r[i] = i / 7 + (i < SECOND ? 0 : 100);
}
static void fewer(Flight *f)
{
    f->arrays[2].dims[0] = T - 1;
}
static void no_times(Flight *f)
{
    f->arrays[0].name = "x";
}
static void wide_times(Flight *f)
{
    f->arrays[0].rank = 2;
    f->arrays[0].dims[0] = T / 2;
    f->arrays[0].dims[1] = 2;
}
static void no_input(Flight *f)
{
    f->arrays[2].name = "x";
}
static void no_target(Flight *f)
{
    f->arrays[4].name = "x";
}

static void bad_recordings_are_refused_with_their_row(void **state)
{
    static const struct {
        void (*spoil)(Flight *f);
        const char *message;
    } bad[] = {
        {back, "t: row 20 is 101.892998, behind 101.902998"},
        {twice, "t: row 20 is 101.902998, behind 101.902998"},
        {gap, "t: row 45 is 3."},
        {late, "t: row 12 has a number that is not a number"},
        {hole, "v: row 41 has a number that is not a number"},
        {hole_in_target, "p: row 9 has a number that is infinite"},
        {indefinite, "C: row 33 is not positive definite"},
        {short_recordings, "flight.npz: the longest recording has 7 steps, rows 0 to 6; wanted 8"},
        {fewer, "C: 60 rows; wanted 59, as v has"},
        {no_times, "no array t"},
        {wide_times, "t: 30 rows; wanted 60"},
        {no_input, "no array v"},
        {no_target, "no array p, the target"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Flight f;

        flight_init(&f, CHANGE);
        bad[i].spoil(&f);
        assert_int_not_equal(flight_open(&f, NULL), RELN_OK);
        if (!strstr(reln_ctx_error(f.ctx), bad[i].message))
            fail_msg("the message is \"%s\", wanted \"%s\" in it", reln_ctx_error(f.ctx),
                     bad[i].message);
        flight_clear(&f);
    }
}

/* A step of nine usual ones is no gap between recordings, one of eleven is. */
static void ten_usual_steps_are_a_gap(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        Flight f;

        flight_init(&f, CHANGE);
        for (int i = 0; i < T; i++)
            f.t[i] = (i < SECOND ? 100 : 50) + 0.1 * i + (i >= 45 ? (wide ? 1.0 : 0.8) : 0);
        assert_int_equal(flight_open(&f, NULL) == RELN_OK, !wide);
        flight_clear(&f);
    }
}

static void specs_that_do_not_fit_are_refused(void **state)
{
    static const char *const bad[][2] = {
        {"{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: p, as: vector}, model: "
         "{kind: sequence}}",
         "there is no sequence among the inputs"},
        {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}, {name: w, as: vector}], "
         "target: {name: p, as: vector}, sequence: {length: 5}}",
         "input w: windows are cut from recordings"},
        {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}, {name: w, as: vector, "
         "points: true}], target: {name: p, as: vector}}",
         "input w has points beside a sequence"},
        {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}], target: {name: p, as: "
         "scalar}, sequence: {estimate: v}}",
         "estimate v is a vector and the target a scalar"},
        {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}], target: {name: p, as: "
         "vector}, sequence: {estimate: w}}",
         "estimate is w; wanted the name of an input"},
        {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}], target: {name: p, as: "
         "vector}, sequence: {jitter: 3}}",
         "jitter is for windows of recordings"},
        {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}], target: {name: p, as: "
         "class, classes: 2}, sequence: {length: 4, target: each}}",
         "this is a class"},
        {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}, {name: t, as: vector, "
         "sequence: true}], target: {name: p, as: vector}, sequence: {time: t}}",
         "input t has the times; wanted as: scalar"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        RelnCtx *ctx = NULL;
        RelnSpec spec;

        assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
        assert_int_equal(world_spec(ctx, bad[i][0], &spec), RELN_ERR_FORMAT);
        if (!strstr(reln_ctx_error(ctx), bad[i][1]))
            fail_msg("the message is \"%s\", wanted \"%s\" in it", reln_ctx_error(ctx), bad[i][1]);
        reln_ctx_destroy(ctx);
    }
}

/* Windows that were cut in advance have their times in rows. */
static void times_of_cut_windows_rise(void **state)
{
    World w;

    (void)state;
    assert_ok(w.ctx, world_init(&w, NULL,
                                "{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}],"
                                " target: {name: y, as: vector}, sequence: {time: t},"
                                " model: {kind: sequence, width: 2}, train: {dtype: f64}}",
                                3));
    world_find(&w, "t")->rank = 2; /* (3, 4): one time for each step */
    for (int i = 0; i < 3 * WORLD_POINTS; i++)
        world_find(&w, "t")->f64[i] = 0.5 * (i % WORLD_POINTS);
    world_find(&w, "t")->f64[2 * WORLD_POINTS + 1] = 0;
    assert_ok(w.ctx, world_model(&w));
    assert_int_equal(world_data(&w, NULL), RELN_ERR_FORMAT);
    assert_non_null(strstr(reln_ctx_error(w.ctx), "t: row 2 has 0 at step 1, behind 0"));
    world_clear(&w);
}

static RelnStatus open_all(RelnCtx *ctx)
{
    Flight f;
    RelnStatus status;

    memset(&f, 0, sizeof f);
    f.ctx = ctx;
    status = world_spec(ctx, CHANGE, &f.spec);
    fill(&f);
    if (status == RELN_OK)
        status = flight_open(&f, NULL);
    reln_data_destroy(f.data);
    reln_model_destroy(f.model);
    reln_archive_destroy(f.archive);
    return status;
}

static void a_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(open_all) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_stretches_of_their_recording),
        cmocka_unit_test(targets_of_windows_are_what_the_spec_says),
        cmocka_unit_test(windows_are_divided_by_time),
        cmocka_unit_test(windows_move_in_every_epoch),
        cmocka_unit_test(an_estimate_is_the_integral),
        cmocka_unit_test(an_estimate_has_the_units_of_the_target),
        cmocka_unit_test(taps_reach_twice_as_far_in_every_block),
        cmocka_unit_test(causal_networks_do_not_look_ahead),
        cmocka_unit_test(bad_recordings_are_refused_with_their_row),
        cmocka_unit_test(ten_usual_steps_are_a_gap),
        cmocka_unit_test(specs_that_do_not_fit_are_refused),
        cmocka_unit_test(times_of_cut_windows_rise),
        cmocka_unit_test(a_failing_allocation_leaks_nothing),
    };

    return cmocka_run_group_tests_name("model/sequence", tests, NULL, NULL);
}
