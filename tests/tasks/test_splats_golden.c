/* Gaussian-MAE against numbers of the published code (tests/golden/splats.npz): tokenisers, block, whole networks, losses,
 * sampling; and the numbers of parameters at the published size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tasks/splats/splats.h"

enum { MOST = 1 << 15 };
#define GOLDEN_TOLERANCE 1e-10

typedef struct World {
    RelnCtx *ctx;
    RelnArchive *golden;
    RelnSetting s;
    RelnNet net;
} World;

static void open_world(World *w, bool train)
{
    *w = (World){0};
    assert_int_equal(reln_ctx_create(NULL, &w->ctx), RELN_OK);
    assert_ok(w->ctx,
              reln_archive_open(w->ctx, RELN_SOURCE_DIR "/tests/golden/splats.npz", &w->golden));
    assert_ok(w->ctx, reln_setting_init_in(&w->s, w->ctx, "none:3", "gl:3", RELN_F64, 1));
    w->net = (RelnNet){.graph = w->s.graph, .algebra = w->s.algebra, .train = train};
}

static void close_world(World *w)
{
    reln_setting_clear(&w->s);
    reln_archive_destroy(w->golden);
    reln_ctx_destroy(w->ctx);
}

/* The array FOLDER__NAME; NULL when there is none and it may be missing. Caller frees. */
static double *find(World *w, const char *folder, const char *name, ptrdiff_t *count, int *columns)
{
    char full[200];
    const RelnArray *info;
    double *values;
    int i;

    snprintf(full, sizeof full, "%s__%s", folder, name);
    i = reln_archive_find(w->golden, full);
    if (i < 0)
        return NULL;
    info = reln_archive_info(w->golden, i);
    *count = reln_array_count(info);
    *columns = info->rank > 1 ? (int)info->dims[1] : 0;
    values = calloc((size_t)*count + 1, sizeof *values);
    assert_non_null(values);
    assert_ok(w->ctx, info->rank == 0 ? reln_archive_range(w->golden, i, 0, 1, values)
                                      : reln_archive_range(w->golden, i, 0, info->dims[0], values));
    return values;
}

static double *get(World *w, const char *folder, const char *name, ptrdiff_t *count)
{
    int columns;
    double *values = find(w, folder, name, count, &columns);

    if (!values)
        fail_msg("no golden array %s/%s", folder, name);
    return values;
}

/* ---- weights ------------------------------------------------------------------------------------------------------------ */

static void put(World *w, const char *folder, const char *name, const char *ours)
{
    ptrdiff_t count = 0;
    int columns = 0;
    double *values = find(w, folder, name, &count, &columns), *to;
    RelnEntryInfo entry;

    if (!values)
        return;
    if (!reln_store_find(w->s.store, ours, &entry))
        fail_msg("no parameter %s", ours);
    assert_int_equal(entry.count, count);
    to = entry.values;
    for (ptrdiff_t i = 0; i < count; i++) /* theirs (out, in), ours (in, out) */
        to[columns > 1 && entry.dims.r > 1 ? i % columns * (count / columns) + i / columns : i] =
            values[i];
    free(values);
}

/* "PREFIXa_weight" and "_bias" to "OURS.W" and ".b", or of a norm to ".gamma" and ".beta". */
static void put_layer(World *w, const char *folder, const char *theirs, const char *ours, bool norm)
{
    char a[200], b[200];

    for (int bias = 0; bias < 2; bias++) {
        snprintf(a, sizeof a, "w_%s_%s", theirs, bias ? "bias" : "weight");
        snprintf(b, sizeof b, "%s.%s", ours, norm ? (bias ? "beta" : "gamma") : (bias ? "b" : "W"));
        put(w, folder, a, b);
    }
    for (int var = 0; var < 2 && norm; var++) {
        snprintf(a, sizeof a, "w_%s_running_%s_init", theirs, var ? "var" : "mean");
        snprintf(b, sizeof b, "%s.%s", ours, var ? "var" : "mean");
        put(w, folder, a, b);
    }
}

