/* Jets: metrics and rates against the published code's, the generator's statistics, frames that change no logit and a
 * clamp that does, files that are read and files that are refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/golden.h"
#include "support/support.h"
#include "tasks/jets/judge.h"

static double *load(const char *name, ptrdiff_t *count)
{
    ptrdiff_t dims[4];
    double *values = NULL;
    char path[64];
    int rank;

    snprintf(path, sizeof path, "jets_roc/%s", name);
    assert_true(golden_load(path, 4, dims, &rank, &values));
    *count = 1;
    for (int i = 0; i < rank; i++)
        *count *= dims[i];
    return values;
}

static TaskEnv open_env(TaskScale scale)
{
    TaskEnv env = {.task = task_find("jets"), .scale = scale};

    assert_non_null(env.task);
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    return env;
}

static void close_env(TaskEnv *env)
{
    task_release(env);
    reln_ctx_destroy(env->ctx);
}

/* ---- metrics ------------------------------------------------------------------------------------------------------- */

static void compare_metrics(TaskEnv *env, const char *kind)
{
    ptrdiff_t n, k;
    char name[32];
    double *label = load("label", &n), *score, *auc, *published, *all;
    int32_t *labels = malloc((size_t)n * sizeof *labels);
    JetsNumbers numbers;

    snprintf(name, sizeof name, "%s_score", kind);
    score = load(name, &k);
    assert_int_equal(n, k);
    for (ptrdiff_t i = 0; i < n; i++)
        labels[i] = (int32_t)label[i];
    snprintf(name, sizeof name, "%s_auc", kind);
    auc = load(name, &k);
    snprintf(name, sizeof name, "%s_eB", kind);
    published = load(name, &k);
    snprintf(name, sizeof name, "%s_eB_allpoints", kind);
    all = load(name, &k);
    const JetsScores s = {n, score, NULL, labels};
    assert_ok(env->ctx, jets_numbers(env, &s, 50, 1, &numbers));
    assert_true(fabs(numbers.auc - *auc) < 1e-14);
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(numbers.published[i].background - published[i]) < 1e-14);
        assert_true(fabs(numbers.at[i].background - all[i]) < 1e-14);
    }
    /* of an AUC of 0.9 with 150 of either class, the error is near 0.017 (Hanley and McNeil) */
    assert_true(numbers.auc_error > 0.008 && numbers.auc_error < 0.034);
    free(label);
    free(labels);
    free(score);
    free(auc);
    free(published);
    free(all);
}

static void metrics_are_as_published(void **state)
{
    TaskEnv env = open_env(TASK_FULL);

    (void)state;
    compare_metrics(&env, "ties");
    compare_metrics(&env, "distinct");
    close_env(&env);
}

static void weights_count_as_copies(void **state)
{
    enum { N = 6 };
    const double once[N] = {3, 1, 2, -1, 0, -2}, weights[N] = {2, 1, 1, 1, 3, 1};
    const int32_t labels[N] = {1, 1, 0, 1, 0, 0};
    double copies[16], difference[3];
    int32_t copied[16];
    TaskEnv env = open_env(TASK_SMOKE);
    JetsNumbers a, b;
    ptrdiff_t n = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < (int)weights[i]; k++) {
            copies[n] = once[i];
            copied[n++] = labels[i];
        }
    assert_ok(env.ctx, jets_numbers(&env, &(JetsScores){N, once, weights, labels}, 0, 0, &a));
    assert_ok(env.ctx, jets_numbers(&env, &(JetsScores){n, copies, NULL, copied}, 0, 0, &b));
    assert_true(fabs(a.auc - b.auc) < 1e-15 && fabs(a.accuracy - b.accuracy) < 1e-15);
    /* the same scores differ by nothing, in every draw */
    const JetsScores same = {N, once, NULL, labels};
    assert_ok(env.ctx, jets_compare(&env, 1, &same, &same, 50, 1, difference));
    assert_true(difference[0] == 0 && difference[1] == 0 && difference[2] == 0);
    close_env(&env);
}

/* Two seeds that differ by +d and -d jet by jet have the mean difference 0 in every draw. Two equal seeds have the
 * difference and the interval of one seed. */
static void seeds_are_compared_together(void **state)
{
    enum { N = 8 };
    const double up[N] = {0, 1, 2, 3, 4, 5, 6, 7}, down[N] = {0, 1, 2, 4, 3, 5, 6, 7};
    const int32_t labels[N] = {0, 0, 0, 0, 1, 1, 1, 1};
    const JetsScores a[2] = {{N, up, NULL, labels}, {N, down, NULL, labels}},
                     b[2] = {{N, down, NULL, labels}, {N, up, NULL, labels}},
                     twice[2] = {a[0], a[0]}, other[2] = {b[0], b[0]};
    double cancelled[3], one[3], two[3];
    TaskEnv env = open_env(TASK_SMOKE);

    (void)state;
    assert_ok(env.ctx, jets_compare(&env, 2, a, b, 50, 1, cancelled));
    assert_ok(env.ctx, jets_compare(&env, 1, a, b, 50, 1, one));
    assert_ok(env.ctx, jets_compare(&env, 2, twice, other, 50, 1, two));
    for (int k = 0; k < 3; k++)
        assert_true(cancelled[k] == 0 && one[k] == two[k]);
    assert_true(fabs(one[0] - 1.0 / 16) < 1e-15 && one[2] > one[0]); /* one of 16 pairs */
    close_env(&env);
}

