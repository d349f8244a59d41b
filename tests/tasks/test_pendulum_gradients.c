/* Compares derivatives of a Hamiltonian network with PyTorch: of H, of its gradient, and of a rollout. */
#include <stdio.h>

#include "tasks/pendulum.h"
#include "tasks/pendulum/pendulum.h"

enum { N = 4, LAYERS = 4 };

/* Sums of up to 16 products in four layers, through 32 stages of a rollout: 1e-10 is 1e6 roundings of the largest. */
#define AGREE 1e-10

static const PendMlp narrow = {16};

typedef struct Study {
    Lab lab;
    PendModel model;
    RelnNode *z, *w, *chunk;
    RelnArray at, along, target;
    RelnPlan *plan;
} Study;

/* Their matrices are (out, in), ours (in, out). */
static void transpose(const RelnArray *a, int in, int out, double *to)
{
    assert_int_equal(reln_array_count(a), in * out);
    for (int i = 0; i < in; i++)
        for (int o = 0; o < out; o++)
            to[i * out + o] = a->f64[o * in + i];
}

static void load_weights(Study *s)
{
    static const int widths[LAYERS + 1] = {12, 16, 16, 16, 1};

    for (int i = 0; i < LAYERS; i++) {
        char name[32], entry[32];
        RelnEntryInfo info;
        RelnArray a;

        snprintf(name, sizeof name, "mlp/W%d", i);
        snprintf(entry, sizeof entry, "mlp.%d.W", i);
        a = pendulum_golden(s->lab.ctx, name, widths[i] * widths[i + 1]);
        assert_true(reln_store_find(s->lab.store, entry, &info));
        transpose(&a, widths[i], widths[i + 1], info.values);
        reln_array_clear(&a);
        snprintf(name, sizeof name, "mlp/b%d", i);
        snprintf(entry, sizeof entry, "mlp.%d.b", i);
        a = pendulum_golden(s->lab.ctx, name, widths[i + 1]);
        assert_true(reln_store_find(s->lab.store, entry, &info));
        for (ptrdiff_t j = 0; j < reln_array_count(&a); j++)
            ((double *)info.values)[j] = a.f64[j];
        reln_array_clear(&a);
    }
}

static RelnNode *state_input(Study *s, const char *name, int points)
{
    RelnDims dims = pend_state_dims(1);

    dims.p = points;
    return reln_input(s->lab.graph, name, RELN_SAMPLES, dims, pend_state_rep(s->lab.graph),
                      RELN_DEFAULT);
}

static void study_init(Study *s)
{
    const PendBuild b = {.symmetry = PEND_NONE, .settings = &narrow};

    lab_init(&s->lab, PEND_NONE);
    s->model.build = b;
    s->model.build.graph = s->lab.graph;
    assert_true(pend_model_open(&s->model, &s->model.build, &pend_mlp));
    s->z = state_input(s, "z", 1);
    s->w = state_input(s, "w", 1);
    s->chunk = state_input(s, "chunk", PEND_CHUNK);
    s->at = pendulum_golden(s->lab.ctx, "mlp/z0", N * PEND_STATE);
    s->along = pendulum_golden(s->lab.ctx, "mlp/w", N * PEND_STATE);
    s->target = pendulum_golden(s->lab.ctx, "mlp/target", N * PEND_CHUNK * PEND_STATE);
    s->plan = NULL;
}

static void study_run(Study *s)
{
    load_weights(s);
    assert_ok(s->lab.ctx, reln_plan_create(s->lab.graph, NULL, &s->plan));
    assert_ok(s->lab.ctx, reln_plan_bind(s->plan, "z", s->at.f64, RELN_F64));
    assert_ok(s->lab.ctx, reln_plan_bind(s->plan, "w", s->along.values, RELN_F64));
    assert_ok(s->lab.ctx, reln_plan_bind(s->plan, "chunk", s->target.values, RELN_F64));
    assert_ok(s->lab.ctx, reln_plan_run(s->plan, &(RelnRun){.n_samples = N}));
}

