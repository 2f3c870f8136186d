// SPDX-License-Identifier: BSD-3-Clause
// An engine with a simple process behind it, for tests: it keeps what arrives, accepts when told,
// and counts what it is told. Nodes are joined by copying bytes in portions of random size.
#ifndef PLI_TESTS_IMPI_T_NODE_H
#define PLI_TESTS_IMPI_T_NODE_H

#include <sys/uio.h>
#include "engine/impi_engine.h"
#include "t_job.h"

struct t_msg { // a message that arrived
    struct pli_impi_arrival a;
    unsigned char *data; // whole, once has_all
    bool has_all, is_accepted, is_gone;
    struct t_msg *next;
};

struct t_node {
    struct pli_impi_engine *e;
    const struct pli_impi_job *job;
    struct t_msg *head, *tail;
    bool is_auto; // accept everything at once
    bool refuses_room;
    int cancel_answer; // -1 later, 0 no, 1 yes if it is there unaccepted
    struct pli_impi_cancel asked;
    int n_asked, n_sent, n_sent_err, n_matched, n_yes, n_no, n_recv_err, n_fini, n_down;
    uint64_t last_req;
    enum pli_impi_err last_err, down_err;
    char log[400];    // the last line that is no step
    uint64_t n_bytes; // that left
    uint64_t left;    // of a ring
};

static inline struct t_msg *t_find(struct t_node *n, uint64_t handle)
{
    struct t_msg *m = n->head;
    while (m != NULL && (m->a.handle != handle || m->is_gone)) {
        m = m->next;
    }
    return m;
}

static inline void *t_room(void *arg, const struct pli_impi_arrival *a)
{
    struct t_node *n = arg;
    return n->refuses_room ? NULL : malloc(a->len);
}

static inline void t_dropped(void *arg, void *room)
{
    (void)arg;
    free(room);
}

static inline void t_accept(struct t_node *n, struct t_msg *m)
{
    m->is_accepted = true;
    T_EQ(PLI_IMPI_OK, pli_impi_engine_accept(n->e, m->a.handle, m->data, m->a.msglen));
}

static inline void t_arrived(void *arg, const struct pli_impi_arrival *a, void *room)
{
    struct t_node *n = arg;
    struct t_msg *m = calloc(1, sizeof *m);
    T_TRUE(m != NULL && (room != NULL) == (a->len > 0));
    m->a = *a;
    m->data = malloc(a->msglen + 1);
    T_TRUE(m->data != NULL);
    if (a->len > 0) {
        memcpy(m->data, room, a->len);
    }
    free(room);
    m->has_all = a->len == a->msglen;
    if (n->head == NULL) {
        n->head = m;
    } else {
        n->tail->next = m;
    }
    n->tail = m;
    if (a->handle != 0 && n->is_auto) {
        t_accept(n, m);
    }
}

static inline void t_part(void *arg, uint64_t handle, uint64_t offset, uint32_t len)
{
    struct t_msg *m = t_find(arg, handle);
    T_TRUE(m != NULL && m->is_accepted && offset + len <= m->a.msglen);
}

static inline void t_received(void *arg, uint64_t handle, enum pli_impi_err err)
{
    struct t_node *n = arg;
    struct t_msg *m = t_find(n, handle);
    T_TRUE(m != NULL && m->is_accepted && !m->has_all);
    m->has_all = err == PLI_IMPI_OK;
    m->is_gone = err != PLI_IMPI_OK;
    n->n_recv_err += err != PLI_IMPI_OK;
}

static inline void t_sent(void *arg, uint64_t req, enum pli_impi_err err)
{
    struct t_node *n = arg;
    n->n_sent += err == PLI_IMPI_OK;
    n->n_sent_err += err != PLI_IMPI_OK;
    n->last_req = req;
    n->last_err = err;
}

static inline void t_matched(void *arg, uint64_t req)
{
    struct t_node *n = arg;
    n->n_matched++;
    n->last_req = req;
}

static inline void t_cancelled(void *arg, uint64_t req, bool yes)
{
    struct t_node *n = arg;
    n->n_yes += yes;
    n->n_no += !yes;
    n->last_req = req;
}

// The newest message a CANCEL means, if it can still be cancelled.
static inline void t_answer(struct t_node *n, const struct pli_impi_cancel *c, bool may)
{
    struct t_msg *hit = NULL;
    for (struct t_msg *m = n->head; m != NULL; m = m->next) {
        if (m->a.srqid == c->srqid && m->a.env.src == c->src && m->a.env.dst == c->dst &&
            !m->is_gone) {
            hit = m;
        }
    }
    bool yes = may && hit != NULL && !hit->is_accepted;
    T_EQ(PLI_IMPI_OK, pli_impi_engine_answer(n->e, c, hit == NULL ? 0 : hit->a.handle, yes));
    if (yes) {
        hit->is_gone = true;
    }
}

