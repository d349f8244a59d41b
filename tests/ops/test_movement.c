/* Tests ops that move, choose and compare: exact values, refusals, and the places that gradients reach. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/fixture.h"

/* as doubles: the macros are floats */
#define NO_NUMBER ((double)NAN)
#define ENDLESS ((double)INFINITY)

/* A Bound is an input bound to an array; a Trial is a graph with its plan after a run. */
typedef struct Bound {
    const char *name;
    const void *values;
    RelnDtype dtype;
} Bound;

typedef struct Trial {
    Fixture f;
    RelnPlan *plan;
    RelnPlanOptions options;
    int n_bound;
    Bound bound[8];
} Trial;

static void trial_init(Trial *t, const char *algebra, const char *group)
{
    memset(t, 0, sizeof *t);
    fixture_init(&t->f, algebra, group, RELN_F64);
}

static void trial_clear(Trial *t)
{
    reln_plan_destroy(t->plan);
    fixture_clear(&t->f);
}

static RelnNode *numbers(Trial *t, const char *name, RelnDims dims, const RelnRep *rep,
                         const double *values)
{
    t->bound[t->n_bound++] = (Bound){name, values, RELN_F64};
    return reln_input(t->f.graph, name, RELN_SAMPLES, dims, rep, RELN_DEFAULT);
}

static RelnNode *indices(Trial *t, const char *name, RelnDims dims, int limit,
                         const int32_t *values)
{
    t->bound[t->n_bound++] = (Bound){name, values, RELN_I32};
    return reln_input_index(t->f.graph, name, RELN_SAMPLES, dims, RELN_STEP, limit);
}

static RelnStatus trial_run(Trial *t, ptrdiff_t n)
{
    assert_ok(t->f.ctx, reln_plan_create(t->f.graph, &t->options, &t->plan));
    for (int i = 0; i < t->n_bound; i++)
        assert_ok(t->f.ctx,
                  reln_plan_bind(t->plan, t->bound[i].name, t->bound[i].values, t->bound[i].dtype));
    return reln_plan_run(t->plan, &(RelnRun){.n_samples = n});
}

/* Asserts exact equality: these ops only copy or compare. */
static void assert_exact(const Trial *t, const char *name, const double *want, size_t count)
{
    const double *got = reln_plan_output(t->plan, name, NULL);

    assert_non_null(got);
    for (size_t i = 0; i < count; i++)
        if (!(got[i] == want[i])) {
            print_error("%s[%zu] is %.17g, wanted %.17g\n", name, i, got[i], want[i]);
            fail();
        }
}

static void assert_refused(Trial *t, const RelnNode *z, RelnStatus status, const char *part)
{
    assert_null(z);
    assert_int_equal(reln_graph_status(t->f.graph), status);
    if (!strstr(reln_ctx_error(t->f.ctx), part)) {
        print_error("\"%s\" does not say \"%s\"\n", reln_ctx_error(t->f.ctx), part);
        fail();
    }
    trial_clear(t);
}

static void count_up(double *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = i + 1;
}

/* ---- matrices on K ------------------------------------------------------------------------------------------- */

static void transpose_passes_under_rotations(void **state)
{
    Trial t;
    double x[18], want[18];

    (void)state;
    trial_init(&t, "gl:3", "so:3");
    count_up(x, 18);
    for (int i = 0; i < 18; i++) /* (K = 9, C = 2) */
        want[i] = x[(i / 2 % 3 * 3 + i / 2 / 3) * 2 + i % 2];
    reln_output(t.f.graph, "z",
                reln_transpose_matrix(
                    t.f.graph, numbers(&t, "x", (RelnDims){.k = 9, .c = 2}, t.f.adjoint, x)));
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "z", want, 18);
    trial_clear(&t);
}

static void transpose_is_refused_under_all_matrices(void **state)
{
    Trial t;

    (void)state;
    trial_init(&t, "gl:3", "gl:3");
    assert_refused(
        &t,
        reln_transpose_matrix(t.f.graph, numbers(&t, "x", (RelnDims){.k = 9}, t.f.adjoint, NULL)),
        RELN_ERR_REP, "generator");
    trial_init(&t, "so:3", "so:3");
    assert_refused(
        &t,
        reln_transpose_matrix(t.f.graph, numbers(&t, "x", (RelnDims){.k = 3}, t.f.adjoint, NULL)),
        RELN_ERR_SHAPE, "3 coordinates, wanted n^2");
}

