/* Compares products of rows with rows with plain loops; tests equal bits in tiles of any size, and refusals. */
#include <stdio.h>
#include <stdlib.h>

#include "ops/fixture.h"

enum { SAMPLES = 6, K = 3, HEADS = 2, KINDS = 4 };

/* Numbers of rows of the samples; some sets are empty, some have a single row. */
static const int32_t few[2][SAMPLES] = {{3, 0, 17, 1, 0, 30}, {2, 4, 1, 9, 0, 21}};
/* More rows and channels than a piece of the kernels. */
static const int32_t many[2][SAMPLES] = {{0, 1, 300, 0, 2, 40}, {3, 0, 270, 5, 1, 0}};

/* With (i, i), without, between two sets, and with heads. */
static const char *const kinds[KINDS] = {"self", "apart", "across", "heads"};

typedef struct Pairs {
    Fixture f;
    RelnPlan *plan;
    const int32_t (*n)[SAMPLES];
    int c;
    RelnDomain rows[2], pairs[KINDS];
    ptrdiff_t total[2], n_pairs[KINDS];
    double *x[2], *a[KINDS];
} Pairs;

static int second_of(int kind)
{
    return kind >= 2;
}

static int heads_of(int kind)
{
    return kind == 3 ? HEADS : 1;
}

/* Pairs below one item of their parent. */
static ptrdiff_t per(const Pairs *p, int kind, int sample)
{
    return p->n[second_of(kind)][sample] - (kind == 1);
}

static double *numbers(ptrdiff_t n, bool whole, uint64_t seed)
{
    RelnRng rng = reln_rng(seed, 0);
    double *x = calloc((size_t)n + 1, sizeof *x);

    assert_non_null(x);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = whole ? (double)reln_rng_below(&rng, 7) - 3 : reln_rng_normal(&rng);
    return x;
}

static void fill(Pairs *p, bool whole)
{
    for (int s = 0; s < SAMPLES; s++) {
        for (int r = 0; r < 2; r++)
            p->total[r] += p->n[r][s];
        for (int k = 0; k < KINDS; k++)
            p->n_pairs[k] += p->n[0][s] * heads_of(k) * (p->n[0][s] ? per(p, k, s) : 0);
    }
    for (int r = 0; r < 2; r++)
        p->x[r] = numbers(p->total[r] * K * p->c, whole, (uint64_t)r);
    for (int k = 0; k < KINDS; k++)
        p->a[k] = numbers(p->n_pairs[k], whole, (uint64_t)k + 2);
}

static const char *name(const char *what, int kind)
{
    static char text[32];

    snprintf(text, sizeof text, "%s %s", what, kinds[kind]);
    return text;
}

static void build(Pairs *p)
{
    RelnGraph *g = p->f.graph;
    RelnNode *x, *y;

    p->rows[0] = reln_rows(g, "rows", 400);
    p->rows[1] = reln_rows(g, "others", 400);
    x = reln_input(g, "x", p->rows[0], (RelnDims){.k = K, .c = p->c}, p->f.adjoint, RELN_DEFAULT);
    y = reln_input(g, "y", p->rows[1], (RelnDims){.k = K, .c = p->c}, reln_rep_dual(p->f.adjoint),
                   RELN_DEFAULT);
    for (int k = 0; k < KINDS; k++) {
        const RelnDomain first = k < 3 ? p->rows[0] : reln_fixed(g, "parts", p->rows[0], HEADS);
        const RelnDomain pairs = reln_pairs(g, kinds[k], first, p->rows[second_of(k)], k != 1);
        RelnNode *a = reln_input(g, name("a", k), pairs, (RelnDims){0}, NULL, RELN_DEFAULT);
        RelnNode *v = second_of(k) ? y : x;
        /* so:3 keeps the dot product: the adjoint rep is its own dual */
        p->pairs[k] = pairs;
        reln_output(g, name("gram", k), reln_pair_gram(g, x, v, pairs));
        reln_output(g, name("weigh", k), reln_pair_weigh(g, a, v, p->rows[0]));
        reln_output(g, name("weigh_t", k), reln_pair_weigh_t(g, a, x));
    }
}

