/* sort.c -- heap sort. What is sorted comes from files, and must not be able to make it slow; the C library's qsort may
 * ask for memory past the context. */
#include "io/sort.h"

/* Heap order: no child is above its parent. */
static void sift(const void **items, size_t n, size_t at,
                 int (*compare)(const void *, const void *))
{
    const void *const item = items[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && compare(items[child], items[child + 1]) < 0)
            child++;
        if (compare(items[child], item) <= 0)
            break;
        items[at] = items[child];
    }
    items[at] = item;
}

void reln_sort(const void **items, size_t n, int (*compare)(const void *, const void *))
{
    for (size_t i = n / 2; i-- > 0;)
        sift(items, n, i, compare);
    for (size_t i = n; i-- > 1;) {
        const void *const largest = items[0];

        items[0] = items[i];
        items[i] = largest;
        sift(items, i, 0, compare);
    }
}
