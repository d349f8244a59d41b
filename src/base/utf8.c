/* utf8.c -- see utf8.h. */
#include "base/utf8.h"

#include <string.h>

/* Returns the length of a character from its first byte; 0 when no character begins with this byte. */
static size_t claimed_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t reln_utf8_length(const char *p, const char *end)
{
    const size_t n = p < end ? claimed_length((unsigned char)*p) : 0;
    uint32_t c;

    if (n == 0 || (size_t)(end - p) < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 0;
    c = reln_utf8_decode(p, n);
    if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10ffff)
        return 0;
    return c >= 0xd800 && c <= 0xdfff ? 0 : n;
}

bool reln_utf8_valid(const char *text, size_t length)
{
    const char *const end = text + length;

    for (size_t n; text < end; text += n)
        if ((n = reln_utf8_length(text, end)) == 0)
            return false;
    return true;
}

uint32_t reln_utf8_decode(const char *p, size_t length)
{
    static const unsigned char payload[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)*p & payload[length];

    for (size_t i = 1; i < length; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

size_t reln_utf8_encode(uint32_t character, char out[4])
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(lead[n] | character);
    return n;
}

uint32_t reln_utf8_next(const char *string, int *n_bytes)
{
    const size_t n = reln_utf8_length(string, string + strnlen(string, 4));

    *n_bytes = n > 0 ? (int)n : 1;
    return n > 0 ? reln_utf8_decode(string, n) : 0xfffd;
}
