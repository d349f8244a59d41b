/* Tests data: errors give one line, data are lifted once or batch by batch to the same numbers, and binding
 * allocates nothing. */
#include "model/data.h"
#include "model/world.h"

#define MATRICES "{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
#define SMALL " model: {width: 4, depth: 1}, train: {dtype: f64}}"
#define COVARIANCES                                                                                \
    "{symmetry: so:3, inputs: [{name: C, as: covariance, log: true}],"                             \
    " target: {name: y, as: class, classes: 3}," SMALL
#define SETS                                                                                       \
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m},"                      \
    " {name: X, as: matrix}, {name: s, as: scalar, points: true, mask: m}],"                       \
    " target: {name: y, as: vector}," SMALL

enum { SAMPLES = 6 };

/* ---- what is refused ------------------------------------------------------------------------------------------------- */

static void set_value(World *w, const char *name, ptrdiff_t at, double value)
{
    ((double *)world_find(w, name)->values)[at] = value;
}

static void set_dim(World *w, const char *name, int axis, ptrdiff_t extent)
{
    world_find(w, name)->dims[axis] = extent;
    world_forget(w);
}

static void set_rank(World *w, const char *name, int rank)
{
    world_find(w, name)->rank = rank;
}

static void rename_array(World *w, const char *name, const char *other)
{
    world_find(w, name)->name = other;
    world_forget(w);
}

typedef struct Bad {
    const char *yaml;
    void (*spoil)(World *w);
    const char *message;
} Bad;

static void no_input(World *w)
{
    rename_array(w, "X", "Z");
}
static void no_target(World *w)
{
    rename_array(w, "y", "Z");
}
static void no_mask(World *w)
{
    rename_array(w, "m", "Z");
}
static void not_square(World *w)
{
    set_dim(w, "X", 3, 2);
}
static void flat_matrix(World *w)
{
    set_rank(w, "X", 2);
}
static void too_deep(World *w)
{
    set_dim(w, "X", 1, 1);
    set_dim(w, "X", 2, 2);
    set_rank(w, "X", 5);
    set_dim(w, "X", 3, 3);
    set_dim(w, "X", 4, 3);
}
static void fewer_targets(World *w)
{
    set_dim(w, "y", 0, SAMPLES - 1);
}
static void empty(World *w)
{
    set_dim(w, "X", 0, 0);
}
static void not_a_number(World *w)
{
    set_value(w, "X", 2 * 18 + 5, (double)NAN);
}
static void far_too_large(World *w)
{
    set_value(w, "X", 2 * 18 + 5, 1e300);
}
static void infinite_target(World *w)
{
    set_value(w, "y", 7, -HUGE_VAL);
}
static void negative_eigenvalue(World *w)
{
    static const double s[9] = {1, 0, 0, 0, 1, 0, 0, 0, -0.3};

    memcpy((double *)world_find(w, "C")->values + 4 * 18 + 9, s, sizeof s);
}
static void not_symmetric(World *w)
{
    static const double s[9] = {1, 0.2, 0, 0, 1, 0, 0, 0, 1};

    memcpy((double *)world_find(w, "C")->values + 3 * 18, s, sizeof s);
}
static void class_too_large(World *w)
{
    set_value(w, "y", 5, 3);
}
static void class_between(World *w)
{
    set_value(w, "y", 1, 0.5);
}
static void class_negative(World *w)
{
    set_value(w, "y", 2, -1);
}
static void classes_in_columns(World *w)
{
    set_dim(w, "y", 0, 3);
    set_dim(w, "y", 1, 2);
    set_rank(w, "y", 2);
}
static void other_mask(World *w)
{
    set_dim(w, "m", 1, 3);
}
static void mask_between(World *w)
{
    set_value(w, "m", 3 * WORLD_POINTS + 1, 0.5);
}
static void no_point(World *w)
{
    for (int p = 0; p < WORLD_POINTS; p++)
        set_value(w, "m", 2 * WORLD_POINTS + p, 0);
}
static void fewer_points(World *w)
{
    set_dim(w, "s", 1, 2);
}
static void identity(World *w)
{
    for (int i = 0; i < 9; i++)
        set_value(w, "X", i, i % 4 == 0);
}
static void long_quaternion(World *w)
{
    for (int i = 0; i < 4; i++)
        set_value(w, "q", i, i < 2);
}
static void slightly_long_quaternion(World *w)
{
    for (int i = 0; i < 4; i++)
        set_value(w, "q", i, i == 0 ? 1.001 : 0);
}
static void zero_eigenvalue(World *w)
{
    static const double s[9] = {1, 0, 0, 0, 1, 0, 0, 0, 0};

    memcpy((double *)world_find(w, "C")->values + 4 * 18 + 9, s, sizeof s);
}
static void slightly_asymmetric(World *w)
{
    static const double s[9] = {1, 0, 0, 1e-3, 1, 0, 0, 0, 1};

    memcpy((double *)world_find(w, "C")->values, s, sizeof s);
}
static void nothing(World *w)
{
    (void)w;
}

#define SO3(inputs) "{symmetry: so:3, inputs: [" inputs "], target: {name: y, as: scalar}," SMALL
#define GL3(inputs) "{symmetry: gl:3, inputs: [" inputs "], target: {name: y, as: scalar}," SMALL

