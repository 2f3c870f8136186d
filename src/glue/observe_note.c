// SPDX-License-Identifier: BSD-3-Clause
// Notes of the checker go through the channels of partitioned messages and of collectives, with
// tags below zero, which the library itself does not use there.
#include "glue/observe_note.h"

#include "glue/check.h"
#include "msg/endpoint.h"
#include "msg/immediate.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/p2p.h"
#include "msg/probe.h"
#include "msg/request.h"
#include "msg/unexpected.h"
#include "obj/comm.h"
#include "obj/comm_hint.h"
#include "obj/datatype.h"
#include "obj/datatype_number.h"
#include "obj/impi_span.h"
#include "obj/type_blocks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// Whether a note can be received without its sender, which may have ended.
static bool is_whole(const struct pli_match_item *i)
{
    const struct pli_unexpected *p = (const struct pli_unexpected *)i;
    return p->kind == PLI_MSG_EAGER || p->conn == NULL;
}

// None is MPI_ANY_TAG.
static int note_tag(enum pli_observe_about about, int tag)
{
    switch (about) {
    case PLI_OBSERVE_PARTS:
        return INT_MIN + 0x40000000 + (tag & (PLI_OBSERVE_N_PARTS_TAG - 1));
    case PLI_OBSERVE_VOID:
    case PLI_OBSERVE_CYCLE:
        return INT_MIN + 0x60000000 + (tag & 0x0fffffff);
    default:
        return INT_MIN + (tag & 0x3fffffff);
    }
}

static enum pli_chan channel(enum pli_observe_about about)
{
    return about == PLI_OBSERVE_COLL || about == PLI_OBSERVE_CYCLE ? PLI_CHAN_COLL : PLI_CHAN_PART;
}

static bool reaches(const struct pli_comm *c, int rank)
{
    if (rank < 0 || rank >= c->n_peer) {
        return false;
    }
    uint64_t proc = pli_group_at(c->remote, rank).proc;
    return proc >> 32 == pli_proc.id >> 32 && !pli_impi_span_is_far(proc);
}

bool pli_observe_note_reaches(MPI_Comm comm, int rank)
{
    const struct pli_comm *c = pli_arg_comm(comm);
    return c != NULL && reaches(c, rank);
}

// A program must not wait because it is looked at, and a note may wait for its receiver: it stays
// in memory of its own until it is on its way.
bool pli_observe_note_send(MPI_Comm comm, int dest, int tag, enum pli_observe_about about,
                           const void *note)
{
    struct pli_comm *c = pli_arg_comm(comm);
    enum pli_chan chan = channel(about);
    if (c == NULL || !reaches(c, dest) || pli_comm_is_stopped(c)) {
        return false;
    }
    if (pli_immediate_send(note, PLI_OBSERVE_NOTE, dest, note_tag(about, tag), c, chan)) {
        return true;
    }
    struct pli_request *r = NULL;
    void *kept = malloc(PLI_OBSERVE_NOTE);
    if (kept == NULL) {
        return false;
    }
    memcpy(kept, note, PLI_OBSERVE_NOTE);
    enum pli_err err = pli_p2p_isend_on(kept, PLI_OBSERVE_NOTE, pli_datatype_basic(MPI_BYTE), dest,
                                        note_tag(about, tag), c, chan, PLI_REQ_OWNS_BUFFER, &r);
    if (err == PLI_OK) {
        pli_request_forget(r);
    } else if (r == NULL) {
        free(kept);
    }
    return err == PLI_OK;
}

// Whether something with this context, source and tag has come.
static bool is_here(struct pli_comm *c, uint64_t context, int source, int tag, bool may_fetch)
{
    struct pli_lane *lane = c->ep->lane;
    pli_lock_take(&lane->lock);
    const struct pli_match_item *i = pli_match_has_unexpected(&c->ep->match)
                                         ? pli_match_find(&c->ep->match, context, source, tag)
                                         : NULL;
    bool is = i != NULL && (may_fetch || is_whole(i));
    pli_lock_drop(&lane->lock);
    return is;
}

