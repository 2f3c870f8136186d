// SPDX-License-Identifier: BSD-3-Clause
// mpiexec as a daemon: it runs the tasks of one host for an mpiexec elsewhere, and passes on what
// is for the daemons that it has started itself.
#ifndef PLI_LAUNCHER_DAEMON_RUN_H
#define PLI_LAUNCHER_DAEMON_RUN_H

#include <stdbool.h>

struct pli_daemon_addr;
struct pli_job;

// argv: the name of the program, --as-daemon, and the number of the host or "slurm". Returns the
// exit status.
int pli_daemon_run_main(struct pli_job *job, char **argv);

// The same once the specification of the job is read into pli_launcher.daemon, and the loop is
// there.
int pli_daemon_run_serve(struct pli_job *job, char **argv);

// Take the settings that the user gave to mpiexec over, which are for its daemons too.
void pli_daemon_run_settings(void);

// What the user has asked for must be possible here; else this ends with a message for mpiexec.
void pli_daemon_run_prepare(struct pli_job *job);
// Listen for daemons that this one starts, and for images of ranks. False with a message.
bool pli_daemon_run_listen(struct pli_daemon_addr *out);

#endif
