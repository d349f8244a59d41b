/* fill.c -- prints help texts in lines of a limited number of columns. */
#include <string.h>

#include "cli/cli.h"

enum { TERMINAL = 80, DEEP = 24, SHALLOW = 8 };

/* A Filler prints words; a word that does not fit begins a new line at column `hang`. */
typedef struct Filler {
    FILE *out;
    int columns; /* of a line */
    int column, hang;
    bool blank; /* whether a blank is due before the next word */
} Filler;

/* Returns the columns of a UTF-8 text: its bytes that do not continue a character. */
static int columns_of(const char *text, size_t n)
{
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += (text[i] & 0xC0) != 0x80;
    return count;
}

static void new_line(Filler *f)
{
    fprintf(f->out, "\n%*s", f->hang, "");
    f->column = f->hang;
    f->blank = false;
}

/* Returns how much of a word that is longer than a line stays on this line: up to the last bar of a|b|c that fits; 0: all. */
static size_t part_of_word(const Filler *f, const char *word, size_t n)
{
    const int room = f->columns - f->column - f->blank;
    size_t at = 0;

    for (size_t i = 0; i < n && columns_of(word, i + 1) <= room; i++)
        if (word[i] == '|')
            at = i + 1;
    return at;
}

static void put_word(Filler *f, const char *word, size_t n)
{
    const int width = columns_of(word, n);
    const size_t part = f->hang + width > f->columns ? part_of_word(f, word, n) : 0;

    if (part > 0 && part < n) {
        fprintf(f->out, "%s%.*s", f->blank ? " " : "", (int)part, word);
        new_line(f);
        put_word(f, word + part, n - part);
        return;
    }
    if (f->blank && f->column + 1 + width > f->columns)
        new_line(f);
    fprintf(f->out, "%s%.*s", f->blank ? " " : "", (int)n, word);
    f->column += width + f->blank;
    f->blank = true;
}

/* Returns the length of the first word. Brackets stay together: "[--seeds N]" is a word. */
static size_t word_length(const char *text, const char *end)
{
    const char *at = text;
    int depth = 0;

    for (; at < end && (depth > 0 || *at != ' '); at++)
        depth += (*at == '[') - (*at == ']');
    return (size_t)(at - text);
}

static void put_words(Filler *f, const char *text, const char *end)
{
    while (text < end) {
        const size_t n = word_length(text, end);

        if (n > 0)
            put_word(f, text, n);
        text += n;
        while (text < end && *text == ' ')
            text++;
    }
}

/* Returns where the last part of an indented line begins, behind two blanks or more; NULL: it has one part. */
static const char *last_part(const char *line, const char *end)
{
    for (const char *at = end - 1; at > line + 2; at--)
        if (at[-1] == ' ' && at[-2] == ' ' && at[0] != ' ') {
            const char *before = at - 2;

            while (before > line && before[-1] == ' ')
                before--;
            return before > line ? at : NULL;
        }
    return NULL;
}

/* Prints a line whose columns have a meaning: an example and its explanation, an option and its help. Only the last part is
 * broken, and it continues below its beginning. */
static void put_indented(FILE *out, int columns, const char *line, const char *end)
{
    const char *part = last_part(line, end);
    Filler f = {.out = out, .columns = columns};

    if (columns_of(line, (size_t)(end - line)) <= columns) {
        fprintf(out, "%.*s\n", (int)(end - line), line);
        return;
    }
    if (!part) {
        part = line + strspn(line, " ");
        f.hang = (int)(part - line) + (part - line > SHALLOW ? 0 : 4);
    }
    f.column = columns_of(line, (size_t)(part - line));
    fprintf(out, "%.*s", (int)(part - line), line);
    if (f.hang == 0)
        f.hang = f.column;
    if (f.column > columns - DEEP) {
        f.hang = SHALLOW;
        new_line(&f);
    }
    put_words(&f, part, end);
    fputs("\n", out);
}

void cli_fill_to(FILE *out, int columns, const char *text)
{
    Filler f = {.out = out, .columns = columns};
    bool open = false;

    while (*text) {
        const char *const end = text + strcspn(text, "\n");

        if (open && (end == text || *text == ' ')) {
            fputs("\n", out);
            open = false;
        }
        if (end == text) {
            fputs("\n", out);
        } else if (*text == ' ') {
            put_indented(out, columns, text, end);
        } else {
            if (!open)
                f = (Filler){.out = out, .columns = columns};
            put_words(&f, text, end);
            open = true;
        }
        text = *end ? end + 1 : end;
    }
    if (open)
        fputs("\n", out);
}

void cli_fill(FILE *out, const char *text)
{
    cli_fill_to(out, TERMINAL, text);
}
