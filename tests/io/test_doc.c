/* test_doc.c -- tests JSON and YAML as trees: texts that are read, texts that are refused with their reasons,
 * and trees that are written and read again. */
#include "support/support.h"

#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef RelnStatus Parse(RelnCtx *, const char *, size_t, const char *, RelnDoc **);

static int setup(void **state)
{
    RelnCtx *ctx = NULL;
    const RelnStatus status = reln_ctx_create(NULL, &ctx);

    *state = ctx;
    return status == RELN_OK ? 0 : -1;
}

static int teardown(void **state)
{
    const uint64_t live = reln_ctx_live_blocks(*state);

    reln_ctx_destroy(*state);
    return live == 0 ? 0 : -1;
}

static RelnDoc *parse(RelnCtx *ctx, Parse *how, const char *text)
{
    RelnDoc *doc = NULL;

    assert_ok(ctx, how(ctx, text, strlen(text), "text", &doc));
    return doc;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static const char spec[] = "symmetry: so:3   # the group\n"
                           "inputs:\n"
                           "  - {name: X, as: matrix}\n"
                           "  - {name: C, as: covariance, log: true}\n"
                           "model: {width: 64, depth: 3, nonlinearity: [relu, bracket]}\n"
                           "train: {lr: 1e-3, 'dtype': \"f32\", note: '12', rest: ~, none: }\n";

static void a_spec_is_read_as_a_tree_with_lines(void **state)
{
    RelnDoc *doc = parse(*state, reln_doc_parse_yaml, spec);
    const RelnDocNode *root = reln_doc_root(doc), *inputs = reln_doc_get(root, "inputs");
    const RelnDocNode *model = reln_doc_get(root, "model"), *train = reln_doc_get(root, "train");

    assert_string_equal(reln_doc_text(root, "symmetry", ""), "so:3");
    assert_int_equal(inputs->count, 2);
    assert_int_equal(inputs->last->line, 4);
    assert_true(reln_doc_get(inputs->last, "log")->truth);
    assert_int_equal(reln_doc_get(inputs->last, "log")->kind, RELN_DOC_BOOL);
    assert_true(reln_doc_number(model, "width", 0) == 64);
    assert_string_equal(reln_doc_get(model, "nonlinearity")->first->next->text, "bracket");
    assert_true(reln_doc_number(train, "lr", 0) == 1e-3);
    assert_string_equal(reln_doc_get(train, "lr")->text, "1e-3");
    assert_int_equal(reln_doc_get(train, "note")->kind, RELN_DOC_TEXT);
    assert_int_equal(reln_doc_get(train, "rest")->kind, RELN_DOC_NULL);
    assert_int_equal(reln_doc_get(train, "none")->kind, RELN_DOC_NULL);
    assert_null(reln_doc_get(train, "absent"));
    assert_null(reln_doc_get(NULL, "absent"));
    assert_null(reln_doc_get(inputs, "name")); /* a list has no names */
    assert_true(reln_doc_number(train, "absent", 7) == 7);
    assert_string_equal(reln_doc_text(train, "lr", "not a text"), "not a text");
    reln_doc_destroy(doc);
}

static void plain_words_of_yaml_are_what_they_look_like(void **state)
{
    static const struct {
        const char *text;
        RelnDocKind kind;
        double number;
    } cases[] = {
        {"1", RELN_DOC_NUMBER, 1},
        {"-1.5e+3", RELN_DOC_NUMBER, -1500},
        {"+2", RELN_DOC_NUMBER, 2},
        {".5", RELN_DOC_NUMBER, 0.5},
        {"-.5E1", RELN_DOC_NUMBER, -5},
        {"5.", RELN_DOC_NUMBER, 5},
        {"0", RELN_DOC_NUMBER, 0},
        {"1e-999", RELN_DOC_NUMBER, 0},
        {"007", RELN_DOC_TEXT, 0},
        {"0x10", RELN_DOC_TEXT, 0},
        {"1_000", RELN_DOC_TEXT, 0},
        {"1e", RELN_DOC_TEXT, 0},
        {".", RELN_DOC_TEXT, 0},
        {"+", RELN_DOC_TEXT, 0},
        {"1,5", RELN_DOC_TEXT, 0},
        {"so:1,3", RELN_DOC_TEXT, 0},
        {"yes", RELN_DOC_TEXT, 0},
        {"True", RELN_DOC_TEXT, 0},
        {"'1'", RELN_DOC_TEXT, 0},
        {"\"true\"", RELN_DOC_TEXT, 0},
        {"null", RELN_DOC_NULL, 0},
        {"~", RELN_DOC_NULL, 0},
        {"", RELN_DOC_NULL, 0},
        {"# nothing", RELN_DOC_NULL, 0},
        {"false", RELN_DOC_BOOL, 0},
        {"'nan'", RELN_DOC_TEXT, 0},
        {"information", RELN_DOC_TEXT, 0},
        {"%YAML 1.1\n--- 3", RELN_DOC_NUMBER, 3},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RelnDoc *doc = parse(*state, reln_doc_parse_yaml, cases[i].text);

        assert_int_equal(reln_doc_root(doc)->kind, cases[i].kind);
        assert_true(reln_doc_root(doc)->number == cases[i].number);
        reln_doc_destroy(doc);
    }
}

typedef struct Refusal {
    const char *text, *message;
} Refusal;

static void refused(RelnCtx *ctx, Parse *how, const Refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        RelnDoc *doc = NULL;

        assert_int_equal(how(ctx, cases[i].text, strlen(cases[i].text), "text", &doc),
                         RELN_ERR_FORMAT);
        assert_null(doc);
        assert_string_equal(reln_ctx_error(ctx), cases[i].message);
        assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    }
}

