// SPDX-License-Identifier: BSD-3-Clause
// Answers the recorder of --profile and --timeline from the library's own objects.
#include "glue/observe.h"

#include "boot/boot.h"
#include "glue/check.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/statistics_hooks.h"
#include "obj/comm.h"

bool pli_observe_get_process(struct pli_observe_process *out)
{
    if (pli_proc.boot == NULL) {
        return false;
    }
    const struct pli_node *node = &pli_proc.boot->node;
    const struct pli_node_row *row = &node->rows[pli_proc.boot->row];
    bool is_later = row->n_world > 0;
    out->index = row->index;
    out->world = is_later ? row->world : 0;
    out->rank = row->index - out->world;
    out->size = is_later ? row->n_world : node->header->n_world;
    return true;
}

bool pli_observe_get_comm(MPI_Comm comm, struct pli_observe_comm *out)
{
    const struct pli_comm *c = pli_arg_comm_any(comm);
    if (c == NULL) {
        return false;
    }
    const struct pli_group *g = c->remote;
    *out = (struct pli_observe_comm){
        .context = c->context,
        .me = (uint32_t)c->ep->id.proc,
        .my_ep = c->ep->id.ep,
        .n_peer = c->n_peer,
        .is_session = c->session != NULL,
        .is_told = comm == MPI_COMM_WORLD && (pli_boot.node.header->mode & PLI_NODE_TELLS) != 0,
        .is_run = g->n_run == 1,
    };
    if (out->is_run) {
        out->first = (uint32_t)g->runs[0].first.proc;
        out->first_ep = g->runs[0].first.ep;
        out->step = g->runs[0].proc_step;
        out->ep_step = g->runs[0].ep_step;
    }
    return true;
}

uint32_t pli_observe_get_peer(MPI_Comm comm, int rank, uint32_t *ep_out)
{
    const struct pli_comm *c = pli_arg_comm_any(comm);
    struct pli_id id = pli_group_at(c->remote, rank);
    *ep_out = id.ep;
    return (uint32_t)id.proc;
}

void pli_observe_note_looks(void (*looked)(uint32_t n_look))
{
    atomic_store(&pli_statistics_looked, looked);
    atomic_fetch_or(&pli_statistics_asked, PLI_STATISTICS_LOOKS);
}

int pli_observe_phase_begin(const char *name)
{
    (void)name;
    return MPI_SUCCESS;
}

int pli_observe_phase_end(void)
{
    return MPI_SUCCESS;
}
