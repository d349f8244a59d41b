/* doc.h -- checks of a tree that was read from JSON or YAML: it is well formed, and writing and reading it
 * gives the same tree. */
#ifndef TESTS_FUZZ_DOC_H
#define TESTS_FUZZ_DOC_H

#include <math.h>

#include "fuzz.h"

typedef RelnStatus Parse(RelnCtx *, const char *, size_t, const char *, RelnDoc **);

static inline void same_trees(const RelnDocNode *a, const RelnDocNode *b)
{
    const RelnDocNode *y = b->first;
    int count = 0;

    require(a->kind == b->kind && a->count == b->count && isfinite(a->number));
    require(a->number == b->number && a->truth == b->truth);
    if (a->kind == RELN_DOC_TEXT)
        require(strcmp(a->text, b->text) == 0);
    for (const RelnDocNode *x = a->first; x; x = x->next, y = y->next, count++) {
        require((a->kind == RELN_DOC_MAP) == (x->key != NULL));
        if (x->key)
            require(strcmp(x->key, y->key) == 0);
        if (x->key && count < 16) /* looking up all keys would take quadratic time */
            require(reln_doc_get(a, x->key) == x);
        same_trees(x, y);
    }
    require(count == a->count && y == NULL);
}

static inline void write_and_read(RelnCtx *ctx, RelnDoc *doc, RelnDocStyle style, Parse *parse)
{
    const char *const text = reln_doc_write(doc, reln_doc_root(doc), style);
    RelnDoc *again = NULL;

    require(text != NULL);
    require(parse(ctx, text, strlen(text), "again", &again) == RELN_OK);
    same_trees(reln_doc_root(doc), reln_doc_root(again));
    reln_doc_destroy(again);
}

static inline void fuzz_doc(const uint8_t *data, size_t size, Parse *parse)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 64 * size + 65536);
    RelnDoc *doc = NULL;
    const RelnStatus status = parse(ctx, (const char *)data, size, "input", &doc);

    heap.limit = SIZE_MAX;
    if (status == RELN_OK) {
        const RelnDocStyle style = (RelnDocStyle)(size % 3); /* one of the three styles */

        write_and_read(ctx, doc, style,
                       style == RELN_DOC_YAML ? reln_doc_parse_yaml : reln_doc_parse_json);
    } else
        fuzz_refused(ctx, status);
    reln_doc_destroy(doc);
    fuzz_end(ctx);
}

#endif
