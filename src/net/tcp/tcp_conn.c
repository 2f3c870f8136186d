// SPDX-License-Identifier: BSD-3-Clause
// Writes to sockets. The kernel copies straight from the user's buffer; what it does not take stays
// there, and the request is not done before it has. Notes go first, then messages in their order,
// then pieces of large ones in turn, so that nothing waits for the end of something long.
#include "net/tcp/tcp_conn.h"

#include "base/conf.h"
#include "base/log.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "msg/msg_wire.h"
#include "msg/rndv.h"
#include "net/tcp/secure.h"
#include "net/tcp/tcp_bypass.h"
#include "net/tcp/tcp_connect.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    PACKED = 65536, // bytes of a layout with holes packed at a time
    ONE_PIECE = 1024
};

struct note {
    struct pli_list link;
    struct pli_frame frame;
};

bool pli_tcp_conn_create(struct pli_tcp_lane *net, struct pli_conn *c)
{
    struct pli_tcp_conn *tc = calloc(1, sizeof *tc);
    if (tc == NULL) {
        return false;
    }
    tc->conn = c;
    tc->net = net;
    tc->dial_watch.fd = -1;
    pli_list_init(&tc->busy);
    pli_list_init(&tc->pending);
    pli_list_init(&tc->notes);
    pli_list_init(&tc->streams);
    pli_list_push(&net->conns, &tc->at);
    c->net = tc;
    if (net->ucx != NULL && !net->bypass->create(tc)) {
        pli_list_remove(&tc->at);
        c->net = NULL;
        free(tc);
        return false;
    }
    return true;
}

// Whether a connection that has ended is still about to be forgotten.
static bool has_dead(const struct pli_tcp_conn *tc)
{
    const struct pli_list *dead = &tc->net->dead;
    for (const struct pli_list *at = dead->next; at != dead; at = at->next) {
        if (PLI_CONTAINER(at, const struct pli_tcp_sock, at)->owner == tc) {
            return true;
        }
    }
    return false;
}

bool pli_tcp_conn_destroy(struct pli_tcp_conn *tc)
{
    if (tc->state != PLI_TCP_CONN_IDLE || !tc->is_gone || tc->net->is_scanned ||
        pli_tcp_conn_has_unsent(tc) || !pli_list_is_empty(&tc->streams) ||
        !pli_list_is_empty(&tc->conn->open) || pli_reqid_has(&tc->net->reqids, tc->conn) ||
        has_dead(tc) || (tc->ucx != NULL && !tc->net->bypass->destroy(tc))) {
        return false;
    }
    enum pli_reqid_kind kind;
    pli_reqid_reclaim(&tc->net->reqids, tc->conn, &kind); // those of withdrawn requests
    pli_list_remove(&tc->at);
    pli_list_remove(&tc->busy);
    tc->conn->net = NULL;
    free(tc);
    return true;
}

static bool is_writing(const struct pli_tcp_conn *tc)
{
    return tc->head_left != 0 || tc->body_left != 0;
}

// Messages go over the connection unless they go by UCX.
static bool has_unwritten(const struct pli_tcp_conn *tc)
{
    return is_writing(tc) || tc->next != NULL || !pli_list_is_empty(&tc->notes) ||
           !pli_list_is_empty(&tc->streams) ||
           (tc->ucx != NULL && tc->state != PLI_TCP_CONN_IDLE &&
            tc->net->bypass->has_address(tc)) ||
           (!pli_list_is_empty(&tc->pending) && !tc->by_ucx);
}

bool pli_tcp_conn_has_unsent(const struct pli_tcp_conn *tc)
{
    return has_unwritten(tc) || (tc->ucx != NULL && tc->net->bypass->has_unsent(tc));
}

static void set_head(struct pli_tcp_conn *tc, int kind)
{
    memset(&tc->head, 0, sizeof tc->head);
    tc->head.kind = (uint8_t)kind;
    tc->head.magic = PLI_FRAME_MAGIC;
    tc->head_left = sizeof tc->head;
    tc->body = NULL;
    tc->body_left = tc->body_len = 0;
    tc->req = NULL;
}

const char *pli_tcp_conn_data(struct pli_request *r, uint64_t from, uint64_t n, char **bounce_out)
{
    *bounce_out = NULL;
    if (r->type->is_dense) {
        return (const char *)r->buf + r->type->true_lb + from;
    }
    char *bounce = malloc(n > 0 ? n : 1);
    if (bounce == NULL) {
        pli_log(PLI_ERROR, "no memory to pack %llu bytes of a message", (unsigned long long)n);
        abort();
    }
    if (r->cursor != NULL) {
        pli_cursor_pack(r->cursor, bounce, n);
    } else {
        struct pli_cursor c;
        pli_cursor_init(&c, r->buf, r->count, r->type);
        pli_cursor_pack(&c, bounce, n);
    }
    *bounce_out = bounce;
    return bounce;
}

