// SPDX-License-Identifier: BSD-3-Clause
// Two workers of UCX in one process talk over its TCP: small messages, large ones that are fetched
// or refused, a sleep on the descriptor, and a way that ends with something under way.
#include "net/ucx/ucx.h"

#include "t.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 3000000, HEAD = 64, LOOKS = 20000 };

struct side {
    struct pli_ucx *u;
    struct pli_ucx_peer *peer;
    int n_heard, n_lost;
    char head[HEAD], data[HEAD];
    size_t n_data;
    bool takes; // large data
};

struct job {
    struct pli_ucx_op op; // first
    int n_done;
    bool is_bad;
};

static struct side a, b;
static struct job fetch;
static unsigned char from[LARGE], to[LARGE];

static void job_done(struct pli_ucx_op *op, const char *why)
{
    struct job *j = (struct job *)op;
    j->n_done++;
    j->is_bad = why != NULL;
}

static void handle(void *arg, const void *head, size_t n_head, const void *data, size_t n,
                   void *offer)
{
    struct side *s = arg;
    T_EQ(n_head, HEAD);
    s->n_heard++;
    s->n_data = n;
    memcpy(s->head, head, n_head);
    if (offer == NULL) {
        memcpy(s->data, data, n < HEAD ? n : HEAD);
    } else if (s->takes) {
        enum pli_err err = pli_ucx_fetch(s->u, offer, to, n, &fetch.op);
        T_OK(err == PLI_OK || err == PLI_AGAIN);
        fetch.n_done += err == PLI_OK;
    }
}

static void lost(void *arg, const char *why)
{
    ((struct side *)arg)->n_lost++;
    T_OK(why[0] != '\0');
}

static const struct pli_ucx_calls calls = { handle, lost };

static void move_on(void)
{
    pli_ucx_progress(a.u);
    pli_ucx_progress(b.u);
}

static void until(const int *what, int is)
{
    for (int i = 0; *what != is && i < LOOKS; i++) {
        move_on();
        poll(NULL, 0, i < 100 ? 0 : 1);
    }
    T_EQ(*what, is);
}

static void meet(struct side *me, struct side *other)
{
    size_t n;
    void *address = pli_ucx_address(other->u, &n);
    T_MUST(address != NULL && n > 0);
    T_MUST(pli_ucx_connect(me->u, address, me, &me->peer) == PLI_OK);
    free(address);
}

static void send_from_a(const char *head, const void *data, size_t n, bool is_large, struct job *j)
{
    *j = (struct job){ .op.done = job_done };
    enum pli_err err = pli_ucx_send(a.peer, head, HEAD, data, n, is_large, &j->op);
    T_OK(err == PLI_OK || err == PLI_AGAIN);
    j->n_done += err == PLI_OK;
}

static void messages(void)
{
    static char head[HEAD] = "small";
    struct job j;
    send_from_a(head, "hello", 6, false, &j);
    until(&b.n_heard, 1);
    until(&j.n_done, 1);
    T_OK(strcmp(b.head, "small") == 0 && b.n_data == 6 && strcmp(b.data, "hello") == 0);
    send_from_a(head, NULL, 0, false, &j);
    until(&b.n_heard, 2);
    T_EQ(b.n_data, 0);
    fetch = (struct job){ .op.done = job_done };
    b.takes = true;
    for (size_t i = 0; i < LARGE; i++) {
        from[i] = (unsigned char)(i * 7 + i / 1000);
    }
    send_from_a(head, from, LARGE, true, &j);
    until(&fetch.n_done, 1);
    until(&j.n_done, 1);
    T_OK(b.n_heard == 3 && b.n_data == LARGE && !j.is_bad && memcmp(from, to, LARGE) == 0);
    b.takes = false; // and one that nobody wants
    send_from_a(head, from, LARGE, true, &j);
    until(&j.n_done, 1);
    T_OK(!j.is_bad && b.n_heard == 4);
}

// A sleeper is woken by a message.
static void sleep_at(void)
{
    static char head[HEAD] = "wake";
    struct job j = { .op.done = job_done };
    struct pollfd fd = { .fd = pli_ucx_fd(b.u), .events = POLLIN };
    enum pli_err err = pli_ucx_flush(a.peer, &j.op);
    j.n_done += err == PLI_OK;
    until(&j.n_done, 1);
    for (int i = 0; i < LOOKS && !pli_ucx_arm(b.u); i++) {
        move_on();
    }
    send_from_a(head, "up", 3, false, &j);
    for (int i = 0; i < 1000 && (fd.revents & POLLIN) == 0; i++) {
        pli_ucx_progress(a.u);
        poll(&fd, 1, 10);
    }
    T_OK((fd.revents & POLLIN) != 0);
    until(&b.n_heard, 5);
}

int main(void)
{
    setenv("UCX_TLS", "tcp,self", 1);
    setenv("UCX_LOG_LEVEL", "fatal", 1); // the refusal is on purpose
    if (pli_ucx_open(&calls, &a, &a.u) != PLI_OK) {
        printf("skipped: %s\n", pli_fail_take(NULL));
        return 77;
    }
    T_MUST(pli_ucx_open(&calls, &b, &b.u) == PLI_OK);
    meet(&a, &b);
    meet(&b, &a);
    messages();
    sleep_at();
    pli_ucx_disconnect(a.peer);
    pli_ucx_disconnect(b.peer);
    for (int i = 0; i < 1000; i++) {
        move_on();
    }
    pli_ucx_close(a.u);
    pli_ucx_close(b.u);
    return t_status();
}