static void rates_are_as_published(void **state)
{
    enum { EPOCHS = 35, STEPS = 14 };
    const JetsScale scale = {.rate = 1e-3, .epochs = EPOCHS};
    const RelnSchedule s = jets_schedule(&scale, scale.epochs, JETS_PUBLISHED, STEPS);
    ptrdiff_t n;
    double *want = load("lr_schedule", &n);

    (void)state;
    assert_int_equal(n, EPOCHS);
    for (uint64_t t = 0; t < EPOCHS * STEPS; t++)
        assert_true(fabs(reln_schedule_rate(&s, t, EPOCHS * STEPS, 0) - want[t / STEPS]) <
                    4 * 2.2e-16 * 1e-3);
    free(want);
}

/* ---- the generator -------------------------------------------------------------------------------------------------- */

typedef struct Statistics {
    double count, count_spread, mass[3]; /* mass: of 25, 50, 75 in a hundred */
} Statistics;

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static Statistics statistics_of(const Jets *jets, int label)
{
    double *mass = malloc((size_t)jets->n * sizeof *mass), sum = 0, squares = 0, total[4];
    ptrdiff_t at = 0;
    int n = 0;
    Statistics s;

    for (ptrdiff_t i = 0; i < jets->n; at += jets->counts[i++])
        if (jets->labels[i] == label) {
            jets_sum(jets->counts[i], jets->p + 4 * at, total);
            mass[n++] = sqrt(jets_dot(total, total));
            sum += jets->counts[i];
            squares += (double)jets->counts[i] * jets->counts[i];
            assert_true(jets_pt(total) > 549 && jets_pt(total) < 651);
        }
    qsort(mass, (size_t)n, sizeof *mass, by_number);
    s.count = sum / n;
    s.count_spread = sqrt(squares / n - s.count * s.count);
    for (int k = 0; k < 3; k++)
        s.mass[k] = mass[(k + 1) * n / 4];
    free(mass);
    return s;
}

/* Numbers of the generator's description, each within four standard errors of a thousand jets. */
static void generated_jets_have_their_counts_and_masses(void **state)
{
    enum { N = 2000 };
    TaskEnv env = open_env(TASK_SMOKE);
    Statistics light, top;
    Jets jets;

    (void)state;
    assert_ok(env.ctx, jets_init(&env, &env.rooms, N, N * JETS_MOST, 0, &jets));
    assert_ok(env.ctx, jets_toy_fill(&env, &(JetsToy){false, false}, 1, 0, N, &jets));
    light = statistics_of(&jets, 0);
    top = statistics_of(&jets, 1);
    print_message(
        "light: %.1f +- %.1f, mass %.0f %.0f %.0f; top: %.1f +- %.1f, mass %.0f %.0f %.0f\n",
        light.count, light.count_spread, light.mass[0], light.mass[1], light.mass[2], top.count,
        top.count_spread, top.mass[0], top.mass[1], top.mass[2]);
    assert_true(fabs(light.count - 43.3) < 4 * 17.8 / sqrt(N / 2));
    assert_true(fabs(top.count - 53.7) < 4 * 14.3 / sqrt(N / 2));
    assert_true(fabs(light.count_spread - 17.8) < 4 * 17.8 / sqrt(N));
    assert_true(fabs(top.count_spread - 14.3) < 4 * 14.3 / sqrt(N));
    assert_true(fabs(light.mass[1] - 84) < 4 * 2.5 && fabs(top.mass[1] - 176) < 4 * 1.0);
    assert_true(fabs(light.mass[0] - 53) < 4 * 2.0 && fabs(light.mass[2] - 124) < 4 * 3.5);
    assert_true(fabs(top.mass[0] - 166) < 4 * 1.0 && fabs(top.mass[2] - 188) < 4 * 1.5);
    close_env(&env);
}

static void matched_jets_have_equal_counts_and_masses(void **state)
{
    enum { N = 400 };
    TaskEnv env = open_env(TASK_SMOKE);
    Statistics light, top;
    Jets jets;
    double sum[2] = {0, 0}, mean[2] = {0, 0};
    ptrdiff_t at = 0;

    (void)state;
    assert_ok(env.ctx, jets_init(&env, &env.rooms, N, N * JETS_MOST, 0, &jets));
    assert_ok(env.ctx, jets_toy_fill(&env, &(JetsToy){true, true}, 1, 0, N, &jets));
    light = statistics_of(&jets, 0);
    top = statistics_of(&jets, 1);
    assert_true(fabs(light.count - top.count) < 4 * 8 * sqrt(4.0 / N));
    for (ptrdiff_t i = 0; i < N; at += jets.counts[i++]) {
        double total[4];

        jets_sum(jets.counts[i], jets.p + 4 * at, total);
        sum[jets.labels[i]] += jets.weights[i];
        mean[jets.labels[i]] += jets.weights[i] * fmin(400, sqrt(jets_dot(total, total)));
    }
    assert_true(fabs(sum[0] - sum[1]) < 1e-9 * N); /* each class keeps its weight */
    /* weighted means agree within the width of a bin; without weights they are 60 GeV apart */
    assert_true(fabs(mean[0] / sum[0] - mean[1] / sum[1]) < 10);
    /* of few jets some masses of tops have no light jet, and the others have its weight */
    for (uint64_t seed = 2; seed < 6; seed++) {
        enum { FEWER = 24 };
        double light_sum = 0, light_count = 0;

        assert_ok(env.ctx, jets_init(&env, &env.rooms, FEWER, FEWER * JETS_MOST, 0, &jets));
        assert_ok(env.ctx, jets_toy_fill(&env, &(JetsToy){true, true}, seed, 0, FEWER, &jets));
        for (ptrdiff_t i = 0; i < FEWER; i++) {
            light_sum += jets.labels[i] == 0 ? jets.weights[i] : 0;
            light_count += jets.labels[i] == 0;
        }
        assert_true(fabs(light_sum - light_count) < 1e-9 * FEWER);
    }
    close_env(&env);
}

/* ---- frames --------------------------------------------------------------------------------------------------------- */

