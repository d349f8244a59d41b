/* Tests which spans are recognised as reductive Lie algebras, in any basis. */
#include "algebra/helpers.h"

#include "algebra/analyse.h"

static void inspect(RelnCtx *ctx, int dim, int n, const double *basis, RelnAlgebraInfo *info)
{
    assert_ok(ctx, reln_algebra_inspect(ctx, dim, n, basis, NULL, info));
}

static void assert_known(const Known *k, const RelnAlgebraInfo *info)
{
    const bool right =
        info->reductive == RELN_YES && info->closed == RELN_YES && info->independent == RELN_YES &&
        info->center_dim == k->center && info->derived_dim == k->dim - k->center &&
        info->killing_rank == info->derived_dim &&
        info->semisimple == (k->center == 0 ? RELN_YES : RELN_NO) &&
        info->center_semisimple == RELN_YES && info->form_signature[0] == k->positive &&
        info->form_signature[1] == k->negative && info->form_signature[2] == 0;

    if (!right)
        print_error("%s: centre %d, derived %d, killing rank %d, signature %d,%d,%d, condition %g: "
                    "%s\n",
                    k->name, info->center_dim, info->derived_dim, info->killing_rank,
                    info->form_signature[0], info->form_signature[1], info->form_signature[2],
                    info->condition, info->reason);
    assert_true(right);
}

