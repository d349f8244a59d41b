/* Tests drafts of SPECs: for each kind of data and each number of samples, the network and its training. Every draft is a SPEC
 * that can be read. */
#include <stdlib.h>
#include <string.h>

#include "kit/survey.h"
#include "model/model.h"
#include "model/world.h"

enum { TEXT = 4096 };

typedef enum Data { MOMENTA, CLOUDS, LARGE_CLOUDS, MATRICES, RECORDINGS } Data;

/* Describes arrays of a file, with n samples: inputs of one kind, numbers of points, and a target. */
static void survey_init(RelnSurvey *s, RelnSurveyArray arrays[3], RelnCtx *ctx, Data data,
                        ptrdiff_t n)
{
    const RelnSurveyArray inputs[] = {
        [MOMENTA] =
            {.rank = 3, .dims = {n, 60, 4}, .as = RELN_AS_FOURVECTOR, .points = true, .n = 4},
        [CLOUDS] = {.rank = 3, .dims = {n, 127, 3}, .as = RELN_AS_VECTOR, .points = true, .n = 3},
        [LARGE_CLOUDS] =
            {.rank = 3, .dims = {n, 128, 3}, .as = RELN_AS_VECTOR, .points = true, .n = 3},
        [MATRICES] = {.rank = 3, .dims = {n, 3, 3}, .as = RELN_AS_MATRIX, .n = 3},
        [RECORDINGS] = {.rank = 2, .dims = {n, 3}, .as = RELN_AS_VECTOR, .n = 3},
    };
    const bool sets = inputs[data].points;

    arrays[0] = inputs[data];
    arrays[0].name = "x";
    arrays[0].role = RELN_ROLE_INPUT;
    arrays[1] = (RelnSurveyArray){.name = sets ? "count" : "t",
                                  .rank = 1,
                                  .dims = {n},
                                  .role = sets                 ? RELN_ROLE_COUNT
                                          : data == RECORDINGS ? RELN_ROLE_TIME
                                                               : RELN_ROLE_NUMBER};
    arrays[2] = (RelnSurveyArray){.name = "y",
                                  .rank = data == RECORDINGS ? 2 : 1,
                                  .dims = {n, 3},
                                  .role = RELN_ROLE_TARGET,
                                  .classes = sets ? 2 : 0,
                                  .as = data == RECORDINGS ? RELN_AS_VECTOR : RELN_AS_SCALAR,
                                  .n = data == RECORDINGS ? 3 : 0};
    *s = (RelnSurvey){.ctx = ctx,
                      .path = "file.npz",
                      .n_arrays = 3,
                      .arrays = arrays,
                      .n_samples = n,
                      .time = data == RECORDINGS ? 1 : -1,
                      .longest_step = 0.1,
                      .median_step = 0.1};
}

typedef struct Case {
    Data data;
    ptrdiff_t n;
    const char *model, *train;
} Case;

#define MESSAGES                                                                                   \
    "model: {kind: messages, beside: [set, messages], width: 32, depth: 3, dropout: 0.2, head: "   \
    "{activation: relu}}\n"
#define OF_MESSAGES(epochs)                                                                        \
    "train: {epochs: " epochs ", batch: 32, lr: 1e-3, optimizer: adamw, decay: 0.1, schedule: "    \
    "cosine, average: 0.99, validation: 0}\n"
#define OF_SETS(epochs, batch, lr, decay)                                                          \
    "train: {epochs: " epochs ", batch: " batch ", lr: " lr ", optimizer: adamw, decay: " decay    \
    ", schedule: cosine, average: 0.99, validation: 0.15}\n"
#define GROUPED "model: {kind: set, groups: 32, width: 48, dropout: 0.1}\n"
#define OF_OTHERS(epochs, batch)                                                                   \
    "train: {epochs: " epochs ", batch: " batch ", lr: 3e-3, schedule: cosine, validation: 0.2}\n"

