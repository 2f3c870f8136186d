// SPDX-License-Identifier: BSD-3-Clause
// What a rank has used and sent so far, read from /proc and from the memory of its host.
#ifndef PLI_TOOLS_RANK_USAGE_H
#define PLI_TOOLS_RANK_USAGE_H

#include "boot/node.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_rank_usage {
    uint64_t cpu_ns; // processor time of all threads
    uint64_t memory; // bytes that are in memory, without what all processes of the host share
};

// False: there is no such process, and *out is 0.
bool pli_rank_usage_read(uint32_t pid, struct pli_rank_usage *out);

// Messages of all lanes and endpoints of a process, by any transport; those of collectives that use
// messages are among them.
struct pli_rank_traffic {
    uint64_t n_sent, sent_bytes, n_received, received_bytes;
};

void pli_rank_usage_traffic(const struct pli_node *node, uint32_t row,
                            struct pli_rank_traffic *out);
// For a head: what the host of the process has told.
void pli_rank_usage_set_traffic(const struct pli_node *node, uint32_t row,
                                const struct pli_rank_traffic *t);

#endif
