/* Tests files of splats and meshes: the same splats in every encoding, refusals, memory, folders of classes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kit/splats.h"
#include "support/folder.h"
#include "support/support.h"

enum { COUNT = 3, ROOM = 16384 };

static const char *const names[] = {"f_dc_0",   "x",        "y",       "z",       "nx",
                                    "rot_0",    "rot_1",    "rot_2",   "rot_3",   "f_dc_1",
                                    "f_dc_2",   "opacity",  "scale_0", "scale_1", "scale_2",
                                    "f_rest_0", "f_rest_1", "f_rest_2"};
enum { NAMES = sizeof names / sizeof names[0] };

/* Stored numbers that f32 holds exactly. */
static double stored(int splat, int name)
{
    return ((splat + 1) * 7 + name * 3 % 11 - 9) / 8.0;
}

static size_t put(uint8_t *to, float value, bool big)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(bits >> (8 * (big ? 3 - i : i)));
    return 4;
}

/* Writes a file in one of the encodings; `more` is put into the header before the element. */
static size_t write_ply(const char *encoding, const char *more, uint8_t *out)
{
    const bool text = strcmp(encoding, "ascii") == 0;
    size_t n = (size_t)sprintf((char *)out,
                               "ply\nformat %s 1.0\ncomment made here\r\n%selement vertex %d\n",
                               encoding, more, COUNT);

    for (int i = 0; i < NAMES; i++)
        n += (size_t)sprintf((char *)out + n, "property float %s\n", names[i]);
    n +=
        (size_t)sprintf((char *)out + n, "element face 0\nproperty list uchar int v\nend_header\n");
    for (int s = 0; s < COUNT; s++)
        for (int i = 0; i < NAMES; i++)
            n += text ? (size_t)sprintf((char *)out + n, "%.9g%c", stored(s, i),
                                        i == NAMES - 1 ? '\n' : ' ')
                      : put(out + n, (float)stored(s, i), encoding[7] == 'b');
    return n;
}

static double named(int splat, const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(names[i], name) == 0)
            return stored(splat, i);
    return (double)NAN;
}

static void expect(const double *row, int s)
{
    const double q[4] = {named(s, "rot_0"), named(s, "rot_1"), named(s, "rot_2"),
                         named(s, "rot_3")};
    const double length =
        sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) * (q[0] < 0 ? -1 : 1);
    const double want[RELN_SPLAT] = {named(s, "x"),
                                     named(s, "y"),
                                     named(s, "z"),
                                     1 / (1 + exp(-named(s, "opacity"))),
                                     exp(named(s, "scale_0")),
                                     exp(named(s, "scale_1")),
                                     exp(named(s, "scale_2")),
                                     q[0] / length,
                                     q[1] / length,
                                     q[2] / length,
                                     q[3] / length,
                                     named(s, "f_dc_0"),
                                     named(s, "f_dc_1"),
                                     named(s, "f_dc_2")};

    assert_near(row, want, RELN_SPLAT, 4e-16);
}

static RelnCtx *context(void)
{
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    return ctx;
}

/* The header again, its lines ended by \r\n. */
static size_t with_returns(uint8_t *bytes, size_t n)
{
    static uint8_t from[ROOM];
    const size_t header = (size_t)(strstr((const char *)bytes, "end_header\n") - (char *)bytes) +
                          strlen("end_header\n");
    size_t to = 0;

    memcpy(from, bytes, n);
    for (size_t i = 0; i < n; i++) {
        if (i < header && from[i] == '\n' && from[i - 1] != '\r')
            bytes[to++] = '\r';
        bytes[to++] = from[i];
    }
    return to;
}

