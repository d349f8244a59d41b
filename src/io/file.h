/* file.h -- whole files: opening them for reading with a known size, replacing them in one step; folders. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "base/base.h"
#include "kit/files.h"

/* A RelnSource is a regular file of at most RELN_FILE_MAX_BYTES, opened for reading. After a failure there is
 * nothing to close. */
typedef struct RelnSource {
    RelnCtx *ctx;
    const char *name; /* for messages: the path, or the end of a long path; borrowed */
    int fd;
    size_t n_bytes;
} RelnSource;

RelnStatus reln_source_open(RelnCtx *ctx, const char *path, RelnSource *out);
/* Opens a file of any size, for callers that read it in pieces. */
RelnStatus reln_source_open_large(RelnCtx *ctx, const char *path, RelnSource *out);
/* Reads exactly n_bytes from offset on; RELN_ERR_IO if the file has become shorter. */
RelnStatus reln_source_read(const RelnSource *source, size_t offset, size_t n_bytes, void *bytes);
void reln_source_close(RelnSource *source);

/* A RelnReplace is a file being replaced: bytes go to a temporary file beside it, which is renamed at the
 * commit. A replacement ends with one commit or one abort; a commit that fails needs no abort. */
typedef struct RelnReplace {
    RelnCtx *ctx;
    const char *path; /* borrowed */
    char *temporary;
    int fd;
    bool keep; /* set before the commit: keep the old file as NAME.previous */
} RelnReplace;

RelnStatus reln_replace_begin(RelnCtx *ctx, const char *path, RelnReplace *out);
RelnStatus reln_replace_write(const RelnReplace *file, const void *bytes, size_t n_bytes);
RelnStatus reln_replace_commit(RelnReplace *file);
void reln_replace_abort(RelnReplace *file);

/* Returns the end of a path, short enough that a message has room for the reason. */
const char *reln_path_tail(const char *path);
/* Returns the part after the last slash. */
const char *reln_path_name(const char *path);
bool reln_path_ends_in(const char *path, const char *ending);
/* Fails with "path: cannot `doing`: the system's reason". */
RelnStatus reln_fail_errno(RelnCtx *ctx, const char *path, const char *doing, int error);

#endif
