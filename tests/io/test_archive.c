/* test_archive.c -- tests files of arrays read by rows: every format gives the same numbers, and damaged
 * files are refused. */
#include "io/archive.h"
#include "io/windows.h"
#include "kit/files.h"
#include "support/folder.h"
#include "support/ranks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- files made by hand ----------------------------------------------------------------------------------------- */

typedef struct Bytes {
    unsigned char data[16384];
    size_t n;
} Bytes;

static void put(Bytes *b, const void *bytes, size_t n)
{
    assert_true(b->n + n <= sizeof b->data);
    if (n > 0)
        memcpy(b->data + b->n, bytes, n);
    b->n += n;
}

static void put_number(Bytes *b, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) {
        const unsigned char byte = i < 8 ? (unsigned char)(value >> 8 * i & 255) : 0;

        put(b, &byte, 1);
    }
}

static void put_npy(Bytes *b, const char *descr, bool fortran, const char *shape,
                    const void *numbers, size_t n)
{
    char text[128];
    const int length =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s}", descr,
                 fortran ? "True" : "False", shape);

    put(b, "\x93NUMPY\1", 8);
    put_number(b, (uint64_t)length, 2);
    put(b, text, (size_t)length);
    put(b, numbers, n);
}

/* An Entry is one entry of a .zip, and the way in which it is damaged. */
typedef struct Entry {
    const char *name;
    Bytes content;
    bool deflated;
    bool wide;        /* its sizes and offset are in the 64-bit extra field */
    int flags;        /* of the directory */
    int method;       /* written instead of the true method, if not 0 */
    uint64_t claimed; /* unpacked size, when not 0 */
    uint32_t crc_error;
    uint64_t shift; /* of its place */
    int more;       /* bytes behind the end of its stream; below 0: so many are missing */
    size_t packed, at;
} Entry;

static size_t deflated(const Bytes *from, unsigned char *to, size_t room)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)from->data;
    z.avail_in = (uInt)from->n;
    z.next_out = to;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static void put_local(Bytes *zip, Entry *e)
{
    static unsigned char packed[16384];

    e->packed = e->deflated ? deflated(&e->content, packed, sizeof packed) : e->content.n;
    e->at = zip->n;
    put(zip, "PK\3\4", 4);
    put_number(zip, 0, 22); /* readers use the directory, not this header */
    put_number(zip, strlen(e->name), 2);
    put_number(zip, 5, 2);
    put(zip, e->name, strlen(e->name));
    put(zip, "extra", 5);
    put(zip, e->deflated ? packed : e->content.data, e->packed);
    if (e->more > 0)
        put_number(zip, 0, e->more);
    else
        zip->n -= (size_t)-e->more;
    e->packed = (size_t)((ptrdiff_t)e->packed + e->more);
}

static void put_central(Bytes *zip, const Entry *e)
{
    const uint64_t all = UINT32_MAX, unpacked = e->claimed ? e->claimed : e->content.n;
    const int method = e->method ? e->method : e->deflated ? 8 : 0;

    put(zip, "PK\1\2", 4);
    put_number(zip, 20, 4);
    put_number(zip, (uint64_t)e->flags, 2);
    put_number(zip, (uint64_t)method, 2);
    put_number(zip, 0x5d72a2f3, 4); /* time and date */
    put_number(zip, crc32(crc32(0, NULL, 0), e->content.data, (uInt)e->content.n) ^ e->crc_error,
               4);
    put_number(zip, e->wide ? all : e->packed, 4);
    put_number(zip, e->wide ? all : unpacked, 4);
    put_number(zip, strlen(e->name), 2);
    put_number(zip, e->wide ? 28 : 0, 2);
    put_number(zip, 0, 4);          /* neither a comment nor another disk */
    put_number(zip, 1, 2);          /* a text, as zip says of some files */
    put_number(zip, 0x81a40000, 4); /* permissions */
    put_number(zip, e->wide ? all : e->at + e->shift, 4);
    put(zip, e->name, strlen(e->name));
    if (!e->wide)
        return;
    put_number(zip, 1, 2);
    put_number(zip, 24, 2);
    put_number(zip, unpacked, 8);
    put_number(zip, e->packed, 8);
    put_number(zip, e->at + e->shift, 8);
}

/* Writes the end of the directory; with `wide`, the numbers are in the 64-bit end only. */
static void put_end(Bytes *zip, size_t n, size_t begin, bool wide)
{
    const size_t end = zip->n;

    if (wide) {
        put(zip, "PK\6\6", 4);
        put_number(zip, 44, 8);
        put_number(zip, 45, 4);
        put_number(zip, 0, 8);
        put_number(zip, n, 8);
        put_number(zip, n, 8);
        put_number(zip, end - begin, 8);
        put_number(zip, begin, 8);
        put(zip, "PK\6\7", 4);
        put_number(zip, 0, 4);
        put_number(zip, end, 8);
        put_number(zip, 1, 4);
    }
    put(zip, "PK\5\6", 4);
    put_number(zip, 0, 4);
    put_number(zip, wide ? 0xffff : n, 2);
    put_number(zip, wide ? 0xffff : n, 2);
    put_number(zip, wide ? UINT32_MAX : end - begin, 4);
    put_number(zip, wide ? UINT32_MAX : begin, 4);
    put_number(zip, 9, 2);
    put(zip, "a comment", 9);
}

static Bytes zip_of(Entry *entries, size_t n, bool wide)
{
    Bytes zip = {{0}, 0};
    size_t begin;

    for (size_t i = 0; i < n; i++)
        put_local(&zip, &entries[i]);
    begin = zip.n;
    for (size_t i = 0; i < n; i++)
        put_central(&zip, &entries[i]);
    put_end(&zip, n, begin, wide);
    return zip;
}

