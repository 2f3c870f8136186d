// SPDX-License-Identifier: BSD-3-Clause
// The agent of a job that is part of an IMPI job, as mpiexec sees it: started first, told when all
// ranks have ended, and its end waited for.
#ifndef PLI_LAUNCHER_IMPI_AGENT_H
#define PLI_LAUNCHER_IMPI_AGENT_H

#include <sys/types.h>
#include "launcher/base/loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_job;

// Memory for messages from and to other MPI jobs: all there is, since only what is used counts. 0
// without --impi.
uint64_t pli_impi_agent_memory(const struct pli_job *job);

// Fork the agent. False: why not has been said. Does nothing without --impi.
bool pli_impi_agent_start(struct pli_job *job, char **argv);

// Whether ranks may be started: the other clients are known. True without --impi.
bool pli_impi_agent_is_up(const struct pli_job *job);

// All ranks have ended: let the agent take leave. Then whether it is over.
bool pli_impi_agent_is_over(struct pli_job *job);
// The same for the agent of this process alone.
bool pli_impi_agent_leave(struct pli_job *job);

// A message for it from mpiexec. Context: a daemon.
void pli_impi_agent_tell(char word, const void *data, size_t len);

// The job ends: why, for the other clients. The first reason counts.
void pli_impi_agent_why(const char *why);

// End it at once; and wait until it is gone.
void pli_impi_agent_kill(void);
void pli_impi_agent_end(void);

// The agent of an IMPI client on this host: pli_launcher.impi_agent.
struct pli_impi_agent_state {
    struct pli_watch watch; // pidfd
    struct pli_watch control;
    struct pli_watch said; // its standard error, in a daemon
    pid_t pid;
    bool is_up, is_told, is_over, has_why;
};
void pli_impi_agent_init(void); // its first values

#endif
