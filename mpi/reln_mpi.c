/* reln_mpi.c -- see reln_mpi.h. The only file that calls MPI.
 *
 * Waiting polls and sleeps: MPI's own waiting keeps a core busy, which slows down other processes where there are more
 * processes than cores. If each rank of this machine has a core, a short wait does not sleep. */
#ifndef _POSIX_C_SOURCE         /* declares nanosleep() in strict standard C, too */
#define _POSIX_C_SOURCE 200809L /* NOLINT(bugprone-reserved-identifier) */
#endif
#include "reln_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* Largest number of bytes of one MPI message, whose counts are ints. */
enum { PART = 1 << 30, TAG = 7 };

static struct {
    RelnComm comm, part;
    MPI_Comm world, split;
    int begun, has_split, lost;
    int roomy; /* this machine has at least as many processors as ranks */
} here;

typedef struct Requests {
    MPI_Request *items;
    int n, room;
} Requests;

static int parts_of(int n, const RelnMessage *messages)
{
    int parts = 0;

    for (int i = 0; i < n; i++)
        parts += (int)((messages[i].n_bytes + PART - 1) / PART);
    return parts;
}

static int begin(MPI_Comm comm, int n, const RelnMessage *messages, int sends, Requests *r)
{
    for (int i = 0; i < n; i++)
        for (size_t at = 0; at < messages[i].n_bytes; at += PART) {
            const size_t left = messages[i].n_bytes - at;
            const int some = left < PART ? (int)left : PART;
            char *bytes = (char *)messages[i].bytes + at;
            const int code = sends ? MPI_Isend(bytes, some, MPI_BYTE, messages[i].peer, TAG, comm,
                                               &r->items[r->n])
                                   : MPI_Irecv(bytes, some, MPI_BYTE, messages[i].peer, TAG, comm,
                                               &r->items[r->n]);

            if (code != MPI_SUCCESS)
                return code;
            r->n++;
        }
    return MPI_SUCCESS;
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static long microseconds_since(const struct timespec *begun)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)(now.tv_sec - begun->tv_sec) * 1000000 + (now.tv_nsec - begun->tv_nsec) / 1000;
}

/* Linux rounds a sleep up by 50 microseconds unless the thread asks for less. Returns the value before. */
static long set_slack(long nanoseconds)
{
    long before = 0;

#ifdef __linux__
    before = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)nanoseconds, 0UL, 0UL, 0UL);
#else
    (void)nanoseconds;
#endif
    return before;
}

/* Polls often at first, then gives way to others, then sleeps for a twentieth of the time waited so far, up to a
 * millisecond: a message is noticed late by at most a twentieth of its delay. A system wakes a process up to 100
 * microseconds late, so a rank with a processor for itself does not sleep before that is a twentieth of its wait. */
static void rest(int looks, long waited)
{
    enum { EAGER = 200, YIELDING = 300, SHORT = 2000, LONGEST = 1000, LEAST = 5 };
    const long share = waited / 20;
    const struct timespec pause = {0, 1000L * (share < LEAST     ? LEAST
                                               : share > LONGEST ? LONGEST
                                                                 : share)};

    if (looks < EAGER)
        return;
    if (looks < YIELDING || (here.roomy && waited < SHORT))
        (void)sched_yield();
    else
        (void)nanosleep(&pause, NULL);
}

static int wait_for(Requests *r)
{
    const long slack = set_slack(1000);
    int done = 0, code = MPI_SUCCESS;
    struct timespec begun;

    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int looks = 0; code == MPI_SUCCESS && !done; looks += looks < INT_MAX) {
        code = MPI_Testall(r->n, r->items, &done, MPI_STATUSES_IGNORE);
        if (code == MPI_SUCCESS && !done)
            rest(looks, microseconds_since(&begun));
    }
    (void)set_slack(slack);
    return code;
}

static RelnStatus exchange(void *self, int n_sends, const RelnMessage *sends, int n_receives,
                           const RelnMessage *receives)
{
    const MPI_Comm comm = *(const MPI_Comm *)self;
    MPI_Request few[16];
    Requests r = {few, 0, 16};
    const int n = parts_of(n_sends, sends) + parts_of(n_receives, receives);
    int code = MPI_ERR_NO_MEM;

    if (n > r.room)
        r.items = malloc((size_t)n * sizeof *r.items);
    if (r.items)
        code = begin(comm, n_receives, receives, 0, &r);
    if (code == MPI_SUCCESS)
        code = begin(comm, n_sends, sends, 1, &r);
    if (code == MPI_SUCCESS)
        code = wait_for(&r);
    if (r.items != few)
        free(r.items);
    here.lost = here.lost || code != MPI_SUCCESS;
    return code == MPI_SUCCESS ? RELN_OK : RELN_ERR_IO;
}

static int describe(MPI_Comm *comm, RelnComm *out)
{
    int code = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);

    *out = (RelnComm){0, 1, comm, exchange};
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(*comm, &out->rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(*comm, &out->size);
    return code;
}

/* Compares the number of ranks on this machine with that of its processors. */
static int find_room(void)
{
    MPI_Comm near;
    int ranks = 0,
        code = MPI_Comm_split_type(here.world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);

    if (code == MPI_SUCCESS) {
        code = MPI_Comm_size(near, &ranks);
        (void)MPI_Comm_free(&near);
    }
    here.roomy = code == MPI_SUCCESS && ranks <= sysconf(_SC_NPROCESSORS_ONLN);
    return code;
}

/* Only the thread that runs a plan calls MPI; the other threads of a pool compute. */
int reln_mpi_open(int *argc, char ***argv, const RelnComm **out)
{
    int initialised = 0, provided, code = MPI_Initialized(&initialised);

    if (code == MPI_SUCCESS && !initialised) {
        code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
        here.begun = code == MPI_SUCCESS;
    }
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(MPI_COMM_WORLD,
                            &here.world); /* a separate communicator for these messages */
    if (code == MPI_SUCCESS)
        code = describe(&here.world, &here.comm);
    if (code == MPI_SUCCESS)
        code = find_room();
    *out = code == MPI_SUCCESS ? &here.comm : NULL;
    return code;
}

int reln_mpi_split(int color, const RelnComm **out)
{
    int code = MPI_Comm_split(here.world, color, here.comm.rank, &here.split);

    here.has_split = code == MPI_SUCCESS;
    if (code == MPI_SUCCESS)
        code = describe(&here.split, &here.part);
    *out = code == MPI_SUCCESS ? &here.part : NULL;
    return code;
}

void reln_mpi_close(void)
{
    if (here.lost)
        reln_mpi_abort(1); /* the remaining processes cannot end together */
    if (here.has_split)
        (void)MPI_Comm_free(&here.split);
    if (here.comm.size > 0)
        (void)MPI_Comm_free(&here.world);
    if (here.begun)
        (void)MPI_Finalize();
}

void reln_mpi_abort(int code)
{
    (void)MPI_Abort(here.comm.size > 0 ? here.world : MPI_COMM_WORLD, code);
}
