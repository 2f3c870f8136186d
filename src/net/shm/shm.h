// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the processes of a host: cells, blocks, waking. Knows nothing of matching.
#ifndef PLI_NET_SHM_H
#define PLI_NET_SHM_H

#include "base/cpu.h"
#include "base/err.h"
#include "net/shm/shm_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct pli_node;

// The owner's view of one lane's memory. Guarded by the lane's lock.
struct pli_shm {
    struct pli_shm_mailbox *box;
    uint64_t head;      // next position to read
    uint64_t published; // what writers know of head
    uint64_t turn_at;   // where head goes back to the first cell, when nothing is unread
    const char *base;   // of the node's memory: block offsets count from here
    struct {
        uint32_t n_free, n;
        uint32_t n_open;   // of the n: in use so far. The rest is memory that nobody has touched
        uint16_t free[64]; // stack: the last one used is the next one used
        struct pli_shm_block *first;
        size_t step;
    } class[PLI_SHM_N_CLASS];
};

// A writer's view of another process's mailbox.
struct pli_shm_peer {
    struct pli_shm_mailbox *box;
    uint64_t head;           // as last read, or less: see pli_shm_peer_init
    _Atomic uint32_t *claim; // where the writer says that it is about to claim; NULL: nowhere
    uint32_t number;         // of the mailbox, to say so
    _Atomic uint64_t *place; // and which place, to one of another job; else NULL
    uint64_t place_job;      // that job's number << PLI_SHM_PLACE_JOB
};

// Lay out and open my lane. Context: start-up of the lane, before others know it.
enum pli_err pli_shm_open(struct pli_shm *s, const struct pli_node *node, uint32_t row, int lane);
// The mailbox of a lane of a process on this host.
struct pli_shm_mailbox *pli_shm_box(const struct pli_node *node, uint32_t row, int lane);
void pli_shm_peer_init(struct pli_shm_peer *p, const struct pli_node *node, uint32_t row, int lane);

// The peer whose mailbox never has room.
void pli_shm_peer_none(struct pli_shm_peer *p);

void pli_shm_wake_slow(struct pli_shm_mailbox *box) __attribute__((cold));
// Wake all processes that sleep on this host. Context: any process of the job, and the launcher.
void pli_shm_wake_node(const struct pli_node *node) __attribute__((cold));
extern int pli_shm_wake_fd; // wakes readers that sleep on an eventfd
bool pli_shm_refresh(struct pli_shm_peer *p, uint64_t tail) __attribute__((cold));
// Whether the reader has read all that was written to it.
bool pli_shm_is_drained(const struct pli_shm_peer *p) __attribute__((cold));

// A free block with room for len bytes, or NULL. Largest: PLI_SHM_BLOCK_MAX.
enum { PLI_SHM_BLOCK_MAX = 32768, PLI_SHM_WARM = 4096 };
struct pli_shm_block *pli_shm_block_take_slow(struct pli_shm *s, int class) __attribute__((cold));

static inline int pli_shm_class_of(size_t len)
{
    return len <= 1024 ? 0 : len <= 8192 ? 1 : 2;
}

static inline struct pli_shm_block *pli_shm_block_take(struct pli_shm *s, size_t len)
{
    int k = pli_shm_class_of(len);
    if (__builtin_expect(s->class[k].n_free == 0, 0)) {
        return pli_shm_block_take_slow(s, k);
    }
    uint32_t i = s->class[k].free[--s->class[k].n_free];
    struct pli_shm_block *b =
        (struct pli_shm_block *)((char *)s->class[k].first + i * s->class[k].step);
    atomic_store_explicit(&b->is_busy, 1, memory_order_relaxed);
    return b;
}

// Bring the lines of the next block of this size here while there is time: after a send, not before
// one. bench: lat size=1024.
static inline void pli_shm_block_warm(struct pli_shm *s, size_t len)
{
    int k = pli_shm_class_of(len);
    if (s->class[k].n_free == 0) {
        return;
    }
    uint32_t i = s->class[k].free[s->class[k].n_free - 1];
    const char *b = (const char *)s->class[k].first + i * s->class[k].step;
    len = len < PLI_SHM_WARM ? len : PLI_SHM_WARM;
    for (size_t at = 0; at < len + sizeof(struct pli_shm_block); at += PLI_CACHE_LINE) {
        __builtin_prefetch(b + at, 1, 3);
    }
}

