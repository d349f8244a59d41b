/* structured.c -- networks of sets: points exchange information before they are pooled. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/op.h"
#include "model/build.h"
#include "reln/ops.h"

/* Returns the scales at which invariants are seen, in units of the training data. Products of light-like
 * vectors are far smaller than their coordinates, so they need several scales; lengths do not. */
RelnScales reln_build_scales(Build *b)
{
    const RelnScales wide = {reln_build_form_size(b), 3, {1, 1e2, 1e4}};
    const RelnScales narrow = {wide.unit, 2, {1, 30}};

    return b->m->algebra || reln_rep_is_orthogonal(b->m->rep) ? narrow : wide;
}

/* ---- inputs --------------------------------------------------------------------------------------------------------- */

/* Returns the number of points as an invariant of size 1. */
static RelnNode *size_of_set(Build *b)
{
    RelnNode *n = reln_cast(b->g, reln_reduce_count(b->g, b->rows, RELN_SAMPLES), RELN_DEFAULT);
    const double usual = b->m->constants.points;

    return reln_shift(b->g, reln_log(b->g, reln_shift(b->g, n, 1 / usual, 1 / usual)), 1, 0);
}

/* The usual number of items that exchange information: groups, or points. */
static double usual_size(const Build *b)
{
    return b->m->spec.model.groups > 0 ? b->m->spec.model.groups : b->m->constants.points;
}

/* Returns the sum of all points, of size 1. */
static RelnNode *total_of(Build *b, RelnNode *x)
{
    return reln_scale(b->g, reln_reduce(b->g, x, RELN_SAMPLES), 1 / usual_size(b));
}

/* Returns features of samples that every round keeps: the sum of all points, and the inputs of the sample
 * itself. */
static RelnNode *kept(Build *b, RelnNode *x)
{
    return reln_build_join(b, total_of(b, x), reln_build_input(b, SLOT_X));
}

/* Returns features of a few channels for each point. If there are matrices or several vectors, one block
 * forms products of them; a single vector has no partner for a product. */
static RelnFeatures embedded(Build *b, RelnFeatures f)
{
    const RelnDims d = reln_node_dims(f.x);
    const int width = b->width;

    if (!b->m->algebra || (d.c == 1 && d.k == b->m->n))
        return f;
    b->width = width < 32 ? 4 : width / 8;
    f.x = reln_build_complete_block(b, "embed", f).x;
    b->width = width;
    return f;
}

/* ---- given edges ----------------------------------------------------------------------------------------------------- */

/* Number of combinations of the features of its edges that a point receives. */
enum { FROM_EDGES = 4 };

/* Declares the given edges, if there are any, and the point that each of them is from. */
static void open_edges(Build *b)
{
    if (!b->m->spec.edges.name[0] || b->from)
        return;
    b->edges = reln_members(b->g, "edges", b->rows, b->sizes.degree > 16 ? b->sizes.degree : 16,
                            b->sizes.edges > 1024 ? b->sizes.edges : 1024);
    b->from = reln_input_index(b->g, "edges.from", b->edges, (RelnDims){0}, b->rows, 0);
}

/* Returns the invariants of the inputs of edges: the scalars, and products of the features with each other; NULL if there is no
 * such input. */
static RelnNode *of_given_edges(Build *b, const RelnScales *scale)
{
    RelnNode *x = b->m->slots[SLOT_X_EDGES].c ? reln_build_input(b, SLOT_X_EDGES) : NULL;
    RelnNode *s = b->m->slots[SLOT_S_EDGES].c ? reln_build_input(b, SLOT_S_EDGES) : NULL;

    return reln_build_join(b, s, x ? reln_nn_relate(&b->net, x, x, scale) : NULL);
}

/* Returns the values of the two points of every edge, side by side. */
static RelnNode *at_both_ends(Build *b, RelnNode *x)
{
    return x ? reln_build_join(b, reln_gather(b->g, x, b->from), reln_spread(b->g, x, b->edges))
             : NULL;
}

/* Brings features of edges to the points to which the edges lead: sums over edges, with coefficients that are functions of the
 * invariants of the edge and of its two points; NULL if edges have no features. */