static void what_is_not_plain_yaml_is_refused_with_its_line(void **state)
{
    static const Refusal cases[] = {
        {"a: 1\nb: &x 2\n", "text:2: anchors and tags are not read"},
        {"a: &x [1]\n", "text:1: anchors and tags are not read"},
        {"a: *x\n", "text:1: aliases are not read"},
        {"a: !!str 1\n", "text:1: anchors and tags are not read"},
        {"!map {a: 1}\n", "text:1: anchors and tags are not read"},
        {"%TAG ! tag:x,2000:\n--- 1\n", "text:1: tags are not read"},
        {"a: 1\n---\nb: 2\n", "text:2: a second document; one is wanted"},
        {"a: 1\nb: 2\na: 3\n", "text:3: the key 'a' is there twice"},
        {"? [1, 2]\n: 3\n", "text:1: a list or map cannot be a key"},
        {"a: .inf\n", "text:1: .inf is not a finite number (in quotes it is a text)"},
        {"a: NaN\n", "text:1: NaN is not a finite number (in quotes it is a text)"},
        {"a: 1e999\n", "text:1: the number 1e999 is too large"},
        {"a: \"x\\0y\"\n", "text:1: a text has a character 0 in it"},
        {"a: [1, 2\nb: 3\n",
         "text:2: while parsing a flow sequence, did not find expected ',' or ']'"},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
         "text:1: more than 16 lists and maps inside each other"},
        {"a: \x80\n", "text:1: invalid leading UTF-8 octet"},
        {"a: 1\nb: 2\nc: \x01\n", "text:3: control characters are not allowed"},
    };

    refused(*state, reln_doc_parse_yaml, cases, sizeof cases / sizeof cases[0]);
}

