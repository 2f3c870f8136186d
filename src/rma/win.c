// SPDX-License-Identifier: BSD-3-Clause
#include "rma/win.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/agree.h"
#include "msg/progress_thread.h"
#include "obj/attr.h"
#include "obj/comm.h"
#include "obj/errhandler.h"
#include "obj/group.h"
#include "obj/info.h"
#include "rma/epoch.h"
#include "rma/rma_serve.h"
#include "rma/win_attach.h"
#include "rma/win_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void enter_kind(void)
{
    pli_errhandler_keep(PLI_KIND_WIN, offsetof(struct pli_win, errhandler));
    pli_attr_keep(PLI_KIND_WIN, offsetof(struct pli_win, attrs));
}

size_t pli_win_guard_bytes(int n)
{
    size_t size = sizeof(struct pli_guard);
    return size + ((size_t)n + size - 1) / size * size;
}

struct pli_win *pli_win_new(int flavor)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, enter_kind);
    struct pli_win *w = pli_handle_create(PLI_KIND_WIN, sizeof *w);
    if (w == NULL) {
        pli_fail(PLI_ERR_NOMEM, "no memory for a window");
        return NULL;
    }
    w->flavor = flavor;
    w->model = MPI_WIN_UNIFIED;
    w->unit = w->unit_int = 1;
    return w;
}

void pli_win_destroy(struct pli_win *w)
{
    if (w == NULL) {
        return;
    }
    pli_rma_serve_close(w);
    if (w->has_thread) {
        pli_progress_thread_release();
    }
    pli_comm_release(w->comm);
    pli_errhandler_release(w->errhandler);
    pli_win_attach_clear(w);
    pli_info_release(w->info);
    pli_win_memory_give(&w->memory);
    free(w->is_guard_own ? w->guard : NULL);
    free(w->peers);
    pli_handle_destroy(w, sizeof *w);
}

const char *pli_win_say(const struct pli_win *w)
{
    static _Thread_local char text[MPI_MAX_OBJECT_NAME + 16];
    if (w->name[0] == '\0') {
        return "the window";
    }
    snprintf(text, sizeof text, "window %s", w->name);
    return text;
}

enum pli_err pli_win_check(MPI_Aint size, MPI_Aint unit)
{
    if (size < 0) {
        return pli_fail(PLI_ERR_SIZE, "argument size is %lld, but must not be negative",
                        (long long)size);
    }
    return unit > 0 ? PLI_OK
                    : pli_fail(PLI_ERR_DISP, "argument disp_unit is %lld, but must be 1 or more",
                               (long long)unit);
}

enum pli_err pli_win_check_comm(const struct pli_comm *comm)
{
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator, but windows need an "
                                      "intracommunicator");
    }
    return comm->is_span ? pli_comm_refuse_span(comm, "windows") : PLI_OK;
}

enum pli_err pli_win_free(struct pli_win *w)
{
    enum pli_err err = pli_epoch_none(w, "MPI_Win_free");
    if (err == PLI_OK && w->is_posted) {
        err = pli_fail(PLI_ERR_RMA_SYNC,
                       "%s is exposed; MPI_Win_wait must come before MPI_Win_free", pli_win_say(w));
    }
    if (err == PLI_OK && w->attrs != NULL) {
        err = pli_attr_delete_all(&w->obj);
    }
    if (err != PLI_OK) {
        return err;
    }
    // No epoch is open here, so all that this member did is done. Others may still want something
    // of it, until they come here too; those who died will not.
    bool is_mortal = (pli_boot.node.header->mode & PLI_NODE_SURVIVES) != 0;
    err = is_mortal ? pli_agree_meet(w->comm, "MPI_Win_free") : pli_coll_barrier(w->comm);
    if (err != PLI_OK) {
        pli_fail_take(NULL);
    }
    pli_win_destroy(w);
    return PLI_OK;
}

enum pli_err pli_win_get_group(struct pli_win *w, struct pli_group **out)
{
    return pli_group_dup(w->comm->group, w->comm->group->me, out);
}

enum pli_err pli_win_set_name(struct pli_win *w, const char *name)
{
    if (name == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument win_name is NULL");
    }
    snprintf(w->name, sizeof w->name, "%s", name);
    return PLI_OK;
}

enum pli_err pli_win_set_errhandler(struct pli_win *w, struct pli_errhandler *e)
{
    return pli_errhandler_set(&w->obj, e);
}

enum pli_err pli_win_get_errhandler(struct pli_win *w, struct pli_errhandler **out)
{
    return pli_errhandler_get(&w->obj, out);
}
