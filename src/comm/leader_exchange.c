// SPDX-License-Identifier: BSD-3-Clause
// Exchanges messages of unknown length between two leaders, lengths first, and broadcasts them in
// the groups.
#include "comm/leader_exchange.h"

#include "base/fault.h"
#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/sendrecv.h"
#include "msg/probe.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "net/shm/other_job.h"
#include "obj/comm.h"
#include "obj/status.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct head {
    uint64_t n_mine, n_theirs;
    int64_t why; // enum pli_err of the leader
};

static enum pli_err no_memory(size_t len)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes that two groups exchange", len);
}

// A wait for a leader of another job, whose end no failure would report.
struct far_wait {
    struct pli_waiter w; // must be first: find_ended casts it
    uint64_t proc;
    bool has_ended;
};

static void find_ended(const struct pli_waiter *w)
{
    struct far_wait *f = (struct far_wait *)(uintptr_t)w;
    f->has_ended = pli_other_job_has_ended(f->proc);
}

static void wait_for_far(struct far_wait *f, const struct pli_request *recv,
                         const struct pli_request *send)
{
    while (!f->has_ended && !(pli_request_is_done(recv) && pli_request_is_done(send))) {
        pli_progress_step(&f->w);
        while (f->has_ended && pli_progress_once(f->w.lane) > 0) {
            // what it sent before it ended is in the mailbox
        }
    }
    pli_progress_end(&f->w);
}

static enum pli_err sendrecv_far(const void *out, size_t n_out, void *in, size_t n_in,
                                 struct pli_comm *peer, int far, int tag)
{
    struct far_wait f = { .w = { .lane = peer->ep->lane, .watch = find_ended },
                          .proc = pli_group_at(peer->remote, far).proc };
    struct pli_datatype *byte = pli_comm_make_byte();
    struct pli_request *recv, *send;
    bool is_gone, is_done = false;
    enum pli_err err =
        pli_p2p_irecv_on(in, (MPI_Count)n_in, byte, far, tag, peer, PLI_CHAN_SETUP, &recv);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_p2p_isend_on(out, (MPI_Count)n_out, byte, far, tag, peer, PLI_CHAN_SETUP, 0, &send);
    if (err == PLI_OK) {
        wait_for_far(&f, recv, send);
        is_done = pli_request_is_done(recv);
        send->ops->cancel(send); // if it is not done: its data is about to go
        pli_request_forget(send);
    }
    if (!is_done) {
        recv->ops->cancel(recv);
        pli_progress_wait(recv);
    }
    struct pli_fail_saved saved;
    pli_fail_save(&saved, err);
    err = pli_request_report(recv, MPI_STATUS_IGNORE, &is_gone);
    if (saved.err != PLI_OK) {
        return pli_fail_repeat(&saved);
    }
    return is_done ? err : pli_fail(PLI_ERR_PORT, "the leader of the other group has ended");
}

static bool is_of_other_job(const struct pli_comm *peer, int far)
{
    return pli_node_job_of(pli_group_at(peer->remote, far).proc) != pli_boot.job;
}

static enum pli_err sendrecv(const void *out, size_t n_out, void *in, size_t n_in,
                             struct pli_comm *peer, int far, int tag)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    if (is_of_other_job(peer, far)) {
        return sendrecv_far(out, n_out, in, n_in, peer, far, tag);
    }
    return pli_sendrecv_on(out, (MPI_Count)n_out, byte, far, tag, in, (MPI_Count)n_in, byte, far,
                           tag, peer, PLI_CHAN_SETUP, MPI_STATUS_IGNORE, NULL);
}

// The first message is how long the second will be, or below zero the error for which there is
// none.
static enum pli_err given_up(int64_t why)
{
    enum pli_err err = why > -PLI_N_ERR ? (enum pli_err)why : PLI_ERR_OTHER;
    bool is_death = pli_err_is_news(err) && err != PLI_ERR_WORLD_RESIZED;
    if (err == PLI_ERR_PORT) {
        return pli_fail(err, "the other group waits at the port no more");
    }
    return pli_fail(is_death ? PLI_ERR_PROC_FAILED : PLI_ERR_OTHER,
                    "the other group has given up: %s", pli_err_text(err));
}

enum pli_err pli_leader_exchange_refuse(struct pli_comm *peer, int far, int tag, enum pli_err why)
{
    struct pli_fail_saved saved;
    int64_t mine = why;
    pli_fail_save(&saved, why);
    // What it says itself is not waited for: it may be stopped, or have failed too.
    if (pli_p2p_send_on(&mine, sizeof mine, pli_comm_make_byte(), far, tag, peer, PLI_CHAN_SETUP,
                        0) != PLI_OK) {
        pli_fail_take(NULL);
    }
    return pli_fail_repeat(&saved);
}

