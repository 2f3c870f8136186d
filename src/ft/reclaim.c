// SPDX-License-Identifier: BSD-3-Clause
// Takes back the blocks that failed processes held.
// A block is given back by its reader, and the dead give nothing back. What they held is what no
// message that waits in the mailbox of a living process names. The dead one's own mailbox does not
// tell: it may have read more than it said.
#include "ft/reclaim.h"

#include "boot/boot.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"

#include <string.h>

enum { MOST = 128 }; // blocks of an outbox, of all classes

// The block that a cell names, 0: none.
static uint64_t block_of(const struct pli_shm_cell *cell)
{
    uint64_t offset = 0;
    if (cell->kind == PLI_MSG_DATA) {
        offset = cell->word[1];
    } else if (cell->kind <= PLI_MSG_RTS && (cell->flags & PLI_MSG_HAS_BLOCK) != 0) {
        const unsigned char *at =
            cell->bytes + (cell->kind == PLI_MSG_SYNC ? sizeof cell->word[0] : 0);
        memcpy(&offset, at, sizeof offset);
    }
    return offset;
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
// message of this lane, whose lock is held.
static void mark(const struct pli_lane *lane, const struct pli_shm_mailbox *box, bool *is_used)
{
    uint64_t at = atomic_load_explicit(&box->head, memory_order_acquire);
    uint64_t end = atomic_load_explicit(&box->tail, memory_order_acquire);
    for (; at != end; at++) {
        const struct pli_shm_cell *cell = &box->cells[at % PLI_SHM_N_CELL];
        if (atomic_load_explicit(&cell->seq, memory_order_acquire) != (uint32_t)(at + 1) ||
            cell->src_proc != (uint32_t)lane->proc || cell->src_lane != lane->index) {
            continue;
        }
        int i = number_of(&lane->shm, block_of(cell));
        if (i >= 0) {
            is_used[i] = true;
        }
    }
}

void pli_reclaim_blocks(struct pli_lane *lane)
{
    const struct pli_node *node = &pli_boot.node;
    struct pli_shm *s = &lane->shm;
    bool is_used[MOST] = { false };
    if (atomic_load_explicit(&pli_boot.is_linked, memory_order_relaxed)) {
        return; // other jobs may be about to read
    }
    for (uint32_t row = 0; row < pli_node_n_used(node); row++) {
        const struct pli_node_row *r = &node->rows[row];
        uint32_t n = pli_node_failure(node, r->index) != 0
                         ? 0
                         : atomic_load_explicit(&r->n_lane, memory_order_acquire);
        for (uint32_t k = 0; k < n && k < PLI_NODE_N_LANE; k++) {
            mark(lane, pli_shm_box(node, row, (int)k), is_used);
        }
    }
    for (int k = 0, i = 0; k < PLI_SHM_N_CLASS; k++) {
        for (uint32_t j = 0; j < s->class[k].n; j++, i++) {
            struct pli_shm_block *b =
                (struct pli_shm_block *)((char *)s->class[k].first + j * s->class[k].step);
            if (!is_used[i] && atomic_load_explicit(&b->is_busy, memory_order_acquire) != 0) {
                pli_shm_block_done(b);
            }
        }
    }
}
