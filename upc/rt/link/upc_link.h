// SPDX-License-Identifier: BSD-3-Clause
// The interface between the files that are linked into UPC programs.
#ifndef PLI_UPC_LINK_H
#define PLI_UPC_LINK_H

int pli_upc_my_start(void); // which thread of the process the calling one is
void pli_upc_mpi_end(void); // the calling thread, if MPI began with its first use
void pli_upc_mpi_close(void);

#endif
