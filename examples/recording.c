/* recording.c -- a flight as a recording to try `reln fit` on: noisy velocities with their covariances.
 *
 *     recording make euroc.csv DIR              # DIR/train.npz, valid.npz, test.npz: t (T,), v (T, 3), C (T, 3, 3),
 *     p (T, 3), r (T,) recording score DIR/test.npz PREDICTIONS  # root mean square error of displacements over 1 s,
 *     beside two estimates recording                                 # its own flight instead of a file; checks what
 *     is said below
 *
 * The file has a heading and lines of time in nanoseconds, position, quaternion and velocity, separated by commas.
 * The first 60 % of the flight are for training, the next 15 % for validation, the rest for testing; each part is
 * there several times, with other noise, as recordings r = 0, 1, ... .
 *
 * Noise comes in bursts along the axes of flight (forwards, sideways, up): of each, the standard deviation is 0.2
 * m/s for 1.6 s on average, then 4 m/s for 0.4 s. The covariance says which it is. So the integral of the velocity
 * is poor, and the polynomial of degree 3 that fits the window best, each step weighed by its inverse covariance, is
 * good.
 */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 50, LENGTH = RATE + 1, STRIDE = 5, TERMS = 4, SIZE = 3 * TERMS };
static const double part_end[3] = {0.60, 0.75, 1.0};
static const int part_draws[3] = {12, 4, 4};
static const char *const part_name[3] = {"train", "valid", "test"};

/* A Flight holds steps of a flight, RATE of them per second. */
typedef struct Flight {
    ptrdiff_t n;
    double *t, *p, *v; /* (n), (n, 3), (n, 3) */
} Flight;

/* A Recording holds several recordings one after another. */
typedef struct Recording {
    ptrdiff_t n;
    double *t, *p, *v, *c;
    int64_t *r;
} Recording;

static void *room(ptrdiff_t count, size_t size)
{
    void *block = calloc((size_t)count + 1, size);

    if (!block) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return block;
}

static void flight_init(Flight *f, ptrdiff_t n)
{
    *f = (Flight){n, room(n, sizeof(double)), room(3 * n, sizeof(double)),
                  room(3 * n, sizeof(double))};
}

static void flight_clear(Flight *f)
{
    free(f->t);
    free(f->p);
    free(f->v);
}

/* ---- flights -------------------------------------------------------------------------------------------------------- */

/* Simulates a flight: turns of three periods in each direction. */
static void fly(Flight *f, double seconds)
{
    flight_init(f, (ptrdiff_t)(seconds * RATE));
    for (ptrdiff_t i = 0; i < f->n; i++) {
        f->t[i] = (double)i / RATE;
        for (int a = 0; a < 3; a++)
            for (int m = 1; m <= 3; m++) {
                const double w = 0.55 * m + 0.13 * a, phase = 1.7 * a + 0.9 * m;

                f->p[3 * i + a] += 1.2 / m * sin(w * f->t[i] + phase);
                f->v[3 * i + a] += 1.2 / m * w * cos(w * f->t[i] + phase);
            }
    }
}

/* Reads time, position and velocity of a line; returns false if the line has other contents. */
static bool parse(const char *line, double *t, double p[3], double v[3])
{
    long long ns;
    double q[4];

    if (sscanf(line, "%lld,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &ns, p, p + 1, p + 2, q, q + 1,
               q + 2, q + 3, v, v + 1, v + 2) != 11)
        return false;
    *t = (double)(ns / 1000000) * 1e-3;
    return true;
}

/* Reads a file, and skips lines if it has more than RATE per second. */
static bool load(const char *path, Flight *f)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    double first = 0, t, p[3], v[3];

    flight_init(f, 1 << 20);
    f->n = 0;
    while (file && f->n < 1 << 20 && fgets(line, sizeof line, file)) {
        if (!parse(line, &t, p, v))
            continue;
        first = f->n == 0 ? t : first;
        if (f->n > 0 && t - first < f->t[f->n - 1] + 0.999 / RATE)
            continue;
        f->t[f->n] = t - first;
        memcpy(f->p + 3 * f->n, p, sizeof p);
        memcpy(f->v + 3 * f->n++, v, sizeof v);
    }
    if (file)
        fclose(file);
    return f->n >= 10 * LENGTH;
}

