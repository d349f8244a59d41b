/* exchange.c -- see exchange.h. */
#include "graph/exchange.h"

#include <string.h>

#include "graph/frame.h"
#include "kit/comm.h"

/* The range of an owner has at least this many bytes; below, a message costs more than its contents. */
enum { LEAST_BYTES = 4096 };

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static size_t words_of(const Ranks *ranks)
{
    return ((size_t)ranks->copy.size + 63) / 64;
}

static RelnStatus init_phase(RelnPlan *plan, Exchange *x, const Phase *phase)
{
    const int size = plan->ranks.copy.size;
    const size_t units = phase->lane_size / RELN_ALIGN;
    const size_t parts = phase->lane_size / LEAST_BYTES;

    x->n_lanes = -1;
    x->n_owners = parts < 1 ? 1 : parts < (size_t)size ? (int)parts : size;
    x->begin = reln_arena_alloc(&plan->arena, (size_t)size + 1, sizeof *x->begin);
    if (!x->begin)
        return RELN_ERR_NOMEM;
    for (int r = 0, owner = 0; r <= size; r++) {
        while (owner < x->n_owners && (long long)owner * size / x->n_owners < r)
            owner++;
        x->begin[r] = (size_t)owner * units / (size_t)x->n_owners * RELN_ALIGN;
    }
    return RELN_OK;
}

RelnStatus reln_ranks_init(RelnPlan *plan)
{
    Ranks *ranks = &plan->ranks;
    const Lanes *lanes = &plan->lanes;
    size_t nodes = 2;

    if (!ranks->comm)
        return RELN_OK;
    while (nodes < 2 * (size_t)lanes->most)
        nodes *= 2;
    ranks->phases =
        reln_arena_alloc(&plan->arena, (size_t)plan->phases.count, sizeof *ranks->phases);
    ranks->sets = reln_arena_alloc(&plan->arena, nodes * words_of(ranks), sizeof *ranks->sets);
    ranks->place = reln_arena_alloc(&plan->arena, nodes, sizeof *ranks->place);
    ranks->at = reln_arena_alloc(&plan->arena, nodes, sizeof *ranks->at);
    ranks->kept_begin =
        reln_arena_alloc(&plan->arena, (size_t)ranks->copy.size + 1, sizeof *ranks->kept_begin);
    ranks->total = reln_alloc(plan->ctx, lanes->size, 1);
    if (!ranks->phases || !ranks->sets || !ranks->place || !ranks->at || !ranks->total ||
        !ranks->kept_begin)
        return RELN_ERR_NOMEM;
    /* bytes between the sums are sent, too */
    memset(lanes->memory, 0, lanes->size * (size_t)lanes->n_buffers);
    for (int i = 0; i < plan->phases.count; i++)
        RELN_TRY(init_phase(plan, &ranks->phases[i], &plan->phases.items[i]));
    return RELN_OK;
}

void reln_ranks_clear(RelnPlan *plan)
{
    Ranks *ranks = &plan->ranks;

    for (int i = 0; i < plan->phases.count && ranks->phases; i++)
        reln_free(plan->ctx, ranks->phases[i].moves);
    reln_free(plan->ctx, ranks->inbox);
    reln_free(plan->ctx, ranks->total);
    reln_free(plan->ctx, ranks->sends);
    reln_free(plan->ctx, ranks->receives);
}

/* ---- which rank adds which node -------------------------------------------------------------------------------- */

static uint64_t *set_of(const Ranks *ranks, int node)
{
    return ranks->sets + (size_t)node * words_of(ranks);
}

static bool has_rank(const Ranks *ranks, int node, int rank)
{
    return set_of(ranks, node)[rank / 64] >> (rank % 64) & 1;
}

static bool has_lanes(const Lanes *lanes, int node)
{
    int first, end;

    reln_lanes_below(lanes, node, &first, &end);
    return first < end;
}

/* Computes the set of ranks to which a node can be given at the fewest edges: the intersection of the
 * children's sets, or their union if it is empty. */
