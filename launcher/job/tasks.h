// SPDX-License-Identifier: BSD-3-Clause
// Finding tasks of a job on several hosts, as mpiexec knows them.
#ifndef PLI_LAUNCHER_TASKS_H
#define PLI_LAUNCHER_TASKS_H

#include <stdint.h>

struct pli_job;
struct pli_proc_task;

// By its number; those that came later have that of their process. NULL: there is none.
struct pli_proc_task *pli_tasks_find(const struct pli_job *job, uint32_t number);
// The one that a process of the job belongs to.
struct pli_proc_task *pli_tasks_of(const struct pli_job *job, uint32_t rank);

#endif
