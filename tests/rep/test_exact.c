/* test_exact.c -- tests that maps between reps of rational generators are fractions, verified in integers,
 * and the same on every processor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "rep/exact.h"
#include "support/support.h"

static const char *program;

static ptrdiff_t n_values(const RelnMaps *m)
{
    return (ptrdiff_t)m->count * m->dims[0] * m->dims[1] * m->dims[2];
}

/* The double of every entry is the rounding of its fraction. */
static void assert_fractions(const RelnMaps *m)
{
    const ptrdiff_t d = m->count ? n_values(m) / m->count : 1;

    assert_non_null(m->numerators);
    for (ptrdiff_t e = 0; e < n_values(m); e++) {
        assert_in_range(m->denominators[e / d], 1, 1 << 30);
        assert_true(m->values[e] == (double)m->numerators[e] / m->denominators[e / d]);
    }
}

/* ---- spaces of maps --------------------------------------------------------------------------------------- */

static void su4_has_14_maps_of_matrices(void **state)
{
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    const RelnMaps *m = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, "su:4", &g));
    assert_ok(ctx, reln_maps_linear(reln_rep_matrix(g), reln_rep_matrix(g), &m));
    assert_int_equal(m->count, 14);
    assert_fractions(m);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* Blocks with equal Lie generators but different discrete generators are different blocks. */
static void reflections_tell_blocks_apart_in_either_order(void **state)
{
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, "o:3", &g));
    const RelnRep *v = reln_rep_vector(g), *pseudo = reln_rep_product(v, reln_rep_sign(g));
    for (int order = 0; order < 2; order++) {
        const RelnRep *both = order ? reln_rep_sum(v, pseudo) : reln_rep_sum(pseudo, v);
        const RelnMaps *m = NULL;
        assert_ok(ctx, reln_maps_linear(both, v, &m));
        assert_int_equal(m->count, 1);
        assert_fractions(m);
        for (int e = 0; e < 18; e++)
            assert_true(m->values[e] == (e % 6 == e / 6 + (order ? 0 : 3)));
        assert_ok(ctx, reln_maps_linear(v, both, &m));
        assert_int_equal(m->count, 1);
    }
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

static const char *const names[] = {"gl:2", "gl:3", "sl:2",     "sl:3",   "sl:4",   "so:2",
                                    "so:3", "so:4", "so:5",     "so:1,2", "so:1,3", "lorentz",
                                    "o:2",  "o:3",  "o:1,3",    "sp:2",   "sp:4",   "u:2",
                                    "su:2", "su:3", "gl:2+so:3"};
enum { N_NAMES = sizeof names / sizeof *names };

/* Visits every space of maps of one named group: linear and bilinear, between vectors, matrices and the
 * adjoint rep. */
static void visit_spaces(RelnCtx *ctx, const char *name, void (*visit)(void *, const RelnMaps *),
                         void *self)
{
    RelnGroup *g = NULL;

    assert_ok(ctx, reln_group_create(ctx, name, &g));
    const RelnRep *reps[3] = {reln_rep_vector(g), reln_rep_matrix(g),
                              reln_rep_dual(reln_rep_vector(g))};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            const RelnMaps *m = NULL;
            assert_ok(ctx, reln_maps_linear(reps[a], reps[b], &m));
            visit(self, m);
            assert_ok(ctx, reln_maps_bilinear(reps[0], reps[a], reps[b], &m));
            visit(self, m);
        }
    reln_group_destroy(g);
}

static void visit_fractions(void *self, const RelnMaps *m)
{
    (void)self;
    assert_fractions(m);
}

static void maps_of_named_groups_are_fractions(void **state)
{
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int i = 0; i < N_NAMES; i++)
        visit_spaces(ctx, names[i], visit_fractions, NULL);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

/* Jordan blocks of sizes 1, 3, ..., 25 times 13: 49 + 78 of them. */
static void a_nilpotent_generator_is_solved_exactly(void **state)
{
    const double nilpotent[4] = {0, 1, 0, 0}, shear[4] = {1, 1, 0, 1};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int discrete = 0; discrete < 2; discrete++) {
        RelnGroup *g = NULL;
        const RelnMaps *m = NULL;
        assert_ok(ctx, reln_group_from_matrices(ctx, "shears", 2, !discrete, nilpotent, discrete,
                                                shear, &g));
        const RelnRep *r = reln_rep_symmetric(reln_rep_vector(g), 12);
        assert_ok(ctx, reln_maps_bilinear(r, r, r, &m));
        assert_int_equal(m->count, 127);
        assert_fractions(m);
        reln_group_destroy(g);
    }
    reln_ctx_destroy(ctx);
}

