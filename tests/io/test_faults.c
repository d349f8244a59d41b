/* test_faults.c -- makes every system call of a save and of a load fail once: the file is then the old or the
 * new one, and no other file is left.
 * The linker redirects open, fstat, stat, pread, write, fchmod, fsync, link, rename and close to the
 * functions below (--wrap): the k-th call fails. */
#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    bool on;
    int calls;   /* number of calls since the start of the run */
    int fail_at; /* 1-based */
    int error;   /* errno of the failing call; 0: it transfers one byte only */
    int n_open;  /* descriptors opened and not closed */
    int folder;  /* errno of syncing a folder, when not 0 */
    int link;    /* errno of every link, when not 0 */
    off_t size;  /* size that fstat reports instead of the true one, if not 0 */
} fault;

static bool fails(void)
{
    if (!fault.on || ++fault.calls != fault.fail_at || fault.error == 0)
        return false;
    errno = fault.error;
    return true;
}

static size_t shortened(size_t n)
{
    return fault.on && fault.calls == fault.fail_at && fault.error == 0 && n > 1 ? 1 : n;
}

/* clang-format off */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *info);
int __wrap_fstat(int fd, struct stat *info);
int __real_stat(const char *path, struct stat *info);
int __wrap_stat(const char *path, struct stat *info);
ssize_t __real_pread(int fd, void *bytes, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t n, off_t at);
ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_close(int fd);
int __wrap_close(int fd);
/* clang-format on */

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode = 0;
    int fd;

    va_start(args, flags);
    if (flags & O_CREAT)
        mode = va_arg(args, mode_t);
    va_end(args);
    if (fails())
        return -1;
    fd = __real_open(path, flags, mode);
    fault.n_open += fd >= 0;
    return fd;
}

int __wrap_fstat(int fd, struct stat *info)
{
    const int result = fails() ? -1 : __real_fstat(fd, info);

    if (result == 0 && fault.size != 0)
        info->st_size = fault.size;
    return result;
}

int __wrap_stat(const char *path, struct stat *info)
{
    return fails() ? -1 : __real_stat(path, info);
}

ssize_t __wrap_pread(int fd, void *bytes, size_t n, off_t at)
{
    return fails() ? -1 : __real_pread(fd, bytes, shortened(n), at);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    return fails() ? -1 : __real_write(fd, bytes, shortened(n));
}

int __wrap_fchmod(int fd, mode_t mode)
{
    return fails() ? -1 : __real_fchmod(fd, mode);
}

int __wrap_fsync(int fd)
{
    struct stat info;

    if (fault.on && fault.folder && __real_fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = fault.folder;
        return -1;
    }
    return fails() ? -1 : __real_fsync(fd);
}

int __wrap_link(const char *from, const char *to)
{
    if (fault.on && fault.link) {
        errno = fault.link;
        return -1;
    }
    return fails() ? -1 : __real_link(from, to);
}

int __wrap_rename(const char *from, const char *to)
{
    return fails() ? -1 : __real_rename(from, to);
}

/* A close() that fails has closed the file nevertheless. */
int __wrap_close(int fd)
{
    const bool failed = fails();
    const int error = errno;

    fault.n_open--;
    __real_close(fd);
    errno = error;
    return failed ? -1 : 0;
}

/* ---- the runs ----------------------------------------------------------------------------------------------- */

typedef struct Fixture {
    RelnCtx *ctx;
    char directory[64], path[96];
} Fixture;

enum { COUNT = 20000 }; /* three chunks */
static double old_values[COUNT], new_values[COUNT];

static int setup(void **state)
{
    static Fixture f;

    memset(&fault, 0, sizeof fault);
    snprintf(f.directory, sizeof f.directory, "/tmp/reln-faults-XXXXXX");
    *state = &f;
    if (!mkdtemp(f.directory) || reln_ctx_create(NULL, &f.ctx) != RELN_OK)
        return -1;
    snprintf(f.path, sizeof f.path, "%s/a.npy", f.directory);
    for (int i = 0; i < COUNT; i++) {
        old_values[i] = i;
        new_values[i] = -i;
    }
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    reln_ctx_destroy(f->ctx);
    unlink(f->path);
    return rmdir(f->directory);
}

