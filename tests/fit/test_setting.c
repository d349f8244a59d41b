/* test_setting.c -- tests the environment of a run: files have decimal points in every locale, and a run is
 * resumed only with the kernels that it began with. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "fit/room.h"

#define SPEC VECTORS " train: {epochs: 3, batch: 4, validation: 0.25}}"

static int count_of(const char *text, size_t n, char wanted)
{
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += text[i] == wanted;
    return count;
}

/* ---- the locale ---------------------------------------------------------------------------------------------------- */

/* Sets a locale with a decimal comma: an installed one, or one that localedef makes in the folder. */
static bool set_comma(const char *folder)
{
    char command[512];

    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        snprintf(command, sizeof command,
                 "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", folder);
        if (system(command) != 0 || setenv("LOCPATH", folder, 1) != 0 ||
            !setlocale(LC_ALL, "de_DE.UTF-8"))
            return false;
    }
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

static void files_of_a_run_do_not_depend_on_the_locale(void **state)
{
    char folder[] = "/tmp/reln-locale-XXXXXX", command[128], text[32], path[600];
    char *plain, *comma;
    size_t n_plain, n_comma;
    Room r;

    (void)state;
    assert_non_null(mkdtemp(folder));
    room_init(&r, SPEC, 16);
    room_train(&r, 1);
    snprintf(path, sizeof path, "%s/metrics.csv", r.run);
    plain = read_file(path, &n_plain);
    if (set_comma(folder)) {
        snprintf(text, sizeof text, "%.1f", 0.5);
        assert_string_equal(text, "0,5");
        reln_format(text, sizeof text, "%.1f", 0.5);
        assert_string_equal(text, "0.5");
        room_sweep(r.run);
        room_train(&r, 1);
        comma = read_file(path, &n_comma);
        assert_int_equal(count_of(comma, n_comma, ','), count_of(plain, n_plain, ','));
        assert_int_equal(count_of(comma, n_comma, '.'), count_of(plain, n_plain, '.'));
        free(comma);
        setlocale(LC_ALL, "C");
    } else
        print_message("no locale with a decimal comma here: not tried\n");
    free(plain);
    room_clear(&r);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

/* Replaces the name of the kernels in the checkpoint of the run. */
static void rename_kernels(const Room *r, const char *name)
{
    RelnMetaItem items[16];
    char path[256];
    RelnTensors *file = NULL;
    int n = 0;

    snprintf(path, sizeof path, "%s/checkpoint.safetensors", r->run);
    assert_ok(r->world.ctx, reln_tensors_load(r->world.ctx, path, &file));
    for (int i = 0; i < reln_tensors_metadata(file)->n; i++) {
        const RelnMetaItem *item = &reln_tensors_metadata(file)->items[i];

        if (strcmp(item->key, "reln.sha256") != 0 && strcmp(item->key, "reln.writer") != 0)
            items[n++] = *item;
        if (strcmp(item->key, "reln.kernels") == 0)
            items[n - 1].value = name;
    }
    assert_ok(r->world.ctx, reln_tensors_save(r->world.ctx, path, reln_tensors_count(file),
                                              reln_tensors_get(file, 0), &(RelnMeta){n, items}));
    reln_tensors_destroy(file);
}

static RelnStatus resume(const Room *r, bool reference)
{
    const RelnFitOptions options = {.folder = r->run, .reference = reference};
    RelnFit *fit = NULL;
    const RelnStatus status = reln_fit_resume(r->world.ctx, &options, &fit);

    reln_fit_close(fit);
    return status;
}

static void a_run_goes_on_with_its_kernels_or_not_at_all(void **state)
{
    const bool choice = strcmp(reln_kernels_text(false), reln_kernels_text(true)) != 0;
    Room r;

    (void)state;
    room_init(&r, SPEC, 16);
    room_train(&r, 1);
    assert_int_equal(resume(&r, false), RELN_OK);
    assert_int_equal(resume(&r, true), choice ? RELN_ERR_UNSUPPORTED : RELN_OK);
    rename_kernels(&r, reln_kernels_text(true)); /* the name of the reference kernels */
    assert_int_equal(resume(&r, false), RELN_OK);
    assert_int_equal(resume(&r, true), RELN_OK);
    rename_kernels(&r, "abacus");
    assert_int_equal(resume(&r, false), RELN_ERR_UNSUPPORTED);
    assert_int_equal(resume(&r, true), RELN_ERR_UNSUPPORTED);
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_run_do_not_depend_on_the_locale),
        cmocka_unit_test(a_run_goes_on_with_its_kernels_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
