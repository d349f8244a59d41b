/* npy.c -- NumPy's .npy arrays: a header that is a Python literal, then the numbers.
 *
 *     magic 93 'NUMPY', major, minor, header length (2 bytes; 4 from version 2 on), little-endian
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2), }  spaces, newline
 *
 * The parser of the dictionary accepts these three keys and nothing else.
 */
#include "kit/files.h"
#include "reln/io.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/text.h"

enum {
    LEAD_1 = 10, /* bytes before the dictionary: version 1, and later versions */
    LEAD_2 = 12,
    MAX_HEADER = RELN_NPY_MAX_LEAD - LEAD_2,
    CHUNK = 65536, /* bytes converted at a time, a multiple of every width */
    SHAPE_TEXT = 24 * RELN_ARRAY_MAX_RANK
};

typedef RelnNpyHeader Header;

static const RelnKind kinds[] = {
    {"f4", 4, 0x1p-24, RELN_F32},     {"f8", 8, 0x1p-53, RELN_F64},
    {"i4", 4, 0x1p-53, RELN_I32},     {"i8", 8, 0x1p-53, RELN_I64},
    {"f2", 2, 0x1p-11, RELN_DEFAULT}, {"b1", 1, 0x1p-53, RELN_DEFAULT},
    {"i1", 1, 0x1p-53, RELN_DEFAULT}, {"u1", 1, 0x1p-53, RELN_DEFAULT},
    {"i2", 2, 0x1p-53, RELN_DEFAULT}, {"u2", 2, 0x1p-53, RELN_DEFAULT},
    {"u4", 4, 0x1p-53, RELN_DEFAULT}, {"u8", 8, 0x1p-53, RELN_DEFAULT},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const RelnKind *reln_kind_of(RelnDtype dtype)
{
    for (int i = 0; i < N_KINDS; i++)
        if (kinds[i].dtype == dtype && dtype != RELN_DEFAULT)
            return &kinds[i];
    return NULL;
}

const RelnKind *reln_kind_named(const char *code)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].code, code) == 0)
            return &kinds[i];
    return NULL;
}

const char *reln_dtype_text(RelnDtype dtype)
{
    const RelnKind *const kind = reln_kind_of(dtype);

    return kind ? kind->code : "unknown";
}

double reln_array_precision(const RelnArray *array)
{
    const RelnKind *kind = NULL;

    if (array)
        kind = array->stored ? reln_kind_named(array->stored) : reln_kind_of(array->dtype);
    return kind ? kind->precision : 0x1p-53;
}

/* ---- the dictionary ----------------------------------------------------------------------------------------- */

typedef struct Reader {
    RelnCtx *ctx;
    const char *what;
    bool any_kind;
    const char *start, *p, *end;
} Reader;

static RelnStatus fail_here(const Reader *r, const char *wanted)
{
    if (r->p == r->end)
        return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: header ends where %s is wanted", r->what,
                         wanted);
    return reln_fail(
        r->ctx, RELN_ERR_FORMAT, "%s: header has '%s' (0x%02x) at byte %td where %s is wanted",
        r->what, reln_quote(r->p, 1).text, (unsigned)(unsigned char)*r->p, r->p - r->start, wanted);
}

