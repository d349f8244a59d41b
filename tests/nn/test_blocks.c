/* Compares norms of invariants, pools with weights, heads, dropout and stochastic depth, names, and the two
 * blocks with their formulas, number by number. */
#include <float.h>
#include <math.h>

#include "nn/one.h"

enum { P = 6, C = 4, SETS = 4, ROWS = 16 };

/* A sum of at most 64 numbers of size 1 to 10 and a root: some hundred roundings. */
#define TOL (1000 * DBL_EPSILON)

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

static const int32_t counts[SETS] = {3, 0, 1, 5}; /* 9 rows */
enum { N = 9 };
static const double row_weights[N] = {1, 0, 2, 0.5, 0, 1, 1, 0, 3};

typedef struct Rows {
    Fixture f;
    RelnNet net;
    RelnDomain rows;
    RelnNode *s, *w;
    RelnPlan *plan;
    double values[N * C];
} Rows;

static void rows_init(Rows *r, bool train)
{
    RelnRng rng = reln_rng(21, 0);

    memset(r, 0, sizeof *r);
    fixture_init(&r->f, "so:3", "so:3", RELN_F64);
    r->net = (RelnNet){.graph = r->f.graph, .train = train};
    r->rows = reln_rows(r->f.graph, "rows", ROWS);
    r->s = reln_input(r->f.graph, "s", r->rows, (RelnDims){.c = C}, NULL, RELN_F64);
    r->w = reln_input(r->f.graph, "w", r->rows, (RelnDims){0}, NULL, RELN_F64);
    fill_normal(&rng, N * C, r->values);
}

static void rows_run(Rows *r)
{
    assert_ok(r->f.ctx, reln_plan_create(r->f.graph, NULL, &r->plan));
    assert_ok(r->f.ctx, reln_plan_bind_rows(r->plan, "rows", counts));
    assert_ok(r->f.ctx, reln_plan_bind(r->plan, "s", r->values, RELN_F64));
    (void)reln_plan_bind(r->plan, "w", row_weights, RELN_F64); /* not every graph reads it */
    assert_ok(r->f.ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = SETS}));
}

static const double *rows_values(Rows *r, const char *name)
{
    const double *y = reln_plan_output(r->plan, name, NULL);

    assert_non_null(y);
    return y;
}

static void rows_clear(Rows *r)
{
    reln_plan_destroy(r->plan);
    fixture_clear(&r->f);
}

static double *entry_of(const Fixture *f, const char *name)
{
    RelnEntryInfo entry;

    if (!reln_store_find(f->store, name, &entry))
        fail_msg("there is no %s", name);
    return entry.values;
}

/* Weighted mean and variance of a channel. */
static void moments(const double *x, const double *w, int c, double *mean, double *var,
                    double *total)
{
    double sum = 0;

    *total = *var = 0;
    for (int i = 0; i < N; i++) {
        sum += w[i] * x[i * C + c];
        *total += w[i];
    }
    *mean = sum / *total;
    for (int i = 0; i < N; i++)
        *var += w[i] * (x[i * C + c] - *mean) * (x[i * C + c] - *mean);
}

static void batch_norm_of_rows_counts_them_with_their_weights(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        double ones[N], want[N * C];
        Rows r;

        rows_init(&r, true);
        for (int i = 0; i < N; i++)
            ones[i] = weighted ? row_weights[i] : 1;
        reln_output(r.f.graph, "y",
                    reln_nn_batch_norm_invariants(&r.net, "n", r.s, weighted ? r.w : NULL));
        entry_of(&r.f, "n.gamma")[1] = 3;
        entry_of(&r.f, "n.beta")[2] = -1;
        rows_run(&r);
        for (int c = 0; c < C; c++) {
            double mean, square, total;

            moments(r.values, ones, c, &mean, &square, &total);
            for (int i = 0; i < N; i++)
                want[i * C + c] =
                    (c == 1 ? 3 : 1) * (r.values[i * C + c] - mean) / sqrt(square / total + 1e-5) -
                    (c == 2);
            assert_near(entry_of(&r.f, "n.mean") + c, &(double){0.1 * mean}, 1, TOL);
            assert_near(entry_of(&r.f, "n.var") + c, &(double){0.9 + 0.1 * square / (total - 1)}, 1,
                        TOL);
        }
        assert_near(rows_values(&r, "y"), want, N * C, TOL);
        rows_clear(&r);
    }
}

