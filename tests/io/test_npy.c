/* test_npy.c -- tests reading and writing .npy files: round trips, every refusal, hostile headers, every
 * fault. */
#include "support/folder.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

/* ---- files made by hand ------------------------------------------------------------------------------------- */

typedef struct Bytes {
    unsigned char data[4096];
    size_t n;
} Bytes;

static void put(Bytes *b, const void *bytes, size_t n)
{
    assert_true(b->n + n <= sizeof b->data);
    memcpy(b->data + b->n, bytes, n);
    b->n += n;
}

/* A file of the given version with this dictionary and these numbers. */
static Bytes npy(int version, const char *dictionary, const void *numbers, size_t n)
{
    const size_t length = strlen(dictionary);
    const unsigned char low = (unsigned char)(length & 255), high = (unsigned char)(length >> 8);
    const unsigned char lead[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version,
                                    0,    low, high};
    Bytes b = {{0}, 0};

    put(&b, lead, version == 1 ? 10 : 12);
    put(&b, dictionary, length);
    put(&b, numbers, n);
    return b;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void refuse(Folder *f, const Bytes *b, RelnStatus status, const char *said)
{
    RelnArray array;

    reln_ctx_clear(f->ctx);
    assert_int_equal(reln_npy_parse(f->ctx, b->data, b->n, "file", &array), status);
    assert_null(array.values);
    if (!strstr(reln_ctx_error(f->ctx), said))
        fail_msg("message is \"%s\", wanted \"%s\" in it", reln_ctx_error(f->ctx), said);
    assert_null(strchr(reln_ctx_error(f->ctx), '\n'));
    assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
}

/* ---- what is read ------------------------------------------------------------------------------------------- */

static void saved_arrays_come_back_bit_for_bit(void **state)
{
    Folder *f = *state;
    enum { COUNT = 5 * 7 * 601 }; /* several chunks, the last one partial */
    double *x = malloc(COUNT * sizeof *x);
    RelnRng rng = reln_rng(1, 0);
    const RelnArray saved = RELN_ARRAY(NULL, RELN_F64, x, 5, 7, 601);
    const char *path = path_in(f, "a.npy");
    RelnArray a;

    fill_normal(&rng, COUNT, x);
    x[0] = (double)NAN, x[1] = -(double)INFINITY, x[2] = -0.0, x[3] = 0x1p-1074;
    assert_ok(f->ctx, reln_npy_save(f->ctx, path, &saved));
    assert_ok(f->ctx, reln_npy_load(f->ctx, path, &a));
    assert_int_equal(a.rank, 3);
    assert_memory_equal(a.dims, saved.dims, sizeof a.dims);
    assert_int_equal(reln_array_count(&a), COUNT);
    assert_int_equal(a.dtype, RELN_F64);
    assert_true(reln_array_precision(&a) == 0x1p-53);
    assert_memory_equal(a.values, x, COUNT * sizeof *x);
    reln_array_clear(&a);
    free(x);
    unlink(path);
}

static void every_rank_comes_back(void **state)
{
    Folder *f = *state;
    double x[16];
    RelnArray saved = RELN_ARRAY(NULL, RELN_F64, x, 2, 1, 2, 1, 2, 1, 2, 1);
    const char *path = path_in(f, "a.npy");
    RelnArray a;

    for (int i = 0; i < 16; i++)
        x[i] = i;
    for (int rank = 0; rank <= RELN_ARRAY_MAX_RANK; rank++) {
        saved.rank = rank;
        assert_ok(f->ctx, reln_npy_save(f->ctx, path, &saved));
        assert_ok(f->ctx, reln_npy_load(f->ctx, path, &a));
        assert_int_equal(a.rank, rank);
        assert_int_equal(reln_array_count(&a), 1 << (rank + 1) / 2);
        assert_memory_equal(a.values, x, (size_t)reln_array_count(&a) * sizeof *x);
        reln_array_clear(&a);
    }
    unlink(path);
}

static void saved_files_have_the_documented_bytes(void **state)
{
    Folder *f = *state;
    const char *path = path_in(f, "a.npy");
    double x[] = {1.0, -2.0};
    const RelnArray saved = RELN_ARRAY(NULL, RELN_F64, x, 2);
    unsigned char want[128 + 16], got[256];
    FILE *file;

    memset(want, ' ', sizeof want);
    memcpy(want, "\x93NUMPY\1\0\x76", 10);
    memcpy(want + 10, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 57);
    want[127] = '\n';
    memcpy(want + 128, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16);
    assert_ok(f->ctx, reln_npy_save(f->ctx, path, &saved));
    file = fopen(path, "rb");
    assert_int_equal(fread(got, 1, sizeof got, file), sizeof want);
    fclose(file);
    assert_memory_equal(got, want, sizeof want);
    unlink(path);
}

/* The same two numbers, 1 and -2, in every dtype and byte order. */
static void all_dtypes_and_byte_orders_are_read(void **state)
{
    static const struct {
        const char *dictionary, *numbers;
        size_t n;
        double precision;
    } cases[] = {
        {"{'descr':'<f4','fortran_order':False,'shape':(2,)}", "\0\0\x80\x3f\0\0\0\xc0", 8,
         0x1p-24},
        {"{'descr':'>f4','fortran_order':False,'shape':(2,)}", "\x3f\x80\0\0\xc0\0\0\0", 8,
         0x1p-24},
        {"{'descr':'<f8','fortran_order':False,'shape':(2,)}",
         "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16, 0x1p-53},
        {"{'descr':'>f8','fortran_order':False,'shape':(2,)}",
         "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16, 0x1p-53},
        {"{'descr':'<i4','fortran_order':False,'shape':(2,)}", "\1\0\0\0\xfe\xff\xff\xff", 8,
         0x1p-53},
        {"{'descr':'>i4','fortran_order':False,'shape':(2,)}", "\0\0\0\1\xff\xff\xff\xfe", 8,
         0x1p-53},
        {"{'descr':'<i8','fortran_order':False,'shape':(2,)}",
         "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff", 16, 0x1p-53},
        {"{'descr':'>i8','fortran_order':False,'shape':(2,)}",
         "\0\0\0\0\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xfe", 16, 0x1p-53},
    };
    Folder *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int version = 1; version <= 3; version++) {
            const Bytes b = npy(version, cases[i].dictionary, cases[i].numbers, cases[i].n);
            RelnArray a;

            assert_ok(f->ctx, reln_npy_parse(f->ctx, b.data, b.n, "file", &a));
            assert_int_equal(a.dtype, RELN_F64);
            assert_memory_equal(a.stored, cases[i].dictionary + 11, 2);
            assert_true(reln_array_precision(&a) == cases[i].precision);
            assert_true(reln_array_count(&a) == 2 && a.f64[0] == 1 && a.f64[1] == -2);
            reln_array_clear(&a);
        }
}

static void extreme_integers_round_to_the_nearest_double(void **state)
{
    Folder *f = *state;
    const Bytes b = npy(1, "{'descr':'>i8','fortran_order':False,'shape':(3,)}",
                        "\x80\0\0\0\0\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff\0\x20\0\0\0\0\0\1", 24);
    RelnArray a;

    assert_ok(f->ctx, reln_npy_parse(f->ctx, b.data, b.n, "file", &a));
    assert_true(a.f64[0] == -0x1p63);
    assert_true(a.f64[1] == 0x1p63);
    assert_true(a.f64[2] == 0x1p53); /* 2^53 + 1 lies half-way, to even */
    reln_array_clear(&a);
}

static void fortran_order_is_turned_into_row_major(void **state)
{
    Folder *f = *state;
    unsigned char numbers[24 * 4] = {0};
    ptrdiff_t at = 0;
    Bytes b;
    RelnArray a;

    for (int k = 0; k < 4;
         k++) /* the first index is the fastest; each value encodes its position */
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 2; i++, at += 4)
                numbers[at] = (unsigned char)(100 * i + 10 * j + k);
    b = npy(1, "{'descr':'<i4','fortran_order':True,'shape':(2, 3, 4)}", numbers, sizeof numbers);
    assert_ok(f->ctx, reln_npy_parse(f->ctx, b.data, b.n, "file", &a));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                assert_true(a.f64[(i * 3 + j) * 4 + k] == 100 * i + 10 * j + k);
    reln_array_clear(&a);
}

/* The chunks of a file end in the middle of a row of indices; parsing from memory has no chunks. */
static void fortran_order_survives_the_chunks_of_a_file(void **state)
{
    Folder *f = *state;
    enum { ROWS = 111, COLUMNS = 333 };
    static const char dictionary[] = "{'descr':'<i4','fortran_order':True,'shape':(111,333)}";
    const char *path = path_in(f, "a.npy");
    const Bytes head = npy(1, dictionary, "", 0);
    unsigned char *all = calloc(1, head.n + ROWS * COLUMNS * 4);
    RelnArray a;

    memcpy(all, head.data, head.n);
    for (int e = 0; e < ROWS * COLUMNS; e++) {
        all[head.n + 4 * (size_t)e] = (unsigned char)(e & 255);
        all[head.n + 4 * (size_t)e + 1] = (unsigned char)(e >> 8 & 255);
    }
    write_file(path, all, head.n + ROWS * COLUMNS * 4);
    assert_ok(f->ctx, reln_npy_load(f->ctx, path, &a));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            assert_true(a.f64[i * COLUMNS + j] == (double)(j * ROWS + i));
    reln_array_clear(&a);
    free(all);
    unlink(path);
}

static void harmless_variants_of_the_dictionary_are_read(void **state)
{
    static const char *const dictionaries[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }          \n",
        "{\"shape\":(2,),\"descr\":\"<f4\",\"fortran_order\":True}",
        "  { 'shape' : ( 2 , 1 , ) , 'fortran_order' : False , 'descr' : '<f4' , } \n\t\r ",
        "{'fortran_order':False,'shape':(1,2),'descr':'<f4'}",
    };
    Folder *f = *state;

    for (size_t i = 0; i < sizeof dictionaries / sizeof dictionaries[0]; i++) {
        const Bytes b = npy(1, dictionaries[i], "\0\0\x80\x3f\0\0\0\xc0", 8);
        RelnArray a;

        assert_ok(f->ctx, reln_npy_parse(f->ctx, b.data, b.n, "file", &a));
        assert_true(reln_array_count(&a) == 2 && a.f64[0] == 1 && a.f64[1] == -2);
        reln_array_clear(&a);
    }
}

