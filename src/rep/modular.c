/* modular.c -- the common kernel of sparse operators over the field of 2^61 - 1 elements.
 *
 * The operators are applied one after another, each restricted to the kernel so far. If the first ones are a torus, they
 * divide the space into small parts, so the elimination stays sparse: gl(5) x gl(5) -> gl(5) has 15,625 unknowns, of which
 * no more than a few hundred are ever coupled.
 */
#include "rep/modular.h"

#include <stdlib.h>
#include <string.h>

/* Numerators and denominators up to this are reconstructed: 2 (2^29)^2 < 2^61 - 1, so there is at most one
 * fraction. */
#define HEIGHT ((int64_t)1 << 29)

/* ---- numbers ---------------------------------------------------------------------------------------------- */

uint64_t reln_mod_inverse(uint64_t a)
{
    uint64_t result = 1, power = a;

    for (uint64_t e = RELN_PRIME - 2; e > 0; e >>= 1) {
        if (e & 1)
            result = reln_mod_mul(result, power);
        power = reln_mod_mul(power, power);
    }
    return result;
}

static uint64_t residue(int64_t x)
{
    return x < 0 ? reln_mod_negate(reln_mod_reduce((uint64_t)-x)) : reln_mod_reduce((uint64_t)x);
}

uint64_t reln_mod_fraction(int64_t num, int64_t den)
{
    return den == 1 ? residue(num) : reln_mod_mul(residue(num), reln_mod_inverse(residue(den)));
}

/* Euclid's algorithm on (p, x), stopped half-way: every remainder r satisfies r = t x for its cofactor t. */
bool reln_mod_reconstruct(uint64_t x, int64_t *num, int64_t *den)
{
    int64_t r0 = (int64_t)RELN_PRIME, r1 = (int64_t)x, t0 = 0, t1 = 1;

    while (r1 > HEIGHT) {
        const int64_t q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;

        r0 = r1;
        r1 = r;
        t0 = t1;
        t1 = t;
    }
    *num = t1 < 0 ? -r1 : r1;
    *den = t1 < 0 ? -t1 : t1;
    return *den <= HEIGHT;
}

/* ---- sums ------------------------------------------------------------------------------------------------- */

/* A ModSum is a dense vector with a bit for every position that may be non-zero, so that reading it in order
 * costs no more than writing did. */
struct ModSum {
    uint64_t *value;
    uint64_t *bits;
    int low, high; /* range of words of bits in use: low <= word < high */
};

static RelnStatus make_sum(RelnArena *arena, int length, ModSum *s)
{
    const size_t words = (size_t)length / 64 + 1;

    s->value = reln_arena_alloc(arena, (size_t)length, sizeof *s->value);
    s->bits = reln_arena_alloc(arena, words, sizeof *s->bits);
    s->low = (int)words;
    s->high = 0;
    return s->value && s->bits ? RELN_OK : RELN_ERR_NOMEM;
}

void reln_mod_put(ModSum *s, int at, uint64_t value)
{
    const int word = at / 64;

    s->value[at] = reln_mod_add(s->value[at], value);
    s->bits[word] |= (uint64_t)1 << (at % 64);
    s->low = word < s->low ? word : s->low;
    s->high = word >= s->high ? word + 1 : s->high;
}

/* Returns the first position >= from whose bit is set; -1 if there is none. */
static int next_at(const ModSum *s, int from)
{
    int word = from / 64 > s->low ? from / 64 : s->low;
    uint64_t bits;

    if (word >= s->high)
        return -1;
    bits = s->bits[word];
    if (word == from / 64)
        bits &= ~(uint64_t)0 << (from % 64);
    while (!bits) {
        if (++word >= s->high)
            return -1;
        bits = s->bits[word];
    }
    return word * 64 + __builtin_ctzll(bits);
}

static void add_vector(ModSum *s, const ModVector *v, uint64_t f)
{
    for (int e = 0; e < v->count; e++)
        reln_mod_put(s, v->at[e], reln_mod_mul(f, v->value[e]));
}

static void clear_sum(ModSum *s, int length)
{
    for (int at = next_at(s, 0); at >= 0; at = next_at(s, at + 1))
        s->value[at] = 0;
    for (int word = s->low; word < s->high; word++)
        s->bits[word] = 0;
    s->low = length / 64 + 1;
    s->high = 0;
}