static const char *write_bytes(const Folder *f, const char *name, const Bytes *b)
{
    const char *const path = path_in(f, name);
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->n, file), b->n);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* ---- the same numbers from every format --------------------------------------------------------------------------- */

enum { ROWS = 40, COLUMNS = 6 };
static double values[ROWS][COLUMNS];

static void fill(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            values[i][j] = i - 7.25 * j;
}

static void assert_row(const double *row, ptrdiff_t i)
{
    assert_memory_equal(row, values[i], sizeof values[i]);
}

static void assert_rows(Folder *f, const char *path, const char *name)
{
    static const ptrdiff_t order[] = {7, 8, 9, 0, ROWS - 1, 9, 8, 7};
    double out[ROWS * COLUMNS];
    RelnArchive *a = NULL;
    const RelnArray *info;
    uint64_t allocations;
    int x;

    assert_ok(f->ctx, reln_archive_open(f->ctx, path, &a));
    x = reln_archive_find(a, name);
    assert_true(x >= 0);
    assert_int_equal(reln_archive_find(a, "absent"), -1);
    info = reln_archive_info(a, x);
    assert_true(reln_array_rows(info) == ROWS && reln_array_row_size(info) == COLUMNS &&
                info->rank == 3);
    assert_true(info->dims[1] == 2 && info->dims[2] == 3);
    assert_string_equal(info->stored, "f8");
    assert_ok(f->ctx, reln_archive_range(a, x, 0, ROWS, out));
    assert_memory_equal(out, values, sizeof values);
    allocations = reln_ctx_allocations(f->ctx); /* from here on nothing is allocated */
    assert_ok(f->ctx, reln_archive_range(a, x, 3, 2, out));
    assert_row(out, 3);
    assert_row(out + COLUMNS, 4);
    assert_ok(f->ctx, reln_archive_rows(a, x, 8, order, out));
    for (int i = 0; i < 8; i++)
        assert_row(out + i * COLUMNS, order[i]);
    assert_int_equal(reln_ctx_allocations(f->ctx), allocations);
    assert_int_equal(reln_archive_range(a, x, ROWS, 0, out), RELN_OK);
    assert_int_equal(reln_archive_range(a, x, ROWS - 1, 2, out), RELN_ERR_ARG);
    assert_int_equal(reln_archive_range(a, x, -1, 1, out), RELN_ERR_ARG);
    assert_int_equal(reln_archive_rows(a, x, 1, &(ptrdiff_t){ROWS}, out), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "row 40 of array"));
    assert_int_equal(reln_archive_range(a, 99, 0, 1, out), RELN_ERR_ARG);
    reln_archive_destroy(a);
}

static void rows_are_the_same_from_every_format(void **state)
{
    const RelnArray arrays[] = {RELN_ARRAY("y", RELN_I32, &(int32_t){3}, 1),
                                RELN_ARRAY("X", RELN_F64, values, ROWS, 2, 3)};
    Folder *f = *state;
    char folder[128], path[160];

    fill();
    snprintf(folder, sizeof folder, "%s/folder", f->directory);
    snprintf(path, sizeof path, "%s/X.npy", folder);
    assert_ok(f->ctx, reln_folder_make(f->ctx, folder));
    assert_ok(f->ctx, reln_npy_save(f->ctx, path, &arrays[1]));
    assert_rows(f, path, "X");
    assert_rows(f, folder, "X");
    unlink(path);
    rmdir(folder);
    snprintf(path, sizeof path, "%s", path_in(f, "a"));
    assert_ok(f->ctx, reln_npz_save(f->ctx, path, 2, arrays));
    assert_rows(f, path, "X");
    assert_ok(f->ctx, reln_tensors_save(f->ctx, path, 2, arrays, NULL));
    assert_rows(f, path, "X");
    unlink(path);
}

static void packed_and_wide_and_turned_arrays_are_the_same(void **state)
{
    static double turned[3][2][ROWS];
    static unsigned char reversed[sizeof values];
    Entry entries[5] = {{.name = "X.npy", .deflated = true},
                        {.name = "F.npy"},
                        {.name = "G.npy", .deflated = true},
                        {.name = "B.npy"},
                        {.name = "note.txt"}};
    Folder *f = *state;

    fill();
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 3; k++)
                turned[k][j][i] = values[i][3 * j + k];
    for (size_t i = 0; i < sizeof values; i++)
        reversed[i] = ((const unsigned char *)values)[i / 8 * 8 + 7 - i % 8];
    put_npy(&entries[0].content, "<f8", false, "(40, 2, 3)", values, sizeof values);
    put_npy(&entries[1].content, "<f8", true, "(40, 2, 3)", turned, sizeof turned);
    entries[2].content = entries[1].content;
    put_npy(&entries[3].content, ">f8", false, "(40, 2, 3)", reversed, sizeof reversed);
    put(&entries[4].content, "hello", 5);
    for (int wide = 0; wide < 2; wide++) {
        Bytes zip;

        for (int i = 0; i < 5; i++)
            entries[i].wide = wide == 1;
        zip = zip_of(entries, 5, wide == 1);
        write_bytes(f, "a.npz", &zip);
        for (int i = 0; i < 4; i++) {
            const char name[] = {entries[i].name[0], '\0'};

            assert_rows(f, path_in(f, "a.npz"), name);
        }
    }
    unlink(path_in(f, "a.npz"));
}

/* A Shared holds the files in which ranks have unpacked the arrays of an archive. */
typedef struct Shared {
    const char *path;
    struct stat file[4][2];
    bool read[4];
} Shared;

