// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests.
#include "msg/grequest.h"

#include "base/cpu.h"
#include "msg/lane.h"
#include "msg/request.h"
#include "obj/status.h"

#include <stdlib.h>

struct grequest {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free_fn;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
    // Of one that is polled.
    pli_grequest_poll_fn poll;
    struct pli_lane *lane;
    struct pli_poller poller; // among the lane's until the request is complete
    struct pli_task call;     // of the function, without a lock
    bool is_called;           // now or soon; guarded by the lane's lock, as are these
    bool is_over;             // the request is complete
    bool is_clean;            // and gone: who calls frees this
};

// Call the free function, once. Its error belongs to the call that ends the request.
static enum pli_err call_free(struct grequest *g)
{
    MPI_Grequest_free_function *fn = g->free_fn;
    g->free_fn = NULL;
    int code = fn != NULL ? fn(g->extra) : MPI_SUCCESS;
    return code == MPI_SUCCESS
               ? PLI_OK
               : pli_fail_user(code, "the free function of a generalized request returned %d",
                               code);
}

static enum pli_err call_query(struct pli_request *r, MPI_Status *status)
{
    struct grequest *g = r->ext;
    MPI_Status own;
    pli_status_set_empty(&own);
    int code = g->query != NULL ? g->query(g->extra, &own) : MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE) {
        int error = status->MPI_ERROR;
        *status = own;
        status->MPI_ERROR = error;
    }
    if (code != MPI_SUCCESS) {
        return pli_fail_user(code, "the query function of a generalized request returned %d", code);
    }
    return PLI_OK;
}

// The request ends with it. Where both functions fail the last error counts. [MPI-5.0 13.2]
static enum pli_err finish(struct pli_request *r, MPI_Status *status)
{
    enum pli_err query = call_query(r, status), last = call_free(r->ext);
    return last != PLI_OK ? last : query;
}

static enum pli_err cancel(struct pli_request *r)
{
    struct grequest *g = r->ext;
    int code = g->cancel != NULL ? g->cancel(g->extra, pli_request_is_done(r)) : MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        return pli_fail_user(code, "the cancel function of a generalized request returned %d",
                             code);
    }
    return PLI_OK;
}

static void clean(struct pli_request *r)
{
    struct grequest *g = r->ext;
    if (g == NULL) {
        return;
    }
    call_free(g); // of a request that the user freed before: no call reports it
    bool is_called = false;
    if (g->poll != NULL) {
        pli_lock_take(&g->lane->lock);
        is_called = g->is_called;
        g->is_clean = true;
        pli_lock_drop(&g->lane->lock);
    }
    if (!is_called) {
        free(g);
    }
}

// Leave the call to the thread that polls, when it has dropped the lock. Context: lane locked.
static int poll_grequest(struct pli_poller *p)
{
    struct grequest *g = PLI_CONTAINER(p, struct grequest, poller);
    if (!g->is_called) {
        g->is_called = true;
        pli_lane_defer(g->lane, &g->call);
    }
    return 0;
}

// A task counts as progress, so that a thread that waits does not go to sleep, where nothing would
// poll. It gives way instead, as what is polled may need the core.
static void call_poll(struct pli_task *t)
{
    struct grequest *g = PLI_CONTAINER(t, struct grequest, call);
    struct pli_lane *lane = g->lane;
    pli_lock_take(&lane->lock);
    bool is_over = g->is_over;
    pli_lock_drop(&lane->lock);
    if (!is_over) {
        g->poll(g->extra);
    }
    pli_lock_take(&lane->lock);
    is_over = g->is_over;
    bool is_clean = g->is_clean;
    g->is_called = false;
    pli_lock_drop(&lane->lock);
    if (is_clean) {
        free(g);
    } else if (!is_over) {
        pli_cpu_give_way();
    }
}

static const struct pli_request_ops grequest_ops = {
    .name = "generalized",
    .start = pli_request_no_start,
    .cancel = cancel,
    .finish = finish,
    .clean = clean,
};

enum pli_err pli_grequest_start(MPI_Grequest_query_function *query,
                                MPI_Grequest_free_function *free_fn,
                                MPI_Grequest_cancel_function *cancel_fn, void *extra,
                                struct pli_request **out)
{
    struct pli_lane *lane = pli_proc.lanes[0];
    if (lane == NULL) {
        return pli_fail(PLI_ERR_OTHER, "MPI is not initialised");
    }
    struct grequest *g = malloc(sizeof *g);
    if (g == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a generalized request");
    }
    *g = (struct grequest){
        .query = query, .free_fn = free_fn, .cancel = cancel_fn, .extra = extra, .lane = lane
    };
    pli_lock_take(&lane->lock);
    struct pli_request *r = pli_request_create(lane);
    pli_lock_drop(&lane->lock);
    if (r == NULL) {
        free(g);
        return pli_fail(PLI_ERR_NOMEM, "no memory for a generalized request");
    }
    r->ops = &grequest_ops;
    r->ext = g;
    *out = r;
    return PLI_OK;
}

enum pli_err pli_grequest_complete(struct pli_request *r)
{
    if (r->ops != &grequest_ops) {
        return pli_fail(PLI_ERR_REQUEST, "a %s request cannot be completed by the user",
                        r->ops->name);
    }
    struct pli_lane *lane = r->lane;
    struct grequest *g = r->ext;
    pli_lock_take(&lane->lock);
    bool is_freed = (r->state & PLI_REQ_FREED) != 0;
    if (g->poll != NULL && !g->is_over) {
        pli_list_remove(&g->poller.link);
    }
    g->is_over = true;
    pli_lock_drop(&lane->lock);
    enum pli_err err = is_freed ? call_free(r->ext) : PLI_OK; // this call is the one that ends it
    pli_lock_take(&lane->lock);
    pli_request_complete(r, PLI_OK);
    pli_lock_drop(&lane->lock);
    pli_request_reap(lane);
    return err;
}

bool pli_grequest_poll_by(MPI_Request handle, pli_grequest_poll_fn poll)
{
    struct pli_request *r = pli_handle_get(handle, PLI_KIND_REQUEST);
    if (r == NULL || r->ops != &grequest_ops) {
        return false;
    }
    struct grequest *g = r->ext;
    g->poll = poll;
    g->poller.poll = poll_grequest;
    g->call = (struct pli_task){ .run = call_poll, .is_users = true };
    pli_lock_take(&g->lane->lock);
    if (!g->is_over) {
        pli_list_push(&g->lane->pollers, &g->poller.link);
    }
    pli_lock_drop(&g->lane->lock);
    return true;
}

bool pli_grequest_is(const struct pli_request *r)
{
    return r->ops == &grequest_ops;
}

enum pli_err pli_grequest_peek(struct pli_request *r, MPI_Status *status)
{
    return call_query(r, status);
}

enum pli_err pli_grequest_free(struct pli_request *r)
{
    enum pli_err err = pli_request_is_done(r) ? call_free(r->ext) : PLI_OK;
    pli_request_forget(r);
    return err;
}
