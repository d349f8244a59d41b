/* test_safetensors.c -- tests named arrays in one file: round trips, every changed bit, every refusal, the
 * previous file. */
#include "support/support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/sha256.h"

typedef struct Fixture {
    RelnCtx *ctx;
    char directory[64], path[96], previous[112];
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    *state = f;
    snprintf(f->directory, sizeof f->directory, "/tmp/reln-tensors-XXXXXX");
    if (!mkdtemp(f->directory) || reln_ctx_create(NULL, &f->ctx) != RELN_OK)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/m.safetensors", f->directory);
    snprintf(f->previous, sizeof f->previous, "%s.previous", f->path);
    return 0;
}

/* rmdir refuses a folder with something left in it. */
static int teardown(void **state)
{
    Fixture *f = *state;
    const uint64_t live = reln_ctx_live_blocks(f->ctx);
    int left;

    unlink(f->path);
    unlink(f->previous);
    left = rmdir(f->directory);
    reln_ctx_destroy(f->ctx);
    free(f);
    return live == 0 ? left : -1;
}

static float weights[2][3] = {{1, 2, 3}, {-4, 5.5F, 1e-30F}};
static double moments[3] = {0.1, -1e300, 5e-324};
static int32_t indices[3] = {-1, 0, 2147483647};
static int64_t step = -((int64_t)1 << 60);

/* Narrow number types come before wide ones; one array is empty, and one is a single number. */
static const RelnArray arrays[] = {
    RELN_ARRAY("w", RELN_F32, weights, 2, 3),
    RELN_ARRAY("m.\"quoted\" \xc3\xa9", RELN_F64, moments, 3),
    RELN_ARRAY("none", RELN_F32, NULL, 2, 0, 5),
    RELN_ARRAY("i", RELN_I32, indices, 3),
    {.name = "step", .dtype = RELN_I64, .values = &step},
};
enum { N = sizeof arrays / sizeof arrays[0] };

static const RelnMetaItem items[] = {{"model", "{\"kind\": \"reln\"}\n"}, {"empty", ""}};
static const RelnMeta meta = {2, items};

static size_t bytes_of(const RelnArray *a)
{
    size_t n = a->dtype == RELN_F64 || a->dtype == RELN_I64 ? 8 : 4;

    for (int d = 0; d < a->rank; d++)
        n *= (size_t)a->dims[d];
    return n;
}

static void assert_holds(const RelnTensors *t, const RelnArray *wanted, int n)
{
    assert_int_equal(reln_tensors_count(t), n);
    for (int i = 0; i < n; i++) {
        const RelnArray *a = reln_tensors_get(t, i);

        assert_string_equal(a->name, wanted[i].name);
        assert_ptr_equal(reln_tensors_find(t, wanted[i].name), a);
        assert_true(a->dtype == wanted[i].dtype && a->rank == wanted[i].rank);
        assert_memory_equal(a->dims, wanted[i].dims, sizeof *a->dims * (size_t)a->rank);
        assert_true((uintptr_t)a->values % 4 == 0);
        if (wanted[i].values)
            assert_memory_equal(a->values, wanted[i].values, bytes_of(a));
    }
}

