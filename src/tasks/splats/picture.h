/* picture.h -- the reconstruction of hidden splats as a picture. */
#ifndef TASKS_SPLATS_PICTURE_H
#define TASKS_SPLATS_PICTURE_H

#include "tasks/splats/splats.h"

/* A SplatsPicture holds the first object of a batch, and the reconstruction of its hidden groups. */
typedef struct SplatsPicture {
    const SplatsNet *net;
    const SplatsBatch *batch;
    const double *rebuilt; /* (masked, slots, SPLATS_REBUILT) */
    double mean[3], most;  /* mean and range of the object's scales, for the baseline */
} SplatsPicture;

/* Adds the outlines of some hidden splats, and of their reconstruction, as curves of the run. */
RelnStatus splats_draw_picture(TaskRun *run, const SplatsPicture *picture, const char *guess,
                               const char *truth);

#endif
