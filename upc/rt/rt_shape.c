// SPDX-License-Identifier: BSD-3-Clause
// Finds out how the threads of a UPC group lie in processes. Every process of every host computes
// the same, from what mpiexec has written about all places of the job.
#include "rt_shape.h"

#include "base/conf.h"
#include "boot/boot.h"
#include "msg/lane.h"

#include <stdlib.h>

static uint32_t number_of(const struct rt_places *p, uint32_t i)
{
    return i < p->n_rank ? p->first + i : p->extra + i - p->n_rank;
}

// All pretended hosts are one, where one upcrun starts the processes.
static uint32_t host_of(const struct rt_places *p, uint32_t i)
{
    if (pli_conf.fake_hosts > 0) {
        return 0;
    }
    const struct pli_node_proc *proc = pli_node_find(&pli_proc.boot->node, number_of(p, i));
    return proc != NULL ? proc->host : pli_proc.boot->host;
}

// n_thread threads in the first n_proc places from `at` on, those with more threads first.
static void spread(const struct rt_places *p, uint32_t at, uint32_t n_proc, int n_thread, int first,
                   struct rt_proc *out)
{
    int least = n_thread / (int)n_proc, more = n_thread % (int)n_proc;
    for (uint32_t i = 0; i < n_proc; i++) {
        out[i].id = pli_proc.boot->job | number_of(p, at + i);
        out[i].n = least + ((int)i < more);
        out[i].first = first;
        first += out[i].n;
    }
}

uint32_t pli_rt_shape_find(const struct rt_places *p, uint32_t each, int n_thread,
                           struct rt_proc **out)
{
    struct rt_proc *procs = calloc(p->n, sizeof *procs);
    *out = procs;
    if (procs == NULL || each == 0) {
        if (procs != NULL) {
            spread(p, 0, p->n, n_thread, 0, procs);
        }
        return procs != NULL ? p->n : 0;
    }
    uint32_t n_proc = 0;
    for (uint32_t at = 0, end; at < p->n; at = end) {
        for (end = at + 1; end < p->n && host_of(p, end) == host_of(p, at); end++) {
        }
        uint32_t n = (end - at + each - 1) / each;
        spread(p, at, n, (int)(end - at), (int)at, procs + n_proc);
        n_proc += n;
    }
    return n_proc;
}
