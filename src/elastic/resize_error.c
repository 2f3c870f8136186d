// SPDX-License-Identifier: BSD-3-Clause
// All ranks must leave the old world at the same collective, or those who are in one would wait for
// ever for those who were told before it. So everybody who hears of a new version says how many
// collectives it has begun, and begins no other until all have said it. The largest number is where
// they leave: those who are behind do the missing ones first. Only then is anybody told.
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
#include "elastic/resize.h"
#include "net/shm/shm.h"
#include "obj/comm.h"
#include "obj/errhandler.h"

#include <mpi.h>
#include <pthread.h>

// What is known of a new version, in order.
enum state { S_NONE, S_SAID, S_TOLD, N_STATE };

enum { NEVER = INT32_MAX }; // collectives of a rank that cannot be told

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static enum state state; // guarded by guard, as all below
static uint32_t works;   // version that the program works in, or was told of
static bool is_forking;  // the ranks change the world themselves, and need not be told
static uint32_t leave_at;

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

// Whether some are on other hosts, whose rows are not here: the launcher counts for all.
static bool is_wide(const struct pli_comm *world)
{
    uint32_t row;
    for (int i = 0; i < world->size; i++) {
        if (!pli_boot_is_here(&pli_boot, pli_group_at(world->group, i).proc, &row)) {
            return true;
        }
    }
    return false;
}

static void say(struct pli_comm *world)
{
    uint32_t n = atomic_load_explicit(&world->n_begun, memory_order_seq_cst);
    if (is_fatal(world)) {
        n = NEVER;
        if (world->rank == 0) {
            pli_log(PLI_WARN,
                    "the world was resized, but MPI_WORLD_RESIZED cannot be returned: the error "
                    "handler of MPI_COMM_WORLD is MPI_ERRORS_ARE_FATAL; set MPI_ERRORS_RETURN, or "
                    "start the job without --on-resize=error");
        }
    }
    atomic_store_explicit(&my_row()->said, (uint64_t)(works + 1) << 32 | n, memory_order_seq_cst);
    if (is_wide(world)) {
        pli_boot_say_begun(&pli_boot, works + 1, n);
    } else {
        pli_shm_wake_node(&pli_boot.node); // others may wait for it
    }
}

// The number of the last collective in the old world; false: not all have said theirs.
static bool find_end(const struct pli_comm *world, uint32_t *out)
{
    uint32_t most = 0, row;
    if (is_wide(world)) {
        uint64_t end = atomic_load_explicit(&pli_boot.node.header->end, memory_order_seq_cst);
        *out = (uint32_t)end;
        return end >> 32 > works;
    }
    for (int i = 0; i < world->size; i++) {
        if (!pli_boot_is_here(&pli_boot, pli_group_at(world->group, i).proc, &row)) {
            continue;
        }
        const struct pli_node_row *r = &pli_boot.node.rows[row];
        uint64_t said = atomic_load_explicit(&r->said, memory_order_seq_cst);
        bool is_in = atomic_load_explicit(&r->state, memory_order_acquire) == PLI_NODE_RUNNING;
        if (is_in && said >> 32 <= works) {
            return false;
        }
        if (is_in && (uint32_t)said > most) {
            most = (uint32_t)said;
        }
    }
    *out = most;
    return true;
}

// Called by who has nothing to do, when something has happened.
static void hear(void)
{
    struct pli_comm *world = pli_comm_any(MPI_COMM_WORLD);
    uint32_t now = (uint32_t)atomic_load(&pli_boot.node.header->world);
    if (world == NULL || pthread_mutex_trylock(&guard) != 0) {
        return;
    }
    bool is_told = false;
    if (state == S_NONE && now > works && !is_forking) {
        state = S_SAID;
        atomic_store_explicit(&world->is_left, PLI_COMM_LEAVING, memory_order_seq_cst);
        say(world);
    }
    if (state == S_SAID && find_end(world, &leave_at) && leave_at != NEVER &&
        atomic_load_explicit(&world->n_begun, memory_order_relaxed) >= leave_at) {
        state = S_TOLD;
        is_told = true;
        atomic_store_explicit(&world->is_left, PLI_COMM_LEFT, memory_order_seq_cst);
        pli_comm_bar(world);
    }
    pthread_mutex_unlock(&guard);
    if (is_told) {
        pli_fail_ops_all();
    }
}

