// SPDX-License-Identifier: BSD-3-Clause
// mpictl watch: what the ranks do, once a second, for programs and log files.
#ifndef PLI_MPICTL_WATCH_H
#define PLI_MPICTL_WATCH_H

struct pli_mpictl_args;

// Returns the exit status.
int pli_watch_run(const struct pli_mpictl_args *args, long pid);

#endif