/* Copies the sum times f to a vector in the arena. */
static RelnStatus take_vector(RelnArena *arena, const ModSum *s, uint64_t f, ModVector *out)
{
    int count = 0;

    for (int at = next_at(s, 0); at >= 0; at = next_at(s, at + 1))
        count += s->value[at] != 0;
    out->count = 0;
    out->at = reln_arena_alloc(arena, (size_t)count, sizeof *out->at);
    out->value = reln_arena_alloc(arena, (size_t)count, sizeof *out->value);
    if (!out->at || !out->value)
        return RELN_ERR_NOMEM;
    for (int at = next_at(s, 0); at >= 0; at = next_at(s, at + 1))
        if (s->value[at] != 0) {
            out->at[out->count] = at;
            out->value[out->count++] = reln_mod_mul(f, s->value[at]);
        }
    return RELN_OK;
}

/* ---- elimination ------------------------------------------------------------------------------------------ */

/* A vector x and its image y under the operator; the image begins with a 1 at its pivot. */
typedef struct Pivot {
    ModVector x, y;
} Pivot;

typedef struct Work {
    const ModProblem *p;
    RelnArena *room
        [2]; /* the vectors of one round live in one of the two, those of the next round in the other */
    ModSum x, y;
    int *pivot_at; /* (length): index of the pivot row that begins there, or -1 */
    int count;
    ModVector *rows; /* basis of the kernel so far */
    double spent;
} Work;

/* Subtracts multiples of the pivot rows from (x, y) until y is zero or begins at a position without a pivot
 * row. Returns the position where y begins, -1 when it is zero. */
static int reduce(Work *w, const Pivot *pivots)
{
    for (int at = next_at(&w->y, 0); at >= 0; at = next_at(&w->y, at + 1)) {
        const uint64_t lead = w->y.value[at];
        const Pivot *pivot;

        if (lead == 0)
            continue;
        if (w->pivot_at[at] < 0)
            return at;
        pivot = &pivots[w->pivot_at[at]];
        add_vector(&w->y, &pivot->y, reln_mod_negate(lead));
        add_vector(&w->x, &pivot->x, reln_mod_negate(lead));
        w->spent += pivot->y.count + pivot->x.count;
    }
    return -1;
}

static void apply_to(Work *w, int generator, const ModVector *v)
{
    for (int e = 0; e < v->count; e++)
        w->p->apply(w->p->self, generator, v->at[e], v->value[e], &w->y);
    w->spent += 8.0 * v->count;
}

static bool out_of_budget(const Work *w)
{
    return w->spent > w->p->budget;
}

/* Processes one row: it becomes a new pivot row, or its combination with earlier ones lies in the kernel. */
static RelnStatus visit(Work *w, RelnArena *scratch, RelnArena *next, int generator,
                        const ModVector *row, Pivot *pivots, int *n_pivots, ModVector *kept,
                        int *n_kept)
{
    RelnStatus status;
    int at;

    add_vector(&w->x, row, 1);
    apply_to(w, generator, row);
    at = reduce(w, pivots);
    if (at < 0) {
        status = take_vector(next, &w->x, 1, &kept[(*n_kept)++]);
    } else {
        const uint64_t f = reln_mod_inverse(w->y.value[at]);
        Pivot *pivot = &pivots[*n_pivots];

        w->pivot_at[at] = (*n_pivots)++;
        status = take_vector(scratch, &w->x, f, &pivot->x);
        if (status == RELN_OK)
            status = take_vector(scratch, &w->y, f, &pivot->y);
    }
    clear_sum(&w->x, w->p->length);
    clear_sum(&w->y, w->p->length);
    return status;
}

/* Restricts the kernel so far to the vectors that an operator maps to zero. */
static RelnStatus restrict_to(Work *w, RelnArena *scratch, RelnArena *next, int generator)
{
    Pivot *pivots = reln_arena_alloc(scratch, (size_t)w->count, sizeof *pivots);
    ModVector *kept = reln_arena_alloc(next, (size_t)w->count, sizeof *kept);
    int n_pivots = 0, n_kept = 0;

    if (!pivots || !kept)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < w->p->length; i++)
        w->pivot_at[i] = -1;
    for (int t = 0; t < w->count && !out_of_budget(w); t++)
        RELN_TRY(visit(w, scratch, next, generator, &w->rows[t], pivots, &n_pivots, kept, &n_kept));
    w->rows = kept;
    w->count = n_kept;
    return RELN_OK;
}

/* Begins with all unit vectors. */
static RelnStatus begin(Work *w, RelnArena *arena)
{
    const size_t n = (size_t)w->p->length;
    int *at = reln_arena_alloc(arena, n, sizeof *at);
    uint64_t *one = reln_arena_alloc(arena, 1, sizeof *one);

    w->rows = reln_arena_alloc(arena, n, sizeof *w->rows);
    if (!at || !one || !w->rows)
        return RELN_ERR_NOMEM;
    *one = 1;
    w->count = w->p->length;
    for (int i = 0; i < w->count; i++) {
        at[i] = i;
        w->rows[i] = (ModVector){1, &at[i], one};
    }
    return RELN_OK;
}

