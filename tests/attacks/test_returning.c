/* Attacks by values that return in a later run, as state, parameter or argument: their reps must be checked,
 * too. */
#include <math.h>

#include "attacks/lab.h"

/* A step-level vector (1, 1, 1, n, 1) that depends on the samples. */
static RelnNode *total(Lab *l, RelnNode *x)
{
    RelnNode *all = reln_batch_sum(l->g, x);

    return reln_sum(l->g, reln_sum(l->g, all, RELN_P), RELN_C);
}

static RelnNode *assign_vector(Lab *l)
{
    RelnNode *state = lab_state(l, 3, 1);

    reln_assign(l->g, state, total(l, l->x));
    return reln_tanh(l->g, state);
}

static RelnNode *assign_gradient(Lab *l)
{
    RelnNode *state = lab_state(l, 3, 1), *grad = NULL;
    RelnNode *length = reln_pair(l->g, l->x, l->x);

    reln_grad(l->g, reln_sum_all(l->g, length), 1, &l->x, &grad);
    reln_assign(l->g, state, total(l, grad));
    return reln_tanh(l->g, state);
}

static RelnNode *assign_sign(Lab *l)
{
    RelnNode *state = lab_state(l, 1, 1);
    RelnNode *volume = reln_input(l->g, "volume", RELN_STEP, (RelnDims){1, 1, 1, 1, 1},
                                  reln_rep_sign(l->group), RELN_DEFAULT);

    reln_assign(l->g, state, volume);
    return reln_tanh(l->g, state);
}

static RelnNode *assign_invariant(Lab *l)
{
    RelnNode *state = lab_state(l, 1, 1);

    reln_assign(l->g, state, total(l, reln_pair(l->g, l->x, l->x)));
    return reln_tanh(l->g, reln_scale(l->g, state, 0.1));
}

static RelnNode *sgd_vector(Lab *l)
{
    RelnNode *p = lab_param(l, 3, 1);

    reln_sgd(l->g, NULL, reln_scalar(l->g, 0.1), p, total(l, l->x));
    return reln_tanh(l->g, p);
}

static RelnNode *sgd_momentum_vector(Lab *l)
{
    RelnNode *p = lab_param(l, 3, 1);

    reln_sgd(l->g, &(RelnSgd){.momentum = 0.5}, reln_scalar(l->g, 0.1), p, total(l, l->x));
    return reln_tanh(l->g, p);
}

static RelnNode *adam_vector(Lab *l)
{
    RelnNode *p = lab_param(l, 3, 1);

    reln_adam(l->g, NULL, reln_scalar(l->g, 0.1), p, total(l, l->x));
    return reln_tanh(l->g, p);
}

static RelnNode *adam_rate(Lab *l)
{
    RelnNode *p = lab_param(l, 1, 1);
    RelnNode *rate = reln_input(l->g, "rate", RELN_STEP, (RelnDims){1, 1, 1, 1, 1},
                                reln_rep_sign(l->group), RELN_DEFAULT);

    reln_adam(l->g, NULL, rate, p, total(l, reln_pair(l->g, l->x, l->x)));
    return reln_tanh(l->g, p);
}

static RelnNode *adam_all(Lab *l)
{
    RelnNode *w = reln_param(l->g, "w", (RelnDims){1, 1, 2, 1, 3}, (RelnInit){RELN_INIT_NORMAL, 1});
    RelnNode *y = reln_mix(l->g, l->x, w);

    reln_adam_all(l->g, NULL, reln_scalar(l->g, 0.1),
                  reln_sum_all(l->g, reln_batch_sum(l->g, reln_pair(l->g, y, y))));
    return y;
}

/* The body takes invariants, the call gives a vector. */
static RelnNode *call_with(Lab *l, const RelnRep *rep)
{
    RelnGraph *body = reln_fn_begin(l->g, "f");
    RelnNode *a = reln_argument(body, RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 2}, rep, RELN_DEFAULT);
    RelnNode *out = rep ? a : reln_tanh(body, a);
    RelnFn *fn = reln_fn_end(body, 1, &out);
    RelnNode *z = NULL;

    return reln_call(l->g, fn, 1, &l->x, &z) ? z : NULL;
}

static RelnNode *call_takes_invariants(Lab *l)
{
    return call_with(l, NULL);
}

static RelnNode *call_takes_other_group(Lab *l)
{
    return call_with(l, reln_rep_vector(l->other));
}

static RelnNode *call_takes_vectors(Lab *l)
{
    return call_with(l, l->v);
}

/* The result of the function is a vector, and is used as a vector only. */
static RelnNode *call_result_as_invariant(Lab *l)
{
    RelnNode *z = call_with(l, l->v);

    return z ? reln_tanh(l->g, z) : NULL;
}

