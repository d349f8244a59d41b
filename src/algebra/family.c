/* family.c -- the table of families, and the parser of names. */
#include "algebra/family.h"

#include <stdio.h>
#include <string.h>

#include "reln/algebra.h"

static const RelnFamily *const families[] = {
    &reln_family_gl, &reln_family_sl, &reln_family_so,
    &reln_family_sp, &reln_family_u,  &reln_family_su,
};
enum { N_FAMILIES = sizeof families / sizeof families[0] };

const RelnFamily *reln_family_at(int i)
{
    return i >= 0 && i < N_FAMILIES ? families[i] : NULL;
}

const RelnFamily *reln_family_find(const char *letters)
{
    for (int i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i]->name, letters) == 0)
            return families[i];
    return NULL;
}

void reln_family_list(char *text, size_t n_bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < N_FAMILIES && used < n_bytes; i++)
        used += (size_t)snprintf(text + used, n_bytes - used, "%s%s", i ? ", " : "",
                                 families[i]->forms);
}

void reln_term_text(const RelnTerm *term, char *text, size_t n_bytes)
{
    if (term->n_sizes == 0)
        snprintf(text, n_bytes, "%s", term->family);
    else if (term->n_sizes == 1)
        snprintf(text, n_bytes, "%s:%d", term->family, term->size[0]);
    else
        snprintf(text, n_bytes, "%s:%d,%d", term->family, term->size[0], term->size[1]);
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

/* The grammar: name = term { "+" term }, term = letters [ ":" number [ "," number ] ]. */
static RelnStatus bad_name(RelnCtx *ctx, const char *name, const char *at, const char *what)
{
    return reln_fail(ctx, RELN_ERR_ARG,
                     "\"%.80s\": %s at character %td, wanted a name like gl:3, so:1,3 or gl:2+so:3",
                     name, what, at - name + 1);
}

static const char *read_letters(const char *p, char *letters, size_t n_bytes)
{
    size_t length = 0;

    while (*p >= 'a' && *p <= 'z' && length + 1 < n_bytes)
        letters[length++] = *p++;
    letters[length] = '\0';
    return p;
}

/* Reads a number; a number above 9999 is read as 9999, which is larger than every limit. */
static const char *read_number(const char *p, int *number)
{
    *number = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        *number = *number * 10 + (*p - '0');
        *number = *number > 9999 ? 9999 : *number;
    }
    return p;
}

static RelnStatus read_term(RelnCtx *ctx, const char *name, const char **at, RelnTerm *term)
{
    const char *p = read_letters(*at, term->family, sizeof term->family);

    term->n_sizes = 0;
    term->size[0] = term->size[1] = 0;
    if (p == *at)
        return bad_name(ctx, name, p, "no family");
    if (*p == ':')
        do {
            const char *const digits = p + 1;
            p = read_number(digits, &term->size[term->n_sizes++]);
            if (p == digits)
                return bad_name(ctx, name, p, "no number");
        } while (*p == ',' && term->n_sizes < 2);
    *at = p;
    return RELN_OK;
}

RelnStatus reln_name_parse(RelnCtx *ctx, const char *name, RelnTerm *terms, int max, int *count)
{
    const char *p = name;

    *count = 0;
    if (!name)
        return reln_fail(ctx, RELN_ERR_ARG, "no name, wanted one like gl:3, so:1,3 or gl:2+so:3");
    for (;;) {
        if (*count == max)
            return bad_name(ctx, name, p, "too many terms");
        RELN_TRY(read_term(ctx, name, &p, &terms[*count]));
        ++*count;
        if (*p == '\0')
            return RELN_OK;
        if (*p != '+')
            return bad_name(ctx, name, p, "unexpected text");
        p++;
    }
}

