/* Tests the checker: it accepts equivariant maps and refuses others, with the generator that fails. */
#include "rep/fixture.h"

#include <math.h>
#include <string.h>

static bool linear_passes(const Fixture *f, const RelnRep *in, const RelnRep *out, const double *m)
{
    RelnVerdict v;

    assert_ok(f->ctx, reln_check_linear(in, out, m, &v));
    assert_int_equal(v.equivariant, v.text[0] == '\0');
    return v.equivariant;
}

static bool bilinear_passes(const Fixture *f, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                            const RelnTensor3 *t)
{
    RelnVerdict verdict;

    assert_ok(f->ctx, reln_check_bilinear(u, v, w, t, &verdict));
    assert_int_equal(verdict.equivariant, verdict.text[0] == '\0');
    return verdict.equivariant;
}

static void the_bracket_passes_and_one_wrong_constant_does_not(void **state)
{
    Fixture *f = *state;
    const RelnRep *adjoint = reln_rep_adjoint(f->gl3, f->algebra_gl3);
    const RelnTensor3 *c = reln_algebra_structure(f->algebra_gl3);
    RelnEntry entries[256];
    RelnTensor3 wrong = *c;
    RelnVerdict v;

    assert_ok(f->ctx, reln_check_bilinear(adjoint, adjoint, adjoint, c, &v));
    assert_true(v.equivariant);
    assert_true(v.residual <= 1e-15);
    assert_true(c->count <= 256);
    memcpy(entries, c->entries, (size_t)c->count * sizeof *entries);
    entries[5].value *= 1.001;
    wrong.entries = entries;
    assert_ok(f->ctx, reln_check_bilinear(adjoint, adjoint, adjoint, &wrong, &v));
    assert_false(v.equivariant);
    assert_false(v.discrete);
    assert_in_range(v.generator, 0, 8);
    /* the change is 1e-3 of an entry of size 1 in a tensor of norm sqrt(count) */
    assert_true(v.residual > 1e-3 / sqrt(c->count) / 10 && v.residual < 1e-3);
    assert_non_null(strstr(v.text, "of gl:3 fails by"));
    entries[5].value = c->entries[5].value * (1 + 1e-8);
    assert_false(bilinear_passes(f, adjoint, adjoint, adjoint, &wrong));
    entries[5].value = c->entries[5].value * (1 + 1e-12);
    assert_true(bilinear_passes(f, adjoint, adjoint, adjoint, &wrong));
}

static void transposition_passes_for_rotations_only(void **state)
{
    Fixture *f = *state;
    double m[81] = {0};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[(3 * i + j) * 9 + 3 * j + i] = 1;
    assert_false(linear_passes(f, reln_rep_matrix(f->gl3), reln_rep_matrix(f->gl3), m));
    assert_true(linear_passes(f, reln_rep_matrix(f->so3), reln_rep_matrix(f->so3), m));
    assert_true(linear_passes(f, reln_rep_matrix(f->o3), reln_rep_matrix(f->o3), m));
}

static RelnTensor3 form_tensor(const double *gram, RelnEntry *entries)
{
    int count = 0;

    for (int i = 0; i < 81; i++)
        if (gram[i] != 0)
            entries[count++] = (RelnEntry){i / 9, i % 9, 0, gram[i]};
    return (RelnTensor3){9, 9, 1, count, entries};
}

static bool form_passes(const Fixture *f, RelnGroup *g, const RelnTensor3 *t)
{
    const RelnRep *m = reln_rep_matrix(g);

    return bilinear_passes(f, m, m, reln_rep_trivial(g, 1), t);
}

static void the_completed_form_passes_and_the_frobenius_product_only_for_rotations(void **state)
{
    Fixture *f = *state;
    RelnEntry entries[81];
    double frobenius[81] = {0};
    const double *completed = NULL;
    RelnTensor3 t;

    for (int i = 0; i < 9; i++)
        frobenius[10 * i] = 1;
    t = form_tensor(frobenius, entries);
    assert_false(form_passes(f, f->gl3, &t));
    assert_true(form_passes(f, f->so3, &t));
    assert_true(form_passes(f, f->o3, &t));
    assert_ok(f->ctx, reln_algebra_gram(f->algebra_gl3, RELN_FORM_COMPLETED, &completed));
    t = form_tensor(completed, entries);
    assert_true(form_passes(f, f->gl3, &t));
    assert_true(form_passes(f, f->o3, &t));
}

static void hat_needs_the_sign_of_the_determinant_under_reflections(void **state)
{
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->o3), *a = reln_rep_adjoint(f->o3, f->algebra_so3);
    RelnVerdict verdict;

    assert_true(
        linear_passes(f, reln_rep_vector(f->so3), reln_rep_adjoint(f->so3, f->algebra_so3), one));
    assert_ok(f->ctx, reln_check_linear(v, a, one, &verdict));
    assert_false(verdict.equivariant);
    assert_true(verdict.discrete);
    assert_int_equal(verdict.generator, 0);
    assert_non_null(strstr(verdict.text, "discrete generator 0 of o:3 fails by 2"));
    assert_true(linear_passes(f, reln_rep_product(reln_rep_sign(f->o3), v), a, one));
}

