/* reads.c -- tests reading HDF5 files through reln-h5: their numbers are right, and nothing outside of the
 * file is read. */
#include "support/support.h"

#include <hdf5.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Fixture {
    RelnCtx *ctx;
    char directory[64], path[96];
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    *state = f;
    snprintf(f->directory, sizeof f->directory, "/tmp/reln-h5-XXXXXX");
    if (!mkdtemp(f->directory) || reln_ctx_create(NULL, &f->ctx) != RELN_OK)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/a.h5", f->directory);
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    const uint64_t live = reln_ctx_live_blocks(f->ctx);
    int left;

    unlink(f->path);
    left = rmdir(f->directory);
    reln_ctx_destroy(f->ctx);
    free(f);
    return live == 0 ? left : -1;
}

enum { ROWS = 1000, COLUMNS = 30 };
static double values[ROWS][COLUMNS];

/* chunk 0: in one piece; otherwise chunks of so many rows, packed. */
static void put(hid_t file, const char *name, hid_t type, int rank, hsize_t chunk)
{
    const hsize_t dims[2] = {ROWS, COLUMNS}, chunks[2] = {chunk, COLUMNS};
    const hid_t space = rank > 0 ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    hid_t dataset;

    H5Pset_create_intermediate_group(links, 1);
    if (chunk > 0) {
        H5Pset_chunk(plan, rank, chunks);
        H5Pset_deflate(plan, 6);
    }
    dataset = H5Dcreate2(file, name, type, space, links, plan, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (H5Tget_class(type) != H5T_STRING)
        assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >=
                    0);
    H5Dclose(dataset);
    H5Pclose(links);
    H5Pclose(plan);
    H5Sclose(space);
}

/* Writes booleans as h5py does. */
static void put_booleans(hid_t file)
{
    const hsize_t n = 4;
    const int8_t truths[4] = {1, 0, 0, 1};
    const hid_t type = H5Tenum_create(H5T_STD_I8LE), space = H5Screate_simple(1, &n, NULL);
    hid_t dataset;

    H5Tenum_insert(type, "FALSE", &(int8_t){0});
    H5Tenum_insert(type, "TRUE", &(int8_t){1});
    dataset = H5Dcreate2(file, "mask", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, truths) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_colours(hid_t file)
{
    const hsize_t n = 4;
    const hid_t type = H5Tenum_create(H5T_STD_I8LE), space = H5Screate_simple(1, &n, NULL);

    H5Tenum_insert(type, "RED", &(int8_t){0});
    H5Dclose(H5Dcreate2(file, "colours", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Tclose(type);
}

/* Writes a soft link within the file, a link that leads to another file, and a dataset with external storage. */
static void put_ways_out(hid_t file)
{
    const hsize_t n = 8;
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &n, NULL);

    H5Pset_external(plan, "/etc/hostname", 0, 8);
    H5Dclose(H5Dcreate2(file, "outside", H5T_STD_U8LE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(plan);
    H5Lcreate_soft("/f8", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/external", file, "roundabout", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/", file, "circle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/elsewhere.h5", "/x", file, "external", H5P_DEFAULT, H5P_DEFAULT);
}

static void make_file(const Fixture *f)
{
    const hid_t file = H5Fcreate(f->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(file >= 0);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            values[i][j] = i % 100 + j;
    put(file, "f8", H5T_IEEE_F64LE, 2, 0);
    put(file, "f4", H5T_IEEE_F32BE, 2, 37);
    put(file, "group/inner/u1", H5T_STD_U8LE, 2, 0);
    put(file, "i8", H5T_STD_I64BE, 2, 0);
    put(file, "one", H5T_IEEE_F64LE, 0, 0);
    put(file, "words", H5T_C_S1, 1, 0);
    put_booleans(file);
    put_colours(file);
    put_ways_out(file);
    H5Fclose(file);
}

static void datasets_of_every_kind_are_read(void **state)
{
    static const char *const names[] = {"f8", "f4", "group/inner/u1", "i8", "soft"};
    static double out[ROWS][COLUMNS];
    Fixture *f = *state;
    RelnArchive *a = NULL;

    make_file(f);
    assert_ok(f->ctx, reln_archive_open_with(f->ctx, f->path, RELN_H5, &a));
    assert_int_equal(reln_archive_count(a), 7); /* neither texts nor data outside of the file */
    assert_string_equal(reln_archive_unread(a, "words"), "text");
    assert_string_equal(reln_archive_unread(a, "colours"), "an enumeration");
    assert_string_equal(reln_archive_unread(a, "outside"),
                        "kept outside of the file, or a view of others");
    assert_null(reln_archive_unread(a, "external")); /* it is not listed at all */
    assert_null(reln_archive_unread(a, "f8"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const int x = reln_archive_find(a, names[i]);

        assert_true(x >= 0 && reln_array_row_size(reln_archive_info(a, x)) == COLUMNS);
        assert_ok(f->ctx, reln_archive_range(a, x, 0, ROWS, &out[0][0]));
        assert_memory_equal(out, values, sizeof values);
        assert_ok(f->ctx, reln_archive_rows(a, x, 1, &(ptrdiff_t){ROWS - 1}, &out[0][0]));
        assert_memory_equal(out, values[ROWS - 1], sizeof values[0]);
    }
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "one"), 0, 1, &out[0][0]));
    assert_true(out[0][0] == values[0][0]);
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "mask"), 0, 4, &out[0][0]));
    assert_true(out[0][0] == 1 && out[0][1] == 0 && out[0][2] == 0 && out[0][3] == 1);
    reln_archive_destroy(a);
}