static const Bad bad[] = {
    {MATRICES SMALL, far_too_large,
     "X: row 2 has 1e+300; numbers up to 1e+150 were wanted, for dtype f64"},
    {MATRICES " model: {width: 2}, train: {dtype: f32}}", far_too_large,
     "X: row 2 has 1e+300; numbers up to 1e+37 were wanted, for dtype f32"},
    {MATRICES SMALL, no_input, "data.npz: there is no array X; there are Z (6, 2, 3, 3), y (6, 2)"},
    {MATRICES SMALL, no_target, "target y: its shape is not known; wanted data with a target"},
    {SETS, no_mask,
     "data.npz: there is no array m; there are v (6, 4, 2, 3), X (6, 2, 3, 3), s (6, 4, 2), Z (6, "
     "4), "
     "y (6, 2, 3)"},
    {MATRICES SMALL, not_square,
     "X: shape (6, 2, 3, 2); wanted (N, 3, 3) or (N, M, 3, 3) (as: matrix)"},
    {MATRICES SMALL, flat_matrix, "X: shape (6, 2); wanted (N, 3, 3) or (N, M, 3, 3) (as: matrix)"},
    {MATRICES SMALL, too_deep,
     "X: shape (6, 1, 2, 3, 3); wanted (N, 3, 3) or (N, M, 3, 3) (as: matrix)"},
    {MATRICES SMALL, fewer_targets, "y: 5 rows; wanted 6, as X has"},
    {MATRICES SMALL, empty, "X: shape (0, 2, 3, 3); wanted (N, 3, 3) or (N, M, 3, 3) (as: matrix)"},
    {MATRICES SMALL, not_a_number,
     "X: row 2 has a number that is not a number; finite ones were wanted"},
    {MATRICES SMALL, infinite_target,
     "y: row 3 has a number that is infinite; finite ones were wanted"},
    {COVARIANCES, negative_eigenvalue,
     "C: row 4 is not positive definite (smallest eigenvalue -0.3); a covariance was wanted"},
    {COVARIANCES, zero_eigenvalue,
     "C: row 4 is not positive definite (smallest eigenvalue 0); a covariance was wanted"},
    {COVARIANCES, slightly_asymmetric,
     "C: row 0 is not symmetric (by 0.00041 of its size); a covariance was wanted"},
    {COVARIANCES, not_symmetric,
     "C: row 3 is not symmetric (by 0.081 of its size); a covariance was wanted"},
    {COVARIANCES, class_too_large,
     "y: row 5 is 3; a class, a whole number from 0 to 2, was wanted"},
    {COVARIANCES, class_between,
     "y: row 1 is 0.5; a class, a whole number from 0 to 2, was wanted"},
    {COVARIANCES, class_negative,
     "y: row 2 is -1; a class, a whole number from 0 to 2, was wanted"},
    {COVARIANCES, classes_in_columns, "y: shape (3, 2); wanted (N,), a class for each row"},
    {SETS, other_mask, "m: shape (6, 3); wanted (6, 4), a mask for s"},
    {SETS, mask_between, "m: row 3 has 0.5; a mask of 0 and 1 was wanted"},
    {SETS, no_point, "m: row 2 has no point; at least one was wanted"},
    {SETS, fewer_points, "s: 2 points; wanted 4, as v has"},
    {GL3("{name: C, as: covariance, log: true}"), nothing,
     "C: a covariance goes to g S g^T, which is a conjugation for rotations and reflections only "
     "and not for gl:3; wanted reference: mean"},
    {GL3("{name: v, as: vector}"), nothing,
     "v: gl:3 keeps no length of vectors; wanted a group that keeps lengths (so:n, o:n, so:p,q, "
     "lorentz), or covariances with reference: mean beside it"},
    {GL3("{name: s, as: scalar}"), nothing,
     "every input is a scalar, on which gl:3 does nothing; wanted kind: mlp"},
    {"{symmetry: none:3, inputs: [{name: X, as: matrix}, {name: e, as: element}],"
     " target: {name: y, as: scalar}," SMALL,
     nothing, "e: none:3 has no algebra that elements could be in; wanted as: matrix"},
    {"{symmetry: so:3, features: gl:2, inputs: [{name: X, as: matrix}],"
     " target: {name: y, as: scalar}," SMALL,
     nothing,
     "features gl:2 are 2 x 2 matrices, the symmetry so:3 acts on 3 x 3; wanted features at least "
     "as large"},
    {"{symmetry: so:3, features: so:3, inputs: [{name: X, as: matrix}],"
     " target: {name: y, as: scalar}," SMALL,
     identity,
     "X: row 0 is not in so:3 (distance 1 of its size); an element of the features was wanted"},
    {"{symmetry: o:3, features: gl:3, inputs: [{name: v, as: vector}],"
     " target: {name: y, as: scalar}," SMALL,
     nothing,
     "v: the lift by hat does not respect o:3 (discrete generator 0 of o:3 fails by 2 (tolerance "
     "1e-10)); wanted rotations (so:3), or features: gl:4"},
    {"{symmetry: sp:4, inputs: [{name: v, as: fourvector}], target: {name: y, as: scalar}," SMALL,
     nothing,
     "v: a fourvector (E, px, py, pz) does not follow sp:4; wanted symmetry: lorentz, so:1,3 or "
     "o:1,3"},
    {"{symmetry: so:4, inputs: [{name: v, as: fourvector}], target: {name: y, as: scalar}," SMALL,
     nothing,
     "v: a fourvector (E, px, py, pz) does not follow so:4; wanted symmetry: lorentz, so:1,3 or "
     "o:1,3"},
    {"{symmetry: so:3, inputs: [{name: q, as: quaternion}], target: {name: y, as: scalar}," SMALL,
     slightly_long_quaternion,
     "q: row 0 has length 1.001; a unit quaternion (w, x, y, z) was wanted"},
    {"{symmetry: o:3, inputs: [{name: q, as: quaternion}], target: {name: y, as: scalar}," SMALL,
     nothing,
     "q: a quaternion is an attitude in space, which o:3 does not turn into another; wanted "
     "symmetry: so:3"},
    {"{symmetry: so:3, inputs: [{name: q, as: quaternion}], target: {name: y, as: scalar}," SMALL,
     long_quaternion, "q: row 0 has length 1.41421; a unit quaternion (w, x, y, z) was wanted"},
    {"{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: vector}," SMALL,
     nothing,
     "target y: no map leads from features gl:3 to vectors under gl:3; wanted a vector among the "
     "inputs; in layer read-out"},
    {"{symmetry: so:3, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
     " model: {kind: vector-neurons}}",
     nothing,
     "X: vector-neurons take vectors and scalars, and this is a matrix; wanted kind: reln"},
    {"{symmetry: gl:3, inputs: [{name: v, as: vector}], target: {name: y, as: scalar},"
     " model: {kind: vector-neurons}}",
     nothing,
     "vector-neurons need the dot product, which gl:3 does not keep; wanted so:n or o:n, or kind: "
     "reln"},
    {"{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: matrix},"
     " model: {width: 2}, train: {loss: mae}}",
     nothing,
     "target y: errors of a matrix under gl:3 have no length of their own; wanted loss: mse"},
};

