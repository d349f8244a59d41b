/* sort.h -- sorting in place: n log n for any input, no memory. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>

/* n items of `size` bytes, ascending by compare, which is like qsort's; equal ones in any order. */
enum { RELN_SORT_MAX = 64 }; /* bytes of an item */
void reln_sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
