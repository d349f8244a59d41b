/* rig.c -- prepares a case to run: graph and plan of a pass, and random data for its inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

const char *const bench_pass_names[BENCH_PASSES] = {"forward", "gradient", "train"};

RelnStatus bench_rig_open(BenchRig *rig, const BenchCase *c)
{
    *rig = (BenchRig){.c = c};
    return reln_setting_init(&rig->setting, c->algebra, c->features, RELN_F32, 1);
}

static void drop_plan(BenchRig *rig)
{
    reln_plan_destroy(rig->plan);
    reln_graph_destroy(rig->graph);
    for (int i = 0; i < BENCH_MAX_INPUTS; i++) {
        free(rig->data[i]);
        rig->data[i] = NULL;
    }
    rig->plan = NULL;
    rig->graph = NULL;
    rig->n_inputs = 0;
}

void bench_rig_close(BenchRig *rig)
{
    drop_plan(rig);
    reln_setting_clear(&rig->setting);
}

const char *bench_rig_error(const BenchRig *rig)
{
    return rig->setting.ctx ? reln_ctx_error(rig->setting.ctx) : reln_status_text(RELN_ERR_NOMEM);
}

/* ---- building ----------------------------------------------------------------------------------------------------- */

static void output_all(RelnGraph *g, int n, RelnNode *const *nodes)
{
    char name[16];

    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "g%d", i);
        reln_output(g, name, nodes[i]);
    }
}

/* Largest number of nodes to differentiate by: weights, and inputs that are not data. */
enum { MOST = 160 };
static int variables(const BenchNet *b, int n_inputs, RelnNode **out)
{
    int n = 0;

    for (int i = 0; i < n_inputs && b->c->kind != BENCH_NETWORK; i++)
        out[n++] = b->inputs[i];
    for (int i = 0; reln_graph_param(b->net.graph, i) && n < MOST; i++)
        out[n++] = reln_graph_param(b->net.graph, i);
    return n;
}

/* Adds the gradient of a kernel, with its cotangent as an input. */
static void differentiate_kernel(BenchNet *b, RelnNode *y)
{
    RelnGraph *g = b->net.graph;
    const int n_inputs = b->n_inputs;
    RelnNode *xs[MOST], *grads[MOST], *gy;
    int n;

    if (!y)
        return;
    n = variables(b, n_inputs, xs);
    gy = bench_input(b, "gy", reln_node_dims(y), reln_rep_dual(reln_node_rep(y)));
    if (reln_vjp(g, 1, &y, &gy, n, xs, grads))
        output_all(g, n, grads);
}

static void differentiate(BenchNet *b, RelnNode *y)
{
    RelnGraph *g = b->net.graph;
    const int n_inputs = b->n_inputs;
    RelnNode *xs[MOST], *grads[MOST], *loss = b->c->loss(b, y);
    const int n = variables(b, n_inputs, xs);

    reln_output(g, "loss", loss);
    if (reln_grad(g, loss, n, xs, grads))
        output_all(g, n, grads);
}

/* Adds a training step. The rate is small, so that weights stay in their ordinary range however long it is
 * measured. */
static void train(BenchNet *b, RelnNode *y)
{
    RelnNode *loss = b->c->loss(b, y);

    reln_output(b->net.graph, "loss", loss);
    reln_adam_all(b->net.graph, NULL, reln_scalar(b->net.graph, 1e-7), loss);
}

static void build(BenchNet *b)
{
    RelnNode *y = b->c->build(b);

    if (b->pass == BENCH_FORWARD || (b->pass == BENCH_GRADIENT && b->is_gradient))
        reln_output(b->net.graph, "y", y);
    else if (b->c->kind == BENCH_KERNEL)
        differentiate_kernel(b, y);
    else if (b->pass == BENCH_GRADIENT)
        differentiate(b, y);
    else
        train(b, y);
}

/* ---- data --------------------------------------------------------------------------------------------------------- */

static size_t item_size(const RelnNode *x)
{
    const RelnDims d = reln_node_dims(x);

    return (size_t)d.p * (size_t)d.q * (size_t)d.r * (size_t)d.k * (size_t)d.c;
}

static void *random_data(size_t count, int limit, uint64_t stream)
{
    RelnRng rng = reln_rng(1, stream);
    float *x = malloc(count * sizeof *x);
    int32_t *index = (int32_t *)(void *)x;

    for (size_t i = 0; x && i < count; i++)
        if (limit)
            index[i] = (int32_t)reln_rng_below(&rng, (uint64_t)limit);
        else
            x[i] = (float)(0.3 * reln_rng_normal(&rng));
    return x;
}

static RelnStatus bind(BenchRig *rig, const BenchNet *b, int batch)
{
    for (int i = 0; i < b->n_inputs; i++) {
        const int per = bench_per(b, b->inputs[i]);
        const size_t count = item_size(b->inputs[i]) * (size_t)per * (size_t)batch;
        RelnStatus status;

        rig->inputs[i] = b->inputs[i];
        rig->per[i] = per;
        rig->data[i] = random_data(count, b->limits[i], (uint64_t)i);
        if (!rig->data[i])
            return RELN_ERR_NOMEM;
        rig->n_inputs = i + 1;
        status = reln_plan_bind_sized(rig->plan, reln_node_name(b->inputs[i]), rig->data[i],
                                      b->limits[i] ? RELN_I32 : RELN_F32, count);
        if (status != RELN_OK)
            return status;
    }
    return reln_plan_reserve(rig->plan, batch, 0);
}

/* ---- plan and run -------------------------------------------------------------------------------------------------- */

