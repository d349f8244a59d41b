/* yaml.c -- reads YAML from libyaml's events: maps, lists and scalars of one document, and nothing else. */
#include <string.h>
#include <yaml.h>

#include "io/doc.h"
#include "io/text.h"

static int line_of(const yaml_mark_t *mark)
{
    return (int)mark->line + 1; /* a document has at most 1 MiB */
}

static RelnStatus refuse(const RelnTree *tree, const yaml_event_t *event, const char *why)
{
    return reln_fail(tree->ctx, RELN_ERR_FORMAT, "%s:%d: %s", tree->what,
                     line_of(&event->start_mark), why);
}

/* ---- scalars ---------------------------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* Returns whether the text is inf, .NaN, -Infinity ... Other readers take these for numbers; no setting here
 * may be one. */
static bool is_not_finite(const char *text, size_t length)
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    char lower[12] = {0};
    size_t skip = 0;

    if (length > 0 && (text[0] == '+' || text[0] == '-'))
        skip++;
    if (length > skip && text[skip] == '.')
        skip++;
    if (length == skip || length - skip >= sizeof lower)
        return false;
    for (size_t i = skip; i < length; i++)
        lower[i - skip] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(lower, words[i]) == 0)
            return true;
    return false;
}

static RelnDocKind plain_kind(const char *text, size_t length)
{
    if (length == 0 || is_word(text, length, "~") || is_word(text, length, "null"))
        return RELN_DOC_NULL;
    if (is_word(text, length, "true") || is_word(text, length, "false"))
        return RELN_DOC_BOOL;
    return reln_number_length(text, text + length, true) == length ? RELN_DOC_NUMBER
                                                                   : RELN_DOC_TEXT;
}

/* Returns whether the next scalar is a key. In a map, keys and values alternate. */
static bool is_key(const RelnTree *tree)
{
    const RelnDocNode *const in = reln_tree_inner(tree);

    return in && in->kind == RELN_DOC_MAP && !tree->key;
}

static RelnStatus add_scalar(RelnTree *tree, const yaml_event_t *event)
{
    const char *const text = (const char *)event->data.scalar.value;
    const size_t length = event->data.scalar.length;
    const int line = line_of(&event->start_mark);
    const bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (event->data.scalar.anchor || event->data.scalar.tag)
        return refuse(tree, event, "anchors and tags are not read");
    if (is_key(tree))
        return reln_tree_key(tree, text, length, line);
    if (plain && is_not_finite(text, length))
        return reln_fail(tree->ctx, RELN_ERR_FORMAT,
                         "%s:%d: %s is not a finite number (in quotes it is a text)", tree->what,
                         line, reln_quote(text, length).text);
    return reln_tree_add_scalar(tree, plain ? plain_kind(text, length) : RELN_DOC_TEXT, text,
                                length, line);
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static RelnStatus open_inner(RelnTree *tree, const yaml_event_t *event, RelnDocKind kind,
                             bool marked)
{
    if (marked)
        return refuse(tree, event, "anchors and tags are not read");
    if (is_key(tree))
        return refuse(tree, event, "a list or map cannot be a key");
    return reln_tree_add(tree, reln_doc_node(tree->doc, kind, line_of(&event->start_mark)));
}

static RelnStatus open_document(const RelnTree *tree, const yaml_event_t *event)
{
    if (tree->doc->root)
        return refuse(tree, event, "a second document; one is wanted");
    if (event->data.document_start.tag_directives.start !=
        event->data.document_start.tag_directives.end)
        return refuse(tree, event, "tags are not read");
    return RELN_OK;
}

static RelnStatus take_event(RelnTree *tree, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return open_document(tree, event);
    case YAML_SCALAR_EVENT:
        return add_scalar(tree, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_inner(tree, event, RELN_DOC_LIST,
                          event->data.sequence_start.anchor || event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_inner(tree, event, RELN_DOC_MAP,
                          event->data.mapping_start.anchor || event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return reln_tree_close(tree);
    case YAML_ALIAS_EVENT:
        return refuse(tree, event, "aliases are not read");
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return RELN_OK;
}

/* Returns the line of an offset. libyaml reads ahead of the parser, and reports invalid bytes by offset
 * instead of line. */
static int line_at(const char *text, size_t offset)
{
    int line = 1;

    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

static RelnStatus parser_failed(const RelnTree *tree, const yaml_parser_t *parser, const char *text)
{
    const bool bytes = parser->error == YAML_READER_ERROR;
    const char *const context = bytes || !parser->context ? "" : parser->context;

    if (parser->error == YAML_MEMORY_ERROR)
        return reln_fail(tree->ctx, RELN_ERR_NOMEM, "out of memory: %s was being read", tree->what);
    return reln_fail(tree->ctx, RELN_ERR_FORMAT, "%s:%d: %s%s%s", tree->what,
                     bytes ? line_at(text, parser->problem_offset) : line_of(&parser->problem_mark),
                     context, *context ? ", " : "",
                     parser->problem ? parser->problem : "not valid YAML");
}

static RelnStatus read_events(RelnTree *tree, yaml_parser_t *parser, const char *text)
{
    for (bool done = false; !done;) {
        yaml_event_t event;
        RelnStatus status;

        if (!yaml_parser_parse(parser, &event))
            return parser_failed(tree, parser, text);
        done = event.type == YAML_STREAM_END_EVENT;
        status = take_event(tree, &event);
        yaml_event_delete(&event);
        RELN_TRY(status);
    }
    /* a document of space and comments only is null */
    return tree->doc->root ? RELN_OK : reln_tree_add_scalar(tree, RELN_DOC_NULL, "", 0, 1);
}

static RelnStatus read_text(RelnTree *tree, const char *text, size_t n_bytes)
{
    yaml_parser_t parser;
    RelnStatus status;

    if (!yaml_parser_initialize(&parser))
        return reln_fail(tree->ctx, RELN_ERR_NOMEM, "out of memory: %s was being read", tree->what);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n_bytes);
    status = read_events(tree, &parser, text);
    yaml_parser_delete(&parser);
    return status;
}

RelnStatus reln_doc_parse_yaml(RelnCtx *ctx, const char *text, size_t n_bytes, const char *what,
                               RelnDoc **out)
{
    RelnTree tree = {.ctx = ctx, .what = what};
    RelnStatus status;

    *out = NULL;
    if (n_bytes > RELN_DOC_MAX_YAML)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %zu bytes, at most %d are read", what, n_bytes,
                         (int)RELN_DOC_MAX_YAML);
    RELN_TRY(reln_doc_begin(ctx, &tree.doc));
    if (n_bytes >= 3 &&
        memcmp(text, "\xEF\xBB\xBF", 3) == 0) { /* the byte order mark that some editors write */
        text += 3;
        n_bytes -= 3;
    }
    status = read_text(&tree, text, n_bytes);
    if (status == RELN_OK)
        *out = tree.doc;
    else
        reln_doc_destroy(tree.doc);
    return status;
}
