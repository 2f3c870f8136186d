// SPDX-License-Identifier: BSD-3-Clause
// Looks for mistakes that cause a deadlock: a tag, a source or a communicator that is almost right,
// ranks in different collectives, a partner that has ended.
#include "tools/lib/deadlock_hints.h"

#include "tools/lib/job_status.h"
#include "tools/lib/wait_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 }; // clues shown

typedef void (*line_fn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct look {
    const struct pli_node *node;
    pli_job_status_over_fn is_over;
    void *arg;
    line_fn line;
    int n;
    struct pli_wait_entry *e; // all that sleep, by row
    uint32_t n_e;
};

static bool is_receive(const struct pli_node_wait *w)
{
    uint32_t what = atomic_load_explicit(&w->what, memory_order_relaxed);
    return what == PLI_NODE_WAIT_RECV || what == PLI_NODE_WAIT_PROBE;
}

static bool may_say(struct look *l)
{
    return l->n++ < MOST;
}

static const char *tag_text(int tag, char to[24])
{
    if (tag < 0) {
        return "any tag";
    }
    snprintf(to, 24, "tag %d", tag);
    return to;
}

// Messages that came and do not fit what the rank asks for.
static void kept(struct look *l, const struct pli_wait_entry *e)
{
    const struct pli_node_wait *w = e->wait;
    char a[24], me[PLI_WAIT_LIST_WHO];
    pli_wait_list_who(l->node, e, me);
    for (uint32_t i = 0; i < w->n_kept && i < PLI_NODE_N_KEPT; i++) {
        const struct pli_node_kept *k = &w->kept[i];
        if ((k->context & 3) != 0) {
            continue; // inside a collective
        }
        bool is_same_comm = (k->context & ~(uint64_t)3) == w->context;
        bool is_same_source = w->peer < 0 || w->peer == k->source;
        bool is_same_tag = w->tag < 0 || w->tag == k->tag;
        if (!is_same_comm && is_same_source && is_same_tag && may_say(l)) {
            l->line("  near miss: %s has a message from rank %d with tag %d, but of another "
                    "communicator than %s\n",
                    me, k->source, k->tag, pli_wait_list_comm(e));
        } else if (is_same_comm && is_same_source && !is_same_tag && may_say(l)) {
            l->line("  near miss: %s has a message from rank %d with tag %d, but asks for %s\n", me,
                    k->source, k->tag, tag_text(w->tag, a));
        } else if (is_same_comm && !is_same_source && is_same_tag && may_say(l)) {
            l->line("  near miss: %s has a message from rank %d with tag %d, but asks for one "
                    "from rank %d\n",
                    me, k->source, k->tag, w->peer);
        }
    }
}

// The entry that a send is meant for: the same rank of the same communicator, else any sleeping
// thread of the process.
static const struct pli_wait_entry *receiver_of(const struct look *l,
                                                const struct pli_wait_entry *e)
{
    uint32_t to = pli_node_row_of(l->node, e->wait->peer_index);
    const struct pli_wait_entry *found = NULL;
    for (uint32_t i = 0; i < l->n_e; i++) {
        const struct pli_wait_entry *o = &l->e[i];
        bool is_exact = o->wait->context == e->wait->context && o->wait->rank == e->wait->peer;
        if (o->row == to && o != e && (is_exact || found == NULL)) {
            found = o;
            if (is_exact) {
                break;
            }
        }
    }
    return found;
}

static void both_send(struct look *l, const struct pli_wait_entry *e,
                      const struct pli_wait_entry *o)
{
    char a[PLI_WAIT_LIST_WHO], b[PLI_WAIT_LIST_WHO];
    if (e->ep == 0 && o->ep == 0) {
        l->line("  clue: ranks %u and %u both send to each other and neither receives; "
                "MPI_Sendrecv or MPI_Isend would do both at once\n",
                l->node->rows[e->row].index, l->node->rows[o->row].index);
    } else {
        l->line("  clue: %s and %s both send to each other and neither receives; MPI_Sendrecv or "
                "MPI_Isend would do both at once\n",
                pli_wait_list_who(l->node, e, a), pli_wait_list_who(l->node, o, b));
    }
}

// A send that waits for a receive that is almost posted.
static void send_and_receive(struct look *l, const struct pli_wait_entry *e)
{
    const struct pli_node_wait *w = e->wait;
    const struct pli_wait_entry *o = receiver_of(l, e);
    uint32_t me = l->node->rows[e->row].index;
    if (o == NULL || atomic_load(&w->what) != PLI_NODE_WAIT_SEND) {
        return;
    }
    const struct pli_node_wait *r = o->wait;
    bool is_same = r->context == w->context;
    bool is_for_me = r->peer < 0 || (is_same ? r->peer == w->rank : r->peer_index == me);
    if (!is_receive(r)) {
        if (atomic_load(&r->what) == PLI_NODE_WAIT_SEND && is_for_me && e < o && may_say(l)) {
            both_send(l, e, o);
        }
        return;
    }
    char a[24], from[PLI_WAIT_LIST_WHO], to[PLI_WAIT_LIST_WHO];
    pli_wait_list_who(l->node, e, from);
    pli_wait_list_who(l->node, o, to);
    if (is_for_me && is_same && r->tag != w->tag && may_say(l)) {
        l->line("  near miss: %s sends to %s with tag %d, which receives with %s\n", from, to,
                w->tag, tag_text(r->tag, a));
    } else if (is_for_me && !is_same && may_say(l)) {
        l->line("  near miss: %s sends to %s on %s, which receives on %s\n", from, to,
                pli_wait_list_comm(e), pli_wait_list_comm(o));
    } else if (!is_for_me && is_same && may_say(l)) {
        l->line("  near miss: %s sends to %s, which receives from rank %d instead\n", from, to,
                r->peer);
    }
}

// A rank waits for another that has ended.
static void partner(struct look *l, const struct pli_wait_entry *e)
{
    const struct pli_node_wait *w = e->wait;
    uint32_t to = pli_node_row_of(l->node, w->peer_index);
    char me[PLI_WAIT_LIST_WHO];
    if (to < pli_node_n_used(l->node) && l->is_over(l->arg, to) && may_say(l)) {
        l->line("  clue: %s waits for rank %u, which has ended\n",
                pli_wait_list_who(l->node, e, me), w->peer_index);
    } else if (to == e->row && w->peer == w->rank && is_receive(w) && may_say(l)) {
        l->line("  clue: %s waits for a message of its own\n", pli_wait_list_who(l->node, e, me));
    }
}

// A rank that died makes collectives fail where the job survives it, and agreements go on without
// it: no rank waits for it.
static bool has_died(const struct look *l, uint32_t row)
{
    const struct pli_node *node = l->node;
    return (node->header->mode & PLI_NODE_SURVIVES) != 0 &&
           pli_node_failure(node, node->rows[row].index) != 0;
}

// "MPI_Bcast with root 1 (solver.c:17)"
static const char *say_call(const struct look *l, const struct pli_wait_entry *e, char *to,
                            size_t cap)
{
    char root[32] = "", site[96] = "";
    pli_job_status_site(l->node, e, site, sizeof site);
    if (e->wait->peer >= 0) {
        snprintf(root, sizeof root, " with root %d", e->wait->peer);
    }
    snprintf(to, cap, "%s%s%s%s%s", e->wait->call, root, site[0] != '\0' ? " (" : "", site,
             site[0] != '\0' ? ")" : "");
    return to;
}

// Compare two entries, the first of them in a collective. True: a mistake was found and printed.
static bool compare(struct look *l, const struct pli_wait_entry *e, const struct pli_wait_entry *o)
{
    const struct pli_node_wait *w = e->wait, *v = o->wait;
    bool is_coll = atomic_load(&v->what) == PLI_NODE_WAIT_COLL, is_same = v->context == w->context;
    char me[PLI_WAIT_LIST_WHO], it[PLI_WAIT_LIST_WHO];
    pli_wait_list_who(l->node, e, me);
    pli_wait_list_who(l->node, o, it);
    if (strcmp(w->call, "upc_lock") == 0 || strcmp(v->call, "upc_lock") == 0) {
        return false; // not a collective, but another wait that has a name
    }
    bool is_same_root = v->peer == w->peer || v->peer < 0 || w->peer < 0;
    if (is_coll && o > e && is_same && (strcmp(v->call, w->call) != 0 || !is_same_root)) {
        if (may_say(l)) {
            char mine[160], its[160];
            l->line("  mismatch: on %s %s is in %s, %s in %s: collective calls must be the same "
                    "in all ranks, in the same order\n",
                    pli_wait_list_comm(e), me, say_call(l, e, mine, sizeof mine), it,
                    say_call(l, o, its, sizeof its));
        }
        return true;
    }
    bool is_numbered = w->tag > 0 && v->tag > 0;
    if (is_coll && o > e && is_same && is_numbered && w->tag != v->tag) {
        if (may_say(l)) {
            char mine[160], its[160];
            l->line("  mismatch: on %s %s is in %s and %s in %s, but one of them left out a "
                    "collective before, or called another one: collective calls must be the same "
                    "in all ranks, in the same order\n",
                    pli_wait_list_comm(e), me, say_call(l, e, mine, sizeof mine), it,
                    say_call(l, o, its, sizeof its));
        }
        return true;
    }
    if (is_coll && o > e && !is_same) {
        if (may_say(l)) {
            l->line("  clue: %s is in %s on %s, %s in %s on %s\n", me, w->call,
                    pli_wait_list_comm(e), it, v->call, pli_wait_list_comm(o));
        }
        return true;
    }
    if (!is_coll && is_same) {
        if (may_say(l)) {
            l->line("  clue: %s is in %s on %s, %s is not\n", me, w->call, pli_wait_list_comm(e),
                    it);
        }
        return true;
    }
    return false;
}

// Ranks of one communicator in different collectives, or not in the collective at all.
static void collectives(struct look *l, const struct pli_wait_entry *e)
{
    for (uint32_t i = 0; i < l->n_e; i++) {
        if (&l->e[i] != e && compare(l, e, &l->e[i])) {
            return;
        }
    }
    char me[PLI_WAIT_LIST_WHO], it[PLI_JOB_STATUS_NAME];
    for (uint32_t i = 0; i < pli_node_n_used(l->node); i++) {
        if (l->is_over(l->arg, i) && !has_died(l, i) &&
            strcmp(e->wait->comm, "MPI_COMM_WORLD") == 0) {
            if (may_say(l)) {
                l->line("  clue: %s is in %s on %s, but %s has ended without it\n",
                        pli_wait_list_who(l->node, e, me), e->wait->call, e->wait->comm,
                        pli_job_status_who(l->node, i, it));
            }
            return;
        }
    }
}

// All records of processes that are still there. False: no memory.
static bool gather(struct look *l)
{
    uint32_t n_row = pli_node_n_used(l->node), cap = n_row + PLI_WAIT_LIST_MAX;
    l->e = malloc(cap * sizeof *l->e);
    for (uint32_t i = 0; l->e != NULL && i < n_row; i++) {
        if (cap - l->n_e < PLI_WAIT_LIST_MAX) {
            cap *= 2;
            struct pli_wait_entry *more = realloc(l->e, cap * sizeof *more);
            if (more == NULL) {
                break; // report what was collected so far
            }
            l->e = more;
        }
        l->n_e += l->is_over(l->arg, i) ? 0 : pli_wait_list(l->node, i, l->e + l->n_e);
    }
    return l->e != NULL;
}

void pli_deadlock_hints_print(const struct pli_node *node, pli_job_status_over_fn is_over,
                              void *arg, line_fn line)
{
    struct look l = { node, is_over, arg, line, 0, NULL, 0 };
    bool has_collectives = false;
    if (!gather(&l)) {
        return;
    }
    for (uint32_t i = 0; i < l.n_e && l.n < MOST; i++) {
        const struct pli_wait_entry *e = &l.e[i];
        if (atomic_load(&e->wait->what) == PLI_NODE_WAIT_COLL) {
            if (!has_collectives) { // once for all: the first rank's view
                has_collectives = true;
                collectives(&l, e);
            }
            continue;
        }
        if (is_receive(e->wait)) {
            kept(&l, e);
        }
        send_and_receive(&l, e);
        partner(&l, e);
    }
    free(l.e);
}
