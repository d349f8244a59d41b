/* fuzz_splat.c -- reads any bytes as a .splat file: the result is valid splats or one line of refusal. */
#include "fuzz.h"
#include "kit/splats.h"

/* Every splat that is read is finite and has a unit quaternion. Their number is that of the file, or the file
 * is refused. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 65536);
    RelnSplatFile *file = NULL;
    RelnStatus status = reln_splat_parse(ctx, data, size, "input", &file);
    double row[RELN_SPLAT];
    ptrdiff_t n = 1, seen = 0;

    while (status == RELN_OK && n > 0) {
        status = reln_splats_read(file, 1, row, &n);
        for (int i = 0; i < RELN_SPLAT && status == RELN_OK && n > 0; i++)
            require(row[i] - row[i] == 0);
        seen += status == RELN_OK ? n : 0;
    }
    if (status == RELN_OK)
        require(seen == reln_splats_info(file).count && (size_t)seen <= size);
    else
        fuzz_refused(ctx, status);
    reln_splats_close(file);
    fuzz_end(ctx);
    return 0;
}