static void every_encoding_has_the_same_splats(void **state)
{
    static const char *const encodings[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    RelnCtx *ctx = context();
    static uint8_t bytes[ROOM];

    (void)state;
    for (int e = 0; e < 6; e++) {
        const size_t before = write_ply(encodings[e % 3], "", bytes),
                     n = e < 3 ? before : with_returns(bytes, before);
        double rows[COUNT * RELN_SPLAT];
        RelnSplatFile *file = NULL;
        ptrdiff_t got;

        assert_ok(ctx, reln_ply_parse(ctx, bytes, n, "it", &file));
        assert_int_equal(reln_splats_info(file).count, COUNT);
        assert_int_equal(reln_splats_info(file).rest, 3);
        assert_ok(ctx, reln_splats_read(file, 2, rows, &got));
        assert_int_equal(got, 2);
        assert_ok(ctx, reln_splats_read(file, 2, rows + 2 * RELN_SPLAT, &got));
        assert_int_equal(got, 1);
        for (int s = 0; s < COUNT; s++)
            expect(rows + s * RELN_SPLAT, s);
        assert_ok(ctx, reln_splats_read(file, 2, rows, &got));
        assert_int_equal(got, 0);
        reln_splats_close(file);
    }
    reln_ctx_destroy(ctx);
}

/* The bytes of an element before `vertex` are skipped. */
static void elements_before_the_vertices_are_skipped(void **state)
{
    RelnCtx *ctx = context();
    static uint8_t bytes[ROOM], moved[ROOM];
    RelnSplatFile *file = NULL;
    double row[RELN_SPLAT];
    size_t n, header;
    ptrdiff_t got;

    (void)state;
    n = write_ply("binary_little_endian", "element camera 2\nproperty double a\nproperty uint8 b\n",
                  bytes);
    header = (size_t)(strstr((char *)bytes, "end_header\n") - (char *)bytes) + 11;
    memcpy(moved, bytes, header);
    memset(moved + header, 0x5a, 18);
    memcpy(moved + header + 18, bytes + header, n - header);
    assert_ok(ctx, reln_ply_parse(ctx, moved, n + 18, "it", &file));
    assert_ok(ctx, reln_splats_read(file, 1, row, &got));
    expect(row, 0);
    reln_splats_close(file);
    reln_ctx_destroy(ctx);
}

static void refuse(RelnCtx *ctx, const uint8_t *bytes, size_t n, const char *says)
{
    RelnSplatFile *file = NULL;
    double rows[COUNT * RELN_SPLAT];
    ptrdiff_t got;
    RelnStatus status = reln_ply_parse(ctx, bytes, n, "it", &file);

    reln_ctx_clear(ctx);
    if (status == RELN_OK)
        status = reln_splats_read(file, COUNT, rows, &got);
    else
        status = reln_ply_parse(ctx, bytes, n, "it", &file);
    assert_true(status == RELN_ERR_FORMAT || status == RELN_ERR_UNSUPPORTED);
    if (!strstr(reln_ctx_error(ctx), says))
        fail_msg("'%s' without '%s'", reln_ctx_error(ctx), says);
    reln_splats_close(file);
    reln_ctx_clear(ctx);
}

/* Replaces the first occurrence of a text by another of the same length. */
static void replace(uint8_t *bytes, const char *old, const char *new)
{
    char *at = strstr((char *)bytes, old);

    assert_non_null(at);
    assert_int_equal(strlen(old), strlen(new));
    memcpy(at, new, strlen(new));
}

static void bad_ply_files_are_refused_with_a_line(void **state)
{
    static const struct {
        const char *old, *new, *says;
    } wrongs[] = {
        {"ply\n", "plx\n", "it: header line 'plx'; wanted `ply`"},
        {"1.0", "2.0",
         "it: header line 'format binary_little_end...'; wanted one of ascii, "
         "binary_little_endian and binary_big_endian, version 1.0, once"},
        {"comment made here", "format ascii 1.0 ", "version 1.0, once"},
        {"vertex 3", "vertex 9",
         "it: 9 splats of at least 72 bytes do not fit the 216 bytes that follow"},
        {"vertex 3", "vertex x",
         "it: header line 'element vertex x'; wanted an element, once, with its number of items"},
        {"element face 0", "element vertex", "wanted an element, once, with its number of items"},
        {"float opacity", "float opacite", "it: no property `opacity`; wanted those of"},
        {"float x", "flott x",
         "it: header line 'property flott x'; wanted a property of a known number type"},
        {"float y", "float x",
         "it: header line 'property float x'; wanted at most 512 properties, each once"},
        {"float nx", "list  nx", "it: the element `vertex` has a list; wanted numbers"},
        {"element vertex 3", "element vertey 3", "it: header without a `vertex` element"},
        {"format binary_little_endian 1.0", "comment binary_little_endian 1.",
         "it: header without a format"},
        {"end_header", "fin_header",
         "it: header line 'fin_header'; wanted format, element, property, comment or end_header"},
    };
    RelnCtx *ctx = context();
    static uint8_t bytes[ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        const size_t n = write_ply("binary_little_endian", "", bytes);

        replace(bytes, wrongs[i].old, wrongs[i].new);
        refuse(ctx, bytes, n, wrongs[i].says);
    }
    for (size_t n = write_ply("binary_little_endian", "", bytes), cut = 0; cut < n; cut += 13)
        refuse(ctx, bytes, cut, "it: ");
    reln_ctx_destroy(ctx);
}

/* Writes one splat whose vertices have so many properties, in a header of so many lines after the first. */
static size_t write_wide(int properties, int lines, uint8_t *out)
{
    size_t n = (size_t)sprintf((char *)out, "ply\nformat binary_little_endian 1.0\n"
                                            "element vertex 1\n");

    for (int i = 0; i < properties; i++)
        n += i < NAMES ? (size_t)sprintf((char *)out + n, "property float %s\n", names[i])
                       : (size_t)sprintf((char *)out + n, "property float more_%d\n", i);
    for (int i = 3 + properties; i < lines; i++)
        n += (size_t)sprintf((char *)out + n, "comment\n");
    n += (size_t)sprintf((char *)out + n, "end_header\n");
    for (int i = 0; i < properties; i++)
        n += put(out + n, i < NAMES ? (float)stored(0, i) : 1, false);
    return n;
}

/* A header is kept in memory of a fixed size. */
static void headers_are_read_up_to_their_limits(void **state)
{
    static const struct {
        int properties, lines;
        const char *says;
    } cases[] = {
        {512, 0, NULL},
        {513, 0, "it: header line 'property float more_512'; wanted at most 512 properties"},
        {NAMES, 4096, NULL},
        {NAMES, 4097, "it: a header of more than 4096 lines"},
    };
    RelnCtx *ctx = context();
    static uint8_t bytes[65536];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t n = write_wide(cases[i].properties, cases[i].lines, bytes);
        RelnSplatFile *file = NULL;
        double row[RELN_SPLAT];
        ptrdiff_t got;

        if (cases[i].says) {
            refuse(ctx, bytes, n, cases[i].says);
            continue;
        }
        assert_ok(ctx, reln_ply_parse(ctx, bytes, n, "it", &file));
        assert_ok(ctx, reln_splats_read(file, 1, row, &got));
        assert_int_equal(got, 1);
        expect(row, 0);
        reln_splats_close(file);
    }
    reln_ctx_destroy(ctx);
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    RelnCtx *ctx = context();
    static uint8_t bytes[ROOM];
    const size_t n = write_ply("binary_little_endian", "", bytes);

    (void)state;
    put(bytes + n - 4 * 4, 1000, false); /* scale_2: its exponential overflows */
    refuse(ctx, bytes, n, "splat 2");
    reln_ctx_destroy(ctx);
}

