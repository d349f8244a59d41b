/* test_files.c -- tests writing and appending to files, folders, their lock, and the removal of temporary
 * files. */
#include "support/folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_content(const char *path, const char *wanted)
{
    char text[256] = {0};
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(wanted));
    fclose(file);
    assert_string_equal(text, wanted);
}

static void files_are_replaced_whole_and_keep_their_mode(void **state)
{
    Folder *f = *state;
    const char *const path = path_in(f, "report.html");
    struct stat info;

    assert_ok(f->ctx, reln_file_write(f->ctx, path, "first", 5));
    assert_int_equal(chmod(path, 0640), 0);
    assert_ok(f->ctx, reln_file_write(f->ctx, path, "", 0));
    assert_content(path, "");
    assert_ok(f->ctx, reln_file_write(f->ctx, path, "second", 6));
    assert_content(path, "second");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(reln_file_write(f->ctx, path_in(f, "absent/x"), "x", 1), RELN_ERR_IO);
    assert_int_equal(reln_file_write(f->ctx, f->directory, "x", 1), RELN_ERR_IO);
}

static void appending_adds_at_the_end(void **state)
{
    Folder *f = *state;
    const char *const path = path_in(f, "metrics.csv");

    assert_ok(f->ctx, reln_file_append(f->ctx, path, "a,b\n", 4));
    assert_ok(f->ctx, reln_file_append(f->ctx, path, "1,2\n", 4));
    assert_content(path, "a,b\n1,2\n");
    unlink(path);
    assert_int_equal(reln_file_append(f->ctx, f->directory, "x", 1), RELN_ERR_IO);
}

/* The limit on the file size allows half of the line: none of it may remain. */
static void appending_to_a_full_disk_adds_nothing(void **state)
{
    Folder *f = *state;
    const char *const path = path_in(f, "metrics.csv");
    struct rlimit before, little;

    assert_ok(f->ctx, reln_file_append(f->ctx, path, "a,b\n", 4));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){6, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_int_equal(reln_file_append(f->ctx, path, "1,2\n", 4), RELN_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "metrics.csv: cannot write: File too large"));
    assert_content(path, "a,b\n");
    unlink(path);
}

static void folders_are_made_with_those_on_the_way(void **state)
{
    Folder *f = *state;

    assert_ok(f->ctx, reln_folder_make(f->ctx, path_in(f, "a/b//c/")));
    assert_ok(f->ctx, reln_folder_make(f->ctx, path_in(f, "a/b/c")));
    assert_ok(f->ctx, reln_file_write(f->ctx, path_in(f, "file"), "x", 1));
    assert_int_equal(reln_folder_make(f->ctx, path_in(f, "file")), RELN_ERR_IO);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "cannot make the folder: Not a directory"));
    assert_int_equal(reln_folder_make(f->ctx, path_in(f, "file/inside")), RELN_ERR_IO);
    unlink(path_in(f, "file"));
    assert_int_equal(rmdir(path_in(f, "a/b/c")), 0);
    assert_int_equal(rmdir(path_in(f, "a/b")), 0);
    assert_int_equal(rmdir(path_in(f, "a")), 0);
}

/* The lock has number and machine of the process. */
static void assert_names_this_machine(const char *lock)
{
    char machine[128] = "", text[256] = "", wanted[256];
    FILE *file = fopen(lock, "r");

    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_int_equal(gethostname(machine, sizeof machine - 1), 0);
    snprintf(wanted, sizeof wanted, "%ld %.47s\n", (long)getpid(), machine);
    assert_string_equal(text, wanted);
}

static void a_folder_is_locked_once(void **state)
{
    Folder *f = *state;
    RelnFolderLock *one = NULL, *other = NULL;
    char wanted[96];

    assert_ok(f->ctx, reln_folder_lock(f->ctx, f->directory, &one));
    assert_int_equal(reln_folder_lock(f->ctx, f->directory, &other), RELN_ERR_IO);
    assert_null(other);
    snprintf(wanted, sizeof wanted, "another process, number %ld, is working in this folder",
             (long)getpid());
    assert_non_null(strstr(reln_ctx_error(f->ctx), wanted));
    assert_names_this_machine(path_in(f, ".reln-lock"));
    reln_folder_unlock(one);
    assert_ok(f->ctx, reln_folder_lock(f->ctx, f->directory, &other));
    reln_folder_unlock(other);
    reln_folder_unlock(NULL);
    unlink(path_in(f, ".reln-lock"));
    assert_int_equal(reln_folder_lock(f->ctx, path_in(f, "absent"), &one), RELN_ERR_IO);
}

/* The file system still holds the lock of a process on a machine that no longer exists. */
static void a_lock_of_another_machine_names_it(void **state)
{
    Folder *f = *state;
    FILE *file = fopen(path_in(f, ".reln-lock"), "w");
    RelnFolderLock *lock = NULL;

    assert_non_null(file);
    fputs("77 node-of-no-machine\n", file);
    fflush(file);
    assert_int_equal(flock(fileno(file), LOCK_EX), 0);
    assert_int_equal(reln_folder_lock(f->ctx, f->directory, &lock), RELN_ERR_IO);
    assert_null(lock);
    assert_non_null(strstr(reln_ctx_error(f->ctx),
                           ": process 77 on node-of-no-machine is working in this folder; if that "
                           "machine is gone, remove .reln-lock from the folder"));
    assert_int_equal(unlink(path_in(f, ".reln-lock")), 0); /* as the message advises */
    assert_ok(f->ctx, reln_folder_lock(f->ctx, f->directory, &lock));
    reln_folder_unlock(lock);
    fclose(file);
    unlink(path_in(f, ".reln-lock"));
}

