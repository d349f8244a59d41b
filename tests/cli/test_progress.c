/* Tests how progress is shown and how signals are taken: the clock is given here, and stderr is a file. */
#include "cli/progress.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/support.h"

static double now = 10;
static char told[256]; /* the last message */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = (time_t)now;
    t->tv_nsec = (long)(1e9 * (now - (double)t->tv_sec) + 0.5);
    return 0;
}

CliExit cli_fail(CliExit code, const char *format, ...)
{
    va_list rest;

    va_start(rest, format);
    vsnprintf(told, sizeof told, format, rest);
    va_end(rest);
    return code;
}

/* ---- stderr --------------------------------------------------------------------------------------------------------- */

static int kept;    /* stderr of the tests */
static FILE *taken; /* what is written in its place */

static void take(void)
{
    (void)fflush(stderr);
    taken = tmpfile();
    kept = dup(STDERR_FILENO);
    assert_true(taken && kept >= 0 && dup2(fileno(taken), STDERR_FILENO) >= 0);
}

/* Gives stderr back, and compares what was written. */
static void want(const char *wanted)
{
    static char text[4096];
    size_t n;

    (void)fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(taken);
    n = fread(text, 1, sizeof text - 1, taken);
    text[n] = '\0';
    fclose(taken);
    assert_string_equal(text, wanted);
}

/* ---- texts ---------------------------------------------------------------------------------------------------------- */

