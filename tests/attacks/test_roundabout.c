/* Roundabout ways to break a symmetry: functions that change after their end, numbers that only reflections turn, equal
 * nodes of two reps, tensors whose entries cancel, choices by what turns, losses, blocks and groups of rows. */
#include "attacks/lab.h"
#include "nn/nn.h"
#include "reln/train.h"

#define OF_ONE(name, call)                                                                         \
    static RelnNode *name(Lab *l)                                                                  \
    {                                                                                              \
        return call;                                                                               \
    }
#define FEATURES(x_, s_)                                                                           \
    (RelnFeatures)                                                                                 \
    {                                                                                              \
        .x = (x_), .s = (s_)                                                                       \
    }
#define NET (&(RelnNet){.graph = l->g, .train = true})

static RelnNode *to_samples(Lab *l, RelnNode *x)
{
    return reln_reduce(l->g, x, RELN_SAMPLES);
}

/* ---- functions ----------------------------------------------------------------------------------------------------- */

/* The argument of a function of vectors. */
static RelnNode *vector_argument(Lab *l, RelnGraph *body)
{
    return reln_argument(body, RELN_SAMPLES, reln_node_dims(l->x), l->v, RELN_DEFAULT);
}

/* Three invariants made of a vector: its length, three times. */
static RelnNode *three_lengths(RelnGraph *g, RelnNode *x)
{
    RelnNode *q = reln_pair(g, x, x);

    return reln_concat(g, 3, (RelnNode *[]){q, q, q}, RELN_K);
}

/* A function of vectors ends with three invariants, is called, and then ends with the vector instead. */
static RelnNode *ended_twice(Lab *l)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");
    RelnNode *a = vector_argument(l, body), *three = three_lengths(body, a), *z = NULL;
    RelnFn *fn = reln_fn_end(body, 1, &three);

    if (!reln_call(l->g, fn, 1, &l->x, &z))
        return NULL;
    reln_fn_end(body, 1, &a);
    return reln_tanh(l->g, z);
}

/* A function gets another argument after it was called. */
static RelnNode *argument_after_end(Lab *l)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");
    RelnNode *a = vector_argument(l, body), *q = reln_pair(body, a, a), *z = NULL, *grad = NULL;
    RelnFn *fn = reln_fn_end(body, 1, &q);

    if (!reln_call(l->g, fn, 1, &l->x, &z) || !vector_argument(l, body))
        return NULL;
    reln_grad(l->g, reln_sum_all(l->g, z), 1, &l->x, &grad);
    return grad;
}

/* A function captures another node after its end. */
static RelnNode *captured_after_end(Lab *l)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");
    RelnNode *a = vector_argument(l, body), *q = reln_pair(body, a, a), *z = NULL, *grad = NULL;
    RelnFn *fn = reln_fn_end(body, 1, &q);

    if (!reln_call(l->g, fn, 1, &l->x, &z) || !reln_add(body, a, l->y))
        return NULL;
    reln_grad(l->g, reln_sum_all(l->g, z), 1, &l->x, &grad);
    return grad;
}

/* An argument of a graph that is no function is bound to nothing. */
OF_ONE(argument_of_no_function,
       reln_add(l->g, l->x,
                reln_argument(l->g, RELN_SAMPLES, reln_node_dims(l->x), l->v, RELN_DEFAULT)))

static RelnNode *captured(Lab *l, bool bend)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");
    RelnNode *a = reln_argument(body, RELN_SAMPLES, reln_node_dims(l->s), NULL, RELN_DEFAULT);
    RelnNode *y = reln_mul(body, l->x, a), *out = bend && y ? reln_tanh(body, y) : y, *z = NULL;
    RelnFn *fn = reln_fn_end(body, 1, &out);

    return reln_call(l->g, fn, 1, &l->s, &z) ? z : NULL;
}
OF_ONE(captured_vector, captured(l, false))
OF_ONE(captured_tanh, captured(l, true))

static RelnNode *body_as_output(Lab *l)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");

    return reln_pair(l->g, vector_argument(l, body), l->x);
}

/* A function inside another one captures its argument, and is called from outside of both. */
static RelnNode *inner_called_outside(Lab *l, bool captures)
{
    RelnGraph *outer = reln_fn_begin(l->g, "outer"), *inner;
    RelnNode *a = vector_argument(l, outer), *b, *out, *z = NULL;
    RelnFn *fn;

    inner = reln_fn_begin(outer, "inner");
    b = vector_argument(l, inner);
    out = reln_pair(inner, b, captures ? a : b);
    fn = reln_fn_end(inner, 1, &out);
    return reln_call(l->g, fn, 1, &l->x, &z) ? z : NULL;
}
OF_ONE(inner_with_captures, inner_called_outside(l, true))
OF_ONE(inner_alone, inner_called_outside(l, false))