static size_t read_file(const char *path, unsigned char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    const size_t n = file ? fread(bytes, 1, room, file) : 0;

    if (file)
        fclose(file);
    return n;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* ---- the checksum ----------------------------------------------------------------------------------------------- */

static const char *sha256(const void *bytes, size_t n, size_t piece)
{
    static char hex[RELN_SHA256_HEX + 1];
    const unsigned char *p = bytes;
    RelnSha256 s;

    reln_sha256_begin(&s);
    for (size_t at = 0, m; at < n; at += m) {
        m = n - at < piece ? n - at : piece;
        reln_sha256_feed(&s, p + at, m);
    }
    reln_sha256_end(&s, hex);
    return hex;
}

/* The examples that go with the standard, and a million letters. */
static void sha256_gives_the_standards_values(void **state)
{
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char *million = malloc(1000000);

    (void)state;
    assert_non_null(million);
    memset(million, 'a', 1000000);
    assert_string_equal(sha256("abc", 3, 64),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(sha256("", 0, 64),
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (size_t piece = 1; piece < 130; piece += 9) {
        assert_string_equal(sha256(two, sizeof two - 1, piece),
                            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        assert_string_equal(sha256(million, 1000000, piece * 31),
                            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    free(million);
}

/* ---- round trips ------------------------------------------------------------------------------------------------ */

static void arrays_come_back_as_they_were(void **state)
{
    Fixture *f = *state;
    RelnTensors *t = NULL;

    assert_ok(f->ctx, reln_tensors_save(f->ctx, f->path, N, arrays, &meta));
    assert_ok(f->ctx, reln_tensors_load(f->ctx, f->path, &t));
    assert_holds(t, arrays, N);
    assert_true(reln_tensors_verified(t));
    assert_int_equal(reln_tensors_metadata(t)->n, 2);
    assert_string_equal(reln_tensors_meta(t, "model"), items[0].value);
    assert_string_equal(reln_tensors_meta(t, "empty"), "");
    assert_null(reln_tensors_meta(t, "reln.sha256"));
    assert_null(reln_tensors_find(t, "absent"));
    assert_null(reln_tensors_get(t, N));
    assert_null(reln_tensors_get(t, -1));
    reln_tensors_destroy(t);
}

static void many_arrays_of_several_chunks_come_back(void **state)
{
    enum { MANY = 3000, LONG = 50001 };
    static char names[MANY][16];
    static RelnArray many[MANY];
    static double values[LONG];
    Fixture *f = *state;
    RelnTensors *t = NULL;

    for (int i = 0; i < LONG; i++)
        values[i] = i;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "layer.%d", i * 7 % MANY);
        many[i] = (RelnArray)RELN_ARRAY(names[i], i % 2 ? RELN_F64 : RELN_F32, values,
                                        i == 5 ? LONG : i % 9);
    }
    assert_ok(f->ctx, reln_tensors_save(f->ctx, f->path, MANY, many, NULL));
    assert_ok(f->ctx, reln_tensors_load(f->ctx, f->path, &t));
    assert_holds(t, many, MANY);
    reln_tensors_destroy(t);
}

/* Reads the header as other programs do: the numbers begin at a multiple of 64. */
static void the_file_is_what_other_readers_want(void **state)
{
    static const char begin[] = "{\"__metadata__\":{\"reln.sha256\":\"";
    Fixture *f = *state;
    unsigned char bytes[4096];
    size_t n, header;

    assert_ok(f->ctx, reln_tensors_save(f->ctx, f->path, N, arrays, &meta));
    n = read_file(f->path, bytes, sizeof bytes);
    header = bytes[0] | (size_t)bytes[1] << 8;
    assert_int_equal((8 + header) % 64, 0);
    assert_int_equal(n, 8 + header + 24 + 24 + 12 + 8);
    assert_memory_equal(bytes + 8, begin, sizeof begin - 1);
    assert_memory_equal(bytes + 8 + header, moments,
                        sizeof moments); /* arrays of wide numbers come first */
    assert_memory_equal(bytes + 8 + header + 24, &step, sizeof step);
    assert_memory_equal(bytes + 8 + header + 32, weights, sizeof weights);
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

static void every_changed_bit_is_found(void **state)
{
    Fixture *f = *state;
    unsigned char bytes[4096];
    size_t n;

    assert_ok(f->ctx, reln_tensors_save(f->ctx, f->path, N, arrays, &meta));
    n = read_file(f->path, bytes, sizeof bytes);
    assert_in_range(n, 500, sizeof bytes - 1);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        RelnTensors *t = NULL;

        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        if (reln_tensors_parse(f->ctx, bytes, n, "file", &t) == RELN_OK)
            fail_msg("bit %zu of byte %zu was changed and not found", bit % 8, bit / 8);
        assert_null(t);
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
}

static void every_cut_and_every_byte_too_many_is_found(void **state)
{
    Fixture *f = *state;
    unsigned char bytes[4096] = {0};
    size_t n;

    assert_ok(f->ctx, reln_tensors_save(f->ctx, f->path, N, arrays, &meta));
    n = read_file(f->path, bytes, sizeof bytes - 4);
    for (size_t cut = 0; cut <= n + 4; cut++) {
        RelnTensors *t = NULL;
        const RelnStatus status = reln_tensors_parse(f->ctx, bytes, cut, "file", &t);

        assert_int_equal(status, cut == n ? RELN_OK : RELN_ERR_FORMAT);
        reln_tensors_destroy(t);
    }
}

/* Parses a file of another program: the given header and `n` bytes 0, 1, 2 ... */
static RelnStatus parse_foreign(RelnCtx *ctx, const char *header, size_t n, RelnTensors **out)
{
    unsigned char bytes[1024];
    const size_t length = strlen(header);

    assert_true(8 + length + n <= sizeof bytes);
    memset(bytes, 0, 8);
    bytes[0] = (unsigned char)(length & 255);
    bytes[1] = (unsigned char)(length >> 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < n; i++)
        bytes[8 + length + i] = (unsigned char)i;
    return reln_tensors_parse(ctx, bytes, 8 + length + n, "file", out);
}

static void files_of_others_are_read_unaligned_arrays_too(void **state)
{
    static const char header[] =
        "{\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[4,12]},"
        " \"a\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]}}  ";
    Fixture *f = *state;
    RelnTensors *t = NULL;
    double value;
    unsigned char bytes[8];

    assert_ok(f->ctx, parse_foreign(f->ctx, header, 12, &t));
    assert_int_equal(reln_tensors_count(t), 2);
    assert_false(reln_tensors_verified(t));
    assert_int_equal(*(const int32_t *)reln_tensors_find(t, "a")->values, 0x03020100);
    value = *(const double *)reln_tensors_find(t, "b")->values;
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(4 + i);
    assert_memory_equal(&value, bytes, 8);
    reln_tensors_destroy(t);
}

static void headers_that_do_not_fit_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *header;
        size_t n;
        const char *message;
    } cases[] = {
        {"", 0, "file: not a .safetensors file (no '{' at byte 8)"},
        {" {}", 0, "file: not a .safetensors file (no '{' at byte 8)"},
        {"{} x", 0, "file:1: 'x' (0x78) where the end is wanted"},
        {"{}", 4, "file: arrays of 0 bytes, but 4 follow the header"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
         "file: array 'a' needs 8 bytes and has 4"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
         "file: array 'a' begins at byte 4 of the numbers; wanted 0"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         8, "file: array 'b' begins at byte 0 of the numbers; wanted 4"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         8, "file:1: the key 'a' is there twice"},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
         "file: array 'a' has dtype 'BF16'; wanted F32, F64, I32 or I64"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}", 4,
         "file: array 'a' has a shape that is too large"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}", 0,
         "file: array 'a' has a shape that is too large"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4,
         "file: array 'a' has a shape of other things than whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
         "file: array 'a' has a shape of other things than whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,4]}}", 4,
         "file: array 'a' has a shape of other things than whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
         "file: array 'a' has more than 8 axes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
         "file: array 'a' has no range of bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4,
         "file: array 'a' has no range of bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4,
         "file: array 'a' has other things than dtype, shape and data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"offsets\":[0,4]}}", 4,
         "file: array 'a' has no range of bytes"},
        {"{\"a\":3}", 0, "file: array 'a' has other things than dtype, shape and data_offsets"},
        {"{\"\":{}}", 0, "file: an array's name has 0 bytes; wanted 1 to 512"},
        {"{\"__metadata__\":3}", 0, "file: metadata is a number; wanted a map"},
        {"{\"__metadata__\":{\"a\":3}}", 0, "file: metadata 'a' is a number; wanted a text"},
        {"{\"__metadata__\":{\"reln.writer\":\"0\"}}", 0,
         "file: a file of ours without its checksum"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RelnTensors *t = NULL;
        const RelnStatus status = parse_foreign(f->ctx, cases[i].header, cases[i].n, &t);

        assert_string_equal(reln_ctx_error(f->ctx), cases[i].message);
        assert_true(status == RELN_ERR_FORMAT || status == RELN_ERR_UNSUPPORTED);
        assert_null(t);
        assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
    }
}

static void a_header_longer_than_the_file_allocates_nothing(void **state)
{
    static const unsigned char claims[][8] = {{3}, {0, 0, 0, 0, 0, 0, 0, 0x80}, {0, 0, 0x80, 1}};
    Fixture *f = *state;

    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        RelnTensors *t = NULL;
        unsigned char bytes[10] = {0};

        memcpy(bytes, claims[i], 8);
        assert_int_equal(reln_tensors_parse(f->ctx, bytes, sizeof bytes, "file", &t),
                         RELN_ERR_FORMAT);
        assert_non_null(strstr(reln_ctx_error(f->ctx), "bytes; 2 follow and 8388608 are allowed"));
    }
}

