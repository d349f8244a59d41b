/* remembered.c -- see remembered.h. */
#include "support/remembered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alike.h"
#include "support/support.h"

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long n = 0;

    if (!file)
        fail_msg("%s: no such file; RELN_REMEMBER=1 writes it", path);
    fseek(file, 0, SEEK_END);
    n = ftell(file);
    rewind(file);
    text = calloc((size_t)n + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)n, file), (size_t)n);
    fclose(file);
    return text;
}

void assert_remembered(const char *name, const char *text)
{
    char path[1024], shown[2][121];
    char *want;
    long at = 0;

    snprintf(path, sizeof path, "%s/tests/golden/remembered/%s", RELN_SOURCE_DIR, name);
    if (getenv("RELN_REMEMBER")) {
        FILE *file = fopen(path, "wb");

        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        fclose(file);
        fail_msg("%s: written; look at the difference", path);
    }
    want = read_whole(path);
    if (!texts_alike(text, want, &at)) {
        const long from = at > 60 ? at - 60 : 0;

        snprintf(shown[0], sizeof shown[0], "%s", text + from);
        snprintf(shown[1], sizeof shown[1], "%s", (long)strlen(want) > from ? want + from : "");
        fail_msg("%s, from byte %ld on:\n  saw    ...%s\n  wanted ...%s", name, from, shown[0],
                 shown[1]);
    }
    free(want);
}
