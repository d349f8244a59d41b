/* Tests the networks of the drone table: numbers of parameters, the effect of rotations and reflections, and
 * the numbers of the published code. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tasks/drone/nets.h"
#include "tasks/experiment.h"

static const DroneRow *row_of(const char *name)
{
    const TaskModel *model = task_model(task_find("drone"), name);

    assert_non_null(model);
    return model->settings;
}

/* ---- a network and windows for it ---------------------------------------------------------------------------------- */

typedef struct Rig {
    RelnCtx *ctx;
    RelnSetting s;
    DroneModel model;
    RelnPlan *plan;
    int n_out;
} Rig;

static void open_rig(Rig *r, const DroneRow *row, const char *symmetry, int sensors, bool train)
{
    RelnNode *out;

    *r = (Rig){.model = {.row = row, .sensors = sensors}, .n_out = row->covariance ? 12 : 3};
    assert_int_equal(reln_ctx_create(NULL, &r->ctx), RELN_OK);
    assert_ok(r->ctx, reln_setting_init_in(&r->s, r->ctx, symmetry, "gl:3", RELN_F64, 3));
    out = drone_network(
        &(RelnNet){.graph = r->s.graph, .algebra = r->s.algebra, .form = row->form, .train = train},
        &r->model);
    reln_output(r->s.graph, "out", out);
    assert_ok(r->ctx, reln_plan_create(r->s.graph, NULL, &r->plan));
}

static void close_rig(Rig *r)
{
    reln_plan_destroy(r->plan);
    reln_setting_clear(&r->s);
    reln_ctx_destroy(r->ctx);
}

/* Makes the weights of gates small, so that cubic gates stay moderate without batch statistics. */
static void tame(Rig *r)
{
    for (int i = 0; i < reln_store_count(r->s.store); i++) {
        const RelnEntryInfo e = reln_store_entry(r->s.store, i);
        const bool gate = strstr(e.name, "relu") != NULL, last = strstr(e.name, "fc3") ||
                                                                 strstr(e.name, "out.W") ||
                                                                 strncmp(e.name, "up", 2) == 0;

        for (size_t k = 0; k < e.count && e.kind == RELN_ENTRY_PARAM; k++)
            ((double *)e.values)[k] = gate   ? 0.05 * ((double *)e.values)[k]
                                      : last ? cos((double)k)
                                             : ((double *)e.values)[k];
    }
}

static void run_window(Rig *r, const DroneSeen *seen, double *out)
{
    const DroneInput in = r->model.row->input;
    const int n_v = 3 * DRONE_WINDOW * r->model.sensors, n_m = drone_size_m(in, r->model.sensors),
              n_l = drone_size_l(in);
    double *v = malloc((size_t)(n_v + n_m + n_l + 1) * sizeof *v), *m = v + n_v, *l = m + n_m;

    assert_non_null(v);
    drone_inputs(in, r->model.row->normal, r->model.sensors, seen, 0, v, m, l);
    assert_ok(r->ctx, reln_plan_bind_sized(r->plan, "v", v, RELN_F64, (size_t)n_v));
    if (n_m > 0)
        assert_ok(r->ctx, reln_plan_bind_sized(r->plan, "m", m, RELN_F64, (size_t)n_m));
    if (n_l > 0)
        assert_ok(r->ctx, reln_plan_bind_sized(r->plan, "l", l, RELN_F64, (size_t)n_l));
    assert_ok(r->ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = 1}));
    memcpy(out, reln_plan_output(r->plan, "out", NULL), (size_t)r->n_out * sizeof *out);
    free(v);
}

/* A window of a made-up flight that turns, in noise D. */
static void some_window(DroneNoiseKind kind, uint64_t seed, DroneSeen *seen)
{
    RelnRng rng = reln_rng(seed, 1);
    DroneFlight f;

    assert_true(drone_flight_init(&f, DRONE_WINDOW, DRONE_STEP) &&
                drone_seen_init(seen, DRONE_WINDOW));
    for (int i = 0; i < f.n; i++) {
        const double t = i * f.step, v[3] = {9 * cos(2 * t), 7 * sin(2 * t) + 1, 2 - 3 * t};
        const double q[4] = {cos(t), 0.3 * sin(t), 0.5 * sin(t), sqrt(0.66) * sin(t)};

        memcpy(f.v + 3 * i, v, sizeof v);
        memcpy(f.q + 4 * i, q, sizeof q);
    }
    drone_see(&(DroneNoise){kind, DRONE_FRAME_BODY}, &f, 9, 0, &rng, seen);
    drone_flight_clear(&f);
}