static void make(Pairs *p, const int32_t (*n)[SAMPLES], int c, RelnDtype dtype, bool whole,
                 RelnPlanOptions options)
{
    memset(p, 0, sizeof *p);
    p->n = n;
    p->c = c;
    fixture_init(&p->f, "so:3", "so:3", dtype);
    fill(p, whole);
    build(p);
    p->plan = plan_of(&p->f, options);
    assert_ok(p->f.ctx, reln_plan_bind_rows(p->plan, "rows", n[0]));
    assert_ok(p->f.ctx, reln_plan_bind_rows(p->plan, "others", n[1]));
    assert_ok(p->f.ctx, reln_plan_bind(p->plan, "x", p->x[0], RELN_F64));
    assert_ok(p->f.ctx, reln_plan_bind(p->plan, "y", p->x[1], RELN_F64));
    for (int k = 0; k < KINDS; k++)
        assert_ok(p->f.ctx, reln_plan_bind(p->plan, name("a", k), p->a[k], RELN_F64));
    assert_ok(p->f.ctx, reln_plan_run(p->plan, &(RelnRun){.n_samples = SAMPLES}));
}

static void clear(Pairs *p)
{
    for (int r = 0; r < 2; r++)
        free(p->x[r]);
    for (int k = 0; k < KINDS; k++)
        free(p->a[k]);
    reln_plan_destroy(p->plan);
    fixture_clear(&p->f);
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

typedef struct Wanted {
    double *gram, *weigh, *weigh_t;
} Wanted;

/* One pair: number `at`, of first row i and second row j, in a head. */
static void add_pair(const Pairs *p, int kind, ptrdiff_t at, ptrdiff_t i, ptrdiff_t j, int head,
                     Wanted *w)
{
    const double *v = p->x[second_of(kind)];
    const int each = p->c / heads_of(kind);

    for (int k = 0; k < K; k++)
        for (int c = head * each; c < (head + 1) * each; c++) {
            const ptrdiff_t xi = (i * K + k) * p->c + c, vj = (j * K + k) * p->c + c;

            w->gram[at] += p->x[0][xi] * v[vj];
            w->weigh[xi] += p->a[kind][at] * v[vj];
            w->weigh_t[vj] += p->a[kind][at] * p->x[0][xi];
        }
}

static void add_pairs(const Pairs *p, int kind, Wanted *w)
{
    ptrdiff_t at = 0, i0 = 0, j0 = 0;

    for (int s = 0; s < SAMPLES; s++) {
        const int n = p->n[0][s], m = p->n[second_of(kind)][s];

        for (int i = 0; i < n; i++)
            for (int head = 0; head < heads_of(kind); head++)
                for (int j = 0; j < m; j++)
                    if (kind != 1 || i != j)
                        add_pair(p, kind, at++, i0 + i, j0 + j, head, w);
        i0 += n;
        j0 += m;
    }
    assert_int_equal(at, p->n_pairs[kind]);
}

static void want(const Pairs *p, const char *what, int kind, double *values, ptrdiff_t n,
                 ptrdiff_t each)
{
    ptrdiff_t items = 0;
    const void *got = reln_plan_output(p->plan, name(what, kind), &items);

    assert_int_equal(items, n);
    assert_near(got, values, n * each, 0.0);
    free(values);
}

/* Small whole numbers: sums are exact in any order. */
static void check(const int32_t (*n)[SAMPLES], int c, RelnPlanOptions options)
{
    Pairs p;

    make(&p, n, c, RELN_F64, true, options);
    for (int k = 0; k < KINDS; k++) {
        const ptrdiff_t to = p.total[second_of(k)];
        Wanted w = {calloc((size_t)p.n_pairs[k] + 1, sizeof(double)),
                    calloc((size_t)(p.total[0] * K * c) + 1, sizeof(double)),
                    calloc((size_t)(to * K * c) + 1, sizeof(double))};

        assert_true(w.gram && w.weigh && w.weigh_t);
        add_pairs(&p, k, &w);
        want(&p, "gram", k, w.gram, p.n_pairs[k], 1);
        want(&p, "weigh", k, w.weigh, p.total[0], K * c);
        want(&p, "weigh_t", k, w.weigh_t, to, K * c);
    }
    clear(&p);
}

static void values_are_those_of_plain_loops(void **state)
{
    (void)state;
    for (int c = 2; c <= 24;
         c += 22) /* heads of 1 channel and of 12, which vectors do not divide */
        for (int reference = 0; reference < 2; reference++) {
            check(few, c, (RelnPlanOptions){.reference = reference});
            check(few, c, (RelnPlanOptions){.reference = reference, .tile = 7});
        }
    check(many, 96, (RelnPlanOptions){0});
}

/* ---- bits --------------------------------------------------------------------------------------------------------- */

static void same_outputs(const Pairs *p, const Pairs *q)
{
    static const char *const whats[] = {"gram", "weigh", "weigh_t"};

    for (int k = 0; k < KINDS; k++)
        for (int o = 0; o < 3; o++) {
            const ptrdiff_t each = o ? K * p->c : 1;
            ptrdiff_t n = 0;
            const void *a = reln_plan_output(p->plan, name(whats[o], k), &n);

            assert_memory_equal(a, reln_plan_output(q->plan, name(whats[o], k), NULL),
                                (size_t)(n * each) * sizeof(float));
        }
}

static void neither_tiles_nor_shards_change_a_bit(void **state)
{
    static const RelnPlanOptions others[] = {{.tile = 1},  {.tile = 7},
                                             {.tile = 64}, {.tile = 100000},
                                             {.shard = 1}, {.shard = 2, .tile = 50}};
    Pairs p;

    (void)state;
    make(&p, few, 10, RELN_F32, false, (RelnPlanOptions){0});
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        Pairs q;

        make(&q, few, 10, RELN_F32, false, others[i]);
        same_outputs(&p, &q);
        clear(&q);
    }
    clear(&p);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static void products_that_do_not_fit_are_refused(void **state)
{
    static const char *const words[] = {
        "pair_gram: rows are no pairs",
        "pair_gram: features of rows, but across pair rows with others",
        "pair_gram: across are pairs of rows, not of others",
        "pair_gram: 5 channels do not split into 2 heads",
        "pair_gram: (rows, 3, 2) and (others, 3, 4), wanted the same extents",
        "are not dual to each other",
        "pair_weigh: features of rows, but across pair rows with others",
        "pair_weigh: the weights are (across, 1, 2), wanted one for each pair",
        "pair_weigh: rows are no pairs",
    };

    (void)state;
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        Fixture f;
        RelnGraph *g;
        RelnDomain rows, others, across;
        RelnNode *x, *y, *s;

        fixture_init(&f, "gl:2", "gl:2", RELN_F64);
        g = f.graph;
        rows = reln_rows(g, "rows", 9);
        others = reln_rows(g, "others", 9);
        across = reln_pairs(g, "across", rows, others, true);
        x = reln_input(g, "x", rows, (RelnDims){.k = 3, .c = i == 3 ? 5 : 2}, NULL, RELN_DEFAULT);
        y = reln_input(g, "y", others, (RelnDims){.k = 3, .c = i == 4 ? 4 : 2}, NULL, RELN_DEFAULT);
        s = reln_input(g, "s", across, (RelnDims){.c = i == 7 ? 2 : 1}, NULL, RELN_DEFAULT);
        switch (i) {
        case 0:
            reln_pair_gram(g, x, y, rows);
            break;
        case 1:
            reln_pair_gram(g, x, x, across);
            break;
        case 2:
            reln_pair_gram(g, y, x, across);
            break;
        case 3:
            reln_pair_gram(g, x, x,
                           reln_pairs(g, "heads", reln_fixed(g, "parts", rows, 2), rows, true));
            break;
        case 4:
            reln_pair_gram(g, x, y, across);
            break;
        case 5:
            x = reln_input(g, "v", rows, (RelnDims){.k = 4}, f.adjoint, RELN_DEFAULT);
            y = reln_input(g, "w", others, (RelnDims){.k = 4}, f.adjoint, RELN_DEFAULT);
            reln_pair_gram(g, x, y, across);
            break;
        case 6:
            reln_pair_weigh(g, s, x, rows);
            break;
        case 7:
            reln_pair_weigh(g, s, y, rows);
            break;
        default:
            reln_pair_weigh(g, x, y, rows);
        }
        assert_int_not_equal(reln_graph_status(g), RELN_OK);
        assert_message(&f, words[i]);
        fixture_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_plain_loops),
        cmocka_unit_test(neither_tiles_nor_shards_change_a_bit),
        cmocka_unit_test(products_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
