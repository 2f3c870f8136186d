// SPDX-License-Identifier: BSD-3-Clause
// Computes which process starts which daemon: mpiexec those of the first `fan` hosts, host i the
// hosts from (i + 1) * fan on, and so forth; hosts that join a running job are all started by
// mpiexec. What goes to a host takes the same way.
#ifndef PLI_LAUNCHER_DAEMON_TREE_H
#define PLI_LAUNCHER_DAEMON_TREE_H

#include <stdint.h>

enum { PLI_DAEMON_TREE_TOP = -1 };

struct pli_daemon_tree {
    uint32_t fan;
    uint32_t n; // hosts that the job began with
};

static inline int64_t pli_daemon_tree_parent(uint32_t host, struct pli_daemon_tree tree)
{
    return host < tree.n ? (int64_t)(host / tree.fan) - 1 : PLI_DAEMON_TREE_TOP;
}

// The first of those that `host` (or PLI_DAEMON_TREE_TOP) starts at the beginning; they are in a
// row, and fewer than `fan` where the hosts come to an end. tree.n: it starts none.
static inline uint64_t pli_daemon_tree_first(int64_t host, struct pli_daemon_tree tree)
{
    uint64_t first = (uint64_t)(host + 1) * tree.fan;
    return first < tree.n ? first : tree.n;
}

static inline uint64_t pli_daemon_tree_end(int64_t host, struct pli_daemon_tree tree)
{
    return pli_daemon_tree_first(host + 1, tree);
}

// The one of my children on the way to a host; UINT32_MAX: it is not below me.
static inline uint32_t pli_daemon_tree_next(int64_t me, uint32_t host, struct pli_daemon_tree tree)
{
    for (int64_t at = host; at > me; at = pli_daemon_tree_parent((uint32_t)at, tree)) {
        if (pli_daemon_tree_parent((uint32_t)at, tree) == me) {
            return (uint32_t)at;
        }
    }
    return UINT32_MAX;
}

#endif
