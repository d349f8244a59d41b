/* blas.h -- OpenBLAS, loaded at run time. */
#ifndef CLI_BLAS_H
#define CLI_BLAS_H

#include "cli/cli.h"

/* Loads OpenBLAS, once, before the first command that calculates. Returns CLI_DONE, or prints one line on
 * stderr and returns the exit code. */
CliExit cli_blas_load(void);

#endif