// Show the next n bytes of a send to the kernel.
static void set_body(struct pli_tcp_conn *tc, struct pli_request *r, uint64_t from, uint64_t n)
{
    if (n > 0) {
        tc->body = pli_tcp_conn_data(r, from, n, &tc->bounce);
        tc->body_left = tc->body_len = n;
        tc->head.len = (uint32_t)n;
    }
}

static bool is_small(const struct pli_tcp_conn *tc, const struct pli_request *r)
{
    int64_t most = tc->by_ucx ? pli_conf.ucx_eager_max : pli_conf.tcp_eager_max;
    // PLIANT_EAGER_MAX=0 is how people ask for no unasked data at all.
    return r->size <= (uint64_t)most && (pli_conf.eager_max > 0 || r->size == 0) && !tc->is_full;
}

bool pli_tcp_conn_fill_head(struct pli_tcp_conn *tc, struct pli_request *r, struct pli_frame *head)
{
    bool is_sync = (r->flags & PLI_REQ_SYNC) != 0;
    bool is_eager = is_small(tc, r);
    *head = (struct pli_frame){
        .kind = !is_eager ? PLI_MSG_RTS
                : is_sync ? PLI_MSG_SYNC
                          : PLI_MSG_EAGER,
        .flags = r->type->form,
        .magic = PLI_FRAME_MAGIC,
        .dst_ep = (uint32_t)r->remote,
        .src_rank = r->item.source,
        .tag = r->item.tag,
        .context = r->item.context,
        .size = r->size,
    };
    r->item.seq = 0;
    if (!is_eager || is_sync) {
        r->item.seq = pli_reqid_give(&tc->net->reqids, r, tc->conn, PLI_REQID_SEND);
        if (r->item.seq == 0) {
            pli_log(PLI_ERROR, "no memory for a message on its way");
            abort();
        }
        head->reqid = r->item.seq;
    }
    pli_shm_count_sent(&r->lane->shm, r->size);
    if (r->lane->statistics != NULL) {
        pli_statistics_hooks->sent(r, is_eager ? PLI_STAT_EAGER : PLI_STAT_RNDV);
    }
    return is_eager;
}

// Make the first frame of a send the one to be written.
static void issue(struct pli_tcp_conn *tc, struct pli_request *r)
{
    set_head(tc, PLI_MSG_NONE);
    tc->req = r;
    if (pli_tcp_conn_fill_head(tc, r, &tc->head)) {
        set_body(tc, r, 0, r->size);
    }
}

// Make the next piece of a large message the one to be written.
static void issue_piece(struct pli_tcp_conn *tc, struct pli_request *send)
{
    uint64_t n = send->bytes - send->moved,
             most = send->cursor != NULL ? PACKED : PLI_FRAME_DATA_MAX;
    n = n < most ? n : most;
    set_head(tc, PLI_MSG_DATA);
    tc->req = send;
    tc->head.word[0] = send->remote;
    tc->head.word[1] = send->moved;
    set_body(tc, send, send->moved, n);
}

// Something else to write? Context: nothing is being written.
static bool next(struct pli_tcp_conn *tc)
{
    if (tc->next != NULL) {
        set_head(tc, PLI_MSG_MOVE);
        return true;
    }
    if (tc->ucx != NULL && tc->net->bypass->may_write_address(tc)) {
        set_head(tc, PLI_MSG_UCX_ADDRESS);
        tc->body = tc->net->bypass->write_address(tc, &tc->head);
        tc->body_left = tc->body_len = tc->head.len;
        return true;
    }
    if (!pli_list_is_empty(&tc->notes)) {
        struct note *n = PLI_CONTAINER(tc->notes.next, struct note, link);
        pli_list_remove(&n->link);
        set_head(tc, n->frame.kind);
        tc->head = n->frame;
        free(n);
        return true;
    }
    if (!tc->by_ucx && !pli_list_is_empty(&tc->pending)) {
        struct pli_request *r = PLI_CONTAINER(tc->pending.next, struct pli_request, link);
        pli_list_remove(&r->link);
        issue(tc, r);
        return true;
    }
    if (!pli_list_is_empty(&tc->streams)) {
        issue_piece(tc, PLI_CONTAINER(tc->streams.next, struct pli_request, link));
        return true;
    }
    return false;
}