/* Opens everything as training does. */
static RelnStatus open_all(World *w)
{
    RelnModelGraph net = {0};
    RelnStatus status = world_model(w);

    if (status == RELN_OK)
        status = world_data(w, NULL);
    if (status == RELN_OK)
        status = reln_model_build(w->model, &(RelnModelOptions){.train = true, .loss = true}, &net);
    reln_model_graph_clear(&net);
    return status;
}

static void bad_data_get_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        RelnStatus status;
        World w;

        assert_ok(NULL, world_init(&w, NULL, bad[i].yaml, SAMPLES));
        bad[i].spoil(&w);
        status = open_all(&w);
        assert_int_not_equal(status, RELN_OK);
        assert_int_not_equal(status,
                             RELN_ERR_NUMERIC); /* this status is for models, not for data */
        assert_string_equal(reln_ctx_error(w.ctx), bad[i].message);
        world_clear(&w);
    }
}

static void a_model_refuses_data_of_other_shapes(void **state)
{
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL, MATRICES SMALL, SAMPLES));
    assert_ok(w.ctx, world_model(&w));
    set_dim(&w, "X", 1, 1);
    assert_int_equal(world_data(&w, NULL), RELN_ERR_SHAPE);
    assert_string_equal(reln_ctx_error(w.ctx),
                        "X: 0 points of 1 channels; wanted 0 and 2, as the model was made for");
    set_dim(&w, "X", 1, 2);
    rename_array(&w, "y", "Z");
    assert_int_equal(world_data(&w, NULL), RELN_ERR_FORMAT);
    assert_string_equal(
        reln_ctx_error(w.ctx),
        "data.npz: there is no array y, the target; there are X (6, 2, 3, 3), Z (6, 2)");
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.without_target = true}));
    assert_false(reln_data_has_target(w.data));
    world_clear(&w);
}

/* ---- batches --------------------------------------------------------------------------------------------------------- */

typedef struct Run {
    RelnModelGraph net;
    RelnPlan *plan;
} Run;

static void run_init(Run *r, World *w)
{
    assert_ok(w->ctx, reln_model_build(w->model, &(RelnModelOptions){.loss = true}, &r->net));
    reln_output(r->net.graph, "loss", r->net.loss);
    assert_ok(w->ctx, reln_plan_create(r->net.graph, NULL, &r->plan));
}

static void run_clear(Run *r)
{
    reln_plan_destroy(r->plan);
    reln_model_graph_clear(&r->net);
}

/* Predictions and the loss of these rows. */
static void predict(Run *r, World *w, ptrdiff_t n, const ptrdiff_t *rows, uint64_t epoch,
                    double *out)
{
    const RelnLayout layout = reln_data_layout(w->data);

    assert_ok(w->ctx, reln_data_bind(w->data, r->plan, n, rows, epoch));
    assert_ok(w->ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = n}));
    reln_model_predictions(w->model, r->plan, &layout, n, NULL, out);
    out[n * layout.outputs] = *(const double *)reln_plan_output(r->plan, "loss", NULL);
}

enum { MOST = 64 };

static const char *const kinds[] = {
    MATRICES SMALL,
    COVARIANCES,
    SETS,
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: matrix}," SMALL,
    "{symmetry: gl:3, inputs: [{name: C, as: covariance, reference: mean, points: true, mask: m},"
    " {name: v, as: vector}], target: {name: y, as: vector}," SMALL,
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}],"
    " target: {name: y, as: vector}, model: {kind: mlp, width: 4}, train: {dtype: f64}}"};

static void data_read_in_pieces_give_the_same_bits(void **state)
{
    static const ptrdiff_t rows[] = {4, 0, 4, 3};

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double kept[MOST], read[MOST];
        size_t bytes;
        World w;
        Run r;

        assert_ok(NULL, world_init(&w, NULL, kinds[i], SAMPLES));
        assert_ok(w.ctx, world_model(&w));
        bytes = (size_t)(4 * reln_model_outputs(w.model) + 1) * sizeof(double);
        assert_ok(w.ctx, world_data(&w, NULL));
        assert_true(reln_data_resident(w.data));
        run_init(&r, &w);
        predict(&r, &w, 4, rows, 0, kept);
        reln_data_destroy(w.data);
        assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.budget = 64}));
        assert_false(reln_data_resident(w.data));
        predict(&r, &w, 4, rows, 0, read);
        assert_memory_equal(kept, read, bytes);
        assert_true(isfinite(kept[4 * reln_model_outputs(w.model)]));
        run_clear(&r);
        world_clear(&w);
    }
}

