/* rep.h -- groups, representations as data, and the maps between them.
 *
 *     RelnGroup *so3 = NULL;
 *     reln_group_create(ctx, "so:3", &so3);
 *     const RelnRep *v = reln_rep_vector(so3), *m = reln_rep_product(v, v);
 *     const RelnMaps *maps = NULL;
 *     reln_maps_linear(m, m, &maps);                // every equivariant linear map: 3 of them
 *     reln_group_destroy(so3);
 *
 * A group is what must be respected: Lie generators and discrete generators, as n x n matrices. It may have either
 * kind only, or none (then everything is allowed and nothing is promised).
 *
 * A rep is its dimension K and the K x K matrix of every generator; nothing else is known of it. Reps belong to their
 * group and live as long as it. Equal reps are one object, so `==` compares them. The makers return NULL with the
 * message in the context when something fails, and NULL passes through them.
 */
#ifndef RELN_REP_H
#define RELN_REP_H

#include "reln/algebra.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnGroup RelnGroup;
typedef struct RelnRep RelnRep;

/* ---- groups ----------------------------------------------------------------------------------------------- */

/* By name: every name of reln_algebra_create() is its group (gl:n and so:p,q with all their components), and
 *   o:n o:p,q   with reflections (o:p,q has one of time and one of space)     lorentz   SO+(1,3), the identity component
 *   none:n      no generators at all: n x n matrices, no promise
 * `+` joins groups block-diagonally. Caller destroys *out. */
RELN_API RelnStatus reln_group_create(RelnCtx *ctx, const char *name, RelnGroup **out);

/* From matrices: lie (n_lie, n, n), discrete (n_discrete, n, n), each discrete one invertible. The largest number of each
 * is within 1e-100 .. 1e100 (a Lie one may be 0): RELN_ERR_NUMERIC otherwise. Caller destroys. */
RELN_API RelnStatus reln_group_from_matrices(RelnCtx *ctx, const char *name, int n, int n_lie,
                                             const double *lie, int n_discrete,
                                             const double *discrete, RelnGroup **out);

/* The group as diag(g, 1, ..., 1) of size n: SO+(1,3) on 5 x 5 matrices. Caller destroys. */
RELN_API RelnStatus reln_group_embed(const RelnGroup *group, int n, RelnGroup **out);
RELN_API void reln_group_destroy(RelnGroup *group); /* NULL is fine */

RELN_API RelnCtx *reln_group_ctx(const RelnGroup *group);
RELN_API const char *reln_group_name(const RelnGroup *group);
RELN_API int reln_group_n(const RelnGroup *group);
RELN_API int reln_group_n_lie(const RelnGroup *group);
RELN_API int reln_group_n_discrete(const RelnGroup *group);
RELN_API const double *reln_group_lie(const RelnGroup *group);      /* (n_lie, n, n) */
RELN_API const double *reln_group_discrete(const RelnGroup *group); /* (n_discrete, n, n) */

/* A group element that can act in every rep: it remembers how it was made from the generators. */
typedef struct RelnElement RelnElement;

/* Random, of condition number cond (see reln_algebra_random_group), in any component. Caller destroys. */
RELN_API RelnStatus reln_group_random(const RelnGroup *group, RelnRng *rng, double cond,
                                      RelnElement **out);
RELN_API void reln_element_destroy(RelnElement *element);                /* NULL is fine */
RELN_API const double *reln_element_matrix(const RelnElement *element);  /* (n, n) */
RELN_API const double *reln_element_inverse(const RelnElement *element); /* (n, n) */
RELN_API double reln_element_cond(const RelnElement *element);

/* ---- reps ------------------------------------------------------------------------------------------------- */

RELN_API const RelnRep *reln_rep_trivial(RelnGroup *group,
                                         int dim); /* dim invariants; dim 1 is "invariant" */
RELN_API const RelnRep *reln_rep_vector(RelnGroup *group); /* v -> g v */
RELN_API const RelnRep *reln_rep_matrix(RelnGroup *group); /* X -> g X g^-1, all n x n, row-major */
/* Coordinates in the algebra under X -> g X g^-1; the group must normalise it. Its dual is the coadjoint rep. */
RELN_API const RelnRep *reln_rep_adjoint(RelnGroup *group, const RelnAlgebra *algebra);
RELN_API const RelnRep *reln_rep_sign(RelnGroup *group); /* sign of det: -1 on reflections */
/* One number +1 or -1 (or any non-zero) for each discrete generator. */
RELN_API const RelnRep *reln_rep_character(RelnGroup *group, const double *values);
/* From matrices of your own: lie (n_lie, dim, dim), discrete (n_discrete, dim, dim). That they are a representation
 * is checked as far as the Lie generators go: [rho(E_i), rho(E_j)] = rho([E_i, E_j]), and rho(gamma) rho(E_i)
 * rho(gamma)^-1 = rho(gamma E_i gamma^-1). NULL with the residual otherwise. */
