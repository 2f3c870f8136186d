// SPDX-License-Identifier: BSD-3-Clause
// Lists of what MPI_T offers, for people.
#ifndef PLI_TOOL_PRINT_H
#define PLI_TOOL_PRINT_H

void pli_tool_print_cvars(void);
void pli_tool_print_pvars(void);
void pli_tool_print_events(void);

#endif