static RelnNode *from_edges(Build *b, const RelnScales *scale)
{
    const int c = b->m->slots[SLOT_X_EDGES].c;
    RelnGraph *g = b->g;
    RelnNode *a;

    if (c == 0)
        return NULL;
    a = reln_build_join(b, of_given_edges(b, scale),
                        at_both_ends(b, reln_build_input(b, SLOT_S_POINTS)));
    a = reln_nn_batch_norm_invariants(&b->net, "edges.norm", a, NULL);
    a = reln_nn_dense(&b->net, "edges.hidden", a, b->width);
    a = reln_nn_activate(g, b->m->spec.model.activation, a);
    a = reln_nn_dense(&b->net, "edges.coefficients", a, c * FROM_EDGES);
    a = reln_reshape(g, a, (RelnDims){.r = c, .c = FROM_EDGES});
    a = reln_channel_mix(g, reln_build_input(b, SLOT_X_EDGES),
                         a ? reln_cast(g, a, reln_slot_dtype(b->m, SLOT_X_EDGES)) : NULL);
    return reln_reduce(g, a, b->rows);
}

/* Number of rounds in which parts are found; and the largest number of parts whose products are used, because
 * products grow with the square. */
enum { PART_ROUNDS = 6, PART_PRODUCTS = 4 };

/* Returns the products of all parts at all scales, with a batch norm. */
static RelnNode *products_of(Build *b, const char *name, RelnNode *parts, const RelnScales *scale)
{
    return reln_nn_batch_norm_invariants(&b->net, name,
                                         reln_nn_relate(&b->net, parts, parts, scale), NULL);
}

/* Divides the set into 2, 3, ... parts, up to `sums`, before the learned layers. Their products join the
 * invariants of the sample; the largest number of parts are the first sums of the rounds. */
static RelnNode *parts_of(Build *b, RelnNode *x, const RelnScales *scale, RelnNode **z)
{
    const int sums = b->m->spec.model.sums;
    RelnNode *parts = NULL;

    for (int k = sums < 2 ? sums : 2; k <= sums; k++) {
        if (k > PART_PRODUCTS && k < sums)
            continue;
        parts = reln_nn_parts(&b->net, x, k, PART_ROUNDS);
        parts = parts ? reln_scale(b->g, parts, 1 / b->m->constants.points) : NULL;
        if (k <= PART_PRODUCTS)
            *z = reln_build_join(b, *z,
                                 products_of(b, reln_build_name("parts%d", k).text, parts, scale));
    }
    return parts;
}

static RelnSet begin(Build *b, const RelnScales *scale)
{
    RelnFeatures f = {reln_build_input(b, SLOT_X_POINTS), reln_build_input(b, SLOT_S_POINTS)};
    RelnNode *z = reln_build_join(b, size_of_set(b), reln_build_input(b, SLOT_S)), *parts;
    RelnNode *brought = from_edges(b, scale);

    if (!f.x && !brought)
        return (RelnSet){0};
    parts = b->kind == RELN_MODEL_MESSAGES ? NULL : parts_of(b, f.x ? f.x : brought, scale, &z);
    f.x = reln_build_join(b, f.x, brought);
    f = embedded(b, f);
    f.s = reln_build_join(b, reln_nn_relate(&b->net, f.x, f.x, scale), f.s);
    return (RelnSet){f.x, f.s, parts, z};
}

/* x W in the dtype of x. */
static RelnNode *mixed(Build *b, const char *name, RelnNode *x, int channels)
{
    const int from = x ? reln_node_dims(x).c : 1;
    const char *within = b->net.within;
    const Name full = reln_build_name("%s%s%s", within ? within : "", within ? "." : "", name);
    RelnNode *w = reln_param(b->g, full.text, (RelnDims){.r = from, .c = channels},
                             (RelnInit){RELN_INIT_UNIFORM, 1 / sqrt(from)});

    return x && w ? reln_mix(b->g, x, reln_cast(b->g, w, reln_node_dtype(x))) : NULL;
}

/* ---- groups ---------------------------------------------------------------------------------------------------------- */

