/* json.c -- reads JSON (RFC 8259), writes JSON and YAML. The reader is strict and does not recurse. */
#include <string.h>

#include "io/doc.h"
#include "io/text.h"

/* ---- reading ---------------------------------------------------------------------------------------------------- */

typedef struct Reader {
    RelnTree tree;
    const char *p, *end;
    int line;
} Reader;

static RelnStatus fail_here(const Reader *r, const char *wanted)
{
    if (r->p == r->end)
        return reln_fail(r->tree.ctx, RELN_ERR_FORMAT, "%s:%d: the text ends where %s is wanted",
                         r->tree.what, r->line, wanted);
    return reln_fail(r->tree.ctx, RELN_ERR_FORMAT, "%s:%d: '%s' (0x%02x) where %s is wanted",
                     r->tree.what, r->line, reln_quote(r->p, 1).text,
                     (unsigned)(unsigned char)*r->p, wanted);
}

static void skip_space(Reader *r)
{
    for (; r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r');
         r->p++)
        r->line += *r->p == '\n';
}

static bool accept(Reader *r, char c)
{
    skip_space(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

/* Reads the four digits of \uXXXX. */
static bool read_hex(Reader *r, uint32_t *out)
{
    static const char digits[] = "0123456789abcdef";

    *out = 0;
    for (int i = 0; i < 4; i++, r->p++) {
        const char c = r->p < r->end ? *r->p : ' ';
        const char *at = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);

        if (!at || c == '\0')
            return false;
        *out = *out << 4 | (uint32_t)(at - digits);
    }
    return true;
}

/* A character beyond U+FFFF is written as two escapes, a high and a low surrogate. */
static RelnStatus read_unicode(Reader *r, uint32_t *out)
{
    uint32_t low = 0;

    if (!read_hex(r, out))
        return fail_here(r, "a hexadecimal digit");
    if (*out == 0)
        return reln_fail(r->tree.ctx, RELN_ERR_FORMAT, "%s:%d: a text has a character 0 in it",
                         r->tree.what, r->line);
    if (*out < 0xd800 || *out > 0xdfff)
        return RELN_OK;
    if (*out < 0xdc00 && r->end - r->p >= 2 && r->p[0] == '\\' && r->p[1] == 'u') {
        r->p += 2;
        if (!read_hex(r, &low))
            return fail_here(r, "a hexadecimal digit");
    }
    if (low < 0xdc00 || low > 0xdfff)
        return reln_fail(r->tree.ctx, RELN_ERR_FORMAT, "%s:%d: half of a surrogate pair",
                         r->tree.what, r->line);
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return RELN_OK;
}

static RelnStatus read_escape(Reader *r, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char c = r->p < r->end ? *r->p : '\0';
    const char *const at = c ? strchr(letters, c) : NULL;
    uint32_t character = 0;

    if (!at && c != 'u')
        return fail_here(r, "an escape");
    r->p++;
    if (at)
        *(*to)++ = meant[at - letters];
    else {
        RELN_TRY(read_unicode(r, &character));
        *to += reln_utf8_encode(character, *to);
    }
    return RELN_OK;
}

/* Returns the end of the string that begins at r->p: its closing quote, or the end of the text. */
static const char *closing_quote(const Reader *r)
{
    const char *p = r->p;

    while (p < r->end && *p != '"')
        p += *p == '\\' && p + 1 < r->end ? 2 : 1;
    return p;
}

/* Reads a string whose opening quote has been read. An escape is longer than the character it stands for, so
 * the raw length is enough memory. */
static RelnStatus read_string(Reader *r, const char **out)
{
    char *const text = reln_doc_keep(r->tree.doc, NULL, (size_t)(closing_quote(r) - r->p)),
                *to = text;

    if (!text)
        return RELN_ERR_NOMEM;
    while (r->p < r->end && *r->p != '"') {
        const size_t n = reln_utf8_length(r->p, r->end);

        if (n == 0)
            return fail_here(r, "UTF-8");
        if ((unsigned char)*r->p < 0x20)
            return fail_here(r, "an escape instead of a control character");
        if (*r->p == '\\') {
            r->p++;
            RELN_TRY(read_escape(r, &to));
            continue;
        }
        memcpy(to, r->p, n);
        to += n;
        r->p += n;
    }
    if (r->p == r->end)
        return fail_here(r, "a closing quote");
    r->p++;
    *to = '\0';
    *out = text;
    return RELN_OK;
}

static RelnStatus read_key(Reader *r)
{
    if (!accept(r, '"'))
        return fail_here(r, "a key in quotes");
    RELN_TRY(read_string(r, &r->tree.key));
    return accept(r, ':') ? RELN_OK : fail_here(r, "':'");
}

static RelnStatus read_text(Reader *r)
{
    RelnDocNode *node = reln_doc_node(r->tree.doc, RELN_DOC_TEXT, r->line);

    if (!node)
        return RELN_ERR_NOMEM;
    RELN_TRY(read_string(r, &node->text));
    return reln_tree_add(&r->tree, node);
}

/* Reads null, true, false or a number. */
static RelnStatus read_word(Reader *r)
{
    static const struct {
        const char *text;
        RelnDocKind kind;
    } words[] = {{"null", RELN_DOC_NULL}, {"true", RELN_DOC_BOOL}, {"false", RELN_DOC_BOOL}};
    const char *const text = r->p;
    size_t length = reln_number_length(r->p, r->end, false);
    RelnDocKind kind = RELN_DOC_NUMBER;

    for (size_t i = 0; length == 0 && i < sizeof words / sizeof words[0]; i++) {
        const size_t n = strlen(words[i].text);

        if ((size_t)(r->end - r->p) >= n && memcmp(r->p, words[i].text, n) == 0) {
            kind = words[i].kind;
            length = n;
        }
    }
    if (length == 0)
        return fail_here(r, "a value");
    r->p += length;
    return reln_tree_add_scalar(&r->tree, kind, text, length, r->line);
}

/* Reads a complete value, or the beginning of a list or map with items, which stays open. */
static RelnStatus read_value(Reader *r, bool *open)
{
    const bool list = accept(r, '['), map = !list && accept(r, '{');

    *open = false;
    if (!list && !map)
        return accept(r, '"') ? read_text(r) : read_word(r);
    RELN_TRY(reln_tree_add(
        &r->tree, reln_doc_node(r->tree.doc, list ? RELN_DOC_LIST : RELN_DOC_MAP, r->line)));
    if (accept(r, list ? ']' : '}'))
        return reln_tree_close(&r->tree);
    *open = true;
    return list ? RELN_OK : read_key(r);
}

/* After a complete value, closes the lists and maps that end here, up to the next item. */
static RelnStatus read_after(Reader *r)
{
    for (const RelnDocNode *in; (in = reln_tree_inner(&r->tree));) {
        const bool list = in->kind == RELN_DOC_LIST;

        if (accept(r, ','))
            return list ? RELN_OK : read_key(r);
        if (!accept(r, list ? ']' : '}'))
            return fail_here(r, list ? "',' or ']'" : "',' or '}'");
        RELN_TRY(reln_tree_close(&r->tree));
    }
    return RELN_OK;
}

static RelnStatus read_document(Reader *r)
{
    bool open = false;

    do {
        RELN_TRY(read_value(r, &open));
        if (!open)
            RELN_TRY(read_after(r));
    } while (reln_tree_inner(&r->tree));
    skip_space(r);
    return r->p == r->end ? RELN_OK : fail_here(r, "the end");
}

RelnStatus reln_doc_parse_json(RelnCtx *ctx, const char *text, size_t n_bytes, const char *what,
                               RelnDoc **out)
{
    Reader r = {.tree = {.ctx = ctx, .what = what}, .p = text, .end = text + n_bytes, .line = 1};
    RelnStatus status;

    *out = NULL;
    if (n_bytes > RELN_DOC_MAX_JSON)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %zu bytes, at most %d are read", what, n_bytes,
                         (int)RELN_DOC_MAX_JSON);
    RELN_TRY(reln_doc_begin(ctx, &r.tree.doc));
    status = read_document(&r);
    if (status == RELN_OK)
        *out = r.tree.doc;
    else
        reln_doc_destroy(r.tree.doc);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void put_line(RelnText *text, int indent)
{
    reln_text_puts(text, "\n");
    for (int i = 0; i < indent; i++)
        reln_text_puts(text, "  ");
}

static void put_scalar(RelnText *text, const RelnDocNode *node)
{
    char number[RELN_NUMBER_TEXT];

    switch (node->kind) {
    case RELN_DOC_TEXT:
        reln_text_put_quoted(text, node->text);
        break;
    case RELN_DOC_BOOL:
        reln_text_puts(text, node->truth ? "true" : "false");
        break;
    case RELN_DOC_NUMBER:
        reln_number_write(node->number, number);
        reln_text_puts(text, number);
        break;
    case RELN_DOC_NULL:
    case RELN_DOC_LIST:
    case RELN_DOC_MAP:
        reln_text_puts(text, "null");
        break;
    }
}

static bool is_scalar(const RelnDocNode *node)
{
    return node->kind != RELN_DOC_LIST && node->kind != RELN_DOC_MAP;
}

/* Returns whether the node is written on one line: a list of numbers or words. */
static bool is_flat(const RelnDocNode *node)
{
    const RelnDocNode *item = node->first;

    while (item && is_scalar(item))
        item = item->next;
    return node->kind == RELN_DOC_LIST && !item;
}

/* If indent < 0, writes on one line. */
static void put_json(RelnText *text, const RelnDocNode *node, int indent)
{
    const bool list = node->kind == RELN_DOC_LIST;
    const int inner = indent < 0 || is_flat(node) ? -1 : indent + 1;

    if (is_scalar(node)) {
        put_scalar(text, node);
        return;
    }
    reln_text_puts(text, list ? "[" : "{");
    for (const RelnDocNode *item = node->first; item; item = item->next) {
        if (inner >= 0)
            put_line(text, inner);
        if (!list) {
            reln_text_put_quoted(text, item->key);
            reln_text_puts(text, ": ");
        }
        put_json(text, item, inner);
        if (item->next)
            reln_text_puts(text, inner >= 0 ? "," : ", ");
    }
    if (inner >= 0 && node->first)
        put_line(text, indent);
    reln_text_puts(text, list ? "]" : "}");
}

/* Returns whether YAML, in any version, would read the word as something else than text. */
static bool is_special(const char *words)
{
    static const char *const special[] = {"null", "true", "false", "yes", "no", "on", "off",
                                          "y",    "n",    "inf",   "nan", "~",  "",   "infinity"};
    const size_t n = strlen(words);

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        size_t k = 0;

        while (k < n && (words[k] | 0x20) == special[i][k])
            k++;
        if (k == n && special[i][k] == '\0')
            return true;
    }
    return false;
}

