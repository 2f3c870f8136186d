// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether a rank does nothing but poll in vain, and answers the launcher for it.
#include "msg/poll_record.h"

#include "base/clock.h"
#include "boot/boot.h"
#include "msg/progress.h"
#include "msg/wait_record.h"
#include "net/net.h"

_Thread_local uint32_t pli_poll_record_n_empty;

enum { LONG_NS = 1000000000 }; // polls in vain for so long are told

// Where several threads call MPI, or lanes are several, nothing is recorded: what one thread finds
// may be of use to another.
static bool is_alone(void)
{
    const struct pli_boot *b = pli_proc.boot;
    return !pli_lock_threads && !pli_proc.is_multiple &&
           atomic_load_explicit(&pli_proc.n_open, memory_order_relaxed) == 1 &&
           atomic_load_explicit(&b->node.rows[b->row].is_shared, memory_order_relaxed) == 0;
}

void pli_poll_record_look(const struct pli_waiter *w, const char *call)
{
    static uint64_t head, since_ns;
    static uint32_t polls, n_empty, asked;
    struct pli_lane *lane = w->lane;
    if (!is_alone()) {
        return;
    }
    uint64_t now = pli_clock_ns(), h = atomic_load(&lane->shm.box->head);
    uint32_t p = atomic_load(&lane->n_poll), n = pli_poll_record_n_empty;
    // Only tests polled the lane since the last look, and nothing came.
    bool is_in_vain = h == head && p - polls == n - n_empty;
    head = h;
    polls = p;
    n_empty = n;
    if (!is_in_vain) {
        since_ns = now;
        pli_wait_record_end_polling();
        return;
    }
    if (now - since_ns < LONG_NS) {
        return;
    }
    uint32_t question = pli_wait_record_polling(w, call);
    if (question != 0 && question == asked && !pli_progress_is_stalled(lane) &&
        lane->net->ops->sleep_limit(lane->net) == 0) {
        pli_wait_record_answer_polling(question);
    }
    asked = question;
}
