/* aside.h -- a thread that does one piece of work while its owner goes on with another. */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H

#include "base/base.h"

typedef struct RelnAside RelnAside;

/* Start the thread, which sleeps until there is work. Caller destroys. */
RelnStatus reln_aside_create(RelnCtx *ctx, RelnAside **out);
void reln_aside_destroy(RelnAside *aside); /* waits for the work at hand; NULL is fine */

/* Begin work(self) in the thread, once the work before it is done; allocates nothing and cannot fail. */
void reln_aside_begin(RelnAside *aside, void (*work)(void *self), void *self);
/* Return when the work is done: at once where there is none. NULL is fine. */
void reln_aside_wait(RelnAside *aside);

#endif
