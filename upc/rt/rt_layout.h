// SPDX-License-Identifier: BSD-3-Clause
// How the threads of a UPC group lie in processes.
#ifndef PLI_UPC_RT_LAYOUT_H
#define PLI_UPC_RT_LAYOUT_H

#include "base/err.h"

#include <stdint.h>

struct pli_group;

// The places that mpiexec has made for a group: one for each process, or one for each thread.
struct rt_places {
    uint32_t n;
    uint32_t first, n_rank, extra; // their numbers in the job: the first n_rank, then the others
};

// A process of the group. Threads are numbered by process.
struct rt_proc {
    uint64_t id;  // in the job
    int first, n; // its threads
};

// The number of processes, in *out, which the caller frees. each: the places are those of threads,
// of which a process takes this many where one host has them; 0: they are those of processes.
uint32_t pli_rt_layout_find(const struct rt_places *places, uint32_t each, int n_thread,
                            struct rt_proc **out);
// The processes of all groups of the job, in the order of groups.
enum pli_err pli_rt_layout_all(struct pli_group **out);

#endif