static void a_splat_file_has_32_bytes_each(void **state)
{
    uint8_t bytes[64] = {0};
    RelnCtx *ctx = context();
    RelnSplatFile *file = NULL;
    double rows[2 * RELN_SPLAT];
    ptrdiff_t got;

    (void)state;
    put(bytes + 32, 1.5F, false);
    for (int a = 0; a < 3; a++)
        put(bytes + 44 + 4 * a, 0.25F, false);
    memcpy(bytes + 56, (const uint8_t[]){255, 0, 51, 204, 64, 192, 128, 128}, 8);
    memset(bytes + 28, 128, 4); /* a quaternion of length 0 counts as no rotation */
    assert_ok(ctx, reln_splat_parse(ctx, bytes, 64, "it", &file));
    assert_ok(ctx, reln_splats_read(file, 5, rows, &got));
    assert_int_equal(got, 2);
    assert_small(rows[RELN_SPLAT_ROTATION] - 1, 0);
    assert_near(rows + RELN_SPLAT,
                ((const double[]){1.5, 0, 0, 0.8, 0.25, 0.25, 0.25, sqrt(0.5), -sqrt(0.5), 0, 0,
                                  0.5 / RELN_SPLAT_C0, -0.5 / RELN_SPLAT_C0, -0.3 / RELN_SPLAT_C0}),
                RELN_SPLAT, 1e-15);
    reln_splats_close(file);
    put(bytes + 48, -0.25F, false);
    assert_ok(ctx, reln_splat_parse(ctx, bytes, 64, "it", &file));
    assert_int_equal(reln_splats_read(file, 5, rows, &got), RELN_ERR_FORMAT);
    assert_string_equal(reln_ctx_error(ctx), "it: splat 1 has the number -0.25 in place 5; wanted "
                                             "a finite one, a scale that is not negative");
    reln_splats_close(file);
    assert_int_equal(reln_splat_parse(ctx, bytes, 63, "it", &file), RELN_ERR_FORMAT);
    assert_non_null(strstr(reln_ctx_error(ctx), "multiple of 32"));
    reln_ctx_destroy(ctx);
}

/* ---- meshes ---------------------------------------------------------------------------------------------------------- */

