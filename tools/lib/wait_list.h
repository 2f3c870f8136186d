// SPDX-License-Identifier: BSD-3-Clause
// The records that sleeping processes and threads leave in the memory of the node, as one list.
#ifndef PLI_TOOLS_WAIT_LIST_H
#define PLI_TOOLS_WAIT_LIST_H

#include "boot/node.h"

#include <stddef.h>

struct pli_wait_entry {
    uint32_t row;
    const struct pli_node_wait *wait;
    uint32_t tid;      // the thread, 0: the only one
    uint32_t ep;       // its endpoint, 0: the process's own
    const char *site;  // where it is known without the process; else empty
    uint32_t n_in_row; // records of the same process
};

enum { PLI_WAIT_LIST_MAX = 8 * 32 };

// Fill in what the threads of a row sleep for, ordered by rank. Returns the number of entries.
uint32_t pli_wait_list(const struct pli_node *node, uint32_t row,
                       struct pli_wait_entry to[PLI_WAIT_LIST_MAX]);

// The name of what sleeps: "rank 3", "rank 1 (endpoint rank 4, thread 2717)".
enum { PLI_WAIT_LIST_WHO = 128 };
const char *pli_wait_list_who(const struct pli_node *node, const struct pli_wait_entry *e,
                              char to[PLI_WAIT_LIST_WHO]);
// The name of the communicator, or words for one that has none.
const char *pli_wait_list_comm(const struct pli_wait_entry *e);

#endif
