/* text.h -- a growing string, escaping, and failures that are remembered until the result is asked for. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdarg.h>

#include "base/base.h"
#include "base/text.h"
#include "base/utf8.h"

/* A RelnFault holds the first failure of a page or a table, with its message. */
typedef struct RelnFault {
    RelnCtx *ctx;
    RelnStatus status;
    char message[256];
} RelnFault;

void reln_fault(RelnFault *fault, RelnStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* If block is NULL, remembers the context's failure; returns block. */
void *reln_fault_check(RelnFault *fault, void *block);
/* Returns the remembered failure and records it in the context. */
RelnStatus reln_fault_report(const RelnFault *fault);

/* A RelnMarkup is a text of a page or a table. After a failure nothing more is added. */
typedef struct RelnMarkup {
    RelnFault *fault;
    RelnText body;
} RelnMarkup;

void reln_markup_init(RelnMarkup *text, RelnFault *fault);
void reln_markup_clear(RelnMarkup *text);
void reln_markup_put(RelnMarkup *text, const char *bytes, size_t n);
void reln_markup_add(RelnMarkup *text, const char *string);
/* Formats in the C locale. */
void reln_markup_addf(RelnMarkup *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void reln_markup_addv(RelnMarkup *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void reln_markup_repeat(RelnMarkup *text, const char *string, ptrdiff_t count);

/* How a text is escaped. */
typedef enum RelnEscape { RELN_ESCAPE_HTML, RELN_ESCAPE_MARKDOWN, RELN_ESCAPE_PLAIN } RelnEscape;
void reln_markup_escape(RelnMarkup *text, RelnEscape how, const char *string);
ptrdiff_t reln_escaped_width(RelnEscape how, const char *string); /* on a terminal */

/* Writes a coordinate with at most two decimals and no trailing zeros. Beyond +-1e6 it is cut: it is outside
 * of every plot. */
void reln_markup_fixed(RelnMarkup *text, double value);

/* Format "%.*f" and "%.*e" with a decimal point in every locale. */
void reln_format_fixed(char *buf, size_t size, double value, int decimals);
void reln_format_exponent(char *buf, size_t size, double value, int decimals);

#endif
