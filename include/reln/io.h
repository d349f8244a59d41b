/* io.h -- arrays from files and into files.
 *
 *     RelnArray basis = {0};
 *     if (reln_npy_load(ctx, "basis.npy", &basis) != RELN_OK) ...
 *     // basis.f64[(i * basis.dims[1] + j) * basis.dims[2] + k], for rank 3
 *     reln_array_clear(&basis);
 *
 * Files are not trusted: every number in a file is checked against the size of the file before it is used, so a bad file
 * can only make a call fail. The functions return RELN_ERR_IO when the system refuses (the message has its reason),
 * RELN_ERR_FORMAT when the bytes are not a valid array, and RELN_ERR_UNSUPPORTED when they are valid but of a kind that
 * this library does not read.
 */
#ifndef RELN_IO_H
#define RELN_IO_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Files larger than this are refused before anything is allocated. */
#define RELN_FILE_MAX_BYTES ((uint64_t)1 << 31)

RELN_API const char *reln_dtype_text(RelnDtype dtype); /* "f4", "f8", "i4", "i8" */

/* Returns the unit round-off of the numbers as stored in the file: 2^-11 for f2, 2^-24 for f4; 2^-53
 * otherwise, because integers beyond 2^53 are rounded to double. */
RELN_API double reln_array_precision(const RelnArray *array);

/* Reads a .npy file, formats 1 to 3, and converts it to doubles in row-major order. NaN and infinity are
 * kept. *out is overwritten; the caller clears it. When the call fails there is nothing to clear. */
RELN_API RelnStatus reln_npy_load(RelnCtx *ctx, const char *path, RelnArray *out);

/* Reads a .npy file from memory; `what` names the bytes in messages. */
RELN_API RelnStatus reln_npy_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes,
                                   const char *what, RelnArray *out);

/* Writes an array without its name. The file is replaced whole or not at all: the bytes go to a new file
 * beside it, are synced to disk, and the new file is renamed. It keeps the mode of a file that it
 * replaces. */
RELN_API RelnStatus reln_npy_save(RelnCtx *ctx, const char *path, const RelnArray *array);

/* ---- named arrays in one file: .safetensors ---------------------------------------------------------------------- */

/* A RelnMetaItem is a UTF-8 text stored with the arrays. The keys reln.sha256 and reln.writer are
 * reserved. */
typedef struct RelnMetaItem {
    const char *key, *value;
} RelnMetaItem;
typedef struct RelnMeta {
    int n;
    const RelnMetaItem *items;
} RelnMeta;

/* Writes arrays as F32, F64, I32 or I64 in the subset of the format that every reader accepts, with a SHA-256
 * checksum in the metadata. Names must be 1 to 512 bytes of UTF-8, all different; the header is at most 8
 * MiB. `meta` may be NULL. The file is replaced whole or not at all, as by reln_npy_save(). */
RELN_API RelnStatus reln_tensors_save(RelnCtx *ctx, const char *path, int n,
                                      const RelnArray *arrays, const RelnMeta *meta);
/* Writes like reln_tensors_save() and keeps the replaced file as path.previous, so that a complete file
 * exists at every moment. */
RELN_API RelnStatus reln_tensors_save_keeping(RelnCtx *ctx, const char *path, int n,
                                              const RelnArray *arrays, const RelnMeta *meta);

typedef struct RelnTensors RelnTensors;

/* Reads a file strictly: every name must occur once, ranges must fill the file without gap or overlap, and a
 * checksum must match. A file written by this library is refused if its checksum is missing. Caller destroys
 * *out. */
RELN_API RelnStatus reln_tensors_load(RelnCtx *ctx, const char *path, RelnTensors **out);
/* Reads the same format from memory; `what` names the bytes in messages. */
RELN_API RelnStatus reln_tensors_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes,
                                       const char *what, RelnTensors **out);
/* Reads path, or path.previous if path cannot be read. *previous says which, and reln_ctx_error() then has
 * the error of path. */
RELN_API RelnStatus reln_tensors_load_or_previous(RelnCtx *ctx, const char *path, RelnTensors **out,
                                                  bool *previous);
RELN_API void reln_tensors_destroy(RelnTensors *tensors); /* NULL is fine */

RELN_API int reln_tensors_count(const RelnTensors *tensors);
/* Returns an array, in the order in which they were saved. Values are aligned for their type. */
RELN_API const RelnArray *reln_tensors_get(const RelnTensors *tensors, int index);
RELN_API const RelnArray *reln_tensors_find(const RelnTensors *tensors, const char *name);
RELN_API const char *reln_tensors_meta(const RelnTensors *tensors,
                                       const char *key); /* NULL: none */
RELN_API const RelnMeta *reln_tensors_metadata(const RelnTensors *tensors);
RELN_API bool
reln_tensors_verified(const RelnTensors *tensors); /* whether the file had a checksum */

/* ---- arrays by rows, from any file of arrays, or from memory ----------------------------------------------------- */

