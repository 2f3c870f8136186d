// SPDX-License-Identifier: BSD-3-Clause
// Several libraries between a program and MPI: what each calls next, and where the program is.
#ifndef PLI_TRACE_PRELOAD_H
#define PLI_TRACE_PRELOAD_H

// Several libraries in one process have a copy.
#pragma GCC visibility push(hidden)

// Once, before the others, when the program's libraries are loaded.
void pli_preload_open(void);
// The function of that name in a library that comes after this one; `last` where none does.
void *pli_preload_next(const char *name, void *last);
// Where the program called, of a call that returns to `site` and has this frame: libraries of ours
// above this one, and the Fortran library, are passed over. They have frame pointers.
void *pli_preload_site(void *site, void *frame);

#pragma GCC visibility pop

#endif