static void skip_space(Reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

static bool accept(Reader *r, char c)
{
    skip_space(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static RelnStatus expect(Reader *r, char c)
{
    const char wanted[] = {'\'', c, '\'', '\0'};

    return accept(r, c) ? RELN_OK : fail_here(r, wanted);
}

/* Reads 'text' or "text". No known name needs an escape, so a backslash is refused. */
static RelnStatus read_string(Reader *r, const char *wanted, const char **text, size_t *length)
{
    const char mark = accept(r, '\'') ? '\'' : accept(r, '"') ? '"' : '\0';

    if (!mark)
        return fail_here(r, wanted);
    *text = r->p;
    while (r->p < r->end && *r->p != mark && *r->p != '\\' && *r->p != '\n')
        r->p++;
    *length = (size_t)(r->p - *text);
    if (r->p == r->end || *r->p != mark)
        return fail_here(r, "a closing quote");
    r->p++;
    return RELN_OK;
}

static bool word_is(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* Returns the family of an unsupported dtype, by its letter. */
static const char *family(const char *text, size_t length)
{
    static const struct {
        char letter;
        const char *name;
    } families[] = {
        {'f', "float of another size"},
        {'i', "integer of another size"},
        {'u', "unsigned integer"},
        {'b', "boolean"},
        {'c', "complex"},
        {'O', "python object"},
        {'S', "byte string"},
        {'a', "byte string"},
        {'U', "text"},
        {'V', "raw bytes"},
        {'M', "date"},
        {'m', "time span"},
    };

    for (size_t i = 0; length > 1 && i < sizeof families / sizeof families[0]; i++)
        if (text[1] == families[i].letter)
            return families[i].name;
    return "unknown";
}

/* A type of one byte has no byte order; NumPy writes '|' for it. */
static const RelnKind *find_kind(const char *text, size_t length, bool any)
{
    if (length != 3 || !strchr("<>|", text[0]) || text[0] == '\0')
        return NULL;
    for (int i = 0; i < N_KINDS; i++)
        if (memcmp(text + 1, kinds[i].code, 2) == 0 && (text[0] != '|' || kinds[i].width == 1))
            return any || kinds[i].dtype != RELN_DEFAULT ? &kinds[i] : NULL;
    return NULL;
}

static RelnStatus read_descr(Reader *r, Header *h)
{
    const char *text = NULL;
    size_t length = 0;

    if (accept(r, '['))
        return reln_fail(r->ctx, RELN_ERR_UNSUPPORTED, "%s: arrays of structures are not read",
                         r->what);
    RELN_TRY(read_string(r, "a dtype in quotes", &text, &length));
    h->kind = find_kind(text, length, r->any_kind);
    if (h->kind) {
        h->array.dtype = RELN_F64;
        h->array.stored = h->kind->code;
        h->big_endian = text[0] == '>';
        return RELN_OK;
    }
    return reln_fail(r->ctx, RELN_ERR_UNSUPPORTED,
                     "%s: dtype '%s' (%s) is not read; wanted f4, f8, i4 or i8%s after '<' or '>'",
                     r->what, reln_quote(text, length).text, family(text, length),
                     r->any_kind ? ", f2, b1, i1, u1, i2, u2, u4 or u8" : "");
}

static RelnStatus read_order(Reader *r, Header *h)
{
    const char *text;

    skip_space(r);
    text = r->p;
    while (r->p < r->end && ((*r->p >= 'A' && *r->p <= 'Z') || (*r->p >= 'a' && *r->p <= 'z')))
        r->p++;
    h->fortran = word_is(text, (size_t)(r->p - text), "True");
    if (h->fortran || word_is(text, (size_t)(r->p - text), "False"))
        return RELN_OK;
    r->p = text;
    return fail_here(r, "True or False");
}

/* Reads decimal digits without a sign or a leading zero, which Python does not write. */
static RelnStatus read_extent(Reader *r, ptrdiff_t *out)
{
    const char *start;

    skip_space(r);
    start = r->p;
    for (*out = 0; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *r->p - '0', out))
            return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: shape has a number above %td", r->what,
                             PTRDIFF_MAX);
    if (r->p == start)
        return fail_here(r, "a number or ')'");
    if (*start == '0' && r->p - start > 1)
        return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: shape has a number with a leading zero",
                         r->what);
    return RELN_OK;
}

/* (), (3,), (3, 2) or (3, 2,). */
static RelnStatus read_shape(Reader *r, Header *h)
{
    RELN_TRY(expect(r, '('));
    for (h->array.rank = 0; !accept(r, ')');) {
        if (h->array.rank == RELN_ARRAY_MAX_RANK)
            return reln_fail(r->ctx, RELN_ERR_UNSUPPORTED, "%s: shape has more than %d axes",
                             r->what, RELN_ARRAY_MAX_RANK);
        RELN_TRY(read_extent(r, &h->array.dims[h->array.rank++]));
        if (accept(r, ','))
            continue;
        if (h->array.rank == 1)
            return fail_here(r, "','"); /* (3) is a number, not a tuple */
        return expect(r, ')');
    }
    return RELN_OK;
}

static const struct {
    const char *key;
    RelnStatus (*read)(Reader *, Header *);
} entries[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
enum { N_ENTRIES = sizeof entries / sizeof entries[0] };

static RelnStatus read_entry(Reader *r, Header *h, bool *seen)
{
    const char *key = NULL;
    size_t length = 0;
    int i = 0;

    RELN_TRY(read_string(r, "a key in quotes", &key, &length));
    while (i < N_ENTRIES && !word_is(key, length, entries[i].key))
        i++;
    if (i == N_ENTRIES || seen[i])
        return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: header has the key '%s' %s", r->what,
                         reln_quote(key, length).text,
                         i == N_ENTRIES ? "that is unknown" : "twice");
    seen[i] = true;
    RELN_TRY(expect(r, ':'));
    return entries[i].read(r, h);
}

static RelnStatus read_dictionary(Reader *r, Header *h)
{
    bool seen[N_ENTRIES] = {false};

    RELN_TRY(expect(r, '{'));
    while (!accept(r, '}')) {
        RELN_TRY(read_entry(r, h, seen));
        if (accept(r, ','))
            continue;
        RELN_TRY(expect(r, '}'));
        break;
    }
    skip_space(r);
    if (r->p != r->end)
        return fail_here(r, "nothing more");
    for (int i = 0; i < N_ENTRIES; i++)
        if (!seen[i])
            return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: header lacks the key '%s'", r->what,
                             entries[i].key);
    return RELN_OK;
}