enum { TRIED = 6 };

typedef struct Tried {
    RelnSetting s;
    RelnPlan *plan;
    JetsModel model;
    JetsBatch batch;
    Jets jets;
} Tried;

/* A network with its first weights, those of moves enlarged so that they matter. */
static void try_open(TaskEnv *env, Tried *t, RelnDtype dtype)
{
    RelnNode *out;
    RelnNet net;

    memset(&t->s, 0, sizeof t->s);
    t->plan = NULL;
    assert_ok(t->s.ctx, reln_setting_init(&t->s, jets_symmetry(&t->model), "gl:4", dtype, 5));
    net = (RelnNet){.graph = t->s.graph, .algebra = t->s.algebra};
    out = jets_network(&net, &t->model);
    reln_output(t->s.graph, "out", out);
    assert_ok(t->s.ctx, reln_plan_create(t->s.graph, NULL, &t->plan));
    for (int i = 0; i < reln_store_count(t->s.store); i++) {
        const RelnEntryInfo e = reln_store_entry(t->s.store, i);
        const size_t n = strlen(e.name);

        for (size_t k = 0; n > 3 && strcmp(e.name + n - 3, ".Wf") == 0 && k < e.count; k++)
            if (dtype == RELN_F64)
                ((double *)e.values)[k] *= 1000;
            else
                ((float *)e.values)[k] *= 1000;
    }
    assert_ok(env->ctx, jets_init(env, &env->rooms, TRIED, TRIED * JETS_MOST, 0, &t->jets));
    assert_ok(env->ctx, jets_toy_fill(env, &(JetsToy){false, false}, 3, 0, TRIED, &t->jets));
    assert_ok(env->ctx, jets_batch_init(env, &env->rooms, TRIED, 0, &t->batch));
    t->batch.whole = true;
    t->batch.bare = t->model.kind == JETS_PARTS;
}

static void try_close(Tried *t)
{
    reln_plan_destroy(t->plan);
    reln_setting_clear(&t->s);
}

static void logits_of(Tried *t, const JetsView *view, RelnDtype dtype, double *out)
{
    const void *values;

    jets_batch_fill(&t->batch, &t->jets, view);
    assert_ok(t->s.ctx, exp_bind(t->plan, &t->batch.set));
    assert_ok(t->s.ctx, reln_plan_run(t->plan, &(RelnRun){.n_samples = TRIED}));
    values = reln_plan_output(t->plan, "out", NULL);
    for (int i = 0; i < 2 * TRIED; i++)
        out[i] =
            dtype == RELN_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

/* The largest change of a logit in frames of velocities up to 0.99, beams with the jets. */
static double change_of(Tried *t, RelnDtype dtype, bool stay)
{
    double before[2 * TRIED], after[2 * TRIED], frame[16], most = 0;
    RelnRng rng = reln_rng(9, 0);

    logits_of(t, NULL, dtype, before);
    for (int i = 0; i < 4; i++) {
        const JetsView view = {.frame = frame, .beams_stay = stay};

        if (i == 0)
            jets_boost(0, 0.99, frame);
        else
            jets_random_frame(&rng, i == 1 ? 0.99 : reln_rng_uniform(&rng), frame);
        logits_of(t, &view, dtype, after);
        for (int k = 0; k < 2 * TRIED; k++)
            most = fmax(most, fabs(after[k] - before[k]));
    }
    return most;
}

static const JetsModel exact[] = {
    {.kind = JETS_MLP, .width = 16},
    {.kind = JETS_SET, .scale = 1, .width = 16},
    {.kind = JETS_LIE, .width = 16, .channels = 6, .blocks = 2},
    {.kind = JETS_MESSAGES, .scale = 1, .step = 0.005, .width = 16, .blocks = 3},
    {.kind = JETS_MESSAGES, .scale = 1, .step = 0.005, .limit = 10, .width = 16, .blocks = 3},
    {.kind = JETS_MESSAGES,
     .scale = 20,
     .step = 0.005,
     .limit = 10,
     .width = 16,
     .blocks = 3,
     .pair = JETS_OWN},
    {.kind = JETS_MESSAGES,
     .scale = 1,
     .step = 0.005,
     .limit = 10,
     .width = 16,
     .blocks = 3,
     .subjets = 4,
     .bank = true},
    {.kind = JETS_GRADED,
     .scale = 20,
     .step = 0.1,
     .limit = 10,
     .width = 16,
     .blocks = 3,
     .channels = 4,
     .subjets = 4,
     .bank = true,
     .bivectors = true},
    {.kind = JETS_GRADED,
     .scale = 20,
     .step = 0.1,
     .limit = 10,
     .width = 16,
     .blocks = 3,
     .channels = 4,
     .subjets = 4,
     .bank = true},
    {.kind = JETS_PARTS, .width = 16, .blocks = 2, .towers = 2},
    {.kind = JETS_PARTS,
     .width = 16,
     .blocks = 1,
     .towers = 2,
     .messages = 2,
     .scale = 1,
     .step = 0.005,
     .limit = 10},
};

static void logits_are_the_same_in_every_frame(void **state)
{
    TaskEnv env = open_env(TASK_SMOKE);

    (void)state;
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        Tried t = {.model = exact[i]};
        double wide, narrow, stay;

        try_open(&env, &t, RELN_F64);
        wide = change_of(&t, RELN_F64, false);
        stay = change_of(&t, RELN_F64, true);
        try_close(&t);
        try_open(&env, &t, RELN_F32);
        narrow = change_of(&t, RELN_F32, false);
        try_close(&t);
        print_message("network %zu: %.1e in double, %.1e in single, %.1e with beams in the lab\n",
                      i, wide, narrow, stay);
        assert_true(wide < 1e-9);
        assert_true(narrow < 1e-4); /* a thousand roundings of single precision */
        assert_true(stay > 1e-6);   /* so frames matter, and the test can see it */
    }
    close_env(&env);
}