static void put_tokeniser(World *w, const char *folder, const char *prefix)
{
    static const char *const layers[][2] = {
        {"first_conv_0", "tok.a"},  {"first_conv_1", "tok.an"},  {"first_conv_3", "tok.b"},
        {"second_conv_0", "tok.c"}, {"second_conv_1", "tok.cn"}, {"second_conv_3", "tok.d"}};
    char name[200];

    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, layers[i][0]);
        put_layer(w, folder, name, layers[i][1], i % 3 == 1);
    }
    snprintf(name, sizeof name, "w_%sn3_agg_learnable_temp", prefix);
    put(w, folder, name, "tok.temperature.a");
    snprintf(name, sizeof name, "w_%sn3_agg_log_temp_bias", prefix);
    put(w, folder, name, "tok.temperature.b");
}

static void put_block(World *w, const char *folder, const char *prefix, const char *ours)
{
    static const char *const layers[][2] = {{"norm1", "n1"},     {"norm2", "n2"},
                                            {"attn_qkv", "qkv"}, {"attn_proj", "proj"},
                                            {"mlp_fc1", "fc1"},  {"mlp_fc2", "fc2"}};
    char a[200], b[200];

    for (int i = 0; i < 6; i++) {
        snprintf(a, sizeof a, "%s%s", prefix, layers[i][0]);
        snprintf(b, sizeof b, "%s%s", ours, layers[i][1]);
        put_layer(w, folder, a, b, i < 2);
    }
}

static void put_blocks(World *w, const char *folder, const char *prefix, const char *ours)
{
    char a[200], b[200];

    for (int i = 0; i < 2; i++) {
        snprintf(a, sizeof a, "%s_%d_", prefix, i);
        snprintf(b, sizeof b, "%s%d.", ours, i);
        put_block(w, folder, a, b);
    }
}

/* ---- running -------------------------------------------------------------------------------------------------------------- */

static void bind(World *w, RelnPlan *plan, const char *input, const double *values, size_t count)
{
    assert_ok(w->ctx, reln_plan_bind_sized(plan, input, values, RELN_F64, count));
}

static void expect(World *w, RelnPlan *plan, const char *output, const char *folder,
                   const char *name)
{
    ptrdiff_t count = 0;
    double *want = get(w, folder, name, &count);

    assert_near(reln_plan_output(plan, output, NULL), want, count, GOLDEN_TOLERANCE);
    free(want);
}

/* Centres are stored with all attributes; networks read positions. */
static double *get_centres(World *w, const char *folder, ptrdiff_t *count)
{
    double *values = get(w, folder, "center", count);

    *count = *count / RELN_SPLAT * 3;
    for (ptrdiff_t i = 0; i < *count; i++)
        values[i] = values[i / 3 * RELN_SPLAT + i % 3];
    return values;
}

static const SplatsNet small = {.kind = SPLATS_BASELINE,
                                .groups = 8,
                                .members = 8,
                                .masked = 4,
                                .classes = 10,
                                .slots = 8,
                                .width = 12,
                                .depth = 2,
                                .decoder = 2,
                                .heads = 3,
                                .token = {6, 12, 24},
                                .embed = 6,
                                .head = 12};

