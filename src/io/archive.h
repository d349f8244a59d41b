/* archive.h -- the internals of archives: arrays and the places of their numbers. */
#ifndef IO_ARCHIVE_H
#define IO_ARCHIVE_H

#include <pthread.h>

#include "io/file.h"
#include "io/npy.h"
#include "io/windows.h"
#include "io/zip.h"

/* Number of bytes read at a time; the longest header fits. */
enum { BUFFER = 80 << 10 };

_Static_assert((int)BUFFER >= (int)RELN_NPY_MAX_LEAD, "a header is read at once");

typedef struct Array {
    RelnNpyHeader header; /* its `data` counts from the beginning of the entry */
    RelnSource *source;
    uint64_t begin; /* offset of the numbers in the source */
    unsigned char
        *memory;      /* or the address of the numbers; freed with the archive unless `borrowed` */
    RelnSource spill; /* or, if `spilled`, an unnamed temporary file with the numbers */
    bool spilled, borrowed;
    bool component;            /* a column that is also a part of a vector of the archive */
    const RelnZipEntry *entry; /* of a .npz */
    const char *dataset;       /* of a .h5 */
    bool ready;
    RelnWindowArray window;   /* of windows: the array of steps, and which steps a row takes */
    const ptrdiff_t *offsets; /* of sets: the first step of each row, and the end of the last */
    int *in_part;             /* of several files: index of the array in each file */
    ptrdiff_t *first;         /* and the first row of each file, and the end of the last */
} Array;

/* A Windows holds rows that are windows of steps of another archive. */
typedef struct Windows {
    RelnArchive *of;
    ptrdiff_t length;
    ptrdiff_t *first, *shift; /* of each row */
    double *step;             /* one step of the widest array */
} Windows;

/* An Unread is an array that the file lists but that cannot be read. */
typedef struct Unread {
    const char *name, *why;
} Unread;

struct RelnArchive {
    RelnCtx *ctx;
    RelnArena arena;
    const char *path;
    const char *h5, *h5_path; /* the program reln-h5, and its file */
    RelnSource *sources;
    int n_sources, n, n_unread;
    Array *arrays;
    Unread *unread;       /* of a .h5 */
    pthread_mutex_t lock; /* held while rows are read, because several threads may read */
    unsigned char *buffer;
    Windows *windows;    /* NULL: rows are those of the arrays */
    RelnArchive **parts; /* several files as one; NULL: it is one */
    int n_parts;
};

/* Creates an archive without arrays; NULL when memory is out. */
RelnArchive *reln_archive_create(RelnCtx *ctx);

/* archive_open.c: lists the arrays of a file or folder. `h5` is the program that reads HDF5; NULL: looked for. */
RelnStatus reln_archive_begin(RelnArchive *v, const char *path, const char *h5);
/* archive_parts.c: returns whether a path stands for several files; opens the files that match, in the order
 * of their names. */
bool reln_archive_is_pattern(const char *path);
RelnStatus reln_archive_begin_parts(RelnArchive *v, const char *pattern, const char *h5);
RelnStatus reln_archive_parts_range(const RelnArchive *v, const Array *a, ptrdiff_t first,
                                    ptrdiff_t n, double *out);
void reln_archive_parts_expect(const RelnArchive *v, const Array *a, ptrdiff_t first, ptrdiff_t n);
/* Lists arrays in memory. */
RelnStatus reln_archive_begin_memory(RelnArchive *v, const char *what, int n,
                                     const RelnArray *arrays);
/* Makes room for the n arrays of a file. Adds an array of doubles in memory, whose values the caller writes. */
RelnStatus reln_archive_make(RelnArchive *v, size_t n);
RelnStatus reln_archive_add(RelnArchive *v, const RelnArray *array, double **values, Array **out);
/* archive_table.c: lists the columns of a table of text, and the vectors that they are components of. */
RelnStatus reln_archive_take_table(RelnArchive *v, const char *path);
/* archive_shapes.c: lists positions, covariances, colours and opacities of splats; centres, edges and areas of
 * the triangles of a mesh. */
RelnStatus reln_archive_take_splats(RelnArchive *v, const char *path);
RelnStatus reln_archive_take_mesh(RelnArchive *v, const char *path);
/* archive_place.c: brings the numbers of an array to a place from which they can be read. */
RelnStatus reln_archive_prepare(const RelnArchive *v, Array *a);
/* Unpacks a compressed array to an unnamed file; takes over an unnamed file, which is closed with the archive. */
RelnStatus reln_archive_unpack(const RelnArchive *v, Array *a);
RelnStatus reln_archive_adopt(const RelnArchive *v, Array *a, int fd, uint64_t n_bytes);
/* windows.c: reads rows of windows. */
RelnStatus reln_windows_range(const RelnArchive *v, const Array *a, ptrdiff_t first, ptrdiff_t n,
                              double *out);
/* Reads bytes of an array from its place. */
RelnStatus reln_archive_bytes(const Array *a, uint64_t at, size_t n_bytes, unsigned char *to);

#endif