enum pli_err pli_leader_exchange_lead(struct pli_comm *peer, int far, int tag, const void *said,
                                      size_t len, struct pli_leader_exchange *t)
{
    int64_t n_mine = (int64_t)len, n_theirs = 0;
    *t = (struct pli_leader_exchange){ 0 };
    enum pli_err err =
        peer != NULL ? sendrecv(&n_mine, sizeof n_mine, &n_theirs, sizeof n_theirs, peer, far, tag)
                     : PLI_OK;
    if (err != PLI_OK || n_theirs < 0) {
        return err != PLI_OK ? err : given_up(n_theirs);
    }
    t->mine = malloc(len + (size_t)n_theirs + 1);
    if (t->mine == NULL) {
        return no_memory(len + (size_t)n_theirs);
    }
    t->theirs = t->mine + len;
    t->n_mine = len;
    t->n_theirs = (size_t)n_theirs;
    memcpy(t->mine, said, len);
    return peer != NULL ? sendrecv(t->mine, len, t->theirs, t->n_theirs, peer, far, tag) : PLI_OK;
}

enum pli_err pli_leader_exchange(struct pli_comm *local, int leader, struct pli_comm *peer, int far,
                                 int tag, const void *said, size_t len, enum pli_err why,
                                 struct pli_leader_exchange *t)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    *t = (struct pli_leader_exchange){ 0 };
    if (local->rank == leader && why == PLI_OK) {
        why = pli_leader_exchange_lead(peer, far, tag, said, len, t);
    }
    struct head head = { t->n_mine, t->n_theirs, why };
    enum pli_err err = pli_coll_bcast(&head, sizeof head, byte, leader, local);
    if (err == PLI_OK && head.why != PLI_OK) {
        err = local->rank == leader
                  ? why // pli_fail was called
                  : pli_fail((enum pli_err)head.why, "the leader of the group, rank %d, failed: %s",
                             leader, pli_err_text((enum pli_err)head.why));
    }
    if (err == PLI_OK && t->mine == NULL) {
        t->n_mine = head.n_mine;
        t->n_theirs = head.n_theirs;
        t->mine = malloc(head.n_mine + head.n_theirs + 1);
        if (t->mine == NULL) {
            return no_memory(head.n_mine + head.n_theirs);
        }
        t->theirs = t->mine + t->n_mine;
    }
    if (err == PLI_OK) {
        pli_fault("leader_told", pli_boot.index);
        err = pli_coll_bcast(t->mine, (MPI_Count)(t->n_mine + t->n_theirs), byte, leader, local);
    }
    if (err != PLI_OK) {
        free(t->mine);
        t->mine = NULL;
    }
    return err;
}

enum pli_err pli_leader_exchange_inter(struct pli_comm *inter, const void *said, size_t len,
                                       struct pli_leader_exchange *t)
{
    return pli_leader_exchange(inter->local, 0, inter, 0, PLI_SETUP_EXCHANGE, said, len, PLI_OK, t);
}

static enum pli_err hear(struct pli_comm *peer, int far, int tag, unsigned char **in_out,
                         int *n_in_out)
{
    MPI_Status status;
    enum pli_err err = pli_probe_probe(far, tag, peer, &status);
    if (err != PLI_OK) {
        return err;
    }
    *n_in_out = (int)pli_status_bytes(&status);
    *in_out = malloc((size_t)*n_in_out + 1);
    return *in_out == NULL ? no_memory((size_t)*n_in_out)
                           : pli_p2p_recv_on(*in_out, *n_in_out, pli_comm_make_byte(), far, tag,
                                             peer, PLI_CHAN_P2P, MPI_STATUS_IGNORE);
}

enum pli_err pli_leader_exchange_open(struct pli_comm *peer, int far, int tag, const void *said,
                                      int len, unsigned char **in_out, int *n_in_out)
{
    bool is_gone;
    struct pli_request *send;
    *in_out = NULL;
    enum pli_err err =
        pli_p2p_isend_on(said, len, pli_comm_make_byte(), far, tag, peer, PLI_CHAN_P2P, 0, &send);
    if (err != PLI_OK) {
        return err;
    }
    err = hear(peer, far, tag, in_out, n_in_out);
    pli_progress_wait(send);
    enum pli_err its = pli_request_report(send, MPI_STATUS_IGNORE, &is_gone);
    return err == PLI_OK ? its : err;
}
