// SPDX-License-Identifier: BSD-3-Clause
// Matches messages: those to other clients under way, those from other clients and their receives.
// A receive that could also take a message of the native library (any source), and every later one
// that could take what that one must have first, waits here too; native messages are then looked
// for with matching probes, in the order of the receives.
#include "agent/agent_wire.h"
#include "engine/impi_idmap.h"
#include "shim/shim.h"
#include "shim/shim_req.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_UNSENT = 64 }; // short messages the agent may hold before a send waits for it

// In the count of a status: bytes of external32; of a native message that was not received yet,
// and may be one of packed data.
#define MARK ((MPI_Count)1 << 60)
#define MARK_NATIVE ((MPI_Count)1 << 59)

struct shim_msg { // unexpected
    uint32_t src;
    uint64_t cid, msglen, len, srqid, handle;
    int tag;
    unsigned char *data;
    bool is_shared; // there is room for all of it at data
    struct shim_msg *next;
};

static struct shim_msg *first, **last = &first;
static struct shim_req *post_first, **post_last = &post_first;
static int n_local;                    // posted with may_local
static struct pli_impi_idmap sends;    // by id
static struct pli_impi_idmap arriving; // by handle
static uint64_t next_id = 1;
static unsigned n_unsent;

int pli_shim_msg_send(struct shim_req *r, unsigned char *ext, size_t len)
{
    r->id = next_id++;
    r->is_sent = r->is_matched = r->has_cancel = r->is_done = false;
    r->srqid = 0;
    if (pli_impi_idmap_add(&sends, r->id, r) != PLI_IMPI_OK) {
        pli_shim_link_release(ext);
        return MPI_ERR_NO_MEM;
    }
    pli_shim.n_pending++;
    struct pli_agent_frame f = { .type = PLI_AGENT_SEND,
                                 .flags = r->mode == SHIM_SYNC ? PLI_AGENT_IS_SYNC : 0,
                                 .len = len,
                                 .id = r->id,
                                 .cid = r->cid,
                                 .peer = r->span->world[r->peer],
                                 .lsrank = r->span->rank,
                                 .tag = r->tag };
    pli_shim_link_put(&f, ext, ext);
    n_unsent++;
    pli_shim_req_empty(&r->status);
    bool is_kept = len <= pli_shim.job->datalen && n_unsent <= MAX_UNSENT;
    if (r->mode == SHIM_BUFFERED || (r->mode == SHIM_STANDARD && is_kept)) {
        pli_shim_req_done(r, MPI_SUCCESS);
    }
    return MPI_SUCCESS;
}

static void end_send(struct shim_req *r, int err)
{
    pli_shim_req_done(r, err);
    if (r->is_free && !r->has_cancel) {
        pli_impi_idmap_remove(&sends, r->id);
        pli_shim_req_destroy(r);
    }
}

static void on_sent(const struct pli_agent_frame *f)
{
    struct shim_req *r = pli_impi_idmap_find(&sends, f->id);
    n_unsent--;
    if (r == NULL) {
        return; // it was done long ago
    }
    r->is_sent = true;
    r->srqid = f->srqid;
    if ((f->flags & PLI_AGENT_IS_BAD) != 0) {
        end_send(r, pli_shim_fail(MPI_ERR_OTHER, "the receiver's client has finalized"));
    } else if (r->mode != SHIM_SYNC || r->is_matched) {
        end_send(r, MPI_SUCCESS);
    }
}

static void on_matched(const struct pli_agent_frame *f)
{
    struct shim_req *r = pli_impi_idmap_find(&sends, f->id);
    if (r != NULL) {
        r->is_matched = true;
        if (r->is_sent) {
            end_send(r, MPI_SUCCESS);
        }
    }
}

