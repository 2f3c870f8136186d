// SPDX-License-Identifier: BSD-3-Clause
// Takes back the blocks that failed processes held.
// A block is given back by its reader, and the dead give nothing back. What they held is what no
// message that waits in the mailbox of a living process names. The dead one's own mailbox does not
// tell: it may have read more than it said.
#include "ft/reclaim.h"

#include "boot/boot.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/request.h"
#include "net/shm/other_job.h"

#include <string.h>

enum { MOST = 128 }; // blocks of an outbox, of all classes

// What is looked for, and what was found.
struct search {
    const struct pli_lane *lane;
    bool is_used[MOST];
};

// The block that a cell names, 0: none.
static uint64_t block_of(const struct pli_shm_cell *cell)
{
    uint64_t offset = 0;
    if (cell->kind == PLI_MSG_DATA || cell->kind == PLI_MSG_HELP_WRITE) {
        offset = cell->word[1];
    } else if (cell->kind <= PLI_MSG_RTS && (cell->flags & PLI_MSG_HAS_BLOCK) != 0) {
        const unsigned char *at =
            cell->bytes + (cell->kind == PLI_MSG_SYNC ? sizeof cell->word[0] : 0);
        memcpy(&offset, at, sizeof offset);
    }
    return offset & (((uint64_t)1 << PLI_OTHER_JOB_SHIFT) - 1);
}

// The number of a block in the outbox, -1: it is not in there.
static int number_of(const struct pli_shm *s, uint64_t offset)
{
    int base = 0;
    for (int k = 0; k < PLI_SHM_N_CLASS; k++) {
        uint64_t first = pli_shm_block_offset(s, s->class[k].first);
        uint64_t i = (offset - first) / s->class[k].step;
        if (offset >= first && i < s->class[k].n) {
            return base + (int)i;
        }
        base += (int)s->class[k].n;
    }
    return -1;
}

// Mark the blocks named in what waits in a mailbox. A place that is claimed and not filled is no
// message of this lane, whose lock is held. as: what the reader's job knows this process by.
static void mark(struct search *s, const struct pli_shm_mailbox *box, uint32_t as)
{
    const struct pli_lane *lane = s->lane;
    uint64_t at = atomic_load_explicit(&box->head, memory_order_acquire);
    uint64_t end = atomic_load_explicit(&box->tail, memory_order_acquire);
    for (; at != end; at++) {
        const struct pli_shm_cell *cell = &box->cells[at % PLI_SHM_N_CELL];
        if (atomic_load_explicit(&cell->seq, memory_order_acquire) != (uint32_t)(at + 1) ||
            cell->src_proc != as || cell->src_lane != lane->index) {
            continue;
        }
        int i = number_of(&lane->shm, block_of(cell));
        if (i >= 0) {
            s->is_used[i] = true;
        }
    }
}

static void mark_row(struct search *s, const struct pli_node *node, uint32_t row, uint32_t as)
{
    uint32_t n = atomic_load_explicit(&node->rows[row].n_lane, memory_order_acquire);
    for (uint32_t k = 0; k < n && k < PLI_NODE_N_LANE; k++) {
        mark(s, pli_shm_box(node, row, (int)k), as);
    }
}

// The mailboxes of another job.
static bool mark_job(const struct pli_other_job *o, void *arg)
{
    struct search *s = arg;
    bool has_any = pli_other_job_has_launcher(&o->node);
    for (uint32_t row = 0; has_any && row < pli_node_n_used(&o->node); row++) {
        if (atomic_load_explicit(&o->node.rows[row].has_ended, memory_order_acquire) == 0) {
            mark_row(s, &o->node, row, o->mine << PLI_OTHER_JOB_INDEX | (uint32_t)s->lane->proc);
        }
    }
    return true;
}

// Whether a message that names a block waits for room in a mailbox: one that asks for help, in a
// job that does not outlive failures.
static bool has_notes(const struct pli_lane *lane)
{
    bool has = false;
    for (const struct pli_list *at = lane->stalled.next; at != &lane->stalled && !has;
         at = at->next) {
        const struct pli_conn *c = PLI_CONTAINER(at, struct pli_conn, stalled);
        uint64_t proc = c->key >> 3;
        has = !pli_list_is_empty(&c->notes) && !pli_request_may_be_withdrawn &&
              (pli_node_job_of(proc) == pli_boot.job || !pli_other_job_has_ended(proc));
    }
    return has;
}

void pli_reclaim_blocks(struct pli_lane *lane)
{
    const struct pli_node *node = &pli_boot.node;
    struct pli_shm *s = &lane->shm;
    struct search search = { .lane = lane };
    if (has_notes(lane)) {
        return;
    }
    for (uint32_t row = 0; row < pli_node_n_used(node); row++) {
        if (pli_node_failure(node, node->rows[row].index) == 0) {
            mark_row(&search, node, row, (uint32_t)lane->proc);
        }
    }
    pli_other_job_visit(mark_job, &search);
    for (int k = 0, i = 0; k < PLI_SHM_N_CLASS; k++) {
        for (uint32_t j = 0; j < s->class[k].n; j++, i++) {
            struct pli_shm_block *b =
                (struct pli_shm_block *)((char *)s->class[k].first + j * s->class[k].step);
            if (!search.is_used[i] &&
                atomic_load_explicit(&b->is_busy, memory_order_acquire) != 0) {
                pli_shm_block_done(b);
            }
        }
    }
}
