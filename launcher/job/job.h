// SPDX-License-Identifier: BSD-3-Clause
// A job as mpiexec knows it: parts of the command line, and the tasks they become.
#ifndef PLI_LAUNCHER_JOB_H
#define PLI_LAUNCHER_JOB_H

#include "boot/node.h"
#include "launcher/base/loop.h"
#include "launcher/base/output_lines.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum pli_pass { PLI_PASS_UNSAID, PLI_PASS_ALL, PLI_PASS_LIST, PLI_PASS_NONE };

struct pli_gdb_rank;
struct pli_indirect_rank;
struct pli_host;
struct pli_manifest;

// What happens to the environment on its way to the ranks.
struct pli_edits {
    enum pli_pass pass;
    const char *list; // PLI_PASS_LIST: names with commas
    struct pli_edit {
        const char *name, *value; // value NULL: as mpiexec has it
    } * edit;
    int n_edit;
};

// One part of the command line, between colons.
struct pli_app {
    uint32_t n_rank;
    uint32_t n_by_c;         // what -c says, 0: nothing
    uint32_t ranks_per_proc; // 0: not given, while the command line is read
    uint32_t n_upc;          // UPC threads of each task; 0: not started by upcrun
    uint32_t endpoints;      // of each process
    uint32_t first;          // rank
    struct pli_host *hosts; // where HOSTS puts its UPC threads, n_host of them; 0: where all may go
    uint32_t n_host;
    const char *wdir;
    const char *folders; // where the program is looked for before PATH, with colons; NULL: nowhere
    char **argv;
    char *path; // of the program, found
    struct pli_edits edits;
    char **env; // with free slots at env_own for what differs from task to task
    int env_own;
    bool *env_said; // of those before env_own: the user has set it
};

// An option of other MPIs that was given and has no effect.
struct pli_ignored {
    const char *name, *advice;
};

enum pli_on_failure {
    PLI_FAIL_END,
    PLI_FAIL_CONTINUE,
    PLI_FAIL_RESTART,
    PLI_FAIL_SHRINK,
    PLI_FAIL_RESPAWN
};
enum pli_on_deadlock { PLI_DEADLOCK_ABORT, PLI_DEADLOCK_REPORT, PLI_DEADLOCK_IGNORE };
enum pli_on_poll_deadlock {
    PLI_POLL_DEADLOCK_WARN,
    PLI_POLL_DEADLOCK_ABORT,
    PLI_POLL_DEADLOCK_IGNORE
};
enum pli_on_preempt {
    PLI_PREEMPT_END,
    PLI_PREEMPT_SHRINK,
    PLI_PREEMPT_GROW,
    PLI_PREEMPT_CHECKPOINT,
    PLI_PREEMPT_REQUEUE,
    PLI_PREEMPT_FOLLOW
};
enum pli_when { PLI_WHEN_AUTO, PLI_WHEN_ALWAYS, PLI_WHEN_NEVER };
enum { PLI_STDIN_NONE = -1, PLI_STDIN_ALL = -2 };

// What a restarted mpiexec is told by the one it was, as COUNT:LAST:FLOOR:BELOW.
struct pli_auto_restart {
    uint32_t count; // restarts in a row without a new checkpoint
    uint32_t last;  // the newest checkpoint at the last of them
    uint32_t floor; // checkpoints up to this number are those of other jobs
    uint32_t below; // those from this number on cannot be restored, 0: not known
};

// Programs that were built with which MPI run; in the order of --abi.
enum pli_abi { PLI_ABI_AUTO, PLI_ABI_MPICH, PLI_ABI_OPENMPI, PLI_ABI_STANDARD, PLI_ABI_NONE };

