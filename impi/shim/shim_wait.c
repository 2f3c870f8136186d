// SPDX-License-Identifier: BSD-3-Clause
// Completion: the wait and test functions over requests of which any may be ours.
#include "agent/agent_wire.h"
#include "shim/shim.h"
#include "shim/shim_req.h"
#include "shim/shim_task.h"
#include <stdlib.h>

// A request of ours is done: its status, and its end or rest.
static int finish_request(struct shim_req *r, MPI_Request *request, MPI_Status *status)
{
    int rc = r->err;
    pli_shim_req_copy(status, &r->status);
    if (r->kind == SHIM_SEND) {
        (void)pli_shim_msg_unpost(r);
    }
    if (r->is_persistent) {
        r->is_active = false;
        return rc;
    }
    pli_shim_req_destroy(r);
    *request = MPI_REQUEST_NULL;
    return rc;
}

// Whether the request is over, ending it if so; is_idle: there was nothing to wait for.
static int test_one(MPI_Request *request, bool *is_over, bool *is_idle, MPI_Status *status)
{
    struct shim_req *r = *request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(*request);
    *is_idle = false;
    if (r != NULL && !r->is_active) {
        *is_over = *is_idle = true;
        pli_shim_req_empty(status);
        return MPI_SUCCESS;
    }
    if (r != NULL) {
        *is_over = pli_shim_req_test(r);
        return *is_over ? finish_request(r, request, status) : MPI_SUCCESS;
    }
    int index = 0, flag = 0;
    int rc = PMPI_Testany(1, request, &index, &flag, status);
    *is_over = flag != 0 || rc != MPI_SUCCESS;
    *is_idle = flag != 0 && index == MPI_UNDEFINED;
    return rc;
}

static MPI_Comm comm_of(MPI_Request request)
{
    struct shim_req *r = request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(request);
    return r != NULL ? r->span->handle : MPI_COMM_WORLD;
}

// Whether the native library may complete it: then it must be looked at often.
static bool is_native(MPI_Request request)
{
    const struct shim_req *r = request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(request);
    return r == NULL || r->kind == SHIM_COLL || r->native != MPI_REQUEST_NULL || r->may_local;
}

// The native function will do: none is ours and nothing of ours is under way.
static bool is_plain(int n, const MPI_Request *request)
{
    if (!pli_shim.is_on) {
        return true;
    }
    for (int i = 0; i < n; i++) {
        if (request[i] != MPI_REQUEST_NULL && pli_shim_req_find(request[i]) != NULL) {
            return false;
        }
    }
    return !pli_shim_req_is_busy();
}

PLI_SHIM_API int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_pace pace = { 0 };
    if (is_plain(1, request)) {
        return PLI_SHIM_OUTSIDE(PMPI_Wait(request, status));
    }
    MPI_Comm comm = comm_of(*request);
    bool is_ours = pli_shim_req_find(*request) != NULL, is_over = false, is_idle;
    for (;;) {
        int rc = test_one(request, &is_over, &is_idle, status);
        if (is_over) {
            return is_ours ? pli_shim_end(comm, rc) : rc;
        }
        pli_shim_req_progress(&pace);
        pli_shim_link_pause(&pace, is_native(*request));
    }
}

PLI_SHIM_API int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    if (is_plain(1, request)) {
        return PMPI_Test(request, flag, status);
    }
    MPI_Comm comm = comm_of(*request);
    bool is_ours = pli_shim_req_find(*request) != NULL, is_over = false, is_idle;
    pli_shim_req_progress(NULL);
    int rc = test_one(request, &is_over, &is_idle, status);
    *flag = is_over;
    return is_ours ? pli_shim_end(comm, rc) : rc;
}

static MPI_Status *at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

PLI_SHIM_API int MPI_Waitall(int n, MPI_Request request[], MPI_Status statuses[])
{
    PLI_SHIM_ENTER;
    int result = MPI_SUCCESS;
    if (is_plain(n, request)) {
        return PLI_SHIM_OUTSIDE(PMPI_Waitall(n, request, statuses));
    }
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int i = 0; i < n; i++) {
        struct shim_pace pace = { 0 };
        bool is_over = false, is_idle;
        MPI_Comm its = comm_of(request[i]);
        int rc = MPI_SUCCESS;
        MPI_Status *st = at(statuses, i);
        while (!is_over) {
            rc = test_one(&request[i], &is_over, &is_idle, st);
            if (!is_over) {
                pli_shim_req_progress(&pace);
                pli_shim_link_pause(&pace, is_native(request[i]));
            }
        }
        if (st != MPI_STATUS_IGNORE) {
            st->MPI_ERROR = rc;
        }
        if (rc != MPI_SUCCESS) {
            result = MPI_ERR_IN_STATUS;
            comm = its;
        }
    }
    return pli_shim_end(comm, result);
}

