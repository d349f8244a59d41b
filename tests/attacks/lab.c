/* lab.c -- builds the graph of an attack twice, moves the input of one of them, and compares the outputs. */
#include "attacks/lab.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "property/act.h"
#include "reln/plan.h"

enum { SAMPLES = 3, ROWS = 3, STEPS = 3, MAX_INPUTS = 16, MAX_ATTACKS = 160 };

/* Rounding of a few hundred operations on numbers of size 1, amplified by g of condition 4. */
#define ALLOWED 1e-8

RelnNode *lab_const(Lab *l, const RelnRep *rep, const double *values)
{
    return reln_const(l->g, (RelnDims){1, 1, 1, reln_rep_dim(rep), 1}, rep, values);
}

RelnNode *lab_state(Lab *l, int k, int c)
{
    return reln_state(l->g, "state", (RelnDims){1, 1, 1, k, c}, (RelnInit){RELN_INIT_CONSTANT, 0});
}

RelnNode *lab_param(Lab *l, int k, int c)
{
    return reln_param(l->g, "param", (RelnDims){1, 1, 1, k, c}, (RelnInit){RELN_INIT_CONSTANT, 1});
}

/* ---- building ------------------------------------------------------------------------------------------------ */

static RelnNode *input(Lab *l, const char *name, RelnDomain domain, int p, int c,
                       const RelnRep *rep)
{
    return reln_input(l->g, name, domain, (RelnDims){p, 1, 1, reln_rep_dim(rep), c}, rep,
                      RELN_DEFAULT);
}

static void add_inputs(Lab *l)
{
    const RelnRep *one = reln_rep_trivial(l->group, 1);

    l->v = reln_rep_vector(l->group);
    l->m = reln_rep_matrix(l->group);
    l->rows = reln_rows(l->g, "rows", 64);
    l->x = input(l, "x", RELN_SAMPLES, 2, 2, l->v);
    l->y = input(l, "y", RELN_SAMPLES, 2, 2, l->v);
    l->s = input(l, "s", RELN_SAMPLES, 2, 2, one);
    l->big = input(l, "big", RELN_SAMPLES, 2, 2, reln_rep_sum(one, l->v));
    l->mat = input(l, "mat", RELN_SAMPLES, 1, 2, l->m);
    l->row = input(l, "row", l->rows, 1, 2, l->v);
    l->row_s = input(l, "row_s", l->rows, 1, 2, one);
    l->index = reln_input_index(l->g, "index", l->rows, (RelnDims){1, 1, 1, 1, 1}, l->rows, 0);
}

/* False when there is no such group. */
static bool lab_open(Lab *l, const Attack *a)
{
    memset(l, 0, sizeof *l);
    assert_int_equal(reln_ctx_create(NULL, &l->ctx), RELN_OK);
    if ((a->make ? a->make(l->ctx, &l->group) : reln_group_create(l->ctx, a->group, &l->group)) !=
        RELN_OK)
        return false;
    assert_ok(l->ctx, reln_group_create(l->ctx, "so:3", &l->other));
    assert_ok(l->ctx, reln_store_create(l->ctx, 7, &l->store));
    assert_ok(l->ctx, reln_graph_create(l->group, l->store, RELN_F64, &l->g));
    add_inputs(l);
    assert_ok(l->ctx, reln_graph_status(l->g));
    return true;
}

static void lab_close(Lab *l)
{
    reln_graph_destroy(l->g);
    reln_store_destroy(l->store);
    reln_group_destroy(l->group);
    reln_group_destroy(l->other);
    reln_ctx_destroy(l->ctx);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static ptrdiff_t items_of(const RelnNode *x)
{
    return x->domain == RELN_STEP      ? 1
           : x->domain == RELN_SAMPLES ? SAMPLES
                                       : (ptrdiff_t)SAMPLES * ROWS;
}

static ptrdiff_t count_of(const RelnNode *x)
{
    return items_of(x) * reln_shape_count(&x->shape);
}

static void *bind(const Lab *l, RelnPlan *plan, const RelnNamedNode *in, const RelnElement *g)
{
    const ptrdiff_t n = count_of(in->node);
    const bool indices = in->node->dtype == RELN_I32;
    RelnRng rng = reln_rng(11, (uint64_t)in->node->id);
    double *values = calloc((size_t)n, sizeof *values);

    assert_non_null(values);
    for (ptrdiff_t i = 0; indices && i < n; i++)
        ((int32_t *)values)[i] = (int32_t)((i * i + 1) % ROWS);
    if (!indices)
        fill_normal(&rng, n, values);
    if (!indices && g)
        act(in->node, g, items_of(in->node), values);
    assert_ok(l->ctx, reln_plan_bind(plan, in->name, values, indices ? RELN_I32 : RELN_F64));
    return values;
}

/* Runs STEPS steps on x, or on g x, and copies the output. */
static double *run(const Lab *l, const RelnNode *out, const RelnElement *g)
{
    static const int32_t rows[SAMPLES] = {ROWS, ROWS, ROWS};
    void *held[MAX_INPUTS] = {0};
    RelnPlan *plan = NULL;
    double *values = malloc((size_t)count_of(out) * sizeof *values);
    int n = 0;

    assert_non_null(values);
    assert_ok(l->ctx, reln_plan_create(l->g, NULL, &plan));
    for (int i = 0; i < l->g->sources.count; i++) {
        const RelnNamedNode *in = &l->g->sources.items[i];
        if (in->node->op == &reln_op_input || in->node->op == &reln_op_index_input) {
            assert_true(n < MAX_INPUTS);
            held[n++] = bind(l, plan, in, g);
        }
    }
    assert_ok(l->ctx, reln_plan_bind_rows(plan, "rows", rows));
    for (uint64_t t = 0; t < STEPS; t++)
        assert_ok(l->ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES, .step = t}));
    memcpy(values, reln_plan_output(plan, "f", NULL), (size_t)count_of(out) * sizeof *values);
    for (int i = 0; i < n; i++)
        free(held[i]);
    reln_plan_destroy(plan);
    return values;
}

