/* Tests the codes of characters: every character is read, and none in more bytes than necessary. */
#include "report/text.h"
#include "support/support.h"

static void put(uint32_t code, int length, char *out)
{
    static const unsigned lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};

    if (length == 1)
        out[0] = (char)code;
    for (int i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 63));
    if (length > 1)
        out[0] = (char)(lead[length] | code);
    out[length] = '\0';
}

static int shortest(uint32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static void each_character_has_one_spelling(void **state)
{
    (void)state;
    for (uint32_t code = 1; code < 0x120000; code += code < 0x3000 ? 1 : 61)
        for (int length = shortest(code); length <= 4; length++) {
            const bool there = code <= 0x10FFFF && (code < 0xD800 || code >= 0xE000);
            char text[8];
            int n_bytes = 0;
            uint32_t got;

            put(code, length, text);
            got = reln_utf8_next(text, &n_bytes);
            if (there && length == shortest(code)) {
                assert_int_equal(got, code);
                assert_int_equal(n_bytes, length);
            } else {
                assert_int_not_equal(got, code);
            }
        }
}

/* Writes each character in its one spelling. */
static void each_character_is_written_as_it_is_read(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 0x10FFFF;
         code += code < 0x3000 || code > 0xFFF0 - 61 ? 1 : 61) {
        char text[8] = {0}, want[8];

        put(code, shortest(code), want);
        assert_int_equal(reln_utf8_encode(code, text), shortest(code));
        assert_memory_equal(text, want, (size_t)shortest(code));
        if (code == 0x10100)
            code = 0x10FFF0; /* the last ones, of the longest spelling */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_character_has_one_spelling),
        cmocka_unit_test(each_character_is_written_as_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
