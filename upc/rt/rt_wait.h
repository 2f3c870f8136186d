// SPDX-License-Identifier: BSD-3-Clause
// Waiting with progress, and waking threads that wait.
#ifndef PLI_UPC_RT_WAIT_H
#define PLI_UPC_RT_WAIT_H

#include <stdbool.h>

struct pli_waiter;

// Fills in a waiter for the named call; pli_progress_step and pli_progress_end do the rest.
void pli_rt_wait_init(struct pli_waiter *w, const char *call, bool is_restless);
// Wakes every near thread that sleeps.
void pli_rt_wait_wake_all(void);

#endif