/* The loss of a network's own predictions against the targets, by hand. */
static void the_loss_is_that_of_the_predictions(void **state)
{
    static const ptrdiff_t rows[] = {1, 5, 2};
    static const size_t which[] = {0, 2, 3, 4, 5};

    (void)state;
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++) {
        double y[MOST], t[MOST], sum = 0, d;
        ptrdiff_t n;
        World w;
        Run r;

        assert_ok(NULL, world_init(&w, NULL, kinds[which[i]], SAMPLES));
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, NULL));
        assert_ok(w.ctx, reln_data_normalise(w.data, 3, rows));
        d = reln_model_constants(w.model)->target[0].deviation;
        assert_true(d > 0.1 && fabs(d - 1) > 1e-6);
        run_init(&r, &w);
        predict(&r, &w, 3, rows, 0, y);
        assert_ok(w.ctx, reln_data_target(w.data, 3, rows, t));
        n = 3 * reln_model_outputs(w.model);
        for (ptrdiff_t j = 0; j < n; j++)
            sum += (y[j] - t[j]) * (y[j] - t[j]) / (d * d) / (double)n;
        assert_near(&y[n], &sum, 1, 1e-12);
        run_clear(&r);
        world_clear(&w);
    }
}

static void binding_allocates_nothing(void **state)
{
    static const ptrdiff_t rows[] = {4, 0, 4, 3}, others[] = {1, 2, 3, 5};
    double y[MOST];

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t before;
        World w;
        Run r;

        assert_ok(NULL, world_init(&w, NULL, kinds[i], SAMPLES));
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, NULL));
        run_init(&r, &w);
        assert_ok(w.ctx, reln_data_reserve(w.data, 4));
        assert_ok(w.ctx, reln_plan_reserve(r.plan, 4, 4 * WORLD_POINTS));
        before = reln_ctx_allocations(w.ctx);
        predict(&r, &w, 4, rows, 0, y);
        predict(&r, &w, 4, others, 1, y);
        assert_int_equal(reln_ctx_allocations(w.ctx), before);
        run_clear(&r);
        world_clear(&w);
    }
}

/* A sample's prediction does not depend on points that are masked out, and not on the order of points. */
static void masked_points_play_no_part(void **state)
{
    static const char *const specs[] = {
        SETS,
        "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: X, as: "
        "matrix}],"
        " target: {name: y, as: vector}, model: {kind: plain-transformer, width: 4, heads: 2, "
        "depth: 1}}",
        "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}], target: {name: "
        "y, as: vector},"
        " model: {kind: set, groups: 2, members: 3, width: 4, depth: 1, sums: 2}}"};
    static const ptrdiff_t rows[] = {0, 1, 2, 3};
    double y[MOST], z[MOST];
    double *v;
    World w;
    Run r;

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        assert_ok(NULL, world_init(&w, NULL, specs[i], SAMPLES));
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, NULL));
        run_init(&r, &w);
        predict(&r, &w, 4, rows, 0, y);
        reln_data_destroy(w.data);
        v = world_find(&w, "v")->values;
        for (int p = 0; p < SAMPLES * WORLD_POINTS; p++)
            if (((double *)world_find(&w, "m")->values)[p] == 0)
                v[p * 3 * WORLD_CHANNELS] = (double)NAN;
        assert_ok(w.ctx, world_data(&w, NULL));
        predict(&r, &w, 4, rows, 0, z);
        assert_memory_equal(y, z, 4 * 6 * sizeof *y);
        run_clear(&r);
        world_clear(&w);
    }
}

/* Padding has no attitude: random frames leave its zeros alone. */
static void padding_of_attitudes_is_not_turned(void **state)
{
    static const ptrdiff_t rows[] = {0, 1, 2, 3};
    double y[MOST], z[MOST];
    double *q;
    World w;
    Run r;

    (void)state;
    assert_ok(
        NULL,
        world_init(&w, NULL,
                   "{symmetry: so:3, inputs: [{name: q, as: quaternion, points: true, mask: m}],"
                   " target: {name: y, as: scalar}," SMALL,
                   SAMPLES));
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.augment = 1, .seed = 1}));
    run_init(&r, &w);
    predict(&r, &w, 4, rows, 0, y);
    reln_data_destroy(w.data);
    q = world_find(&w, "q")->values;
    for (int p = 0; p < SAMPLES * WORLD_POINTS; p++)
        for (int c = 0; ((double *)world_find(&w, "m")->values)[p] == 0 && c < 4 * WORLD_CHANNELS;
             c++)
            q[p * 4 * WORLD_CHANNELS + c] = 0;
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.augment = 1, .seed = 1}));
    predict(&r, &w, 4, rows, 0, z);
    assert_memory_equal(y, z, 5 * sizeof *y);
    run_clear(&r);
    world_clear(&w);
}

/* ---- splits, constants, frames ----------------------------------------------------------------------------------------- */

static void splits_are_disjoint_and_belong_to_the_seed(void **state)
{
    enum { N = 100 };
    ptrdiff_t rows[N], again[N], n = 0;
    int seen[N] = {0};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_data_split(ctx, N, 0.25, 7, rows, &n));
    assert_int_equal(n, 25);
    for (int i = 0; i < N; i++) {
        seen[rows[i]]++;
        assert_true(i == 0 || i == n || rows[i] > rows[i - 1]);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    assert_ok(ctx, reln_data_split(ctx, N, 0.25, 7, again, &n));
    assert_memory_equal(rows, again, sizeof rows);
    assert_ok(ctx, reln_data_split(ctx, N, 0.25, 8, again, &n));
    assert_memory_not_equal(rows, again, sizeof rows);
    assert_ok(ctx, reln_data_split(ctx, N, 0.001, 7, rows, &n));
    assert_int_equal(n, 1);
    assert_ok(ctx, reln_data_split(ctx, 10, 0.25, 7, rows, &n)); /* 2.5 is rounded up */
    assert_int_equal(n, 3);
    assert_ok(ctx, reln_data_split(ctx, N, 0, 7, rows, &n));
    assert_int_equal(n, 0);
    assert_int_equal(reln_data_split(ctx, 1, 0.5, 7, rows, &n), RELN_ERR_ARG);
    reln_ctx_destroy(ctx);
}