/* ---- what cannot be saved --------------------------------------------------------------------------------------- */

static void arrays_that_no_reader_would_take_are_not_written(void **state)
{
    static char long_name[514];
    const RelnMetaItem own = {"reln.sha256", "x"}, bad_text = {"k", "\xff"};
    const struct {
        RelnArray array;
        const RelnMetaItem *item;
    } cases[] = {
        {{.name = NULL, .dtype = RELN_F32, .values = weights}, NULL},
        {{.name = "", .dtype = RELN_F32, .values = weights}, NULL},
        {{.name = long_name, .dtype = RELN_F32, .values = weights}, NULL},
        {{.name = "\xff", .dtype = RELN_F32, .values = weights}, NULL},
        {{.name = "__metadata__", .dtype = RELN_F32, .values = weights}, NULL},
        {{.name = "w", .dtype = RELN_DEFAULT, .values = weights}, NULL},
        {{.name = "w", .dtype = RELN_F32, .rank = 9, .values = weights}, NULL},
        {RELN_ARRAY("w", RELN_F32, weights, -1), NULL},
        {RELN_ARRAY("w", RELN_F32, NULL, 1), NULL},
        {RELN_ARRAY("w", RELN_F32, weights, PTRDIFF_MAX, 2), NULL},
        {{.name = "i", .dtype = RELN_F32, .values = weights},
         NULL}, /* an array with the name of another one */
        {{.name = "w", .dtype = RELN_F32, .values = weights}, &own},
        {{.name = "w", .dtype = RELN_F32, .values = weights}, &bad_text},
    };
    Fixture *f = *state;

    memset(long_name, 'n', 513);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const RelnArray both[] = {arrays[3], cases[i].array};
        const RelnMeta with = {cases[i].item ? 1 : 0, cases[i].item};

        assert_int_equal(reln_tensors_save(f->ctx, f->path, 2, both, &with), RELN_ERR_ARG);
        assert_int_equal(access(f->path, F_OK), -1);
    }
}

