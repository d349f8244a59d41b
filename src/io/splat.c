/* splat.c -- files of splats, read forwards: opening them, and the .splat format.
 *
 * A .splat has 32 bytes for each splat and nothing else: x y z and three scales as f32, then as bytes R G B A, and the
 * quaternion w x y z as 128 q + 128.
 */
#include <math.h>
#include <string.h>

#include "io/pieces.h"

enum { SPLAT_BYTES = 32 };

RelnStatus splat_finish(const RelnSplatFile *f, bool stored, double *row)
{
    double *q = row + RELN_SPLAT_ROTATION, norm = 0, sign;

    if (stored) {
        row[RELN_SPLAT_OPACITY] = 1 / (1 + exp(-row[RELN_SPLAT_OPACITY]));
        for (int a = 0; a < 3; a++)
            row[RELN_SPLAT_SCALE + a] = exp(row[RELN_SPLAT_SCALE + a]);
    }
    for (int i = 0; i < RELN_SPLAT; i++)
        if (!isfinite(row[i]) || (i >= RELN_SPLAT_SCALE && i < RELN_SPLAT_ROTATION && row[i] < 0))
            return reln_fail(f->pieces.ctx, RELN_ERR_FORMAT,
                             "%s: splat %td has the number %g in place %d; wanted a finite one%s",
                             f->pieces.name, f->next, row[i], i,
                             isfinite(row[i]) ? ", a scale that is not negative" : "");
    for (int a = 0; a < 4; a++)
        norm = fmax(norm, fabs(q[a]));
    if (norm == 0) {
        q[0] = 1;
        return RELN_OK;
    }
    sign = q[0] < 0 ? -1 : 1;
    for (int a = 0; a < 4; a++) /* divide by the largest first, so that no square overflows */
        q[a] = sign * (q[a] / norm);
    norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int a = 0; a < 4; a++)
        q[a] /= norm;
    return RELN_OK;
}

static double float_at(const uint8_t *b)
{
    const uint32_t bits = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    float x;

    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static RelnStatus read_row(RelnSplatFile *f, double *row)
{
    const uint8_t *b;

    RELN_TRY(pieces_take(&f->pieces, SPLAT_BYTES, &b));
    for (int a = 0; a < 3; a++) {
        row[a] = float_at(b + 4 * a);
        row[RELN_SPLAT_SCALE + a] = float_at(b + 12 + 4 * a);
        row[RELN_SPLAT_COLOUR + a] = (b[24 + a] / 255.0 - 0.5) / RELN_SPLAT_C0;
    }
    row[RELN_SPLAT_OPACITY] = b[27] / 255.0;
    for (int a = 0; a < 4; a++)
        row[RELN_SPLAT_ROTATION + a] = (b[28 + a] - 128) / 128.0;
    return splat_finish(f, false, row);
}

RelnStatus splat_begin(RelnSplatFile *f)
{
    const Pieces *p = &f->pieces;

    if (p->n_bytes % SPLAT_BYTES != 0)
        return reln_fail(p->ctx, RELN_ERR_FORMAT, "%s: %zu bytes; wanted a multiple of %d", p->name,
                         p->n_bytes, SPLAT_BYTES);
    f->info = (RelnSplatInfo){.format = "splat", .count = (ptrdiff_t)(p->n_bytes / SPLAT_BYTES)};
    f->read = read_row;
    return RELN_OK;
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

static RelnStatus make(RelnCtx *ctx, RelnSplatFile **out)
{
    *out = reln_alloc(ctx, 1, sizeof **out);
    if (!*out)
        return RELN_ERR_NOMEM;
    (*out)->pieces.ctx = ctx;
    return RELN_OK;
}

static RelnStatus begin(RelnSplatFile **out, RelnStatus (*how)(RelnSplatFile *))
{
    const RelnStatus status = how(*out);

    if (status != RELN_OK) {
        reln_splats_close(*out);
        *out = NULL;
    }
    return status;
}

RelnStatus reln_splats_open(RelnCtx *ctx, const char *path, RelnSplatFile **out)
{
    RelnStatus status;

    RELN_TRY(make(ctx, out));
    status = pieces_open(ctx, path, &(*out)->pieces);
    if (status == RELN_OK)
        return begin(out, reln_path_ends_in(path, ".splat") ? splat_begin : ply_begin);
    reln_free(ctx, *out);
    *out = NULL;
    return status;
}

static RelnStatus parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                        RelnStatus (*how)(RelnSplatFile *), RelnSplatFile **out)
{
    RELN_TRY(make(ctx, out));
    pieces_memory(ctx, bytes, n_bytes, what, &(*out)->pieces);
    return begin(out, how);
}

RelnStatus reln_ply_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                          RelnSplatFile **out)
{
    return parse(ctx, bytes, n_bytes, what, ply_begin, out);
}

RelnStatus reln_splat_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                            RelnSplatFile **out)
{
    return parse(ctx, bytes, n_bytes, what, splat_begin, out);
}

void reln_splats_close(RelnSplatFile *file)
{
    if (!file)
        return;
    reln_free(file->pieces.ctx, file->layout);
    pieces_close(&file->pieces);
    reln_free(file->pieces.ctx, file);
}

RelnSplatInfo reln_splats_info(const RelnSplatFile *file)
{
    return file->info;
}

RelnStatus reln_splats_read(RelnSplatFile *file, ptrdiff_t n_most, double *rows, ptrdiff_t *n)
{
    for (*n = 0; *n < n_most && file->next < file->info.count; ++*n, file->next++)
        RELN_TRY(file->read(file, rows + *n * RELN_SPLAT));
    return RELN_OK;
}
