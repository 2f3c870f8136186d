// SPDX-License-Identifier: BSD-3-Clause
// Probes on communicators that span clients. What a matched probe has found is held here until it
// is received: a native message under its own handle, one of another client under the handle of an
// empty message that this process sends itself, so that it is unlike any other.
#include "shim/shim.h"
#include "shim/shim_counts.h"
#include "shim/shim_req.h"
#include <stdlib.h>

struct found {
    enum { NOWHERE, FOREIGN, NATIVE } where;
    int source, tag; // of a native one, as the native library has them
};

struct held {
    MPI_Message token; // what the program holds
    struct shim_span *span;
    struct shim_msg *msg; // NULL: the token is the message
    MPI_Request self;     // else the sending of the empty one
    struct held *next;
};

static struct held *all;

static int native_source(const struct shim_span *s, int source)
{
    return source == MPI_ANY_SOURCE ? source : s->native[source];
}

// Whether a native message is there that no earlier receive waits for.
static bool has_native(struct shim_span *s, int source, int tag, MPI_Status *st)
{
    int flag = 0;
    for (;;) {
        int rc = PMPI_Iprobe(native_source(s, source), tag, s->handle, &flag, st);
        if (rc != MPI_SUCCESS || flag == 0) {
            return false;
        }
        int before = pli_shim.n_pending;
        bool may_be_taken = pli_shim_msg_has_local(s);
        if (may_be_taken) {
            pli_shim_msg_match_local();
            (void)PMPI_Iprobe(native_source(s, source), tag, s->handle, &flag, st);
        }
        if (!may_be_taken || (flag != 0 && before == pli_shim.n_pending)) {
            return true;
        }
    }
}

static int look(struct shim_span *s, int source, int tag, MPI_Status *status, struct found *out)
{
    bool is_any = source == MPI_ANY_SOURCE;
    int rc = pli_shim_p2p_check_recv(s, source, tag, 0);
    out->where = NOWHERE;
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    (void)pli_shim_link_poll();
    pli_shim_msg_match_local();
    MPI_Status st;
    if ((is_any || s->native[source] < 0) && pli_shim_msg_probe(s, source, tag, status)) {
        out->where = FOREIGN;
    } else if ((is_any || s->native[source] >= 0) && has_native(s, source, tag, &st)) {
        *out = (struct found){ NATIVE, st.MPI_SOURCE, st.MPI_TAG };
        st.MPI_SOURCE = s->rank_of[st.MPI_SOURCE];
        pli_shim_msg_set_native(&st);
        pli_shim_req_copy(status, &st);
    }
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL || source == MPI_PROC_NULL) {
        if (pli_shim.is_on) {
            (void)pli_shim_link_poll();
        }
        return PMPI_Iprobe(source, tag, comm, flag, status);
    }
    struct found at;
    int rc = look(s, source, tag, status, &at);
    *flag = at.where != NOWHERE;
    return pli_shim_end(comm, rc);
}

static void forget(struct held *h)
{
    struct held **at = &all;
    while (*at != h) {
        at = &(*at)->next;
    }
    *at = h->next;
    pli_shim_span_release(h->span);
    free(h);
}

// A handle for a message of another client.
static int make_token(struct held *h)
{
    int rc = PMPI_Isend(NULL, 0, MPI_BYTE, 0, 0, pli_shim.self, &h->self);
    return rc == MPI_SUCCESS ? PMPI_Mprobe(0, 0, pli_shim.self, &h->token, MPI_STATUS_IGNORE) : rc;
}

static void drop_token(struct held *h)
{
    (void)PMPI_Mrecv(NULL, 0, MPI_BYTE, &h->token, MPI_STATUS_IGNORE);
    (void)PMPI_Wait(&h->self, MPI_STATUS_IGNORE);
}

// Take what a probe has found, and not one that has come meanwhile from another source; flag 0:
// another thread was faster.
static int hold(struct shim_span *s, const struct found *at, int source, int tag, int *flag,
                MPI_Message *out)
{
    struct held *h = calloc(1, sizeof *h);
    int rc = h == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (rc == MPI_SUCCESS && at->where == FOREIGN) {
        rc = make_token(h);
        h->msg = rc == MPI_SUCCESS ? pli_shim_msg_claim(s, source, tag) : NULL;
        *flag = rc == MPI_SUCCESS;
    } else if (rc == MPI_SUCCESS) {
        rc = PMPI_Improbe(at->source, at->tag, s->handle, flag, &h->token, MPI_STATUS_IGNORE);
    }
    if (rc != MPI_SUCCESS || *flag == 0) {
        free(h);
        return rc;
    }
    h->span = s;
    h->next = all;
    all = h;
    pli_shim_span_retain(s);
    *out = h->token;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                             MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL || source == MPI_PROC_NULL) {
        if (pli_shim.is_on) {
            (void)pli_shim_link_poll();
        }
        return PMPI_Improbe(source, tag, comm, flag, message, status);
    }
    struct found at;
    int rc = look(s, source, tag, status, &at);
    *flag = 0;
    if (at.where != NOWHERE) {
        rc = hold(s, &at, source, tag, flag, message);
    }
    return pli_shim_end(comm, rc);
}

