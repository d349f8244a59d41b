/* test_inside.c -- tests the ways to look inside a network: layers in messages, nodes by name, prints, ports,
 * the first NaN. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/fixture.h"
#include "graph/op.h"
#include "reln/nn.h"
#include "reln/ops.h"
#include "reln/optimiser.h"
#include "reln/plan.h"

typedef struct Text {
    char text[65536];
    size_t used;
} Text;

static void put(void *self, const char *text)
{
    Text *t = self;

    assert_true(t->used + strlen(text) < sizeof t->text);
    memcpy(t->text + t->used, text, strlen(text) + 1);
    t->used += strlen(text);
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* A network of three layers on gl(3) with a loss: X -> affine one, rms one -> invariant -> dense out. */
static RelnNode *network(Fixture *f, RelnNet *net)
{
    RelnNode *x, *y, *h;

    *net = (RelnNet){.graph = f->graph, .algebra = f->algebra, .train = true};
    x = reln_input(f->graph, "X", RELN_SAMPLES, (RelnDims){.k = 9}, f->adjoint, RELN_DEFAULT);
    y = reln_input(f->graph, "Y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    reln_scope_begin(f->graph, "encoder");
    h = reln_nn_affine(net, "one", (RelnFeatures){.x = x}, 4, 0).x;
    h = reln_nn_rms(net, "one", h, NULL);
    reln_scope_end(f->graph);
    h = reln_nn_dense(net, "out", reln_nn_invariant(net, h), 1);
    return reln_batch_mean(f->graph, reln_square(f->graph, reln_sub(f->graph, h, y)));
}

/* ---- messages ------------------------------------------------------------------------------------------------- */

static void an_error_names_the_layer(void **state)
{
    Fixture f;
    RelnNet net;
    RelnNode *x;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    net = (RelnNet){.graph = f.graph, .algebra = f.algebra};
    x = reln_input(f.graph, "v", RELN_SAMPLES, (RelnDims){.k = 3}, reln_rep_vector(f.group),
                   RELN_DEFAULT);
    assert_null(reln_nn_dense(&net, "three", x, 2));
    assert_int_equal(reln_graph_status(f.graph), RELN_ERR_REP);
    assert_string_equal(reln_ctx_error(f.ctx),
                        "dense: wanted invariants, saw (B, 3, 1) as adjoint(so:3) = vector; "
                        "reln_nn_invariant() makes them; in layer three.dense");
    fixture_clear(&f);
}

static void parts_around_a_layer_are_named_outermost_first(void **state)
{
    const RelnMlp mlp = {1, 4, -1, RELN_ACT_RELU};
    Fixture f;
    RelnNet net;
    RelnNode *s;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    net = (RelnNet){.graph = f.graph, .algebra = f.algebra};
    s = reln_input(f.graph, "s", RELN_SAMPLES, (RelnDims){.c = 3}, NULL, RELN_DEFAULT);
    reln_scope_begin(f.graph, "head");
    assert_null(reln_nn_mlp(&net, "m", s, &mlp));
    reln_scope_end(f.graph);
    assert_int_equal(reln_graph_status(f.graph), RELN_ERR_SHAPE);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "; in layer head/m.mlp/m.1.dense"));
    fixture_clear(&f);
}