static void named_algebras_are_as_textbooks_say(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        RelnAlgebra *a = make(ctx, known[i].name);
        const RelnAlgebraInfo *const info = reln_algebra_info(a);
        assert_known(&known[i], info);
        assert_int_equal(info->n, known[i].n);
        assert_int_equal(info->dim, known[i].dim);
        assert_int_equal(info->structure_nnz, known[i].nnz);
        assert_true(info->condition == 1.0);
        assert_string_equal(info->reason, info->derived_dim == 0 ? "abelian: Ad is trivial" : "");
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* The same span in a random basis of condition 1e2, 1e4, 1e6. */
static void a_bad_basis_does_not_change_the_verdict(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnAlgebraInfo info;

    (void)state;
    for (int i = 0; i < 3 * N_KNOWN; i++) {
        const Known *const k = &known[i / 3];
        RelnRng rng = reln_rng(11, (uint64_t)i);
        RelnAlgebra *a = make(ctx, k->name);
        double basis[MAX_K * MAX_NN];
        recombine(ctx, &rng, k->dim, k->n, pow(100, 1 + i % 3), reln_algebra_basis(a), basis);
        inspect(ctx, k->dim, k->n, basis, &info);
        assert_known(k, &info);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

static void a_skewed_frame_does_not_change_the_verdict(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnAlgebraInfo info;

    (void)state;
    for (int i = 0; i < 3 * N_KNOWN; i++) {
        const Known *const k = &known[i / 3];
        RelnRng rng = reln_rng(12, (uint64_t)i);
        RelnAlgebra *a = make(ctx, k->name);
        double g[MAX_NN], inverse[MAX_NN], basis[MAX_K * MAX_NN];
        random_frame(ctx, &rng, k->n, pow(10, 1 + i % 3), g, inverse);
        conjugate(k->dim, k->n, g, inverse, reln_algebra_basis(a), basis);
        inspect(ctx, k->dim, k->n, basis, &info);
        assert_known(k, &info);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* Condition 100 and 1e6 at once: Killing eigenvalues of 1e-4 still stand far above the errors. */
static void a_bad_basis_in_a_mildly_skewed_frame_is_decided(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnAlgebraInfo info;

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const Known *const k = &known[i];
        RelnRng rng = reln_rng(19, (uint64_t)i);
        RelnAlgebra *a = make(ctx, k->name);
        double g[MAX_NN], inverse[MAX_NN], skewed[MAX_K * MAX_NN], basis[MAX_K * MAX_NN];
        random_frame(ctx, &rng, k->n, 100, g, inverse);
        recombine(ctx, &rng, k->dim, k->n, 1e6, reln_algebra_basis(a), basis);
        conjugate(k->dim, k->n, g, inverse, basis, skewed);
        inspect(ctx, k->dim, k->n, skewed, &info);
        assert_known(k, &info);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* A bad basis in a bad frame may be undecided, but the answer is never wrong. */
static void a_bad_basis_in_a_skewed_frame_is_never_misjudged(void **state)
{
    RelnCtx *ctx = new_ctx();
    double g[MAX_NN], inverse[MAX_NN], plain[MAX_K * MAX_NN], skewed[MAX_K * MAX_NN];
    RelnAlgebraInfo info;

    (void)state;
    for (int i = 0; i < N_KNOWN + N_REFUSED; i++) {
        const Refused *const r = i < N_KNOWN ? NULL : &refused[i - N_KNOWN];
        const int n = r ? r->n : known[i].n, dim = r ? r->dim : known[i].dim;
        RelnRng rng = reln_rng(13, (uint64_t)i);
        memset(plain, 0, sizeof plain);
        if (r) {
            fill_cells(n, r->cells, plain);
        } else {
            RelnAlgebra *a = make(ctx, known[i].name);
            memcpy(plain, reln_algebra_basis(a), (size_t)(dim * n * n) * sizeof *plain);
            reln_algebra_destroy(a);
        }
        random_frame(ctx, &rng, n, 1e3, g, inverse);
        conjugate(dim, n, g, inverse, plain, skewed);
        recombine(ctx, &rng, dim, n, 1e6, skewed, plain);
        inspect(ctx, dim, n, plain, &info);
        assert_true(info.reductive == (r ? RELN_NO : RELN_YES) || info.reductive == RELN_UNDECIDED);
        if (info.reductive == RELN_UNDECIDED)
            assert_non_null(strstr(info.reason, "undecided: "));
    }
    end_ctx(ctx);
}

static void algebras_that_are_not_reductive_are_refused(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < N_REFUSED; i++) {
        const Refused *const r = &refused[i];
        const RelnBasisOptions options = {.name = r->name};
        double basis[MAX_K * MAX_NN] = {0};
        RelnAlgebra *a = NULL;
        RelnAlgebraInfo info;
        fill_cells(r->n, r->cells, basis);
        inspect(ctx, r->dim, r->n, basis, &info);
        assert_int_equal(info.closed, RELN_YES);
        assert_int_equal(info.reductive, RELN_NO);
        assert_int_equal(info.semisimple, RELN_NO);
        assert_int_equal(info.derived_dim, r->derived_dim);
        assert_int_equal(info.killing_rank, r->killing_rank);
        assert_int_equal(info.form_signature[0], -1);
        assert_int_equal(reln_algebra_from_basis(ctx, r->dim, r->n, basis, &options, &a),
                         RELN_ERR_ALGEBRA);
        assert_null(a);
        assert_true(strncmp(reln_ctx_error(ctx), r->name, strlen(r->name)) == 0);
        assert_non_null(strstr(reln_ctx_error(ctx), "not reductive: the Killing form is degenerate "
                                                    "on the derived ideal (rank "));
    }
    end_ctx(ctx);
}

static void they_are_refused_in_bad_bases_and_skewed_frames_too(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < 8 * N_REFUSED; i++) {
        const Refused *const r = &refused[i / 8];
        RelnRng rng = reln_rng(14, (uint64_t)i);
        double g[MAX_NN], inverse[MAX_NN], plain[MAX_K * MAX_NN] = {0}, basis[MAX_K * MAX_NN];
        RelnAlgebraInfo info;
        fill_cells(r->n, r->cells, plain);
        if (i % 2) {
            recombine(ctx, &rng, r->dim, r->n, 1e6, plain, basis);
        } else {
            random_frame(ctx, &rng, r->n, 1e3, g, inverse);
            conjugate(r->dim, r->n, g, inverse, plain, basis);
        }
        inspect(ctx, r->dim, r->n, basis, &info);
        assert_int_equal(info.reductive, RELN_NO);
        assert_int_equal(info.derived_dim, r->derived_dim);
    }
    end_ctx(ctx);
}

static void dependent_matrices_are_refused_with_their_rank(void **state)
{
    /* so(3) and the sum of two of its matrices; a matrix of zeros */
    const double four[36] = {0, 0,  0, 0, 0, -1, 0, 1, 0, 0, 0, 1, 0, 0, 0,  -1, 0, 0,
                             0, -1, 0, 1, 0, 0,  0, 0, 0, 0, 0, 1, 0, 0, -1, -1, 1, 0};
    const double zero[8] = {1, 0, 0, 1, 0, 0, 0, 0};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = NULL;
    RelnAlgebraInfo info;

    (void)state;
    inspect(ctx, 4, 3, four, &info);
    assert_int_equal(info.independent, RELN_NO);
    assert_int_equal(info.reductive, RELN_NO);
    assert_int_equal(info.center_dim, -1);
    assert_non_null(strstr(info.reason, "dependent: 4 matrices span 3 dimensions"));
    assert_int_equal(reln_algebra_from_basis(ctx, 4, 3, four, NULL, &a), RELN_ERR_ALGEBRA);
    inspect(ctx, 2, 2, zero, &info);
    assert_non_null(strstr(info.reason, "dependent: 2 matrices span 1 dimension"));
    end_ctx(ctx);
}

static void spans_that_are_not_closed_are_refused_with_the_bracket(void **state)
{
    /* e11, e12, e21 of gl(2): [e12, e21] = e11 - e22 leaves the span by e22 */
    const double basis[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(15, 0);
    RelnAlgebra *a = NULL;
    RelnAlgebraInfo info;
    double bad[12];

    (void)state;
    inspect(ctx, 3, 2, basis, &info);
    assert_int_equal(info.closed, RELN_NO);
    assert_int_equal(info.reductive, RELN_NO);
    assert_small(info.closure_residual - 1, 1e-14);
    assert_non_null(strstr(info.reason, "not closed: [E_2, E_3] leaves the span by 1 (allowed"));
    assert_int_equal(reln_algebra_from_basis(ctx, 3, 2, basis, NULL, &a), RELN_ERR_ALGEBRA);
    recombine(ctx, &rng, 3, 2, 1e6, basis, bad);
    inspect(ctx, 3, 2, bad, &info);
    assert_int_equal(info.closed, RELN_NO);
    end_ctx(ctx);
}

/* Rounded to float, a random basis is closed to 6e-8 only: refused as doubles, accepted as floats. */
static void floats_are_judged_as_floats(void **state)
{
    const RelnBasisOptions floats = {.precision = 6e-8};
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        RelnRng rng = reln_rng(16, (uint64_t)i);
        RelnAlgebra *a = make(ctx, known[i].name);
        double g[MAX_NN], inverse[MAX_NN], basis[MAX_K * MAX_NN];
        RelnAlgebraInfo info;
        random_frame(ctx, &rng, known[i].n, 2, g, inverse);
        conjugate(known[i].dim, known[i].n, g, inverse, reln_algebra_basis(a), basis);
        for (int j = 0; j < known[i].dim * known[i].n * known[i].n; j++)
            basis[j] = (double)(float)basis[j];
        assert_ok(ctx, reln_algebra_inspect(ctx, known[i].dim, known[i].n, basis, &floats, &info));
        assert_known(&known[i], &info);
        if (strcmp(known[i].name, "so:4") == 0) {
            inspect(ctx, known[i].dim, known[i].n, basis, &info);
            assert_int_equal(info.closed, RELN_NO);
        }
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* gl(2) in a basis of condition 1e5 is too coarse as floats, but not dependent: its smallest singular value, 1e-5, is
 * more than the 2 * 6e-8 that rounding can make of a zero. */
static void coarse_floats_are_undecided_and_not_called_dependent(void **state)
{
    const RelnBasisOptions floats = {.precision = 6e-8};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *gl2 = make(ctx, "gl:2");
    RelnAlgebraInfo info;
    double basis[16];

    (void)state;
    for (int i = 0; i < 8; i++) {
        RelnRng rng = reln_rng(20, (uint64_t)i);
        recombine(ctx, &rng, 4, 2, 1e5, reln_algebra_basis(gl2), basis);
        for (int j = 0; j < 16; j++)
            basis[j] = (double)(float)basis[j];
        assert_ok(ctx, reln_algebra_inspect(ctx, 4, 2, basis, &floats, &info));
        assert_int_equal(info.independent, RELN_YES);
        assert_int_equal(info.reductive, RELN_UNDECIDED);
        assert_non_null(strstr(info.reason, "undecided: a basis of condition"));
        /* rounding hides whether this basis is dependent */
        for (int j = 0; j < 4; j++)
            basis[12 + j] =
                (double)(float)(0.3 * basis[j] - 1.7 * basis[4 + j] + 0.9 * basis[8 + j]);
        assert_ok(ctx, reln_algebra_inspect(ctx, 4, 2, basis, &floats, &info));
        assert_int_equal(info.independent, RELN_UNDECIDED);
        assert_int_equal(info.reductive, RELN_UNDECIDED);
        /* numbers that are exactly dependent are dependent in any precision */
        for (int j = 0; j < 4; j++)
            basis[12 + j] = -0.5 * basis[4 + j];
        assert_ok(ctx, reln_algebra_inspect(ctx, 4, 2, basis, &floats, &info));
        assert_int_equal(info.independent, RELN_NO);
        assert_int_equal(info.reductive, RELN_NO);
    }
    reln_algebra_destroy(gl2);
    end_ctx(ctx);
}

/* sl(2) is independent in every frame. In a frame of condition number c its unit matrices are nearly
 * parallel, with singular values down to 1 / c^2. Where floats cannot hold these values, the answer must be
 * "undecided", never "dependent". */
static void a_skewed_frame_in_floats_is_never_called_dependent(void **state)
{
    const RelnBasisOptions floats = {.precision = 6e-8};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *sl2 = make(ctx, "sl:2");
    int undecided = 0;

    (void)state;
    for (int i = 0; i < 60; i++) {
        RelnRng rng = reln_rng(22, (uint64_t)i);
        double g[4], inverse[4], skewed[12], basis[12];
        RelnAlgebraInfo info;
        random_frame(ctx, &rng, 2, pow(10, i / 10), g, inverse);
        conjugate(3, 2, g, inverse, reln_algebra_basis(sl2), skewed);
        recombine(ctx, &rng, 3, 2, pow(10, i % 10), skewed, basis);
        for (int j = 0; j < 12; j++)
            basis[j] = (double)(float)basis[j];
        assert_ok(ctx, reln_algebra_inspect(ctx, 3, 2, basis, &floats, &info));
        assert_int_not_equal(info.independent, RELN_NO);
        assert_int_not_equal(info.reductive, RELN_NO);
        undecided += info.independent == RELN_UNDECIDED;
        if (info.reductive == RELN_UNDECIDED)
            assert_non_null(strstr(info.reason, "undecided: "));
    }
    assert_true(undecided > 5); /* some of the bases drawn are undecidable */
    reln_algebra_destroy(sl2);
    end_ctx(ctx);
}

/* so(3) in the frame diag(10, 1, 1/100) has the unit elements e12 - e21 / 100, e23 - 1e-4 e32, e13 - 1e-6
 * e31, whose Killing form is as small as 1e-6. In precision 1e-5 it cannot be decided whether this is 0. */
static void small_killing_eigenvalues_of_a_coarse_basis_are_not_called_zero(void **state)
{
    const double frames[3][3] = {{10, 1, 0.01}, {31.6, 1, 1 / 31.6}, {1, 1, 1e-3}};
    const RelnBasisOptions coarse = {.precision = 1e-5};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *so3 = make(ctx, "so:3");

    (void)state;
    for (int f = 0; f < 3; f++) {
        double basis[27];
        RelnAlgebraInfo info;
        for (int i = 0; i < 27; i++)
            basis[i] = reln_algebra_basis(so3)[i] * frames[f][i % 9 / 3] / frames[f][i % 3];
        assert_ok(ctx, reln_algebra_inspect(ctx, 3, 3, basis, &coarse, &info));
        assert_int_equal(info.reductive, RELN_UNDECIDED);
        assert_int_equal(info.semisimple, RELN_UNDECIDED);
    }
    reln_algebra_destroy(so3);
    end_ctx(ctx);
}

/* Forms, projectors and structure constants keep entries that are 1e-6 of others: only rounding is set to 0.
 * The basis is gl(2) as 1, H + 1e-6, E12 + 1e-6 E21, E21. */
static void small_entries_of_a_basis_are_no_noise(void **state)
{
    const double e = 1e-6, basis[16] = {1, 0, 0, 1, 1 + e, 0, 0, e - 1, 0, 1, e, 0, 0, 0, 1, 0};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = NULL;
    const double want[4] = {0, 0, 2, -4 * e};
    double killing[16], bracket[4];

    (void)state;
    assert_ok(ctx, reln_algebra_from_basis(ctx, 4, 2, basis, NULL, &a));
    for (int i = 0; i < 16; i++) { /* 4 tr XY - 2 tr X tr Y */
        const double *x = basis + i / 4 * 4, *y = basis + i % 4 * 4;
        const double trace = x[0] * y[0] + x[1] * y[2] + x[2] * y[1] + x[3] * y[3];
        killing[i] = 4 * trace - 2 * (x[0] + x[3]) * (y[0] + y[3]);
    }
    /* condition 2 at most, sums of 16 terms of size 8 */
    assert_near(reln_algebra_killing(a), killing, 16, 64 * 16 * U);
    assert_small(killing[10] - 8 * e, 16 * U); /* that of E12 + e E21 with itself is one of them */
    assert_small(reln_algebra_center_projector(a)[1] - e, 64 * 16 * U);
    assert_small(reln_algebra_center_projector(a)[0] - 1, 64 * 16 * U);
    /* [H + e, E12 + e E21] = 2 E12 - 2 e E21 = 2 (E12 + e E21) - 4 e E21 */
    reln_algebra_bracket(a, (double[4]){0, 1, 0, 0}, (double[4]){0, 0, 1, 0}, bracket);
    assert_near(bracket, want, 4, 64 * 16 * U);
    /* the derived ideal has no trace: x_0 = -e x_1 in each of its rows */
    for (int r = 0; r < 3; r++) {
        const double *row = reln_algebra_derived(a) + r * 4;
        assert_small(row[0] + e * row[1], 64 * 16 * U);
        assert_true(row[1] == 0 || row[0] != 0);
    }
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

/* In floats, the Killing eigenvalues 1e-4 of so(3) in a frame of condition number 100 are neither clearly
 * zero nor clearly non-zero. */
static void what_cannot_be_decided_is_refused_as_undecided(void **state)
{
    const RelnBasisOptions floats = {.precision = 6e-8};
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(17, 0);
    RelnAlgebra *so3 = make(ctx, "so:3"), *a = NULL;
    double g[9], inverse[9], basis[27];
    RelnAlgebraInfo info;

    (void)state;
    random_frame(ctx, &rng, 3, 100, g, inverse);
    conjugate(3, 3, g, inverse, reln_algebra_basis(so3), basis);
    assert_ok(ctx, reln_algebra_inspect(ctx, 3, 3, basis, &floats, &info));
    assert_int_equal(info.reductive, RELN_UNDECIDED);
    assert_int_equal(info.semisimple, RELN_UNDECIDED);
    assert_non_null(strstr(info.reason, "undecided: "));
    assert_int_equal(reln_algebra_from_basis(ctx, 3, 3, basis, &floats, &a), RELN_ERR_ALGEBRA);
    assert_non_null(strstr(reln_ctx_error(ctx), "basis: undecided: "));
    reln_algebra_destroy(so3);
    end_ctx(ctx);
}

/* The bracket of 1 + 1e-9 H and E12 is 2e-9 E12: larger than rounding of 0, and smaller than the smallest
 * certain value. */
static void small_brackets_are_undecided(void **state)
{
    const double basis[8] = {1 + 1e-9, 0, 0, 1 - 1e-9, 0, 1, 0, 0};
    RelnCtx *ctx = new_ctx();
    RelnAlgebraInfo info;

    (void)state;
    inspect(ctx, 2, 2, basis, &info);
    assert_int_equal(info.closed, RELN_YES);
    assert_int_equal(info.reductive, RELN_UNDECIDED);
    assert_non_null(strstr(info.reason, "undecided: a singular value of"));
    end_ctx(ctx);
}

static void wrong_arguments_get_one_line(void **state)
{
    const RelnBasisOptions coarse = {.precision = 0.5}, missing = {.n_discrete = 1};
    RelnCtx *ctx = new_ctx();
    RelnAlgebraInfo info;
    double x[8] = {1, 0, 0, 1, 0, 1, 0, 0};

    (void)state;
    assert_int_equal(reln_algebra_inspect(ctx, 0, 2, x, NULL, &info), RELN_ERR_ARG);
    assert_int_equal(reln_algebra_inspect(ctx, 1, 0, x, NULL, &info), RELN_ERR_ARG);
    assert_int_equal(reln_algebra_inspect(ctx, -1, 2, x, NULL, &info), RELN_ERR_ARG);
    assert_int_equal(reln_algebra_inspect(ctx, 1, 2, NULL, NULL, &info), RELN_ERR_ARG);
    assert_int_equal(reln_algebra_inspect(ctx, 5, 2, x, NULL, &info), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(ctx), "only 4 can be independent"));
    assert_int_equal(reln_algebra_inspect(ctx, 1, 65, x, NULL, &info), RELN_ERR_ARG);
    assert_int_equal(reln_algebra_inspect(ctx, 257, 64, x, NULL, &info), RELN_ERR_ARG);
    assert_int_equal(reln_algebra_inspect(ctx, 2, 2, x, &coarse, &info), RELN_ERR_ARG);
    assert_int_equal(reln_algebra_inspect(ctx, 2, 2, x, &missing, &info), RELN_ERR_ARG);
    x[5] = (double)NAN;
    assert_int_equal(reln_algebra_inspect(ctx, 2, 2, x, NULL, &info), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(ctx), "entry (1,2) of E_2 is "));
    x[5] = 1e200;
    assert_int_equal(reln_algebra_inspect(ctx, 2, 2, x, NULL, &info), RELN_ERR_NUMERIC);
    x[5] = 1e-150;
    assert_int_equal(reln_algebra_inspect(ctx, 2, 2, x, NULL, &info), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(ctx), "wanted from 1e-100"));
    x[5] = -(double)INFINITY;
    assert_int_equal(reln_algebra_inspect(ctx, 2, 2, x, NULL, &info), RELN_ERR_NUMERIC);
    end_ctx(ctx);
}

/* ---- the centre ------------------------------------------------------------------------------------------- */

/* {I, N} with a nilpotent N of one Jordan block, in a random frame: reductive as an algebra, with a warning. */
static void a_centre_with_jordan_blocks_is_accepted_with_a_warning(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int n = 2; n <= 6; n++)
        for (int frame = 0; frame < 3; frame++) {
            RelnRng rng = reln_rng(18, (uint64_t)(n * 3 + frame));
            double g[MAX_NN], inverse[MAX_NN], plain[2 * MAX_NN] = {0}, basis[2 * MAX_NN];
            RelnAlgebra *a = NULL;
            const double *gram = NULL;
            for (int i = 0; i < n; i++)
                plain[i * n + i] = 1;
            for (int i = 0; i + 1 < n; i++)
                plain[n * n + i * n + i + 1] = 1;
            random_frame(ctx, &rng, n, pow(10, frame), g, inverse);
            conjugate(2, n, g, inverse, plain, basis);
            assert_ok(ctx, reln_algebra_from_basis(ctx, 2, n, basis, NULL, &a));
            assert_int_equal(reln_algebra_info(a)->center_semisimple, RELN_NO);
            assert_int_equal(reln_algebra_info(a)->form_signature[0], 2);
            assert_non_null(strstr(reln_algebra_info(a)->reason, "not diagonalisable"));
            assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &gram));
            assert_small(gram[0] - n * n, 1e-10 * n * n); /* n tr(I I^T) */
            reln_algebra_destroy(a);
        }
    end_ctx(ctx);
}

/* In floats, rounding by 6e-8 splits the double eigenvalue by its root, 2e-4; the two must still count as
 * one. */
static void a_jordan_block_in_floats_is_not_diagonalisable(void **state)
{
    const RelnBasisOptions floats = {.precision = 6e-8};
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int n = 2; n <= 4; n++)
        for (int frame = 0; frame < 8; frame++) {
            RelnRng rng = reln_rng(23, (uint64_t)(n * 8 + frame));
            double g[MAX_NN], inverse[MAX_NN], plain[2 * MAX_NN] = {0}, basis[2 * MAX_NN];
            RelnAlgebraInfo info;
            for (int i = 0; i < n; i++)
                plain[i * n + i] = 1;
            for (int i = 0; i + 1 < n; i++)
                plain[n * n + i * n + i + 1] = 1;
            random_frame(ctx, &rng, n, 3, g, inverse);
            conjugate(2, n, g, inverse, plain, basis);
            for (int i = 0; i < 2 * n * n; i++)
                basis[i] = (double)(float)basis[i];
            assert_ok(ctx, reln_algebra_inspect(ctx, 2, n, basis, &floats, &info));
            assert_int_equal(info.reductive, RELN_YES);
            assert_int_equal(info.center_semisimple, RELN_NO);
        }
    end_ctx(ctx);
}

