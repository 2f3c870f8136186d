// SPDX-License-Identifier: BSD-3-Clause
// Counts communicators at their spawned members. Costs nothing in a job that has not spawned.
#include "obj/comm_hold.h"

#include "boot/boot.h"
#include "obj/comm.h"
#include "obj/group_index.h"

static bool is_ours(uint64_t proc)
{
    return pli_node_job_of(proc) == pli_boot.job;
}

// Change the count at one process. True: it has one. Those that were spawned together end together
// as far as their memory goes; one that came into a growing world may end while others of that
// world still read what it has shown them.
static bool change(uint64_t proc, uint32_t by)
{
    const struct pli_node *node = &pli_boot.node;
    uint32_t index = (uint32_t)proc;
    uint32_t row = index >= node->header->n_world ? pli_node_row_of(node, index) : UINT32_MAX;
    if (row == UINT32_MAX ||
        (node->rows[row].version == 0 && node->rows[row].world == pli_boot.world)) {
        return false;
    }
    atomic_fetch_add_explicit(&node->rows[row].n_held, by, memory_order_acq_rel);
    atomic_store_explicit(&node->rows[row].was_held, 1, memory_order_release);
    return true;
}

// Whether all members of a run are of the job's first world, which have no such count. Constant
// time: a process may have a hundred thousand communicators of as many members.
static bool is_first_world(const struct pli_group_run *run)
{
    uint32_t n_world = pli_boot.node.header->n_world;
    uint64_t last = run->first.proc + (uint64_t)((int64_t)(run->n - 1) * run->proc_step);
    return is_ours(run->first.proc) && is_ours(last) && (uint32_t)run->first.proc < n_world &&
           (uint32_t)last < n_world;
}

// The same of a whole group; known for all groups with the same members once it is known for one.
static bool is_plain(const struct pli_group *g)
{
    bool is = g->store != NULL && pli_group_index_is_plain(g->store);
    if (!is) {
        int r = 0;
        while (r < g->n_run && is_first_world(&g->runs[r])) {
            r++;
        }
        is = r == g->n_run;
        if (is && g->store != NULL) {
            pli_group_index_set_plain(g->store);
        }
    }
    return is;
}

// All members of a group; by is 1 or, to take that back, its complement. The endpoints of one
// process count once.
static bool change_all(const struct pli_group *g, uint32_t by)
{
    bool has = false;
    for (int r = 0; g != NULL && r < g->n_run; r++) {
        const struct pli_group_run *run = &g->runs[r];
        if (!is_ours(run->first.proc)) {
            atomic_store_explicit(&pli_boot.is_linked, true, memory_order_relaxed);
            continue;
        }
        int n = run->proc_step == 0 ? 1 : run->n;
        for (int i = 0; i < n && !is_first_world(run); i++) {
            has = change(run->first.proc + (uint64_t)((int64_t)i * run->proc_step), by) || has;
        }
    }
    return has;
}

void pli_comm_hold(struct pli_comm *c)
{
    if (pli_boot.node.header == NULL ||
        (c->group->size > 0 && is_plain(c->group) && c->remote->size > 0 && is_plain(c->remote))) {
        return;
    }
    bool has = change_all(c->group, 1);
    c->is_holding = (c->remote != c->group && change_all(c->remote, 1)) || has;
}

void pli_comm_hold_end(struct pli_comm *c)
{
    if (c->is_holding) {
        c->is_holding = false;
        change_all(c->group, UINT32_MAX);
        if (c->remote != c->group) {
            change_all(c->remote, UINT32_MAX);
        }
    }
}
