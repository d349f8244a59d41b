/* golden.h -- reads reference arrays that other software computed. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

/* Reads "folder/array", the file tests/golden/layers/NAME.npy of the source tree. Returns false when there is
 * no such file; a file that cannot be read fails the test. It must be little-endian f8 or i8 in C order;
 * caller frees *values. */
bool golden_load(const char *name, int max_rank, ptrdiff_t *dims, int *rank, double **values);

#endif
