// SPDX-License-Identifier: BSD-3-Clause
// Private communicators of two processes, and a receive on them that ends when the other process
// cannot come any more.
#include "dynamic/first_contact.h"

#include "comm/comm_make.h"
#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/errhandler.h"

enum pli_err pli_first_contact_make(struct pli_comm *like, struct pli_id other, bool is_first,
                                    uint64_t context, struct pli_comm **out)
{
    struct pli_id me = like->group->me;
    struct pli_id ids[2] = { is_first ? me : other, is_first ? other : me };
    struct pli_group *group;
    struct pli_comm *c;
    bool is_self = pli_group_same(me, other);
    enum pli_err err = pli_group_create(ids, is_self ? 1 : 2, like->session, &group);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_comm_create(pli_endpoint_retain(like->ep), me, group, NULL, context, &c);
    pli_group_release(group);
    if (err != PLI_OK) {
        pli_endpoint_release(like->ep);
        return err;
    }
    pli_errhandler_release(c->errhandler);
    c->errhandler = pli_errhandler_of(&like->obj);
    c->is_freed = true; // the program has no handle of it
    *out = c;
    return PLI_OK;
}

void pli_first_contact_free(struct pli_comm *pair_comm)
{
    pli_comm_release(pair_comm);
}

enum pli_err pli_first_contact_send(struct pli_comm *pair_comm, int far, const void *buf,
                                    size_t len)
{
    return pli_p2p_send_on(buf, (MPI_Count)len, pli_comm_make_byte(), far, PLI_FIRST_CONTACT_TAG,
                           pair_comm, PLI_CHAN_SETUP, 0);
}

struct wait {
    struct pli_waiter w; // must be first: call_watch casts it
    pli_first_contact_watch_fn watch;
    void *arg;
    enum pli_err err;
};

static void call_watch(const struct pli_waiter *w)
{
    struct wait *wait = (struct wait *)(uintptr_t)w;
    wait->err = wait->watch(wait->arg);
}

enum pli_err pli_first_contact_recv(struct pli_comm *pair_comm, void *buf, size_t len,
                                    pli_first_contact_watch_fn watch, void *arg)
{
    struct pli_request *req;
    bool is_gone;
    enum pli_err err = pli_p2p_irecv_on(buf, (MPI_Count)len, pli_comm_make_byte(), MPI_ANY_SOURCE,
                                        PLI_FIRST_CONTACT_TAG, pair_comm, PLI_CHAN_SETUP, &req);
    if (err != PLI_OK) {
        return err;
    }
    // Without a communicator in the wait record the launcher knows that a process of another job is
    // waited for, and reports no deadlock.
    struct wait wait = { .w = { .lane = pair_comm->ep->lane, .watch = call_watch },
                         .watch = watch,
                         .arg = arg };
    while (!pli_request_is_done(req) && wait.err == PLI_OK) {
        pli_progress_step(&wait.w);
        if (wait.err != PLI_OK) { // what the other process sent before it ended is in the mailbox
            while (pli_progress_once(wait.w.lane) > 0) {
            }
        }
    }
    pli_progress_end(&wait.w);
    bool is_done = pli_request_is_done(req);
    if (!is_done) {
        req->ops->cancel(req);
        pli_progress_wait(req);
    }
    err = pli_request_report(req, MPI_STATUS_IGNORE, &is_gone);
    return is_done ? err : wait.err;
}