/* Number of rounds within a group; number of features of a group in addition to its centre. */
enum { GROUP_ROUNDS = 2, GROUP_FEATURES = 3 };

/* Returns the places of members relative to their centres, in units of the usual size of a group on a
 * surface. A group with too few points is filled up with its centre. */
static RelnNode *relative(Build *b, RelnNode *x, RelnNode *centre, RelnNode *near)
{
    RelnGraph *g = b->g;
    const double share = b->m->spec.model.members / b->m->constants.points;
    RelnNode *one = reln_expand_domain(g, reln_scalar(g, 1.0), b->rows), *d;

    if (!x || !centre || !near || !one)
        return NULL;
    d = reln_sub(g, reln_gather(g, x, near), reln_spread(g, centre, near->domain));
    d = reln_mul(g, reln_cast(g, reln_gather(g, one, near), x->dtype), d);
    return reln_scale(g, d, share < 1 ? 1 / sqrt(share) : 1);
}

/* A Groups holds the nodes that find the group of a point: the places of points and of centres, and the features of centres. */
typedef struct Groups {
    RelnNode *place, *centre, *x;
} Groups;

/* Forms groups around points that lie far apart. The members of a group exchange information through sums
 * over the group; the features of a group are its centre and combinations of the last sums. */
static RelnSet grouped(Build *b, const RelnSet *points, const RelnScales *scale, Groups *out)
{
    RelnGraph *g = b->g;
    const RelnSpecModel *spec = &b->m->spec.model;
    const RelnDomain groups = reln_fixed(g, "groups", RELN_SAMPLES, spec->groups);
    const RelnDomain members = reln_fixed(g, "members", groups, spec->members);
    RelnNode *place = reln_build_input(b, SLOT_X_POINTS); /* as given, not learned */
    RelnNode *far = reln_farthest_rows(g, place, groups), *c = reln_gather(g, points->x, far);
    RelnNode *near = reln_nearest_rows(g, reln_gather(g, place, far), place, members);
    const RelnExchange options = {.sums = spec->sums,
                                  .width = b->width,
                                  .scales = *scale,
                                  .norm = true,
                                  .keep = c,
                                  .count = spec->members,
                                  .dropout = spec->dropout,
                                  .activation = spec->activation};
    RelnSet set = {.x = relative(b, points->x, c, near)};
    RelnNode *made;

    *out = (Groups){place, reln_gather(g, place, far), c};
    if (!set.x)
        return set;
    set.s = reln_build_join(b, reln_nn_relate(&b->net, set.x, set.x, scale),
                            points->s ? reln_gather(g, points->s, near) : NULL);
    set.sums = reln_build_join(b, reln_reduce_mean(g, set.x, groups), c);
    set.z = reln_nn_relate(&b->net, c, c, scale);
    for (int i = 0; i < GROUP_ROUNDS; i++)
        set = reln_nn_exchange(&b->net, reln_build_name("group%d", i + 1).text, &set, &options);
    made = mixed(b, "groups.W", set.sums, GROUP_FEATURES * (c ? reln_node_dims(c).c : 1));
    return (RelnSet){reln_build_join(b, c, made), set.z, points->sums, points->z};
}

/* ---- read-out -------------------------------------------------------------------------------------------------------- */

/* Returns whether a target of such items is computed from features, not from invariants alone. */
static bool needs_features(const RelnModel *m, RelnItems items)
{
    for (int t = 0; t < m->spec.n_targets; t++)
        if (reln_target_items(&m->spec.target[t]) == items && reln_model_target_size(m, t) > 1)
            return true;
    return false;
}

/* Computes the invariants of a sample: lengths of mixed sums at several scales, in the dtype of x, beside the
 * given invariants. Vectors and matrices are combinations of the mixed sums, with invariant coefficients. */
static RelnFeatures of_samples(Build *b, const RelnSet *set)
{
    const RelnScales scale = reln_build_scales(b);
    RelnNode *x = mixed(b, "mixed.W", set->sums, b->width);

    if (needs_features(b->m, RELN_ITEMS_SAMPLES))
        return (RelnFeatures){reln_nn_gate(&b->net, "coefficients",
                                           x ? reln_cast(b->g, x, RELN_DEFAULT) : NULL, set->z,
                                           b->width),
                              set->z};
    x = reln_nn_batch_norm_invariants(&b->net, "lengths", reln_nn_lengths(&b->net, x, &scale),
                                      NULL);
    return (RelnFeatures){NULL, reln_build_join(b, x, set->z)};
}

