/* survey.h -- a survey of an unknown file of arrays: its contents, guesses about their kinds, and a SPEC to
 * begin with. */
#ifndef KIT_SURVEY_H
#define KIT_SURVEY_H

#include "kit/spec.h"
#include "reln/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The guessed role of an array, from its extents, its numbers and its name. */
typedef enum RelnRole {
    RELN_ROLE_UNKNOWN, /* no role that a SPEC has */
    RELN_ROLE_NUMBER,  /* numbers or names of samples: "id", "fold" */
    RELN_ROLE_MASK,
    RELN_ROLE_COUNT,     /* numbers of points of sets, which come first; zeros are behind them */
    RELN_ROLE_TIME,      /* times of a recording, which ascend */
    RELN_ROLE_RECORDING, /* numbers of recordings, which follow one another in the file */
    RELN_ROLE_COMPONENT, /* a column that is part of a vector of the file */
    RELN_ROLE_INPUT,
    RELN_ROLE_TARGET
} RelnRole;

typedef struct RelnSurveyArray {
    const char *name;
    const char *dtype;
    int rank;
    ptrdiff_t dims[8], n_rows, row_size;
    ptrdiff_t seen; /* numbers that were read: all, or those of evenly spaced rows */
    ptrdiff_t lost; /* how many of them are NaN or infinite */
    double low, high, mean;
    bool whole;  /* all are whole numbers */
    int classes; /* the values are 0 .. classes-1, at most 64; 0: no classes */
    RelnRole role;
    RelnAs as;   /* kind of an input, or of a target that is not a class */
    bool points; /* for an input: has an axis of points */
    int n;       /* size of the matrices that act on it; 0: any */
} RelnSurveyArray;

typedef struct RelnSurvey {
    RelnCtx *ctx;
    const char *path;
    int n_arrays;
    RelnSurveyArray *arrays;
    ptrdiff_t n_samples; /* number of rows that most arrays have */
    /* The array of times, if rows are the steps of recordings; -1: rows are samples. */
    int time;
    double longest_step, median_step;
} RelnSurvey;

/* The archive must outlive the survey. The caller clears it. */
RelnStatus reln_survey(RelnCtx *ctx, RelnArchive *archive, RelnSurvey *out);
void reln_survey_clear(RelnSurvey *survey);

/* Writes "vector, points", "class (10)", "covariance". */
const char *reln_survey_text(const RelnSurveyArray *array, char *text, size_t size);

/* Returns whether one of the words, separated by spaces, is the name or a part of it between characters that
 * are not letters. */
bool reln_survey_named(const char *name, const char *words);

/* Writes a SPEC that can be trained without changes: sets its length, and writes as much as fits, like
 * snprintf(). symmetry NULL: the first candidate, with the others as comments. RELN_ERR_ARG when there is no
 * input or no target. */
RelnStatus reln_survey_draft(const RelnSurvey *survey, const char *symmetry, char *text,
                             size_t size, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
