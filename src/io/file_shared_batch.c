// SPDX-License-Identifier: BSD-3-Clause
// A block of the file has one of a few slots of shared memory. Who writes a line has a place from
// the shared pointer, copies its bytes to the slot of the block, and enters which bytes these are,
// in a list of its own, so that members share no more than the pointer and the bytes. Who makes the
// block full writes it. A thread of each process that collected lines writes what is there 10 ms
// later. What has no slot, for whatever reason, is written by itself: nobody waits for another
// member in order to write a line, and one that dies leaves nothing half done.
#include "io/file_shared_batch.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/futex.h"
#include "base/list.h"
#include "base/lock.h"
#include "boot/node_lock.h"
#include "io/file.h"
#include "io/file_access.h"
#include "io/file_async.h"
#include "io/file_sys.h"
#include "net/shm/shm_sleep.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "rma/win.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>

enum {
    BLOCK = 32 * 1024, // bytes of the file, from a multiple of it on
    N_SLOT = 4,
    N_ENTRY = 512,         // lines of a member in a block; more are written by themselves
    LONGEST = 8 * 1024,    // of what is collected
    QUICK_NS = 100 * 1000, // lines with more between them are written at once
    LATE_NS = 10 * 1000 * 1000,
    STALLED_NS = 100 * 1000 * 1000, // nobody copies a line for so long
    N_LAST_TRY = 100,               // a millisecond each
};

// Which block a slot is for: its number, doubled, and 1 while no line may be added.
#define FREE UINT64_MAX
#define LOST (UINT64_MAX - 1) // a member died, or stood still, while it copied
enum { CLOSED = 1 };

// What a member has in a slot, in one word: bytes of the block, and entries.
#define ENTRY (UINT64_C(1) << 32)

static uint64_t bytes_in(uint64_t state)
{
    return state % ENTRY;
}

static uint32_t entries_in(uint64_t state)
{
    return (uint32_t)(state / ENTRY);
}

struct slot {
    _Alignas(64) _Atomic uint64_t base;
    // The block whose last byte was added, doubled, and 1; who adds a byte then, and finds that no
    // other is missing, cares for it to be written.
    _Atomic uint64_t ended;
};

// What a member has in a slot.
struct part {
    _Alignas(64) _Atomic uint64_t state;
    _Atomic uint32_t written; // so many entries from the first on; changed under the lock
    uint32_t next;            // under the lock: the entry to look at
    _Alignas(64) _Atomic uint32_t entries[N_ENTRY]; // length << 16 | begin, and flags
};

// A member.
struct place {
    _Alignas(64) _Atomic uint32_t inside; // it copies to this slot, counted from 1; 0: to none
    struct part parts[N_SLOT];
};

// Flags of an entry. One that was only taken, by a process that died, is written again.
#define WRITTEN (UINT32_C(1) << 31)
#define TAKEN (UINT32_C(1) << 30)

static uint32_t entry_begin(uint32_t e)
{
    return e & 0xffff;
}

static uint32_t entry_len(uint32_t e)
{
    return (e & ~(WRITTEN | TAKEN)) >> 16;
}

// In memory that all members share.
struct buffer {
    struct pli_file_head head;
    _Alignas(64) _Atomic uint64_t last;         // when lines were last found to come quickly or not
    _Atomic bool is_used;                       // a slot was taken
    _Alignas(64) char lock[PLI_NODE_LOCK_SIZE]; // of who writes blocks
    struct slot slots[N_SLOT];
    _Atomic bool needs_fence; // a member has no membarrier
    _Alignas(4096) char bytes[N_SLOT][BLOCK];
    struct place places[]; // of each member
};

// States of the thread: it sleeps, it will write soon, it is to end.
enum { IDLE, SOON, ENDING };

