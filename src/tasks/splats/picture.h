/* picture.h -- pictures of the reconstruction of hidden splats, and of the attention of tokens. */
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

/* For the first and the last group of an object: its position, the quarter of the groups with its largest
 * attention weights, with their share, and the other groups. centres: (groups, 3); looks: (tokens, tokens),
 * the last tokens are the groups. */
#define SPLATS_LOOKS "attention of group "
RelnStatus splats_draw_looks(TaskRun *run, int groups, const double *centres, int tokens,
                             const double *looks);

#endif
