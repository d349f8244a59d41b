/* Tests the networks of the pendulum: numbers of parameters, the symmetries they have and do not have, and
 * that Hamiltonian fields have no curl. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/pendulum.h"
#include "tasks/pendulum/pendulum.h"

enum { N = 8, ELEMENTS = 100, SIZE = N * PEND_STATE };

/* Up to ten sums of up to 144 products, each rounded by 1e-16 of numbers of size ten at most; a symmetry that is
 * missing shows at 1e-6 and above. */
#define EXACT 1e-12
#define BROKEN 1e-6

static const PendMlp wide = {128};

/* ---- one network at some states -------------------------------------------------------------------------------- */

typedef struct Study {
    Lab lab;
    PendModel model;
    bool energy;
    RelnPlan *plan;
    double z[SIZE], u[SIZE]; /* bound: states, cotangents */
} Study;

/* Adds random numbers to all weights, because layers that start from 0 would hide a broken symmetry. */
static void shake(RelnStore *store)
{
    RelnRng rng = reln_rng(11, 0);

    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo e = reln_store_entry(store, i);

        for (size_t j = 0; j < e.count && e.kind == RELN_ENTRY_PARAM; j++)
            ((double *)e.values)[j] += 0.1 * reln_rng_normal(&rng);
    }
}

static void draw_states(double *z)
{
    RelnRng rng = reln_rng(3, 1);

    fill_normal(&rng, SIZE, z);
    for (int i = 0; i < SIZE; i += PEND_STATE) {
        z[i + 2] -= 2.0;
        z[i + 5] -= 4.0;
    }
}

static void study_init(Study *s, const PendArchitecture *arch, const void *settings,
                       PendSymmetry symmetry)
{
    RelnGraph *g;
    RelnNode *z, *u, *f, *back = NULL;

    lab_init(&s->lab, arch->typed ? symmetry : PEND_NONE);
    g = s->lab.graph;
    assert_true(pend_model_open(
        &s->model, &(PendBuild){.graph = g, .symmetry = symmetry, .settings = settings}, arch));
    draw_states(s->z);
    if (arch->start)
        assert_ok(s->lab.ctx, arch->start(&s->model.build, s->lab.store, N, s->z));
    shake(s->lab.store);
    z = reln_input(g, "z", RELN_SAMPLES, pend_state_dims(1), pend_state_rep(g), RELN_DEFAULT);
    u = reln_input(g, "u", RELN_SAMPLES, pend_state_dims(1), reln_rep_dual(pend_state_rep(g)),
                   RELN_DEFAULT);
    f = pend_model_velocity(&s->model, z);
    s->energy = !arch->velocity;
    if (s->energy)
        reln_output(g, "H", pend_model_energy(&s->model, z));
    assert_true(reln_vjp(g, 1, &f, &u, 1, &z, &back));
    reln_output(g, "velocity", f);
    reln_output(g, "back", back);
    assert_ok(s->lab.ctx, reln_plan_create(g, NULL, &s->plan));
    assert_ok(s->lab.ctx, reln_plan_bind(s->plan, "z", s->z, RELN_F64));
    assert_ok(s->lab.ctx, reln_plan_bind(s->plan, "u", s->u, RELN_F64));
    memset(s->u, 0, sizeof s->u);
}

static void study_clear(Study *s)
{
    reln_plan_destroy(s->plan);
    lab_clear(&s->lab);
}

static void study_run(Study *s)
{
    assert_ok(s->lab.ctx, reln_plan_run(s->plan, &(RelnRun){.n_samples = N}));
}

/* ---- symmetries ------------------------------------------------------------------------------------------------ */

/* A rotation by an angle about an axis (0 = x, 2 = z), after x -> -x when there is a mirror. */
static void element(double angle, int axis, bool mirror, double g[9])
{
    const int i = (axis + 1) % 3, j = (axis + 2) % 3;

    memset(g, 0, 9 * sizeof *g);
    g[3 * axis + axis] = 1;
    g[3 * i + i] = g[3 * j + j] = cos(angle);
    g[3 * j + i] = sin(angle);
    g[3 * i + j] = -sin(angle);
    for (int k = 0; k < 3 && mirror; k++)
        g[3 * k] *= -1;
}

static void act(const double g[9], const double *from, double *to)
{
    for (int v = 0; v < SIZE / 3; v++)
        for (int i = 0; i < 3; i++) {
            to[3 * v + i] = 0;
            for (int j = 0; j < 3; j++)
                to[3 * v + i] += g[3 * i + j] * from[3 * v + j];
        }
}

