/* noise.h -- measurements of a velocity sensor: noise models, and the reported covariances.
 *
 *     DroneSeen seen;
 *     drone_seen_init(&seen, n);
 *     drone_see(&(DroneNoise){DRONE_NOISE_D, DRONE_FRAME_BODY}, &flight, first, &rng, &seen);   // samples first, first + 1, ...
 *     drone_spectral(seen.axes + 9 * i, logs, c);                                              // E diag(logs) E^T
 *
 * A covariance is stored as its axes and variances, since networks and filters use functions of those.
 */
#ifndef TASKS_DRONE_NOISE_H
#define TASKS_DRONE_NOISE_H

#include "tasks/drone/flight.h"

typedef enum DroneNoiseKind {
    DRONE_NOISE_A, /* the paper's: the same in all directions, larger with speed */
    DRONE_NOISE_B, /* as A along the flight, 0.2 m/s across */
    DRONE_NOISE_C, /* each axis is good or bad for a while: 0.2 and 2 m/s */
    DRONE_NOISE_D, /* 0.2 and 4 m/s */
    DRONE_NOISE_E, /* as C, but bad errors last 0.5 s: Ornstein and Uhlenbeck's process */
    DRONE_NOISE_F, /* the same as D */
    DRONE_NOISE_G, /* two sensors, each with its own D */
    DRONE_NOISES
} DroneNoiseKind;

/* Axes of the covariance. The axes of the flight (along, sideways, up) reveal the direction of the true
 * velocity, because it has no component across. The axes of the body do not. */
typedef enum DroneFrame {
    DRONE_FRAME_BODY,
    DRONE_FRAME_FLIGHT,
    DRONE_FRAME_SEEN, /* axes along and across the noisy velocity instead of the true one; axes and sizes are reported for it */
    DRONE_FRAMES
} DroneFrame;

typedef struct DroneNoise {
    DroneNoiseKind kind;
    DroneFrame frame;
} DroneNoise;
int drone_sensors(const DroneNoise *noise); /* 1 or 2 */

/* A DroneSeen holds the measurements of one sensor: n samples. */
typedef struct DroneSeen {
    int n;
    double *v;    /* (n, 3), world */
    double *axes; /* (n, 3, 3): orthonormal columns */
    double *var;  /* (n, 3): variances of the errors along the axes */
    double *
        slow; /* (n, 3): the variance of a white error whose integral has the same error; equal to var if
               * errors are white */
} DroneSeen;
bool drone_seen_init(DroneSeen *seen, int n); /* false: memory is out */
void drone_seen_clear(DroneSeen *seen);

/* Draws the errors of seen->n samples of a flight from `first` on. `mean_speed` is that of the flight. */
void drone_see(const DroneNoise *noise, const DroneFlight *flight, double mean_speed, int first,
               RelnRng *rng, DroneSeen *seen);
double drone_mean_speed(const DroneFlight *flight);

/* s = E diag(values) E^T of axes (3, 3). */
void drone_spectral(const double *axes, const double *values, double *s);

/* Moves the samples to a frame turned by r: v -> r v, E -> r E. `out` may be `seen` itself. */
void drone_turn_vector(const double *r, const double *v, double *out);
void drone_turn_seen(const double *r, const DroneSeen *seen, DroneSeen *out);
/* Draws a uniformly distributed (Haar) rotation. */
void drone_random_rotation(RelnRng *rng, double *r);

#endif
