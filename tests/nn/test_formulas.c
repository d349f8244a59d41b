/* Compares pooling with the formulas of nn.h, point by point, and tests the scale of starting weights. */
#include <float.h>
#include <math.h>

#include "nn/one.h"

enum { P = 4, C = 3 };

/* y = sum_p a_p x_p, a = softmax_p( B(x_p, x_p Wq) / sqrt(K) ), for each channel. */
static void by_formula(int k, const double *gram, const double *wq, const double *x, double *y)
{
    double score[P][C], total[C] = {0};

    for (int p = 0; p < P; p++) {
        const double *at = x + (ptrdiff_t)p * k * C;
        double query[16 * C];

        one_mix(k, C, C, at, wq, query);
        for (int c = 0; c < C; c++) {
            score[p][c] = exp(one_form(k, gram, C, C, at + c, query + c) / sqrt(k));
            total[c] += score[p][c];
        }
    }
    memset(y, 0, (size_t)k * C * sizeof *y);
    for (int p = 0; p < P; p++)
        for (int i = 0; i < k * C; i++)
            y[i] += score[p][i % C] / total[i % C] * x[(ptrdiff_t)p * k * C + i];
}

/* The scores s are sums of k^2 C products, each known to (k^2 C) eps of the sum of their sizes, at most B; e^s then has that
 * relative error, and the sum over P points adds P eps. */
static void softmax_pooling_is_its_formula(void **state)
{
    static const char *const algebras[] = {"so:3", "sl:2", "gl:2", "so:1,3"};

    (void)state;
    for (int a = 0; a < 4; a++) {
        One o;
        const double *gram = NULL, *wq, *got;
        double want[16 * C], size = 1;
        int k;

        one_init(&o, algebras[a], P, C);
        k = reln_algebra_dim(o.f.algebra);
        got = one_run(&o, reln_nn_pool_softmax(&o.net, "pool", o.x, RELN_P));
        wq = one_parameter(&o, "pool.Wq");
        assert_ok(o.f.ctx, reln_algebra_gram(o.f.algebra, RELN_FORM_COMPLETED, &gram));
        for (int i = 0; i < k * k; i++)
            size += fabs(gram[i]);
        for (ptrdiff_t i = 0; i < o.count; i++)
            size = fmax(size, fabs(o.values[i]));
        for (int s = 0; s < ONE_SAMPLES; s++) {
            by_formula(k, gram, wq, o.values + (ptrdiff_t)s * P * k * C, want);
            assert_near(got + (ptrdiff_t)s * k * C, want, (ptrdiff_t)k * C,
                        (k * k * C * size + P) * DBL_EPSILON);
        }
        one_clear(&o);
    }
}

/* Weights are uniform in +-1/sqrt(fan-in), with the fan-in the number of inputs that are added in an output
 * channel. Under so:3, four vectors are mapped to a vector by the identity, and no invariant is. Of the 400
 * weights one is above 9/10 of the bound, with a probability of failure of 0.9^400. */
static void weights_are_scaled_by_what_arrives(void **state)
{
    enum { FROM = 4, TO = 100, NUMBERS = 96 };
    One o;
    RelnFeatures in, out;
    RelnEntryInfo entry;
    double largest = 0;

    (void)state;
    one_init_vectors(&o, 1, FROM);
    in.x = o.x;
    in.s = reln_input(o.f.graph, "s", RELN_SAMPLES, (RelnDims){.c = NUMBERS}, NULL, RELN_F64);
    out = reln_nn_affine(&o.net, "a", in, TO, 1);
    assert_non_null(out.x);
    assert_non_null(out.s);
    assert_true(reln_store_find(o.f.store, "a.xx0", &entry));
    assert_int_equal(entry.count, FROM * TO);
    for (size_t i = 0; i < entry.count; i++)
        largest = fmax(largest, fabs(((const double *)entry.values)[i]));
    assert_true(largest <= 1 / sqrt(FROM) && largest > 0.9 / sqrt(FROM));
    one_clear(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_pooling_is_its_formula),
        cmocka_unit_test(weights_are_scaled_by_what_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