// Whether the native blocking call will do.
static bool is_plain(const struct shim_span *s, int source)
{
    return !pli_shim.is_on || ((s == NULL || source == MPI_PROC_NULL) && !pli_shim_req_is_busy());
}

PLI_SHIM_API int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_pace pace = { 0 };
    int flag = 0;
    if (is_plain(pli_shim_span_find(comm), source)) {
        return PLI_SHIM_OUTSIDE(PMPI_Probe(source, tag, comm, status));
    }
    for (;;) {
        int rc = MPI_Iprobe(source, tag, comm, &flag, status);
        if (rc != MPI_SUCCESS || flag != 0) {
            return rc;
        }
        pli_shim_link_pause(&pace, true);
    }
}

PLI_SHIM_API int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                            MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_pace pace = { 0 };
    int flag = 0;
    if (is_plain(pli_shim_span_find(comm), source)) {
        return PLI_SHIM_OUTSIDE(PMPI_Mprobe(source, tag, comm, message, status));
    }
    for (;;) {
        int rc = MPI_Improbe(source, tag, comm, &flag, message, status);
        if (rc != MPI_SUCCESS || flag != 0) {
            return rc;
        }
        pli_shim_link_pause(&pace, true);
    }
}

static struct held *find(MPI_Message token)
{
    struct held *h = pli_shim.is_on ? all : NULL;
    while (h != NULL && h->token != token) {
        h = h->next;
    }
    return h;
}

// Receive it, which ends the handle.
static int start(struct held *h, void *buf, int count, MPI_Datatype type, MPI_Message *message,
                 struct shim_req **out)
{
    struct shim_req *r;
    size_t size = 0;
    int rc = pli_shim_p2p_make_recv(h->span, buf, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, &r);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    (void)pli_shim_type_size(r->type, &size); // it is known: make_recv holds the type
    r->cap = size * (uint64_t)count;
    r->is_active = true;
    if (h->msg != NULL) {
        drop_token(h);
        pli_shim_msg_give(r, h->msg);
    } else {
        r->is_done = false;
        pli_shim.n_pending++;
        pli_shim_msg_give_native(r, &h->token);
    }
    forget(h);
    *message = MPI_MESSAGE_NULL;
    *out = r;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Imrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message,
                            MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct held *h = find(*message);
    if (h == NULL) {
        return PMPI_Imrecv(buf, count, type, message, request);
    }
    struct shim_req *r;
    MPI_Comm comm = h->span->handle;
    int rc = start(h, buf, count, type, message, &r);
    return pli_shim_end(comm, rc == MPI_SUCCESS ? pli_shim_req_show(r, request) : rc);
}

PLI_SHIM_API int MPI_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message,
                           MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct held *h = find(*message);
    MPI_Request req;
    if (h == NULL && (!pli_shim.is_on || !pli_shim_req_is_busy())) {
        return PLI_SHIM_OUTSIDE(PMPI_Mrecv(buf, count, type, message, status));
    }
    if (h == NULL) {
        int rc = PMPI_Imrecv(buf, count, type, message, &req);
        return rc == MPI_SUCCESS ? pli_shim_req_wait_native(&req, status) : rc;
    }
    struct shim_req *r;
    MPI_Comm comm = h->span->handle;
    int rc = start(h, buf, count, type, message, &r);
    return pli_shim_end(comm, rc == MPI_SUCCESS ? pli_shim_p2p_finish(r, status) : rc);
}

#if MPI_VERSION >= 4
PLI_SHIM_API int MPI_Imrecv_c(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message,
                              MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct held *h = find(*message);
    struct shim_pair p;
    if (h == NULL) {
        return PMPI_Imrecv_c(buf, count, type, message, request);
    }
    int rc = pli_shim_counts_pair(&p, count, type);
    rc = rc == MPI_SUCCESS ? MPI_Imrecv(buf, p.count, p.type, message, request)
                           : pli_shim_end(h->span->handle, rc);
    pli_shim_counts_drop(&p);
    return rc;
}

PLI_SHIM_API int MPI_Mrecv_c(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *message,
                             MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct held *h = find(*message);
    struct shim_pair p;
    if (h == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Mrecv_c(buf, count, type, message, status));
    }
    int rc = pli_shim_counts_pair(&p, count, type);
    rc = rc == MPI_SUCCESS ? MPI_Mrecv(buf, p.count, p.type, message, status)
                           : pli_shim_end(h->span->handle, rc);
    pli_shim_counts_drop(&p);
    return rc;
}
#endif
