/* data.h -- the published data set, made again from its seed.
 *
 *     PendData data;
 *     if (pend_data_init(&data, &PEND_AS_PUBLISHED, 500)) ... data.chunks[PEND_TRAIN] ...
 *     pend_data_clear(&data);
 *
 * 5000 systems start at x1 = (0,0,-1.5) + 0.2 N, x2 = (0,0,-3) + 0.2 N, p = 0.4 N and move for 30 time units, seen
 * every 0.2; of the 30 disjoint chunks of five states of each, one is kept, drawn at random. 500 of them train, 500 validate,
 * 500 test, 3500 are not used. A test starts where its chunk does, and is compared for 150 states.
 */
#ifndef TASKS_PENDULUM_DATA_H
#define TASKS_PENDULUM_DATA_H

#include "tasks/pendulum/system.h"

enum { PEND_TRAIN, PEND_VALID, PEND_TEST, PEND_SPLITS };
enum { PEND_CHUNK = 5, PEND_CHUNKS = 30, PEND_ROLLOUT = PEND_CHUNK * PEND_CHUNKS };
enum { PEND_SYSTEMS = 5000, PEND_SPLIT = 500 };
#define PEND_INTERVAL 0.2

/* Where a row of a split comes from. */
typedef struct PendRow {
    int system, chunk;
} PendRow;

typedef struct PendData {
    int n; /* rows of every split */
    PendRow rows[PEND_SPLITS][PEND_SPLIT];
    double *chunks[PEND_SPLITS]; /* (n, 5, 12) */
    double *truth;               /* (n, 150, 12): what follows the first state of each test chunk */
} PendData;

/* The first n rows of each split, 1 to PEND_SPLIT. False when memory was out; clear it in either case. */
bool pend_data_init(PendData *data, const PendSystem *system, int n);
void pend_data_clear(PendData *data);

#endif