static void what_is_not_json_is_refused_with_its_line(void **state)
{
    static const Refusal cases[] = {
        {"", "text:1: the text ends where a value is wanted"},
        {"{\n\"a\": 1,\n\"a\": 2}", "text:3: the key 'a' is there twice"},
        {"{\"a\": 1,}", "text:1: '}' (0x7d) where a key in quotes is wanted"},
        {"[1,]", "text:1: ']' (0x5d) where a value is wanted"},
        {"[1 2]", "text:1: '2' (0x32) where ',' or ']' is wanted"},
        {"[1}", "text:1: '}' (0x7d) where ',' or ']' is wanted"},
        {"{\"a\" 1}", "text:1: '1' (0x31) where ':' is wanted"},
        {"{a: 1}", "text:1: 'a' (0x61) where a key in quotes is wanted"},
        {"1 1", "text:1: '1' (0x31) where the end is wanted"},
        {"01", "text:1: '0' (0x30) where a value is wanted"},
        {"+1", "text:1: '+' (0x2b) where a value is wanted"},
        {".5", "text:1: '.' (0x2e) where a value is wanted"},
        {"1.", "text:1: '.' (0x2e) where the end is wanted"},
        {"NaN", "text:1: 'N' (0x4e) where a value is wanted"},
        {"1e999", "text:1: the number 1e999 is too large"},
        {"\"a\nb\"", "text:1: '?' (0x0a) where an escape instead of a control character is wanted"},
        {"\"abc", "text:1: the text ends where a closing quote is wanted"},
        {"\"\\", "text:1: the text ends where an escape is wanted"},
        {"\"\\x\"", "text:1: 'x' (0x78) where an escape is wanted"},
        {"\"\\u12g4\"", "text:1: 'g' (0x67) where a hexadecimal digit is wanted"},
        {"\"\\u0000\"", "text:1: a text has a character 0 in it"},
        {"\"\\ud800\"", "text:1: half of a surrogate pair"},
        {"\"\\udc00\\ud800\"", "text:1: half of a surrogate pair"},
        {"\"\\ud800\\u0041\"", "text:1: half of a surrogate pair"},
        {"\"\xc0\x80\"", "text:1: '?' (0xc0) where UTF-8 is wanted"},
        {"\"\xed\xa0\x80\"", "text:1: '?' (0xed) where UTF-8 is wanted"},
        {"\"\xf4\x90\x80\x80\"", "text:1: '?' (0xf4) where UTF-8 is wanted"},
        {"\xef\xbb\xbf{}", "text:1: '?' (0xef) where a value is wanted"},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
         "text:1: more than 16 lists and maps inside each other"},
    };

    refused(*state, reln_doc_parse_json, cases, sizeof cases / sizeof cases[0]);
}

static void texts_beyond_their_limit_are_refused_unread(void **state)
{
    const size_t n = ((size_t)8 << 20) + 1;
    char *text = malloc(n);
    RelnDoc *doc = NULL;

    assert_non_null(text);
    memset(text, ' ', n);
    assert_int_equal(reln_doc_parse_json(*state, text, n, "text", &doc), RELN_ERR_FORMAT);
    assert_string_equal(reln_ctx_error(*state), "text: 8388609 bytes, at most 8388608 are read");
    assert_int_equal(reln_doc_parse_yaml(*state, text, (1 << 20) + 1, "text", &doc),
                     RELN_ERR_FORMAT);
    assert_string_equal(reln_ctx_error(*state), "text: 1048577 bytes, at most 1048576 are read");
    free(text);
}

/* The map has many keys with the same beginning: finding a duplicate must not take quadratic time. */
static void a_map_of_many_keys_is_checked_for_the_second_of_one(void **state)
{
    enum { KEYS = 100000 };
    char *text = malloc(KEYS * 24 + 64), *p = text;
    RelnDoc *doc = NULL;

    assert_non_null(text);
    *p++ = '{';
    for (int i = 0; i < KEYS; i++)
        p += sprintf(p, "\"key%07d\":1,\n", i * 7 % KEYS);
    strcpy(p, "\"last\":1}");
    assert_ok(*state, reln_doc_parse_json(*state, text, strlen(text), "text", &doc));
    assert_int_equal(reln_doc_root(doc)->count, KEYS + 1);
    reln_doc_destroy(doc);
    strcpy(p, "\"key0012345\":1}");
    assert_int_equal(reln_doc_parse_json(*state, text, strlen(text), "text", &doc),
                     RELN_ERR_FORMAT);
    assert_string_equal(reln_ctx_error(*state), "text:100001: the key 'key0012345' is there twice");
    free(text);
}

/* ---- against another reader ------------------------------------------------------------------------------------- */

