/* flight.h -- flights of a small quadrotor: the planned path, the body, the controller, and the record.
 *
 *     DroneFlight flight;
 *     if (!drone_fly(&drone_usual, seed, &flight)) ...   // memory is out
 *     flight.p[3 * i], flight.v[3 * i], flight.q[4 * i]  // at i * flight.step seconds
 *     drone_flight_clear(&flight);
 *
 * A flight is a function of (plan, seed). All integration uses fixed steps and no library, so the same program gives the same
 * bits.
 */
#ifndef TASKS_DRONE_FLIGHT_H
#define TASKS_DRONE_FLIGHT_H

#include "kit/kit.h"

/* ---- the body ---------------------------------------------------------------------------------------------------- */

/* The state: position and velocity (world), quaternion w x y z (body to world), angular velocity (body), thrusts. */
enum {
    QUAD_P = 0,
    QUAD_V = 3,
    QUAD_Q = 6,
    QUAD_W = 10,
    QUAD_F = 13,
    QUAD_STATE = 17,
    QUAD_ROTORS = 4
};

/* A Crazyflie 2.x as in gym-pybullet-drones, in SI units. */
#define QUAD_MASS 0.027
#define QUAD_GRAVITY 9.8
#define QUAD_ARM 0.028           /* distance of a rotor along x and along y */
#define QUAD_MOST_THRUST 0.14882 /* of a rotor; four give 2.25 times the weight */
#define QUAD_YAW 0.025126582     /* torque about z per thrust, m */
#define QUAD_LAG 0.03            /* delay of thrust behind its command, s */
extern const double quad_inertia[3];
extern const double
    quad_drag[3]; /* force along the body's axes per speed and sum of rotor speeds */

/* ds/dt of the state for commanded thrusts. */
void quad_field(const double *command, const double *s, double *ds);
/* Takes one step of the fourth-order Runge-Kutta method; the quaternion is normalised afterwards. */
void quad_step(const double *command, double step, double *s);
/* Rotation matrix of the state's quaternion, row by row. */
void quad_attitude(const double *s, double *r);
/* Computes the force along the body's z and the torques from thrusts, and the thrusts for wanted ones, each
 * within its limits. */
void quad_forces(const double *thrusts, double *force, double *torque);
void quad_thrusts(double force, const double *torque, double *thrusts);

/* A QuadGoal is the wanted state of the body. */
typedef struct QuadGoal {
    double p[3], v[3], a[3];
} QuadGoal;
/* Thrusts by the geometric controller of Lee, Leok and McClamroch. */
void quad_control(const QuadGoal *goal, const double *s, double *command);

/* Computes the motion from s under n commands, each held for `step`, by CVODE of SUNDIALS; returns false
 * without SUNDIALS. */
bool quad_move(int n, const double *commands, double step, double *s);

/* ---- flights ----------------------------------------------------------------------------------------------------- */

typedef struct DronePlan {
    double speed;     /* largest speed, m/s */
    double agility;   /* share of the sideways acceleration that thrust allows */
    double box[3];    /* extent of the waypoints, m */
    double rate;      /* rate of the record, Hz; divides 400 */
    double seconds;   /* longest duration, 0: to the end of the path */
    double skipped;   /* seconds of take-off before the record begins; 0: from rest */
    int waypoints[2]; /* smallest and largest number */
} DronePlan;
extern const DronePlan drone_usual;

typedef struct DroneFlight {
    int n;
    double step;       /* s */
    double start;      /* time of the first sample, by the clock of its file; 0 in simulation */
    double *p, *v, *q; /* (n, 3), (n, 3), (n, 4): quaternions w x y z */
    double tracking;   /* root mean square distance from the planned point */
    double saturated;  /* share of time with a thrust at its limit */
    double length;     /* length of the flown path */
    bool spiral;
} DroneFlight;

/* Returns false when memory is out. The caller clears *out. */
bool drone_fly(const DronePlan *plan, uint64_t seed, DroneFlight *out);
bool drone_flight_init(DroneFlight *f, int n, double step); /* zeros */
void drone_flight_clear(DroneFlight *flight);

/* The path as points every 1/400 s. */
enum { DRONE_GOAL_RATE = 400, DRONE_SET_RATE = 80 };
typedef struct DronePath {
    int n;
    double *p; /* (n, 3) */
    bool spiral;
} DronePath;
bool drone_path_init(const DronePlan *plan, uint64_t seed, DronePath *out);
void drone_path_clear(DronePath *path);
/* Returns the goal at the i-th set-point, every 1/80 s. */
QuadGoal drone_path_goal(const DronePath *path, int i);

#endif
