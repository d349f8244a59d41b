/* keys.c -- see keys.h. */
#include "io/keys.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

/* Replaces characters that do not fit a message of one line; a user's file may have any character. */
static void flatten(char *text)
{
    for (; *text; text++)
        if (is_control(*text))
            *text = '?';
}

RelnStatus reln_keys_fail(const Reader *r, const RelnDocNode *node, const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    flatten(message);
    if (node && node->line > 0)
        return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s:%d: %s", r->what, node->line, message);
    return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: %s", r->what, message);
}

/* ---- suggestions ------------------------------------------------------------------------------------------------- */

const char *reln_keys_nearest(const char *word, int n, const char *(*candidate)(const void *, int),
                              const void *from)
{
    const char *best = NULL;
    int best_distance = RELN_WORD_FAR;

    for (int i = 0; i < n; i++) {
        const int d = reln_word_distance(word, candidate(from, i));

        if (d < best_distance) {
            best_distance = d;
            best = candidate(from, i);
        }
    }
    return best;
}

static const char *key_name(const void *section, int i)
{
    return ((const Section *)section)->keys[i].name;
}

static const char *word_text(const void *words, int i)
{
    return ((const char *const *)words)[i];
}

static int count_words(const char *const *words)
{
    int n = 0;

    while (words[n])
        n++;
    return n;
}

/* Writes "a, b, c" as far as it fits. */
static const char *join(int n, const char *(*item)(const void *, int), const void *from, char *out,
                        size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", item(from, i));
    return out;
}