static const Case cases[] = {
    {MOMENTA, 50, MESSAGES, OF_MESSAGES("20")},
    {MOMENTA, 5000, MESSAGES, OF_MESSAGES("20")},
    {MOMENTA, 5001, MESSAGES, OF_MESSAGES("8")},
    {MOMENTA, 20000, MESSAGES, OF_MESSAGES("8")},
    {MOMENTA, 20001, MESSAGES, OF_MESSAGES("3")},
    {CLOUDS, 99, "model: {kind: set}\n", OF_SETS("20", "5", "1e-3", "0.1")},
    {CLOUDS, 100, "model: {kind: set}\n", OF_SETS("20", "20", "1e-3", "0.1")},
    {CLOUDS, 1000, "model: {kind: set}\n", OF_SETS("20", "50", "1e-3", "0.1")},
    {CLOUDS, 20001, "model: {kind: set}\n", OF_SETS("5", "50", "1e-3", "0.1")},
    {LARGE_CLOUDS, 999, GROUPED, OF_SETS("30", "20", "2e-3", "0.05")},
    {LARGE_CLOUDS, 20000, GROUPED, OF_SETS("30", "50", "2e-3", "0.05")},
    {LARGE_CLOUDS, 20001, GROUPED, OF_SETS("7", "50", "2e-3", "0.05")},
    {MATRICES, 99, "model: {width: 16, depth: 2}\n", OF_OTHERS("20", "5")},
    {MATRICES, 20001, "model: {width: 16, depth: 2}\n", OF_OTHERS("5", "50")},
    {RECORDINGS, 20000, "model: {kind: sequence, width: 16, depth: 2}\n", OF_OTHERS("20", "50")},
};

static void drafts_suit_the_data(void **state)
{
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RelnSurveyArray arrays[3];
        RelnSurvey survey;
        RelnSpec spec;
        char text[TEXT];
        size_t length;

        survey_init(&survey, arrays, ctx, cases[i].data, cases[i].n);
        assert_ok(ctx, reln_survey_draft(&survey, NULL, text, sizeof text, &length));
        assert_true(length == strlen(text));
        if (!strstr(text, cases[i].model) || !strstr(text, cases[i].train))
            fail_msg("the draft for %td samples is\n%s\nwanted in it\n%s%s", cases[i].n, text,
                     cases[i].model, cases[i].train);
        assert_ok(ctx, world_spec(ctx, text, &spec));
    }
    reln_ctx_destroy(ctx);
}

/* Asserts that the draft of a survey has a text, and is a SPEC. */
static void assert_drafted(const RelnSurvey *survey, const char *wanted, const char *unwanted)
{
    RelnSpec spec;
    char text[TEXT];
    size_t length;

    assert_ok(survey->ctx, reln_survey_draft(survey, NULL, text, sizeof text, &length));
    if (!strstr(text, wanted) || (unwanted && strstr(text, unwanted)))
        fail_msg("the draft is\n%s\nwanted in it: %s", text, wanted);
    assert_ok(survey->ctx, world_spec(survey->ctx, text, &spec));
}

/* Masks and counts are named after their kind; sets of more than 256 points are drawn from. */
static void drafts_name_the_array_that_says_which_points_there_are(void **state)
{
    RelnSurveyArray arrays[3];
    RelnCtx *ctx = NULL;
    RelnSurvey s;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    survey_init(&s, arrays, ctx, LARGE_CLOUDS, 500);
    assert_drafted(&s, "{name: x, as: vector, points: true, count: count}", "draw");
    arrays[0].dims[1] = 256;
    assert_drafted(&s, "{name: x, as: vector, points: true, count: count}", "draw");
    arrays[0].dims[1] = 257;
    assert_drafted(&s, "{name: x, as: vector, points: true, count: count, most: 256, draw: true}",
                   NULL);
    arrays[1].role = RELN_ROLE_MASK;
    arrays[1].rank = 2;
    arrays[1].dims[1] = 257;
    assert_drafted(&s, "{name: x, as: vector, points: true, mask: count, most: 256, draw: true}",
                   NULL);
    reln_ctx_destroy(ctx);
}

/* A draft for recordings names their numbers; and their gaps, if a step is more than ten times as long as most. */
static void drafts_of_recordings_know_where_they_end(void **state)
{
    RelnSurveyArray arrays[4];
    RelnCtx *ctx = NULL;
    RelnSurvey s;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    survey_init(&s, arrays, ctx, RECORDINGS, 5000);
    assert_drafted(&s, "  time: t\n", "gap:");
    assert_drafted(&s, "  time: t\n", "recording:");
    s.longest_step = 1;
    assert_drafted(&s, "  time: t\n", "gap:");
    s.longest_step = 2;
    assert_drafted(&s, "  gap: 2.002 ", NULL);
    arrays[3] =
        (RelnSurveyArray){.name = "flight", .rank = 1, .dims = {5000}, .role = RELN_ROLE_RECORDING};
    s.n_arrays = 4;
    assert_drafted(&s, "  recording: flight\n", NULL);
    reln_ctx_destroy(ctx);
}

