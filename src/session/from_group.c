// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups. The second makes a communicator
// of each group and one of the two leaders, builds the intercommunicator over them as
// MPI_Intercomm_create does, and drops them.
#include "session/from_group.h"

#include "comm/comm_free.h"
#include "comm/intercomm.h"
#include "msg/process.h"
#include "obj/comm.h"
#include "obj/comm_hint.h"
#include "obj/errhandler.h"
#include "obj/handle_predefined.h"
#include "obj/info.h"
#include "obj/session.h"
#include "session/setup.h"

#include <string.h>

static enum pli_err check(const struct pli_group *group, const char *what, const char *tag)
{
    if (tag == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument stringtag is NULL");
    }
    if (strlen(tag) >= MPI_MAX_STRINGTAG_LEN) {
        return pli_fail(PLI_ERR_ARG,
                        "argument stringtag has %zu characters, but at most %d are allowed "
                        "(MPI_MAX_STRINGTAG_LEN - 1)",
                        strlen(tag), MPI_MAX_STRINGTAG_LEN - 1);
    }
    if (group->session != NULL && atomic_load(&group->session->is_over)) {
        return pli_fail(PLI_ERR_SESSION, "the session that argument %s comes from was finalised",
                        what);
    }
    if (!pli_process_is_open()) {
        return pli_fail(PLI_ERR_OTHER, "neither MPI_Init nor MPI_Session_init is in force");
    }
    if (group->size > 0 && pli_group_rank_of(group, group->me) < 0) {
        return pli_fail(PLI_ERR_GROUP,
                        "the calling process is not one of the %d members of argument %s",
                        group->size, what);
    }
    return PLI_OK;
}

static void set_properties(struct pli_comm *c, struct pli_info *info,
                           struct pli_errhandler *errhandler)
{
    pli_errhandler_release(c->errhandler);
    c->errhandler = pli_errhandler_retain(errhandler);
    pli_comm_hint_set(c, info);
}

enum pli_err pli_from_group_comm(struct pli_group *group, const char *tag, struct pli_info *info,
                                 struct pli_errhandler *errhandler, struct pli_comm **out)
{
    enum pli_err err = check(group, "group", tag);
    if (err != PLI_OK || group->size == 0) {
        return err;
    }
    const char *skip = pli_info_find(info, "pliant_skip_failed");
    bool is_skip = skip != NULL && strcmp(skip, "true") == 0;
    if (skip != NULL && !is_skip && strcmp(skip, "false") != 0) {
        return pli_fail(PLI_ERR_INFO_VALUE,
                        "hint pliant_skip_failed is '%s', but must be true or false", skip);
    }
    err = pli_setup_comm(group, tag, "MPI_Comm_create_from_group", is_skip, out);
    if (err == PLI_OK) {
        set_properties(*out, info, errhandler);
    }
    return err;
}

// Make a communicator of the two leaders, each of which knows both groups.
static enum pli_err connect_leaders(struct pli_group *local, int local_leader, MPI_Group h,
                                    int remote_leader, const char *tag, struct pli_comm **out,
                                    int *far_out)
{
    struct pli_group *remote = pli_handle_get(h, PLI_KIND_GROUP), *both;
    if (remote == NULL) {
        return pli_fail(PLI_ERR_GROUP,
                        "argument remote_group %s, but must be a group at the leader",
                        pli_handle_why(h, PLI_KIND_GROUP));
    }
    if (remote_leader < 0 || remote_leader >= remote->size) {
        return pli_fail(PLI_ERR_RANK, "argument remote_leader is %d, but remote_group has %d ranks",
                        remote_leader, remote->size);
    }
    enum pli_err err = pli_group_check_session(local, remote);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_id local_id = pli_group_at(local, local_leader);
    struct pli_id remote_id = pli_group_at(remote, remote_leader);
    if (pli_group_rank_of(remote, local_id) >= 0) {
        return pli_fail(PLI_ERR_GROUP,
                        "the leader, member %d of local_group, is in remote_group "
                        "too, but the groups must be disjoint",
                        local_leader);
    }
    bool is_first = local_id.proc < remote_id.proc ||
                    (local_id.proc == remote_id.proc && local_id.ep < remote_id.ep);
    struct pli_id ids[2] = { is_first ? local_id : remote_id, is_first ? remote_id : local_id };
    err = pli_group_create(ids, 2, local->session, &both);
    if (err == PLI_OK) {
        both->me = local->me;
        err = pli_setup_comm(both, tag, "MPI_Intercomm_create_from_groups", false, out);
        *far_out = is_first ? 1 : 0;
        pli_group_release(both);
    }
    return err;
}

static void free_private(struct pli_comm *c)
{
    if (c != NULL) {
        c->is_freed = true;
        pli_comm_release(c);
    }
}

// The leaders meet. why: that the local group could not be made; the other group, which may be well
// and waits for this one, hears of it there.
static enum pli_err meet(struct pli_group *local, int local_leader, MPI_Group remote_group,
                         int remote_leader, const char *tag, enum pli_err why,
                         struct pli_comm **leaders_out, int *far_out)
{
    struct pli_fail_saved saved;
    pli_fail_save(&saved, why);
    enum pli_err err = connect_leaders(local, local_leader, remote_group, remote_leader, tag,
                                       leaders_out, far_out);
    if (why == PLI_OK) {
        return err;
    }
    if (err == PLI_OK && !(*leaders_out)->is_span) { // IMPI has no word for it
        pli_intercomm_refuse(*leaders_out, *far_out, why);
    }
    return pli_fail_repeat(&saved);
}

enum pli_err pli_from_group_inter(struct pli_group *local, int local_leader, MPI_Group remote_group,
                                  int remote_leader, const char *tag, struct pli_info *info,
                                  struct pli_errhandler *errhandler, struct pli_comm **out)
{
    struct pli_comm *local_comm = NULL, *leader_comm = NULL;
    int far = 0;
    enum pli_err err = check(local, "local_group", tag);
    if (err == PLI_OK && (local_leader < 0 || local_leader >= local->size)) {
        err = pli_fail(PLI_ERR_RANK, "argument local_leader is %d, but local_group has %d ranks",
                       local_leader, local->size);
    }
    if (err != PLI_OK) {
        return err;
    }
    err = pli_setup_comm(local, tag, "MPI_Intercomm_create_from_groups", false, &local_comm);
    if (pli_group_rank_of(local, local->me) == local_leader) {
        err = meet(local, local_leader, remote_group, remote_leader, tag, err, &leader_comm, &far);
    }
    if (local_comm != NULL) {
        // A leader that failed to connect goes on, so that its group gets the error too.
        struct pli_fail_saved saved;
        pli_fail_save(&saved, err);
        MPI_Comm h = leader_comm != NULL ? (MPI_Comm)pli_handle_of(leader_comm, PLI_KIND_COMM)
                                         : MPI_COMM_NULL;
        bool is_told = err != PLI_OK && !local_comm->is_span;
        enum pli_err made = is_told
                                ? pli_intercomm_join(local_comm, local_leader, NULL, far, err, out)
                                : pli_intercomm_create(local_comm, local_leader, h, far, 0, out);
        err = saved.err == PLI_OK ? made : pli_fail_repeat(&saved);
    }
    free_private(leader_comm);
    free_private(local_comm);
    if (err == PLI_OK) {
        set_properties(*out, info, errhandler);
        set_properties((*out)->local, NULL, errhandler);
    }
    return err;
}
