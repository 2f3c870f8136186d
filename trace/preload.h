// SPDX-License-Identifier: BSD-3-Clause
// Several libraries between a program and MPI: what each calls next, and where the program is.
#ifndef PLI_TRACE_PRELOAD_H
#define PLI_TRACE_PRELOAD_H

#include <stdbool.h>

// Several libraries in one process have a copy.
#pragma GCC visibility push(hidden)

// Once, before the others, when the program's libraries are loaded.
void pli_preload_open(void);
// Whether another library of ours comes after this one, and finds out who called.
bool pli_preload_has_next(void);
// The function of that name in a library that comes after this one; `last` where none does.
void *pli_preload_next(const char *name, void *last);
// A program of another ABI calls a library of ours that has the names of that MPI: whether there is
// one, and the function of that name that comes after this library.
bool pli_preload_is_foreign(void);
void *pli_preload_next_foreign(const char *name);
// Where the program called, of a call that returns to `site` and has this frame: libraries of ours
// above this one, and the Fortran library, are passed over. They have frame pointers.
void *pli_preload_site(void *site, void *frame);

#pragma GCC visibility pop

#endif