/* A gradient inside a function, by a vector that it captures. */
static RelnNode *gradient_in_body(Lab *l, bool bend)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");
    RelnNode *a = vector_argument(l, body), *q = reln_pair(body, a, l->y), *grad = NULL, *z = NULL;
    RelnFn *fn;

    reln_grad(body, reln_sum_all(body, reln_square(body, q)), 1, &a, &grad);
    grad = bend ? reln_tanh(body, grad) : grad;
    fn = reln_fn_end(body, 1, &grad);
    return reln_call(l->g, fn, 1, &l->x, &z) ? z : NULL;
}
OF_ONE(gradient_inside, gradient_in_body(l, false))
OF_ONE(gradient_inside_tanh, gradient_in_body(l, true))

/* A state is assigned a vector inside a function. */
static RelnNode *assigned_in_body(Lab *l)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");
    RelnNode *state =
        reln_state(body, "state", (RelnDims){1, 1, 1, 3, 1}, (RelnInit){RELN_INIT_CONSTANT, 0});
    RelnNode *a = vector_argument(l, body);

    reln_assign(body, state, reln_batch_sum(body, a));
    return reln_tanh(l->g, lab_state(l, 3, 1));
}

/* ---- numbers that reflections turn ------------------------------------------------------------------------------------ */

static RelnNode *volume(Lab *l)
{
    return reln_input(l->g, "volume", RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 2},
                      reln_rep_sign(l->group), RELN_DEFAULT);
}

static RelnNode *volume_of_rows(Lab *l)
{
    return reln_input(l->g, "volume", l->rows, (RelnDims){.c = 2}, reln_rep_sign(l->group),
                      RELN_DEFAULT);
}
OF_ONE(sign_expanded, reln_expand(l->g, volume(l), l->x))
OF_ONE(sign_masks, reln_mask(l->g, volume(l), l->x))
OF_ONE(sign_times_vector, reln_mul(l->g, volume(l), l->x))
static RelnNode *sign_squared(Lab *l)
{
    RelnNode *v = volume(l);

    return reln_mul(l->g, v, v);
}
OF_ONE(sign_below, reln_div(l->g, l->s, volume(l)))
OF_ONE(sign_scaled, reln_mul(l->g, volume(l), l->s))
OF_ONE(sign_shifted, reln_shift(l->g, volume(l), 1, 1))
OF_ONE(sign_chosen, reln_select(l->g, reln_step(l->g, l->s), volume(l), l->s))
OF_ONE(sign_joined, reln_concat(l->g, 2, (RelnNode *[]){volume(l), l->s}, RELN_C))
OF_ONE(sign_chooses, reln_pick(l->g, l->x, reln_argmax(l->g, volume(l), RELN_P), RELN_P))
OF_ONE(sign_as_invariant,
       reln_linear_map(l->g, volume(l), NUMBERS(1), reln_rep_trivial(l->group, 1)))
OF_ONE(sign_summed, reln_sum(l->g, volume(l), RELN_K))
OF_ONE(sign_sliced, reln_slice(l->g, volume(l), RELN_K, 0, 1))
OF_ONE(sign_dense, reln_nn_dense(NET, "d", volume(l), 2))
OF_ONE(sign_linear, reln_nn_linear(NET, "d", volume(l), 2))
OF_ONE(sign_normed, reln_nn_batch_norm_invariants(NET, "n", volume(l), NULL))
OF_ONE(sign_gates, reln_nn_gate(NET, "g", l->x, volume(l), 2))
OF_ONE(sign_attends,
       to_samples(l, reln_segment_softmax(l->g, volume_of_rows(l), reln_row_sample(l->g, l->rows),
                                          RELN_SAMPLES)))
OF_ONE(sign_largest, reln_reduce_max(l->g, volume_of_rows(l), RELN_SAMPLES))

/* The triple product of the three edges of a box is a number that reflections turn. */
static RelnNode *triple(Lab *l, const RelnRep *to)
{
    static const RelnEntry cross[] = {{1, 2, 0, 1}, {2, 1, 0, -1}, {0, 2, 1, -1},
                                      {2, 0, 1, 1}, {0, 1, 2, 1},  {1, 0, 2, -1}};
    static const RelnEntry dot[] = {{0, 0, 0, 1}, {1, 1, 0, 1}, {2, 2, 0, 1}};
    const RelnRep *turned = reln_rep_product(reln_rep_sign(l->group), l->v);
    RelnNode *xy = reln_contract(l->g, &(RelnTensor3){3, 3, 3, 6, cross}, l->x, l->y, turned);

    return reln_contract(l->g, &(RelnTensor3){3, 3, 1, 3, dot}, xy,
                         reln_swap_axes(l->g, l->x, RELN_P, RELN_C), to);
}
OF_ONE(triple_as_invariant, triple(l, reln_rep_trivial(l->group, 1)))
OF_ONE(triple_as_sign, triple(l, reln_rep_sign(l->group)))

/* The bracket of so:3 is the cross product, which reflections turn. */
static RelnNode *crossed(Lab *l)
{
    RelnAlgebra *so3 = NULL;
    RelnNode *z;

    if (reln_algebra_create(l->ctx, "so:3", &so3) != RELN_OK)
        return NULL;
    z = reln_bracket(l->g, so3, l->x, l->y);
    reln_algebra_destroy(so3);
    return z;
}

