// SPDX-License-Identifier: BSD-3-Clause
// What the parts of mpictl share.
#ifndef PLI_MPICTL_MPICTL_H
#define PLI_MPICTL_MPICTL_H

#include <stdbool.h>
#include <stdint.h>

struct pli_node;

// What the options say.
struct pli_mpictl_args {
    long wait_s;       // for ranks that leave
    long timeout_s;    // for a job that is busy
    bool is_together;  // a rank may take others with it
    const char *hosts; // where new ranks are to go, NULL: anywhere
    long interval_s;   // between two looks
    long n_look;       // how many, 0: until the job ends
    bool is_json;
    bool is_plain; // without colours
    const char *sort, *filter;
};

// Say what is wrong with the command, and end with exit status 2.
_Noreturn void pli_mpictl_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Map the job of this mpiexec, if it is one: the launcher named in the memory is the process.
bool pli_mpictl_map(long pid, struct pli_node *out);

// The memory of the daemon of a job on one host that has a daemon.
bool pli_mpictl_map_part(long pid, struct pli_node *out);

// Whether the process of a row has ended; arg: the struct pli_node.
bool pli_mpictl_is_over(void *arg, uint32_t row);

// How long the job runs.
double pli_mpictl_seconds(const struct pli_node *node);

#endif