static void open_and_share(const RelnComm *comm, void *user)
{
    Shared *s = user;
    static const char *const names[2] = {"X", "G"};
    double out[ROWS * 6];
    RelnCtx *ctx = NULL;
    RelnArchive *a = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_archive_open(ctx, s->path, &a));
    assert_ok(ctx, reln_archive_share(a, ctx, comm));
    s->read[comm->rank] = true;
    for (int i = 0; i < 2; i++) {
        const int index = reln_archive_find(a, names[i]);

        assert_int_equal(fstat(a->arrays[index].spill.fd, &s->file[comm->rank][i]), 0);
        assert_ok(ctx, reln_archive_range(a, index, 0, ROWS, out));
        s->read[comm->rank] = s->read[comm->rank] && memcmp(out, values, sizeof values) == 0;
    }
    reln_archive_destroy(a);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

static void ranks_of_one_machine_unpack_an_array_once(void **state)
{
    static double turned[3][2][ROWS];
    Entry entries[3] = {{.name = "X.npy", .deflated = true},
                        {.name = "B.npy"},
                        {.name = "G.npy", .deflated = true}};
    Folder *f = *state;
    Shared s = {.path = path_in(f, "a.npz")};
    Bytes zip;

    fill();
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 3; k++)
                turned[k][j][i] = values[i][3 * j + k];
    put_npy(&entries[0].content, "<f8", false, "(40, 2, 3)", values, sizeof values);
    put_npy(&entries[1].content, "<f8", false, "(40, 2, 3)", values, sizeof values);
    put_npy(&entries[2].content, "<f8", true, "(40, 2, 3)", turned, sizeof turned);
    zip = zip_of(entries, 3, false);
    write_bytes(f, "a.npz", &zip);
    ranks_run(4, open_and_share, &s, NULL);
    for (int r = 0; r < 4; r++) {
        assert_true(s.read[r]);
        for (int i = 0; i < 2; i++)
            assert_int_equal(s.file[r][i].st_ino, s.file[0][i].st_ino);
    }
    assert_int_not_equal(s.file[0][0].st_ino, s.file[0][1].st_ino);
    unlink(path_in(f, "a.npz"));
}

static void every_kind_of_number_becomes_doubles(void **state)
{
    static const struct {
        const char *descr, *code, *bytes;
        double first, second;
    } cases[] = {
        {"|b1", "b1", "\1\0", 1, 0},
        {"|b1", "b1", "\2\0", 1, 0},
        {"|i1", "i1", "\xff\x7f", -1, 127},
        {"|u1", "u1", "\xff\x7f", 255, 127},
        {"<i2", "i2", "\xfe\xff\0\1", -2, 256},
        {">u2", "u2", "\xff\xfe\0\1", 65534, 1},
        {"<i4", "i4", "\0\0\0\x80\1\0\0\0", -2147483648.0, 1},
        {"<u4", "u4", "\0\0\0\x80\1\0\0\0", 2147483648.0, 1},
        {"<i8", "i8", "\0\0\0\0\0\0\0\x80\xff\xff\xff\xff\xff\xff\xff\xff", -0x1p63, -1},
        {"<u8", "u8", "\0\0\0\0\0\0\0\x80\1\0\0\0\0\0\0\0", 0x1p63, 1},
        {"<f4", "f4", "\0\0\xc0\x3f\0\0\x20\xc0", 1.5, -2.5},
        {">f4", "f4", "\x3f\xc0\0\0\xc0\x20\0\0", 1.5, -2.5},
        {"<f2", "f2", "\0\x3e\0\xc1", 1.5, -2.5},
        {"<f2", "f2", "\1\0\0\xfc", 0x1p-24, -(double)INFINITY},
    };
    Folder *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Bytes b = {{0}, 0};
        RelnArchive *a = NULL;
        double out[2];

        put_npy(&b, cases[i].descr, false, "(2,)", cases[i].bytes,
                2 * (size_t)(cases[i].code[1] - '0'));
        assert_ok(f->ctx, reln_archive_open(f->ctx, write_bytes(f, "n.npy", &b), &a));
        assert_string_equal(reln_archive_info(a, 0)->name, "n");
        assert_string_equal(reln_archive_info(a, 0)->stored, cases[i].code);
        assert_ok(f->ctx, reln_archive_range(a, 0, 0, 2, out));
        assert_true(out[0] == cases[i].first && out[1] == cases[i].second);
        reln_archive_destroy(a);
    }
    unlink(path_in(f, "n.npy"));
}

static void single_numbers_and_empty_arrays_have_rows(void **state)
{
    const RelnArray arrays[] = {{.name = "one", .dtype = RELN_F64, .values = &(double){2.5}},
                                RELN_ARRAY("none", RELN_F32, NULL, 0, 3),
                                RELN_ARRAY("thin", RELN_F32, NULL, 3, 0)};
    Folder *f = *state;
    RelnArchive *a = NULL;
    double out = 0;

    assert_ok(f->ctx, reln_npz_save(f->ctx, path_in(f, "a.npz"), 3, arrays));
    assert_ok(f->ctx, reln_archive_open(f->ctx, path_in(f, "a.npz"), &a));
    assert_int_equal(reln_archive_count(a), 3);
    assert_ok(f->ctx, reln_archive_range(a, 0, 0, 1, &out));
    assert_true(out == 2.5);
    assert_true(reln_array_rows(reln_archive_info(a, 1)) == 0 &&
                reln_array_row_size(reln_archive_info(a, 1)) == 3);
    assert_true(reln_array_rows(reln_archive_info(a, 2)) == 3 &&
                reln_array_row_size(reln_archive_info(a, 2)) == 0);
    assert_ok(f->ctx, reln_archive_range(a, 2, 0, 3, &out));
    assert_null(reln_archive_info(a, 3));
    reln_archive_destroy(a);
    unlink(path_in(f, "a.npz"));
}

