/* Tests graphs that are not valid by construction: random reps, constants and wirings. Most are refused;
 * every graph that is built is equivariant.
 *     RELN_SEED=17 property_test_wild_graphs          one graph, with its message or error
 *     RELN_SEED=1000 RELN_SEEDS=5000 property_test_...  many */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attacks/lab.h"

enum { POOL = 32, MAX_K = 16, MAX_STEPS = 4 };

/* Bound on the rounding error of numbers of size 1 in four steps, including matrix products. */
#define ALLOWED 1e-8
/* Differences are measured against at least this, since numbers of size 1 may cancel. */
#define LEAST 1e-3

static uint64_t seed;
static bool told; /* one graph: show its steps */

typedef struct Wild {
    Lab *l;
    RelnRng rng;
    RelnNode *pool[POOL];
    int count;
} Wild;

static int below(Wild *w, int n)
{
    return (int)(reln_rng_uniform(&w->rng) * n) % n;
}

/* Chooses a node; later nodes are chosen more often. */
static RelnNode *any(Wild *w)
{
    return below(w, 2) ? w->pool[w->count - 1] : w->pool[below(w, w->count)];
}

static RelnAxis any_axis(Wild *w)
{
    return (RelnAxis)below(w, RELN_AXES);
}

static const RelnRep *any_rep(Wild *w)
{
    const Lab *l = w->l;
    RelnGroup *g = l->group;

    switch (below(w, 9)) {
    case 0:
        return reln_rep_trivial(g, 1);
    case 1:
        return reln_rep_trivial(g, 3);
    case 2:
        return l->v;
    case 3:
        return reln_rep_dual(l->v);
    case 4:
        return reln_rep_sum(reln_rep_trivial(g, 1), l->v);
    case 5:
        return reln_rep_product(l->v, l->v);
    case 6:
        return reln_rep_antisymmetric(l->v, 2);
    case 7:
        return reln_rep_sign(g);
    default:
        return l->m;
    }
}

/* ---- constants ------------------------------------------------------------------------------------------------ */

/* Combines the solved maps with factors from 1 down to 1e-6. Factors are not large, because x times x may
 * cancel, and a large multiple of the remainder would be rounding. */
static void solved(Wild *w, const RelnMaps *maps, ptrdiff_t n, double *out)
{
    for (int m = 0; m < maps->count; m++) {
        const double c = reln_rng_uniform(&w->rng) * pow(10, below(w, 2) ? 0 : -3 * below(w, 3));
        for (ptrdiff_t e = 0; e < n; e++)
            out[e] += c * maps->values[m * n + e];
    }
}

/* Writes numbers that may be a map: random numbers, the unit matrix, a solved map, or a solved map with a
 * small or large error. */
static void any_numbers(Wild *w, const RelnMaps *maps, int rows, ptrdiff_t columns, double *out)
{
    const ptrdiff_t n = rows * columns;
    const int kind = below(w, 6);

    if (kind == 0)
        fill_normal(&w->rng, n, out);
    for (ptrdiff_t i = 0; kind == 1 && i < rows && i < columns; i++)
        out[i * columns + i] = 1;
    if (kind >= 2)
        solved(w, maps, n, out);
    if (kind >= 4)
        out[below(w, (int)n)] += pow(10, -14 + below(w, 14));
}

static RelnNode *any_linear(Wild *w)
{
    RelnNode *x = any(w);
    const RelnRep *to = any_rep(w);
    double m[MAX_K * MAX_K] = {0};
    const RelnMaps *maps = NULL;

    if (!x->rep || reln_rep_dim(x->rep) > MAX_K || reln_maps_linear(x->rep, to, &maps) != RELN_OK)
        return reln_linear_map(w->l->g, x, m, to);
    any_numbers(w, maps, reln_rep_dim(to), reln_rep_dim(x->rep), m);
    return reln_linear_map(w->l->g, x, m, to);
}

static RelnNode *any_contract(Wild *w)
{
    RelnNode *x = any(w), *y = any(w);
    const RelnRep *to = any_rep(w);
    const int i = reln_rep_dim(x->rep), j = reln_rep_dim(y->rep), k = reln_rep_dim(to);
    const RelnMaps *maps = NULL;
    static double t[MAX_K * MAX_K * MAX_K];
    static RelnEntry entries[MAX_K * MAX_K * MAX_K];
    int count = 0;

    if (i > MAX_K || j > MAX_K || reln_maps_bilinear(x->rep, y->rep, to, &maps) != RELN_OK)
        return reln_pair(w->l->g, x, y);
    for (int e = 0; e < i * j * k; e++)
        t[e] = 0;
    any_numbers(w, maps, k, (ptrdiff_t)i * j, t);
    for (int e = 0; e < i * j * k; e++)
        if (t[e] != 0)
            entries[count++] = (RelnEntry){e / j % i, e % j, e / j / i, t[e]};
    return reln_contract(w->l->g, &(RelnTensor3){i, j, k, count, entries}, x, y, to);
}

static RelnNode *any_const(Wild *w)
{
    const RelnRep *rep = any_rep(w);
    const RelnMaps *maps = NULL;
    double c[MAX_K] = {0};

    if (reln_maps_linear(reln_rep_trivial(w->l->group, 1), rep, &maps) == RELN_OK)
        any_numbers(w, maps, reln_rep_dim(rep), 1, c);
    return reln_add(w->l->g, any(w), lab_const(w->l, rep, c));
}

/* ---- wirings ---------------------------------------------------------------------------------------------------- */