/* ---- the previous file ------------------------------------------------------------------------------------------ */

static void save_step(Fixture *f, int64_t value)
{
    const RelnArray one = {.name = "step", .dtype = RELN_I64, .values = &value};

    assert_ok(f->ctx, reln_tensors_save_keeping(f->ctx, f->path, 1, &one, NULL));
}

static int64_t load_step(Fixture *f, bool *previous)
{
    RelnTensors *t = NULL;
    int64_t value;

    assert_ok(f->ctx, reln_tensors_load_or_previous(f->ctx, f->path, &t, previous));
    value = *(const int64_t *)reln_tensors_find(t, "step")->values;
    reln_tensors_destroy(t);
    return value;
}

static void a_damaged_file_gives_way_to_the_previous_one(void **state)
{
    Fixture *f = *state;
    RelnTensors *t = NULL;
    bool previous = true;

    save_step(f, 1);
    assert_int_equal(access(f->previous, F_OK), -1);
    save_step(f, 2);
    assert_int_equal(load_step(f, &previous), 2);
    assert_false(previous);
    save_step(f, 3);
    write_file(f->path, "damaged", 7);
    assert_int_equal(load_step(f, &previous), 2);
    assert_true(previous);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "7 bytes, too short"));
    unlink(f->path);
    assert_int_equal(load_step(f, &previous), 2);
    assert_true(previous);
    unlink(f->previous);
    assert_int_equal(reln_tensors_load_or_previous(f->ctx, f->path, &t, &previous), RELN_ERR_IO);
    assert_false(previous);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "m.safetensors: cannot open"));
}

