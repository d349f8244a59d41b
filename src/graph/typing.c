/* typing.c -- infers shapes by broadcasting, and checks constants against the generators. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "graph/graph.h"
#include "rep/settle.h"

bool reln_broadcast(RelnGraph *g, const RelnNode *z, int axes, RelnShape *out)
{
    *out = z->in[0]->shape;
    for (int i = 1; i < z->n_in; i++) {
        const RelnShape *next = &z->in[i]->shape;

        for (int a = 0; a < RELN_AXES; a++)
            if ((axes >> a & 1) && out->dims[a] != next->dims[a] && out->dims[a] != 1 &&
                next->dims[a] != 1)
                return reln_graph_fail(
                    g, RELN_ERR_SHAPE, "%s: %s and %s do not broadcast on axis %c", z->op->name,
                    reln_shape_text(z->in[0]), reln_shape_text(z->in[i]), "PQRKC"[a]);
        *out = reln_shape_join(out, next);
    }
    return true;
}

const RelnRep *reln_invariant(RelnGraph *g, int k)
{
    const RelnRep *rep = reln_rep_trivial(g->group, k);

    if (!rep)
        reln_graph_nomem(g);
    return rep;
}

const RelnRep *reln_dual(RelnGraph *g, const RelnRep *rep)
{
    const RelnRep *dual = reln_rep_dual(rep);

    if (!dual)
        reln_graph_nomem(g);
    return dual;
}

bool reln_is_invariant(const RelnNode *x)
{
    return x->rep && reln_rep_is_trivial(x->rep);
}

bool reln_want_invariant(RelnGraph *g, const RelnNode *z, const RelnNode *x)
{
    if (reln_is_invariant(x))
        return true;
    return reln_graph_fail(
        g, RELN_ERR_REP,
        "%s: its argument transforms as %s under %s, and this is equivariant for invariants only; "
        "take a form or norm of it first, or gate it with one",
        z->op->name, x->rep ? reln_rep_name(x->rep) : "indices", reln_group_name(g->group));
}

bool reln_want_float(RelnGraph *g, const RelnNode *z)
{
    for (int i = 0; i < z->n_in; i++)
        if (z->in[i]->dtype == RELN_I32)
            return reln_graph_fail(g, RELN_ERR_ARG, "%s: input %d holds indices, wanted numbers",
                                   z->op->name, i);
    return true;
}

bool reln_want_finite(RelnGraph *g, const RelnNode *z, double value)
{
    if (isfinite(value) && (z->dtype != RELN_F32 || fabs(value) <= (double)FLT_MAX))
        return true;
    return reln_graph_fail(g, RELN_ERR_NUMERIC, "%s: a constant of %g, wanted finite numbers%s",
                           z->op->name, value, isfinite(value) ? " of f32" : "");
}

bool reln_want_returning(RelnGraph *g, const char *op, const char *name, const RelnNode *x)
{
    if (reln_is_invariant(x))
        return true;
    return reln_graph_fail(
        g, RELN_ERR_REP,
        "%s: %s would become a value that transforms as %s under %s; what comes back in the "
        "next run is taken for invariants, so it must be invariant",
        op, name, x->rep ? reln_rep_name(x->rep) : "indices", reln_group_name(g->group));
}

bool reln_want_axis(RelnGraph *g, const RelnNode *z, RelnAxis axis)
{
    return (axis >= RELN_P && axis <= RELN_C) ||
           reln_graph_fail(g, RELN_ERR_ARG, "%s: axis %d, wanted RELN_P to RELN_C (0 to %d)",
                           z->op->name, (int)axis, RELN_C);
}

/* ---- constant tensors ----------------------------------------------------------------------------------------- */

static bool tensor_equal(const RelnTensor3 *a, const RelnTensor3 *b)
{
    if (a->i != b->i || a->j != b->j || a->k != b->k || a->count != b->count)
        return false;
    for (int e = 0; e < a->count; e++) {
        const RelnEntry *x = &a->entries[e], *y = &b->entries[e];

        if (x->i != y->i || x->j != y->j || x->k != y->k || x->value != y->value)
            return false;
    }
    return true;
}

/* Compares entries by (k, i, j). */
static int by_place(const void *a, const void *b)
{
    const RelnEntry *x = a, *y = b;

    return x->k != y->k ? x->k - y->k : x->i != y->i ? x->i - y->i : x->j - y->j;
}

static const RelnTensor3 *intern(RelnGraph *g, const RelnTensor3 *t)
{
    RelnTensor3 *copy;

    g = reln_graph_home(g);
    for (int i = 0; i < g->tensors.count; i++)
        if (tensor_equal(g->tensors.items[i], t))
            return g->tensors.items[i];
    copy = reln_arena_copy(&g->arena, t, 1, sizeof *t);
    if (copy)
        copy->entries =
            reln_arena_copy(&g->arena, t->entries, (size_t)t->count, sizeof *t->entries);
    if (!copy || !copy->entries) {
        reln_graph_nomem(g);
        return NULL;
    }
    return RELN_GRAPH_ADD(g, &g->tensors, copy) ? copy : NULL;
}