/* Every sample belongs to one fold, chosen by the seed or by an array of fold numbers. */
static void folds_divide_the_samples(void **state)
{
    enum { SAMPLES_HERE = 11, FOLDS = 3 };
    static const double numbers[SAMPLES_HERE] = {0, 1, 2, 2, 1, 0, 0, 0, 1, 2, 1};
    World w;

    (void)state;
    assert_int_equal(world_init(&w, NULL, MATRICES SMALL, SAMPLES_HERE), RELN_OK);
    memcpy(world_array(&w, "fold", 1, (ptrdiff_t[]){SAMPLES_HERE}), numbers, sizeof numbers);
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    for (int by_array = 0; by_array < 2; by_array++) {
        int seen[SAMPLES_HERE] = {0};

        for (int k = 0; k < FOLDS; k++) {
            RelnFold fold = {.count = by_array ? 0 : FOLDS, .number = k};
            ptrdiff_t rows[SAMPLES_HERE], n = 0, left = 0;

            if (by_array)
                snprintf(fold.array, sizeof fold.array, "fold");
            assert_ok(w.ctx, reln_data_divide(w.data, &fold, 0, 7, rows, &n, &left));
            assert_true(n >= SAMPLES_HERE / FOLDS && n <= SAMPLES_HERE / FOLDS + 1);
            for (ptrdiff_t i = 0; i < n; i++) {
                seen[rows[i]]++;
                assert_true(!by_array || numbers[rows[i]] == k);
            }
            for (ptrdiff_t i = 1; i < SAMPLES_HERE; i++)
                assert_true(i == n || rows[i] > rows[i - 1]);
        }
        for (int i = 0; i < SAMPLES_HERE; i++)
            assert_int_equal(seen[i], 1);
    }
    world_clear(&w);
}

/* In gl:3 coordinates are the entries, so the scale is the root mean square of the array itself. */
static void constants_are_sizes_of_the_training_rows(void **state)
{
    static const ptrdiff_t rows[] = {0, 2, 5};
    double square = 0, mean = 0, variance = 0;
    const double *x, *y;
    const RelnConstants *c;
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL, MATRICES SMALL, SAMPLES));
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, 3, rows));
    x = world_find(&w, "X")->values;
    y = world_find(&w, "y")->values;
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < 18; i++)
            square += x[rows[r] * 18 + i] * x[rows[r] * 18 + i] / 54;
        for (int i = 0; i < 2; i++)
            mean += y[rows[r] * 2 + i] / 6;
    }
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 2; i++)
            variance += pow(y[rows[r] * 2 + i] - mean, 2) / 6;
    c = reln_model_constants(w.model);
    assert_near(&c->scale[0], (double[]){sqrt(square)}, 1, 1e-14);
    assert_near(&c->target[0].mean, &mean, 1, 1e-14);
    assert_near(&c->target[0].deviation, (double[]){sqrt(variance)}, 1, 1e-13);
    world_clear(&w);
}

/* Random frames change the predictions of an mlp, in the same way for the same epoch; they do not change a
 * scalar of an equivariant network. */
static void random_frames_belong_to_epoch_and_row(void **state)
{
    static const ptrdiff_t rows[] = {0, 1, 2};
    static const char *const specs[] = {
        "{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
        " model: {kind: mlp, width: 4}, train: {dtype: f64}}",
        MATRICES SMALL};

    (void)state;
    for (int i = 0; i < 2; i++) {
        double first[MOST], again[MOST], later[MOST];
        World w;
        Run r;

        assert_ok(NULL, world_init(&w, NULL, specs[i], SAMPLES));
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.augment = 3, .seed = 1}));
        assert_false(reln_data_resident(w.data));
        run_init(&r, &w);
        predict(&r, &w, 3, rows, 1, first);
        predict(&r, &w, 3, rows, 1, again);
        predict(&r, &w, 3, rows, 2, later);
        assert_memory_equal(first, again, 7 * sizeof *first);
        if (i == 0)
            assert_true(fabs(first[0] - later[0]) > 1e-3);
        else /* degree 4, cond 3: see test_equivariance.c */
            assert_near(first, later, 6, 2.3e-16 * 6561 * 1e4);
        run_clear(&r);
        world_clear(&w);
    }
}

/* Two of four points are drawn, all with equal probability, and other points in another epoch. Without
 * drawing, the first two are used. */
