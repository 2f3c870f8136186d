// SPDX-License-Identifier: BSD-3-Clause
// Whoever knows the address of a worker of UCX can send to it. A message counts only with the
// number that the receiver has told its peer over the connection.
#include "net/ucx/ucx_conn.h"

#include "msg/msg_wire.h"
#include "net/tcp/tcp_conn.h"
#include "t.h"

#include <poll.h>
#include <stdlib.h>

enum { LOOKS = 20000, KEY = 0x1234567 };

static struct pli_tcp_lane net;
static struct pli_ucx_worker lane;
static struct pli_ucx_conn ucx;
static struct pli_conn conn;
static struct pli_tcp_conn tc, *slots[2] = { NULL, &tc };
static struct pli_ucx *caller;
static struct pli_ucx_peer *peer;
static int n_done;

static void done(struct pli_ucx_op *op, const char *why)
{
    (void)op;
    T_OK(why == NULL);
    n_done++;
}

static void hear(void *arg, const void *head, size_t n_head, const void *data, size_t n,
                 void *offer)
{
    (void)arg, (void)head, (void)n_head, (void)data, (void)n, (void)offer;
}

static void lose(void *arg, const char *why)
{
    (void)arg, (void)why;
}

static const struct pli_ucx_calls calls = { hear, lose };

// Send a message that says how many of ours were seen, and wait until it is there.
static void say(size_t n_head, uint32_t slot, uint64_t key, uint64_t n_seen)
{
    struct pli_ucx_head h = { .slot = slot, .key = key };
    struct pli_ucx_op op = { .done = done };
    h.frame.magic = PLI_FRAME_MAGIC;
    h.frame.kind = PLI_MSG_UCX_SEEN;
    h.frame.word[0] = n_seen;
    n_done = 0;
    enum pli_err err = pli_ucx_send(peer, &h, n_head, NULL, 0, false, &op);
    T_MUST(err == PLI_OK || err == PLI_AGAIN);
    n_done += err == PLI_OK;
    for (int i = 0; i < LOOKS && n_done < 1; i++) {
        pli_ucx_progress(caller);
        pli_ucx_progress(lane.ucx);
    }
    struct pli_ucx_op all = { .done = done };
    err = pli_ucx_flush(peer, &all);
    n_done += err == PLI_OK;
    for (int i = 0; i < LOOKS && n_done < 2; i++) {
        pli_ucx_progress(caller);
        pli_ucx_progress(lane.ucx);
        poll(NULL, 0, i < 100 ? 0 : 1);
    }
    T_EQ(n_done, 2);
    for (int i = 0; i < 100; i++) {
        pli_ucx_progress(lane.ucx);
    }
}

static void strangers(void)
{
    say(sizeof(struct pli_ucx_head), 1, 0, 3);
    say(sizeof(struct pli_ucx_head), 1, KEY ^ 1, 3);
    say(sizeof(struct pli_ucx_head), 0, KEY, 3);
    say(sizeof(struct pli_ucx_head), 2, KEY, 3);
    say(sizeof(struct pli_ucx_head) - 8, 1, KEY, 3);
    T_EQ(ucx.n_in, 0);
    T_EQ(ucx.n_seen, 0);
}

static void friends(void)
{
    say(sizeof(struct pli_ucx_head), 1, KEY, 3);
    T_EQ(ucx.n_in, 1);
    T_EQ(ucx.n_seen, 3);
}

int main(void)
{
    setenv("UCX_TLS", "tcp,self", 1);
    setenv("UCX_LOG_LEVEL", "fatal", 1);
    lane = (struct pli_ucx_worker){ .net = &net, .slots = slots, .n_slot = 2 };
    ucx = (struct pli_ucx_conn){ .lane = &lane, .slot = 1, .key = KEY, .n_sent = 5 };
    tc = (struct pli_tcp_conn){ .conn = &conn, .net = &net, .ucx = &ucx };
    tc.state = PLI_TCP_CONN_DIALING;
    if (pli_ucx_conn_start_worker(&lane) != PLI_OK) {
        printf("skipped: %s\n", pli_fail_take(NULL));
        return 77;
    }
    T_MUST(pli_ucx_open(&calls, NULL, &caller) == PLI_OK);
    T_MUST(pli_ucx_connect(caller, lane.address, NULL, &peer) == PLI_OK);
    strangers();
    friends();
    pli_ucx_disconnect(peer);
    for (int i = 0; i < 1000; i++) {
        pli_ucx_progress(caller);
        pli_ucx_progress(lane.ucx);
    }
    pli_ucx_close(caller);
    pli_ucx_conn_stop_worker(&lane);
    return t_status();
}
