// SPDX-License-Identifier: BSD-3-Clause
// Fills the slots of the transport table that a transport has no use for.
#include "net/net.h"

#include "base/log.h"
#include "net/shm/shm_sleep.h"

#include <stdlib.h>

enum pli_err pli_net_no_open(struct pli_lane *lane)
{
    (void)lane;
    return PLI_OK;
}

void pli_net_no_leave(struct pli_lane *lane)
{
    (void)lane;
}

void pli_net_no_finalize(void)
{
}

void pli_net_no_close(bool is_over)
{
    (void)is_over;
}

void pli_net_no_retry(struct pli_conn *c)
{
    (void)c;
}

void pli_net_no_accept(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                       uint64_t address, uint32_t n_piece)
{
    (void)recv;
    (void)from;
    (void)want;
    (void)address;
    (void)n_piece;
    pli_log(PLI_ERROR, "a large message was offered by a transport that offers none");
    abort(); // the receive would wait for ever
}

void pli_net_no_take(struct pli_request *recv, struct pli_unexpected *p)
{
    (void)recv;
    (void)p;
    pli_log(PLI_ERROR, "a kept message is of a kind that its transport does not know");
    abort(); // the receive would wait for ever
}

bool pli_net_no_cell(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    (void)lane;
    (void)cell;
    return false;
}

void pli_net_no_fail(struct pli_conn *c, bool has_died)
{
    (void)c;
    (void)has_died;
}

static int poll_none(struct pli_net_lane *net, enum pli_net_poll why)
{
    (void)net;
    (void)why;
    return 0;
}

static uint32_t spins_none(struct pli_net_lane *net, const struct pli_comm *comm, int source)
{
    (void)net;
    (void)comm;
    (void)source;
    return 0;
}

static void flag_none(struct pli_net_lane *net, bool flag)
{
    (void)net;
    (void)flag;
}

static void nothing(struct pli_net_lane *net)
{
    (void)net;
}

static bool is_not(struct pli_net_lane *net)
{
    (void)net;
    return false;
}

static uint64_t patience_none(struct pli_net_lane *net)
{
    (void)net;
    return 0;
}

static bool sleep_none(struct pli_net_lane *const nets[], int n, int wakes, uint64_t timeout_ns)
{
    (void)nets;
    (void)n;
    (void)wakes;
    (void)timeout_ns;
    return false;
}

static int peer_processor_none(struct pli_net_lane *net, uint32_t *index_out)
{
    (void)net;
    (void)index_out;
    return -1;
}

static const struct pli_net_lane_ops none_ops = {
    .peer_processor = peer_processor_none,
    .sleeps_by = PLI_SHM_BY_FUTEX,
    .look_cost = 1,
    .poll = poll_none,
    .spins = spins_none,
    .hold = flag_none,
    .bye = nothing,
    .has_unsent = is_not,
    .is_busy = is_not,
    .arm = nothing,
    .sleep_limit = patience_none,
    .sleep = sleep_none,
    .wake = nothing,
    .freeze = flag_none,
};
struct pli_net_lane pli_net_none = { .ops = &none_ops };
