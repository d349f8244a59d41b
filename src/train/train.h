/* train.h -- declarations that the files of this module share. */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "reln/train.h"

/* Finds the piece that a step belongs to: its index, first step and length; past the end, the last one. -1
 * when there is none. */
typedef struct RelnSchedulePlace {
    int piece;
    uint64_t first, length;
} RelnSchedulePlace;
RelnSchedulePlace reln_schedule_find(const RelnSchedule *schedule, uint64_t step, uint64_t n_steps);

#endif
