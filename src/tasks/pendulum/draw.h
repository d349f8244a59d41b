/* draw.h -- the random numbers that the published data set was drawn with: Mersenne Twister and what NumPy's first
 * generator makes of it. Only for data that others have drawn; everything else here uses reln/random.h.
 *
 *     PendDraw d;
 *     pend_draw_init(&d, 2021);
 *     double x = pend_draw_normal(&d);
 */
#ifndef TASKS_PENDULUM_DRAW_H
#define TASKS_PENDULUM_DRAW_H

#include <stdbool.h>
#include <stdint.h>

enum { PEND_DRAW_WORDS = 624 };

typedef struct PendDraw {
    uint32_t words[PEND_DRAW_WORDS];
    int next;
    bool has_spare; /* normals come in pairs */
    double spare;
} PendDraw;

void pend_draw_init(PendDraw *d, uint32_t seed);
double pend_draw_normal(PendDraw *d);
uint32_t pend_draw_upto(PendDraw *d, uint32_t largest);     /* 0 .. largest */
void pend_draw_permutation(PendDraw *d, int n, int *order); /* of 0 .. n-1 */

#endif