void pli_tcp_conn_end_stream(struct pli_tcp_conn *tc, struct pli_request *send)
{
    if ((send->state & PLI_REQ_CANCELLING) == 0) {
        pli_reqid_end(&tc->net->reqids, send->item.seq);
    }
    pli_rndv_end_send(send);
}

// A frame is out.
static void wrote(struct pli_tcp_conn *tc)
{
    struct pli_request *r = tc->req;
    tc->req = NULL;
    if (tc->bounce != NULL) {
        free(tc->bounce);
        tc->bounce = NULL;
    }
    if (tc->head.kind == PLI_MSG_MOVE) {
        tc->out = tc->next;
        tc->next = NULL;
    }
    if (r == NULL) {
        return;
    }
    if (tc->head.kind == PLI_MSG_EAGER) {
        pli_request_complete(r, PLI_OK);
    } else if (tc->head.kind == PLI_MSG_DATA) {
        r->moved += tc->body_len;
        if (r->moved == r->bytes) {
            pli_list_remove(&r->link);
            pli_tcp_conn_end_stream(tc, r);
        } else if (tc->streams.next != tc->streams.prev) {
            pli_list_remove(&r->link); // the others get their turn
            pli_list_push(&tc->streams, &r->link);
        }
    }
}

static ssize_t write_secure(const struct pli_tcp_conn *tc, const char *head)
{
    const struct iovec iov[2] = {
        { (char *)(uintptr_t)head, tc->head_left },
        { (void *)(uintptr_t)tc->body, tc->body_left },
    };
    return pli_secure_send(tc->out->secure, tc->out->watch.fd, iov, 2);
}

