/* Tests rows of the drone table at scale smoke: finite metrics, covariances where they are predicted, and
 * known results of classical rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "tasks/scaled.h"

enum { WINDOW, ATE, MEAN, PERCENT, RTE2, RTE20, ATE_R2, ATE_R3, TURNED, SYMMETRY, NEES, METRICS };

/* Returns whether a row is tested: the rows of the scale, and some rows of larger scales that are as fast. */
static bool in_time(const TaskModel *model)
{
    static const char *const more[] = {"reln-direct", "reln-products", "vn-krylov-bounded"};

    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (strcmp(model->name, more[i]) == 0)
            return true;
    return model->from == TASK_SMOKE;
}

/* Runs rows for a few steps. The norms of ReLN have hardly any statistics then, but its cubic gates must stay
 * finite. */
static void run_rows(const char *noise)
{
    TaskEnv env = {.task = task_find("drone"), .scale = TASK_SMOKE};
    double window[2] = {0};
    void *data = NULL;

    assert_int_equal(env.task->n_metrics, METRICS);
    for (int i = 0; i < env.task->n_options; i++)
        env.values[i] = strcmp(env.task->options[i].name, "noise") == 0 ? noise : NULL;
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    assert_ok(env.ctx, env.task->prepare(&env, &data));
    for (int m = 0; m < env.task->n_models; m++) {
        const TaskModel *model = &env.task->models[m];
        TaskRun run;

        if (!in_time(model) || !env.task->wanted(&env, model))
            continue;
        assert_ok(env.ctx, task_run_alone(&env, data, model, 1, &run));
        for (int i = 0; i < NEES; i++)
            assert_true(isfinite(run.metrics[i]));
        if (strcmp(model->name, "integration") == 0)
            window[0] = run.metrics[WINDOW];
        if (strcmp(model->name, "rts-window") == 0)
            window[1] = run.metrics[WINDOW];
        if (strcmp(model->name, "best") == 0 || strcmp(model->name, "rts-window") == 0)
            assert_true(isfinite(run.metrics[NEES]));
        else
            assert_true(isnan(run.metrics[NEES]));
        if (strcmp(model->name, "perfect") == 0) {
            assert_true(run.metrics[ATE] < 1e-9 && run.metrics[ATE_R3] > 3);
        } else if (strcmp(model->name, "resnet") != 0) {
            assert_true(run.metrics[SYMMETRY] < 1e-4);
            /* the scale has one flight, which is also evaluated in a turned frame */
            assert_true(fabs(run.metrics[TURNED] / run.metrics[WINDOW] - 1) < 1e-3);
        }
        task_run_clear(&run);
    }
    assert_true(window[1] < window[0]);
    task_release(&env);
    reln_ctx_destroy(env.ctx);
}

static void rows_have_finite_scores(void **state)
{
    (void)state;
    run_rows("d");
}

static void two_sensors_have_rows_of_their_own(void **state)
{
    (void)state;
    run_rows("g");
}

static void set_number(Scaled *s, const char *field, double value)
{
    const Section *fields = s->task.scale_fields.section;

    for (int i = 0; i < fields->n_keys; i++)
        if (strcmp(fields->keys[i].name, field) == 0)
            memcpy((char *)s->numbers + fields->keys[i].at, &value, sizeof value);
}

/* Flights of at least half a minute; with options. */
static void open_flights(Scaled *s, const char *option, const char *value)
{
    scaled_init(s, "drone");
    set_number(s, "test_seconds", 40);
    scaled_set(s, "tested", 2);
    scaled_option(s, option, value);
    scaled_open(s);
}

/* All flights are saved with what their sensors saw. The saved test flights have the errors of the simulated ones; those
 * without measurements are measured again, by other draws. */
static void saved_flights_are_judged_as_the_simulated_ones(void **state)
{
    static const char *const endings[] = {"npz", "tum"};
    const Folder *f = *state;
    char folder[96], flights[256], command[128];
    double want[METRICS];
    TaskRun run;
    Scaled s;

    snprintf(folder, sizeof folder, "%s/saved", f->directory);
    open_flights(&s, "save", folder);
    scaled_run(&s, "integration", &run);
    memcpy(want, run.metrics, sizeof want);
    task_run_clear(&run);
    scaled_close(&s);
    snprintf(command, sizeof command, "[ $(ls %s | wc -l) -eq 10 ]",
             folder); /* 2 + 1 + 2 flights */
    assert_int_equal(system(command), 0);
    for (int e = 0; e < 2; e++) {
        snprintf(flights, sizeof flights, "%s/test-000.%s,%s/test-001.%s", folder, endings[e],
                 folder, endings[e]);
        open_flights(&s, "flights", flights);
        scaled_run(&s, "integration", &run);
        for (int i = WINDOW; i <= ATE_R3; i++) {
            if (e ==
                0) /* positions are written with all digits, times to a few roundings of a minute */
                assert_small(run.metrics[i] / want[i] - 1, 1e-6);
            else
                assert_true(run.metrics[i] != want[i] && fabs(run.metrics[i] / want[i] - 1) < 1);
        }
        task_run_clear(&run);
        scaled_close(&s);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void write_flight(const char *path, double seconds)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (int i = 0; i <= 50 * seconds; i++) {
        const double t = 0.02 * i;

        fprintf(f, "%.2f %.9f %.9f %.9f 0 0 0 1\n", t, 6 * sin(0.7 * t), 5 * cos(0.5 * t), 0.3 * t);
    }
    assert_int_equal(fclose(f), 0);
}

static void judge_flights(const char *names, double metrics[METRICS])
{
    TaskRun run;
    Scaled s;

    open_flights(&s, "flights", names);
    scaled_run(&s, "integration", &run);
    memcpy(metrics, run.metrics, METRICS * sizeof *metrics);
    task_run_clear(&run);
    scaled_close(&s);
}

/* A flight of 4 s has no error over 20 s: beside a longer flight it leaves that error alone, by itself there is none. */
static void short_flights_have_the_errors_that_fit(void **state)
{
    const Folder *f = *state;
    char path[2][96], both[200];
    double metrics[3][METRICS]; /* of the long one, of both, of the short one */

    snprintf(path[0], sizeof path[0], "%s/long.txt", f->directory);
    snprintf(path[1], sizeof path[1], "%s/short.txt", f->directory);
    snprintf(both, sizeof both, "%s,%s", path[0], path[1]);
    write_flight(path[0], 25);
    write_flight(path[1], 4);
    judge_flights(path[0], metrics[0]);
    judge_flights(both, metrics[1]);
    judge_flights(path[1], metrics[2]);
    assert_true(metrics[0][RTE20] > 0 && metrics[1][RTE20] == metrics[0][RTE20]);
    assert_true(isnan(metrics[2][RTE20]));
    assert_true(metrics[2][RTE2] > 0 && metrics[1][RTE2] > 0);
    assert_true(metrics[1][RTE2] != metrics[0][RTE2]);
    assert_int_equal(unlink(path[0]) | unlink(path[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(short_flights_have_the_errors_that_fit, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test(rows_have_finite_scores),
        cmocka_unit_test(two_sensors_have_rows_of_their_own),
        cmocka_unit_test_setup_teardown(saved_flights_are_judged_as_the_simulated_ones,
                                        folder_set_up, folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
