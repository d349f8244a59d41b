/* h5.h -- HDF5 through the program reln-h5, which runs as a child process; its output is checked like any
 * file. */
#ifndef IO_H5_H
#define IO_H5_H

#include "base/base.h"
#include "io/zip.h"

/* Finds the path of reln-h5, in the arena: `given`, or beside the running program, in ../libexec/reln, or in
 * the installation directory. RELN_ERR_UNSUPPORTED, with the places searched, when it is not found. */
RelnStatus reln_h5_find(RelnArena *arena, const char *path, const char *given, const char **out);
/* Runs the program with its arguments and passes its output to the sink. If it fails, its last line on stderr
 * is the message. */
RelnStatus reln_h5_run(RelnCtx *ctx, const char *program, const char *command, const char *path,
                       const char *dataset, RelnSink *sink, void *self);

#endif
