/* base.c -- status texts, the context, memory through it, arenas. */
#include "base/base.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

struct RelnCtx {
    RelnAllocator allocator;
    pthread_mutex_t allocating; /* held while the allocator is called */
    atomic_uint_least64_t n_allocations;
    atomic_uint_least64_t n_live;
    atomic_flag
        failing; /* held while a message is written, because plans running in several threads share the
                  * context */
    RelnStatus status;
    bool shared; /* true: all ranks know this error */
    char message[512];
};

const char *reln_version(void)
{
    return TEXT(RELN_VERSION_MAJOR) "." TEXT(RELN_VERSION_MINOR) "." TEXT(RELN_VERSION_PATCH);
}

#define STATUS_TEXT(code, text) text,
const char *reln_status_text(RelnStatus status)
{
    static const char *const texts[] = {RELN_STATUS_LIST(STATUS_TEXT)};

    return (unsigned)status < RELN_STATUS_COUNT ? texts[status] : "unknown status";
}

static void *default_alloc(void *user, size_t n_bytes)
{
    (void)user;
    return aligned_alloc(RELN_ALIGN, n_bytes);
}

static void default_release(void *user, void *block)
{
    (void)user;
    free(block);
}

RelnStatus reln_ctx_create(const RelnAllocator *allocator, RelnCtx **out)
{
    RELN_NEED(out, RELN_ERR_ARG);

    const RelnAllocator a =
        allocator ? *allocator : (RelnAllocator){default_alloc, default_release, NULL};
    /* aligned_alloc wants whole multiples of the alignment */
    const size_t n_bytes = (sizeof(RelnCtx) + RELN_ALIGN - 1) / RELN_ALIGN * RELN_ALIGN;
    RelnCtx *ctx = a.alloc(a.user, n_bytes);

    *out = ctx;
    if (!ctx)
        return RELN_ERR_NOMEM;
    memset(ctx, 0, sizeof *ctx);
    atomic_flag_clear(&ctx->failing);
    (void)pthread_mutex_init(&ctx->allocating,
                             NULL); /* cannot fail with default attributes */
    ctx->allocator = a;
    return RELN_OK;
}

void reln_ctx_destroy(RelnCtx *ctx)
{
    if (!ctx)
        return;
    pthread_mutex_destroy(&ctx->allocating);
    ctx->allocator.release(ctx->allocator.user, ctx);
}

const char *reln_ctx_error(const RelnCtx *ctx)
{
    return ctx ? ctx->message : "";
}

RelnStatus reln_ctx_status(const RelnCtx *ctx)
{
    RELN_NEED(ctx, RELN_ERR_ARG);

    return ctx->status;
}

void reln_ctx_clear(RelnCtx *ctx)
{
    if (!ctx)
        return;
    ctx->status = RELN_OK;
    ctx->shared = false;
    ctx->message[0] = '\0';
}

uint64_t reln_ctx_allocations(const RelnCtx *ctx)
{
    RELN_NEED(ctx, 0);

    return atomic_load_explicit(&ctx->n_allocations, memory_order_relaxed);
}

uint64_t reln_ctx_live_blocks(const RelnCtx *ctx)
{
    RELN_NEED(ctx, 0);

    return atomic_load_explicit(&ctx->n_live, memory_order_relaxed);
}

bool reln_ctx_shared(const RelnCtx *ctx)
{
    return ctx && ctx->shared;
}

void reln_ctx_share(RelnCtx *ctx)
{
    if (ctx)
        ctx->shared = true;
}

void reln_ctx_copy_error(RelnCtx *ctx, size_t size, char *text)
{
    while (atomic_flag_test_and_set_explicit(&ctx->failing, memory_order_acquire))
        continue;
    snprintf(text, size, "%s", ctx->message);
    atomic_flag_clear_explicit(&ctx->failing, memory_order_release);
}

RelnStatus reln_null(RelnCtx *ctx, const char *function)
{
    return reln_fail(ctx, RELN_ERR_ARG, "%s: NULL where a pointer is needed", function);
}

