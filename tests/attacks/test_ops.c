/* Attacks by each op: coordinates are taken apart, mixed, masked, compared, drawn, reinterpreted. */
#include "attacks/lab.h"
#include "nn/nn.h"

/* ---- functions of coordinates ----------------------------------------------------------------------------------- */

#define OF_ONE(name, call)                                                                         \
    static RelnNode *name(Lab *l)                                                                  \
    {                                                                                              \
        return call;                                                                               \
    }
OF_ONE(map_tanh, reln_tanh(l->g, l->x))
OF_ONE(map_abs, reln_abs(l->g, l->x))
OF_ONE(map_relu, reln_relu(l->g, l->x))
OF_ONE(map_square, reln_square(l->g, l->x))
OF_ONE(map_sign, reln_sign(l->g, l->x))
OF_ONE(map_silu, reln_silu(l->g, l->x))
OF_ONE(map_reciprocal, reln_reciprocal(l->g, l->x))
OF_ONE(shifted, reln_shift(l->g, l->x, 1, 1))
OF_ONE(product, reln_mul(l->g, l->x, l->y))
OF_ONE(quotient, reln_div(l->g, l->x, l->y))
OF_ONE(quotient_below, reln_div(l->g, l->s, l->x))
OF_ONE(larger, reln_maximum(l->g, l->x, l->y))
OF_ONE(smaller, reln_minimum(l->g, l->x, l->y))
OF_ONE(compared, reln_less(l->g, l->x, l->y))
OF_ONE(softmax_k, reln_softmax(l->g, l->x, RELN_K))
OF_ONE(softmax_c, reln_softmax(l->g, l->x, RELN_C))
OF_ONE(logsumexp_p, reln_logsumexp(l->g, l->x, RELN_P))
OF_ONE(sum_k, reln_sum(l->g, l->x, RELN_K))
OF_ONE(mean_k, reln_mean(l->g, l->x, RELN_K))
OF_ONE(sum_all, reln_sum_all(l->g, l->x))
OF_ONE(add_invariant, reln_add(l->g, l->x, l->s))
OF_ONE(stopped, reln_tanh(l->g, reln_stop_gradient(l->g, l->x)))
OF_ONE(cast_away, reln_tanh(l->g, reln_cast(l->g, l->x, RELN_F32)))

/* Three vectors have as many coordinates as a matrix. */
static RelnNode *sub_other_rep(Lab *l)
{
    RelnNode *x = reln_slice(l->g, l->x, RELN_P, 0, 1);

    return reln_sub(l->g, l->mat, reln_concat(l->g, 3, (RelnNode *[]){x, x, x}, RELN_K));
}

/* A factor for each coordinate is a diagonal map. */
static RelnNode *factors(Lab *l)
{
    return reln_mul(l->g, l->x,
                    reln_const(l->g, (RelnDims){1, 1, 1, 3, 1}, NULL, NUMBERS(1, 2, 3)));
}

static RelnNode *factors_learned(Lab *l)
{
    return reln_mul(l->g, l->x, lab_param(l, 3, 1));
}

static RelnNode *noise(Lab *l)
{
    return reln_mul(l->g, l->x,
                    reln_random_bernoulli(l->g, 0.5, RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 2}, 1));
}

static RelnNode *noise_added(Lab *l)
{
    return reln_add(l->g, l->x,
                    reln_random_normal(l->g, RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 2}, 1));
}

OF_ONE(dropped, reln_dropout(l->g, l->x, 0.5, 3))

/* ---- choices ---------------------------------------------------------------------------------------------------- */

static RelnNode *mask3(Lab *l)
{
    return reln_const(l->g, (RelnDims){1, 1, 1, 3, 1}, NULL, NUMBERS(1, 0, 1));
}

