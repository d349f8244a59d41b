/* jobs.c -- several runs at a time, each in a separate process.
 *
 * A run is a function of (model, seed) and its result is a file, so a child process makes the run and this process
 * reads the file. A child sees the prepared data without copying it, and has its own threads. It shares a page of
 * memory with its parent, which holds its progress, its error, and whether it should stop. A child whose parent has
 * died stops with a checkpoint.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */ /* NOLINT(bugprone-reserved-identifier) */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tasks/files.h"

/* A Shown is the page shared with a child. The parent writes `stop`, the child writes the other fields; the
 * parent reads the fields that are not atomic after the child has ended. */
typedef struct Shown {
    atomic_bool stop;
    _Atomic uint64_t step, n_steps;
    RelnStatus status;
    bool stopped;
    char message[TASK_MESSAGE];
} Shown;

typedef struct Job {
    TaskRun *run; /* NULL: the job is free */
    pid_t pid;
} Job;

enum { MOST = 256 };

typedef struct Jobs {
    TaskCall *call;
    const void *data;
    int n, next, n_missing, n_made; /* number of jobs; the next run; runs to be made, and made */
    bool closing;                   /* no more runs are started */
    bool stopped;                   /* a run was asked to stop before it was finished */
    RelnStatus status;              /* status of the first failure */
    Shown *page;                    /* one for each job */
    Job job[MOST];
} Jobs;

static Shown *shown_by(const Jobs *jobs, const Job *job)
{
    return &jobs->page[job - jobs->job];
}

/* ---- in the child ------------------------------------------------------------------------------------------------ */

typedef struct Reporter {
    Shown *shown;
    const TaskWatch *watch; /* the caller's, which handles signals */
    pid_t parent;
} Reporter;

static void report(void *self, uint64_t step, uint64_t n_steps, double loss)
{
    const Reporter *r = self;

    (void)loss;
    atomic_store(&r->shown->n_steps, n_steps);
    atomic_store(&r->shown->step, step);
}

static bool asked(void *self)
{
    const Reporter *r = self;

    return atomic_load(&r->shown->stop) || getppid() != r->parent ||
           (r->watch->asked && r->watch->asked(r->watch->self));
}

static RelnStatus make(TaskCall *call, TaskRun *run, const void *data)
{
    TRY(task_pool_open(call));
    return task_run_make(call, run, data);
}

static _Noreturn void child(const Jobs *jobs, const Job *job, pid_t parent)
{
    TaskCall *call = jobs->call;
    Shown *shown = shown_by(jobs, job);
    Reporter reporter = {shown, &call->request->watch, parent};
    TaskRequest request = *call->request;
    RelnStatus status;

    request.watch = (TaskWatch){.self = &reporter, .show = report, .asked = asked};
    call->request = &request;
    status = make(call, job->run, jobs->data);
    shown->stopped = job->run->stopped;
    shown->status = status;
    if (status != RELN_OK)
        snprintf(shown->message, sizeof shown->message, "%s",
                 call->env.message[0] ? call->env.message : reln_ctx_error(call->env.ctx));
    _exit(EXIT_SUCCESS);
}

/* ---- in the parent ----------------------------------------------------------------------------------------------- */

static RelnStatus begin(Jobs *jobs, Job *job, TaskRun *run)
{
    const pid_t parent = getpid();

    *shown_by(jobs, job) = (Shown){.status = RELN_ERR_IO};
    job->run = run;
    job->pid = fork();
    if (job->pid == 0)
        child(jobs, job, parent);
    if (job->pid > 0)
        return RELN_OK;
    job->run = NULL;
    return task_fail(&jobs->call->env, RELN_ERR_NOMEM, "cannot start another process");
}

static void close_all(Jobs *jobs)
{
    for (int j = 0; j < jobs->n; j++)
        atomic_store(&jobs->page[j].stop, true);
    jobs->closing = true;
}

static void give_up(Jobs *jobs, RelnStatus status)
{
    if (jobs->status == RELN_OK)
        jobs->status = status;
    close_all(jobs);
}