static void durations_are_short(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0.0 s"},    {4.12, "4.1 s"}, {9.9, "9.9 s"},    {10, "10 s"},
                 {59.2, "59 s"},  {60, "1m00s"},   {200, "3m20s"},    {3599, "59m59s"},
                 {3600, "1h00m"}, {3720, "1h02m"}, {86400, "24h00m"}, {0.999e9, "277500h00m"},
                 {1e9, "?"},      {HUGE_VAL, "?"}, {(double)NAN, "?"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];

        cli_duration(cases[i].seconds, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void words_say_how(void **state)
{
    static const struct {
        const char *word;
        bool quiet, known;
        CliShow how;
    } cases[] = {{NULL, false, true, CLI_SHOW_PLAIN}, /* stderr is no terminal */
                 {"auto", false, true, CLI_SHOW_PLAIN},  {"bar", false, true, CLI_SHOW_BAR},
                 {"plain", false, true, CLI_SHOW_PLAIN}, {"none", false, true, CLI_SHOW_NONE},
                 {"bar", true, true, CLI_SHOW_NONE},     {"loud", false, false, CLI_SHOW_NONE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const CliArgs args = {.progress = cases[i].word, .quiet = cases[i].quiet};
        CliShow how;
        bool known;

        told[0] = '\0';
        take();
        known = cli_progress_how(&args, &how);
        want("");
        assert_int_equal(known, cases[i].known);
        assert_string_equal(told,
                            known ? "" : "--progress is 'loud'; wanted auto, bar, plain or none");
        if (known)
            assert_int_equal(how, cases[i].how);
    }
    take();
    assert_false(cli_progress_begin(false, 0).shown); /* no terminal */
    assert_false(cli_progress_begin(true, 0).shown);
    want("");
}

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

/* The line is written over at most ten times a second, and blanks erase the rest of a longer one. A resumed run counts its
 * own steps for the speed. */
static void a_bar_is_written_over(void **state)
{
    CliProgress p;

    (void)state;
    now = 10;
    p = cli_progress_begin_as(CLI_SHOW_BAR, 100);
    take();
    now = 12;
    cli_progress_show(&p, 200, 1000, "loss 0.125");
    now = 12.05; /* too early */
    cli_progress_show(&p, 300, 1000, "loss 0.125");
    now = 12.5;
    cli_progress_show(&p, 600, 1000, "a");
    now = 12.53; /* the last line is always shown */
    cli_progress_show(&p, 1000, 1000, "b");
    cli_progress_end(&p);
    cli_progress_end(&p); /* erased once */
    cli_progress_line(&p, "a permanent line is for plain progress");
    want("\r 20 %  16 s left  step 200 of 1000  loss 0.125  50 steps/s"
         "\r 60 %  2.0 s left  step 600 of 1000  a  200 steps/s       "
         "\r100 %  0.0 s left  step 1000 of 1000  b  356 steps/s"
         "\r                                                    \r");
}

static void a_bar_is_no_wider_than_a_line(void **state)
{
    const char *digits = "0123456789012345678901234567890123456789012345678901234567890123456789012"
                         "345678901234567890";
    char wanted[256];
    CliProgress p;

    (void)state;
    now = 10;
    p = cli_progress_begin_as(CLI_SHOW_BAR, 0);
    take();
    cli_progress_phase(&p, digits);
    cli_progress_phase(&p, "page");
    cli_progress_end(&p);
    snprintf(wanted, sizeof wanted, "\r%.79s\rpage%75s\r    \r", digits, "");
    want(wanted);
}

/* Without steps behind it there is no speed, and no time left is known. */
static void shares_and_unknown_times(void **state)
{
    CliProgress p;

    (void)state;
    now = 10;
    p = cli_progress_begin_as(CLI_SHOW_BAR, 7);
    take();
    cli_progress_show(&p, 7, 1000, "x");
    now = 20;
    cli_progress_share(&p, 0.25, "reads");
    now = 21;
    cli_progress_share(&p, 0, "reads");
    want("\r  0 %  ? left  step 7 of 1000  x  0 steps/s"
         "\r 25 %  30 s left  reads                    "
         "\r  0 %  ? left  reads   ");
}

/* Lines come once in `pace` seconds, none without a pace, and each phase has one. */
static void plain_lines_have_a_pace(void **state)
{
    CliProgress p, none;

    (void)state;
    now = 10;
    p = cli_progress_begin_as(CLI_SHOW_PLAIN, 0);
    none = cli_progress_begin_as(CLI_SHOW_NONE, 0);
    take();
    now = 100;
    cli_progress_show(&p, 10, 20, "no pace");
    p.pace = 30;
    p.last = 90;
    cli_progress_show(&p, 10, 20, "early");
    now = 120;
    cli_progress_show(&p, 10, 20, "loss 1");
    now = 121;
    cli_progress_show(&p, 20, 20, "early, although it is the last");
    cli_progress_phase(&p, "the page");
    cli_progress_line(&p, "done");
    cli_progress_end(&p);
    cli_progress_show(&none, 20, 20, "nothing");
    cli_progress_phase(&none, "nothing");
    cli_progress_line(&none, "nothing");
    cli_progress_end(&none);
    want(" 50 %  1m50s left  step 10 of 20  loss 1  0.0909 steps/s\nthe page\ndone\n");
}

/* ---- signals -------------------------------------------------------------------------------------------------------- */

/* In a child: the first signal is a request, a second one within a second is the same request, a later one ends the program. */
static void take_signals(int number, CliExit code, int alive)
{
    now = 10.75;
    cli_catch_signals();
    if (cli_asked_to_stop() != 0 || cli_exit_of_signal() != CLI_DONE)
        _exit(1);
    (void)raise(number);
    if (cli_asked_to_stop() != number || cli_exit_of_signal() != code)
        _exit(2);
    now = 11.5;
    (void)raise(number);
    now = 11.7; /* another second of the clock, but not a second later */
    (void)raise(number);
    if (cli_asked_to_stop() != number)
        _exit(3);
    if (write(alive, "", 1) != 1) /* the program still runs */
        _exit(5);
    now = number == SIGINT ? 11.75 : number == SIGTERM ? 12.1 : 20;
    (void)raise(number);
    _exit(4);
}

static void a_signal_is_a_request_and_a_later_one_is_an_order(void **state)
{
    static const struct {
        int number;
        CliExit code;
    } cases[] = {{SIGINT, CLI_INTERRUPTED}, {SIGTERM, CLI_TERMINATED}, {SIGUSR1, CLI_PREEMPTED}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        int status = 0, ends[2];
        pid_t child;
        char byte;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        if (child == 0)
            take_signals(cases[i].number, cases[i].code, ends[1]);
        close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != cases[i].number)
            fail_msg("signal %d: the program ended with status %d", cases[i].number, status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_short),
        cmocka_unit_test(words_say_how),
        cmocka_unit_test(a_bar_is_written_over),
        cmocka_unit_test(a_bar_is_no_wider_than_a_line),
        cmocka_unit_test(shares_and_unknown_times),
        cmocka_unit_test(plain_lines_have_a_pace),
        cmocka_unit_test(a_signal_is_a_request_and_a_later_one_is_an_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