/* ---- processors ------------------------------------------------------------------------------------------- */

static void visit_hash(void *self, const RelnMaps *m)
{
    uint64_t *hash = self;

    *hash = reln_hash(*hash, m->values, (size_t)n_values(m) * sizeof *m->values);
    *hash = reln_hash(*hash, &m->count, sizeof m->count);
}

/* Adds the Killing form of an algebra, whose structure constants may be thirds. */
static void hash_killing(RelnCtx *ctx, const char *name, uint64_t *hash)
{
    RelnAlgebra *a = NULL;

    assert_ok(ctx, reln_algebra_create(ctx, name, &a));
    const size_t k = (size_t)reln_algebra_dim(a);
    *hash = reln_hash(*hash, reln_algebra_killing(a), k * k * sizeof(double));
    reln_algebra_destroy(a);
}

static uint64_t hash_of_all(void)
{
    static const char *const algebras[] = {"sl:4", "sl:5", "gl:4", "su:4", "sp:6", "so:1,3"};
    uint64_t hash = RELN_HASH_SEED;
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int i = 0; i < N_NAMES; i++)
        visit_spaces(ctx, names[i], visit_hash, &hash);
    for (size_t i = 0; i < sizeof algebras / sizeof algebras[0]; i++)
        hash_killing(ctx, algebras[i], &hash);
    reln_ctx_destroy(ctx);
    return hash;
}

/* Other kernels of OpenBLAS round differently, but the constants stay the same. */
static void every_processor_finds_the_same_bits(void **state)
{
    static const char *const cores[] = {"Prescott", "Nehalem", "Haswell", "Zen"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        unsigned long long hash = 0;
        char command[512];
        FILE *child;
        snprintf(command, sizeof command, "OPENBLAS_CORETYPE=%s '%s' --hash", cores[i], program);
        child = popen(command, "r");
        assert_non_null(child);
        assert_int_equal(fscanf(child, "%llx", &hash), 1);
        assert_int_equal(pclose(child), 0);
        assert_true(hash == hash_of_all());
    }
}

/* ---- what counts as a fraction ---------------------------------------------------------------------------- */

static void doubles_are_read_as_what_they_store(void **state)
{
    int64_t num = 0, den = 0;

    (void)state;
    assert_true(reln_read_dyadic(-2.5, &num, &den));
    assert_true(num == -5 && den == 2);
    assert_false(reln_read_dyadic(1.0 / 3, &num, &den));
    assert_true(reln_read_fraction(-5.0 / 12, &num, &den));
    assert_true(num == -5 && den == 12);
    assert_true(reln_read_fraction(nextafter(1.0 / 3, 1), &num, &den));
    assert_true(num == 1 && den == 3);
    assert_false(reln_read_fraction(sqrt(2), &num, &den));
    assert_false(reln_read_fraction(1e300, &num, &den));
    assert_false(reln_read_fraction((double)NAN, &num, &den));
    assert_false(reln_read_dyadic((double)INFINITY, &num, &den));
}

/* A third that the user gives is the nearest double, not 1/3; a third that the library computes is 1/3. */
static void a_given_third_is_not_a_third(void **state)
{
    const double turn[4] = {0, -1, 1, 0}, third[4] = {0, -1.0 / 3, 1.0 / 3, 0};
    RelnGroup *g = NULL, *sl3 = NULL;
    RelnAlgebra *a = NULL;
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_from_matrices(ctx, "turns", 2, 1, turn, 0, NULL, &g));
    const RelnRep *given = reln_rep_from_matrices(g, 2, third, NULL);
    assert_non_null(reln_rep_vector(g)->exact);
    assert_non_null(given);
    assert_null(given->exact);
    assert_null(reln_rep_dual(given)->exact);
    assert_ok(ctx, reln_group_create(ctx, "sl:3", &sl3));
    assert_ok(ctx, reln_algebra_create(ctx, "sl:3", &a));
    assert_non_null(reln_rep_adjoint(sl3, a)->exact);
    reln_algebra_destroy(a);
    reln_group_destroy(sl3);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* ---- verifying -------------------------------------------------------------------------------------------- */

