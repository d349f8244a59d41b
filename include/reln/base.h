/* base.h -- version, status codes, the context that every object belongs to.
 *
 *     RelnCtx *ctx = NULL;
 *     if (reln_ctx_create(NULL, &ctx) != RELN_OK) return 1;
 *     ...
 *     if (status != RELN_OK) fprintf(stderr, "%s\n", reln_ctx_error(ctx));
 *     reln_ctx_destroy(ctx);
 *
 * A context holds the allocator and the message of the last call that failed. It may be used by one thread at a
 * time; different contexts are independent. Objects made with a context must be destroyed before it.
 */
#ifndef RELN_BASE_H
#define RELN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELN_VERSION_MAJOR 0
#define RELN_VERSION_MINOR 1
#define RELN_VERSION_PATCH 0

#if defined(__GNUC__)
#define RELN_API __attribute__((visibility("default")))
#else
#define RELN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every code with its text: the one list from which the enum and reln_status_text() are made. */
#define RELN_STATUS_LIST(X)                                                                        \
    X(RELN_OK, "done")                                                                             \
    X(RELN_ERR_NOMEM, "out of memory")                                                             \
    X(RELN_ERR_ARG, "invalid argument")                                                            \
    X(RELN_ERR_SHAPE, "shapes do not fit")                                                         \
    X(RELN_ERR_REP, "not equivariant")                                                             \
    X(RELN_ERR_ALGEBRA, "not a reductive matrix algebra")                                          \
    X(RELN_ERR_IO, "input/output failed")                                                          \
    X(RELN_ERR_FORMAT, "malformed file")                                                           \
    X(RELN_ERR_NUMERIC, "numerical failure")                                                       \
    X(RELN_ERR_UNSUPPORTED, "not supported")                                                       \
    X(RELN_ERR_STOPPED, "asked to stop")

#define RELN_STATUS_ENUM(code, text) code,
typedef enum RelnStatus { RELN_STATUS_LIST(RELN_STATUS_ENUM) RELN_STATUS_COUNT } RelnStatus;
#undef RELN_STATUS_ENUM

/* "0.1.0" */
RELN_API const char *reln_version(void);

/* The text of a code, never NULL. */
RELN_API const char *reln_status_text(RelnStatus status);

/* How numbers are stored. Where a choice is asked for, RELN_DEFAULT leaves it to the callee. */
typedef enum RelnDtype { RELN_DEFAULT, RELN_F32, RELN_F64, RELN_I32, RELN_I64 } RelnDtype;

typedef struct RelnCtx RelnCtx;

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { RELN_ARRAY_MAX_RANK = 8 };

/* Numbers in row-major order, with their shape: how data, weights, states and predictions travel between files,
 * archives, stores, trainers and models. An array with an owner is released by reln_array_clear(); without one, name
 * and values belong to someone else, who says how long they stay. The name is always someone else's. */
typedef struct RelnArray {
    const char *name; /* NULL: none */
    RelnDtype dtype;  /* of the values */
    int rank;         /* 0: a single number */
    ptrdiff_t dims[RELN_ARRAY_MAX_RANK];
    union { /* NULL: not in memory, as arrays of an archive */
        void *values;
        float *f32;
        double *f64;
        int32_t *i32;
        int64_t *i64;
    };
    const char *stored; /* the kind in its file, as NumPy says it: "f4", "u1"; NULL: of no file */
    RelnCtx *owner;     /* whose memory the values are; NULL: borrowed */
} RelnArray;

/* Initialises a borrowed array from its extents, 1 to 8 of them:
 *
 *     const RelnArray arrays[] = {RELN_ARRAY("X", RELN_F64, x, n, 3, 3), RELN_ARRAY("y", RELN_F64, y, n)};
 */
#define RELN_ARRAY(name, dtype, values, ...)                                                       \
    {                                                                                              \
        (name), (dtype), RELN_ARRAY_RANK(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0), {__VA_ARGS__},   \
            {(values)}, NULL, NULL                                                                 \
    }
#define RELN_ARRAY_RANK(a, b, c, d, e, f, g, h, rank, ...) rank

RELN_API ptrdiff_t reln_array_count(const RelnArray *array); /* product of dims; -1: too large */
/* Rows are what the first axis counts; a single number is one row of one number. */
RELN_API ptrdiff_t reln_array_rows(const RelnArray *array);
RELN_API ptrdiff_t reln_array_row_size(const RelnArray *array);
RELN_API void reln_array_clear(RelnArray *array); /* all zero is fine, and so are borrowed values */

/* Memory blocks are aligned to this many bytes; an allocator of your own must keep to it. */
#define RELN_ALIGN 64

/* Its functions are called by one thread at a time: the caller's, or that which reads data ahead. */
typedef struct RelnAllocator {
    void *(*alloc)(void *user, size_t n_bytes); /* NULL when there is none left */
    void (*release)(void *user, void *block);   /* block is never NULL */
    void *user;
} RelnAllocator;

/* allocator NULL: the C library's. It is copied. Caller destroys *out. */
RELN_API RelnStatus reln_ctx_create(const RelnAllocator *allocator, RelnCtx **out);
RELN_API void reln_ctx_destroy(RelnCtx *ctx); /* NULL is fine */

/* One line about the last call that failed, "" when none did. Borrowed until the next failure. */
RELN_API const char *reln_ctx_error(const RelnCtx *ctx);
/* The code that goes with it, for calls that return a pointer; RELN_OK when none failed. */
RELN_API RelnStatus reln_ctx_status(const RelnCtx *ctx);
RELN_API void reln_ctx_clear(RelnCtx *ctx);

/* Allocations made so far, and blocks not yet released: a run of a plan changes neither. */
RELN_API uint64_t reln_ctx_allocations(const RelnCtx *ctx);
RELN_API uint64_t reln_ctx_live_blocks(const RelnCtx *ctx);

/* The place of the word in the list that is the fewest edits away, for messages: "did you mean ...?". -1: none is near, which
 * is one edit for every four letters (at least one), or the beginning of a word. */
RELN_API int reln_nearest(const char *word, const char *const *list, int count);

#ifdef __cplusplus
}
#endif

#endif
