/* nn.h -- functions that the layers share: named weights, extents, checks. */
#ifndef NN_NN_H
#define NN_NN_H

#include "ops/ops.h"
#include "reln/nn.h"

/* Parameters "<name>.<part>", a matrix (R = from, K = 1, C = to) or a row (C = to), drawn from U(-a, a), a =
 * 1/sqrt(fan_in). */
RelnNode *reln_nn_weight(const RelnNet *net, const char *name, const char *part, int from, int to,
                         int fan_in);
RelnNode *reln_nn_bias(const RelnNet *net, const char *name, const char *part, int to, int fan_in);
/* Returns false if the net, its graph or another pointer that the layer needs is NULL; then the graph, if
 * there is one, fails. */
static inline bool reln_nn_ready(const RelnNet *net, bool others, const char *function)
{
    return net && net->graph && (others || reln_graph_null(net->graph, function));
}
/* Returns "<name>.<part>" in the graph's arena; NULL with the graph failed. */
const char *reln_nn_name(const RelnNet *net, const char *name, const char *part);
/* Returns the name preceded by the names of the nets around it: "<within>.<name>"; NULL with the graph
 * failed. */
const char *reln_nn_path(const RelnNet *net, const char *name);
/* Returns the parameter "<path of name>.<part>"; NULL with the graph failed. */
RelnNode *reln_nn_param(const RelnNet *net, const char *name, const char *part, RelnDims dims,
                        RelnInit init);

/* Returns x W with W (C, to) named "<name>.<part>". */
RelnNode *reln_nn_mixed(const RelnNet *net, const char *name, const char *part, RelnNode *x,
                        int to);

/* Constants of batch norms: the number added to a variance, and the momentum of the running statistics. */
#define NN_EPS 1e-5
#define NN_MOMENTUM 0.1
/* Returns the state "<path of name>.<part>", a row of channels with a constant starting value; NULL with the
 * graph failed. */
RelnNode *reln_nn_state(const RelnNet *net, const char *name, const char *part, int channels,
                        double start);

/* An NnNorm is a batch norm of invariants: its weights, and running statistics or those of the batch. */
typedef struct NnNorm {
    RelnNode *gamma, *beta, *mean, *var;
} NnNorm;
/* Returns the norm with its running statistics; `parts` are the names of gamma, beta, mean and variance. */
NnNorm reln_nn_norm(const RelnNet *net, const char *name, const char *const parts[4], int channels);
/* gamma / sqrt(var + eps) */
RelnNode *reln_nn_norm_scale(RelnGraph *g, const NnNorm *norm);
/* (u - mean) gamma / sqrt(var + eps) + beta, in any graph that can use the norm's nodes */
RelnNode *reln_nn_normalised(RelnGraph *g, const NnNorm *norm, RelnNode *u);
/* Replaces the running statistics by those of the batch, and updates the running ones, the variance without
 * bias. `squares` is the sum of squares around the mean, `weight` the sum of weights. A batch of weight 0 has
 * no statistics and leaves the state unchanged. */
void reln_nn_norm_renew(RelnGraph *g, NnNorm *norm, RelnNode *mean, RelnNode *squares,
                        RelnNode *weight);
/* Does the same with the statistics of u over the batch and the leading axes; weights (..., 1, 1), NULL: all
 * 1. */
void reln_nn_norm_learn(const RelnNet *net, NnNorm *norm, RelnNode *u, RelnNode *weights);
/* Returns w, or 1 where w is 0: a divisor for an empty sum, which is 0. */
RelnNode *reln_nn_divisor(RelnGraph *g, RelnNode *w);

static inline int reln_nn_channels(const RelnNode *x)
{
    return x ? x->shape.dims[RELN_C] : 0;
}

/* Fails for features of a row domain: layers that work along axis P would see one row at a time. */
bool reln_nn_want_points(const RelnNet *net, const char *name, const RelnNode *x);

/* An NnForm is the form that a net uses for features of a rep. */
typedef struct NnForm {
    enum { NN_FORM_DOT, NN_FORM_ALGEBRA, NN_FORM_GRAM } kind;
    const double *gram; /* (K, K); NULL for the dot product */
} NnForm;
/* Returns false with the graph failed: "form: ..." */
bool reln_nn_find_form(const RelnNet *net, const RelnRep *rep, NnForm *out);
/* Sets *definite to whether B(x, x) has one sign and is 0 only for x = 0. Returns false with the graph
 * failed, or for x NULL. */
bool reln_nn_is_definite(const RelnNet *net, const RelnNode *x, bool *definite);

/* psi(t) = sign(t) ln(1 + |t|); and psi(a t / unit) / ln(1 + a) for all scales, in the graph's dtype. */
RelnNode *reln_nn_psi(RelnGraph *g, RelnNode *t);
RelnNode *reln_nn_psi_scales(RelnGraph *g, RelnNode *t, const RelnScales *scales);
/* Fails when there are no scales, or when one is not above 0. */
bool reln_nn_want_scales(const RelnNet *net, const char *name, const RelnScales *scales);

/* Returns the terms that reln_nn_attention() adds to its input: (sum_j a_ij v_j) Wo and (sum_j a_ij (s Sv)_j)
 * So. */
RelnFeatures reln_nn_look(const RelnNet *net, const char *name, RelnFeatures in, int heads);

/* block.c: exchanges information between the invariants s and the features x of each point:
 *     s' = f(s + r(B(x, x)) Q),  x' = 2 sigmoid(s' G + g) x,  r(q) = q / (1 + q^2)^(1/4)
 * Without s: x' = 2 sigmoid(f(r(B(x, x)) Q + b) G + g) x; without x: s' = f(s). Parameters of `name`: Q: C D, b: D, G: D C,
 * g: C, D = C without s. */
RelnFeatures reln_nn_gated(const RelnNet *net, const char *name, RelnFeatures in, RelnActivation f);

/* Fails when s is not invariant: "dense: wanted invariants, saw ..." */
bool reln_nn_want_invariants(const RelnNet *net, const char *layer, const RelnNode *s);

/* Fails when the net has no algebra: "bracket: ..." */
bool reln_nn_want_algebra(const RelnNet *net, const char *layer);

#endif
