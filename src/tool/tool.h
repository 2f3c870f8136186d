// SPDX-License-Identifier: BSD-3-Clause
// MPI_T: when it may be used, and how its functions give strings back. [MPI-5.0 15.3]
// Its functions return codes of their own and call no error handler; they may be called before
// MPI_Init and after MPI_Finalize. Context of all: any thread.
#ifndef PLI_TOOL_TOOL_H
#define PLI_TOOL_TOOL_H

#include <mpi.h>
#include <stdbool.h>

// So many more users; returns how many there are. Context: pli_tool_lock is held.
int pli_tool_count(int more);

// MPI_SUCCESS where MPI_T was initialised; else the code to return.
int pli_tool_check(void);

// Take and drop the lock of all that MPI_T keeps. Lanes may be locked while it is held, but never
// the other way around, and no function of the program is called with it.
void pli_tool_lock(void);
void pli_tool_unlock(void);

// Give a string back: at most *len - 1 characters of it and an end; *len becomes the length of all
// of it, plus one. Where `to` is NULL or *len is not positive only the length is; where len is NULL
// nothing is.
void pli_tool_text(const char *text, char *to, int *len);

// Write a number unless the user does not want it.
static inline void pli_tool_put(int *to, int value)
{
    if (to != NULL) {
        *to = value;
    }
}

#endif
