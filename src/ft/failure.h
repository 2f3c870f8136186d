// SPDX-License-Identifier: BSD-3-Clause
// Failures, and what they mean for operations under way: a process died, a communicator was
// revoked. Operations that can never complete end with an error. Nothing of this is on a message's
// way: news is looked for by threads that find nothing to do.
#ifndef PLI_FT_FAILURE_H
#define PLI_FT_FAILURE_H

#include "base/err.h"
#include "msg/request.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_conn;
struct pli_failure_hooks;
struct pli_lane;

extern const _Atomic uint32_t *pli_failure_news; // how much bad news there has been in the job

// What msg is told of this room: for pli_process_open.
extern const struct pli_failure_hooks pli_failure_handlers;

// For a thread that has found nothing to do at a lane.
static inline bool pli_failure_is_due(void)
{
    return __builtin_expect(pli_request_may_be_withdrawn, 0) &&
           atomic_load_explicit(pli_failure_news, memory_order_relaxed) != 0;
}
// Act on news, and put right at the lane what the dead left. Context: no lock held.
void pli_failure_look(struct pli_lane *lane) __attribute__((cold));

// Why collectives of a communicator cannot complete any more, with a sentence that names the failed
// processes, where and of what. PLI_OK: they can.
enum pli_err pli_failure_refuse(const char *what, const struct pli_comm *c) __attribute__((cold));
// The same for an operation that ended with this error.
enum pli_err pli_failure_explain(enum pli_err err, const char *what, const struct pli_comm *c)
    __attribute__((cold));

// The members of a communicator that failed, where and of what.
void pli_failure_say_failed(const struct pli_comm *c, char *to, size_t cap) __attribute__((cold));

// Why an operation cannot complete, PLI_OK: it may. For a lane with n_dead above 0.
// Context: lane locked.
enum pli_err pli_failure_judge(struct pli_lane *lane, const struct pli_request *r, int peer)
    __attribute__((cold));

// A collective of the communicator begins. It may not, after a failure or a resize.
enum pli_err pli_failure_enter(const char *what, struct pli_comm *c);

// How the room above tells of a resize by errors. Context: no lock held.
struct pli_failure_resize {
    void (*handle)(void);                                  // there is news, or was
    enum pli_err (*tell)(struct pli_comm *c);              // the error, at last; once
    enum pli_err (*enter)(struct pli_comm *c, uint32_t n); // may the n-th collective begin?
};
void pli_failure_on_resize(const struct pli_failure_resize *ops); // context: start-up only

// The room above is told that there is news. Context of the call: no lane locked.
void pli_failure_on_news(void (*fn)(void));

// A request that stays as it is, but whose wait is to end with an error: a receive from
// MPI_ANY_SOURCE, when a process died that might have answered it; or any, after a resize. Context:
// no lock held.
bool pli_failure_is_open_slow(struct pli_request *r) __attribute__((cold));
static inline bool pli_failure_is_open(struct pli_request *r)
{
    return __builtin_expect(pli_request_may_be_withdrawn, 0) && pli_failure_is_open_slow(r);
}

// As which of all that died a process did, 0: it lives.
uint32_t pli_failure_failed_at(uint64_t proc);

// A communicator was made, or became the local one of another: apply what is known. Context: no
// lock held.
void pli_failure_begin(struct pli_comm *c);
// All members' operations on it fail from now on. Context: no lock held.
enum pli_err pli_failure_revoke(struct pli_comm *c);

#endif