/* ---- noise ---------------------------------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static void to_unit(double *a, const double *otherwise)
{
    const double size = sqrt(dot(a, a));

    for (int i = 0; i < 3; i++)
        a[i] = size > 1e-6 ? a[i] / size : otherwise[i];
}

/* Rows of e: forwards, sideways (horizontal), up. */
static void axes_of(const double *v, double e[3][3])
{
    static const double up[3] = {0, 0, 1}, x[3] = {1, 0, 0}, y[3] = {0, 1, 0};

    memcpy(e[0], v, sizeof e[0]);
    to_unit(e[0], x);
    cross(up, e[0], e[1]);
    to_unit(e[1], y);
    cross(e[0], e[1], e[2]);
}

/* Appends steps first .. first + n - 1 of a flight with noise, as recording number r. */
static void record(const Flight *f, ptrdiff_t first, ptrdiff_t n, int64_t r, RelnRng *rng,
                   Recording *out)
{
    bool on[3];

    for (int a = 0; a < 3; a++)
        on[a] = reln_rng_uniform(rng) < 0.2;
    for (ptrdiff_t i = first; i < first + n; i++, out->n++) {
        double e[3][3], *v = out->v + 3 * out->n, *c = out->c + 9 * out->n;

        axes_of(f->v + 3 * i, e);
        out->t[out->n] = f->t[i];
        out->r[out->n] = r;
        memcpy(out->p + 3 * out->n, f->p + 3 * i, 3 * sizeof *v);
        memcpy(v, f->v + 3 * i, 3 * sizeof *v);
        for (int a = 0; a < 3; a++) {
            const double sigma = on[a] ? 4.0 : 0.2, z = sigma * reln_rng_normal(rng);

            for (int j = 0; j < 3; j++) {
                v[j] += z * e[a][j];
                for (int k = 0; k < 3; k++)
                    c[3 * j + k] += sigma * sigma * e[a][j] * e[a][k];
            }
            if (reln_rng_uniform(rng) < 1.0 / (RATE * (on[a] ? 0.4 : 1.6)))
                on[a] = !on[a];
        }
    }
}

static void recording_init(Recording *x, ptrdiff_t n)
{
    *x = (Recording){0,
                     room(n, sizeof(double)),
                     room(3 * n, sizeof(double)),
                     room(3 * n, sizeof(double)),
                     room(9 * n, sizeof(double)),
                     room(n, sizeof(int64_t))};
}

static void recording_clear(Recording *x)
{
    free(x->t);
    free(x->p);
    free(x->v);
    free(x->c);
    free(x->r);
}

/* Appends one part of a flight, once for each draw of noise. */
static void record_part(const Flight *f, int part, Recording *out)
{
    const ptrdiff_t begin = part ? (ptrdiff_t)(part_end[part - 1] * (double)f->n) : 0;
    const ptrdiff_t n = (ptrdiff_t)(part_end[part] * (double)f->n) - begin;
    RelnRng rng = reln_rng(1, (uint64_t)part);

    recording_init(out, n * part_draws[part]);
    for (int draw = 0; draw < part_draws[part]; draw++)
        record(f, begin, n, draw, &rng, out);
}

static RelnStatus save(RelnCtx *ctx, const char *path, const Recording *x)
{
    const RelnArray arrays[] = {
        {.name = "t", .dtype = RELN_F64, .rank = 1, .dims = {x->n}, .values = x->t},
        {.name = "r", .dtype = RELN_I64, .rank = 1, .dims = {x->n}, .values = x->r},
        {.name = "p", .dtype = RELN_F64, .rank = 2, .dims = {x->n, 3}, .values = x->p},
        {.name = "v", .dtype = RELN_F64, .rank = 2, .dims = {x->n, 3}, .values = x->v},
        {.name = "C", .dtype = RELN_F64, .rank = 3, .dims = {x->n, 3, 3}, .values = x->c}};

    return reln_npz_save(ctx, path, 5, arrays);
}

/* ---- estimates ------------------------------------------------------------------------------------------------------ */

/* The trapezoid rule over a window. */
static void integral(const Recording *x, ptrdiff_t first, double *out)
{
    memset(out, 0, 3 * sizeof *out);
    for (ptrdiff_t i = first; i < first + LENGTH - 1; i++)
        for (int a = 0; a < 3; a++)
            out[a] += 0.5 * (x->t[i + 1] - x->t[i]) * (x->v[3 * i + a] + x->v[3 * i + 3 + a]);
}

