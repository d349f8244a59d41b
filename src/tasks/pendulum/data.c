/* data.c -- draws, motions and splits of the data set. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/pendulum/pendulum.h"

enum { AT_ONCE = 100 }; /* systems were drawn in batches: all x1, all x2, all p */

typedef struct Draft {
    double start[PEND_SYSTEMS][PEND_STATE];
    int chunk[PEND_SYSTEMS];
    int pool[PEND_SYSTEMS], order[PEND_SYSTEMS];
    double motion[PEND_ROLLOUT * PEND_STATE];
} Draft;

/* Draws coordinates first .. first+count-1 of a batch of systems. */
static void draw_part(PendDraw *d, double (*start)[PEND_STATE], int first, int count, double spread)
{
    for (int i = 0; i < AT_ONCE; i++)
        for (int k = first; k < first + count; k++)
            start[i][k] = spread * pend_draw_normal(d);
}

static void draw_systems(PendDraw *d, Draft *draft)
{
    for (int i = 0; i < PEND_SYSTEMS; i += AT_ONCE) {
        draw_part(d, draft->start + i, 0, 3, 0.2);
        draw_part(d, draft->start + i, 3, 3, 0.2);
        draw_part(d, draft->start + i, 6, 6, 0.4);
    }
    for (int i = 0; i < PEND_SYSTEMS; i++) {
        draft->start[i][2] -= 1.5;
        draft->start[i][5] -= 3.0;
    }
    for (int i = 0; i < PEND_SYSTEMS; i++)
        draft->chunk[i] = (int)pend_draw_upto(d, PEND_CHUNKS - 1);
}

/* Draws the splits. A split is the first 500 of a permutation of the remaining systems; the rest keeps the
 * permuted order. */
static void draw_splits(PendDraw *d, Draft *draft, PendData *data)
{
    int left = PEND_SYSTEMS;

    for (int i = 0; i < left; i++)
        draft->pool[i] = i;
    for (int s = 0; s < PEND_SPLITS; s++) {
        pend_draw_permutation(d, left, draft->order);
        for (int i = 0; i < left; i++)
            draft->order[i] = draft->pool[draft->order[i]];
        for (int i = 0; i < PEND_SPLIT; i++)
            data->rows[s][i] = (PendRow){draft->order[i], draft->chunk[draft->order[i]]};
        left -= PEND_SPLIT;
        memcpy(draft->pool, draft->order + PEND_SPLIT, (size_t)left * sizeof *draft->pool);
    }
}

static bool cut_chunk(const PendSystem *system, Draft *draft, PendRow row, double *chunk)
{
    const int first = row.chunk * PEND_CHUNK;

    if (!pend_motion(system, draft->start[row.system], PEND_INTERVAL, first + PEND_CHUNK,
                     draft->motion))
        return false;
    memcpy(chunk, draft->motion + first * PEND_STATE, PEND_CHUNK * PEND_STATE * sizeof *chunk);
    return true;
}

static bool fill(PendData *data, const PendSystem *system, Draft *draft)
{
    const ptrdiff_t size = PEND_CHUNK * PEND_STATE, long_size = PEND_ROLLOUT * PEND_STATE;

    for (int s = 0; s < PEND_SPLITS; s++)
        for (int i = 0; i < data->n; i++)
            if (!cut_chunk(system, draft, data->rows[s][i], data->chunks[s] + i * size))
                return false;
    for (int i = 0; i < data->n; i++)
        if (!pend_motion(system, data->chunks[PEND_TEST] + i * size, PEND_INTERVAL, PEND_ROLLOUT,
                         data->truth + i * long_size))
            return false;
    return true;
}

static bool reserve(PendData *data)
{
    const size_t n = (size_t)data->n;
    bool good = true;

    for (int s = 0; s < PEND_SPLITS; s++) {
        data->chunks[s] = calloc(n, PEND_CHUNK * PEND_STATE * sizeof *data->chunks[s]);
        good = good && data->chunks[s];
    }
    data->truth = calloc(n, PEND_ROLLOUT * PEND_STATE * sizeof *data->truth);
    return good && data->truth;
}

bool pend_data_init(PendData *data, const PendSystem *system, int seed, int n)
{
    Draft *draft = malloc(sizeof *draft);
    PendDraw draw;
    bool good;

    memset(data, 0, sizeof *data);
    data->n = n;
    good = reserve(data) && draft;
    if (good) {
        pend_draw_init(&draw, (uint32_t)seed);
        draw_systems(&draw, draft);
        draw_splits(&draw, draft, data);
        good = fill(data, system, draft);
    }
    free(draft);
    return good;
}

void pend_data_clear(PendData *data)
{
    for (int s = 0; s < PEND_SPLITS; s++)
        free(data->chunks[s]);
    free(data->truth);
    memset(data, 0, sizeof *data);
}