/* A graph without a symmetry writes an array that a graph of this group reads as invariant. */
static RelnNode *shared_store(Lab *l)
{
    RelnGroup *none = NULL;
    RelnGraph *h = NULL;
    RelnNode *state = lab_state(l, 3, 1), *alias;

    if (reln_group_create(l->ctx, "none:3", &none) != RELN_OK ||
        reln_graph_create(none, l->store, RELN_F64, &h) != RELN_OK)
        return NULL;
    alias = reln_state(h, "state", (RelnDims){1, 1, 1, 3, 1}, (RelnInit){RELN_INIT_CONSTANT, 0});
    if (!alias)
        reln_graph_fail(l->g, RELN_ERR_REP, "%s", h->message);
    reln_graph_destroy(h);
    reln_group_destroy(none);
    return reln_tanh(l->g, state);
}

static RelnNode *cotangent_of_invariants(Lab *l)
{
    RelnNode *c = reln_const(l->g, (RelnDims){1, 1, 1, 3, 1}, NULL, NUMBERS(1, 0, 0)), *out = NULL;
    RelnNode *y = reln_mul(l->g, l->x, l->s);

    reln_vjp(l->g, 1, &y, &c, 1, &l->s, &out);
    return out;
}

static RelnNode *gradient_of_vector(Lab *l)
{
    RelnNode *out = NULL;

    reln_grad(l->g, l->x, 1, &l->x, &out);
    return out;
}

static RelnNode *state_as_vector(Lab *l)
{
    return reln_add(l->g, l->x, lab_state(l, 3, 2));
}

static RelnNode *param_as_vector(Lab *l)
{
    return reln_add(l->g, l->x, lab_param(l, 3, 2));
}

static RelnNode *infinite_param(Lab *l)
{
    RelnNode *p = reln_param(l->g, "p", (RelnDims){1, 1, 1, 1, 1},
                             (RelnInit){RELN_INIT_CONSTANT, (double)INFINITY});

    return reln_mul(l->g, l->x, p);
}

static RelnNode *infinite_decay(Lab *l)
{
    RelnNode *p = lab_param(l, 1, 1);

    reln_sgd(l->g, &(RelnSgd){.decay = (double)INFINITY}, reln_scalar(l->g, 0.1), p,
             total(l, reln_pair(l->g, l->x, l->x)));
    return reln_mul(l->g, l->x, p);
}

static RelnNode *param_as_matrix(Lab *l)
{
    RelnNode *p = lab_param(l, 9, 2);

    return reln_matmul(l->g, 3, l->mat, p);
}

int main(void)
{
    static const Attack attacks[] = {
        {"a state is not assigned a vector", REFUSED, "so:3", assign_vector, NULL, 0},
        {"a state is not assigned a gradient by a vector", REFUSED, "so:3", assign_gradient, NULL,
         0},
        {"a state is not assigned a number that reflections turn", REFUSED, "o:3", assign_sign,
         NULL, 0},
        {"a state may be assigned an invariant", EQUIVARIANT, "so:3", assign_invariant, NULL, 0},
        {"gradient descent takes no vector as gradient", REFUSED, "so:3", sgd_vector, NULL, 0},
        {"momentum takes no vector as gradient", REFUSED, "so:3", sgd_momentum_vector, NULL, 0},
        {"Adam takes no vector as gradient", REFUSED, "so:3", adam_vector, NULL, 0},
        {"Adam takes no rate that reflections turn", REFUSED, "o:3", adam_rate, NULL, 0},
        {"training with gradients of an invariant stays equivariant", EQUIVARIANT, "so:3", adam_all,
         NULL, 0},
        {"a function of invariants is not called with vectors", REFUSED, "so:3",
         call_takes_invariants, NULL, 0},
        {"an argument has no rep of another group", REFUSED, "so:3", call_takes_other_group, NULL,
         0},
        {"a function of vectors may be called with vectors", EQUIVARIANT, "so:3",
         call_takes_vectors, NULL, 0},
        {"a result keeps its rep", REFUSED, "so:3", call_result_as_invariant, NULL, 0},
        {"a store does not carry numbers between groups", REFUSED, "so:3", shared_store, NULL, 0},
        {"a cotangent has the dual rep", REFUSED, "so:3", cotangent_of_invariants, NULL, 0},
        {"there is no gradient of a vector", REFUSED, "so:3", gradient_of_vector, NULL, 0},
        {"a parameter begins finite", REFUSED, "so:3", infinite_param, NULL, 0},
        {"an optimiser has finite options", REFUSED, "so:3", infinite_decay, NULL, 0},
        {"a state is not added to a vector", REFUSED, "so:3", state_as_vector, NULL, 0},
        {"a parameter is not added to a vector", REFUSED, "so:3", param_as_vector, NULL, 0},
        {"a parameter is not multiplied as a matrix", REFUSED, "so:3", param_as_matrix, NULL, 0},
    };
    return RUN_ATTACKS("returning", attacks);
}
