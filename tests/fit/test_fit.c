/* Tests runs: a run that is resumed at any step ends with the same bits, and an allocation may fail at any
 * moment. */
#include <math.h>

#include "fit/room.h"

#define SHORT " train: {epochs: 3, batch: 4, lr: 1e-2, validation: 0.25, dtype: f64}}"

/* ---- stopped and taken up again ------------------------------------------------------------------------------------ */

typedef struct Stop {
    uint64_t at;
} Stop;

static bool stop_there(void *self, const RelnTrainProgress *progress)
{
    return progress->step != ((const Stop *)self)->at;
}

/* Stops after `at` steps and resumes with another number of threads. */
static void run_in_two(Room *r, uint64_t at)
{
    Stop stop = {at};
    RelnFitOptions options = {.folder = r->run, .threads = 2, .self = &stop, .observe = stop_there};
    RelnFit *fit = NULL;
    RelnTrainEnd end;

    assert_ok(r->world.ctx, reln_fit_open(r->world.ctx, r->spec, r->data, &options, &fit));
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(end, RELN_TRAIN_ASKED);
    assert_int_equal(reln_fit_result(fit).step, at);
    reln_fit_close(fit);
    options = (RelnFitOptions){.folder = r->run};
    assert_ok(r->world.ctx, reln_fit_resume(r->world.ctx, &options, &fit));
    assert_int_equal(reln_fit_result(fit).step, at);
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(end, RELN_TRAIN_DONE);
    reln_fit_close(fit);
}

static void a_run_stopped_after_any_step_ends_with_the_same_bits(void **state)
{
    static const char *const specs[] = {PAIRS SHORT, VECTORS SHORT, CLASSES SHORT};

    (void)state;
    for (int k = 0; k < 3; k++) {
        Room r;
        char *whole, *parts;
        size_t n_whole, n_parts;

        room_init(&r, specs[k], 16);
        room_train(&r, 1);
        whole = read_file(r.model, &n_whole);
        for (uint64_t at = 1; at < 9; at++) { /* of 9 */
            room_sweep(r.run);
            run_in_two(&r, at);
            parts = read_file(r.model, &n_parts);
            assert_int_equal(n_parts, n_whole);
            assert_memory_equal(parts, whole, n_whole);
            free(parts);
        }
        free(whole);
        room_clear(&r);
    }
}

static void a_second_run_in_a_folder_is_refused(void **state)
{
    Room r;
    RelnFit *fit = NULL;

    (void)state;
    room_init(&r, PAIRS SHORT, 16);
    room_train(&r, 1);
    assert_int_equal(
        reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit),
        RELN_ERR_ARG);
    assert_null(fit);
    assert_non_null(strstr(reln_ctx_error(r.world.ctx), "holds a run already"));
    room_clear(&r);
}

/* A run is not resumed if its data have changed since the last checkpoint, even if only the validation file
 * has. */
static void a_run_notices_that_its_data_changed(void **state)
{
    Room r;
    RelnFit *fit = NULL;
    double *y;

    (void)state;
    room_init(&r, PAIRS SHORT, 16);
    room_train(&r, 1);
    y = world_find(&r.world, "y")->values;
    y[7] += 1e-9;
    assert_ok(r.world.ctx, reln_npz_save(r.world.ctx, r.data, r.world.n_arrays, r.world.arrays));
    assert_int_equal(reln_fit_resume(r.world.ctx, &(RelnFitOptions){.folder = r.run}, &fit),
                     RELN_ERR_FORMAT);
    y[7] -= 1e-9;
    room_clear(&r);
}

static void the_loss_falls_and_the_record_says_so(void **state)
{
    Room r;
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    RelnFitResult result;

    (void)state;
    room_init(&r, PAIRS " train: {epochs: 30, batch: 8, lr: 1e-2, validation: 0.25, dtype: f64}}",
              32);
    assert_ok(r.world.ctx,
              reln_fit_open(r.world.ctx, r.spec, r.data, &(RelnFitOptions){.folder = r.run}, &fit));
    assert_ok(r.world.ctx, reln_fit_run(fit, &end));
    result = reln_fit_result(fit);
    assert_int_equal(result.n_rows, 30);
    assert_int_equal(result.n_train, 24);
    assert_int_equal(result.n_validation, 8);
    assert_int_equal(result.step, 90);
    assert_true(result.rows[29].loss < 0.9 * result.rows[0].loss);
    assert_non_null(result.best);
    for (int i = 0; i < result.n_rows; i++)
        assert_true(result.best->evaluation.score <= result.rows[i].evaluation.score);
    assert_true(result.peak_bytes > 0 && result.planned_bytes > 0);
    reln_fit_close(fit);
    room_clear(&r);
}

