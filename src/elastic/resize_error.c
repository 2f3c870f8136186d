// SPDX-License-Identifier: BSD-3-Clause
// Lets all ranks leave the old world at the same collective, with the error MPI_WORLD_RESIZED. A
// rank inside a collective would wait for ever for a rank that got the error before it. So each
// rank that learns of a new version states how many collectives it has begun, and begins no other
// until all have stated theirs. The largest count is the last collective of the old world: ranks
// that are behind do the missing ones first, and only then get the error.
#include "elastic/resize_error.h"

#include "base/cpu.h"
#include "base/log.h"
#include "boot/boot.h"
#include "coll/coll.h"
#include "ft/failure.h"
#include "ft/fail_ops.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "dynamic/spawner.h"
#include "elastic/elastic_world.h"
#include "net/shm/shm.h"
#include "obj/comm.h"
#include "obj/errhandler.h"

#include <mpi.h>
#include <pthread.h>

// How far this rank is with a new version, in order.
enum state { S_NONE, S_COUNT_STATED, S_ERROR_DUE, N_STATE };

enum { NOT_TOLD = INT32_MAX }; // stated by a rank whose error handler is fatal

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum state state; // guarded by lock, as all below
static uint32_t current; // version that the program works in, or was told of
static bool is_forking;  // the ranks change the world themselves, and need not be told
static uint32_t last_collective;

static struct pli_node_row *my_row(void)
{
    return &pli_boot.node.rows[pli_boot.row];
}

static bool is_fatal(struct pli_comm *world)
{
    struct pli_errhandler *e = pli_errhandler_of(&world->obj);
    bool is = e == &pli_errhandler_fatal || e == &pli_errhandler_abort;
    pli_errhandler_release(e);
    return is;
}

// Whether members are on other hosts, whose rows are not in this memory: the launcher then collects
// the counts.
static bool has_other_hosts(const struct pli_comm *world)
{
    uint32_t row;
    for (int i = 0; i < world->size; i++) {
        if (!pli_boot_is_here(&pli_boot, pli_group_at(world->group, i).proc, &row)) {
            return true;
        }
    }
    return false;
}

static void state_count(struct pli_comm *world)
{
    uint32_t n = atomic_load_explicit(&world->n_begun, memory_order_seq_cst);
    if (is_fatal(world)) {
        n = NOT_TOLD;
        if (world->rank == 0) {
            pli_log(PLI_WARN,
                    "the world was resized, but MPI_WORLD_RESIZED cannot be returned: the error "
                    "handler of MPI_COMM_WORLD is MPI_ERRORS_ARE_FATAL; set MPI_ERRORS_RETURN, or "
                    "start the job without --on-resize=error");
        }
    }
    atomic_store_explicit(&my_row()->said, (uint64_t)(current + 1) << 32 | n, memory_order_seq_cst);
    if (has_other_hosts(world)) {
        pli_boot_say_begun(&pli_boot, current + 1, n);
    } else {
        pli_shm_wake_node(&pli_boot.node); // other ranks may wait for the count
    }
}

// The number of the last collective in the old world; false: not all ranks have stated their count.
static bool find_last_collective(const struct pli_comm *world, uint32_t *out)
{
    uint32_t most = 0, row;
    if (has_other_hosts(world)) {
        uint64_t end = atomic_load_explicit(&pli_boot.node.header->end, memory_order_seq_cst);
        *out = (uint32_t)end;
        return end >> 32 > current;
    }
    for (int i = 0; i < world->size; i++) {
        if (!pli_boot_is_here(&pli_boot, pli_group_at(world->group, i).proc, &row)) {
            continue;
        }
        const struct pli_node_row *r = &pli_boot.node.rows[row];
        uint64_t said = atomic_load_explicit(&r->said, memory_order_seq_cst);
        bool is_in = atomic_load_explicit(&r->state, memory_order_acquire) == PLI_NODE_RUNNING;
        if (is_in && said >> 32 <= current) {
            return false;
        }
        if (is_in && (uint32_t)said > most) {
            most = (uint32_t)said;
        }
    }
    *out = most;
    return true;
}

