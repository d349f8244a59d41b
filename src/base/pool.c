/* pool.c -- see pool.h. The caller raises a generation number to tell sleeping workers that there is new work. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>

/* A waiting worker polls this many times, about ten microseconds, before it sleeps: the next job often follows at once. */
enum { MAX_THREADS = 256, LOOKS = 1000 };

struct RelnPool {
    RelnCtx *ctx;
    int n_threads; /* the caller included */
    int n_started;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint_fast64_t generation; /* written with the lock held, read without it */
    atomic_int busy;
    int wanted;
    bool stop;
    void (*work)(void *user, int worker);
    void *user;
    struct Worker {
        RelnPool *pool;
        pthread_t thread;
        int index;
    } * workers;
};

static void breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void look_for_work(RelnPool *pool, uint64_t seen)
{
    for (int i = 0; i < LOOKS && atomic_load(&pool->generation) == seen; i++)
        breathe();
}

static void look_for_end(RelnPool *pool)
{
    for (int i = 0; i < LOOKS && atomic_load(&pool->busy) > 0; i++)
        breathe();
}

static void *worker_main(void *arg)
{
    struct Worker *self = arg;
    RelnPool *pool = self->pool;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->generation == seen)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->generation;
        if (self->index >= pool->wanted)
            continue;
        pthread_mutex_unlock(&pool->lock);
        pool->work(pool->user, self->index);
        pthread_mutex_lock(&pool->lock);
        if (atomic_fetch_sub(&pool->busy, 1) == 1)
            pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
        look_for_work(pool, seen);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Give worker threads a fixed stack size. The default follows the limits of the process, which may be too small for a kernel
 * or far too large. */
static bool start(struct Worker *w)
{
    enum { STACK = 1 << 20 };
    pthread_attr_t attr;
    bool started;

    if (pthread_attr_init(&attr) != 0)
        return false;
    started = pthread_attr_setstacksize(&attr, STACK) == 0 &&
              pthread_create(&w->thread, &attr, worker_main, w) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

RelnStatus reln_pool_create(RelnCtx *ctx, int n_threads, RelnPool **out)
{
    RELN_NEED(ctx && out, reln_null(ctx, __func__));

    RelnPool *pool;

    *out = NULL;
    if (n_threads < 1 || n_threads > MAX_THREADS)
        return reln_fail(ctx, RELN_ERR_ARG, "pool: %d threads, wanted 1 to %d", n_threads,
                         MAX_THREADS);
    pool = reln_alloc(ctx, 1, sizeof *pool);
    if (!pool)
        return RELN_ERR_NOMEM;
    pool->ctx = ctx;
    pool->n_threads = n_threads;
    /* With default attributes none of these calls can fail. */
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->wake, NULL);
    (void)pthread_cond_init(&pool->done, NULL);
    *out = pool;
    pool->workers = reln_alloc(ctx, (size_t)n_threads, sizeof *pool->workers);
    if (!pool->workers) {
        reln_pool_destroy(pool);
        *out = NULL;
        return RELN_ERR_NOMEM;
    }
    for (int i = 1; i < n_threads; i++) {
        struct Worker *w = &pool->workers[i];

        w->pool = pool;
        w->index = i;
        if (!start(w)) {
            reln_pool_destroy(pool);
            *out = NULL;
            return reln_fail(ctx, RELN_ERR_NOMEM, "pool: thread %d of %d could not be started",
                             i + 1, n_threads);
        }
        pool->n_started = i;
    }
    return RELN_OK;
}

void reln_pool_destroy(RelnPool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i <= pool->n_started; i++)
        (void)pthread_join(pool->workers[i].thread, NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    reln_free(pool->ctx, pool->workers);
    reln_free(pool->ctx, pool);
}

int reln_pool_threads(const RelnPool *pool)
{
    return pool ? pool->n_threads : 1;
}

void reln_pool_run(RelnPool *pool, int n, void (*work)(void *user, int worker), void *user)
{
    if (pool && n > pool->n_threads)
        n = pool->n_threads;
    if (!pool || n <= 1) {
        work(user, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->user = user;
    pool->wanted = n;
    pool->busy = n - 1;
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    work(user, 0);
    look_for_end(pool);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
