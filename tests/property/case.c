/* case.c -- see case.h. */
#include "property/case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "property/tree.h"
#include "reln/ops.h"

/* Rows of each sample, and rows below each of these rows. */
static const int32_t rows_of_samples[CASE_SAMPLES] = {3, 0, 2, 1, 4, 2, 3};
static const int32_t rows_of_rows[] = {1, 0, 2, 3, 1, 1, 0, 2, 1, 0, 3, 1, 1, 2, 0};

/* Returns the numbers of rows to which a counted domain is bound, for the samples from `first` on. */
static const int32_t *counts_of(const RelnRowDomain *d, ptrdiff_t first)
{
    ptrdiff_t skip = 0;

    if (d->parent == RELN_SAMPLES)
        return rows_of_samples + first;
    for (ptrdiff_t i = 0; i < first; i++)
        skip += rows_of_samples[i];
    return rows_of_rows + skip;
}

static void make_tree(Tree *t, const RelnGraph *g, ptrdiff_t n_samples)
{
    const int32_t *rows[TREE_DOMAINS] = {NULL};

    for (int d = 2; d < reln_domain_count(g); d++)
        if (reln_row_domain(g, d)->kind == RELN_ROWS_COUNTED)
            rows[d - 2] = counts_of(reln_row_domain(g, d), 0);
    tree_make(t, g, n_samples, rows);
}

void case_bind_rows(RelnCtx *ctx, const RelnGraph *graph, RelnPlan *plan, ptrdiff_t first)
{
    for (int r = 0; r < graph->rows.count; r++) {
        const RelnRowDomain *d = &graph->rows.items[r];

        if (d->kind == RELN_ROWS_COUNTED)
            assert_ok(ctx, reln_plan_bind_rows(plan, d->name, counts_of(d, first)));
    }
}

ptrdiff_t case_items(const RelnNode *x, ptrdiff_t n_samples)
{
    ptrdiff_t n;
    Tree t;

    if (x->domain <= RELN_SAMPLES)
        return x->domain == RELN_STEP ? 1 : n_samples;
    make_tree(&t, x->graph, n_samples);
    n = t.n[x->domain - 2];
    tree_clear(&t);
    return n;
}

ptrdiff_t case_count(const RelnNode *x, ptrdiff_t n_samples)
{
    return case_items(x, n_samples) * reln_shape_count(&x->shape);
}

static Data *add_data(Case *c, const char *name, const RelnNode *node)
{
    Data *d = &c->data[c->n_data++];

    assert_true(c->n_data <= CASE_MAX);
    snprintf(d->name, sizeof d->name, "%s", name);
    d->node = node;
    d->items = case_items(node, CASE_SAMPLES);
    d->count = case_count(node, CASE_SAMPLES);
    return d;
}

static void fill_numbers(Data *d, const RelnSampleInput *s, RelnRng *rng)
{
    d->values = calloc((size_t)d->count + 1, sizeof *d->values);
    assert_non_null(d->values);
    for (ptrdiff_t i = 0; i < d->count; i++) {
        const double size = s->lo + (s->hi - s->lo) * reln_rng_uniform(rng);
        const bool negative = !s->positive && reln_rng_uniform(rng) < 0.5;

        d->values[i] = s->hi == 0.0 ? reln_rng_normal(rng) : negative ? -size : size;
    }
}

static void fill_indices(Data *d, const RelnSampleInput *s, RelnRng *rng)
{
    const ptrdiff_t each = reln_shape_count(&d->node->shape);
    Tree t;

    make_tree(&t, d->node->graph, CASE_SAMPLES);
    d->indices = calloc((size_t)d->count + 1, sizeof *d->indices);
    assert_non_null(d->indices);
    for (ptrdiff_t i = 0; i < d->count; i++) {
        const ptrdiff_t sample =
            d->node->domain >= 2 ? t.sample[d->node->domain - 2][i / each] : i / each;
        const ptrdiff_t *first = s->target >= 2 ? t.first[s->target - 2] + sample : NULL;

        d->indices[i] = (int32_t)reln_rng_below(rng, first ? (uint64_t)(first[1] - first[0])
                                                           : (uint64_t)s->limit);
    }
    tree_clear(&t);
}

static RelnNode *pair_all(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_batch_sum(g, reln_sum_all(g, reln_pair(g, x, y)));
}

static void add_inputs(Case *c, RelnRng *rng)
{
    for (int i = 0; i < c->sampler.n_inputs; i++) {
        const RelnSampleInput *s = &c->sampler.inputs[i];
        char name[16];
        Data *d;

        snprintf(name, sizeof name, "x%d", i);
        d = add_data(c, name, s->node);
        if (s->node->dtype == RELN_I32) {
            fill_indices(d, s, rng);
        } else {
            fill_numbers(d, s, rng);
            c->x[c->n_x++] = c->n_data - 1;
        }
    }
}

static RelnNode *extra_input(Case *c, const char *name, const RelnNode *like, const RelnRep *rep,
                             RelnRng *rng)
{
    static const RelnSampleInput normal = {.hi = 0.0};
    RelnNode *x = reln_input(c->graph, name, like->domain, reln_node_dims(like), rep, like->dtype);

    assert_ok(c->ctx, reln_graph_status(c->graph));
    fill_numbers(add_data(c, name, x), &normal, rng);
    return x;
}