/* Diagonal matrices in a skewed frame: all eigenvalues differ, and the whole algebra is its centre. */
static void a_full_torus_is_diagonalisable(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int n = 2; n <= 8; n++) {
        RelnRng rng = reln_rng(19, (uint64_t)n);
        double g[MAX_NN], inverse[MAX_NN], plain[8 * MAX_NN] = {0}, basis[8 * MAX_NN], want[64];
        const double *gram = NULL;
        RelnAlgebra *a = NULL;
        for (int i = 0; i < n; i++)
            plain[i * n * n + i * n + i] = 1;
        random_frame(ctx, &rng, n, 100, g, inverse);
        conjugate(n, n, g, inverse, plain, basis);
        assert_ok(ctx, reln_algebra_from_basis(ctx, n, n, basis, NULL, &a));
        assert_int_equal(reln_algebra_info(a)->center_semisimple, RELN_YES);
        assert_int_equal(reln_algebra_info(a)->center_dim, n);
        assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &gram));
        reln_mat_identity(n, want);
        for (int i = 0; i < n * n; i++)
            want[i] *= n;
        assert_near(gram, want, (ptrdiff_t)n * n, 64 * n * U * 1e4 * n); /* u cond(g)^2, K = n */
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* gl(2)+so(3): 5 tr = 10 for the identity of gl(2), in every frame; the Frobenius product would be 393 in one. */
static void the_form_on_the_centre_does_not_depend_on_the_frame(void **state)
{
    const double center[7] = {1, 0, 0, 1, 0, 0, 0};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *plain = make(ctx, "gl:2+so:3");
    double worst = 0;

    (void)state;
    assert_small(reln_algebra_form(plain, center, center) - 10, 1e-13);
    for (int i = 0; i < 12; i++) {
        const double cond = pow(10, i % 3);
        RelnRng rng = reln_rng(20, (uint64_t)i);
        double g[25], inverse[25], basis[7 * 25], z[25];
        RelnAlgebra *a = NULL;
        random_frame(ctx, &rng, 5, cond, g, inverse);
        conjugate(7, 5, g, inverse, reln_algebra_basis(plain), basis);
        assert_ok(ctx, reln_algebra_from_basis(ctx, 7, 5, basis, NULL, &a));
        /* eigenvalues of the unit Z lose u cond^2, and Z itself is g diag(1,1,0,0,0) g^-1 up to cond times larger */
        assert_small(reln_algebra_form(a, center, center) - 10, 64 * 7 * U * pow(cond, 3));
        reln_algebra_hat(a, center, z);
        worst = fmax(worst, 5 * pow(reln_mat_norm(25, z), 2));
        reln_algebra_destroy(a);
    }
    assert_true(worst > 20); /* the Frobenius product depends on the frame */
    reln_algebra_destroy(plain);
    end_ctx(ctx);
}

