/* classic.h -- estimators without learning: integration, weighted means, Kalman's filter and smoothers.
 *
 * The filter models the velocity by an acceleration that is a random walk; its smoothness is the spectral density of the jerk,
 * m^2/s^5. A smoother uses the whole flight, a filter the past; drone_window_filter() uses one window and nothing else, like a
 * network.
 */
#ifndef TASKS_DRONE_CLASSIC_H
#define TASKS_DRONE_CLASSIC_H

#include "tasks/drone/noise.h"

/* A DroneTrack holds velocities with the covariances of their errors: (n, 3) and (n, 3, 3), `step` apart. */
typedef struct DroneTrack {
    int n;
    double step;
    double *v, *r;
} DroneTrack;

/* Makes one track from the measurements of sensors: that of the first sensor, or the mean of two weighted by
 * the inverses of their covariances. With `flat`, all covariances are replaced by the mean of their traces /
 * 3: one size in all directions at all times. */
void drone_track(int n_sensors, const DroneSeen *seen, bool fused, bool flat, DroneTrack *out);
bool drone_track_init(DroneTrack *t, int n, double step); /* false: memory is out */
void drone_track_clear(DroneTrack *t);

/* Estimates velocities from the past (causal), or from the whole track: u (n, 3). Returns false when memory
 * is out. */
bool drone_filter(const DroneTrack *t, double jerk, bool causal, double *u);

/* Computes the displacement over n samples of a track from `first` on, from u (n, 3) by the trapezoid
 * rule. */
void drone_displacement(const double *u, int first, int n, double step, double *d);
/* Computes (n - 1) step times the mean of velocities weighted by the inverses of their covariances. */
void drone_weighted_displacement(const DroneTrack *t, int first, int n, double *d);
/* Estimates the displacement by a filter that uses these samples only; c (3, 3) is the covariance of d. */
void drone_window_filter(const DroneTrack *t, int first, int n, double jerk, double *d, double *c);

/* x = a^-1 of a symmetric positive definite 3 x 3 matrix. */
void drone_inverse(const double *a, double *x);

#endif