static void the_published_clamp_breaks_the_symmetry(void **state)
{
    TaskEnv env = open_env(TASK_SMOKE);
    Tried t = {.model = exact[3]};
    double clamped;

    (void)state;
    t.model.clamp = 1; /* first weights move less than trained ones, of which 100 cuts off some */
    try_open(&env, &t, RELN_F64);
    clamped = change_of(&t, RELN_F64, false);
    try_close(&t);
    print_message("with the clamp: %.1e\n", clamped);
    assert_true(clamped > 1e-5);
    close_env(&env);
}

/* ---- views ---------------------------------------------------------------------------------------------------------- */

/* Particles are split and added while there is room, to the last place. */
static void views_fill_a_jet_up_to_its_limit(void **state)
{
    enum { N = JETS_MOST / 2 + 50 };
    TaskEnv env = open_env(TASK_SMOKE);
    double p[N][4], before[4];
    JetsBatch batch;
    Jets jets;

    (void)state;
    for (int i = 0; i < N; i++) {
        p[i][1] = 10 + i % 7;
        p[i][2] = 0.1 * (i % 5);
        p[i][3] = 3;
        p[i][0] = sqrt(p[i][1] * p[i][1] + p[i][2] * p[i][2] + p[i][3] * p[i][3]);
    }
    assert_ok(env.ctx, jets_init(&env, &env.rooms, 1, JETS_MOST, 0, &jets));
    assert_true(jets_add(&jets, N, p[0], NULL, 1, 1));
    assert_ok(env.ctx, jets_batch_init(&env, &env.rooms, 1, 0, &batch));
    jets_sum(N, p[0], before);
    jets_batch_fill(&batch, &jets, &(JetsView){.split = 1, .seed = 1});
    assert_int_equal(batch.counts[0], JETS_MOST + JETS_BEAMS);
    for (int k = 0; k < 4; k++)
        assert_small(batch.total[k] - before[k], JETS_MOST * 0x1p-52 * before[0]);
    jets_batch_fill(&batch, &jets, &(JetsView){.soft = JETS_MOST, .soft_share = 0.1, .seed = 1});
    assert_int_equal(batch.counts[0], JETS_MOST + JETS_BEAMS);
    close_env(&env);
}