enum pli_observe_taken pli_observe_note_take(MPI_Comm comm, int source, int tag,
                                             enum pli_observe_about about, void *note)
{
    struct pli_comm *c = pli_arg_comm(comm);
    bool may_fetch = (about & PLI_OBSERVE_WHOLE) == 0;
    about &= (enum pli_observe_about) ~PLI_OBSERVE_WHOLE;
    enum pli_chan chan = channel(about);
    if (c == NULL || (source < 0 && source != MPI_ANY_SOURCE) || source >= c->n_peer ||
        !is_here(c, c->context | (uint64_t)chan, source, note_tag(about, tag), may_fetch)) {
        return PLI_OBSERVE_NONE;
    }
    enum pli_err err = pli_p2p_recv_on(note, PLI_OBSERVE_NOTE, pli_datatype_basic(MPI_BYTE), source,
                                       note_tag(about, tag), c, chan, MPI_STATUS_IGNORE);
    return err != PLI_OK                   ? PLI_OBSERVE_NONE
           : pli_comm_hint_is_unordered(c) ? PLI_OBSERVE_UNORDERED
                                           : PLI_OBSERVE_TAKEN;
}

bool pli_observe_note_wait(MPI_Comm comm, int source, int tag, void *note)
{
    struct pli_comm *c = pli_arg_comm(comm);
    return c != NULL && source >= 0 && source < c->n_peer &&
           pli_p2p_recv_on(note, PLI_OBSERVE_NOTE, pli_datatype_basic(MPI_BYTE), source,
                           note_tag(PLI_OBSERVE_MESSAGE, tag), c, PLI_CHAN_PART,
                           MPI_STATUS_IGNORE) == PLI_OK;
}

bool pli_observe_note_probe(MPI_Comm comm, int source)
{
    struct pli_comm *c = pli_arg_comm(comm);
    int flag;
    return c != NULL &&
           pli_probe_iprobe(source, MPI_ANY_TAG, c, &flag, MPI_STATUS_IGNORE) == PLI_OK;
}

bool pli_observe_note_is_here(MPI_Comm comm, int source, int tag)
{
    struct pli_comm *c = pli_arg_comm(comm);
    return c != NULL && source >= 0 && tag >= 0 &&
           is_here(c, c->context | PLI_CHAN_PART, source, note_tag(PLI_OBSERVE_MESSAGE, tag), true);
}

int pli_observe_note_other(MPI_Comm comm, int tag, int source)
{
    struct pli_comm *c = pli_arg_comm(comm);
    int found = -1;
    if (c == NULL) {
        return -1;
    }
    pli_lock_take(&c->ep->lane->lock);
    struct pli_match_item *i = c->ep->match.arrival.first;
    for (; i != NULL && found < 0; i = i->later) {
        bool fits = i->context == (c->context | PLI_CHAN_P2P) && i->source != source &&
                    (tag == MPI_ANY_TAG || i->tag == tag);
        found = fits ? i->source : -1;
    }
    pli_lock_drop(&c->ep->lane->lock);
    return found;
}

bool pli_observe_note_left(MPI_Comm comm, bool may_fetch, int *source, int *tag, void *note)
{
    struct pli_comm *c = pli_arg_comm(comm);
    if (c == NULL) {
        return false;
    }
    uint64_t context = c->context | PLI_CHAN_PART;
    struct pli_match *m = &c->ep->match;
    pli_lock_take(&c->ep->lane->lock);
    struct pli_match_item *i = m->arrival.first;
    bool is_found = false;
    // A message that was refused or cancelled has left its note behind.
    for (; i != NULL && !is_found; i = is_found ? i : i->later) {
        *source = i->source;
        *tag = i->tag < 0 ? i->tag - INT_MIN : 0;
        is_found = i->context == context && i->tag < INT_MIN / 2 && (may_fetch || is_whole(i)) &&
                   pli_match_find(m, c->context | PLI_CHAN_P2P, *source, *tag) != NULL;
    }
    pli_lock_drop(&c->ep->lane->lock);
    return is_found && pli_observe_note_take(comm, *source, *tag, PLI_OBSERVE_MESSAGE, note) !=
                           PLI_OBSERVE_NONE;
}

