/* envelope.c -- products of matrices as layers, for algebras that are closed under them: Product, Jordan, Triple.
 *
 * No family of algebras is treated specially: the tensors are computed from the basis, and the part of a product outside
 * the algebra decides whether the layer is allowed.
 */
#include <math.h>

#include "nn/nn.h"
#include "tensor/linalg.h"

#define CLOSED 1e-10 /* share of a product outside the algebra that counts as rounding */
#define NOISE 1e-13  /* entries of a tensor below this share of its largest one are zeros */

/* A Draft is a tensor while it is filled: dense, in the order (k, i, j). */
typedef struct Draft {
    int i, j, k;
    double *values;
} Draft;

static double *at(const Draft *d, int k, int i, int j)
{
    return d->values + ((ptrdiff_t)k * d->i + i) * d->j + j;
}

static bool draft(RelnArena *arena, const RelnNet *net, int i, int j, int k, Draft *out)
{
    *out = (Draft){i, j, k, NULL};
    out->values = reln_arena_alloc(arena, (size_t)i * (size_t)j * (size_t)k, sizeof(double));
    return out->values || reln_graph_nomem(net->graph);
}

/* Returns the graph's tensor with the draft's entries. */
static const RelnTensor3 *sparse(RelnArena *arena, const RelnNet *net, const Draft *d)
{
    const ptrdiff_t count = (ptrdiff_t)d->i * d->j * d->k;
    RelnEntry *entries = reln_arena_alloc(arena, (size_t)count, sizeof *entries);
    RelnTensor3 t = {d->i, d->j, d->k, 0, entries};
    double largest = 0;

    if (!entries) {
        reln_graph_nomem(net->graph);
        return NULL;
    }
    for (ptrdiff_t e = 0; e < count; e++)
        largest = fmax(largest, fabs(d->values[e]));
    for (ptrdiff_t e = 0; e < count; e++)
        if (fabs(d->values[e]) > NOISE * largest)
            entries[t.count++] = (RelnEntry){(int)(e / d->j % d->i), (int)(e % d->j),
                                             (int)(e / d->j / d->i), d->values[e]};
    return reln_graph_tensor(net->graph, &t);
}

/* z = a x y + b y x, for matrices */
static void twisted(int n, double a, const double *x, double b, const double *y, double *work,
                    double *z)
{
    const ptrdiff_t nn = (ptrdiff_t)n * n;

    reln_mat_mul(n, n, n, x, y, z);
    reln_mat_mul(n, n, n, y, x, work);
    for (ptrdiff_t i = 0; i < nn; i++)
        z[i] = a * z[i] + b * work[i];
}

static bool refuse(const RelnNet *net, const char *layer, double outside)
{
    return reln_graph_fail(net->graph, RELN_ERR_ALGEBRA,
                           "%s: %s is not closed under it, %.2g of a result lies outside; take "
                           "gl:%d as feature algebra, with the symmetry %s",
                           layer, reln_algebra_name(net->algebra), outside,
                           reln_algebra_n(net->algebra),
                           reln_group_name(reln_graph_group(net->graph)));
}

/* ---- Product and Jordan -------------------------------------------------------------------------------------------- */

/* a E_i E_j + b E_j E_i = sum_k T_ijk E_k */
static bool fill_product(const RelnNet *net, RelnArena *arena, const char *layer, double a,
                         double b, Draft *t)
{
    const int n = reln_algebra_n(net->algebra), dim = reln_algebra_dim(net->algebra);
    const ptrdiff_t nn = (ptrdiff_t)n * n;
    const double *e = reln_algebra_basis(net->algebra);
    double *work = reln_arena_alloc(arena, (size_t)(2 * nn + dim), sizeof *work), worst = 0;
    double *z = work ? work + nn : NULL, *x = work ? z + nn : NULL;

    if (!work || !draft(arena, net, dim, dim, dim, t))
        return reln_graph_nomem(net->graph);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            twisted(n, a, e + i * nn, b, e + j * nn, work, z);
            worst = fmax(worst, reln_algebra_vee(net->algebra, z, x));
            for (int k = 0; k < dim; k++)
                *at(t, k, i, j) = x[k];
        }
    return worst <= CLOSED || refuse(net, layer, worst);
}

static const RelnTensor3 *product_tensor(const RelnNet *net, const char *layer, double a, double b)
{
    const RelnTensor3 *tensor = NULL;
    RelnArena arena;
    Draft t = {0};

    reln_arena_init(&arena, reln_graph_ctx(net->graph));
    if (fill_product(net, &arena, layer, a, b, &t))
        tensor = sparse(&arena, net, &t);
    reln_arena_clear(&arena);
    return tensor;
}