static void assert_same(const RelnDocNode *ours, const json_t *theirs)
{
    const char *key;
    json_t *item;

    switch (ours->kind) {
    case RELN_DOC_NULL:
        assert_true(json_is_null(theirs));
        break;
    case RELN_DOC_BOOL:
        assert_true(json_is_boolean(theirs) && json_is_true(theirs) == ours->truth);
        break;
    case RELN_DOC_NUMBER:
        assert_true(json_is_real(theirs) && json_real_value(theirs) == ours->number);
        break;
    case RELN_DOC_TEXT:
        assert_string_equal(json_string_value(theirs), ours->text);
        break;
    case RELN_DOC_LIST:
        assert_int_equal(json_array_size(theirs), ours->count);
        item = NULL;
        for (size_t i = 0; i < json_array_size(theirs); i++) {
            const RelnDocNode *inner = ours->first;
            for (size_t k = 0; k < i; k++)
                inner = inner->next;
            assert_same(inner, json_array_get(theirs, i));
        }
        break;
    case RELN_DOC_MAP:
        assert_int_equal(json_object_size(theirs), ours->count);
        for (const RelnDocNode *inner = ours->first; inner; inner = inner->next) {
            key = inner->key;
            item = json_object_get(theirs, key);
            assert_non_null(item);
            assert_same(inner, item);
        }
        break;
    }
}

/* Asserts that both readers accept the text, with the same tree, or both refuse it. Returns whether it was
 * accepted. */
static bool agree(RelnCtx *ctx, const char *text, size_t n)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL;
    RelnDoc *doc = NULL;
    json_t *theirs = json_loadb(text, n, flags, NULL);
    const RelnStatus status = reln_doc_parse_json(ctx, text, n, "text", &doc);

    if ((status == RELN_OK) != (theirs != NULL))
        fail_msg("ours: %s, theirs: %s: %.*s", reln_status_text(status),
                 theirs ? "fine" : "refused", (int)n, text);
    if (status == RELN_OK)
        assert_same(reln_doc_root(doc), theirs);
    reln_doc_destroy(doc);
    json_decref(theirs);
    return status == RELN_OK;
}

static const char *const seeds[] = {
    "{\"a\": [1, -2.5e-3, 0], \"b\": {\"c\": null, \"d\": true}, \"e\": "
    "\"x\\u00e9\\n\\ud83d\\ude00y\"}",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", 1E+2, 1e2, "
    "12345678901234567890]",
    " [ ] ",
    "{ }",
    "\"\"",
    "true",
    "[[[]]]",
    "{\"\": {}}",
    "-0.0",
    "[0.1,1e308,5e-324,1e-400]",
};

/* Tests valid texts, and each of them with one byte changed, removed or doubled. */
static void json_is_read_as_jansson_reads_it(void **state)
{
    static const char bytes[] = "{}[],:\"\\u0e1.-+tn \n\x80\xc3\x01/a";
    int taken = 0, all = 0;

    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        const size_t n = strlen(seeds[s]);
        char text[256];

        assert_true(agree(*state, seeds[s], n));
        for (size_t at = 0; at < n; at++)
            for (size_t b = 0; b < sizeof bytes - 1; b++, all += 2) {
                memcpy(text, seeds[s], n);
                text[at] = bytes[b];
                taken += agree(*state, text, n);
                memmove(text + at + 1, seeds[s] + at, n - at);
                taken += agree(*state, text, n + 1);
            }
        for (size_t at = 0; at < n; at++)
            agree(*state, seeds[s], at);
    }
    assert_true(taken > all / 20 && taken < all / 2); /* both outcomes are frequent */
}

/* ---- building and writing --------------------------------------------------------------------------------------- */

static void equal_trees(const RelnDocNode *a, const RelnDocNode *b)
{
    const RelnDocNode *y = b->first;

    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->count, b->count);
    assert_true(a->number == b->number && a->truth == b->truth);
    if (a->kind == RELN_DOC_TEXT)
        assert_string_equal(a->text, b->text);
    for (const RelnDocNode *x = a->first; x; x = x->next, y = y->next) {
        assert_true((x->key == NULL) == (y->key == NULL));
        if (x->key)
            assert_string_equal(x->key, y->key);
        equal_trees(x, y);
    }
}