OF_ONE(masked, reln_mask(l->g, mask3(l), l->x))
OF_ONE(masked_not, reln_mask_not(l->g, mask3(l), l->x))
OF_ONE(selected, reln_select(l->g, mask3(l), l->x, l->y))
OF_ONE(selected_by_vector, reln_select(l->g, l->x, l->x, l->y))
OF_ONE(selected_mixed, reln_select(l->g, reln_step(l->g, l->s), l->x, mask3(l)))
OF_ONE(selected_mixed_other, reln_select(l->g, reln_step(l->g, l->s), mask3(l), l->x))
OF_ONE(selected_fairly, reln_select(l->g, reln_step(l->g, l->s), l->x, l->y))
OF_ONE(argmax_k, reln_pick(l->g, l->y, reln_argmax(l->g, l->x, RELN_K), RELN_P))
OF_ONE(argmax_p, reln_pick(l->g, l->y, reln_argmax(l->g, l->x, RELN_P), RELN_P))
OF_ONE(pick_k, reln_pick(l->g, l->x, reln_argmax(l->g, l->s, RELN_P), RELN_K))
OF_ONE(pick_fairly, reln_pick(l->g, l->x, reln_argmax(l->g, l->s, RELN_P), RELN_P))
OF_ONE(pick_outside,
       reln_tanh(l->g, reln_pick(l->g, l->x, reln_argmax(l->g, l->s, RELN_P), RELN_P)))
OF_ONE(place_k, reln_place(l->g, l->x, reln_argmax(l->g, l->s, RELN_P), RELN_K, 3))

/* ---- coordinates rearranged --------------------------------------------------------------------------------------- */

OF_ONE(reshaped, reln_reshape(l->g, l->x, (RelnDims){2, 1, 3, 1, 2}))
OF_ONE(reshaped_k, reln_reshape(l->g, l->x, (RelnDims){2, 1, 1, 2, 3}))
OF_ONE(reshaped_channels, reln_reshape(l->g, l->x, (RelnDims){4, 1, 1, 3, 1}))
OF_ONE(reshaped_points, reln_reshape(l->g, l->x, (RelnDims){1, 2, 1, 3, 2}))
OF_ONE(swapped, reln_swap_axes(l->g, l->x, RELN_K, RELN_C))
OF_ONE(swapped_points, reln_swap_axes(l->g, l->x, RELN_P, RELN_C))
OF_ONE(sliced, reln_slice(l->g, l->x, RELN_K, 0, 1))
OF_ONE(sliced_as, reln_slice_k(l->g, l->x, 0, reln_rep_trivial(l->group, 1)))
OF_ONE(sliced_vector, reln_slice_k(l->g, l->big, 0, l->v))
OF_ONE(sliced_right, reln_slice_k(l->g, l->big, 1, l->v))
OF_ONE(padded, reln_pad(l->g, l->x, RELN_K, 1, 0))
OF_ONE(joined, reln_concat(l->g, 2, (RelnNode *[]){l->x, reln_expand(l->g, l->s, l->x)}, RELN_C))
OF_ONE(expanded, reln_expand(l->g, reln_slice(l->g, l->s, RELN_C, 0, 1), l->x))

static RelnNode *expanded_as_vector(Lab *l)
{
    return reln_add(l->g, l->x, reln_expand(l->g, l->s, l->x));
}

/* Three invariants joined along K are not a vector, and (s, v) is not (v, s). */
static RelnNode *joined_k(Lab *l)
{
    RelnNode *three = reln_concat(l->g, 3, (RelnNode *[]){l->s, l->s, l->s}, RELN_K);

    return reln_add(l->g, l->x, three);
}

static RelnNode *joined_order(Lab *l)
{
    return reln_add(l->g, l->big, reln_concat_k(l->g, l->x, l->s));
}

static RelnNode *joined_right(Lab *l)
{
    return reln_add(l->g, l->big, reln_concat_k(l->g, l->s, l->x));
}

#define IN_PAIRS                                                                                   \
    (RelnWindow)                                                                                   \
    {                                                                                              \
        2, 1, 1, 1, 1                                                                              \
    }
OF_ONE(windowed, reln_tanh(l->g, reln_window_mean(l->g, l->x, RELN_P, IN_PAIRS)))
OF_ONE(windowed_right, reln_window_mean(l->g, l->x, RELN_P, IN_PAIRS))
OF_ONE(windowed_largest, reln_window_max(l->g, l->x, RELN_P, IN_PAIRS))
OF_ONE(convolved_k, reln_conv(l->g, l->x, lab_param(l, 1, 1), RELN_K, IN_PAIRS))

/* ---- products ------------------------------------------------------------------------------------------------------ */