/* ---- equal nodes ------------------------------------------------------------------------------------------------------- */

/* Zeros are both a vector and three invariants, but not the same node. */
static RelnNode *zeros(Lab *l, bool as_vector)
{
    RelnNode *vector = lab_const(l, l->v, NUMBERS(0, 0, 0));
    RelnNode *three = lab_const(l, reln_rep_trivial(l->group, 3), NUMBERS(0, 0, 0));

    return as_vector ? reln_shift(l->g, vector, 1, 1) : reln_add(l->g, l->x, three);
}
OF_ONE(zeros_shifted, zeros(l, true))
OF_ONE(zeros_added, zeros(l, false))

/* A map to nothing leads to any rep; its two results are not the same node. */
static RelnNode *nothing(Lab *l)
{
    const double zero[9] = {0};
    RelnNode *v = reln_linear_map(l->g, l->x, zero, l->v);
    RelnNode *three = reln_linear_map(l->g, l->x, zero, reln_rep_trivial(l->group, 3));

    return v && three ? reln_add(l->g, l->x, three) : NULL;
}

/* The gradient of a number by a node that it does not depend on is zero, of the dual rep. */
static RelnNode *gradient_of_nothing(Lab *l)
{
    RelnNode *grad = NULL;

    reln_grad(l->g, reln_sum_all(l->g, l->s), 1, &l->x, &grad);
    return reln_shift(l->g, grad, 1, 1);
}

static RelnNode *gradient_added(Lab *l)
{
    RelnNode *q = reln_nn_invariant(&(RelnNet){.graph = l->g}, l->x), *grad = NULL;

    reln_grad(l->g, reln_sum_all(l->g, q), 1, &l->x, &grad);
    return reln_add(l->g, l->x, grad);
}

/* ---- entries ------------------------------------------------------------------------------------------------------------ */

/* diag(first, 1, 1) as a tensor, with 1e16 and -1e16 at the first place. */
static RelnNode *cancelled(Lab *l, double first)
{
    const RelnEntry e[] = {
        {0, 0, 0, 1e16}, {0, 0, 0, first}, {0, 0, 0, -1e16}, {1, 0, 1, 1}, {2, 0, 2, 1}};

    return reln_contract(l->g, &(RelnTensor3){3, 1, 3, 5, e}, l->x, l->s, l->v);
}
OF_ONE(cancelled_bad, cancelled(l, 3))
OF_ONE(cancelled_more, cancelled(l, 1e5))

static RelnNode *outside(Lab *l, RelnEntry bad)
{
    const RelnEntry e[] = {{0, 0, 0, 1}, {1, 0, 1, 1}, {2, 0, 2, 1}, bad};

    return reln_contract(l->g, &(RelnTensor3){3, 1, 3, 4, e}, l->x, l->s, l->v);
}
OF_ONE(entry_past, outside(l, ((RelnEntry){3, 0, 0, 1})))
OF_ONE(entry_before, outside(l, ((RelnEntry){0, -1, 0, 1})))
OF_ONE(entry_behind, outside(l, ((RelnEntry){0, 0, 3, 1})))
OF_ONE(no_entries, reln_contract(l->g, &(RelnTensor3){3, 1, 3, 2, NULL}, l->x, l->s, l->v))
OF_ONE(fewer_entries,
       reln_contract(l->g, &(RelnTensor3){3, 1, 3, -1, (const RelnEntry[]){{0}}}, l->x, l->s, l->v))

/* ---- choices -------------------------------------------------------------------------------------------------------------- */

static RelnNode *farthest(Lab *l, RelnNode *x)
{
    return reln_farthest_rows(l->g, x, reln_fixed(l->g, "far", RELN_SAMPLES, 2));
}
OF_ONE(far_vectors, to_samples(l, reln_gather(l->g, l->row, farthest(l, l->row))))
OF_ONE(far_invariants, to_samples(l, reln_gather(l->g, l->row, farthest(l, l->row_s))))
OF_ONE(far_tanh, to_samples(l, reln_tanh(l->g, reln_gather(l->g, l->row, farthest(l, l->row)))))

/* The number of a far row as a place on an axis, of values beside it. */
static RelnNode *far_place(Lab *l, bool pick)
{
    RelnNode *i = farthest(l, l->row), *s = reln_gather(l->g, l->row_s, i);

    return to_samples(l, pick ? reln_pick(l->g, s, i, RELN_C) : reln_place(l->g, s, i, RELN_P, 9));
}
OF_ONE(far_number, far_place(l, false))
OF_ONE(far_picked, far_place(l, true))

