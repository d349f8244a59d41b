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

/* RELN_STATUS_LIST holds every status code with its text. The enum and reln_status_text() are made from
 * it. */
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

/* Returns the version of the library, such as "0.1.0". */
RELN_API const char *reln_version(void);

/* Returns the text of a status code, never NULL. */
RELN_API const char *reln_status_text(RelnStatus status);

/* The number type of an array or node. An option that is RELN_DEFAULT leaves the choice to the function
 * called. */
typedef enum RelnDtype { RELN_DEFAULT, RELN_F32, RELN_F64, RELN_I32, RELN_I64 } RelnDtype;

typedef struct RelnCtx RelnCtx;

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { RELN_ARRAY_MAX_RANK = 8 };

/* A RelnArray holds numbers in row-major order and their shape. Data, weights, states and predictions travel
 * between files, archives, stores, trainers and models in this form. If `owner` is set, reln_array_clear()
 * releases the values. If it is NULL, the values are borrowed, and the function that filled the array says
 * how long they stay valid. The name is always borrowed. */
typedef struct RelnArray {
    const char *name; /* NULL: no name */
    RelnDtype dtype;  /* type of the values */
    int rank;         /* 0: a single number */
    ptrdiff_t dims[RELN_ARRAY_MAX_RANK];
    union { /* NULL: the values are not in memory, as in a list of an archive's arrays */
        void *values;
        float *f32;
        double *f64;
        int32_t *i32;
        int64_t *i64;
    };
    const char *stored; /* number type in the file, in NumPy's notation: "f4", "u1"; NULL: not read from a
                         * file */
    RelnCtx *owner;     /* context that allocated the values; NULL: borrowed */
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

RELN_API ptrdiff_t reln_array_count(const RelnArray *array); /* product of dims; -1 if it overflows */
/* The number of rows is the first extent, and the row size is the product of the other extents. An array of
 * rank 0 is one row of one number. */
RELN_API ptrdiff_t reln_array_rows(const RelnArray *array);
RELN_API ptrdiff_t reln_array_row_size(const RelnArray *array);
RELN_API void reln_array_clear(RelnArray *array); /* accepts an all-zero array and borrowed values */

/* Every memory block is aligned to this many bytes. A user's allocator must return blocks with this
 * alignment. */
#define RELN_ALIGN 64

/* One thread at a time calls these functions: the caller's thread, or the thread that reads data ahead. */
typedef struct RelnAllocator {
    void *(*alloc)(void *user, size_t n_bytes); /* returns NULL when no memory is left */
    void (*release)(void *user, void *block);   /* block is never NULL */
    void *user;
} RelnAllocator;

/* Creates a context. `allocator` is copied; NULL takes the allocator of the C library. Caller destroys
 * *out. */
RELN_API RelnStatus reln_ctx_create(const RelnAllocator *allocator, RelnCtx **out);
RELN_API void reln_ctx_destroy(RelnCtx *ctx); /* NULL is fine */

/* Returns one line about the last call that failed, or "" if none failed. Borrowed until the next failure. */
RELN_API const char *reln_ctx_error(const RelnCtx *ctx);
/* Returns the status code of the last call that failed, for functions that return a pointer instead of a
 * status; RELN_OK if none failed. */
RELN_API RelnStatus reln_ctx_status(const RelnCtx *ctx);
RELN_API void reln_ctx_clear(RelnCtx *ctx);

/* Number of allocations made so far, and number of blocks not yet released. Running a plan changes
 * neither. */
RELN_API uint64_t reln_ctx_allocations(const RelnCtx *ctx);
RELN_API uint64_t reln_ctx_live_blocks(const RelnCtx *ctx);

/* Returns the index of the list entry nearest to `word` in edit distance, for "did you mean ...?" messages,
 * or -1 if no entry is near. An entry is near if it needs at most one edit for every four letters (at least
 * one edit is always allowed), or if `word` is its beginning. */
RELN_API int reln_nearest(const char *word, const char *const *list, int count);

#ifdef __cplusplus
}
#endif

#endif