static void views_keep_what_they_promise(void **state)
{
    TaskEnv env = open_env(TASK_SMOKE);
    double before[4], after[4];
    JetsBatch batch;
    Jets jets;

    (void)state;
    assert_ok(env.ctx, jets_init(&env, &env.rooms, 1, JETS_MOST, 0, &jets));
    assert_ok(env.ctx, jets_toy_fill(&env, &(JetsToy){false, false}, 4, 1, 1, &jets));
    assert_ok(env.ctx, jets_batch_init(&env, &env.rooms, 1, 0, &batch));
    jets_sum(jets.counts[0], jets.p, before);
    jets_batch_fill(&batch, &jets, &(JetsView){.split = 1, .seed = 1});
    memcpy(after, batch.total, sizeof after);
    for (int k = 0; k < 4; k++) /* a particle split in two has the same momentum */
        assert_true(fabs(after[k] - before[k]) < 1e-12 * before[0]);
    assert_int_equal(batch.counts[0], 2 * jets.counts[0] + JETS_BEAMS);
    for (int i = 0, uneven = 0; i < jets.counts[0]; i++) { /* 0.1 to 0.9 of it, never the same */
        const double share = batch.p[4 * (JETS_BEAMS + i)] / jets.p[4 * i];

        assert_true(share > 0.1 - 1e-12 && share < 0.9 + 1e-12);
        uneven += fabs(share - 0.5) > 0.2;
        assert_true(i + 1 < jets.counts[0] || uneven > jets.counts[0] / 4);
    }
    for (int i = 0; i < jets.counts[0];
         i++) { /* both halves together have its mass; psi of it is stored */
        const double *first = batch.scalars + (ptrdiff_t)(JETS_BEAMS + i) * batch.n_scalars,
                     *second = first + (ptrdiff_t)jets.counts[0] * batch.n_scalars;

        assert_small(expm1(first[0]) + expm1(second[0]) - jets.mass[i], 1e-12 * (1 + jets.mass[i]));
    }
    jets_batch_fill(&batch, &jets, &(JetsView){.split = 0.2, .seed = 1});
    assert_true(batch.counts[0] > jets.counts[0] + JETS_BEAMS);
    assert_true(batch.counts[0] < JETS_BEAMS + jets.counts[0] * 3 / 2);
    /* a beam is told from particles by psi(1); psi of a particle's mass stands beside it */
    for (int i = 0; i < JETS_BEAMS + jets.counts[0]; i++) {
        const double *scalars = batch.scalars + (ptrdiff_t)i * batch.n_scalars;

        assert_true(scalars[1] == (i < JETS_BEAMS ? log(2) : 0));
        assert_true(batch.particle[i] == (i < JETS_BEAMS ? 0 : 1));
    }
    jets_batch_fill(&batch, &jets, NULL);
    for (int i = 0; i < jets.counts[0]; i++)
        assert_small(batch.scalars[(ptrdiff_t)(JETS_BEAMS + i) * batch.n_scalars] -
                         log1p(jets.mass[i]),
                     1e-14);
    jets_batch_fill(&batch, &jets, &(JetsView){.soft = 40, .soft_share = 0.01, .seed = 1});
    {
        double widest = 0;

        for (int i = jets.counts[0]; i < jets.counts[0] + 40; i++) {
            const double *p = batch.p + 4 * (ptrdiff_t)(JETS_BEAMS + i);
            const double eta = jets_eta(p) - jets_eta(before),
                         phi = jets_turn(jets_phi(p), jets_phi(before));

            widest = fmax(widest, sqrt(eta * eta + phi * phi));
        }
        assert_true(widest > 0.7 && widest < 0.8 + 1e-9); /* evenly in a disc of 0.8 */
    }
    jets_batch_fill(&batch, &jets, &(JetsView){.soft = 10, .soft_share = 0.01, .seed = 1});
    assert_int_equal(batch.counts[0], jets.counts[0] + 10 + JETS_BEAMS);
    assert_true(fabs(jets_pt(batch.total) / jets_pt(before) - 1) < 0.011);
    jets_batch_fill(&batch, &jets, &(JetsView){.hardest = 5});
    assert_int_equal(batch.counts[0], 5 + JETS_BEAMS);
    for (int i = 0; i < 5; i++) /* they are sorted */
        assert_true(batch.p[4 * (JETS_BEAMS + i)] == jets.p[4 * i]);
    close_env(&env);
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

enum { FEW = 3, AXIS = 4 };

typedef struct File {
    float p[FEW][AXIS][4];
    int64_t n[FEW], label[FEW];
    double charge[FEW][AXIS];
} File;

static File good_file(float unit)
{
    File f = {.n = {2, 4, 1}, .label = {0, 1, 1}};

    for (int i = 0; i < FEW; i++)
        for (int k = 0; k < (int)f.n[i]; k++) {
            const float p[4] = {500, 300, 400, (float)k};

            for (int a = 0; a < 4; a++)
                f.p[i][k][a] = unit * p[a];
            f.charge[i][k] = k % 2;
        }
    return f;
}

static RelnStatus open_file(TaskEnv *env, File *f, const char *path, const JetsFiles *files,
                            JetsSource **out)
{
    const RelnArray arrays[] = {
        {.name = "Pmu", .dtype = RELN_F32, .rank = 3, .dims = {FEW, AXIS, 4}, .values = f->p},
        {.name = "Nobj", .dtype = RELN_I64, .rank = 1, .dims = {FEW}, .values = f->n},
        {.name = "is_signal", .dtype = RELN_I64, .rank = 1, .dims = {FEW}, .values = f->label},
        {.name = "charge", .dtype = RELN_F64, .rank = 2, .dims = {FEW, AXIS}, .values = f->charge}};

    assert_ok(env->ctx, reln_npz_save(env->ctx, path, 4, arrays));
    return jets_source_open(env, path, files, out);
}

static void jets_are_read_from_files(void **state)
{
    const char *path = path_in(*state, "train.npz");
    const ptrdiff_t which[2] = {2, 1};
    TaskEnv env = open_env(TASK_SMOKE);
    File f = good_file(1);
    JetsSource *source, *both[2], *joined;
    Jets jets;

    assert_ok(env.ctx, open_file(&env, &f, path, &(JetsFiles){.extra = "charge"}, &source));
    assert_int_equal(jets_source_count(source), FEW);
    assert_false(jets_source_in_mev(source));
    assert_ok(env.ctx, jets_init(&env, &env.rooms, 4, 20, 1, &jets));
    assert_ok(env.ctx, jets_source_read(&env, source, 2, which, &jets));
    assert_int_equal(jets.counts[0], 1);
    assert_int_equal(jets.counts[1], 4);
    assert_true(jets.p[0] == 500 && jets.p[4 * 3 + 3] == 2 && jets.extra[2] == 1);
    f = good_file(1000); /* the same in MeV */
    assert_ok(env.ctx, open_file(&env, &f, path, &(JetsFiles){.extra = "charge"}, &both[1]));
    assert_true(jets_source_in_mev(both[1]));
    both[0] = source;
    assert_ok(env.ctx, jets_source_join(&env, 2, both, &joined));
    assert_int_equal(jets_source_count(joined), 2 * FEW);
    assert_ok(env.ctx, jets_source_read(&env, joined, 1, &(ptrdiff_t){FEW}, &jets));
    assert_int_equal(jets.counts[0], 2);
    assert_true(fabs(jets.p[0] - 500) < 1e-3);
    close_env(&env);
    assert_int_equal(unlink(path), 0);
}

/* One jet of a few makes no unit: 25 TeV across the beam is an odd jet among others of 500 GeV. Two of three do. */
static void most_jets_decide_the_unit(void **state)
{
    const char *path = path_in(*state, "odd.npz");

    for (int odd = 1; odd <= 2; odd++) {
        TaskEnv env = open_env(TASK_SMOKE);
        File f = good_file(1);
        JetsSource *source;

        for (int i = 0; i < odd; i++)
            for (int k = 0; k < (int)f.n[i]; k++)
                for (int a = 0; a < 4; a++)
                    f.p[i][k][a] *= 50;
        assert_ok(env.ctx, open_file(&env, &f, path, NULL, &source));
        assert_int_equal(jets_source_in_mev(source), odd == 2);
        close_env(&env);
        assert_int_equal(unlink(path), 0);
    }
}

/* The table of pandas: 200 momenta and that of the top quark in a row, then (kind of set, label). The number of particles is
 * that of the momenta before the first zero. */
static void a_table_of_pandas_is_read(void **state)
{
    enum { NUMBERS = 804 };
    static float block[FEW][NUMBERS];
    static int64_t labels[FEW][2];
    const char *path = path_in(*state, "table.safetensors");
    const RelnArray arrays[] = {{.name = "table/table/values_block_0",
                                 .dtype = RELN_F32,
                                 .rank = 2,
                                 .dims = {FEW, NUMBERS},
                                 .values = block},
                                {.name = "table/table/values_block_1",
                                 .dtype = RELN_I64,
                                 .rank = 2,
                                 .dims = {FEW, 2},
                                 .values = labels}};
    TaskEnv env = open_env(TASK_SMOKE);
    JetsSource *source;
    Jets jets;

    for (int i = 0; i < FEW; i++) {
        for (int k = 0; k <= i; k++) { /* i + 1 particles along x */
            block[i][4 * k] = block[i][4 * k + 1] = (float)(300 + k);
            labels[i][0] = 1;
            labels[i][1] = i % 2;
        }
        block[i][800] = 777; /* of the top quark: not a particle */
    }
    assert_ok(env.ctx, reln_tensors_save(env.ctx, path, 2, arrays, NULL));
    assert_ok(env.ctx, jets_source_open(&env, path, NULL, &source));
    assert_int_equal(jets_source_count(source), FEW);
    assert_ok(env.ctx, jets_init(&env, &env.rooms, 2, 20, 0, &jets));
    assert_ok(env.ctx, jets_source_read(&env, source, 2, (const ptrdiff_t[]){1, 2}, &jets));
    assert_int_equal(jets.counts[0], 2);
    assert_int_equal(jets.counts[1], 3);
    assert_int_equal(jets.labels[0], 1);
    assert_int_equal(jets.labels[1], 0);
    assert_true(jets.p[4] == 301 && jets.p[4 * 4 + 1] == 302);
    close_env(&env);
    assert_int_equal(unlink(path), 0);
    block[2][0] = 0; /* no momentum before the first zero */
    env = open_env(TASK_SMOKE);
    assert_ok(env.ctx, reln_tensors_save(env.ctx, path, 2, arrays, NULL));
    assert_int_equal(jets_source_open(&env, path, NULL, &source), RELN_ERR_FORMAT);
    assert_non_null(strstr(env.message, "jet 2 is empty"));
    close_env(&env);
    assert_int_equal(unlink(path), 0);
}

/* ---- remarks -------------------------------------------------------------------------------------------------------- */

static void append_line(void *self, const char *line)
{
    strcat(strcat(self, line), "|");
}

/* A row is compared with LorentzNet of the same recipe by the jets of both; data in MeV are told of. */
static void rows_are_compared_with_lorentznet(void **state)
{
    static const char *const names[] = {"lorentznet-free-84", "lorentznet-ours-84", "graded-84"};
    TaskEnv env = open_env(TASK_SMOKE);
    TaskRun runs[3] = {{.env = &env, .seed = 1, .done = true},
                       {.env = &env, .seed = 1, .done = true},
                       {.env = &env, .seed = 1, .done = true}};
    char text[1024] = "";

    (void)state;
    for (int r = 0; r < 3; r++) {
        for (int m = 0; m < env.task->n_models; m++)
            if (strcmp(env.task->models[m].name, names[r]) == 0)
                runs[r].model = &env.task->models[m];
        /* the last row is right in all of 16 pairs; the others are in 8, and 3 of their pairs are equal */
        for (int i = 0; i < 8; i++)
            assert_ok(env.ctx, task_curve(&runs[r], JETS_CURVE_SCORES, i + 0.5 * (i >= 4),
                                          r == 2 ? i : (i * 3 + (i > 2)) % 8));
    }
    assert_ok(env.ctx, jets_remarks(&env, runs, 3, 1, append_line, text));
    assert_null(strstr(text, "MeV"));
    assert_non_null(strstr(text, "graded ReLN (ours), seed 1: AUC +0.4062 "
                                 "against LorentzNet 84 k, our recipe, 95 % of a paired"));
    assert_non_null(strstr(text, "LorentzNet 84 k, invariant limit, seed 1: AUC +0.0000 against"));
    assert_null(strstr(text, "our recipe, seed 1")); /* not with itself */
    assert_null(strstr(text, "against LorentzNet 84 k, invariant limit"));
    assert_ok(env.ctx, task_curve(&runs[0], JETS_CURVE_UNIT, 0, 1e-3));
    text[0] = '\0';
    assert_ok(env.ctx, jets_remarks(&env, runs, 3, 1, append_line, text));
    assert_non_null(strstr(text, "momenta of the data are in MeV; they were divided by 1000|"));
    runs[0].done = false; /* what is not finished has no say */
    text[0] = '\0';
    assert_ok(env.ctx, jets_remarks(&env, runs, 3, 1, append_line, text));
    assert_null(strstr(text, "MeV"));
    assert_null(strstr(text, "invariant limit"));
    runs[0].done = true;
    TaskRun two[6] = {runs[0], runs[0], runs[1], runs[1], runs[2], runs[2]};
    text[0] = '\0';
    assert_ok(env.ctx, jets_remarks(&env, two, 3, 2, append_line, text));
    assert_non_null(strstr(text, "graded ReLN (ours), mean of 2 seeds: AUC +0.4062"));
    assert_null(strstr(text, "seed 1"));
    two[3].done = false; /* the reference of the second seed would be another row */
    text[0] = '\0';
    assert_ok(env.ctx, jets_remarks(&env, two, 3, 2, append_line, text));
    assert_non_null(strstr(text, "graded ReLN (ours), seed 1: AUC +0.4062 against LorentzNet 84 k, "
                                 "our recipe"));
    assert_null(strstr(text, "mean of 2 seeds"));
    for (int r = 0; r < 3; r++)
        task_run_clear(&runs[r]);
    close_env(&env);
}

/* A pre-trained row is compared with the pre-trained LorentzNet, and the other rows are not. */
static void pretrained_rows_are_compared_with_each_other(void **state)
{
    static const char *const names[] = {"lorentznet-drawn-84", "lorentznet-ours-84",
                                        "joined-drawn-84", "joined-84"};
    TaskEnv env = open_env(TASK_SMOKE);
    TaskRun runs[4] = {{0}};
    char text[1024] = "";

    (void)state;
    for (int r = 0; r < 4; r++) {
        runs[r] = (TaskRun){.env = &env, .seed = 1, .done = true};
        for (int m = 0; m < env.task->n_models; m++)
            if (strcmp(env.task->models[m].name, names[r]) == 0)
                runs[r].model = &env.task->models[m];
        for (int i = 0; i < 8; i++)
            assert_ok(env.ctx, task_curve(&runs[r], JETS_CURVE_SCORES, i + 0.5 * (i >= 4), i));
    }
    assert_ok(env.ctx, jets_remarks(&env, runs, 4, 1, append_line, text));
    assert_non_null(strstr(text, "parts of jets, pre-trained on generated jets (ours), seed 1: AUC "
                                 "+0.0000 against LorentzNet 84 k, our recipe, pre-trained"));
    assert_non_null(strstr(text, "beside parts of jets (ours), seed 1: AUC +0.0000 against "
                                 "LorentzNet 84 k, our recipe, 95 %"));
    runs[0].done = false; /* without that row, the one that is not pre-trained takes its place */
    text[0] = '\0';
    assert_ok(env.ctx, jets_remarks(&env, runs, 4, 1, append_line, text));
    assert_non_null(strstr(text, "parts of jets, pre-trained on generated jets (ours), seed 1: AUC "
                                 "+0.0000 against LorentzNet 84 k, our recipe, 95 %"));
    for (int r = 0; r < 4; r++)
        task_run_clear(&runs[r]);
    close_env(&env);
}

static void refused(const char *path, File *f, const JetsFiles *files, const char *message)
{
    TaskEnv env = open_env(TASK_SMOKE);
    JetsSource *source = NULL;

    assert_int_not_equal(open_file(&env, f, path, files, &source), RELN_OK);
    if (!strstr(env.message, message))
        fail_msg("'%s' does not say '%s'", env.message, message);
    assert_null(strchr(env.message, '\n'));
    close_env(&env);
}

/* A label between the classes is none of them. */
static void labels_are_whole_numbers(void **state)
{
    const char *path = path_in(*state, "half.npz");
    TaskEnv env = open_env(TASK_SMOKE);
    double label[FEW] = {0, 0.5, 1};
    File f = good_file(1);
    const RelnArray arrays[] = {
        {.name = "Pmu", .dtype = RELN_F32, .rank = 3, .dims = {FEW, AXIS, 4}, .values = f.p},
        {.name = "Nobj", .dtype = RELN_I64, .rank = 1, .dims = {FEW}, .values = f.n},
        {.name = "is_signal", .dtype = RELN_F64, .rank = 1, .dims = {FEW}, .values = label}};
    const ptrdiff_t which[FEW] = {0, 1, 2};
    JetsSource *source = NULL;
    RelnStatus status;
    Jets jets;

    assert_ok(env.ctx, reln_npz_save(env.ctx, path, 3, arrays));
    assert_ok(env.ctx, jets_init(&env, &env.rooms, FEW, FEW * AXIS, 0, &jets));
    status = jets_source_open(&env, path, &(JetsFiles){0}, &source);
    if (status == RELN_OK)
        status = jets_source_read(&env, source, FEW, which, &jets);
    assert_int_equal(status, RELN_ERR_FORMAT);
    assert_non_null(strstr(env.message[0] ? env.message : reln_ctx_error(env.ctx),
                           "has the label 0.5; wanted 0 or 1"));
    close_env(&env);
    assert_int_equal(unlink(path), 0);
}

static void bad_files_are_refused_in_a_line(void **state)
{
    const char *path = path_in(*state, "bad.npz");
    File f;

    f = good_file(1);
    f.n[1] = 5;
    refused(path, &f, NULL, "jet 1 has a count of 5");
    f = good_file(1);
    f.n[2] = 0;
    refused(path, &f, NULL, "jet 2 is empty");
    f = good_file(1);
    f.p[1][2][0] = -3;
    refused(path, &f, NULL, "jet 1 has a particle of energy -3, number 2");
    f = good_file(1);
    f.p[0][0][3] = NAN;
    refused(path, &f, NULL, "not finite");
    f = good_file(1);
    f.label[0] = 2;
    refused(path, &f, NULL, "jet 0 has the label 2");
    f = good_file(1);
    refused(path, &f, &(JetsFiles){.extra = "identity"}, "no array 'identity'");
    refused(path, &f, &(JetsFiles){.weights = "charge"}, "'charge' has 2 axes");
    assert_int_equal(unlink(path), 0);
}

static void other_layouts_are_refused(void **state)
{
    const char *path = path_in(*state, "other.npz");
    double x[4] = {1, 2, 3, 4};
    const RelnArray other = {
        .name = "X", .dtype = RELN_F64, .rank = 2, .dims = {2, 2}, .values = x};
    TaskEnv env = open_env(TASK_SMOKE);
    JetsSource *source = NULL;

    assert_ok(env.ctx, reln_npz_save(env.ctx, path, 1, &other));
    assert_int_equal(jets_source_open(&env, path, NULL, &source), RELN_ERR_FORMAT);
    assert_non_null(strstr(env.message, "wanted the arrays Pmu, Nobj and is_signal"));
    close_env(&env);
    assert_int_equal(unlink(path), 0);
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static void parameters_are_as_published(void **state)
{
    TaskEnv env = open_env(TASK_FULL);

    (void)state;
    for (int m = 0; m < env.task->n_models; m++) {
        const TaskModel *model = &env.task->models[m];
        const JetsModel *settings = model->settings;
        const bool large = strstr(model->name, "-224") != NULL;
        RelnSetting s;
        size_t count;
        RelnNet net;

        if (settings->kind < JETS_LIE)
            continue;
        memset(&s, 0, sizeof s);
        assert_ok(s.ctx, reln_setting_init(&s, jets_symmetry(settings), "gl:4", RELN_F32, 1));
        net = (RelnNet){.graph = s.graph, .algebra = s.algebra};
        (void)jets_network(&net, settings);
        assert_ok(s.ctx, reln_graph_status(s.graph));
        count = reln_store_parameters(s.store);
        print_message("%s: %zu\n", model->name, count);
        if (model->params > 0)
            assert_int_equal(count, model->params);
        else if (settings->kind >= JETS_GRADED || settings->subjets > 0)
            assert_true(count <= (large ? 224072u : 84199u));
        reln_setting_clear(&s);
    }
    close_env(&env);
}

/* Networks of rows stay the same, since kept records name them: parameters, and a sum over the logits of the first weights. If a
 * network has to change, its row needs another setting, and records must be made again. RELN_SHOW=1 prints the table. */
static const struct {
    const char *row;
    size_t parameters;
    double sum;
} remembered[] = {
    {"mlp", 9174, -4.07726671184697},
    {"set", 67340, -49.3406168517514},
    {"lie-b-84", 75810, -5.23027766012247},
    {"lorentznet-84", 84199, 3.04461948002449},
    {"lorentznet-free-84", 84199, 3.04461955552596},
    {"lie-a-84", 84199, 0.868564793179972},
    {"reln-84", 84439, 24.6048866124055},
    {"graded-84", 82428, -31.3402430650201},
    {"graded-vectors-84", 82039, -30.2518628424247},
    {"subjets-84", 83418, -23.2198241009041},
    {"parts-84", 70136, -12.5057656405025},
    {"joined-84", 83903, -17.9849134480248},
    {"lorentznet-ours-84", 84199, 3.04461955552596},
    {"joined-drawn-84", 83903, -17.9849134480248},
    {"lorentznet-drawn-84", 84199, 3.04461955552596},
    {"lorentznet-224", 224072, -27.5465577980835},
    {"lorentznet-free-224", 224072, -27.5465583304298},
    {"lie-a-224", 224072, -26.4748806138897},
    {"lie-b-224", 183906, -2.50006361267644},
    {"reln-224", 224504, -26.7160185264742},
    {"graded-224", 220345, -32.0989061757336},
    {"difference-6", 84199, 0.868564793179972},
    {"difference-20", 84199, 0.0106893074148346},
    {"difference-100", 84199, -0.539390480803227},
    {"difference-400", 84199, -0.900839275913045},
    {"own-1", 84439, 10.6189984958687},
    {"own-6", 84439, 18.2268242036062},
    {"own-100", 84439, 33.6138453376266},
    {"own-400", 84439, 41.3030380656371},
};

static double sum_of_logits(Tried *t)
{
    double logits[2 * TRIED], sum = 0;

    logits_of(t, NULL, RELN_F64, logits);
    for (int i = 0; i < 2 * TRIED; i++)
        sum += (i + 1) * logits[i];
    return sum;
}

static void networks_of_rows_are_what_they_were(void **state)
{
    const size_t n_remembered = sizeof remembered / sizeof remembered[0];
    TaskEnv env = open_env(TASK_FULL);
    size_t at = 0;

    (void)state;
    for (int m = 0; m < env.task->n_models; m++) {
        const TaskModel *model = &env.task->models[m];
        size_t parameters;
        double sum;
        Tried t;

        t.model = *(const JetsModel *)model->settings;
        if (t.model.kind < JETS_MLP)
            continue;
        try_open(&env, &t, RELN_F64);
        parameters = reln_store_parameters(t.s.store);
        sum = sum_of_logits(&t);
        try_close(&t);
        if (getenv("RELN_SHOW"))
            print_message("    {\"%s\", %zu, %.15g},\n", model->name, parameters, sum);
        else if (at >= n_remembered || strcmp(model->name, remembered[at].row) != 0 ||
                 parameters != remembered[at].parameters ||
                 !(fabs(sum - remembered[at].sum) <= 1e-7 * fmax(1, fabs(sum))))
            fail_msg("%s has %zu parameters and %.15g; wanted %s, %zu, %.15g", model->name,
                     parameters, sum, at < n_remembered ? remembered[at].row : "nothing",
                     at < n_remembered ? remembered[at].parameters : 0,
                     at < n_remembered ? remembered[at].sum : 0.0);
        at++;
    }
    if (!getenv("RELN_SHOW"))
        assert_int_equal(at, n_remembered);
    close_env(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_as_published),
        cmocka_unit_test(weights_count_as_copies),
        cmocka_unit_test(seeds_are_compared_together),
        cmocka_unit_test(rates_are_as_published),
        cmocka_unit_test(generated_jets_have_their_counts_and_masses),
        cmocka_unit_test(matched_jets_have_equal_counts_and_masses),
        cmocka_unit_test(networks_of_rows_are_what_they_were),
        cmocka_unit_test(logits_are_the_same_in_every_frame),
        cmocka_unit_test(the_published_clamp_breaks_the_symmetry),
        cmocka_unit_test(views_fill_a_jet_up_to_its_limit),
        cmocka_unit_test(views_keep_what_they_promise),
        cmocka_unit_test_setup_teardown(jets_are_read_from_files, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(most_jets_decide_the_unit, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_table_of_pandas_is_read, folder_set_up, folder_tear_down),
        cmocka_unit_test(rows_are_compared_with_lorentznet),
        cmocka_unit_test(pretrained_rows_are_compared_with_each_other),
        cmocka_unit_test_setup_teardown(labels_are_whole_numbers, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_refused_in_a_line, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(other_layouts_are_refused, folder_set_up, folder_tear_down),
        cmocka_unit_test(parameters_are_as_published),
    };

    return cmocka_run_group_tests_name("tasks/jets", tests, NULL, NULL);
}
