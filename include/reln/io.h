/* io.h -- arrays and other things from files and into files.
 *
 *     RelnArray basis = {0};
 *     if (reln_npy_load(ctx, "basis.npy", &basis) != RELN_OK) ...
 *     // basis.f64[(i * basis.dims[1] + j) * basis.dims[2] + k], for rank 3
 *     reln_array_clear(&basis);
 *
 * Files are not trusted: every number in one is checked against the size of the file before it is used, and the
 * worst that any file can do is to make a call fail. RELN_ERR_IO when the system says no (the message has its
 * reason), RELN_ERR_FORMAT when the bytes are not a valid array, RELN_ERR_UNSUPPORTED when they are but we do not
 * read that kind.
 */
#ifndef RELN_IO_H
#define RELN_IO_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Larger files are refused before anything is allocated. */
#define RELN_FILE_MAX_BYTES ((uint64_t)1 << 31)

RELN_API const char *reln_dtype_text(RelnDtype dtype); /* "f4", "f8", "i4", "i8" */

/* Unit round-off of the numbers as they are stored: 2^-11 for f2, 2^-24 for f4; 2^-53 otherwise, since whole numbers
 * beyond 2^53 are rounded to double. */
RELN_API double reln_array_precision(const RelnArray *array);

/* Read a .npy file, formats 1 to 3, as doubles in row-major order, whatever the file has. NaN and infinity are kept:
 * judging them is the caller's. *out is overwritten; clear it. When the call fails there is nothing to clear. */
RELN_API RelnStatus reln_npy_load(RelnCtx *ctx, const char *path, RelnArray *out);

/* The same from memory; `what` names the bytes in messages. */
RELN_API RelnStatus reln_npy_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes,
                                   const char *what, RelnArray *out);

/* Write an array; its name is not written. The file appears whole or not at all: the bytes go to a new file beside it,
 * reach the disk, and then take its name (and its mode, where there was one). */
RELN_API RelnStatus reln_npy_save(RelnCtx *ctx, const char *path, const RelnArray *array);

/* ---- named arrays in one file: .safetensors ---------------------------------------------------------------------- */

/* Texts that go with the arrays, UTF-8. The keys reln.sha256 and reln.writer are the file's own. */
typedef struct RelnMetaItem {
    const char *key, *value;
} RelnMetaItem;
typedef struct RelnMeta {
    int n;
    const RelnMetaItem *items;
} RelnMeta;

/* What every reader of such files takes, with a checksum (SHA-256 of the file) in its metadata: F32, F64, I32, I64,
 * names of 1 to 512 bytes of UTF-8, all different, a header of at most 8 MiB. meta may be NULL. Whole or not at all, as
 * reln_npy_save(). */
RELN_API RelnStatus reln_tensors_save(RelnCtx *ctx, const char *path, int n,
                                      const RelnArray *arrays, const RelnMeta *meta);
/* The same, and the file that was there stays as path.previous: a whole one is there at every moment. */
RELN_API RelnStatus reln_tensors_save_keeping(RelnCtx *ctx, const char *path, int n,
                                              const RelnArray *arrays, const RelnMeta *meta);

typedef struct RelnTensors RelnTensors;

/* Strict: names once, ranges that fill the file without gap or overlap, the checksum when there is one. A file of ours
 * without its checksum is refused. Caller destroys. */
RELN_API RelnStatus reln_tensors_load(RelnCtx *ctx, const char *path, RelnTensors **out);
/* The same from memory; `what` names the bytes in messages. */
RELN_API RelnStatus reln_tensors_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes,
                                       const char *what, RelnTensors **out);
/* When path cannot be read, path.previous; *previous tells, and reln_ctx_error() then has what was wrong with path. */
RELN_API RelnStatus reln_tensors_load_or_previous(RelnCtx *ctx, const char *path, RelnTensors **out,
                                                  bool *previous);
RELN_API void reln_tensors_destroy(RelnTensors *tensors); /* NULL is fine */

