/* pieces.h -- reads a file or memory forwards, through a window of a few kilobytes; and files of splats based
 * on it. */
#ifndef IO_PIECES_H
#define IO_PIECES_H

#include "io/file.h"
#include "kit/splats.h"

enum { PIECE_BYTES = 1 << 16 };

typedef struct Pieces {
    RelnCtx *ctx;
    const char *name;     /* for messages */
    const uint8_t *bytes; /* bytes in memory; NULL: a file */
    RelnSource source;
    size_t n_bytes, at; /* size, and position of the next byte */
    uint8_t *window;    /* of a file: PIECE_BYTES from `from` on, of which `filled` are valid */
    size_t from, filled;
} Pieces;

RelnStatus pieces_open(RelnCtx *ctx, const char *path, Pieces *out);
void pieces_memory(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what, Pieces *out);
void pieces_close(Pieces *p);

/* Returns at least `want` bytes, at most PIECE_BYTES, at the current position; *got may be more than wanted,
 * and is less only near the end. The position does not change. */
RelnStatus pieces_look(Pieces *p, size_t want, const uint8_t **bytes, size_t *got);
/* Returns exactly n bytes and advances. RELN_ERR_FORMAT when there are fewer. */
RelnStatus pieces_take(Pieces *p, size_t n, const uint8_t **bytes);
/* Skips n bytes. */
RelnStatus pieces_skip(Pieces *p, uint64_t n);
/* Reads the next line without its end, at most `size` - 1 bytes and a terminating 0. RELN_ERR_FORMAT when it
 * is longer or missing. */
RelnStatus pieces_line(Pieces *p, size_t size, char *line);
/* Reads the next number of a text, after blanks and line ends. */
RelnStatus pieces_number(Pieces *p, double *out);

/* ---- files of splats ----------------------------------------------------------------------------------------------- */

struct RelnSplatFile {
    Pieces pieces;
    RelnSplatInfo info;
    ptrdiff_t next; /* index of the next splat */
    RelnStatus (*read)(RelnSplatFile *file, double *row);
    struct PlyLayout *layout; /* of a .ply */
};

/* Fills format, count and the reader of a file whose pieces are open. */
RelnStatus ply_begin(RelnSplatFile *file);
RelnStatus splat_begin(RelnSplatFile *file);

/* Converts numbers as stored in a .ply to a row: sigmoid, exponential, a unit quaternion with w >= 0 (a zero
 * quaternion counts as no rotation). RELN_ERR_FORMAT, with the number of the splat, if one is not finite. */
RelnStatus splat_finish(const RelnSplatFile *file, bool stored, double *row);

#endif
