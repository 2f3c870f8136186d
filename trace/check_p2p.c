// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives. A note with the signature goes before each message; a receive that completed
// takes the note of its message. Messages of one rank with one tag are received in the order of the
// receives, so a note is taken when no earlier receive can still get that message.
#include "trace/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECEIVED_BITS = 22, ORDER_LOW_BITS = 12, ORDER_BITS = 19 };

struct note {
    uint64_t place;
    uint64_t n : 34, form : 8, function : 10, order_low : ORDER_LOW_BITS; // n: numbers
    uint32_t hash;
    uint32_t received : RECEIVED_BITS; // messages from the other rank, the last bits
    uint32_t order_high : ORDER_BITS - ORDER_LOW_BITS, is_ready : 1, is_idle : 1;
};
_Static_assert(PLI_CHECK_N_FN < 1 << 10, "a function fits into its bits");
_Static_assert(sizeof(struct note) == PLI_OBSERVE_NOTE, "a note fits into a cell");

static struct pli_check_comm *comms;
static struct pli_check_posted *spare; // to be used again

// One that was found is moved to the front.
struct pli_check_comm *pli_check_comm_of(MPI_Comm comm)
{
    struct pli_observe_comm it;
    if (comm == NULL || comm == MPI_COMM_NULL || !pli_check_lib.get_comm(comm, &it)) {
        return NULL;
    }
    struct pli_check_comm **at = &comms, *c;
    for (; (c = *at) != NULL; at = &c->next) {
        if (c->it.context == it.context && c->it.my_ep == it.my_ep && c->it.me == it.me) {
            if (at != &comms) {
                *at = c->next;
                c->next = comms;
                comms = c;
            }
            c->handle = comm;
            return c;
        }
    }
    c = calloc(1, sizeof *c);
    struct pli_check_peer *peers = calloc((size_t)it.n_peer + 1, sizeof *peers);
    int is_inter = 0;
    if (c == NULL || peers == NULL) {
        free(c);
        free(peers);
        return NULL;
    }
    c->it = it;
    c->handle = comm;
    c->peers = peers;
    pli_check_lib.comm_rank(comm, &c->rank);
    pli_check_lib.comm_size(comm, &c->size);
    pli_check_lib.test_inter(comm, &is_inter);
    c->is_inter = is_inter != 0;
    c->next = comms;
    comms = c;
    return c;
}

void pli_check_comm_each(void (*fn)(struct pli_check_comm *c))
{
    for (struct pli_check_comm *c = comms; c != NULL; c = c->next) {
        struct pli_observe_comm now;
        bool is_same = pli_check_lib.get_comm(c->handle, &now) && now.context == c->it.context;
        if (is_same && fn != NULL) {
            fn(c);
        } else if (is_same) {
            pli_check_coll_drain(c, true, false);
        }
    }
}

static bool fits(const struct pli_check_posted *p, int source, int tag)
{
    return (p->source == source || p->source == MPI_ANY_SOURCE) &&
           (p->tag == tag || p->tag == MPI_ANY_TAG);
}

static bool is_standard(enum pli_check_fn f)
{
    return f == PLI_CHECK_FN_Send;
}

static bool is_persistent(enum pli_check_fn f)
{
    return f == PLI_CHECK_FN_Send_init || f == PLI_CHECK_FN_Ssend_init ||
           f == PLI_CHECK_FN_Bsend_init || f == PLI_CHECK_FN_Rsend_init ||
           f == PLI_CHECK_FN_Recv_init;
}

static bool has_receive(const struct pli_check_comm *c, int source, int tag)
{
    for (const struct pli_check_posted *p = c->first; p != NULL; p = p->next) {
        if (!p->is_done && fits(p, source, tag)) {
            return true;
        }
    }
    return false;
}

// A blocking send to the sender itself returns only because the message is buffered.
static void say_self(const struct pli_check_call *call)
{
    pli_check_say("self", call->site, 0,
                  "%s at %s sends to the rank itself, which has posted no receive for it: the call "
                  "returns only because the message is buffered; post MPI_Irecv first",
                  pli_check_name(call->function), pli_line_of(call->site));
}

static bool has_pending(const struct pli_check_comm *c)
{
    for (const struct pli_check_posted *p = c->first; p != NULL; p = p->next) {
        if (!p->is_done) {
            return true;
        }
    }
    return false;
}

