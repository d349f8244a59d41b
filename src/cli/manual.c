/* manual.c -- see manual.h. */
#include "cli/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Columns of an indented line, including its indentation: man indents text by 7, and examples by 2 more. */
enum { MAN_COLUMNS = 71 };

/* ---- troff ---------------------------------------------------------------------------------------------------- */

/* Writes one line of text as troff: backslashes are doubled, hyphens stay hyphens that can be copied, and a
 * period or a quote at the beginning is not taken for a request. */
static void troff(const char *text, int length)
{
    if (length > 0 && (text[0] == '.' || text[0] == '\''))
        fputs("\\&", stdout);
    for (int i = 0; i < length; i++)
        switch (text[i]) {
        case '\\':
            fputs("\\e", stdout);
            break;
        case '-':
            fputs("\\-", stdout);
            break;
        case '`':
            fputs("\\(ga", stdout);
            break;
        case '\'':
            fputs("\\(aq", stdout);
            break;
        case '^':
            fputs("\\(ha", stdout);
            break;
        case '~':
            fputs("\\(ti", stdout);
            break;
        default:
            putchar(text[i]);
        }
}

static void troff_line(const char *text)
{
    troff(text, (int)strlen(text));
    putchar('\n');
}

/* Returns a text filled to the width of a page; the caller frees it. NULL when memory is out. */
static char *filled(const char *lead, const char *text, int length)
{
    const size_t room = strlen(lead) + (size_t)length + 1;
    char *whole = malloc(room), *out = NULL;
    size_t size = 0;
    FILE *stream = whole ? open_memstream(&out, &size) : NULL;

    if (stream) {
        snprintf(whole, room, "%s%.*s", lead, length, text);
        cli_fill_to(stream, MAN_COLUMNS, whole);
        if (fclose(stream) != 0) {
            free(out);
            out = NULL;
        }
    }
    free(whole);
    return out;
}

/* Writes a help text: paragraphs are filled, indented lines are kept. */
static void troff_lines(const char *help)
{
    bool kept = false;

    while (*help) {
        const int length = (int)strcspn(help, "\n");
        const bool indented = help[0] == ' ';

        if (indented && !kept)
            puts(".PP\n.RS 2\n.nf");
        if (!indented && kept)
            puts(".fi\n.RE");
        kept = indented;
        if (length == 0)
            puts(".PP");
        else {
            troff(help + (indented ? 2 : 0), length - (indented ? 2 : 0));
            putchar('\n');
        }
        help += length + (help[length] == '\n');
    }
    if (kept)
        puts(".fi\n.RE");
}

static void troff_help(const char *help)
{
    char *text = filled("", help, (int)strlen(help));

    troff_lines(text ? text : help);
    free(text);
}

/* Writes one way to call a command; a long line continues below, indented. */
static void troff_usage(const char *line, int length)
{
    static const char lead[] = "  reln ";
    char *text = filled(lead, line, length);
    const char *at = text ? text + strlen(lead) : NULL;

    fputs("\\fBreln\\fR ", stdout);
    if (!text) {
        troff(line, length);
        putchar('\n');
    }
    while (at && *at) {
        const int n = (int)strcspn(at, "\n");

        troff(at, n);
        putchar('\n');
        at += n + (at[n] == '\n');
    }
    free(text);
}

static void troff_head(const char *name, const char *purpose)
{
    fputs(".TH ", stdout);
    for (const char *c = name; *c; c++)
        putchar(toupper((unsigned char)*c));
    printf(" 1 \"\" \"reln %s\" \"User Commands\"\n.SH NAME\n", reln_version());
    troff(name, (int)strlen(name));
    fputs(" \\- ", stdout);
    troff_line(purpose);
}

static void troff_exits(void)
{
    puts(".SH EXIT STATUS");
#define SHOW(name, code, text)                                                                     \
    printf(".TP\n%d\n", code);                                                                     \
    troff_line(text);
    CLI_EXIT_LIST(SHOW)
#undef SHOW
}

static void troff_options(const CliCommand *command)
{
    CliOption o;

    puts(".SH OPTIONS");
    for (int i = 0; cli_args_option(command, i, &o); i++) {
        fputs(".TP\n\\fB", stdout);
        troff(o.name, (int)strlen(o.name));
        fputs("\\fR", stdout);
        if (o.value) {
            fputs(" \\fI", stdout);
            troff(o.value, (int)strlen(o.value));
            fputs("\\fR", stdout);
        }
        putchar('\n');
        troff_line(o.help);
    }
}

