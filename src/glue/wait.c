// SPDX-License-Identifier: BSD-3-Clause
// Waiting for requests and testing them.
#include "glue/wait.h"

#include "ft/failure.h"
#include "io/file_async.h"
#include "msg/poll_record.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "glue/check.h"
#include "glue/raise.h"
#include "obj/status.h"

#include <stdio.h>

// The request behind a handle. NULL with *rc_out == MPI_SUCCESS: a null handle.
static struct pli_request *look_up(const char *fn, const char *arg, MPI_Request h, int *rc_out)
{
    *rc_out = MPI_SUCCESS;
    if (h == MPI_REQUEST_NULL) {
        return NULL;
    }
    struct pli_request *r = pli_arg_request(h);
    if (pli_unlikely(r == NULL)) {
        *rc_out = pli_bad_handle(NULL, fn, arg, PLI_KIND_REQUEST, h);
    }
    return r;
}

// A request that was started, or is not persistent: something to wait for.
static inline bool is_active(const struct pli_request *r)
{
    return (r->flags & PLI_REQ_PERSISTENT) == 0 || (r->flags & PLI_REQ_ACTIVE) != 0;
}

// Whose handler hears of an error; of an access to a file, which must be open until it is over, the
// file's.
static struct pli_obj *owner_of(const struct pli_request *r)
{
    return r->comm != NULL ? (struct pli_obj *)r->comm : pli_file_async_owner(r);
}

// The owner of a request that failed, for use when the request is gone.
static struct pli_obj *hold_owner(const struct pli_request *r)
{
    if (r->comm != NULL) {
        pli_handle_retain(r->comm);
    }
    return owner_of(r);
}

static void drop_owner(struct pli_obj *owner)
{
    if (owner != NULL && pli_handle_kind(owner) == PLI_KIND_COMM) {
        pli_comm_release((struct pli_comm *)owner);
    }
}

// End a done request and raise its error.
static int finish(const char *fn, MPI_Request *handle, struct pli_request *r, MPI_Status *status)
{
    bool is_gone;
    bool has_failed = r->err != PLI_OK;
    struct pli_obj *owner = has_failed ? hold_owner(r) : NULL;
    enum pli_err err = pli_request_report(r, status, &is_gone);
    if (is_gone) {
        *handle = MPI_REQUEST_NULL;
    }
    int rc = pli_glue_return(owner, fn, err);
    drop_owner(owner);
    return rc;
}

// Wait for one of n requests. False: it is a receive from MPI_ANY_SOURCE, and a rank died.
static bool wait_one(struct pli_request *r, int n)
{
    struct pli_waiter w = {
        .lane = r->lane, .request = r, .n_request = (uint32_t)n, .is_far = pli_progress_is_far(r)
    };
    bool is_open = false;
    if (!pli_request_may_be_withdrawn && n == 1) {
        pli_progress_wait(r);
        return true;
    }
    while (!pli_request_is_done(r) && !(is_open = pli_failure_is_open(r))) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    return !is_open || pli_request_is_done(r);
}

static enum pli_err why_open(const struct pli_request *r)
{
    bool is_left = atomic_load_explicit(&r->comm->is_left, memory_order_relaxed) == PLI_COMM_LEFT;
    return pli_failure_explain(is_left ? PLI_ERR_WORLD_RESIZED : PLI_ERR_PROC_FAILED_PENDING,
                               "receive from MPI_ANY_SOURCE", r->comm);
}

// The failure of a request that stays as it is: the user may wait again.
static int still_open(const char *fn, struct pli_request *r)
{
    return pli_raise(owner_of(r), fn, why_open(r));
}

int pli_wait_wait(MPI_Request *request, MPI_Status *status)
{
    static const char fn[] = "MPI_Wait";
    int rc;
    if (pli_unlikely(request == NULL)) {
        return pli_bad_pointer(NULL, fn, "request");
    }
    struct pli_request *r = look_up(fn, "request", *request, &rc);
    if (r == NULL || !is_active(r)) {
        pli_status_set_empty(status);
        return rc;
    }
    if (!pli_request_is_done(r) && !wait_one(r, 1)) {
        return still_open(fn, r);
    }
    return finish(fn, request, r, status);
}