/* Returns whether the word is safe without quotes: it begins with a letter and has no character with a
 * meaning in YAML. */
static bool is_plain(const char *words)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char inner[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-./+";

    return strspn(words, letters) > 0 && words[strspn(words, inner)] == '\0' && !is_special(words);
}

static void put_words(RelnText *text, const char *words)
{
    if (is_plain(words))
        reln_text_puts(text, words);
    else
        reln_text_put_quoted(text, words);
}

/* Writes on the current line: a scalar, an empty map, or a list of scalars. */
static void put_yaml_flow(RelnText *text, const RelnDocNode *node)
{
    if (node->kind == RELN_DOC_TEXT) {
        put_words(text, node->text);
        return;
    }
    if (node->kind != RELN_DOC_LIST) {
        put_json(text, node, -1);
        return;
    }
    reln_text_puts(text, "[");
    for (const RelnDocNode *item = node->first; item; item = item->next) {
        put_yaml_flow(text, item);
        if (item->next)
            reln_text_puts(text, ", ");
    }
    reln_text_puts(text, "]");
}

static bool is_block(const RelnDocNode *node)
{
    return !is_scalar(node) && node->first && !is_flat(node);
}

/* Readers of YAML look for the ':' of a key within 1024 characters; an escape takes six. */
static void put_yaml_key(RelnText *text, const RelnDocNode *item, int indent)
{
    const bool is_long = strlen(item->key) > 1024 / 6 - 2;

    if (is_long)
        reln_text_puts(text, "? ");
    put_words(text, item->key);
    if (is_long)
        put_line(text, indent);
    reln_text_puts(text, is_block(item) ? ":" : ": ");
}

