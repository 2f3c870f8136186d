// SPDX-License-Identifier: BSD-3-Clause
// Lanes: which connections stay inside the process, whatever the number of the job is; and no
// checkpoint is made while a lane has sockets that are not in the table of lanes yet.
#include "msg/lane.h"

#include "ckpt/freeze_hold.h"
#include "ft/failure.h"
#include "msg/mailbox.h"
#include "msg/process.h"
#include "net/net.h"
#include "t.h"

static void check(uint64_t job)
{
    struct pli_lane lane = { .proc = job | 5 };
    for (uint64_t proc = 4; proc < 8; proc++) {
        for (uint64_t at = 0; at < PLI_NODE_N_LANE; at++) {
            struct pli_conn c = { .key = (job | proc) << 3 | at };
            T_EQ(pli_lane_is_within(&lane, &c), proc == 5);
        }
    }
}

// A transport that looks whether the process may be frozen while its part of a lane is made.
static int n_opened, n_held;

static enum pli_err open_part(struct pli_lane *lane)
{
    n_opened++;
    n_held += pli_freeze_is_held() && atomic_load(&pli_proc.lanes[lane->index]) == NULL;
    return PLI_OK;
}

static enum pli_err reach_none(struct pli_conn *c, uint64_t proc)
{
    (void)c;
    (void)proc;
    return PLI_ERR_UNSUPPORTED;
}

static const struct pli_net_ops watcher = {
    .name = "watcher",
    .open = open_part,
    .leave = pli_net_no_leave,
    .finalize = pli_net_no_finalize,
    .close = pli_net_no_close,
    .connect = reach_none,
    .cell = pli_net_no_cell,
};

static void holds(void)
{
    static const struct pli_net_ops *const nets[] = { &pli_mailbox_ops, &watcher, NULL };
    struct pli_lane *lane;
    T_MUST(pli_process_open(false, nets, &pli_failure_handlers) == PLI_OK);
    T_EQ(n_opened, 1);
    T_OK(pli_lane_open(1, &lane) == PLI_OK);
    T_EQ(n_opened, 2);
    T_EQ(n_held, 2);
    T_OK(!pli_freeze_is_held()); // and afterwards it may
    pli_process_close();
}

int main(void)
{
    check(0);
    check(UINT64_C(1) << 32);
    check(UINT64_C(0x123) << 32);
    check(UINT64_C(0xdeadbeef) << 32); // the top bits do not fit into a key
    holds();
    return t_status();
}
