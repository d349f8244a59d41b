/* Attacks by constants: not finite, with a wrong block beside a large one, with errors below the tolerance
 * that add up, or at the ends of the range of floating point. */
#include <float.h>
#include <math.h>

#include "attacks/lab.h"

static RelnNode *infinite_vector(Lab *l)
{
    return reln_add(l->g, l->x, lab_const(l, l->v, NUMBERS((double)INFINITY, 0, 0)));
}

static RelnNode *nan_vector(Lab *l)
{
    return reln_add(l->g, l->x, lab_const(l, l->v, NUMBERS((double)NAN, 1, 0)));
}

static RelnNode *infinite_invariant(Lab *l)
{
    return reln_mul(l->g, l->x, reln_scalar(l->g, (double)INFINITY));
}

static RelnNode *scale_infinite(Lab *l)
{
    return reln_scale(l->g, l->x, (double)INFINITY);
}

static RelnNode *scale_nan(Lab *l)
{
    return reln_scale(l->g, l->x, (double)NAN);
}

static RelnNode *shift_nan(Lab *l)
{
    return reln_shift(l->g, l->s, 1, (double)NAN);
}

static RelnNode *linear_infinite(Lab *l)
{
    return reln_linear_map(
        l->g, l->x, NUMBERS((double)INFINITY, 0, 0, 0, (double)INFINITY, 0, 0, 0, (double)INFINITY),
        l->v);
}

static RelnNode *linear_nan(Lab *l)
{
    return reln_linear_map(l->g, l->x, NUMBERS(1, 0, 0, 0, (double)NAN, 0, 0, 0, 1), l->v);
}

static RelnNode *linear_huge(Lab *l)
{
    return reln_linear_map(l->g, l->x, NUMBERS(1e308, 0, 0, 0, 1.5e308, 0, 0, 0, 1e308), l->v);
}

static RelnNode *contract_infinite(Lab *l)
{
    const RelnEntry e[] = {
        {0, 0, 0, (double)INFINITY}, {1, 1, 0, (double)INFINITY}, {2, 2, 0, (double)INFINITY}};

    return reln_contract(l->g, &(RelnTensor3){3, 3, 1, 3, e}, l->x, l->y,
                         reln_rep_trivial(l->group, 1));
}

static RelnNode *plain_vector(Lab *l)
{
    return reln_add(l->g, l->x, lab_const(l, l->v, NUMBERS(1, 0, 0)));
}

static RelnNode *tiny_vector(Lab *l)
{
    return reln_add(l->g, l->x, reln_scale(l->g, lab_const(l, l->v, NUMBERS(1e-300, 0, 0)), 1e300));
}

/* ---- blocks -------------------------------------------------------------------------------------------------- */

static const RelnRep *big_rep(const Lab *l)
{
    return reln_rep_sum(reln_rep_trivial(l->group, 1), l->v);
}

static RelnNode *const_beside(Lab *l, double large)
{
    RelnNode *c = lab_const(l, big_rep(l), NUMBERS(large, 1, 0, 0));

    return reln_add(l->g, l->x, reln_slice_k(l->g, c, 1, l->v));
}

static RelnNode *const_beside_1e11(Lab *l)
{
    return const_beside(l, 1e11);
}

static RelnNode *const_beside_1e15(Lab *l)
{
    return const_beside(l, 1e15);
}

static RelnNode *const_beside_1e300(Lab *l)
{
    return const_beside(l, 1e300);
}

static RelnNode *map_beside(Lab *l, double large)
{
    const double m[16] = {large, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3};

    return reln_slice_k(l->g, reln_linear_map(l->g, l->big, m, big_rep(l)), 1, l->v);
}

static RelnNode *map_beside_1e11(Lab *l)
{
    return map_beside(l, 1e11);
}

static RelnNode *map_beside_1e15(Lab *l)
{
    return map_beside(l, 1e15);
}

static RelnNode *map_beside_1e300(Lab *l)
{
    return map_beside(l, 1e300);
}

