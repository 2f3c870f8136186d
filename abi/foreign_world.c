// SPDX-License-Identifier: BSD-3-Clause
// What the names of Pliant MPI for communicators of a world that changes stand for.
#include "foreign_calls.h"

#include <pthread.h>

F_Comm PMPIX_Comm_parents(void)
{
    return pli_foreign_comm_out(pli_std_MPIX_Comm_parents());
}

F_Comm PMPIX_Comm_children(void)
{
    return pli_foreign_comm_out(pli_std_MPIX_Comm_children());
}

// What the program stores there stays until the next resize.
F_Comm *PMPIX_Resized_world(void)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static F_Comm place;
    static MPI_Comm seen;
    static bool is_set;
    MPI_Comm now = *pli_std_MPIX_Resized_world();
    pthread_mutex_lock(&guard);
    if (!is_set || now != seen) {
        place = pli_foreign_comm_out(now);
        seen = now;
        is_set = true;
    }
    pthread_mutex_unlock(&guard);
    return &place;
}

F_Comm MPIX_Comm_parents(void) __attribute__((weak, alias("PMPIX_Comm_parents")));
F_Comm MPIX_Comm_children(void) __attribute__((weak, alias("PMPIX_Comm_children")));
F_Comm *MPIX_Resized_world(void) __attribute__((weak, alias("PMPIX_Resized_world")));