// What goes before the message, into call->sent. False: nothing, for the library refuses it.
static bool prepare_note(struct pli_check_call *call, struct pli_check_comm *c)
{
    struct pli_check_signature s = pli_check_sign(call->sendcount, call->sendtype);
    bool is_standard_send = is_standard(call->function);
    bool is_ready = call->function == PLI_CHECK_FN_Rsend || call->function == PLI_CHECK_FN_Irsend;
    const struct pli_check_type *t = pli_check_type_of(call->sendtype);
    if (call->dest < 0 || call->dest >= c->it.n_peer || call->sendtag < 0 || call->sendcount < 0 ||
        t == NULL) {
        return false;
    }
    struct pli_check_peer *peer = &c->peers[call->dest];
    bool is_long = s.n >= (int64_t)1 << 34;
    uint32_t order =
        is_standard_send ? pli_check_cycle_send(call->site, ((uint32_t)1 << ORDER_BITS) - 1) : 0;
    struct note note = {
        .place = pli_line_place(call->site),
        .n = is_long ? 0 : (uint64_t)s.n,
        .form = s.form,
        .function = (uint64_t)call->function,
        .order_low = order,
        .order_high = order >> ORDER_LOW_BITS,
        .hash = is_long ? 0 : s.hash,
        .received = peer->n_received,
        .is_ready = is_ready,
        .is_idle = is_standard_send && !has_pending(c) && !pli_check_has_threads(),
    };
    call->is_self = is_standard_send && !c->is_inter && call->dest == c->rank &&
                    !has_receive(c, c->rank, call->sendtag);
    peer->n_sent++;
    peer->n_free_sent += !is_standard_send;
    memcpy(call->sent, &note, sizeof note);
    return true;
}

void pli_check_p2p_unsent(struct pli_check_call *call)
{
    struct pli_check_comm *c = call->has_sent ? pli_check_comm_of(call->comm) : NULL;
    if (c != NULL) {
        bool is_standard_send = is_standard(call->function);
        c->peers[call->dest].n_sent--;
        c->peers[call->dest].n_free_sent -= !is_standard_send;
        call->has_sent = false;
        pli_check_unlock();
        pli_check_lib.send(call->comm, call->dest, call->sendtag, PLI_OBSERVE_VOID, call->sent);
        pli_check_lock();
    }
}

// A note whose message will not come is told of a second time: of two that are the same it does not
// matter which goes.
struct pli_check_void {
    struct pli_check_void *next;
    int source, tag;
    struct note note;
};

static bool is_void(struct pli_check_comm *c, int source, int tag, const struct note *note)
{
    struct note again;
    while (pli_check_lib.take(c->handle, source, tag, PLI_OBSERVE_VOID, &again) !=
           PLI_OBSERVE_NONE) {
        struct pli_check_void *v = malloc(sizeof *v);
        if (v == NULL) {
            c->is_lost = true;
            return false;
        }
        *v = (struct pli_check_void){ c->voids, source, tag, again };
        c->voids = v;
    }
    for (struct pli_check_void **at = &c->voids, *v; (v = *at) != NULL; at = &v->next) {
        if (v->source == source && v->tag == tag && memcmp(&v->note, note, sizeof *note) == 0) {
            *at = v->next;
            free(v);
            return true;
        }
    }
    return false;
}

static void forget_voids(struct pli_check_comm *c)
{
    for (struct pli_check_void *v = c->voids, *next; v != NULL; v = next) {
        next = v->next;
        free(v);
    }
    c->voids = NULL;
}

static struct pli_check_posted *post(struct pli_check_call *call, struct pli_check_comm *c)
{
    struct pli_check_posted *p = spare != NULL ? spare : malloc(sizeof *p);
    if (p == NULL) {
        c->is_lost = true;
        return NULL;
    }
    spare = p == spare ? p->next : spare;
    *p = (struct pli_check_posted){
        .site = call->site,
        .function = call->function,
        .source = call->source,
        .tag = call->recvtag,
        .count = call->recvcount,
        .type = call->recvtype,
        .is_blocking = call->request == NULL,
    };
    p->order = pli_check_cycle_last(&p->order_place);
    if (call->source >= 0 && call->source < c->it.n_peer) {
        p->n_sent = c->peers[call->source].n_sent - c->peers[call->source].n_free_sent;
        p->was_here =
            c->first == NULL && pli_check_lib.is_here(call->comm, call->source, call->recvtag);
    }
    if (c->last != NULL) {
        c->last->next = p;
    } else {
        c->first = p;
    }
    c->last = p;
    return p;
}

