/* lift.h -- raw data into matrix features, and back out: vectors, four-momenta, covariances.
 *
 * A network of this library acts on matrices X that follow a change of frame g by conjugation, X -> g X g^-1. A lift makes
 * such a matrix from raw data; a read-out computes data from a matrix. Each function states its group: the frames for which
 * lift(g . data) = g lift(data) g^-1 holds exactly. Outside that group the equation does not hold.
 *
 *     data                            lift                            frames                  read-out
 *     vector in space                 reln_lift_hat                   SO(3)                   reln_readout_hat
 *     attitude as quaternion          reln_lift_quaternion            SO(3), on three vectors reln_readout_quaternion
 *     vector, four-momentum           reln_lift_embed                 O(n), O(p,q)            reln_readout_embed_column
 *     covariance                      reln_lift_covariance_log        O(n)                    reln_readout_covariance_exp
 *     covariances with a reference    reln_lift_congruence, _log      GL(n)                   reln_readout_positive, ...
 *     pairs of vectors with reference reln_lift_congruence_pair       GL(n)                   reln_readout_vector, ...
 *     matrix of a linear map          the matrix itself               GL(n)                   the matrix itself
 *     scalar                          the scalar itself               every group: invariant  the scalar itself
 *
 * The last two need no call: pass the arrays unchanged. A covariance may also be passed unchanged, but only if all
 * frames are orthogonal: S -> R S Rᵀ is a conjugation only for orthogonal R.
 *
 *     double v[2][3] = {{1, 0, 0}, {0, 2, 0}}, x[2][3][3];
 *     if (reln_lift_hat(ctx, 2, &v[0][0], &x[0][0][0]) != RELN_OK) puts(reln_ctx_error(ctx));
 *
 * Arrays are row-major doubles, `count` items one after the other; outputs must not overlap inputs. NaN, infinity and
 * data outside a lift's domain give RELN_ERR_NUMERIC, with the index of the item in the message; invalid sizes give
 * RELN_ERR_ARG. Read-outs that cannot fail return nothing.
 */
#ifndef RELN_LIFT_H
#define RELN_LIFT_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- vectors in space: so(3) ----------------------------------------------------------------- */

/* x = hat(v), hat(v) w = v × w:  [[0, -v2, v1], [v2, 0, -v0], [-v1, v0, 0]].
 * Shapes  v (count,3) -> x (count,3,3)
 * Group   SO(3): hat(R v) = R hat(v) Rᵀ. Not O(3): hat(R v) = det(R) R hat(v) Rᵀ, a reflection changes the sign. */
RELN_API RelnStatus reln_lift_hat(RelnCtx *ctx, ptrdiff_t count, const double *v, double *x);

/* v = vee((x - xᵀ) / 2), for any matrix x.
 * Shapes  x (count,3,3) -> v (count,3)
 * Group   SO(3), as reln_lift_hat(). */
RELN_API void reln_readout_hat(ptrdiff_t count, const double *x, double *v);

/* -- attitudes: three vectors ------------------------------------------------------------------ */

/* x = R(q), the rotation matrix of q = (w, x, y, z) divided by its length; R(q) = R(-q). Its columns are the axes of
 * the body in world coordinates, so a rotation g of the world turns x into g x: each column is a vector, which
 * reln_lift_hat() accepts.
 * Shapes  q (count,4) -> x (count,3,3)
 * Group   SO(3), from the left.
 * Fails   RELN_ERR_NUMERIC when a quaternion is 0. */
RELN_API RelnStatus reln_lift_quaternion(RelnCtx *ctx, ptrdiff_t count, const double *q, double *x);

/* Writes the quaternion q with w >= 0 of a rotation x, for x a rotation up to rounding; accurate for every angle.
 * Shapes  x (count,3,3) -> q (count,4) */
RELN_API void reln_readout_quaternion(ptrdiff_t count, const double *x, double *q);

/* -- vectors with a metric: O(n), O(p,q) ----------------------------------------------------- */

/* Metrics for four-momenta (E, px, py, pz): (-,+,+,+), used by the paper and by default here, and
 * (+,-,-,-). */
RELN_API extern const double reln_metric_mostly_plus[4];
RELN_API extern const double reln_metric_mostly_minus[4];

/* x = [[0, v], [(eta v)ᵀ, 0]], eta = diag(metric); metric NULL: the identity. tr(X_v X_w) = 2 vᵀ eta w.
 * Shapes  metric (n), v (count,n) -> x (count,n+1,n+1)
 * Group   all g with gᵀ eta g = eta, acting as diag(g, 1): O(n) for the identity, O(p,q) with reflections of space and
 *         time. Not GL(n).
 * Fails   RELN_ERR_ARG when an entry of the metric is zero or not finite. */
RELN_API RelnStatus reln_lift_embed(RelnCtx *ctx, ptrdiff_t n, const double *metric,
                                    ptrdiff_t count, const double *v, double *x);

/* Reads the vector from the last column of a matrix of size n+1: v_i = x[i][n].
 * Shapes  x (count,n+1,n+1) -> v (count,n)
 * Group   GL(n) acting as diag(g, 1): v -> g v. */
RELN_API void reln_readout_embed_column(ptrdiff_t n, ptrdiff_t count, const double *x, double *v);

/* Reads the vector from the last row: v_i = x[n][i] / metric[i]. On embedded vectors it equals
 * reln_readout_embed_column(); on other matrices it is another vector.
 * Shapes  x (count,n+1,n+1) -> v (count,n)
 * Group   as reln_lift_embed() */
RELN_API void reln_readout_embed_row(ptrdiff_t n, const double *metric, ptrdiff_t count,
                                     const double *x, double *v);

