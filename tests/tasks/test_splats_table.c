/* The numbers of the splats' table once more, with answers of the test's own: the linker leads exp_predict() through this
 * file, which gives logits that are a function of the object and of its view, so every share is known. Which views are
 * used for training and which for judging is seen at splats_batch_fill() and splats_features(). */
#include <stdio.h>
#include <stdlib.h>

#include "support/folder.h"
#include "tasks/experiment.h"
#include "tasks/scaled.h"
#include "tasks/splats/data.h"

enum { ALIGNED, ROTATED, TURNED_Z, PAIR, FLIPS = PAIR + SPLATS_PAIRS, CHAMFER };
enum { TRAIN = 40, VALIDATION = 20, TEST = 30, BATCH = 10, ROTATIONS = 2, EPOCHS = 3 };

#define SUMS 1e-12

/* What was seen of a run. */
static struct {
    SplatsView view; /* of the batch that was filled last */
    ptrdiff_t which[64];
    SplatsObjects validation, test; /* those that were judged */
    int evaluations;
    double share[16],
        weights[16]; /* of each evaluation: its share, and a sum over all weights and states */
    double judged;   /* that sum when test objects were judged */
    int trained;     /* batches */
    int times[EPOCHS][2][TRAIN]; /* how often an object was trained on: by epoch and part */
    bool canonical, augmented;   /* of the row */
} seen;

RelnStatus __real_exp_predict(Exp *e, int plan, const ExpSet *set, double *out);
RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out);
void __real_splats_batch_fill(RelnPool *pool, const SplatsView *view, const ptrdiff_t *which, int n,
                              SplatsBatch *batch);
void __wrap_splats_batch_fill(RelnPool *pool, const SplatsView *view, const ptrdiff_t *which, int n,
                              SplatsBatch *batch);

/* Training objects are drawn anew in every epoch, each once; they are turned only in rows that say so. */
static void see_training(const SplatsView *view, const ptrdiff_t *which, int n)
{
    const int epoch = (int)(view->stream % 1000000), part = (int)(view->stream / 1000000) - 1;

    assert_int_equal(n, BATCH);
    assert_int_equal(view->objects->n, TRAIN);
    assert_true(epoch < EPOCHS && (part == 0 || part == 1) && view->seed == 1);
    assert_int_equal(view->turn, seen.augmented ? SPLATS_TURN_SO3 : SPLATS_ALIGNED);
    for (int i = 0; i < n; i++)
        seen.times[epoch][part][which[i]]++;
    seen.trained++;
}

void __wrap_splats_batch_fill(RelnPool *pool, const SplatsView *view, const ptrdiff_t *which, int n,
                              SplatsBatch *batch)
{
    assert_true(view->canonical == seen.canonical);
    seen.view = *view;
    memcpy(seen.which, which, (size_t)n * sizeof *which);
    if (view->random)
        see_training(view, which, n);
    __real_splats_batch_fill(pool, view, which, n, batch);
}

/* A logit: chance, and more for the true class; validation objects are best in the second evaluation. */
static double logit(const SplatsView *v, ptrdiff_t object, int class, int evaluation)
{
    static const double better[] = {0.5, 1, 0.2, 0.4};
    const bool judging = v->objects->n == VALIDATION;
    RelnRng rng = reln_rng(
        (uint64_t)(object + 1000 * v->objects->n + 1000000 * (int)v->turn + 10000000 * v->regroup),
        v->stream * 100000 + (uint64_t)round(v->angle * 100) * 100 + (uint64_t) class +
            (judging ? 7000u * (uint64_t)evaluation : 0));

    return reln_rng_uniform(&rng) +
           (v->objects->label[object] == class ? better[judging ? evaluation % 4 : 0] : 0);
}

static int answer(const SplatsView *v, ptrdiff_t object, int evaluation)
{
    int best = 0;

    for (int k = 1; k < SPLATS_CLASSES; k++)
        if (logit(v, object, k, evaluation) > logit(v, object, best, evaluation))
            best = k;
    return best;
}

