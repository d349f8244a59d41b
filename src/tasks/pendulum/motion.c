/* motion.c -- the pendulum's motion to rounding accuracy, by CVODE of SUNDIALS; not available without
 * SUNDIALS. */
#include "tasks/pendulum/pendulum.h"

#ifdef RELN_HAVE_SUNDIALS

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

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

/* Uses Adams and fixed-point iteration, because the system is not stiff. */
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
    PendSystem system = *s; /* CVODE returns it without const */
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

bool pend_can_move(void)
{
    return true;
}

#else

bool pend_motion(const PendSystem *s, const double *z0, double dt, int n, double *z)
{
    (void)s, (void)z0, (void)dt, (void)n, (void)z;
    return false;
}

bool pend_can_move(void)
{
    return false;
}

#endif