/* Returns |f(r x) - r f(x)| / |f(x)| for the displacement and, if there is one, the logarithm of its
 * covariance. */
static double turned_error(Rig *r, DroneNoiseKind kind, const double *turn)
{
    DroneSeen seen[2], moved[2];
    double before[12], after[12], want[3], worst = 0, size = 0;

    for (int s = 0; s < r->model.sensors; s++) {
        some_window(kind, 40 + (uint64_t)s, &seen[s]);
        assert_true(drone_seen_init(&moved[s], DRONE_WINDOW));
        drone_turn_seen(turn, &seen[s], &moved[s]);
    }
    run_window(r, seen, before);
    run_window(r, moved, after);
    drone_turn_vector(turn, before, want);
    for (int k = 0; k < 3; k++) {
        worst = fmax(worst, fabs(after[k] - want[k]));
        size = fmax(size, fabs(want[k]));
    }
    for (int i = 0; i < 3 && r->n_out == 12; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0;

            for (int a = 0; a < 9; a++)
                sum += turn[3 * i + a / 3] * before[3 + a] * turn[3 * j + a % 3];
            worst = fmax(worst, fabs(after[3 + 3 * i + j] - sum));
        }
    for (int s = 0; s < r->model.sensors; s++) {
        drone_seen_clear(&seen[s]);
        drone_seen_clear(&moved[s]);
    }
    assert_true(size > 0 && isfinite(size));
    return worst / size;
}

static double row_error(const char *name, const char *symmetry, DroneNoiseKind kind,
                        const double *turn)
{
    const DroneNoise noise = {kind, DRONE_FRAME_BODY};
    DroneRow row = *row_of(name);
    double error;
    Rig r;

    if (row.arch == DRONE_TFN || row.arch == DRONE_SE3T) {
        row.width = 4;
        row.last = row.arch == DRONE_SE3T ? 2 : 0;
    }
    if (row.arch == DRONE_VN || row.arch == DRONE_RELN) { /* narrow: the test is of the symmetry */
        row.width = 5;
        row.last = 8;
        row.prep = 3;
    }
    open_rig(&r, &row, symmetry, drone_sensors(&noise), false);
    if (row.arch == DRONE_OURS)
        drone_begin(r.s.store, &r.model);
    tame(&r);
    error = turned_error(&r, kind, turn);
    close_rig(&r);
    return error;
}

static void equivariant_rows_turn_with_their_windows(void **state)
{
    static const char *const rows[] = {"vn",
                                       "vn-axes",
                                       "vn-krylov",
                                       "vn-krylov-bounded",
                                       "reln-v",
                                       "reln-c",
                                       "reln",
                                       "lie-neurons",
                                       "reln-no-semisimple",
                                       "reln-no-bracket",
                                       "reln-untied",
                                       "reln-causal",
                                       "reln-bounded",
                                       "reln-products",
                                       "reln-direct",
                                       "best",
                                       "tfn",
                                       "tfn-wide",
                                       "se3t",
                                       "se3t-wide"};
    RelnRng rng = reln_rng(11, 0);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double r[9], error;

        drone_random_rotation(&rng, r);
        error = row_error(rows[i], "so:3", DRONE_NOISE_D, r);
        if (!(error < 1e-12))
            fail_msg("%s: %g", rows[i], error);
    }
    {
        double r[9];

        drone_random_rotation(&rng, r);
        assert_true(row_error("vn-axes", "so:3", DRONE_NOISE_A, r) <
                    1e-12); /* three equal variances */
        assert_true(row_error("best", "so:3", DRONE_NOISE_G, r) < 1e-12);
        assert_true(row_error("reln", "so:3", DRONE_NOISE_G, r) < 1e-12);
    }
}

/* Adds a velocity to all measurements. */
static void boost(DroneSeen *seen)
{
    static const double by[3] = {30, -20, 10};

    for (int i = 0; i < 3 * seen->n; i++)
        seen->v[i] += by[i % 3];
}

/* A correction of the integral must not depend on a velocity that is added to all samples; a displacement
 * must. Sums over the window have about 1e3 terms of size 30 / 4, so rounding is below 1e3 * 30 * 1e-16 for
 * features of size 1. */