static RelnDoc *build(RelnCtx *ctx)
{
    static const char *const words[] = {"plain",
                                        "so:3",
                                        "",
                                        "true",
                                        "No",
                                        "12",
                                        "1e3",
                                        "- x",
                                        "a: b",
                                        "# c",
                                        "a #b",
                                        " lead",
                                        "trail ",
                                        "\"q\" \\",
                                        "x\ny\t",
                                        "\x7f\xc2\x85",
                                        "caf\xc3\xa9",
                                        "\xe2\x80\xa8\xef\xbb\xbf",
                                        "\xf0\x9f\x98\x80",
                                        "null",
                                        "~",
                                        "[x]",
                                        "{",
                                        "*a",
                                        "&b",
                                        "!t",
                                        "%d",
                                        "@e",
                                        "`",
                                        "'",
                                        "-",
                                        "?",
                                        "---",
                                        "...",
                                        ".inf",
                                        "nan",
                                        "a,b",
                                        "./x-1_y+z"};
    static const double numbers[] = {0.1,  1.0 / 3,        1e300,     5e-324,
                                     -0.0, 123456789012.0, 0x1p-1022, 1e22};
    RelnDoc *doc = NULL;
    RelnDocNode *root, *list, *rows;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return NULL;
    root = reln_doc_root_map(doc);
    reln_doc_set_number(doc, root, "loss", 0.25);
    reln_doc_set_number(doc, root, "bad", (double)INFINITY);
    reln_doc_set_bool(doc, root, "done", true);
    reln_doc_set_text(doc, root, "a key: with # signs", "x");
    reln_doc_set(doc, root, "empty list", reln_doc_list(doc));
    reln_doc_set(doc, root, "empty map", reln_doc_map(doc));
    list = reln_doc_set(doc, root, "words", reln_doc_list(doc));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        reln_doc_set_text(doc, list, NULL, words[i]);
    list = reln_doc_set(doc, root, "numbers", reln_doc_list(doc));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        reln_doc_set_number(doc, list, NULL, numbers[i]);
    rows = reln_doc_set(doc, root, "rows", reln_doc_list(doc));
    for (int i = 0; i < 3; i++) {
        RelnDocNode *const row = reln_doc_set(doc, rows, NULL, reln_doc_map(doc));
        RelnDocNode *const inner = reln_doc_set(doc, rows, NULL, reln_doc_list(doc));

        reln_doc_set_number(doc, row, "step", i);
        reln_doc_set_number(doc, reln_doc_set(doc, row, "inner", reln_doc_map(doc)), "x", i);
        reln_doc_set_null(doc, reln_doc_set(doc, inner, NULL, reln_doc_map(doc)), "y");
        reln_doc_set_null(doc, reln_doc_set(doc, inner, NULL, reln_doc_list(doc)), NULL);
    }
    return doc;
}

static void what_is_written_reads_back_as_the_same_tree(void **state)
{
    static const RelnDocStyle styles[] = {RELN_DOC_ONE_LINE, RELN_DOC_INDENTED, RELN_DOC_YAML};
    RelnDoc *doc = build(*state);

    for (int i = 0; i < 3; i++) {
        const char *text = reln_doc_write(doc, reln_doc_root(doc), styles[i]);
        RelnDoc *json = NULL, *yaml;

        assert_non_null(text);
        assert_true((styles[i] == RELN_DOC_ONE_LINE) == !strchr(text, '\n'));
        yaml = parse(*state, reln_doc_parse_yaml, text); /* JSON is YAML, too */
        equal_trees(reln_doc_root(doc), reln_doc_root(yaml));
        if (styles[i] != RELN_DOC_YAML) {
            json = parse(*state, reln_doc_parse_json, text);
            equal_trees(reln_doc_root(doc), reln_doc_root(json));
        }
        reln_doc_destroy(yaml);
        reln_doc_destroy(json);
    }
    reln_doc_destroy(doc);
}