/* The file has more than 4 GiB, most of it a hole, and rows beyond 4 GiB are read. */
static void rows_beyond_four_gib_are_read(void **state)
{
    Folder *f = *state;
    const ptrdiff_t n = ((ptrdiff_t)5 << 30) / 8;
    const double last = 6.5;
    Bytes b = {{0}, 0};
    char shape[32];
    RelnArchive *a = NULL;
    double out[2] = {1, 1};
    FILE *file;

    snprintf(shape, sizeof shape, "(%td,)", n);
    put_npy(&b, "<f8", false, shape, NULL, 0);
    file = fopen(write_bytes(f, "large.npy", &b), "r+b");
    assert_non_null(file);
    assert_int_equal(fseeko(file, (off_t)(b.n + 8 * (size_t)(n - 1)), SEEK_SET), 0);
    assert_int_equal(fwrite(&last, sizeof last, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_ok(f->ctx, reln_archive_open(f->ctx, path_in(f, "large.npy"), &a));
    assert_ok(f->ctx, reln_archive_range(a, 0, n - 2, 2, out));
    assert_true(out[0] == 0 && out[1] == last);
    reln_archive_destroy(a);
    unlink(path_in(f, "large.npy"));
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

/* Asserts that a damaged entry is refused with this reason, when the archive is opened or when its rows are
 * read. */
static void assert_refused(Folder *f, Entry *entry, bool opens, const char *reason)
{
    const Bytes zip = zip_of(entry, 1, false);
    RelnArchive *a = NULL;
    double out[4];
    RelnStatus status = reln_archive_open(f->ctx, write_bytes(f, "a.npz", &zip), &a);

    assert_int_equal(status == RELN_OK, opens);
    if (opens)
        status = reln_archive_range(a, 0, 0, 1, out);
    assert_true(status == RELN_ERR_FORMAT || status == RELN_ERR_UNSUPPORTED);
    if (!strstr(reln_ctx_error(f->ctx), reason))
        fail_msg("'%s' is not about '%s'", reln_ctx_error(f->ctx), reason);
    reln_archive_destroy(a);
    assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
    unlink(path_in(f, "a.npz"));
}

static void damaged_and_foreign_entries_are_refused_with_the_reason(void **state)
{
    static const double numbers[4] = {1, 2, 3, 4};
    Folder *f = *state;
    Entry good = {.name = "X.npy", .deflated = true}, e;

    put_npy(&good.content, "<f8", false, "(4,)", numbers, sizeof numbers);
    e = good, e.flags = 1;
    assert_refused(f, &e, false, ".npz with encryption");
    e = good, e.method = 12;
    assert_refused(f, &e, false, "method 12 of packing");
    e = good, e.claimed = 1 << 28;
    assert_refused(f, &e, false, "268435456 bytes; at most 1000:1 is believed");
    e = good, e.claimed = e.content.n + 1;
    assert_refused(f, &e, false, "unpacks to less than it says");
    e = good, e.claimed = e.content.n - 1;
    assert_refused(f, &e, false, "unpacks to more than it says");
    e = good, e.crc_error = 1;
    assert_refused(f, &e, false, "is damaged: its CRC is another");
    e = good, e.shift = 1;
    assert_refused(f, &e, false, "no entry where one should be");
    e = good, e.shift = 1 << 20;
    assert_refused(f, &e, false, "an entry is not inside");
    e = good, e.name = "\xff.npy";
    assert_refused(f, &e, false, "an entry's name is not UTF-8");
    e = good, e.more = 1;
    assert_refused(f, &e, false, "entry 'X.npy' has bytes behind its end");
    e = good, e.more = -1;
    assert_refused(f, &e, false, "entry 'X.npy' cannot be unpacked");
    e = good, e.deflated = false, e.claimed = 5;
    assert_refused(f, &e, false, "a stored entry has two lengths");
    e = (Entry){.name = "X.npy"};
    put_npy(&e.content, "<U3", false, "(1,)", "abcabcabcabc", 12);
    assert_refused(f, &e, false, "dtype '<U3' (text) is not read");
    e = (Entry){.name = "X.npy"};
    put_npy(&e.content, "|O", false, "(1,)", "", 0);
    assert_refused(f, &e, false, "dtype '|O'");
    e = (Entry){.name = "X.npy"};
    put_npy(&e.content, "<c8", false, "(1,)", numbers, 8);
    assert_refused(f, &e, false, "(complex) is not read");
    e = (Entry){.name = "X.npy"};
    put_npy(&e.content, "<f8", false, "(5,)", numbers, sizeof numbers);
    assert_refused(f, &e, false, "needs 40 bytes, 32 follow");
}

/* The last 22 bytes of a .zip say on which of several disks they are, and on which the directory begins. */
static void archives_of_several_disks_are_refused(void **state)
{
    static const double numbers[4] = {1, 2, 3, 4};
    Folder *f = *state;
    const RelnArray x = {.name = "X",
                         .dtype = RELN_F64,
                         .rank = 1,
                         .dims = {4},
                         .values = (void *)(uintptr_t)numbers};

    for (long at = 4; at <= 6; at += 2) {
        const char *path = path_in(f, "a.npz");
        RelnArchive *a = NULL;
        FILE *file;

        assert_ok(f->ctx, reln_npz_save(f->ctx, path, 1, &x));
        file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, at - 22, SEEK_END), 0);
        assert_int_equal(fputc(1, file), 1);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(reln_archive_open(f->ctx, path, &a), RELN_ERR_UNSUPPORTED);
        assert_non_null(strstr(reln_ctx_error(f->ctx), "several disks"));
        unlink(path);
    }
}

/* Each header of the directory says where its entry's name ends, and on which disk the entry is. */
static void damaged_directories_are_refused_with_the_reason(void **state)
{
    enum { DISK = 34, NAME = 46 };
    static const struct {
        size_t at; /* in the header */
        unsigned char byte;
        RelnStatus status;
        const char *says;
    } cases[] = {
        {DISK, 1, RELN_ERR_UNSUPPORTED, "a.npz: .npz with several disks"},
        {DISK + 1, 1, RELN_ERR_UNSUPPORTED, "a.npz: .npz with several disks"},
        {NAME + 1, 0, RELN_ERR_FORMAT,
         "a.npz: damaged .npz: an entry's name or extra field is broken"},
        {0, 'Q', RELN_ERR_FORMAT, "a.npz: damaged .npz: its directory ends early"},
        {NAME - 14, 1, RELN_ERR_FORMAT, "a.npz: damaged .npz: its directory ends early"},
    };
    static const double numbers[4] = {1, 2, 3, 4};
    Entry entry = {.name = "X.npy"};
    Folder *f = *state;

    put_npy(&entry.content, "<f8", false, "(4,)", numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Bytes zip = zip_of(&entry, 1, false);
        RelnArchive *a = NULL;
        size_t header = 0;

        while (memcmp(zip.data + header, "PK\1\2", 4) != 0)
            header++;
        zip.data[header + cases[i].at] = cases[i].byte;
        assert_int_equal(reln_archive_open(f->ctx, write_bytes(f, "a.npz", &zip), &a),
                         cases[i].status);
        if (!strstr(reln_ctx_error(f->ctx), cases[i].says))
            fail_msg("'%s' is not about '%s'", reln_ctx_error(f->ctx), cases[i].says);
    }
    unlink(path_in(f, "a.npz"));
}

/* The damage is far from the header: it is noticed before the first row is returned, not when the archive is
 * opened. */
static void a_changed_byte_of_a_stored_entry_is_found_before_its_rows_are_given(void **state)
{
    static double many[9000];
    const RelnArray array = RELN_ARRAY("X", RELN_F64, many, 9000);
    Folder *f = *state;
    RelnArchive *a = NULL;
    double out;
    FILE *file;

    assert_ok(f->ctx, reln_npz_save(f->ctx, path_in(f, "a.npz"), 1, &array));
    file = fopen(path_in(f, "a.npz"), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 70000, SEEK_SET), 0);
    assert_int_equal(fputc(1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_ok(f->ctx, reln_archive_open(f->ctx, path_in(f, "a.npz"), &a));
    assert_int_equal(reln_archive_range(a, 0, 0, 1, &out), RELN_ERR_FORMAT);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "entry 'X.npy' is damaged: its CRC is another"));
    reln_archive_destroy(a);
    unlink(path_in(f, "a.npz"));
}