static void invert(const double *c, double *out)
{
    double k[3][3];
    double det;

    for (int i = 0; i < 3; i++)
        cross(c + 3 * ((i + 1) % 3), c + 3 * ((i + 2) % 3), k[i]);
    det = dot(c, k[0]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = k[j][i] / det;
}

/* Gaussian elimination of a positive definite system, in place; b becomes the solution. */
static void solve(double a[SIZE][SIZE], double *b)
{
    for (int t = 0; t < SIZE; t++)
        for (int i = t + 1; i < SIZE; i++) {
            const double f = a[i][t] / a[t][t];

            for (int j = t; j < SIZE; j++)
                a[i][j] -= f * a[t][j];
            b[i] -= f * b[t];
        }
    for (int i = SIZE - 1; i >= 0; i--) {
        for (int j = i + 1; j < SIZE; j++)
            b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
}

/* Fits v(t) = sum_m c_m t^m by minimising sum_i (v_i - v(t_i))^T C_i^-1 (v_i - v(t_i)), and integrates it. */
static void cubic(const Recording *x, ptrdiff_t first, double *out)
{
    double a[SIZE][SIZE] = {{0}}, b[SIZE] = {0};
    const double begin = x->t[first], length = x->t[first + LENGTH - 1] - begin;

    for (ptrdiff_t i = first; i < first + LENGTH; i++) {
        double w[9], phi[TERMS] = {1};

        invert(x->c + 9 * i, w);
        for (int m = 1; m < TERMS; m++)
            phi[m] = phi[m - 1] * (x->t[i] - begin) / length;
        for (int m = 0; m < SIZE; m++) {
            b[m] += phi[m / 3] * dot(w + (ptrdiff_t)3 * (m % 3), x->v + 3 * i);
            for (int l = 0; l < SIZE; l++)
                a[m][l] += phi[m / 3] * phi[l / 3] * w[3 * (m % 3) + l % 3];
        }
    }
    solve(a, b);
    for (int k = 0; k < 3; k++) {
        out[k] = 0;
        for (int m = 0; m < TERMS; m++)
            out[k] += b[3 * m + k] * length / (m + 1);
    }
}

/* Returns the next window of a recording, cut as `reln fit` does: every STRIDE steps, none across two
 * recordings. */
static ptrdiff_t next_window(const Recording *x, ptrdiff_t first)
{
    while (first + LENGTH <= x->n && x->r[first + LENGTH - 1] != x->r[first])
        for (first++; first < x->n && x->r[first] == x->r[first - 1];)
            first++;
    return first + LENGTH <= x->n ? first : -1;
}

typedef struct Errors {
    ptrdiff_t windows;
    double integral, cubic, network; /* sums of squares */
} Errors;

static double square(const double *a, const double *b)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};

    return dot(d, d);
}

/* predictions (windows, 3), or NULL */
static Errors judge(const Recording *x, ptrdiff_t n, const double *predictions)
{
    Errors e = {0};

    for (ptrdiff_t at = next_window(x, 0); at >= 0; at = next_window(x, at + STRIDE), e.windows++) {
        double truth[3], guess[3];

        for (int a = 0; a < 3; a++)
            truth[a] = x->p[3 * (at + LENGTH - 1) + a] - x->p[3 * at + a];
        integral(x, at, guess);
        e.integral += square(guess, truth);
        cubic(x, at, guess);
        e.cubic += square(guess, truth);
        if (predictions && e.windows < n)
            e.network += square(predictions + 3 * e.windows, truth);
    }
    return e;
}

static double root(double sum, ptrdiff_t n)
{
    return sqrt(sum / (double)(n > 0 ? n : 1));
}

static void print_errors(const Errors *e)
{
    printf("%td windows of %d steps; root mean square error of the displacement\n", e->windows,
           LENGTH);
    printf("  integral of the velocity        %.4f m\n", root(e->integral, e->windows));
    printf("  cubic weighed by covariances    %.4f m\n", root(e->cubic, e->windows));
}

/* ---- the program ---------------------------------------------------------------------------------------------------- */

