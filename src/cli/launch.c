/* launch.c -- see launch.h.
 *
 * Programs of Open MPI and MPICH are not compatible, so there is one of each, reln-openmpi and reln-mpich: this
 * program with one more file (mpi/reln_mpi.c). The plain program looks for the variables that a launcher sets in the
 * environment and executes the matching program; without a launcher it needs no MPI. */
#define _DEFAULT_SOURCE /* NOLINT(bugprone-reserved-identifier) */
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/files.h"
#ifdef RELN_MPI
#include <reln_mpi.h>
#endif

static const RelnComm *ranks; /* NULL: none */

const RelnComm *cli_comm(void)
{
    return ranks;
}

bool cli_speaks(void)
{
    return !ranks || ranks->rank == 0;
}

void cli_hush(void)
{
    const int nowhere = cli_speaks() ? -1 : open("/dev/null", O_WRONLY);

    if (nowhere < 0)
        return;
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    (void)close(nowhere);
}

/* ---- recognising launchers -------------------------------------------------------------------------------------- */

typedef struct Launcher {
    const char *mpi;   /* the MPI, and so the program */
    const char *size;  /* the variable with the number of processes */
    const char *proof; /* a variable that must also be set */
} Launcher;

/* The first match is used. Slurm sets its number for every step; the kind of start tells which MPI is
 * meant. */
static const Launcher launchers[] = {
    {"openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"mpich", "PMI_SIZE", "PMI_RANK"},
    {"openmpi", "SLURM_STEP_NUM_TASKS", "PMIX_RANK"},
};

static int announced(const Launcher **out)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const char *text = getenv(launchers[i].size);

        if (!text || !getenv(launchers[i].proof))
            continue;
        *out = &launchers[i];
        return atoi(text);
    }
    return 1;
}

#ifdef RELN_MPI

CliExit cli_launch(int *argc, char ***argv)
{
    const Launcher *launcher = NULL;
    const int wanted = announced(&launcher);
    const RelnComm *comm = NULL;

    if (reln_mpi_open(argc, argv, &comm) != 0)
        return cli_fail(CLI_IO, "MPI (" RELN_MPI ") could not be started");
    if (wanted > 1 && comm->size == 1)
        return cli_fail(CLI_USAGE,
                        "the launcher announces %d processes, MPI (" RELN_MPI
                        ") knows of one: they are of different MPIs",
                        wanted);
    ranks = comm->size > 1 ? comm : NULL;
    return CLI_DONE;
}

void cli_leave(CliExit code, bool unheard)
{
    if (unheard && ranks)
        reln_mpi_abort((int)code);
    reln_mpi_close();
}

CliExit cli_split(int n_parts, int *part, const RelnComm **out)
{
    *part = 0;
    *out = ranks;
    if (!ranks || n_parts <= 1)
        return CLI_DONE;
    *part = (int)((long long)ranks->rank * n_parts / ranks->size);
    return reln_mpi_split(*part, out) == 0
               ? CLI_DONE
               : cli_fail(CLI_IO, "the ranks could not be divided among the runs");
}

#else

CliExit cli_launch(int *argc, char ***argv)
{
    const Launcher *launcher = NULL;
    const int wanted = announced(&launcher);
    char name[32], path[PATH_MAX];

    (void)argc;
    if (wanted <= 1)
        return CLI_DONE;
    snprintf(name, sizeof name, "reln-%s", launcher->mpi);
    if (!reln_program_find(name, sizeof path, path))
        return cli_fail(CLI_USAGE,
                        "%s announces %d processes, and reln-%s is not installed: it joins them "
                        "(Debian: the package reln-%s)",
                        launcher->size, wanted, launcher->mpi, launcher->mpi);
    execv(path, *argv);
    return cli_fail(CLI_IO, "%s: cannot be started: %s", path, strerror(errno));
}

void cli_leave(CliExit code, bool unheard)
{
    (void)code;
    (void)unheard;
}

CliExit cli_split(int n_parts, int *part, const RelnComm **out)
{
    (void)n_parts;
    *part = 0;
    *out = NULL;
    return CLI_DONE;
}

#endif
