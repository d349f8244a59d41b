/* LorentzNet as the task builds it against arrays that the published code computed: features and momenta after each
 * block, logits, gradients of every weight and input, running statistics; with momenta of which no component of a move
 * is cut off, and with a hundred times these, where most are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/golden.h"
#include "support/support.h"
#include "tasks/jets/jets.h"

enum {
    JETS = 3,
    NODES = 11,
    H = 8,
    BLOCKS = 3,
    WEIGHTS = 1717,
    STATES = 12 * H,
    ROWS = JETS * NODES
};

#define TOLERANCE                                                                                  \
    1e-10 /* of the largest number of an array; 34 layers of doubles summed in another order */

/* Parameters in the order of the array "weights"; "%d" is the block. Those of moves are missing in the last block. */
static const char *const of_block[] = {
    "Wi", "Wj", "Wp", "norm.gamma", "norm.beta", "Wm", "bm",          "Wg",         "bg", "Wx",
    "bx", "Wf", "Wh", "Ws",         "Wn",        "bh", "normh.gamma", "normh.beta", "Wo", "bo"};
enum { OF_BLOCK = sizeof of_block / sizeof of_block[0], MOST = 80 };

typedef struct Net {
    RelnSetting s;
    RelnPlan *plan;
    char names[MOST][32];
    int n;
    bool train;
    const char *folder;
} Net;

static double *load(const Net *n, const char *name, ptrdiff_t want)
{
    ptrdiff_t dims[4], count = 1;
    double *values = NULL;
    char path[64];
    int rank;

    snprintf(path, sizeof path, "%s/%s", n->folder, name);
    if (!golden_load(path, 4, dims, &rank, &values)) { /* weights and masks are the same for both */
        snprintf(path, sizeof path, "jets/%s", name);
        assert_true(golden_load(path, 4, dims, &rank, &values));
    }
    for (int i = 0; i < rank; i++)
        count *= dims[i];
    assert_int_equal(count, want);
    return values;
}

static double *load_mode(const Net *n, const char *name, ptrdiff_t want)
{
    char full[48];

    snprintf(full, sizeof full, "%s_%s", n->train ? "train" : "eval", name);
    return load(n, full, want);
}

static double largest(const double *x, ptrdiff_t n)
{
    double most = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static void agrees(const char *what, const double *have, const double *want, ptrdiff_t n,
                   double most)
{
    double off = 0;

    assert_non_null(have);
    for (ptrdiff_t i = 0; i < n; i++)
        off = fmax(off, fabs(have[i] - want[i]));
    if (!(off <= TOLERANCE * most))
        fail_msg("%s: off by %g of %g", what, off, most);
}

static void output_agrees(const Net *n, const char *output, const char *array, ptrdiff_t count)
{
    double *want = load_mode(n, array, count);

    agrees(array, reln_plan_output(n->plan, output, NULL), want, count, largest(want, count));
    free(want);
}

static void list_names(Net *n)
{
    static const char *const last[] = {"decoder0.W", "decoder0.b", "decoder1.W", "decoder1.b"};

    snprintf(n->names[n->n++], 32, "embedding.W");
    snprintf(n->names[n->n++], 32, "embedding.b");
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < OF_BLOCK; i++) {
            const char *name = of_block[i];

            if (b + 1 < BLOCKS ||
                (strcmp(name, "Wx") != 0 && strcmp(name, "bx") != 0 && strcmp(name, "Wf") != 0))
                snprintf(n->names[n->n++], 32, "block%d.%s", b, name);
        }
    for (int i = 0; i < 4; i++)
        snprintf(n->names[n->n++], 32, "%s", last[i]);
}

static RelnEntryInfo entry_of(const Net *n, const char *name)
{
    RelnEntryInfo entry = {0};

    if (!reln_store_find(n->s.store, name, &entry))
        fail_msg("no entry %s", name);
    return entry;
}

static void build(Net *n, bool train, const char *folder, double clamp)
{
    const JetsModel model = {.kind = JETS_MESSAGES,
                             .scale = 1,
                             .step = 0.005,
                             .clamp = clamp,
                             .width = H,
                             .blocks = BLOCKS,
                             .padded = NODES,
                             .shown = true};
    RelnNode *xs[MOST + 2], *gs[MOST + 2], *logits, *loss, *label;
    RelnNet net;

    memset(n, 0, sizeof *n);
    n->train = train;
    n->folder = folder;
    assert_ok(n->s.ctx, reln_setting_init(&n->s, jets_symmetry(&model), "gl:4", RELN_F64, 3));
    net = (RelnNet){.graph = n->s.graph, .algebra = n->s.algebra, .train = train};
    logits = jets_network(&net, &model);
    reln_output(n->s.graph, "logits", logits);
    label = reln_input_index(n->s.graph, "label", RELN_SAMPLES, (RelnDims){0}, RELN_STEP, 2);
    loss = reln_batch_mean(n->s.graph, reln_cross_entropy(n->s.graph, logits, label));
    reln_output(n->s.graph, "loss", loss);
    list_names(n);
    xs[0] = reln_graph_find(n->s.graph, "p");
    xs[1] = reln_graph_find(n->s.graph, "scalars");
    for (int i = 0; i < n->n; i++)
        xs[i + 2] = reln_graph_find(n->s.graph, n->names[i]);
    assert_true(reln_grad(n->s.graph, loss, n->n + 2, xs, gs));
    for (int i = 0; i < n->n + 2; i++) {
        char name[16];

        snprintf(name, sizeof name, "g%d", i);
        reln_output(n->s.graph, name, gs[i]);
    }
}

