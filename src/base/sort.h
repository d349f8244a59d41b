/* sort.h -- sorting in place: n log n for any input, without extra memory. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>

/* Sorts n items of `size` bytes in ascending order. `compare` is like qsort's; the order of equal items is
 * unspecified. */
enum { RELN_SORT_MAX = 64 }; /* largest item in bytes */
void reln_sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