static void the_central_part_of_a_matrix_is_its_trace(void **state)
{
    static const double x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 12};
    static const double want[9] = {6, 0, 0, 0, 6, 0, 0, 0, 6};
    Trial t;

    (void)state;
    trial_init(&t, "gl:3", "gl:3");
    reln_output(t.f.graph, "z",
                reln_center_part(t.f.graph, t.f.algebra,
                                 numbers(&t, "x", (RelnDims){.k = 9}, t.f.adjoint, x)));
    assert_ok(t.f.ctx, trial_run(&t, 1));
    /* the projector is computed: a few roundings of numbers up to 6 */
    assert_near(reln_plan_output(t.plan, "z", NULL), want, 9, 64 * 0x1p-53);
    trial_clear(&t);
}

static void parts_of_a_sum_of_reps_come_back_exactly(void **state)
{
    Trial t;
    double x[6], y[6];
    const RelnRep *vector, *pair;
    RelnNode *both;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    vector = reln_rep_vector(t.f.group);
    pair = reln_rep_sum(t.f.adjoint, vector);
    count_up(x, 6);
    count_up(y, 6);
    both = reln_concat_k(t.f.graph, numbers(&t, "x", (RelnDims){.k = 3, .c = 2}, t.f.adjoint, x),
                         numbers(&t, "y", (RelnDims){.k = 3, .c = 2}, vector, y));
    assert_ptr_equal(reln_node_rep(both), pair);
    reln_output(t.f.graph, "both", both);
    reln_output(t.f.graph, "x", reln_slice_k(t.f.graph, both, 0, t.f.adjoint));
    reln_output(t.f.graph, "y", reln_slice_k(t.f.graph, both, 3, vector));
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "both", x, 6);
    assert_exact(&t, "x", x, 6);
    assert_exact(&t, "y", y, 6);
    trial_clear(&t);
}

static void a_part_that_the_group_mixes_with_others_is_refused(void **state)
{
    Trial t;
    RelnNode *x;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.k = 3}, t.f.adjoint, NULL);
    assert_refused(&t, reln_slice_k(t.f.graph, x, 1, reln_rep_trivial(t.f.group, 2)), RELN_ERR_REP,
                   "generator");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.k = 3}, t.f.adjoint, NULL);
    assert_refused(&t, reln_slice_k(t.f.graph, x, 2, reln_rep_trivial(t.f.group, 2)),
                   RELN_ERR_SHAPE, "coordinates 2 to 3");
}

/* ---- slices, joins, orders ----------------------------------------------------------------------------------- */

static void slices_pads_and_joins_have_the_values_they_say(void **state)
{
    static const double slice[4] = {3, 4, 5, 6}, pad[8] = {0, 1, 2, 0, 0, 3, 4, 0};
    static const double join[9] = {1, 2, 10, 3, 4, 20, 5, 6, 30};
    static const double y[3] = {10, 20, 30};
    Trial t;
    RelnNode *x, *xy[2];
    double values[6];

    (void)state;
    count_up(values, 6);
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.p = 3, .c = 2}, NULL, values);
    xy[0] = x;
    xy[1] = numbers(&t, "y", (RelnDims){.p = 3, .c = 1}, NULL, y);
    reln_output(t.f.graph, "slice", reln_slice(t.f.graph, x, RELN_P, 1, 2));
    reln_output(t.f.graph, "pad",
                reln_pad(t.f.graph, reln_slice(t.f.graph, x, RELN_P, 0, 2), RELN_C, 1, 1));
    reln_output(t.f.graph, "join", reln_concat(t.f.graph, 2, xy, RELN_C));
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "slice", slice, 4);
    assert_exact(&t, "pad", pad, 8);
    assert_exact(&t, "join", join, 9);
    trial_clear(&t);
}

