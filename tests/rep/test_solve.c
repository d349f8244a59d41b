/* Tests the solver: numbers of maps that are known from theory, canonical bases, averages over finite groups. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "tensor/linalg.h"

typedef struct Case {
    const char *group;
    int embed; /* 0: the group itself */
    const char *algebra;
    int linear, bilinear; /* adjoint -> adjoint, adjoint x adjoint -> adjoint; -1: not compared */
} Case;

static const Case cases[] = {
    {"gl:2", 0, "gl:2", 2, 5},       {"gl:3", 0, "gl:3", 2, 6},
    {"gl:4", 0, "gl:4", 2, 6},       {"gl:5", 0, "gl:5", 2, 6},
    {"so:3", 0, "gl:3", 3, 15},      {"o:3", 0, "gl:3", 3, -1},
    {"lorentz", 5, "gl:5", 11, 101}, {"o:1,3", 5, "gl:5", 10, 76},
    {"o:3", 4, "gl:4", 10, -1},      {"so:3", 4, "gl:4", 14, -1},
    {"sp:4", 0, "gl:4", 3, -1},      {"sl:3", 0, "sl:3", 1, 2},
    {"sl:4", 0, "sl:4", 1, 2},       {"so:3", 0, "so:3", 1, 1},
    {"so:5", 0, "so:5", 1, 1},       {"su:3", 0, "su:3", 1, 2},
    {"sp:4", 0, "sp:4", 1, 1},       {"so:4", 0, "so:4", 2, 2},
    {"o:4", 0, "so:4", 1, 1},        {"so:1,3", 0, "so:1,3", 2, 2},
    {"lorentz", 0, "so:1,3", 2, 2},  {"o:1,3", 0, "so:1,3", 1, 1},
    {"u:2", 0, "u:2", 2, -1},        {"gl:2+so:3", 0, "gl:2+so:3", 3, -1},
};

static RelnGroup *make_group(RelnCtx *ctx, const Case *c)
{
    RelnGroup *g = NULL, *embedded = NULL;

    assert_ok(ctx, reln_group_create(ctx, c->group, &g));
    if (!c->embed)
        return g;
    assert_ok(ctx, reln_group_embed(g, c->embed, &embedded));
    reln_group_destroy(g);
    return embedded;
}

static void maps_are_as_many_as_theory_says(void **state)
{
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RelnGroup *g = make_group(ctx, &cases[i]);
        RelnAlgebra *a = NULL;
        const RelnMaps *maps = NULL;
        assert_ok(ctx, reln_algebra_create(ctx, cases[i].algebra, &a));
        const RelnRep *r = reln_rep_adjoint(g, a);
        assert_non_null(r);
        assert_ok(ctx, reln_maps_linear(r, r, &maps));
        assert_int_equal(maps->count, cases[i].linear);
        if (cases[i].bilinear >= 0) {
            assert_ok(ctx, reln_maps_bilinear(r, r, r, &maps));
            assert_int_equal(maps->count, cases[i].bilinear);
        }
        reln_algebra_destroy(a);
        reln_group_destroy(g);
    }
    reln_ctx_destroy(ctx);
}

/* adjoint -> invariant is the trace, invariant -> adjoint the identity matrix. */
static void trace_and_identity_are_the_only_maps_to_and_from_invariants(void **state)
{
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int n = 2; n <= 5; n++) {
        const Case c = {n == 2 ? "gl:2" : n == 3 ? "gl:3" : n == 4 ? "gl:4" : "gl:5", 0, "", 0, 0};
        RelnGroup *g = make_group(ctx, &c);
        const RelnRep *r = reln_rep_matrix(g), *one = reln_rep_trivial(g, 1);
        const RelnMaps *maps[2] = {NULL, NULL};
        assert_ok(ctx, reln_maps_linear(r, one, &maps[0]));
        assert_ok(ctx, reln_maps_linear(one, r, &maps[1]));
        for (int m = 0; m < 2; m++) {
            assert_int_equal(maps[m]->count, 1);
            for (int i = 0; i < n * n; i++)
                assert_true(maps[m]->values[i] == (i % (n + 1) == 0));
        }
        reln_group_destroy(g);
    }
    reln_ctx_destroy(ctx);
}

static ptrdiff_t n_values(const RelnMaps *m)
{
    return (ptrdiff_t)m->count * m->dims[0] * m->dims[1] * m->dims[2];
}

