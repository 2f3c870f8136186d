// SPDX-License-Identifier: BSD-3-Clause
// UCX's row of the transport table. A TCP connection comes first and stays beside the messages of
// UCX; they use it again while UCX is left (ucx_quiesce.c), and where the other side has no UCX.
#include "net/ucx/ucx_net.h"

#include "msg/lane.h"
#include "msg/request.h"
#include "net/tcp/tcp.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_lane.h"
#include "net/ucx/ucx_conn.h"
#include "net/ucx/ucx_quiesce.h"

static enum pli_err open(struct pli_lane *lane)
{
    enum pli_err err = pli_tcp_lane_open(lane);
    struct pli_tcp_lane *net = pli_tcp_lane_of(lane);
    return err == PLI_OK && net != NULL ? pli_ucx_conn_open(net) : err;
}

static enum pli_err connect(struct pli_conn *c, uint64_t proc)
{
    const struct pli_tcp_lane *net = pli_tcp_lane_of(c->lane);
    return net != NULL && net->ucx != NULL ? pli_tcp_connect(c, proc) : PLI_ERR_UNSUPPORTED;
}

static bool uses_ucx(const struct pli_tcp_conn *tc)
{
    return tc->by_ucx && tc->state != PLI_TCP_CONN_DEAD && !tc->is_gone;
}

static void start(struct pli_request *r)
{
    if (uses_ucx(r->conn->net)) {
        r->item.seq = 0;
        pli_ucx_conn_start(r);
    } else {
        pli_tcp_conn_start(r);
    }
}

static void note(struct pli_conn *c, int kind, const uint64_t word[3])
{
    const struct pli_tcp_conn *tc = c->net;
    if (tc->by_ucx) {
        pli_ucx_conn_note(c->net, kind, word[0], word[1], word[2]);
    } else {
        pli_tcp_conn_note(c->net, kind, word[0], word[1], word[2]);
    }
}

struct pli_tcp_conn *pli_ucx_net_conn(const struct pli_conn *c)
{
    return c->ops == &pli_ucx_net_ops ? c->net : NULL;
}

const struct pli_net_ops pli_ucx_net_ops = {
    .name = "ucx",
    .open = open,
    .leave = pli_net_no_leave, // with the part of TCP
    .finalize = pli_net_no_finalize,
    .close = pli_ucx_quiesce_close,
    .connect = connect,
    .disconnect = pli_tcp_disconnect,
    .start = start,
    .retry = pli_net_no_retry,
    .cancel = pli_tcp_conn_unsend,
    .note = note,
    .accept = pli_tcp_accept,
    .take = pli_net_no_take,
    .cell = pli_net_no_cell,
    .fate = pli_tcp_fate,
    .fail = pli_tcp_fail_conn,
};
