/* plan.h -- a plan: the order, memory and kernels of a graph; and running it.
 *
 *     RelnPlan *plan = NULL;
 *     reln_plan_create(g, &(RelnPlanOptions){.pool = pool}, &plan);   // reports errors of building, too
 *     reln_plan_bind_sized(plan, "x", x, RELN_F64, 100 * 18);         // (n_samples, P, Q, R, K, C), your memory
 *     reln_plan_run(plan, &(RelnRun){.n_samples = 100, .step = t});
 *     const double *loss = reln_plan_output(plan, "loss", NULL);
 *
 * A run alternates between step-level work, all shards of the batch, and reductions; assignments and optimisers come
 * last. A shard is a number of samples that depends on the graph alone, or fewer where their rows would not fit. Shards
 * belong to lanes, and the sums of lanes are added in a fixed tree: the number of threads decides which thread computes
 * a shard, and never changes a bit of the result. A run allocates nothing, once reln_plan_reserve() or a first run has
 * reserved memory for the batch.
 */
#ifndef RELN_PLAN_H
#define RELN_PLAN_H

#include "reln/comm.h"
#include "reln/graph.h"
#include "reln/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnPlan RelnPlan;

typedef struct RelnPlanOptions {
    RelnPool *pool;       /* NULL: the calling thread alone */
    const RelnComm *comm; /* ranks that run this plan together; copied; NULL: this process alone */
    int shard;            /* samples per shard; 0: derived from the graph */
    int lanes; /* partial sums of a batch, 1 to 4096; affects the bits, and limits how many workers have work;
                * 0: 8 */
    int tile;       /* rows processed together in loops over rows and pairs; 0: derived from the graph */
    bool reference; /* use the plain C kernels also where faster ones exist; see docs/bits.md */
    /* For finding a NaN: the run checks every value when it is computed, and stops at the first NaN or
     * infinity with RELN_ERR_NUMERIC and a message that names the node, its layer and the sample. Slow, and
     * on one thread. */
    bool finite;
} RelnPlanOptions;

/* Returns the name of the kernels that plans use on this machine: "avx2" or "reference"; always "reference"
 * if `reference` is set. */
RELN_API const char *reln_kernels_text(bool reference);

/* Creates a plan. `options` NULL: all defaults. The graph must outlive the plan and must not change
 * meanwhile. Caller destroys *out. */
RELN_API RelnStatus reln_plan_create(RelnGraph *graph, const RelnPlanOptions *options,
                                     RelnPlan **out);
RELN_API void reln_plan_destroy(RelnPlan *plan); /* NULL is fine */
/* Returns the communicator of the plan, borrowed; NULL if it has none, or one of a single rank. */
RELN_API const RelnComm *reln_plan_comm(const RelnPlan *plan);

/* A RelnPort describes an input or output of a plan. Ports are listed in the order of declaration. Names are
 * borrowed from the graph. */
typedef struct RelnPort {
    const char *name;
    RelnDomain
        domain; /* how many items: RELN_STEP one, RELN_SAMPLES one for each sample, else rows */
    const char *rows;   /* name of the row domain; "" for the other two */
    RelnDims dims;      /* of one item */
    RelnDtype dtype;    /* type of outputs; f32 and f64 inputs are converted to it */
    const RelnRep *rep; /* NULL for indices */
    bool bound;         /* true for an input that has been bound */
} RelnPort;
RELN_API int reln_plan_input_count(const RelnPlan *plan);
RELN_API int reln_plan_output_count(const RelnPlan *plan);
/* Return a port with all fields zero and the name "" for an index past the last. */
RELN_API RelnPort reln_plan_input_port(const RelnPlan *plan, int index);
RELN_API RelnPort reln_plan_output_port(const RelnPlan *plan, int index);

/* Binds an input to memory of the caller, which runs read. Floats are converted to the node's dtype; indices
 * are i32 or i64. `count` is the number of elements in this memory: a run that would read more fails with
 * RELN_ERR_ARG before it reads. */
RELN_API RelnStatus reln_plan_bind_sized(RelnPlan *plan, const char *input, const void *values,
                                         RelnDtype dtype, size_t count);
/* Binds the number of rows of each sample of the batch, for a row domain; `count` is the number of samples.
 * For reln_members(): the number of children of each item of the parent; `count` is the number of parent
 * items. */
