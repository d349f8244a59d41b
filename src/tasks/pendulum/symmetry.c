/* symmetry.c -- generators of O(2), SO(2) and D6 about the vertical axis. */
#include <math.h>
#include <string.h>

#include "tasks/pendulum/pendulum.h"

static const char *const names[PEND_SYMMETRIES] = {"o2", "so2", "d6", "none"};

const char *pend_symmetry_text(PendSymmetry s)
{
    return names[s];
}

bool pend_symmetry_find(const char *text, PendSymmetry *out)
{
    for (int s = 0; s < PEND_SYMMETRIES; s++)
        if (strcmp(text, names[s]) == 0) {
            *out = (PendSymmetry)s;
            return true;
        }
    return false;
}

RelnStatus pend_symmetry_group(RelnCtx *ctx, PendSymmetry s, RelnGroup **out)
{
    static const double turn[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0};
    const double c = 0.5, d = sqrt(0.75); /* 60 degrees */
    const double discrete[18] = {-1, 0, 0, 0, 1, 0, 0, 0, 1, c, -d, 0, d, c, 0, 0, 0, 1};
    const int n_lie = s == PEND_O2 || s == PEND_SO2;
    const int n_discrete = s == PEND_D6 ? 2 : s == PEND_O2 ? 1 : 0;

    if (s == PEND_NONE)
        return reln_group_create(ctx, "none:3", out);
    return reln_group_from_matrices(ctx, names[s], 3, n_lie, turn, n_discrete, discrete, out);
}
