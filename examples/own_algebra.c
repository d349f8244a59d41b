/* own_algebra.c -- an algebra from basis matrices, here rotations and scalings of space, and a basis that is
 * refused. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>

static const double similar[4][9] = {{0, 0, 0, 0, 0, -1, 0, 1, 0},
                                     {0, 0, 1, 0, 0, 0, -1, 0, 0},
                                     {0, -1, 0, 1, 0, 0, 0, 0, 0},
                                     {1, 0, 0, 0, 1, 0, 0, 0, 1}};
static const double affine[2][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}}; /* x -> a x + b */

int main(void)
{
    const double x[4] = {1, 2, 3, 4}, w[4] = {0, 1, 0, 2};
    double g[9], ad[16], y[4] = {0}, z[4], before, after, cond = 0;
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);
    const RelnAlgebraInfo *info;
    RelnAlgebra *algebra = NULL, *refused = NULL;
    RelnCtx *ctx = NULL;

    if (reln_ctx_create(NULL, &ctx) ||
        reln_algebra_from_basis(ctx, 4, 3, &similar[0][0], &(RelnBasisOptions){.name = "similar"},
                                &algebra) ||
        reln_algebra_random_group(algebra, &rng, /*cond=*/1, g, NULL, &cond) ||
        reln_algebra_adjoint(algebra, g, ad))
        return 1; /* reln_ctx_error(ctx) has the reason */
    info = reln_algebra_info(algebra);
    printf("dimension %d, centre %d, signature of the form (%d, %d)\n", info->dim, info->center_dim,
           info->form_signature[0], info->form_signature[1]);

    reln_algebra_bracket(algebra, x, w, z);
    printf("[x, w] = (%g, %g, %g, %g)\n", z[0], z[1], z[2], z[3]);
    for (int i = 0; i < 16; i++)
        y[i / 4] += ad[i] * x[i % 4]; /* y = g x g^-1 */
    before = reln_algebra_form(algebra, x, x);
    after = reln_algebra_form(algebra, y, y);
    printf("form(x, x) = %.6f, form(y, y) = %.6f\n", before, after);

    if (reln_algebra_from_basis(ctx, 2, 2, &affine[0][0], NULL, &refused) == RELN_OK)
        return 1;
    printf("refused: %s\n", reln_ctx_error(ctx));
    reln_algebra_destroy(algebra);
    reln_ctx_destroy(ctx);
    return fabs(after - before) < 1e-12 * fabs(before) ? 0 : 1;
}
