/* batch.c -- inputs from objects: choosing splats, turning them, groups, masks, and the numbers of each
 * network. */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "tasks/splats/data.h"

/* ---- attributes as published ------------------------------------------------------------------------------------------- */

void splats_scale_range(ptrdiff_t n, const double *rows, double mean[3], double *most)
{
    memset(mean, 0, 3 * sizeof *mean);
    *most = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            mean[a] += rows[i * RELN_SPLAT + RELN_SPLAT_SCALE + a] / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *s = rows + i * RELN_SPLAT + RELN_SPLAT_SCALE;
        double sum = 0;

        for (int a = 0; a < 3; a++)
            sum += (s[a] - mean[a]) * (s[a] - mean[a]);
        *most = fmax(*most, sqrt(sum));
    }
}

/* Subtracts the mean from scales, and divides by the largest remaining length. */
static void normalise_scales(ptrdiff_t n, double *rows)
{
    double mean[3], most;

    splats_scale_range(n, rows, mean, &most);
    for (ptrdiff_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
            double *s = &rows[i * RELN_SPLAT + RELN_SPLAT_SCALE + a];

            *s = (*s - mean[a]) / (most > 0 ? most : 1);
        }
}

static double colour_of(double stored)
{
    return fmin(0.5, fmax(-0.5, stored * RELN_SPLAT_C0)) * (2 / sqrt(3));
}

void splats_normalise(ptrdiff_t n, double *rows, bool all)
{
    if (!all)
        return;
    for (ptrdiff_t i = 0; i < n; i++) {
        double *row = rows + i * RELN_SPLAT;

        row[RELN_SPLAT_OPACITY] = 2 * row[RELN_SPLAT_OPACITY] - 1;
        for (int a = 0; a < 3; a++)
            row[RELN_SPLAT_COLOUR + a] = colour_of(row[RELN_SPLAT_COLOUR + a]);
    }
    normalise_scales(n, rows);
}

/* ---- one object ---------------------------------------------------------------------------------------------------------- */

/* A Bench is the memory of a worker. */
typedef struct Bench {
    double *all, *rows,
        *room; /* (splats of an object, 14), (splats of the network, 14), scratch of sampling */
    int32_t *order, *centres, *members;
} Bench;

static size_t bench_size(const SplatsNet *m, int splats)
{
    const size_t most = (size_t)(splats > m->splats ? splats : m->splats);

    return most * 2 * RELN_SPLAT + RELN_POINTS_ROOM(most) + most +
           (size_t)m->groups * (size_t)(m->members + 2);
}

static Bench bench_at(const SplatsNet *m, int splats, double *at)
{
    const size_t most = (size_t)(splats > m->splats ? splats : m->splats);
    Bench b = {.all = at, .rows = at + most * RELN_SPLAT};

    b.room = b.rows + most * RELN_SPLAT;
    b.order = (int32_t *)(b.room + RELN_POINTS_ROOM(most));
    b.centres = b.order + most;
    b.members = b.centres + m->groups;
    return b;
}

/* A stream of random numbers for each purpose, the same for every network that uses the object. */
enum { CHOOSE, TURN, MASK, PURPOSES };
static RelnRng stream(const SplatsView *v, ptrdiff_t object, int purpose)
{
    return reln_rng(v->seed + 1000003 * (uint64_t)(object + 1),
                    v->stream * PURPOSES + (uint64_t)purpose);
}