/* Twelve rows next to each far one: indices into indices. */
static RelnNode *members_of_far(Lab *l)
{
    RelnNode *c = reln_gather(l->g, l->row, farthest(l, l->row));
    RelnNode *j =
        reln_nearest_rows(l->g, c, l->row, reln_fixed(l->g, "members", reln_node_domain(c), 2));

    return to_samples(l, reln_gather(l->g, l->row, j));
}
OF_ONE(cast_to_index, reln_pick(l->g, l->x, reln_cast(l->g, l->s, RELN_I32), RELN_P))
OF_ONE(vector_to_index, reln_gather(l->g, l->row, reln_cast(l->g, l->row, RELN_I32)))
OF_ONE(input_of_indices,
       reln_input(l->g, "i", RELN_SAMPLES, (RelnDims){1, 1, 1, 3, 1}, l->v, RELN_I32))
OF_ONE(index_back, reln_tanh(l->g, reln_cast(l->g, l->index, RELN_F64)))
OF_ONE(index_scaled, reln_scale(l->g, l->index, 0.5))
OF_ONE(index_summed, reln_reduce(l->g, l->index, RELN_SAMPLES))
OF_ONE(index_repeated,
       reln_gather(l->g, l->row,
                   reln_concat(l->g, 3, (RelnNode *[]){l->index, l->index, l->index}, RELN_K)))
OF_ONE(largest_marked,
       to_samples(l, reln_mul(l->g, l->row, reln_is_max_within(l->g, l->row_s, RELN_SAMPLES))))
OF_ONE(random_choice,
       reln_pick(l->g, l->x,
                 reln_argmax(l->g,
                             reln_random_normal(l->g, RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 1}, 1),
                             RELN_P),
                 RELN_P))
OF_ONE(argmax_of_lengths,
       reln_pick(l->g, l->x, reln_argmax(l->g, reln_pair(l->g, l->x, l->x), RELN_P), RELN_P))
OF_ONE(argmax_of_three,
       reln_pick(l->g, l->x, reln_argmax(l->g, three_lengths(l->g, l->x), RELN_P), RELN_P))

/* ---- domains and axes that there are not -------------------------------------------------------------------------------- */

OF_ONE(spread_nowhere, reln_spread(l->g, reln_scalar(l->g, 1), 77))
OF_ONE(spread_below, reln_spread(l->g, reln_scalar(l->g, 1), -3))
OF_ONE(counted_nowhere, reln_reduce_count(l->g, 77, RELN_SAMPLES))
OF_ONE(random_nowhere, reln_random_normal(l->g, 77, (RelnDims){0}, 1))
OF_ONE(scattered_nowhere, reln_scatter_add(l->g, l->row, l->index, 77))
OF_ONE(far_nowhere, reln_gather(l->g, l->row, reln_farthest_rows(l->g, l->row, 77)))
OF_ONE(paired_nowhere, reln_pair_gram(l->g, l->row, l->row, 77))
OF_ONE(summed_nowhere, reln_sum(l->g, l->s, (RelnAxis)7))
OF_ONE(swapped_nowhere, reln_swap_axes(l->g, l->s, RELN_P, (RelnAxis)7))
OF_ONE(convolved_nowhere,
       reln_conv(l->g, l->s, lab_param(l, 1, 1), (RelnAxis)-2, reln_window_valid(2, 1, 1)))
OF_ONE(windows_nowhere, reln_window_mean(l->g, l->s, (RelnAxis)9, reln_window_valid(1, 1, 1)))

/* A shape and a domain of another graph, which has more domains. */
static RelnNode *expanded_like_another(Lab *l)
{
    RelnGraph *h = NULL;
    RelnNode *like, *z;

    if (reln_graph_create(l->group, NULL, RELN_F64, &h) != RELN_OK)
        return NULL;
    for (int i = 0; i < 9; i++)
        reln_rows(h, (const char[]){(char)('a' + i), '\0'}, 8);
    like = reln_random_normal(h, reln_rows(h, "last", 8), (RelnDims){0}, 1);
    z = reln_expand(l->g, reln_scalar(l->g, 1), like);
    reln_graph_destroy(h);
    return z;
}

/* ---- matrix functions and losses --------------------------------------------------------------------------------------------- */

OF_ONE(symmetric_part, reln_symexp(l->g, reln_scale(l->g, l->mat, 0.1)))
OF_ONE(inverse, reln_matinv(l->g, reln_matexp(l->g, reln_scale(l->g, l->mat, 0.1))))
OF_ONE(transposed, reln_transpose_matrix(l->g, l->mat))
OF_ONE(matrix_part, reln_slice_k(l->g, l->mat, 0, l->v))
OF_ONE(loss_of_squares, reln_loss(l->g, &(RelnLoss){.kind = RELN_LOSS_MSE}, l->x, l->y))
OF_ONE(loss_of_sizes, reln_loss(l->g, &(RelnLoss){.kind = RELN_LOSS_MAE}, l->x, l->y))
OF_ONE(loss_of_quantiles,
       reln_loss(l->g,
                 &(RelnLoss){
                     .kind = RELN_LOSS_QUANTILES, .n_quantiles = 1, .quantiles = NUMBERS(0.5)},
                 l->x, l->y))
