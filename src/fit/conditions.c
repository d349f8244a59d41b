/* conditions.c -- see kit/conditions.h. */
#include "kit/conditions.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "kit/data.h"
#include "tensor/linalg.h"

enum { MOST_SAMPLES = 1000 };

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Computes the condition numbers of the matrices of one sample; masked-out points are zero and are
 * skipped. */
static RelnStatus look(RelnModel *m, ptrdiff_t n, ptrdiff_t count, const double *x, double *out,
                       ptrdiff_t *found)
{
    for (ptrdiff_t at = 0; at < count; at += n * n) {
        double cond = 0;

        if (reln_mat_norm(n * n, x + at) > 0)
            RELN_TRY(reln_cond(reln_model_ctx(m), n, x + at, &cond));
        if (cond > 0)
            out[(*found)++] = cond;
    }
    return RELN_OK;
}

static RelnStatus survey(RelnModel *m, RelnData *data, int input, RelnCondition *out)
{
    const ptrdiff_t n = reln_model_n(m), size = reln_data_numbers(data, input);
    const ptrdiff_t rows = reln_data_count(data);
    const ptrdiff_t samples = rows < MOST_SAMPLES ? rows : MOST_SAMPLES;
    RelnCtx *ctx = reln_model_ctx(m);
    double *x = reln_alloc(ctx, (size_t)size, sizeof *x);
    double *conds = reln_alloc(ctx, (size_t)(samples * (size / (n * n))), sizeof *conds);
    RelnStatus status = x && conds ? RELN_OK : RELN_ERR_NOMEM;

    *out = (RelnCondition){.input = reln_model_spec(m)->input[input].name};
    for (ptrdiff_t i = 0; i < samples && status == RELN_OK; i++) {
        status = reln_data_raw(data, input, i * rows / samples, x);
        if (status == RELN_OK)
            status = look(m, n, size, x, conds, &out->count);
    }
    if (status == RELN_OK && out->count > 0) {
        qsort(conds, (size_t)out->count, sizeof *conds, by_size);
        out->median = conds[out->count / 2];
        out->worst = conds[out->count - 1];
    }
    reln_free(ctx, conds);
    reln_free(ctx, x);
    return status;
}

static bool of_matrices(RelnAs as)
{
    return as == RELN_AS_MATRIX || as == RELN_AS_COVARIANCE;
}

RelnStatus reln_data_conditions(RelnModel *m, const char *data_path, RelnCondition *out, int *count)
{
    const RelnSpec *spec = reln_model_spec(m);
    RelnArchive *archive = NULL;
    RelnData *data = NULL;
    RelnStatus status = reln_archive_open(reln_model_ctx(m), data_path, &archive);

    *count = 0;
    if (status == RELN_OK)
        status = reln_data_open(m, archive, &(RelnDataOptions){.without_target = true}, &data);
    for (int i = 0; i < spec->n_inputs && status == RELN_OK; i++)
        if (of_matrices(spec->input[i].as))
            status = survey(m, data, i, &out[(*count)++]);
    reln_data_destroy(data);
    reln_archive_destroy(archive);
    return status;
}
