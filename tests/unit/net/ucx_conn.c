// SPDX-License-Identifier: BSD-3-Clause
// Notes that wait for the workers to meet when UCX is left: answers go over the connection, and
// questions about UCX itself nowhere.
#include "net/ucx/ucx_conn.h"

#include "net/tcp/tcp_conn.h"
#include "msg/msg_wire.h"
#include "t.h"

static struct pli_tcp_lane net;
static struct pli_ucx_worker lane;
static struct pli_ucx_conn ucx;
static struct pli_conn conn;
static struct pli_tcp_conn tc;

// A connection that is being made: what is sent is kept.
static void make_conn(void)
{
    lane.net = &net;
    net.ucx = &lane;
    net.bypass = &pli_ucx_conn_bypass;
    ucx.lane = &lane;
    tc = (struct pli_tcp_conn){
        .conn = &conn, .net = &net, .ucx = &ucx, .state = PLI_TCP_CONN_DIALING
    };
    struct pli_list *const lists[] = { &net.busy, &lane.streams, &lane.free,
                                       &ucx.ops,  &ucx.notes,    &tc.busy,
                                       &tc.notes, &tc.pending,   &tc.streams };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        pli_list_init(lists[i]);
    }
}

static size_t count(const struct pli_list *list)
{
    size_t n = 0;
    for (const struct pli_list *at = list->next; at != list; at = at->next) {
        n++;
    }
    return n;
}

int main(void)
{
    make_conn();
    ucx.phase = PLI_UCX_CONN_OPEN;
    tc.by_ucx = true;
    pli_ucx_conn_note(&tc, PLI_MSG_UCX_SEEN, 7, 0, 0);
    pli_ucx_conn_note(&tc, PLI_MSG_ACK, 1, 0, 0);
    pli_ucx_conn_note(&tc, PLI_MSG_UCX_ASK, 9, 0, 0);
    T_EQ(count(&ucx.notes), 3);
    ucx.phase = PLI_UCX_CONN_LEAVING;
    pli_ucx_conn_leave(&tc);
    T_EQ(count(&ucx.notes), 0);
    T_EQ(count(&tc.notes), 1); // the answer
    pli_ucx_conn_note(&tc, PLI_MSG_UCX_ASK, 9, 0, 0);
    ucx.phase = PLI_UCX_CONN_CLOSED;
    pli_ucx_conn_note(&tc, PLI_MSG_UCX_SEEN, 9, 0, 0);
    T_EQ(count(&ucx.notes), 0); // or the next meeting would begin with it
    T_EQ(count(&tc.notes), 1);
    pli_tcp_conn_forget(&tc);
    T_EQ(count(&tc.notes), 0);
    return t_status();
}
