/* ply.c -- splats in .ply files: a header of text, then the numbers of each element as text or bytes.
 *
 *     ply
 *     format binary_little_endian 1.0
 *     element vertex 4096
 *     property float x
 *     ...
 *     end_header
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/pieces.h"
#include "io/text.h"

enum { LINE = 1024, MOST_PROPERTIES = 512, MOST_HEADER_LINES = 4096 };

typedef enum Encoding { TEXT, LITTLE, BIG } Encoding;

/* Number types, in both spellings. */
static const struct Type {
    const char *name, *other;
    int bytes;
    bool is_float, is_signed;
} types[] = {
    {"char", "int8", 1, false, true},    {"uchar", "uint8", 1, false, false},
    {"short", "int16", 2, false, true},  {"ushort", "uint16", 2, false, false},
    {"int", "int32", 4, false, true},    {"uint", "uint32", 4, false, false},
    {"float", "float32", 4, true, true}, {"double", "float64", 8, true, true},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

/* A Property is a property of the element `vertex`. */
typedef struct Property {
    const struct Type *type;
    int place; /* position in a row; -1: ignored */
} Property;

struct PlyLayout {
    Encoding encoding;
    int n, row_bytes;
    Property property[MOST_PROPERTIES];
    uint32_t seen; /* bit set of the positions of a row that properties fill */
};

static const char *const names[RELN_SPLAT] = {"x",       "y",       "z",      "opacity", "scale_0",
                                              "scale_1", "scale_2", "rot_0",  "rot_1",   "rot_2",
                                              "rot_3",   "f_dc_0",  "f_dc_1", "f_dc_2"};

static RelnStatus bad(const RelnSplatFile *f, const char *line, const char *wanted)
{
    return reln_fail(f->pieces.ctx, RELN_ERR_FORMAT, "%s: header line '%s'; wanted %s",
                     f->pieces.name, reln_quote(line, strlen(line)).text, wanted);
}

static const struct Type *type_named(const char *word)
{
    for (int i = 0; i < N_TYPES; i++)
        if (strcmp(word, types[i].name) == 0 || strcmp(word, types[i].other) == 0)
            return &types[i];
    return NULL;
}

/* Returns the word at *p, terminated by a 0; "" at the end of the line. */
static char *word_of(char **p)
{
    char *start = *p + strspn(*p, " \t");

    *p = start + strcspn(start, " \t");
    if (**p)
        *(*p)++ = '\0';
    return start;
}

/* ---- header -------------------------------------------------------------------------------------------------------- */

/* A Header is the state while a header is read. */
typedef struct Header {
    RelnSplatFile *f;
    bool format, vertex, inside;   /* seen so far; `inside`: the current element is `vertex` */
    bool behind;                   /* an element after `vertex`, which is not read */
    bool list;                     /* an element before `vertex` has a list */
    uint64_t before, count, bytes; /* bytes of elements before; items and bytes of the current one */
} Header;

static RelnStatus read_format(Header *h, char *rest, const char *line)
{
    static const char *const words[] = {
        [TEXT] = "ascii", [LITTLE] = "binary_little_endian", [BIG] = "binary_big_endian"};
    static const char *const shown[] = {[TEXT] = "ply, text",
                                        [LITTLE] = "ply, binary little-endian",
                                        [BIG] = "ply, binary big-endian"};
    const char *word = word_of(&rest);

    for (int i = TEXT; i <= BIG && !h->format; i++)
        if (strcmp(word, words[i]) == 0 && strcmp(word_of(&rest), "1.0") == 0) {
            h->f->layout->encoding = (Encoding)i;
            h->f->info.format = shown[i];
            h->format = true;
            return RELN_OK;
        }
    return bad(h->f, line,
               "one of ascii, binary_little_endian and binary_big_endian, version 1.0, once");
}

/* Adds the bytes of the element that ended, if it comes before `vertex`. */
static RelnStatus end_element(Header *h)
{
    Pieces *p = &h->f->pieces;
    const bool text = h->f->layout->encoding == TEXT;

    if (h->vertex || h->count == 0)
        return RELN_OK;
    if (text || h->list)
        return reln_fail(p->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: an element before `vertex` is %s; wanted `vertex` first", p->name,
                         text ? "text" : "a list");
    if (h->bytes > 0 && h->count > (p->n_bytes - h->before) / h->bytes)
        return reln_fail(p->ctx, RELN_ERR_FORMAT, "%s: %llu items do not fit %zu bytes", p->name,
                         (unsigned long long)h->count, p->n_bytes);
    h->before += h->count * h->bytes;
    return RELN_OK;
}

static RelnStatus begin_element(Header *h, char *rest, const char *line)
{
    const char *name = word_of(&rest), *number = word_of(&rest);
    const bool is_vertex = strcmp(name, "vertex") == 0;
    char *end = NULL;
    unsigned long long count = strtoull(number, &end, 10);

    if (number[0] < '0' || number[0] > '9' || *end != '\0' || count > (1ULL << 48) ||
        (is_vertex && h->vertex))
        return bad(h->f, line, "an element, once, with its number of items");
    RELN_TRY(end_element(h));
    h->behind = h->vertex;
    h->inside = is_vertex;
    h->vertex = h->vertex || is_vertex;
    h->count = count;
    h->bytes = 0;
    h->list = false;
    if (is_vertex)
        h->f->info.count = (ptrdiff_t)count;
    return RELN_OK;
}

static int place_of(const char *name)
{
    for (int i = 0; i < RELN_SPLAT; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

static RelnStatus add_property(Header *h, const struct Type *type, const char *name,
                               const char *line)
{
    struct PlyLayout *l = h->f->layout;
    const int place = place_of(name);

    if (l->n == MOST_PROPERTIES || (place >= 0 && (l->seen >> place & 1)))
        return bad(h->f, line, "at most 512 properties, each once");
    l->property[l->n++] = (Property){type, place};
    l->row_bytes += type->bytes;
    if (place >= 0)
        l->seen |= 1U << place;
    h->f->info.rest += strncmp(name, "f_rest_", 7) == 0;
    return RELN_OK;
}

static RelnStatus read_property(Header *h, char *rest, const char *line)
{
    const char *word = word_of(&rest);
    const struct Type *type = type_named(word);
    const bool list = strcmp(word, "list") == 0;

    if ((!h->vertex && h->count == 0 && !h->inside && !h->format) || (!type && !list))
        return bad(h->f, line, "a property of a known number type");
    if (h->inside && list)
        return reln_fail(h->f->pieces.ctx, RELN_ERR_UNSUPPORTED,
                         "%s: the element `vertex` has a list; wanted numbers", h->f->pieces.name);
    if (h->inside)
        return add_property(h, type, word_of(&rest), line);
    h->list = h->list || list;
    h->bytes += type ? (uint64_t)type->bytes : 0;
    return RELN_OK;
}

/* Checks that all properties of a splat are present, and that all splats fit the file. */
static RelnStatus check_header(Header *h)
{
    RelnSplatFile *f = h->f;
    const struct PlyLayout *l = f->layout;
    Pieces *p = &f->pieces;
    size_t least;

    RELN_TRY(end_element(h));
    if (!h->format || !h->vertex)
        return reln_fail(p->ctx, RELN_ERR_FORMAT, "%s: header without a %s", p->name,
                         h->format ? "`vertex` element" : "format");
    for (int i = 0; i < RELN_SPLAT; i++)
        if (!(l->seen >> i & 1))
            return reln_fail(p->ctx, RELN_ERR_FORMAT,
                             "%s: no property `%s`; wanted those of Gaussian splats: x y z opacity "
                             "scale_0..2 rot_0..3 f_dc_0..2",
                             p->name, names[i]);
    RELN_TRY(pieces_skip(p, h->before));
    least = l->encoding == TEXT ? 2 * (size_t)l->n - 1 : (size_t)l->row_bytes;
    if ((size_t)f->info.count > (p->n_bytes - p->at) / least)
        return reln_fail(
            p->ctx, RELN_ERR_FORMAT,
            "%s: %td splats of at least %zu bytes do not fit the %zu bytes that follow", p->name,
            f->info.count, least, p->n_bytes - p->at);
    return RELN_OK;
}

static RelnStatus read_header(Header *h)
{
    char line[LINE], copy[LINE];

    RELN_TRY(pieces_line(&h->f->pieces, sizeof line, line));
    if (strcmp(line, "ply") != 0)
        return bad(h->f, line, "`ply`");
    for (int i = 0; i < MOST_HEADER_LINES; i++) {
        char *rest = line;
        const char *word;

        RELN_TRY(pieces_line(&h->f->pieces, sizeof line, line));
        memcpy(copy, line, sizeof copy);
        word = word_of(&rest);
        if (strcmp(word, "end_header") == 0)
            return check_header(h);
        if (strcmp(word, "format") == 0)
            RELN_TRY(read_format(h, rest, copy));
        else if (strcmp(word, "element") == 0)
            RELN_TRY(begin_element(h, rest, copy));
        else if (strcmp(word, "property") == 0)
            RELN_TRY(read_property(h, rest, copy));
        else if (strcmp(word, "comment") != 0 && strcmp(word, "obj_info") != 0 && word[0])
            return bad(h->f, copy, "format, element, property, comment or end_header");
    }
    return reln_fail(h->f->pieces.ctx, RELN_ERR_FORMAT, "%s: a header of more than %d lines",
                     h->f->pieces.name, MOST_HEADER_LINES);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

static double number_at(const struct Type *type, Encoding encoding, const uint8_t *bytes)
{
    uint64_t bits = 0;
    double d;
    float s;

    for (int i = 0; i < type->bytes; i++)
        bits |= (uint64_t)bytes[encoding == BIG ? type->bytes - 1 - i : i] << (8 * i);
    if (type->is_float && type->bytes == 8) {
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    if (type->is_float) {
        const uint32_t half = (uint32_t)bits;
        memcpy(&s, &half, sizeof s);
        return (double)s;
    }
    if (type->is_signed && bits >> (8 * type->bytes - 1))
        return (double)bits - ldexp(1, 8 * type->bytes);
    return (double)bits;
}

static RelnStatus read_row(RelnSplatFile *f, double *row)
{
    const struct PlyLayout *l = f->layout;
    const uint8_t *bytes = NULL;
    double unused;

    if (l->encoding != TEXT)
        RELN_TRY(pieces_take(&f->pieces, (size_t)l->row_bytes, &bytes));
    for (int i = 0; i < l->n; i++) {
        double *to = l->property[i].place >= 0 ? &row[l->property[i].place] : &unused;

        if (l->encoding == TEXT) {
            RELN_TRY(pieces_number(&f->pieces, to));
        } else {
            *to = number_at(l->property[i].type, l->encoding, bytes);
            bytes += l->property[i].type->bytes;
        }
    }
    return splat_finish(f, true, row);
}

RelnStatus ply_begin(RelnSplatFile *f)
{
    Header h = {.f = f};

    f->layout = reln_alloc(f->pieces.ctx, 1, sizeof *f->layout);
    f->read = read_row;
    return f->layout ? read_header(&h) : RELN_ERR_NOMEM;
}
