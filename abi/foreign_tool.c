// SPDX-License-Identifier: BSD-3-Clause
// Functions of the tool information interface (MPI_T) that fit no pattern: variables and events are
// bound to objects, which are handed over by the address of a handle.
#include "foreign_calls.h"

// Callbacks of events are the program's own: their handles are addresses of ours in all ABIs, and
// the level with which they are called has the same number.
#ifdef F_MPI_T_CB_REQUIRE_NONE
_Static_assert(F_MPI_T_CB_REQUIRE_NONE == MPI_T_CB_REQUIRE_NONE, "the level of callbacks");
#endif

union object {
    MPI_Comm comm;
    MPI_Datatype datatype;
    MPI_Errhandler errhandler;
    MPI_File file;
    MPI_Group group;
    MPI_Op op;
    MPI_Request request;
    MPI_Win win;
    MPI_Message message;
    MPI_Info info;
    MPI_Session session;
};

// The address of our handle for the object of a kind; where the kind is none it does not matter.
static void *take(int bind, void *theirs, union object *ours)
{
    if (theirs == NULL) {
        return NULL;
    }
    switch (bind) {
#define PLI_FOREIGN_BOUND(NAME, name, Name)                                                        \
    case MPI_T_BIND_MPI_##NAME:                                                                    \
        ours->name = pli_foreign_##name##_in(*(F_##Name *)theirs);                                 \
        return ours;
        PLI_FOREIGN_BOUND(COMM, comm, Comm)
        PLI_FOREIGN_BOUND(DATATYPE, datatype, Datatype)
        PLI_FOREIGN_BOUND(ERRHANDLER, errhandler, Errhandler)
        PLI_FOREIGN_BOUND(FILE, file, File)
        PLI_FOREIGN_BOUND(GROUP, group, Group)
        PLI_FOREIGN_BOUND(OP, op, Op)
        PLI_FOREIGN_BOUND(REQUEST, request, Request)
        PLI_FOREIGN_BOUND(WIN, win, Win)
        PLI_FOREIGN_BOUND(MESSAGE, message, Message)
        PLI_FOREIGN_BOUND(INFO, info, Info)
        PLI_FOREIGN_BOUND(SESSION, session, Session)
    default:
        return theirs;
    }
}

int pli_foreign_tool_cvar(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    int bind = MPI_T_BIND_NO_OBJECT;
    union object object;
    int err = pli_std_MPI_T_cvar_get_info(cvar_index, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                          &bind, NULL);
    if (err == 0) {
        err = pli_std_MPI_T_cvar_handle_alloc(cvar_index, take(bind, obj_handle, &object), handle,
                                              count);
    }
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int pli_foreign_tool_pvar(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                          MPI_T_pvar_handle *handle, int *count)
{
    int bind = MPI_T_BIND_NO_OBJECT;
    union object object;
    int err = pli_std_MPI_T_pvar_get_info(pvar_index, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                          NULL, &bind, NULL, NULL, NULL);
    if (err == 0) {
        err = pli_std_MPI_T_pvar_handle_alloc(session, pvar_index, take(bind, obj_handle, &object),
                                              handle, count);
    }
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int pli_foreign_tool_event(int event_index, void *obj_handle, F_Info info,
                           MPI_T_event_registration *event_registration)
{
    int bind = MPI_T_BIND_NO_OBJECT;
    union object object;
    int err = pli_std_MPI_T_event_get_info(event_index, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                           NULL, NULL, NULL, &bind);
    if (err == 0) {
        err = pli_std_MPI_T_event_handle_alloc(event_index, take(bind, obj_handle, &object),
                                               pli_foreign_info_in(info), event_registration);
    }
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int pli_foreign_tool_event_info(int event_index, char *name, int *name_len, int *verbosity,
                                F_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                                int *num_elements, MPI_T_enum *enumtype, F_Info *info, char *desc,
                                int *desc_len, int *bind)
{
    int room = num_elements != NULL && *num_elements > 0 ? *num_elements : 0;
    int level = 0, kind = 0;
    MPI_Info hints = MPI_INFO_NULL;
    MPI_Datatype few[PLI_FOREIGN_FEW];
    MPI_Datatype *types = pli_foreign_env_room(few, room, sizeof *types);
    int err = pli_std_MPI_T_event_get_info(event_index, name, name_len, &level,
                                           array_of_datatypes != NULL ? types : NULL,
                                           array_of_displacements, num_elements, enumtype,
                                           info != NULL ? &hints : NULL, desc, desc_len, &kind);
    if (err == 0) {
        for (int i = 0; array_of_datatypes != NULL && i < room && i < *num_elements; i++) {
            array_of_datatypes[i] = pli_foreign_datatype_out(types[i]);
        }
        if (verbosity != NULL) {
            *verbosity = pli_foreign_verbosity_out(level);
        }
        if (bind != NULL) {
            *bind = pli_foreign_bind_out(kind);
        }
        if (info != NULL) {
            *info = pli_foreign_info_out(hints);
        }
    }
    pli_foreign_env_leave(types, few);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}
