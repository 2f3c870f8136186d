// SPDX-License-Identifier: BSD-3-Clause
// The slow parts of messages through shared memory: layout, exhausted classes, waking.
#include "net/shm/shm.h"
#include "base/cpu.h"

#include "base/futex.h"
#include "boot/node.h"
#include "base/log.h"
#include "net/shm/peer_memory.h"
#include "net/shm/shm_sleep.h"
#include "net/shm/wake_sock.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static const struct {
    uint32_t size, n;
} classes[PLI_SHM_N_CLASS] = PLI_SHM_CLASSES;

// One part in so many of the blocks is used at first: each that is used costs the faults of its
// pages at both ends, and memory. bench: lat size=32768, its first messages.
enum { OPEN_AT_FIRST = 4 };

// Cells after which the first one may be next, and how often it is. To move the tail costs two
// cache misses, so a mailbox that many messages have come to has all cells in the end.
enum { TURN = PLI_SHM_FEW / 2, N_TURN = 512 };

// Every mailbox that this process writes to is asked for here. Where the kernel does not make the
// process pass barriers its writes need fences, and the mailbox is where a writer looks for that.
struct pli_shm_mailbox *pli_shm_box(const struct pli_node *node, uint32_t row, int lane)
{
    struct pli_shm_mailbox *box =
        (struct pli_shm_mailbox *)(pli_node_area(node, row) + (size_t)lane * PLI_NODE_LANE);
    if (__builtin_expect(atomic_load_explicit(&pli_shm_must_fence, memory_order_relaxed), 0)) {
        atomic_store_explicit(&box->needs_fence, 1, memory_order_seq_cst);
    }
    return box;
}

// Use blocks that were not used yet, the first of them next.
static void open_blocks(struct pli_shm *s, int class, uint32_t n)
{
    uint32_t from = s->class[class].n_open;
    s->class[class].n_open += n;
    for (uint32_t i = s->class[class].n_open; i > from; i--) {
        s->class[class].free[s->class[class].n_free++] = (uint16_t)(i - 1);
    }
}

PLI_START enum pli_err pli_shm_open(struct pli_shm *s, const struct pli_node *node, uint32_t row,
                                    int lane)
{
    memset(s, 0, sizeof *s);
    pli_shm_sleep_init();
    s->box = pli_shm_box(node, row, lane);
    s->base = node->base;
    atomic_store_explicit(&s->box->far_claim, 0, memory_order_relaxed);
    pli_peer_memory_publish(s->box, node->header->job, row);
    // A lane that is opened anew goes on where its last owner in this process stopped.
    s->head = s->published = atomic_load_explicit(&s->box->head, memory_order_relaxed);
    s->turn_at = 0; // pli_shm_turn_now finds where
    size_t at = PLI_SHM_OUTBOX;
    for (int k = 0; k < PLI_SHM_N_CLASS; k++) {
        s->class[k].first = (struct pli_shm_block *)((char *)s->box + at);
        s->class[k].step = sizeof(struct pli_shm_block) + classes[k].size;
        s->class[k].n = classes[k].n;
        open_blocks(s, k, classes[k].n / OPEN_AT_FIRST);
        at += s->class[k].step * classes[k].n;
    }
    if (at > PLI_NODE_LANE) {
        return pli_fail(PLI_ERR_INTERN, "the outbox of a lane needs %zu bytes", at);
    }
    if (pli_shm_must_fence) {
        pli_log(PLI_INFO,
                "shm: no membarrier for this process; messages to and from it use fences");
    }
    return PLI_OK;
}

void pli_shm_peer_init(struct pli_shm_peer *p, const struct pli_node *node, uint32_t row, int lane)
{
    p->box = pli_shm_box(node, row, lane);
    // As if there were no room: pli_shm_refresh is called for the first message.
    p->head = atomic_load_explicit(&p->box->head, memory_order_acquire) - PLI_SHM_N_CELL;
    p->claim = NULL;
    p->place = NULL;
    p->place_job = 0;
    p->number = pli_shm_number(row, lane);
}

void pli_shm_peer_none(struct pli_shm_peer *p)
{
    static struct pli_shm_mailbox nowhere;
    atomic_store_explicit(&nowhere.is_full, 1, memory_order_relaxed);
    *p = (struct pli_shm_peer){ .box = &nowhere };
}

// Make the pages of a new mailbox at once, before each of them costs a fault here and one at the
// reader, which then finds all of them when it touches the first. bench: first 1,000 messages.
static void bring_pages(struct pli_shm_mailbox *box)
{
    // Where the system cannot do it (before Linux 5.14), or has no memory left, faults bring them.
    (void)madvise(box, sizeof *box, MADV_POPULATE_WRITE);
}