/* Copy arrays of the store from, or compare them with, one long array. */
static void set_entries(Net *n)
{
    static const char *const norms[] = {"norm", "normh"}, *const parts[] = {"mean", "var"};
    double *w = load(n, "weights", WEIGHTS),
           *states = load(n, n->train ? "states_before" : "states_after", STATES);
    ptrdiff_t at = 0;

    for (int i = 0; i < n->n; i++) {
        const RelnEntryInfo e = entry_of(n, n->names[i]);

        memcpy(e.values, w + at, e.count * sizeof *w);
        at += (ptrdiff_t)e.count;
    }
    assert_int_equal(at, WEIGHTS);
    assert_int_equal(reln_store_parameters(n->s.store), WEIGHTS);
    for (int i = 0; i < 12; i++) {
        char name[32];

        snprintf(name, sizeof name, "block%d.%s.%s", i / 4, norms[i / 2 % 2], parts[i % 2]);
        memcpy(entry_of(n, name).values, states + (ptrdiff_t)i * H, H * sizeof *states);
    }
    free(w);
    free(states);
}

static void states_agree(const Net *n)
{
    static const char *const norms[] = {"norm", "normh"}, *const parts[] = {"mean", "var"};
    double *after = load(n, "states_after", STATES);

    for (int i = 0; i < 12; i++) {
        char name[32];

        snprintf(name, sizeof name, "block%d.%s.%s", i / 4, norms[i / 2 % 2], parts[i % 2]);
        agrees(name, entry_of(n, name).values, after + (ptrdiff_t)i * H, H,
               largest(after + (ptrdiff_t)i * H, H));
    }
    free(after);
}

static void run(Net *n)
{
    static const int32_t counts[JETS] = {NODES, NODES, NODES};
    double *p = load(n, "Pmu", ROWS * 4), *s = load(n, "node_scalars", ROWS * 2),
           *mask = load(n, "node_mask", ROWS), *label = load(n, "label", JETS);
    int32_t labels[JETS];

    for (int i = 0; i < JETS; i++)
        labels[i] = (int32_t)label[i];
    assert_ok(n->s.ctx, reln_plan_create(n->s.graph, NULL, &n->plan));
    assert_ok(n->s.ctx, reln_plan_bind_rows_sized(n->plan, "rows", counts, JETS));
    assert_ok(n->s.ctx, reln_plan_bind_sized(n->plan, "p", p, RELN_F64, ROWS * 4));
    assert_ok(n->s.ctx, reln_plan_bind_sized(n->plan, "scalars", s, RELN_F64, ROWS * 2));
    assert_ok(n->s.ctx, reln_plan_bind_sized(n->plan, "mask", mask, RELN_F64, ROWS));
    assert_ok(n->s.ctx, reln_plan_bind_sized(n->plan, "label", labels, RELN_I32, JETS));
    assert_ok(n->s.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = JETS}));
    free(p);
    free(s);
    free(mask);
    free(label);
}

static void gradients_agree(const Net *n)
{
    double *want = load_mode(n, "grad", WEIGHTS);
    const double most = largest(want, WEIGHTS); /* that of a shift before a norm is 0 */
    ptrdiff_t at = 0;

    for (int i = 0; i < n->n; i++) {
        const ptrdiff_t count = (ptrdiff_t)entry_of(n, n->names[i]).count;
        char name[16];

        snprintf(name, sizeof name, "g%d", i + 2);
        agrees(n->names[i], reln_plan_output(n->plan, name, NULL), want + at, count, most);
        at += count;
    }
    free(want);
}

static void compare(bool train, const char *folder, double clamp)
{
    Net n;

    build(&n, train, folder, clamp);
    set_entries(&n);
    run(&n);
    output_agrees(&n, "block0.x", "block0_x", ROWS * 4);
    output_agrees(&n, "block1.x", "block1_x", ROWS * 4);
    output_agrees(&n, "block2.h", "block2_h", ROWS * H);
    output_agrees(&n, "logits", "logits", JETS * 2);
    output_agrees(&n, "loss", "loss", 1);
    output_agrees(&n, "g0", "grad_Pmu", ROWS * 4);
    output_agrees(&n, "g1", "grad_node_scalars", ROWS * 2);
    gradients_agree(&n);
    if (train)
        states_agree(&n);
    reln_plan_destroy(n.plan);
    reln_setting_clear(&n.s);
}

static void without_a_clamp_it_is_as_published_where_nothing_is_cut_off(void **state)
{
    (void)state;
    compare(true, "jets", 0);
    compare(false, "jets", 0);
}

static void with_the_clamp_it_is_as_published(void **state)
{
    (void)state;
    compare(true, "jets", 100);
    compare(false, "jets", 100);
    compare(true, "jets_x100", 100);
    compare(false, "jets_x100", 100);
}

/* The arrays notice the clamp: without it the momenta are others. */
static void without_the_clamp_momenta_differ_where_they_were_cut_off(void **state)
{
    double *want;
    const double *have;
    double off = 0;
    Net n;

    (void)state;
    build(&n, false, "jets_x100", 0);
    set_entries(&n);
    run(&n);
    want = load_mode(&n, "block0_x", ROWS * 4);
    have = reln_plan_output(n.plan, "block0.x", NULL);
    for (int i = 0; i < ROWS * 4; i++)
        off = fmax(off, fabs(have[i] - want[i]));
    assert_true(off > 1e-3 * largest(want, ROWS * 4));
    free(want);
    reln_plan_destroy(n.plan);
    reln_setting_clear(&n.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_clamp_it_is_as_published_where_nothing_is_cut_off),
        cmocka_unit_test(with_the_clamp_it_is_as_published),
        cmocka_unit_test(without_the_clamp_momenta_differ_where_they_were_cut_off),
    };

    return cmocka_run_group_tests_name("tasks/jets_golden", tests, NULL, NULL);
}
