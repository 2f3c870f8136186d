// SPDX-License-Identifier: BSD-3-Clause
// UPC threads as MPI ranks: which of them have one, and the world of threads.
#include "rt.h"
#include "rt_shape.h"
#include "start.h"

#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "comm/implicit_init.h"
#include "comm/endpoints.h"
#include "obj/comm.h"
#include "obj/group_build.h"

#include <stdio.h>
#include <stdlib.h>

int pli_upc_n_here(void)
{
    return pli_rt.n_here;
}

int pli_upc_mpi_is_joined(void)
{
    return pli_rt.is_joined;
}

int pli_upc_mpi_has_begun(void)
{
    return pli_implicit_init_has();
}

int pli_upc_mpi_is_funneled(void)
{
    return pli_rt.is_funneled;
}

int pli_upc_mpi_has_rank(void)
{
    return !pli_rt.is_funneled || rt_me()->me < pli_rt.n_rank;
}

// With OS threads each thread is a rank, unless only processes are.
static bool has_thread_ranks(void)
{
    return pli_rt.is_pthreads && !pli_rt.is_funneled;
}

struct pli_upc_place pli_upc_hybrid_info(void)
{
    int me = rt_me()->me;
    struct pli_upc_place p = { .group = pli_rt.group,
                               .thread = me,
                               .rank = -1,
                               .n_group = pli_rt.n_group,
                               .n_thread = pli_rt.n,
                               .n_rank = (int)pli_proc.boot->n_world };
    if (has_thread_ranks()) {
        p.rank = pli_rt.group * pli_rt.n + me;
        p.n_rank = pli_rt.n_group * pli_rt.n;
    } else if (pli_upc_mpi_has_rank()) {
        p.rank = (int)pli_proc.boot->index;
    }
    return p;
}

static bool add_processes(struct pli_group_build *b, uint32_t first, uint32_t n_place)
{
    struct rt_places places = { n_place, first, n_place, 0 };
    struct rt_proc *procs;
    uint32_t n = pli_rt_shape_find(&places, pli_rt.each, pli_rt.n, &procs);
    for (uint32_t i = 0; i < n; i++) {
        pli_group_build_add_id(b, (struct pli_id){ procs[i].id, pli_process_ep()->id.ep });
    }
    free(procs);
    return n > 0;
}

// The processes of all groups, in the order of groups.
static enum pli_err all_processes(struct pli_group **out)
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

int pli_upc_mpi_world(void **handles, const char **why)
{
    struct pli_group *group;
    struct pli_comm *procs = NULL;
    struct pli_endpoint *ep = pli_process_ep();
    enum pli_err err = all_processes(&group);
    if (err == PLI_OK) {
        err = pli_comm_create(pli_endpoint_retain(ep), ep->id, group, NULL, PLI_CONTEXT_UPC_ALL,
                              &procs);
        pli_group_release(group);
    }
    struct pli_comm **comms = calloc((size_t)pli_rt.n_here, sizeof(struct pli_comm *));
    if (err == PLI_OK) {
        err = comms == NULL ? pli_fail(PLI_ERR_NOMEM, "no memory for the world")
                            : pli_endpoints_create(procs, pli_rt.n_here, NULL, PLI_OK, comms);
    }
    for (int i = 0; err == PLI_OK && i < pli_rt.n_here; i++) {
        snprintf(comms[i]->name, sizeof comms[i]->name, "MPI_COMM_WORLD");
        handles[i] = pli_handle_of(comms[i], PLI_KIND_COMM);
    }
    if (procs != NULL) {
        pli_comm_release(procs);
    }
    free(comms);
    *why = err == PLI_OK ? "" : pli_fail_take(NULL);
    return err != PLI_OK;
}
