/* launch.h -- several processes of the program, started together by mpirun or srun. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "cli/cli.h"

/* Joins the other processes, if a launcher has started any: executes the program that is linked with the
 * launcher's MPI, unless this is it. CLI_DONE: continue. */
CliExit cli_launch(int *argc, char ***argv);
/* Leaves the ranks. If this process failed where the others cannot learn of it, ends all of them at once. */
void cli_leave(CliExit code, bool unheard);
/* Silences all ranks but rank 0 from here on. */
void cli_hush(void);

/* Returns the ranks; NULL: this process alone. */
const RelnComm *cli_comm(void);
/* Returns whether this process may print. */
bool cli_speaks(void);
/* Divides the ranks into parts of equal size, up to one: this rank's part is *out. All ranks must call it.
 * Returns CLI_DONE, or a failure after a message. */
CliExit cli_split(int n_parts, int *part, const RelnComm **out);

#endif
