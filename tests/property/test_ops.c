/* Tests every op by its descriptor alone: derivatives, precision, equivariance, and that neither threads nor
 * the batch change a bit. It also tests the checks themselves, on ops with errors. */
#include <stdio.h>
#include <stdlib.h>

#include "graph/certify.h"
#include "ops/ops.h"
#include "property/case.h"
#include "property/check.h"
#include "support/remembered.h"

static const char *const algebras[] = {"gl:2", "so:3", "so:1,2"};
enum { N_ALGEBRAS = 3 };

static bool exists(const RelnOp *op, int index, const char *algebra)
{
    Case probe;
    const bool there = case_make(&probe, op, index, algebra, (CaseOptions){.dtype = RELN_F64});

    case_clear(&probe);
    return there;
}

static void every_case(Check *check)
{
    complaints = 0;
    for (int o = 0; reln_ops[o]; o++)
        for (int a = 0; a < N_ALGEBRAS && reln_ops[o]->sample; a++)
            for (int i = 0; exists(reln_ops[o], i, algebras[a]); i++)
                check(reln_ops[o], i, algebras[a]);
    assert_int_equal(complaints, 0);
}

static void derivatives_match_differences(void **state)
{
    (void)state;
    every_case(check_gradient);
}

static void hessians_are_symmetric(void **state)
{
    (void)state;
    every_case(check_symmetry);
}

static void exactly_the_declared_shape_is_written(void **state)
{
    (void)state;
    every_case(check_shape);
}

static void single_precision_and_reference_kernels_agree(void **state)
{
    (void)state;
    every_case(check_precision);
}

static void double_precision_needs_no_graph_of_its_own(void **state)
{
    (void)state;
    every_case(check_island);
}

static void functions_give_what_the_op_gives(void **state)
{
    (void)state;
    every_case(check_call);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    every_case(check_threads);
}

static void tiles_do_not_change_a_bit(void **state)
{
    (void)state;
    every_case(check_tiles);
}

static void a_sample_does_not_depend_on_its_batch(void **state)
{
    (void)state;
    every_case(check_batch);
}

static void outputs_transform_as_declared(void **state)
{
    (void)state;
    every_case(check_equivariance);
}

/* ---- ops that are wrong --------------------------------------------------------------------------------------- */

/* A wrong op: y = x^2 of any rep, declared as equivariant. */
static bool infer(RelnGraph *g, RelnNode *z)
{
    (void)g;
    z->shape = z->in[0]->shape;
    z->rep = z->in[0]->rep;
    return true;
}

static RelnStatus forward(const RelnExec *e)
{
    reln_kern(e)->map[RELN_MAP_SQUARE](e->n * reln_shape_count(&e->node->shape), e->in[0], 1,
                                       e->out);
    return RELN_OK;
}

/* A wrong op: the first derivative is right and the second is wrong, because 2x is treated as a constant. */
static void vjp_once(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    RelnNode *copy = reln_node(g, &reln_op_stop_gradient, 1, &z->in[0], NULL, 0, NULL);

    gin[0] = reln_scale(g, reln_mul(g, gz, copy), 2.0);
}

static void vjp_wrong(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_scale(g, reln_mul(g, gz, z->in[0]), 2.001);
}

/* A wrong op: every item depends on the item before it, and on its place. */
static RelnStatus forward_leaky(const RelnExec *e)
{
    forward(e);
    ((float *)e->out)[0] += (float)(e->first % 2 + e->n);
    return RELN_OK;
}

/* Two wrong ops: one writes one number too many, the other one too few. */
static RelnStatus forward_long(const RelnExec *e)
{
    forward(e);
    ((float *)e->out)[e->n * reln_shape_count(&e->node->shape)] = 1;
    return RELN_OK;
}

static RelnStatus forward_short(const RelnExec *e)
{
    reln_kern(e)->map[RELN_MAP_SQUARE](e->n * reln_shape_count(&e->node->shape) - 1, e->in[0], 1,
                                       e->out);
    return RELN_OK;
}

static const RelnOp *wrong;

static RelnNode *sample(RelnSampler *s, int index)
{
    RelnNode *x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){.c = 3}, NULL);

    return index ? NULL : reln_node(s->graph, wrong, 1, &x, NULL, 0, NULL);
}

static RelnNode *sample_feature(RelnSampler *s, int index)
{
    const RelnRep *rep = reln_sample_adjoint(s);
    RelnNode *x =
        reln_sample_normal(s, RELN_SAMPLES, (RelnDims){.k = reln_rep_dim(rep), .c = 3}, rep);

    return index ? NULL : reln_node(s->graph, wrong, 1, &x, NULL, 0, NULL);
}

static void assert_seen(Check *check, const RelnOp *op)
{
    complaints = 0;
    wrong = op;
    check(op, 0, "gl:2");
    assert_true(complaints > 0);
}