/* Computes the same for targets of points. The invariants of a point are its own, those with the sums, and
 * those of the set. Vectors and matrices are combinations of its features, of features that layers have
 * computed (`made`, may be NULL), and of the sums. */
static RelnFeatures of_points(Build *b, const RelnSet *set, RelnNode *made)
{
    const RelnScales scale = reln_build_scales(b);
    RelnNode *sums = reln_build_spread(b, set->sums), *near, *s, *x;

    near = reln_nn_batch_norm_invariants(&b->net, "near",
                                         reln_nn_relate(&b->net, set->x, sums, &scale), NULL);
    s = reln_build_join(b, near, reln_build_join(b, set->s, reln_build_spread(b, set->z)));
    if (!needs_features(b->m, RELN_ITEMS_POINTS))
        return (RelnFeatures){NULL, s};
    x = reln_cast(b->g, reln_build_join(b, set->x, sums), RELN_DEFAULT);
    x = reln_build_join(b, x, made ? reln_cast(b->g, made, RELN_DEFAULT) : NULL);
    x = reln_nn_linear(&b->net, "mixed.points", x, b->width);
    return (RelnFeatures){reln_nn_gate(&b->net, "coefficients.points", x, s, b->width), s};
}

/* Computes the same for targets of edges. The invariants of an edge are those of its two points, their products, those of their
 * difference, those of the inputs of the edge, and those of the set. Vectors and matrices are combinations of the features of
 * both points, of those of the edge, and of the sums. */
static RelnFeatures of_edges(Build *b, const RelnSet *set, RelnNode *made)
{
    const RelnScales scale = reln_build_scales(b);
    RelnNode *from = reln_gather(b->g, set->x, b->from), *to = reln_spread(b->g, set->x, b->edges);
    RelnNode *between = from && to ? reln_sub(b->g, from, to) : NULL, *near, *s, *x;

    near = reln_build_join(b, reln_nn_relate(&b->net, from, to, &scale),
                           reln_nn_lengths(&b->net, between, &scale));
    near = reln_nn_batch_norm_invariants(&b->net, "near.edges", near, NULL);
    s = reln_build_join(b, near, of_given_edges(b, &scale));
    s = reln_build_join(b, s, at_both_ends(b, set->s));
    s = reln_build_join(b, s, reln_spread(b->g, set->z, b->edges));
    if (!needs_features(b->m, RELN_ITEMS_EDGES))
        return (RelnFeatures){NULL, s};
    x = reln_build_join(b, reln_build_join(b, from, to), reln_spread(b->g, set->sums, b->edges));
    x = reln_build_join(b, x, reln_build_input(b, SLOT_X_EDGES));
    x = reln_build_join(b, reln_cast(b->g, x, RELN_DEFAULT),
                        made ? reln_cast(b->g, at_both_ends(b, made), RELN_DEFAULT) : NULL);
    x = reln_nn_linear(&b->net, "mixed.edges", x, b->width);
    return (RelnFeatures){reln_nn_gate(&b->net, "coefficients.edges", x, s, b->width), s};
}

/* Brings values of groups to the points: each point receives those of the group with the nearest centre. */
static RelnNode *to_points(Build *b, RelnNode *x, RelnNode *nearest)
{
    return x && nearest ? reln_reduce(b->g, reln_gather(b->g, x, nearest), b->rows) : NULL;
}

/* Returns the set of points after groups have exchanged information: the features of a point are its place relative to the centre
 * of its group, and those of the group; *made are those that layers of groups have computed. */