/* Writes one item on a line; its contents begin on the next line, or after "- ". */
static void put_yaml(RelnText *text, const RelnDocNode *node, int indent, bool here)
{
    for (const RelnDocNode *item = node->first; item; item = item->next, here = false) {
        if (!here)
            put_line(text, indent);
        if (node->kind == RELN_DOC_MAP)
            put_yaml_key(text, item, indent);
        else
            reln_text_puts(text, "- ");
        if (is_block(item))
            put_yaml(text, item, indent + 1, node->kind == RELN_DOC_LIST);
        else
            put_yaml_flow(text, item);
    }
}

static void put_document(RelnText *text, const RelnDocNode *node, RelnDocStyle style)
{
    if (style != RELN_DOC_YAML)
        put_json(text, node, style == RELN_DOC_INDENTED ? 0 : -1);
    else if (is_block(node))
        put_yaml(text, node, 0, true);
    else
        put_yaml_flow(text, node);
    if (style != RELN_DOC_ONE_LINE)
        reln_text_puts(text, "\n");
}

const char *reln_doc_write(RelnDoc *doc, const RelnDocNode *node, RelnDocStyle style)
{
    RelnText text;
    const char *kept = NULL;

    if (!node || doc->status != RELN_OK)
        return NULL;
    reln_text_init(&text, doc->arena.ctx);
    put_document(&text, node, style);
    if (!text.failed)
        kept = reln_doc_keep(doc, text.bytes, text.n);
    else
        doc->status = RELN_ERR_NOMEM;
    reln_text_clear(&text);
    return kept;
}