/* ---- a separate validation file -------------------------------------------------------------------------------------- */

#define AUGMENTED                                                                                  \
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"             \
    " model: {kind: mlp, width: 6, depth: 1}, train: {epochs: 2, batch: 4, lr: 1e-2, dtype: f64,"  \
    " augment: {cond: 10}, validation: %s}}"

/* If the validation file has the training samples, in the opposite order, both sets of metrics are the same: neither is computed
 * in random frames, in which an MLP has other errors. In another file, the validation metrics differ. */
static void training_samples_are_judged_without_random_frames(void **state)
{
    enum { N = 16 };
    (void)state;
    for (int changed = 0; changed < 2; changed++) {
        char text[512], other[128];
        Room r;

        snprintf(text, sizeof text, AUGMENTED, "0.25");
        room_init(&r, text, N);
        snprintf(other, sizeof other, "%s/other.npz", r.folder);
        snprintf(text, sizeof text, AUGMENTED, other);
        room_write(r.spec, text);
        for (int a = 0; a < r.world.n_arrays; a++) {
            const RelnArray *array = &r.world.arrays[a];
            double *values = array->f64;
            const ptrdiff_t size = reln_array_count(array) / N;

            assert_int_equal(array->dtype, RELN_F64);
            for (ptrdiff_t i = 0; i < N / 2; i++)
                for (ptrdiff_t k = 0; k < size; k++) {
                    const double value = values[i * size + k];

                    values[i * size + k] = values[(N - 1 - i) * size + k];
                    values[(N - 1 - i) * size + k] = value + changed;
                }
        }
        assert_ok(r.world.ctx, reln_npz_save(r.world.ctx, other, r.world.n_arrays, r.world.arrays));
        room_train(&r, 1);
        assert_int_equal(room_result(&r, "train", "samples"), N);
        assert_int_equal(room_result(&r, "validation", "samples"), N);
        /* sums of the same numbers in another order */
        if (changed)
            assert_true(fabs(room_result(&r, "train", "loss") -
                             room_result(&r, "validation", "loss")) > 1e-3);
        else
            assert_true(
                fabs(room_result(&r, "train", "loss") / room_result(&r, "validation", "loss") - 1) <
                N * 2.3e-16);
        unlink(other);
        room_clear(&r);
    }
}

/* ---- no memory ------------------------------------------------------------------------------------------------------ */

static Room *faulty;

static RelnStatus open_and_run(RelnCtx *ctx)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    RelnStatus status = reln_fit_open(ctx, faulty->spec, faulty->data,
                                      &(RelnFitOptions){.folder = faulty->run}, &fit);

    if (status != RELN_OK)
        assert_null(fit);
    else
        status = reln_fit_run(fit, &end);
    reln_fit_close(fit);
    return status;
}

static RelnStatus resume_and_run(RelnCtx *ctx)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    RelnStatus status = reln_fit_resume(ctx, &(RelnFitOptions){.folder = faulty->run}, &fit);

    if (status == RELN_OK)
        status = reln_fit_run(fit, &end);
    reln_fit_close(fit);
    return status;
}

/* Every file in the folder can be read whole, and no temporary file is left. */
static void check_files(Room *r)
{
    char path[128];
    RelnTensors *file = NULL;

    snprintf(path, sizeof path, "%s/checkpoint.safetensors", r->run);
    if (reln_file_exists(path)) {
        assert_ok(r->world.ctx, reln_tensors_load(r->world.ctx, path, &file));
        reln_tensors_destroy(file);
    }
    if (reln_file_exists(r->model)) {
        assert_ok(r->world.ctx, reln_tensors_load(r->world.ctx, r->model, &file));
        reln_tensors_destroy(file);
    }
    assert_true(room_count(r->run) <= 8); /* lock, SPEC, two checkpoints, four results */
}

/* The k-th allocation fails, for k = 1, 1 + stride, ... until none does; fresh: in an empty folder each time. */
static uint64_t fail_some(RelnStatus (*body)(RelnCtx *ctx), uint64_t stride, bool fresh)
{
    uint64_t failed = 0;

    for (uint64_t k = 1;; k += stride, failed++) {
        FaultyHeap heap = {.fail_at = k};
        const RelnAllocator allocator = faulty_allocator(&heap);
        RelnCtx *ctx = NULL;
        RelnStatus status;

        if (fresh)
            room_sweep(faulty->run);
        status = reln_ctx_create(&allocator, &ctx);
        if (status == RELN_OK)
            status = body(ctx);
        reln_ctx_destroy(ctx);
        assert_int_equal(heap.live, 0);
        check_files(faulty);
        if (status == RELN_OK && heap.count < k)
            return failed;
        assert_int_equal(status, RELN_ERR_NOMEM);
    }
}

