/* noise.h -- what a sensor of velocity sees of a flight: noise models, and covariances as they are reported.
 *
 *     DroneSeen seen;
 *     drone_seen_init(&seen, n);
 *     drone_see(&(DroneNoise){DRONE_NOISE_D, DRONE_FRAME_BODY}, &flight, first, &rng, &seen);   // samples first, first + 1, ...
 *     drone_spectral(seen.axes + 9 * i, logs, c);                                              // E diag(logs) E^T
 *
 * A covariance is kept as its axes and variances, since all that networks and filters take of it is a function of those.
 */
#ifndef TASKS_DRONE_NOISE_H
#define TASKS_DRONE_NOISE_H

#include "tasks/drone/flight.h"

typedef enum DroneNoiseKind {
    DRONE_NOISE_A, /* the paper's: the same in all directions, larger with speed */
    DRONE_NOISE_B, /* that along the flight, 0.2 m/s across */
    DRONE_NOISE_C, /* each axis is good or bad for a while: 0.2 and 2 m/s */
    DRONE_NOISE_D, /* 0.2 and 4 m/s */
    DRONE_NOISE_E, /* as C, but bad errors last 0.5 s: Ornstein and Uhlenbeck's process */
    DRONE_NOISE_F, /* the same as D */
    DRONE_NOISE_G, /* two sensors, each with its own D */
    DRONE_NOISES
} DroneNoiseKind;

/* Axes of the covariance. Those of the flight (along, sideways, up) tell the direction of the true velocity to whoever
 * reads the covariance: across it there is no velocity. Those of the body do not. */
typedef enum DroneFrame {
    DRONE_FRAME_BODY,
    DRONE_FRAME_FLIGHT,
    DRONE_FRAME_SEEN, /* of the flight as the noisy velocity has it: reported axes and sizes are those of what was seen */
    DRONE_FRAMES
} DroneFrame;

typedef struct DroneNoise {
    DroneNoiseKind kind;
    DroneFrame frame;
} DroneNoise;
int drone_sensors(const DroneNoise *noise); /* 1 or 2 */

/* What one sensor saw: n samples. */
typedef struct DroneSeen {
    int n;
    double *v;    /* (n, 3), world */
    double *axes; /* (n, 3, 3): orthonormal columns */
    double *var;  /* (n, 3): of the errors along them */
    double *
        slow; /* (n, 3): the variance of a white error whose integral is as wrong; var where errors are white */
} DroneSeen;
bool drone_seen_init(DroneSeen *seen, int n); /* false: memory is out */
void drone_seen_clear(DroneSeen *seen);

/* Draw the errors of seen->n samples of a flight from `first` on. `mean_speed` is the flight's. */
void drone_see(const DroneNoise *noise, const DroneFlight *flight, double mean_speed, int first,
               RelnRng *rng, DroneSeen *seen);
double drone_mean_speed(const DroneFlight *flight);

/* s = E diag(values) E^T of axes (3, 3). */
void drone_spectral(const double *axes, const double *values, double *s);

/* The same samples in a frame turned by r: v -> r v, E -> r E. */
void drone_turn_vector(const double *r, const double *v, double *out);
void drone_turn_seen(const double *r, const DroneSeen *seen, DroneSeen *out);
/* A rotation by Haar's measure. */
void drone_random_rotation(RelnRng *rng, double *r);

#endif
