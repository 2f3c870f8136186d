// SPDX-License-Identifier: BSD-3-Clause
// Windows to which memory is attached later. Places are addresses there. [MPI-5.0 12.2.4]
#ifndef PLI_RMA_WIN_ATTACH_H
#define PLI_RMA_WIN_ATTACH_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_win;

enum pli_err pli_win_attach(struct pli_win *w, void *base, MPI_Aint size);
enum pli_err pli_win_attach_end(struct pli_win *w, const void *base);
void pli_win_attach_clear(struct pli_win *w);

// Whether all bytes from `at` on belong to the window, which is this process's. Context: any
// thread.
bool pli_win_attach_has(struct pli_win *w, int64_t at, uint64_t len);

#endif
