// SPDX-License-Identifier: BSD-3-Clause
// Starting, cancelling, freeing and looking at requests; the accessors of statuses.
#include "glue/request_calls.h"

#include "msg/grequest.h"
#include "msg/p2p.h"
#include "msg/unexpected.h"
#include "msg/poll_record.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "glue/check.h"
#include "glue/raise.h"
#include "io/file_async.h"
#include "obj/status.h"

struct pli_obj *pli_request_calls_request_owner(struct pli_request *r)
{
    return r->comm != NULL ? &r->comm->obj : pli_file_async_owner(r);
}

struct pli_obj *pli_request_calls_message_owner(struct pli_message *m)
{
    return m->comm != NULL ? &m->comm->obj : NULL;
}

int pli_request_calls_free(MPI_Request *request)
{
    static const char fn[] = "MPI_Request_free";
    if (request == NULL) {
        return pli_bad_pointer(NULL, fn, "request");
    }
    struct pli_request *r = pli_arg_request(*request);
    if (r == NULL) {
        return pli_bad_handle(NULL, fn, "request", PLI_KIND_REQUEST, *request);
    }
    enum pli_err err = PLI_OK;
    *request = MPI_REQUEST_NULL; // also where the free function of a generalized request fails
    if ((r->flags & PLI_REQ_PERSISTENT) != 0 && (r->flags & PLI_REQ_ACTIVE) == 0) {
        pli_request_destroy(r);
    } else if (pli_grequest_is(r)) {
        err = pli_grequest_free(r);
    } else {
        pli_request_forget(r);
    }
    return pli_glue_return(NULL, fn, err);
}

enum pli_err pli_request_calls_cancel(struct pli_request *r)
{
    bool is_idle = (r->flags & PLI_REQ_PERSISTENT) != 0 && (r->flags & PLI_REQ_ACTIVE) == 0;
    return is_idle ? pli_fail(PLI_ERR_REQUEST, "the persistent request is not active")
                   : r->ops->cancel(r);
}

enum pli_err pli_request_calls_start(struct pli_request *r)
{
    if ((r->flags & PLI_REQ_PERSISTENT) == 0) {
        return pli_request_no_start(r);
    }
    if (r->flags & PLI_REQ_ACTIVE) {
        return pli_fail(PLI_ERR_REQUEST,
                        "the persistent %s is active already; wait for it before starting it again",
                        r->ops->name);
    }
    r->flags |= PLI_REQ_ACTIVE;
    enum pli_err err = r->ops->start(r);
    if (err != PLI_OK) {
        r->flags &= (uint16_t)~PLI_REQ_ACTIVE;
    }
    return err;
}

int pli_request_calls_startall(int n, MPI_Request reqs[])
{
    static const char fn[] = "MPI_Startall";
    if (n < 0) {
        return pli_bad_length(NULL, fn, "count", n);
    }
    for (int i = 0; i < n; i++) {
        struct pli_request *r = pli_arg_request(reqs[i]);
        if (r == NULL) {
            return pli_bad_handle(NULL, fn, "array_of_requests", PLI_KIND_REQUEST, reqs[i]);
        }
        enum pli_err err = pli_request_calls_start(r);
        if (err != PLI_OK) {
            return pli_raise(r->comm != NULL ? &r->comm->obj : NULL, fn, err);
        }
    }
    return MPI_SUCCESS;
}

// Whether a request of a checked handle is over, with its status but without ending it. *err_out is
// changed by a query function that fails: that error is the call's. [MPI-5.0 13.2]
static bool peek(MPI_Request h, MPI_Status *status, enum pli_err *err_out)
{
    struct pli_request *r = h == MPI_REQUEST_NULL ? NULL : pli_arg_request(h);
    if (r == NULL || ((r->flags & PLI_REQ_PERSISTENT) && (r->flags & PLI_REQ_ACTIVE) == 0)) {
        pli_status_set_empty(status);
        return true;
    }
    if (!pli_request_is_done(r)) {
        return false;
    }
    if (pli_grequest_is(r)) {
        enum pli_err err = pli_grequest_peek(r, status);
        *err_out = err != PLI_OK ? err : *err_out;
    } else {
        r->ops->finish(r, status);
    }
    return true;
}

static void poll_all(const char *fn, int n, const MPI_Request reqs[])
{
    struct pli_lane *last = NULL;
    struct pli_waiter w = { .lane = NULL };
    for (int i = 0; i < n; i++) {
        struct pli_request *r = reqs[i] == MPI_REQUEST_NULL ? NULL : pli_arg_request(reqs[i]);
        if (r != NULL && r->lane != last) {
            last = r->lane;
            pli_progress_test(last);
        }
        if (r != NULL && !pli_request_is_done(r)) {
            w.request = w.request == NULL || r->comm == NULL ? r : w.request;
            w.lane = r->lane;
            w.n_request++;
        }
    }
    if (w.lane != NULL && pli_poll_record_is_due()) {
        pli_poll_record_look(&w, fn);
    }
}

static int check(const char *fn, int n, const MPI_Request reqs[])
{
    if (n < 0) {
        return pli_bad_length(NULL, fn, "count", n);
    }
    for (int i = 0; i < n; i++) {
        if (reqs[i] != MPI_REQUEST_NULL && pli_arg_request(reqs[i]) == NULL) {
            return pli_bad_handle(NULL, fn, "array_of_requests", PLI_KIND_REQUEST, reqs[i]);
        }
    }
    poll_all(fn, n, reqs);
    return MPI_SUCCESS;
}

