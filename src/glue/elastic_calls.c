// SPDX-License-Identifier: BSD-3-Clause
// What changes with the world: a place that is brought up to date when it is looked at, and a call
// that returns in ranks that did not make it.
#include "glue/elastic_calls.h"

#include "boot/boot.h"
#include "elastic/fork.h"
#include "elastic/fork_comm.h"
#include "elastic/elastic_world.h"
#include "glue/check.h"
#include "glue/prepare.h"
#include "glue/raise.h"
#include "obj/handle.h"

#include <stdatomic.h>

MPI_Comm *pli_elastic_calls_resized(void)
{
    static MPI_Comm place = MPI_COMM_NULL;
    static _Atomic int seen;
    struct pli_comm *c = NULL;
    int now = 0, old = atomic_load_explicit(&seen, memory_order_relaxed);
    if (pli_boot.node.header == NULL || pli_elastic_world_version(&now) != PLI_OK || now == old) {
        return &place;
    }
    if (pli_elastic_world_at(now, &c) == PLI_OK &&
        atomic_compare_exchange_strong(&seen, &old, now)) {
        place = c != NULL ? (MPI_Comm)pli_handle_of(c, PLI_KIND_COMM) : MPI_COMM_NULL;
    }
    return &place;
}

static int fork_world(const char *fn, int m, struct pli_info *info, enum pli_err why)
{
    struct pli_comm *world = pli_arg_comm(MPI_COMM_WORLD);
    int n = 0;
    if (world == NULL) {
        return -pli_bad_handle(NULL, fn, "MPI_COMM_WORLD", PLI_KIND_COMM, MPI_COMM_WORLD);
    }
    // The others wait for this rank: it takes part with the error, and all fail.
    if (why == PLI_OK && pli_arg_comm(MPI_COMM_ENDPOINTS) != NULL) {
        why =
            pli_fail(PLI_ERR_UNSUPPORTED, "has MPI_COMM_ENDPOINTS, whose endpoints are not cloned");
    }
    enum pli_err err = pli_fork(m, info, why, &n);
    world = pli_arg_comm(MPI_COMM_WORLD);
    return err == PLI_OK ? n : -pli_raise(&world->obj, fn, err);
}

int pli_elastic_calls_fork(int m)
{
    pli_prepare();
    return fork_world("MPI_Fork", m, NULL, PLI_OK);
}

int pli_elastic_calls_fork_with_info(int m, MPI_Info info)
{
    pli_prepare();
    struct pli_info *i = info == MPI_INFO_NULL ? NULL : pli_arg_info(info);
    enum pli_err why = PLI_OK;
    if (i == NULL && info != MPI_INFO_NULL) {
        why = pli_fail(PLI_ERR_ARG, "has an argument info that is no info object");
    }
    return fork_world("MPIX_Fork_with_info", m, i, why);
}

MPI_Comm pli_elastic_calls_parents(void)
{
    return pli_handle_of(pli_fork_comm_parents(), PLI_KIND_COMM);
}

MPI_Comm pli_elastic_calls_children(void)
{
    return pli_handle_of(pli_fork_comm_children(), PLI_KIND_COMM);
}
