/* Tests the option `drawings`: a record without drawings has the same numbers and settings, and no place of a particle or a
 * splat. */
#include <stdlib.h>
#include <string.h>

#include "tasks/files.h"
#include "tasks/scaled.h"

/* A Drawn names a row of a task, and how the names of its curves with drawings begin. */
typedef struct Drawn {
    const char *task, *row, *curves[3];
} Drawn;

static const Drawn rows[] = {
    {"jets", "subjets-84", {"soft subjets", NULL, NULL}},
    {"splats", "reln-pre", {"attention of group", "hidden splats", "true splats"}},
};
enum { ROWS = sizeof rows / sizeof rows[0], METRICS = 64 };

/* Runs the row, and copies its numbers and settings; returns how many kinds of its drawings there are. */
static int run_row(const Drawn *d, const char *drawings, double metrics[METRICS], char **settings)
{
    TaskRun run;
    Scaled s;
    int kinds = 0;

    scaled_init(&s, d->task);
    if (drawings)
        scaled_option(&s, "drawings", drawings);
    scaled_open(&s);
    scaled_run(&s, d->row, &run);
    for (int i = 0; i < s.task.n_metrics; i++)
        metrics[i] = run.metrics[i];
    *settings = task_settings_text(&run);
    for (int k = 0; k < 3 && d->curves[k]; k++) {
        bool there = false;

        for (const TaskCurve *c = run.curves; c; c = c->next)
            there = there || strncmp(c->name, d->curves[k], strlen(d->curves[k])) == 0;
        kinds += there;
    }
    task_run_clear(&run);
    scaled_close(&s);
    return kinds;
}

static void records_without_drawings_have_the_same_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const Drawn *d = &rows[i];
        double with[METRICS], without[METRICS], first[METRICS];
        char *settings[3];
        const int kinds = 1 + (d->curves[1] != NULL) + (d->curves[2] != NULL);
        const int n = task_find(d->task)->n_metrics;

        assert_in_range(n, 1, METRICS);
        assert_int_equal(run_row(d, NULL, first, &settings[0]), kinds);
        assert_int_equal(run_row(d, "yes", with, &settings[1]), kinds);
        assert_int_equal(run_row(d, "no", without, &settings[2]), 0);
        for (int m = 0; m < n; m++) {
            const char *name = task_find(d->task)->metrics[m].name;

            if (name && strcmp(name, "ms_per_jet") == 0) /* a time */
                continue;
            assert_true(memcmp(&with[m], &without[m], sizeof with[m]) == 0 ||
                        (isnan(with[m]) && isnan(without[m])));
        }
        assert_string_equal(settings[0], settings[1]);
        assert_string_equal(settings[0], settings[2]);
        for (int s = 0; s < 3; s++)
            free(settings[s]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_without_drawings_have_the_same_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
