/* fuzz_safetensors.c -- reads any bytes as .safetensors: the result is arrays that lie inside the file, or
 * one line of refusal. */
#include "fuzz.h"

static size_t check_tensor(const RelnTensors *t, int i)
{
    const RelnArray *const a = reln_tensors_get(t, i);
    const volatile unsigned char *p = a->values;
    size_t n_bytes = a->dtype == RELN_F64 || a->dtype == RELN_I64 ? 8 : 4;
    volatile unsigned char seen;

    require(reln_tensors_find(t, a->name) == a && a->rank >= 0 && a->rank <= RELN_ARRAY_MAX_RANK);
    require((uintptr_t)a->values % n_bytes == 0);
    for (int d = 0; d < a->rank; d++)
        n_bytes = a->dims[d] == 0 || n_bytes == 0 ? 0 : n_bytes * (size_t)a->dims[d];
    for (size_t k = 0; k < n_bytes; k++) /* every byte can be read */
        seen = p[k];
    (void)seen;
    return n_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 64 * size + 65536);
    RelnTensors *t = NULL;
    const RelnStatus status = reln_tensors_parse(ctx, data, size, "input", &t);
    size_t n_bytes = 0;

    if (status == RELN_OK) {
        for (int i = 0; i < reln_tensors_count(t); i++)
            n_bytes += check_tensor(t, i);
        require(n_bytes < size);
        for (int i = 0; i < reln_tensors_metadata(t)->n; i++)
            require(reln_tensors_meta(t, reln_tensors_metadata(t)->items[i].key) ==
                    reln_tensors_metadata(t)->items[i].value);
    } else
        fuzz_refused(ctx, status);
    reln_tensors_destroy(t);
    fuzz_end(ctx);
    return 0;
}
