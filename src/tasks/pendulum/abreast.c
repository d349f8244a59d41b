/* abreast.c -- packs several states into the channels of a node, and unpacks them. */
#include "tasks/pendulum/pendulum.h"

#include <stddef.h>

int pend_groups(int n, int abreast)
{
    return (n + abreast - 1) / abreast;
}

/* Returns the position of number j of state i, in (groups, per, abreast). */
static ptrdiff_t place(int i, int j, int abreast, int per)
{
    return ((ptrdiff_t)(i / abreast) * per + j) * abreast + i % abreast;
}

void pend_pack(int n, int abreast, int per, const double *from, double *to)
{
    const int places = pend_groups(n, abreast) * abreast;

    for (int i = 0; i < places; i++)
        for (int j = 0; j < per; j++)
            to[place(i, j, abreast, per)] = from[(ptrdiff_t)(i < n ? i : n - 1) * per + j];
}

void pend_unpack(int n, int abreast, int per, const double *from, double *to)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < per; j++)
            to[(ptrdiff_t)i * per + j] = from[place(i, j, abreast, per)];
}

void pend_shares(int n, int abreast, double *share)
{
    const int groups = pend_groups(n, abreast);

    for (int i = 0; i < groups * abreast; i++)
        share[i] = i < n ? (double)groups / n : 0.0;
}
