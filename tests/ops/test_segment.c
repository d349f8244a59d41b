/* Compares ops on sets of different size with plain loops; tests refusals, and that dividing the batch
 * changes no bit. */
#include <math.h>
#include <stdlib.h>

#include "ops/fixture.h"

enum { SAMPLES = 6, POINTS = 13, EDGES = 20, C = 2, K = 3 };

/* Points of each sample and edges between them, empty sets among them. */
static const int32_t n_points[SAMPLES] = {3, 0, 5, 1, 0, 4};
static const int32_t n_edges[SAMPLES] = {4, 0, 7, 2, 0, 7};

typedef struct Sets {
    Fixture f;
    RelnDomain points, edges;
    RelnPlan *plan;
    double x[POINTS * C], v[POINTS * K * C], flow[EDGES * C];
    int32_t ends[EDGES * C], start[EDGES]; /* within the sample */
    int sample_of[POINTS], first[EDGES];   /* sample of a point; first point of an edge's sample */
} Sets;

static void number_rows(Sets *s)
{
    for (int i = 0, p = 0, e = 0; i < SAMPLES; i++) {
        for (int r = 0; r < n_edges[i]; r++)
            s->first[e++] = p;
        for (int r = 0; r < n_points[i]; r++)
            s->sample_of[p++] = i;
    }
}

/* Small whole numbers: sums are exact in any order, and ties are common. */
static void fill(Sets *s, bool whole)
{
    RelnRng rng = reln_rng(4, 0);
    double *const arrays[] = {s->x, s->v, s->flow};
    const int counts[] = {POINTS * C, POINTS * K * C, EDGES * C};

    number_rows(s);
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < counts[a]; i++)
            arrays[a][i] = whole ? (double)reln_rng_below(&rng, 7) - 3 : reln_rng_normal(&rng);
    for (int i = 0, e = 0; i < SAMPLES; i++)
        for (int r = 0; r < n_edges[i]; r++, e++) {
            s->start[e] = (int32_t)reln_rng_below(&rng, (uint64_t)n_points[i]);
            for (int c = 0; c < C; c++)
                s->ends[e * C + c] = (int32_t)reln_rng_below(&rng, (uint64_t)n_points[i]);
        }
}

static void build(Sets *s, int point_capacity, int edge_capacity)
{
    RelnGraph *g = s->f.graph;
    RelnNode *x, *v, *flow, *start, *ends, *of, *best;

    s->points = reln_rows(g, "points", point_capacity);
    s->edges = reln_rows(g, "edges", edge_capacity);
    x = reln_input(g, "x", s->points, (RelnDims){.c = C}, NULL, RELN_DEFAULT);
    v = reln_input(g, "v", s->points, (RelnDims){.k = K, .c = C}, s->f.adjoint, RELN_DEFAULT);
    flow = reln_input(g, "flow", s->edges, (RelnDims){.c = C}, NULL, RELN_DEFAULT);
    start = reln_input_index(g, "start", s->edges, (RelnDims){0}, s->points, 0);
    ends = reln_input_index(g, "ends", s->edges, (RelnDims){.c = C}, s->points, 0);
    of = reln_row_sample(g, s->points);
    best = reln_segment_argmax(g, x, of, RELN_SAMPLES);
    reln_output(g, "sum", reln_segment_sum(g, v, of, RELN_SAMPLES));
    reln_output(g, "mean", reln_segment_mean(g, v, of, RELN_SAMPLES));
    reln_output(g, "max", reln_segment_max(g, x, of, RELN_SAMPLES));
    reln_output(g, "best", reln_gather(g, v, best));
    reln_output(g, "softmax", reln_segment_softmax(g, x, of, RELN_SAMPLES));
    reln_output(g, "along", reln_gather(g, v, start));
    reln_output(g, "apart", reln_gather(g, v, ends));
    reln_output(g, "inflow", reln_segment_sum(g, flow, ends, s->points));
    reln_output(g, "fours",
                reln_segment_sum(
                    g, reln_concat(g, 2, (RelnNode *[]){flow, reln_scale(g, flow, 2.0)}, RELN_C),
                    start, s->points));
    reln_output(g, "degree", reln_scatter_add(g, reln_scalar(g, 1.0), start, s->points));
    /* rows chosen in one phase and used in the next */
    reln_output(g, "later", reln_gather(g, reln_sub(g, v, reln_batch_mean(g, v)), best));
    /* indices of indices: the sample of an edge */
    reln_output(
        g, "total",
        reln_gather(g, reln_segment_sum(g, x, of, RELN_SAMPLES), reln_gather(g, of, start)));
}