OF_ONE(transposed, reln_transpose_matrix(l->g, l->mat))
OF_ONE(dotted, reln_pair(l->g, l->x, l->y))
OF_ONE(gram, reln_gram(l->g, l->x, l->y))
OF_ONE(channel_gram, reln_channel_gram(l->g, l->x, l->y))
OF_ONE(outer, reln_outer(l->g, l->x, l->y))
OF_ONE(weighed, reln_weigh(l->g, reln_swap_axes(l->g, l->x, RELN_R, RELN_P), l->y))
OF_ONE(mixed_by_input, reln_mix(l->g, l->x, l->s))
OF_ONE(matmul_vectors,
       reln_matmul(l->g, 3, l->mat, reln_reshape(l->g, l->mat, (RelnDims){1, 1, 3, 3, 2})))
OF_ONE(matmul_right, reln_matmul(l->g, 3, l->mat, l->mat))

static RelnNode *channel_mixed(Lab *l)
{
    RelnNode *w = reln_slice(l->g, l->x, RELN_P, 0, 1);

    return reln_channel_mix(l->g, l->x, w);
}

/* u (x) u is a product of vectors, not a matrix that conjugation turns. */
static RelnNode *matmul_tensor(Lab *l)
{
    const RelnRep *t = reln_rep_product(l->v, l->v);
    RelnNode *z = reln_input(l->g, "t", RELN_SAMPLES, (RelnDims){1, 1, 1, 9, 2}, t, RELN_DEFAULT);

    return reln_matmul(l->g, 3, z, z);
}

static RelnNode *matexp_tensor(Lab *l)
{
    const RelnRep *t = reln_rep_product(l->v, l->v);
    RelnNode *z = reln_input(l->g, "t", RELN_SAMPLES, (RelnDims){1, 1, 1, 9, 2}, t, RELN_DEFAULT);

    return reln_matexp(l->g, reln_scale(l->g, z, 0.1));
}

OF_ONE(matexp_right, reln_matexp(l->g, reln_scale(l->g, l->mat, 0.1)))
OF_ONE(symexp, reln_symexp(l->g, l->mat))

/* The dual is another rep where the group is not orthogonal, and its dual is the rep again. */
static RelnNode *dual_added(Lab *l)
{
    RelnNode *z = reln_input(l->g, "z", RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 2},
                             reln_rep_dual(l->v), RELN_DEFAULT);

    return reln_add(l->g, l->x, z);
}

static RelnNode *dual_of_dual(Lab *l)
{
    RelnNode *z = reln_input(l->g, "z", RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 2},
                             reln_rep_dual(reln_rep_dual(l->v)), RELN_DEFAULT);

    return reln_add(l->g, l->x, z);
}

/* A gradient is of the dual rep: descending along it needs a form. */
static RelnNode *descended(Lab *l)
{
    RelnNode *z = reln_input(l->g, "z", RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 2},
                             reln_rep_dual(l->v), RELN_DEFAULT);
    RelnNode *grad = NULL;

    reln_grad(l->g, reln_sum_all(l->g, reln_square(l->g, reln_pair(l->g, l->x, z))), 1, &l->x,
              &grad);
    return reln_sub(l->g, l->x, grad);
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

OF_ONE(gathered, reln_tanh(l->g, reln_gather(l->g, l->row, l->index)))
OF_ONE(gathered_right, reln_gather(l->g, l->row, l->index))
OF_ONE(scattered, reln_tanh(l->g, reln_scatter_add(l->g, l->row, l->index, l->rows)))
OF_ONE(segment_max, reln_segment_max(l->g, l->row, reln_row_sample(l->g, l->rows), RELN_SAMPLES))
OF_ONE(segment_softmax,
       reln_segment_softmax(l->g, l->row, reln_row_sample(l->g, l->rows), RELN_SAMPLES))
OF_ONE(segment_mean, reln_segment_mean(l->g, l->row, reln_row_sample(l->g, l->rows), RELN_SAMPLES))
OF_ONE(gathered_by_features,
       reln_gather(l->g, l->row,
                   reln_segment_argmax(l->g, l->row, reln_row_sample(l->g, l->rows), RELN_SAMPLES)))
