// SPDX-License-Identifier: BSD-3-Clause
// Control variables of MPI_T: the settings of base/conf.def, under the names of their environment
// variables, and the hints of a communicator. [MPI-5.0 15.3.6]
#ifndef PLI_TOOL_TOOL_CVAR_H
#define PLI_TOOL_TOOL_CVAR_H

#include <mpi.h>

// Make the list, once; drop all handles. Context: pli_tool_lock is held.
void pli_tool_cvar_open(void);
void pli_tool_cvar_close(void);
// The category of the i-th variable, -1: there are no more.
int pli_tool_cvar_category(int i);

int pli_tool_cvar_get_num(int *num);
int pli_tool_cvar_get_info(int index, char *name, int *name_len, int *verbosity,
                           MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                           int *bind, int *scope);
int pli_tool_cvar_get_index(const char *name, int *index);
int pli_tool_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count);
int pli_tool_cvar_handle_free(MPI_T_cvar_handle *handle);
int pli_tool_cvar_read(MPI_T_cvar_handle handle, void *buf);
int pli_tool_cvar_write(MPI_T_cvar_handle handle, const void *buf);

#endif