static void corrections_do_not_depend_on_the_mean_velocity(void **state)
{
    static const char *const rows[] = {"resnet", "vn", "vn-krylov", "reln", "tfn", "se3t", "best"};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const DroneRow *row = row_of(rows[i]);
        const int n_v = 3 * DRONE_WINDOW, n_m = drone_size_m(row->input, 1);
        double *at_rest = malloc((size_t)(n_v + n_m) * 2 * sizeof *at_rest),
               *moving = at_rest + n_v + n_m, l[3], worst = 0;
        DroneSeen seen;

        assert_non_null(at_rest);
        some_window(DRONE_NOISE_D, 5, &seen);
        drone_inputs(row->input, row->normal, 1, &seen, 0, at_rest, at_rest + n_v, l);
        boost(&seen);
        drone_inputs(row->input, row->normal, 1, &seen, 0, moving, moving + n_v, l);
        for (int k = 0; k < n_v + n_m; k++) {
            assert_true(fabs(at_rest[k]) < 6); /* sizes near 1 */
            worst = fmax(worst, fabs(at_rest[k] - moving[k]));
        }
        if (!(worst < 1e-11))
            fail_msg("%s: %g", rows[i], worst);
        drone_seen_clear(&seen);
        free(at_rest);
    }
    assert_false(row_of("reln-direct")->normal);
}

/* Runs a window whose inputs are multiplied by `factor`, and returns the length of the output. */
static double length_of(Rig *r, const DroneSeen *seen, double factor)
{
    double inputs[12 * DRONE_WINDOW], *v = inputs, *m = inputs + 3 * DRONE_WINDOW, sum = 0;
    const double *out;

    drone_inputs(r->model.row->input, true, 1, seen, 0, v, m, NULL);
    for (int i = 0; i < 12 * DRONE_WINDOW; i++)
        inputs[i] *= factor;
    assert_ok(r->ctx, reln_plan_bind_sized(r->plan, "v", v, RELN_F64, 3 * DRONE_WINDOW));
    assert_ok(r->ctx, reln_plan_bind_sized(r->plan, "m", m, RELN_F64, 9 * DRONE_WINDOW));
    assert_ok(r->ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = 1}));
    out = reln_plan_output(r->plan, "out", NULL);
    for (int k = 0; k < 3; k++)
        sum += out[k] * out[k];
    return sqrt(sum);
}

/* Outputs of bounded networks grow in proportion to their inputs: ten times larger inputs give ten times
 * larger outputs. Published gates are cubic, and follow one another. */
static void bounded_networks_do_not_run_away(void **state)
{
    static const char *const rows[] = {"reln-bounded", "reln-products", "reln"};
    DroneSeen seen;

    (void)state;
    some_window(DRONE_NOISE_D, 6, &seen);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        DroneRow row = *row_of(rows[i]);
        double growth;
        Rig r;

        row.width = 5;
        row.last = 8;
        row.prep = 3;
        row.bracket = false; /* the published bracket is a square */
        open_rig(&r, &row, "so:3", 1, false);
        tame(&r);
        growth = length_of(&r, &seen, 1e6) / length_of(&r, &seen, 1e5);
        if ((growth > 8 && growth < 12) != row.bounded) /* what is cubic may overflow: NaN */
            fail_msg("%s: %g", rows[i], growth);
        close_rig(&r);
    }
    drone_seen_clear(&seen);
}

/* Our untrained network is a smoother, which does not change a straight line. */
static void our_network_starts_as_a_smoother(void **state)
{
    DroneSeen seen;
    double out[12];
    Rig r;

    (void)state;
    some_window(DRONE_NOISE_D, 8, &seen);
    for (int i = 0; i < DRONE_WINDOW; i++)
        for (int k = 0; k < 3; k++) {
            seen.v[3 * i + k] = 5 + (k + 1) * 0.02 * i;
            seen.var[3 * i + k] = 1e-9;
        }
    open_rig(&r, row_of("best"), "so:3", 1, false);
    drone_begin(r.s.store, &r.model);
    run_window(&r, &seen, out);
    for (int k = 0; k < 3;
         k++) /* of a displacement of 5 m and more; weights begin with small random parts */
        assert_true(fabs(out[k]) < 0.05);
    /* and with 0.2 m of deviation in all directions, for a weight of 1; that of exact samples is the sum of all factors */
    for (int k = 0; k < 9; k++)
        assert_true(fabs(out[3 + k] -
                         (k % 4 == 0 ? log(0.04) - log(1 + exp(-2) + exp(-5) + 6 * exp(-8)) : 0)) <
                    0.05);
    drone_seen_clear(&seen);
    close_rig(&r);
}

