/* Tests the score by which classifiers keep their weights: the share of errors, and for equal shares the entropy. The linker
 * redirects exp_run() and the functions that predict to this file: nothing is trained, and the predictions are chosen. */
#include "tasks/jets/judge.h"
#include "tasks/scaled.h"

static const double *answers; /* by which labels are answered: +: right, and how surely */
static int n_answers;
static RelnEvaluation seen;
static ptrdiff_t n_seen;
static bool of_validation;

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self);
RelnStatus __wrap_jets_predict(Exp *e, JetsFit *f, ptrdiff_t n, const ptrdiff_t *which,
                               const JetsView *view, double *scores);

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self)
{
    (void)run, (void)judge, (void)self;
    return job->parts[0].evaluate(NULL, job->parts[0].self, &seen);
}

/* ---- other classifiers: all samples get the same logits, s for the first class and 0 for the others -------------- */

static double sureness;
static int classes;

RelnStatus __wrap_exp_go_on(Exp *e);
RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out);

RelnStatus __wrap_exp_go_on(Exp *e)
{
    (void)e;
    return RELN_OK;
}

RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out)
{
    (void)e, (void)plan;
    for (ptrdiff_t i = 0; i < set->n * classes; i++)
        out[i] = i % classes == 0 ? sureness : 0;
    return RELN_OK;
}

static double score_of_all(const char *task, const char *row, double s)
{
    Scaled t;
    TaskRun run;

    sureness = s;
    scaled_init(&t, task);
    scaled_open(&t);
    scaled_run(&t, row, &run);
    task_run_clear(&run);
    scaled_close(&t);
    return seen.score;
}

/* With a share p of the first class, the entropy is log(1 + (c - 1) e^-s) + (1 - p) s. */
static void check_score(const char *task, const char *row, int c, int n)
{
    static const double sure[] = {0.5, 1, 4};

    classes = c;
    for (int i = 0; i < 3; i++) {
        const double score = score_of_all(task, row, sure[i]), p = round((1 - score) * n) / n;
        const double h = log(1 + (c - 1) * exp(-sure[i])) + (1 - p) * sure[i];

        assert_true(p > 0 && p < 1);
        assert_small(score - (1 - p + 1e-4 * h / (1 + h)), 1e-14);
    }
}

static void solids_and_splats_break_ties_by_the_entropy(void **state)
{
    (void)state;
    check_score("platonic", "mlp-256", 3, 1000);
    check_score("splats", "baseline", 10, 20);
}

/* ---- jets ---------------------------------------------------------------------------------------------------- */

/* Labels alternate; a jet gets the score of its label, or of the other one. */
RelnStatus __wrap_jets_predict(Exp *e, JetsFit *f, ptrdiff_t n, const ptrdiff_t *which,
                               const JetsView *view, double *scores)
{
    (void)e;
    assert_null(view);
    n_seen = n;
    of_validation = which == f->validation;
    for (ptrdiff_t i = 0; i < n; i++) {
        f->labels[i] = (int32_t)(i % 2);
        scores[i] = (i % 2 ? 1 : -1) * answers[i % n_answers];
    }
    return RELN_OK;
}

/* The score of answers that are repeated over all jets, of which there are a multiple of n. */
static double score_of(const double *sure, int n)
{
    Scaled s;
    TaskRun run;

    answers = sure;
    n_answers = n;
    scaled_init(&s, "jets");
    scaled_open(&s);
    scaled_run(&s, "mlp", &run);
    task_run_clear(&run);
    scaled_close(&s);
    return seen.score;
}

/* -log of the probability of the right class, 1 / (1 + e^-s) for a logit s. */
static double surprise(double s)
{
    return log(1 + exp(-s));
}

static void the_score_is_the_share_of_errors_and_then_the_entropy(void **state)
{
    static const double sure[] = {3, 2, -1, 4}, bold[] = {3, 2, -5, 4},
                        one_more[] = {0.1, -30, 0.1, 0.1}, half[] = {3, 2, -1, -1};
    double entropy = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        entropy += surprise(sure[i]) / 4;
    assert_small(score_of(sure, 4) - (0.25 + 1e-4 * entropy / (1 + entropy)), 1e-15);
    assert_true(of_validation && n_seen == 16);
    assert_true(seen.metrics[0] == 0.75);
    assert_true(score_of(bold, 4) > score_of(sure, 4));
    /* one more right answer is worth more than any entropy */
    assert_true(score_of(one_more, 4) < score_of(half, 4));
}

/* Jets with a score of 0 are not right. */
static void undecided_jets_are_errors(void **state)
{
    static const double none[] = {0};

    (void)state;
    score_of(none, 1);
    assert_true(seen.metrics[0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_score_is_the_share_of_errors_and_then_the_entropy),
        cmocka_unit_test(undecided_jets_are_errors),
        cmocka_unit_test(solids_and_splats_break_ties_by_the_entropy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