static const RelnTensor3 *permuted(RelnGraph *g, const RelnTensor3 *t, const char *turn)
{
    RelnEntry *entries;
    RelnTensor3 out;
    const int extent[3] = {t->i, t->j, t->k};

    if (g->status != RELN_OK)
        return NULL;
    entries = reln_graph_alloc(g, (size_t)t->count, sizeof *entries);
    if (!entries)
        return NULL;
    for (int e = 0; e < t->count; e++) {
        const RelnEntry *x = &t->entries[e];
        const int index[3] = {x->i, x->j, x->k};

        entries[e] =
            (RelnEntry){index[turn[0] - 'i'], index[turn[1] - 'i'], index[turn[2] - 'i'], x->value};
    }
    reln_sort(entries, (size_t)t->count, sizeof *entries, by_place);
    out = (RelnTensor3){extent[turn[0] - 'i'], extent[turn[1] - 'i'], extent[turn[2] - 'i'],
                        t->count, entries};
    return intern(g, &out);
}

const RelnTensor3 *reln_graph_tensor(RelnGraph *g, const RelnTensor3 *t)
{
    return permuted(g, t, "ijk");
}

const RelnTensor3 *reln_tensor3_turn(RelnGraph *g, const RelnTensor3 *t, const char *turn)
{
    return t ? permuted(g, t, turn) : NULL;
}

/* ---- checks --------------------------------------------------------------------------------------------------- */

static bool already_checked(const RelnGraph *g, const RelnChecked *c)
{
    for (int i = 0; i < g->checked.count; i++) {
        const RelnChecked *k = &g->checked.items[i];

        if (k->t == c->t && k->u == c->u && k->v == c->v && k->w == c->w)
            return true;
    }
    return false;
}

static bool refuse_constant(RelnGraph *g, const char *op, const RelnTensor3 *t, const RelnRep *u,
                            const RelnRep *v, const RelnRep *w, const RelnVerdict *verdict)
{
    if (t->j == 1 && reln_rep_is_trivial(v))
        return reln_graph_fail(
            g, RELN_ERR_REP, "%s: the matrix from %s to %s is not equivariant under %s: %s", op,
            reln_rep_name(u), reln_rep_name(w), reln_group_name(g->group), verdict->text);
    return reln_graph_fail(g, RELN_ERR_REP,
                           "%s: the constant from %s and %s to %s is not equivariant under %s: %s",
                           op, reln_rep_name(u), reln_rep_name(v), reln_rep_name(w),
                           reln_group_name(g->group), verdict->text);
}

bool reln_want_bilinear(RelnGraph *g, const char *op, const RelnTensor3 *t, const RelnRep *u,
                        const RelnRep *v, const RelnRep *w)
{
    const RelnChecked check = {.t = t, .u = u, .v = v, .w = w};
    RelnVerdict verdict;
    RelnStatus status;

    if (!t || !u || !v || !w)
        return reln_graph_nomem(g);
    if (already_checked(reln_graph_home(g), &check))
        return true;
    status = reln_check_bilinear(u, v, w, t, &verdict);
    if (status != RELN_OK)
        return reln_graph_fail(g, status, "%s: %s", op, reln_ctx_error(g->ctx));
    if (!verdict.equivariant)
        return refuse_constant(g, op, t, u, v, w, &verdict);
    g = reln_graph_home(g);
    return RELN_GRAPH_ADD(g, &g->checked, check);
}

static bool settles(const RelnGraph *g, const RelnTensor3 *t, const RelnRep *u, const RelnRep *v,
                    const RelnRep *w)
{
    return g->status == RELN_OK && t && u && v && w && t->i == reln_rep_dim(u) &&
           t->j == reln_rep_dim(v) && t->k == reln_rep_dim(w) &&
           reln_rep_group(u) == reln_rep_group(w) && reln_rep_group(v) == reln_rep_group(w);
}

/* Stores the settled form of an interned tensor, with its numerators in the order of the tensor's entries. */
static const RelnSettled *keep_settled(RelnGraph *g, const RelnTensor3 *t, RelnSettled settled)
{
    RelnEntry *order = reln_graph_alloc(g, (size_t)t->count, sizeof *order);
    int64_t *num = reln_graph_alloc(g, (size_t)t->count, sizeof *num);
    const RelnSettled *kept;

    if (!order || !num)
        return NULL;
    for (int e = 0; e < t->count; e++) {
        order[e] = settled.entries[e];
        order[e].value = e;
    }
    reln_sort(order, (size_t)t->count, sizeof *order, by_place);
    for (int e = 0; e < t->count && settled.numerators; e++)
        num[e] = settled.numerators[(int)order[e].value];
    settled.numerators = settled.numerators ? num : NULL;
    settled.entries = t->entries;
    kept = reln_arena_copy(&g->arena, &settled, 1, sizeof settled);
    if (!kept)
        reln_graph_nomem(g);
    return kept;
}