/* A change by one of any numerator of any map is detected in integers. */
static void a_changed_numerator_is_noticed(void **state)
{
    RelnAlgebra *a = NULL;
    RelnGroup *g = NULL;
    RelnCtx *ctx = NULL;
    const RelnMaps *m = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, "sl:3", &g));
    assert_ok(ctx, reln_algebra_create(ctx, "sl:3", &a));
    const RelnRep *r = reln_rep_adjoint(g, a);
    assert_ok(ctx, reln_maps_bilinear(r, r, r, &m));
    assert_int_equal(m->count, 2);
    for (int t = 0; t < m->count; t++) {
        RelnEntry entries[512];
        int64_t num[512];
        int count = 0;
        bool holds = false;
        for (int e = 0; e < 512; e++)
            if (m->numerators[t * 512 + e] != 0) {
                entries[count] = (RelnEntry){e / 8 % 8, e % 8, e / 64, 0};
                num[count++] = m->numerators[t * 512 + e];
            }
        assert_ok(ctx, reln_exact_verify(r, r, r, count, entries, num, &holds));
        assert_true(holds);
        for (int e = 0; e < count; e++) {
            num[e]++;
            assert_ok(ctx, reln_exact_verify(r, r, r, count, entries, num, &holds));
            assert_false(holds);
            num[e]--;
        }
    }
    reln_algebra_destroy(a);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* The projector on the invariants of so(3) in V (x) V has 1/3 in its diagonal entries, to the bit. */
static void projectors_are_fractions(void **state)
{
    const double turn[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0};
    RelnCtx *ctx = NULL;
    RelnGroup *g = NULL;
    const RelnMaps *m = NULL;
    double p[81];

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, "so:3", &g));
    assert_ok(ctx, reln_maps_linear(reln_rep_vector(g), reln_rep_vector(g), &m));
    assert_ok(ctx, reln_maps_projector(reln_rep_vector(g), m, p));
    for (int e = 0; e < 81; e++)
        assert_true(p[e] == (e / 9 % 4 == 0 && e % 9 % 4 == 0 ? 1.0 / 3 : 0));
    reln_group_destroy(g);
    assert_ok(ctx, reln_group_from_matrices(ctx, "turns", 3, 1, turn, 0, NULL, &g));
    assert_ok(ctx, reln_maps_linear(reln_rep_vector(g), reln_rep_vector(g), &m));
    assert_int_equal(m->count, 3);
    assert_ok(ctx, reln_maps_projector(reln_rep_vector(g), m, p));
    for (int e = 0; e < 81; e++)
        assert_true(p[e] == 0 || p[e] == 1 || fabs(p[e]) == 0.5);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

/* Fractions are reconstructed from the field, and other elements are not taken for fractions. */
static void fractions_survive_the_prime(void **state)
{
    RelnRng rng = reln_rng(1, 0);

    (void)state;
    for (int i = 0; i < 2000; i++) {
        const int64_t p = (int64_t)(1e6 * reln_rng_normal(&rng)), q = 1 + i * 3;
        int64_t num = 0, den = 0;
        assert_true(reln_mod_reconstruct(reln_mod_fraction(p, q), &num, &den));
        assert_true(num * q == p * den && den > 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(su4_has_14_maps_of_matrices),
        cmocka_unit_test(reflections_tell_blocks_apart_in_either_order),
        cmocka_unit_test(maps_of_named_groups_are_fractions),
        cmocka_unit_test(a_nilpotent_generator_is_solved_exactly),
        cmocka_unit_test(every_processor_finds_the_same_bits),
        cmocka_unit_test(doubles_are_read_as_what_they_store),
        cmocka_unit_test(a_given_third_is_not_a_third),
        cmocka_unit_test(a_changed_numerator_is_noticed),
        cmocka_unit_test(projectors_are_fractions),
        cmocka_unit_test(fractions_survive_the_prime),
    };

    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--hash") == 0) {
        printf("%llx\n", (unsigned long long)hash_of_all());
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