static void batch_norm_recalls_when_it_does_not_learn(void **state)
{
    double want[N * C];
    Rows r;

    (void)state;
    rows_init(&r, false);
    reln_output(r.f.graph, "y", reln_nn_batch_norm_invariants(&r.net, "n", r.s, NULL));
    entry_of(&r.f, "n.mean")[0] = 2;
    entry_of(&r.f, "n.var")[0] = 4;
    rows_run(&r);
    for (int i = 0; i < N * C; i++)
        want[i] = (r.values[i] - (i % C == 0 ? 2 : 0)) / sqrt((i % C == 0 ? 4 : 1) + 1e-5);
    assert_near(rows_values(&r, "y"), want, N * C, TOL);
    assert_true(entry_of(&r.f, "n.mean")[0] == 2);
    rows_clear(&r);
}

/* The second set is empty; the only row of the third has weight 0.5. */
static void pools_of_rows_are_their_formulas(void **state)
{
    Rows r;
    const double *sum, *weighted, *largest, *count;
    int row = 0;

    (void)state;
    rows_init(&r, true);
    reln_output(r.f.graph, "sum", reln_nn_pool_sum(&r.net, r.s, NULL, RELN_POOL_ROWS));
    reln_output(r.f.graph, "weighted", reln_nn_pool_weighted(&r.net, r.s, r.w, RELN_POOL_ROWS));
    reln_output(r.f.graph, "largest", reln_nn_pool_largest(&r.net, r.s, RELN_POOL_ROWS));
    reln_output(r.f.graph, "count", reln_nn_pool_count(&r.net, r.s));
    rows_run(&r);
    sum = rows_values(&r, "sum");
    weighted = rows_values(&r, "weighted");
    largest = rows_values(&r, "largest");
    count = rows_values(&r, "count");
    for (int set = 0; set < SETS; row += counts[set++]) {
        for (int c = 0; c < C; c++) {
            double total = 0, mean = 0, weight = 0, most = counts[set] ? -HUGE_VAL : 0;

            for (int i = row; i < row + counts[set]; i++) {
                total += r.values[i * C + c];
                mean += row_weights[i] * r.values[i * C + c];
                weight += row_weights[i];
                most = fmax(most, r.values[i * C + c]);
            }
            assert_near(sum + set * C + c, &total, 1, TOL);
            assert_near(weighted + set * C + c, &(double){weight > 0 ? mean / weight : 0}, 1, TOL);
            assert_near(largest + set * C + c, &most, 1, TOL);
        }
        assert_true(count[set] == counts[set]);
    }
    rows_clear(&r);
}

/* ---- points ---------------------------------------------------------------------------------------------------------- */

static void pools_of_an_axis_are_their_formulas(void **state)
{
    One o;
    RelnNode *w;
    const double *y;
    double want[ONE_SAMPLES * 3 * C];

    (void)state;
    one_init_vectors(&o, P, C);
    w = reln_nn_invariant(&o.net, o.x);
    y = one_run(&o, reln_nn_pool_weighted(&o.net, o.x, w, RELN_P));
    memset(want, 0, sizeof want);
    for (int s = 0; s < ONE_SAMPLES; s++)
        for (int c = 0; c < C; c++) {
            double total = 0;

            for (int p = 0; p < P; p++) {
                const double *x = o.values + ((ptrdiff_t)s * P + p) * 3 * C + c;
                const double q = one_form(3, NULL, C, C, x, x);

                total += q;
                for (int k = 0; k < 3; k++)
                    want[(s * 3 + k) * C + c] += q * x[k * C];
            }
            for (int k = 0; k < 3; k++)
                want[(s * 3 + k) * C + c] /= total;
        }
    assert_near(y, want, ONE_SAMPLES * 3 * C, TOL);
    one_clear(&o);
}