/* ---- the header --------------------------------------------------------------------------------------------- */

/* Finds the dictionary: *begin .. h->data. n_all is the size of the whole file, n_bytes the part of it in
 * memory. */
static RelnStatus read_lead(RelnCtx *ctx, const char *what, const unsigned char *b, size_t n_bytes,
                            size_t n_all, size_t *begin, Header *h)
{
    size_t length, lead;

    if (n_bytes < LEAD_1)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %zu bytes, too short for a .npy file", what,
                         n_all);
    if (memcmp(b, "\x93NUMPY", 6) != 0)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: not a .npy file (it begins with '%s')", what,
                         reln_quote((const char *)b, 6).text);
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return reln_fail(ctx, RELN_ERR_UNSUPPORTED,
                         "%s: .npy version %d.%d; wanted 1.0, 2.0 or 3.0", what, b[6], b[7]);
    lead = b[6] == 1 ? LEAD_1 : LEAD_2;
    if (n_bytes < lead)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %zu bytes, too short for a .npy file", what,
                         n_all);
    length = b[8] | (size_t)b[9] << 8;
    if (lead == LEAD_2)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > MAX_HEADER || length > n_all - lead)
        return reln_fail(ctx, RELN_ERR_FORMAT,
                         "%s: header of %zu bytes; %zu bytes follow and %d are allowed", what,
                         length, n_all - lead, (int)MAX_HEADER);
    *begin = lead;
    h->data = lead + length;
    return RELN_OK;
}

static void shape_text(const RelnArray *a, char text[SHAPE_TEXT])
{
    int at = snprintf(text, SHAPE_TEXT, "(");

    for (int d = 0; d < a->rank; d++)
        at += snprintf(text + at, SHAPE_TEXT - (size_t)at, d + 1 < a->rank ? "%td, " : "%td",
                       a->dims[d]);
    snprintf(text + at, SHAPE_TEXT - (size_t)at, a->rank == 1 ? ",)" : ")");
}

