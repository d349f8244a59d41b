/* Tests the invariant forms of a rep: how many there are, and which one layers use. */
#include <math.h>
#include <string.h>

#include "reln/lift.h"
#include "support/support.h"

typedef struct Room {
    RelnCtx *ctx;
    RelnGroup *group;
} Room;

static Room open_room(const char *group)
{
    Room r = {NULL, NULL};

    assert_int_equal(reln_ctx_create(NULL, &r.ctx), RELN_OK);
    assert_ok(r.ctx, reln_group_create(r.ctx, group, &r.group));
    return r;
}

static void close_room(Room *r)
{
    reln_group_destroy(r->group);
    assert_int_equal(reln_ctx_live_blocks(r->ctx), 0);
    reln_ctx_destroy(r->ctx);
}

/* ---- counting ------------------------------------------------------------------------------------------------------ */

typedef const RelnRep *Make(RelnGroup *group);

static const RelnRep *vectors(RelnGroup *g)
{
    return reln_rep_vector(g);
}

static const RelnRep *matrices(RelnGroup *g)
{
    return reln_rep_matrix(g);
}

static const RelnRep *pair(RelnGroup *g)
{
    return reln_rep_sum(reln_rep_vector(g), reln_rep_vector(g));
}

/* The numbers follow from Schur's lemma: each irreducible part, and each kind of part that occurs m times,
 * has m (m + 1) / 2 and m (m - 1) / 2 forms; complex parts have both kinds. Bivectors of SO+(1,3) are
 * complex: tr F^2 and tr F *F. */
static void forms_are_counted(void **state)
{
    static const struct {
        const char *group;
        Make *make;
        int symmetric, antisymmetric;
    } cases[] = {
        {"so:3", vectors, 1, 0},   {"o:3", vectors, 1, 0},     {"so:2", vectors, 1, 1},
        {"o:2", vectors, 1, 0},    {"lorentz", vectors, 1, 0}, {"o:1,3", vectors, 1, 0},
        {"so:2,2", vectors, 1, 0}, {"sp:4", vectors, 0, 1},    {"gl:3", vectors, 0, 0},
        {"sl:2", vectors, 0, 1},   {"none:2", vectors, 3, 1},  {"gl:3", matrices, 2, 0},
        {"so:3", matrices, 3, 0},  {"su:3", vectors, 1, 1},    {"lorentz", pair, 3, 1},
        {"so:1,1", vectors, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Room r = open_room(cases[i].group);
        const RelnRep *rep = cases[i].make(r.group);
        const int k = reln_rep_dim(rep);
        const RelnForms *f = NULL, *again = NULL;

        assert_ok(r.ctx, reln_rep_forms(rep, &f));
        if (f->symmetric != cases[i].symmetric || f->antisymmetric != cases[i].antisymmetric)
            fail_msg("%s of %s has %d and %d forms, wanted %d and %d", reln_rep_name(rep),
                     cases[i].group, f->symmetric, f->antisymmetric, cases[i].symmetric,
                     cases[i].antisymmetric);
        for (int m = 0; m < f->symmetric + f->antisymmetric; m++) {
            const double sign = m < f->symmetric ? 1 : -1, *b = f->values + (ptrdiff_t)m * k * k;
            const RelnRep *dual = reln_rep_dual(rep);
            RelnVerdict verdict;

            for (int e = 0; e < k * k; e++)
                assert_true(fabs(b[e] - sign * b[e % k * k + e / k]) < 1e-14);
            assert_ok(r.ctx, reln_check_linear(rep, dual, b, &verdict));
            assert_true(verdict.equivariant);
        }
        assert_ok(r.ctx, reln_rep_forms(rep, &again));
        assert_ptr_equal(f, again);
        close_room(&r);
    }
}

/* ---- the one that layers use --------------------------------------------------------------------------------------- */

static void assert_form(const char *group, Make *make, int k, const double *diagonal)
{
    Room r = open_room(group);
    const double *form = NULL;

    assert_ok(r.ctx, reln_rep_form(make(r.group), &form));
    for (int e = 0; e < k * k; e++)
        assert_true(form[e] == (e % (k + 1) == 0 ? diagonal[e % k] : 0.0) &&
                    !(signbit(form[e]) && form[e] == 0));
    close_room(&r);
}

static void a_unique_form_has_a_stated_scale_and_sign(void **state)
{
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

    (void)state;
    assert_form("so:3", vectors, 3, ones);
    assert_form("o:4", vectors, 4, ones);
    assert_form("so:3", matrices, 9, ones);
    assert_form("none:2", vectors, 2, ones);
    assert_form("lorentz", vectors, 4, reln_metric_mostly_plus);
    assert_form("o:1,3", vectors, 4, reln_metric_mostly_plus);
    /* the metric of so:3,1 is diag(-1, -1, -1, 1); its negative has more positive than negative entries */
    assert_form("so:3,1", vectors, 4, (double[]){1, 1, 1, -1});
    assert_form("so:1,1", vectors, 2, (double[]){1, -1});
    assert_form("so:2,3", vectors, 5, (double[]){-1, -1, 1, 1, 1});
}

/* In a frame S of condition 3 the form is S^-T eta S^-1, up to the scale and to the error of the frame. */
static void a_form_follows_its_frame(void **state)
{
    static const double s[4] = {2, 1, 0, 1}, inverse[4] = {0.5, -0.5, 0, 1};
    double boost[4] = {0, 1, 1, 0}, moved[4], want[4], largest = 0;
    const double *form = NULL;
    RelnGroup *g = NULL;
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            moved[i * 2 + j] = 0;
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    moved[i * 2 + j] += s[i * 2 + a] * boost[a * 2 + b] * inverse[b * 2 + j];
            want[i * 2 + j] = inverse[i] * inverse[j] - inverse[2 + i] * inverse[2 + j];
            largest = fmax(largest, fabs(want[i * 2 + j]));
        }
    assert_ok(ctx, reln_group_from_matrices(ctx, "frame", 2, 1, moved, 0, NULL, &g));
    assert_ok(ctx, reln_rep_form(reln_rep_vector(g), &form));
    for (int e = 0; e < 4; e++)
        assert_true(fabs(form[e] - want[e] / largest) < 1e-15);
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
}

