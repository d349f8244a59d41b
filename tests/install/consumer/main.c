/* main.c -- uses an installed reln as a stranger would. */
#include <reln/reln.h>
#include <stdio.h>

int main(void)
{
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnCtx *ctx = NULL;
    RelnAlgebra *gl3 = NULL;
    int status = 1;

    if (reln_ctx_create(NULL, &ctx) == RELN_OK && reln_algebra_create(ctx, "gl:3", &gl3) == RELN_OK)
        status = printf("%s: form(1, 1) = %.6f\n", reln_algebra_name(gl3),
                        reln_algebra_form(gl3, one, one)) < 0;
    reln_algebra_destroy(gl3);
    reln_ctx_destroy(ctx);
    return status;
}