static void unpost(struct pli_check_comm *c, struct pli_check_posted *p)
{
    struct pli_check_posted *before = NULL;
    for (struct pli_check_posted *q = c->first; q != NULL && q != p; q = q->next) {
        before = q;
    }
    if (before != NULL) {
        before->next = p->next;
    } else {
        c->first = p->next;
    }
    c->last = c->last == p ? before : c->last;
    p->next = spare;
    spare = p;
}

void pli_check_p2p_say_type(const void *site, enum pli_check_fn function,
                            const struct pli_check_signature *wanted, int source,
                            const struct pli_check_signature *sent, enum pli_check_fn sender,
                            uint64_t place)
{
    char into[96], from[96];
    const char *here = pli_line_of(site), *there = pli_line_text(place);
    pli_check_say("type", site, place,
                  "%s at %s receives into %s what rank %d sent as %s by %s at %s; both sides must "
                  "name the same types",
                  pli_check_name(function), here,
                  pli_check_say_data(wanted->n, wanted->form, into, sizeof into), source,
                  pli_check_say_data(sent->n, sent->form, from, sizeof from),
                  pli_check_name(sender), there);
}

static void compare(struct pli_check_comm *c, const struct pli_check_posted *p,
                    const struct note *note)
{
    int64_t n = (int64_t)note->n;
    enum pli_check_fn sender = (enum pli_check_fn)note->function;
    struct pli_check_signature mine = pli_check_sign(p->count, p->type);
    struct pli_check_peer *peer = &c->peers[p->from];
    if (note->hash != 0 && mine.hash != 0 && !p->is_truncated && n <= mine.n && n > 0 &&
        pli_check_sign_first(pli_check_type_of(p->type), n) != note->hash) {
        pli_check_p2p_say_type(p->site, p->function, &mine, p->from,
                               &(struct pli_check_signature){ n, note->hash, note->form }, sender,
                               note->place);
    }
    if (note->is_ready && p->was_here) {
        pli_check_say("ready", p->site, note->place,
                      "%s at %s of rank %d began before %s at %s was posted; a ready send needs "
                      "its receive first",
                      pli_check_name(sender), pli_line_text(note->place), p->from,
                      pli_check_name(p->function), pli_line_of(p->site));
    }
    // Both are in a blocking send, and neither has a receive for the other's message.
    uint32_t n_mine = p->is_blocking ? peer->n_sent - peer->n_free_sent : p->n_sent;
    uint32_t ahead = (n_mine - note->received) << (32 - RECEIVED_BITS);
    bool is_other = p->from != c->rank && p->source != MPI_ANY_SOURCE;
    uint32_t order = note->order_low | (uint32_t)note->order_high << ORDER_LOW_BITS;
    if (is_other && order != 0 && p->order != 0) {
        pli_check_cycle_edge(c, p, order, note->place);
    }
    if (is_other && note->is_idle && (int32_t)ahead > 0 && !pli_check_has_threads()) {
        pli_check_say("unsafe", p->site, note->place,
                      "rank %d sent by %s at %s before it received, and this rank had sent to it "
                      "before %s at %s: both sends return only because messages are buffered; use "
                      "MPI_Sendrecv or MPI_Irecv",
                      p->from, pli_check_name(sender), pli_line_text(note->place),
                      pli_check_name(p->function), pli_line_of(p->site));
    }
}

static bool must_wait(const struct pli_check_comm *c, const struct pli_check_posted *p)
{
    for (const struct pli_check_posted *q = c->first; q != NULL && q != p; q = q->next) {
        bool is_before = q->is_done ? q->from == p->from && q->with_tag == p->with_tag
                                    : fits(q, p->from, p->with_tag);
        if (is_before) {
            return true;
        }
    }
    return false;
}

static enum pli_observe_taken take_note(const struct pli_check_comm *c,
                                        const struct pli_check_posted *p, struct note *note)
{
    return pli_check_lib.take(c->handle, p->from, p->with_tag, PLI_OBSERVE_MESSAGE, note);
}

