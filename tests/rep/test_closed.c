/* Tests the smallest algebra that contains given matrices and is closed under the group and the layers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reln/lift.h"
#include "rep/closed.h"
#include "support/support.h"
#include "tensor/linalg.h"

enum { MAX_COUNT = 40, MAX_N = 8 };

/* A Lifted holds the matrices that a lift makes of unit data. */
typedef struct Lifted {
    int n, count;
    double matrices[MAX_COUNT * MAX_N * MAX_N];
} Lifted;

static double *next(Lifted *l)
{
    return l->matrices + (ptrdiff_t)l->count++ * l->n * l->n;
}

static void embedded(Lifted *l, int n, const double *metric)
{
    double unit[MAX_N * MAX_N] = {0};
    RelnCtx *ctx = NULL;

    for (int i = 0; i < n; i++)
        unit[i * (n + 1)] = 1;
    *l = (Lifted){.n = n + 1, .count = n};
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_lift_embed(ctx, n, metric, n, unit, l->matrices));
    reln_ctx_destroy(ctx);
}

/* e_ij + sign e_ji for i < j, and e_ii where the sign is 1. */
static void mirrored(Lifted *l, int n, double sign, bool traceless)
{
    *l = (Lifted){.n = n};
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double *x;

            if (i == j && (sign < 0 || (traceless && i == n - 1)))
                continue;
            x = next(l);
            x[i * n + j] += 1;
            x[j * n + i] += i == j ? 0 : sign;
            if (i == j && traceless)
                x[n * n - 1] -= 1;
        }
}

static void single(Lifted *l, int n, const double *x)
{
    *l = (Lifted){.n = n};
    memcpy(next(l), x, (size_t)(n * n) * sizeof *x);
}

static RelnClosing closing(const Lifted *l, unsigned layers)
{
    return (RelnClosing){.count = l->count, .matrices = l->matrices, .layers = layers};
}

/* ---- what closed means, from the definition ------------------------------------------------------------------------ */

static void assert_inside(const RelnAlgebra *a, const double *z)
{
    double x[RELN_ALGEBRA_MAX_DIM];

    assert_true(reln_algebra_vee(a, z, x) < 1e-12);
}

static void assert_holds(const RelnAlgebra *a, const RelnGroup *g, const RelnClosing *of)
{
    const int n = reln_group_n(g), nn = n * n, dim = reln_algebra_dim(a);
    const double *e = reln_algebra_basis(a);
    double ab[MAX_N * MAX_N], ba[MAX_N * MAX_N], z[MAX_N * MAX_N];
    double one[MAX_N * MAX_N] = {0};
    bool trace = false;

    for (int i = 0; i < n; i++)
        one[i * (n + 1)] = 1;
    for (int i = 0; i < of->count; i++)
        assert_inside(a, of->matrices + i * nn);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            reln_mat_mul(n, n, n, e + i * nn, e + j * nn, ab);
            reln_mat_mul(n, n, n, e + j * nn, e + i * nn, ba);
            for (int k = 0; k < nn; k++)
                z[k] = ab[k] - ba[k];
            assert_inside(a, z);
            if (of->layers & RELN_CLOSED_PRODUCT)
                assert_inside(a, ab);
            if (of->layers &
                RELN_CLOSED_TRIPLE) { /* aba is enough: abc + cba follows from (a + c) b (a + c) */
                reln_mat_mul(n, n, n, ab, e + i * nn, z);
                assert_inside(a, z);
            }
            trace = trace || fabs(reln_mat_trace(n, e + i * nn)) > 1e-12;
        }
    if ((of->layers & RELN_CLOSED_TRACE) && trace)
        assert_inside(a, one);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

