/* pack.c -- writes rows of the arrays of a file as packed datasets of an HDF5 file, for tests of the program.
 *     h5_pack DATA FIRST END OUT.h5 */
#include <hdf5.h>
#include <reln/io.h>
#include <stdio.h>
#include <stdlib.h>

static bool put(hid_t file, const RelnArray *a, ptrdiff_t n, const double *rows)
{
    enum { CHUNK = 16, RANK = 8 };
    hsize_t dims[RANK], chunk[RANK];
    hid_t space, plan, dataset;
    bool good;

    for (int i = 0; i < a->rank && i < RANK; i++) {
        dims[i] = (hsize_t)(i == 0 ? n : a->dims[i]);
        chunk[i] = i == 0 && dims[0] > CHUNK ? CHUNK : dims[i];
    }
    space = H5Screate_simple(a->rank, dims, NULL);
    plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plan, a->rank, chunk);
    H5Pset_deflate(plan, 6);
    dataset = H5Dcreate2(file, a->name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    good = dataset >= 0 &&
           H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0;
    H5Dclose(dataset);
    H5Pclose(plan);
    H5Sclose(space);
    return good;
}

static bool pack(RelnArchive *archive, ptrdiff_t first, ptrdiff_t end, hid_t file)
{
    bool good = true;

    for (int i = 0; i < reln_archive_count(archive) && good; i++) {
        const RelnArray *a = reln_archive_info(archive, i);
        double *rows =
            malloc((size_t)(end - first) * (size_t)reln_array_row_size(a) * sizeof *rows);

        good = rows && reln_archive_range(archive, i, first, end - first, rows) == RELN_OK &&
               put(file, a, end - first, rows);
        free(rows);
    }
    return good;
}

int main(int argc, char **argv)
{
    RelnCtx *ctx = NULL;
    RelnArchive *archive = NULL;
    bool good = argc == 5 && reln_ctx_create(NULL, &ctx) == RELN_OK &&
                reln_archive_open(ctx, argv[1], &archive) == RELN_OK;

    if (good) {
        const hid_t file = H5Fcreate(argv[4], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

        good = file >= 0 && pack(archive, atol(argv[2]), atol(argv[3]), file);
        good = H5Fclose(file) >= 0 && good;
    }
    if (!good)
        fprintf(stderr, "h5_pack: %s\n", ctx ? reln_ctx_error(ctx) : "no memory");
    reln_archive_destroy(archive);
    reln_ctx_destroy(ctx);
    return good ? 0 : 1;
}
