/* kept.h -- a run of a task in a folder, its record, and its saved weights in a network that the test builds. */
#ifndef TESTS_TASKS_KEPT_H
#define TESTS_TASKS_KEPT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"
#include "tasks/experiment.h"
#include "tasks/runner.h"

/* ---- a run --------------------------------------------------------------------------------------------------------- */

typedef struct Kept {
    RelnCtx *ctx;
    double metrics[TASK_METRICS]; /* of the record */
    char folder[64], weights[192];
} Kept;

/* Runs seed 1 at scale smoke. The caller clears it. */
static inline void kept_run(Kept *k, const Task *task, const char *model)
{
    const TaskRequest request = {.task = task, .scale = TASK_SMOKE, .seeds = 1, .models = model};
    TaskRequest r = request;
    TaskOutcome outcome;
    RelnDoc *doc = NULL;
    char path[192];

    *k = (Kept){.ctx = NULL, .folder = "/tmp/reln-kept-XXXXXX"};
    assert_non_null(mkdtemp(k->folder));
    r.out = k->folder;
    assert_int_equal(reln_ctx_create(NULL, &k->ctx), RELN_OK);
    if (task_reproduce(k->ctx, &r, &outcome) != RELN_OK)
        fail_msg("%s", outcome.message);
    snprintf(k->weights, sizeof k->weights, "%s/models/%s-1.safetensors", k->folder, model);
    snprintf(path, sizeof path, "%s/runs/%s-1.json", k->folder, model);
    assert_ok(k->ctx, reln_doc_load(k->ctx, path, &doc));
    for (int i = 0; i < task->n_metrics; i++)
        k->metrics[i] = reln_doc_number(reln_doc_get(reln_doc_root(doc), "metrics"),
                                        task->metrics[i].name, (double)NAN);
    reln_doc_destroy(doc);
}

static inline void kept_clear(Kept *k)
{
    char command[96];

    snprintf(command, sizeof command, "rm -r %s", k->folder);
    assert_int_equal(system(command), 0);
    reln_ctx_destroy(k->ctx);
}

/* ---- its weights in a network -------------------------------------------------------------------------------------- */

typedef struct Judge {
    RelnSetting s;
    RelnPlan *plan;
    RelnDtype dtype;
} Judge;

/* Loads all saved weights into the store, by name. */
static inline void kept_weights(const Kept *k, const RelnStore *store)
{
    RelnTensors *tensors = NULL;

    assert_ok(k->ctx, reln_tensors_load(k->ctx, k->weights, &tensors));
    for (int i = 0; i < reln_tensors_count(tensors); i++) {
        const RelnArray *w = reln_tensors_get(tensors, i);
        RelnEntryInfo entry;
        size_t count = 1;

        for (int d = 0; d < w->rank; d++)
            count *= (size_t)w->dims[d];
        if (!reln_store_find(store, w->name, &entry))
            fail_msg("the network has no %s", w->name);
        assert_true(entry.count == count && entry.dtype == w->dtype);
        memcpy(entry.values, w->values,
               count * (w->dtype == RELN_F64 ? sizeof(double) : sizeof(float)));
    }
    reln_tensors_destroy(tensors);
}

typedef struct JudgeOptions {
    const char *symmetry, *features;
    RelnForm form;
    RelnDtype dtype;
} JudgeOptions;

static inline void judge_open(Judge *j, const Kept *k, const JudgeOptions *o, ExpNetwork network,
                              const void *model)
{
    RelnNet net;

    *j = (Judge){.dtype = o->dtype};
    assert_ok(j->s.ctx, reln_setting_init(&j->s, o->symmetry, o->features, o->dtype, /*seed=*/77));
    net = (RelnNet){.graph = j->s.graph, .algebra = j->s.algebra, .form = o->form};
    reln_output(j->s.graph, "out", network(&net, model));
    assert_ok(j->s.ctx, reln_plan_create(j->s.graph, NULL, &j->plan));
    kept_weights(k, j->s.store);
}

/* Computes the outputs of n samples, `size` numbers each. */
static inline void judge_apply(Judge *j, ptrdiff_t n, const double *x, int size, double *out)
{
    const void *values;
    ptrdiff_t items = 0;

    assert_ok(j->s.ctx, reln_plan_bind(j->plan, "x", x, RELN_F64));
    assert_ok(j->s.ctx, reln_plan_run(j->plan, &(RelnRun){.n_samples = n}));
    values = reln_plan_output(j->plan, "out", &items);
    assert_int_equal(items, n);
    for (ptrdiff_t i = 0; i < n * size; i++)
        out[i] =
            j->dtype == RELN_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

static inline void judge_close(Judge *j)
{
    reln_plan_destroy(j->plan);
    reln_setting_clear(&j->s);
}

/* Compares a metric of the record with that of the test: means of the same numbers in another order. A sum of
 * n terms of one sign is accurate to n roundings; `off` is the relative effect of moving a sample and
 * rounding it to the network's precision before or after. */
static inline void assert_metric(double got, double want, double off)
{
    assert_true(want > 0 || got == want);
    assert_small(got - want, (1000 * 0x1p-52 + off) * want);
}

#endif