/* Collects the result of a finished child: its record, its checkpoint or its error. */
static RelnStatus take(Jobs *jobs, const Job *job, int how)
{
    TaskCall *call = jobs->call;
    TaskRun *run = job->run;
    const Shown *shown = shown_by(jobs, job);
    const unsigned long long seed = run->seed;

    if (!WIFEXITED(how) || WEXITSTATUS(how) != EXIT_SUCCESS)
        return task_fail(&call->env, RELN_ERR_IO,
                         "%s, seed %llu: its process was ended by signal %d", run->model->name,
                         seed, WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    if (shown->stopped) {
        jobs->stopped = true;
        return RELN_OK;
    }
    if (shown->status != RELN_OK)
        return task_fail(&call->env, shown->status, "%s, seed %llu: %.200s", run->model->name, seed,
                         shown->message);
    TRY(task_run_find(call, run));
    if (!run->done)
        return task_fail(&call->env, RELN_ERR_IO, "%s, seed %llu: its record is not there",
                         run->model->name, seed);
    jobs->n_made++;
    return task_save(call);
}

static void collect(Jobs *jobs)
{
    for (int j = 0; j < jobs->n; j++) {
        Job *job = &jobs->job[j];
        RelnStatus status = RELN_OK;
        int how = 0;

        if (!job->run || waitpid(job->pid, &how, WNOHANG) != job->pid)
            continue;
        if (jobs->status == RELN_OK) /* failures after the first one are its consequences */
            status = take(jobs, job, how);
        job->run = NULL;
        if (status != RELN_OK)
            give_up(jobs, status);
    }
}

static TaskRun *next_missing(Jobs *jobs)
{
    TaskRun *run;

    while ((run = task_run_at(jobs->call, jobs->next)) && run->done)
        jobs->next++;
    jobs->next += run != NULL;
    return run;
}

/* Starts runs in the free jobs, and returns the number of running ones. */
static int begin_more(Jobs *jobs)
{
    int running = 0;

    for (int j = 0; j < jobs->n; j++) {
        Job *job = &jobs->job[j];
        TaskRun *run = job->run || jobs->closing ? NULL : next_missing(jobs);
        const RelnStatus status = run ? begin(jobs, job, run) : RELN_OK;

        if (status != RELN_OK)
            give_up(jobs, status);
        running += job->run != NULL;
    }
    return running;
}

/* Shows "3 of 12 runs; emlp-o2 1: 12 %, mlp 2: 80 %", and the total share. */
static void show(const Jobs *jobs)
{
    const TaskWatch *w = &jobs->call->request->watch;
    double done = jobs->n_made;
    char line[256];
    size_t n = (size_t)snprintf(line, sizeof line, "%d of %d runs", jobs->n_made, jobs->n_missing);

    for (int j = 0; j < jobs->n; j++) {
        const Job *job = &jobs->job[j];
        const uint64_t n_steps = job->run ? atomic_load(&jobs->page[j].n_steps) : 0;
        const double share =
            n_steps > 0 ? (double)atomic_load(&jobs->page[j].step) / (double)n_steps : 0;

        done += share;
        if (job->run && n < sizeof line)
            n += (size_t)snprintf(line + n, sizeof line - n, "  %s %llu: %.0f %%",
                                  job->run->model->name, (unsigned long long)job->run->seed,
                                  100 * share);
    }
    if (w->show_all)
        w->show_all(w->self, done / jobs->n_missing, line);
}

static void loop(Jobs *jobs)
{
    static const struct timespec tick = {.tv_nsec = 50 * 1000 * 1000};
    const TaskWatch *w = &jobs->call->request->watch;

    while (begin_more(jobs) > 0) {
        show(jobs);
        nanosleep(&tick, NULL);
        if (w->asked && w->asked(w->self)) {
            jobs->stopped = true;
            close_all(jobs);
        }
        collect(jobs);
    }
}

RelnStatus task_make_together(TaskCall *call, int n_missing, const void *data, bool *stopped)
{
    const TaskWatch *w = &call->request->watch;
    const int n = call->jobs < MOST ? call->jobs : MOST;
    Jobs jobs = {.call = call, .data = data, .n = n, .n_missing = n_missing};
    const size_t size = (size_t)n * sizeof *jobs.page;

    jobs.page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs.page == MAP_FAILED)
        return task_nomem(&call->env);
    if (w->begin)
        w->begin(w->self, "", 0);
    loop(&jobs);
    if (w->end)
        w->end(w->self);
    (void)munmap(jobs.page, size);
    *stopped = jobs.stopped;
    return jobs.status;
}
