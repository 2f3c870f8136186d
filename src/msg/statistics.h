// SPDX-License-Identifier: BSD-3-Clause
// Counts of messages, waits and accesses, for the tool interface (src/tool). While a tool asks,
// small messages do not take the shortest way (msg/fastpath.h), which counts nothing.
#ifndef PLI_MSG_STATISTICS_H
#define PLI_MSG_STATISTICS_H

#include "boot/node_wire.h"
#include "msg/lane.h"
#include "msg/statistics_hooks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_comm;

enum { PLI_STAT_N_TRANSPORT = 8 }; // 0: within a lane; then as in pli_proc.nets

enum pli_stat_peer {
    PLI_STAT_SAME_PROCESS,
    PLI_STAT_SAME_HOST,
    PLI_STAT_SAME_JOB, // on another host
    PLI_STAT_OTHER_JOB,
    PLI_STAT_N_PEER
};

// Single numbers of a lane.
enum pli_stat_count {
    PLI_STAT_RECEIVED,
    PLI_STAT_RECEIVED_BYTES,
    PLI_STAT_UNEXPECTED,
    PLI_STAT_STALLED, // sends that found no room
    PLI_STAT_WAITS,
    PLI_STAT_WAIT_NS,
    PLI_STAT_SLEEPS,
    PLI_STAT_SLEEP_NS,
    PLI_STAT_CONNECTIONS, // always counted
    PLI_STAT_N_COUNT
};

// What a high-water mark may be kept of.
enum pli_stat_gauge {
    PLI_STAT_POSTED,     // receives in the queue of an endpoint
    PLI_STAT_QUEUED,     // unexpected messages in the queue of an endpoint
    PLI_STAT_HELD_BYTES, // of unexpected messages at a lane
    PLI_STAT_N_GAUGE
};

// The numbers of a lane. Guarded by its lock.
struct pli_statistics {
    struct pli_poller poller; // in the lane's list while it is counted: keeps receives from the
                              // shortest way
    uint64_t messages[PLI_STAT_N_TRANSPORT][PLI_STAT_N_PROTOCOL];
    uint64_t bytes[PLI_STAT_N_TRANSPORT][PLI_STAT_N_PROTOCOL];
    uint64_t peer_messages[PLI_STAT_N_PEER], peer_bytes[PLI_STAT_N_PEER];
    uint64_t count[PLI_STAT_N_COUNT];
};

// A high-water mark that is being kept.
struct pli_statistics_mark {
    struct pli_list link;
    enum pli_stat_gauge gauge;
    _Atomic uint64_t value;
};

// Count from now on, or no more: calls are counted. Context: no lock held.
void pli_statistics_want(bool is_wanted);
// Hook in: connections are counted from now on. Context: any thread.
void pli_statistics_hook(void);

// Sums over all lanes. Context: no lock held.
uint64_t pli_statistics_messages(int transport, int protocol, bool is_bytes);
uint64_t pli_statistics_peers(int peer, bool is_bytes);
uint64_t pli_statistics_count(enum pli_stat_count what);
uint64_t pli_statistics_rma(enum pli_stat_rma what, bool is_bytes);
// Of now. Context: no lock held.
uint64_t pli_statistics_polls(void);
uint64_t pli_statistics_held(void);
uint64_t pli_statistics_requests(void);
uint64_t pli_statistics_connections(int transport);
// Receives that are posted, or unexpected messages: of all endpoints, or of one communicator.
uint64_t pli_statistics_queue(bool is_posted, const struct pli_comm *comm);
// The most that any endpoint, or lane, has now of what a mark is kept of.
uint64_t pli_statistics_gauge(enum pli_stat_gauge gauge);

// Keep a mark that begins at `value`, or no more. Context: no lock held.
void pli_statistics_begin_mark(struct pli_statistics_mark *m, enum pli_stat_gauge gauge,
                               uint64_t value);
void pli_statistics_end_mark(struct pli_statistics_mark *m);

#endif
