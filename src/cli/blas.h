/* blas.h -- OpenBLAS, loaded while the program runs. */
#ifndef CLI_BLAS_H
#define CLI_BLAS_H

#include "cli/cli.h"

/* Loads OpenBLAS, once, before the first command that calculates; CLI_DONE, or one line on stderr and the exit code. */
CliExit cli_blas_load(void);

#endif