static void check_tokeniser(bool soft, bool train)
{
    const char *folder = soft ? "tok_soft" : "tok_hard";
    SplatsNet m = small;
    World w;
    RelnNode *x, *y, *r, *gx[1];
    RelnPlan *plan = NULL;
    ptrdiff_t n_x = 0, n_r = 0;
    double *vx, *vr;

    open_world(&w, train);
    m.soft = soft;
    x = reln_input(w.s.graph, "x", RELN_SAMPLES, (RelnDims){.p = 3, .q = soft ? 10 : 5, .c = 14},
                   NULL, RELN_F64);
    y = splats_tokens(&w.net, &m, x);
    reln_output(w.s.graph, "y", y);
    if (train) {
        r = reln_input(w.s.graph, "r", RELN_SAMPLES, (RelnDims){.p = 3, .c = 12}, NULL, RELN_F64);
        RelnNode *cost = reln_sum_all(w.s.graph, reln_mul(w.s.graph, r, y));

        assert_true(reln_grad(w.s.graph, cost, 1, &x, gx));
        reln_output(w.s.graph, "gx", gx[0]);
    }
    assert_ok(w.ctx, reln_plan_create(w.s.graph, NULL, &plan));
    put_tokeniser(&w, folder, "");
    vx = get(&w, folder, "x", &n_x);
    vr = get(&w, folder, "r", &n_r);
    bind(&w, plan, "x", vx, (size_t)n_x);
    if (train)
        bind(&w, plan, "r", vr, (size_t)n_r);
    else /* statistics after one call in training */
        for (int i = 0; i < 2; i++) {
            put(&w, folder,
                i ? "w_second_conv_1_running_mean_after" : "w_first_conv_1_running_mean_after",
                i ? "tok.cn.mean" : "tok.an.mean");
            put(&w, folder,
                i ? "w_second_conv_1_running_var_after" : "w_first_conv_1_running_var_after",
                i ? "tok.cn.var" : "tok.an.var");
        }
    assert_ok(w.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 2}));
    expect(&w, plan, "y", folder, train ? "train_y" : "eval_y");
    if (train) {
        RelnEntryInfo entry;
        ptrdiff_t count = 0;
        double *var = get(&w, folder, "w_second_conv_1_running_var_after", &count);

        expect(&w, plan, "gx", folder, "train_grad_x");
        assert_true(reln_store_find(w.s.store, "tok.cn.var", &entry));
        assert_near(entry.values, var, count, GOLDEN_TOLERANCE);
        free(var);
    }
    free(vx);
    free(vr);
    reln_plan_destroy(plan);
    close_world(&w);
}

static void tokenisers_are_the_published_ones(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check_tokeniser(i & 1, i & 2);
}

static void a_block_is_the_published_one(void **state)
{
    World w;
    RelnNode *x, *r, *y, *gx[1];
    RelnPlan *plan = NULL;
    ptrdiff_t n = 0;
    double *vx, *vr;

    (void)state;
    open_world(&w, true);
    x = reln_input(w.s.graph, "x", RELN_SAMPLES, (RelnDims){.p = 7, .c = 12}, NULL, RELN_F64);
    r = reln_input(w.s.graph, "r", RELN_SAMPLES, (RelnDims){.p = 7, .c = 12}, NULL, RELN_F64);
    y = splats_block(&w.net, &small, x, 0, false, NULL);
    reln_output(w.s.graph, "y", y);
    assert_true(
        reln_grad(w.s.graph, reln_sum_all(w.s.graph, reln_mul(w.s.graph, r, y)), 1, &x, gx));
    reln_output(w.s.graph, "gx", gx[0]);
    assert_ok(w.ctx, reln_plan_create(w.s.graph, NULL, &plan));
    put_block(&w, "block", "", "");
    vx = get(&w, "block", "x", &n);
    vr = get(&w, "block", "r", &n);
    bind(&w, plan, "x", vx, (size_t)n);
    bind(&w, plan, "r", vr, (size_t)n);
    assert_ok(w.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 2}));
    expect(&w, plan, "y", "block", "y");
    expect(&w, plan, "gx", "block", "grad_x");
    free(vx);
    free(vr);
    reln_plan_destroy(plan);
    close_world(&w);
}

/* ---- whole networks ----------------------------------------------------------------------------------------------------- */

