/* Compares EMLP's energy with a plain computation: dense matrices, projected weights, B(x) filled entry by
 * entry. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/pendulum.h"
#include "tasks/pendulum/pendulum.h"

enum { SEED = 3, MAX = 256, CHOSEN = 27 };

/* 27 scalars, 9 vectors, 3 and 1 tensors of ranks 2 and 3; or twice as many, of which six of rank 2 are
 * chosen. */
static const PendEmlp narrow = {108}, wide = {216};

typedef struct Reference {
    const RelnStore *store;
    const PendEmlp *width;
    double *P[2 * PEND_RANKS - 1];
} Reference;

static int size_of(int rank)
{
    return (int)lround(pow(3, rank));
}

/* Returns the position of the tensors of a rank in a feature. */
static int begin(const PendTensors *t, int rank)
{
    int at = 0;

    for (int r = 0; r < rank; r++)
        at += t->n[r] * size_of(r);
    return at;
}

static const double *values(const Reference *r, const char *layer, const char *part)
{
    RelnEntryInfo e;
    char name[64];

    snprintf(name, sizeof name, "%s.%s", layer, part);
    if (!reln_store_find(r->store, name, &e))
        fail_msg("there is no %s", name);
    return e.values;
}

/* (P w)[at], for column c of w (3^k, columns) */
static double projected(const Reference *r, int k, const double *w, int columns, int c, int at)
{
    double sum = 0;

    for (int i = 0; i < size_of(k); i++)
        sum += r->P[k][at * size_of(k) + i] * w[i * columns + c];
    return sum;
}

/* y += the part of W x that leads from rank b to rank a */
static void add_part(const Reference *r, const char *layer, const PendTensors *in,
                     const PendTensors *out, int a, int b, const double *x, double *y)
{
    char part[8];
    const double *w;

    snprintf(part, sizeof part, "W%d%d", a, b);
    w = values(r, layer, part);
    for (int o = 0; o < out->n[a]; o++)
        for (int i = 0; i < in->n[b]; i++)
            for (int k = 0; k < size_of(a + b); k++)
                y[begin(out, a) + o * size_of(a) + k / size_of(b)] +=
                    projected(r, a + b, w, in->n[b] * out->n[a], i * out->n[a] + o, k) *
                    x[begin(in, b) + i * size_of(b) + k % size_of(b)];
}

/* y = W x + b */
static void linear(const Reference *r, const char *layer, const PendTensors *in,
                   const PendTensors *out, const double *x, double *y)
{
    memset(y, 0, MAX * sizeof *y);
    for (int a = 0; a < PEND_RANKS; a++) {
        char part[8];

        for (int b = 0; b < PEND_RANKS; b++)
            if (in->n[b] * out->n[a] > 0)
                add_part(r, layer, in, out, a, b, x, y);
        snprintf(part, sizeof part, "b%d", a);
        for (int i = 0; i < out->n[a] * size_of(a); i++)
            y[begin(out, a) + i] +=
                projected(r, a, values(r, layer, part), out->n[a], i / size_of(a), i % size_of(a));
    }
}

/* Draws the tensors of x that fill B(x), with the seed, one rank after another. */
static void draw_chosen(int block, const PendTensors *t, int chosen[PEND_RANKS][CHOSEN])
{
    RelnRng rng = reln_rng(SEED, /*stream=*/2 + (uint64_t)block);

    for (int k = 1; k < PEND_RANKS; k++)
        for (int i = 0; i < pend_tensors_chosen(t, k); i++)
            chosen[k][i] = (int)reln_rng_below(&rng, (uint64_t)t->n[k]);
}

