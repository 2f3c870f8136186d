// SPDX-License-Identifier: BSD-3-Clause
// When mpiexec was killed the watchdog of each host sends what the ranks recorded to that of
// mpiexec: see head_watchdog.h.
#ifndef PLI_LAUNCHER_DAEMON_WATCHDOG_H
#define PLI_LAUNCHER_DAEMON_WATCHDOG_H

#include <stdbool.h>

struct pli_dframe;
struct pli_watchdog_after;

// The daemon was told where to call; false: the frame is about something else.
bool pli_daemon_watchdog_told(const struct pli_dframe *f);
// What the watchdog of this host does when mpiexec was killed; NULL: nothing.
const struct pli_watchdog_after *pli_daemon_watchdog_after(void);

#endif
