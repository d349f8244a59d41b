/* draft.c -- writes a first SPEC for the arrays of a file, from a survey of the file. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "io/keys.h"
#include "kit/survey.h"

/* A Candidate is a possible symmetry: a group, and the kinds of inputs that it has lifts for, on n x n
 * matrices. */
typedef struct Candidate {
    const char *name;
    int n; /* 0: any size, which becomes part of the name */
    unsigned kinds;
    const char *why;
} Candidate;

#define KIND(as) (1U << (as))
#define ROUND (KIND(RELN_AS_VECTOR) | KIND(RELN_AS_COVARIANCE) | KIND(RELN_AS_MATRIX))

static const Candidate candidates[] = {
    {"lorentz", 4, KIND(RELN_AS_FOURVECTOR), "boosts and rotations"},
    {"so:3", 3, ROUND | KIND(RELN_AS_QUATERNION), "rotations"},
    {"o:%d", 0, ROUND, "rotations and reflections"},
    {"so:%d", 0, ROUND, "rotations"},
    {"gl:%d", 0, KIND(RELN_AS_MATRIX), "any change of frame: X -> g X g^-1"},
    {"sl:%d", 0, KIND(RELN_AS_MATRIX), "those that keep volumes"},
};
enum { N_CANDIDATES = sizeof candidates / sizeof candidates[0] };

enum { WINDOW = 32 };          /* steps of a window of a recording */
enum { GROUPED_POINTS = 128 }; /* sets of so many points in space are divided into groups */
enum { MOST_POINTS = 256 };    /* of a set that a draft takes: more cost much time */

typedef struct Draft {
    const RelnSurvey *s;
    const RelnSurveyArray *target;
    int n;          /* size of the matrices that act */
    unsigned kinds; /* bit set of the kinds of inputs that they act on */
    const char *symmetry;
    char name[32];
    Page *page;
} Draft;

static bool moves(const RelnSurveyArray *a)
{
    return a->role == RELN_ROLE_INPUT && a->n > 0;
}

/* Returns the matrix size n that most inputs have. */
static int size_of(const RelnSurvey *s)
{
    int best = 0, best_count = 0;

    for (int i = 0; i < s->n_arrays; i++) {
        int same = 0;

        for (int j = 0; j < s->n_arrays; j++)
            same += moves(&s->arrays[j]) && s->arrays[j].n == s->arrays[i].n;
        if (moves(&s->arrays[i]) && same > best_count) {
            best = s->arrays[i].n;
            best_count = same;
        }
    }
    return best;
}

/* Returns whether the candidate suits all inputs. For matrices alone general frames come first. Quaternions
 * are attitudes, which need rotations of space. */
static bool takes(const Draft *d, const Candidate *c)
{
    if ((c->n != 0 && c->n != d->n) || (d->kinds & ~c->kinds) != 0)
        return false;
    if (strcmp(c->name, "so:3") == 0)
        return (d->kinds & KIND(RELN_AS_QUATERNION)) != 0;
    return d->n >= 2;
}

static void name_of(const Draft *d, const Candidate *c, char *text, size_t size)
{
    const char *mark = strstr(c->name, "%d");

    if (mark)
        snprintf(text, size, "%.*s%d", (int)(mark - c->name), c->name, d->n);
    else
        snprintf(text, size, "%s", c->name);
}

static void put_symmetry(Draft *d)
{
    bool first = !d->symmetry;
    char text[32];

    if (d->symmetry)
        reln_page_print(d->page, "symmetry: %s\n", d->symmetry);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < N_CANDIDATES; i++) {
            const bool general = candidates[i].kinds == KIND(RELN_AS_MATRIX);

            if (!takes(d, &candidates[i]) ||
                general != ((pass == 0) == (d->kinds == KIND(RELN_AS_MATRIX))))
                continue;
            name_of(d, &candidates[i], text, sizeof text);
            if (d->symmetry && strcmp(text, d->symmetry) == 0)
                continue;
            reln_page_print(d->page, "%ssymmetry: %-12s # %s\n", first ? "" : "# ", text,
                            candidates[i].why);
            first = false;
        }
}

/* Returns whether the array is a column of a table that is also the component of a vector: v_x beside v. */
static bool is_component(const Draft *d, const RelnSurveyArray *a)
{
    const size_t n = strlen(a->name);

    if (a->n > 0 || n < 3 || (a->name[n - 2] != '_' && a->name[n - 2] != '.') ||
        !strchr("wtExyz", a->name[n - 1]))
        return false;
    for (int i = 0; i < d->s->n_arrays; i++) {
        const RelnSurveyArray *v = &d->s->arrays[i];

        if (v->n > 0 && strlen(v->name) == n - 2 && memcmp(v->name, a->name, n - 2) == 0)
            return true;
    }
    return false;
}

