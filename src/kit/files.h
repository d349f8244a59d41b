/* files.h -- whole files, paths, folders, and a lock for a folder. */
#ifndef KIT_FILES_H
#define KIT_FILES_H

#include "reln/comm.h"
#include "reln/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a file, which is replaced whole or not at all, as by reln_npy_save(). */
RelnStatus reln_file_write(RelnCtx *ctx, const char *path, const void *bytes, size_t n_bytes);
/* Appends to a file, which is created if it is missing; when it fails nothing was added. */
RelnStatus reln_file_append(RelnCtx *ctx, const char *path, const void *bytes, size_t n_bytes);

bool reln_file_exists(const char *path);
bool reln_folder_exists(const char *path);
/* Writes the absolute form of a path, without resolving links; RELN_ERR_ARG when it does not fit. */
RelnStatus reln_path_absolute(RelnCtx *ctx, const char *path, size_t size, char *out);

/* Finds a program that belongs to the running one: beside it, where they are built; in ../libexec/reln, where they are installed; in
 * the configured folder. Returns false if it is in none of them. */
bool reln_program_find(const char *name, size_t size, char *path);

/* Creates a folder and its parents; an existing folder is fine. */
RelnStatus reln_folder_make(RelnCtx *ctx, const char *path);

/* Finds the file in a folder whose name contains `word`, the first by name if there are several; "" when
 * there is none. */
RelnStatus reln_folder_find(RelnCtx *ctx, const char *path, const char *word, size_t size,
                            char *out);

/* Locks a folder for this process: RELN_ERR_IO while another process has it. The system releases the lock
 * when the process ends. */
typedef struct RelnFolderLock RelnFolderLock;
RelnStatus reln_folder_lock(RelnCtx *ctx, const char *path, RelnFolderLock **out);
/* Checks that the locked folder is still at this path; RELN_ERR_IO otherwise. */
RelnStatus reln_folder_held(const RelnFolderLock *lock, const char *path);
void reln_folder_unlock(RelnFolderLock *lock); /* NULL is fine */

/* Removes temporary files in a folder that processes left when they died while saving. */
RelnStatus reln_folder_sweep(RelnCtx *ctx, const char *path, int *n_removed);

/* ---- archives ------------------------------------------------------------------------------------------------------ */

/* Unpacks the packed arrays of an archive that all ranks have opened: each array once on every machine, whose ranks read the same
 * temporary file. */
RelnStatus reln_archive_share(RelnArchive *archive, RelnCtx *ctx, const RelnComm *comm);
/* Returns the bytes of a row of an array in its file, unpacked. */
size_t reln_archive_row_bytes(const RelnArchive *archive, int index);
/* Returns whether an array is a column of a table that is also a component of a vector of the archive. */
bool reln_archive_is_component(const RelnArchive *archive, int index);
/* Tells the system that existing rows of an array will be read soon, so that it brings them to its cache. Rows that are windows of
 * recordings, and arrays that have not been read yet, are left alone. */
void reln_archive_expect(RelnArchive *archive, int index, ptrdiff_t first, ptrdiff_t n_rows);

#ifdef __cplusplus
}
#endif

#endif