/* Two entries over the same bytes would let a small file unpack to a large one. */
static void entries_that_overlap_or_share_a_name_are_refused(void **state)
{
    static const double numbers[1] = {1};
    Entry entries[2] = {{.name = "X.npy"}, {.name = "Y.npy"}};
    Folder *f = *state;
    RelnArchive *a = NULL;
    Bytes zip;

    put_npy(&entries[0].content, "<f8", false, "(1,)", numbers, sizeof numbers);
    entries[1].content = entries[0].content;
    zip = zip_of(entries, 2, false);
    entries[1].shift = (uint64_t)0 - entries[1].at;
    zip = zip_of(entries, 2, false);
    assert_int_equal(reln_archive_open(f->ctx, write_bytes(f, "a.npz", &zip), &a), RELN_ERR_FORMAT);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "two entries overlap"));
    entries[1].shift = 0;
    entries[1].name = "X.npy";
    zip = zip_of(entries, 2, false);
    assert_int_equal(reln_archive_open(f->ctx, write_bytes(f, "a.npz", &zip), &a), RELN_ERR_FORMAT);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "the array 'X' is there twice"));
    unlink(path_in(f, "a.npz"));
}

static void every_cut_of_an_archive_is_refused(void **state)
{
    static const double numbers[4] = {1, 2, 3, 4};
    Entry entry = {.name = "X.npy", .deflated = true};
    Folder *f = *state;
    Bytes zip;

    put_npy(&entry.content, "<f8", false, "(4,)", numbers, sizeof numbers);
    zip = zip_of(&entry, 1, true);
    for (size_t n = zip.n; n-- > 0;) {
        RelnArchive *a = NULL;

        zip.n = n;
        assert_int_equal(reln_archive_open(f->ctx, write_bytes(f, "a.npz", &zip), &a),
                         RELN_ERR_FORMAT);
        assert_null(a);
    }
    unlink(path_in(f, "a.npz"));
}

static void columns_of_a_vector_are_joined_and_stay_columns(void **state)
{
    static const char text[] = "t tx ty tz qx qy qz qw px2 py2 pz2 E2 x y\n"
                               "1 2 3 4 .6 0 0 .8 5 6 7 20 8 9\n"
                               "2 3 4 5 0 .6 0 .8001 5 6 7 20 8 9\n";
    static const struct {
        const char *name;
        int n;
        double row[4];
    } wanted[] = {
        {"t_xyz", 3, {2, 3, 4, 0}}, /* the name t is already used */
        {"q", 4, {.8, .6, 0, 0}},
        {"p2", 4, {20, 5, 6, 7}},
    };
    Folder *f = *state;
    Bytes b = {.n = sizeof text - 1};
    RelnArchive *a = NULL;
    double row[8] = {0};

    memcpy(b.data, text, b.n);
    assert_ok(f->ctx, reln_archive_open(f->ctx, write_bytes(f, "a.txt", &b), &a));
    assert_int_equal(reln_archive_count(a),
                     14 + 3); /* x and y without z are not joined to a vector */
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const int at = reln_archive_find(a, wanted[i].name);

        assert_true(at >= 0 && !reln_archive_is_component(a, at));
        assert_int_equal(reln_archive_info(a, at)->dims[1], wanted[i].n);
        assert_ok(f->ctx, reln_archive_range(a, at, 0, 1, row));
        for (int k = 0; k < wanted[i].n; k++)
            assert_true(fabs(row[k] - wanted[i].row[k]) <= 4 * DBL_EPSILON);
    }
    /* .36 + .8001^2 is 1 up to the digits of the text: quaternions are normalised. */
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "q"), 1, 1, row));
    assert_true(fabs(row[0] * row[0] + row[2] * row[2] - 1) <= 4 * DBL_EPSILON);
    assert_true(reln_archive_is_component(a, reln_archive_find(a, "tx")));
    assert_false(reln_archive_is_component(a, reln_archive_find(a, "x")));
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "qw"), 1, 1, row));
    assert_true(row[0] == .8001);
    reln_archive_destroy(a);
    unlink(path_in(f, "a.txt"));
}