RELN_API int reln_tensors_count(const RelnTensors *tensors);
/* In the order they were saved; values are aligned for their type. */
RELN_API const RelnArray *reln_tensors_get(const RelnTensors *tensors, int index);
RELN_API const RelnArray *reln_tensors_find(const RelnTensors *tensors, const char *name);
RELN_API const char *reln_tensors_meta(const RelnTensors *tensors,
                                       const char *key); /* NULL: none */
RELN_API const RelnMeta *reln_tensors_metadata(const RelnTensors *tensors);
RELN_API bool reln_tensors_verified(const RelnTensors *tensors); /* there was a checksum */

/* ---- arrays by rows, from any file of arrays, or from memory ----------------------------------------------------- */

/* A .npz, a .npy (one array, named after the file), a folder of .npy, a .safetensors, a .h5, or a .csv (each
 * column an array, by the names of its first line):
 *
 *     RelnArchive *data = NULL;
 *     if (reln_archive_open(ctx, "data.npz", &data) != RELN_OK) ...
 *     int x = reln_archive_find(data, "X");                        // -1: not there
 *     reln_archive_range(data, x, 0, 100, values);                 // rows 0 .. 99 as doubles
 *     reln_archive_destroy(data);
 *
 * A path with *, ? or [ that names no file stands for all files that fit it ("part-*.h5"): one set of arrays, with the rows
 * of all files in the order of their names.
 *
 * Rows of the leading axis are read when they are asked for, so a file may be larger than memory. What is packed, in
 * Fortran's order or in HDF5 is unpacked when it is first asked for (large arrays to /var/tmp); after that reading
 * allocates nothing. Floats of 2, 4 and 8 bytes, integers with and without sign, and booleans (0 and 1) become doubles.
 * One thread at a time. */
typedef struct RelnArchive RelnArchive;

RELN_API RelnStatus reln_archive_open(RelnCtx *ctx, const char *path, RelnArchive **out);
/* h5 is the path of the program reln-h5; NULL: beside the running program, or in ../libexec/reln. */
RELN_API RelnStatus reln_archive_open_with(RelnCtx *ctx, const char *path, const char *h5,
                                           RelnArchive **out);
/* Arrays in memory (f32, f64, i32, i64), whose values must outlive it; `what` names them in messages. */
RELN_API RelnStatus reln_archive_from_arrays(RelnCtx *ctx, const char *what, int n,
                                             const RelnArray *arrays, RelnArchive **out);
RELN_API void reln_archive_destroy(RelnArchive *archive); /* NULL is fine */

RELN_API const char *reln_archive_name(const RelnArchive *archive); /* in messages */
RELN_API int reln_archive_count(const RelnArchive *archive);
/* Name, shape and `stored`; its values are NULL, and rows of it come as doubles. NULL: there is none. */
RELN_API const RelnArray *reln_archive_info(const RelnArchive *archive, int index);
RELN_API int reln_archive_find(const RelnArchive *archive, const char *name); /* -1: none */
/* Why there is an array of that name that cannot be read, as in "an enumeration"; NULL when there is none. */
RELN_API const char *reln_archive_unread(const RelnArchive *archive, const char *name);
/* out (n_rows, reln_array_row_size()). Rows in any order, also more than once. */
RELN_API RelnStatus reln_archive_rows(RelnArchive *archive, int index, ptrdiff_t n_rows,
                                      const ptrdiff_t *rows, double *out);
RELN_API RelnStatus reln_archive_range(RelnArchive *archive, int index, ptrdiff_t first,
                                       ptrdiff_t n_rows, double *out);

/* Arrays as .npz, stored, at most 4 GiB in all; names are non-empty UTF-8 without '/'. As reln_npy_save(). */
RELN_API RelnStatus reln_npz_save(RelnCtx *ctx, const char *path, int n, const RelnArray *arrays);

#ifdef __cplusplus
}
#endif

#endif
