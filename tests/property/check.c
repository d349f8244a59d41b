/* check.c -- see check.h. */
#include "property/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/plan.h"
#include "property/act.h"
#include "property/case.h"
#include "reln/plan.h"

enum { ROOM = 4096 };

int complaints;

static void complain(const RelnOp *op, int index, const char *algebra, const char *what,
                     double error, double allowed)
{
    if (complaints++ < 10)
        print_message("%s, case %d, %s: %s is off by %.2e, allowed %.2e\n", op->name, index,
                      algebra, what, error, allowed);
}

static double value_of(Case *c, const char *name)
{
    double value;

    case_run(c, CASE_SAMPLES);
    case_output(c, name, 1, &value);
    return value;
}

/* Four-point difference: error h^4 f^(5)/30, about 1e-13 of the scale, and 1e-13/h of rounding. */
static double difference(Case *c, const char *name, double *x)
{
    const double h = 1e-3, at = *x;
    double f[4];

    for (int i = 0; i < 4; i++) {
        static const double step[4] = {1, -1, 2, -2};
        *x = at + step[i] * h;
        f[i] = value_of(c, name);
    }
    *x = at;
    return (8.0 * (f[0] - f[1]) - (f[2] - f[3])) / (12.0 * h);
}

/* Gradient `g` of output `of` against differences in every element of every input. */
static double worst_gradient(Case *c, const char *of, char letter)
{
    static double got[ROOM];
    double worst = 0;

    for (int i = 0; i < c->n_x; i++) {
        Data *d = &c->data[c->x[i]];
        double scale = 1.0;
        char name[16];

        snprintf(name, sizeof name, "%c%d", letter, i);
        assert_true(d->count <= ROOM);
        case_run(c, CASE_SAMPLES);
        case_output(c, name, d->count, got);
        for (ptrdiff_t j = 0; j < d->count; j++)
            scale = fmax(scale, fabs(got[j]));
        /* every element of small inputs, some elements of large ones */
        for (ptrdiff_t j = 0; j<d->count; j += d->count> 64 ? 7 : 1)
            worst = fmax(worst, fabs(difference(c, of, &d->values[j]) - got[j]) / scale);
    }
    return worst;
}

void check_gradient(const RelnOp *op, int index, const char *algebra)
{
    Case c;
    double first = 0, second = 0;

    case_make(&c, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 2});
    if (c.z->dtype != RELN_I32 && c.n_x > 0) {
        first = worst_gradient(&c, "L", 'g');
        second = worst_gradient(&c, "S", 'h');
    }
    case_clear(&c);
    if (!(first <= 1e-7))
        complain(op, index, algebra, "the gradient", first, 1e-7);
    if (!(second <= 1e-6))
        complain(op, index, algebra, "the second derivative", second, 1e-6);
}

/* Returns <Hv, w> and its size, after a run with direction v. */
static double along(Case *c, double *const *w, double *size)
{
    static double h[ROOM];
    double sum = 0;

    case_run(c, CASE_SAMPLES);
    for (int i = 0; i < c->n_x; i++) {
        const Data *d = &c->data[c->x[i]];
        char name[16];

        snprintf(name, sizeof name, "h%d", i);
        case_output(c, name, d->count, h);
        for (ptrdiff_t j = 0; j < d->count; j++) {
            sum += h[j] * w[i][j];
            *size += fabs(h[j] * w[i][j]);
        }
    }
    return sum;
}