/* The columns of a vector may be in any order, the first ones of the table among them. A quaternion that is not of length 1
 * leaves all of them as they are. */
static void columns_of_a_vector_are_in_any_order(void **state)
{
    static const char text[] = "uy ux uz qw qz qy qx\n1 2 3 .8 0 0 .6\n1 2 3 .8 0 0 .7\n";
    static const double u[3] = {2, 1, 3}, q[4] = {.8, .6, 0, 0}, other[4] = {.8, .7, 0, 0};
    Folder *f = *state;
    Bytes b = {.n = sizeof text - 1};
    RelnArchive *a = NULL;
    double row[4];

    memcpy(b.data, text, b.n);
    assert_ok(f->ctx, reln_archive_open(f->ctx, write_bytes(f, "a.txt", &b), &a));
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "u"), 0, 1, row));
    assert_memory_equal(row, u, sizeof u);
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "q"), 0, 1, row));
    assert_memory_equal(row, q, sizeof q);
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "q"), 1, 1, row));
    assert_memory_equal(row, other, sizeof other);
    reln_archive_destroy(a);
    unlink(path_in(f, "a.txt"));
}

/* A vector has the name of its columns without the letter and the signs before it. */
static void vectors_of_columns_have_the_name_before_the_letter(void **state)
{
    static const struct {
        const char *columns, *name;
        int n;
    } tables[] = {
        {"vx vy vz", "v", 3},
        {"v_x v_y v_z", "v", 3},
        {"v.x v.y v.z", "v", 3},
        {"v-x v-y v-z", "v", 3},
        {"v-.x v-.y v-.z", "v", 3},
        {"VX VY VZ", "V", 3},
        {"x y z", "xyz", 3},
        {"_x _y _z", "xyz", 3},
        {"v_x12 v_y12 v_z12", "v12", 3},
        {"px py pz E", "p", 4},
        {"p_x p_y p_z energy", "p", 4},
        {"px1 py1 pz1 E_1", "p1", 4},
        {"px1 py1 pz1 E_2", "p1", 3},
        {"vx vy vz E", "v", 3},
    };
    Folder *f = *state;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const bool four = strpbrk(tables[i].columns, "Ee") != NULL;
        Bytes b = {.n = 0};
        RelnArchive *a = NULL;
        char text[128];
        int at;

        snprintf(text, sizeof text, "%s\n1 2 3%s\n4 5 6%s\n", tables[i].columns, four ? " 9" : "",
                 four ? " 9" : "");
        put(&b, text, strlen(text));
        assert_ok(f->ctx, reln_archive_open(f->ctx, write_bytes(f, "a.txt", &b), &a));
        at = reln_archive_find(a, tables[i].name);
        if (reln_archive_count(a) != (four ? 5 : 4) || at < 0 ||
            reln_archive_info(a, at)->dims[1] != tables[i].n)
            fail_msg("%s: no vector %s of %d", tables[i].columns, tables[i].name, tables[i].n);
        reln_archive_destroy(a);
        unlink(path_in(f, "a.txt"));
    }
}

static void triangles_of_a_mesh_are_rows(void **state)
{
    static const char text[] = "OFF\n4 1 0\n0 0 0\n2 0 0\n2 3 0\n0 3 0\n4 0 1 2 3\n";
    Folder *f = *state;
    Bytes b = {.n = sizeof text - 1};
    RelnArchive *a = NULL;
    double area[2], edge[6];

    memcpy(b.data, text, b.n);
    assert_ok(f->ctx, reln_archive_open(f->ctx, write_bytes(f, "a.off", &b), &a));
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "area"), 0, 2, area));
    assert_true(area[0] == 3 && area[1] == 3); /* half of 2 x 3 each */
    assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, "edge2"), 0, 2, edge));
    assert_true(edge[0] == 2 && edge[1] == 3 && edge[3] == 0 && edge[4] == 3);
    reln_archive_destroy(a);
    unlink(path_in(f, "a.off"));
}

/* Two Gaussians of a .splat file, along the axes: position and scales as f32, red, green, blue and opacity from 0 to 255, and the
 * quaternion (127/128, 0, 0, 0). Scales are raised to a millionth of the largest. */
static void gaussians_of_a_splat_file_are_rows(void **state)
{
    static const float numbers[2][6] = {{1, 2, 3, 0.5F, 0.25F, 1}, {-1, 0, 4, 2, 0, 1e-9F}};
    static const uint8_t rest[8] = {0, 51, 255, 102, 255, 128, 128, 128};
    static const double scale[2][3] = {{0.5, 0.25, 1}, {2, 2e-6, 2e-6}};
    static const char *const names[] = {"position", "covariance", "colour", "opacity"};
    double row[4][2 * 9];
    Folder *f = *state;
    Bytes b = {.n = 64};
    RelnArchive *a = NULL;

    for (int i = 0; i < 2; i++) {
        memcpy(b.data + 32 * i, numbers[i], sizeof numbers[i]);
        memcpy(b.data + 32 * i + sizeof numbers[i], rest, sizeof rest);
    }
    assert_ok(f->ctx, reln_archive_open(f->ctx, write_bytes(f, "a.splat", &b), &a));
    for (int k = 0; k < 4; k++)
        assert_ok(f->ctx, reln_archive_range(a, reln_archive_find(a, names[k]), 0, 2, row[k]));
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++)
            assert_true(row[0][3 * i + k] == (double)numbers[i][k]);
        for (int k = 0; k < 9; k++) {
            const double want = k % 4 == 0 ? scale[i][k / 4] * scale[i][k / 4] : 0;

            assert_small(row[1][9 * i + k] - want, 1e-14 * want);
        }
        assert_near(row[2] + 3 * i, ((const double[]){0, 0.2, 1}), 3, 1e-15);
        assert_small(row[3][i] - 0.4, 1e-15);
    }
    reln_archive_destroy(a);
    unlink(path_in(f, "a.splat"));
}