/* Scalars and one nilpotent matrix N; gamma N gamma^-1 = -N. The averaged form must be invariant: N orthogonal to I. */
static void discrete_matrices_average_the_form_of_such_a_centre(void **state)
{
    const double basis[8] = {1, 0, 0, 1, 1, 1, 0, 1}, gamma[4] = {1, 0, 0, -1};
    const double turn[4] = {2, 0, 0, 1}, swap[4] = {0, 1, 1, 0};
    const RelnBasisOptions flip = {.n_discrete = 1, .discrete = gamma};
    const RelnBasisOptions endless = {.n_discrete = 1, .discrete = turn};
    const RelnBasisOptions wrong = {.n_discrete = 1, .discrete = swap};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = NULL;
    const double *gram = NULL;

    (void)state;
    assert_ok(ctx, reln_algebra_from_basis(ctx, 2, 2, basis, &flip, &a));
    assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &gram));
    assert_small(gram[1] - gram[0], 1e-12); /* B(I, I + N) = B(I, I) */
    /* an average of two equal forms is the form: n |I|^2 = 4, n (|I|^2 + |N|^2) = 6 */
    assert_small(gram[0] - 4, 1e-12);
    assert_small(gram[3] - 6, 1e-12);
    reln_algebra_destroy(a);
    assert_int_equal(reln_algebra_from_basis(ctx, 2, 2, basis, &endless, &a), RELN_ERR_UNSUPPORTED);
    assert_non_null(strstr(reln_ctx_error(ctx), "more than 1024 ways"));
    assert_int_equal(reln_algebra_from_basis(ctx, 2, 2, basis, &wrong, &a), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(ctx), "does not normalise"));
    end_ctx(ctx);
}

