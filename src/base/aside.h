/* aside.h -- a thread that does one piece of work while its owner continues. */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H

#include "base/base.h"

typedef struct RelnAside RelnAside;

/* Starts the thread, which sleeps until there is work. Caller destroys *out. */
RelnStatus reln_aside_create(RelnCtx *ctx, RelnAside **out);
void reln_aside_destroy(RelnAside *aside); /* waits for the current work; NULL is fine */

/* Begins work(self) in the thread, when the work before it is done; allocates nothing and cannot fail. */
void reln_aside_begin(RelnAside *aside, void (*work)(void *self), void *self);
/* Waits until the work is done; returns at once if there is none. NULL is fine. */
void reln_aside_wait(RelnAside *aside);

#endif