OF_ONE(loss_by_vectors, reln_loss_gaussian(l->g, l->x, l->y, l->y))
OF_ONE(loss_gaussian, reln_loss_gaussian(l->g, l->x, l->s, l->y))
OF_ONE(loss_of_two_reps, reln_loss(l->g, &(RelnLoss){.kind = RELN_LOSS_MSE}, l->mat, l->x))
OF_ONE(mean_weighted, reln_weighted_mean(l->g, reln_pair(l->g, l->x, l->x), l->x))
OF_ONE(mean_of_vectors, reln_weighted_mean(l->g, l->x, NULL))

/* A loss that is no number of one value. */
static RelnNode *trained_on_vectors(Lab *l)
{
    RelnNode *w = lab_param(l, 1, 1);
    RelnNode *x = reln_sum(l->g, reln_sum(l->g, l->x, RELN_P), RELN_C);

    reln_train_step(l->g, &(RelnOptimiser){.kind = RELN_OPTIMISER_SGD},
                    reln_batch_sum(l->g, reln_mul(l->g, x, w)));
    return reln_mul(l->g, l->x, w);
}

static RelnNode *trained_on_sign(Lab *l)
{
    RelnNode *w = lab_param(l, 1, 1);
    RelnNode *v = reln_sum(l->g, reln_sum(l->g, volume(l), RELN_P), RELN_C);

    reln_train_step(l->g, &(RelnOptimiser){.kind = RELN_OPTIMISER_SGD},
                    reln_batch_sum(l->g, reln_mul(l->g, v, w)));
    return reln_mul(l->g, l->x, w);
}

/* ---- layers ---------------------------------------------------------------------------------------------------------------------- */

static RelnNode *covector(Lab *l)
{
    return reln_input(l->g, "covector", RELN_SAMPLES, reln_node_dims(l->x), reln_rep_dual(l->v),
                      RELN_DEFAULT);
}
OF_ONE(residual_of_two_reps,
       reln_nn_residual(NET, FEATURES(l->x, NULL), FEATURES(covector(l), NULL), 0.5).x)
OF_ONE(residual_right, reln_nn_residual(NET, FEATURES(l->x, l->s), FEATURES(l->y, l->s), 0.5).x)
OF_ONE(dropped_as_invariants, reln_nn_dropout(NET, FEATURES(NULL, l->x), 0.5).s)
OF_ONE(dropped_tanh, reln_tanh(l->g, reln_nn_dropout(NET, FEATURES(l->x, NULL), 0.5).x))
OF_ONE(parts, reln_nn_parts(NET, l->row, 2, 2))
OF_ONE(parts_tanh, reln_tanh(l->g, reln_nn_parts(NET, l->row, 2, 2)))
OF_ONE(parts_of_samples, reln_nn_parts(NET, l->x, 2, 2))

#define CAUSAL                                                                                     \
    &(RelnConvBlock)                                                                               \
    {                                                                                              \
        .channels = 2, .invariants = 2, .causal = true, .dropout = 0.5                             \
    }
OF_ONE(causal, reln_nn_conv_block(NET, "b", FEATURES(l->x, l->s), CAUSAL).x)
OF_ONE(causal_s, reln_nn_conv_block(NET, "b", FEATURES(l->x, l->s), CAUSAL).s)
OF_ONE(causal_swapped, reln_nn_conv_block(NET, "b", FEATURES(l->s, l->x), CAUSAL).s)
OF_ONE(transformed,
       reln_nn_transformer(NET, "t", FEATURES(l->row, l->row_s), &(RelnTransformer){.skip = 0.5}).x)
OF_ONE(transformed_swapped,
       reln_nn_transformer(NET, "t", FEATURES(l->row_s, l->row), &(RelnTransformer){.heads = 1}).s)
OF_ONE(pooled_windows,
       reln_nn_pool_windows(NET, "p", FEATURES(l->x, NULL),
                            &(RelnWindowPool){.window = reln_window_same(2, 2, 1), .max = true})
           .x)
OF_ONE(pooled_max, reln_nn_pool_max(NET, "p", l->row, RELN_POOL_ROWS, true))
OF_ONE(pooled_softmax, reln_nn_pool_softmax(NET, "p", l->x, RELN_P))
OF_ONE(pooled_over_k, reln_nn_pool_mean(NET, l->x, RELN_K))
OF_ONE(heads,
       reln_nn_merge_heads(
           NET, reln_nn_split_heads(NET, reln_slice(l->g, l->x, RELN_P, 0, 1), 2, RELN_P), RELN_P))
OF_ONE(heads_over_k, reln_nn_split_heads(NET, l->s, 2, RELN_K))
OF_ONE(gated_by_vectors, reln_nn_gate(NET, "g", l->x, l->y, 2))
OF_ONE(dense_of_vectors, reln_nn_dense(NET, "d", l->x, 2))
OF_ONE(activated, reln_nn_activate(l->g, RELN_ACT_SOFTPLUS, l->x))
OF_ONE(related,
       reln_nn_relate(NET, l->x, l->y, &(RelnScales){.unit = 1, .count = 2, .at = {1, 10}}))
OF_ONE(related_tanh, reln_tanh(l->g, reln_nn_lower(NET, l->x)))

