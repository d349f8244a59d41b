/* bench.h -- the cases that `reln bench` measures, and the results.
 *
 *     BenchOptions options = {.threads = 2};
 *     BenchResult result;
 *     bench_run(ctx, &options, &result);
 *     for (int i = 0; i < result.n_rows; i++) ... result.rows[i].share
 *     bench_clear(&result);
 *
 * A case is a network, a layer or a kernel, built for one of three passes and run on a batch. Its nominal operations
 * are those of its matrix products by the dense formulas (for kernels: as the plan counts them), so work that a plan
 * saves still counts. A share is these operations, divided by the time and by the rate of as many threads of the
 * machine's sgemm at 1008 x 256 x 256, measured alternately with the case.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "kit/kit.h"

typedef enum BenchPass {
    BENCH_FORWARD,  /* computes outputs */
    BENCH_GRADIENT, /* computes a loss and its gradient by all weights; hnn: the field J dH/dz */
    BENCH_TRAIN,    /* the gradient and a step of Adam */
    BENCH_PASSES
} BenchPass;
extern const char *const bench_pass_names[BENCH_PASSES];

typedef enum BenchKind { BENCH_NETWORK, BENCH_LAYER, BENCH_KERNEL } BenchKind;

/* ---- cases ----------------------------------------------------------------------------------------------------- */

enum { BENCH_MAX_BATCHES = 4, BENCH_MAX_INPUTS = 6, BENCH_MAX_DOMAINS = 8 };

typedef struct BenchNet BenchNet;

typedef struct BenchCase {
    BenchKind kind;
    char name[40]; /* "sp4", "gl3/64", "kernel/bracket/sp:4/256" */
    const char
        *algebra; /* algebra of the symmetry, and of features unless they have a separate one: */
    const char *features;
    int points, channels, width;
    int batches[BENCH_MAX_BATCHES];  /* 0: no more */
    RelnNode *(*build)(BenchNet *b); /* returns the output */
    RelnNode *(*loss)(BenchNet *b, RelnNode *y);
} BenchCase;

/* Returns all cases, *n of them; the caller frees the array. NULL when memory is out. */
BenchCase *bench_cases(int *n);
/* Returns whether one of the words of `only`, separated by commas, occurs in the name. NULL matches all. */
bool bench_wanted(const char *name, const char *only);

/* A BenchNet is a case being built: its graph, its inputs and its nominal operations for one sample. */
struct BenchNet {
    const BenchCase *c;
    BenchPass pass;
    RelnNet net;
    const RelnRep *rep;
    double flops; /* nominal operations of this pass */
    int n_inputs;
    RelnNode *inputs[BENCH_MAX_INPUTS];
    int limits[BENCH_MAX_INPUTS]; /* limits of indices; 0: numbers */
    int per[BENCH_MAX_DOMAINS];   /* number of items of each domain in a sample; 0: one */
    RelnNode *x;                  /* the first input */
    bool is_gradient;             /* build() returned the result of the gradient pass */
};

RelnNode *bench_input(BenchNet *b, const char *name, RelnDims dims, const RelnRep *rep);
RelnNode *bench_input_rows(BenchNet *b, const char *name, RelnDomain rows, RelnDims dims,
                           const RelnRep *rep);
/* Records that a domain has so many items in every sample. */
RelnDomain bench_domain(BenchNet *b, RelnDomain domain, int per);
int bench_per(const BenchNet *b, const RelnNode *x);
RelnNode *bench_index(BenchNet *b, const char *name, RelnDims dims, int limit); /* below limit */
/* An index for each row, into the rows `target` of its sample. */
RelnNode *bench_index_rows(BenchNet *b, const char *name, RelnDomain rows, RelnDomain target,
                           int limit);

/* List the cases of each file. */
int bench_network_cases(BenchCase *out, int room);
int bench_structured_cases(BenchCase *out, int room);
int bench_splats_cases(BenchCase *out, int room);
int bench_drone_cases(BenchCase *out, int room);
int bench_layer_cases(BenchCase *out, int room);
int bench_kernel_cases(BenchCase *out, int room);