int pli_request_calls_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    static const char fn[] = "MPI_Request_get_status";
    if (flag == NULL) {
        return pli_bad_pointer(NULL, fn, "flag");
    }
    int rc = check(fn, 1, &request);
    if (rc == MPI_SUCCESS) {
        enum pli_err err = PLI_OK;
        *flag = peek(request, status, &err);
        rc = pli_glue_return(NULL, fn, err);
    }
    return rc;
}

int pli_request_calls_get_status_all(int n, const MPI_Request reqs[], int *flag,
                                     MPI_Status *statuses)
{
    static const char fn[] = "MPI_Request_get_status_all";
    if (flag == NULL) {
        return pli_bad_pointer(NULL, fn, "flag");
    }
    int rc = check(fn, n, reqs);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    enum pli_err err = PLI_OK, ignored = PLI_OK;
    *flag = 1;
    for (int i = 0; i < n && *flag; i++) {
        *flag = peek(reqs[i], MPI_STATUS_IGNORE, &ignored);
    }
    for (int i = 0; i < n && *flag && statuses != MPI_STATUSES_IGNORE; i++) {
        peek(reqs[i], &statuses[i], &err);
    }
    return pli_glue_return(NULL, fn, statuses != MPI_STATUSES_IGNORE || !*flag ? err : ignored);
}

static bool is_active(MPI_Request h)
{
    struct pli_request *r = h == MPI_REQUEST_NULL ? NULL : pli_arg_request(h);
    return r != NULL && ((r->flags & PLI_REQ_PERSISTENT) == 0 || (r->flags & PLI_REQ_ACTIVE));
}

int pli_request_calls_get_status_any(int n, const MPI_Request reqs[], int *index, int *flag,
                                     MPI_Status *status)
{
    static const char fn[] = "MPI_Request_get_status_any";
    if (flag == NULL || index == NULL) {
        return pli_bad_pointer(NULL, fn, flag == NULL ? "flag" : "index");
    }
    int rc = check(fn, n, reqs);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    bool has_active = false;
    for (int i = 0; i < n; i++) {
        if (is_active(reqs[i])) {
            has_active = true;
            enum pli_err err = PLI_OK;
            if (peek(reqs[i], status, &err)) {
                *index = i;
                *flag = 1;
                return pli_glue_return(NULL, fn, err);
            }
        }
    }
    *index = MPI_UNDEFINED;
    *flag = !has_active;
    if (!has_active) {
        pli_status_set_empty(status);
    }
    return MPI_SUCCESS;
}

int pli_request_calls_get_status_some(int n, const MPI_Request reqs[], int *n_out, int indices[],
                                      MPI_Status *statuses)
{
    static const char fn[] = "MPI_Request_get_status_some";
    if (n_out == NULL) {
        return pli_bad_pointer(NULL, fn, "outcount");
    }
    int rc = check(fn, n, reqs);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    bool has_active = false;
    enum pli_err err = PLI_OK;
    int m = 0;
    for (int i = 0; i < n; i++) {
        if (is_active(reqs[i])) {
            has_active = true;
            MPI_Status *s = statuses != MPI_STATUSES_IGNORE ? &statuses[m] : MPI_STATUS_IGNORE;
            if (peek(reqs[i], s, &err)) {
                indices[m++] = i;
            }
        }
    }
    *n_out = has_active ? m : MPI_UNDEFINED;
    return pli_glue_return(NULL, fn, err);
}

enum pli_err pli_request_calls_mrecv(void *buf, MPI_Count count, struct pli_datatype *type,
                                     struct pli_message *message, MPI_Status *status)
{
    struct pli_request *r;
    enum pli_err err = pli_p2p_imrecv(buf, count, type, message, &r);
    if (err != PLI_OK) {
        return err;
    }
    bool is_gone;
    pli_progress_wait(r);
    return pli_request_report(r, status, &is_gone);
}

static enum pli_err no_status(void)
{
    return pli_fail(PLI_ERR_ARG, "argument status is MPI_STATUS_IGNORE; a status is needed");
}

enum pli_err pli_request_calls_status_source(const MPI_Status *status, int *source)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    *source = status->MPI_SOURCE;
    return PLI_OK;
}

enum pli_err pli_request_calls_status_tag(const MPI_Status *status, int *tag)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    *tag = status->MPI_TAG;
    return PLI_OK;
}

enum pli_err pli_request_calls_status_error(const MPI_Status *status, int *error)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    *error = status->MPI_ERROR;
    return PLI_OK;
}

enum pli_err pli_request_calls_status_set_source(MPI_Status *status, int source)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    status->MPI_SOURCE = source;
    return PLI_OK;
}

enum pli_err pli_request_calls_status_set_tag(MPI_Status *status, int tag)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    status->MPI_TAG = tag;
    return PLI_OK;
}

enum pli_err pli_request_calls_status_set_error(MPI_Status *status, int error)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    status->MPI_ERROR = error;
    return PLI_OK;
}

enum pli_err pli_request_calls_status_set_cancelled(MPI_Status *status, int flag)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    pli_status_set_cancelled(status, flag != 0);
    return PLI_OK;
}

enum pli_err pli_request_calls_test_cancelled(const MPI_Status *status, int *flag)
{
    if (status == MPI_STATUS_IGNORE) {
        return no_status();
    }
    *flag = pli_status_cancelled(status);
    return PLI_OK;
}
