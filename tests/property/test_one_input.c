/* Tests the gradient of every op with respect to one input alone: it must find the dependence through any
 * place among the inputs of a node, and must equal the gradient computed for all inputs together. */
#include <stdio.h>
#include <string.h>

#include "property/case.h"
#include "reln/ops.h"
#include "reln/plan.h"

static const char *const algebras[] = {"gl:2", "so:3", "so:1,2"};
enum { N_ALGEBRAS = 3, ROOM = 4096 };

static RelnNode *output_of(const Case *c, const char *name)
{
    for (int i = 0; i < c->graph->outputs.count; i++)
        if (strcmp(c->graph->outputs.items[i].name, name) == 0)
            return c->graph->outputs.items[i].node;
    fail_msg("there is no output %s", name);
    return NULL;
}

/* Makes a plan of the current graph, with the data of the case. */
static void plan_again(Case *c)
{
    reln_plan_destroy(c->plan);
    c->plan = NULL;
    assert_ok(c->ctx, reln_plan_create(c->graph, NULL, &c->plan));
    for (int i = 0; i < c->n_data; i++) {
        const Data *d = &c->data[i];

        assert_ok(c->ctx,
                  reln_plan_bind(c->plan, d->name, d->values ? (const void *)d->values : d->indices,
                                 d->values ? RELN_F64 : RELN_I32));
    }
    case_bind_rows(c->ctx, c->graph, c->plan, 0);
}

/* Each cotangent is the sum of the same terms in the same order, so the bits must be equal. */
static void compare(Case *c, const RelnOp *op, int index, const char *algebra)
{
    static double together[ROOM], alone[ROOM];
    char name[16];

    for (int i = 0; i < c->n_x; i++) {
        const ptrdiff_t count = c->data[c->x[i]].count;

        assert_true(count <= ROOM);
        snprintf(name, sizeof name, "g%d", i);
        case_output(c, name, count, together);
        snprintf(name, sizeof name, "a%d", i);
        case_output(c, name, count, alone);
        if (memcmp(together, alone, (size_t)count * sizeof *alone) != 0)
            fail_msg("%s, case %d, %s: the gradient in input %d alone differs from that in all",
                     op->name, index, algebra, i);
    }
}

static bool check(const RelnOp *op, int index, const char *algebra)
{
    Case c;
    const bool there =
        case_make(&c, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 1});

    if (there && c.z->dtype != RELN_I32 && c.n_x > 0) {
        RelnNode *loss = output_of(&c, "L");

        for (int i = 0; i < c.n_x; i++) {
            RelnNode *x = c.sampler.inputs[c.x[i]].node, *alone = NULL;
            char name[16];

            assert_true(reln_grad(c.graph, loss, 1, &x, &alone));
            snprintf(name, sizeof name, "a%d", i);
            reln_output(c.graph, name, alone);
        }
        plan_again(&c);
        case_run(&c, CASE_SAMPLES);
        compare(&c, op, index, algebra);
    }
    case_clear(&c);
    return there;
}

static void every_op_has_the_gradient_of_each_input_alone(void **state)
{
    (void)state;
    for (int o = 0; reln_ops[o]; o++)
        for (int a = 0; a < N_ALGEBRAS && reln_ops[o]->sample; a++)
            for (int i = 0; check(reln_ops[o], i, algebras[a]);)
                i++;
}

/* d/dx of a sum over the last input of two, three and seven, behind another op. */
static void the_last_of_several_inputs_is_seen(void **state)
{
    (void)state;
    for (int n = 2; n <= 7; n++) {
        RelnCtx *ctx = NULL;
        RelnGroup *group = NULL;
        RelnStore *store = NULL;
        RelnGraph *g = NULL;
        RelnPlan *plan = NULL;
        RelnNode *in[7], *x, *grad = NULL;
        const double value = 3;

        assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
        assert_ok(ctx, reln_group_create(ctx, "none:1", &group));
        assert_ok(ctx, reln_store_create(ctx, 1, &store));
        assert_ok(ctx, reln_graph_create(group, store, RELN_F64, &g));
        x = reln_input(g, "x", RELN_STEP, (RelnDims){0}, NULL, RELN_F64);
        for (int i = 0; i < n; i++) {
            char name[16];

            snprintf(name, sizeof name, "u%d", i);
            in[i] = i + 1 < n ? reln_param(g, name, (RelnDims){0}, (RelnInit){RELN_INIT_NORMAL, 1})
                              : reln_square(g, x);
        }
        assert_true(reln_grad(g, reln_sum(g, reln_concat(g, n, in, RELN_C), RELN_C), 1, &x, &grad));
        reln_output(g, "grad", grad);
        assert_ok(ctx, reln_plan_create(g, NULL, &plan));
        assert_ok(ctx, reln_plan_bind(plan, "x", &value, RELN_F64));
        assert_ok(ctx, reln_plan_run(plan, &(RelnRun){0}));
        assert_true(((const double *)reln_plan_output(plan, "grad", NULL))[0] == 2 * value);
        reln_plan_destroy(plan);
        reln_graph_destroy(g);
        reln_store_destroy(store);
        reln_group_destroy(group);
        reln_ctx_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_the_gradient_of_each_input_alone),
        cmocka_unit_test(the_last_of_several_inputs_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
