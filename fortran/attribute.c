// SPDX-License-Identifier: BSD-3-Clause
// Values of attributes that Fortran sets and reads. A value lives in a cell, one for each value,
// that stays for good: C has no means to tell when the last attribute that points to it is gone.
#include "fortran/attribute.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { PER_BLOCK = 512, N_LIST = 256 };

struct cell {
    MPI_Aint value; // first: C reads it by the cell's address
    struct cell *next;
};
struct block {
    struct block *next;
    struct cell cells[PER_BLOCK];
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // guards all below
static struct block *blocks;
static int n_used; // of the first block
static struct cell *lists[N_LIST];

void *pli_attribute_keep(MPI_Aint value)
{
    struct cell **list = &lists[((uintptr_t)value ^ (uintptr_t)value >> 8) % N_LIST];
    pthread_mutex_lock(&guard);
    struct cell *c = *list;
    while (c != NULL && c->value != value) {
        c = c->next;
    }
    if (c == NULL) {
        if (blocks == NULL || n_used == PER_BLOCK) {
            struct block *b = malloc(sizeof *b);
            if (b == NULL) {
                pthread_mutex_unlock(&guard);
                return NULL;
            }
            b->next = blocks;
            blocks = b;
            n_used = 0;
        }
        c = &blocks->cells[n_used++];
        *c = (struct cell){ .value = value, .next = *list };
        *list = c;
    }
    pthread_mutex_unlock(&guard);
    return c;
}

static bool is_cell(const void *p)
{
    bool found = false;
    pthread_mutex_lock(&guard);
    for (const struct block *b = blocks; b != NULL && !found; b = b->next) {
        found = (uintptr_t)p - (uintptr_t)b->cells < sizeof b->cells;
    }
    pthread_mutex_unlock(&guard);
    return found;
}

MPI_Aint pli_attribute_value(void *kept, int keyval)
{
    switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
#ifndef PLI_FORTRAN_OF_OPENMPI
    case IMPI_CLIENT_SIZE:
    case IMPI_HOST_SIZE:
    case MPIX_BEST_ENDPOINTS:
#endif
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
        return kept != NULL ? *(int *)kept : 0;
    case MPI_WIN_SIZE:
        return kept != NULL ? *(MPI_Aint *)kept : 0;
    default:
        return is_cell(kept) ? ((struct cell *)kept)->value : (MPI_Aint)kept;
    }
}
