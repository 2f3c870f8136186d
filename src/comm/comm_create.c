// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create and MPI_Comm_create_group. Processes outside the group take no part: the members
// agree on the context among themselves, whether or not the call is collective over the parent.
#include "comm/comm_create.h"

#include "comm/comm_make.h"
#include "comm/intercomm.h"
#include "obj/comm.h"
#include "obj/impi_span.h"

enum pli_err pli_comm_create_create(struct pli_comm *comm, struct pli_group *group,
                                    struct pli_comm **out)
{
    enum pli_err err = pli_comm_make_check(comm, group);
    if (err != PLI_OK) {
        return err;
    }
    if (comm->is_inter) {
        return pli_intercomm_of_groups(comm, group, out);
    }
    return pli_comm_make_all(comm, group, out);
}

enum pli_err pli_comm_create_group(struct pli_comm *comm, struct pli_group *group, int tag,
                                   struct pli_comm **out)
{
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM,
                        "%s is an intercommunicator, but must be an "
                        "intracommunicator",
                        pli_comm_say(comm));
    }
    enum pli_err err = pli_comm_make_check(comm, group);
    if (err != PLI_OK) {
        return err;
    }
    if (comm->is_span && pli_impi_span_has_far(group)) {
        err = pli_impi_span_check_later("MPI_Comm_create_group", comm);
        if (err != PLI_OK) {
            return err;
        }
    }
    return pli_comm_make_is_member(comm, group) ? pli_comm_make_sub(comm, group, tag, out) : PLI_OK;
}
