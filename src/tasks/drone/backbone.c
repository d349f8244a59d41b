/* backbone.c -- the published networks on windows: residual blocks of vectors or matrices, and TLIO's ResNet.
 *
 * Layers, their order and shared parameters follow the published code: a block uses one ReLU twice, the second norm of a
 * block starts with gain 0, and the head uses one ReLU twice. Differences from it are fields of DroneRow.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tasks/drone/nets.h"

enum { NAME = 64 };

/* A Part is a part of the network, with the prefix of its names. */
typedef struct Part {
    const RelnNet *net;
    const DroneRow *row;
    const char *name;
    bool matrices; /* features are 3 x 3 matrices; otherwise vectors */
} Part;

static const char *named(char name[NAME], const Part *p, const char *part)
{
    snprintf(name, NAME, "%s.%s", p->name, part);
    return name;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* The parts of a matrix that no rotation mixes: trace, skew, and symmetric traceless part. */
static RelnNode *part_of(const RelnNet *net, RelnNode *x, int which)
{
    RelnGraph *g = net->graph;
    RelnNode *t = reln_transpose_matrix(g, x), *trace = reln_center_part(g, net->algebra, x);

    if (which == 0)
        return trace;
    if (which == 1)
        return reln_scale(g, reln_sub(g, x, t), 0.5);
    return reln_sub(g, reln_scale(g, reln_add(g, x, t), 0.5), trace);
}

static RelnNode *plain_conv(const RelnNet *net, const char *name, RelnNode *x, int channels,
                            int width, int stride, bool causal)
{
    return reln_nn_conv(net, name, x,
                        &(RelnConv){.channels = channels,
                                    .width = width,
                                    .stride = stride,
                                    .pad = width / 2,
                                    .padding = causal ? RELN_PAD_CAUSAL : RELN_PAD_EACH});
}

/* A convolution; for matrices, with separate weights for the three parts unless they are tied. */
static RelnNode *conv(const Part *p, const char *part, RelnNode *x, int channels, int width,
                      int stride)
{
    char name[NAME], one[NAME + 8];
    RelnNode *y = NULL;

    named(name, p, part);
    if (!p->row->untied || !p->matrices)
        return plain_conv(p->net, name, x, channels, width, stride, p->row->causal);
    for (int i = 0; i < 3; i++) {
        RelnNode *z;

        snprintf(one, sizeof one, "%s.%d", name, i);
        z = plain_conv(p->net, one, part_of(p->net, x, i), channels, width, stride, p->row->causal);
        y = i == 0 ? z : reln_add(p->net->graph, y, z);
    }
    return y;
}

static RelnNode *norm(const Part *p, const char *part, RelnNode *x)
{
    char name[NAME];

    named(name, p, part);
    return p->row->bounded ? drone_size_norm(p->net, name, x)
                           : drone_length_norm(p->net, name, x, !p->matrices);
}

/* The slopes are those of the published code: 0 in Vector Neurons, 0.1 in Lie networks. */
static RelnNode *relu(const Part *p, RelnNode *x)
{
    char name[NAME];

    named(name, p, "relu");
    if (p->row->arch == DRONE_VN)
        return drone_vector_relu(p->net, name, x, 0);
    if (!p->matrices)
        return drone_vector_relu(p->net, name, x, 0.1);
    if (p->row->bounded)
        return reln_nn_rms(p->net, name, x, NULL);
    return reln_nn_relu(p->net, name, x, &(RelnRelu){.leak = 0.1});
}

static RelnNode *bracket(const RelnNet *net, const char *name, RelnNode *x, bool matrices)
{
    char one[NAME], two[NAME];
    const int c = x ? reln_node_dims(x).c : 1;

    if (matrices)
        return reln_nn_bracket(net, name, x);
    snprintf(one, sizeof one, "%s.one", name);
    snprintf(two, sizeof two, "%s.two", name);
    return reln_add(
        net->graph, x,
        drone_cross(net, reln_nn_linear(net, two, x, c), reln_nn_linear(net, one, x, c)));
}

/* y = x + (x Wa)(n Wb) with matrix products, where n = x / sqrt(1 + mean_c |x_c|^2) has at most size 1: unlike a product of x
 * with itself it grows no faster than x. Its commutator is a bracket, and its anticommutator of a symmetric matrix S and hat(v)
 * is the vector (tr S) v - S v, which brackets reach in two steps only. */
static RelnNode *product(const RelnNet *net, const char *name, RelnNode *x)
{
    RelnGraph *g = net->graph;
    const int c = x ? reln_node_dims(x).c : 1;
    char a[NAME], b[NAME];
    RelnNode *size = reln_sqrt(g, reln_shift(g, reln_mean(g, reln_pair(g, x, x), RELN_C), 1, 1));

    snprintf(a, sizeof a, "%.50s.a", name);
    snprintf(b, sizeof b, "%.50s.b", name);
    return reln_add(g, x,
                    reln_matmul(g, 3, reln_nn_linear(net, a, x, c),
                                reln_nn_linear(net, b, reln_div(g, x, size), c)));
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static RelnNode *block(const Part *in, const char *name, RelnNode *x, int channels, int stride)
{
    const Part p = {in->net, in->row, name, in->matrices};
    RelnNode *skip = x, *y;
    char full[NAME];

    if (stride > 1 || (x && reln_node_dims(x).c != channels))
        skip = norm(&p, "skip.norm", conv(&p, "skip", x, channels, 1, stride));
    y = relu(&p, norm(&p, "norm1", conv(&p, "conv1", x, channels, 3, stride)));
    y = norm(&p, "norm2", conv(&p, "conv2", y, channels, 3, 1));
    y = relu(&p, reln_add(p.net->graph, y, skip));
    if (p.row->products && p.matrices)
        y = product(p.net, named(full, &p, "product"), y);
    return y;
}

static RelnNode *group(const Part *p, const char *name, RelnNode *x, int channels, int stride)
{
    char first[NAME], second[NAME];

    snprintf(first, sizeof first, "%s.0", name);
    snprintf(second, sizeof second, "%s.1", name);
    return block(p, second, block(p, first, x, channels, stride), channels, 1);
}

/* A bias for each coordinate of each channel, as in the published head with covariances. It is not invariant:
 * the builder refuses it for a group, so the row is built without one. */
static RelnNode *biased(const Part *p, const char *part, RelnNode *x)
{
    char name[NAME];
    const int c = x ? reln_node_dims(x).c : 1;

    if (p->row->input != DRONE_IN_AXES_CODED)
        return x;
    return reln_add(p->net->graph, x,
                    reln_param(p->net->graph, named(name, p, part), (RelnDims){.c = c},
                               (RelnInit){RELN_INIT_UNIFORM, 0.05}));
}

/* Maps all samples and channels to new channels: a convolution as wide as the axis. */
static RelnNode *flat(const Part *p, const char *part, RelnNode *x, int channels)
{
    char name[NAME];

    return reln_nn_conv(p->net, named(name, p, part), x,
                        &(RelnConv){.channels = channels, .width = x ? reln_node_dims(x).p : 1});
}

/* The last layer; it starts from 0 if the network corrects the integral, so that the network starts as
 * integration. */
static RelnNode *last_layer(const Part *p, RelnNode *x)
{
    char name[NAME];
    const int c = x ? reln_node_dims(x).c : 1;
    const RelnInit zero = {RELN_INIT_CONSTANT, 0};

    if (!p->row->residual)
        return reln_nn_linear(p->net, named(name, p, "fc3"), x, 1);
    return reln_mix(
        p->net->graph, x,
        reln_param(p->net->graph, named(name, p, "fc3.W"), (RelnDims){.r = c, .c = 1}, zero));
}

static RelnNode *head(const Part *in, RelnNode *x)
{
    const Part p = {in->net, in->row, "head", in->matrices};
    const DroneRow *row = p.row;

    x = norm(&p, "norm", conv(&p, "prep", x, row->prep, 1, 1));
    x = relu(&p, biased(&p, "fc1.b", flat(&p, "fc1", x, row->last)));
    x = relu(&p, biased(&p, "fc2.b", flat(&p, "fc2", x, row->last)));
    return biased(&p, "fc3.b", last_layer(&p, x));
}

/* ---- vectors and matrices ---------------------------------------------------------------------------------------- */

static RelnNode *input(const RelnNet *net, const char *name, int k, int c)
{
    RelnGroup *group = reln_graph_group(net->graph);
    const RelnRep *rep = k == 3 ? reln_rep_vector(group) : reln_rep_matrix(group);

    return reln_input(net->graph, name, RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = k, .c = c},
                      reln_group_n_lie(group) > 0 ? rep : NULL, RELN_DEFAULT);
}

static bool has_matrices(DroneInput input)
{
    return input == DRONE_IN_COVARIANCE || input == DRONE_IN_LOG;
}

static RelnNode *first_features(const RelnNet *net, const DroneModel *model)
{
    const DroneInput in = model->row->input;
    const int c = drone_size_m(in, model->sensors) / (DRONE_WINDOW * (has_matrices(in) ? 9 : 3));
    RelnNode *x[2] = {input(net, "v", 3, model->sensors), NULL};

    if (in == DRONE_IN_V)
        return x[0];
    x[1] = input(net, "m", has_matrices(in) ? 9 : 3, c);
    if (has_matrices(in))
        x[0] = drone_hat(net, x[0]);
    return reln_concat(net->graph, 2, x, RELN_C);
}

/* A factor between 0 and 1, computed from the mean variances of the window. */
static RelnNode *shrunk(const RelnNet *net, RelnNode *y, int width)
{
    RelnGraph *g = net->graph;
    RelnNode *l = reln_input(g, "l", RELN_SAMPLES, (RelnDims){.c = 3}, NULL, RELN_DEFAULT);
    return reln_mul(
        g, y,
        reln_sigmoid(g, reln_nn_mlp(net, "shrink", l, &(RelnMlp){2, width, 1, RELN_ACT_RELU})));
}

RelnNode *drone_backbone(const RelnNet *net, const DroneModel *model)
{
    const DroneRow *row = model->row;
    const Part p = {net, row, "in", has_matrices(row->input)};
    RelnNode *x = first_features(net, model);

    x = norm(&p, "norm", conv(&p, "conv", x, row->width, 7, 2));
    x = drone_vector_relu(net, "in.relu", x, 0);
    if (row->bracket)
        x = bracket(net, "bracket", x, p.matrices);
    if (row->products && p.matrices)
        x = product(net, "product", x);
    x = group(&p, "first", drone_pair_mean(net, x), row->width, 1);
    x = group(&p, "last", drone_pair_mean(net, x), row->last, 2);
    x = head(&p, drone_pair_mean(net, x));
    if (p.matrices)
        x = drone_vee(net, x);
    if (drone_size_l(row->input) > 0)
        x = shrunk(net, x, row->shrink);
    return x;
}

/* ---- ResNet ------------------------------------------------------------------------------------------------------ */

static RelnNode *kaiming_conv(const RelnNet *net, const char *name, RelnNode *x, int channels,
                              int width, int stride)
{
    char full[NAME];
    const int from = x ? reln_node_dims(x).c : 1, pad = width / 2;
    const RelnInit init = {RELN_INIT_NORMAL, sqrt(2.0 / (channels * width))};

    snprintf(full, sizeof full, "%s.W", name);
    return reln_conv(
        net->graph, x,
        reln_param(net->graph, full, (RelnDims){.r = width * from, .c = channels}, init), RELN_P,
        (RelnWindow){width, stride, 1, pad, pad});
}

static RelnNode *plain_norm(const RelnNet *net, const char *name, RelnNode *x)
{
    return reln_nn_batch_norm_invariants(net, name, x, NULL);
}

static RelnNode *plain_block(const RelnNet *net, const char *name, RelnNode *x, int channels,
                             int stride)
{
    RelnGraph *g = net->graph;
    char part[5][NAME];
    RelnNode *skip = x, *y;

    for (int i = 0; i < 5; i++) {
        static const char *const parts[5] = {"conv1", "norm1", "conv2", "norm2", "skip"};

        snprintf(part[i], sizeof part[i], "%.40s.%s", name, parts[i]);
    }
    y = reln_relu(g, plain_norm(net, part[1], kaiming_conv(net, part[0], x, channels, 3, stride)));
    y = plain_norm(net, part[3], kaiming_conv(net, part[2], y, channels, 3, 1));
    if (stride > 1 || (x && reln_node_dims(x).c != channels))
        skip = plain_norm(net, part[4], kaiming_conv(net, part[4], x, channels, 1, stride));
    return reln_relu(g, reln_add(g, y, skip));
}

/* y = x W + b, W from N(0, 0.01), over all samples and channels. */
static RelnNode *full(const RelnNet *net, const char *name, RelnNode *x, int channels, double scale)
{
    char W[NAME], b[NAME];
    const RelnDims d = x ? reln_node_dims(x) : (RelnDims){.p = 1, .c = 1};
    RelnNode *y;

    snprintf(W, sizeof W, "%s.W", name);
    snprintf(b, sizeof b, "%s.b", name);
    y = reln_conv(net->graph, x,
                  reln_param(net->graph, W, (RelnDims){.r = d.p * d.c, .c = channels},
                             (RelnInit){RELN_INIT_NORMAL, scale}),
                  RELN_P, (RelnWindow){.width = d.p});
    return reln_add(
        net->graph, y,
        reln_param(net->graph, b, (RelnDims){.c = channels}, (RelnInit){RELN_INIT_CONSTANT, 0}));
}

static RelnNode *dropped(const RelnNet *net, const DroneModel *model, RelnNode *x, uint64_t key)
{
    return net->train && !model->keeps_all ? reln_dropout(net->graph, x, 0.5, key) : x;
}

RelnNode *drone_resnet(const RelnNet *net, const DroneModel *model)
{
    const DroneRow *row = model->row;
    RelnGraph *g = net->graph;
    const int groups[4] = {row->width, row->second, row->third, row->last};
    const int c_v = 3 * model->sensors,
              c_m = drone_size_m(row->input, model->sensors) / DRONE_WINDOW;
    RelnNode *x[2];
    char name[NAME];

    x[0] = reln_input(g, "v", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .c = c_v}, NULL,
                      RELN_DEFAULT);
    if (c_m > 0)
        x[1] = reln_input(g, "m", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .c = c_m}, NULL,
                          RELN_DEFAULT);
    x[0] = c_m > 0 ? reln_concat(g, 2, x, RELN_C) : x[0];
    x[0] =
        reln_relu(g, plain_norm(net, "in.norm", kaiming_conv(net, "in", x[0], row->width, 7, 2)));
    x[0] = reln_window_max(g, x[0], RELN_P, (RelnWindow){3, 2, 1, 1, 1});
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "group%d.%d", i / 2, i % 2);
        x[0] = plain_block(net, name, x[0], groups[i / 2], i > 0 && i % 2 == 0 ? 2 : 1);
    }
    x[0] = plain_norm(net, "head.norm", kaiming_conv(net, "head.prep", x[0], row->prep, 1, 1));
    x[0] = dropped(net, model, reln_relu(g, full(net, "head.fc1", x[0], row->last, 0.01)), 1);
    x[0] = dropped(net, model, reln_relu(g, full(net, "head.fc2", x[0], row->last, 0.01)), 2);
    x[0] = full(net, "head.fc3", x[0], 3, 0.01);
    return reln_reshape(g, x[0], (RelnDims){.k = 3});
}