static double share_of(const SplatsView *v, int n, int evaluation)
{
    int right = 0;

    for (int i = 0; i < n; i++)
        right += answer(v, i, evaluation) == v->objects->label[i];
    return (double)right / n;
}

/* The losses of an object in pre-training: Chamfer's distance and the sum of all. */
static double loss_of(ptrdiff_t object, int which)
{
    return which ? 5 + 0.25 * (double)object : 0.5 + 0.125 * (double)object;
}

static double sum_of_weights(const RelnStore *store)
{
    RelnEntryInfo entry;
    double sum = 0;

    for (int i = 0; i < reln_store_count(store); i++) {
        entry = reln_store_entry(store, i);
        for (size_t k = 0; k < entry.count && entry.kind != RELN_ENTRY_MOMENT; k++)
            sum += (double)((const float *)entry.values)[k] * (1 + (double)(k % 7));
    }
    return sum;
}

RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out)
{
    const SplatsView *v = &seen.view;
    const RelnStatus status = __real_exp_predict(e, plan, set, out);

    assert_false(v->random);
    if (v->objects->n == VALIDATION)
        seen.validation = *v->objects;
    else
        seen.test = *v->objects;
    if (status != RELN_OK || plan == EXP_OTHER || plan == EXP_OTHER + 2) /* pictures */
        return status;
    for (ptrdiff_t i = 0; i < set->n; i++)
        if (plan == EXP_OTHER + 1) {
            out[2 * i] = loss_of(seen.which[i], 0);
            out[2 * i + 1] = loss_of(seen.which[i], 1);
        } else {
            for (int k = 0; k < SPLATS_CLASSES; k++)
                out[SPLATS_CLASSES * i + k] = logit(v, seen.which[i], k, seen.evaluations);
        }
    if (plan == EXP_NETWORK && v->objects->n == TEST)
        seen.judged = sum_of_weights(exp_store(e));
    if (plan == EXP_NETWORK && v->objects->n == VALIDATION && seen.which[0] == VALIDATION - BATCH) {
        seen.share[seen.evaluations] = share_of(v, VALIDATION, seen.evaluations);
        seen.weights[seen.evaluations++] = sum_of_weights(exp_store(e));
    }
    return status;
}

/* ---- trained rows ---------------------------------------------------------------------------------------------------- */

static SplatsView view_of(SplatsTurn turn, bool regroup, int stream)
{
    return (SplatsView){.objects = &seen.test,
                        .turn = turn,
                        .regroup = regroup,
                        .stream = turn == SPLATS_ALIGNED ? 0 : (uint64_t)stream};
}

static void check_shares(const double *metrics)
{
    const SplatsView aligned = view_of(SPLATS_ALIGNED, true, 0),
                     last = view_of(SPLATS_TURN_SO3, true, 10 + ROTATIONS - 1),
                     same = view_of(SPLATS_TURN_SO3, false, 10 + ROTATIONS - 1);
    double z = 0, so3 = 0;
    int flips = 0;

    assert_small(metrics[ALIGNED] - share_of(&aligned, TEST, 0), SUMS);
    for (int r = 0; r < ROTATIONS; r++) {
        const SplatsView a = view_of(SPLATS_TURN_Z, true, 10 + r),
                         b = view_of(SPLATS_TURN_SO3, true, 10 + r);

        z += share_of(&a, TEST, 0) / ROTATIONS;
        so3 += share_of(&b, TEST, 0) / ROTATIONS;
    }
    assert_small(metrics[TURNED_Z] - z, SUMS);
    assert_small(metrics[ROTATED] - so3, SUMS);
    for (int i = 0; i < TEST; i++)
        flips += answer(&aligned, i, 0) != answer(&same, i, 0);
    assert_true(flips > 0 && metrics[FLIPS] == flips);
    for (int pair = 0; pair < SPLATS_PAIRS; pair++) { /* classes 2 pair and 2 pair + 1 */
        int right = 0, all = 0;

        for (int i = 0; i < TEST; i++) {
            const int own = seen.test.label[i], twin = own % 2 ? own - 1 : own + 1;

            all += own / 2 == pair;
            right += own / 2 == pair && logit(&last, i, own, 0) > logit(&last, i, twin, 0);
        }
        assert_small(metrics[PAIR + pair] - (double)right / all, SUMS);
    }
}

