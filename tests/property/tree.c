/* tree.c -- see tree.h. It follows the text of graph.h and visits all items. */
#include "property/tree.h"

#include <stdlib.h>

#include "support/support.h"

/* Add an item to a domain. */
static void add(Tree *t, int d, int32_t sample, int32_t parent, int32_t second)
{
    const size_t n = (size_t)t->n[d] + 1;

    t->sample[d] = realloc(t->sample[d], n * sizeof(int32_t));
    t->parent[d] = realloc(t->parent[d], n * sizeof(int32_t));
    t->second[d] = realloc(t->second[d], n * sizeof(int32_t));
    assert_non_null(t->sample[d]);
    assert_non_null(t->parent[d]);
    assert_non_null(t->second[d]);
    t->sample[d][t->n[d]] = sample;
    t->parent[d][t->n[d]] = parent;
    t->second[d][t->n[d]] = second;
    t->n[d]++;
}

/* Children of one item of the parent: it is the at-th of all, and of this sample. */
static void add_children(Tree *t, int d, const RelnRowDomain *rows, const int32_t *counts,
                         ptrdiff_t at, int32_t sample)
{
    const int other = rows->second - 2;

    if (rows->kind == RELN_ROWS_PAIRS) {
        for (ptrdiff_t j = 0; j < t->n[other]; j++)
            if (t->sample[other][j] == sample && (rows->self || j != at))
                add(t, d, sample, (int32_t)at, (int32_t)j);
        return;
    }
    for (int i = 0; i < (rows->kind == RELN_ROWS_FIXED ? rows->most : counts[at]); i++)
        add(t, d, sample, (int32_t)at, -1);
}

/* One for every `most` rows of the finer domain. */
static void add_coarse(Tree *t, int d, const RelnRowDomain *rows)
{
    for (ptrdiff_t s = 0; s < t->n_samples; s++) {
        int seen = 0;

        for (ptrdiff_t i = 0; i < t->n[rows->second - 2]; i++)
            if (t->sample[rows->second - 2][i] == s && seen++ % rows->most == 0)
                add(t, d, (int32_t)s, (int32_t)s, -1);
    }
}

static void add_domain(Tree *t, int d, const RelnRowDomain *rows, const int32_t *counts)
{
    if (rows->kind == RELN_ROWS_COARSE)
        add_coarse(t, d, rows);
    else if (rows->parent == RELN_SAMPLES)
        for (ptrdiff_t s = 0; s < t->n_samples; s++)
            add_children(t, d, rows, counts, s, (int32_t)s);
    else
        for (ptrdiff_t i = 0; i < t->n[rows->parent - 2]; i++)
            add_children(t, d, rows, counts, i, t->sample[rows->parent - 2][i]);
    t->first[d] = calloc((size_t)t->n_samples + 1, sizeof(ptrdiff_t));
    assert_non_null(t->first[d]);
    for (ptrdiff_t i = 0; i < t->n[d]; i++)
        for (ptrdiff_t s = t->sample[d][i] + 1; s <= t->n_samples; s++)
            t->first[d][s]++;
}

void tree_make(Tree *t, const RelnGraph *g, ptrdiff_t n_samples, const int32_t *const *rows)
{
    const RelnGraph *home = reln_graph_home_of(g);

    *t = (Tree){.count = home->rows.count, .n_samples = n_samples};
    assert_true(t->count <= TREE_DOMAINS);
    for (int d = 0; d < t->count; d++)
        add_domain(t, d, &home->rows.items[d], rows ? rows[d] : NULL);
}

void tree_clear(Tree *t)
{
    for (int d = 0; d < t->count; d++) {
        free(t->sample[d]);
        free(t->parent[d]);
        free(t->second[d]);
        free(t->first[d]);
    }
}

void tree_index(const Tree *t, const RelnGraph *g, const RelnRowIndexAttr *a, int32_t *out)
{
    const int d = a->domain - 2, up = a->target - 2;
    const RelnRowDomain *rows = reln_row_domain(g, a->domain);

    for (ptrdiff_t i = 0; i < t->n[d]; i++) {
        if (a->second)
            out[i] = t->second[d][i];
        else if (a->target == RELN_SAMPLES)
            out[i] = t->sample[d][i];
        else if (a->target == rows->parent)
            out[i] = t->parent[d][i];
        else /* a coarse one: so many finer rows go to each */
            out[i] =
                (int32_t)(t->first[up][t->sample[d][i]] +
                          (i - t->first[d][t->sample[d][i]]) / reln_row_domain(g, a->target)->most);
    }
}
