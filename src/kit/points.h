/* points.h -- sets of points in space: sampling, neighbours, groups, and Gaussian splats made from them.
 *
 *     reln_points_group(n, rows, RELN_SPLAT, 64, 32, &(RelnGroupRule){0}, room, centres, members);
 *
 * A splat is a row of RELN_SPLAT numbers: position, opacity in [0, 1], three scales (standard deviations along its axes),
 * the quaternion (w, x, y, z) of its axes, and the colour as the constant coefficient of spherical harmonics. Its
 * covariance is R diag(s^2) R^T. Points are the first three numbers of rows that are `stride` numbers apart.
 *
 * Distances are summed in double precision, and ties are decided by the index, so that a choice does not depend on
 * rounding. Nothing here allocates: the caller passes `room`, and several threads may work on different objects.
 */
#ifndef KIT_POINTS_H
#define KIT_POINTS_H

#include "reln/base.h"
#include "reln/random.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RELN_SPLAT = 14 };
enum { /* positions in a row */
       RELN_SPLAT_OPACITY = 3,
       RELN_SPLAT_SCALE = 4,
       RELN_SPLAT_ROTATION = 7,
       RELN_SPLAT_COLOUR = 11
};
/* The constant spherical harmonic: RGB = 0.5 + RELN_SPLAT_C0 colour. */
#define RELN_SPLAT_C0 0.28209479177387814

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* A RelnGroupRule says how centres are chosen; all zero: starting from the point that is farthest from the
 * mean, so that the choice depends neither on the order of points nor on a rotation. */
typedef struct RelnGroupRule {
    /* Choose like the kernels with which published networks are trained: single precision, starting from
     * point 0; points with a squared length of at most 1e-3 are never chosen, and ties go to the lowest
     * (index mod block), then to the lowest index, block = min(512, largest power of two up to n). */
    bool published;
} RelnGroupRule;

/* Numbers in `room` for n points. */
#define RELN_POINTS_ROOM(n) (5 * (size_t)(n))

/* Farthest-point sampling: writes `count` <= n indices, each the farthest point from those before it. */
void reln_points_farthest(ptrdiff_t n, const double *points, ptrdiff_t stride, int count,
                          const RelnGroupRule *rule, double *room, int32_t *out);
/* Writes the k <= n nearest points of a place, the nearest first. */
void reln_points_nearest(ptrdiff_t n, const double *points, ptrdiff_t stride, const double at[3],
                         int k, const RelnGroupRule *rule, double *room, int32_t *out);
/* Does both: centres (groups), and members (groups, k), the nearest points of each centre. */
void reln_points_group(ptrdiff_t n, const double *points, ptrdiff_t stride, int groups, int k,
                       const RelnGroupRule *rule, double *room, int32_t *centres, int32_t *members);

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* Centres the points and divides them by the largest length; returns that length, 0 when all points are
 * equal. */
double reln_points_normalise(ptrdiff_t n, double *points, ptrdiff_t stride);
/* Computes the rotation to principal axes: variances descend, third moments along the first two axes are not
 * negative. */
void reln_points_principal(ptrdiff_t n, const double *points, ptrdiff_t stride, double R[9]);
/* Draws a uniformly distributed rotation; with `upright`, about the z axis. */
void reln_rotation_random(RelnRng *rng, bool upright, double R[9]);
/* Draws a rotation by an angle about a uniformly distributed axis. */
void reln_rotation_about(RelnRng *rng, double angle, double R[9]);
/* Rotates splats: positions and quaternions, with the sign w >= 0. */
void reln_splats_rotate(ptrdiff_t n, double *rows, const double R[9]);

/* Compute the matrix R of a splat, with columns along its axes, and log Sigma = R diag(2 log max(s, least))
 * R^T. */
void reln_splat_axes(const double *row, double R[9]);
void reln_splat_log_covariance(const double *row, double least, double out[9]);

/* a = V diag(w) V^T for a symmetric matrix, w descending; the columns of V are a rotation. */
void reln_eigen3(const double a[9], double w[3], double V[9]);

/* ---- meshes and splats --------------------------------------------------------------------------------------------- */

typedef struct RelnMesh {
    RelnCtx *ctx;
    ptrdiff_t n_vertices, n_triangles;
    double *vertices;   /* (n_vertices, 3) */
    int32_t *triangles; /* (n_triangles, 3) */
} RelnMesh;
void reln_mesh_clear(RelnMesh *mesh);

/* Draws n points, uniformly distributed over the area; `room` has n_triangles numbers. RELN_ERR_NUMERIC when
 * the mesh has no area. */
RelnStatus reln_mesh_sample(const RelnMesh *mesh, RelnRng *rng, ptrdiff_t n, double *room,
                            double *points /* (n, 3) */);

/* Makes a Gaussian at each chosen one of n points, or with NULL at the first n_chosen, from the shape of its neighbourhood. The covariance of the k nearest
 * points gives the axes and the squared scales, which are kept above a tenth of the object's median middle
 * scale (of the chosen points). Flat neighbourhoods are opaque. The colour is grey, from the same invariant and noise of `rng`, so
 * that it does not depend on the frame. */
void reln_points_to_splats(ptrdiff_t n, const double *points, ptrdiff_t stride, int k,
                           ptrdiff_t n_chosen, const int32_t *chosen, RelnRng *rng, double *room,
                           double *rows);
/* The largest k of reln_points_to_splats(), and how many numbers its `room` has. */
enum { RELN_SPLATS_NEAR = 64 };
#define RELN_SPLATS_ROOM(n) (RELN_POINTS_ROOM(n) + (size_t)(n))

#ifdef __cplusplus
}
#endif

#endif
