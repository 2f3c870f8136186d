// SPDX-License-Identifier: BSD-3-Clause
// The table of revoked communicators, a hash table with open addressing. A process that looks for a
// mark of its own needs no lock: it cannot go while a member has not left, and places in front of
// it never become free.
#include "ft/revoke_table.h"

#include "boot/failure_wire.h"
#include "boot/boot.h"
#include "boot/agree_wire.h"
#include "ft/failure.h"
#include "msg/arena.h"
#include "msg/process.h"
#include "net/shm/shm.h"
#include "obj/comm.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { SWEEP_AT = PLI_FAILURE_N_MARK / 4 * 3 };

// Memory for agreements that this process gave: it takes it back when no process looks any more.
struct given {
    struct given *next;
    struct pli_failure_agreement *agreement;
    uint64_t key;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // of this process, before the table's
static struct given *given_list;                          // guarded by guard

static struct pli_failure_table *table(void)
{
    return pli_failure_table(pli_boot.node.header);
}

// Every process has a MPI_COMM_SELF, and every world a MPI_COMM_WORLD, under the same context.
static uint64_t key_of(const struct pli_comm *c)
{
    uint64_t first = (uint32_t)pli_group_at(c->group, 0).proc;
    return c->context < PLI_CONTEXT_FIRST ? c->context | first << 40 : c->context;
}

static struct pli_failure_mark *at(uint32_t i)
{
    return &table()->marks[i % PLI_FAILURE_N_MARK];
}

static struct pli_failure_mark *find(const struct pli_comm *c)
{
    // 0: it is not agreed yet
    return c->context != 0 ? pli_failure_find(pli_boot.node.header, key_of(c)) : NULL;
}

struct pli_failure_agreement *pli_revoke_table_agreement(const struct pli_failure_mark *m)
{
    return pli_arena_at(atomic_load_explicit(&m->agreement, memory_order_relaxed));
}

static bool is_low(const struct pli_comm *c)
{
    struct pli_id a = pli_group_at(c->group, 0), b = pli_group_at(c->remote, 0);
    return a.proc < b.proc || (a.proc == b.proc && a.ep < b.ep);
}

int pli_revoke_table_first(const struct pli_comm *c, bool is_remote)
{
    return !c->is_inter || is_low(c) != is_remote ? 0 : is_remote ? c->size : c->n_peer;
}

static uint32_t n_member(const struct pli_comm *c)
{
    return (uint32_t)(c->size + (c->is_inter ? c->n_peer : 0));
}

// Of the group that comes first.
static uint32_t n_first(const struct pli_comm *c)
{
    return (uint32_t)(!c->is_inter || pli_revoke_table_first(c, false) == 0 ? c->size : c->n_peer);
}

static bool has_died(uint32_t row)
{
    return pli_node_failure(&pli_boot.node, pli_boot.node.rows[row].index) != 0;
}

// The lock of a process that died is free.
static void take(void)
{
    _Atomic uint32_t *owner = &table()->owner;
    uint32_t me = pli_boot.row + 1;
    pthread_mutex_lock(&guard);
    for (;;) {
        uint32_t is = 0;
        if (atomic_compare_exchange_strong(owner, &is, me)) {
            return;
        }
        bool is_dead = is != 0 && has_died(is - 1);
        if (is_dead && atomic_compare_exchange_strong(owner, &is, me)) {
            return;
        }
        sched_yield();
    }
}

static void drop(void)
{
    atomic_store_explicit(&table()->owner, 0, memory_order_release);
    pthread_mutex_unlock(&guard);
}

static bool is_over(const struct pli_failure_agreement *p)
{
    if (p->is_wide) {
        return atomic_load_explicit(&p->is_dropped, memory_order_acquire) != 0;
    }
    for (uint32_t i = 0; i < p->n_member; i++) {
        if (p->members[i].has_left == 0 && pli_boot_is_live(&pli_boot, p->members[i].proc)) {
            return false;
        }
    }
    return true;
}

// What stands in front of a free place need not be looked through. Context: table locked.
static void clear(uint32_t i)
{
    struct pli_failure_agreement *p = pli_revoke_table_agreement(at(i));
    atomic_store_explicit(&at(i)->context, PLI_FAILURE_WAS, memory_order_release);
    atomic_store_explicit(&p->is_over, 1, memory_order_release);
    if (at(i + 1)->context != PLI_FAILURE_FREE) {
        return;
    }
    for (; at(i)->context == PLI_FAILURE_WAS; i--) {
        atomic_store_explicit(&at(i)->context, PLI_FAILURE_FREE, memory_order_release);
        table()->n_mark--;
    }
}

// Clear the marks that are not needed: the last process may have died instead of leaving. Context:
// table locked.
static void sweep(void)
{
    uint32_t n = 0;
    for (uint32_t i = PLI_FAILURE_N_MARK; i-- > 0;) { // backwards, so that whole runs become free
        if (at(i)->context > PLI_FAILURE_WAS && is_over(pli_revoke_table_agreement(at(i)))) {
            clear(i);
        }
    }
    for (uint32_t i = 0; i < PLI_FAILURE_N_MARK; i++) {
        n += at(i)->context != PLI_FAILURE_FREE;
    }
    table()->n_mark = n; // a process that died with the lock may have left it wrong
}

// Context: table locked.
static void take_back(void)
{
    struct given **i = &given_list;
    while (*i != NULL) {
        struct given *g = *i;
        if (g->agreement->is_wide && g->agreement->is_over == 0 && is_over(g->agreement)) {
            clear((uint32_t)(pli_failure_find(pli_boot.node.header, g->key) - table()->marks));
        }
        if (atomic_load_explicit(&g->agreement->is_over, memory_order_acquire) != 0) {
            *i = g->next;
            pli_arena_give(g->agreement);
            free(g);
        } else {
            i = &g->next;
        }
    }
}

static struct pli_failure_agreement *give(uint64_t key, uint32_t n)
{
    struct given *g = malloc(sizeof *g);
    struct pli_failure_agreement *p =
        g != NULL ? pli_arena_take(sizeof *p + n * sizeof(struct pli_failure_member)) : NULL;
    if (p == NULL) {
        free(g);
        return NULL;
    }
    *g = (struct given){ given_list, p, key };
    given_list = g;
    p->n_member = n;
    return p;
}

static void add_members(struct pli_failure_agreement *p, const struct pli_group *g, int first)
{
    for (int i = 0; i < g->size; i++) {
        p->members[first + i].proc = pli_group_at(g, i).proc;
    }
}

static enum pli_err check_group(const struct pli_comm *c, const struct pli_group *g, bool *is_wide)
{
    uint32_t row;
    for (int i = 0; i < g->size; i++) {
        uint64_t proc = pli_group_at(g, i).proc;
        if (pli_node_job_of(proc) != pli_boot.job) {
            return pli_fail(PLI_ERR_UNSUPPORTED,
                            "rank %d of %s is not in this job, and survivors agree in one job only",
                            i, pli_comm_say(c));
        }
        *is_wide = *is_wide || !pli_boot_is_here(&pli_boot, proc, &row);
    }
    return PLI_OK;
}

// Whether members of other hosts take part; else it fails with a sentence.
static enum pli_err check(const struct pli_comm *c, bool *is_wide)
{
    enum pli_err err = check_group(c, c->group, is_wide);
    return err == PLI_OK && c->is_inter ? check_group(c, c->remote, is_wide) : err;
}

static void say(const struct pli_comm *c, struct pli_agree_word *word)
{
    word->key = key_of(c);
    word->n_member = n_member(c);
    word->n_first = n_first(c);
    pli_boot.ops->agree(&pli_boot, word);
}

static void say_group(const struct pli_comm *c, const struct pli_group *g, int first)
{
    struct pli_agree_word w = { .what = PLI_AGREE_MEMBERS, .place = (uint32_t)first };
    for (int i = 0; i < g->size; i++) {
        w.list[w.n_list++] = (uint32_t)pli_group_at(g, i).proc;
        if (w.n_list == PLI_AGREE_N_LIST || i == g->size - 1) {
            say(c, &w);
            w.place += w.n_list;
            w.n_list = 0;
        }
    }
}

static void say_members(const struct pli_comm *c)
{
    say_group(c, c->group, pli_revoke_table_first(c, false));
    if (c->is_inter) {
        say_group(c, c->remote, pli_revoke_table_first(c, true));
    }
}

void pli_revoke_table_vote(const struct pli_comm *c, struct pli_failure_agreement *p, uint32_t seq,
                           uint32_t value, bool is_making)
{
    int place = pli_revoke_table_first(c, false) + c->rank;
    struct pli_failure_vote *v = &p->members[place].votes[seq % PLI_FAILURE_N_VOTE];
    uint32_t n_acked = (uint32_t)atomic_load_explicit(&c->n_acked, memory_order_relaxed);
    atomic_store_explicit(&v->value, value, memory_order_relaxed);
    atomic_store_explicit(&v->n_acked, n_acked, memory_order_relaxed);
    for (int i = 0; i < 2 && is_making; i++) {
        atomic_store_explicit(&v->context[i], pli_process_context(), memory_order_relaxed);
    }
    atomic_store_explicit(&v->seq, seq, memory_order_seq_cst);
    if (p->is_wide) {
        say(c, &(struct pli_agree_word){ .what = PLI_AGREE_VOTE,
                                         .place = (uint32_t)place,
                                         .seq = seq,
                                         .value = value,
                                         .n_acked = n_acked,
                                         .context = { v->context[0], v->context[1] } });
    }
}

enum pli_err pli_revoke_table_revoke(const struct pli_comm *c)
{
    bool is_wide = false;
    enum pli_err err = check(c, &is_wide);
    struct pli_failure_mark *m;
    if (err == PLI_OK && is_wide) {
        say_members(c);
        say(c, &(struct pli_agree_word){ .what = PLI_AGREE_REVOKE });
        return PLI_OK;
    }
    err = err == PLI_OK ? pli_revoke_table_make(c, &m) : err;
    if (err == PLI_OK && atomic_exchange_explicit(&m->is_revoked, 1, memory_order_acq_rel) == 0) {
        atomic_fetch_add_explicit(&pli_boot.node.header->n_news, 1, memory_order_seq_cst);
        pli_shm_wake_node(&pli_boot.node);
    }
    return err;
}

bool pli_revoke_table_is_revoked(const struct pli_comm *c)
{
    const struct pli_failure_mark *m = find(c);
    if (m != NULL && atomic_load_explicit(&m->is_revoked, memory_order_acquire) != 0) {
        return true;
    }
    uint64_t key = key_of(c), now = PLI_FAILURE_WAS;
    for (uint32_t i = pli_failure_home(key), n = 0;
         n < PLI_FAILURE_N_MARK && now != PLI_FAILURE_FREE; i++, n++) {
        now = atomic_load_explicit(&table()->revoked[i % PLI_FAILURE_N_MARK], memory_order_acquire);
        if (now == key) {
            return c->context != 0;
        }
    }
    return false;
}

// Context: table locked; the mark is not there.
static struct pli_failure_mark *insert(const struct pli_comm *c, bool is_wide)
{
    struct pli_failure_table *t = table();
    uint32_t n = n_member(c);
    take_back();
    if (t->n_mark >= SWEEP_AT) {
        sweep();
    }
    uint32_t i = pli_failure_home(key_of(c));
    while (at(i)->context > PLI_FAILURE_WAS) {
        i++;
    }
    // One place stays free, so that every search ends.
    bool is_full = at(i)->context == PLI_FAILURE_FREE && t->n_mark >= PLI_FAILURE_N_MARK - 1;
    struct pli_failure_agreement *p = is_full ? NULL : give(key_of(c), n);
    if (p == NULL) {
        return NULL;
    }
    add_members(p, c->group, pli_revoke_table_first(c, false));
    if (c->is_inter) {
        add_members(p, c->remote, pli_revoke_table_first(c, true));
    }
    p->n_first = n_first(c);
    p->is_wide = is_wide;
    if (is_wide) {
        say_members(c); // a process that dies before has not made the mark
    }
    t->n_mark += at(i)->context == PLI_FAILURE_FREE;
    atomic_store_explicit(&at(i)->is_revoked, 0, memory_order_relaxed);
    atomic_store_explicit(&at(i)->agreement, pli_arena_offset(p), memory_order_relaxed);
    atomic_store_explicit(&at(i)->context, key_of(c), memory_order_release);
    return at(i);
}

enum pli_err pli_revoke_table_make(const struct pli_comm *c, struct pli_failure_mark **out)
{
    struct pli_failure_mark *m = find(c);
    bool is_wide = false;
    enum pli_err err = m == NULL ? check(c, &is_wide) : PLI_OK;
    if (err != PLI_OK) {
        return err;
    }
    if (m == NULL) {
        take();
        m = find(c);
        m = m != NULL ? m : insert(c, is_wide);
        drop();
    }
    *out = m;
    return m != NULL ? PLI_OK
                     : pli_fail(PLI_ERR_NOMEM,
                                "there is no room for another communicator that is revoked or "
                                "agreed on: %d have been and are not freed, or the shared memory "
                                "is used up",
                                (int)table()->n_mark);
}

void pli_revoke_table_leave(struct pli_comm *c)
{
    bool is_whole = c->group != NULL && c->remote != NULL; // not one that could not be made
    struct pli_failure_mark *m = is_whole ? find(c) : NULL;
    bool is_wide = false;
    bool is_stopped = is_whole && atomic_load_explicit(&c->stop_err, memory_order_relaxed) != 0;
    if (m == NULL && (!is_stopped || check(c, &is_wide) != PLI_OK || !is_wide)) {
        return;
    }
    struct pli_failure_agreement *p = m != NULL ? pli_revoke_table_agreement(m) : NULL;
    if (p == NULL || p->is_wide) {
        say(c, &(struct pli_agree_word){
                   .what = PLI_AGREE_LEAVE,
                   .place = (uint32_t)(pli_revoke_table_first(c, false) + c->rank) });
        return;
    }
    take();
    p->members[pli_revoke_table_first(c, false) + c->rank].has_left = 1;
    if (is_over(p)) {
        clear((uint32_t)(m - table()->marks));
        take_back();
    }
    drop();
}

void pli_revoke_table_clone(void)
{
    while (given_list != NULL) {
        struct given *g = given_list;
        given_list = g->next;
        free(g);
    }
}