// A receive whose message is known, in its turn.
static void settle(struct pli_check_comm *c, struct pli_check_posted *p)
{
    struct note note;
    enum pli_observe_taken taken = PLI_OBSERVE_TAKEN;
    if (p->has_note) {
        memcpy(&note, p->note, sizeof note);
    } else {
        taken = take_note(c, p, &note);
    }
    while (taken == PLI_OBSERVE_TAKEN && is_void(c, p->from, p->with_tag, &note)) {
        taken = take_note(c, p, &note);
    }
    if (taken == PLI_OBSERVE_TAKEN && p->from >= 0 && p->from < c->it.n_peer) {
        c->peers[p->from].has_notes = true;
    }
    if (taken == PLI_OBSERVE_TAKEN && !c->is_lost) {
        if (p->count >= 0) {
            compare(c, p, &note);
        }
        if (p->source == MPI_ANY_SOURCE && pli_check_wants("timing")) {
            int other = pli_check_lib.other(c->handle, p->tag, p->from);
            if (other >= 0) {
                pli_check_say("timing", p->site, 0,
                              "%s at %s with MPI_ANY_SOURCE got the message that rank %d sent at "
                              "%s, and one of rank %d was there too: which comes first depends on "
                              "timing",
                              pli_check_name(p->function), pli_line_of(p->site), p->from,
                              pli_line_text(note.place), other);
            }
        }
    }
    if (p->from >= 0 && p->from < c->it.n_peer) {
        c->peers[p->from].n_received++;
    }
    unpost(c, p);
}

static void settle_all(struct pli_check_comm *c)
{
    bool is_again = true;
    while (is_again) {
        is_again = false;
        for (struct pli_check_posted *p = c->first; p != NULL && !is_again; p = p->next) {
            if (p->is_done && !must_wait(c, p)) {
                settle(c, p);
                is_again = true;
            }
        }
    }
}

void pli_check_p2p_received(MPI_Comm comm, struct pli_check_posted *p, const MPI_Status *status,
                            int err)
{
    struct pli_check_comm *c = pli_check_comm_of(comm);
    if (c == NULL || p == NULL) {
        return;
    }
    bool is_known = status != NULL && status->MPI_SOURCE >= 0 &&
                    status->MPI_SOURCE < c->it.n_peer && status->MPI_TAG >= 0;
    if (!is_known || (err != MPI_SUCCESS && err != MPI_ERR_TRUNCATE)) {
        c->is_lost = c->is_lost || (err != MPI_SUCCESS && p->source != MPI_PROC_NULL);
        unpost(c, p);
    } else {
        p->is_done = true;
        p->is_truncated = err != MPI_SUCCESS;
        p->from = status->MPI_SOURCE;
        p->with_tag = status->MPI_TAG;
    }
    settle_all(c);
}

// A blocking receive of one rank's messages waits for the note, and then for the message: this is
// the shortest way, because neither comes unexpected. Of two threads that receive such messages at
// once one may get the message of the other's note: a program that does this must expect either. A
// receive that is posted meanwhile leaves the note (must_wait).
static bool waits_first(const struct pli_check_call *call, const struct pli_check_comm *c)
{
    return call->function == PLI_CHECK_FN_Recv && call->source >= 0 &&
           call->source < c->it.n_peer && call->recvtag >= 0 && call->recvcount >= 0 &&
           c->peers[call->source].has_notes && !c->is_lost &&
           pli_check_type_of(call->recvtype) != NULL;
}

void pli_check_p2p_begin(struct pli_check_call *call, bool has_send, bool has_recv)
{
    pli_check_lock();
    struct pli_check_comm *c = pli_check_comm_of(call->comm);
    const char *begin;
    size_t n;
    bool has_note = false, is_note_first = false;
    if (c != NULL && has_send && !is_persistent(call->function)) {
        if (pli_check_range(call->sendbuf, call->sendcount, call->sendtype, &begin, &n)) {
            pli_check_request_overlap(call, begin, n, false);
            call->sum = call->request != NULL ? pli_check_sum(begin, n) : 0;
        }
        has_note = prepare_note(call, c);
    }
    if (c != NULL && has_recv && !has_send && call->request != NULL && call->receive == NULL) {
        call->receive = pli_check_receive_create(call);
    }
    if (c != NULL && has_recv && !is_persistent(call->function)) {
        if (pli_check_range(call->recvbuf, call->recvcount, call->recvtype, &begin, &n)) {
            pli_check_request_overlap(call, begin, n, true);
        }
        const char *from;
        size_t n_from;
        bool is_both =
            has_send && call->sendbuf != call->recvbuf &&
            pli_check_range(call->sendbuf, call->sendcount, call->sendtype, &from, &n_from) &&
            pli_check_range(call->recvbuf, call->recvcount, call->recvtype, &begin, &n);
        if (is_both && from < begin + n && begin < from + n_from) {
            pli_check_say("sendrecv-overlap", call->site, 0,
                          "the send buffer and the receive buffer of %s at %s overlap; use "
                          "MPI_Sendrecv_replace, or two buffers",
                          pli_check_name(call->function), pli_line_of(call->site));
        }
        bool is_first = c->first == NULL;
        call->posted = call->source != MPI_PROC_NULL ? post(call, c) : NULL;
        is_note_first = is_first && call->posted != NULL && waits_first(call, c);
    }
    pli_check_unlock();
    if (has_note) {
        call->has_sent = pli_check_lib.send(call->comm, call->dest, call->sendtag,
                                            PLI_OBSERVE_MESSAGE, call->sent);
    }
    if (is_note_first) {
        call->posted->has_note =
            pli_check_lib.wait(call->comm, call->source, call->recvtag, call->posted->note);
    }
}