/* gamma x / sqrt(1e-5 + mean_c <x_c, x_c>) */
static void the_rms_norm_makes_the_mean_square_one(void **state)
{
    One o;
    const double *y;

    (void)state;
    one_init_vectors(&o, P, C);
    y = one_run(&o, reln_nn_rms_norm(&o.net, "n", o.x));
    for (int p = 0; p < ONE_SAMPLES * P; p++) {
        const double *x = o.values + p * 3 * C;
        double square = 0, want[3 * C];

        for (int i = 0; i < 3 * C; i++)
            square += x[i] * x[i] / C;
        for (int i = 0; i < 3 * C; i++)
            want[i] = x[i] / sqrt(1e-5 + square);
        assert_near(y + p * 3 * C, want, 3 * C, TOL);
    }
    one_clear(&o);
}

/* so:3 has a negative definite form: gamma x / sqrt(1e-5 + mean_c |B(x_c, x_c)|). The form of gl:2 is indefinite, where the
 * norm is that of layers: gamma x / (1e-5 + mean_c B(x_c, x_c)^2)^(1/4). */
static void the_rms_norm_asks_whether_the_form_is_definite(void **state)
{
    static const char *const algebras[] = {"so:3", "gl:2"};

    (void)state;
    for (int a = 0; a < 2; a++) {
        const double *y, *gram = NULL;
        One o;
        int k;

        one_init(&o, algebras[a], P, C);
        k = reln_algebra_dim(o.f.algebra);
        assert_ok(o.f.ctx, reln_algebra_gram(o.f.algebra, RELN_FORM_COMPLETED, &gram));
        y = one_run(&o, reln_nn_rms_norm(&o.net, "n", o.x));
        for (int p = 0; p < ONE_SAMPLES * P; p++) {
            const double *x = o.values + (ptrdiff_t)p * k * C;
            double mean = 0, want[4 * C];

            for (int c = 0; c < C; c++) {
                const double q = one_form(k, gram, C, C, x + c, x + c);

                mean += (a == 0 ? fabs(q) : q * q) / C;
                assert_true(a == 1 || q < 0);
            }
            for (int i = 0; i < k * C; i++)
                want[i] = x[i] / (a == 0 ? sqrt(1e-5 + mean) : pow(1e-5 + mean, 0.25));
            assert_near(y + (ptrdiff_t)p * k * C, want, k * C, TOL);
        }
        one_clear(&o);
    }
}

static void heads_are_groups_of_channels(void **state)
{
    One o;
    RelnNode *split;
    const double *y, *heads;

    (void)state;
    one_init_vectors(&o, P, C);
    split = reln_nn_split_heads(&o.net, o.x, 2, RELN_Q);
    reln_output(o.f.graph, "heads", split);
    y = one_run(&o, reln_nn_merge_heads(&o.net, split, RELN_Q));
    assert_memory_equal(y, o.values, (size_t)o.count * sizeof *y);
    heads = reln_plan_output(o.plan, "heads", NULL);
    for (ptrdiff_t i = 0; i < o.count; i++) {
        const ptrdiff_t point = i / (3 * C), k = i / C % 3, c = i % C, head = c / 2;

        assert_true(heads[((point * 2 + head) * 3 + k) * 2 + c % 2] == o.values[i]);
    }
    one_clear(&o);
}

/* ---- leaving parts out -------------------------------------------------------------------------------------------------- */

/* All points of a sample keep the branch, doubled, or all lose it. Of 200 draws of 5 samples about half lose
 * it; four standard deviations of the binomial are 2 sqrt(1000). The same holds for x and its invariants. */
