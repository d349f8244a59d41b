/* symmetry.c -- generators of O(2), SO(2) and D6 about the vertical axis. */
#include <math.h>

#include "tasks/pendulum/pendulum.h"

const char *const pend_symmetry_words[PEND_SYMMETRIES + 1] = {
    [PEND_O2] = "o2", [PEND_SO2] = "so2", [PEND_D6] = "d6", [PEND_NONE] = "none"};

RelnStatus pend_symmetry_group(RelnCtx *ctx, PendSymmetry s, RelnGroup **out)
{
    static const double turn[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0};
    const double c = 0.5, d = sqrt(0.75); /* 60 degrees */
    const double discrete[18] = {-1, 0, 0, 0, 1, 0, 0, 0, 1, c, -d, 0, d, c, 0, 0, 0, 1};
    const int n_lie = s == PEND_O2 || s == PEND_SO2;
    const int n_discrete = s == PEND_D6 ? 2 : s == PEND_O2 ? 1 : 0;

    if (s == PEND_NONE)
        return reln_group_create(ctx, "none:3", out);
    return reln_group_from_matrices(ctx, pend_symmetry_words[s], 3, n_lie, turn, n_discrete,
                                    discrete, out);
}