static RelnNode *any_reshape(Wild *w)
{
    RelnNode *x = any(w);
    const RelnDims d = reln_node_dims(x);
    int n[RELN_AXES] = {d.p, d.q, d.r, d.k, d.c};

    for (int i = 0; i < 2; i++) {
        const int a = below(w, RELN_AXES), b = below(w, RELN_AXES), kept = n[a];
        n[a] = n[b];
        n[b] = kept;
    }
    return reln_reshape(w->l->g, x, (RelnDims){n[0], n[1], n[2], n[3], n[4]});
}

static RelnNode *any_mask(Wild *w)
{
    RelnNode *numbers = below(w, 2) ? any(w)
                                    : reln_random_bernoulli(w->l->g, 0.5, RELN_SAMPLES,
                                                            (RelnDims){1, 1, 1, below(w, 4), 1}, 3);

    return below(w, 2) ? reln_mask(w->l->g, numbers, any(w))
                       : reln_select(w->l->g, numbers, any(w), any(w));
}

static RelnNode *any_state(Wild *w)
{
    RelnGraph *g = w->l->g;
    RelnNode *x = reln_batch_sum(g, any(w));
    RelnNode *state = x ? reln_state(g, "wild", reln_node_dims(x), (RelnInit){0}) : NULL;

    reln_assign(g, state, x);
    return reln_mul(g, any(w), state);
}

static RelnNode *any_gradient(Wild *w)
{
    RelnNode *x = any(w), *y = reln_sum_all(w->l->g, any(w)), *out = NULL;

    return reln_grad(w->l->g, y, 1, &x, &out) ? out : NULL;
}

static RelnNode *any_slice_k(Wild *w)
{
    RelnNode *x = any(w);

    return reln_slice_k(w->l->g, x, below(w, x->shape.dims[RELN_K]), any_rep(w));
}

static RelnNode *any_function(Wild *w, RelnNode *x)
{
    RelnNode *(*const f[])(RelnGraph *, RelnNode *) = {
        reln_tanh,   reln_abs,   reln_square, reln_sin, reln_relu, reln_transpose_matrix,
        reln_matexp, reln_symexp};

    return f[below(w, (int)(sizeof f / sizeof *f))](w->l->g, reln_scale(w->l->g, x, 0.1));
}

static RelnNode *step(Wild *w)
{
    RelnGraph *g = w->l->g;

    switch (below(w, 21)) {
    case 0:
        return reln_add(g, any(w), any(w));
    case 1:
        return reln_mul(g, any(w), any(w));
    case 2:
        return reln_pair(g, any(w), any(w));
    case 3:
        return reln_gram(g, any(w), any(w));
    case 4:
        return reln_channel_gram(g, any(w), any(w));
    case 5:
        return any_function(w, any(w));
    case 6:
        return reln_softmax(g, any(w), any_axis(w));
    case 7:
        return reln_sum(g, any(w), any_axis(w));
    case 8:
        return any_reshape(w);
    case 9:
        return reln_swap_axes(g, any(w), any_axis(w), any_axis(w));
    case 10:
        return reln_slice(g, any(w), any_axis(w), 0, 1);
    case 11:
        return any_slice_k(w);
    case 12:
        return reln_pad(g, any(w), any_axis(w), 1, 1);
    case 13:
        return reln_concat(g, 2, (RelnNode *[]){any(w), any(w)}, any_axis(w));
    case 14:
        return any_mask(w);
    case 15:
        return any_state(w);
    case 16:
        return any_gradient(w);
    case 17:
        return reln_matmul(g, 3, any(w), any(w));
    case 18:
        return any_const(w);
    case 19:
        return any_contract(w);
    default:
        return any_linear(w);
    }
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

static RelnNode *build(Lab *l)
{
    Wild w = {
        .l = l, .rng = reln_rng(seed, 41), .pool = {l->x, l->y, l->s, l->big, l->mat}, .count = 5};
    const int steps = 1 + below(&w, MAX_STEPS);
    const RelnRep *rep = any_rep(&w);

    w.pool[w.count++] = reln_input(l->g, "z", RELN_SAMPLES,
                                   (RelnDims){2, 1, 1, reln_rep_dim(rep), 2}, rep, RELN_DEFAULT);
    for (int i = 0; i < steps; i++) {
        RelnNode *z = step(&w);
        if (!z || z->dtype == RELN_I32 || reln_graph_status(l->g) != RELN_OK)
            return NULL;
        if (told)
            print_message("    %s as %s\n", z->op->name, reln_rep_name(z->rep));
        w.pool[w.count++] = z;
    }
    return w.pool[w.count - 1];
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void graphs_that_build_are_equivariant(void **state)
{
    static const char *const groups[] = {"so:3", "o:3", "sl:3", "gl:3", "so:1,2"};
    const uint64_t first = setting("RELN_SEED", 1);
    const uint64_t n = setting("RELN_SEEDS", getenv("RELN_SEED") ? 1 : 2000);
    int built = 0, undefined = 0, wrong = 0;

    (void)state;
    told = n == 1;
    for (seed = first; seed < first + n; seed++) {
        const Attack a = {"wild", EQUIVARIANT, groups[seed % 5], build, NULL, 0};
        char message[LAB_MESSAGE];
        const double error = lab_error(&a, LEAST, message);
        if (n == 1)
            print_message("%s: %s, error %.2e\n", a.group, message, error);
        built += !(error < 0);
        undefined += isnan(error);
        if (error > ALLOWED && wrong++ < 20)
            print_message("RELN_SEED=%llu under %s: off by %.2e\n", (unsigned long long)seed,
                          a.group, error);
    }
    print_message("%d of %llu proposals built, %d of them not finite\n", built,
                  (unsigned long long)n, undefined);
    assert_int_equal(wrong, 0);
    if (n >= 100) {
        assert_true(built >= (int)(n / 20));
        assert_true(built <= (int)(n - n * 3 / 10));
        assert_true(undefined <= built / 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_that_build_are_equivariant)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
