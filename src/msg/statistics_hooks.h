// SPDX-License-Identifier: BSD-3-Clause
// Where messages, waits and accesses are counted for a tool (msg/statistics.h), which hooks in when
// one first asks. Nothing is counted while none does: lane->statistics is NULL then.
#ifndef PLI_MSG_STATISTICS_HOOKS_H
#define PLI_MSG_STATISTICS_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_conn;
struct pli_endpoint;
struct pli_lane;
struct pli_request;
struct pli_unexpected;
struct pli_waiter;

enum pli_stat_protocol {
    PLI_STAT_EAGER,    // the data goes with the first cell or frame
    PLI_STAT_RNDV,     // the data is offered and fetched
    PLI_STAT_ONE_COPY, // counted by the receiver: from the sender's buffer to the receiver's
    PLI_STAT_N_PROTOCOL
};

enum pli_stat_rma {
    PLI_STAT_PUT,
    PLI_STAT_GET,
    PLI_STAT_ACCUMULATE,
    PLI_STAT_GET_ACCUMULATE, // with MPI_Fetch_and_op
    PLI_STAT_COMPARE_AND_SWAP,
    PLI_STAT_N_RMA
};

struct pli_statistics_hooks {
    void (*open)(struct pli_lane *lane);         // it is about to be opened
    void (*connected)(const struct pli_conn *c); // a connection was made. Lane locked
    // To be called where lane->statistics is not NULL. Context: lane locked.
    void (*sent)(const struct pli_request *r, enum pli_stat_protocol p);
    void (*one_copy)(const struct pli_request *recv);
    void (*done)(const struct pli_request *r); // it is about to be complete
    void (*posted)(const struct pli_endpoint *ep);
    void (*kept)(const struct pli_unexpected *p);
    void (*held)(const struct pli_lane *lane); // more bytes of unexpected messages
    void (*stalled)(struct pli_lane *lane);    // a send found no room
    // To be called where pli_statistics_is_on. Context: no lock held.
    void (*wait_begins)(struct pli_waiter *w);
    void (*wait_ends)(struct pli_waiter *w);
    void (*slept)(struct pli_lane *lane, uint64_t since_ns);
    void (*access)(enum pli_stat_rma what, uint64_t bytes);
};

// NULL: no tool has asked yet. Never NULL where something says that it counts.
extern const struct pli_statistics_hooks *_Atomic pli_statistics_hooks;
// Who asked: a tool that counts, or the recorder of --profile for looks in vain.
enum { PLI_STATISTICS_COUNT = 1, PLI_STATISTICS_LOOKS = 2 };
extern _Atomic uint8_t pli_statistics_asked;
// Called by a thread that has looked in vain so many times for what it waits for. Context: the
// lane may be locked. Set before PLI_STATISTICS_LOOKS.
extern void (*_Atomic pli_statistics_looked)(uint32_t n_look);
// How often all processes stood still for a checkpoint, or wrote their state.
extern _Atomic uint32_t pli_statistics_n_checkpoint;
// How often a call to another process had to be made again, or at its next address.
extern _Atomic uint32_t pli_statistics_n_retry;

static inline bool pli_statistics_is_on(void)
{
    return __builtin_expect((atomic_load_explicit(&pli_statistics_asked, memory_order_relaxed) &
                             PLI_STATISTICS_COUNT) != 0,
                            0);
}

static inline bool pli_statistics_is_any_asked(void)
{
    return __builtin_expect(atomic_load_explicit(&pli_statistics_asked, memory_order_relaxed) != 0,
                            0);
}

void pli_statistics_look(uint32_t n_look) __attribute__((cold));

#endif
