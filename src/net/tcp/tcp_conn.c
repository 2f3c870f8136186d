// SPDX-License-Identifier: BSD-3-Clause
// Writing to a link. The kernel copies straight from the user's buffer; what it does not take stays
// there, and the request is not done before it has. Notes go first, then messages in their order,
// then pieces of large ones in turn, so that nothing waits for the end of something long.
#include "net/tcp/tcp_conn.h"

#include "base/conf.h"
#include "base/log.h"
#include "msg/request.h"
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
    struct pli_tcp_conn *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return false;
    }
    l->conn = c;
    l->net = net;
    l->dial_watch.fd = -1;
    pli_list_init(&l->busy);
    pli_list_init(&l->pending);
    pli_list_init(&l->notes);
    pli_list_init(&l->streams);
    pli_list_push(&net->links, &l->at);
    c->net = l;
    if (net->ucx != NULL && !net->bypass->create(l)) {
        pli_list_remove(&l->at);
        c->net = NULL;
        free(l);
        return false;
    }
    return true;
}

// Whether a connection that has ended is still about to be forgotten.
static bool has_dead(const struct pli_tcp_conn *l)
{
    const struct pli_list *dead = &l->net->dead;
    for (const struct pli_list *at = dead->next; at != dead; at = at->next) {
        if (PLI_CONTAINER(at, const struct pli_tcp_sock, at)->link == l) {
            return true;
        }
    }
    return false;
}

bool pli_tcp_conn_destroy(struct pli_tcp_conn *l)
{
    if (l->state != PLI_TCP_CONN_IDLE || !l->is_gone || l->net->is_judged ||
        pli_tcp_conn_has_unsent(l) || !pli_list_is_empty(&l->streams) ||
        !pli_list_is_empty(&l->conn->open) || pli_reqid_has(&l->net->reqids, l->conn) ||
        has_dead(l) || (l->ucx != NULL && !l->net->bypass->destroy(l))) {
        return false;
    }
    enum pli_reqid_kind kind;
    pli_reqid_reclaim(&l->net->reqids, l->conn, &kind); // of ghosts
    pli_list_remove(&l->at);
    pli_list_remove(&l->busy);
    l->conn->net = NULL;
    free(l);
    return true;
}

static bool is_writing(const struct pli_tcp_conn *l)
{
    return l->head_left != 0 || l->body_left != 0;
}

// Messages go over the connection unless they go by UCX.
static bool has_unwritten(const struct pli_tcp_conn *l)
{
    return is_writing(l) || l->next != NULL || !pli_list_is_empty(&l->notes) ||
           !pli_list_is_empty(&l->streams) ||
           (l->ucx != NULL && l->state != PLI_TCP_CONN_IDLE && l->net->bypass->has_address(l)) ||
           (!pli_list_is_empty(&l->pending) && !l->by_ucx);
}

bool pli_tcp_conn_has_unsent(const struct pli_tcp_conn *l)
{
    return has_unwritten(l) || (l->ucx != NULL && l->net->bypass->has_unsent(l));
}