// The reader is done with a block.
static inline void pli_shm_block_done(struct pli_shm_block *b)
{
    atomic_store_explicit(&b->is_busy, 0, memory_order_release);
}

// Wake the reader if it sleeps. A writer calls it after its cell is visible. No fence stands
// between the two: a reader that goes to sleep makes every writer's core pass one (membarrier),
// because a fence here would cost each message the time of a cache miss.
static inline void pli_shm_wake(struct pli_shm_mailbox *box)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&box->needs_fence, memory_order_relaxed), 0)) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (__builtin_expect(atomic_load_explicit(&box->asleep, memory_order_relaxed), 0)) {
        pli_shm_wake_slow(box);
    }
}

// The writer is about to fill no place any more. A process that sees this sees the place full.
static inline void pli_shm_unclaim(struct pli_shm_peer *p)
{
    if (__builtin_expect(p->claim != NULL, 0)) {
        atomic_store_explicit(p->claim, 0, memory_order_release);
    }
}

// Cells that data takes which is in no block.
static inline uint32_t pli_shm_n_cell(uint64_t size)
{
    return size <= PLI_SHM_INLINE
               ? 1
               : 1 + (uint32_t)(size - PLI_SHM_INLINE + PLI_SHM_MORE - 1) / PLI_SHM_MORE;
}