static RelnSet back_to_points(Build *b, const RelnSet *points, const RelnSet *set,
                              const Groups *groups, RelnNode **made)
{
    const RelnScales scale = reln_build_scales(b);
    const RelnDomain up = reln_fixed(b->g, "group of a point", b->rows, 1);
    RelnNode *nearest = reln_nearest_rows(b->g, groups->place, groups->centre, up);
    RelnNode *x = to_points(b, set->x, nearest), *c = to_points(b, groups->x, nearest), *own, *s;

    if (!x || !c)
        return (RelnSet){0};
    own = reln_sub(b->g, points->x, c);
    s = reln_build_join(b, reln_nn_lengths(&b->net, own, &scale),
                        reln_nn_relate(&b->net, own, x, &scale));
    s = reln_nn_batch_norm_invariants(&b->net, "up", s, NULL);
    s = reln_build_join(b, s, reln_build_join(b, points->s, to_points(b, set->s, nearest)));
    *made = to_points(b, *made, nearest);
    return (RelnSet){reln_build_join(b, own, x), s, set->sums, set->z};
}

/* ---- networks -------------------------------------------------------------------------------------------------------- */

/* A Pairs holds the pairs of points that send messages to each other: the given edges; or the nearest points
 * of each, found once and used by all layers; or all pairs. */
typedef struct Pairs {
    RelnDomain domain;
    RelnNode *other;
    double usual; /* usual number of pairs of a point */
} Pairs;

static Pairs pairs_of(Build *b, RelnNode *x)
{
    const int k = b->m->spec.model.neighbours;
    Pairs p = {RELN_STEP, NULL, usual_size(b)};

    if (b->from)
        return (Pairs){b->edges, b->from, 1};
    if (k == 0)
        return p;
    p.usual = k;
    p.domain = reln_fixed(b->g, "nearest", x ? x->domain : RELN_STEP, k);
    p.other = reln_nearest_rows(b->g, x, x, p.domain);
    return p;
}

/* Messages that all layers of a network have in common. */
static RelnMessages usual_messages(Build *b)
{
    return (RelnMessages){.hidden = b->width,
                          .channels = b->width,
                          .gate = true,
                          .norm = true,
                          .scales = reln_build_scales(b),
                          .activation = b->m->spec.model.activation};
}

/* Sends messages before a round of a graph. Dropout applies to what the messages add to the invariants, not to the invariants
 * that they are added to. If a target of points or edges is computed from features, the messages also move *made. */
static RelnSet send(Build *b, const char *name, RelnSet set, const Pairs *pairs, RelnNode **made)
{
    const RelnScales scale = reln_build_scales(b);
    const bool move =
        needs_features(b->m, RELN_ITEMS_POINTS) || needs_features(b->m, RELN_ITEMS_EDGES);
    RelnMessages options = usual_messages(b);
    RelnFeatures f;
    RelnNode *change;

    options.move = move;
    options.pairs = pairs->domain;
    options.other = pairs->other;
    options.of_pairs = b->from ? of_given_edges(b, &scale) : NULL;
    options.count = pairs->usual;
    f = reln_nn_messages(&b->net, name, (RelnFeatures){*made ? *made : set.x, set.s}, &options);
    change = reln_build_dropped(b, f.s);
    if (move)
        *made = f.x;
    set.s = reln_node_dims(set.s).c == b->width ? reln_add(b->g, set.s, change) : change;
    return set;
}

/* Returns the input of the SPEC that has channel c of the features of samples. */
static int input_of_channel(const RelnModel *m, int c)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->lift[i].slot == SLOT_X && c >= m->lift[i].first &&
            c < m->lift[i].first + m->lift[i].channels)
            return i;
    return 0;
}

/* Returns learned invariants of the rows that are inputs of the sample: values of one input begin with the same numbers, because
 * they are of one kind. */
static RelnNode *first_invariants(Build *b, int count)
{
    RelnNode **of_input = reln_build_scratch(b, (size_t)count, sizeof(RelnNode *));

    for (int c = 0; of_input && c < count; c++) {
        const int i = input_of_channel(b->m, c);
        const char *within = b->net.within;
        const Name name =
            reln_build_name("%s%sinput%d.s", within ? within : "", within ? "." : "", i);

        of_input[c] = c > 0 && input_of_channel(b->m, c - 1) == i
                          ? of_input[c - 1]
                          : reln_param(b->g, name.text, (RelnDims){.c = b->width},
                                       (RelnInit){RELN_INIT_UNIFORM, 1});
    }
    return of_input ? reln_concat(b->g, count, of_input, RELN_P) : NULL;
}