static void outside_of_layers_a_message_names_none(void **state)
{
    Fixture f;
    RelnNet net;
    RelnNode *loss;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    loss = network(&f, &net);
    assert_non_null(loss);
    assert_null(reln_tanh(f.graph, reln_graph_find(f.graph, "X")));
    assert_int_equal(reln_graph_status(f.graph), RELN_ERR_REP);
    assert_null(strstr(reln_ctx_error(f.ctx), "layer"));
    fixture_clear(&f);
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

static void nodes_are_found_by_name(void **state)
{
    Fixture f;
    RelnNet net;
    RelnNode *loss, *rms;
    char number[16];

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    loss = network(&f, &net);
    reln_output(f.graph, "loss", loss);
    rms = reln_graph_find(f.graph, "one.rms");
    assert_non_null(rms);
    assert_int_equal(reln_node_dims(rms).k, 9);
    assert_int_equal(reln_node_dims(rms).c, 4);
    assert_ptr_equal(reln_graph_find(f.graph, "encoder/one.rms"), rms);
    assert_ptr_equal(reln_graph_find(f.graph, "encoder"), rms);
    assert_ptr_equal(reln_graph_find(f.graph, "loss"), loss);
    assert_string_equal(reln_node_name(reln_graph_find(f.graph, "out.W")), "out.W");
    snprintf(number, sizeof number, "#%d", rms->id);
    assert_ptr_equal(reln_graph_find(f.graph, number), rms);
    assert_null(reln_graph_find(f.graph, "#100000"));
    assert_null(reln_graph_find(f.graph, "#"));
    assert_null(reln_graph_find(f.graph, "one.rns"));
    assert_non_null(strstr(reln_ctx_error(f.ctx), "the nearest name is one.rms"));
    /* names of outputs and of parameters count, too */
    assert_null(reln_graph_find(f.graph, "losss"));
    assert_string_equal(reln_ctx_error(f.ctx),
                        "the graph has no node or layer losss; the nearest name is loss");
    assert_null(reln_graph_find(f.graph, "out.w"));
    assert_string_equal(reln_ctx_error(f.ctx),
                        "the graph has no node or layer out.w; the nearest name is out.W");
    assert_null(reln_graph_find(f.graph, "a name that no other is near to"));
    assert_string_equal(reln_ctx_error(f.ctx),
                        "the graph has no node or layer a name that no other is near to");
    fixture_clear(&f);
}

/* Nodes of derivatives do not take the name of a layer, and a layer that is made an output shows the layer's
 * value. */
static void a_layer_can_be_watched_in_a_run(void **state)
{
    static const double x[9] = {1, 0, 0, 0, 2, 0, 0, 0, 3}, y[1] = {1};
    Fixture f;
    RelnNet net;
    RelnPlan *plan = NULL;
    RelnNode *rms, *loss;
    ptrdiff_t n = 0;
    const double *values;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    loss = network(&f, &net);
    rms = reln_graph_find(f.graph, "one.rms");
    reln_adam_all(f.graph, NULL, reln_scalar(f.graph, 0.0), loss);
    assert_ptr_equal(reln_graph_find(f.graph, "one.rms"), rms);
    reln_output(f.graph, "watched", rms);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "X", x, RELN_F64, 9));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "Y", y, RELN_F64, 1));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    values = reln_plan_output(plan, "watched", &n);
    assert_non_null(values);
    assert_int_equal(n, 1);
    assert_true(fabs(values[0]) > 0);
    assert_true(values[4] == 0); /* an element off the diagonal, (1, 0) of channel 0 */
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- ports and binding ---------------------------------------------------------------------------------------- */

static void a_plan_lists_inputs_and_outputs(void **state)
{
    Fixture f;
    RelnNet net;
    RelnPlan *plan = NULL;
    RelnPort port;
    const double y[2] = {0, 0};

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F32);
    reln_output(f.graph, "loss", network(&f, &net));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_int_equal(reln_plan_input_count(plan), 2);
    assert_int_equal(reln_plan_output_count(plan), 1);
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "Y", y, RELN_F64, 2));
    port = reln_plan_input_port(plan, 0);
    assert_string_equal(port.name, "X");
    assert_int_equal(port.dims.k, 9);
    assert_int_equal(port.dtype, RELN_F32);
    assert_int_equal(port.domain, RELN_SAMPLES);
    assert_string_equal(port.rows, "");
    assert_ptr_equal(port.rep, f.adjoint);
    assert_false(port.bound);
    assert_true(reln_plan_input_port(plan, 1).bound);
    port = reln_plan_output_port(plan, 0);
    assert_string_equal(port.name, "loss");
    assert_int_equal(port.domain, RELN_STEP);
    assert_string_equal(reln_plan_input_port(plan, 2).name, "");
    assert_string_equal(reln_plan_output_port(plan, -1).name, "");
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void a_wrong_name_gets_the_nearest(void **state)
{
    Fixture f;
    RelnNet net;
    RelnPlan *plan = NULL;
    const double y[1] = {0};

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    reln_output(f.graph, "loss", network(&f, &net));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_int_equal(reln_plan_bind_sized(plan, "YY", y, RELN_F64, 1), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(f.ctx),
                        "bind: the graph has no input YY; the nearest name is Y");
    /* a parameter cannot be bound, and is not suggested */
    assert_int_equal(reln_plan_bind_sized(plan, "out.W", y, RELN_F64, 1), RELN_ERR_ARG);
    assert_null(strstr(reln_ctx_error(f.ctx), "name is out"));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- the first NaN -------------------------------------------------------------------------------------------- */

static void fails_to_run(Fixture *f, RelnPlan *plan, ptrdiff_t n, const char *wanted)
{
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = n}), RELN_ERR_NUMERIC);
    if (!strstr(reln_ctx_error(f->ctx), wanted))
        fail_msg("'%s' is not in '%s'", wanted, reln_ctx_error(f->ctx));
}