/* A column of a table that is a component of a vector beside it is no input of its own. */
static void drafts_leave_out_components(void **state)
{
    static const char *const names[] = {"x_y", "x.z", "x_a", "z_y"};
    RelnSurveyArray arrays[4];
    RelnCtx *ctx = NULL;
    RelnSurvey s;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int i = 0; i < 4; i++) {
        char input[64];

        survey_init(&s, arrays, ctx, MATRICES, 500);
        snprintf(input, sizeof input, "{name: %s, as: scalar}", names[i]);
        arrays[3] = (RelnSurveyArray){.name = names[i],
                                      .rank = 1,
                                      .dims = {500},
                                      .role = RELN_ROLE_INPUT,
                                      .as = RELN_AS_SCALAR};
        s.n_arrays = 4;
        if (i < 2)
            assert_drafted(&s, "{name: x, as: matrix}", input);
        else
            assert_drafted(&s, input, NULL);
    }
    reln_ctx_destroy(ctx);
}

/* The draft for sets of momenta suggests the beams as a comment, which becomes a second input without its sign. */
static void drafts_of_particles_suggest_the_beams(void **state)
{
    static const char beams[] = "  # - {name: beams, as: fourvector, value: ";
    RelnSurveyArray arrays[3];
    RelnCtx *ctx = NULL;
    char text[TEXT];
    RelnSurvey s;
    RelnSpec spec;
    size_t length;
    char *at;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    survey_init(&s, arrays, ctx, CLOUDS, 500);
    assert_drafted(&s, "inputs:", "beams");
    survey_init(&s, arrays, ctx, MOMENTA, 500);
    assert_ok(ctx, reln_survey_draft(&s, NULL, text, sizeof text, &length));
    assert_ok(ctx, world_spec(ctx, text, &spec));
    assert_int_equal(spec.n_inputs, 1);
    at = strstr(text, beams);
    assert_non_null(at);
    memmove(at + 2, at + 4, strlen(at + 4) + 1); /* without the sign and the space after it */
    assert_ok(ctx, world_spec(ctx, text, &spec));
    assert_int_equal(spec.n_inputs, 2);
    reln_ctx_destroy(ctx);
}

/* A draft has a symmetry, and the others that act on its inputs as comments below it, the widest of each kind first. */
static void drafts_have_the_symmetries_that_act_on_their_inputs(void **state)
{
#define FRAMES(n)                                                                                  \
    "symmetry: gl:" n "         # any change of frame: X -> g X g^-1\n"                            \
    "# symmetry: sl:" n "         # those that keep volumes\n"                                     \
    "# symmetry: o:" n "          # rotations and reflections\n"                                   \
    "# symmetry: so:" n "         # rotations\n"
#define TURNS(n)                                                                                   \
    "symmetry: o:" n "          # rotations and reflections\n"                                     \
    "# symmetry: so:" n "         # rotations\n"
    static const struct {
        RelnAs as;
        int rank, n;
        const char *symmetries;
    } given[] = {
        {RELN_AS_VECTOR, 1, 1, ""},
        {RELN_AS_VECTOR, 1, 2, TURNS("2")},
        {RELN_AS_VECTOR, 1, 3, TURNS("3")},
        {RELN_AS_COVARIANCE, 2, 2, TURNS("2")},
        {RELN_AS_MATRIX, 2, 2, FRAMES("2")},
        {RELN_AS_MATRIX, 2, 4, FRAMES("4")},
        {RELN_AS_QUATERNION, 1, 3, "symmetry: so:3         # rotations\n"},
        {RELN_AS_FOURVECTOR, 1, 4, "symmetry: lorentz      # boosts and rotations\n"},
    };
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        const int extent = given[i].as == RELN_AS_QUATERNION ? 4 : given[i].n;
        RelnSurveyArray arrays[3];
        RelnSurvey survey;
        char text[TEXT];
        const char *begin, *end;
        size_t length;

        survey_init(&survey, arrays, ctx, MATRICES, 200);
        arrays[0].as = given[i].as;
        arrays[0].n = given[i].n;
        arrays[0].rank = given[i].rank + 1;
        arrays[0].dims[1] = arrays[0].dims[2] = extent;
        assert_ok(ctx, reln_survey_draft(&survey, NULL, text, sizeof text, &length));
        begin = strchr(text, '\n') + 1;
        end = strstr(text, "\ninputs:") + 1;
        if (strncmp(begin, given[i].symmetries, (size_t)(end - begin)) != 0 ||
            strlen(given[i].symmetries) != (size_t)(end - begin))
            fail_msg("case %zu: the draft is\n%s\nwanted in it\n%s", i, text, given[i].symmetries);
    }
    reln_ctx_destroy(ctx);
}

