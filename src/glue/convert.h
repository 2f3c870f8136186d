// SPDX-License-Identifier: BSD-3-Clause
// Handles as integers and back, and statuses as Fortran has them. [MPI-5.0 19.3.4, 20.4]
#ifndef PLI_GLUE_CONVERT_H
#define PLI_GLUE_CONVERT_H

#include "base/err.h"
#include "obj/handle.h"

#include <mpi.h>

// An integer that names nothing becomes the null handle.
#define PLI_FROM_INT(kind, KIND, handle)                                                           \
    static inline handle pli_convert_##kind(int i)                                                 \
    {                                                                                              \
        return pli_handle_from_int(i, PLI_KIND_##KIND);                                            \
    }
PLI_FROM_INT(comm, COMM, MPI_Comm)
PLI_FROM_INT(group, GROUP, MPI_Group)
PLI_FROM_INT(datatype, DATATYPE, MPI_Datatype)
PLI_FROM_INT(op, OP, MPI_Op)
PLI_FROM_INT(request, REQUEST, MPI_Request)
PLI_FROM_INT(info, INFO, MPI_Info)
PLI_FROM_INT(errhandler, ERRHANDLER, MPI_Errhandler)
PLI_FROM_INT(session, SESSION, MPI_Session)
PLI_FROM_INT(win, WIN, MPI_Win)
PLI_FROM_INT(file, FILE, MPI_File)
PLI_FROM_INT(message, MESSAGE, MPI_Message)
#undef PLI_FROM_INT

enum pli_err pli_convert_status_c2f(const MPI_Status *from, MPI_Fint *to);
enum pli_err pli_convert_status_f2c(const MPI_Fint *from, MPI_Status *to);
enum pli_err pli_convert_status_c2f08(const MPI_Status *from, MPI_F08_status *to);
enum pli_err pli_convert_status_f082c(const MPI_F08_status *from, MPI_Status *to);
enum pli_err pli_convert_status_f2f08(const MPI_Fint *from, MPI_F08_status *to);
enum pli_err pli_convert_status_f082f(const MPI_F08_status *from, MPI_Fint *to);

#endif
