// SPDX-License-Identifier: BSD-3-Clause
// The interface between the files that are linked into UPC programs.
#ifndef PLI_UPC_LINK_H
#define PLI_UPC_LINK_H

int pli_upc_my_start(void); // which thread of the process the calling one is
void pli_upc_mpi_end(void); // the calling thread, if MPI began with its first use
void pli_upc_mpi_close(void);

// The calling thread begins and ends, for a tool; NULL: no tool, or it has no interest.
void pli_upc_gasp_begin(int *argc, char ***argv);
void pli_upc_gasp_end(int status);
void *pli_upc_gasp_context(void);

// Become a UPC program whose threads run this function; extern_begin: only begin, and return.
typedef int (*pli_upc_main_fn)(int argc, char **argv, char **envp);
int pli_upc_run_main(int argc, char **argv, pli_upc_main_fn main_fn);
void pli_upc_extern_begin(int argc, char **argv);

#endif