RELN_API const RelnRep *reln_rep_from_matrices(RelnGroup *group, int dim, const double *lie,
                                               const double *discrete);

RELN_API const RelnRep *reln_rep_dual(const RelnRep *rep); /* -rho(E)^T, rho(gamma)^-T */
RELN_API const RelnRep *reln_rep_sum(const RelnRep *a,
                                     const RelnRep *b); /* a's coordinates, then b's */
RELN_API const RelnRep *reln_rep_product(const RelnRep *a,
                                         const RelnRep *b); /* coordinate i * dim_b + j */
RELN_API const RelnRep *reln_rep_symmetric(const RelnRep *rep,
                                           int power); /* monomials, i1 <= i2 <= ... */
RELN_API const RelnRep *reln_rep_antisymmetric(const RelnRep *rep, int power); /* i1 < i2 < ... */
/* The same coordinates under a smaller group, whose generators must lie in the rep's group. */
RELN_API const RelnRep *reln_rep_restrict(const RelnRep *rep, RelnGroup *subgroup);

RELN_API RelnGroup *reln_rep_group(const RelnRep *rep);
RELN_API int reln_rep_dim(const RelnRep *rep);
RELN_API const char *reln_rep_name(const RelnRep *rep);                      /* "adjoint(gl:3)" */
RELN_API const double *reln_rep_lie(const RelnRep *rep, int generator);      /* (K, K) */
RELN_API const double *reln_rep_discrete(const RelnRep *rep, int generator); /* (K, K) */
RELN_API bool reln_rep_is_trivial(const RelnRep *rep);    /* every generator acts as nothing */
RELN_API bool reln_rep_is_orthogonal(const RelnRep *rep); /* every matrix of it is */
/* (K, K) matrix of a group element. */
RELN_API RelnStatus reln_rep_act(const RelnRep *rep, const RelnElement *element, double *out);

/* ---- checking maps ---------------------------------------------------------------------------------------- */

/* A map counts as equivariant when its residual is below this share of the terms that it is the sum of, in every cell:
 * the numbers of the map that belong to one block of connected coordinates of each rep. A cell may also be off by
 * 1e-14 of the whole map. */
#define RELN_INTERTWINER_TOLERANCE 1e-10

typedef struct RelnVerdict {
    bool equivariant;
    double residual; /* worst over generators and cells, relative to the terms involved */
    bool discrete;   /* the worst generator is a discrete one */
    int generator;   /* its index, -1 when there are none */
    char text[192]; /* "generator 3 of gl:3 fails by 0.41 (tolerance 1e-10)"; "" when equivariant */
} RelnVerdict;

/* m (dim out, dim in): rho_out(E) m = m rho_in(E), rho_out(gamma) m = m rho_in(gamma). The status tells only whether
 * the question could be answered. */
RELN_API RelnStatus reln_check_linear(const RelnRep *in, const RelnRep *out, const double *m,
                                      RelnVerdict *verdict);
/* z_k = sum t_ijk x_i y_j from reps u, v to w. */
RELN_API RelnStatus reln_check_bilinear(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                                        const RelnTensor3 *t, RelnVerdict *verdict);

/* ---- finding maps ----------------------------------------------------------------------------------------- */

/* A canonical basis of a space of equivariant maps: reduced echelon form, so the same space gives the same basis.
 * Where all generators are fractions, so are the maps: solved modulo a prime, reconstructed, verified in integers; the
 * double is the rounding of the fraction. Elsewhere they are solved in doubles, and entries within rounding (1e-12) of a
 * fraction with a denominator up to 64 are the double of that fraction. */
typedef struct RelnMaps {
    int count;
    int dims[3];          /* linear: (out, in, 1); bilinear: (w, u, v) */
    const double *values; /* (count, dims[0], dims[1], dims[2]), row-major */
    const int32_t
        *numerators; /* the same over denominators (count); both NULL: not known exactly */
    const int32_t *denominators;
} RelnMaps;

/* Every equivariant linear map in -> out, every bilinear map u x v -> w. Borrowed from the group, solved once, checked.
 * RELN_ERR_NUMERIC when their number cannot be told from rounding, as with a group in a frame of condition 10 and
 * more on large reps; RELN_ERR_UNSUPPORTED when the problem is too large, with its size. */