static void check_curves(const TaskRun *run)
{
    static const double degrees[] = {0, 15, 30, 45, 60, 90, 120, 150, 180};
    const SplatsView last = view_of(SPLATS_TURN_SO3, true, 10 + ROTATIONS - 1);
    const TaskCurve *angles = task_curve_named(run, "accuracy against the angle of rotation"),
                    *validation = task_curve_named(run, "accuracy on validation objects");
    char name[160];

    assert_true(angles && angles->n == 9 && validation && validation->n == seen.evaluations);
    for (int i = 0; i < 9; i++) {
        SplatsView v = view_of(SPLATS_TURN_ANGLE, true, 50);

        v.angle = degrees[i] / 180 * 3.14159265358979323846;
        assert_true(angles->x[i] == degrees[i]);
        assert_small(angles->y[i] - share_of(&v, BATCH, 0), SUMS);
    }
    for (int i = 0; i < seen.evaluations; i++)
        assert_small(validation->y[i] - seen.share[i], SUMS);
    for (int k = 0; k < SPLATS_CLASSES; k++) {
        int counts[SPLATS_CLASSES] = {0};
        const TaskCurve *c;

        snprintf(name, sizeof name,
                 "true class of rotated objects (rows), taken for (columns): %s%c%s",
                 run->model->label, TASK_SERIES, splats_class_names[k]);
        c = task_curve_named(run, name);
        assert_true(c && c->n == SPLATS_CLASSES);
        for (int i = 0; i < TEST; i++)
            if (seen.test.label[i] == k)
                counts[answer(&last, i, 0)]++;
        for (int l = 0; l < SPLATS_CLASSES; l++)
            assert_true(c->x[l] == l && c->y[l] == counts[l]);
    }
}

/* The weights that are judged are those of the evaluation with the largest share. */
static void check_choice(void)
{
    int best = 0;

    assert_true(seen.evaluations >= 3);
    for (int i = 1; i < seen.evaluations; i++)
        if (seen.share[i] > seen.share[best])
            best = i;
    assert_true(best > 0 && best < seen.evaluations - 1);
    for (int i = 0; i < seen.evaluations; i++)
        assert_true((seen.weights[i] == seen.judged) == (i == best));
}

static void check_training(bool pretrained)
{
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int part = 0; part < 2; part++)
            for (int i = 0; i < TRAIN; i++)
                assert_int_equal(seen.times[epoch][part][i], part == 1 || pretrained);
    assert_int_equal(seen.trained, EPOCHS * TRAIN / BATCH * (pretrained ? 2 : 1));
}

static void check_row(Scaled *t, const char *row, bool augmented, bool canonical, bool pretrained)
{
    double mean = 0;
    TaskRun run;

    memset(&seen, 0, sizeof seen);
    seen.augmented = augmented;
    seen.canonical = canonical;
    scaled_run(t, row, &run);
    check_shares(run.metrics);
    check_curves(&run);
    check_choice();
    check_training(pretrained);
    for (int i = 0; i < VALIDATION; i++)
        mean += loss_of(i, 0) / VALIDATION;
    if (pretrained)
        assert_small(run.metrics[CHAMFER] - mean, SUMS * mean);
    else
        assert_true(isnan(run.metrics[CHAMFER]));
    task_run_clear(&run);
}

static void shares_are_those_of_the_answers(void **state)
{
    Scaled t;

    (void)state;
    scaled_init(&t, "splats");
    scaled_set(&t, "rotations", ROTATIONS);
    scaled_set(&t, "epochs", EPOCHS);
    scaled_set(&t, "pretrain_epochs", EPOCHS);
    scaled_set(&t, "evaluations", EPOCHS);
    scaled_open(&t);
    check_row(&t, "reln", false, false, false);
    check_row(&t, "baseline-so3-pre", true, false, true);
    check_row(&t, "baseline-pca", false, true, false);
    scaled_close(&t);
}

