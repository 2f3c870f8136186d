// SPDX-License-Identifier: BSD-3-Clause
// The interface between the part of the UPC runtime that is linked into every program (upc/rt/link)
// and the library: how a program starts and ends.
#ifndef PLI_UPC_RT_START_H
#define PLI_UPC_RT_START_H

#include "pli_upc.h"

// What the program brings along: its start-up tables, and its variables to be filled in.
struct pli_upc_program {
    struct pli_upc_unit *const *units, *const *units_end;
    struct pli_upc_var *const *vars, *const *vars_end;
    int is_pthreads;
    int *threads;
    char **seg;
    int *has_far;
};

// Join the job: decide THREADS, map the segments, give every shared object its place. Ends the
// program with a message when that cannot be. Returns the number of UPC threads of this process.
int pli_upc_open(const struct pli_upc_program *p);
// The calling OS thread becomes the i-th UPC thread of this process. Returns MYTHREAD.
int pli_upc_enter(int i);
// Write the initial values of what the calling thread owns.
void pli_upc_fill(const struct pli_upc_program *p);
// The implicit barriers before main and after it.
void pli_upc_begin(void);
void pli_upc_leave(void);
// No UPC thread of this process is left.
void pli_upc_close(void);

void pli_upc_global_exit(int status) __attribute__((noreturn));

// With OS threads: what MPI_COMM_WORLD means. *comms: a handle for every thread of this process, an
// endpoint each; NULL and a sentence in *why on failure. Collective over all processes of all
// groups. Context: one thread of each process; MPI is initialised.
int pli_upc_mpi_world(void **comms, const char **why);
// Whether the calling UPC thread has an MPI rank; whether only the process has, not each thread.
int pli_upc_mpi_has_rank(void);
// Whether a process of the job may have several threads.
int pli_upc_mpi_is_joined(void);
int pli_upc_mpi_is_funneled(void);
int pli_upc_mpi_has_begun(void); // MPI was initialised by its first use
int pli_upc_n_here(void);        // UPC threads of this process

// Where the calling thread is in a hybrid job: group, UPC thread, MPI rank (-1: none), and of how
// many each. [hybrid MPI+UPC model]
struct pli_upc_place {
    int group, thread, rank;
    int n_group, n_thread, n_rank;
};
struct pli_upc_place pli_upc_hybrid_info(void);

#endif
