// SPDX-License-Identifier: BSD-3-Clause
// Performance variables of MPI_T: sessions and handles. A handle has its own value: what was
// counted between its start and its stop. [MPI-5.0 15.3.7]
#ifndef PLI_TOOL_TOOL_PVAR_H
#define PLI_TOOL_TOOL_PVAR_H

#include <mpi.h>

// Make the list, once; drop all sessions and handles. Context: pli_tool_lock is held.
void pli_tool_pvar_open(void);
void pli_tool_pvar_close(void);
// The category of the i-th variable, -1: there are no more.
int pli_tool_pvar_category(int i);

int pli_tool_pvar_get_num(int *num);
int pli_tool_pvar_get_info(int index, char *name, int *name_len, int *verbosity, int *var_class,
                           MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                           int *bind, int *readonly, int *continuous, int *atomic);
int pli_tool_pvar_get_index(const char *name, int var_class, int *index);
int pli_tool_pvar_session_create(MPI_T_pvar_session *session);
int pli_tool_pvar_session_free(MPI_T_pvar_session *session);
int pli_tool_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object,
                               MPI_T_pvar_handle *handle, int *count);
int pli_tool_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);
int pli_tool_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int pli_tool_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int pli_tool_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf);
int pli_tool_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf);
int pli_tool_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int pli_tool_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf);

#endif