static int by_lead(const void *x, const void *y)
{
    const int a = ((const ModVector *)x)->at[0], b = ((const ModVector *)y)->at[0];

    return (a > b) - (a < b);
}

/* Brings the rows, which are independent, to leading ones at different positions. */
static RelnStatus triangular(Work *w, RelnArena *scratch, Pivot *pivots)
{
    for (int i = 0; i < w->p->length; i++)
        w->pivot_at[i] = -1;
    for (int t = 0; t < w->count && !out_of_budget(w); t++) {
        uint64_t f;
        int at;

        add_vector(&w->y, &w->rows[t], 1);
        at = reduce(w, pivots);
        if (at < 0)
            return reln_fail(scratch->ctx, RELN_ERR_NUMERIC, "dependent rows of a kernel");
        f = reln_mod_inverse(w->y.value[at]);
        w->pivot_at[at] = t;
        RELN_TRY(take_vector(scratch, &w->y, f, &pivots[t].y));
        clear_sum(&w->y, w->p->length);
    }
    return RELN_OK;
}

/* Clears the columns of later pivots in each row; rows are sorted by pivot and processed from the last. */
static RelnStatus back_substitute(Work *w, RelnArena *arena, ModVector *rows)
{
    for (int t = w->count - 1; t >= 0; t--) {
        const int lead = rows[t].at[0];

        add_vector(&w->y, &rows[t], 1);
        for (int at = next_at(&w->y, lead + 1); at >= 0; at = next_at(&w->y, at + 1)) {
            const int row = w->pivot_at[at];
            const uint64_t f = w->y.value[at];

            if (row < 0 || f == 0)
                continue;
            add_vector(&w->y, &rows[row], reln_mod_negate(f));
            w->spent += rows[row].count;
        }
        RELN_TRY(take_vector(arena, &w->y, 1, &rows[t]));
        clear_sum(&w->y, w->p->length);
    }
    return RELN_OK;
}

static RelnStatus echelon(Work *w, RelnArena *scratch, RelnArena *arena, ModVector **out)
{
    Pivot *pivots = reln_arena_alloc(scratch, (size_t)w->count, sizeof *pivots);
    ModVector *rows = reln_arena_alloc(arena, (size_t)w->count, sizeof *rows);

    if (!pivots || !rows)
        return RELN_ERR_NOMEM;
    RELN_TRY(triangular(w, scratch, pivots));
    if (out_of_budget(w))
        return RELN_OK;
    for (int t = 0; t < w->count; t++)
        rows[t] = pivots[t].y;
    if (w->count > 0)
        qsort(rows, (size_t)w->count, sizeof *rows, by_lead);
    for (int t = 0; t < w->count; t++)
        w->pivot_at[rows[t].at[0]] = t;
    *out = rows;
    return back_substitute(w, arena, rows);
}

static RelnStatus restrict_all(Work *w, RelnArena *arena, RelnArena *scratch)
{
    RELN_TRY(make_sum(arena, w->p->length, &w->x));
    RELN_TRY(make_sum(arena, w->p->length, &w->y));
    w->pivot_at = reln_arena_alloc(arena, (size_t)w->p->length, sizeof *w->pivot_at);
    if (!w->pivot_at)
        return RELN_ERR_NOMEM;
    RELN_TRY(begin(w, w->room[0]));
    for (int g = 0; g < w->p->n_generators && w->count > 0 && !out_of_budget(w); g++) {
        RelnArena *next = w->room[(g + 1) % 2];
        const RelnStatus status = restrict_to(w, scratch, next, g);

        reln_arena_clear(w->room[g % 2]);
        reln_arena_clear(scratch);
        RELN_TRY(status);
    }
    return RELN_OK;
}

RelnStatus reln_mod_kernel(RelnArena *arena, const ModProblem *problem, int *count,
                           ModVector **rows, bool *done)
{
    RelnArena room[3];
    Work w = {.p = problem, .room = {&room[0], &room[1]}};
    RelnStatus status;

    *rows = NULL;
    for (int i = 0; i < 3; i++)
        reln_arena_init(&room[i], arena->ctx);
    status = restrict_all(&w, arena, &room[2]);
    if (status == RELN_OK && !out_of_budget(&w))
        status = echelon(&w, &room[2], arena, rows);
    *count = w.count;
    *done = !out_of_budget(&w);
    for (int i = 0; i < 3; i++)
        reln_arena_clear(&room[i]);
    return status;
}
