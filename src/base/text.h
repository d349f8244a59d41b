/* text.h -- a text that grows as parts are appended. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/base.h"

/* A RelnText grows as needed. When memory runs out, `failed` is set and further text is dropped. */
typedef struct RelnText {
    RelnCtx *ctx;
    char *bytes; /* n bytes and a terminating 0; NULL while the text is empty */
    size_t n, room;
    bool failed;
} RelnText;

void reln_text_init(RelnText *text, RelnCtx *ctx);
void reln_text_clear(RelnText *text);
/* Makes room for n_bytes more and the terminating 0. The capacity doubles, so the cost of copying stays
 * linear. */
bool reln_text_reserve(RelnText *text, size_t n_bytes);
void reln_text_put(RelnText *text, const void *bytes, size_t n_bytes);
void reln_text_puts(RelnText *text, const char *words);

#endif
