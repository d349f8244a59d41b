/* nulls.c -- passes NULL for each pointer of each public function, one at a time: the result is a status,
 * NULL or nothing, never a crash.
 * The calls are derived from the headers (derive.awk), so a new function is tested as soon as it is declared.
 * A child process makes each call, so that objects which it destroys exist again for the next call. Returned
 * texts are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "reln/reln.h"

static RelnSetting s;
static RelnPlan *plan;
static RelnPool *pool;
static RelnNode *node;
static RelnNet net;
static RelnTrainer *trainer;
static RelnArchive *archive;
static RelnTensors *tensors;
static RelnElement *element;
static const RelnMaps *maps;
static RelnFn *fn;
static RelnFit *fit;
static RelnModel *model;
static void *slots[64];
static double numbers[1 << 16];
static char text[1 << 12] = "x";
static bool bare; /* plain structs, such as options, are NULL too */

static double a_function(double x)
{
    return x;
}

/* Objects by the name of their type; memory of zeros for plain structs. */
static void *object(const char *type)
{
    static double zeros[1 << 13];
    void *zeroed = zeros;
    const struct {
        const char *type;
        void *object;
    } known[] = {
        {"RelnCtx", s.ctx},       {"RelnGroup", s.group},   {"RelnAlgebra", s.algebra},
        {"RelnStore", s.store},   {"RelnGraph", s.graph},   {"RelnNode", node},
        {"RelnPlan", plan},       {"RelnPool", pool},       {"RelnNet", &net},
        {"RelnSetting", &s},      {"char", text},           {"double", numbers},
        {"RelnModel", model},     {"RelnTrainer", trainer}, {"RelnArchive", archive},
        {"RelnElement", element}, {"RelnFit", fit},         {"RelnFn", fn},
        {"RelnTensors", tensors},
    };

    if (strcmp(type, "RelnRep") == 0 ||
        strcmp(type, "RelnMaps") == 0) { /* both types are only read */
        memcpy(slots, type[4] == 'R' ? (const void *)&s.rep : (const void *)&maps, sizeof slots[0]);
        return slots[0];
    }
    if (bare && strncmp(type, "Reln", 4) == 0 && strcmp(type, "RelnRng") != 0)
        zeroed = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].type, type) == 0)
            return known[i].object;
    return zeroed;
}

static void *pointers(const char *type)
{
    for (size_t i = 0; i < 64; i++)
        slots[i] = strcmp(type, "RelnNode") == 0 ? node : NULL;
    return slots;
}

static void read_text(const char *returned)
{
    if (returned)
        (void)strlen(returned);
}

#define OBJECT(type) object(#type)
#define POINTERS(type) pointers(#type)

/* Format strings come from the pool of valid objects, like all other arguments. */
#pragma GCC diagnostic ignored "-Wformat-security"
#include "null_calls.inc"

static bool survives(const struct Call *c)
{
    const pid_t child = fork();
    int end = 0;

    if (child < 0)
        return false;
    if (child == 0) {
        alarm(20);
        call(c->function, c->null);
        bare = true;
        call(c->function, c->null);
        _exit(0);
    }
    while (waitpid(child, &end, 0) != child)
        ;
    return WIFEXITED(end) && WEXITSTATUS(end) == 0;
}

static RelnStatus load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    (void)self, (void)step;
    *n_samples = 1;
    return RELN_OK;
}

/* A graph with an input, an output, a function and a step of training; its plan and trainer. */
static RelnStatus make_trainer(void)
{
    RelnGraph *const body = reln_fn_begin(s.graph, "f");
    RelnNode *const inner =
        reln_argument(body, RELN_SAMPLES, (RelnDims){.k = 3, .c = 1}, s.rep, RELN_DEFAULT);
    RelnNode *weight = reln_param(s.graph, "w", (RelnDims){.k = 1, .c = 1}, (RelnInit){0});

    fn = reln_fn_end(body, 1, &inner);
    reln_output(s.graph, "x", node);
    reln_train_step(s.graph, &(RelnOptimiser){.adam = RELN_ADAM_DEFAULTS},
                    reln_mul(s.graph, weight, weight));
    RELN_TRY(reln_plan_create(s.graph, NULL, &plan));
    return reln_trainer_create(
        s.ctx,
        &(RelnTrainJob){
            .plan = plan, .store = s.store, .n_steps = 1, .schedule = {.rate = 1}, .load = load},
        &trainer);
}

/* Files of arrays, and a run of one step on them. */
static RelnStatus make_files(void)
{
    const RelnArray arrays[] = {RELN_ARRAY("v", RELN_F64, numbers, 8, 3),
                                RELN_ARRAY("y", RELN_F64, numbers + 100, 8)};
    FILE *const spec = fopen("spec.yaml", "w");
    RelnTrainEnd end;

    if (!spec)
        return RELN_ERR_IO;
    fputs("{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: scalar}, "
          "train: {batch: 4, epochs: 1, validation: 0.25}}\n",
          spec);
    fclose(spec);
    for (int i = 0; i < 200; i++)
        numbers[i] = 1 + (i * 37 % 101) / 101.0;
    RELN_TRY(reln_npz_save(s.ctx, "data.npz", 2, arrays));
    RELN_TRY(reln_tensors_save(s.ctx, "data.safetensors", 2, arrays, NULL));
    RELN_TRY(reln_archive_open(s.ctx, "data.npz", &archive));
    RELN_TRY(reln_tensors_load(s.ctx, "data.safetensors", &tensors));
    RELN_TRY(
        reln_fit_open(s.ctx, "spec.yaml", "data.npz", &(RelnFitOptions){.folder = "run"}, &fit));
    RELN_TRY(reln_fit_run(fit, &end));
    return reln_model_load(s.ctx, "run", RELN_DEFAULT, &model);
}

static char folder[] = "/tmp/reln-nulls-XXXXXX";

static RelnStatus set_up(void)
{
    RelnRng rng;

    if (!mkdtemp(folder) || chdir(folder) != 0)
        return RELN_ERR_IO;
    RELN_TRY(reln_setting_init(&s, "so:3", NULL, RELN_F64, 1));
    RELN_TRY(reln_pool_create(s.ctx, 1, &pool));
    rng = reln_rng(1, 0);
    RELN_TRY(reln_group_random(s.group, &rng, 1.0, &element));
    RELN_TRY(reln_maps_linear(s.rep, s.rep, &maps));
    node = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.k = 3, .c = 1}, s.rep, RELN_DEFAULT);
    net = (RelnNet){.graph = s.graph, .algebra = s.algebra};
    RELN_TRY(make_trainer());
    return make_files();
}

int main(int argc, char **argv)
{
    const size_t n = sizeof calls / sizeof calls[0];
    char clean[64];
    int crashed = 0;

    if (set_up() != RELN_OK) {
        printf("%s\n", reln_ctx_error(s.ctx));
        return 2;
    }
    for (size_t i = 0; i < n; i++)
        if ((argc < 2 || strstr(calls[i].name, argv[1])) && !survives(&calls[i])) {
            printf("%s: NULL for argument %d crashes\n", calls[i].name, calls[i].null);
            crashed++;
        }
    printf("%zu calls with NULL, %d crash\n", n, crashed);
    snprintf(clean, sizeof clean, "rm -rf '%s'", folder);
    if (system(clean) != 0)
        return 2;
    return crashed ? 1 : 0;
}
