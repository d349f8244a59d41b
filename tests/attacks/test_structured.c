/* Attacks by rows, pairs, neighbours and windows: distances that the group does not keep, weights that
 * rotate, messages and attention with inputs of the wrong rep. */
#include "attacks/lab.h"
#include "nn/nn.h"

#define OF_ONE(name, call)                                                                         \
    static RelnNode *name(Lab *l)                                                                  \
    {                                                                                              \
        return call;                                                                               \
    }

static RelnDomain all_pairs(Lab *l)
{
    return reln_pairs(l->g, "pairs", l->rows, l->rows, false);
}

/* A weight of each channel of vectors: for windows of two, from two channels to two. */
static RelnNode *taps(Lab *l)
{
    return reln_param(l->g, "taps", (RelnDims){1, 1, 4, 1, 2}, (RelnInit){RELN_INIT_CONSTANT, 1});
}

static RelnNode *to_samples(Lab *l, RelnNode *x)
{
    return reln_reduce(l->g, x, RELN_SAMPLES);
}

/* One channel of the invariants of rows. */
static RelnNode *weight(Lab *l)
{
    return reln_slice(l->g, l->row_s, RELN_C, 0, 1);
}

/* ---- neighbours ------------------------------------------------------------------------------------------------------ */

static RelnNode *neighbours(Lab *l, RelnNode *x, RelnNode *y)
{
    return reln_nearest_rows(l->g, x, y, reln_fixed(l->g, "near", l->rows, 1));
}

static RelnNode *gathered(Lab *l, RelnNode *index)
{
    return to_samples(l, reln_gather(l->g, l->row, index));
}
OF_ONE(nearest, gathered(l, neighbours(l, l->row, l->row)))
OF_ONE(nearest_by_invariants, gathered(l, neighbours(l, l->row_s, l->row_s)))
OF_ONE(nearest_of_two_reps, gathered(l, neighbours(l, l->row, l->row_s)))
OF_ONE(nearest_as_number,
       reln_scale(l->g, reln_cast(l->g, neighbours(l, l->row, l->row), RELN_F64), 1))

/* The distance in a chosen frame: vectors are moved there by a map that is not equivariant. */
static RelnNode *nearest_in_a_frame(Lab *l)
{
    RelnNode *x = reln_linear_map(l->g, l->row, NUMBERS(1, 0, 0, 0, 2, 0, 0, 0, 3), l->v);

    return gathered(l, neighbours(l, x, x));
}

