/* format.c -- see format.h. */
#include "base/format.h"

#include <stdio.h>

locale_t reln_c_locale_enter(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    return c ? uselocale(c) : (locale_t)0;
}

void reln_c_locale_leave(locale_t before)
{
    if (before)
        freelocale(uselocale(before));
}

int reln_vformat(char *out, size_t size, const char *format, va_list args)
{
    const locale_t before = reln_c_locale_enter();
    const int n = vsnprintf(out, size, format, args);

    reln_c_locale_leave(before);
    return n;
}

int reln_format(char *out, size_t size, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = reln_vformat(out, size, format, args);
    va_end(args);
    return n;
}
