// SPDX-License-Identifier: BSD-3-Clause
// MPI_COMM_ENDPOINTS. Its entry in the table of predefined handles stays empty, so looking up any
// other handle costs nothing more; only a lookup that finds nothing there gets here and asks which
// endpoint the thread is attached to.
#include "comm/endpoint_static.h"

#include "msg/endpoint.h"
#include "comm/implicit_init.h"
#include "comm/endpoints.h"
#include "obj/attr.h"
#include "obj/comm.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NONE = -1 };

static struct pli_comm **comms; // by index; NULL while not open
static int n_comm;
static bool is_lost; // a clone had them no more
static _Thread_local int mine = NONE;

enum pli_err pli_endpoint_static_open(struct pli_comm *world, int count, enum pli_err why)
{
    size_t n = why == PLI_OK ? (size_t)count : 1;
    struct pli_comm **made = calloc(n, sizeof(struct pli_comm *));
    if (made == NULL && why == PLI_OK) {
        why = pli_fail(PLI_ERR_NOMEM, "no memory for %d endpoints", count);
    }
    enum pli_err err = pli_endpoints_create_more(world, count, why, made);
    if (err != PLI_OK) {
        free(made);
        return err;
    }
    for (int i = 0; i < count; i++) {
        snprintf(made[i]->name, sizeof made[i]->name, "MPI_COMM_ENDPOINTS");
        made[i]->obj.value = (uint16_t)(uintptr_t)MPI_COMM_ENDPOINTS;
    }
    comms = made;
    n_comm = count;
    return PLI_OK;
}

enum pli_err pli_endpoint_static_delete_attrs(void)
{
    enum pli_err err = PLI_OK;
    int was = mine;
    for (int i = 0; i < n_comm && err == PLI_OK; i++) {
        mine = i; // callbacks get the handle that all endpoints share
        err = pli_attr_delete_all(&comms[i]->obj);
    }
    mine = was;
    return err;
}

void pli_endpoint_static_close(void)
{
    for (int i = 0; i < n_comm; i++) {
        pli_endpoint_settle(comms[i]);
        pli_comm_release(comms[i]);
    }
    free(comms);
    comms = NULL;
    n_comm = 0;
}

void pli_endpoint_static_clone(void)
{
    if (n_comm > 0 && comms[0]->obj.kind == PLI_KIND_LOST) {
        free(comms);
        comms = NULL;
        n_comm = 0;
        mine = NONE;
        is_lost = true;
    }
}

struct pli_comm *pli_endpoint_static_mine(const void *h)
{
    if (pli_implicit_init_by(h)) {
        return pli_handle_get(h, PLI_KIND_COMM);
    }
    return h == (const void *)MPI_COMM_ENDPOINTS && comms != NULL && mine != NONE ? comms[mine]
                                                                                  : NULL;
}

enum pli_err pli_endpoint_static_why(void)
{
    if (is_lost) {
        return pli_fail(PLI_ERR_COMM, "MPI_COMM_ENDPOINTS has ranks that MPI_Fork did not clone, "
                                      "so this clone has none; make endpoints with "
                                      "MPI_Comm_create_endpoints");
    }
    if (comms == NULL) {
        return pli_fail(PLI_ERR_COMM, "there is no MPI_COMM_ENDPOINTS: initialise with "
                                      "MPI_Init_endpoints, or run with mpiexec --endpoints=N");
    }
    return pli_fail(PLI_ERR_COMM,
                    "the calling thread is attached to no rank of MPI_COMM_ENDPOINTS; call "
                    "MPI_Comm_endpoint_attach with an index from 0 to %d first",
                    n_comm - 1);
}

bool pli_endpoint_static_is(const struct pli_comm *comm)
{
    return comm->obj.value == (uint16_t)(uintptr_t)MPI_COMM_ENDPOINTS;
}

enum pli_err pli_endpoint_static_attach(int index)
{
    if (comms == NULL) {
        return pli_endpoint_static_why();
    }
    if (index < 0 || index >= n_comm) {
        return pli_fail(PLI_ERR_ARG,
                        "argument index is %d; this process has endpoints 0 to %d of "
                        "MPI_COMM_ENDPOINTS",
                        index, n_comm - 1);
    }
    if (mine != NONE) {
        return pli_fail(PLI_ERR_COMM,
                        "the calling thread is attached to endpoint %d already; call "
                        "MPI_Comm_detach(MPI_COMM_ENDPOINTS) to change",
                        mine);
    }
    enum pli_err err = pli_endpoint_attach(comms[index]->ep);
    mine = err == PLI_OK ? index : NONE;
    return err;
}

enum pli_err pli_endpoint_static_detach(void)
{
    if (comms == NULL || mine == NONE) {
        return pli_endpoint_static_why();
    }
    pli_endpoint_detach(comms[mine]->ep);
    mine = NONE;
    return PLI_OK;
}
