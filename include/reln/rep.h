/* rep.h -- groups, representations as data, and the maps between them.
 *
 *     RelnGroup *so3 = NULL;
 *     reln_group_create(ctx, "so:3", &so3);
 *     const RelnRep *v = reln_rep_vector(so3), *m = reln_rep_product(v, v);
 *     const RelnMaps *maps = NULL;
 *     reln_maps_linear(m, m, &maps);                // every equivariant linear map: 3 of them
 *     reln_group_destroy(so3);
 *
 * A group is the symmetry that networks respect: Lie generators and discrete generators, as n x n matrices. It may have
 * generators of one kind only, or none (then every network is accepted and nothing is promised).
 *
 * A rep is its dimension K and the K x K matrix of every generator; the library knows nothing else about it. Reps belong to
 * their group and live as long as it. Equal reps are one object, so `==` compares them. The functions that make a rep
 * return NULL on failure, with the message in the context, and NULL for a NULL argument.
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

/* Creates a group by name. Every name of reln_algebra_create() names its group (gl:n and so:p,q with all
 * their components); further names are
 *   o:n o:p,q   with reflections (o:p,q has one of time and one of space)
 *   lorentz     SO+(1,3), the identity component
 *   none:n      no generators: any network on n x n matrices is accepted, and nothing is promised
 * `+` joins groups block-diagonally. Caller destroys *out. */
RELN_API RelnStatus reln_group_create(RelnCtx *ctx, const char *name, RelnGroup **out);

/* Creates a group from matrices: lie (n_lie, n, n), discrete (n_discrete, n, n). Every discrete matrix must
 * be invertible. The largest entry of each matrix must lie within 1e-100 .. 1e100 (a Lie matrix may be 0),
 * RELN_ERR_NUMERIC otherwise. Caller destroys *out. */
RELN_API RelnStatus reln_group_from_matrices(RelnCtx *ctx, const char *name, int n, int n_lie,
                                             const double *lie, int n_discrete,
                                             const double *discrete, RelnGroup **out);

/* Creates the group diag(g, 1, ..., 1) of size n, for example SO+(1,3) on 5 x 5 matrices. Caller destroys
 * *out. */
RELN_API RelnStatus reln_group_embed(const RelnGroup *group, int n, RelnGroup **out);
RELN_API void reln_group_destroy(RelnGroup *group); /* NULL is fine */

RELN_API RelnCtx *reln_group_ctx(const RelnGroup *group);
RELN_API const char *reln_group_name(const RelnGroup *group);
RELN_API int reln_group_n(const RelnGroup *group);
RELN_API int reln_group_n_lie(const RelnGroup *group);
RELN_API int reln_group_n_discrete(const RelnGroup *group);
RELN_API const double *reln_group_lie(const RelnGroup *group);      /* (n_lie, n, n) */
RELN_API const double *reln_group_discrete(const RelnGroup *group); /* (n_discrete, n, n) */

/* A RelnElement is a group element that can act in every rep: it remembers how it was made from the
 * generators. */
typedef struct RelnElement RelnElement;

/* Draws a random element with condition number `cond` (see reln_algebra_random_group()), in any component of
 * the group. Caller destroys *out. */
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
/* Coordinates of an algebra under X -> g X g^-1; the group must normalise the algebra. The dual is the
 * coadjoint rep. */
RELN_API const RelnRep *reln_rep_adjoint(RelnGroup *group, const RelnAlgebra *algebra);
RELN_API const RelnRep *reln_rep_sign(RelnGroup *group); /* sign of det: -1 on reflections */
/* A one-dimensional rep: `values` holds one non-zero number, usually +1 or -1, for each discrete
 * generator. */
RELN_API const RelnRep *reln_rep_character(RelnGroup *group, const double *values);
/* Creates a rep from matrices: lie (n_lie, dim, dim), discrete (n_discrete, dim, dim). The function checks
 * the relations that involve Lie generators: [rho(E_i), rho(E_j)] = rho([E_i, E_j]), and rho(gamma)
 * rho(E_i) rho(gamma)^-1 = rho(gamma E_i gamma^-1). If one fails, it returns NULL, and the message has the
 * residual. */
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
/* The same coordinates under a smaller group, whose generators must lie in the group of the rep. */
RELN_API const RelnRep *reln_rep_restrict(const RelnRep *rep, RelnGroup *subgroup);

