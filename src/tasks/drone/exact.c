/* exact.c -- the body's motion to rounding accuracy, by CVODE of SUNDIALS; not available without SUNDIALS. */
#include "tasks/drone/flight.h"

#ifdef RELN_HAVE_SUNDIALS

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static int right_hand_side(realtype t, N_Vector s, N_Vector ds, void *command)
{
    (void)t;
    quad_field(command, N_VGetArrayPointer(s), N_VGetArrayPointer(ds));
    return 0;
}

/* The right-hand side jumps from one command to the next, so the solver restarts at each command. */
static bool move_all(void *memory, N_Vector state, int n, const double *commands, double step)
{
    double command[QUAD_ROTORS];
    realtype t;

    if (CVodeSStolerances(memory, 1e-13, 1e-14) != CV_SUCCESS ||
        CVodeSetUserData(memory, command) != CV_SUCCESS ||
        CVodeSetMaxNumSteps(memory, 100000) != CV_SUCCESS)
        return false;
    for (int i = 0; i < n; i++) {
        memcpy(command, commands + (ptrdiff_t)i * QUAD_ROTORS, sizeof command);
        if (CVodeReInit(memory, 0.0, state) != CV_SUCCESS ||
            CVodeSetStopTime(memory, step) != CV_SUCCESS ||
            CVode(memory, step, state, &t, CV_NORMAL) < 0)
            return false;
    }
    return true;
}

bool quad_move(int n, const double *commands, double step, double *s)
{
    SUNContext context;
    N_Vector state = NULL;
    void *memory = NULL;
    SUNNonlinearSolver iteration = NULL;
    bool good = false;

    if (SUNContext_Create(NULL, &context) != 0)
        return false;
    state = N_VNew_Serial(QUAD_STATE, context);
    memory = CVodeCreate(CV_ADAMS, context);
    if (state && memory) {
        memcpy(N_VGetArrayPointer(state), s, QUAD_STATE * sizeof *s);
        iteration = SUNNonlinSol_FixedPoint(state, 0, context);
        good = iteration && CVodeInit(memory, right_hand_side, 0.0, state) == CV_SUCCESS &&
               CVodeSetNonlinearSolver(memory, iteration) == CV_SUCCESS &&
               move_all(memory, state, n, commands, step);
        memcpy(s, N_VGetArrayPointer(state), QUAD_STATE * sizeof *s);
    }
    if (memory)
        CVodeFree(&memory);
    if (iteration)
        SUNNonlinSolFree(iteration);
    if (state)
        N_VDestroy(state);
    SUNContext_Free(&context);
    return good;
}

#else

bool quad_move(int n, const double *commands, double step, double *s)
{
    (void)n, (void)commands, (void)step, (void)s;
    return false;
}

#endif