static void a_branch_is_left_out_for_whole_samples(void **state)
{
    enum { DRAWS = 200 };
    One o;
    RelnFeatures y;
    int kept = 0;

    (void)state;
    one_init_vectors(&o, P, C);
    o.net.train = true;
    y = reln_nn_residual(&o.net, (RelnFeatures){o.x, reln_nn_invariant(&o.net, o.x)},
                         (RelnFeatures){o.x, reln_nn_invariant(&o.net, o.x)}, 0.5);
    reln_output(o.f.graph, "s", y.s);
    (void)one_run(&o, y.x);
    for (int draw = 0; draw < DRAWS; draw++) {
        const double *x, *s;

        assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = ONE_SAMPLES,
                                                            .step = (uint64_t)draw}));
        x = reln_plan_output(o.plan, "y", NULL);
        s = reln_plan_output(o.plan, "s", NULL);
        for (int i = 0; i < ONE_SAMPLES; i++) {
            const double *from = o.values + (ptrdiff_t)i * P * 3 * C;
            const double factor = x[(ptrdiff_t)i * P * 3 * C] / from[0];
            double q = one_form(3, NULL, C, C, from, from);

            assert_true(factor == 1 || factor == 3);
            kept += factor == 3;
            for (int j = 0; j < P * 3 * C; j++)
                assert_true(x[(ptrdiff_t)i * P * 3 * C + j] == factor * from[j]);
            assert_near(s + (ptrdiff_t)i * P * C, &(double){factor * q}, 1, TOL);
        }
    }
    assert_true(fabs(kept - 0.5 * DRAWS * ONE_SAMPLES) < 2 * sqrt(DRAWS * ONE_SAMPLES));
    one_clear(&o);
}

static void rows_of_a_sample_lose_a_branch_together(void **state)
{
    Rows r;
    const double *y;
    bool seen[2] = {false, false};

    (void)state;
    rows_init(&r, true);
    reln_output(
        r.f.graph, "y",
        reln_nn_residual(&r.net, (RelnFeatures){.s = r.s}, (RelnFeatures){.s = r.s}, 0.5).s);
    rows_run(&r);
    for (int draw = 0; draw < 20; draw++) {
        assert_ok(r.f.ctx,
                  reln_plan_run(r.plan, &(RelnRun){.n_samples = SETS, .step = (uint64_t)draw}));
        y = rows_values(&r, "y");
        for (int i = 0; i < N * C; i++) {
            const int first = i / C < 3 ? 0 : i / C < 4 ? 3 : 4;

            assert_true(y[i] == (y[first * C] == r.values[first * C] ? 1 : 3) * r.values[i]);
            seen[y[i] == 3 * r.values[i]] = true;
        }
    }
    assert_true(seen[0] && seen[1]);
    rows_clear(&r);
}

static void dropout_takes_channels_whole_and_only_in_training(void **state)
{
    (void)state;
    for (int train = 0; train < 2; train++) {
        One o;
        RelnFeatures y;
        const double *x;
        int gone = 0;

        one_init_vectors(&o, P, C);
        o.net.train = train;
        y = reln_nn_dropout(&o.net, (RelnFeatures){.x = o.x}, 0.5);
        if (!train)
            assert_ptr_equal(y.x, o.x);
        x = one_run(&o, y.x);
        for (ptrdiff_t i = 0; i < o.count; i++) {
            const ptrdiff_t first = i / (3 * C) * 3 * C + i % C; /* of the channel */

            assert_true(x[i] == 0 || x[i] == (train ? 2 : 1) * o.values[i]);
            assert_true((x[i] == 0) == (x[first] == 0));
            gone += x[i] == 0;
        }
        assert_true(train ? gone > 0 && gone < o.count : gone == 0);
        one_clear(&o);
    }
}

/* ---- names ---------------------------------------------------------------------------------------------------------------- */

