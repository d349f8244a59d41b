/* utf8.h -- characters of UTF-8: checked, decoded, written. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at p (1 to 4), 0 when there is no valid one: overlong, a surrogate, beyond U+10FFFF, or
 * cut off by the end. */
size_t reln_utf8_length(const char *p, const char *end);
/* Is the whole text valid UTF-8? */
bool reln_utf8_valid(const char *text, size_t length);
/* The code of the character at p, which must be valid. */
uint32_t reln_utf8_decode(const char *p, size_t length);
/* Writes a character below 0x110000; returns its bytes, 1 to 4. */
size_t reln_utf8_encode(uint32_t character, char out[4]);
/* One character of UTF-8: its code and length; U+FFFD and 1 for a byte that begins none. string is not at its end. */
uint32_t reln_utf8_next(const char *string, int *n_bytes);

#endif
