/* doc.c -- trees of settings and results: their memory, finding nodes, building. */
#include "io/doc.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "io/file.h"
#include "io/text.h"
#include "kit/files.h"
#include "reln/io.h"

enum { NODES = 62, TEXTS = 3960 }; /* sizes of a block, small enough to share a chunk of the arena */

/* ---- memory ----------------------------------------------------------------------------------------------------- */

RelnStatus reln_doc_begin(RelnCtx *ctx, RelnDoc **out)
{
    RelnDoc *doc = reln_alloc(ctx, 1, sizeof *doc);

    *out = doc;
    if (!doc)
        return RELN_ERR_NOMEM;
    reln_arena_init(&doc->arena, ctx);
    return RELN_OK;
}

void reln_doc_destroy(RelnDoc *doc)
{
    if (!doc)
        return;
    reln_arena_clear(&doc->arena);
    reln_free(doc->arena.ctx, doc);
}

/* Records a failure; only the first one is kept. */
static void *failed(RelnDoc *doc, RelnStatus status)
{
    if (doc->status == RELN_OK)
        doc->status = status;
    return NULL;
}

RelnDocNode *reln_doc_node(RelnDoc *doc, RelnDocKind kind, int line)
{
    RelnDocNode *node;

    if (doc->n_nodes == 0) {
        doc->nodes = reln_arena_alloc(&doc->arena, NODES, sizeof *doc->nodes);
        if (!doc->nodes)
            return failed(doc, RELN_ERR_NOMEM);
        doc->n_nodes = NODES;
    }
    node = &doc->nodes[--doc->n_nodes];
    node->kind = kind;
    node->line = line;
    return node;
}

static char *text_room(RelnDoc *doc, size_t n_bytes)
{
    char *room;

    if (n_bytes > TEXTS / 4)
        return reln_arena_alloc(&doc->arena, n_bytes, 1);
    if (n_bytes > doc->n_texts) {
        room = reln_arena_alloc(&doc->arena, TEXTS, 1);
        if (!room)
            return NULL;
        doc->texts = room;
        doc->n_texts = TEXTS;
    }
    room = doc->texts;
    doc->texts += n_bytes;
    doc->n_texts -= n_bytes;
    return room;
}