/* ---- rows without training ------------------------------------------------------------------------------------------ */

static double nearest_share(Scaled *t, const SplatsNet *net, const SplatsObjects *train,
                            const SplatsObjects *test, bool canonical, SplatsTurn turn)
{
    SplatsView view = {
        .net = net, .objects = train, .canonical = canonical, .regroup = true, .seed = 20250917};
    double *known = malloc((size_t)train->n * SPLATS_FEATURE_SIZE * sizeof *known),
           *asked = malloc((size_t)test->n * SPLATS_FEATURE_SIZE * sizeof *asked);
    int right = 0;

    assert_true(known && asked);
    assert_ok(t->env.ctx, splats_features(&t->env, &view, SPLATS_GRID, known));
    view.objects = test;
    view.turn = turn;
    view.stream = 10;
    assert_ok(t->env.ctx, splats_features(&t->env, &view, SPLATS_GRID, asked));
    for (ptrdiff_t i = 0; i < test->n; i++)
        right += splats_nearest_class(train->n, known, train->label,
                                      asked + i * SPLATS_FEATURE_SIZE) == test->label[i];
    free(known);
    free(asked);
    return (double)right / (double)test->n;
}

/* Objects of a file: every tenth, from the ninth on, is for testing; of the others every tenth, from the fourth on, for
 * validation. Their numbers of classes are not equal. */
static void files_are_divided_and_rows_without_training_judged(void **state)
{
    enum { N = 60, POINTS = 96, FIRST = 2 };
    static double points[N][POINTS][3];
    static int64_t label[N];
    char path[256];
    const RelnArray arrays[] = {
        {.name = "points", .dtype = RELN_F64, .rank = 3, .dims = {N, POINTS, 3}, .values = points},
        {.name = "label", .dtype = RELN_I64, .rank = 1, .dims = {N}, .values = label}};
    const SplatsNet net = {.kind = SPLATS_NEAREST, .splats = 64, .groups = 8, .members = 6};
    SplatsObjects all, test, rest, train;
    RelnRng rng = reln_rng(3, 3);
    TaskRun run;
    Scaled t;

    snprintf(path, sizeof path, "%s", path_in(*state, "objects.npz"));
    for (int i = 0; i < N; i++) { /* boxes of three shapes, most of them of class 1 */
        label[i] = i % 4 == 0 ? 0 : i % 8 == 1 ? 2 : 1;
        for (int p = 0; p < POINTS; p++)
            for (int a = 0; a < 3; a++)
                points[i][p][a] =
                    (reln_rng_uniform(&rng) - 0.5) * (a == label[i] ? 1.3 : 1) + 0.02 * i;
    }
    scaled_init(&t, "splats");
    scaled_option(&t, "data", path);
    assert_int_equal(reln_ctx_create(NULL, &t.env.ctx), RELN_OK);
    assert_ok(t.env.ctx, reln_npz_save(t.env.ctx, path, 2, arrays));
    reln_ctx_destroy(t.env.ctx);
    scaled_open(&t);
    assert_ok(t.env.ctx, splats_from_arrays(&t.env, path, &all));
    assert_ok(t.env.ctx, splats_part(&t.env, &all, 9, 10, false, &test));
    assert_ok(t.env.ctx, splats_part(&t.env, &all, 9, 10, true, &rest));
    assert_ok(t.env.ctx, splats_part(&t.env, &rest, 4, 10, true, &train));
    assert_true(test.n == 6 && rest.n == 54 && train.n == 49);
    for (int i = 0; i < 6; i++)
        assert_int_equal(test.label[i], label[10 * i + 9]);

    scaled_run(&t, "majority", &run);
    {
        int right = 0;

        for (int i = 0; i < 6; i++)
            right += test.label[i] == 1;
        assert_true(right > 0 && right < 6);
        for (int m = ALIGNED; m <= TURNED_Z; m++)
            assert_small(run.metrics[m] - right / 6.0, SUMS);
        assert_true(isnan(run.metrics[PAIR]) && isnan(run.metrics[FLIPS]));
    }
    task_run_clear(&run);
    for (int canonical = 0; canonical < 2; canonical++) {
        scaled_run(&t, canonical ? "nearest-grid-pca" : "nearest-grid", &run);
        assert_small(run.metrics[ALIGNED] -
                         nearest_share(&t, &net, &train, &test, canonical, SPLATS_ALIGNED),
                     SUMS);
        assert_small(run.metrics[ROTATED] -
                         nearest_share(&t, &net, &train, &test, canonical, SPLATS_TURN_SO3),
                     SUMS);
        assert_small(run.metrics[TURNED_Z] -
                         nearest_share(&t, &net, &train, &test, canonical, SPLATS_TURN_Z),
                     SUMS);
        task_run_clear(&run);
    }
    scaled_close(&t);
    assert_int_equal(remove(path), 0);
}