/* ---- the decomposition underneath ------------------------------------------------------------------------- */

/* Singular values 1, 1e-1, ..., 1e-15 and three zeros: right to rounding of the largest, vectors orthonormal. */
static void wide_svd_sees_small_singular_values(void **state)
{
    enum { K = 19, M = 361 };
    static double a[K * M], left[K * K], right[M * M], s[M], product[K * M];
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(21, 0);
    double ut[K * K], gram[K * K], identity[K * K];

    (void)state;
    fill_normal(&rng, (ptrdiff_t)K * M, a);
    assert_ok(ctx, reln_svd(ctx, K, M, a, false, s, left, right));
    for (int i = 0; i < K; i++)
        s[i] = i < 16 ? pow(10, -i) : 0;
    for (int i = 0; i < K; i++)
        for (int j = 0; j < M; j++)
            product[i * M + j] = s[i] * right[i * M + j];
    reln_mat_mul(K, K, M, left, product, a);
    assert_ok(ctx, reln_wide_svd(ctx, K, M, a, product, ut));
    for (int i = 0; i < K; i++)
        assert_small(product[i] - s[i], K * 20 * U);
    reln_mat_gemm(false, true, K, K, K, 1, ut, K, ut, K, 0, gram, K);
    reln_mat_identity(K, identity);
    assert_near(gram, identity, (ptrdiff_t)K * K, 100 * K * U);
    end_ctx(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_algebras_are_as_textbooks_say),
        cmocka_unit_test(a_bad_basis_does_not_change_the_verdict),
        cmocka_unit_test(a_skewed_frame_does_not_change_the_verdict),
        cmocka_unit_test(a_bad_basis_in_a_mildly_skewed_frame_is_decided),
        cmocka_unit_test(a_bad_basis_in_a_skewed_frame_is_never_misjudged),
        cmocka_unit_test(algebras_that_are_not_reductive_are_refused),
        cmocka_unit_test(they_are_refused_in_bad_bases_and_skewed_frames_too),
        cmocka_unit_test(dependent_matrices_are_refused_with_their_rank),
        cmocka_unit_test(spans_that_are_not_closed_are_refused_with_the_bracket),
        cmocka_unit_test(floats_are_judged_as_floats),
        cmocka_unit_test(coarse_floats_are_undecided_and_not_called_dependent),
        cmocka_unit_test(a_skewed_frame_in_floats_is_never_called_dependent),
        cmocka_unit_test(small_killing_eigenvalues_of_a_coarse_basis_are_not_called_zero),
        cmocka_unit_test(small_entries_of_a_basis_are_no_noise),
        cmocka_unit_test(what_cannot_be_decided_is_refused_as_undecided),
        cmocka_unit_test(small_brackets_are_undecided),
        cmocka_unit_test(wrong_arguments_get_one_line),
        cmocka_unit_test(a_centre_with_jordan_blocks_is_accepted_with_a_warning),
        cmocka_unit_test(a_jordan_block_in_floats_is_not_diagonalisable),
        cmocka_unit_test(a_full_torus_is_diagonalisable),
        cmocka_unit_test(the_form_on_the_centre_does_not_depend_on_the_frame),
        cmocka_unit_test(discrete_matrices_average_the_form_of_such_a_centre),
        cmocka_unit_test(wide_svd_sees_small_singular_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
