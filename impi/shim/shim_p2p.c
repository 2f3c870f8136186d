// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point on communicators that span clients. To and from processes of this client the
// native library does it, on the native communicator behind the handle.
#include "shim/shim.h"
#include "shim/shim_layout.h"
#include "shim/shim_pack.h"
#include "shim/shim_req.h"
#include "shim/shim_task.h"
#include <stdlib.h>
#include <string.h>

static const char *const bad_rank = "no such rank in a communicator that spans clients";
static const char *const bad_tag = "a tag is below 0 or above MPI_TAG_UB";

static int check_send(const struct shim_span *s, int dest, int tag, int count)
{
    if (dest < 0 || dest >= s->size) {
        return pli_shim_fail(MPI_ERR_RANK, bad_rank);
    }
    if (tag < 0 || tag > pli_shim.tag_ub) {
        return pli_shim_fail(MPI_ERR_TAG, bad_tag);
    }
    return count < 0 ? MPI_ERR_COUNT : MPI_SUCCESS;
}

int pli_shim_p2p_check_recv(const struct shim_span *s, int source, int tag, int count)
{
    int rc =
        check_send(s, source == MPI_ANY_SOURCE ? 0 : source, tag == MPI_ANY_TAG ? 0 : tag, count);
    return rc;
}

// Whether the message goes to another client or is packed, so the native library must not get it
// as it is.
static bool is_ours(const struct shim_span *s, int peer, MPI_Datatype type)
{
    return s != NULL && peer != MPI_PROC_NULL &&
           (peer < 0 || peer >= s->size || s->native[peer] < 0 ||
            pli_shim_packed_goes(s, peer, type));
}

static int native_rank(const struct shim_span *s, int peer)
{
    return s == NULL || peer < 0 || peer >= s->size ? peer : s->native[peer];
}

int pli_shim_p2p_isend(struct shim_req *r)
{
    size_t size;
    if (r->span->native[r->peer] >= 0) {
        return pli_shim_packed_isend(r);
    }
    int rc = pli_shim_type_size(r->type, &size);
    if (rc == MPI_SUCCESS && r->type == MPI_PACKED &&
        pli_shim_pack_is_native(r->buf, (size_t)r->count)) {
        rc = pli_shim_fail(MPI_ERR_TYPE,
                           "a message of the same client that was not sent as MPI_PACKED, but "
                           "received so, is sent on to another client, which needs its types; "
                           "unpack it first");
    }
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    unsigned char *ext = pli_shim_link_room(size * (size_t)r->count + 1);
    if (ext == NULL) {
        return MPI_ERR_NO_MEM;
    }
    rc = pli_shim_type_pack(r->buf, r->count, r->type, ext);
    if (rc != MPI_SUCCESS) {
        pli_shim_link_release(ext);
        return rc;
    }
    return pli_shim_msg_send(r, ext, size * (size_t)r->count);
}

int pli_shim_p2p_irecv(struct shim_req *r)
{
    size_t size;
    struct shim_span *s = r->span;
    bool is_here = r->peer != MPI_ANY_SOURCE && s->native[r->peer] >= 0;
    int rc = pli_shim_type_size(r->type, &size);
    if (is_here &&
        !pli_shim_msg_has_local(s)) { // no receive that waits here could have its message
        r->is_done = false;
        pli_shim.n_pending++;
        rc = pli_shim_packed_room(&r->room, r->buf, r->count, r->type, NULL);
        rc = rc == MPI_SUCCESS ? PMPI_Irecv(r->room.buf, r->room.count, r->room.type,
                                            s->native[r->peer], r->tag, s->handle, &r->native)
                               : rc;
        if (rc != MPI_SUCCESS) {
            r->native = MPI_REQUEST_NULL;
            pli_shim_req_done(r, rc);
        }
        return rc;
    }
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    r->cap = size * (uint64_t)r->count;
    r->may_local = is_here || r->peer == MPI_ANY_SOURCE;
    pli_shim_msg_post(r);
    return MPI_SUCCESS;
}

