// SPDX-License-Identifier: BSD-3-Clause
// Finds out how the threads of a UPC group lie in processes. Every process of every host computes
// the same, from what mpiexec has written about all places of the job.
#include "rt_layout.h"
#include "rt.h"

#include "base/conf.h"
#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "obj/group_build.h"

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

uint32_t pli_rt_layout_find(const struct rt_places *p, uint32_t each, int n_thread,
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

static bool add_processes(struct pli_group_build *b, uint32_t first, uint32_t n_place)
{
    struct rt_places places = { n_place, first, n_place, 0 };
    struct rt_proc *procs;
    uint32_t n = pli_rt_layout_find(&places, pli_rt.each, pli_rt.n, &procs);
    for (uint32_t i = 0; i < n; i++) {
        pli_group_build_add_id(b, (struct pli_id){ procs[i].id, pli_process_ep()->id.ep });
    }
    free(procs);
    return n > 0;
}

enum pli_err pli_rt_layout_all(struct pli_group **out)
{
    const struct pli_node *node = &pli_proc.boot->node;
    uint32_t n_place = node->rows[pli_proc.boot->row].upc_n;
    struct pli_group_build b;
    struct pli_endpoint *ep = pli_process_ep();
    bool is_done = true;
    pli_group_build_init(&b);
    if (n_place == 0) {
        pli_group_build_add_id(&b, ep->id);
    }
    for (uint32_t i = 0; i < node->header->n_world && n_place > 0; i++) { // of all hosts
        if (node->procs[i].upc_leads != 0) {
            is_done = add_processes(&b, i, n_place) && is_done;
        }
    }
    enum pli_err err = pli_group_build_finish(&b, NULL, ep->id, out);
    if (err == PLI_OK && !is_done) {
        pli_group_release(*out);
        err = pli_fail(PLI_ERR_NOMEM, "no memory for the world");
    }
    return err;
}
