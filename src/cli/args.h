/* args.h -- the parsed command line. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct CliCommand CliCommand;

enum { CLI_MAX_OPERANDS = 32, CLI_MAX_OWN = 8, CLI_MAX_SETS = 64 };

/* Options that a command may accept in addition to those of every command. */
enum {
    CLI_EVERY = 0,
    CLI_BASIS = 1 << 0,
    CLI_OUT = 1 << 1,
    CLI_RESUME = 1 << 2,
    CLI_PRINT_SPEC = 1 << 3,
    CLI_DATA = 1 << 4,
    CLI_DRAWS = 1 << 5,
    CLI_TASK = 1 << 6,
    CLI_BENCH = 1 << 7,
    CLI_DTYPE = 1 << 8,
    CLI_EXACT = 1 << 9,
    CLI_KERNELS = 1 << 10,
    CLI_GRAPH = 1 << 19,
    CLI_PROGRESS = 1 << 12,
    CLI_SET = 1 << 13,
    CLI_NO_CHECK = 1 << 14,
    CLI_SPEC = 1 << 15,
    CLI_SWEEP = 1 << 16,
    CLI_JOBS = 1 << 17,
    CLI_UNTIL = 1 << 18,
    CLI_FOLDS = 1 << 21,
    CLI_REPORT = 1 << 28,
    CLI_SPLATS = 1 << 29,
    CLI_FROM = 1 << 20,
    CLI_OWN = 1 << 11 /* options with values that the command interprets itself */
};

/* A CliList holds the values of an option that may be given several times. */
typedef struct CliList {
    int n;
    const char *items[CLI_MAX_SETS];
} CliList;

typedef struct CliArgs {
    bool help;
    bool json;
    bool quiet, print_spec, quick, finished, seed_given, exact, graph, dot, nodes;
    bool no_check, spec, halving;
    const char *basis, *out, *resume, *data, *scale, *models, *only, *report, *dtype, *kernels,
        *progress, *symmetry, *folds, *from; /* or NULL */
    uint64_t threads, draws, seeds, jobs;    /* 0: not given */
    uint64_t seed;
    int n_operands;
    const char *operands[CLI_MAX_OPERANDS];
    uint64_t random, until, splats; /* 0: not given */
    CliList sets, overs;            /* --set and --over, in the given order */
    int n_own; /* options of CLI_OWN, in the given order: "--name" or "--name=value", and the value */
    struct {
        const char *word, *value;
    } own[CLI_MAX_OWN];
} CliArgs;

/* Parses the words after the command's name. On an error it prints one line and returns false. */
bool cli_args_parse(const CliCommand *command, int argc, char **argv, CliArgs *out);

/* Prints that a command has no such option, with the nearest existing one, among all commands' options and
 * `more`. */
void cli_args_unknown(const CliCommand *command, const char *word, int n_more,
                      const char *const *more);

/* A CliOption is an option as the help describes it. */
typedef struct CliOption {
    const char *name;
    const char *value; /* the name of its value, or "a|b|c", its words; NULL for a flag */
    const char *help;
} CliOption;
/* Returns the index-th option of a command; false past the last. */
bool cli_args_option(const CliCommand *command, int index, CliOption *out);

/* Prints the options of a command, one line each. */
void cli_args_print(const CliCommand *command, FILE *stream);

#endif