// Say that n places from tail on are about to be claimed. A process that sees them taken sees this.
static inline void pli_shm_say_claim(struct pli_shm_peer *p, uint64_t tail, uint32_t n)
{
    if (p->place != NULL) {
        uint64_t at = tail & (((uint64_t)1 << PLI_SHM_PLACE_CELLS) - 1);
        atomic_store_explicit(p->place, p->place_job | (uint64_t)n << PLI_SHM_PLACE_CELLS | at,
                              memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
    }
    atomic_store_explicit(p->claim, p->number, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

// Claim n places in a row in a mailbox, NULL: there is no room. The first is to be filled, all but
// seq, and published.
static inline struct pli_shm_cell *pli_shm_claim_row(struct pli_shm_peer *p, uint32_t n,
                                                     uint64_t *pos_out)
{
    struct pli_shm_mailbox *box = p->box;
    uint64_t tail = atomic_load_explicit(&box->tail, memory_order_relaxed);
    do {
        if (__builtin_expect(p->claim != NULL, 0)) {
            pli_shm_say_claim(p, tail, n);
        }
        uint64_t last = tail + n - 1;
        if (__builtin_expect(last - p->head >= PLI_SHM_N_CELL, 0) && !pli_shm_refresh(p, last)) {
            pli_shm_unclaim(p);
            *pos_out = 0;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&box->tail, &tail, tail + n,
                                                    memory_order_relaxed, memory_order_relaxed));
    *pos_out = tail;
    for (uint32_t i = 1; i <= n; i++) { // the reader looks at the next
        pli_cpu_will_write(&box->cells[(tail + n + i) % PLI_SHM_N_CELL]);
    }
    return &box->cells[tail % PLI_SHM_N_CELL];
}

static inline struct pli_shm_cell *pli_shm_claim(struct pli_shm_peer *p, uint64_t *pos_out)
{
    return pli_shm_claim_row(p, 1, pos_out);
}

// Fill the cells of a row with what the first one, at pos, has no room for.
static inline void pli_shm_fill_row(struct pli_shm_peer *p, uint64_t pos, const void *data,
                                    uint64_t size)
{
    const unsigned char *from = (const unsigned char *)data + PLI_SHM_INLINE;
    for (uint64_t left = size - PLI_SHM_INLINE, n; left > 0; left -= n, from += n) {
        struct pli_shm_cell *cell = &p->box->cells[++pos % PLI_SHM_N_CELL];
        n = left < PLI_SHM_MORE ? left : PLI_SHM_MORE;
        atomic_store_explicit(&cell->seq, (uint32_t)pos, memory_order_relaxed);
        memcpy((unsigned char *)cell + sizeof cell->seq, from, n);
    }
}

static inline void pli_shm_publish(struct pli_shm_peer *p, struct pli_shm_cell *cell, uint64_t pos)
{
    atomic_store_explicit(&cell->seq, (uint32_t)(pos + 1), memory_order_release);
    pli_shm_unclaim(p);
    pli_shm_wake(p->box);
}

// Whether there is room in a mailbox, now.
static inline bool pli_shm_has_room(struct pli_shm_peer *p)
{
    uint64_t tail = atomic_load_explicit(&p->box->tail, memory_order_relaxed);
    return tail - p->head < PLI_SHM_N_CELL || pli_shm_refresh(p, tail);
}

// The oldest unread cell, or NULL. Stays valid until pli_shm_next.
static inline const struct pli_shm_cell *pli_shm_peek(struct pli_shm *s)
{
    const struct pli_shm_cell *c = &s->box->cells[s->head % PLI_SHM_N_CELL];
    return atomic_load_explicit(&c->seq, memory_order_acquire) == (uint32_t)(s->head + 1) ? c
                                                                                          : NULL;
}

// All data of a message whose first cell is the oldest unread one and that is in several.
static inline void pli_shm_take_row(const struct pli_shm *s, void *data, uint64_t size)
{
    unsigned char *to = data;
    memcpy(to, s->box->cells[s->head % PLI_SHM_N_CELL].bytes, PLI_SHM_INLINE);
    to += PLI_SHM_INLINE;
    uint64_t pos = s->head;
    for (uint64_t left = size - PLI_SHM_INLINE, n; left > 0; left -= n, to += n) {
        const struct pli_shm_cell *cell = &s->box->cells[++pos % PLI_SHM_N_CELL];
        n = left < PLI_SHM_MORE ? left : PLI_SHM_MORE;
        memcpy(to, (const unsigned char *)cell + sizeof cell->seq, n);
    }
}

// The oldest n cells were read.
static inline void pli_shm_next_row(struct pli_shm *s, uint32_t n)
{
    s->head += n;
    if (__builtin_expect(s->head - s->published >= PLI_SHM_N_CELL / 8, 0)) {
        s->published = s->head;
        atomic_store_explicit(&s->box->head, s->head, memory_order_release);
    }
}

static inline void pli_shm_next(struct pli_shm *s)
{
    pli_shm_next_row(s, 1);
}

// Count a message that was sent, or received, for those who look at the job from outside.
static inline void pli_shm_count(_Atomic uint64_t *n, _Atomic uint64_t *bytes, uint64_t size)
{
    uint64_t n_now = atomic_load_explicit(n, memory_order_relaxed);
    uint64_t bytes_now = atomic_load_explicit(bytes, memory_order_relaxed);
    atomic_store_explicit(n, n_now + 1, memory_order_relaxed);
    atomic_store_explicit(bytes, bytes_now + size, memory_order_relaxed);
}

static inline void pli_shm_count_sent(struct pli_shm *s, uint64_t size)
{
    pli_shm_count(&s->box->n_sent, &s->box->sent_bytes, size);
}

static inline void pli_shm_count_received(struct pli_shm *s, uint64_t size)
{
    pli_shm_count(&s->box->n_received, &s->box->received_bytes, size);
}

// A writer has claimed the next place and not filled it.
static inline bool pli_shm_has_hole(struct pli_shm *s)
{
    return pli_shm_peek(s) == NULL &&
           atomic_load_explicit(&s->box->tail, memory_order_acquire) != s->head &&
           pli_shm_peek(s) == NULL;
}

void pli_shm_turn_now(struct pli_shm *s) __attribute__((cold));

// Nothing is unread: use the first cells again.
static inline void pli_shm_turn(struct pli_shm *s)
{
    if (__builtin_expect(s->head >= s->turn_at, 0)) {
        pli_shm_turn_now(s);
    }
}

// Tell writers how far I have read: whenever there is nothing to do.
static inline void pli_shm_settle(struct pli_shm *s)
{
    pli_shm_turn(s);
    if (s->published != s->head) {
        s->published = s->head;
        atomic_store_explicit(&s->box->head, s->head, memory_order_release);
    }
}

static inline void *pli_shm_block_data(struct pli_shm_block *b)
{
    return b + 1;
}

static inline uint64_t pli_shm_block_offset(const struct pli_shm *s, const struct pli_shm_block *b)
{
    return (uint64_t)((const char *)b - s->base);
}

#endif
