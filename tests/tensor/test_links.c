/* Chains of links, those with loops of their own among them, give the numbers of their formulas, link by link, each rounded to the
 * type: in items of one row and of several, with operands that repeat one number along the row, and with gathered items, some of
 * which are missing. */
#include <string.h>

#include "support/support.h"
#include "tensor/kernels.h"

enum { ROOM = 1 << 13, MOST_COLUMNS = 53, ITEMS = 29, OPERANDS = 8, MISSING = 5 };

static double operands[OPERANDS][ROOM], result[ROOM];
static int32_t index_of[ITEMS];

/* A letter is the kind of a link, a for the first kind; a capital has an operand that repeats one number along the row. */
static const char *const chains[] = {
    "ab",        "abb",       "abbb", "ae",   "acE",     "abi",     "abbi",  "aebi",
    "abebi",     "aEbg",      "aje",  "aeb",  "aebb",    "aebln",   "aeln",  "aelnln",
    "aelnlnb",   "acheb",     "a",    "aE",   "aEb",     "aBi",     "aebgi", "ackeb",
    "afbdg",     "aemn",      "aELn", "aelN", "aehehln", "abbbbbb", "Aeb",   "aebebebe",
    "abelnhigk", "aelnmnlnb", "ac",   "af",   "aF",
};

static RelnLink link_at(const char *chain, int l, ptrdiff_t rows, ptrdiff_t columns, int gathered)
{
    const bool one = chain[l] < 'a';
    RelnLink s = {.kind = (RelnLinkKind)(chain[l] - (one ? 'A' : 'a')), .a = 2, .b = -0.75};

    switch (s.kind) {
    case RELN_LINK_SCALE:
    case RELN_LINK_RELU:
    case RELN_LINK_POSITIVE:
    case RELN_LINK_SQUARE:
        return s;
    default:
        break;
    }
    s.at = operands[l % OPERANDS];
    s.index = l == gathered ? index_of : NULL;
    s.item = rows * (one ? 1 : columns);
    s.row = one ? 1 : columns;
    s.column = one ? 0 : 1;
    return s;
}

static double number(const RelnRealKernels *k, const void *x, ptrdiff_t i)
{
    return k->size == sizeof(double) ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static double rounded(const RelnRealKernels *k, double x)
{
    return k->size == sizeof(double) ? x : (double)(float)x;
}

/* A Spot is a number of the result. */
typedef struct Spot {
    ptrdiff_t item, row, column;
} Spot;

static double operand(const RelnRealKernels *k, const RelnLink *s, const Spot *at)
{
    const ptrdiff_t item = s->index ? s->index[at->item] : at->item;

    return item < 0 ? 0
                    : number(k, s->at, item * s->item + at->row * s->row + at->column * s->column);
}

static double formula(const RelnRealKernels *k, int n, const RelnLink *links, const Spot *at)
{
    double z = 0;

    for (int l = 0; l < n; l++) {
        const RelnLink *s = &links[l];
        double y = s->at ? operand(k, s, at) : 0;

        if (s->kind == RELN_LINK_ADD_PRODUCT || s->kind == RELN_LINK_SUB_PRODUCT)
            y = rounded(k, y * operand(k, s + 1, at));
        switch (s->kind) {
        case RELN_LINK_LOAD:
            z = y;
            break;
        case RELN_LINK_ADD:
        case RELN_LINK_ADD_PRODUCT:
            z = z + y;
            break;
        case RELN_LINK_SUB:
        case RELN_LINK_SUB_PRODUCT:
            z = z - y;
            break;
        case RELN_LINK_FROM:
            z = y - z;
            break;
        case RELN_LINK_MUL:
            z = z * y;
            break;
        case RELN_LINK_DIV:
            z = z / y;
            break;
        case RELN_LINK_GATE:
            z = y > 0 ? z : 0 * z;
            break;
        case RELN_LINK_SCALE: /* by a power of two, so that one rounding is two */
            z = s->a * z + s->b;
            break;
        case RELN_LINK_RELU:
            z = z > 0 ? z : 0;
            break;
        case RELN_LINK_POSITIVE:
            z = z > 0;
            break;
        case RELN_LINK_SQUARE:
            z = z * z;
            break;
        case RELN_LINK_FACTOR:
            break;
        }
        z = rounded(k, z);
    }
    return z;
}

static bool same(double x, double y)
{
    return x == y || (x != x && y != y);
}

static void compare(const RelnRealKernels *k, const char *chain, ptrdiff_t rows, ptrdiff_t columns,
                    int gathered)
{
    const int n = (int)strlen(chain);
    const size_t bytes = (size_t)(ITEMS * rows * columns) * k->size;
    RelnLink links[RELN_LINKS];
    ptrdiff_t i = 0;

    for (int l = 0; l < n; l++)
        links[l] = link_at(chain, l, rows, columns, gathered);
    memcpy(result, operands[0], sizeof result);
    k->links(ITEMS, rows, columns, n, links, result);
    for (Spot at = {0, 0, 0}; at.item < ITEMS; at.item++)
        for (at.row = 0; at.row < rows; at.row++)
            for (at.column = 0; at.column < columns; at.column++, i++)
                if (!same(number(k, result, i), formula(k, n, links, &at)))
                    fail_msg("%s, %d rows of %d columns, link %d gathered: item %d, row %d, column "
                             "%d is %.17g, wanted %.17g",
                             chain, (int)rows, (int)columns, gathered, (int)at.item, (int)at.row,
                             (int)at.column, number(k, result, i), formula(k, n, links, &at));
    assert_memory_equal((const char *)result + bytes, (const char *)operands[0] + bytes,
                        sizeof result - bytes);
}

static void fill(const RelnRealKernels *k, RelnRng *rng)
{
    static double values[ROOM];

    for (int i = 0; i < OPERANDS; i++) {
        fill_normal(rng, ROOM, values);
        values[i] = 0;
        k->from_f64(ROOM, values, operands[i]);
    }
}

static void chains_are_their_formulas(void **state)
{
    RelnRng rng = reln_rng(1, 0);

    (void)state;
    for (int tier = 0; tier < 3 && reln_kernels_tier(tier); tier++)
        for (int is_double = 0; is_double < 2; is_double++) {
            const RelnKernels *table = reln_kernels_tier(tier);
            const RelnRealKernels *k = is_double ? table->f64 : table->f32;

            fill(k, &rng);
            for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
                for (ptrdiff_t columns = 1; columns <= MOST_COLUMNS; columns++)
                    for (int gathered = -1; gathered < 2; gathered++) {
                        compare(k, chains[i], 1, columns, gathered);
                        compare(k, chains[i], 3, columns, gathered);
                    }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_are_their_formulas)};

    for (int i = 0; i < ITEMS; i++)
        index_of[i] = i % MISSING == 3 ? -1 : i * 7 % 11;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
