/* helper.c -- makes and damages files, and checks JSON and arrays, for the shell tests of the program.
 *     helper make DIR              .npy files, each named for its property or its error
 *     helper json KEY=VALUE ...    checks that stdin is one JSON object with these values (KEY alone: with this key)
 *     helper flip FILE OFFSET      flips one bit of one byte; a negative offset counts from the end
 *     helper retell FILE KEY OLD NEW   replaces the first OLD in the metadata KEY of a .safetensors, and its checksum
 *     helper alike A B             checks that two texts are the same, but for the last digits of fractions
 *     helper near NAME A B TOL     checks that the array NAME of two files differs by at most TOL of its size */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reln/base.h"
#include "reln/io.h"
#include "support/alike.h"

static const char *directory;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "helper: %s\n", what);
    exit(1);
}

static FILE *create(const char *name)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.npy", directory, name);
    file = fopen(path, "wb");
    require(file != NULL, path);
    return file;
}

/* A version 1 file with this dictionary, and n bytes after it. */
static void raw(const char *name, const char *dictionary, const void *bytes, size_t n)
{
    const size_t length = strlen(dictionary);
    FILE *file = create(name);

    fwrite("\x93NUMPY\1", 1, 8, file);
    fputc((int)(length & 255), file);
    fputc((int)(length >> 8), file);
    fwrite(dictionary, 1, length, file);
    fwrite(bytes, 1, n, file);
    require(fclose(file) == 0, name);
}

static void save(RelnCtx *ctx, const char *name, int rank, ptrdiff_t a, ptrdiff_t b, ptrdiff_t c,
                 double *x)
{
    const RelnArray array = {.dtype = RELN_F64, .rank = rank, .dims = {a, b, c}, .values = x};
    char path[1024];

    snprintf(path, sizeof path, "%s/%s.npy", directory, name);
    require(reln_npy_save(ctx, path, &array) == RELN_OK, reln_ctx_error(ctx));
}

/* so(3) in a turned frame: hats of the rows of a rotation, times lengths; the form is diagonal but for rounding. */
static void make_turned(RelnCtx *ctx)
{
    const double c = cos(0.7), s = sin(0.7), d = cos(0.4), t = sin(0.4);
    const double rows[3][3] = {{c, -s * d, s * t}, {s, c * d, -c * t}, {0, t, d}};
    const double length[3] = {1.1, 0.7, 1.3};
    double x[27] = {0};

    for (int i = 0; i < 3; i++) {
        const double v[3] = {length[i] * rows[i][0], length[i] * rows[i][1],
                             length[i] * rows[i][2]};
        const double hat[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};
        memcpy(x + 9 * i, hat, sizeof hat);
    }
    save(ctx, "so3-turned", 3, 3, 3, 3, x);
}

static void make_good(RelnCtx *ctx)
{
    static double sl2[] = {1, 0, 0, -1, 0, 1, 0, 0, 0, 0, 1, 0};
    /* e12, e13, e23: nilpotent */
    static double heisenberg[27] = {[1] = 1, [9 + 2] = 1, [18 + 5] = 1};
    static double open[] = {0, 1, 0, 0, 0, 0, 1, 0};
    static double dependent[] = {1, 0, 0, -1, 2, 0, 0, -2};
    /* sl2 by columns, big-endian: element (k, i, j) at k + 3 i + 6 j */
    static const unsigned char columns[48] = {
        [4 * 0 + 3] = 1,    [4 * 7 + 3] = 1,    [4 * 5 + 3] = 1,    [4 * 9 + 0] = 0xff,
        [4 * 9 + 1] = 0xff, [4 * 9 + 2] = 0xff, [4 * 9 + 3] = 0xff,
    };
    /* rotations in the frame diag(1, 1.1, 0.7): no entry but 0 and 1 is a dyadic number */
    static double floats[27] = {[5] = -1.1 / 0.7, [7] = 0.7 / 1.1,     [9 + 2] = 1 / 0.7,
                                [9 + 6] = -0.7,   [18 + 1] = -1 / 1.1, [18 + 3] = 1.1};
    float single[12], rounded[27];
    double widened[27];

    save(ctx, "so3-floats", 3, 3, 3, 3, floats);
    for (int i = 0; i < 27; i++)
        widened[i] = (double)(rounded[i] = (float)floats[i]);
    raw("so3-f4", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3, 3), }", rounded, 108);
    save(ctx, "so3-widened", 3, 3, 3, 3, widened);
    save(ctx, "sl2", 3, 3, 2, 2, sl2);
    save(ctx, "heisenberg", 3, 3, 3, 3, heisenberg);
    save(ctx, "open", 3, 2, 2, 2, open);
    save(ctx, "dependent", 3, 2, 2, 2, dependent);
    for (int i = 0; i < 12; i++)
        single[i] = (float)sl2[i];
    raw("sl2-f4", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2), }", single, 48);
    raw("sl2-i4-columns", "{'descr': '>i4', 'fortran_order': True, 'shape': (3, 2, 2), }", columns,
        48);
}