static void on_cancelled(const struct pli_agent_frame *f)
{
    struct shim_req *r = pli_impi_idmap_find(&sends, f->id);
    if (r == NULL) {
        return;
    }
    bool yes = (f->flags & PLI_AGENT_IS_YES) != 0;
    if (!yes && f->srqid == 0 && r->srqid != 0 && r->mode != SHIM_SYNC) {
        // it left while we asked, and the agent no longer knew it by our number
        struct pli_agent_frame again = { .type = PLI_AGENT_CANCEL,
                                         .id = r->id,
                                         .peer = r->span->world[r->peer],
                                         .srqid = r->srqid };
        pli_shim_link_put(&again, NULL, NULL);
        return;
    }
    r->has_cancel = false;
    if (yes && !r->is_sent) {
        n_unsent--; // nothing more is told of it
    }
    if (yes) {
        (void)PMPI_Status_set_cancelled(&r->status, 1);
        end_send(r, MPI_SUCCESS);
    } else if (r->is_done && r->is_free) {
        end_send(r, r->err);
    }
}

// Forget a send whose request the program gives up.
static void forget_send(struct shim_req *r)
{
    if (pli_impi_idmap_find(&sends, r->id) == r) {
        pli_impi_idmap_remove(&sends, r->id);
    }
}

void pli_shim_msg_set_status(MPI_Status *st, int source, int tag, uint64_t len)
{
    if (st == MPI_STATUS_IGNORE) {
        return;
    }
    int err = st->MPI_ERROR;
    pli_shim_req_empty(st);
    st->MPI_SOURCE = source;
    st->MPI_TAG = tag;
    st->MPI_ERROR = err;
    (void)PMPI_Status_set_elements_x(st, MPI_BYTE, (MPI_Count)len | MARK);
}

void pli_shim_msg_set_native(MPI_Status *st)
{
    MPI_Count n = 0;
    if (PMPI_Get_elements_x(st, MPI_BYTE, &n) == MPI_SUCCESS && n >= SHIM_PACKED_MARK) {
        (void)PMPI_Status_set_elements_x(st, MPI_BYTE, n | MARK_NATIVE);
    }
}

static bool fits(const struct shim_req *r, uint64_t cid, uint32_t src, int tag)
{
    return r->cid == cid && (r->tag == MPI_ANY_TAG || r->tag == tag) &&
           (r->peer == MPI_ANY_SOURCE || r->span->world[r->peer] == src);
}

static void remove_posted(struct shim_req *r)
{
    struct shim_req **at = &post_first;
    while (*at != r) {
        at = &(*at)->post_next;
    }
    *at = r->post_next;
    if (post_last == &r->post_next) {
        post_last = at;
    }
    r->is_posted = false;
    n_local -= r->may_local;
    r->may_local = false;
}

// All of the message that there is room for is in r->data.
static void deliver(struct shim_req *r)
{
    uint64_t len = r->msglen < r->cap ? r->msglen : r->cap;
    int rc = MPI_SUCCESS;
    if (r->type == MPI_DATATYPE_NULL) { // for collectives: bytes as they are
        if (len > 0) {
            memcpy(r->buf, r->data, len);
        }
    } else {
        rc = pli_shim_type_unpack(r->data, len, r->buf, r->count, r->type);
    }
    pli_shim_link_release(r->data);
    r->data = NULL;
    if (rc == MPI_SUCCESS && r->msglen > r->cap) {
        rc = pli_shim_fail(MPI_ERR_TRUNCATE,
                           "a message from another MPI is longer than the buffer given for it");
    }
    pli_shim_msg_set_status(&r->status, pli_shim_span_rank_of(r->span, r->src), r->status.MPI_TAG,
                            len);
    pli_shim_req_done(r, rc);
    if (r->is_free) {
        pli_shim_req_destroy(r);
    }
}