/* ---- kinds of arrays ---------------------------------------------------------------------------------------------------- */

/* Arrays of two quaternions in each row; one item of one row may be longer than 1. All items of a row are looked at, and of long
 * files about two hundred rows that lie evenly. */
static RelnAs kind_of(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t row, int item)
{
    double *q = calloc((size_t)n * 8, sizeof *q);
    const RelnArray array = RELN_ARRAY("q", RELN_F64, q, n, 2, 4);
    RelnArchive *archive = NULL;
    RelnSurvey survey;
    RelnAs as;

    assert_non_null(q);
    for (ptrdiff_t i = 0; i < 2 * n;
         i++) /* not a momentum either: the first number is smaller than the rest */
        q[4 * i + (i % 2 ? 1 : 3)] = 1;
    if (row >= 0)
        q[8 * row + 4 * item] = 0.5;
    assert_ok(ctx, reln_archive_from_arrays(ctx, "data.npz", 1, &array, &archive));
    assert_ok(ctx, reln_survey(ctx, archive, &survey));
    as = survey.arrays[0].as;
    assert_int_equal(survey.arrays[0].role == RELN_ROLE_UNKNOWN, as != RELN_AS_QUATERNION);
    reln_survey_clear(&survey);
    reln_archive_destroy(archive);
    free(q);
    return as;
}

static void all_items_of_rows_decide_what_an_array_is(void **state)
{
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_int_equal(kind_of(ctx, 5, -1, 0), RELN_AS_QUATERNION);
    assert_int_equal(kind_of(ctx, 1000, -1, 0), RELN_AS_QUATERNION);
    for (int item = 0; item < 2; item++) {
        assert_int_not_equal(kind_of(ctx, 5, 4, item), RELN_AS_QUATERNION);
        assert_int_not_equal(kind_of(ctx, 200, 199, item), RELN_AS_QUATERNION);
        assert_int_not_equal(kind_of(ctx, 1000, 500, item), RELN_AS_QUATERNION);
    }
    reln_ctx_destroy(ctx);
}

/* ---- folds ------------------------------------------------------------------------------------------------------------- */

/* Folds are numbers from 0 on, each with a row. */
static void folds_of_an_array_have_rows(void **state)
{
    static const struct {
        double folds[4];
        int count;
        const char *says;
    } given[] = {
        {{0, 1, 1, 0}, 2, NULL},
        {{2, 0, 1, 3}, 4, NULL},
        {{1, 2, 1, 2}, 0, "f: no row is in fold 0 of 3; wanted rows in every fold"},
        {{0, 2, 3, 0}, 0, "f: no row is in fold 1 of 4; wanted rows in every fold"},
        {{0, 0, 0, 0}, 0, "f: all rows are in one fold; wanted two or more"},
        {{0, 1, 0.5, 0}, 0, "f: row 2 is 0.5; a fold, a whole number from 0 to 4095, was wanted"},
        {{0, -1, 1, 0}, 0, "f: row 1 is -1; a fold, a whole number from 0 to 4095, was wanted"},
        {{0, 1, 1, 4096}, 0, "f: row 3 is 4096; a fold, a whole number from 0 to 4095, was wanted"},
    };
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        double folds[4];
        const RelnArray array = RELN_ARRAY("f", RELN_F64, folds, 4);
        RelnArchive *archive = NULL;
        RelnStatus status;
        int count = -1;

        memcpy(folds, given[i].folds, sizeof folds);
        reln_ctx_clear(ctx);
        assert_ok(ctx, reln_archive_from_arrays(ctx, "data.npz", 1, &array, &archive));
        status = reln_data_folds(ctx, archive, "f", &count);
        assert_int_equal(status, given[i].says ? RELN_ERR_FORMAT : RELN_OK);
        assert_string_equal(reln_ctx_error(ctx), given[i].says ? given[i].says : "");
        assert_true(given[i].says || count == given[i].count);
        reln_archive_destroy(archive);
    }
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts_suit_the_data),
        cmocka_unit_test(drafts_name_the_array_that_says_which_points_there_are),
        cmocka_unit_test(drafts_of_recordings_know_where_they_end),
        cmocka_unit_test(drafts_leave_out_components),
        cmocka_unit_test(drafts_of_particles_suggest_the_beams),
        cmocka_unit_test(drafts_have_the_symmetries_that_act_on_their_inputs),
        cmocka_unit_test(all_items_of_rows_decide_what_an_array_is),
        cmocka_unit_test(folds_of_an_array_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