static RelnStatus unknown_key(const Reader *r, const Section *section, const RelnDocNode *node)
{
    const char *near = reln_keys_nearest(node->key, section->n_keys, key_name, section);
    char known[320];

    if (near)
        return reln_keys_fail(r, node, "unknown key '%.40s' in %s; did you mean '%s'?", node->key,
                              section->name, near);
    return reln_keys_fail(r, node, "unknown key '%.40s' in %s; known are %s", node->key,
                          section->name,
                          join(section->n_keys, key_name, section, known, sizeof known));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *seen(const RelnDocNode *node)
{
    return node->text ? node->text : reln_doc_kind_text(node->kind);
}

RelnStatus reln_keys_want(const Reader *r, const RelnDocNode *node, const char *name,
                          RelnDocKind kind, const char *wanted)
{
    if (node->kind == kind)
        return RELN_OK;
    return reln_keys_fail(r, node, "%s is %.60s; wanted %s", name, seen(node), wanted);
}

RelnStatus reln_keys_text(const Reader *r, const RelnDocNode *node, const char *name, int room,
                          char *out)
{
    RELN_TRY(reln_keys_want(r, node, name, RELN_DOC_TEXT, "a text"));
    if (!node->text[0] || strlen(node->text) >= (size_t)room)
        return reln_keys_fail(r, node, "%s has %zu letters; wanted 1 to %d", name,
                              strlen(node->text), room - 1);
    for (const char *c = node->text; *c; c++)
        if (is_control(*c))
            return reln_keys_fail(r, node, "%s is %.40s; wanted a text without control characters",
                                  name, node->text);
    memcpy(out, node->text, strlen(node->text) + 1);
    return RELN_OK;
}

RelnStatus reln_keys_word(const Reader *r, const RelnDocNode *node, const char *name,
                          const char *const *words, int *out)
{
    const int n = count_words(words);
    const char *near;
    char known[320];

    RELN_TRY(reln_keys_want(r, node, name, RELN_DOC_TEXT, "a word"));
    for (int i = 0; i < n; i++)
        if (strcmp(node->text, words[i]) == 0) {
            *out = i;
            return RELN_OK;
        }
    near = reln_keys_nearest(node->text, n, word_text, words);
    if (near)
        return reln_keys_fail(r, node, "unknown word '%.40s' for %s; did you mean '%s'?",
                              node->text, name, near);
    return reln_keys_fail(r, node, "unknown word '%.40s' for %s; known are %s", node->text, name,
                          join(n, word_text, words, known, sizeof known));
}

static RelnStatus read_word(const Reader *r, const Key *key, const RelnDocNode *node, int *out)
{
    RELN_TRY(reln_keys_word(r, node, key->name, key->words, out));
    *out += (int)key->low;
    return RELN_OK;
}

/* Writes "a whole number from 1 to 64", "a number above 0, up to 1000". */
static const char *wanted_text(const Key *key, char *out, size_t size)
{
    const bool above = key->low == KEY_ABOVE_ZERO;
    char low[40] = "above 0", high[48] = "";

    if (key->wanted)
        return key->wanted;
    if (!above)
        reln_format(low, sizeof low, "from %.15g", key->low);
    if (key->high == KEY_BELOW_ONE)
        snprintf(high, sizeof high, " to below 1");
    else if (key->high < KEY_NO_LIMIT)
        reln_format(high, sizeof high, "%s %.15g", above ? ", up to" : " to", key->high);
    snprintf(out, size, "a %snumber %s%s", key->kind == KEY_WHOLE ? "whole " : "", low, high);
    return out;
}

static RelnStatus read_number(const Reader *r, const Key *key, const RelnDocNode *node, double *out)
{
    char text[96];
    const char *wanted = wanted_text(key, text, sizeof text);

    RELN_TRY(reln_keys_want(r, node, key->name, RELN_DOC_NUMBER, wanted));
    if (!(node->number >= key->low && node->number <= key->high))
        return reln_keys_fail(r, node, "%s is %.40s; wanted %s", key->name, node->text, wanted);
    *out = node->number;
    return RELN_OK;
}

static RelnStatus read_whole(const Reader *r, const Key *key, const RelnDocNode *node, int *out)
{
    double value = 0;
    char text[96];

    RELN_TRY(read_number(r, key, node, &value));
    if (value != floor(value))
        return reln_keys_fail(r, node, "%s is %.40s; wanted %s", key->name, node->text,
                              wanted_text(key, text, sizeof text));
    *out = (int)value;
    return RELN_OK;
}

/* A single item counts as a list of one. */
static const RelnDocNode *first_item(const RelnDocNode *node)
{
    return node->kind == RELN_DOC_LIST ? node->first : node;
}

static const RelnDocNode *next_item(const RelnDocNode *list, const RelnDocNode *item)
{
    return list->kind == RELN_DOC_LIST ? item->next : NULL;
}

static RelnStatus check_length(const Reader *r, const Key *key, const RelnDocNode *node)
{
    const int n = node->kind == RELN_DOC_LIST ? node->count : 1;

    if (key->count_at == KEY_FIXED ? n == key->room : n >= 1 && n <= key->room)
        return RELN_OK;
    if (key->count_at == KEY_FIXED)
        return reln_keys_fail(r, node, "%s has %d items; wanted %d", key->name, n, key->room);
    return reln_keys_fail(r, node, "%s has %d items; wanted 1 to %d", key->name, n, key->room);
}

static void set_count(const Key *key, char *base, int count)
{
    if (key->count_at != KEY_FIXED)
        *(int *)(void *)(base + key->count_at) = count;
}

static RelnStatus read_words(const Reader *r, const Key *key, const RelnDocNode *node, char *base)
{
    int *out = (int *)(void *)(base + key->at), n = 0;

    RELN_TRY(check_length(r, key, node));
    for (const RelnDocNode *i = first_item(node); i; i = next_item(node, i))
        RELN_TRY(reln_keys_word(r, i, key->name, key->words, &out[n++]));
    set_count(key, base, n);
    return RELN_OK;
}

static RelnStatus read_numbers(const Reader *r, const Key *key, const RelnDocNode *node, char *base)
{
    double *out = (double *)(void *)(base + key->at);
    int n = 0;

    RELN_TRY(check_length(r, key, node));
    for (const RelnDocNode *i = first_item(node); i; i = next_item(node, i))
        RELN_TRY(read_number(r, key, i, &out[n++]));
    set_count(key, base, n);
    return RELN_OK;
}

static RelnStatus read_flag(const Reader *r, const Key *key, const RelnDocNode *node, bool *out)
{
    RELN_TRY(reln_keys_want(r, node, key->name, RELN_DOC_BOOL, "true or false"));
    *out = node->truth;
    return RELN_OK;
}

static RelnStatus read_value(const Reader *r, const Key *key, const RelnDocNode *node, char *base)
{
    void *field = base + key->at;

    switch (key->kind) {
    case KEY_TEXT:
        return reln_keys_text(r, node, key->name, key->room, field);
    case KEY_WORD:
        return read_word(r, key, node, field);
    case KEY_WORDS:
        return read_words(r, key, node, base);
    case KEY_NUMBER:
        return read_number(r, key, node, field);
    case KEY_NUMBERS:
        return read_numbers(r, key, node, base);
    case KEY_WHOLE:
        return read_whole(r, key, node, field);
    case KEY_FLAG:
        return read_flag(r, key, node, field);
    case KEY_SECTION:
        return reln_keys_read(r, key->section, node, field);
    case KEY_PADDING:
        return reln_keys_fail(r, node, "%s is not a setting", key->name);
    case KEY_OWN:
        break;
    }
    return key->read(r, key, node, field);
}

static const Key *find_key(const Section *section, const char *name)
{
    for (int i = 0; i < section->n_keys; i++)
        if (strcmp(section->keys[i].name, name) == 0)
            return &section->keys[i];
    return NULL;
}

RelnStatus reln_keys_read(const Reader *r, const Section *section, const RelnDocNode *map,
                          void *base)
{
    if (map->kind == RELN_DOC_NULL) /* "model:" with nothing under it */
        return RELN_OK;
    RELN_TRY(reln_keys_want(r, map, section->name, RELN_DOC_MAP, "keys and values"));
    for (const RelnDocNode *item = map->first; item; item = item->next) {
        const Key *key = find_key(section, item->key);

        if (!key)
            return unknown_key(r, section, item);
        RELN_TRY(read_value(r, key, item, base));
    }
    return RELN_OK;
}

/* ---- defaults ---------------------------------------------------------------------------------------------------- */

static void set_default(const Key *key, char *base)
{
    void *field = base + key->at;

    if (key->kind == KEY_WORD || key->kind == KEY_WHOLE)
        *(int *)field = (int)key->otherwise;
    else if (key->kind == KEY_NUMBER)
        *(double *)field = key->otherwise;
    else if (key->kind == KEY_FLAG)
        *(bool *)field = key->otherwise != 0;
    else if (key->kind == KEY_SECTION)
        reln_keys_init(key->section, field);
}

/* Sets the defaults. Texts and lists start empty: the struct must be zero. */
void reln_keys_init(const Section *section, void *base)
{
    for (int i = 0; i < section->n_keys; i++)
        set_default(&section->keys[i], base);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool in_range(const Key *key, double value)
{
    return value >= key->low && value <= key->high;
}

static const char *word_of(const Key *key, int value)
{
    return key->words[value - (int)key->low];
}

static void write_list(RelnDoc *doc, RelnDocNode *map, const Key *key, const char *base)
{
    const void *field = base + key->at;
    const int n =
        key->count_at == KEY_FIXED ? key->room : *(const int *)(const void *)(base + key->count_at);
    RelnDocNode *list = n > 0 ? reln_doc_set(doc, map, key->name, reln_doc_list(doc)) : NULL;

    for (int i = 0; i < n; i++)
        if (key->kind == KEY_WORDS)
            reln_doc_set_text(doc, list, NULL, key->words[((const int *)field)[i]]);
        else
            reln_doc_set_number(doc, list, NULL, ((const double *)field)[i]);
}

static void write_number(RelnDoc *doc, RelnDocNode *map, const Key *key, double value)
{
    if (in_range(key, value))
        reln_doc_set_number(doc, map, key->name, value);
}

static void write_text(RelnDoc *doc, RelnDocNode *map, const Key *key, const char *text)
{
    if (text[0])
        reln_doc_set_text(doc, map, key->name, text);
}

static void write_section(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *field)
{
    RelnDocNode *inner = reln_doc_set(doc, map, key->name, reln_doc_map(doc));

    reln_keys_write(doc, inner, key->section, field);
}

static void write_value(RelnDoc *doc, RelnDocNode *map, const Key *key, const char *base)
{
    const void *field = base + key->at;

    switch (key->kind) {
    case KEY_TEXT:
        write_text(doc, map, key, field);
        break;
    case KEY_WORD:
        reln_doc_set_text(doc, map, key->name, word_of(key, *(const int *)field));
        break;
    case KEY_WORDS:
    case KEY_NUMBERS:
        write_list(doc, map, key, base);
        break;
    case KEY_NUMBER:
        write_number(doc, map, key, *(const double *)field);
        break;
    case KEY_WHOLE:
        write_number(doc, map, key, *(const int *)field);
        break;
    case KEY_FLAG:
        reln_doc_set_bool(doc, map, key->name, *(const bool *)field);
        break;
    case KEY_SECTION:
        write_section(doc, map, key, field);
        break;
    case KEY_OWN:
        key->write(doc, map, key, field);
        break;
    case KEY_PADDING:
        break;
    }
}

void reln_keys_write(RelnDoc *doc, RelnDocNode *map, const Section *section, const void *base)
{
    for (int i = 0; i < section->n_keys; i++)
        write_value(doc, map, &section->keys[i], base);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static ptrdiff_t size_of(const Key *key)
{
    switch (key->kind) {
    case KEY_TEXT:
    case KEY_PADDING:
        return key->room;
    case KEY_WORD:
    case KEY_WHOLE:
        return sizeof(int);
    case KEY_NUMBER:
        return sizeof(double);
    case KEY_FLAG:
        return sizeof(bool);
    case KEY_NUMBERS:
        return key->count_at == KEY_FIXED ? key->room * (ptrdiff_t)sizeof(double) : -1;
    case KEY_WORDS:
    case KEY_SECTION:
    case KEY_OWN:
        break;
    }
    return -1;
}

ptrdiff_t reln_keys_size(const Section *section)
{
    ptrdiff_t sum = 0;

    for (int i = 0; i < section->n_keys; i++) {
        const ptrdiff_t size = size_of(&section->keys[i]);

        if (size < 0)
            return -1;
        sum += size;
    }
    return sum;
}

/* ---- the template ------------------------------------------------------------------------------------------------ */

void reln_page_print(Page *page, const char *format, ...)
{
    const size_t left = page->used < page->size ? page->size - page->used : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(left ? page->text + page->used : NULL, left, format, args);
    va_end(args);
    page->used += n > 0 ? (size_t)n : 0;
}

static const char *default_text(const Key *key, char *out, size_t size)
{
    if (key->example)
        return key->example;
    if (key->kind == KEY_WORD)
        return word_of(key, (int)key->otherwise);
    if (key->kind == KEY_FLAG)
        return key->otherwise != 0 ? "true" : "false";
    reln_format(out, size, "%g", key->otherwise);
    return out;
}

/* A key without a default is shown as a comment. */
static bool has_default(const Key *key)
{
    if (key->kind == KEY_NUMBER || key->kind == KEY_WHOLE)
        return in_range(key, key->otherwise);
    return key->kind == KEY_WORD || key->kind == KEY_FLAG || key->shown;
}

enum { HELP_AT = 38, HELP_WIDTH = 80 };

static void print_section(Page *page, const Key *key, int indent)
{
    reln_page_print(page, "%*s%s:%*s # %s\n", indent, "", key->name,
                    HELP_AT - 2 - indent - (int)strlen(key->name), "", key->help);
    reln_keys_template(page, key->section, indent + 2);
}

/* Prints the words of a key after its help, or on a separate line. */
static void print_words(Page *page, const Key *key)
{
    char words[256];

    join(count_words(key->words), word_text, key->words, words, sizeof words);
    if (strlen(key->help) + strlen(words) < HELP_WIDTH)
        reln_page_print(page, ": %s\n", words);
    else
        reln_page_print(page, ":\n%*s#   %s\n", HELP_AT, "", words);
}

static void print_key(Page *page, const Key *key, int indent)
{
    char value[32], line[128];

    snprintf(line, sizeof line, "%s%s: %s", has_default(key) ? "" : "# ", key->name,
             default_text(key, value, sizeof value));
    reln_page_print(page, "%*s%-*s # %s", indent, "", HELP_AT - 1 - indent, line, key->help);
    if (key->words)
        print_words(page, key);
    else
        reln_page_print(page, "\n");
}

void reln_keys_template(Page *page, const Section *section, int indent)
{
    for (int i = 0; i < section->n_keys; i++)
        if (section->keys[i].kind == KEY_SECTION)
            print_section(page, &section->keys[i], indent);
        else
            print_key(page, &section->keys[i], indent);
}