// r receives message m, whose first part has come.
static void take(struct shim_req *r, struct shim_msg *m)
{
    bool is_long = m->len < m->msglen;
    uint64_t want = m->msglen < r->cap ? m->msglen : r->cap;
    r->src = m->src;
    r->msglen = m->msglen;
    r->handle = m->handle;
    r->status.MPI_TAG = m->tag;
    if (m->handle != 0) {
        struct pli_agent_frame f = {
            .type = PLI_AGENT_ACCEPT, .flags = is_long, .handle = m->handle, .msglen = want
        };
        pli_shim_link_put(&f, NULL, NULL);
    }
    if (!is_long) {
        r->data = m->data;
        deliver(r);
        return;
    }
    r->data = m->is_shared ? m->data : malloc(want + 1);
    if (r->data == NULL || pli_impi_idmap_add(&arriving, m->handle, r) != PLI_IMPI_OK) {
        pli_shim_die("out of memory for a message");
    }
    if (!m->is_shared) { // else all of it will be there
        memcpy(r->data, m->data, m->len < want ? m->len : want);
        free(m->data);
    }
}

static void on_arrived(const struct pli_agent_frame *f, unsigned char *data)
{
    bool is_shared = (f->flags & PLI_AGENT_IS_SHARED) != 0;
    if (is_shared) {
        data = pli_shim_link_shared(f->id, f->msglen);
        if (data == NULL) {
            pli_shim_die("the agent named memory that is not there");
        }
    }
    struct shim_msg m = { .src = f->peer,
                          .cid = f->cid,
                          .msglen = f->msglen,
                          .len = is_shared ? f->n : f->len,
                          .is_shared = is_shared,
                          .srqid = f->srqid,
                          .handle = f->handle,
                          .tag = f->tag,
                          .data = data };
    for (struct shim_req *r = post_first; r != NULL; r = r->post_next) {
        if (fits(r, m.cid, m.src, m.tag)) {
            remove_posted(r);
            take(r, &m);
            return;
        }
    }
    struct shim_msg *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        pli_shim_die("out of memory for a message");
    }
    *kept = m;
    *last = kept;
    last = &kept->next;
}

static struct shim_msg *take_out(struct shim_msg **at)
{
    struct shim_msg *m = *at;
    *at = m->next;
    if (last == &m->next) {
        last = at;
    }
    return m;
}

// Of several with this number the newest is meant.
static void on_asked(const struct pli_agent_frame *f)
{
    struct shim_msg **found = NULL;
    for (struct shim_msg **at = &first; *at != NULL; at = &(*at)->next) {
        if ((*at)->src == f->peer && (*at)->srqid == f->srqid) {
            found = at;
        }
    }
    struct pli_agent_frame a = { .type = PLI_AGENT_ANSWER, .peer = f->peer, .srqid = f->srqid };
    if (found != NULL) {
        struct shim_msg *m = take_out(found);
        a.flags = PLI_AGENT_IS_YES;
        a.handle = m->handle;
        pli_shim_link_release(m->data);
        free(m);
    }
    pli_shim_link_put(&a, NULL, NULL);
}

void *pli_shim_msg_room(const struct pli_agent_frame *f)
{
    struct shim_req *r = pli_impi_idmap_find(&arriving, f->handle);
    return r == NULL || f->msglen + f->len > r->cap ? NULL : r->data + f->msglen;
}

static void on_received(const struct pli_agent_frame *f)
{
    struct shim_req *r = pli_impi_idmap_find(&arriving, f->handle);
    if (r == NULL) {
        return;
    }
    pli_impi_idmap_remove(&arriving, f->handle);
    if ((f->flags & PLI_AGENT_IS_BAD) != 0) {
        pli_shim_req_done(r, pli_shim_fail(MPI_ERR_OTHER, "the rest of a message was lost"));
        return;
    }
    deliver(r);
}

