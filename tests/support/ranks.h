/* ranks.h -- ranks as threads of this process: a communicator for tests of what processes do together. */
#ifndef TESTS_SUPPORT_RANKS_H
#define TESTS_SUPPORT_RANKS_H

#include "reln/comm.h"

enum { RANKS_MOST = 16 };

typedef struct RanksTraffic {
    unsigned long long bytes[RANKS_MOST], messages[RANKS_MOST]; /* sent by each rank */
} RanksTraffic;

/* Run a function on every rank, each in a thread of its own, and wait for all. A rank that returns is gone: who waits for
 * it gets an error. traffic may be NULL. */
void ranks_run(int size, void (*work)(const RelnComm *comm, void *user), void *user,
               RanksTraffic *traffic);

#endif
