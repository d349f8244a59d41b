/* nearest.c -- nearest neighbours in features of whole objects: lower bounds that a network should exceed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/splats/data.h"

enum { CELLS = 8, BINS = 64, NEIGHBOURS = 5 };

static int cell_of(double x)
{
    const int c = (int)floor((x + 1) / 2 * CELLS);

    return c < 0 ? 0 : c >= CELLS ? CELLS - 1 : c;
}

static void grid(int n, const double *rows, double *out)
{
    for (int i = 0; i < n; i++) {
        const double *p = rows + (ptrdiff_t)i * RELN_SPLAT;

        out[(cell_of(p[0]) * CELLS + cell_of(p[1])) * CELLS + cell_of(p[2])] += 1.0 / n;
    }
}

static void spread(int n, const double *rows, double *out)
{
    double S[9] = {0}, w[3], V[9];

    for (int i = 0; i < n; i++)
        for (int e = 0; e < 9; e++)
            S[e] += rows[(ptrdiff_t)i * RELN_SPLAT + e / 3] *
                    rows[(ptrdiff_t)i * RELN_SPLAT + e % 3] / n;
    reln_eigen3(S, w, V);
    for (int a = 0; a < 3; a++)
        out[a] = sqrt(fmax(w[a], 0));
}

/* Pairs every splat with those at a few distances in the order, which is random enough. */
static void distance(int n, const double *rows, double *out)
{
    enum { STEPS = 32 };

    for (int i = 0; i < n; i++)
        for (int j = 1; j <= STEPS; j++) {
            const double *a = rows + (ptrdiff_t)i * RELN_SPLAT,
                         *b = rows + (ptrdiff_t)((i + j * (n / (STEPS + 1) + 1)) % n) * RELN_SPLAT;
            const double d = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                                  (a[2] - b[2]) * (a[2] - b[2]));
            const int bin = (int)(d / 2 * BINS);

            out[bin < BINS ? bin : BINS - 1] += 1.0 / (n * STEPS);
        }
}

RelnStatus splats_features(TaskEnv *env, const SplatsView *view, SplatsFeature feature, double *out)
{
    const int n = view->net->splats;
    double *rows = malloc((size_t)n * RELN_SPLAT * sizeof *rows),
           *room = malloc(splats_room(view) * sizeof *room);

    memset(out, 0, (size_t)view->objects->n * SPLATS_FEATURE_SIZE * sizeof *out);
    for (ptrdiff_t i = 0; i < view->objects->n && rows && room; i++) {
        double *to = out + i * SPLATS_FEATURE_SIZE;

        splats_object(view, i, room, rows);
        if (feature == SPLATS_GRID)
            grid(n, rows, to);
        else if (feature == SPLATS_SPREAD)
            spread(n, rows, to);
        else
            distance(n, rows, to);
    }
    free(room);
    free(rows);
    return rows && room ? RELN_OK : task_nomem(env);
}

int splats_nearest_class(ptrdiff_t n, const double *features, const int32_t *labels,
                         const double *feature)
{
    double best[NEIGHBOURS];
    int class_of[NEIGHBOURS], count = 0, votes = 0, chosen = 0;

    for (ptrdiff_t i = 0; i < n; i++) {
        double d = 0;
        int j;

        for (int e = 0; e < SPLATS_FEATURE_SIZE; e++)
            d += fabs(features[i * SPLATS_FEATURE_SIZE + e] - feature[e]);
        if (count == NEIGHBOURS && !(d < best[NEIGHBOURS - 1]))
            continue;
        j = count < NEIGHBOURS ? count++ : NEIGHBOURS - 1;
        for (; j > 0 && d < best[j - 1]; j--) {
            best[j] = best[j - 1];
            class_of[j] = class_of[j - 1];
        }
        best[j] = d;
        class_of[j] = labels[i];
    }
    for (int i = 0; i < count; i++) {
        int same = 0;

        for (int j = 0; j < count; j++)
            same += class_of[j] == class_of[i];
        if (same > votes) {
            votes = same;
            chosen = class_of[i];
        }
    }
    return chosen;
}