static void drawn_points_belong_to_epoch_and_row(void **state)
{
    static const ptrdiff_t rows[] = {0, 1, 2, 3, 4, 5};
    double epochs[3][MOST], still[MOST], first[MOST];
    int drawn[WORLD_POINTS] = {0};
    RelnRng rng = reln_rng(8, 0);
    World w;
    Run r;

    (void)state;
    assert_ok(NULL,
              world_init(&w, NULL,
                         "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, most: "
                         "2, draw: true}], target: {name: y, as: scalar}," SMALL,
                         SAMPLES));
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.jitter = true, .seed = 1}));
    assert_false(reln_data_resident(w.data));
    for (int i = 0; i < 400; i++) {
        int count = 0;

        assert_ok(w.ctx, reln_data_draw_points(w.data, 0, &rng));
        for (int p = 0; p < WORLD_POINTS; p++) {
            drawn[p] += w.data->raw.mask[p] != 0;
            count += w.data->raw.mask[p] != 0;
        }
        assert_int_equal(count, 2);
    }
    for (int p = 0; p < WORLD_POINTS; p++) /* 200, with a deviation of 10 */
        assert_true(drawn[p] > 150 && drawn[p] < 250);
    run_init(&r, &w);
    for (int i = 0; i < 3; i++)
        predict(&r, &w, SAMPLES, rows, i == 2 ? 8 : 7, epochs[i]);
    assert_memory_equal(epochs[0], epochs[1], SAMPLES * sizeof **epochs);
    assert_memory_not_equal(epochs[0], epochs[2], SAMPLES * sizeof **epochs);
    reln_data_destroy(w.data);
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.seed = 1}));
    predict(&r, &w, SAMPLES, rows, 7, still);
    assert_true(reln_data_resident(w.data));
    for (int i = 0; i < SAMPLES; i++) /* changing the last two points has no effect */
        for (int k = 12; k < 24; k++)
            set_value(&w, "v", 24 * i + k, 5);
    reln_data_destroy(w.data);
    world_forget(&w);
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.seed = 1}));
    predict(&r, &w, SAMPLES, rows, 7, first);
    assert_memory_equal(first, still, SAMPLES * sizeof *first);
    run_clear(&r);
    world_clear(&w);
}

/* The loss of a network with rotations does not change if input and target are rotated together, and changes
 * otherwise. */
static void random_frames_move_a_vector_as_target(void **state)
{
    static const ptrdiff_t rows[] = {0, 1, 2};
    double still[MOST], moved[MOST];
    World w;
    Run r;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL,
                               "{symmetry: so:3, inputs: [{name: v, as: vector}],"
                               " target: {name: y, as: vector}," SMALL,
                               SAMPLES));
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    run_init(&r, &w);
    predict(&r, &w, 3, rows, 0, still);
    reln_data_destroy(w.data);
    w.data = NULL;
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.augment = 1, .seed = 1}));
    predict(&r, &w, 3, rows, 1, moved);
    assert_true(fabs(still[0] - moved[0]) > 1e-3);
    assert_near(&moved[18], &still[18], 1, 2.3e-16 * 1e4 * (1 + still[18]));
    run_clear(&r);
    world_clear(&w);
}

/* Coordinates of so:3 are those of the vectors, so the scale is the root mean square over the existing
 * points. */
static void padding_has_no_part_in_the_scale(void **state)
{
    ptrdiff_t rows[SAMPLES];
    double square = 0, *v;
    const double *mask;
    int count = 0;
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL,
                               "{symmetry: so:3, inputs: [{name: v, as: vector, points: true,"
                               " mask: m}], target: {name: y, as: scalar}," SMALL,
                               SAMPLES));
    v = world_find(&w, "v")->values;
    mask = world_find(&w, "m")->values;
    for (int i = 0; i < SAMPLES * WORLD_POINTS; i++)
        for (int k = 0; k < WORLD_CHANNELS * 3; k++) {
            double *x = &v[i * WORLD_CHANNELS * 3 + k];

            if (mask[i] == 0)
                *x = 1000;
            square += mask[i] * *x * *x;
            count += mask[i] != 0;
        }
    for (int i = 0; i < SAMPLES; i++)
        rows[i] = i;
    assert_true(count < SAMPLES * WORLD_POINTS * WORLD_CHANNELS * 3);
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, SAMPLES, rows));
    assert_near(reln_model_constants(w.model)->scale, (double[]){sqrt(square / count)}, 1, 1e-13);
    assert_small(reln_model_constants(w.model)->points -
                     (double)count / (SAMPLES * WORLD_CHANNELS * 3),
                 1e-13); /* for an average sample */
    world_clear(&w);
}

/* Balanced weights give every class the same total: N / (classes N_c). */
static void balanced_weights_are_shares_of_classes(void **state)
{
    static const double labels[] = {0, 2, 2, 0, 2, 2, 2, 1, 2, 2};
    static const double want[] = {10 / (3 * 2.0), 10 / (3 * 1.0), 10 / (3 * 7.0)};
    enum { N = 10 };
    ptrdiff_t rows[N];
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL,
                               "{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y,"
                               " as: class, classes: 3, weights: balanced}," SMALL,
                               N));
    for (int i = 0; i < N; i++) {
        set_value(&w, "y", i, labels[i]);
        rows[i] = i;
    }
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, N, rows));
    assert_int_equal(reln_model_spec(w.model)->target[0].n_weights, 3);
    assert_near(reln_model_spec(w.model)->target[0].weights, want, 3, 1e-14);
    world_clear(&w);
}

/* Eigenvalues of S T^-1 for 2 x 2 matrices: those of a positive matrix relative to another. */
static void relative_logs(const double *s, const double *t, double log_of[2])
{
    const double det = t[0] * t[3] - t[1] * t[2];
    const double a = (s[0] * t[3] - s[1] * t[2]) / det, b = (s[1] * t[0] - s[0] * t[1]) / det,
                 c = (s[2] * t[3] - s[3] * t[2]) / det, d = (s[3] * t[0] - s[2] * t[1]) / det;
    const double root = sqrt((a - d) * (a - d) / 4 + b * c);

    log_of[0] = log((a + d) / 2 + root);
    log_of[1] = log((a + d) / 2 - root);
}

/* Covariances are learned by their logarithms L, relative to the mean of the covariances of the sample. The
 * mean constant is tr L / n, and the deviation comes from tr L^2; neither depends on the frame. */
