// SPDX-License-Identifier: BSD-3-Clause
// Near misses: a tag, a source or a communicator that is almost right, ranks in different
// collectives, a partner that has gone.
#include "clues.h"

#include "picture.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 8 }; // clues shown

typedef void (*line_fn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct look {
    const struct pli_node *node;
    pli_picture_over_fn is_over;
    void *arg;
    line_fn line;
    int n;
};

static const struct pli_node_wait *wait_of(const struct look *l, uint32_t row)
{
    const struct pli_node_row *r = &l->node->rows[row];
    bool is_asleep = !l->is_over(l->arg, row) &&
                     atomic_load_explicit(&r->wait.what, memory_order_acquire) != PLI_NODE_AWAKE;
    return is_asleep ? &r->wait : NULL;
}

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
static void kept(struct look *l, uint32_t row, const struct pli_node_wait *w)
{
    char a[24];
    for (uint32_t i = 0; i < w->n_kept && i < PLI_NODE_N_KEPT; i++) {
        const struct pli_node_kept *k = &w->kept[i];
        if ((k->context & 3) != 0) {
            continue; // inside a collective
        }
        bool is_same_comm = (k->context & ~(uint64_t)3) == w->context;
        bool is_same_source = w->peer < 0 || w->peer == k->source;
        bool is_same_tag = w->tag < 0 || w->tag == k->tag;
        if (!is_same_comm && is_same_source && is_same_tag && may_say(l)) {
            l->line("  near miss: rank %u has a message from rank %d with tag %d, but of another "
                    "communicator than %s\n",
                    row, k->source, k->tag, w->comm);
        } else if (is_same_comm && is_same_source && !is_same_tag && may_say(l)) {
            l->line(
                "  near miss: rank %u has a message from rank %d with tag %d, but asks for %s\n",
                row, k->source, k->tag, tag_text(w->tag, a));
        } else if (is_same_comm && !is_same_source && is_same_tag && may_say(l)) {
            l->line("  near miss: rank %u has a message from rank %d with tag %d, but asks for one "
                    "from rank %d\n",
                    row, k->source, k->tag, w->peer);
        }
    }
}

// A send that waits for a receive that is almost posted.
static void send_and_receive(struct look *l, uint32_t row, const struct pli_node_wait *w)
{
    uint32_t to = pli_node_row_of(l->node, w->peer_index);
    if (to >= pli_node_n_used(l->node) || atomic_load(&w->what) != PLI_NODE_WAIT_SEND) {
        return;
    }
    const struct pli_node_wait *r = wait_of(l, to);
    uint32_t me = l->node->rows[row].index;
    char a[24];
    if (r == NULL || !is_receive(r)) {
        if (r != NULL && atomic_load(&r->what) == PLI_NODE_WAIT_SEND && r->peer_index == me &&
            row < to && may_say(l)) {
            l->line("  clue: ranks %u and %u both send to each other and neither receives; "
                    "MPI_Sendrecv or MPI_Isend would do both at once\n",
                    row, to);
        }
        return;
    }
    bool is_for_me = r->peer < 0 || r->peer_index == me;
    if (is_for_me && r->context == w->context && r->tag != w->tag && may_say(l)) {
        l->line("  near miss: rank %u sends to rank %u with tag %d, which receives with %s\n", row,
                to, w->tag, tag_text(r->tag, a));
    } else if (is_for_me && r->context != w->context && may_say(l)) {
        l->line("  near miss: rank %u sends to rank %u on %s, which receives on %s\n", row, to,
                w->comm, r->comm);
    } else if (!is_for_me && r->context == w->context && may_say(l)) {
        l->line("  near miss: rank %u sends to rank %u, which receives from rank %d instead\n", row,
                to, r->peer);
    }
}

// Somebody waits for a rank that will not do anything any more.
static void partner(struct look *l, uint32_t row, const struct pli_node_wait *w)
{
    uint32_t to = pli_node_row_of(l->node, w->peer_index);
    if (to < pli_node_n_used(l->node) && l->is_over(l->arg, to) && may_say(l)) {
        l->line("  clue: rank %u waits for rank %u, which has ended\n", row, w->peer_index);
    } else if (to == row && is_receive(w) && may_say(l)) {
        l->line("  clue: rank %u waits for a message of its own\n", row);
    }
}

// A rank that died makes collectives fail where the job survives it, and agreements go on without
// it: nobody waits for it.
static bool has_died(const struct look *l, uint32_t row)
{
    const struct pli_node *node = l->node;
    return (node->header->mode & PLI_NODE_SURVIVES) != 0 &&
           pli_node_failure(node, node->rows[row].index) != 0;
}

// Ranks of one communicator in different collectives, or not in the collective at all.
static void collectives(struct look *l, uint32_t row, const struct pli_node_wait *w)
{
    char me[PLI_PICTURE_WHO], it[PLI_PICTURE_WHO];
    pli_picture_who(l->node, row, me);
    for (uint32_t i = 0; i < pli_node_n_used(l->node); i++) {
        const struct pli_node_wait *o = wait_of(l, i);
        if (o == NULL || i == row) {
            continue;
        }
        bool is_coll = atomic_load(&o->what) == PLI_NODE_WAIT_COLL;
        if (strcmp(w->call, "upc_lock") == 0 || strcmp(o->call, "upc_lock") == 0) {
            continue; // not a collective, but another wait that has a name
        }
        if (is_coll && i > row && o->context == w->context && strcmp(o->call, w->call) != 0) {
            if (may_say(l)) {
                l->line("  mismatch: on %s %s is in %s and %s in %s; all must call the same "
                        "collectives in the same order\n",
                        w->comm, me, w->call, pli_picture_who(l->node, i, it), o->call);
            }
            return;
        }
        if (is_coll && i > row && o->context != w->context) {
            if (may_say(l)) {
                l->line("  clue: %s is in %s on %s, %s in %s on %s\n", me, w->call, w->comm,
                        pli_picture_who(l->node, i, it), o->call, o->comm);
            }
            return;
        }
        if (!is_coll && o->context == w->context) {
            if (may_say(l)) {
                l->line("  clue: %s is in %s on %s, %s is not\n", me, w->call, w->comm,
                        pli_picture_who(l->node, i, it));
            }
            return;
        }
    }
    for (uint32_t i = 0; i < pli_node_n_used(l->node); i++) {
        if (l->is_over(l->arg, i) && !has_died(l, i) && strcmp(w->comm, "MPI_COMM_WORLD") == 0) {
            if (may_say(l)) {
                l->line("  clue: %s is in %s on %s, but %s has ended without it\n", me, w->call,
                        w->comm, pli_picture_who(l->node, i, it));
            }
            return;
        }
    }
}

void pli_clues_print(const struct pli_node *node, pli_picture_over_fn is_over, void *arg,
                     line_fn line)
{
    struct look l = { node, is_over, arg, line, 0 };
    bool has_collectives = false;
    for (uint32_t i = 0; i < pli_node_n_used(node) && l.n < MOST; i++) {
        const struct pli_node_wait *w = wait_of(&l, i);
        if (w == NULL) {
            continue;
        }
        if (atomic_load(&w->what) == PLI_NODE_WAIT_COLL) {
            if (!has_collectives) { // once for all: the first rank's view
                has_collectives = true;
                collectives(&l, i, w);
            }
            continue;
        }
        if (is_receive(w)) {
            kept(&l, i, w);
        }
        send_and_receive(&l, i, w);
        partner(&l, i, w);
    }
}
