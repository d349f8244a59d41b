/* Tests that EMLP commutes with its group, for tensors of several ranks, and that a network without symmetry
 * does not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"

enum { DRAWS = 40, P = 2, C = 3, MAX_K = 16, MAX_OUT = 4 };

/* The error of a sum of a few hundred terms, in five layers of degree two, at condition 1; each g enters a tensor of rank 2
 * twice and an output quadratic in them twice again, so errors grow with the fourth power of the condition at most. */
static double allowed(double cond)
{
    return 1e-12 * cond * cond * cond * cond;
}

typedef struct Lab {
    Fixture f;
    const RelnRep *rep; /* of the input */
    RelnNet net;
    RelnNode *x;
    RelnPlan *plan;
    int n_out;
    RelnNode *out[MAX_OUT];
    double *values, *moved; /* (DRAWS, P, K, C) */
    RelnElement *g[DRAWS];
    double cond[DRAWS];
} Lab;

static const char *const names[MAX_OUT] = {"y0", "y1", "y2", "y3"};

static ptrdiff_t item(const RelnNode *node)
{
    const RelnDims d = reln_node_dims(node);

    return (ptrdiff_t)d.p * d.q * d.r * d.k * d.c;
}

static void lab_init(Lab *l, const char *group, RelnDtype dtype)
{
    memset(l, 0, sizeof *l);
    fixture_init(&l->f, strcmp(group, "o:3") == 0 ? "so:3" : group, group, dtype);
    l->rep = reln_rep_vector(l->f.group);
    l->net = (RelnNet){.graph = l->f.graph};
}

static void lab_input(Lab *l, const RelnRep *rep)
{
    l->x = reln_input(l->f.graph, "x", RELN_SAMPLES,
                      (RelnDims){.p = P, .k = reln_rep_dim(rep), .c = C}, rep, RELN_DEFAULT);
    assert_non_null(l->x);
}

static void lab_output(Lab *l, RelnNode *y)
{
    assert_ok(l->f.ctx, reln_graph_status(l->f.graph));
    assert_true(l->n_out < MAX_OUT);
    reln_output(l->f.graph, names[l->n_out], y);
    l->out[l->n_out++] = y;
}

/* y = rho(g) x of (points, K, channels) */
static void act(const Lab *l, const RelnRep *rep, const RelnElement *g, int points, int channels,
                const double *x, double *y)
{
    const int k = reln_rep_dim(rep);
    double rho[MAX_K * MAX_K];

    assert_true(k <= MAX_K);
    assert_ok(l->f.ctx, reln_rep_act(rep, g, rho));
    for (int p = 0; p < points; p++)
        for (int i = 0; i < k; i++)
            for (int c = 0; c < channels; c++) {
                double sum = 0;

                for (int j = 0; j < k; j++)
                    sum += rho[i * k + j] * x[(p * k + j) * channels + c];
                y[(p * k + i) * channels + c] = sum;
            }
}

/* Draws random states, and moves each of them by a different element. */
static void lab_draw(Lab *l, double most)
{
    const int k = reln_rep_dim(l->rep);
    const ptrdiff_t each = (ptrdiff_t)P * k * C;
    RelnRng rng = reln_rng(5, 0);

    l->values = calloc((size_t)(DRAWS * each), sizeof *l->values);
    l->moved = calloc((size_t)(DRAWS * each), sizeof *l->moved);
    assert_non_null(l->values);
    assert_non_null(l->moved);
    fill_normal(&rng, DRAWS * each, l->values);
    for (int d = 0; d < DRAWS; d++) {
        assert_ok(l->f.ctx, reln_group_random(l->f.group, &rng, most, &l->g[d]));
        l->cond[d] = reln_element_cond(l->g[d]);
        act(l, l->rep, l->g[d], P, C, l->values + d * each, l->moved + d * each);
    }
}

static double *lab_run(Lab *l, const double *x, int out)
{
    const ptrdiff_t each = item(l->out[out]);
    double *kept = malloc((size_t)(DRAWS * each) * sizeof *kept);

    assert_non_null(kept);
    assert_ok(l->f.ctx,
              reln_plan_bind_sized(l->plan, "x", x, RELN_F64, (size_t)(DRAWS * item(l->x))));
    assert_ok(l->f.ctx, reln_plan_run(l->plan, &(RelnRun){.n_samples = DRAWS}));
    memcpy(kept, reln_plan_output(l->plan, names[out], NULL),
           (size_t)(DRAWS * each) * sizeof *kept);
    return kept;
}

