/* args.c -- see args.h. All options are in one table; each command lists the options that it takes. */
#include "cli/args.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef enum Kind { FLAG, TEXT, TEXTS, NUMBER } Kind;

typedef struct Option {
    const char *name;
    Kind kind;
    const char *value; /* the name of its value, NULL for a flag */
    size_t offset;     /* of its field in CliArgs */
    unsigned needs;    /* CLI_EVERY, or the bit that a command must have */
    uint64_t min, max; /* of a number */
    const char *help;
} Option;

static const Option options[] = {
    {"--basis", TEXT, "FILE", offsetof(CliArgs, basis), CLI_BASIS, 0, 0,
     "basis matrices from a .npy array (K, n, n)"},
    {"--out", TEXT, "PATH", offsetof(CliArgs, out), CLI_OUT, 0, 0,
     "file or folder for the results"},
    {"--resume", TEXT, "DIR", offsetof(CliArgs, resume), CLI_RESUME, 0, 0,
     "continue the run in this folder"},
    {"--print-spec", FLAG, NULL, offsetof(CliArgs, print_spec), CLI_PRINT_SPEC, 0, 0,
     "print a SPEC to start from, with comments"},
    {"--set", TEXTS, "KEY=VALUE", offsetof(CliArgs, sets), CLI_SET, 0, 0,
     "a key of the SPEC, as train.lr=1e-3 or inputs.0.as=vector; any number of them"},
    {"--progress", TEXT, "HOW", offsetof(CliArgs, progress), CLI_PROGRESS, 0, 0,
     "auto (default), bar, plain (a line for each evaluation or half minute) or none"},
    {"--no-check", FLAG, NULL, offsetof(CliArgs, no_check), CLI_NO_CHECK, 0, 0,
     "omit the check of equivariance at the end"},
    {"--spec", FLAG, NULL, offsetof(CliArgs, spec), CLI_SPEC, 0, 0,
     "print a SPEC that can be trained without changes"},
    {"--symmetry", TEXT, "GROUP", offsetof(CliArgs, symmetry), CLI_SPEC, 0, 0,
     "the symmetry of the SPEC, as so:3 or lorentz"},
    {"--over", TEXTS, "KEY=VALUES", offsetof(CliArgs, overs), CLI_SWEEP, 0, 0,
     "a key and its values: 1e-3,3e-3 or 16..64; any number of them"},
    {"--random", NUMBER, "N", offsetof(CliArgs, random), CLI_SWEEP, 1, 1000,
     "N draws of the values instead of every combination"},
    {"--halving", FLAG, NULL, offsetof(CliArgs, halving), CLI_SWEEP, 0, 0,
     "continue with the better half of the runs, repeatedly"},
    {"--from", TEXT, "RUN", offsetof(CliArgs, from), CLI_FROM, 0, 0,
     "begin with the weights of another run, where names and extents agree"},
    {"--until", NUMBER, "N", offsetof(CliArgs, until), CLI_UNTIL, 1, 100000000,
     "pause after epoch N, with a checkpoint to resume from"},
    {"--folds", TEXT, "N|ARRAY", offsetof(CliArgs, folds), CLI_FOLDS, 0, 0,
     "cross-validation: N folds by the seed, or an array of fold numbers"},
    {"--data", TEXT, "FILE", offsetof(CliArgs, data), CLI_DATA, 0, 0,
     "samples to use instead of random ones"},
    {"--exact", FLAG, NULL, offsetof(CliArgs, exact), CLI_EXACT, 0, 0,
     "prove it in exact arithmetic, for all inputs and weights, instead of measuring"},
    {"--draws", NUMBER, "N", offsetof(CliArgs, draws), CLI_DRAWS, 1, 1000000,
     "group elements for each condition number"},
    {"--dtype", TEXT, "f32|f64", offsetof(CliArgs, dtype), CLI_DTYPE, 0, 0,
     "precision to compute in (default: that of training)"},
    {"--kernels", TEXT, "fastest|reference", offsetof(CliArgs, kernels), CLI_KERNELS, 0, 0,
     "kernels to run with; reference: the same bits on every machine (docs/bits.md)"},
    {"--scale", TEXT, "smoke|quick|full", offsetof(CliArgs, scale), CLI_TASK, 0, 0,
     "how much to run: seconds, minutes, or the paper's protocol"},
    {"--seeds", NUMBER, "N", offsetof(CliArgs, seeds), CLI_TASK, 1, 1000, "runs of each model"},
    {"--jobs", NUMBER, "N", offsetof(CliArgs, jobs), CLI_JOBS, 1, 256,
     "N runs at a time, which share the threads"},
    {"--models", TEXT, "LIST", offsetof(CliArgs, models), CLI_TASK, 0, 0,
     "only these, separated by commas"},
    {"--finished", FLAG, NULL, offsetof(CliArgs, finished), CLI_TASK, 0, 0,
     "only make the tables of finished runs"},
    {"--graph", FLAG, NULL, offsetof(CliArgs, graph), CLI_GRAPH, 0, 0,
     "draw the network: layer by layer, shapes, reps, parameters, cost"},
    {"--dot", FLAG, NULL, offsetof(CliArgs, dot), CLI_GRAPH, 0, 0,
     "the same for Graphviz: reln info run --dot | dot -Tsvg > network.svg"},
    {"--nodes", FLAG, NULL, offsetof(CliArgs, nodes), CLI_GRAPH, 0, 0,
     "with --graph or --dot: every node instead of every layer"},
    {"--quick", FLAG, NULL, offsetof(CliArgs, quick), CLI_BENCH, 0, 0,
     "fewer and smaller measurements"},
    {"--only", TEXT, "TEXT", offsetof(CliArgs, only), CLI_BENCH, 0, 0,
     "measurements whose name contains it"},
    {"--report", TEXT, "FILE", offsetof(CliArgs, report), CLI_REPORT, 0, 0,
     "write a page with plots, too"},
    {"--splats", NUMBER, "N", offsetof(CliArgs, splats), CLI_SPLATS, 64, 4096,
     "splats of each object (default: 1024)"},
    {"--json", FLAG, NULL, offsetof(CliArgs, json), CLI_EVERY, 0, 0,
     "print the result as one JSON object"},
    {"--quiet", FLAG, NULL, offsetof(CliArgs, quiet), CLI_EVERY, 0, 0,
     "no progress, no table; errors only"},
    {"--threads", NUMBER, "N", offsetof(CliArgs, threads), CLI_EVERY, 1, 1024,
     "use N threads (default: all); results do not depend on it"},
    {"--seed", NUMBER, "N", offsetof(CliArgs, seed), CLI_EVERY, 0, UINT64_MAX,
     "start random numbers from N"},
    {"--help", FLAG, NULL, offsetof(CliArgs, help), CLI_EVERY, 0, 0, "show this text"},
};
enum { N_OPTIONS = sizeof options / sizeof options[0] };