// Ours or not: would it be over? Nothing is ended.
static bool peek(MPI_Request request)
{
    struct shim_req *r = request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(request);
    if (r != NULL) {
        return !r->is_active || pli_shim_req_test(r);
    }
    int flag = 1;
    if (request != MPI_REQUEST_NULL) {
        (void)PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    }
    return flag != 0;
}

PLI_SHIM_API int MPI_Testall(int n, MPI_Request request[], int *flag, MPI_Status statuses[])
{
    PLI_SHIM_ENTER;
    if (is_plain(n, request)) {
        return PMPI_Testall(n, request, flag, statuses);
    }
    pli_shim_req_progress(NULL);
    for (int i = 0; i < n; i++) {
        if (!peek(request[i])) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    }
    *flag = 1;
    return MPI_Waitall(n, request, statuses);
}

// The first that is over; MPI_UNDEFINED and true: there is none to wait for.
static int any(int n, MPI_Request request[], int *index, bool *is_over, MPI_Status *status)
{
    bool has_one = false;
    *index = MPI_UNDEFINED;
    *is_over = false;
    for (int i = 0; i < n; i++) {
        bool is_idle;
        MPI_Comm comm = comm_of(request[i]);
        bool is_ours = request[i] != MPI_REQUEST_NULL && pli_shim_req_find(request[i]) != NULL;
        int rc = test_one(&request[i], is_over, &is_idle, status);
        if (*is_over && !is_idle) {
            *index = i;
            return is_ours ? pli_shim_end(comm, rc) : rc;
        }
        has_one = has_one || !is_idle;
        *is_over = false;
    }
    if (!has_one) {
        *is_over = true;
        pli_shim_req_empty(status);
    }
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Waitany(int n, MPI_Request request[], int *index, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_pace pace = { 0 };
    bool is_over;
    if (is_plain(n, request)) {
        return PLI_SHIM_OUTSIDE(PMPI_Waitany(n, request, index, status));
    }
    for (;;) {
        int rc = any(n, request, index, &is_over, status);
        if (is_over) {
            return rc;
        }
        pli_shim_req_progress(&pace);
        pli_shim_link_pause(&pace, true);
    }
}

PLI_SHIM_API int MPI_Testany(int n, MPI_Request request[], int *index, int *flag,
                             MPI_Status *status)
{
    PLI_SHIM_ENTER;
    bool is_over;
    if (is_plain(n, request)) {
        return PMPI_Testany(n, request, index, flag, status);
    }
    pli_shim_req_progress(NULL);
    int rc = any(n, request, index, &is_over, status);
    *flag = is_over;
    return rc;
}

static int some(int n, MPI_Request request[], int *count, int indices[], MPI_Status statuses[])
{
    bool has_one = false;
    int done = 0, result = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        bool is_over = false, is_idle;
        MPI_Status *st = at(statuses, done);
        int rc = test_one(&request[i], &is_over, &is_idle, st);
        has_one = has_one || !is_idle;
        if (is_over && !is_idle) {
            if (st != MPI_STATUS_IGNORE) {
                st->MPI_ERROR = rc;
            }
            result = rc != MPI_SUCCESS ? MPI_ERR_IN_STATUS : result;
            indices[done++] = i;
        }
    }
    *count = has_one ? done : MPI_UNDEFINED;
    return result;
}

PLI_SHIM_API int MPI_Waitsome(int n, MPI_Request request[], int *count, int indices[],
                              MPI_Status statuses[])
{
    PLI_SHIM_ENTER;
    struct shim_pace pace = { 0 };
    if (is_plain(n, request)) {
        return PLI_SHIM_OUTSIDE(PMPI_Waitsome(n, request, count, indices, statuses));
    }
    for (;;) {
        int rc = some(n, request, count, indices, statuses);
        if (*count != 0) {
            return pli_shim_end(MPI_COMM_WORLD, rc);
        }
        pli_shim_req_progress(&pace);
        pli_shim_link_pause(&pace, true);
    }
}

