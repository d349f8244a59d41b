/* Tests that results have the same bits for any number of workers of the lanes: threads of a process, or
 * ranks of a communicator. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "graph/plan.h"
#include "kit/comm.h"
#include "support/ranks.h"

enum { SAMPLES = 90, P = 2, C = 3, STEPS = 4 };

/* A Case holds the settings of a run and its results. */
typedef struct Case {
    int lanes, threads, shard;
    int width, steps;          /* channels and batches; 0: C and STEPS */
    int ends_early;            /* a rank that is asked to stop in step 2; -1: none */
    int fails;                 /* a rank whose allocations fail when it runs step 2; -1: none */
    uint64_t hash[RANKS_MOST]; /* hash of weights, moments, states and outputs, for each rank */
    RelnStatus status[RANKS_MOST];
    char message[RANKS_MOST][256];
    uint64_t reduce_bytes, all_bytes, lane_bytes; /* of the plan's exchanges */
    uint64_t metered[RANKS_MOST], parameter_bytes;
} Case;

typedef struct Run {
    Fixture f;
    RelnPool *pool;
    RelnPlan *plan;
    double x[SAMPLES * P * 9 * 2], y[SAMPLES], rows[SAMPLES * 3], rate;
    int32_t counts[SAMPLES];
} Run;

/* Builds a linear layer, a gate, a bracket, a norm over the batch, dropout and a sum over sets; clipped Adam;
 * outputs of samples and of rows. */
static void build(Run *r, int width)
{
    RelnGraph *g = r->f.graph;
    const RelnNet net = {.graph = g, .algebra = r->f.algebra, .train = true};
    RelnNode *x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.p = P, .k = 9, .c = 2}, r->f.adjoint,
                             RELN_DEFAULT);
    RelnNode *y = reln_input(g, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64);
    const RelnDomain points = reln_rows(g, "points", 40);
    RelnNode *q = reln_input(g, "q", points, (RelnDims){.c = 1}, NULL, RELN_DEFAULT);
    RelnNode *of = reln_row_parent(g, points, RELN_SAMPLES);
    RelnNode *h = reln_nn_relu(&net, "one", reln_nn_linear(&net, "one", x, width), NULL), *out,
             *row;
    const RelnOptimiser adam = {
        .kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS, .clip = 0.5};

    h = reln_nn_batch_norm(&net, "norm", reln_nn_bracket(&net, "two", h), RELN_NORM_INVARIANT);
    h = reln_dropout(g, h, 0.25, 0);
    h = reln_nn_pool_softmax(&net, "pool", h, RELN_P);
    row = reln_nn_dense(&net, "row", q, 2);
    out = reln_nn_dense(&net, "out", reln_nn_invariant(&net, h), 1);
    out =
        reln_add(g, out, reln_nn_dense(&net, "set", reln_segment_sum(g, row, of, RELN_SAMPLES), 1));
    reln_output(g, "guess", out);
    reln_output(g, "row", row);
    out = reln_sub(g, reln_cast(g, out, RELN_F64), y);
    assert_true(reln_train_step(g, &adam, reln_batch_mean(g, reln_square(g, out))));
}

static void fill(Run *r)
{
    RelnRng rng = reln_rng(6, 0);

    fill_normal(&rng, SAMPLES * P * 9 * 2, r->x);
    fill_normal(&rng, SAMPLES, r->y);
    fill_normal(&rng, SAMPLES * 3, r->rows);
    for (int i = 0; i < SAMPLES; i++)
        r->counts[i] = (int32_t)reln_rng_below(&rng, 4);
    r->rate = 0.01;
}

static void bind(Run *r)
{
    RelnCtx *ctx = r->f.ctx;

    assert_ok(ctx, reln_plan_bind(r->plan, "x", r->x, RELN_F64));
    assert_ok(ctx, reln_plan_bind(r->plan, "y", r->y, RELN_F64));
    assert_ok(ctx, reln_plan_bind(r->plan, "q", r->rows, RELN_F64));
    assert_ok(ctx, reln_plan_bind_rows(r->plan, "points", r->counts));
    assert_ok(ctx, reln_plan_bind(r->plan, "rate", &r->rate, RELN_F64));
}

