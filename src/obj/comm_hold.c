// SPDX-License-Identifier: BSD-3-Clause
// Costs nothing in a job that has not spawned: its communicators have no such members.
#include "obj/comm_hold.h"

#include "boot/boot.h"
#include "obj/comm.h"

static bool is_ours(uint64_t proc)
{
    return (proc & ~(uint64_t)UINT32_MAX) == pli_boot.job;
}

// Change the count at one process. True: it has one.
static bool change(uint64_t proc, uint32_t by)
{
    const struct pli_node *node = &pli_boot.node;
    uint32_t index = (uint32_t)proc;
    uint32_t row = index >= node->header->n_world ? pli_node_row_of(node, index) : UINT32_MAX;
    if (row == UINT32_MAX || node->rows[row].world == pli_boot.world) {
        return false;
    }
    atomic_fetch_add_explicit(&node->rows[row].n_held, by, memory_order_acq_rel);
    atomic_store_explicit(&node->rows[row].was_held, 1, memory_order_release);
    return true;
}

// All members of a group; by is 1 or, to take that back, its complement.
static bool change_all(const struct pli_group *g, uint32_t by)
{
    bool has = false;
    for (int r = 0; g != NULL && r < g->n_run; r++) {
        const struct pli_group_run *run = &g->runs[r];
        if (!is_ours(run->first.proc)) {
            atomic_store_explicit(&pli_boot.is_linked, true, memory_order_relaxed);
            continue;
        }
        for (int i = 0; i < run->n; i++) {
            has = change(run->first.proc + (uint64_t)((int64_t)i * run->proc_step), by) || has;
        }
    }
    return has;
}

void pli_comm_hold(struct pli_comm *c)
{
    const struct pli_node_header *h = pli_boot.node.header;
    if (h == NULL ||
        (pli_node_n_used(&pli_boot.node) == h->n_row && is_ours(c->group->runs[0].first.proc) &&
         c->remote->size > 0 && is_ours(c->remote->runs[0].first.proc) && c->group->n_run == 1 &&
         c->remote->n_run == 1)) {
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
