/* main.c -- the program `reln`: finds the command, runs it, and checks that its output was written. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/blas.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/manual.h"
#include "tasks/task.h"

static const CliCommand *const commands[] = {
    &cli_cmd_data,    &cli_cmd_fit,       &cli_cmd_predict, &cli_cmd_eval,
    &cli_cmd_check,   &cli_cmd_info,      &cli_cmd_report,  &cli_cmd_sweep,
    &cli_cmd_algebra, &cli_cmd_reproduce, &cli_cmd_bench,   &cli_cmd_splats,
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const char *task_operand(const CliCommand *command, int index)
{
    return command == &cli_cmd_reproduce && index < task_count() ? task_at(index)->name : NULL;
}

static const CliProgram program = {"neural networks that are exactly equivariant to a matrix group",
                                   N_COMMANDS, commands, task_operand};

void cli_print_clean(FILE *stream, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stream);
}

CliExit cli_fail(CliExit code, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs("reln: ", stderr);
    cli_print_clean(stderr, text);
    fputc('\n', stderr);
    return code;
}

CliExit cli_fail_unknown(const char *what, const char *word, const char *const *known, int count)
{
    char name[64], list[800] = "";
    size_t used = 0;
    int near;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    near = reln_nearest(name, known, count);
    if (near >= 0)
        return cli_fail(CLI_USAGE, "%s '%.60s'; the nearest is %s", what, word, known[near]);
    for (int i = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 i == 0           ? ""
                                 : i == count - 1 ? " and "
                                                  : ", ",
                                 known[i]);
    return cli_fail(CLI_USAGE, "%s '%.60s'; there are %s", what, word, list);
}

CliExit cli_exit_of(RelnStatus status)
{
    switch (status) {
    case RELN_OK:
        return CLI_DONE;
    case RELN_ERR_NOMEM:
        return CLI_NOMEM;
    case RELN_ERR_IO:
        return CLI_IO;
    default:
        return CLI_INPUT;
    }
}

/* Prints a name of at least `width` columns between `lead` and `join`, and its purpose. */
static void fill(const char *lead, int width, const char *name, const char *join,
                 const char *purpose)
{
    char text[512];

    snprintf(text, sizeof text, "%s%-*s%s%s", lead, width, name, join, purpose);
    cli_fill(stdout, text);
}

static CliExit show_help(void)
{
    printf("reln -- %s\n", program.purpose);
    puts("\n"
         "usage: reln COMMAND [ARGUMENTS] [OPTIONS]\n"
         "       reln COMMAND --help\n"
         "       reln --help | --version\n"
         "       reln --completion bash|zsh|fish\n"
         "       reln --man [COMMAND]\n"
         "\n"
         "commands:");
    for (int i = 0; i < N_COMMANDS; i++)
        fill("  ", 10, commands[i]->name, "  ", commands[i]->purpose);
    puts("\nexit codes:");
#define SHOW(name, code, text) printf("  %3d  %s\n", name, text);
    CLI_EXIT_LIST(SHOW)
#undef SHOW
    return CLI_DONE;
}

static CliExit show_command_help(const CliCommand *command, const CliArgs *args)
{
    const char *line = command->synopsis;

    fill("reln ", 0, command->name, " -- ", command->purpose);
    puts("");
    puts("usage:");
    for (char text[512]; *line;) {
        const int length = (int)strcspn(line, "\n");

        snprintf(text, sizeof text, "  reln %.*s", length, line);
        cli_fill(stdout, text);
        line += length + (line[length] == '\n');
    }
    puts("");
    cli_fill(stdout, command->help);
    puts("\noptions:");
    cli_args_print(command, stdout);
    if (command->more_help)
        command->more_help(args);
    return CLI_DONE;
}

/* Checks that the stack is large enough, since an overflow could not be reported. The largest frames are
 * below 70 kB and no recursion is deep. */
static CliExit check_stack(void)
{
    enum { LEAST = 256 << 10 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= LEAST)
        return CLI_DONE;
    return cli_fail(CLI_NOMEM, "out of memory: a stack of %llu kB, wanted %d kB (ulimit -s)",
                    (unsigned long long)limit.rlim_cur >> 10, LEAST >> 10);
}

static CliExit run_command(const CliCommand *command, int argc, char **argv)
{
    RelnCtx *ctx = NULL;
    CliArgs args;
    CliExit code;

    if (!cli_args_parse(command, argc, argv, &args))
        return CLI_USAGE;
    if (args.help)
        return show_command_help(command, &args);
    if ((code = check_stack()) != CLI_DONE || (code = cli_blas_load()) != CLI_DONE ||
        reln_ctx_create(NULL, &ctx) != RELN_OK) {
        code = code != CLI_DONE ? code : cli_fail(CLI_NOMEM, "out of memory");
        cli_leave(code, true);
        return code;
    }
    cli_hush();
    if (cli_comm() && !command->ranks) {
        reln_ctx_destroy(ctx);
        return cli_fail(CLI_USAGE, "%s runs as one process; there are %d of them", command->name,
                        cli_comm()->size);
    }
    code = command->run(ctx, &args);
    reln_ctx_destroy(ctx);
    return code;
}

static CliExit fail_unknown(const char *word)
{
    static const char *const own[] = {"--help", "--version", "--completion", "--man"};
    const char *names[N_COMMANDS];

    if (word[0] == '-')
        return cli_fail_unknown("unknown option", word, own, 4);
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i]->name;
    return cli_fail_unknown("unknown command", word, names, N_COMMANDS);
}

static const CliCommand *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

static CliExit show_man(const char *name)
{
    const CliCommand *command = name ? find_command(name) : NULL;

    if (name && !command)
        return fail_unknown(name);
    cli_print_man(&program, command);
    return CLI_DONE;
}

static CliExit run(int argc, char **argv)
{
    const CliCommand *command;

    if (argc < 2)
        return cli_fail(CLI_USAGE, "no command given; reln --help lists them");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return show_help();
    if (strcmp(argv[1], "--version") == 0) {
        printf("reln %s\nkernels: %s\n", task_program(), reln_kernels_text(false));
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--man") == 0)
        return show_man(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--completion") == 0)
        return cli_print_completion(&program, argc > 2 ? argv[2] : "")
                   ? CLI_DONE
                   : cli_fail(CLI_USAGE, "--completion: wanted bash, zsh or fish");
    command = find_command(argv[1]);
    return command ? run_command(command, argc - 2, argv + 2) : fail_unknown(argv[1]);
}

/* Opens /dev/null in place of each standard stream that is closed. Otherwise the next file that is opened
 * would get the stream's number, and messages would go into that file. The replacement can be neither read
 * nor written, so that using it still fails. SIGXFSZ is ignored: a limit on the size of files then gives an
 * error of write(). */
static void guard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1)
            (void)open("/dev/null",
                       fd == 0 ? O_WRONLY : O_RDONLY); /* open() returns the lowest free number,
                                                                     * which is fd */
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* Runs a command. Output that could not be written is a failure, even if the work was done: only here is a
 * full disk noticed. */
int main(int argc, char **argv)
{
    CliExit code;
    bool broken;

    guard_streams();
    code = cli_launch(&argc, &argv);
    if (code == CLI_DONE)
        code = run(argc, argv);
    cli_leave(code, false);
    broken = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) != 0 || broken)
        code = cli_fail(CLI_IO, "cannot write standard output: %s",
                        errno ? strerror(errno) : "write error");
    return (int)code;
}