static uint64_t hash_output(const Run *r, const char *name, size_t item, uint64_t hash)
{
    ptrdiff_t n = 0;
    const void *values = reln_plan_output(r->plan, name, &n);

    return reln_hash(hash, values, (size_t)n * item);
}

static uint64_t hash_run(const Run *r, uint64_t hash)
{
    hash = hash_output(r, "loss", 8, hash);
    hash = hash_output(r, "gradient_norm", 8, hash);
    hash = hash_output(r, "guess", 4, hash);
    return hash_output(r, "row", 8, hash);
}

static uint64_t hash_store(const Run *r, uint64_t hash)
{
    for (int i = 0; i < reln_store_count(r->f.store); i++) {
        const RelnEntryInfo e = reln_store_entry(r->f.store, i);

        hash = reln_hash(hash, e.values, e.count * (e.dtype == RELN_F64 ? 8 : 4));
    }
    return hash;
}

static bool yes(void *self)
{
    (void)self;
    return true;
}

/* An allocator that can be told to have no memory. */
typedef struct Shop {
    bool closed;
} Shop;

static void *shop_alloc(void *user, size_t n_bytes)
{
    return ((Shop *)user)->closed ? NULL : aligned_alloc(RELN_ALIGN, (n_bytes + 63) / 64 * 64 + 64);
}

static void shop_release(void *user, void *block)
{
    (void)user;
    free(block);
}

static void note_traffic(const RelnPlan *plan, Case *c)
{
    c->parameter_bytes = reln_plan_cost(plan).parameters * sizeof(float);
    for (int i = 0; i < plan->phases.count && plan->ranks.comm; i++) {
        c->reduce_bytes += plan->ranks.phases[i].sent_reduce;
        c->all_bytes += plan->ranks.phases[i].sent_all;
        c->lane_bytes += plan->phases.items[i].lane_size;
    }
}

/* Keeps the samples that this rank reads, and replaces all others by NaN. */
static void leave_own(Run *r, ptrdiff_t n_samples)
{
    ptrdiff_t first, end;

    fill(r);
    assert_ok(r->f.ctx, reln_plan_samples(r->plan, n_samples, &first, &end));
    for (ptrdiff_t i = 0; i < n_samples; i++)
        if (i < first || i >= end) {
            r->y[i] = (double)NAN;
            for (ptrdiff_t k = 0; k < P * 9 * 2; k++)
                r->x[i * P * 9 * 2 + k] = (double)NAN;
        }
}

/* Trains on batches of 90, 61, 32 and 3 samples, so that there are fewer lanes than shards, and more ranks
 * than lanes. */
