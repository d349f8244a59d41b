/* bench_plan.c -- what comes before the first step: building, differentiating and planning a network of ten layers, and
 * an unrolled RK4 of 32 evaluations of a Hamiltonian field with its second-order gradient, through calls. */
#include "bench.h"

typedef struct Setting {
    RelnSetting in;
    RelnPlan *plan;
} Setting;

static RelnNode *weights(RelnGraph *g, const char *layer, const char *part, int in, int out)
{
    char name[32];

    snprintf(name, sizeof name, "%s.%s", layer, part);
    return reln_param(g, name, (RelnDims){.r = in, .c = out}, (RelnInit){RELN_INIT_UNIFORM, 0.1});
}

/* Linear, the paper's ReLU, then a bracket with a residual on every other layer. */
static RelnNode *layer(Setting *s, int index, RelnNode *x, int in, int out)
{
    RelnGraph *g = s->in.graph;
    char name[16];
    RelnNode *z, *d, *t;

    snprintf(name, sizeof name, "layer%d", index);
    z = reln_mix(g, x, weights(g, name, "W", in, out));
    d = reln_mix(g, z, weights(g, name, "U", out, out));
    t = reln_form(g, s->in.algebra, RELN_FORM_COMPLETED, z, d);
    z = reln_add(g, z, reln_mul(g, reln_relu(g, t), d));
    if (index % 2)
        z = reln_add(g, z,
                     reln_bracket(g, s->in.algebra,
                                  reln_mix(g, z, weights(g, name, "Wb", out, out)),
                                  reln_mix(g, z, weights(g, name, "Wa", out, out))));
    return z;
}

static void ten_layers(Setting *s, double *times)
{
    RelnNode *x, *loss, *params[64], *grads[64];
    const double start = seconds();
    int n = 0;

    x = reln_input(s->in.graph, "x", RELN_SAMPLES, (RelnDims){.k = 9, .c = 3}, s->in.rep,
                   RELN_DEFAULT);
    for (int i = 0; i < 10; i++)
        x = layer(s, i, x, i ? 64 : 3, 64);
    loss = reln_batch_mean(
        s->in.graph,
        reln_sum(s->in.graph, reln_form(s->in.graph, s->in.algebra, RELN_FORM_COMPLETED, x, x),
                 RELN_C));
    reln_output(s->in.graph, "loss", loss);
    times[0] = seconds() - start;
    for (int i = 0; i < 10; i++) {
        static const char *const parts[] = {"W", "U", "Wb", "Wa"};
        char name[16];

        snprintf(name, sizeof name, "layer%d", i);
        for (int j = 0; j < (i % 2 ? 4 : 2); j++)
            params[n++] = weights(s->in.graph, name, parts[j], j == 0 && i == 0 ? 3 : 64, 64);
    }
    reln_grad(s->in.graph, loss, n, params, grads);
    for (int i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "g%d", i);
        reln_output(s->in.graph, name, grads[i]);
    }
    times[1] = seconds() - start - times[0];
    BENCH_TRY(s->in.ctx, reln_plan_create(s->in.graph, NULL, &s->plan));
    times[2] = seconds() - start - times[0] - times[1];
}

/* H(z) of 12 numbers by an MLP of two layers of 128; the field is J grad H. */
enum { STATE = 12, WIDTH = 128, EVALUATIONS = 32 };

static RelnFn *field(Setting *s)
{
    RelnGraph *body = reln_fn_begin(s->in.graph, "field");
    RelnNode *z = reln_argument(body, RELN_SAMPLES, (RelnDims){.c = STATE}, NULL, RELN_DEFAULT), *h,
             *grad = NULL;
    RelnNode *w[3];
    double j[STATE * STATE] = {0};

    w[0] = reln_argument(body, RELN_STEP, (RelnDims){.r = STATE, .c = WIDTH}, NULL, RELN_DEFAULT);
    w[1] = reln_argument(body, RELN_STEP, (RelnDims){.r = WIDTH, .c = WIDTH}, NULL, RELN_DEFAULT);
    w[2] = reln_argument(body, RELN_STEP, (RelnDims){.r = WIDTH, .c = 1}, NULL, RELN_DEFAULT);
    h = reln_tanh(body, reln_mix(body, z, w[0]));
    h = reln_tanh(body, reln_mix(body, h, w[1]));
    reln_grad(body, reln_mix(body, h, w[2]), 1, &z, &grad);
    for (int i = 0; i < STATE / 2; i++) {
        j[(i + STATE / 2) * STATE + i] = 1.0;
        j[i * STATE + i + STATE / 2] = -1.0;
    }
    grad = reln_mix(body, grad, reln_const(body, (RelnDims){.r = STATE, .c = STATE}, NULL, j));
    return reln_fn_end(body, 1, &grad);
}

