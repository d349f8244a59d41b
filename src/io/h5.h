/* h5.h -- HDF5 through the program reln-h5, which runs as a child; its output is checked like any file. */
#ifndef IO_H5_H
#define IO_H5_H

#include "base/base.h"
#include "io/zip.h"

/* The path of reln-h5 in the arena: `given`, or beside the running program, in ../libexec/reln, or where it was to be
 * installed. RELN_ERR_UNSUPPORTED with what is missing when it is nowhere. */
RelnStatus reln_h5_find(RelnArena *arena, const char *path, const char *given, const char **out);
/* Runs it with its arguments and gives its output to the sink. Its last line on stderr is the message when it fails. */
RelnStatus reln_h5_run(RelnCtx *ctx, const char *program, const char *command, const char *path,
                       const char *dataset, RelnSink *sink, void *self);

#endif
