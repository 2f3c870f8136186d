// SPDX-License-Identifier: BSD-3-Clause
// Creates boards and destroys them. Memory that others may still look at is given back only when
// all members have left.
#include "coll/board/board_life.h"

#include "base/log.h"
#include "boot/boot.h"
#include "coll/board/board.h"
#include "coll/board/board_group.h"
#include "coll/board/board_ring.h"
#include "coll/coll_args.h"
#include "coll/hostmap.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "coll/algorithms.h"
#include "msg/arena.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "net/shm/shm.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUPS_FROM = 8,  // members that count themselves in by groups
    FLAT_MAX = 2,     // members that look at each other rather than count
    BOARD_MAX = 4096, // members; more than a host has threads that wait at the same time
    WORTH_AFTER = 2   // collectives on a communicator before it gets a board
};

// A board that was left. Its pieces go when all members have left, the board when all pieces are
// gone: until then members that came late still count on it.
struct ended_board {
    struct ended_board *next;
    struct pli_board_wire *w;
    uint64_t n;
    int me;
    void *window, *stream, *chunks, *large; // mine
    bool has_given;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct ended_board *ended_boards; // guarded by guard

static void give_pieces(struct ended_board *g)
{
    pli_arena_give(g->window);
    pli_arena_give(g->stream);
    pli_arena_give(g->chunks);
    pli_arena_give(g->large);
    g->window = g->stream = g->chunks = g->large = NULL;
    g->has_given = true;
    atomic_store_explicit(&g->w->members[g->me].stage, PLI_BOARD_DONE, memory_order_release);
    atomic_fetch_add_explicit(&g->w->n_done, 1, memory_order_acq_rel);
}

// Whether all members have come so far, or died; n: how many count themselves, which is the last
// they do at the board.
static bool have_all(const struct ended_board *g, const _Atomic uint64_t *n,
                     enum pli_board_stage stage)
{
    uint64_t n_come = 0;
    bool have = atomic_load_explicit(n, memory_order_acquire) == g->n;
    if (have || atomic_load_explicit(&pli_boot.node.header->n_failed, memory_order_acquire) == 0) {
        return have;
    }
    for (uint64_t i = 0; i < g->n; i++) {
        const struct pli_board_member *m = &g->w->members[i];
        bool has_come = atomic_load_explicit(&m->stage, memory_order_acquire) >= stage;
        if (!has_come && pli_boot_is_live(&pli_boot, m->proc)) {
            return false;
        }
        n_come += has_come;
    }
    return atomic_load_explicit(n, memory_order_acquire) == n_come;
}

// Whether nothing is left to do here.
static bool is_over(struct ended_board *g)
{
    if (!g->has_given && have_all(g, &g->w->n_left, PLI_BOARD_LEFT)) {
        give_pieces(g); // the board of another process may be gone from here on
        if (g->me != 0) {
            return true;
        }
    }
    if (g->has_given && have_all(g, &g->w->n_done, PLI_BOARD_DONE)) {
        pli_arena_give(g->w);
        return true;
    }
    return false;
}

static void sweep(void)
{
    pthread_mutex_lock(&guard);
    struct ended_board **at = &ended_boards;
    while (*at != NULL) {
        struct ended_board *g = *at;
        if (is_over(g)) {
            *at = g->next;
            free(g);
        } else {
            at = &g->next;
        }
    }
    pthread_mutex_unlock(&guard);
}

void pli_board_life_clone(void)
{
    while (ended_boards != NULL) {
        struct ended_board *g = ended_boards;
        ended_boards = g->next;
        free(g);
    }
}

void pli_board_life_drop(struct pli_board *b)
{
    if (b != NULL) {
        free(b->cma);
        free(b);
    }
}

void pli_board_life_end(struct pli_board *b)
{
    if (b == NULL) {
        return;
    }
    if (pli_board_ring_torn(b) != NULL && !pli_comm_is_stopped(b->comm)) {
        pli_log(PLI_WARN,
                "this rank and another one were both the root of a broadcast or scatter on %s: "
                "collective calls must be the same in all ranks",
                pli_comm_say(b->comm));
    }
    struct ended_board *g = calloc(1, sizeof *g);
    if (g != NULL) { // else the memory stays taken: better than taken back too early
        *g = (struct ended_board){ .w = b->w,
                                   .n = (uint64_t)b->n,
                                   .me = b->me,
                                   .window = b->window,
                                   .stream = b->stream,
                                   .chunks = b->chunks,
                                   .large = b->large };
        pthread_mutex_lock(&guard);
        g->next = ended_boards;
        ended_boards = g;
        pthread_mutex_unlock(&guard);
    }
    atomic_store_explicit(&b->members[b->me].stage, PLI_BOARD_LEFT, memory_order_release);
    atomic_fetch_add_explicit(&b->w->n_left, 1, memory_order_acq_rel);
    free(b->cma);
    free(b);
    sweep();
}

static uint32_t row_of(struct pli_id id)
{
    uint32_t row;
    return pli_boot_is_here(pli_proc.boot, id.proc, &row) ? row : UINT32_MAX;
}

// What rank 0 sends to the others: where the board is, and how members meet there.
struct invitation {
    uint64_t offset;
    uint32_t is_flat, is_oversubscribed;
};

// Slots for postings, which follow the members.
static size_t n_post(int n_member)
{
    return n_member <= PLI_BOARD_POSTS_RANKS ? (size_t)n_member * PLI_BOARD_POSTS : 0;
}

// The processors of the members' processes; where they cannot be read the member has none.
static void read_masks(const struct pli_comm *comm, const struct pli_hostmap *hosts,
                       uint64_t *masks)
{
    const struct pli_node *node = &pli_proc.boot->node;
    for (int i = 0; i < hosts->n_member; i++) {
        uint64_t *mask = masks + (size_t)i * PLI_BOARD_GROUP_WORDS;
        uint32_t row = row_of(pli_group_at(comm->group, hosts->members[i]));
        pid_t pid = (pid_t)atomic_load_explicit(&node->rows[row].pid, memory_order_relaxed);
        memset(mask, 0, PLI_BOARD_GROUP_WORDS * sizeof *mask);
        if (sched_getaffinity(pid, PLI_BOARD_GROUP_WORDS * sizeof *mask, (cpu_set_t *)mask) != 0) {
            pli_log(PLI_DEBUG, "coll: the processors of process %d cannot be read: %s", (int)pid,
                    strerror(errno));
        }
    }
}

// The group of each member.
static void make_groups(const struct pli_comm *comm, const struct pli_hostmap *hosts,
                        struct pli_board_wire *w)
{
    int n = hosts->n_member;
    uint64_t *masks = malloc((size_t)n * PLI_BOARD_GROUP_WORDS * sizeof *masks);
    uint32_t *group = malloc((size_t)n * sizeof *group), n_group = 0;
    if (masks != NULL && group != NULL) {
        read_masks(comm, hosts, masks);
        n_group = pli_board_group_bound(masks, n, group);
        bool is_bound = n_group > 0;
        n_group = is_bound ? n_group : pli_board_group_row(n, group);
        pli_log(PLI_DEBUG, "coll: %d members of %s in %u groups %s", n, pli_comm_say(comm), n_group,
                is_bound ? "that share a part of the machine" : "in a row");
    }
    for (int i = 0; i < n; i++) {
        w->members[i].group = n_group > 0 ? group[i] : 0; // one group without memory
    }
    free(masks);
    free(group);
}

static struct invitation invite(const struct pli_comm *comm, const struct pli_hostmap *hosts)
{
    int n_member = hosts->n_member;
    sweep();
    size_t size = sizeof(struct pli_board_wire) +
                  (size_t)n_member * sizeof(struct pli_board_member) +
                  n_post(n_member) * sizeof(struct pli_board_slot);
    struct pli_board_wire *w = pli_arena_take(size);
    for (int i = 0; w != NULL && i < n_member; i++) {
        w->members[i].proc = pli_group_at(comm->group, hosts->members[i]).proc;
    }
    if (w != NULL && n_member >= GROUPS_FROM) {
        make_groups(comm, hosts, w);
    }
    bool is_oversubscribed = pli_lane_is_oversubscribed(),
         is_flat = n_member <= FLAT_MAX && !is_oversubscribed;
    return (struct invitation){ w != NULL ? pli_arena_offset(w) : 0, is_flat, is_oversubscribed };
}

static enum pli_err send_invitation(struct pli_comm *comm, const struct pli_hostmap *hosts, int me,
                                    struct invitation *inv)
{
    struct pli_coll_args a = {
        .kind = PLI_COLL_BCAST, .n = hosts->n_member, .me = me, .comm = comm
    };
    a.recv = (struct pli_blocks){ .buf = inv,
                                  .count = sizeof *inv,
                                  .type = pli_datatype_basic(MPI_BYTE) };
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(PLI_COLL_BCAST, PLI_SCHED_ONCE, &s);
    if (err == PLI_OK) {
        pli_sched_on(s, comm);
        pli_sched_among(s, hosts->members);
        pli_bcast_binomial(s, &a);
        err = pli_sched_run(s, comm);
        pli_sched_destroy(s);
    }
    return err;
}

bool pli_board_life_is_worth(const struct pli_comm *comm)
{
    return comm->n_coll >= WORTH_AFTER;
}

struct pli_shm_mailbox *pli_board_life_box(const struct pli_comm *comm, int rank)
{
    struct pli_id id = pli_group_at(comm->group, rank);
    return pli_shm_box(&pli_proc.boot->node, row_of(id), (int)(id.ep % PLI_NODE_N_LANE));
}

// Set the bits of the lanes at which members other than me sleep, by row; how many they are.
static int mark_boxes(const struct pli_comm *comm, const struct pli_hostmap *hosts, uint8_t *lanes)
{
    int n = 0;
    for (int i = 0; i < hosts->n_member; i++) {
        int rank = hosts->members[i];
        struct pli_id id = pli_group_at(comm->group, rank);
        uint8_t bit = (uint8_t)(1 << id.ep % PLI_NODE_N_LANE), *at = &lanes[row_of(id)];
        n += rank != comm->rank && (*at & bit) == 0;
        *at |= rank != comm->rank ? bit : 0;
    }
    return n;
}

static void list_boxes(struct pli_board *b, const uint8_t *lanes, uint32_t n_row)
{
    const struct pli_node *node = &pli_proc.boot->node;
    for (uint32_t row = 0; row < n_row; row++) {
        for (int lane = 0; lane < PLI_NODE_N_LANE; lane++) {
            if ((lanes[row] >> lane & 1) != 0) {
                b->boxes[b->n_box++] = pli_shm_box(node, row, lane);
            }
        }
    }
}

// Whether they share memory indeed: PLIANT_COLL_HOST may have put others together.
static bool are_here(const struct pli_comm *comm, const struct pli_hostmap *hosts)
{
    bool is_good = true;
    for (int i = 0; i < hosts->n_member && is_good; i++) {
        is_good = row_of(pli_group_at(comm->group, hosts->members[i])) != UINT32_MAX;
    }
    return is_good;
}

// Many members count themselves in by groups.
static void join_group(struct pli_board *b)
{
    for (int i = 0; i < b->n && b->n >= GROUPS_FROM; i++) {
        uint32_t group = b->members[i].group;
        b->n_group = group >= b->n_group ? group + 1 : b->n_group;
        b->n_together += group == b->members[b->me].group;
    }
    b->group = b->members[b->me].group;
}

struct pli_board *pli_board_life_make(struct pli_comm *comm, const struct pli_hostmap *hosts)
{
    struct invitation inv = { 0 };
    int me = pli_hostmap_index(hosts, comm->rank);
    if (hosts->n_member == 1 || hosts->n_member > BOARD_MAX || !are_here(comm, hosts)) {
        pli_sched_skip(comm); // hosts with more members exchange a message now
        return NULL;
    }
    if (me == 0) {
        inv = invite(comm, hosts);
    }
    if (send_invitation(comm, hosts, me, &inv) != PLI_OK || inv.offset == 0) {
        return NULL;
    }
    uint32_t n_row = pli_node_n_used(&pli_proc.boot->node); // grows, but the members are there
    uint8_t *lanes = calloc(n_row, sizeof *lanes);
    int n_box = lanes != NULL ? mark_boxes(comm, hosts, lanes) : 0;
    struct pli_board *b = calloc(1, sizeof *b + (size_t)n_box * sizeof b->boxes[0]);
    if (b == NULL || lanes == NULL) {
        abort(); // the others rely on this member and cannot be warned
    }
    b->w = pli_arena_at(inv.offset);
    b->members = b->w->members;
    b->lane = comm->ep->lane;
    b->comm = comm;
    b->ranks = hosts->members;
    b->n = hosts->n_member;
    b->me = me;
    join_group(b);
    b->is_flat = inv.is_flat;
    b->is_oversubscribed = inv.is_oversubscribed;
    b->ring_room = PLI_BOARD_RING;
    b->posts = n_post(b->n) > 0 ? (struct pli_board_slot *)(void *)&b->members[b->n] : NULL;
    b->post_room = b->parts_room = PLI_BOARD_POSTS;
    b->last_woken = b->only = -1;
    list_boxes(b, lanes, n_row);
    free(lanes);
    return b;
}
