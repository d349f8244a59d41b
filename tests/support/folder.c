/* folder.c -- see folder.h. */
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int folder_set_up(void **state)
{
    Folder *f = calloc(1, sizeof *f);

    *state = f;
    if (!f)
        return -1;
    snprintf(f->directory, sizeof f->directory, "/tmp/reln-test-XXXXXX");
    return mkdtemp(f->directory) && reln_ctx_create(NULL, &f->ctx) == RELN_OK ? 0 : -1;
}

/* rmdir() refuses a folder with something in it. */
int folder_tear_down(void **state)
{
    Folder *f = *state;
    const uint64_t live = reln_ctx_live_blocks(f->ctx);
    const int left = rmdir(f->directory);

    reln_ctx_destroy(f->ctx);
    free(f);
    return live == 0 ? left : -1;
}

const char *path_in(const Folder *f, const char *name)
{
    static char paths[4][160];
    static int next;
    char *const path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", f->directory, name);
    return path;
}