static void any_map_passes_without_generators_and_the_zero_map_always(void **state)
{
    const double m[4] = {1, 2, 3, 4}, zero[9] = {0};
    Fixture *f = *state;
    RelnGroup *g = NULL;
    RelnVerdict v;

    assert_ok(f->ctx, reln_group_create(f->ctx, "none:2", &g));
    assert_ok(f->ctx, reln_check_linear(reln_rep_vector(g), reln_rep_vector(g), m, &v));
    assert_true(v.equivariant && v.generator == -1 && v.residual == 0);
    reln_group_destroy(g);
    assert_true(
        linear_passes(f, reln_rep_vector(f->gl3), reln_rep_dual(reln_rep_vector(f->gl3)), zero));
}

static void questions_without_an_answer_are_errors(void **state)
{
    const RelnEntry outside = {9, 0, 0, 1}, infinite = {0, 0, 0, (double)INFINITY};
    Fixture *f = *state;
    const RelnRep *m = reln_rep_matrix(f->gl3), *v = reln_rep_vector(f->gl3);
    RelnTensor3 t = {9, 9, 9, 1, &outside};
    RelnVerdict verdict;

    assert_int_equal(reln_check_bilinear(m, m, m, &t, &verdict), RELN_ERR_SHAPE);
    assert_int_equal(reln_check_bilinear(m, m, v, &t, &verdict), RELN_ERR_SHAPE);
    t.entries = &infinite;
    assert_int_equal(reln_check_bilinear(m, m, m, &t, &verdict), RELN_ERR_NUMERIC);
    assert_int_equal(reln_check_bilinear(m, m, reln_rep_matrix(f->so3), &t, &verdict),
                     RELN_ERR_ARG);
    assert_int_equal(reln_check_bilinear(m, NULL, m, &t, &verdict), RELN_ERR_ARG);
}

/* The group of s E_1, s E_2, s E_3 is SO(3) for every s. */
static RelnGroup *scaled_so3(const Fixture *f, double scale)
{
    double lie[27];
    RelnGroup *group = NULL;

    for (int i = 0; i < 27; i++)
        lie[i] = scale * reln_group_lie(f->so3)[i];
    assert_ok(f->ctx, reln_group_from_matrices(f->ctx, "scaled", 3, 3, lie, 0, NULL, &group));
    return group;
}

static void the_size_of_the_generators_changes_no_verdict(void **state)
{
    const double diagonal[9] = {1, 0, 0, 0, 2, 0, 0, 0, 3}, scalar[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2};
    Fixture *f = *state;

    for (double scale = 1e-60; scale < 1e61; scale *= 1e12) {
        RelnGroup *g = scaled_so3(f, scale);
        const RelnRep *v = reln_rep_vector(g);
        RelnVerdict verdict;
        double wrong[27];
        assert_ok(f->ctx, reln_check_linear(v, v, diagonal, &verdict));
        /* the largest entry of E_2 D is 3, of [E_2, D] 3 - 1 */
        assert_small(verdict.residual - 2. / 3, 1e-14);
        assert_false(verdict.equivariant);
        assert_true(linear_passes(f, v, v, scalar));
        assert_false(reln_rep_is_trivial(v));
        assert_ptr_not_equal(v, reln_rep_trivial(g, 3));
        assert_true(reln_rep_is_orthogonal(v));
        /* a rep with one generator doubled is not a rep */
        memcpy(wrong, reln_rep_lie(v, 0), sizeof wrong);
        for (int i = 0; i < 9; i++)
            wrong[i] *= 2;
        assert_null(reln_rep_from_matrices(g, 3, wrong, NULL));
        reln_group_destroy(g);
    }
}

static void the_size_of_a_map_changes_no_verdict(void **state)
{
    const double sizes[] = {4e-320, 1e-200, 1, 1e200};
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->gl3);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double m[9] = {sizes[i], 0, 0, 0, sizes[i], 0, 0, 0, sizes[i]};
        assert_true(linear_passes(f, v, v, m));
        m[0] = 0;
        assert_false(linear_passes(f, v, v, m));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bracket_passes_and_one_wrong_constant_does_not),
        cmocka_unit_test(transposition_passes_for_rotations_only),
        cmocka_unit_test(the_completed_form_passes_and_the_frobenius_product_only_for_rotations),
        cmocka_unit_test(hat_needs_the_sign_of_the_determinant_under_reflections),
        cmocka_unit_test(any_map_passes_without_generators_and_the_zero_map_always),
        cmocka_unit_test(the_size_of_the_generators_changes_no_verdict),
        cmocka_unit_test(the_size_of_a_map_changes_no_verdict),
        cmocka_unit_test(questions_without_an_answer_are_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
