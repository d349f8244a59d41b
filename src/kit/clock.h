/* clock.h -- seconds of the monotonic clock, and of the processor time of this thread. */
#ifndef KIT_CLOCK_H
#define KIT_CLOCK_H

#include <time.h>

static inline double reln_seconds(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double reln_wall_seconds(void)
{
    return reln_seconds(CLOCK_MONOTONIC);
}

static inline double reln_thread_seconds(void)
{
    return reln_seconds(CLOCK_THREAD_CPUTIME_ID);
}

#endif
