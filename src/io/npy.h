/* npy.h -- inside of .npy: kinds of numbers, the contents of a header, making one. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include "base/base.h"
#include "kit/files.h"
#include "reln/io.h"

/* How numbers are stored in files. */
typedef struct RelnKind {
    char code[3]; /* NumPy's, without the order of bytes */
    size_t width;
    double precision; /* unit round-off of the double it becomes */
    RelnDtype dtype;  /* RELN_DEFAULT: read by archives only */
} RelnKind;

const RelnKind *reln_kind_of(RelnDtype dtype); /* NULL when there is none */
const RelnKind *reln_kind_named(const char *code);
/* Convert `count` numbers to doubles. */
void reln_kind_convert(const RelnKind *kind, bool big_endian, const unsigned char *bytes,
                       size_t count, double *out);

/* Convert between this machine's byte order and the little-endian order of files, in either direction. */
void reln_file_order(unsigned char *bytes, size_t n_bytes, size_t width);

enum {
    RELN_NPY_MAX_LEAD = 12 + 65536, /* all that a header can take */
    RELN_NPY_OWN_HEADER = 512       /* and one of ours */
};

/* The contents of a header; `data` is where the numbers begin. */
typedef struct RelnNpyHeader {
    RelnArray array; /* its shape, as doubles of no memory yet */
    const RelnKind *kind;
    bool big_endian;
    bool fortran;
    ptrdiff_t count;
    size_t data;
} RelnNpyHeader;

/* n_all is the size of the whole file, n_bytes how much of it is here: all, or RELN_NPY_MAX_LEAD at least. any_kind:
 * also those that only archives read. */
RelnStatus reln_npy_read_header(RelnCtx *ctx, const char *what, const unsigned char *bytes,
                                size_t n_bytes, size_t n_all, bool any_kind, RelnNpyHeader *h);
/* Make the header for row-major, little-endian numbers; returns its length, a multiple of 64. */
size_t reln_npy_make_header(const RelnArray *array, unsigned char header[RELN_NPY_OWN_HEADER]);

/* Can the array be written to the file `path`? How many bytes its numbers have; RELN_ERR_ARG when it cannot. */
RelnStatus reln_array_check(RelnCtx *ctx, const char *path, const RelnArray *array,
                            size_t *n_bytes);
/* Gives the numbers of an array that was checked to take(self, ...), in pieces and little-endian. */
RelnStatus reln_array_pass(const RelnArray *array,
                           RelnStatus (*take)(void *self, const unsigned char *bytes, size_t n),
                           void *self);
/* A `take` that writes the bytes to a file (RelnReplace). */
RelnStatus reln_array_to_file(void *file, const unsigned char *bytes, size_t n_bytes);

#endif
