// SPDX-License-Identifier: BSD-3-Clause
// Collects what all ranks of a job on several hosts do, for mpictl status.
#ifndef PLI_LAUNCHER_STATUS_COLLECT_H
#define PLI_LAUNCHER_STATUS_COLLECT_H

#include <stdbool.h>

struct pli_answer;
struct pli_ask_look;
struct pli_job;

// Get it from all hosts into the memory of mpiexec. False: the answer comes when it is there.
bool pli_status_collect_ask(const struct pli_job *job, const struct pli_ask_look *look, void *token,
                            struct pli_answer *a);
// The request is closed: its answer is not needed any more.
void pli_status_collect_forget(const void *token);

// The state of the ranks, on its way to mpictl: pli_launcher.status_collect.
struct pli_status_collect_state {
    void *waits; // the request that waits, NULL: none does any more
};

#endif