/* There are thousands of allocations: by default one in so many fails; an environment variable sets the
 * stride to 1. */
static uint64_t stride_of(uint64_t usual)
{
    const char *text = getenv("RELN_TEST_FAULT_STRIDE");

    return text ? strtoull(text, NULL, 10) : usual;
}

static void an_allocation_that_fails_leaves_no_leak_and_no_half_file(void **state)
{
    Room r;

    (void)state;
    room_init(&r, PAIRS " train: {epochs: 1, batch: 4, validation: 0.25}}", 8);
    faulty = &r;
    assert_true(fail_some(open_and_run, stride_of(997), true) > 5);
    assert_true(fail_some(resume_and_run, stride_of(997), false) > 5);
    room_clear(&r);
}

/* ---- memory of the end ---------------------------------------------------------------------------------------------- */

enum { SETS = 40, PLACES = 64 };

/* Writes data.npz again, with full sets of 64 vectors. */
static void write_sets(Room *r)
{
    static double v[SETS * PLACES * 3], m[SETS * PLACES], y[SETS];
    const RelnArray arrays[] = {RELN_ARRAY("v", RELN_F64, v, SETS, PLACES, 3),
                                RELN_ARRAY("m", RELN_F64, m, SETS, PLACES),
                                RELN_ARRAY("y", RELN_F64, y, SETS)};
    RelnRng rng = reln_rng(3, 1);

    fill_normal(&rng, SETS * PLACES * 3, v);
    for (int i = 0; i < SETS * PLACES; i++)
        m[i] = 1;
    for (int i = 0; i < SETS; i++)
        y[i] = i % 3;
    assert_ok(r->world.ctx, reln_npz_save(r->world.ctx, r->data, 3, arrays));
}

typedef struct Watch {
    const CountingHeap *heap;
    size_t trained; /* the peak after the last step */
} Watch;

static bool note_peak(void *self, const RelnTrainProgress *progress)
{
    Watch *watch = self;

    (void)progress;
    watch->trained = watch->heap->peak;
    return true;
}

/* A check holds 16 MB of values at a time, or those of four draws. Here a draw has 12 layers of 64 points, 3 coordinates and
 * 64 channels, each four times and one of them six times in double precision: 4.9 MB, 20 MB for four. Beside them are
 * inputs of two networks, read in pieces of 4 MB, two plans and the weights in double precision: 20 MB are plenty. */
static void the_end_of_a_run_takes_bounded_memory(void **state)
{
    static const char spec[] =
        "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}],"
        " target: {name: y, as: class, classes: 3}, model: {width: 64, depth: 4},"
        " train: {epochs: 1, batch: 10, validation: 0.25}}";
    CountingHeap heap = {0, 0};
    const RelnAllocator allocator = counting_allocator(&heap);
    Watch watch = {&heap, 0};
    RelnCtx *ctx = NULL;
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    Room r;

    (void)state;
    room_init(&r, spec, 4);
    write_sets(&r);
    assert_int_equal(reln_ctx_create(&allocator, &ctx), RELN_OK);
    assert_ok(
        ctx, reln_fit_open(ctx, r.spec, r.data,
                           &(RelnFitOptions){.folder = r.run, .self = &watch, .observe = note_peak},
                           &fit));
    assert_ok(ctx, reln_fit_run(fit, &end));
    assert_true(watch.trained > 0);
    assert_true(heap.peak - watch.trained < 40 * 1000 * 1000);
    reln_fit_close(fit);
    reln_ctx_destroy(ctx);
    assert_int_equal(heap.live, 0);
    room_clear(&r);
}

/* ---- files of a run that goes on ---------------------------------------------------------------------------------------- */

typedef struct Reader {
    char path[128];
    int evaluations;
} Reader;

/* Reads the last line of metrics.csv, and its number; the heading is line 0. */
static int last_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "r");
    int number = -1;

    assert_non_null(file);
    while (fgets(line, size, file))
        number++;
    fclose(file);
    return number;
}

static bool find_row(void *self, const RelnTrainProgress *progress)
{
    Reader *r = self;
    char line[512] = "", begin[32];

    r->evaluations += progress->evaluated;
    assert_int_equal(last_line(r->path, line, sizeof line), r->evaluations);
    snprintf(begin, sizeof begin, "%llu,",
             progress->row ? (unsigned long long)progress->row->step : 0ULL);
    if (r->evaluations > 0)
        assert_memory_equal(line, begin, strlen(begin));
    return true;
}