static void nets_within_nets_have_their_names_before_those_of_layers(void **state)
{
    static const char *const names[] = {"outer.block0.one.W", "outer.block1.one.W",
                                        "outer.block1.norm.gamma", "outer.block1.head.0.b",
                                        "outer.block1.n.square"};
    One o;
    RelnNet outer;
    RelnNode *h, *s = NULL;

    (void)state;
    one_init_vectors(&o, P, C);
    outer = reln_nn_within(&o.net, "outer");
    h = o.x;
    for (int i = 0; i < 2; i++) {
        const RelnNet block = reln_nn_within(&outer, "block%d", i);

        h = reln_nn_batch_norm(&block, "n", reln_nn_linear(&block, "one", h, C),
                               RELN_NORM_INVARIANT);
        s = reln_nn_mlp(&block, "head", reln_nn_invariant(&block, h), &(RelnMlp){1, 3, 2, 0});
        h = reln_nn_layer_norm(&block, "norm", h);
    }
    assert_non_null(s);
    (void)one_run(&o, h);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(one_parameter(&o, names[i]));
    assert_non_null(reln_graph_find(o.f.graph, "outer.block1.one.linear"));
    one_clear(&o);
    one_init_vectors(&o, P, C);
    (void)reln_nn_within(&o.net, "%s", "");
    assert_int_equal(reln_graph_status(o.f.graph), RELN_ERR_ARG);
    one_clear(&o);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------------- */

/* The same numbers from the layers that the manual says a block is made of. */
static void a_block_of_invariants_is_that_of_resnet(void **state)
{
    const RelnConvBlock block = {.invariants = 5, .stride = 2, .norm = RELN_BLOCK_BATCH_NORM};
    const RelnConv one = {.channels = 5, .width = 3, .stride = 2, .padding = RELN_PAD_SAME},
                   two = {.channels = 5, .width = 3, .padding = RELN_PAD_SAME},
                   skip = {.channels = 5, .width = 1, .stride = 2, .padding = RELN_PAD_SAME};
    const double *by_hand;
    One o;
    RelnNode *s, *h, *g;
    RelnNet b, n;

    (void)state;
    one_init_vectors(&o, P, C);
    o.net.train = true;
    s = reln_nn_invariant(&o.net, o.x);
    reln_output(o.f.graph, "block",
                reln_nn_conv_block(&o.net, "b", (RelnFeatures){.s = s}, &block).s);
    b = reln_nn_within(&o.net, "b");
    n = reln_nn_within(&b, "one");
    h = reln_nn_batch_norm_invariants(&n, "ns", reln_nn_conv(&n, "s", s, &one), NULL);
    h = reln_relu(o.f.graph, h);
    n = reln_nn_within(&b, "two");
    h = reln_nn_batch_norm_invariants(&n, "ns", reln_nn_conv(&n, "s", h, &two), NULL);
    n = reln_nn_within(&b, "skip");
    g = reln_nn_batch_norm_invariants(&n, "ns", reln_nn_conv(&n, "s", s, &skip), NULL);
    h = reln_relu(o.f.graph, reln_add(o.f.graph, g, h));
    by_hand = one_run(&o, h);
    assert_near(reln_plan_output(o.plan, "block", NULL), by_hand, ONE_SAMPLES * 3 * 5, 0);
    one_clear(&o);
}

/* Computes x'_c = 2 sigmoid(s' G + g) x, s' = f(s + r(|x|^2) Q) by hand, for a block whose first convolution
 * is the identity (the middle tap; the other taps are 0) and whose second convolution is 0. */
static void gates_of_a_block_are_their_formula(void **state)
{
    One o;
    RelnFeatures y;
    const double *x, *s;
    double *w, *q, *gw, *gb;

    (void)state;
    one_init_vectors(&o, P, C);
    y = reln_nn_conv_block(&o.net, "b", (RelnFeatures){o.x, reln_nn_invariant(&o.net, o.x)},
                           &(RelnConvBlock){.activation = RELN_ACT_TANH});
    reln_output(o.f.graph, "s", y.s);
    for (int part = 0; part < 4; part++) {
        static const char *const names[] = {"b.one.x.W", "b.one.s.W", "b.two.x.W", "b.two.s.W"};

        w = one_parameter(&o, names[part]);
        memset(w, 0, (size_t)3 * C * C * sizeof *w);
    }
    memset(one_parameter(&o, "b.two.s.b"), 0, C * sizeof(double));
    x = one_run(&o, y.x);
    s = reln_plan_output(o.plan, "s", NULL);
    q = one_parameter(&o, "b.after.Q");
    gw = one_parameter(&o, "b.after.G");
    gb = one_parameter(&o, "b.after.g");
    for (int p = 0; p < ONE_SAMPLES * P; p++) {
        const double *from = o.values + p * 3 * C;
        double r[C], mixed[C], want_s[C], gate[C], want[3 * C];

        for (int c = 0; c < C; c++) {
            const double b = one_form(3, NULL, C, C, from + c, from + c);

            r[c] = b / pow(1 + b * b, 0.25);
            want_s[c] = b;
        }
        one_mix(1, C, C, r, q, mixed);
        for (int c = 0; c < C; c++)
            want_s[c] = tanh(want_s[c] + mixed[c]);
        one_mix(1, C, C, want_s, gw, gate);
        for (int i = 0; i < 3 * C; i++)
            want[i] = from[i] * 2 / (1 + exp(-gate[i % C] - gb[i % C]));
        assert_near(s + p * C, want_s, C, TOL);
        assert_near(x + p * 3 * C, want, 3 * C, TOL);
    }
    one_clear(&o);
}

/* In a causal block of stride 1, the outputs up to a point do not change by a bit if later inputs change. */
static void a_causal_block_sees_no_later_point(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        const RelnConvBlock block = {.dilation = 2, .causal = causal, .norm = RELN_BLOCK_RMS_NORM};
        const ptrdiff_t each = P * 3 * C;
        double before[ONE_SAMPLES * P * 3 * C];
        const double *y;
        bool changed = false;
        One o;

        one_init_vectors(&o, P, C);
        y = one_run(&o, reln_nn_conv_block(&o.net, "b", (RelnFeatures){.x = o.x}, &block).x);
        memcpy(before, y, sizeof before);
        for (ptrdiff_t i = 0; i < o.count; i++)
            if (i % each >= (P - 2) * 3 * C) /* the last two points */
                o.values[i] += 1;
        assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = ONE_SAMPLES}));
        y = reln_plan_output(o.plan, "y", NULL);
        for (ptrdiff_t i = 0; i < o.count; i++)
            changed |= i % each < (P - 2) * 3 * C && y[i] != before[i];
        assert_int_equal(changed, !causal);
        one_clear(&o);
    }
}

