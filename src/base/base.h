/* base.h -- helpers of every module: failing with a message, memory through the context, arenas. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include "reln/base.h"

/* Return the status of a call that failed; go on otherwise. Arenas and _clear functions make early returns
 * leak-free. */
#define RELN_TRY(call)                                                                             \
    do {                                                                                           \
        const RelnStatus try_status_ = (call);                                                     \
        if (try_status_ != RELN_OK)                                                                \
            return try_status_;                                                                    \
    } while (0)

/* The first line of a public function: return `result` when a required pointer is NULL. Outputs are not touched then. */
#define RELN_NEED(pointers, result)                                                                \
    do {                                                                                           \
        if (!(pointers))                                                                           \
            return result;                                                                         \
    } while (0)
/* Records "FUNCTION: NULL where a pointer is needed" when ctx is not NULL, and returns RELN_ERR_ARG. */
RelnStatus reln_null(RelnCtx *ctx, const char *function);

/* Record one line about what was seen and what was wanted, and return the code: `return reln_fail(ctx, ...)`. */
RelnStatus reln_fail(RelnCtx *ctx, RelnStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* The analyzer sees one file at a time: tell it that reln_fail() returns its argument. */
#define reln_fail(ctx, status, ...) ((void)(reln_fail)(ctx, status, __VA_ARGS__), (status))
#endif

/* Copy the message of the last failure. Other threads may fail at the same time. */
void reln_ctx_copy_error(RelnCtx *ctx, size_t size, char *text);

/* Whether all ranks know the last error (kit/comm.h); reln_ctx_share() marks it so, a new error clears the
 * mark. */
bool reln_ctx_shared(const RelnCtx *ctx);
void reln_ctx_share(RelnCtx *ctx);

/* Returns zeroed memory for count elements, aligned to RELN_ALIGN; NULL, with the error recorded, when no
 * memory is left or the product overflows. count = 0 gives a valid block. */
void *reln_alloc(RelnCtx *ctx, size_t count, size_t size);
/* Returns memory like reln_alloc(), but not zeroed, for large blocks that the caller fills. */
void *reln_alloc_raw(RelnCtx *ctx, size_t count, size_t size);
void reln_free(RelnCtx *ctx, void *block); /* NULL is fine */

/* An arena: many allocations that are released together. */
typedef struct RelnChunk RelnChunk;
typedef struct RelnArena {
    RelnCtx *ctx;
    RelnChunk *head;
} RelnArena;

void reln_arena_init(RelnArena *arena, RelnCtx *ctx);
void reln_arena_clear(RelnArena *arena);
/* Returns zeroed memory; NULL with the error recorded. */
void *reln_arena_alloc(RelnArena *arena, size_t count, size_t size);
void *reln_arena_copy(RelnArena *arena, const void *src, size_t count, size_t size);
char *reln_arena_printf(RelnArena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns a 64-bit fingerprint of bytes (FNV-1a), chained through `seed`. */
#define RELN_HASH_SEED 1469598103934665603ULL
uint64_t reln_hash(uint64_t seed, const void *bytes, size_t n_bytes);

/* Returns the number of edits between two words as reln_nearest() counts them, or RELN_WORD_FAR if they are
 * not near. */
enum { RELN_WORD_FAR = 48 };
int reln_word_distance(const char *word, const char *other);

#endif
