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
static struct pli_tcp_conn l;

// A link that is being connected: what is said is kept.
static void make_link(void)
{
    lane.net = &net;
    net.ucx = &lane;
    net.bypass = &pli_ucx_conn_bypass;
    ucx.lane = &lane;
    l = (struct pli_tcp_conn){
        .conn = &conn, .net = &net, .ucx = &ucx, .state = PLI_TCP_CONN_DIALING
    };
    struct pli_list *const lists[] = { &net.busy, &lane.streams, &lane.free, &ucx.ops,  &ucx.notes,
                                       &l.busy,   &l.notes,      &l.pending, &l.streams };
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
    make_link();
    ucx.phase = PLI_UCX_CONN_IN;
    l.by_ucx = true;
    pli_ucx_conn_note(&l, PLI_MSG_SURED, 7, 0, 0);
    pli_ucx_conn_note(&l, PLI_MSG_ACK, 1, 0, 0);
    pli_ucx_conn_note(&l, PLI_MSG_SURE, 9, 0, 0);
    T_EQ(count(&ucx.notes), 3);
    ucx.phase = PLI_UCX_CONN_LEAVING;
    pli_ucx_conn_leave(&l);
    T_EQ(count(&ucx.notes), 0);
    T_EQ(count(&l.notes), 1); // the answer
    pli_ucx_conn_note(&l, PLI_MSG_SURE, 9, 0, 0);
    ucx.phase = PLI_UCX_CONN_OUT;
    pli_ucx_conn_note(&l, PLI_MSG_SURED, 9, 0, 0);
    T_EQ(count(&ucx.notes), 0); // or the next meeting would begin with it
    T_EQ(count(&l.notes), 1);
    pli_tcp_conn_forget(&l);
    T_EQ(count(&l.notes), 0);
    return t_status();
}