/* After every save, the kept file is that of the save before, and not a second name of the same file. */
static void the_previous_file_is_always_one_save_behind(void **state)
{
    Fixture *f = *state;
    struct stat one, other;

    for (int64_t i = 0; i < 5; i++) {
        bool previous = false;

        save_step(f, i);
        assert_int_equal(load_step(f, &previous), i);
        if (i > 0) {
            assert_int_equal(stat(f->path, &one) + stat(f->previous, &other), 0);
            assert_true(one.st_ino != other.st_ino);
        }
    }
}

/* A process is killed at any time, often during a save: a whole checkpoint exists that is not older than the
 * last reported one. */
static void a_killed_process_leaves_a_whole_checkpoint(void **state)
{
    Fixture *f = *state;
    int n_removed = 0, removed = 0;

    save_step(f, 0);
    for (int run = 0; run < 20; run++) {
        volatile int64_t done = -1;
        int reports[2];
        bool previous = false;
        int64_t report;
        pid_t child;

        assert_int_equal(pipe(reports), 0);
        child = fork();
        if (child == 0) {
            for (int64_t i = 1;; i++) {
                save_step(f, i);
                if (write(reports[1], &i, sizeof i) != sizeof i)
                    _exit(1);
            }
        }
        close(reports[1]);
        nanosleep(&(struct timespec){0, 1000 * (500 + 977 * run)}, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(reports[0], &report, sizeof report) == sizeof report)
            done = report;
        close(reports[0]);
        assert_true(load_step(f, &previous) >= done);
        assert_false(previous);
        assert_ok(f->ctx, reln_folder_sweep(f->ctx, f->directory, &n_removed));
        removed += n_removed;
        save_step(f, 0);
    }
    print_message("%d temporary files were left and swept out\n", removed);
}

/* ---- faults ----------------------------------------------------------------------------------------------------- */

static char faults_path[96];

static RelnStatus save_and_load(RelnCtx *ctx)
{
    RelnTensors *t = NULL;
    bool previous = false;
    RelnStatus status = reln_tensors_save_keeping(ctx, faults_path, N, arrays, &meta);

    if (status == RELN_OK)
        status = reln_tensors_load_or_previous(ctx, faults_path, &t, &previous);
    if (status == RELN_OK)
        assert_false(previous);
    reln_tensors_destroy(t);
    return status;
}

static RelnStatus fall_back(RelnCtx *ctx)
{
    RelnTensors *t = NULL;
    bool previous = false;
    const RelnStatus status = reln_tensors_load_or_previous(ctx, faults_path, &t, &previous);

    assert_true(status != RELN_OK || previous);
    reln_tensors_destroy(t);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    Fixture *f = *state;

    strcpy(faults_path, f->path);
    assert_true(fail_every_allocation(save_and_load) > 10);
    assert_ok(f->ctx, save_and_load(f->ctx));
    write_file(f->path, "x", 1);
    assert_true(fail_every_allocation(fall_back) > 5);
}

/* A limit on the file size acts like a full disk: there is one line of error, the old file is whole, and no
 * other file is left. */
static void a_full_disk_leaves_the_old_file(void **state)
{
    static double large[20000];
    const RelnArray too_large = RELN_ARRAY("a", RELN_F64, large, 20000);
    Fixture *f = *state;
    struct rlimit before, little = {4096, 4096};
    bool previous = true;

    save_step(f, 7);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_int_equal(reln_tensors_save_keeping(f->ctx, f->path, 1, &too_large, NULL), RELN_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "cannot write: File too large"));
    assert_int_equal(load_step(f, &previous), 7);
    assert_false(previous);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sha256_gives_the_standards_values),
        TEST(arrays_come_back_as_they_were),
        TEST(many_arrays_of_several_chunks_come_back),
        TEST(the_file_is_what_other_readers_want),
        TEST(every_changed_bit_is_found),
        TEST(every_cut_and_every_byte_too_many_is_found),
        TEST(files_of_others_are_read_unaligned_arrays_too),
        TEST(headers_that_do_not_fit_are_refused_with_the_reason),
        TEST(a_header_longer_than_the_file_allocates_nothing),
        TEST(arrays_that_no_reader_would_take_are_not_written),
        TEST(a_damaged_file_gives_way_to_the_previous_one),
        TEST(the_previous_file_is_always_one_save_behind),
        TEST(a_killed_process_leaves_a_whole_checkpoint),
        TEST(every_allocation_may_fail),
        TEST(a_full_disk_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
