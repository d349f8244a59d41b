/* test_store_file.c -- saves the weights of a network built in C to a file, and loads them. */
#include <string.h>
#include <unistd.h>

#include "reln/fit.h"
#include "reln/nn.h"
#include "reln/ops.h"
#include "reln/setting.h"
#include "support/folder.h"
#include "support/support.h"

static void build(RelnSetting *s, RelnDtype dtype, uint64_t seed, int width)
{
    RelnNet net;
    RelnNode *x;

    assert_int_equal(reln_setting_init(s, "gl:3", NULL, dtype, seed), RELN_OK);
    net = (RelnNet){.graph = s->graph, .algebra = s->algebra, .train = true};
    x = reln_input(s->graph, "x", RELN_SAMPLES, (RelnDims){.k = 9}, s->rep, RELN_DEFAULT);
    x = reln_nn_batch_norm(&net, "norm", reln_nn_linear(&net, "one", x, width),
                           RELN_NORM_INVARIANT);
    x = reln_batch_mean(s->graph, reln_nn_dense(&net, "out", reln_nn_invariant(&net, x), 1));
    reln_adam_all(s->graph, NULL, reln_scalar(s->graph, 0.1), x);
    assert_int_equal(reln_graph_status(s->graph), RELN_OK);
}

static void weights_come_back_and_moments_stay(void **state)
{
    const Folder *f = *state;
    const char *path = path_in(f, "weights.safetensors");
    RelnSetting a, b;
    RelnTensors *file = NULL;

    build(&a, RELN_F64, 1, 4);
    build(&b, RELN_F64, 2, 4);
    for (int i = 0; i < reln_store_count(b.store); i++)
        if (reln_store_entry(b.store, i).kind == RELN_ENTRY_MOMENT)
            ((double *)reln_store_entry(b.store, i).values)[0] = 7;
    assert_ok(a.ctx, reln_store_save(a.store, path));
    assert_ok(b.ctx, reln_store_load(b.store, path));
    for (int i = 0; i < reln_store_count(a.store); i++) {
        const RelnEntryInfo x = reln_store_entry(a.store, i);
        RelnEntryInfo y;

        assert_true(reln_store_find(b.store, x.name, &y));
        if (x.kind == RELN_ENTRY_MOMENT)
            assert_true(((double *)y.values)[0] == 7);
        else
            assert_memory_equal(x.values, y.values, x.count * sizeof(double));
    }
    assert_ok(a.ctx, reln_tensors_load(a.ctx, path, &file));
    assert_non_null(reln_tensors_find(file, "one.W"));
    assert_non_null(reln_tensors_find(file, "norm.square"));
    assert_int_equal(reln_tensors_count(file),
                     5); /* one.W, norm.square, norm.gamma, out.W, out.b */
    reln_tensors_destroy(file);
    reln_setting_clear(&a);
    reln_setting_clear(&b);
    unlink(path);
}

/* A file that does not fit says which array, and changes nothing. */
static void refuses(RelnSetting *s, const char *file, RelnStatus wanted, const char *word)
{
    RelnEntryInfo entry;
    double before;

    assert_true(reln_store_find(s->store, "out.b", &entry));
    before = entry.dtype == RELN_F64 ? *(double *)entry.values : (double)*(float *)entry.values;
    assert_int_equal(reln_store_load(s->store, file), wanted);
    if (!strstr(reln_ctx_error(s->ctx), word))
        fail_msg("'%s' is not in '%s'", word, reln_ctx_error(s->ctx));
    assert_true(before == (entry.dtype == RELN_F64 ? *(double *)entry.values
                                                   : (double)*(float *)entry.values));
}

static void what_does_not_fit_is_refused(void **state)
{
    static double one[1] = {1};
    const RelnArray few = RELN_ARRAY("out.b", RELN_F64, one, 1, 1, 1, 1, 1);
    const Folder *f = *state;
    const char *path = path_in(f, "weights.safetensors");
    const char *other_path = path_in(f, "few.safetensors");
    RelnSetting a, wider, floats;

    build(&a, RELN_F64, 1, 4);
    build(&wider, RELN_F64, 2, 5);
    build(&floats, RELN_F32, 2, 4);
    assert_ok(a.ctx, reln_store_save(a.store, path));
    refuses(&wider, path, RELN_ERR_FORMAT, "array one.W is not of the shape");
    refuses(&floats, path, RELN_ERR_FORMAT, "array one.W is not of the shape and dtype");
    assert_ok(a.ctx, reln_tensors_save(a.ctx, other_path, 1, &few, NULL));
    refuses(&a, other_path, RELN_ERR_FORMAT, "there is no array one.W");
    refuses(&a, "/nowhere/at/all", RELN_ERR_IO, "/nowhere/at/all");
    reln_setting_clear(&a);
    reln_setting_clear(&wider);
    reln_setting_clear(&floats);
    unlink(path);
    unlink(other_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(weights_come_back_and_moments_stay, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, folder_set_up,
                                        folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
