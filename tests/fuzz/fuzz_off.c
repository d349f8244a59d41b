/* fuzz_off.c -- reads any bytes as a .off file: the result is a valid mesh or one line of refusal. */
#include "fuzz.h"
#include "kit/splats.h"

/* Memory: three doubles for six bytes of a vertex, three indices for four bytes of a polygon's corner. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzHeap heap;
    RelnCtx *ctx = fuzz_begin(&heap, 8 * size + 4096);
    RelnMesh mesh;
    const RelnStatus status = reln_off_parse(ctx, data, size, "input", &mesh);

    if (status != RELN_OK)
        fuzz_refused(ctx, status);
    for (ptrdiff_t i = 0; i < 3 * mesh.n_triangles; i++)
        require(mesh.triangles[i] >= 0 && mesh.triangles[i] < mesh.n_vertices);
    reln_mesh_clear(&mesh);
    fuzz_end(ctx);
    return 0;
}
