// SPDX-License-Identifier: BSD-3-Clause
// The table of ranks for parallel debuggers, by the names of the MPIR interface.
#ifndef PLI_LAUNCHER_PROCESS_TABLE_H
#define PLI_LAUNCHER_PROCESS_TABLE_H

#include <stdint.h>
#include <sys/types.h>

struct pli_job;

// A task of the command line is started on a host. With the last one the table is there, and
// mpiexec stops at MPIR_Breakpoint for a debugger that asked for it.
void pli_process_table_add(const struct pli_job *job, uint32_t task, const char *host, pid_t pid);
void pli_process_table_free(void);

#endif