struct pli_file_batch {
    struct pli_list link; // of all in this process
    struct pli_file *f;
    struct buffer *buf;
    pthread_t thread;
    _Atomic bool has_thread; // changed under the lock
    _Atomic int state;
    struct pli_lock add;       // of what this member has in the slots
    pthread_mutex_t lock;      // of what follows
    struct pli_fail_saved why; // something could not be written
    _Atomic bool has_failed;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pli_list all = { &all, &all };

size_t pli_file_shared_batch_len(const struct pli_file *f)
{
    bool is = (f->amode & MPI_MODE_RDONLY) == 0 && !f->needs_lock &&
              f->hints.shared_batch != PLI_FILE_DISABLE && f->hints.shared_map != PLI_FILE_ENABLE;
    return is ? sizeof(struct buffer) + (size_t)f->comm->size * sizeof(struct place) : 0;
}

// Memory of a segment is zero; other memory may have been used.
void pli_file_shared_batch_offer(struct pli_file *f)
{
    struct buffer *b = (struct buffer *)f->pointer.word;
    if (f->pointer.where != PLI_MEMORY_SEGMENT) {
        memset((void *)b->places, 0, (size_t)f->comm->size * sizeof b->places[0]);
    }
    pli_node_lock_init(b->lock);
    atomic_store(&b->last, 0);
    atomic_store(&b->is_used, false);
    atomic_store(&b->needs_fence, false);
    for (int i = 0; i < N_SLOT; i++) {
        atomic_store(&b->slots[i].base, FREE);
        atomic_store(&b->slots[i].ended, 0);
    }
}

static struct part *part_of(struct buffer *b, int member, int i)
{
    return &b->places[member].parts[i];
}

static uint64_t state_of(const struct part *p)
{
    return atomic_load_explicit(&p->state, memory_order_acquire);
}

// Whether a member has lines in a slot that are not written.
static bool is_waiting(const struct part *p)
{
    return entries_in(state_of(p)) > atomic_load_explicit(&p->written, memory_order_relaxed);
}

// Bytes of all members in a slot, and whether one of them has lines that are not written.
static uint64_t sum_up(const struct pli_file *f, const struct buffer *b, int i, bool *has_lines_out)
{
    uint64_t sum = 0;
    *has_lines_out = false;
    for (int m = 0; m < f->comm->size; m++) {
        const struct part *p = &b->places[m].parts[i];
        sum += bytes_in(state_of(p));
        *has_lines_out = *has_lines_out || is_waiting(p);
    }
    return sum;
}

// Begin with the first entry of each member; returns the bytes of all that are not written.
static uint64_t go_back(const struct pli_file *f, struct buffer *b, int i)
{
    uint64_t bytes = 0;
    for (int m = 0; m < f->comm->size; m++) {
        struct part *p = part_of(b, m, i);
        uint32_t n = entries_in(state_of(p));
        p->next = atomic_load_explicit(&p->written, memory_order_relaxed);
        for (uint32_t k = p->next; k < n; k++) {
            uint32_t e = atomic_load_explicit(&p->entries[k], memory_order_relaxed);
            bytes += (e & WRITTEN) == 0 ? entry_len(e) : 0;
        }
    }
    return bytes;
}

// The next entry of a member that is not written; 0: there is none.
static uint32_t entry_of(struct part *p)
{
    uint32_t n = entries_in(state_of(p));
    while (p->next < n) {
        uint32_t e = atomic_load_explicit(&p->entries[p->next], memory_order_relaxed);
        if ((e & WRITTEN) == 0) {
            return e;
        }
        p->next++;
    }
    return 0;
}

// The next entry of all; 0: there is none. They come in the order of their places, unless threads
// of a member have entered theirs in another.
static uint32_t take_entry(const struct pli_file *f, struct buffer *b, int i)
{
    struct part *first = NULL;
    uint32_t least = 0;
    for (int m = 0; m < f->comm->size; m++) {
        uint32_t e = entry_of(part_of(b, m, i));
        if (e != 0 && (first == NULL || entry_begin(e) < entry_begin(least))) {
            first = part_of(b, m, i);
            least = e;
        }
    }
    if (first != NULL) {
        atomic_store_explicit(&first->entries[first->next], least | TAKEN, memory_order_relaxed);
        first->next++;
    }
    return least;
}

// Write what was entered, each run by one call. What cannot be written is lost. No two entries
// have a byte in common: when the pointer is moved back all that was entered is written first.
static enum pli_err write_entries(const struct pli_file *f, struct buffer *b, int i, uint64_t block,
                                  bool is_closed)
{
    MPI_Offset at = (MPI_Offset)block * BLOCK;
    enum pli_err err = PLI_OK;
    size_t done;
    if (go_back(f, b, i) == BLOCK && is_closed) {
        return pli_file_sys_write(f->fd, f->name, b->bytes[i], BLOCK, at, &done);
    }
    uint32_t e = take_entry(f, b, i);
    while (e != 0 && err == PLI_OK) {
        uint32_t from = entry_begin(e), to = from + entry_len(e);
        for (e = take_entry(f, b, i); e != 0 && entry_begin(e) == to; e = take_entry(f, b, i)) {
            to += entry_len(e);
        }
        err = pli_file_sys_write(f->fd, f->name, b->bytes[i] + from, to - from,
                                 at + (MPI_Offset)from, &done);
    }
    return err;
}

// What was taken is written, or lost.
static void note_written(struct part *p)
{
    uint32_t n = entries_in(state_of(p)), k = atomic_load(&p->written);
    bool is_first = true;
    for (; k < n; k++) {
        uint32_t e = atomic_load_explicit(&p->entries[k], memory_order_relaxed);
        if ((e & TAKEN) != 0) {
            e = (e & ~TAKEN) | WRITTEN;
            atomic_store_explicit(&p->entries[k], e, memory_order_relaxed);
        }
        is_first = is_first && (e & WRITTEN) != 0;
        if (is_first) {
            atomic_store_explicit(&p->written, k + 1, memory_order_relaxed);
        }
    }
}

static bool has_users(const struct pli_file *f, const struct buffer *b, int i)
{
    bool has = false;
    for (int m = 0; m < f->comm->size && !has; m++) {
        has = atomic_load(&b->places[m].inside) == (uint32_t)i + 1;
    }
    return has;
}

// Nobody adds lines to a slot that is closed. False: a member still copies, or may do so.
static bool wait_for_users(const struct pli_file *f, const struct buffer *b, int i)
{
    uint64_t begin = 0;
    if (!pli_shm_order()) {
        usleep(STALLED_NS / 1000); // the kernel orders nothing any more; time does
    }
    for (int k = 0; has_users(f, b, i); k++) {
        if (k % 1000 == 999) {
            uint64_t now = pli_clock_ns();
            begin = begin == 0 ? now : begin;
            if (now - begin > STALLED_NS) {
                return false;
            }
            sched_yield();
        }
        pli_cpu_relax();
    }
    return true;
}

// The same at once.
static bool is_quiet(const struct pli_file *f, const struct buffer *b, int i)
{
    return !has_users(f, b, i) && pli_shm_order() && !has_users(f, b, i);
}

// Under the lock: a slot to which nobody adds lines. A member that stood still may go on: it looks
// whether the slot was lost after it has entered its line, which was seen here or not.
static enum pli_err empty(const struct pli_file *f, struct buffer *b, int i, uint64_t block,
                          bool is_whole)
{
    struct slot *s = &b->slots[i];
    if (!is_whole) {
        atomic_store(&s->base, LOST);
        pli_shm_order();
    }
    enum pli_err err = write_entries(f, b, i, block, true);
    for (int m = 0; m < f->comm->size && is_whole; m++) {
        atomic_store_explicit(&part_of(b, m, i)->state, 0, memory_order_relaxed);
        atomic_store_explicit(&part_of(b, m, i)->written, 0, memory_order_relaxed);
    }
    atomic_store(&s->ended, 0);
    if (is_whole) {
        atomic_store(&s->base, FREE);
    }
    return err;
}

// Under the lock: write what a slot has, which is free for another block then. One that died here
// has written nothing, or the same. Nobody copies to a slot that has all bytes of its block; to
// another one a member may, for long: with is_hurried nothing is done then.
static enum pli_err retire(const struct pli_file *f, struct buffer *b, int i, bool is_hurried)
{
    struct slot *s = &b->slots[i];
    uint64_t base = atomic_load(&s->base), block = base / 2;
    bool has;
    if (base == FREE || base == LOST) {
        return PLI_OK;
    }
    if (sum_up(f, b, i, &has) == BLOCK) {
        return empty(f, b, i, block, true);
    }
    atomic_store(&s->base, base | CLOSED);
    if (is_hurried && !is_quiet(f, b, i)) {
        atomic_store(&s->base, block * 2);
        return PLI_OK;
    }
    return empty(f, b, i, block, is_hurried || wait_for_users(f, b, i));
}

// Under the lock: write the lines that are complete. Members go on to add others, and nobody waits
// for one that copies, which may have to wait for a core.
static enum pli_err write_lines(const struct pli_file *f, struct buffer *b, int i)
{
    uint64_t base = atomic_load(&b->slots[i].base);
    if (base == FREE || base == LOST) {
        return PLI_OK;
    }
    enum pli_err err = write_entries(f, b, i, base / 2, false);
    for (int m = 0; m < f->comm->size; m++) {
        note_written(part_of(b, m, i));
    }
    atomic_store(&b->slots[i].base, base / 2 * 2); // one that died may have closed it
    return err;
}

// is_over: in a collective call, where the pointer may be moved.
static enum pli_err write_slots(const struct pli_file *f, struct buffer *b, bool is_over)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < N_SLOT; i++) {
        uint64_t base = atomic_load(&b->slots[i].base);
        bool is_left = base != FREE && base != LOST && (base & CLOSED) != 0; // by one that died
        bool has, is_full = sum_up(f, b, i, &has) >= BLOCK;
        if (is_left || has || is_over) {
            enum pli_err one = is_full || is_over ? retire(f, b, i, false) : write_lines(f, b, i);
            err = err == PLI_OK ? one : err;
        }
    }
    return err;
}

