/* sort.c -- heap sort. Its time is n log n for any input, so no file can make it slow; and unlike the C
 * library's qsort it allocates nothing. */
#include "base/sort.h"

#include <assert.h>
#include <string.h>

typedef struct Heap {
    char *items;
    size_t size;
    int (*compare)(const void *, const void *);
} Heap;

/* Restores the heap order (no child is above its parent) below `at`. */
static void sift(const Heap *h, size_t n, size_t at)
{
    char item[RELN_SORT_MAX];

    memcpy(item, h->items + at * h->size, h->size);
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        const char *below = h->items + child * h->size;

        if (child + 1 < n && h->compare(below, below + h->size) < 0) {
            child++;
            below += h->size;
        }
        if (h->compare(below, item) <= 0)
            break;
        memcpy(h->items + at * h->size, below, h->size);
    }
    memcpy(h->items + at * h->size, item, h->size);
}

void reln_sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    const Heap h = {items, size, compare};
    char largest[RELN_SORT_MAX];

    assert(size <= RELN_SORT_MAX);
    for (size_t i = n / 2; i-- > 0;)
        sift(&h, n, i);
    for (size_t i = n; i-- > 1;) {
        memcpy(largest, h.items, size);
        memcpy(h.items, h.items + i * size, size);
        memcpy(h.items + i * size, largest, size);
        sift(&h, i, 0);
    }
}
