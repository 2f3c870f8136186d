// SPDX-License-Identifier: BSD-3-Clause
// Windows of this process are told when a process dies.
#ifndef PLI_RMA_WIN_FAILURE_H
#define PLI_RMA_WIN_FAILURE_H

#include "base/list.h"

#include <stdbool.h>

struct pli_win;

struct pli_win_failure_listener {
    struct pli_list link;
    void (*on_failure)(struct pli_win_failure_listener *d); // context: no lane locked
};

// Be told from now on, and at once where a process has died before.
void pli_win_failure_listen(struct pli_win_failure_listener *d);
void pli_win_failure_stop(struct pli_win_failure_listener *d);
// Whether a member of the window has died.
bool pli_win_failure_has(const struct pli_win *w, int rank);

#endif
