/* files.h -- files and folders beside arrays: whole files, paths, and a folder that one process has for itself. */
#ifndef KIT_FILES_H
#define KIT_FILES_H

#include "reln/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whole or not at all, as reln_npy_save(). */
RelnStatus reln_file_write(RelnCtx *ctx, const char *path, const void *bytes, size_t n_bytes);
/* At the end of a file, which is made if it is not there; when it fails nothing was added. */
RelnStatus reln_file_append(RelnCtx *ctx, const char *path, const void *bytes, size_t n_bytes);

bool reln_file_exists(const char *path);
bool reln_folder_exists(const char *path);
/* The same path from the root of the file system, as it is written; RELN_ERR_ARG when it does not fit. */
RelnStatus reln_path_absolute(RelnCtx *ctx, const char *path, size_t size, char *out);

/* With every folder on the way; one that is there already is fine. */
RelnStatus reln_folder_make(RelnCtx *ctx, const char *path);

/* The path of the file in a folder whose name has `word` in it, the first by name of several; "" when there is none. */
RelnStatus reln_folder_find(RelnCtx *ctx, const char *path, const char *word, size_t size,
                            char *out);

/* A folder for oneself: RELN_ERR_IO as long as somebody has it. The system lets go of it when the process dies. */
typedef struct RelnFolderLock RelnFolderLock;
RelnStatus reln_folder_lock(RelnCtx *ctx, const char *path, RelnFolderLock **out);
/* RELN_ERR_IO when another folder is there by now, or none. */
RelnStatus reln_folder_held(const RelnFolderLock *lock, const char *path);
void reln_folder_unlock(RelnFolderLock *lock); /* NULL is fine */

/* Remove the temporary files in it that saves of processes now dead have left. */
RelnStatus reln_folder_sweep(RelnCtx *ctx, const char *path, int *n_removed);

/* ---- archives ------------------------------------------------------------------------------------------------------ */

/* Bytes that a row of an array has in its file, unpacked. */
size_t reln_archive_row_bytes(const RelnArchive *archive, int index);

#ifdef __cplusplus
}
#endif

#endif
