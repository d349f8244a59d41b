/* doc.h -- settings and results as trees: read from YAML or JSON, built in code, written as JSON or YAML.
 *
 *     RelnDoc *doc = NULL;
 *     if (reln_doc_load(ctx, "spec.yaml", &doc) != RELN_OK) puts(reln_ctx_error(ctx));   // "spec.yaml:3: ..."
 *     const RelnDocNode *width = reln_doc_get(reln_doc_get(reln_doc_root(doc), "model"), "width");
 *     if (width && width->kind == RELN_DOC_NUMBER) ... width->number
 *     reln_doc_destroy(doc);
 *
 *     RelnDocNode *row = reln_doc_map(doc);                       // building: nodes live in the doc's memory
 *     reln_doc_set_number(doc, row, "loss", 0.25);
 *     reln_doc_save(doc, row, "results.json");
 *
 * Files are not trusted: at most 1 MiB of YAML and 8 MiB of JSON, 16 levels, no anchors, aliases, tags, several
 * documents or duplicate keys. An invalid file gives RELN_ERR_FORMAT, with the name of the file and the line.
 * Builders return NULL when memory is out, and NULL for a NULL argument: the writer reports it.
 */
#ifndef KIT_DOC_H
#define KIT_DOC_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum RelnDocKind {
    RELN_DOC_NULL,
    RELN_DOC_BOOL,
    RELN_DOC_NUMBER,
    RELN_DOC_TEXT,
    RELN_DOC_LIST,
    RELN_DOC_MAP
} RelnDocKind;

typedef struct RelnDoc RelnDoc;

/* A list or map is a chain of items in the order they were written. */
typedef struct RelnDocNode {
    RelnDocKind kind;
    int line;         /* line where it was read, from 1; 0 when built */
    const char *key;  /* its name in a map; NULL in a list and for the root */
    const char *text; /* as written, without quotes; NULL for a list or map */
    double number;    /* of a number */
    bool truth;       /* of a boolean */
    int count;        /* items of a list or map */
    struct RelnDocNode *first, *last, *next;
} RelnDocNode;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* `what` names the text in messages. Caller destroys *out. YAML scalars are null ~, true false, numbers as in
 * JSON and with a leading + or . or a trailing one; inf and nan are refused; everything quoted is text. */
RelnStatus reln_doc_parse_yaml(RelnCtx *ctx, const char *text, size_t n_bytes, const char *what,
                               RelnDoc **out);
RelnStatus reln_doc_parse_json(RelnCtx *ctx, const char *text, size_t n_bytes, const char *what,
                               RelnDoc **out);
/* Reads a file by its name: .json is JSON, everything else YAML. */
RelnStatus reln_doc_load(RelnCtx *ctx, const char *path, RelnDoc **out);

const RelnDocNode *reln_doc_root(const RelnDoc *doc);
/* Returns the item of that name; NULL when there is none, or node is NULL or not a map. */
const RelnDocNode *reln_doc_get(const RelnDocNode *node, const char *key);
/* Return the value of an item, or a default if it is missing. */
double reln_doc_number(const RelnDocNode *node, const char *key, double otherwise);
const char *reln_doc_text(const RelnDocNode *node, const char *key, const char *otherwise);
const char *reln_doc_kind_text(RelnDocKind kind); /* "a number", "a list", ... */

/* ---- building --------------------------------------------------------------------------------------------------- */

RelnStatus reln_doc_create(RelnCtx *ctx, RelnDoc **out); /* its root is an empty map */
void reln_doc_destroy(RelnDoc *doc);                     /* NULL is fine */

/* Make new nodes, in the doc's memory and not yet part of the tree; texts are copied. Numbers that are not
 * finite become null. */
RelnDocNode *reln_doc_map(RelnDoc *doc);
RelnDocNode *reln_doc_list(RelnDoc *doc);

/* Put a node into a map under a key (replacing an item of that key), or with key NULL at the end of a
 * list. */
RelnDocNode *reln_doc_set(RelnDoc *doc, RelnDocNode *parent, const char *key, RelnDocNode *value);
void reln_doc_set_number(RelnDoc *doc, RelnDocNode *parent, const char *key, double value);
void reln_doc_set_text(RelnDoc *doc, RelnDocNode *parent, const char *key, const char *value);
void reln_doc_set_bool(RelnDoc *doc, RelnDocNode *parent, const char *key, bool value);
void reln_doc_set_null(RelnDoc *doc, RelnDocNode *parent, const char *key);
/* Returns the root, a map to build in. */
RelnDocNode *reln_doc_root_map(RelnDoc *doc);
/* Makes a deep copy of a node of any doc, in this doc's memory. */
RelnDocNode *reln_doc_copy(RelnDoc *doc, const RelnDocNode *node);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef enum RelnDocStyle { RELN_DOC_ONE_LINE, RELN_DOC_INDENTED, RELN_DOC_YAML } RelnDocStyle;

/* Returns the text of a node, terminated by 0, in the doc's memory; NULL when memory was out at any time.
 * Numbers have the fewest digits that read back as the same double. */
const char *reln_doc_write(RelnDoc *doc, const RelnDocNode *node, RelnDocStyle style);
/* Writes a file, which is replaced whole or not at all: indented JSON, or YAML when the name ends in .yaml or
 * .yml. */
RelnStatus reln_doc_save(RelnDoc *doc, const RelnDocNode *node, const char *path);

#ifdef __cplusplus
}
#endif

#endif
