/* nn.h -- layers: compositions of ops that own named parameters.
 *
 *     RelnNet net = {.graph = g, .algebra = gl3, .train = true};   // ReLN: the completed form
 *     RelnNode *h = reln_nn_linear(&net, "one", x, 64);            // parameters "one.W"
 *     h = reln_nn_relu(&net, "one", h, NULL);                      //            "one.U"
 *     h = reln_nn_linear(&net, "two", h, 64);
 *     h = reln_nn_bracket(&net, "two", h);                         //            "two.Wa", "two.Wb"
 *     h = reln_nn_pool_max(&net, "pool", h, RELN_P, false);        // a set of points to one
 *     RelnNode *y = reln_nn_dense(&net, "out", reln_nn_invariant(&net, h), 3);
 *
 * A feature x has shape (P, Q, R, K, C): K coordinates of a rep, C channels. A matrix of weights has shape
 * (R = in, K = 1, C = out) and starts as U(-1/sqrt(in), 1/sqrt(in)). Two layers of one name and one kind share their
 * parameters. Layers contain no derivative code: derivatives of any order come from the ops.
 *
 * Every layer is equivariant under the symmetry of its graph; a layer that would not be is refused when it is built.
 * Brackets, forms and products are those of the algebra; the symmetry may be a smaller group. Layers return NULL when
 * something fails and when an argument is NULL, and the plan reports the message.
 *
 * The form decides which published network these layers are: RELN_FORM_COMPLETED is ReLN, RELN_FORM_NO_CENTER Lie
 * Neurons; features of the vector rep of so:3 and no algebra (the dot product), with reln_nn_project(), are Vector Neurons.
 *
 * The form B depends on the rep of the features. It is the first of these that exists:
 *   1. the form that the net's `forms` list for this rep;
 *   2. the form of the algebra, if the rep has as many coordinates as the algebra and keeps its form: elements of the algebra;
 *   3. the default form of the rep, reln_rep_form(): the dot product if the group keeps it (vectors of so:n and o:n),
 *      otherwise the symmetric invariant form, if it is unique up to a factor (four-vectors: diag(-1, 1, 1, 1)).
 * A layer that needs a form and finds none of these fails with RELN_ERR_REP: the message names the rep and says how many
 * forms it has (none: vectors of gl:n; several: sums of reps; a single one that is degenerate). reln_rep_forms() lists
 * them, to choose from:
 *
 *     const RelnRepForm eta = {p, values};                                     // B of the rep p, (K, K)
 *     RelnNet net = {.graph = g, .forms = &eta, .n_forms = 1};
 *
 * Features made by lifts often span less than all matrices: reln_setting_init_closed() finds the smallest algebra that is
 * closed under the layers in use (four-vectors: 10 coordinates of 25). A network on it computes the same values as on all
 * matrices, if its layers do not depend on K (attention and reln_nn_pool_softmax() divide scores by sqrt(K)) and B is the
 * form of the larger algebra, reln_algebra_gram_within() in `forms`.
 *
 * If B is not definite, B(x, x) = 0 also for some x that are not 0: light-like four-vectors, nilpotent matrices. No layer
 * divides by a form alone: a positive number, stated with the layer, is added to every denominator, so values and
 * derivatives of every order are finite there. RELN_NORM_PUBLISHED divides by a form that is kept 1e-6 away from 0, which is
 * finite but discontinuous.
 */
#ifndef RELN_NN_H
#define RELN_NN_H

#include "reln/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A RelnRepForm chooses the form of features of a rep. It must be symmetric and invariant, which the builder
 * checks; it may be degenerate. */
typedef struct RelnRepForm {
    const RelnRep *rep;
    const double *values; /* (K, K): B(x, y) = x^T B y */
} RelnRepForm;

/* A RelnNet holds the settings with which layers are built. */
typedef struct RelnNet {
    RelnGraph *graph;
    const RelnAlgebra *algebra; /* of brackets and products; NULL: no such layers */
    RelnForm form;              /* form of the algebra; 0 is the completed one, B~ */
    bool train; /* batch norms use the statistics of the batch and update the running ones,
                                 * instead of using those */
    const RelnRepForm *forms; /* (n_forms), forms chosen for reps; may be NULL */
    int n_forms;
    const char *within; /* prefix of the names of layers, from reln_nn_within(); NULL: none */
} RelnNet;

/* Returns a net whose layers have a prefix before their names, for the layers of a part. The prefix is formatted as by
 * printf().
 *
 *     for (int i = 0; i < depth; i++) {
 *         const RelnNet block = reln_nn_within(&net, "block%d", i);
 *         h = reln_nn_linear(&block, "one", h, 64);                  // parameters "block0.one.W", "block1.one.W", ...
 *     }
 *
 * Parts nest. A layer that you write yourself gets its name as an argument and begins with reln_nn_within(net, "%s", name).
 * The prefix lives as long as the graph. Names must have 1 to 127 characters: RELN_ERR_ARG otherwise. */
