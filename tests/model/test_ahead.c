/* Tests batches that a thread reads ahead: they have the same numbers, allocate nothing, and report errors
 * with their own batch. */
#define _DEFAULT_SOURCE /* mincore() */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/clock.h"
#include "model/data.h"
#include "model/world.h"
#include "support/folder.h"

#define SETS                                                                                       \
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m},"                      \
    " {name: X, as: matrix}], target: {name: y, as: vector},"                                      \
    " model: {width: 4, depth: 1}, train: {dtype: f64}}"
#define MATRICES                                                                                   \
    "{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"             \
    " model: {kind: mlp, width: 4}, train: {dtype: f64}}"

enum { SAMPLES = 40, BATCH = 7, STEPS = 12, NUMBERS = BATCH * 16 };

typedef struct Run {
    World w;
    RelnModelGraph net;
    RelnPlan *plan;
} Run;

static void begin(Run *r, const char *yaml, const RelnDataOptions *options)
{
    memset(r, 0, sizeof *r);
    assert_ok(NULL, world_init(&r->w, NULL, yaml, SAMPLES));
    assert_ok(r->w.ctx, world_model(&r->w));
    assert_ok(r->w.ctx, world_data(&r->w, options));
    assert_ok(r->w.ctx, reln_data_reserve(r->w.data, BATCH));
    assert_ok(r->w.ctx, reln_model_build(r->w.model, &(RelnModelOptions){.loss = true}, &r->net));
    reln_output(r->net.graph, "loss", r->net.loss);
    assert_ok(r->w.ctx, reln_plan_create(r->net.graph, NULL, &r->plan));
    assert_ok(r->w.ctx, reln_plan_reserve(r->plan, BATCH, 0));
}

static void end(Run *r)
{
    reln_plan_destroy(r->plan);
    reln_model_graph_clear(&r->net);
    world_clear(&r->w);
}

/* Batches of changing size; an epoch is three of them. */
static ptrdiff_t rows_of(int step, ptrdiff_t *rows)
{
    const ptrdiff_t n = BATCH - step % 3;

    reln_shuffle(3, (uint64_t)step, SAMPLES, 0, n, rows);
    return n;
}

static void predict(Run *r, int step, double *out)
{
    const RelnLayout layout = reln_data_layout(r->w.data);
    ptrdiff_t rows[BATCH], n = rows_of(step, rows);

    memset(out, 0, NUMBERS * sizeof *out);
    assert_ok(r->w.ctx, reln_data_bind(r->w.data, r->plan, n, rows, (uint64_t)step / 3));
    n = rows_of(step % 7 == 5 ? step + 4 : step + 1, rows); /* as many other rows */
    if (step % 5 != 4) /* some batches are not announced, and some announced ones are not bound */
        assert_ok(r->w.ctx, reln_data_ahead(r->w.data, r->plan, n, rows,
                                            (uint64_t)(step + (step % 5 == 3 ? 9 : 1)) / 3));
    n = rows_of(step, rows);
    assert_ok(r->w.ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = n}));
    reln_model_predictions(r->w.model, r->plan, &layout, n, NULL, out);
    out[NUMBERS - 1] = *(const double *)reln_plan_output(r->plan, "loss", NULL);
}

/* Predicts a step. The reported waiting time adds up over steps, and is never longer than the time that has passed. */
static void predict_timed(Run *r, int step, double *out)
{
    const double before = reln_data_waited(r->w.data), begin = reln_wall_seconds();

    predict(r, step, out);
    assert_true(reln_data_waited(r->w.data) > before);
    assert_true(reln_data_waited(r->w.data) - before <= reln_wall_seconds() - begin);
}

static void batches_read_ahead_have_the_same_bits(void **state)
{
    static const char *const specs[] = {SETS, MATRICES, MATRICES};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const RelnDataOptions options = {.budget = 64, .augment = i == 2 ? 3 : 0, .seed = 4};
        double then[STEPS][NUMBERS], now[NUMBERS];
        Run r;

        begin(&r, specs[i], &options);
        assert_false(reln_data_resident(r.w.data));
        for (int t = 0; t < STEPS; t++) /* without the thread, announcing has no effect */
            predict_timed(&r, t, then[t]);
        assert_ok(r.w.ctx, reln_data_read_ahead(r.w.data, BATCH));
        for (int t = 0; t < STEPS; t++) {
            predict_timed(&r, t, now);
            assert_memory_equal(then[t], now, sizeof now);
        }
        end(&r);
    }
}

