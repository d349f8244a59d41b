/* survey.h -- a file of arrays as somebody sees it who meets it for the first time: what is in it, what it may be, and a
 * SPEC to begin with. */
#ifndef KIT_SURVEY_H
#define KIT_SURVEY_H

#include "kit/spec.h"
#include "reln/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an array may be for, from its extents, its numbers and its name. */
typedef enum RelnRole {
    RELN_ROLE_UNKNOWN, /* no role that a SPEC has */
    RELN_ROLE_NUMBER,  /* counts or names samples: "id", "fold" */
    RELN_ROLE_MASK,
    RELN_ROLE_INPUT,
    RELN_ROLE_TARGET
} RelnRole;

typedef struct RelnSurveyArray {
    const char *name;
    const char *dtype;
    int rank;
    ptrdiff_t dims[8], n_rows, row_size;
    ptrdiff_t seen; /* numbers that were looked at: all, or rows far apart */
    ptrdiff_t lost; /* of them NaN or infinite */
    double low, high, mean;
    bool whole;  /* all are whole numbers */
    int classes; /* values 0 .. classes-1 and nothing else, at most 64; 0: no classes */
    RelnRole role;
    RelnAs as;   /* of an input, and of a target that is no class */
    bool points; /* of an input */
    int n;       /* size of the matrices that act on it; 0: any */
} RelnSurveyArray;

typedef struct RelnSurvey {
    RelnCtx *ctx;
    const char *path;
    int n_arrays;
    RelnSurveyArray *arrays;
    ptrdiff_t n_samples; /* rows that most arrays have */
} RelnSurvey;

/* The archive must outlive it. Clear it. */
RelnStatus reln_survey(RelnCtx *ctx, RelnArchive *archive, RelnSurvey *out);
void reln_survey_clear(RelnSurvey *survey);

/* "vector, points", "class (10)", "covariance". */
const char *reln_survey_text(const RelnSurveyArray *array, char *text, size_t size);

/* A SPEC that trains as it is: its length, and as much as fits, as snprintf(). symmetry NULL: the first of the candidates,
 * the others as comments. RELN_ERR_ARG when there is no input or no target to be seen. */
RelnStatus reln_survey_draft(const RelnSurvey *survey, const char *symmetry, char *text,
                             size_t size, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