// A note that has come; false: none.
static bool find_any(struct pli_comm *c, bool may_fetch, int *source, int *tag)
{
    uint64_t context = c->context | PLI_CHAN_PART;
    bool is_found = false;
    pli_lock_take(&c->ep->lane->lock);
    struct pli_match_item *i = c->ep->match.arrival.first;
    for (; i != NULL && !is_found; i = i->later) {
        is_found = i->context == context && i->tag < 0 && (may_fetch || is_whole(i));
        *source = i->source;
        *tag = i->tag;
    }
    pli_lock_drop(&c->ep->lane->lock);
    return is_found;
}

void pli_observe_note_drop(MPI_Comm comm, bool may_fetch)
{
    struct pli_comm *c = pli_arg_comm(comm);
    unsigned char note[PLI_OBSERVE_NOTE];
    int source, tag;
    while (c != NULL && find_any(c, may_fetch, &source, &tag) &&
           pli_p2p_recv_on(note, sizeof note, pli_datatype_basic(MPI_BYTE), source, tag, c,
                           PLI_CHAN_PART, MPI_STATUS_IGNORE) == PLI_OK) {
    }
}

struct walk {
    struct pli_observe_run *runs;
    int n, cap;
};

static void put(struct walk *w, uint8_t number, int64_t n)
{
    if (w->n > 0 && w->runs[w->n - 1].number == number) {
        w->runs[w->n - 1].n += n;
    } else if (w->n >= 0 && w->n < w->cap) {
        w->runs[w->n++] = (struct pli_observe_run){ number, n };
    } else {
        w->n = -1;
    }
}

static uint8_t number_of(const struct pli_datatype *t)
{
    bool is_any = t->form == PLI_FORM_BYTE || t->form == PLI_FORM_PACKED;
    return is_any                                             ? PLI_NUM_NONE
           : pli_number_size((enum pli_number)t->number) == 1 ? PLI_NUM_U8
                                                              : t->number;
}

static void walk_type(struct walk *w, const struct pli_datatype *t, MPI_Count n);

static void walk_blocks(struct walk *w, const struct pli_datatype *t)
{
    struct pli_type_blocks b = pli_type_blocks_of(t);
    for (MPI_Count i = 0; i < b.n && w->n >= 0; i++) {
        struct pli_type_block k = pli_type_blocks_at(&b, i);
        walk_type(w, k.child, k.len);
    }
}

static void walk_type(struct walk *w, const struct pli_datatype *t, MPI_Count n)
{
    if (n <= 0 || t->size == 0 || w->n < 0) {
        return;
    }
    if (t->elem != NULL && t->elem->family != PLI_FAMILY_PAIR) {
        put(w, number_of(t->elem), (int64_t)(n * t->n_elem));
        return;
    }
    for (MPI_Count i = 0; i < n && w->n >= 0; i++) {
        if (t->family == PLI_FAMILY_PAIR && pli_type_blocks_of(t).n == 0) {
            put(w, t->number, 1);
            put(w, t->index, 1);
        } else {
            walk_blocks(w, t);
        }
    }
}

bool pli_observe_note_type(MPI_Datatype type, struct pli_observe_type *out,
                           struct pli_observe_run *runs, int cap)
{
    const struct pli_datatype *t = pli_arg_datatype(type);
    if (t == NULL || !t->is_committed) {
        return false;
    }
    struct walk w = { runs, 0, cap };
    walk_type(&w, t, 1);
    *out = (struct pli_observe_type){ .size = t->size,
                                      .n_number = t->n_elem,
                                      .true_lb = t->true_lb,
                                      .true_extent = t->true_extent,
                                      .extent = t->extent,
                                      .form = t->form,
                                      .is_dense = t->is_dense,
                                      .n_run = w.n };
    return true;
}

const char *pli_observe_note_form(uint8_t form)
{
    const struct pli_datatype *t = pli_datatype_of_form(form);
    return t != NULL ? pli_datatype_label(t) : "numbers of several types";
}
