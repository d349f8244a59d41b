/* jets.h -- classification of jets as top quarks or others: jets of particles, networks that pass messages, evaluation.
 *
 * A jet is a set of four-momenta (E, px, py, pz) in GeV; jets differ in size. From data to a result: source (jets of
 * files and of the generator `toy`), lorentz (four-momenta), batch (inputs of a network), layers and model (the
 * networks), metrics (numbers from scores), judge (boosts, soft particles), task.
 */
#ifndef TASKS_JETS_H
#define TASKS_JETS_H

#include "tasks/experiment.h"

#define JETS_PI 3.14159265358979323846
#define JETS_SQRT2 1.41421356237309504880

enum {
    JETS_MOST = 200,     /* largest number of particles of a jet */
    JETS_BEAMS = 2,      /* rows before the particles in a network */
    JETS_SCALARS = 2,    /* numbers of a row: psi(mass) of a particle, psi(mass) of a beam */
    JETS_EXTRA = 4,      /* further inputs of particles that a file may have */
    JETS_INVARIANTS = 10 /* numbers of a whole jet: jets_invariants() */
};

/* ---- source.c ---------------------------------------------------------------------------------------------------- */

/* A Jets holds jets in memory, the particles of the first jet first. */
typedef struct Jets {
    ptrdiff_t n, n_particles;
    ptrdiff_t room, room_particles; /* allocated */
    int n_extra;
    int32_t *counts; /* (n) */
    double *p;       /* (n_particles, 4) */
    double *mass;    /* (n_particles): sqrt|E^2 - p^2| in the frame in which they were measured */
    double *extra;   /* (n_particles, n_extra) */
    int32_t *labels; /* (n): 1 is a top quark */
    double *weights; /* (n) */
} Jets;

RelnStatus jets_init(TaskEnv *env, TaskRoom **rooms, ptrdiff_t n, ptrdiff_t n_particles,
                     int n_extra, Jets *out);
/* Appends a jet; its masses are computed. extra may be NULL: zeros. Returns false when memory is out. */
bool jets_add(Jets *jets, int n, const double *p, const double *extra, int label, double weight);
/* Returns the first particle of jet i, which follows those of the jets before it. */
ptrdiff_t jets_first(const Jets *jets, ptrdiff_t i);

/* A JetsSource provides jets from memory, or from files whose rows are read on demand. */
typedef struct JetsSource JetsSource;

/* Arrays of a file in addition to the jets. */
typedef struct JetsFiles {
    const char *extra;   /* names of arrays (jets, particles), with commas between; NULL: none */
    const char *weights; /* name of an array (jets) of event weights; NULL: none */
} JetsFiles;

/* Finds the files of a folder with "train", "val" and "test" in their names, or one file, as train; "": there
 * is none. */
enum { JETS_PATH = 1024 };
RelnStatus jets_find_files(TaskEnv *env, const char *path, char train[JETS_PATH],
                           char validation[JETS_PATH], char test[JETS_PATH]);

/* Makes a source of jets in memory, which must outlive it. */
RelnStatus jets_source_memory(TaskEnv *env, const Jets *jets, JetsSource **out);
/* Opens the jets of a file: LGN's keys Pmu, Nobj and is_signal; or the table of pandas. All jets are checked
 * once, and later read on demand. Momenta in MeV are converted to GeV. */
RelnStatus jets_source_open(TaskEnv *env, const char *path, const JetsFiles *files,
                            JetsSource **out);
/* Joins several sources, one after the other; they must outlive the result. */
RelnStatus jets_source_join(TaskEnv *env, int n, JetsSource *const *parts, JetsSource **out);
ptrdiff_t jets_source_count(const JetsSource *source);
int jets_source_extra(const JetsSource *source);
bool jets_source_in_mev(const JetsSource *source); /* the file was */
/* Reads jets by their numbers into `out`, which is emptied first. */
RelnStatus jets_source_read(TaskEnv *env, const JetsSource *source, ptrdiff_t n,
                            const ptrdiff_t *which, Jets *out);

/* ---- toy.c, save.c ----------------------------------------------------------------------------------------------- */

/* A generator of jets: a shower ordered by virtuality that conserves four-momentum at each step; in half of
 * the jets a top quark decays to b q q'. It is not the benchmark, but its counts and masses are similar. */
typedef struct JetsToy {
    bool match_n;    /* both classes have the same distribution of the number of particles */
    bool match_mass; /* jets of light quarks and gluons are weighted to the masses of tops */
} JetsToy;

/* Draws one jet, sorted by transverse momentum; returns the number of particles, at most JETS_MOST. */
int jets_toy_draw(RelnRng *rng, const JetsToy *toy, bool top, double p[JETS_MOST][4]);
/* The jets of pre-training are numbered from here, and the jets of the sets from 0. */
#define JETS_TOY_PRETRAINING ((uint64_t)1 << 40)
/* Draws n jets, every second one a top quark, and appends them to `out`. Jet i is a function of (seed, first
 * + i). */
