// SPDX-License-Identifier: BSD-3-Clause
// What the protocol does not carry fails with a sentence on a communicator that spans clients, and
// is the native library's on any other. rest.awk makes the functions.
#include "shim/shim.h"

int pli_shim_refuse(MPI_Comm comm, const char *text)
{
    return pli_shim_end(comm, pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION, text));
}