/* y = x + T(x Wa, x Wb), T the tensor of a xy + b yx */
static RelnNode *product(const RelnNet *net, const char *layer, const char *name, RelnNode *x,
                         double a, double b)
{
    const int c = reln_nn_channels(x);
    const RelnTensor3 *T;
    RelnNode *left, *right;

    if (!x || !reln_nn_want_algebra(net, layer))
        return NULL;
    T = product_tensor(net, layer, a, b);
    left = reln_nn_mixed(net, name, "Wa", x, c);
    right = reln_nn_mixed(net, name, "Wb", x, c);
    return reln_add(net->graph, x, reln_contract(net->graph, T, left, right, x->rep));
}

RelnNode *reln_nn_product(const RelnNet *net, const char *name, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    return product(net, "product", name, x, 1.0, 0.0);
}

RelnNode *reln_nn_jordan(const RelnNet *net, const char *name, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    return product(net, "jordan", name, x, 0.5, 0.5);
}

/* ---- Triple -------------------------------------------------------------------------------------------------------- */

/* Tests closure on a few fixed random elements: a trilinear map that vanishes on them vanishes everywhere,
 * with probability 1. */
static bool closed_under_triples(const RelnNet *net, RelnArena *arena)
{
    enum { PROBES = 3 };
    const int n = reln_algebra_n(net->algebra), dim = reln_algebra_dim(net->algebra);
    const ptrdiff_t nn = (ptrdiff_t)n * n;
    double *m = reln_arena_alloc(arena, (size_t)(6 * nn + dim), sizeof *m), worst = 0;
    RelnRng rng = reln_rng(3, 0);

    if (!m)
        return reln_graph_nomem(net->graph);
    for (int p = 0; p < PROBES; p++) {
        double *a = m, *b = m + nn, *c = m + 2 * nn, *ab = m + 3 * nn, *z = m + 4 * nn;
        double *x = m + 6 * nn, *cba = m + 5 * nn;

        for (int e = 0; e < 3; e++) {
            for (int k = 0; k < dim; k++)
                x[k] = reln_rng_normal(&rng);
            reln_algebra_hat(net->algebra, x, m + e * nn);
        }
        reln_mat_mul(n, n, n, a, b, ab);
        reln_mat_mul(n, n, n, ab, c, z);
        reln_mat_mul(n, n, n, c, b, ab);
        reln_mat_mul(n, n, n, ab, a, cba);
        for (ptrdiff_t i = 0; i < nn; i++)
            z[i] += cba[i];
        worst = fmax(worst, reln_algebra_vee(net->algebra, z, x));
    }
    return worst <= CLOSED || refuse(net, "triple", worst);
}

/* S: (E_i E_j + E_j E_i) / 2 as a matrix, row by row. */
static bool fill_square(const RelnNet *net, RelnArena *arena, Draft *t)
{
    const int n = reln_algebra_n(net->algebra), dim = reln_algebra_dim(net->algebra);
    const ptrdiff_t nn = (ptrdiff_t)n * n;
    const double *e = reln_algebra_basis(net->algebra);
    double *work = reln_arena_alloc(arena, (size_t)(2 * nn), sizeof *work);

    if (!work || !draft(arena, net, dim, dim, (int)nn, t))
        return reln_graph_nomem(net->graph);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            twisted(n, 0.5, e + i * nn, 0.5, e + j * nn, work, work + nn);
            for (int k = 0; k < nn; k++)
                *at(t, k, i, j) = work[nn + k];
        }
    return true;
}

/* P (K, n n): coordinates of the part of a matrix in the algebra, with the rest orthogonal for tr(XY). Unlike
 * the nearest element, this part is equivariant: P_k(M) = sum_l G^-1_kl tr(E_l M), G_kl = tr(E_k E_l). */
static bool fill_projector(const RelnNet *net, RelnArena *arena, double *projector)
{
    const int n = reln_algebra_n(net->algebra), dim = reln_algebra_dim(net->algebra);
    const ptrdiff_t nn = (ptrdiff_t)n * n;
    const double *e = reln_algebra_basis(net->algebra), *gram = NULL;
    double *turned = reln_arena_alloc(arena, (size_t)(dim * nn), sizeof *turned);
    RelnStatus status =
        turned ? reln_algebra_gram(net->algebra, RELN_FORM_TRACE, &gram) : RELN_ERR_NOMEM;

    for (int k = 0; k < dim && turned; k++)
        reln_mat_transpose(n, n, e + k * nn, turned + k * nn);
    if (status == RELN_OK)
        status = reln_solve(reln_graph_ctx(net->graph), dim, nn, gram, turned, projector);
    return status == RELN_OK || reln_graph_fail(net->graph, status, "triple: tr(XY) on %s: %s",
                                                reln_algebra_name(net->algebra),
                                                reln_ctx_error(reln_graph_ctx(net->graph)));
}