PLI_SHIM_API int MPI_Testsome(int n, MPI_Request request[], int *count, int indices[],
                              MPI_Status statuses[])
{
    PLI_SHIM_ENTER;
    if (is_plain(n, request)) {
        return PMPI_Testsome(n, request, count, indices, statuses);
    }
    pli_shim_req_progress(NULL);
    return pli_shim_end(MPI_COMM_WORLD, some(n, request, count, indices, statuses));
}

PLI_SHIM_API int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_req *r = request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(request);
    if (pli_shim.is_on) {
        pli_shim_req_progress(NULL);
    }
    if (r == NULL) {
        return PMPI_Request_get_status(request, flag, status);
    }
    *flag = !r->is_active || pli_shim_req_test(r);
    if (!r->is_active) {
        pli_shim_req_empty(status);
    } else if (*flag != 0) {
        pli_shim_req_copy(status, &r->status);
    }
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Request_free(MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_req *r = *request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(*request);
    if (r == NULL) {
        return PMPI_Request_free(request);
    }
    *request = MPI_REQUEST_NULL;
    if (pli_shim_packed_leave(r)) {
        return MPI_SUCCESS;
    }
    if (r->native != MPI_REQUEST_NULL) {
        (void)PMPI_Request_free(&r->native);
        pli_shim_req_done(r, MPI_SUCCESS);
    }
    if (!r->is_active || pli_shim_req_test(r)) {
        if (r->kind == SHIM_SEND) {
            (void)pli_shim_msg_unpost(r);
        }
        pli_shim_req_destroy(r);
    } else {
        r->is_free = true; // the thread that completes it ends it
    }
    return MPI_SUCCESS;
}

static int start(struct shim_req *r)
{
    if (r->kind == SHIM_COLL) {
        return pli_shim_task_start(r);
    }
    r->is_active = true;
    r->err = MPI_SUCCESS;
    pli_shim_req_empty(&r->status);
    return r->kind == SHIM_SEND ? pli_shim_p2p_isend(r) : pli_shim_p2p_irecv(r);
}

PLI_SHIM_API int MPI_Start(MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_req *r = *request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(*request);
    if (r == NULL) {
        return PMPI_Start(request);
    }
    if (r->is_active) {
        return pli_shim_end(r->span->handle,
                            pli_shim_fail(MPI_ERR_REQUEST, "a request was started twice"));
    }
    return pli_shim_end(r->span->handle, start(r));
}

PLI_SHIM_API int MPI_Startall(int n, MPI_Request request[])
{
    PLI_SHIM_ENTER;
    int rc = MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        rc = MPI_Start(&request[i]);
    }
    return rc;
}

PLI_SHIM_API int MPI_Cancel(MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_req *r = *request == MPI_REQUEST_NULL ? NULL : pli_shim_req_find(*request);
    if (r == NULL) {
        return PMPI_Cancel(request);
    }
    if (!r->is_active) {
        return MPI_SUCCESS;
    }
    if (r->kind == SHIM_COLL) {
        return pli_shim_end(r->span->handle,
                            pli_shim_fail(MPI_ERR_REQUEST, "a collective cannot be cancelled"));
    }
    if (r->native != MPI_REQUEST_NULL) {
        return PMPI_Cancel(&r->native);
    }
    if (r->kind == SHIM_RECV) {
        pli_shim_req_progress(NULL);
        if (r->is_posted && pli_shim_msg_unpost(r)) {
            (void)PMPI_Status_set_cancelled(&r->status, 1);
            pli_shim_req_done(r, MPI_SUCCESS);
        }
        return MPI_SUCCESS;
    }
    if (!r->has_cancel && !(r->mode == SHIM_SYNC && r->is_matched)) {
        struct pli_agent_frame f = { .type = PLI_AGENT_CANCEL,
                                     .id = r->id,
                                     .peer = r->span->world[r->peer],
                                     .srqid = r->srqid };
        r->has_cancel = true;
        pli_shim_link_put(&f, NULL, NULL);
    }
    return MPI_SUCCESS;
}