RELN_API RelnGroup *reln_rep_group(const RelnRep *rep);
RELN_API int reln_rep_dim(const RelnRep *rep);
RELN_API const char *reln_rep_name(const RelnRep *rep);                      /* "adjoint(gl:3)" */
RELN_API const double *reln_rep_lie(const RelnRep *rep, int generator);      /* (K, K) */
RELN_API const double *reln_rep_discrete(const RelnRep *rep, int generator); /* (K, K) */
RELN_API bool reln_rep_is_trivial(const RelnRep *rep);    /* every element acts as the identity */
RELN_API bool reln_rep_is_orthogonal(const RelnRep *rep); /* every element acts by an orthogonal matrix */
/* Writes the (K, K) matrix of a group element. */
RELN_API RelnStatus reln_rep_act(const RelnRep *rep, const RelnElement *element, double *out);

/* ---- checking maps ---------------------------------------------------------------------------------------- */

/* The check of a map divides the map into cells: the entries that belong to one block of connected
 * coordinates of each rep. A map counts as equivariant when, in every cell, its residual is below this share
 * of the terms that are summed. In addition, a cell may be off by 1e-14 of the whole map. */
#define RELN_INTERTWINER_TOLERANCE 1e-10

typedef struct RelnVerdict {
    bool equivariant;
    double residual; /* worst over generators and cells, relative to the terms involved */
    bool discrete;   /* the worst generator is a discrete one */
    int generator;   /* index of the worst generator, -1 when there are none */
    char text[192]; /* "generator 3 of gl:3 fails by 0.41 (tolerance 1e-10)"; "" when equivariant */
} RelnVerdict;

/* Checks a matrix m (dim out, dim in): rho_out(E) m = m rho_in(E), rho_out(gamma) m = m rho_in(gamma). The
 * status only says whether the check could be made; `verdict` has its answer. */
RELN_API RelnStatus reln_check_linear(const RelnRep *in, const RelnRep *out, const double *m,
                                      RelnVerdict *verdict);
/* Checks a bilinear map z_k = sum t_ijk x_i y_j from reps u, v to w. */
RELN_API RelnStatus reln_check_bilinear(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                                        const RelnTensor3 *t, RelnVerdict *verdict);

/* ---- finding maps ----------------------------------------------------------------------------------------- */

/* A RelnMaps holds a canonical basis of a space of equivariant maps: the reduced echelon form, so the same
 * space gives the same basis. If all generators are fractions, the maps are fractions too: they are solved
 * modulo a prime, reconstructed and verified in integers, and each double is the rounding of a fraction.
 * Otherwise the maps are solved in doubles, and entries within rounding (1e-12) of a fraction with a
 * denominator up to 64 are replaced by that fraction. */
typedef struct RelnMaps {
    int count;
    int dims[3];          /* linear: (out, in, 1); bilinear: (w, u, v) */
    const double *values; /* (count, dims[0], dims[1], dims[2]), row-major */
    const int32_t
        *numerators; /* `values` as fractions over `denominators` (count); both NULL if not known exactly */
    const int32_t *denominators;
} RelnMaps;

/* Find every equivariant linear map in -> out, or every bilinear map u x v -> w. The maps are solved once,
 * checked, and borrowed from the group. RELN_ERR_NUMERIC when rounding hides how many maps there are, which
 * happens for large reps of a group in a frame of condition number 10 and more; RELN_ERR_UNSUPPORTED, with
 * the size, when the problem is too large. */
RELN_API RelnStatus reln_maps_linear(const RelnRep *in, const RelnRep *out, const RelnMaps **maps);
RELN_API RelnStatus reln_maps_bilinear(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                                       const RelnMaps **maps);
/* Returns one of the bilinear maps as a sparse tensor, borrowed from the group; NULL on failure. */
RELN_API const RelnTensor3 *reln_maps_tensor(const RelnRep *owner, const RelnMaps *maps, int index);

/* Writes the orthogonal projector (d, d) on the span of the maps, d the product of their dims. If the maps
 * are fractions, the entries of the projector are roundings of fractions, verified in integers. */
RELN_API RelnStatus reln_maps_projector(const RelnRep *owner, const RelnMaps *maps,
                                        double *projector);