static void check_pretraining(bool soft)
{
    static const char *const heads[][2] = {{"increase_dim_0", "xyz"},
                                           {"opacity_head_0", "opacity"},
                                           {"scale_head_0", "scale"},
                                           {"rotation_head_0", "rotation"},
                                           {"sh_head_0", "colour"}};
    static const char *const losses[] = {"train_loss_cd", "train_loss_density", "train_loss_scale",
                                         "train_loss_rotation", "train_loss_sh"};
    const char *folder = soft ? "mae_soft_norm5" : "mae_hard_normxyz";
    SplatsNet m = small;
    SplatsParts parts;
    SplatsGuess guess;
    World w;
    RelnPlan *plan = NULL;
    ptrdiff_t n_x = 0, n_c = 0, n_mask = 0;
    double *x, *c, *mask;
    int32_t visible[8], hidden[8], *v = visible, *h = hidden;

    open_world(&w, true);
    m.soft = m.all = soft;
    m.members = soft ? 10 : 8;
    guess = splats_baseline_guess(&w.net, &m, &parts);
    reln_output(w.s.graph, "tokens", parts.tokens.s);
    reln_output(w.s.graph, "seen", parts.visible.s);
    reln_output(w.s.graph, "rebuilt", parts.rebuilt.s);
    for (int i = 0; i < 5; i++)
        reln_output(w.s.graph, losses[i], reln_batch_mean(w.s.graph, guess.losses[i]));
    reln_output(w.s.graph, "total", reln_batch_mean(w.s.graph, guess.total));
    assert_ok(w.ctx, reln_plan_create(w.s.graph, NULL, &plan));
    put_tokeniser(&w, folder, "MAE_encoder_encoder_");
    put_blocks(&w, folder, "MAE_encoder_blocks_blocks", "enc");
    put_blocks(&w, folder, "MAE_decoder_blocks", "dec");
    put_layer(&w, folder, "MAE_encoder_norm", "norm", true);
    put_layer(&w, folder, "MAE_decoder_norm", "dnorm", true);
    put_layer(&w, folder, "MAE_encoder_pos_embed_0", "pos.a", false);
    put_layer(&w, folder, "MAE_encoder_pos_embed_2", "pos.b", false);
    put_layer(&w, folder, "decoder_pos_embed_0", "dpos.a", false);
    put_layer(&w, folder, "decoder_pos_embed_2", "dpos.b", false);
    put(&w, folder, "w_mask_token", "mask.token");
    for (int i = 0; i < 5; i++)
        put_layer(&w, folder, heads[i][0], heads[i][1], false);
    x = get(&w, folder, "neighborhood", &n_x);
    c = get_centres(&w, folder, &n_c);
    mask = get(&w, folder, "mask", &n_mask);
    for (int i = 0; i < n_mask; i++)
        *(mask[i] != 0 ? h++ : v++) = i % 8;
    bind(&w, plan, "x", x, (size_t)n_x);
    bind(&w, plan, "c", c, (size_t)n_c);
    assert_ok(w.ctx, reln_plan_bind_sized(plan, "visible", visible, RELN_I32, 8));
    assert_ok(w.ctx, reln_plan_bind_sized(plan, "hidden", hidden, RELN_I32, 8));
    assert_ok(w.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 2}));
    expect(&w, plan, "tokens", folder, "train_tokens");
    expect(&w, plan, "seen", folder, "train_x_vis");
    expect(&w, plan, "rebuilt", folder, "train_x_rec");
    for (int i = 0; i < 5; i++)
        expect(&w, plan, losses[i], folder, losses[i]);
    expect(&w, plan, "total", folder, "train_loss_total");
    free(x);
    free(c);
    free(mask);
    reln_plan_destroy(plan);
    close_world(&w);
}

static void pretraining_with_soft_tokens_is_the_published_one(void **state)
{
    (void)state;
    check_pretraining(true);
}

static void pretraining_with_hard_tokens_is_the_published_one(void **state)
{
    (void)state;
    check_pretraining(false);
}