void check_symmetry(const RelnOp *op, int index, const char *algebra)
{
    Case c;
    RelnRng rng = reln_rng(11, 0);
    double *w[RELN_SAMPLE_INPUTS], *v[RELN_SAMPLE_INPUTS], size = 1, left, right;

    case_make(&c, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 2});
    if (c.z->dtype != RELN_I32 && c.n_x > 0) {
        for (int i = 0; i < c.n_x; i++) {
            Data *d = &c.data[c.v[i]];

            w[i] = calloc((size_t)d->count + 1, sizeof(double));
            v[i] = calloc((size_t)d->count + 1, sizeof(double));
            assert_true(w[i] && v[i]);
            fill_normal(&rng, d->count, w[i]);
            memcpy(v[i], d->values, (size_t)d->count * sizeof(double));
        }
        left = along(&c, w, &size);
        for (int i = 0; i < c.n_x; i++)
            memcpy(c.data[c.v[i]].values, w[i], (size_t)c.data[c.v[i]].count * sizeof(double));
        right = along(&c, v, &size);
        for (int i = 0; i < c.n_x; i++) {
            free(w[i]);
            free(v[i]);
        }
        if (!(fabs(left - right) <= 1e-12 * size))
            complain(op, index, algebra, "the symmetry of the Hessian", fabs(left - right) / size,
                     1e-12);
    }
    case_clear(&c);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Four samples, with six rows, are one shard. */
enum { FEW = 4, GUARD = 512 };

static void *guarded(size_t bytes, int fill)
{
    char *block = aligned_alloc(RELN_ALIGN, (bytes / RELN_ALIGN + 1) * RELN_ALIGN + 2 * GUARD);

    assert_non_null(block);
    memset(block, fill, (bytes / RELN_ALIGN + 1) * RELN_ALIGN + 2 * GUARD);
    return block;
}

static bool guards_hold(const char *block, size_t bytes, int fill)
{
    for (size_t i = 0; i < GUARD; i++)
        if (block[i] != (char)fill || block[GUARD + bytes + i] != (char)fill)
            return false;
    return true;
}

/* Calls only the op's forward, on the inputs of a run, with guarded memory that is filled with another value. */
static char *forward_alone(const Case *c, const RelnNode *z, RelnGemm *gemm, int fill)
{
    void *in[RELN_INPUTS_MAX];
    ptrdiff_t n_in[RELN_INPUTS_MAX];
    bool passing[RELN_INPUTS_MAX] = {false};
    char message[RELN_MESSAGE] = "", name[16];
    const bool sums = z->op->flags & RELN_OP_REDUCE && z->domain == RELN_STEP;
    const ptrdiff_t n = case_items(sums ? z->in[0] : z, FEW);
    const size_t prepared = z->op->prepare ? z->op->prepare(z, gemm->kern, NULL) : 0;
    const size_t scratch = z->op->scratch ? z->op->scratch(z, n) : 0;
    char *ready = guarded(prepared, fill), *spare = guarded(scratch, fill);
    char *out = guarded(reln_node_bytes(z) * (size_t)case_items(z, FEW), fill);
    const RelnSpans spans = {.n_samples = FEW,
                             .first = (const ptrdiff_t *const *)c->plan->row_first};
    const RelnExec e = {.node = z,
                        .prepared = ready + GUARD,
                        .in = in,
                        .out = out + GUARD,
                        .n = n,
                        .n_in = n_in,
                        .passing = passing,
                        .spans = &spans,
                        .scratch = spare + GUARD,
                        .kern = gemm->kern,
                        .gemm = gemm,
                        .seed = 5,
                        .step = 3,
                        .message = message};

    for (int i = 0; i < z->n_in; i++) {
        snprintf(name, sizeof name, "n%d", z->in[i]->id);
        in[i] = (void *)(uintptr_t)reln_plan_output(c->plan, name, NULL);
        n_in[i] = case_items(z->in[i], FEW);
    }
    if (prepared)
        z->op->prepare(z, gemm->kern, ready + GUARD);
    assert_int_equal(z->op->forward(&e), RELN_OK);
    if (!guards_hold(ready, prepared, fill) || !guards_hold(spare, scratch, fill))
        out[0] = (char)~fill;
    free(ready);
    free(spare);
    return out;
}

static bool exact(const Case *c, const RelnNode *z, RelnGemm *gemm)
{
    const size_t bytes = reln_node_bytes(z) * (size_t)case_items(z, FEW);
    char *a = forward_alone(c, z, gemm, 0xAA), *b = forward_alone(c, z, gemm, 0x55);
    const bool held = guards_hold(a, bytes, 0xAA) && guards_hold(b, bytes, 0x55) &&
                      memcmp(a + GUARD, b + GUARD, bytes) == 0;

    free(a);
    free(b);
    return held;
}

