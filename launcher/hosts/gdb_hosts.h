// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --gdb for ranks on several hosts: gdb has its terminal on the host of the rank, and what
// is typed and shown passes through the daemon there.
#ifndef PLI_LAUNCHER_GDB_HOSTS_H
#define PLI_LAUNCHER_GDB_HOSTS_H

#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_dframe;
struct pli_job;
struct pli_gdb_terminal;

// pli_launcher.gdb_hosts
struct pli_gdb_hosts_state {
    struct pli_gdb_terminal *terminals;
    uint32_t n;
    struct pli_timer size_timer; // looks at the sizes of what the user sees
};

// In mpiexec, when all hosts are there and before the tasks are started: show the terminals. False
// with a message.
bool pli_gdb_hosts_open(struct pli_job *job);
void pli_gdb_hosts_begin(void); // the tasks are started: tell sizes
void pli_gdb_hosts_close(void);
// A frame of a daemon; false: it is about something else.
bool pli_gdb_hosts_shown(uint32_t host, const struct pli_dframe *f);

// In a daemon: make the terminals of its ranks. False with a message.
bool pli_gdb_hosts_serve(struct pli_job *job);
// A frame of mpiexec; false: it is about something else.
bool pli_gdb_hosts_typed(const struct pli_dframe *f);

#endif
