/* Tests ranks that open the same data: each rank checks a part, and all ranks get the constants that one
 * process computes. */
#include <float.h>

#include "fit/fit.h"
#include "model/data.h"
#include "model/world.h"
#include "support/ranks.h"

/* Three stretches of the pass over the data, the last one short. */
enum { SAMPLES = 140000, MOST = 4 };

#define SETS                                                                                       \
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}],"                     \
    " target: {name: y, as: vector}, model: {width: 4, depth: 1}, train: {dtype: f64}}"

typedef struct Found {
    World *world; /* its arrays */
    uint64_t print[MOST], constants[MOST], points[MOST];
    ptrdiff_t n_validation[MOST];
    RelnStatus status[MOST];
    char message[MOST][256];
} Found;

static RelnStatus open_all(World *w, const RelnComm *comm, Found *f)
{
    const RelnDataOptions options = {.budget = 64,
                                     .normalise = true,
                                     .validation = 0.1,
                                     .seed = 3,
                                     .comm = comm->size > 1 ? comm : NULL};

    RELN_TRY(world_model(w));
    RELN_TRY(reln_archive_fingerprint(w->archive, options.comm, w->ctx, RELN_FINGERPRINT,
                                      &f->print[comm->rank]));
    RELN_TRY(world_data(w, &options));
    f->constants[comm->rank] =
        reln_hash(RELN_HASH_SEED, w->model->constants.scale, sizeof w->model->constants.scale);
    f->constants[comm->rank] =
        reln_hash(f->constants[comm->rank], &w->model->constants.target[0].deviation,
                  sizeof w->model->constants.target[0].deviation);
    f->points[comm->rank] =
        reln_hash(RELN_HASH_SEED, w->data->first, (SAMPLES + 1) * sizeof *w->data->first);
    return RELN_OK;
}

static void open_rank(const RelnComm *comm, void *user)
{
    Found *f = user;
    World w = *f->world;

    w.archive = NULL;
    w.model = NULL;
    w.data = NULL;
    assert_int_equal(reln_ctx_create(NULL, &w.ctx), RELN_OK);
    f->status[comm->rank] = open_all(&w, comm, f);
    snprintf(f->message[comm->rank], sizeof f->message[0], "%s", reln_ctx_error(w.ctx));
    reln_data_destroy(w.data);
    reln_model_destroy(w.model);
    reln_archive_destroy(w.archive);
    reln_ctx_destroy(w.ctx);
}

static void any_number_of_ranks_finds_the_same_constants(void **state)
{
    Found one = {.world = *state}, some = {.world = *state};

    ranks_run(1, open_rank, &one, NULL);
    assert_int_equal(one.status[0], RELN_OK);
    for (int size = 2; size <= MOST; size += 2) {
        ranks_run(size, open_rank, &some, NULL);
        for (int r = 0; r < size; r++) {
            assert_int_equal(some.status[r], RELN_OK);
            assert_true(some.print[r] == one.print[0]);
            assert_true(some.constants[r] == one.constants[0]);
            assert_true(some.points[r] == one.points[0]);
        }
    }
}

/* Every row of the three stretches counts once: the deviation of the target is that of all its numbers. */
static void stretches_cover_every_row_once(void **state)
{
    World w = *(World *)*state;
    const RelnArray *y = world_find(&w, "y");
    const ptrdiff_t count = array_count(y);
    double square = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        square += ((const double *)y->values)[i] * ((const double *)y->values)[i] / (double)count;
    assert_int_equal(reln_ctx_create(NULL, &w.ctx), RELN_OK);
    w.archive = NULL;
    assert_ok(w.ctx, world_model(&w));
    assert_ok(w.ctx, world_data(&w, &(RelnDataOptions){.normalise = true}));
    /* a sum of `count` rounded squares; a row more or less changes it by 1e-6 and more */
    assert_near(&w.model->constants.target[0].deviation, (double[]){sqrt(square)}, 1,
                (double)count * DBL_EPSILON);
    reln_data_destroy(w.data);
    reln_model_destroy(w.model);
    reln_archive_destroy(w.archive);
    reln_ctx_destroy(w.ctx);
}

/* The last rank meets a NaN, and all ranks report it. */
static void what_one_rank_finds_wrong_all_say(void **state)
{
    World *w = *state;
    Found f = {.world = w};
    RelnArray *v = world_find(w, "v");
    double *bad = (double *)v->values + (SAMPLES - 1) * reln_array_row_size(v) +
                  (SAMPLES - 1) % WORLD_POINTS * (WORLD_CHANNELS * 3);
    const double was = *bad;

    *bad = (double)NAN;
    ranks_run(3, open_rank, &f, NULL);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(f.status[r], RELN_ERR_FORMAT);
        assert_string_equal(
            f.message[r],
            "v: row 139999 has a number that is not a number; finite ones were wanted");
    }
    *bad = was;
}

static int set_up(void **state)
{
    World *w = calloc(1, sizeof *w);

    assert_non_null(w);
    assert_ok(NULL, world_init(w, NULL, SETS, SAMPLES));
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    world_clear(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_finds_the_same_constants),
        cmocka_unit_test(stretches_cover_every_row_once),
        cmocka_unit_test(what_one_rank_finds_wrong_all_say),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