/* Checks the op, and every op in its derivatives. */
void check_shape(const RelnOp *op, int index, const char *algebra)
{
    RelnGemm gemm;
    Case c;

    case_make(&c, op, index, algebra,
              (CaseOptions){.dtype = RELN_F32, .order = 2, .all = true, .plan = {.shard = FEW}});
    assert_ok(c.ctx, reln_gemm_init(&gemm, c.ctx, reln_kernels(false)));
    case_run(&c, FEW);
    for (int id = 0; id < c.graph->nodes.count; id++) {
        const RelnNode *z = c.graph->nodes.items[id];

        if (z->op->forward && !(z->op->flags & RELN_OP_ALIAS) && !exact(&c, z, &gemm))
            complain(op, index, algebra, z->op->name, 1, 0);
    }
    reln_gemm_clear(&gemm, c.ctx);
    case_clear(&c);
}

/* ---- precision, kernels ------------------------------------------------------------------------------------------ */

static void outputs_agree(Case *a, Case *b, const RelnOp *op, int index, const char *algebra,
                          const char *what, double tol)
{
    static double x[ROOM], y[ROOM];

    case_run(a, CASE_SAMPLES);
    case_run(b, CASE_SAMPLES);
    for (int i = 0; i < a->graph->outputs.count; i++) {
        const RelnNamedNode *out = &a->graph->outputs.items[i];
        const ptrdiff_t count = case_count(out->node, CASE_SAMPLES);
        double scale = 1;

        assert_true(count <= ROOM);
        case_output(a, out->name, count, x);
        case_output(b, out->name, count, y);
        for (ptrdiff_t j = 0; j < count; j++)
            scale = fmax(scale, fabs(x[j]));
        for (ptrdiff_t j = 0; j < count; j++)
            if (!(fabs(x[j] - y[j]) <= tol * scale))
                complain(op, index, algebra, what, fabs(x[j] - y[j]) / scale, tol);
    }
}

/* Second derivatives multiply a few dozen rounded factors and sum a few hundred terms: 4096 epsilons of room. */
void check_precision(const RelnOp *op, int index, const char *algebra)
{
    Case f64, f32, plain;

    case_make(&f64, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 2});
    case_make(&f32, op, index, algebra, (CaseOptions){.dtype = RELN_F32, .order = 2});
    case_make(
        &plain, op, index, algebra,
        (CaseOptions){.dtype = RELN_F64, .order = 2, .plan = {.reference = true, .shard = 2}});
    outputs_agree(&f64, &f32, op, index, algebra, "f32", 4096 * 0x1p-24);
    outputs_agree(&f64, &plain, op, index, algebra, "the reference kernels", 4096 * 0x1p-53);
    case_clear(&f64);
    case_clear(&f32);
    case_clear(&plain);
}

/* The dtype of a node is its own: gradients of f64 nodes are f64 and as exact as in an f64 graph. */
void check_island(const RelnOp *op, int index, const char *algebra)
{
    Case plain, island;

    case_make(&plain, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 2});
    case_make(&island, op, index, algebra,
              (CaseOptions){.dtype = RELN_F64, .order = 2, .island = true});
    outputs_agree(&plain, &island, op, index, algebra, "f64 in an f32 graph", 4 * 0x1p-53);
    case_clear(&plain);
    case_clear(&island);
}

/* Another program computes a function, and its derivative is a function again; the numbers must be the same
 * up to rounding. Results of a function at step level can only be sums over the batch. */
void check_call(const RelnOp *op, int index, const char *algebra)
{
    Case plain, called;

    case_make(&plain, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 2});
    if (plain.n_x > 0 && plain.z->domain != RELN_STEP && plain.z->dtype != RELN_I32 &&
        !plain.reduces) {
        case_make(
            &called, op, index, algebra,
            (CaseOptions){.dtype = RELN_F64, .order = 2, .called = true, .plan = {.shard = 3}});
        outputs_agree(&plain, &called, op, index, algebra, "a call", 4096 * 0x1p-53);
        case_clear(&called);
    }
    case_clear(&plain);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static uint64_t hash_outputs(Case *c)
{
    uint64_t h = RELN_HASH_SEED;

    case_run(c, CASE_SAMPLES);
    for (int i = 0; i < c->graph->outputs.count; i++) {
        const RelnNamedNode *out = &c->graph->outputs.items[i];
        const void *values = reln_plan_output(c->plan, out->name, NULL);

        h = reln_hash(h, values,
                      reln_node_bytes(out->node) * (size_t)case_items(out->node, CASE_SAMPLES));
    }
    return h;
}