static struct shim_req *make_send(struct shim_span *s, const void *buf, int count,
                                  MPI_Datatype type, int dest, int tag, enum shim_mode mode)
{
    struct shim_req *r = pli_shim_req_create(SHIM_SEND, s);
    if (r != NULL) {
        r->buf = (void *)(uintptr_t)buf;
        r->count = count;
        r->type = type;
        r->peer = dest;
        r->tag = tag;
        r->mode = mode;
    }
    return r;
}

int pli_shim_p2p_make_recv(struct shim_span *s, void *buf, int count, MPI_Datatype type, int source,
                           int tag, struct shim_req **out)
{
    int rc = pli_shim_p2p_check_recv(s, source, tag, count);
    struct shim_req *r = rc == MPI_SUCCESS ? pli_shim_req_create(SHIM_RECV, s) : NULL;
    if (r == NULL) {
        return rc != MPI_SUCCESS ? rc : MPI_ERR_NO_MEM;
    }
    r->buf = buf;
    r->count = count;
    r->type = type;
    r->peer = source;
    r->tag = tag;
    rc = pli_shim_type_hold(&r->type);
    r->has_type = rc == MPI_SUCCESS;
    if (rc != MPI_SUCCESS) {
        pli_shim_req_destroy(r);
        return rc;
    }
    *out = r;
    return MPI_SUCCESS;
}

static int start_send(struct shim_span *s, const void *buf, int count, MPI_Datatype type, int dest,
                      int tag, enum shim_mode mode, struct shim_req **out)
{
    int rc = check_send(s, dest, tag, count);
    struct shim_req *r = NULL;
    if (rc == MPI_SUCCESS) {
        r = make_send(s, buf, count, type, dest, tag, mode);
        rc = r == NULL ? MPI_ERR_NO_MEM : pli_shim_p2p_isend(r);
    }
    if (rc != MPI_SUCCESS) {
        if (r != NULL) {
            pli_shim_req_destroy(r);
        }
        return rc;
    }
    *out = r;
    return MPI_SUCCESS;
}

static int start_recv(struct shim_span *s, void *buf, int count, MPI_Datatype type, int source,
                      int tag, struct shim_req **out)
{
    int rc = pli_shim_p2p_make_recv(s, buf, count, type, source, tag, out);
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_p2p_irecv(*out);
        if (rc != MPI_SUCCESS) {
            pli_shim_req_destroy(*out);
        }
    }
    return rc;
}

int pli_shim_p2p_finish(struct shim_req *r, MPI_Status *status)
{
    int rc = pli_shim_req_wait(r);
    pli_shim_req_copy(status, &r->status);
    (void)pli_shim_msg_unpost(r);
    pli_shim_req_destroy(r);
    return rc;
}

static int send(struct shim_span *s, const void *buf, int count, MPI_Datatype type, int dest,
                int tag, enum shim_mode mode)
{
    struct shim_req *r;
    int rc = start_send(s, buf, count, type, dest, tag, mode, &r);
    return rc == MPI_SUCCESS ? pli_shim_p2p_finish(r, MPI_STATUS_IGNORE) : rc;
}

static int isend(struct shim_span *s, const void *buf, int count, MPI_Datatype type, int dest,
                 int tag, enum shim_mode mode, MPI_Request *request)
{
    struct shim_req *r;
    int rc = start_send(s, buf, count, type, dest, tag, mode, &r);
    if (rc == MPI_SUCCESS) {
        r->is_active = true;
        rc = pli_shim_req_show(r, request);
    }
    return rc;
}

static int init_send(struct shim_span *s, const void *buf, int count, MPI_Datatype type, int dest,
                     int tag, enum shim_mode mode, MPI_Request *request)
{
    int rc = check_send(s, dest, tag, count);
    struct shim_req *r = rc != MPI_SUCCESS ? NULL : make_send(s, buf, count, type, dest, tag, mode);
    if (r == NULL) {
        return rc != MPI_SUCCESS ? rc : MPI_ERR_NO_MEM;
    }
    rc = pli_shim_type_hold(&r->type);
    r->has_type = rc == MPI_SUCCESS;
    r->is_persistent = true;
    r->is_done = true;
    return rc == MPI_SUCCESS ? pli_shim_req_show(r, request) : rc;
}