static void both_styles_of_off_are_read(void **state)
{
    static const char *const files[] = {
        "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0 255 0 0\n0 1 0\n3 0 1 2\n4 0 1 2 3 10 20 30\n",
        "OFF4 2 0\n0 0 0\n1 0 0 # here\n\n1 1 0\n0 1 0\n3 0 1 2\n4 0 1 2 3",
        ("# first\nCOFF 4 2 0\r\n0 0 0 1\r\n1 0 0 1\r\n1 1 0 1\r\n0 1 0 1\r\n3 0 1 2\r\n4 0 1 2 "
         "3\r\n"),
    };
    const int32_t want[] = {0, 1, 2, 0, 1, 2, 0, 2, 3};
    RelnCtx *ctx = context();

    (void)state;
    for (int i = 0; i < 3; i++) {
        RelnMesh mesh;

        assert_ok(ctx, reln_off_parse(ctx, files[i], strlen(files[i]), "it", &mesh));
        assert_int_equal(mesh.n_vertices, 4);
        assert_int_equal(mesh.n_triangles, 3);
        assert_memory_equal(mesh.triangles, want, sizeof want);
        assert_near(mesh.vertices + 6, ((const double[]){1, 1, 0}), 3, 0);
        reln_mesh_clear(&mesh);
    }
    reln_ctx_destroy(ctx);
}

/* A mesh may have vertices only, or polygons of fewer than three corners, which are no triangle. */
static void meshes_without_triangles_are_read(void **state)
{
    static const char *const files[] = {"OFF\n2 0 0\n0 0 0\n1 2 3\n",
                                        "OFF\n2 3 0\n0 0 0\n1 2 3\n0\n1 1\n2 0 1\n"};
    RelnCtx *ctx = context();

    (void)state;
    for (int i = 0; i < 2; i++) {
        RelnMesh mesh;

        assert_ok(ctx, reln_off_parse(ctx, files[i], strlen(files[i]), "it", &mesh));
        assert_int_equal(mesh.n_vertices, 2);
        assert_int_equal(mesh.n_triangles, 0);
        assert_near(mesh.vertices + 3, ((const double[]){1, 2, 3}), 3, 0);
        reln_mesh_clear(&mesh);
    }
    reln_ctx_destroy(ctx);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    return strlen(text) >= strlen(with) && strcmp(text + strlen(text) - strlen(with), with) == 0;
}

static void bad_meshes_are_refused_with_a_line(void **state)
{
    static const struct {
        const char *text, *at, *wanted;
    } files[] = {
        {"", "it: byte 0: \'", "\'; wanted the word OFF"},
        {"off\n1 0 0\n0 0 0\n", "it: byte 0: \'", "\'; wanted the word OFF"},
        {"OFF\n1000 0 0\n0 0 0\n", "it: byte 4: \'",
         "\'; wanted a number of vertices that fits the file"},
        {"OFF\n1 1000 0\n0 0 0\n", "it: byte 6: \'",
         "\'; wanted a number of polygons that fits the file"},
        {"OFF\n-1 0 0", "it: byte 4: \'", "\'; wanted a number of vertices that fits the file"},
        {"OFF\n1.5 0 0", "it: byte 4: \'", "\'; wanted a number of vertices that fits the file"},
        {"OFF\n1 0 -1\n0 0 0\n", "it: byte 8: \'", "\'; wanted a number of edges"},
        {"OFF\n1 1 0\n0 0 0\n3 0 0 1\n", "it: byte 22: \'", "\'; wanted the number of a vertex"},
        {"OFF\n1 1 0\n0 0\n", "it: byte 14: \'", "\'; wanted a coordinate"},
        {"OFF\n1 0 0\n0 0 # no more", "it: byte 23: \'", "\'; wanted a coordinate"},
        {"OFF\n1 1 0\n0 0 1e999\n3 0 0 0\n", "it: byte 19: \'", "\'; wanted a coordinate"},
        {"OFF\n1 1 0\n0 0 0\n99 0 0 0\n", "it: byte 16: \'", "\'; wanted a number of corners"},
        {"OFF\n0 1 0\n3 0 0 0\n", "it: byte 12: \'", "\'; wanted the number of a vertex"},
    };
    RelnCtx *ctx = context();

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        RelnMesh mesh;

        assert_int_equal(reln_off_parse(ctx, files[i].text, strlen(files[i].text), "it", &mesh),
                         RELN_ERR_FORMAT);
        if (!begins(reln_ctx_error(ctx), files[i].at) ||
            !ends(reln_ctx_error(ctx), files[i].wanted))
            fail_msg("'%s' is not '%s...%s'", reln_ctx_error(ctx), files[i].at, files[i].wanted);
        assert_null(mesh.vertices);
        reln_ctx_clear(ctx);
    }
    reln_ctx_destroy(ctx);
}

