// SPDX-License-Identifier: BSD-3-Clause
// MPI_T_init_thread and MPI_T_finalize. [MPI-5.0 15.3.4]
#ifndef PLI_TOOL_TOOL_INIT_H
#define PLI_TOOL_TOOL_INIT_H

int pli_tool_init(int required, int *provided);
int pli_tool_init_end(void);

#endif
