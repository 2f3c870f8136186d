// SPDX-License-Identifier: BSD-3-Clause
// Events of MPI_T: types, sources, registrations and callbacks. [MPI-5.0 15.3.8]
#ifndef PLI_TOOL_TOOL_EVENT_H
#define PLI_TOOL_TOOL_EVENT_H

#include <mpi.h>

struct pli_info;

// Become the one who gets events; drop all registrations. Context: pli_tool_lock is held.
void pli_tool_event_open(void);
void pli_tool_event_close(void);
// Call the callbacks for what has happened. Context: no lock held.
void pli_tool_event_drain(void);
// The category of the i-th type, -1: there are no more.
int pli_tool_event_category(int i);

int pli_tool_event_get_num(int *num);
int pli_tool_event_get_info(int index, char *name, int *name_len, int *verbosity,
                            MPI_Datatype types[], MPI_Aint displacements[], int *num_elements,
                            MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
                            int *bind);
int pli_tool_event_get_index(const char *name, int *index);
int pli_tool_event_handle_alloc(int index, void *object, MPI_Info info,
                                MPI_T_event_registration *registration);
int pli_tool_event_handle_set_info(MPI_T_event_registration registration, MPI_Info info);
int pli_tool_event_handle_get_info(MPI_T_event_registration registration, MPI_Info *info);
int pli_tool_event_register_callback(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                                     MPI_Info info, void *user_data, MPI_T_event_cb_function fn);
int pli_tool_event_callback_set_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                                     MPI_Info info);
int pli_tool_event_callback_get_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                                     MPI_Info *info);
int pli_tool_event_handle_free(MPI_T_event_registration registration, void *user_data,
                               MPI_T_event_free_cb_function fn);
int pli_tool_event_set_dropped_handler(MPI_T_event_registration registration,
                                       MPI_T_event_dropped_cb_function fn);
int pli_tool_event_read(MPI_T_event_instance event, int element, void *buf);
int pli_tool_event_copy(MPI_T_event_instance event, void *buf);
int pli_tool_event_get_timestamp(MPI_T_event_instance event, MPI_Count *timestamp);
int pli_tool_event_get_source(MPI_T_event_instance event, int *source);
int pli_tool_event_source_get_num(int *num);
int pli_tool_event_source_get_info(int index, char *name, int *name_len, char *desc, int *desc_len,
                                   MPI_T_source_order *ordering, MPI_Count *ticks_per_second,
                                   MPI_Count *max_ticks, MPI_Info *info);
int pli_tool_event_source_get_timestamp(int index, MPI_Count *timestamp);

#endif
