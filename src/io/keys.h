/* keys.h -- settings described by a table: reading them from a tree, writing them to one, and the text that
 * explains them. */
#ifndef IO_KEYS_H
#define IO_KEYS_H

#include <float.h>

#include "base/base.h"
#include "kit/doc.h"

typedef struct Key Key;

/* A Section is a map of a document that is stored in a struct. */
typedef struct Section {
    const char *name; /* name in messages: "model" */
    const Key *keys;
    int n_keys;
} Section;

/* A Reader is the context of a read, for messages. */
typedef struct Reader {
    RelnCtx *ctx;
    const char *what;
} Reader;

typedef enum KeyKind {
    KEY_TEXT,    /* char[room] */
    KEY_WORD,    /* an enum (int): `low` plus the index in `words` */
    KEY_WORDS,   /* int[room], with the number of items at count_at */
    KEY_NUMBER,  /* double */
    KEY_NUMBERS, /* double[room], with the number of items at count_at; count_at -1: always exactly `room` */
    KEY_WHOLE,   /* int */
    KEY_FLAG,    /* bool */
    KEY_SECTION, /* another table for the same struct, at offset `at` */
    KEY_OWN,     /* read and written by functions of the key */
    KEY_PADDING  /* `room` bytes that are neither read nor written */
} KeyKind;

enum { KEY_FIXED = -1 };

/* Bounds for ranges that exclude their end. */
#define KEY_ABOVE_ZERO DBL_MIN
#define KEY_BELOW_ONE (1 - DBL_EPSILON)
#define KEY_NO_LIMIT 1e15 /* limits this large are not mentioned */

/* A Key describes one field. A value outside its range means "not given": it is left out when written, and
 * cannot be read. */
struct Key {
    const char *name;
    KeyKind kind;
    size_t at;          /* offset in the struct */
    int room;           /* bytes of a text, largest number of items of a list */
    ptrdiff_t count_at; /* of a list: offset of its length */
    double low, high;   /* range of numbers, inclusive */
    double otherwise;   /* the default of numbers, words and flags */
    const char *before; /* JSON of the value that applied before this key existed; NULL: none */
    const char *wanted; /* description in messages: "seconds"; NULL: made from the range, "a number above
                         * 0" */
    const char *const *words;
    const Section *section;
    RelnStatus (*read)(const Reader *r, const Key *key, const RelnDocNode *node, void *base);
    void (*write)(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base);
    const char *example; /* value shown in the template, if it is not the default */
    bool shown;          /* the example is the default of a key without a number for it */
    const char *help;
};

/* Fails with RELN_ERR_FORMAT and "spec.yaml:7: ...". */
RelnStatus reln_keys_fail(const Reader *r, const RelnDocNode *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void reln_keys_init(const Section *section, void *base);
RelnStatus reln_keys_read(const Reader *r, const Section *section, const RelnDocNode *map,
                          void *base);
void reln_keys_write(RelnDoc *doc, RelnDocNode *map, const Section *section, const void *base);

/* Returns the number of bytes of all fields of the table, including padding: equal to sizeof the struct if no
 * field is missing. -1 when the table does not know the size of a field (sections, keys with their own
 * functions, lists with a length). */
ptrdiff_t reln_keys_size(const Section *section);

/* Checks for keys with their own reading functions. */
RelnStatus reln_keys_want(const Reader *r, const RelnDocNode *node, const char *name,
                          RelnDocKind kind, const char *wanted);
RelnStatus reln_keys_text(const Reader *r, const RelnDocNode *node, const char *name, int room,
                          char *out);
RelnStatus reln_keys_word(const Reader *r, const RelnDocNode *node, const char *name,
                          const char *const *words, int *out);

/* A Page collects text in a buffer of limited size; it counts the characters past its end. */
typedef struct Page {
    char *text;
    size_t size, used;
} Page;
void reln_page_print(Page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes "  key: default   # help" for every key. */
void reln_keys_template(Page *page, const Section *section, int indent);

/* Returns the candidate with the smallest number of edits from a word; NULL when none is near. */
const char *reln_keys_nearest(const char *word, int n, const char *(*candidate)(const void *, int),
                              const void *from);

#endif
