// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts the root's result, error and error text.
#include "dynamic/bcast_error.h"

#include "coll/coll.h"
#include "comm/comm_make.h"
#include "ft/failure.h"
#include "obj/comm.h"

#include <stdio.h>

struct outcome {
    int32_t why; // enum pli_err
    int32_t word;
    char text[512];
};

enum pli_err pli_bcast_error_copy(struct pli_comm *comm, int root, void *buf, size_t len)
{
    return len > 0 ? pli_coll_bcast(buf, (MPI_Count)len, pli_comm_make_byte(), root, comm) : PLI_OK;
}

enum pli_err pli_bcast_error_share(struct pli_comm *comm, int root, enum pli_err why, int32_t *word)
{
    struct outcome o = { .why = why, .word = *word };
    if (comm->rank == root && why != PLI_OK) {
        snprintf(o.text, sizeof o.text, "%s", pli_fail_take(NULL));
    }
    enum pli_err err = pli_bcast_error_copy(comm, root, &o, sizeof o);
    *word = err == PLI_OK ? o.word : 0;
    return err != PLI_OK || o.why == PLI_OK ? err : pli_fail((enum pli_err)o.why, "%s", o.text);
}

enum pli_err pli_bcast_error_await(const struct pli_comm *comm)
{
    return pli_comm_is_stopped(comm) ? pli_failure_refuse("waiting for another process", comm)
                                     : PLI_OK;
}