/* Windows of two points: the mean, and the point with the larger score B(x, x Wq). */
static void pools_over_windows_choose_or_average(void **state)
{
    const RelnWindow half = {.width = 2, .stride = 2};

    (void)state;
    for (int max = 0; max < 2; max++) {
        One o;
        const double *y, *wq;
        RelnFeatures pooled;

        one_init_vectors(&o, P, C);
        pooled = reln_nn_pool_windows(&o.net, "p", (RelnFeatures){.x = o.x},
                                      &(RelnWindowPool){.window = half, .max = max});
        y = one_run(&o, pooled.x);
        wq = max ? one_parameter(&o, "p.Wq") : NULL;
        for (int t = 0; t < ONE_SAMPLES * P / 2; t++) {
            const double *a = o.values + t * 2 * 3 * C, *b = a + 3 * C;
            double query[2][3 * C], want[3 * C];

            if (max) {
                one_mix(3, C, C, a, wq, query[0]);
                one_mix(3, C, C, b, wq, query[1]);
            }
            for (int i = 0; i < 3 * C; i++) {
                const int c = i % C;
                const bool second = max && one_form(3, NULL, C, C, b + c, query[1] + c) >
                                               one_form(3, NULL, C, C, a + c, query[0] + c);

                want[i] = !max ? (a[i] + b[i]) / 2 : second ? b[i] : a[i];
            }
            assert_near(y + t * 3 * C, want, 3 * C, TOL);
        }
        one_clear(&o);
    }
}

