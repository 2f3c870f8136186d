// SPDX-License-Identifier: BSD-3-Clause
// Writes this process's record into its row of the node's memory.
#include "core/record.h"

#include "boot/boot.h"
#include "core/ep.h"
#include "core/lane.h"
#include "core/p2p.h"
#include "core/parcel.h"
#include "core/progress.h"
#include "core/request.h"
#include "obj/comm.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>

static struct pli_node_row *my_row(void)
{
    return &pli_proc.boot->node.rows[pli_proc.boot->row];
}

// Where the program called MPI: the first return address outside this library.
static uint64_t call_site(void)
{
    void *frames[32];
    Dl_info us, it;
    int n = backtrace(frames, 32);
    if (dladdr((void *)(uintptr_t)my_row, &us) == 0) {
        return 0;
    }
    bool is_inside = false; // an interceptor of backtrace itself may come first
    for (int i = 0; i < n; i++) {
        bool is_us = dladdr(frames[i], &it) != 0 && it.dli_fbase == us.dli_fbase;
        if (is_inside && !is_us) {
            return (uint64_t)(uintptr_t)frames[i];
        }
        is_inside = is_inside || is_us;
    }
    return 0; // linked into the program: the frames cannot be told apart
}

// The messages nobody asked for, those of the same communicator first.
static void note_kept(struct pli_node_wait *to, const struct pli_comm *comm)
{
    uint32_t n = 0;
    to->n_kept = 0;
    for (int round = 0; round < 2; round++) {
        struct pli_match_item *i = comm->ep->match.arrival.first;
        for (; i != NULL; i = i->later) {
            bool is_same = (i->context & ~(uint64_t)3) == comm->context;
            if (is_same == (round == 0) && n < PLI_NODE_N_KEPT) {
                struct pli_parcel *p = PLI_CONTAINER(i, struct pli_parcel, item);
                to->kept[n++] = (struct pli_node_kept){ i->source, i->tag, i->context, p->size };
            }
            to->n_kept += round == 0;
        }
    }
}

static void note_peer(struct pli_node_wait *to, const struct pli_comm *comm, int peer, int tag)
{
    to->peer = peer;
    to->tag = tag;
    to->peer_index = peer >= 0 && peer < comm->n_peer
                         ? (uint32_t)pli_group_at(comm->remote, peer).proc
                         : UINT32_MAX;
}

void pli_record_write(const struct pli_waiter *w)
{
    struct pli_node_row *row = my_row();
    struct pli_node_wait *to = &row->wait;
    const struct pli_request *r = w->request;
    const struct pli_comm *comm = r != NULL ? r->comm : w->comm;
    if (atomic_fetch_add_explicit(&row->n_asleep, 1, memory_order_acq_rel) != 0) {
        return; // another thread sleeps already: its record stays
    }
    uint64_t site = call_site();
    uint32_t what = PLI_NODE_WAIT_OTHER;
    pli_lock_take(&w->lane->lock);
    *to->comm = *to->call = '\0';
    to->peer = to->tag = to->rank = MPI_UNDEFINED;
    to->peer_index = UINT32_MAX;
    to->context = to->bytes = 0;
    to->n_kept = 0;
    to->n_request = w->n_request;
    to->site = site;
    if (comm != NULL) {
        snprintf(to->comm, sizeof to->comm, "%.*s", (int)sizeof to->comm - 1, comm->name);
        to->context = comm->context;
        to->rank = comm->rank;
        note_kept(to, comm);
    }
    if (r != NULL && (r->ops == &pli_p2p_send_ops || r->ops == &pli_p2p_recv_ops)) {
        bool is_send = (r->flags & PLI_REQ_SEND) != 0;
        what = is_send ? PLI_NODE_WAIT_SEND : PLI_NODE_WAIT_RECV;
        note_peer(to, comm, is_send ? r->source : r->item.source, r->item.tag);
        to->bytes = r->size;
    } else if (comm != NULL && (w->call != NULL || r != NULL)) {
        what = PLI_NODE_WAIT_COLL;
        snprintf(to->call, sizeof to->call, "%s", w->call != NULL ? w->call : r->ops->name);
    } else if (comm != NULL && r == NULL) {
        what = PLI_NODE_WAIT_PROBE;
        note_peer(to, comm, w->peer, w->tag);
    }
    pli_lock_drop(&w->lane->lock);
    atomic_fetch_add_explicit(&to->seq, 1, memory_order_relaxed);
    atomic_store_explicit(&to->what, what, memory_order_release);
}

void pli_record_erase(void)
{
    struct pli_node_row *row = my_row();
    atomic_store_explicit(&row->wait.what, PLI_NODE_AWAKE, memory_order_release);
    atomic_fetch_sub_explicit(&row->n_asleep, 1, memory_order_acq_rel);
}
