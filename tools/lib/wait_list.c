// SPDX-License-Identifier: BSD-3-Clause
// Collects wait records: a process with one thread and no endpoints has its record in its row,
// others have one for every thread, by lane.
#include "tools/lib/wait_list.h"

#include "boot/wait_record_wire.h"
#include "tools/lib/job_status.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_asleep(const struct pli_node_wait *w)
{
    return atomic_load_explicit(&w->what, memory_order_acquire) != PLI_NODE_AWAKE;
}

static int by_rank(const void *a, const void *b)
{
    const struct pli_wait_entry *x = a, *y = b;
    int32_t l = x->wait->rank, r = y->wait->rank;
    return l != r ? (l > r) - (l < r) : (x->tid > y->tid) - (x->tid < y->tid);
}

uint32_t pli_wait_list(const struct pli_node *node, uint32_t row,
                       struct pli_wait_entry to[PLI_WAIT_LIST_MAX])
{
    const struct pli_node_row *r = &node->rows[row];
    uint64_t slept = atomic_load_explicit(&r->slept, memory_order_acquire);
    uint32_t n = 0;
    for (int lane = 0; lane < PLI_NODE_N_LANE; lane++) {
        const struct pli_thread_wait *t = pli_thread_waits(node, row, lane);
        for (int i = 0; (slept >> lane & 1) != 0 && i < PLI_THREAD_N; i++) {
            if (is_asleep(&t[i].wait)) {
                to[n++] =
                    (struct pli_wait_entry){ row, &t[i].wait, t[i].tid, t[i].ep, t[i].site, 0 };
            }
        }
    }
    if (n == 0 && is_asleep(&r->wait)) {
        to[n++] = (struct pli_wait_entry){ row, &r->wait, 0, 0, "", 1 };
    }
    for (uint32_t i = 0; i < n; i++) {
        to[i].n_in_row = n;
    }
    qsort(to, n, sizeof *to, by_rank);
    return n;
}

const char *pli_wait_list_who(const struct pli_node *node, const struct pli_wait_entry *e,
                              char to[PLI_WAIT_LIST_WHO])
{
    char who[PLI_JOB_STATUS_NAME];
    pli_job_status_who(node, e->row, who);
    if (e->ep != 0 && e->wait->rank >= 0) {
        snprintf(to, PLI_WAIT_LIST_WHO, "%s (endpoint rank %d, thread %u)", who, e->wait->rank,
                 e->tid);
    } else if (e->n_in_row > 1) {
        snprintf(to, PLI_WAIT_LIST_WHO, "%s (thread %u)", who, e->tid);
    } else {
        snprintf(to, PLI_WAIT_LIST_WHO, "%s", who);
    }
    return to;
}

const char *pli_wait_list_comm(const struct pli_wait_entry *e)
{
    return e->wait->comm[0] != '\0' ? e->wait->comm
           : e->ep != 0             ? "an endpoint communicator without a name"
                                    : "a communicator without a name";
}
