// SPDX-License-Identifier: BSD-3-Clause
// Ports and published names of a job on several hosts: mpiexec has those of all.
#ifndef PLI_LAUNCHER_JOB_PORTS_H
#define PLI_LAUNCHER_JOB_PORTS_H

#include <stddef.h>

struct pli_answer;
struct pli_job;

// Do what a request of kind PLI_ASK_PORT says.
void pli_job_ports_serve(const struct pli_job *job, const char *body, size_t len,
                         struct pli_answer *a);

#endif
