// SPDX-License-Identifier: BSD-3-Clause
// Finds which rank is on which host in a job of another launcher.
#ifndef PLI_BOOT_KVS_MAP_H
#define PLI_BOOT_KVS_MAP_H

#include "base/err.h"

#include <stdint.h>

struct pli_node;
struct pli_kvs;

// Hosts are numbered in the order of their first process.
struct pli_kvs_map {
    uint32_t *host_of; // process -> host
    uint32_t *row_of;  // process -> its number on that host
    uint32_t *leader;  // host -> its first process
    uint32_t n_host;
    uint32_t n_here; // processes on my host
};

// From the launcher, or else from the names of the hosts, and then it waits for the others.
enum pli_err pli_kvs_map_init(struct pli_kvs_map *m, const struct pli_kvs *s);
void pli_kvs_map_fini(struct pli_kvs_map *m);

// Make the process set of every host whose name is in the node memory.
enum pli_err pli_kvs_map_sets(const struct pli_kvs_map *m, struct pli_node *node);

#endif