RelnStatus jets_toy_fill(TaskEnv *env, const JetsToy *toy, uint64_t seed, uint64_t first,
                         ptrdiff_t n, Jets *out);

/* Writes jets as an .npz with the arrays that jets_source_open() reads: Pmu (n, JETS_MOST, 4) in single precision, Nobj, is_signal;
 * and weight, if one is not 1. */
RelnStatus jets_save(TaskEnv *env, const char *path, const Jets *jets);

/* ---- lorentz.c --------------------------------------------------------------------------------------------------- */

double jets_dot(const double *p, const double *q); /* E E' - p.p' */
double jets_pt(const double *p);
double jets_eta(const double *p);
double jets_phi(const double *p);
/* Returns the difference of two angles, in (-pi, pi]. */
double jets_turn(double phi, double from);
void jets_sum(int n, const double *p, double total[4]);
/* psi(x) = sign(x) ln(1 + |x|) */
double jets_psi(double x);
/* A boost with velocity b (|b| < 1) along an axis 0, 1, 2: E' = g (E - b p), p' = g (p - b E). (4, 4) */
void jets_boost(int axis, double b, double m[16]);
/* A rotation uniform on SO(3), then a boost with velocity b in a random direction. */
void jets_random_frame(RelnRng *rng, double b, double m[16]);
void jets_move(const double m[16], ptrdiff_t n, const double *p, double *out);

/* Computes numbers of a jet that do not depend on the frame if the beams are transformed with it: ln of the
 * count, psi of the squared mass, products with the beams, spread, and the masses of three subjets (found by
 * merging the pair with the smallest product) and of their pairs. */
void jets_invariants(int n, const double *p, const double beams[JETS_BEAMS][4],
                     double out[JETS_INVARIANTS]);
extern const double jets_beams[JETS_BEAMS][4]; /* (sqrt 2, 0, 0, +-1): mass 1 */

/* ---- batch.c ----------------------------------------------------------------------------------------------------- */

/* A JetsBatch holds jets in the form that networks take: beams before the particles of each. */
typedef struct JetsBatch {
    ptrdiff_t room, room_rows;
    int n_scalars;
    bool bare;          /* rows are particles only, without beams */
    bool whole;         /* compute invariants of whole jets, which takes long */
    int32_t *counts;    /* (n): rows of each jet, including those of beams */
    double *p;          /* (rows, 4) */
    double *scalars;    /* (rows, n_scalars) */
    double *particle;   /* (rows): 1, and 0 for beams */
    double *invariants; /* (n, JETS_INVARIANTS) */
    double *total;      /* (n, 4): momentum of the jet */
    double *beams;      /* (n, 4, 2): momenta of the beams */
    int32_t *labels;    /* (n) */
    double *weights;    /* (n) */
    ExpSet set;
} JetsBatch;

/* A JetsView says how a batch differs from the original jets. */
typedef struct JetsView {
    const double *frame; /* (4, 4), NULL: the lab */
    bool beams_stay;     /* the beams stay in the lab */
    int hardest;         /* particles of each jet, by transverse momentum in the lab; 0: all */
    int soft;            /* particles added to each jet */
    double soft_share;   /* share of its momentum in all added particles together */
    double split;        /* share of particles that are split in two of the same direction */
    uint64_t seed;       /* of soft and split */
} JetsView;

RelnStatus jets_batch_init(TaskEnv *env, TaskRoom **rooms, ptrdiff_t n, int n_extra,
                           JetsBatch *out);
/* Fills the rows of these jets in a view; NULL: unchanged. `set` has the columns. */
void jets_batch_fill(JetsBatch *batch, const Jets *jets, const JetsView *view);

/* ---- metrics.c --------------------------------------------------------------------------------------------------- */

/* A JetsScores holds the scores of jets: a larger score means a top quark. */
typedef struct JetsScores {
    ptrdiff_t n;
    const double *score, *weights; /* weights NULL: 1 */
    const int32_t *labels;
} JetsScores;

/* A JetsPoint is a point of the curve of signal efficiency and background efficiency. */
typedef struct JetsPoint {
    double signal, background; /* efficiencies */
    double count;              /* unweighted number of background jets that pass */
} JetsPoint;

enum { JETS_WORKING_POINTS = 5 };
extern const double jets_working_points[JETS_WORKING_POINTS]; /* 0.3, 0.5, 0.7, 0.8, 0.9 */

typedef struct JetsNumbers {
    double accuracy, auc; /* a score above 0 is predicted as a top quark; ties count half */
    double accuracy_error, auc_error;         /* bootstrap errors; 0 draws: NAN */
    JetsPoint at[JETS_WORKING_POINTS];        /* the point of the nearest signal efficiency */
    JetsPoint published[JETS_WORKING_POINTS]; /* the same without points on straight lines */
} JetsNumbers;