static void ranges_and_reps_that_do_not_fit_are_refused(void **state)
{
    Trial t;
    RelnNode *x, *xy[2];
    const RelnDims dims = {.p = 3, .k = 3, .c = 2};

    (void)state;
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_slice(t.f.graph, x, RELN_P, 2, 2), RELN_ERR_SHAPE,
                   "2 places from 2 on, of axis P");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_slice(t.f.graph, x, RELN_K, 0, 1), RELN_ERR_REP, "invariants only");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_pad(t.f.graph, x, RELN_C, -1, 0), RELN_ERR_SHAPE, "-1 zeros before");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_slice(t.f.graph, x, (RelnAxis)9, 0, 1), RELN_ERR_ARG, "axis 9");
    trial_init(&t, "so:3", "so:3");
    xy[0] = numbers(&t, "x", dims, t.f.adjoint, NULL);
    xy[1] = numbers(&t, "y", dims, NULL, NULL);
    assert_refused(&t, reln_concat(t.f.graph, 2, xy, RELN_C), RELN_ERR_REP, "wanted one rep");
    trial_init(&t, "so:3", "so:3");
    xy[0] = numbers(&t, "x", dims, t.f.adjoint, NULL);
    xy[1] = numbers(&t, "y", (RelnDims){.p = 2, .k = 3, .c = 2}, t.f.adjoint, NULL);
    assert_refused(&t, reln_concat(t.f.graph, 2, xy, RELN_C), RELN_ERR_SHAPE, "differ on axis P");
    trial_init(&t, "so:3", "so:3");
    assert_refused(&t, reln_concat(t.f.graph, 65, xy, RELN_C), RELN_ERR_ARG, "65 values");
}

static void permuted_axes_hold_the_same_numbers(void **state)
{
    static const RelnAxis axes[RELN_AXES] = {RELN_C, RELN_P, RELN_K, RELN_R, RELN_Q};
    enum { P = 2, Q = 3, R = 2, K = 2, C = 4, ALL = P * Q * R * K * C };
    Trial t;
    double x[ALL], want[ALL];
    int at = 0;

    (void)state;
    count_up(x, ALL);
    /* z (C, P, K, R, Q) */
    for (int c = 0; c < C; c++)
        for (int p = 0; p < P; p++)
            for (int k = 0; k < K; k++)
                for (int r = 0; r < R; r++)
                    for (int q = 0; q < Q; q++)
                        want[at++] = x[(((p * Q + q) * R + r) * K + k) * C + c];
    trial_init(&t, "so:3", "so:3");
    reln_output(
        t.f.graph, "z",
        reln_permute(t.f.graph, numbers(&t, "x", (RelnDims){P, Q, R, K, C}, NULL, x), axes));
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "z", want, ALL);
    trial_clear(&t);
}

/* z[p, a, r, k, c] = x[p, r, k, a C' + c], for heads of one channel and of more, on several items. */
static void channels_are_divided_among_places_and_joined_again(void **state)
{
    enum { ITEMS = 3, P = 2, R = 3, K = 3, C = 12, ITEM = P * R * K * C, ALL = ITEMS * ITEM };
    static const int parts[] = {1, 2, 3, 6, 12};
    double x[ALL], want[ALL];

    (void)state;
    count_up(x, ALL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const int each = C / parts[i];
        Trial t;
        RelnNode *in, *z;

        for (int at = 0, row = 0; row < ITEMS * P; row++)
            for (int a = 0; a < parts[i]; a++)
                for (int rk = 0; rk < R * K; rk++)
                    for (int c = 0; c < each; c++)
                        want[at++] = x[(row * R * K + rk) * C + a * each + c];
        trial_init(&t, "so:3", "so:3");
        in = numbers(&t, "x", (RelnDims){P, 1, R, K, C}, t.f.adjoint, x);
        z = reln_split(t.f.graph, in, parts[i], RELN_Q);
        reln_output(t.f.graph, "parts", z);
        reln_output(t.f.graph, "whole", reln_merge(t.f.graph, z, RELN_Q));
        assert_ok(t.f.ctx, trial_run(&t, ITEMS));
        assert_exact(&t, "parts", want, ALL);
        assert_exact(&t, "whole", x, ALL);
        trial_clear(&t);
    }
}

static void channels_are_divided_evenly_along_an_axis_of_one_place(void **state)
{
    const RelnDims dims = {.p = 2, .k = 3, .c = 4};
    Trial t;
    RelnNode *x;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_split(t.f.graph, x, 3, RELN_Q), RELN_ERR_SHAPE, "into 3 parts");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_split(t.f.graph, x, 0, RELN_Q), RELN_ERR_SHAPE, "into 0 parts");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_split(t.f.graph, x, 2, RELN_P), RELN_ERR_SHAPE, "an axis of extent 1");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_split(t.f.graph, x, 2, RELN_K), RELN_ERR_ARG, "wanted P, Q or R");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", dims, t.f.adjoint, NULL);
    assert_refused(&t, reln_merge(t.f.graph, x, RELN_C), RELN_ERR_ARG, "wanted P, Q or R");
}

