/* system.c -- energy and field of the pendulum; its motion by CVODE. */
#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include "tasks/pendulum/pendulum.h"

static double norm3(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void difference(const double *z, double *d)
{
    for (int i = 0; i < 3; i++)
        d[i] = z[i] - z[3 + i];
}

double pend_energy(const PendSystem *s, const double *z)
{
    double d[3], kinetic = 0, u, w;

    difference(z, d);
    u = norm3(z) - 1;
    w = norm3(d) - 1;
    for (int i = 6; i < PEND_STATE; i++)
        kinetic += z[i] * z[i] / 2;
    return kinetic + u * u / 2 + s->stiffness / 2 * w * w + z[2] + z[5];
}

/* a = (1 - 1/|x1|) x1, b = stiffness (1 - 1/|x1-x2|) (x1 - x2): p1dot = -a - b - ez, p2dot = b - ez */
void pend_field(const PendSystem *s, const double *z, double *zdot)
{
    double d[3], pull, push;

    difference(z, d);
    pull = 1 - 1 / norm3(z);
    push = s->stiffness * (1 - 1 / norm3(d));
    memcpy(zdot, z + 6, 6 * sizeof *z);
    for (int i = 0; i < 3; i++) {
        zdot[6 + i] = -pull * z[i] - push * d[i] - (i == 2);
        zdot[9 + i] = push * d[i] - (i == 2);
    }
}

double pend_spin(const double *z)
{
    return z[0] * z[7] - z[1] * z[6] + z[3] * z[10] - z[4] * z[9];
}

/* ---- CVODE ------------------------------------------------------------------------------------------------------ */

typedef struct Solver {
    SUNContext context;
    void *memory;
    N_Vector state;
    SUNNonlinearSolver iteration;
} Solver;

static int right_hand_side(realtype t, N_Vector z, N_Vector zdot, void *system)
{
    (void)t;
    pend_field(system, N_VGetArrayPointer(z), N_VGetArrayPointer(zdot));
    return 0;
}

static void no_message(int code, const char *module, const char *function, char *text, void *data)
{
    (void)code, (void)module, (void)function, (void)text, (void)data;
}

/* Adams and fixed-point iteration: nothing here is stiff. */
static bool open_solver(Solver *c, PendSystem *system, const double *z0)
{
    if (SUNContext_Create(NULL, &c->context) != 0)
        return false;
    c->state = N_VNew_Serial(PEND_STATE, c->context);
    c->memory = CVodeCreate(CV_ADAMS, c->context);
    if (!c->state || !c->memory)
        return false;
    c->iteration = SUNNonlinSol_FixedPoint(c->state, 0, c->context);
    memcpy(N_VGetArrayPointer(c->state), z0, PEND_STATE * sizeof *z0);
    return c->iteration && CVodeInit(c->memory, right_hand_side, 0.0, c->state) == CV_SUCCESS &&
           CVodeSetErrHandlerFn(c->memory, no_message, NULL) == CV_SUCCESS &&
           CVodeSStolerances(c->memory, 1e-13, 1e-14) == CV_SUCCESS &&
           CVodeSetUserData(c->memory, system) == CV_SUCCESS &&
           CVodeSetMaxNumSteps(c->memory, 100000) == CV_SUCCESS &&
           CVodeSetNonlinearSolver(c->memory, c->iteration) == CV_SUCCESS;
}

static void close_solver(Solver *c)
{
    if (c->memory)
        CVodeFree(&c->memory);
    if (c->iteration)
        SUNNonlinSolFree(c->iteration);
    if (c->state)
        N_VDestroy(c->state);
    if (c->context)
        SUNContext_Free(&c->context);
}

bool pend_motion(const PendSystem *s, const double *z0, double dt, int n, double *z)
{
    PendSystem system = *s; /* CVODE hands it back without const */
    Solver c = {0};
    bool good = open_solver(&c, &system, z0);
    realtype reached = 0;

    for (int i = 0; i < n && good; i++) {
        if (i > 0)
            good = CVode(c.memory, i * dt, c.state, &reached, CV_NORMAL) == CV_SUCCESS;
        memcpy(z + (size_t)i * PEND_STATE, N_VGetArrayPointer(c.state), PEND_STATE * sizeof *z);
    }
    close_solver(&c);
    return good;
}
