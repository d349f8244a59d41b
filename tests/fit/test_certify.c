/* Tests the certificate: every kind of model is proved, and a model with a false numerator, rep or lift is
 * not.
 * No false constant can be built, so the test makes one: the linker redirects reln_settle(), which gives
 * constants their fractions, to a function of this file. */
#include "fit/room.h"
#include "rep/settle.h"

#define TRAIN " train: {epochs: 1, batch: 4, validation: 0.25}}"

/* A SPEC of sets whose points exchange information. */
#define SET(symmetry, input, kind)                                                                 \
    "{symmetry: " symmetry ", inputs: [{name: " input ", points: true, mask: m}],"                 \
    " target: {name: y, as: class, classes: 2}, model: {kind: " kind                               \
    ", width: 4, depth: 1}," TRAIN

static bool certifying;
static int settled;      /* number of constants so far */
static int n_numerators; /* number of numerators of all constants so far */
static int falsified =
    -1; /* index of the numerator that is falsified, counted over all constants */
static int unsettled = -1; /* index of the constant that loses its fractions */
#define LOST_RESIDUAL 3e-13

RelnStatus __real_reln_settle(RelnArena *arena, const RelnRep *u, const RelnRep *v,
                              const RelnRep *w, int count, const RelnEntry *entries,
                              RelnSettled *out, RelnVerdict *verdict);
RelnStatus __wrap_reln_settle(RelnArena *arena, const RelnRep *u, const RelnRep *v,
                              const RelnRep *w, int count, const RelnEntry *entries,
                              RelnSettled *out, RelnVerdict *verdict);

RelnStatus __wrap_reln_settle(RelnArena *arena, const RelnRep *u, const RelnRep *v,
                              const RelnRep *w, int count, const RelnEntry *entries,
                              RelnSettled *out, RelnVerdict *verdict)
{
    const RelnStatus status = __real_reln_settle(arena, u, v, w, count, entries, out, verdict);

    if (!certifying || status != RELN_OK || !out->numerators)
        return status;
    if (settled++ == unsettled) {
        n_numerators += out->count;
        out->numerators = NULL;
        out->residual = LOST_RESIDUAL;
        return status;
    }
    if (falsified >= n_numerators && falsified < n_numerators + out->count) {
        int64_t *copy = reln_arena_copy(arena, out->numerators, (size_t)out->count, sizeof *copy);
        copy[falsified - n_numerators] = 3 * copy[falsified - n_numerators] + 1;
        out->numerators = copy;
    }
    n_numerators += out->count;
    return status;
}

static const char *const specs[] = {
    PAIRS TRAIN,
    VECTORS TRAIN,
    CLASSES TRAIN,
    "{symmetry: gl:2, inputs: [{name: C, as: covariance, log: true, reference: mean},"
    " {name: D, as: covariance, log: true, reference: mean}], target: {name: y, as: scalar},"
    " model: {width: 3, depth: 1}," TRAIN,
    "{symmetry: o:3, inputs: [{name: C, as: covariance, log: true}], target: {name: y, as: scalar},"
    " model: {width: 3, depth: 1}," TRAIN,
    "{symmetry: lorentz, inputs: [{name: p, as: fourvector}], target: {name: y, as: scalar},"
    " model: {width: 3, depth: 1}," TRAIN,
    "{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},"
    " model: {kind: vector-neurons, width: 3, depth: 1}," TRAIN,
    "{symmetry: sl:3, inputs: [{name: e, as: element}], target: {name: y, as: scalar},"
    " model: {kind: lie-neurons, width: 3, depth: 1}," TRAIN,
    "{symmetry: sl:2, inputs: [{name: e, as: element}], target: {name: y, as: scalar},"
    " model: {width: 3, depth: 1}," TRAIN,
    "{symmetry: sp:4, inputs: [{name: e, as: element}], target: {name: y, as: scalar},"
    " model: {width: 3, depth: 1}," TRAIN,
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: matrix},"
    " model: {width: 3, depth: 1}," TRAIN,
    SET("so:3", "v, as: vector", "set"),
    SET("o:3", "v, as: vector", "graph"),
    SET("so:3", "v, as: vector", "transformer"),
    SET("lorentz", "p, as: fourvector", "set"),
    SET("lorentz", "p, as: fourvector", "graph"),
    SET("lorentz", "p, as: fourvector", "transformer"),
    SET("gl:2", "X, as: matrix", "set"),
    "{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true}], target: {name: y, as: "
    "vector},"
    " model: {kind: sequence, width: 4, depth: 1}," TRAIN,
};
enum { N_SPECS = sizeof specs / sizeof specs[0] };

