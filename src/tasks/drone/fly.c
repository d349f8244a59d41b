/* fly.c -- a flight: the controller leads the body along its path, and the motion is recorded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/drone/flight.h"

enum { SUBSTEPS = 2 }; /* steps of the body for each command, 800 Hz */

bool drone_flight_init(DroneFlight *f, int n, double step)
{
    *f = (DroneFlight){.n = n, .step = step};
    f->p = calloc((size_t)n * 3, sizeof *f->p);
    f->v = calloc((size_t)n * 3, sizeof *f->v);
    f->q = calloc((size_t)n * 4, sizeof *f->q);
    if (f->p && f->v && f->q)
        return true;
    drone_flight_clear(f);
    return false;
}

void drone_flight_clear(DroneFlight *f)
{
    free(f->p);
    free(f->v);
    free(f->q);
    *f = (DroneFlight){0};
}

static void record(DroneFlight *f, int i, const double *s)
{
    memcpy(f->p + 3 * i, s + QUAD_P, 3 * sizeof *s);
    memcpy(f->v + 3 * i, s + QUAD_V, 3 * sizeof *s);
    memcpy(f->q + 4 * i, s + QUAD_Q, 4 * sizeof *s);
    for (int j = 0; i > 0 && j == 0; j++)
        f->length += sqrt(pow(s[0] - f->p[3 * i - 3], 2) + pow(s[1] - f->p[3 * i - 2], 2) +
                          pow(s[2] - f->p[3 * i - 1], 2));
}

/* Lets the body hover at the beginning of the path. */
static void hover(const DronePath *path, double *s)
{
    memset(s, 0, QUAD_STATE * sizeof *s);
    memcpy(s + QUAD_P, path->p, 3 * sizeof *s);
    s[QUAD_Q] = 1;
    for (int i = 0; i < QUAD_ROTORS; i++)
        s[QUAD_F + i] = QUAD_MASS * QUAD_GRAVITY / QUAD_ROTORS;
}

/* Extrapolates the goal between set-points with the acceleration of the last one. */
static QuadGoal goal_at(const DronePath *path, int tick)
{
    const int each = DRONE_GOAL_RATE / DRONE_SET_RATE;
    const double t = (double)(tick % each) / DRONE_GOAL_RATE;
    QuadGoal goal = drone_path_goal(path, tick / each);

    for (int i = 0; i < 3; i++) {
        goal.p[i] += t * (goal.v[i] + 0.5 * t * goal.a[i]);
        goal.v[i] += t * goal.a[i];
    }
    return goal;
}

static bool at_limit(const double *command)
{
    for (int i = 0; i < QUAD_ROTORS; i++)
        if (command[i] <= 0 || command[i] >= QUAD_MOST_THRUST)
            return true;
    return false;
}

bool drone_fly(const DronePlan *plan, uint64_t seed, DroneFlight *out)
{
    const int each = (int)lrint(DRONE_GOAL_RATE / plan->rate),
              first = (int)(plan->skipped * DRONE_GOAL_RATE);
    const int most = plan->seconds > 0 ? (int)(plan->seconds * plan->rate) + 1 : 1 << 30;
    double s[QUAD_STATE], command[QUAD_ROTORS], square = 0;
    int ticks, n, limited = 0;
    DronePath path;

    if (!drone_path_init(plan, seed, &path))
        return false;
    n = path.n > first + each ? (path.n - first) / each : 1;
    n = n < most ? n : most;
    if (!drone_flight_init(out, n, 1 / plan->rate)) {
        drone_path_clear(&path);
        return false;
    }
    out->spiral = path.spiral;
    hover(&path, s);
    ticks = first + (n - 1) * each;
    for (int tick = 0; tick <= ticks; tick++) {
        const QuadGoal goal = goal_at(&path, tick);

        if (tick >= first && (tick - first) % each == 0)
            record(out, (tick - first) / each, s);
        for (int i = 0; i < 3; i++)
            square += (goal.p[i] - s[i]) * (goal.p[i] - s[i]);
        quad_control(&goal, s, command);
        limited += at_limit(command);
        for (int i = 0; i < SUBSTEPS; i++)
            quad_step(command, 1.0 / (DRONE_GOAL_RATE * SUBSTEPS), s);
    }
    out->tracking = sqrt(square / (ticks + 1));
    out->saturated = (double)limited / (ticks + 1);
    drone_path_clear(&path);
    return true;
}
