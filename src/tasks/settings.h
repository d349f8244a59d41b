/* settings.h -- tables of the fields of a task's settings, from which records, comparisons and tests are made.
 *
 *     typedef struct Row { double rate; int width; bool cosine; char pad[3]; } Row;
 *     static const Key row_keys[] = {TASK_NUMBER(Row, rate), TASK_WHOLE(Row, width), TASK_FLAG(Row, cosine),
 *     TASK_PAD(Row, pad)}; const Task task_x = {..., .row_fields = TASK_FIELDS(Row, row_keys)};
 *
 * A field that is added later invalidates every record without it, unless its key names the value that was fixed in
 * the code before: TASK_NUMBER_BEFORE(Scale, spread, "0.5"). Then older records stay valid while the field has that
 * value.
 *
 * Every byte of the struct, including padding, belongs to a field of the table, so that a test can detect a missing
 * field: the sizes of the fields add up to that of the struct.
 */
#ifndef TASKS_SETTINGS_H
#define TASKS_SETTINGS_H

#include <math.h>
#include <stddef.h>

#include "io/keys.h"
#include "tasks/task.h"

#define TASK_FIELD(type, field, ...)                                                               \
    {                                                                                              \
        .name = #field, .at = offsetof(type, field), .low = -HUGE_VAL, .high = HUGE_VAL,           \
        __VA_ARGS__                                                                                \
    }
#define TASK_WHOLE(type, field) TASK_FIELD(type, field, .kind = KEY_WHOLE)
#define TASK_NUMBER(type, field) TASK_FIELD(type, field, .kind = KEY_NUMBER)
/* A number that was fixed in the code before it became a setting, with its value then. */
#define TASK_NUMBER_BEFORE(type, field, value)                                                     \
    TASK_FIELD(type, field, .kind = KEY_NUMBER, .before = (value))
#define TASK_NUMBERS(type, field, count)                                                           \
    TASK_FIELD(type, field, .kind = KEY_NUMBERS, .room = (count), .count_at = KEY_FIXED)
#define TASK_FLAG(type, field) TASK_FIELD(type, field, .kind = KEY_FLAG)
#define TASK_TEXT(type, field)                                                                     \
    TASK_FIELD(type, field, .kind = KEY_TEXT, .room = sizeof(((type *)0)->field))
#define TASK_PAD(type, field)                                                                      \
    TASK_FIELD(type, field, .kind = KEY_PADDING, .room = sizeof(((type *)0)->field))
/* An enum, with its words in order, terminated by NULL. */
#define TASK_WORD(type, field, words_)                                                             \
    {                                                                                              \
        .name = #field, .kind = KEY_WORD, .at = offsetof(type, field), .words = (words_)           \
    }

/* A field of the struct `part` inside the settings, under the field's name. */
#define TASK_PART(type, part, field, ...)                                                          \
    {                                                                                              \
        .name = #field, .at = offsetof(type, part.field), .low = -HUGE_VAL, .high = HUGE_VAL,      \
        __VA_ARGS__                                                                                \
    }
/* The keys of a struct with an ExpScale `exp`. */
#define EXP_SCALE_KEYS(type)                                                                       \
    TASK_PART(type, exp, floor, .kind = KEY_NUMBER),                                               \
        TASK_PART(type, exp, batch, .kind = KEY_WHOLE),                                            \
        TASK_PART(type, exp, steps, .kind = KEY_WHOLE),                                            \
        TASK_PART(type, exp, evaluate_every, .kind = KEY_WHOLE),                                   \
        TASK_PART(type, exp, data_seed, .kind = KEY_WHOLE),                                        \
        TASK_PART(type, exp, warmup, .kind = KEY_WHOLE),                                           \
        TASK_PART(type, exp, pad, .kind = KEY_PADDING, .room = sizeof(((type *)0)->exp.pad))
/* The keys of a row with dense layers: the number of hidden layers, and the activation between them. */
#define TASK_DENSE_KEYS(type)                                                                      \
    TASK_WHOLE(type, hidden), TASK_WORD(type, activation, task_activation_words)

#define TASK_FIELDS(type, keys_)                                                                   \
    {                                                                                              \
        .section = &(const Section){#type, (keys_), (int)(sizeof(keys_) / sizeof(keys_)[0])},      \
        .size = sizeof(type)                                                                       \
    }

/* Words for enums of the library that are used in settings. */
extern const char *const task_form_words[], *const task_dtype_words[],
                                                *const task_activation_words[];

/* An option of tasks whose records draw single items of the data: with `no` a record has numbers only, so that it can be
 * passed on where the data may not be. */
extern const char *const task_drawings_words[2];
#define TASK_DRAWINGS                                                                              \
    {                                                                                              \
        .name = "drawings", .help = "records draw some test items; no: they have numbers only",    \
        TASK_WORDS(task_drawings_words), .shown = true                                             \
    }
bool task_draws(const TaskEnv *env);

#endif
