/* Tests tables of numbers in text files: which are read, and which are refused with which line. */
#include <math.h>
#include <string.h>

#include "io/csv.h"
#include "support/support.h"

static RelnCsv read_text(RelnCtx *ctx, const char *text)
{
    RelnCsv t;

    assert_ok(ctx, reln_csv_parse(ctx, text, strlen(text), "a.csv", &t));
    return t;
}

static void names_come_from_a_header_and_units_are_left_out(void **state)
{
    RelnCtx *ctx;
    RelnCsv t;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    t = read_text(ctx, "#time [ns], p_x [m], q\n1,2.5,-3e2\r\n\n4 , .5, 6\n");
    assert_int_equal(t.n_columns, 3);
    assert_int_equal(t.n_rows, 2);
    assert_string_equal(t.names[1], "p_x");
    assert_true(reln_csv_column(&t, "q")[0] == -300 && reln_csv_column(&t, "p_x")[1] == 0.5);
    assert_null(reln_csv_column(&t, "p_y"));
    assert_int_equal(t.lines[1], 4);
    reln_csv_clear(&t);
    t = read_text(
        ctx,
        "x,y\n1,nan\n-inf,2"); /* names without a # before them, and no line end at the end of the file */
    assert_string_equal(t.names[0], "x");
    assert_true(isnan(t.values[2]) && t.values[1] == -HUGE_VAL && t.values[3] == 2);
    reln_csv_clear(&t);
    t = read_text(
        ctx, "# a remark of four words\n# more\n1.5 2   3\n4\t5 6\n"); /* blanks, and no names */
    assert_int_equal(t.n_columns, 3);
    assert_string_equal(
        t.names[0],
        "column0"); /* a comment with another number of words does not name the columns */
    assert_string_equal(t.names[2], "column2");
    assert_true(reln_csv_column(&t, "column2")[1] == 6);
    reln_csv_clear(&t);
    reln_ctx_destroy(ctx);
}

static void what_is_no_table_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "a.csv: no row of numbers"},
        {"# only remarks\n", "a.csv: no row of numbers"},
        {"x,y\n1,2\n3,4,5\n", "a.csv: line 3 has 3 columns, the first row has 2"},
        {"x,y\n1,2\n3,up\n", "a.csv: line 3: 'up' in column 2 ('y'), wanted a number"},
        {"x,y\n1,2\n3,\n", "a.csv: line 3: '' in column 2 ('y'), wanted a number"},
        {"x,y,z\n1,2\n", "a.csv: line 1 has 3 names, the first row has 2 columns"},
        {"x,x\n1,2\n", "a.csv: columns 1 and 2 are both called 'x'"},
        {"1,2\n1,0x10\n", "a.csv: line 2: '0x10' in column 2 ('column1'), wanted a number"},
    };
    RelnCtx *ctx;
    RelnCsv t;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(reln_csv_parse(ctx, bad[i].text, strlen(bad[i].text), "a.csv", &t),
                         RELN_ERR_FORMAT);
        assert_string_equal(reln_ctx_error(ctx), bad[i].message);
        reln_csv_clear(&t);
    }
    assert_int_equal(reln_csv_parse(ctx, "1\0 2", 4, "a.csv", &t), RELN_ERR_FORMAT);
    reln_csv_clear(&t);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_from_a_header_and_units_are_left_out),
        cmocka_unit_test(what_is_no_table_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
