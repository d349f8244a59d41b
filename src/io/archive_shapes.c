/* archive_shapes.c -- files of splats and meshes as archives: a row for each Gaussian, or for each triangle.
 *
 * A Gaussian has a position (3), a covariance (3, 3), a colour (3), red, green and blue from 0 to 1, and an opacity. A
 * triangle has a centre (3), two edges from its first corner (3), and an area. The scales of a Gaussian are raised to
 * a millionth of its largest, so that every covariance is positive definite in double precision.
 */
#include <math.h>
#include <string.h>

#include "io/archive.h"
#include "kit/points.h"
#include "kit/splats.h"

enum { PIECE = 512 }; /* splats read at a time */
static const double least_share = 1e-6;

/* Adds an array of n rows: numbers, vectors of length `cols`, or with `square` matrices. */
static RelnStatus add(RelnArchive *v, const char *name, ptrdiff_t n, int cols, bool square,
                      double **values)
{
    const RelnArray array = {.name = name,
                             .dtype = RELN_F64,
                             .rank = square      ? 3
                                     : cols == 1 ? 1
                                                 : 2,
                             .dims = {n, cols, cols}};
    Array *a = NULL;

    return reln_archive_add(v, &array, values, &a);
}

/* ---- splats ------------------------------------------------------------------------------------------------------ */

typedef struct Splats {
    double *position, *covariance, *colour, *opacity;
} Splats;

static void put_covariance(const double *row, double *out)
{
    const double *const s = row + RELN_SPLAT_SCALE;
    const double least = least_share * fmax(s[0], fmax(s[1], s[2]));
    double R[9];

    reln_splat_axes(row, R);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[i * 3 + j] = 0;
            for (int k = 0; k < 3; k++)
                out[i * 3 + j] += R[i * 3 + k] * R[j * 3 + k] * pow(fmax(s[k], least), 2);
        }
}

static void put_splat(const Splats *to, ptrdiff_t i, const double *row)
{
    memcpy(to->position + 3 * i, row, 3 * sizeof *row);
    put_covariance(row, to->covariance + 9 * i);
    for (int k = 0; k < 3; k++)
        to->colour[3 * i + k] = 0.5 + RELN_SPLAT_C0 * row[RELN_SPLAT_COLOUR + k];
    to->opacity[i] = row[RELN_SPLAT_OPACITY];
}

static RelnStatus read_splats(RelnArchive *v, RelnSplatFile *file, double *rows)
{
    const ptrdiff_t count = reln_splats_info(file).count;
    ptrdiff_t n = 0, done = 0;
    Splats to;

    RELN_TRY(reln_archive_make(v, 4));
    RELN_TRY(add(v, "position", count, 3, false, &to.position));
    RELN_TRY(add(v, "covariance", count, 3, true, &to.covariance));
    RELN_TRY(add(v, "colour", count, 3, false, &to.colour));
    RELN_TRY(add(v, "opacity", count, 1, false, &to.opacity));
    do {
        RELN_TRY(reln_splats_read(file, PIECE, rows, &n));
        for (ptrdiff_t i = 0; i < n; i++)
            put_splat(&to, done++, rows + i * RELN_SPLAT);
    } while (n > 0);
    return RELN_OK;
}

RelnStatus reln_archive_take_splats(RelnArchive *v, const char *path)
{
    RelnSplatFile *file = NULL;
    double *rows = reln_alloc_raw(v->ctx, (size_t)PIECE * RELN_SPLAT, sizeof *rows);
    RelnStatus status = rows ? reln_splats_open(v->ctx, path, &file) : RELN_ERR_NOMEM;

    if (status == RELN_OK)
        status = read_splats(v, file, rows);
    reln_splats_close(file);
    reln_free(v->ctx, rows);
    return status;
}

/* ---- meshes ------------------------------------------------------------------------------------------------------ */

static RelnStatus take_triangles(RelnArchive *v, const RelnMesh *mesh)
{
    const ptrdiff_t n = mesh->n_triangles;
    double *centre, *edge1, *edge2, *area;

    RELN_TRY(reln_archive_make(v, 4));
    RELN_TRY(add(v, "centre", n, 3, false, &centre));
    RELN_TRY(add(v, "edge1", n, 3, false, &edge1));
    RELN_TRY(add(v, "edge2", n, 3, false, &edge2));
    RELN_TRY(add(v, "area", n, 1, false, &area));
    for (ptrdiff_t i = 0; i < n; i++, centre += 3, edge1 += 3, edge2 += 3) {
        const int32_t *const corner = mesh->triangles + 3 * i;
        const double *const a = mesh->vertices + 3 * corner[0],
                            *const b = mesh->vertices + 3 * corner[1],
                            *const c = mesh->vertices + 3 * corner[2];

        for (int k = 0; k < 3; k++) {
            centre[k] = (a[k] + b[k] + c[k]) / 3;
            edge1[k] = b[k] - a[k];
            edge2[k] = c[k] - a[k];
        }
        area[i] = 0.5 * hypot(hypot(edge1[1] * edge2[2] - edge1[2] * edge2[1],
                                    edge1[2] * edge2[0] - edge1[0] * edge2[2]),
                              edge1[0] * edge2[1] - edge1[1] * edge2[0]);
    }
    return RELN_OK;
}

RelnStatus reln_archive_take_mesh(RelnArchive *v, const char *path)
{
    RelnMesh mesh = {0};
    RelnStatus status = reln_off_load(v->ctx, path, &mesh);

    if (status == RELN_OK)
        status = take_triangles(v, &mesh);
    reln_mesh_clear(&mesh);
    return status;
}