void check_threads(const RelnOp *op, int index, const char *algebra)
{
    static const int threads[] = {1, 2, 3, 7};
    uint64_t want = 0;

    for (int t = 0; t < 4; t++) {
        RelnCtx *ctx = NULL;
        RelnPool *pool = NULL;
        Case c;
        uint64_t have;

        assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
        assert_ok(ctx, reln_pool_create(ctx, threads[t], &pool));
        case_make(&c, op, index, algebra,
                  (CaseOptions){.dtype = RELN_F32, .order = 2, .plan = {.pool = pool, .shard = 1}});
        have = hash_outputs(&c);
        want = t == 0 ? have : want;
        if (have != want || hash_outputs(&c) != want) {
            complain(op, index, algebra, "the bits on several threads", 1, 0);
        }
        case_clear(&c);
        reln_pool_destroy(pool);
        reln_ctx_destroy(ctx);
    }
}

/* A sample's numbers are the same bits however its rows are cut into tiles. */
void check_tiles(const RelnOp *op, int index, const char *algebra)
{
    static const int tiles[] = {1, 2, 7, 1000};
    Case c, one;

    case_make(&one, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 2});
    case_run(&one, CASE_SAMPLES);
    for (int t = 0; t < 4 && one.graph->rows.count && !one.reduces; t++) {
        case_make(&c, op, index, algebra,
                  (CaseOptions){.dtype = RELN_F64,
                                .order = 2,
                                .called = t % 2 && one.n_x > 0,
                                .plan = {.tile = tiles[t]}});
        case_run(&c, CASE_SAMPLES);
        for (int i = 0; i < c.graph->outputs.count; i++) {
            const RelnNamedNode *out = &c.graph->outputs.items[i];

            if (out->node->domain != RELN_STEP &&
                memcmp(reln_plan_output(c.plan, out->name, NULL),
                       reln_plan_output(one.plan, out->name, NULL),
                       reln_node_bytes(out->node) * (size_t)case_items(out->node, CASE_SAMPLES)) !=
                    0)
                complain(op, index, algebra, "the bits in tiles", tiles[t], 0);
        }
        case_clear(&c);
    }
    case_clear(&one);
}

/* Data of the samples from `first` on moved to the front. */
static void drop_samples(Case *c, ptrdiff_t first)
{
    for (int i = 0; i < c->n_data; i++) {
        const Data *d = &c->data[i];
        const ptrdiff_t skip = case_count(d->node, first);

        if (d->node->domain == RELN_STEP)
            continue;
        if (d->values)
            memmove(d->values, d->values + skip, (size_t)(d->count - skip) * sizeof *d->values);
        if (d->indices)
            memmove(d->indices, d->indices + skip, (size_t)(d->count - skip) * sizeof *d->indices);
    }
    case_bind_rows(c->ctx, c->graph, c->plan, first);
}

/* Returns whether a result depends on the place in the batch; only random numbers may. */
static bool depends_on_place(const Case *c)
{
    for (int id = 0; id < c->graph->nodes.count; id++)
        if (c->graph->nodes.items[id]->op->flags & RELN_OP_PLACE)
            return true;
    return false;
}

