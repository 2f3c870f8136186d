// SPDX-License-Identifier: BSD-3-Clause
// Words messages about failed ranks.
#ifndef PLI_LAUNCHER_FAILURE_TEXT_H
#define PLI_LAUNCHER_FAILURE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_job;
struct pli_proc_task;

enum pli_failure_kind {
    PLI_FAULT_NONE,
    PLI_FAULT_SIGNAL,   // number: the signal
    PLI_FAULT_CODE,     // number: the exit status
    PLI_FAULT_SILENT,   // exit status 0 without MPI_Finalize
    PLI_FAULT_VANISHED, // a grandchild: it is not known how
    PLI_FAULT_ABORT,    // number: the code given to MPI_Abort
    PLI_FAULT_NO_INIT,  // exit status 0 without MPI_Init, where others wait for it
};

struct pli_rank_failure {
    const struct pli_proc_task *task;
    uint32_t row;
    pid_t pid;
    enum pli_failure_kind fault;
    int number;
    uint32_t state;  // enum pli_node_state of the row
    const char *why; // PLI_FAULT_ABORT: what the rank said; else its debugger, or ""
};

// What a process did wrong that ended with this wait status while its row was in this state.
enum pli_failure_kind pli_failure_text_fault(int status, uint32_t state, int *number_out);

// The same, but PLI_FAULT_NO_INIT for no fault if no process of the task has ever called MPI_Init
// and other clients of an IMPI job wait for it.
enum pli_failure_kind pli_failure_text_missed(const struct pli_job *job,
                                              const struct pli_proc_task *t,
                                              enum pli_failure_kind fault);

// The exit status of mpiexec for this case.
int pli_failure_text_status(const struct pli_rank_failure *c);

// One paragraph: which rank, where, what happened, and what to try. is_end: the job ends for it.
void pli_failure_text_say(const struct pli_job *job, const struct pli_rank_failure *c, bool is_end);

// One line for cases after the first.
void pli_failure_text_say_short(const struct pli_job *job, const struct pli_rank_failure *c);

// "SIGSEGV"
const char *pli_failure_text_signal(int sig);

// How many ranks are where, for a job that took too long.
void pli_failure_text_say_states(const struct pli_job *job);

// Say which processes were stopped by the terminal.
void pli_failure_text_stopped(void);

#endif
