/* Computes the metrics of every task again: the saved weights of a run in a network that the test builds, on
 * data that are drawn here, with the formula of each column written out. */
#include "support/support.h"
#include "tasks/bch/bch.h"
#include "tasks/elements.h"
#include "tasks/gln/gln.h"
#include "tasks/jets/judge.h"
#include "tasks/kept.h"
#include "tasks/pendulum.h"
#include "tasks/platonic/platonic.h"
#include "tasks/rigid/rigid.h"
#include "tasks/sl3/sl3.h"
#include "tasks/sp4/sp4.h"

/* A sample that is moved by operations in another order differs by a few roundings of double precision.
 * Rounded to single precision, a few of a hundred outputs then differ by one rounding. Errors that are large
 * compared with rounding are not affected. */
static const double single = 64 * 0x1p-23;

static const void *settings_of(const char *task, const char *row)
{
    return task_model(task_find(task), row)->settings;
}

/* out = m x for c channels, (n, k, c) */
static void apply(const double *m, ptrdiff_t n, int k, int c, const double *x, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (int r = 0; r < k; r++)
            for (int a = 0; a < c; a++) {
                double sum = 0;
                for (int s = 0; s < k; s++)
                    sum += m[r * k + s] * x[(i * k + s) * c + a];
                out[(i * k + r) * c + a] = sum;
            }
}

/* ---- sp4 ----------------------------------------------------------------------------------------------------------- */

static RelnNode *network_of_sp4(const RelnNet *net, const void *model)
{
    return sp4_network(net, model);
}

/* Uses 200 pairs and two elements g: the first acts on the first fifth of the pairs, the second on the second
 * fifth. */
static void judge_sp4(const char *row, const char *symmetry)
{
    enum { N = 200, PART = 40, ACTIONS = 2, SEED = 20230601 };
    static double before[N], after[PART], moved[PART * 2 * SP4_K];
    RelnRng test = reln_rng(SEED, 3), draws = reln_rng(SEED, 4);
    double id = 0, sp4 = 0, broken = 0, ad[SP4_K * SP4_K];
    Kept k;
    Judge j;
    Sp4Set set;

    kept_run(&k, task_find("sp4"), row);
    judge_open(&j, &k, &(JudgeOptions){symmetry, "sp:4", .dtype = RELN_F32}, network_of_sp4,
               settings_of("sp4", row));
    assert_ok(j.s.ctx, sp4_set_init(&set, j.s.algebra, &test, 0.5, N, SP4_TARGET_CODE, false));
    judge_apply(&j, N, set.x, 1, before);
    for (int i = 0; i < N; i++)
        id += pow(before[i] - set.y[i], 2) / N;
    for (int a = 0; a < ACTIONS; a++) {
        assert_ok(j.s.ctx, element_action(j.s.algebra, &draws, 0.5, ad));
        apply(ad, PART, SP4_K, 2, set.x + a * PART * 2 * SP4_K, moved);
        judge_apply(&j, PART, moved, 1, after);
        for (int i = 0; i < PART; i++) {
            sp4 += pow(after[i] - set.y[a * PART + i], 2) / (PART * ACTIONS);
            broken += fabs(after[i] - before[a * PART + i]) / (PART * ACTIONS);
        }
    }
    assert_metric(k.metrics[0], id, 0);
    assert_metric(k.metrics[1], sp4, single);
    if (strcmp(symmetry, "sp:4") == 0)
        assert_small(k.metrics[2] - broken, 4 * 0x1p-23 * sqrt(id)); /* it is rounding itself */
    else
        assert_metric(k.metrics[2], broken, single);
    sp4_set_clear(&set);
    judge_close(&j);
    kept_clear(&k);
}

static void errors_of_sp4_are_means_over_pairs_and_actions(void **state)
{
    (void)state;
    judge_sp4("mlp-256", "none:4");
    judge_sp4("invariants", "sp:4");
}

/* ---- platonic ------------------------------------------------------------------------------------------------------ */

enum { SOLIDS = 1000, SOLID_ROW = PLATONIC_SET * PLATONIC_ROW };

static RelnNode *network_of_platonic(const RelnNet *net, const void *model)
{
    return platonic_network(net, model);
}

/* Returns the number of samples whose largest logit is that of their label; *close is the number whose two
 * largest logits are equal up to rounding. */