static void join(const RelnPlan *plan, int node)
{
    const Ranks *ranks = &plan->ranks;
    const size_t words = words_of(ranks);
    uint64_t *set = set_of(ranks, node), some = 0;
    const uint64_t *left = set_of(ranks, 2 * node), *right = set_of(ranks, 2 * node + 1);

    if (!has_lanes(&plan->lanes, 2 * node + 1)) {
        memcpy(set, left, words * sizeof *set);
        return;
    }
    for (size_t i = 0; i < words; i++)
        some |= set[i] = left[i] & right[i];
    for (size_t i = 0; i < words && some == 0; i++)
        set[i] = left[i] | right[i];
}

static void find_sets(const RelnPlan *plan)
{
    const Ranks *ranks = &plan->ranks;
    const Lanes *lanes = &plan->lanes;
    const int size = ranks->copy.size;

    memset(ranks->sets, 0, 2 * (size_t)lanes->leaves * words_of(ranks) * sizeof *ranks->sets);
    for (int r = 0; r < size; r++)
        for (int l = reln_lanes_of_rank(lanes->n, r, size);
             l < reln_lanes_of_rank(lanes->n, r + 1, size); l++)
            set_of(ranks, lanes->leaves + l)[r / 64] |= (uint64_t)1 << (r % 64);
    for (int node = lanes->leaves - 1; node >= 1; node--)
        if (has_lanes(lanes, node))
            join(plan, node);
}

/* Chooses one of the ranks that a node can be given to. Owners choose in turn, so that the additions are
 * spread over ranks. */
static int choose(const Ranks *ranks, int node, int owner)
{
    const int size = ranks->copy.size;
    int count = 0, rank = 0;

    for (int r = 0; r < size; r++)
        count += has_rank(ranks, node, r);
    for (int left = owner % count;; rank++)
        if (has_rank(ranks, node, rank) && left-- == 0)
            return rank;
}

/* Gives the nodes of the tree to ranks, for the range that a rank owns: a child goes to its parent's rank, if
 * it can. */
static void give_places(const RelnPlan *plan, int owner, int rank)
{
    const Ranks *ranks = &plan->ranks;
    const Lanes *lanes = &plan->lanes;

    for (int node = 1; node < 2 * lanes->leaves; node++) {
        const int above = node == 1 ? rank : ranks->place[node / 2];

        if (has_lanes(lanes, node))
            ranks->place[node] = has_rank(ranks, node, above) ? above : choose(ranks, node, owner);
    }
}

/* ---- moves ----------------------------------------------------------------------------------------------------- */

/* A Listing counts the moves first, then writes them level by level. */
typedef struct Listing {
    const RelnPlan *plan;
    Exchange *x;
    bool writing;
    int count[EXCHANGE_LEVELS + 1];
} Listing;

static void list_move(Listing *l, int level, Move move)
{
    if (l->writing)
        l->x->moves[l->x->level[level] + l->count[level]] = move;
    l->count[level]++;
}

/* Lists the move of a sum from the rank that has it to the rank that needs it. */
static void list_edge(Listing *l, int level, int node, int to, int owner, size_t bytes)
{
    const Ranks *ranks = &l->plan->ranks;
    const int me = ranks->copy.rank, from = ranks->place[node];

    if (from == to)
        return;
    l->x->sent_reduce += bytes;
    if (from == me)
        list_move(l, level, (Move){MOVE_SEND, to, owner, ranks->at[node], {0, 0}});
    if (to != me)
        return;
    ranks->at[node] = (PartialSum){0, l->x->inbox};
    l->x->inbox += bytes;
    list_move(l, level, (Move){MOVE_RECEIVE, from, owner, ranks->at[node], {0, 0}});
}

static void list_node(Listing *l, int level, int node, int owner, size_t bytes)
{
    const Ranks *ranks = &l->plan->ranks;
    const int place = ranks->place[node];

    if (has_lanes(&l->plan->lanes, 2 * node + 1)) {
        list_edge(l, level, 2 * node, place, owner, bytes);
        list_edge(l, level, 2 * node + 1, place, owner, bytes);
        if (place == ranks->copy.rank)
            list_move(l, level,
                      (Move){MOVE_ADD, 0, owner, ranks->at[2 * node], ranks->at[2 * node + 1]});
    }
    ranks->at[node] = ranks->at[2 * node];
}