static void rows_without_symmetry_do_not(void **state)
{
    RelnRng rng = reln_rng(12, 0);
    double r[9];

    (void)state;
    drone_random_rotation(&rng, r);
    assert_true(row_error("resnet", "none:3", DRONE_NOISE_D, r) > 1e-3);
    assert_true(row_error("vn-axes-coded", "none:3", DRONE_NOISE_D, r) > 1e-3);
}

/* Under a reflection, hat(v) is axial and v is not. Networks of matrices therefore break reflections where
 * brackets or logarithms meet velocities; our network multiplies matrices and vectors, and keeps them. */
static void reflections_are_kept_by_ours_and_vectors_alone(void **state)
{
    const double mirror[9] = {-1, 0, 0, 0, 1, 0, 0, 0, 1};

    (void)state;
    assert_true(row_error("best", "so:3", DRONE_NOISE_D, mirror) < 1e-12);
    assert_true(row_error("vn", "so:3", DRONE_NOISE_D, mirror) < 1e-12);
    assert_true(row_error("reln", "so:3", DRONE_NOISE_D, mirror) > 1e-6);
}

static void a_network_about_gravity_keeps_turns_about_it_only(void **state)
{
    static const double turn[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0};
    const double upright[9] = {0.6, -0.8, 0, 0.8, 0.6, 0, 0, 0, 1},
                 tilted[9] = {1, 0, 0, 0, 0.6, -0.8, 0, 0.8, 0.6};
    Rig r = {.model = {.row = row_of("best-gravity"), .sensors = 1}, .n_out = 12};
    RelnGroup *group;
    RelnNode *out;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &r.ctx), RELN_OK);
    assert_ok(r.ctx, reln_group_from_matrices(r.ctx, "upright", 3, 1, turn, 0, NULL, &group));
    assert_ok(r.ctx, reln_store_create(r.ctx, 1, &r.s.store));
    assert_ok(r.ctx, reln_graph_create(group, r.s.store, RELN_F64, &r.s.graph));
    out = drone_network(&(RelnNet){.graph = r.s.graph}, &r.model);
    reln_output(r.s.graph, "out", out);
    assert_ok(r.ctx, reln_plan_create(r.s.graph, NULL, &r.plan));
    tame(&r);
    assert_true(turned_error(&r, DRONE_NOISE_D, upright) < 1e-12);
    assert_true(turned_error(&r, DRONE_NOISE_D, tilted) > 1e-3);
    reln_plan_destroy(r.plan);
    reln_graph_destroy(r.s.graph);
    reln_store_destroy(r.s.store);
    reln_group_destroy(group);
    reln_ctx_destroy(r.ctx);
}

/* ---- paths of kernels ---------------------------------------------------------------------------------------------- */

/* Draws n features (n, K) of a type, with coordinates N(0, 1) in an orthonormal basis. */
static void draw_type(RelnRng *rng, int type, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        double a[9], *s = x + 9 * (ptrdiff_t)i;

        if (type < 2) {
            for (int k = 0; k < 1 + 2 * type; k++)
                x[(ptrdiff_t)i * (1 + 2 * type) + k] = reln_rng_normal(rng);
            continue;
        }
        for (int k = 0; k < 9; k++)
            a[k] = reln_rng_normal(rng);
        for (int k = 0; k < 9; k++) /* sym-traceless part of N(0, 1): a projection */
            s[k] =
                0.5 * (a[k] + a[k % 3 * 3 + k / 3]) - (k % 4 == 0 ? (a[0] + a[4] + a[8]) / 3 : 0);
    }
}

