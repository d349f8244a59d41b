/* fuzz_npy.c -- reads any bytes as a .npy array: the result is a valid array or one line of refusal. */
#include "fuzz.h"

static void check_array(const RelnArray *a, size_t n_bytes)
{
    ptrdiff_t count = 1;
    volatile double seen;

    require(a->rank >= 0 && a->rank <= RELN_ARRAY_MAX_RANK && a->values);
    for (int d = 0; d < a->rank; d++)
        count = a->dims[d] == 0 || count == 0 ? 0 : count * a->dims[d];
    require(count == reln_array_count(a) && (size_t)count <= n_bytes / 4);
    for (ptrdiff_t i = 0; i < count; i++) /* every value can be read */
        seen = a->f64[i];
    (void)seen;
}

/* Memory: the values (at most twice the bytes, f4 to double), and the rounding of blocks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 2 * size + 4096);
    RelnArray array;
    const RelnStatus status = reln_npy_parse(ctx, data, size, "input", &array);

    if (status == RELN_OK)
        check_array(&array, size);
    else
        fuzz_refused(ctx, status);
    reln_array_clear(&array);
    fuzz_end(ctx);
    return 0;
}