RelnStatus(reln_fail)(RelnCtx *ctx, RelnStatus status, const char *format, ...)
{
    va_list args;

    if (!ctx)
        return status;
    while (atomic_flag_test_and_set_explicit(&ctx->failing, memory_order_acquire))
        continue;
    ctx->status = status;
    ctx->shared = false;
    va_start(args, format);
    vsnprintf(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    atomic_flag_clear_explicit(&ctx->failing, memory_order_release);
    return status;
}

static void *take(RelnCtx *ctx, size_t count, size_t size, bool zeroed)
{
    size_t n_bytes = 0;
    void *block = NULL;

    if (!__builtin_mul_overflow(count, size, &n_bytes) && n_bytes <= SIZE_MAX / 2) {
        n_bytes = (n_bytes / RELN_ALIGN + 1) * RELN_ALIGN;
        pthread_mutex_lock(&ctx->allocating);
        block = ctx->allocator.alloc(ctx->allocator.user, n_bytes);
        pthread_mutex_unlock(&ctx->allocating);
    }
    if (!block) {
        reln_fail(ctx, RELN_ERR_NOMEM, "out of memory: %zu elements of %zu bytes wanted", count,
                  size);
        return NULL;
    }
    atomic_fetch_add_explicit(&ctx->n_allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ctx->n_live, 1, memory_order_relaxed);
    return zeroed ? memset(block, 0, n_bytes) : block;
}

void *reln_alloc(RelnCtx *ctx, size_t count, size_t size)
{
    return take(ctx, count, size, true);
}

void *reln_alloc_raw(RelnCtx *ctx, size_t count, size_t size)
{
    return take(ctx, count, size, false);
}

void reln_free(RelnCtx *ctx, void *block)
{
    if (!block)
        return;
    atomic_fetch_sub_explicit(&ctx->n_live, 1, memory_order_relaxed);
    pthread_mutex_lock(&ctx->allocating);
    ctx->allocator.release(ctx->allocator.user, block);
    pthread_mutex_unlock(&ctx->allocating);
}

/* A chunk is its header, then payload from the next RELN_ALIGN boundary on. */
struct RelnChunk {
    RelnChunk *next;
    size_t used;
    size_t size;
};

enum { CHUNK_HEADER = RELN_ALIGN, CHUNK_SIZE = 16384 - 2 * RELN_ALIGN };

void reln_arena_init(RelnArena *arena, RelnCtx *ctx)
{
    arena->ctx = ctx;
    arena->head = NULL;
}

void reln_arena_clear(RelnArena *arena)
{
    RelnChunk *chunk = arena->head;

    while (chunk) {
        RelnChunk *const next = chunk->next;
        reln_free(arena->ctx, chunk);
        chunk = next;
    }
    arena->head = NULL;
}

static RelnChunk *chunk_add(RelnArena *arena, size_t n_bytes)
{
    const size_t size = n_bytes > CHUNK_SIZE / 4 ? n_bytes : CHUNK_SIZE;
    RelnChunk *chunk = reln_alloc(arena->ctx, 1, size + CHUNK_HEADER);

    if (!chunk)
        return NULL;
    chunk->size = size;
    /* A large allocation fills its chunk completely, so the chunk in front of it is still the one to fill. */
    if (arena->head && size != CHUNK_SIZE) {
        chunk->next = arena->head->next;
        arena->head->next = chunk;
    } else {
        chunk->next = arena->head;
        arena->head = chunk;
    }
    return chunk;
}

void *reln_arena_alloc(RelnArena *arena, size_t count, size_t size)
{
    size_t n_bytes = 0;
    RelnChunk *chunk = arena->head;
    void *p;

    if (__builtin_mul_overflow(count, size, &n_bytes) || n_bytes > SIZE_MAX / 4) {
        reln_fail(arena->ctx, RELN_ERR_NOMEM, "out of memory: %zu elements of %zu bytes wanted",
                  count, size);
        return NULL;
    }
    n_bytes = (n_bytes / RELN_ALIGN + 1) * RELN_ALIGN;
    if (!chunk || chunk->size - chunk->used < n_bytes)
        chunk = chunk_add(arena, n_bytes);
    if (!chunk)
        return NULL;
    p = (char *)chunk + CHUNK_HEADER + chunk->used;
    chunk->used += n_bytes;
    return p;
}

void *reln_arena_copy(RelnArena *arena, const void *src, size_t count, size_t size)
{
    void *p = reln_arena_alloc(arena, count, size);

    if (p && count > 0 && size > 0)
        memcpy(p, src, count * size);
    return p;
}

char *reln_arena_printf(RelnArena *arena, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0)
        text = reln_arena_alloc(arena, (size_t)length + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

uint64_t reln_hash(uint64_t seed, const void *bytes, size_t n_bytes)
{
    const unsigned char *p = bytes;
    uint64_t h = seed;

    for (size_t i = 0; i < n_bytes; i++)
        h = (h ^ p[i]) * 1099511628211ULL;
    return h;
}

enum { LONGEST_WORD = RELN_WORD_FAR };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Returns the number of edits from a to b: inserting, deleting or replacing a letter, or exchanging
 * neighbours. row[i % 3][j] is the distance of the first i letters of a from the first j letters of b. */
static int edits(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    int row[3][LONGEST_WORD + 1];

    if (m > LONGEST_WORD || n > LONGEST_WORD)
        return LONGEST_WORD;
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            int *here = &row[i % 3][j];

            if (i == 0 || j == 0) {
                *here = (int)(i + j);
                continue;
            }
            *here = least(least(row[(i + 2) % 3][j], row[i % 3][j - 1]) + 1,
                          row[(i + 2) % 3][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                *here = least(*here, row[(i + 1) % 3][j - 2] + 1);
        }
    return row[m % 3][n];
}

/* A word's beginning counts as near it, however long the word is. */
static bool begins(const char *word, const char *with, size_t letters)
{
    return strlen(with) >= letters && strncmp(word, with, strlen(with)) == 0;
}

int reln_word_distance(const char *word, const char *other)
{
    const int d = edits(word, other), quarter = (int)(strlen(word) / 4);

    if (d <= (quarter > 1 ? quarter : 1))
        return d;
    return begins(other, word, 3) || begins(word, other, 4) ? RELN_WORD_FAR - 1 : RELN_WORD_FAR;
}

int reln_nearest(const char *word, const char *const *list, int count)
{
    int best = -1, least_so_far = RELN_WORD_FAR;

    RELN_NEED(word && (list || count <= 0), -1);
    for (int i = 0; i < count; i++) {
        const int d = reln_word_distance(word, list[i]);

        if (d < least_so_far) {
            least_so_far = d;
            best = i;
        }
    }
    return best;
}