static bool has_slots(const struct buffer *b)
{
    bool has = false;
    for (int i = 0; i < N_SLOT; i++) {
        has = has || atomic_load(&b->slots[i].base) != FREE;
    }
    return has;
}

static bool has_lines(const struct pli_file *f, const struct buffer *b)
{
    bool has = false;
    for (int i = 0; i < N_SLOT && !has; i++) {
        if (atomic_load(&b->slots[i].base) != FREE) {
            sum_up(f, b, i, &has);
        }
    }
    return has;
}

// What could not be written is lost, whoever wrote it: all are told by the next collective call.
static enum pli_err keep(struct pli_file_batch *batch, enum pli_err err)
{
    if (err == PLI_OK) {
        return PLI_OK;
    }
    pthread_mutex_lock(&batch->lock);
    if (batch->why.err == PLI_OK) {
        pli_fail_save(&batch->why, err);
    }
    err = pli_fail_repeat(&batch->why);
    atomic_store(&batch->has_failed, true);
    pthread_mutex_unlock(&batch->lock);
    return err;
}

static enum pli_err flush(struct pli_file_batch *batch, bool is_over)
{
    pli_node_lock_take(batch->buf->lock);
    enum pli_err err = write_slots(batch->f, batch->buf, is_over);
    pli_node_lock_drop(batch->buf->lock);
    return keep(batch, err);
}