static void certify_room(Room *r, RelnCertificate *out)
{
    RelnModel *model;

    model = room_load(r, RELN_DEFAULT);
    settled = n_numerators = 0;
    certifying = true;
    assert_ok(r->world.ctx, reln_certify(model, out));
    certifying = false;
    reln_model_destroy(model);
}

static void every_kind_of_model_is_proved(void **state)
{
    (void)state;
    for (int k = 0; k < N_SPECS; k++) {
        RelnCertificate c;
        Room r;

        room_init(&r, specs[k], 16);
        room_train(&r, 1);
        certify_room(&r, &c);
        if (c.verdict != RELN_PROVED)
            print_message("%s\n%s\n", specs[k], c.reason);
        assert_int_equal(c.verdict, RELN_PROVED);
        assert_true(c.n_lines > 10 && c.n_inexact == 0 && c.reason[0] == '\0');
        for (int i = 0; i < c.n_lines; i++)
            assert_true(c.lines[i].proved && c.lines[i].rule[0]);
        reln_certificate_clear(&c);
        room_clear(&r);
    }
}

/* Falsifies each numerator in turn, of any constant or lift. */
static void a_false_numerator_is_refuted(void **state)
{
    /* one of each way in which the parts of a sample meet */
    static const int chosen[] = {0, 5, 7, 11, 12, 16, 18};

    (void)state;
    for (size_t k = 0; k < sizeof chosen / sizeof chosen[0]; k++) {
        RelnCertificate c;
        Room r;
        int all;

        room_init(&r, specs[chosen[k]], 16);
        room_train(&r, 1);
        certify_room(&r, &c);
        assert_int_equal(c.verdict, RELN_PROVED);
        reln_certificate_clear(&c);
        all = n_numerators;
        assert_true(settled > 0 &&
                    all >= 3); /* a network on vectors alone combines them only by their lengths */
        for (falsified = 0; falsified < all; falsified += 1 + all / 60) {
            certify_room(&r, &c);
            if (c.verdict != RELN_REFUTED)
                print_message("numerator %d of %d\n", falsified, all);
            assert_int_equal(c.verdict, RELN_REFUTED);
            assert_true(c.reason[0] != '\0');
            reln_certificate_clear(&c);
        }
        falsified = -1;
        room_clear(&r);
    }
}

/* If one constant has no known exact map nearby, only this constant is not proved, and the certificate says
 * so. */
static void a_constant_without_fractions_is_named_with_its_residual(void **state)
{
    RelnCertificate c;
    Room r;
    int all;

    (void)state;
    room_init(&r, specs[0], 16);
    room_train(&r, 1);
    certify_room(&r, &c);
    reln_certificate_clear(&c);
    all = settled;
    for (unsettled = 0; unsettled < all; unsettled++) {
        char text[320], want[64];
        int without = 0;

        certify_room(&r, &c);
        assert_int_equal(c.verdict, RELN_PROVED_BUT);
        for (int i = 0; i < c.n_lines; i++)
            without += !c.lines[i].proved;
        assert_true(without > 0);
        assert_int_equal(c.n_inexact, without);
        assert_true(c.residual == LOST_RESIDUAL);
        snprintf(want, sizeof want, "proved but for %d constant%s, residual 3e-13", without,
                 without == 1 ? "" : "s");
        reln_certificate_text(&c, sizeof text, text);
        assert_string_equal(text, want);
        reln_certificate_clear(&c);
    }
    unsettled = -1;
    room_clear(&r);
}

static void what_promises_nothing_has_nothing_to_prove(void **state)
{
    RelnCertificate c;
    char text[320];
    Room r;

    (void)state;
    room_init(&r,
              "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
              " model: {kind: mlp, width: 3, depth: 1}," TRAIN,
              16);
    room_train(&r, 1);
    certify_room(&r, &c);
    assert_int_equal(c.verdict, RELN_NOT_PROMISED);
    reln_certificate_text(&c, sizeof text, text);
    assert_non_null(strstr(text, "promises nothing"));
    reln_certificate_clear(&c);
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_model_is_proved),
        cmocka_unit_test(a_false_numerator_is_refuted),
        cmocka_unit_test(a_constant_without_fractions_is_named_with_its_residual),
        cmocka_unit_test(what_promises_nothing_has_nothing_to_prove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
