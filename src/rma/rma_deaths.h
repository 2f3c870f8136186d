// SPDX-License-Identifier: BSD-3-Clause
// Which windows of this process are to be told when somebody dies.
#ifndef PLI_RMA_RMA_DEATHS_H
#define PLI_RMA_RMA_DEATHS_H

#include "base/list.h"

#include <stdbool.h>

struct pli_win;

struct pli_rma_deaths {
    struct pli_list link;
    void (*hear)(struct pli_rma_deaths *d); // context: no lane locked
};

// Be told from now on, and at once where somebody has died before.
void pli_rma_deaths_listen(struct pli_rma_deaths *d);
void pli_rma_deaths_stop(struct pli_rma_deaths *d);
// Whether a member of the window has died.
bool pli_rma_deaths_has(const struct pli_win *w, int rank);

#endif
