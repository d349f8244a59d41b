/* Tests several files of arrays that are read as one archive. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/support.h"

enum { PARTS = 9, COLUMNS = 3 };
static const ptrdiff_t rows_of[PARTS] = {2, 0, 1, 1, 0, 1, 1, 0, 2};
static const int written[PARTS] = {5, 2, 7, 0, 3, 8, 6, 1, 4};

/* Row r of all files together is (10 r, 10 r + 1, 10 r + 2), and y is r. The files are not written in the order of their
 * names, and are many, since a folder lists files in any order. */
static void write_parts(const Folder *f)
{
    ptrdiff_t first[PARTS + 1] = {0};

    for (int p = 0; p < PARTS; p++)
        first[p + 1] = first[p] + rows_of[p];
    for (int k = 0; k < PARTS; k++) {
        const int p = written[k];
        double x[8 * COLUMNS], y[8];
        char name[32];
        const RelnArray arrays[] = {RELN_ARRAY("X", RELN_F64, x, rows_of[p], COLUMNS),
                                    RELN_ARRAY("y", RELN_F64, y, rows_of[p])};

        for (ptrdiff_t i = 0; i < rows_of[p]; i++) {
            y[i] = (double)(first[p] + i);
            for (int c = 0; c < COLUMNS; c++)
                x[i * COLUMNS + c] = 10 * y[i] + c;
        }
        snprintf(name, sizeof name, "part-%d.npz", p);
        assert_ok(f->ctx, reln_npz_save(f->ctx, path_in(f, name), 2, arrays));
    }
}

static void remove_parts(const Folder *f)
{
    for (int p = 0; p < 10; p++) {
        char name[32];

        snprintf(name, sizeof name, "part-%d.npz", p);
        (void)unlink(path_in(f, name));
    }
}

static void rows_of_all_files_are_rows_of_one(void **state)
{
    static const ptrdiff_t some[] = {7, 0, 2, 3, 1, 7};
    const Folder *f = *state;
    RelnArchive *v = NULL;
    double x[8 * COLUMNS];
    int at;

    write_parts(f);
    assert_ok(f->ctx, reln_archive_open(f->ctx, path_in(f, "part-*.npz"), &v));
    assert_int_equal(reln_archive_count(v), 2);
    at = reln_archive_find(v, "X");
    assert_int_equal(reln_archive_info(v, at)->dims[0], 8);
    assert_ok(f->ctx, reln_archive_range(v, at, 0, 8, x));
    for (int i = 0; i < 8 * COLUMNS; i++)
        assert_true(x[i] == 10 * (i / COLUMNS) + i % COLUMNS);
    assert_ok(f->ctx, reln_archive_rows(v, at, 6, some, x));
    for (int i = 0; i < 6 * COLUMNS; i++)
        assert_true(x[i] == 10 * (double)some[i / COLUMNS] + i % COLUMNS);
    assert_int_equal(reln_archive_range(v, at, 7, 2, x), RELN_ERR_ARG);
    reln_archive_destroy(v);
    remove_parts(f);
}

static void refused(const Folder *f, RelnStatus status, const char *text)
{
    RelnArchive *v = NULL;

    assert_int_equal(reln_archive_open(f->ctx, path_in(f, "part-*.npz"), &v), status);
    if (!strstr(reln_ctx_error(f->ctx), text))
        fail_msg("'%s' is not about '%s'", reln_ctx_error(f->ctx), text);
    assert_null(v);
}

static void files_that_do_not_fit_are_refused(void **state)
{
    const Folder *f = *state;
    double x[4] = {0};
    const RelnArray wide[] = {RELN_ARRAY("X", RELN_F64, x, 1, 4), RELN_ARRAY("y", RELN_F64, x, 1)};
    const RelnArray less[] = {RELN_ARRAY("X", RELN_F64, x, 1, 3)};
    const RelnArray deep[] = {RELN_ARRAY("X", RELN_F64, x, 1, 3, 1),
                              RELN_ARRAY("y", RELN_F64, x, 1)};
    const RelnArray single = {.name = "y", .dtype = RELN_F64, .values = x};

    refused(f, RELN_ERR_IO, "no file has a name like this");
    write_parts(f);
    assert_ok(f->ctx, reln_npz_save(f->ctx, path_in(f, "part-9.npz"), 2, wide));
    refused(f, RELN_ERR_FORMAT, "part-9.npz: array 'X' has rows of another shape");
    assert_ok(f->ctx, reln_npz_save(f->ctx, path_in(f, "part-9.npz"), 1, less));
    refused(f, RELN_ERR_FORMAT, "part-9.npz: array 'y' is missing, and is in ");
    assert_ok(f->ctx, reln_npz_save(f->ctx, path_in(f, "part-9.npz"), 2, deep));
    refused(f, RELN_ERR_FORMAT, "part-9.npz: array 'X' has rows of another shape than in ");
    remove_parts(f);
    /* single numbers have no rows that could follow each other */
    for (int p = 0; p < 2; p++)
        assert_ok(f->ctx,
                  reln_npz_save(f->ctx, path_in(f, p ? "part-1.npz" : "part-0.npz"), 1, &single));
    refused(f, RELN_ERR_FORMAT, "part-0.npz: array 'y' has rows of another shape than in ");
    remove_parts(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_all_files_are_rows_of_one, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(files_that_do_not_fit_are_refused, folder_set_up,
                                        folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
