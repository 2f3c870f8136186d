// SPDX-License-Identifier: BSD-3-Clause
// Who starts whom: mpiexec the first `fan` hosts, host i the hosts from (i + 1) * fan on, and so
// forth. What goes to a host takes the same way.
#ifndef PLI_MPIEXEC_TREE_H
#define PLI_MPIEXEC_TREE_H

#include <stdint.h>

enum { PLI_TREE_TOP = -1 };

static inline int64_t pli_tree_parent(uint32_t host, uint32_t fan)
{
    return (int64_t)(host / fan) - 1;
}

// The first of those that `host` (or PLI_TREE_TOP) starts; they are `fan` at most, in a row.
static inline uint64_t pli_tree_first(int64_t host, uint32_t fan)
{
    return (uint64_t)(host + 1) * fan;
}

// The one of my children on the way to a host; UINT32_MAX: it is not below me.
static inline uint32_t pli_tree_next(int64_t me, uint32_t host, uint32_t fan)
{
    for (int64_t at = host; at > me; at = pli_tree_parent((uint32_t)at, fan)) {
        if (pli_tree_parent((uint32_t)at, fan) == me) {
            return (uint32_t)at;
        }
    }
    return UINT32_MAX;
}

#endif
