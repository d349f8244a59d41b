/* Tests networks on the smallest closed algebra: they are equivariant, equal to networks on all matrices, and
 * cheaper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reln/lift.h"
#include "support/support.h"
#include "tensor/linalg.h"

enum { S = 50, P = 3, C = 4, MAX_N = 5, MAX_K = 25, MAX_RAW = 9 };

/* A kind of data: `raw` numbers, lifted to matrices of size n by the images of unit data. */
typedef struct Kind {
    const char *symmetry, *all; /* all matrices of the size */
    int n, raw, dim;            /* dimension of the closed span */
    unsigned layers;
    bool boosts;
    void (*lift)(RelnCtx *ctx, double *images);
} Kind;

static void four_vectors(RelnCtx *ctx, double *images)
{
    double unit[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

    assert_ok(ctx, reln_lift_embed(ctx, 4, reln_metric_mostly_plus, 4, unit, images));
}

static void vectors_by_hat(RelnCtx *ctx, double *images)
{
    double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

    assert_ok(ctx, reln_lift_hat(ctx, 3, unit, images));
}

/* Reflections keep them as vectors: o:3 on so(4). */
static void vectors_embedded(RelnCtx *ctx, double *images)
{
    double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

    assert_ok(ctx, reln_lift_embed(ctx, 3, NULL, 3, unit, images));
}

/* Traceless ones: sl(3) of gl(3). */
static void covariances(RelnCtx *ctx, double *images)
{
    static const int place[5][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 0}, {1, 1}};

    (void)ctx;
    memset(images, 0, (size_t)(5 * 9) * sizeof *images);
    for (int i = 0; i < 5; i++) {
        images[i * 9 + place[i][0] * 3 + place[i][1]] = 1;
        images[i * 9 + place[i][1] * 3 + place[i][0]] = 1;
        images[i * 9 + 8] = i < 3 ? 0 : -1;
    }
}