/* Variance one in, variance one out: the mean square of a product is its number of coordinates. */
static void factors_of_paths_keep_variances(void **state)
{
    enum { N = 20000 };
    static const int k_of[3] = {1, 3, 9};
    double *a = malloc(9 * N * sizeof *a), *b = malloc(9 * N * sizeof *b);
    RelnRng rng = reln_rng(77, 0);

    (void)state;
    assert_true(a && b);
    for (int i = 0; i < DRONE_PATHS; i++) {
        const DronePathway *p = &drone_pathways[i];
        const int k = k_of[p->to];
        RelnCtx *ctx;
        RelnSetting s;
        RelnPlan *plan;
        RelnNet net;
        const RelnRep *reps[3];
        RelnNode *x, *y;
        const double *out;
        double sum = 0;

        assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
        assert_ok(ctx, reln_setting_init_in(&s, ctx, "so:3", "gl:3", RELN_F64, 1));
        net = (RelnNet){.graph = s.graph, .algebra = s.algebra};
        reps[0] = NULL;
        reps[1] = reln_rep_vector(s.group);
        reps[2] = reln_rep_matrix(s.group);
        x = reln_input(s.graph, "a", RELN_SAMPLES, (RelnDims){.k = k_of[p->from]}, reps[p->from],
                       RELN_DEFAULT);
        y = reln_input(s.graph, "b", RELN_SAMPLES, (RelnDims){.k = k_of[p->filter]},
                       reps[p->filter], RELN_DEFAULT);
        reln_output(s.graph, "out", drone_product(&net, x, p->from, y, p->filter, p->to, p->scale));
        assert_ok(ctx, reln_plan_create(s.graph, NULL, &plan));
        draw_type(&rng, p->from, N, a);
        draw_type(&rng, p->filter, N, b);
        assert_ok(ctx, reln_plan_bind(plan, "a", a, RELN_F64));
        assert_ok(ctx, reln_plan_bind(plan, "b", b, RELN_F64));
        assert_ok(ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
        out = reln_plan_output(plan, "out", NULL);
        for (ptrdiff_t j = 0; j < (ptrdiff_t)N * k; j++)
            sum += out[j] * out[j] / N;
        /* a sum of products of four normal numbers: its spread is a few times its mean, over N draws */
        if (!(fabs(sum / (2 * p->to + 1) - 1) < 0.08))
            fail_msg("path %d x %d -> %d: %g of %d", p->from, p->filter, p->to, sum, 2 * p->to + 1);
        reln_plan_destroy(plan);
        reln_setting_clear(&s);
        reln_ctx_destroy(ctx);
    }
    free(a);
    free(b);
}

/* ---- parameters ---------------------------------------------------------------------------------------------------- */

static void published_networks_have_their_number_of_parameters(void **state)
{
    static const struct {
        const char *row, *symmetry;
        DroneInput input;
        size_t count;
    } published[] = {
        {"resnet-5m", "none:3", DRONE_IN_V, 5423302},
        {"resnet-5m", "none:3", DRONE_IN_COVARIANCE, 5427334},
        {"vn", "so:3", DRONE_IN_V, 456173},
        {"vn-axes-coded", "none:3", DRONE_IN_AXES_CODED, 461877},
        {"reln-v", "so:3", DRONE_IN_V, 456971},
        {"reln-c", "so:3", DRONE_IN_COVARIANCE, 457097},
        {"reln", "so:3", DRONE_IN_LOG, 457097},
    };

    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        DroneRow row = *row_of(published[i].row);
        Rig r;

        row.input = published[i].input;
        open_rig(&r, &row, published[i].symmetry, 1, false);
        if (reln_store_parameters(r.s.store) + drone_unused(&row) != published[i].count)
            fail_msg("%s: %zu and %zu unused, wanted %zu", published[i].row,
                     reln_store_parameters(r.s.store), drone_unused(&row), published[i].count);
        close_rig(&r);
    }
}

/* A block adds its input, or a convolution of it where the number of channels or of points changes: every group but the first
 * halves the points. */
static void blocks_have_a_convolution_beside_them_where_shapes_change(void **state)
{
    static const int widths[3][4] = {{6, 6, 6, 6}, {6, 8, 10, 12}, {6, 6, 8, 8}};

    (void)state;
    for (int k = 0; k < 3; k++) {
        DroneRow row = *row_of("resnet-5m");
        Rig r;

        row.width = widths[k][0];
        row.second = widths[k][1];
        row.third = widths[k][2];
        row.last = widths[k][3];
        row.prep = 8;
        open_rig(&r, &row, "none:3", 1, false);
        for (int group = 0; group < 4; group++)
            for (int block = 0; block < 2; block++) {
                char name[32];
                RelnEntryInfo e;

                snprintf(name, sizeof name, "group%d.%d.skip.W", group, block);
                assert_true(reln_store_find(r.s.store, name, &e) == (group > 0 && block == 0));
            }
        close_rig(&r);
    }
}

/* ---- the published code's numbers ------------------------------------------------------------------------------------ */

typedef struct Golden {
    RelnCtx *ctx;
    const char *folder;
} Golden;

