/* plan.h -- order, memory and kernels of a graph, and running it.
 *
 *     RelnPlan *plan = NULL;
 *     reln_plan_create(g, &(RelnPlanOptions){.pool = pool}, &plan);   // reports errors of building, too
 *     reln_plan_bind_sized(plan, "x", x, RELN_F64, 100 * 18);         // (n_samples, P, Q, R, K, C), yours
 *     reln_plan_run(plan, &(RelnRun){.n_samples = 100, .step = t});
 *     const double *loss = reln_plan_output(plan, "loss", NULL);
 *
 * A run goes: step-level work, all shards of the batch, reduction, step-level work ... and last the assignments and
 * optimisers. A shard is a number of samples that depends on the graph alone, or fewer where their rows would not fit;
 * shards belong to lanes and lanes are combined in a fixed tree, so threads decide who computes and never what: the same
 * bits for any number of them. A run allocates nothing (reserve room with reln_plan_reserve() or by a first run).
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
    int lanes; /* partial sums of a batch, 1 to 4096: they decide the bits, and how many workers have work; 0: 8 */
    int tile;       /* rows at a time in loops over rows and pairs; 0: derived from the graph */
    bool reference; /* the plain kernels, whatever this machine can do; docs/bits.md */
    /* For finding a NaN: every value is looked at when it is computed, and a run stops at the first NaN or infinity with
     * RELN_ERR_NUMERIC and a message that names the node, its layer and the sample. Slow: on one thread. */
    bool finite;
} RelnPlanOptions;

/* The name of the kernels that plans take on this machine: "avx2" or "reference"; the latter where they are asked for. */
RELN_API const char *reln_kernels_text(bool reference);

/* options NULL: all defaults. The graph must outlive the plan and not change. Caller destroys. */
RELN_API RelnStatus reln_plan_create(RelnGraph *graph, const RelnPlanOptions *options,
                                     RelnPlan **out);
RELN_API void reln_plan_destroy(RelnPlan *plan); /* NULL is fine */
/* The communicator that it was made with; NULL: none, or of one rank. Borrowed. */
RELN_API const RelnComm *reln_plan_comm(const RelnPlan *plan);

/* What a plan takes and gives, in the order in which it was declared. Names are borrowed from the graph. */
typedef struct RelnPort {
    const char *name;
    RelnDomain
        domain; /* how many items: RELN_STEP one, RELN_SAMPLES one for each sample, else rows */
    const char *rows;   /* name of the row domain; "" for the other two */
    RelnDims dims;      /* of one item */
    RelnDtype dtype;    /* outputs are given in it, f32 and f64 inputs converted to it */
    const RelnRep *rep; /* NULL for indices */
    bool bound;         /* an input that has been bound */
} RelnPort;
RELN_API int reln_plan_input_count(const RelnPlan *plan);
RELN_API int reln_plan_output_count(const RelnPlan *plan);
/* All zero, with a name of "", past the last. */
RELN_API RelnPort reln_plan_input_port(const RelnPlan *plan, int index);
RELN_API RelnPort reln_plan_output_port(const RelnPlan *plan, int index);

/* Bind an input to memory of yours, which is read during runs. Floats are converted to the node's dtype. `count` is the
 * number of elements there are: a run that would read more fails with RELN_ERR_ARG before it reads. */
RELN_API RelnStatus reln_plan_bind_sized(RelnPlan *plan, const char *input, const void *values,
                                         RelnDtype dtype, size_t count);
/* Number of rows of each sample of the batch, for a row domain, and of how many samples they are. For rows below rows
 * (reln_members()): of each item of the parent, and how many these are. */
RELN_API RelnStatus reln_plan_bind_rows_sized(RelnPlan *plan, const char *rows,
                                              const int32_t *counts, size_t count);
/* The same where you answer for the size: a run reads what its number of samples asks for. */
RELN_API RelnStatus reln_plan_bind(RelnPlan *plan, const char *input, const void *values,
                                   RelnDtype dtype);
RELN_API RelnStatus reln_plan_bind_rows(RelnPlan *plan, const char *rows, const int32_t *counts);
/* Make room for batches of up to n_samples samples and, for every row domain whose rows are bound, n_rows rows. */
RELN_API RelnStatus reln_plan_reserve(RelnPlan *plan, ptrdiff_t n_samples, ptrdiff_t n_rows);

/* The samples [*first, *end) that this rank reads of a batch of n_samples, once the numbers of rows are bound: all of them,
 * where there is one process. The others need not be in memory, only their places. */
RELN_API RelnStatus reln_plan_samples(RelnPlan *plan, ptrdiff_t n_samples, ptrdiff_t *first,
                                      ptrdiff_t *end);

typedef struct RelnRun {
    ptrdiff_t n_samples;
    uint64_t seed; /* of random nodes */
    uint64_t step; /* number of the step, from 0: random nodes and optimisers see it */
    /* Looked at before every shard, in the threads of the pool. True ends the run with RELN_ERR_STOPPED, and nothing in
     * the store has changed: a run changes it last, when all shards are done. NULL: never. */
    bool (*asked)(void *self);
    void *self;
} RelnRun;
RELN_API RelnStatus reln_plan_run(RelnPlan *plan, const RelnRun *run);

/* For running a network that is trained: hold the parameters and state of this moment. What depends on them alone
 * (products of weights, weights laid out for the kernels) is then found in the first run and never again. The plan has
 * copies: later changes of the store are not seen, by training or by hand, until it is frozen again.
 * Fails   RELN_ERR_ARG when the plan itself changes the store: it has an optimiser or an assignment */
RELN_API RelnStatus reln_plan_freeze(RelnPlan *plan);

/* Values of an output after a run: items one after another, in the node's dtype; *n_items may be NULL. Borrowed until
 * the next run. NULL when there is no such output. */
RELN_API const void *reln_plan_output(const RelnPlan *plan, const char *name, ptrdiff_t *n_items);

/* What each row of a domain costs, beside its sample. */
typedef struct RelnRowCost {
    const char *name; /* of the domain */
    double flops, bytes;
} RelnRowCost;

/* What it costs, known before it runs. A sample with r rows costs flops_sample + r rows[i].flops. */
typedef struct RelnCost {
    double flops_step;       /* once a run: multiplications and additions */
    double flops_sample;     /* for each sample, without its rows */
    double bytes_sample;     /* kernels read and write for each sample, weights once a shard */
    int n_rows;              /* row domains of the graph, in the order they were made */
    const RelnRowCost *rows; /* the plan's */
    size_t parameters;       /* trainable elements used */
    size_t bytes_worker;     /* for each worker: slab, packed weights, room for matrix products */
    size_t bytes_shared;     /* step-level values, lanes, constants, copies of a frozen plan */
    size_t bytes_kept;       /* per-sample values kept across phases, at the capacity reserved */
    int shard, lanes, phases, instructions;
    size_t bytes_sums; /* added up over shards: what ranks exchange */
    int reductions;    /* in so many exchanges */
} RelnCost;
RELN_API RelnCost reln_plan_cost(const RelnPlan *plan);

#ifdef __cplusplus
}
#endif

#endif
