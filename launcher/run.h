// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec does alike for a job on one host and on several.
#ifndef PLI_LAUNCHER_RUN_H
#define PLI_LAUNCHER_RUN_H

#include <stdbool.h>

struct pli_job;

// Fill the rows of a new node memory: programs, UPC groups, what happens after failures.
void pli_run_fill_node(struct pli_job *job);

// Where fault points are, for tests; the ranks have the same setting.
void pli_run_take_fault(const struct pli_job *job);

// One line for every task: where it runs, and with_command what.
void pli_run_show(const struct pli_job *job, bool with_command);

// Until all ranks have ended and their output is out; the exit status. step: starts some tasks
// between two turns and says whether there are more.
int pli_run_loop(struct pli_job *job, bool (*step)(struct pli_job *job));

#endif