/* ---- forms ------------------------------------------------------------------------------------------------ */

/* A RelnForms holds the invariant bilinear forms of a rep, B(x, y) = x^T B y with B(g x, g y) = B(x, y): a
 * canonical basis (reduced echelon form) of the symmetric forms and one of the antisymmetric forms. Vectors
 * of so:3 and lorentz have 1 symmetric and 0 antisymmetric forms, vectors of sp:4 have 0 and 1, vectors of
 * gl:3 none. Matrices of gl:3 have 2 and 0: tr XY and tr X tr Y. */
typedef struct RelnForms {
    int symmetric, antisymmetric; /* dimensions of the two spaces */
    const double *values;         /* (symmetric + antisymmetric, K, K), the symmetric ones first */
} RelnForms;
/* The forms are solved once and borrowed from the group. Fails as reln_maps_linear(). */
RELN_API RelnStatus reln_rep_forms(const RelnRep *rep, const RelnForms **forms);

/* Sets *form (K, K), borrowed from the group, to the default form of a rep:
 *   - the dot product, if the group keeps it;
 *   - otherwise the symmetric invariant form, if it is unique up to a factor and not degenerate. It is scaled so that
 *     its largest entry is 1 in absolute value. Its sign is chosen so that it has more positive than negative
 *     eigenvalues, or, if they are equally many, so that its first non-zero entry is positive. Four-vectors have
 *     diag(-1, 1, 1, 1) = reln_metric_mostly_plus.
 * Returns RELN_ERR_REP otherwise; the message has the rep, the number of its forms, and why none was
 * taken. */
RELN_API RelnStatus reln_rep_form(const RelnRep *rep, const double **form);

/* ---- the smallest algebra that closes ---------------------------------------------------------------------- */

/* Kinds of layers under which the features must be closed, joined with |. The bracket is always included. */
enum {
    RELN_CLOSED_BRACKET = 0,
    RELN_CLOSED_PRODUCT = 1, /* a b: Product, Jordan */
    RELN_CLOSED_TRIPLE = 2,  /* a b c + c b a: Triple */
    RELN_CLOSED_TRACE = 4    /* tr(a) 1 */
};

/* A RelnClosing lists the matrices that the features must contain: those that lifts make of unit data. They
 * have the size of the group's matrices. */
typedef struct RelnClosing {
    int count;
    const double *matrices; /* (count, n, n) */
    unsigned layers;
    const char *
        name; /* name of the algebra in messages; NULL: "closed span of 10 in gl:5", or "gl:n" if the span is
               * all matrices */
} RelnClosing;

/* Creates the smallest algebra that contains the given matrices and is closed under the action of the group
 * (by conjugation) and under the given layers. Four-vectors lifted to gl:5 generate so(3,2), 10 dimensions of
 * 25; symmetric matrices generate gl:n; antisymmetric matrices generate so:n, and with products gl:n.
 * Features transform by the adjoint rep of this algebra; reln_algebra_vee() gives the coordinates of lifted
 * data, and reln_algebra_gram_within() the form of the larger algebra on it.
 *
 * The basis is canonical, the same for the same span: the reduced echelon form of its matrices read row by
 * row. If the matrices and the generators are dyadic fractions (1, -2, 0.5), each basis matrix is scaled to
 * whole numbers without a common factor, and *exact (may be NULL) is true: integer arithmetic proves that the
 * span is closed and that no smaller span is. Otherwise the span is found in doubles, with RELN_ERR_NUMERIC
 * where a matrix is neither inside nor clearly outside. RELN_ERR_ALGEBRA, with the reason, when the span is
 * not a reductive algebra; RELN_ERR_UNSUPPORTED when it has more than RELN_ALGEBRA_MAX_DIM dimensions. Caller
 * destroys *out. */
RELN_API RelnStatus reln_algebra_closed(const RelnGroup *group, const RelnClosing *of, bool *exact,
                                        RelnAlgebra **out);

/* For finite groups: writes P (K, K), the average of the rep over all elements, which projects on its
 * invariants. *order is the number of different matrices by which the group acts. RELN_ERR_UNSUPPORTED for a
 * group with Lie generators or more than 4096 elements. */
RELN_API RelnStatus reln_rep_projector(const RelnRep *rep, double *projector, int *order);

#ifdef __cplusplus
}
#endif

#endif
