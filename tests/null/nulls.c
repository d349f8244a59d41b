/* nulls.c -- NULL for each pointer of each public function, one at a time: a status, a NULL or nothing, never a crash.
 *
 * The calls are derived from the headers (derive.awk), so a new function is tested when it is declared. Each call is made by a
 * child process. Objects that are not made here are NULL themselves in every call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reln/reln.h"

/* Functions of files that do not look at their pointers yet. A name leaves the list when they do. */
static const char *const exceptions[] = {
    "reln_archive_count",
    "reln_archive_find",
    "reln_archive_info",
    "reln_archive_open",
    "reln_archive_open_with",
    "reln_archive_range",
    "reln_archive_rows",
    "reln_array_clear",
    "reln_npy_load",
    "reln_npy_parse",
    "reln_npy_save",
    "reln_npz_save",
    "reln_tensors_count",
    "reln_tensors_find",
    "reln_tensors_get",
    "reln_tensors_load",
    "reln_tensors_load_or_previous",
    "reln_tensors_meta",
    "reln_tensors_parse",
    "reln_tensors_save",
    "reln_tensors_save_keeping",
    "reln_tensors_verified",
};

static RelnSetting s;
static RelnPlan *plan;
static RelnPool *pool;
static RelnNode *node;
static RelnNet net;
static void *slots[64];
static double numbers[1 << 16];
static char text[1 << 12] = "x";
static bool bare; /* plain structs, options among them, are NULL as well */

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
        {"RelnCtx", s.ctx},     {"RelnGroup", s.group}, {"RelnAlgebra", s.algebra},
        {"RelnStore", s.store}, {"RelnGraph", s.graph}, {"RelnNode", node},
        {"RelnPlan", plan},     {"RelnPool", pool},     {"RelnNet", &net},
        {"RelnSetting", &s},    {"char", text},         {"double", numbers},
        {"RelnModel", NULL},    {"RelnTrainer", NULL},  {"RelnArchive", NULL},
        {"RelnElement", NULL},  {"RelnFit", NULL},      {"RelnMaps", NULL},
        {"RelnFn", NULL},       {"RelnTensors", NULL},
    };

    if (strcmp(type, "RelnRep") == 0) {
        memcpy(slots, &s.rep, sizeof s.rep);
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

#define OBJECT(type) object(#type)
#define POINTERS(type) pointers(#type)

#include "null_calls.inc"

static bool is_exception(const struct Call *c)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
        if (strcmp(exceptions[i], c->name) == 0)
            return true;
    return false;
}

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

static bool set_up(void)
{
    char folder[] = "/tmp/reln-nulls-XXXXXX";

    if (reln_setting_init(&s, "so:3", NULL, RELN_F64, 1) != RELN_OK ||
        reln_pool_create(s.ctx, 1, &pool) != RELN_OK || !mkdtemp(folder) || chdir(folder) != 0)
        return false;
    node = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.k = 3, .c = 1}, s.rep, RELN_DEFAULT);
    reln_output(s.graph, "x", node);
    net = (RelnNet){.graph = s.graph, .algebra = s.algebra};
    return reln_plan_create(s.graph, NULL, &plan) == RELN_OK;
}

int main(int argc, char **argv)
{
    const size_t n = sizeof calls / sizeof calls[0];
    int crashed = 0;

    if (!set_up())
        return 2;
    for (size_t i = 0; i < n; i++)
        if ((argc < 2 || strstr(calls[i].name, argv[1])) && !is_exception(&calls[i]) &&
            !survives(&calls[i])) {
            printf("%s: NULL for argument %d crashes\n", calls[i].name, calls[i].null);
            crashed++;
        }
    printf("%zu calls with NULL, %d crash\n", n, crashed);
    return crashed ? 1 : 0;
}
