/* text.h -- text functions that every reader and writer of files needs. */
#ifndef IO_TEXT_H
#define IO_TEXT_H

#include "base/base.h"
#include "base/text.h"
#include "base/utf8.h"

/* A RelnQuote is text of a file in a form fit for a message: printable and short. */
typedef struct RelnQuote {
    char text[28];
} RelnQuote;

RelnQuote reln_quote(const char *text, size_t length);

/* Returns the length of the number at p in JSON's grammar; with `loose`, a leading + or '.' and a trailing
 * '.' are allowed. 0 when there is no number. */
size_t reln_number_length(const char *p, const char *end, bool loose);
/* Returns the value of a number in that grammar, which ends at a 0 or at the first character that is not part
 * of it; the locale does not matter. May be infinite. */
double reln_number_parse(const char *text);
/* Writes the fewest digits that read back as the same double, which must be finite; the locale does not
 * matter. */
enum { RELN_NUMBER_TEXT = 32 };
void reln_number_write(double value, char text[RELN_NUMBER_TEXT]);

/* Writes the words in quotes, with JSON's escapes for characters that YAML or JSON would refuse or change. */
void reln_text_put_quoted(RelnText *text, const char *words);

#endif