static void assert_refused(RelnCtx *ctx, const RelnRep *rep, const char *words)
{
    const double *form = NULL;

    assert_int_equal(reln_rep_form(rep, &form), RELN_ERR_REP);
    assert_null(form);
    if (!strstr(reln_ctx_error(ctx), words))
        fail_msg("\"%s\" has no \"%s\"", reln_ctx_error(ctx), words);
}

static void none_several_and_degenerate_forms_are_refused(void **state)
{
    static const double shear[4] = {0, 1, 0, 0};
    Room r = open_room("gl:3");
    RelnGroup *g = NULL;

    (void)state;
    assert_refused(r.ctx, reln_rep_vector(r.group),
                   "vector of gl:3 has 0 symmetric invariant forms (and 0 antisymmetric)");
    assert_refused(r.ctx, reln_rep_matrix(r.group), "of gl:3 has 2 symmetric invariant forms");
    close_room(&r);
    r = open_room("sp:4");
    assert_refused(r.ctx, reln_rep_vector(r.group),
                   "vector of sp:4 has 0 symmetric invariant forms (and 1 antisymmetric)");
    close_room(&r);
    r = open_room("lorentz");
    assert_refused(r.ctx, pair(r.group), "of lorentz has 3 symmetric invariant forms");
    assert_ok(r.ctx,
              reln_group_embed(
                  r.group, 5,
                  &g)); /* diag(g, 1) has two forms: p.p, and the square of the last coordinate */
    assert_refused(r.ctx, reln_rep_vector(g), "has 2 symmetric invariant forms");
    reln_group_destroy(g);
    /* only x2^2 is invariant under (x1, x2) -> (x1 + a x2, x2) */
    assert_ok(r.ctx, reln_group_from_matrices(r.ctx, "shear", 2, 1, shear, 0, NULL, &g));
    assert_refused(r.ctx, reln_rep_vector(g),
                   "vector of shear has 1 symmetric invariant form up to a factor, and that is "
                   "degenerate: of rank 1, with 2 coordinates");
    reln_group_destroy(g);
    close_room(&r);
}

static RelnStatus forms_in(RelnCtx *ctx)
{
    const double *form = NULL;
    const RelnForms *forms = NULL;
    RelnGroup *g = NULL;
    RelnStatus status = reln_group_create(ctx, "so:1,2", &g);
    const RelnRep *v = status == RELN_OK ? reln_rep_vector(g) : NULL;
    const RelnRep *both = v ? reln_rep_sum(v, v) : NULL;

    if (status == RELN_OK)
        status = both ? reln_rep_form(v, &form) : RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = reln_rep_forms(both, &forms);
    reln_group_destroy(g);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(forms_in) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_counted),
        cmocka_unit_test(a_unique_form_has_a_stated_scale_and_sign),
        cmocka_unit_test(a_form_follows_its_frame),
        cmocka_unit_test(none_several_and_degenerate_forms_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("rep/form", tests, NULL, NULL);
}