static RelnNode *exchanged_z(Lab *l)
{
    const RelnSet in = {.x = l->row,
                        .s = l->row_s,
                        .sums = reln_nn_far_rows(NET, l->row, 2),
                        .z = reln_slice(l->g, l->x, RELN_P, 0, 1)};

    return reln_nn_exchange(
               NET, "e", &in,
               &(RelnExchange){.sums = 2, .width = 2, .scales = {.unit = 1, .count = 1, .at = {1}}})
        .z;
}

/* Given edges: their number is invariant, their ends are rows. */
static RelnNode *edges(Lab *l, RelnNode *other, RelnDomain domain)
{
    return reln_nn_messages(
               NET, "m", FEATURES(l->row, l->row_s),
               &(RelnMessages){.hidden = 2, .pairs = domain, .other = other, .move = true})
        .x;
}

static RelnNode *edges_given(Lab *l)
{
    const RelnDomain near = reln_fixed(l->g, "near", l->rows, 1);

    return edges(l, reln_gather(l->g, l->index, reln_row_parent(l->g, near, l->rows)), near);
}

static RelnNode *edges_to_samples(Lab *l)
{
    const RelnDomain near = reln_fixed(l->g, "near", l->rows, 1);

    return edges(l, reln_row_parent(l->g, near, RELN_SAMPLES), near);
}

static RelnNode *form_not_symmetric(Lab *l)
{
    const RelnRepForm form = {l->v, NUMBERS(1, 1, 0, 0, 1, 0, 0, 0, 1)};
    const RelnNet net = {.graph = l->g, .forms = &form, .n_forms = 1};

    return reln_nn_invariant(&net, l->x);
}

