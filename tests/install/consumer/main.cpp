// main.cpp -- the same from C++.
#include <cstdio>
#include <memory>
#include <reln/reln.h>

int main()
{
    RelnCtx *ctx = nullptr;
    if (reln_ctx_create(nullptr, &ctx) != RELN_OK)
        return 1;
    std::unique_ptr<RelnCtx, decltype(&reln_ctx_destroy)> owner(ctx, reln_ctx_destroy);

    RelnAlgebra *raw = nullptr;
    if (reln_algebra_create(ctx, "gl:3", &raw) != RELN_OK)
        return 1;
    std::unique_ptr<RelnAlgebra, decltype(&reln_algebra_destroy)> gl3(raw, reln_algebra_destroy);

    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    return std::printf("%s: form(1, 1) = %.6f\n", reln_algebra_name(raw),
                       reln_algebra_form(raw, one, one)) < 0;
}