static int right_answers(Judge *j, const double (*elements)[PLATONIC_K][PLATONIC_CHANNELS],
                         const int32_t *labels, const int32_t *which, int *close)
{
    static double x[SOLIDS * SOLID_ROW], logits[SOLIDS * PLATONIC_CLASSES];
    int right = 0;

    for (int i = 0; i < SOLIDS * PLATONIC_SET; i++)
        for (int k = 0; k < PLATONIC_K; k++)
            for (int c = 0; c < PLATONIC_CHANNELS; c++)
                x[(i * PLATONIC_K + k) * PLATONIC_CHANNELS + c] = elements[which[i]][k][c];
    judge_apply(j, SOLIDS, x, PLATONIC_CLASSES, logits);
    for (int i = 0; i < SOLIDS; i++) {
        const double *l = logits + i * PLATONIC_CLASSES, own = l[labels[i]];
        double other = -HUGE_VAL, size = 0;
        for (int c = 0; c < PLATONIC_CLASSES; c++) {
            other = c == labels[i] ? other : fmax(other, l[c]);
            size = fmax(size, fabs(l[c]));
        }
        right += own > other;
        *close += fabs(own - other) <= single * size;
    }
    return right;
}

static void judge_platonic(const char *row, const char *symmetry)
{
    enum { ROTATIONS = 2, SEED = 20231004 };
    static PlatonicElements elements;
    static double turned[PLATONIC_ELEMENTS][PLATONIC_K][PLATONIC_CHANNELS];
    static int32_t labels[SOLIDS], which[SOLIDS * PLATONIC_SET];
    RelnRng test = reln_rng(SEED, 3), draws = reln_rng(SEED, 4);
    double ad[PLATONIC_K * PLATONIC_K];
    int close[2] = {0, 0}, id, rc = 0;
    RelnAlgebra *sl3 = NULL;
    Kept k;
    Judge j;

    kept_run(&k, task_find("platonic"), row);
    judge_open(&j, &k, &(JudgeOptions){symmetry, "sl:3", .dtype = RELN_F32}, network_of_platonic,
               settings_of("platonic", row));
    assert_ok(k.ctx, reln_algebra_create(k.ctx, "sl:3", &sl3));
    assert_ok(k.ctx, platonic_elements(sl3, &elements));
    platonic_draw(&elements, &test, SOLIDS, labels, which);
    id = right_answers(&j, (const double(*)[PLATONIC_K][PLATONIC_CHANNELS])elements.x, labels,
                       which, &close[0]);
    for (int r = 0; r < ROTATIONS; r++) {
        assert_ok(k.ctx, platonic_rotation(sl3, &draws, false, ad));
        apply(ad, PLATONIC_ELEMENTS, PLATONIC_K, PLATONIC_CHANNELS, &elements.x[0][0][0],
              &turned[0][0][0]);
        rc += right_answers(&j, (const double(*)[PLATONIC_K][PLATONIC_CHANNELS])turned, labels,
                            which, &close[1]);
    }
    assert_true(close[0] + close[1] <= SOLIDS / 100);
    assert_small(k.metrics[0] - (double)id / SOLIDS, (double)close[0] / SOLIDS + 1e-12);
    assert_small(k.metrics[1] - (double)rc / (SOLIDS * ROTATIONS),
                 (double)close[1] / (SOLIDS * ROTATIONS) + 1e-12);
    reln_algebra_destroy(sl3);
    judge_close(&j);
    kept_clear(&k);
}

static void accuracies_of_platonic_are_shares_of_right_answers(void **state)
{
    (void)state;
    judge_platonic("mlp-256", "none:3");
    judge_platonic("best", "sl:3");
}

/* ---- sl3 ----------------------------------------------------------------------------------------------------------- */

typedef struct Sl3Case {
    const char *task, *row, *symmetry, *features;
    int size;      /* of an output */
    bool matrices; /* the network takes matrices */
} Sl3Case;