int main(void)
{
    static const Attack attacks[] = {
#define ATTACK(answer, group, build, sentence) {sentence, answer, group, build, NULL, 0}
        ATTACK(REFUSED, "so:3", ended_twice, "a function ends once"),
        ATTACK(REFUSED, "so:3", argument_after_end,
               "a function has no new arguments after its end"),
        ATTACK(REFUSED, "so:3", captured_after_end, "a function captures nothing after its end"),
        ATTACK(REFUSED, "so:3", argument_of_no_function, "only functions have arguments"),
        ATTACK(EQUIVARIANT, "so:3", captured_vector, "a function may capture a vector"),
        ATTACK(REFUSED, "so:3", captured_tanh, "a captured vector is a vector"),
        ATTACK(REFUSED, "so:3", body_as_output, "nodes of a function stay in it"),
        ATTACK(REFUSED, "so:3", inner_with_captures,
               "a function inside another knows its arguments there only"),
        ATTACK(EQUIVARIANT, "so:3", inner_alone, "a function inside another may stand alone"),
        ATTACK(EQUIVARIANT, "so:3", gradient_inside, "a function may compute a gradient"),
        ATTACK(REFUSED, "so:3", gradient_inside_tanh, "a gradient in a function is a vector"),
        ATTACK(REFUSED, "so:3", assigned_in_body, "a function assigns no state"),
        ATTACK(REFUSED, "o:3", sign_expanded, "a number that reflections turn is no three"),
        ATTACK(REFUSED, "o:3", sign_masks, "a number that reflections turn is no mask"),
        ATTACK(REFUSED, "o:3", sign_times_vector, "nor a factor of vectors"),
        ATTACK(REFUSED, "o:3", sign_squared, "nor a factor of itself, but by a contraction"),
        ATTACK(REFUSED, "o:3", sign_below, "nor a denominator"),
        ATTACK(EQUIVARIANT, "o:3", sign_scaled, "invariants may scale it"),
        ATTACK(REFUSED, "o:3", sign_shifted, "it is not shifted"),
        ATTACK(REFUSED, "o:3", sign_chosen, "it is no choice beside invariants"),
        ATTACK(REFUSED, "o:3", sign_joined, "it is no channel beside invariants"),
        ATTACK(REFUSED, "o:3", sign_chooses, "it chooses nothing"),
        ATTACK(REFUSED, "o:3", sign_as_invariant, "no map makes it invariant"),
        ATTACK(EQUIVARIANT, "o:3", sign_summed, "its one coordinate is its sum"),
        ATTACK(REFUSED, "o:3", sign_sliced, "its coordinate is not cut off"),
        ATTACK(REFUSED, "o:3", sign_dense, "a dense layer has a bias, and does not take it"),
        ATTACK(EQUIVARIANT, "o:3", sign_linear, "a linear layer takes it"),
        ATTACK(REFUSED, "o:3", sign_normed, "a norm of invariants does not take it"),
        ATTACK(REFUSED, "o:3", sign_gates, "it gates nothing"),
        ATTACK(REFUSED, "o:3", sign_attends, "it is no score"),
        ATTACK(REFUSED, "o:3", sign_largest, "there is no largest one"),
        ATTACK(EQUIVARIANT, "so:3", triple_as_invariant, "rotations keep a triple product"),
        ATTACK(REFUSED, "o:3", triple_as_invariant, "reflections turn a triple product"),
        ATTACK(EQUIVARIANT, "o:3", triple_as_sign, "a triple product turns as reflections say"),
        ATTACK(EQUIVARIANT, "so:3", crossed, "rotations keep cross products"),
        ATTACK(REFUSED, "o:3", crossed, "a cross product of vectors is no vector of o:3"),
        ATTACK(REFUSED, "so:3", zeros_shifted, "a vector of zeros is a vector"),
        ATTACK(REFUSED, "so:3", zeros_added, "three invariants of zero are no vector"),
        ATTACK(REFUSED, "so:3", nothing, "a map to zero keeps the rep that it leads to"),
        ATTACK(REFUSED, "so:3", gradient_of_nothing, "a gradient of zero keeps its rep"),
        ATTACK(REFUSED, "lorentz", gradient_added, "a gradient is no four-vector"),
        ATTACK(EQUIVARIANT, "so:3", gradient_added,
               "a gradient is a vector where lengths are kept"),
        ATTACK(EQUIVARIANT, "so:3", cancelled_bad, "entries that cancel hide no other entry"),
        ATTACK(EQUIVARIANT, "so:3", cancelled_more, "nor a larger one"),
        ATTACK(REFUSED, "so:3", entry_past, "an entry lies within the tensor"),
        ATTACK(REFUSED, "so:3", entry_before, "an entry has no negative place"),
        ATTACK(REFUSED, "so:3", entry_behind, "an entry leads to a coordinate that exists"),
        ATTACK(REFUSED, "so:3", no_entries, "entries that are counted are given"),
        ATTACK(REFUSED, "so:3", fewer_entries, "no tensor has fewer than no entries"),
        ATTACK(EQUIVARIANT, "o:3", far_vectors, "far rows are chosen where lengths are kept"),
        ATTACK(REFUSED, "lorentz", far_vectors, "boosts change which row is far"),
        ATTACK(REFUSED, "gl:3", far_vectors, "linear maps change which row is far"),
        ATTACK(EQUIVARIANT, "gl:3", far_invariants, "rows may be far by their invariants"),
        ATTACK(REFUSED, "so:3", far_tanh, "a far row is a vector"),
        ATTACK(REFUSED, "so:3", far_number, "the number of a far row is no place"),
        ATTACK(REFUSED, "so:3", far_picked, "the number of a far row picks no point"),
        ATTACK(EQUIVARIANT, "o:3", members_of_far, "far rows have near ones"),
        ATTACK(REFUSED, "so:3", cast_to_index, "numbers become no indices"),
        ATTACK(REFUSED, "so:3", vector_to_index, "vectors become no indices"),
        ATTACK(REFUSED, "so:3", input_of_indices, "indices have no rep"),
        ATTACK(REFUSED, "so:3", index_back, "indices become no numbers"),
        ATTACK(REFUSED, "so:3", index_scaled, "indices are not scaled"),
        ATTACK(REFUSED, "so:3", index_summed, "indices are not added"),
        ATTACK(REFUSED, "so:3", index_repeated, "coordinates have one index"),
        ATTACK(EQUIVARIANT, "gl:3", largest_marked, "the row of the largest invariant is marked"),
        ATTACK(EQUIVARIANT, "gl:3", random_choice, "random numbers choose between vectors"),
        ATTACK(EQUIVARIANT, "o:3", argmax_of_lengths, "the longest vector is chosen"),
        ATTACK(REFUSED, "lorentz", argmax_of_lengths, "no four-vector is the longest"),
        ATTACK(REFUSED, "so:3", argmax_of_three, "coordinates are not chosen one by one"),
        ATTACK(REFUSED, "so:3", spread_nowhere, "nothing is spread to rows that there are not"),
        ATTACK(REFUSED, "so:3", spread_below, "nor to rows of a negative number"),
        ATTACK(REFUSED, "so:3", counted_nowhere, "unknown rows are not counted"),
        ATTACK(REFUSED, "so:3", random_nowhere, "unknown rows draw no numbers"),
        ATTACK(REFUSED, "so:3", scattered_nowhere, "nothing is added to unknown rows"),
        ATTACK(REFUSED, "so:3", far_nowhere, "unknown rows are not far"),
        ATTACK(REFUSED, "so:3", paired_nowhere, "unknown rows are no pairs"),
        ATTACK(REFUSED, "so:3", summed_nowhere, "an axis is one of five"),
        ATTACK(REFUSED, "so:3", swapped_nowhere, "axes are not swapped with another"),
        ATTACK(REFUSED, "so:3", convolved_nowhere, "nothing is convolved along no axis"),
        ATTACK(REFUSED, "so:3", windows_nowhere, "no windows lie along no axis"),
        ATTACK(REFUSED, "so:3", expanded_like_another, "domains are those of this graph"),
        ATTACK(EQUIVARIANT, "o:3", symmetric_part, "a symmetric function takes the symmetric part"),
        ATTACK(EQUIVARIANT, "gl:3", inverse, "a matrix has an inverse"),
        ATTACK(REFUSED, "lorentz", transposed, "boosts keep no transpose"),
        ATTACK(REFUSED, "so:3", matrix_part, "a row of a matrix is no vector"),
        ATTACK(EQUIVARIANT, "o:3", loss_of_squares, "errors have sizes where lengths are kept"),
        ATTACK(REFUSED, "lorentz", loss_of_squares, "boosts change the size of an error"),
        ATTACK(REFUSED, "sl:3", loss_of_squares, "linear maps change the size of an error"),
        ATTACK(REFUSED, "gl:3", loss_of_sizes, "they change its absolute size, too"),
        ATTACK(REFUSED, "so:3", loss_of_quantiles, "vectors have no quantiles"),
        ATTACK(REFUSED, "so:3", loss_by_vectors, "a variance is no vector"),
        ATTACK(EQUIVARIANT, "o:3", loss_gaussian, "a variance is an invariant"),
        ATTACK(REFUSED, "so:3", loss_of_two_reps, "a matrix is not compared with a vector"),
        ATTACK(REFUSED, "so:3", mean_weighted, "vectors weigh no mean"),
        ATTACK(EQUIVARIANT, "gl:3", mean_of_vectors, "a mean over the batch is a vector"),
        ATTACK(REFUSED, "so:3", trained_on_vectors, "a loss is no vector"),
        ATTACK(REFUSED, "o:3", trained_on_sign, "a loss is not turned by reflections"),
        ATTACK(REFUSED, "gl:3", residual_of_two_reps, "a branch has the rep of its input"),
        ATTACK(EQUIVARIANT, "gl:3", residual_right, "branches of samples are left out as a whole"),
        ATTACK(EQUIVARIANT, "gl:3", dropped_as_invariants,
               "vectors are dropped as a whole everywhere"),
        ATTACK(REFUSED, "so:3", dropped_tanh, "vectors that are not dropped are vectors"),
        ATTACK(EQUIVARIANT, "o:3", parts, "parts of a set turn with it"),
        ATTACK(EQUIVARIANT, "o:1,3", parts, "parts of a set of four-vectors turn with it"),
        ATTACK(REFUSED, "gl:3", parts, "vectors of gl(3) have no parts"),
        ATTACK(REFUSED, "so:3", parts_tanh, "a part is a vector"),
        ATTACK(REFUSED, "so:3", parts_of_samples, "parts are made of rows"),
        ATTACK(EQUIVARIANT, "so:3", causal, "a causal block moves vectors"),
        ATTACK(EQUIVARIANT, "o:1,3", causal_s, "a causal block tells their lengths"),
        ATTACK(REFUSED, "gl:3", causal, "vectors of gl(3) have no lengths to gate with"),
        ATTACK(REFUSED, "so:3", causal_swapped, "a causal block takes vectors for no invariants"),
        ATTACK(EQUIVARIANT, "so:3", transformed, "a transformer moves vectors of rows"),
        ATTACK(REFUSED, "gl:3", transformed, "vectors of gl(3) have no scores in it"),
        ATTACK(REFUSED, "so:3", transformed_swapped,
               "a transformer takes vectors for no invariants"),
        ATTACK(EQUIVARIANT, "so:3", pooled_windows, "windows choose by a form"),
        ATTACK(REFUSED, "gl:3", pooled_windows, "windows choose by nothing under gl(3)"),
        ATTACK(EQUIVARIANT, "o:1,3", pooled_max, "rows are chosen by a form"),
        ATTACK(REFUSED, "sl:3", pooled_max, "rows are chosen by nothing under sl(3)"),
        ATTACK(REFUSED, "gl:3", pooled_softmax, "points are weighed by nothing under gl(3)"),
        ATTACK(REFUSED, "so:3", pooled_over_k, "coordinates are not pooled"),
        ATTACK(EQUIVARIANT, "gl:3", heads, "channels may be split into heads"),
        ATTACK(REFUSED, "so:3", heads_over_k, "heads are not coordinates"),
        ATTACK(REFUSED, "so:3", gated_by_vectors, "vectors gate nothing"),
        ATTACK(REFUSED, "so:3", dense_of_vectors, "a dense layer takes no vectors"),
        ATTACK(REFUSED, "so:3", activated, "an activation takes no vectors"),
        ATTACK(EQUIVARIANT, "o:1,3", related, "products of four-vectors have scales"),
        ATTACK(REFUSED, "gl:3", related, "vectors of gl(3) have no products"),
        ATTACK(REFUSED, "lorentz", related_tanh, "a lowered vector is a covector"),
        ATTACK(REFUSED, "so:3", exchanged_z, "a set knows no vector as its invariants"),
        ATTACK(EQUIVARIANT, "o:3", edges_given, "messages go along given edges"),
        ATTACK(REFUSED, "o:3", edges_to_samples, "edges lead to rows, not to samples"),
        ATTACK(REFUSED, "so:3", form_not_symmetric, "a chosen form is symmetric"),
    };
    return RUN_ATTACKS("roundabout", attacks);
}