/* Returns whether the name says that the number is one of momenta in the frame of the data, which boosts change. */
static bool is_boosted(const Draft *d, const RelnSurveyArray *a)
{
    return (d->kinds & KIND(RELN_AS_FOURVECTOR)) != 0 && a->n == 0 &&
           reln_survey_named(a->name, "pt px py pz energy eta phi rapidity");
}

/* Returns whether the array is an input of the draft: without matrix size, or with the size of the draft's
 * group. */
static bool fits(const Draft *d, const RelnSurveyArray *a)
{
    return a->role == RELN_ROLE_INPUT && (a->n == 0 || a->n == d->n) && !is_component(d, a) &&
           !is_boosted(d, a);
}

static const RelnSurveyArray *mask_for(const Draft *d, const RelnSurveyArray *a)
{
    for (int i = 0; i < d->s->n_arrays; i++) {
        const RelnSurveyArray *m = &d->s->arrays[i];

        if (!a->points)
            continue;
        if (m->role == RELN_ROLE_COUNT || (m->role == RELN_ROLE_MASK && m->dims[1] == a->dims[1]))
            return m;
    }
    return NULL;
}

/* Returns whether an input of the draft is a set of four-momenta. */
static bool has_momenta(const Draft *d)
{
    for (int i = 0; i < d->s->n_arrays; i++) {
        const RelnSurveyArray *a = &d->s->arrays[i];

        if (fits(d, a) && a->points && a->as == RELN_AS_FOURVECTOR)
            return true;
    }
    return false;
}

/* Suggests the beams of a collider. They are a comment, since a network that knows them tells boosted data apart, and a file does not say
 * how its frame lies. */
static void put_beams(const Draft *d)
{
    reln_page_print(d->page,
                    "  # - {name: beams, as: fourvector, value: [[1, 0, 0, 1], [1, 0, 0, -1]]}  # "
                    "if beams run along z; predictions then depend on boosts\n");
}

static void put_inputs(const Draft *d)
{
    reln_page_print(
        d->page, "inputs:%s\n",
        d->s->time >= 0
            ? "                       # leave out those of another frame than the target's"
            : "");
    for (int i = 0; i < d->s->n_arrays; i++) {
        const RelnSurveyArray *a = &d->s->arrays[i], *mask = mask_for(d, a);

        if (a == d->target)
            continue;
        if (!fits(d, a)) {
            if (a->role == RELN_ROLE_UNKNOWN || a->role == RELN_ROLE_NUMBER ||
                a->role == RELN_ROLE_INPUT)
                reln_page_print(d->page, "# - %s is not used%s\n", a->name,
                                is_boosted(d, a) ? ": boosts change it" : "");
            continue;
        }
        reln_page_print(d->page, "  - {name: %s, as: %s%s", a->name, reln_as_text(a->as),
                        a->points ? ", points: true" : "");
        if (mask)
            reln_page_print(d->page, ", %s: %s", mask->role == RELN_ROLE_MASK ? "mask" : "count",
                            mask->name);
        if (a->points && a->dims[1] > MOST_POINTS)
            reln_page_print(d->page, ", most: %d, draw: true", MOST_POINTS);
        if (d->s->time >= 0)
            reln_page_print(d->page, ", sequence: true");
        reln_page_print(d->page, "}\n");
    }
    if (d->s->time < 0 && has_momenta(d))
        put_beams(d);
}

static void put_target(const Draft *d)
{
    const RelnSurveyArray *t = d->target;

    if (t->classes > 0)
        reln_page_print(d->page, "target: {name: %s, as: class, classes: %d}\n", t->name,
                        t->classes);
    else
        reln_page_print(d->page, "target: {name: %s, as: %s}\n", t->name, reln_as_text(t->as));
}

/* Returns whether an input of the draft is a set, whose points are to know each other. */
static bool has_sets(const Draft *d)
{
    for (int i = 0; i < d->s->n_arrays; i++)
        if (fits(d, &d->s->arrays[i]) && d->s->arrays[i].points && d->s->arrays[i].n > 0)
            return true;
    return false;
}

/* Suggests the velocity as a first estimate of the change of a position. It is a comment, since times may be in another
 * unit. */
static void put_estimate(const Draft *d)
{
    for (int i = 0; i < d->s->n_arrays; i++) {
        const RelnSurveyArray *a = &d->s->arrays[i];

        if (fits(d, a) && a->as == RELN_AS_VECTOR && reln_survey_named(a->name, "v vel velocity"))
            reln_page_print(d->page,
                            "  # estimate: %-14s  # if its integral over %s is a change of %s\n",
                            a->name, d->s->arrays[d->s->time].name, d->target->name);
    }
}

/* Writes how recordings become windows: WINDOW steps, of which a quarter is new; the target is its change from the first step
 * to the last. */