/* Networks of the source tree, and others where all reference arrays are beside it. */
static bool load(const Golden *g, const char *name, RelnArray *a)
{
    static const char *const places[2] = {"tests/golden/drone", "../shared/golden/drone"};
    char path[512];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s/%s/%s.npy", RELN_SOURCE_DIR, places[i], g->folder, name);
        if (reln_npy_load(g->ctx, path, a) == RELN_OK)
            return true;
    }
    return false;
}

/* Replace the beginning of a name. */
static bool begins(const char *name, const char *with, const char **rest)
{
    const size_t n = strlen(with);

    if (strncmp(name, with, n) != 0)
        return false;
    *rest = name + n;
    return true;
}

/* Converts the name of a parameter to the published name, a path of modules with underscores. */
static void their_name(const char *ours, char name[160])
{
    static const struct {
        const char *ours, *theirs;
    } parts[] = {{"first.0.", "residual_groups1_0_"}, {"first.1.", "residual_groups1_1_"},
                 {"last.0.", "residual_groups4_0_"},  {"last.1.", "residual_groups4_1_"},
                 {"head.", "output_block1_"},         {"in.", "input_block_"}};
    static const struct {
        const char *ours, *theirs;
    } ends[] = {{"norm1.", "bn1_bn_"},
                {"norm2.", "bn2_bn_"},
                {"skip.norm.", "downsample_1_bn_"},
                {"skip.W", "downsample_0_weight"},
                {"conv1.W", "conv1_weight"},
                {"conv2.W", "conv2_weight"},
                {"prep.W", "prep1_weight"},
                {"fc1.W", "fc1_weight"},
                {"fc2.W", "fc2_weight"},
                {"fc3.W", "fc3_weight"},
                {"fc1.b", "fc1_bias"},
                {"fc2.b", "fc2_bias"},
                {"fc3.b", "fc3_bias"},
                {"relu.U", "relu_learn_dir_weight"},
                {"relu.W", "relu_map_to_dir_weight"},
                {"conv.W", "conv_weight"}};
    const char *rest = ours, *end = NULL;
    char head[64] = "";

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (begins(ours, parts[i].ours, &rest)) {
            snprintf(head, sizeof head, "%s", parts[i].theirs);
            break;
        }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (begins(rest, ends[i].ours, &end)) {
            const char *last = strcmp(end, "gamma") == 0  ? "weight"
                               : strcmp(end, "beta") == 0 ? "bias"
                               : strcmp(end, "mean") == 0 ? "running_mean_after"
                               : strcmp(end, "var") == 0  ? "running_var_after"
                                                          : end;
            snprintf(name, 160, "w_%s%s%s", head, ends[i].theirs, last);
            return;
        }
    if (begins(rest, "norm.", &end))
        snprintf(name, 160, "w_%s%s%s", head,
                 strcmp(head, "input_block_") == 0 ? "bn_bn_" : "bn1_bn_",
                 strcmp(end, "gamma") == 0  ? "weight"
                 : strcmp(end, "beta") == 0 ? "bias"
                 : strcmp(end, "mean") == 0 ? "running_mean_after"
                                            : "running_var_after");
    else if (begins(ours, "shrink.", &rest))
        snprintf(name, 160, "w_inv_mlp_mlp_%d_%s", 2 * (rest[0] - '0'),
                 rest[2] == 'W' ? "weight" : "bias");
    else if (strncmp(ours, "bracket.", 8) == 0)
        snprintf(name, 160, "w_liebracket_learn_dir%s_weight",
                 strstr(ours, "Wb") || strstr(ours, "two") ? "2" : "");
    else
        snprintf(name, 160, "w_%s", ours);
}

static const char *norm_part(const char *part)
{
    return strcmp(part, "gamma") == 0  ? "weight"
           : strcmp(part, "beta") == 0 ? "bias"
           : strcmp(part, "mean") == 0 ? "running_mean_after"
                                       : "running_var_after";
}