static void the_first_nan_is_named_with_its_layer(void **state)
{
    enum { N = 40 };
    static double s[N];
    Fixture f;
    RelnNode *x, *y;
    RelnPlan *plan = NULL, *blind = NULL;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    for (int i = 0; i < N; i++)
        s[i] = 1;
    x = reln_input(f.graph, "s", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    reln_scope_begin(f.graph, "roots");
    y = reln_sqrt(f.graph, x);
    reln_scope_end(f.graph);
    reln_output(f.graph, "sum", reln_batch_sum(f.graph, reln_exp(f.graph, y)));
    assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.finite = true}, &plan));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &blind));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "s", s, RELN_F64, N));
    assert_ok(f.ctx, reln_plan_bind_sized(blind, "s", s, RELN_F64, N));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    assert_ok(f.ctx, reln_plan_run(blind, &(RelnRun){.n_samples = N}));
    assert_true(*(const double *)reln_plan_output(plan, "sum", NULL) ==
                *(const double *)reln_plan_output(blind, "sum", NULL));
    s[31] = -1;
    fails_to_run(&f, plan, N, "run: sqrt (#");
    fails_to_run(&f, plan, N, "of layer roots is nan at coordinate 0, channel 0, sample 31");
    assert_ok(f.ctx, reln_plan_run(blind, &(RelnRun){.n_samples = N}));
    s[31] = 1e300 * 1e300;
    fails_to_run(&f, plan, N, "run: input s is inf at coordinate 0, channel 0, sample 31");
    reln_plan_destroy(plan);
    reln_plan_destroy(blind);
    fixture_clear(&f);
}

/* The derivative of sqrt at 0 is infinite, while its value is finite. */
static void a_nan_of_a_derivative_says_so(void **state)
{
    const double s[1] = {0};
    Fixture f;
    RelnNode *x, *y, *dx = NULL;
    RelnPlan *plan = NULL;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F32);
    x = reln_input(f.graph, "s", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    reln_scope_begin(f.graph, "roots");
    y = reln_sqrt(f.graph, x);
    reln_scope_end(f.graph);
    assert_true(reln_grad(f.graph, y, 1, &x, &dx));
    reln_output(f.graph, "dx", dx);
    assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.finite = true}, &plan));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "s", s, RELN_F64, 1));
    fails_to_run(&f, plan, 1, "of a derivative of layer roots is ");
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- prints --------------------------------------------------------------------------------------------------- */

static void a_print_has_every_node_and_layer(void **state)
{
    Fixture f;
    RelnNet net;
    RelnNode *loss;
    Text nodes = {.used = 0}, layers = {.used = 0}, all = {.used = 0};
    int forward;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    loss = network(&f, &net);
    reln_output(f.graph, "loss", loss);
    forward = reln_graph_size(f.graph);
    reln_adam_all(f.graph, NULL, reln_scalar(f.graph, 1e-2), loss);
    assert_ok(f.ctx, reln_graph_print(f.graph, &(RelnPrint){.put = put, .self = &nodes}));
    /* one heading, a line above each of 4 layers and above other nodes twice, and the constant of the rate */
    assert_true(count(nodes.text, "\n") <= 1 + forward + 8);
    assert_int_equal(count(nodes.text, "\nencoder/one.rms\n"), 1);
    assert_non_null(strstr(nodes.text, "adjoint(gl:3)"));
    assert_non_null(strstr(nodes.text, "output loss"));
    assert_null(strstr(nodes.text, "adam"));
    assert_ok(f.ctx, reln_graph_print(f.graph,
                                      &(RelnPrint){.put = put, .self = &all, .derivatives = true}));
    assert_non_null(strstr(all.text, "\nderivative of encoder/one.rms\n"));
    assert_non_null(strstr(all.text, "adam"));
    assert_ok(f.ctx,
              reln_graph_print(f.graph, &(RelnPrint){.put = put, .self = &layers, .layers = true}));
    assert_non_null(strstr(layers.text, "\nencoder "));
    assert_non_null(strstr(layers.text, "\nout.dense "));
    assert_null(strstr(layers.text, "out.W"));
    reln_scope_begin(f.graph, NULL); /* a graph that has failed prints what was built */
    assert_int_equal(reln_graph_status(f.graph), RELN_ERR_ARG);
    nodes.used = 0;
    assert_ok(f.ctx, reln_graph_print(f.graph, &(RelnPrint){.put = put, .self = &nodes}));
    fixture_clear(&f);
}

