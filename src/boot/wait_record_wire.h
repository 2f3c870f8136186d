// SPDX-License-Identifier: BSD-3-Clause
// What the threads of a process wait for, where they are several or speak for endpoints: records
// behind the mailbox of each lane. Sparse: a lane that never sleeps for long touches none of it.
#ifndef PLI_BOOT_WAIT_RECORD_WIRE_H
#define PLI_BOOT_WAIT_RECORD_WIRE_H

#include "boot/node.h"

// The name of a process's progress thread, which is none of those that wait.
#define PLI_WAIT_PROGRESS_THREAD "mpi-progress"

enum {
    PLI_THREAD_AT = 72 * 1024, // in the memory of a lane
    PLI_THREAD_N = 32,         // threads that sleep at one lane; more are counted and not described
    PLI_THREAD_SITE = 160
};

struct pli_thread_wait {
    struct pli_node_wait wait;  // what: written last, back to PLI_NODE_AWAKE first
    uint32_t tid;               // as the kernel numbers threads
    uint32_t ep;                // number of the endpoint, 0: the process itself
    char site[PLI_THREAD_SITE]; // where mpiexec has it from another host; else empty
};
_Static_assert(sizeof(struct pli_thread_wait) == 432, "shared with other processes");
_Static_assert(PLI_THREAD_N * sizeof(struct pli_thread_wait) <= 128 * 1024 - PLI_THREAD_AT,
               "in front of the outbox");

static inline struct pli_thread_wait *pli_thread_waits(const struct pli_node *node, uint32_t row,
                                                       int lane)
{
    return (struct pli_thread_wait *)(void *)(pli_node_area(node, row) +
                                              (size_t)lane * PLI_NODE_LANE + PLI_THREAD_AT);
}

#endif