static void coordinates_of_a_feature_do_not_move(void **state)
{
    static const RelnAxis twice[RELN_AXES] = {RELN_P, RELN_P, RELN_R, RELN_K, RELN_C};
    Trial t;
    RelnNode *x;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.p = 3, .k = 3, .c = 2}, t.f.adjoint, NULL);
    assert_refused(&t, reln_swap_axes(t.f.graph, x, RELN_P, RELN_K), RELN_ERR_REP,
                   "invariants only");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.p = 3, .k = 3, .c = 2}, t.f.adjoint, NULL);
    assert_refused(&t, reln_reshape(t.f.graph, x, (RelnDims){.k = 3, .c = 6}), RELN_ERR_REP,
                   "would mix coordinates");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.p = 3, .k = 3, .c = 2}, t.f.adjoint, NULL);
    assert_refused(&t, reln_reshape(t.f.graph, x, (RelnDims){.p = 4, .k = 3, .c = 2}),
                   RELN_ERR_SHAPE, "has 18 elements");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.p = 3, .k = 3, .c = 2}, t.f.adjoint, NULL);
    assert_refused(&t, reln_permute(t.f.graph, x, twice), RELN_ERR_ARG, "each of 0 to 4 once");
}

static void indices_move_like_numbers(void **state)
{
    static const int32_t at[6] = {0, 1, 2, 3, 4, 5}, want[8] = {0, 2, 1, 3, 2, 4, 3, 5};
    Trial t;
    RelnNode *x, *parts[2];

    (void)state;
    trial_init(&t, "so:3", "so:3");
    x = indices(&t, "x", (RelnDims){.p = 3, .c = 2}, 6, at);
    parts[0] = reln_slice(t.f.graph, x, RELN_P, 0, 2);
    parts[1] = reln_slice(t.f.graph, x, RELN_P, 1, 2);
    x = reln_concat(t.f.graph, 2, parts,
                    RELN_R); /* (P = 2, R = 2, C = 2), slices one behind the other */
    x = reln_swap_axes(t.f.graph, x, RELN_R, RELN_C);
    reln_output(t.f.graph, "z", reln_reshape(t.f.graph, x, (RelnDims){.c = 8}));
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_memory_equal(reln_plan_output(t.plan, "z", NULL), want, sizeof want);
    trial_clear(&t);
}

/* ---- choices ------------------------------------------------------------------------------------------------- */

static void the_first_of_equal_ones_wins_and_nan_never(void **state)
{
    const double x[12] = {NO_NUMBER, 5, 1, -ENDLESS,  2,        7, 3,
                          NO_NUMBER, 2, 7, NO_NUMBER, NO_NUMBER /* (P = 3, C = 4) */};
    static const int32_t most[4] = {1, 1, 1, 0}, least[4] = {1, 0, 0, 0};
    Trial t;
    RelnNode *in;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    in = numbers(&t, "x", (RelnDims){.p = 3, .c = 4}, NULL, x);
    reln_output(t.f.graph, "most", reln_argmax(t.f.graph, in, RELN_P));
    reln_output(t.f.graph, "least", reln_argmin(t.f.graph, in, RELN_P));
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_memory_equal(reln_plan_output(t.plan, "most", NULL), most, sizeof most);
    assert_memory_equal(reln_plan_output(t.plan, "least", NULL), least, sizeof least);
    trial_clear(&t);
}

static void pooled_features_come_from_the_winning_point(void **state)
{
    static const double x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}; /* (P = 2, K = 3, C = 2) */
    static const double score[4] = {0.5, 3, 1, -1};                      /* (P = 2, C = 2) */
    static const double want[6] = {7, 2, 9, 4, 11, 6};
    static const double back[12] = {0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0};
    Trial t;
    RelnNode *in, *z, *ones, *grad = NULL;

    (void)state;
    trial_init(&t, "gl:3", "none:3");
    in = numbers(&t, "x", (RelnDims){.p = 2, .k = 3, .c = 2}, NULL, x);
    z = reln_pick(
        t.f.graph, in,
        reln_argmax(t.f.graph, numbers(&t, "s", (RelnDims){.p = 2, .c = 2}, NULL, score), RELN_P),
        RELN_P);
    ones = reln_sum_all(t.f.graph, z);
    assert_true(reln_grad(t.f.graph, ones, 1, &in, &grad));
    reln_output(t.f.graph, "z", z);
    reln_output(t.f.graph, "grad", grad);
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "z", want, 6);
    assert_exact(&t, "grad", back, 12);
    trial_clear(&t);
}

