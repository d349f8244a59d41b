/* noise.c -- see noise.h. */
#include "tasks/drone/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 0.2 /* m/s: smallest error of a sensor */
#define BAD_MEAN 0.4
#define GOOD_MEAN 1.6 /* seconds that an axis stays bad, and good */
#define MEMORY 0.5    /* correlation time of slow errors, s */

/* Size of the errors of a bad axis, and whether they are then slow. */
static const struct {
    double bad;
    bool slow;
} switching[DRONE_NOISES] = {[DRONE_NOISE_C] = {2, false},
                             [DRONE_NOISE_D] = {4, false},
                             [DRONE_NOISE_E] = {2, true},
                             [DRONE_NOISE_F] = {4, true},
                             [DRONE_NOISE_G] = {4, false}};

int drone_sensors(const DroneNoise *noise)
{
    return noise->kind == DRONE_NOISE_G ? 2 : 1;
}

bool drone_seen_init(DroneSeen *s, int n)
{
    *s = (DroneSeen){.n = n};
    s->v = calloc((size_t)n * 18, sizeof *s->v);
    if (!s->v)
        return false;
    s->axes = s->v + 3 * (ptrdiff_t)n;
    s->var = s->axes + 9 * (ptrdiff_t)n;
    s->slow = s->var + 3 * (ptrdiff_t)n;
    return true;
}

void drone_seen_clear(DroneSeen *s)
{
    free(s->v);
    *s = (DroneSeen){0};
}

static double length(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

double drone_mean_speed(const DroneFlight *f)
{
    double sum = 0;

    for (int i = 0; i < f->n; i++)
        sum += length(f->v + 3 * (ptrdiff_t)i);
    return sum / f->n;
}

/* The paper's size of errors as a function of speed. */
static double size_at(double speed, double middle)
{
    return LEAST + 0.8 / (1 + exp(-0.8 * (speed - middle)));
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

/* Writes columns along v, sideways and level, and across both; the level one is the world's y if v is
 * vertical. */
static void flight_axes(const double *v, double *e)
{
    const double speed = length(v), level = sqrt(v[0] * v[0] + v[1] * v[1]);
    const double a[3] = {speed > 0 ? v[0] / speed : 1, speed > 0 ? v[1] / speed : 0,
                         speed > 0 ? v[2] / speed : 0};
    const double b[3] = {level > 0 ? -v[1] / level : 0, level > 0 ? v[0] / level : 1, 0};

    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        e[3 * i] = a[i];
        e[3 * i + 1] = b[i];
        e[3 * i + 2] = a[j] * b[k] - a[k] * b[j];
    }
}

static void body_axes(const double *q, double *e)
{
    double s[QUAD_STATE] = {0};

    memcpy(s + QUAD_Q, q, 4 * sizeof *q);
    quad_attitude(s, e);
}

static void axes_at(const DroneNoise *noise, const DroneFlight *f, int i, double *e)
{
    if (noise->frame == DRONE_FRAME_BODY)
        body_axes(f->q + 4 * (ptrdiff_t)i, e);
    else
        flight_axes(f->v + 3 * (ptrdiff_t)i, e);
}

void drone_spectral(const double *e, const double *values, double *s)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++)
            s[3 * i + j] = s[3 * j + i] = e[3 * i] * values[0] * e[3 * j] +
                                          e[3 * i + 1] * values[1] * e[3 * j + 1] +
                                          e[3 * i + 2] * values[2] * e[3 * j + 2];
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* An Axis is one axis of a sensor that is good or bad for a while. */
typedef struct Axis {
    bool bad;
    double error; /* in units of its size, while it is slow */
} Axis;

static void begin(Axis *a, RelnRng *rng)
{
    a->bad = reln_rng_uniform(rng) < BAD_MEAN / (BAD_MEAN + GOOD_MEAN);
    a->error = reln_rng_normal(rng);
}

static void go_on(Axis *a, double step, RelnRng *rng)
{
    const double keep = exp(-step / MEMORY);

    if (reln_rng_uniform(rng) < step / (a->bad ? BAD_MEAN : GOOD_MEAN)) {
        a->bad = !a->bad;
        a->error = reln_rng_normal(rng);
    } else {
        a->error = keep * a->error + sqrt(1 - keep * keep) * reln_rng_normal(rng);
    }
}