RELN_API RelnStatus reln_maps_linear(const RelnRep *in, const RelnRep *out, const RelnMaps **maps);
RELN_API RelnStatus reln_maps_bilinear(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                                       const RelnMaps **maps);
/* One of the bilinear maps as a sparse tensor, borrowed from the group. NULL with the message on failure. */
RELN_API const RelnTensor3 *reln_maps_tensor(const RelnRep *owner, const RelnMaps *maps, int index);

/* The orthogonal projector (d, d) on the span of maps, d the product of their dims. Where maps are fractions its entries are
 * the rounding of fractions, verified in integers. */
RELN_API RelnStatus reln_maps_projector(const RelnRep *owner, const RelnMaps *maps,
                                        double *projector);

/* ---- forms ------------------------------------------------------------------------------------------------ */

/* The bilinear forms B(x, y) = x^T B y of a rep with B(g x, g y) = B(x, y): a canonical basis (reduced echelon form) of the
 * symmetric ones and one of the antisymmetric ones. Vectors of so:3 and lorentz have 1 and 0, of sp:4 0 and 1, of gl:3
 * none; all matrices of gl:3, tr XY and tr X tr Y, have 2 and 0. */
typedef struct RelnForms {
    int symmetric, antisymmetric; /* dimensions of the two spaces */
    const double *values;         /* (symmetric + antisymmetric, K, K), the symmetric ones first */
} RelnForms;
/* Borrowed from the group, solved once. Fails as reln_maps_linear(). */
RELN_API RelnStatus reln_rep_forms(const RelnRep *rep, const RelnForms **forms);

/* The form that a rep brings with it, *form (K, K), borrowed from the group:
 *   the dot product where the group keeps it;
 *   elsewhere the symmetric invariant form, if there is one up to a factor and it is not degenerate. Its largest entry is 1
 *   in absolute value; it has more positive than negative eigenvalues, and where they are as many its first entry that is
 *   not 0 is positive. Four-vectors have diag(-1, 1, 1, 1) = reln_metric_mostly_plus.
 * RELN_ERR_REP otherwise, with the rep, how many forms it has, and what is wrong with them. */
RELN_API RelnStatus reln_rep_form(const RelnRep *rep, const double **form);

/* ---- the smallest algebra that closes ---------------------------------------------------------------------- */

/* Layers that must not lead out of the features, joined with |. The bracket always is one of them. */
enum {
    RELN_CLOSED_BRACKET = 0,
    RELN_CLOSED_PRODUCT = 1, /* a b: Product, Jordan */
    RELN_CLOSED_TRIPLE = 2,  /* a b c + c b a: Triple */
    RELN_CLOSED_TRACE = 4    /* tr(a) 1 */
};

/* What features must hold: the matrices that lifts make of unit data, of the group's size. */
typedef struct RelnClosing {
    int count;
    const double *matrices; /* (count, n, n) */
    unsigned layers;
    const char *
        name; /* of the algebra, for messages; NULL: "closed span of 10 in gl:5", or "gl:n" when it is that */
} RelnClosing;

/* The smallest algebra that holds the matrices, and that neither the group (acting by conjugation) nor the layers lead out
 * of. Four-vectors lifted to gl:5 generate so(3,2), 10 dimensions of 25; symmetric matrices all of gl:n; antisymmetric ones
 * so:n, and with products gl:n. Its adjoint rep is where features live; reln_algebra_vee() gives the coordinates of lifted
 * data, and reln_algebra_gram_within() the form of the larger algebra on it.
 *
 * The basis is canonical, the same for the same span: the reduced echelon form of its matrices read row by row. Where the
 * matrices and the generators are dyadic fractions (1, -2, 0.5) each is scaled to whole numbers without a common factor,
 * and *exact (may be NULL) is true: that the span is closed, and that none smaller is, is proved in integers. Elsewhere it
 * is found in doubles; RELN_ERR_NUMERIC where a matrix is neither inside nor clearly outside.
 * RELN_ERR_ALGEBRA when the span is no reductive algebra, with the reason; RELN_ERR_UNSUPPORTED when it has more than
 * RELN_ALGEBRA_MAX_DIM dimensions. Caller destroys *out. */
RELN_API RelnStatus reln_algebra_closed(const RelnGroup *group, const RelnClosing *of, bool *exact,
                                        RelnAlgebra **out);

/* Finite groups: P (K, K), the average of the rep over all elements, which projects on its invariants; *order is the
 * number of elements of its image. RELN_ERR_UNSUPPORTED with Lie generators or more than 4096 elements. */
RELN_API RelnStatus reln_rep_projector(const RelnRep *rep, double *projector, int *order);

#ifdef __cplusplus
}
#endif

#endif