static void the_classifier_is_the_published_one(void **state)
{
    World w;
    SplatsParts parts;
    RelnPlan *plan = NULL;
    SplatsNet m = small;
    ptrdiff_t n_x = 0, n_c = 0, rows = 0;
    double *x, *c, *label;
    RelnEntryInfo entry;

    (void)state;
    open_world(&w, true);
    label = get(&w, "classifier", "w_cls_head_finetune_0_bias", &rows);
    m.head = (int)rows;
    free(label);
    reln_output(w.s.graph, "logits", splats_baseline_logits(&w.net, &m, &parts));
    reln_output(w.s.graph, "features", parts.features);
    assert_ok(w.ctx, reln_plan_create(w.s.graph, NULL, &plan));
    assert_true(reln_store_find(w.s.store, "head.a.W", &entry));
    put_tokeniser(&w, "classifier", "encoder_");
    put_blocks(&w, "classifier", "blocks_blocks", "enc");
    put_layer(&w, "classifier", "norm", "norm", true);
    put_layer(&w, "classifier", "pos_embed_0", "pos.a", false);
    put_layer(&w, "classifier", "pos_embed_2", "pos.b", false);
    put(&w, "classifier", "w_cls_token", "class.token");
    put(&w, "classifier", "w_cls_pos", "class.position");
    put_layer(&w, "classifier", "cls_head_finetune_0", "head.a", false);
    put_layer(&w, "classifier", "cls_head_finetune_1", "head.an", true);
    put_layer(&w, "classifier", "cls_head_finetune_4", "head.b", false);
    put_layer(&w, "classifier", "cls_head_finetune_5", "head.bn", true);
    put_layer(&w, "classifier", "cls_head_finetune_8", "head.c", false);
    x = get(&w, "classifier", "neighborhood", &n_x);
    c = get_centres(&w, "classifier", &n_c);
    bind(&w, plan, "x", x, (size_t)n_x);
    bind(&w, plan, "c", c, (size_t)n_c);
    assert_ok(w.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 4}));
    expect(&w, plan, "features", "classifier", "train_head_in");
    expect(&w, plan, "logits", "classifier", "train_logits");
    free(x);
    free(c);
    reln_plan_destroy(plan);
    close_world(&w);
}

/* ---- distances and sampling ----------------------------------------------------------------------------------------------- */