static void constants_of_covariances_are_traces(void **state)
{
    ptrdiff_t rows[SAMPLES];
    double sum = 0, square = 0, mean, deviation;
    const double *c, *y;
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL,
                               "{symmetry: gl:2, inputs: [{name: C, as: covariance, log: true,"
                               " reference: mean}], target: {name: y, as: covariance}," SMALL,
                               SAMPLES));
    for (int i = 0; i < SAMPLES; i++)
        rows[i] = i;
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, SAMPLES, rows));
    c = world_find(&w, "C")->values;
    y = world_find(&w, "y")->values;
    for (int i = 0; i < SAMPLES; i++) {
        double sbar[4] = {0}, l[2];

        for (int e = 0; e < 4 * WORLD_CHANNELS; e++)
            sbar[e % 4] += c[i * 4 * WORLD_CHANNELS + e] / WORLD_CHANNELS;
        for (int k = 0; k < WORLD_CHANNELS; k++) {
            relative_logs(y + (i * WORLD_CHANNELS + k) * 4, sbar, l);
            sum += l[0] + l[1];
            square += l[0] * l[0] + l[1] * l[1];
        }
    }
    mean = sum / (2 * SAMPLES * WORLD_CHANNELS);
    deviation = sqrt((square - mean * mean * 2 * SAMPLES * WORLD_CHANNELS) /
                     (4 * SAMPLES * WORLD_CHANNELS));
    assert_small(reln_model_constants(w.model)->target[0].mean - mean, 1e-11);
    assert_small(reln_model_constants(w.model)->target[0].deviation - deviation, 1e-11);
    world_clear(&w);
}

/* Rows from all over a file are compared with the training data, not the first ones alone. */
static void other_units_are_seen_wherever_they_begin(void **state)
{
    enum { N = 700 };
    ptrdiff_t rows[N];
    double *x;
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL, MATRICES SMALL, N));
    for (int i = 0; i < N; i++)
        rows[i] = i;
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, N, rows));
    assert_ok(w.ctx, reln_data_compare(w.data));
    assert_string_equal(w.model->note, "");
    x = world_find(&w, "X")->values;
    for (int i = 350 * 18; i < N * 18; i++)
        x[i] *= 1000;
    assert_ok(w.ctx, reln_data_compare(w.data));
    assert_non_null(strstr(w.model->note, "are they in the same units?"));
    world_clear(&w);
}

#define COLUMNS                                                                                    \
    "{symmetry: gl:3, inputs: [{name: X, as: matrix}, {name: s, as: scalar}], target: {name: y, "  \
    "as: scalar}, model: {width: 2, depth: 1}, train: {dtype: f64}}"

/* Columns far from 0 and of other sizes have their own centre and width. Predictions do
 * not change if the columns come in other units. */
static void columns_of_scalars_have_their_own_centres(void **state)
{
    static const double centre[WORLD_CHANNELS] = {1e8, -3}, width[WORLD_CHANNELS] = {2, 1e-4};
    double mean[WORLD_CHANNELS] = {0}, square[WORLD_CHANNELS] = {0}, before[SAMPLES * 2 + 1],
           after[SAMPLES * 2 + 1];
    ptrdiff_t rows[SAMPLES];
    RelnConstants c;
    int first;
    World w;
    Run r;

    (void)state;
    for (int i = 0; i < SAMPLES; i++)
        rows[i] = i;
    for (int units = 0; units < 2; units++) {
        double *s;

        assert_ok(NULL, world_init(&w, NULL, COLUMNS, SAMPLES));
        s = world_find(&w, "s")->values;
        for (int i = 0; units && i < SAMPLES * WORLD_CHANNELS; i++)
            s[i] = centre[i % WORLD_CHANNELS] + width[i % WORLD_CHANNELS] * s[i];
        for (int i = 0; units && i < SAMPLES; i++)
            for (int k = 0; k < WORLD_CHANNELS; k++)
                mean[k] += s[i * WORLD_CHANNELS + k] / SAMPLES;
        for (int i = 0; units && i < SAMPLES; i++)
            for (int k = 0; k < WORLD_CHANNELS; k++)
                square[k] += pow(s[i * WORLD_CHANNELS + k] - mean[k], 2) / SAMPLES;
        assert_ok(w.ctx, world_model(&w));
        assert_ok(w.ctx, world_data(&w, NULL));
        assert_ok(w.ctx, reln_data_normalise(w.data, SAMPLES, rows));
        c = *reln_model_constants(w.model);
        assert_int_equal(reln_model_columns(w.model, 0, &first), 0);
        assert_int_equal(reln_model_columns(w.model, 1, &first), WORLD_CHANNELS);
        assert_int_equal(first, 0);
        run_init(&r, &w);
        predict(&r, &w, SAMPLES, rows, 0, units ? after : before);
        run_clear(&r);
        world_clear(&w);
    }
    for (int k = 0; k < WORLD_CHANNELS; k++) {
        /* a mean of n numbers, each with a rounding of its size */
        const double lost = SAMPLES * 2.3e-16 * fabs(centre[k]);

        assert_near(&c.column[k].centre, &mean[k], 1, lost);
        assert_near(&c.column[k].width, (double[]){sqrt(square[k])}, 1, 4 * lost);
    }
    /* numbers near 1e8 with a width of 2 keep 8 digits, which the small network enlarges little */
    for (int i = 0; i < SAMPLES * 2; i++)
        assert_near(&after[i], &before[i], 1, 1e-6 * (1 + fabs(before[i])));
}

/* A column whose values are equal up to rounding has the width of its size, so that rounding is not enlarged to a signal; a column
 * of zeros has width 1. */
