/* override.c -- sets keys of a SPEC from a command line: "train.lr=1e-3", "inputs.0.as=vector". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "kit/spec.h"

enum { LONGEST = 512 };

/* Pairs of keys that exclude each other: the one given last wins. */
static const char *const rivals[][2] = {{"epochs", "steps"}, {"width", "parameters"}};

static const char *rival_of(const char *key)
{
    for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++)
        for (int side = 0; side < 2; side++)
            if (strcmp(rivals[i][side], key) == 0)
                return rivals[i][1 - side];
    return NULL;
}

static void remove_item(RelnDocNode *map, const char *key)
{
    RelnDocNode *before = NULL;

    for (RelnDocNode *item = map->first; item; before = item, item = item->next) {
        if (!item->key || strcmp(item->key, key) != 0)
            continue;
        *(before ? &before->next : &map->first) = item->next;
        if (map->last == item)
            map->last = before;
        map->count--;
        return;
    }
}

/* Returns the item of a map by its name, of a list by its number from 0; NULL: there is none. */
static RelnDocNode *item_of(RelnDocNode *node, const char *name)
{
    const bool list = node->kind == RELN_DOC_LIST;
    char *end = NULL;
    const unsigned long index = list ? strtoul(name, &end, 10) : 0;
    unsigned long i = 0;

    if (list && (end == name || *end != '\0'))
        return NULL;
    for (RelnDocNode *item = node->first; item; item = item->next, i++)
        if (list ? i == index : item->key && strcmp(item->key, name) == 0)
            return item;
    return NULL;
}

static void forget_lines(RelnDocNode *node)
{
    node->line = 0;
    for (RelnDocNode *item = node->first; item; item = item->next)
        forget_lines(item);
}

/* Replaces an item's value; its name and its position stay. */
static void replace(RelnDocNode *item, const RelnDocNode *value)
{
    RelnDocNode *next = item->next;
    const char *key = item->key;

    *item = *value;
    item->next = next;
    item->key = key;
}

/* Sets the key at a path. Missing keys and maps are made; reading the SPEC later reports an unknown key. */
static RelnStatus put(RelnCtx *ctx, RelnDoc *doc, RelnDocNode *node, char *path, const char *set,
                      RelnDocNode *value)
{
    char *rest = strchr(path, '.');
    RelnDocNode *item;

    if (rest)
        *rest++ = '\0';
    if (node->kind != RELN_DOC_MAP && node->kind != RELN_DOC_LIST) {
        item = reln_doc_map(doc);
        if (!item)
            return RELN_ERR_NOMEM;
        replace(node, item);
    }
    item = item_of(node, path);
    if (!item && node->kind == RELN_DOC_LIST)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "--set %.200s: '%.40s' is no item of a list of %d; "
                         "wanted a number from 0",
                         set, path, node->count);
    if (!item)
        item = reln_doc_set(doc, node, path, rest ? reln_doc_map(doc) : value);
    else if (!rest)
        replace(item, value);
    if (!item)
        return RELN_ERR_NOMEM;
    if (rest)
        return put(ctx, doc, item, rest, set, value);
    if (rival_of(path))
        remove_item(node, rival_of(path));
    return RELN_OK;
}

/* Sets one key of a tree. */
static RelnStatus put_text(RelnCtx *ctx, RelnDoc *doc, RelnDocNode *root, const char *set)
{
    const char *sign = strchr(set, '=');
    char path[LONGEST], what[LONGEST];
    RelnDoc *parsed = NULL;
    RelnDocNode *value;

    if (!sign || sign == set || sign - set >= LONGEST)
        return reln_fail(ctx, RELN_ERR_ARG, "--set %.200s; wanted KEY=VALUE, as in train.lr=1e-3",
                         set);
    snprintf(path, sizeof path, "%.*s", (int)(sign - set), set);
    snprintf(what, sizeof what, "--set %.200s", set);
    RELN_TRY(reln_doc_parse_yaml(ctx, sign + 1, strlen(sign + 1), what, &parsed));
    value = reln_doc_copy(doc, reln_doc_root(parsed));
    reln_doc_destroy(parsed);
    if (!value)
        return RELN_ERR_NOMEM;
    forget_lines(value);
    return put(ctx, doc, root, path, set, value);
}

/* Checks a setting separately, so that a message names the setting and not a line of a file. Items of lists
 * can only be checked with their list. */
static RelnStatus check_alone(RelnCtx *ctx, const char *set)
{
    char what[LONGEST];
    RelnDoc *doc = NULL;
    RelnStatus status;

    if (strncmp(set, "inputs", 6) == 0)
        return RELN_OK;
    snprintf(what, sizeof what, "--set %.200s", set);
    RELN_TRY(reln_doc_create(ctx, &doc));
    status = put_text(ctx, doc, reln_doc_root_map(doc), set);
    if (status == RELN_OK)
        status = reln_spec_check_keys(ctx, reln_doc_root(doc), what);
    reln_doc_destroy(doc);
    return status;
}

static RelnStatus merge(RelnCtx *ctx, const RelnDoc *given, const char *path, int n,
                        const char *const *sets, RelnSpec *spec)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root;
    RelnStatus status = reln_doc_create(ctx, &doc);

    root = status == RELN_OK ? reln_doc_copy(doc, reln_doc_root(given)) : NULL;
    if (status == RELN_OK && !root)
        status = RELN_ERR_NOMEM;
    for (int i = 0; i < n && status == RELN_OK; i++)
        status = put_text(ctx, doc, root, sets[i]);
    if (status == RELN_OK)
        status = reln_spec_from_doc(ctx, root, path, spec);
    reln_doc_destroy(doc);
    return status;
}

RelnStatus reln_spec_load_with(RelnCtx *ctx, const char *path, int n, const char *const *sets,
                               RelnSpec *spec)
{
    RelnDoc *doc = NULL;
    RelnStatus status;

    for (int i = 0; i < n; i++)
        RELN_TRY(check_alone(ctx, sets[i]));
    RELN_TRY(reln_doc_load(ctx, path, &doc));
    status = merge(ctx, doc, path, n, sets, spec);
    reln_doc_destroy(doc);
    return status;
}