static void judge_sl3(const Sl3Case *c)
{
    enum { N = 100, ACTIONS = 2, SEED = 20231015 };
    static double x[N * 2 * SL3_K], y[N * SL3_K], moved[N * 2 * SL3_K], hats[N * 2 * SL3_MATRIX],
        before[N * SL3_K], after[N * SL3_K], gy[N * SL3_K], gf[N * SL3_K];
    RelnRng test = reln_rng(SEED, 2), draws = reln_rng(SEED, 11);
    double id = 0, error = 0, broken = 0, ad[SL3_K * SL3_K];
    const int size = c->size;
    RelnAlgebra *sl3 = NULL;
    Kept k;
    Judge j;

    kept_run(&k, task_find(c->task), c->row);
    judge_open(&j, &k, &(JudgeOptions){c->symmetry, c->features, .dtype = RELN_F32}, sl3_network,
               settings_of(c->task, c->row));
    assert_ok(k.ctx, reln_algebra_create(k.ctx, "sl:3", &sl3));
    for (int i = 0; i < N; i++) {
        double a[SL3_K], b[SL3_K];
        for (int d = 0; d < 2 * SL3_K; d++)
            x[i * 2 * SL3_K + d] = reln_rng_uniform(&test) - 0.5;
        for (int d = 0; d < SL3_K; d++)
            a[d] = x[i * 2 * SL3_K + 2 * d], b[d] = x[i * 2 * SL3_K + 2 * d + 1];
        if (size == 1)
            y[i] = sl3_invariant(sl3, a, b);
        else
            sl3_equivariant(sl3, a, b, y + i * SL3_K);
    }
    sl3_hats(sl3, N, x, hats);
    judge_apply(&j, N, c->matrices ? hats : x, size, before);
    for (int i = 0; i < N * size; i++)
        id += pow(before[i] - y[i], 2) / (N * size);
    for (int a = 0; a < ACTIONS; a++) {
        assert_ok(k.ctx, element_action(sl3, &draws, 0.5, ad));
        apply(ad, N, SL3_K, 2, x, moved);
        sl3_hats(sl3, N, moved, hats);
        judge_apply(&j, N, c->matrices ? hats : moved, size, after);
        memcpy(gy, y, sizeof gy);
        memcpy(gf, before, sizeof gf);
        if (size > 1) {
            apply(ad, N, SL3_K, 1, y, gy);
            apply(ad, N, SL3_K, 1, before, gf);
        }
        for (int i = 0; i < N; i++) {
            double square = 0;
            for (int d = 0; d < size; d++) {
                error += pow(after[i * size + d] - gy[i * size + d], 2) / (N * size * ACTIONS);
                square += pow(after[i * size + d] - gf[i * size + d], 2);
            }
            broken += sqrt(square) / (N * ACTIONS);
        }
    }
    assert_metric(k.metrics[0], id, 0);
    assert_metric(k.metrics[1], error, single);
    if (strcmp(c->symmetry, "none:3") == 0)
        assert_metric(k.metrics[2], broken, single);
    else
        assert_small(k.metrics[2] - broken, broken / 2); /* it is rounding itself */
    reln_algebra_destroy(sl3);
    judge_close(&j);
    kept_clear(&k);
}

static void errors_of_sl3_are_means_over_coordinates_and_distances_over_samples(void **state)
{
    (void)state;
    judge_sl3(&(Sl3Case){"sl3-inv", "mlp-256", "none:3", "sl:3", 1, false});
    judge_sl3(&(Sl3Case){"sl3-inv", "best", "sl:3", "gl:3", 1, true});
    judge_sl3(&(Sl3Case){"sl3-equiv", "mlp-256", "none:3", "sl:3", SL3_K, false});
    judge_sl3(&(Sl3Case){"sl3-equiv", "best", "sl:3", "sl:3", SL3_K, false});
}

/* ---- bch ----------------------------------------------------------------------------------------------------------- */

/* c = a b, and c = a b^T */
static void multiply(const double *a, const double *b, bool transposed, double *c)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            c[3 * i + j] = 0;
            for (int k = 0; k < 3; k++)
                c[3 * i + j] += a[3 * i + k] * (transposed ? b[3 * j + k] : b[3 * k + j]);
        }
}

/* |a - r b r^T| */
static double frobenius(const double *a, const double *r, const double *b)
{
    double half[9], turned[9], sum = 0;

    multiply(r, b, false, half);
    multiply(half, r, true, turned);
    for (int i = 0; i < 9; i++)
        sum += pow(a[i] - turned[i], 2);
    return sqrt(sum);
}