/* Large numbers in the same rows and the same columns as the bad ones. */
static RelnNode *map_crossed(Lab *l)
{
    const double b = 1e11, m[16] = {b, 0, 0, 0, 1, b, 0, 0, 0, 0, b, 0, 0, 0, 0, b};
    RelnNode *only = reln_concat_k(l->g, l->s, reln_scale(l->g, l->x, 0));

    return reln_slice_k(l->g, reln_linear_map(l->g, only, m, big_rep(l)), 1, l->v);
}

static RelnNode *contraction_beside(Lab *l, double large)
{
    const RelnEntry e[] = {{0, 0, 0, large}, {0, 1, 1, 1}, {0, 2, 2, 2}, {0, 3, 3, 3}};
    const RelnRep *r = big_rep(l);
    RelnNode *z = reln_contract(l->g, &(RelnTensor3){4, 4, 4, 4, e}, l->big, l->big, r);

    return reln_slice_k(l->g, z, 1, l->v);
}

static RelnNode *contraction_beside_1e11(Lab *l)
{
    return contraction_beside(l, 1e11);
}

static RelnNode *contraction_beside_1e15(Lab *l)
{
    return contraction_beside(l, 1e15);
}

/* ---- a tolerance used many times over -------------------------------------------------------------------------- */

static RelnNode *amplified(Lab *l, double e, double by)
{
    const double m[9] = {1 + e, 0, 0, 0, 1 + 2 * e, 0, 0, 0, 1 + 3 * e};
    RelnNode *z = reln_linear_map(l->g, l->x, m, l->v);

    return reln_scale(l->g, reln_sub(l->g, z, l->x), by);
}

static RelnNode *amplified_tolerance(Lab *l)
{
    return amplified(l, 1e-11, 2e10);
}

static RelnNode *amplified_smaller(Lab *l)
{
    return amplified(l, 1e-12, 1e12);
}

static RelnNode *amplified_contraction(Lab *l)
{
    const double e = 1e-11;
    const RelnEntry dot[] = {{0, 0, 0, 1 + e}, {1, 1, 0, 1 + 2 * e}, {2, 2, 0, 1 + 3 * e}};
    RelnNode *z = reln_contract(l->g, &(RelnTensor3){3, 3, 1, 3, dot}, l->x, l->x,
                                reln_rep_trivial(l->group, 1));

    return reln_scale(l->g, reln_sub(l->g, z, reln_pair(l->g, l->x, l->x)), 2e10);
}

static RelnNode *amplified_const(Lab *l)
{
    const double e = 1e-11;
    const double c[9] = {1, e, 0, 0, 1, e, 0, e, 1}, one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnNode *z = reln_sub(l->g, lab_const(l, l->m, c), lab_const(l, l->m, one));

    return reln_add(l->g, l->mat, reln_scale(l->g, z, 1e11));
}

/* Each of a thousand maps is wrong by less than the tolerance, but their sum is not. */
static RelnNode *many_small_steps(Lab *l)
{
    const double e = 9e-11, m[9] = {1, e, 0, 0, 1, 0, 0, 0, 1};
    RelnNode *z = l->x;

    for (int i = 0; i < 1000; i++)
        z = reln_linear_map(l->g, z, m, l->v);
    return reln_scale(l->g, reln_sub(l->g, z, l->x), 1e7);
}

/* ---- what floating point does --------------------------------------------------------------------------------- */

static RelnNode *underflow(Lab *l)
{
    return reln_scale(l->g, reln_scale(l->g, reln_scale(l->g, l->x, 5e-324), 1e300), 1e24);
}

static RelnNode *amplified_rounding(Lab *l)
{
    RelnNode *z = reln_add(l->g, l->x, reln_scale(l->g, l->y, 1e16));

    return reln_sub(l->g, z, reln_scale(l->g, l->y, 1e16));
}

static RelnNode *overflow(Lab *l)
{
    return reln_scale(l->g, reln_scale(l->g, l->x, 1.7e308), 1e10);
}

