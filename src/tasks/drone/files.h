/* files.h -- reads and writes flights: EuRoC's csv, TUM's text, and .npz. */
#ifndef TASKS_DRONE_FILES_H
#define TASKS_DRONE_FILES_H

#include "tasks/drone/noise.h"

/* Reads a flight: EuRoC's csv (time in ns or us, p, q w x y z, and v where there are more columns), or TUM's
 * text (time in s, p, q x y z w; further columns are ignored). The mean step between rows gives the unit of
 * time. If columns have names, a name that ends with w marks the quaternion's w, and names that begin with v
 * mark velocities. If there are no velocities, they are computed as differences of positions smoothed over 50
 * ms. The flight is resampled every `step`, linearly between rows.
 *   Fails   RELN_ERR_FORMAT with the line: other columns, time that does not increase, a gap of more than 0.5 s,
 *           a number that is not finite, a quaternion without length; RELN_ERR_NUMERIC when it is shorter than
 *           a window
 * The caller clears it. */
RelnStatus drone_flight_load(RelnCtx *ctx, const char *path, double step, int least,
                             DroneFlight *out);

/* Reads a flight and the record of its sensors from a .npz: t (n), p (n, 3), v1 (n, 3), C1 (n, 3, 3), for two
 * sensors v2 and C2; and q (n, 4), w x y z, where there is one. Errors are taken as white. drone_flight_save()
 * writes such files.
 * Fails   RELN_ERR_FORMAT with the row: arrays that are missing or of other shapes, times that are not `step`
 *         apart, a number that is not finite, a covariance that is not positive definite; RELN_ERR_NUMERIC when
 *         it is shorter than `least` samples
 * The caller clears all of it. */
RelnStatus drone_flight_load_seen(RelnCtx *ctx, const char *path, double step, int least,
                                  int sensors, DroneFlight *out, DroneSeen *seen);

/* Writes an estimated trajectory as TUM text: n points, every `every` samples of the flight, its positions plus
 * `errors` (n, 3; NULL: none). Orientations are the flight's: nothing here estimates them. */
RelnStatus drone_estimate_save(RelnCtx *ctx, const char *path, const DroneFlight *f, int n,
                               int every, const double *errors);

/* Writes FOLDER/NAME.npz (t, p, v, q; and for each sensor v1, C1, v2, C2) and FOLDER/NAME.tum. */
RelnStatus drone_flight_save(RelnCtx *ctx, const char *folder, const char *name,
                             const DroneFlight *f, int sensors, const DroneSeen *seen);

#endif