// The blocking native call, so that what is under way to and from others goes on meanwhile.
#define SENDS(Word, word, mode)                                                                    \
    PLI_SHIM_API int MPI_##Word(const void *buf, int count, MPI_Datatype type, int dest, int tag,  \
                                MPI_Comm comm)                                                     \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_span *s = pli_shim_span_find(comm);                                            \
        if (is_ours(s, dest, type)) {                                                              \
            return pli_shim_end(comm, send(s, buf, count, type, dest, tag, mode));                 \
        }                                                                                          \
        dest = native_rank(s, dest);                                                               \
        if (!pli_shim.is_on || !pli_shim_req_is_busy()) {                                          \
            return PLI_SHIM_OUTSIDE(PMPI_##Word(buf, count, type, dest, tag, comm));               \
        }                                                                                          \
        MPI_Request req;                                                                           \
        int rc = PMPI_I##word(buf, count, type, dest, tag, comm, &req);                            \
        return rc == MPI_SUCCESS ? pli_shim_req_wait_native(&req, MPI_STATUS_IGNORE) : rc;         \
    }                                                                                              \
    PLI_SHIM_API int MPI_I##word(const void *buf, int count, MPI_Datatype type, int dest, int tag, \
                                 MPI_Comm comm, MPI_Request *request)                              \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_span *s = pli_shim_span_find(comm);                                            \
        if (is_ours(s, dest, type)) {                                                              \
            return pli_shim_end(comm, isend(s, buf, count, type, dest, tag, mode, request));       \
        }                                                                                          \
        return PMPI_I##word(buf, count, type, native_rank(s, dest), tag, comm, request);           \
    }

#define SEND_INIT(Word, mode)                                                                      \
    PLI_SHIM_API int MPI_##Word##_init(const void *buf, int count, MPI_Datatype type, int dest,    \
                                       int tag, MPI_Comm comm, MPI_Request *request)               \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_span *s = pli_shim_span_find(comm);                                            \
        if (is_ours(s, dest, type)) {                                                              \
            return pli_shim_end(comm, init_send(s, buf, count, type, dest, tag, mode, request));   \
        }                                                                                          \
        return PMPI_##Word##_init(buf, count, type, native_rank(s, dest), tag, comm, request);     \
    }

SENDS(Send, send, SHIM_STANDARD)
SENDS(Ssend, ssend, SHIM_SYNC)
SENDS(Bsend, bsend, SHIM_BUFFERED)
SENDS(Rsend, rsend, SHIM_STANDARD)
SEND_INIT(Send, SHIM_STANDARD)
SEND_INIT(Ssend, SHIM_SYNC)
SEND_INIT(Bsend, SHIM_BUFFERED)
SEND_INIT(Rsend, SHIM_STANDARD)

// From a process of this client, in a blocking call of the native library: that gives errors to the
// handler of the communicator, which some libraries do not in completing a request. While something
// of ours is under way the message is looked for first, so that the call does not wait; where
// another thread could receive it then, it is taken out.
static int recv_here(struct shim_span *s, void *buf, int count, MPI_Datatype type, int source,
                     int tag, MPI_Status *status)
{
    struct shim_pace pace = { 0 };
    int flag = 0, rc = MPI_SUCCESS, native = s->native[source];
    MPI_Message message;
    MPI_Status st;
    MPI_Comm comm = s->handle;
    struct shim_room room;
    unsigned char near[SHIM_PACKED_NEAR + SHIM_PACKED_MARK];
    while (pli_shim_req_is_busy() && flag == 0) {
        rc = pli_shim.has_threads
                 ? PMPI_Improbe(native, tag, comm, &flag, &message, MPI_STATUS_IGNORE)
                 : PMPI_Iprobe(native, tag, comm, &flag, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS) {
            return rc;
        }
        if (flag == 0) {
            pace.n_idle = pli_shim_link_poll() ? 0 : pace.n_idle;
            pli_shim_link_pause(&pace, true);
        }
    }
    rc = pli_shim_packed_room(&room, buf, count, type, near);
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(comm, rc);
    }
    rc = flag != 0 && pli_shim.has_threads
             ? PLI_SHIM_OUTSIDE(PMPI_Mrecv(room.buf, room.count, room.type, &message, &st))
             : PLI_SHIM_OUTSIDE(PMPI_Recv(room.buf, room.count, room.type, native, tag, comm, &st));
    st.MPI_SOURCE = source;
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_end(comm, pli_shim_packed_take(&room, buf, count, type, &st));
    }
    pli_shim_packed_drop(&room, near);
    pli_shim_req_copy(status, &st);
    return rc;
}