static RelnNode *single_precision(Lab *l)
{
    RelnNode *x = reln_cast(l->g, reln_scale(l->g, l->x, 1e-44), RELN_F32);

    return reln_scale(l->g, reln_cast(l->g, x, RELN_F64), 1e44);
}

static RelnNode *single_precision_constant(Lab *l)
{
    RelnNode *x = reln_cast(l->g, l->x, RELN_F32);

    return reln_scale(l->g, x, 1e39);
}

int main(void)
{
    static const Attack attacks[] = {
        {"a constant vector holds no infinity", REFUSED, "so:3", infinite_vector, NULL, 0},
        {"a constant vector holds no NaN", REFUSED, "so:3", nan_vector, NULL, 0},
        {"a constant invariant is finite", REFUSED, "so:3", infinite_invariant, NULL, 0},
        {"nothing is scaled by infinity", REFUSED, "so:3", scale_infinite, NULL, 0},
        {"nothing is scaled by NaN", REFUSED, "so:3", scale_nan, NULL, 0},
        {"nothing is shifted by NaN", REFUSED, "so:3", shift_nan, NULL, 0},
        {"a linear map holds no infinity", REFUSED, "so:3", linear_infinite, NULL, 0},
        {"a linear map holds no NaN", REFUSED, "so:3", linear_nan, NULL, 0},
        {"a linear map near the largest numbers is still judged", REFUSED, "so:3", linear_huge,
         NULL, 0},
        {"a tensor holds no infinity", REFUSED, "so:3", contract_infinite, NULL, 0},
        {"a constant vector is not fixed by rotations", REFUSED, "so:3", plain_vector, NULL, 0},
        {"a tiny constant vector is not fixed either", REFUSED, "so:3", tiny_vector, NULL, 0},
        {"a large invariant hides no constant vector", REFUSED, "so:3", const_beside_1e11, NULL, 0},
        {"a larger invariant hides none", EQUIVARIANT, "so:3", const_beside_1e15, NULL, 0},
        {"the largest invariant hides none", REFUSED, "so:3", const_beside_1e300, NULL, 0},
        {"a large block of a map hides no bad one", REFUSED, "so:3", map_beside_1e11, NULL, 0},
        {"a larger block of a map hides none", EQUIVARIANT, "so:3", map_beside_1e15, NULL, 0},
        {"the largest block of a map hides none", REFUSED, "so:3", map_beside_1e300, NULL, 0},
        {"blocks in the same rows and columns hide no bad one", REFUSED, "so:3", map_crossed, NULL,
         0},
        {"a large block of a tensor hides no bad one", REFUSED, "so:3", contraction_beside_1e11,
         NULL, 0},
        {"a larger block of a tensor hides none", EQUIVARIANT, "so:3", contraction_beside_1e15,
         NULL, 0},
        {"the tolerance of a map cannot be amplified", EQUIVARIANT, "so:3", amplified_tolerance,
         NULL, 1e11},
        {"a smaller residual cannot be amplified further", EQUIVARIANT, "so:3", amplified_smaller,
         NULL, 1e12},
        {"the tolerance of a tensor cannot be amplified", EQUIVARIANT, "so:3",
         amplified_contraction, NULL, 1e11},
        {"the tolerance of a constant cannot be amplified", EQUIVARIANT, "so:3", amplified_const,
         NULL, 0},
        {"many maps within tolerance do not add up", EQUIVARIANT, "so:3", many_small_steps, NULL,
         0},
        {"underflow rounds coordinate by coordinate", EVALUATION, "so:3", underflow, NULL, 0},
        {"cancellation amplifies rounding", EVALUATION, "so:3", amplified_rounding, NULL, 0},
        {"overflow leaves no numbers", EVALUATION, "so:3", overflow, NULL, 0},
        {"single precision underflows earlier", EVALUATION, "so:3", single_precision, NULL, 0},
        {"a constant must be finite in single precision, too", REFUSED, "so:3",
         single_precision_constant, NULL, 0},
    };
    return RUN_ATTACKS("constants", attacks);
}
