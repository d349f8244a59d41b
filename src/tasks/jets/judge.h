/* judge.h -- one training of a row, and its evaluation. */
#ifndef TASKS_JETS_JUDGE_H
#define TASKS_JETS_JUDGE_H

#include "tasks/jets/jets.h"

enum { JETS_TRAIN, JETS_VALIDATION, JETS_TEST, JETS_SETS };
enum { JETS_FOLDS = 50, JETS_BATCH = 128, JETS_OUT = 16 };

enum {
    JETS_ACCURACY,
    JETS_ACCURACY_ERROR,
    JETS_AUC,
    JETS_AUC_ERROR,
    JETS_AT_30,
    JETS_AT_50,
    JETS_AT_70,
    JETS_AT_80,
    JETS_AT_90,
    JETS_PUBLISHED_50,
    JETS_CHOSEN,
    JETS_MOVED,
    JETS_MS,
    JETS_METRICS
};

#define JETS_CURVE_SCORES "scores"
#define JETS_CURVE_UNIT "unit of the data in GeV"
#define JETS_CURVE_ROC "background rejection"
#define JETS_CURVE_BOOST_ACCURACY "accuracy of boosted jets, beams boosted"
#define JETS_CURVE_BOOST_STAY "accuracy of boosted jets, beams left in the lab"
#define JETS_CURVE_BOOST_CHANGE "change of the logit, beams boosted"
#define JETS_CURVE_BOOST_STAY_CHANGE "change of the logit, beams left in the lab"
#define JETS_CURVE_SOFT "soft particles added"
#define JETS_CURVE_SPLIT "particles split in two of one direction"
#define JETS_CURVE_HARDEST "cut to the hardest particles"

/* A JetsScale holds the numbers of a scale. */
typedef struct JetsScale {
    double rate, decay, floor;
    RelnDtype dtype;
    int epochs, batch, batch_ours;
    int train, validation, test; /* jets of the generator */
    int most;                    /* jets of each file; 0: all */
    int data_seed;
    int draws;           /* number of bootstrap draws */
    int boosted, frames; /* number of boosted jets, and of random frames for each velocity */
} JetsScale;

typedef struct JetsData {
    JetsSource *sets[JETS_SETS]; /* NULL: there are none */
    JetsSource *all;             /* the sets, joined */
    Jets toy[JETS_SETS];
    int folds; /* 0: the sets are used without folds */
} JetsData;

/* A JetsFit is one training. */
typedef struct JetsFit {
    TaskRun *run;
    const JetsData *data;
    JetsModel own;
    const JetsModel *model;
    const JetsSource *source;
    int fold;
    ptrdiff_t n_train, n_validation, n_test;
    ptrdiff_t *train, *validation, *test; /* jets of the source */
    int batch_size;
    int part; /* the part of the job that trains on the source: after pre-training 1, else 0 */
    uint64_t per_epoch, drawn_per_epoch;
    Jets jets;
    JetsBatch batch;
    double threshold; /* threshold of rows without training */
    /* of the jets that were predicted last: */
    double *scores, *weights;
    int32_t *labels;
    double *pooled;       /* scores of all jets, by folds */
    double best, seconds; /* sums over folds: the best accuracies, and the time of predictions */
    double *out;
} JetsFit;

/* Computes scores, labels and weights of these jets of the source in a view. */
RelnStatus jets_predict(Exp *e, JetsFit *f, ptrdiff_t n, const ptrdiff_t *which,
                        const JetsView *view, double *scores);

RelnStatus jets_judge(TaskRun *run, Exp *e, const void *self);
RelnStatus jets_judge_fold_first(TaskRun *run, Exp *e, const void *self);
RelnStatus jets_judge_fold(TaskRun *run, Exp *e, const void *self);
RelnStatus jets_judge_pooled(JetsFit *f);
RelnStatus jets_remarks(TaskEnv *env, const TaskRun *runs, int n_models, int n_seeds,
                        void (*remark)(void *self, const char *line), void *self);

/* Returns the rate of each step; for JETS_PUBLISHED and 35 epochs, that of the published code. */
RelnSchedule jets_schedule(const JetsScale *scale, int epochs, JetsRecipe recipe,
                           uint64_t per_epoch);

#endif
