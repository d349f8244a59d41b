/* tensors.h -- the arrays of a .safetensors file by their offsets, without reading the numbers. */
#ifndef IO_TENSORS_H
#define IO_TENSORS_H

#include "base/base.h"
#include "io/file.h"

/* Calls count(self, n) once, then take(self, ...) for each array: its values are NULL, and `begin` is their
 * offset in the file, little-endian. A checksum is verified first, piece by piece. */
RelnStatus reln_tensors_index(const RelnSource *source, RelnStatus (*count)(void *self, int n),
                              RelnStatus (*take)(void *self, const RelnArray *tensor,
                                                 uint64_t begin),
                              void *self);

#endif
