// SPDX-License-Identifier: BSD-3-Clause
// Makes the communicator of a distributed graph. Reordering looks at the whole graph in one place,
// and only when processes really run in different ones; the neighbours then move to the process
// that takes their rank.
#include "topo/dist_make.h"

#include "coll/coll.h"
#include "comm/comm_make.h"
#include "comm/locality.h"
#include "msg/sendrecv.h"
#include "obj/comm.h"
#include "obj/comm_hint.h"
#include "obj/group_build.h"
#include "topo/dist_graph.h"
#include "topo/remap.h"
#include "topo/topo.h"

#include <limits.h>
#include <stdlib.h>

static enum pli_err no_memory(int n)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory to place a graph of %d processes", n);
}

static struct pli_datatype *type_int(void)
{
    return pli_handle_get(MPI_INT, PLI_KIND_DATATYPE);
}

// At the first rank: the graph's edges from everywhere. Freed by the caller, at *index_out.
static enum pli_err collect(struct pli_comm *comm, const struct pli_topo *t, int **index_out)
{
    size_t n = (size_t)comm->size;
    bool is_root = comm->rank == 0;
    *index_out = NULL;
    int *degrees = is_root ? malloc(2 * n * sizeof *degrees) : NULL;
    if (is_root && degrees == NULL) {
        return no_memory(comm->size);
    }
    enum pli_err err = pli_coll_gather(&t->n_out, 1, type_int(), degrees, 1, type_int(), 0, comm);
    long long n_edge = 0;
    for (size_t i = 0; err == PLI_OK && is_root && i < n; i++) {
        degrees[n + i] = (int)n_edge; // where its edges go
        n_edge += degrees[i];
    }
    int *index = NULL;
    if (err == PLI_OK && is_root) {
        index = n_edge <= INT_MAX ? malloc((n + (size_t)n_edge) * sizeof *index) : NULL;
        err = index != NULL ? PLI_OK : no_memory(comm->size);
    }
    if (err == PLI_OK) {
        struct pli_ints counts = { degrees, false },
                        starts = { is_root ? degrees + n : NULL, false };
        err = pli_coll_gatherv(t->out, t->n_out, type_int(), is_root ? index + n : NULL, counts,
                               starts, type_int(), 0, comm);
    }
    for (size_t i = 0; err == PLI_OK && is_root && i < n; i++) {
        index[i] = degrees[n + i] + degrees[i];
    }
    free(degrees);
    *index_out = index;
    return err;
}

// rank_out[i]: the new rank of the process with rank i, the same everywhere.
static enum pli_err find_ranks(struct pli_comm *comm, const struct pli_topo *t,
                               const struct pli_locality places[], int rank_out[])
{
    int *index;
    enum pli_err err = collect(comm, t, &index);
    if (err == PLI_OK && comm->rank == 0) {
        struct pli_remap_graph g = { comm->size, index, index + comm->size };
        err = pli_remap_graph(places, &g, rank_out);
    }
    free(index);
    return err == PLI_OK ? pli_coll_bcast(rank_out, comm->size, type_int(), 0, comm) : err;
}

// Send the neighbours of the node with my old rank to its new process, and get mine.
static enum pli_err move(struct pli_comm *comm, struct pli_topo **t, int to, int from)
{
    struct pli_topo *old = *t, *new = NULL;
    int out[3] = { old->n_in, old->n_out, old->is_weighted }, in[3] = { 0, 0, 0 };
    enum pli_err err =
        pli_sendrecv_on(out, 3, type_int(), to, PLI_SETUP_REORDER, in, 3, type_int(), from,
                        PLI_SETUP_REORDER, comm, PLI_CHAN_SETUP, MPI_STATUS_IGNORE, NULL);
    if (err == PLI_OK) {
        err = pli_dist_graph_topo(in[0], in[1], in[2] != 0, &new);
    }
    if (err != PLI_OK) {
        return err;
    }
    MPI_Count n_out = ((MPI_Count)out[0] + out[1]) * (out[2] ? 2 : 1);
    MPI_Count n_in = ((MPI_Count)in[0] + in[1]) * (in[2] ? 2 : 1);
    err = pli_sendrecv_on(old->data, n_out, type_int(), to, PLI_SETUP_REORDER, new->data, n_in,
                          type_int(), from, PLI_SETUP_REORDER, comm, PLI_CHAN_SETUP,
                          MPI_STATUS_IGNORE, NULL);
    pli_topo_release(old);
    *t = new;
    return err;
}

// The group in its new order; *t becomes that of the caller's new rank.
static enum pli_err reorder_group(struct pli_comm *comm, const struct pli_locality places[],
                                  struct pli_topo **t, struct pli_group **out)
{
    size_t n = (size_t)comm->size;
    int *rank = malloc(2 * n * sizeof *rank);
    if (rank == NULL) {
        return no_memory(comm->size);
    }
    int *at = rank + n;
    enum pli_err err = find_ranks(comm, *t, places, rank);
    for (size_t i = 0; err == PLI_OK && i < n; i++) {
        at[rank[i]] = (int)i;
    }
    if (err == PLI_OK) {
        err = move(comm, t, at[comm->rank], rank[comm->rank]);
    }
    if (err == PLI_OK) {
        struct pli_group_build b;
        pli_group_build_init(&b);
        for (size_t i = 0; i < n; i++) {
            pli_group_build_add_id(&b, pli_group_at(comm->group, at[i]));
        }
        err = pli_group_build_finish(&b, comm->group->session, comm->group->me, out);
    }
    free(rank);
    return err;
}

enum pli_err pli_dist_make(struct pli_comm *comm, struct pli_topo *t, int reorder,
                           struct pli_info *info, struct pli_comm **out)
{
    struct pli_locality *places = NULL;
    struct pli_group *group = NULL;
    struct pli_comm *c;
    bool may_reorder = reorder && comm->size > 1 && !comm->is_span; // as other MPIs have it
    enum pli_err err = may_reorder ? pli_locality_compare(comm, &places) : PLI_OK;
    if (err == PLI_OK && places != NULL && pli_remap_matters(places, comm->size)) {
        err = reorder_group(comm, places, &t, &group);
    }
    free(places);
    if (err == PLI_OK) {
        err = pli_comm_make_all(comm, group != NULL ? group : comm->group, &c);
    }
    pli_group_release(group);
    if (err != PLI_OK) {
        pli_topo_release(t);
        return err;
    }
    c->topo = t;
    *out = c;
    return pli_comm_hint_set(c, info);
}