struct pli_options {
    bool is_label, is_dry, is_verbose, is_report;
    bool has_endpoints;  // a part asks for some: all are told how many they have
    double timeout;      // seconds; 0: none
    bool is_timeout_env; // MPIEXEC_TIMEOUT said it
    double grace;        // seconds between asking to end and killing; below 0: by occasion
    const char *bind, *map;
    uint32_t elastic_min, elastic_max; // ranks the job may have; max 0: as many as it began with
    bool is_resize_error;              // a resize is told by MPI_WORLD_RESIZED
    const char *ckpt_dir;              // where checkpoints go; NULL: none are made
    double ckpt_interval;              // seconds from one to the next, 0: only on request
    uint32_t ckpt_keep;                // how many are kept, 0: not said
    uint32_t ckpt_increments;          // how many incremental ones follow a full one
    bool is_standstill;    // ranks stand still until their images are written, and are not copied
    const char *ckpt_mark; // on several hosts: by which daemons know the directory
    uint64_t restart_sum;  // and the checkpoint
    bool is_state;         // of what programs register, not of processes
    bool takes_foreign;    // programs of another MPI are started as they are
    enum pli_abi abi;      // whose programs run on this MPI
    bool is_movable;       // every process has a memory of its own, and can be moved
    bool takes_moved;      // in a daemon: its ranks come from another host
    bool is_joining;       // in a daemon: its host was not there at the start
    bool is_in_place;      // restored ranks get no numbers of their own
    const char *restart;   // a checkpoint to go on from, or a directory of them
    uint32_t max_restarts; // in a row without a new checkpoint
    struct pli_auto_restart auto_restart; // what this mpiexec was told by the one before it
    const char *singleton;                // the program runs already: how to find it
    uint32_t per_host;                    // ranks on each host, 0: by slots
    uint32_t upc_groups;                  // 0: not said
    const char *launcher, *agent; // how to reach hosts, and what to start there; NULL: as usual
    bool is_line;                 // the user watches: ranks show each line when it is complete
    int64_t stdin_rank;           // rank that gets standard input, or PLI_STDIN_
    enum pli_on_failure on_failure;
    enum pli_on_deadlock on_deadlock;
    enum pli_on_poll_deadlock on_poll_deadlock;
    enum pli_on_preempt on_preempt;
    int preempt_signal; // 0: SIGTERM, 1: SIGUSR1, 2: SIGUSR2
    enum pli_when color;
    const char *out_files, *err_files; // patterns of files for the ranks' output; NULL: none
    bool is_output_copied;             // and it is shown too
    bool is_merged;                    // standard error goes where standard output goes
    const char *check;    // kinds of mistakes that are looked for besides, "": none; NULL: no check
    const char *profile;  // where the profile goes, "": to standard error; NULL: none is made
    const char *timeline; // a file, or NULL
    uint32_t timeline_events;    // that are kept of a rank, 0: as many as usual
    const char *metrics;         // where Prometheus asks, "HOST:PORT"; NULL: nowhere
    const char *tools;           // libraries that intercept MPI calls, with commas; NULL: none
    const char *record, *replay; // directories of the order of messages; NULL: none
    const char *log_messages;    // the same as record, and messages are written there; NULL: no
    bool has_replay_rank;        // only the process of this rank is started
    uint32_t replay_rank;
    uint64_t replay_job; // the number that the job had
    const char *gdb;     // ranks that run under gdb, "": all; NULL: none
    struct pli_ignored *ignored;
    int n_ignored;
    char *mca;               // parameters of Open MPI that were given, as text; NULL: none
    struct pli_edits edits;  // of every part
    const char *impi_server; // where the clients of an IMPI job meet; NULL: this is no part of one
    uint32_t impi_rank;      // which client this is, where has_impi_rank
    bool has_impi_rank;
    bool joins_world;          // by a token, which is in the environment
    int host_world;            // clients of the world that this job hosts; 0: it hosts none
    bool is_open_world;        // jobs may join it while it runs: it is elastic
    char *elastic_token;       // this job joins such a one; NULL: it does not
    int world_port;            // of its server; 0: any
    const char *world_address; // for the token; NULL: found out
    const char *token_file;    // the token is written there; NULL: printed
};

// One process that mpiexec starts: one rank, or several with --ranks-per-proc. A UPC group that is
// cut between hosts has a task on each; those after its ranks have none (n is 0), and come after a
// task that has.
struct pli_proc_task {
    struct pli_watch watch; // pidfd
    struct pli_watch control;
    struct pli_output_lines out, err;
    struct pli_job *job;
    struct pli_app *app;
    struct pli_indirect_rank *indirect;
    const struct pli_binding *place; // NULL: not bound
    struct pli_gdb_rank *gdb;        // under which it runs, NULL: none
    uint32_t first, n;               // rows here; where there are no other hosts, ranks. Without
                                     // ranks first is the same as extra
    uint32_t rank;                   // the first, in the job
    uint32_t number;                 // of the task in the job
    uint32_t host;                   // where it runs; only when there are several
    uint32_t extra, n_extra;         // rows of processes without a rank
    uint32_t extra_rank;             // their numbers in the job, after those of all ranks
    pid_t pid;                       // 0: not started
    int status;                      // as wait gives it, once is_exited
    bool is_exited;                  // the process itself
    bool is_over;                    // and all ranks that it started
    bool is_spawned;                 // came while the job ran; its app and itself are of the heap
    bool is_dropped;                 // its start was cancelled: how it ends does not matter
    struct pli_proc_task *next;      // of those that were spawned
};

