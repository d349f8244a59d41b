/* bench_map.c -- elementwise functions: numbers for each nanosecond, beside a loop over the C library's. */
#include <math.h>

#include "bench.h"
#include "tensor/kernels.h"

enum { N = 4096, ROUNDS = 200, TRIES = 7 };

static float sigmoid_f32(float x)
{
    return 1 / (1 + expf(-x));
}

static double sigmoid_f64(double x)
{
    return 1 / (1 + exp(-x));
}

static float softplus_f32(float x)
{
    return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
}

static double softplus_f64(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static const struct {
    const char *name;
    RelnMap f;
    float (*f32)(float);
    double (*f64)(double);
} functions[] = {
    {"exp", RELN_MAP_EXP, expf, exp},
    {"log", RELN_MAP_LOG, logf, log},
    {"sin", RELN_MAP_SIN, sinf, sin},
    {"cos", RELN_MAP_COS, cosf, cos},
    {"tanh", RELN_MAP_TANH, tanhf, tanh},
    {"sigmoid", RELN_MAP_SIGMOID, sigmoid_f32, sigmoid_f64},
    {"softplus", RELN_MAP_SOFTPLUS, softplus_f32, softplus_f64},
};

static float x32[N], y32[N];
static double x64[N], y64[N];

static void library(int k, bool is_double)
{
    for (int i = 0; i < N && is_double; i++)
        y64[i] = functions[k].f64(x64[i]);
    for (int i = 0; i < N && !is_double; i++)
        y32[i] = functions[k].f32(x32[i]);
}

static void ours(const RelnKernels *table, int k, bool is_double)
{
    if (is_double)
        table->f64->map[functions[k].f](N, x64, 1, y64);
    else
        table->f32->map[functions[k].f](N, x32, 1, y32);
}

/* Numbers for each nanosecond, best of several; table NULL: the library. */
static double rate(const RelnKernels *table, int k, bool is_double)
{
    double best = 0;

    for (int attempt = 0; attempt < TRIES; attempt++) {
        const double start = seconds();
        double now;

        for (int round = 0; round < ROUNDS; round++)
            if (table)
                ours(table, k, is_double);
            else
                library(k, is_double);
        now = 1e-9 * N * ROUNDS / (seconds() - start);
        best = now > best ? now : best;
    }
    return best;
}

int main(void)
{
    const RelnKernels *plain = reln_kernels(true), *fast = reln_kernels(false);

    for (int i = 0; i < N; i++) {
        x64[i] = 0.01 + 8.0 * i / N;
        x32[i] = (float)x64[i];
    }
    printf("numbers for each ns     libm  %8s  %8s   %s to libm\n", plain->name, fast->name,
           fast->name);
    for (int is_double = 0; is_double < 2; is_double++)
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            const double libm = rate(NULL, (int)k, is_double);
            const double base = rate(plain, (int)k, is_double);
            const double best = rate(fast, (int)k, is_double);

            printf("%-9s %s       %8.3f  %8.3f  %8.3f   %8.1f\n", functions[k].name,
                   is_double ? "f64" : "f32", libm, base, best, best / libm);
        }
    return y32[0] == 0 && y64[0] == 0;
}