/* |f(g x) - g f(x)| / |g f(x)| of draw d, where the output moves by `rep`. */
static double error_of(const Lab *l, int out, const RelnRep *rep, int d, const double *plain,
                       const double *moved)
{
    const ptrdiff_t each = item(l->out[out]);
    const RelnDims dims = reln_node_dims(l->out[out]);
    double want[P * MAX_K * 8], off = 0, size = 0;

    assert_true(each <= (ptrdiff_t)(sizeof want / sizeof *want));
    act(l, rep, l->g[d], dims.p, dims.c, plain + d * each, want);
    for (ptrdiff_t i = 0; i < each; i++) {
        off += (moved[d * each + i] - want[i]) * (moved[d * each + i] - want[i]);
        size += want[i] * want[i];
    }
    return sqrt(off / size);
}

/* Asserts that every draw is within the bound or, with `least` > 0, that every draw is off by at least that
 * much. */
static void compare(Lab *l, int out, const RelnRep *rep, double least)
{
    double *plain = lab_run(l, l->values, out), *moved = lab_run(l, l->moved, out);

    for (int d = 0; d < DRAWS; d++) {
        const double off = error_of(l, out, rep, d, plain, moved);

        if (least > 0 ? !(off > least) : !(off <= allowed(l->cond[d])))
            fail_msg("output %d is off by %.2e at condition %g", out, off, l->cond[d]);
    }
    free(plain);
    free(moved);
}

static void lab_clear(Lab *l)
{
    for (int d = 0; d < DRAWS; d++)
        reln_element_destroy(l->g[d]);
    free(l->values);
    free(l->moved);
    reln_plan_destroy(l->plan);
    fixture_clear(&l->f);
}

/* Tests outputs that are invariants, vectors and tensors of rank 2, with the published distribution of
 * channels and with a list. */
static void check_group(const char *group, double most_cond)
{
    Lab l;
    const RelnRep *square;

    lab_init(&l, group, RELN_F64);
    lab_input(&l, l.rep);
    square = reln_rep_product(l.rep, l.rep);
    lab_output(&l, reln_nn_emlp(&l.net, "invariant", l.x,
                                &(RelnEmlp){.layers = 2, .width = 48, .ranks = 3, .channels = 2}));
    lab_output(&l, reln_nn_emlp(&l.net, "vector", l.x,
                                &(RelnEmlp){.layers = 2,
                                            .n_hidden = 3,
                                            .hidden = (const RelnTensors[]){{NULL, 0, 5},
                                                                            {l.rep, 1, 4},
                                                                            {l.rep, 2, 3}},
                                            .rep = l.rep,
                                            .channels = 2,
                                            .seed = 7}));
    lab_output(
        &l, reln_nn_emlp(
                &l.net, "square", l.x,
                &(RelnEmlp){.layers = 1, .width = 60, .ranks = 3, .rep = square, .channels = 1}));
    assert_ok(l.f.ctx, reln_plan_create(l.f.graph, NULL, &l.plan));
    lab_draw(&l, most_cond);
    compare(&l, 0, reln_rep_trivial(l.f.group, 1), 0);
    compare(&l, 1, l.rep, 0);
    compare(&l, 2, square, 0);
    lab_clear(&l);
}

static void emlp_commutes_with_rotations_and_reflections(void **state)
{
    (void)state;
    check_group("o:3", 1.0);
}

static void emlp_commutes_with_the_symplectic_group(void **state)
{
    (void)state;
    check_group("sp:4", 1.0);
    check_group("sp:4", 10.0);
}

/* Vectors of gl:3 have no invariant form: only products with invariants remain, and no map leads to an
 * invariant. */
