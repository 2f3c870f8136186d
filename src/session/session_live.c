// SPDX-License-Identifier: BSD-3-Clause
// Computes the present members of process sets that follow the world, from the newest version of
// the world and the table of processes; nothing is stored.
#include "session/session_live.h"

#include "boot/boot.h"
#include "boot/pset.h"
#include "msg/lane.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct pli_node *this_node(void)
{
    return &pli_proc.boot->node;
}

// A process that was spawned has a world of its own, which does not change.
static bool is_spawned(void)
{
    const struct pli_boot *b = pli_proc.boot;
    return b->row >= b->node.header->n_row && b->version == 0;
}

uint32_t pli_session_live_version(void)
{
    return is_spawned()
               ? 0
               : (uint32_t)atomic_load_explicit(&this_node()->header->world, memory_order_acquire);
}

static bool newest_world(struct pli_pset *out)
{
    uint32_t version =
        (uint32_t)atomic_load_explicit(&this_node()->header->world, memory_order_acquire);
    return version > 0 && pli_pset_get_world(this_node(), version + 1, out);
}

static bool is_of_hosts(const struct pli_pset *set)
{
    return set->origin == PLI_PSET_HOST ||
           (set->origin == PLI_PSET_HARDWARE && strncasecmp(set->name, "mpi://hw/node/", 14) == 0);
}

bool pli_session_live_follows(const struct pli_pset *set)
{
    const struct pli_node_header *h = this_node()->header;
    bool is_whole = set->origin == PLI_PSET_APP && set->n == h->n_world - h->n_extra;
    return atomic_load_explicit(&h->world, memory_order_relaxed) > 0 &&
           (is_whole || set->origin == PLI_PSET_HOST || set->origin == PLI_PSET_HARDWARE);
}

static uint32_t host_of(uint32_t index)
{
    const struct pli_node_proc *p = pli_node_find(this_node(), index);
    return p != NULL ? p->host : UINT32_MAX;
}

// Whether a member that the set was made with is on this host.
static bool has_host(const struct pli_pset *set, uint32_t host)
{
    for (uint32_t k = 0; k < set->n_run; k++) {
        const struct pli_pset_run *r = &set->runs[k];
        for (uint32_t i = 0; i < r->n; i++) {
            if (host_of(r->first + i * r->step) == host) {
                return true;
            }
        }
    }
    return false;
}

// A process that came later is bound to no part of a host.
static bool belongs(const struct pli_pset *set, uint32_t index)
{
    return set->origin == PLI_PSET_APP ||
           (is_of_hosts(set) ? has_host(set, host_of(index)) : pli_pset_has(set, index));
}

bool pli_session_live_has(const struct pli_pset *set, uint32_t index)
{
    struct pli_pset world;
    if (!pli_session_live_follows(set) || !newest_world(&world)) {
        return pli_pset_has(set, index);
    }
    return pli_pset_has(&world, index) && belongs(set, index);
}

enum pli_err pli_session_live_list(const struct pli_pset *set, uint32_t **list_out, uint32_t *n_out)
{
    struct pli_pset from = *set;
    bool is_live = pli_session_live_follows(set) && newest_world(&from);
    uint32_t *list = malloc(from.n * sizeof *list + 1), n = 0;
    if (list == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a set of %u processes", from.n);
    }
    pli_pset_list(&from, list);
    for (uint32_t i = 0; i < from.n; i++) {
        if (!is_live || belongs(set, list[i])) {
            list[n++] = list[i];
        }
    }
    *list_out = list;
    *n_out = n;
    return PLI_OK;
}
