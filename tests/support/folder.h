/* folder.h -- a context, and a separate folder under /tmp, for every test of a group.
 *
 *     cmocka_unit_test_setup_teardown(files_are_read, folder_set_up, folder_tear_down)
 *
 *     static void files_are_read(void **state)
 *     {
 *         Folder *f = *state;
 *         ... reln_npy_load(f->ctx, path_in(f, "a.npy"), &a) ... unlink(path_in(f, "a.npy"));
 *
 * A test fails if it leaves memory allocated in the context, or a file in the folder. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include "support/support.h"

typedef struct Folder {
    RelnCtx *ctx;
    char directory[64];
} Folder;

int folder_set_up(void **state);
int folder_tear_down(void **state);

/* Returns the path of a file in the folder, valid until the fourth call after this one. */
const char *path_in(const Folder *f, const char *name);

#endif