static void judge_bch(const char *row, const char *symmetry)
{
    enum { N = 100, FRAMES = 2, SEED = 20231101, WIDTH = 16 };
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    static double x[N * 6], moved[N * 6], y[N * 9], before[N * 9], after[N * 9];
    const BchNetwork network = {settings_of("bch", row), WIDTH};
    RelnRng test = reln_rng(SEED, 2), draws = reln_rng(SEED, 11);
    double want[4] = {0}, a[3], b[3], ea[9], eb[9], r[9];
    Kept k;
    Judge j;

    kept_run(&k, task_find("bch"), row);
    judge_open(&j, &k, &(JudgeOptions){symmetry, "so:3", .dtype = RELN_F32}, bch_network, &network);
    for (int i = 0; i < N; i++) {
        bch_draw(&test, a);
        bch_draw(&test, b);
        bch_rotation(a, ea);
        bch_rotation(b, eb);
        multiply(ea, eb, false, y + 9 * i);
        for (int d = 0; d < 3; d++)
            x[6 * i + 2 * d] = a[d], x[6 * i + 2 * d + 1] = b[d];
    }
    judge_apply(&j, N, x, 9, before);
    for (int i = 0; i < N; i++) {
        const double off = frobenius(before + 9 * i, one, y + 9 * i);
        want[0] += off / N;
        want[1] += 2 * asin(fmin(1, off / (2 * sqrt(2)))) / N; /* |R - S| = 2 sqrt 2 sin(t/2) */
    }
    for (int f = 0; f < FRAMES; f++) {
        bch_frame(&draws, r);
        apply(r, N, 3, 2, x, moved);
        judge_apply(&j, N, moved, 9, after);
        for (int i = 0; i < N; i++) {
            want[2] += frobenius(after + 9 * i, r, y + 9 * i) / (N * FRAMES);
            want[3] += frobenius(after + 9 * i, r, before + 9 * i) / (N * FRAMES);
        }
    }
    assert_metric(k.metrics[0], want[0], 0);
    assert_metric(k.metrics[1], want[1], 0x1p-26); /* asin near 1 has half of the digits */
    assert_metric(k.metrics[2], want[2], single);
    if (strcmp(symmetry, "none:3") == 0)
        assert_metric(k.metrics[3], want[3], single);
    else
        assert_small(k.metrics[3] - want[3], want[3] / 2); /* it is rounding itself */
    judge_close(&j);
    kept_clear(&k);
}

static void errors_of_bch_are_means_of_distances_and_angles(void **state)
{
    (void)state;
    judge_bch("mlp", "none:3");
    judge_bch("best", "so:3");
}

/* ---- rigid --------------------------------------------------------------------------------------------------------- */

enum { BODIES = 10 };

/* Computes the mean over the first n points and all bodies of |w - r true|; the network continues from its
 * own last point. */
static void follow(Judge *j, const double *truth, const double *r, double *errors)
{
    static double x[BODIES * 3], y[BODIES * 3 * RIGID_STEPS];

    memset(errors, 0, RIGID_POINTS * sizeof *errors);
    for (int b = 0; b < BODIES; b++)
        apply(r, 1, 3, 1, truth + b * 3 * RIGID_POINTS, x + 3 * b);
    for (int point = 1; point < RIGID_POINTS; point++) {
        const int s = (point - 1) % RIGID_STEPS;
        if (s == 0)
            judge_apply(j, BODIES, x, 3 * RIGID_STEPS, y);
        for (int b = 0; b < BODIES; b++) {
            double want[3], square = 0;
            apply(r, 1, 3, 1, truth + 3 * (b * RIGID_POINTS + point), want);
            for (int i = 0; i < 3; i++) {
                x[3 * b + i] = y[(3 * b + i) * RIGID_STEPS + s];
                square += pow(x[3 * b + i] - want[i], 2);
            }
            errors[point] += sqrt(square) / BODIES;
        }
    }
}