/* Makes rows of features `in` of samples, one for each channel, repeated to the channels of the points x. Rows begin with their
 * invariants with themselves and with the sum of all points. */
static RelnSet rows_of_inputs(Build *b, RelnNode *in, RelnNode *x, RelnNode *total)
{
    RelnGraph *g = b->g;
    const RelnScales scale = reln_build_scales(b);
    const int channels = reln_node_dims(x).c;
    const int count = in ? reln_node_dims(in).c : 0;
    RelnNode *s;
    RelnNode **copies = reln_build_scratch(b, (size_t)channels, sizeof(RelnNode *));
    RelnSet rows = {0};
    RelnDomain domain;

    if (!in || !copies)
        return rows;
    domain = reln_fixed(g, "inputs", RELN_SAMPLES, count);
    rows.x = reln_unstack(g, reln_swap_axes(g, in, RELN_P, RELN_C), domain);
    s = reln_build_join(b, reln_nn_lengths(&b->net, rows.x, &scale),
                        reln_nn_relate(&b->net, rows.x, reln_spread(g, total, domain), &scale));
    s = reln_nn_batch_norm_invariants(&b->net, "inputs.norm", s, NULL);
    rows.s = reln_add(g, reln_nn_dense(&b->net, "inputs.embedding", s, b->width),
                      reln_unstack(g, first_invariants(b, count), domain));
    for (int c = 0; c < channels; c++)
        copies[c] = rows.x;
    rows.x = channels == 1 ? rows.x : reln_concat(g, channels, copies, RELN_C);
    return rows;
}

/* Adds the messages from the rows of `from` to the invariants of the rows of `to`; a row has `usual` of them. */
static RelnNode *send_between(Build *b, const char *name, const RelnSet *to, const RelnSet *from,
                              double usual)
{
    RelnMessages options = usual_messages(b);

    options.from = (RelnFeatures){from->x, from->s};
    options.count = usual;
    return reln_add(
        b->g, to->s,
        reln_build_dropped(
            b, reln_nn_messages(&b->net, name, (RelnFeatures){to->x, to->s}, &options).s));
}

/* Builds a network of messages alone (LorentzNet, EGNN): points begin with their invariants with the sum of all points, and the
 * sample receives the mean of their last invariants. The inputs of the sample, or the sum of all points, are rows which send
 * messages to the points and receive messages from them. */
static RelnSet send_only(Build *b, RelnSet set, const Pairs *pairs, RelnNode **made)
{
    const RelnScales scale = reln_build_scales(b);
    RelnNode *total = total_of(b, set.x);
    RelnNode *near =
        reln_nn_relate(&b->net, set.x, reln_spread(b->g, total, set.x->domain), &scale);
    RelnNode *whole = b->m->slots[SLOT_X].c > 0 ? reln_build_input(b, SLOT_X) : total;
    RelnSet inputs = rows_of_inputs(b, whole, set.x, total);

    if (!needs_features(b->m, RELN_ITEMS_SAMPLES) && !reln_build_wants(b, RELN_ITEMS_POINTS) &&
        !reln_build_wants(b, RELN_ITEMS_EDGES))
        set.sums = total; /* its length would be hidden by those of the inputs */
    near = reln_nn_batch_norm_invariants(&b->net, "embedding.norm", near, NULL);
    set.s = reln_nn_dense(&b->net, "embedding", reln_build_join(b, set.s, near), b->width);
    for (int i = 0; set.s && i < b->m->spec.model.depth; i++) {
        const RelnSet before = set;

        set = send(b, reln_build_name("messages%d", i + 1).text, set, pairs, made);
        if (inputs.x) {
            set.s = send_between(b, reln_build_name("messages%d.from", i + 1).text, &set, &inputs,
                                 reln_node_dims(whole).c);
            inputs.s = send_between(b, reln_build_name("messages%d.to", i + 1).text, &inputs,
                                    &before, usual_size(b));
        }
        reln_build_tap(b, reln_build_name("points%d", i + 1), set.s);
        reln_build_tap(b, reln_build_name("moved%d", i + 1), *made);
    }
    set.z = reln_build_join(b, set.z, set.s ? reln_reduce_mean(b->g, set.s, RELN_SAMPLES) : NULL);
    if (inputs.s)
        set.z = reln_build_join(b, set.z, reln_reduce_mean(b->g, inputs.s, RELN_SAMPLES));
    return set;
}

