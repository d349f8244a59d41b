/* tree.h -- lists all items of all domains of a batch: for each item its sample, its parent and its second
 * end. */
#ifndef TESTS_PROPERTY_TREE_H
#define TESTS_PROPERTY_TREE_H

#include "graph/graph.h"

enum { TREE_DOMAINS = 16 };

typedef struct Tree {
    int count; /* row domains */
    ptrdiff_t n_samples;
    ptrdiff_t n[TREE_DOMAINS];      /* items of each */
    int32_t *sample[TREE_DOMAINS];  /* of each item */
    int32_t *parent[TREE_DOMAINS];  /* counted in the whole batch */
    int32_t *second[TREE_DOMAINS];  /* pairs */
    ptrdiff_t *first[TREE_DOMAINS]; /* items of the samples before, for each sample and the end */
} Tree;

/* Makes the tree. `rows` holds the bound numbers of rows of each counted domain; other entries are ignored. */
void tree_make(Tree *t, const RelnGraph *g, ptrdiff_t n_samples, const int32_t *const *rows);
void tree_clear(Tree *t);
/* Writes, for each item of a domain, the item of another domain that the op row_index gives. */
void tree_index(const Tree *t, const RelnGraph *g, const RelnRowIndexAttr *a, int32_t *out);

#endif
