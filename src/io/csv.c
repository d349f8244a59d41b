/* csv.c -- see csv.h. */
#include "io/csv.h"

#include <math.h>
#include <string.h>

#include "io/file.h"
#include "io/text.h"

/* A Line is one line, without its end. */
typedef struct Line {
    const char *at, *end;
    ptrdiff_t number; /* from 1 */
} Line;

typedef struct Reader {
    RelnCtx *ctx;
    const char *name;
    const char *at, *end;
    ptrdiff_t number;
} Reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **at, const char **end)
{
    while (*at < *end && is_blank(**at))
        (*at)++;
    while (*end > *at && is_blank((*end)[-1]))
        (*end)--;
}

/* Reads the next line that is not empty. */
static bool next_line(Reader *r, Line *line)
{
    while (r->at < r->end) {
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));

        r->number++;
        *line = (Line){r->at, stop ? stop : r->end, r->number};
        r->at = stop ? stop + 1 : r->end;
        trim(&line->at, &line->end);
        if (line->at < line->end)
            return true;
    }
    return false;
}

/* Reads the next field of a line. Fields are separated by commas if the line has one, by blanks otherwise. */
static bool next_field(Line *line, bool commas, Line *field)
{
    const char *stop = line->at;

    if (!line->at)
        return false;
    while (stop < line->end && (commas ? *stop != ',' : !is_blank(*stop)))
        stop++;
    *field = (Line){line->at, stop, line->number};
    if (stop == line->end) {
        line->at = NULL;
    } else {
        line->at = stop + 1;
        while (!commas && line->at < line->end && is_blank(*line->at))
            line->at++;
    }
    trim(&field->at, &field->end);
    return true;
}

static bool has_comma(const Line *line)
{
    return memchr(line->at, ',', (size_t)(line->end - line->at)) != NULL;
}

static int count_fields(Line line)
{
    const bool commas = has_comma(&line);
    Line field;
    int n = 0;

    while (n <= RELN_CSV_MOST_COLUMNS && next_field(&line, commas, &field))
        n++;
    return n;
}

static bool is_word(const Line *field, const char *word)
{
    size_t i = 0;

    for (; word[i] && field->at + i < field->end; i++)
        if ((field->at[i] | 0x20) != word[i])
            return false;
    return !word[i] && field->at + i == field->end;
}

/* The bytes are followed by a 0, so that a number at their end is terminated. */
static bool parse_number(const Line *field, double *value)
{
    const size_t n = (size_t)(field->end - field->at);
    Line rest = *field;
    double sign = 1;

    if (n > 0 && reln_number_length(field->at, field->end, true) == n) {
        *value = reln_number_parse(field->at);
        return true;
    }
    if (n > 0 && (*field->at == '-' || *field->at == '+')) {
        sign = *field->at == '-' ? -1 : 1;
        rest.at++;
    }
    *value = is_word(&rest, "nan") ? (double)NAN : sign * HUGE_VAL;
    return is_word(&rest, "nan") || is_word(&rest, "inf");
}

static bool is_row(Line line)
{
    const bool commas = has_comma(&line);
    Line field;
    double value;

    return next_field(&line, commas, &field) && parse_number(&field, &value);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static RelnStatus take_row(const Reader *r, Line line, ptrdiff_t row, RelnCsv *t)
{
    const int n = count_fields(line);
    const bool commas = has_comma(&line);
    Line field;

    if (n != t->n_columns)
        return reln_fail(r->ctx, RELN_ERR_FORMAT,
                         "%s: line %td has %d columns, the first row has %d", r->name, line.number,
                         n, t->n_columns);
    for (int c = 0; c < n && next_field(&line, commas, &field); c++)
        if (!parse_number(&field, &t->values[c * t->n_rows + row]))
            return reln_fail(
                r->ctx, RELN_ERR_FORMAT, "%s: line %td: '%s' in column %d ('%s'), wanted a number",
                r->name, field.number, reln_quote(field.at, (size_t)(field.end - field.at)).text,
                c + 1, reln_quote(t->names[c], strlen(t->names[c])).text);
    t->lines[row] = field.number;
    return RELN_OK;
}

/* Returns the name in a field, without its unit. */
static const char *name_of(RelnCsv *t, const Line *field)
{
    const char *stop = field->at;

    while (stop < field->end && !is_blank(*stop))
        stop++;
    return reln_arena_printf(&t->arena, "%.*s", (int)(stop - field->at), field->at);
}

static RelnStatus take_names(const Reader *r, Line line, RelnCsv *t)
{
    const bool commas = line.at && has_comma(&line);
    Line field;

    t->names = reln_arena_alloc(&t->arena, (size_t)t->n_columns, sizeof *t->names);
    if (!t->names)
        return RELN_ERR_NOMEM;
    for (int c = 0; c < t->n_columns; c++) {
        t->names[c] = line.at && next_field(&line, commas, &field) && field.at < field.end
                          ? name_of(t, &field)
                          : reln_arena_printf(&t->arena, "column%d", c);
        if (!t->names[c])
            return RELN_ERR_NOMEM;
        if (!reln_utf8_valid(t->names[c], strlen(t->names[c])))
            return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: the name of column %d is not UTF-8",
                             r->name, c + 1);
        for (int d = 0; d < c; d++)
            if (strcmp(t->names[c], t->names[d]) == 0)
                return reln_fail(r->ctx, RELN_ERR_FORMAT,
                                 "%s: columns %d and %d are both called '%s'", r->name, d + 1,
                                 c + 1, reln_quote(t->names[c], strlen(t->names[c])).text);
    }
    return RELN_OK;
}

