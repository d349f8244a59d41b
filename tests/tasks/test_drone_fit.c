/* Compares the polynomial that our drone network fits with the normal equations solved as one matrix. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/drone/nets.h"
#include "tensor/linalg.h"

enum { NODES = 40, EACH = DRONE_WINDOW / NODES, N = 3 * DRONE_FIT };
#define SPREAD 1e4 /* between the largest and the smallest weight */

/* The error of an elimination grows with the condition: weights spread by SPREAD, and the matrix of mean squares of
 * Legendre's polynomials, 1 to 1 / (2 n - 1). Each of n steps adds some roundings for each of 3 n terms. */
#define TOLERANCE (DBL_EPSILON * SPREAD * (2 * DRONE_FIT - 1) * DRONE_FIT * N)

typedef struct Window {
    double w[DRONE_WINDOW][9], v[DRONE_WINDOW][3], wv[DRONE_WINDOW][3];
} Window;

/* Bonnet's recursion, (k + 1) p_(k + 1) = (2 k + 1) x p_k - k p_(k - 1). */
static void legendre(int t, double *p)
{
    const double x = 2.0 * t / (DRONE_WINDOW - 1) - 1;

    p[0] = 1;
    p[1] = x;
    for (int k = 1; k + 1 < DRONE_FIT; k++)
        p[k + 1] = ((2 * k + 1) * x * p[k] - k * p[k - 1]) / (k + 1);
}

/* Draws weights with random axes, which change from sample to sample. */
static void draw_weights(RelnRng *rng, Window *x)
{
    for (int t = 0; t < DRONE_WINDOW; t++) {
        double axes[9], size[3];

        drone_random_rotation(rng, axes);
        for (int j = 0; j < 3; j++)
            size[j] = exp(-log(SPREAD) * reln_rng_uniform(rng));
        drone_spectral(axes, size, x->w[t]);
    }
}

static void weigh(Window *x)
{
    for (int t = 0; t < DRONE_WINDOW; t++)
        drone_turn_vector(x->w[t], x->v[t], x->wv[t]);
}

/* Runs drone_fit() with the numbers r_k at their start times exp(DRONE_FIT_PACE `shift`). */
static void run_fit(const Window *x, double shift, double u[3][NODES], double *information)
{
    RelnCtx *ctx;
    RelnSetting s;
    RelnPlan *plan;
    RelnEntryInfo r;
    DroneFit fit;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_setting_init_in(&s, ctx, "o:3", "gl:3", RELN_F64, 1));
    fit = drone_fit(&(RelnNet){.graph = s.graph, .algebra = s.algebra},
                    reln_input(s.graph, "w", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 9},
                               reln_rep_matrix(s.group), RELN_DEFAULT),
                    reln_input(s.graph, "wv", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 3},
                               reln_rep_vector(s.group), RELN_DEFAULT),
                    NODES);
    reln_output(s.graph, "u", fit.u);
    reln_output(s.graph, "information", fit.information);
    assert_ok(ctx, reln_plan_create(s.graph, NULL, &plan));
    assert_true(reln_store_find(s.store, "fit.r", &r));
    for (size_t i = 0; i < r.count; i++)
        ((double *)r.values)[i] = shift;
    assert_ok(ctx, reln_plan_bind_sized(plan, "w", x->w, RELN_F64, 9 * DRONE_WINDOW));
    assert_ok(ctx, reln_plan_bind_sized(plan, "wv", x->wv, RELN_F64, 3 * DRONE_WINDOW));
    assert_ok(ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    memcpy(u, reln_plan_output(plan, "u", NULL), 3 * sizeof *u);
    memcpy(information, reln_plan_output(plan, "information", NULL), 9 * sizeof *information);
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
    reln_ctx_destroy(ctx);
}

static void a_polynomial_of_degree_five_is_found(void **state)
{
    const double r_is_zero = -20; /* e^-80 */
    RelnRng rng = reln_rng(31, 0);
    double want[3][NODES] = {{0}}, u[3][NODES], information[9], a[DRONE_FIT][3], p[DRONE_FIT];
    Window x;

    (void)state;
    draw_weights(&rng, &x);
    for (int k = 0; k < DRONE_FIT; k++)
        for (int j = 0; j < 3; j++)
            a[k][j] = reln_rng_normal(&rng);
    for (int t = 0; t < DRONE_WINDOW; t++) {
        legendre(t, p);
        for (int j = 0; j < 3; j++) {
            x.v[t][j] = 0;
            for (int k = 0; k < DRONE_FIT; k++)
                x.v[t][j] += a[k][j] * p[k];
            want[j][t / EACH] += x.v[t][j] / EACH;
        }
    }
    weigh(&x);
    run_fit(&x, r_is_zero, u, information);
    for (int j = 0; j < 3; j++)
        for (int n = 0; n < NODES; n++)
            assert_true(fabs(u[j][n] - want[j][n]) < TOLERANCE);
}

/* Adds r_k to the diagonal; r_k begins as 1e-6 for the mean, and 3e-5 to 3e-3 in steps of about the root of ten. */
static void add_ridge(double *m)
{
    static const double r[DRONE_FIT] = {1e-6, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3};

    for (int i = 0; i < N; i++)
        m[i * N + i] += r[i / 3];
}

static void noisy_velocities_give_the_solution_of_the_normal_equations(void **state)
{
    RelnRng rng = reln_rng(32, 0);
    double m[N * N] = {0}, inverse[N * N], b[N] = {0}, a[N] = {0}, p[DRONE_FIT], block[9], want[9],
                 size = 0, u[3][NODES], information[9], node[3][NODES] = {{0}};
    RelnCtx *ctx;
    Window x;

    (void)state;
    draw_weights(&rng, &x);
    for (int t = 0; t < DRONE_WINDOW; t++)
        for (int j = 0; j < 3; j++)
            x.v[t][j] = reln_rng_normal(&rng);
    weigh(&x);
    for (int t = 0; t < DRONE_WINDOW; t++) {
        legendre(t, p);
        for (int i = 0; i < N; i++) {
            b[i] += p[i / 3] * x.wv[t][i % 3] / DRONE_WINDOW;
            for (int j = 0; j < N; j++)
                m[i * N + j] += p[i / 3] * p[j / 3] * x.w[t][3 * (i % 3) + j % 3] / DRONE_WINDOW;
        }
    }
    add_ridge(m);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_inverse(ctx, N, m, inverse));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i] += inverse[i * N + j] * b[j];
    for (int t = 0; t < DRONE_WINDOW; t++) {
        legendre(t, p);
        for (int i = 0; i < N; i++)
            node[i % 3][t / EACH] += a[i] * p[i / 3] / EACH;
    }
    for (int i = 0; i < 9; i++)
        block[i] = inverse[(i / 3) * N + i % 3]; /* the covariance of a_0 */
    assert_ok(ctx, reln_inverse(ctx, 3, block, want));
    reln_ctx_destroy(ctx);

    run_fit(&x, 0, u, information);
    for (int j = 0; j < 3; j++)
        for (int n = 0; n < NODES; n++)
            size = fmax(size, fabs(node[j][n]));
    for (int j = 0; j < 3; j++)
        for (int n = 0; n < NODES; n++)
            assert_true(fabs(u[j][n] - node[j][n]) < TOLERANCE * size);
    for (int i = 0; i < 9; i++)
        assert_true(fabs(information[i] - want[i]) < TOLERANCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_polynomial_of_degree_five_is_found),
        cmocka_unit_test(noisy_velocities_give_the_solution_of_the_normal_equations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
