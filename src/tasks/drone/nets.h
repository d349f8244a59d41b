/* nets.h -- the networks of the drone table: from one window of velocities and covariances to its displacement. */
#ifndef TASKS_DRONE_NETS_H
#define TASKS_DRONE_NETS_H

#include "tasks/drone/noise.h"
#include "tasks/task.h"

/* Number of samples of a window; its displacement is from the first to the last. */
enum { DRONE_WINDOW = 200 };
#define DRONE_STEP 0.005 /* s between them */
#define DRONE_USUAL 4.0  /* m/s, unit of normalised velocities */

typedef enum DroneArch {
    DRONE_INTEGRATION, /* without learning */
    DRONE_WEIGHTED,
    DRONE_KALMAN,
    DRONE_RTS_MEAN,
    DRONE_RTS,
    DRONE_RTS_WINDOW,
    DRONE_FUSION,
    DRONE_PERFECT, /* the true displacement: shows the error of the evaluation itself */
    DRONE_RESNET,
    DRONE_VN,
    DRONE_RELN,
    DRONE_TFN,
    DRONE_SE3T,
    DRONE_OURS,
    DRONE_ARCHS
} DroneArch;

/* Input "m" of a network, in addition to velocities "v" (P = 200, K = 3, C = sensors). */
typedef enum DroneInput {
    DRONE_IN_V,          /* nothing */
    DRONE_IN_COVARIANCE, /* (200, 9, sensors): C */
    DRONE_IN_LOG,        /* log C */
    DRONE_IN_RESOLVENTS, /* (200, 9, 3 sensors): (1 + C / c)^-1 for three sizes c */
    DRONE_IN_KRYLOV,     /* (200, 3, 2 sensors): Cv, C^2 v, of C / 4 */
    DRONE_IN_AXES, /* (200, 3, 3): axes of C by ascending variance, signs by the velocity; and "l" (3): mean
                    * variances */
    DRONE_IN_AXES_CODED, /* the same with the signs of the published code */
    DRONE_INPUTS
} DroneInput;

typedef struct DroneRow {
    double rate;
    double jerk; /* of filters: spectral density of the jerk */
    double clip; /* limit of the gradient's norm; 0: none */
    DroneArch arch;
    DroneInput input;
    RelnForm form;
    int width, last, prep; /* channels of the first and the last group, and of the head */
    int second, third;     /* of the groups between, where there are */
    int shrink;            /* width of the layers that compute a factor from variances */
    int layers;            /* of chains and of our network */
    int reach;             /* neighbours of chains on either side */
    bool residual;  /* the network corrects the integral; otherwise it predicts the displacement */
    bool augmented; /* windows are turned by random rotations */
    bool bracket, untied, covariance, causal, gravity, small;
    bool
        bounded; /* ReLUs of matrices add at most a multiple of d, not a cubic; norms divide by a size */
    bool normal;   /* inputs are normalised, see drone_inputs() */
    bool products; /* matrices are multiplied after the first convolution and after every block */
    bool fit;      /* our network begins with a polynomial, see drone_fit() */
} DroneRow;

bool drone_learns(const DroneRow *row);
/* Numbers of "m" and "l" for each window. */
int drone_size_m(DroneInput input, int sensors);
int drone_size_l(DroneInput input);

/* Computes the inputs of the window that begins at `first`. v, m, l may be NULL if their size is 0.
 * With `normal`, networks see velocities relative to the window's mean, which no correction of the integral depends on, and
 * every input has a size near 1: velocities are divided by 4 m/s, covariances by its square, and logarithms are 0 for
 * 0.2 m/s and 1 for 4 m/s. */
void drone_inputs(DroneInput input, bool normal, int sensors, const DroneSeen *seen, int first,
                  double *v, double *m, double *l);
/* The integral over the window of the sensors' mean. */
void drone_integral(int sensors, const DroneSeen *seen, int first, double step, double *d);

/* A DroneModel holds the settings from which networks are built. */
typedef struct DroneModel {
    const DroneRow *row;
    int sensors;
    bool keeps_all; /* without dropout */
} DroneModel;

