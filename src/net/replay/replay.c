// SPDX-License-Identifier: BSD-3-Clause
// Brings the messages of a log, in the order in which they met their receives. The receives are
// posted in the order of the program, so each gets the message that it got: see
// docs/design/record.md.
#include "net/replay/replay.h"

#include "base/conf.h"
#include "base/log.h"
#include "boot/boot.h"
#include "msg/deliver.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/message_log_file.h"
#include "msg/msg_wire.h"
#include "msg/request.h"
#include "msg/unexpected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    // A message that no receive has taken yet is enough, unless the program waits for something
    // else: a probe may have seen a later one first.
    POLLS_BETWEEN = 64,
    NAP_NS = 1000000
};

struct replay_lane {
    struct pli_net_lane base;
    size_t next; // message of this lane that comes next; those before have come, or are of others
    uint32_t n_poll;
};

static struct pli_message_log_file logged; // opened with the first lane
static bool is_open;

static struct replay_lane *of(struct pli_net_lane *base)
{
    return (struct replay_lane *)base;
}

// False: no more messages for endpoints of this lane, so far.
static bool find_next(struct replay_lane *net)
{
    const char *data;
    while (net->next < logged.n) {
        struct pli_message_log_head head = pli_message_log_file_get(&logged, net->next, &data);
        if (head.dst_ep % PLI_NODE_N_LANE == (uint32_t)net->base.lane->index) {
            return pli_lane_ep(net->base.lane, head.dst_ep) != NULL; // else not made yet
        }
        net->next++;
    }
    return false;
}

// Bring the next message. What the receive had no room for is not in the log, nor looked at.
static void bring(struct replay_lane *net)
{
    struct pli_lane *lane = net->base.lane;
    const char *data;
    struct pli_message_log_head head = pli_message_log_file_get(&logged, net->next++, &data);
    struct pli_endpoint *ep = pli_lane_ep(lane, head.dst_ep);
    struct pli_id from = { pli_boot.job | head.src_proc, head.src_lane };
    struct pli_match_item *item =
        pli_match_arrive(&ep->match, head.context, head.src_rank, head.tag);
    if (item != NULL) {
        struct pli_request *recv = PLI_CONTAINER(item, struct pli_request, item);
        recv->state &= (uint16_t)~PLI_REQ_POSTED;
        recv->source = head.src_rank;
        recv->tag = head.tag;
        if (head.n_stored >= head.size || head.n_stored >= recv->size) {
            pli_deliver_take(recv, data, head.size, head.form);
            return;
        }
        pli_request_complete(recv, PLI_ERR_TRUNC); // another receive than it was
        return;
    }
    struct pli_unexpected *p = pli_unexpected_create(ep, head.size);
    p->item.context = head.context;
    p->item.source = head.src_rank;
    p->item.tag = head.tag;
    p->conn = pli_lane_conn(lane, from);
    p->size = head.size;
    p->kind = PLI_MSG_EAGER;
    p->form = head.form;
    memcpy(p->data, data, head.n_stored);
    memset(p->data + head.n_stored, 0, head.size - head.n_stored);
    pli_unexpected_hold(lane, head.size + sizeof *p);
    pli_unexpected_keep(p);
}

static int poll_lane(struct pli_net_lane *base, enum pli_net_poll why)
{
    (void)why;
    struct replay_lane *net = of(base);
    if ((base->lane->held > 0 && ++net->n_poll < POLLS_BETWEEN) || !find_next(net)) {
        return 0;
    }
    net->n_poll = 0;
    bring(net);
    return 1;
}

// For a breakpoint: the program waits, and the log is at its end.
__attribute__((noinline)) static void replay_over(void)
{
    __asm__ volatile("");
}

static void end(void)
{
    struct pli_boot *boot = pli_proc.boot;
    fprintf(stderr,
            "replay: rank %u: its log of messages ends here, with %zu of them: the recorded run "
            "went no further\n",
            boot->index, logged.n);
    replay_over();
    boot->ops->abort(boot, 1, "the log of messages is at its end");
}

// The program waits. A thread that others of the process may wake sleeps for moments.
static uint64_t sleep_limit(struct pli_net_lane *base)
{
    pli_lock_take(&base->lane->lock);
    bool is_over = !find_next(of(base));
    pli_lock_drop(&base->lane->lock);
    if (is_over && !pli_lock_threads) {
        end();
    }
    return NAP_NS;
}

static enum pli_err open_lane(struct pli_lane *lane)
{
    if (pli_conf.message_replay[0] == '\0' || lane->polled != NULL) {
        return PLI_OK;
    }
    if (!is_open) {
        char path[4096];
        snprintf(path, sizeof path, "%s/messages.%u", pli_conf.message_replay,
                 pli_proc.boot->index);
        enum pli_err err = pli_message_log_file_open(path, &logged);
        if (err != PLI_OK) {
            return pli_fail(err, "%s cannot be replayed: %s", path, pli_fail_take(NULL));
        }
        is_open = true;
    }
    struct replay_lane *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the messages of a lane");
    }
    static struct pli_net_lane_ops ops;
    if (ops.poll == NULL) {
        ops = *pli_net_none.ops;
        ops.poll = poll_lane;
        ops.sleep_limit = sleep_limit;
    }
    net->base.ops = &ops;
    net->base.lane = lane;
    lane->net = lane->polled = &net->base;
    return PLI_OK;
}

static enum pli_err connect_to(struct pli_conn *c, uint64_t proc)
{
    if (!is_open || pli_node_job_of(proc) != pli_boot.job || proc == c->lane->proc) {
        return PLI_ERR_UNSUPPORTED;
    }
    pli_shm_peer_none(&c->shm);
    pli_lane_disable_fastpath(c);
    return PLI_OK;
}

static bool disconnect(struct pli_conn *c)
{
    (void)c;
    return true;
}

static void start(struct pli_request *r)
{
    pli_request_complete(r, PLI_OK);
}

static void cancel(struct pli_request *r)
{
    (void)r; // all are complete when they begin
}

static void note(struct pli_conn *c, int kind, const uint64_t word[3])
{
    (void)c;
    (void)kind;
    (void)word;
}

static enum pli_err fate(const struct pli_conn *c, bool has_died, bool is_send)
{
    (void)c;
    (void)has_died;
    (void)is_send;
    return PLI_OK;
}

const struct pli_net_ops pli_replay_ops = {
    .name = "replay",
    .open = open_lane,
    .leave = pli_net_no_leave,
    .finalize = pli_net_no_finalize,
    .close = pli_net_no_close,
    .connect = connect_to,
    .disconnect = disconnect,
    .start = start,
    .retry = pli_net_no_retry,
    .cancel = cancel,
    .note = note,
    .accept = pli_net_no_accept,
    .take = pli_net_no_take,
    .cell = pli_net_no_cell,
    .fate = fate,
    .fail = pli_net_no_fail,
};
