/* args.h -- the command line, parsed. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct CliCommand CliCommand;

enum { CLI_MAX_OPERANDS = 8 };

/* Options that a command may take besides those that every command takes. */
enum { CLI_EVERY = 0, CLI_BASIS = 1 << 0 };

typedef struct CliArgs {
    bool help;
    bool json;
    const char *basis;
    uint64_t threads; /* 0: not given */
    uint64_t seed;
    int n_operands;
    const char *operands[CLI_MAX_OPERANDS];
} CliArgs;

/* Parses what follows the command's name. When it is wrong: says so in one line and returns false. */
bool cli_args_parse(const CliCommand *command, int argc, char **argv, CliArgs *out);

/* The options that a command takes, a line each. */
void cli_args_print(const CliCommand *command, FILE *stream);

/* The place of the word in the list that is the fewest edits away. count > 0. */
int cli_nearest(const char *word, const char *const *list, int count);

#endif