static void an_index_outside_of_the_axis_is_an_error_of_the_run(void **state)
{
    static const double x[2] = {1, 2};
    static const int32_t at[2] = {2, 4}; /* the first place behind the last one, and one beyond */

    (void)state;
    for (int i = 0; i < 2; i++) {
        Trial t;
        char words[64];

        trial_init(&t, "so:3", "so:3");
        reln_output(t.f.graph, "z",
                    reln_pick(t.f.graph, numbers(&t, "x", (RelnDims){.p = 2}, NULL, x),
                              indices(&t, "at", (RelnDims){.p = 1}, 5, at + i), RELN_P));
        assert_int_equal(trial_run(&t, 1), RELN_ERR_ARG);
        snprintf(words, sizeof words, "pick: index %d on axis P, wanted 0 to 1", (int)at[i]);
        assert_string_equal(reln_ctx_error(t.f.ctx), words);
        trial_clear(&t);
    }
}

static void indices_of_items_are_not_places_on_an_axis(void **state)
{
    Trial t;
    RelnDomain rows;
    RelnNode *x, *at;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    rows = reln_rows(t.f.graph, "points", 9);
    x = reln_input(t.f.graph, "x", rows, (RelnDims){.p = 2}, NULL, RELN_DEFAULT);
    at = reln_input_index(t.f.graph, "at", rows, (RelnDims){.p = 1}, rows, 0);
    assert_refused(&t, reln_pick(t.f.graph, x, at, RELN_P), RELN_ERR_ARG,
                   "number items of points, wanted places on axis P");
}

static void what_is_not_selected_plays_no_part(void **state)
{
    const double x[3] = {1, NO_NUMBER, 3}, y[3] = {ENDLESS, 5, NO_NUMBER};
    static const double mask[3] = {1, 0, 1}, want[3] = {1, 5, 3}, square[3] = {2, 0, 6};
    Trial t;
    RelnNode *a, *z, *grad = NULL;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    a = numbers(&t, "x", (RelnDims){.c = 3}, NULL, x);
    z = reln_select(t.f.graph, numbers(&t, "m", (RelnDims){.c = 3}, NULL, mask), a,
                    numbers(&t, "y", (RelnDims){.c = 3}, NULL, y));
    assert_true(
        reln_grad(t.f.graph, reln_sum_all(t.f.graph, reln_square(t.f.graph, z)), 1, &a, &grad));
    reln_output(t.f.graph, "z", z);
    reln_output(t.f.graph, "grad", grad);
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "z", want, 3);
    assert_exact(&t, "grad", square, 3);
    trial_clear(&t);
}

static void gradients_of_equal_numbers_go_to_the_first(void **state)
{
    static const double x[3] = {1, 2, 3}, y[3] = {2, 2, 2};
    static const double most[3] = {2, 2, 3}, least[3] = {1, 2, 2};
    static const double most_x[3] = {0, 1, 1}, most_y[3] = {1, 0, 0};
    static const double least_x[3] = {1, 1, 0}, least_y[3] = {0, 0, 1};
    Trial t;
    RelnNode *in[2], *max, *min, *g[4];

    (void)state;
    trial_init(&t, "so:3", "so:3");
    in[0] = numbers(&t, "x", (RelnDims){.c = 3}, NULL, x);
    in[1] = numbers(&t, "y", (RelnDims){.c = 3}, NULL, y);
    max = reln_maximum(t.f.graph, in[0], in[1]);
    min = reln_minimum(t.f.graph, in[0], in[1]);
    assert_true(reln_grad(t.f.graph, reln_sum_all(t.f.graph, max), 2, in, g));
    assert_true(reln_grad(t.f.graph, reln_sum_all(t.f.graph, min), 2, in, g + 2));
    reln_output(t.f.graph, "max", max);
    reln_output(t.f.graph, "min", min);
    reln_output(t.f.graph, "max_x", g[0]);
    reln_output(t.f.graph, "max_y", g[1]);
    reln_output(t.f.graph, "min_x", g[2]);
    reln_output(t.f.graph, "min_y", g[3]);
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "max", most, 3);
    assert_exact(&t, "min", least, 3);
    assert_exact(&t, "max_x", most_x, 3);
    assert_exact(&t, "max_y", most_y, 3);
    assert_exact(&t, "min_x", least_x, 3);
    assert_exact(&t, "min_y", least_y, 3);
    trial_clear(&t);
}