/* Leading ones, zeros in their columns, leading columns ascending. */
static void assert_echelon(const RelnMaps *m)
{
    const ptrdiff_t d = m->count ? n_values(m) / m->count : 0;
    ptrdiff_t last = -1;

    for (ptrdiff_t t = 0; t < m->count; t++) {
        ptrdiff_t lead = 0;
        while (lead < d && m->values[t * d + lead] == 0)
            lead++;
        assert_true(lead > last && lead < d);
        for (ptrdiff_t s = 0; s < m->count; s++)
            assert_true(m->values[s * d + lead] == (s == t));
        last = lead;
    }
}

static void solve_case(const Case *c, RelnCtx **ctx, RelnGroup **g, const RelnMaps **maps)
{
    assert_int_equal(reln_ctx_create(NULL, ctx), RELN_OK);
    *g = make_group(*ctx, c);
    const RelnRep *r = reln_rep_matrix(*g);
    assert_ok(*ctx, reln_maps_bilinear(r, r, r, maps));
}

static void two_solves_give_the_same_bits_in_echelon_form(void **state)
{
    const Case again[] = {{"gl:3", 0, "", 0, 6},
                          {"so:3", 0, "", 0, 15},
                          {"sp:4", 0, "", 0, 14},
                          {"gl:4", 0, "", 0, 6},
                          {"lorentz", 5, "", 0, 101}};

    (void)state;
    for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
        RelnCtx *ctx[2];
        RelnGroup *g[2];
        const RelnMaps *m[2];
        for (int k = 0; k < 2; k++)
            solve_case(&again[i], &ctx[k], &g[k], &m[k]);
        assert_int_equal(m[0]->count, again[i].bilinear);
        assert_int_equal(m[1]->count, again[i].bilinear);
        assert_memory_equal(m[0]->values, m[1]->values,
                            (size_t)n_values(m[0]) * sizeof *m[0]->values);
        assert_echelon(m[0]);
        for (int k = 0; k < 2; k++) {
            reln_group_destroy(g[k]);
            reln_ctx_destroy(ctx[k]);
        }
    }
}

/* XY and YX lie in the space that the solver finds: in echelon form, the entries at the pivots determine a
 * member. */
static void the_matrix_product_is_among_the_maps(void **state)
{
    const Case c = {"gl:3", 0, "", 0, 6};
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    const RelnMaps *m = NULL;
    double product[729] = {0};

    (void)state;
    solve_case(&c, &ctx, &g, &m);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) /* (XY)_ij = sum_k X_ik Y_kj */
                product[((3 * i + j) * 9 + 3 * i + k) * 9 + 3 * k + j] = 1;
    for (int t = 0; t < m->count; t++) {
        int lead = 0;
        while (m->values[t * 729 + lead] == 0)
            lead++;
        const double f = product[lead];
        for (int e = 0; e < 729; e++)
            product[e] -= f * m->values[t * 729 + e];
    }
    assert_small(reln_mat_norm(729, product), 1e-13);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

