/* text.c -- see text.h. */
#include "io/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

RelnQuote reln_quote(const char *text, size_t length)
{
    RelnQuote q = {{0}};
    const size_t room = sizeof q.text - 4, n = length < room ? length : room;

    for (size_t i = 0; i < n; i++)
        q.text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    if (length > room)
        memcpy(q.text + n, "...", 4);
    return q;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Skips an exponent: 'e', a sign if any, digits; or nothing. */
static const char *skip_exponent(const char *p, const char *end)
{
    const char *q = p, *digits;

    if (q == end || (*q != 'e' && *q != 'E'))
        return p;
    if (++q < end && (*q == '+' || *q == '-'))
        q++;
    digits = q;
    q = skip_digits(q, end);
    return q > digits ? q : p;
}

size_t reln_number_length(const char *p, const char *end, bool loose)
{
    const char *const start = p, *whole, *fraction;
    bool leads, trails;

    if (p < end && (*p == '-' || (loose && *p == '+')))
        p++;
    whole = p;
    p = skip_digits(p, end);
    leads = p > whole;
    if (p - whole > 1 && *whole == '0')
        return 0;
    if (p < end && *p == '.') {
        fraction = p + 1;
        trails = skip_digits(fraction, end) > fraction;
        if ((leads && trails) || (loose && (leads || trails)))
            p = skip_digits(fraction, end);
        leads = leads || (loose && trails);
    }
    return leads ? (size_t)(skip_exponent(p, end) - start) : 0;
}

double reln_number_parse(const char *text)
{
    const locale_t before = reln_c_locale_enter();
    const double value = strtod(text, NULL);

    reln_c_locale_leave(before);
    return value;
}

/* A decimal of at most 15 digits survives the way to double and back, and %g drops its zeros; so fewer than 15 need
 * to be tried only for subnormal numbers, which have less precision. */
void reln_number_write(double value, char text[RELN_NUMBER_TEXT])
{
    const locale_t before = reln_c_locale_enter();

    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, RELN_NUMBER_TEXT, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    reln_c_locale_leave(before);
}

/* ---- quotes ------------------------------------------------------------------------------------------------------ */

/* Returns whether a character must be escaped: control characters, and characters that YAML readers take for
 * line breaks or marks, or drop. */
static bool must_escape(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '"' || c == '\\' || c == 0x2028 ||
           c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static void put_escape(RelnText *text, uint32_t c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *const at = c < 0x80 ? strchr(plain, (int)c) : NULL;
    char escape[8];

    if (at)
        snprintf(escape, sizeof escape, "\\%c", letters[at - plain]);
    else
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c & 0xffff);
    reln_text_puts(text, escape);
}

void reln_text_put_quoted(RelnText *text, const char *words)
{
    const char *const end = words + strlen(words);

    reln_text_put(text, "\"", 1);
    for (size_t n; words < end; words += n) {
        n = reln_utf8_length(words, end);
        if (n == 0) { /* invalid UTF-8 is written as U+FFFD, the replacement character */
            reln_text_puts(text, "\xef\xbf\xbd");
            n = 1;
        } else if (must_escape(reln_utf8_decode(words, n)))
            put_escape(text, reln_utf8_decode(words, n));
        else
            reln_text_put(text, words, n);
    }
    reln_text_put(text, "\"", 1);
}