static void no_derivative_passes_a_stop(void **state)
{
    static const double x[2] = {3, 4}, want[2] = {3, 4}, full[2] = {9, 16};
    Trial t;
    RelnNode *in, *z, *grad = NULL;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    in = numbers(&t, "x", (RelnDims){.c = 2}, NULL, x);
    z = reln_mul(t.f.graph, in, reln_stop_gradient(t.f.graph, in));
    assert_true(reln_grad(t.f.graph, reln_sum_all(t.f.graph, z), 1, &in, &grad));
    reln_output(t.f.graph, "z", z);
    reln_output(t.f.graph, "grad", grad);
    assert_ok(t.f.ctx, trial_run(&t, 1));
    assert_exact(&t, "z", full, 2);
    assert_exact(&t, "grad", want, 2);
    trial_clear(&t);
}

static void masks_and_comparisons_want_invariants(void **state)
{
    Trial t;
    RelnNode *x, *m;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.k = 3}, t.f.adjoint, NULL);
    assert_refused(&t, reln_less(t.f.graph, x, x), RELN_ERR_REP, "invariants only");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.k = 3}, t.f.adjoint, NULL);
    m = numbers(&t, "m", (RelnDims){.k = 3}, NULL, NULL);
    assert_refused(&t, reln_mask(t.f.graph, m, x), RELN_ERR_REP, "wanted K = 1");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.k = 3}, t.f.adjoint, NULL);
    m = numbers(&t, "m", (RelnDims){.k = 3}, NULL, NULL);
    assert_refused(&t, reln_select(t.f.graph, reln_scalar(t.f.graph, 1.0), x, m), RELN_ERR_REP,
                   "transform differently");
    trial_init(&t, "so:3", "so:3");
    x = numbers(&t, "x", (RelnDims){.k = 3}, t.f.adjoint, NULL);
    assert_refused(&t, reln_softmax(t.f.graph, x, RELN_C), RELN_ERR_REP, "invariants only");
}

/* ---- exponentials -------------------------------------------------------------------------------------------- */

static void softmax_neither_overflows_nor_minds_minus_infinity(void **state)
{
    const double x[6] = {1000, 1000, -ENDLESS, -1000, -1000, -ENDLESS};
    static const double want[6] = {0.5, 0.5, 0, 0.5, 0.5, 0};
    const double sums[2] = {1000 + log(2.0), -1000 + log(2.0)};
    Trial t;
    RelnNode *in;

    (void)state;
    trial_init(&t, "so:3", "so:3");
    in = numbers(&t, "x", (RelnDims){.c = 3}, NULL, x);
    reln_output(t.f.graph, "z", reln_softmax(t.f.graph, in, RELN_C));
    reln_output(t.f.graph, "sum", reln_logsumexp(t.f.graph, in, RELN_C));
    assert_ok(t.f.ctx, trial_run(&t, 2));
    assert_exact(&t, "z", want, 6);
    assert_exact(&t, "sum", sums, 2);
    trial_clear(&t);
}

/* Probabilities of 1 to 4 in tenths, along an axis that is not that of the channels, at two heights that exp() alone cannot take. */
static void logarithms_of_softmax_are_those_of_its_shares(void **state)
{
    double x[2 * 4 * 2], want[2 * 4 * 2];
    Trial t;
    RelnNode *in;

    (void)state;
    for (int i = 0; i < 16; i++) {
        want[i] = log((i / 2 % 4 + 1) / 10.0);
        x[i] = want[i] + (i % 2 ? 900 : -900);
    }
    trial_init(&t, "so:3", "so:3");
    in = numbers(&t, "x", (RelnDims){.p = 4, .c = 2}, NULL, x);
    reln_output(t.f.graph, "z", reln_log_softmax(t.f.graph, in, RELN_P));
    assert_ok(t.f.ctx, trial_run(&t, 2));
    /* numbers up to 903 are rounded twice, and subtracted */
    assert_near(reln_plan_output(t.plan, "z", NULL), want, 16, 8 * 903 * 0x1p-53);
    trial_clear(&t);
}