static double mean(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

static void judge_rigid(const char *row)
{
    enum { TURNS = 10, SEED = 5566 };
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    static double truth[BODIES * 3 * RIGID_POINTS], errors[RIGID_POINTS];
    const RigidModel *model = settings_of("rigid", row);
    RelnRng test = reln_rng(SEED, 3), draws = reln_rng(SEED, 4);
    double w0[3], r[9], back[9], turned = 0;
    Kept k;
    Judge j;

    kept_run(&k, task_find("rigid"), row);
    judge_open(&j, &k, &(JudgeOptions){"none:3", "so:3", .dtype = model->dtype}, rigid_network,
               model);
    for (int b = 0; b < BODIES; b++) {
        for (int i = 0; i < 3; i++)
            w0[i] = reln_rng_uniform(&test);
        rigid_motion(w0, RIGID_POINTS, truth + b * 3 * RIGID_POINTS);
    }
    follow(&j, truth, one, errors);
    for (int i = 0; i < 5; i++)
        assert_metric(k.metrics[i], mean(errors, 200 * (i + 1)), 0x1p-40);
    for (int t = 0; t < TURNS; t++) {
        assert_ok(j.s.ctx, reln_algebra_random_group(j.s.algebra, &draws, 1, r, back, NULL));
        rigid_turn(model, j.s.store, r);
        follow(&j, truth, r, errors);
        rigid_turn(model, j.s.store, back);
        turned += mean(errors, RIGID_POINTS) / TURNS;
    }
    assert_metric(k.metrics[5], turned, model->dtype == RELN_F64 ? 0x1p-40 : single);
    judge_close(&j);
    kept_clear(&k);
}

static void errors_of_rigid_are_means_up_to_a_time(void **state)
{
    (void)state;
    judge_rigid("mlp-64");
    judge_rigid("best");
}

/* ---- gln ----------------------------------------------------------------------------------------------------------- */

enum { GLN_SAMPLES = 100, GLN_SIZE = 9 };

/* x: pairs as they are drawn, y: their targets */
static void draw_gln(RelnCtx *ctx, const GlnTarget *target, int stream, int n, int size, double *x,
                     double *y)
{
    RelnRng rng = reln_rng(20240701, (uint64_t)stream);

    for (int i = 0; i < n; i++) {
        assert_ok(ctx, gln_draw(ctx, target, 3, &rng, x + i * 18));
        assert_ok(ctx, gln_value(ctx, target, 3, x + i * 18, y + i * size));
    }
}

/* sum |a - b|^2 / sum |b|^2 */
static double share(const double *a, const double *b, int n)
{
    double off = 0, all = 0;

    for (int i = 0; i < n; i++) {
        off += pow(a[i] - b[i], 2);
        all += pow(b[i], 2);
    }
    return off / all;
}

/* Targets are learned in units of their root mean square on the training set; numbers are also centred. */
static void judge_gln(const char *row, const char *symmetry)
{
    enum { TRAINED = 200, FRAMES = 2, SEED = 20240701 };
    static double x[TRAINED * 18], y[TRAINED * GLN_SIZE], before[GLN_SAMPLES * GLN_SIZE],
        after[GLN_SAMPLES * GLN_SIZE], moved[GLN_SAMPLES * 18], lifted[GLN_SAMPLES * 18],
        gy[GLN_SAMPLES * GLN_SIZE], gf[GLN_SAMPLES * GLN_SIZE];
    const GlnTarget *target = &gln_targets[1];
    const int size = gln_outputs(target, 3);
    const GlnModel *model = settings_of("gln", row);
    const GlnNetwork network = {model, target, 3};
    const double conds[3] = {1, 10, 100};
    double centre = 0, square = 0;
    GlnFrame g;
    Kept k;
    Judge j;

    kept_run(&k, task_find("gln"), row);
    judge_open(&j, &k, &(JudgeOptions){symmetry, "gl:3", model->form, RELN_F64}, gln_network,
               &network);
    draw_gln(k.ctx, target, 10, TRAINED, size, x, y);
    for (int i = 0; i < TRAINED * size && !target->element; i++)
        centre += y[i] / (TRAINED * size);
    for (int i = 0; i < TRAINED * size; i++)
        square += pow(y[i] - centre, 2) / (TRAINED * size);
    draw_gln(k.ctx, target, 12, GLN_SAMPLES, size, x, y);
    for (int i = 0; i < GLN_SAMPLES * size; i++)
        y[i] = (y[i] - centre) / sqrt(square);
    for (int i = 0; i < GLN_SAMPLES; i++)
        assert_ok(k.ctx, gln_lift(k.ctx, target, model->lift, 3, x + i * 18, lifted + i * 18));
    judge_apply(&j, GLN_SAMPLES, lifted, size, before);
    for (int c = 0; c < 3; c++) {
        RelnRng draws = reln_rng(SEED, (uint64_t)conds[c] + 30);
        double error = 0, broken = 0;

        for (int f = 0; f < FRAMES; f++) {
            assert_ok(k.ctx, gln_frame(j.s.algebra, &draws, conds[c], &g));
            for (int i = 0; i < GLN_SAMPLES; i++) {
                gln_move_pair(target, 3, &g, x + i * 18, moved + i * 18);
                assert_ok(k.ctx,
                          gln_lift(k.ctx, target, model->lift, 3, moved + i * 18, lifted + i * 18));
                gln_move_target(target, 3, &g, y + i * size, gy + i * size);
                gln_move_target(target, 3, &g, before + i * size, gf + i * size);
            }
            judge_apply(&j, GLN_SAMPLES, lifted, size, after);
            error += share(after, gy, GLN_SAMPLES * size) / FRAMES;
            broken += share(after, gf, GLN_SAMPLES * size) / FRAMES;
        }
        assert_metric(k.metrics[c], error, 0x1p-40);
        if (c == 2)
            assert_metric(k.metrics[3], sqrt(broken),
                          0x1p-20); /* of a network that keeps it: rounding */
    }
    judge_close(&j);
    kept_clear(&k);
}

static void errors_of_gln_are_shares_of_the_target_in_moved_frames(void **state)
{
    (void)state;
    judge_gln("mlp-aug", "none:3");
    judge_gln("complete", "gl:3");
}

/* ---- pendulum ------------------------------------------------------------------------------------------------------ */

enum { MOTIONS = 8, STATES = MOTIONS * PEND_STATE };

/* A Field is a network of the velocity in which each motion is a separate sample. */
typedef struct Field {
    RelnGroup *group;
    RelnStore *store;
    RelnGraph *graph;
    RelnPlan *plan;
} Field;

static void field_open(Field *f, const Kept *k, const PendRowSettings *row)
{
    const PendChoice choice = pend_choose(row);
    RelnNode *z;
    PendModel m;

    *f = (Field){0};
    assert_ok(k->ctx, pend_row_group(k->ctx, row, &f->group));
    assert_ok(k->ctx, reln_store_create(k->ctx, /*seed=*/77, &f->store));
    assert_ok(k->ctx, reln_graph_create(f->group, f->store, RELN_F32, &f->graph));
    z = reln_input(f->graph, "z", RELN_SAMPLES, pend_state_dims(1), pend_state_rep(f->graph),
                   RELN_DEFAULT);
    assert_true(pend_model_open(
        &m, &(PendBuild){f->graph, row->symmetry, &choice.settings, 1, /*seed=*/1}, choice.arch));
    reln_output(f->graph, "out", pend_model_direct(&m, z));
    assert_ok(k->ctx, reln_plan_create(f->graph, NULL, &f->plan));
    kept_weights(k, f->store);
}

static void field_close(Field *f)
{
    reln_plan_destroy(f->plan);
    reln_graph_destroy(f->graph);
    reln_store_destroy(f->store);
    reln_group_destroy(f->group);
}

static void field_apply(const Field *f, const double *z, double *zdot)
{
    const float *out;

    assert_int_equal(reln_plan_bind(f->plan, "z", z, RELN_F64), RELN_OK);
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){.n_samples = MOTIONS}), RELN_OK);
    out = reln_plan_output(f->plan, "out", NULL);
    for (int i = 0; i < STATES; i++)
        zdot[i] = (double)out[i];
}