OF_ONE(domains_added, reln_add(l->g, l->row, reln_slice(l->g, l->x, RELN_P, 0, 1)))

static RelnNode *gathered_by_argmax(Lab *l)
{
    RelnNode *which = reln_segment_argmax(l->g, reln_slice(l->g, l->row_s, RELN_C, 0, 1),
                                          reln_row_sample(l->g, l->rows), RELN_SAMPLES);

    return reln_gather(l->g, l->row, which);
}

/* A form for vectors that the attacker chooses: diag(first, 1, ...). */
static RelnNode *chosen_form(Lab *l, double first)
{
    double values[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N] = {first};
    const RelnRepForm form = {l->v, values};
    const RelnNet net = {.graph = l->g, .forms = &form, .n_forms = 1};

    for (int k = 1; k < reln_rep_dim(l->v); k++)
        values[k * (reln_rep_dim(l->v) + 1)] = 1;
    return reln_nn_rms(&net, "r", l->x, NULL);
}
OF_ONE(chosen_euclid, chosen_form(l, 1))
OF_ONE(chosen_minkowski, chosen_form(l, -1))
OF_ONE(chosen_weights, chosen_form(l, 2))
OF_ONE(found_form, reln_nn_rms(&(RelnNet){.graph = l->g}, "r", l->x, NULL))

OF_ONE(softmax_within, reln_softmax_within(l->g, l->row, RELN_SAMPLES))
OF_ONE(largest_within, reln_reduce_max(l->g, l->row, RELN_SAMPLES))
OF_ONE(sum_within, reln_sum_within(l->g, l->row, RELN_SAMPLES))
OF_ONE(pairs_of_vectors,
       reln_pair_gram(l->g, l->row, l->row, reln_pairs(l->g, "pairs", l->rows, l->rows, true)))

static RelnNode *attention_in_rows(Lab *l)
{
    const RelnNet net = {.graph = l->g};

    return reln_nn_attention(&net, "a", (RelnFeatures){.s = l->row_s}, 1).s;
}

static RelnNode *conv_in_rows(Lab *l)
{
    const RelnNet net = {.graph = l->g};

    return reln_nn_conv(&net, "c", l->row, &(RelnConv){.channels = 2, .width = 3, .pad = 1});
}

