// SPDX-License-Identifier: BSD-3-Clause
// Events for the tool interface: noted where they happen, with the time, and handed over soon
// afterwards by a thread of the program that holds no lock.
#ifndef PLI_MSG_EVENT_H
#define PLI_MSG_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_lane;

enum pli_event_type {
    PLI_EVENT_UNEXPECTED, // source, tag, bytes, context of the communicator
    PLI_EVENT_WAIT_BEGIN, // number of requests, context of the communicator
    PLI_EVENT_WAIT_END,   // number of requests, context, nanoseconds
    PLI_EVENT_CONNECT,    // process, transport
    PLI_EVENT_FAILURE,    // processes of the job that have failed so far
    PLI_EVENT_RESIZE,     // version of the world, its size
    PLI_EVENT_CHECKPOINT, // checkpoints so far
    PLI_EVENT_N
};

enum { PLI_EVENT_N_WORD = 4 };

struct pli_event {
    uint64_t time_ns;
    enum pli_event_type type;
    int64_t word[PLI_EVENT_N_WORD];
};

// What gets the events: of both, context: no lock held, one thread at a time.
struct pli_event_sink {
    void (*take)(const struct pli_event *e);
    void (*dropped)(enum pli_event_type type, uint64_t n); // there was no room for so many
};

// Types that are wanted, a bit each.
extern _Atomic uint32_t pli_event_wanted;

static inline bool pli_event_is_wanted(enum pli_event_type type)
{
    return __builtin_expect(
        (atomic_load_explicit(&pli_event_wanted, memory_order_relaxed) >> type & 1) != 0, 0);
}

// Who gets them; the first call counts. Context: before any type is wanted.
void pli_event_open(const struct pli_event_sink *sink);

// Note one that is wanted. lane: locked by the caller; NULL: no lane is locked.
void pli_event_raise(struct pli_lane *lane, enum pli_event_type type,
                     const int64_t word[PLI_EVENT_N_WORD]) __attribute__((cold));
// Hand over what was noted. Context: no lock held, where functions of the program may be called.
void pli_event_drain(void);

#endif