char *reln_doc_keep(RelnDoc *doc, const char *text, size_t length)
{
    char *copy = text_room(doc, length + 1);

    if (!copy)
        return failed(doc, RELN_ERR_NOMEM);
    if (text && length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* ---- reading: the growing tree ----------------------------------------------------------------------------------- */

static void append(RelnDocNode *parent, RelnDocNode *node)
{
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
}

RelnDocNode *reln_tree_inner(const RelnTree *tree)
{
    return tree->depth > 0 ? tree->open[tree->depth - 1] : NULL;
}

RelnStatus reln_tree_add(RelnTree *tree, RelnDocNode *node)
{
    RelnDocNode *const parent = reln_tree_inner(tree);

    if (!node)
        return RELN_ERR_NOMEM;
    node->key = tree->key;
    tree->key = NULL;
    if (parent)
        append(parent, node);
    else
        tree->doc->root = node;
    if (node->kind != RELN_DOC_LIST && node->kind != RELN_DOC_MAP)
        return RELN_OK;
    if (tree->depth == RELN_DOC_MAX_DEPTH)
        return reln_fail(tree->ctx, RELN_ERR_FORMAT,
                         "%s:%d: more than %d lists and maps inside each other", tree->what,
                         node->line, RELN_DOC_MAX_DEPTH);
    tree->open[tree->depth++] = node;
    return RELN_OK;
}

/* Stores a text. A text ends at its first 0, so a 0 inside is refused. */
static RelnStatus keep_text(RelnTree *tree, const char *text, size_t length, int line,
                            const char **out)
{
    if (length > 0 && memchr(text, '\0', length))
        return reln_fail(tree->ctx, RELN_ERR_FORMAT, "%s:%d: a text has a character 0 in it",
                         tree->what, line);
    *out = reln_doc_keep(tree->doc, text, length);
    return *out ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_tree_add_scalar(RelnTree *tree, RelnDocKind kind, const char *text, size_t length,
                                int line)
{
    RelnDocNode *node = reln_doc_node(tree->doc, kind, line);

    if (!node)
        return RELN_ERR_NOMEM;
    RELN_TRY(keep_text(tree, text, length, line, &node->text));
    node->truth = kind == RELN_DOC_BOOL && *text == 't';
    if (kind == RELN_DOC_NUMBER)
        node->number = reln_number_parse(node->text);
    if (!isfinite(node->number))
        return reln_fail(tree->ctx, RELN_ERR_FORMAT, "%s:%d: the number %s is too large",
                         tree->what, line, reln_quote(text, length).text);
    return reln_tree_add(tree, node);
}

RelnStatus reln_tree_key(RelnTree *tree, const char *text, size_t length, int line)
{
    return keep_text(tree, text, length, line, &tree->key);
}

/* ---- reading: duplicate keys ------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const RelnDocNode *const *)a)->key, (*(const RelnDocNode *const *)b)->key);
}

static RelnStatus check_keys(const RelnTree *tree, const void **items, size_t n)
{
    reln_sort(items, n, sizeof *items, by_key);
    for (size_t i = 1; i < n; i++) {
        const RelnDocNode *const one = items[i - 1], *const other = items[i];

        if (strcmp(one->key, other->key) == 0)
            return reln_fail(tree->ctx, RELN_ERR_FORMAT, "%s:%d: the key '%s' is there twice",
                             tree->what, one->line > other->line ? one->line : other->line,
                             reln_quote(one->key, strlen(one->key)).text);
    }
    return RELN_OK;
}

RelnStatus reln_tree_close(RelnTree *tree)
{
    const RelnDocNode *const node = tree->open[--tree->depth];
    const void **items;
    RelnStatus status;
    size_t n = 0;

    if (node->kind != RELN_DOC_MAP || node->count < 2)
        return RELN_OK;
    items = reln_alloc_raw(tree->ctx, (size_t)node->count, sizeof(const void *));
    if (!items)
        return RELN_ERR_NOMEM;
    for (const RelnDocNode *item = node->first; item; item = item->next)
        items[n++] = item;
    status = check_keys(tree, items, n);
    reln_free(tree->ctx, items);
    return status;
}

/* ---- looking up ------------------------------------------------------------------------------------------------- */

const RelnDocNode *reln_doc_root(const RelnDoc *doc)
{
    return doc->root;
}

static RelnDocNode *find(const RelnDocNode *node, const char *key)
{
    RelnDocNode *item = node && node->kind == RELN_DOC_MAP ? node->first : NULL;

    while (item && strcmp(item->key, key) != 0)
        item = item->next;
    return item;
}

const RelnDocNode *reln_doc_get(const RelnDocNode *node, const char *key)
{
    return find(node, key);
}

double reln_doc_number(const RelnDocNode *node, const char *key, double otherwise)
{
    const RelnDocNode *item = find(node, key);

    return item && item->kind == RELN_DOC_NUMBER ? item->number : otherwise;
}

const char *reln_doc_text(const RelnDocNode *node, const char *key, const char *otherwise)
{
    const RelnDocNode *item = find(node, key);

    return item && item->kind == RELN_DOC_TEXT ? item->text : otherwise;
}

const char *reln_doc_kind_text(RelnDocKind kind)
{
    static const char *const texts[] = {
        [RELN_DOC_NULL] = "nothing",    [RELN_DOC_BOOL] = "true or false",
        [RELN_DOC_NUMBER] = "a number", [RELN_DOC_TEXT] = "a text",
        [RELN_DOC_LIST] = "a list",     [RELN_DOC_MAP] = "a map",
    };

    return (unsigned)kind < sizeof texts / sizeof texts[0] ? texts[kind] : "unknown";
}

/* ---- building --------------------------------------------------------------------------------------------------- */

RelnStatus reln_doc_create(RelnCtx *ctx, RelnDoc **out)
{
    RelnDoc *doc = NULL;

    *out = NULL;
    RELN_TRY(reln_doc_begin(ctx, &doc));
    doc->root = reln_doc_map(doc);
    if (!doc->root) {
        reln_doc_destroy(doc);
        return RELN_ERR_NOMEM;
    }
    *out = doc;
    return RELN_OK;
}

RelnDocNode *reln_doc_root_map(RelnDoc *doc)
{
    return doc->root && doc->root->kind == RELN_DOC_MAP ? doc->root : NULL;
}

RelnDocNode *reln_doc_map(RelnDoc *doc)
{
    return reln_doc_node(doc, RELN_DOC_MAP, 0);
}

RelnDocNode *reln_doc_list(RelnDoc *doc)
{
    return reln_doc_node(doc, RELN_DOC_LIST, 0);
}

/* Replaces `old`, the item with the same key, by `value`. */
static void replace(RelnDocNode *parent, RelnDocNode *old, RelnDocNode *value)
{
    RelnDocNode **link = &parent->first;

    while (*link != old)
        link = &(*link)->next;
    *link = value;
    value->next = old->next;
    if (parent->last == old)
        parent->last = value;
}

static RelnDocNode *put(RelnDocNode *parent, const char *key, RelnDocNode *value)
{
    RelnDocNode *const old = key ? find(parent, key) : NULL;

    value->key = key;
    value->next = NULL;
    if (old)
        replace(parent, old, value);
    else
        append(parent, value);
    return value;
}

RelnDocNode *reln_doc_set(RelnDoc *doc, RelnDocNode *parent, const char *key, RelnDocNode *value)
{
    char *copy = NULL;

    if (!parent || !value)
        return NULL;
    if (parent->kind != (key ? RELN_DOC_MAP : RELN_DOC_LIST)) {
        reln_fail(doc->arena.ctx, RELN_ERR_ARG, "an item %s%s%s was put into %s",
                  key ? "named '" : "without a name", key ? key : "", key ? "'" : "",
                  reln_doc_kind_text(parent->kind));
        return failed(doc, RELN_ERR_ARG);
    }
    if (key && !(copy = reln_doc_keep(doc, key, strlen(key))))
        return NULL;
    return put(parent, copy, value);
}

static void set_scalar(RelnDoc *doc, RelnDocNode *parent, const char *key, RelnDocNode scalar,
                       const char *text)
{
    RelnDocNode *const node = reln_doc_node(doc, scalar.kind, 0);

    if (!node)
        return;
    *node = scalar;
    node->text = reln_doc_keep(doc, text, strlen(text));
    if (node->text)
        reln_doc_set(doc, parent, key, node);
}

void reln_doc_set_number(RelnDoc *doc, RelnDocNode *parent, const char *key, double value)
{
    char text[RELN_NUMBER_TEXT];

    if (!isfinite(value)) {
        reln_doc_set_null(doc, parent, key);
        return;
    }
    reln_number_write(value, text);
    set_scalar(doc, parent, key, (RelnDocNode){.kind = RELN_DOC_NUMBER, .number = value}, text);
}

void reln_doc_set_text(RelnDoc *doc, RelnDocNode *parent, const char *key, const char *value)
{
    set_scalar(doc, parent, key, (RelnDocNode){.kind = RELN_DOC_TEXT}, value);
}

void reln_doc_set_bool(RelnDoc *doc, RelnDocNode *parent, const char *key, bool value)
{
    set_scalar(doc, parent, key, (RelnDocNode){.kind = RELN_DOC_BOOL, .truth = value},
               value ? "true" : "false");
}

void reln_doc_set_null(RelnDoc *doc, RelnDocNode *parent, const char *key)
{
    set_scalar(doc, parent, key, (RelnDocNode){.kind = RELN_DOC_NULL}, "null");
}

static RelnDocNode *copy_one(RelnDoc *doc, const RelnDocNode *node)
{
    RelnDocNode *copy = reln_doc_node(doc, node->kind, node->line);

    if (!copy)
        return NULL;
    copy->number = node->number;
    copy->truth = node->truth;
    if (node->text && !(copy->text = reln_doc_keep(doc, node->text, strlen(node->text))))
        return NULL;
    return copy;
}

/* Copies a tree. The recursion is as deep as the tree: at most 16 levels for a tree that was read from a
 * file. */
RelnDocNode *reln_doc_copy(RelnDoc *doc, const RelnDocNode *node)
{
    RelnDocNode *copy = node ? copy_one(doc, node) : NULL;

    if (!copy)
        return NULL;
    for (const RelnDocNode *item = node->first; item; item = item->next) {
        RelnDocNode *const inner = reln_doc_copy(doc, item);

        if (!inner)
            return NULL;
        if (item->key && !(inner->key = reln_doc_keep(doc, item->key, strlen(item->key))))
            return NULL;
        append(copy, inner);
    }
    return copy;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static RelnStatus load(RelnCtx *ctx, const RelnSource *source, bool json, RelnDoc **out)
{
    const size_t limit = json ? RELN_DOC_MAX_JSON : RELN_DOC_MAX_YAML;
    char *text;
    RelnStatus status;

    if (source->n_bytes > limit)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %zu bytes, at most %zu are read", source->name,
                         source->n_bytes, limit);
    text = reln_alloc_raw(ctx, source->n_bytes, 1);
    if (!text)
        return RELN_ERR_NOMEM;
    status = reln_source_read(source, 0, source->n_bytes, text);
    if (status == RELN_OK)
        status = (json ? reln_doc_parse_json : reln_doc_parse_yaml)(ctx, text, source->n_bytes,
                                                                    source->name, out);
    reln_free(ctx, text);
    return status;
}

RelnStatus reln_doc_load(RelnCtx *ctx, const char *path, RelnDoc **out)
{
    RelnSource source;
    RelnStatus status;

    *out = NULL;
    RELN_TRY(reln_source_open(ctx, path, &source));
    status = load(ctx, &source, reln_path_ends_in(path, ".json"), out);
    reln_source_close(&source);
    return status;
}

RelnStatus reln_doc_save(RelnDoc *doc, const RelnDocNode *node, const char *path)
{
    const bool yaml = reln_path_ends_in(path, ".yaml") || reln_path_ends_in(path, ".yml");
    const char *text = reln_doc_write(doc, node, yaml ? RELN_DOC_YAML : RELN_DOC_INDENTED);

    if (!text)
        return reln_fail(doc->arena.ctx, doc->status == RELN_OK ? RELN_ERR_ARG : doc->status,
                         "%s: not written, because building its content failed: %s", path,
                         reln_status_text(doc->status));
    return reln_file_write(doc->arena.ctx, path, text, strlen(text));
}