/* y += B(x) x / 10 for one pair of ranks; B has the block sum_n theta[o,i,n] X_n, X_n as a 3^a x 3^b matrix */
static void add_bilinear(const Reference *r, const char *layer, const PendTensors *t, int a, int b,
                         const int *chosen, const double *x, double *y)
{
    const int k = a + b, n = pend_tensors_chosen(t, k);
    const double *theta;
    char part[16];

    snprintf(part, sizeof part, "theta%d%d", a, b);
    theta = values(r, layer, part);
    for (int o = 0; o < t->n[a]; o++)
        for (int i = 0; i < t->n[b]; i++)
            for (int m = 0; m < n; m++)
                for (int at = 0; at < size_of(k); at++) {
                    const double weight = a == 0 ? theta[(o * t->n[b] + i) * n + m]
                                                 : theta[(o * n + m) * t->n[b] + i];

                    y[begin(t, a) + o * size_of(a) + at / size_of(b)] +=
                        0.1 * weight * x[begin(t, k) + chosen[m] * size_of(k) + at] *
                        x[begin(t, b) + i * size_of(b) + at % size_of(b)];
                }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Gates each scalar by itself, and the tensors in their order by the scalars that follow. */
static void gate(const PendTensors *t, const PendTensors *gated, const double *x, double *y)
{
    int next = t->n[0];

    memset(y, 0, MAX * sizeof *y);
    for (int i = 0; i < t->n[0]; i++)
        y[i] = x[i] * sigmoid(x[i]);
    for (int r = 1; r < PEND_RANKS; r++)
        for (int i = 0; i < t->n[r]; i++, next++)
            for (int k = 0; k < size_of(r); k++)
                y[begin(t, r) + i * size_of(r) + k] =
                    x[begin(gated, r) + i * size_of(r) + k] * sigmoid(x[next]);
}

static double energy(const Reference *r, const double *z)
{
    const PendTensors hidden = pend_tensors_uniform(r->width->width);
    const PendTensors gated = pend_tensors_gated(&hidden), one = {{1, 0, 0, 0}};
    PendTensors in = {{0, PEND_VECTORS, 0, 0}};
    double x[MAX] = {0}, lin[MAX], pre[MAX];
    char layer[16];

    assert_true(pend_tensors_size(&gated) <= MAX);
    memcpy(x, z, PEND_STATE * sizeof *z);
    for (int block = 0; block < PEND_EMLP_BLOCKS; block++) {
        int chosen[PEND_RANKS][CHOSEN];

        snprintf(layer, sizeof layer, "emlp.%d", block);
        linear(r, layer, &in, &gated, x, lin);
        memcpy(pre, lin, sizeof pre);
        draw_chosen(block, &gated, chosen);
        for (int a = 0; a < PEND_RANKS; a++)
            for (int b = 0; a + b < PEND_RANKS; b++)
                if (a + b > 0)
                    add_bilinear(r, layer, &gated, a, b, chosen[a + b], lin, pre);
        gate(&hidden, &gated, pre, x);
        in = hidden;
    }
    linear(r, "emlp.out", &in, &one, x, lin);
    return lin[0];
}

/* Sums of up to 242 terms, four after another, and squares of them: 1e-12 of the value. */
static void compare_energies(const PendEmlp *width)
{
    double z[2 * PEND_STATE];
    RelnRng rng = reln_rng(9, 0);
    RelnPlan *plan = NULL;
    Reference r = {.width = width};
    PendModel m;
    Lab lab;
    int count;

    lab_init(&lab, PEND_NONE);
    fill_normal(&rng, 2 * PEND_STATE, z);
    assert_true(pend_model_open(
        &m, &(PendBuild){.graph = lab.graph, .symmetry = PEND_D6, .settings = width, .seed = SEED},
        &pend_emlp));
    reln_output(lab.graph, "H",
                pend_model_energy(&m, reln_input(lab.graph, "z", RELN_SAMPLES, pend_state_dims(1),
                                                 pend_state_rep(lab.graph), RELN_DEFAULT)));
    assert_ok(lab.ctx, reln_plan_create(lab.graph, NULL, &plan));
    assert_ok(lab.ctx, pend_emlp.start(&m.build, lab.store, 0, NULL));
    assert_ok(lab.ctx, reln_plan_bind(plan, "z", z, RELN_F64));
    assert_ok(lab.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 2}));
    r.store = lab.store;
    for (int k = 0; k < 2 * PEND_RANKS - 1; k++)
        assert_ok(lab.ctx, pend_projector(lab.ctx, PEND_D6, k, &r.P[k], &count));
    for (int i = 0; i < 2; i++) {
        const double want = energy(&r, z + i * PEND_STATE);
        const double got = ((const double *)reln_plan_output(plan, "H", NULL))[i];

        assert_true(fabs(want) > 1e-3 && fabs(got - want) < 1e-12 * fmax(1, fabs(want)));
    }
    for (int k = 0; k < 2 * PEND_RANKS - 1; k++)
        free(r.P[k]);
    reln_plan_destroy(plan);
    lab_clear(&lab);
}

static void energies_are_those_of_dense_matrices(void **state)
{
    (void)state;
    compare_energies(&narrow);
    compare_energies(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energies_are_those_of_dense_matrices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