/* Returns the largest of |H(g z) - H(z)| and |zdot(g z) - g zdot(z)|, in units of the largest number. */
static double violation(Study *s, const double g[9])
{
    double H[N] = {0}, f[SIZE], moved[SIZE], z[SIZE], worst = 0, size = 1;
    const double *out;

    memcpy(z, s->z, sizeof z);
    study_run(s);
    if (s->energy)
        memcpy(H, reln_plan_output(s->plan, "H", NULL), sizeof H);
    memcpy(f, reln_plan_output(s->plan, "velocity", NULL), sizeof f);
    act(g, f, moved);
    act(g, z, s->z);
    study_run(s);
    out = reln_plan_output(s->plan, "velocity", NULL);
    for (int i = 0; i < SIZE; i++) {
        size = fmax(size, fabs(f[i]));
        worst = fmax(worst, fabs(out[i] - moved[i]));
    }
    out = reln_plan_output(s->plan, "H", NULL);
    for (int i = 0; i < N && s->energy; i++) {
        size = fmax(size, fabs(H[i]));
        worst = fmax(worst, fabs(out[i] - H[i]));
    }
    memcpy(s->z, z, sizeof z);
    return worst / size;
}

static double violation_by(Study *s, double angle, int axis, bool mirror)
{
    double g[9];

    element(angle, axis, mirror, g);
    return violation(s, g);
}

static double worst_violation(Study *s, PendSymmetry symmetry)
{
    RelnRng rng = reln_rng(9, 2);
    double worst = 0;

    for (int i = 0; i < ELEMENTS; i++) {
        const bool mirror = symmetry != PEND_SO2 && reln_rng_below(&rng, 2);
        const double turn =
            symmetry == PEND_D6 ? (double)reln_rng_below(&rng, 6) / 6 : reln_rng_uniform(&rng);

        worst = fmax(worst, violation_by(s, 2 * acos(-1.0) * turn, 2, mirror));
    }
    return worst;
}

typedef struct Case {
    const PendArchitecture *arch;
    const void *settings;
    size_t parameters; /* 0: not a number of the literature */
    bool mirrors;      /* keeps them although only SO(2) was asked for */
    bool turns;        /* keeps every rotation although only D6 was asked for */
} Case;

/* EMLP for D6 has two parameters more than EMLP for O(2), in maps between tensors of rank 3 that turn
 * rotations by three times an angle into rotations by minus three times the angle. Its tensors of rank 3 are
 * computed from lower ranks by maps that O(2) has, too, and never contain such parts. As a function it
 * therefore has the symmetry O(2). */
static const Case cases[] = {
    {&pend_invariant, &pend_pairings, 69889, true, true},
    {&pend_invariant, &pend_lengths, 0, true, true},
    {&pend_invariant, &pend_scalars, 33501, true, true},
    {&pend_equivariant, &pend_equivariant_defaults, 0, false, false},
    {&pend_emlp, &pend_emlp_published, 55569, false, true},
    {&pend_emlp_ode, &pend_emlp_published, 0, false, true},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

static void assert_kept(double violation_, bool kept)
{
    if (kept)
        assert_small(violation_, EXACT);
    else
        assert_true(violation_ > BROKEN);
}

static void check_case(const Case *c, PendSymmetry symmetry)
{
    Study s;

    study_init(&s, c->arch, c->settings, symmetry);
    if (c->parameters)
        assert_int_equal(reln_store_parameters(s.lab.store), c->parameters);
    assert_small(worst_violation(&s, symmetry), EXACT);
    assert_kept(violation_by(&s, 0.7, 0, false), false); /* gravity has a direction */
    assert_kept(violation_by(&s, 0.0, 2, true), symmetry != PEND_SO2 || c->mirrors);
    assert_kept(violation_by(&s, 0.7, 2, false), symmetry != PEND_D6 || c->turns);
    study_clear(&s);
}

static void networks_keep_o2(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++)
        check_case(&cases[i], PEND_O2);
}

static void networks_keep_so2_and_break_mirrors(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++)
        check_case(&cases[i], PEND_SO2);
}

static void networks_keep_d6_and_break_other_rotations(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++)
        check_case(&cases[i], PEND_D6);
}

static void the_dense_network_has_no_symmetry(void **state)
{
    Study s;

    (void)state;
    study_init(&s, &pend_mlp, &wide, PEND_NONE);
    assert_int_equal(reln_store_parameters(s.lab.store), 34817);
    assert_true(violation_by(&s, 0.7, 2, false) > BROKEN);
    study_clear(&s);
}

/* ---- fields with an energy --------------------------------------------------------------------------------------- */

/* With A the derivative of the velocity, J A is symmetric iff the field is Hamiltonian. Returns how much u .
 * J A v = A^T (J^T u) . v changes when u and v are exchanged. J^T u = (-u_p, u_x). */
