// SPDX-License-Identifier: BSD-3-Clause
// A UPC program may use MPI_COMM_WORLD without calling MPI_Init: its first use initialises MPI.
#ifndef PLI_COMM_IMPLICIT_INIT_H
#define PLI_COMM_IMPLICIT_INIT_H

#include <stdbool.h>

// Sets the function that initialises MPI unless that was done; it returns false when it was, or
// failed. Context: start-up only.
void pli_implicit_init_on_use(bool (*fn)(void));
// Allow it in this program. Context: start-up only; one thread calls MPI.
void pli_implicit_init_allow(void);

// Called for a handle without object. True: it was a predefined communicator, which now exists.
bool pli_implicit_init_by(const void *handle) __attribute__((cold));
// Whether MPI was initialised that way.
bool pli_implicit_init_has(void);

#endif
