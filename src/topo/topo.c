// SPDX-License-Identifier: BSD-3-Clause
// Creates and releases topologies, and gives the rooms below the functions that copy and ask them.
#include "topo/topo.h"
#include "base/cpu.h"

#include "coll/neighbors.h"
#include "comm/comm_dup.h"
#include "obj/comm.h"

#include <stdlib.h>

enum pli_err pli_topo_create(int kind, size_t n, struct pli_topo **out)
{
    struct pli_topo *t = calloc(1, sizeof *t + n * sizeof t->data[0]);
    if (t == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a topology of %zu numbers", n);
    }
    atomic_store_explicit(&t->refs, 1, memory_order_relaxed);
    t->kind = kind;
    *out = t;
    return PLI_OK;
}

void pli_topo_release(struct pli_topo *t)
{
    if (t != NULL && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) {
        free(t);
    }
}

static const char *kind_name(int kind)
{
    return kind == MPI_CART         ? "a cartesian"
           : kind == MPI_GRAPH      ? "a graph"
           : kind == MPI_DIST_GRAPH ? "a distributed graph"
                                    : "no";
}

enum pli_err pli_topo_get(const struct pli_comm *comm, int kind, const struct pli_topo **out)
{
    if (comm->topo == NULL || comm->topo->kind != kind) {
        return pli_fail(
            PLI_ERR_TOPOLOGY, "%s has %s topology, but must have %s one", pli_comm_say(comm),
            kind_name(comm->topo != NULL ? comm->topo->kind : MPI_UNDEFINED), kind_name(kind));
    }
    *out = comm->topo;
    return PLI_OK;
}

enum pli_err pli_topo_check_parent(const struct pli_comm *comm)
{
    return !comm->is_inter
               ? PLI_OK
               : pli_fail(PLI_ERR_COMM, "%s is an intercommunicator, which cannot have a topology",
                          pli_comm_say(comm));
}

enum pli_err pli_topo_check_array(const char *name, const void *p, long long n)
{
    return p != NULL || n <= 0
               ? PLI_OK
               : pli_fail(PLI_ERR_ARG, "argument %s is NULL, but must point to %lld numbers", name,
                          n);
}

enum pli_err pli_topo_test(struct pli_comm *comm, int *status_out)
{
    *status_out = comm->topo != NULL ? comm->topo->kind : MPI_UNDEFINED;
    return PLI_OK;
}

static enum pli_err neighbors(struct pli_comm *comm, struct pli_neighbors *out)
{
    const struct pli_topo *t = comm->topo;
    *out = (struct pli_neighbors){
        .n_in = t->n_in,
        .n_out = t->n_out,
        .in = t->in,
        .out = t->out,
        .is_cartesian = t->kind == MPI_CART,
    };
    return PLI_OK;
}

static void copy(struct pli_comm *from, struct pli_comm *to)
{
    atomic_fetch_add_explicit(&from->topo->refs, 1, memory_order_relaxed);
    to->topo = from->topo;
}

static void drop(struct pli_comm *comm)
{
    pli_topo_release(comm->topo);
}

PLI_START void pli_topo_init(void)
{
    pli_comm_on_end(drop);
    pli_comm_dup_on_topo(copy);
    pli_neighbors_set_finder(neighbors);
}
