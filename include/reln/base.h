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

/* An array with a name, row-major: how weights and states travel between those who make them, train them and keep them in
 * files. Name and values belong to someone else. */
enum { RELN_NAMED_MAX_RANK = 8 };
typedef struct RelnNamed {
    const char *name;
    RelnDtype dtype;
    int rank; /* 0: a single number */
    ptrdiff_t dims[RELN_NAMED_MAX_RANK];
    void *values;
} RelnNamed;

/* Memory blocks are aligned to this many bytes; an allocator of your own must keep to it. */
#define RELN_ALIGN 64

typedef struct RelnAllocator {
    void *(*alloc)(void *user, size_t n_bytes); /* NULL when there is none left */
    void (*release)(void *user, void *block);   /* block is never NULL */
    void *user;
} RelnAllocator;

typedef struct RelnCtx RelnCtx;

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
