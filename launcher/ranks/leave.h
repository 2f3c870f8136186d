// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are to leave: their notice, and whether they are gone.
#ifndef PLI_LAUNCHER_LEAVE_H
#define PLI_LAUNCHER_LEAVE_H

#include "launcher/base/loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_answer;
struct pli_job;

// A version of the world counts from now on of which some processes are no members.
void pli_leave_begin(struct pli_job *job);
// A process has ended: requests that wait for leaving ranks may be answered.
void pli_leave_check(void);

// A request of kind PLI_ASK_LEFT. True: the answer is there. False: it comes later, by
// pli_rank_request_answer(token).
bool pli_leave_ask(struct pli_job *job, const char *body, size_t len, void *token,
                   struct pli_answer *answer);
// The request is closed: its answer is not needed any more.
void pli_leave_forget(const void *token);

struct pli_leave_wait;

// Requests that wait for ranks that are to leave: pli_launcher.leave.
struct pli_leave_state {
    struct pli_leave_wait *waits, *over;
    struct pli_timer patience;
    uint32_t named; // version whose leavers were named: once is enough
};

#endif
