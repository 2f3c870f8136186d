// SPDX-License-Identifier: BSD-3-Clause
// Entry points of endpoints that the generator has no form for.
// An array of handles comes out of MPI_Comm_create_endpoints, and a mistake of one rank must not
// leave the others waiting.
#include "glue/endpoint_calls.h"

#include "comm/endpoints.h"
#include "comm/endpoint_static.h"
#include "glue/check.h"
#include "glue/raise.h"
#include "glue/world.h"
#include "obj/comm.h"
#include "obj/handle_predefined.h"

#include <stdlib.h>

static int create(const char *fn, MPI_Comm parent, int n, bool is_ranked, const int ranks[],
                  MPI_Info info, MPI_Comm out[])
{
    struct pli_comm *comm = pli_arg_comm(parent);
    if (comm == NULL) {
        return pli_bad_handle(NULL, fn, "parent_comm", PLI_KIND_COMM, parent);
    }
    struct pli_info *hints = pli_arg_info(info);
    enum pli_err why = PLI_OK;
    if (n < 0) {
        why = pli_fail(PLI_ERR_ARG, "argument my_num_ep is %d; it must not be negative", n);
    } else if (n > 0 && out == NULL) {
        why = pli_fail(PLI_ERR_ARG, "argument out_comm_hdls is NULL, but my_num_ep is %d", n);
    } else if (is_ranked && n > 0 && ranks == NULL) {
        why = pli_fail(PLI_ERR_ARG, "argument ranks is NULL, but my_num_ep is %d", n);
    } else if (hints == NULL && info != MPI_INFO_NULL) {
        why = pli_fail(PLI_ERR_INFO, "argument info %s", pli_handle_why(info, PLI_KIND_INFO));
    }
    struct pli_comm **comms = why == PLI_OK ? malloc(((size_t)n + 1) * sizeof *comms) : NULL;
    if (why == PLI_OK && comms == NULL) {
        why = pli_fail(PLI_ERR_NOMEM, "no memory for %d handles", n);
    }
    int n_good = why == PLI_OK ? n : 0;
    enum pli_err err = is_ranked
                           ? pli_endpoints_create_ranked(comm, n_good, ranks, hints, why, comms)
                           : pli_endpoints_create(comm, n_good, hints, why, comms);
    // An array for an absurd number of handles may be larger than the memory: it is not written to.
    bool is_safe = why == PLI_OK && err != PLI_ERR_NOMEM;
    for (int i = 0; is_safe && i < n; i++) {
        out[i] = err == PLI_OK ? (MPI_Comm)pli_handle_of(comms[i], PLI_KIND_COMM) : MPI_COMM_NULL;
    }
    free(comms);
    return pli_glue_return(&comm->obj, fn, err);
}

int pli_endpoint_calls_create(MPI_Comm parent, int n, MPI_Info info, MPI_Comm out[])
{
    return create("MPI_Comm_create_endpoints", parent, n, false, NULL, info, out);
}

int pli_endpoint_calls_create_ranked(MPI_Comm parent, int n, const int ranks[], MPI_Info info,
                                     MPI_Comm out[])
{
    return create("MPIX_Comm_create_endpoints_ranked", parent, n, true, ranks, info, out);
}

int pli_endpoint_calls_attach(MPI_Comm comm, int index)
{
    static const char fn[] = "MPI_Comm_endpoint_attach";
    struct pli_comm *c = pli_arg_comm(comm);
    enum pli_err err;
    if (comm != MPI_COMM_ENDPOINTS || pli_arg_comm(MPI_COMM_WORLD) == NULL) {
        if (c == NULL) {
            return pli_bad_handle(NULL, fn, "comm", PLI_KIND_COMM, comm);
        }
        err = pli_fail(PLI_ERR_COMM,
                       "argument comm is %s, but must be MPI_COMM_ENDPOINTS; to attach to the "
                       "endpoint of another communicator call MPI_Comm_attach",
                       pli_comm_say(c));
    } else {
        err = pli_world_may_call();
        err = err == PLI_OK ? pli_endpoint_static_attach(index) : err;
    }
    return pli_glue_return(c != NULL ? &c->obj : NULL, fn, err);
}
