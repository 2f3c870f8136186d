// SPDX-License-Identifier: BSD-3-Clause
// What the parts of mpictl share.
#ifndef PLI_MPICTL_MPICTL_H
#define PLI_MPICTL_MPICTL_H

#include <stdbool.h>

struct pli_node;

// What the options say.
struct pli_mpictl_args {
    long wait_s;       // for ranks that leave
    long timeout_s;    // for a job that is busy
    bool is_together;  // a rank may take others with it
    const char *hosts; // where new ranks are to go, NULL: anywhere
};

// Say what is wrong with the command, and end with exit status 2.
_Noreturn void pli_mpictl_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Map the job of this mpiexec, if it is one: the launcher named in the memory is the process.
bool pli_mpictl_map(long pid, struct pli_node *out);

// How long the job runs.
double pli_mpictl_seconds(const struct pli_node *node);

#endif
