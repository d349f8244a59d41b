/* blas.c -- loads OpenBLAS at run time, with one thread, when there is memory for it.
 *
 * A program that is linked with OpenBLAS cannot report that memory is short: the loader gives up before main(), or the
 * library's constructor starts threads and raises SIGINT if that fails. So the program is not linked with it. The
 * functions below have the names that the library in src/ calls, and pass every call on to the loaded functions. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */ /* NOLINT(bugprone-reserved-identifier) */
#include "cli/blas.h"

#include <cblas.h>
#include <complex.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Every function of OpenBLAS that reln calls: X(result, keyword that returns it, name, parameters,
 * arguments). */
#define BLAS_LIST(X)                                                                               \
    X(char *, return, openblas_get_config, (void), ())                                             \
    X(int, return, openblas_get_num_threads, (void), ())                                           \
    X(void, , openblas_set_num_threads, (int n), (n))                                              \
    X(void, , cblas_sgemm,                                                                         \
      (enum CBLAS_ORDER o, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, blasint m, blasint n, \
       blasint k, float s, const float *a, blasint la, const float *b, blasint lb, float t,        \
       float *c, blasint lc),                                                                      \
      (o, ta, tb, m, n, k, s, a, la, b, lb, t, c, lc))                                             \
    X(void, , cblas_dgemm,                                                                         \
      (enum CBLAS_ORDER o, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, blasint m, blasint n, \
       blasint k, double s, const double *a, blasint la, const double *b, blasint lb, double t,    \
       double *c, blasint lc),                                                                     \
      (o, ta, tb, m, n, k, s, a, la, b, lb, t, c, lc))                                             \
    X(void, , dgesdd_,                                                                             \
      (const char *job, const int *m, const int *n, double *a, const int *la, double *s,           \
       double *u, const int *lu, double *vt, const int *lv, double *work, const int *lwork,        \
       int *iwork, int *info, size_t l1),                                                          \
      (job, m, n, a, la, s, u, lu, vt, lv, work, lwork, iwork, info, l1))                          \
    X(void, , dsyevd_,                                                                             \
      (const char *job, const char *uplo, const int *n, double *a, const int *la, double *w,       \
       double *work, const int *lwork, int *iwork, const int *liwork, int *info, size_t l1,        \
       size_t l2),                                                                                 \
      (job, uplo, n, a, la, w, work, lwork, iwork, liwork, info, l1, l2))                          \
    X(void, , zheevd_,                                                                             \
      (const char *job, const char *uplo, const int *n, double complex *a, const int *la,          \
       double *w, double complex *work, const int *lwork, double *rwork, const int *lrwork,        \
       int *iwork, const int *liwork, int *info, size_t l1, size_t l2),                            \
      (job, uplo, n, a, la, w, work, lwork, rwork, lrwork, iwork, liwork, info, l1, l2))           \
    X(void, , dgeev_,                                                                              \
      (const char *jl, const char *jr, const int *n, double *a, const int *la, double *wr,         \
       double *wi, double *vl, const int *ll, double *vr, const int *lr, double *work,             \
       const int *lwork, int *info, size_t l1, size_t l2),                                         \
      (jl, jr, n, a, la, wr, wi, vl, ll, vr, lr, work, lwork, info, l1, l2))                       \
    X(void, , dgees_,                                                                              \
      (const char *job, const char *sort, int (*select)(const double *, const double *),           \
       const int *n, double *a, const int *la, int *sdim, double *wr, double *wi, double *vs,      \
       const int *lv, double *work, const int *lwork, int *bwork, int *info, size_t l1,            \
       size_t l2),                                                                                 \
      (job, sort, select, n, a, la, sdim, wr, wi, vs, lv, work, lwork, bwork, info, l1, l2))       \
    X(void, , dgetrf_,                                                                             \
      (const int *m, const int *n, double *a, const int *la, int *pivot, int *info),               \
      (m, n, a, la, pivot, info))                                                                  \
    X(void, , dgetrs_,                                                                             \
      (const char *trans, const int *n, const int *m, const double *a, const int *la,              \
       const int *pivot, double *b, const int *lb, int *info, size_t l1),                          \
      (trans, n, m, a, la, pivot, b, lb, info, l1))                                                \
    X(void, , dgecon_,                                                                             \
      (const char *norm, const int *n, const double *a, const int *la, const double *anorm,        \
       double *rcond, double *work, int *iwork, int *info, size_t l1),                             \
      (norm, n, a, la, anorm, rcond, work, iwork, info, l1))                                       \
    X(void, , dpotrf_,                                                                             \
      (const char *uplo, const int *n, double *a, const int *la, int *info, size_t l1),            \
      (uplo, n, a, la, info, l1))                                                                  \
    X(void, , dpocon_,                                                                             \
      (const char *uplo, const int *n, const double *a, const int *la, const double *anorm,        \
       double *rcond, double *work, int *iwork, int *info, size_t l1),                             \
      (uplo, n, a, la, anorm, rcond, work, iwork, info, l1))

#define FIELD(result, back, name, parameters, arguments) result(*name) parameters;
static struct {
    BLAS_LIST(FIELD)
} blas;

/* clang-format off */
#define FORWARD(result, back, name, parameters, arguments)                                         \
    result name parameters;                                                                        \
    result name parameters { back blas.name arguments; }
BLAS_LIST(FORWARD)
/* clang-format on */

/* Bytes of address space that the library takes when it is loaded, including the Fortran library: 41 MB in
 * version 0.3.21. */
enum { ROOM = 48 << 20 };

static bool has_room(void)
{
    void *block = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block != MAP_FAILED && munmap(block, ROOM) == 0;
}

/* Copies a pointer to a function by memcpy: ISO C has no conversion from dlsym()'s object pointer. */
static bool find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);

    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

CliExit cli_blas_load(void)
{
    void *library;
    bool whole = true;

    if (!has_room())
        return cli_fail(CLI_NOMEM, "out of memory: no %d MB of addresses for OpenBLAS", ROOM >> 20);
    if (setenv("OPENBLAS_NUM_THREADS", "1", 1) != 0)
        return cli_fail(CLI_NOMEM, "out of memory");
    library = dlopen(RELN_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return cli_fail(CLI_IO, "cannot load OpenBLAS: %s", dlerror());
#define FIND(result, back, name, parameters, arguments)                                            \
    whole = find(library, #name, (void *)&blas.name) && whole;
    BLAS_LIST(FIND)
    return whole ? CLI_DONE : cli_fail(CLI_IO, "cannot load OpenBLAS: %s", dlerror());
}