int pli_wait_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    static const char fn[] = "MPI_Test";
    int rc;
    if (pli_unlikely(request == NULL || flag == NULL)) {
        return pli_bad_pointer(NULL, fn, request == NULL ? "request" : "flag");
    }
    struct pli_request *r = look_up(fn, "request", *request, &rc);
    if (r == NULL || !is_active(r)) {
        *flag = 1;
        pli_status_set_empty(status);
        return rc;
    }
    if (!pli_request_is_done(r)) {
        pli_progress_test(r->lane);
    }
    *flag = pli_request_is_done(r);
    if (!*flag && pli_poll_record_is_due()) {
        pli_poll_record_look(&(struct pli_waiter){ .lane = r->lane, .request = r, .n_request = 1 },
                             fn);
    }
    return *flag                    ? finish(fn, request, r, status)
           : pli_failure_is_open(r) ? still_open(fn, r)
                                    : MPI_SUCCESS;
}

// All handles are good, and there is room for the answers.
static int check_list(const char *fn, int n, MPI_Request reqs[], bool has_out)
{
    if (n < 0) {
        return pli_bad_length(NULL, fn, "count", n);
    }
    if ((n > 0 && reqs == NULL) || !has_out) {
        return pli_bad_pointer(NULL, fn, !has_out ? "output argument" : "array_of_requests");
    }
    for (int i = 0; i < n; i++) {
        if (reqs[i] != MPI_REQUEST_NULL && pli_arg_request(reqs[i]) == NULL) {
            char arg[40];
            snprintf(arg, sizeof arg, "array_of_requests[%d]", i);
            return pli_bad_handle(NULL, fn, arg, PLI_KIND_REQUEST, reqs[i]);
        }
    }
    return MPI_SUCCESS;
}

// The active request at a place of a checked list, or NULL.
static inline struct pli_request *at(MPI_Request reqs[], int i)
{
    if (reqs[i] == MPI_REQUEST_NULL) {
        return NULL;
    }
    struct pli_request *r = (struct pli_request *)reqs[i];
    return is_active(r) ? r : NULL;
}

// End request i of a list without raising: the code for its status.
static int finish_one(const char *fn, MPI_Request reqs[], int i, MPI_Status *status)
{
    bool is_gone;
    enum pli_err err = pli_request_report((struct pli_request *)reqs[i], status, &is_gone);
    if (is_gone) {
        reqs[i] = MPI_REQUEST_NULL;
    }
    return err == PLI_OK ? MPI_SUCCESS : pli_raise_code(fn, err);
}

// End the requests of a list that are done. With statuses the errors go there and the call fails
// as a whole; without, the call fails with the first one.
static int finish_list(const char *fn, MPI_Request reqs[], int n, const int *indices,
                       MPI_Status *statuses)
{
    bool has_failed = false;
    struct pli_obj *owner = NULL;
    int first = MPI_SUCCESS;
    for (int k = 0; k < n; k++) {
        int i = indices != NULL ? indices[k] : k;
        MPI_Status *s = statuses != MPI_STATUSES_IGNORE ? &statuses[k] : MPI_STATUS_IGNORE;
        struct pli_request *r = at(reqs, i);
        if (r == NULL) {
            pli_status_set_empty(s);
            continue;
        }
        // Not done: a receive from MPI_ANY_SOURCE, or others beside one.
        if (pli_unlikely(!pli_request_is_done(r))) {
            int code = pli_failure_is_open(r) ? pli_raise_code(fn, why_open(r)) : MPI_ERR_PENDING;
            if (s != MPI_STATUS_IGNORE) {
                s->MPI_ERROR = code;
            }
            if (!has_failed || first == MPI_ERR_PENDING) {
                first = code;
            }
            owner = owner == NULL ? hold_owner(r) : owner;
            has_failed = true;
            continue;
        }
        if (s == MPI_STATUS_IGNORE && r->err == PLI_OK && (r->flags & PLI_REQ_PERSISTENT) == 0 &&
            r->ops->finish == pli_request_plain_finish) {
            pli_request_destroy(r); // nothing to report: bench rate
            reqs[i] = MPI_REQUEST_NULL;
            continue;
        }
        if (pli_unlikely(r->err != PLI_OK) && owner == NULL) {
            owner = hold_owner(r);
        }
        int code = finish_one(fn, reqs, i, s);
        if (s != MPI_STATUS_IGNORE) {
            s->MPI_ERROR = code;
        }
        if (pli_unlikely(code != MPI_SUCCESS) && !has_failed) {
            has_failed = true;
            first = code;
        }
    }
    if (!has_failed) {
        return MPI_SUCCESS;
    }
    int code = statuses != MPI_STATUSES_IGNORE ? MPI_ERR_IN_STATUS : first;
    int rc = pli_raise_user(owner, fn, code);
    drop_owner(owner);
    return rc;
}