/* Returns the algebra; the group acts as diag(g, 1). */
static RelnAlgebra *close_it(RelnCtx *ctx, const char *symmetry, const Lifted *l, unsigned layers,
                             bool want_exact, RelnGroup **group)
{
    const RelnClosing of = closing(l, layers);
    RelnAlgebra *a = NULL;
    RelnGroup *g = NULL;
    bool exact = false;

    assert_ok(ctx, reln_group_create(ctx, symmetry, &g));
    assert_ok(ctx, reln_group_embed(g, l->n, group));
    reln_group_destroy(g);
    assert_ok(ctx, reln_algebra_closed(*group, &of, &exact, &a));
    assert_int_equal(exact, want_exact);
    assert_holds(a, *group, &of);
    assert_non_null(reln_rep_adjoint(*group, a)); /* so the group keeps it */
    return a;
}

static void expect_dim(const char *symmetry, const Lifted *l, unsigned layers, int dim)
{
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    RelnAlgebra *a;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    a = close_it(ctx, symmetry, l, layers, true, &g);
    if (reln_algebra_dim(a) != dim)
        fail_msg("%d matrices of size %d under %s and layers %u close in %d dimensions, wanted %d",
                 l->count, l->n, symmetry, layers, reln_algebra_dim(a), dim);
    for (int e = 0; e < dim * l->n * l->n; e++)
        assert_true(reln_algebra_basis(a)[e] == nearbyint(reln_algebra_basis(a)[e]));
    reln_algebra_destroy(a);
    reln_group_destroy(g);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

static void known_spans_have_their_dimensions(void **state)
{
    static const double e12[9] = {0, 1, 0, 0, 0, 0, 0, 0, 0};
    static const double cycle[9] = {0, 1, 0, 0, 0, 1, 1, 0, 0};
    static const double shape[16] = {2, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0};
    Lifted l;

    (void)state;
    mirrored(&l, 3, -1, false); /* vectors by hat */
    expect_dim("so:3", &l, RELN_CLOSED_BRACKET, 3);
    expect_dim("so:3", &l, RELN_CLOSED_TRACE, 3);
    expect_dim("so:3", &l, RELN_CLOSED_TRIPLE, 3);
    expect_dim("so:3", &l, RELN_CLOSED_PRODUCT, 9);
    embedded(&l, 3,
             NULL); /* so(4), so(3,1) with the sign of the row, as vectors that reflections keep */
    expect_dim("o:3", &l, RELN_CLOSED_BRACKET, 6);
    embedded(&l, 4, reln_metric_mostly_plus);
    expect_dim("lorentz", &l, RELN_CLOSED_BRACKET, 10);
    expect_dim("o:1,3", &l, RELN_CLOSED_BRACKET, 10);
    expect_dim("lorentz", &l, RELN_CLOSED_TRACE, 10);
    expect_dim("lorentz", &l, RELN_CLOSED_TRIPLE, 10);
    expect_dim("lorentz", &l, RELN_CLOSED_PRODUCT, 25);
    embedded(&l, 4, reln_metric_mostly_minus);
    expect_dim("lorentz", &l, RELN_CLOSED_BRACKET, 10);
    for (int n = 2; n <= 6; n++) { /* covariances, and their traceless parts */
        mirrored(&l, n, 1, false);
        expect_dim("none:1", &l, RELN_CLOSED_BRACKET, n * n);
        mirrored(&l, n, 1, true);
        expect_dim("none:1", &l, RELN_CLOSED_BRACKET, n * n - 1);
        /* sl(2) is sp(2), which triples keep */
        expect_dim("none:1", &l, RELN_CLOSED_TRIPLE | RELN_CLOSED_TRACE, n == 2 ? 3 : n * n);
    }
    single(&l, 3, e12); /* the span of the images of one matrix under the group */
    expect_dim("sl:3", &l, RELN_CLOSED_BRACKET, 8);
    expect_dim("gl:3", &l, RELN_CLOSED_PRODUCT, 9);
    single(&l, 3,
           cycle); /* a circulant matrix, its square and 1; with the trace of the third power */
    expect_dim("none:3", &l, RELN_CLOSED_BRACKET, 1);
    expect_dim("none:3", &l, RELN_CLOSED_PRODUCT, 3);
    single(&l, 4, shape); /* under so(3) a symmetric traceless matrix: sl(3) in a corner of gl(4) */
    expect_dim("so:3", &l, RELN_CLOSED_BRACKET, 8);
    expect_dim("so:3", &l, RELN_CLOSED_PRODUCT, 9);
    expect_dim("so:3", &l, RELN_CLOSED_PRODUCT | RELN_CLOSED_TRACE, 10);
}

/* ---- canonical ----------------------------------------------------------------------------------------------------- */

/* Any spanning set gives the same basis, bit by bit; a rational frame stays exact. */
static void the_basis_depends_on_the_span_alone(void **state)
{
    RelnCtx *ctx = NULL;
    RelnGroup *g[2] = {NULL, NULL};
    RelnAlgebra *a[2];
    Lifted l, mixed;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    embedded(&l, 4, reln_metric_mostly_plus);
    mixed = l;
    for (int i = 0; i < 4; i++)
        for (int e = 0; e < 25; e++)
            mixed.matrices[i * 25 + e] =
                0.75 * l.matrices[i * 25 + e] - 3 * l.matrices[(i + 1) % 4 * 25 + e];
    a[0] = close_it(ctx, "lorentz", &l, 0, true, &g[0]);
    a[1] = close_it(ctx, "lorentz", &mixed, 0, true, &g[1]);
    assert_memory_equal(reln_algebra_basis(a[0]), reln_algebra_basis(a[1]),
                        sizeof(double) * 10 * 25);
    assert_string_equal(reln_algebra_name(a[0]), "closed span of 10 in gl:5");
    for (int i = 0; i < 2; i++) {
        reln_algebra_destroy(a[i]);
        reln_group_destroy(g[i]);
    }
    reln_ctx_destroy(ctx);
}

/* Spans in frames that are not fractions are found in doubles, with the same dimensions. */
static void doubles_find_what_fractions_prove(void **state)
{
    static const unsigned layers[] = {0, RELN_CLOSED_PRODUCT, RELN_CLOSED_TRIPLE, RELN_CLOSED_TRACE,
                                      RELN_CLOSED_PRODUCT | RELN_CLOSED_TRACE};
    RelnRng rng = reln_rng(2, 0);
    RelnCtx *ctx = NULL;
    Lifted l;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int shape = 0; shape < 6; shape++)
        for (size_t y = 0; y < sizeof layers / sizeof *layers; y++) {
            static const char *const groups[] = {"so:3",   "lorentz", "none:1",
                                                 "none:1", "o:3",     "so:3"};
            double s[MAX_N * MAX_N], inverse[MAX_N * MAX_N], tmp[MAX_N * MAX_N];
            double lie[6 * MAX_N * MAX_N], discrete[2 * MAX_N * MAX_N];
            RelnGroup *g = NULL, *moved = NULL;
            RelnAlgebra *want, *got = NULL;
            RelnClosing of;
            bool exact = true;
            int n;

            if (shape == 0 || shape == 5)
                mirrored(&l, 3, shape ? 1 : -1, true);
            else if (shape == 1)
                embedded(&l, 4, reln_metric_mostly_plus);
            else if (shape == 4)
                embedded(&l, 3, NULL);
            else
                mirrored(&l, shape + 1, 1, shape == 2);
            want = close_it(ctx, groups[shape], &l, layers[y], true, &g);
            n = l.n;
            for (int i = 0; i < n * n; i++)
                s[i] = (i % (n + 1) == 0) + 0.3 * reln_rng_normal(&rng);
            assert_ok(ctx, reln_inverse(ctx, n, s, inverse));
            for (int i = 0; i < l.count; i++) {
                reln_mat_mul(n, n, n, s, l.matrices + i * n * n, tmp);
                reln_mat_mul(n, n, n, tmp, inverse, l.matrices + i * n * n);
            }
            for (int i = 0; i < reln_group_n_lie(g); i++) {
                reln_mat_mul(n, n, n, s, reln_group_lie(g) + i * n * n, tmp);
                reln_mat_mul(n, n, n, tmp, inverse, lie + i * n * n);
            }
            for (int i = 0; i < reln_group_n_discrete(g); i++) {
                reln_mat_mul(n, n, n, s, reln_group_discrete(g) + i * n * n, tmp);
                reln_mat_mul(n, n, n, tmp, inverse, discrete + i * n * n);
            }
            assert_ok(ctx, reln_group_from_matrices(ctx, "moved", n, reln_group_n_lie(g), lie,
                                                    reln_group_n_discrete(g), discrete, &moved));
            of = closing(&l, layers[y]);
            assert_ok(ctx, reln_algebra_closed(moved, &of, &exact, &got));
            assert_false(exact);
            assert_int_equal(reln_algebra_dim(got), reln_algebra_dim(want));
            assert_holds(got, moved, &of);
            reln_algebra_destroy(got);
            reln_algebra_destroy(want);
            reln_group_destroy(moved);
            reln_group_destroy(g);
        }
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

/* Fractions that are no whole numbers: rows become whole. */
static void rows_are_whole_numbers_without_a_common_factor(void **state)
{
    static const double x[4] = {1.5, 2.5, 0, 1.5};
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    RelnAlgebra *a;
    Lifted l;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    single(&l, 2, x);
    assert_ok(ctx, reln_group_create(ctx, "none:2", &g));
    {
        const RelnClosing of = closing(&l, 0);
        bool exact = false;

        assert_ok(ctx, reln_algebra_closed(g, &of, &exact, &a));
        assert_true(exact);
    }
    for (int e = 0; e < 4; e++)
        assert_true(reln_algebra_basis(a)[e] == 2 * x[e]);
    reln_algebra_destroy(a);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* ---- features ------------------------------------------------------------------------------------------------------ */

/* On the ten dimensions of four-vectors and bivectors, three maps mix vectors, bivectors and their duals; B~
 * of gl(5) is 20 p.q, and the form of the algebra itself is 6 p.q. */
static void four_vectors_close_in_vectors_and_bivectors(void **state)
{
    RelnAlgebra *a, *gl5 = NULL;
    const RelnMaps *maps = NULL;
    const RelnForms *forms = NULL;
    const RelnRep *rep;
    RelnGroup *g = NULL;
    RelnCtx *ctx = NULL;
    double gram[100], p[10], q[10], within = 0, own;
    Lifted l;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    embedded(&l, 4, reln_metric_mostly_plus);
    a = close_it(ctx, "lorentz", &l, 0, true, &g);
    rep = reln_rep_adjoint(g, a);
    assert_ok(ctx, reln_maps_linear(rep, rep, &maps));
    assert_int_equal(maps->count, 3);
    assert_ok(ctx, reln_rep_forms(rep, &forms)); /* p.q, tr FG and tr F *G */
    assert_int_equal(forms->symmetric, 3);
    assert_int_equal(forms->antisymmetric, 0);
    assert_non_null(maps->numerators); /* fractions, so a certificate is possible */
    assert_int_equal(reln_algebra_info(a)->semisimple, RELN_YES);
    assert_ok(ctx, reln_algebra_create(ctx, "gl:5", &gl5));
    assert_ok(ctx, reln_algebra_gram_within(a, gl5, RELN_FORM_COMPLETED, gram));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const double pq = i == j ? reln_metric_mostly_plus[i] : 0;

            reln_algebra_vee(a, l.matrices + i * 25, p);
            reln_algebra_vee(a, l.matrices + j * 25, q);
            own = reln_algebra_form(a, p, q);
            within = 0;
            for (int e = 0; e < 100; e++)
                within += gram[e] * p[e / 10] * q[e % 10];
            assert_true(fabs(within - 20 * pq) < 1e-12);
            assert_true(fabs(own - 6 * pq) < 1e-12);
        }
    assert_int_equal(reln_algebra_gram_within(gl5, a, RELN_FORM_COMPLETED, gram), RELN_ERR_ALGEBRA);
    assert_non_null(strstr(reln_ctx_error(ctx), "lies outside of closed span of 10 in gl:5"));
    reln_algebra_destroy(gl5);
    reln_algebra_destroy(a);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* ---- refusals ------------------------------------------------------------------------------------------------------ */

static void expect_refusal(const char *group, const Lifted *l, unsigned layers, RelnStatus status,
                           const char *words)
{
    const RelnClosing of = closing(l, layers);
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    RelnAlgebra *a = NULL;
    bool exact = true;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, group, &g));
    assert_int_equal(reln_algebra_closed(g, &of, &exact, &a), status);
    assert_null(a);
    assert_false(exact);
    if (!strstr(reln_ctx_error(ctx), words))
        fail_msg("\"%s\" has no \"%s\"", reln_ctx_error(ctx), words);
    reln_group_destroy(g);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

static void what_closes_in_no_algebra_is_refused(void **state)
{
    Lifted l = {.n = 2};

    (void)state;
    l.count = 1; /* zeros */
    expect_refusal("none:2", &l, 0, RELN_ERR_ARG, "all of them 0");
    l.count = 0;
    expect_refusal("none:2", &l, 0, RELN_ERR_ARG, "holds 0 matrices");
    l.count = 1;
    l.matrices[0] = 1;
    expect_refusal("none:2", &l, 64, RELN_ERR_ARG, "closed under layers 0x40");
    l.matrices[1] = (double)NAN;
    expect_refusal("none:2", &l, 0, RELN_ERR_NUMERIC, "matrix 0 holds nan");
    /* diag(1, 0) and e_12: upper triangular, solvable */
    l = (Lifted){.n = 2, .count = 2, .matrices = {1, 0, 0, 0, 0, 1, 0, 0}};
    expect_refusal("none:2", &l, 0, RELN_ERR_ALGEBRA, "reductive");
    /* e_12 and e_12 + 1e-9 e_21 / 3, which is not a fraction: the difference could be rounding */
    l = (Lifted){.n = 2, .count = 2, .matrices = {0, 1, 0, 0, 0, 1, 1e-9 / 3, 0}};
    expect_refusal("none:2", &l, 0, RELN_ERR_NUMERIC, "neither rounding");
}

static void spans_larger_than_an_algebra_are_refused(void **state)
{
    enum { N = 17 };
    double *x = calloc((size_t)(2 * N * N), sizeof *x);
    RelnClosing of = {.count = 2, .matrices = x};
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    RelnAlgebra *a = NULL;

    (void)state;
    assert_non_null(x);
    for (int i = 0; i < N; i++) { /* diag(1, 2, ...) and all ones: they generate gl(17) */
        x[i * (N + 1)] = 1 + i;
        for (int j = 0; j < N; j++)
            x[N * N + i * N + j] = 1;
    }
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, "none:17", &g));
    assert_int_equal(reln_algebra_closed(g, &of, NULL, &a), RELN_ERR_UNSUPPORTED);
    assert_non_null(strstr(reln_ctx_error(ctx), "more than 256 dimensions"));
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
    free(x);
}

static RelnStatus closed_in(RelnCtx *ctx)
{
    static const double e12[2][4] = {{0, 1, 0, 0}, {0, 0.3, 0, 0}};
    RelnGroup *g = NULL;
    RelnAlgebra *a = NULL;
    RelnStatus status = reln_group_create(ctx, "sl:2", &g);

    for (int i = 0; i < 2 && status == RELN_OK; i++) {
        status = reln_algebra_closed(g, &(RelnClosing){.count = 1, .matrices = e12[i]}, NULL, &a);
        reln_algebra_destroy(a);
        a = NULL;
    }
    reln_group_destroy(g);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(closed_in) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_spans_have_their_dimensions),
        cmocka_unit_test(the_basis_depends_on_the_span_alone),
        cmocka_unit_test(doubles_find_what_fractions_prove),
        cmocka_unit_test(rows_are_whole_numbers_without_a_common_factor),
        cmocka_unit_test(four_vectors_close_in_vectors_and_bivectors),
        cmocka_unit_test(what_closes_in_no_algebra_is_refused),
        cmocka_unit_test(spans_larger_than_an_algebra_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("rep/closed", tests, NULL, NULL);
}