static void put_sequence(const Draft *d)
{
    const RelnSurvey *s = d->s;

    reln_page_print(d->page, "sequence:\n  length: %d                  # steps of a window\n",
                    WINDOW);
    reln_page_print(d->page, "  stride: %d                   # steps between windows\n",
                    WINDOW / 4);
    reln_page_print(d->page, "  time: %s\n", s->arrays[s->time].name);
    for (int i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].role == RELN_ROLE_RECORDING)
            reln_page_print(d->page, "  recording: %s\n", s->arrays[i].name);
    if (s->longest_step > 10 * s->median_step)
        reln_page_print(d->page, "  gap: %-12.6g           # the longest step; most are %.3g\n",
                        1.001 * s->longest_step, s->median_step);
    put_estimate(d);
    reln_page_print(d->page,
                    "  target: change              # of %s from the first step to the last\n",
                    d->target->name);
}

/* Returns whether there are so many points in space that those of a neighbourhood should know each other first. */
static bool wants_groups(const Draft *d)
{
    for (int i = 0; i < d->s->n_arrays; i++) {
        const RelnSurveyArray *a = &d->s->arrays[i];

        if (fits(d, a) && a->points && a->as == RELN_AS_VECTOR && a->dims[1] >= GROUPED_POINTS)
            return true;
    }
    return false;
}

/* Sets of particles: messages and a set make different mistakes, and so do two networks of messages. All samples are for training, and
 * the averages of the last weights are kept. */
static void put_particles(const Draft *d)
{
    const ptrdiff_t n = d->s->n_samples;

    reln_page_print(d->page,
                    "model: {kind: messages, beside: [set, messages], width: 32, depth: 3, "
                    "dropout: 0.2, head: {activation: relu}}\n");
    reln_page_print(d->page,
                    "train: {epochs: %d, batch: 32, lr: 1e-3, optimizer: adamw, decay: 0.1, "
                    "schedule: cosine, average: 0.99, validation: 0}\n",
                    n > 20000  ? 3
                    : n > 5000 ? 8
                               : 20);
}

/* Sets: the settings were found on point clouds, where weights that are averaged and decay overfit less. */
static void put_sets(const Draft *d, int epochs, int batch)
{
    const bool groups = wants_groups(d);

    reln_page_print(d->page, "model: {kind: set%s}\n",
                    groups ? ", groups: 32, width: 48, dropout: 0.1" : "");
    reln_page_print(d->page,
                    "train: {epochs: %d, batch: %d, lr: %s, optimizer: adamw, decay: %s, schedule: "
                    "cosine, average: 0.99, validation: 0.15}\n",
                    groups ? 3 * epochs / 2 : epochs, batch, groups ? "2e-3" : "1e-3",
                    groups ? "0.05" : "0.1");
}

/* Writes a model and training settings that take minutes at most on a small machine. */
static void put_rest(const Draft *d)
{
    const ptrdiff_t n = d->s->n_samples;
    const int batch = n >= 1000 ? 50 : n >= 100 ? 20 : 5;

    if (d->s->time < 0 && has_momenta(d)) {
        put_particles(d);
        return;
    }
    if (d->s->time < 0 && has_sets(d)) {
        put_sets(d, n > 20000 ? 5 : 20, batch);
        return;
    }
    reln_page_print(d->page, "model: {%swidth: 16, depth: 2}\n",
                    d->s->time >= 0 ? "kind: sequence, " : "");
    reln_page_print(d->page,
                    "train: {epochs: %d, batch: %d, lr: 3e-3, schedule: cosine, validation: 0.2}\n",
                    n > 20000 ? 5 : 20, batch);
}

static RelnStatus find_parts(Draft *d)
{
    const RelnSurvey *s = d->s;
    int n_inputs = 0;

    d->n = size_of(s);
    for (int i = 0; i < s->n_arrays; i++) {
        const RelnSurveyArray *a = &s->arrays[i];

        if (a->role == RELN_ROLE_TARGET)
            d->target = a;
        if (moves(a) && a->n == d->n)
            d->kinds |= KIND(a->as);
        n_inputs += fits(d, a);
    }
    if (!d->target)
        return reln_fail(s->ctx, RELN_ERR_ARG,
                         "%s: no array of %td rows looks like a target; wanted one number, class, "
                         "vector or matrix for each sample",
                         s->path, s->n_samples);
    if (n_inputs == 0 || d->kinds == 0)
        return reln_fail(
            s->ctx, RELN_ERR_ARG,
            "%s: no array looks like vectors, four-vectors or matrices; a symmetry has "
            "nothing to act on",
            s->path);
    return RELN_OK;
}

RelnStatus reln_survey_draft(const RelnSurvey *survey, const char *symmetry, char *text,
                             size_t size, size_t *length)
{
    Page page = {text, size, 0};
    Draft d = {.s = survey, .symmetry = symmetry, .page = &page};

    *length = 0;
    RELN_TRY(find_parts(&d));
    reln_page_print(&page, "# a draft for %s, %td %s\n", survey->path, survey->n_samples,
                    survey->time >= 0 ? "steps in time" : "samples");
    put_symmetry(&d);
    put_inputs(&d);
    put_target(&d);
    if (survey->time >= 0)
        put_sequence(&d);
    put_rest(&d);
    *length = page.used;
    return RELN_OK;
}