static void yaml_is_written_as_one_would_by_hand(void **state)
{
    RelnDoc *doc =
        parse(*state, reln_doc_parse_json,
              "{\"a\": {\"b\": [1, 2], \"c\": {}}, \"d\": [{\"e\": 1, \"f\": \"x\"}, []]}");

    assert_string_equal(reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_YAML),
                        "a:\n  b: [1, 2]\n  c: {}\nd:\n  - e: 1\n    f: x\n  - []\n");
    assert_string_equal(
        reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_ONE_LINE),
        "{\"a\": {\"b\": [1, 2], \"c\": {}}, \"d\": [{\"e\": 1, \"f\": \"x\"}, []]}");
    assert_string_equal(
        reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_INDENTED),
        "{\n  \"a\": {\n    \"b\": [1, 2],\n    \"c\": {}\n  },\n  \"d\": [\n    {\n"
        "      \"e\": 1,\n      \"f\": \"x\"\n    },\n    []\n  ]\n}\n");
    reln_doc_destroy(doc);
}

static void a_second_item_of_a_key_takes_the_place_of_the_first(void **state)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root;

    assert_ok(*state, reln_doc_create(*state, &doc));
    root = reln_doc_root_map(doc);
    reln_doc_set_number(doc, root, "a", 1);
    reln_doc_set_number(doc, root, "b", 2);
    reln_doc_set_text(doc, root, "b", "two");
    reln_doc_set_number(doc, root, "a", 3);
    reln_doc_set_number(doc, root, "c", 4);
    assert_string_equal(reln_doc_write(doc, root, RELN_DOC_ONE_LINE),
                        "{\"a\": 3, \"b\": \"two\", \"c\": 4}");
    assert_int_equal(root->count, 3);
    reln_doc_destroy(doc);
}

static void an_item_put_in_the_wrong_place_is_reported_by_the_writer(void **state)
{
    RelnDoc *doc = NULL;

    assert_ok(*state, reln_doc_create(*state, &doc));
    reln_doc_set_number(doc, reln_doc_root_map(doc), NULL, 1);
    assert_string_equal(reln_ctx_error(*state), "an item without a name was put into a map");
    assert_null(reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_ONE_LINE));
    assert_int_equal(reln_doc_save(doc, reln_doc_root(doc), "/nowhere/x.json"), RELN_ERR_ARG);
    reln_doc_destroy(doc);
}

static void bytes_that_are_no_text_are_written_as_the_replacement_character(void **state)
{
    RelnDoc *doc = NULL;

    assert_ok(*state, reln_doc_create(*state, &doc));
    reln_doc_set_text(doc, reln_doc_root_map(doc), "a", "x\xff\xc3");
    assert_string_equal(reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_ONE_LINE),
                        "{\"a\": \"x\xef\xbf\xbd\xef\xbf\xbd\"}");
    reln_doc_destroy(doc);
}

static void numbers_are_written_with_the_fewest_digits_that_read_back(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {1e22, "1e+22"},
                 {100, "100"},
                 {-0.0, "-0"},
                 {5e-324, "5e-324"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"}};
    RelnRng rng = reln_rng(3, 0);

    for (size_t i = 0; i < 2000; i++) {
        const bool given = i < sizeof cases / sizeof cases[0];
        double values[1];
        RelnDoc *doc = NULL;
        const char *text;

        fill_normal(&rng, 1, values);
        values[0] = given ? cases[i].value : ldexp(values[0], (int)(i * 97 % 2000) - 1000);
        assert_ok(*state, reln_doc_create(*state, &doc));
        reln_doc_set_number(doc, reln_doc_root_map(doc), "x", values[0]);
        text = reln_doc_get(reln_doc_root(doc), "x")->text;
        assert_true(strtod(text, NULL) == values[0]);
        if (given)
            assert_string_equal(text, cases[i].text);
        reln_doc_destroy(doc);
    }
}

/* Uses a locale with a decimal comma, if the machine has one. */
static void a_locale_with_a_decimal_comma_changes_nothing(void **state)
{
    RelnDoc *doc;

    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        skip();
    doc = parse(*state, reln_doc_parse_json, "[0.5]");
    assert_true(reln_doc_root(doc)->first->number == 0.5);
    assert_string_equal(reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_ONE_LINE), "[0.5]");
    reln_doc_destroy(doc);
    setlocale(LC_ALL, "C");
}

