/* array.c -- functions of RelnArray: counting its numbers, and releasing the values it owns. */
#include "base/base.h"

/* Returns -1 if the product overflows. Extents of 0 count as 1 for the overflow check, so a zero does not
 * hide that the other extents are too large. */
static ptrdiff_t product(int count, const ptrdiff_t *dims)
{
    ptrdiff_t n = 1;
    bool empty = false;

    for (int d = 0; d < count; d++) {
        empty = empty || dims[d] == 0;
        if (dims[d] < 0 || (dims[d] != 0 && __builtin_mul_overflow(n, dims[d], &n)))
            return -1;
    }
    return empty ? 0 : n;
}

ptrdiff_t reln_array_count(const RelnArray *array)
{
    return array ? product(array->rank, array->dims) : 0;
}

ptrdiff_t reln_array_rows(const RelnArray *array)
{
    RELN_NEED(array, 0);

    return array->rank > 0 ? array->dims[0] : 1;
}

ptrdiff_t reln_array_row_size(const RelnArray *array)
{
    return array ? product(array->rank - 1, array->dims + 1) : 0;
}

void reln_array_clear(RelnArray *array)
{
    if (!array)
        return;
    if (array->owner)
        reln_free(array->owner, array->values);
    *array = (RelnArray){0};
}
