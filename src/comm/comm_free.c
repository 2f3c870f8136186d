// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_free and MPI_Comm_disconnect.
#include "comm/comm_free.h"

#include "coll/coll.h"
#include "comm/intercomm_impi.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "obj/attr.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "obj/impi_span.h"

static enum pli_err check(const struct pli_comm *c)
{
    if (c->obj.value != 0) {
        return pli_fail(PLI_ERR_COMM, "%s is predefined and cannot be freed", pli_comm_say(c));
    }
    if (c->is_freed) {
        return pli_fail(PLI_ERR_COMM, "%s was freed already and waits for its operations to end",
                        pli_comm_say(c));
    }
    return PLI_OK;
}

enum pli_err pli_comm_free_free(struct pli_comm *comm)
{
    enum pli_err err = check(comm);
    // The IMPI standard requires a message; where all clients can do without, it would make
    // members wait that do not wait for each other in one MPI.
    if (err == PLI_OK && comm->is_span && !pli_impi_span_has_later()) {
        err = comm->is_inter ? pli_intercomm_impi_leave(comm) : pli_coll_barrier(comm);
    }
    if (err == PLI_OK && comm->attrs != NULL) {
        err = pli_attr_delete_all(&comm->obj);
    }
    if (err == PLI_OK) {
        comm->is_freed = true;
        pli_endpoint_settle(comm);
        pli_comm_release(comm);
    }
    return err;
}

// Whether members are endpoints of MPI_Comm_create_endpoints, of which a process may have several.
// All members get the same answer.
static bool has_endpoints(const struct pli_group *g)
{
    for (int i = 0; i < g->n_run; i++) {
        if (g->runs[i].first.ep != 0 || g->runs[i].ep_step != 0) {
            return true;
        }
    }
    return false;
}

enum pli_err pli_comm_free_disconnect(struct pli_comm *comm)
{
    enum pli_err err = check(comm);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_waiter w = { .lane = comm->ep->lane };
    while (atomic_load_explicit(&comm->n_left, memory_order_acquire) != 0) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    // No barrier here where pli_comm_free_free has one, after failures, and with endpoints, since
    // one thread may disconnect all endpoints of its process in turn, as with MPI_Comm_free.
    bool may_wait = !comm->is_span && !pli_comm_is_stopped(comm) && !has_endpoints(comm->group) &&
                    !has_endpoints(comm->remote);
    err = may_wait ? pli_coll_barrier(comm) : PLI_OK;
    return err == PLI_OK ? pli_comm_free_free(comm) : err;
}