/* Neighbours are found by vectors of one group and gathered under another group. */
static RelnNode *nearest_of_another_group(Lab *l)
{
    RelnNode *x = reln_input(l->g, "z", l->rows, (RelnDims){1, 1, 1, 3, 2},
                             reln_rep_vector(l->other), RELN_DEFAULT);

    return gathered(l, neighbours(l, x, x));
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------ */

static RelnNode *differences(Lab *l)
{
    const RelnDomain pairs = all_pairs(l);

    return reln_sub(l->g, reln_spread(l->g, l->row, pairs),
                    reln_spread_second(l->g, l->row, pairs));
}
OF_ONE(pairs_tanh, to_samples(l, reln_tanh(l->g, differences(l))))
OF_ONE(pairs_square, to_samples(l, reln_square(l->g, differences(l))))
OF_ONE(pairs_right, reln_reduce(l->g, differences(l), l->rows))
OF_ONE(pairs_softmax, to_samples(l, reln_softmax_within(l->g, differences(l), l->rows)))
OF_ONE(pairs_largest, reln_reduce_max(l->g, differences(l), l->rows))
OF_ONE(is_largest, reln_is_max_within(l->g, l->row, RELN_SAMPLES))
OF_ONE(pair_gram, to_samples(l, reln_pair_gram(l->g, l->row, l->row, all_pairs(l))))
OF_ONE(spread_added,
       reln_add(l->g, reln_spread(l->g, reln_slice(l->g, l->s, RELN_P, 0, 1), l->rows), l->row))
OF_ONE(spread_right,
       reln_add(l->g, reln_spread(l->g, reln_slice(l->g, l->x, RELN_P, 0, 1), l->rows), l->row))

static RelnNode *weighed_by_vectors(Lab *l)
{
    return reln_pair_weigh(l->g, differences(l), l->row, l->rows);
}

static RelnNode *weighed_by_products(Lab *l)
{
    RelnNode *a = reln_pair_gram(l->g, l->row, l->row, all_pairs(l));

    return reln_pair_weigh(l->g, reln_softmax_within(l->g, a, l->rows), l->row, l->rows);
}

static RelnNode *coarse_tanh(Lab *l)
{
    return to_samples(
        l, reln_tanh(l->g, reln_reduce_mean(l->g, l->row, reln_coarse(l->g, "half", l->rows, 2))));
}

static RelnNode *coarse_right(Lab *l)
{
    return to_samples(l, reln_reduce_mean(l->g, l->row, reln_coarse(l->g, "half", l->rows, 2)));
}

/* ---- windows ----------------------------------------------------------------------------------------------------------- */

#define TWO reln_window_valid(2, 1, 1)
OF_ONE(convolved, reln_conv(l->g, l->x, taps(l), RELN_P, TWO))
OF_ONE(convolved_tanh, reln_tanh(l->g, reln_conv(l->g, l->x, taps(l), RELN_P, TWO)))
OF_ONE(convolved_back_tanh, reln_tanh(l->g, reln_conv_t(l->g, reln_slice(l->g, l->x, RELN_P, 0, 1),
                                                        taps(l), RELN_P, TWO, 2)))
OF_ONE(convolved_by_vectors,
       reln_conv(l->g, reln_slice(l->g, l->x, RELN_C, 0, 1),
                 reln_reshape(l->g, reln_batch_sum(l->g, reln_slice(l->g, l->x, RELN_C, 0, 1)),
                              (RelnDims){1, 1, 2, 3, 1}),
                 RELN_P, TWO))
OF_ONE(convolution_weights,
       reln_conv_outer(l->g, l->x, reln_slice(l->g, l->y, RELN_P, 0, 1), RELN_P, TWO))
OF_ONE(window_choice, reln_pick(l->g, l->y, reln_window_argmax(l->g, l->x, RELN_P, TWO), RELN_P))

/* ---- layers -------------------------------------------------------------------------------------------------------------- */

static RelnNode *messages(Lab *l, RelnFeatures in, RelnMessages options, bool invariants)
{
    const RelnNet net = {.graph = l->g, .train = true};
    const RelnFeatures out = reln_nn_messages(&net, "m", in, &options);

    return invariants ? out.s : out.x;
}
#define FEATURES(x_, s_)                                                                           \
    (RelnFeatures)                                                                                 \
    {                                                                                              \
        .x = (x_), .s = (s_)                                                                       \
    }
#define MESSAGES(...)                                                                              \
    (RelnMessages)                                                                                 \
    {                                                                                              \
        .hidden = 4, .move = true, .gate = true, __VA_ARGS__                                       \
    }
OF_ONE(messages_x, messages(l, FEATURES(l->row, l->row_s), MESSAGES(.norm = true), false))
OF_ONE(messages_s, messages(l, FEATURES(l->row, l->row_s), MESSAGES(.limit = 2), true))
OF_ONE(messages_swapped, messages(l, FEATURES(l->row_s, l->row), MESSAGES(.norm = true), true))
OF_ONE(messages_weighed,
       messages(l, FEATURES(l->row, l->row_s),
                MESSAGES(.weights = reln_slice(l->g, l->row, RELN_C, 0, 1)), false))
OF_ONE(messages_beside, messages(l, FEATURES(l->row, l->row_s),
                                 MESSAGES(.pairs = all_pairs(l), .of_pairs = differences(l)), true))

static RelnNode *messages_to_nearest(Lab *l)
{
    RelnNode *other = neighbours(l, l->row, l->row);

    return messages(l, FEATURES(l->row, l->row_s),
                    MESSAGES(.pairs = reln_node_domain(other), .other = other), false);
}

static RelnNode *attended(Lab *l, RelnNode *x, RelnNode *s, bool invariants)
{
    const RelnNet net = {.graph = l->g};
    const RelnFeatures out = reln_nn_attention(&net, "a", FEATURES(x, s), 1);

    return invariants ? out.s : out.x;
}
OF_ONE(attention_x, attended(l, l->row, l->row_s, false))
OF_ONE(attention_s, attended(l, l->row, l->row_s, true))
OF_ONE(attention_swapped, attended(l, l->row_s, l->row, true))

static RelnNode *crossed(Lab *l)
{
    const RelnNet net = {.graph = l->g};
    RelnNode *s = reln_input(l->g, "z", l->rows, (RelnDims){1, 1, 1, reln_rep_dim(l->m), 2}, l->m,
                             RELN_DEFAULT);

    return reln_nn_cross_attention(&net, "a", FEATURES(l->row, l->row_s), FEATURES(s, l->row_s), 1)
        .x;
}

static RelnNode *exchanged(Lab *l, RelnNode *s, RelnNode *keep)
{
    const RelnNet net = {.graph = l->g, .train = true};
    const RelnSet in = {.x = l->row, .s = s, .sums = reln_nn_far_rows(&net, l->row, 2)};
    const RelnExchange options = {.sums = 2,
                                  .width = 4,
                                  .keep = keep,
                                  .scales = {.unit = 1, .count = 1, .at = {1}},
                                  .norm = true};

    return reln_nn_exchange(&net, "e", &in, &options).z;
}
OF_ONE(exchange_right, exchanged(l, l->row_s, NULL))
OF_ONE(exchange_of_vectors, exchanged(l, l->row, NULL))
OF_ONE(exchange_kept, exchanged(l, l->row_s, reln_slice(l->g, l->s, RELN_P, 0, 1)))
OF_ONE(far_rows, reln_nn_far_rows(&(RelnNet){.graph = l->g}, l->row, 2))
OF_ONE(norm_of_vectors,
       reln_nn_batch_norm_invariants(&(RelnNet){.graph = l->g, .train = true}, "n", l->row, NULL))
OF_ONE(norm_weighed_by_vectors,
       reln_nn_batch_norm_invariants(&(RelnNet){.graph = l->g, .train = true}, "n", l->row_s,
                                     reln_slice(l->g, l->row, RELN_C, 0, 1)))
OF_ONE(layer_norm_of_vectors, reln_nn_layer_norm_invariants(&(RelnNet){.graph = l->g}, "n", l->row))
OF_ONE(pool_largest, reln_nn_pool_largest(&(RelnNet){.graph = l->g}, l->row, RELN_POOL_ROWS))
OF_ONE(pool_by_vectors,
       reln_nn_pool_weighted(&(RelnNet){.graph = l->g}, l->row,
                             reln_slice(l->g, l->row, RELN_C, 0, 1), RELN_POOL_ROWS))
OF_ONE(pool_right, reln_nn_pool_sum(&(RelnNet){.graph = l->g}, l->row, weight(l), RELN_POOL_ROWS))

int main(void)
{
    static const Attack attacks[] = {
#define ATTACK(answer, group, build, sentence) {sentence, answer, group, build, NULL, 0}
        ATTACK(EQUIVARIANT, "o:3", nearest, "neighbours may be found where lengths are kept"),
        ATTACK(REFUSED, "lorentz", nearest, "boosts change which row is nearest"),
        ATTACK(REFUSED, "gl:3", nearest, "linear maps change which row is nearest"),
        ATTACK(EQUIVARIANT, "gl:3", nearest_by_invariants, "invariants have distances"),
        ATTACK(REFUSED, "so:3", nearest_of_two_reps, "vectors are not near invariants"),
        ATTACK(REFUSED, "so:3", nearest_as_number, "the number of a row is no feature"),
        ATTACK(REFUSED, "so:3", nearest_in_a_frame, "distances are not those of a chosen frame"),
        ATTACK(REFUSED, "gl:3", nearest_of_another_group,
               "distances are not those of another group's vectors"),
        ATTACK(REFUSED, "so:3", pairs_tanh, "differences of rows are vectors"),
        ATTACK(REFUSED, "so:3", pairs_square, "coordinates of differences are not squared"),
        ATTACK(EQUIVARIANT, "gl:3", pairs_right, "differences of rows may be added up"),
        ATTACK(REFUSED, "so:3", pairs_softmax, "differences of rows have no softmax"),
        ATTACK(REFUSED, "so:3", pairs_largest, "differences of rows have no maximum"),
        ATTACK(REFUSED, "so:3", is_largest, "no vector is the largest of its set"),
        ATTACK(EQUIVARIANT, "o:3", pair_gram, "vectors have products where lengths are kept"),
        ATTACK(REFUSED, "lorentz", pair_gram, "boosts do not keep dot products of pairs"),
        ATTACK(REFUSED, "so:3", spread_added,
               "an invariant of the sample is no vector of its rows"),
        ATTACK(EQUIVARIANT, "gl:3", spread_right,
               "a vector of the sample may be added to its rows"),
        ATTACK(REFUSED, "so:3", weighed_by_vectors, "vectors do not weigh rows"),
        ATTACK(EQUIVARIANT, "so:3", weighed_by_products, "products of vectors may weigh rows"),
        ATTACK(REFUSED, "so:3", coarse_tanh, "means of a coarser resolution are vectors"),
        ATTACK(EQUIVARIANT, "gl:3", coarse_right, "rows may be averaged in pairs"),
        ATTACK(EQUIVARIANT, "gl:3", convolved, "vectors may be convolved"),
        ATTACK(REFUSED, "so:3", convolved_tanh, "a convolution of vectors is a vector"),
        ATTACK(REFUSED, "so:3", convolved_back_tanh, "the adjoint of a convolution gives vectors"),
        ATTACK(REFUSED, "so:3", convolved_by_vectors, "vectors are no weights of a convolution"),
        ATTACK(REFUSED, "gl:3", convolution_weights,
               "the weights' gradient pairs with the dual only"),
        ATTACK(REFUSED, "so:3", window_choice, "vectors do not choose a point of a window"),
        ATTACK(EQUIVARIANT, "o:1,3", messages_x, "messages move four-vectors"),
        ATTACK(EQUIVARIANT, "o:1,3", messages_s, "messages tell invariants of four-vectors"),
        ATTACK(REFUSED, "gl:3", messages_x, "vectors of gl(3) have no invariants to tell"),
        ATTACK(REFUSED, "so:3", messages_swapped, "messages take vectors for no invariants"),
        ATTACK(REFUSED, "so:3", messages_weighed, "vectors do not weigh messages"),
        ATTACK(REFUSED, "so:3", messages_beside, "vectors of pairs are no invariants of messages"),
        ATTACK(EQUIVARIANT, "o:3", messages_to_nearest, "messages go to the nearest row"),
        ATTACK(REFUSED, "lorentz", messages_to_nearest, "boosts change who gets a message"),
        ATTACK(EQUIVARIANT, "o:3", attention_x, "attention of vectors gives vectors"),
        ATTACK(EQUIVARIANT, "o:1,3", attention_s, "attention scores four-vectors by their form"),
        ATTACK(REFUSED, "gl:3", attention_x, "vectors of gl(3) have no scores"),
        ATTACK(EQUIVARIANT, "so:3", attention_swapped,
               "products of vectors may be scores beside them"),
        ATTACK(REFUSED, "gl:3", attention_swapped, "attention takes vectors for no invariants"),
        ATTACK(REFUSED, "so:3", crossed, "vectors and matrices have no scores"),
        ATTACK(EQUIVARIANT, "o:1,3", exchange_right, "rows exchange invariants of sums"),
        ATTACK(REFUSED, "gl:3", exchange_right, "sums of vectors of gl(3) have no invariants"),
        ATTACK(REFUSED, "so:3", exchange_of_vectors, "rows know no vectors as invariants"),
        ATTACK(REFUSED, "so:3", exchange_kept, "invariants are no sums of vectors"),
        ATTACK(EQUIVARIANT, "o:3", far_rows, "rows far apart stay so"),
        ATTACK(REFUSED, "gl:3", far_rows, "linear maps change which rows are far apart"),
        ATTACK(REFUSED, "so:3", norm_of_vectors, "a norm of invariants takes no vectors"),
        ATTACK(REFUSED, "so:3", norm_weighed_by_vectors, "vectors weigh no statistics"),
        ATTACK(REFUSED, "so:3", layer_norm_of_vectors,
               "a layer norm of invariants takes no vectors"),
        ATTACK(REFUSED, "so:3", pool_largest, "a set has no largest vector"),
        ATTACK(REFUSED, "so:3", pool_by_vectors, "vectors weigh no rows of a pool"),
        ATTACK(EQUIVARIANT, "gl:3", pool_right, "invariants weigh rows of a pool"),
    };
    return RUN_ATTACKS("structured", attacks);
}
