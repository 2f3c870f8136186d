// SPDX-License-Identifier: BSD-3-Clause
// What the protocol does not carry fails with a sentence on a communicator that spans clients, and
// is the native library's on any other. rest.awk makes the functions; those here have more to say.
#include "shim/shim.h"

int pli_shim_refuse(MPI_Comm comm, const char *text)
{
    return pli_shim_end(comm, pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION, text));
}

PLI_SHIM_API int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    MPI_Group native;
    if (pli_shim_span_find(comm) != NULL) {
        return pli_shim_refuse(comm, "MPI_Comm_create_group cannot be done between different MPIs; "
                                     "MPI_Comm_create can");
    }
    int rc = pli_shim_group_native(comm, group, &native);
    return rc == MPI_SUCCESS ? PLI_SHIM_OUTSIDE(PMPI_Comm_create_group(comm, native, tag, newcomm))
                             : pli_shim_end(comm, rc);
}