RELN_API RelnNet reln_nn_within(const RelnNet *net, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A RelnFeatures holds a feature and invariants with the same leading axes; either may be NULL. */
typedef struct RelnFeatures {
    RelnNode *x; /* (..., K, C) */
    RelnNode *s; /* (..., 1, D) */
} RelnFeatures;

/* ---- linear ------------------------------------------------------------------------------------------------- */

/* ReLN-Linear: y = x W, no bias.
 * Shapes  x (..., K, C) -> (..., K, channels), any rep      Parameters  W: C channels
 * Cost    2 K C channels for each point */
RELN_API RelnNode *reln_nn_linear(const RelnNet *net, const char *name, RelnNode *x, int channels);

/* Convolution along one axis: y[t] = sum_i x[stride t + dilation i - before] W_i, i = 0 to width - 1, no bias; zeros
 * outside of the axis.
 *
 *     reln_nn_conv(&net, "c", x, &(RelnConv){.channels = 64, .width = 3, .padding = RELN_PAD_SAME});
 *
 * Shapes  x (P, Q, R, K, C) -> (P', Q, R, K, channels) along P, any rep; P' is P / stride, rounded up, with
 *         RELN_PAD_SAME and RELN_PAD_CAUSAL, and with `pad` zeros at either end what RelnWindow says
 * Parameters  W: (width C) channels, tap by tap      Cost  2 K width C channels for each window
 * Fails   RELN_ERR_SHAPE when not one window fits; RELN_ERR_UNSUPPORTED for features of a row domain, whose rows are
 *         not on an axis
 * Notes   other padding: reln_conv(), whose RelnWindow has a number for either end */
typedef enum RelnPadding {
    RELN_PAD_EACH, /* `pad` zeros at either end; none with 0 */
    RELN_PAD_SAME, /* dilation (width - 1) zeros in all, half of them at either end, an odd one at the end */
    RELN_PAD_CAUSAL /* dilation (width - 1) zeros, all before: y[t] does not depend on points after stride
                     * t */
} RelnPadding;
typedef struct RelnConv {
    int channels, width;
    int stride, pad; /* a stride of 0 counts as 1 */
    int dilation;    /* distance of neighbouring taps; 0 counts as 1 */
    RelnPadding padding;
    RelnAxis axis; /* P, unless it is set to Q or R */
} RelnConv;
RELN_API RelnNode *reln_nn_conv(const RelnNet *net, const char *name, RelnNode *x,
                                const RelnConv *conv);

/* Affine: the most general equivariant linear map. With M_m a basis of the maps rep -> rep, T_m of rep -> invariant and
 * I_m of invariant -> rep (reln_maps_linear(); on gl(n): identity and centre, the trace, and s -> s I),
 *     y.x = sum_m M_m x W_m + I_m (s V_m + b_m),      y.s = sum_m T_m x U_m + s S + b
 * Shapes  x (..., K, C), s (..., 1, D) -> (..., K, channels), (..., 1, invariants); 0 omits that output
 * Parameters  "xx0", "xx1", ...: W_m;  "sx0": V_m;  "bx0": b_m;  "xs0": U_m;  "ss0": S;  "bs0": b
 * Fails   RELN_ERR_ARG when no map leads to a requested output
 * Cost    2 K C channels for each M_m */
RELN_API RelnFeatures reln_nn_affine(const RelnNet *net, const char *name, RelnFeatures in,
                                     int channels, int invariants);

/* ---- invariants ------------------------------------------------------------------------------------------------ */

/* B(x, y) for each channel, with the net's form for x's rep. Shapes (..., K, C) -> (..., 1, C); no
 * parameters. Without an algebra, x and y may be in dual reps: then the result is their natural pairing. */
RELN_API RelnNode *reln_nn_form(const RelnNet *net, RelnNode *x, RelnNode *y);
/* The element B(x, .) of the dual rep, whose pairing with y is B(x, y). */
RELN_API RelnNode *reln_nn_lower(const RelnNet *net, RelnNode *x);

/* ReLN-Invariant: s_c = B(x_c, x_c). Shapes (..., K, C) -> (..., 1, C); no parameters. Cost 3 for each entry of B. */
RELN_API RelnNode *reln_nn_invariant(const RelnNet *net, RelnNode *x);

/* Invariants with E = `directions` learned directions d = relu(x W), the ReLU with one shared direction:
 * s_(c,e) = B(x_c, d_e), channel c E + e.
 * Shapes  (..., K, C) -> (..., 1, C E)      Parameters  W: C E, U: E      Cost  2 K C E more */
RELN_API RelnNode *reln_nn_invariant_learned(const RelnNet *net, const char *name, RelnNode *x,
                                             int directions);

/* The determinant of the n x n matrix of each channel, n <= 8, by n - 1 matrix products. Shapes (..., K, C)
 * -> (..., 1, C). */
RELN_API RelnNode *reln_nn_invariant_det(const RelnNet *net, RelnNode *x);

typedef enum RelnActivation {
    RELN_ACT_RELU,
    RELN_ACT_SILU, /* x / (1 + e^-x) */
    RELN_ACT_TANH,
    RELN_ACT_SOFTPLUS,
    RELN_ACT_NONE
} RelnActivation;

/* Applies f to each invariant. */
RELN_API RelnNode *reln_nn_activate(RelnGraph *g, RelnActivation f, RelnNode *s);

/* Dense layer of invariants: y = s W + b. Shapes (..., 1, D) -> (..., 1, channels). Parameters W: D channels,
 * b: channels, both from U(-1/sqrt(D), 1/sqrt(D)). */
RELN_API RelnNode *reln_nn_dense(const RelnNet *net, const char *name, RelnNode *s, int channels);

/* Multilayer perceptron of invariants: `hidden` dense layers of `width`, each with the activation, and a last
 * dense layer without. Parameters of layer i: "i.W", "i.b". */
typedef struct RelnMlp {
    int hidden, width, channels;
    RelnActivation activation;
} RelnMlp;
RELN_API RelnNode *reln_nn_mlp(const RelnNet *net, const char *name, RelnNode *s,
                               const RelnMlp *mlp);

/* ---- EMLP --------------------------------------------------------------------------------------------------------- */

/* A RelnTensors describes `channels` tensors of a rank over a rep: elements of rep x ... x rep, rank times.
 * Tensors of rank 0 are invariants; their rep is ignored. */
typedef struct RelnTensors {
    const RelnRep *rep;
    int rank, channels;
} RelnTensors;

/* EMLP (Finzi, Welling and Wilson, 2021): dense layers of all equivariant linear maps, for any group and rep.
 *
 *     RelnNode *h = reln_nn_emlp(&net, "h", x, &(RelnEmlp){.layers = 3, .width = 128, .channels = 1});
 *
 * Hidden features are tensors of several kinds. A layer is
 *     lin = W x + b,   pre = lin + B(lin) lin / 10,   out = gated pre
 * W and b: every equivariant linear map between two kinds, and every invariant constant, that reln_maps_linear() finds. Each
 *     basis map has one weight for each pair of tensors. The basis is orthonormal. W starts as a matrix of
 *     N(0, 1 / max(rows, columns)) projected on the equivariant ones, b from U(-a, a), a = 1 / sqrt(rows).
 * B(x): tensors of x, reshaped to matrices from rank b to rank a. For each (a, b), tensors of rank a + b over one rep are
 *     drawn once with `seed` and with replacement, at most as many as they have coordinates, with weights theta from
 *     N(0, 1). Indices are lowered by the identity if the group keeps the dot product, otherwise by the invariant form that
 *     the solver finds (sp:4); a rep without a form (the vectors of gl:n) has only products with invariants.
 * gated: an invariant s becomes s sigmoid(s); every other tensor is multiplied by the sigmoid of one invariant, which W
 *     computes for it.
 * A last layer W h + b computes the output.
 *
 * Shapes  x (..., K, C) in any rep -> (..., dim rep, channels); leading axes stay
 * Parameters  of layer i = 0, 1, ..., "out", with kinds numbered from 1 in their order and 0 for invariants: "i.Wa.b.m"
 *         from kind b to a, "i.ba.m", "i.thetaa.b.k". The published weights are free matrices that are projected at every
 *         step: the same functions, but Adam takes other steps
 * Fails   RELN_ERR_ARG when no map leads from x to the output, RELN_ERR_UNSUPPORTED when tensors of the rank are too
 *         large for the solver
 * Cost    2 K C C' for each map between C and C' tensors, K the smaller number of coordinates */
typedef struct RelnEmlp {
    int layers;   /* number of hidden layers, all of the same kinds */
    int n_hidden; /* length of `hidden` */
    const RelnTensors
        *hidden;      /* kinds of hidden tensors; NULL: `width` numbers, distributed over powers of
                                * x's rep */
    int width, ranks; /* ranks 0 .. ranks - 1; 0 means 4 */
    const RelnRep *rep; /* rep of the output; NULL: invariants */
    int channels;       /* channels of the output */
    uint64_t seed;
} RelnEmlp;
RELN_API RelnNode *reln_nn_emlp(const RelnNet *net, const char *name, RelnNode *x,
                                const RelnEmlp *emlp);

/* Distributes `width` numbers over tensors of a rep of dimension dim, as published: dim^(r-j) tensors of each
 * rank j <= r, for the largest r < ranks with (r + 1) dim^r <= width; then again with the rest. 128 of dim 3:
 * 38, 12, 3, 1. */
RELN_API void reln_emlp_uniform(int dim, int width, int ranks, int *channels /* (ranks) */);

/* ---- gates ------------------------------------------------------------------------------------------------------ */

/* ReLN-ReLU: y = x + (1 - leak) max(0, t) d, with d = x U and t = B(x, d), for each channel.
 * Shapes  as x, any rep with a form      Parameters  U: C C; with `shared` one direction for all channels, C
 * Cost    2 K C C for each point
 * Notes   cubic in x: y(s x) = s x + s^3 t d. options NULL: neither shared nor leaky. With a leak a this is
 *         a x + (1 - a) relu(x) */
typedef struct RelnRelu {
    bool shared;
    double leak;
} RelnRelu;
RELN_API RelnNode *reln_nn_relu(const RelnNet *net, const char *name, RelnNode *x,
                                const RelnRelu *options);

/* ReLU divided by a size, so that it is bounded and of degree one in x: y = x + f(t / M) d,
 *     M = sqrt(eps^2 + mean_c(t^2 + B(x,x)^2 + B(d,d)^2)),   f = max(0, .), softplus or tanh
 * t, d, parameters, shapes and cost as reln_nn_relu(). options NULL: RELN_RMS_DEFAULTS.
 * Notes   where t, B(x,x) and B(d,d) vanish together (x = 0; multiples of one light-like vector), M = eps. Choose eps above
 *         the rounding error of a form, u |x|^2 with u the unit round-off, so that rounding errors are not amplified */
typedef struct RelnRms {
    bool shared;
    double eps;
    RelnActivation f; /* RELU, SOFTPLUS or TANH */
} RelnRms;
#define RELN_RMS_DEFAULTS                                                                          \
    {                                                                                              \
        false, 1e-6, RELN_ACT_RELU                                                                 \
    }
RELN_API RelnNode *reln_nn_rms(const RelnNet *net, const char *name, RelnNode *x,
                               const RelnRms *options);

/* Removes the part of x that points against d: y = x - clip(r, -clip, 0) d,
 *     r = t q / (q^2 + delta^2 mean_c q^2 + eps^2),   q = B(d,d);   r = 0 where the denominator is 0
 * For a definite form, delta = 0, eps = 0 and clip = HUGE_VAL this is the ReLU of Vector Neurons.
 * t, d, parameters, shapes and cost as reln_nn_relu(). options NULL: RELN_PROJECT_DEFAULTS.
 * Notes   eps = 0 stands for 0 if the form is definite, where q is small only if d is, and for 1e-6 otherwise: there all q
 *         may vanish while t d does not, and r would be a quotient of rounding errors */
typedef struct RelnProject {
    bool shared;
    double delta, clip;
    double eps;
} RelnProject;
#define RELN_PROJECT_DEFAULTS                                                                      \
    {                                                                                              \
        false, 0.1, 4.0, 0.0                                                                       \
    }
RELN_API RelnNode *reln_nn_project(const RelnNet *net, const char *name, RelnNode *x,
                                   const RelnProject *options);

/* Scalar gate: y_c = x_c sigmoid(mlp(s))_c; the mlp has one hidden layer (silu) of `width`. s NULL: B(x,x) of all channels.
 * Shapes  as x, any rep      Parameters  "0.W", "0.b", "1.W", "1.b" */
RELN_API RelnNode *reln_nn_gate(const RelnNet *net, const char *name, RelnNode *x, RelnNode *s,
                                int width);

/* ---- products --------------------------------------------------------------------------------------------------- */

/* ReLN-Bracket: y = x + [x Wb, x Wa].
 * Shapes  as x, in the adjoint rep of the algebra      Parameters  Wa, Wb: C C      Cost  4 K C C for each point */
RELN_API RelnNode *reln_nn_bracket(const RelnNet *net, const char *name, RelnNode *x);

/* Product: y = x + (x Wa)(x Wb), a product of matrices; Jordan: its symmetric part, y = x + (ab + ba)/2.
 * Linear, Bracket, B~, gates and pooling commute with X0 + z -> X0 - z and X0 + z -> -X0^T + z (X0 in [g,g], z in the
 * centre), so none of them can compute tr X, det X or X^2. reln_nn_affine() and Product can; together with B~ they reach
 * every polynomial invariant and equivariant of conjugation.
 * Shapes, parameters, cost as reln_nn_bracket()
 * Fails   RELN_ERR_ALGEBRA when the algebra is not closed under the product, with the distance: use gl:n as feature
 *         algebra, with the same symmetry */
RELN_API RelnNode *reln_nn_product(const RelnNet *net, const char *name, RelnNode *x);
RELN_API RelnNode *reln_nn_jordan(const RelnNet *net, const char *name, RelnNode *x);

/* Triple: y = x + abc + cba, a = x Wa, b = x Wb, c = x Wc. so, so(p,q), sp, u and gl are closed under it; sl and su are
 * not and are refused.
 * Shapes  as x      Parameters  Wa, Wb, Wc: C C      Cost  6 K C C for each point      Notes  cubic in x */
RELN_API RelnNode *reln_nn_triple(const RelnNet *net, const char *name, RelnNode *x);

/* The n x n matrix of every channel, row by row, in the rep reln_rep_matrix(). */
RELN_API RelnNode *reln_nn_hat(const RelnNet *net, RelnNode *x);

/* ---- sets of points --------------------------------------------------------------------------------------------- */

/* The argument `over` of a pool is an axis P, Q or R, whose extent becomes 1, or RELN_POOL_ROWS: the rows of
 * each sample, for x in a row domain. */
enum { RELN_POOL_ROWS = -1 };

/* Max-Killing pooling: selects for each channel the point with the largest score t = B(x, x Wq), or |t| when `absolute`;
 * the first one on ties.
 * Shapes  (P, ..., K, C) -> (1, ..., K, C)      Parameters  Wq: C C, without a gradient      Cost  2 K C C for each point
 * Notes   an empty set of rows gives 0 */
RELN_API RelnNode *reln_nn_pool_max(const RelnNet *net, const char *name, RelnNode *x, int over,
                                    bool absolute);

/* Softmax pooling, a smooth version of reln_nn_pool_max() whose query Wq is learned: y = sum_p a_p x_p, a =
 * softmax over the points of B(x, x Wq) / sqrt(K). */
RELN_API RelnNode *reln_nn_pool_softmax(const RelnNet *net, const char *name, RelnNode *x,
                                        int over);

RELN_API RelnNode *reln_nn_pool_mean(const RelnNet *net, RelnNode *x, int over);

/* y = sum_p w_p x_p; weights NULL: all 1. Use a sum where the number of points matters: momenta, charges and
 * energies add up, while a mean forgets the number. Shapes x (P, ..., K, C) of any rep, weights (P, ..., 1, 1
 * or C) of the same items -> (1, ..., K, C). 0 for an empty set. */
RELN_API RelnNode *reln_nn_pool_sum(const RelnNet *net, RelnNode *x, RelnNode *weights, int over);

/* y = sum_p w_p x_p / sum_p w_p, with weights of 0 or more; 0 where the weights add up to 0. Shapes as
 * reln_nn_pool_sum(). */
RELN_API RelnNode *reln_nn_pool_weighted(const RelnNet *net, RelnNode *x, RelnNode *weights,
                                         int over);

/* The largest value of each invariant; 0 for an empty set of rows. On ties, the first one gets the gradient.
 * Shapes (P, ..., 1, D) -> (1, ..., 1, D). For other features: reln_nn_pool_max(). */
RELN_API RelnNode *reln_nn_pool_largest(const RelnNet *net, RelnNode *s, int over);

/* The number of rows of each sample, (1, 1): an invariant that means and maxima do not contain. x gives the
 * row domain. */
RELN_API RelnNode *reln_nn_pool_count(const RelnNet *net, RelnNode *x);

/* Splits the channels into `heads` groups along an axis P, Q or R of extent 1, and merges them back:
 *     (P, 1, R, K, C) -> (P, heads, R, K, C / heads) with the axis Q; head h has the channels h C / heads, ...
 * Shapes  any rep, any domain      Parameters  none
 * Fails   RELN_ERR_SHAPE when heads, at most 64, do not divide C, or the extent of the axis is not 1 */
RELN_API RelnNode *reln_nn_split_heads(const RelnNet *net, RelnNode *x, int heads, RelnAxis axis);
RELN_API RelnNode *reln_nn_merge_heads(const RelnNet *net, RelnNode *x, RelnAxis axis);

/* Attention with residual, among the points on P, or among the rows of each sample when x and s are of a row domain. For
 * each head, with queries q = x Wq, keys k = x Wk, values v = x Wv,
 *     a_ij = softmax_j( sum_c B(q_ic, k_jc) / sqrt(K C) + (s Sq)_i (s Sk)_j / sqrt(D) )
 *     y.x = x + (sum_j a_ij v_j) Wo,   y.s = s + (sum_j a_ij (s Sv)_j) So
 * C and D are the channels of one head. Either of x and s may be NULL.
 * Shapes  as the input; heads must divide C and D
 * Parameters  Wq, Wk, Wv, Wo: C C;  Sq, Sk, Sv, So: D D      Cost  8 K C C + 4 P K C for each point
 * Notes   on rows, no array of the size of all pairs is kept: gradients compute the scores again */
RELN_API RelnFeatures reln_nn_attention(const RelnNet *net, const char *name, RelnFeatures in,
                                        int heads);

/* Attention between two sets of a sample: rows of `in` attend to rows of `from`, whose keys are k = from Wk and values
 * v = from Wv. A row whose sample has no rows of `from` stays unchanged.
 * Shapes  as `in`; `from` may have other numbers of channels, C' and D'
 * Parameters  as reln_nn_attention(), but Wk, Wv: C' C and Sk, Sv: D' D
 * Fails   RELN_ERR_ARG when x (or s) is given for one of the two sets only, RELN_ERR_UNSUPPORTED when they are not rows */
RELN_API RelnFeatures reln_nn_cross_attention(const RelnNet *net, const char *name, RelnFeatures in,
                                              RelnFeatures from, int heads);

/* A RelnScales turns an invariant t into one number for each scale a: psi(a t / unit) / ln(1 + a) with psi(t)
 * = sign(t) ln(1 + |t|). Every number is about 1 where t is about `unit`; a large a resolves small t. The
 * products of four-momenta in a jet, for example, span eight orders of magnitude. */
enum { RELN_SCALES = 8 };
typedef struct RelnScales {
    double unit; /* the usual size of t */
    int count;
    double at[RELN_SCALES];
} RelnScales;

/* Messages between rows of sets (LorentzNet, EGNN): for each pair (i, j), with B the net's form for x's rep,
 * psi(t) = sign(t) ln(1 + |t|), f the activation and s the invariants of rows,
 *     u_ij = s_i Wi + s_j Wj + [psi(B(x_i - x_j, x_i - x_j)), psi(B(x_i, x_j))] Wp
 *     m_ij = f(f(u_ij + b) Wm + bm),                        times sigmoid(m_ij Wg + bg) with `gate`
 *     y.s_i = f(s_i Wh + sum_j w_i w_j m_ij Ws + bh) Wo + bo,          plus s_i with `residual`
 *     y.x_i = x_i + step sum_j w_i w_j g_ij (x_i - x_j) / max(1, sum_j w_i w_j),    x_i without `move`
 * where g_ij = f(m_ij Wx + bx) Wf, a number for each channel of x; with a limit F, F tanh(g_ij / F) replaces g_ij.
 *
 *     RelnFeatures y = reln_nn_messages(&net, "one", (RelnFeatures){p, h},           // all pairs of rows
 *                                       &(RelnMessages){.hidden = 72, .gate = true, .norm = true, .residual = true});
 *
 * With `from`, the rows j are those of another set: each row i gets messages from all of them, with x_j and s_j of `from`, and
 * with w_i in place of w_i w_j. The rows of `from` do not change.
 *
 *     RelnFeatures y = reln_nn_messages(&net, "beams", (RelnFeatures){p, h}, &(RelnMessages){.from = {beams, of_beams}});
 *
 * With `norm`, a batch norm over all pairs of the batch replaces the bias b, and a batch norm over all rows replaces bh.
 * Both weigh items by w and keep running statistics as reln_nn_batch_norm_invariants() does; a batch without pairs leaves
 * the running statistics of pairs unchanged.
 *
 * Shapes  x (K, C) in any rep with a form, s (1, D), both of one row domain -> (K, C), (1, channels)
 * Parameters  Wi: D hidden;  Wj: D hidden, or D' hidden with `from`;  Wp: (2 C scales + E) hidden, at each scale the first C
 *         for the differences;  b, bm, bx, bh: hidden;
 *         Wm, Wx, Ws: hidden hidden;  Wg: hidden, bg: 1;  Wf: hidden C;  Wh: D hidden;  Wo: hidden channels, bo. With
 *         `norm`, gamma (from 1), beta (from 0), state "mean", "var": hidden; gammah, betah, "meanh", "varh" of rows
 * Fails   RELN_ERR_REP when x's rep has no form, RELN_ERR_UNSUPPORTED when x and s are not of one row domain,
 *         RELN_ERR_ARG for a `from` of the same domain, or together with `pairs`
 * Cost    2 hidden (hidden + 2 C) for each pair, 2 hidden (hidden + C) more with `move`
 * Notes   x may be f64 in a graph of f32: invariants and moves are then computed in f64, messages in the graph's dtype.
 *         A row that is alone in its set, or of weight 0, gets no messages and keeps its x. No array of the size
 *         pairs x hidden is kept: gradients compute the messages again, tile by tile. At t = 0 the gradient of psi is
 *         taken as 0 */
typedef struct RelnMessages {
    RelnDomain pairs;   /* a domain below the rows; 0: all pairs of two different rows */
    RelnNode *other;    /* i32, of `pairs`: the row j, or -1 for no row; NULL for reln_pairs() */
    RelnNode *weights;  /* (1, 1), w of rows: 0 for padding; NULL: 1 */
    RelnNode *of_pairs; /* (1, E) of `pairs`: further invariants of pairs; may be NULL */
    RelnFeatures from;  /* of another set, which sends: x (K, C), s (1, D'); NULL: the same rows */
    RelnScales scales;  /* scales of the invariants of x; count 0: psi(B) unscaled */
    int hidden;         /* width of messages; 0: D */
    int channels;       /* channels of y.s; 0: D */
    bool gate, norm, move, residual;
    double limit; /* F; 0: no limit */
    double step;  /* 0 counts as 1 */
    double
        count; /* the sum of messages is divided by this usual number of messages of a row; 0 counts as 1 */
    RelnActivation activation;
} RelnMessages;
RELN_API RelnFeatures reln_nn_messages(const RelnNet *net, const char *name, RelnFeatures in,
                                       const RelnMessages *options);

/* ---- sets through sums ---------------------------------------------------------------------------------------------- */

/* Invariants B(x_c, y_d) of every channel of x with every channel of y, at all scales.
 * Shapes  x (P, Q, 1, K, C), y (P, Q, 1, K, D) in one domain -> (P, Q, 1, 1, count C D), channel (a C + c) D + d
 * Notes   computed in the dtype of x and y; the result has the graph's dtype. Products of four-vectors lose digits in f32,
 *         so features with an indefinite form should be f64 also in a network of f32. No parameters */
RELN_API RelnNode *reln_nn_relate(const RelnNet *net, RelnNode *x, RelnNode *y,
                                  const RelnScales *scales);

/* B(x_c, x_c) of every channel at all scales. Shapes (..., K, C) -> (..., 1, count C), channel a C + c.
 * Dtypes as for reln_nn_relate(). */
RELN_API RelnNode *reln_nn_lengths(const RelnNet *net, RelnNode *x, const RelnScales *scales);

/* Selects `count` rows of each sample that lie far apart. The first is the row with the largest
 * sum_c |B(x_c, x_c)| + |B(x_c, m_c)|, m the mean of the set. Each next row is the one farthest from its nearest selected
 * row, in the distance sum_c |B(x_c - y_c, x_c - y_c)|; the first one on ties.
 * Shapes  x (K, C) of rows -> (K, count C) of samples; a set with fewer rows repeats some, an empty set gives zeros
 * Notes   the choice has no gradient, the selected values have one. If distances are equal up to rounding, a change of frame
 *         may change the choice */
enum { RELN_FAR_ROWS = 32 };
RELN_API RelnNode *reln_nn_far_rows(const RelnNet *net, RelnNode *x, int count);

/* Divides the rows of each sample into parts: fuzzy clusters around rows that lie far apart, without parameters. It starts
 * from y = reln_nn_far_rows() and repeats, `rounds` times:
 *     a_ik = t_ik^-1.5 / sum_l t_il^-1.5,      Y_k = sum_i a_ik x_i
 *     t_ik = sum_c |B(x_ic - y_kc, x_ic - y_kc)|,              y_k = Y_k / sum_i a_ik    where B is definite
 *     t_ik = sum_c |B(x_ic, y_kc)| / sum_c |B(y_kc, T_c)|,     y_k = Y_k                 where it is not, T the sum of the set
 * For the momenta of a jet, the second t_ik measures the angle between a particle and a subjet in the jet's rest frame. The
 * parts add up to T.
 * Shapes  x (K, C) of rows -> (K, count C) of samples, part by part; the parts of an empty set are 0
 * Notes   the shares a_ik have no gradient; rows at equal distances behave as in reln_nn_far_rows()
 * Cost    (2 K C + 30) count rounds for each row */
RELN_API RelnNode *reln_nn_parts(const RelnNet *net, RelnNode *x, int count, int rounds);

/* A RelnSet holds a set whose rows exchange information through a few sums over the set, instead of pairs of
 * rows. */
typedef struct RelnSet {
    RelnNode *x;    /* (K, C) of rows */
    RelnNode *s;    /* (1, D) of rows; may be NULL */
    RelnNode *sums; /* (K, M) of samples: the sums with which every row forms invariants */
    RelnNode *z;    /* (1, E) of samples; may be NULL */
} RelnSet;

/* One round of exchange: each row computes invariants with the sums, and new sums are computed from the rows. With relate()
 * the invariants at all scales and f the activation,
 *     s_i' = s_i + f(s_i Ws + relate(x_i, X) Wr + z Wz + b) Wo + bo                  without s_i where D is not `width`
 *     X'   = [sum_i x_i a_i / count, keep],   a_i = softmax(s_i' Wa + ba) over the sums, for each channel of x
 *     z'   = z + f(relate(X', X') Zq + mean_i s_i' Zs + max_i s_i' Zm + z Zz + zb)    without z where E is not `width`
 * The softmax divides each additive feature (momentum, charge) among the sums, as particles among subjets; z' summarises the
 * whole set by the invariants of the sums. Use reln_nn_far_rows() for the first X.
 *
 * Notes   sums and z may also be those of groups, a row domain above that of x: then the rows of each group are a set
 * Cost    2 width (D + count M C + width) + 2 K M C for each row, nothing for pairs of rows
 * Fails   RELN_ERR_REP when x's rep has no form, RELN_ERR_ARG when sums are neither of samples nor above the rows of x */
typedef struct RelnExchange {
    int sums;       /* number of new sums */
    int width;      /* channels of s' and z' */
    int hidden;     /* 0: width */
    RelnNode *keep; /* (K, M') of samples, appended to the new sums; may be NULL */
    RelnScales scales;
    bool norm;      /* batch norms "nr" and "nq" of the results of relate() */
    double count;   /* the usual number of rows; 0 counts as 1 */
    double dropout; /* dropout of the updates, while training */
    RelnActivation activation;
} RelnExchange;
RELN_API RelnSet reln_nn_exchange(const RelnNet *net, const char *name, const RelnSet *in,
                                  const RelnExchange *options);

/* ---- norms -------------------------------------------------------------------------------------------------------- */

/* Layer norm of each point: y_c = gamma_c x_c / (1e-5 + mean_c B(x_c,x_c)^2)^(1/4). Shapes as x. Parameters gamma: C, from 1.
 * A light-like vector has B(x, x) = 0 and is multiplied by 1e-5^(-1/4) = 17.8. */
RELN_API RelnNode *reln_nn_layer_norm(const RelnNet *net, const char *name, RelnNode *x);

/* Root-mean-square norm of each point: y_c = gamma_c x_c / sqrt(1e-5 + mean_c |B(x_c,x_c)|), for a definite B (vectors of
 * so:n, invariants with B(s, s) = s^2). For an indefinite B, |B| does not measure size and is not smooth, and the layer is
 * reln_nn_layer_norm(). Shapes as x, any rep with a form. Parameters gamma: C, from 1. */
RELN_API RelnNode *reln_nn_rms_norm(const RelnNet *net, const char *name, RelnNode *x);

/* The usual layer norm, for invariants: y_c = gamma_c (s_c - m) / sqrt(1e-5 + v) + beta_c, m and v the mean
 * and the variance over the channels of each point. Shapes (..., 1, D), any domain. Parameters gamma (from
 * 1), beta (from 0): D. */
RELN_API RelnNode *reln_nn_layer_norm_invariants(const RelnNet *net, const char *name, RelnNode *s);

/* The usual batch norm, for invariants: y = gamma (s - m) / sqrt(1e-5 + v) + beta. If net->train, m and v are the mean and
 * variance over all items of the batch and all points, each counted with its weight, and the running statistics are updated
 * with momentum 0.1 (v without bias; a batch of total weight 0 updates nothing). Otherwise m and v are the running statistics.
 * Shapes  s (P, Q, R, 1, D) of samples, rows or pairs; weights (..., 1, 1) of the same domain, 0 for padding; NULL: all 1
 * Parameters  gamma (from 1), beta (from 0): D. State "mean", "var": D      Cost  10 for each number */
RELN_API RelnNode *reln_nn_batch_norm_invariants(const RelnNet *net, const char *name, RelnNode *s,
                                                 RelnNode *weights);

typedef enum RelnNorm {
    /* y = gamma_c x / (1e-5 + E[B(x_c,x_c)^2])^(1/4). Parameters gamma: C, from 1. State "square": C */
    RELN_NORM_INVARIANT,
    /* As published: y = x q' / q, q = B(x,x) kept 1e-6 away from 0 and q' = (q - E q) / sqrt(Var q + 1e-5).
     * It divides by q, which vanishes on null elements, and it reverses a sample where q' / q < 0. No
     * parameters. State "mean", "var": C */
    RELN_NORM_PUBLISHED
} RelnNorm;

/* Batch norm of features. If net->train, E is the mean over the batch and all points, for each channel, and
 * the running statistics are updated with momentum 0.1 (variances without bias); otherwise E is the running
 * mean. Shapes as x. */
RELN_API RelnNode *reln_nn_batch_norm(const RelnNet *net, const char *name, RelnNode *x,
                                      RelnNorm norm);

/* ---- blocks ------------------------------------------------------------------------------------------------------------ */

/* A residual block of two convolutions along an axis, for features, invariants or both:
 *
 *     y = f(skip(in) + norm(conv(f(norm(conv(in))))))
 *
 *     RelnFeatures h = reln_nn_conv_block(&net, "b1", h, &(RelnConvBlock){.channels = 64, .stride = 2, .norm = RELN_BLOCK_BATCH_NORM});
 *
 * The first convolution has the stride. If stride or channels change, skip is a convolution of width 1 with a norm, otherwise
 * the input itself. Weights do not touch K, and features have no bias. With RELN_BLOCK_GATED, f is
 *     s' = a(s + r(B(x, x)) Q),   x'_c = 2 sigmoid(s' G + g)_c x_c,   r(q) = q / (1 + q^2)^(1/4)
 * with the activation a: invariants receive the lengths of features, and features are scaled by invariants (if there are no
 * invariants, by the C numbers a(r(B(x, x)) Q + b)). With the other gates, f is reln_nn_relu(), _rms() or _project() of x and
 * a(s) of s. With invariants alone, batch norm and RELN_ACT_RELU this is the block of ResNet.
 *
 * Shapes  x (P, Q, R, K, C), s (P, Q, R, 1, D) -> P / stride points, rounded up, `channels` and `invariants`
 * Parameters  "one.x.W", "one.s.W", "one.nx...", "one.ns...", "two...", "skip..."; "between...", "after..." of f
 * Fails   as reln_nn_conv(): RELN_ERR_UNSUPPORTED on rows
 * Cost    2 width (K C C' + D D') for each point and convolution */
typedef enum RelnBlockNorm {
    RELN_BLOCK_PLAIN, /* no norm; invariants have a bias instead */
    RELN_BLOCK_BATCH_NORM, /* reln_nn_batch_norm() with RELN_NORM_INVARIANT; reln_nn_batch_norm_invariants() */
    RELN_BLOCK_RMS_NORM /* reln_nn_rms_norm(); reln_nn_layer_norm_invariants() */
} RelnBlockNorm;
typedef enum RelnBlockGate {
    RELN_BLOCK_GATED,
    RELN_BLOCK_RELU,
    RELN_BLOCK_RMS,
    RELN_BLOCK_PROJECT
} RelnBlockGate;
typedef struct RelnConvBlock {
    int channels, invariants;    /* 0: as in the input */
    int width, stride, dilation; /* 0 stands for 3, 1 and 1 */
    bool causal;                 /* no output point depends on a later input point */
    RelnBlockNorm norm;
    RelnBlockGate gate;
    RelnActivation activation; /* activation of invariants */
    double dropout;            /* before the second convolution: reln_nn_dropout() */
    double skip;               /* stochastic depth: reln_nn_residual() */
    RelnAxis axis;             /* P, unless it is set to Q or R */
} RelnConvBlock;
RELN_API RelnFeatures reln_nn_conv_block(const RelnNet *net, const char *name, RelnFeatures in,
                                         const RelnConvBlock *options);

/* Pooling along an axis by the windows of RelnWindow, which shortens the axis: the mean of each window, or with `max`, for
 * each channel, the point of the window with the largest score. The score of an invariant is its value, of other features
 * B(x, x Wq).
 *
 *     h = reln_nn_pool_windows(&net, "p1", h, &(RelnWindowPool){.window = reln_window_same(2, 2, 1)});   // half as many points
 *
 * Parameters  Wq: C C with `max`, without a gradient      Fails  RELN_ERR_UNSUPPORTED on rows: use reln_coarse() there */
typedef struct RelnWindowPool {
    RelnWindow window;
    bool max;
    RelnAxis axis; /* P, unless it is set to Q or R */
} RelnWindowPool;
RELN_API RelnFeatures reln_nn_pool_windows(const RelnNet *net, const char *name, RelnFeatures in,
                                           const RelnWindowPool *options);

/* A block of a transformer, on points of axis P or on rows: with n(.) reln_nn_rms_norm() of x and
 * reln_nn_layer_norm_invariants() of s,
 *     h = in + (reln_nn_attention(n(in)) - n(in)),      y = h + W2 f(W1 n(h))
 * f is the nonlinearity RELN_BLOCK_GATED of reln_nn_conv_block(); W1 and W2 are linear for x and dense for s.
 * Shapes  as the input; either of x and s may be NULL; heads must divide C and D
 * Parameters  "attention.Wq", ...; "x1.W", "x2.W", "s1.W", "s1.b", ...; "gates..."; "one.nx.gamma", "one.ns...", "two..."
 * Cost    that of reln_nn_attention(), and 4 (K C wide + D hidden) for each point */
typedef struct RelnTransformer {
    int heads;  /* 0 counts as 1 */
    int hidden; /* number of invariants between W1 and W2; 0: 2 D */
    int wide;   /* channels of features between W1 and W2; 0: C */
    double dropout, skip;
    RelnActivation activation;
} RelnTransformer;
RELN_API RelnFeatures reln_nn_transformer(const RelnNet *net, const char *name, RelnFeatures in,
                                          const RelnTransformer *options);

/* ---- leaving parts out ------------------------------------------------------------------------------------------------ */

/* Dropout. If net->train, each number of in.s, and each channel of in.x with all its coordinates, becomes 0
 * with probability p, and the others are divided by 1 - p. Otherwise the input is returned. in.x or in.s may
 * be NULL. Fails with RELN_ERR_ARG when p is not in [0, 1). For label smoothing, see RelnLoss.smoothing. */
RELN_API RelnFeatures reln_nn_dropout(const RelnNet *net, RelnFeatures in, double p);

/* A residual connection in + branch, with stochastic depth. If net->train, the branch of each sample (all its
 * points and rows together) is left out with probability p, and divided by 1 - p otherwise. Where branch.x or
 * branch.s is NULL, the part of `in` is returned. */
RELN_API RelnFeatures reln_nn_residual(const RelnNet *net, RelnFeatures in, RelnFeatures branch,
                                       double p);

#ifdef __cplusplus
}
#endif

#endif
