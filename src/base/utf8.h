/* utf8.h -- checking, decoding and writing characters of UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the number of bytes of the UTF-8 character at p (1 to 4), or 0 when it is invalid: overlong, a
 * surrogate, beyond U+10FFFF, or cut off by the end. */
size_t reln_utf8_length(const char *p, const char *end);
/* Returns whether the whole text is valid UTF-8. */
bool reln_utf8_valid(const char *text, size_t length);
/* Returns the code of the character at p, which must be valid. */
uint32_t reln_utf8_decode(const char *p, size_t length);
/* Writes a character below 0x110000 and returns the number of its bytes, 1 to 4. */
size_t reln_utf8_encode(uint32_t character, char out[4]);
/* Reads one character: returns its code and sets *n_bytes; U+FFFD and 1 for an invalid byte. The string must
 * not be at its end. */
uint32_t reln_utf8_next(const char *string, int *n_bytes);

#endif