/* With fewer background jets than this, a background efficiency is too uncertain to print. */
enum { JETS_RESOLVED = 10 };

RelnStatus jets_numbers(TaskEnv *env, const JetsScores *scores, int draws, uint64_t seed,
                        JetsNumbers *out);
/* Lists points by descending score, one for each distinct score; if `dropped`, without those on straight
 * lines between their neighbours. points has room for n + 1. Returns their number. */
RelnStatus jets_roc(TaskEnv *env, const JetsScores *scores, bool dropped, JetsPoint *points,
                    ptrdiff_t *n_points);
/* Compares two rows of n seeds each, a[k] and b[k] of the same jets: the mean over k of AUC(a[k]) - AUC(b[k]), and the ends of
 * its 95 % interval in a paired bootstrap, in which all seeds of both rows are judged by the same draw of jets. */
RelnStatus jets_compare(TaskEnv *env, int n, const JetsScores *a, const JetsScores *b, int draws,
                        uint64_t seed, double out[3]);

/* ---- settings of rows -------------------------------------------------------------------------------------------- */

typedef enum JetsKind {
    JETS_MASS,     /* -|m - 173 GeV|: nothing is trained */
    JETS_COUNT,    /* the number of particles: nothing is trained */
    JETS_MLP,      /* dense layers on the invariants of the whole jet */
    JETS_SET,      /* particles one by one, summed */
    JETS_LIE,      /* the same with elements of so(3,2): brackets and gates of Lie Neurons */
    JETS_MESSAGES, /* messages between all pairs: LorentzNet and its variants */
    JETS_GRADED,   /* the same with channels of four-vectors and bivectors */
    JETS_PARTS     /* particles with parts of their jet, several networks averaged */
} JetsKind;

/* The invariants of a pair from which its message is computed. */
typedef enum JetsPair {
    JETS_DIFFERENCE, /* psi(s |x_i - x_j|^2), psi(s x_i.x_j) */
    JETS_OWN         /* psi(s x_i.x_i), psi(s x_j.x_j), psi(s x_i.x_j) */
} JetsPair;

typedef enum JetsRecipe {
    JETS_PUBLISHED, /* batches of 128, a warm-up of 4 epochs, cosines of 4, 8 and 16, and 3 of decay */
    JETS_OURS       /* batches of 32, a warm-up and one cosine */
} JetsRecipe;

typedef struct JetsModel {
    double scale; /* s, the factor of the form */
    double step;  /* c, factor of moves */
    double limit; /* F of F tanh(f / F) for the factors of moves; 0: none */
    double
        clamp; /* components of moves are clamped to this, which breaks the symmetry; 0: no clamp */
    double dropout; /* dropout of the decoder */
    JetsKind kind;
    JetsPair pair;
    JetsRecipe recipe;
    int width, blocks;
    int channels; /* channels of four-vectors, and of bivectors */
    int subjets;  /* number of soft subjets, whose products the decoder uses */
    int padded; /* rows of each set including padding, by which means are divided; 0: no padding */
    int extra;  /* further numbers of rows, as in the data */
    int towers; /* JETS_PARTS: number of networks whose logits are averaged */
    int messages; /* JETS_PARTS: blocks of LorentzNet in place of the first tower; 0: none */
    int stream;   /* added to the seed, so that two rows with the same function start differently */
    int drawn; /* pre-training on generated jets: their number, in units of the scale's; 0: none */
    int drawn_epochs; /* epochs of pre-training, at most those of the scale */
    int shorter;      /* after pre-training, the scale's number of epochs is divided by this */
    bool bank;        /* psi of the product at three scales */
    bool bivectors;   /* JETS_GRADED */
    bool shown;       /* features after each block are outputs, for tests */
    char pad[1];
} JetsModel;

/* ---- model.c ----------------------------------------------------------------------------------------------------- */

/* Computes logits (C = 2) of a sample. Inputs by kind: "p" and "scalars" of rows, "invariants", "total" and
 * "beams" of samples; with padding, also "mask" of rows; with subjets, "particle" of rows: 0 for beams. */
RelnNode *jets_network(const RelnNet *net, const void *model);
/* Returns the memberships of rows in the soft subjets, (C = subjets) for each row; NULL: the model has
 * none. */
RelnNode *jets_memberships(const RelnNet *net, const void *model);
/* Cross entropy against the index "label", weighted by "weight". */
RelnNode *jets_loss(const RelnNet *net, const void *model, RelnNode *logits);
/* Returns the group that the model respects: "lorentz", or none if components are clamped. */
const char *jets_symmetry(const JetsModel *model);

#endif