/* A: P(e_i E_j + E_j e_i), e_i the i-th unit matrix. */
static bool fill_anticommutator(const RelnNet *net, RelnArena *arena, Draft *t)
{
    const int n = reln_algebra_n(net->algebra), dim = reln_algebra_dim(net->algebra);
    const ptrdiff_t nn = (ptrdiff_t)n * n;
    const double *e = reln_algebra_basis(net->algebra);
    double *work = reln_arena_alloc(arena, (size_t)((3 + dim) * nn + dim), sizeof *work);
    double *unit = work, *z = work ? unit + 2 * nn : NULL, *p = work ? z + nn : NULL;
    double *x = work ? p + dim * nn : NULL;

    if (!work || !draft(arena, net, (int)nn, dim, dim, t))
        return reln_graph_nomem(net->graph);
    if (!fill_projector(net, arena, p))
        return false;
    for (int i = 0; i < nn; i++)
        for (int j = 0; j < dim; j++) {
            unit[i] = 1.0;
            twisted(n, 1.0, unit, 1.0, e + j * nn, unit + nn, z);
            unit[i] = 0.0;
            reln_mat_mul(dim, nn, 1, p, z, x);
            for (int k = 0; k < dim; k++)
                *at(t, k, i, j) = x[k];
        }
    return true;
}

typedef struct TripleTensors {
    const RelnTensor3 *square, *anticommutator;
} TripleTensors;

static TripleTensors triple_tensors(const RelnNet *net)
{
    TripleTensors t = {NULL, NULL};
    Draft square = {0}, anticommutator = {0};
    RelnArena arena;

    reln_arena_init(&arena, reln_graph_ctx(net->graph));
    if (closed_under_triples(net, &arena) && fill_square(net, &arena, &square) &&
        fill_anticommutator(net, &arena, &anticommutator)) {
        t.square = sparse(&arena, net, &square);
        t.anticommutator = sparse(&arena, net, &anticommutator);
    }
    reln_arena_clear(&arena);
    return t;
}

static const RelnRep *matrix_rep(const RelnNet *net)
{
    const RelnRep *matrix = reln_rep_matrix(reln_graph_group(net->graph));

    if (!matrix)
        reln_graph_nomem(net->graph);
    return matrix;
}

/* abc + cba = [[a,b],c]/2 + (sc + cs), s = (ab + ba)/2: each part is in the algebra if the whole is. */
RelnNode *reln_nn_triple(const RelnNet *net, const char *name, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const int channels = reln_nn_channels(x);
    RelnGraph *g = net->graph;
    RelnNode *a, *b, *c, *s, *double_bracket;
    const RelnRep *matrix;
    TripleTensors t;

    if (!x || !reln_nn_want_algebra(net, "triple"))
        return NULL;
    t = triple_tensors(net);
    matrix = t.square ? matrix_rep(net) : NULL;
    if (!matrix)
        return NULL;
    a = reln_nn_mixed(net, name, "Wa", x, channels);
    b = reln_nn_mixed(net, name, "Wb", x, channels);
    c = reln_nn_mixed(net, name, "Wc", x, channels);
    s = reln_contract(g, t.square, a, b, matrix);
    double_bracket = reln_bracket(g, net->algebra, reln_bracket(g, net->algebra, a, b), c);
    return reln_add(g, reln_add(g, x, reln_scale(g, double_bracket, 0.5)),
                    reln_contract(g, t.anticommutator, s, c, x->rep));
}

/* ---- matrices -------------------------------------------------------------------------------------------------------- */

RelnNode *reln_nn_hat(const RelnNet *net, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);

    const RelnRep *matrix;
    double *columns;
    int n, dim;

    if (!x || !reln_nn_want_algebra(net, "hat") || !(matrix = matrix_rep(net)))
        return NULL;
    n = reln_algebra_n(net->algebra);
    dim = reln_algebra_dim(net->algebra);
    if (x->shape.dims[RELN_K] != dim || reln_rep_dim(matrix) != n * n) {
        reln_graph_fail(net->graph, RELN_ERR_SHAPE,
                        "hat: %s has %d coordinates, %s has %d, as matrices of size %d",
                        reln_shape_text(x), x->shape.dims[RELN_K], reln_algebra_name(net->algebra),
                        dim, n);
        return NULL;
    }
    columns = reln_graph_alloc(net->graph, (size_t)(n * n) * (size_t)dim, sizeof *columns);
    if (!columns)
        return NULL;
    reln_mat_transpose(dim, (ptrdiff_t)n * n, reln_algebra_basis(net->algebra), columns);
    return reln_linear_map(net->graph, x, columns, matrix);
}