static void an_observer_finds_each_evaluation_in_the_folder(void **state)
{
    Reader reader = {.evaluations = 0};
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    Room r;

    (void)state;
    room_init(&r, PAIRS SHORT, 16);
    snprintf(reader.path, sizeof reader.path, "%s/metrics.csv", r.run);
    assert_ok(
        r.world.ctx,
        reln_fit_open(r.world.ctx, r.spec, r.data,
                      &(RelnFitOptions){
                          .folder = r.run, .self = &reader, .observe = find_row, .no_check = true},
                      &fit));
    assert_ok(r.world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(reader.evaluations, 3);
    reln_fit_close(fit);
    room_clear(&r);
}

/* The page and results.json say the time for which a run waited for its data: the page in per cent. */
static void a_run_says_how_long_it_waited_for_data(void **state)
{
    char path[128], want[96], *text;
    RelnFitResult result;
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    size_t size;
    Room r;

    (void)state;
    room_init(&r,
              PAIRS " train: {epochs: 3, batch: 4, validation: 0.25, augment: {cond: 2}, dtype: "
                    "f64}}",
              16);
    assert_ok(r.world.ctx,
              reln_fit_open(r.world.ctx, r.spec, r.data,
                            &(RelnFitOptions){.folder = r.run, .no_check = true}, &fit));
    assert_ok(r.world.ctx, reln_fit_run(fit, &end));
    result = reln_fit_result(fit);
    assert_true(result.streamed && result.waited >= 0 && result.waited <= 1);
    snprintf(path, sizeof path, "%s/report.html", r.run);
    text = read_file(path, &size);
    assert_true(size < 1 << 20);
    text[size] = '\0';
    snprintf(want, sizeof want, "<dt>waiting</dt><dd>%.1f %% of the time for data,",
             100 * result.waited);
    assert_non_null(strstr(text, want));
    free(text);
    assert_true(room_result(&r, NULL, "waited") == result.waited);
    reln_fit_close(fit);
    room_clear(&r);
}

/* Errors of training and validation are those of the samples of each as they are in the files, although training sees
 * them in random frames. */
#define SHOWN(validation)                                                                          \
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: matrix}, model: "     \
    "{width: 4, depth: 1}, train: {epochs: 2, batch: 4, validation: " validation                   \
    ", augment: {cond: 5}, dtype: f64}}"

static void compare_errors(bool apart)
{
    char other[128], spec[384];
    RelnFit *fit = NULL;
    RelnMetrics train, validation;
    RelnModel *model;
    RelnTrainEnd end;
    double *y;
    Room r;

    room_init(&r, SHOWN("0"), 12);
    snprintf(other, sizeof other, "%s/other.npz", r.folder);
    snprintf(spec, sizeof spec, SHOWN("%s"), apart ? other : "0");
    room_write(r.spec, spec);
    y = world_find(&r.world, "y")->values;
    for (ptrdiff_t i = 0; i < array_count(world_find(&r.world, "y")); i++)
        y[i] += 3; /* the other file has other errors */
    assert_ok(r.world.ctx, reln_npz_save(r.world.ctx, other, r.world.n_arrays, r.world.arrays));
    assert_ok(r.world.ctx,
              reln_fit_open(r.world.ctx, r.spec, r.data,
                            &(RelnFitOptions){.folder = r.run, .no_check = true}, &fit));
    assert_ok(r.world.ctx, reln_fit_run(fit, &end));
    reln_fit_close(fit);
    model = room_load(&r, RELN_DEFAULT);
    assert_ok(r.world.ctx, reln_evaluate_targets(model, r.data, 1, &train));
    assert_ok(r.world.ctx, reln_evaluate_targets(model, other, 1, &validation));
    assert_true(validation.mse > 2 * train.mse);
    assert_small(room_result(&r, "train", "mse") / train.mse - 1, 1e-12);
    if (apart)
        assert_small(room_result(&r, "validation", "mse") / validation.mse - 1, 1e-12);
    reln_model_destroy(model);
    room_clear(&r);
}

static void errors_are_those_of_the_files_without_random_frames(void **state)
{
    (void)state;
    compare_errors(true);
    compare_errors(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_stopped_after_any_step_ends_with_the_same_bits),
        cmocka_unit_test(an_observer_finds_each_evaluation_in_the_folder),
        cmocka_unit_test(a_run_says_how_long_it_waited_for_data),
        cmocka_unit_test(errors_are_those_of_the_files_without_random_frames),
        cmocka_unit_test(a_second_run_in_a_folder_is_refused),
        cmocka_unit_test(a_run_notices_that_its_data_changed),
        cmocka_unit_test(the_loss_falls_and_the_record_says_so),
        cmocka_unit_test(training_samples_are_judged_without_random_frames),
        cmocka_unit_test(an_allocation_that_fails_leaves_no_leak_and_no_half_file),
        cmocka_unit_test(the_end_of_a_run_takes_bounded_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
