/* interpret.c -- see interpret.h. */
#include "property/interpret.h"

#include <stdlib.h>
#include <string.h>

static void *room(size_t bytes)
{
    void *block = malloc(bytes ? bytes : 1);

    assert_non_null(block);
    return block;
}

ptrdiff_t interpret_items(const Interpreter *in, RelnDomain domain)
{
    if (domain == RELN_STEP)
        return 1;
    if (in->items >= 0)
        return in->items;
    if (domain == RELN_SAMPLES)
        return in->batch->n_samples;
    return in->tree.n[domain - 2];
}

static size_t bytes_of(const Interpreter *in, const RelnNode *x)
{
    return (size_t)interpret_items(in, x->domain) * reln_node_bytes(x);
}

/* ---- sources -------------------------------------------------------------------------------------------------- */

static void put(const RelnNode *x, void *out, ptrdiff_t i, double value)
{
    if (x->dtype == RELN_F64)
        ((double *)out)[i] = value;
    else
        ((float *)out)[i] = (float)value;
}

static void numbers(const Interpreter *in, const RelnNode *x, const double *values, void *out)
{
    const ptrdiff_t count = interpret_items(in, x->domain) * reln_shape_count(&x->shape);

    for (ptrdiff_t i = 0; i < count; i++)
        put(x, out, i, values[i]);
}

/* Converts row numbers within a sample to row numbers within the whole batch. */
static void indices(const Interpreter *in, const RelnNode *x, const int32_t *values, int32_t *out)
{
    const RelnDomain target = ((const RelnSourceAttr *)x->attr)->target;
    const ptrdiff_t each = reln_shape_count(&x->shape);
    const ptrdiff_t items = interpret_items(in, x->domain);

    for (ptrdiff_t i = 0; i < items * each; i++) {
        const ptrdiff_t s = x->domain >= 2 ? in->tree.sample[x->domain - 2][i / each] : i / each;

        out[i] = values[i] + (target >= 2 ? (int32_t)in->tree.first[target - 2][s] : 0);
    }
}

static void source(const Interpreter *in, const RelnNode *x, void *out)
{
    const RelnSourceAttr *s = x->attr;

    if (x->op == &reln_op_input)
        numbers(in, x, in->batch->bindings[s->index], out);
    else if (x->op == &reln_op_index_input)
        indices(in, x, in->batch->bindings[s->index], out);
    else if (x->op == &reln_op_const)
        numbers(in, x, ((const RelnConstAttr *)x->attr)->values, out);
    else if (x->op == &reln_op_batch_count)
        put(x, out, 0, (double)in->batch->n_samples);
    else if (x->op == &reln_op_row_index)
        tree_index(&in->tree, in->graph, x->attr, out);
    else if (x->op == &reln_op_argument)
        memcpy(out, in->args[s->index], bytes_of(in, x));
    else
        memcpy(out, ((const RelnParamAttr *)x->attr)->entry->values, bytes_of(in, x));
}

/* ---- ops ------------------------------------------------------------------------------------------------------ */

static void operate(Interpreter *in, const RelnNode *x, void *out)
{
    const RelnKernels *kern = in->gemm.kern;
    const bool reduces = x->op->flags & RELN_OP_REDUCE && x->domain == RELN_STEP;
    const ptrdiff_t n = interpret_items(in, reduces ? x->in[0]->domain : x->domain);
    void *args[RELN_INPUTS_MAX], *scratch = room(x->op->scratch ? x->op->scratch(x, n) : 0);
    void *prepared = room(x->op->prepare ? x->op->prepare(x, kern, NULL) : 0);
    ptrdiff_t n_in[RELN_INPUTS_MAX];
    bool passing[RELN_INPUTS_MAX];
    char message[RELN_MESSAGE] = "";
    const RelnSpans spans = {.n_samples = in->batch->n_samples,
                             .first = (const ptrdiff_t *const *)in->tree.first};
    const RelnExec e = {.node = x,
                        .prepared = prepared,
                        .in = args,
                        .out = out,
                        .n = n,
                        .n_in = n_in,
                        .spans = &spans,
                        .passing = passing,
                        .scratch = scratch,
                        .run = 1,
                        .kern = kern,
                        .gemm = &in->gemm,
                        .seed = in->batch->seed,
                        .step = in->batch->step,
                        .message = message};

    for (int i = 0; i < x->n_in; i++) {
        args[i] = in->values[x->in[i]->id];
        n_in[i] = interpret_items(in, x->in[i]->domain);
        passing[i] = true;
    }
    if (x->op->prepare)
        x->op->prepare(x, kern, prepared);
    if (x->op->forward(&e) != RELN_OK)
        fail_msg("%s: %s", x->op->name, message);
    free(prepared);
    free(scratch);
}

/* The nodes after a call hold its results. */
static void call(Interpreter *in, const RelnNode *x)
{
    const RelnFn *fn = ((const RelnCallAttr *)x->attr)->fn;
    void *args[RELN_INPUTS_MAX];
    Interpreter body;

    for (int i = 0; i < x->n_in; i++)
        args[i] = in->values[x->in[i]->id];
    interpret_init(&body, fn->body, in->batch);
    body.args = args;
    body.items = fn->placed ? -1 : interpret_items(in, x->domain);
    interpret_on(&body);
    for (int i = 0; i < fn->n_out; i++) {
        const RelnNode *r = in->graph->nodes.items[x->id + 1 + i];

        memcpy(in->values[r->id], body.values[fn->out[i]->id], bytes_of(in, r));
    }
    interpret_clear(&body);
}

static void compute(Interpreter *in, const RelnNode *x)
{
    void *out = in->values[x->id];

    if (x->op->flags & RELN_OP_SOURCE)
        source(in, x, out);
    else if (x->op->flags & RELN_OP_ALIAS)
        memcpy(out, in->values[x->in[0]->id], bytes_of(in, x));
    else if (x->op == &reln_op_call)
        call(in, x);
    else if (x->op != &reln_op_result && !(x->op->flags & RELN_OP_EFFECT))
        operate(in, x, out);
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

void interpret_init(Interpreter *in, const RelnGraph *graph, const Batch *batch)
{
    *in = (Interpreter){.graph = graph, .batch = batch, .items = -1};
    tree_make(&in->tree, graph, batch->n_samples, batch->rows);
    assert_int_equal(reln_gemm_init(&in->gemm, graph->ctx, reln_kernels(false)), RELN_OK);
}

void interpret_on(Interpreter *in)
{
    const int first = in->n, count = in->graph->nodes.count;

    if (count > in->capacity) {
        in->capacity = 2 * count;
        in->values = realloc(in->values, (size_t)in->capacity * sizeof *in->values);
        assert_non_null(in->values);
    }
    for (; in->n < count; in->n++)
        in->values[in->n] = room(bytes_of(in, in->graph->nodes.items[in->n]));
    for (int id = first; id < count; id++)
        compute(in, in->graph->nodes.items[id]);
}

void interpret_clear(Interpreter *in)
{
    for (int id = 0; id < in->n; id++)
        free(in->values[id]);
    free(in->values);
    tree_clear(&in->tree);
    reln_gemm_clear(&in->gemm, in->graph->ctx);
}