/* An archive is a set of named arrays in one of these files: a .npz, a .npy (one array, named after the file), a folder of
 * .npy, a .safetensors, a .h5, a table of text (.csv, .txt, .tsv), Gaussian splats (.ply, .splat) or a mesh (.off):
 *
 *     RelnArchive *data = NULL;
 *     if (reln_archive_open(ctx, "data.npz", &data) != RELN_OK) ...
 *     int x = reln_archive_find(data, "X");                        // -1: not there
 *     reln_archive_range(data, x, 0, 100, values);                 // rows 0 .. 99 as doubles
 *     reln_archive_destroy(data);
 *
 * A path with *, ? or [ that is not the name of a file stands for all files that match it ("part-*.h5"): one set of arrays,
 * with the rows of all files in the order of their names.
 *
 * Each column of a table is an array, with the name in the first line or in a comment before it. Columns p_x, p_y, p_z (or
 * px, py, pz) are also an array p (N, 3); with a column of w, a quaternion (w, x, y, z); px, py, pz with E, a four-momentum
 * (E, px, py, pz). A table of eight columns without names whose last four are unit quaternions is a trajectory: timestamp, t
 * (N, 3), q (N, 4). Splats have rows of position (3), covariance (3, 3), colour (3) and opacity; meshes have rows of triangles:
 * centre (3), edge1 (3), edge2 (3), area.
 *
 * Rows of the leading axis are read on demand, so a file may be larger than memory. Arrays that are compressed, in Fortran
 * order or in HDF5 are unpacked at their first use (large ones to /var/tmp); after that, reading allocates nothing. Floats of
 * 2, 4 and 8 bytes, signed and unsigned integers, and booleans (0 and 1) are converted to doubles. One thread at a time may
 * use an archive. */
typedef struct RelnArchive RelnArchive;

RELN_API RelnStatus reln_archive_open(RelnCtx *ctx, const char *path, RelnArchive **out);
/* `h5` is the path of the program reln-h5; NULL: it is looked for beside the running program and in
 * ../libexec/reln. */
RELN_API RelnStatus reln_archive_open_with(RelnCtx *ctx, const char *path, const char *h5,
                                           RelnArchive **out);
/* Creates an archive of arrays in memory (f32, f64, i32, i64). Their values must outlive it; `what` names
 * them in messages. */
RELN_API RelnStatus reln_archive_from_arrays(RelnCtx *ctx, const char *what, int n,
                                             const RelnArray *arrays, RelnArchive **out);
RELN_API void reln_archive_destroy(RelnArchive *archive); /* NULL is fine */

RELN_API const char *reln_archive_name(const RelnArchive *archive); /* the name used in messages */
RELN_API int reln_archive_count(const RelnArchive *archive);
/* Returns name, shape and `stored` of an array; its values are NULL, and its rows are read as doubles. NULL:
 * there is no array of that index. */
RELN_API const RelnArray *reln_archive_info(const RelnArchive *archive, int index);
RELN_API int reln_archive_find(const RelnArchive *archive, const char *name); /* -1: none */
/* Returns why the array of that name cannot be read, such as "an enumeration"; NULL when there is no
 * unreadable array of that name. */
RELN_API const char *reln_archive_unread(const RelnArchive *archive, const char *name);
/* Reads rows into out (n_rows, reln_array_row_size()). Rows may be in any order, and may repeat. */
RELN_API RelnStatus reln_archive_rows(RelnArchive *archive, int index, ptrdiff_t n_rows,
                                      const ptrdiff_t *rows, double *out);
RELN_API RelnStatus reln_archive_range(RelnArchive *archive, int index, ptrdiff_t first,
                                       ptrdiff_t n_rows, double *out);

/* Packs n arrays of different length, (n_i, ...), into one (sum of n_i, ...): the rows of a batch of n samples, as
 * reln_plan_bind() reads them. counts (n) receives every n_i, for reln_plan_bind_rows().
 *
 *     const RelnArray jets[] = {RELN_ARRAY("p", RELN_F64, a, 30, 4), RELN_ARRAY("p", RELN_F64, b, 52, 4)};
 *     if (reln_pack_rows(ctx, 2, jets, counts, &p) == RELN_OK) ...                 // p is (82, 4), counts 30 and 52
 *
 * An array may be empty. All have the type and the other extents of the first one, whose name the result gets. The caller
 * clears *out. RELN_ERR_SHAPE names the first array that differs. */
RELN_API RelnStatus reln_pack_rows(RelnCtx *ctx, ptrdiff_t n, const RelnArray *arrays,
                                   int32_t *counts, RelnArray *out);

/* Writes arrays as an uncompressed .npz of at most 4 GiB. Names must be non-empty UTF-8 without '/'. The file
 * is replaced whole or not at all, as by reln_npy_save(). */
RELN_API RelnStatus reln_npz_save(RelnCtx *ctx, const char *path, int n, const RelnArray *arrays);

#ifdef __cplusplus
}
#endif

#endif
