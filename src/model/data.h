/* data.h -- arrays found for a SPEC. */
#ifndef MODEL_DATA_H
#define MODEL_DATA_H

#include "reln/data.h"

/* Numbers of the arrays in their source; -1: not there. */
typedef struct RelnDataFound {
    int input[RELN_SPEC_INPUTS];
    int mask, target;
    ptrdiff_t count; /* samples */
} RelnDataFound;

/* Fails when an input is missing or does not fit; a missing target is for the caller. model NULL: the size of matrices is
 * that of the SPEC's symmetry, whose basis is read if it is a file. */
RelnStatus reln_data_find(RelnCtx *ctx, const RelnModel *model, const RelnSpec *spec,
                          const RelnDataSource *source, RelnDataFound *found, RelnShapes *shapes);

/* "(100, 3, 2)" */
const char *reln_data_shape_text(const RelnDataArray *a, char *out, size_t size);

#endif