static RelnStatus save(Fixture *f, double *values)
{
    const RelnArray array = RELN_ARRAY(NULL, RELN_F64, values, COUNT);

    return reln_npy_save(f->ctx, f->path, &array);
}

static void begin(int fail_at, int error)
{
    fault.calls = 0;
    fault.fail_at = fail_at;
    fault.error = error;
    fault.n_open = 0;
    fault.on = true;
}

static int count_files(const Fixture *f)
{
    DIR *const directory = opendir(f->directory);
    int files = 0;

    for (const struct dirent *e = readdir(directory); e; e = readdir(directory))
        files += e->d_name[0] != '.';
    closedir(directory);
    return files;
}

/* Asserts that no file is open, no memory is allocated and no temporary file is left. */
static void end(const Fixture *f)
{
    fault.on = false;
    assert_int_equal(fault.n_open, 0);
    assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
    assert_int_equal(count_files(f), 1);
}

/* Returns 'o' or 'n': the file holds all old or all new values. */
static char content(Fixture *f)
{
    RelnArray a;
    bool is_old, is_new;

    assert_ok(f->ctx, reln_npy_load(f->ctx, f->path, &a));
    is_old = memcmp(a.values, old_values, sizeof old_values) == 0;
    is_new = memcmp(a.values, new_values, sizeof new_values) == 0;
    reln_array_clear(&a);
    assert_true(is_old || is_new);
    return is_old ? 'o' : 'n';
}

static void a_save_whose_kth_system_call_fails_leaves_a_whole_file(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EROFS};
    Fixture *f = *state;

    for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++)
        for (int k = 1;; k++) {
            RelnStatus status;

            assert_ok(f->ctx, save(f, old_values));
            begin(k, errors[e]);
            status = save(f, new_values);
            end(f);
            if (fault.calls < k) {
                assert_true(
                    k > 10); /* stat, open, fchmod, 4 writes, fsync, rename, close ... were seen */
                assert_int_equal(content(f), 'n');
                break;
            }
            /* a failure to sync the folder, after the renaming, is reported although the file is new */
            assert_true(content(f) == 'o' || fault.fail_at > 9);
            assert_true(status == RELN_ERR_IO || (status == RELN_OK && content(f) == 'n'));
        }
}

/* A new name that is not on the disk may be lost in a crash. */
static void a_folder_that_cannot_be_synced_is_an_error(void **state)
{
    Fixture *f = *state;

    assert_ok(f->ctx, save(f, old_values));
    begin(0, EIO);
    fault.folder = EIO;
    assert_int_equal(save(f, new_values), RELN_ERR_IO);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "Input/output error"));
    fault.folder = EINVAL; /* a file system that cannot sync folders */
    assert_ok(f->ctx, save(f, new_values));
    fault.folder = 0;
    end(f);
    assert_int_equal(content(f), 'n');
}

static void a_load_whose_kth_system_call_fails_is_an_error_without_values(void **state)
{
    Fixture *f = *state;

    assert_ok(f->ctx, save(f, old_values));
    for (int k = 1;; k++) {
        RelnArray a;
        RelnStatus status;

        begin(k, EIO);
        status = reln_npy_load(f->ctx, f->path, &a);
        if (status == RELN_OK)
            reln_array_clear(
                &a); /* only a failing close() after the last byte may remain unnoticed */
        else
            assert_null(a.values);
        end(f);
        if (fault.calls < k)
            break;
        assert_true(status == RELN_ERR_IO || k == fault.calls);
        assert_true(status == RELN_OK ||
                    strstr(reln_ctx_error(f->ctx), "Input/output error") != NULL);
    }
}

/* Transfers that are interrupted, or move one byte only, are continued. */
static void short_and_interrupted_transfers_are_continued(void **state)
{
    Fixture *f = *state;

    for (int k = 1; k < 16; k++)
        for (int error = 0; error <= EINTR; error += EINTR) {
            assert_ok(f->ctx, save(f, old_values));
            begin(k, error);
            /* calls 4 to 7 of a save are its writes; other interrupted calls may fail */
            if (save(f, new_values) != RELN_OK)
                assert_true(error == EINTR && (k < 4 || k > 7));
            end(f);
            if (k < 8 && k > 3)
                assert_int_equal(content(f), 'n');
            begin(k, error);
            if (k > 2) /* open, fstat, then reads */
                content(f);
            end(f);
        }
}

