// SPDX-License-Identifier: BSD-3-Clause
// A second process that outlives mpiexec by a moment, to end what a killed mpiexec left running.
#ifndef PLI_LAUNCHER_WATCHDOG_H
#define PLI_LAUNCHER_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_job;

// What it does besides when mpiexec was killed, after it has killed the ranks, with descriptors
// that it keeps for it.
struct pli_watchdog_after {
    void (*fn)(const struct pli_job *job);
    bool has_no_ranks; // on this host: there are none to kill
    int n_fd, fds[4];
};

// Start it; after: NULL or what to do. False with a message on failure.
bool pli_watchdog_start(struct pli_job *job, char **argv, const struct pli_watchdog_after *after);

// Task i leads this process group now; 0: it is over.
void pli_watchdog_note(uint32_t i, pid_t pid);

// All is over in good order.
void pli_watchdog_stop(void);

// Kill every process that carries the job's cookie in its environment, wherever it went, and wait
// until none is left (a bounded time). Only for jobs that ended badly.
void pli_watchdog_sweep(const char *cookie);

// The process that ends what is left of the job: pli_launcher.watchdog.
struct pli_watchdog_state {
    _Atomic int32_t *groups; // process groups, shared with the watchdog
    uint32_t n_group;
    int pipe_fd;
    pid_t pid; // 0: there is none
};

#endif