void pli_check_p2p_end(struct pli_check_call *call, int err, bool has_send, bool has_recv)
{
    if (call->request == NULL && call->posted == NULL && err == MPI_SUCCESS) { // a blocking send
        if (call->is_self) {
            pli_check_lock();
            say_self(call);
            pli_check_unlock();
        }
        return;
    }
    pli_check_lock();
    if (call->request != NULL) {
        if (err == MPI_SUCCESS) {
            pli_check_request_keep(call, has_send, has_recv, is_persistent(call->function));
        } else {
            pli_check_receive_destroy(call->receive);
            if (call->posted != NULL) {
                pli_check_p2p_received(call->comm, call->posted, NULL, err);
            }
        }
    } else if (call->posted != NULL) {
        pli_check_p2p_received(call->comm, call->posted, call->status, err);
    }
    if (has_send && !has_recv && err != MPI_SUCCESS) {
        pli_check_p2p_unsent(call);
    }
    pli_check_unlock();
}

// A message that a matched probe took is not compared, but its note goes with it.
void pli_check_p2p_probe(struct pli_check_call *call, int err)
{
    bool is_matched = (call->function == PLI_CHECK_FN_Mprobe ||
                       (call->function == PLI_CHECK_FN_Improbe && call->flag != NULL)) &&
                      err == MPI_SUCCESS && (call->flag == NULL || *call->flag != 0);
    if (!is_matched || call->status == NULL || call->status->MPI_SOURCE < 0) {
        return;
    }
    pli_check_lock();
    struct pli_check_comm *c = pli_check_comm_of(call->comm);
    call->recvcount = -1;
    struct pli_check_posted *p = c != NULL ? post(call, c) : NULL;
    pli_check_p2p_received(call->comm, p, call->status, MPI_SUCCESS);
    pli_check_unlock();
}

// What was sent to this rank and never received, as far as it has come.
static void left_over(struct pli_check_comm *c, bool may_fetch)
{
    struct note note;
    int source, tag;
    pli_check_lib.probe(c->handle, MPI_ANY_SOURCE);
    for (int i = 0; i < 1000 && pli_check_lib.left(c->handle, may_fetch, &source, &tag, &note);
         i++) {
        if (!c->is_lost && c->first == NULL) {
            enum pli_check_fn sender = (enum pli_check_fn)note.function;
            pli_check_say("unreceived", NULL, note.place,
                          "the message with tag %d that rank %d sent by %s at %s was never "
                          "received",
                          tag, source, pli_check_name(sender), pli_line_text(note.place));
        }
    }
    if (c->first == NULL) {
        pli_check_lib.drop(c->handle, may_fetch);
        forget_voids(c);
    }
}

// Communicators of sessions go on: what their members send after MPI_Finalize may be here.
static void left_at_end(struct pli_check_comm *c)
{
    if (!c->it.is_session) {
        left_over(c, false);
    }
}

void pli_check_p2p_finalize(void)
{
    pli_check_comm_each(left_at_end);
}

void pli_check_p2p_comm_end(MPI_Comm comm, bool may_fetch)
{
    struct pli_check_comm *c = pli_check_comm_of(comm);
    if (c != NULL) {
        pli_check_coll_drain(c, true, may_fetch);
        pli_check_parts_comm_end(c);
        left_over(c, may_fetch);
    }
    if (c != NULL && c->first == NULL && comms == c) { // found, so it is the first
        comms = c->next;
        free(c->peers);
        free(c);
    }
}