int main(void)
{
    static const Attack attacks[] = {
#define ATTACK(answer, group, build, sentence) {sentence, answer, group, build, NULL, 0}
        ATTACK(REFUSED, "so:3", map_tanh, "tanh takes no vector"),
        ATTACK(REFUSED, "so:3", map_abs, "abs takes no vector"),
        ATTACK(REFUSED, "so:3", map_relu, "relu takes no vector"),
        ATTACK(REFUSED, "so:3", map_square, "square takes no vector"),
        ATTACK(REFUSED, "so:3", map_sign, "sign takes no vector"),
        ATTACK(REFUSED, "so:3", map_silu, "silu takes no vector"),
        ATTACK(REFUSED, "so:3", map_reciprocal, "reciprocal takes no vector"),
        ATTACK(REFUSED, "so:3", shifted, "a vector is not shifted by a number"),
        ATTACK(REFUSED, "so:3", product, "vectors are not multiplied coordinate by coordinate"),
        ATTACK(REFUSED, "so:3", quotient, "vectors are not divided coordinate by coordinate"),
        ATTACK(REFUSED, "so:3", quotient_below, "nothing is divided by a vector"),
        ATTACK(REFUSED, "so:3", larger, "vectors have no maximum"),
        ATTACK(REFUSED, "so:3", smaller, "vectors have no minimum"),
        ATTACK(REFUSED, "so:3", compared, "vectors are not compared"),
        ATTACK(REFUSED, "so:3", softmax_k, "softmax does not run over coordinates"),
        ATTACK(REFUSED, "so:3", softmax_c, "softmax over channels takes no vector"),
        ATTACK(REFUSED, "so:3", logsumexp_p, "logsumexp over points takes no vector"),
        ATTACK(REFUSED, "so:3", sum_k, "coordinates are not summed"),
        ATTACK(REFUSED, "so:3", mean_k, "coordinates have no mean"),
        ATTACK(REFUSED, "so:3", sum_all, "a sum of everything takes no vector"),
        ATTACK(REFUSED, "so:3", add_invariant, "an invariant is not added to a vector"),
        ATTACK(REFUSED, "so:3", sub_other_rep, "a vector is not taken from a matrix"),
        ATTACK(REFUSED, "so:3", stopped, "a stopped gradient keeps its rep"),
        ATTACK(REFUSED, "so:3", cast_away, "a cast keeps its rep"),
        ATTACK(REFUSED, "so:3", factors, "coordinates have no factors of their own"),
        ATTACK(REFUSED, "so:3", factors_learned,
               "coordinates have no learned factors of their own"),
        ATTACK(REFUSED, "so:3", noise, "coordinates are not dropped at random"),
        ATTACK(REFUSED, "so:3", noise_added, "random numbers are no vector"),
        ATTACK(EQUIVARIANT, "so:3", dropped, "whole vectors may be dropped at random"),
        ATTACK(REFUSED, "so:3", masked, "a mask does not take a vector apart"),
        ATTACK(REFUSED, "so:3", masked_not, "a mask turned round does not either"),
        ATTACK(REFUSED, "so:3", selected, "a choice does not take a vector apart"),
        ATTACK(REFUSED, "so:3", selected_by_vector, "a vector does not choose"),
        ATTACK(REFUSED, "so:3", selected_mixed,
               "there is no choice between a vector and invariants"),
        ATTACK(REFUSED, "so:3", selected_mixed_other, "nor between invariants and a vector"),
        ATTACK(EQUIVARIANT, "so:3", selected_fairly, "an invariant may choose between vectors"),
        ATTACK(REFUSED, "so:3", argmax_k, "there is no largest coordinate"),
        ATTACK(REFUSED, "so:3", argmax_p, "there is no largest vector"),
        ATTACK(REFUSED, "so:3", pick_k, "coordinates are not picked"),
        ATTACK(EQUIVARIANT, "so:3", pick_fairly, "vectors may be picked by invariants"),
        ATTACK(REFUSED, "so:3", pick_outside, "a picked vector is a vector"),
        ATTACK(REFUSED, "so:3", place_k, "coordinates are not placed"),
        ATTACK(REFUSED, "so:3", reshaped, "coordinates are not reshaped away"),
        ATTACK(REFUSED, "so:3", reshaped_k,
               "coordinates and channels are not exchanged by a reshape"),
        ATTACK(REFUSED, "so:3", reshaped_channels, "channels are not reshaped across coordinates"),
        ATTACK(EQUIVARIANT, "so:3", reshaped_points, "points may be reshaped"),
        ATTACK(REFUSED, "so:3", swapped, "coordinates and channels are not swapped"),
        ATTACK(EQUIVARIANT, "so:3", swapped_points, "points and channels may be swapped"),
        ATTACK(REFUSED, "so:3", sliced, "a slice does not cut coordinates"),
        ATTACK(REFUSED, "so:3", sliced_as, "a coordinate is no invariant"),
        ATTACK(REFUSED, "so:3", sliced_vector, "a slice begins where the vector begins"),
        ATTACK(EQUIVARIANT, "so:3", sliced_right, "a vector may be sliced from a sum"),
        ATTACK(REFUSED, "so:3", padded, "coordinates are not padded"),
        ATTACK(REFUSED, "so:3", joined, "channels of a vector and of invariants are not joined"),
        ATTACK(EQUIVARIANT, "so:3", expanded, "an invariant expanded along K is invariants"),
        ATTACK(REFUSED, "so:3", expanded_as_vector, "an invariant expanded along K is no vector"),
        ATTACK(REFUSED, "so:3", joined_k, "three invariants are no vector"),
        ATTACK(REFUSED, "so:3", joined_order, "a sum of reps has an order"),
        ATTACK(EQUIVARIANT, "so:3", joined_right, "a sum of reps in its order may be added"),
        ATTACK(REFUSED, "so:3", windowed, "means of vectors are vectors"),
        ATTACK(EQUIVARIANT, "so:3", windowed_right, "vectors of a window may be averaged"),
        ATTACK(REFUSED, "so:3", windowed_largest, "coordinates are not compared"),
        ATTACK(REFUSED, "so:3", convolved_k, "no windows of coordinates"),
        ATTACK(REFUSED, "gl:3", transposed, "a transpose is none under gl(3)"),
        ATTACK(EQUIVARIANT, "so:3", transposed, "a transpose is one under rotations"),
        ATTACK(REFUSED, "gl:3", dotted, "the dot product is none under gl(3)"),
        ATTACK(REFUSED, "lorentz", dotted, "the dot product is none under boosts"),
        ATTACK(EQUIVARIANT, "so:3", dotted, "the dot product is one under rotations"),
        ATTACK(REFUSED, "lorentz", chosen_euclid, "a chosen form must be kept by boosts"),
        ATTACK(REFUSED, "o:3", chosen_weights, "a chosen form must be kept by rotations"),
        ATTACK(EQUIVARIANT, "lorentz", chosen_minkowski, "Minkowski's form may be chosen"),
        ATTACK(EQUIVARIANT, "o:1,3", found_form, "four-vectors have a form of their own"),
        ATTACK(REFUSED, "gl:3", found_form, "vectors of gl(3) have no form of their own"),
        ATTACK(REFUSED, "gl:3", gram, "a gram matrix pairs with the dual only"),
        ATTACK(REFUSED, "gl:3", channel_gram, "a gram matrix of channels pairs with the dual only"),
        ATTACK(REFUSED, "sl:3", outer, "an outer product pairs with the dual only"),
        ATTACK(REFUSED, "so:3", weighed, "vectors are no weights"),
        ATTACK(REFUSED, "so:3", channel_mixed, "vectors do not mix channels"),
        ATTACK(REFUSED, "so:3", mixed_by_input, "weights do not depend on samples"),
        ATTACK(REFUSED, "gl:3", matmul_tensor,
               "tensors are not multiplied as matrices under gl(3)"),
        ATTACK(REFUSED, "so:3", matmul_vectors,
               "coordinates are not reinterpreted before a product"),
        ATTACK(EQUIVARIANT, "gl:3", matmul_right, "matrices may be multiplied"),
        ATTACK(REFUSED, "gl:3", matexp_tensor, "a tensor has no exponential under gl(3)"),
        ATTACK(EQUIVARIANT, "gl:3", matexp_right, "a matrix has an exponential"),
        ATTACK(REFUSED, "gl:3", symexp, "symmetric functions are none under gl(3)"),
        ATTACK(REFUSED, "gl:3", dual_added, "a vector and a covector are not added"),
        ATTACK(EQUIVARIANT, "gl:3", dual_of_dual, "the dual of the dual is the rep"),
        ATTACK(REFUSED, "gl:3", descended, "a gradient is no vector under gl(3)"),
        ATTACK(REFUSED, "so:3", gathered, "a gathered vector is a vector"),
        ATTACK(EQUIVARIANT, "so:3", gathered_right, "vectors may be gathered"),
        ATTACK(REFUSED, "so:3", scattered, "scattered vectors add up to vectors"),
        ATTACK(REFUSED, "so:3", segment_max, "rows have no largest vector"),
        ATTACK(REFUSED, "so:3", segment_softmax, "rows have no softmax of vectors"),
        ATTACK(EQUIVARIANT, "so:3", segment_mean, "rows have a mean vector"),
        ATTACK(REFUSED, "so:3", gathered_by_features, "vectors do not choose rows"),
        ATTACK(EQUIVARIANT, "so:3", gathered_by_argmax, "invariants choose rows"),
        ATTACK(REFUSED, "so:3", domains_added, "rows and samples are not added"),
        ATTACK(EQUIVARIANT, "so:3", attention_in_rows,
               "attention works among the rows of a sample"),
        ATTACK(REFUSED, "so:3", softmax_within, "rows of a parent have no softmax of vectors"),
        ATTACK(REFUSED, "so:3", largest_within, "rows of a parent have no largest vector"),
        ATTACK(EQUIVARIANT, "so:3", sum_within, "rows of a parent have a sum of vectors"),
        ATTACK(REFUSED, "gl:3", pairs_of_vectors, "vectors of gl(3) have no products of pairs"),
        ATTACK(REFUSED, "so:3", conv_in_rows, "a convolution does not work inside rows"),
    };
    return RUN_ATTACKS("ops", attacks);
}
