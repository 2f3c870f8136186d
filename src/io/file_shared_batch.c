// SPDX-License-Identifier: BSD-3-Clause
// A block of the file has one of a few slots of shared memory. Who writes a line has a place from
// the shared pointer, copies its bytes to the slot of the block, and enters there which bytes these
// are. Who makes the block full writes it. A thread of each process that collected lines writes
// what is there 10 ms later. What has no slot, for whatever reason, is written by itself: nobody
// waits for another member in order to write a line, and one that dies leaves nothing half done.
#include "io/file_shared_batch.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/futex.h"
#include "base/list.h"
#include "boot/node_lock.h"
#include "io/file.h"
#include "io/file_access.h"
#include "io/file_async.h"
#include "io/file_sys.h"
#include "rma/win.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>

enum {
    BLOCK = 32 * 1024, // bytes of the file, from a multiple of it on
    N_SLOT = 4,
    N_ENTRY = 512,         // lines in a block; more are written by themselves
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

// What is in a slot, in one word: the bytes added to the block, entries, and members that copy.
#define ENTRY (UINT64_C(1) << 24)
#define USER (UINT64_C(1) << 48)

static uint64_t bytes_in(uint64_t state)
{
    return state % ENTRY;
}

static uint32_t entries_in(uint64_t state)
{
    uint64_t n = state % USER / ENTRY;
    return n < N_ENTRY ? (uint32_t)n : N_ENTRY;
}

struct slot {
    _Alignas(64) _Atomic uint64_t base;
    _Atomic uint64_t state;
};

// In memory that all members share.
struct buffer {
    _Atomic MPI_Offset pos;                     // the shared pointer
    _Alignas(64) _Atomic uint64_t last;         // when lines were last found to come quickly or not
    _Alignas(64) char lock[PLI_NODE_LOCK_SIZE]; // of who writes blocks
    struct slot slots[N_SLOT];
    _Alignas(4096) _Atomic uint32_t entries[N_SLOT][N_ENTRY]; // length << 16 | begin; 0: none
    char bytes[N_SLOT][BLOCK];
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
    return is ? sizeof(struct buffer) : 0;
}

// Memory of a segment is zero; other memory may have been used.
void pli_file_shared_batch_offer(struct pli_file *f)
{
    struct buffer *b = (struct buffer *)f->pointer.word;
    if (f->pointer.where != PLI_MEMORY_SEGMENT) {
        memset((void *)b->entries, 0, sizeof b->entries);
    }
    pli_node_lock_init(b->lock);
    atomic_store(&b->last, 0);
    for (int i = 0; i < N_SLOT; i++) {
        atomic_store(&b->slots[i].base, FREE);
        atomic_store(&b->slots[i].state, 0);
    }
}

// In the order of their places. They are nearly in order.
static void sort(uint32_t *entries, int n)
{
    for (int i = 1; i < n; i++) {
        uint32_t e = entries[i];
        int k = i;
        for (; k > 0 && (entries[k - 1] & 0xffff) > (e & 0xffff); k--) {
            entries[k] = entries[k - 1];
        }
        entries[k] = e;
    }
}

// Write what was entered, each run by one call. What cannot be written is lost.
static enum pli_err write_entries(const struct pli_file *f, const struct buffer *b, int i, int n,
                                  MPI_Offset at)
{
    uint32_t entries[N_ENTRY];
    int n_ready = 0;
    enum pli_err err = PLI_OK;
    for (int k = 0; k < n; k++) {
        uint32_t e = atomic_load(&b->entries[i][k]);
        entries[n_ready] = e;
        n_ready += e != 0;
    }
    sort(entries, n_ready);
    for (int k = 0, next; k < n_ready && err == PLI_OK; k = next) {
        uint32_t from = entries[k] & 0xffff, to = from + (entries[k] >> 16);
        for (next = k + 1; next < n_ready && (entries[next] & 0xffff) <= to; next++) {
            uint32_t end = (entries[next] & 0xffff) + (entries[next] >> 16);
            to = end > to ? end : to;
        }
        size_t done;
        err = pli_file_sys_write(f->fd, f->name, b->bytes[i] + from, to - from,
                                 at + (MPI_Offset)from, &done);
    }
    return err;
}

// Nobody adds lines to a slot that is closed. False: somebody still copies.
static bool wait_for_users(struct slot *s)
{
    uint64_t begin = 0;
    for (int i = 0; atomic_load(&s->state) >= USER; i++) {
        if (i % 1000 == 999) {
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

// Under the lock: write what a slot has. is_over: it is free for another block then, as it is when
// its block is full. One that died here has written nothing, or the same.
static enum pli_err write_slot(const struct pli_file *f, struct buffer *b, int i, bool is_over)
{
    struct slot *s = &b->slots[i];
    uint64_t base = atomic_load(&s->base);
    if (base == FREE || base == LOST) {
        return PLI_OK;
    }
    uint64_t block = base / 2;
    atomic_store(&s->base, base | CLOSED);
    bool is_whole = wait_for_users(s);
    uint64_t state = atomic_load(&s->state), next;
    int n = (int)entries_in(state);
    enum pli_err err = write_entries(f, b, i, n, (MPI_Offset)block * BLOCK);
    if (!is_whole) {
        atomic_store(&s->base, LOST);
        return err;
    }
    for (int k = 0; k < n; k++) {
        atomic_store_explicit(&b->entries[i][k], 0, memory_order_relaxed);
    }
    do { // who finds it closed enters and leaves at once
        is_whole = wait_for_users(s);
        state = atomic_load(&s->state) % USER;
        is_over = is_over || bytes_in(state) >= BLOCK;
        next = is_over ? 0 : bytes_in(state);
    } while (is_whole && !atomic_compare_exchange_weak(&s->state, &state, next));
    atomic_store(&s->base, !is_whole ? LOST : is_over ? FREE : block * 2);
    return err;
}

static enum pli_err write_slots(const struct pli_file *f, struct buffer *b)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < N_SLOT; i++) {
        uint64_t base = atomic_load(&b->slots[i].base);
        bool is_left = base != FREE && base != LOST && (base & CLOSED) != 0; // by one that died
        if (is_left || entries_in(atomic_load(&b->slots[i].state)) > 0) {
            enum pli_err one = write_slot(f, b, i, false);
            err = err == PLI_OK ? one : err;
        }
    }
    return err;
}

static bool has_lines(const struct buffer *b)
{
    bool has = false;
    for (int i = 0; i < N_SLOT; i++) {
        has = has || entries_in(atomic_load(&b->slots[i].state)) > 0;
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

static enum pli_err flush(struct pli_file_batch *batch)
{
    pli_node_lock_take(batch->buf->lock);
    enum pli_err err = write_slots(batch->f, batch->buf);
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
        if (flush(batch) != PLI_OK) {
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

// Get the slot for a block. False: there is none now. *err_out: an older block, which had it and
// never became full, could not be written.
static bool claim(const struct pli_file *f, struct buffer *b, int i, uint64_t block,
                  enum pli_err *err_out)
{
    struct slot *s = &b->slots[i];
    uint64_t base = atomic_load(&s->base);
    bool is_used = entries_in(atomic_load(&s->state)) > 0;
    if (base == block * 2 && is_used) {
        return true;
    }
    if (base == LOST || !is_quick(f, b)) {
        return false;
    }
    // A later block has it where this member was slow, or the pointer was moved back.
    bool is_mine = base == FREE || base == block * 2;
    if (!is_mine && (base / 2 < block || !is_used) && pli_node_lock_try(b->lock)) {
        *err_out = write_slot(f, b, i, true);
        pli_node_lock_drop(b->lock);
    }
    base = FREE;
    return *err_out == PLI_OK &&
           (atomic_compare_exchange_strong(&s->base, &base, block * 2) || base == block * 2);
}

// Copy n bytes of the access, which are in one block. False: they are to be written.
static bool store(const struct pli_file_access *a, size_t from, size_t n, MPI_Offset at,
                  enum pli_err *err_out)
{
    struct pli_file_batch *batch = a->file->batch;
    struct buffer *b = batch->buf;
    uint64_t block = (uint64_t)at / BLOCK;
    uint32_t begin = (uint32_t)(at % BLOCK);
    int i = (int)(block % N_SLOT);
    struct slot *s = &b->slots[i];
    if (!claim(a->file, b, i, block, err_out) || !(batch->has_thread || has_thread(batch))) {
        return false;
    }
    uint64_t state = atomic_fetch_add(&s->state, USER + ENTRY + n);
    uint32_t k = entries_in(state);
    if (k == N_ENTRY || atomic_load(&s->base) != block * 2) {
        atomic_fetch_sub(&s->state, USER + n);
        return false;
    }
    pli_file_access_pack(a, from, b->bytes[i] + begin, n);
    atomic_store_explicit(&b->entries[i][k], (uint32_t)n << 16 | begin, memory_order_release);
    state = atomic_fetch_sub(&s->state, USER);
    if (atomic_load(&s->base) == LOST) { // this member stood still for long
        return false;
    }
    if (bytes_in(state) >= BLOCK && state / USER == 1) {
        pli_node_lock_take(b->lock);
        *err_out = write_slot(a->file, b, i, false);
        pli_node_lock_drop(b->lock);
    }
    return true;
}

static void wake_thread(struct pli_file_batch *batch)
{
    int idle = IDLE;
    if (atomic_load_explicit(&batch->state, memory_order_relaxed) == IDLE &&
        atomic_compare_exchange_strong(&batch->state, &idle, SOON)) {
        pli_futex_wake(&batch->state, 1, true);
    }
}

static bool is_wanted(const struct pli_file_access *a)
{
    const struct pli_file *f = a->file;
    return f->batch != NULL && a->is_shared && a->is_write && a->len > 0 && a->len <= LONGEST &&
           f->view.is_dense && !f->is_atomic && f->hints.ds_write != PLI_FILE_ENABLE &&
           f->hints.shared_batch != PLI_FILE_DISABLE;
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

enum pli_err pli_file_shared_batch_flush(struct pli_file *f)
{
    struct pli_file_batch *batch = f->batch;
    return batch != NULL && has_lines(batch->buf) ? flush(batch) : PLI_OK;
}

enum pli_err pli_file_shared_batch_settle(struct pli_file *f)
{
    if (f->batch == NULL) {
        return PLI_OK;
    }
    if (pli_file_shared_batch_flush(f) != PLI_OK) {
        pli_fail_take(NULL); // it is kept
    }
    return take_failure(f->batch);
}

void pli_file_shared_batch_flush_all(void)
{
    if (pthread_mutex_trylock(&all_lock) != 0) {
        return; // this may be a child of fork, where nobody would unlock it
    }
    for (struct pli_list *l = all.next; l != &all; l = l->next) {
        const struct pli_file_batch *batch = PLI_CONTAINER(l, struct pli_file_batch, link);
        if (has_lines(batch->buf) && take_soon(batch->buf)) {
            enum pli_err err = write_slots(batch->f, batch->buf);
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
    f->batch = batch;
    pthread_mutex_lock(&all_lock);
    pli_list_push(&all, &batch->link);
    pthread_mutex_unlock(&all_lock);
    return PLI_OK;
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
    if (batch->has_thread) {
        atomic_store(&batch->state, ENDING);
        pli_futex_wake(&batch->state, 1, true);
        pthread_join(batch->thread, NULL);
    }
    pthread_mutex_destroy(&batch->lock);
    free(batch);
    f->batch = NULL;
}
