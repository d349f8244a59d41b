/* missing.c -- writes the message about a missing array, which lists the arrays of the file. */
#include <stdio.h>

#include "model/data.h"

enum { ROOM = 400, MOST = 16 };

static size_t put_shape(const RelnArray *a, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, " (");

    for (int i = 0; i < a->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%td", i ? ", " : "", a->dims[i]);
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, a->rank == 1 ? ",)" : ")");
    return used;
}

RelnStatus reln_data_missing(RelnCtx *ctx, const RelnArchive *archive, const char *name,
                             const char *role)
{
    const int count = reln_archive_count(archive);
    char list[ROOM] = "";
    size_t used = 0;

    for (int i = 0; i < count && i < MOST && used < ROOM; i++) {
        const RelnArray *a = reln_archive_info(archive, i);

        used += (size_t)snprintf(list + used, ROOM - used, "%s%s", i ? ", " : "", a->name);
        if (used < ROOM)
            used += put_shape(a, list + used, ROOM - used);
    }
    if (count > MOST && used < ROOM)
        snprintf(list + used, ROOM - used, ", ...");
    return reln_fail(ctx, RELN_ERR_FORMAT, "%s: there is no array %s%s; there %s %s",
                     reln_archive_name(archive), name, role, count == 1 ? "is" : "are",
                     count > 0 ? list : "none");
}
