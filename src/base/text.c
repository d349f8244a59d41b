/* text.c -- see text.h. */
#include "base/text.h"

#include <string.h>

void reln_text_init(RelnText *text, RelnCtx *ctx)
{
    *text = (RelnText){.ctx = ctx};
}

void reln_text_clear(RelnText *text)
{
    if (text->bytes)
        reln_free(text->ctx, text->bytes);
    *text = (RelnText){.ctx = text->ctx};
}

bool reln_text_reserve(RelnText *text, size_t n_bytes)
{
    size_t room = text->room ? text->room : 256;
    char *bytes;

    if (text->failed || text->room - text->n > n_bytes)
        return !text->failed;
    while (room - text->n <= n_bytes && room <= SIZE_MAX / 4)
        room *= 2;
    bytes = room - text->n > n_bytes ? reln_alloc_raw(text->ctx, room, 1) : NULL;
    text->failed = !bytes;
    if (!bytes)
        return false;
    if (text->bytes)
        memcpy(bytes, text->bytes, text->n);
    reln_free(text->ctx, text->bytes);
    text->bytes = bytes;
    text->room = room;
    return true;
}

void reln_text_put(RelnText *text, const void *bytes, size_t n_bytes)
{
    if (!reln_text_reserve(text, n_bytes))
        return;
    if (n_bytes > 0)
        memcpy(text->bytes + text->n, bytes, n_bytes);
    text->n += n_bytes;
    text->bytes[text->n] = '\0';
}

void reln_text_puts(RelnText *text, const char *words)
{
    reln_text_put(text, words, strlen(words));
}
