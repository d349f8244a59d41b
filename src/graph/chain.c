/* chain.c -- elementwise nodes that run in one pass.
 *
 * A chain is a sequence of elementwise nodes, each of which is the only reader of the one before. Values pass from node to
 * node in registers. The last node of a chain has the instruction, which reads the inputs of all its nodes; the other nodes
 * have neither an instruction nor memory. A single node is a chain, too, if one of its operands repeats inside an item. Rows
 * that a node of the chain gathers are read in place. Every link rounds as it would in a separate pass, so chains change no
 * bit. */
#include "graph/compile.h"

/* A Draft is a chain while it is collected. */
typedef struct Draft {
    Planner *p;
    const bool *mine;
    Chain chain;
    ChainLink links[CHAIN_LINKS];
    const RelnNode *reads[CHAIN_READS], *readers[CHAIN_READS]; /* the node that reads the value */
    int places[CHAIN_READS];                                   /* and as which input */
    int n_reads;
    const RelnNode *members[CHAIN_MEMBERS];
    int n_members;
} Draft;

static bool link_of(const RelnNode *x, RelnLink *link)
{
    memset(link, 0, sizeof *link);
    return x->op->link && x->op->link(x, link);
}

/* Returns whether x only fetches values: gathered rows, or a repeated value. */
static bool is_fetch(const RelnNode *x)
{
    RelnLink link;

    return link_of(x, &link) && link.kind == RELN_LINK_LOAD;
}

/* Returns whether x can use the value of its input i without writing it to memory: the input has the same
 * loop and items. */
static bool folds(const Draft *d, const RelnNode *x, int i)
{
    const RelnNode *y = x->in[i];
    const Info *f = &d->p->info[y->id], *of = &d->p->info[x->id];
    RelnLink link;

    return d->mine[y->id] && f->uses == 1 && !f->is_output && !f->absorbed && !f->whole &&
           !f->folded && (d->p->body || f->array < 0) && f->place.kind == AT_NOWHERE &&
           f->loop == of->loop && y->domain == x->domain && y->dtype == x->dtype &&
           memcmp(&y->shape, &x->shape, sizeof y->shape) == 0 && link_of(y, &link);
}

/* ---- collecting ----------------------------------------------------------------------------------------------- */

static int add_read(Draft *d, const RelnNode *reader, int place)
{
    d->reads[d->n_reads] = reader->in[place];
    d->readers[d->n_reads] = reader;
    d->places[d->n_reads] = place;
    return d->n_reads++;
}

static void add_member(Draft *d, const RelnNode *x)
{
    d->members[d->n_members++] = x;
}

static void add_link(Draft *d, RelnLinkKind kind, const RelnLink *like, int read, int index)
{
    d->links[d->chain.n_links++] = (ChainLink){.kind = kind,
                                               .a = like ? like->a : 0,
                                               .b = like ? like->b : 0,
                                               .read = read,
                                               .index = index};
}

/* Appends a link with input i of x as its operand: the value itself, or the value that a fetching node
 * reads. */
static void add_value(Draft *d, RelnLinkKind kind, const RelnNode *x, int i)
{
    const RelnNode *y = x->in[i];

    if (folds(d, x, i) && is_fetch(y)) {
        const int read = add_read(d, y, 0);

        add_member(d, y);
        add_link(d, kind, NULL, read, y->n_in > 1 ? add_read(d, y, 1) : -1);
        return;
    }
    add_link(d, kind, NULL, add_read(d, x, i), -1);
}

/* Appends links that add or subtract the product y, if `left` links are not too few. */
static bool add_product(Draft *d, RelnLinkKind kind, const RelnNode *y, int left)
{
    if (left < 2 || (kind != RELN_LINK_ADD && kind != RELN_LINK_SUB))
        return false;
    add_member(d, y);
    add_value(d, kind == RELN_LINK_ADD ? RELN_LINK_ADD_PRODUCT : RELN_LINK_SUB_PRODUCT, y, 0);
    add_value(d, RELN_LINK_FACTOR, y, 1);
    return true;
}

/* Appends links with input i of x as the operand, at most `left`. The input is computed by these links, too, if it is a
 * product that is added, or a mask. */
static void add_operand(Draft *d, RelnLinkKind kind, const RelnNode *x, int i, int left)
{
    const RelnNode *y = x->in[i];
    RelnLink link;

    if (folds(d, x, i) && link_of(y, &link)) {
        if (link.kind == RELN_LINK_MUL && add_product(d, kind, y, left))
            return;
        if (link.kind == RELN_LINK_POSITIVE && kind == RELN_LINK_MUL) {
            add_member(d, y);
            add_link(d, RELN_LINK_GATE, NULL, add_read(d, y, 0), -1);
            return;
        }
    }
    add_value(d, kind, x, i);
}

/* Returns whether links of the chain compute input i of x: it is neither read from memory nor fetched. */
static bool continues(const Draft *d, const RelnNode *x, int i)
{
    return folds(d, x, i) && !is_fetch(x->in[i]);
}

/* Returns whether x is a product of values in memory. A link adds it, so it need not be the running value. */
static bool is_product(const Draft *d, const RelnNode *x)
{
    RelnLink link;

    return link_of(x, &link) && link.kind == RELN_LINK_MUL && !continues(d, x, 0) &&
           !continues(d, x, 1);
}

