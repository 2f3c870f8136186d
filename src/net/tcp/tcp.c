// SPDX-License-Identifier: BSD-3-Clause
// TCP's row of the transport table.
#include "net/tcp/tcp.h"

#include "boot/boot.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/request.h"
#include "msg/rndv.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_connect.h"
#include "net/tcp/tcp_lane.h"

enum pli_err pli_tcp_connect(struct pli_conn *c, uint64_t proc)
{
    if (pli_tcp_lane_of(c->lane) == NULL || pli_node_job_of(proc) != pli_boot.job ||
        pli_node_find(&pli_boot.node, (uint32_t)proc) == NULL) {
        return PLI_ERR_UNSUPPORTED;
    }
    pli_shm_peer_none(&c->shm);
    pli_lane_disable_fastpath(c);
    return pli_tcp_conn_create(pli_tcp_lane_of(c->lane), c) ? PLI_OK : PLI_ERR_NOMEM;
}

bool pli_tcp_disconnect(struct pli_conn *c)
{
    return pli_tcp_conn_destroy(c->net);
}

static void note(struct pli_conn *c, int kind, const uint64_t word[3])
{
    pli_tcp_conn_note(c->net, kind, word[0], word[1], word[2]);
}

// Ask the other host for the data, which will be read straight to its place.
void pli_tcp_accept(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                    uint64_t address, uint32_t n_piece)
{
    (void)address;
    (void)n_piece;
    struct pli_tcp_conn *tc = from->net;
    bool is_good = pli_rndv_make_cursor(recv);
    recv->item.seq =
        is_good && want > 0 ? pli_reqid_give(&tc->net->reqids, recv, from, PLI_REQID_RECV) : 0;
    if (!is_good || (want > 0 && recv->item.seq == 0)) {
        pli_lane_note(from, PLI_MSG_CTS, recv->remote, 0, 0);
        pli_rndv_drop_cursor(recv);
        pli_request_complete(recv, PLI_ERR_NOMEM);
        return;
    }
    tc->n_asked += want > 0;
    bool is_pieces = tc->ucx != NULL && recv->cursor != NULL;
    pli_lane_note(from, is_pieces ? PLI_MSG_CTS_PIECES : PLI_MSG_CTS, recv->remote, recv->item.seq,
                  want);
    if (want == 0) {
        pli_rndv_end_receive(recv);
    }
}

// What a process that died had sent must be received first, so the connection says when it is over.
enum pli_err pli_tcp_fate(const struct pli_conn *c, bool has_died, bool is_send)
{
    const struct pli_tcp_conn *tc = c->net;
    if (has_died && is_send) {
        return PLI_ERR_PROC_FAILED;
    }
    return tc->state == PLI_TCP_CONN_DEAD ? tc->fate : PLI_OK;
}

void pli_tcp_fail_conn(struct pli_conn *c, bool has_died)
{
    pli_tcp_connect_fail(c->net, has_died);
}

const struct pli_net_ops pli_tcp_ops = {
    .name = "tcp",
    .open = pli_tcp_lane_open,
    .leave = pli_tcp_lane_leave,
    .finalize = pli_net_no_finalize,
    .close = pli_net_no_close,
    .connect = pli_tcp_connect,
    .disconnect = pli_tcp_disconnect,
    .start = pli_tcp_conn_start,
    .retry = pli_net_no_retry, // lane->net is polled
    .cancel = pli_tcp_conn_unsend,
    .note = note,
    .accept = pli_tcp_accept,
    .take = pli_net_no_take,
    .cell = pli_net_no_cell,
    .fate = pli_tcp_fate,
    .fail = pli_tcp_fail_conn,
};
