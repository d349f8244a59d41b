/* points.h -- sets of points in space: sampling, neighbours, groups, and Gaussian splats made of them.
 *
 *     reln_points_group(n, rows, RELN_SPLAT, 64, 32, &(RelnGroupRule){0}, room, centres, members);
 *
 * A splat is a row of RELN_SPLAT numbers: position, opacity in [0, 1], three scales (standard deviations along its axes),
 * the quaternion (w, x, y, z) of its axes, and the colour as the constant coefficient of spherical harmonics. Its covariance
 * is R diag(s^2) R^T. Points are the first three numbers of rows that are `stride` numbers apart.
 *
 * Distances are summed in double precision and equal ones are decided by the index, so that a choice does not depend on
 * rounding. Nothing here allocates: memory is the caller's `room`, and objects can be worked on by any number of threads.
 */
#ifndef KIT_POINTS_H
#define KIT_POINTS_H

#include "reln/base.h"
#include "reln/random.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RELN_SPLAT = 14 };
enum { /* places in a row */
       RELN_SPLAT_OPACITY = 3,
       RELN_SPLAT_SCALE = 4,
       RELN_SPLAT_ROTATION = 7,
       RELN_SPLAT_COLOUR = 11
};
/* The constant spherical harmonic: RGB = 0.5 + RELN_SPLAT_C0 colour. */
#define RELN_SPLAT_C0 0.28209479177387814

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* How centres are chosen; all zero: from the point that is farthest from the mean, so that no order of points and no
 * rotation matters. */
typedef struct RelnGroupRule {
    /* As the kernels that published networks are trained with: single precision, from point 0 on, points with a squared
     * length of at most 1e-3 are never chosen, and ties go to the lowest (index mod block), then to the lowest index,
     * block = min(512, largest power of two up to n). */
    bool published;
} RelnGroupRule;

/* Numbers of `room` for n points. */
#define RELN_POINTS_ROOM(n) (5 * (size_t)(n))

/* Farthest-point sampling: `count` <= n indices, each the farthest point from those before it. */
void reln_points_farthest(ptrdiff_t n, const double *points, ptrdiff_t stride, int count,
                          const RelnGroupRule *rule, double *room, int32_t *out);
/* The k <= n nearest points of a place, the nearest first. */
void reln_points_nearest(ptrdiff_t n, const double *points, ptrdiff_t stride, const double at[3],
                         int k, const RelnGroupRule *rule, double *room, int32_t *out);
/* Both: centres (groups), and members (groups, k), the nearest points of each centre. */
void reln_points_group(ptrdiff_t n, const double *points, ptrdiff_t stride, int groups, int k,
                       const RelnGroupRule *rule, double *room, int32_t *centres, int32_t *members);

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* Centre the points and divide them by the largest length; out: that length, 0 when all points are one. */
double reln_points_normalise(ptrdiff_t n, double *points, ptrdiff_t stride);
/* The rotation to principal axes: variances fall, third moments along the first two axes are not negative. */
void reln_points_principal(ptrdiff_t n, const double *points, ptrdiff_t stride, double R[9]);
/* Uniformly distributed; about the z axis with `upright`. */
void reln_rotation_random(RelnRng *rng, bool upright, double R[9]);
/* Rotation by an angle about a uniformly distributed axis. */
void reln_rotation_about(RelnRng *rng, double angle, double R[9]);
/* Rotate splats: positions and quaternions, of which w >= 0 is taken. */
void reln_splats_rotate(ptrdiff_t n, double *rows, const double R[9]);

/* The matrix R of a splat, columns along its axes, and log Sigma = R diag(2 log max(s, least)) R^T. */
void reln_splat_axes(const double *row, double R[9]);
void reln_splat_log_covariance(const double *row, double least, double out[9]);

/* a = V diag(w) V^T for a symmetric matrix, w falling, columns of V a rotation. */
void reln_eigen3(const double a[9], double w[3], double V[9]);

/* ---- meshes and splats --------------------------------------------------------------------------------------------- */

typedef struct RelnMesh {
    RelnCtx *ctx;
    ptrdiff_t n_vertices, n_triangles;
    double *vertices;   /* (n_vertices, 3) */
    int32_t *triangles; /* (n_triangles, 3) */
} RelnMesh;
void reln_mesh_clear(RelnMesh *mesh);

/* n points, uniformly distributed over the area; `room` has n_triangles numbers. RELN_ERR_NUMERIC when the mesh has no
 * area. */
RelnStatus reln_mesh_sample(const RelnMesh *mesh, RelnRng *rng, ptrdiff_t n, double *room,
                            double *points /* (n, 3) */);

/* Gaussians of n points by the shape of their neighbourhoods: the covariance of the k nearest points has the axes and the
 * squared scales, which are kept above a tenth of the object's median middle scale; flat neighbourhoods are opaque; the
 * colour is grey, of the same invariant and noise of `rng`, so that nothing of it depends on the frame. */
void reln_points_to_splats(ptrdiff_t n, const double *points, ptrdiff_t stride, int k, RelnRng *rng,
                           double *room, double *rows);
/* Numbers of its `room`, and the largest k. */
enum { RELN_SPLATS_NEAR = 64 };
#define RELN_SPLATS_ROOM(n) (RELN_POINTS_ROOM(n) + (size_t)(n))

#ifdef __cplusplus
}
#endif

#endif