static void make_bad(RelnCtx *ctx)
{
    double x[80] = {1};
    FILE *file;

    raw("truncated", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2), }", x, 95);
    raw("trailing", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2), }", x, 97);
    raw("claims-much", "{'descr':'<f8','fortran_order':False,'shape':(4611686018427387904,2,2)}", x,
        8);
    raw("complex", "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 2, 2), }", x, 64);
    raw("object", "{'descr': '|O', 'fortran_order': False, 'shape': (1, 2, 2), }", x, 32);
    raw("string", "{'descr': '<U4', 'fortran_order': False, 'shape': (1, 2, 2), }", x, 64);
    raw("no-shape", "{'descr': '<f8', 'fortran_order': False, }", x, 32);
    save(ctx, "rank-0", 0, 1, 1, 1, x);
    save(ctx, "rank-2", 2, 2, 2, 1, x);
    save(ctx, "not-square", 3, 3, 2, 3, x);
    save(ctx, "too-many", 3, 5, 2, 2, x);
    save(ctx, "no-matrices", 3, 0, 2, 2, x);
    save(ctx, "no-size", 3, 3, 0, 0, x);
    save(ctx, "too-wide", 3, 1, 1, 65, x);
    save(ctx, "zero", 3, 1, 2, 2, x + 1);
    x[0] = 1e-200;
    save(ctx, "tiny", 3, 1, 2, 2, x);
    x[0] = 1;
    x[5] = (double)NAN;
    save(ctx, "nan", 3, 3, 2, 2, x);
    x[5] = -(double)INFINITY;
    save(ctx, "infinite", 3, 3, 2, 2, x);
    require(fclose(create("empty")) == 0, "empty");
    file = create("text");
    fputs("gl:3, but in words\n", file);
    require(fclose(file) == 0, "text");
}

/* Makes a sparse file of 1 GiB, for a process that may not use so much memory. */
static void make_huge(void)
{
    static const char dictionary[] = "{'descr':'<f8','fortran_order':False,'shape':(134217728,)}";
    char path[1024];

    raw("huge", dictionary, "", 0);
    snprintf(path, sizeof path, "%s/huge.npy", directory);
    require(truncate(path, (off_t)(10 + strlen(dictionary)) + ((off_t)1 << 30)) == 0, path);
}

static int make(const char *name)
{
    RelnCtx *ctx = NULL;

    directory = name;
    require(reln_ctx_create(NULL, &ctx) == RELN_OK, "out of memory");
    make_good(ctx);
    make_turned(ctx);
    make_bad(ctx);
    make_huge();
    reln_ctx_destroy(ctx);
    return 0;
}

static void check_value(const json_t *object, char *claim)
{
    char *const sign = strchr(claim, '=');
    json_t *wanted = NULL;

    if (sign) {
        *sign = '\0';
        wanted = json_loads(sign + 1, JSON_DECODE_ANY, NULL);
        require(wanted != NULL, sign + 1);
    }
    require(json_object_get(object, claim) != NULL, claim);
    require(!wanted || json_equal(json_object_get(object, claim), wanted), claim);
    json_decref(wanted);
}

static int check_json(int argc, char **argv)
{
    json_error_t error;
    json_t *object = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);

    require(object != NULL, error.text);
    require(json_is_object(object), "not an object");
    for (int i = 0; i < argc; i++)
        check_value(object, argv[i]);
    json_decref(object);
    return 0;
}

/* ---- spoiling files ---------------------------------------------------------------------------------------------- */

static int flip(const char *path, long offset)
{
    FILE *file = fopen(path, "r+b");
    int byte;

    require(file != NULL, path);
    require(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET) == 0, "no such offset");
    byte = fgetc(file);
    require(byte != EOF && fseek(file, -1, SEEK_CUR) == 0, "no such byte");
    fputc(byte ^ 4, file);
    require(fclose(file) == 0, path);
    return 0;
}

static char *replaced(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    const size_t size = strlen(text) + strlen(new) + 1;
    char *out = malloc(size);

    require(at != NULL, old);
    require(out != NULL, "out of memory");
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return out;
}