/* |f(g x) - g f(x)| over the size of f, at least `least`; NaN where f is not finite. */
static double difference(ptrdiff_t n, const double *moved, const double *want, double least)
{
    double size = least, most = 0;

    for (ptrdiff_t i = 0; i < n; i++) {
        if (!isfinite(moved[i]) || !isfinite(want[i]))
            return (double)NAN;
        size = fmax(size, fabs(want[i]));
        most = fmax(most, fabs(moved[i] - want[i]));
    }
    return most > 0 ? most / size : 0;
}

static RelnElement *element(const Lab *l, uint64_t which)
{
    RelnRng rng = reln_rng(5, which);
    RelnElement *g = NULL;

    assert_ok(l->ctx, reln_group_random(l->group, &rng, 4.0, &g));
    return g;
}

static RelnNode *build(Lab *l, const Attack *a)
{
    RelnNode *out = a->build(l);

    /* indices are not compared */
    if (out && out->dtype != RELN_I32)
        reln_output(l->g, "f", out);
    return reln_graph_status(l->g) == RELN_OK ? out : NULL;
}

double lab_error(const Attack *a, double least, char message[LAB_MESSAGE])
{
    double worst = 0;

    message[0] = '\0';
    for (uint64_t which = 0; which < 3 && !isnan(worst); which++) {
        Lab plain, moved;
        const bool made = lab_open(&plain, a);
        RelnNode *f = made ? build(&plain, a) : NULL;
        if (!f) {
            assert_true(*reln_ctx_error(plain.ctx) != '\0');
            snprintf(message, LAB_MESSAGE, "%s", reln_ctx_error(plain.ctx));
            lab_close(&plain);
            return -1;
        }
        assert_true(lab_open(&moved, a));
        assert_non_null(build(&moved, a));
        RelnElement *g = element(&plain, which), *h = element(&moved, which);
        double *want = run(&plain, f, NULL), *got = run(&moved, f, h);
        act(f, g, items_of(f), want);
        const double error = difference(count_of(f), got, want, least);
        worst = isnan(error) ? error : fmax(worst, error);
        free(want);
        free(got);
        reln_element_destroy(g);
        reln_element_destroy(h);
        lab_close(&plain);
        lab_close(&moved);
    }
    return worst;
}

static void run_attack(void **state)
{
    const Attack *a = *state;
    char message[LAB_MESSAGE];
    const double error = lab_error(a, 0, message);
    const double allowed = fmax(ALLOWED, 64 * DBL_EPSILON * a->amplified);

    if (*message)
        print_message("             %s\n", message);
    if (a->answer == REFUSED && !(error < 0))
        fail_msg("it was built, and f(g x) differs from g f(x) by %.2g of f", error);
    if (a->answer != REFUSED && error < 0)
        fail_msg("it was refused");
    if (a->answer == EQUIVARIANT && !(error <= allowed))
        fail_msg("f(g x) differs from g f(x) by %.2g of f", error);
}

int run_attacks(const char *name, const Attack *attacks, size_t count)
{
    struct CMUnitTest tests[MAX_ATTACKS];
    Attack copies[MAX_ATTACKS];

    if (count > MAX_ATTACKS)
        return -1;
    for (size_t i = 0; i < count; i++) {
        copies[i] = attacks[i];
        tests[i] = (struct CMUnitTest){
            .name = copies[i].sentence, .test_func = run_attack, .initial_state = &copies[i]};
    }
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}
