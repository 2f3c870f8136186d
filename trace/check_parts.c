// SPDX-License-Identifier: BSD-3-Clause
// Types of partitioned communication. The sender's note goes out when its request is made, and so
// before any partition. Requests match in the order in which they are made: when a round of a
// receive is complete, its note and those of the receives made before it have come. [MPI-5.0 4.2]
#include "trace/check.h"

#include <stdlib.h>
#include <string.h>

struct note {
    uint64_t place;
    int64_t n; // numbers of all partitions
    uint32_t hash;
    uint16_t function;
    uint8_t form;
    uint8_t unused;
};
_Static_assert(sizeof(struct note) == PLI_OBSERVE_NOTE, "a note fits into a cell");

// A receive that was not compared yet. Its request and the list of its communicator know it.
struct pli_check_parts {
    struct pli_check_parts *next; // in the order in which they were made
    struct pli_check_comm *c;     // NULL: not in the list any more
    void *site;
    enum pli_check_fn function;
    int source, tag;
    MPI_Count count;            // of all partitions
    struct pli_check_type type; // as it was: the program may free it
    bool has_request, has_note, is_done;
    // Its request ended before its note came. Whether it had a match nobody knows, so that notes
    // and receives after it no longer belong together.
    bool is_lost;
    struct note note;
};

static bool is_of(const struct pli_check_parts *p, int source, int tag)
{
    return p->source == source && p->tag == tag;
}

static void unlist(struct pli_check_parts *p)
{
    struct pli_check_parts **at = &p->c->parts;
    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
    p->c = NULL;
    if (!p->has_request) {
        free(p);
    }
}

static enum pli_observe_taken take(const struct pli_check_comm *c, int source, int tag,
                                   struct note *note)
{
    return pli_check_lib.take(c->handle, source, tag, PLI_OBSERVE_PARTS, note);
}

static void compare(const struct pli_check_parts *p)
{
    const struct note *note = &p->note;
    const struct pli_check_type *t = &p->type;
    struct pli_check_signature mine = { p->count * t->it.n_number, 0, t->it.form };
    bool is_known = note->hash != 0 && t->is_known && !t->has_bytes;
    // More than fits is refused by the library.
    if (is_known && note->n > 0 && note->n <= mine.n &&
        pli_check_sign_first(t, note->n) != note->hash) {
        pli_check_p2p_say_type(p->site, p->function, &mine, p->source,
                               &(struct pli_check_signature){ note->n, note->hash, note->form },
                               (enum pli_check_fn)note->function, note->place);
    }
}

// Gives receives their notes, in order, and compares those that are complete.
static void settle(struct pli_check_comm *c, int source, int tag)
{
    bool is_lost = false, is_here = true;
    for (struct pli_check_parts *p = c->parts, *next; p != NULL && is_here; p = next) {
        next = p->next;
        if (!is_of(p, source, tag)) {
            continue;
        }
        is_lost = is_lost || p->is_lost;
        if (!is_lost && !p->has_note) {
            enum pli_observe_taken taken = take(c, source, tag, &p->note);
            is_here = p->has_note = taken != PLI_OBSERVE_NONE;
            p->note.hash = taken == PLI_OBSERVE_TAKEN ? p->note.hash : 0;
        }
        if (p->is_done && !p->is_lost && (is_lost || p->has_note)) {
            if (p->has_note && !c->is_lost) {
                compare(p);
            }
            unlist(p);
        }
    }
}

// Whether notes and receives do not belong together any more. A receive that is complete has its
// note by now, if its sender sends any.
static bool is_given_up(struct pli_check_comm *c, int source, int tag)
{
    for (struct pli_check_parts *p = c->parts; p != NULL; p = p->next) {
        if (is_of(p, source, tag) && (p->is_lost || p->is_done)) {
            p->is_lost = true;
            return true;
        }
    }
    return false;
}

static struct pli_check_parts *post(const struct pli_check_call *call, struct pli_check_comm *c,
                                    MPI_Count count, const struct pli_check_type *t)
{
    settle(c, call->dest, call->recvtag);
    if (is_given_up(c, call->dest, call->recvtag)) {
        struct note note;
        while (take(c, call->dest, call->recvtag, &note) != PLI_OBSERVE_NONE) {
        }
        return NULL;
    }
    struct pli_check_parts *p = malloc(sizeof *p), **at = &c->parts;
    if (p == NULL) {
        c->is_lost = true;
        return NULL;
    }
    *p = (struct pli_check_parts){
        .c = c,
        .site = call->site,
        .function = call->function,
        .source = call->dest, // as the standard names it
        .tag = call->recvtag,
        .count = count,
        .type = *t,
        .has_request = true,
    };
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = p;
    return p;
}

void pli_check_parts_made(struct pli_check_call *call)
{
    bool is_recv = call->recvtype != NULL, has_note = false;
    int tag = is_recv ? call->recvtag : call->sendtag;
    MPI_Datatype type = is_recv ? call->recvtype : call->sendtype;
    MPI_Count count;
    struct note note = { 0 };
    pli_check_lock();
    struct pli_check_comm *c = pli_check_comm_of(call->comm);
    const struct pli_check_type *t = pli_check_type_of(type);
    bool is_seen = c != NULL && t != NULL && tag >= 0 && tag < PLI_OBSERVE_N_PARTS_TAG &&
                   pli_check_lib.reaches(call->comm, call->dest);
    bool is_long = __builtin_mul_overflow(is_recv ? call->recvcount : call->sendcount,
                                          (MPI_Count)call->memory->n_part, &count);
    count = is_long ? 0 : count; // the order stays, and none is not compared
    if (is_seen && is_recv) {
        call->parts = post(call, c, count, t);
    } else if (is_seen) {
        struct pli_check_signature s = pli_check_sign(count, type);
        has_note = true;
        note = (struct note){ .place = pli_line_place(call->site),
                              .n = s.n,
                              .hash = s.hash,
                              .function = (uint16_t)call->function,
                              .form = s.form };
    }
    pli_check_unlock();
    if (has_note) {
        pli_check_lib.send(call->comm, call->dest, tag, PLI_OBSERVE_PARTS, &note);
    }
}

void pli_check_parts_forget(struct pli_check_parts *p)
{
    if (p == NULL) {
        return;
    }
    p->has_request = false;
    if (p->c == NULL) {
        free(p);
    } else if (p->has_note) {
        unlist(p);
    } else {
        p->is_lost = true;
    }
}

void pli_check_parts_received(MPI_Comm comm, struct pli_check_parts *p, int err)
{
    struct pli_check_comm *c = p != NULL && p->c != NULL ? pli_check_comm_of(comm) : NULL;
    if (p == NULL || c == NULL || c != p->c || err != MPI_SUCCESS) {
        pli_check_parts_forget(p);
        return;
    }
    p->has_request = false;
    p->is_done = true;
    settle(c, p->source, p->tag);
}

void pli_check_parts_comm_end(struct pli_check_comm *c)
{
    while (c->parts != NULL) {
        unlist(c->parts);
    }
}