void pli_shim_msg_frame(const struct pli_agent_frame *f, void *room)
{
    switch (f->type) {
    case PLI_AGENT_ARRIVED:
        on_arrived(f, room);
        break;
    case PLI_AGENT_PART:
        break; // it is in its place
    case PLI_AGENT_RECEIVED:
        on_received(f);
        break;
    case PLI_AGENT_SENT:
        on_sent(f);
        break;
    case PLI_AGENT_MATCHED:
        on_matched(f);
        break;
    case PLI_AGENT_CANCELLED:
        on_cancelled(f);
        break;
    case PLI_AGENT_ASKED:
        on_asked(f);
        break;
    default:
        pli_shim_die("the agent said something strange");
    }
}

void pli_shim_msg_post(struct shim_req *r)
{
    r->is_done = false;
    pli_shim.n_pending++;
    for (struct shim_msg **at = &first; *at != NULL; at = &(*at)->next) {
        if (fits(r, (*at)->cid, (*at)->src, (*at)->tag)) {
            struct shim_msg *m = take_out(at);
            r->may_local = false;
            take(r, m);
            free(m);
            return;
        }
    }
    r->is_posted = true;
    r->post_next = NULL;
    *post_last = r;
    post_last = &r->post_next;
    n_local += r->may_local;
    if (r->may_local) {
        pli_shim_msg_match_local();
    }
}

bool pli_shim_msg_unpost(struct shim_req *r)
{
    if (r->kind == SHIM_SEND) {
        forget_send(r);
        return true;
    }
    if (!r->is_posted) {
        return false;
    }
    remove_posted(r);
    return true;
}

// The first message of another client that a receive from `source` would take.
static struct shim_msg **look(struct shim_span *s, int source, int tag)
{
    struct shim_req want = { .span = s, .cid = s->cid, .peer = source, .tag = tag };
    struct shim_msg **at = &first;
    while (*at != NULL && !fits(&want, (*at)->cid, (*at)->src, (*at)->tag)) {
        at = &(*at)->next;
    }
    return at;
}

bool pli_shim_msg_probe(struct shim_span *s, int source, int tag, MPI_Status *status)
{
    const struct shim_msg *m = *look(s, source, tag);
    if (m != NULL) {
        pli_shim_msg_set_status(status, pli_shim_span_rank_of(s, m->src), m->tag, m->msglen);
    }
    return m != NULL;
}

struct shim_msg *pli_shim_msg_claim(struct shim_span *s, int source, int tag)
{
    struct shim_msg **at = look(s, source, tag);
    return *at != NULL ? take_out(at) : NULL;
}

void pli_shim_msg_give(struct shim_req *r, struct shim_msg *m)
{
    r->is_done = false;
    pli_shim.n_pending++;
    take(r, m);
    free(m);
}

void pli_shim_msg_give_native(struct shim_req *r, MPI_Message *m)
{
    int rc = pli_shim_packed_room(&r->room, r->buf, r->count, r->type, NULL);
    rc = rc == MPI_SUCCESS ? PMPI_Imrecv(r->room.buf, r->room.count, r->room.type, m, &r->native)
                           : rc;
    if (rc != MPI_SUCCESS) {
        r->native = MPI_REQUEST_NULL;
        pli_shim_req_done(r, rc);
    }
}

bool pli_shim_msg_has_local(const struct shim_span *s)
{
    for (const struct shim_req *r = post_first; n_local > 0 && r != NULL; r = r->post_next) {
        if (r->may_local && r->cid == s->cid) {
            return true;
        }
    }
    return false;
}

static int native_source(const struct shim_req *r)
{
    return r->peer == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : r->span->native[r->peer];
}

static bool take_native(struct shim_req *r)
{
    int flag = 0;
    MPI_Message m;
    MPI_Status st;
    int rc = PMPI_Improbe(native_source(r), r->tag, r->span->handle, &flag, &m, &st);
    if (rc != MPI_SUCCESS || flag == 0) {
        return false;
    }
    remove_posted(r);
    pli_shim_msg_give_native(r, &m);
    return true;
}