/* Returns the tensor to which an equal constant was settled earlier; NULL when there is none. */
static const RelnTensor3 *settled_before(const RelnGraph *g, const RelnChecked *c)
{
    for (int i = 0; i < g->checked.count; i++) {
        const RelnChecked *k = &g->checked.items[i];

        if (k->given == c->given && k->u == c->u && k->v == c->v && k->w == c->w)
            return k->t;
    }
    return NULL;
}

const RelnTensor3 *reln_graph_settled(RelnGraph *g, const char *op, const RelnTensor3 *t,
                                      const RelnRep *u, const RelnRep *v, const RelnRep *w)
{
    RelnChecked check = {.t = reln_graph_tensor(g, t), .u = u, .v = v, .w = w};
    const bool linear = settles(g, t, u, v, w) && t->j == 1 && reln_rep_is_trivial(v);
    RelnTensor3 stored;
    RelnSettled settled;
    RelnVerdict verdict;
    RelnStatus status;

    if (!settles(g, check.t, u, v, w) || already_checked(reln_graph_home(g), &check))
        return check.t;
    check.given = check.t;
    if (settled_before(reln_graph_home(g), &check))
        return settled_before(reln_graph_home(g), &check);
    status =
        reln_settle(&g->arena, u, linear ? NULL : v, w, t->count, t->entries, &settled, &verdict);
    if (status != RELN_OK) {
        reln_graph_fail(g, status, "%s: %s", op, reln_ctx_error(g->ctx));
        return NULL;
    }
    if (!verdict.equivariant) {
        refuse_constant(g, op, check.t, u, v, w, &verdict);
        return NULL;
    }
    stored = (RelnTensor3){t->i, t->j, t->k, settled.count, settled.entries};
    check.t = settled.entries == t->entries ? check.t : reln_graph_tensor(g, &stored);
    g = reln_graph_home(g);
    check.settled = check.t ? keep_settled(g, check.t, settled) : NULL;
    return check.t && check.settled && RELN_GRAPH_ADD(g, &g->checked, check) ? check.t : NULL;
}

/* ---- loops ---------------------------------------------------------------------------------------------------- */

void reln_strides(const RelnShape *shape, const RelnShape *x, bool once, ptrdiff_t *stride)
{
    ptrdiff_t step = 1;

    for (int a = RELN_AXES - 1; a >= 0; a--) {
        stride[a + 1] = x->dims[a] == 1 && shape->dims[a] != 1 ? 0 : step;
        step *= x->dims[a];
    }
    stride[0] = once ? 0 : step;
}

void reln_loops(const RelnNode *z, int n_in, RelnLoops *out)
{
    ptrdiff_t stride[RELN_LOOP_IN][RELN_LOOP_MAX];

    for (int i = 0; i < n_in; i++)
        reln_strides(&z->shape, &z->in[i]->shape, reln_is_once(z->in[i], z), stride[i]);
    reln_loops_of(&z->shape, n_in, stride, out);
}

/* Returns whether axis a can be merged with the last loop: each operand's stride along a must equal the
 * stride times the extent of that loop. */
static bool goes_on(int n_in, ptrdiff_t (*stride)[RELN_LOOP_MAX], int a, int last, ptrdiff_t extent,
                    ptrdiff_t (*merged)[RELN_LOOP_MAX])
{
    for (int i = 0; i < n_in; i++)
        if (stride[i][a] != merged[i][last] * extent)
            return false;
    return true;
}

static void turn_around(int rank, ptrdiff_t *x)
{
    for (int r = 0, q = rank - 1; r < q; r++, q--) {
        const ptrdiff_t kept = x[r];

        x[r] = x[q];
        x[q] = kept;
    }
}

/* Merges axes from the innermost outwards, each with the loop inside it if the strides allow; then reverses
 * the loops so that the innermost comes last. The axis of items stays a separate loop, since the number of
 * items is known only when a plan runs. */
int reln_merge_axes(const RelnShape *shape, int n_in, ptrdiff_t (*stride)[RELN_LOOP_MAX],
                    ptrdiff_t extent[RELN_LOOP_MAX], ptrdiff_t (*merged)[RELN_LOOP_MAX])
{
    int rank = 0;

    for (int a = RELN_LOOP_MAX - 1; a >= 0; a--) {
        const ptrdiff_t n = a == 0 ? 1 : shape->dims[a - 1];

        if (a > 0 && n == 1)
            continue;
        if (a > 0 && rank > 0 && goes_on(n_in, stride, a, rank - 1, extent[rank - 1], merged)) {
            extent[rank - 1] *= n;
            continue;
        }
        extent[rank] = n;
        for (int i = 0; i < n_in; i++)
            merged[i][rank] = stride[i][a];
        rank++;
    }
    turn_around(rank, extent);
    for (int i = 0; i < n_in; i++)
        turn_around(rank, merged[i]);
    return rank;
}

void reln_loops_of(const RelnShape *shape, int n_in, ptrdiff_t (*stride)[RELN_LOOP_MAX],
                   RelnLoops *out)
{
    memset(out, 0, sizeof *out);
    out->item = reln_shape_count(shape);
    out->rank = reln_merge_axes(shape, n_in, stride, out->extent, out->stride);
}
