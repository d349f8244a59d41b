/* regress.h -- what tasks share that learn a function of a few elements of an algebra from samples.
 *
 *     RegressJob job = {.symmetry = "gl:3", .features = "gl:3", .network = network, .model = model, .x = {.k = 9, .c = 2},
 *                       .train = &train, .validation = &validation, .batch = 100, .steps = 2000, ...};
 *     Regress *r = NULL;
 *     status = regress_fit(run, &job, &r);                     // planned, trained, the best weights taken
 *     regress_predict(r, x, n, out);                           // as often as wanted, on whatever was moved
 *     regress_destroy(r);
 *
 * The network is built twice from one function: for training and for judging. Its output has any rep. Where the symmetry
 * keeps no length in it, the error is measured in the frame of the data: covectors "frame", an input bound to the
 * identity, pair with the error to K numbers. In another frame, with its own covectors, these are the same numbers, so
 * the training graph as a whole is still checked against the full symmetry.
 */
#ifndef TASKS_REGRESS_H
#define TASKS_REGRESS_H

#include "tasks/task.h"

enum {
    REGRESS_NUMBERS = 64,
    REGRESS_BATCH = 128
}; /* most numbers of a sample's x or y; samples of a step */

/* Samples: x and y are (n, size_x) and (n, size_y). */
typedef struct RegressSet {
    ptrdiff_t n;
    int size_x, size_y;
    double *x, *y;
} RegressSet;

/* Zeros. Clear it, also when this fails. */
RelnStatus regress_set_init(TaskEnv *env, ptrdiff_t n, int size_x, int size_y, RegressSet *set);
void regress_set_clear(RegressSet *set);

typedef struct RegressJob {
    const char *symmetry, *features; /* as in reln_setting_init() */
    RelnForm form;
    RelnDtype dtype;
    RelnDims x; /* of a sample: K coordinates of the features' algebra, C elements */
    RelnNode *(*network)(const RelnNet *net, const void *model, RelnNode *x);
    const void *model;
    RelnLossKind loss; /* RELN_LOSS_MSE or _MAE; the latter where lengths are kept */
    bool root;         /* the root of the loss is what descends */
    const RegressSet *train, *validation;
    int batch;
    uint64_t steps, evaluate_every;
    RelnSchedule schedule;
    /* Augmentation: another sample of the same kind from this one, in place. NULL: none. */
    RelnStatus (*move)(const void *self, RelnRng *rng, double *x, double *y);
    const void *self;
} RegressJob;

typedef struct Regress Regress;

/* Fills params, params_used, seconds and curves of the run, and keeps the weights. Destroy *out, also when this fails. */
RelnStatus regress_fit(TaskRun *run, const RegressJob *job, Regress **out);
void regress_destroy(Regress *r); /* NULL is fine */

/* Outputs of the trained network, (n, size_y) doubles. */
RelnStatus regress_predict(Regress *r, const double *x, ptrdiff_t n, double *out);
RelnStore *regress_store(const Regress *r);

/* Mean over all numbers of (a - b)^2. */
double regress_mse(const double *a, const double *b, ptrdiff_t count);

/* How much of everything at a scale, and how it is told to describe(). */
typedef struct RegressScale {
    ptrdiff_t train, validation, test;
    uint64_t steps, evaluate_every;
} RegressScale;
void regress_describe(const RegressScale *scale, RelnDoc *doc, RelnDocNode *map);

#endif