/* Checks that the numbers fill the file to its last byte. */
static RelnStatus check_extent(RelnCtx *ctx, const char *what, size_t n_all, Header *h)
{
    const size_t rest = n_all - h->data;
    char shape[SHAPE_TEXT];
    size_t wanted = 0;

    shape_text(&h->array, shape);
    h->count = reln_array_count(&h->array);
    if (h->count < 0 || __builtin_mul_overflow((size_t)h->count, h->kind->width, &wanted))
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: shape %s is too large; %zu bytes follow", what,
                         shape, rest);
    if (wanted != rest)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: shape %s of %s needs %zu bytes, %zu follow",
                         what, shape, h->kind->code, wanted, rest);
    return RELN_OK;
}

RelnStatus reln_npy_read_header(RelnCtx *ctx, const char *what, const unsigned char *bytes,
                                size_t n_bytes, size_t n_all, bool any_kind, RelnNpyHeader *h)
{
    Reader r = {ctx, what, any_kind, NULL, NULL, NULL};
    size_t begin = 0;

    memset(h, 0, sizeof *h);
    RELN_TRY(read_lead(ctx, what, bytes, n_bytes, n_all, &begin, h));
    r.start = r.p = (const char *)bytes + begin;
    r.end = (const char *)bytes + h->data;
    RELN_TRY(read_dictionary(&r, h));
    return check_extent(ctx, what, n_all, h);
}

/* ---- the numbers -------------------------------------------------------------------------------------------- */

/* Combines bytes by value, so the byte order of the machine does not matter. */
static uint64_t word(const unsigned char *p, size_t width, bool big_endian)
{
    uint64_t u = 0;

    for (size_t i = 0; i < width; i++)
        u = u << 8 | p[big_endian ? i : width - 1 - i];
    return u;
}

/* IEEE half precision: sign, 5 bits of exponent, 10 of fraction. */
static double from_half(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double fraction = (double)(bits & 1023), sign = bits >> 15 ? -1 : 1;

    if (exponent == 31)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

/* Converts a two's complement of 1 to 8 bytes. */
static double from_signed(uint64_t bits, size_t width)
{
    const uint64_t sign = (uint64_t)0x80 << 8 * ((width - 1) & 7);

    return bits & sign ? -(double)((~bits + 1) & (sign | (sign - 1))) : (double)bits;
}

static double from_float(uint64_t bits, size_t width)
{
    const uint32_t low = (uint32_t)bits;
    float f4;
    double f8;

    if (width == 2)
        return from_half(bits);
    memcpy(&f4, &low, sizeof f4);
    memcpy(&f8, &bits, sizeof f8);
    return width == 4 ? (double)f4 : f8;
}

static double number(const RelnKind *kind, bool big_endian, const unsigned char *p)
{
    const uint64_t bits = word(p, kind->width, big_endian);

    switch (kind->code[0]) {
    case 'f':
        return from_float(bits, kind->width);
    case 'i':
        return from_signed(bits, kind->width);
    case 'b':
        return bits != 0;
    default:
        return (double)bits;
    }
}

static bool machine_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

void reln_file_order(unsigned char *bytes, size_t n_bytes, size_t width)
{
    if (!machine_is_big_endian())
        return;
    for (size_t i = 0; i < n_bytes; i += width)
        for (size_t b = 0; b < width / 2; b++) {
            const unsigned char kept = bytes[i + b];

            bytes[i + b] = bytes[i + width - 1 - b];
            bytes[i + width - 1 - b] = kept;
        }
}

/* Returns whether the bytes are in this machine's order and of a native type, as in most files. */
static bool is_native(const RelnKind *kind, bool big_endian)
{
    return kind->code[0] == 'f' && kind->width >= 4 && big_endian == machine_is_big_endian();
}

static void convert_floats(const unsigned char *bytes, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        float value;

        memcpy(&value, bytes + 4 * i, sizeof value);
        out[i] = (double)value;
    }
}

void reln_kind_convert(const RelnKind *kind, bool big_endian, const unsigned char *bytes,
                       size_t count, double *out)
{
    if (is_native(kind, big_endian) && kind->width == 4)
        convert_floats(bytes, count, out);
    else if (is_native(kind, big_endian) && count > 0)
        memcpy(out, bytes, 8 * count);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = number(kind, big_endian, bytes + i * kind->width);
}