/* ---- batches --------------------------------------------------------------------------------------------------------- */

enum { SPLATS = 96, USED = 64, OBJECTS = 12 };

static const SplatsNet in_groups = {.kind = SPLATS_RELN,
                                    .splats = USED,
                                    .groups = 8,
                                    .members = 6,
                                    .masked = 3,
                                    .classes = SPLATS_CLASSES};

/* An object as a view shows it, (USED, RELN_SPLAT). */
static void shown(const SplatsView *view, ptrdiff_t object, double *rows)
{
    double *room = malloc(splats_room(view) * sizeof *room);

    assert_non_null(room);
    splats_object(view, object, room, rows);
    free(room);
}

static bool is_row_of(const double *row, const SplatsObjects *o, ptrdiff_t object, int *which)
{
    for (*which = 0; *which < o->splats; ++*which) {
        const float *from = o->rows + (object * o->splats + *which) * RELN_SPLAT;

        if ((double)from[0] == row[0] && (double)from[1] == row[1] && (double)from[2] == row[2])
            return true;
    }
    return false;
}

/* Objects with more splats than the network takes: the farthest ones, or random ones, each once, from all of them. */
static void splats_are_chosen_from_the_whole_object(void **state)
{
    static double rows[USED * RELN_SPLAT];
    SplatsObjects o;
    Scaled t;

    (void)state;
    scaled_init(&t, "splats");
    scaled_open(&t);
    assert_ok(t.env.ctx, splats_procedural(&t.env, 5, 0, 1, SPLATS, &o));
    for (int random = 0; random < 2; random++) {
        const SplatsView view = {.net = &in_groups, .objects = &o, .random = random, .seed = 3};
        double apart[2] = {HUGE_VAL, HUGE_VAL};

        for (ptrdiff_t i = 0; i < o.n; i++) {
            int times[SPLATS] = {0}, which, late = 0;

            shown(&view, i, rows);
            for (int k = 0; k < USED; k++) {
                assert_true(is_row_of(rows + k * RELN_SPLAT, &o, i, &which));
                assert_int_equal(times[which]++, 0);
                late += which >= USED;
            }
            assert_true(late > 0);
            /* the first ten of the farthest lie farther apart than any ten of the first */
            for (int of = 0; of < 2 && !random; of++)
                for (int a = 0; a < 10; a++)
                    for (int b = 0; b < a; b++) {
                        double square = 0;

                        for (int c = 0; c < 3; c++) {
                            const float *from = o.rows + i * SPLATS * RELN_SPLAT + c;

                            square +=
                                of ? pow((double)(from[a * RELN_SPLAT] - from[b * RELN_SPLAT]), 2)
                                   : pow(rows[a * RELN_SPLAT + c] - rows[b * RELN_SPLAT + c], 2);
                        }
                        apart[of] = fmin(apart[of], square);
                    }
        }
        assert_true(random || apart[0] > apart[1]);
    }
    scaled_close(&t);
}