/* Layers that also count their products: 2 P K in out operations forward (for a convolution: for each tap),
 * as many for the gradient of the weights, and as many for the gradient of the input unless that is data. */
RelnNode *bench_linear(BenchNet *b, const char *name, RelnNode *x, int channels);
RelnNode *bench_relu(BenchNet *b, const char *name, RelnNode *x);
RelnNode *bench_bracket(BenchNet *b, const char *name, RelnNode *x);
RelnNode *bench_pool(BenchNet *b, const char *name, RelnNode *x);
RelnNode *bench_dense(BenchNet *b, const char *name, RelnNode *x, int channels);
/* Counts other layers: `products` matrices from x's channels to `channels`. */
void bench_count(BenchNet *b, const RelnNode *x, int products, int channels, bool learns);

/* Losses: squared error against an input "t"; cross entropy with labels; <t, y> with t in the dual rep, whose
 * gradient by y is t, so that only the backward pass of a layer is measured. */
RelnNode *bench_loss_squares(BenchNet *b, RelnNode *y);
RelnNode *bench_loss_classes(BenchNet *b, RelnNode *y);
RelnNode *bench_loss_pairing(BenchNet *b, RelnNode *y);
/* |y - t|^2, mean over the batch, against an input "t" */
RelnNode *bench_loss_lengths(BenchNet *b, RelnNode *y);

/* ---- running one case ------------------------------------------------------------------------------------------- */

/* A BenchRig is a case that can be run: opened once for its algebra, then planned for each pass. */
typedef struct BenchRig {
    const BenchCase *c;
    bool reference;       /* reference kernels; set between bench_rig_open() and bench_rig_plan() */
    const RelnComm *comm; /* ranks that share every batch; set as above; NULL: one process */
    RelnSetting setting;
    RelnGraph *graph;
    RelnPlan *plan;
    void *data[BENCH_MAX_INPUTS]; /* values of the inputs, for the largest batch */
    const RelnNode *inputs[BENCH_MAX_INPUTS];
    int per[BENCH_MAX_INPUTS]; /* rows of each input in a sample; 1: it is of samples */
    int n_inputs;
    double flops, bytes; /* nominal operations, and memory traffic of kernels, for one sample */
    double build;        /* seconds for graph, gradient and plan */
    int shard, batch;
    uint64_t step;
} BenchRig;

RelnStatus bench_rig_open(BenchRig *rig, const BenchCase *c);
RelnStatus bench_rig_plan(BenchRig *rig, BenchPass pass, int max_batch, RelnPool *pool);
RelnStatus bench_rig_run(BenchRig *rig); /* runs rig->batch samples */
RelnStatus bench_rig_save(const BenchRig *rig, const char *path);
void bench_rig_close(BenchRig *rig);
const char *bench_rig_error(const BenchRig *rig);

/* ---- measuring -------------------------------------------------------------------------------------------------- */

typedef struct BenchSpread {
    int n;
    double median, p10, p90;
} BenchSpread;
BenchSpread bench_spread(double *values, int n); /* sorts them */

/* Returns the time: of the processor for one thread, which other work disturbs little; of the wall clock for
 * several. */
double bench_clock(int threads);

typedef struct BenchRow {
    BenchKind kind;
    char name[40];
    BenchPass pass;
    int batch, threads;
    BenchSpread seconds;
    double gflops, share;
    double sgemm; /* operations per second of one thread, measured alternately with this row */
    double
        intensity; /* nominal operations per byte that kernels read and write; NaN for less than a shard,
                    * where the share of the weights in the traffic is different */
    double build;       /* seconds: graph, gradient, plan */
    double allocations; /* number of allocations in a run */
} BenchRow;

/* A BenchGemm is a product of the machine's BLAS, on one thread. */
typedef struct BenchGemm {
    RelnDtype dtype;
    int m, n, k;
    BenchSpread rate; /* operations per second */
} BenchGemm;

/* A BenchProcess measures a new process: the time from its start to its first result, and its peak memory. */
typedef struct BenchProcess {
    char name[64]; /* "sp4/forward/1" */
    double seconds;
    double build;      /* seconds inside the process: graph, first weights, gradient, plan */
    double peak_bytes; /* resident */
} BenchProcess;