static void note_cost(BenchRig *rig, const BenchNet *b)
{
    const RelnCost cost = reln_plan_cost(rig->plan);

    rig->flops = rig->c->kind == BENCH_KERNEL ? cost.flops_sample : b->flops;
    rig->bytes = cost.bytes_sample;
    rig->shard = cost.shard;
}

RelnStatus bench_rig_plan(BenchRig *rig, BenchPass pass, int max_batch, RelnPool *pool)
{
    BenchNet b = {.c = rig->c, .pass = pass, .rep = rig->setting.rep};
    double start;
    RelnStatus status;

    drop_plan(rig);
    start = bench_clock(1);
    status = reln_graph_create(rig->setting.group, rig->setting.store, RELN_F32, &rig->graph);
    if (status != RELN_OK)
        return status;
    b.net = (RelnNet){
        .graph = rig->graph, .algebra = rig->setting.algebra, .train = pass != BENCH_FORWARD};
    build(&b);
    status = reln_plan_create(
        rig->graph,
        &(RelnPlanOptions){.pool = pool, .comm = rig->comm, .reference = rig->reference},
        &rig->plan);
    rig->build = bench_clock(1) - start;
    if (status != RELN_OK)
        return status;
    note_cost(rig, &b);
    rig->batch = max_batch;
    /* predictions use a trained network, whose weights do not change */
    if (pass == BENCH_FORWARD && (status = reln_plan_freeze(rig->plan)) != RELN_OK)
        return status;
    return bind(rig, &b, max_batch);
}

RelnStatus bench_rig_run(BenchRig *rig)
{
    return reln_plan_run(rig->plan, &(RelnRun){.n_samples = rig->batch, .step = rig->step++});
}

/* ---- arrays of a run ------------------------------------------------------------------------------------------------ */

/* A Kept is an array with its name, "<kind>.<name>", in the caller's storage. */
typedef struct Kept {
    RelnArray array;
    char name[80];
} Kept;

static void keep(Kept *out, const char *kind, const char *name, RelnDtype dtype, ptrdiff_t items,
                 RelnDims d, void *values)
{
    snprintf(out->name, sizeof out->name, "%s%s", kind, name);
    out->array = (RelnArray){
        .dtype = dtype, .rank = 6, .dims = {items, d.p, d.q, d.r, d.k, d.c}, .values = values};
}

/* Copies an output as floats, since those of a plan are read-only; NULL when there is none or no memory. */
static float *copy_of(const BenchRig *rig, const char *output, size_t count)
{
    const float *values = reln_plan_output(rig->plan, output, NULL);
    float *copy = values ? malloc(count * sizeof *copy) : NULL;

    if (copy)
        memcpy(copy, values, count * sizeof *copy);
    return copy;
}

/* Copies the gradients by all parameters, as differentiate() has named them; returns their number. */
static int keep_gradients(const BenchRig *rig, Kept *out, float *owned[MOST])
{
    char output[16];
    int n = 0;

    for (const RelnNode *w; n < MOST && (w = reln_graph_param(rig->graph, n)) != NULL; n++) {
        const RelnDims d = reln_node_dims(w);

        snprintf(output, sizeof output, "g%d", n);
        owned[n] = copy_of(rig, output,
                           (size_t)d.p * (size_t)d.q * (size_t)d.r * (size_t)d.k * (size_t)d.c);
        if (!owned[n])
            break;
        keep(&out[n], "g.", reln_node_name(w), RELN_F32, 1, d, owned[n]);
    }
    return n;
}

static int keep_parameters(const BenchRig *rig, Kept *out)
{
    int n = 0;

    for (int i = 0; i < reln_store_count(rig->setting.store) && n < MOST; i++) {
        const RelnEntryInfo e = reln_store_entry(rig->setting.store, i);

        if (e.kind == RELN_ENTRY_PARAM)
            keep(&out[n++], "w.", e.name, e.dtype, 1, e.dims, e.values);
    }
    return n;
}

/* Writes the rows of a sample as its points. */
static RelnDims with_rows(const BenchRig *rig, int input)
{
    RelnDims d = reln_node_dims(rig->inputs[input]);

    d.p *= rig->per[input];
    return d;
}

RelnStatus bench_rig_save(const BenchRig *rig, const char *path)
{
    enum { ALL = 2 * MOST + BENCH_MAX_INPUTS + 1 };
    Kept *kept = calloc(ALL, sizeof *kept);
    RelnArray *arrays = calloc(ALL, sizeof *arrays);
    float *owned[MOST + 1] = {NULL};
    RelnStatus status = RELN_ERR_NOMEM;
    int n = 0;

    for (; arrays && kept && n < rig->n_inputs; n++)
        keep(&kept[n], "in.", reln_node_name(rig->inputs[n]), reln_node_dtype(rig->inputs[n]),
             rig->batch, with_rows(rig, n), rig->data[n]);
    if (arrays && kept) {
        n += keep_parameters(rig, kept + n);
        n += keep_gradients(rig, kept + n, owned);
        owned[MOST] = copy_of(rig, "loss", 1);
        if (owned[MOST])
            keep(&kept[n++], "", "loss", RELN_F32, 1, (RelnDims){1, 1, 1, 1, 1}, owned[MOST]);
        for (int i = 0; i < n; i++) {
            arrays[i] = kept[i].array;
            arrays[i].name = kept[i].name;
        }
        status = reln_npz_save(rig->setting.ctx, path, n, arrays);
    }
    for (int i = 0; i <= MOST; i++)
        free(owned[i]);
    free(arrays);
    free(kept);
    return status;
}
