/* replay.c -- runs a fuzz target once on every file of the named folders, for builds without a fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies the file to a block of exactly its size, so that a sanitizer detects a read beyond its end. */
static int replay_file(const char *path)
{
    static uint8_t buffer[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t n = 0;
    uint8_t *data;

    if (!file)
        return 0;
    n = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    data = malloc(n ? n : 1);
    if (!data)
        abort();
    for (size_t i = 0; i < n; i++)
        data[i] = buffer[i];
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

static int replay_directory(const char *name)
{
    DIR *directory = opendir(name);
    const struct dirent *entry;
    char path[4096];
    int count = 0;

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
            count += replay_file(path);
        }
    if (directory)
        closedir(directory);
    return count;
}

/* A missing corpus is a failure: otherwise the test would always pass. */
int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++)
        count += replay_directory(argv[i]);
    printf("%d files replayed\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