static void cross_entropy_of_no_preference_is_the_log_of_the_classes(void **state)
{
    static const double x[8] = {2, 2, 2, 2, 0, 0, 0, 1};
    static const int32_t label[2] = {3, 0};
    double want[2];
    Trial t;

    (void)state;
    want[0] = log(4.0);
    want[1] = log(3.0 + exp(1.0));
    trial_init(&t, "so:3", "so:3");
    reln_output(t.f.graph, "z",
                reln_cross_entropy(t.f.graph, numbers(&t, "x", (RelnDims){.c = 4}, NULL, x),
                                   indices(&t, "label", (RelnDims){.c = 1}, 4, label)));
    assert_ok(t.f.ctx, trial_run(&t, 2));
    /* one log, a sum of four exponentials, two additions: each within an ulp of numbers up to 4 */
    assert_near(reln_plan_output(t.plan, "z", NULL), want, 2, 16 * 0x1p-53);
    trial_clear(&t);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* Makes a function whose result is a view of a matrix product with another shape. */
static RelnFn *wide_then_narrow(RelnGraph *g)
{
    RelnGraph *body = reln_fn_begin(g, "wide");
    RelnNode *x = reln_argument(body, RELN_SAMPLES, (RelnDims){.c = 10}, NULL, RELN_DEFAULT);
    RelnNode *w = reln_argument(body, RELN_STEP, (RelnDims){.r = 10, .c = 100}, NULL, RELN_DEFAULT);
    RelnNode *z = reln_reshape(body, reln_mix(body, x, w), (RelnDims){.p = 100, .c = 1});

    return reln_fn_end(body, 1, &z);
}

/* The memory of x is free after the first call, and the second result takes its place, below the second
 * argument and the first result. */
static void a_view_as_result_of_a_function_overwrites_nothing(void **state)
{
    double x[30], w[1000] = {0};
    float want[300];
    RelnNode *in[2], *twice, *weights, *a = NULL, *b = NULL;
    RelnFn *fn;
    Trial t;

    (void)state;
    count_up(x, 30);
    count_up(w, 100); /* the other rows are 0, so each sum is one exact product */
    for (int i = 0; i < 300; i++)
        want[i] = (float)(21 * x[i / 100 * 10] * w[i % 100]);
    memset(&t, 0, sizeof t);
    fixture_init(&t.f, "so:3", "so:3", RELN_F32);
    t.options.shard = 1;
    fn = wide_then_narrow(t.f.graph);
    in[0] = numbers(&t, "x", (RelnDims){.c = 10}, NULL, x);
    weights = in[1] = reln_const(t.f.graph, (RelnDims){.r = 10, .c = 100}, NULL, w);
    twice = reln_scale(t.f.graph, in[0], 2.0);
    assert_true(reln_call(t.f.graph, fn, 2, in, &a));
    assert_true(reln_call(t.f.graph, fn, 2, (RelnNode *[]){twice, weights}, &b));
    reln_output(t.f.graph, "z", reln_add(t.f.graph, a, reln_scale(t.f.graph, b, 10.0)));
    assert_ok(t.f.ctx, trial_run(&t, 3));
    assert_memory_equal(reln_plan_output(t.plan, "z", NULL), want, sizeof want);
    trial_clear(&t);
}

/* Every op of this file in one network, with its gradient. */
static RelnNode *everything(Fixture *f, RelnNode *x, RelnNode *label)
{
    RelnGraph *g = f->graph;
    RelnNode *w =
        reln_param(g, "w", (RelnDims){.r = 4, .c = 4}, (RelnInit){RELN_INIT_UNIFORM, 1.0});
    RelnNode *y = reln_conv(g, reln_sub(g, x, reln_center_part(g, f->algebra, x)), w, RELN_P,
                            (RelnWindow){2, 1, 1, 1, 1});
    RelnNode *s = reln_form(g, f->algebra, RELN_FORM_COMPLETED, y, y);
    RelnNode *best = reln_pick(g, y, reln_argmax(g, s, RELN_P), RELN_P), *both[2];

    both[0] = best;
    both[1] = reln_pad(g, reln_slice(g, best, RELN_C, 0, 2), RELN_C, 1, 1);
    best = reln_concat(g, 2, both, RELN_R);
    best = reln_slice_k(g, reln_concat_k(g, best, best), 4, f->adjoint);
    s = reln_form(g, f->algebra, RELN_FORM_COMPLETED, best, best);
    s = reln_maximum(g, s, reln_stop_gradient(g, reln_minimum(g, s, reln_scale(g, s, 2.0))));
    s = reln_mul(g, s, reln_softmax(g, reln_swap_axes(g, s, RELN_P, RELN_C), RELN_P));
    s = reln_reshape(g, reln_sum(g, s, RELN_P), (RelnDims){.c = 8});
    return reln_batch_mean(g, reln_cross_entropy(g, s, label));
}

static RelnStatus build_and_run(Fixture *f, RelnPlan **plan)
{
    static const double values[24] = {1, 2, 3, 0.5, -1, 2, 0.25, 4, -2, 1, 0, 1,
                                      2, 1, 0, 3,   1,  1, 1,    5, -3, 2, 2, 1};
    static const int32_t label[1] = {5};
    RelnNode *x = reln_input(f->graph, "x", RELN_SAMPLES, (RelnDims){.p = 3, .k = 4, .c = 2},
                             f->adjoint, RELN_DEFAULT);
    RelnNode *loss = everything(
        f, x, reln_input_index(f->graph, "label", RELN_SAMPLES, (RelnDims){.c = 1}, RELN_STEP, 8));
    RelnNode *grad = NULL;

    if (reln_grad(f->graph, loss, 1, &x, &grad))
        reln_output(f->graph, "grad", grad);
    RELN_TRY(reln_graph_status(f->graph));
    RELN_TRY(reln_plan_create(f->graph, NULL, plan));
    RELN_TRY(reln_plan_bind(*plan, "x", values, RELN_F64));
    RELN_TRY(reln_plan_bind(*plan, "label", label, RELN_I32));
    return reln_plan_run(*plan, &(RelnRun){.n_samples = 1});
}

static RelnStatus whole_program(RelnCtx *ctx)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnStatus status = fixture_build(&f, ctx, "gl:2", "gl:2", RELN_F64);

    if (status == RELN_OK)
        status = build_and_run(&f, &plan);
    reln_plan_destroy(plan);
    fixture_release(&f);
    return status;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(whole_program) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpose_passes_under_rotations),
        cmocka_unit_test(transpose_is_refused_under_all_matrices),
        cmocka_unit_test(the_central_part_of_a_matrix_is_its_trace),
        cmocka_unit_test(parts_of_a_sum_of_reps_come_back_exactly),
        cmocka_unit_test(a_part_that_the_group_mixes_with_others_is_refused),
        cmocka_unit_test(slices_pads_and_joins_have_the_values_they_say),
        cmocka_unit_test(ranges_and_reps_that_do_not_fit_are_refused),
        cmocka_unit_test(permuted_axes_hold_the_same_numbers),
        cmocka_unit_test(channels_are_divided_among_places_and_joined_again),
        cmocka_unit_test(channels_are_divided_evenly_along_an_axis_of_one_place),
        cmocka_unit_test(coordinates_of_a_feature_do_not_move),
        cmocka_unit_test(indices_move_like_numbers),
        cmocka_unit_test(the_first_of_equal_ones_wins_and_nan_never),
        cmocka_unit_test(pooled_features_come_from_the_winning_point),
        cmocka_unit_test(an_index_outside_of_the_axis_is_an_error_of_the_run),
        cmocka_unit_test(indices_of_items_are_not_places_on_an_axis),
        cmocka_unit_test(what_is_not_selected_plays_no_part),
        cmocka_unit_test(gradients_of_equal_numbers_go_to_the_first),
        cmocka_unit_test(no_derivative_passes_a_stop),
        cmocka_unit_test(masks_and_comparisons_want_invariants),
        cmocka_unit_test(softmax_neither_overflows_nor_minds_minus_infinity),
        cmocka_unit_test(logarithms_of_softmax_are_those_of_its_shares),
        cmocka_unit_test(cross_entropy_of_no_preference_is_the_log_of_the_classes),
        cmocka_unit_test(a_view_as_result_of_a_function_overwrites_nothing),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
