/* bench.h -- what `reln bench` measures, and the numbers that come out.
 *
 *     BenchOptions options = {.threads = 2};
 *     BenchResult result;
 *     bench_run(ctx, &options, &result);
 *     for (int i = 0; i < result.n_rows; i++) ... result.rows[i].share
 *     bench_clear(&result);
 *
 * A case is a network, a layer or a kernel, built for one of three passes and run on a batch. Its nominal operations are
 * those of its matrix products as the dense formulas have them (kernels: as the plan counts them), so that work a plan
 * saves counts for it. A share is these operations, divided by the time and by the rate of as many threads of the
 * machine's own sgemm at 1008 x 256 x 256, measured in turns with the case.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "kit/kit.h"

typedef enum BenchPass {
    BENCH_FORWARD,  /* outputs */
    BENCH_GRADIENT, /* value of a loss and its gradient by all weights; hnn: the field J dH/dz */
    BENCH_TRAIN,    /* the same and a step of Adam */
    BENCH_PASSES
} BenchPass;
extern const char *const bench_pass_names[BENCH_PASSES];

typedef enum BenchKind { BENCH_NETWORK, BENCH_LAYER, BENCH_KERNEL } BenchKind;

/* ---- cases ----------------------------------------------------------------------------------------------------- */

enum { BENCH_MAX_BATCHES = 4, BENCH_MAX_INPUTS = 4, BENCH_MAX_DOMAINS = 8 };

typedef struct BenchNet BenchNet;

typedef struct BenchCase {
    BenchKind kind;
    char name[40];       /* "sp4", "gl3/64", "kernel/bracket/sp:4/256" */
    const char *algebra; /* of the symmetry, and of features unless they have one of their own: */
    const char *features;
    int points, channels, width;
    int batches[BENCH_MAX_BATCHES];  /* 0: no more */
    RelnNode *(*build)(BenchNet *b); /* the output */
    RelnNode *(*loss)(BenchNet *b, RelnNode *y);
} BenchCase;

/* All of them; *n is their number. Borrowed by the caller, who frees; NULL when memory is out. */
BenchCase *bench_cases(int *n);
/* Does one of the words of `only`, separated by commas, occur in the name? NULL fits all. */
bool bench_wanted(const char *name, const char *only);

/* A case being built: its graph, its inputs and its nominal operations for one sample. */
struct BenchNet {
    const BenchCase *c;
    BenchPass pass;
    RelnNet net;
    const RelnRep *rep;
    double flops; /* of this pass */
    int n_inputs;
    RelnNode *inputs[BENCH_MAX_INPUTS];
    int limits[BENCH_MAX_INPUTS]; /* of indices; 0: numbers */
    int per[BENCH_MAX_DOMAINS];   /* items of each domain in a sample; 0: one */
    RelnNode *x;                  /* the first one */
    bool is_gradient;             /* what build() returned is what the gradient pass is about */
};

RelnNode *bench_input(BenchNet *b, const char *name, RelnDims dims, const RelnRep *rep);
RelnNode *bench_input_rows(BenchNet *b, const char *name, RelnDomain rows, RelnDims dims,
                           const RelnRep *rep);
/* Note that a domain has so many items in every sample. */
RelnDomain bench_domain(BenchNet *b, RelnDomain domain, int per);
int bench_per(const BenchNet *b, const RelnNode *x);
RelnNode *bench_index(BenchNet *b, const char *name, RelnDims dims, int limit); /* below limit */
/* One for each row, of the rows `target` of its sample. */
RelnNode *bench_index_rows(BenchNet *b, const char *name, RelnDomain rows, RelnDomain target,
                           int limit);

/* What the files of cases offer. */
int bench_network_cases(BenchCase *out, int room);
int bench_structured_cases(BenchCase *out, int room);
int bench_layer_cases(BenchCase *out, int room);
int bench_kernel_cases(BenchCase *out, int room);