static void man_command(const CliCommand *command)
{
    const char *line = command->synopsis;
    char name[64];

    snprintf(name, sizeof name, "reln-%s", command->name);
    troff_head(name, command->purpose);
    puts(".SH SYNOPSIS\n.nf");
    while (*line) {
        const int length = (int)strcspn(line, "\n");

        troff_usage(line, length);
        line += length + (line[length] == '\n');
    }
    puts(".fi\n.SH DESCRIPTION");
    troff_help(command->help);
    troff_options(command);
    troff_exits();
    puts(".SH SEE ALSO\n.BR reln (1)");
}

static void man_program(const CliProgram *program)
{
    troff_head("reln", program->purpose);
    puts(".SH SYNOPSIS\n.nf\n\\fBreln\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n"
         "\\fBreln\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR\n"
         "\\fBreln\\fR \\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR\n"
         "\\fBreln\\fR \\fB\\-\\-completion\\fR bash|zsh|fish\n"
         "\\fBreln\\fR \\fB\\-\\-man\\fR [\\fICOMMAND\\fR]\n.fi\n"
         ".SH DESCRIPTION\nEvery command has a separate page.");
    for (int i = 0; i < program->n_commands; i++) {
        printf(".TP\n.BR reln\\-%s (1)\n", program->commands[i]->name);
        troff_line(program->commands[i]->purpose);
    }
    puts(
        ".SH OPTIONS\n.TP\n\\fB\\-\\-completion\\fR bash|zsh|fish\nprint a script that completes "
        "commands and "
        "options in this shell\n.TP\n\\fB\\-\\-man\\fR [\\fICOMMAND\\fR]\nprint this page, or that "
        "of a command, as troff\n.TP\n\\fB\\-\\-version\\fR\nprint version, commit and kernels");
    troff_exits();
}

void cli_print_man(const CliProgram *program, const CliCommand *command)
{
    if (command)
        man_command(command);
    else
        man_program(program);
}

/* ---- completions ---------------------------------------------------------------------------------------------- */

typedef enum Value { NO_VALUE, WORDS, FILES, ANY } Value;

static Value value_of(const CliOption *o)
{
    static const char *const files[] = {"FILE", "PATH", "DIR"};

    if (!o->value)
        return NO_VALUE;
    for (int i = 0; i < 3; i++)
        if (strcmp(o->value, files[i]) == 0)
            return FILES;
    return strchr(o->value, '|') ? WORDS : ANY;
}

/* Prints the words of "a|b|c" with another separator. */
static void put_words(const char *value, char separator)
{
    for (; *value; value++)
        putchar(*value == '|' ? separator : *value);
}

/* Prints text within single quotes of a shell. `colon` is printed for a colon, which has a meaning in zsh. */
static void put_text(const char *text, const char *colon)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == ':')
            fputs(colon, stdout);
        else if (colon[1] && (*text == '[' || *text == ']'))
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void bash_values(const CliProgram *program)
{
    CliOption o;

    for (int c = 0; c < program->n_commands; c++)
        for (int i = 0; cli_args_option(program->commands[c], i, &o); i++) {
            const Value kind = value_of(&o);

            if (kind == NO_VALUE)
                continue;
            printf("    %s/%s) ", program->commands[c]->name, o.name);
            if (kind == WORDS) {
                fputs("words='", stdout);
                put_words(o.value, ' ');
                puts("' ;;");
            } else {
                puts(kind == FILES ? "files=1 ;;" : "return ;;");
            }
        }
}

static void bash_words(const CliProgram *program)
{
    CliOption o;

    for (int c = 0; c < program->n_commands; c++) {
        const CliCommand *command = program->commands[c];
        const bool words = program->operand(command, 0) != NULL;

        printf("    %s/*) files=%d; words='", command->name, command->max_operands > 0 && !words);
        for (int i = 0; cli_args_option(command, i, &o); i++)
            printf("%s ", o.name);
        for (int i = 0; words && program->operand(command, i); i++)
            printf("%s ", program->operand(command, i));
        puts("' ;;");
    }
}