/* Returns the input that continues as the running value: the one that is itself a chain. */
static int running_input(const Draft *d, const RelnNode *x, RelnLinkKind kind)
{
    const bool turns = kind == RELN_LINK_ADD || kind == RELN_LINK_MUL || kind == RELN_LINK_SUB;

    if (x->n_in < 2 || !turns || !continues(d, x, 1))
        return 0;
    return !continues(d, x, 0) || (kind == RELN_LINK_ADD && is_product(d, x->in[0])) ? 1 : 0;
}

/* Appends the links that compute x. `left` more nodes may be folded into it: every node outside it needs one link, and
 * x has the others. */
static void collect(Draft *d, const RelnNode *x, int left)
{
    const int outside = CHAIN_FOLDS - left;
    RelnLink link;
    int at;

    link_of(x, &link);
    add_member(d, x);
    at = running_input(d, x, link.kind);
    if (left > 0 && continues(d, x, at))
        collect(d, x->in[at], left - 1);
    else
        add_operand(d, RELN_LINK_LOAD, x, at, 1);
    if (x->n_in > 1)
        add_operand(d, at == 1 && link.kind == RELN_LINK_SUB ? RELN_LINK_FROM : link.kind, x,
                    1 - at, CHAIN_LINKS - outside - d->chain.n_links);
    else
        add_link(d, link.kind, &link, -1, -1);
}

/* ---- loops ---------------------------------------------------------------------------------------------------- */

/* Finds the loops of all operands together: items, and at most three more. Gathered rows step like rows of the
 * result; with them there are at most two more loops. */
static bool find_loops(Draft *d, const RelnNode *x)
{
    ptrdiff_t stride[CHAIN_LINKS][RELN_LOOP_MAX], merged[CHAIN_LINKS][RELN_LOOP_MAX],
        extent[RELN_LOOP_MAX];
    ChainLink *of[CHAIN_LINKS];
    Chain *c = &d->chain;
    bool gathers = false;
    int n = 0;

    for (int i = 0; i < c->n_links; i++) {
        ChainLink *l = &d->links[i];

        if (l->read < 0)
            continue;
        reln_strides(&x->shape, &d->reads[l->read]->shape,
                     l->index < 0 && reln_is_once(d->reads[l->read], x), stride[n]);
        gathers = gathers || l->index >= 0;
        of[n++] = l;
    }
    c->item = reln_shape_count(&x->shape);
    c->rank = reln_merge_axes(&x->shape, n, stride, extent, merged);
    if (c->rank > CHAIN_RANK || (gathers && (c->rank == 1 || c->rank == CHAIN_RANK)))
        return false;
    memcpy(c->extent, extent, sizeof c->extent);
    c->merged = !gathers && c->rank > 1;
    for (int i = 0; i < n; i++) {
        memcpy(of[i]->stride, merged[i], sizeof of[i]->stride);
        c->merged = c->merged && merged[i][0] == merged[i][1] * extent[1];
    }
    c->flat = c->rank == 2 && c->merged;
    return true;
}

static bool keep_chain(Draft *d, const RelnNode *x)
{
    Planner *p = d->p;
    Info *f = &p->info[x->id];
    const size_t n = (size_t)d->n_reads, links = (size_t)d->chain.n_links;
    Chain *kept = reln_arena_copy(&p->plan->arena, &d->chain, 1, sizeof d->chain);

    f->reads = reln_arena_copy(p->scratch, d->reads, n, sizeof *d->reads);
    f->members = reln_arena_copy(p->scratch, d->members, (size_t)d->n_members, sizeof *d->members);
    f->reads_whole = reln_arena_alloc(p->scratch, n, sizeof *f->reads_whole);
    if (kept)
        kept->links = reln_arena_copy(&p->plan->arena, d->links, links, sizeof *d->links);
    if (!kept || !kept->links || !f->reads || !f->members || !f->reads_whole)
        return nomem(p);
    for (int i = 0; i < d->n_reads; i++)
        f->reads_whole[i] = reads_whole(d->readers[i], d->places[i]);
    f->chain = kept;
    f->n_reads = d->n_reads;
    f->n_members = d->n_members;
    for (int i = 0; i < d->n_members; i++)
        p->info[d->members[i]->id].folded = d->members[i] != x;
    return true;
}

/* Returns whether a single function is worth a chain: an operand repeats inside an item, so that the function alone would run item
 * by item. */
static bool repeats(const Draft *d)
{
    return d->n_reads == 2 && d->chain.rank > 2;
}

static bool chain_to(Planner *p, const bool *mine, const RelnNode *x)
{
    Draft d = {.p = p, .mine = mine};
    RelnLink link;

    if (p->info[x->id].folded || x->domain == RELN_STEP || !link_of(x, &link) ||
        link.kind == RELN_LINK_LOAD)
        return true;
    collect(&d, x, CHAIN_FOLDS);
    if (!find_loops(&d, x))
        return true;
    return (d.n_members < 2 && !repeats(&d)) || keep_chain(&d, x);
}

/* Works from the end, so that a chain starts from its last node. If the plan stops at the first value that is
 * not finite, there are no chains, because every value must be checked. */
bool reln_pass_chain(Planner *p, const bool *mine)
{
    for (int at = p->n_order - 1; at >= 0 && !p->plan->finite; at--)
        if (!chain_to(p, mine, p->g->nodes.items[p->order[at]]))
            return false;
    return true;
}
