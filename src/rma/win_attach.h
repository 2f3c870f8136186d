// SPDX-License-Identifier: BSD-3-Clause
// Windows to which memory is attached later. Places are addresses there. [MPI-5.0 12.2.4]
#ifndef PLI_RMA_WIN_ATTACH_H
#define PLI_RMA_WIN_ATTACH_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_guard;
struct pli_win;
struct pli_win_attach_wire;

enum pli_err pli_win_attach(struct pli_win *w, void *base, MPI_Aint size);
enum pli_err pli_win_attach_end(struct pli_win *w, const void *base);
void pli_win_attach_clear(struct pli_win *w);

// Whether all bytes from `at` on belong to the window, which is this process's. Context: any
// thread.
bool pli_win_attach_has(struct pli_win *w, int64_t at, uint64_t len);

// The window has a guard: say behind it what is attached. Context: no other thread uses it.
void pli_win_attach_publish(struct pli_win *w);
// Where that is, behind the guard of any member of a window of n.
struct pli_win_attach_wire *pli_win_attach_wire(struct pli_guard *guard, int n);
size_t pli_win_attach_bytes(int n); // of a guard with it
// Whether all of it is attached to a member in one piece. False: ask the member.
bool pli_win_attach_sees(const struct pli_win_attach_wire *a, uint64_t at, uint64_t len);

#endif