/* ---- folders --------------------------------------------------------------------------------------------------------- */

/* A file with a text, or a folder when the text is NULL. */
static void make(const Folder *f, const char *name, const char *text)
{
    const char *path = path_in(f, name);
    FILE *file;

    if (!text) {
        assert_int_equal(mkdir(path, 0777), 0);
        return;
    }
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void folders_of_classes_are_listed_in_order(void **state)
{
    static const char *const made[] = {"table",
                                       "chair",
                                       "nothing",
                                       "chair/train",
                                       "chair/test",
                                       "table/b.off",
                                       "table/a.splat",
                                       "table/readme.txt",
                                       "chair/test/c.ply",
                                       "chair/train/d.off"};
    const Folder *folder = *state;
    RelnCtx *ctx = folder->ctx;
    RelnClassFolder f;

    assert_int_equal(reln_class_folder(ctx, folder->directory, &f), RELN_ERR_FORMAT);
    reln_class_folder_clear(&f);
    reln_ctx_clear(ctx);
    for (int i = 0; i < 10; i++)
        make(folder, made[i], i < 5 ? NULL : "");
    assert_ok(ctx, reln_class_folder(ctx, folder->directory, &f));
    assert_int_equal(f.n_classes, 2);
    assert_string_equal(f.classes[0], "chair");
    assert_int_equal(f.n_files, 4);
    assert_int_equal(f.files[0].split, RELN_SPLIT_TRAIN);
    assert_int_equal(f.files[1].split, RELN_SPLIT_TEST);
    assert_int_equal(f.files[2].label, 1);
    assert_non_null(strstr(f.files[2].path, "table/a.splat"));
    assert_int_equal(f.files[3].split, RELN_SPLIT_NONE);
    reln_class_folder_clear(&f);
    for (int i = 9; i >= 0; i--)
        assert_int_equal(remove(path_in(folder, made[i])), 0);
}

/* The file is larger than the buffer through which it is read. */
static void long_files_are_read_in_pieces(void **state)
{
    enum { MANY = 5000 };
    const Folder *folder = *state;
    static uint8_t bytes[MANY * 32];
    RelnSplatFile *file = NULL;
    double row[RELN_SPLAT];
    ptrdiff_t n, seen = 0;
    FILE *out = fopen(path_in(folder, "a.splat"), "wb");

    for (int i = 0; i < MANY; i++)
        put(bytes + 32 * i, (float)i, false);
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, out), sizeof bytes);
    assert_int_equal(fclose(out), 0);
    assert_ok(folder->ctx, reln_splats_open(folder->ctx, path_in(folder, "a.splat"), &file));
    while (reln_splats_read(file, 1, row, &n) == RELN_OK && n > 0)
        assert_true(row[0] == (double)seen++);
    assert_int_equal(seen, MANY);
    reln_splats_close(file);
    assert_int_equal(remove(path_in(folder, "a.splat")), 0);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

static RelnStatus read_all(RelnCtx *ctx)
{
    static uint8_t bytes[ROOM];
    const size_t n = write_ply("ascii", "", bytes);
    const char *off = "OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    double rows[COUNT * RELN_SPLAT];
    RelnSplatFile *file = NULL;
    RelnMesh mesh;
    ptrdiff_t got;
    RelnStatus status = reln_ply_parse(ctx, bytes, n, "it", &file);

    if (status == RELN_OK)
        status = reln_splats_read(file, COUNT, rows, &got);
    reln_splats_close(file);
    if (status != RELN_OK)
        return status;
    status = reln_off_parse(ctx, off, strlen(off), "it", &mesh);
    reln_mesh_clear(&mesh);
    return status;
}

static void readers_survive_every_failing_allocation(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(read_all) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_has_the_same_splats),
        cmocka_unit_test(elements_before_the_vertices_are_skipped),
        cmocka_unit_test(bad_ply_files_are_refused_with_a_line),
        cmocka_unit_test(headers_are_read_up_to_their_limits),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(a_splat_file_has_32_bytes_each),
        cmocka_unit_test(both_styles_of_off_are_read),
        cmocka_unit_test(meshes_without_triangles_are_read),
        cmocka_unit_test(bad_meshes_are_refused_with_a_line),
        cmocka_unit_test_setup_teardown(folders_of_classes_are_listed_in_order, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(long_files_are_read_in_pieces, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test(readers_survive_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
