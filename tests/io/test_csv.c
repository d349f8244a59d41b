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

static RelnCtx *context(void)
{
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    return ctx;
}

static void names_come_from_a_header_and_units_are_left_out(void **state)
{
    RelnCtx *ctx = context();
    RelnCsv t;

    (void)state;
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

/* Columns are named by the line before the first row, or by the last comment before it that has as many words; a name that is
 * missing is the number of its column. */
static void the_last_line_before_the_rows_names_the_columns(void **state)
{
    static const struct {
        const char *text, *names[2];
    } cases[] = {
        {"# a, b\n# c, d\n1,2\n", {"c", "d"}},
        {"# a, b\nx,y\n1,2\n", {"x", "y"}},
        {"x,y\n# a, b\n1,2\n", {"x", "y"}},
        {"1,2\n# a, b\n3,4\n", {"column0", "column1"}},
        {"# a, b\n1,2\n# c, d\n", {"a", "b"}},
        {"# a, b\n# of three words\n1,2\n", {"column0", "column1"}},
        {"# a, b\n#\n1,2\n", {"column0", "column1"}},
        {",y\n1,2\n", {"column0", "y"}},
        {"x,\n1,2\n", {"x", "column1"}},
    };
    RelnCtx *ctx = context();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RelnCsv t = read_text(ctx, cases[i].text);

        assert_int_equal(t.n_columns, 2);
        assert_string_equal(t.names[0], cases[i].names[0]);
        assert_string_equal(t.names[1], cases[i].names[1]);
        assert_true(t.values[0] == 1 && t.values[t.n_rows] == 2);
        reln_csv_clear(&t);
    }
    reln_ctx_destroy(ctx);
}

static void infinity_and_nan_have_signs_and_capitals(void **state)
{
    RelnCtx *ctx = context();
    RelnCsv t = read_text(ctx, "+Inf -INF inf\nNaN -nan +1\n");

    (void)state;
    assert_true(t.values[0] == HUGE_VAL && t.values[2] == -HUGE_VAL && t.values[4] == HUGE_VAL);
    assert_true(isnan(t.values[1]) && isnan(t.values[3]) && t.values[5] == 1);
    reln_csv_clear(&t);
    reln_ctx_destroy(ctx);
}

static void a_row_has_at_most_so_many_columns(void **state)
{
    static char text[2 * RELN_CSV_MOST_COLUMNS + 4];
    RelnCtx *ctx = context();
    RelnCsv t;

    (void)state;
    for (int i = 0; i < RELN_CSV_MOST_COLUMNS; i++)
        memcpy(text + 2 * i, "1 ", 2);
    t = read_text(ctx, text);
    assert_int_equal(t.n_columns, RELN_CSV_MOST_COLUMNS);
    reln_csv_clear(&t);
    memcpy(text + 2 * RELN_CSV_MOST_COLUMNS, "1\n", 3);
    assert_int_equal(reln_csv_parse(ctx, text, strlen(text), "a.csv", &t), RELN_ERR_UNSUPPORTED);
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
        {"x,y\na,b\n1,2\n", "a.csv: line 2: 'a' in column 1 ('x'), wanted a number"},
        {"x,\xff\n1,2\n", "a.csv: the name of column 2 is not UTF-8"},
        {"1,nano\n", "a.csv: line 1: 'nano' in column 2 ('column1'), wanted a number"},
        {"1,in\n", "a.csv: line 1: 'in' in column 2 ('column1'), wanted a number"},
        {"1,2\n1,0x10\n", "a.csv: line 2: '0x10' in column 2 ('column1'), wanted a number"},
    };
    RelnCtx *ctx = context();
    RelnCsv t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(reln_csv_parse(ctx, bad[i].text, strlen(bad[i].text), "a.csv", &t),
                         RELN_ERR_FORMAT);
        assert_string_equal(reln_ctx_error(ctx), bad[i].message);
        reln_csv_clear(&t);
    }
    assert_int_equal(reln_csv_parse(ctx, "1\0 2", 4, "a.csv", &t), RELN_ERR_FORMAT);
    assert_string_equal(reln_ctx_error(ctx), "a.csv: not a text: it has a byte 0");
    reln_csv_clear(&t);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_from_a_header_and_units_are_left_out),
        cmocka_unit_test(the_last_line_before_the_rows_names_the_columns),
        cmocka_unit_test(infinity_and_nan_have_signs_and_capitals),
        cmocka_unit_test(a_row_has_at_most_so_many_columns),
        cmocka_unit_test(what_is_no_table_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