/* The file's own keys are left out: saving makes them anew. */
static int retell(const char *path, const char *key, const char *old, const char *new)
{
    RelnMetaItem items[32];
    RelnMeta changed = {0, items};
    RelnCtx *ctx = NULL;
    RelnTensors *file = NULL;
    char *text = NULL;
    const RelnMeta *meta;

    require(reln_ctx_create(NULL, &ctx) == RELN_OK, "out of memory");
    require(reln_tensors_load(ctx, path, &file) == RELN_OK, reln_ctx_error(ctx));
    meta = reln_tensors_metadata(file);
    for (int i = 0; i < meta->n && changed.n < 32; i++) {
        const char *name = meta->items[i].key;
        const bool own =
            strncmp(name, "reln.sha256", 11) == 0 || strncmp(name, "reln.writer", 11) == 0;

        if (!own)
            items[changed.n++] = meta->items[i];
        if (strcmp(name, key) == 0)
            items[changed.n - 1].value = text = replaced(meta->items[i].value, old, new);
    }
    require(text != NULL, key);
    require(reln_tensors_save(ctx, path, reln_tensors_count(file), reln_tensors_get(file, 0),
                              &changed) == RELN_OK,
            reln_ctx_error(ctx));
    free(text);
    reln_tensors_destroy(file);
    reln_ctx_destroy(ctx);
    return 0;
}

/* ---- comparing arrays -------------------------------------------------------------------------------------------- */

static double *read_array(RelnCtx *ctx, const char *path, const char *name, ptrdiff_t *count)
{
    RelnArchive *archive = NULL;
    const RelnArray *info;
    double *values;
    int index;

    require(reln_archive_open(ctx, path, &archive) == RELN_OK, reln_ctx_error(ctx));
    index = reln_archive_find(archive, name);
    require(index >= 0, name);
    info = reln_archive_info(archive, index);
    *count = reln_array_count(info);
    values = malloc((size_t)(*count + 1) * sizeof *values);
    require(values != NULL, "out of memory");
    require(reln_archive_range(archive, index, 0, reln_array_rows(info), values) == RELN_OK,
            reln_ctx_error(ctx));
    reln_archive_destroy(archive);
    return values;
}

static int near(const char *name, const char *a, const char *b, double tolerance)
{
    RelnCtx *ctx = NULL;
    ptrdiff_t n, m;
    double *x, *y, size = 0, worst = 0;

    require(reln_ctx_create(NULL, &ctx) == RELN_OK, "out of memory");
    x = read_array(ctx, a, name, &n);
    y = read_array(ctx, b, name, &m);
    require(n == m, "another number of values");
    for (ptrdiff_t i = 0; i < n; i++) {
        size = fmax(size, fabs(x[i]));
        worst = fmax(worst, fabs(x[i] - y[i]));
    }
    printf("%s: %.3g of %.3g\n", name, worst, size);
    free(x);
    free(y);
    reln_ctx_destroy(ctx);
    return !(worst <= tolerance * size);
}

/* ---- comparing texts --------------------------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long n;

    require(file != NULL, path);
    fseek(file, 0, SEEK_END);
    n = ftell(file);
    rewind(file);
    text = calloc((size_t)n + 1, 1);
    require(text && fread(text, 1, (size_t)n, file) == (size_t)n, path);
    fclose(file);
    return text;
}

static int check_alike(const char *a, const char *b)
{
    char *got = read_text(a), *want = read_text(b);
    long at = 0;
    const bool same = texts_alike(got, want, &at);
    const long from = at > 80 ? at - 80 : 0;

    if (!same)
        printf("saw    ...%.200s\nwanted ...%.200s\n", got + from,
               (long)strlen(want) > from ? want + from : "");
    free(got);
    free(want);
    return !same;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "flip") == 0)
        return flip(argv[2], strtol(argv[3], NULL, 10));
    if (argc == 6 && strcmp(argv[1], "retell") == 0)
        return retell(argv[2], argv[3], argv[4], argv[5]);
    if (argc == 6 && strcmp(argv[1], "near") == 0)
        return near(argv[2], argv[3], argv[4], strtod(argv[5], NULL));
    if (argc == 4 && strcmp(argv[1], "alike") == 0)
        return check_alike(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "make") == 0)
        return make(argv[2]);
    if (argc >= 2 && strcmp(argv[1], "json") == 0)
        return check_json(argc - 2, argv + 2);
    require(false, "usage: helper make|json|flip|retell|near|alike ...");
    return 1;
}
