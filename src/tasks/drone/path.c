/* path.c -- the path of a flight: waypoints, a spline through them, wiggles or a spiral around it, and the
 * speed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/drone/flight.h"

enum {
    PER_SEGMENT = 256, /* points of the spline between two waypoints */
    BOX = 30           /* points of one smoothing of 75 ms */
};
#define SPACING 0.25   /* distance of points along the path, m */
#define TANGENTIAL 4.0 /* acceleration along the path, m/s^2 */
#define RAMP 40.0      /* metres over which wiggles begin and end */
#define SLOWEST 0.5    /* m/s: speed at the first and last points, from and to rest */
#define PI 3.14159265358979323846

const DronePlan drone_usual = {.speed = 16,
                               .agility = 0.6,
                               .box = {170, 170, 60},
                               .rate = 200,
                               .skipped = 5,
                               .waypoints = {20, 40}};

/* A Line holds points in space, with memory for them. */
typedef struct Line {
    int n;
    double *p; /* (n, 3) */
} Line;

static bool line_init(Line *line, int n)
{
    line->n = n > 0 ? n : 1;
    line->p = calloc((size_t)line->n * 3, sizeof *line->p);
    return line->p;
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void unit(double *a)
{
    const double length = sqrt(dot(a, a));

    for (int i = 0; i < 3 && length > 0; i++)
        a[i] /= length;
}

static double between(RelnRng *rng, double low, double high)
{
    return low + (high - low) * reln_rng_uniform(rng);
}

/* ---- the spline -------------------------------------------------------------------------------------------------- */

/* Uniform Catmull-Rom spline with tension 1/2; the ends are doubled. */
static bool spline(const DronePlan *plan, RelnRng *rng, Line *out)
{
    const int most = plan->waypoints[1] - plan->waypoints[0] + 1;
    const int n = plan->waypoints[0] + (int)reln_rng_below(rng, (uint64_t)most);
    Line way;

    if (!line_init(&way, n))
        return false;
    for (int i = 0; i < 3 * n; i++)
        way.p[i] = between(rng, 0, plan->box[i % 3]);
    if (!line_init(out, (n - 1) * PER_SEGMENT + 1)) {
        free(way.p);
        return false;
    }
    for (int k = 0; k < out->n; k++) {
        const int s = k / PER_SEGMENT < n - 1 ? k / PER_SEGMENT : n - 2;
        const double u = (double)(k - s * PER_SEGMENT) / PER_SEGMENT;
        const double *p0 = way.p + 3 * (s > 0 ? s - 1 : 0), *p1 = way.p + 3 * s, *p2 = p1 + 3;
        const double *p3 = way.p + 3 * (s + 2 < n ? s + 2 : n - 1);

        for (int i = 0; i < 3; i++)
            out->p[3 * k + i] = 0.5 * (2 * p1[i] + (p2[i] - p0[i]) * u +
                                       (2 * p0[i] - 5 * p1[i] + 4 * p2[i] - p3[i]) * u * u +
                                       (3 * p1[i] - p0[i] - 3 * p2[i] + p3[i]) * u * u * u);
    }
    free(way.p);
    return true;
}

/* Resamples a line with points at equal distances along it. */
static bool respace(const Line *line, double spacing, Line *out)
{
    double length = 0, before = 0;
    int k = 0;

    for (int i = 1; i < line->n; i++)
        length += distance(line->p + 3 * i, line->p + 3 * i - 3);
    if (!line_init(out, (int)(length / spacing) + 1))
        return false;
    for (int i = 1; i < line->n && k < out->n; i++) {
        const double *a = line->p + 3 * i - 3, *b = line->p + 3 * i, d = distance(a, b);

        for (; k < out->n && k * spacing <= before + d; k++)
            for (int j = 0; j < 3; j++)
                out->p[3 * k + j] =
                    d > 0 ? a[j] + (b[j] - a[j]) * (k * spacing - before) / d : a[j];
        before += d;
    }
    for (; k < out->n; k++)
        memcpy(out->p + 3 * k, line->p + 3 * (line->n - 1), 3 * sizeof *out->p);
    return true;
}

/* ---- wiggles and spirals ----------------------------------------------------------------------------------------- */

typedef struct Swing {
    bool spiral;
    double size, turn, phase, tilt; /* metres, radians per metre, radians */
} Swing;

static Swing draw_swing(RelnRng *rng)
{
    const bool spiral = reln_rng_uniform(rng) < 0.5;

    return (Swing){.spiral = spiral,
                   .size = spiral ? between(rng, 3, 7) : between(rng, 1, 3),
                   .turn = 2 * PI / (spiral ? between(rng, 35, 60) : between(rng, 30, 55)),
                   .phase = between(rng, 0, 2 * PI),
                   .tilt = between(rng, 0, 2 * PI)};
}

static double ramp(double s, double length)
{
    const double t = fmin(fmin(s, length - s) / RAMP, 1);

    return t > 0 ? t * t * (3 - 2 * t) : 0;
}

/* Adds the swing along two normals that rotate as little as possible along the path. */
static void swing(const Swing *w, const Line *base, Line *out)
{
    double t[3], n1[3] = {0, 0, 1}, n2[3];

    for (int k = 0; k < base->n; k++) {
        const int a = k > 0 ? k - 1 : 0, b = k + 1 < base->n ? k + 1 : k;
        const double s = k * SPACING, size = w->size * ramp(s, (base->n - 1) * SPACING);
        const double angle = w->turn * s + w->phase;
        double c1, c2, along;

        for (int i = 0; i < 3; i++)
            t[i] = base->p[3 * b + i] - base->p[3 * a + i];
        unit(t);
        along = dot(n1, t);
        if (k == 0 && fabs(along) > 0.9) {
            n1[0] = 1;
            n1[2] = 0;
            along = t[0];
        }
        for (int i = 0; i < 3; i++)
            n1[i] -= along * t[i];
        unit(n1);
        n2[0] = t[1] * n1[2] - t[2] * n1[1];
        n2[1] = t[2] * n1[0] - t[0] * n1[2];
        n2[2] = t[0] * n1[1] - t[1] * n1[0];
        c1 = w->spiral ? cos(angle) : sin(angle) * cos(w->tilt);
        c2 = w->spiral ? sin(angle) : sin(angle) * sin(w->tilt);
        for (int i = 0; i < 3; i++)
            out->p[3 * k + i] = base->p[3 * k + i] + size * (c1 * n1[i] + c2 * n2[i]);
    }
}

/* ---- speed ------------------------------------------------------------------------------------------------------- */

/* Returns the speed that thrust allows: sideways acceleration v^2 k below a share of the thrust beyond the
 * weight, and at most 0.7 g downwards. */
static double allowed(const DronePlan *plan, const Line *line, int k)
{
    const int reach = 4, a = k - reach > 0 ? k - reach : 0,
              b = k + reach < line->n ? k + reach : line->n - 1;
    const double h = 0.5 * (b - a) * SPACING,
                 most = plan->agility * QUAD_GRAVITY * sqrt(2.25 * 2.25 - 1);
    double bend[3], size, speed = plan->speed;

    for (int i = 0; i < 3; i++)
        bend[i] = (line->p[3 * a + i] - 2 * line->p[3 * k + i] + line->p[3 * b + i]) / (h * h);
    size = sqrt(dot(bend, bend));
    if (a + b != 2 * k || size <= 0)
        return speed;
    speed = fmin(speed, sqrt(most / size));
    return bend[2] < 0 ? fmin(speed, sqrt(0.7 * QUAD_GRAVITY / -bend[2])) : speed;
}

static void speeds(const DronePlan *plan, const Line *line, double *v)
{
    for (int k = 0; k < line->n; k++)
        v[k] = allowed(plan, line, k);
    v[0] = v[line->n - 1] = SLOWEST;
    for (int k = 1; k < line->n; k++)
        v[k] = fmin(v[k], sqrt(v[k - 1] * v[k - 1] + 2 * TANGENTIAL * SPACING));
    for (int k = line->n - 2; k >= 0; k--)
        v[k] = fmin(v[k], sqrt(v[k + 1] * v[k + 1] + 2 * TANGENTIAL * SPACING));
}

/* Resamples at equal times: in each interval the speed changes linearly. */
static bool retime(const Line *line, const double *v, Line *out)
{
    double total = 0, t = 0;
    int i = 0;

    for (int k = 1; k < line->n; k++)
        total += 2 * SPACING / (v[k - 1] + v[k]);
    if (!line_init(out, (int)(total * DRONE_GOAL_RATE) + 1))
        return false;
    for (int k = 1; k < line->n; k++) {
        const double d = 2 * SPACING / (v[k - 1] + v[k]), a = (v[k] - v[k - 1]) / d;

        for (; i < out->n && (double)i / DRONE_GOAL_RATE <= t + d; i++) {
            const double x = (double)i / DRONE_GOAL_RATE - t,
                         share = (v[k - 1] * x + 0.5 * a * x * x) / SPACING;

            for (int j = 0; j < 3; j++)
                out->p[3 * i + j] =
                    line->p[3 * k - 3 + j] + share * (line->p[3 * k + j] - line->p[3 * k - 3 + j]);
        }
        t += d;
    }
    for (; i < out->n; i++)
        memcpy(out->p + 3 * i, line->p + 3 * (line->n - 1), 3 * sizeof *out->p);
    return true;
}

/* Replaces points by means over BOX points, with the ends repeated; often enough to make accelerations
 * continuous. */
static void smooth(Line *line, double *room)
{
    for (int j = 0; j < 3; j++) {
        double sum = 0;

        for (int i = -BOX / 2; i < BOX / 2; i++)
            sum += line->p[3 * (i > 0 ? (i < line->n ? i : line->n - 1) : 0) + j];
        for (int i = 0; i < line->n; i++) {
            const int in = i + BOX / 2, out = i - BOX / 2;

            room[i] = sum / BOX;
            sum += line->p[3 * (in < line->n ? in : line->n - 1) + j] -
                   line->p[3 * (out > 0 ? out : 0) + j];
        }
        for (int i = 0; i < line->n; i++)
            line->p[3 * i + j] = room[i];
    }
}

static bool timed(const DronePlan *plan, const Line *line, Line *out)
{
    double *v = malloc((size_t)line->n * sizeof *v), *room;

    if (!v)
        return false;
    speeds(plan, line, v);
    if (!retime(line, v, out)) {
        free(v);
        return false;
    }
    free(v);
    if (!(room = malloc((size_t)out->n * sizeof *room))) {
        free(out->p);
        return false;
    }
    for (int i = 0; i < 3; i++)
        smooth(out, room);
    free(room);
    return true;
}

bool drone_path_init(const DronePlan *plan, uint64_t seed, DronePath *out)
{
    RelnRng rng = reln_rng(seed, 1);
    Line raw = {0}, base = {0}, swung = {0}, even = {0}, line = {0};
    Swing w = {0};
    bool good =
        spline(plan, &rng, &raw) && respace(&raw, SPACING, &base) && line_init(&swung, base.n);

    if (good) {
        w = draw_swing(&rng);
        swing(&w, &base, &swung);
        good = respace(&swung, SPACING, &even) && timed(plan, &even, &line);
    }
    free(raw.p);
    free(base.p);
    free(swung.p);
    free(even.p);
    *out = (DronePath){good ? line.n : 0, good ? line.p : NULL, w.spiral};
    return good;
}

void drone_path_clear(DronePath *path)
{
    free(path->p);
    *path = (DronePath){0};
}

/* Velocity and acceleration are differences over 10 ms. */
QuadGoal drone_path_goal(const DronePath *path, int i)
{
    const int wide = 4, at = i * (DRONE_GOAL_RATE / DRONE_SET_RATE);
    const int k = at < wide ? wide : at > path->n - 1 - wide ? path->n - 1 - wide : at;
    const double h = (double)wide / DRONE_GOAL_RATE, *a = path->p + 3 * (k - wide),
                 *b = path->p + 3 * k;
    const double *c = path->p + 3 * (k + wide);
    QuadGoal goal;

    for (int j = 0; j < 3; j++) {
        goal.p[j] = path->p[3 * (at < path->n ? at : path->n - 1) + j];
        goal.v[j] = (c[j] - a[j]) / (2 * h);
        goal.a[j] = (a[j] - 2 * b[j] + c[j]) / (h * h);
    }
    return goal;
}