static void without_a_form_vectors_still_lead_to_vectors(void **state)
{
    Lab l;

    (void)state;
    lab_init(&l, "gl:3", RELN_F64);
    lab_input(&l, l.rep);
    lab_output(&l,
               reln_nn_emlp(
                   &l.net, "vector", l.x,
                   &(RelnEmlp){.layers = 2, .width = 40, .ranks = 3, .rep = l.rep, .channels = 2}));
    assert_ok(l.f.ctx, reln_plan_create(l.f.graph, NULL, &l.plan));
    lab_draw(&l, 10.0);
    compare(&l, 0, l.rep, 0);
    assert_null(reln_nn_emlp(&l.net, "none", l.x,
                             &(RelnEmlp){.layers = 2, .width = 40, .ranks = 3, .channels = 1}));
    lab_clear(&l);
}

/* The builder accepts coordinates that are declared as invariants; if they are moved as vectors, the check
 * detects that a plain network on them is not equivariant. */
static void a_plain_network_in_its_place_is_caught(void **state)
{
    static const char *const groups[] = {"o:3", "sp:4"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        Lab l;
        RelnNode *s;
        int k;

        lab_init(&l, groups[i], RELN_F64);
        k = reln_rep_dim(l.rep);
        lab_input(&l, reln_rep_trivial(l.f.group, k));
        s = reln_reshape(l.f.graph, l.x, (RelnDims){.p = P, .c = k * C});
        s = reln_nn_mlp(&l.net, "plain", s, &(RelnMlp){2, 16, k, RELN_ACT_SILU});
        lab_output(&l, reln_reshape(l.f.graph, s, (RelnDims){.p = P, .k = k, .c = 1}));
        assert_ok(l.f.ctx, reln_plan_create(l.f.graph, NULL, &l.plan));
        lab_draw(&l, 1.0);
        compare(&l, 0, l.rep, 1e-3);
        lab_clear(&l);
    }
}

static void sizes_that_make_no_network_are_refused(void **state)
{
    static const RelnEmlp wrong[] = {{.layers = -1, .width = 8, .channels = 1},
                                     {.layers = 1, .width = 8, .channels = 0},
                                     {.layers = 1, .width = 0, .channels = 1}};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char wanted[96];
        Lab l;

        lab_init(&l, "o:3", RELN_F64);
        lab_input(&l, l.rep);
        assert_null(reln_nn_emlp(&l.net, "none", l.x, &wrong[i]));
        assert_int_equal(reln_graph_status(l.f.graph), RELN_ERR_ARG);
        snprintf(wanted, sizeof wanted, "%d layers of width %d to %d channels", wrong[i].layers,
                 wrong[i].width, wrong[i].channels);
        assert_non_null(strstr(reln_ctx_error(l.f.ctx), wanted));
        lab_clear(&l);
    }
}

/* The product <x, x> has no linear part, so invariants of vectors come from the bilinear layer. */
static void invariants_of_vectors_come_from_the_bilinear_layer(void **state)
{
    Lab l;

    (void)state;
    lab_init(&l, "o:3", RELN_F64);
    lab_input(&l, l.rep);
    assert_null(
        reln_nn_emlp(&l.net, "none", l.x, &(RelnEmlp){.layers = 0, .width = 8, .channels = 1}));
    assert_int_equal(reln_graph_status(l.f.graph), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(l.f.ctx), "nothing leads"));
    lab_clear(&l);
}

/* d/dt f(x + t v) against <grad, v>: by central differences, whose error is h^2 f''' / 6 + eps |f| / h. */
static void check_gradient(const char *group)
{
    const double h = 1e-5;
    double line = 0, steepest = 0, difference, *ahead, *back, *gradient;
    RelnNode *y, *grad = NULL;
    RelnRng rng = reln_rng(6, 0);
    ptrdiff_t count;
    Lab l;

    lab_init(&l, group, RELN_F64);
    lab_input(&l, l.rep);
    y = reln_nn_emlp(&l.net, "f", l.x,
                     &(RelnEmlp){.layers = 2, .width = 48, .ranks = 3, .channels = 1});
    y = reln_scale(l.f.graph, reln_sum(l.f.graph, y, RELN_P), 1e3); /* slopes of order one */
    assert_true(reln_grad(l.f.graph, y, 1, &l.x, &grad));
    lab_output(&l, y);
    lab_output(&l, grad);
    assert_ok(l.f.ctx, reln_plan_create(l.f.graph, NULL, &l.plan));
    lab_draw(&l, 1.0);
    count = DRAWS * item(l.x);
    gradient = lab_run(&l, l.values, 1);
    fill_normal(&rng, count, l.moved); /* the direction v */
    for (int d = 0; d < DRAWS; d++) {
        const ptrdiff_t each = item(l.x), at = d * each;

        line = 0;
        for (ptrdiff_t i = 0; i < each; i++)
            line += gradient[at + i] * l.moved[at + i];
        for (ptrdiff_t i = 0; i < each; i++)
            l.values[at + i] += h * l.moved[at + i];
        steepest = fmax(steepest, fabs(line));
        ahead = lab_run(&l, l.values, 0);
        for (ptrdiff_t i = 0; i < each; i++)
            l.values[at + i] -= 2 * h * l.moved[at + i];
        back = lab_run(&l, l.values, 0);
        difference = (ahead[d] - back[d]) / (2 * h);
        if (!(fabs(difference - line) <= 1e-6 * fmax(1.0, fabs(line))))
            fail_msg("%s: slope %.9g of draw %d, gradient %.9g", group, difference, d, line);
        free(ahead);
        free(back);
    }
    if (!(steepest > 1))
        fail_msg("%s: the steepest of all slopes is %g", group, steepest);
    free(gradient);
    lab_clear(&l);
}