static void wrong_ops_are_seen(void **state)
{
    static const RelnOp gradient = {.name = "wrong gradient",
                                    .n_in = 1,
                                    .infer = infer,
                                    .forward = forward,
                                    .vjp = vjp_wrong,
                                    .sample = sample};
    static const RelnOp second = {.name = "wrong second",
                                  .n_in = 1,
                                  .infer = infer,
                                  .forward = forward,
                                  .vjp = vjp_once,
                                  .sample = sample};
    static const RelnOp rep = {.name = "wrong rep",
                               .n_in = 1,
                               .infer = infer,
                               .forward = forward,
                               .sample = sample_feature};
    static const RelnOp leaky = {
        .name = "leaky", .n_in = 1, .infer = infer, .forward = forward_leaky, .sample = sample};

    static const RelnOp longer = {
        .name = "longer", .n_in = 1, .infer = infer, .forward = forward_long, .sample = sample};
    static const RelnOp shorter = {
        .name = "shorter", .n_in = 1, .infer = infer, .forward = forward_short, .sample = sample};

    (void)state;
    print_message("complaints follow that must be made:\n");
    assert_seen(check_gradient, &gradient);
    assert_seen(check_gradient, &second);
    assert_seen(check_equivariance, &rep);
    assert_seen(check_batch, &leaky);
    assert_seen(check_shape, &longer);
    assert_seen(check_shape, &shorter);
}

/* Proves each node of each case by the rule of its op, including gradients of gradients; constants are
 * verified in integers. */
static void prove(const RelnOp *op, int index, const char *algebra)
{
    RelnArena arena;
    RelnClaims claims = {.arena = &arena};
    Case c;

    assert_true(op->rule != RELN_RULE_NONE);
    assert_true(case_make(&c, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 2}));
    reln_arena_init(&arena, c.ctx);
    assert_ok(c.ctx, reln_claim_graph(&claims, c.graph));
    for (int i = 0; i < claims.count; i++)
        if (claims.items[i].state != RELN_CLAIM_PROVED) {
            print_message("%s, case %d, %s: %s %s: %s\n", op->name, index, algebra,
                          claims.items[i].kind, claims.items[i].name, claims.items[i].text);
            complaints++;
        }
    reln_arena_clear(&arena);
    case_clear(&c);
}

static void every_node_is_proved_equivariant(void **state)
{
    (void)state;
    every_case(prove);
}

/* ---- declarations --------------------------------------------------------------------------------------------- */

/* Indices do not transform: none has a rep, and every number has one. */
static void check_reps(const RelnOp *op, int index, const char *algebra)
{
    Case c;

    assert_true(case_make(&c, op, index, algebra, (CaseOptions){.dtype = RELN_F64, .order = 1}));
    for (int i = 0; i < c.graph->nodes.count; i++) {
        const RelnNode *x = c.graph->nodes.items[i];

        if ((x->dtype == RELN_I32) != (x->rep == NULL)) {
            print_message("%s, case %d, %s: a node of %s\n", op->name, index, algebra, x->op->name);
            complaints++;
        }
    }
    case_clear(&c);
}

static void indices_and_only_indices_have_no_rep(void **state)
{
    (void)state;
    every_case(check_reps);
}

/* An op counts its operations by a convention, which `reln info` and the measurements divide by: the text has one
 * line for each case, with the shapes of its inputs and its output. */
static void ops_count_the_operations_that_are_remembered(void **state)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    for (int o = 0; reln_ops[o]; o++)
        for (int i = 0; reln_ops[o]->sample && exists(reln_ops[o], i, "gl:2"); i++) {
            Case c;

            assert_true(case_make(&c, reln_ops[o], i, "gl:2", (CaseOptions){.dtype = RELN_F64}));
            fprintf(out, "%s %s", reln_ops[o]->name, reln_shape_text(c.z));
            for (int k = 0; k < c.z->n_in; k++)
                fprintf(out, "%s%s", k == 0 ? " of " : " and ", reln_shape_text(c.z->in[k]));
            if (c.z->op->flops)
                fprintf(out, ": %.10g\n", c.z->op->flops(c.z));
            else
                fprintf(out, ": one each\n");
            case_clear(&c);
        }
    fclose(out);
    assert_remembered("operations.txt", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_ops_are_seen),
        cmocka_unit_test(derivatives_match_differences),
        cmocka_unit_test(hessians_are_symmetric),
        cmocka_unit_test(exactly_the_declared_shape_is_written),
        cmocka_unit_test(single_precision_and_reference_kernels_agree),
        cmocka_unit_test(double_precision_needs_no_graph_of_its_own),
        cmocka_unit_test(functions_give_what_the_op_gives),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(tiles_do_not_change_a_bit),
        cmocka_unit_test(a_sample_does_not_depend_on_its_batch),
        cmocka_unit_test(outputs_transform_as_declared),
        cmocka_unit_test(every_node_is_proved_equivariant),
        cmocka_unit_test(indices_and_only_indices_have_no_rep),
        cmocka_unit_test(ops_count_the_operations_that_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
