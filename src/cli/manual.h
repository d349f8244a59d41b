/* manual.h -- man pages and completions, made from the descriptors that --help is made from. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/cli.h"

/* The commands of the program, which main.c lists. */
typedef struct CliProgram {
    const char *purpose;
    int n_commands;
    const CliCommand *const *commands;
    /* The words that a command takes as its first argument: tasks. NULL past the last. */
    const char *(*operand)(const CliCommand *command, int index);
} CliProgram;

/* The man page of a command, or of the program when it is NULL, as troff. */
void cli_print_man(const CliProgram *program, const CliCommand *command);
/* False when there is no completion for such a shell. */
bool cli_print_completion(const CliProgram *program, const char *shell);

#endif
