/* spec.h -- declarations that the files of the SPEC's tables share. */
#ifndef MODEL_SPEC_H
#define MODEL_SPEC_H

#include <stddef.h>

#include "io/keys.h"
#include "kit/spec.h"

/* ---- words ---------------------------------------------------------------------------------------------------------- */

/* Each list names the enumerator of each word. The table of words and a switch without a default are made
 * from it, so that an enumerator without a word does not compile. */
#define WORD_ENTRY(id, text) [id] = text,
#define WORD_CASE(id, text) case id:
#define WORD_TABLE(name, type, LIST)                                                               \
    static const char *const name##_words[] = {LIST(WORD_ENTRY) NULL};                             \
    __attribute__((unused)) static const char *name##_word(type value)                             \
    {                                                                                              \
        switch (value) {                                                                           \
            LIST(WORD_CASE)                                                                        \
            break;                                                                                 \
        }                                                                                          \
        return name##_words[value];                                                                \
    }

/* ---- entries of tables ------------------------------------------------------------------------------------------------ */

#define AT(type, field) .at = offsetof(type, field)
#define TEXT(type, field) .kind = KEY_TEXT, AT(type, field), .room = sizeof(((type *)0)->field)
#define WORD(type, field, list) .kind = KEY_WORD, AT(type, field), .words = (list)
#define WORDS(type, field, count, list)                                                            \
    .kind = KEY_WORDS, AT(type, field), .count_at = offsetof(type, count), .words = (list),        \
    .room = sizeof(((type *)0)->field) / sizeof(int)
#define FLAG(type, field) .kind = KEY_FLAG, AT(type, field)
#define WHOLE(type, field, from, to) .kind = KEY_WHOLE, AT(type, field), .low = (from), .high = (to)
#define NUMBER(type, field, from, to)                                                              \
    .kind = KEY_NUMBER, AT(type, field), .low = (from), .high = (to)
#define ABOVE_ZERO KEY_ABOVE_ZERO
#define BELOW_ONE KEY_BELOW_ONE
#define SECTION(title, keys)                                                                       \
    {                                                                                              \
        title, keys, (int)(sizeof(keys) / sizeof(keys)[0])                                         \
    }

/* "a, b or c" */
const char *reln_spec_join(const char *const *words, char *out, size_t size);

/* ---- spec_targets.c ---------------------------------------------------------------------------------------------------- */

extern const Section reln_target_section;
extern const char *const reln_loss_words[];

/* Read the keys `target` (one) and `targets` (a list). */
RelnStatus reln_spec_read_target(const Reader *r, const Key *key, const RelnDocNode *node,
                                 void *base);
void reln_spec_write_target(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base);
RelnStatus reln_spec_read_targets(const Reader *r, const Key *key, const RelnDocNode *node,
                                  void *base);
void reln_spec_write_targets(RelnDoc *doc, RelnDocNode *map, const Key *key, const void *base);

/* Makes the targets of pre-training from the inputs, and checks them. */
RelnStatus reln_spec_check_pretrain(const Reader *r, const RelnDocNode *root, RelnSpec *spec);

/* Checks conditions between keys of targets, and between them and `train`; gives every target its loss. */
RelnStatus reln_spec_check_targets(const Reader *r, const RelnDocNode *root, RelnSpec *spec);

#endif