static RelnNode *rk4(Setting *s, RelnFn *fn, RelnNode *z, RelnNode *const *w, int steps, double h)
{
    static const double ahead[4] = {0.0, 0.5, 0.5, 1.0},
                        share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

    for (int i = 0; i < steps; i++) {
        RelnNode *k = NULL, *sum = z;

        for (int j = 0; j < 4; j++) {
            RelnNode *at =
                j ? reln_add(s->in.graph, z, reln_scale(s->in.graph, k, h * ahead[j])) : z;

            if (!reln_call(s->in.graph, fn, 4, (RelnNode *[]){at, w[0], w[1], w[2]}, &k))
                return NULL;
            sum = reln_add(s->in.graph, sum, reln_scale(s->in.graph, k, h * share[j]));
        }
        z = sum;
    }
    return z;
}

static void unrolled(Setting *s, double *times)
{
    const double start = seconds();
    RelnNode *z, *end, *w[3], *loss, *grads[3];

    z = reln_input(s->in.graph, "z", RELN_SAMPLES, (RelnDims){.c = STATE}, NULL, RELN_DEFAULT);
    w[0] = weights(s->in.graph, "h", "0", STATE, WIDTH);
    w[1] = weights(s->in.graph, "h", "1", WIDTH, WIDTH);
    w[2] = weights(s->in.graph, "h", "2", WIDTH, 1);
    end = rk4(s, field(s), z, w, EVALUATIONS / 4, 0.1);
    loss =
        reln_batch_mean(s->in.graph, reln_sum(s->in.graph, reln_square(s->in.graph, end), RELN_C));
    times[0] = seconds() - start;
    reln_grad(s->in.graph, loss, 3, w, grads);
    reln_output(s->in.graph, "loss", loss);
    for (int i = 0; i < 3; i++)
        reln_output(s->in.graph, (const char *[]){"g0", "g1", "g2"}[i], grads[i]);
    times[1] = seconds() - start - times[0];
    BENCH_TRY(s->in.ctx, reln_plan_create(s->in.graph, NULL, &s->plan));
    times[2] = seconds() - start - times[0] - times[1];
}

static void report(const char *what, const char *algebra, void (*make)(Setting *s, double *times))
{
    double best[3] = {1e9, 1e9, 1e9}, times[3];
    RelnCost cost = {0};
    int nodes = 0;

    for (int r = 0; r < 5; r++) {
        Setting s;

        BENCH_TRY(s.in.ctx, reln_setting_init(&s.in, algebra, NULL, RELN_F32, 1));
        make(&s, times);
        for (int i = 0; i < 3; i++)
            best[i] = times[i] < best[i] ? times[i] : best[i];
        cost = reln_plan_cost(s.plan);
        nodes = reln_graph_size(s.in.graph);
        reln_plan_destroy(s.plan);
        reln_setting_clear(&s.in);
    }
    printf("%s: build %.2f ms, differentiate %.2f ms, plan %.2f ms; %d nodes, %d instructions, "
           "slab %zu kB, shared %zu "
           "kB, %.2f MFLOP a sample\n",
           what, 1e3 * best[0], 1e3 * best[1], 1e3 * best[2], nodes, cost.instructions,
           cost.bytes_worker / 1024, cost.bytes_shared / 1024, 1e-6 * cost.flops_sample);
}

int main(void)
{
    report("ten layers on gl(3), width 64", "gl:3", ten_layers);
    report("RK4, 32 evaluations of a field, gradient of the rollout", "so:3", unrolled);
    return 0;
}
