/* cli.h -- declarations that the commands of the program share: exit codes, the descriptor of a command, one-line
 * errors, results. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdio.h>

#include "cli/args.h"
#include "kit/kit.h"

/* CLI_EXIT_LIST holds every exit code with its text. The enum and the help are made from it. */
#define CLI_EXIT_LIST(X)                                                                           \
    X(CLI_DONE, 0, "done")                                                                         \
    X(CLI_BROKEN, 1, "a model is not equivariant")                                                 \
    X(CLI_USAGE, 2, "the command line is wrong")                                                   \
    X(CLI_INPUT, 3, "the input is bad or refused")                                                 \
    X(CLI_IO, 4, "input or output failed")                                                         \
    X(CLI_NOMEM, 5, "out of memory")                                                               \
    X(CLI_NUMERIC, 6, "numbers that are not finite: training diverged, or a model gives them")     \
    X(CLI_INTERRUPTED, 130, "interrupted (SIGINT), with a checkpoint to resume from")              \
    X(CLI_PREEMPTED, 138, "asked to stop (SIGUSR1), with a checkpoint to resume from")             \
    X(CLI_TERMINATED, 143, "terminated (SIGTERM), with a checkpoint to resume from")

#define CLI_EXIT_ENUM(name, code, text) name = (code),
typedef enum CliExit { CLI_EXIT_LIST(CLI_EXIT_ENUM) } CliExit;
#undef CLI_EXIT_ENUM

/* One command, one file: cmd_NAME.c defines `const CliCommand cli_cmd_NAME`, and main.c lists it. */
struct CliCommand {
    const char *name;
    const char *synopsis; /* one line per way to call it, each without "reln " */
    const char *purpose;  /* description in one line */
    const char *help;     /* description and examples; the options are listed below it */
    unsigned options;     /* in addition to those of every command: CLI_BASIS | CLI_OUT ... */
    int max_operands;     /* largest number of arguments that are not options */
    bool ranks;           /* several processes may run it together (launch.h) */
    CliExit (*run)(RelnCtx *ctx, const CliArgs *args);
    void (*more_help)(
        const CliArgs *args); /* text below its options, for these arguments; NULL: none */
};

extern const CliCommand cli_cmd_fit, cli_cmd_predict, cli_cmd_eval, cli_cmd_check, cli_cmd_info;
extern const CliCommand cli_cmd_algebra, cli_cmd_reproduce, cli_cmd_bench, cli_cmd_data,
    cli_cmd_report, cli_cmd_sweep, cli_cmd_splats;

/* Reads --dtype; RELN_DEFAULT when it is not given. Returns false, after a message, when the word is
 * unknown. */
bool cli_dtype(const CliArgs *args, RelnDtype *out);
/* Reads --kernels; returns false, after a message, when it is neither "fastest" nor "reference". */
bool cli_reference(const CliArgs *args, bool *out);
/* Prints a line on stderr if data seem to be in other units than those of training. */
void cli_note_units(const RelnModel *model);
/* Prints a line on stderr when a model has its starting weights, because its run has not been evaluated
 * yet. */
void cli_note_untrained(const RelnModel *model);
int cli_threads(const CliArgs *args); /* --threads, or the number of cores */

/* cmd_fit.c: trains in a folder, or resumes the run in it, with one more key of the SPEC. */
CliExit cli_fit_in(RelnCtx *ctx, const CliArgs *args, const char *folder, bool resume,
                   const char *set);
/* folds.c: `reln fit --folds`: trains one run for each fold that is left out, and evaluates them together. */
CliExit cli_fit_folds(RelnCtx *ctx, const CliArgs *args);

/* Prints one line of JSON, and destroys the doc. */
CliExit cli_print_doc(RelnDoc *doc, const RelnDocNode *node);
/* Prints a help text in lines of at most 80 columns: paragraphs are filled; an indented line stays a line, and its last
 * part, behind two blanks or more, continues below its beginning. */
void cli_fill(FILE *out, const char *text);
/* Prints it in lines of another width. */
void cli_fill_to(FILE *out, int columns, const char *text);
CliExit cli_print_table(RelnCtx *ctx, RelnTable *table);

/* Prints "reln: ..." in one line on stderr, whatever bytes the text has, and returns the code. */
CliExit cli_fail(CliExit code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "fit: unknown option '--resum'; the nearest is --resume", or if none is near "...; there are --json,
 * ...". */
CliExit cli_fail_unknown(const char *what, const char *word, const char *const *known, int count);

CliExit cli_exit_of(RelnStatus status); /* exit code for a failed call */

/* Prints text with control characters shown as '?': names of files may hold any byte. */
void cli_print_clean(FILE *stream, const char *text);

#endif
