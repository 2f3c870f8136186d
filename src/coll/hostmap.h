// SPDX-License-Identifier: BSD-3-Clause
// The members of a communicator by host.
#ifndef PLI_COLL_HOSTMAP_H
#define PLI_COLL_HOSTMAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;

struct pli_hostmap_key {
    uint64_t context, proc; // proc, ep: of rank 0, for the sides of an intercommunicator
    uint32_t ep;
    int size, host;
};

// The endpoints of a process that are members of one communicator share it.
struct pli_hostmap {
    int n_host;      // 0: not known
    int my_host;     // numbered by their first ranks
    int n_member;    // ranks on my host
    bool is_grouped; // ranks are numbered host by host
    int *members;    // ranks on my host, in order
    int *leaders;    // first rank of every host
    int *host_of;    // of every rank
    int n_place;     // the smallest number of ranks on a host
    int *peers;      // [i * n_host + h]: the i-th rank of host h, i < n_place
    struct pli_hostmap_key key;
    uint32_t refs; // guarded in hostmap.c, as is next
    struct pli_hostmap *next;
};

// What another endpoint of this process made already, or new; NULL: no memory. Context: any thread.
struct pli_hostmap *pli_hostmap_open(const struct pli_comm *comm);
void pli_hostmap_close(struct pli_hostmap *h);

// Which of the ranks on my host a rank is.
int pli_hostmap_index(const struct pli_hostmap *h, int rank);

#endif
