/* data.h -- sets of objects for the table, and features of whole objects for nearest neighbours. */
#ifndef TASKS_SPLATS_DATA_H
#define TASKS_SPLATS_DATA_H

#include "tasks/splats/splats.h"

/* Makes procedural objects, `each` of every class with numbers from `first` on; classes alternate. */
RelnStatus splats_procedural(TaskEnv *env, uint64_t seed, int first, int each, int splats,
                             SplatsObjects *out);
/* Reads arrays `points` (N, n, 3) and `label` (N) of a file; splats are made from the points. */
RelnStatus splats_from_arrays(TaskEnv *env, const char *path, SplatsObjects *out);
/* Reads a folder of classes (kit/splats.h), the `splats` farthest splats of each object; test stays empty if
 * the folder has no separate test part. */
RelnStatus splats_from_folder(TaskEnv *env, const char *path, int splats, SplatsObjects *train,
                              SplatsObjects *test);
/* Reads one file, .off, .ply or .splat, as a set of one object. */
RelnStatus splats_from_file(TaskEnv *env, const char *path, int splats, SplatsObjects *out);
/* Writes arrays of all splats of all objects: (n, 3), (n, 3, 3), (n), (n, 3). */
void splats_arrays(const SplatsObjects *objects, double *position, double *covariance,
                   double *opacity, double *colour);
/* Selects every of-th object, beginning with `part`; or the others. */
RelnStatus splats_part(TaskEnv *env, const SplatsObjects *all, int part, int of, bool rest,
                       SplatsObjects *out);

typedef enum SplatsFeature {
    SPLATS_GRID,    /* share of splats in the cells of an 8 x 8 x 8 grid */
    SPLATS_SPREAD,  /* standard deviations along the principal axes */
    SPLATS_DISTANCE /* histogram of distances between pairs of splats, 64 bins */
} SplatsFeature;
enum { SPLATS_FEATURE_SIZE = 512 };
/* Computes features (n, SPLATS_FEATURE_SIZE) of all objects of a view. */
RelnStatus splats_features(TaskEnv *env, const SplatsView *view, SplatsFeature feature,
                           double *out);
/* Returns the most frequent class of the five nearest, by the sum of absolute differences; on ties, that of
 * the nearest. */
int splats_nearest_class(ptrdiff_t n, const double *features, const int32_t *labels,
                         const double *feature);
/* Writes the splats of an object in a view: (view->net->splats, 14). `room` is that of splats_room(). */
void splats_object(const SplatsView *view, ptrdiff_t object, double *room, double *rows);
size_t splats_room(const SplatsView *view);

#endif