static void bind(Sets *s)
{
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "x", s->x, RELN_F64));
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "v", s->v, RELN_F64));
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "flow", s->flow, RELN_F64));
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "start", s->start, RELN_I32));
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "ends", s->ends, RELN_I32));
    assert_ok(s->f.ctx, reln_plan_bind_rows(s->plan, "points", n_points));
    assert_ok(s->f.ctx, reln_plan_bind_rows(s->plan, "edges", n_edges));
}

static RelnStatus run(Sets *s)
{
    return reln_plan_run(s->plan, &(RelnRun){.n_samples = SAMPLES});
}

static void sets_make(Sets *s, RelnDtype dtype, bool whole, RelnPlanOptions options, int points,
                      int edges)
{
    memset(s, 0, sizeof *s);
    fixture_init(&s->f, "so:3", "so:3", dtype);
    fill(s, whole);
    build(s, points, edges);
    s->plan = plan_of(&s->f, options);
    bind(s);
}

static void sets_clear(Sets *s)
{
    reln_plan_destroy(s->plan);
    fixture_clear(&s->f);
}

static void want(const Sets *s, const char *name, const double *values, ptrdiff_t n, ptrdiff_t each,
                 double tol)
{
    ptrdiff_t items = 0;
    const double *got = reln_plan_output(s->plan, name, &items);

    assert_int_equal(items, n);
    assert_near(got, values, n * each, tol);
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

static void sums_and_means(const Sets *s)
{
    double sum[SAMPLES * K * C] = {0}, mean[SAMPLES * K * C];

    for (int p = 0; p < POINTS; p++)
        for (int i = 0; i < K * C; i++)
            sum[s->sample_of[p] * K * C + i] += s->v[p * K * C + i];
    for (int i = 0; i < SAMPLES * K * C; i++)
        mean[i] = n_points[i / (K * C)] ? sum[i] / n_points[i / (K * C)] : 0.0;
    want(s, "sum", sum, SAMPLES, K * C, 0.0);
    want(s, "mean", mean, SAMPLES, K * C, 0.0);
}

/* The first of the largest; nothing from an empty set. */
static void largest(const Sets *s)
{
    double max[SAMPLES * C] = {0}, best[SAMPLES * K * C] = {0};
    int row[SAMPLES * C];

    for (int i = 0; i < SAMPLES * C; i++)
        row[i] = -1;
    for (int p = 0; p < POINTS; p++)
        for (int c = 0; c < C; c++) {
            int *r = &row[s->sample_of[p] * C + c];

            *r = *r < 0 || s->x[p * C + c] > s->x[*r * C + c] ? p : *r;
        }
    for (int i = 0; i < SAMPLES * C; i++) {
        max[i] = row[i] < 0 ? 0.0 : s->x[row[i] * C + i % C];
        for (int k = 0; k < K && row[i] >= 0; k++)
            best[i / C * K * C + k * C + i % C] = s->v[row[i] * K * C + k * C + i % C];
    }
    want(s, "max", max, SAMPLES, C, 0.0);
    want(s, "best", best, SAMPLES, K * C, 0.0);
}

/* exp, a sum of at most five terms, a reciprocal and a product: 16 roundings are more than enough. */
static void weights(const Sets *s)
{
    double e[POINTS * C], sum[SAMPLES * C] = {0};

    for (int i = 0; i < POINTS * C; i++)
        sum[s->sample_of[i / C] * C + i % C] += e[i] = exp(s->x[i]);
    for (int i = 0; i < POINTS * C; i++)
        e[i] /= sum[s->sample_of[i / C] * C + i % C];
    want(s, "softmax", e, POINTS, C, 16 * 0x1p-53);
}

static void along_edges(const Sets *s)
{
    double along[EDGES * K * C], apart[EDGES * K * C],
        inflow[POINTS * C] = {0}, degree[POINTS] = {0}, fours[POINTS * 2 * C] = {0};
    double sum[SAMPLES * C] = {0}, total[EDGES * C];

    for (int p = 0; p < POINTS * C; p++)
        sum[s->sample_of[p / C] * C + p % C] += s->x[p];
    for (int e = 0; e < EDGES; e++) {
        const int from = s->first[e] + s->start[e];

        degree[from] += 1.0;
        for (int c = 0; c < C; c++) {
            const int to = s->first[e] + s->ends[e * C + c];

            inflow[to * C + c] += s->flow[e * C + c];
            fours[from * 2 * C + c] += s->flow[e * C + c];
            fours[(from * 2 + 1) * C + c] += 2 * s->flow[e * C + c];
            total[e * C + c] = sum[s->sample_of[from] * C + c];
            for (int k = 0; k < K; k++) {
                along[(e * K + k) * C + c] = s->v[(from * K + k) * C + c];
                apart[(e * K + k) * C + c] = s->v[(to * K + k) * C + c];
            }
        }
    }
    want(s, "along", along, EDGES, K * C, 0.0);
    want(s, "apart", apart, EDGES, K * C, 0.0);
    want(s, "inflow", inflow, POINTS, C, 0.0);
    want(s, "fours", fours, POINTS, 2 * C, 0.0);
    want(s, "degree", degree, POINTS, 1, 0.0);
    want(s, "total", total, EDGES, C, 0.0);
}

static void values_are_those_of_plain_loops(void **state)
{
    (void)state;
    for (int shard = 1; shard <= SAMPLES; shard++) {
        Sets s;

        sets_make(&s, RELN_F64, true, (RelnPlanOptions){.shard = shard}, 5, 7);
        assert_ok(s.f.ctx, run(&s));
        sums_and_means(&s);
        largest(&s);
        weights(&s);
        along_edges(&s);
        sets_clear(&s);
    }
}

/* Scores of 1000 would overflow if the largest were not subtracted; a set of one has weight 1. */
static void softmax_of_large_scores_is_finite(void **state)
{
    Sets s;
    const double *a;

    (void)state;
    sets_make(&s, RELN_F64, true, (RelnPlanOptions){0}, 5, 7);
    for (int i = 0; i < POINTS * C; i++)
        s.x[i] += 1000.0;
    assert_ok(s.f.ctx, run(&s));
    a = reln_plan_output(s.plan, "softmax", NULL);
    for (int i = 0; i < POINTS * C; i++)
        assert_true(a[i] > 0.0 && a[i] <= 1.0);
    assert_true(a[8 * C] == 1.0); /* the only point of sample 3 */
    sets_clear(&s);
}

/* ---- bits --------------------------------------------------------------------------------------------------------- */

/* Hashes the outputs. Sums over the batch depend on shards, so "later" is compared for one division at a
 * time. */
static uint64_t hash(const Sets *s)
{
    static const char *const names[] = {"sum",   "mean",  "max",    "best",   "softmax",
                                        "along", "apart", "inflow", "degree", "total"};
    static const int each[] = {K * C, K * C, C, K * C, C, K * C, K * C, C, 1, C};
    uint64_t h = RELN_HASH_SEED;

    for (int i = 0; i < 10; i++) {
        ptrdiff_t items = 0;
        const void *values = reln_plan_output(s->plan, names[i], &items);

        h = reln_hash(h, values, (size_t)(items * each[i]) * sizeof(float));
    }
    return h;
}

static void cutting_the_batch_changes_no_bit(void **state)
{
    static const struct {
        int shard, points, edges;
    } cuts[] = {{1, 5, 7}, {2, 5, 7}, {3, 6, 9}, {6, 5, 7}, {6, 8, 13}, {6, 100, 100}};
    uint64_t first = 0;

    (void)state;
    for (int i = 0; i < 6; i++) {
        Sets s;

        sets_make(&s, RELN_F32, false, (RelnPlanOptions){.shard = cuts[i].shard}, cuts[i].points,
                  cuts[i].edges);
        assert_ok(s.f.ctx, run(&s));
        first = i == 0 ? hash(&s) : first;
        assert_true(hash(&s) == first);
        s.x[0] += 1.0; /* the hash detects a changed number */
        assert_ok(s.f.ctx, run(&s));
        assert_true(hash(&s) != first);
        sets_clear(&s);
    }
}

/* A row that is chosen in one phase is the same row in the next. */
static void a_choice_outlives_its_phase(void **state)
{
    Sets s;

    (void)state;
    sets_make(&s, RELN_F64, true, (RelnPlanOptions){.shard = 2}, 5, 7);
    assert_ok(s.f.ctx, run(&s));
    {
        const double *best = reln_plan_output(s.plan, "best", NULL);
        const double *later = reln_plan_output(s.plan, "later", NULL);
        double mean[K * C] = {0}, shifted[SAMPLES * K * C] = {0};

        for (int i = 0; i < POINTS * K * C; i++)
            mean[i % (K * C)] += s.v[i] / SAMPLES;
        for (int i = 0; i < SAMPLES * K * C; i++)
            shifted[i] = n_points[i / (K * C)] ? best[i] - mean[i % (K * C)] : 0.0;
        assert_near(later, shifted, SAMPLES * K * C, 32 * 0x1p-53);
    }
    sets_clear(&s);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static void an_index_out_of_range_is_refused_with_its_name_and_sample(void **state)
{
    Sets s;

    (void)state;
    sets_make(&s, RELN_F64, true, (RelnPlanOptions){.shard = 6}, 100, 100);
    s.start[4] = 5; /* the first edge of sample 2, which has points 0 to 4 */
    assert_int_equal(run(&s), RELN_ERR_ARG);
    assert_message(&s.f, "input start: index 5 of sample 2, wanted 0 to 4");
    s.start[4] = 4;
    assert_ok(s.f.ctx, run(&s));
    s.ends[19 * C + 1] = -1;
    assert_int_equal(run(&s), RELN_ERR_ARG);
    assert_message(&s.f, "input ends: index -1 of sample 5, wanted 0 to 3");
    sets_clear(&s);
}

static void a_set_larger_than_the_capacity_is_refused(void **state)
{
    Sets s;

    (void)state;
    sets_make(&s, RELN_F64, true, (RelnPlanOptions){0}, 4, 7);
    assert_int_equal(run(&s), RELN_ERR_ARG);
    assert_message(&s.f, "sample 2 has 5 rows of points, wanted 0 to 4");
    sets_clear(&s);
}

typedef struct Parts {
    RelnGraph *g;
    RelnDomain points, edges;
    RelnNode *x, *v, *flow, *per_sample, *ends, *start, *plain, *of;
} Parts;

static Parts parts(const Fixture *f)
{
    Parts s = {.g = f->graph};

    s.points = reln_rows(s.g, "points", 5);
    s.edges = reln_rows(s.g, "edges", 7);
    s.x = reln_input(s.g, "x", s.points, (RelnDims){.c = C}, NULL, RELN_DEFAULT);
    s.v = reln_input(s.g, "v", s.points, (RelnDims){.k = K, .c = C}, f->adjoint, RELN_DEFAULT);
    s.flow = reln_input(s.g, "flow", s.edges, (RelnDims){.c = C}, NULL, RELN_DEFAULT);
    s.per_sample = reln_input(s.g, "y", RELN_SAMPLES, (RelnDims){.c = C}, NULL, RELN_DEFAULT);
    s.start = reln_input_index(s.g, "start", s.edges, (RelnDims){0}, s.points, 0);
    s.ends = reln_input_index(s.g, "ends", s.edges, (RelnDims){.k = K}, s.points, 0);
    s.plain = reln_input_index(s.g, "plain", s.edges, (RelnDims){0}, RELN_STEP, 5);
    s.of = reln_row_sample(s.g, s.points);
    return s;
}

typedef void Mistake(const Parts *s);

static void refused(Mistake *mistake, RelnStatus status, const char *words)
{
    Fixture f;
    Parts s;

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    s = parts(&f);
    assert_ok(f.ctx, reln_graph_status(f.graph));
    mistake(&s);
    assert_refused(&f, status, words);
    fixture_clear(&f);
}

#define MISTAKE(name, call)                                                                        \
    static void name(const Parts *s)                                                               \
    {                                                                                              \
        (void)(call);                                                                              \
    }

MISTAKE(mixed_domains, reln_add(s->g, s->x, s->flow))
MISTAKE(wrong_target, reln_gather(s->g, s->per_sample, s->start))
MISTAKE(plain_numbers, reln_gather(s->g, s->x, s->plain))
MISTAKE(mixed_numbers,
        reln_gather(s->g, s->x, reln_concat(s->g, 2, (RelnNode *[]){s->plain, s->start}, RELN_C)))
MISTAKE(no_index, reln_gather(s->g, s->x, s->flow))
MISTAKE(from_the_step, reln_gather(s->g, reln_scalar(s->g, 1.0), s->start))
MISTAKE(by_coordinate, reln_gather(s->g, s->v, s->ends))
MISTAKE(too_many, reln_gather(s->g, s->x, s->ends))
MISTAKE(elsewhere, reln_scatter_add(s->g, s->flow, s->start, RELN_SAMPLES))
MISTAKE(rows_of_another, reln_scatter_add(s->g, s->x, s->start, s->points))
MISTAKE(added_indices, reln_scatter_add(s->g, s->plain, s->start, s->points))
MISTAKE(feature_as_score, reln_segment_argmax(s->g, s->v, s->of, RELN_SAMPLES))
MISTAKE(score_of_another, reln_segment_softmax(s->g, s->flow, s->of, RELN_SAMPLES))
MISTAKE(unknown_target, reln_input_index(s->g, "bad", s->edges, (RelnDims){0}, RELN_SAMPLES, 0))
MISTAKE(step_target, reln_input_index(s->g, "bad", RELN_STEP, (RelnDims){0}, s->points, 0))

static void mistakes_are_refused_when_built(void **state)
{
    (void)state;
    refused(mixed_domains, RELN_ERR_SHAPE, "items of points and of edges do not go together");
    refused(wrong_target, RELN_ERR_ARG,
            "numbers of items of points, wanted numbers of items of samples");
    refused(plain_numbers, RELN_ERR_ARG, "plain numbers, wanted numbers of items of points");
    refused(mixed_numbers, RELN_ERR_ARG, "concat: indices into the step and into points");
    refused(no_index, RELN_ERR_ARG, "wanted one i32 index");
    refused(from_the_step, RELN_ERR_ARG, "at step level");
    refused(by_coordinate, RELN_ERR_REP, "3 indices for the coordinates of");
    refused(too_many, RELN_ERR_SHAPE, "do not broadcast to items (points, 1, 2)");
    refused(elsewhere, RELN_ERR_ARG, "wanted numbers of items of samples");
    refused(rows_of_another, RELN_ERR_SHAPE, "items of points, but indices for those of edges");
    refused(added_indices, RELN_ERR_ARG, "indices cannot be added");
    refused(feature_as_score, RELN_ERR_REP, "equivariant for invariants only");
    refused(score_of_another, RELN_ERR_SHAPE, "scores of edges, but indices for points");
    refused(unknown_target, RELN_ERR_ARG, "is not a row domain");
    refused(step_target, RELN_ERR_ARG, "counted within a sample");
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static RelnStatus build_and_run(RelnCtx *ctx)
{
    static Sets s;
    RelnStatus status;

    memset(&s, 0, sizeof s);
    status = fixture_build(&s.f, ctx, "so:3", "so:3", RELN_F64);
    if (status == RELN_OK) {
        fill(&s, true);
        build(&s, 5, 7);
        status = reln_plan_create(s.f.graph, NULL, &s.plan);
    }
    if (status == RELN_OK) {
        bind(&s);
        status = run(&s);
    }
    reln_plan_destroy(s.plan);
    fixture_release(&s.f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_and_run) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_plain_loops),
        cmocka_unit_test(softmax_of_large_scores_is_finite),
        cmocka_unit_test(cutting_the_batch_changes_no_bit),
        cmocka_unit_test(a_choice_outlives_its_phase),
        cmocka_unit_test(an_index_out_of_range_is_refused_with_its_name_and_sample),
        cmocka_unit_test(a_set_larger_than_the_capacity_is_refused),
        cmocka_unit_test(mistakes_are_refused_when_built),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