// If a native message is there for r, it goes to the first of r and those before it that it fits.
// The probe only shows that there is one: it may be an earlier receive's.
static bool match_one(struct shim_req *r)
{
    int flag = 0;
    MPI_Status st;
    if (PMPI_Iprobe(native_source(r), r->tag, r->span->handle, &flag, &st) != MPI_SUCCESS ||
        flag == 0) {
        return false;
    }
    for (struct shim_req *k = post_first; k != r; k = k->post_next) {
        if (k->may_local && k->cid == r->cid && take_native(k)) {
            return true;
        }
    }
    return take_native(r);
}

void pli_shim_msg_match_local(void)
{
    struct shim_req *r = n_local > 0 ? post_first : NULL;
    while (r != NULL) {
        if (r->may_local && match_one(r)) {
            r = n_local > 0 ? post_first : NULL; // the list has changed
        } else {
            r = r->post_next;
        }
    }
}

// Bytes of external32; false: native, and `*st` is one as the native library has it. Of a native
// message that a probe has found nobody knows yet whether it is packed: what is asked as MPI_PACKED
// is.
static bool is_marked(const MPI_Status **st, MPI_Status *own, MPI_Datatype type, MPI_Count *len_out)
{
    MPI_Count n = 0;
    if (!pli_shim.is_on || *st == MPI_STATUS_IGNORE ||
        PMPI_Get_elements_x(*st, MPI_BYTE, &n) != MPI_SUCCESS || n < MARK_NATIVE) {
        return false;
    }
    *len_out = n & ~(MARK | MARK_NATIVE);
    if (n < MARK && type == MPI_PACKED) {
        *len_out -= SHIM_PACKED_MARK;
    } else if (n < MARK) {
        *own = **st;
        (void)PMPI_Status_set_elements_x(own, MPI_BYTE, *len_out);
        *st = own;
        return false;
    }
    return true;
}

static int count_whole(MPI_Datatype type, MPI_Count len, MPI_Count *count)
{
    size_t size;
    int rc = pli_shim_type_size(type, &size);
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(MPI_COMM_WORLD, rc);
    }
    bool is_whole = size == 0 ? len == 0 : len % (MPI_Count)size == 0;
    *count = !is_whole ? MPI_UNDEFINED : size == 0 ? 0 : len / (MPI_Count)size;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    PLI_SHIM_ENTER;
    MPI_Status own;
    MPI_Count len, n = 0;
    if (!is_marked(&status, &own, type, &len)) {
        return PMPI_Get_count(status, type, count);
    }
    int rc = count_whole(type, len, &n);
    *count = n <= INT32_MAX ? (int)n : MPI_UNDEFINED;
    return rc;
}

#if MPI_VERSION >= 4
PLI_SHIM_API int MPI_Get_count_c(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    PLI_SHIM_ENTER;
    MPI_Status own;
    MPI_Count len;
    return is_marked(&status, &own, type, &len) ? count_whole(type, len, count)
                                                : PMPI_Get_count_c(status, type, count);
}

PLI_SHIM_API int MPI_Get_elements_c(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    return MPI_Get_elements_x(status, type, count);
}
#endif

PLI_SHIM_API int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    PLI_SHIM_ENTER;
    MPI_Status own;
    MPI_Count len;
    if (!is_marked(&status, &own, type, &len)) {
        return PMPI_Get_elements_x(status, type, count);
    }
    int rc = pli_shim_type_elements(type, (size_t)len, count);
    return rc == MPI_SUCCESS ? rc : pli_shim_end(MPI_COMM_WORLD, rc);
}

PLI_SHIM_API int MPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count)
{
    PLI_SHIM_ENTER;
    MPI_Status own;
    MPI_Count len, n = 0;
    if (!is_marked(&status, &own, type, &len)) {
        return PMPI_Get_elements(status, type, count);
    }
    int rc = pli_shim_type_elements(type, (size_t)len, &n);
    *count = n <= INT32_MAX ? (int)n : MPI_UNDEFINED;
    return rc == MPI_SUCCESS ? rc : pli_shim_end(MPI_COMM_WORLD, rc);
}