/* A BenchSetup measures the creation of an algebra, its group and rep. */
typedef struct BenchSetup {
    char name[16];
    double seconds;
} BenchSetup;

enum { BENCH_GEMMS = 16, BENCH_PROCESSES = 8, BENCH_SETUPS = 8 };

typedef struct BenchResult {
    RelnMachine machine;
    const char *kernels;
    int threads;
    double bandwidth; /* bytes per second */
    int n_gemms, n_rows, room, n_processes, n_setups;
    BenchGemm gemms[BENCH_GEMMS]; /* the first one is used for shares */
    BenchRow *rows;
    BenchProcess processes[BENCH_PROCESSES];
    BenchSetup setups[BENCH_SETUPS];
} BenchResult;

typedef struct BenchOptions {
    bool quick;
    bool
        reference; /* reference kernels for rows, but not for the processes that are started to measure
                    * memory */
    int threads;      /* number of threads of the runs with several */
    const char *only; /* or NULL */
    /* Called before every row; returning false ends the run with the results so far. NULL: not called. */
    bool (*observe)(void *self, int done, int all, const char *name);
    void *self;
} BenchOptions;

/* A BenchScale is the cost of a training step that several processes share (scale.c). */
typedef struct BenchScale {
    int shard;                          /* samples */
    double shard_seconds, step_seconds; /* for a shard; for a step without its shards */
    double sums;                        /* bytes that are summed over shards */
    int reductions;                     /* number of exchanges */
    size_t parameters;
    int ranks; /* number of ranks of this measurement; if several, they measured steps of `shards` shards: */
    int shards;
    double alone_seconds, together_seconds; /* a step by one rank; by all */
    double exchange_seconds;                /* of the latter: in exchanges, mean over ranks */
    double sent_bytes, sent_messages;       /* in such a step, by all ranks */
} BenchScale;
/* Measures a network; comm may be NULL. RELN_ERR_ARG when there is no network of this name. */
RelnStatus bench_scale(RelnCtx *ctx, const char *name, const RelnComm *comm, BenchScale *out,
                       char *why, size_t size);
/* Returns the time of a step of so many shards, on a network of this latency (s) and bandwidth (bytes/s). */
double bench_scale_seconds(const BenchScale *s, double shards, double ranks, double latency,
                           double bandwidth);

/* RELN_ERR_ARG when `only` matches nothing. Call bench_clear() in either case. */
RelnStatus bench_run(RelnCtx *ctx, const BenchOptions *options, BenchResult *out, char *why,
                     size_t size);
void bench_clear(BenchResult *result);
/* Writes a self-contained page with a roofline plot. */
RelnStatus bench_report(RelnCtx *ctx, const BenchResult *result, const char *path, char *why,
                        size_t size);

/* Runs the named case, such as "sp4/train/100", three times (once for forward), in a process started for
 * it. out->seconds stays 0. With a path, the arrays of the last run are saved there as .npz, for
 * comparison with other software: "in.NAME" the inputs, "w.NAME" the parameters, and for a gradient pass
 * "loss" and "g.NAME". */
RelnStatus bench_once(RelnCtx *ctx, const char *name, int threads, const char *path,
                      BenchProcess *out, char *why, size_t size);
/* Returns the peak resident memory of this process in bytes; 0 if unknown. */
double bench_peak_bytes(void);
/* Starts this program as "reln bench once NAME". False when it could not be started or failed. */
bool bench_process(const char *name, BenchProcess *out);

/* A row of the paper's complexity table: gl(n) at a fixed budget of K times channels, relative to n = 2. */
typedef struct BenchScaling {
    int n, channels;
    double linear;   /* (2/n)^2: cost of the linear part, the paper's C^2/n^2 */
    double total;    /* the same with the bracket's C n, counted exactly */
    double measured; /* time, one thread, forward */
} BenchScaling;
/* Lists the rows of the sweep in the result; returns their number, at most `room`. */
int bench_scaling(const BenchResult *result, BenchScaling *out, int room);
/* Counts the operations of the sweep's network: products, and all contractions of brackets and forms. */
void bench_sweep_flops(int n, double *products, double *total);
int bench_sweep_channels(int n);

#endif
