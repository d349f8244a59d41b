/* number.c -- formats numbers for readers. */
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/report.h"

/* Returns the exponent of the first digit after rounding to so many digits: 9.996 with three digits gives 1
 * (10.0). */
static int exponent_of(double value, int digits)
{
    char buf[RELN_NUMBER_TEXT];

    reln_format_exponent(buf, sizeof buf, value, digits - 1);
    return atoi(strchr(buf, 'e') + 1);
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* Below 0.001 and from 100,000 on, numbers are written with a power of ten instead of many zeros. */
static bool is_plain(int exponent)
{
    return exponent >= -3 && exponent < 5;
}

static char *special(char *buf, double value)
{
    const char *const word = isnan(value) ? "nan" : value > 0 ? "inf" : value < 0 ? "-inf" : "0";

    snprintf(buf, RELN_NUMBER_TEXT, "%s", word);
    return buf;
}

static char *append(char *buf, const char *unit)
{
    const size_t n = strlen(buf);

    snprintf(buf + n, RELN_NUMBER_TEXT - n, "%s", unit);
    return buf;
}

/* Writes value = m 10^exponent as "m" with these decimals and "e" exponent; exponent 0 as "m" alone. */
static void scaled(char *buf, size_t size, double value, int exponent, int decimals)
{
    const int e = exponent / 2; /* in two steps, because 10^-320 is not a normal number */
    const double half = pow(10.0, e), rest = pow(10.0, exponent - e);
    const size_t n_used =
        (reln_format_fixed(buf, size, value / half / rest, decimals), strlen(buf));

    if (exponent != 0)
        snprintf(buf + n_used, size - n_used, "e%d", exponent);
}

char *reln_report_number(char buf[RELN_NUMBER_TEXT], double value, int digits)
{
    const int n = clamp(digits, 1, 17);
    int e;

    if (!isfinite(value) || value == 0.0)
        return special(buf, value);
    e = exponent_of(value, n);
    if (is_plain(e)) {
        reln_format_fixed(buf, RELN_NUMBER_TEXT, value, clamp(n - 1 - e, 0, 20));
        return buf;
    }
    /* the digits of %e are correctly rounded; only its exponent is too long */
    reln_format_exponent(buf, RELN_NUMBER_TEXT, value, n - 1);
    snprintf(strchr(buf, 'e'), 8, "e%d", e);
    return buf;
}

char *reln_report_mean(char buf[RELN_NUMBER_TEXT], double mean, double spread, int digits)
{
    const int n = clamp(digits, 1, 6);
    const double size = fabs(spread);
    char left[RELN_NUMBER_TEXT / 2], right[RELN_NUMBER_TEXT / 2 - 4];
    int e, decimals;

    if (!isfinite(mean) || !isfinite(spread))
        return reln_report_number(buf, mean, n + 1);
    if (size == 0.0) {
        reln_report_number(buf, mean, n + 1);
        return append(buf, " ± 0");
    }
    e = exponent_of(fmax(fabs(mean), size), n + 1);
    e = is_plain(e) ? 0 : e;
    decimals = clamp(n - 1 - exponent_of(size, n) + e, 0, 12);
    scaled(left, sizeof left, mean, e, decimals);
    scaled(right, sizeof right, size, e, decimals);
    snprintf(buf, RELN_NUMBER_TEXT, "%s ± %s", left, right);
    return buf;
}

char *reln_report_count(char buf[RELN_NUMBER_TEXT], int64_t count)
{
    char digits[24];
    const char *d = digits;
    char *p = buf;
    size_t n;

    snprintf(digits, sizeof digits, "%lld", (long long)count);
    if (*d == '-')
        *p++ = *d++;
    n = strlen(d);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *p++ = ',';
        *p++ = d[i];
    }
    *p = '\0';
    return buf;
}

/* Writes whole units and the next smaller unit: "1 h 23 min". */
static char *two_units(char *buf, double seconds, double big, const char *big_name, double small,
                       const char *small_name)
{
    const double total = round(seconds / small), ratio = big / small;
    const double whole = floor(total / ratio);

    snprintf(buf, RELN_NUMBER_TEXT, "%.0f %s %.0f %s", whole, big_name, total - whole * ratio,
             small_name);
    return buf;
}

char *reln_report_duration(char buf[RELN_NUMBER_TEXT], double seconds)
{
    static const struct {
        double size;
        const char *name;
    } units[] = {{1.0, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"}};
    const double size = fabs(seconds);
    size_t u = 0;

    if (!isfinite(seconds) || size == 0.0)
        return append(reln_report_number(buf, seconds, 3), " s");
    if (size >= 359940.0) /* 99 h 59 min */
        return two_units(buf, seconds, 86400.0, "d", 3600.0, "h");
    if (size >= 3599.5)
        return two_units(buf, seconds, 3600.0, "h", 60.0, "min");
    if (size >= 99.95)
        return two_units(buf, seconds, 60.0, "min", 1.0, "s");
    while (u < 3 && size < 0.9995 * units[u].size)
        u++;
    return append(reln_report_number(buf, seconds / units[u].size, 3), units[u].name);
}

/* ---- widths -------------------------------------------------------------------------------------------------- */

typedef struct Range {
    uint32_t first, last;
} Range;

static bool is_in(const Range *ranges, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

static int width_of(uint32_t code)
{
    static const Range none[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x1AB0, 0x1AFF},
                                 {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                                 {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
    static const Range wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0xA4CF},
                                 {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},  {0xFE30, 0xFE6F},
                                 {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                                 {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

    if (is_in(none, sizeof none / sizeof *none, code))
        return 0;
    return is_in(wide, sizeof wide / sizeof *wide, code) ? 2 : 1;
}

ptrdiff_t reln_report_width(const char *text)
{
    ptrdiff_t width = 0;
    int n;

    for (; *text; text += n)
        width += width_of(reln_utf8_next(text, &n));
    return width;
}