/* The rule of Runge and Kutta, one step for each interval. */
static void roll(const Field *f, double *z)
{
    const double h = PEND_INTERVAL;
    double k[4][STATES], at[STATES];

    field_apply(f, z, k[0]);
    for (int s = 1; s < 4; s++) {
        for (int i = 0; i < STATES; i++)
            at[i] = z[i] + h * (s < 3 ? 0.5 : 1) * k[s - 1][i];
        field_apply(f, at, k[s]);
    }
    for (int i = 0; i < STATES; i++)
        z[i] += h * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]) / 6;
}

/* |z - truth| / (|z| + |truth|), and 1 where that is no number */
static double relative(const double *z, const double *truth)
{
    double off = 0, a = 0, b = 0;

    for (int i = 0; i < PEND_STATE; i++) {
        off += pow(z[i] - truth[i], 2);
        a += pow(z[i], 2);
        b += pow(truth[i], 2);
    }
    off = sqrt(off) / (sqrt(a) + sqrt(b));
    return isfinite(off) ? off : 1;
}

/* Returns the mean square of all numbers of the pieces of motion, including the given first states. */
static double error_of_pieces(const Field *f, const double *pieces)
{
    static double z[STATES];
    double sum = 0;

    for (int t = 0; t < PEND_CHUNK; t++) {
        for (int i = 0; i < STATES; i++) {
            const double truth =
                pieces[(i / PEND_STATE * PEND_CHUNK + t) * PEND_STATE + i % PEND_STATE];
            z[i] = t == 0 ? truth : z[i];
            sum += pow(z[i] - truth, 2) / (STATES * PEND_CHUNK);
        }
        roll(f, z);
    }
    return sum;
}