static void empty_arrays_and_single_numbers_are_arrays(void **state)
{
    Folder *f = *state;
    Bytes b =
        npy(1, "{'descr':'<f8','fortran_order':True,'shape':(1, 0, 9223372036854775807)}", "", 0);
    RelnArray a;

    assert_ok(f->ctx, reln_npy_parse(f->ctx, b.data, b.n, "file", &a));
    assert_true(a.rank == 3 && a.dims[1] == 0 && reln_array_count(&a) == 0 && a.values);
    reln_array_clear(&a);
    b = npy(1, "{'descr':'<i4','fortran_order':True,'shape':()}", "\7\0\0\0", 4);
    assert_ok(f->ctx, reln_npy_parse(f->ctx, b.data, b.n, "file", &a));
    assert_true(a.rank == 0 && reln_array_count(&a) == 1 && a.f64[0] == 7);
    reln_array_clear(&a);
    reln_array_clear(&a);
}

/* ---- what is refused ---------------------------------------------------------------------------------------- */

static void hostile_dictionaries_are_refused_with_the_reason(void **state)
{
#define WITH(descr, order, shape) "{'descr':" descr ",'fortran_order':" order ",'shape':" shape "}"
    static const struct {
        const char *dictionary;
        RelnStatus status;
        const char *said;
    } cases[] = {
        {WITH("'<c16'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'<c16' (complex)"},
        {WITH("'|O'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'|O' (python object)"},
        {WITH("'|S8'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'|S8' (byte string)"},
        {WITH("'<U2'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'<U2' (text)"},
        {WITH("'|b1'", "False", "(8,)"), RELN_ERR_UNSUPPORTED, "'|b1' (boolean)"},
        {WITH("'|i1'", "False", "(8,)"), RELN_ERR_UNSUPPORTED, "'|i1' (integer of another size)"},
        {WITH("'<f2'", "False", "(4,)"), RELN_ERR_UNSUPPORTED, "'<f2' (float of another size)"},
        {WITH("'<u8'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "unsigned"},
        {WITH("'<M8[ns]'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'<M8[ns]' (date)"},
        {WITH("'=f8'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'=f8'"},
        {WITH("'f8'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'f8'"},
        {WITH("'<f88'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'<f88'"},
        {WITH("''", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'' (unknown)"},
        {WITH("'\x1b[31m\xff'", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "'?[31m?' (unknown)"},
        {WITH("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "False", "(1,)"),
         RELN_ERR_UNSUPPORTED, "'aaaaaaaaaaaaaaaaaaaaaaaa...'"},
        {WITH("[('a','<f8')]", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "structures"},
        {WITH("('<f8',)", "False", "(1,)"), RELN_ERR_FORMAT, "a dtype in quotes is wanted"},
        {WITH("'<f8", "False", "(1,)"), RELN_ERR_UNSUPPORTED, "is not read"},
        {WITH("'\\x3cf8'", "False", "(1,)"), RELN_ERR_FORMAT, "a closing quote is wanted"},
        {WITH("'<f8'", "0", "(1,)"), RELN_ERR_FORMAT, "True or False is wanted"},
        {WITH("'<f8'", "Falsey", "(1,)"), RELN_ERR_FORMAT, "True or False is wanted"},
        {WITH("'<f8'", "", "(1,)"), RELN_ERR_FORMAT, "True or False is wanted"},
        {WITH("'<f8'", "False", "1"), RELN_ERR_FORMAT, "'(' is wanted"},
        {WITH("'<f8'", "False", "[1]"), RELN_ERR_FORMAT, "'(' is wanted"},
        {WITH("'<f8'", "False", "(1)"), RELN_ERR_FORMAT, "',' is wanted"},
        {WITH("'<f8'", "False", "(,)"), RELN_ERR_FORMAT, "a number or ')' is wanted"},
        {WITH("'<f8'", "False", "(1,,1)"), RELN_ERR_FORMAT, "a number or ')' is wanted"},
        {WITH("'<f8'", "False", "(-1,)"), RELN_ERR_FORMAT, "'-' (0x2d)"},
        {WITH("'<f8'", "False", "(1.0,)"), RELN_ERR_FORMAT, "'.' (0x2e)"},
        {WITH("'<f8'", "False", "(1L,)"), RELN_ERR_FORMAT, "'L' (0x4c)"},
        {WITH("'<f8'", "False", "(0x1,)"), RELN_ERR_FORMAT, "'x' (0x78)"},
        {WITH("'<f8'", "False", "(01,)"), RELN_ERR_FORMAT, "leading zero"},
        {WITH("'<f8'", "False", "(1+0,)"), RELN_ERR_FORMAT, "'+' (0x2b)"},
        {WITH("'<f8'", "False", "(__import__,)"), RELN_ERR_FORMAT, "'_' (0x5f)"},
        {WITH("'<f8'", "False", "((1,),)"), RELN_ERR_FORMAT, "'(' (0x28)"},
        {WITH("'<f8'", "False", "(1,1,1,1,1,1,1,1,1)"), RELN_ERR_UNSUPPORTED, "more than 8 axes"},
        {WITH("'<f8'", "False", "(9223372036854775808,)"), RELN_ERR_FORMAT,
         "above 9223372036854775807"},
        {WITH("'<f8'", "False", "(9223372036854775807,)"), RELN_ERR_FORMAT, "too large"},
        {WITH("'<f8'", "False", "(4294967296,4294967296)"), RELN_ERR_FORMAT, "too large"},
        {WITH("'<f8'", "False", "(4294967296,4294967296,0)"), RELN_ERR_FORMAT, "too large"},
        {WITH("'<f8'", "False", "(2305843009213693953,)"), RELN_ERR_FORMAT, "too large"},
        {WITH("'<f8'", "False", "(3,)"), RELN_ERR_FORMAT,
         "shape (3,) of f8 needs 24 bytes, 8 follow"},
        {WITH("'<f8'", "False", "(0,)"), RELN_ERR_FORMAT,
         "shape (0,) of f8 needs 0 bytes, 8 follow"},
        {WITH("'<f4'", "False", "(1,)"), RELN_ERR_FORMAT,
         "shape (1,) of f4 needs 4 bytes, 8 follow"},
        {"{'descr':'<f8','fortran_order':False}", RELN_ERR_FORMAT, "lacks the key 'shape'"},
        {"{'fortran_order':False,'shape':(1,)}", RELN_ERR_FORMAT, "lacks the key 'descr'"},
        {"{'descr':'<f8','shape':(1,)}", RELN_ERR_FORMAT, "lacks the key 'fortran_order'"},
        {"{}", RELN_ERR_FORMAT, "lacks the key 'descr'"},
        {"{'descr':'<f8','descr':'<f8','fortran_order':False,'shape':(1,)}", RELN_ERR_FORMAT,
         "'descr' twice"},
        {"{'descr':'<f8','fortran_order':False,'shape':(1,),'x':1}", RELN_ERR_FORMAT,
         "'x' that is unknown"},
        {"{'descr ':'<f8','fortran_order':False,'shape':(1,)}", RELN_ERR_FORMAT,
         "'descr ' that is unknown"},
        {"{descr:'<f8'}", RELN_ERR_FORMAT, "a key in quotes is wanted"},
        {"{,}", RELN_ERR_FORMAT, "a key in quotes is wanted"},
        {"{'descr' '<f8'}", RELN_ERR_FORMAT, "':' is wanted"},
        {"{'descr':'<f8' 'shape':(1,)}", RELN_ERR_FORMAT, "'}' is wanted"},
        {"{'descr':'<f8','fortran_order':False,'shape':(1,)", RELN_ERR_FORMAT,
         "ends where '}' is wanted"},
        {"{'descr':'<f8','fortran_order':False,'shape':(1,)}}", RELN_ERR_FORMAT,
         "nothing more is wanted"},
        {"{'descr':'<f8','fortran_order':False,'shape':(1,)} # no", RELN_ERR_FORMAT,
         "nothing more is wanted"},
        {"", RELN_ERR_FORMAT, "ends where '{' is wanted"},
        {"{{{{{{{{{{{{{{{{", RELN_ERR_FORMAT, "a key in quotes is wanted"},
        {"'", RELN_ERR_FORMAT, "'{' is wanted"},
        {"{'", RELN_ERR_FORMAT, "ends where a closing quote is wanted"},
        {"{'descr", RELN_ERR_FORMAT, "ends where a closing quote is wanted"},
        {"{'shape':(", RELN_ERR_FORMAT, "ends where a number or ')' is wanted"},
        {"{'shape':(1,1", RELN_ERR_FORMAT, "ends where ')' is wanted"},
    };
#undef WITH
    Folder *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const Bytes b = npy(1 + (int)i % 3, cases[i].dictionary, "12345678", 8);
        refuse(f, &b, cases[i].status, cases[i].said);
    }
}

static void bad_leads_are_refused_with_the_reason(void **state)
{
    static const char good[] = "{'descr':'<f8','fortran_order':False,'shape':(1,)}";
    Folder *f = *state;
    Bytes b = npy(1, good, "12345678", 8);

    b.data[0] = 'P';
    refuse(f, &b, RELN_ERR_FORMAT, "not a .npy file (it begins with 'PNUMPY')");
    for (int version = 0; version < 256; version++) {
        b = npy(version, good, "12345678", 8);
        if (version < 1 || version > 3)
            refuse(f, &b, RELN_ERR_UNSUPPORTED, "wanted 1.0, 2.0 or 3.0");
    }
    b = npy(1, good, "12345678", 8);
    b.data[7] = 1;
    refuse(f, &b, RELN_ERR_UNSUPPORTED, ".npy version 1.1");
    b = npy(1, good, "12345678", 8);
    b.data[9] = 0xff;
    refuse(f, &b, RELN_ERR_FORMAT, "header of 65330 bytes; 58 bytes follow");
    b = npy(2, good, "12345678", 8);
    b.data[11] = 0xff;
    refuse(f, &b, RELN_ERR_FORMAT, "header of 4278190130 bytes; 58 bytes follow");
}

static void headers_above_the_limit_are_refused_though_the_file_has_them(void **state)
{
    Folder *f = *state;
    static const char good[] = "{'descr':'<f8','fortran_order':False,'shape':(0,)}";
    enum { LIMIT = 65536 };
    const char *path = path_in(f, "a.npy");
    unsigned char *b = malloc(12 + LIMIT + 1);
    RelnArray a;

    memset(b, ' ', 12 + LIMIT + 1);
    memcpy(b, "\x93NUMPY\2\0\0\0\1\0", 12);
    memcpy(b + 12, good, strlen(good));
    assert_ok(f->ctx, reln_npy_parse(f->ctx, b, 12 + LIMIT, "file", &a));
    reln_array_clear(&a);
    write_file(path, b, 12 + LIMIT);
    assert_ok(f->ctx, reln_npy_load(f->ctx, path, &a));
    reln_array_clear(&a);
    b[8] = 1;
    assert_int_equal(reln_npy_parse(f->ctx, b, 12 + LIMIT + 1, "file", &a), RELN_ERR_FORMAT);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "65537 bytes"));
    write_file(path, b, 12 + LIMIT + 1);
    assert_int_equal(reln_npy_load(f->ctx, path, &a), RELN_ERR_FORMAT);
    free(b);
    unlink(path);
}

/* Reads from memory of exactly that size, so that a sanitizer detects a read beyond it, and from a file. */
static void a_file_cut_at_any_byte_or_with_one_more_is_refused(void **state)
{
    Folder *f = *state;
    const char *path = path_in(f, "a.npy");

    for (int version = 1; version <= 3; version++) {
        const Bytes b = npy(version, "{'descr':'<f4','fortran_order':True,'shape':(2, 3), }\n",
                            "abcdefghijklmnopqrstuvwx", 24);
        RelnArray a;

        assert_ok(f->ctx, reln_npy_parse(f->ctx, b.data, b.n, "file", &a));
        reln_array_clear(&a);
        for (size_t n = 0; n <= b.n + 1; n++) {
            unsigned char *copy = malloc(n + (n == 0));
            memcpy(copy, b.data, n);
            if (n != b.n) {
                assert_int_equal(reln_npy_parse(f->ctx, copy, n, "file", &a), RELN_ERR_FORMAT);
                write_file(path, copy, n);
                assert_int_equal(reln_npy_load(f->ctx, path, &a), RELN_ERR_FORMAT);
                assert_non_null(strstr(reln_ctx_error(f->ctx), path));
            }
            free(copy);
        }
    }
    unlink(path);
}

/* Replaces each byte of a valid file by each other value: the file is read or refused, and no byte beyond it
 * is read. */
static void any_single_wrong_byte_is_survived(void **state)
{
    Folder *f = *state;
    const Bytes b =
        npy(1, "{'descr':'<i4','fortran_order':False,'shape':(1, 2), }\n", "abcdefgh", 8);
    unsigned char *copy = malloc(b.n);
    int accepted = 0;

    for (size_t at = 0; at < b.n; at++)
        for (int value = 0; value < 256; value++) {
            RelnArray a;
            memcpy(copy, b.data, b.n);
            copy[at] = (unsigned char)value;
            accepted += reln_npy_parse(f->ctx, copy, b.n, "file", &a) == RELN_OK;
            reln_array_clear(&a);
        }
    /* accepted are at least changes of data bytes and unchanged bytes; most other changes are refused */
    assert_true(accepted > 8 * 256 && accepted < 8 * 256 + 4 * (int)b.n);
    free(copy);
}

/* ---- the file system ---------------------------------------------------------------------------------------- */

static void expect_load_error(Folder *f, const char *path, RelnStatus status, const char *said)
{
    RelnArray a;

    assert_int_equal(reln_npy_load(f->ctx, path, &a), status);
    if (!strstr(reln_ctx_error(f->ctx), said))
        fail_msg("message is \"%s\", wanted \"%s\" in it", reln_ctx_error(f->ctx), said);
    assert_null(a.values);
}

static void what_is_no_regular_file_is_refused(void **state)
{
    Folder *f = *state;
    char path[128];

    snprintf(path, sizeof path, "%s", path_in(f, "missing.npy"));
    expect_load_error(f, path, RELN_ERR_IO, "cannot open: No such file or directory");
    expect_load_error(f, "", RELN_ERR_IO, "No such file or directory");
    expect_load_error(f, f->directory, RELN_ERR_IO, "cannot read: Is a directory");
    expect_load_error(f, "/dev/null", RELN_ERR_IO, "not a regular file");
    assert_int_equal(mkfifo(path, 0600),
                     0); /* no process writes to the pipe, so opening it must not wait */
    expect_load_error(f, path, RELN_ERR_IO, "not a regular file");
    unlink(path);
}

static void files_above_two_gigabytes_are_refused_before_allocating(void **state)
{
    Folder *f = *state;
    const char *path = path_in(f, "big.npy");
    const uint64_t before = reln_ctx_allocations(f->ctx);

    write_file(path, "", 0);
    if (truncate(path, (off_t)RELN_FILE_MAX_BYTES + 1) == 0) { /* sparse: takes no disk */
        expect_load_error(f, path, RELN_ERR_UNSUPPORTED, "2147483649 bytes, at most 2147483648");
        assert_int_equal(reln_ctx_allocations(f->ctx), before);
    }
    unlink(path);
}

static void saving_keeps_the_mode_and_replaces_the_content(void **state)
{
    Folder *f = *state;
    const char *path = path_in(f, "a.npy");
    double x[] = {1, 2, 3};
    const RelnArray saved = RELN_ARRAY(NULL, RELN_F64, x, 3);
    struct stat info;
    RelnArray a;

    write_file(path, "old", 3);
    assert_int_equal(chmod(path, 0664), 0);
    assert_ok(f->ctx, reln_npy_save(f->ctx, path, &saved));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0664);
    assert_ok(f->ctx, reln_npy_load(f->ctx, path, &a));
    assert_true(reln_array_count(&a) == 3 && a.f64[2] == 3);
    reln_array_clear(&a);
    unlink(path);
}

static void saving_a_new_file_obeys_the_umask(void **state)
{
    Folder *f = *state;
    const char *path = path_in(f, "a.npy");
    const mode_t old = umask(027);
    const RelnArray saved = RELN_ARRAY(NULL, RELN_F64, NULL, 0);
    struct stat info;

    assert_ok(f->ctx, reln_npy_save(f->ctx, path, &saved));
    umask(old);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    unlink(path);
}

static void a_save_that_cannot_be_finished_leaves_the_old_file(void **state)
{
    Folder *f = *state;
    enum { COUNT = 50000 };
    double *x = calloc(COUNT, sizeof *x);
    const RelnArray saved = RELN_ARRAY(NULL, RELN_F64, x, COUNT);
    const char *path = path_in(f, "a.npy");
    struct rlimit old, small;
    struct stat info;

    write_file(path, "old", 3);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 100000; /* the second chunk no longer fits */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(reln_npy_save(f->ctx, path, &saved), RELN_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "cannot write: File too large"));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 3);
    free(x);
    unlink(path); /* the teardown checks that no temporary file is left */
}

static void impossible_saves_are_refused(void **state)
{
    Folder *f = *state;
    double x[] = {0};
    const RelnArray negative = RELN_ARRAY(NULL, RELN_F64, x, 2, -1),
                    huge = RELN_ARRAY(NULL, RELN_F64, x, PTRDIFF_MAX, 2),
                    one = RELN_ARRAY(NULL, RELN_F64, x, 1),
                    none = RELN_ARRAY(NULL, RELN_F64, NULL, 1),
                    other = RELN_ARRAY(NULL, RELN_DEFAULT, x, 1),
                    below = {.dtype = RELN_F64, .rank = -1, .values = x},
                    above = {.dtype = RELN_F64, .rank = 9, .values = x};

    assert_int_equal(reln_npy_save(f->ctx, "x", &below), RELN_ERR_ARG);
    assert_int_equal(reln_npy_save(f->ctx, "x", &above), RELN_ERR_ARG);
    assert_int_equal(reln_npy_save(f->ctx, "x", &negative), RELN_ERR_ARG);
    assert_int_equal(reln_npy_save(f->ctx, "x", &huge), RELN_ERR_ARG);
    assert_int_equal(reln_npy_save(f->ctx, "x", &none), RELN_ERR_ARG);
    assert_int_equal(reln_npy_save(f->ctx, "x", &other), RELN_ERR_ARG);
    assert_int_equal(reln_npy_save(f->ctx, f->directory, &one), RELN_ERR_IO);
    assert_int_equal(reln_npy_save(f->ctx, "/dev/null", &one), RELN_ERR_IO);
    assert_int_equal(reln_npy_save(f->ctx, path_in(f, "none/a.npy"), &one), RELN_ERR_IO);
    assert_int_equal(reln_npy_save(f->ctx, "", &one), RELN_ERR_IO);
}

static char fault_path[128];

static RelnStatus save_and_load(RelnCtx *ctx)
{
    double x[] = {1, 2, 3, 4};
    const RelnArray saved = RELN_ARRAY(NULL, RELN_F64, x, 2, 2);
    RelnArray a;

    RELN_TRY(reln_npy_save(ctx, fault_path, &saved));
    RELN_TRY(reln_npy_load(ctx, fault_path, &a));
    reln_array_clear(&a);
    return RELN_OK;
}

static void every_allocation_may_fail(void **state)
{
    Folder *f = *state;

    snprintf(fault_path, sizeof fault_path, "%s", path_in(f, "a.npy"));
    /* allocations: the context; the name of the save; buffer and values of the load */
    assert_int_equal(fail_every_allocation(save_and_load), 4);
    unlink(fault_path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(saved_arrays_come_back_bit_for_bit),
        TEST(every_rank_comes_back),
        TEST(saved_files_have_the_documented_bytes),
        TEST(all_dtypes_and_byte_orders_are_read),
        TEST(extreme_integers_round_to_the_nearest_double),
        TEST(fortran_order_is_turned_into_row_major),
        TEST(fortran_order_survives_the_chunks_of_a_file),
        TEST(harmless_variants_of_the_dictionary_are_read),
        TEST(empty_arrays_and_single_numbers_are_arrays),
        TEST(hostile_dictionaries_are_refused_with_the_reason),
        TEST(bad_leads_are_refused_with_the_reason),
        TEST(headers_above_the_limit_are_refused_though_the_file_has_them),
        TEST(a_file_cut_at_any_byte_or_with_one_more_is_refused),
        TEST(any_single_wrong_byte_is_survived),
        TEST(what_is_no_regular_file_is_refused),
        TEST(files_above_two_gigabytes_are_refused_before_allocating),
        TEST(saving_keeps_the_mode_and_replaces_the_content),
        TEST(saving_a_new_file_obeys_the_umask),
        TEST(a_save_that_cannot_be_finished_leaves_the_old_file),
        TEST(impossible_saves_are_refused),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