static void train(const RelnComm *comm, void *user)
{
    Case *c = user;
    Run *r = calloc(1, sizeof *r);
    Shop shop = {false};
    RelnCommMeter meter;
    RelnCtx *ctx = NULL;
    uint64_t hash = RELN_HASH_SEED;

    assert_int_equal(reln_ctx_create(&(RelnAllocator){shop_alloc, shop_release, &shop}, &ctx),
                     RELN_OK);
    assert_ok(ctx, fixture_build(&r->f, ctx, "gl:3", "gl:3", RELN_F32));
    build(r, c->width ? c->width : C);
    fill(r);
    assert_ok(ctx, reln_pool_create(ctx, c->threads, &r->pool));
    reln_comm_meter_init(&meter, comm);
    assert_ok(ctx, reln_plan_create(r->f.graph,
                                    &(RelnPlanOptions){.pool = r->pool,
                                                       .comm = &meter.comm,
                                                       .lanes = c->lanes,
                                                       .shard = c->shard},
                                    &r->plan));
    bind(r);
    for (int t = 0; t < (c->steps ? c->steps : STEPS) && c->status[comm->rank] == RELN_OK; t++) {
        RelnRun run = {.n_samples = SAMPLES - 29 * t, .seed = 8, .step = (uint64_t)t};

        leave_own(r, run.n_samples);
        run.asked = t == 2 && comm->rank == c->ends_early ? yes : NULL;
        shop.closed = t == 2 && comm->rank == c->fails;
        if (shop.closed) /* a larger batch than before, which must allocate */
            run.n_samples = SAMPLES + 1;
        c->status[comm->rank] = reln_plan_run(r->plan, &run);
        hash = hash_run(r, hash);
    }
    snprintf(c->message[comm->rank], sizeof c->message[0], "%s", reln_ctx_error(ctx));
    c->hash[comm->rank] = hash_store(r, hash);
    c->metered[comm->rank] = meter.bytes;
    if (comm->rank == 0)
        note_traffic(r->plan, c);
    reln_plan_destroy(r->plan);
    reln_pool_destroy(r->pool);
    fixture_release(&r->f);
    reln_ctx_destroy(ctx);
    free(r);
}

static uint64_t one_hash(int ranks, int lanes, int threads)
{
    Case c = {.lanes = lanes, .threads = threads, .shard = 1, .ends_early = -1, .fails = -1};

    ranks_run(ranks, train, &c, NULL);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(c.status[r], RELN_OK);
        assert_true(c.hash[r] == c.hash[0]);
    }
    return c.hash[0];
}

static void lanes_decide_the_bits_and_threads_do_not(void **state)
{
    static const int lanes[] = {1, 8, 64, 256};
    uint64_t hash[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        hash[i] = one_hash(1, lanes[i], 1);
        for (int threads = 2; threads <= 7; threads++)
            assert_true(one_hash(1, lanes[i], threads) == hash[i]);
    }
    assert_true(hash[0] != hash[1] && hash[1] != hash[2]);
    assert_true(
        hash[2] !=
        hash[3]); /* there are 90 shards: they share 64 lanes, and of 256 lanes 90 are used */
    assert_true(one_hash(1, 8, 1) == one_hash(1, 0, 1));
}

static void ranks_leave_the_bits_alone(void **state)
{
    static const int ranks[] = {2, 3, 4, 7, 16};
    static const int lanes[] = {1, 8, 37, 64};

    (void)state;
    for (int l = 0; l < 4; l++) {
        const uint64_t want = one_hash(1, lanes[l], 1);

        for (int r = 0; r < 5; r++)
            for (int threads = 1; threads <= 2; threads++)
                assert_true(one_hash(ranks[r], lanes[l], threads) == want);
    }
}

/* If one rank is asked to stop, all ranks stop, and the store has the bits of the last finished step. */
static void all_ranks_stop_together(void **state)
{
    (void)state;
    for (int who = 0; who < 3; who++) {
        Case c = {.lanes = 8, .threads = 1, .shard = 1, .ends_early = who, .fails = -1};

        ranks_run(3, train, &c, NULL);
        for (int r = 0; r < 3; r++)
            assert_int_equal(c.status[r], RELN_ERR_STOPPED);
    }
}

static void one_rank_without_memory_ends_all_with_its_line(void **state)
{
    (void)state;
    for (int who = 0; who < 3; who++) {
        Case c = {.lanes = 8, .threads = 1, .shard = 1, .ends_early = -1, .fails = who};

        ranks_run(3, train, &c, NULL);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(c.status[r], RELN_ERR_NOMEM);
            assert_string_equal(c.message[r], c.message[who]);
        }
        assert_non_null(strstr(c.message[0], "out of memory"));
    }
}

/* ---- traffic ------------------------------------------------------------------------------------------------------ */

/* Computes, for each rank that wants the sum over lanes [first, end), the smallest number of messages: the
 * minimum over all assignments of the nodes of the tree to ranks. */