static void what_is_no_archive_is_refused_by_its_first_bytes(void **state)
{
    Folder *f = *state;
    RelnArchive *a = NULL;
    Bytes b = {"P6 640 480 picture", 18};

    assert_int_equal(reln_archive_open(f->ctx, write_bytes(f, "a.npz", &b), &a), RELN_ERR_FORMAT);
    assert_non_null(
        strstr(reln_ctx_error(f->ctx), "not a file of arrays (it begins with 'P6 640 4'"));
    unlink(path_in(f, "a.npz"));
    assert_int_equal(reln_archive_open(f->ctx, f->directory, &a), RELN_ERR_FORMAT);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "a folder without .npy files"));
    assert_int_equal(reln_archive_open(f->ctx, path_in(f, "absent"), &a), RELN_ERR_IO);
}

static void impossible_npz_are_not_written(void **state)
{
    static double one_value[1] = {1};
    const RelnArray cases[] = {
        {.name = NULL, .dtype = RELN_F64, .values = one_value},
        {.name = "", .dtype = RELN_F64, .values = one_value},
        {.name = "a/b", .dtype = RELN_F64, .values = one_value},
        RELN_ARRAY("a", RELN_F64, NULL, 1),
        {.name = "a", .dtype = RELN_DEFAULT, .values = one_value},
        RELN_ARRAY("a", RELN_F64, one_value, -1),
        RELN_ARRAY("a", RELN_F64, one_value, (ptrdiff_t)1 << 30),
        {.name = "b",
         .dtype = RELN_F64,
         .values = one_value}, /* an array with the name of another one */
    };
    Folder *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const RelnArray both[] = {{.name = "b", .dtype = RELN_F64, .values = one_value}, cases[i]};

        assert_int_equal(reln_npz_save(f->ctx, path_in(f, "a.npz"), 2, both), RELN_ERR_ARG);
        assert_int_equal(access(path_in(f, "a.npz"), F_OK), -1);
    }
}

/* ---- faults ------------------------------------------------------------------------------------------------------- */

static char faults_path[160];

static RelnStatus read_one_row(RelnCtx *ctx)
{
    RelnArchive *a = NULL;
    double out[COLUMNS];
    RelnStatus status = reln_archive_open(ctx, faults_path, &a);

    for (int i = 0; status == RELN_OK && i < reln_archive_count(a); i++)
        status = reln_archive_range(a, i, 5, 1, out);
    reln_archive_destroy(a);
    return status;
}

static RelnStatus save_one(RelnCtx *ctx)
{
    const RelnArray array = RELN_ARRAY("X", RELN_F64, values, ROWS, 2, 3);

    return reln_npz_save(ctx, faults_path, 1, &array);
}

static void every_allocation_may_fail(void **state)
{
    Entry entries[2] = {{.name = "X.npy", .deflated = true}, {.name = "F.npy"}};
    Folder *f = *state;
    Bytes zip;

    fill();
    put_npy(&entries[0].content, "<f8", false, "(40, 2, 3)", values, sizeof values);
    put_npy(&entries[1].content, "<f8", true, "(40, 2, 3)", values, sizeof values);
    zip = zip_of(entries, 2, true);
    snprintf(faults_path, sizeof faults_path, "%s", write_bytes(f, "a.npz", &zip));
    assert_true(fail_every_allocation(read_one_row) > 10);
    assert_true(fail_every_allocation(save_one) > 2);
    assert_true(fail_every_allocation(read_one_row) > 5);
    unlink(faults_path);
}

/* ---- HDF5 ----------------------------------------------------------------------------------------------------------- */

static void hdf5_without_its_reader_says_what_is_missing(void **state)
{
    Bytes b = {{0}, 0};
    Folder *f = *state;
    RelnArchive *a = NULL;

    put(&b, "\x89HDF\r\n\x1a\n rest", 13);
    assert_int_equal(
        reln_archive_open_with(f->ctx, write_bytes(f, "a.h5", &b), "/nowhere/reln-h5", &a),
        RELN_ERR_UNSUPPORTED);
    assert_non_null(
        strstr(reln_ctx_error(f->ctx), "read by the program reln-h5, which is not where"));
    unlink(path_in(f, "a.h5"));
}

