/* pieces.h -- a file or memory that is read forwards, through a window of a few kilobytes; and files of splats on it. */
#ifndef IO_PIECES_H
#define IO_PIECES_H

#include "io/file.h"
#include "kit/splats.h"

enum { PIECE_BYTES = 1 << 16 };

typedef struct Pieces {
    RelnCtx *ctx;
    const char *name;     /* for messages */
    const uint8_t *bytes; /* of memory; NULL: of the file */
    RelnSource source;
    size_t n_bytes, at; /* size, and where reading goes on */
    uint8_t *window;    /* of a file: PIECE_BYTES from `from` on, `filled` of them there */
    size_t from, filled;
} Pieces;

RelnStatus pieces_open(RelnCtx *ctx, const char *path, Pieces *out);
void pieces_memory(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what, Pieces *out);
void pieces_close(Pieces *p);

/* At least `want` bytes, at most PIECE_BYTES, that lie where reading goes on; *got may be more than wanted, and is less only
 * where the end is near. Reading does not go on by it. */
RelnStatus pieces_look(Pieces *p, size_t want, const uint8_t **bytes, size_t *got);
/* Exactly n bytes, after which reading goes on. RELN_ERR_FORMAT when there are fewer. */
RelnStatus pieces_take(Pieces *p, size_t n, const uint8_t **bytes);
/* Leave out n bytes. */
RelnStatus pieces_skip(Pieces *p, uint64_t n);
/* The next line without its end, at most `size` - 1 bytes with a 0 behind. RELN_ERR_FORMAT when it is longer or missing. */
RelnStatus pieces_line(Pieces *p, size_t size, char *line);
/* The next number of a text, after blanks and line ends. */
RelnStatus pieces_number(Pieces *p, double *out);

/* ---- files of splats ----------------------------------------------------------------------------------------------- */

struct RelnSplatFile {
    Pieces pieces;
    RelnSplatInfo info;
    ptrdiff_t next; /* splat */
    RelnStatus (*read)(RelnSplatFile *file, double *row);
    struct PlyLayout *layout; /* of a .ply */
};

/* Fills format, count and the reader of a file whose pieces are open. */
RelnStatus ply_begin(RelnSplatFile *file);
RelnStatus splat_begin(RelnSplatFile *file);

/* Numbers as stored in a .ply to a row: sigmoid, exponential, a unit quaternion with w >= 0 (0 counts as no rotation).
 * RELN_ERR_FORMAT, with the number of the splat, where one of them is not finite. */
RelnStatus splat_finish(const RelnSplatFile *file, bool stored, double *row);

#endif
