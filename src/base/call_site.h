// SPDX-License-Identifier: BSD-3-Clause
// Where the program called MPI.
#ifndef PLI_BASE_CALL_SITE_H
#define PLI_BASE_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The first return address outside this library and its Fortran interfaces; 0: not known.
uint64_t pli_call_site(void);

// The call site for another process to look up: its address, the address its file is mapped at,
// and the file. Writes nothing if it is not known or does not fit; returns the bytes written.
size_t pli_call_site_write(char *to, size_t cap);

// For the next one: learn where this library is. False: it is linked into the program.
bool pli_call_site_prepare(void);
// In the handler of a signal that is of this library: whether the thread was in a call of MPI, or
// that cannot be told now. Async-signal-safe after pli_call_site_prepare.
bool pli_call_site_is_inside(void);

#endif