static inline void t_cancel_asked(void *arg, const struct pli_impi_cancel *c)
{
    struct t_node *n = arg;
    n->asked = *c;
    n->n_asked++;
    if (n->cancel_answer >= 0) {
        t_answer(n, c, n->cancel_answer == 1);
    }
}

static inline void t_left(void *arg, uint64_t req, uint64_t upto)
{
    struct t_node *n = arg;
    (void)req;
    T_TRUE(upto > n->left); // of one send at a time
    n->left = upto;
}

static inline void t_peer_fini(void *arg, uint32_t host)
{
    (void)host;
    ((struct t_node *)arg)->n_fini++;
}

static inline void t_peer_down(void *arg, uint32_t host, enum pli_impi_err err)
{
    struct t_node *n = arg;
    (void)host;
    n->n_down++;
    n->down_err = err;
}

static inline void t_log(void *arg, enum pli_impi_log_level level, const char *line)
{
    struct t_node *n = arg;
    if (level != PLI_IMPI_LOG_STEP) {
        snprintf(n->log, sizeof n->log, "%s", line);
    }
}

static const struct pli_impi_engine_ops t_ops = {
    .room = t_room,
    .dropped = t_dropped,
    .arrived = t_arrived,
    .part = t_part,
    .received = t_received,
    .left = t_left,
    .sent = t_sent,
    .matched = t_matched,
    .cancelled = t_cancelled,
    .cancel_asked = t_cancel_asked,
    .peer_fini = t_peer_fini,
    .peer_down = t_peer_down,
};

static inline void t_node_init(struct t_node *n, const struct pli_impi_job *job, uint32_t host)
{
    *n = (struct t_node){ .job = job, .is_auto = true, .cancel_answer = 1 };
    struct pli_impi_log log = { t_log, n };
    T_EQ(PLI_IMPI_OK, pli_impi_engine_create(job, host, &t_ops, n, &log, &n->e));
    for (uint32_t h = 0; h < job->n_host; h++) {
        if (pli_impi_engine_is_peer(n->e, h)) {
            T_EQ(PLI_IMPI_OK, pli_impi_engine_open(n->e, h));
        }
    }
}

static inline void t_forget(struct t_node *n)
{
    while (n->head != NULL) {
        struct t_msg *next = n->head->next;
        free(n->head->data);
        free(n->head);
        n->head = next;
    }
}

static inline void t_node_fini(struct t_node *n)
{
    pli_impi_engine_destroy(n->e);
    t_forget(n);
}

// Move up to `max` bytes of what `from` (host a) has for `to` (host b), in pieces of random size.
// Returns the bytes moved.
static inline size_t t_move(struct t_node *from, uint32_t a, struct t_node *to, uint32_t b,
                            size_t max)
{
    static unsigned char buf[1 << 16];
    struct iovec iov[8];
    size_t len = 0;
    int n = pli_impi_engine_out_iov(from->e, b, iov, 1 + rand() % 8);
    max = max < sizeof buf ? max : sizeof buf;
    max = 1 + (size_t)rand() % max;
    for (int i = 0; i < n && len < max; i++) {
        size_t part = iov[i].iov_len < max - len ? iov[i].iov_len : max - len;
        memcpy(buf + len, iov[i].iov_base, part);
        len += part;
    }
    pli_impi_engine_out_done(from->e, b, len);
    from->n_bytes += len;
    for (size_t at = 0; at < len;) {
        int k = pli_impi_engine_in_iov(to->e, a, iov);
        if (k == 0) {
            return 0; // that side is through with it
        }
        size_t room = 0, want = 1 + (size_t)rand() % (len - at), put = 0;
        for (int i = 0; i < k; i++) {
            room += iov[i].iov_len;
        }
        want = want < room ? want : room;
        for (int i = 0; i < k && put < want; i++) {
            size_t part = iov[i].iov_len < want - put ? iov[i].iov_len : want - put;
            memcpy(iov[i].iov_base, buf + at + put, part);
            put += part;
        }
        if (pli_impi_engine_in_done(to->e, a, put) != PLI_IMPI_OK) {
            return 0;
        }
        at += put;
    }
    return len;
}

// Until nothing moves between two hosts any more.
static inline void t_settle(struct t_node *a, uint32_t ha, struct t_node *b, uint32_t hb)
{
    int idle = 0;
    while (idle < 4) {
        size_t n = t_move(a, ha, b, hb, 4096) + t_move(b, hb, a, ha, 4096);
        idle = n == 0 ? idle + 1 : 0;
    }
}

static inline uint64_t t_send(struct t_node *n, uint32_t src, uint32_t dst, int32_t tag,
                              const void *data, uint64_t len, bool is_sync)
{
    uint64_t req = 0;
    struct pli_impi_send s = {
        .env = { .src = src, .dst = dst, .lsrank = (int32_t)src, .tag = tag },
        .data = data,
        .len = len,
        .ready = len,
        .is_sync = is_sync
    };
    T_EQ(PLI_IMPI_OK, pli_impi_engine_send(n->e, &s, &req));
    T_TRUE(req != 0);
    return req;
}

#endif