// A process that ends does not wait long for one that was stopped under the lock.
static bool take_soon(struct buffer *b)
{
    for (int i = 0; i < N_LAST_TRY; i++) {
        if (pli_node_lock_try(b->lock)) {
            return true;
        }
        usleep(1000);
    }
    return false;
}

static void *body(void *arg)
{
    struct pli_file_batch *batch = arg;
    prctl(PR_SET_NAME, "mpi-log");
    for (;;) {
        int state = atomic_load(&batch->state);
        if (state == IDLE) {
            pli_futex_wait(&batch->state, IDLE, true, 0);
            continue;
        }
        if (state == SOON) {
            pli_futex_wait(&batch->state, SOON, true, LATE_NS);
        }
        // Lines that come after this wake the thread again.
        if (!atomic_compare_exchange_strong(&batch->state, &state, IDLE) || state == ENDING) {
            return NULL;
        }
        // Who adds a line wakes the thread without a fence: after this barrier the line is found
        // here, or the thread was found idle there.
        pli_shm_order();
        if (flush(batch, false) != PLI_OK) {
            pli_fail_take(NULL); // it is kept
        }
    }
}

// A program that ends by exit, without MPI_Finalize, has its lines too.
static void enter_exit(void)
{
    atexit(pli_file_shared_batch_flush_all);
}

