/* alike.c -- see alike.h. */
#include "support/alike.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

/* Returns the length of the number that begins here: 12, 0.5, 3.1e-7. Signs are not part of it. */
static size_t number_length(const char *s)
{
    size_t n = strspn(s, "0123456789");

    if (n > 0 && s[n] == '.' && is_digit(s[n + 1]))
        n += 1 + strspn(s + n + 1, "0123456789");
    if (n > 0 && s[n] == 'e') {
        const size_t sign = s[n + 1] == '-' || s[n + 1] == '+';

        if (is_digit(s[n + 1 + sign]))
            n += 1 + sign + strspn(s + n + 1 + sign, "0123456789");
    }
    return n;
}

/* Returns one unit of the last digit of a number: 0.01 of 3.14. */
static double last_place(const char *s, size_t n)
{
    const char *point = memchr(s, '.', n), *e = memchr(s, 'e', n);
    const char *end = e ? e : s + n;

    return pow(10.0, (e ? atoi(e + 1) : 0) - (point ? (int)(end - point) - 1 : 0));
}

/* Whole numbers are counts and are equal; a fraction may lose its last zeros. */
static bool agree(const char *a, size_t n_a, const char *b, size_t n_b)
{
    const double unit = fmin(last_place(a, n_a), last_place(b, n_b));

    if (n_a == n_b && strncmp(a, b, n_a) == 0)
        return true;
    if (!memchr(a, '.', n_a) && !memchr(b, '.', n_b))
        return false;
    return fabs(strtod(a, NULL) - strtod(b, NULL)) <= 1.001 * unit;
}

bool texts_alike(const char *got, const char *want, long *at)
{
    const char *a = got, *b = want;

    while (*a && *b) {
        const size_t n_a = number_length(a), n_b = number_length(b);

        *at = (long)(a - got);
        if (n_a > 0 && n_b > 0) {
            if (!agree(a, n_a, b, n_b))
                return false;
            a += n_a, b += n_b;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    *at = (long)(a - got);
    return *a == *b;
}
