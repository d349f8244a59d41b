/* pieces.c -- see pieces.h. */
#include "io/pieces.h"

#include <string.h>

#include "io/text.h"

RelnStatus pieces_open(RelnCtx *ctx, const char *path, Pieces *out)
{
    RelnStatus status;

    *out = (Pieces){.ctx = ctx};
    RELN_TRY(reln_source_open_large(ctx, path, &out->source));
    out->name = out->source.name;
    out->n_bytes = out->source.n_bytes;
    out->window = reln_alloc_raw(ctx, PIECE_BYTES, 1);
    status = out->window ? RELN_OK : RELN_ERR_NOMEM;
    if (status != RELN_OK)
        reln_source_close(&out->source);
    return status;
}

void pieces_memory(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what, Pieces *out)
{
    *out = (Pieces){.ctx = ctx, .name = what, .bytes = bytes, .n_bytes = n_bytes};
}

void pieces_close(Pieces *p)
{
    if (p->window) {
        reln_source_close(&p->source);
        reln_free(p->ctx, p->window);
    }
    p->window = NULL;
}

RelnStatus pieces_look(Pieces *p, size_t want, const uint8_t **bytes, size_t *got)
{
    const size_t left = p->n_bytes - p->at;

    if (!p->window) {
        *bytes = p->bytes + p->at;
        *got = left < PIECE_BYTES ? left : PIECE_BYTES;
        return RELN_OK;
    }
    if (p->at < p->from || p->at + (want < left ? want : left) > p->from + p->filled) {
        p->from = p->at;
        p->filled = left < PIECE_BYTES ? left : PIECE_BYTES;
        RELN_TRY(reln_source_read(&p->source, p->from, p->filled, p->window));
    }
    *bytes = p->window + (p->at - p->from);
    *got = p->filled - (p->at - p->from);
    return RELN_OK;
}

RelnStatus pieces_take(Pieces *p, size_t n, const uint8_t **bytes)
{
    size_t got;

    RELN_TRY(pieces_look(p, n, bytes, &got));
    if (got < n)
        return reln_fail(p->ctx, RELN_ERR_FORMAT, "%s: ends after %zu bytes, in the middle of %zu",
                         p->name, p->n_bytes, n);
    p->at += n;
    return RELN_OK;
}

RelnStatus pieces_skip(Pieces *p, uint64_t n)
{
    if (n > p->n_bytes - p->at)
        return reln_fail(p->ctx, RELN_ERR_FORMAT, "%s: has %zu bytes left; %llu were announced",
                         p->name, p->n_bytes - p->at, (unsigned long long)n);
    p->at += (size_t)n;
    return RELN_OK;
}

RelnStatus pieces_line(Pieces *p, size_t size, char *line)
{
    const uint8_t *bytes, *end;
    size_t got, length;

    RELN_TRY(pieces_look(p, size, &bytes, &got));
    got = got < size ? got : size;
    end = got > 0 ? memchr(bytes, '\n', got) : NULL;
    if (!end)
        return reln_fail(p->ctx, RELN_ERR_FORMAT,
                         "%s: byte %zu: wanted the end of a line of at most %zu bytes", p->name,
                         p->at, size - 1);
    length = (size_t)(end - bytes);
    p->at += length + 1;
    if (length > 0 && bytes[length - 1] == '\r')
        length--;
    memcpy(line, bytes, length);
    line[length] = '\0';
    return RELN_OK;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

RelnStatus pieces_number(Pieces *p, double *out)
{
    enum { LONGEST = 64 };
    const uint8_t *bytes = NULL;
    char text[LONGEST + 1];
    size_t got = 0, length;

    for (;;) {
        size_t i = 0;

        RELN_TRY(pieces_look(p, LONGEST, &bytes, &got));
        while (i < got && is_blank(bytes[i]))
            i++;
        p->at += i;
        bytes += i;
        got -= i;
        if (i == 0 || p->at == p->n_bytes)
            break;
    }
    got = got < LONGEST ? got : LONGEST;
    length = reln_number_length((const char *)bytes, (const char *)bytes + got, true);
    if (length == 0 || (length < got && !is_blank(bytes[length])) || length == LONGEST)
        return reln_fail(p->ctx, RELN_ERR_FORMAT, "%s: byte %zu: '%s'; wanted a number", p->name,
                         p->at, reln_quote((const char *)bytes, got < 20 ? got : 20).text);
    memcpy(text, bytes, length);
    text[length] = '\0';
    *out = reln_number_parse(text);
    p->at += length;
    return RELN_OK;
}
