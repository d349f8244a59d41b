/* kernels.c -- prints a fingerprint of the results of each reference kernel, one line each, which must be
 * equal on every machine and for every compiler.
 * It needs the kernels alone (src/tensor/kernels_base.c), so that it can be compiled for machines without any
 * library. Inputs are whole numbers scaled by powers of two, made without a function of the C library. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tensor/kernels.h"

enum { N = 4099, ROWS = 37, INNER = 50, COLUMNS = 29 };

static uint64_t hash(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t h = 1469598103934665603ULL;

    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 1099511628211ULL;
    return h;
}

/* Numbers of both signs from 2^-20 to 2^scale, positive ones on demand. */
static void fill(const RelnRealKernels *k, uint64_t seed, int n, double scale, bool positive,
                 void *out)
{
    static double x[N * 2];

    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        x[i] = (double)(int64_t)((seed >> 33) - (1u << 30)) * (1.0 / (1u << 30)) * scale;
        if (positive && x[i] < 0)
            x[i] = -x[i];
    }
    k->from_f64(n, x, out);
}

static double a[N * 2], b[N * 2], c[N * 2], d[N * 2], packed[1 << 16];
static int32_t places[N];

static void show(const RelnRealKernels *k, const char *name, const void *values, size_t count)
{
    printf("%s %-14s %016" PRIx64 "\n", k->size == 8 ? "f64" : "f32", name,
           hash(values, count * k->size));
}

static void maps(const RelnRealKernels *k)
{
#define NAME(upper, lower) #lower,
    static const char *const names[] = {RELN_MAP_LIST(NAME)};
    static const char *const names2[] = {"add", "sub", "mul", "div", "max", "min", "less"};
#undef NAME

    for (int f = 0; f < RELN_MAP_COUNT; f++) {
        fill(k, 1 + (uint64_t)f, N, f == RELN_MAP_EXP ? 80.0 : 20.0,
             f == RELN_MAP_LOG || f == RELN_MAP_SQRT, a);
        k->map[f](N, a, 1, b);
        show(k, names[f], b, N);
    }
    fill(k, 100, N, 4.0, false, a);
    fill(k, 101, N, 4.0, false, b);
    for (int f = 0; f < RELN_MAP2_COUNT; f++) {
        k->map2[f](N, a, 1, b, 1, c);
        show(k, names2[f], c, N);
    }
}

static void sums(const RelnRealKernels *k)
{
    const void *rows[7];
    double total;

    for (size_t i = 0; i < 7; i++)
        rows[i] = (const char *)a + i * (N / 8) * k->size;
    fill(k, 200, N, 3.0, false, a);
    total = k->sum(N, a);
    printf("%s %-14s %016" PRIx64 "\n", k->size == 8 ? "f64" : "f32", "sum",
           hash(&total, sizeof total));
    k->tree(N / 8, 7, rows, b);
    show(k, "tree", b, N / 8);
    fill(k, 201, ROWS * COLUMNS, 9.0, false, a);
    k->softmax(ROWS, COLUMNS, a, b);
    show(k, "softmax", b, ROWS * COLUMNS);
    k->logsumexp(ROWS, COLUMNS, a, b);
    show(k, "logsumexp", b, COLUMNS);
    k->arg(ROWS, COLUMNS, false, a, places);
    printf("%s %-14s %016" PRIx64 "\n", k->size == 8 ? "f64" : "f32", "arg",
           hash(places, COLUMNS * sizeof *places));
}

static void products(const RelnRealKernels *k)
{
    fill(k, 300, ROWS * INNER, 2.0, false, a);
    fill(k, 301, INNER * COLUMNS, 2.0, false, b);
    memset(packed, 0, sizeof packed);
    k->gemm_pack(false, COLUMNS, INNER, b, COLUMNS, packed);
    k->gemm(false, ROWS, COLUMNS, INNER, a, INNER, packed, false, c, COLUMNS);
    show(k, "gemm", c, ROWS * COLUMNS);
    fill(k, 302, ROWS * COLUMNS, 2.0, false, b);
    k->gemm_pack(false, COLUMNS, ROWS, b, COLUMNS, packed);
    k->gemm(true, INNER, COLUMNS, ROWS, a, INNER, packed, false, c, COLUMNS);
    show(k, "gemm of a turned", c, INNER * COLUMNS);
}

static void optimisers(const RelnRealKernels *k)
{
    const RelnAdamStep adam = {0.9, 0.999, 0.999, 1e-2, 1.5, 0, 1e-8};
    const RelnSgdStep sgd = {1e-2, 1e-3, 0.9, true};

    fill(k, 400, N, 1.0, false, a);
    fill(k, 401, N, 1.0, false, b);
    fill(k, 402, N, 1.0, false, c);
    fill(k, 403, N, 1.0, true, d);
    k->adam(N, &adam, a, b, c, d);
    show(k, "adam", b, N);
    k->sgd(N, &sgd, a, b, c);
    show(k, "sgd", b, N);
}

int main(void)
{
    const RelnKernels *kernels = reln_kernels(true);
    const RelnRealKernels *const tables[] = {kernels->f32, kernels->f64};

    for (int t = 0; t < 2; t++) {
        maps(tables[t]);
        sums(tables[t]);
        products(tables[t]);
        optimisers(tables[t]);
    }
    return 0;
}
