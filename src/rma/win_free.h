// SPDX-License-Identifier: BSD-3-Clause
// The end of a window. [MPI-5.0 12.2.5]
#ifndef PLI_RMA_WIN_FREE_H
#define PLI_RMA_WIN_FREE_H

#include "base/err.h"

struct pli_win;

enum pli_err pli_win_free(struct pli_win *w);
// One that could not be made, or that no member uses any more. NULL and half-built ones are fine.
void pli_win_free_local(struct pli_win *w);

#endif