static int make(RelnCtx *ctx, const Flight *f, const char *folder)
{
    for (int part = 0; part < 3; part++) {
        Recording x;
        char path[512];
        RelnStatus status;
        Errors e;

        record_part(f, part, &x);
        snprintf(path, sizeof path, "%s/%s.npz", folder, part_name[part]);
        status = save(ctx, path, &x);
        e = judge(&x, 0, NULL);
        recording_clear(&x);
        if (status != RELN_OK) {
            fprintf(stderr, "%s\n", reln_ctx_error(ctx));
            return 1;
        }
        printf("%s: %td steps; ", path, x.n);
        print_errors(&e);
    }
    return 0;
}

/* Reads all rows of an array; NULL when it is missing or does not have `each` numbers a row. */
static double *all_rows(RelnArchive *data, const char *name, ptrdiff_t each, ptrdiff_t *n)
{
    const int index = name ? reln_archive_find(data, name) : reln_archive_count(data) - 1;
    const RelnArray *a = reln_archive_info(data, index);
    double *out;
    ptrdiff_t size = 1;

    for (int i = 1; a && i < a->rank; i++)
        size *= a->dims[i];
    if (!a || a->rank < 1 || size != each)
        return NULL;
    *n = a->dims[0];
    out = room(*n * each, sizeof *out);
    return reln_archive_range(data, index, 0, *n, out) == RELN_OK ? out : NULL;
}

static int score(RelnCtx *ctx, const char *path, const char *predictions)
{
    RelnArchive *data = NULL, *said = NULL;
    Recording x = {0};
    double *r = NULL, *y = NULL;
    ptrdiff_t n = 0;
    int failed = 1;

    if (reln_archive_open(ctx, path, &data) == RELN_OK &&
        reln_archive_open(ctx, predictions, &said) == RELN_OK) {
        x.t = all_rows(data, "t", 1, &x.n);
        x.p = all_rows(data, "p", 3, &x.n);
        x.v = all_rows(data, "v", 3, &x.n);
        x.c = all_rows(data, "C", 9, &x.n);
        r = all_rows(data, "r", 1, &x.n);
        y = all_rows(said, NULL, 3, &n);
    }
    if (x.t && x.p && x.v && x.c && r && y) {
        Errors e;

        x.r = room(x.n, sizeof *x.r);
        for (ptrdiff_t i = 0; i < x.n; i++)
            x.r[i] = (int64_t)r[i];
        e = judge(&x, n, y);
        print_errors(&e);
        failed = e.windows != n;
        if (failed)
            fprintf(stderr, "%s: %td predictions, wanted %td\n", predictions, n, e.windows);
        else
            printf("  network                         %.4f m, %.2f of the cubic\n",
                   root(e.network, n), sqrt(e.network / e.cubic));
    } else {
        fprintf(stderr, "%s, %s: %s\n", path, predictions, reln_ctx_error(ctx));
    }
    recording_clear(&x);
    free(r);
    free(y);
    reln_archive_destroy(data);
    reln_archive_destroy(said);
    return failed;
}

int main(int count, char **words)
{
    RelnCtx *ctx = NULL;
    Flight f = {0};
    int result = 1;

    if (reln_ctx_create(NULL, &ctx) != RELN_OK)
        return 1;
    if (count == 4 && strcmp(words[1], "score") == 0) {
        result = score(ctx, words[2], words[3]);
    } else if (count == 4 && strcmp(words[1], "make") == 0) {
        if (strcmp(words[2], "own") == 0)
            fly(&f, 80);
        if (f.n > 0 || load(words[2], &f))
            result = make(ctx, &f, words[3]);
        else
            fprintf(stderr, "%s: %td steps of a flight, wanted %d\n", words[2], f.n, 10 * LENGTH);
    } else if (count == 1) { /* the claim: weighting by covariances halves the error */
        Recording x;
        Errors e;

        fly(&f, 80);
        record_part(&f, 2, &x);
        e = judge(&x, 0, NULL);
        print_errors(&e);
        result = !(e.windows > 100 && 3 * e.cubic < e.integral);
        recording_clear(&x);
    } else {
        fprintf(stderr, "recording [make FLIGHT.csv|own DIR | score TEST.npz PREDICTIONS]\n");
        result = 2;
    }
    flight_clear(&f);
    reln_ctx_destroy(ctx);
    return result;
}