// What is noted of the head makes a writer come here again at the end of the first cells, as long
// as no others are in use.
bool pli_shm_refresh(struct pli_shm_peer *p, uint64_t last)
{
    struct pli_shm_mailbox *box = p->box;
    uint64_t limit = last - last % PLI_SHM_N_CELL + PLI_SHM_FEW - PLI_SHM_N_CELL;
    uint64_t head = atomic_load_explicit(&box->head, memory_order_acquire);
    bool is_whole = atomic_load_explicit(&box->is_whole, memory_order_relaxed) != 0;
    if (!is_whole && last - limit >= PLI_SHM_N_CELL) {
        is_whole = true;
        bring_pages(box);
        atomic_store_explicit(&box->is_whole, 1, memory_order_relaxed);
    }
    p->head = is_whole || (int64_t)(head - limit) < 0 ? head : limit;
    return last - head < PLI_SHM_N_CELL;
}

// The positions up to the next lap are left out, if no writer has claimed one of them.
void pli_shm_turn_now(struct pli_shm *s)
{
    uint64_t tail = s->head, place = tail % PLI_SHM_N_CELL, lap = tail - place;
    bool is_whole = atomic_load_explicit(&s->box->is_whole, memory_order_relaxed) != 0;
    if (is_whole || lap >= (uint64_t)N_TURN * PLI_SHM_N_CELL) {
        s->turn_at = UINT64_MAX;
    } else if (place < TURN) {
        s->turn_at = lap + TURN;
    } else if (atomic_compare_exchange_strong_explicit(&s->box->tail, &tail, lap + PLI_SHM_N_CELL,
                                                       memory_order_relaxed,
                                                       memory_order_relaxed)) {
        lap += PLI_SHM_N_CELL;
        s->head = s->published = lap;
        s->turn_at = lap + TURN;
        atomic_store_explicit(&s->box->head, lap, memory_order_release);
    } else {
        s->turn_at = s->head + 1; // a message is about to come
    }
}

bool pli_shm_is_drained(const struct pli_shm_peer *p)
{
    uint64_t head = atomic_load_explicit(&p->box->head, memory_order_acquire);
    return head == atomic_load_explicit(&p->box->tail, memory_order_relaxed);
}

// Look for blocks that readers gave back: all of them, since a slow reader must not hold up the
// blocks of quick ones. Where most of them are still with readers there may be more.
struct pli_shm_block *pli_shm_block_take_slow(struct pli_shm *s, int class)
{
    uint32_t n_open = s->class[class].n_open;
    for (uint32_t i = 0; i < n_open; i++) {
        struct pli_shm_block *b =
            (struct pli_shm_block *)((char *)s->class[class].first + i * s->class[class].step);
        if (atomic_load_explicit(&b->is_busy, memory_order_acquire) == 0) {
            s->class[class].free[s->class[class].n_free++] = (uint16_t)i;
        }
    }
    if (s->class[class].n_free < n_open / 2 && n_open < s->class[class].n) {
        open_blocks(s, class, n_open);
    }
    if (s->class[class].n_free == 0) {
        return NULL;
    }
    uint32_t i = s->class[class].free[--s->class[class].n_free];
    struct pli_shm_block *b =
        (struct pli_shm_block *)((char *)s->class[class].first + i * s->class[class].step);
    atomic_store_explicit(&b->is_busy, 1, memory_order_relaxed);
    return b;
}

int pli_shm_wake_fd = -1;

void pli_shm_wake_slow(struct pli_shm_mailbox *box)
{
    int how = atomic_exchange_explicit(&box->asleep, PLI_SHM_AWAKE, memory_order_acq_rel);
    if (how == PLI_SHM_BY_FUTEX) {
        atomic_fetch_add_explicit(&box->wakes, 1, memory_order_release);
        pli_futex_wake(&box->wakes, INT_MAX, false);
    } else if (how == PLI_SHM_BY_SOCKET) {
        pli_wake_sock_send(box);
    } else if (how == PLI_SHM_BY_EVENT) {
        uint64_t one = 1;
        ssize_t n = write(pli_shm_wake_fd, &one, sizeof one);
        (void)n; // full: it is about to wake
    }
}

void pli_shm_wake_node(const struct pli_node *node)
{
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t row = 0; row < pli_node_n_used(node); row++) {
        uint32_t n = atomic_load_explicit(&node->rows[row].n_lane, memory_order_acquire);
        for (uint32_t k = 0; k < n && k < PLI_NODE_N_LANE; k++) {
            struct pli_shm_mailbox *box = pli_shm_box(node, row, (int)k);
            if (atomic_load_explicit(&box->asleep, memory_order_seq_cst) != PLI_SHM_AWAKE) {
                pli_shm_wake_slow(box);
            }
        }
    }
}
