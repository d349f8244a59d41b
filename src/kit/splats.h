/* splats.h -- files of 3-D objects: Gaussian splats (.ply, .splat), meshes (.off), folders of classes.
 *
 *     RelnSplatFile *file = NULL;
 *     if (reln_splats_open(ctx, "chair.ply", &file) != RELN_OK) ...
 *     while (reln_splats_read(file, 4096, rows, &n) == RELN_OK && n > 0)      // rows (n, RELN_SPLAT): kit/points.h
 *         ...
 *     reln_splats_close(file);
 *
 * A file is read piece by piece, so a scene of any size needs the memory of one piece. As in all readers, sizes are
 * checked against the file, and bad content gives one line (reln/io.h).
 *
 * .ply     as 3-D Gaussian splatting writes them: properties of the element `vertex` by their names, in any order
 * and of any
 *          number type, text or binary of either byte order; opacity is the sigmoid of the stored number, scales the
 *          exponential, quaternions are normalised with w >= 0; coefficients f_rest_* of higher spherical harmonics
 *          are counted and ignored
 * .splat   32 bytes each: position, linear scales, RGBA and quaternion as bytes
 * .off     vertices and polygons, which become fans of triangles; the counts on the line of the word OFF or on the next;
 *          the mesh need not be watertight
 */
#ifndef KIT_SPLATS_H
#define KIT_SPLATS_H

#include "kit/points.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnSplatFile RelnSplatFile;

/* Opens a file: a .splat by its extension, everything else as a .ply. Caller closes *out. */
RelnStatus reln_splats_open(RelnCtx *ctx, const char *path, RelnSplatFile **out);
/* Opens a file in memory, which must outlive it; `what` names the bytes in messages. */
RelnStatus reln_ply_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                          RelnSplatFile **out);
RelnStatus reln_splat_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                            RelnSplatFile **out);
void reln_splats_close(RelnSplatFile *file); /* NULL is fine */

typedef struct RelnSplatInfo {
    const char *format; /* "ply, binary little-endian", ... */
    ptrdiff_t count;
    int rest; /* coefficients f_rest_* of each splat */
} RelnSplatInfo;
RelnSplatInfo reln_splats_info(const RelnSplatFile *file);

/* Reads the next splats, at most n_most; *n is 0 at the end. */
RelnStatus reln_splats_read(RelnSplatFile *file, ptrdiff_t n_most, double *rows, ptrdiff_t *n);

/* The caller clears *out, also after a failure. */
RelnStatus reln_off_load(RelnCtx *ctx, const char *path, RelnMesh *out);
RelnStatus reln_off_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                          RelnMesh *out);

/* ---- folders of classes ----------------------------------------------------------------------------------------- */

/* A folder of classes is ROOT/CLASS/FILE, or ROOT/CLASS/train/FILE and ROOT/CLASS/test/FILE as in ModelNet,
 * with files that end in .off, .ply or .splat. Classes and files are in the order of their names. */
typedef enum RelnClassSplit { RELN_SPLIT_NONE, RELN_SPLIT_TRAIN, RELN_SPLIT_TEST } RelnClassSplit;
typedef struct RelnClassFile {
    const char *path;
    int label;
    RelnClassSplit split;
} RelnClassFile;
typedef struct RelnClassFolder {
    RelnCtx *ctx;
    int n_classes;
    ptrdiff_t n_files;
    char **classes;
    RelnClassFile *files;
} RelnClassFolder;
/* The caller clears *out, also after a failure. RELN_ERR_FORMAT when there is no such file. */
RelnStatus reln_class_folder(RelnCtx *ctx, const char *root, RelnClassFolder *out);
void reln_class_folder_clear(RelnClassFolder *folder);

#ifdef __cplusplus
}
#endif

#endif