int pli_wait_waitall(int n, MPI_Request reqs[], MPI_Status *statuses)
{
    static const char fn[] = "MPI_Waitall";
    int rc = check_list(fn, n, reqs, true);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    for (int i = 0; i < n; i++) {
        struct pli_request *r = at(reqs, i);
        if (r != NULL && !pli_request_is_done(r) && !wait_one(r, n)) {
            break;
        }
    }
    return finish_list(fn, reqs, n, NULL, statuses);
}

// A list that has nothing done was polled. One that waits for the program itself speaks for all.
__attribute__((cold)) static void record_list(const char *fn, int n, MPI_Request reqs[])
{
    struct pli_waiter w = { .lane = NULL };
    for (int i = 0; i < n; i++) {
        struct pli_request *r = at(reqs, i);
        if (r != NULL && !pli_request_is_done(r)) {
            w.request = w.request == NULL || r->comm == NULL ? r : w.request;
            w.lane = r->lane;
            w.n_request++;
        }
    }
    if (w.lane != NULL) {
        pli_poll_record_look(&w, fn);
    }
}

// Poll the lane of every request of the list once; many lists have one lane. fn: NULL where the
// caller sleeps between two polls.
static void poll_list(const char *fn, int n, MPI_Request reqs[])
{
    struct pli_lane *last = NULL;
    for (int i = 0; i < n; i++) {
        struct pli_request *r = at(reqs, i);
        if (r != NULL && r->lane != last) {
            last = r->lane;
            pli_progress_test(last);
        }
    }
    if (fn != NULL && last != NULL && pli_poll_record_is_due()) {
        record_list(fn, n, reqs);
    }
}

int pli_wait_testall(int n, MPI_Request reqs[], int *flag, MPI_Status *statuses)
{
    static const char fn[] = "MPI_Testall";
    int rc = check_list(fn, n, reqs, flag != NULL);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    for (int round = 0; round < 2; round++) {
        bool is_all = true;
        for (int i = 0; i < n && is_all; i++) {
            struct pli_request *r = at(reqs, i);
            is_all = r == NULL || pli_request_is_done(r) || pli_failure_is_open(r);
        }
        if (is_all) {
            *flag = 1;
            return finish_list(fn, reqs, n, NULL, statuses);
        }
        if (round == 0) {
            poll_list(fn, n, reqs);
        }
    }
    *flag = 0;
    return MPI_SUCCESS;
}

enum { NONE_ACTIVE = -2, NONE_DONE = -1 };

// A done request of the list, looking from `from` on, or one of the two above.
static int find_done(int n, MPI_Request reqs[])
{
    bool has_active = false;
    for (int i = 0; i < n; i++) {
        struct pli_request *r = at(reqs, i);
        if (r != NULL && (pli_request_is_done(r) || pli_failure_is_open(r))) {
            return i;
        }
        has_active = has_active || r != NULL;
    }
    return has_active ? NONE_DONE : NONE_ACTIVE;
}

