/* picture.c -- draws hidden splats of a test object and their reconstruction, as ellipses in a projection;
 * and the attention of groups. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/splats/data.h"
#include "tasks/splats/picture.h"

enum {
    DOTS = 12,
    GROUPS = 6
}; /* points of an outline, and number of hidden groups that are drawn */

/* exp(L) of a symmetric matrix */
static void exponential(const double L[9], double out[9])
{
    double S[9], w[3], V[9];

    for (int e = 0; e < 9; e++)
        S[e] = (L[e] + L[3 * (e % 3) + e / 3]) / 2;
    reln_eigen3(S, w, V);
    memset(out, 0, 9 * sizeof *out);
    for (int a = 0; a < 3; a++)
        for (int e = 0; e < 9; e++)
            out[e] += exp(fmin(w[a], 2)) * V[3 * (e / 3) + a] * V[3 * (e % 3) + a];
}

/* Draws the outline of a Gaussian at one standard deviation, seen along y. */
static RelnStatus outline(TaskRun *run, const char *curve, const double at[3], const double S[9])
{
    const double xx = S[0], xz = S[2], zz = S[8], middle = (xx + zz) / 2;
    const double half = sqrt((xx - zz) * (xx - zz) / 4 + xz * xz),
                 turn = 0.5 * atan2(2 * xz, xx - zz);
    const double a = sqrt(fmax(middle + half, 0)), b = sqrt(fmax(middle - half, 0));

    for (int i = 0; i < DOTS; i++) {
        const double t = 6.28318530717958647692 * i / DOTS, u = a * cos(t), v = b * sin(t);

        TRY(task_curve(run, curve, at[0] + u * cos(turn) - v * sin(turn),
                       at[2] + u * sin(turn) + v * cos(turn)));
    }
    return RELN_OK;
}

/* Computes the log covariance of a lifted matrix. */
static void covariance_of_lift(const double *lifted, double S[9])
{
    double L[9];

    for (int e = 0; e < 9; e++)
        L[e] = SPLATS_LOG * lifted[e] + (e % 4 == 0 ? SPLATS_CENTRE : 0);
    exponential(L, S);
}

/* Computes the covariance from the baseline's normalised scales and quaternion. */
static void covariance_of_numbers(const SplatsPicture *p, const double *scale, const double *q,
                                  double S[9])
{
    double row[RELN_SPLAT] = {0}, L[9];

    for (int a = 0; a < 3; a++)
        row[RELN_SPLAT_SCALE + a] = fmax(p->mean[a] + p->most * scale[a], SPLATS_LEAST);
    memcpy(row + RELN_SPLAT_ROTATION, q, 4 * sizeof *q);
    reln_splat_log_covariance(row, SPLATS_LEAST, L);
    exponential(L, S);
}

static RelnStatus draw_splat(TaskRun *run, const SplatsPicture *p, const char *curve,
                             const double *centre, const double *numbers)
{
    const SplatsNet *m = p->net;
    const double unit = m->kind == SPLATS_RELN ? SPLATS_NEAR : 1;
    double at[3], S[9];

    for (int a = 0; a < 3; a++)
        at[a] = centre[a] + unit * numbers[a];
    if (m->kind == SPLATS_RELN)
        covariance_of_lift(numbers + 3, S);
    else
        covariance_of_numbers(p, numbers + 3, numbers + 6, S);
    return outline(run, curve, at, S);
}

/* Writes the numbers of a true splat in the same order. */
static void true_numbers(const SplatsPicture *p, int group, int slot, double *out)
{
    const SplatsNet *m = p->net;
    const ptrdiff_t member = (ptrdiff_t)group * m->members + slot;

    memset(out, 0, SPLATS_REBUILT * sizeof *out);
    if (m->kind == SPLATS_RELN) {
        memcpy(out, p->batch->d + 3 * member, 3 * sizeof *out);
        memcpy(out + 3, p->batch->log + 9 * member, 9 * sizeof *out);
    } else {
        const double *x = p->batch->x + RELN_SPLAT * member;

        memcpy(out, x, 3 * sizeof *out);
        memcpy(out + 3, x + RELN_SPLAT_SCALE, 7 * sizeof *out);
    }
}

RelnStatus splats_draw_picture(TaskRun *run, const SplatsPicture *p, const char *guess,
                               const char *truth)
{
    const SplatsNet *m = p->net;

    for (int h = 0; h < m->masked && h < GROUPS; h++) {
        const int group = p->batch->hidden[h];
        const double *c = p->batch->c + (ptrdiff_t)3 * group;

        for (int s = 0; s < m->slots; s++) {
            double numbers[SPLATS_REBUILT];

            true_numbers(p, group, s, numbers);
            TRY(draw_splat(run, p, truth, c, numbers));
            TRY(draw_splat(run, p, guess, c,
                           p->rebuilt + ((ptrdiff_t)h * m->slots + s) * SPLATS_REBUILT));
        }
    }
    return RELN_OK;
}

/* ---- attention ----------------------------------------------------------------------------------------------------------- */

/* Returns how many weights are larger than that of group i. */
static int rank_of(int groups, const double *weights, int i)
{
    int rank = 0;

    for (int j = 0; j < groups; j++)
        rank += weights[j] > weights[i] || (weights[j] == weights[i] && j < i);
    return rank;
}

/* Adds the curves of one group. */
static RelnStatus draw_look(TaskRun *run, int group, int groups, const double *centres,
                            const double *weights)
{
    const int most = (groups + 3) / 4;
    double share = 0, sum = 0;
    char name[3][128];

    for (int i = 0; i < groups; i++) {
        sum += weights[i];
        share += rank_of(groups, weights, i) < most ? weights[i] : 0;
    }
    snprintf(name[0], sizeof name[0], SPLATS_LOOKS "%d: %s%cothers", group + 1, run->model->label,
             TASK_SERIES);
    snprintf(name[1], sizeof name[1], SPLATS_LOOKS "%d: %s%c%d groups with %.0f %%", group + 1,
             run->model->label, TASK_SERIES, most, 100 * share / sum);
    snprintf(name[2], sizeof name[2], SPLATS_LOOKS "%d: %s%cthe group itself", group + 1,
             run->model->label, TASK_SERIES);
    for (int kind = 0; kind < 2; kind++) /* in one order for all figures, which colours follow */
        for (int i = 0; i < groups; i++)
            if ((rank_of(groups, weights, i) < most) == (kind == 1))
                TRY(task_curve(run, name[kind], centres[3 * i], centres[3 * i + 2]));
    return task_curve(run, name[2], centres[3 * group], centres[3 * group + 2]);
}

RelnStatus splats_draw_looks(TaskRun *run, int groups, const double *centres, int tokens,
                             const double *looks)
{
    for (int i = 0; i < 2; i++) {
        const int group = i == 0 ? 0 : groups - 1;

        TRY(draw_look(run, group, groups, centres,
                      looks + (ptrdiff_t)(tokens - groups + group) * tokens + tokens - groups));
    }
    return RELN_OK;
}