static bool has_thread(struct pli_file_batch *batch)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, enter_exit);
    pthread_mutex_lock(&batch->lock);
    if (!batch->has_thread) {
        batch->has_thread = pli_file_async_begin_thread(&batch->thread, body, batch) == 0;
    }
    bool has = batch->has_thread;
    pthread_mutex_unlock(&batch->lock);
    return has;
}

static enum pli_err take_failure(struct pli_file_batch *batch)
{
    if (!atomic_load_explicit(&batch->has_failed, memory_order_relaxed)) {
        return PLI_OK;
    }
    pthread_mutex_lock(&batch->lock);
    enum pli_err err = pli_fail_repeat(&batch->why);
    batch->why.err = PLI_OK;
    atomic_store(&batch->has_failed, false);
    pthread_mutex_unlock(&batch->lock);
    return err;
}

// Whether lines come quickly, asked at the first line of a block and after each line that was
// written at once.
static bool is_quick(const struct pli_file *f, struct buffer *b)
{
    if (f->hints.shared_batch == PLI_FILE_ENABLE) {
        return true;
    }
    uint64_t now = pli_clock_ns();
    return now - atomic_exchange_explicit(&b->last, now, memory_order_relaxed) < QUICK_NS;
}

// A slot that is free, or that another member has given to the block meanwhile.
static bool take_slot(struct buffer *b, int i, uint64_t block)
{
    uint64_t base = FREE;
    if (atomic_compare_exchange_strong(&b->slots[i].base, &base, block * 2)) {
        atomic_store_explicit(&b->is_used, true, memory_order_relaxed);
        return true;
    }
    return base == block * 2;
}

// Get the slot for a block. False: there is none now. *err_out: an older block, which had it and
// never became full, could not be written.
static bool claim(const struct pli_file *f, struct buffer *b, int i, uint64_t block,
                  enum pli_err *err_out)
{
    struct slot *s = &b->slots[i];
    uint64_t base = atomic_load_explicit(&s->base, memory_order_acquire);
    bool is_used = is_waiting(part_of(b, f->comm->rank, i));
    if (!is_used && base != FREE) {
        sum_up(f, b, i, &is_used);
    }
    if (base == block * 2 && is_used) {
        return true;
    }
    if (base == LOST || !is_quick(f, b)) {
        return false;
    }
    // A later block has it where this member was slow, or the pointer was moved back.
    bool is_mine = base == FREE || base == block * 2;
    if (!is_mine && (base / 2 < block || !is_used)) {
        pli_node_lock_take(b->lock);
        if (atomic_load(&s->base) / 2 != block) {
            *err_out = retire(f, b, i, true);
        }
        pli_node_lock_drop(b->lock);
    }
    return *err_out == PLI_OK && take_slot(b, i, block);
}

// Whether all bytes of its block are in a slot.
static bool is_full(const struct pli_file *f, const struct buffer *b, int i)
{
    const struct slot *s = &b->slots[i];
    bool has;
    return atomic_load(&s->ended) == atomic_load(&s->base) + 1 && sum_up(f, b, i, &has) >= BLOCK;
}

static bool any_full(const struct pli_file *f, const struct buffer *b)
{
    bool is = false;
    for (int i = 0; i < N_SLOT && !is; i++) {
        is = is_full(f, b, i);
    }
    return is;
}

// Write blocks that are full. Where another has the lock nobody waits: it looks for others when it
// has written its own.
static enum pli_err write_full(const struct pli_file *f, struct buffer *b)
{
    enum pli_err err = PLI_OK;
    while (any_full(f, b) && pli_node_lock_try(b->lock)) {
        for (int i = 0; i < N_SLOT; i++) {
            enum pli_err one = is_full(f, b, i) ? retire(f, b, i, false) : PLI_OK;
            err = err == PLI_OK ? one : err;
        }
        pli_node_lock_drop(b->lock);
        atomic_thread_fence(memory_order_seq_cst);
    }
    return err;
}

