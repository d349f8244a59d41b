/* schedule.c -- the learning rate as a function of the step: a sequence of pieces. */
#include <math.h>

#include "base/base.h"
#include "train/train.h"

static const char *const names[] = {"constant",    "warm-up", "cosine", "restarts",
                                    "exponential", "steps",   "plateau"};
enum { N_KINDS = sizeof names / sizeof *names };

/* ---- factor of the rate in one piece of T steps, t steps after its beginning ------------------------------------- */

/* floor + (1 - floor) (1 + cos(pi t/T)) / 2: from 1 down to the floor (Loshchilov and Hutter, 2017) */
static double cosine(double floor, double t, double length)
{
    const double pi = 3.14159265358979323846;

    return t < length ? floor + (1.0 - floor) * 0.5 * (1.0 + cos(pi * t / length)) : floor;
}

/* Periods T_0, T_0 m, T_0 m^2, ...: a cosine in each of them. */
static double restarts(const RelnSchedulePiece *p, double t)
{
    const double factor = p->factor > 1.0 ? p->factor : 1.0;
    double period = p->period;

    if (factor <= 1.0)
        return cosine(p->floor, fmod(t, period), period);
    while (t >= period) {
        t -= period;
        period *= factor;
    }
    return cosine(p->floor, t, period);
}

static double factor_of(const RelnSchedulePiece *p, double t, double length, int cuts)
{
    switch (p->kind) {
    case RELN_SCHEDULE_WARMUP:
        return t < length ? p->floor + (1.0 - p->floor) * t / length : 1.0;
    case RELN_SCHEDULE_COSINE:
        return cosine(p->floor, t, length);
    case RELN_SCHEDULE_RESTARTS:
        return restarts(p, t);
    case RELN_SCHEDULE_EXPONENTIAL:
        return fmax(p->floor, pow(p->factor, t / p->period));
    case RELN_SCHEDULE_STEPS:
        return fmax(p->floor, pow(p->factor, floor(t / p->period)));
    case RELN_SCHEDULE_PLATEAU:
        return fmax(p->floor, pow(p->factor, cuts));
    case RELN_SCHEDULE_CONSTANT:
    default:
        return 1.0;
    }
}

/* ---- the sequence of pieces ------------------------------------------------------------------------------------- */

static uint64_t length_of(const RelnSchedulePiece *p, uint64_t first, uint64_t n_steps)
{
    const uint64_t left = n_steps > first ? n_steps - first : 0;

    if (p->steps == 0)
        return left;
    return p->steps < UINT64_MAX - first ? p->steps : UINT64_MAX - first;
}

RelnSchedulePlace reln_schedule_find(const RelnSchedule *schedule, uint64_t step, uint64_t n_steps)
{
    RelnSchedulePlace at = {.piece = -1};

    for (int i = 0; i < schedule->n_pieces; i++) {
        const uint64_t first = at.first + at.length;

        at = (RelnSchedulePlace){i, first, length_of(&schedule->piece[i], first, n_steps)};
        if (step < at.first + at.length || schedule->piece[i].steps == 0)
            break;
    }
    return at;
}

double reln_schedule_rate(const RelnSchedule *schedule, uint64_t step, uint64_t n_steps, int cuts)
{
    RELN_NEED(schedule, 0);

    const RelnSchedulePlace at = reln_schedule_find(schedule, step, n_steps);
    const RelnSchedulePiece *p;
    uint64_t since;

    if (at.piece < 0)
        return schedule->rate;
    p = &schedule->piece[at.piece];
    since = step - at.first;
    since -= p->hold > 1 ? since % p->hold : 0;
    return schedule->rate * (p->scale > 0.0 ? p->scale : 1.0) *
           factor_of(p, (double)since, (double)at.length, cuts);
}

/* ---- checking --------------------------------------------------------------------------------------------------- */

static bool in(double x, double least, double most)
{
    return x >= least && x <= most;
}

static bool has_period(RelnScheduleKind kind)
{
    return kind == RELN_SCHEDULE_RESTARTS || kind == RELN_SCHEDULE_EXPONENTIAL ||
           kind == RELN_SCHEDULE_STEPS;
}