/* A Cursor is the position of the next number of the file: the next one in row-major order, or for Fortran
 * order an odometer whose first wheel is the fastest. */
typedef struct Cursor {
    const Header *h;
    ptrdiff_t at;
    ptrdiff_t index[RELN_ARRAY_MAX_RANK], stride[RELN_ARRAY_MAX_RANK];
} Cursor;

static Cursor cursor_start(const Header *h)
{
    Cursor c = {h, 0, {0}, {0}};
    ptrdiff_t stride = 1;

    /* an empty array has no positions, and the product of its other dims is meaningless */
    for (int d = h->count > 0 ? h->array.rank : 0; d-- > 0; stride *= h->array.dims[d])
        c.stride[d] = stride;
    return c;
}

static void cursor_step(Cursor *c)
{
    if (!c->h->fortran) {
        c->at++;
        return;
    }
    for (int d = 0; d < c->h->array.rank; d++) {
        c->at += c->stride[d];
        if (++c->index[d] < c->h->array.dims[d])
            return;
        c->at -= c->index[d] * c->stride[d];
        c->index[d] = 0;
    }
}

static void convert(Cursor *c, const unsigned char *bytes, size_t n_bytes, double *values)
{
    const size_t width = c->h->kind->width;

    for (size_t i = 0; i < n_bytes; i += width, cursor_step(c))
        values[c->at] = number(c->h->kind, c->h->big_endian, bytes + i);
}

static RelnStatus array_init(RelnCtx *ctx, const Header *h, RelnArray *out)
{
    double *values = reln_alloc(ctx, (size_t)h->count, sizeof *values);

    if (!values)
        return RELN_ERR_NOMEM;
    *out = h->array;
    out->f64 = values;
    out->owner = ctx;
    return RELN_OK;
}

/* ---- reading and writing ------------------------------------------------------------------------------------ */