static void costs(int lanes, int ranks, int first, int span, int *cost)
{
    int left[RANKS_MOST], right[RANKS_MOST], least = 1 << 20;

    if (span == 1) {
        for (int r = 0; r < ranks; r++)
            cost[r] = reln_lanes_of_rank(lanes, r, ranks) <= first &&
                              first < reln_lanes_of_rank(lanes, r + 1, ranks)
                          ? 0
                          : 1;
        return;
    }
    costs(lanes, ranks, first, span / 2, left);
    if (first + span / 2 >= lanes) {
        memcpy(cost, left, sizeof left);
        return;
    }
    costs(lanes, ranks, first + span / 2, span / 2, right);
    for (int r = 0; r < ranks; r++) {
        cost[r] = left[r] + right[r];
        least = cost[r] < least ? cost[r] : least;
    }
    for (int r = 0; r < ranks; r++) /* or the sum is computed by another rank and sent */
        cost[r] = cost[r] < least + 1 ? cost[r] : least + 1;
}

static void traffic_is_near_the_least(void **state)
{
    static const int ranks[] = {2, 3, 4, 7, 8, 13};
    static const int lanes[] = {8, 64, 37};

    (void)state;
    for (int i = 0; i < 6; i++)
        for (int l = 0; l < 3; l++) {
            const int R = ranks[i];
            Case c = {.lanes = lanes[l], .threads = 1, .shard = 1, .ends_early = -1, .fails = -1};
            RanksTraffic traffic;
            int cost[RANKS_MOST], dearest = 0, cheapest = 1 << 20;
            unsigned long long sent = 0;

            ranks_run(R, train, &c, &traffic);
            for (int r = 0; r < R; r++)
                sent += traffic.bytes[r];
            /* compares with the plan's own count for its last batch of 3 shards */
            costs(3, R, 0, 4, cost);
            for (int r = 0; r < R; r++) {
                dearest = cost[r] > dearest ? cost[r] : dearest;
                cheapest = cost[r] < cheapest ? cost[r] : cheapest;
            }
            assert_true(c.reduce_bytes <= c.lane_bytes * (unsigned)dearest);
            assert_true(c.reduce_bytes >= c.lane_bytes * (unsigned)cheapest);
            assert_true(c.all_bytes == c.lane_bytes * (unsigned)(R - 1));
            assert_true(sent > 0);
        }
}

/* The sums of 90 shards are large enough that every rank owns a part of them. All bytes that ranks send in a
 * step, including agreements and outputs, are at most 1.3 N (F + R - 1), with N the bytes of the sums
 * (gradient, statistics, loss) and F the mean over owners of the smallest number of messages. */
static void traffic_of_many_owners_is_near_the_least(void **state)
{
    static const int ranks[] = {2, 4, 7, 13, 16};
    static const int lanes[] = {8, 64, 37};

    (void)state;
    for (int i = 0; i < 5; i++)
        for (int l = 0; l < 3; l++) {
            const int R = ranks[i];
            Case c = {.lanes = lanes[l],
                      .threads = 1,
                      .shard = 1,
                      .width = 96,
                      .steps = 1,
                      .ends_early = -1,
                      .fails = -1};
            RanksTraffic traffic;
            int cost[RANKS_MOST], leaves = 1;
            double edges = 0, sent = 0, bound;

            ranks_run(R, train, &c, &traffic);
            assert_true(c.lane_bytes > 4096 * (unsigned)R);
            while (leaves < lanes[l])
                leaves *= 2;
            costs(lanes[l], R, 0, leaves, cost);
            for (int r = 0; r < R; r++) {
                edges += (double)cost[r] / R;
                sent += (double)traffic.bytes[r];
                assert_true(c.metered[r] == traffic.bytes[r]);
            }
            assert_true(c.lane_bytes <=
                        c.parameter_bytes); /* gradients of the factors of a product are not sent */
            bound = 1.3 * (double)c.lane_bytes * (edges + R - 1);
            print_message("%d ranks, %d lanes: %.0f bytes in a step, at most %.0f; sums %.0f\n", R,
                          lanes[l], sent, bound, (double)c.lane_bytes);
            assert_true(sent >= (double)(c.reduce_bytes + c.all_bytes));
            assert_true(sent <= bound);
        }
}