/* A factor of 0 means "not given": restarts then keep their period. */
static bool factor_fits(const RelnSchedulePiece *p)
{
    switch (p->kind) {
    case RELN_SCHEDULE_RESTARTS:
        return p->factor == 0.0 || in(p->factor, 1.0, 1e6);
    case RELN_SCHEDULE_EXPONENTIAL:
    case RELN_SCHEDULE_STEPS:
        return in(p->factor, 1e-6, 1e6);
    case RELN_SCHEDULE_PLATEAU:
        return p->factor > 0.0 && p->factor < 1.0;
    case RELN_SCHEDULE_CONSTANT:
    case RELN_SCHEDULE_WARMUP:
    case RELN_SCHEDULE_COSINE:
    default:
        return true;
    }
}

static RelnStatus check_piece(RelnCtx *ctx, const RelnSchedulePiece *p, int index)
{
    const char *name = (unsigned)p->kind < N_KINDS ? names[p->kind] : NULL;

    if (!name)
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: piece %d is of unknown kind %d", index,
                         (int)p->kind);
    if (!in(p->floor, 0.0, 1.0))
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: %s: floor %g, wanted 0 to 1", name,
                         p->floor);
    if (!in(p->scale, 0.0, 1e12))
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: %s: scale %g, wanted 0 to 1e12", name,
                         p->scale);
    if (has_period(p->kind) && !in(p->period, 1.0, 1e18))
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: %s: period %g, wanted at least 1 step", name,
                         p->period);
    if (!factor_fits(p))
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: %s: factor %g, wanted %s", name, p->factor,
                         p->kind == RELN_SCHEDULE_RESTARTS  ? "1 to 1e6"
                         : p->kind == RELN_SCHEDULE_PLATEAU ? "between 0 and 1"
                                                            : "1e-6 to 1e6");
    if (p->kind == RELN_SCHEDULE_PLATEAU && p->patience < 1)
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: plateau: patience %d, wanted at least 1",
                         p->patience);
    return RELN_OK;
}

/* A single counter counts the cuts of the rate, so only one piece may be a plateau. */
static RelnStatus check_plateaus(RelnCtx *ctx, const RelnSchedule *s)
{
    int count = 0;

    for (int i = 0; i < s->n_pieces; i++)
        count += s->piece[i].kind == RELN_SCHEDULE_PLATEAU;
    return count < 2 ? RELN_OK
                     : reln_fail(ctx, RELN_ERR_ARG,
                                 "schedule: %d pieces wait for a plateau, wanted at most 1", count);
}

static RelnStatus check_lengths(RelnCtx *ctx, const RelnSchedule *s, uint64_t n_steps)
{
    uint64_t total = 0;

    for (int i = 0; i < s->n_pieces; i++) {
        const uint64_t steps = s->piece[i].steps;

        if (steps == 0 && i < s->n_pieces - 1)
            return reln_fail(ctx, RELN_ERR_ARG,
                             "schedule: piece %d of %d lasts to the end, only the last one can", i,
                             s->n_pieces);
        if (steps == 0 || steps >= n_steps - total)
            total = n_steps;
        else
            total += steps;
    }
    return total == n_steps || s->n_pieces == 0
               ? RELN_OK
               : reln_fail(ctx, RELN_ERR_ARG, "schedule: it ends after %llu of %llu steps",
                           (unsigned long long)total, (unsigned long long)n_steps);
}

RelnStatus reln_schedule_check(RelnCtx *ctx, const RelnSchedule *schedule, uint64_t n_steps)
{
    RELN_NEED(ctx && schedule, reln_null(ctx, __func__));

    if (!(schedule->rate > 0.0 && isfinite(schedule->rate)))
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: rate %g, wanted a number above 0",
                         schedule->rate);
    if (schedule->n_pieces < 0 || schedule->n_pieces > RELN_SCHEDULE_MAX)
        return reln_fail(ctx, RELN_ERR_ARG, "schedule: %d pieces, wanted 0 to %d",
                         schedule->n_pieces, RELN_SCHEDULE_MAX);
    for (int i = 0; i < schedule->n_pieces; i++)
        RELN_TRY(check_piece(ctx, &schedule->piece[i], i));
    RELN_TRY(check_plateaus(ctx, schedule));
    return check_lengths(ctx, schedule, n_steps);
}
