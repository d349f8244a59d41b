/* kernels.h -- loops over arrays, once for each real type and instruction set.
 *
 * The bodies are in kern_*.inc, written for `real`; kernels_base.c compiles them as plain C without contraction (the
 * reference), kernels_avx2.c with AVX2 and FMA, kernels_avx512.c with vectors of twice the length and the bits of
 * AVX2. A plan chooses one table when it is made. Pointers are to arrays of
 * the table's real type; strides are in elements, 0 broadcasts.
 */
#ifndef TENSOR_KERNELS_H
#define TENSOR_KERNELS_H

#include "reln/matrix.h"

/* Functions of one number, f(x); their derivatives are made of the same functions. */
#define RELN_MAP_LIST(X)                                                                           \
    X(EXP, exp)                                                                                    \
    X(LOG, log)                                                                                    \
    X(SIN, sin)                                                                                    \
    X(COS, cos)                                                                                    \
    X(TANH, tanh)                                                                                  \
    X(SIGMOID, sigmoid)                                                                            \
    X(SOFTPLUS, softplus)                                                                          \
    X(ERF, erf)                                                                                    \
    X(SQRT, sqrt)                                                                                  \
    X(RECIPROCAL, reciprocal)                                                                      \
    X(SQUARE, square)                                                                              \
    X(ABS, abs)                                                                                    \
    X(SIGN, sign)                                                                                  \
    X(RELU, relu)                                                                                  \
    X(STEP, step)
#define RELN_MAP_ENUM(upper, lower) RELN_MAP_##upper,
typedef enum RelnMap { RELN_MAP_LIST(RELN_MAP_ENUM) RELN_MAP_COUNT } RelnMap;
#undef RELN_MAP_ENUM

/* Functions of two numbers. LESS is 1 where x < y and 0 elsewhere. */
typedef enum RelnMap2 {
    RELN_ADD,
    RELN_SUB,
    RELN_MUL,
    RELN_DIV,
    RELN_MAX,
    RELN_MIN,
    RELN_LESS,
    RELN_MAP2_COUNT
} RelnMap2;

/* A link is one of several elementwise functions computed in one pass, at most RELN_LINKS. Its arguments are the running value z
 * and the operand y. A link with a product has a second operand x, which is the operand of the next link; that link
 * is of the kind RELN_LINK_FACTOR and computes nothing. */
enum { RELN_LINKS = 12 };
typedef enum RelnLinkKind {
    RELN_LINK_LOAD,        /* y */
    RELN_LINK_ADD,         /* z + y */
    RELN_LINK_SUB,         /* z - y */
    RELN_LINK_FROM,        /* y - z */
    RELN_LINK_MUL,         /* z y */
    RELN_LINK_DIV,         /* z / y */
    RELN_LINK_GATE,        /* z where y > 0, 0 z elsewhere */
    RELN_LINK_SCALE,       /* a z + b */
    RELN_LINK_RELU,        /* max(z, 0) */
    RELN_LINK_POSITIVE,    /* 1 where z > 0, 0 elsewhere */
    RELN_LINK_SQUARE,      /* z^2 */
    RELN_LINK_ADD_PRODUCT, /* z + x y, rounded twice */
    RELN_LINK_SUB_PRODUCT, /* z - x y, rounded twice */
    RELN_LINK_FACTOR       /* z; the operand belongs to the link before */
} RelnLinkKind;
/* The operand of element c of row r of item i is at[i item + r row + c column], column 0 or 1. If there is an
 * index, it is at[index[i] item + r row + c column], or 0 where index[i] is -1. */
typedef struct RelnLink {
    RelnLinkKind kind;
    const void *at; /* NULL: no operand */
    const int32_t *index;
    ptrdiff_t item, row, column;
    double a, b;
} RelnLink;

/* Products add up this many terms at a time before they are added to the result. */
enum { RELN_GEMM_BLOCK = 256 };
/* Largest number of arrays that are added in one tree. */
enum { RELN_TREE = 8 };
/* p = keep p - rate m / (sqrt(root v + inside) + outside), after m and v are updated with the gradient */
typedef struct RelnAdamStep {
    double beta1, beta2, keep, rate, root, inside, outside;
} RelnAdamStep;
typedef struct RelnSgdStep {
    double rate, decay, momentum;
    bool nesterov;
} RelnSgdStep;

/* An axis that is stored in runs: index t is at (t / run) outer + (t % run) step. */
typedef struct RelnSplit {
    ptrdiff_t run, outer, step;
} RelnSplit;
/* A packed part of a matrix b: rows l and columns j, at most RELN_CHAIN_PIECE of either. */
typedef struct RelnChainPiece {
    ptrdiff_t l_from, l_to, j_from, j_to;
    void *packed; /* room for RELN_CHAIN_PIECE squared */
} RelnChainPiece;
enum { RELN_CHAIN_PIECE = 256 };
/* The rows i of a product with the packed part, for l and j in a range: c[i, j - j_from] = sum_l a[i, l -
 * l_from] b[l, j]. The sum is one chain of multiply-adds, which begins with the value in c if `add` is
 * set. */
