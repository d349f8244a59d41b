/* drone.c -- two networks of the drone table (tasks/drone), from a window of 200 velocities and covariances to its displacement:
 * ReLN as published, and a ResNet of as many parameters.
 *
 * bench/peers/README.md defines them, and has them in other software. They are those of the task, without dropout; the last
 * layer of ReLN is linear and starts at random. Nominal operations are those of the matrix products as written there.
 */
#include "bench/bench.h"
#include "tasks/drone/nets.h"

static const DroneRow reln_row = {.arch = DRONE_RELN,
                                  .input = DRONE_IN_LOG,
                                  .width = 21,
                                  .last = 170,
                                  .prep = 42,
                                  .bracket = true};
static const DroneRow resnet_row = {.arch = DRONE_RESNET,
                                    .input = DRONE_IN_COVARIANCE,
                                    .width = 20,
                                    .second = 40,
                                    .third = 80,
                                    .last = 160,
                                    .prep = 44};

/* Steps of a window after halving it so many times, rounded up. */
static double steps(int halvings)
{
    int n = DRONE_WINDOW;

    while (halvings-- > 0)
        n = (n + 1) / 2;
    return n;
}

/* The first layer reads data, whose gradient is not needed. */
static double passes(const BenchNet *b, double first, double others)
{
    return 2 * (b->pass == BENCH_FORWARD ? first + others : 2 * first + 3 * others);
}

/* Products of matrices have nine rows. A block has two convolutions of width 3 and one ReLU, used twice. */
static double reln_operations(const BenchNet *b, const DroneRow *r)
{
    const double w = r->width, l = r->last, p = r->prep, n = steps(5);
    const double start = steps(1) * 3 * w * w;
    const double blocks = steps(2) * 2 * 8 * w * w + steps(4) * (4 * w * l + 5 * l * l + 8 * l * l);
    const double head = n * l * p + n * p * l + 3 * l * l + l;

    return passes(b, 9 * steps(1) * 7 * 2 * w, 9 * (start + blocks + head));
}

static double resnet_operations(const BenchNet *b, const DroneRow *r)
{
    const double groups[4] = {r->width, r->second, r->third, r->last};
    const double l = r->last, p = r->prep, n = steps(5);
    double blocks = steps(2) * 12 * groups[0] * groups[0];

    for (int i = 1; i < 4; i++)
        blocks += steps(2 + i) * (4 * groups[i - 1] * groups[i] + 9 * groups[i] * groups[i]);
    return passes(b, steps(1) * 7 * 12 * groups[0], blocks + 2 * n * l * p + l * l + 3 * l);
}

static RelnNode *displacement(BenchNet *b, const DroneRow *row)
{
    const DroneModel model = {.row = row, .sensors = 1, .keeps_all = true};
    RelnNode *y = drone_network(&b->net, &model);

    for (int i = 0; i < 2; i++)
        b->inputs[b->n_inputs++] = reln_graph_find(b->net.graph, i ? "m" : "v");
    b->x = b->inputs[0];
    b->flops = row->arch == DRONE_RELN ? reln_operations(b, row) : resnet_operations(b, row);
    return y;
}

static RelnNode *reln(BenchNet *b)
{
    return displacement(b, &reln_row);
}

static RelnNode *resnet(BenchNet *b)
{
    return displacement(b, &resnet_row);
}

int bench_drone_cases(BenchCase *out, int room)
{
    static const BenchCase list[] = {
        {.name = "drone-reln",
         .algebra = "so:3",
         .features = "gl:3",
         .points = DRONE_WINDOW,
         .channels = 2,
         .width = 21,
         .batches = {1, 64},
         .build = reln,
         .loss = bench_loss_lengths},
        {.name = "drone-resnet",
         .algebra = "none:3",
         .features = "gl:3",
         .points = DRONE_WINDOW,
         .channels = 12,
         .width = 20,
         .batches = {1, 64},
         .build = resnet,
         .loss = bench_loss_lengths},
    };
    enum { N_LIST = sizeof list / sizeof list[0] };
    int count = 0;

    for (int i = 0; i < N_LIST && count < room; i++)
        out[count++] = list[i];
    return count;
}
