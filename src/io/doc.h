/* doc.h -- the internals of trees: their memory, and the builder that the readers of JSON and YAML share. */
#ifndef IO_DOC_H
#define IO_DOC_H

#include "base/base.h"
#include "kit/doc.h"

enum { RELN_DOC_MAX_DEPTH = 16, RELN_DOC_MAX_YAML = 1 << 20, RELN_DOC_MAX_JSON = 8 << 20 };

struct RelnDoc {
    RelnArena arena;
    RelnDocNode *root;
    RelnStatus status; /* status of the first builder that failed */
    RelnDocNode *
        nodes; /* the n_nodes free nodes of a block, so that one allocation serves many; the same for texts */
    size_t n_nodes;
    char *texts;
    size_t n_texts;
};

/* Creates an empty doc without a root. */
RelnStatus reln_doc_begin(RelnCtx *ctx, RelnDoc **out);
RelnDocNode *reln_doc_node(RelnDoc *doc, RelnDocKind kind, int line);
/* Copies a text of that length and terminates it by 0; if text is NULL, only reserves the memory. */
char *reln_doc_keep(RelnDoc *doc, const char *text, size_t length);

/* A RelnTree holds the lists and maps that a reader has open: open[0] is the root. New items go to the
 * innermost one. */
typedef struct RelnTree {
    RelnCtx *ctx;
    RelnDoc *doc;
    const char *what; /* for messages */
    int depth;
    RelnDocNode *open[RELN_DOC_MAX_DEPTH];
    const char *key; /* a key that has been read, before its value */
} RelnTree;

/* Adds a node; the first one becomes the root. A list or map stays open until it is closed. */
RelnStatus reln_tree_add(RelnTree *tree, RelnDocNode *node);
RelnStatus reln_tree_key(RelnTree *tree, const char *text, size_t length, int line);
/* Closes the innermost list or map; a map with a duplicate key is refused here. */
RelnStatus reln_tree_close(RelnTree *tree);
RelnDocNode *reln_tree_inner(const RelnTree *tree); /* NULL when nothing is open */

/* Adds a scalar from its text: a number, which must be finite, or a word. */
RelnStatus reln_tree_add_scalar(RelnTree *tree, RelnDocKind kind, const char *text, size_t length,
                                int line);

#endif