// One piece where that is cheap: the kernel takes it a tenth of a microsecond faster than two.
// bench: tcp_lat size=8.
static ssize_t write_now(const struct pli_tcp_conn *tc)
{
    const char *head = (const char *)&tc->head + sizeof tc->head - tc->head_left;
    if (__builtin_expect(tc->out->secure != NULL, false)) {
        return write_secure(tc, head);
    }
    if (tc->body_left <= ONE_PIECE) {
        char all[sizeof tc->head + ONE_PIECE];
        memcpy(all, head, tc->head_left);
        if (tc->body_left > 0) {
            memcpy(all + tc->head_left, tc->body, tc->body_left);
        }
        return send(tc->out->watch.fd, all, tc->head_left + tc->body_left,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    struct iovec iov[2] = {
        { (char *)(uintptr_t)head, tc->head_left },
        { (void *)(uintptr_t)tc->body, tc->body_left },
    };
    struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
    return sendmsg(tc->out->watch.fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Write what there is of the frame. False: the kernel takes no more now, or the connection is lost.
static bool write_some(struct pli_tcp_conn *tc)
{
    while (is_writing(tc)) {
        ssize_t n = write_now(tc);
        if (n < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
                tc->is_write_closed =
                    true; // what it sent before may be here, unread: the reader decides
                atomic_store_explicit(&tc->net->must_look, 1, memory_order_relaxed);
            }
            return false;
        }
        tc->is_unacked = true;
        uint64_t of_head = (uint64_t)n < tc->head_left ? (uint64_t)n : tc->head_left;
        tc->head_left -= (uint32_t)of_head;
        tc->body += (uint64_t)n - of_head;
        tc->body_left -= (uint64_t)n - of_head;
    }
    return true;
}

int pli_tcp_conn_push(struct pli_tcp_conn *tc)
{
    int n = 0;
    while (tc->state == PLI_TCP_CONN_UP && tc->out != NULL && !tc->is_write_closed &&
           (is_writing(tc) || next(tc))) {
        uint64_t before = tc->body_left + tc->head_left;
        if (!write_some(tc)) {
            n += tc->body_left + tc->head_left != before;
            break;
        }
        wrote(tc);
        n++;
    }
    bool is_busy = tc->state == PLI_TCP_CONN_UP && !tc->is_write_closed && has_unwritten(tc);
    if (is_busy && pli_list_is_empty(&tc->busy)) {
        pli_list_push(&tc->net->busy, &tc->busy);
    } else if (!is_busy) {
        pli_list_remove(&tc->busy);
    }
    return n;
}

void pli_tcp_conn_start(struct pli_request *r)
{
    struct pli_tcp_conn *tc = r->conn->net;
    if (__builtin_expect(tc->state == PLI_TCP_CONN_DEAD, 0)) {
        pli_request_complete(r, tc->fate);
        return;
    }
    r->item.seq = 0;
    if (__builtin_expect(tc->is_gone, 0)) {
        pli_list_push(&tc->pending, &r->link);
        if (!pli_tcp_conn_forget(tc)) {
            pli_tcp_connect_lose(tc, "it has left MPI");
        }
        return;
    }
    bool must_wait = tc->ucx != NULL && tc->net->bypass->must_wait(tc->net);
    if (tc->state == PLI_TCP_CONN_UP && !has_unwritten(tc) && !must_wait) {
        issue(tc, r);
        pli_tcp_conn_push(tc);
        return;
    }
    pli_list_push(&tc->pending, &r->link);
    if (tc->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(tc);
    } else if (must_wait && tc->state == PLI_TCP_CONN_UP && pli_list_is_empty(&tc->busy)) {
        pli_list_push(&tc->net->busy, &tc->busy);
    }
}

void pli_tcp_conn_note(struct pli_tcp_conn *tc, int kind, uint64_t w0, uint64_t w1, uint64_t w2)
{
    if (tc->state >= PLI_TCP_CONN_LOST || tc->is_gone) {
        return; // the other side is gone
    }
    if (tc->state == PLI_TCP_CONN_UP && !has_unwritten(tc)) {
        set_head(tc, kind);
        tc->head.word[0] = w0;
        tc->head.word[1] = w1;
        tc->head.word[2] = w2;
        pli_tcp_conn_push(tc);
        return;
    }
    struct note *n = calloc(1, sizeof *n);
    if (n == NULL) {
        abort(); // an answer that cannot be kept would leave the other side waiting for ever
    }
    n->frame = (struct pli_frame){ .kind = (uint8_t)kind, .magic = PLI_FRAME_MAGIC };
    n->frame.word[0] = w0;
    n->frame.word[1] = w1;
    n->frame.word[2] = w2;
    pli_list_push(&tc->notes, &n->link);
    if (tc->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(tc);
    }
}

void pli_tcp_conn_stream(struct pli_tcp_conn *tc, struct pli_request *send, uint64_t reqid,
                         uint64_t want, bool in_pieces)
{
    if (want == 0) {
        pli_tcp_conn_end_stream(tc, send);
        return;
    }
    if (!pli_rndv_make_cursor(send)) {
        pli_log(PLI_ERROR, "no memory to send a message that was accepted");
        abort();
    }
    send->remote = reqid;
    send->moved = 0;
    send->bytes = want;
    if (tc->by_ucx) {
        tc->net->bypass->stream(tc, send, in_pieces);
        return;
    }
    pli_list_push(&tc->streams, &send->link);
    pli_tcp_conn_push(tc);
}

static void drop_frame(struct pli_tcp_conn *tc)
{
    free(tc->bounce);
    tc->bounce = NULL;
    tc->req = NULL;
    tc->head_left = 0;
    tc->body_left = 0;
}

bool pli_tcp_conn_forget(struct pli_tcp_conn *tc)
{
    if (tc->req != NULL && tc->head.kind == PLI_MSG_EAGER) {
        pli_request_complete(tc->req, PLI_OK);
    }
    drop_frame(tc);
    while (!pli_list_is_empty(&tc->notes)) {
        struct pli_list *n = tc->notes.next;
        pli_list_remove(n);
        free(n);
    }
    bool is_clear = tc->ucx == NULL || tc->net->bypass->forget(tc);
    struct pli_list *at = tc->pending.next;
    while (at != &tc->pending) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        at = at->next;
        if (is_small(tc, r) && (r->flags & PLI_REQ_SYNC) == 0) {
            pli_list_remove(&r->link);
            pli_request_complete(r, PLI_OK);
        }
    }
    return pli_list_is_empty(&tc->pending) && !pli_reqid_has(&tc->net->reqids, tc->conn) &&
           is_clear;
}

void pli_tcp_conn_unsend(struct pli_request *send)
{
    struct pli_tcp_conn *tc = send->conn->net;
    for (struct pli_list *i = tc->pending.next; i != &tc->pending; i = i->next) {
        if (i == &send->link) {
            pli_list_remove(&send->link);
            send->state |= PLI_REQ_CANCELLED;
            pli_request_complete(send, PLI_OK);
            return;
        }
    }
    // Data that is being written unasked counts as sent; what was offered may be asked back.
    bool is_offered =
        pli_reqid_find(&tc->net->reqids, send->item.seq, tc->conn, PLI_REQID_SEND) == send;
    if (is_offered) {
        send->state |= PLI_REQ_CANCELLING;
        pli_lane_note(tc->conn, PLI_MSG_UNSEND, send->item.seq, (uint32_t)send->remote, 0);
    }
}