static void a_column_without_differences_has_its_size_as_width(void **state)
{
    static const double size[WORLD_CHANNELS] = {-0.3, 0};
    ptrdiff_t rows[SAMPLES];
    double *s;
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL, COLUMNS, SAMPLES));
    s = world_find(&w, "s")->values;
    for (int i = 0; i < SAMPLES * WORLD_CHANNELS; i++) /* the last digits differ */
        s[i] = size[i % WORLD_CHANNELS] * (1 + (double)(i / WORLD_CHANNELS % 3) * 0x1p-50);
    for (int i = 0; i < SAMPLES; i++)
        rows[i] = i;
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, NULL));
    assert_ok(w.ctx, reln_data_normalise(w.data, SAMPLES, rows));
    assert_small(reln_model_constants(w.model)->column[0].width - 0.3, 1e-14);
    assert_true(reln_model_constants(w.model)->column[1].width == 1);
    world_clear(&w);
}

/* Moments of two parts are joined to those of the whole: {1, 1.5} and {4, 4, 7} as {count, mean, squares}. */
static void columns_of_stretches_are_joined(void **state)
{
    static Sums a, b;

    (void)state;
    a.column[0] = (Moments){2, 1.25, 0.125};
    b.column[0] = (Moments){3, 5, 6};
    reln_sums_join(&a, &b);
    /* 1, 1.5, 4, 4, 7: mean 3.5, squares 6.25 + 4 + 0.25 + 0.25 + 12.25 */
    assert_near(&a.column[0].count, (double[]){5}, 1, 0);
    assert_near(&a.column[0].mean, (double[]){3.5}, 1, 1e-15);
    assert_near(&a.column[0].square, (double[]){23}, 1, 1e-14);
    reln_sums_join(&a, &(Sums){0});
    assert_near(&a.column[0].mean, (double[]){3.5}, 1, 1e-15);
}

/* Constants that are computed while data are opened equal those of a separate pass over the training rows. */
static void constants_found_when_opening_are_the_same(void **state)
{
    ptrdiff_t rows[SAMPLES], n = 0;
    RelnConstants at_once;
    World w;

    (void)state;
    assert_ok(NULL, world_init(&w, NULL, MATRICES SMALL, SAMPLES));
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx,
              world_data(&w, &(RelnDataOptions){.normalise = true, .validation = 0.3, .seed = 7}));
    at_once = *reln_model_constants(w.model);
    assert_ok(w.ctx, reln_data_split(w.ctx, SAMPLES, 0.3, 7, rows, &n));
    assert_ok(w.ctx, reln_data_normalise(w.data, SAMPLES - n, rows + n));
    assert_memory_equal(&at_once, reln_model_constants(w.model), sizeof at_once);
    assert_true(at_once.scale[0] != 1);
    world_clear(&w);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

static const char *fault_spec;

static RelnStatus open_and_bind(RelnCtx *ctx)
{
    static const ptrdiff_t rows[] = {0, 1};
    RelnModelGraph net = {0};
    RelnPlan *plan = NULL;
    World w;
    RelnStatus status = world_init(&w, ctx, fault_spec, 3);

    if (status == RELN_OK)
        status = world_model(&w);
    if (status == RELN_OK)
        status = world_data(&w, NULL);
    if (status == RELN_OK)
        status = reln_data_normalise(w.data, 2, rows);
    if (status == RELN_OK)
        status = reln_model_build(w.model, &(RelnModelOptions){.loss = true, .taps = true}, &net);
    if (status == RELN_OK)
        status = reln_plan_create(net.graph, NULL, &plan);
    if (status == RELN_OK)
        status = reln_data_bind(w.data, plan, 2, rows, 0);
    reln_plan_destroy(plan);
    reln_model_graph_clear(&net);
    world_clear(&w);
    return status;
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char *const specs[] = {
        "{symmetry: so:2, inputs: [{name: v, as: vector, points: true, mask: m},"
        " {name: s, as: scalar}], target: {name: y, as: vector}, model: {width: 2, depth: 1}}",
        "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: matrix},"
        " model: {parameters: 100, depth: 1}}"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        fault_spec = specs[i];
        assert_true(fail_every_allocation(open_and_bind) > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_data_get_one_line),
        cmocka_unit_test(a_model_refuses_data_of_other_shapes),
        cmocka_unit_test(data_read_in_pieces_give_the_same_bits),
        cmocka_unit_test(the_loss_is_that_of_the_predictions),
        cmocka_unit_test(binding_allocates_nothing),
        cmocka_unit_test(masked_points_play_no_part),
        cmocka_unit_test(padding_of_attitudes_is_not_turned),
        cmocka_unit_test(splits_are_disjoint_and_belong_to_the_seed),
        cmocka_unit_test(folds_divide_the_samples),
        cmocka_unit_test(constants_are_sizes_of_the_training_rows),
        cmocka_unit_test(random_frames_belong_to_epoch_and_row),
        cmocka_unit_test(drawn_points_belong_to_epoch_and_row),
        cmocka_unit_test(random_frames_move_a_vector_as_target),
        cmocka_unit_test(padding_has_no_part_in_the_scale),
        cmocka_unit_test(columns_of_scalars_have_their_own_centres),
        cmocka_unit_test(a_column_without_differences_has_its_size_as_width),
        cmocka_unit_test(columns_of_stretches_are_joined),
        cmocka_unit_test(constants_found_when_opening_are_the_same),
        cmocka_unit_test(balanced_weights_are_shares_of_classes),
        cmocka_unit_test(constants_of_covariances_are_traces),
        cmocka_unit_test(other_units_are_seen_wherever_they_begin),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