/* -- covariances: O(n) ----------------------------------------------------------------------- */

/* x = log(s), symmetric.
 * Shapes  s (count,n,n) -> x (count,n,n)
 * Group   O(n): log(R S Rᵀ) = R log(S) Rᵀ. Not GL(n), where S -> A S Aᵀ is not a conjugation: use a reference, below.
 * Fails   RELN_ERR_NUMERIC when an item is not symmetric (beyond 1e-5 of its norm) or not positive definite */
RELN_API RelnStatus reln_lift_covariance_log(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count,
                                             const double *s, double *x);

/* s = exp((x + xᵀ) / 2), symmetric positive definite for any x.
 * Shapes  x (count,n,n) -> s (count,n,n)
 * Group   O(n)
 * Fails   RELN_ERR_NUMERIC when the exponential overflows */
RELN_API RelnStatus reln_readout_covariance_exp(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count,
                                                const double *x, double *s);

/* -- covariances and vectors with a reference: GL(n) ----------------------------------------- */

/* Under a general change of frame, v -> A v and S -> A S Aᵀ. A reference Sbar is a matrix computed from the
 * data that changes like a covariance, Sbar -> A Sbar Aᵀ. Then the products S Sbar^-1 and v wᵀ Sbar^-1 change
 * by conjugation with A, for every A in GL(n), reflections included. All items of a call use one reference.
 * It must come from the data, as in the two functions below: with a fixed matrix, such as the identity, the
 * promise holds for O(n) only. The rounding error grows with the condition number of A as eps (64 + 2 cond³)
 * at most. A single covariance with itself as reference carries no information.
 *
 * References are sbar (n,n), symmetric positive definite, RELN_ERR_NUMERIC otherwise. To regularise, add a
 * multiple of another reference, never of the identity: `prior` (n,n) must change like a covariance too. Pass
 * NULL and eps = 0 for no prior. */

/* sbar = mean of s + eps prior.  s (count,n,n), each symmetric. */
RELN_API RelnStatus reln_reference_mean(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count, const double *s,
                                        double eps, const double *prior, double *sbar);

/* sbar = sum v vᵀ / count + eps prior.  v (count,n); with eps = 0 the vectors must span the space. */
RELN_API RelnStatus reln_reference_scatter(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count,
                                           const double *v, double eps, const double *prior,
                                           double *sbar);

/* s += eps sbar, in place.  s (count,n,n). Makes semidefinite covariances definite, before a logarithm. */
RELN_API void reln_regularise(ptrdiff_t n, const double *sbar, ptrdiff_t count, double eps,
                              double *s);

/* x = s sbar^-1.
 * Shapes  sbar (n,n), s (count,n,n) -> x (count,n,n)
 * Group   GL(n): X -> A X A^-1
 * Fails   RELN_ERR_NUMERIC when an item is not symmetric */
RELN_API RelnStatus reln_lift_congruence(RelnCtx *ctx, ptrdiff_t n, const double *sbar,
                                         ptrdiff_t count, const double *s, double *x);

/* x = log(s sbar^-1) = L log(L^-1 s L^-ᵀ) L^-1 with sbar = L Lᵀ.
 * Shapes and group as reln_lift_congruence(). Fails also when an item is not positive definite */
RELN_API RelnStatus reln_lift_congruence_log(RelnCtx *ctx, ptrdiff_t n, const double *sbar,
                                             ptrdiff_t count, const double *s, double *x);

/* x = v wᵀ sbar^-1; w may be v.
 * Shapes  sbar (n,n), v (count,n), w (count,n) -> x (count,n,n)
 * Group   GL(n) */
RELN_API RelnStatus reln_lift_congruence_pair(RelnCtx *ctx, ptrdiff_t n, const double *sbar,
                                              ptrdiff_t count, const double *v, const double *w,
                                              double *x);

/* Read-outs of x (count,n,n), all equivariant under GL(n). */

/* y = x v, a vector: y -> A y.  v (count,n) -> y (count,n). Needs no reference. */
RELN_API void reln_readout_vector(ptrdiff_t n, ptrdiff_t count, const double *x, const double *v,
                                  double *y);

/* y = sbar^-1 x v, a covector: y -> A^-ᵀ y, so that yᵀ v is invariant.  v (count,n) -> y (count,n). */
RELN_API RelnStatus reln_readout_covector(RelnCtx *ctx, ptrdiff_t n, const double *sbar,
                                          ptrdiff_t count, const double *x, const double *v,
                                          double *y);

/* s = (x sbar + sbar xᵀ) / 2, symmetric: s -> A s Aᵀ.  -> s (count,n,n). The inverse of reln_lift_congruence(). */
RELN_API void reln_readout_symmetric(ptrdiff_t n, const double *sbar, ptrdiff_t count,
                                     const double *x, double *s);

/* s = exp((x + sbar xᵀ sbar^-1) / 2) sbar, symmetric positive definite for any x: s -> A s Aᵀ.  -> s (count,n,n).
 * The inverse of reln_lift_congruence_log(). Fails when the exponential overflows. */
RELN_API RelnStatus reln_readout_positive(RelnCtx *ctx, ptrdiff_t n, const double *sbar,
                                          ptrdiff_t count, const double *x, double *s);

/* y = tr(x sbar xᵀ sbar^-1), invariant, zero only for x = 0.  -> y (count). */
RELN_API RelnStatus reln_readout_norm(RelnCtx *ctx, ptrdiff_t n, const double *sbar,
                                      ptrdiff_t count, const double *x, double *y);

#ifdef __cplusplus
}
#endif

#endif
