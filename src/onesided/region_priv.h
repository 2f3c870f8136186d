// SPDX-License-Identifier: BSD-3-Clause
// The state of a region, for the files of the engine alone.
#ifndef PLI_ONESIDED_REGION_PRIV_H
#define PLI_ONESIDED_REGION_PRIV_H

#include "onesided/region.h"
#include "onesided/region_wire.h"

#include <stdatomic.h>

struct pli_region_registration;
struct pli_region_server;
struct pli_region_chunk;

// What this member has under way towards another one.
struct pli_region_member {
    _Atomic uint64_t sent, sure;    // messages that are not answered: sent, and known to be done
    _Atomic uint32_t n_open;        // operations that use memory here
    _Atomic bool is_reading;        // much was asked for, which comes out of its memory itself
    _Atomic uint64_t n_put, n_sure; // puts by UCX: begun, and known to be there
    _Atomic int fault; // enum pli_err of an access that failed and was not reported yet
    // By number; guarded by the lane's lock. NULL: nothing is known.
    struct pli_region_chunk *chunks;
    size_t n_chunk;
};

// Whether messages to a member may not be dealt with yet.
static inline bool pli_region_is_dirty(const struct pli_region_member *m)
{
    return atomic_load_explicit(&m->sent, memory_order_relaxed) !=
           atomic_load_explicit(&m->sure, memory_order_relaxed);
}

struct pli_region {
    struct pli_comm *comm;
    struct pli_region_plan plan; // near and comm belong to the region
    struct pli_region_member *members;
    _Atomic uint32_t n_out; // messages and accesses that are under way
    _Atomic uint32_t next_tag;
    uint32_t data_tag; // PLI_REGION_TAG_DATA, or less where there are not so many tags
    _Atomic uint32_t n_order;
    struct pli_region_server *server;
    // By UCX.
    bool has_ucx;
    bool is_always;  // it is used whatever the devices are
    bool has_device; // a device here can reach others
    struct pli_region_registration *registrations;
    _Atomic uint64_t n_ucx; // accesses so far
};

#endif
