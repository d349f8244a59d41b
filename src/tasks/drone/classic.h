/* classic.h -- estimators without learning: integration, weighted means, Kalman's filter and smoothers.
 *
 * The filter believes in a velocity whose acceleration is a random walk, and its measure of smoothness is the spectral
 * density of the jerk, m^2/s^5. A smoother sees the whole flight, a filter the past; drone_window_filter() sees one
 * window and nothing else, as a network does.
 */
#ifndef TASKS_DRONE_CLASSIC_H
#define TASKS_DRONE_CLASSIC_H

#include "tasks/drone/noise.h"

/* Velocities with the covariances of their errors: (n, 3) and (n, 3, 3), `step` apart. */
typedef struct DroneTrack {
    int n;
    double step;
    double *v, *r;
} DroneTrack;

/* One track of what sensors saw: the first one's, or the mean of two weighed by the inverses of their covariances. With
 * `flat`, all covariances are the mean of their traces / 3: one size in all directions at all times. */
void drone_track(int n_sensors, const DroneSeen *seen, bool fused, bool flat, DroneTrack *out);
bool drone_track_init(DroneTrack *t, int n, double step); /* false: memory is out */
void drone_track_clear(DroneTrack *t);

/* Velocities estimated from the past (causal), or from the whole track: u (n, 3). False when memory is out. */
bool drone_filter(const DroneTrack *t, double jerk, bool causal, double *u);

/* The displacement over n samples of a track from `first` on: sum of trapezoids of u (n, 3). */
void drone_displacement(const double *u, int first, int n, double step, double *d);
/* (n - 1) step times the mean of velocities weighed by the inverses of their covariances. */
void drone_weighted_displacement(const DroneTrack *t, int first, int n, double *d);
/* The same by a filter that knows these samples only; c (3, 3): covariance of d. */
void drone_window_filter(const DroneTrack *t, int first, int n, double jerk, double *d, double *c);

/* x = a^-1 of a symmetric positive definite 3 x 3 matrix. */
void drone_inverse(const double *a, double *x);

#endif
