/* abreast.h -- states side by side in the channels of a node, for networks whose own channels are few.
 *
 *     const int groups = pend_groups(500, 32);                 // 16, the last one not full
 *     pend_pack(500, 32, PEND_STATE, z, packed);               // (500, 12) -> (16, 12, 32)
 *     pend_shares(500, 32, share);                             // (16, 32): a mean over groups of sums with these is one of states
 *
 * Places that are left over in the last group repeat the last state, with a share of 0. One abreast: nothing moves.
 */
#ifndef TASKS_PENDULUM_ABREAST_H
#define TASKS_PENDULUM_ABREAST_H

int pend_groups(int n, int abreast);
void pend_pack(int n, int abreast, int per, const double *from, double *to);
void pend_unpack(int n, int abreast, int per, const double *from, double *to);
void pend_shares(int n, int abreast, double *share);

#endif