static const Kind kinds[] = {
    {"lorentz", "gl:5", 5, 4, 10, RELN_CLOSED_BRACKET, true, four_vectors},
    {"o:1,3", "gl:5", 5, 4, 10, RELN_CLOSED_TRIPLE, true, four_vectors},
    {"so:3", "gl:3", 3, 3, 3, RELN_CLOSED_BRACKET, false, vectors_by_hat},
    {"o:3", "gl:4", 4, 3, 6, RELN_CLOSED_BRACKET, false, vectors_embedded},
    {"o:3", "gl:3", 3, 5, 8, RELN_CLOSED_BRACKET, false, covariances},
    {"so:3", "gl:3", 3, 3, 9, RELN_CLOSED_PRODUCT, false, vectors_by_hat},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

typedef struct World {
    const Kind *kind;
    RelnSetting s;
    RelnRepForm form;
    double gram[MAX_K * MAX_K], map[MAX_K * MAX_RAW]; /* (K, raw): coordinates of lifted data */
    int k;
    RelnPlan *plan;
} World;

/* Builds linear layers, gates, brackets and other layers that stay in the algebra; not attention and softmax
 * pooling, whose scores are divided by the root of K. */
static void build(World *w)
{
    const RelnNet net = {.graph = w->s.graph,
                         .algebra = w->s.algebra,
                         .train = true,
                         .forms = &w->form,
                         .n_forms = 1};
    RelnNode *x = reln_input(w->s.graph, "x", RELN_SAMPLES, (RelnDims){.p = P, .k = w->k, .c = 2},
                             w->s.rep, RELN_F64);
    /* eps is given, since the form may be definite on the smaller algebra only, where it would be 0 */
    const RelnProject project = {.delta = 0.1, .clip = 4, .eps = 1e-6};
    RelnNode *y;

    x = reln_nn_linear(&net, "0", x, C);
    x = reln_nn_bracket(&net, "1", reln_nn_rms(&net, "1", x, NULL));
    x = reln_nn_layer_norm(&net, "2", reln_nn_project(&net, "2", x, &project));
    if (w->kind->layers & RELN_CLOSED_PRODUCT)
        x = reln_nn_product(&net, "3", x);
    if (w->kind->layers & RELN_CLOSED_TRIPLE)
        x = reln_nn_triple(&net, "3", x);
    x = reln_nn_batch_norm(&net, "4", reln_nn_bracket(&net, "4", x), RELN_NORM_INVARIANT);
    y = reln_nn_pool_mean(&net, x, RELN_P);
    reln_output(w->s.graph, "matrices", reln_nn_hat(&net, y));
    reln_output(w->s.graph, "features", y);
    reln_output(w->s.graph, "invariants",
                reln_nn_dense(&net, "6", reln_nn_invariant_learned(&net, "5", y, 3), 3));
    assert_ok(w->s.ctx, reln_plan_create(w->s.graph, NULL, &w->plan));
}

/* Opens the network on all matrices, or on the smallest closed algebra. */
static void world_init(World *w, const Kind *kind, bool closed)
{
    double images[MAX_RAW * MAX_N * MAX_N];
    const RelnClosing of = {.count = kind->raw, .matrices = images, .layers = kind->layers};
    RelnAlgebra *all = NULL;
    RelnCtx *ctx = NULL;

    *w = (World){.kind = kind};
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    kind->lift(ctx, images);
    assert_ok(ctx,
              closed
                  ? reln_setting_init_closed(&w->s, ctx, kind->symmetry, kind->n, &of, RELN_F64, 3)
                  : reln_setting_init_in(&w->s, ctx, kind->symmetry, kind->all, RELN_F64, 3));
    w->k = reln_rep_dim(w->s.rep);
    assert_ok(ctx, reln_algebra_create(ctx, kind->all, &all));
    assert_ok(ctx, reln_algebra_gram_within(w->s.algebra, all, RELN_FORM_COMPLETED, w->gram));
    reln_algebra_destroy(all);
    w->form = (RelnRepForm){w->s.rep, w->gram};
    for (int j = 0; j < kind->raw; j++) {
        double x[MAX_K];

        assert_true(reln_algebra_vee(w->s.algebra, images + j * kind->n * kind->n, x) < 1e-14);
        for (int i = 0; i < w->k; i++)
            w->map[i * kind->raw + j] = x[i];
    }
    build(w);
}

static void world_clear(World *w)
{
    RelnCtx *ctx = w->s.ctx;

    reln_plan_destroy(w->plan);
    reln_setting_clear(&w->s);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

/* Lifts the data, and moves each sample by rho (K, K) unless it is NULL. */
static void run(World *w, const double *raw, const double *rho)
{
    const int k = w->k, each = P * 2;
    double *x = calloc((size_t)(S * each * k), sizeof *x), lifted[MAX_K];

    assert_non_null(x);
    for (int s = 0; s < S; s++)
        for (int e = 0; e < each; e++) { /* e = p 2 + c */
            reln_mat_mul(k, w->kind->raw, 1, w->map, raw + (s * each + e) * w->kind->raw, lifted);
            for (int i = 0; i < k; i++)
                for (int j = 0; j < k; j++)
                    x[((s * P + e / 2) * k + i) * 2 + e % 2] +=
                        (rho ? rho[(s * k + i) * k + j] : i == j) * lifted[j];
        }
    assert_ok(w->s.ctx, reln_plan_bind(w->plan, "x", x, RELN_F64));
    assert_ok(w->s.ctx, reln_plan_run(w->plan, &(RelnRun){.n_samples = S}));
    free(x);
}

static double *draw_raw(const Kind *kind, uint64_t stream)
{
    RelnRng rng = reln_rng(6, stream);
    double *raw = malloc((size_t)(S * P * 2 * kind->raw) * sizeof *raw);

    assert_non_null(raw);
    fill_normal(&rng, (ptrdiff_t)S * P * 2 * kind->raw, raw);
    return raw;
}

/* Relative error of each sample's numbers. */
static double worst_error(int each, const double *got, const double *want)
{
    double worst = 0;

    for (int s = 0; s < S; s++) {
        double off = 0, size = 0;

        for (int i = s * each; i < (s + 1) * each; i++) {
            off += (got[i] - want[i]) * (got[i] - want[i]);
            size += want[i] * want[i];
        }
        worst = fmax(worst, sqrt(off / size));
    }
    return worst;
}

/* ---- equal to the network on all matrices -------------------------------------------------------------------------- */

static void outputs_are_those_of_the_network_on_all_matrices(void **state)
{
    (void)state;
    for (int i = 0; i < N_KINDS; i++) {
        const int nn = kinds[i].n * kinds[i].n;
        double *raw = draw_raw(&kinds[i], (uint64_t)i);
        RelnCost full, small;
        World w[2];

        for (int closed = 0; closed < 2; closed++) {
            world_init(&w[closed], &kinds[i], closed);
            run(&w[closed], raw, NULL);
        }
        assert_int_equal(w[0].k, nn);
        assert_int_equal(w[1].k, kinds[i].dim);
        assert_true(worst_error(3, reln_plan_output(w[1].plan, "invariants", NULL),
                                reln_plan_output(w[0].plan, "invariants", NULL)) < 1e-12);
        assert_true(worst_error(nn * C, reln_plan_output(w[1].plan, "matrices", NULL),
                                reln_plan_output(w[0].plan, "matrices", NULL)) < 1e-12);
        full = reln_plan_cost(w[0].plan);
        small = reln_plan_cost(w[1].plan);
        if (kinds[i].dim <
            nn) /* mixing channels costs K; invariants and gates do not depend on it */
            assert_true(small.flops_sample < full.flops_sample);
        if (i == 0)
            assert_true(small.flops_sample < 0.5 * full.flops_sample);
        world_clear(&w[0]);
        world_clear(&w[1]);
        free(raw);
    }
}

/* ---- equivariant --------------------------------------------------------------------------------------------------- */

static void move_features(const World *w, const double *rho, const double *y, double *out)
{
    for (int s = 0; s < S; s++)
        reln_mat_mul(w->k, w->k, C, rho + (ptrdiff_t)s * w->k * w->k, y + (ptrdiff_t)s * w->k * C,
                     out + (ptrdiff_t)s * w->k * C);
}

static void networks_on_it_commute_with_the_group(void **state)
{
    static const double conds[] = {1, 10, 100}, allowed[] = {1e-12, 1e-10, 1e-7};

    (void)state;
    for (int i = 0; i < N_KINDS; i++)
        for (int level = 0; level < (kinds[i].boosts ? 3 : 1); level++) {
            double *raw = draw_raw(&kinds[i], (uint64_t)i), *rho, *features, *want;
            RelnRng rng = reln_rng(8, (uint64_t)i);
            double invariants[S * 3];
            World w;

            world_init(&w, &kinds[i], true);
            rho = malloc((size_t)(S * w.k * w.k) * sizeof *rho);
            features = malloc((size_t)(S * w.k * C) * sizeof *features);
            want = malloc((size_t)(S * w.k * C) * sizeof *want);
            assert_true(rho && features && want);
            for (int s = 0; s < S; s++) {
                RelnElement *g = NULL;

                assert_ok(w.s.ctx, reln_group_random(w.s.group, &rng, conds[level], &g));
                assert_ok(w.s.ctx, reln_rep_act(w.s.rep, g, rho + (ptrdiff_t)s * w.k * w.k));
                reln_element_destroy(g);
            }
            run(&w, raw, NULL);
            memcpy(invariants, reln_plan_output(w.plan, "invariants", NULL), sizeof invariants);
            memcpy(features, reln_plan_output(w.plan, "features", NULL),
                   (size_t)(S * w.k * C) * sizeof *features);
            move_features(&w, rho, features, want);
            run(&w, raw, rho);
            assert_small(worst_error(3, reln_plan_output(w.plan, "invariants", NULL), invariants),
                         allowed[level]);
            assert_small(worst_error(w.k * C, reln_plan_output(w.plan, "features", NULL), want),
                         allowed[level]);
            world_clear(&w);
            free(want);
            free(features);
            free(rho);
            free(raw);
        }
}

/* ---- refusals ------------------------------------------------------------------------------------------------------ */

/* A product leads out of the span that brackets close. */
static void layers_that_were_not_asked_for_are_refused(void **state)
{
    double images[4 * 25];
    const RelnClosing of = {.count = 4, .matrices = images};
    RelnSetting s;
    RelnNet net;
    RelnCtx *ctx = NULL;
    RelnNode *x;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    four_vectors(ctx, images);
    assert_ok(ctx, reln_setting_init_closed(&s, ctx, "lorentz", 5, &of, RELN_F64, 1));
    net = (RelnNet){.graph = s.graph, .algebra = s.algebra};
    x = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.k = 10, .c = 2}, s.rep, RELN_F64);
    assert_non_null(reln_nn_bracket(&net, "b", x));
    assert_null(reln_nn_product(&net, "p", x));
    assert_int_equal(reln_graph_status(s.graph), RELN_ERR_ALGEBRA);
    assert_non_null(
        strstr(reln_ctx_error(ctx), "product: closed span of 10 in gl:5 is not closed under it"));
    reln_setting_clear(&s);
    assert_int_equal(reln_setting_init_closed(&s, ctx, "so:7", 5, &of, RELN_F64, 1),
                     RELN_ERR_SHAPE);
    assert_non_null(strstr(reln_ctx_error(ctx), "so:7 of size 7 cannot act"));
    reln_setting_clear(&s);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_those_of_the_network_on_all_matrices),
        cmocka_unit_test(networks_on_it_commute_with_the_group),
        cmocka_unit_test(layers_that_were_not_asked_for_are_refused),
    };

    return cmocka_run_group_tests_name("nn/closed", tests, NULL, NULL);
}