static void list_owner(Listing *l, int owner)
{
    const Ranks *ranks = &l->plan->ranks;
    const Lanes *lanes = &l->plan->lanes;
    const int size = ranks->copy.size;
    const int rank = (int)((long long)owner * size / l->x->n_owners);
    const size_t bytes = l->x->begin[rank + 1] - l->x->begin[rank];
    int level = 1;

    give_places(l->plan, owner, rank);
    for (int node = 1; node < 2 * lanes->leaves; node++)
        ranks->at[node] = (PartialSum){node, 0};
    for (int node = lanes->leaves / 2; node >= 1; node /= 2, level++)
        for (int i = node; i < 2 * node; i++)
            if (has_lanes(lanes, i) && !reln_lanes_own(lanes, i))
                list_node(l, level, i, owner, bytes);
    list_edge(l, level, 1, rank, owner, bytes);
    if (rank == ranks->copy.rank)
        list_move(l, level, (Move){MOVE_TOTAL, 0, owner, ranks->at[1], {0, 0}});
    l->x->sent_all += bytes * (size_t)(size - 1);
}

static void list_all(Listing *l)
{
    memset(l->count, 0, sizeof l->count);
    l->x->inbox = 0;
    l->x->sent_reduce = l->x->sent_all = 0;
    for (int owner = 0; owner < l->x->n_owners; owner++)
        list_owner(l, owner);
}

static RelnStatus grow(RelnPlan *plan, void **block, size_t *capacity, size_t want, size_t size)
{
    if (want <= *capacity && *block)
        return RELN_OK;
    reln_free(plan->ctx, *block);
    *capacity = 0;
    *block = reln_alloc(plan->ctx, want, size);
    if (!*block)
        return RELN_ERR_NOMEM;
    *capacity = want;
    return RELN_OK;
}

static RelnStatus reserve_messages(RelnPlan *plan, size_t n)
{
    Ranks *ranks = &plan->ranks;
    size_t room = ranks->n_messages;

    RELN_TRY(grow(plan, (void **)&ranks->sends, &room, n, sizeof *ranks->sends));
    return grow(plan, (void **)&ranks->receives, &ranks->n_messages, n, sizeof *ranks->receives);
}

static RelnStatus prepare_phase(RelnPlan *plan, Exchange *x)
{
    Ranks *ranks = &plan->ranks;
    Listing l = {.plan = plan, .x = x};
    int n = 0;

    list_all(&l);
    for (int i = 0; i <= EXCHANGE_LEVELS; i++) {
        x->level[i] = n;
        n += l.count[i];
    }
    RELN_TRY(grow(plan, (void **)&x->moves, &x->capacity, (size_t)n + 1, sizeof *x->moves));
    RELN_TRY(reserve_messages(plan, (size_t)n + 1));
    RELN_TRY(grow(plan, (void **)&ranks->inbox, &ranks->inbox_size, x->inbox + 1, 1));
    l.writing = true;
    list_all(&l);
    x->n_lanes = plan->lanes.n;
    return RELN_OK;
}

RelnStatus reln_ranks_prepare(RelnPlan *plan)
{
    Ranks *ranks = &plan->ranks;
    bool known = true;

    if (!ranks->comm || plan->lanes.n == 0)
        return RELN_OK;
    for (int i = 0; i < plan->phases.count; i++)
        known = known && ranks->phases[i].n_lanes == plan->lanes.n;
    if (known)
        return RELN_OK;
    find_sets(plan);
    for (int i = 0; i < plan->phases.count; i++)
        if (plan->phases.items[i].sums.count > 0)
            RELN_TRY(prepare_phase(plan, &ranks->phases[i]));
        else
            ranks->phases[i].n_lanes = plan->lanes.n;
    return RELN_OK;
}

/* ---- executing the moves ---------------------------------------------------------------------------------------- */

/* Sets [*from, *to) to the range of a lane that an owner has. */
static void stretch_of(const Ranks *ranks, const Exchange *x, int owner, size_t *from, size_t *to)
{
    const int rank = (int)((long long)owner * ranks->copy.size / x->n_owners);

    *from = x->begin[rank];
    *to = x->begin[rank + 1];
}

/* Returns the address at which the lane of a partial sum would begin; only the owner's range of it is in
 * memory. */