/* Samples in another batch, at another place and in shards of another size have the same bits. */
void check_batch(const RelnOp *op, int index, const char *algebra)
{
    for (int first = 0; first < 4; first++) {
        Case whole, part;

        case_make(&whole, op, index, algebra,
                  (CaseOptions){.dtype = RELN_F32, .plan = {.shard = 5}});
        case_make(&part, op, index, algebra,
                  (CaseOptions){.dtype = RELN_F32, .plan = {.shard = 2}});
        if ((first == 0 || !depends_on_place(&whole)) && !whole.reduces &&
            whole.z->domain != RELN_STEP && whole.z->dtype != RELN_I32) {
            const size_t item = reln_node_bytes(whole.z);
            const size_t skip = item * (size_t)case_items(whole.z, first);
            const size_t bytes = item * (size_t)case_items(whole.z, first + 3) - skip;
            const char *all, *some;

            drop_samples(&part, first);
            case_run(&whole, CASE_SAMPLES);
            case_run(&part, 3);
            all = reln_plan_output(whole.plan, "z", NULL);
            some = reln_plan_output(part.plan, "z", NULL);
            if (memcmp(all + skip, some, bytes) != 0) {
                complain(op, index, algebra, "a sample in another batch", 1, 0);
            }
        }
        case_clear(&whole);
        case_clear(&part);
    }
}

/* ---- equivariance ------------------------------------------------------------------------------------------------ */

void act(const RelnNode *x, const RelnElement *g, ptrdiff_t items, double *values)
{
    const int k = x->shape.dims[RELN_K], c = x->shape.dims[RELN_C];
    const ptrdiff_t rows = items * reln_shape_count(&x->shape) / ((ptrdiff_t)k * c);
    double *m = calloc((size_t)(k * k + k), sizeof *m), *column = m + k * k;

    assert_non_null(m);
    assert_int_equal(reln_rep_act(x->rep, g, m), RELN_OK);
    for (ptrdiff_t r = 0; r < rows * c; r++) {
        double *v = values + r / c * k * c + r % c;

        for (int i = 0; i < k; i++) {
            column[i] = 0;
            for (int j = 0; j < k; j++)
                column[i] += m[i * k + j] * v[j * c];
        }
        for (int i = 0; i < k; i++)
            v[i * c] = column[i];
    }
    free(m);
}

static const RelnNode *output_node(const Case *c, const char *name)
{
    for (int i = 0; i < c->graph->outputs.count; i++)
        if (strcmp(c->graph->outputs.items[i].name, name) == 0)
            return c->graph->outputs.items[i].node;
    return NULL;
}

/* Compares an output before and after all inputs have been moved by g. */
static void check_output(const RelnOp *op, int index, const char *algebra, const char *name,
                         const char *what)
{
    static double want[ROOM], got[ROOM];
    Case c;
    RelnRng rng = reln_rng(3, (uint64_t)index);
    RelnElement *g = NULL;
    const RelnNode *out;
    double scale = 1, worst = 0, tol;
    ptrdiff_t count;

    case_make(&c, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 1});
    assert_ok(c.ctx, reln_group_random(c.group, &rng, 4.0, &g));
    /* eps (64 L + 2 cond^3), 16 layers' worth for the op and its gradient */
    tol = 0x1p-52 * 16 * (64 + 2 * pow(reln_element_cond(g), 3));
    out = output_node(&c, name);
    if (out && out->dtype != RELN_I32) {
        count = case_count(out, CASE_SAMPLES);
        assert_true(count <= ROOM);
        case_run(&c, CASE_SAMPLES);
        case_output(&c, name, count, want);
        act(out, g, case_items(out, CASE_SAMPLES), want);
        for (int d = 0; d < c.n_data; d++)
            if (c.data[d].values)
                act(c.data[d].node, g, c.data[d].items, c.data[d].values);
        case_run(&c, CASE_SAMPLES);
        case_output(&c, name, count, got);
        for (ptrdiff_t j = 0; j < count; j++) {
            scale = fmax(scale, fabs(want[j]));
            worst = fmax(worst, fabs(want[j] - got[j]));
        }
        if (!(worst <= tol * scale))
            complain(op, index, algebra, what, worst / scale, tol);
    }
    reln_element_destroy(g);
    case_clear(&c);
}

/* Checks that the output moves by its rep, and the gradients by the duals of the inputs' reps. */
void check_equivariance(const RelnOp *op, int index, const char *algebra)
{
    check_output(op, index, algebra, "z", "equivariance");
    check_output(op, index, algebra, "g0", "equivariance of the first gradient");
    check_output(op, index, algebra, "g1", "equivariance of the second gradient");
}