/* Scripts replace the reader: one crashes, one never stops writing, some send false data. */
static void a_reader_of_hdf5_that_misbehaves_is_an_error(void **state)
{
    static const struct {
        const char *script, *reason;
    } cases[] = {
        {"kill -SEGV $$", "was ended by signal 11"},
        {"echo 'no such thing' >&2; exit 1", "no such thing"},
        {"exit 1", "failed without a reason"},
        {"exec cat /dev/zero", "too long"},
        {"echo '[[1]]'", "listed nonsense"},
        {"echo '{}'", "datasets"},
        {"echo '[[\"/x\", \"f8\", [-1]]]'", "listed nonsense"},
        {"echo '[[\"/x\", \"S9\", [1]]]'", "listed nonsense"},
        {"[ $1 = cat ] && exec cat /dev/zero; echo '[[\"/x\", \"f8\", [1]]]'",
         "more bytes than its shape needs"},
        {"[ $1 = cat ] && exit 0; echo '[[\"/x\", \"f8\", [1]]]'", "too short for a .npy"},
    };
    Folder *f = *state;
    Bytes b = {{0}, 0};
    char data[160], reader[160];

    put(&b, "\x89HDF\r\n\x1a\n rest", 13);
    snprintf(data, sizeof data, "%s", write_bytes(f, "a.h5", &b));
    snprintf(reader, sizeof reader, "%s", path_in(f, "reader"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RelnArchive *a = NULL;
        double out;
        FILE *file = fopen(reader, "w");
        RelnStatus status;

        assert_non_null(file);
        fprintf(file, "#!/bin/sh\nPATH=/bin:/usr/bin\n%s\n", cases[i].script);
        assert_int_equal(fclose(file) + chmod(reader, 0755), 0);
        status = reln_archive_open_with(f->ctx, data, reader, &a);
        if (status == RELN_OK)
            status = reln_archive_range(a, 0, 0, 1, &out);
        assert_true(status != RELN_OK);
        if (!strstr(reln_ctx_error(f->ctx), cases[i].reason))
            fail_msg("'%s' is not about '%s'", reln_ctx_error(f->ctx), cases[i].reason);
        reln_archive_destroy(a);
    }
    unlink(reader);
    unlink(data);
}

/* Sets of 2, 0 and 3 rows are read into memory that is not zero: places after their rows become 0, and sizes
 * are counts. */
static void sets_are_filled_up_with_zeros(void **state)
{
    double x[5][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}, got[18], size[3];
    static const double want[18] = {1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7, 8, 9, 10};
    const ptrdiff_t offsets[] = {0, 2, 2, 5};
    const RelnArray array = {
        .name = "x", .dtype = RELN_F64, .rank = 2, .dims = {5, 2}, .values = x};
    const RelnSetArray list[] = {{{0, RELN_WINDOW_SET}, offsets, 3},
                                 {{0, RELN_WINDOW_SIZE}, offsets, 3}};
    RelnArchive *of = NULL, *sets = NULL;
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_archive_from_arrays(ctx, "x", 1, &array, &of));
    assert_ok(ctx, reln_archive_sets(ctx, of, 2, list, 3, &sets));
    for (int i = 0; i < 18; i++)
        got[i] = -7;
    assert_ok(ctx, reln_archive_range(sets, 0, 0, 3, got));
    assert_memory_equal(got, want, sizeof want);
    assert_ok(ctx, reln_archive_range(sets, 1, 0, 3, size));
    assert_true(size[0] == 2 && size[1] == 0 && size[2] == 3);
    reln_archive_destroy(sets);
    reln_archive_destroy(of);
    reln_ctx_destroy(ctx);
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

static void arrays_in_memory_are_read_as_those_of_files(void **state)
{
    static float x[6] = {1, 2, 3, 4, 5, 6};
    static int32_t y[3] = {7, -8, 9};
    const ptrdiff_t large = (ptrdiff_t)1 << 32;
    RelnArray arrays[] = {RELN_ARRAY("x", RELN_F32, x, 3, 2), RELN_ARRAY("y", RELN_I32, y, 3)};
    RelnArchive *a = NULL;
    RelnCtx *ctx = NULL;
    double out[4];

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_archive_from_arrays(ctx, "memory", 2, arrays, &a));
    assert_string_equal(reln_archive_name(a), "memory");
    assert_ok(ctx, reln_archive_range(a, reln_archive_find(a, "x"), 1, 2, out));
    assert_memory_equal(out, ((double[]){3, 4, 5, 6}), 4 * sizeof *out);
    assert_ok(ctx, reln_archive_rows(a, reln_archive_find(a, "y"), 2, (ptrdiff_t[]){2, 1}, out));
    assert_memory_equal(out, ((double[]){9, -8}), 2 * sizeof *out);
    reln_archive_destroy(a);
    arrays[0].dims[0] = arrays[0].dims[1] = large;
    assert_int_equal(reln_archive_from_arrays(ctx, "memory", 2, arrays, &a), RELN_ERR_ARG);
    assert_null(a);
    assert_string_equal(reln_ctx_error(ctx),
                        "memory: array 'x' has more numbers than can be counted");
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_in_memory_are_read_as_those_of_files),
        cmocka_unit_test(sets_are_filled_up_with_zeros),
        TEST(rows_are_the_same_from_every_format),
        TEST(packed_and_wide_and_turned_arrays_are_the_same),
        TEST(ranks_of_one_machine_unpack_an_array_once),
        TEST(every_kind_of_number_becomes_doubles),
        TEST(single_numbers_and_empty_arrays_have_rows),
        TEST(rows_beyond_four_gib_are_read),
        TEST(damaged_and_foreign_entries_are_refused_with_the_reason),
        TEST(archives_of_several_disks_are_refused),
        TEST(damaged_directories_are_refused_with_the_reason),
        TEST(a_changed_byte_of_a_stored_entry_is_found_before_its_rows_are_given),
        TEST(entries_that_overlap_or_share_a_name_are_refused),
        TEST(every_cut_of_an_archive_is_refused),
        TEST(columns_of_a_vector_are_joined_and_stay_columns),
        TEST(columns_of_a_vector_are_in_any_order),
        TEST(vectors_of_columns_have_the_name_before_the_letter),
        TEST(triangles_of_a_mesh_are_rows),
        TEST(gaussians_of_a_splat_file_are_rows),
        TEST(what_is_no_archive_is_refused_by_its_first_bytes),
        TEST(impossible_npz_are_not_written),
        TEST(every_allocation_may_fail),
        TEST(hdf5_without_its_reader_says_what_is_missing),
        TEST(a_reader_of_hdf5_that_misbehaves_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