/* Draws the error along an axis, and returns its variances. */
static double switched(DroneNoiseKind kind, const Axis *a, double step, RelnRng *rng, double *var,
                       double *slow)
{
    const double size = a->bad ? switching[kind].bad : LEAST, fresh = reln_rng_normal(rng);
    const bool lasts = a->bad && switching[kind].slow;

    *var = size * size;
    *slow = lasts ? *var * 2 * MEMORY / step : *var;
    return size * (lasts ? a->error : fresh);
}

static double steady(DroneNoiseKind kind, int axis, double speed, double middle, RelnRng *rng,
                     double *var)
{
    const double size = kind == DRONE_NOISE_A || axis == 0 ? size_at(speed, middle) : LEAST;

    *var = size * size;
    return size * reln_rng_normal(rng);
}

/* Reports the axes and sizes that follow from the noisy velocity instead of the true one. */
static void as_seen(DroneNoiseKind kind, double middle, DroneSeen *s, ptrdiff_t i)
{
    flight_axes(s->v + 3 * i, s->axes + 9 * i);
    for (int j = 0; j < 3 && !(switching[kind].bad > 0); j++)
        if (kind == DRONE_NOISE_A || j == 0)
            s->var[3 * i + j] = s->slow[3 * i + j] = pow(size_at(length(s->v + 3 * i), middle), 2);
}

void drone_see(const DroneNoise *noise, const DroneFlight *f, double middle, int first,
               RelnRng *rng, DroneSeen *s)
{
    const DroneNoiseKind kind = noise->kind;
    Axis axis[3];

    for (int j = 0; j < 3; j++)
        begin(&axis[j], rng);
    for (ptrdiff_t i = 0; i < s->n; i++) {
        const double *v = f->v + 3 * (first + i);
        double *e = s->axes + 9 * i, *var = s->var + 3 * i, *slow = s->slow + 3 * i, error[3];

        if (kind == DRONE_NOISE_B && noise->frame != DRONE_FRAME_SEEN)
            flight_axes(v, e); /* along the flight by definition */
        else
            axes_at(noise, f, (int)(first + i), e);
        for (int j = 0; j < 3; j++) {
            if (switching[kind].bad > 0) {
                error[j] = switched(kind, &axis[j], f->step, rng, &var[j], &slow[j]);
                go_on(&axis[j], f->step, rng);
            } else {
                error[j] = steady(kind, j, length(v), middle, rng, &var[j]);
                slow[j] = var[j];
            }
        }
        for (int k = 0; k < 3; k++)
            s->v[3 * i + k] =
                v[k] + e[3 * k] * error[0] + e[3 * k + 1] * error[1] + e[3 * k + 2] * error[2];
        if (noise->frame == DRONE_FRAME_SEEN)
            as_seen(kind, middle, s, i);
    }
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

void drone_turn_vector(const double *r, const double *v, double *out)
{
    const double x = v[0], y = v[1], z = v[2];

    for (int i = 0; i < 3; i++)
        out[i] = r[3 * i] * x + r[3 * i + 1] * y + r[3 * i + 2] * z;
}

void drone_turn_seen(const double *r, const DroneSeen *s, DroneSeen *out)
{
    for (ptrdiff_t i = 0; i < s->n; i++) {
        double e[9], *to = out->axes + 9 * i;

        memcpy(e, s->axes + 9 * i, sizeof e);
        drone_turn_vector(r, s->v + 3 * i, out->v + 3 * i);
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++)
                to[3 * k + j] = r[3 * k] * e[j] + r[3 * k + 1] * e[3 + j] + r[3 * k + 2] * e[6 + j];
    }
    memmove(out->var, s->var, (size_t)s->n * 3 * sizeof *s->var);
    memmove(out->slow, s->slow, (size_t)s->n * 3 * sizeof *s->slow);
}

void drone_random_rotation(RelnRng *rng, double *r)
{
    double s[QUAD_STATE] = {0}, *q = s + QUAD_Q, size = 0;

    for (int i = 0; i < 4; i++) {
        q[i] = reln_rng_normal(rng);
        size += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++)
        q[i] /= sqrt(size);
    quad_attitude(s, r);
}