static void completion_bash(const CliProgram *program)
{
    puts("# bash completion for reln; made by `reln --completion bash`\n"
         "_reln()\n{\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' "
         "files=0\n"
         "    COMPREPLY=()\n"
         "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("        words='", stdout);
    for (int c = 0; c < program->n_commands; c++)
        printf("%s ", program->commands[c]->name);
    puts("--help --version --completion --man'\n"
         "    else\n"
         "    case ${COMP_WORDS[1]}/$prev in\n"
         "    --completion/*) words='bash zsh fish' ;;");
    bash_values(program);
    bash_words(program);
    puts("    esac\n"
         "    fi\n"
         "    [ \"$files\" = 1 ] && case $cur in -*) ;; *)\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
         "        return ;;\n"
         "    esac\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "}\n"
         "complete -F _reln reln");
}

static void zsh_command(const CliProgram *program, const CliCommand *command)
{
    CliOption o;

    printf("    %s)\n        _arguments", command->name);
    for (int i = 0; cli_args_option(command, i, &o); i++) {
        const Value kind = value_of(&o);

        printf(" \\\n            '%s[", o.name);
        put_text(o.help, "\\:");
        putchar(']');
        if (kind != NO_VALUE) {
            printf(":%s:", kind == WORDS ? "value" : o.value);
            if (kind == WORDS) {
                putchar('(');
                put_words(o.value, ' ');
                putchar(')');
            } else if (kind == FILES) {
                fputs("_files", stdout);
            }
        }
        putchar('\'');
    }
    if (program->operand(command, 0)) {
        fputs(" \\\n            '*:task:(", stdout);
        for (int i = 0; program->operand(command, i); i++)
            printf("%s%s", i ? " " : "", program->operand(command, i));
        fputs(")'", stdout);
    } else if (command->max_operands > 0) {
        fputs(" \\\n            '*:file:_files'", stdout);
    }
    puts("\n        ;;");
}

static void completion_zsh(const CliProgram *program)
{
    puts("#compdef reln\n# zsh completion for reln; made by `reln --completion zsh`\n"
         "_reln()\n{\n    local -a commands\n    commands=(");
    for (int c = 0; c < program->n_commands; c++) {
        printf("        '%s:", program->commands[c]->name);
        put_text(program->commands[c]->purpose, "\\:");
        puts("'");
    }
    puts("        '--help:show the commands'\n        '--version:show the version'\n"
         "        '--completion:print a completion'\n        '--man:print a man page'\n    )\n"
         "    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    "
         "fi\n"
         "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in");
    for (int c = 0; c < program->n_commands; c++)
        zsh_command(program, program->commands[c]);
    puts("    --completion) compadd bash zsh fish ;;\n    esac\n}\n_reln \"$@\"");
}

static void fish_command(const CliProgram *program, const CliCommand *command)
{
    CliOption o;

    printf("complete -c reln -n __fish_use_subcommand -a %s -d '", command->name);
    put_text(command->purpose, ":");
    puts("'");
    for (int i = 0; cli_args_option(command, i, &o); i++) {
        const Value kind = value_of(&o);

        printf("complete -c reln -n '__fish_seen_subcommand_from %s' -l %s", command->name,
               o.name + 2);
        if (kind == WORDS) {
            fputs(" -x -a '", stdout);
            put_words(o.value, ' ');
            putchar('\'');
        } else if (kind != NO_VALUE) {
            fputs(kind == FILES ? " -r -F" : " -x", stdout);
        }
        fputs(" -d '", stdout);
        put_text(o.help, ":");
        puts("'");
    }
    for (int i = 0; program->operand(command, i); i++)
        printf("complete -c reln -n '__fish_seen_subcommand_from %s' -f -a %s\n", command->name,
               program->operand(command, i));
}

static void completion_fish(const CliProgram *program)
{
    puts(
        "# fish completion for reln; made by `reln --completion fish`\n"
        "complete -c reln -n __fish_use_subcommand -f\n"
        "complete -c reln -n __fish_use_subcommand -l help -d 'show the commands'\n"
        "complete -c reln -n __fish_use_subcommand -l version -d 'show the version'\n"
        "complete -c reln -n __fish_use_subcommand -l completion -x -a 'bash zsh fish' -d 'print a "
        "completion'");
    for (int c = 0; c < program->n_commands; c++)
        fish_command(program, program->commands[c]);
}

bool cli_print_completion(const CliProgram *program, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(const CliProgram *program);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

    for (int i = 0; i < 3; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].print(program);
            return true;
        }
    return false;
}