/* A turn is the same for every network: a function of (seed, object, stream) alone, and one about z keeps heights. */
static void turns_are_those_of_the_object(void **state)
{
    static double before[USED * RELN_SPLAT], after[USED * RELN_SPLAT];
    SplatsObjects o;
    Scaled t;

    (void)state;
    scaled_init(&t, "splats");
    scaled_open(&t);
    assert_ok(t.env.ctx, splats_procedural(&t.env, 5, 0, 1, SPLATS, &o));
    for (int z = 0; z < 2; z++)
        for (ptrdiff_t i = 0; i < o.n; i++) {
            SplatsView view = {.net = &in_groups, .objects = &o, .seed = 3, .stream = 11};
            RelnRng rng = reln_rng(3 + 1000003 * (uint64_t)(i + 1), 3 * 11 + 1);
            double r[9];

            shown(&view, i, before);
            view.turn = z ? SPLATS_TURN_Z : SPLATS_TURN_SO3;
            shown(&view, i, after);
            reln_rotation_random(&rng, z, r);
            for (int k = 0; k < USED; k++) {
                const double *a = before + k * RELN_SPLAT, *b = after + k * RELN_SPLAT;

                for (int c = 0; c < 3; c++)
                    assert_small(b[c] -
                                     (r[3 * c] * a[0] + r[3 * c + 1] * a[1] + r[3 * c + 2] * a[2]),
                                 1e-14);
                assert_true(!z || fabs(b[2] - a[2]) < 1e-14);
            }
        }
    scaled_close(&t);
}

/* Groups that are hidden are drawn; together with the visible ones they are all. Invariants of a member are its lengths and
 * products, and its log variances, the largest first. */
static void groups_and_invariants_are_as_said(void **state)
{
    const int members = in_groups.groups * in_groups.members;
    int hidden[8] = {0};
    ptrdiff_t which[OBJECTS];
    SplatsBatch batch;
    SplatsObjects o;
    Scaled t;

    (void)state;
    memset(&seen, 0, sizeof seen);
    scaled_init(&t, "splats");
    scaled_open(&t);
    assert_ok(t.env.ctx, splats_procedural(&t.env, 5, 0, 2, SPLATS, &o));
    assert_ok(t.env.ctx, splats_batch_init(&t.env, &t.env.rooms, &in_groups, OBJECTS, &batch));
    const SplatsView view = {.net = &in_groups, .objects = &o, .regroup = true, .seed = 3};
    for (int i = 0; i < OBJECTS; i++)
        which[i] = i;
    splats_batch_fill(NULL, &view, which, OBJECTS, &batch);
    for (int i = 0; i < OBJECTS; i++) {
        int times[8] = {0};

        for (int k = 0; k < 3; k++) {
            times[batch.hidden[3 * i + k]]++;
            hidden[batch.hidden[3 * i + k]]++;
        }
        for (int k = 0; k < 5; k++)
            times[batch.visible[5 * i + k]]++;
        for (int g = 0; g < 8; g++)
            assert_int_equal(times[g], 1);
        for (int k = 0; k < members; k++) {
            const ptrdiff_t at = (ptrdiff_t)i * members + k;
            const double *d = batch.d + 3 * at, *s = batch.s + SPLATS_SCALARS * at,
                         *c = batch.c + 3 * (at / in_groups.members), *log = batch.log + 9 * at;

            assert_small(s[4] - sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), 1e-14);
            assert_small(s[5] - sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]), 1e-14);
            assert_small(s[6] - (d[0] * c[0] + d[1] * c[1] + d[2] * c[2]), 1e-14);
            assert_true(s[7] >= s[8] && s[8] >= s[9]);
            assert_small(s[7] + s[8] + s[9] - (log[0] + log[4] + log[8]), 1e-13); /* the trace */
        }
    }
    for (int g = 0; g < 8; g++) /* each is drawn with probability 3/8: none of twelve has 0.4 % */
        assert_true(hidden[g] > 0 && hidden[g] < OBJECTS);
    scaled_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_the_answers),
        cmocka_unit_test_setup_teardown(files_are_divided_and_rows_without_training_judged,
                                        folder_set_up, folder_tear_down),
        cmocka_unit_test(splats_are_chosen_from_the_whole_object),
        cmocka_unit_test(turns_are_those_of_the_object),
        cmocka_unit_test(groups_and_invariants_are_as_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