static void set_head(struct pli_tcp_conn *l, int kind)
{
    memset(&l->head, 0, sizeof l->head);
    l->head.kind = (uint8_t)kind;
    l->head.mark = PLI_FRAME_MARK;
    l->head_left = sizeof l->head;
    l->body = NULL;
    l->body_left = l->body_len = 0;
    l->req = NULL;
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
static void set_body(struct pli_tcp_conn *l, struct pli_request *r, uint64_t from, uint64_t n)
{
    if (n > 0) {
        l->body = pli_tcp_conn_data(r, from, n, &l->bounce);
        l->body_left = l->body_len = n;
        l->head.len = (uint32_t)n;
    }
}

static bool is_small(const struct pli_tcp_conn *l, const struct pli_request *r)
{
    int64_t most = l->by_ucx ? pli_conf.ucx_eager_max : pli_conf.tcp_eager_max;
    // PLIANT_EAGER_MAX=0 is how people ask for no unasked data at all.
    return r->size <= (uint64_t)most && (pli_conf.eager_max > 0 || r->size == 0) && !l->is_full;
}

bool pli_tcp_conn_fill_head(struct pli_tcp_conn *l, struct pli_request *r, struct pli_frame *head)
{
    bool is_sync = (r->flags & PLI_REQ_SYNC) != 0;
    bool is_eager = is_small(l, r);
    *head = (struct pli_frame){
        .kind = !is_eager ? PLI_MSG_RTS
                : is_sync ? PLI_MSG_SYNC
                          : PLI_MSG_EAGER,
        .flags = r->type->form,
        .mark = PLI_FRAME_MARK,
        .dst_ep = (uint32_t)r->remote,
        .src_rank = r->item.source,
        .tag = r->item.tag,
        .context = r->item.context,
        .size = r->size,
    };
    r->item.seq = 0;
    if (!is_eager || is_sync) {
        r->item.seq = pli_reqid_give(&l->net->reqids, r, l->conn, PLI_REQID_SEND);
        if (r->item.seq == 0) {
            pli_log(PLI_ERROR, "no memory for a message on its way");
            abort();
        }
        head->ticket = r->item.seq;
    }
    return is_eager;
}

// Make the first frame of a send the one to be written.
static void issue(struct pli_tcp_conn *l, struct pli_request *r)
{
    set_head(l, PLI_MSG_NONE);
    l->req = r;
    if (pli_tcp_conn_fill_head(l, r, &l->head)) {
        set_body(l, r, 0, r->size);
    }
}

// Make the next piece of a large message the one to be written.
static void issue_piece(struct pli_tcp_conn *l, struct pli_request *send)
{
    uint64_t n = send->bytes - send->moved,
             most = send->cursor != NULL ? PACKED : PLI_FRAME_DATA_MAX;
    n = n < most ? n : most;
    set_head(l, PLI_MSG_DATA);
    l->req = send;
    l->head.word[0] = send->remote;
    l->head.word[1] = send->moved;
    set_body(l, send, send->moved, n);
}

// Something else to write? Context: nothing is being written.
static bool next(struct pli_tcp_conn *l)
{
    if (l->next != NULL) {
        set_head(l, PLI_MSG_MOVE);
        return true;
    }
    if (l->ucx != NULL && l->net->bypass->may_write_address(l)) {
        set_head(l, PLI_MSG_WORKER);
        l->body = l->net->bypass->write_address(l, &l->head);
        l->body_left = l->body_len = l->head.len;
        return true;
    }
    if (!pli_list_is_empty(&l->notes)) {
        struct note *n = PLI_CONTAINER(l->notes.next, struct note, link);
        pli_list_remove(&n->link);
        set_head(l, n->frame.kind);
        l->head = n->frame;
        free(n);
        return true;
    }
    if (!l->by_ucx && !pli_list_is_empty(&l->pending)) {
        struct pli_request *r = PLI_CONTAINER(l->pending.next, struct pli_request, link);
        pli_list_remove(&r->link);
        issue(l, r);
        return true;
    }
    if (!pli_list_is_empty(&l->streams)) {
        issue_piece(l, PLI_CONTAINER(l->streams.next, struct pli_request, link));
        return true;
    }
    return false;
}

void pli_tcp_conn_end_stream(struct pli_tcp_conn *l, struct pli_request *send)
{
    if ((send->state & PLI_REQ_CANCELLING) == 0) {
        pli_reqid_end(&l->net->reqids, send->item.seq);
    }
    pli_rndv_end_send(send);
}

// A frame is out.
static void wrote(struct pli_tcp_conn *l)
{
    struct pli_request *r = l->req;
    l->req = NULL;
    if (l->bounce != NULL) {
        free(l->bounce);
        l->bounce = NULL;
    }
    if (l->head.kind == PLI_MSG_MOVE) {
        l->out = l->next;
        l->next = NULL;
    }
    if (r == NULL) {
        return;
    }
    if (l->head.kind == PLI_MSG_EAGER) {
        pli_request_complete(r, PLI_OK);
    } else if (l->head.kind == PLI_MSG_DATA) {
        r->moved += l->body_len;
        if (r->moved == r->bytes) {
            pli_list_remove(&r->link);
            pli_tcp_conn_end_stream(l, r);
        } else if (l->streams.next != l->streams.prev) {
            pli_list_remove(&r->link); // the others get their turn
            pli_list_push(&l->streams, &r->link);
        }
    }
}

static ssize_t write_secure(const struct pli_tcp_conn *l, const char *head)
{
    const struct iovec iov[2] = {
        { (char *)(uintptr_t)head, l->head_left },
        { (void *)(uintptr_t)l->body, l->body_left },
    };
    return pli_secure_send(l->out->secure, l->out->watch.fd, iov, 2);
}

// One piece where that is cheap: the kernel takes it a tenth of a microsecond faster than two.
// bench: tcp_lat size=8.
static ssize_t write_now(const struct pli_tcp_conn *l)
{
    const char *head = (const char *)&l->head + sizeof l->head - l->head_left;
    if (__builtin_expect(l->out->secure != NULL, false)) {
        return write_secure(l, head);
    }
    if (l->body_left <= ONE_PIECE) {
        char all[sizeof l->head + ONE_PIECE];
        memcpy(all, head, l->head_left);
        if (l->body_left > 0) {
            memcpy(all + l->head_left, l->body, l->body_left);
        }
        return send(l->out->watch.fd, all, l->head_left + l->body_left,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    struct iovec iov[2] = {
        { (char *)(uintptr_t)head, l->head_left },
        { (void *)(uintptr_t)l->body, l->body_left },
    };
    struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
    return sendmsg(l->out->watch.fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Write what there is of the frame. False: the kernel takes no more now, or the link is lost.
static bool write_some(struct pli_tcp_conn *l)
{
    while (is_writing(l)) {
        ssize_t n = write_now(l);
        if (n < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
                l->is_deaf = true; // its last words may be here, unread: the reader judges
                atomic_store_explicit(&l->net->must_look, 1, memory_order_relaxed);
            }
            return false;
        }
        l->is_unsure = true;
        uint64_t of_head = (uint64_t)n < l->head_left ? (uint64_t)n : l->head_left;
        l->head_left -= (uint32_t)of_head;
        l->body += (uint64_t)n - of_head;
        l->body_left -= (uint64_t)n - of_head;
    }
    return true;
}

int pli_tcp_conn_push(struct pli_tcp_conn *l)
{
    int n = 0;
    while (l->state == PLI_TCP_CONN_UP && l->out != NULL && !l->is_deaf &&
           (is_writing(l) || next(l))) {
        uint64_t before = l->body_left + l->head_left;
        if (!write_some(l)) {
            n += l->body_left + l->head_left != before;
            break;
        }
        wrote(l);
        n++;
    }
    bool is_busy = l->state == PLI_TCP_CONN_UP && !l->is_deaf && has_unwritten(l);
    if (is_busy && pli_list_is_empty(&l->busy)) {
        pli_list_push(&l->net->busy, &l->busy);
    } else if (!is_busy) {
        pli_list_remove(&l->busy);
    }
    return n;
}

void pli_tcp_conn_start(struct pli_request *r)
{
    struct pli_tcp_conn *l = r->conn->net;
    if (__builtin_expect(l->state == PLI_TCP_CONN_DEAD, 0)) {
        pli_request_complete(r, l->fate);
        return;
    }
    r->item.seq = 0;
    if (__builtin_expect(l->is_gone, 0)) {
        pli_list_push(&l->pending, &r->link);
        if (!pli_tcp_conn_forget(l)) {
            pli_tcp_connect_lose(l, "it has left MPI");
        }
        return;
    }
    bool must_wait = l->ucx != NULL && l->net->bypass->must_wait(l->net);
    if (l->state == PLI_TCP_CONN_UP && !has_unwritten(l) && !must_wait) {
        issue(l, r);
        pli_tcp_conn_push(l);
        return;
    }
    pli_list_push(&l->pending, &r->link);
    if (l->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(l);
    } else if (must_wait && l->state == PLI_TCP_CONN_UP && pli_list_is_empty(&l->busy)) {
        pli_list_push(&l->net->busy, &l->busy);
    }
}

void pli_tcp_conn_note(struct pli_tcp_conn *l, int kind, uint64_t w0, uint64_t w1, uint64_t w2)
{
    if (l->state >= PLI_TCP_CONN_LOST || l->is_gone) {
        return; // nobody is there to hear it
    }
    if (l->state == PLI_TCP_CONN_UP && !has_unwritten(l)) {
        set_head(l, kind);
        l->head.word[0] = w0;
        l->head.word[1] = w1;
        l->head.word[2] = w2;
        pli_tcp_conn_push(l);
        return;
    }
    struct note *n = calloc(1, sizeof *n);
    if (n == NULL) {
        abort(); // an answer that cannot be kept would leave the other side waiting for ever
    }
    n->frame = (struct pli_frame){ .kind = (uint8_t)kind, .mark = PLI_FRAME_MARK };
    n->frame.word[0] = w0;
    n->frame.word[1] = w1;
    n->frame.word[2] = w2;
    pli_list_push(&l->notes, &n->link);
    if (l->state == PLI_TCP_CONN_IDLE) {
        pli_tcp_connect_dial(l);
    }
}

void pli_tcp_conn_stream(struct pli_tcp_conn *l, struct pli_request *send, uint64_t ticket,
                         uint64_t want, bool in_pieces)
{
    if (want == 0) {
        pli_tcp_conn_end_stream(l, send);
        return;
    }
    if (!pli_rndv_make_cursor(send)) {
        pli_log(PLI_ERROR, "no memory to send a message that was accepted");
        abort();
    }
    send->remote = ticket;
    send->moved = 0;
    send->bytes = want;
    if (l->by_ucx) {
        l->net->bypass->stream(l, send, in_pieces);
        return;
    }
    pli_list_push(&l->streams, &send->link);
    pli_tcp_conn_push(l);
}

static void drop_frame(struct pli_tcp_conn *l)
{
    free(l->bounce);
    l->bounce = NULL;
    l->req = NULL;
    l->head_left = 0;
    l->body_left = 0;
}

bool pli_tcp_conn_forget(struct pli_tcp_conn *l)
{
    if (l->req != NULL && l->head.kind == PLI_MSG_EAGER) {
        pli_request_complete(l->req, PLI_OK);
    }
    drop_frame(l);
    while (!pli_list_is_empty(&l->notes)) {
        struct pli_list *n = l->notes.next;
        pli_list_remove(n);
        free(n);
    }
    bool is_clear = l->ucx == NULL || l->net->bypass->forget(l);
    struct pli_list *at = l->pending.next;
    while (at != &l->pending) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        at = at->next;
        if (is_small(l, r) && (r->flags & PLI_REQ_SYNC) == 0) {
            pli_list_remove(&r->link);
            pli_request_complete(r, PLI_OK);
        }
    }
    return pli_list_is_empty(&l->pending) && !pli_reqid_has(&l->net->reqids, l->conn) && is_clear;
}

void pli_tcp_conn_unsend(struct pli_request *send)
{
    struct pli_tcp_conn *l = send->conn->net;
    for (struct pli_list *i = l->pending.next; i != &l->pending; i = i->next) {
        if (i == &send->link) {
            pli_list_remove(&send->link);
            send->state |= PLI_REQ_CANCELLED;
            pli_request_complete(send, PLI_OK);
            return;
        }
    }
    // Data that is being written unasked counts as sent; what was offered may be asked back.
    bool is_offered =
        pli_reqid_find(&l->net->reqids, send->item.seq, l->conn, PLI_REQID_SEND) == send;
    if (is_offered) {
        send->state |= PLI_REQ_CANCELLING;
        pli_lane_note(l->conn, PLI_MSG_UNSEND, send->item.seq, (uint32_t)send->remote, 0);
    }
}