RELN_API RelnStatus reln_plan_bind_rows_sized(RelnPlan *plan, const char *rows,
                                              const int32_t *counts, size_t count);
/* Bind memory without a known size: the caller must make sure that it is as large as a run's n_samples
 * requires. */
RELN_API RelnStatus reln_plan_bind(RelnPlan *plan, const char *input, const void *values,
                                   RelnDtype dtype);
RELN_API RelnStatus reln_plan_bind_rows(RelnPlan *plan, const char *rows, const int32_t *counts);
/* Reserves memory for batches of up to n_samples samples and, for every row domain whose rows are bound,
 * n_rows rows. */
RELN_API RelnStatus reln_plan_reserve(RelnPlan *plan, ptrdiff_t n_samples, ptrdiff_t n_rows);

/* Sets [*first, *end) to the samples that this rank reads of a batch of n_samples, once the numbers of rows
 * are bound; with one process, these are all samples. Values of the other samples need not be in memory, but
 * keep their places in the bound arrays. */
RELN_API RelnStatus reln_plan_samples(RelnPlan *plan, ptrdiff_t n_samples, ptrdiff_t *first,
                                      ptrdiff_t *end);

typedef struct RelnRun {
    ptrdiff_t n_samples;
    uint64_t seed; /* seed of random nodes */
    uint64_t step; /* number of the step, from 0; random nodes and optimisers read it */
    /* Called before every shard, in the threads of the pool. If it returns true, the run ends with
     * RELN_ERR_STOPPED and the store is unchanged, because a run writes to the store only after all shards.
     * NULL: never stop. */
    bool (*asked)(void *self);
    void *self;
} RelnRun;
RELN_API RelnStatus reln_plan_run(RelnPlan *plan, const RelnRun *run);

/* Fixes the parameters and states of this moment, for running a trained network. Values that depend on them
 * alone (products of weights, weights laid out for the kernels) are then computed in the first run and kept.
 * The plan holds copies: it does not see later changes of the store until it is frozen again. Fails with
 * RELN_ERR_ARG when the plan changes the store, because it has an optimiser or an assignment.
 *
 * Threads: one thread at a time may use a plan. Several frozen plans of one graph, or of graphs that share a
 * store, may run at the same time in different threads. Create, freeze and destroy them in one thread; then
 * bind, run and read each plan in its own thread. They share graph, store and context, which a frozen run
 * only reads; each plan has its own frozen weights, scratch memory, and pool or none. A failing run writes
 * its message into the context: if two fail at the same time, one message is kept. */
RELN_API RelnStatus reln_plan_freeze(RelnPlan *plan);

/* Returns the values of an output after a run: items one after another, in the node's dtype. *n_items may be
 * NULL. Borrowed until the next run. Returns NULL when there is no such output. */
RELN_API const void *reln_plan_output(const RelnPlan *plan, const char *name, ptrdiff_t *n_items);

/* A RelnRowCost is the cost of each row of a domain, in addition to the cost of its sample. */
typedef struct RelnRowCost {
    const char *name; /* name of the domain */
    double flops, bytes;
} RelnRowCost;

/* A RelnCost is the cost of a run, known before it runs. A sample with r rows costs flops_sample + r
 * rows[i].flops. */
typedef struct RelnCost {
    double flops_step;       /* multiplications and additions, once in a run */
    double flops_sample;     /* for each sample, without its rows */
    double bytes_sample;     /* bytes that kernels read and write for each sample; weights count once a
                              * shard */
    int n_rows;              /* row domains of the graph, in the order they were made */
    const RelnRowCost *rows; /* borrowed from the plan */
    size_t parameters;       /* elements of the parameters used */
    size_t bytes_worker;     /* for each worker: slab, packed weights, room for matrix products */
    size_t bytes_shared;     /* step-level values, lanes, constants, copies of a frozen plan */
    size_t bytes_kept;       /* per-sample values kept across phases, at the capacity reserved */
    int shard, lanes, phases, instructions;
    size_t bytes_sums; /* bytes of the sums over shards: ranks exchange them */
    int reductions;    /* number of exchanges */
} RelnCost;
RELN_API RelnCost reln_plan_cost(const RelnPlan *plan);

#ifdef __cplusplus
}
#endif

#endif
