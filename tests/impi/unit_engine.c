// SPDX-License-Identifier: BSD-3-Clause
// Two and more engines that talk to each other: contents, order, flow control, cancellation,
// finalization. Bytes travel in portions of random size.
#include "t_node.h"

static const struct t_shape two = { 2, 1, 1, 64, 2, 4 };

static unsigned char pattern(uint64_t seed, uint64_t i)
{
    return (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

static unsigned char *payload(uint64_t seed, uint64_t len)
{
    unsigned char *p = malloc(len + 1);
    T_TRUE(p != NULL);
    for (uint64_t i = 0; i < len; i++) {
        p[i] = pattern(seed, i);
    }
    return p;
}

static void check_msg(const struct t_msg *m, uint64_t seed, uint64_t len)
{
    T_EQ(len, m->a.msglen);
    T_TRUE(m->has_all);
    for (uint64_t i = 0; i < len; i++) {
        T_EQ(pattern(seed, i), m->data[i]);
    }
}

// Many messages of all sizes both ways, among several processes, checked for content and order.
static void test_volume(struct t_shape shape, int n_msg, uint64_t max_len)
{
    struct pli_impi_job *job = t_job(&shape);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    unsigned char **data = calloc((size_t)n_msg, sizeof *data);
    T_TRUE(data != NULL);
    uint32_t n = shape.n_proc, most = 0;
    int n_wanting = 0;
    for (int i = 0; i < n_msg; i++) {
        uint64_t len = (uint64_t)rand() % (max_len + 1);
        bool to_b = rand() % 2 == 0, is_sync = rand() % 4 == 0;
        uint32_t s = (uint32_t)rand() % n, d = (uint32_t)rand() % n;
        data[i] = payload((uint64_t)i, len);
        if (to_b) {
            t_send(&a, s, n + d, i, data[i], len, is_sync);
        } else {
            t_send(&b, n + s, d, i, data[i], len, is_sync);
        }
        n_wanting += is_sync || len > shape.datalen;
        if (rand() % 8 == 0) {
            t_move(&a, 0, &b, 1, 2000);
            t_move(&b, 1, &a, 0, 2000);
        }
        uint32_t now = pli_impi_engine_max_unacked(a.e);
        most = now > most ? now : most;
    }
    t_settle(&a, 0, &b, 1);
    T_TRUE(most <= shape.hiwater);
    T_EQ(n_msg, a.n_sent + b.n_sent);
    T_EQ(n_wanting, a.n_matched + b.n_matched);
    T_EQ(0, a.n_sent_err + b.n_sent_err + a.n_down + b.n_down);
    struct t_node *both[] = { &a, &b };
    int n_got = 0;
    for (int k = 0; k < 2; k++) {
        int32_t last[T_MAX_PROC][T_MAX_PROC];
        memset(last, 0xff, sizeof last);
        for (struct t_msg *m = both[k]->head; m != NULL; m = m->next, n_got++) {
            int32_t *before = &last[m->a.env.src][m->a.env.dst];
            T_TRUE(m->a.env.tag > *before); // first packets keep their order
            *before = m->a.env.tag;
            check_msg(m, (uint64_t)m->a.env.tag, m->a.msglen);
        }
    }
    T_EQ(n_msg, n_got);
    pli_impi_engine_finish(a.e);
    pli_impi_engine_finish(b.e);
    t_settle(&a, 0, &b, 1);
    T_TRUE(pli_impi_engine_is_over(a.e) && pli_impi_engine_is_over(b.e));
    T_EQ(PLI_IMPI_OK, a.down_err);
    t_node_fini(&a);
    t_node_fini(&b);
    for (int i = 0; i < n_msg; i++) {
        free(data[i]);
    }
    free(data);
    pli_impi_job_destroy(job);
}

// Without credit nothing goes; each credit is worth ackmark packets.
static void test_window(void)
{
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    for (int i = 0; i < 10; i++) {
        t_send(&a, 0, 1, i, "x", 1, false);
    }
    while (t_move(&a, 0, &b, 1, 100000) > 0) {
    }
    T_EQ(4, pli_impi_engine_max_unacked(a.e)); // hiwater, and b's credits are not yet back
    T_EQ(4 * 129, (long long)a.n_bytes);
    T_EQ(4, a.n_sent);
    while (t_move(&b, 1, &a, 0, 100000) > 0) {
    }
    T_EQ(2 * 128, (long long)b.n_bytes); // two credits of ackmark 2
    T_EQ(0, pli_impi_engine_max_unacked(a.e));
    t_settle(&a, 0, &b, 1);
    T_EQ(10, a.n_sent);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

// One pair without credit does not hold up another one on the same connection.
static void test_pairs_apart(void)
{
    struct t_shape shape = { 2, 1, 2, 64, 4, 4 };
    struct pli_impi_job *job = t_job(&shape);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    for (int i = 0; i < 9; i++) {
        t_send(&a, 0, 2, i, "x", 1, false);
    }
    t_send(&a, 1, 3, 77, "y", 1, false);
    while (t_move(&a, 0, &b, 1, 100000) > 0) { // no credit comes back
    }
    bool has = false;
    for (struct t_msg *m = b.head; m != NULL; m = m->next) {
        has = has || m->a.env.tag == 77;
    }
    T_TRUE(has);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

// A long message waits for its match; a short one behind it does not wait for the long one's end.
static void test_long(void)
{
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    b.is_auto = false;
    unsigned char *big = payload(5, 1000);
    uint64_t req = t_send(&a, 0, 1, 1, big, 1000, false);
    t_send(&a, 0, 1, 2, "s", 1, false);
    t_settle(&a, 0, &b, 1);
    T_EQ(1, a.n_sent); // the short one
    T_EQ(0, a.n_matched);
    T_EQ(64, b.head->a.len);
    T_TRUE(b.head->a.handle != 0 && b.head->next->a.handle == 0 && b.head->next->has_all);
    t_accept(&b, b.head);
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_accept(b.e, b.head->a.handle, NULL, 0)); // once only
    t_settle(&a, 0, &b, 1);
    T_EQ(1, a.n_matched);
    T_EQ(2, a.n_sent);
    T_EQ(req, a.last_req);
    check_msg(b.head, 5, 1000);

    // a receiver with too little room gets what fits
    t_forget(&b);
    uint64_t handle;
    unsigned char small[100] = { 0 };
    t_send(&a, 0, 1, 3, big, 1000, true);
    t_settle(&a, 0, &b, 1);
    handle = b.head->a.handle;
    b.head->is_accepted = true;
    T_EQ(PLI_IMPI_OK, pli_impi_engine_accept(b.e, handle, small, sizeof small));
    t_settle(&a, 0, &b, 1);
    T_TRUE(b.head->has_all);
    for (int i = 64; i < 100; i++) {
        T_EQ(pattern(5, (uint64_t)i), small[i]);
    }
    T_EQ(3, a.n_sent);
    free(big);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

// Data that becomes ready bit by bit.
static void test_more(void)
{
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    unsigned char *big = payload(9, 500);
    uint64_t req;
    struct pli_impi_send s = { .env = { .src = 0, .dst = 1, .tag = 1 }, .data = big, .len = 500 };
    T_EQ(PLI_IMPI_OK, pli_impi_engine_send(a.e, &s, &req));
    t_send(&a, 0, 1, 2, "after", 5, false);
    t_settle(&a, 0, &b, 1);
    T_TRUE(b.head == NULL); // the second must not overtake the first
    T_EQ(PLI_IMPI_OK, pli_impi_engine_more(a.e, req, 64));
    t_settle(&a, 0, &b, 1);
    T_TRUE(b.head != NULL && b.head->next != NULL && !b.head->has_all);
    for (uint64_t ready = 65; ready < 500; ready += 30) {
        T_EQ(PLI_IMPI_OK, pli_impi_engine_more(a.e, req, ready));
        t_settle(&a, 0, &b, 1);
    }
    T_TRUE(!b.head->has_all);
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_more(a.e, req, 501));
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_more(a.e, req, 10));
    T_EQ(PLI_IMPI_OK, pli_impi_engine_more(a.e, req, 500));
    t_settle(&a, 0, &b, 1);
    check_msg(b.head, 9, 500);
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_more(a.e, req, 500));
    free(big);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

// Of two long messages under way the older ends first, though the younger has its data sooner.
static void test_age(void)
{
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    unsigned char *big = payload(9, 500);
    uint64_t req[2];
    struct pli_impi_send s = {
        .env = { .src = 0, .dst = 1, .tag = 1 }, .data = big, .len = 500, .ready = 64
    };
    for (int i = 0; i < 2; i++) {
        T_EQ(PLI_IMPI_OK, pli_impi_engine_send(a.e, &s, &req[i]));
    }
    t_settle(&a, 0, &b, 1);
    T_TRUE(b.head->next != NULL && b.head->next->is_accepted);
    T_EQ(2, a.n_matched);
    for (int i = 1; i >= 0; i--) {
        T_EQ(PLI_IMPI_OK, pli_impi_engine_more(a.e, req[i], 500));
    }
    t_settle(&a, 0, &b, 1);
    T_EQ(2, a.n_sent);
    T_EQ(req[1], a.last_req);
    check_msg(b.head, 9, 500);
    check_msg(b.head->next, 9, 500);
    free(big);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

// Data that passes through a small place over and over.
static void test_ring(void)
{
    enum { LEN = 1000, RING = 128 };
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    unsigned char *big = payload(9, LEN), ring[RING];
    uint64_t req, done = 0;
    struct pli_impi_send s = {
        .env = { .src = 0, .dst = 1, .tag = 1 }, .data = ring, .len = LEN, .ring = RING - 1
    };
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_send(a.e, &s, &req)); // packets would be torn
    s.ring = RING;
    T_EQ(PLI_IMPI_OK, pli_impi_engine_send(a.e, &s, &req));
    while (done < LEN) {
        T_TRUE(done < a.left + RING); // there is room again
        while (done < LEN && done < a.left + RING) {
            ring[done % RING] = big[done];
            done++;
        }
        T_EQ(PLI_IMPI_OK, pli_impi_engine_more(a.e, req, done));
        t_settle(&a, 0, &b, 1);
    }
    check_msg(b.head, 9, LEN);
    T_EQ(LEN, a.left);
    T_EQ(1, a.n_sent);
    free(big);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

static enum pli_impi_cancel_result cancel(struct t_node *n, uint64_t req)
{
    struct pli_impi_cancel c = { 0, 1, req };
    enum pli_impi_cancel_result r;
    T_EQ(PLI_IMPI_OK, pli_impi_engine_cancel(n->e, &c, &r));
    return r;
}

static void test_cancel(void)
{
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    b.is_auto = false;
    unsigned char *big = payload(3, 300);

    // nothing has left: at once, and what is behind it goes
    uint64_t req = t_send(&a, 0, 1, 1, big, 300, true);
    t_send(&a, 0, 1, 2, "s", 1, false);
    T_EQ(PLI_IMPI_CANCEL_DONE, cancel(&a, req));
    t_settle(&a, 0, &b, 1);
    T_TRUE(b.head != NULL && b.head->next == NULL && b.head->a.env.tag == 2);
    T_EQ(0, a.n_yes + a.n_no);
    t_forget(&b);

    // unmatched: yes, for long, synchronous and plain short ones
    for (int kind = 0; kind < 3; kind++) {
        req = t_send(&a, 0, 1, 3, big, kind == 0 ? 300 : 10, kind == 1);
        t_settle(&a, 0, &b, 1);
        T_EQ(PLI_IMPI_CANCEL_ASKED, cancel(&a, req));
        struct pli_impi_cancel again = { 0, 1, req };
        enum pli_impi_cancel_result r;
        T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_cancel(a.e, &again, &r));
        t_settle(&a, 0, &b, 1);
        T_EQ(kind + 1, a.n_yes);
        T_EQ(req, a.last_req);
        T_TRUE(b.tail->is_gone);
        if (kind < 2) { // its handle is gone with it
            T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_accept(b.e, b.tail->a.handle, NULL, 0));
        }
    }
    T_EQ(0, a.n_matched);

    // matched, and the SYNCACK has been seen: too late
    req = t_send(&a, 0, 1, 4, big, 10, true);
    t_settle(&a, 0, &b, 1);
    t_accept(&b, b.tail);
    t_settle(&a, 0, &b, 1);
    T_EQ(1, a.n_matched);
    T_EQ(PLI_IMPI_CANCEL_ASKED, cancel(&a, req)); // the engine has forgotten it: the peer decides
    t_settle(&a, 0, &b, 1);
    T_EQ(1, a.n_no);

    free(big);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

static void test_cancel_late(void)
{
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    b.is_auto = false;
    unsigned char *big = payload(3, 300);

    // CANCEL and SYNCACK cross: both are told, and the long message comes whole
    uint64_t req = t_send(&a, 0, 1, 5, big, 300, false);
    t_settle(&a, 0, &b, 1);
    t_accept(&b, b.tail);
    T_EQ(PLI_IMPI_CANCEL_ASKED, cancel(&a, req));
    t_settle(&a, 0, &b, 1);
    T_EQ(1, a.n_matched);
    T_EQ(1, a.n_no);
    check_msg(b.tail, 3, 300);

    // the answer may come later
    b.cancel_answer = -1;
    req = t_send(&a, 0, 1, 6, big, 300, false);
    t_settle(&a, 0, &b, 1);
    T_EQ(PLI_IMPI_CANCEL_ASKED, cancel(&a, req));
    t_settle(&a, 0, &b, 1);
    T_EQ(0, a.n_yes);
    t_answer(&b, &b.asked, true);
    t_settle(&a, 0, &b, 1);
    T_EQ(1, a.n_yes);

    // a long message under way
    req = t_send(&a, 0, 1, 7, big, 300, false);
    t_settle(&a, 0, &b, 1);
    t_accept(&b, b.tail);
    while (a.n_matched < 2) {
        t_move(&b, 1, &a, 0, 1);
    }
    T_EQ(PLI_IMPI_CANCEL_LATE, cancel(&a, req));
    t_settle(&a, 0, &b, 1);
    check_msg(b.tail, 3, 300);

    struct pli_impi_cancel never = { 0, 1, 99999 };
    enum pli_impi_cancel_result r;
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_cancel(a.e, &never, &r));
    free(big);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

static void test_finish(void)
{
    struct pli_impi_job *job = t_job(&two);
    struct t_node a, b;
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    // what is queued goes before FINI, through flow control
    for (int i = 0; i < 50; i++) {
        t_send(&a, 0, 1, i, "xyz", 3, false);
    }
    pli_impi_engine_finish(a.e);
    struct pli_impi_send s = { .env = { .src = 0, .dst = 1 } };
    uint64_t req;
    T_EQ(PLI_IMPI_ERR_CLOSED, pli_impi_engine_send(a.e, &s, &req));
    t_settle(&a, 0, &b, 1);
    int n = 0;
    for (struct t_msg *m = b.head; m != NULL; m = m->next) {
        T_EQ(n++, m->a.env.tag);
    }
    T_EQ(50, n);
    T_EQ(1, b.n_fini);
    T_EQ(0, b.n_down);
    T_EQ(PLI_IMPI_LINK_OPEN, pli_impi_engine_link(a.e, 1));
    // a host that has finalized takes nothing more
    s.env = (struct pli_impi_envelope){ .src = 1, .dst = 0 };
    T_EQ(PLI_IMPI_ERR_CLOSED, pli_impi_engine_send(b.e, &s, &req));
    pli_impi_engine_finish(b.e);
    t_settle(&a, 0, &b, 1);
    T_EQ(PLI_IMPI_LINK_OVER, pli_impi_engine_link(a.e, 1));
    T_EQ(PLI_IMPI_LINK_OVER, pli_impi_engine_link(b.e, 0));
    T_EQ(1, a.n_down);
    T_EQ(PLI_IMPI_OK, a.down_err);
    pli_impi_engine_eof(a.e, 1, PLI_IMPI_OK); // the end of a stream that is over is no news
    T_EQ(1, a.n_down);
    t_node_fini(&a);
    t_node_fini(&b);

    // queued for a host that finalizes first: told, not kept
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    for (int i = 0; i < 10; i++) {
        t_send(&a, 0, 1, i, "xyz", 3, i % 2 == 0);
    }
    pli_impi_engine_finish(b.e);
    while (t_move(&b, 1, &a, 0, 1000) > 0) {
    }
    T_EQ(10, a.n_sent_err);
    T_EQ(PLI_IMPI_ERR_CLOSED, a.last_err);
    pli_impi_engine_finish(a.e);
    t_settle(&a, 0, &b, 1);
    T_TRUE(pli_impi_engine_is_over(a.e) && pli_impi_engine_is_over(b.e));

    // unless they are on the wire: then they are written, and ignored there
    t_node_fini(&a);
    t_node_fini(&b);
    t_node_init(&a, job, 0);
    t_node_init(&b, job, 1);
    t_send(&a, 0, 1, 0, "xyz", 3, false);
    t_move(&a, 0, &b, 1, 1);
    pli_impi_engine_finish(b.e);
    while (t_move(&b, 1, &a, 0, 1000) > 0) {
    }
    pli_impi_engine_finish(a.e);
    t_settle(&a, 0, &b, 1);
    T_TRUE(pli_impi_engine_is_over(a.e) && pli_impi_engine_is_over(b.e));
    T_EQ(1, a.n_sent);
    T_TRUE(b.head == NULL);
    t_node_fini(&a);
    t_node_fini(&b);
    pli_impi_job_destroy(job);
}

// Three clients, two hosts each: hosts of one client do not talk through us.
static void test_mesh(void)
{
    struct t_shape shape = { 3, 2, 2, 100, 3, 5 };
    struct pli_impi_job *job = t_job(&shape);
    struct t_node n[6];
    for (uint32_t h = 0; h < 6; h++) {
        t_node_init(&n[h], job, h);
    }
    T_TRUE(!pli_impi_engine_is_peer(n[0].e, 0) && !pli_impi_engine_is_peer(n[0].e, 1) &&
           pli_impi_engine_is_peer(n[0].e, 2) && !pli_impi_engine_is_peer(n[0].e, 6));
    struct pli_impi_send s = { .env = { .src = 0, .dst = 2 } };
    uint64_t req;
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_send(n[0].e, &s, &req)); // own client
    s.env.dst = 12;
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_send(n[0].e, &s, &req)); // nobody
    s.env = (struct pli_impi_envelope){ .src = 2, .dst = 4 };
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_engine_send(n[0].e, &s, &req)); // not ours to send
    static unsigned char data[1000];
    int sent = 0;
    for (uint32_t a = 0; a < 12; a++) {
        for (uint32_t b = 0; b < 12; b++) {
            if (a / 4 != b / 4) {
                t_send(&n[a / 2], a, b, (int32_t)(a * 12 + b), data, 350, false);
                sent++;
            }
        }
    }
    for (int round = 0; round < 3; round++) {
        for (uint32_t a = 0; a < 6; a++) {
            for (uint32_t b = a + 1; b < 6; b++) {
                if (a / 2 != b / 2) {
                    t_settle(&n[a], a, &n[b], b);
                }
            }
        }
        for (uint32_t h = 0; round == 1 && h < 6; h++) {
            pli_impi_engine_finish(n[h].e);
        }
    }
    int got = 0;
    for (uint32_t h = 0; h < 6; h++) {
        for (struct t_msg *m = n[h].head; m != NULL; m = m->next, got++) {
            T_TRUE(m->has_all);
            T_EQ(m->a.env.src * 12 + m->a.env.dst, m->a.env.tag);
            T_EQ(h, m->a.env.dst / 2);
        }
        T_TRUE(pli_impi_engine_is_over(n[h].e));
        t_node_fini(&n[h]);
    }
    T_EQ(sent, got);
    pli_impi_job_destroy(job);
}

int main(void)
{
    srand(1);
    test_window();
    test_pairs_apart();
    test_long();
    test_more();
    test_age();
    test_ring();
    test_cancel();
    test_cancel_late();
    test_finish();
    test_mesh();
    static const struct t_shape shapes[] = {
        { 2, 1, 1, 1, 1, 1 },      { 2, 1, 1, 7, 1, 2 },       { 2, 1, 3, 64, 2, 2 },
        { 2, 1, 2, 1000, 10, 20 }, { 2, 1, 4, 20000, 20, 20 }, { 2, 1, 2, 65536, 64, 1024 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        test_volume(shapes[i], 400, (uint64_t)shapes[i].datalen * 5);
    }
    test_volume(shapes[3], 5000, 300);
    return 0;
}
