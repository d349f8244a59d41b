/* manual.h -- man pages and completions, made from the same descriptors as --help. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/cli.h"

/* A CliProgram lists the commands of the program. */
typedef struct CliProgram {
    const char *purpose;
    int n_commands;
    const CliCommand *const *commands;
    /* Returns the words that a command accepts as its first argument: tasks. NULL past the last. */
    const char *(*operand)(const CliCommand *command, int index);
} CliProgram;

/* Prints the man page of a command, or of the program when it is NULL, as troff. */
void cli_print_man(const CliProgram *program, const CliCommand *command);
/* Prints the completion for a shell; returns false when there is none. */
bool cli_print_completion(const CliProgram *program, const char *shell);

#endif