/* The same for the plain ResNet. */
static void plain_name(const char *ours, char name[160])
{
    const char *rest;

    if (begins(ours, "group", &rest)) {
        const char *part = rest + 4; /* "0.1.conv1.W" */
        const char *of = strchr(part, '.') + 1;

        if (strncmp(part, "conv", 4) == 0)
            snprintf(name, 160, "w_residual_groups_%c_%c_conv%c_weight", rest[0], rest[2], part[4]);
        else if (strncmp(part, "norm", 4) == 0)
            snprintf(name, 160, "w_residual_groups_%c_%c_bn%c_%s", rest[0], rest[2], part[4],
                     norm_part(of));
        else
            snprintf(name, 160, "w_residual_groups_%c_%c_downsample_%s%s", rest[0], rest[2],
                     of[0] == 'W' ? "0_" : "1_", of[0] == 'W' ? "weight" : norm_part(of));
    } else if (begins(ours, "head.norm.", &rest)) {
        snprintf(name, 160, "w_output_block1_bn1_%s", norm_part(rest));
    } else if (begins(ours, "head.fc", &rest)) {
        snprintf(name, 160, "w_output_block1_fc%c_%s", rest[0], rest[2] == 'W' ? "weight" : "bias");
    } else if (begins(ours, "in.norm.", &rest)) {
        snprintf(name, 160, "w_input_block_1_%s", norm_part(rest));
    } else {
        snprintf(name, 160, "%s",
                 ours[0] == 'i' ? "w_input_block_0_weight" : "w_output_block1_prep1_weight");
    }
}

/* Theirs [out, in, taps] to ours (taps in, out); FC [out, in taps] with the sample running fastest. */
static void fill(const RelnEntryInfo *e, const RelnArray *a, int taps)
{
    const ptrdiff_t out = e->dims.c, in = (ptrdiff_t)e->count / (out * taps);
    double *w = e->values;

    assert_int_equal(e->count, (size_t)reln_array_count(a));
    for (ptrdiff_t o = 0; o < out; o++)
        for (ptrdiff_t i = 0; i < in; i++)
            for (ptrdiff_t t = 0; t < taps; t++)
                w[(t * in + i) * out + o] = a->f64[(o * in + i) * taps + t];
}

static void fill_all(const Golden *g, RelnStore *store, bool plain)
{
    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo e = reln_store_entry(store, i);
        char name[160];
        RelnArray a;
        int taps = 1;

        (plain ? plain_name : their_name)(e.name, name);
        if (!load(g, name, &a)) {
            if (strcmp(e.name, "in.conv.W") == 0)
                assert_true(load(g, "w_ln_conv_weight", &a));
            else
                fail_msg("%s: no %s", e.name, name);
        }
        if (a.rank == 3)
            taps = (int)a.dims[2];
        if (strcmp(e.name, "head.fc1.W") == 0)
            taps = 7;
        fill(&e, &a, e.dims.r > 1 || a.rank > 1 ? taps : 1);
        reln_array_clear(&a);
    }
}

/* Adds the rising eigenvalues of a symmetric matrix, divided by the samples of a window; by the roots of its characteristic
 * polynomial. */
static void add_variances(const double *c, double *l)
{
    const double mean = (c[0] + c[4] + c[8]) / 3, third = 2 * acos(-1.0) / 3;
    double b[9], square = 0, det, angle, size;

    for (int k = 0; k < 9; k++) {
        b[k] = c[k] - (k % 4 == 0 ? mean : 0);
        square += b[k] * b[k] / 6;
    }
    size = sqrt(square);
    det = b[0] * (b[4] * b[8] - b[5] * b[7]) - b[1] * (b[3] * b[8] - b[5] * b[6]) +
          b[2] * (b[3] * b[7] - b[4] * b[6]);
    angle = acos(fmin(fmax(det / (2 * size * square), -1), 1)) / 3;
    l[0] += (mean + 2 * size * cos(angle + third)) / DRONE_WINDOW;
    l[1] += (mean + 2 * size * cos(angle - third)) / DRONE_WINDOW;
    l[2] += (mean + 2 * size * cos(angle)) / DRONE_WINDOW;
}

#define AXES "train_act_conv_in"