static void add_derivatives(Case *c, int order, RelnRng *rng)
{
    RelnNode *xs[RELN_SAMPLE_INPUTS], *gs[RELN_SAMPLE_INPUTS], *hs[RELN_SAMPLE_INPUTS], *L,
        *S = NULL;
    char name[16];

    L = pair_all(c->graph, c->z, extra_input(c, "r", c->z, reln_rep_dual(c->z->rep), rng));
    c->r = c->n_data - 1;
    reln_output(c->graph, "L", L);
    for (int i = 0; i < c->n_x; i++)
        xs[i] = c->sampler.inputs[c->x[i]].node;
    if (order < 1 || !reln_grad(c->graph, L, c->n_x, xs, gs))
        return;
    for (int i = 0; i < c->n_x; i++) {
        snprintf(name, sizeof name, "g%d", i);
        reln_output(c->graph, name, gs[i]);
        snprintf(name, sizeof name, "v%d", i);
        c->v[i] = c->n_data;
        if (order > 1) {
            RelnNode *term =
                pair_all(c->graph, gs[i], extra_input(c, name, xs[i], xs[i]->rep, rng));
            S = S ? reln_add(c->graph, S, term) : term;
        }
    }
    if (order < 2 || !reln_grad(c->graph, S, c->n_x, xs, hs))
        return;
    reln_output(c->graph, "S", S);
    for (int i = 0; i < c->n_x; i++) {
        snprintf(name, sizeof name, "h%d", i);
        reln_output(c->graph, name, hs[i]);
    }
}

static void bind(Case *c)
{
    for (int i = 0; i < c->n_data; i++) {
        const Data *d = &c->data[i];

        assert_ok(c->ctx,
                  reln_plan_bind(c->plan, d->name, d->values ? (const void *)d->values : d->indices,
                                 d->values ? RELN_F64 : RELN_I32));
    }
    case_bind_rows(c->ctx, c->graph, c->plan, 0);
}

/* Builds the op or, with `called`, a function that captures the inputs of the op, and a call of it. */
static RelnNode *build_sample(Case *c, const RelnOp *op, int index, bool called)
{
    RelnGraph *body = called ? reln_fn_begin(c->graph, "body") : NULL;
    RelnNode *z, *out = NULL;

    c->sampler.graph = called ? body : c->graph;
    c->sampler.algebra = c->algebra;
    z = op->sample(&c->sampler, index);
    if (!called || !z)
        return z;
    z = reln_capture(body, z); /* a builder may return its argument unchanged */
    return reln_call(c->graph, reln_fn_end(body, 1, &z), 0, NULL, &out) ? out : NULL;
}

bool case_make(Case *c, const RelnOp *op, int index, const char *algebra, CaseOptions options)
{
    RelnRng rng = reln_rng((uint64_t)index, reln_hash(RELN_HASH_SEED, op->name, strlen(op->name)));

    memset(c, 0, sizeof *c);
    c->r = -1;
    assert_int_equal(reln_ctx_create(NULL, &c->ctx), RELN_OK);
    assert_ok(c->ctx, reln_algebra_create(c->ctx, algebra, &c->algebra));
    assert_ok(c->ctx, reln_group_create(c->ctx, algebra, &c->group));
    assert_ok(c->ctx, reln_store_create(c->ctx, 1, &c->store));
    assert_ok(c->ctx, reln_graph_create(c->group, c->store, options.dtype, &c->graph));
    c->z = build_sample(c, op, index, options.called);
    assert_ok(c->ctx, reln_graph_status(c->graph));
    if (!c->z)
        return false;
    for (int id = 0; id < c->graph->nodes.count; id++)
        c->reduces = c->reduces || (c->graph->nodes.items[id]->op->flags & RELN_OP_REDUCE &&
                                    c->graph->nodes.items[id]->domain == RELN_STEP);
    if (options.island)
        c->graph->dtype = RELN_F32;
    reln_output(c->graph, "z", c->z);
    add_inputs(c, &rng);
    if (c->z->dtype != RELN_I32)
        add_derivatives(c, options.order, &rng);
    for (int id = 0; options.all && id < c->graph->nodes.count; id++) {
        char name[16];

        snprintf(name, sizeof name, "n%d", id);
        reln_output(c->graph, name, c->graph->nodes.items[id]);
    }
    assert_ok(c->ctx, reln_plan_create(c->graph, &options.plan, &c->plan));
    bind(c);
    return true;
}

void case_clear(Case *c)
{
    for (int i = 0; i < c->n_data; i++) {
        free(c->data[i].values);
        free(c->data[i].indices);
    }
    reln_plan_destroy(c->plan);
    reln_graph_destroy(c->graph);
    reln_store_destroy(c->store);
    reln_group_destroy(c->group);
    reln_algebra_destroy(c->algebra);
    assert_int_equal(reln_ctx_live_blocks(c->ctx), 0);
    reln_ctx_destroy(c->ctx);
}

void case_run(Case *c, ptrdiff_t n_samples)
{
    assert_ok(c->ctx,
              reln_plan_run(c->plan, &(RelnRun){.n_samples = n_samples, .seed = 5, .step = 3}));
}

void case_output(const Case *c, const char *name, ptrdiff_t count, double *out)
{
    const void *values = reln_plan_output(c->plan, name, NULL);
    RelnDtype dtype =
        c->z->dtype == RELN_I32 && strcmp(name, "z") == 0 ? RELN_I32 : c->graph->dtype;

    assert_non_null(values);
    for (int i = 0; i < c->graph->outputs.count; i++)
        if (strcmp(c->graph->outputs.items[i].name, name) == 0)
            dtype = c->graph->outputs.items[i].node->dtype;
    for (ptrdiff_t i = 0; i < count; i++)
        out[i] = dtype == RELN_I32   ? ((const int32_t *)values)[i]
                 : dtype == RELN_F64 ? ((const double *)values)[i]
                                     : (double)((const float *)values)[i];
}