static void a_copy_lives_without_the_original(void **state)
{
    RelnDoc *doc = build(*state), *other = NULL;
    RelnDocNode *copy;
    char *text;

    assert_ok(*state, reln_doc_create(*state, &other));
    copy = reln_doc_copy(other, reln_doc_root(doc));
    equal_trees(copy, reln_doc_root(doc));
    text = strdup(reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_ONE_LINE));
    reln_doc_destroy(doc);
    assert_string_equal(reln_doc_write(other, copy, RELN_DOC_ONE_LINE), text);
    reln_doc_destroy(other);
    free(text);
}

/* ---- files and faults ------------------------------------------------------------------------------------------- */

static void files_are_written_and_read_by_their_ending(void **state)
{
    static const char *const names[] = {"a.json", "a.yaml", "a.yml", "a.txt"};
    char directory[] = "/tmp/reln-doc-XXXXXX", path[64];
    RelnDoc *doc = build(*state);

    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        RelnDoc *back = NULL;

        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        assert_ok(*state, reln_doc_save(doc, reln_doc_root(doc), path));
        assert_ok(*state, reln_doc_load(*state, path, &back));
        equal_trees(reln_doc_root(doc), reln_doc_root(back));
        reln_doc_destroy(back);
        assert_int_equal(truncate(path, (8 << 20) + 1), 0);
        assert_int_equal(reln_doc_load(*state, path, &back), RELN_ERR_FORMAT);
        assert_non_null(strstr(reln_ctx_error(*state), "bytes, at most"));
        unlink(path);
    }
    assert_int_equal(reln_doc_load(*state, path, &(RelnDoc *){NULL}), RELN_ERR_IO);
    assert_int_equal(rmdir(directory), 0);
    reln_doc_destroy(doc);
}

/* Builders pass a failure on; the writer returns it. */
static RelnStatus build_and_write(RelnCtx *ctx)
{
    RelnDoc *doc = build(ctx);
    RelnStatus status = RELN_ERR_NOMEM;

    if (doc && reln_doc_write(doc, reln_doc_copy(doc, reln_doc_root(doc)), RELN_DOC_YAML))
        status = RELN_OK;
    reln_doc_destroy(doc);
    return status;
}

static RelnStatus read_both(RelnCtx *ctx)
{
    RelnDoc *doc = NULL;
    RelnStatus status = reln_doc_parse_yaml(ctx, spec, sizeof spec - 1, "text", &doc);

    reln_doc_destroy(doc);
    if (status == RELN_OK)
        status = reln_doc_parse_json(ctx, seeds[0], strlen(seeds[0]), "text", &doc);
    if (status == RELN_OK)
        reln_doc_destroy(doc);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_and_write) > 4);
    assert_true(fail_every_allocation(read_both) > 4);
}

static void a_mark_of_utf8_before_yaml_is_skipped(void **state)
{
    RelnDoc *doc = parse(*state, reln_doc_parse_yaml, "\xEF\xBB\xBFsymmetry: gl:3\n");
    const RelnDocNode *node = reln_doc_get(reln_doc_root(doc), "symmetry");

    assert_non_null(node);
    assert_int_equal(node->line, 1);
    reln_doc_destroy(doc);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_spec_is_read_as_a_tree_with_lines),
        TEST(plain_words_of_yaml_are_what_they_look_like),
        TEST(a_mark_of_utf8_before_yaml_is_skipped),
        TEST(what_is_not_plain_yaml_is_refused_with_its_line),
        TEST(what_is_not_json_is_refused_with_its_line),
        TEST(texts_beyond_their_limit_are_refused_unread),
        TEST(a_map_of_many_keys_is_checked_for_the_second_of_one),
        TEST(json_is_read_as_jansson_reads_it),
        TEST(what_is_written_reads_back_as_the_same_tree),
        TEST(yaml_is_written_as_one_would_by_hand),
        TEST(a_second_item_of_a_key_takes_the_place_of_the_first),
        TEST(an_item_put_in_the_wrong_place_is_reported_by_the_writer),
        TEST(bytes_that_are_no_text_are_written_as_the_replacement_character),
        TEST(numbers_are_written_with_the_fewest_digits_that_read_back),
        TEST(a_locale_with_a_decimal_comma_changes_nothing),
        TEST(a_copy_lives_without_the_original),
        TEST(files_are_written_and_read_by_their_ending),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
