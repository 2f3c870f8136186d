// SPDX-License-Identifier: BSD-3-Clause
// Handles that C writes when a request is complete (MPIX_Comm_ishrink): Fortran's variables get
// them then.
#ifndef PLI_FORTRAN_LATER_H
#define PLI_FORTRAN_LATER_H

#include <mpi.h>
#include <stdatomic.h>

extern atomic_int pli_later_count; // how many are expected

// Where C shall write a communicator that the variable of Fortran is to get. NULL: no memory.
MPI_Comm *pli_later_comm(int *fortran);
void pli_later_forget(MPI_Comm *place); // the call failed
void pli_later_collect(void);

// After each call that may have completed requests.
static inline void pli_later_settle(void)
{
    if (__builtin_expect(atomic_load_explicit(&pli_later_count, memory_order_relaxed) != 0, 0)) {
        pli_later_collect();
    }
}

#endif