/* ---- what ranks do together ---------------------------------------------------------------------------------------- */

typedef struct Talk {
    atomic_int good;
} Talk;

static void talk(const RelnComm *comm, void *user)
{
    static const char *const names[] = {"weights", "data"};
    const int R = comm->size;
    size_t begin[RANKS_MOST + 1] = {0};
    unsigned char bytes[RANKS_MOST * RANKS_MOST] = {0};
    uint64_t numbers[2] = {7, comm->rank == R - 1 ? 2 : 1};
    RelnCtx *ctx = NULL;
    bool good = true;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int r = 0; r < R; r++)
        begin[r + 1] = begin[r] + (size_t)(r % 3 * r); /* some ranks have no part */
    for (size_t i = begin[comm->rank]; i < begin[comm->rank + 1]; i++)
        bytes[i] = (unsigned char)(i + 1);
    good = good && reln_comm_gather(comm, ctx, bytes, begin) == RELN_OK;
    for (size_t i = 0; i < begin[R]; i++)
        good = good && bytes[i] == (unsigned char)(i + 1);
    for (int root = 0; root < R; root++) {
        int word = comm->rank == root ? 100 + root : -1;

        good = good && reln_comm_share(comm, ctx, root, &word, sizeof word) == RELN_OK;
        good = good && word == 100 + root;
    }
    good = good && reln_comm_same(comm, ctx, 1, numbers, names) == RELN_OK;
    if (R > 1) {
        good = good && reln_comm_same(comm, ctx, 2, numbers, names) == RELN_ERR_ARG;
        good = good && strcmp(reln_ctx_error(ctx), "the ranks have different data") == 0;
        good = good && reln_comm_agree(comm, ctx, comm->rank ? RELN_OK : RELN_ERR_STOPPED) ==
                           RELN_ERR_STOPPED;
        if (comm->rank == R / 2)
            (void)reln_fail(ctx, RELN_ERR_IO, "rank %d says so", comm->rank);
        good = good && reln_comm_agree(comm, ctx,
                                       comm->rank == R / 2 ? RELN_ERR_IO
                                       : comm->rank == 0   ? RELN_ERR_STOPPED
                                                           : RELN_OK) == RELN_ERR_IO;
        good = good && atoi(reln_ctx_error(ctx) + 5) == R / 2;
        /* rank 1 ends; every rank that waits for it gets an error */
        if (comm->rank != 1)
            good = good && reln_comm_agree(comm, ctx, RELN_OK) == RELN_ERR_IO;
    }
    good = good && reln_comm_agree(NULL, ctx, RELN_ERR_SHAPE) == RELN_ERR_SHAPE;
    reln_ctx_destroy(ctx);
    if (good)
        atomic_fetch_add(&((Talk *)user)->good, 1);
}

static void ranks_talk(void **state)
{
    (void)state;
    for (int size = 1; size <= RANKS_MOST; size++) {
        Talk t = {0};

        ranks_run(size, talk, &t, NULL);
        assert_int_equal(atomic_load(&t.good), size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_decide_the_bits_and_threads_do_not),
        cmocka_unit_test(ranks_leave_the_bits_alone),
        cmocka_unit_test(all_ranks_stop_together),
        cmocka_unit_test(one_rank_without_memory_ends_all_with_its_line),
        cmocka_unit_test(traffic_is_near_the_least),
        cmocka_unit_test(traffic_of_many_owners_is_near_the_least),
        cmocka_unit_test(ranks_talk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