/* Counts rows, and finds the first one and the line of names. */
static RelnStatus survey(Reader r, RelnCsv *t, Line *names)
{
    Line line, comment = {0}, first = {0};

    *names = (Line){0};
    while (next_line(&r, &line)) {
        if (*line.at == '#') {
            line.at++;
            trim(&line.at, &line.end);
            if (t->n_rows == 0)
                comment = line;
        } else if (t->n_rows == 0 && !names->at && !is_row(line)) {
            *names = line;
        } else if (t->n_rows++ == 0) {
            first = line;
        }
    }
    if (t->n_rows == 0)
        return reln_fail(r.ctx, RELN_ERR_FORMAT, "%s: no row of numbers", r.name);
    t->n_columns = count_fields(first);
    if (t->n_columns > RELN_CSV_MOST_COLUMNS)
        return reln_fail(r.ctx, RELN_ERR_UNSUPPORTED, "%s: more than %d columns", r.name,
                         (int)RELN_CSV_MOST_COLUMNS);
    if (names->at && count_fields(*names) != t->n_columns)
        return reln_fail(r.ctx, RELN_ERR_FORMAT,
                         "%s: line %td has %d names, the first row has %d columns", r.name,
                         names->number, count_fields(*names), t->n_columns);
    if (!names->at && comment.at && comment.at < comment.end &&
        count_fields(comment) == t->n_columns)
        *names = comment;
    return RELN_OK;
}

static RelnStatus read_all(const Reader *start, RelnCsv *t)
{
    Reader r = *start;
    Line line, names;
    ptrdiff_t row = 0;

    RELN_TRY(survey(r, t, &names));
    RELN_TRY(take_names(&r, names, t));
    t->values = reln_alloc(t->ctx, (size_t)t->n_rows * (size_t)t->n_columns, sizeof *t->values);
    t->lines = reln_alloc(t->ctx, (size_t)t->n_rows, sizeof *t->lines);
    if (!t->values || !t->lines)
        return RELN_ERR_NOMEM;
    while (next_line(&r, &line))
        if (*line.at != '#' && line.number != names.number)
            RELN_TRY(take_row(&r, line, row++, t));
    return RELN_OK;
}

RelnStatus reln_csv_parse(RelnCtx *ctx, const char *bytes, size_t n_bytes, const char *what,
                          RelnCsv *out)
{
    char *copy = reln_alloc_raw(ctx, n_bytes + 1, 1);
    RelnStatus status;

    *out = (RelnCsv){.ctx = ctx};
    reln_arena_init(&out->arena, ctx);
    if (!copy)
        return RELN_ERR_NOMEM;
    memcpy(copy, bytes, n_bytes);
    copy[n_bytes] = '\0';
    if (memchr(copy, '\0', n_bytes))
        status = reln_fail(ctx, RELN_ERR_FORMAT, "%s: not a text: it has a byte 0", what);
    else
        status = read_all(&(Reader){ctx, what, copy, copy + n_bytes, 0}, out);
    reln_free(ctx, copy);
    return status;
}

RelnStatus reln_csv_load(RelnCtx *ctx, const char *path, RelnCsv *out)
{
    RelnSource source;
    RelnStatus status;
    char *bytes;

    *out = (RelnCsv){.ctx = ctx};
    reln_arena_init(&out->arena, ctx);
    RELN_TRY(reln_source_open(ctx, path, &source));
    bytes = reln_alloc_raw(ctx, source.n_bytes + 1, 1);
    status = bytes ? reln_source_read(&source, 0, source.n_bytes, bytes) : RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = reln_csv_parse(ctx, bytes, source.n_bytes, source.name, out);
    reln_free(ctx, bytes);
    reln_source_close(&source);
    return status;
}

void reln_csv_clear(RelnCsv *t)
{
    if (!t->ctx)
        return;
    reln_free(t->ctx, t->values);
    reln_free(t->ctx, t->lines);
    reln_arena_clear(&t->arena);
    *t = (RelnCsv){0};
}

const double *reln_csv_column(const RelnCsv *t, const char *name)
{
    for (int c = 0; c < t->n_columns; c++)
        if (strcmp(t->names[c], name) == 0)
            return t->values + c * t->n_rows;
    return NULL;
}

/* ---- vectors ------------------------------------------------------------------------------------------------------ */

/* Returns whether a column is the component `letter` of the vector that is named by the first `length` letters of `base`. */
static bool is_component(const char *name, const char *base, size_t length, char letter)
{
    return strlen(name) == length + 2 && memcmp(name, base, length + 1) == 0 &&
           name[length + 1] == letter;
}

int reln_csv_vector(const RelnCsv *t, int first, int *length)
{
    static const char *const orders[] = {"xyz", "wxyz", "txyz", "Exyz"};
    const char *base = t->names[first];
    const size_t n = strlen(base);

    if (n < 3 || (base[n - 2] != '_' && base[n - 2] != '.'))
        return 0;
    *length = (int)n - 2;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        int c = 0;

        while (orders[o][c] && first + c < t->n_columns &&
               is_component(t->names[first + c], base, n - 2, orders[o][c]))
            c++;
        if (!orders[o][c])
            return c;
    }
    return 0;
}