/* Returns the first n of a random order. */
static void shuffle(RelnRng *rng, int from, int n, int32_t *order)
{
    for (int i = 0; i < from; i++)
        order[i] = i;
    for (int i = 0; i < n; i++) {
        const int j = i + (int)reln_rng_below(rng, (uint64_t)(from - i));
        const int32_t kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

static void choose(const SplatsView *v, ptrdiff_t object, const Bench *b)
{
    const int from = v->objects->splats, n = v->net->splats;
    RelnRng rng = stream(v, object, CHOOSE);

    if (from == n)
        for (int i = 0; i < n; i++)
            b->order[i] = i;
    else if (v->random)
        shuffle(&rng, from, n, b->order);
    else
        reln_points_farthest(from, b->all, RELN_SPLAT, n, &(RelnGroupRule){0}, b->room, b->order);
    for (int i = 0; i < n; i++)
        memcpy(b->rows + (ptrdiff_t)i * RELN_SPLAT, b->all + (ptrdiff_t)b->order[i] * RELN_SPLAT,
               RELN_SPLAT * sizeof *b->rows);
}

static void group(const SplatsView *v, const Bench *b)
{
    reln_points_group(v->net->splats, b->rows, RELN_SPLAT, v->net->groups, v->net->members,
                      &(RelnGroupRule){0}, b->room, b->centres, b->members);
}

static void turn(const SplatsView *v, ptrdiff_t object, const Bench *b)
{
    RelnRng rng = stream(v, object, TURN);
    double R[9];

    if (v->turn == SPLATS_TURN_ANGLE)
        reln_rotation_about(&rng, v->angle, R);
    else if (v->turn != SPLATS_ALIGNED)
        reln_rotation_random(&rng, v->turn == SPLATS_TURN_Z, R);
    if (v->turn != SPLATS_ALIGNED)
        reln_splats_rotate(v->net->splats, b->rows, R);
    if (v->canonical) {
        reln_points_principal(v->net->splats, b->rows, RELN_SPLAT, R);
        reln_splats_rotate(v->net->splats, b->rows, R);
    }
}

static void mask(const SplatsView *v, ptrdiff_t object, const Bench *b, int32_t *visible,
                 int32_t *hidden)
{
    const SplatsNet *m = v->net;
    RelnRng rng = stream(v, object, MASK);
    int32_t *order = b->order;

    shuffle(&rng, m->groups, m->groups, order);
    for (int g = 0; g < m->groups; g++) { /* both in the order of groups */
        bool is_hidden = false;

        for (int i = 0; i < m->masked; i++)
            is_hidden = is_hidden || order[i] == g;
        *(is_hidden ? hidden++ : visible++) = g;
    }
}

/* Invariants of a member: opacity, colour, |d|, |c|, d.c, sorted log variances; d has been divided
 * already. */
static void scalars(const double *row, const double *d, const double *c, double *s)
{
    double l[3];

    s[0] = 2 * row[RELN_SPLAT_OPACITY] - 1;
    for (int a = 0; a < 3; a++) {
        s[1 + a] = colour_of(row[RELN_SPLAT_COLOUR + a]);
        l[a] = 2 * log(fmax(row[RELN_SPLAT_SCALE + a], SPLATS_LEAST));
    }
    s[4] = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    s[5] = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
    s[6] = d[0] * c[0] + d[1] * c[1] + d[2] * c[2];
    for (int i = 0; i < 3; i++) {
        int rank = 0;

        for (int j = 0; j < 3; j++)
            rank += l[j] > l[i] || (l[j] == l[i] && j < i);
        s[7 + rank] = (l[i] - SPLATS_CENTRE) / SPLATS_LOG;
    }
}

static void lift_member(const double *row, const double *c, double *d, double *log, double *s)
{
    for (int a = 0; a < 3; a++)
        d[a] = (row[a] - c[a]) / SPLATS_NEAR;
    reln_splat_log_covariance(row, SPLATS_LEAST, log);
    for (int e = 0; e < 9; e++)
        log[e] = (log[e] - (e % 4 == 0 ? SPLATS_CENTRE : 0)) / SPLATS_LOG;
    scalars(row, d, c, s);
}

static void write_groups(const SplatsView *v, const Bench *b, ptrdiff_t i, const SplatsBatch *out)
{
    const SplatsNet *m = v->net;

    for (int g = 0; g < m->groups; g++) {
        const ptrdiff_t at = i * m->groups + g;
        double *c = out->c + 3 * at;

        memcpy(c, b->rows + (ptrdiff_t)b->centres[g] * RELN_SPLAT, 3 * sizeof *c);
        for (int k = 0; k < m->members; k++) {
            const double *row = b->rows + (ptrdiff_t)b->members[g * m->members + k] * RELN_SPLAT;
            const ptrdiff_t member = at * m->members + k;

            if (m->kind == SPLATS_RELN) {
                lift_member(row, c, out->d + 3 * member, out->log + 9 * member,
                            out->s + SPLATS_SCALARS * member);
            } else {
                double *x = out->x + RELN_SPLAT * member;

                memcpy(x, row, RELN_SPLAT * sizeof *x);
                for (int a = 0; a < 3; a++)
                    x[a] -= c[a];
            }
        }
    }
}

size_t splats_room(const SplatsView *v)
{
    return bench_size(v->net, v->objects->splats);
}

static void make_unit(double q[4])
{
    const double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);

    for (int a = 0; a < 4 && norm > 0; a++)
        q[a] /= norm;
}

static void read_object(const SplatsView *v, ptrdiff_t object, const Bench *b)
{
    const SplatsObjects *o = v->objects;
    const float *from = o->rows + object * o->splats * RELN_SPLAT;

    for (ptrdiff_t e = 0; e < (ptrdiff_t)o->splats * RELN_SPLAT; e++)
        b->all[e] = (double)from[e];
    for (int i = 0; i < o->splats;
         i++) /* in single precision, they are unit vectors up to its rounding */
        make_unit(b->all + (ptrdiff_t)i * RELN_SPLAT + RELN_SPLAT_ROTATION);
    if (v->net->kind == SPLATS_BASELINE)
        splats_normalise(o->splats, b->all, v->net->all);
    choose(v, object, b);
}

void splats_object(const SplatsView *v, ptrdiff_t object, double *room, double *rows)
{
    const Bench b = bench_at(v->net, v->objects->splats, room);

    read_object(v, object, &b);
    turn(v, object, &b);
    memcpy(rows, b.rows, (size_t)v->net->splats * RELN_SPLAT * sizeof *rows);
}

static void fill_one(const SplatsView *v, ptrdiff_t object, ptrdiff_t i, const Bench *b,
                     const SplatsBatch *out)
{
    const SplatsNet *m = v->net;

    read_object(v, object, b);
    if (!v->regroup)
        group(v, b);
    turn(v, object, b);
    if (v->regroup)
        group(v, b);
    write_groups(v, b, i, out);
    mask(v, object, b, out->visible + i * (m->groups - m->masked), out->hidden + i * m->masked);
    out->label[i] = v->objects->label[object];
}

/* ---- batches ---------------------------------------------------------------------------------------------------------------- */

RelnStatus splats_batch_init(TaskEnv *env, TaskRoom **rooms, const SplatsNet *m, int n,
                             SplatsBatch *out)
{
    enum { MOST_SPLATS = 4096 };
    const size_t groups = (size_t)n * (size_t)m->groups, members = groups * (size_t)m->members;
    const bool reln = m->kind == SPLATS_RELN;
    const int workers = env->pool ? reln_pool_threads(env->pool) : 1;

    *out = (SplatsBatch){.n = n, .room_each = bench_size(m, MOST_SPLATS)};
    out->x = task_room(rooms, reln ? 1 : members, RELN_SPLAT * sizeof *out->x);
    out->d = task_room(rooms, reln ? members : 1, 3 * sizeof *out->d);
    out->log = task_room(rooms, reln ? members : 1, 9 * sizeof *out->log);
    out->s = task_room(rooms, reln ? members : 1, SPLATS_SCALARS * sizeof *out->s);
    out->c = task_room(rooms, groups, 3 * sizeof *out->c);
    out->visible = task_room(rooms, groups, sizeof *out->visible);
    out->hidden = task_room(rooms, groups, sizeof *out->hidden);
    out->label = task_room(rooms, (size_t)n, sizeof *out->label);
    out->room = task_room(rooms, (size_t)workers, out->room_each * sizeof *out->room);
    return out->x && out->d && out->log && out->s && out->c && out->visible && out->hidden &&
                   out->label && out->room
               ? RELN_OK
               : task_nomem(env);
}

typedef struct Work {
    const SplatsView *view;
    const ptrdiff_t *which;
    int n, workers;
    SplatsBatch *batch;
} Work;

static void fill_part(void *user, int worker)
{
    const Work *w = user;
    const Bench b = bench_at(w->view->net, w->view->objects->splats,
                             w->batch->room + (size_t)worker * w->batch->room_each);

    for (int i = worker; i < w->n; i += w->workers)
        fill_one(w->view, w->which[i], i, &b, w->batch);
}

void splats_batch_fill(RelnPool *pool, const SplatsView *view, const ptrdiff_t *which, int n,
                       SplatsBatch *batch)
{
    Work w = {view, which, n, pool ? reln_pool_threads(pool) : 1, batch};

    reln_pool_run(pool, w.workers, fill_part, &w);
}

ExpSet splats_batch_set(const SplatsNet *m, const SplatsBatch *b, int n, bool masked, bool label)
{
    const int members = m->groups * m->members;
    ExpSet set = {.n = n, .column = {{EXP_NUMBERS("c", 3 * m->groups, b->c)}}};
    int k = 1;

    if (m->kind == SPLATS_RELN) {
        set.column[k++] = (ExpColumn){EXP_NUMBERS("d", 3 * members, b->d)};
        set.column[k++] = (ExpColumn){EXP_NUMBERS("log", 9 * members, b->log)};
        set.column[k++] = (ExpColumn){EXP_NUMBERS("s", SPLATS_SCALARS * members, b->s)};
    } else {
        set.column[k++] = (ExpColumn){EXP_NUMBERS("x", RELN_SPLAT * members, b->x)};
    }
    if (masked) {
        set.column[k++] = (ExpColumn){EXP_INDICES("visible", m->groups - m->masked, b->visible)};
        set.column[k++] = (ExpColumn){EXP_INDICES("hidden", m->masked, b->hidden)};
    }
    if (label)
        set.column[k++] = (ExpColumn){EXP_INDICES("label", 1, b->label)};
    set.n_columns = k;
    return set;
}