// Wait until something of the list is done; the waiter sleeps only where all are in one lane.
static int wait_done(int n, MPI_Request reqs[])
{
    int i = find_done(n, reqs);
    if (i != NONE_DONE) {
        return i;
    }
    struct pli_waiter w = { .is_far = true };
    for (int k = 0; k < n; k++) {
        struct pli_request *r = at(reqs, k);
        w.is_far = w.is_far && (r == NULL || pli_progress_is_far(r));
        if (r != NULL && w.lane != NULL && r->lane != w.lane) {
            w.is_restless = true;
        } else if (r != NULL) {
            w.lane = r->lane;
            w.request = r;
            w.n_request++;
        }
    }
    while ((i = find_done(n, reqs)) == NONE_DONE) {
        if (w.is_restless) {
            poll_list(NULL, n, reqs);
        }
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    return i;
}

int pli_wait_waitany(int n, MPI_Request reqs[], int *index, MPI_Status *status)
{
    static const char fn[] = "MPI_Waitany";
    int rc = check_list(fn, n, reqs, index != NULL);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    int i = wait_done(n, reqs);
    if (i == NONE_ACTIVE) {
        *index = MPI_UNDEFINED;
        pli_status_set_empty(status);
        return MPI_SUCCESS;
    }
    *index = i;
    struct pli_request *r = (struct pli_request *)reqs[i];
    return pli_request_is_done(r) ? finish(fn, &reqs[i], r, status) : still_open(fn, r);
}

int pli_wait_testany(int n, MPI_Request reqs[], int *index, int *flag, MPI_Status *status)
{
    static const char fn[] = "MPI_Testany";
    int rc = check_list(fn, n, reqs, index != NULL && flag != NULL);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    int i = find_done(n, reqs);
    if (i == NONE_DONE) {
        poll_list(fn, n, reqs);
        i = find_done(n, reqs);
    }
    *index = i < 0 ? MPI_UNDEFINED : i;
    *flag = i != NONE_DONE;
    if (i == NONE_ACTIVE) {
        pli_status_set_empty(status);
    }
    struct pli_request *r = i < 0 ? NULL : (struct pli_request *)reqs[i];
    return r == NULL                ? MPI_SUCCESS
           : pli_request_is_done(r) ? finish(fn, &reqs[i], r, status)
                                    : still_open(fn, r);
}

// End all that are done, and say which.
static int take_some(const char *fn, int n, MPI_Request reqs[], int *n_out, int indices[],
                     MPI_Status *statuses)
{
    int m = 0;
    for (int i = 0; i < n; i++) {
        struct pli_request *r = at(reqs, i);
        if (r != NULL && (pli_request_is_done(r) || pli_failure_is_open(r))) {
            indices[m++] = i;
        }
    }
    *n_out = m;
    return finish_list(fn, reqs, m, indices, statuses);
}

int pli_wait_waitsome(int n, MPI_Request reqs[], int *n_out, int indices[], MPI_Status *statuses)
{
    static const char fn[] = "MPI_Waitsome";
    int rc = check_list(fn, n, reqs, n_out != NULL && (n == 0 || indices != NULL));
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (wait_done(n, reqs) == NONE_ACTIVE) {
        *n_out = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    return take_some(fn, n, reqs, n_out, indices, statuses);
}

int pli_wait_testsome(int n, MPI_Request reqs[], int *n_out, int indices[], MPI_Status *statuses)
{
    static const char fn[] = "MPI_Testsome";
    int rc = check_list(fn, n, reqs, n_out != NULL && (n == 0 || indices != NULL));
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    int i = find_done(n, reqs);
    if (i == NONE_DONE) {
        poll_list(fn, n, reqs);
        i = find_done(n, reqs);
    }
    if (i == NONE_ACTIVE) {
        *n_out = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    return take_some(fn, n, reqs, n_out, indices, statuses);
}
