// SPDX-License-Identifier: BSD-3-Clause
// MPI's collectives as the program calls them. On a native communicator the native library does
// them, in their nonblocking form, since what is under way of ours must not stand still meanwhile.
// The nonblocking ones are not for communicators that span clients.
#include "shim/shim_coll.h"
#include "shim/shim_plan.h"
#include "shim/shim_req.h"

// In the nonblocking form in any case: it does not match the blocking one, and whether something of
// ours is under way is not the same in all processes.
static int wait_native(MPI_Request *req, int rc)
{
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    return pli_shim_req_is_busy() ? pli_shim_req_wait_native(req, MPI_STATUS_IGNORE)
                                  : PLI_SHIM_OUTSIDE(PMPI_Wait(req, MPI_STATUS_IGNORE));
}

PLI_SHIM_API int MPI_Barrier(MPI_Comm comm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    MPI_Request req;
    if (s != NULL) {
        return pli_shim_end(comm, s->inter != NULL ? pli_shim_across_barrier(s)
                                                   : pli_shim_plan_barrier(s));
    }
    return pli_shim.is_on ? wait_native(&req, PMPI_Ibarrier(comm, &req)) : PMPI_Barrier(comm);
}

#define COLL(name, small, params, args)                                                            \
    PLI_SHIM_API int MPI_##name(PLI_SHIM_BARE params, MPI_Comm comm)                               \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_span *s = pli_shim_span_find(comm);                                            \
        MPI_Request req;                                                                           \
        if (s != NULL) {                                                                           \
            return pli_shim_end(comm, s->inter != NULL                                             \
                                          ? pli_shim_across_##small(s, PLI_SHIM_BARE args)         \
                                          : pli_shim_coll_##small(s, PLI_SHIM_BARE args));         \
        }                                                                                          \
        return pli_shim.is_on ? wait_native(&req, PMPI_I##small(PLI_SHIM_BARE args, comm, &req))   \
                              : PMPI_##name(PLI_SHIM_BARE args, comm);                             \
    }
#include "shim/shim_coll.def"
#undef COLL