/* The size is read before the bytes: here the file is cut in between. */
static void a_file_that_becomes_shorter_while_it_is_read_is_an_error(void **state)
{
    Fixture *f = *state;
    struct stat info;

    assert_ok(f->ctx, save(f, old_values));
    assert_int_equal(stat(f->path, &info), 0);
    for (off_t cut = info.st_size; cut > 0; cut /= 7) {
        RelnArray a;

        assert_ok(f->ctx, save(f, old_values));
        assert_int_equal(truncate(f->path, info.st_size - cut), 0);
        fault.size = info.st_size;
        assert_int_equal(reln_npy_load(f->ctx, f->path, &a), RELN_ERR_IO);
        fault.size = 0;
        assert_non_null(strstr(reln_ctx_error(f->ctx), "became shorter"));
        assert_null(a.values);
        assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
    }
}

/* ---- a checkpoint with the previous one ---------------------------------------------------------------------------- */

static RelnStatus save_step(Fixture *f, int64_t step)
{
    const RelnArray one = {.name = "step", .dtype = RELN_I64, .values = &step};

    return reln_tensors_save_keeping(f->ctx, f->path, 1, &one, NULL);
}

static int64_t load_step(Fixture *f, const char *path)
{
    RelnTensors *t = NULL;
    bool previous = false;
    int64_t step;

    assert_ok(f->ctx, reln_tensors_load_or_previous(f->ctx, path, &t, &previous));
    step = *(const int64_t *)reln_tensors_get(t, 0)->values;
    reln_tensors_destroy(t);
    return step;
}

/* Whatever call fails, the old or the new checkpoint exists under one of the two names, and no temporary file
 * does. */
static void a_checkpoint_whose_kth_system_call_fails_leaves_a_whole_one(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EPERM, EROFS};
    Fixture *f = *state;
    char previous[112];

    snprintf(previous, sizeof previous, "%s.previous", f->path);
    for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++)
        for (int k = 1;; k++) {
            RelnStatus status;

            unlink(f->path);
            unlink(previous);
            assert_ok(f->ctx, save_step(f, 1));
            assert_ok(f->ctx, save_step(f, 2));
            begin(k, errors[e]);
            status = save_step(f, 3);
            fault.on = false;
            assert_int_equal(fault.n_open, 0);
            assert_int_equal(reln_ctx_live_blocks(f->ctx), 0);
            assert_in_range(count_files(f), 1, 2);
            assert_in_range(load_step(f, f->path), status == RELN_OK ? 3 : 2, 3);
            if (fault.calls < k) {
                assert_true(
                    k >
                    10); /* stat, open, fchmod, writes, fsync, link, renames, close ... were seen */
                assert_int_equal(load_step(f, previous), 2);
                break;
            }
        }
    unlink(previous);
}

/* A file system without hard links says so before it looks for the file: a first checkpoint and a second one
 * are saved there, and the first is kept. */
static void checkpoints_are_saved_without_hard_links(void **state)
{
    Fixture *f = *state;
    char previous[112];

    snprintf(previous, sizeof previous, "%s.previous", f->path);
    unlink(f->path);
    fault.link = EPERM;
    begin(0, EIO); /* no other call fails */
    for (int64_t step = 1; step <= 2; step++)
        assert_ok(f->ctx, save_step(f, step));
    fault.link = 0;
    fault.on = false;
    assert_int_equal(load_step(f, f->path), 2);
    assert_int_equal(load_step(f, previous), 1);
    unlink(previous);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_save_whose_kth_system_call_fails_leaves_a_whole_file),
        TEST(a_folder_that_cannot_be_synced_is_an_error),
        TEST(a_load_whose_kth_system_call_fails_is_an_error_without_values),
        TEST(short_and_interrupted_transfers_are_continued),
        TEST(a_file_that_becomes_shorter_while_it_is_read_is_an_error),
        TEST(a_checkpoint_whose_kth_system_call_fails_leaves_a_whole_one),
        TEST(checkpoints_are_saved_without_hard_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