static void gradients_are_slopes(void **state)
{
    (void)state;
    check_gradient("o:3");
    check_gradient("sp:4");
}

/* Forms of the solver, lists and products of tensors: all of them are allocated by the context. */
static RelnStatus build_small(RelnCtx *ctx)
{
    Fixture f;
    RelnStatus status = fixture_build(&f, ctx, "sp:2", "sp:2", RELN_F64);

    if (status == RELN_OK) {
        const RelnRep *rep = reln_rep_vector(f.group);
        RelnNode *x =
            reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.k = 2, .c = 2}, rep, RELN_DEFAULT);

        reln_nn_emlp(&(RelnNet){.graph = f.graph}, "f", x,
                     &(RelnEmlp){.layers = 1, .width = 12, .ranks = 3, .channels = 1});
        status = rep ? reln_graph_status(f.graph) : RELN_ERR_NOMEM;
    }
    fixture_release(&f);
    return status;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_small) > 20);
}

static void channels_are_distributed_as_published(void **state)
{
    static const int want[4] = {38, 12, 3, 1};
    int got[4];

    (void)state;
    reln_emlp_uniform(3, 128, 4, got);
    assert_memory_equal(got, want, sizeof want);
}

/* Weights of 2 x 60 and of 60 x 2 invariants start from N(0, 1/60): by the larger of rows and columns. The variance of 120 draws
 * has a relative error of sqrt(2 / 119), and five of those are allowed. */
static void first_weights_have_the_size_of_the_larger_side(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const RelnEmlp emlp = {.layers = 0, .width = 1, .channels = k ? 60 : 2};
        double square = 0, count = 0;
        RelnNode *s;
        Fixture f;

        fixture_init(&f, "so:3", "so:3", RELN_F64);
        s = reln_input(f.graph, "s", RELN_SAMPLES, (RelnDims){.c = k ? 2 : 60}, NULL, RELN_DEFAULT);
        assert_non_null(reln_nn_emlp(&(RelnNet){.graph = f.graph}, "e", s, &emlp));
        for (int i = 0; i < reln_store_count(f.store); i++) {
            const RelnEntryInfo e = reln_store_entry(f.store, i);

            for (size_t j = 0; strstr(e.name, ".W") && j < e.count; j++) {
                square += ((const double *)e.values)[j] * ((const double *)e.values)[j];
                count++;
            }
        }
        assert_true(count == 120);
        assert_small(square / count * 60 - 1, 5 * sqrt(2.0 / 119));
        fixture_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emlp_commutes_with_rotations_and_reflections),
        cmocka_unit_test(emlp_commutes_with_the_symplectic_group),
        cmocka_unit_test(without_a_form_vectors_still_lead_to_vectors),
        cmocka_unit_test(a_plain_network_in_its_place_is_caught),
        cmocka_unit_test(invariants_of_vectors_come_from_the_bilinear_layer),
        cmocka_unit_test(sizes_that_make_no_network_are_refused),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(channels_are_distributed_as_published),
        cmocka_unit_test(first_weights_have_the_size_of_the_larger_side),
    };

    return cmocka_run_group_tests_name("nn/emlp", tests, NULL, NULL);
}
