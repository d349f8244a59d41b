/* format.h -- numbers as text with a decimal point, whatever locale the host program has set. The one home of it: what
 * is written to files and pages goes through here; messages for people may have the locale's comma. */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

/* snprintf() and vsnprintf() in the C locale. */
int reln_format(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int reln_vformat(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* The C locale for this thread, which is there without an allocation, until the locale it had comes back. */
locale_t reln_c_locale_enter(void);
void reln_c_locale_leave(locale_t before);

#endif
