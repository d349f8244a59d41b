/* fuzz_npz.c -- reads any bytes as a file of arrays (.npz, .npy, .safetensors, by the first bytes): the
 * result is rows that can be read, or one line of refusal. */
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"

/* Makes a file in memory, which is opened by the name that the system gives its descriptor. */
static const char *as_file(const uint8_t *data, size_t size)
{
    static char path[40];
    static int fd = -1;

    if (fd < 0) {
        char memory[] = "/dev/shm/reln-fuzz-XXXXXX", disk[] = "/tmp/reln-fuzz-XXXXXX";

        fd = mkstemp(memory); /* thirty times as fast as on a disk */
        unlink(memory);
        if (fd < 0)
            fd = mkstemp(disk);
        unlink(disk);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    require(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    require(ftruncate(fd, (off_t)size) == 0); /* after writing: its page stays */
    return path;
}

/* Reads the rows of every array: each call returns rows or a refusal. */
static void check_array(RelnCtx *ctx, RelnArchive *archive, int index)
{
    const RelnArray *const info = reln_archive_info(archive, index);
    const ptrdiff_t last = reln_array_rows(info) - 1;
    double *row;
    RelnStatus status;

    require(info->rank >= 0 && info->rank <= RELN_ARRAY_MAX_RANK && reln_array_rows(info) >= 0);
    if (reln_array_rows(info) == 0 || reln_array_row_size(info) > 1 << 20)
        return;
    row = malloc(((size_t)reln_array_row_size(info) + 1) * sizeof *row);
    require(row != NULL);
    status = reln_archive_range(archive, index, 0, 1, row);
    if (status == RELN_OK)
        status = reln_archive_rows(archive, index, 1, &last, row);
    if (status != RELN_OK)
        fuzz_refused(ctx, status);
    free(row);
}

/* Compressed bytes may expand to 1000 times as many plus 1 MiB; reading needs further buffers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 2100 * size + ((size_t)4 << 20));
    RelnArchive *archive = NULL;
    const RelnStatus status =
        reln_archive_open_with(ctx, as_file(data, size), "/nowhere", &archive);

    if (status == RELN_OK)
        for (int i = 0; i < reln_archive_count(archive); i++)
            check_array(ctx, archive, i);
    else
        fuzz_refused(ctx, status);
    reln_archive_destroy(archive);
    fuzz_end(ctx);
    return 0;
}