/* Maps "v", "m", "l" to the displacement (K = 3); with `covariance`, followed by the logarithm of its
 * covariance (K = 12). */
RelnNode *drone_network(const RelnNet *net, const void *model);

/* The networks by themselves, for drone_network(). */
RelnNode *drone_resnet(const RelnNet *net, const DroneModel *model);
RelnNode *drone_backbone(const RelnNet *net, const DroneModel *model);
RelnNode *drone_chain(const RelnNet *net, const DroneModel *model);
RelnNode *drone_ours(const RelnNet *net, const DroneModel *model);
/* Sets starting values that are not random, or smaller. For our network: iterations of a smoother; for
 * blocks: second norms with gain 0, and cubic ReLUs near the identity. */
void drone_begin(RelnStore *store, const DroneModel *model);
void drone_ours_begin(RelnStore *store, const DroneModel *model);

/* A DroneFit is a polynomial in time of degree 5 that was fitted to the velocities of a window. */
enum { DRONE_FIT = 6 };
/* Its parameters times this are logarithms of its numbers, so that they are learned fast enough. */
#define DRONE_FIT_PACE 4.0
typedef struct DroneFit {
    /* (3, nodes): means of the polynomial over the samples of nodes */
    RelnNode *u;
    /* (9, 1): the inverse covariance of its mean over the window, up to a factor */
    RelnNode *information;
} DroneFit;
/* Fits it to velocities v with positive weights w (200, 9, 1); wv (200, 3, 1) are the products of both. All are in double
 * precision. */
DroneFit drone_fit(const RelnNet *net, RelnNode *w, RelnNode *wv, int nodes);

/* The product of features of types a and b (0: scalars, 1: vectors, 2: symmetric traceless matrices) into a third type, times a
 * factor: a b; a.b, a x b, sym-traceless(a b^T); S a, (hat(a) S - S hat(a)) / 2; tr(ST), vee(ST - TS), sym-traceless(ST). */
RelnNode *drone_product(const RelnNet *net, RelnNode *a, int type_a, RelnNode *b, int type_b,
                        int to, double scale);
/* The paths of a kernel: from type, filter, to type, and the factor that keeps variances. */
enum { DRONE_PATHS = 15 };
typedef struct DronePathway {
    int from, filter, to;
    double scale;
} DronePathway;
extern const DronePathway drone_pathways[DRONE_PATHS];

/* ---- layers of the published code -------------------------------------------------------------------------------- */

/* x / (n + 1e-6) times the norm of n = |x|, or of |x| + 1e-6 with `shifted` (networks of vectors; those of
 * matrices are without). */
RelnNode *drone_length_norm(const RelnNet *net, const char *name, RelnNode *x, bool shifted);
/* Not of the published code: gamma x / (E |x|^4)^(1/4), which is linear in x and never reverses it. */
RelnNode *drone_size_norm(const RelnNet *net, const char *name, RelnNode *x);
/* Removes the part that points against d = x U, except a share `slope` of it; uses the dot product for every
 * rep. */
RelnNode *drone_vector_relu(const RelnNet *net, const char *name, RelnNode *x, double slope);
/* The mean of pairs of samples; the last sample alone if their number is odd. */
RelnNode *drone_pair_mean(const RelnNet *net, RelnNode *x);
/* hat(v) as 3 x 3 matrices, and the vector of a matrix's skew part. */
RelnNode *drone_hat(const RelnNet *net, RelnNode *v);
RelnNode *drone_vee(const RelnNet *net, RelnNode *x);
/* Matrix times vector, cross product, channel by channel. */
RelnNode *drone_apply(const RelnNet *net, RelnNode *m, RelnNode *v);
RelnNode *drone_cross(const RelnNet *net, RelnNode *a, RelnNode *b);
/* Returns the number of parameters that the published code has but never uses: a second head, a
 * convolution. */
size_t drone_unused(const DroneRow *row);

#endif