/* Builds all blocks of a transformer, whose features have a quarter of the width. The invariants of its
 * points are then summed like those of a set. */
static RelnSet attend(Build *b, RelnSet set, RelnNode **made)
{
    const RelnSpecModel *spec = &b->m->spec.model;
    const int heads = spec->heads, each = b->width / heads / 4;
    RelnFeatures f = {reln_nn_linear(&b->net, "tokens", reln_cast(b->g, set.x, RELN_DEFAULT),
                                     heads * (each > 0 ? each : 1)),
                      reln_nn_dense(&b->net, "tokens.s", set.s, b->width)};

    for (int i = 0; i < spec->depth; i++) {
        const Name name = reln_build_name("block%d", i + 1);

        f = reln_nn_transformer(&b->net, name.text, f,
                                &(RelnTransformer){.heads = heads,
                                                   .dropout = spec->dropout,
                                                   .activation = spec->activation});
        reln_build_tap(b, name, f.x);
    }
    set.s = f.s;
    *made = f.x;
    return set;
}

Seen reln_build_structured(Build *b)
{
    const RelnSpecModel *spec = &b->m->spec.model;
    const RelnScales scale = reln_build_scales(b);
    RelnSet points, set;
    RelnExchange options = {.sums = spec->sums,
                            .width = b->width,
                            .scales = scale,
                            .norm = true,
                            .count = usual_size(b),
                            .dropout = spec->dropout,
                            .activation = spec->activation};
    const bool attends = b->kind == RELN_MODEL_TRANSFORMER;
    const int rounds = attends ? 1 : b->kind == RELN_MODEL_MESSAGES ? 0 : spec->depth;
    Pairs pairs = {RELN_STEP, NULL, 1};
    RelnNode *made = NULL;
    Groups groups = {0};
    Seen seen = {0};

    open_edges(b);
    set = points = begin(b, &scale);
    if (!set.x) {
        reln_graph_fail(b->g, RELN_ERR_ARG,
                        "kind %s: no input is a set of matrices or vectors; wanted points: true",
                        reln_model_kind_text(b->kind));
        return seen;
    }
    if (spec->groups > 0)
        set = grouped(b, &points, &scale, &groups);
    if (b->kind == RELN_MODEL_GRAPH || b->kind == RELN_MODEL_MESSAGES)
        pairs = pairs_of(b, set.x);
    options.keep = kept(b, set.x);
    set.sums = reln_build_join(b, set.sums, options.keep);
    if (attends)
        set = attend(b, set, &made);
    if (b->kind == RELN_MODEL_MESSAGES)
        set = send_only(b, set, &pairs, &made);
    for (int i = 0; i < rounds; i++) {
        const Name name = reln_build_name("round%d", i + 1);

        if (b->kind == RELN_MODEL_GRAPH)
            set = send(b, reln_build_name("messages%d", i + 1).text, set, &pairs, &made);
        set = reln_nn_exchange(&b->net, name.text, &set, &options);
        reln_build_tap(b, reln_build_name("points%d", i + 1), set.s);
        reln_build_tap(b, name, set.sums);
    }
    if (reln_build_wants(b, RELN_ITEMS_SAMPLES))
        seen.of[RELN_ITEMS_SAMPLES] = of_samples(b, &set);
    if (reln_build_wants(b, RELN_ITEMS_POINTS) && spec->groups > 0)
        set = back_to_points(b, &points, &set, &groups, &made);
    if (reln_build_wants(b, RELN_ITEMS_POINTS))
        seen.of[RELN_ITEMS_POINTS] = of_points(b, &set, made);
    if (reln_build_wants(b, RELN_ITEMS_EDGES))
        seen.of[RELN_ITEMS_EDGES] = of_edges(b, &set, made);
    return seen;
}