/* Layers that also count their products: 2 P K in out operations forward (a convolution: that for each tap), as many for the gradient of the weights, and
 * as many for the gradient of what comes in unless that is data. */
RelnNode *bench_linear(BenchNet *b, const char *name, RelnNode *x, int channels);
RelnNode *bench_relu(BenchNet *b, const char *name, RelnNode *x);
RelnNode *bench_bracket(BenchNet *b, const char *name, RelnNode *x);
RelnNode *bench_pool(BenchNet *b, const char *name, RelnNode *x);
RelnNode *bench_dense(BenchNet *b, const char *name, RelnNode *x, int channels);
/* For layers of other kinds: `products` matrices from x's channels to `channels` of them. */
void bench_count(BenchNet *b, const RelnNode *x, int products, int channels, bool learns);

/* Losses. Squared error against an input "t"; cross entropy with labels; <t, y> with t in the dual rep, whose gradient
 * by y is t: a layer's own backward pass and nothing else. */
RelnNode *bench_loss_squares(BenchNet *b, RelnNode *y);
RelnNode *bench_loss_classes(BenchNet *b, RelnNode *y);
RelnNode *bench_loss_pairing(BenchNet *b, RelnNode *y);

/* ---- running one case ------------------------------------------------------------------------------------------- */

/* A case that can be run: opened once for its algebra, then planned for each pass. */
typedef struct BenchRig {
    const BenchCase *c;
    bool reference; /* kernels; set between bench_rig_open() and bench_rig_plan() */
    RelnSetting setting;
    RelnGraph *graph;
    RelnPlan *plan;
    void *data[BENCH_MAX_INPUTS]; /* of the inputs, for the largest batch */
    const RelnNode *inputs[BENCH_MAX_INPUTS];
    int per[BENCH_MAX_INPUTS]; /* rows of each in a sample; 1: it is of samples */
    int n_inputs;
    double flops, bytes; /* nominal operations, and traffic of kernels, of one sample */
    double build;        /* seconds for graph, gradient and plan */
    int shard, batch;
    uint64_t step;
} BenchRig;

RelnStatus bench_rig_open(BenchRig *rig, const BenchCase *c);
RelnStatus bench_rig_plan(BenchRig *rig, BenchPass pass, int max_batch, RelnPool *pool);
RelnStatus bench_rig_run(BenchRig *rig); /* rig->batch samples */
RelnStatus bench_rig_save(const BenchRig *rig, const char *path);
void bench_rig_close(BenchRig *rig);
const char *bench_rig_error(const BenchRig *rig);

/* ---- measuring -------------------------------------------------------------------------------------------------- */

typedef struct BenchSpread {
    int n;
    double median, p10, p90;
} BenchSpread;
BenchSpread bench_spread(double *values, int n); /* sorts them */

/* One thread is timed on the processor, which others on the machine disturb little; several by the wall clock. */
double bench_clock(int threads);

typedef struct BenchRow {
    BenchKind kind;
    char name[40];
    BenchPass pass;
    int batch, threads;
    BenchSpread seconds;
    double gflops, share;
    double sgemm; /* operations a second of one thread, in turns with this row */
    double
        intensity; /* nominal operations for each byte that kernels read and write; NaN below a shard, where the
                         * weights' share of the traffic is another */
    double build;       /* seconds: graph, gradient, plan */
    double allocations; /* of a run */
} BenchRow;

/* A product of the machine's BLAS, one thread. */
typedef struct BenchGemm {
    RelnDtype dtype;
    int m, n, k;
    BenchSpread rate; /* operations a second */
} BenchGemm;

/* A new process: from its start to its first result, and the most memory it ever had. */
typedef struct BenchProcess {
    char name[64]; /* "sp4/forward/1" */
    double seconds;
    double build;      /* seconds within: graph, first weights, gradient, plan */
    double peak_bytes; /* resident */
} BenchProcess;

