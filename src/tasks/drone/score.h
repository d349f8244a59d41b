/* score.h -- errors of estimated trajectories, by evo's definitions, and three ways to join windows.
 *
 * R1 joins windows that share end points: an error there is the sum of the windows' errors, and a perfect network has none.
 * R2 uses a window's displacement as the velocity at its centre. R3 is the published code: the same velocity, summed from the
 * end of the first window on and compared at the ends of windows, half a window late.
 */
#ifndef TASKS_DRONE_SCORE_H
#define TASKS_DRONE_SCORE_H

#include "tasks/drone/flight.h"

typedef struct DroneScores {
    double window;  /* root mean square error of a displacement, m */
    double ate;     /* root mean square of |p^ - p| at the joints, without alignment */
    double mean;    /* mean of the same distances */
    double percent; /* 100 ate / length of the true path */
    double rte2,
        rte20; /* root mean square of the error of p(t + s) - p(t), s = 2 and 20 s, t every 0.5 s; NAN: too short */
} DroneScores;

/* Computes the scores of n consecutive windows of `size` samples, d (n, 3): errors (n + 1, 3) at their
 * joints. Between joints errors are interpolated linearly. */
void drone_score_tiles(const DroneFlight *f, int size, int n, const double *d, double *errors,
                       DroneScores *out);

/* R2: returns the ate of n windows that begin `stride` samples apart, at their centres. */
double drone_score_centres(const DroneFlight *f, int size, int stride, int n, const double *d);

/* R3, by the rules of the published code: times and true positions at the ends of n windows, and
 * displacements. */
typedef struct DroneCoded {
    int rows, windows; /* rows before 200 s; starts of relative errors */
    double ate, rmse;  /* mean and root mean square of distances */
    double length, percent, drift;
    double rpe, rpe_z; /* over 399 rows from every hundredth row; NAN without one */
} DroneCoded;
DroneCoded drone_score_coded(int n, const double *times, const double *p, const double *d,
                             double window);
/* Computes R3 for windows of a flight. Returns false when memory is out. */
bool drone_score_coded_flight(const DroneFlight *f, int size, int stride, int n, const double *d,
                              DroneCoded *out);

/* evo's statistics of distances between n pairs of points, after `align` (none, or the best rotation and translation). */
typedef struct DroneDistances {
    double rmse, mean, median, std, min, max, sse;
} DroneDistances;
/* est (n, 3) is changed by the alignment. False when memory is out. */
bool drone_distances(int n, double *est, const double *truth, bool align, DroneDistances *out);

#endif