typedef struct RelnChain {
    ptrdiff_t m, l_from, l_to, j_from, j_to;
    const void *a;
    ptrdiff_t row; /* distance of the rows of a */
    RelnSplit inner;
    void *c;
    ptrdiff_t ldc;
    RelnSplit columns; /* columns of c; the step is 1 */
    bool add;
} RelnChain;

typedef struct RelnRealKernels {
    size_t size; /* sizeof(real) */
    /* y[i] = f(x[i * sx]); exp to softplus are computed here within 2 ulp, with bits that do not depend on
     * the position */
    void (*map[RELN_MAP_COUNT])(ptrdiff_t n, const void *x, ptrdiff_t sx, void *y);
    /* z[i] = f(x[i * sx], y[i * sy]), sx and sy 0 or 1 */
    void (*map2[RELN_MAP2_COUNT])(ptrdiff_t n, const void *x, ptrdiff_t sx, const void *y,
                                  ptrdiff_t sy, void *z);
    /* the same for rows: z[r * n + i] = f(x[r * ldx + i * sx], y[r * ldy + i * sy]) */
    void (*map2_rows[RELN_MAP2_COUNT])(ptrdiff_t rows, ptrdiff_t n, const void *x, ptrdiff_t ldx,
                                       ptrdiff_t sx, const void *y, ptrdiff_t ldy, ptrdiff_t sy,
                                       void *z);
    /* z[i] = m[i * sm] is not 0 ? x[i * sx] : y[i * sy], strides 0 or 1 */
    void (*select)(ptrdiff_t n, const void *m, ptrdiff_t sm, const void *x, ptrdiff_t sx,
                   const void *y, ptrdiff_t sy, void *z);
    /* y[i] = a x[i] + b */
    void (*axpb)(ptrdiff_t n, double a, const void *x, double b, void *y);
    /* z[i] = x[i] A(u[i]) + B(u[i]), polynomials of n terms in ascending powers; a NULL: A = 0 */
    void (*squash)(ptrdiff_t count, int n, const double *a, const double *b, const void *x,
                   const void *u, void *z);
    /* z (items, rows, n_c) by n links, the first of which loads; z overlaps no operand */
    void (*links)(ptrdiff_t items, ptrdiff_t rows, ptrdiff_t n_c, int n, const RelnLink *links,
                  void *z);
    /* sum of x[i], in eight interleaved partial sums: the order depends on n alone */
    double (*sum)(ptrdiff_t n, const void *x);
    /* z[r * step] += that sum of row r, for rows of n numbers */
    void (*sum_each)(ptrdiff_t rows, ptrdiff_t n, const void *x, void *z, ptrdiff_t step);
    /* z[i] = x[0][i] + ... + x[count - 1][i], pairs first: ((0+1)+(2+3))+((4+5)+(6+7)), missing terms left
     * out; count is at most RELN_TREE */
    void (*tree)(ptrdiff_t n, int count, const void *const *x, void *z);
    /* z[r,k,c] = sum T x[r,i,c] y[r,j,c] for rows r. Rows are row_x and row_y apart (0 repeats one row) and
     * contiguous in z; ldx, ldy: distance of coordinates; sx, sy: distance of channels, 0 or 1 */
    void (*contract_rows)(const RelnTensor3 *t, ptrdiff_t rows, ptrdiff_t n_c, const void *x,
                          ptrdiff_t row_x, ptrdiff_t ldx, ptrdiff_t sx, const void *y,
                          ptrdiff_t row_y, ptrdiff_t ldy, ptrdiff_t sy, void *z);
    /* y[r,k,c] = sum M[k,i] x[r,i,c] for rows r, contiguous in x and y; M is given by its non-zero entries, in ascending
     * order of k: i, k and value of the tensor, j unused */
    void (*linear_rows)(const RelnTensor3 *t, ptrdiff_t rows, ptrdiff_t n_c, const void *x,
                        void *y);
    /* Matrix products: the number of elements of packed b; packing b (k, n) or its transpose (n, k); c =
     * op(a) b, or c += op(a) b */
    ptrdiff_t (*gemm_packed)(ptrdiff_t n, ptrdiff_t k);
    void (*gemm_pack)(bool transposed, ptrdiff_t n, ptrdiff_t k, const void *b, ptrdiff_t ldb,
                      void *packed);
    void (*gemm)(bool ta, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void *a, ptrdiff_t lda,
                 const void *packed, bool accumulate, void *c, ptrdiff_t ldc);
    /* Packs the part p of b, whose element (l, j) is at inner(l) + columns(j); computes the part of a product
     * that uses it */
    void (*chain_pack)(const RelnChainPiece *p, const void *b, const RelnSplit *inner,
                       const RelnSplit *columns);
    void (*chain)(const RelnChain *q, const RelnChainPiece *p);
    /* Along the first axis of x (extent, inner): the position of the largest (if `least`: smallest) number,
     * the first one on ties; a number wins against a NaN. */
    void (*arg)(ptrdiff_t extent, ptrdiff_t inner, bool least, const void *x, int32_t *out);
    /* z = exp(x - m) / sum exp(x - m), (extent, inner), and m + log sum exp(x - m), (inner), m the largest */
    void (*softmax)(ptrdiff_t extent, ptrdiff_t inner, const void *x, void *z);
    void (*logsumexp)(ptrdiff_t extent, ptrdiff_t inner, const void *x, void *z);
    /* On (rows, item): softmax of each column; each row replaced by the sum of all; 1 at the first maximum of
     * each column, 0 elsewhere */
    void (*softmax_within)(ptrdiff_t rows, ptrdiff_t item, const void *x, void *z);
    void (*sum_within)(ptrdiff_t rows, ptrdiff_t item, const void *x, void *z);
    void (*is_max_within)(ptrdiff_t rows, ptrdiff_t item, const void *x, void *z);
    /* z[i * sz + index[i * si] * step] += y[i * sy], one after another */
    void (*scatter)(ptrdiff_t n, const void *y, ptrdiff_t sy, const int32_t *index, ptrdiff_t si,
                    ptrdiff_t step, void *z, ptrdiff_t sz);
    /* to[i * ldt + c] = from[i * ldf + c], and +=, for n rows of n_c */
    void (*copy_rows)(ptrdiff_t n, ptrdiff_t n_c, const void *from, ptrdiff_t ldf, void *to,
                      ptrdiff_t ldt);
    void (*add_to_rows)(ptrdiff_t n, ptrdiff_t n_c, const void *from, ptrdiff_t ldf, void *to,
                        ptrdiff_t ldt);
    /* z[i] += x[r * item + i], row after row */
    void (*sum_rows)(ptrdiff_t rows, ptrdiff_t item, const void *x, void *z);
    /* z[i n_y + j] += sum x[r n_x + i] y[r n_y + j]: each sum is one chain of multiply-adds, row after row,
     * which begins with z, so that rows may come in parts */
    void (*products)(ptrdiff_t rows, ptrdiff_t n_x, ptrdiff_t n_y, const void *x, const void *y,
                     void *z);
    /* Gathers elements: y[i] = x[index[i * si] item + i], 0 where the index is -1. x, y and z point to the
     * first of the n elements, in item 0. */
    void (*gather)(ptrdiff_t n, const int32_t *index, ptrdiff_t si, ptrdiff_t item, const void *x,
                   void *y);
    /* the same for whole rows: y[r item + i] = x[index[r] item + i] */
    void (*gather_rows)(ptrdiff_t rows, const int32_t *index, ptrdiff_t item, const void *x,
                        void *y);
    /* z[index item + i] += y[i] */
    void (*scatter_add)(ptrdiff_t n, const int32_t *index, ptrdiff_t si, ptrdiff_t item,
                        const void *y, void *z);
    /* the same for whole rows with one index each, row after row */
    void (*scatter_add_rows)(ptrdiff_t rows, const int32_t *index, ptrdiff_t item, const void *y,
                             void *z);
    /* best[index item + i] = row, where x[row item + i] is larger than the value of the row stored there, or
     * none is stored */
    void (*argmax_row)(ptrdiff_t n, const int32_t *index, ptrdiff_t si, ptrdiff_t item,
                       ptrdiff_t row, const void *x, int32_t *best);
    /* one step of an optimiser on n parameters, in place; for sgd, m is NULL if there is no momentum */
    void (*adam)(ptrdiff_t n, const RelnAdamStep *s, const void *g, void *p, void *m, void *v);
    void (*sgd)(ptrdiff_t n, const RelnSgdStep *s, const void *g, void *p, void *m);
    void (*from_f32)(ptrdiff_t n, const float *x, void *y);
    void (*from_f64)(ptrdiff_t n, const double *x, void *y);
} RelnRealKernels;

typedef struct RelnKernels {
    const char *name; /* of the arithmetic: "reference", or "avx2", which AVX-512 shares */
    const RelnRealKernels *f32, *f64;
} RelnKernels;

/* The tables that this machine supports, slowest first: reference, AVX2, AVX-512; NULL beyond the last. */
const RelnKernels *reln_kernels_tier(int tier);
/* The reference kernels, or the fastest kernels that this machine supports. */
const RelnKernels *reln_kernels(bool reference);

#endif
