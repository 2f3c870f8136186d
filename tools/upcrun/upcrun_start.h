// SPDX-License-Identifier: BSD-3-Clause
// Starting the processes of a UPC program.
#ifndef PLI_UPCRUN_START_H
#define PLI_UPCRUN_START_H

#include <stdbool.h>

struct pli_upcrun_shape {
    long n_thread, n_proc;
    long each; // threads of one process at most
    bool is_pthreads, is_quiet, is_verbose, is_show;
    const char *timeout;
    const char *hosts; // a file with a list of hosts; NULL: this one
    long n_node;       // how many of them; 0: as many as it takes
    char **program;
};

// Become mpiexec. Returns only on failure, or when the command is only shown.
int pli_upcrun_alone(const struct pli_upcrun_shape *s);

// Start the processes with what mpiexec left in PLIANT_BOOT, and wait for them.
int pli_upcrun_below(const struct pli_upcrun_shape *s, const char *boot);

#endif