static double curl(Study *s)
{
    RelnRng rng = reln_rng(21, 4);
    double w[2][SIZE], worst = 0, both[2][N], size = 0;

    for (int k = 0; k < 2; k++)
        fill_normal(&rng, SIZE, w[k]);
    for (int k = 0; k < 2; k++) {
        const double *back;

        for (int i = 0; i < SIZE; i++)
            s->u[i] = i % PEND_STATE < 6 ? -w[k][i + 6] : w[k][i - 6];
        study_run(s);
        back = reln_plan_output(s->plan, "back", NULL);
        for (int n = 0; n < N; n++) {
            both[k][n] = 0;
            for (int i = 0; i < PEND_STATE; i++)
                both[k][n] += back[n * PEND_STATE + i] * w[1 - k][n * PEND_STATE + i];
            size = fmax(size, fabs(both[k][n]));
        }
    }
    for (int n = 0; n < N; n++)
        worst = fmax(worst, fabs(both[0][n] - both[1][n]));
    return worst / fmax(size, 1);
}

static void check_curl(const PendArchitecture *arch, const void *settings, PendSymmetry symmetry)
{
    Study s;

    study_init(&s, arch, settings, symmetry);
    if (arch->velocity)
        assert_true(curl(&s) > BROKEN);
    else
        assert_small(curl(&s), EXACT);
    study_clear(&s);
}

static void fields_of_energies_have_symmetric_hessians_and_others_have_not(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++)
        check_curl(cases[i].arch, cases[i].settings, PEND_SO2);
    check_curl(&pend_equivariant, &pend_equivariant_defaults, PEND_D6);
    check_curl(&pend_mlp, &wide, PEND_NONE);
    check_curl(&pend_mlp_ode, &wide, PEND_NONE);
}

/* ---- projectors ------------------------------------------------------------------------------------------------ */

/* Average of g x g x ... (rank k) over rotations by multiples of 2 pi / order, and their mirror images. */
static void average(int order, bool mirrors, int rank, int n, double *p)
{
    const int count = mirrors ? 2 * order : order;

    memset(p, 0, (size_t)(n * n) * sizeof *p);
    for (int e = 0; e < count; e++) {
        double g[9];

        element(2 * acos(-1.0) * (e % order) / order, 2, e >= order, g);
        for (int i = 0; i < n * n; i++) {
            double value = 1.0 / count;

            for (int k = 0, a = i / n, b = i % n; k < rank; k++, a /= 3, b /= 3)
                value *= g[a % 3 * 3 + b % 3];
            p[i] += value;
        }
    }
}

/* Tensors of rank up to 6 turn by at most six times an angle, so that eighths of a turn stand for all. */
static void check_projectors(PendSymmetry symmetry, int order, bool mirrors, const int *dims,
                             int largest)
{
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int k = 0, n = 1; k <= largest; k++, n *= 3) {
        double *p = NULL, *want = calloc((size_t)(n * n), sizeof *want), trace = 0;
        int count = 0;

        assert_non_null(want);
        assert_ok(ctx, pend_projector(ctx, symmetry, k, &p, &count));
        average(order, mirrors, k, n, want);
        for (int i = 0; i < n; i++)
            trace += p[i * n + i];
        assert_int_equal(count, dims[k]);
        assert_small(trace - dims[k], 1e-11);
        assert_near(p, want, n * n, 1e-12);
        free(p);
        free(want);
    }
    reln_ctx_destroy(ctx);
}

static void projectors_are_averages_over_the_group(void **state)
{
    static const int o2[] = {1, 1, 2, 4, 10, 26, 71}, so2[] = {1, 1, 3, 7, 19, 51, 141};
    static const int d6[] = {1, 1, 2, 4, 10, 26, 72};

    (void)state;
    check_projectors(PEND_O2, 8, true, o2, 6);
    check_projectors(PEND_SO2, 8, false, so2, 6);
    check_projectors(PEND_D6, 6, true, d6, 6);
}

static void features_of_emlp_are_chosen_as_published(void **state)
{
    const PendTensors t = pend_tensors_uniform(128);

    (void)state;
    assert_int_equal(pend_tensors_size(&t), 128);
    assert_memory_equal(t.n, ((int[]){38, 12, 3, 1}), sizeof t.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_keep_o2),
        cmocka_unit_test(networks_keep_so2_and_break_mirrors),
        cmocka_unit_test(networks_keep_d6_and_break_other_rotations),
        cmocka_unit_test(the_dense_network_has_no_symmetry),
        cmocka_unit_test(fields_of_energies_have_symmetric_hessians_and_others_have_not),
        cmocka_unit_test(projectors_are_averages_over_the_group),
        cmocka_unit_test(features_of_emlp_are_chosen_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