static void chamfer_distances_are_the_published_ones(void **state)
{
    (void)state;
    for (int unequal = 0; unequal < 2; unequal++) {
        World w;
        RelnPlan *plan = NULL;
        ptrdiff_t n = 0;
        double *a, *b, *loss;
        RelnNode *x, *y;

        open_world(&w, false);
        x = reln_input(w.s.graph, "x", RELN_SAMPLES,
                       (RelnDims){.p = 3, .q = unequal ? 4 : 6, .c = 3}, NULL, RELN_F64);
        y = reln_input(w.s.graph, "y", RELN_SAMPLES,
                       (RelnDims){.p = 3, .q = unequal ? 7 : 6, .c = 3}, NULL, RELN_F64);
        reln_output(w.s.graph, "d", splats_chamfer(&w.net, x, y));
        assert_ok(w.ctx, reln_plan_create(w.s.graph, NULL, &plan));
        a = get(&w, "chamfer", unequal ? "unequal_x" : "equal_x", &n);
        bind(&w, plan, "x", a, (size_t)n);
        b = get(&w, "chamfer", unequal ? "unequal_y" : "equal_y", &n);
        bind(&w, plan, "y", b, (size_t)n);
        assert_ok(w.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
        loss = get(&w, "chamfer", unequal ? "unequal_loss" : "equal_loss", &n);
        assert_near(reln_plan_output(plan, "d", NULL), loss, 1, GOLDEN_TOLERANCE);
        free(a);
        free(b);
        free(loss);
        reln_plan_destroy(plan);
        close_world(&w);
    }
}

static void sampling_by_the_published_rule_gives_the_published_indices(void **state)
{
    static const char *const sets[] = {"a128", "b128_origin_first", "c1024_ties"};
    static double room[RELN_POINTS_ROOM(1024)];
    World w;

    (void)state;
    open_world(&w, false);
    for (int s = 0; s < 3; s++) {
        char name[64];
        ptrdiff_t n = 0, n_centres = 0, n_near = 0;
        double *points, *centres, *near;
        int32_t c[16], m[16 * 6];

        snprintf(name, sizeof name, "%s_points", sets[s]);
        points = get(&w, "fps_knn", name, &n);
        snprintf(name, sizeof name, "%s_centres", sets[s]);
        centres = get(&w, "fps_knn", name, &n_centres);
        snprintf(name, sizeof name, "%s_knn_idx", sets[s]);
        near = get(&w, "fps_knn", name, &n_near);
        reln_points_group(n / 3, points, 3, (int)n_centres, 6, &(RelnGroupRule){.published = true},
                          room, c, m);
        for (int i = 0; i < n_centres; i++)
            assert_int_equal(c[i], (int)centres[i]);
        for (int i = 0; i < n_near; i++)
            assert_int_equal(m[i], (int)near[i]);
        free(points);
        free(centres);
        free(near);
    }
    close_world(&w);
}

/* Attributes as the code reads and normalises them: its `read` is in single precision. */
static void attributes_are_normalised_as_published(void **state)
{
    World w;
    ptrdiff_t n = 0;
    double *rows, *want, size;

    (void)state;
    open_world(&w, false);
    rows = get(&w, "normalise", "read", &n);
    want = get(&w, "normalise", "all5_y", &n);
    size = reln_points_normalise(40, rows, RELN_SPLAT);
    for (int i = 0; i < 40; i++)
        for (int a = 0; a < 3; a++)
            rows[i * RELN_SPLAT + RELN_SPLAT_SCALE + a] /= size;
    splats_normalise(40, rows, true);
    assert_near(rows, want, n, 1e-6);
    free(rows);
    free(want);
    close_world(&w);
}

/* ---- the published size ----------------------------------------------------------------------------------------------------- */

/* Parameters with one block of either kind. */
static size_t parameters(bool soft, int classes)
{
    const SplatsNet m = {.kind = SPLATS_BASELINE,
                         .groups = 64,
                         .members = soft ? 40 : 32,
                         .masked = 38,
                         .classes = classes,
                         .slots = 32,
                         .width = 384,
                         .depth = 1,
                         .decoder = 1,
                         .heads = 6,
                         .token = {128, 256, 512},
                         .embed = 128,
                         .head = 256,
                         .soft = soft};
    World w;
    size_t n;

    open_world(&w, true);
    if (classes > 0)
        assert_non_null(splats_baseline_logits(&w.net, &m, NULL));
    else
        assert_non_null(splats_baseline_guess(&w.net, &m, NULL).total);
    n = reln_store_parameters(w.s.store);
    close_world(&w);
    return n;
}

/* Networks have 12 blocks, and 4 in the decoder, of 1,773,312 each; one of either kind is built here. The soft tokeniser of
 * the code has one more parameter, which nothing uses. */
static void networks_of_the_published_size_have_the_published_parameters(void **state)
{
    enum { BLOCK = 1773312 };

    (void)state;
    assert_int_equal(parameters(false, 0) + (11 + 3) * BLOCK, 29143360);
    assert_int_equal(parameters(true, 0) + (11 + 3) * BLOCK, 28831233 - 1);
    assert_int_equal(parameters(false, 10) + 11 * BLOCK, 22093450);
    assert_int_equal(parameters(true, 10) + 11 * BLOCK, 21781323 - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokenisers_are_the_published_ones),
        cmocka_unit_test(a_block_is_the_published_one),
        cmocka_unit_test(pretraining_with_soft_tokens_is_the_published_one),
        cmocka_unit_test(pretraining_with_hard_tokens_is_the_published_one),
        cmocka_unit_test(the_classifier_is_the_published_one),
        cmocka_unit_test(chamfer_distances_are_the_published_ones),
        cmocka_unit_test(sampling_by_the_published_rule_gives_the_published_indices),
        cmocka_unit_test(attributes_are_normalised_as_published),
        cmocka_unit_test(networks_of_the_published_size_have_the_published_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
