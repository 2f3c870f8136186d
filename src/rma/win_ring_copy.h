// SPDX-License-Identifier: BSD-3-Clause
// Long puts and gets between processes of a host, of which the target copies a part while it is in
// a call of MPI: the target by the kernel, and the origin too where it has not mapped the memory.
#ifndef PLI_RMA_WIN_RING_COPY_H
#define PLI_RMA_WIN_RING_COPY_H

#include <stdbool.h>
#include <stddef.h>

enum { PLI_WIN_RING_COPY_NEAR = 128 << 10 }; // bytes, of memory that the origin has mapped

struct pli_rma_target;
struct pli_win;
struct pli_win_ring_wire;

// Copy a run of bytes between memory here and what the access names, at once. False: it is not long
// enough, or cannot be done so. Context: no lock held.
bool pli_win_ring_copy(struct pli_win *w, const struct pli_rma_target *t, void *here, size_t bytes,
                       bool is_put);
// The target's part: some of what the origin has not begun. Context: lane locked.
void pli_win_ring_copy_help(struct pli_win *w, struct pli_win_ring_wire *wire);

#endif