/* The thread reads a batch when it is announced: later changes of the arrays have no effect on it. */
static void an_announced_batch_is_read_before_it_is_bound(void **state)
{
    const ptrdiff_t row = 5;
    double before, after;
    uint64_t bytes;
    Run r;

    (void)state;
    begin(&r, MATRICES, &(RelnDataOptions){.budget = 64});
    assert_ok(r.w.ctx, reln_data_read_ahead(r.w.data, BATCH));
    assert_ok(r.w.ctx, reln_data_bind(r.w.data, r.plan, 1, &row, 0));
    assert_ok(r.w.ctx, reln_plan_run(r.plan, &(RelnRun){.n_samples = 1}));
    before = *(const double *)reln_plan_output(r.plan, "loss", NULL);
    bytes = reln_data_read_bytes(r.w.data);
    assert_int_equal(bytes, (2 * 9 + 2) * sizeof(double)); /* X and y of one row */

    assert_ok(r.w.ctx, reln_data_ahead(r.w.data, r.plan, 1, &row, 0));
    reln_aside_wait(r.w.data->ahead.thread);
    assert_int_equal(reln_data_read_bytes(r.w.data), 2 * bytes);
    memset(world_find(&r.w, "X")->values, 0, SAMPLES * 18 * sizeof(double));
    assert_ok(r.w.ctx, reln_data_bind(r.w.data, r.plan, 1, &row, 0));
    assert_ok(r.w.ctx, reln_plan_run(r.plan, &(RelnRun){.n_samples = 1}));
    after = *(const double *)reln_plan_output(r.plan, "loss", NULL);
    assert_true(before == after);
    end(&r);
}

static void reading_ahead_allocates_nothing(void **state)
{
    double out[NUMBERS];
    uint64_t before;
    Run r;

    (void)state;
    begin(&r, SETS, &(RelnDataOptions){.budget = 64});
    assert_ok(r.w.ctx, reln_data_read_ahead(r.w.data, BATCH));
    predict(&r, 0, out);
    before = reln_ctx_allocations(r.w.ctx);
    for (int t = 1; t < STEPS; t++)
        predict(&r, t, out);
    assert_int_equal(reln_ctx_allocations(r.w.ctx), before);
    end(&r);
}

/* The file is cut while it is read: the batch before succeeds, the batch of the lost rows fails, the next one
 * succeeds. */
static void an_error_is_that_of_its_batch(void **state)
{
    static const ptrdiff_t good[2] = {0, 1}, lost[2] = {2, SAMPLES - 1};
    Folder *f = *state;
    const char *path = path_in(f, "data.npz");
    RelnArchive *archive = NULL;
    RelnData *data = NULL;
    struct stat info;
    Run r;

    begin(&r, MATRICES, NULL);
    assert_ok(r.w.ctx, reln_npz_save(r.w.ctx, path, r.w.n_arrays, r.w.arrays));
    assert_ok(r.w.ctx, reln_archive_open(r.w.ctx, path, &archive));
    assert_ok(r.w.ctx, reln_data_open(r.w.model, archive, &(RelnDataOptions){.budget = 64}, &data));
    assert_ok(r.w.ctx, reln_data_read_ahead(data, BATCH));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 400),
                     0); /* the last rows of y, and the directory */
    assert_ok(r.w.ctx, reln_data_bind(data, r.plan, 2, good, 0));
    assert_ok(r.w.ctx, reln_data_ahead(data, r.plan, 2, lost, 0));
    assert_ok(r.w.ctx, reln_plan_run(r.plan, &(RelnRun){.n_samples = 2}));
    reln_aside_wait(data->ahead.thread);
    reln_ctx_clear(r.w.ctx);
    assert_int_equal(reln_data_bind(data, r.plan, 2, lost, 0), RELN_ERR_IO);
    assert_non_null(strstr(reln_ctx_error(r.w.ctx), "data.npz: became shorter while it was read"));
    assert_ok(r.w.ctx, reln_data_bind(data, r.plan, 2, good, 0));
    assert_ok(r.w.ctx, reln_data_ahead(data, r.plan, 2, lost, 0)); /* this batch is abandoned */
    reln_data_destroy(data);
    reln_archive_destroy(archive);
    end(&r);
    unlink(path_in(f, "data.npz"));
}

/* ---- rows of later batches ------------------------------------------------------------------------------------------ */

enum { LONG = 20000, PAGE = 4096 };

