// SPDX-License-Identifier: BSD-3-Clause
// Questions about a communicator that need no message.
#include "obj/comm_get.h"

#include "obj/group_sets.h"

#include <string.h>

enum pli_err pli_comm_get_rank(struct pli_comm *c, int *rank_out)
{
    *rank_out = c->rank;
    return PLI_OK;
}

enum pli_err pli_comm_get_size(struct pli_comm *c, int *size_out)
{
    *size_out = c->size;
    return PLI_OK;
}

enum pli_err pli_comm_get_is_inter(struct pli_comm *c, int *flag_out)
{
    *flag_out = c->is_inter;
    return PLI_OK;
}

static enum pli_err check_inter(const struct pli_comm *c)
{
    return c->is_inter ? PLI_OK
                       : pli_fail(PLI_ERR_COMM,
                                  "argument comm is %s, an intracommunicator, but must be an "
                                  "intercommunicator",
                                  c->name[0] != '\0' ? c->name : "without a name");
}

enum pli_err pli_comm_get_remote_size(struct pli_comm *c, int *size_out)
{
    enum pli_err err = check_inter(c);
    if (err == PLI_OK) {
        *size_out = c->remote->size;
    }
    return err;
}

enum pli_err pli_comm_get_group(struct pli_comm *c, struct pli_group **out)
{
    return pli_group_dup(c->group, c->group->me, out);
}

enum pli_err pli_comm_get_remote_group(struct pli_comm *c, struct pli_group **out)
{
    enum pli_err err = check_inter(c);
    return err == PLI_OK ? pli_group_dup(c->remote, c->group->me, out) : err;
}

enum pli_err pli_comm_get_relation(struct pli_comm *a, struct pli_comm *b, int *result_out)
{
    int local, remote;
    if (a == b || a->context == b->context) { // several endpoints can hold the same one
        *result_out = MPI_IDENT;
        return PLI_OK;
    }
    if (a->is_inter != b->is_inter) {
        *result_out = MPI_UNEQUAL;
        return PLI_OK;
    }
    enum pli_err err = pli_group_sets_relation(a->group, b->group, &local);
    remote = local;
    if (err == PLI_OK && a->is_inter) {
        err = pli_group_sets_relation(a->remote, b->remote, &remote);
    }
    if (err != PLI_OK) {
        return err;
    }
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL) {
        *result_out = MPI_UNEQUAL;
    } else {
        *result_out = local == MPI_IDENT && remote == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
    }
    return PLI_OK;
}