/* Vectors turned by 0.7 about the vertical. */
static void turn_states(const double *x, double *out)
{
    const double c = cos(0.7), s = sin(0.7), r[9] = {c, -s, 0, s, c, 0, 0, 0, 1};

    apply(r, STATES / 3, 3, 1, x, out);
}

/* The largest |f(R z) - R f(z)| of a number, as a share of the largest |R f(z)|. */
static double broken_by_a_turn(const Field *f, const double *z)
{
    static double zdot[STATES], want[STATES], turned[STATES], got[STATES];
    double worst = 0, size = 0;

    field_apply(f, z, zdot);
    turn_states(zdot, want);
    turn_states(z, turned);
    field_apply(f, turned, got);
    for (int i = 0; i < STATES; i++) {
        worst = fmax(worst, fabs(got[i] - want[i]));
        size = fmax(size, fabs(want[i]));
    }
    return worst / size;
}

/* Compares the geometric means over motions and times: with errors raised to 1e-5, to 1e-7, and the latter
 * without the first time. Drifts are means over motions of the largest change; the motions of the other row
 * diverge. */
static void judge_pendulum(const char *row)
{
    static double z[STATES];
    const PendRowSettings *settings = settings_of("pendulum", row);
    const PendSystem system = {.stiffness = 2};
    const double n = MOTIONS * PEND_ROLLOUT;
    double table = 0, log_ = 0, moving = 0, broken = 0, energy = 0, spin = 0;
    double first[MOTIONS][2], drift[MOTIONS][2] = {{0}};
    PendData data;
    Field f;
    Kept k;

    kept_run(&k, task_find("pendulum"), row);
    field_open(&f, &k, settings);
    assert_true(pend_data_init(&data, &system, PEND_DATA_SEED, MOTIONS));
    for (int t = 0; t < PEND_ROLLOUT; t++) {
        for (int i = 0; i < MOTIONS; i++) {
            const double *truth = data.truth + ((ptrdiff_t)i * PEND_ROLLOUT + t) * PEND_STATE;
            double off;

            if (t == 0)
                memcpy(z + i * PEND_STATE, truth, PEND_STATE * sizeof *z);
            off = relative(z + i * PEND_STATE, truth);
            table += log(fmax(off, 1e-5)) / n;
            log_ += log(fmax(off, 1e-7)) / n;
            moving += t > 0 ? log(fmax(off, 1e-7)) / (n - MOTIONS) : 0;
            const double now[2] = {pend_energy(&system, z + i * PEND_STATE),
                                   pend_spin(z + i * PEND_STATE)};
            for (int d = 0; d < 2; d++) {
                first[i][d] = t == 0 ? now[d] : first[i][d];
                drift[i][d] = fmax(drift[i][d], fabs(now[d] - first[i][d]));
            }
        }
        if (t == 0)
            broken = broken_by_a_turn(&f, z);
        roll(&f, z);
    }
    for (int i = 0; i < MOTIONS; i++) {
        energy += drift[i][0] / MOTIONS;
        spin += drift[i][1] / MOTIONS;
    }
    assert_metric(k.metrics[0], exp(table), single);
    assert_metric(k.metrics[1], exp(log_), single);
    assert_metric(k.metrics[2], exp(moving), single);
    assert_metric(k.metrics[3], error_of_pieces(&f, data.chunks[PEND_TEST]), single);
    if (settings->arch == PEND_ARCH_MLP) {
        assert_metric(k.metrics[4], energy, single);
        assert_metric(k.metrics[5], spin, single);
        assert_metric(k.metrics[6], broken, single);
    } else {
        assert_small(k.metrics[6] - broken, broken / 2); /* it is rounding itself */
    }
    pend_data_clear(&data);
    field_close(&f);
    kept_clear(&k);
}

static void errors_of_pendulum_are_geometric_means_over_rollouts(void **state)
{
    (void)state;
    skip_without_motions();
    judge_pendulum("mlp");
    judge_pendulum("reln-lengths");
}

/* ---- jets ---------------------------------------------------------------------------------------------------------- */

enum { JETS = 40 };

