// SPDX-License-Identifier: BSD-3-Clause
// The owner's side: takes requests of the other members one after the other, whenever this process
// waits or polls, and answers them.
#ifndef PLI_RMA_RMA_SERVE_H
#define PLI_RMA_RMA_SERVE_H

#include "base/err.h"

struct pli_win;

enum pli_err pli_rma_serve_open(struct pli_win *w);
// Context: nobody asks any more, no lock held.
void pli_rma_serve_close(struct pli_win *w); // one that was never opened is fine

#endif