static char *lane_at(const RelnPlan *plan, const PartialSum *at, size_t from)
{
    return at->node > 0 ? lanes_at(&plan->lanes, at->node) : plan->ranks.inbox + at->offset - from;
}

static RelnStatus exchange_level(RelnPlan *plan, const Exchange *x, int level)
{
    Ranks *ranks = &plan->ranks;
    int n_sends = 0, n_receives = 0;

    for (int i = x->level[level]; i < x->level[level + 1]; i++) {
        const Move *m = &x->moves[i];
        size_t from, to;

        stretch_of(ranks, x, m->owner, &from, &to);
        if (from == to)
            continue;
        if (m->kind == MOVE_SEND)
            ranks->sends[n_sends++] =
                (RelnMessage){m->peer, lane_at(plan, &m->at, from) + from, to - from};
        else if (m->kind == MOVE_RECEIVE)
            ranks->receives[n_receives++] =
                (RelnMessage){m->peer, lane_at(plan, &m->at, from) + from, to - from};
    }
    if (n_sends == 0 && n_receives == 0)
        return RELN_OK;
    return reln_comm_exchange(ranks->comm, plan->ctx, n_sends, ranks->sends, n_receives,
                              ranks->receives);
}

static void add_level(const RelnPlan *plan, const Phase *phase, const Exchange *x, int level)
{
    const Ranks *ranks = &plan->ranks;

    for (int i = x->level[level]; i < x->level[level + 1]; i++) {
        const Move *m = &x->moves[i];
        size_t from, to;

        stretch_of(ranks, x, m->owner, &from, &to);
        if (m->kind == MOVE_ADD)
            reln_lanes_add(plan, phase, from, to, lane_at(plan, &m->at, from),
                           lane_at(plan, &m->other, from));
        else if (m->kind == MOVE_TOTAL)
            memcpy(ranks->total + from, lane_at(plan, &m->at, from) + from, to - from);
    }
}

RelnStatus reln_ranks_reduce(RelnPlan *plan, int index)
{
    Ranks *ranks = &plan->ranks;
    const Phase *phase = &plan->phases.items[index];
    const Exchange *x = &ranks->phases[index];

    for (int level = 1; level < EXCHANGE_LEVELS; level++) {
        RELN_TRY(exchange_level(plan, x, level));
        add_level(plan, phase, x, level);
    }
    return reln_comm_gather(ranks->comm, plan->ctx, ranks->total, x->begin);
}

/* ---- outputs --------------------------------------------------------------------------------------------------- */

/* Returns the first sample of a rank: ranks have whole lanes, lanes have whole shards. */
ptrdiff_t reln_ranks_first_sample(const RelnPlan *plan, int rank)
{
    const Lanes *lanes = &plan->lanes;
    const int lane = reln_lanes_of_rank(lanes->n, rank, plan->ranks.copy.size);
    const ptrdiff_t shard = lanes->n ? lane_begins(plan, lane) : 0;

    return shard < plan->n_shards ? plan->shards[shard].first : plan->run.n_samples;
}

static RelnStatus gather_kept(RelnPlan *plan, const Kept *kept)
{
    const Ranks *ranks = &plan->ranks;
    size_t *begin = ranks->kept_begin;

    for (int r = 0; r <= ranks->copy.size; r++) {
        const ptrdiff_t sample = reln_ranks_first_sample(plan, r);
        const RelnDomain domain = kept->node->domain;

        begin[r] = kept->item *
                   (size_t)(domain == RELN_SAMPLES ? sample : plan->row_first[domain - 2][sample]);
    }
    return reln_comm_gather(ranks->comm, plan->ctx, kept_values(plan, kept), begin);
}

RelnStatus reln_ranks_gather(RelnPlan *plan)
{
    if (!plan->ranks.comm || plan->n_shards == 0)
        return RELN_OK;
    for (int i = 0; i < plan->kept.count; i++)
        for (int o = 0; o < plan->graph->outputs.count; o++)
            if (plan->outputs[o].kind == AT_KEPT && plan->outputs[o].offset == (size_t)i) {
                RELN_TRY(gather_kept(plan, &plan->kept.items[i]));
                break;
            }
    return RELN_OK;
}
