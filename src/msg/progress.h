// SPDX-License-Identifier: BSD-3-Clause
// Makes progress on everything under way, and waits without wasting the machine.
#ifndef PLI_MSG_PROGRESS_H
#define PLI_MSG_PROGRESS_H

#include "msg/lane.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_request;

// How often to look before giving way: by the settings, or whether ranks outnumber the cores.
uint32_t pli_progress_spins(void);

// The first sleep of a thread that waits; then its record is written and the next has no end.
enum { PLI_PROGRESS_NAP_NS = 100000000 };

// One poll with the lock. Context: no lock held.
int pli_progress_once(struct pli_lane *lane);

// The same for a call that only tests: now and then it also polls the lanes that no thread drives,
// so that a program may wait by testing. Context: no lock held.
int pli_progress_test(struct pli_lane *lane);

// The same for calls that look at memory of the program, some of them without a test: such a
// program is always taken for one that waits. Context: no lock held.
int pli_progress_test_memory(struct pli_lane *lane);

// Whether something waits to be sent from the lane. Context: no lock held.
bool pli_progress_is_stalled(struct pli_lane *lane);

// How far a waiting loop has come: looking, giving way, sleeping.
struct pli_waiter {
    struct pli_lane *lane;
    uint32_t n_idle;
    uint8_t watched;            // lanes at which this thread has announced that it will sleep
    int wakes[PLI_NODE_N_LANE]; // of each, when it was announced
    uint8_t held;               // lanes whose descriptors this thread has slept on
    int net_wakes;              // of its own lane, before the condition was last looked at
    bool is_counted;            // among the lane's n_wait
    bool is_late;               // it also watches lanes whose threads are outside MPI
    bool is_recorded;           // what it waits for is in the node's memory
    bool has_row;               // in the row of the process
    uint8_t n_slot;             // and, if not 0, behind that number among its lane's threads
    bool is_far; // waits for another machine: looking in haste would only keep others from work
    bool is_restless;          // waits for more than this lane: sleep in short naps only
    bool is_unwoken;           // for memory whose writer does not wake it: the same, recorded later
    uint64_t way_ns, given_ns; // when it last came back from giving way; how long it did so in all
    uint32_t n_nap;            // short sleeps in a row without an event
    uint32_t asked;            // the launcher's question after which the lanes were polled
    uint64_t begin_ns;         // when it began, if waits are counted
    int64_t context;           // and of which communicator
    // For the record a long sleep leaves; all may be empty.
    const struct pli_request *request; // the request waited for, or one of them
    uint32_t n_request;                // how many
    const struct pli_comm *comm;       // without a request: a probe or a collective on this
    const char *call;                  // "MPI_Bcast"; NULL with a comm: a probe
    int peer, tag; // of a probe; of a collective: its root, and what numbers it or 0
    bool has_root; // the collective has one
    struct pli_waiter *next_recorded; // among all with a record
    // Called a few times a second while asleep, when set, to note what no message tells; the
    // condition is looked at afterwards. Context: no lock held.
    void (*watch)(const struct pli_waiter *w);
};

// `while (!done) pli_progress_step(&w); pli_progress_end(&w);` The condition must be looked at
// between two steps. Context: no lock held.
void pli_progress_step(struct pli_waiter *w);
void pli_progress_end(struct pli_waiter *w);

// For the progress thread: one poll without what calls functions of the program; *n_own counts the
// polls. Announce a sleep at some lanes, look, then sleep or not: pli_progress_end either way.
int pli_progress_serve(struct pli_lane *lane, uint32_t *n_own);
void pli_progress_announce(struct pli_waiter *w, uint8_t lanes);
void pli_progress_sleep(struct pli_waiter *w, uint64_t time_ns);

// Whether a request waits for a process of another MPI job, for pli_waiter.is_far.
bool pli_progress_is_far(const struct pli_request *r);

// Wait for one request. Context: no lock held.
void pli_progress_wait(struct pli_request *r);

#endif
