/* keys.h -- settings by a table: reading from a tree, writing to one, and the text that explains them. */
#ifndef IO_KEYS_H
#define IO_KEYS_H

#include <float.h>

#include "base/base.h"
#include "kit/doc.h"

typedef struct Key Key;

/* A map of a document, stored in a struct. */
typedef struct Section {
    const char *name; /* in messages: "model" */
    const Key *keys;
    int n_keys;
} Section;

/* The context of a read, for messages. */
typedef struct Reader {
    RelnCtx *ctx;
    const char *what;
} Reader;

typedef enum KeyKind {
    KEY_TEXT,    /* char[room] */
    KEY_WORD,    /* an enum (int): `low` plus the index in words */
    KEY_WORDS,   /* int[room] and their number at count_at */
    KEY_NUMBER,  /* double */
    KEY_NUMBERS, /* double[room] and their number at count_at; -1: always exactly `room` of them */
    KEY_WHOLE,   /* int */
    KEY_FLAG,    /* bool */
    KEY_SECTION, /* another table over the same struct, moved by `at` */
    KEY_OWN,     /* read and written by functions of the key */
    KEY_PADDING  /* `room` bytes that mean nothing: they are not read and not written */
} KeyKind;

enum { KEY_FIXED = -1 };

/* Bounds for ranges that exclude their end. */
#define KEY_ABOVE_ZERO DBL_MIN
#define KEY_BELOW_ONE (1 - DBL_EPSILON)
#define KEY_NO_LIMIT 1e15 /* limits this large are not mentioned */

/* A value outside its range is "not given": it is left out when written, and cannot be read. */
struct Key {
    const char *name;
    KeyKind kind;
    size_t at;          /* offset in the struct */
    int room;           /* bytes of a text, most items of a list */
    ptrdiff_t count_at; /* of a list: where its length is kept */
    double low, high;   /* of numbers, inclusive */
    double otherwise;   /* the default of numbers, words and flags */
    const char *before; /* JSON of the value in the code before this was a key; NULL: none */
    const char *wanted; /* "seconds"; NULL: "a number above 0", from the range */
    const char *const *words;
    const Section *section;
    RelnStatus (*read)(const Reader *r, const Key *key, const RelnDocNode *node, void *base);
    void (*write)(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base);
    const char *example; /* the value that the template shows, when it is not the default */
    bool shown;          /* the example is the default of a key that has no number for it */
    const char *help;
};

/* "spec.yaml:7: ...", RELN_ERR_FORMAT. */
RelnStatus reln_keys_fail(const Reader *r, const RelnDocNode *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void reln_keys_init(const Section *section, void *base);
RelnStatus reln_keys_read(const Reader *r, const Section *section, const RelnDocNode *map,
                          void *base);
void reln_keys_write(RelnDoc *doc, RelnDocNode *map, const Section *section, const void *base);

/* Bytes of all fields of the table, padding included: equal to sizeof its struct if no field has been forgotten. -1
 * when a field has a kind whose size the table does not know (sections, functions of its own, lists with a length). */
ptrdiff_t reln_keys_size(const Section *section);

/* Checks for keys that have their own reading functions. */
RelnStatus reln_keys_want(const Reader *r, const RelnDocNode *node, const char *name,
                          RelnDocKind kind, const char *wanted);
RelnStatus reln_keys_text(const Reader *r, const RelnDocNode *node, const char *name, int room,
                          char *out);
RelnStatus reln_keys_word(const Reader *r, const RelnDocNode *node, const char *name,
                          const char *const *words, int *out);

/* Text into a buffer of limited size, counting on past its end. */
typedef struct Page {
    char *text;
    size_t size, used;
} Page;
void reln_page_print(Page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "  key: default   # help" for every key. */
void reln_keys_template(Page *page, const Section *section, int indent);

/* The candidate nearest to a word in letters changed, NULL when none is near. */
const char *reln_keys_nearest(const char *word, int n, const char *(*candidate)(const void *, int),
                              const void *from);

#endif