/* Theirs [B, rows, T]: velocities (rows 0 .. 2), then covariances (rows 3 .. 11). */
static void check_golden(const char *folder, const char *name, const char *symmetry)
{
    Golden g = {.folder = folder};
    DroneRow row = *row_of(name);
    RelnArray x, y, axes;
    double v[2 * 600], m[2 * 1800], l[2 * 3] = {0}, worst = 0, size = 0;
    const double *out;
    Rig r;

    row.width = row.arch == DRONE_RESNET ? 6 : 4;
    row.second = 8;
    row.third = 10;
    row.last = row.arch == DRONE_RESNET ? 12 : 6;
    row.prep = row.arch == DRONE_RESNET ? 8 : 3;
    row.shrink = 12;
    row.residual = false;
    open_rig(&r, &row, symmetry, 1, false);
    g.ctx = r.ctx;
    if (!load(&g, "eval_y", &y)) {
        close_rig(&r);
        print_message("no reference arrays beside the source: %s is not compared\n", folder);
        skip();
    }
    assert_true(load(&g, "x", &x));
    fill_all(&g, r.s.store, row.arch == DRONE_RESNET);
    for (int b = 0; b < 2; b++)
        for (int t = 0; t < 200; t++) {
            const ptrdiff_t rows = x.dims[1];
            double c[9], logs[9];

            for (int k = 0; k < 3; k++)
                v[b * 600 + 3 * t + k] = x.f64[(b * rows + k) * 200 + t];
            if (rows < 12)
                continue;
            for (int k = 0; k < 9; k++)
                c[k] = x.f64[(b * rows + 3 + k) * 200 + t];
            assert_ok(r.ctx, reln_matrix_log_spd(r.ctx, 3, c, logs));
            memcpy(m + b * 1800 + 9 * t, row.input == DRONE_IN_LOG ? logs : c, sizeof logs);
            add_variances(c, l + 3 * b);
        }
    if (row.input == DRONE_IN_AXES_CODED) { /* theirs [B 3, 4, T]: velocity and three axes */
        assert_true(load(&g, AXES, &axes));
        for (int i = 0; i < 2 * 200 * 9; i++) {
            const int b = i / 1800, t = i / 9 % 200, k = i / 3 % 3, j = i % 3;

            m[i] = axes.f64[((b * 3 + k) * 4 + 1 + j) * 200 + t];
        }
        reln_array_clear(&axes);
    }
    assert_ok(r.ctx, reln_plan_bind_sized(r.plan, "v", v, RELN_F64, 1200));
    if (drone_size_m(row.input, 1) > 0)
        assert_ok(r.ctx, reln_plan_bind_sized(r.plan, "m", m, RELN_F64, 3600));
    if (drone_size_l(row.input) > 0)
        assert_ok(r.ctx, reln_plan_bind_sized(r.plan, "l", l, RELN_F64, 6));
    assert_ok(r.ctx, reln_plan_run(r.plan, &(RelnRun){.n_samples = 2}));
    out = reln_plan_output(r.plan, "out", NULL);
    for (int i = 0; i < 6; i++) {
        worst = fmax(worst, fabs(out[i] - y.f64[i]));
        size = fmax(size, fabs(y.f64[i]));
    }
    if (!(worst < 1e-10 * size))
        fail_msg("%s: off by %g of %g", folder, worst, size);
    reln_array_clear(&x);
    reln_array_clear(&y);
    close_rig(&r);
}

static void vector_neurons_give_the_published_numbers(void **state)
{
    (void)state;
    check_golden("net_vn_v", "vn", "so:3");
}

static void reln_of_velocities_gives_the_published_numbers(void **state)
{
    (void)state;
    check_golden("net_ln_v", "reln-v", "so:3");
}

static void reln_of_covariances_gives_the_published_numbers(void **state)
{
    (void)state;
    check_golden("net_ln_vlogC", "reln", "so:3");
}

static void resnet_gives_the_published_numbers(void **state)
{
    (void)state;
    check_golden("net_resnet_vC", "resnet", "none:3");
}

static void the_coded_axes_give_the_published_numbers(void **state)
{
    (void)state;
    check_golden("net_vn_vC", "vn-axes-coded", "none:3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equivariant_rows_turn_with_their_windows),
        cmocka_unit_test(rows_without_symmetry_do_not),
        cmocka_unit_test(corrections_do_not_depend_on_the_mean_velocity),
        cmocka_unit_test(our_network_starts_as_a_smoother),
        cmocka_unit_test(bounded_networks_do_not_run_away),
        cmocka_unit_test(reflections_are_kept_by_ours_and_vectors_alone),
        cmocka_unit_test(a_network_about_gravity_keeps_turns_about_it_only),
        cmocka_unit_test(factors_of_paths_keep_variances),
        cmocka_unit_test(published_networks_have_their_number_of_parameters),
        cmocka_unit_test(blocks_have_a_convolution_beside_them_where_shapes_change),
        cmocka_unit_test(vector_neurons_give_the_published_numbers),
        cmocka_unit_test(reln_of_velocities_gives_the_published_numbers),
        cmocka_unit_test(reln_of_covariances_gives_the_published_numbers),
        cmocka_unit_test(resnet_gives_the_published_numbers),
        cmocka_unit_test(the_coded_axes_give_the_published_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