/* Each arrow joins two different boxes that are drawn; returns how many arrows there are. */
static int arrows(const char *dot)
{
    int n = 0;

    for (const char *at = dot; (at = strstr(at, " -> n")) != NULL; at++, n++) {
        const char *line = at;
        int from = -1, to = -1;
        char box[32];

        while (line > dot && line[-1] != '\n')
            line--;
        assert_int_equal(sscanf(line, " n%d -> n%d;", &from, &to), 2);
        assert_int_not_equal(from, to);
        for (int end = 0; end < 2; end++) {
            snprintf(box, sizeof box, "n%d [label", end ? to : from);
            if (!strstr(dot, box))
                fail_msg("an arrow from %d to %d, and no box %d", from, to, end ? to : from);
        }
    }
    return n;
}

static void dot_is_balanced_and_names_are_quoted(void **state)
{
    Fixture f;
    RelnNet net;
    RelnNode *x;
    Text dot = {.used = 0}, layers = {.used = 0};

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    reln_output(f.graph, "loss", network(&f, &net));
    x = reln_input(f.graph, "a \"b\" \\", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    assert_non_null(x);
    assert_ok(f.ctx,
              reln_graph_print(f.graph, &(RelnPrint){.put = put, .self = &dot, .dot = true}));
    assert_int_equal(count(dot.text, "{"), count(dot.text, "}"));
    assert_int_equal(count(dot.text, "[label="), reln_graph_size(f.graph));
    assert_int_equal(count(dot.text, "label=\"encoder\""), 1);
    assert_int_equal(count(dot.text, "label=\"one.rms\""), 1);
    assert_non_null(strstr(dot.text, "a \\\"b\\\" \\\\"));
    assert_true(arrows(dot.text) >= reln_graph_size(f.graph) / 2);
    assert_ok(f.ctx,
              reln_graph_print(
                  f.graph, &(RelnPrint){.put = put, .self = &layers, .dot = true, .layers = true}));
    assert_true(count(layers.text, "[label=") < count(dot.text, "[label="));
    assert_true(arrows(layers.text) >= 4); /* X -> one -> rms -> invariant -> out */
    fixture_clear(&f);
}

static RelnStatus print_small(RelnCtx *ctx)
{
    Fixture f;
    RelnNet net;
    Text text = {.used = 0};
    RelnStatus status = fixture_build(&f, ctx, "gl:3", "gl:3", RELN_F64);

    if (status == RELN_OK) {
        reln_output(f.graph, "loss", network(&f, &net));
        status = reln_graph_status(f.graph);
    }
    if (status == RELN_OK)
        status = reln_graph_print(f.graph, &(RelnPrint){.put = put, .self = &text});
    if (status == RELN_OK && !reln_graph_find(f.graph, "nobody"))
        status = reln_ctx_status(ctx) == RELN_ERR_NOMEM ? RELN_ERR_NOMEM : RELN_OK;
    fixture_release(&f);
    return status;
}

static void without_memory_there_is_a_status(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(print_small) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_names_the_layer),
        cmocka_unit_test(parts_around_a_layer_are_named_outermost_first),
        cmocka_unit_test(outside_of_layers_a_message_names_none),
        cmocka_unit_test(nodes_are_found_by_name),
        cmocka_unit_test(a_layer_can_be_watched_in_a_run),
        cmocka_unit_test(a_plan_lists_inputs_and_outputs),
        cmocka_unit_test(a_wrong_name_gets_the_nearest),
        cmocka_unit_test(the_first_nan_is_named_with_its_layer),
        cmocka_unit_test(a_nan_of_a_derivative_says_so),
        cmocka_unit_test(a_print_has_every_node_and_layer),
        cmocka_unit_test(dot_is_balanced_and_names_are_quoted),
        cmocka_unit_test(without_memory_there_is_a_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