RelnStatus reln_family_of(RelnCtx *ctx, const char *name, const RelnTerm *term,
                          const RelnFamily **out)
{
    const RelnFamily *family = reln_family_find(term->family);
    char text[48], known[128];

    reln_term_text(term, text, sizeof text);
    reln_family_list(known, sizeof known);
    if (!family)
        return reln_fail(ctx, RELN_ERR_ARG, "\"%.80s\": no family is called %s, wanted one of %s",
                         name, term->family, known);
    if (!family->admits(term))
        return reln_fail(ctx, RELN_ERR_ARG,
                         "\"%.80s\": %s is not a size of this family, wanted %s with %s", name, text,
                         family->forms, family->wanted);
    if (family->n(term) > RELN_ALGEBRA_MAX_N || family->dim(term) > RELN_ALGEBRA_MAX_DIM)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "\"%.80s\": %s has matrices of size %d and dimension %d, at most %d and "
                         "%d are possible",
                         name, text, family->n(term), family->dim(term), RELN_ALGEBRA_MAX_N,
                         RELN_ALGEBRA_MAX_DIM);
    *out = family;
    return RELN_OK;
}

/* ---- joining blocks --------------------------------------------------------------------------------------- */

void reln_block_put(int n, const double *x, int at, int n_sum, double *sum)
{
    for (int i = 0; i < n; i++)
        memcpy(sum + (ptrdiff_t)(at + i) * n_sum + at, x + (ptrdiff_t)i * n, (size_t)n * sizeof *x);
}

/* Finds the families of the terms, and the size and dimension of the sum; the sum must respect the limits of
 * one algebra. */
static RelnStatus measure(RelnCtx *ctx, const char *name, int count, const RelnTerm *terms,
                          const RelnFamily **of, RelnNamedBasis *out)
{
    out->n = out->dim = 0;
    for (int t = 0; t < count; t++) {
        RELN_TRY(reln_family_of(ctx, name, &terms[t], &of[t]));
        out->n += of[t]->n(&terms[t]);
        out->dim += of[t]->dim(&terms[t]);
    }
    if (out->n > RELN_ALGEBRA_MAX_N || out->dim > RELN_ALGEBRA_MAX_DIM)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "\"%.80s\" has matrices of size %d and dimension %d, at most %d and %d "
                         "are possible",
                         name, out->n, out->dim, RELN_ALGEBRA_MAX_N, RELN_ALGEBRA_MAX_DIM);
    return RELN_OK;
}

static RelnStatus put_term(RelnArena *arena, const RelnFamily *family, const RelnTerm *term, int at,
                           int n_sum, double *sum)
{
    const int n = family->n(term), dim = family->dim(term);
    double *block = reln_arena_alloc(arena, (size_t)dim * (size_t)n * (size_t)n, sizeof *block);

    if (!block)
        return RELN_ERR_NOMEM;
    family->basis(term, block);
    for (ptrdiff_t k = 0; k < dim; k++)
        reln_block_put(n, block + k * n * n, at, n_sum, sum + k * n_sum * n_sum);
    return RELN_OK;
}

RelnStatus reln_family_basis(RelnArena *arena, const char *name, RelnNamedBasis *out)
{
    RelnTerm terms[RELN_MAX_TERMS];
    const RelnFamily *of[RELN_MAX_TERMS];
    int count = 0, at = 0;
    double *next;

    RELN_TRY(reln_name_parse(arena->ctx, name, terms, RELN_MAX_TERMS, &count));
    RELN_TRY(measure(arena->ctx, name, count, terms, of, out));
    out->basis = reln_arena_alloc(arena, (size_t)out->dim * (size_t)out->n * (size_t)out->n,
                                  sizeof *out->basis);
    if (!out->basis)
        return RELN_ERR_NOMEM;
    next = out->basis;
    for (int t = 0; t < count; t++) {
        RELN_TRY(put_term(arena, of[t], &terms[t], at, out->n, next));
        at += of[t]->n(&terms[t]);
        next += (ptrdiff_t)of[t]->dim(&terms[t]) * out->n * out->n;
    }
    return RELN_OK;
}
