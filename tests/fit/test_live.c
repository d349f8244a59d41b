/* Tests when the files of a running fit are written: the clock and the cost of writing are given here. */
#include <time.h>

#include "fit/fit.h"
#include "fit/room.h"

enum { EPOCHS = 80, WRITES = 2 * EPOCHS };
#define TICK 0.3 /* seconds from one look at the files to the next */

typedef struct Written {
    int n;
    double began[WRITES], ended[WRITES];
} Written;

static double now, page_cost, model_cost;
static Written page, model;
static bool last; /* the run has ended: all files are written, whatever the time */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
RelnStatus __wrap_reln_fit_live(RelnFit *fit, bool end);
RelnStatus __real_reln_fit_live(RelnFit *fit, bool end);
RelnStatus __wrap_reln_fit_write_so_far(RelnFit *fit);
RelnStatus __real_reln_fit_write_so_far(RelnFit *fit);
RelnStatus __wrap_reln_model_save_best(const RelnModel *m, RelnTrainer *best, int64_t step,
                                       const char *path);
RelnStatus __real_reln_model_save_best(const RelnModel *m, RelnTrainer *best, int64_t step,
                                       const char *path);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = (time_t)now;
    t->tv_nsec = (long)(1e9 * (now - (double)t->tv_sec));
    return 0;
}

RelnStatus __wrap_reln_fit_live(RelnFit *fit, bool end)
{
    now += TICK;
    last = end;
    return __real_reln_fit_live(fit, end);
}

static void write_down(Written *w, double cost)
{
    if (!last) {
        assert_true(w->n < WRITES);
        w->began[w->n] = now;
        w->ended[w->n++] = now + cost;
    }
    now += cost;
}

RelnStatus __wrap_reln_fit_write_so_far(RelnFit *fit)
{
    write_down(&page, page_cost);
    return __real_reln_fit_write_so_far(fit);
}

RelnStatus __wrap_reln_model_save_best(const RelnModel *m, RelnTrainer *best, int64_t step,
                                       const char *path)
{
    write_down(&model, model_cost);
    return __real_reln_model_save_best(m, best, step, path);
}

/* A file is written again after `wanted` seconds, at the next look or the one after it. */
static void check_pauses(const char *name, const Written *w, double wanted, double late)
{
    assert_true(w->n > 2);
    for (int i = 1; i < w->n; i++) {
        const double pause = w->began[i] - w->ended[i - 1];

        if (!(pause >= wanted - 1e-6 && pause <= wanted + late))
            fail_msg("%s is written %g s after the last time; wanted %g to %g", name, pause, wanted,
                     wanted + late);
    }
}

/* The loss falls with every epoch, so that the model is a better one at each look. */
static void run(Room *r, double of_page, double of_model)
{
    now = 1000;
    page_cost = of_page;
    model_cost = of_model;
    page = model = (Written){.n = 0};
    last = false;
    room_train(r, 1);
    room_sweep(r->run);
}

static void writing_takes_a_twentieth_of_the_time(void **state)
{
    const double look = 2 * TICK + 1e-6;
    Room r;

    (void)state;
    room_init(&r,
              PAIRS "train: {epochs: 80, batch: 20, lr: 1e-5, optimizer: sgd, schedule: constant, "
                    "validation: 0.5, dtype: f64}}",
              40);
    run(&r, 0, 0); /* half a second is the least */
    check_pauses("the page", &page, 0.5, look);
    check_pauses("the model", &model, 0.5, look);
    run(&r, 0.1, 0.05);
    check_pauses("the page", &page, 2, look + model_cost);
    check_pauses("the model", &model, 1, look + page_cost);
    run(&r, 0.2, 2); /* the model is at most ten seconds old, whatever it costs */
    check_pauses("the page", &page, 4, look + model_cost);
    check_pauses("the model", &model, 10, look + page_cost);
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writing_takes_a_twentieth_of_the_time)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