static bool takes(const CliCommand *command, const Option *option)
{
    return (option->needs & ~command->options) == 0;
}

void cli_args_unknown(const CliCommand *command, const char *word, int n_more,
                      const char *const *more)
{
    const char *known[N_OPTIONS + CLI_MAX_OWN];
    char what[64];
    int count = 0;

    for (int i = 0; i < N_OPTIONS; i++)
        if (takes(command, &options[i]))
            known[count++] = options[i].name;
    for (int i = 0; i < n_more && i < CLI_MAX_OWN; i++)
        known[count++] = more[i];
    snprintf(what, sizeof what, "%s: unknown option", command->name);
    cli_fail_unknown(what, word, known, count);
}

/* Returns whether the word is "--name" or "--name=value". */
static bool names(const char *word, const Option *option)
{
    const size_t length = strlen(option->name);

    return strncmp(word, option->name, length) == 0 &&
           (word[length] == '\0' || word[length] == '=');
}

static const Option *find(const CliCommand *command, const char *word)
{
    const char *const full = strcmp(word, "-h") == 0 ? "--help" : word;

    for (int i = 0; i < N_OPTIONS; i++)
        if (takes(command, &options[i]) && names(full, &options[i]))
            return &options[i];
    return NULL;
}

static bool set_number(const CliCommand *command, const Option *option, const char *text,
                       uint64_t *out)
{
    char *end = NULL;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    /* strtoull accepts signs and spaces, which are refused here */
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < option->min ||
        value > option->max) {
        cli_fail(CLI_USAGE, "%s: %s is '%.60s'; wanted a whole number from %llu to %llu",
                 command->name, option->name, text, (unsigned long long)option->min,
                 (unsigned long long)option->max);
        return false;
    }
    *out = value;
    return true;
}