/* ---- all networks ------------------------------------------------------------------------------------------------- */

bool drone_learns(const DroneRow *row)
{
    return row->arch >= DRONE_RESNET;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

static void multiply(const RelnEntryInfo *e, double factor)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->dtype == RELN_F64)
            ((double *)e->values)[i] *= factor;
        else
            ((float *)e->values)[i] *= (float)factor;
}

/* A ReLU of matrices adds b d, d = x U, which is cubic in x and quadratic in U. With undamped U, a feature of
 * size 1 grows to about 6, and a chain of ten overflows until the norms have seen a hundred batches. */
#define DAMPED 0.25

/* The second norm of a block starts with gain 0, so that the block starts as its skip connection. */
static void begin_blocks(RelnStore *store)
{
    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo e = reln_store_entry(store, i);

        if (e.kind == RELN_ENTRY_PARAM && ends_with(e.name, ".norm2.gamma"))
            multiply(&e, 0);
        if (e.kind == RELN_ENTRY_PARAM && ends_with(e.name, ".relu.U"))
            multiply(&e, DAMPED);
    }
}

void drone_begin(RelnStore *store, const DroneModel *model)
{
    if (model->row->arch == DRONE_OURS)
        drone_ours_begin(store, model);
    else if (model->row->arch == DRONE_VN || model->row->arch == DRONE_RELN)
        begin_blocks(store);
}

RelnNode *drone_network(const RelnNet *net, const void *model)
{
    const DroneModel *m = model;

    switch (m->row->arch) {
    case DRONE_RESNET:
        return drone_resnet(net, m);
    case DRONE_VN:
    case DRONE_RELN:
        return drone_backbone(net, m);
    case DRONE_TFN:
    case DRONE_SE3T:
        return drone_chain(net, m);
    default:
        return drone_ours(net, m);
    }
}
