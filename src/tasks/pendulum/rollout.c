/* rollout.c -- computes all motions together with a plan of the velocity, and their errors as published. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/pendulum/pendulum.h"

/* ---- moving ---------------------------------------------------------------------------------------------------- */

typedef struct Mover {
    const PendRollout *r;
    int groups;   /* number of samples of the plan */
    size_t count; /* number of numbers of all states, packed */
    double *z, *at, *k,
        *sum; /* the current state, the point of evaluation, the velocity there, the mean velocity of the
               * step */
} Mover;

/* k = velocity at `at` */
static RelnStatus velocity(Mover *m)
{
    const RelnStatus status = reln_plan_run(m->r->plan, &(RelnRun){.n_samples = m->groups});
    const void *out;

    if (status != RELN_OK)
        return status;
    out = reln_plan_output(m->r->plan, "out", NULL);
    for (size_t i = 0; i < m->count; i++)
        m->k[i] =
            m->r->dtype == RELN_F32 ? (double)((const float *)out)[i] : ((const double *)out)[i];
    return RELN_OK;
}

/* sum += share k; the next point of evaluation is z + ahead k */
static void take(Mover *m, double share, double ahead)
{
    for (size_t i = 0; i < m->count; i++) {
        m->sum[i] += share * m->k[i];
        m->at[i] = m->z[i] + ahead * m->k[i];
    }
}

static RelnStatus step(Mover *m, double h)
{
    static const double share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6},
                        ahead[4] = {0.5, 0.5, 1, 0};

    memset(m->sum, 0, m->count * sizeof *m->sum);
    memcpy(m->at, m->z, m->count * sizeof *m->at);
    for (int i = 0; i < 4; i++) {
        const RelnStatus status = velocity(m);

        if (status != RELN_OK)
            return status;
        take(m, share[i], ahead[i] * h);
    }
    for (size_t i = 0; i < m->count; i++)
        m->z[i] += h * m->sum[i];
    return RELN_OK;
}

/* Copies the states of one time to the motions (n, 150, 12). */
static void record(const Mover *m, int t, double *z)
{
    pend_unpack(m->r->n, m->r->abreast, PEND_STATE, m->z, m->k);
    for (int i = 0; i < m->r->n; i++)
        memcpy(z + ((size_t)i * PEND_ROLLOUT + (size_t)t) * PEND_STATE, m->k + i * PEND_STATE,
               PEND_STATE * sizeof *z);
}

static RelnStatus move(Mover *m, double *z)
{
    const int substeps = (int)ceil(PEND_INTERVAL / m->r->h - 1e-9);
    RelnStatus status = reln_plan_bind_sized(m->r->plan, "z", m->at, RELN_F64, m->count);

    for (int t = 0; t < PEND_ROLLOUT && status == RELN_OK; t++) {
        for (int s = 0; s < substeps && t > 0 && status == RELN_OK; s++)
            status = step(m, PEND_INTERVAL / substeps);
        record(m, t, z);
    }
    return status;
}

RelnStatus pend_rollout(const PendRollout *r, const double *starts, double *z)
{
    Mover m = {.r = r, .groups = pend_groups(r->n, r->abreast)};
    RelnStatus status = RELN_ERR_NOMEM;
    double *room;

    m.count = (size_t)m.groups * (size_t)r->abreast * PEND_STATE;
    room = calloc(4 * m.count, sizeof *room);

    if (room) {
        m.z = room;
        m.at = room + m.count;
        m.k = room + 2 * m.count;
        m.sum = room + 3 * m.count;
        pend_pack(r->n, r->abreast, PEND_STATE, starts, m.z);
        status = move(&m, z);
    }
    free(room);
    return status;
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static double size(const double *x)
{
    double sum = 0;

    for (int i = 0; i < PEND_STATE; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* Returns an error in [0, 1]; 1 if it is not a number. */
static double error_of(const double *z, const double *truth)
{
    double d[PEND_STATE], e;

    for (int i = 0; i < PEND_STATE; i++)
        d[i] = z[i] - truth[i];
    e = size(d) / (size(z) + size(truth));
    return isfinite(e) ? e : 1.0;
}

/* Returns the larger of two numbers; NaN counts as larger than any number. */
static double larger(double a, double b)
{
    return a >= b ? a : b;
}

/* Computes the largest change of energy and spin along one motion. */
static void drift(const PendSystem *system, const double *z, PendErrors *e, int n)
{
    const double energy = pend_energy(system, z), spin = pend_spin(z);
    double worst[2] = {0, 0};

    for (int t = 1; t < PEND_ROLLOUT; t++) {
        const double *now = z + (ptrdiff_t)t * PEND_STATE;

        worst[0] = larger(worst[0], fabs(pend_energy(system, now) - energy));
        worst[1] = larger(worst[1], fabs(pend_spin(now) - spin));
    }
    e->energy += worst[0] / n;
    e->spin += worst[1] / n;
}

PendErrors pend_errors(const PendSystem *system, const double *z, const double *truth, int n)
{
    PendErrors e = {0};

    for (int t = 0; t < PEND_ROLLOUT; t++) {
        double table = 0, log_ = 0;

        for (int i = 0; i < n; i++) {
            const ptrdiff_t at = ((ptrdiff_t)i * PEND_ROLLOUT + t) * PEND_STATE;
            const double off = error_of(z + at, truth + at);

            table += log(fmax(off, 1e-5)) / n;
            log_ += log(fmax(off, 1e-7)) / n;
        }
        e.table += table / PEND_ROLLOUT;
        e.log += log_ / PEND_ROLLOUT;
        e.moving += t > 0 ? log_ / (PEND_ROLLOUT - 1) : 0;
        e.at[t] = exp(log_);
    }
    e.table = exp(e.table);
    e.log = exp(e.log);
    e.moving = exp(e.moving);
    for (int i = 0; i < n; i++)
        drift(system, z + (ptrdiff_t)i * PEND_ROLLOUT * PEND_STATE, &e, n);
    return e;
}