static void maps_are_solved_once_and_given_as_sparse_tensors(void **state)
{
    const Case c = {"so:3", 0, "", 0, 15};
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    const RelnMaps *m = NULL, *again = NULL;

    (void)state;
    solve_case(&c, &ctx, &g, &m);
    const RelnRep *r = reln_rep_matrix(g);
    assert_ok(ctx, reln_maps_bilinear(r, r, r, &again));
    assert_ptr_equal(m, again);
    for (int t = 0; t < m->count; t++) {
        const RelnTensor3 *x = reln_maps_tensor(r, m, t);
        RelnVerdict verdict;
        assert_non_null(x);
        assert_ptr_equal(reln_maps_tensor(r, m, t), x);
        assert_ok(ctx, reln_check_bilinear(r, r, r, x, &verdict));
        assert_true(verdict.equivariant);
        for (int e = 0; e < x->count; e++) {
            const RelnEntry *y = &x->entries[e];
            assert_true(m->values[((t * 9 + y->k) * 9 + y->i) * 9 + y->j] == y->value);
        }
    }
    assert_null(reln_maps_tensor(r, m, 15));
    assert_null(reln_maps_tensor(r, NULL, 0));
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* Conjugates every generator by a g that is far from orthogonal, so that the span is neither closed under
 * transposition nor sparse. */
static RelnGroup *conjugated(RelnCtx *ctx, const Case *c, double cond)
{
    RelnGroup *g = make_group(ctx, c), *gl = NULL, *out = NULL;
    const int n = reln_group_n(g), n_lie = reln_group_n_lie(g),
              n_discrete = reln_group_n_discrete(g);
    char name[8] = {'g', 'l', ':', (char)('0' + n), 0};
    double matrices[1024], tmp[64];
    RelnRng rng = reln_rng(21, 0);
    RelnElement *e = NULL;

    assert_ok(ctx, reln_group_create(ctx, name, &gl));
    assert_ok(ctx, reln_group_random(gl, &rng, cond, &e));
    for (int i = 0; i < n_lie + n_discrete; i++) {
        const double *x = i < n_lie ? reln_group_lie(g) + i * n * n
                                    : reln_group_discrete(g) + (i - n_lie) * n * n;
        reln_mat_mul(n, n, n, reln_element_matrix(e), x, tmp);
        reln_mat_mul(n, n, n, tmp, reln_element_inverse(e), matrices + i * n * n);
    }
    assert_ok(ctx, reln_group_from_matrices(ctx, "conjugated", n, n_lie, matrices, n_discrete,
                                            matrices + n_lie * n * n, &out));
    reln_element_destroy(e);
    reln_group_destroy(gl);
    reln_group_destroy(g);
    return out;
}

static void a_change_of_frame_does_not_change_the_number_of_maps(void **state)
{
    const Case some[] = {{"so:3", 0, "", 3, 15},
                         {"o:3", 0, "", 3, 15},
                         {"sp:4", 0, "", 3, 14},
                         {"so:2", 3, "", 19, -1}};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        RelnGroup *g = conjugated(ctx, &some[i], 5);
        const RelnRep *r = reln_rep_matrix(g);
        const RelnMaps *m = NULL;
        assert_ok(ctx, reln_maps_linear(r, r, &m));
        assert_int_equal(m->count, some[i].linear);
        assert_echelon(m);
        if (some[i].bilinear >= 0) {
            assert_ok(ctx, reln_maps_bilinear(r, r, r, &m));
            assert_int_equal(m->count, some[i].bilinear);
        }
        reln_group_destroy(g);
    }
    reln_ctx_destroy(ctx);
}

/* The matrices that commute with a nilpotent N, or with 1 + N, are a + b N; N cannot be diagonalised. Entries
 * that are not fractions make the solver use floating point. */
static void generators_that_cannot_be_diagonalised_are_solved_directly(void **state)
{
    const double nilpotent[4] = {0, sqrt(2), 0, 0}, shear[4] = {1, sqrt(2), 0, 1};
    const double wanted[8] = {1, 0, 0, 1, 0, 1, 0, 0};
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    const RelnMaps *m = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int discrete = 0; discrete < 2; discrete++) {
        assert_ok(ctx, reln_group_from_matrices(ctx, "shears", 2, !discrete, nilpotent, discrete,
                                                shear, &g));
        assert_ok(ctx, reln_maps_linear(reln_rep_vector(g), reln_rep_vector(g), &m));
        assert_int_equal(m->count, 2);
        assert_near(m->values, wanted, 8, 0);
        const RelnRep *r = reln_rep_symmetric(reln_rep_vector(g), 12); /* 13^3 unknowns */
        assert_int_equal(reln_maps_bilinear(r, r, r, &m), RELN_ERR_UNSUPPORTED);
        assert_null(m);
        reln_group_destroy(g);
    }
    reln_ctx_destroy(ctx);
}

static void without_generators_everything_is_allowed_while_it_fits(void **state)
{
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    const RelnMaps *m = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, "none:5", &g));
    assert_ok(ctx, reln_maps_linear(reln_rep_vector(g), reln_rep_vector(g), &m));
    assert_int_equal(m->count, 25);
    for (int i = 0; i < 625; i++)
        assert_true(m->values[i] == (i % 26 == 0));
    const RelnRep *r = reln_rep_matrix(g);
    assert_int_equal(reln_maps_bilinear(r, r, r, &m), RELN_ERR_UNSUPPORTED);
    reln_group_destroy(g);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

/* ---- symmetries of a pendulum: rotations and mirrors that keep z ------------------------------------------ */

enum { SO2, O2, D6, N_GROUPS };