/* Returns how many of the pages of a range the system has in its cache. */
static int cached_pages(int fd, size_t from, size_t to)
{
    const size_t begin = from / PAGE * PAGE, n = (to - begin + PAGE - 1) / PAGE;
    unsigned char *here = calloc(n, 1);
    void *map = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, fd, (off_t)begin);
    int count = 0;

    assert_true(map != MAP_FAILED && here);
    assert_int_equal(mincore(map, n * PAGE, here), 0);
    for (size_t i = 0; i < n; i++)
        count += here[i] & 1;
    munmap(map, n * PAGE);
    free(here);
    return count;
}

static void put_long_array(RelnCtx *ctx, const char *path, const char *name, int rank,
                           double *values)
{
    const RelnArray a = {.name = name,
                         .dtype = RELN_F64,
                         .rank = rank,
                         .dims = {LONG, WORLD_CHANNELS, 3, 3},
                         .values = values};

    assert_ok(ctx, reln_npy_save(ctx, path, &a));
}

/* The file is not in the cache at first; after rows are announced and a batch is read, these rows are in the
 * cache. */
static void announced_rows_are_brought_to_the_cache(void **state)
{
    static const ptrdiff_t good[2] = {0, 1};
    const size_t row = WORLD_CHANNELS * 72, from = 128 + 9000 * row, to = 128 + 11000 * row;
    const int pages = (int)((to + PAGE - 1) / PAGE - from / PAGE);
    Folder *f = *state;
    ptrdiff_t coming[2000];
    double *values = calloc((size_t)LONG * WORLD_CHANNELS * 9, sizeof *values);
    RelnArchive *archive = NULL;
    RelnData *data = NULL;
    Run r;
    int fd;

    begin(&r, MATRICES, NULL);
    for (int i = 0; i < LONG * WORLD_CHANNELS * 9; i++)
        values[i] = i % 7;
    assert_int_equal(mkdir(path_in(f, "long"), 0700), 0);
    put_long_array(r.w.ctx, path_in(f, "long/X.npy"), "X", 4, values);
    put_long_array(r.w.ctx, path_in(f, "long/y.npy"), "y", 2, values);
    assert_ok(r.w.ctx, reln_archive_open(r.w.ctx, path_in(f, "long"), &archive));
    assert_ok(r.w.ctx, reln_data_open(r.w.model, archive, &(RelnDataOptions){.budget = 64}, &data));
    assert_ok(r.w.ctx, reln_data_read_ahead(data, BATCH));
    for (int i = 0; i < 2000; i++) /* all rows, in descending order */
        coming[i] = 10999 - i;
    fd = open(path_in(f, "long/X.npy"), O_RDONLY);
    assert_true(fd >= 0 && fsync(fd) == 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (cached_pages(fd, from, to) == 0) { /* except on file systems in memory */
        assert_ok(r.w.ctx, reln_data_bind(data, r.plan, 2, good, 0));
        reln_data_expect(data, 2000, coming, 2);
        assert_ok(r.w.ctx, reln_data_ahead(data, r.plan, 2, good, 1));
        assert_ok(r.w.ctx,
                  reln_data_bind(data, r.plan, 2, good,
                                 1)); /* half of the rows have been announced to the system */
        assert_int_equal(data->ahead.told, 1000);
        assert_ok(r.w.ctx, reln_data_ahead(data, r.plan, 2, good, 2));
        assert_ok(r.w.ctx, reln_data_bind(data, r.plan, 2, good, 2));
        assert_int_equal(data->ahead.told, 2000);
        for (int tries = 0; tries < 500 && cached_pages(fd, from, to) < pages; tries++)
            usleep(10000);
        assert_int_equal(cached_pages(fd, from, to), pages);
        assert_int_equal(cached_pages(fd, 128 + 18000 * row, 128 + 19000 * row), 0);
    }
    close(fd);
    reln_data_destroy(data);
    reln_archive_destroy(archive);
    end(&r);
    free(values);
    unlink(path_in(f, "long/X.npy"));
    unlink(path_in(f, "long/y.npy"));
    rmdir(path_in(f, "long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_read_ahead_have_the_same_bits),
        cmocka_unit_test(an_announced_batch_is_read_before_it_is_bound),
        cmocka_unit_test(reading_ahead_allocates_nothing),
        cmocka_unit_test_setup_teardown(an_error_is_that_of_its_batch, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(announced_rows_are_brought_to_the_cache, folder_set_up,
                                        folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