/* Scores of the last 40 jets of the generator, after those of training and validation. */
static void score_jets(Judge *j, bool bare, double *scores, int32_t *labels)
{
    enum { BEFORE = 32 + 16, SEED = 20250917 };
    TaskEnv env = {.task = task_find("jets"), .scale = TASK_SMOKE, .ctx = j->s.ctx};
    const float *out;
    JetsBatch batch;
    Jets jets;

    assert_ok(env.ctx, jets_init(&env, &env.rooms, JETS, JETS * JETS_MOST, 0, &jets));
    assert_ok(env.ctx, jets_toy_fill(&env, &(JetsToy){false, false}, SEED, BEFORE, JETS, &jets));
    assert_ok(env.ctx, jets_batch_init(&env, &env.rooms, JETS, 0, &batch));
    batch.bare = bare;
    batch.whole = !bare;
    jets_batch_fill(&batch, &jets, NULL);
    assert_ok(env.ctx, exp_bind(j->plan, &batch.set));
    assert_ok(env.ctx, reln_plan_run(j->plan, &(RelnRun){.n_samples = JETS}));
    out = reln_plan_output(j->plan, "out", NULL);
    for (int i = 0; i < JETS; i++) {
        scores[i] = (double)out[2 * i + 1] - (double)out[2 * i];
        labels[i] = jets.labels[i];
    }
    task_release(&env);
}

/* Returns the number of jets of a class that pass the threshold of jet `at`; at -1, none pass. */
static int passing(const double *scores, const int32_t *labels, int label, int at)
{
    int n = 0;

    for (int i = 0; i < JETS && at >= 0; i++)
        n += labels[i] == label && scores[i] >= scores[at];
    return n;
}

/* Returns 1 / (share of background that passes) at the threshold whose share of signal is nearest to `signal`, the highest
 * on ties. */
static double rejection_at(const double *scores, const int32_t *labels, double signal)
{
    int best = -1;

    for (int i = 0; i < JETS; i++) {
        const double off = fabs(passing(scores, labels, 1, i) / (JETS / 2.0) - signal),
                     least = fabs(passing(scores, labels, 1, best) / (JETS / 2.0) - signal);

        if (off < least || (off == least && best >= 0 && scores[i] > scores[best]))
            best = i;
    }
    return JETS / 2.0 / passing(scores, labels, 0, best);
}

static void judge_jets(const char *row)
{
    const JetsModel *model = settings_of("jets", row);
    double scores[JETS], right = 0, ordered = 0;
    int32_t labels[JETS];
    Kept k;
    Judge j;

    kept_run(&k, task_find("jets"), row);
    judge_open(&j, &k, &(JudgeOptions){"lorentz", "gl:4", .dtype = RELN_F32}, jets_network, model);
    score_jets(&j, model->kind == JETS_PARTS, scores, labels);
    for (int i = 0; i < JETS; i++) {
        right += (scores[i] > 0) == (labels[i] == 1);
        for (int b = 0; b < JETS; b++)
            if (labels[i] == 1 && labels[b] == 0)
                ordered += scores[i] > scores[b] ? 1 : scores[i] == scores[b] ? 0.5 : 0;
    }
    assert_metric(k.metrics[JETS_ACCURACY], right / JETS, 0);
    assert_metric(k.metrics[JETS_AUC], ordered / (JETS * JETS / 4.0), 0);
    for (int i = 0; i < JETS_WORKING_POINTS; i++) {
        const double want = rejection_at(scores, labels, jets_working_points[i]);

        if (JETS / 2.0 / want >= JETS_RESOLVED - 0.5)
            assert_metric(k.metrics[JETS_AT_30 + i], want, 0);
        else
            assert_true(isnan(k.metrics[JETS_AT_30 + i]));
    }
    judge_close(&j);
    kept_clear(&k);
}

static void numbers_of_jets_are_counts_of_jets_and_pairs(void **state)
{
    (void)state;
    judge_jets("mlp");
    judge_jets("parts-84");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_sp4_are_means_over_pairs_and_actions),
        cmocka_unit_test(accuracies_of_platonic_are_shares_of_right_answers),
        cmocka_unit_test(errors_of_sl3_are_means_over_coordinates_and_distances_over_samples),
        cmocka_unit_test(errors_of_bch_are_means_of_distances_and_angles),
        cmocka_unit_test(errors_of_rigid_are_means_up_to_a_time),
        cmocka_unit_test(errors_of_gln_are_shares_of_the_target_in_moved_frames),
        cmocka_unit_test(errors_of_pendulum_are_geometric_means_over_rollouts),
        cmocka_unit_test(numbers_of_jets_are_counts_of_jets_and_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