PLI_SHIM_API int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL || source == MPI_PROC_NULL) {
        if (!pli_shim.is_on || !pli_shim_req_is_busy()) {
            return PLI_SHIM_OUTSIDE(PMPI_Recv(buf, count, type, source, tag, comm, status));
        }
        MPI_Request req;
        int rc = PMPI_Irecv(buf, count, type, source, tag, comm, &req);
        return rc == MPI_SUCCESS ? pli_shim_req_wait_native(&req, status) : rc;
    }
    if (source >= 0 && source < s->size && s->native[source] >= 0 && !pli_shim_msg_has_local(s)) {
        return recv_here(s, buf, count, type, source, tag, status);
    }
    struct shim_req *r;
    int rc = start_recv(s, buf, count, type, source, tag, &r);
    return pli_shim_end(comm, rc == MPI_SUCCESS ? pli_shim_p2p_finish(r, status) : rc);
}

PLI_SHIM_API int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag,
                           MPI_Comm comm, MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL || source == MPI_PROC_NULL) {
        return PMPI_Irecv(buf, count, type, source, tag, comm, request);
    }
    struct shim_req *r;
    int rc = start_recv(s, buf, count, type, source, tag, &r);
    if (rc == MPI_SUCCESS) {
        r->is_active = true;
        rc = pli_shim_req_show(r, request);
    }
    return pli_shim_end(comm, rc);
}

PLI_SHIM_API int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag,
                               MPI_Comm comm, MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL || source == MPI_PROC_NULL) {
        return PMPI_Recv_init(buf, count, type, source, tag, comm, request);
    }
    struct shim_req *r;
    int rc = pli_shim_p2p_make_recv(s, buf, count, type, source, tag, &r);
    if (rc == MPI_SUCCESS) {
        r->is_persistent = r->is_done = true;
        rc = pli_shim_req_show(r, request);
    }
    return pli_shim_end(comm, rc);
}

PLI_SHIM_API int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                              int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                              int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    PLI_SHIM_ENTER;
    MPI_Request req[2];
    MPI_Status st;
    if (!pli_shim.is_on || (pli_shim_span_find(comm) == NULL && !pli_shim_req_is_busy())) {
        return PLI_SHIM_OUTSIDE(PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                              recvcount, recvtype, source, recvtag, comm, status));
    }
    int rc = MPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &req[0]);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = MPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &req[1]);
    if (rc != MPI_SUCCESS) {
        (void)MPI_Cancel(&req[0]);
        (void)MPI_Wait(&req[0], MPI_STATUS_IGNORE);
        return rc;
    }
    rc = MPI_Wait(&req[0], &st);
    pli_shim_req_copy(status, &st);
    int send_rc = MPI_Wait(&req[1], MPI_STATUS_IGNORE);
    return rc != MPI_SUCCESS ? rc : send_rc;
}

// The same data elsewhere; mem: to be freed.
static int copy_buffer(const void *buf, MPI_Count count, MPI_Datatype type, void **out, void **mem)
{
    const struct shim_layout *l;
    int rc = count < 0 ? MPI_ERR_COUNT : pli_shim_layout_find(type, &l);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    size_t len = l->size * (size_t)count;
    unsigned char *packed = malloc(len + 1);
    *mem = packed != NULL ? pli_shim_type_buffer(count, type, out) : NULL;
    if (*mem != NULL) {
        pli_shim_layout_gather(l, buf, count, packed);
        pli_shim_layout_scatter(l, packed, len, *out);
    }
    free(packed);
    return *mem != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

PLI_SHIM_API int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest,
                                      int sendtag, int source, int recvtag, MPI_Comm comm,
                                      MPI_Status *status)
{
    PLI_SHIM_ENTER;
    void *copy, *mem;
    if (!pli_shim.is_on || pli_shim_span_find(comm) == NULL) {
        return PLI_SHIM_OUTSIDE(
            PMPI_Sendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, status));
    }
    int rc = copy_buffer(buf, count, type, &copy, &mem);
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(comm, rc);
    }
    if (rc == MPI_SUCCESS) {
        rc = MPI_Sendrecv(copy, count, type, dest, sendtag, buf, count, type, source, recvtag, comm,
                          status);
    }
    free(mem);
    return rc;
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
struct sendrecv {
    struct shim_req *req;
    void *out, *in, *mem; // mem: freed at the end
    MPI_Count n_out, n_in;
    MPI_Datatype out_type, in_type;
    int dest, out_tag, source, in_tag;
};

