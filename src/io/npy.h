/* npy.h -- the internals of .npy: number types, reading and making headers. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include "base/base.h"
#include "kit/files.h"
#include "reln/io.h"

/* A RelnKind is a number type in files. */
typedef struct RelnKind {
    char code[3]; /* NumPy's code, without the byte order */
    size_t width;
    double precision; /* unit round-off after conversion to double */
    RelnDtype dtype;  /* RELN_DEFAULT: only archives read it */
} RelnKind;

const RelnKind *reln_kind_of(RelnDtype dtype); /* NULL when there is none */
const RelnKind *reln_kind_named(const char *code);
/* Converts `count` numbers to doubles. */
void reln_kind_convert(const RelnKind *kind, bool big_endian, const unsigned char *bytes,
                       size_t count, double *out);

/* Converts between this machine's byte order and the little-endian order of files, in either direction. */
void reln_file_order(unsigned char *bytes, size_t n_bytes, size_t width);

enum {
    RELN_NPY_MAX_LEAD = 12 + 65536, /* largest header of any file */
    RELN_NPY_OWN_HEADER = 512       /* largest header written here */
};

/* A RelnNpyHeader holds the contents of a header; `data` is where the numbers begin. */
typedef struct RelnNpyHeader {
    RelnArray array; /* its shape, as doubles without memory */
    const RelnKind *kind;
    bool big_endian;
    bool fortran;
    ptrdiff_t count;
    size_t data;
} RelnNpyHeader;

/* Reads a header. n_all is the size of the whole file, n_bytes the part in memory: all of it, or at least
 * RELN_NPY_MAX_LEAD. any_kind: also accepts types that only archives read. */
RelnStatus reln_npy_read_header(RelnCtx *ctx, const char *what, const unsigned char *bytes,
                                size_t n_bytes, size_t n_all, bool any_kind, RelnNpyHeader *h);
/* Makes the header for row-major, little-endian numbers; returns its length, a multiple of 64. */
size_t reln_npy_make_header(const RelnArray *array, unsigned char header[RELN_NPY_OWN_HEADER]);

/* Checks that the array can be written to the file `path`, and sets the number of bytes; RELN_ERR_ARG when it
 * cannot. */
RelnStatus reln_array_check(RelnCtx *ctx, const char *path, const RelnArray *array,
                            size_t *n_bytes);
/* Passes the numbers of a checked array to take(self, ...), in pieces and little-endian. */
RelnStatus reln_array_pass(const RelnArray *array,
                           RelnStatus (*take)(void *self, const unsigned char *bytes, size_t n),
                           void *self);
/* A `take` that writes the bytes to a file (RelnReplace). */
RelnStatus reln_array_to_file(void *file, const unsigned char *bytes, size_t n_bytes);

#endif
