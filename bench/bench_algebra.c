/* bench_algebra.c -- how long it takes to make an algebra, and to take one bracket and one form in it. */
#include "bench.h"

/* Best of several: the time without what else the machine was doing. */
static double time_create(RelnCtx *ctx, const char *name)
{
    double best = 1e9;

    for (int i = 0; i < 5; i++) {
        RelnAlgebra *algebra = NULL;
        const double start = seconds();

        if (reln_algebra_create(ctx, name, &algebra) != RELN_OK)
            return -1.0;
        best = seconds() - start < best ? seconds() - start : best;
        reln_algebra_destroy(algebra);
    }
    return best;
}

/* x moves a little with the results, so that no call can be left out. */
static double time_calls(const RelnAlgebra *algebra, double *x, double *y, double *z)
{
    enum { N_CALLS = 100000 };
    const int dim = reln_algebra_dim(algebra);
    double sink = 0.0;
    const double start = seconds();

    for (int call = 0; call < N_CALLS; call++) {
        reln_algebra_bracket(algebra, x, y, z);
        sink += reln_algebra_form(algebra, z, y);
        x[call % dim] += 1e-9 * (double)(sink > 0.0);
    }
    return (seconds() - start) / N_CALLS;
}

static int report(RelnCtx *ctx, const char *name)
{
    double x[RELN_ALGEBRA_MAX_DIM], y[RELN_ALGEBRA_MAX_DIM], z[RELN_ALGEBRA_MAX_DIM];
    RelnRng rng = reln_rng(1, 0);
    RelnAlgebra *algebra = NULL;

    for (int k = 0; k < RELN_ALGEBRA_MAX_DIM; k++) {
        x[k] = reln_rng_normal(&rng);
        y[k] = reln_rng_normal(&rng);
    }
    if (reln_algebra_create(ctx, name, &algebra) != RELN_OK)
        return 1;
    printf("%-10s %4d %12.3f %18.1f\n", name, reln_algebra_dim(algebra),
           1e3 * time_create(ctx, name), 1e9 * time_calls(algebra, x, y, z));
    reln_algebra_destroy(algebra);
    return 0;
}

int main(void)
{
    static const char *const names[] = {"so:3", "gl:3", "sp:4", "so:1,3", "su:3", "gl:5", "gl:8"};
    RelnCtx *ctx = NULL;
    int failed = 0;

    if (reln_ctx_create(NULL, &ctx) != RELN_OK)
        return 1;
    printf("%-10s %4s %12s %18s\n", "algebra", "dim", "create (ms)", "[x,y]+form (ns)");
    for (size_t i = 0; i < sizeof names / sizeof *names && !failed; i++)
        failed = report(ctx, names[i]);
    if (failed)
        fprintf(stderr, "bench_algebra: %s\n", reln_ctx_error(ctx));
    reln_ctx_destroy(ctx);
    return failed;
}