/* Making an algebra, its group and rep. */
typedef struct BenchSetup {
    char name[16];
    double seconds;
} BenchSetup;

enum { BENCH_GEMMS = 16, BENCH_PROCESSES = 8, BENCH_SETUPS = 8 };

typedef struct BenchResult {
    RelnMachine machine;
    const char *kernels;
    int threads;
    double bandwidth; /* bytes a second */
    int n_gemms, n_rows, room, n_processes, n_setups;
    BenchGemm gemms[BENCH_GEMMS]; /* the first is the one of shares */
    BenchRow *rows;
    BenchProcess processes[BENCH_PROCESSES];
    BenchSetup setups[BENCH_SETUPS];
} BenchResult;

typedef struct BenchOptions {
    bool quick;
    bool
        reference; /* kernels, of rows and not of the processes that are started for their memory */
    int threads;   /* of the runs with several */
    const char *only; /* or NULL */
    /* Called before every row; false ends the run, with what there is. NULL: never asked. */
    bool (*observe)(void *self, int done, int all, const char *name);
    void *self;
} BenchOptions;

/* What a step of training costs, for processes that share it (scale.c). */
typedef struct BenchScale {
    int shard;                          /* samples */
    double shard_seconds, step_seconds; /* of a shard; of a step beside its shards */
    double sums;                        /* bytes that are added up over shards */
    int reductions;                     /* in so many exchanges */
    size_t parameters;
    int ranks;                            /* of this measurement */
    double agree_seconds, gather_seconds; /* among them; 0: there is one */
} BenchScale;
/* Measure a network; comm may be NULL. RELN_ERR_ARG when there is none of this name. */
RelnStatus bench_scale(RelnCtx *ctx, const char *name, const RelnComm *comm, BenchScale *out,
                       char *why, size_t size);
/* The time of a step of so many shards, on a network of this latency (s) and bandwidth (bytes/s). */
double bench_scale_seconds(const BenchScale *s, double shards, double ranks, double latency,
                           double bandwidth);

/* RELN_ERR_ARG when `only` fits nothing. Call bench_clear() in either case. */
RelnStatus bench_run(RelnCtx *ctx, const BenchOptions *options, BenchResult *out, char *why,
                     size_t size);
void bench_clear(BenchResult *result);
/* A self-contained page with a roofline plot. */
RelnStatus bench_report(RelnCtx *ctx, const BenchResult *result, const char *path, char *why,
                        size_t size);

/* Three runs of the case that is named, such as "sp4/train/100", one for forward: what a process of ours is started for.
 * out->seconds stays 0. With a path, the arrays of the last run are kept there as .npz, for comparison with other software:
 * "in.NAME" the inputs, "w.NAME" the parameters, and of a gradient pass "loss" and "g.NAME". */
RelnStatus bench_once(RelnCtx *ctx, const char *name, int threads, const char *path,
                      BenchProcess *out, char *why, size_t size);
/* The most memory that this process has had resident, in bytes; 0 when not known. */
double bench_peak_bytes(void);
/* Starts this program as "reln bench once NAME". False when it could not be started or failed. */
bool bench_process(const char *name, BenchProcess *out);

/* The paper's complexity table: gl(n) at a fixed budget of K times channels, relative to n = 2. */
typedef struct BenchScaling {
    int n, channels;
    double linear;   /* (2/n)^2: cost of the linear part, the paper's C^2/n^2 */
    double total;    /* the same with the bracket's C n, by its exact count */
    double measured; /* time, one thread, forward */
} BenchScaling;
/* Rows of the sweep in the result; returns their number, at most `room`. */
int bench_scaling(const BenchResult *result, BenchScaling *out, int room);
/* Operations of the sweep's network: products, and all contractions of brackets and forms. */
void bench_sweep_flops(int n, double *products, double *total);
int bench_sweep_channels(int n);

#endif
