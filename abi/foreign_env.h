// SPDX-License-Identifier: BSD-3-Clause
// The surroundings of a process whose program was built with another MPI: start, memory, strings.
#ifndef PLI_FOREIGN_ENV_H
#define PLI_FOREIGN_ENV_H

#include "foreign_types.h"

#include <stdbool.h>

// Ends the program when the process has loaded two MPIs. Context: before MPI is initialised.
void pli_foreign_env_check(void);

// Ends the program: it has called a function that is not there.
_Noreturn void pli_foreign_env_lacks(const char *function);
// Ends the program, with a sentence.
_Noreturn void pli_foreign_env_end(const char *why);
// Ends the program: there are more objects than the ABI has handles for.
_Noreturn void pli_foreign_env_full(void);

// Memory for n things: `few` while they are at most PLI_FOREIGN_FEW; given back by leave.
void *pli_foreign_env_room(void *few, MPI_Count n, size_t size);
void pli_foreign_env_leave(void *room, const void *few);

// Copy a string into one with place for `cap` bytes, and shorten its length; length may be NULL.
void pli_foreign_env_text(char *to, const char *from, int cap, int *length);

// Of a spawn: whether its arguments count at this rank, and what became of each process.
bool pli_foreign_env_is_root(F_Comm comm, int root);
int pli_foreign_env_sum(const int *n, int count);
void pli_foreign_env_spawned(int *codes, int n);

#endif
