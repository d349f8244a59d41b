/* io.h -- arrays from files and into files.
 *
 *     RelnArray basis = {0};
 *     if (reln_npy_load(ctx, "basis.npy", &basis) != RELN_OK) ...
 *     // basis.values[(i * basis.dims[1] + j) * basis.dims[2] + k], for rank 3
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

enum { RELN_ARRAY_MAX_RANK = 8 };

/* Larger files are refused before anything is allocated. */
#define RELN_FILE_MAX_BYTES ((uint64_t)1 << 31)

/* How numbers are stored, in either byte order. */
typedef enum RelnDtype { RELN_F32, RELN_F64, RELN_I32, RELN_I64 } RelnDtype;

RELN_API const char *reln_dtype_text(RelnDtype dtype); /* "f4", "f8", "i4", "i8" */

/* Numbers in row-major order, whatever the file had. NaN and infinity are kept: judging them is the caller's. */
typedef struct RelnArray {
    RelnCtx *ctx; /* owns the values */
    int rank;     /* 0: a single number */
    ptrdiff_t dims[RELN_ARRAY_MAX_RANK];
    ptrdiff_t count; /* product of dims */
    RelnDtype dtype; /* of the file */
    /* unit round-off of that dtype: 2^-24 for f4; 2^-53 otherwise, since i8 beyond 2^53 are rounded to double */
    double precision;
    double *values;
} RelnArray;

RELN_API void reln_array_clear(RelnArray *array); /* all zero is fine */

/* Read a .npy file, formats 1 to 3. *out is overwritten; when the call fails there is nothing to clear. */
RELN_API RelnStatus reln_npy_load(RelnCtx *ctx, const char *path, RelnArray *out);

/* The same from memory; `what` names the bytes in messages. */
RELN_API RelnStatus reln_npy_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes,
                                   const char *what, RelnArray *out);

/* Write doubles, row-major, as '<f8'. The file appears whole or not at all: the bytes go to a new file beside it,
 * reach the disk, and then take its name (and its mode, where there was one). */
RELN_API RelnStatus reln_npy_save(RelnCtx *ctx, const char *path, int rank, const ptrdiff_t *dims,
                                  const double *values);

#ifdef __cplusplus
}
#endif

#endif
