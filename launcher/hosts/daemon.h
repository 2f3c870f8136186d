// SPDX-License-Identifier: BSD-3-Clause
// mpiexec as a daemon: it runs the tasks of one host for an mpiexec elsewhere, and passes on what
// is for the daemons that it has started itself.
#ifndef PLI_LAUNCHER_DAEMON_H
#define PLI_LAUNCHER_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_case;

// argv: the name of the program, --as-daemon, and the number of the host or "slurm". Returns the
// exit status.
int pli_daemon_main(char **argv);

// Tell mpiexec. Context: a daemon.
void pli_daemon_send(uint16_t kind, uint16_t flag, uint32_t a, const void *data, size_t len);
// Tell what is new about the ranks here, and what they have made.
void pli_daemon_look(void);
struct pli_daemon_auth_place;
bool pli_daemon_dock(struct pli_daemon_auth_place *out, char *why); // pli_image_transfer_open
void pli_daemon_case(const struct pli_case *c);

#endif
