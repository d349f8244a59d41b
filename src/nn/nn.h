/* nn.h -- functions that the files of the layers share: named weights, extents, checks. */
#ifndef NN_NN_H
#define NN_NN_H

#include "ops/ops.h"
#include "reln/nn.h"

/* Parameters "<name>.<part>", a matrix (R = from, K = 1, C = to) and a row (C = to), from U(-a, a), a = 1/sqrt(fan_in). */
RelnNode *reln_nn_weight(const RelnNet *net, const char *name, const char *part, int from, int to,
                         int fan_in);
RelnNode *reln_nn_bias(const RelnNet *net, const char *name, const char *part, int to, int fan_in);
/* False where the net, its graph or another pointer that the layer needs is NULL; then the graph, if there is one,
 * fails. */
static inline bool reln_nn_ready(const RelnNet *net, bool others, const char *function)
{
    return net && net->graph && (others || reln_graph_null(net->graph, function));
}
/* "<name>.<part>" in the graph's arena; NULL with the graph failed. */
const char *reln_nn_name(const RelnNet *net, const char *name, const char *part);

/* x W with W (C, to) named "<name>.<part>" */
RelnNode *reln_nn_mixed(const RelnNet *net, const char *name, const char *part, RelnNode *x,
                        int to);

/* Statistics of batch norms: what is added to a variance, and how much of a new value is remembered. */
#define NN_EPS 1e-5
#define NN_MOMENTUM 0.1
/* The state "<name>.<part>", a row of channels that starts as a constant; NULL with the graph failed. */
RelnNode *reln_nn_state(const RelnNet *net, const char *name, const char *part, int channels,
                        double start);

static inline int reln_nn_channels(const RelnNode *x)
{
    return x ? x->shape.dims[RELN_C] : 0;
}

/* Fails for features of a row domain: layers that work along axis P would see one row at a time. */
bool reln_nn_want_points(const RelnNet *net, const char *name, const RelnNode *x);

/* The form that a net has for features of a rep. */
typedef struct NnForm {
    enum { NN_FORM_DOT, NN_FORM_ALGEBRA, NN_FORM_GRAM } kind;
    const double *gram; /* (K, K); NULL for the dot product */
} NnForm;
/* False with the graph failed: "form: ..." */
bool reln_nn_find_form(const RelnNet *net, const RelnRep *rep, NnForm *out);
/* Is B(x, x) of one sign, 0 only for x = 0? False with the graph failed, or for x NULL. */
bool reln_nn_is_definite(const RelnNet *net, const RelnNode *x, bool *definite);

/* psi(t) = sign(t) ln(1 + |t|), and psi(a t / unit) / ln(1 + a) for all scales, in the graph's dtype. */
RelnNode *reln_nn_psi(RelnGraph *g, RelnNode *t);
RelnNode *reln_nn_psi_scales(RelnGraph *g, RelnNode *t, const RelnScales *scales);
/* Fails when there are no scales, or one is not above 0. */
bool reln_nn_want_scales(const RelnNet *net, const char *name, const RelnScales *scales);

/* Fails when s transforms: "dense: wanted invariants, saw ..." */
bool reln_nn_want_invariants(const RelnNet *net, const char *layer, const RelnNode *s);

/* Fails when the net has no algebra: "bracket: ..." */
bool reln_nn_want_algebra(const RelnNet *net, const char *layer);

#endif
