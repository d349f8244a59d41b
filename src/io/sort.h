/* sort.h -- sorting pointers in place: n log n for any input, no memory. */
#ifndef IO_SORT_H
#define IO_SORT_H

#include <stddef.h>

/* Ascending by compare, which is like strcmp's; equal ones in any order. */
void reln_sort(const void **items, size_t n, int (*compare)(const void *, const void *));

#endif
