/* text.c -- a growing string, escaping, and remembered failures. */
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "kit/report.h"

/* ---- failures ------------------------------------------------------------------------------------------------ */

void reln_fault(RelnFault *fault, RelnStatus status, const char *format, ...)
{
    va_list args;

    if (fault->status != RELN_OK)
        return;
    fault->status = status;
    va_start(args, format);
    vsnprintf(fault->message, sizeof fault->message, format, args);
    va_end(args);
}

void *reln_fault_check(RelnFault *fault, void *block)
{
    if (!block)
        reln_fault(fault, RELN_ERR_NOMEM, "%s", reln_ctx_error(fault->ctx));
    return block;
}

RelnStatus reln_fault_report(const RelnFault *fault)
{
    if (fault->status == RELN_OK)
        return RELN_OK;
    return reln_fail(fault->ctx, fault->status, "%s", fault->message);
}

/* ---- the string ---------------------------------------------------------------------------------------------- */

void reln_markup_init(RelnMarkup *text, RelnFault *fault)
{
    *text = (RelnMarkup){.fault = fault};
    reln_text_init(&text->body, fault->ctx);
}

void reln_markup_clear(RelnMarkup *text)
{
    reln_text_clear(&text->body);
}

static bool reserve(RelnMarkup *text, size_t n)
{
    if (text->fault->status != RELN_OK)
        return false;
    return reln_text_reserve(&text->body, n) || reln_fault_check(text->fault, NULL);
}

void reln_markup_put(RelnMarkup *text, const char *bytes, size_t n)
{
    if (reserve(text, n))
        reln_text_put(&text->body, bytes, n);
}

void reln_markup_add(RelnMarkup *text, const char *string)
{
    reln_markup_put(text, string, strlen(string));
}

void reln_markup_addv(RelnMarkup *text, const char *format, va_list args)
{
    va_list again;
    int length;

    va_copy(again, args);
    length = reln_vformat(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        reln_fault(text->fault, RELN_ERR_ARG, "format \"%.60s\" cannot be written", format);
    else if (reserve(text, (size_t)length)) {
        reln_vformat(text->body.bytes + text->body.n, (size_t)length + 1, format, args);
        text->body.n += (size_t)length;
    }
}

void reln_markup_addf(RelnMarkup *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    reln_markup_addv(text, format, args);
    va_end(args);
}

void reln_markup_repeat(RelnMarkup *text, const char *string, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++)
        reln_markup_add(text, string);
}

/* ---- escaping ------------------------------------------------------------------------------------------------ */

static const char *in_html(uint32_t code)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static const char *in_markdown(uint32_t code)
{
    static const char *const escaped[] = {"\\|", "\\*", "\\_", "\\`", "\\[",
                                          "\\]", "\\<", "\\>", "\\\\"};

    for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
        if (code == (unsigned char)escaped[i][1])
            return escaped[i];
    return NULL;
}

/* Replaces control characters of both blocks; a page keeps line ends and tabs, a table has one line. U+FFFE
 * and U+FFFF are not allowed in XML. */
static const char *replaced(RelnEscape how, uint32_t code)
{
    if (code == '\n' || code == '\t')
        return how == RELN_ESCAPE_HTML ? NULL : " ";
    if (code < 0x20 || (code >= 0x7F && code < 0xA0) || (code & 0xFFFE) == 0xFFFE || code == 0xFFFD)
        return "\xEF\xBF\xBD";
    if (how == RELN_ESCAPE_PLAIN)
        return NULL;
    return how == RELN_ESCAPE_HTML ? in_html(code) : in_markdown(code);
}

void reln_markup_escape(RelnMarkup *text, RelnEscape how, const char *string)
{
    int n;

    for (const char *s = string; *s; s += n) {
        const char *other = replaced(how, reln_utf8_next(s, &n));

        if (other)
            reln_markup_add(text, other);
        else
            reln_markup_put(text, s, (size_t)n);
    }
}

ptrdiff_t reln_escaped_width(RelnEscape how, const char *string)
{
    ptrdiff_t width = 0;
    int n;

    for (const char *s = string; *s; s += n) {
        const char *other = replaced(how, reln_utf8_next(s, &n));
        char one[5] = {0};

        memcpy(one, s, (size_t)n);
        width += reln_report_width(other ? other : one);
    }
    return width;
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

void reln_markup_fixed(RelnMarkup *text, double value)
{
    const long hundredths = lround(100.0 * fmin(fmax(value, -1e6), 1e6));
    const long size = hundredths < 0 ? -hundredths : hundredths;
    const char *sign = hundredths < 0 ? "-" : "";

    if (size % 100 == 0)
        reln_markup_addf(text, "%s%ld", sign, size / 100);
    else if (size % 10 == 0)
        reln_markup_addf(text, "%s%ld.%ld", sign, size / 100, size / 10 % 10);
    else
        reln_markup_addf(text, "%s%ld.%02ld", sign, size / 100, size % 100);
}

void reln_format_fixed(char *buf, size_t size, double value, int decimals)
{
    reln_format(buf, size, "%.*f", decimals, value);
}

void reln_format_exponent(char *buf, size_t size, double value, int decimals)
{
    reln_format(buf, size, "%.*e", decimals, value);
}
