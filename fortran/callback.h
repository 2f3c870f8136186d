// SPDX-License-Identifier: BSD-3-Clause
// Procedures of a Fortran program that MPI calls: for each a C function that converts the
// arguments and calls it.
#ifndef PLI_FORTRAN_CALLBACK_H
#define PLI_FORTRAN_CALLBACK_H

#include <mpi.h>

typedef void pli_procedure(void); // any procedure of Fortran

// Operations and error handlers get no state from C, so each procedure has a C function of its
// own, of a fixed number of them. NULL: there are none left.
MPI_User_function *pli_callback_op(pli_procedure *procedure);
MPI_User_function_c *pli_callback_op_c(pli_procedure *procedure);
MPI_Comm_errhandler_function *pli_callback_comm_errhandler(pli_procedure *procedure);
MPI_File_errhandler_function *pli_callback_file_errhandler(pli_procedure *procedure);
MPI_Win_errhandler_function *pli_callback_win_errhandler(pli_procedure *procedure);
MPI_Session_errhandler_function *pli_callback_session_errhandler(pli_procedure *procedure);

// The others get this as their extra state.
struct pli_callback;
// It stays for good, and equal ones are one. NULL: no memory.
struct pli_callback *pli_callback_state(pli_procedure *a, pli_procedure *b, pli_procedure *c,
                                        MPI_Aint extra);
// For a generalised request, with which it is freed. Its procedures get the program's variable
// itself; those of mpi_f08 a copy, and where they change that, the variable follows as long as it
// holds what they were given.
struct pli_callback *pli_callback_request(pli_procedure *query, pli_procedure *release,
                                          pli_procedure *cancel, MPI_Aint *variable);
struct pli_callback *pli_callback_request_f08(pli_procedure *query, pli_procedure *release,
                                              pli_procedure *cancel, MPI_Aint *variable);

MPI_Copy_function pli_callback_copy;
MPI_Delete_function pli_callback_delete;
MPI_Comm_copy_attr_function pli_callback_comm_copy_attr;
MPI_Comm_delete_attr_function pli_callback_comm_delete_attr;
MPI_Type_copy_attr_function pli_callback_type_copy_attr;
MPI_Type_delete_attr_function pli_callback_type_delete_attr;
MPI_Win_copy_attr_function pli_callback_win_copy_attr;
MPI_Win_delete_attr_function pli_callback_win_delete_attr;
MPI_Grequest_query_function pli_callback_grequest_query;
MPI_Grequest_free_function pli_callback_grequest_free;
MPI_Grequest_cancel_function pli_callback_grequest_cancel;
MPI_Datarep_extent_function pli_callback_datarep_extent;
// These are NULL, as C has it, for MPI_CONVERSION_FN_NULL.
MPI_Datarep_conversion_function *pli_callback_datarep_read(pli_procedure *procedure);
MPI_Datarep_conversion_function *pli_callback_datarep_write(pli_procedure *procedure);
MPI_Datarep_conversion_function_c *pli_callback_datarep_read_c(pli_procedure *procedure);
MPI_Datarep_conversion_function_c *pli_callback_datarep_write_c(pli_procedure *procedure);
MPIX_Checkpoint_size_function pli_callback_checkpoint_size;
MPIX_Checkpoint_pack_function pli_callback_checkpoint_pack;
MPIX_Checkpoint_unpack_function pli_callback_checkpoint_unpack;

// Raise the error that says that there is no C function left for a procedure, or no memory; the
// error code.
int pli_callback_fail_full(void);
int pli_callback_fail_memory(void);

#endif