// Runs as an operation of its own: both are begun in the call, and it ends when both have.
static int run_sendrecv(struct shim_span *s, void *arg)
{
    struct sendrecv *a = arg;
    struct shim_req *in = NULL, *out = NULL;
    MPI_Request native = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS, sent = MPI_SUCCESS;
    if (a->source != MPI_PROC_NULL) {
        rc = start_recv(s, a->in, a->n_in, a->in_type, a->source, a->in_tag, &in);
    }
    if (rc == MPI_SUCCESS && is_ours(s, a->dest, a->out_type)) {
        sent =
            start_send(s, a->out, a->n_out, a->out_type, a->dest, a->out_tag, SHIM_STANDARD, &out);
    } else if (rc == MPI_SUCCESS && a->dest != MPI_PROC_NULL) {
        sent = PMPI_Isend(a->out, (int)a->n_out, a->out_type, s->native[a->dest], a->out_tag,
                          s->handle, &native);
    }
    if (in != NULL) {
        rc = pli_shim_p2p_finish(in, &a->req->status);
    } else {
        a->req->status.MPI_SOURCE = MPI_PROC_NULL;
    }
    if (out != NULL) {
        sent = pli_shim_p2p_finish(out, MPI_STATUS_IGNORE);
    } else if (sent == MPI_SUCCESS && native != MPI_REQUEST_NULL) {
        sent = pli_shim_req_wait_native(&native, MPI_STATUS_IGNORE);
    }
    free(a->mem);
    return rc != MPI_SUCCESS ? rc : sent;
}

static int isendrecv(struct shim_span *s, const struct sendrecv *given, MPI_Request *request)
{
    struct sendrecv *a = malloc(sizeof *a);
    struct shim_req *r = a == NULL ? NULL : pli_shim_req_create(SHIM_COLL, s);
    if (r == NULL) {
        free(a);
        return MPI_ERR_NO_MEM;
    }
    *a = *given;
    a->req = r;
    r->run = run_sendrecv;
    r->arg = a;
    r->is_done = true;
    pli_shim_free_begin();
    int rc = pli_shim_task_start(r);
    if (rc == MPI_SUCCESS) {
        return pli_shim_req_show(r, request);
    }
    pli_shim_req_destroy(r);
    return rc;
}

PLI_SHIM_API int MPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                               int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                               int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                              recvtype, source, recvtag, comm, request);
    }
    struct sendrecv a = { .out = (void *)(uintptr_t)sendbuf,
                          .in = recvbuf,
                          .n_out = sendcount,
                          .n_in = recvcount,
                          .out_type = sendtype,
                          .in_type = recvtype,
                          .dest = dest,
                          .out_tag = sendtag,
                          .source = source,
                          .in_tag = recvtag };
    return pli_shim_end(comm, isendrecv(s, &a, request));
}

PLI_SHIM_API int MPI_Isendrecv_replace(void *buf, int count, MPI_Datatype type, int dest,
                                       int sendtag, int source, int recvtag, MPI_Comm comm,
                                       MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Isendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm,
                                      request);
    }
    struct sendrecv a = { .in = buf,
                          .n_out = count,
                          .n_in = count,
                          .out_type = type,
                          .in_type = type,
                          .dest = dest,
                          .out_tag = sendtag,
                          .source = source,
                          .in_tag = recvtag };
    int rc = copy_buffer(buf, count, type, &a.out, &a.mem);
    return pli_shim_end(comm, rc == MPI_SUCCESS ? isendrecv(s, &a, request) : rc);
}
#endif
