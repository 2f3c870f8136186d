// SPDX-License-Identifier: BSD-3-Clause
// What a daemon knows of itself, and how it tells mpiexec what happens on its host.
#ifndef PLI_LAUNCHER_DAEMON_H
#define PLI_LAUNCHER_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_rank_failure;

// Tell mpiexec.
void pli_daemon_send(uint16_t kind, uint16_t flag, uint32_t a, const void *data, size_t len);
// Tell what is new about the ranks here, and what they have made.
void pli_daemon_report_changes(void);
// Something happened to a rank here.
void pli_daemon_report(const struct pli_rank_failure *c);

#endif