// Called by an idle rank when the count of news has changed.
static void on_news(void)
{
    struct pli_comm *world = pli_comm_any(MPI_COMM_WORLD);
    uint32_t now = (uint32_t)atomic_load(&pli_boot.node.header->world);
    bool is_other = pli_spawner_has_parent(); // that has a world of its own, which stays as it is
    if (world == NULL || is_other || pthread_mutex_trylock(&lock) != 0) {
        return;
    }
    bool is_due = false;
    if (state == S_NONE && now > current && !is_forking) {
        state = S_COUNT_STATED;
        atomic_store_explicit(&world->is_left, PLI_COMM_LEAVING, memory_order_seq_cst);
        state_count(world);
    }
    if (state == S_COUNT_STATED && find_last_collective(world, &last_collective) &&
        last_collective != NOT_TOLD &&
        atomic_load_explicit(&world->n_begun, memory_order_relaxed) >= last_collective) {
        state = S_ERROR_DUE;
        is_due = true;
        atomic_store_explicit(&world->is_left, PLI_COMM_LEFT, memory_order_seq_cst);
        pli_comm_bar(world);
    }
    pthread_mutex_unlock(&lock);
    if (is_due) {
        pli_fail_ops_all();
    }
}

// Report the version that this process works in: in its row, and to the launcher where that needs
// it.
static void report_current(void)
{
    atomic_store_explicit(&my_row()->works, current, memory_order_release);
    if ((pli_boot.node.header->net & PLI_NODE_PART) != 0) {
        pli_boot_say_taken(&pli_boot, current);
    }
}

// Return the error to the program, once. PLI_OK: another thread has returned it.
static enum pli_err raise_error(struct pli_comm *c)
{
    const struct pli_node_header *h = pli_boot.node.header;
    pthread_mutex_lock(&lock);
    bool is_mine = state == S_ERROR_DUE && c == pli_comm_any(MPI_COMM_WORLD);
    uint32_t version = current + 1;
    enum pli_err err = PLI_OK;
    if (is_mine) {
        state = S_NONE;
        current = version;
        atomic_store_explicit(&c->is_left, 0, memory_order_relaxed);
        pli_comm_unbar(c);
        uint32_t leave = atomic_load_explicit(&my_row()->leave, memory_order_acquire);
        bool is_leaving = leave != 0 && leave <= version;
        err = is_leaving ? PLI_OK : pli_elastic_world_set(version);
        report_current();
        if (err == PLI_OK) {
            err = pli_fail(PLI_ERR_WORLD_RESIZED,
                           is_leaving ? "the world has %u ranks now, and this one is not among "
                                        "them: it hands over, finalises and ends"
                                      : "the world has %u ranks now, which MPI_COMM_WORLD means "
                                        "from here on",
                           h->world_size);
        }
    }
    pthread_mutex_unlock(&lock);
    return err;
}

// The n-th collective of the world begins: wait for the counts if a new version is known.
static enum pli_err enter_collective(struct pli_comm *c, uint32_t n)
{
    struct pli_waiter w = { .lane = c->ep->lane, .comm = c, .call = "a collective" };
    uint32_t end = 0;
    bool is_known = false;
    while (!is_known) {
        pthread_mutex_lock(&lock);
        bool is_over = atomic_load_explicit(&c->is_left, memory_order_relaxed) == 0;
        is_known = is_over || find_last_collective(c, &end);
        end = is_over ? NOT_TOLD : end;
        pthread_mutex_unlock(&lock);
        if (!is_known) {
            pli_progress_step(&w);
        }
    }
    pli_progress_end(&w);
    if (n <= end) {
        return PLI_OK;
    }
    atomic_fetch_sub_explicit(&c->n_begun, 1, memory_order_relaxed);
    on_news();
    return raise_error(c);
}

static const struct pli_failure_resize ops = { .handle = on_news,
                                               .tell = raise_error,
                                               .enter = enter_collective };

PLI_START void pli_resize_error_prepare(void)
{
    pli_failure_on_resize(&ops);
}

void pli_resize_error_fork(bool is_begun)
{
    pthread_mutex_lock(&lock);
    is_forking = is_begun;
    pthread_mutex_unlock(&lock);
}

void pli_resize_error_forked(uint32_t version)
{
    pthread_mutex_lock(&lock);
    current = version;
    is_forking = false;
    pthread_mutex_unlock(&lock);
    if ((pli_boot.node.header->mode & PLI_NODE_TELLS) != 0) {
        report_current();
    }
}

enum pli_err pli_resize_error_begin(void)
{
    current = pli_boot.version;
    if ((pli_boot.node.header->mode & PLI_NODE_TELLS) == 0) {
        return PLI_OK;
    }
    enum pli_err err = current > 0 ? pli_coll_barrier(pli_comm_any(MPI_COMM_WORLD)) : PLI_OK;
    report_current(); // from now on the launcher may make the next version
    return err;
}