static RelnGroup *pendulum_group(RelnCtx *ctx, int which)
{
    const double rotation[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0};
    const double mirror[9] = {-1, 0, 0, 0, 1, 0, 0, 0, 1}, s = sqrt(0.75);
    const double d6[18] = {0.5, -s, 0, s, 0.5, 0, 0, 0, 1, -1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnGroup *g = NULL;

    if (which == D6)
        assert_ok(ctx, reln_group_from_matrices(ctx, "D6", 3, 0, NULL, 2, d6, &g));
    else
        assert_ok(ctx, reln_group_from_matrices(ctx, which == O2 ? "O2" : "SO2", 3, 1, rotation,
                                                which == O2, mirror, &g));
    return g;
}

/* V (x) ... (x) V, k times */
static const RelnRep *power_of(RelnGroup *g, int k)
{
    const RelnRep *r = reln_rep_trivial(g, 1);

    for (int i = 0; i < k; i++)
        r = reln_rep_product(r, reln_rep_vector(g));
    return r;
}

static void invariants_of_pendulum_symmetries_have_the_known_numbers(void **state)
{
    const int wanted[N_GROUPS][7] = {
        {1, 1, 3, 7, 19, 51, 141}, {1, 1, 2, 4, 10, 26, 71}, {1, 1, 2, 4, 10, 26, 72}};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int which = 0; which < N_GROUPS; which++) {
        RelnGroup *g = pendulum_group(ctx, which);
        for (int k = 0; k <= 6; k++) {
            const RelnMaps *m = NULL;
            assert_ok(ctx, reln_maps_linear(reln_rep_trivial(g, 1), power_of(g, k), &m));
            assert_int_equal(m->count, wanted[which][k]);
        }
        /* the same tensors as maps V x V -> V */
        const RelnMaps *m = NULL;
        const RelnRep *v = reln_rep_vector(g);
        assert_ok(ctx, reln_maps_bilinear(v, v, v, &m));
        assert_int_equal(m->count, wanted[which][3]);
        reln_group_destroy(g);
    }
    reln_ctx_destroy(ctx);
}

static void the_average_over_a_finite_group_projects_on_its_invariants(void **state)
{
    static double p[243 * 243], square[243 * 243];
    const int wanted[] = {1, 1, 2, 4, 10, 26};
    RelnCtx *ctx = NULL;
    int order = 0;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    RelnGroup *g = pendulum_group(ctx, D6);
    for (int k = 0, dim = 1; k <= 5; k++, dim *= 3) {
        assert_ok(ctx, reln_rep_projector(power_of(g, k), p, &order));
        assert_int_equal(order, k == 0 ? 1 : 12);
        /* sums of dim products of numbers up to 1, averaged */
        assert_small(reln_mat_trace(dim, p) - wanted[k], 1e-15 * dim);
        reln_mat_mul(dim, dim, dim, p, p, square);
        assert_near(square, p, dim * dim, 1e-15 * dim);
    }
    reln_group_destroy(g);
    g = pendulum_group(ctx, SO2);
    assert_int_equal(reln_rep_projector(reln_rep_vector(g), p, &order), RELN_ERR_UNSUPPORTED);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

static void an_infinite_discrete_group_has_no_average(void **state)
{
    const double turn[4] = {cos(1), -sin(1), sin(1), cos(1)};
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    const RelnMaps *m = NULL;
    double p[4];
    int order = 0;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_from_matrices(ctx, "turns", 2, 0, NULL, 1, turn, &g));
    assert_int_equal(reln_rep_projector(reln_rep_vector(g), p, &order), RELN_ERR_UNSUPPORTED);
    assert_non_null(strstr(reln_ctx_error(ctx), "more than 4096 elements"));
    /* but its maps are found: a + b J, as for all rotations */
    assert_ok(ctx, reln_maps_linear(reln_rep_vector(g), reln_rep_vector(g), &m));
    assert_int_equal(m->count, 2);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* A sum of many small reps, as networks use them, is solved block by block. */
static void large_sums_of_small_reps_are_quick(void **state)
{
    RelnCtx *ctx = NULL;
    const RelnMaps *m = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    RelnGroup *g = pendulum_group(ctx, O2);
    const RelnRep *v = reln_rep_vector(g), *v2 = reln_rep_product(v, v);
    const RelnRep *r = reln_rep_sum(reln_rep_trivial(g, 5), v);
    for (int i = 0; i < 2; i++)
        r = reln_rep_sum(reln_rep_sum(r, v), v2);
    /* 5 scalars, 3 V, 2 V^2: sum over pairs of the invariants of V^(a+b): 1 1 2 4 10 */
    assert_ok(ctx, reln_maps_linear(r, r, &m));
    assert_int_equal(m->count, 25 + 2 * 15 * 1 + (9 + 2 * 10) * 2 + 2 * 6 * 4 + 4 * 10);
    assert_echelon(m);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static RelnStatus solve_in(RelnCtx *ctx, RelnGroup *g)
{
    const RelnRep *v = reln_rep_vector(g);
    const RelnMaps *m = NULL;
    double p[4];
    int order = 0;
    RelnStatus status = v ? reln_maps_bilinear(v, v, v, &m) : RELN_ERR_NOMEM;

    if (status == RELN_OK)
        status = reln_maps_linear(v, v, &m);
    if (status == RELN_OK && reln_group_n_lie(g) == 0)
        status = reln_rep_projector(v, p, &order);
    if (status == RELN_OK && !reln_maps_tensor(v, m, 0))
        status = RELN_ERR_NOMEM;
    if (status != RELN_OK)
        assert_non_null(strstr(reln_ctx_error(ctx), "out of memory"));
    return status;
}

static RelnStatus solve_all_ways(RelnCtx *ctx)
{
    const double nilpotent[4] = {0, 1, 0, 0}, swap[4] = {0, 1, 1, 0};
    const double turn[4] = {0, -1, 1, 0};
    RelnStatus status = RELN_OK;

    for (int way = 0; way < 3 && status == RELN_OK; way++) {
        RelnGroup *g = NULL;
        status = way == 0   ? reln_group_from_matrices(ctx, "o2", 2, 1, turn, 1, swap, &g)
                 : way == 1 ? reln_group_from_matrices(ctx, "c2", 2, 0, NULL, 1, swap, &g)
                            : reln_group_from_matrices(ctx, "n", 2, 1, nilpotent, 0, NULL, &g);
        if (status == RELN_OK)
            status = solve_in(ctx, g);
        reln_group_destroy(g);
    }
    return status;
}

static void every_failing_allocation_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(solve_all_ways) > 30);
}