RelnStatus reln_npy_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                          RelnArray *out)
{
    const unsigned char *b = bytes;
    Header h;
    Cursor c;

    RELN_NEED(ctx && (bytes || n_bytes == 0) && what && out, reln_null(ctx, __func__));
    *out = (RelnArray){0};
    RELN_TRY(reln_npy_read_header(ctx, what, b, n_bytes, n_bytes, false, &h));
    RELN_TRY(array_init(ctx, &h, out));
    c = cursor_start(&h);
    convert(&c, b + h.data, n_bytes - h.data, out->f64);
    return RELN_OK;
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

/* Reads and converts chunk by chunk, so that memory holds the values and one chunk, never a second copy of
 * the file. */
static RelnStatus load(RelnCtx *ctx, const RelnSource *source, unsigned char *buffer,
                       RelnArray *out)
{
    const size_t n_all = source->n_bytes, n_head = at_most(n_all, LEAD_2 + MAX_HEADER);
    Header h;
    Cursor c;

    RELN_TRY(reln_source_read(source, 0, n_head, buffer));
    RELN_TRY(reln_npy_read_header(ctx, source->name, buffer, n_head, n_all, false, &h));
    RELN_TRY(array_init(ctx, &h, out));
    c = cursor_start(&h);
    for (size_t offset = h.data, n; offset < n_all; offset += n) {
        n = at_most(n_all - offset, CHUNK);
        RELN_TRY(reln_source_read(source, offset, n, buffer));
        convert(&c, buffer, n, out->f64);
    }
    return RELN_OK;
}

RelnStatus reln_npy_load(RelnCtx *ctx, const char *path, RelnArray *out)
{
    unsigned char *buffer;
    RelnSource source;
    RelnStatus status = RELN_ERR_NOMEM;

    RELN_NEED(ctx && path && out, reln_null(ctx, __func__));
    *out = (RelnArray){0};
    RELN_TRY(reln_source_open(ctx, path, &source));
    buffer = reln_alloc(ctx, LEAD_2 + MAX_HEADER, 1);
    if (buffer)
        status = load(ctx, &source, buffer, out);
    if (status != RELN_OK)
        reln_array_clear(out);
    reln_free(ctx, buffer);
    reln_source_close(&source);
    return status;
}

/* Writes the complete header, padded so that the numbers begin at a multiple of 64. */
size_t reln_npy_make_header(const RelnArray *array, unsigned char header[RELN_NPY_OWN_HEADER])
{
    char shape[SHAPE_TEXT], text[SHAPE_TEXT + 80];
    size_t length, all;

    shape_text(array, shape);
    length = (size_t)snprintf(text, sizeof text,
                              "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }",
                              reln_dtype_text(array->dtype), shape);
    all = (LEAD_1 + length + 1 + 63) / 64 * 64;
    memset(header, ' ', all);
    memcpy(header, "\x93NUMPY\1", 8); /* the second byte of the version is the terminating zero */
    header[8] = (unsigned char)((all - LEAD_1) & 0xff);
    header[9] = (unsigned char)((all - LEAD_1) >> 8);
    memcpy(header + LEAD_1, text, length);
    header[all - 1] = '\n';
    return all;
}

RelnStatus reln_array_check(RelnCtx *ctx, const char *path, const RelnArray *a, size_t *n_bytes)
{
    const RelnKind *const kind = reln_kind_of(a->dtype);
    const RelnQuote name = reln_quote(a->name ? a->name : "", a->name ? strlen(a->name) : 0);
    ptrdiff_t count;

    if (!kind || a->rank < 0 || a->rank > RELN_ARRAY_MAX_RANK)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: array '%s' has dtype %s and rank %d", path,
                         name.text, reln_dtype_text(a->dtype), a->rank);
    for (int d = 0; d < a->rank; d++)
        if (a->dims[d] < 0)
            return reln_fail(ctx, RELN_ERR_ARG, "%s: axis %d of array '%s' has extent %td", path, d,
                             name.text, a->dims[d]);
    count = reln_array_count(a);
    if (count < 0 || count > PTRDIFF_MAX / 8 || (count > 0 && !a->values))
        return reln_fail(ctx, RELN_ERR_ARG, "%s: array '%s' is too large or has no values", path,
                         name.text);
    *n_bytes = (size_t)count * kind->width;
    return RELN_OK;
}

RelnStatus reln_array_pass(const RelnArray *a,
                           RelnStatus (*take)(void *, const unsigned char *, size_t), void *self)
{
    const size_t width = reln_kind_of(a->dtype)->width, all = (size_t)reln_array_count(a) * width;
    const unsigned char *const values = a->values;
    unsigned char turned[4096]; /* a multiple of every width */

    for (size_t at = 0, n; at < all; at += n) {
        n = at_most(all - at, machine_is_big_endian() ? sizeof turned : CHUNK);
        if (machine_is_big_endian()) {
            memcpy(turned, values + at, n);
            reln_file_order(turned, n, width);
        }
        RELN_TRY(take(self, machine_is_big_endian() ? turned : values + at, n));
    }
    return RELN_OK;
}

RelnStatus reln_array_to_file(void *file, const unsigned char *bytes, size_t n_bytes)
{
    return reln_replace_write(file, bytes, n_bytes);
}

RelnStatus reln_npy_save(RelnCtx *ctx, const char *path, const RelnArray *array)
{
    unsigned char header[RELN_NPY_OWN_HEADER];
    size_t n_bytes;
    RelnReplace file;
    RelnStatus status;

    RELN_NEED(ctx && path && array, reln_null(ctx, __func__));
    RELN_TRY(reln_array_check(ctx, path, array, &n_bytes));
    RELN_TRY(reln_replace_begin(ctx, path, &file));
    status = reln_replace_write(&file, header, reln_npy_make_header(array, header));
    if (status == RELN_OK)
        status = reln_array_pass(array, reln_array_to_file, &file);
    if (status == RELN_OK)
        return reln_replace_commit(&file);
    reln_replace_abort(&file);
    return status;
}
