// SPDX-License-Identifier: BSD-3-Clause
// UPC threads as MPI ranks: which of them have one, and the world of threads.
#include "rt.h"
#include "rt_layout.h"
#include "start.h"

#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "comm/implicit_init.h"
#include "comm/endpoints.h"
#include "obj/comm.h"

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

int pli_upc_mpi_world(void **handles, const char **why)
{
    struct pli_group *group;
    struct pli_comm *procs = NULL;
    struct pli_endpoint *ep = pli_process_ep();
    enum pli_err err = pli_rt_layout_all(&group);
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
