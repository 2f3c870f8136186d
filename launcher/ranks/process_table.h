// SPDX-License-Identifier: BSD-3-Clause
// The table of ranks for parallel debuggers, by the names of the MPIR interface.
#ifndef PLI_LAUNCHER_PROCESS_TABLE_H
#define PLI_LAUNCHER_PROCESS_TABLE_H

struct pli_job;

// All ranks of the command line are started on this host: fill the table, and stop at
// MPIR_Breakpoint for a debugger that asked for it.
void pli_process_table_publish(const struct pli_job *job);
void pli_process_table_free(void);

#endif
