/* Tests states packed side by side: a network computes the same values for each as for the state alone, and a
 * loss has the same weights. */
#include <math.h>
#include <string.h>

#include "tasks/pendulum.h"
#include "tasks/pendulum/pendulum.h"

enum { N = 7, PER = PEND_CHUNK * PEND_STATE };

static const PendEmlp narrow = {32};

static void draw_chunks(double *chunks)
{
    RelnRng rng = reln_rng(4, 0);

    fill_normal(&rng, N * PER, chunks);
    for (int i = 0; i < N * PER; i++)
        chunks[i] =
            0.3 * chunks[i] - (i % PEND_STATE == 2 ? 1.5 : 0) - (i % PEND_STATE == 5 ? 3 : 0);
}

/* Returns the loss of the N chunks and its derivatives with respect to the chunks, with `abreast` of them
 * side by side. */
static double loss_of(int abreast, const double *chunks, double *derivative)
{
    const int groups = pend_groups(N, abreast);
    double packed[2 * N * PER], share[2 * N], loss;
    RelnDims dims = pend_state_dims(abreast);
    RelnNode *chunk, *weight, *L, *d = NULL;
    RelnPlan *plan = NULL;
    PendModel m;
    Lab lab;

    lab_init(&lab, PEND_NONE);
    dims.p = PEND_CHUNK;
    chunk =
        reln_input(lab.graph, "chunk", RELN_SAMPLES, dims, pend_state_rep(lab.graph), RELN_DEFAULT);
    weight =
        reln_input(lab.graph, "share", RELN_SAMPLES, (RelnDims){.c = abreast}, NULL, RELN_DEFAULT);
    assert_true(pend_model_open(
        &m,
        &(PendBuild){
            .graph = lab.graph, .symmetry = PEND_O2, .settings = &narrow, .abreast = abreast},
        &pend_emlp));
    L = pend_model_loss(&m, chunk, weight, 1);
    assert_true(reln_grad(lab.graph, L, 1, &chunk, &d));
    reln_output(lab.graph, "loss", L);
    reln_output(lab.graph, "derivative", d);
    assert_ok(lab.ctx, reln_plan_create(lab.graph, NULL, &plan));
    assert_ok(lab.ctx, pend_emlp.start(&m.build, lab.store, N, chunks));
    pend_pack(N, abreast, PER, chunks, packed);
    pend_shares(N, abreast, share);
    assert_ok(lab.ctx, reln_plan_bind(plan, "chunk", packed, RELN_F64));
    assert_ok(lab.ctx, reln_plan_bind(plan, "share", share, RELN_F64));
    assert_ok(lab.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = groups}));
    loss = *(const double *)reln_plan_output(plan, "loss", NULL);
    pend_unpack(N, abreast, PER, reln_plan_output(plan, "derivative", NULL), derivative);
    reln_plan_destroy(plan);
    lab_clear(&lab);
    return loss;
}

/* Sixteen evaluations of sums of up to 50 products, and their derivatives: 1e-12 is some hundred roundings. */
static void chunks_abreast_have_the_loss_of_chunks_alone(void **state)
{
    double chunks[N * PER], alone[N * PER], abreast[N * PER], size = 0;
    double loss;

    (void)state;
    draw_chunks(chunks);
    loss = loss_of(1, chunks, alone);
    assert_true(loss > 1e-3);
    for (int i = 0; i < N * PER; i++)
        size = fmax(size, fabs(alone[i]));
    for (int a = 2; a <= 4; a++) { /* the last group is full for none of them */
        assert_true(fabs(loss_of(a, chunks, abreast) - loss) < 1e-12 * loss);
        for (int i = 0; i < N * PER; i++)
            assert_true(fabs(abreast[i] - alone[i]) < 1e-12 * size);
    }
}

static void packing_repeats_the_last_and_gives_it_no_share(void **state)
{
    static const double want[8] = {0, 2, 1, 3, 4, 4, 5, 5};
    double from[6], to[8], share[4];

    (void)state;
    for (int i = 0; i < 6; i++)
        from[i] = i;
    pend_pack(3, 2, 2, from, to);
    assert_memory_equal(to, want, sizeof want);
    memset(from, 0, sizeof from);
    pend_unpack(3, 2, 2, to, from);
    for (int i = 0; i < 6; i++)
        assert_true(from[i] == i);
    pend_shares(3, 2, share);
    assert_true(fabs(share[0] + share[1] + share[2] - 2) < 1e-15 && share[3] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_repeats_the_last_and_gives_it_no_share),
        cmocka_unit_test(chunks_abreast_have_the_loss_of_chunks_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
