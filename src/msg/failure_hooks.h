// SPDX-License-Identifier: BSD-3-Clause
// What msg asks of the room that handles failures (src/ft), which hooks in when the process opens.
#ifndef PLI_MSG_FAILURE_HOOKS_H
#define PLI_MSG_FAILURE_HOOKS_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;
struct pli_conn;
struct pli_lane;
struct pli_request;

struct pli_failure_hooks {
    void (*open)(void); // the node memory is mapped. Context: start-up of the process
    void (*move)(void); // it may be another one. Context: the only thread
    // There has been news in the job, or there are other jobs, of which no news comes: to be asked
    // where pli_request_may_be_withdrawn, or pli_boot.is_linked. Context: any.
    bool (*is_due)(void);
    void (*look)(struct pli_lane *lane);       // act on news. Context: no lock held
    bool (*is_blocked)(struct pli_lane *lane); // a dead writer blocks the lane. No lock held
    void (*meet)(struct pli_conn *c);          // a connection was made. Context: lane locked
    // Why an operation cannot complete, PLI_OK: it may. Context: lane locked.
    enum pli_err (*judge)(struct pli_lane *lane, const struct pli_request *r, int peer);
    // The sentence for an operation that ended with this error.
    enum pli_err (*explain)(enum pli_err err, const char *what, const struct pli_comm *c);
};

// Never NULL. Until pli_process_open nothing fails.
extern const struct pli_failure_hooks *pli_failure_hooks;

#endif
