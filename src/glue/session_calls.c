// SPDX-License-Identifier: BSD-3-Clause
// MPI_Session_init and the constructors from groups, as the user calls them.
#include "glue/session_calls.h"
#include "base/cpu.h"

#include "glue/check.h"
#include "glue/prepare.h"
#include "glue/raise.h"
#include "glue/world.h"
#include "obj/errhandler.h"
#include "obj/handle_predefined.h"
#include "obj/info.h"
#include "obj/session.h"
#include "session/from_group.h"
#include "session/session_open.h"

struct pli_obj *pli_session_calls_group_owner(const struct pli_group *g)
{
    return g->session != NULL ? &g->session->obj : NULL;
}

// A handler that can be set on objects of a kind; NULL: it was complained, *rc_out says how.
static struct pli_errhandler *handler_for(enum pli_kind kind, const char *fn, MPI_Errhandler h,
                                          int *rc_out)
{
    struct pli_errhandler *e = pli_arg_errhandler(h);
    if (e == NULL) {
        *rc_out = pli_bad_handle(NULL, fn, "errhandler", PLI_KIND_ERRHANDLER, h);
        return NULL;
    }
    if (e->on != PLI_KIND_NONE && e->on != kind) {
        *rc_out = pli_raise(NULL, fn,
                            pli_fail(PLI_ERR_ERRHANDLER,
                                     "argument errhandler was made for a %s and cannot be set on a "
                                     "%s",
                                     pli_handle_kind_name(e->on), pli_handle_kind_name(kind)));
        return NULL;
    }
    return e;
}

static enum pli_err check_info(MPI_Info h, struct pli_info **out)
{
    *out = pli_arg_info(h);
    return *out != NULL || h == MPI_INFO_NULL
               ? PLI_OK
               : pli_fail(PLI_ERR_INFO, "argument info %s, but must be an info object",
                          pli_handle_why(h, PLI_KIND_INFO));
}

static enum pli_err check_group(MPI_Group h, const char *arg, struct pli_group **out)
{
    *out = pli_arg_group(h);
    return *out != NULL ? PLI_OK
                        : pli_fail(PLI_ERR_GROUP, "argument %s %s, but must be a group", arg,
                                   pli_handle_why(h, PLI_KIND_GROUP));
}

PLI_START int pli_session_calls_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    static const char fn[] = "MPI_Session_init";
    int rc;
    pli_prepare();
    struct pli_errhandler *e = handler_for(PLI_KIND_SESSION, fn, errhandler, &rc);
    if (e == NULL) {
        return rc;
    }
    struct pli_info *hints = NULL;
    struct pli_session *s = NULL;
    enum pli_err err = session != NULL ? check_info(info, &hints)
                                       : pli_fail(PLI_ERR_ARG, "argument session is NULL");
    if (err == PLI_OK) {
        err = pli_session_open_init(hints, e, &s);
    }
    if (err == PLI_OK && (err = pli_world_connect_parent()) != PLI_OK) {
        pli_session_open_undo(s);
    }
    if (err != PLI_OK) {
        if (session != NULL) {
            *session = MPI_SESSION_NULL;
        }
        return pli_raise_by(e, PLI_KIND_SESSION, fn, err);
    }
    *session = (MPI_Session)pli_handle_of(s, PLI_KIND_SESSION);
    return MPI_SUCCESS;
}

// The end of both constructors.
static int finish(struct pli_errhandler *e, const char *fn, enum pli_err err, struct pli_comm *c,
                  MPI_Comm *newcomm)
{
    if (newcomm != NULL) {
        *newcomm = err == PLI_OK ? (MPI_Comm)pli_handle_of(c, PLI_KIND_COMM) : MPI_COMM_NULL;
    }
    return err == PLI_OK ? MPI_SUCCESS : pli_raise_by(e, PLI_KIND_COMM, fn, err);
}

int pli_session_calls_comm(MPI_Group group, const char *tag, MPI_Info info,
                           MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    static const char fn[] = "MPI_Comm_create_from_group";
    int rc;
    pli_prepare();
    struct pli_errhandler *e = handler_for(PLI_KIND_COMM, fn, errhandler, &rc);
    if (e == NULL) {
        return rc;
    }
    struct pli_info *hints = NULL;
    struct pli_group *g = NULL;
    struct pli_comm *c = NULL;
    enum pli_err err = newcomm != NULL ? check_info(info, &hints)
                                       : pli_fail(PLI_ERR_ARG, "argument newcomm is NULL");
    if (err == PLI_OK) {
        err = check_group(group, "group", &g);
    }
    if (err == PLI_OK) {
        err = pli_from_group_comm(g, tag, hints, e, &c);
    }
    return finish(e, fn, err, c, newcomm);
}

int pli_session_calls_inter(MPI_Group local, int local_leader, MPI_Group remote, int remote_leader,
                            const char *tag, MPI_Info info, MPI_Errhandler errhandler,
                            MPI_Comm *newcomm)
{
    static const char fn[] = "MPI_Intercomm_create_from_groups";
    int rc;
    pli_prepare();
    struct pli_errhandler *e = handler_for(PLI_KIND_COMM, fn, errhandler, &rc);
    if (e == NULL) {
        return rc;
    }
    struct pli_info *hints = NULL;
    struct pli_group *g = NULL;
    struct pli_comm *c = NULL;
    enum pli_err err = newcomm != NULL ? check_info(info, &hints)
                                       : pli_fail(PLI_ERR_ARG, "argument newintercomm is NULL");
    if (err == PLI_OK) {
        err = check_group(local, "local_group", &g);
    }
    if (err == PLI_OK) {
        err = pli_from_group_inter(g, local_leader, remote, remote_leader, tag, hints, e, &c);
    }
    return finish(e, fn, err, c, newcomm);
}
