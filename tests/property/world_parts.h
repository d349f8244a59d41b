/* world_parts.h -- declarations that the parts of a world share: sources, choosing among nodes, and makers of
 * nodes. */
#ifndef TESTS_PROPERTY_WORLD_PARTS_H
#define TESTS_PROPERTY_WORLD_PARTS_H

#include "property/world.h"

enum { ITEM = 72 }; /* most elements of an item */

static inline int below(World *w, int n)
{
    return (int)reln_rng_below(&w->rng, (uint64_t)n);
}

static inline bool chance(World *w, double p)
{
    return reln_rng_uniform(&w->rng) < p;
}

static inline int extent(const RelnNode *x, RelnAxis axis)
{
    return x->shape.dims[axis];
}

/* ---- world_source.c --------------------------------------------------------------------------------------------- */

/* Returns whether x can be an operand together with `other`. */
typedef bool Fits(World *w, const RelnNode *x, const RelnNode *other);
RelnNode *world_input(World *w, RelnDomain domain, RelnDims dims, const RelnRep *rep, bool frozen);
RelnNode *world_index_input(World *w, RelnDomain domain, RelnDims dims, RelnDomain target,
                            int limit);
RelnNode *world_param(World *w, RelnDims dims, bool state);
bool world_is_frozen(World *w, const RelnNode *x);
/* Returns a node of the pool that fits, more often a late one than an early one. */
RelnNode *world_find(World *w, Fits *fits, const RelnNode *other);
bool world_domains_join(const RelnNode *x, const RelnNode *y);
bool world_extents_join(const RelnNode *x, const RelnNode *y, int but);
bool world_joins(const RelnNode *x, const RelnNode *y);

static inline bool any(World *w, const RelnNode *x, const RelnNode *other)
{
    (void)w;
    (void)other;
    return x->dtype == RELN_F64;
}

static inline bool invariant(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && reln_is_invariant(x);
}

static inline bool batched(World *w, const RelnNode *x, const RelnNode *other)
{
    return any(w, x, other) && x->domain != RELN_STEP;
}

static inline bool adjoint(World *w, const RelnNode *x, const RelnNode *other)
{
    (void)other;
    return x->rep == w->adjoint;
}

static inline bool frozen_invariant(World *w, const RelnNode *x, const RelnNode *other)
{
    return invariant(w, x, other) && world_is_frozen(w, x);
}

/* world.c: puts a node into the pool, scaled so that no number is larger than 2. */
void world_keep(World *w, RelnNode *x);

/* ---- makers: a node of an op on nodes of the pool, NULL where none fit ------------------------------------------- */

/* world_unary.c: of one operand */
RelnNode *world_make_map(World *w);
RelnNode *world_make_kink(World *w);
RelnNode *world_make_scale(World *w);
RelnNode *world_make_sum(World *w);
RelnNode *world_make_sum_all(World *w);
RelnNode *world_make_batch(World *w);
RelnNode *world_make_normal(World *w);
RelnNode *world_make_batch_sums(World *w);
RelnNode *world_make_expand(World *w);
RelnNode *world_make_reshape(World *w);
RelnNode *world_make_permute(World *w);
RelnNode *world_make_split(World *w);
RelnNode *world_make_slice(World *w);
RelnNode *world_make_pad(World *w);
RelnNode *world_make_softmax(World *w);
RelnNode *world_make_window(World *w);
RelnNode *world_make_cast(World *w);
RelnNode *world_make_center(World *w);
RelnNode *world_make_random(World *w);
/* world_nary.c: of two and more, choices and rows */
RelnNode *world_make_add(World *w);
RelnNode *world_make_mul(World *w);
RelnNode *world_make_select(World *w);
RelnNode *world_make_concat(World *w);
RelnNode *world_make_concat_k(World *w);
RelnNode *world_make_bracket(World *w);
RelnNode *world_make_pair(World *w);
RelnNode *world_make_gram(World *w);
RelnNode *world_make_outer(World *w);
RelnNode *world_make_weigh(World *w);
RelnNode *world_make_mix(World *w);
RelnNode *world_make_pick(World *w);
RelnNode *world_make_gather(World *w);
RelnNode *world_make_segment(World *w);
RelnNode *world_make_spread(World *w);
RelnNode *world_make_reduce(World *w);
RelnNode *world_make_region(World *w);
RelnNode *world_make_best(World *w);
/* world_fn.c: functions, calls, derivatives */
RelnNode *world_make_fn(World *w);
RelnNode *world_make_call(World *w);
RelnNode *world_make_force(World *w);

#endif