/* Mixes the generators of su(4) at random: whichever element the solver chooses as generic, even with nearly
 * equal weights, the map is the identity up to rounding. */
static void unlucky_generic_elements_cost_no_digits(void **state)
{
    enum { N = 8, DIM = 15, DRAWS = 40 };
    RelnRng rng = reln_rng(4, 0);
    RelnAlgebra *a = NULL;
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_algebra_create(ctx, "su:4", &a));
    for (int draw = 0; draw < DRAWS; draw++) {
        double mixing[DIM * DIM], lie[DIM * N * N], identity[DIM * DIM];
        const RelnMaps *maps = NULL;
        RelnGroup *g = NULL;

        fill_normal(&rng, (ptrdiff_t)DIM * DIM, mixing);
        reln_mat_mul(DIM, DIM, (ptrdiff_t)N * N, mixing, reln_algebra_basis(a), lie);
        assert_ok(ctx, reln_group_from_matrices(ctx, "mixed", N, DIM, lie, 0, NULL, &g));
        const RelnRep *r = reln_rep_adjoint(g, a);
        assert_non_null(r);
        assert_ok(ctx, reln_maps_linear(r, r, &maps));
        assert_int_equal(maps->count, 1);
        reln_mat_identity(DIM, identity);
        assert_near(maps->values, identity, (ptrdiff_t)DIM * DIM, 1e-13);
        reln_group_destroy(g);
    }
    reln_algebra_destroy(a);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_as_many_as_theory_says),
        cmocka_unit_test(trace_and_identity_are_the_only_maps_to_and_from_invariants),
        cmocka_unit_test(two_solves_give_the_same_bits_in_echelon_form),
        cmocka_unit_test(the_matrix_product_is_among_the_maps),
        cmocka_unit_test(maps_are_solved_once_and_given_as_sparse_tensors),
        cmocka_unit_test(a_change_of_frame_does_not_change_the_number_of_maps),
        cmocka_unit_test(generators_that_cannot_be_diagonalised_are_solved_directly),
        cmocka_unit_test(without_generators_everything_is_allowed_while_it_fits),
        cmocka_unit_test(invariants_of_pendulum_symmetries_have_the_known_numbers),
        cmocka_unit_test(the_average_over_a_finite_group_projects_on_its_invariants),
        cmocka_unit_test(an_infinite_discrete_group_has_no_average),
        cmocka_unit_test(large_sums_of_small_reps_are_quick),
        cmocka_unit_test(unlucky_generic_elements_cost_no_digits),
        cmocka_unit_test(every_failing_allocation_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
