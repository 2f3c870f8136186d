// SPDX-License-Identifier: BSD-3-Clause
// Waiting inside UPC calls makes progress for everything else too: messages of MPI, requests of far
// threads.
#include "rt_wait.h"
#include "rt.h"
#include "upc_calls.h"

#include "base/cpu.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "net/shm/shm.h"

#include <errno.h>

void pli_rt_wait_init(struct pli_waiter *w, const char *call, bool is_restless)
{
    struct rt_thread *me = rt_me();
    *w = (struct pli_waiter){
        .lane = me->lane, .comm = me->comm, .call = call, .is_restless = is_restless
    };
}

void pli_rt_wait_wake_all(void)
{
    int me = rt_me()->me;
    for (int t = 0; t < pli_rt.n; t++) {
        if (t != me && pli_rt.box[t] != NULL) {
            pli_shm_wake(pli_rt.box[t]);
        }
    }
}

// A program that spins on shared memory calls this from time to time.
void pli_upc_poll_slow(void)
{
    struct rt_thread *me = rt_me();
    int saved = errno; // a fence is no call that the program sees
    if (pli_progress_once(me->lane) == 0) {
        pli_cpu_rest();
    }
    errno = saved;
}