static bool add_text(const CliCommand *command, const Option *option, const char *text,
                     CliList *list)
{
    if (list->n == CLI_MAX_SETS) {
        cli_fail(CLI_USAGE, "%s: more than %d times %s", command->name, CLI_MAX_SETS, option->name);
        return false;
    }
    list->items[list->n++] = text;
    return true;
}

static bool set(const CliCommand *command, const Option *option, const char *value, CliArgs *out)
{
    void *field = (char *)out + option->offset;

    if (option->offset == offsetof(CliArgs, seed))
        out->seed_given = true;
    if (option->kind == NUMBER)
        return set_number(command, option, value, field);
    if (option->kind == TEXTS)
        return add_text(command, option, value, field);
    if (option->kind == TEXT)
        *(const char **)field = value;
    else
        *(bool *)field = true;
    return true;
}

/* Returns the argument after argv[*at] and steps to it. An argument that begins with "--" is the next option,
 * so the value is missing: NULL. A value that begins so is written behind '='. */
static const char *next_value(int argc, char **argv, int *at)
{
    if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0)
        return NULL;
    return argv[++*at];
}

/* Parses an option that the command itself interprets; its value may be missing. */
static bool parse_own(int argc, char **argv, int *at, CliArgs *out)
{
    const char *const word = argv[*at], *const sign = strchr(word, '=');

    if (out->n_own == CLI_MAX_OWN) {
        cli_fail(CLI_USAGE, "'%.60s' is one option too many", word);
        return false;
    }
    out->own[out->n_own].word = word;
    out->own[out->n_own++].value = sign ? sign + 1 : next_value(argc, argv, at);
    return true;
}

/* Handles argv[*at], and the value after it if there is one. */
static bool parse_option(const CliCommand *command, int argc, char **argv, int *at, CliArgs *out)
{
    const char *const word = argv[*at], *const sign = strchr(word, '=');
    const Option *option = find(command, word);
    const char *value = sign ? sign + 1 : NULL;

    if (!option && command->options & CLI_OWN)
        return parse_own(argc, argv, at, out);
    if (!option) {
        cli_args_unknown(command, word, 0, NULL);
        return false;
    }
    if (option->kind == FLAG && sign) {
        cli_fail(CLI_USAGE, "%s: %s takes no value", command->name, option->name);
        return false;
    }
    if (option->kind != FLAG && !sign)
        value = next_value(argc, argv, at);
    if (option->kind != FLAG && !value) {
        cli_fail(CLI_USAGE, "%s: %s wants a value (%s)", command->name, option->name,
                 option->value);
        return false;
    }
    return set(command, option, value, out);
}

bool cli_args_parse(const CliCommand *command, int argc, char **argv, CliArgs *out)
{
    bool only_operands = false;

    *out = (CliArgs){0};
    for (int i = 0; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!parse_option(command, argc, argv, &i, out))
                return false;
        } else if (out->n_operands == command->max_operands) {
            cli_fail(CLI_USAGE, "%s: '%.60s' is one argument too many", command->name, argv[i]);
            return false;
        } else {
            out->operands[out->n_operands++] = argv[i];
        }
    }
    return true;
}

void cli_args_print(const CliCommand *command, FILE *stream)
{
    enum { WIDTH = 17 };
    CliOption o;

    for (int i = 0; cli_args_option(command, i, &o); i++) {
        char word[64], line[512];

        snprintf(word, sizeof word, "%s %s", o.name, o.value ? o.value : "");
        if (strlen(word) > WIDTH)
            fprintf(stream, "  %s\n", word);
        snprintf(line, sizeof line, "  %-*s  %s", WIDTH, strlen(word) > WIDTH ? "" : word, o.help);
        cli_fill(stream, line);
    }
}

bool cli_args_option(const CliCommand *command, int index, CliOption *out)
{
    for (int i = 0; i < N_OPTIONS; i++)
        if (takes(command, &options[i]) && index-- == 0) {
            *out = (CliOption){options[i].name, options[i].value, options[i].help};
            return true;
        }
    return false;
}
