/* Compares all 65536 patterns of half precision with the definition of the format. */
#include <math.h>

#include "io/npy.h"
#include "support/support.h"

static double by_definition(unsigned bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double fraction = (bits & 1023) / 1024.0, sign = bits & 0x8000 ? -1 : 1;

    if (exponent == 31)
        return bits & 1023 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? fraction * 0x1p-14 : (1 + fraction) * pow(2, exponent - 15));
}

static void every_pattern_is_its_number(void **state)
{
    const RelnKind *kind = reln_kind_named("f2");

    (void)state;
    assert_non_null(kind);
    for (unsigned bits = 0; bits < 65536; bits++) {
        const unsigned char bytes[2] = {(unsigned char)bits, (unsigned char)(bits >> 8)};
        const double want = by_definition(bits);
        double got = 0;

        reln_kind_convert(kind, false, bytes, 1, &got);
        assert_true(isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_is_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