// This process works in the version, and the launcher may know.
static void take_up(void)
{
    atomic_store_explicit(&my_row()->works, works, memory_order_release);
    if ((pli_boot.node.header->net & PLI_NODE_PART) != 0) {
        pli_boot_say_taken(&pli_boot, works);
    }
}

// Give the error to the user, once. PLI_OK: another thread has.
static enum pli_err tell(struct pli_comm *c)
{
    const struct pli_node_header *h = pli_boot.node.header;
    pthread_mutex_lock(&guard);
    bool is_mine = state == S_TOLD && c == pli_comm_any(MPI_COMM_WORLD);
    uint32_t version = works + 1;
    enum pli_err err = PLI_OK;
    if (is_mine) {
        state = S_NONE;
        works = version;
        atomic_store_explicit(&c->is_left, 0, memory_order_relaxed);
        pli_comm_unbar(c);
        uint32_t leave = atomic_load_explicit(&my_row()->leave, memory_order_acquire);
        bool is_leaving = leave != 0 && leave <= version;
        err = is_leaving ? PLI_OK : pli_resize_take_up(version);
        take_up();
        if (err == PLI_OK) {
            err = pli_fail(PLI_ERR_WORLD_RESIZED,
                           is_leaving ? "the world has %u ranks now, and this one is not among "
                                        "them: it hands over, finalises and ends"
                                      : "the world has %u ranks now, which MPI_COMM_WORLD means "
                                        "from here on",
                           h->world_size);
        }
    }
    pthread_mutex_unlock(&guard);
    return err;
}

// The n-th collective of the world begins.
static enum pli_err enter(struct pli_comm *c, uint32_t n)
{
    struct pli_waiter w = { .lane = c->ep->lane, .comm = c, .call = "a collective" };
    uint32_t end = 0;
    bool is_known = false;
    while (!is_known) {
        pthread_mutex_lock(&guard);
        bool is_over = atomic_load_explicit(&c->is_left, memory_order_relaxed) == 0;
        is_known = is_over || find_end(c, &end);
        end = is_over ? NEVER : end;
        pthread_mutex_unlock(&guard);
        if (!is_known) {
            pli_progress_step(&w);
        }
    }
    pli_progress_end(&w);
    if (n <= end) {
        return PLI_OK;
    }
    atomic_fetch_sub_explicit(&c->n_begun, 1, memory_order_relaxed);
    hear();
    return tell(c);
}

static const struct pli_failure_resize ops = { .handle = hear, .tell = tell, .enter = enter };

PLI_START void pli_resize_error_prepare(void)
{
    pli_failure_on_resize(&ops);
}

void pli_resize_error_fork(bool is_begun)
{
    pthread_mutex_lock(&guard);
    is_forking = is_begun;
    pthread_mutex_unlock(&guard);
}

void pli_resize_error_forked(uint32_t version)
{
    pthread_mutex_lock(&guard);
    works = version;
    is_forking = false;
    pthread_mutex_unlock(&guard);
    if ((pli_boot.node.header->mode & PLI_NODE_TELLS) != 0) {
        take_up();
    }
}

enum pli_err pli_resize_error_begin(void)
{
    works = pli_boot.version;
    if ((pli_boot.node.header->mode & PLI_NODE_TELLS) == 0) {
        return PLI_OK;
    }
    enum pli_err err = works > 0 ? pli_coll_barrier(pli_comm_any(MPI_COMM_WORLD)) : PLI_OK;
    take_up(); // the next may come
    return err;
}
