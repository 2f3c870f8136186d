// SPDX-License-Identifier: BSD-3-Clause
// <upc_hybrid.h>: where a UPC thread is in a job that is MPI and UPC at once. An extension;
// programs find out by __UPC_HYBRID__.
#ifndef PLI_UPC_HYBRID_H
#define PLI_UPC_HYBRID_H

typedef struct {
    int group;                  // which UPC group this thread belongs to
    int thread;                 // MYTHREAD
    int rank;                   // in MPI_COMM_WORLD; -1: this thread has no MPI rank
    int groups, threads, ranks; // how many there are: of groups, of threads in one, of ranks in all
} upc_hybrid_t;

upc_hybrid_t upc_hybrid_info(void) __asm__("pli_upc_hybrid_info");

#endif