/* A table as pandas writes it: an index, arrays of numbers in each row, and text. */
enum { TABLE_ROWS = 500, BLOCK = 7 };
typedef struct TableRow {
    int64_t index;
    float block[BLOCK];
    int64_t labels[2];
    char word[4];
} TableRow;

static hid_t table_type(void)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(TableRow)), word = H5Tcopy(H5T_C_S1),
                block = H5Tarray_create2(H5T_IEEE_F32LE, 1, (const hsize_t[]){BLOCK}),
                labels = H5Tarray_create2(H5T_STD_I64LE, 1, (const hsize_t[]){2});

    H5Tset_size(word, 4);
    H5Tinsert(type, "index", offsetof(TableRow, index), H5T_STD_I64LE);
    H5Tinsert(type, "values_block_0", offsetof(TableRow, block), block);
    H5Tinsert(type, "values_block_1", offsetof(TableRow, labels), labels);
    H5Tinsert(type, "word", offsetof(TableRow, word), word);
    H5Tclose(word);
    H5Tclose(block);
    H5Tclose(labels);
    return type;
}

static void make_table(const Fixture *f)
{
    static TableRow rows[TABLE_ROWS];
    const hsize_t n = TABLE_ROWS, chunk = 64;
    const hid_t file = H5Fcreate(f->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                type = table_type(), space = H5Screate_simple(1, &n, NULL),
                plan = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    hid_t dataset;

    for (int i = 0; i < TABLE_ROWS; i++) {
        rows[i] = (TableRow){.index = i, .labels = {2, i % 2}, .word = "abc"};
        for (int k = 0; k < BLOCK; k++)
            rows[i].block[k] = (float)(i + 0.5 * k);
    }
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_chunk(plan, 1, &chunk);
    H5Pset_deflate(plan, 6);
    dataset = H5Dcreate2(file, "table/table", type, space, links, plan, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Dclose(dataset);
    H5Pclose(links);
    H5Pclose(plan);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
}

static void fields_of_tables_are_read_as_arrays(void **state)
{
    static double out[TABLE_ROWS][BLOCK];
    double some[4];
    Fixture *f = *state;
    RelnArchive *a = NULL;
    int x;

    make_table(f);
    assert_ok(f->ctx, reln_archive_open_with(f->ctx, f->path, RELN_H5, &a));
    assert_int_equal(reln_archive_count(a), 3); /* index and two blocks */
    assert_string_equal(reln_archive_unread(a, "table/table"), "a compound of fields");
    assert_string_equal(reln_archive_unread(a, "table/table/word"), "a field of no numbers");
    x = reln_archive_find(a, "table/table/values_block_0");
    assert_true(x >= 0 && reln_archive_info(a, x)->rank == 2);
    assert_ok(f->ctx, reln_archive_range(a, x, 0, TABLE_ROWS, &out[0][0]));
    for (int i = 0; i < TABLE_ROWS; i++)
        for (int k = 0; k < BLOCK; k++)
            assert_true(out[i][k] == i + 0.5 * k);
    x = reln_archive_find(a, "table/table/values_block_1");
    assert_ok(f->ctx, reln_archive_rows(a, x, 2, (const ptrdiff_t[]){7, 4}, some));
    assert_true(some[0] == 2 && some[1] == 1 && some[2] == 2 && some[3] == 0);
    x = reln_archive_find(a, "table/table/index");
    assert_ok(f->ctx, reln_archive_range(a, x, 17, 1, some));
    assert_true(some[0] == 17);
    reln_archive_destroy(a);
}

/* The dataset uses a filter that no HDF5 library has; it is optional when the file is written, and its number
 * stays in the file. */
static void unknown_filters_are_named(void **state)
{
    const hsize_t n = 64;
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &n, NULL);
    Fixture *f = *state;
    RelnArchive *a = NULL;
    hid_t file;

    file = H5Fcreate(f->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Pset_chunk(plan, 1, &n);
    H5Pset_filter(plan, (H5Z_filter_t)32001, H5Z_FLAG_OPTIONAL, 0, NULL);
    H5Dclose(H5Dcreate2(file, "Pmu", H5T_IEEE_F64LE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(plan);
    H5Fclose(file);
    assert_ok(f->ctx, reln_archive_open_with(f->ctx, f->path, RELN_H5, &a));
    assert_string_equal(reln_archive_unread(a, "Pmu"),
                        "compressed by filter 32001, which is not here");
    reln_archive_destroy(a);
}

static void damaged_files_are_refused_with_one_line(void **state)
{
    Fixture *f = *state;
    struct stat info;
    RelnArchive *a = NULL;

    make_file(f);
    assert_int_equal(stat(f->path, &info), 0);
    for (off_t size = info.st_size - 1; size > 8; size = size * 2 / 3) {
        RelnStatus status;
        double out[COLUMNS];

        assert_int_equal(truncate(f->path, size), 0);
        status = reln_archive_open_with(f->ctx, f->path, RELN_H5, &a);
        if (status == RELN_OK)
            status = reln_archive_range(a, 0, ROWS - 1, 1, out);
        reln_archive_destroy(a);
        assert_int_equal(status, RELN_ERR_FORMAT);
        assert_non_null(strstr(reln_ctx_error(f->ctx), "damaged HDF5"));
        assert_null(strchr(reln_ctx_error(f->ctx), '\n'));
    }
}

static size_t read_all(const char *path, unsigned char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, room, file);
    fclose(file);
    assert_true(n < room);
    return n;
}

static void write_all(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static RelnStatus read_some(const Fixture *f)
{
    RelnArchive *a = NULL;
    double out[COLUMNS];
    RelnStatus status = reln_archive_open_with(f->ctx, f->path, RELN_H5, &a);

    for (int i = 0; status == RELN_OK && i < reln_archive_count(a); i++)
        if (reln_array_rows(reln_archive_info(a, i)) > 0 &&
            reln_array_row_size(reln_archive_info(a, i)) <= COLUMNS)
            status = reln_archive_range(a, i, 0, 1, out);
    reln_archive_destroy(a);
    return status;
}

/* Changes bytes at random places: every call returns, and this process does not crash. */
static void changed_bytes_never_do_more_than_fail(void **state)
{
    static unsigned char good[1 << 20], bad[1 << 20];
    Fixture *f = *state;
    RelnRng rng = reln_rng(11, 0);
    int refused = 0;
    size_t n;

    make_file(f);
    n = read_all(f->path, good, sizeof good);
    for (int run = 0; run < 30; run++) {
        memcpy(bad, good, n);
        for (int k = 0; k < 40; k++) /* after the signature, in the part with the structure */
            bad[8 + reln_rng_below(&rng, 4096)] = (unsigned char)reln_rng_below(&rng, 256);
        write_all(f->path, bad, n);
        refused += read_some(f) != RELN_OK;
    }
    assert_true(refused > 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(datasets_of_every_kind_are_read),
        TEST(fields_of_tables_are_read_as_arrays),
        TEST(unknown_filters_are_named),
        TEST(damaged_files_are_refused_with_one_line),
        TEST(changed_bytes_never_do_more_than_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
