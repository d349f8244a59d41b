/* alike.h -- compares two texts with numbers in them. */
#ifndef TESTS_ALIKE_H
#define TESTS_ALIKE_H

#include <stdbool.h>

/* Returns whether two texts agree. Fractions may differ by one unit of their last digit, since the C libraries of two
 * machines may round differently; everything else, counts included, is equal byte by byte. *at is the position in `got`
 * of the first difference. */
bool texts_alike(const char *got, const char *want, long *at);

#endif
