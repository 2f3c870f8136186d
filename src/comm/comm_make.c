// SPDX-License-Identifier: BSD-3-Clause
// Makes communicators from a parent, with the agreement on their contexts.
#include "comm/comm_make.h"

#include "comm/impi_cid.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/process.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/errhandler.h"
#include "obj/group_sets.h"

struct pli_datatype *pli_comm_make_byte(void)
{
    return pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE);
}

enum pli_err pli_comm_make_child(struct pli_comm *parent, struct pli_group *group,
                                 struct pli_group *remote, uint64_t context, struct pli_comm **out)
{
    struct pli_comm *c;
    enum pli_err err = pli_comm_create(parent->ep, parent->group->me, group, remote, context, &c);
    if (err != PLI_OK) {
        return err;
    }
    pli_endpoint_retain(c->ep);
    pli_errhandler_release(c->errhandler);
    c->errhandler = pli_errhandler_of(&parent->obj);
    *out = c;
    return PLI_OK;
}

enum pli_err pli_comm_make_inter(struct pli_comm *parent, struct pli_group *group,
                                 struct pli_group *remote, uint64_t context, uint64_t local_context,
                                 struct pli_comm **out)
{
    struct pli_comm *c, *local;
    enum pli_err err = pli_comm_make_child(parent, group, remote, context, &c);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_comm_make_child(parent, group, NULL, local_context, &local);
    if (err != PLI_OK) {
        pli_comm_release(c);
        return err;
    }
    pli_comm_adopt(c, local);
    pli_failure_begin(local);
    *out = c;
    return PLI_OK;
}

// The rank in the parent of a member of the group.
static int parent_rank(const struct pli_comm *parent, const struct pli_group *group, int rank)
{
    return pli_group_rank_of(parent->group, pli_group_at(group, rank));
}

// Receive the context from the member before. 0: that one, or one before it, has failed.
static enum pli_err hear(struct pli_comm *parent, int source, int tag, uint64_t *context)
{
    enum pli_err err = pli_p2p_recv_on(context, 1, pli_datatype_basic(MPI_UINT64_T), source, tag,
                                       parent, PLI_CHAN_SETUP, MPI_STATUS_IGNORE);
    return err != PLI_OK || *context != 0
               ? err
               : pli_failure_explain(PLI_ERR_PROC_FAILED, "the making of a communicator", parent);
}

// Broadcast in a binomial tree from the group's first member, over the parent's set-up channel.
// Messages of one tag between two processes keep their order, so concurrent agreements do not mix.
// A member that fails tells those behind it, which wait for it, who lives, and not for the dead.
static enum pli_err agree(struct pli_comm *parent, const struct pli_group *group, int tag,
                          uint64_t *context_out)
{
    struct pli_fail_saved saved = { 0 };
    int me = pli_group_rank_of(group, parent->group->me);
    int n = group->size, bit = 1;
    uint64_t context = 0;
    enum pli_err err = PLI_OK;
    if (me == 0) {
        context = pli_process_context();
    }
    while (bit < n && (me & bit) == 0) {
        bit <<= 1;
    }
    if (me != 0) {
        err = hear(parent, parent_rank(parent, group, me - bit), tag, &context);
        pli_fail_save(&saved, err);
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (me + bit < n) {
            context = saved.err == PLI_OK ? context : 0;
            err = pli_p2p_send_on(&context, 1, pli_datatype_basic(MPI_UINT64_T),
                                  parent_rank(parent, group, me + bit), tag, parent, PLI_CHAN_SETUP,
                                  0);
            if (saved.err == PLI_OK) {
                pli_fail_save(&saved, err);
            }
        }
    }
    *context_out = context;
    return pli_fail_repeat(&saved);
}

enum pli_err pli_comm_make_sub(struct pli_comm *parent, struct pli_group *group, int tag,
                               struct pli_comm **out)
{
    uint64_t context;
    enum pli_err err = tag == PLI_SETUP_CREATE && pli_request_may_be_withdrawn
                           ? pli_failure_enter("the making of a communicator", parent)
                           : PLI_OK;
    err = err == PLI_OK ? agree(parent, group, tag, &context) : err;
    return err == PLI_OK ? pli_comm_make_child(parent, group, NULL, context, out) : err;
}

enum pli_err pli_comm_make_all(struct pli_comm *parent, struct pli_group *group,
                               struct pli_comm **out)
{
    bool is_member = pli_comm_make_is_member(parent, group);
    if (!parent->is_span) {
        return is_member ? pli_comm_make_sub(parent, group, PLI_SETUP_CREATE, out) : PLI_OK;
    }
    uint64_t context;
    enum pli_err err = pli_impi_cid_agree(parent, &context);
    return err == PLI_OK && is_member ? pli_comm_make_child(parent, group, NULL, context, out)
                                      : err;
}

bool pli_comm_make_is_member(const struct pli_comm *c, const struct pli_group *group)
{
    return pli_group_rank_of(group, c->group->me) >= 0;
}

enum pli_err pli_comm_make_check(const struct pli_comm *c, struct pli_group *group)
{
    struct pli_group *others;
    enum pli_err err = pli_group_sets_difference(group, c->group, &others);
    if (err != PLI_OK) {
        return err;
    }
    if (others->size > 0) {
        err = pli_fail(PLI_ERR_GROUP, "member %d of the group does not belong to %s%s",
                       pli_group_rank_of(group, pli_group_at(others, 0)),
                       c->is_inter ? "the local group of " : "", pli_comm_say(c));
    }
    pli_group_release(others);
    return err;
}