/* The parts that the manual names, joined by hand. */
static void a_transformer_block_is_its_formula(void **state)
{
    const double *by_hand;
    One o;
    RelnGraph *g;
    RelnFeatures in, y, n, h;
    RelnNet t, at;
    RelnNode *q, *s, *x;

    (void)state;
    one_init_vectors(&o, P, C);
    g = o.f.graph;
    in = (RelnFeatures){o.x, reln_nn_invariant(&o.net, o.x)};
    y = reln_nn_transformer(&o.net, "t", in,
                            &(RelnTransformer){.heads = 2, .activation = RELN_ACT_SILU});
    reln_output(g, "x", y.x);
    reln_output(g, "s", y.s);
    t = reln_nn_within(&o.net, "t");
    at = reln_nn_within(&t, "one");
    n = (RelnFeatures){reln_nn_rms_norm(&at, "nx", in.x),
                       reln_nn_layer_norm_invariants(&at, "ns", in.s)};
    h = reln_nn_attention(&t, "attention", n, 2);
    h = (RelnFeatures){reln_add(g, in.x, reln_sub(g, h.x, n.x)),
                       reln_add(g, in.s, reln_sub(g, h.s, n.s))};
    at = reln_nn_within(&t, "two");
    n = (RelnFeatures){reln_nn_rms_norm(&at, "nx", h.x),
                       reln_nn_layer_norm_invariants(&at, "ns", h.s)};
    x = reln_nn_linear(&t, "x1", n.x, C);
    s = reln_nn_dense(&t, "s1", n.s, 2 * C);
    q = reln_nn_invariant(&t, x);
    q = reln_div(g, q, reln_sqrt(g, reln_sqrt(g, reln_shift(g, reln_square(g, q), 1, 1))));
    q = reln_mix(g, q,
                 reln_param(g, "t.gates.Q", (RelnDims){.r = C, .c = 2 * C},
                            (RelnInit){RELN_INIT_CONSTANT, 0}));
    s = reln_silu(g, reln_add(g, s, q));
    q = reln_add(g,
                 reln_mix(g, s,
                          reln_param(g, "t.gates.G", (RelnDims){.r = 2 * C, .c = C},
                                     (RelnInit){RELN_INIT_CONSTANT, 0})),
                 reln_param(g, "t.gates.g", (RelnDims){.c = C}, (RelnInit){RELN_INIT_CONSTANT, 0}));
    x = reln_mul(g, x, reln_scale(g, reln_sigmoid(g, q), 2));
    reln_output(g, "s by hand", reln_add(g, h.s, reln_nn_dense(&t, "s2", s, C)));
    x = reln_add(g, h.x, reln_nn_linear(&t, "x2", x, C));
    by_hand = one_run(&o, x);
    assert_near(reln_plan_output(o.plan, "x", NULL), by_hand, o.count, TOL);
    assert_near(reln_plan_output(o.plan, "s by hand", NULL), reln_plan_output(o.plan, "s", NULL),
                ONE_SAMPLES * P * C, TOL);
    one_clear(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_norm_of_rows_counts_them_with_their_weights),
        cmocka_unit_test(batch_norm_recalls_when_it_does_not_learn),
        cmocka_unit_test(pools_of_rows_are_their_formulas),
        cmocka_unit_test(pools_of_an_axis_are_their_formulas),
        cmocka_unit_test(the_rms_norm_makes_the_mean_square_one),
        cmocka_unit_test(the_rms_norm_asks_whether_the_form_is_definite),
        cmocka_unit_test(heads_are_groups_of_channels),
        cmocka_unit_test(a_branch_is_left_out_for_whole_samples),
        cmocka_unit_test(rows_of_a_sample_lose_a_branch_together),
        cmocka_unit_test(dropout_takes_channels_whole_and_only_in_training),
        cmocka_unit_test(nets_within_nets_have_their_names_before_those_of_layers),
        cmocka_unit_test(a_block_of_invariants_is_that_of_resnet),
        cmocka_unit_test(gates_of_a_block_are_their_formula),
        cmocka_unit_test(a_causal_block_sees_no_later_point),
        cmocka_unit_test(pools_over_windows_choose_or_average),
        cmocka_unit_test(a_transformer_block_is_its_formula),
    };

    return cmocka_run_group_tests_name("nn/blocks", tests, NULL, NULL);
}
