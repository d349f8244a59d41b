/* aside.c -- see aside.h. */
#include "base/aside.h"

#include <pthread.h>

struct RelnAside {
    RelnCtx *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void *self); /* NULL: no work */
    void *self;
    bool stop;
};

static void *thread_main(void *arg)
{
    RelnAside *a = arg;

    pthread_mutex_lock(&a->lock);
    while (!a->stop || a->work) {
        if (!a->work) {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        pthread_mutex_unlock(&a->lock);
        a->work(a->self);
        pthread_mutex_lock(&a->lock);
        a->work = NULL;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Starts the thread with a fixed stack size; the default would follow the limits of the process. */
static bool start(RelnAside *a)
{
    enum { STACK = 1 << 20 };
    pthread_attr_t attr;
    bool started;

    if (pthread_attr_init(&attr) != 0)
        return false;
    started = pthread_attr_setstacksize(&attr, STACK) == 0 &&
              pthread_create(&a->thread, &attr, thread_main, a) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

static void release(RelnAside *a)
{
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    reln_free(a->ctx, a);
}

RelnStatus reln_aside_create(RelnCtx *ctx, RelnAside **out)
{
    RelnAside *a = reln_alloc(ctx, 1, sizeof *a);

    *out = NULL;
    if (!a)
        return RELN_ERR_NOMEM;
    a->ctx = ctx;
    /* With default attributes neither call can fail. */
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->changed, NULL);
    if (!start(a)) {
        release(a);
        return reln_fail(ctx, RELN_ERR_NOMEM, "a thread that reads data could not be started");
    }
    *out = a;
    return RELN_OK;
}

void reln_aside_destroy(RelnAside *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    (void)pthread_join(a->thread, NULL);
    release(a);
}

static void wait_locked(RelnAside *a)
{
    while (a->work)
        pthread_cond_wait(&a->changed, &a->lock);
}

void reln_aside_begin(RelnAside *a, void (*work)(void *self), void *self)
{
    pthread_mutex_lock(&a->lock);
    wait_locked(a);
    a->work = work;
    a->self = self;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

void reln_aside_wait(RelnAside *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    wait_locked(a);
    pthread_mutex_unlock(&a->lock);
}
