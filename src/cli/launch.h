/* launch.h -- several processes of the program, started together by mpirun or srun. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "cli/cli.h"

/* Join the other processes, if a launcher has announced any: the program that is linked with the launcher's MPI takes over, or
 * this is it. CLI_DONE: go on. */
CliExit cli_launch(int *argc, char ***argv);
/* Leave them; end them all at once if this one has failed where they do not hear of it. */
void cli_leave(CliExit code, bool unheard);
/* Only rank 0 is heard from here on. */
void cli_hush(void);

/* The ranks; NULL: this process alone. */
const RelnComm *cli_comm(void);
/* Is this the process that speaks? */
bool cli_speaks(void);
/* Parts of the ranks, the same number in each but for one: this rank's is *out. To be called by all of them. CLI_DONE or a
 * failure, after a message. */
CliExit cli_split(int n_parts, int *part, const RelnComm **out);

#endif
