/* golden.h -- reading reference arrays that other software computed. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

/* name is "folder/array": tests/golden/layers/NAME.npy in the source tree. False when there is no such file; a file
 * that cannot be read fails the test. Little-endian f8 and i8 in C order; caller frees *values. */
bool golden_load(const char *name, int max_rank, ptrdiff_t *dims, int *rank, double **values);

#endif