static void study_clear(Study *s)
{
    reln_array_clear(&s->at);
    reln_array_clear(&s->along);
    reln_array_clear(&s->target);
    reln_plan_destroy(s->plan);
    lab_clear(&s->lab);
}

static void assert_output(Study *s, const char *output, const char *golden, ptrdiff_t count)
{
    RelnArray want = pendulum_golden(s->lab.ctx, golden, count);

    assert_near(reln_plan_output(s->plan, output, NULL), want.f64, count, AGREE);
    reln_array_clear(&want);
}

static void energy_and_its_derivatives_are_right(void **state)
{
    Study s;
    RelnNode *H, *dH = NULL, *S, *Hw = NULL;

    (void)state;
    study_init(&s);
    H = pend_model_energy(&s.model, s.z);
    assert_true(reln_grad(s.lab.graph, H, 1, &s.z, &dH));
    S = reln_sum_all(s.lab.graph, reln_pair(s.lab.graph, dH, s.w));
    assert_true(reln_grad(s.lab.graph, S, 1, &s.z, &Hw));
    reln_output(s.lab.graph, "H", H);
    reln_output(s.lab.graph, "dH", dH);
    reln_output(s.lab.graph, "Hw", Hw);
    study_run(&s);
    assert_output(&s, "H", "mlp/H", N);
    assert_output(&s, "dH", "mlp/gradH", N * PEND_STATE);
    assert_output(&s, "Hw", "mlp/hess_w", N * PEND_STATE);
    study_clear(&s);
}

static void the_velocity_is_the_turned_gradient(void **state)
{
    Study s;
    RelnArray dH;
    const double *got;

    (void)state;
    study_init(&s);
    reln_output(s.lab.graph, "velocity", pend_model_velocity(&s.model, s.z));
    study_run(&s);
    got = reln_plan_output(s.plan, "velocity", NULL);
    dH = pendulum_golden(s.lab.ctx, "mlp/gradH", N * PEND_STATE);
    for (int n = 0; n < N * PEND_STATE; n += PEND_STATE)
        for (int i = 0; i < 6; i++) {
            assert_near(got + n + i, dH.f64 + n + 6 + i, 1, AGREE);
            assert_small(got[n + 6 + i] + dH.f64[n + i], AGREE);
        }
    reln_array_clear(&dH);
    study_clear(&s);
}

static void rollout_and_gradient_of_its_loss_are_right(void **state)
{
    static const int sizes[LAYERS][2] = {{12, 16}, {16, 16}, {16, 16}, {16, 1}};
    Study s;
    RelnNode *loss, *grads[2 * LAYERS] = {NULL};

    (void)state;
    study_init(&s);
    loss = pend_model_loss(&s.model, s.chunk, NULL, 2);
    assert_true(reln_grad(s.lab.graph, loss, 2 * LAYERS, s.model.weights.node, grads));
    reln_output(s.lab.graph, "loss", loss);
    for (int i = 0; i < 2 * LAYERS; i++)
        reln_output(s.lab.graph, (const char *[]){"0", "1", "2", "3", "4", "5", "6", "7"}[i],
                    grads[i]);
    study_run(&s);
    assert_output(&s, "loss", "mlp/loss", 1);
    for (int i = 0; i < LAYERS; i++) {
        const char *W[] = {"0", "2", "4", "6"}, *b[] = {"1", "3", "5", "7"};
        double want[16 * 16];
        char name[32];
        RelnArray a;

        snprintf(name, sizeof name, "mlp/dL_dW%d", i);
        a = pendulum_golden(s.lab.ctx, name, sizes[i][0] * sizes[i][1]);
        transpose(&a, sizes[i][0], sizes[i][1], want);
        assert_near(reln_plan_output(s.plan, W[i], NULL), want, reln_array_count(&a), AGREE);
        reln_array_clear(&a);
        snprintf(name, sizeof name, "mlp/dL_db%d", i);
        assert_output(&s, b[i], name, sizes[i][1]);
    }
    study_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_and_its_derivatives_are_right),
        cmocka_unit_test(the_velocity_is_the_turned_gradient),
        cmocka_unit_test(rollout_and_gradient_of_its_loss_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
