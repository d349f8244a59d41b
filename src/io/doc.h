/* doc.h -- inside of trees: their memory, and the builder that the readers of JSON and YAML share. */
#ifndef IO_DOC_H
#define IO_DOC_H

#include "base/base.h"
#include "kit/doc.h"

enum { RELN_DOC_MAX_DEPTH = 16, RELN_DOC_MAX_YAML = 1 << 20, RELN_DOC_MAX_JSON = 8 << 20 };

struct RelnDoc {
    RelnArena arena;
    RelnDocNode *root;
    RelnStatus status; /* of the first builder that failed */
    RelnDocNode *
        nodes; /* the n_nodes free nodes of a block: one allocation serves many; the same for texts */
    size_t n_nodes;
    char *texts;
    size_t n_texts;
};

/* An empty doc without a root. */
RelnStatus reln_doc_begin(RelnCtx *ctx, RelnDoc **out);
RelnDocNode *reln_doc_node(RelnDoc *doc, RelnDocKind kind, int line);
/* Copy a text of that length and end it by 0; with text NULL, only reserve the room. */
char *reln_doc_keep(RelnDoc *doc, const char *text, size_t length);

/* The lists and maps that a reader has open: open[0] is the root. New items go to the innermost. */
typedef struct RelnTree {
    RelnCtx *ctx;
    RelnDoc *doc;
    const char *what; /* for messages */
    int depth;
    RelnDocNode *open[RELN_DOC_MAX_DEPTH];
    const char *key; /* a key that was read, while its value was not */
} RelnTree;

/* Adds a node; the first one becomes the root. A list or map stays open until it is closed. */
RelnStatus reln_tree_add(RelnTree *tree, RelnDocNode *node);
RelnStatus reln_tree_key(RelnTree *tree, const char *text, size_t length, int line);
/* Closes the innermost list or map; a map with a key twice is refused here. */
RelnStatus reln_tree_close(RelnTree *tree);
RelnDocNode *reln_tree_inner(const RelnTree *tree); /* NULL when nothing is open */

/* Adds a scalar from its text: a number, which must be finite, or words. */
RelnStatus reln_tree_add_scalar(RelnTree *tree, RelnDocKind kind, const char *text, size_t length,
                                int line);

#endif
