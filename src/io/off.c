/* off.c -- meshes in .off files: the word OFF, three counts, a line for each vertex and for each polygon.
 *
 * The counts may stand on the line of the word, even without a blank between, as in many files of ModelNet40. Further text
 * on a line (colours, normals) is ignored, and so are comments after #.
 */
#include <math.h>
#include <string.h>

#include "io/pieces.h"
#include "io/text.h"

typedef struct Reader {
    RelnCtx *ctx;
    const char *name;
    const char *start, *at, *end;
} Reader;

static RelnStatus bad(const Reader *r, const char *wanted)
{
    const size_t left = (size_t)(r->end - r->at);

    return reln_fail(r->ctx, RELN_ERR_FORMAT, "%s: byte %td: '%s'; wanted %s", r->name,
                     r->at - r->start, reln_quote(r->at, left < 20 ? left : 20).text, wanted);
}

static void skip_line(Reader *r)
{
    while (r->at < r->end && *r->at != '\n')
        r->at++;
}

/* Advances to the next word, across line ends and comments. */
static void skip_blanks(Reader *r)
{
    for (; r->at < r->end; r->at++)
        if (*r->at == '#')
            skip_line(r), r->at -= r->at == r->end;
        else if (!strchr(" \t\r\n", *r->at) || *r->at == '\0')
            return;
}

static RelnStatus read_number(Reader *r, const char *wanted, double *out)
{
    enum { LONGEST = 64 };
    char text[LONGEST + 1];
    size_t length;

    skip_blanks(r);
    length = reln_number_length(r->at, r->end, true);
    if (length == 0 || length > LONGEST)
        return bad(r, wanted);
    memcpy(text, r->at, length);
    text[length] = '\0';
    *out = reln_number_parse(text);
    r->at += length;
    return isfinite(*out) ? RELN_OK : bad(r, wanted);
}

/* Reads a whole number from 0 to `most`. */
static RelnStatus read_count(Reader *r, ptrdiff_t most, const char *wanted, ptrdiff_t *out)
{
    const char *before;
    double value = 0;

    skip_blanks(r);
    before = r->at;
    RELN_TRY(read_number(r, wanted, &value));
    if (!(value >= 0 && value <= (double)most && value == floor(value))) {
        r->at = before;
        return bad(r, wanted);
    }
    *out = (ptrdiff_t)value;
    return RELN_OK;
}

/* Reads the counts. A vertex takes at least 6 bytes, a polygon at least 2. */
static RelnStatus read_head(Reader *r, ptrdiff_t *n_vertices, ptrdiff_t *n_faces)
{
    const ptrdiff_t left = r->end - r->start;
    ptrdiff_t edges;

    skip_blanks(r);
    while (r->at < r->end && (*r->at == 'C' || *r->at == 'N')) /* colours, normals: ignored */
        r->at++;
    if (r->end - r->at < 3 || memcmp(r->at, "OFF", 3) != 0)
        return bad(r, "the word OFF");
    r->at += 3;
    RELN_TRY(read_count(r, left / 6 + 1, "a number of vertices that fits the file", n_vertices));
    RELN_TRY(read_count(r, left / 2 + 1, "a number of polygons that fits the file", n_faces));
    return read_count(r, (ptrdiff_t)1 << 48, "a number of edges", &edges);
}

static RelnStatus read_vertices(Reader *r, const RelnMesh *mesh)
{
    for (ptrdiff_t i = 0; i < mesh->n_vertices; i++) {
        for (int a = 0; a < 3; a++)
            RELN_TRY(read_number(r, "a coordinate", &mesh->vertices[3 * i + a]));
        skip_line(r);
    }
    return RELN_OK;
}

/* Reads the polygons and writes their triangles; if `out` is NULL, only counts them. */
static RelnStatus read_faces(Reader *r, ptrdiff_t n_vertices, ptrdiff_t n_faces, int32_t *out,
                             ptrdiff_t *n_triangles)
{
    *n_triangles = 0;
    for (ptrdiff_t f = 0; f < n_faces; f++) {
        ptrdiff_t corners, v[3] = {0, 0, 0};

        RELN_TRY(read_count(r, r->end - r->at, "a number of corners", &corners));
        for (ptrdiff_t i = 0; i < corners; i++) {
            RELN_TRY(read_count(r, n_vertices - 1, "the number of a vertex", &v[i == 0 ? 0 : 2]));
            if (i >= 2) {
                for (int a = 0; a < 3 && out; a++)
                    out[3 * *n_triangles + a] = (int32_t)v[a];
                ++*n_triangles;
            }
            if (i >= 1)
                v[1] = v[2];
        }
        skip_line(r);
    }
    return RELN_OK;
}

static RelnStatus parse(Reader *r, RelnMesh *mesh)
{
    ptrdiff_t n_faces;
    Reader faces;

    RELN_TRY(read_head(r, &mesh->n_vertices, &n_faces));
    if (mesh->n_vertices > INT32_MAX)
        return bad(r, "at most 2147483647 vertices");
    mesh->vertices = reln_alloc_raw(r->ctx, (size_t)mesh->n_vertices * 3, sizeof *mesh->vertices);
    if (!mesh->vertices)
        return RELN_ERR_NOMEM;
    RELN_TRY(read_vertices(r, mesh));
    faces = *r;
    RELN_TRY(read_faces(&faces, mesh->n_vertices, n_faces, NULL, &mesh->n_triangles));
    mesh->triangles =
        reln_alloc_raw(r->ctx, (size_t)mesh->n_triangles * 3, sizeof *mesh->triangles);
    if (!mesh->triangles)
        return RELN_ERR_NOMEM;
    return read_faces(r, mesh->n_vertices, n_faces, mesh->triangles, &mesh->n_triangles);
}

RelnStatus reln_off_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                          RelnMesh *out)
{
    Reader r = {ctx, what, bytes, bytes, (const char *)bytes + n_bytes};
    RelnStatus status;

    *out = (RelnMesh){.ctx = ctx};
    status = parse(&r, out);
    if (status != RELN_OK)
        reln_mesh_clear(out);
    return status;
}

RelnStatus reln_off_load(RelnCtx *ctx, const char *path, RelnMesh *out)
{
    RelnSource source;
    RelnStatus status;
    char *bytes;

    *out = (RelnMesh){.ctx = ctx};
    RELN_TRY(reln_source_open(ctx, path, &source));
    bytes = reln_alloc_raw(ctx, source.n_bytes, 1);
    status = bytes ? reln_source_read(&source, 0, source.n_bytes, bytes) : RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = reln_off_parse(ctx, bytes, source.n_bytes, source.name, out);
    reln_free(ctx, bytes);
    reln_source_close(&source);
    return status;
}