static void the_lock_of_a_killed_process_is_free(void **state)
{
    Folder *f = *state;
    RelnFolderLock *lock = NULL;
    int ready[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        const RelnStatus status = reln_folder_lock(f->ctx, f->directory, &lock);

        if (status != RELN_OK || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(reln_folder_lock(f->ctx, f->directory, &lock), RELN_ERR_IO);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_ok(f->ctx, reln_folder_lock(f->ctx, f->directory, &lock));
    reln_folder_unlock(lock);
    close(ready[0]);
    close(ready[1]);
    unlink(path_in(f, ".reln-lock"));
}

/* Returns the number of a process that has just ended. */
static long dead_process(void)
{
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return (long)child;
}

/* Returns a name with the process number in place of %ld. */
static const char *name_with(const char *pattern, long process)
{
    static char name[64];
    const char *const mark = strstr(pattern, "%ld");
    const int before = (int)(mark ? mark - pattern : 0);

    if (mark)
        snprintf(name, sizeof name, "%.*s%ld%s", before, pattern, process, mark + 3);
    else
        snprintf(name, sizeof name, "%s", pattern);
    return name;
}

static void only_temporaries_of_dead_processes_are_swept_out(void **state)
{
    static const char *const kept[] = {"model.safetensors", "x.tmp-%ld",  "x.tmp-%ld-",
                                       "x.tmp-%ld-0x",      ".tmp-%ld-0", "x.tmp--%ld-0"};
    Folder *f = *state;
    const long dead = dead_process();
    char name[64];
    int n_removed = 0;

    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_ok(f->ctx, reln_file_write(f->ctx, path_in(f, name_with(kept[i], dead)), "x", 1));
    snprintf(name, sizeof name, "own.tmp-%ld-0", (long)getpid());
    assert_ok(f->ctx, reln_file_write(f->ctx, path_in(f, name), "x", 1));
    assert_ok(f->ctx, reln_folder_sweep(f->ctx, f->directory, &n_removed));
    assert_int_equal(n_removed, 0);

    snprintf(name, sizeof name, "x.tmp-%ld-0", dead);
    assert_ok(f->ctx, reln_file_write(f->ctx, path_in(f, name), "x", 1));
    assert_ok(f->ctx, reln_folder_sweep(f->ctx, f->directory, &n_removed));
    assert_int_equal(n_removed, 1);
    assert_int_equal(access(path_in(f, name), F_OK), -1);

    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_int_equal(unlink(path_in(f, name_with(kept[i], dead))), 0);
    snprintf(name, sizeof name, "own.tmp-%ld-0", (long)getpid());
    unlink(path_in(f, name));
    assert_int_equal(reln_folder_sweep(f->ctx, path_in(f, "absent"), &n_removed), RELN_ERR_IO);
}

/* The process seems to have ended, by its number, but holds the lock, as on another machine or in another
 * container. */
static void a_temporary_that_is_locked_stays(void **state)
{
    Folder *f = *state;
    char name[64];
    int n_removed = 1;
    FILE *file;

    snprintf(name, sizeof name, "x.tmp-%ld-0", dead_process());
    file = fopen(path_in(f, name), "wb");
    assert_non_null(file);
    assert_int_equal(flock(fileno(file), LOCK_EX), 0);
    assert_ok(f->ctx, reln_folder_sweep(f->ctx, f->directory, &n_removed));
    assert_int_equal(n_removed, 0);
    fclose(file);
    assert_ok(f->ctx, reln_folder_sweep(f->ctx, f->directory, &n_removed));
    assert_int_equal(n_removed, 1);
}

static char faults_path[160];

static RelnStatus all_of_it(RelnCtx *ctx)
{
    RelnFolderLock *lock = NULL;
    RelnStatus status = reln_folder_make(ctx, faults_path);

    if (status == RELN_OK)
        status = reln_folder_lock(ctx, faults_path, &lock);
    reln_folder_unlock(lock);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    Folder *f = *state;

    snprintf(faults_path, sizeof faults_path, "%s", path_in(f, "run"));
    assert_true(fail_every_allocation(all_of_it) >= 3);
    unlink(path_in(f, "run/.reln-lock"));
    rmdir(path_in(f, "run"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_replaced_whole_and_keep_their_mode),
        TEST(appending_adds_at_the_end),
        TEST(appending_to_a_full_disk_adds_nothing),
        TEST(folders_are_made_with_those_on_the_way),
        TEST(a_folder_is_locked_once),
        TEST(a_lock_of_another_machine_names_it),
        TEST(the_lock_of_a_killed_process_is_free),
        TEST(only_temporaries_of_dead_processes_are_swept_out),
        TEST(a_temporary_that_is_locked_stays),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
