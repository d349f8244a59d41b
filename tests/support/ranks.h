/* ranks.h -- ranks as threads of this process: a communicator for tests of collective work. */
#ifndef TESTS_SUPPORT_RANKS_H
#define TESTS_SUPPORT_RANKS_H

#include "reln/comm.h"

enum { RANKS_MOST = 16 };

typedef struct RanksTraffic {
    unsigned long long bytes[RANKS_MOST], messages[RANKS_MOST]; /* sent by each rank */
} RanksTraffic;

/* Runs a function on every rank, each in a separate thread, and waits for all. A rank ends when the function
 * returns; a rank that waits for an ended one gets an error. traffic may be NULL. */
void ranks_run(int size, void (*work)(const RelnComm *comm, void *user), void *user,
               RanksTraffic *traffic);

#endif
