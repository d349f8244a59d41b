/* reln_mpi.h -- a communicator of reln over MPI. Compile reln_mpi.c with the mpicc of your MPI and link it to your
 * program:
 *
 *     const RelnComm *comm = NULL;
 *     if (reln_mpi_open(&argc, &argv, &comm) != 0) return 1;        // MPI_Init_thread(), unless you called it
 *     reln_fit_open(ctx, spec, data, &(RelnFitOptions){.folder = "run", .comm = comm}, &fit);
 *     ...
 *     reln_mpi_close();                                              // MPI_Finalize(), if it was begun here
 */
#ifndef RELN_MPI_H
#define RELN_MPI_H

#include "reln/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a communicator of all processes of MPI_COMM_WORLD. Returns 0, or a code of MPI. */
int reln_mpi_open(int *argc, char ***argv, const RelnComm **out);
/* Makes a communicator of the processes of one color, in the order of their ranks. All processes must call
 * it. */
int reln_mpi_split(int color, const RelnComm **out);
void reln_mpi_close(void);
/* Ends all processes at once, when this one cannot go on and the others cannot be told. */
void reln_mpi_abort(int code);

#ifdef __cplusplus
}
#endif

#endif
