/* text.h -- a text that grows. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/base.h"

/* Once memory is out it takes nothing more, and `failed` says so. */
typedef struct RelnText {
    RelnCtx *ctx;
    char *bytes; /* n of them, and a 0 behind; NULL as long as there are none */
    size_t n, room;
    bool failed;
} RelnText;

void reln_text_init(RelnText *text, RelnCtx *ctx);
void reln_text_clear(RelnText *text);
/* Room for so many bytes more and the 0; doubling keeps the copying linear. */
bool reln_text_reserve(RelnText *text, size_t n_bytes);
void reln_text_put(RelnText *text, const void *bytes, size_t n_bytes);
void reln_text_puts(RelnText *text, const char *words);

#endif
