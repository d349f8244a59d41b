/* fuzz_npy.c -- any bytes at all, read as a .npy array: an array that fits them, or one line of refusal. */
#include <stdlib.h>
#include <string.h>

#include "reln/base.h"
#include "reln/io.h"

/* Memory may grow with the bytes given, never with the numbers they claim: the values (at most twice the bytes, f4 to
 * double), and the rounding of blocks. */
typedef struct Budget {
    size_t left;
} Budget;

static void *budget_alloc(void *user, size_t n_bytes)
{
    Budget *budget = user;

    if (n_bytes > budget->left)
        abort();
    budget->left -= n_bytes;
    return aligned_alloc(RELN_ALIGN, n_bytes);
}

static void budget_release(void *user, void *block)
{
    (void)user;
    free(block);
}

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_array(const RelnArray *a, size_t n_bytes)
{
    ptrdiff_t count = 1;
    volatile double seen;

    require(a->rank >= 0 && a->rank <= RELN_ARRAY_MAX_RANK && a->values);
    for (int d = 0; d < a->rank; d++)
        count = a->dims[d] == 0 || count == 0 ? 0 : count * a->dims[d];
    require(count == a->count && (size_t)count <= n_bytes / 4);
    for (ptrdiff_t i = 0; i < a->count; i++) /* every value is there to be read */
        seen = a->values[i];
    (void)seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Budget budget = {2 * size + 4096};
    const RelnAllocator allocator = {budget_alloc, budget_release, &budget};
    RelnCtx *ctx = NULL;
    RelnArray array;
    RelnStatus status;

    require(reln_ctx_create(&allocator, &ctx) == RELN_OK);
    status = reln_npy_parse(ctx, data, size, "input", &array);
    if (status == RELN_OK) {
        check_array(&array, size);
    } else {
        require(status == RELN_ERR_FORMAT || status == RELN_ERR_UNSUPPORTED);
        require(reln_ctx_error(ctx)[0] != '\0' && !strchr(reln_ctx_error(ctx), '\n'));
    }
    reln_array_clear(&array);
    require(reln_ctx_live_blocks(ctx) == 0);
    reln_ctx_destroy(ctx);
    return 0;
}