// This member has added bytes to a block. Where its last byte is there and no other is missing, one
// of those who see that writes it. Two may each have missed what the other one did: so who begins
// with another block looks once more.
static enum pli_err write_if_full(const struct pli_file *f, struct buffer *b, int i, uint64_t block,
                                  bool is_last, bool is_first)
{
    struct slot *s = &b->slots[i];
    if (is_last) {
        atomic_store(&s->ended, block * 2 + 1);
    }
    return is_first || atomic_load_explicit(&s->ended, memory_order_acquire) == block * 2 + 1
               ? write_full(f, b)
               : PLI_OK;
}

// This member is about to copy. Who closes a slot makes every member's core pass a barrier, so that
// a line needs no fence: either it is seen that this one copies, or this one sees the slot closed.
// False: the slot is not that of the block. Context: add.
static bool enter(struct buffer *b, struct place *me, int i, uint64_t block)
{
    atomic_store_explicit(&me->inside, (uint32_t)i + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&b->needs_fence, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    bool is = atomic_load_explicit(&b->slots[i].base, memory_order_acquire) == block * 2;
    if (!is) {
        atomic_store_explicit(&me->inside, 0, memory_order_release);
    }
    return is;
}

// False: this member stood still for long meanwhile, and what it has added may not be written.
static bool leave(struct buffer *b, struct place *me, int i)
{
    atomic_store_explicit(&me->inside, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&b->needs_fence, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    return atomic_load_explicit(&b->slots[i].base, memory_order_relaxed) != LOST;
}

// What is added to a block: bytes that are one run of memory, or a part of an access; with neither
// they were written by themselves, and are counted only.
struct piece {
    const void *run;
    const struct pli_file_access *access;
    size_t from, n;
    MPI_Offset at;
};

// Context: add.
static bool add(struct buffer *b, struct place *me, const struct piece *l, bool *is_first_out)
{
    uint64_t block = (uint64_t)l->at / BLOCK;
    uint32_t begin = (uint32_t)(l->at % BLOCK);
    int i = (int)(block % N_SLOT);
    struct part *p = &me->parts[i];
    if (!enter(b, me, i, block)) {
        return false;
    }
    uint64_t state = atomic_load_explicit(&p->state, memory_order_relaxed);
    *is_first_out = state == 0;
    uint32_t k = entries_in(state);
    bool is_line = l->run != NULL || l->access != NULL, is_added = !is_line || k < N_ENTRY;
    if (is_added && is_line) {
        if (l->run != NULL) {
            memcpy(b->bytes[i] + begin, l->run, l->n);
        } else {
            pli_file_access_pack(l->access, l->from, b->bytes[i] + begin, l->n);
        }
        atomic_store_explicit(&p->entries[k], (uint32_t)l->n << 16 | begin, memory_order_relaxed);
        state += ENTRY;
    }
    if (is_added) {
        atomic_store_explicit(&p->state, state + l->n, memory_order_release);
    }
    return leave(b, me, i) && is_added;
}

// Copy n bytes of the access, which are in one block. False: they are to be written.
static bool store(const struct pli_file_access *a, size_t from, size_t n, MPI_Offset at,
                  enum pli_err *err_out)
{
    const struct pli_file *f = a->file;
    struct pli_file_batch *batch = f->batch;
    struct buffer *b = batch->buf;
    uint64_t block = (uint64_t)at / BLOCK;
    int i = (int)(block % N_SLOT);
    bool is_first = false;
    if (!claim(f, b, i, block, err_out) || !(batch->has_thread || has_thread(batch))) {
        return false;
    }
    pli_lock_take(&batch->add);
    bool is_stored = add(b, &b->places[f->comm->rank],
                         &(struct piece){ .access = a, .from = from, .n = n, .at = at }, &is_first);
    pli_lock_drop(&batch->add);
    if (is_stored) {
        *err_out = write_if_full(f, b, i, block, (uint64_t)at % BLOCK + n == BLOCK, is_first);
    }
    return is_stored;
}

static void wake_thread(struct pli_file_batch *batch)
{
    int idle = IDLE;
    if (atomic_load_explicit(&batch->state, memory_order_relaxed) == IDLE &&
        atomic_compare_exchange_strong(&batch->state, &idle, SOON)) {
        pli_futex_wake(&batch->state, 1, true);
    }
}

static bool is_allowed(const struct pli_file *f)
{
    return f->batch != NULL && f->view.is_dense && !f->is_atomic &&
           f->hints.ds_write != PLI_FILE_ENABLE && f->hints.shared_batch != PLI_FILE_DISABLE;
}

static bool is_wanted(const struct pli_file_access *a)
{
    return a->is_shared && a->is_write && a->len > 0 && a->len <= LONGEST && is_allowed(a->file);
}

// A line for a block that has lines of this member: most of them, so nothing else is asked here.
static bool add_line(struct pli_file *f, const char *run, size_t len, MPI_Offset at,
                     enum pli_err *err_out)
{
    struct pli_file_batch *batch = f->batch;
    struct buffer *b = batch->buf;
    struct place *me = &b->places[f->comm->rank];
    uint64_t block = (uint64_t)at / BLOCK, end = (uint64_t)at % BLOCK + len;
    int i = (int)(block % N_SLOT);
    bool is_first;
    if (end > BLOCK || !is_waiting(&me->parts[i])) {
        return false;
    }
    pli_lock_take(&batch->add);
    bool is_added = add(b, me, &(struct piece){ .run = run, .n = len, .at = at }, &is_first);
    pli_lock_drop(&batch->add);
    if (is_added) {
        enum pli_err err = write_if_full(f, b, i, block, end == BLOCK, false);
        *err_out = err == PLI_OK ? err : keep(batch, err);
        wake_thread(batch);
    }
    return is_added;
}

bool pli_file_shared_batch_line(struct pli_file *f, const void *buf, MPI_Count count,
                                const struct pli_datatype *type, MPI_Offset *at_out,
                                size_t *len_out, enum pli_err *err_out)
{
    const struct pli_file_view *v = &f->view;
    bool is_plain = is_allowed(f) && v->is_bytes && v->rep == NULL && v->layout->size > 0;
    bool is_short = count > 0 && count <= LONGEST && type->size > 0 && type->size <= LONGEST &&
                    count * type->size <= LONGEST;
    if (!is_plain || !is_short || !pli_datatype_is_run(type, count)) {
        return false;
    }
    size_t len = (size_t)(count * type->size);
    *at_out = atomic_fetch_add_explicit(f->pointer.word, (MPI_Offset)len, memory_order_relaxed);
    bool is = add_line(f, (const char *)buf + type->true_lb, len, pli_file_view_offset(v, *at_out),
                       err_out);
    *len_out = is && *err_out == PLI_OK ? len : 0;
    return is;
}

bool pli_file_shared_batch_write(struct pli_file_access *a, enum pli_err *err_out)
{
    *err_out = PLI_OK;
    if (!is_wanted(a)) {
        return false;
    }
    MPI_Offset at = pli_file_view_offset(&a->file->view, a->pos);
    size_t room = BLOCK - (size_t)(at % BLOCK), first = a->len < room ? a->len : room;
    bool is_stored = store(a, 0, first, at, err_out);
    a->collected = is_stored ? first : 0;
    if (is_stored && first < a->len && *err_out == PLI_OK) {
        is_stored = store(a, first, a->len - first, at + (MPI_Offset)first, err_out);
    }
    *err_out = keep(a->file->batch, *err_out);
    if (is_stored) {
        wake_thread(a->file->batch);
        a->done = a->len;
    }
    return is_stored || *err_out != PLI_OK;
}

// The block of n bytes that were written has a slot, so that it will be full; where it has none it
// will be that of a later block, which costs others time.
static enum pli_err add_written(struct pli_file *f, size_t n, MPI_Offset at)
{
    struct pli_file_batch *batch = f->batch;
    struct buffer *b = batch->buf;
    uint64_t block = (uint64_t)at / BLOCK;
    int i = (int)(block % N_SLOT);
    bool is_first = false;
    take_slot(b, i, block);
    pli_lock_take(&batch->add);
    bool is_added =
        add(b, &b->places[f->comm->rank], &(struct piece){ .n = n, .at = at }, &is_first);
    pli_lock_drop(&batch->add);
    bool is_last = (uint64_t)at % BLOCK + n == BLOCK;
    return is_added ? write_if_full(f, b, i, block, is_last, is_first) : PLI_OK;
}

enum pli_err pli_file_shared_batch_note(const struct pli_file_access *a)
{
    enum pli_err err = PLI_OK;
    if (!is_wanted(a)) {
        return PLI_OK;
    }
    MPI_Offset begin = pli_file_view_offset(&a->file->view, a->pos);
    for (size_t done = a->collected, n; done < a->len && err == PLI_OK; done += n) {
        MPI_Offset at = begin + (MPI_Offset)done;
        size_t room = BLOCK - (size_t)(at % BLOCK);
        n = a->len - done < room ? a->len - done : room;
        err = add_written(a->file, n, at);
    }
    return keep(a->file->batch, err);
}

enum pli_err pli_file_shared_batch_flush(struct pli_file *f)
{
    struct pli_file_batch *batch = f->batch;
    return batch != NULL && has_lines(batch->f, batch->buf) ? flush(batch, false) : PLI_OK;
}

enum pli_err pli_file_shared_batch_settle(struct pli_file *f)
{
    if (f->batch == NULL) {
        return PLI_OK;
    }
    if (has_slots(f->batch->buf) && flush(f->batch, true) != PLI_OK) {
        pli_fail_take(NULL); // it is kept
    }
    return take_failure(f->batch);
}

bool pli_file_shared_batch_is_used(const struct pli_file *f)
{
    return f->batch != NULL && atomic_load(&f->batch->buf->is_used);
}

void pli_file_shared_batch_flush_all(void)
{
    if (pthread_mutex_trylock(&all_lock) != 0) {
        return; // this may be a child of fork, where nobody would unlock it
    }
    for (struct pli_list *l = all.next; l != &all; l = l->next) {
        const struct pli_file_batch *batch = PLI_CONTAINER(l, struct pli_file_batch, link);
        if (has_lines(batch->f, batch->buf) && take_soon(batch->buf)) {
            enum pli_err err = write_slots(batch->f, batch->buf, false);
            pli_node_lock_drop(batch->buf->lock);
            if (err != PLI_OK) {
                pli_fail_take(NULL); // the process ends for another reason, which is told
            }
        }
    }
    pthread_mutex_unlock(&all_lock);
}

void pli_file_shared_batch_leave(void)
{
    pli_file_shared_batch_flush_all();
    while (!pli_list_is_empty(&all)) {
        pli_file_shared_batch_close(PLI_CONTAINER(all.next, struct pli_file_batch, link)->f);
    }
}

enum pli_err pli_file_shared_batch_open(struct pli_file *f)
{
    struct pli_file_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for lines of file %s", f->name);
    }
    pthread_mutex_init(&batch->lock, NULL);
    batch->f = f;
    batch->buf = (struct buffer *)f->pointer.word;
    if (atomic_load(&pli_shm_must_fence)) {
        atomic_store(&batch->buf->needs_fence, true);
    }
    f->batch = batch;
    pthread_mutex_lock(&all_lock);
    pli_list_push(&all, &batch->link);
    pthread_mutex_unlock(&all_lock);
    return PLI_OK;
}

static void end_thread(struct pli_file_batch *batch)
{
    if (batch->has_thread) {
        atomic_store(&batch->state, ENDING);
        pli_futex_wake(&batch->state, 1, true);
        pthread_join(batch->thread, NULL);
        batch->has_thread = false;
    }
}

void pli_file_shared_batch_pause(struct pli_file *f)
{
    if (f->batch != NULL) {
        end_thread(f->batch);
        atomic_store(&f->batch->state, IDLE);
        if (pli_file_shared_batch_flush(f) != PLI_OK) {
            pli_fail_take(NULL); // it is kept
        }
    }
}

void pli_file_shared_batch_close(struct pli_file *f)
{
    struct pli_file_batch *batch = f->batch;
    if (batch == NULL) {
        return;
    }
    pthread_mutex_lock(&all_lock);
    pli_list_remove(&batch->link);
    pthread_mutex_unlock(&all_lock);
    end_thread(batch);
    pthread_mutex_destroy(&batch->lock);
    free(batch);
    f->batch = NULL;
}