// The rank that a task is known by.
static inline uint32_t pli_task_rank(const struct pli_proc_task *t)
{
    return t->n > 0 ? t->rank : t->rank - 1;
}

static inline bool pli_task_has(const struct pli_proc_task *t, uint32_t row)
{
    return row - t->first < t->n || row - t->extra < t->n_extra;
}

// A process set the user named.
struct pli_set {
    char *name;
    const char *text; // its ranks as typed
    uint32_t *ranks, n;
};

struct pli_job {
    struct pli_options opt;
    struct pli_app *apps;
    uint32_t n_app;
    struct pli_set *sets;
    uint32_t n_set;
    struct pli_proc_task *tasks;
    uint32_t n_first, n_begun;          // tasks of the command line, and of those
    uint32_t n_task, n_started, n_over; // all
    struct pli_proc_task *spawned;      // those that were started later and are not forgotten yet
    uint32_t n_rank;                    // of the whole job
    uint32_t n_extra;                   // processes without a rank
    struct pli_host *hosts;
    struct { // where pli_hosts_add finds a name, if `of` is hosts and they were made by no other
        const struct pli_host *of;
        uint32_t *table, n_table, n_entered, cap;
    } host_index;
    uint32_t n_host;             // 0: all is here, and no other host is reached
    uint32_t here;               // in a daemon, which host this is
    char *wdir;                  // in a daemon, where mpiexec was started
    bool is_daemon;              // tasks are those of this host, and mpiexec is elsewhere
    uint32_t fault_number;       // of this process at fault points: 0, in a daemon here + 1
    struct pli_node_proc *procs; // host and row of every rank, with several hosts
    struct pli_node node;
    int node_fd, wake_fd; // the latter wakes the agent of an IMPI client, 0: there is none
    int trace_fd;         // memory in which ranks record their calls, 0: none
    uint32_t base; // what MPI_COMM_WORLD has before rank 0 of ours: ranks of other IMPI clients
    uint64_t start_ns;
    char **typed;              // the words of the command line
    char **words;              // the same, with those of the checkpoint that it goes on from
    uint32_t program_at;       // in those
    const char *restart_dir;   // of all checkpoints, where it was chosen; NULL: it was named
    uint32_t restart_n;        // ranks wanted after a restart, 0: as many as there were
    struct pli_manifest *from; // what the job goes on from, NULL: it begins
    uint32_t round;            // in which its ranks were frozen last
};

// All tasks one after the other, NULL before the first and after the last.
static inline struct pli_proc_task *pli_job_next(const struct pli_job *job,
                                                 const struct pli_proc_task *t)
{
    if (t != NULL && t->is_spawned) {
        return t->next;
    }
    uint32_t i = t == NULL ? 0 : (uint32_t)(t - job->tasks) + 1;
    return i < job->n_first ? &job->tasks[i] : job->spawned;
}

// Whether a task is not started, because the messages of its ranks come from a log.
static inline bool pli_job_is_proxy(const struct pli_job *job, const struct pli_proc_task *t)
{
    return job->opt.has_replay_rank && job->opt.replay_rank - t->rank >= t->n;
}

// A number for a task, for tables of all tasks that can be at a time.
static inline uint32_t pli_job_slot(const struct pli_job *job, const struct pli_proc_task *t)
{
    return t->is_spawned ? job->n_first + t->first - job->node.header->n_row
                         : (uint32_t)(t - job->tasks);
}

// The task with this number; one that was started later has the number of its process. NULL: there
// is none.
struct pli_proc_task *pli_job_find_task(const struct pli_job *job, uint32_t number);
// The task that a process of the job belongs to.
struct pli_proc_task *pli_job_task_of(const struct pli_job *job, uint32_t rank);

#endif
