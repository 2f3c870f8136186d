// SPDX-License-Identifier: BSD-3-Clause
// The buffer of MPI_Bsend. A program makes it large enough with MPI_BSEND_OVERHEAD, of which it
// has the other MPI's smaller value: one that has room for ours in its place is attached.
#include "foreign_calls.h"

#include <pthread.h>
#include <stdlib.h>

// What the program has attached, and what is attached for it. One buffer at a time. [MPI-5.0 3.6]
static struct {
    void *theirs, *ours;
    MPI_Count size;
} attached;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // of attached

int pli_foreign_buffer_attach_large(void *buffer, MPI_Count size)
{
    // As many messages as fit in theirs, each with our overhead.
    MPI_Count more = size > 0 ? (size / F_MPI_BSEND_OVERHEAD + 1) * MPI_BSEND_OVERHEAD : 0;
    void *room = buffer != NULL && size > 0 ? malloc((size_t)(size + more)) : NULL;
    if (room ==
        NULL) { // a wrong argument, which the call explains, or no memory: then it does with less
        int err = pli_std_MPI_Buffer_attach_c(buffer, size);
        return err == 0 ? 0 : pli_foreign_error_out(err);
    }
    pthread_mutex_lock(&guard);
    int err = pli_std_MPI_Buffer_attach_c(room, size + more);
    if (err == 0) {
        attached.theirs = buffer;
        attached.ours = room;
        attached.size = size;
    } else {
        free(room);
    }
    pthread_mutex_unlock(&guard);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int pli_foreign_buffer_attach(void *buffer, int size)
{
    return pli_foreign_buffer_attach_large(buffer, size);
}

int pli_foreign_buffer_detach_large(void *buffer_addr, MPI_Count *size)
{
    void *at = NULL;
    int err = pli_std_MPI_Buffer_detach_c(buffer_addr != NULL ? &at : NULL, size);
    if (err != 0) {
        return pli_foreign_error_out(err);
    }
    pthread_mutex_lock(&guard);
    *(void **)buffer_addr = at;
    if (at != NULL && at == attached.ours) {
        *(void **)buffer_addr = attached.theirs;
        *size = attached.size;
        free(at);
        attached.ours = NULL;
    }
    pthread_mutex_unlock(&guard);
    return 0;
}

int pli_foreign_buffer_detach(void *buffer_addr, int *size)
{
    MPI_Count large = 0;
    int err = pli_foreign_buffer_detach_large(buffer_addr, size != NULL ? &large : NULL);
    if (err == 0) {
        *size = large > INT_MAX ? MPI_UNDEFINED : (int)large;
    }
    return err;
}
