/* golden.c -- see golden.h. */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static FILE *open_array(const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/golden/layers/%s.npy", RELN_SOURCE_DIR, name);
    return fopen(path, "rb");
}

/* The text between magic and data: {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } */
static bool read_header(FILE *file, char *text, size_t size)
{
    unsigned char head[10];
    size_t n_bytes = 0;

    if (fread(head, 1, 10, file) != 10 || memcmp(head, "\x93NUMPY\x01", 7) != 0)
        return false;
    n_bytes = head[8] + 256u * head[9];
    if (n_bytes >= size || fread(text, 1, n_bytes, file) != n_bytes)
        return false;
    text[n_bytes] = 0;
    return strstr(text, "'fortran_order': False") != NULL;
}

static bool parse_shape(const char *text, int max_rank, ptrdiff_t *dims, int *rank)
{
    const char *p = strstr(text, "'shape': (");

    *rank = 0;
    if (!p)
        return false;
    for (p += strlen("'shape': ("); *p && *p != ')'; p += strspn(p, ", ")) {
        char *end = NULL;
        if (*rank == max_rank)
            return false;
        dims[(*rank)++] = (ptrdiff_t)strtoll(p, &end, 10);
        if (end == p)
            return false;
        p = end;
    }
    return *p == ')';
}

static bool read_values(FILE *file, const char *text, size_t count, double *values)
{
    if (fread(values, sizeof *values, count, file) != count)
        return false;
    if (strstr(text, "'<f8'"))
        return true;
    for (size_t i = 0; i < count; i++) {
        int64_t integer = 0;
        memcpy(&integer, &values[i], sizeof integer);
        values[i] = (double)integer;
    }
    return strstr(text, "'<i8'") != NULL;
}

bool golden_load(const char *name, int max_rank, ptrdiff_t *dims, int *rank, double **values)
{
    FILE *file = open_array(name);
    char text[512];
    size_t count = 1;
    bool good = false;

    if (!file)
        return false;
    good = read_header(file, text, sizeof text) && parse_shape(text, max_rank, dims, rank);
    for (int i = 0; good && i < *rank; i++)
        count *= (size_t)dims[i];
    *values = malloc(good ? (count + 1) * sizeof **values : 1);
    good = good && *values && read_values(file, text, count, *values);
    fclose(file);
    if (!good)
        fail_msg("%s: not a readable f8 or i8 array of rank <= %d", name, max_rank);
    return good;
}
