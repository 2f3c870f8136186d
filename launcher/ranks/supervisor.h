// SPDX-License-Identifier: BSD-3-Clause
// The life of the job: which ranks run, which failed, and how it ends.
#ifndef PLI_LAUNCHER_SUPERVISOR_H
#define PLI_LAUNCHER_SUPERVISOR_H

#include "launcher/base/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct pli_rank_failure;
struct pli_job;
struct pli_proc_task;

// Begin: start tasks with pli_supervisor_step until it says that there are no more.
void pli_supervisor_begin(struct pli_job *job, int signal_fd);

// Start some tasks. True: there are more, do not wait for events.
bool pli_supervisor_step(struct pli_job *job);

// Start a task that came while the job runs; it belongs to the job then. False: it could not be
// started, and why (of PLI_LAUNCH_WHY characters) says so.
bool pli_supervisor_add(struct pli_proc_task *t, char *why);
// Look after a task whose process is there.
void pli_supervisor_follow(struct pli_proc_task *t);
// The same for a task whose process was forked from a rank and runs.
void pli_supervisor_adopt(struct pli_proc_task *t);
// Take the start of such a task back.
void pli_supervisor_drop(struct pli_proc_task *t);
// End the process of a rank that runs here, if there is one.
void pli_supervisor_end_process(struct pli_job *job, uint32_t row);

// Something happened to a rank: the role says what is done about it.
void pli_supervisor_report(const struct pli_rank_failure *c);
// In mpiexec: say it, and end the job if the others may depend on the rank.
void pli_supervisor_judge(const struct pli_rank_failure *c);

// Something of the task ended: is it over now?
void pli_supervisor_check(struct pli_proc_task *task);
bool pli_supervisor_is_ending(void);

// Something that concerns the job as a whole went wrong: it ends with this exit status. may_go_on:
// only the status is kept.
void pli_supervisor_fail(int status, bool may_go_on);

// The job ends with this exit status, whatever failed before.
void pli_supervisor_end(int status);

// A task on another host is over.
void pli_supervisor_over(struct pli_proc_task *task);

// Send a signal to the tasks of this host but one (NULL: to all); flags: PLI_SIGNAL_.
void pli_supervisor_signal(struct pli_job *job, int sig, const struct pli_proc_task *but,
                           uint16_t flags);
// In a daemon: mpiexec is gone, or has no use for it any more.
void pli_supervisor_kill(void);

// All tasks are over, and their output is out (or is not wanted).
bool pli_supervisor_is_done(const struct pli_job *job);

// Clean up what a bad end may have left; the exit status of mpiexec, which is `status` where
// nothing else decides it. Does not return when mpiexec is to die of the signal that ended the job.
int pli_supervisor_finish(struct pli_job *job, int status);

// The job cannot go on for this reason, which is no rank's.
void pli_supervisor_lose(const char *why);

// The life of the job: pli_launcher.supervisor.
struct pli_supervisor_state {
    int state;       // enum state
    int status;      // of the first failure
    int die_of;      // signal that ended the job, 0: none
    bool has_failed; // something was reported
    bool is_early;   // a rank failed before MPI_Init: the job ends if any other uses MPI
    const struct pli_proc_task *spare; // the task that aborts may finish its output
    struct pli_watch signals;
    struct pli_timer grace, stuck, timeout, look, drain;
    bool is_drained; // waited long enough for readers of our output
};

#endif
